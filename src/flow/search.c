#include "flow/search.h"

#include "base/checked.h"
#include "base/interrupt.h"
#include "flow/bounds.h"
#include "flow/cut_bound.h"
#include "flow/search_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t USUAL_WORK = 5000000000; /* a few seconds */
static const uint64_t QUICK_WORK =
    1 << 22; /* some ten milliseconds, about what the anytime rounds that follow take */
static const uint64_t QUICK_BOUND_WORK = 1 << 24; /* some ten milliseconds, mostly less */
static const uint64_t DEFAULT_SEED = 1;
enum { ANYTIME_ROUNDS = 8, QUICK_ROUNDS = 2 };

/* options NULL: defaults. Ended with search_state_end also where it failed. */
static tn_status search_state_begin(tn_search_state *state, const tn_network *network,
                                    const tn_search_options *options, tn_arena *arena, tn_error *error) {
    state->network = network;
    state->options = options ? *options : (tn_search_options){0};
    state->arena = arena;
    state->scratch = (tn_arena){0};
    state->error = error;
    if (!state->options.effort) state->options.effort = 1;
    if (!state->options.work_most)
        state->options.work_most = tn_saturating_mul(USUAL_WORK, state->options.effort);
    if (!state->options.seed) state->options.seed = DEFAULT_SEED;
    TN_TRY(tn_network_check(network, error));
    TN_TRY(tn_network_input_elements(network, &state->inputs, error));
    state->fits = tn_problem_of(network, state->options.no_outer, &state->problem);
    return TN_OK;
}

/* options NULL: defaults. Ended with search_state_end also where it failed. */
static void search_state_end(tn_search_state *state) {
    tn_arena_free(&state->scratch);
}

/* Why an exact search that did not complete stopped. */
static tn_stop search_state_stop(const tn_search_state *state) {
    if (tn_interrupt_is_due()) return TN_STOP_TIME;
    if (tn_interrupted()) return TN_STOP_INTERRUPTED;
    return state->fits ? TN_STOP_WORK : TN_STOP_TOO_LARGE;
}

static tn_status copy_tree(tn_search_state *state, const tn_merge *merge, tn_arena *arena, tn_tree *tree) {
    uint32_t n = state->network->tensors;
    tree->tensors = n;
    TN_TRY(TN_NEW(arena, n, &tree->merge, state->error));
    if (merge) memcpy(tree->merge, merge, (n - 1) * sizeof *merge);
    return TN_OK;
}

/* *result = the tree `merge` (scratch memory), reordered and costed; found, not proven. */
static tn_status search_state_result(tn_search_state *state, const tn_merge *merge,
                                     tn_search_result *result) {
    TN_TRY(copy_tree(state, merge, state->arena, &result->tree));
    TN_TRY(tn_tree_reorder(state->network, &result->tree, &state->scratch, state->error));
    TN_TRY(tn_tree_cost_of(state->network, &result->tree, &result->cost, state->error));
    result->found = true;
    return TN_OK;
}

/* The only tree of a network of one tensor. */
static tn_status search_state_single(tn_search_state *state, tn_search_result *result) {
    uint64_t bound = state->options.max_live_elements;
    TN_TRY(search_state_result(state, NULL, result));
    result->exact = true;
    result->found = !bound || result->cost.peak_elements <= bound;
    if (state->options.objective == TN_LEAST_LIVE || !result->found)
        result->lower_bound = result->cost.peak_elements;
    return TN_OK;
}

/* ---- candidates ---- */

static uint64_t excess(const tn_search_state *state, const tn_search_result *result) {
    uint64_t bound = state->options.max_live_elements, peak = result->cost.peak_elements;
    return bound && peak > bound ? peak - bound : 0;
}

static bool better(const tn_search_state *state, const tn_search_result *a, const tn_search_result *b) {
    uint64_t over_a = excess(state, a), over_b = excess(state, b);
    if (over_a != over_b) return over_a < over_b;
    switch (state->options.objective) {
    case TN_LEAST_LIVE:
        if (a->cost.peak_elements != b->cost.peak_elements)
            return a->cost.peak_elements < b->cost.peak_elements;
        break;
    case TN_LEAST_PRICE:
        if (a->price != b->price) return a->price < b->price;
        break;
    case TN_LEAST_MACS:
        break;
    }
    if (a->cost.macs != b->cost.macs) return a->cost.macs < b->cost.macs;
    return a->cost.largest_intermediate < b->cost.largest_intermediate;
}

