#include "flow/training_bound.h"

#include "base/memory.h"

#include <math.h>

enum { ROUNDS = 300, UNUSED = -1 };

typedef struct bound_step {
    uint16_t a, b;  /* sets */
    uint16_t users; /* outputs whose tree has it, this round */
    double macs;
} bound_step;

/* Sets are masks over the closed network's tensors; output t lacks tensor t. */
typedef struct bounding {
    const tn_closed *closed;
    uint32_t tensors; /* of the closed network */
    uint32_t outputs; /* mask */
    uint32_t steps;
    uint32_t *first; /* [sets + 1]: the steps that make each set are neighbours, sets ascending */
    bound_step *step;
    double *share;   /* [steps][tensors] */
    double *cost;    /* [sets] */
    int32_t *choice; /* [sets]: the cheapest step */
    tn_error *error;
} bounding;

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

static tn_status allocate(bounding *w) {
    size_t sets = sets_of(w), steps = count_steps(w);
    TN_TRY(tn_alloc(sets + 1, sizeof *w->first, &w->first, w->error));
    TN_TRY(tn_alloc(steps, sizeof *w->step, &w->step, w->error));
    TN_TRY(tn_alloc(sets, sizeof *w->cost, &w->cost, w->error));
    TN_TRY(tn_alloc(sets, sizeof *w->choice, &w->choice, w->error));
    if (w->closed->leaves > TN_BOUND_IMPROVED) return TN_OK;
    return tn_alloc(steps * w->tensors, sizeof *w->share, &w->share, w->error);
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
    w->cost[set] = is_single(set) ? 0 : INFINITY;
    w->choice[set] = UNUSED;
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
    if (is_single(set)) return;
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

static double improve(bounding *w, double bound, double known) {
    double best = bound;
    for (int round = 0; round < ROUNDS && best * (1 + 1e-12) < known; round++) {
        double norm = squared_norm(w);
        if (!(norm > 0)) break;
        for (uint32_t set = 1; set < sets_of(w); set++)
            for (uint32_t s = w->first[set]; s < w->first[set + 1]; s++)
                if (w->step[s].users) move_shares(w, s, users_of(w, set), (known - bound) / norm);
        bound = relax(w);
        best = fmax(best, bound);
    }
    return best;
}

static tn_status find(bounding *w, uint64_t known, uint64_t *bound) {
    TN_TRY(allocate(w));
    list_steps(w);
    if (w->share) share_equally(w);
    double found = relax(w);
    if (w->share) found = improve(w, found, (double)known);
    found = ceil(found * (1 - 1e-12));
    *bound = found >= 0x1p63 ? (uint64_t)1 << 63 : (uint64_t)found;
    if (*bound > known) *bound = known;
    return TN_OK;
}

tn_status tn_training_bound(const tn_closed *closed, uint64_t known, uint64_t *bound, tn_error *error) {
    bounding w = {.closed = closed, .tensors = closed->leaves + 1, .error = error};
    w.outputs = (uint32_t)closed->wanted | UINT32_C(1) << closed->leaves;
    *bound = 0;
    if (closed->leaves > TN_BOUND_EQUAL) return TN_OK;
    tn_status status = find(&w, known, bound);
    tn_free(w.first);
    tn_free(w.step);
    tn_free(w.share);
    tn_free(w.cost);
    tn_free(w.choice);
    return status;
}
