#include "base/interrupt.h"

#include "base/clock.h"

#include <stdatomic.h>

static atomic_bool asked, noticed;

void tn_interrupt(void) {
    atomic_store(&asked, true);
}

void tn_interrupt_clear(void) {
    atomic_store(&asked, false);
    atomic_store(&noticed, false);
}

static _Thread_local unsigned held;

void tn_interrupt_hold(void) {
    held++;
}

void tn_interrupt_release(void) {
    held--;
}

static _Thread_local double due_seconds; /* of the clock; 0: none */

void tn_interrupt_after(double seconds) {
    due_seconds = seconds > 0 ? tn_clock_seconds() + seconds : 0;
}

bool tn_interrupt_is_due(void) {
    return due_seconds > 0 && tn_clock_seconds() >= due_seconds;
}

/* Who holds it back is ending already, and has noticed. */
bool tn_interrupted(void) {
    if (!atomic_load_explicit(&asked, memory_order_relaxed)) return !held && tn_interrupt_is_due();
    atomic_store_explicit(&noticed, true, memory_order_relaxed);
    return !held;
}

tn_status tn_check_time(double deadline, tn_error *error) {
    if (!tn_interrupted() && tn_clock_seconds() <= deadline) return TN_OK;
    return tn_fail(error, TN_INTERRUPTED, "interrupted");
}

bool tn_interrupt_noticed(void) {
    return atomic_load(&noticed);
}
