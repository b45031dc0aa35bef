/* Measured accuracy of what a space's choices train, from a CSV file such as `tenfold accuracy` writes: a column for
 * each choice that accuracy depends on, under its key or the key's last word, and `accuracy`, 0..1. Other choices
 * (flows, parallelism, memories) change no accuracy and have no column.
 *
 * Between measured ranks of otherwise equal choices the value is interpolated (base/monotone.h); beyond them there is
 * none. Rows that can't be compared are left out: those of fewer `epochs` than the file's most, and those all of
 * whose `seeds` have `collapsed`; a file without these columns counts whole.
 */
#ifndef TN_SPACE_ACCURACY_TABLE_H
#define TN_SPACE_ACCURACY_TABLE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "space/axis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* Measured ranks of one combination of the other choices, rising. */
typedef struct tn_accuracy_curve {
    uint64_t key; /* digits of those choices, in mixed radix */
    size_t count;
    double *rank, *value;
} tn_accuracy_curve;

typedef struct tn_accuracy_table {
    size_t curves; /* 0: no table */
    tn_accuracy_curve *curve;
    const char *path, *text;
    size_t length; /* the file as it was read */
} tn_accuracy_table;

/* Whether a choice changes what is computed: format, folding, rank, a key of the model but those that
 * say how a step is done (flow, update, activations ..). */
bool tn_accuracy_depends_on(const tn_axis *choice);
/* Whether it is a key that a model for inference may have after it was trained without it. */
bool tn_accuracy_is_of_inference(const tn_axis *choice);
/* The column of choice i: the last word of its key, "rank" of weights.square.rank, where no other choice that accuracy
 * depends on ends so, else the key. */
const char *tn_accuracy_column(const tn_axis *choice, size_t choices, size_t i);

tn_status tn_accuracy_table_load(const char *path, const tn_axis *choice, size_t choices, tn_arena *arena,
                                 tn_accuracy_table *table, tn_error *error);

/* *accuracy of the design that has the value digit[i] of choice i; NaN where none was measured near it.
 * *interpolated: it lies between measured ranks. Only a lack of memory fails. */
tn_status tn_accuracy_table_at(const tn_accuracy_table *table, const tn_axis *choice, size_t choices,
                               const size_t *digit, double *accuracy, bool *interpolated, tn_error *error);

TN_PUBLIC_END

#endif
