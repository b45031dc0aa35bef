/* tenfold ranks MODEL --weights FILE: ranks and foldings of a model's layers from its trained weights. */
#include "cli/ranks_model.h"

#include "base/file.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/ranks_solution.h"
#include "price/price.h"
#include "ranks/files.h"
#include "ranks/rank_figures.h"
#include "text/json.h"
#include "text/number.h"
#include "text/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint64_t default_caps[] = {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64};
static const uint64_t default_depths[] = {2, 3, 4};
static const double default_tolerances[] = {0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05};

/* --- reading --- */

static tn_status read_counts(tn_ranks_work *w, const char *text, const char *option, const uint64_t **values,
                             size_t *count) {
    tn_ranks_texts texts;
    uint64_t *value;
    TN_TRY(tn_ranks_split(text, option, &w->arena, &texts, w->error));
    TN_TRY(TN_NEW(&w->arena, texts.count, &value, w->error));
    for (size_t i = 0; i < texts.count; i++) {
        if (tn_read_count(texts.item[i], &value[i]) != TN_NUMBER_OK || value[i] == 0)
            return tn_fail(w->error, TN_INPUT, "%s '%.100s' must be a whole number of at least 1", option,
                           texts.item[i]);
        if (i > 0 && value[i] <= value[i - 1])
            return tn_fail(w->error, TN_INPUT, "%s must rise; %" PRIu64 " comes after %" PRIu64, option,
                           value[i], value[i - 1]);
    }
    *values = value;
    *count = texts.count;
    return TN_OK;
}

static tn_status read_tolerances(tn_ranks_work *w) {
    tn_ranks_texts texts;
    double *value;
    TN_TRY(tn_ranks_split(w->asked->tolerance, "--tolerance", &w->arena, &texts, w->error));
    TN_TRY(TN_NEW(&w->arena, texts.count, &value, w->error));
    for (size_t i = 0; i < texts.count; i++) TN_TRY(tn_ranks_tolerance(texts.item[i], &value[i], w->error));
    w->rule.tolerance = value;
    w->rule.tolerances = texts.count;
    return TN_OK;
}

static tn_status read_foldings(tn_ranks_work *w) {
    const tn_option_list *given = &w->asked->fold;
    tn_weight *folding;
    TN_TRY(TN_NEW(&w->arena, given->count, &folding, w->error));
    for (size_t i = 0; i < given->count; i++) {
        bool fits = false;
        uint64_t rows, columns;
        TN_TRY(tn_ranks_weight(TN_TT, given->item[i], "1", &folding[i], w->error));
        TN_TRY(tn_weight_rows(&folding[i], &rows, w->error));
        TN_TRY(tn_weight_columns(&folding[i], &columns, w->error));
        for (size_t l = 0; l < tn_model_layers(w->model) && !fits; l++) {
            tn_model_layer layer = tn_model_layer_at(w->model, l);
            fits = layer.weight && layer.rows == rows && layer.columns == columns;
        }
        if (!fits)
            return tn_fail(w->error, TN_INPUT,
                           "--fold %.100s multiplies to %" PRIu64 " x %" PRIu64
                           "; no layer with a named weight has that size",
                           given->item[i], rows, columns);
    }
    w->rule.folding = folding;
    w->rule.foldings = given->count;
    return TN_OK;
}

static tn_status read_formats(tn_ranks_work *w) {
    tn_ranks_texts texts;
    tn_format *format;
    TN_TRY(tn_ranks_split(w->asked->format, "--format", &w->arena, &texts, w->error));
    TN_TRY(TN_NEW(&w->arena, texts.count, &format, w->error));
    for (size_t i = 0; i < texts.count; i++) {
        if (strcmp(texts.item[i], "low-rank") == 0)
            w->rule.low_rank = true;
        else
            TN_TRY(tn_ranks_format(texts.item[i], &format[w->rule.formats++], w->error));
    }
    w->rule.format = format;
    if (w->rule.formats) return TN_OK;
    return tn_fail(w->error, TN_INPUT,
                   "--format low-rank alone; add tt, ttm, tr or tucker, or take --depth 1");
}

