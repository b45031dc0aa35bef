#include "base/gsl.h"

#include <gsl/gsl_errno.h>
#include <pthread.h>

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
