#include "ranks/rank_plan.h"

#include "base/interrupt.h"
#include "price/price.h"
#include "ranks/own_weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS_MOST = 40, FOLLOWERS = 6, FRUGAL_ROUNDS = 4, LIST_TEXT = 21 * TN_RANKS_MOST };

static const char *list_text(const uint64_t *number, uint32_t count, char apart, char text[LIST_TEXT]) {
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k < count; k++) {
        if (k) text[length++] = apart;
        length += (size_t)snprintf(text + length, 21, "%" PRIu64, number[k]);
    }
    return text;
}

const char *tn_rank_format_name(const tn_weight *weight) {
    return weight->format == TN_TT && weight->d == 1 ? "low-rank" : tn_format_names[weight->format];
}

static const double HUGE_ERROR = 1e300; /* no bound on a sum of squares */

/* "tt 12x8x8 by 8x8x12, ranks 1 12 12 12 12 12 1" */
static tn_status label_of(const tn_weight *weight, tn_arena *arena, const char **label, tn_error *error) {
    char m[LIST_TEXT], n[LIST_TEXT], ranks[LIST_TEXT];
    if (weight->format == TN_DENSE)
        return tn_arena_format(arena, label, error, "dense %" PRIu64 " by %" PRIu64, weight->m[0],
                               weight->n[0]);
    return tn_arena_format(arena, label, error, "%s %s by %s, ranks %s", tn_rank_format_name(weight),
                           list_text(weight->m, weight->d, 'x', m), list_text(weight->n, weight->d, 'x', n),
                           list_text(weight->rank, weight->rank_count, ' ', ranks));
}

enum { FOLDING_TEXT = 2 * LIST_TEXT + 1 };

static const char *folding_text(const tn_weight *weight, char text[FOLDING_TEXT]) {
    char m[LIST_TEXT], n[LIST_TEXT];
    snprintf(text, FOLDING_TEXT, "%s,%s", list_text(weight->m, weight->d, 'x', m),
             list_text(weight->n, weight->d, 'x', n));
    return text;
}

/* What a candidate adds to the sum that is made least; *usable = false where accuracies do not cover it. */
static tn_status objective_of(const tn_rank_plan *plan, const tn_layer_options *options,
                              const tn_layer_option *candidate, bool in_range, double *objective,
                              bool *usable, tn_error *error) {
    double least, most, rank = (double)candidate->cap;
    char folding[FOLDING_TEXT];
    *usable = true;
    *objective = candidate->squared_error;
    if (!plan->accuracy) return TN_OK;
    *objective = 0;
    if (options->stays) return TN_OK;
    folding_text(&candidate->weight, folding);
    if (in_range && !tn_accuracy_covers(plan->accuracy, options->name, folding)) {
        *usable = false;
        return TN_OK;
    }
    TN_TRY(tn_accuracy_range(plan->accuracy, options->name, folding, &least, &most, error));
    *usable = !in_range || (rank >= least && rank <= most);
    if (!*usable) return TN_OK;
    return tn_accuracy_loss(plan->accuracy, options->name, folding, plan->measured, rank, objective, error);
}

static bool is_measured(const tn_rank_plan *plan, const tn_layer_options *options) {
    char folding[FOLDING_TEXT];
    for (size_t i = 0; i < options->count; i++)
        if (tn_accuracy_covers(plan->accuracy, options->name,
                               folding_text(&options->item[i].weight, folding)))
            return true;
    return false;
}

static bool has_own_ranks(const tn_rank_plan *plan, const tn_layer_options *options,
                          const tn_layer_option *candidate) {
    return candidate->folding == 0 &&
           tn_weight_equal(&candidate->weight,
                           &tn_model_layer_at(plan->model, options->layer).weight->weight);
}

/* Layers of which nothing was measured keep what they have, unless that is all of them. */
static void keep_unmeasured(tn_rank_plan *plan) {
    plan->measured = plan->layers;
    if (!plan->accuracy) return;
    plan->measured = 0;
    for (size_t l = 0; l < plan->layers; l++) plan->measured += is_measured(plan, &plan->candidates[l]);
    for (size_t l = 0; l < plan->layers && plan->measured; l++) {
        tn_layer_options *options = &plan->candidates[l];
        bool found = false; /* a tolerance may have led to the same ranks */
        options->stays = !is_measured(plan, options);
        for (size_t i = 0; options->stays && i < options->count; i++) {
            options->item[i].usable &= !found && has_own_ranks(plan, options, &options->item[i]);
            found |= options->item[i].usable;
        }
    }
}

