#include "cli/ranks_solution.h"

#include "cli/output.h"
#include "text/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t chosen(const tn_rank_problem *p, const tn_rank_way *c, size_t layer) {
    return p->first[layer] + c->choice[layer];
}

/* Costs are counts wherever they come from counts. */
static void put_amount(tn_json *json, const char *key, double amount) {
    if (amount >= 0 && amount < 9007199254740992.0 && amount == floor(amount))
        tn_json_put_count(json, key, (uint64_t)amount);
    else
        tn_json_put_real(json, key, amount);
}

static double minimised(const tn_rank_goal *goal, const tn_rank_way *c) {
    return goal->least_cost ? c->cost[goal->minimised] : c->squared_error;
}

static void put_choice(tn_json *json, const char *method, const tn_rank_problem *p, const tn_rank_goal *goal,
                       const tn_rank_way *c, const tn_rank_way *best) {
    tn_json_object(json);
    tn_json_put_text(json, "method", method);
    tn_json_put_bool(json, "fits", c->met);
    if (c->met) {
        tn_json_key(json, "caps");
        tn_json_row(json);
        for (size_t l = 0; l < p->layers; l++) tn_json_count(json, p->cap[chosen(p, c, l)]);
        tn_json_end(json);
        for (size_t k = 0; k < p->costs; k++) put_amount(json, p->cost_name[k], c->cost[k]);
        tn_json_put_real(json, p->error_name, c->squared_error);
        if (best->met && minimised(goal, best) > 0)
            tn_json_put_real(json, "over_optimum", minimised(goal, c) / minimised(goal, best));
    }
    tn_json_end(json);
}

void tn_ranks_put_layers(tn_json *json, const tn_rank_problem *p, const tn_rank_way *c) {
    tn_json_key(json, "layers");
    tn_json_array(json);
    for (size_t l = 0; l < p->layers && c->met; l++) {
        size_t i = chosen(p, c, l);
        tn_json_object(json);
        tn_json_put_text(json, "layer", p->layer[l]);
        tn_json_put_count(json, "cap", p->cap[i]);
        if (p->label[i]) tn_json_put_text(json, "ranks", p->label[i]);
        for (size_t k = 0; k < p->costs; k++) put_amount(json, p->cost_name[k], p->cost[i * p->costs + k]);
        tn_json_put_real(json, p->error_name, p->error[i]);
        tn_json_end(json);
    }
    tn_json_end(json);
}

void tn_ranks_put_solution(tn_json *json, const tn_rank_problem *p, const tn_rank_goal *goal,
                           const tn_rank_solution *s) {
    tn_json_put_text(json, "minimised", goal->least_cost ? p->cost_name[goal->minimised] : p->error_name);
    tn_json_key(json, "budgets");
    tn_json_object(json);
    for (size_t k = 0; k < goal->budgets; k++)
        put_amount(json, p->cost_name[goal->budget[k].cost], goal->budget[k].most);
    if (goal->least_cost) tn_json_put_real(json, p->error_name, goal->most_error);
    tn_json_end(json);
    tn_json_put_bool(json, "fits", s->best.met);
    tn_json_put_bool(json, "exact", s->exact);
    if (s->best.met) {
        for (size_t k = 0; k < p->costs; k++) put_amount(json, p->cost_name[k], s->best.cost[k]);
        tn_json_put_real(json, p->error_name, s->best.squared_error);
        tn_json_put_real(json, "lower_bound", s->lower_bound);
        tn_json_put_real(json, "gap", s->gap);
    }
    tn_json_key(json, "methods");
    tn_json_array(json);
    put_choice(json, "optimum", p, goal, &s->best, &s->best);
    put_choice(json, "greedy", p, goal, &s->greedy, &s->best);
    put_choice(json, "uniform", p, goal, &s->uniform, &s->best);
    tn_json_end(json);
}

/* --- for people --- */

static void amount_cell(tn_table *table, double amount) {
    if (amount >= 0 && amount < 9007199254740992.0 && amount == floor(amount))
        tn_table_count(table, (uint64_t)amount);
    else
        tn_table_format(table, "%.6g", amount);
}

static const char *error_title(const tn_rank_problem *p) {
    return strcmp(p->error_name, "sqerr") == 0 ? "squared error" : "accuracy lost";
}

