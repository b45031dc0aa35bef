/* The monotonic clock. */
#ifndef TN_BASE_CLOCK_H
#define TN_BASE_CLOCK_H

#include "base/public.h"

#include <stdint.h>

/* Progress of long work: the worker calls report(done, total); who watches (the program) decides what to
 * show. `report` may be called from any thread, one at a time. */

TN_PUBLIC_BEGIN

typedef struct tn_progress {
    void (*report)(void *user, uint64_t done, uint64_t total); /* NULL: nobody watches */
    void *user;
} tn_progress;

/* What may be heard while a command works (ask/ask.h). Members may be NULL. */
typedef struct tn_listener {
    /* So many of `what` ("designs") are done; from any thread, one at a time. */
    void (*progress)(void *user, const char *what, uint64_t done, uint64_t total);
    /* One line that is no part of the answer, as the program writes on standard error. */
    void (*note)(void *user, const char *text);
    void *user;
} tn_listener;

static inline void tn_progress_report(const tn_progress *progress, uint64_t done, uint64_t total) {
    if (progress && progress->report) progress->report(progress->user, done, total);
}

TN_PUBLIC_END

/* Seconds since some fixed moment; never set back. For differences only. */
double tn_clock_seconds(void);

/* For tests: from now on the moment is so many seconds later. */
void tn_clock_advance(double seconds);

#endif
