#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic double advanced;

void tn_clock_advance(double seconds) {
    atomic_store(&advanced, atomic_load(&advanced) + seconds);
}

double tn_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec +
           atomic_load_explicit(&advanced, memory_order_relaxed);
}
