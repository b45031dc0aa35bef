/* Attention of several heads, grouped where keys and values have fewer (Ainslie et al. 2023): for each example and head, S = Q K^T, P = softmax(scale S), O = P V, and back
 * dV = P^T dO, dP = dO V^T, dS = scale P (dP - rowsum(P dP)), dQ = dS K, dK = dS^T Q.
 * Softmax works in place: S becomes P, dP becomes dS. P, Q, K, V are kept. Query heads of a group read the same K and V,
 * and add up in dV and dK. Under a causal mask P is 0 above the diagonal; the products go over all of it all the same. */
#include "model/attention.h"
#include "base/checked.h"
#include "step/builder.h"

#include <inttypes.h>
#include <string.h>

/* Rotary positions (Su et al. 2021, section 3.2.2): of every head of a token at position p, features i and i + d/2 of its d
 * turn by the angle p base^(-2i/d), i < d/2; halves of a head as published weights have them, not neighbours. The
 * products of query and key then depend on the distance of their tokens alone. The gradient turns back.
 *
 * Sines and cosines are a constant of the step, positions x d: of a position d/2 cosines, then d/2 sines. Layers that
 * turn alike share one. */

enum { TABLE = 0 };

/* The table of an earlier layer that turns alike, or TN_NONE. */
static uint32_t shared_table(const tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    for (uint32_t i = 0; i < b->layer_index; i++) {
        const tn_layer *other = &b->model->layer[i];
        if (other->kind == layer->kind && other->sequence == layer->sequence &&
            other->width / other->heads == layer->width / layer->heads && other->base == layer->base)
            return b->made[i].kept[TABLE];
    }
    return TN_NONE;
}

static tn_status turn(tn_builder *b, tn_operation_kind kind, tn_phase phase, uint32_t begin, uint32_t end) {
    const tn_layer *layer = tn_builder_layer(b);
    return tn_builder_add(b, &(tn_operation){.kind = kind,
                                             .phase = phase,
                                             .rows = layer->tokens,
                                             .columns = layer->width,
                                             .read_count = 2,
                                             .reads = {begin, tn_builder_made(b)->kept[TABLE]},
                                             .write_count = 1,
                                             .writes = {end}});
}

tn_status tn_rotary_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    made->kept[TABLE] = shared_table(b);
    if (made->kept[TABLE] == TN_NONE)
        TN_TRY(tn_builder_matrix(b, TN_PART_ROTATIONS, TN_ARRAY_CONSTANT,
                                 b->step->decoding ? b->step->sequence : layer->sequence,
                                 layer->width / layer->heads, &made->kept[TABLE]));
    TN_TRY(tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &made->output));
    return turn(b, TN_OP_ROTARY, TN_FORWARD, tn_builder_input(b, 0), made->output);
}

tn_status tn_rotary_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    uint32_t gradient;
    TN_TRY(tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &gradient));
    TN_TRY(turn(b, TN_OP_ROTARY_GRADIENT, TN_INPUT_GRADIENT, tn_builder_made(b)->gradient, gradient));
    return tn_builder_contribute(b, layer->input[0], gradient, true);
}

enum { QUERY, KEY, VALUE };

/* By the part that they make. */
static const tn_attention_product products[TN_ARRAY_PARTS] = {
    [TN_PART_SCORES] = {{"qhd", "khd", "hqk"}},         [TN_PART_OUTPUT] = {{"hqk", "khv", "qhv"}},
    [TN_PART_VALUE_GRADIENT] = {{"hqk", "qhv", "khv"}}, [TN_PART_SCORES_GRADIENT] = {{"qhv", "khv", "hqk"}},
    [TN_PART_QUERY_GRADIENT] = {{"hqk", "khd", "qhd"}}, [TN_PART_KEY_GRADIENT] = {{"hqk", "qhd", "khd"}},
};

bool tn_attention_is_shared(const char *letters) {
    return letters[0] == 'k';
}

bool tn_attention_sums_group(const tn_attention_product *product) {
    return tn_attention_is_shared(product->letters[2]);
}

char tn_attention_letter(const tn_attention_product *product, int group) {
    const bool wanted[3] = {group != 1, group != 0, group != 2}; /* in left, right, result */
    for (const char *c = product->letters[wanted[0] ? 0 : 1]; *c; c++) {
        bool fits = true;
        for (int i = 0; i < 3; i++) fits = fits && (strchr(product->letters[i], *c) != NULL) == wanted[i];
        if (fits) return *c;
    }
    return 0;
}

/* Heads of all examples, of query and of key and value; tokens of query and of key, a group's queries, widths of a head. */
typedef struct sizes {
    uint64_t heads, shared_heads, queries, keys, group_queries, depth, value_depth;
} sizes;

static tn_status sizes_of(const tn_builder *b, sizes *dimensions) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_layer *query = tn_builder_input_layer(b, QUERY), *key = tn_builder_input_layer(b, KEY);
    *dimensions =
        (sizes){.shared_heads = b->model->keys.batch * layer->kv_heads, /* at most those of the query */
                .group_queries = layer->heads / layer->kv_heads * query->sequence,
                .queries = query->sequence,
                .keys = b->step->decoding ? b->step->sequence : key->sequence,
                .depth = query->width / layer->heads,
                .value_depth = layer->width / layer->heads};
    uint64_t rows;
    if (tn_mul(b->model->keys.batch, layer->heads, &dimensions->heads) &&
        tn_mul(dimensions->heads, dimensions->queries, &rows))
        return TN_OK;
    return tn_fail(b->error, TN_OVERFLOW, "batch x heads x sequence of layer %s is more than 2^64",
                   layer->name);
}