/* What to try: what was asked for, else the default ranks; tolerances only where truncation errors count. */
static tn_status read_rule(tn_ranks_work *w) {
    const tn_ranks_asked *asked = w->asked;
    tn_layer_option_rule *rule = &w->rule;
    rule->seed = asked->seed;
    rule->dense = asked->accuracy == NULL; /* no rank was measured for it */
    rule->own_ranks = asked->accuracy != NULL;
    rule->low_rank = rule->dense && !asked->depth && !asked->format;
    TN_TRY(tn_ranks_method(asked->method, &rule->method, w->error));
    if (asked->cap) TN_TRY(read_counts(w, asked->cap, "--cap", &rule->cap, &rule->caps));
    if (asked->tolerance) TN_TRY(read_tolerances(w));
    rule->depth = default_depths;
    rule->depths = sizeof default_depths / sizeof *default_depths;
    if (asked->depth && strcmp(asked->depth, "own") == 0)
        rule->depths = 0;
    else if (asked->depth)
        TN_TRY(read_counts(w, asked->depth, "--depth", &rule->depth, &rule->depths));
    if (rule->depths && rule->depth[rule->depths - 1] > TN_FACTORS_MOST)
        return tn_fail(w->error, TN_INPUT, "--depth %" PRIu64 " is more than %d factors",
                       rule->depth[rule->depths - 1], TN_FACTORS_MOST);
    rule->kept = asked->keep.count;
    rule->keep = asked->keep.item;
    if (!isnan(asked->layer_error) && !(asked->layer_error > 0 && asked->layer_error <= 1))
        return tn_fail(w->error, TN_INPUT, "--layer-error %g must be a relative error over 0 and up to 1",
                       asked->layer_error);
    rule->layer_error = isnan(asked->layer_error) ? 0 : asked->layer_error;
    TN_TRY(read_foldings(w));
    if (asked->format) TN_TRY(read_formats(w));
    if (asked->cap || asked->tolerance) return TN_OK;
    rule->cap = default_caps;
    rule->caps = sizeof default_caps / sizeof *default_caps;
    if (asked->accuracy) return TN_OK;
    rule->tolerance = default_tolerances;
    rule->tolerances = sizeof default_tolerances / sizeof *default_tolerances;
    return TN_OK;
}

/* Whether KEY of a --budget or --minimise is a cost that only a device has. */
static bool of_device(const char *key) {
    for (size_t k = TN_RANK_CYCLES; k < TN_RANK_COSTS; k++) {
        size_t length = strlen(tn_rank_cost_names[k]);
        if (strncmp(key, tn_rank_cost_names[k], length) == 0 && (key[length] == '=' || key[length] == '\0'))
            return true;
    }
    return false;
}

static bool needs_device(const tn_ranks_asked *asked) {
    bool needed = asked->device || (asked->minimise && of_device(asked->minimise));
    for (size_t i = 0; i < asked->budget.count; i++) needed |= of_device(asked->budget.item[i]);
    return needed;
}

static tn_status load_model(tn_ranks_work *w) {
    const tn_ranks_asked *asked = w->asked;
    const bool needed = needs_device(asked);
    if (!needed && !asked->point) {
        tn_sets sets;
        TN_TRY(tn_sets_divide(&asked->set, &sets, w->error));
        if (sets.device.count)
            return tn_fail(w->error, TN_INPUT, "--set %.100s is a key of a device; add --device DEVICE",
                           sets.device.item[0]);
    }
    TN_TRY(tn_target_load(asked->model, asked->point, asked->device, needed ? "u50" : NULL, &asked->set,
                          &w->arena, &w->target, w->error));
    w->model = w->target.design.model;
    if (!needed) return TN_OK;
    w->device = w->target.design.device;
    if (tn_device_kind_of(w->device) == TN_DEVICE_FPGA) return TN_OK;
    return tn_fail(w->error, TN_INPUT, "device %s is no FPGA; cycles and blocks are counted for FPGAs",
                   tn_device_name(w->device));
}

