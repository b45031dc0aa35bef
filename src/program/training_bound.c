#include "program/training_bound.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 300, UNUSED = -1 };

typedef struct bound_step {
    uint16_t a, b;  /* sets */
    uint16_t users; /* outputs whose tree has it, this round */
    double macs;
} bound_step;

/* Sets are masks over the closed network's tensors; output t lacks tensor t. */
struct tn_bounder {
    const tn_closed *closed;
    uint32_t tensors; /* of the closed network */
    uint32_t outputs; /* mask */
    uint32_t steps;
    uint32_t *first; /* [sets + 1]: the steps that make each set are neighbours, sets ascending */
    bound_step *step;
    double *share;     /* [steps][tensors] */
    double *cost;      /* [sets] */
    int32_t *choice;   /* [sets]: the cheapest step */
    const bool *made;  /* [sets]: free of cost; NULL: none */
    double *all_costs; /* [tensors][sets]: of each output; NULL: not asked for */
};
typedef struct tn_bounder bounding;

static uint32_t sets_of(const bounding *w) {
    return UINT32_C(1) << w->tensors;
}

static bool is_single(uint32_t set) {
    return (set & (set - 1)) == 0;
}

/* Cores are all tensors but the first, X, and the last, dY. */
static bool of_cores(const bounding *w, uint32_t set) {
    return !(set & (1 | UINT32_C(1) << (w->tensors - 1)));
}

/* Whether one execution can do for all micro-batches. */
static bool may_be_once(const bounding *w, uint32_t a, uint32_t b) {
    uint32_t all = sets_of(w) - 1;
    if (of_cores(w, a | b)) return true;
    bool sum_and_cores = of_cores(w, all & ~a) && of_cores(w, b);
    return sum_and_cores || (of_cores(w, all & ~b) && of_cores(w, a));
}

static uint32_t count_steps(const bounding *w) {
    uint64_t all = 1, sets = 1, partitions;
    for (uint32_t t = 0; t < w->tensors; t++) {
        all *= 3;
        sets *= 2;
    }
    partitions = (all + 1) / 2 - sets;              /* unordered pairs of disjoint sets, none empty */
    return (uint32_t)(partitions - (sets / 2 - 1)); /* whose union is not everything */
}

static tn_status allocate(bounding *w, tn_error *error) {
    size_t sets = sets_of(w), steps = count_steps(w);
    TN_TRY(TN_ALLOC(sets + 1, &w->first, error));
    TN_TRY(TN_ALLOC(steps, &w->step, error));
    TN_TRY(TN_ALLOC(sets, &w->cost, error));
    TN_TRY(TN_ALLOC(sets, &w->choice, error));
    if (w->closed->leaves > TN_BOUND_IMPROVED) return TN_OK;
    return TN_ALLOC(steps * w->tensors, &w->share, error);
}

static void list_steps(bounding *w) {
    double batches = (double)w->closed->micro_batches;
    for (uint32_t set = 0; set < sets_of(w); set++) {
        w->first[set] = w->steps;
        if (set == sets_of(w) - 1) continue;
        for (uint32_t a = (set - 1) & set; a && set; a = (a - 1) & set) {
            uint32_t b = set ^ a;
            if (a < b) continue;
            bound_step *step = &w->step[w->steps++];
            *step = (bound_step){.a = (uint16_t)a, .b = (uint16_t)b};
            step->macs = (double)tn_closed_macs(w->closed, a, b) * (may_be_once(w, a, b) ? 1 : batches);
        }
    }
    w->first[sets_of(w)] = w->steps;
}

/* The outputs that may use a step that makes `set`. */
static uint32_t users_of(const bounding *w, uint32_t set) {
    return w->outputs & ~set;
}

static double equal_share(const bounding *w, uint32_t set) {
    int users = __builtin_popcount(users_of(w, set));
    return users ? 1.0 / users : 0;
}

static void share_equally(bounding *w) {
    for (uint32_t set = 0; set < sets_of(w); set++)
        for (uint32_t s = w->first[set]; s < w->first[set + 1]; s++)
            for (uint32_t t = 0; t < w->tensors; t++)
                if (users_of(w, set) >> t & 1) w->share[(size_t)s * w->tensors + t] = equal_share(w, set);
}

/* The least cost of `set` under the shares of output t; parts of it are known. */
static void cost_set(bounding *w, uint32_t set, uint32_t t) {
    bool free = is_single(set) || (w->made && w->made[set]);
    w->cost[set] = free ? 0 : INFINITY;
    w->choice[set] = UNUSED;
    if (free) return;
    double equal = w->share ? 0 : equal_share(w, set);
    for (uint32_t s = w->first[set]; s < w->first[set + 1]; s++) {
        const bound_step *step = &w->step[s];
        double share = w->share ? w->share[(size_t)s * w->tensors + t] : equal;
        double cost = share * step->macs + w->cost[step->a] + w->cost[step->b];
        if (cost >= w->cost[set]) continue;
        w->cost[set] = cost;
        w->choice[set] = (int32_t)s;
    }
}

static void mark_users(bounding *w, uint32_t set, uint32_t t) {
    if (w->choice[set] == UNUSED) return;
    bound_step *step = &w->step[w->choice[set]];
    step->users |= (uint16_t)(1u << t);
    mark_users(w, step->a, t);
    mark_users(w, step->b, t);
}

