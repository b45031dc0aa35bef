#include "plot/sweep_figures.h"

#include "base/c_locale.h"
#include "base/file.h"
#include "design/design.h"
#include "device/block.h"
#include "front/knee.h"
#include "plot/design_figures.h"
#include "plot/gnuplot.h"
#include "plot/scatter.h"
#include "results/claims.h"
#include "results/comparison.h"
#include "results/goal.h"
#include "results/recommendation.h"
#include "search/evaluator.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define bytes_in_MiB 1048576.0
static const double bytes_per_MiB = bytes_in_MiB;

/* What the third panel shows: the first of these that the sweep strives for, else degrees of freedom. */
typedef struct {
    const char *name, *label;
    double scale;
} panel;
static const panel qualities[] = {
    {"accuracy", "accuracy, %", 100},
    {"perplexity", "perplexity", 1},
    {"relative_error", "error of the weights, %", 100},
    {"degrees_of_freedom", "degrees of freedom of the varied weights", 1},
};
enum { QUALITIES = sizeof qualities / sizeof *qualities };

static const panel *quality_of(const tn_space *space) {
    for (size_t q = 0; q + 1 < QUALITIES; q++)
        for (size_t i = 0; i < space->objectives; i++)
            if (strcmp(space->objective[i]->name, qualities[q].name) == 0) return &qualities[q];
    return &qualities[QUALITIES - 1];
}

typedef struct {
    const tn_result *result;
    tn_arena *arena;
    const panel *quality; /* the third */
    tn_buffer *data, *definition;
} front_figure;

static double rank_of(const tn_space *space, uint64_t id) {
    size_t choice = tn_default_by(space);
    if (choice >= space->choices.count || !space->choices.axis[choice].number) return 0;
    return (double)space->choices.axis[choice].number[tn_choices_digit(&space->choices, id, choice)];
}

static double greatest_rank(const tn_space *space) {
    size_t choice = tn_default_by(space);
    double most = 1;
    if (choice >= space->choices.count || !space->choices.axis[choice].number) return most;
    for (size_t i = 0; i < space->choices.axis[choice].count; i++)
        most = fmax(most, (double)space->choices.axis[choice].number[i]);
    return most;
}

static void put_point(const front_figure *plot, double on_chip_bytes, double dsp, double quality,
                      double seconds) {
    tn_buffer_format(plot->data, "%.9g %.9g %.9g %.9g", on_chip_bytes / bytes_per_MiB, dsp,
                     plot->quality->scale * quality, 1e3 * seconds);
}

static void put_design(const front_figure *plot, const tn_result_row *row) {
    put_point(plot, tn_result_value(row, "on_chip_bytes"), tn_result_value(row, "dsp"),
              tn_result_value(row, plot->quality->name), tn_result_value(row, "seconds_per_step"));
    tn_buffer_format(plot->data, " %.9g\n", rank_of(plot->result->space, row->id));
}

static tn_status put_thinned(const front_figure *plot, double epsilon, size_t *shown, tn_error *error) {
    const tn_result *result = plot->result;
    const tn_space *space = result->space;
    size_t count = result->front_count;
    tn_point *point;
    bool *kept;
    TN_TRY(tn_result_points(result, plot->arena, &point, error));
    TN_TRY(TN_NEW(plot->arena, count, &kept, error));
    for (size_t i = 0; i < count; i++) kept[i] = point[i].id == result->recommended[0].id;
    TN_TRY(tn_thin(point, count, space->objectives, epsilon, kept, shown, error));
    for (size_t i = 0; i < count; i++)
        if (kept[i]) put_design(plot, &result->front[i]);
    return TN_OK;
}