/* What the offer needs that may pass 64 bits. */
static tn_status judge(tn_search_state *state, tn_search_result *fresh) {
    TN_TRY(tn_tree_reorder(state->network, &fresh->tree, &state->scratch, state->error));
    TN_TRY(tn_tree_cost_of(state->network, &fresh->tree, &fresh->cost, state->error));
    if (state->options.objective != TN_LEAST_PRICE) return TN_OK;
    TN_TRY(
        tn_tree_orient(state->network, &fresh->tree, &state->options.pricing, &state->scratch, state->error));
    return tn_tree_price(state->network, &fresh->tree, &state->options.pricing, &fresh->price, state->error);
}

/* Replaces *best by the tree where that is better: within max_live_elements first, then by the objective. A
 * tree past 64 bits is passed over. */
static tn_status search_state_offer(tn_search_state *state, const tn_merge *merge, tn_search_result *best) {
    tn_search_result fresh = *best;
    TN_TRY(copy_tree(state, merge, &state->scratch, &fresh.tree));
    tn_status status = judge(state, &fresh);
    if (status == TN_OVERFLOW) return TN_OK;
    TN_TRY(status);
    if (best->found && !better(state, &fresh, best)) return TN_OK;
    fresh.found = true;
    TN_TRY(copy_tree(state, fresh.tree.merge, state->arena, &fresh.tree));
    *best = fresh;
    return TN_OK;
}

typedef struct climb {
    tn_search_state *state;
    tn_search_result *best;
} climb;

static tn_status offer_round(void *user, const tn_tree *tree, tn_error *error) {
    climb *c = user;
    (void)error;
    tn_arena_reset(&c->state->scratch);
    return search_state_offer(c->state, tree->merge, c->best);
}

/* So many anytime rounds that sum `goal`, each offered to *best. */
static tn_status climb_rounds(tn_search_state *state, tn_anytime_goal goal, uint64_t rounds,
                              tn_search_result *best) {
    climb c = {state, best};
    tn_anytime_options options = {.goal = goal,
                                  .no_outer = state->options.no_outer,
                                  .pricing = &state->options.pricing,
                                  .seed = state->options.seed,
                                  .rounds = rounds};
    return tn_anytime_search(state->network, &options, offer_round, &c, state->error);
}

static tn_status search_state_climb(tn_search_state *state, tn_anytime_goal goal, tn_search_result *best) {
    return climb_rounds(state, goal, (uint64_t)ANYTIME_ROUNDS * state->options.effort, best);
}

/* Every tree there is (flow/search.h). Trees over the first k tensors become trees over k+1 by putting tensor
 * k beside any of their 2k-1 nodes; each tree arises once. */

enum { TENSORS_MOST = 8, NODES = 2 * TENSORS_MOST };

/* Nodes 0..n-1 are tensors, the others inner; `parent` of the root is itself. */
typedef struct shape {
    uint32_t root, parent[NODES], child[NODES][2];
} shape;

typedef struct walk {
    tn_search_state *state;
    tn_tree_visitor visit;
    void *user;
    tn_tree tree;
    tn_arena scratch;
    bool any;
} walk;

static uint32_t write_merges(const shape *s, uint32_t n, uint32_t node, uint32_t *count, tn_merge *merge) {
    if (node < n) return node;
    uint32_t a = write_merges(s, n, s->child[node][0], count, merge);
    uint32_t b = write_merges(s, n, s->child[node][1], count, merge);
    merge[*count] = (tn_merge){a, b};
    return n + (*count)++;
}

static bool share(tn_indices a, tn_indices b) {
    for (uint32_t i = 0; i < a.count; i++)
        for (uint32_t j = 0; j < b.count; j++)
            if (a.index[i] == b.index[j]) return true;
    return false;
}

