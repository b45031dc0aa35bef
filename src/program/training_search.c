#include "program/training_search.h"

#include "base/checked.h"
#include "base/memory.h"
#include "program/training_bound.h"

#include <stdlib.h>
#include <string.h>

/* How far a search goes that can't be exact: the more tensors, the longer each tree takes. */
typedef struct reach {
    uint32_t tensors; /* up to so many */
    size_t trees;     /* looked at; a quarter of them with micro-batches */
    int choices;      /* merges of a tree that may be kept or not; the largest */
    size_t entries;   /* sets of done steps that ordering keeps per layer */
} reach;
static const reach reaches[] = {{9, 96, 8, 256}, {13, 32, 7, 64}, {TN_TRAINING_MOST, 12, 6, 32}};

static const reach *reach_of(uint32_t tensors) {
    const reach *found = reaches;
    while (found->tensors < tensors) found++;
    return found;
}

/* Writes the flow with these choices into state->flow. */
static void training_look_at(tn_training_state *state, uint32_t forward, uint32_t backward, uint64_t kept,
                             uint64_t shared) {
    const tn_training_plan plan = {
        &state->closed, &state->trees.item[forward], &state->trees.item[backward], kept, shared, NULL, 0};
    tn_training_plan_write(&plan, &state->flow);
}

void tn_training_look_at_candidate(tn_training_state *state, const tn_training_candidate *candidate) {
    const tn_set_tree *trees = state->trees.item;
    const tn_training_plan plan = {.closed = &state->closed,
                                   .forward = &trees[candidate->forward],
                                   .backward = candidate->pair ? NULL : &trees[candidate->backward],
                                   .kept = candidate->kept,
                                   .shared = candidate->shared,
                                   .pair = candidate->pair,
                                   .pairs = candidate->pairs};
    tn_training_plan_write(&plan, &state->flow);
}

/* Least peak of one part of it. */
static tn_status training_peak(tn_training_state *state, tn_part part, uint64_t *peak) {
    uint32_t order[5 * TN_TRAINING_MOST], count;
    bool exact;
    TN_TRY(tn_flow_order_part(&state->flow, part, &state->orderer, state->entries_most, order, &count, peak,
                              &exact, state->error));
    state->exact &= exact;
    return TN_OK;
}

/* Merges of the tree that may be kept or not: all but the root where there are few, else the largest ones
 * (and the state is no longer exact); *always are the others. */
static uint64_t training_choices(tn_training_state *state, uint32_t tree, uint64_t *always) {
    const tn_set_tree *sets = &state->trees.item[tree];
    uint64_t all = (UINT64_C(1) << (sets->leaves - 2)) - 1, chosen = 0;
    int most_choices = reach_of(sets->leaves)->choices;
    *always = 0;
    if ((int)sets->leaves - 2 <= most_choices) return all;
    for (int i = 0; i < most_choices; i++) {
        uint32_t largest = 0;
        uint64_t most = 0;
        for (uint64_t rest = all & ~chosen; rest; rest &= rest - 1) {
            uint32_t merge = (uint32_t)__builtin_ctzll(rest);
            uint64_t elements = tn_closed_elements(&state->closed, sets->set[merge]);
            if (elements <= most) continue;
            most = elements;
            largest = merge;
        }
        chosen |= UINT64_C(1) << largest;
    }
    *always = all & ~chosen;
    state->exact = false;
    return chosen;
}

tn_status tn_training_find_trees(tn_training_state *state, const tn_network *network,
                                 const tn_training_options *options) {
    const reach *far = reach_of(network->tensors);
    size_t trees = state->closed.micro_batches > 1 ? far->trees / 4 : far->trees;
    state->exact = network->tensors <= TN_TRAINING_EXACT;
    state->entries_most = state->exact ? TN_TRAINING_ENTRIES : far->entries;
    if (state->exact) return tn_set_trees_all(network, &state->trees, state->error);
    return tn_set_trees_near(network, &state->closed, options, trees, &state->trees, &state->forward_bound,
                             state->error);
}

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

