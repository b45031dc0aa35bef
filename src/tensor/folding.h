/* Foldings of a size: ordered factorisations into a given number of factors within bounds. */
#ifndef TN_TENSOR_FOLDING_H
#define TN_TENSOR_FOLDING_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "tensor/weight.h"

#include <stddef.h>
#include <stdint.h>

/* A weight and the tokens it multiplies, in one line of text:
 *
 *     tt:m=12x8x8,n=8x8x12,rank=12,tokens=32
 *
 * FORMAT:KEY=VALUE,... with a format of tn_format_names. Keys: m and n, the factors of outputs and inputs, as
 * many of one as of the other; rank, one for every bond or the format's whole list in order (1x12x12x1; not
 * for dense); tokens, the rows of X; terms (bt, with one rank): how many Tucker terms are summed, 1 where
 * absent.
 */

/* `position` is where the text stands; errors point into it. */
tn_status tn_spec_parse(const char *text, tn_position position, tn_weight *weight, uint64_t *tokens,
                        tn_error *error);

TN_PUBLIC_BEGIN

typedef struct tn_folding {
    uint32_t d;
    uint64_t factor[TN_FACTORS_MOST];
} tn_folding;

typedef struct tn_foldings {
    size_t count;
    tn_folding *item;
} tn_foldings;

/* Every ordered way to write `size` as a product of `d` factors, each of smallest..largest, in lexicographic
 * order. More than 100,000 is TN_LIMIT. */
tn_status tn_foldings_all(uint64_t size, uint32_t d, uint64_t smallest, uint64_t largest, tn_arena *arena,
                          tn_foldings *foldings, tn_error *error);

/* Reads one side of a folding, "12x8x8": *product is that of its factors. What follows it in `text`, or NULL where
 * there is none, or one of more factors than are handled, or a product past 64 bits. */
const char *tn_folding_read(const char *text, tn_folding *folding, uint64_t *product);

TN_PUBLIC_END

#endif
