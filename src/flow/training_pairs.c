#include "flow/training_search.h"

#include "base/checked.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A tree with some of its values kept: what each half of the flow costs along it. */
typedef struct member {
    uint64_t key[2]; /* which values are kept, whatever the tree */
    uint64_t kept;   /* the same as a mask over the tree's merges */
    uint64_t forward_macs, backward_macs;
    uint64_t forward_bound, backward_bound; /* on the halves' peaks */
    uint32_t tree;
    bool reads_all; /* the backward pass reads all that is kept */
} member;

/* Members that keep the same values: neighbours in the list. */
typedef struct group {
    size_t first, count;
    uint64_t forward_macs, backward_macs, saved_elements, forward_bound,
        backward_bound; /* the least of each */
} group;

/* One half of a flow that no other of its group beats in both counts. */
typedef struct half {
    uint64_t macs, peak;
    size_t member;
} half;

typedef struct pairing {
    tn_training_state *state;
    member *member;
    size_t members, member_capacity;
    group *group;
    size_t groups, group_capacity;
    half *half[2]; /* of the group at hand: forward, backward */
    size_t halves[2], half_capacity[2];
} pairing;

/* A bit for each set of few tensors; else two sums of hashes. (A collision can only suggest a pair of trees
 * that does not share what is kept, in a search that is not exact; its cost is then looked at anew.) */
static void add_key(uint32_t leaves, uint64_t set, uint64_t *key) {
    if (leaves <= TN_TRAINING_EXACT) {
        key[set >> 6] |= UINT64_C(1) << (set & 63);
        return;
    }
    uint64_t mixed = set * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    key[0] += mixed ^ mixed >> 29;
    mixed = (mixed + set) * UINT64_C(0x94d049bb133111eb);
    key[1] += mixed ^ mixed >> 32;
}

static member look_at(pairing *p, uint32_t tree, uint64_t kept) {
    tn_training_state *state = p->state;
    const tn_set_tree *sets = &state->trees.item[tree];
    member one = {.tree = tree, .kept = kept};
    uint64_t elements = 0;
    for (uint64_t rest = kept; rest; rest &= rest - 1) {
        uint64_t set = sets->set[__builtin_ctzll(rest)];
        add_key(sets->leaves, set, one.key);
        elements = tn_saturating_add(elements, tn_closed_elements(&state->closed, set));
    }
    tn_training_look_at(state, tree, tree, kept, 0);
    one.forward_macs = state->flow.forward_macs;
    one.backward_macs = state->flow.backward_macs;
    one.forward_bound = tn_flow_peak_bound(&state->flow, TN_FORWARD_PART);
    one.backward_bound = tn_flow_peak_bound(&state->flow, TN_BACKWARD_PART);
    one.reads_all = state->flow.saved_elements == elements;
    return one;
}

static tn_status list_members(pairing *p) {
    tn_training_state *state = p->state;
    for (size_t tree = 0; tree < state->trees.count; tree++) {
        uint64_t always, choices = tn_training_choices(state, (uint32_t)tree, &always), chosen = choices;
        for (bool more = true; more; chosen = (chosen - 1) & choices) {
            TN_TRY(tn_grow(&p->member, &p->member_capacity, p->members + 1, sizeof *p->member, state->error));
            p->member[p->members++] = look_at(p, (uint32_t)tree, chosen | always);
            more = chosen != 0;
        }
    }
    return TN_OK;
}

static int by_key(const void *a, const void *b) {
    const member *one = a, *other = b;
    for (int i = 0; i < 2; i++)
        if (one->key[i] != other->key[i]) return one->key[i] < other->key[i] ? -1 : 1;
    return one->tree < other->tree ? -1 : one->tree > other->tree;
}

static void lower(uint64_t *least, uint64_t value) {
    if (value < *least) *least = value;
}

static uint64_t saved_elements(const pairing *p, const member *one) {
    const tn_set_tree *sets = &p->state->trees.item[one->tree];
    uint64_t elements = 0;
    for (uint64_t rest = one->kept; rest; rest &= rest - 1)
        elements = tn_saturating_add(elements,
                                     tn_closed_elements(&p->state->closed, sets->set[__builtin_ctzll(rest)]));
    return elements;
}

/* Notes the group's values; `best` has the fewest MACs forward. */
static tn_status note_values(pairing *p, const group *g, const member *best) {
    tn_training_state *state = p->state;
    TN_TRY(tn_grow(&state->values, &state->value_capacity, state->value_count + 1, sizeof *state->values,
                   state->error));
    state->values[state->value_count++] = (tn_kept_values){.forward = best->tree,
                                                           .kept = best->kept,
                                                           .forward_macs = best->forward_macs,
                                                           .saved_elements = g->saved_elements};
    return TN_OK;
}

static group group_of(const pairing *p, size_t first, const member **best) {
    const member *lead = &p->member[first];
    group g = {.first = first,
               .forward_macs = UINT64_MAX,
               .backward_macs = UINT64_MAX,
               .saved_elements = saved_elements(p, lead),
               .forward_bound = UINT64_MAX,
               .backward_bound = UINT64_MAX};
    *best = lead;
    for (size_t i = first; i < p->members; i++) {
        const member *one = &p->member[i];
        if (memcmp(one->key, lead->key, sizeof lead->key) != 0) break;
        if (one->forward_macs < (*best)->forward_macs) *best = one;
        lower(&g.forward_macs, one->forward_macs);
        lower(&g.forward_bound, one->forward_bound);
        if (one->reads_all) {
            lower(&g.backward_macs, one->backward_macs);
            lower(&g.backward_bound, one->backward_bound);
        }
        g.count++;
    }
    return g;
}

