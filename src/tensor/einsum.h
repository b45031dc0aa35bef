/* Networks in einsum notation: "ab,bc->ac" and the sizes of its indices.
 *
 * An index is one character: a letter a-z or A-Z, or any character outside ASCII (so there is no end of
 * them). Tensors are separated by commas; nothing between two commas is a scalar. Blanks mean nothing.
 * Without "->" the output is, as in NumPy, every index that occurs just once, in the order of their code
 * points. An index twice on one tensor (a diagonal) and the ellipsis are refused.
 */
#ifndef TN_TENSOR_EINSUM_H
#define TN_TENSOR_EINSUM_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "tensor/network.h"

TN_PUBLIC_BEGIN

/* Everything but the sizes, which stay 0. Indices are numbered in the order in which they first occur and
 * named by their character. `position` is where the text stands; errors point into it (column counts characters
 * from there; line 0 is taken as 1). */
tn_status tn_einsum_parse(const char *expression, tn_position position, tn_arena *arena, tn_network *network,
                          tn_error *error);

/* The sizes of a parsed network: "a=32,b=8", each index once. */
tn_status tn_einsum_sizes(const char *sizes, tn_position position, tn_network *network, tn_error *error);
/* The same as a JSON object: {"a": 32, "b": 8}. */
tn_status tn_einsum_json_sizes(const char *json, tn_position position, tn_network *network, tn_error *error);
/* The size of one index, named by its character. */
tn_status tn_einsum_size(const char *name, uint64_t size, tn_position position, tn_network *network,
                         tn_error *error);
/* Refuses a network of which an index has no size yet. */
tn_status tn_einsum_sized(const tn_network *network, tn_position position, tn_error *error);

TN_PUBLIC_END

#endif
