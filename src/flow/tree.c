#include "flow/tree.h"

#include "base/checked.h"
#include "flow/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static tn_status check_shape(const tn_tree *tree, tn_error *error) {
    bool used[2 * TN_TENSORS_MOST] = {false};
    if (tree->tensors == 0 || tree->tensors > TN_TENSORS_MOST)
        return tn_fail(error, TN_LIMIT, "a tree over %" PRIu32 " tensors; it must be 1 to %d", tree->tensors,
                       TN_TENSORS_MOST);
    for (uint32_t i = 0; i + 1 < tree->tensors; i++) {
        const uint32_t pair[2] = {tree->merge[i].a, tree->merge[i].b};
        for (int side = 0; side < 2; side++) {
            if (pair[side] >= tree->tensors + i)
                return tn_fail(error, TN_INPUT,
                               "merge %" PRIu32 " takes tensor %" PRIu32 ", which is not made yet", i,
                               pair[side]);
            if (used[pair[side]])
                return tn_fail(error, TN_INPUT,
                               "merge %" PRIu32 " takes tensor %" PRIu32 ", which is used up", i, pair[side]);
            used[pair[side]] = true;
        }
    }
    return TN_OK;
}

tn_status tn_tree_check(const tn_network *network, const tn_tree *tree, tn_error *error) {
    if (tree->tensors != network->tensors)
        return tn_fail(error, TN_INPUT, "a tree over %" PRIu32 " tensors for a network of %" PRIu32,
                       tree->tensors, network->tensors);
    return check_shape(tree, error);
}

/* What one walk over the merges keeps: who carries each index still, and a mark per index. */
typedef struct walk {
    const tn_network *network;
    uint32_t *carriers; /* living tensors with the index, the output among them */
    uint32_t *mark;
    uint32_t stamp;
} walk;

static tn_status begin_walk(walk *w, const tn_network *network, tn_arena *arena, tn_error *error) {
    *w = (walk){.network = network};
    TN_TRY(TN_NEW(arena, network->indices, &w->carriers, error));
    TN_TRY(TN_NEW(arena, network->indices, &w->mark, error));
    for (uint32_t t = 0; t < network->tensors; t++)
        for (uint32_t i = 0; i < network->tensor[t].count; i++) w->carriers[network->tensor[t].index[i]]++;
    for (uint32_t i = 0; i < network->output.count; i++) w->carriers[network->output.index[i]]++;
    return TN_OK;
}

/* `all` gets the indices of a, then those of b alone; `out` those of them that stay. Both have room for a and
 * b together. */
static void merge_indices(walk *w, tn_indices a, tn_indices b, tn_indices *all, tn_indices *out) {
    w->stamp++;
    all->count = out->count = 0;
    for (uint32_t i = 0; i < a.count; i++) {
        w->mark[a.index[i]] = w->stamp;
        all->index[all->count++] = a.index[i];
    }
    for (uint32_t i = 0; i < b.count; i++) {
        if (w->mark[b.index[i]] == w->stamp)
            w->carriers[b.index[i]]--;
        else
            all->index[all->count++] = b.index[i];
    }
    for (uint32_t i = 0; i < all->count; i++) {
        uint32_t index = all->index[i];
        if (w->carriers[index] > 1) out->index[out->count++] = index;
    }
}

/* The indices of every tensor and, where `all` is not NULL, of the union of each merge's operands. */
static tn_status tree_indices(const tn_network *network, const tn_tree *tree, tn_arena *arena,
                              tn_indices *tensor, tn_indices *all, tn_error *error) {
    walk w;
    uint32_t n = tree->tensors;
    TN_TRY(begin_walk(&w, network, arena, error));
    memcpy(tensor, network->tensor, n * sizeof *tensor);
    for (uint32_t i = 0; i + 1 < n; i++) {
        tn_indices a = tensor[tree->merge[i].a], b = tensor[tree->merge[i].b], both = {0};
        tn_indices *out = &tensor[n + i];
        TN_TRY(TN_NEW(arena, a.count + b.count, &both.index, error));
        TN_TRY(TN_NEW(arena, a.count + b.count, &out->index, error));
        merge_indices(&w, a, b, &both, out);
        if (all) all[i] = both;
    }
    return TN_OK;
}

tn_status tn_tree_tensors(const tn_network *network, const tn_tree *tree, tn_arena *arena,
                          tn_indices **tensor, tn_error *error) {
    TN_TRY(tn_tree_check(network, tree, error));
    TN_TRY(TN_NEW(arena, 2 * (size_t)tree->tensors - 1, tensor, error));
    return tree_indices(network, tree, arena, *tensor, NULL, error);
}

