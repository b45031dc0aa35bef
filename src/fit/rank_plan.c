#include "fit/rank_plan.h"

#include "fit/own_weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS_MOST = 6, LIST_TEXT = 21 * TN_RANKS_MOST };

static const char *list_text(const uint64_t *number, uint32_t count, char apart, char text[LIST_TEXT]) {
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k < count; k++) {
        if (k) text[length++] = apart;
        length += (size_t)snprintf(text + length, 21, "%" PRIu64, number[k]);
    }
    return text;
}

/* "tt 12x8x8 by 8x8x12, ranks 1 12 12 12 12 12 1" */
static tn_status label_of(const tn_weight *weight, tn_arena *arena, const char **label, tn_error *error) {
    char m[LIST_TEXT], n[LIST_TEXT], ranks[LIST_TEXT];
    return tn_arena_format(arena, label, error, "%s %s by %s, ranks %s", tn_format_names[weight->format],
                           list_text(weight->m, weight->d, 'x', m), list_text(weight->n, weight->d, 'x', n),
                           list_text(weight->rank, weight->rank_count, ' ', ranks));
}

/* What a candidate adds to the sum that is made least; *usable = false where accuracies do not cover it. */
static tn_status objective_of(const tn_rank_plan *plan, const tn_candidates *of,
                              const tn_candidate *candidate, bool in_range, double *objective, bool *usable,
                              tn_error *error) {
    double least, most, rank = (double)candidate->cap;
    *usable = true;
    *objective = candidate->squared_error;
    if (!plan->accuracy) return TN_OK;
    TN_TRY(tn_accuracy_range(plan->accuracy, of->name, &least, &most, error));
    *usable = !in_range || (rank >= least && rank <= most);
    if (!*usable) return TN_OK;
    return tn_accuracy_loss(plan->accuracy, of->name, plan->layers, rank, objective, error);
}

static tn_status drop_uncovered(tn_rank_plan *plan, bool in_range, tn_error *error) {
    for (size_t l = 0; l < plan->layers; l++) {
        tn_candidates *of = &plan->candidates[l];
        bool any = false;
        for (size_t i = 0; i < of->count; i++) {
            bool usable;
            double objective;
            if (!of->item[i].usable) continue;
            TN_TRY(objective_of(plan, of, &of->item[i], in_range, &objective, &usable, error));
            of->item[i].usable = usable;
            any |= usable;
        }
        if (!any)
            return tn_fail(
                error, TN_INPUT,
                "no candidate of layer %s lies within the measured ranks; ask for others with --cap",
                of->name);
    }
    return TN_OK;
}

static tn_status make_room(tn_rank_plan *plan, size_t candidates, tn_arena *arena, tn_error *error) {
    tn_rank_problem *p = &plan->problem;
    TN_TRY(tn_arena_alloc(arena, plan->layers, sizeof *p->layer, &p->layer, error));
    TN_TRY(tn_arena_alloc(arena, plan->layers + 1, sizeof *p->first, &p->first, error));
    TN_TRY(tn_arena_alloc(arena, candidates, sizeof *p->error, &p->error, error));
    TN_TRY(tn_arena_alloc(arena, candidates, sizeof *p->cap, &p->cap, error));
    TN_TRY(tn_arena_alloc(arena, candidates, sizeof *p->group, &p->group, error));
    TN_TRY(tn_arena_alloc(arena, candidates, sizeof *p->label, &p->label, error));
    TN_TRY(tn_arena_alloc(arena, candidates, sizeof *plan->candidate, &plan->candidate, error));
    return tn_arena_alloc(arena, candidates * p->costs, sizeof *p->cost, &p->cost, error);
}

/* The candidates that can be used, as the problem's. */
static tn_status fill(tn_rank_plan *plan, tn_arena *arena, tn_error *error) {
    tn_rank_problem *p = &plan->problem;
    size_t at = 0, kept = 0;
    for (size_t l = 0; l < plan->layers; l++) {
        const tn_candidates *of = &plan->candidates[l];
        p->layer[l] = of->name;
        p->first[l] = kept;
        for (size_t i = 0; i < of->count; i++, at++) {
            const tn_candidate *candidate = &of->item[i];
            bool usable;
            if (!candidate->usable) continue;
            TN_TRY(objective_of(plan, of, candidate, false, &p->error[kept], &usable, error));
            TN_TRY(label_of(&candidate->weight, arena, &p->label[kept], error));
            p->cap[kept] = candidate->cap;
            p->group[kept] =
                candidate->folding == 0 && candidate->tolerance < 0 ? candidate->cap : UINT64_MAX;
            memcpy(p->cost + kept * p->costs, plan->cost + at * p->costs, p->costs * sizeof *p->cost);
            plan->candidate[kept++] = candidate;
        }
    }
    p->first[plan->layers] = kept;
    return TN_OK;
}

