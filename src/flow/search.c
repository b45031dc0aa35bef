#include "flow/search.h"

#include "base/checked.h"
#include "base/interrupt.h"
#include "flow/search_state.h"

#include <inttypes.h>
#include <string.h>

/* A few seconds. */
static const uint64_t DEFAULT_WORK = 5000000000;
static const uint64_t DEFAULT_SEED = 1;
enum { ANYTIME_ROUNDS = 8 };

static const char *const stops[] = {
    [TN_STOP_PROVEN] = "proven: nothing better exists",
    [TN_STOP_WORK] = "the exact search reached its limit of work or memory; the anytime search went on",
    [TN_STOP_TOO_LARGE] = "more tensors or indices than the exact search takes; anytime search alone",
    [TN_STOP_UNITS] = "limited units: the best schedule is known exactly for small trees only",
    [TN_STOP_INTERRUPTED] = "interrupted",
};

const char *tn_stop_text(tn_stop stop) {
    return stops[stop];
}

/* ---- the session ---- */

tn_status tn_session_begin(tn_session *session, const tn_network *network, const tn_search_options *options,
                           tn_arena *arena, tn_error *error) {
    session->network = network;
    session->options = options ? *options : (tn_search_options){0};
    session->arena = arena;
    session->scratch = (tn_arena){0};
    session->error = error;
    if (!session->options.work_most) session->options.work_most = DEFAULT_WORK;
    if (!session->options.seed) session->options.seed = DEFAULT_SEED;
    TN_TRY(tn_network_check(network, error));
    TN_TRY(tn_network_input_elements(network, &session->inputs, error));
    session->fits = tn_problem_of(network, session->options.no_outer, &session->problem);
    return TN_OK;
}

void tn_session_end(tn_session *session) {
    tn_arena_free(&session->scratch);
}

tn_stop tn_session_stop(const tn_session *session) {
    if (tn_interrupted()) return TN_STOP_INTERRUPTED;
    return session->fits ? TN_STOP_WORK : TN_STOP_TOO_LARGE;
}

static tn_status copy_tree(tn_session *session, const tn_merge *merge, tn_arena *arena, tn_tree *tree) {
    uint32_t n = session->network->tensors;
    tree->tensors = n;
    TN_TRY(tn_arena_alloc(arena, n, sizeof *tree->merge, &tree->merge, session->error));
    if (merge) memcpy(tree->merge, merge, (n - 1) * sizeof *merge);
    return TN_OK;
}

tn_status tn_session_result(tn_session *session, const tn_merge *merge, tn_search_result *result) {
    TN_TRY(copy_tree(session, merge, session->arena, &result->tree));
    TN_TRY(tn_tree_reorder(session->network, &result->tree, &session->scratch, session->error));
    TN_TRY(tn_tree_cost_of(session->network, &result->tree, &result->cost, session->error));
    result->found = true;
    return TN_OK;
}

tn_status tn_session_single(tn_session *session, tn_search_result *result) {
    uint64_t bound = session->options.max_live_elements;
    TN_TRY(tn_session_result(session, NULL, result));
    result->exact = true;
    result->found = !bound || result->cost.peak_elements <= bound;
    if (session->options.objective == TN_LEAST_LIVE || !result->found)
        result->lower_bound = result->cost.peak_elements;
    return TN_OK;
}

/* ---- candidates ---- */

static uint64_t excess(const tn_session *session, const tn_search_result *result) {
    uint64_t bound = session->options.max_live_elements, peak = result->cost.peak_elements;
    return bound && peak > bound ? peak - bound : 0;
}

