/* Marks of an axis: never one alone. A linear axis has 3 to 8 at multiples of 1, 2 or 5 times a power of ten; a
 * logarithmic one its powers of ten, their multiples by 2 and 5, by all digits, or those of a linear axis, the first
 * that gives at least three. */
#ifndef TN_PLOT_TICKS_H
#define TN_PLOT_TICKS_H

#include <stdbool.h>
#include <stddef.h>

enum { TN_TICKS_MOST = 24 };

typedef struct tn_ticks {
    double least, most; /* of the axis: the range of the values, a little wider */
    size_t count;
    double at[TN_TICKS_MOST];
} tn_ticks;

/* For values of `least` to `most`; `log` needs them positive. Equal ones get an axis around them. */
tn_ticks tn_ticks_of(double least, double most, bool log);

#endif
