/* The indices of attention's six products: h heads, q and k tokens of query and key, d a head's width of query and key,
 * v of values and outputs. An activation is tokens x heads x width, scores are heads x queries x keys. */
#ifndef TN_MODEL_ATTENTION_H
#define TN_MODEL_ATTENTION_H

typedef struct tn_attention_product {
    const char *part;       /* of the array that it makes (tn_array) */
    const char *letters[3]; /* of left, right and result: "qhd", "hqk" */
} tn_attention_product;

/* NULL: no product of attention makes such a part. */
const tn_attention_product *tn_attention_product_of(const char *part);

/* The index of the product's rows (0), columns (1) or reduction (2). */
char tn_attention_letter(const tn_attention_product *product, int group);

#endif