static tn_status drop_uncovered(tn_rank_plan *plan, bool in_range, tn_error *error) {
    for (size_t l = 0; l < plan->layers; l++) {
        tn_layer_options *options = &plan->candidates[l];
        bool any = false;
        for (size_t i = 0; i < options->count; i++) {
            bool usable;
            double objective;
            if (!options->item[i].usable) continue;
            TN_TRY(objective_of(plan, options, &options->item[i], in_range, &objective, &usable, error));
            options->item[i].usable = usable;
            any |= usable;
        }
        if (!any)
            return tn_fail(error, TN_INPUT,
                           "no candidate of layer %s lies within the measured ranks and foldings; ask for "
                           "others with --cap and --fold",
                           options->name);
    }
    return TN_OK;
}

static tn_status make_room(tn_rank_plan *plan, size_t candidates, tn_arena *arena, tn_error *error) {
    tn_rank_problem *p = &plan->problem;
    TN_TRY(TN_NEW(arena, plan->layers, &p->layer, error));
    TN_TRY(TN_NEW(arena, plan->layers + 1, &p->first, error));
    TN_TRY(TN_NEW(arena, candidates, &p->error, error));
    TN_TRY(TN_NEW(arena, candidates, &p->cap, error));
    TN_TRY(TN_NEW(arena, candidates, &p->group, error));
    TN_TRY(TN_NEW(arena, candidates, &p->label, error));
    TN_TRY(TN_NEW(arena, candidates, &plan->candidate, error));
    return TN_NEW(arena, candidates * p->costs, &p->cost, error);
}

/* The candidates that can be used, as the problem's. */
static tn_status fill(tn_rank_plan *plan, tn_arena *arena, tn_error *error) {
    tn_rank_problem *p = &plan->problem;
    size_t index = 0, kept = 0;
    for (size_t l = 0; l < plan->layers; l++) {
        const tn_layer_options *options = &plan->candidates[l];
        p->layer[l] = options->name;
        p->first[l] = kept;
        for (size_t i = 0; i < options->count; i++, index++) {
            const tn_layer_option *candidate = &options->item[i];
            bool usable;
            if (!candidate->usable) continue;
            TN_TRY(objective_of(plan, options, candidate, false, &p->error[kept], &usable, error));
            TN_TRY(label_of(&candidate->weight, arena, &p->label[kept], error));
            p->cap[kept] = candidate->cap;
            p->group[kept] =
                candidate->folding == 0 && candidate->tolerance < 0 ? candidate->cap : UINT64_MAX;
            memcpy(p->cost + kept * p->costs, plan->cost + index * p->costs, p->costs * sizeof *p->cost);
            plan->candidate[kept++] = candidate;
        }
    }
    p->first[plan->layers] = kept;
    return TN_OK;
}

static tn_status build_problem(tn_rank_plan *plan, bool in_range, tn_arena *arena, tn_error *error) {
    tn_rank_problem *p = &plan->problem;
    size_t candidates = 0;
    keep_unmeasured(plan);
    TN_TRY(drop_uncovered(plan, in_range, error));
    for (size_t l = 0; l < plan->layers; l++) candidates += plan->candidates[l].count;
    p->layers = plan->layers;
    p->costs = tn_rank_costs_count(plan->costs);
    p->cost_name = (const char **)tn_rank_cost_names;
    p->error_name = plan->accuracy ? "accuracy_loss" : "sqerr";
    TN_TRY(make_room(plan, candidates, arena, error));
    TN_TRY(TN_NEW(arena, candidates * p->costs, &plan->cost, error));
    TN_TRY(
        tn_rank_costs_find(plan->costs, plan->candidates, plan->layers, NULL, plan->cost, p->fixed, error));
    for (size_t l = 0; l < plan->layers; l++) plan->squared_norm += plan->candidates[l].squared_norm;
    p->squared_norm = plan->accuracy ? 0 : plan->squared_norm;
    return fill(plan, arena, error);
}

tn_status tn_rank_plan_make(const tn_model *model, const tn_trained *trained,
                            const tn_layer_option_rule *rule, const tn_device *device,
                            const tn_accuracy *accuracy, bool in_range, const tn_progress *progress,
                            tn_arena *arena, tn_rank_plan *plan, tn_error *error) {
    *plan = (tn_rank_plan){.model = model, .device = device, .accuracy = accuracy};
    TN_TRY(tn_own_weights_make(model, arena, &plan->own, error));
    TN_TRY(tn_layer_options_find(model, trained, rule, progress, arena, &plan->candidates, &plan->layers,
                                 error));
    TN_TRY(tn_rank_costs_new(model, plan->own, device, &plan->costs, error));
    tn_status status = build_problem(plan, in_range, arena, error);
    if (status != TN_OK) tn_rank_plan_free(plan);
    return status;
}

