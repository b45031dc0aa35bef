#include "base/guard.h"

#include "base/memory.h"

#include <cblas.h>
#include <gsl/gsl_errno.h>
#include <omp.h>
#include <pthread.h>
#include <sys/resource.h>

static pthread_mutex_t blas_lock = PTHREAD_MUTEX_INITIALIZER;
static int blas_users, threads;

void tn_blas_serial(void) {
    pthread_mutex_lock(&blas_lock);
    if (blas_users++ == 0) {
        threads = openblas_get_num_threads();
        openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&blas_lock);
}

void tn_blas_restore(void) {
    pthread_mutex_lock(&blas_lock);
    if (--blas_users == 0) openblas_set_num_threads(threads);
    pthread_mutex_unlock(&blas_lock);
}

/* What OpenBLAS maps for each thread that computes (its BUFFER_SIZE of 128 MiB, and what aligns it). */
static const size_t BUFFER_BYTES = (size_t)136 << 20;

tn_status tn_blas_room(tn_error *error) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return TN_OK;
    /* Its own threads ask beside those that call it. */
    size_t buffers = (size_t)omp_get_max_threads() + (size_t)openblas_get_num_threads() - 1;
    void *room;
    if (tn_alloc(buffers, BUFFER_BYTES, &room, NULL) != TN_OK)
        return tn_fail(error, TN_MEMORY,
                       "no memory for linear algebra on %d threads: it takes %zu MiB of address space, more "
                       "than the limit leaves; raise it (ulimit -v), or set OMP_NUM_THREADS=1 and "
                       "OPENBLAS_NUM_THREADS=1",
                       omp_get_max_threads(), buffers * (BUFFER_BYTES >> 20));
    tn_free(room);
    return TN_OK;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;
static gsl_error_handler_t *host;

void tn_gsl_quiet(void) {
    pthread_mutex_lock(&lock);
    if (users++ == 0) host = gsl_set_error_handler_off();
    pthread_mutex_unlock(&lock);
}

void tn_gsl_restore(void) {
    pthread_mutex_lock(&lock);
    if (--users == 0) gsl_set_error_handler(host);
    pthread_mutex_unlock(&lock);
}