/* Of each panel the line of what the whole front attains in its two axes. */
static tn_status put_attained(const front_figure *plot, tn_error *error) {
    static const double bytes = 1 / bytes_in_MiB;
    const struct {
        const char *name;
        double scale;
    } across[] = {{"on_chip_bytes", bytes}, {"dsp", 1}, {plot->quality->name, plot->quality->scale}};
    const tn_result *result = plot->result;
    double(*point)[2];
    TN_TRY(TN_NEW(plot->arena, result->front_count, &point, error));
    for (int a = 0; a < 3; a++) {
        size_t known = 0;
        for (size_t i = 0; i < result->front_count; i++) {
            double x = tn_result_value(&result->front[i], across[a].name);
            if (isnan(x)) continue;
            point[known][0] = across[a].scale * x;
            point[known++][1] = 1e3 * tn_result_value(&result->front[i], "seconds_per_step");
        }
        tn_buffer_text(plot->data, "\n\n");
        tn_attained_put(point, known,
                        a == 2 && plot->quality == &qualities[1] ? -1
                        : a == 2                                 ? 1
                                                                 : -1,
                        -1, plot->data);
    }
    return TN_OK;
}

/* The model with its own formats, ranks, flow and build. */
static tn_status put_given(const front_figure *plot, tn_error *error) {
    const tn_space *space = tn_space_of(plot->result->space, plot->result->recommended[0].id);
    tn_design design = {.model = space->model, .device = space->device};
    tn_program_cache *cache;
    tn_priced found;
    uint64_t degrees = 0;
    TN_TRY(tn_build_decode(tn_model_build(space->model), plot->arena, &design.build, error));
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_design_price(&design, NULL, cache, plot->arena, &found, error);
    if (status == TN_OK) status = tn_varied_degrees_of_freedom(space, found.step, &degrees, error);
    if (status == TN_OK) {
        bool counted = strcmp(plot->quality->name, "degrees_of_freedom") == 0;
        put_point(plot, (double)found.price.on_chip_bytes, (double)found.price.used.dsp,
                  counted ? (double)degrees : NAN, found.price.seconds_per_step);
        tn_buffer_text(plot->data, "\n");
    }
    tn_program_cache_free(cache);
    return status;
}

/* Lines at what is published of a design itself; 0: nothing is. */
static void define_published(const front_figure *plot, const tn_claimed_design *design) {
    bool known = design && plot->quality == &qualities[0];
    tn_define_real(plot->definition, "published_MiB", design ? design->on_chip_bytes / bytes_per_MiB : 0);
    tn_define_real(plot->definition, "published_dsp", design ? design->dsp : 0);
    tn_define_real(plot->definition, "published_quality",
                   known ? plot->quality->scale * design->accuracy : 0);
    tn_define_real(plot->definition, "published_ms", design ? 1e3 * design->seconds_per_step : 0);
}

/* The designs of the publication that the space has, as they cost here; without any the model as given. */
static tn_status put_published(const front_figure *plot, const tn_claims *claims, tn_error *error) {
    const tn_space *space = plot->result->space;
    const tn_quantity *quality;
    const tn_claimed_design *last = NULL;
    tn_evaluator *evaluator;
    TN_TRY(tn_quantity_find(plot->quality->name, (tn_position){0}, &quality, error));
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = TN_OK;
    for (size_t i = 0; claims && status == TN_OK && i < claims->designs; i++) {
        tn_evaluation evaluation;
        bool found;
        status = tn_published_design(evaluator, space, &claims->design[i], &evaluation, &found, error);
        if (status != TN_OK || !found) continue;
        last = &claims->design[i];
        put_point(plot, (double)evaluation.price.on_chip_bytes, (double)evaluation.price.used.dsp,
                  quality->get(&evaluation), evaluation.price.seconds_per_step);
        tn_buffer_text(plot->data, "\n");
    }
    tn_evaluator_free(evaluator);
    TN_TRY(status);
    define_published(plot, last);
    tn_define_text(plot->definition, "given_label",
                   last ? "published design, priced here" : "the model as its file has it");
    return last ? TN_OK : put_given(plot, error);
}

static void define_gpu(const front_figure *plot, size_t number, const tn_comparison_row *row,
                       const char *model) {
    const struct {
        const char *name;
        double seconds;
    } line[] = {{"gpu_ms", row->seconds_per_step},
                {"gpu_least_ms", row->seconds.least},
                {"gpu_most_ms", row->seconds.most},
                {"gpu_kernels_ms", row->kernels_seconds}};
    char name[32];
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        snprintf(name, sizeof name, "%s_%zu", line[i].name, number);
        tn_define_real(plot->definition, name, 1e3 * line[i].seconds);
    }
    snprintf(name, sizeof name, "gpu_model_%zu", number);
    tn_define_text(plot->definition, name, model);
}