static tn_status too_large(uint32_t merge, const char *what, tn_error *error) {
    return tn_fail(error, TN_OVERFLOW,
                   "merge %" PRIu32 " of the tree takes the %s past 2^64; use smaller sizes", merge + 1,
                   what);
}

/* Elements of every merge's result, and the MACs of each; arrays of tree->tensors - 1. */
static tn_status tree_sizes(const tn_network *network, const tn_tree *tree, tn_arena *arena,
                            uint64_t *elements, uint64_t *macs, tn_error *error) {
    uint32_t n = tree->tensors;
    tn_indices *tensor = NULL, *all = NULL;
    TN_TRY(TN_NEW(arena, 2 * (size_t)n - 1, &tensor, error));
    TN_TRY(TN_NEW(arena, n, &all, error));
    TN_TRY(tree_indices(network, tree, arena, tensor, all, error));
    for (uint32_t i = 0; i + 1 < n; i++) {
        if (tn_network_elements(network, tensor[n + i], &elements[i], NULL) != TN_OK)
            return too_large(i, "elements of one tensor", error);
        if (tn_network_elements(network, all[i], &macs[i], NULL) != TN_OK) return too_large(i, "MACs", error);
    }
    return TN_OK;
}

static tn_status sum_costs(const tn_tree *tree, const uint64_t *elements, const uint64_t *macs,
                           uint64_t inputs, tn_tree_cost *cost, tn_error *error) {
    uint32_t n = tree->tensors;
    uint64_t live = inputs;
    *cost = (tn_tree_cost){.peak_elements = inputs};
    for (uint32_t i = 0; i + 1 < n; i++) {
        const uint32_t pair[2] = {tree->merge[i].a, tree->merge[i].b};
        if (!tn_add(live, elements[i], &live)) return too_large(i, "live elements", error);
        if (!tn_add(cost->macs, macs[i], &cost->macs)) return too_large(i, "MACs", error);
        if (live > cost->peak_elements) cost->peak_elements = live;
        if (elements[i] > cost->largest_intermediate) cost->largest_intermediate = elements[i];
        for (int side = 0; side < 2; side++)
            if (pair[side] >= n) live -= elements[pair[side] - n];
    }
    return TN_OK;
}

static tn_status cost_of(const tn_network *network, const tn_tree *tree, tn_arena *arena, tn_tree_cost *cost,
                         tn_error *error) {
    uint64_t *elements = NULL, *macs = NULL, inputs = 0;
    TN_TRY(tn_tree_check(network, tree, error));
    TN_TRY(tn_network_input_elements(network, &inputs, error));
    TN_TRY(TN_NEW(arena, tree->tensors, &elements, error));
    TN_TRY(TN_NEW(arena, tree->tensors, &macs, error));
    TN_TRY(tree_sizes(network, tree, arena, elements, macs, error));
    return sum_costs(tree, elements, macs, inputs, cost, error);
}

tn_status tn_tree_cost_of(const tn_network *network, const tn_tree *tree, tn_tree_cost *cost,
                          tn_error *error) {
    tn_arena scratch = {0};
    tn_status status = cost_of(network, tree, &scratch, cost, error);
    tn_arena_free(&scratch);
    return status;
}

tn_status tn_tree_merges(const tn_network *network, const tn_tree *tree, tn_arena *arena, uint64_t **elements,
                         uint64_t **macs, tn_error *error) {
    TN_TRY(tn_tree_check(network, tree, error));
    TN_TRY(TN_NEW(arena, tree->tensors, elements, error));
    TN_TRY(TN_NEW(arena, tree->tensors, macs, error));
    return tree_sizes(network, tree, arena, *elements, *macs, error);
}

static bool has(tn_indices indices, uint32_t index) {
    for (uint32_t i = 0; i < indices.count; i++)
        if (indices.index[i] == index) return true;
    return false;
}

/* The elements of `all` are known to fit 64 bits, so no part of them overflows. */
static tn_product_shape shape_of(const tn_network *network, tn_indices a, tn_indices b, tn_indices all,
                                 tn_indices out) {
    tn_product_shape shape = {1, 1, 1, 1};
    for (uint32_t i = 0; i < all.count; i++) {
        uint32_t index = all.index[i];
        bool on_a = has(a, index), on_b = has(b, index);
        uint64_t *part = !has(out, index) ? &shape.reduction
                         : on_a && on_b   ? &shape.batch
                         : on_a           ? &shape.rows
                                          : &shape.columns;
        *part *= network->index_size[index];
    }
    return shape;
}

