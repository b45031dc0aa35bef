#include "ranks/rank_figures.h"

#include "base/file.h"
#include "plot/gnuplot.h"
#include "text/csv.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    tn_buffer data, definition;
} canvas;

/* Draws FOLDER/figures/NAME.png by the script rank-NAME and frees the canvas. */
static tn_status draw(const char *folder, const char *name, canvas *c, tn_error *error) {
    char path[1200], script[64];
    snprintf(path, sizeof path, "%.1000s/figures", folder);
    tn_status status = c->data.status != TN_OK         ? c->data.status
                       : c->definition.status != TN_OK ? c->definition.status
                                                       : TN_OK;
    if (status != TN_OK) tn_fail(error, status, "no memory for a figure");
    if (status == TN_OK) status = tn_folder_make(path, error);
    snprintf(path, sizeof path, "%.1000s/figures/%s", folder, name);
    snprintf(script, sizeof script, "rank-%s", name);
    const tn_figure figure = {.path = path,
                              .format = TN_FIGURE_PNG,
                              .script = script,
                              .definition = &c->definition,
                              .data = &c->data};
    if (status == TN_OK) status = tn_figure_draw(&figure, error);
    tn_buffer_free(&c->data);
    tn_buffer_free(&c->definition);
    return status;
}

static void next_index(tn_buffer *data) {
    tn_buffer_text(data, "\n\n");
}

static const char *error_title(const tn_rank_problem *problem) {
    return problem->squared_norm > 0                   ? "relative error of all layers together"
           : strcmp(problem->error_name, "sqerr") == 0 ? "sum of squared errors"
                                                       : "accuracy lost";
}

/* An error of the problem as people see it: relative where it is a part of a norm. */
static double shown_error(const tn_rank_problem *problem, double error) {
    return problem->squared_norm > 0 ? sqrt(fmax(0, error) / problem->squared_norm) : error;
}

static void define_cost(const tn_rank_problem *problem, size_t cost, tn_buffer *definition) {
    tn_buffer title = {0};
    tn_word_put_title(problem->cost_name[cost], &title);
    if (title.status == TN_OK) tn_define_text(definition, "cost_label", title.data);
    if (title.status != TN_OK) definition->status = title.status;
    tn_buffer_free(&title);
}

/* --- front --- */

/* index 0: the front, cost error lower_bound; 1, 2, 3: optimum, greedy, uniform, empty where they do not fit
 */
tn_status tn_front_figure(const char *folder, const tn_rank_problem *problem, size_t cost,
                          const tn_tradeoff *front, const tn_rank_solution *solution, tn_error *error) {
    canvas c = {0};
    const tn_rank_way *way[] = {&solution->best, &solution->greedy, &solution->uniform};
    for (size_t i = 0; i < front->count; i++)
        tn_buffer_format(&c.data, "%.17g %.17g %.17g\n", front->point[i].cost,
                         shown_error(problem, front->point[i].objective),
                         shown_error(problem, front->point[i].lower_bound));
    for (size_t i = 0; i < 3; i++) {
        next_index(&c.data);
        if (way[i]->met)
            tn_buffer_format(&c.data, "%.17g %.17g\n", way[i]->cost[cost],
                             shown_error(problem, way[i]->squared_error));
        else
            tn_buffer_text(&c.data, "NaN NaN\n");
    }
    define_cost(problem, cost, &c.definition);
    tn_define_text(&c.definition, "error_label", error_title(problem));
    tn_define_text(&c.definition, "heading",
                   front->exact ? "least error at every cost" : "least error at every cost (thinned)");
    return draw(folder, "front", &c, error);
}

/* --- allocation --- */