/* The tensor step of every model of the space. */
static tn_status define_gpus(const front_figure *plot, const tn_roofline *gpu, tn_error *error) {
    const tn_space *space = plot->result->space;
    char text[160];
    tn_define_real(plot->definition, "gpus", gpu ? (double)space->models : 0);
    if (!gpu) return TN_OK;
    for (size_t m = 0; m < space->models; m++) {
        const tn_compared_step step = {.model = tn_space_variant(space, m, 0)->model,
                                       .roofline = gpu,
                                       .kind = TN_SYSTEM_GPU,
                                       .way = TN_WAY_LAUNCHED};
        tn_comparison_row row;
        TN_TRY(tn_compare_step(&step, 0, plot->arena, &row, error));
        define_gpu(plot, m + 1, &row, space->models > 1 ? row.model : "");
    }
    snprintf(text, sizeof text, "on %.60s, as launched (band: its range)", gpu->name);
    tn_define_text(plot->definition, "gpu_label", text);
    return TN_OK;
}

/* What the caps leave of each device. */
static void define_budgets(const front_figure *plot) {
    const tn_space *space = plot->result->space;
    char name[32], label[96];
    tn_define_real(plot->definition, "budgets", (double)space->devices);
    for (size_t d = 0; d < space->devices; d++) {
        const tn_space *variant = tn_space_variant(space, 0, d);
        const tn_resources has = variant->budget;
        tn_snprintf(name, sizeof name, "budget_MiB_%zu", d + 1);
        tn_define_real(plot->definition, name, tn_resources_block_bytes(&has) / bytes_per_MiB);
        tn_snprintf(name, sizeof name, "budget_dsp_%zu", d + 1);
        tn_define_real(plot->definition, name, (double)has.dsp);
        if (space->devices > 1)
            tn_snprintf(label, sizeof label, "%.60s", tn_device_name(variant->device));
        else
            tn_snprintf(label, sizeof label, "budget");
        tn_snprintf(name, sizeof name, "budget_name_%zu", d + 1);
        tn_define_text(plot->definition, name, label);
    }
}

/* Of the axis of all panels; a power of 1,000. */
static tn_prefix latency_prefix(const front_figure *plot) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < plot->result->front_count; i++) {
        double seconds = tn_result_value(&plot->result->front[i], "seconds_per_step");
        least = fmin(least, seconds);
        most = fmax(most, seconds);
    }
    tn_prefix prefix = tn_prefix_between("s", least, most);
    return prefix.scale < 1 ? (tn_prefix){"s", 1} : prefix;
}

static void define(const front_figure *plot, size_t shown) {
    const tn_space *space = plot->result->space;
    bool positive = true;
    for (size_t i = 0; i < plot->result->front_count; i++)
        positive &= tn_result_value(&plot->result->front[i], plot->quality->name) > 0;
    size_t choice = tn_default_by(space);
    define_budgets(plot);
    tn_buffer title = {0};
    tn_word_put_title(choice < space->choices.count ? space->choices.axis[choice].key : "rank", &title);
    tn_define_text(plot->definition, "rank_label", title.data ? title.data : "");
    tn_buffer_free(&title);
    tn_prefix prefix = latency_prefix(plot);
    tn_define_text(plot->definition, "latency_unit", prefix.unit);
    tn_define_real(plot->definition, "latency_per", 1e-3 * prefix.scale);
    tn_define_real(plot->definition, "rank_most", greatest_rank(space));
    tn_define_real(plot->definition, "rank_step", ceil(greatest_rank(space) / 4));
    tn_define_text(plot->definition, "quality_label", plot->quality->label);
    tn_define_text(plot->definition, "quality_unit", plot->quality->scale == 100 ? " %" : "");
    const tn_accuracy_ends ends = tn_accuracy_table_ends(&space->accuracy_table);
    bool learned = strcmp(plot->quality->name, tn_accuracy_table_quantity(&space->accuracy_table)) == 0;
    tn_define_real(plot->definition, "quality_dense",
                   learned && !isnan(ends.dense) ? plot->quality->scale * ends.dense : 0);
    tn_define_real(plot->definition, "quality_constant",
                   learned && !isnan(ends.constant) ? plot->quality->scale * ends.constant : 0);
    tn_define_real(plot->definition, "quality_log", positive);
    tn_define_text(plot->definition, "shown_label",
                   shown < plot->result->front_count ? "designs of the front, thinned"
                                                     : "designs of the front");
}