/* *all false if some merge is an outer product. */
static tn_status all_share(walk *w, bool *all) {
    tn_indices *tensor = NULL;
    const tn_tree *tree = &w->tree;
    TN_TRY(tn_tree_tensors(w->state->network, tree, &w->scratch, &tensor, w->state->error));
    *all = true;
    for (uint32_t i = 0; i + 1 < tree->tensors; i++)
        *all = *all && share(tensor[tree->merge[i].a], tensor[tree->merge[i].b]);
    return TN_OK;
}

static tn_status show(walk *w, const shape *s) {
    tn_search_state *state = w->state;
    uint32_t count = 0;
    tn_tree_cost cost;
    write_merges(s, w->tree.tensors, s->root, &count, w->tree.merge);
    tn_arena_reset(&w->scratch);
    bool wanted = true;
    if (state->options.no_outer) TN_TRY(all_share(w, &wanted));
    if (!wanted) return TN_OK;
    TN_TRY(tn_tree_reorder(state->network, &w->tree, &w->scratch, state->error));
    TN_TRY(tn_tree_cost_of(state->network, &w->tree, &cost, state->error));
    w->any = true;
    return w->visit(w->user, &w->tree, &cost, state->error);
}

/* Puts tensor `leaf` beside `node` under the new inner node. */
static void insert(shape *s, uint32_t leaf, uint32_t node, uint32_t inner) {
    uint32_t above = s->parent[node];
    s->child[inner][0] = node;
    s->child[inner][1] = leaf;
    s->parent[leaf] = inner;
    s->parent[inner] = above == node ? inner : above;
    if (above == node)
        s->root = inner;
    else
        s->child[above][s->child[above][1] == node] = inner;
    s->parent[node] = inner;
}

static tn_status add_tensor(walk *w, const shape *s, uint32_t leaf) {
    uint32_t n = w->tree.tensors;
    if (leaf == n) return show(w, s);
    for (uint32_t node = 0; node < n + leaf - 1; node++) {
        if (node >= leaf && node < n) continue;
        shape wider = *s;
        insert(&wider, leaf, node, n + leaf - 1);
        TN_TRY(add_tensor(w, &wider, leaf + 1));
    }
    return TN_OK;
}

static tn_status every_tree(tn_search_state *state, tn_tree_visitor visit, void *user) {
    uint32_t n = state->network->tensors;
    tn_merge merge[TENSORS_MOST];
    shape single = {0};
    if (n > TENSORS_MOST)
        return tn_fail(state->error, TN_LIMIT, "every tree over %" PRIu32 " tensors; at most %d", n,
                       TENSORS_MOST);
    walk w = {.state = state, .visit = visit, .user = user, .tree = {n, merge}};
    tn_status status = add_tensor(&w, &single, 1);
    tn_arena_free(&w.scratch);
    TN_TRY(status);
    if (!w.any)
        return tn_fail(state->error, TN_INPUT,
                       "the network falls into parts that share no index; it needs outer products");
    return TN_OK;
}

tn_status tn_search_every_tree(const tn_network *network, const tn_search_options *options,
                               tn_tree_visitor visit, void *user, tn_error *error) {
    tn_search_state state;
    tn_status status = search_state_begin(&state, network, options, NULL, error);
    if (status == TN_OK) status = every_tree(&state, visit, user);
    search_state_end(&state);
    return status;
}

/* Searches in which peak live elements count (flow/search.h). */

/* One run of the exact search; what it found is in *live. */
static tn_status run(tn_search_state *state, tn_live_goal goal, uint64_t peak_most, uint64_t peak_floor,
                     tn_live_result *live) {
    tn_live_options options = {.goal = goal,
                               .no_outer = state->options.no_outer,
                               .peak_most = peak_most,
                               .peak_floor = peak_floor,
                               .work_most = state->options.work_most};
    *live = (tn_live_result){0};
    if (!state->fits) return TN_OK;
    return tn_exact_live_search(&state->problem, &options, &state->scratch, live, state->error);
}