static tn_status add_product(tn_builder *b, tn_phase phase, uint32_t left, uint32_t right, uint32_t out,
                             const uint64_t shape[4]) {
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_PRODUCT,
                                             .attention = &products[b->step->array[out].part],
                                             .phase = phase,
                                             .batch = shape[0],
                                             .rows = shape[1],
                                             .reduction = shape[2],
                                             .columns = shape[3],
                                             .read_count = 2,
                                             .reads = {left, right},
                                             .write_count = 1,
                                             .writes = {out}});
}

/* What the products read as keys or values: what the input gives, or in decoding a cache of all tokens so far, to which
 * that is added. */
static tn_status all_tokens(tn_builder *b, uint32_t input, tn_array_part part, uint32_t *array) {
    const tn_layer *given = tn_builder_input_layer(b, input);
    *array = tn_builder_input(b, input);
    if (!b->step->decoding) return TN_OK;
    TN_TRY(
        tn_builder_matrix(b, part, TN_ARRAY_CACHE, b->step->batch * b->step->sequence, given->width, array));
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_APPEND,
                                             .phase = TN_FORWARD,
                                             .rows = given->tokens,
                                             .columns = given->width,
                                             .read_count = 1,
                                             .reads = {tn_builder_input(b, input)},
                                             .write_count = 1,
                                             .writes = {*array}});
}

tn_status tn_attention_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    sizes n;
    uint32_t scores, keys, values;
    TN_TRY(sizes_of(b, &n));
    TN_TRY(all_tokens(b, KEY, TN_PART_KEY_CACHE, &keys));
    TN_TRY(all_tokens(b, VALUE, TN_PART_VALUE_CACHE, &values));
    TN_TRY(tn_builder_matrix(b, TN_PART_SCORES, TN_ARRAY_ACTIVATION, n.heads * n.queries, n.keys, &scores));
    TN_TRY(add_product(b, TN_FORWARD, tn_builder_input(b, QUERY), keys, scores,
                       (const uint64_t[]){n.heads, n.queries, n.depth, n.keys}));
    TN_TRY(tn_builder_add(b, &(tn_operation){.kind = TN_OP_SOFTMAX,
                                             .phase = TN_FORWARD,
                                             .rows = n.heads * n.queries,
                                             .columns = n.keys,
                                             .read_count = 1,
                                             .reads = {scores},
                                             .write_count = 1,
                                             .writes = {scores}}));
    TN_TRY(tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &made->output));
    made->kept[0] = scores;
    return add_product(b, TN_FORWARD, scores, values, made->output,
                       (const uint64_t[]){n.heads, n.queries, n.keys, n.value_depth});
}

/* A new array for the gradient of one input, made by a product and given to that input. */
static tn_status add_gradient(tn_builder *b, uint32_t input, tn_array_part part, uint32_t left,
                              uint32_t right, const uint64_t shape[4]) {
    const tn_layer *layer = tn_builder_input_layer(b, input);
    uint32_t gradient;
    TN_TRY(tn_builder_matrix(b, part, TN_ARRAY_ACTIVATION, layer->tokens, layer->width, &gradient));
    TN_TRY(add_product(b, TN_INPUT_GRADIENT, left, right, gradient, shape));
    return tn_builder_contribute(b, tn_builder_layer(b)->input[input], gradient, true);
}

tn_status tn_attention_backward(tn_builder *b) {
    const tn_layer_arrays *made = tn_builder_made(b);
    uint32_t scores = made->kept[0], scores_gradient;
    bool query_learns = tn_builder_input_learns(b, QUERY), key_learns = tn_builder_input_learns(b, KEY);
    sizes n;
    TN_TRY(sizes_of(b, &n));
    if (tn_builder_input_learns(b, VALUE))
        TN_TRY(add_gradient(b, VALUE, TN_PART_VALUE_GRADIENT, scores, made->gradient,
                            (const uint64_t[]){n.shared_heads, n.keys, n.group_queries, n.value_depth}));
    if (!query_learns && !key_learns) return TN_OK;
    TN_TRY(tn_builder_matrix(b, TN_PART_SCORES_GRADIENT, TN_ARRAY_ACTIVATION, n.heads * n.queries, n.keys,
                             &scores_gradient));
    TN_TRY(add_product(b, TN_INPUT_GRADIENT, made->gradient, tn_builder_input(b, VALUE), scores_gradient,
                       (const uint64_t[]){n.heads, n.queries, n.value_depth, n.keys}));
    TN_TRY(tn_builder_add(b, &(tn_operation){.kind = TN_OP_SOFTMAX_GRADIENT,
                                             .phase = TN_INPUT_GRADIENT,
                                             .rows = n.heads * n.queries,
                                             .columns = n.keys,
                                             .read_count = 2,
                                             .reads = {scores, scores_gradient},
                                             .write_count = 1,
                                             .writes = {scores_gradient}}));
    if (query_learns)
        TN_TRY(add_gradient(b, QUERY, TN_PART_QUERY_GRADIENT, scores_gradient, tn_builder_input(b, KEY),
                            (const uint64_t[]){n.heads, n.queries, n.keys, n.depth}));
    if (!key_learns) return TN_OK;
    return add_gradient(b, KEY, TN_PART_KEY_GRADIENT, scores_gradient, tn_builder_input(b, QUERY),
                        (const uint64_t[]){n.shared_heads, n.keys, n.group_queries, n.depth});
}
