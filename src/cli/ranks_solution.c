#include "cli/ranks_solution.h"

#include "cli/output.h"
#include "text/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t chosen(const tn_rank_problem *p, const tn_rank_way *c, size_t layer) {
    return p->first[layer] + c->choice[layer];
}

/* One way to choose, or what a way chooses for one layer. */
typedef struct {
    const char *name, *title; /* of the method, in JSON and for people; of the layer */
    const char *ranks;        /* of a layer; NULL: no label */
    bool fits, compared;
    uint64_t asked; /* of a layer: its cap */
    size_t caps;    /* of a method: one a layer */
    uint64_t *cap;  /* [caps] */
    double cost[TN_COSTS_MOST], error, over_optimum;
} row;

/* Costs are columns by the names that the problem gives them. */
enum { FIRST_MOST = 4 };
typedef struct {
    tn_column column[FIRST_MOST + TN_COSTS_MOST + 2];
    tn_record record;
} columns;

static void begin_columns(columns *c, const tn_column *first, size_t count) {
    for (size_t i = 0; i < count; i++) c->column[i] = first[i];
    c->record = (tn_record){.size = sizeof(row), .column = c->column, .columns = count};
}

static const char *error_title(const tn_rank_problem *p) {
    return strcmp(p->error_name, "sqerr") == 0 ? "squared error" : "accuracy lost";
}

static void add_amounts(columns *c, const tn_rank_problem *p) {
    const char *title = error_title(p);
    for (size_t k = 0; k < p->costs; k++) {
        tn_column cost = TN_AMOUNT(p->cost_name[k], row, cost, p->cost_name[k], TN_DIGITS(6));
        cost.offset += k * sizeof(double);
        c->column[c->record.columns++] = cost;
    }
    c->column[c->record.columns++] = (tn_column)TN_COLUMN_AS(p->error_name, row, error, title, TN_DIGITS(6));
}

static void layer_columns(columns *c, const tn_rank_problem *p) {
    static const tn_column first[] = {
        TN_COLUMN_AS("layer", row, name, "layer"),
        TN_COLUMN_AS("cap", row, asked, "cap"),
        TN_COLUMN(row, ranks, "ranks", TN_OPTIONAL),
    };
    begin_columns(c, first, sizeof first / sizeof *first);
    add_amounts(c, p);
}

/* A method that does not fit has no more than that to say. */
static void method_columns(columns *c, const tn_rank_problem *p, bool exact) {
    static const tn_column first[] = {
        TN_COLUMN_AS("method", row, name, NULL),
        TN_COLUMN_AS(NULL, row, title, "method"),
        TN_COLUMN(row, fits, "fits"),
        TN_LIST("caps", row, cap, caps, NULL),
    };
    begin_columns(c, first, sizeof first / sizeof *first);
    add_amounts(c, p);
    for (size_t i = FIRST_MOST - 1; i < c->record.columns; i++) {
        c->column[i].optional = true;
        c->column[i].when = offsetof(row, fits);
    }
    c->column[c->record.columns++] =
        (tn_column)TN_COLUMN(row, over_optimum, exact ? "over the optimum" : "over the best", .unit = "x",
                             TN_FIXED(4), TN_OPTIONAL, TN_WHEN(row, compared));
}

static row row_of_layer(const tn_rank_problem *p, const tn_rank_way *c, size_t layer) {
    size_t i = chosen(p, c, layer);
    row r = {.name = p->layer[layer], .ranks = p->label[i], .asked = p->cap[i], .error = p->error[i]};
    memcpy(r.cost, p->cost + i * p->costs, p->costs * sizeof *p->cost);
    return r;
}