/* No tree needs less above what is resident. */
static uint64_t floor_of(tn_search_state *state, uint64_t *work) {
    uint64_t output = 0;
    if (state->fits) return tn_last_merge_bound(&state->problem, work);
    tn_network_elements(state->network, state->network->output, &output, NULL);
    return output;
}

/* Peak of a tree above what is resident. */
static uint64_t above_inputs(const tn_search_state *state, const tn_search_result *result) {
    return result->cost.peak_elements - state->inputs;
}

/* The search for the least peak gave up: *result is the known tree or a better one. */
static tn_status climb_to_peak(tn_search_state *state, uint64_t floor, tn_search_result *result) {
    result->exact = false;
    result->stop = search_state_stop(state);
    result->lower_bound = tn_saturating_add(state->inputs, floor);
    TN_TRY(search_state_climb(state, TN_ANYTIME_ELEMENTS, result));
    if (result->cost.peak_elements > result->lower_bound) return TN_OK;
    result->exact = true;
    result->stop = TN_STOP_PROVEN;
    return TN_OK;
}

/* The least peak, from a first tree (of least MACs): *result is that tree or a better one. */
static tn_status lower_peak(tn_search_state *state, tn_search_result *result) {
    tn_live_result live = {0}, cheap;
    uint64_t known = above_inputs(state, result), floor = floor_of(state, &result->work);
    bool least_macs = result->exact;
    if (known > floor) {
        TN_TRY(run(state, TN_LIVE_LEAST_PEAK, known, floor, &live));
        result->work += live.work;
        if (!live.complete) return climb_to_peak(state, live.level > floor ? live.level : floor, result);
    }
    /* Of the trees of that peak the cheapest, unless that takes too much work. */
    uint64_t least = live.count ? live.point[0].peak : known;
    if (known > least || !least_macs) {
        TN_TRY(run(state, TN_LIVE_LEAST_MACS, least, 0, &cheap));
        result->work += cheap.work;
        if (cheap.count) live = cheap;
        if (live.count) TN_TRY(search_state_result(state, live.point[0].merge, result));
    }
    result->exact = true;
    result->stop = TN_STOP_PROVEN;
    result->lower_bound = result->cost.peak_elements;
    return TN_OK;
}

static void drop_if_over(tn_search_state *state, tn_search_result *result) {
    uint64_t bound = state->options.max_live_elements;
    if (bound && result->cost.peak_elements > bound) {
        result->found = false;
        result->exact = result->lower_bound > bound;
    }
}

static tn_status search_least_live(tn_search_state *state, tn_search_result *result) {
    TN_TRY(tn_search_least_macs(state, result));
    TN_TRY(lower_peak(state, result));
    drop_if_over(state, result);
    return TN_OK;
}

/* Nothing fits the bound, as far as is known: says what would. */
static tn_status report_none(tn_search_state *state, tn_search_result *result) {
    TN_TRY(lower_peak(state, result));
    drop_if_over(state, result);
    return TN_OK;
}

/* Least MACs within max_live_elements. */
static tn_status search_bounded(tn_search_state *state, tn_search_result *result) {
    uint64_t bound = state->options.max_live_elements;
    tn_live_result live;
    TN_TRY(tn_search_least_macs(state, result));
    if (result->cost.peak_elements <= bound) return TN_OK;
    if (bound < state->inputs) {
        result->found = false;
        result->exact = true;
        result->stop = TN_STOP_PROVEN;
        result->lower_bound = tn_saturating_add(state->inputs, floor_of(state, &result->work));
        return TN_OK;
    }
    TN_TRY(run(state, TN_LIVE_LEAST_MACS, bound - state->inputs, 0, &live));
    result->work += live.work;
    if (live.count) {
        TN_TRY(search_state_result(state, live.point[0].merge, result));
        result->exact = true;
        result->stop = TN_STOP_PROVEN;
        result->lower_bound = result->cost.macs;
        return TN_OK;
    }
    if (live.complete) return report_none(state, result);
    result->exact = false;
    result->stop = search_state_stop(state);
    if (live.level > result->lower_bound) result->lower_bound = live.level;
    TN_TRY(search_state_climb(state, TN_ANYTIME_ELEMENTS, result));
    if (result->cost.peak_elements > bound) {
        result->found = false;
        result->lower_bound = tn_saturating_add(state->inputs, floor_of(state, &result->work));
    }
    return TN_OK;
}

