#include "base/interrupt.h"

#include <stdatomic.h>

static atomic_bool asked;

void tn_interrupt(void) {
    atomic_store(&asked, true);
}

void tn_interrupt_clear(void) {
    atomic_store(&asked, false);
}

bool tn_interrupted(void) {
    return atomic_load_explicit(&asked, memory_order_relaxed);
}