/* layer, its cost under optimum, greedy, uniform (NaN where that does not fit) */
tn_status tn_allocation_figure(const char *folder, const tn_rank_problem *problem, size_t cost,
                               const tn_rank_solution *solution, tn_error *error) {
    canvas c = {0};
    const tn_rank_way *way[] = {&solution->best, &solution->greedy, &solution->uniform};
    bool any = false;
    for (size_t l = 0; l < problem->layers; l++) {
        tn_figure_cell(&c.data, problem->layer[l]);
        for (size_t i = 0; i < 3; i++) {
            any |= way[i]->met;
            if (way[i]->met)
                tn_buffer_format(
                    &c.data, " %.17g",
                    problem->cost[(problem->first[l] + way[i]->choice[l]) * problem->costs + cost]);
            else
                tn_buffer_text(&c.data, " NaN");
        }
        tn_buffer_text(&c.data, "\n");
    }
    define_cost(problem, cost, &c.definition);
    tn_define_real(&c.definition, "layers", (double)problem->layers);
    tn_define_real(&c.definition, "size_x", fmax(900, 200 + 40.0 * (double)problem->layers));
    if (any) return draw(folder, "allocation", &c, error);
    tn_buffer_free(&c.data);
    tn_buffer_free(&c.definition);
    return TN_OK;
}

/* --- errors --- */

static double relative(const tn_layer_options *options, const tn_layer_option *candidate) {
    return options->squared_norm > 0 ? sqrt(fmax(0, candidate->squared_error) / options->squared_norm) : 0;
}

/* Lines by cap of one layer and folding; tolerances are points apart. */
static void put_line(const tn_layer_options *options, uint32_t folding, size_t layer, tn_buffer *data) {
    for (size_t i = 0; i < options->count; i++) {
        const tn_layer_option *k = &options->item[i];
        if (k->usable && k->folding == folding && k->tolerance < 0 && k->weight.format != TN_DENSE)
            tn_buffer_format(data, "%" PRIu64 " %.9g %zu %u\n", k->parameters, relative(options, k), layer,
                             (unsigned)folding);
    }
}

static void put_points(const tn_rank_plan *plan, tn_buffer *data) {
    tn_buffer_text(data, "NaN NaN 0\n");
    for (size_t l = 0; l < plan->layers; l++)
        for (size_t i = 0; i < plan->candidates[l].count; i++) {
            const tn_layer_option *k = &plan->candidates[l].item[i];
            if (k->usable && k->tolerance >= 0)
                tn_buffer_format(data, "%" PRIu64 " %.9g %zu\n", k->parameters,
                                 relative(&plan->candidates[l], k), l);
        }
}

/* index 0: the choice, parameters error layer; 1: candidates by tolerance; from 2 on a line each */
tn_status tn_errors_figure(const char *folder, const tn_rank_plan *plan, const tn_rank_solution *solution,
                           tn_error *error) {
    canvas c = {0};
    size_t lines = 0;
    tn_buffer_text(&c.data, "NaN NaN 0\n");
    for (size_t l = 0; solution && l < plan->layers; l++) {
        const tn_layer_option *k = tn_rank_plan_chosen(plan, &solution->best, l);
        tn_buffer_format(&c.data, "%" PRIu64 " %.9g %zu\n", k->parameters, relative(&plan->candidates[l], k),
                         l);
    }
    next_index(&c.data);
    put_points(plan, &c.data);
    for (size_t l = 0; l < plan->layers; l++)
        for (uint32_t f = 0; f < plan->candidates[l].foldings; f++, lines++) {
            next_index(&c.data);
            tn_buffer_text(&c.data, "NaN NaN 0 0\n");
            put_line(&plan->candidates[l], f, l, &c.data);
        }
    tn_define_real(&c.definition, "lines", (double)lines);
    tn_define_real(&c.definition, "layers", (double)plan->layers);
    for (size_t l = 0; l < plan->layers; l++) {
        char name[32];
        snprintf(name, sizeof name, "layer_%zu", l);
        tn_define_text(&c.definition, name, plan->candidates[l].name);
    }
    tn_define_real(&c.definition, "size_y", fmax(600, 120 + 22.0 * (double)plan->layers));
    return draw(folder, "errors", &c, error);
}

/* --- formats --- */

/* A format as people compare them: a train of one factor a side is plain low rank. */
enum { LOW_RANK = TN_FORMATS, FAMILIES };