static tn_status pose(tn_rank_plan *plan, bool in_range, tn_arena *arena, tn_error *error) {
    tn_rank_problem *p = &plan->problem;
    size_t candidates = 0;
    TN_TRY(drop_uncovered(plan, in_range, error));
    for (size_t l = 0; l < plan->layers; l++) candidates += plan->candidates[l].count;
    p->layers = plan->layers;
    p->costs = tn_rank_costs_count(plan->costs);
    p->cost_name = (const char **)tn_rank_cost_names;
    p->error_name = plan->accuracy ? "accuracy_loss" : "sqerr";
    TN_TRY(make_room(plan, candidates, arena, error));
    TN_TRY(tn_arena_alloc(arena, candidates * p->costs, sizeof *plan->cost, &plan->cost, error));
    TN_TRY(
        tn_rank_costs_find(plan->costs, plan->candidates, plan->layers, NULL, plan->cost, p->fixed, error));
    for (size_t l = 0; l < plan->layers; l++) plan->squared_norm += plan->candidates[l].squared_norm;
    return fill(plan, arena, error);
}

tn_status tn_rank_plan_make(const tn_model *model, const tn_trained *trained, const tn_candidate_rule *rule,
                            const tn_device *device, const tn_accuracy *accuracy, bool in_range,
                            const tn_progress *progress, tn_arena *arena, tn_rank_plan *plan,
                            tn_error *error) {
    *plan = (tn_rank_plan){.model = model, .accuracy = accuracy};
    TN_TRY(tn_own_weights_make(model, arena, &plan->own, error));
    TN_TRY(
        tn_candidates_find(model, trained, rule, progress, arena, &plan->candidates, &plan->layers, error));
    TN_TRY(tn_rank_costs_new(model, plan->own, device, &plan->costs, error));
    tn_status status = pose(plan, in_range, arena, error);
    if (status != TN_OK) tn_rank_plan_free(plan);
    return status;
}

void tn_rank_plan_free(tn_rank_plan *plan) {
    tn_rank_costs_free(plan->costs);
    *plan = (tn_rank_plan){0};
}

const tn_candidate *tn_rank_plan_chosen(const tn_rank_plan *plan, const tn_rank_choice *choice,
                                        size_t layer) {
    return plan->candidate[plan->problem.first[layer] + choice->choice[layer]];
}

double tn_rank_plan_relative(const tn_rank_plan *plan, double sum) {
    if (plan->accuracy) return sum;
    return plan->squared_norm > 0 ? sqrt(fmax(0, sum) / plan->squared_norm) : 0;
}

/* Whether a cost that belongs to the whole design is bounded or minimised. */
static bool costs_interact(const tn_rank_goal *goal) {
    bool interact = goal->least_cost && goal->minimised >= TN_RANK_CYCLES;
    for (size_t k = 0; k < goal->budgets; k++) interact |= goal->budget[k].cost >= TN_RANK_CYCLES;
    return interact;
}

/* The choice's candidates, priced as a whole; the budgets are tightened by what it takes too much. */
static tn_status price(tn_rank_plan *plan, const tn_rank_goal *asked, const tn_candidate **choice,
                       tn_rank_outcome *o, tn_rank_goal *tighter, tn_error *error) {
    for (size_t l = 0; l < plan->layers; l++) choice[l] = tn_rank_plan_chosen(plan, &o->solution.best, l);
    TN_TRY(tn_rank_costs_total(plan->costs, plan->candidates, plan->layers, choice, o->total, error));
    o->fits = true;
    for (size_t k = 0; k < asked->budgets; k++) {
        double excess = o->total[asked->budget[k].cost] - asked->budget[k].most;
        o->fits = o->fits && excess <= 0;
        tighter->budget[k].most -= fmax(0, excess);
    }
    return TN_OK;
}

static double minimised(const tn_rank_goal *goal, const tn_rank_outcome *o) {
    return goal->least_cost ? o->total[goal->minimised] : o->solution.best.squared_error;
}