static member training_pairs_look_at(pairing *p, uint32_t tree, uint64_t kept) {
    tn_training_state *state = p->state;
    const tn_set_tree *sets = &state->trees.item[tree];
    member one = {.tree = tree, .kept = kept};
    uint64_t elements = 0;
    for (uint64_t rest = kept; rest; rest &= rest - 1) {
        uint64_t set = sets->set[__builtin_ctzll(rest)];
        add_key(sets->leaves, set, one.key);
        elements = tn_saturating_add(elements, tn_closed_elements(&state->closed, set));
    }
    training_look_at(state, tree, tree, kept, 0);
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
        uint64_t always, choices = training_choices(state, (uint32_t)tree, &always), chosen = choices;
        for (bool more = true; more; chosen = (chosen - 1) & choices) {
            TN_TRY(TN_GROW(&p->member, &p->member_capacity, p->members + 1, state->error));
            p->member[p->members++] = training_pairs_look_at(p, (uint32_t)tree, chosen | always);
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
    TN_TRY(TN_GROW(&state->values, &state->value_capacity, state->value_count + 1, state->error));
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
        TN_TRY(TN_GROW(&p->group, &p->group_capacity, p->groups + 1, p->state->error));
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
    TN_TRY(TN_GROW(list, &p->half_capacity[side], left + 1, p->state->error));
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
        training_look_at(p->state, one->tree, one->tree, one->kept, 0);
        TN_TRY(training_peak(p->state, side == 0 ? TN_FORWARD_PART : TN_BACKWARD_PART, &made.peak));
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

/* Backward passes along several trees (program/training_search.h).
 *
 * Kept values and single tensors are free. Every gradient is needed; a needed set is made from two disjoint
 * sets, which are needed then. Sets are decided from the largest to the smallest, all ways tried, and a
 * branch is left where its cost and a bound on the rest reach what is known. The undecided needed sets take
 * at least
 *   - for every gradient that relies on one of them, the cheapest tree of it under that gradient's shares
 *     (program/training_bound.h: the sets that one gradient relies on are disjoint, so no share counts twice),
 *   - and a step each, the cheapest that makes it;
 * the larger of the two sums counts. */

enum {
    TENSORS = TN_TRAINING_EXACT + 1, /* of the closed network */
    SETS = 1 << TENSORS,
    STEPS = 3025,        /* unordered pairs of disjoint sets of 8 tensors whose union is not everything */
    ROUNDS = 40,         /* subgradient steps per set of kept values */
    WORK_MOST = 20000000 /* branches, of all sets of kept values together */
};

typedef struct several {
    tn_training_state *state;
    uint32_t sets;                 /* 2^tensors of the closed network */
    uint16_t order[SETS], ordered; /* sets that are no single tensor nor everything, largest first */
    uint16_t first[SETS + 1];      /* steps that make a set are neighbours */
    uint8_t a[STEPS], b[STEPS];    /* their parts */
    uint64_t macs[STEPS];
    bool free[SETS];                /* with the kept values at hand */
    double share[2][TENSORS][SETS]; /* per gradient: the least cost of each set under its shares */
    tn_bounder *bounder;
    uint64_t least[SETS];              /* MACs of the cheapest step that makes the set */
    uint16_t needed[SETS];             /* gradients (leaves) that rely on the set; 0: not needed */
    uint16_t choice[SETS], best[SETS]; /* steps; of needed sets */
    uint64_t limit;                    /* backward MACs to stay below */
    bool found;
    uint64_t work;
} several;

static bool is_single(uint32_t set) {
    return (set & (set - 1)) == 0;
}

static void list_sets(several *s) {
    uint32_t all = s->sets - 1;
    for (int size = 8; size >= 2; size--)
        for (uint32_t set = 1; set < all; set++)
            if (__builtin_popcount(set) == size) s->order[s->ordered++] = (uint16_t)set;
}

static void list_steps(several *s) {
    uint16_t steps = 0;
    for (uint32_t set = 0; set < s->sets; set++) {
        s->first[set] = steps;
        s->least[set] = UINT64_MAX;
        if (set == s->sets - 1) continue;
        for (uint32_t a = (set - 1) & set; a && set; a = (a - 1) & set) {
            if (a < (set ^ a)) continue;
            s->a[steps] = (uint8_t)a;
            s->b[steps] = (uint8_t)(set ^ a);
            s->macs[steps] = tn_closed_macs(&s->state->closed, a, set ^ a);
            if (s->macs[steps] < s->least[set]) s->least[set] = s->macs[steps];
            steps++;
        }
    }
    s->first[s->sets] = steps;
}

/* What the gradients that rely on the set pay for it at least. */
static double bound_of(const several *s, uint32_t set, uint32_t gradients) {
    double sum = 0;
    for (uint32_t rest = gradients; rest; rest &= rest - 1) sum += s->share[0][__builtin_ctz(rest)][set];
    return sum;
}

/* On what the undecided needed sets take together. */
typedef struct bounds {
    double shares;
    uint64_t steps;
} bounds;

/* Makes `part` needed by those gradients; *rest grows by what that takes at least. Returns what it was. */
static uint16_t need(several *s, uint32_t part, uint16_t gradients, bounds *rest) {
    uint16_t before = s->needed[part];
    if (s->free[part] || is_single(part)) return before;
    s->needed[part] |= gradients;
    rest->shares += bound_of(s, part, s->needed[part]) - bound_of(s, part, before);
    if (!before) rest->steps = tn_saturating_add(rest->steps, s->least[part]);
    return before;
}

static void decide(several *s, uint32_t position, uint64_t cost, bounds rest);

static void try_step(several *s, uint32_t position, uint32_t set, uint32_t step, uint64_t cost, bounds rest) {
    uint32_t a = s->a[step], b = s->b[step];
    uint16_t had_a = need(s, a, s->needed[set], &rest), had_b = need(s, b, s->needed[set], &rest);
    s->choice[set] = (uint16_t)step;
    decide(s, position + 1, tn_saturating_add(cost, s->macs[step]), rest);
    s->needed[a] = had_a;
    s->needed[b] = had_b;
}

/* Decides the sets from `position` on; `rest` is on the undecided needed ones. */
static void decide(several *s, uint32_t position, uint64_t cost, bounds rest) {
    if (s->work >= WORK_MOST) return;
    s->work++;
    if (tn_saturating_add(cost, rest.steps) >= s->limit) return;
    if ((double)cost + rest.shares * (1 - 1e-12) > (double)s->limit - 1) return;
    while (position < s->ordered && !s->needed[s->order[position]]) position++;
    if (position == s->ordered) {
        s->limit = cost;
        s->found = true;
        memcpy(s->best, s->choice, sizeof s->best);
        for (uint32_t set = 0; set < s->sets; set++)
            if (!s->needed[set]) s->best[set] = UINT16_MAX;
        return;
    }
    uint32_t set = s->order[position];
    rest.shares -= bound_of(s, set, s->needed[set]);
    rest.steps -= s->least[set];
    for (uint32_t step = s->first[set]; step < s->first[set + 1]; step++)
        try_step(s, position, set, step, cost, rest);
}

/* Fewest MACs of the front at no more saved elements. */
static uint64_t known_macs(const several *s, uint64_t saved_elements) {
    const tn_training_candidates *front = &s->state->front;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < front->count; i++)
        if (front->item[i].saved_elements <= saved_elements && front->item[i].total_macs < least)
            least = front->item[i].total_macs;
    return least;
}

static void set_free(several *s, const tn_kept_values *values) {
    const tn_set_tree *tree = &s->state->trees.item[values->forward];
    memset(s->free, 0, sizeof s->free);
    for (uint64_t rest = values->kept; rest; rest &= rest - 1)
        s->free[tree->set[__builtin_ctzll(rest)]] = true;
}

/* The steps of the best way, smallest sets first: so parts come before what is made of them. */
static tn_status list_pairs(several *s, const tn_set_pair **pairs, uint32_t *count) {
    tn_training_state *state = s->state;
    tn_set_pair *pair;
    *count = 0;
    TN_TRY(TN_NEW(&state->arena, s->ordered, &pair, state->error));
    for (uint32_t position = s->ordered; position-- > 0;) {
        uint16_t step = s->best[s->order[position]];
        if (step != UINT16_MAX) pair[(*count)++] = (tn_set_pair){s->a[step], s->b[step]};
    }
    *pairs = pair;
    return TN_OK;
}

static tn_status add_flow(several *s, const tn_kept_values *values) {
    tn_training_state *state = s->state;
    tn_training_candidate found = {.forward = values->forward, .kept = values->kept};
    TN_TRY(list_pairs(s, &found.pair, &found.pairs));
    tn_training_look_at_candidate(state, &found);
    found.total_macs = state->flow.total_macs;
    found.saved_elements = state->flow.saved_elements;
    for (int part = TN_FORWARD_PART; part <= TN_BACKWARD_PART; part++) {
        uint64_t peak;
        TN_TRY(training_peak(state, (tn_part)part, &peak));
        if (peak > found.peak_elements) found.peak_elements = peak;
    }
    return tn_training_candidates_add(&state->front, &found, state->error);
}

static tn_status training_several_look_at(several *s, const tn_kept_values *values) {
    uint64_t known = known_macs(s, values->saved_elements);
    bounds rest = {0};
    if (known <= values->forward_macs) return TN_OK;
    s->limit = known - values->forward_macs;
    set_free(s, values);
    double shared_out = tn_bounder_find(s->bounder, (uint32_t)s->state->closed.wanted, s->free, ROUNDS,
                                        (double)s->limit, s->share[0][0]);
    if (shared_out * (1 - 1e-12) > (double)s->limit - 1) return TN_OK; /* nothing below the limit */
    memset(s->needed, 0, sizeof s->needed);
    for (uint32_t t = 0; t < s->state->closed.leaves; t++)
        if (s->state->closed.wanted >> t & 1) {
            uint32_t gradient = (s->sets - 1) & ~(UINT32_C(1) << t);
            need(s, gradient, (uint16_t)(1u << t), &rest);
        }
    s->found = false;
    decide(s, 0, 0, rest);
    return s->found ? add_flow(s, values) : TN_OK;
}

tn_status tn_training_several(tn_training_state *state, bool *proven) {
    several *s;
    TN_TRY(TN_ALLOC(1, &s, state->error));
    s->state = state;
    s->sets = UINT32_C(1) << (state->closed.leaves + 1);
    list_sets(s);
    list_steps(s);
    tn_status status = tn_bounder_new(&state->closed, &s->bounder, state->error);
    for (size_t i = 0; i < state->value_count && status == TN_OK && s->work < WORK_MOST; i++)
        status = training_several_look_at(s, &state->values[i]);
    *proven = s->work < WORK_MOST;
    tn_bounder_free(s->bounder);
    tn_free(s);
    return status;
}

/* Merges of cores alone. */
static uint64_t merges_of_cores(const tn_set_tree *tree) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i + 1 < tree->leaves; i++)
        if (!(tree->set[i] & 1)) mask |= UINT64_C(1) << i;
    return mask;
}