static tn_status open_trained(tn_ranks_work *w) {
    const tn_ranks_asked *asked = w->asked;
    if (!asked->weights)
        return tn_fail(w->error, TN_INPUT, "MODEL needs --weights FILE, the trained weights");
    w->trained.weights_path = asked->weights;
    w->trained.moments_path = asked->covariance;
    TN_TRY(tn_checkpoint_decode(tn_model_checkpoint(w->model), w->model, &w->arena, &w->trained.checkpoint,
                                w->error));
    if (asked->accuracy) TN_TRY(tn_accuracy_load(asked->accuracy, &w->arena, &w->accuracy, w->error));
    if (asked->covariance) TN_TRY(tn_arrays_open(asked->covariance, &w->trained.moments, w->error));
    return tn_arrays_open(asked->weights, &w->trained.weights, w->error);
}

static tn_status make_plan(tn_ranks_work *w) {
    tn_watch watch;
    tn_watch_begin(&watch, "layers decomposed", w->asked->common.quiet);
    tn_status status = tn_rank_plan_make(w->model, &w->trained, &w->rule, w->device, w->accuracy,
                                         !w->asked->cap, &watch.progress, &w->arena, &w->plan, w->error);
    tn_watch_end(&watch);
    return status;
}

/* What a percentage of each cost is of: the dense model's, and the device's blocks; cycles have none. */
static tn_status find_wholes(const tn_ranks_work *w, double whole[TN_RANK_COSTS], tn_error *error) {
    static const char *const dense[] = {"format=dense"};
    tn_program_cache *cache;
    tn_model *model;
    tn_step step;
    tn_arena arena = {0};
    for (int k = 0; k < TN_RANK_COSTS; k++) whole[k] = NAN;
    if (w->device) {
        const tn_resources has = tn_device_resources(w->device);
        whole[TN_RANK_BRAM18] = (double)has.bram18;
        whole[TN_RANK_URAM] = (double)has.uram;
    }
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_model_vary(tn_model_root(w->model), dense, 1, &arena, &model, error);
    if (status == TN_OK) status = tn_step_build(model, cache, &arena, &step, error);
    if (status == TN_OK) {
        whole[TN_RANK_PARAMETERS] = (double)step.parameters;
        whole[TN_RANK_BYTES] = (double)step.parameters * (double)step.element_bytes;
        whole[TN_RANK_MACS] = (double)tn_step_macs(step.macs);
    }
    tn_arena_free(&arena);
    tn_program_cache_free(cache);
    return status;
}

static bool names_a_share(const tn_ranks_asked *asked) {
    for (size_t i = 0; i < asked->budget.count; i++)
        if (strchr(asked->budget.item[i], '%')) return true;
    return false;
}

/* Parameters that are none of the matrices to choose for, and bytes of one. */
static tn_status find_fixed(const tn_ranks_work *w, double *fixed, double *bytes, tn_error *error) {
    tn_program_cache *cache;
    tn_step step;
    tn_arena arena = {0};
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_step_build(w->model, cache, &arena, &step, error);
    *fixed = status == TN_OK ? (double)step.parameters : 0;
    *bytes = status == TN_OK ? (double)step.element_bytes : 1;
    for (size_t i = 0; status == TN_OK && i < tn_model_layers(w->model); i++) {
        const tn_model_layer layer = tn_model_layer_at(w->model, i);
        uint64_t own;
        if (!layer.weight || layer.weight->weight.format == TN_DENSE) continue;
        status = tn_weight_parameters(&layer.weight->weight, &own, error);
        *fixed -= (double)own;
    }
    tn_arena_free(&arena);
    tn_program_cache_free(cache);
    return status;
}

/* What the budgets leave for the matrices, where they count parameters. */
static tn_status find_most(tn_ranks_work *w, tn_error *error) {
    double most = INFINITY, fixed, bytes;
    for (size_t k = 0; k < w->goal.budgets; k++)
        if (w->goal.budget[k].cost == TN_RANK_PARAMETERS || w->goal.budget[k].cost == TN_RANK_BYTES) most = 0;
    if (most > 0) return TN_OK;
    TN_TRY(find_fixed(w, &fixed, &bytes, error));
    most = INFINITY;
    for (size_t k = 0; k < w->goal.budgets; k++) {
        const tn_rank_budget *budget = &w->goal.budget[k];
        if (budget->cost == TN_RANK_PARAMETERS) most = fmin(most, budget->most);
        if (budget->cost == TN_RANK_BYTES) most = fmin(most, budget->most / bytes);
    }
    w->rule.most_parameters = most - fixed;
    if (w->rule.most_parameters > 0) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   "the budget is %.10g parameters, and what is not compressed (biases, norms, dense layers) "
                   "takes %.10g; "
                   "give more",
                   most, fixed);
}

