/* The monotonic clock. */
#ifndef TN_BASE_CLOCK_H
#define TN_BASE_CLOCK_H

#include "base/public.h"

#include <stdint.h>

/* Progress of long work: the worker calls report(done, total); who watches (the program) decides what to
 * show. Work of several steps says with begin(what) what is counted from then on. Either may be called from any thread, one
 * at a time. */

TN_PUBLIC_BEGIN

typedef struct tn_progress {
    void (*report)(void *user, uint64_t done, uint64_t total); /* NULL: nobody watches */
    void *user;
    void (*begin)(void *user, const char *what); /* "builds merged", a constant; NULL: nobody asks */
} tn_progress;

/* What may be heard while a command works (ask/ask.h). Members may be NULL. */
typedef struct tn_listener {
    /* So many of `what` ("designs"; of work of several steps one after the other) are done; from any thread, one at a time. */
    void (*progress)(void *user, const char *what, uint64_t done, uint64_t total);
    /* One line that is no part of the answer, as the program writes on standard error. */
    void (*note)(void *user, const char *text);
    void *user;
} tn_listener;

static inline void tn_progress_report(const tn_progress *progress, uint64_t done, uint64_t total) {
    if (progress && progress->report) progress->report(progress->user, done, total);
}

static inline void tn_progress_begin(const tn_progress *progress, const char *what) {
    if (progress && progress->begin) progress->begin(progress->user, what);
}

TN_PUBLIC_END

/* Seconds since some fixed moment; never set back. For differences only. */
double tn_clock_seconds(void);

/* For tests: from now on the moment is so many seconds later. */
void tn_clock_advance(double seconds);

#endif
