#include "base/interrupt.h"

#include <stdatomic.h>

static atomic_bool asked;

void tn_interrupt(void) {
    atomic_store(&asked, true);
}

void tn_interrupt_clear(void) {
    atomic_store(&asked, false);
}

static _Thread_local unsigned held;

void tn_interrupt_hold(void) {
    held++;
}

void tn_interrupt_release(void) {
    held--;
}

bool tn_interrupted(void) {
    return !held && atomic_load_explicit(&asked, memory_order_relaxed);
}