/* Before the layers are decomposed: what is asked for is known or refused. Costs of a device have one loaded
 * where they are named. */
static tn_status read_goal(tn_ranks_work *w) {
    tn_rank_problem names = {.costs = TN_RANK_COSTS, .cost_name = (const char **)tn_rank_cost_names};
    double whole[TN_RANK_COSTS];
    bool share = names_a_share(w->asked);
    if (share) TN_TRY(find_wholes(w, whole, w->error));
    TN_TRY(tn_ranks_goal(w->asked, &names, share ? whole : NULL, w->asked->max_error, &w->goal, w->error));
    for (size_t k = 0; w->device && k < w->goal.budgets; k++) {
        const tn_rank_budget *budget = &w->goal.budget[k];
        tn_resources has = tn_device_resources(w->device);
        uint64_t most = budget->cost == TN_RANK_BRAM18 ? has.bram18 : has.uram;
        if (budget->cost >= TN_RANK_BRAM18 && budget->most > (double)most)
            return tn_fail(w->error, TN_INPUT,
                           "the budget of %.10g %s is more than the %" PRIu64 " of %s; give at most those",
                           budget->most, tn_rank_cost_names[budget->cost], most, tn_device_name(w->device));
    }
    return TN_OK;
}

/* --max-error is relative to the norm of all layers, known once they are read. */
static void scale_goal(tn_ranks_work *w) {
    double most = w->asked->max_error;
    if (!w->accuracy && w->goal.least_cost) w->goal.most_error = most * most * w->plan.squared_norm;
}

/* --- files --- */

static tn_status write_front(const tn_ranks_work *w) {
    const char *folder = w->asked->output;
    const tn_rank_problem *p = &w->plan.problem;
    size_t cost = w->asked->budget.count ? w->goal.budget[0].cost : w->goal.minimised;
    tn_tradeoff front;
    TN_TRY(tn_rank_front(p, cost, &front, w->error));
    tn_status status = tn_rank_write_front(folder, p, cost, &front, w->error);
    if (status == TN_OK) status = tn_front_figure(folder, p, cost, &front, &w->outcome.solution, w->error);
    tn_tradeoff_free(&front);
    TN_TRY(status);
    return tn_allocation_figure(folder, p, cost, &w->outcome.solution, w->error);
}

static tn_status write_choice(const tn_ranks_work *w) {
    const char *folder = w->asked->output;
    const tn_rank_way *best = &w->outcome.solution.best;
    tn_watch watch;
    TN_TRY(tn_rank_write_model(folder, &w->plan, w->error));
    tn_watch_begin(&watch, "layers written", w->asked->common.quiet);
    tn_status status =
        tn_rank_write_cores(folder, &w->plan, best, &w->trained, &w->rule,
                            w->asked->cores ? &w->asked->half : NULL, &watch.progress, w->error);
    tn_watch_end(&watch);
    TN_TRY(status);
    TN_TRY(tn_rank_write_spectra(folder, &w->plan, best, &w->trained, w->error));
    return tn_spectra_figure(folder, w->error);
}

static tn_status write_files(const tn_ranks_work *w) {
    const char *folder = w->asked->output;
    const tn_rank_solution *solution = &w->outcome.solution;
    if (!folder) return TN_OK;
    TN_TRY(tn_folder_make(folder, w->error));
    TN_TRY(tn_rank_write_candidates(folder, &w->plan, w->error));
    TN_TRY(tn_rank_write_error_table(folder, &w->plan, &w->rule, w->error));
    TN_TRY(tn_rank_write_allocation(folder, &w->plan.problem, &solution->best, w->error));
    if (solution->best.met) TN_TRY(write_choice(w));
    TN_TRY(write_front(w));
    TN_TRY(tn_formats_figure(folder, &w->plan, w->error));
    return tn_errors_figure(folder, &w->plan, solution->best.met ? solution : NULL, w->error);
}