/* Whether `now` is to be kept: it fits, and is better than what was kept. */
static bool is_better(const tn_rank_goal *goal, const tn_rank_outcome *now, const tn_rank_outcome *kept) {
    return now->fits && (!kept->fits || minimised(goal, now) < minimised(goal, kept));
}

/* Prices a way to choose as a whole, so that ways compare by what they take; it fits if the budgets hold
 * then. */
static tn_status price_way(tn_rank_plan *plan, const tn_rank_goal *goal, const tn_candidate **choice,
                           tn_rank_choice *way, tn_error *error) {
    if (!way->met) return TN_OK;
    for (size_t l = 0; l < plan->layers; l++) choice[l] = tn_rank_plan_chosen(plan, way, l);
    TN_TRY(tn_rank_costs_total(plan->costs, plan->candidates, plan->layers, choice, way->cost, error));
    for (size_t k = 0; k < goal->budgets; k++)
        way->met = way->met && way->cost[goal->budget[k].cost] <= goal->budget[k].most;
    return TN_OK;
}

/* Leaves model and costs as the outcome chose: layers' costs counted around it. */
static tn_status stand(tn_rank_plan *plan, const tn_rank_goal *goal, tn_rank_outcome *o,
                       const tn_candidate **choice, tn_arena *arena, tn_error *error) {
    TN_TRY(price_way(plan, goal, choice, &o->solution.greedy, error));
    TN_TRY(price_way(plan, goal, choice, &o->solution.uniform, error));
    for (size_t l = 0; l < plan->layers; l++) choice[l] = tn_rank_plan_chosen(plan, &o->solution.best, l);
    TN_TRY(tn_rank_costs_find(plan->costs, plan->candidates, plan->layers, choice, plan->cost,
                              plan->problem.fixed, error));
    TN_TRY(fill(plan, arena, error));
    memcpy(o->solution.best.cost, o->total, sizeof o->total);
    return TN_OK;
}

static size_t usable_candidates(const tn_rank_plan *plan) {
    size_t count = 0;
    for (size_t l = 0; l < plan->layers; l++)
        for (size_t i = 0; i < plan->candidates[l].count; i++) count += plan->candidates[l].item[i].usable;
    return count;
}

/* Further rounds with the last design as the base, as long as the problem keeps its candidates: what was
 * chosen counts in them. */
static tn_status refine(tn_rank_plan *plan, const tn_rank_goal *goal, tn_rank_goal *tighter,
                        const tn_candidate **choice, tn_arena *arena, tn_rank_outcome *kept,
                        tn_error *error) {
    for (size_t round = 1; round < ROUNDS_MOST; round++) {
        tn_rank_outcome now = {0};
        TN_TRY(tn_rank_costs_find(plan->costs, plan->candidates, plan->layers, choice, plan->cost,
                                  plan->problem.fixed, error));
        if (usable_candidates(plan) != plan->problem.first[plan->layers])
            return tn_fail(error, TN_OVERFLOW, "a design near the chosen one has counts past 64 bits");
        TN_TRY(fill(plan, arena, error));
        TN_TRY(tn_rank_solve(&plan->problem, tighter, arena, &now.solution, error));
        kept->rounds++;
        if (!now.solution.best.met) return TN_OK;
        TN_TRY(price(plan, goal, choice, &now, tighter, error));
        now.rounds = kept->rounds;
        if (is_better(goal, &now, kept)) *kept = now;
    }
    return TN_OK;
}

tn_status tn_rank_plan_solve(tn_rank_plan *plan, const tn_rank_goal *goal, tn_arena *arena,
                             tn_rank_outcome *outcome, tn_error *error) {
    tn_rank_goal tighter = *goal;
    const tn_candidate **choice;
    *outcome = (tn_rank_outcome){.rounds = 1};
    TN_TRY(tn_arena_alloc(arena, plan->layers, sizeof *choice, &choice, error));
    TN_TRY(tn_rank_solve(&plan->problem, goal, arena, &outcome->solution, error));
    if (!outcome->solution.best.met) return TN_OK;
    TN_TRY(price(plan, goal, choice, outcome, &tighter, error));
    if (!costs_interact(goal)) return TN_OK;
    TN_TRY(refine(plan, goal, &tighter, choice, arena, outcome, error));
    return stand(plan, goal, outcome, choice, arena, error);
}
