/* The indices of attention's six products: h heads, q and k tokens of query and key, d a head's width of query and key,
 * v of values and outputs. An activation is tokens x heads x width, scores are heads x queries x keys. Keys and values,
 * and their gradients, may have fewer heads than the others: then each belongs to a group of heads side by side. */
#ifndef TN_MODEL_ATTENTION_H
#define TN_MODEL_ATTENTION_H

#include "base/public.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_attention_product {
    const char *letters[3]; /* of left, right and result: "qhd", "hqk" */
} tn_attention_product;

/* Whether an array of these letters has the heads of keys and values. */
bool tn_attention_is_shared(const char *letters);

/* Whether the product adds up over the queries of a whole group, so that its batch is of shared heads. */
bool tn_attention_sums_group(const tn_attention_product *product);

/* The index of the product's rows (0), columns (1) or reduction (2). */
char tn_attention_letter(const tn_attention_product *product, int group);

TN_PUBLIC_END

#endif
