#include "plot/sweep_front.h"

#include "explore/comparison.h"
#include "explore/evaluator.h"
#include "explore/recommendation.h"
#include "explore/thin.h"
#include "hardware/memory.h"
#include "plot/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double bytes_per_MiB = 1048576.0;

typedef struct {
    const tn_result *result;
    tn_arena *arena;
    const char *quality; /* name of the quantity */
    tn_buffer *data, *definition;
} figure;

static double value_of(const tn_result_row *row, const char *quantity) {
    for (size_t i = 0; i < tn_quantities_count; i++)
        if (strcmp(tn_quantities[i].name, quantity) == 0) return row->value[i];
    return NAN;
}

/* What the model can learn: its measured error where the sweep strives for it, else degrees of freedom. */
static const char *quality_of(const tn_space *space) {
    for (size_t i = 0; i < space->objectives; i++)
        if (strcmp(space->objective[i]->name, "relative_error") == 0) return "relative_error";
    return "degrees_of_freedom";
}

static double rank_of(const tn_space *space, uint64_t id) {
    size_t choice = tn_default_by(space);
    if (choice >= space->choices || !space->choice[choice].number) return 0;
    return (double)space->choice[choice].number[tn_space_digit(space, id, choice)];
}

static double greatest_rank(const tn_space *space) {
    size_t choice = tn_default_by(space);
    double most = 1;
    if (choice >= space->choices || !space->choice[choice].number) return most;
    for (size_t i = 0; i < space->choice[choice].count; i++)
        most = fmax(most, (double)space->choice[choice].number[i]);
    return most;
}

static void put_design(const figure *of, const tn_result_row *row) {
    tn_buffer_format(of->data, "%.9g %.9g %.9g %.9g %.9g\n", value_of(row, "on_chip_bytes") / bytes_per_MiB,
                     value_of(row, "dsp"), value_of(row, of->quality),
                     1e3 * value_of(row, "seconds_per_step"), rank_of(of->result->space, row->id));
}

static tn_status put_thinned(const figure *of, double epsilon, size_t *shown, tn_error *error) {
    const tn_result *result = of->result;
    const tn_space *space = result->space;
    size_t count = result->front_count;
    tn_point *point;
    bool *kept;
    TN_TRY(tn_arena_alloc(of->arena, count, sizeof *point, &point, error));
    TN_TRY(tn_arena_alloc(of->arena, count, sizeof *kept, &kept, error));
    for (size_t i = 0; i < count; i++) {
        point[i].id = result->front[i].id;
        for (size_t j = 0; j < space->objectives; j++) {
            double value = result->front[i].value[space->objective[j] - tn_quantities];
            point[i].value[j] = space->objective[j]->maximise ? -value : value;
        }
        kept[i] = point[i].id == result->recommended[0].id;
    }
    TN_TRY(tn_thin(point, count, space->objectives, epsilon, kept, shown, error));
    for (size_t i = 0; i < count; i++)
        if (kept[i]) put_design(of, &result->front[i]);
    return TN_OK;
}

/* The model with its own formats, ranks, flow and build. */
static tn_status put_given(const figure *of, tn_error *error) {
    const tn_space *space = tn_space_of(of->result->space, of->result->recommended[0].id);
    tn_program_cache *cache;
    tn_step step;
    tn_workload *workload;
    tn_build build;
    tn_price price;
    uint64_t degrees = 0;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_step_build(space->model, cache, of->arena, &step, error);
    if (status == TN_OK) status = tn_varied_degrees_of_freedom(space, &step, &degrees, error);
    if (status == TN_OK) status = tn_build_decode(tn_model_build(space->model), of->arena, &build, error);
    if (status == TN_OK) status = tn_workload_prepare(&step, space->device, of->arena, &workload, error);
    if (status == TN_OK) status = tn_price_step(workload, &build, &price, error);
    if (status == TN_OK) {
        double quality = strcmp(of->quality, "degrees_of_freedom") == 0 ? (double)degrees : NAN;
        tn_buffer_format(of->data, "%.9g %.9g %.9g %.9g\n", (double)price.on_chip_bytes / bytes_per_MiB,
                         (double)price.used.dsp, quality, 1e3 * price.seconds_per_step);
    }
    tn_program_cache_free(cache);
    return status;
}

static tn_status define_gpu(const figure *of, const tn_roofline *gpu, tn_error *error) {
    char text[96];
    tn_comparison_row row = {0};
    if (gpu) {
        const char *model;
        TN_TRY(tn_arena_format(of->arena, &model, error, "%s/model.yaml", of->result->folder));
        TN_TRY(tn_compare_gpu(model, NULL, 0, gpu, false, of->arena, &row, error));
        snprintf(text, sizeof text, "%.60s, tensor step as launched", gpu->name);
        tn_define_text(of->definition, "gpu_label", text);
    }
    tn_define_real(of->definition, "gpu_ms", 1e3 * row.seconds_per_step);
    tn_define_real(of->definition, "gpu_least_ms", 1e3 * row.seconds.least);
    tn_define_real(of->definition, "gpu_most_ms", 1e3 * row.seconds.most);
    tn_define_real(of->definition, "gpu_kernels_ms", 1e3 * row.kernels_seconds);
    return TN_OK;
}

static void define(const figure *of, size_t shown) {
    const tn_space *space = of->result->space;
    const tn_resources has =
        tn_space_of(space, of->result->recommended[0].id)->budget; /* what the caps leave of the device */
    double capacity_bits =
        (double)has.bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS + (double)has.uram * TN_MEMORY_CAPACITY_URAM_BITS;
    bool positive = true;
    for (size_t i = 0; i < of->result->front_count; i++)
        positive &= value_of(&of->result->front[i], of->quality) > 0;
    size_t choice = tn_default_by(space);
    tn_define_real(of->definition, "budget_MiB", capacity_bits / (8 * bytes_per_MiB));
    tn_define_real(of->definition, "budget_dsp", (double)has.dsp);
    tn_define_text(of->definition, "rank_label",
                   choice < space->choices ? space->choice[choice].key : "rank");
    tn_define_real(of->definition, "rank_most", greatest_rank(space));
    tn_define_real(of->definition, "rank_step", ceil(greatest_rank(space) / 4));
    tn_define_text(of->definition, "quality_label",
                   strcmp(of->quality, "relative_error") == 0 ? "relative error of the weights"
                                                              : "degrees of freedom of the varied weights");
    tn_define_real(of->definition, "quality_log", positive);
    tn_define_text(of->definition, "shown_label",
                   shown < of->result->front_count ? "designs of the front, thinned"
                                                   : "designs of the front");
    tn_define_text(of->definition, "given_label", "the model as its file has it");
}

tn_status tn_sweep_front(const tn_result *result, const tn_roofline *gpu, double epsilon, tn_arena *arena,
                         tn_buffer *data, tn_buffer *definition, size_t *shown, tn_error *error) {
    const figure of = {result, arena, quality_of(result->space), data, definition};
    TN_TRY(put_thinned(&of, epsilon, shown, error));
    tn_buffer_text(data, "\n\n");
    for (size_t i = 1; i < result->recommended_count; i++) put_design(&of, &result->recommended[i]);
    if (result->recommended_count == 1) put_design(&of, &result->recommended[0]);
    tn_buffer_text(data, "\n\n");
    put_design(&of, &result->recommended[0]);
    tn_buffer_text(data, "\n\n");
    TN_TRY(put_given(&of, error));
    define(&of, *shown);
    return define_gpu(&of, gpu, error);
}
