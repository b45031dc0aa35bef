#include "ranks/layer_options.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "decompose/dense.h"
#include "decompose/ttsvd.h"
#include "tensor/folding.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE_SIDE = 2048, WIDE_WIDTH = 256, SIDE_BY_SIDE = 1 << 24 /* elements of the largest layer */ };

/* --- foldings --- */

static bool same_folding(const tn_weight *a, const tn_weight *b) {
    return a->format == b->format && a->d == b->d && memcmp(a->m, b->m, a->d * sizeof *a->m) == 0 &&
           memcmp(a->n, b->n, a->d * sizeof *a->n) == 0;
}

/* In every format that is asked for, or in that of the first one. */
static tn_status add_folding(tn_layer_options *options, const tn_weight *folding,
                             const tn_layer_option_rule *rule, tn_error *error) {
    size_t formats = rule->formats ? rule->formats : 1;
    for (size_t f = 0; f < formats; f++) {
        tn_weight added = *folding;
        bool known = false;
        added.format = rule->formats ? rule->format[f] : options->folding[0].format;
        for (size_t i = 0; i < options->foldings; i++)
            known = known || same_folding(&options->folding[i], &added);
        if (known) continue;
        if (options->foldings == TN_FOLDINGS_MOST)
            return tn_fail(error, TN_LIMIT, "more than %d foldings and formats for layer %s; try fewer",
                           TN_FOLDINGS_MOST, options->name);
        options->folding[options->foldings++] = added;
    }
    return TN_OK;
}

/* The factors of least sum, rising; false where there are none but 1. */
static tn_status balanced(uint64_t size, uint32_t d, tn_arena *arena, uint64_t *factor, bool *found,
                          tn_error *error) {
    tn_foldings all;
    uint64_t least = UINT64_MAX;
    TN_TRY(tn_foldings_all(size, d, 2, size, arena, &all, error));
    for (size_t i = 0; i < all.count; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < d; k++) sum += all.item[i].factor[k];
        if (sum >= least) continue;
        least = sum;
        memcpy(factor, all.item[i].factor, d * sizeof *factor);
    }
    *found = all.count > 0;
    if (*found) qsort(factor, d, sizeof *factor, tn_count_order);
    return TN_OK;
}

/* As published trains have it: the largest factors outside, 12x8x8 by 8x8x12. */
static tn_status add_balanced(tn_layer_options *options, uint64_t depth, const tn_layer_option_rule *rule,
                              tn_arena *arena, tn_error *error) {
    tn_weight folding = {.d = (uint32_t)depth};
    bool rows, columns;
    TN_TRY(balanced(options->rows, folding.d, arena, folding.m, &rows, error));
    TN_TRY(balanced(options->columns, folding.d, arena, folding.n, &columns, error));
    if (!rows || !columns) return TN_OK;
    for (uint32_t k = 0; k < folding.d / 2; k++) {
        uint64_t swap = folding.m[k];
        folding.m[k] = folding.m[folding.d - 1 - k];
        folding.m[folding.d - 1 - k] = swap;
    }
    return add_folding(options, &folding, rule, error);
}

/* A table has its own format whatever is asked for: few formats can be looked up. */
static tn_status find_foldings(tn_layer_options *options, const tn_weight *own, bool is_table,
                               const tn_layer_option_rule *rule, tn_arena *arena, tn_error *error) {
    options->folding[0] = *own;
    if (rule->formats && !is_table) options->folding[0].format = rule->format[0];
    options->foldings = 1;
    TN_TRY(add_folding(options, own, rule, error));
    for (size_t i = 0; i < rule->depths; i++)
        TN_TRY(add_balanced(options, rule->depth[i], rule, arena, error));
    for (size_t i = 0; i < rule->foldings; i++) {
        uint64_t rows, columns;
        TN_TRY(tn_weight_rows(&rule->folding[i], &rows, error));
        TN_TRY(tn_weight_columns(&rule->folding[i], &columns, error));
        if (rows == options->rows && columns == options->columns)
            TN_TRY(add_folding(options, &rule->folding[i], rule, error));
    }
    return TN_OK;
}

static tn_status add_low_rank(tn_layer_options *options, tn_error *error) {
    static const tn_format train = TN_TT;
    static const tn_layer_option_rule one = {.formats = 1, .format = &train};
    const tn_weight factors = {.d = 1, .m = {options->rows}, .n = {options->columns}};
    return add_folding(options, &factors, &one, error);
}