tn_status tn_sweep_front(const tn_result *result, const tn_roofline *gpu, const tn_claims *claims,
                         double epsilon, const tn_result_row *design, bool advised, tn_arena *arena,
                         tn_buffer *data, tn_buffer *definition, size_t *shown, tn_error *error) {
    char label[32];
    const front_figure plot = {result, arena, quality_of(result->space), data, definition};
    TN_TRY(put_thinned(&plot, epsilon, shown, error));
    tn_buffer_text(data, "\n\n");
    for (size_t i = 0; i < result->recommended_count; i++) put_design(&plot, &result->recommended[i]);
    tn_buffer_text(data, "\n\n");
    put_design(&plot, design);
    tn_buffer_text(data, "\n\n");
    snprintf(label, sizeof label, "design %" PRIu64, design->id);
    tn_define_text(definition, "design_label", advised ? "recommended" : label);
    TN_TRY(put_published(&plot, claims, error));
    TN_TRY(put_attained(&plot, error));
    define(&plot, *shown);
    return define_gpus(&plot, gpu, error);
}

/* What every figure is drawn with. */
typedef struct {
    const tn_result *result;
    const tn_sweep_figure_options *options;
    tn_arena *arena;
    tn_result_row design;
    bool advised;       /* the design is the recommended one */
    const char *folder; /* that the figures go to */
    const char **path;
    size_t count;
    tn_buffer data, definition;
} drawing;

/* Draws the figure `name` from the data and definitions collected, and starts both anew. */
static tn_status draw(drawing *picture, const char *name, const char *heading, tn_error *error) {
    const char *path;
    TN_TRY(tn_arena_format(picture->arena, &path, error, "%s/%s", picture->folder, name));
    tn_define_text(&picture->definition, "heading", heading);
    const tn_figure figure = {.path = path,
                              .format = picture->options->format,
                              .style = picture->options->style,
                              .script = name,
                              .definition = &picture->definition,
                              .data = &picture->data};
    TN_TRY(tn_figure_draw(&figure, error));
    TN_TRY(tn_arena_format(picture->arena, &picture->path[picture->count++], error, "%s.%s", path,
                           tn_figure_format_name(picture->options->format)));
    tn_buffer_free(&picture->data);
    tn_buffer_free(&picture->definition);
    return TN_OK;
}

/* ---- the front ---- */

static tn_status draw_front(drawing *picture, tn_error *error) {
    const tn_result *result = picture->result;
    char text[256];
    const char *devices;
    char some[32], all[32];
    size_t shown;
    TN_TRY(tn_space_device_names(result->space, picture->arena, &devices, error));
    TN_TRY(tn_sweep_front(result, picture->options->gpu, picture->options->claims, picture->options->epsilon,
                          &picture->design, picture->advised, picture->arena, &picture->data,
                          &picture->definition, &shown, error));
    tn_define_real(&picture->definition, "size_x", 1250);
    tn_define_real(&picture->definition, "size_y", 560);
    int length = tn_snprintf(text, sizeof text, "%.60s on %.40s: ", result->space->name, devices);
    if (shown < result->front_count)
        tn_snprintf(text + length, sizeof text - (size_t)length,
                    "%s of the %s designs of the front; every other is within %g %% of one",
                    tn_count_text(shown, some), tn_count_text(result->front_count, all),
                    100 * picture->options->epsilon);
    else
        tn_snprintf(text + length, sizeof text - (size_t)length, "a front of %zu design%s", shown,
                    shown == 1 ? "" : "s");
    return draw(picture, "front", text, error);
}

/* ---- the design ---- */

