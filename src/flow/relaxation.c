#include "flow/relaxation.h"

#include <stdlib.h>

/* Something to rank: the largest first, the lowest number where alike. */
typedef struct ranked {
    uint64_t elements;
    uint32_t number;
} ranked;

/* Indices that the same kept tensors carry. */
typedef struct bundle {
    uint64_t carriers, size;
    bool in_output;
} bundle;

typedef struct relaxing {
    const tn_network *network;
    uint32_t kept;
    uint32_t place[TN_TENSORS_MOST]; /* of each tensor among the kept, TN_TENSORS_MOST: left out */
    uint64_t *carriers, *size;       /* [indices] kept tensors with it; 1 where it is left out */
    bool *in_output;                 /* [indices] */
    uint32_t bundles;
    bundle *bundle;    /* [indices] */
    uint32_t *bundled; /* [indices] the bundle of each */
    ranked *rank;      /* [the more of tensors and indices] */
} relaxing;

static int by_elements(const void *a, const void *b) {
    const ranked *p = a, *q = b;
    if (p->elements != q->elements) return p->elements > q->elements ? -1 : 1;
    return (p->number > q->number) - (p->number < q->number);
}

static tn_status begin(relaxing *r, tn_arena *arena, tn_error *error) {
    uint32_t indices = r->network->indices, tensors = r->network->tensors;
    TN_TRY(tn_arena_alloc(arena, indices, sizeof *r->carriers, &r->carriers, error));
    TN_TRY(tn_arena_alloc(arena, indices, sizeof *r->size, &r->size, error));
    TN_TRY(tn_arena_alloc(arena, indices, sizeof *r->in_output, &r->in_output, error));
    TN_TRY(tn_arena_alloc(arena, indices, sizeof *r->bundle, &r->bundle, error));
    TN_TRY(tn_arena_alloc(arena, indices, sizeof *r->bundled, &r->bundled, error));
    return tn_arena_alloc(arena, indices > tensors ? indices : tensors, sizeof *r->rank, &r->rank, error);
}

static void keep_tensors(relaxing *r) {
    const tn_network *network = r->network;
    for (uint32_t t = 0; t < network->tensors; t++) {
        r->rank[t] = (ranked){.number = t};
        tn_network_elements(network, network->tensor[t], &r->rank[t].elements, NULL);
        r->place[t] = TN_TENSORS_MOST;
    }
    qsort(r->rank, network->tensors, sizeof *r->rank, by_elements);
    r->kept = network->tensors < TN_PROBLEM_TENSORS ? network->tensors : TN_PROBLEM_TENSORS;
    for (uint32_t i = 0; i < r->kept; i++) r->place[r->rank[i].number] = i;
}

/* An index that also a left-out tensor has is left out. */
static void keep_indices(relaxing *r) {
    const tn_network *network = r->network;
    for (uint32_t i = 0; i < network->indices; i++) r->size[i] = network->index_size[i];
    for (uint32_t i = 0; i < network->output.count; i++) r->in_output[network->output.index[i]] = true;
    for (uint32_t t = 0; t < network->tensors; t++)
        for (uint32_t i = 0; i < network->tensor[t].count; i++) {
            uint32_t index = network->tensor[t].index[i];
            if (r->place[t] == TN_TENSORS_MOST)
                r->size[index] = 1;
            else
                r->carriers[index] |= (uint64_t)1 << r->place[t];
        }
}

static void bundle_indices(relaxing *r) {
    for (uint32_t i = 0; i < r->network->indices; i++) {
        bundle own = {r->carriers[i], 1, r->in_output[i]};
        uint32_t b = 0;
        if (r->size[i] == 1 || !own.carriers) continue;
        while (b < r->bundles &&
               (r->bundle[b].carriers != own.carriers || r->bundle[b].in_output != own.in_output))
            b++;
        if (b == r->bundles) r->bundle[r->bundles++] = own;
        r->bundle[b].size = tn_saturating_mul(r->bundle[b].size, r->size[i]);
        r->bundled[i] = b;
    }
}

static void leave_small_bundles(relaxing *r) {
    for (uint32_t b = 0; b < r->bundles; b++) r->rank[b] = (ranked){r->bundle[b].size, b};
    qsort(r->rank, r->bundles, sizeof *r->rank, by_elements);
    for (uint32_t i = TN_PROBLEM_GROUPS; i < r->bundles; i++) r->bundle[r->rank[i].number].size = 1;
    for (uint32_t i = 0; i < r->network->indices; i++)
        if (r->size[i] > 1 && r->carriers[i] && r->bundle[r->bundled[i]].size == 1) r->size[i] = 1;
}

static bool spans_anything(const relaxing *r, tn_indices tensor) {
    for (uint32_t i = 0; i < tensor.count; i++)
        if (r->size[tensor.index[i]] > 1) return true;
    return false;
}

tn_status tn_relax(const tn_network *network, tn_arena *arena, tn_problem *problem, tn_error *error) {
    relaxing r = {.network = network};
    tn_network left = *network;
    TN_TRY(begin(&r, arena, error));
    keep_tensors(&r);
    keep_indices(&r);
    bundle_indices(&r);
    leave_small_bundles(&r);
    TN_TRY(tn_arena_alloc(arena, network->tensors, sizeof *left.tensor, &left.tensor, error));
    left.tensors = 0;
    left.index_size = r.size;
    for (uint32_t t = 0; t < network->tensors; t++)
        if (r.place[t] < TN_TENSORS_MOST && spans_anything(&r, network->tensor[t]))
            left.tensor[left.tensors++] = network->tensor[t];
    if (!tn_problem_of(&left, false, problem)) problem->tensors = 0;
    return TN_OK;
}