/* The bound under the present shares; marks who uses which step. */
static double relax(bounding *w) {
    double bound = 0;
    uint32_t all = sets_of(w) - 1;
    for (uint32_t s = 0; s < w->steps; s++) w->step[s].users = 0;
    for (uint32_t t = 0; t < w->tensors; t++) {
        if (!(w->outputs >> t & 1)) continue;
        uint32_t whole = all & ~(UINT32_C(1) << t);
        /* Ascending numbers: a set's parts come before it. With equal shares the costs are those of every
         * output, and the first pass has them all. */
        bool known = !w->share && bound > 0;
        for (uint32_t set = 1; set < all && !known; set++)
            if (!w->share || !(set & ~whole)) cost_set(w, set, t);
        bound += w->cost[whole];
        if (w->all_costs)
            memcpy(w->all_costs + (size_t)t * sets_of(w), w->cost, sets_of(w) * sizeof *w->cost);
        mark_users(w, whole, t);
    }
    return bound;
}

/* How far the output's use of the step is from its share of all uses. */
static double deviation(const bound_step *step, uint32_t t, uint32_t users) {
    double used = __builtin_popcount(step->users), all = __builtin_popcount(users);
    return step->macs * ((step->users >> t & 1) - used / all);
}

static double squared_norm(const bounding *w) {
    double norm = 0;
    for (uint32_t set = 1; set < sets_of(w); set++)
        for (uint32_t s = w->first[set]; s < w->first[set + 1]; s++)
            for (uint32_t t = 0; t < w->tensors && w->step[s].users; t++)
                if (users_of(w, set) >> t & 1) {
                    double d = deviation(&w->step[s], t, users_of(w, set));
                    norm += d * d;
                }
    return norm;
}

/* Shares of one step, moved along the subgradient, cut at 0 and made to sum to 1. */
static void move_shares(bounding *w, uint32_t s, uint32_t users, double length) {
    double sum = 0, *share = w->share + (size_t)s * w->tensors;
    for (uint32_t t = 0; t < w->tensors; t++) {
        if (!(users >> t & 1)) continue;
        share[t] = fmax(0, share[t] + length * deviation(&w->step[s], t, users));
        sum += share[t];
    }
    for (uint32_t t = 0; t < w->tensors; t++)
        if (users >> t & 1) share[t] /= sum;
}

/* Moves the shares as long as that may help; the costs that are asked for are those of the best ones. */
static double improve(bounding *w, double bound, int rounds, double known) {
    double best = bound, *asked = w->all_costs, *kept = asked;
    size_t bytes = (size_t)w->tensors * sets_of(w) * sizeof *asked;
    if (asked) w->all_costs = asked + (size_t)w->tensors * sets_of(w); /* room for the ones at hand */
    for (int round = 0; round < rounds && best * (1 + 1e-12) < known; round++) {
        double norm = squared_norm(w);
        if (!(norm > 0)) break;
        for (uint32_t set = 1; set < sets_of(w); set++)
            for (uint32_t s = w->first[set]; s < w->first[set + 1]; s++)
                if (w->step[s].users) move_shares(w, s, users_of(w, set), (known - bound) / norm);
        bound = relax(w);
        if (bound <= best) continue;
        best = bound;
        if (kept) memcpy(kept, w->all_costs, bytes);
    }
    w->all_costs = asked;
    return best;
}

tn_status tn_bounder_new(const tn_closed *closed, tn_bounder **bounder, tn_error *error) {
    bounding *w;
    TN_TRY(TN_ALLOC(1, &w, error));
    w->closed = closed;
    w->tensors = closed->leaves + 1;
    tn_status status = allocate(w, error);
    if (status == TN_OK)
        list_steps(w);
    else
        tn_bounder_free(w);
    *bounder = status == TN_OK ? w : NULL;
    return status;
}

void tn_bounder_free(tn_bounder *bounder) {
    if (!bounder) return;
    tn_free(bounder->first);
    tn_free(bounder->step);
    tn_free(bounder->share);
    tn_free(bounder->cost);
    tn_free(bounder->choice);
    tn_free(bounder);
}

double tn_bounder_find(tn_bounder *w, uint32_t outputs, const bool *made, int rounds, double known,
                       double *cost) {
    w->outputs = outputs;
    w->made = made;
    w->all_costs = cost;
    if (w->share) share_equally(w);
    double bound = relax(w);
    return w->share ? improve(w, bound, rounds, known) : bound;
}

tn_status tn_training_bound(const tn_closed *closed, uint64_t known, uint64_t *bound, tn_error *error) {
    tn_bounder *bounder;
    uint32_t outputs = (uint32_t)closed->wanted | UINT32_C(1) << closed->leaves;
    *bound = 0;
    if (closed->leaves > TN_BOUND_EQUAL) return TN_OK;
    TN_TRY(tn_bounder_new(closed, &bounder, error));
    double found = ceil(tn_bounder_find(bounder, outputs, NULL, ROUNDS, (double)known, NULL) * (1 - 1e-12));
    tn_bounder_free(bounder);
    *bound = found >= 0x1p63 ? (uint64_t)1 << 63 : (uint64_t)found;
    if (*bound > known) *bound = known;
    return TN_OK;
}