static tn_status row_of_way(const char *name, const char *title, const tn_rank_problem *p,
                            const tn_rank_goal *goal, const tn_rank_way *c, const tn_rank_way *best,
                            tn_arena *arena, row *r, tn_error *error) {
    *r = (row){.name = name, .title = title, .fits = c->met, .error = c->squared_error};
    if (!c->met) return TN_OK;
    memcpy(r->cost, c->cost, sizeof r->cost);
    TN_TRY(TN_NEW(arena, p->layers, &r->cap, error));
    for (; r->caps < p->layers; r->caps++) r->cap[r->caps] = p->cap[chosen(p, c, r->caps)];
    r->compared = best->met && tn_rank_minimised(goal, best) > 0;
    if (r->compared) r->over_optimum = tn_rank_minimised(goal, c) / tn_rank_minimised(goal, best);
    return TN_OK;
}

enum { METHODS = 3 };
static tn_status rows_of_methods(const tn_rank_problem *p, const tn_rank_goal *goal,
                                 const tn_rank_solution *s, tn_arena *arena, row entry[METHODS],
                                 tn_error *error) {
    const char *best = s->exact ? "optimum" : "best found";
    TN_TRY(row_of_way("optimum", best, p, goal, &s->best, &s->best, arena, &entry[0], error));
    TN_TRY(row_of_way("greedy", "greedy", p, goal, &s->greedy, &s->best, arena, &entry[1], error));
    return row_of_way("uniform", "uniform rank", p, goal, &s->uniform, &s->best, arena, &entry[2], error);
}

static void put_layers(tn_json *json, const tn_rank_problem *p, const tn_rank_way *c) {
    columns table;
    layer_columns(&table, p);
    tn_json_key(json, "layers");
    tn_json_array(json);
    for (size_t l = 0; l < p->layers && c->met; l++) {
        const row r = row_of_layer(p, c, l);
        tn_record_json(&table.record, &r, json);
    }
    tn_json_end(json);
}

static void put_goal(tn_json *json, const tn_rank_problem *p, const tn_rank_goal *goal) {
    tn_json_put_text(json, "minimised", goal->least_cost ? p->cost_name[goal->minimised] : p->error_name);
    tn_json_key(json, "budgets");
    tn_json_object(json);
    for (size_t k = 0; k < goal->budgets; k++) {
        const row r = {.cost = {goal->budget[k].most}};
        const tn_column most = TN_AMOUNT(p->cost_name[goal->budget[k].cost], row, cost, NULL);
        const tn_record record = {.size = sizeof r, .column = &most, .columns = 1};
        tn_record_keys(&record, &r, json);
    }
    if (goal->least_cost) tn_json_put_real(json, p->error_name, goal->most_error);
    tn_json_end(json);
}

tn_status tn_ranks_put_solution(tn_json *json, const tn_rank_problem *p, const tn_rank_goal *goal,
                                const tn_rank_solution *s, tn_error *error) {
    tn_arena arena = {0};
    row entry[METHODS];
    columns method, amounts;
    tn_status status = rows_of_methods(p, goal, s, &arena, entry, error);
    if (status == TN_OK) {
        method_columns(&method, p, s->exact);
        begin_columns(&amounts, NULL, 0);
        add_amounts(&amounts, p);
        put_goal(json, p, goal);
        tn_json_put_bool(json, "fits", s->best.met);
        tn_json_put_bool(json, "exact", s->exact);
        if (isfinite(s->least_error)) tn_json_put_real(json, "least_reachable_error", s->least_error);
        if (s->best.met) {
            tn_record_keys(&amounts.record, &entry[0], json);
            tn_json_put_real(json, "lower_bound", s->lower_bound);
            tn_json_put_real(json, "gap", s->gap);
        }
        tn_json_key(json, "methods");
        tn_record_rows(&method.record, entry, METHODS, json);
    }
    tn_arena_free(&arena);
    return status;
}

/* --- for people --- */