static bool are_disjoint(const tn_set_tree *tree, uint64_t merges) {
    uint64_t united = 0;
    for (uint64_t rest = merges; rest; rest &= rest - 1) {
        uint64_t set = tree->set[__builtin_ctzll(rest)];
        if (united & set) return false;
        united |= set;
    }
    return true;
}

static tn_status training_shared_look_at(tn_training_state *state, uint32_t tree, uint64_t kept,
                                         uint64_t shared) {
    training_look_at(state, tree, tree, kept, shared);
    tn_training_candidate found = {.total_macs = state->flow.total_macs,
                                   .saved_elements = state->flow.saved_elements,
                                   .forward = tree,
                                   .backward = tree,
                                   .kept = kept,
                                   .shared = shared};
    uint64_t bound = tn_flow_peak_bound(&state->flow, TN_FORWARD_PART);
    uint64_t backward_bound = tn_flow_peak_bound(&state->flow, TN_BACKWARD_PART);
    if (bound < backward_bound) bound = backward_bound;
    if (tn_training_candidates_cover(&state->front, found.total_macs, found.saved_elements, bound))
        return TN_OK;
    for (int part = 0; part < TN_PARTS; part++) {
        uint64_t peak;
        TN_TRY(training_peak(state, (tn_part)part, &peak));
        if (peak > found.peak_elements) found.peak_elements = peak;
    }
    return tn_training_candidates_add(&state->front, &found, state->error);
}

/* Every subset of what may be kept, but the shared merges themselves, which are. */
static tn_status keep_each(tn_training_state *state, uint32_t tree, uint64_t shared) {
    uint64_t always, choices = training_choices(state, tree, &always) & ~shared, kept = choices;
    for (bool more = true; more; kept = (kept - 1) & choices) {
        TN_TRY(training_shared_look_at(state, tree, (kept | always) & ~shared, shared));
        more = kept != 0;
    }
    return TN_OK;
}

tn_status tn_training_shared(tn_training_state *state) {
    for (size_t tree = 0; tree < state->trees.count; tree++) {
        const tn_set_tree *sets = &state->trees.item[tree];
        uint64_t choices = merges_of_cores(sets), shared = choices;
        for (bool more = true; more; shared = (shared - 1) & choices) {
            if (are_disjoint(sets, shared)) TN_TRY(keep_each(state, (uint32_t)tree, shared));
            more = shared != 0;
        }
    }
    return TN_OK;
}
