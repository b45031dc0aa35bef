/* A weight and the tokens it multiplies, in one line of text:
 *
 *     tt:m=12x8x8,n=8x8x12,rank=12,tokens=32
 *
 * FORMAT:KEY=VALUE,... with a format of tn_format_names. Keys: m and n, the factors of outputs and inputs, as
 * many of one as of the other; rank, one for every bond or the format's whole list in order (1x12x12x1; not
 * for dense); tokens, the rows of X; terms (bt, with one rank): how many Tucker terms are summed, 1 where
 * absent.
 */
#ifndef TN_TENSOR_SPEC_H
#define TN_TENSOR_SPEC_H

#include "base/error.h"
#include "tensor/weight.h"

#include <stdint.h>

/* `at` is where the text stands; errors point into it. */
tn_status tn_spec_parse(const char *text, tn_position at, tn_weight *weight, uint64_t *tokens,
                        tn_error *error);

#endif