static tn_status run(tn_ranks_work *w) {
    TN_TRY(load_model(w));
    TN_TRY(read_rule(w));
    TN_TRY(read_goal(w));
    TN_TRY(open_trained(w));
    TN_TRY(find_most(w, w->error));
    TN_TRY(make_plan(w));
    scale_goal(w);
    TN_TRY(tn_rank_plan_solve(&w->plan, &w->goal, &w->arena, &w->outcome, w->error));
    TN_TRY(write_files(w));
    return w->asked->common.json ? tn_ranks_print_json(w) : tn_ranks_print_text(w);
}

tn_status tn_ranks_model(const tn_ranks_asked *asked, int *answer, tn_error *error) {
    tn_ranks_work w = {.asked = asked, .error = error};
    tn_status status = run(&w);
    if (status == TN_OK) *answer = w.outcome.fits ? 0 : 1;
    tn_rank_plan_free(&w.plan);
    tn_target_free(&w.target);
    tn_arrays_close(w.trained.weights);
    tn_arrays_close(w.trained.moments);
    tn_arena_free(&w.arena);
    return status;
}

/* What tenfold ranks MODEL says of the choice that it found. */

static double layer_error(const tn_ranks_work *w, size_t layer, const tn_layer_option *candidate) {
    double norm = w->plan.candidates[layer].squared_norm;
    return norm > 0 ? sqrt(fmax(0, candidate->squared_error) / norm) : 0;
}

/* The plain relative error over all layers, whatever was made least. */
static double whole_error(const tn_ranks_work *w, const tn_rank_way *choice) {
    double sum = 0;
    for (size_t l = 0; l < w->plan.layers; l++)
        sum += tn_rank_plan_chosen(&w->plan, choice, l)->squared_error;
    return w->plan.squared_norm > 0 ? sqrt(fmax(0, sum) / w->plan.squared_norm) : 0;
}

/* Where a layer keeps less than half of its squared norm: an allocation may give a layer away to keep others. */
static const double MUCH_LOST = 0.5;
static bool loses_much(const tn_ranks_work *w, size_t layer) {
    const double error =
        layer_error(w, layer, tn_rank_plan_chosen(&w->plan, &w->outcome.solution.best, layer));
    return !w->accuracy && error * error > MUCH_LOST;
}

