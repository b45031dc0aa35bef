#include "base/blas.h"

#include <cblas.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users, threads;

void tn_blas_serial(void) {
    pthread_mutex_lock(&lock);
    if (users++ == 0) {
        threads = openblas_get_num_threads();
        openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&lock);
}

void tn_blas_restore(void) {
    pthread_mutex_lock(&lock);
    if (--users == 0) openblas_set_num_threads(threads);
    pthread_mutex_unlock(&lock);
}