static bool better(const tn_session *session, const tn_search_result *a, const tn_search_result *b) {
    uint64_t over_a = excess(session, a), over_b = excess(session, b);
    if (over_a != over_b) return over_a < over_b;
    switch (session->options.objective) {
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
static tn_status judge(tn_session *session, tn_search_result *fresh) {
    TN_TRY(tn_tree_reorder(session->network, &fresh->tree, &session->scratch, session->error));
    TN_TRY(tn_tree_cost_of(session->network, &fresh->tree, &fresh->cost, session->error));
    if (session->options.objective != TN_LEAST_PRICE) return TN_OK;
    TN_TRY(tn_session_orient(session, &fresh->tree, &session->scratch));
    return tn_tree_price(session->network, &fresh->tree, &session->options.pricing, &fresh->price, NULL,
                         session->error);
}

tn_status tn_session_offer(tn_session *session, const tn_merge *merge, tn_search_result *best) {
    tn_search_result fresh = *best;
    TN_TRY(copy_tree(session, merge, &session->scratch, &fresh.tree));
    tn_status status = judge(session, &fresh);
    if (status == TN_OVERFLOW) return TN_OK;
    TN_TRY(status);
    if (best->found && !better(session, &fresh, best)) return TN_OK;
    fresh.found = true;
    TN_TRY(copy_tree(session, fresh.tree.merge, session->arena, &fresh.tree));
    *best = fresh;
    return TN_OK;
}

typedef struct climb {
    tn_session *session;
    tn_search_result *best;
} climb;

static tn_status offer_round(void *user, const tn_tree *tree, tn_error *error) {
    climb *c = user;
    (void)error;
    tn_arena_reset(&c->session->scratch);
    return tn_session_offer(c->session, tree->merge, c->best);
}

tn_status tn_session_climb(tn_session *session, tn_anytime_goal goal, tn_search_result *best) {
    climb c = {session, best};
    tn_anytime_options options = {.goal = goal,
                                  .no_outer = session->options.no_outer,
                                  .pricing = &session->options.pricing,
                                  .seed = session->options.seed,
                                  .rounds = ANYTIME_ROUNDS};
    return tn_anytime_search(session->network, &options, offer_round, &c, session->error);
}

/* ---- least MACs ---- */

/* No tree costs less: the last merge spans the output; and each merge consumes at most two of the network's
 * tensors and spans both. */
static uint64_t structural_bound(const tn_session *session) {
    const tn_network *network = session->network;
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

static tn_status none_found(const tn_session *session, bool proven) {
    if (session->options.no_outer && proven)
        return tn_fail(session->error, TN_INPUT,
                       "the network falls into parts that share no index; it needs outer products");
    return tn_fail(session->error, TN_OVERFLOW,
                   "every tree %s takes more than 2^64 MACs or elements; use smaller sizes",
                   proven ? "there is" : "that was found");
}

tn_status tn_search_least_macs(tn_session *session, tn_search_result *result) {
    tn_exact_options options = {.no_outer = session->options.no_outer,
                                .work_most = session->options.work_most};
    tn_exact_result exact = {0};
    tn_merge merge[TN_PROBLEM_TENSORS];
    if (session->fits)
        TN_TRY(
            tn_exact_search(&session->problem, &options, &session->scratch, merge, &exact, session->error));
    result->work = exact.work;
    if (exact.complete) {
        if (!exact.found) return none_found(session, true);
        TN_TRY(tn_session_result(session, merge, result));
        result->exact = true;
        result->lower_bound = result->cost.macs;
        return TN_OK;
    }
    result->stop = tn_session_stop(session);
    if (exact.found) TN_TRY(tn_session_offer(session, merge, result));
    TN_TRY(tn_session_climb(session, TN_ANYTIME_MACS, result));
    if (!result->found) return none_found(session, false);
    uint64_t floor = structural_bound(session);
    result->lower_bound = exact.level > floor ? exact.level : floor;
    return TN_OK;
}

tn_status tn_search(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                    tn_search_result *result, tn_error *error) {
    tn_session session;
    *result = (tn_search_result){0};
    tn_status status = tn_session_begin(&session, network, options, arena, error);
    if (status == TN_OK && network->tensors == 1)
        status = tn_session_single(&session, result);
    else if (status == TN_OK && session.options.objective == TN_LEAST_PRICE)
        status = tn_search_least_price(&session, result);
    else if (status == TN_OK && session.options.objective == TN_LEAST_LIVE)
        status = tn_search_least_live(&session, result);
    else if (status == TN_OK && session.options.max_live_elements)
        status = tn_search_bounded(&session, result);
    else if (status == TN_OK)
        status = tn_search_least_macs(&session, result);
    tn_session_end(&session);
    return status;
}