static unsigned family_of(const tn_layer_option *option) {
    return option->weight.format == TN_TT && option->weight.d == 1 ? LOW_RANK : option->weight.format;
}

static const char *family_name(unsigned family) {
    return family == LOW_RANK ? "low-rank" : tn_format_names[family];
}

/* The candidate of least error by that cap (dense has none), of equal ones that of fewest parameters; NULL: none. */
static const tn_layer_option *best_of(const tn_layer_options *options, unsigned family, uint64_t cap) {
    const tn_layer_option *best = NULL;
    for (size_t i = 0; i < options->count; i++) {
        const tn_layer_option *k = &options->item[i];
        if (!k->usable || k->tolerance >= 0 || family_of(k) != family) continue;
        if (family != TN_DENSE && k->cap > cap) continue;
        if (!best || k->squared_error < best->squared_error ||
            (k->squared_error == best->squared_error && k->parameters < best->parameters))
            best = k;
    }
    return best;
}

static bool is_table(const tn_rank_plan *plan, size_t layer) {
    return tn_model_layer_at(plan->model, plan->candidates[layer].layer).looked_up;
}

/* The matrices, all of which every format is tried for; of tables alone those. */
static bool is_compared(const tn_rank_plan *plan, size_t layer) {
    bool matrices = false;
    for (size_t l = 0; l < plan->layers; l++) matrices |= !is_table(plan, l);
    return !matrices || !is_table(plan, layer);
}

/* The next cap of any candidate of the family above `cap`; 0: none. */
static uint64_t next_cap(const tn_rank_plan *plan, unsigned family, uint64_t cap) {
    uint64_t next = 0;
    for (size_t l = 0; l < plan->layers; l++)
        for (size_t i = 0; i < plan->candidates[l].count; i++) {
            const tn_layer_option *k = &plan->candidates[l].item[i];
            if (k->usable && k->tolerance < 0 && family_of(k) == family && k->cap > cap &&
                (next == 0 || k->cap < next))
                next = k->cap;
        }
    return next;
}

/* One point of a line: all compared layers by that cap. False where one has no candidate yet. */
static bool point_of(const tn_rank_plan *plan, const bool *compared, unsigned family, uint64_t cap,
                     uint64_t *parameters, double *error) {
    double squares = 0, norms = 0;
    *parameters = 0;
    for (size_t l = 0; l < plan->layers; l++) {
        const tn_layer_option *k = compared[l] ? best_of(&plan->candidates[l], family, cap) : NULL;
        if (!compared[l]) continue;
        if (!k) return false;
        *parameters += k->parameters;
        squares += fmax(0, k->squared_error);
        norms += plan->candidates[l].squared_norm;
    }
    *error = norms > 0 ? sqrt(squares / norms) : 0;
    return norms > 0;
}

/* Appends the line to both; returns whether it has a point. */
static bool put_family(const tn_rank_plan *plan, const bool *compared, unsigned family, tn_buffer *data,
                       tn_buffer *csv) {
    uint64_t parameters, cap = family == TN_DENSE ? 0 : next_cap(plan, family, 0);
    bool any = false;
    do {
        double error;
        if (!point_of(plan, compared, family, cap, &parameters, &error)) continue;
        if (!any) next_index(data);
        any = true;
        tn_buffer_format(data, "%" PRIu64 " %.9g\n", parameters, error);
        tn_csv_put(csv, family_name(family));
        tn_csv_put_count(csv, cap);
        tn_csv_put_count(csv, parameters);
        tn_csv_put_real(csv, error);
        tn_csv_put_real(csv, 1 - error * error);
        tn_csv_line(csv);
    } while (cap && (cap = next_cap(plan, family, cap)) > 0);
    return any;
}