static tn_status add_dense(tn_layer_options *options, tn_error *error) {
    if (options->foldings == TN_FOLDINGS_MOST)
        return tn_fail(error, TN_LIMIT, "more than %d foldings and formats for layer %s; try fewer",
                       TN_FOLDINGS_MOST, options->name);
    options->folding[options->foldings++] =
        (tn_weight){.format = TN_DENSE, .d = 1, .m = {options->rows}, .n = {options->columns}};
    return TN_OK;
}

/* --- one layer --- */

static uint64_t width_of(const tn_layer_options *options, const tn_layer_option_rule *rule) {
    uint64_t side = options->rows < options->columns ? options->rows : options->columns, most = 1;
    for (size_t i = 0; i < rule->caps; i++)
        if (rule->cap[i] > most) most = rule->cap[i];
    if (rule->tolerances == 0) return most;
    uint64_t needed = side > WIDE_SIDE ? WIDE_WIDTH : side;
    return needed > most ? needed : most;
}

/* The layer's second moments: an array of its name, or the only one of the file; N x N or N. */
static tn_status read_moments(const tn_trained *trained, const tn_layer_options *options,
                              tn_covariance *covariance, double **values, tn_error *error) {
    size_t position = 0;
    if (tn_arrays_count(trained->moments) != 1)
        TN_TRY(tn_arrays_find(trained->moments, options->name, &position, error));
    const tn_array_info *info = tn_arrays_info(trained->moments, position);
    bool diagonal = info->axes == 1, square = info->axes == 2 && info->shape[0] == info->shape[1];
    if ((!diagonal && !square) || info->shape[0] != options->columns)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = trained->moments_path},
                          "\"%.100s\" does not hold second moments of the %" PRIu64
                          " inputs of layer %.100s; an array of %" PRIu64 " x %" PRIu64
                          ", or its diagonal, is needed",
                          info->name, options->columns, options->name, options->columns, options->columns);
    TN_TRY(TN_ALLOC(info->elements, values, error));
    *covariance = (tn_covariance){.inputs = options->columns, .diagonal = diagonal};
    return tn_arrays_read(trained->moments, position, *values, error);
}

/* Reads the matrix in its own order, and its moments. One thread at a time: files have one place to read at.
 */