static uint64_t least_macs(const group *g) {
    return tn_saturating_add(g->forward_macs, g->backward_macs);
}

/* Cheapest first, so that most of the others are covered by the time they are looked at. */
static int by_least_macs(const void *a, const void *b) {
    const group *one = a, *other = b;
    uint64_t macs = least_macs(one), other_macs = least_macs(other);
    if (macs != other_macs) return macs < other_macs ? -1 : 1;
    if (one->saved_elements != other->saved_elements)
        return one->saved_elements < other->saved_elements ? -1 : 1;
    return one->first < other->first ? -1 : one->first > other->first;
}

static tn_status list_groups(pairing *p) {
    if (p->members) qsort(p->member, p->members, sizeof *p->member, by_key);
    for (size_t first = 0; first < p->members;) {
        const member *best;
        group g = group_of(p, first, &best);
        first += g.count;
        TN_TRY(note_values(p, &g, best));
        if (g.backward_macs == UINT64_MAX) continue; /* no backward pass reads all of it */
        TN_TRY(tn_grow(&p->group, &p->group_capacity, p->groups + 1, sizeof *p->group, p->state->error));
        p->group[p->groups++] = g;
    }
    if (p->groups) qsort(p->group, p->groups, sizeof *p->group, by_least_macs);
    return TN_OK;
}

/* Whether the half, with the best that its group has for the other one, is no news. */
static bool is_covered(const pairing *p, const group *g, int side, const member *one) {
    uint64_t macs = side == 0 ? tn_saturating_add(one->forward_macs, g->backward_macs)
                              : tn_saturating_add(g->forward_macs, one->backward_macs);
    uint64_t peak = side == 0 ? tn_greatest(one->forward_bound, g->backward_bound)
                              : tn_greatest(g->forward_bound, one->backward_bound);
    return tn_training_candidates_cover(&p->state->front, macs, g->saved_elements, peak);
}

/* Keeps the halves of a group that no cheaper one beats in peak. */
static tn_status add_half(pairing *p, int side, half one) {
    half **list = &p->half[side];
    size_t left = 0;
    for (size_t i = 0; i < p->halves[side]; i++)
        if ((*list)[i].macs <= one.macs && (*list)[i].peak <= one.peak) return TN_OK;
    for (size_t i = 0; i < p->halves[side]; i++)
        if ((*list)[i].macs < one.macs || (*list)[i].peak < one.peak) (*list)[left++] = (*list)[i];
    TN_TRY(tn_grow(list, &p->half_capacity[side], left + 1, sizeof **list, p->state->error));
    (*list)[left++] = one;
    p->halves[side] = left;
    return TN_OK;
}

static tn_status list_halves(pairing *p, const group *g, int side) {
    p->halves[side] = 0;
    for (size_t i = g->first; i < g->first + g->count; i++) {
        const member *one = &p->member[i];
        half made = {.macs = side == 0 ? one->forward_macs : one->backward_macs, .member = i};
        if (side == 1 && !one->reads_all) continue;
        if (is_covered(p, g, side, one)) continue;
        tn_training_look_at(p->state, one->tree, one->tree, one->kept, 0);
        TN_TRY(tn_training_peak(p->state, side == 0 ? TN_FORWARD_PART : TN_BACKWARD_PART, &made.peak));
        TN_TRY(add_half(p, side, made));
    }
    return TN_OK;
}

static tn_status join(pairing *p, const group *g) {
    uint64_t bound = tn_greatest(g->forward_bound, g->backward_bound);
    if (tn_training_candidates_cover(&p->state->front, least_macs(g), g->saved_elements, bound)) return TN_OK;
    TN_TRY(list_halves(p, g, 0));
    TN_TRY(list_halves(p, g, 1));
    for (size_t i = 0; i < p->halves[0]; i++)
        for (size_t j = 0; j < p->halves[1]; j++) {
            const half *forward = &p->half[0][i], *backward = &p->half[1][j];
            const tn_training_candidate found = {.total_macs =
                                                     tn_saturating_add(forward->macs, backward->macs),
                                                 .saved_elements = g->saved_elements,
                                                 .peak_elements = tn_greatest(forward->peak, backward->peak),
                                                 .forward = p->member[forward->member].tree,
                                                 .backward = p->member[backward->member].tree,
                                                 .kept = p->member[backward->member].kept};
            TN_TRY(tn_training_candidates_add(&p->state->front, &found, p->state->error));
        }
    return TN_OK;
}

tn_status tn_training_pairs(tn_training_state *state) {
    pairing p = {.state = state};
    tn_status status = list_members(&p);
    if (status == TN_OK) status = list_groups(&p);
    for (size_t i = 0; i < p.groups && status == TN_OK; i++) status = join(&p, &p.group[i]);
    tn_free(p.member);
    tn_free(p.group);
    tn_free(p.half[0]);
    tn_free(p.half[1]);
    return status;
}