static tn_status print_methods(const tn_rank_problem *p, const tn_rank_goal *goal, const tn_rank_solution *s,
                               tn_error *error) {
    const tn_rank_way *way[] = {&s->best, &s->greedy, &s->uniform};
    const char *name[] = {s->exact ? "optimum" : "best found", "greedy", "uniform rank"};
    tn_table table;
    tn_table_begin(&table, 3 + p->costs);
    tn_table_text(&table, "method");
    for (size_t k = 0; k < p->costs; k++) tn_table_text(&table, p->cost_name[k]);
    tn_table_text(&table, error_title(p));
    tn_table_text(&table, s->exact ? "over the optimum" : "over the best");
    for (size_t i = 0; i < 3; i++) {
        tn_table_text(&table, name[i]);
        for (size_t k = 0; k < p->costs; k++)
            if (way[i]->met)
                amount_cell(&table, way[i]->cost[k]);
            else
                tn_table_text(&table, k ? "" : "does not fit");
        if (way[i]->met)
            tn_table_format(&table, "%.6g", way[i]->squared_error);
        else
            tn_table_text(&table, "");
        if (way[i]->met && s->best.met && minimised(goal, &s->best) > 0)
            tn_table_format(&table, "%.4f x", minimised(goal, way[i]) / minimised(goal, &s->best));
        else
            tn_table_text(&table, "");
    }
    return tn_table_end(&table, error);
}

static tn_status print_layers(const tn_rank_problem *p, const tn_rank_way *c, tn_error *error) {
    tn_table table;
    bool labels = p->label[0] != NULL;
    tn_table_begin(&table, 3 + labels + p->costs);
    tn_table_text(&table, "layer");
    tn_table_text(&table, "cap");
    if (labels) tn_table_text(&table, "ranks");
    for (size_t k = 0; k < p->costs; k++) tn_table_text(&table, p->cost_name[k]);
    tn_table_text(&table, error_title(p));
    for (size_t l = 0; l < p->layers; l++) {
        size_t i = chosen(p, c, l);
        tn_table_text(&table, p->layer[l]);
        tn_table_format(&table, "%" PRIu64, p->cap[i]);
        if (labels) tn_table_text(&table, p->label[i] ? p->label[i] : "");
        for (size_t k = 0; k < p->costs; k++) amount_cell(&table, p->cost[i * p->costs + k]);
        tn_table_format(&table, "%.6g", p->error[i]);
    }
    return tn_table_end(&table, error);
}

static void print_no_fit(const tn_rank_problem *p, const tn_rank_goal *goal, const tn_rank_solution *s) {
    tn_say(s->exact ? "Nothing fits: no choice of candidates keeps all bounds at once.\n"
                    : "Nothing was found that fits, which is no proof that nothing does.\n");
    for (size_t k = 0; k < goal->budgets; k++) {
        double least = tn_rank_least_cost(p, goal->budget[k].cost);
        tn_say("  %s: the budget is %.10g, the least that any choice takes is %.10g%s\n",
               p->cost_name[goal->budget[k].cost], goal->budget[k].most, least,
               least > goal->budget[k].most ? ", which is more" : "");
    }
}

tn_status tn_ranks_print_methods(const tn_rank_problem *p, const tn_rank_goal *goal,
                                 const tn_rank_solution *s, tn_error *error) {
    if (!s->best.met) {
        print_no_fit(p, goal, s);
        return TN_OK;
    }
    TN_TRY(print_methods(p, goal, s, error));
    if (s->exact)
        tn_say("\nThe choice is the optimum.\n");
    else if (isfinite(s->gap))
        tn_say(
            "\nFronts were thinned; the choice is at most %.3g %% above the optimum (--states keeps more).\n",
            100 * s->gap);
    return TN_OK;
}

tn_status tn_ranks_print_tables(const tn_rank_problem *p, const tn_rank_goal *goal, const tn_rank_solution *s,
                                tn_error *error) {
    if (s->best.met) TN_TRY(print_layers(p, &s->best, error));
    if (s->best.met) tn_say("\n");
    return tn_ranks_print_methods(p, goal, s, error);
}

tn_status tn_ranks_print_solution(bool as_json, const tn_rank_problem *problem, const tn_rank_goal *goal,
                                  const tn_rank_solution *solution, tn_error *error) {
    if (!as_json) return tn_ranks_print_tables(problem, goal, solution, error);
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_ranks_put_solution(&json, problem, goal, solution);
    tn_ranks_put_layers(&json, problem, &solution->best);
    tn_json_end(&json);
    return tn_output(&out, error);
}