/* ---- the front ---- */

static int by_macs(const void *a, const void *b) {
    const tn_tree_cost *p = &((const tn_search_result *)a)->cost, *q = &((const tn_search_result *)b)->cost;
    if (p->macs != q->macs) return p->macs < q->macs ? -1 : 1;
    return (p->peak_elements > q->peak_elements) - (p->peak_elements < q->peak_elements);
}

/* Sorts, and keeps what nothing dominates and the bound allows. */
static void sift(const tn_search_state *state, tn_tree_front *front) {
    uint64_t least = state->options.max_live_elements ? state->options.max_live_elements : UINT64_MAX - 1;
    size_t kept = 0;
    qsort(front->item, front->count, sizeof *front->item, by_macs);
    for (size_t i = 0; i < front->count; i++) {
        if (front->item[i].cost.peak_elements > least) continue;
        least = front->item[i].cost.peak_elements - 1;
        front->item[kept++] = front->item[i];
    }
    front->count = kept;
}

static tn_status collect(tn_search_state *state, const tn_search_result *cheapest,
                         const tn_search_result *leanest, const tn_live_result *live, tn_tree_front *front) {
    TN_TRY(TN_NEW(state->arena, live->count + 2, &front->item, state->error));
    front->item[front->count++] = *cheapest;
    front->item[front->count++] = *leanest;
    for (size_t i = 0; i < live->count; i++) {
        tn_search_result *item = &front->item[front->count++];
        TN_TRY(search_state_result(state, live->point[i].merge, item));
    }
    sift(state, front);
    for (size_t i = 0; i < front->count; i++) {
        front->item[i].exact = front->exact;
        front->item[i].stop = front->stop;
        front->item[i].lower_bound = front->exact ? front->item[i].cost.macs : cheapest->lower_bound;
    }
    return TN_OK;
}

static tn_status find_front(tn_search_state *state, tn_tree_front *front) {
    uint64_t bound = state->options.max_live_elements;
    tn_search_result cheapest = {0}, leanest;
    tn_live_result live = {0};
    if (state->network->tensors == 1) {
        TN_TRY(search_state_single(state, &cheapest));
        front->exact = true;
        return collect(state, &cheapest, &cheapest, &live, front);
    }
    TN_TRY(tn_search_least_macs(state, &cheapest));
    leanest = cheapest;
    state->options.objective = TN_LEAST_LIVE;
    TN_TRY(lower_peak(state, &leanest));
    front->exact = cheapest.exact && leanest.exact;
    front->stop = leanest.stop;
    uint64_t most = above_inputs(state, &cheapest);
    if (bound && bound < cheapest.cost.peak_elements)
        most = bound > state->inputs ? bound - state->inputs : 0;
    /* Where the cheapest tree is the leanest too it is the whole front. */
    if (front->exact && cheapest.cost.peak_elements > leanest.cost.peak_elements) {
        TN_TRY(run(state, TN_LIVE_FRONT, most, above_inputs(state, &leanest), &live));
        front->exact = live.complete;
        front->stop = live.complete ? TN_STOP_PROVEN : search_state_stop(state);
    }
    return collect(state, &cheapest, &leanest, &live, front);
}

tn_status tn_search_front(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                          tn_tree_front *front, tn_error *error) {
    tn_search_state state;
    *front = (tn_tree_front){0};
    tn_status status = search_state_begin(&state, network, options, arena, error);
    if (status == TN_OK) status = find_front(&state, front);
    search_state_end(&state);
    return status;
}

/* The search for least MACs (flow/search.h). */

static const uint64_t USUAL_BOUND_WORK = 200000000; /* about a second */

/* No tree costs less: the last merge spans the output; and each merge consumes at most two of the network's
 * tensors and spans both. */
