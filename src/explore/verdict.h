/* What a publication claims (explore/claims.h), judged by the rows of a comparison (explore/comparison.h): which claims
 * follow from our model, which do not, and why. */
#ifndef TN_EXPLORE_VERDICT_H
#define TN_EXPLORE_VERDICT_H

#include "explore/claims.h"
#include "explore/comparison.h"

/* One claim judged by one number of ours. */
typedef struct tn_verdict {
    const char *claim;                      /* in words */
    const char *model, *measure;            /* what ours is: "ratio of parameters" */
    double published_least, published_most; /* least 0: an upper end */
    double ours;
    tn_interval range;   /* of ours; both ours where it has none */
    const char *verdict; /* "follows", "nearly", "within its range", "does not follow" */
    const char *why;
} tn_verdict;

typedef struct tn_verdicts {
    size_t count;
    tn_verdict *verdict;
} tn_verdicts;

/* Judges every claim for every model of the rows that it covers, where the rows have what it needs. */
tn_status tn_claims_judge(const tn_claims *claims, const tn_comparison_row *row, size_t rows, tn_arena *arena,
                          tn_verdicts *verdicts, tn_error *error);

#endif