void tn_rank_plan_free(tn_rank_plan *plan) {
    tn_rank_costs_free(plan->costs);
    *plan = (tn_rank_plan){0};
}

const tn_layer_option *tn_rank_plan_chosen(const tn_rank_plan *plan, const tn_rank_way *choice,
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

/* Puts a choice into the model and prices it as a whole: way->cost, and way->met if the budgets hold. */
static tn_status price(tn_rank_plan *plan, const tn_rank_goal *goal, const tn_layer_option **choice,
                       tn_rank_way *way, tn_error *error) {
    if (!way->met) return TN_OK;
    for (size_t l = 0; l < plan->layers; l++) choice[l] = tn_rank_plan_chosen(plan, way, l);
    TN_TRY(tn_rank_costs_total(plan->costs, plan->candidates, plan->layers, choice, way->cost, error));
    for (size_t k = 0; k < goal->budgets; k++)
        way->met = way->met && way->cost[goal->budget[k].cost] <= goal->budget[k].most;
    return TN_OK;
}

/* Counts costs anew around a choice. The problem keeps its candidates: what was chosen counts in them. */
static tn_status count_around(tn_rank_plan *plan, const tn_rank_way *way, const tn_layer_option **choice,
                              tn_arena *arena, tn_error *error) {
    size_t usable = 0;
    for (size_t l = 0; l < plan->layers; l++) choice[l] = tn_rank_plan_chosen(plan, way, l);
    TN_TRY(tn_rank_costs_find(plan->costs, plan->candidates, plan->layers, choice, plan->cost,
                              plan->problem.fixed, error));
    for (size_t l = 0; l < plan->layers; l++)
        for (size_t i = 0; i < plan->candidates[l].count; i++) usable += plan->candidates[l].item[i].usable;
    if (usable != plan->problem.first[plan->layers])
        return tn_fail(error, TN_OVERFLOW, "a design near the chosen one has counts past 64 bits");
    return fill(plan, arena, error);
}

/* The plan's problem with one more cost, 1 for every layer that leaves the base, and at most `most` of that.
 */
static tn_status solve_near(tn_rank_plan *plan, const tn_rank_goal *goal, const tn_rank_way *base,
                            size_t most, tn_arena *arena, tn_rank_solution *solution, tn_error *error) {
    static const char moved[] = "layers changed";
    tn_rank_problem near = plan->problem;
    tn_rank_goal bounded = *goal;
    size_t costs = near.costs, candidates = near.first[near.layers];
    if (goal->budgets + 1 + goal->least_cost > TN_COSTS_MOST)
        return tn_fail(error, TN_LIMIT, "more than %d bounds at once; give fewer", TN_COSTS_MOST - 1);
    TN_TRY(TN_NEW(arena, candidates * (costs + 1), &near.cost, error));
    TN_TRY(TN_NEW(arena, costs + 1, &near.cost_name, error));
    memcpy(near.cost_name, plan->problem.cost_name, costs * sizeof *near.cost_name);
    near.cost_name[costs] = moved;
    near.costs = costs + 1;
    near.fixed[costs] = 0;
    for (size_t l = 0; l < near.layers; l++)
        for (size_t i = near.first[l]; i < near.first[l + 1]; i++) {
            memcpy(near.cost + i * (costs + 1), plan->problem.cost + i * costs, costs * sizeof *near.cost);
            near.cost[i * (costs + 1) + costs] = i != near.first[l] + base->choice[l];
        }
    bounded.budget[bounded.budgets++] = (tn_rank_budget){costs, (double)most};
    return tn_rank_solve(&near, &bounded, arena, solution, error);
}

/* From a design that fits: exact choices for costs counted around it, with ever fewer layers allowed to
 * change until what is chosen fits as a whole and is better; that is the next base. With one layer changed
 * the counts are exact, so the end is a design that no change of one layer betters. */
static tn_status descend(tn_rank_plan *plan, const tn_rank_goal *goal, const tn_layer_option **choice,
                         tn_arena *arena, tn_rank_way *base, size_t *rounds, tn_error *error) {
    size_t most = plan->layers;
    TN_TRY(count_around(plan, base, choice, arena, error));
    for (size_t round = 0; round < ROUNDS_MOST && most > 0; round++) {
        tn_rank_solution found;
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "stopped");
        TN_TRY(solve_near(plan, goal, base, most, arena, &found, error));
        ++*rounds;
        TN_TRY(price(plan, goal, choice, &found.best, error));
        if (found.best.met && tn_rank_minimised(goal, &found.best) < tn_rank_minimised(goal, base)) {
            *base = found.best;
            most = 2 * most < plan->layers ? 2 * most : plan->layers;
            TN_TRY(count_around(plan, base, choice, arena, error));
        } else {
            most /= 2;
        }
    }
    return TN_OK;
}

