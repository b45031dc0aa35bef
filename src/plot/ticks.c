#include "plot/ticks.h"

#include <math.h>

enum { FEWEST = 3, FEW = 8, DIGITS = 9 };
static const double margin = 0.04; /* of the axis, on both sides */

static void add(tn_ticks *of, double at) {
    const double slack = 1e-9 * fmax(fabs(of->least), fabs(of->most));
    if (at >= of->least - slack && at <= of->most + slack) {
        if (of->count < TN_TICKS_MOST) of->at[of->count] = at;
        of->count++;
    }
}

/* The least step of 1, 2, 5 x 10^n with at most FEW marks. */
static void linear(tn_ticks *of) {
    static const double multiple[] = {1, 2, 5};
    double width = of->most - of->least, power = floor(log10(width)) - 1;
    for (int i = 0;; i++) {
        double step = multiple[i % 3] * pow(10, power + i / 3);
        double first = ceil(of->least / step - 1e-9), last = floor(of->most / step + 1e-9);
        if (last - first + 1 > FEW) continue;
        of->count = 0;
        for (double k = first; k <= last; k++) add(of, k * step);
        return;
    }
}

/* Powers of ten times the digits, every so many decades. */
static void decades(tn_ticks *of, const double *digit, int digits, double every) {
    double first = floor(log10(of->least) / every) * every;
    of->count = 0;
    for (double power = first; power <= log10(of->most) + 1e-9; power += every)
        for (int i = 0; i < digits; i++) add(of, digit[i] * pow(10, power));
}

static void logarithmic(tn_ticks *of) {
    static const double one[] = {1}, some[] = {1, 2, 5}, all[DIGITS] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (double every = 1; every <= 256; every *= 2) {
        decades(of, one, 1, every);
        if (of->count <= FEW) break;
    }
    if (of->count < FEWEST) decades(of, some, 3, 1);
    if (of->count < FEWEST) decades(of, all, DIGITS, 1);
    if (of->count < FEWEST) linear(of);
}

tn_ticks tn_ticks_of(double least, double most, bool log) {
    tn_ticks made = {0};
    if (log) {
        double factor = most > least ? pow(most / least, margin) : 1.25;
        made.least = least / factor;
        made.most = most * factor;
        logarithmic(&made);
    } else {
        double widen = most > least ? margin * (most - least) : fmax(0.25 * fabs(least), 1e-12);
        if (most == least && least == 0) widen = 1;
        made.least = least - widen;
        made.most = most + widen;
        linear(&made);
    }
    return made;
}