static uint64_t structural_bound(const tn_search_state *state) {
    const tn_network *network = state->network;
    uint64_t size[TN_TENSORS_MOST], sum = 0, output = UINT64_MAX;
    for (uint32_t t = 0; t < network->tensors; t++) {
        uint64_t elements = 0;
        uint32_t place = t;
        tn_network_elements(network, network->tensor[t], &elements, NULL);
        while (place && size[place - 1] < elements) {
            size[place] = size[place - 1];
            place--;
        }
        size[place] = elements;
    }
    for (uint32_t t = 0; t < network->tensors; t += 2) sum += size[t]; /* all inputs together fit 64 bits */
    tn_network_elements(network, network->output, &output, NULL);
    return output > sum ? output : sum;
}

static tn_status none_found(const tn_search_state *state, bool proven) {
    if (state->options.no_outer && proven)
        return tn_fail(state->error, TN_INPUT,
                       "the network falls into parts that share no index; it needs outer products");
    return tn_fail(state->error, TN_OVERFLOW,
                   "every tree %s takes more than 2^64 MACs or elements; use smaller sizes",
                   proven ? "there is" : "that was found");
}

/* What the exact search of as much of the network as it takes proves; *bound as it is where that is less. */
static tn_status raise_by_relaxation(tn_search_state *state, uint64_t *bound, uint64_t *work) {
    uint64_t most = tn_saturating_mul(USUAL_BOUND_WORK, state->options.effort);
    tn_exact_options options = {.memory = state->options.effort,
                                .work_most =
                                    most < state->options.work_most ? most : state->options.work_most};
    tn_exact_result exact = {0};
    tn_merge merge[TN_PROBLEM_TENSORS];
    tn_arena_reset(&state->scratch);
    TN_TRY(tn_relax(state->network, &state->scratch, &state->problem, state->error));
    if (state->problem.tensors < 2) return TN_OK;
    TN_TRY(tn_exact_search(&state->problem, &options, &state->scratch, merge, &exact, state->error));
    uint64_t proven = exact.complete && exact.found ? exact.cost : exact.level;
    if (proven > *bound) *bound = proven;
    *work += exact.work;
    return TN_OK;
}

static tn_status raise_by_cuts(tn_search_state *state, uint64_t *bound, uint64_t *work) {
    uint64_t most = tn_saturating_mul(USUAL_BOUND_WORK, state->options.effort);
    tn_cut_bound cuts;
    if (most > state->options.work_most) most = state->options.work_most;
    tn_arena_reset(&state->scratch);
    TN_TRY(tn_cut_bound_of(state->network, most, &state->scratch, &cuts, state->error));
    *work += most;
    if (cuts.within[cuts.tensors] > *bound) *bound = cuts.within[cuts.tensors];
    return TN_OK;
}

/* The exact search, a little of it at first; what takes longer is bounded by the best of a few anytime rounds and by what
 * cuts cost, for most of what a search keeps and pairs is part of no tree as good as that. */
static tn_status search_exactly(tn_search_state *state, tn_merge *merge, tn_exact_result *exact,
                                tn_search_result *result) {
    const uint64_t most = state->options.work_most;
    tn_exact_options options = {.no_outer = state->options.no_outer,
                                .work_most = most < QUICK_WORK ? most : QUICK_WORK,
                                .memory = state->options.effort};
    TN_TRY(tn_exact_search(&state->problem, &options, &state->scratch, merge, exact, state->error));
    result->work = exact->work;
    if (exact->complete || most <= QUICK_WORK || tn_interrupted()) return TN_OK;
    TN_TRY(climb_rounds(state, TN_ANYTIME_MACS, QUICK_ROUNDS, result));
    options.work_most = most;
    options.known = result->found ? result->cost.macs : 0;
    tn_arena_reset(&state->scratch);
    tn_cut_bound cuts;
    TN_TRY(tn_cut_bound_of(state->network, QUICK_BOUND_WORK, &state->scratch, &cuts, state->error));
    options.cuts = &cuts;
    TN_TRY(tn_exact_search(&state->problem, &options, &state->scratch, merge, exact, state->error));
    result->work += exact->work;
    return TN_OK;
}