static void put_families(const tn_rank_plan *plan, const bool *compared, canvas *c, tn_buffer *csv) {
    static const char *const head[] = {"format", "cap", "parameters", "relative_error", "retained_energy"};
    size_t lines = 0;
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) tn_csv_put(csv, head[i]);
    tn_csv_line(csv);
    tn_buffer_text(&c->data, "NaN NaN\n");
    for (unsigned family = 0; family < FAMILIES; family++) {
        char name[32];
        if (!put_family(plan, compared, family, &c->data, csv)) continue;
        snprintf(name, sizeof name, "format_%zu", ++lines);
        tn_define_text(&c->definition, name, family_name(family));
    }
    tn_define_real(&c->definition, "lines", (double)lines);
}

tn_status tn_formats_figure(const char *folder, const tn_rank_plan *plan, tn_error *error) {
    canvas c = {0};
    tn_buffer csv = {0};
    tn_arena arena = {0};
    bool *compared;
    char path[1200];
    tn_status status = TN_NEW(&arena, plan->layers, &compared, error);
    if (status == TN_OK) {
        size_t layers = 0;
        for (size_t l = 0; l < plan->layers; l++) layers += compared[l] = is_compared(plan, l);
        put_families(plan, compared, &c, &csv);
        tn_define_real(&c.definition, "layers", (double)layers);
        snprintf(path, sizeof path, "%.1000s/formats.csv", folder);
        status = tn_file_write_buffer(path, &csv, error);
    }
    tn_buffer_free(&csv);
    tn_arena_free(&arena);
    if (status == TN_OK) return draw(folder, "formats", &c, error);
    tn_buffer_free(&c.data);
    tn_buffer_free(&c.definition);
    return status;
}

/* --- spectra --- */

typedef struct {
    size_t layer, bond, sigma; /* columns; layer may be csv.columns */
    tn_csv csv;
} table;

static bool starts(const table *t, size_t row) {
    if (row == 0) return true;
    bool bond =
        strcmp(tn_csv_at(&t->csv, row, t->bond)->text, tn_csv_at(&t->csv, row - 1, t->bond)->text) != 0;
    bool layer = t->layer < t->csv.columns && strcmp(tn_csv_at(&t->csv, row, t->layer)->text,
                                                     tn_csv_at(&t->csv, row - 1, t->layer)->text) != 0;
    return bond || layer;
}

/* A block for each bond of each layer: place, sigma over the largest, bond. */
static tn_status put_spectra(const table *t, canvas *c, tn_error *error) {
    double largest = 1, sigma;
    uint64_t bond, most = 1;
    size_t place = 0, lines = 0;
    for (size_t row = 0; row < t->csv.rows; row++, place++) {
        TN_TRY(tn_csv_real(&t->csv, row, t->sigma, 0, INFINITY, &sigma, error));
        TN_TRY(tn_csv_count(&t->csv, row, t->bond, 1, UINT64_MAX, &bond, error));
        if (starts(t, row)) {
            if (lines++) next_index(&c->data);
            largest = sigma > 0 ? sigma : 1;
            place = 1;
        }
        if (bond > most) most = bond;
        tn_buffer_format(&c->data, "%zu %.9g %" PRIu64 "\n", place, sigma / largest, bond);
    }
    tn_define_real(&c->definition, "lines", (double)lines);
    tn_define_real(&c->definition, "bonds", (double)most);
    return TN_OK;
}

tn_status tn_spectra_figure(const char *folder, tn_error *error) {
    static const char *const names[] = {"bond", "sigma"};
    char path[1200];
    tn_arena arena = {0};
    canvas c = {0};
    table t;
    size_t column[2];
    snprintf(path, sizeof path, "%.1000s/singular_values.csv", folder);
    tn_status status = tn_csv_load(path, &arena, &t.csv, error);
    if (status == TN_OK) status = tn_csv_columns(&t.csv, names, 2, false, column, error);
    if (status == TN_OK) {
        t.bond = column[0];
        t.sigma = column[1];
        t.layer = tn_csv_column(&t.csv, "layer");
        status = put_spectra(&t, &c, error);
    }
    if (status == TN_OK && t.csv.rows > 0) status = draw(folder, "spectra", &c, error);
    tn_buffer_free(&c.data);
    tn_buffer_free(&c.definition);
    tn_arena_free(&arena);
    return status;
}
