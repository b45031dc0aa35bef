/* How many threads a command works with. */
#ifndef TN_BASE_THREADS_H
#define TN_BASE_THREADS_H

#include <omp.h>

/* asked: of --threads; 0: as many as the machine has. */
static inline int tn_thread_count(unsigned asked) {
    return asked ? (int)asked : omp_get_max_threads();
}

#endif