tn_status tn_search_least_macs(tn_search_state *state, tn_search_result *result) {
    tn_exact_result exact = {0};
    tn_merge merge[TN_PROBLEM_TENSORS];
    if (state->fits) TN_TRY(search_exactly(state, merge, &exact, result));
    if (exact.complete) {
        if (!exact.found) return none_found(state, true);
        TN_TRY(search_state_result(state, merge, result));
        result->exact = true;
        result->lower_bound = result->cost.macs;
        return TN_OK;
    }
    result->stop = search_state_stop(state);
    if (exact.found) TN_TRY(search_state_offer(state, merge, result));
    TN_TRY(search_state_climb(state, TN_ANYTIME_MACS, result));
    if (!result->found) return none_found(state, false);
    uint64_t floor = structural_bound(state);
    result->lower_bound = exact.level > floor ? exact.level : floor;
    if (!tn_interrupted()) TN_TRY(raise_by_cuts(state, &result->lower_bound, &result->work));
    if (!state->fits && !tn_interrupted())
        TN_TRY(raise_by_relaxation(state, &result->lower_bound, &result->work));
    return TN_OK;
}

/* The search for the least price (flow/search.h). */

/* The exact optimum, offered to *result with its lower bound. */
static tn_status offer_exact(tn_search_state *state, tn_search_result *result) {
    const tn_exact_options options = {.no_outer = state->options.no_outer,
                                      .pricing = &state->options.pricing,
                                      .work_most = state->options.work_most};
    tn_exact_result exact = {0};
    tn_merge merge[TN_PROBLEM_TENSORS];
    if (state->fits)
        TN_TRY(tn_exact_search(&state->problem, &options, &state->scratch, merge, &exact, state->error));
    result->work += exact.work;
    result->exact = exact.complete;
    result->lower_bound = exact.complete && exact.found ? exact.cost : exact.level;
    return exact.found ? search_state_offer(state, merge, result) : TN_OK;
}

static tn_status search_least_price(tn_search_state *state, tn_search_result *result) {
    if (!state->options.pricing.price)
        return tn_fail(state->error, TN_INPUT,
                       "a search for the least price needs a price; give pricing.price");
    if (state->options.max_live_elements)
        return tn_fail(state->error, TN_INPUT, "a bound on live elements does not go with prices");
    TN_TRY(offer_exact(state, result));
    result->stop = result->exact ? TN_STOP_PROVEN : search_state_stop(state);
    if (!result->exact) TN_TRY(search_state_climb(state, TN_ANYTIME_PRICE, result));
    if (!result->found)
        return tn_fail(state->error, state->options.no_outer ? TN_INPUT : TN_OVERFLOW,
                       state->options.no_outer
                           ? "the network falls into parts that share no index; it needs outer products"
                           : "every tree that was found costs more than 2^64");
    return TN_OK;
}

static const char *const stops[] = {
    [TN_STOP_PROVEN] = "proven: nothing better exists",
    [TN_STOP_WORK] = "the exact search reached its limit of work or memory; the anytime search went on",
    [TN_STOP_TOO_LARGE] = ("more tensors or indices than the exact search takes; anytime search, bound from "
                           "cuts and from a part of them"),
    [TN_STOP_INTERRUPTED] = "interrupted",
    [TN_STOP_TIME] = "the time was up",
};

const char *tn_stop_text(tn_stop stop) {
    return stops[stop];
}

tn_status tn_search(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                    tn_search_result *result, tn_error *error) {
    tn_search_state state;
    *result = (tn_search_result){0};
    tn_status status = search_state_begin(&state, network, options, arena, error);
    if (status == TN_OK && network->tensors == 1)
        status = search_state_single(&state, result);
    else if (status == TN_OK && state.options.objective == TN_LEAST_PRICE)
        status = search_least_price(&state, result);
    else if (status == TN_OK && state.options.objective == TN_LEAST_LIVE)
        status = search_least_live(&state, result);
    else if (status == TN_OK && state.options.max_live_elements)
        status = search_bounded(&state, result);
    else if (status == TN_OK)
        status = tn_search_least_macs(&state, result);
    search_state_end(&state);
    return status;
}
