#include "flow/mutable_tree.h"

#include "base/random.h"

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
    TN_TRY(TN_NEW(arena, 2 * (size_t)n - 1, &sketch->node, error));
    TN_TRY(TN_NEW(arena, 2 * (size_t)n * words, &bits, error));
    TN_TRY(TN_NEW(arena, (size_t)64 * words, &sketch->log_size, error));
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

/* The tensors that are left, and a score for every two of them. */
typedef struct greedy {
    const tn_mutable_tree *sketch;
    bool no_outer;
    double noise;
    uint64_t *random;
    uint32_t alive;
    uint32_t *number;   /* [alive] in SSA numbering */
    uint64_t **open;    /* [alive] */
    double *elements;   /* [alive] */
    double *score;      /* [tensors * tensors], of (i, j) with j < i */
    uint32_t *carriers; /* [indices] living tensors with the index, the output among them */
    uint64_t *result;   /* [words] */
} greedy;

/* Scores of pairs without a common index come behind all others. */
static const double OUTER_PENALTY = 1e9;

static tn_status begin(greedy *g, tn_arena *arena, tn_error *error) {
    const tn_network *network = g->sketch->network;
    uint32_t n = network->tensors, words = g->sketch->words;
    uint64_t *bits = NULL;
    TN_TRY(TN_NEW(arena, n, &g->number, error));
    TN_TRY(TN_NEW(arena, n, &g->open, error));
    TN_TRY(TN_NEW(arena, n, &g->elements, error));
    TN_TRY(TN_NEW(arena, (size_t)n * n, &g->score, error));
    TN_TRY(TN_NEW(arena, (size_t)64 * words, &g->carriers, error));
    TN_TRY(TN_NEW(arena, ((size_t)n + 1) * words, &bits, error));
    g->result = bits + (size_t)n * words;
    for (uint32_t t = 0; t < n; t++) {
        g->number[t] = t;
        g->open[t] = bits + (size_t)t * words;
        for (uint32_t i = 0; i < network->tensor[t].count; i++) {
            uint32_t index = network->tensor[t].index[i];
            g->open[t][index / 64] |= (uint64_t)1 << index % 64;
            g->carriers[index]++;
        }
        g->elements[t] = tn_mutable_tree_elements(g->sketch, g->open[t]);
    }
    for (uint32_t i = 0; i < network->output.count; i++) g->carriers[network->output.index[i]]++;
    g->alive = n;
    return TN_OK;
}

/* g->result = open indices of merging the living tensors i and j. */
static void find_result(greedy *g, uint32_t i, uint32_t j) {
    for (uint32_t w = 0; w < g->sketch->words; w++) {
        uint64_t a = g->open[i][w], b = g->open[j][w];
        g->result[w] = a | b;
        for (uint64_t bits = a | b; bits; bits &= bits - 1) {
            uint64_t bit = bits & (~bits + 1);
            uint32_t here = 1 + ((a & b & bit) != 0);
            if (g->carriers[64 * w + (uint32_t)__builtin_ctzll(bits)] == here) g->result[w] ^= bit;
        }
    }
}

static double score_of(greedy *g, uint32_t i, uint32_t j) {
    find_result(g, i, j);
    double score =
        log2(tn_mutable_tree_elements(g->sketch, g->result)) - log2(g->elements[i] + g->elements[j]);
    if (g->noise > 0) score -= g->noise * log(-log(tn_splitmix_unit(g->random) + 1e-300));
    return tn_mutable_tree_share(g->sketch, g->open[i], g->open[j]) ? score : score + OUTER_PENALTY;
}

static double *score_at(greedy *g, uint32_t i, uint32_t j) {
    uint32_t n = g->sketch->network->tensors;
    return &g->score[i > j ? (size_t)i * n + j : (size_t)j * n + i];
}

static void best_pair(greedy *g, uint32_t *best_i, uint32_t *best_j) {
    double least = INFINITY;
    *best_i = 1;
    *best_j = 0;
    for (uint32_t i = 1; i < g->alive; i++)
        for (uint32_t j = 0; j < i; j++) {
            double score = *score_at(g, i, j);
            if (score >= least) continue;
            least = score;
            *best_i = i;
            *best_j = j;
        }
}

/* The result takes the place of j, the last living tensor that of i (i > j). */
static void merge_pair(greedy *g, uint32_t i, uint32_t j, uint32_t number) {
    find_result(g, i, j);
    for (uint32_t w = 0; w < g->sketch->words; w++)
        for (uint64_t both = g->open[i][w] & g->open[j][w]; both; both &= both - 1)
            g->carriers[64 * w + (uint32_t)__builtin_ctzll(both)]--;
    memcpy(g->open[j], g->result, g->sketch->words * sizeof *g->result);
    g->number[j] = number;
    g->elements[j] = tn_mutable_tree_elements(g->sketch, g->result);
    uint32_t last = --g->alive;
    if (i != last) {
        uint64_t *freed = g->open[i];
        g->open[i] = g->open[last];
        g->open[last] = freed;
        g->number[i] = g->number[last];
        g->elements[i] = g->elements[last];
        for (uint32_t k = 0; k < last; k++)
            if (k != i) *score_at(g, i, k) = *score_at(g, last, k);
    }
    for (uint32_t k = 0; k < last; k++)
        if (k != j) *score_at(g, j, k) = score_of(g, j, k);
}

tn_status tn_greedy(const tn_mutable_tree *sketch, bool no_outer, double noise, uint64_t *random,
                    tn_arena *arena, tn_merge *merge, tn_error *error) {
    greedy g = {.sketch = sketch, .no_outer = no_outer, .noise = noise, .random = random};
    uint32_t n = sketch->network->tensors;
    TN_TRY(begin(&g, arena, error));
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++) *score_at(&g, i, j) = score_of(&g, i, j);
    for (uint32_t step = 0; step + 1 < n; step++) {
        uint32_t i, j;
        best_pair(&g, &i, &j);
        if (no_outer && !tn_mutable_tree_share(sketch, g.open[i], g.open[j]))
            return tn_fail(error, TN_INPUT,
                           "the network falls into parts that share no index; it needs outer products");
        merge[step] = (tn_merge){g.number[i], g.number[j]};
        merge_pair(&g, i, j, n + step);
    }
    return TN_OK;
}