/* Tightens the budgets by what a design takes too much of them; or, where nothing kept them (`way` NULL),
 * takes half of the tightening back. */
static void tighten(const tn_rank_goal *goal, const tn_rank_way *way, tn_rank_goal *tighter) {
    for (size_t k = 0; k < goal->budgets; k++) {
        double asked = goal->budget[k].most, now = tighter->budget[k].most;
        double excess = way ? fmax(0, way->cost[goal->budget[k].cost] - asked) : 0;
        tighter->budget[k].most = way ? now - excess : (asked + now) / 2;
    }
}

/* Designs that follow from a first one when costs are counted around the last, whether that fits or not, and
 * the budgets are tightened by what it takes too much. Adds those that fit as a whole to the starts. */
static tn_status follow(tn_rank_plan *plan, const tn_rank_goal *goal, const tn_layer_option **choice,
                        tn_arena *arena, tn_rank_way last, size_t *rounds, tn_rank_way *start, size_t *starts,
                        tn_error *error) {
    tn_rank_goal tighter = *goal;
    tighten(goal, &last, &tighter);
    for (int i = 0; i < FOLLOWERS; i++) {
        tn_rank_solution found;
        TN_TRY(count_around(plan, &last, choice, arena, error));
        TN_TRY(tn_rank_solve(&plan->problem, &tighter, arena, &found, error));
        ++*rounds;
        if (!found.best.met) {
            tighten(goal, NULL, &tighter);
            continue;
        }
        last = found.best;
        TN_TRY(price(plan, goal, choice, &found.best, error));
        memcpy(last.cost, found.best.cost, sizeof last.cost);
        tighten(goal, &last, &tighter);
        if (found.best.met) start[(*starts)++] = found.best;
    }
    return TN_OK;
}

/* Where budgets are so tight that nothing near the best choice keeps them: the design that takes least of one
 * bounded cost, the others kept, with costs counted around the last such design. The first that fits. */
static tn_status find_frugal(tn_rank_plan *plan, const tn_rank_goal *goal, size_t cost,
                             const tn_layer_option **choice, tn_arena *arena, size_t *rounds,
                             tn_rank_way *way, tn_error *error) {
    tn_rank_goal frugal = {.least_cost = true,
                           .minimised = cost,
                           .most_error = goal->least_cost ? goal->most_error : HUGE_ERROR,
                           .most_states = goal->most_states};
    for (size_t k = 0; k < goal->budgets; k++)
        if (goal->budget[k].cost != cost) frugal.budget[frugal.budgets++] = goal->budget[k];
    way->met = false;
    for (int i = 0; i < FRUGAL_ROUNDS && !way->met; i++) {
        tn_rank_solution found;
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "stopped");
        TN_TRY(tn_rank_solve(&plan->problem, &frugal, arena, &found, error));
        ++*rounds;
        if (!found.best.met) return TN_OK;
        tn_rank_way last = *way = found.best;
        TN_TRY(price(plan, goal, choice, way, error));
        if (!way->met) TN_TRY(count_around(plan, &last, choice, arena, error));
    }
    return TN_OK;
}

/* Designs to start from: the exact choice, what greedy and uniform rank give, and what follows from the
 * first. */
static tn_status find_starts(tn_rank_plan *plan, const tn_rank_goal *goal, const tn_layer_option **choice,
                             tn_arena *arena, tn_rank_outcome *o, tn_rank_way *start, size_t *starts,
                             tn_error *error) {
    tn_rank_way *ways[] = {&o->solution.best, &o->solution.greedy, &o->solution.uniform};
    bool chosen = o->solution.best.met;
    *starts = 0;
    for (size_t i = 0; i < 3; i++) {
        TN_TRY(price(plan, goal, choice, ways[i], error));
        if (ways[i]->met) start[(*starts)++] = *ways[i];
    }
    if (chosen) TN_TRY(follow(plan, goal, choice, arena, o->solution.best, &o->rounds, start, starts, error));
    for (size_t k = 0; k < goal->budgets && *starts == 0; k++) {
        if (goal->budget[k].cost < TN_RANK_CYCLES) continue;
        TN_TRY(find_frugal(plan, goal, goal->budget[k].cost, choice, arena, &o->rounds, start, error));
        *starts = start[0].met;
    }
    return TN_OK;
}