static tn_status draw_design(drawing *picture, tn_evaluator *evaluator, tn_error *error) {
    tn_explanation why;
    char text[200];
    const tn_result *result = picture->result;
    uint64_t id = picture->design.id;
    TN_TRY(tn_evaluate_explain(evaluator, id, picture->arena, &why, error));
    const tn_step *step = tn_evaluator_step(evaluator);
    char time[48];
    tn_quantity_text(why.price.seconds_per_step, "s", time);
    TN_TRY(tn_memory_figure(&why, picture->arena, &picture->data, &picture->definition, error));
    tn_snprintf(text, sizeof text, "%s, design %" PRIu64 ": what its memories hold", result->space->name, id);
    TN_TRY(draw(picture, "memory", text, error));
    tn_energy_figure(&why, &picture->data, &picture->definition);
    tn_snprintf(text, sizeof text, "%s, design %" PRIu64 ": energy of a step of %s", result->space->name, id,
                time);
    TN_TRY(draw(picture, "energy", text, error));
    TN_TRY(tn_phases_figure(step, &why, picture->arena, &picture->data, &picture->definition, error));
    tn_snprintf(text, sizeof text, "%s, design %" PRIu64 ": where the %s of a step go", result->space->name,
                id, time);
    TN_TRY(draw(picture, "phases", text, error));
    tn_floor_figure(&why, &picture->data, &picture->definition);
    tn_snprintf(text, sizeof text, "%s, design %" PRIu64 ": from the device's floor to a step of %s",
                result->space->name, id, time);
    TN_TRY(draw(picture, "floor", text, error));
    return tn_timeline_figure(step, &why, picture->folder, picture->options->format, picture->options->style,
                              picture->arena, &picture->path[picture->count++], error);
}

/* ---- MACs
 * ----------------------------------------------------------------------------------------------------- */

/* MACs of a training step of the weight under a flow; dense stands for the uncompressed matrix. TN_INPUT
 * where the weight has no such flow. */
static tn_status flow_macs(const tn_weight *weight, tn_flow_name flow, uint64_t tokens, tn_arena *arena,
                           double *macs) {
    const tn_program_options options = {.training = true};
    tn_weight taken = *weight;
    tn_program program;
    if (flow == TN_FLOW_DENSE) {
        taken = (tn_weight){.format = TN_DENSE, .d = 1};
        TN_TRY(tn_weight_rows(weight, &taken.m[0], NULL));
        TN_TRY(tn_weight_columns(weight, &taken.n[0], NULL));
    }
    TN_TRY(tn_program_named(&taken, tokens, flow, &options, arena, &program, NULL));
    *macs = (double)tn_step_macs(program.macs);
    return TN_OK;
}

/* The bars of one weight, from *bar on: every tree, and the design's own flow where it is another. */
static tn_status put_weight(drawing *picture, const tn_model_weight *entry, uint64_t tokens, int *bar,
                            double *most, tn_error *error) {
    tn_arena arena = {0};
    tn_status status = TN_OK;
    for (int number = 0; number <= TN_FLOWS && status != TN_MEMORY; number++) {
        double macs;
        char label[48], name[64];
        int flow = number < TN_FLOWS ? number : (int)entry->flow;
        bool own = flow == (int)entry->flow;
        if (number == TN_FLOWS && flow < TN_FLOWS) continue;
        tn_arena_reset(&arena);
        status = flow_macs(&entry->weight, (tn_flow_name)flow, tokens, &arena, &macs);
        if (status != TN_OK) continue;
        tn_quantity_text(macs, "", label);
        tn_snprintf(name, sizeof name, "%s%s", tn_flow_names[flow], own ? " (this design)" : "");
        tn_buffer_format(&picture->data, "%d %.17g %d ", (*bar)++, macs, own);
        tn_figure_cell(&picture->data, label);
        tn_buffer_text(&picture->data, " ");
        tn_figure_cell(&picture->data, name);
        tn_buffer_text(&picture->data, "\n");
        *most = fmax(*most, macs);
    }
    tn_arena_free(&arena);
    return status == TN_MEMORY ? tn_fail(error, status, "no memory to compare flows") : TN_OK;
}

