#include "flow/mutable_tree.h"

#include <math.h>
#include <string.h>

static void set_bits(uint64_t *bits, tn_indices indices) {
    for (uint32_t i = 0; i < indices.count; i++)
        bits[indices.index[i] / 64] |= (uint64_t)1 << indices.index[i] % 64;
}

tn_status tn_mutable_tree_new(const tn_network *network, tn_arena *arena, tn_mutable_tree *sketch,
                              tn_error *error) {
    uint32_t n = network->tensors, words = network->indices / 64 + 1;
    uint64_t *bits = NULL;
    *sketch = (tn_mutable_tree){.network = network, .words = words, .root = 2 * n - 2};
    TN_TRY(tn_arena_alloc(arena, 2 * (size_t)n - 1, sizeof *sketch->node, &sketch->node, error));
    TN_TRY(tn_arena_alloc(arena, 2 * (size_t)n * words, sizeof *bits, &bits, error));
    TN_TRY(tn_arena_alloc(arena, (size_t)64 * words, sizeof *sketch->log_size, &sketch->log_size, error));
    for (uint32_t v = 0; v < 2 * n - 1; v++) sketch->node[v].open = bits + (size_t)v * words;
    sketch->output = bits + (size_t)(2 * n - 1) * words;
    for (uint32_t i = 0; i < network->indices; i++)
        sketch->log_size[i] = log2((double)network->index_size[i]);
    set_bits(sketch->output, network->output);
    return TN_OK;
}

static double log_of(const tn_mutable_tree *sketch, uint64_t bits, uint32_t word) {
    double sum = 0;
    for (; bits; bits &= bits - 1) sum += sketch->log_size[64 * word + (uint32_t)__builtin_ctzll(bits)];
    return sum;
}

double tn_mutable_tree_elements(const tn_mutable_tree *sketch, const uint64_t *bits) {
    double sum = 0;
    for (uint32_t w = 0; w < sketch->words; w++) sum += log_of(sketch, bits[w], w);
    return exp2(sum);
}

double tn_mutable_tree_macs(const tn_mutable_tree *sketch, uint32_t node) {
    const uint64_t *a = sketch->node[sketch->node[node].child[0]].open;
    const uint64_t *b = sketch->node[sketch->node[node].child[1]].open;
    double sum = 0;
    for (uint32_t w = 0; w < sketch->words; w++) sum += log_of(sketch, a[w] | b[w], w);
    return exp2(sum);
}

bool tn_mutable_tree_share(const tn_mutable_tree *sketch, const uint64_t *a, const uint64_t *b) {
    for (uint32_t w = 0; w < sketch->words; w++)
        if (a[w] & b[w]) return true;
    return false;
}

void tn_mutable_tree_rotate(tn_mutable_tree *sketch, uint32_t node, int inner_side, int kept_side) {
    tn_mutable_tree_node *parent = &sketch->node[node];
    uint32_t inner = parent->child[inner_side], a = parent->child[!inner_side];
    uint32_t b = sketch->node[inner].child[kept_side], c = sketch->node[inner].child[!kept_side];
    parent->child[!inner_side] = b;
    sketch->node[b].parent = node;
    sketch->node[inner].child[kept_side] = a;
    sketch->node[a].parent = inner;
    /* What is in a or c stays open if b has it too, or if the whole still needs it. */
    for (uint32_t w = 0; w < sketch->words; w++)
        sketch->node[inner].open[w] =
            (sketch->node[a].open[w] | sketch->node[c].open[w]) & (sketch->node[b].open[w] | parent->open[w]);
}

tn_status tn_mutable_tree_load(tn_mutable_tree *sketch, const tn_tree *tree, tn_arena *arena,
                               tn_error *error) {
    uint32_t n = tree->tensors;
    tn_indices *tensor = NULL;
    TN_TRY(tn_tree_tensors(sketch->network, tree, arena, &tensor, error));
    for (uint32_t v = 0; v < 2 * n - 1; v++) {
        memset(sketch->node[v].open, 0, sketch->words * sizeof *sketch->node[v].open);
        set_bits(sketch->node[v].open, tensor[v]);
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        const uint32_t pair[2] = {tree->merge[i].a, tree->merge[i].b};
        for (int side = 0; side < 2; side++) {
            sketch->node[n + i].child[side] = pair[side];
            sketch->node[pair[side]].parent = n + i;
        }
    }
    sketch->root = 2 * n - 2;
    sketch->node[sketch->root].parent = TN_MUTABLE_TREE_NONE;
    return TN_OK;
}

static uint32_t store(const tn_mutable_tree *sketch, uint32_t node, uint32_t *count, tn_merge *merge) {
    uint32_t n = sketch->network->tensors;
    if (node < n) return node;
    uint32_t a = store(sketch, sketch->node[node].child[0], count, merge);
    uint32_t b = store(sketch, sketch->node[node].child[1], count, merge);
    merge[*count] = (tn_merge){a, b};
    return n + (*count)++;
}

void tn_mutable_tree_store(const tn_mutable_tree *sketch, tn_merge *merge) {
    uint32_t count = 0;
    store(sketch, sketch->root, &count, merge);
}
