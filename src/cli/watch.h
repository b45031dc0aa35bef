/* Progress on standard error: a bar with rate and time left on a terminal, a line now and then elsewhere. */
#ifndef TN_CLI_WATCH_H
#define TN_CLI_WATCH_H

#include "base/progress.h"

#include <stdbool.h>

typedef struct tn_watch {
    tn_progress progress; /* give its address to the worker */
    const char *what;     /* "designs" */
    const char *detail;   /* of the moment: "loss 0.52, rate 0.008"; NULL: none */
    double started_seconds, shown_seconds;
    bool terminal, shown;
} tn_watch;

void tn_watch_begin(tn_watch *watch, const char *what, bool quiet);
/* Clears the bar. */
void tn_watch_end(tn_watch *watch);

#endif