static tn_status search(tn_rank_plan *plan, const tn_rank_goal *goal, const tn_layer_option **choice,
                        tn_arena *arena, tn_rank_outcome *o, tn_error *error) {
    tn_rank_way start[3 + FOLLOWERS], *best = &o->solution.best;
    size_t starts;
    TN_TRY(find_starts(plan, goal, choice, arena, o, start, &starts, error));
    o->solution.exact = false; /* designs as a whole are searched, not enumerated */
    o->solution.gap = o->solution.lower_bound = NAN;
    best->met = false;
    for (size_t i = 0; i < starts; i++) {
        TN_TRY(descend(plan, goal, choice, arena, &start[i], &o->rounds, error));
        if (!best->met || tn_rank_minimised(goal, &start[i]) < tn_rank_minimised(goal, best))
            *best = start[i];
    }
    if (!best->met) return TN_OK;
    TN_TRY(count_around(plan, best, choice, arena, error));
    return price(plan, goal, choice, best, error);
}

static tn_status solve(tn_rank_plan *plan, const tn_rank_goal *goal, tn_arena *arena,
                       tn_rank_outcome *outcome, tn_error *error) {
    const tn_layer_option **choice;
    tn_rank_way *best = &outcome->solution.best;
    *outcome = (tn_rank_outcome){.rounds = 1};
    TN_TRY(TN_NEW(arena, plan->layers, &choice, error));
    TN_TRY(tn_rank_solve(&plan->problem, goal, arena, &outcome->solution, error));
    if (costs_interact(goal))
        TN_TRY(search(plan, goal, choice, arena, outcome, error));
    else
        TN_TRY(price(plan, goal, choice, best, error));
    outcome->fits = best->met;
    memcpy(outcome->total, best->cost, sizeof outcome->total);
    return TN_OK;
}

/* Adds what the device has of a resource to the goal, where nothing bounds it more. */
static bool bound_by(tn_rank_goal *goal, size_t cost, uint64_t most) {
    for (size_t k = 0; k < goal->budgets; k++)
        if (goal->budget[k].cost == cost) return false;
    goal->budget[goal->budgets++] = (tn_rank_budget){cost, (double)most};
    return true;
}

static tn_status hold_against_device(tn_rank_plan *plan, const tn_rank_goal *goal, tn_arena *arena,
                                     tn_rank_outcome *outcome, tn_error *error) {
    const tn_layer_option **choice;
    const tn_resources has = tn_device_resources(plan->device);
    TN_TRY(TN_NEW(arena, plan->layers, &choice, error));
    TN_TRY(price(plan, goal, choice, &outcome->solution.best, error));
    outcome->used = tn_rank_costs_used(plan->costs);
    for (int i = 0; i < TN_RESOURCES; i++)
        outcome->fits = outcome->fits && tn_resource_amount(&outcome->used, (tn_resource)i) <=
                                             tn_resource_amount(&has, (tn_resource)i);
    return TN_OK;
}

/* What the device has bounds every design. The best choice without those bounds that keeps them all the same
 * is the best with them, so they are added only where it does not. */
tn_status tn_rank_plan_solve(tn_rank_plan *plan, tn_rank_goal *goal, tn_arena *arena,
                             tn_rank_outcome *outcome, tn_error *error) {
    TN_TRY(solve(plan, goal, arena, outcome, error));
    if (plan->device && outcome->fits) {
        tn_resources has = tn_device_resources(plan->device);
        bool exceeded = outcome->total[TN_RANK_BRAM18] > (double)has.bram18 ||
                        outcome->total[TN_RANK_URAM] > (double)has.uram;
        bool bram18 = exceeded && bound_by(goal, TN_RANK_BRAM18, has.bram18);
        bool uram = exceeded && bound_by(goal, TN_RANK_URAM, has.uram);
        if (bram18 || uram) TN_TRY(solve(plan, goal, arena, outcome, error));
        if (outcome->fits) TN_TRY(hold_against_device(plan, goal, arena, outcome, error));
    }
    if (outcome->fits || !goal->least_cost) return TN_OK;
    tn_rank_outcome least;
    tn_rank_goal unbounded = *goal;
    unbounded.least_cost = false;
    TN_TRY(solve(plan, &unbounded, arena, &least, error));
    if (least.fits) outcome->solution.least_error = least.solution.best.squared_error;
    return TN_OK;
}
