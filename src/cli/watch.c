#include "cli/watch.h"

#include "base/clock.h"
#include "text/number.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { BAR_COLUMNS = 24 };
static const double bar_interval_seconds = 0.1, line_interval_seconds = 5.0;

static void show(void *user, uint64_t done, uint64_t total) {
    tn_watch *watch = user;
    double now = tn_clock_seconds(), spent = now - watch->started_seconds;
    if (now - watch->shown_seconds < (watch->terminal ? bar_interval_seconds : line_interval_seconds)) return;
    watch->shown_seconds = now;
    watch->shown = true;
    double share = total ? (double)done / (double)total : 0, rate = spent > 0 ? (double)done / spent : 0;
    double left = rate > 0 ? (double)(total - done) / rate : 0;
    const char *detail = watch->detail;
    char done_text[32], total_text[32], rate_text[32];
    tn_count_text(done, done_text);
    tn_count_text(total, total_text);
    tn_si_text(fmax(rate, 1), "", rate_text); /* "2.5 M" designs, never "94 m" of them */
    if (rate < 1) snprintf(rate_text, sizeof rate_text, "%.2g", rate);
    if (watch->terminal) {
        char bar[BAR_COLUMNS + 1];
        for (int i = 0; i < BAR_COLUMNS; i++) bar[i] = i < (int)(share * BAR_COLUMNS) ? '#' : '.';
        bar[BAR_COLUMNS] = '\0';
        fprintf(stderr, "\r[%s] %3.0f %%  %s %s/s%s%s  %.0f s left \033[K", bar, 100 * share, rate_text,
                watch->what, detail ? "  " : "", detail ? detail : "", left);
    } else {
        fprintf(stderr, "tenfold: %s of %s %s (%.0f %%), %s/s%s%s, %.0f s left\n", done_text, total_text,
                watch->what, 100 * share, rate_text, detail ? ", " : "", detail ? detail : "", left);
    }
    fflush(stderr);
}

void tn_watch_begin(tn_watch *watch, const char *what, bool quiet) {
    double now = tn_clock_seconds();
    bool terminal = isatty(STDERR_FILENO) == 1;
    *watch = (tn_watch){.what = what, .terminal = terminal, .started_seconds = now, .shown_seconds = now};
    if (!quiet) watch->progress = (tn_progress){.report = show, .user = watch};
}

void tn_watch_end(tn_watch *watch) {
    if (watch->terminal && watch->shown) fputs("\r\033[K", stderr);
}