static void define_numbered(tn_buffer *definition, const char *name, int number, const char *text) {
    char numbered[32];
    tn_snprintf(numbered, sizeof numbered, "%s_%d", name, number);
    tn_define_text(definition, numbered, text);
}

/* Layers that multiply by the weight; one that looks rows up has no product with a flow. */
static int linear_layers(const tn_step *step, const char *weight) {
    int layers = 0;
    for (uint32_t i = 0; i < step->layers; i++) {
        const tn_step_layer *layer = &step->layer[i];
        bool uses = layer->weight_name && strcmp(layer->weight_name, weight) == 0;
        layers += uses && layer->family == TN_LAYER_LINEAR;
    }
    return layers;
}

static tn_status draw_macs(drawing *picture, tn_evaluator *evaluator, tn_error *error) {
    char text[160];
    double most = 0;
    int groups = 0, bar = 0;
    tn_model *model = tn_evaluator_model(evaluator);
    const tn_step *step = tn_evaluator_step(evaluator);
    for (size_t i = 0; i < tn_model_weights(model); i++) {
        const tn_model_weight *entry = tn_model_weight_at(model, i);
        int layers = linear_layers(step, entry->name), heading = bar - 1;
        if (layers == 0) continue;
        TN_TRY(put_weight(picture, entry, step->batch * step->sequence, &bar, &most, error));
        tn_snprintf(text, sizeof text, "%s (%d layer%s, %" PRIu64 " tokens)", entry->name, layers,
                    layers > 1 ? "s" : "", step->batch * step->sequence);
        define_numbered(&picture->definition, "group", ++groups, text);
        tn_snprintf(text, sizeof text, "place_%d", groups);
        tn_define_real(&picture->definition, text, heading);
        bar += 2; /* a gap, and the next one's heading */
    }
    if (groups == 0) return TN_OK;
    tn_define_real(&picture->definition, "bottom", bar - 2.2);
    tn_define_real(&picture->definition, "size_y", 170 + 34.0 * bar);
    tn_define_axis(&picture->definition, "x", "", 1, 0, most, false);
    tn_define_real(&picture->definition, "groups", groups);
    tn_define_real(&picture->definition, "most", most);
    tn_snprintf(text, sizeof text,
                "%s, design %" PRIu64 ": multiply-adds of a layer by the order of its products",
                picture->result->space->name, picture->design.id);
    return draw(picture, "macs", text, error);
}

/* ---- resources
 * ------------------------------------------------------------------------------------------------ */

static tn_status draw_resources(drawing *picture, tn_error *error) {
    const tn_result *result = picture->result;
    const tn_space *space = tn_space_of(result->space, picture->design.id);
    const tn_device *device = space->device;
    tn_resources has = tn_device_resources(device);
    const tn_resources *cap = &space->budget;
    const uint64_t available[TN_RESOURCES] = {has.lut, has.ff, has.dsp, has.bram18, has.uram};
    const uint64_t capped[TN_RESOURCES] = {cap->lut, cap->ff, cap->dsp, cap->bram18, cap->uram};
    char text[160];
    double most = 0;
    int rows = 0;
    for (int i = 0; i < TN_RESOURCES; i++) {
        double used = tn_result_value(&picture->design, tn_resource_names[i]);
        if (available[i] == 0 && used == 0) continue;
        double share = available[i] ? 100 * used / (double)available[i] : 1000;
        char need[48], have[48];
        tn_snprintf(text, sizeof text, "%s of %s (%.1f %%)", tn_plain_text(used, need),
                    tn_plain_text((double)available[i], have), share);
        const tn_word *word = tn_word_find(tn_resource_names[i]);
        tn_figure_cell(&picture->data, word ? word->title : tn_resource_names[i]);
        tn_buffer_format(&picture->data, " %.9g ", share);
        tn_figure_cell(&picture->data, text);
        tn_buffer_format(&picture->data, " %.9g\n",
                         available[i] ? 100 * (double)capped[i] / (double)available[i] : 0);
        most = fmax(most, share);
        rows++;
    }
    tn_define_real(&picture->definition, "most", most);
    tn_define_real(&picture->definition, "rows", rows);
    tn_snprintf(text, sizeof text, "all of %s", tn_device_name(device));
    tn_define_text(&picture->definition, "budget_label", text);
    tn_snprintf(text, sizeof text, "%s: resources of %sdesign %" PRIu64, result->space->name,
                picture->advised ? "the recommended " : "", picture->design.id);
    return draw(picture, "resources", text, error);
}

