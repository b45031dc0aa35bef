#include "finetune/lengths.h"

#include "base/checked.h"
#include "base/guard.h"
#include "text/csv.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

tn_status tn_query_lengths_load(const char *path, double longest, tn_arena *arena, tn_query_lengths *lengths,
                                tn_error *error) {
    static const char *const names[] = {"tokens"};
    tn_csv csv;
    size_t column;
    uint64_t *token;
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    TN_TRY(tn_csv_columns(&csv, names, 1, true, &column, error));
    if (csv.rows == 0)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = csv.file, .line = 1, .column = 1},
                          "no lengths below the head row; a row a query is needed");
    TN_TRY(TN_NEW(arena, csv.rows, &token, error));
    for (size_t i = 0; i < csv.rows; i++) {
        TN_TRY(tn_csv_count(&csv, i, column, 1, TN_QUERY_LENGTHS_MOST, &token[i], error));
        if ((double)token[i] > longest) token[i] = (uint64_t)longest;
    }
    qsort(token, csv.rows, sizeof *token, tn_count_order);
    *lengths =
        (tn_query_lengths){.median = ((double)token[(csv.rows - 1) / 2] + (double)token[csv.rows / 2]) / 2,
                           .longest = longest,
                           .count = csv.rows,
                           .token = token};
    return TN_OK;
}

/* The length that a share `point` of all queries does not exceed, by median and spread. */
static double quantile(const tn_query_lengths *l, double point) {
    double most = fmin(l->longest, TN_QUERY_LENGTHS_MOST);
    return fmin(most, l->median * exp(l->spread * gsl_cdf_ugaussian_Pinv(point)));
}

/* The integral of the quantile of the longest of `batch`: its value at the middles of equal shares. */
static double expected_longest(const tn_query_lengths *l, double batch) {
    enum { SHARES = 2000 };
    double sum = 0;
    tn_gsl_quiet();
    for (int i = 0; i < SHARES; i++) sum += quantile(l, pow((i + 0.5) / SHARES, 1 / batch));
    tn_gsl_restore();
    return sum / SHARES;
}

double tn_query_lengths_padded(const tn_query_lengths *l, double batch) {
    if (l->packed) batch = 1;
    if (l->count == 0) return l->spread > 0 ? expected_longest(l, batch) : fmin(l->longest, l->median);
    double sum = 0, below = 0, count = (double)l->count;
    for (size_t i = 0; i < l->count; i++) {
        double upto = pow((double)(i + 1) / count, batch); /* share of batches of which none is longer */
        sum += (double)l->token[i] * (upto - below);
        below = upto;
    }
    return sum;
}

double tn_query_lengths_mean(const tn_query_lengths *lengths) {
    return tn_query_lengths_padded(lengths, 1);
}

double tn_query_lengths_longest(const tn_query_lengths *l, double queries) {
    if (l->packed) return tn_query_lengths_mean(l);
    if (l->count) return (double)l->token[l->count - 1];
    if (!(l->spread > 0)) return fmin(l->longest, l->median);
    tn_gsl_quiet();
    double longest = quantile(l, pow(0.5, 1 / fmax(queries, 1)));
    tn_gsl_restore();
    return longest;
}
