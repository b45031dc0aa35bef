/* Backward passes along several trees (flow/training_search.h).
 *
 * Kept values and single tensors are free. Every gradient is needed; a needed set is made from two disjoint
 * sets, which are needed then. Sets are decided from the largest to the smallest, all ways tried, and a
 * branch is left where its cost and a bound on the rest reach what is known. The undecided needed sets take
 * at least
 *   - for every gradient that relies on one of them, the cheapest tree of it under that gradient's shares
 *     (flow/training_bound.h: the sets that one gradient relies on are disjoint, so no share counts twice),
 *   - and a step each, the cheapest that makes it;
 * the larger of the two sums counts. */
#include "flow/training_search.h"

#include "base/memory.h"
#include "flow/training_bound.h"

#include <string.h>

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
    TN_TRY(tn_arena_alloc(&state->arena, s->ordered, sizeof *pair, &pair, state->error));
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
        TN_TRY(tn_training_peak(state, (tn_part)part, &peak));
        if (peak > found.peak_elements) found.peak_elements = peak;
    }
    return tn_training_candidates_add(&state->front, &found, state->error);
}

static tn_status look_at(several *s, const tn_kept_values *values) {
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
    TN_TRY(tn_alloc(1, sizeof *s, &s, state->error));
    s->state = state;
    s->sets = UINT32_C(1) << (state->closed.leaves + 1);
    list_sets(s);
    list_steps(s);
    tn_status status = tn_bounder_new(&state->closed, &s->bounder, state->error);
    for (size_t i = 0; i < state->value_count && status == TN_OK; i++) status = look_at(s, &state->values[i]);
    *proven = s->work < WORK_MOST;
    tn_bounder_free(s->bounder);
    tn_free(s);
    return status;
}