static tn_status print_methods(const tn_rank_problem *p, const tn_rank_goal *goal, const tn_rank_solution *s,
                               tn_error *error) {
    tn_arena arena = {0};
    row entry[METHODS];
    columns method;
    method_columns(&method, p, s->exact);
    tn_status status = rows_of_methods(p, goal, s, &arena, entry, error);
    if (status == TN_OK) status = tn_output_rows(&method.record, entry, METHODS, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status print_layers(const tn_rank_problem *p, const tn_rank_way *c, tn_error *error) {
    columns table;
    row *rows;
    tn_arena arena = {0};
    TN_TRY(TN_NEW(&arena, p->layers, &rows, error));
    for (size_t l = 0; l < p->layers; l++) rows[l] = row_of_layer(p, c, l);
    layer_columns(&table, p);
    tn_status status = tn_output_rows(&table.record, rows, p->layers, error);
    tn_arena_free(&arena);
    return status;
}

/* As people ask for it with --max-error: relative where there is a norm. */
static double shown_error(const tn_rank_problem *p, double sum) {
    return p->squared_norm > 0 ? sqrt(fmax(0, sum) / p->squared_norm) : sum;
}

static const char *shown_title(const tn_rank_problem *p) {
    if (p->squared_norm > 0) return "relative error";
    return error_title(p);
}

static void print_no_fit(const tn_rank_problem *p, const tn_rank_goal *goal, const tn_rank_solution *s) {
    tn_say(s->exact ? "Nothing fits: no choice of candidates keeps all bounds at once.\n"
                    : "Nothing was found that fits, which is no proof that nothing does.\n");
    if (goal->least_cost && isfinite(s->least_error))
        tn_say("  %s: at most %.6g is allowed, the least %s is %.6g\n", shown_title(p),
               shown_error(p, goal->most_error), s->exact ? "reachable" : "found",
               shown_error(p, s->least_error));
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

/* Tables and sentences: the layers (only where something fits), the methods side by side. */
static tn_status print_tables(const tn_rank_problem *p, const tn_rank_goal *goal, const tn_rank_solution *s,
                              tn_error *error) {
    if (s->best.met) TN_TRY(print_layers(p, &s->best, error));
    if (s->best.met) tn_say("\n");
    return tn_ranks_print_methods(p, goal, s, error);
}

tn_status tn_ranks_print_solution(bool as_json, const tn_rank_problem *problem, const tn_rank_goal *goal,
                                  const tn_rank_solution *solution, tn_error *error) {
    if (!as_json) return print_tables(problem, goal, solution, error);
    tn_buffer out = {0};
    tn_json json;
    tn_answer_begin(&json, &out);
    tn_status status = tn_ranks_put_solution(&json, problem, goal, solution, error);
    put_layers(&json, problem, &solution->best);
    tn_json_end(&json);
    return tn_output_made(status, &out, error);
}

/* Of a model and of a table; a cost that is a budget has a key of its name beside them. */
static const tn_column solution_keys[] = {
    TN_ANSWER_KEY("model", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("weights", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("device", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("seed", "integer", TN_OPTIONAL),
    TN_ANSWER_KEY("candidates", "integer", TN_OPTIONAL),
    TN_ANSWER_KEY("activation_aware", "boolean", TN_OPTIONAL),
    TN_ANSWER_KEY("minimised", "string"),
    TN_ANSWER_KEY("budgets", "object"),
    TN_ANSWER_KEY("fits", "boolean"),
    TN_ANSWER_KEY("exact", "boolean"),
    TN_ANSWER_KEY("least_reachable_error", "number", TN_OPTIONAL),
    TN_ANSWER_KEY("lower_bound", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("gap", "number null", TN_OPTIONAL),
    TN_ANSWER_LIST("methods", "object"),
    TN_ANSWER_LIST("layers", "object"),
    TN_ANSWER_KEY("rounds", "integer", TN_OPTIONAL),
    TN_ANSWER_KEY("relative_error", "number null", TN_OPTIONAL),
    TN_ANSWER_KEY("total", "object", TN_OPTIONAL),
    TN_ANSWER_LIST("misfits", "object", TN_OPTIONAL),
    TN_ANSWER_KEY("note", "string", TN_OPTIONAL),
};
const tn_record tn_ranks_solution_record = {.column = solution_keys,
                                            .columns = sizeof solution_keys / sizeof *solution_keys};