tn_status tn_tree_shapes(const tn_network *network, const tn_tree *tree, tn_arena *arena,
                         tn_product_shape **shape, tn_error *error) {
    uint32_t n = tree->tensors;
    tn_indices *tensor = NULL, *all = NULL;
    TN_TRY(tn_tree_check(network, tree, error));
    TN_TRY(TN_NEW(arena, 2 * (size_t)n - 1, &tensor, error));
    TN_TRY(TN_NEW(arena, n, &all, error));
    TN_TRY(TN_NEW(arena, n, shape, error));
    TN_TRY(tree_indices(network, tree, arena, tensor, all, error));
    for (uint32_t i = 0; i + 1 < n; i++) {
        uint64_t macs;
        tn_merge merge = tree->merge[i];
        if (tn_network_elements(network, all[i], &macs, NULL) != TN_OK) return too_large(i, "MACs", error);
        (*shape)[i] = shape_of(network, tensor[merge.a], tensor[merge.b], all[i], tensor[n + i]);
    }
    return TN_OK;
}

/* Renumbers the merges into the order of the list that begins with `first`. */
static tn_status renumber(tn_tree *tree, uint32_t first, const uint32_t *next, tn_arena *arena,
                          tn_error *error) {
    uint32_t n = tree->tensors, *place = NULL;
    tn_merge *old = NULL;
    TN_TRY(TN_NEW(arena, n, &place, error));
    TN_TRY(TN_NEW(arena, n, &old, error));
    memcpy(old, tree->merge, (n - 1) * sizeof *old);
    for (uint32_t i = 0, merge = first; i + 1 < n; i++, merge = next[merge]) {
        const uint32_t pair[2] = {old[merge].a, old[merge].b};
        place[merge] = n + i;
        tree->merge[i].a = pair[0] < n ? pair[0] : place[pair[0] - n];
        tree->merge[i].b = pair[1] < n ? pair[1] : place[pair[1] - n];
    }
    return TN_OK;
}

static tn_status reorder(const tn_network *network, tn_tree *tree, tn_arena *arena, tn_error *error) {
    uint32_t n = tree->tensors;
    uint64_t *elements = NULL, *macs = NULL;
    tn_profile *profile = NULL, leaf = {0};
    uint32_t *next = NULL;
    TN_TRY(tn_tree_merges(network, tree, arena, &elements, &macs, error));
    TN_TRY(TN_NEW(arena, n, &profile, error));
    TN_TRY(TN_NEW(arena, n, &next, error));
    for (uint32_t i = 0; i + 1 < n; i++) {
        const tn_merge *merge = &tree->merge[i];
        const tn_profile *a = merge->a < n ? &leaf : &profile[merge->a - n];
        const tn_profile *b = merge->b < n ? &leaf : &profile[merge->b - n];
        TN_TRY(TN_NEW(arena, a->count + b->count + 1, &profile[i].segment, error));
        if (!tn_profile_merge(a, b, elements[i], i, next, &profile[i]))
            return too_large(i, "live elements", error);
    }
    const tn_profile *whole = &profile[n - 2];
    for (uint32_t s = 1; s < whole->count; s++) next[whole->segment[s - 1].last] = whole->segment[s].first;
    return renumber(tree, whole->segment[0].first, next, arena, error);
}

tn_status tn_tree_reorder(const tn_network *network, tn_tree *tree, tn_arena *arena, tn_error *error) {
    TN_TRY(tn_tree_check(network, tree, error));
    return tree->tensors > 1 ? reorder(network, tree, arena, error) : TN_OK;
}

/* A set of tensors. */
enum { SET_WORDS = TN_TENSORS_MOST / 64 };
typedef struct tensor_set {
    uint64_t word[SET_WORDS];
} tensor_set;

static tensor_set set_of(const tn_tree *tree, const tensor_set *merge, uint32_t tensor) {
    tensor_set set = {{0}};
    if (tensor >= tree->tensors) return merge[tensor - tree->tensors];
    set.word[tensor / 64] = (uint64_t)1 << tensor % 64;
    return set;
}

static void merge_sets(const tn_tree *tree, tensor_set *merge) {
    for (uint32_t i = 0; i + 1 < tree->tensors; i++) {
        tensor_set a = set_of(tree, merge, tree->merge[i].a), b = set_of(tree, merge, tree->merge[i].b);
        for (int w = 0; w < SET_WORDS; w++) merge[i].word[w] = a.word[w] | b.word[w];
    }
}

bool tn_tree_equal(const tn_tree *a, const tn_tree *b) {
    tensor_set set_a[TN_TENSORS_MOST], set_b[TN_TENSORS_MOST];
    if (a->tensors != b->tensors || check_shape(a, NULL) != TN_OK || check_shape(b, NULL) != TN_OK)
        return false;
    merge_sets(a, set_a);
    merge_sets(b, set_b);
    for (uint32_t i = 0; i + 1 < a->tensors; i++) {
        uint32_t j = 0;
        while (j + 1 < b->tensors && memcmp(&set_a[i], &set_b[j], sizeof *set_a) != 0) j++;
        if (j + 1 == b->tensors) return false;
    }
    return true;
}

