#include "base/guard.h"

#include <cblas.h>
#include <gsl/gsl_errno.h>
#include <pthread.h>

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