static void put_warnings(const tn_ranks_work *w, tn_json *json) {
    tn_json_key(json, "warnings");
    tn_json_array(json);
    for (size_t l = 0; w->outcome.solution.best.met && l < w->plan.layers; l++) {
        if (!loses_much(w, l)) continue;
        tn_json_object(json);
        tn_json_put_text(json, "layer", w->plan.problem.layer[l]);
        tn_json_put_text(json, "warning", "keeps less than half of its squared norm");
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void print_warnings(const tn_ranks_work *w) {
    size_t low_rank = 0, cores = 0;
    for (size_t l = 0; l < w->plan.layers; l++) {
        const tn_layer_option *c = tn_rank_plan_chosen(&w->plan, &w->outcome.solution.best, l);
        const double error = layer_error(w, l, c);
        cores += c->weight.format != TN_DENSE;
        low_rank += strcmp(tn_rank_format_name(&c->weight), "low-rank") == 0;
        if (loses_much(w, l))
            tn_say("Warning: %s keeps %.0f %% of its squared norm (error %.4f). --layer-error %.2g forbids "
                   "such choices, "
                   "--keep %s leaves it as it is.\n",
                   w->plan.problem.layer[l], 100 * (1 - error * error), error, sqrt(MUCH_LOST),
                   w->plan.problem.layer[l]);
    }
    if (low_rank)
        tn_say("Plain low rank (W = A B, two factors) is the choice for %zu of %zu layers in cores.\n",
               low_rank, cores);
}

static tn_status put_layer(const tn_ranks_work *w, size_t l, tn_json *json) {
    const tn_rank_problem *p = &w->plan.problem;
    const tn_rank_way *best = &w->outcome.solution.best;
    const tn_layer_option *c = tn_rank_plan_chosen(&w->plan, best, l);
    size_t index = p->first[l] + best->choice[l];
    tn_weight requested = w->plan.candidates[l].folding[c->folding];
    tn_json_object(json);
    tn_json_put_text(json, "layer", p->layer[l]);
    tn_json_put_text(json, "format", tn_rank_format_name(&c->weight));
    tn_json_put_counts(json, "m", c->weight.m, c->weight.d);
    tn_json_put_counts(json, "n", c->weight.n, c->weight.d);
    if (c->weight.format == TN_DENSE) {
        /* has neither cap nor ranks */
    } else if (c->tolerance >= 0) {
        tn_json_put_real(json, "tolerance", c->tolerance);
    } else {
        TN_TRY(tn_weight_set_rank(&requested, c->cap, w->error));
        tn_json_put_count(json, "cap", c->cap);
        tn_json_put_counts(json, "requested_ranks", requested.rank, requested.rank_count);
    }
    tn_json_put_counts(json, "ranks", c->weight.rank, c->weight.rank_count);
    for (size_t k = 0; k < p->costs; k++)
        tn_json_put_count(json, p->cost_name[k], (uint64_t)p->cost[index * p->costs + k]);
    tn_json_put_real(json, "relative_error", layer_error(w, l, c));
    tn_json_put_real(json, p->error_name, p->error[index]);
    tn_json_end(json);
    return TN_OK;
}

/* Resources of which the chosen design takes more than the device has. */
static bool lacks(const tn_ranks_work *w, int resource, uint64_t *needed, uint64_t *available) {
    if (!w->device || !w->outcome.solution.best.met) return false;
    const tn_resources has = tn_device_resources(w->device);
    *needed = tn_resource_amount(&w->outcome.used, (tn_resource)resource);
    *available = tn_resource_amount(&has, (tn_resource)resource);
    return *needed > *available;
}

static void put_misfits(const tn_ranks_work *w, tn_json *json) {
    uint64_t needed, available;
    if (!w->device) return;
    tn_json_key(json, "misfits");
    tn_json_array(json);
    for (int i = 0; i < TN_RESOURCES; i++) {
        if (!lacks(w, i, &needed, &available)) continue;
        tn_json_object(json);
        tn_json_put_text(json, "resource", tn_resource_names[i]);
        tn_json_put_count(json, "needed", needed);
        tn_json_put_count(json, "available", available);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void print_misfits(const tn_ranks_work *w) {
    uint64_t needed, available;
    char need[32], have[32];
    for (int i = 0; i < TN_RESOURCES; i++)
        if (lacks(w, i, &needed, &available))
            tn_say("Does not fit: the design takes %s %s, %s has %s. That follows from the build, not from "
                   "ranks; "
                   "`tenfold cost` says which changes make it fit.\n",
                   tn_count_text(needed, need), tn_resource_names[i], tn_device_name(w->device),
                   tn_count_text(available, have));
}

static tn_status put_answer(const tn_ranks_work *w, tn_json *json) {
    const tn_rank_outcome *o = &w->outcome;
    const tn_rank_problem *p = &w->plan.problem;
    tn_json_put_text(json, "model", tn_model_name(w->model));
    tn_json_put_text(json, "weights", w->asked->weights);
    if (w->device) tn_json_put_text(json, "device", tn_device_name(w->device));
    tn_json_put_count(json, "seed", w->asked->seed);
    tn_json_put_count(json, "candidates", p->first[p->layers]);
    tn_json_put_bool(json, "activation_aware", w->trained.moments != NULL);
    TN_TRY(tn_ranks_put_solution(json, p, &w->goal, &o->solution, w->error));
    tn_json_put_count(json, "rounds", o->rounds);
    tn_json_key(json, "layers");
    tn_json_array(json);
    for (size_t l = 0; o->solution.best.met && l < p->layers; l++) TN_TRY(put_layer(w, l, json));
    tn_json_end(json);
    if (o->solution.best.met) {
        tn_json_put_real(json, "relative_error", whole_error(w, &o->solution.best));
        tn_json_key(json, "total");
        tn_json_object(json);
        for (size_t k = 0; k < p->costs; k++) tn_json_put_count(json, p->cost_name[k], (uint64_t)o->total[k]);
        tn_json_end(json);
    }
    put_warnings(w, json);
    put_misfits(w, json);
    tn_json_put_text(json, "note", tn_ranks_caution);
    return TN_OK;
}

tn_status tn_ranks_print_json(const tn_ranks_work *w) {
    tn_buffer out = {0};
    tn_json json;
    tn_answer_begin(&json, &out);
    tn_status status = put_answer(w, &json);
    tn_json_end(&json);
    return tn_output_made(status, &out, w->error);
}

static tn_status print_layers(const tn_ranks_work *w) {
    char text[TN_RANKS_TEXT];
    tn_table table;
    const tn_rank_problem *p = &w->plan.problem;
    static const char *const head[] = {"layer", "format", "m", "n", "asked for", "ranks", "error"};
    tn_table_begin(&table, 7 + p->costs);
    for (size_t i = 0; i < 7; i++) tn_table_text(&table, head[i]);
    for (size_t k = 0; k < p->costs; k++) tn_table_text(&table, p->cost_name[k]);
    for (size_t l = 0; l < p->layers; l++) {
        const tn_layer_option *c = tn_rank_plan_chosen(&w->plan, &w->outcome.solution.best, l);
        size_t index = p->first[l] + w->outcome.solution.best.choice[l];
        tn_table_text(&table, p->layer[l]);
        tn_table_text(&table, tn_rank_format_name(&c->weight));
        tn_table_text(&table, tn_ranks_product_text(c->weight.m, c->weight.d, text));
        tn_table_text(&table, tn_ranks_product_text(c->weight.n, c->weight.d, text));
        if (c->weight.format == TN_DENSE)
            tn_table_text(&table, "");
        else if (c->tolerance >= 0)
            tn_table_format(&table, "error %g", c->tolerance);
        else
            tn_table_format(&table, "rank %" PRIu64, c->cap);
        tn_table_text(&table, tn_ranks_list_text(c->weight.rank, c->weight.rank_count, text));
        tn_table_format(&table, "%.4f", layer_error(w, l, c));
        for (size_t k = 0; k < p->costs; k++) tn_table_count(&table, (uint64_t)p->cost[index * p->costs + k]);
    }
    return tn_table_end(&table, w->error);
}

static void print_whole(const tn_ranks_work *w) {
    const tn_rank_outcome *o = &w->outcome;
    const tn_rank_problem *p = &w->plan.problem;
    char text[32];
    tn_say("\nThe whole model takes");
    for (size_t k = 0; k < p->costs; k++)
        tn_say("%s %s %s", k ? "," : "", tn_count_text((uint64_t)o->total[k], text), p->cost_name[k]);
    tn_say(".\nRelative error of its trained weights together, %s: %.4f\n",
           w->trained.moments ? "as it shows in what the layers put out" : "Frobenius norm",
           whole_error(w, &o->solution.best));
    if (o->rounds > 1)
        tn_say("Cycles and blocks of a design are not the sum of its layers': this one was found in %zu "
               "rounds,\n"
               "each an exact choice for costs counted around the design before.\n",
               o->rounds);
}

tn_status tn_ranks_print_text(const tn_ranks_work *w) {
    const tn_rank_problem *p = &w->plan.problem;
    tn_say("%s: %zu layers, %zu candidates from %s\n\n", tn_model_name(w->model), p->layers,
           p->first[p->layers], w->asked->weights);
    if (w->outcome.solution.best.met) {
        TN_TRY(print_layers(w));
        print_whole(w);
        print_warnings(w);
        print_misfits(w);
        tn_say("\n");
    }
    TN_TRY(tn_ranks_print_methods(p, &w->goal, &w->outcome.solution, w->error));
    if (w->accuracy)
        tn_say("\nRanks are chosen by measured accuracy; that losses of layers add up is an assumption.\n");
    tn_say("\n%s\n", tn_ranks_caution);
    if (w->asked->output) tn_say("\nwritten to %s\n", w->asked->output);
    return TN_OK;
}