/* Trees as text (flow/tree.h). */

static void express(const tn_network *network, const tn_tree *tree, uint32_t tensor, tn_buffer *out) {
    char text[32];
    if (tensor < tree->tensors) {
        tn_buffer_text(out, tn_network_tensor_name(network, tensor, text));
        return;
    }
    const tn_merge *merge = &tree->merge[tensor - tree->tensors];
    tn_buffer_text(out, "(");
    express(network, tree, merge->a, out);
    tn_buffer_text(out, " ");
    express(network, tree, merge->b, out);
    tn_buffer_text(out, ")");
}

void tn_tree_expression(const tn_network *network, const tn_tree *tree, tn_buffer *out) {
    tn_error error;
    tn_status status = tn_tree_check(network, tree, &error);
    if (status == TN_OK)
        express(network, tree, 2 * tree->tensors - 2, out);
    else if (out->status == TN_OK)
        out->status = status;
}

/* A drawing under way; `lead` is what stands before the name on this line. */
typedef struct drawing {
    const tn_network *network;
    const tn_tree *tree;
    const tn_indices *tensor;
    const uint64_t *elements, *macs; /* of merges */
    tn_buffer *out, lead;
} drawing;

static void draw_indices(drawing *d, tn_indices indices) {
    char text[32];
    tn_buffer_text(d->out, " [");
    for (uint32_t i = 0; i < indices.count; i++)
        tn_buffer_format(d->out, "%s%s", i ? " " : "",
                         tn_network_index_name(d->network, indices.index[i], text));
    tn_buffer_text(d->out, "]\n");
}

static void draw_line(drawing *d, uint32_t tensor, const char *branch) {
    uint32_t n = d->tree->tensors;
    char text[32];
    uint64_t elements = 0;
    if (tensor < n) {
        if (tn_network_elements(d->network, d->tensor[tensor], &elements, NULL) == TN_OK)
            tn_buffer_format(d->out, "%5s %16" PRIu64 " %20s   ", "", elements, "");
        else
            tn_buffer_format(d->out, "%5s %16s %20s   ", "", "over 2^64", "");
    } else {
        tn_buffer_format(d->out, "%5" PRIu32 " %16" PRIu64 " %20" PRIu64 "   ", tensor - n + 1,
                         d->elements[tensor - n], d->macs[tensor - n]);
    }
    tn_buffer_format(d->out, "%s%s", d->lead.length ? d->lead.data : "", branch);
    if (tensor < n)
        tn_buffer_text(d->out, tn_network_tensor_name(d->network, tensor, text));
    else
        tn_buffer_text(d->out, tensor == 2 * n - 2 ? "result" : "*");
    draw_indices(d, d->tensor[tensor]);
}

static void draw_node(drawing *d, uint32_t tensor, const char *branch, const char *below) {
    draw_line(d, tensor, branch);
    if (tensor < d->tree->tensors) return;
    const tn_merge *merge = &d->tree->merge[tensor - d->tree->tensors];
    size_t length = d->lead.length;
    tn_buffer_text(&d->lead, below);
    draw_node(d, merge->a, "├─ ", "│  ");
    draw_node(d, merge->b, "└─ ", "   ");
    if (d->lead.status != TN_OK) return;
    d->lead.length = length;
    d->lead.data[length] = '\0';
}

static tn_status draw(drawing *d, tn_arena *arena) {
    tn_indices *tensor = NULL;
    uint64_t *elements = NULL, *macs = NULL;
    TN_TRY(tn_tree_tensors(d->network, d->tree, arena, &tensor, NULL));
    TN_TRY(tn_tree_merges(d->network, d->tree, arena, &elements, &macs, NULL));
    d->tensor = tensor;
    d->elements = elements;
    d->macs = macs;
    tn_buffer_format(d->out, "%5s %16s %20s   %s\n", "merge", "elements", "MACs", "tree");
    tn_buffer_bytes(&d->lead, "", 0);
    draw_node(d, 2 * d->tree->tensors - 2, "", "");
    return d->lead.status;
}

void tn_tree_draw(const tn_network *network, const tn_tree *tree, tn_buffer *out) {
    tn_arena arena = {0};
    drawing d = {.network = network, .tree = tree, .out = out};
    tn_status status = draw(&d, &arena);
    if (out->status == TN_OK) out->status = status;
    tn_buffer_free(&d.lead);
    tn_arena_free(&arena);
}
