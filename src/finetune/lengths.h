/* How many tokens queries have: a fixed length, a median with a spread, or a CSV file of lengths; and what follows for
 * batches, whose queries are padded to the longest among them, and for packing, which pads nothing.
 *
 * With a median m and a spread s, lengths are log-normal: m e^(s z) with z standard normal, cut at `longest` where that is
 * given. A file has one column `tokens`, a row a query; a batch draws from it with replacement. */
#ifndef TN_FINETUNE_LENGTHS_H
#define TN_FINETUNE_LENGTHS_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_query_lengths {
    double median, spread;
    double longest;        /* no query is longer, or longer ones are cut; INFINITY: none is known */
    size_t count;          /* of lengths in a file; 0: none was read */
    const uint64_t *token; /* [count], ascending */
    bool packed;           /* queries stand behind each other, nothing is padded */
} tn_query_lengths;

enum { TN_QUERY_LENGTHS_MOST = 1000000000 }; /* tokens of a query */

/* The column `tokens` of a CSV file, whole numbers from 1 to TN_QUERY_LENGTHS_MOST; `longest` cuts them (INFINITY: nothing).
 * Lives in `arena`. */
tn_status tn_query_lengths_load(const char *path, double longest, tn_arena *arena, tn_query_lengths *lengths,
                                tn_error *error);

/* Expected tokens of a query, without padding. */
double tn_query_lengths_mean(const tn_query_lengths *lengths);
/* Expected tokens of the longest of `batch` queries, to which the others of a batch are padded; packed, the mean. */
double tn_query_lengths_padded(const tn_query_lengths *lengths, double batch);
/* The longest query that a data set of `queries` is likely to have: that of the file, else the median longest one; packed,
 * the mean. What a batch takes at most is as many tokens a query. */
double tn_query_lengths_longest(const tn_query_lengths *lengths, double queries);

TN_PUBLIC_END

#endif