/* ---- execution
 * ------------------------------------------------------------------------------------------------ */

static tn_status draw_execution(drawing *picture, const char *path, tn_error *error) {
    static const char *const names[] = {"name", "seconds_predicted", "seconds_executed", "precision"};
    tn_csv csv;
    size_t column[4];
    double least = INFINITY, most = 0;
    TN_TRY(tn_csv_load(path, picture->arena, &csv, error));
    TN_TRY(tn_csv_columns(&csv, names, 4, false, column, error));
    for (size_t i = 0; i < csv.rows; i++) {
        double predicted, executed;
        TN_TRY(tn_csv_real(&csv, i, column[1], 0, INFINITY, &predicted, error));
        TN_TRY(tn_csv_real(&csv, i, column[2], 0, INFINITY, &executed, error));
        if (predicted > 0) least = fmin(least, predicted);
        most = fmax(most, predicted);
        bool single = strcmp(tn_csv_at(&csv, i, column[3])->text, "float32") == 0;
        if (predicted > 0 && executed > 0)
            tn_buffer_format(&picture->data, "%.9g %.9g %d\n", 1e3 * predicted, 1e3 * executed, single);
    }
    if (picture->data.length == 0) return TN_OK;
    tn_prefix prefix = tn_prefix_between("s", least, most);
    if (prefix.scale < 1) prefix = (tn_prefix){"s", 1};
    tn_define_text(&picture->definition, "time_unit", prefix.unit);
    tn_define_real(&picture->definition, "time_ms", 1e3 / prefix.scale);
    return draw(picture, "execution",
                "the flows run on this CPU: the time they took beside the time that its roofline foretells",
                error);
}

/* ---- all
 * ------------------------------------------------------------------------------------------------------ */

static tn_status draw_all(drawing *picture, tn_evaluator *evaluator, tn_error *error) {
    const tn_result *result = picture->result;
    const char *path;
    uint64_t advised;
    TN_TRY(tn_goal_design(result, picture->arena, &advised, error));
    TN_TRY(tn_result_design(result, evaluator, picture->options->design ? picture->options->design : &advised,
                            picture->arena, &picture->design, error));
    picture->advised = picture->design.id == advised;
    TN_TRY(tn_arena_format(picture->arena, &picture->folder, error, "%s/figures", result->folder));
    TN_TRY(tn_folder_make(picture->folder, error));
    if (!picture->advised) {
        TN_TRY(tn_arena_format(picture->arena, &picture->folder, error, "%s/figures/design-%" PRIu64,
                               result->folder, picture->design.id));
        TN_TRY(tn_folder_make(picture->folder, error));
    }
    TN_TRY(draw_front(picture, error));
    TN_TRY(draw_macs(picture, evaluator, error));
    TN_TRY(draw_resources(picture, error));
    TN_TRY(draw_design(picture, evaluator, error));
    TN_TRY(tn_arena_format(picture->arena, &path, error, "%s/validation.csv", result->folder));
    return access(path, R_OK) == 0 ? draw_execution(picture, path, error) : TN_OK;
}

tn_status tn_sweep_figures(const tn_result *result, const tn_sweep_figure_options *options, tn_arena *arena,
                           const char *path[TN_SWEEP_FIGURES], size_t *count, tn_error *error) {
    if (result->front_count == 0 || result->recommended_count == 0)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = result->folder},
                          "holds an empty front; there is nothing to draw");
    tn_evaluator *evaluator;
    TN_TRY(tn_evaluator_new(result->space, &evaluator, error));
    drawing picture = {.result = result, .options = options, .arena = arena, .path = path};
    tn_status status = draw_all(&picture, evaluator, error);
    *count = picture.count;
    tn_evaluator_free(evaluator);
    tn_buffer_free(&picture.data);
    tn_buffer_free(&picture.definition);
    return status;
}
