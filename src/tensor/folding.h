/* Foldings of a size: ordered factorisations into a given number of factors within bounds. */
#ifndef TN_TENSOR_FOLDING_H
#define TN_TENSOR_FOLDING_H

#include "base/arena.h"
#include "base/error.h"
#include "base/public.h"
#include "tensor/weight.h"

#include <stddef.h>
#include <stdint.h>

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