static tn_status read_layer(const tn_trained *trained, const tn_layer_options *options, double **w,
                            tn_covariance *covariance, double **moments, tn_error *error) {
    tn_arena arena = {0};
    tn_matrix_source source;
    tn_weight order = options->folding[0];
    if (order.format == TN_TTM) order.format = TN_TT; /* the order of the matrix */
    tn_status status =
        tn_checkpoint_find(&trained->checkpoint, options->name, trained->weights, &arena, &source, error);
    if (status == TN_OK) status = TN_ALLOC(options->rows * options->columns, w, error);
    if (status == TN_OK)
        status = tn_matrix_read(trained->weights, trained->weights_path, &source, &order, *w, error);
    if (status == TN_OK && trained->moments)
        status = read_moments(trained, options, covariance, moments, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status open_layer(const tn_trained *trained, const tn_layer_option_rule *rule,
                            const tn_layer_options *options, tn_layer_weight *layer, tn_error *error) {
    double *w = NULL, *moments = NULL;
    tn_covariance covariance = {0};
    tn_status status;
    *layer = (tn_layer_weight){0};
#pragma omp critical(tn_read_layer)
    status = read_layer(trained, options, &w, &covariance, &moments, error);
    if (status != TN_OK) {
        tn_free(w);
        tn_free(moments);
        return status;
    }
    const char *file = moments ? trained->moments_path : trained->weights_path;
    status =
        tn_layer_weight_open(w, options->rows, options->columns, covariance, moments, width_of(options, rule),
                             rule->method, rule->seed, options->name, layer, error);
    return tn_fail_placed(error, status, (tn_position){.file = file});
}

static uint64_t greatest(const tn_weight *weight) {
    uint64_t most = 0;
    for (uint32_t k = 0; k < weight->rank_count; k++)
        if (weight->rank[k] > most) most = weight->rank[k];
    return most;
}

static tn_status evaluate(tn_layer_weight *layer, tn_layer_options *options, double layer_error,
                          tn_layer_option *candidate, tn_error *error) {
    tn_factored f;
    if (candidate->weight.format == TN_DENSE)
        return tn_weight_parameters(&candidate->weight, &candidate->parameters, error);
    TN_TRY(tn_layer_weight_factor(layer, &candidate->weight, candidate->tolerance < 0, candidate->tolerance,
                                  &candidate->usable, &f, error));
    if (!candidate->usable) return TN_OK;
    candidate->weight = f.weight;
    if (candidate->tolerance >= 0) candidate->cap = greatest(&f.weight);
    options->randomised |= f.randomised;
    options->excess = fmax(options->excess, f.squared_excess);
    tn_status status = tn_weight_parameters(&f.weight, &candidate->parameters, error);
    if (status == TN_OK) status = tn_layer_weight_error(layer, &f, &candidate->squared_error, error);
    if (status == TN_OK && layer_error > 0)
        candidate->usable = candidate->squared_error <= layer_error * layer_error * layer->squared_norm;
    tn_factored_free(&f);
    return status;
}

static tn_status evaluate_layer(const tn_trained *trained, const tn_layer_option_rule *rule,
                                tn_layer_options *options, tn_error *error) {
    tn_layer_weight layer;
    TN_TRY(open_layer(trained, rule, options, &layer, error));
    options->squared_norm = layer.squared_norm;
    if (rule->dense) layer.most_parameters = options->rows * options->columns;
    tn_status status = TN_OK;
    for (size_t i = 0; i < options->count && status == TN_OK; i++) {
        if (tn_interrupted()) status = tn_fail(error, TN_INTERRUPTED, "stopped");
        if (status == TN_OK) status = evaluate(&layer, options, rule->layer_error, &options->item[i], error);
    }
    tn_layer_weight_close(&layer);
    bool any = false;
    for (size_t i = 0; i < options->count; i++) any |= options->item[i].usable;
    if (status == TN_OK && !any)
        status = tn_fail(
            error, TN_INPUT,
            "no candidate of layer %s has a relative error of at most %g; allow more, or greater ranks",
            options->name, rule->layer_error);
    return status;
}

/* --- all layers --- */

static bool is_kept(const tn_layer_option_rule *rule, const char *name) {
    for (size_t i = 0; i < rule->kept; i++)
        if (fnmatch(rule->keep[i], name, 0) == 0) return true;
    return false;
}

/* The candidates that are not dense go. */
static void keep_dense(tn_layer_options *options) {
    size_t count = 0;
    for (size_t i = 0; i < options->count; i++)
        if (options->item[i].weight.format == TN_DENSE) options->item[count++] = options->item[i];
    options->count = count;
}

/* Each pattern names a layer, and dense is there to keep them by. */
static tn_status check_kept(const tn_layer_option_rule *rule, const tn_layer_options *options, size_t count,
                            tn_error *error) {
    for (size_t i = 0; i < rule->kept; i++) {
        const char *names[512];
        size_t named = count < 512 ? count : 512;
        bool found = false;
        for (size_t l = 0; l < count; l++) found |= fnmatch(rule->keep[i], options[l].name, 0) == 0;
        if (!rule->dense)
            return tn_fail(error, TN_INPUT, "--keep goes with truncation errors; leave --accuracy out");
        if (found) continue;
        for (size_t l = 0; l < named; l++) names[l] = options[l].name;
        char told[128];
        return tn_fail(error, TN_INPUT, "--keep '%.100s' names no layer with a weight in a tensor format; %s",
                       rule->keep[i], tn_suggestion(rule->keep[i], names, named, told, sizeof told));
    }
    return TN_OK;
}

/* The least that any choice takes, of candidates that are not led by a tolerance: said before the work. */
static tn_status check_least(const tn_layer_option_rule *rule, const tn_layer_options *options, size_t count,
                             tn_error *error) {
    double least = 0;
    if (rule->most_parameters <= 0 || rule->caps == 0) return TN_OK;
    for (size_t l = 0; l < count; l++) {
        uint64_t fewest = UINT64_MAX;
        for (size_t i = 0; i < options[l].count; i++) {
            uint64_t parameters;
            if (options[l].item[i].tolerance >= 0) continue;
            TN_TRY(tn_weight_parameters(&options[l].item[i].weight, &parameters, error));
            if (parameters < fewest) fewest = parameters;
        }
        least += (double)fewest;
    }
    if (least <= rule->most_parameters) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "the budget leaves %.10g parameters for the matrices, the least that any choice takes is %.10g; give "
        "more, try smaller ranks (--cap), more factors (--depth), or keep fewer layers",
        floor(rule->most_parameters), least);
}

/* A cap whose useful ranks are those of the cap before it would only repeat it. */
static tn_status list_caps(tn_layer_options *options, uint32_t folding, const tn_layer_option_rule *rule,
                           tn_error *error) {
    uint64_t useful[TN_RANKS_MOST], before[TN_RANKS_MOST] = {0};
    for (size_t i = 0; i < rule->caps; i++) {
        tn_weight weight = options->folding[folding];
        TN_TRY(tn_weight_set_rank(&weight, rule->cap[i], error));
        TN_TRY(tn_weight_useful_ranks(&weight, useful, error));
        if (i > 0 && memcmp(useful, before, weight.rank_count * sizeof *useful) == 0) continue;
        memcpy(before, useful, sizeof before);
        memcpy(weight.rank, useful, weight.rank_count * sizeof *useful);
        options->item[options->count++] =
            (tn_layer_option){.weight = weight, .cap = rule->cap[i], .tolerance = -1, .folding = folding};
    }
    return TN_OK;
}

/* The model's own ranks, where no cap gives the same. */
static void list_own(tn_layer_options *options) {
    const tn_weight *own = &options->folding[0];
    uint64_t greatest = 0;
    for (uint32_t i = 0; i < own->rank_count; i++)
        if (own->rank[i] > greatest) greatest = own->rank[i];
    for (size_t i = 0; i < options->count; i++)
        if (options->item[i].folding == 0 && tn_weight_equal(&options->item[i].weight, own)) return;
    options->item[options->count++] = (tn_layer_option){.weight = *own, .cap = greatest, .tolerance = -1};
}

static tn_status list_candidates(tn_layer_options *options, const tn_layer_option_rule *rule, tn_arena *arena,
                                 tn_error *error) {
    TN_TRY(TN_NEW(arena, options->foldings * (rule->caps + rule->tolerances) + 2, &options->item, error));
    for (uint32_t f = 0; f < options->foldings; f++) {
        if (options->folding[f].format == TN_DENSE) {
            options->item[options->count++] = (tn_layer_option){
                .weight = options->folding[f], .tolerance = -1, .folding = f, .usable = true};
            continue;
        }
        TN_TRY(list_caps(options, f, rule, error));
        for (size_t i = 0; i < rule->tolerances; i++)
            options->item[options->count++] = (tn_layer_option){
                .weight = options->folding[f], .tolerance = rule->tolerance[i], .folding = f};
    }
    if (rule->own_ranks && !rule->formats) list_own(options);
    return TN_OK;
}

static tn_status list_layers(const tn_model *model, const tn_layer_option_rule *rule, tn_arena *arena,
                             tn_layer_options **list, size_t *count, tn_error *error) {
    tn_layer_options *options;
    TN_TRY(TN_NEW(arena, tn_model_layers(model), &options, error));
    *count = 0;
    for (size_t i = 0; i < tn_model_layers(model); i++) {
        tn_model_layer layer = tn_model_layer_at(model, i);
        if (!layer.weight || layer.weight->weight.format == TN_DENSE) continue;
        options[*count] =
            (tn_layer_options){.layer = i, .name = layer.name, .rows = layer.rows, .columns = layer.columns};
        TN_TRY(find_foldings(&options[*count], &layer.weight->weight, layer.looked_up, rule, arena, error));
        if (rule->low_rank && !layer.looked_up) TN_TRY(add_low_rank(&options[*count], error));
        if (rule->dense) TN_TRY(add_dense(&options[*count], error));
        TN_TRY(list_candidates(&options[*count], rule, arena, error));
        if (is_kept(rule, layer.name)) keep_dense(&options[*count]);
        ++*count;
    }
    *list = options;
    if (*count == 0)
        return tn_fail(error, TN_INPUT,
                       "no layer of the model has a weight in a tensor format; name one in `weights`");
    return TN_OK;
}

/* Every matrix and its moments are there under their names: said before hours of work, not after. */
static tn_status check_sources(const tn_trained *trained, const tn_layer_options *options, size_t count,
                               tn_error *error) {
    tn_arena arena = {0};
    tn_matrix_source source;
    size_t position;
    tn_status status = TN_OK;
    for (size_t i = 0; i < count && status == TN_OK; i++) {
        status = tn_checkpoint_find(&trained->checkpoint, options[i].name, trained->weights, &arena, &source,
                                    error);
        if (status == TN_OK && trained->moments && tn_arrays_count(trained->moments) != 1)
            status = tn_arrays_find(trained->moments, options[i].name, &position, error);
    }
    tn_arena_free(&arena);
    return status;
}

/* Errors of layers side by side: the first layer's counts, whatever order they ended in. */
typedef struct {
    tn_status *status;
    tn_error *error;
} outcomes;

static tn_status run_all(const tn_trained *trained, const tn_layer_option_rule *rule,
                         const tn_progress *progress, tn_layer_options *options, size_t count,
                         const outcomes *out) {
    uint64_t largest = 0, done = 0;
    for (size_t i = 0; i < count; i++)
        if (options[i].rows * options[i].columns > largest) largest = options[i].rows * options[i].columns;
#pragma omp parallel for schedule(dynamic, 1) if (largest <= SIDE_BY_SIDE)
    for (size_t i = 0; i < count; i++) {
        out->status[i] = evaluate_layer(trained, rule, &options[i], &out->error[i]);
#pragma omp critical(tn_layer_options_progress)
        tn_progress_report(progress, ++done, count);
    }
    for (size_t i = 0; i < count; i++)
        if (out->status[i] != TN_OK) return out->status[i];
    return TN_OK;
}

tn_status tn_layer_options_find(const tn_model *model, const tn_trained *trained,
                                const tn_layer_option_rule *rule, const tn_progress *progress,
                                tn_arena *arena, tn_layer_options **candidates, size_t *count,
                                tn_error *error) {
    outcomes out;
    TN_TRY(list_layers(model, rule, arena, candidates, count, error));
    TN_TRY(check_kept(rule, *candidates, *count, error));
    TN_TRY(check_least(rule, *candidates, *count, error));
    TN_TRY(check_sources(trained, *candidates, *count, error));
    TN_TRY(TN_NEW(arena, *count, &out.status, error));
    TN_TRY(TN_NEW(arena, *count, &out.error, error));
    tn_status status = run_all(trained, rule, progress, *candidates, *count, &out);
    for (size_t i = 0; i < *count && status != TN_OK; i++) {
        if (out.status[i] == TN_OK) continue;
        if (error) *error = out.error[i];
        break;
    }
    return status;
}

/* One core: the matrix. */
static tn_status factor_dense(const tn_trained *trained, const tn_layer_options *options,
                              const tn_layer_option *candidate, tn_factored *factored, tn_error *error) {
    tn_covariance covariance;
    double *w = NULL;
    tn_trained plain = *trained;
    plain.moments = NULL;
    tn_status status = read_layer(&plain, options, &w, &covariance, NULL, error);
    if (status != TN_OK) {
        tn_free(w);
        return status;
    }
    *factored = (tn_factored){.weight = candidate->weight,
                              .cores = 1,
                              .core = {w},
                              .squared_norm = tn_sum_of_squares(w, options->rows * options->columns)};
    return TN_OK;
}

tn_status tn_layer_option_factor(const tn_trained *trained, const tn_layer_option_rule *rule,
                                 const tn_layer_options *options, const tn_layer_option *candidate,
                                 tn_factored *factored, tn_error *error) {
    tn_layer_weight layer;
    tn_weight weight = options->folding[candidate->folding];
    bool met = true, capped = candidate->tolerance < 0;
    if (weight.format == TN_DENSE) return factor_dense(trained, options, candidate, factored, error);
    if (capped) TN_TRY(tn_weight_set_rank(&weight, candidate->cap, error));
    TN_TRY(open_layer(trained, rule, options, &layer, error));
    tn_status status =
        tn_layer_weight_factor(&layer, &weight, capped, candidate->tolerance, &met, factored, error);
    tn_layer_weight_close(&layer);
    return status;
}

tn_status tn_layer_option_spectrum(const tn_trained *trained, const tn_layer_options *options,
                                   const tn_weight *folding, double **value, uint64_t *count, size_t *bonds,
                                   tn_error *error) {
    double *w = NULL, *moments = NULL, *folded = NULL;
    uint64_t mode[TN_TRAIN_MODES];
    tn_covariance covariance;
    tn_trained plain = *trained;
    size_t modes = tn_fold_modes(folding, mode);
    plain.moments = NULL;
    *bonds = 0;
    tn_status status = read_layer(&plain, options, &w, &covariance, &moments, error);
    if (status == TN_OK) status = TN_ALLOC(options->rows * options->columns, &folded, error);
    if (status == TN_OK) status = tn_fold(folding, w, folded, error);
    while (status == TN_OK && *bonds + 1 < modes) {
        status = tn_unfolding_values(folded, mode, modes, *bonds + 1, &value[*bonds], &count[*bonds], error);
        *bonds += status == TN_OK;
    }
    tn_free(w);
    tn_free(folded);
    return status;
}
