#include "flow/bounds.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
    TN_TRY(TN_NEW(arena, indices, &r->carriers, error));
    TN_TRY(TN_NEW(arena, indices, &r->size, error));
    TN_TRY(TN_NEW(arena, indices, &r->in_output, error));
    TN_TRY(TN_NEW(arena, indices, &r->bundle, error));
    TN_TRY(TN_NEW(arena, indices, &r->bundled, error));
    return TN_NEW(arena, indices > tensors ? indices : tensors, &r->rank, error);
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
    TN_TRY(TN_NEW(arena, network->tensors, &left.tensor, error));
    left.tensors = 0;
    left.index_size = r.size;
    for (uint32_t t = 0; t < network->tensors; t++)
        if (r.place[t] < TN_TENSORS_MOST && spans_anything(&r, network->tensor[t]))
            left.tensor[left.tensors++] = network->tensor[t];
    if (!tn_problem_of(&left, false, problem)) problem->tensors = 0;
    return TN_OK;
}

/* Some other tensor has all groups of `t`; of several that have the same, the first is charged. */
static bool lies_in_another(const tn_remaining_cost *remaining, uint32_t t) {
    const tn_problem *problem = remaining->problem;
    uint64_t own = problem->tensor[t] & ~remaining->units;
    for (uint32_t other = 0; other < problem->tensors; other++) {
        uint64_t theirs = problem->tensor[other] & ~remaining->units;
        if (other != t && !(own & ~theirs) && (own != theirs || other < t)) return true;
    }
    return false;
}

void tn_remaining_cost_of(const tn_problem *problem, tn_remaining_cost *remaining) {
    *remaining = (tn_remaining_cost){.problem = problem};
    for (uint32_t group = 0; group < problem->groups; group++)
        remaining->units |= (uint64_t)(problem->size[group] == 1) << group;
    for (uint32_t t = 0; t < problem->tensors; t++) {
        remaining->size[t] = tn_problem_product(problem, problem->tensor[t]);
        if (problem->tensors == 1 || lies_in_another(remaining, t)) continue;
        remaining->charged |= (uint64_t)1 << t;
        remaining->total = tn_saturating_add(remaining->total, remaining->size[t]);
    }
}

/* What consuming the result adds to the charges of the tensors outside: all its elements beside another
 * result or a tensor that neither holds it nor lies in it; else what the two do not pay together. */
static uint64_t least_to_consume(const tn_remaining_cost *remaining, uint64_t set, uint64_t open,
                                 uint64_t size) {
    const tn_problem *problem = remaining->problem;
    uint64_t least = size, own = open & ~remaining->units;
    for (uint64_t left = remaining->charged & ~set; left; left &= left - 1) {
        int t = __builtin_ctzll(left);
        uint64_t theirs = problem->tensor[t] & ~remaining->units;
        if (!(own & ~theirs)) return 0;
        if (!(theirs & ~own) && size - remaining->size[t] < least) least = size - remaining->size[t];
    }
    return least;
}

uint64_t tn_remaining_cost_beside(const tn_remaining_cost *remaining, uint64_t set, uint64_t open,
                                  uint64_t size, uint64_t charged) {
    if (set == remaining->problem->all) return 0;
    uint64_t outside = remaining->total - charged;
    return tn_saturating_add(outside, least_to_consume(remaining, set, open, size));
}

enum { STEPS_MOST = 1 << 21 };

typedef struct splitter {
    const tn_problem *problem;
    uint32_t order[TN_PROBLEM_TENSORS];
    uint64_t best, steps;
} splitter;

/* One side as far as it is known: its tensors, and the groups on them. */
typedef struct merge_side {
    uint32_t tensors;
    uint64_t groups;
} merge_side;

/* Each tensor after its neighbours: next is always one that shares the most elements with those before. */
static void order_tensors(splitter *s) {
    const tn_problem *problem = s->problem;
    uint64_t left = problem->all, touched = 0;
    for (uint32_t place = 0; left; place++) {
        uint32_t next = (uint32_t)__builtin_ctzll(left);
        uint64_t most = 0;
        for (uint64_t rest = left; rest; rest &= rest - 1) {
            uint32_t t = (uint32_t)__builtin_ctzll(rest);
            uint64_t shared = tn_problem_product(problem, problem->tensor[t] & touched);
            if (shared <= most) continue;
            most = shared;
            next = t;
        }
        s->order[place] = next;
        touched |= problem->tensor[next];
        left ^= (uint64_t)1 << next;
    }
}

/* A side's elements once it is merged, at least; nothing if it may stay a single tensor. */
static uint64_t elements_of(const splitter *s, merge_side own, merge_side other) {
    if (own.tensors < 2) return 0;
    return tn_problem_product(s->problem, own.groups & (s->problem->output | other.groups));
}

static void assign(splitter *s, uint32_t place, merge_side a, merge_side b) {
    s->steps++;
    uint64_t least = tn_saturating_add(elements_of(s, a, b), elements_of(s, b, a));
    if (least >= s->best || s->steps > STEPS_MOST) return;
    if (place == s->problem->tensors) {
        if (b.tensors) s->best = least;
        return;
    }
    uint64_t groups = s->problem->tensor[s->order[place]];
    assign(s, place + 1, (merge_side){a.tensors + 1, a.groups | groups}, b);
    if (place)
        assign(s, place + 1, a,
               (merge_side){b.tensors + 1, b.groups | groups}); /* the first is a's: mirrored */
}

uint64_t tn_last_merge_bound(const tn_problem *problem, uint64_t *work) {
    splitter s = {.problem = problem, .best = UINT64_MAX};
    uint64_t result = tn_problem_product(problem, problem->output);
    order_tensors(&s);
    assign(&s, 0, (merge_side){0}, (merge_side){0});
    *work += 16 * s.steps;
    return s.steps > STEPS_MOST ? result : tn_saturating_add(result, s.best);
}
