/* tenfold compare MODEL... --fpga DEVICE --gpu DEVICE [--gpu ...] [--design DIR]...; tenfold compare DIR --point ID --gpu DEVICE;
 * tenfold compare DIR DIR... */
#include "cli/cmd_compare.h"
#include "base/file.h"

#include "cli/cmd_roofline.h"
#include "cli/commands.h"
#include "cli/compare_fronts.h"
#include "cli/options.h"
#include "cli/output.h"
#include "device/device_data.h"
#include "plot/comparison.h"
#include "results/nearest.h"
#include "results/result.h"
#include "results/verdict.h"
#include "text/number.h"
#include "text/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS_MOST = 32, PROCESSORS_MOST = 16, STEPS_MOST = 4 * PROCESSORS_MOST };
/* A processor has rows dense and tensor, launched and as a graph, at the own and the best batch. */
enum { PROCESSOR_ROWS = 8 };
/* Options: the first so many are those of models, the rest those of folders. */
enum { FPGA_OPTION = 0, MODEL_OPTIONS = 15 };

/* A row as it is printed. */
typedef struct {
    const char *model, *system, *training, *published; /* published: for people */
    uint32_t kind, way;
    bool best_batch;
    double batch, steps_per_epoch;
    double parameters_bytes, live_bytes, seconds_per_step, seconds_per_epoch, joules_per_step,
        joules_per_epoch, watts;
    double kernels_seconds_per_step, bram_bytes, uram_bytes, rest_W; /* NAN where the row has none */
    const char *build, *unverified;
    const tn_comparison_row *row;
    const tn_claims *claims;
} view;

typedef struct {
    tn_common common;
    const char *fpga, *point, *claims_name, *out, *format, *batch_text, *cpu_power, *prices, *figure;
    double host_power, years, usd_per_kWh;
    tn_option_list gpu, cpu, design, set, key;
    size_t models;
    uint64_t batch; /* asked for; 0: own and best */
    tn_roofline *gpu_roofline[PROCESSORS_MOST], *cpu_roofline[PROCESSORS_MOST];
    tn_result result[MODELS_MOST]; /* of --design */
    size_t rows;
    tn_comparison_row *row;
    view *view;
    size_t judgements;
    tn_judgement *judgement;
    size_t decisions, crossings, ratios;
    tn_decision *decision;
    tn_crossing *crossing;
    tn_energy_ratio *ratio;
    tn_rent_terms terms;
    bool near;
    size_t nearest_count;
    tn_nearest_figure *nearest;
    tn_claims claims;
    tn_verdicts verdicts;
    size_t unfit_count;
    const char *unfit[MODELS_MOST]; /* models that no build makes fit */
    const char *source;             /* of the claims */
    size_t verdict_count;
    const tn_verdict *verdict;
} request;

static void put_published(const void *row, tn_json *json) {
    const view *window = row;
    tn_published_put(json, window->claims, window->row);
}

/* ---- ranges ---- */

static void put_range(tn_json *json, const char *key, tn_interval range, double factor) {
    tn_json_key(json, key);
    tn_json_array(json);
    tn_json_real(json, range.least * factor);
    tn_json_real(json, range.most * factor);
    tn_json_end(json);
}

static void put_ranges(const void *row, tn_json *json) {
    const tn_comparison_row *own = ((const view *)row)->row;
    tn_json_object(json);
    put_range(json, "seconds_per_step", own->seconds, 1);
    put_range(json, "seconds_per_epoch", own->seconds, own->steps_per_epoch);
    put_range(json, "joules_per_step", own->joules, 1);
    put_range(json, "joules_per_epoch", own->joules, own->steps_per_epoch);
    put_range(json, "watts", own->power, 1);
    if (own->kind == TN_SYSTEM_FPGA) put_range(json, "rest_W", own->rest, 1);
    tn_json_end(json);
}

static void range_cell(tn_interval range, double factor, const char *unit, tn_buffer *cell) {
    char least[48], most[48];
    tn_buffer_format(cell, "%s to %s", tn_quantity_text(range.least * factor, unit, least),
                     tn_quantity_text(range.most * factor, unit, most));
}

static void seconds_range(const void *row, tn_buffer *cell) {
    const tn_comparison_row *own = ((const view *)row)->row;
    range_cell(own->seconds, own->steps_per_epoch, "s", cell);
}

static void joules_range(const void *row, tn_buffer *cell) {
    const tn_comparison_row *own = ((const view *)row)->row;
    range_cell(own->joules, own->steps_per_epoch, "J", cell);
}

/* A row's name, so that every part of a wide table has it. */
static void row_name(const void *row, tn_buffer *cell) {
    const view *window = row;
    tn_buffer_format(cell, "%s, %s, %s, %.0f", window->system, window->training, tn_way_names[window->way],
                     window->batch);
}

/* ---- records ---- */

static const char *const kind_names[] = {"gpu", "cpu", "fpga", NULL};

/* What hangs on figures that nobody measured is shown as its range, and the figure behind it. */
static const tn_column view_columns[] = {
    {.cell = row_name, .title = "system, training, how, batch", .kind = TN_COLUMN_TEXT},
    TN_COLUMN(view, model, "model"),
    TN_COLUMN(view, system, NULL),
    TN_NAME("kind", view, kind, kind_names, NULL),
    TN_COLUMN(view, training, NULL),
    TN_NAME("way", view, way, tn_way_names, NULL),
    TN_AMOUNT("batch", view, batch, NULL),
    TN_COLUMN(view, best_batch, NULL),
    TN_AMOUNT("steps_per_epoch", view, steps_per_epoch, "updates an epoch"),
    {.cell = seconds_range, .title = "epoch", .kind = TN_COLUMN_TEXT},
    TN_COLUMN(view, seconds_per_epoch, "figure", TN_FITTING("s")),
    {.cell = joules_range, .title = "energy of an epoch", .kind = TN_COLUMN_TEXT},
    TN_COLUMN(view, joules_per_epoch, "figure", TN_FITTING("J")),
    TN_COLUMN(view, seconds_per_step, "step", TN_FITTING("s")),
    TN_COLUMN(view, joules_per_step, NULL),
    TN_COLUMN(view, watts, "mean power", TN_FITTING("W")),
    TN_COLUMN(view, kernels_seconds_per_step, NULL, TN_OPTIONAL),
    TN_COLUMN(view, parameters_bytes, NULL),
    TN_COLUMN(view, live_bytes, "live memory", TN_FITTING("B")),
    TN_WRITTEN("range", put_ranges, NULL),
    TN_COLUMN(view, rest_W, NULL, TN_OPTIONAL),
    TN_COLUMN(view, bram_bytes, NULL, TN_OPTIONAL),
    TN_COLUMN(view, uram_bytes, NULL, TN_OPTIONAL),
    TN_COLUMN(view, build, NULL, TN_OPTIONAL),
    TN_COLUMN(view, unverified, NULL),
    TN_WRITTEN("published", put_published, NULL),
};
static const tn_record view_record = TN_RECORD(view, view_columns);

static const tn_column decision_columns[] = {
    TN_COLUMN(tn_decision, model, "model"),
    TN_NAME("quantity", tn_decision, quantity, tn_compared_quantity_names, "least"),
    TN_COLUMN(tn_decision, batch, "batch"),
    TN_COLUMN(tn_decision, winner, "has"),
    TN_COLUMN(tn_decision, value, NULL),
    TN_COLUMN(tn_decision, fpga, NULL),
    TN_COLUMN(tn_decision, fpga_value, NULL),
    TN_COLUMN(tn_decision, opponent, "the opponent that decides"),
    TN_COLUMN(tn_decision, opponent_value, NULL),
    TN_COLUMN(tn_decision, ratio, "opponent over FPGA", TN_DIGITS(3)),
    TN_COLUMN(tn_decision, sure, "sure"),
};
static const tn_record decision_record = TN_RECORD(tn_decision, decision_columns);

static const tn_column crossing_columns[] = {
    TN_COLUMN(tn_crossing, model, "model"),
    TN_NAME("crossing", tn_crossing, kind, tn_crossing_names, "crossing"),
    TN_COLUMN(tn_crossing, value, "at", TN_DIGITS(4)),
    TN_COLUMN(tn_crossing, unit, "unit"),
    TN_COLUMN(tn_crossing, opponent, "by"),
};
static const tn_record crossing_record = TN_RECORD(tn_crossing, crossing_columns);

static const tn_column ratio_columns[] = {
    TN_COLUMN(tn_energy_ratio, model, "model"),
    TN_COLUMN(tn_energy_ratio, system, "over"),
    TN_COLUMN(tn_energy_ratio, rest_W, "FPGA at rest", TN_FITTING("W")),
    TN_COLUMN(tn_energy_ratio, kernels, "kernels alone", TN_DIGITS(3)),
    TN_COLUMN(tn_energy_ratio, least, "fastest host", TN_DIGITS(3)),
    TN_COLUMN(tn_energy_ratio, launched, "as launched", TN_DIGITS(3)),
    TN_COLUMN(tn_energy_ratio, most, "slowest host", TN_DIGITS(3)),
    TN_COLUMN(tn_energy_ratio, kernels_seconds, NULL),
    TN_COLUMN(tn_energy_ratio, least_seconds, NULL),
    TN_COLUMN(tn_energy_ratio, launched_seconds, NULL),
    TN_COLUMN(tn_energy_ratio, most_seconds, NULL),
    TN_COLUMN(tn_energy_ratio, claimed, "published", TN_DIGITS(3)),
    TN_COLUMN(tn_energy_ratio, claimed_seconds, "true of a step of", TN_FITTING("s")),
};
static const tn_record ratio_record = TN_RECORD(tn_energy_ratio, ratio_columns);

static const tn_column judgement_columns[] = {
    TN_COLUMN(tn_judgement, model, NULL),
    TN_COLUMN(tn_judgement, verdict, NULL),
};
static const tn_record judgement_record = TN_RECORD(tn_judgement, judgement_columns);

static const tn_column nearest_columns[] = {
    TN_COLUMN(tn_nearest_figure, model, "model"),
    TN_COLUMN(tn_nearest_figure, quantity, "figure"),
    TN_AMOUNT("published", tn_nearest_figure, published, "said to be"),
    TN_NAME("origin", tn_nearest_figure, origin, tn_origin_names, "known"),
    TN_AMOUNT("ours", tn_nearest_figure, ours, "nearest build"),
    TN_COLUMN(tn_nearest_figure, ratio, "said over build", TN_DIGITS(3)),
    TN_COLUMN(tn_nearest_figure, build, NULL),
};
static const tn_record nearest_record = TN_RECORD(tn_nearest_figure, nearest_columns);

static const tn_column answer_columns[] = {
    TN_ROWS("rows", request, view, rows, view_record, NULL),
    TN_COLUMN(request, host_power, NULL),
    TN_ROWS("verdicts", request, judgement, judgements, judgement_record, NULL),
    TN_ROWS("winners", request, decision, decisions, decision_record, NULL),
    TN_ROWS("crossings", request, crossing, crossings, crossing_record, NULL),
    TN_ROWS("energy_ratios", request, ratio, ratios, ratio_record, NULL),
    TN_ARRAY("unfit", request, unfit, unfit_count, NULL),
    TN_COLUMN_AS("claims_of", request, source, NULL),
    TN_ROWS("nearest", request, nearest, nearest_count, nearest_record, NULL, TN_OPTIONAL,
            TN_WHEN(request, near)),
    TN_ROWS("claims", request, verdict, verdict_count, tn_verdict_record, NULL),
};
static const tn_record answer_record = TN_RECORD(request, answer_columns);

/* ---- what is asked for ---- */

/* "auto": own and best batch. */
static tn_status take_batch(request *r, tn_error *error) {
    char *end;
    if (strcmp(r->batch_text, "auto") == 0) return TN_OK;
    r->batch = strtoull(r->batch_text, &end, 10);
    if (*end == '\0' && *r->batch_text >= '1' && *r->batch_text <= '9' && r->batch <= UINT32_MAX)
        return TN_OK;
    return tn_fail(error, TN_INPUT, "--batch %.40s; it is auto or a number of examples, 1 or more",
                   r->batch_text);
}

/* "20,65": the power range of every CPU, its figure the geometric middle. */
static tn_status take_cpu_power(const request *r, tn_roofline *roofline, tn_error *error) {
    double least, most;
    char more;
    if (!r->cpu_power) return TN_OK;
    if (sscanf(r->cpu_power, "%lf,%lf%c", &least, &most, &more) != 2 || !(least > 0) || !(most >= least) ||
        most > 1e5)
        return tn_fail(error, TN_INPUT, "--cpu-power %.40s; it is a range in W, least and greatest: 20,65",
                       r->cpu_power);
    double *item;
    TN_TRY(TN_NEW((tn_arena *)&r->common.arena, 2, &item, error));
    item[0] = least;
    item[1] = most;
    roofline->step_power_range_W = (tn_real_list){.item = item, .count = 2};
    roofline->step_power_W = sqrt(least * most);
    roofline->load_power_W = most;
    return TN_OK;
}

static bool is_measured(const char *cpu) {
    return strcmp(cpu, "measured") == 0;
}

static tn_status load_processors(request *r, tn_error *error) {
    static const tn_option_list none; /* overrides are the model's */
    static const char usual[] = "generic-cpu";
    if (r->gpu.count == 0)
        return tn_fail(error, TN_INPUT, "no GPU to compare with; --gpu DEVICE names one: rtx3090, h200, ...");
    if (r->cpu.count == 0) {
        r->cpu.item[0] = usual;
        r->cpu.count = 1;
    }
    if (r->cpu.count == 1 && strcmp(r->cpu.item[0], "none") == 0) r->cpu.count = 0;
    if (r->gpu.count + r->cpu.count > PROCESSORS_MOST)
        return tn_fail(error, TN_LIMIT, "%zu GPUs and CPUs; at most %d are compared",
                       r->gpu.count + r->cpu.count, PROCESSORS_MOST);
    for (size_t i = 0; i < r->gpu.count; i++)
        TN_TRY(tn_roofline_load(r->gpu.item[i], &none, &r->common.arena, &r->gpu_roofline[i], error));
    for (size_t i = 0; i < r->cpu.count; i++) {
        const char *device = is_measured(r->cpu.item[i]) ? usual : r->cpu.item[i];
        TN_TRY(tn_roofline_load(device, &none, &r->common.arena, &r->cpu_roofline[i], error));
        TN_TRY(take_cpu_power(r, r->cpu_roofline[i], error));
    }
    return TN_OK;
}

static tn_status load_designs(request *r, tn_error *error) {
    if (r->design.count > MODELS_MOST)
        return tn_fail(error, TN_LIMIT, "%zu folders; at most %d are read", r->design.count, MODELS_MOST);
    for (size_t i = 0; i < r->design.count; i++) {
        TN_TRY(tn_result_load(r->design.item[i], &r->common.arena, &r->result[i], error));
        if (r->result[i].recommended_count == 0)
            return tn_fail_at(error, TN_INPUT, (tn_position){.file = r->design.item[i]},
                              "holds no design that fits");
    }
    return TN_OK;
}

/* ---- rows ---- */

/* Of one model: its rows, and the steps that they are of. */
typedef struct {
    request *r;
    const tn_model *model;
    size_t first; /* row */
    size_t steps;
    tn_compared_step step[STEPS_MOST];
} adding;

/* At the own batch, and at the best one where that is another. */
static tn_status add_step(adding *a, const tn_compared_step *step, tn_error *error) {
    request *r = a->r;
    tn_comparison_row *row = &r->row[r->rows];
    TN_TRY(tn_compare_step(step, r->batch, &r->common.arena, row, error));
    r->rows++;
    a->step[a->steps++] = *step;
    if (r->batch) return TN_OK;
    TN_TRY(tn_compare_best_batch(step, &r->common.arena, &row[1], error));
    r->rows += row[1].batch != row[0].batch;
    return TN_OK;
}

static tn_status add_processor(adding *a, const tn_roofline *roofline, tn_system_kind kind, tn_error *error) {
    for (int dense = 1; dense >= 0; dense--)
        for (uint32_t way = TN_WAY_LAUNCHED; way <= TN_WAY_GRAPH; way++) {
            const tn_compared_step step = {a->model, roofline, kind, way, dense};
            TN_TRY(add_step(a, &step, error));
        }
    return TN_OK;
}

/* A CPU is busy at any batch: eight examples show what there is to gain. */
static tn_status add_measured(adding *a, const tn_roofline *power, tn_error *error) {
    enum { LARGER = 8 };
    request *r = a->r;
    for (int dense = 1; dense >= 0; dense--) {
        const tn_compared_step step = {a->model, power, TN_SYSTEM_CPU, TN_WAY_LAUNCHED, dense};
        tn_comparison_row *row = &r->row[r->rows];
        TN_TRY(tn_compare_measured(&step, r->batch, &r->common.arena, row, error));
        r->rows++;
        if (r->batch) continue;
        TN_TRY(tn_compare_measured(&step, LARGER * (uint64_t)row->batch, &r->common.arena, &row[1], error));
        row[1].is_best = true;
        r->rows += tn_epoch_seconds(&row[1]) < tn_epoch_seconds(row);
    }
    return TN_OK;
}

static tn_status add_processors(adding *a, tn_error *error) {
    request *r = a->r;
    for (size_t i = 0; i < r->gpu.count; i++)
        TN_TRY(add_processor(a, r->gpu_roofline[i], TN_SYSTEM_GPU, error));
    for (size_t i = 0; i < r->cpu.count; i++)
        TN_TRY(is_measured(r->cpu.item[i]) ? add_measured(a, r->cpu_roofline[i], error)
                                           : add_processor(a, r->cpu_roofline[i], TN_SYSTEM_CPU, error));
    return TN_OK;
}

/* The recommended design of a folder for that model, else those of the build search. */
static tn_status add_fpga(adding *a, const char *model, tn_error *error) {
    request *r = a->r;
    const char *name = tn_model_name(a->model);
    size_t rows;
    for (size_t i = 0; i < r->design.count; i++) {
        uint64_t id = r->result[i].recommended[0].id;
        const tn_space *own = tn_space_of(r->result[i].space, id);
        if (strcmp(tn_model_name(own->model), name) != 0) continue;
        return tn_compare_fpga(own, id, TN_WAY_GIVEN, &r->common.arena, &r->row[r->rows++], error);
    }
    TN_TRY(tn_compare_fpga_rows(model, r->set.item, r->set.count, r->batch, !r->batch, r->fpga,
                                &r->common.arena, &r->row[r->rows], &rows, error));
    r->rows += rows;
    if (rows == 0) r->unfit[r->unfit_count++] = name;
    return TN_OK;
}

static tn_status judge(adding *a, tn_error *error) {
    request *r = a->r;
    for (size_t i = a->first; i < r->rows; i++) tn_compare_add_host(&r->row[i], r->host_power);
    return tn_judge_rows(&r->row[a->first], r->rows - a->first, a->step, a->steps, &r->terms, r->host_power,
                         &r->claims, &r->common.arena, &r->judgement[r->judgements++], error);
}

static tn_status add_model(request *r, const char *name, tn_error *error) {
    tn_model *model;
    TN_TRY(tn_model_load(name, r->set.item, r->set.count, &r->common.arena, &model, error));
    adding a = {.r = r, .model = model, .first = r->rows};
    TN_TRY(add_processors(&a, error));
    TN_TRY(add_fpga(&a, name, error));
    return judge(&a, error);
}

/* A sweep's design: its model, dense and as it is, on the processors, and itself. */
static tn_status add_point(request *r, const tn_target *target, tn_error *error) {
    tn_space own = *tn_space_of(target->space, target->id);
    own.device = target->design.device;
    r->fpga = tn_device_name(own.device);
    adding a = {.r = r, .model = target->design.model, .first = r->rows};
    TN_TRY(add_processors(&a, error));
    TN_TRY(tn_compare_fpga(&own, target->id, TN_WAY_GIVEN, &r->common.arena, &r->row[r->rows++], error));
    return judge(&a, error);
}

static tn_status load_point(request *r, tn_error *error) {
    tn_target target = {0};
    const char *device = r->common.given[FPGA_OPTION] ? r->fpga : NULL;
    tn_status status = tn_target_load(r->common.argument[0], r->point, device, NULL, &r->set,
                                      &r->common.arena, &target, error);
    if (status == TN_OK) status = add_point(r, &target, error);
    tn_target_free(&target);
    return status;
}

static tn_status view_row(request *r, size_t index, tn_error *error) {
    const tn_comparison_row *row = &r->row[index];
    view *window = &r->view[index];
    *window = (view){.model = row->model,
                     .system = row->system,
                     .training = row->is_dense ? "dense" : "tensor",
                     .kind = row->kind,
                     .way = row->way,
                     .best_batch = row->is_best,
                     .batch = row->batch,
                     .steps_per_epoch = row->steps_per_epoch,
                     .parameters_bytes = row->parameters_bytes,
                     .live_bytes = row->live_bytes,
                     .seconds_per_step = row->seconds_per_step,
                     .seconds_per_epoch = tn_epoch_seconds(row),
                     .joules_per_step = row->joules_per_step,
                     .joules_per_epoch = tn_epoch_joules(row),
                     .watts = row->power_W,
                     .kernels_seconds_per_step = row->kernels_seconds,
                     .rest_W = row->rest_W,
                     .bram_bytes = row->bram_bytes,
                     .uram_bytes = row->uram_bytes,
                     .build = row->build,
                     .unverified = row->unverified,
                     .row = row,
                     .claims = &r->claims};
    return tn_published_text(window->claims, row, &r->common.arena, &window->published, error);
}

/* The builds nearest to what is said of the published hardware. */
static tn_status find_nearest(request *r, tn_error *error) {
    TN_TRY(TN_NEW(&r->common.arena, r->models * r->claims.figures, &r->nearest, error));
    for (size_t i = 0; i < r->models; i++) {
        tn_nearest_figure *figure;
        size_t count;
        TN_TRY(tn_nearest_build(&r->claims, r->common.argument[i], r->judgement[i].model, r->fpga,
                                &r->common.arena, &figure, &count, error));
        for (size_t k = 0; k < count; k++) r->nearest[r->nearest_count++] = figure[k];
    }
    return TN_OK;
}

/* The judgements' lists behind each other, as they are printed. */
static tn_status gather(request *r, tn_error *error) {
    tn_arena *arena = &r->common.arena;
    TN_TRY(TN_NEW(arena, r->judgements * 2 * TN_COMPARED_QUANTITIES, &r->decision, error));
    TN_TRY(TN_NEW(arena, r->judgements * TN_CROSSINGS, &r->crossing, error));
    TN_TRY(TN_NEW(arena, r->judgements * 3, &r->ratio, error));
    for (size_t i = 0; i < r->judgements; i++) {
        const tn_judgement *told = &r->judgement[i];
        for (size_t k = 0; k < told->decisions; k++) r->decision[r->decisions++] = told->decision[k];
        for (size_t k = 0; k < told->crossings; k++) r->crossing[r->crossings++] = told->crossing[k];
        for (size_t k = 0; k < told->ratios; k++) r->ratio[r->ratios++] = told->ratio[k];
    }
    return TN_OK;
}

/* ---- people ---- */

static bool said_before(const request *r, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(r->row[i].system, r->row[index].system) == 0) return true;
    return false;
}

static bool published_before(const request *r, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(r->row[i].model, r->row[index].model) == 0 &&
            strcmp(r->view[i].published, r->view[index].published) == 0)
            return true;
    return false;
}

static tn_status print_verdicts(const request *r, tn_error *error) {
    tn_say_heading("Which system decides");
    TN_TRY(tn_output_rows(&decision_record, r->decision, r->decisions, error));
    tn_say("\n");
    if (r->crossings) TN_TRY(tn_output_rows(&crossing_record, r->crossing, r->crossings, error));
    for (size_t i = 0; i < r->judgements; i++) {
        tn_say("\n");
        tn_say_folded("", 0, "%s: %s", r->judgement[i].model, r->judgement[i].verdict);
    }
    if (r->ratios == 0) return TN_OK;
    tn_say_heading("Energy of tensor training on the GPU over that on the FPGA, by host and power at rest");
    return tn_output_rows(&ratio_record, r->ratio, r->ratios, error);
}

static tn_status print_people(const request *r, tn_error *error) {
    tn_say("Training on %s beside GPUs and CPUs: what each does best, by what the unverified figures leave "
           "open\n",
           r->fpga);
    tn_say("power of the machine round the board: %s\n\n",
           r->host_power > 0 ? "on every side" : "on none (--host-power W puts it on every side)");
    TN_TRY(tn_output_rows(&view_record, r->view, r->rows, error));
    tn_say("\n");
    for (size_t i = 0; i < r->unfit_count; i++)
        tn_say(
            "%s does not fit %s with any build of spaces/build-search.yaml; sweep a space of lower ranks and "
            "give its folder with --design\n",
            r->unfit[i], r->fpga);
    for (size_t i = 0; i < r->rows; i++)
        if (*r->view[i].published && !published_before(r, i))
            tn_say("published of %s, %s: %s\n", r->row[i].model, r->view[i].training, r->view[i].published);
    for (size_t i = 0; i < r->rows; i++)
        if (r->row[i].build &&
            (i == 0 || r->row[i - 1].design != r->row[i].design || r->row[i - 1].batch != r->row[i].batch))
            tn_say("%s on %s, %s, batch %.0f: %s\n", r->row[i].model, r->row[i].system,
                   tn_way_names[r->row[i].way], r->row[i].batch, r->row[i].build);
    for (size_t i = 0; i < r->rows; i++)
        if (!said_before(r, i) && *r->row[i].unverified)
            tn_say("unverified, %s: %s\n", r->row[i].system, r->row[i].unverified);
    TN_TRY(print_verdicts(r, error));
    if (r->nearest_count) {
        tn_say_heading("The build of the published flow that comes nearest to the published hardware");
        TN_TRY(tn_output_rows(&nearest_record, r->nearest, r->nearest_count, error));
        for (size_t i = 0; i < r->nearest_count; i++)
            if (i == 0 || strcmp(r->nearest[i].model, r->nearest[i - 1].model) != 0)
                tn_say("%s: %s\n", r->nearest[i].model, r->nearest[i].build);
    }
    if (r->verdict_count == 0) return TN_OK;
    tn_say_heading("What is published, and what follows from this");
    tn_say("%s\n", r->source);
    for (size_t i = 0; i < r->verdict_count; i++) tn_verdict_say(r->verdict, i);
    return TN_OK;
}

/* ---- the command ---- */

/* Models or folders, not both, and the options of what they are. */
static tn_status check_arguments(const request *r, bool folders, tn_error *error) {
    const tn_command *command = &tn_command_compare;
    if (r->point && (r->common.arguments > 1 || r->design.count))
        return tn_fail(error, TN_INPUT, "--point is the id of a design of one folder, without %s",
                       r->design.count ? "--design" : "others");
    if (r->point && r->set.count)
        return tn_fail(
            error, TN_INPUT,
            "a design is compared as the sweep has it; `tenfold cost DIR --point ID --set %.100s` says "
            "what if",
            r->set.item[0]);
    if (r->point) return TN_OK;
    for (size_t i = 0; i < r->common.arguments; i++)
        if (tn_is_folder(r->common.argument[i]) != folders)
            return tn_fail_at(
                error, TN_INPUT, (tn_position){.file = r->common.argument[i]},
                "is %s; models are compared with models, and fronts with fronts (--design takes "
                "the folder of a model's sweep, --point one of its designs)",
                folders ? "no folder of results, as the first is" : "a folder of results");
    for (size_t i = 0; i < command->options; i++)
        if (r->common.given[i] && (i < MODEL_OPTIONS) == folders)
            return tn_fail(error, TN_INPUT, "%s goes with %s", command->option[i].name,
                           folders ? "models, not with folders" : "folders of results, not with models");
    return TN_OK;
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    bool folders = !r->point && tn_is_folder(r->common.argument[0]);
    TN_TRY(check_arguments(r, folders, error));
    if (folders) return tn_compare_fronts(&r->common, &r->key, r->out, r->format, answer, error);
    r->models = r->common.arguments;
    TN_TRY(take_batch(r, error));
    if (!(r->host_power >= 0 && r->host_power <= 1e5 && r->years > 0 && r->usd_per_kWh >= 0))
        return tn_fail(
            error, TN_INPUT,
            "--host-power, --years and --usd-per-kWh are numbers of W from 0 to 1e5, years and USD");
    TN_TRY(tn_claims_load(r->claims_name, &r->common.arena, &r->claims, error));
    TN_TRY(load_processors(r, error));
    TN_TRY(load_designs(r, error));
    r->terms = (tn_rent_terms){.usd_per_kWh = r->usd_per_kWh, .years = r->years};
    TN_TRY(tn_compare_rents(r->prices, &r->common.arena, &r->terms, error));
    size_t most = r->models * (PROCESSOR_ROWS * (r->gpu.count + r->cpu.count) + TN_FPGA_ROWS + 1);
    TN_TRY(TN_NEW(&r->common.arena, most, &r->row, error));
    TN_TRY(TN_NEW(&r->common.arena, most, &r->view, error));
    TN_TRY(TN_NEW(&r->common.arena, r->models, &r->judgement, error));
    if (r->point) TN_TRY(load_point(r, error));
    for (size_t i = 0; i < r->models && !r->point; i++) TN_TRY(add_model(r, r->common.argument[i], error));
    for (size_t i = 0; i < r->rows; i++) TN_TRY(view_row(r, i, error));
    TN_TRY(gather(r, error));
    if (r->near && !r->point) TN_TRY(find_nearest(r, error));
    TN_TRY(tn_claims_judge(&r->claims, r->row, r->rows, &r->common.arena, &r->verdicts, error));
    if (r->figure) TN_TRY(tn_comparison_draw(r->figure, r->row, r->rows, r->ratio, r->ratios, error));
    *answer = r->unfit_count > 0;
    r->source = r->claims.source;
    r->verdict = r->verdicts.verdict;
    r->verdict_count = r->verdicts.count;
    return r->common.json ? tn_output_json(&answer_record, r, error) : print_people(r, error);
}

static const request defaults = {.fpga = "u50@user-area",
                                 .claims_name = "arxiv-2501.06663",
                                 .format = "png",
                                 .batch_text = "auto",
                                 .prices = "gpus",
                                 .years = 3,
                                 .usd_per_kWh = 0.2};
static const tn_option options[] = {
    {"--fpga", TN_INTO(request, fpga), "DEVICE", "FPGA to train on; default u50@user-area"},
    {"--gpu", TN_INTO(request, gpu), "DEVICE", "roofline device to compare with; repeatable"},
    {"--cpu", TN_INTO(request, cpu), "DEVICE|measured|none",
     "CPU to compare with: by its law, or this machine timed; repeatable; default generic-cpu"},
    {"--cpu-power", TN_INTO(request, cpu_power), "LEAST,MOST",
     "W that a CPU draws while it trains; default as generic-cpu or its own device says"},
    {"--batch", TN_INTO(request, batch_text), "auto|N",
     "examples a step; auto (default): the model's own, and the best of its doublings that fit"},
    {"--host-power", TN_INTO(request, host_power), "W",
     "of the machine round the board, on every side; default 0, on none"},
    {"--prices", TN_INTO(request, prices), "FILE", "what hours of GPUs cost; default gpus"},
    {"--years", TN_INTO(request, years), "N", "that a bought board is used, day and night; default 3"},
    {"--usd-per-kWh", TN_INTO(request, usd_per_kWh), "USD", "of electricity; default 0.2"},
    {"--design", TN_INTO(request, design), "DIR",
     "take the recommended design of this sweep for its model, instead of searching a build; repeatable"},
    {"--claims", TN_INTO(request, claims_name), "FILE",
     "published claims to set beside; default arxiv-2501.06663"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of every model; repeatable"},
    {"--point", TN_INTO(request, point), "ID",
     "of one sweep's folder: this design, on the sweep's device unless --fpga says another"},
    {"--nearest", TN_INTO(request, near), NULL,
     "search the build of the published flow that comes nearest to the published hardware"},
    {"--plot", TN_INTO(request, figure), "FILE",
     "draw time and energy of an epoch (.png, .svg, .pdf), and beside it FILE-claim, the claimed ratio of "
     "energies"},
    {"--by", TN_INTO(request, key), "KEY",
     "quantity to compare fronts by; repeatable; default: the objectives that all their spaces have"},
    {"-o", TN_INTO(request, out), "DIR", "of fronts: write fronts.csv and a figure there"},
    {"--format", TN_INTO(request, format), "png|svg|pdf|csv", "of fronts: picture format; default png"},
};

const tn_command tn_command_compare = {
    .name = "compare",
    .summary = "training on an FPGA beside GPUs, CPUs and published claims, or fronts beside each other",
    .usage = "MODEL... --fpga DEVICE --gpu DEVICE [--gpu DEVICE]... [--cpu DEVICE|measured] [--batch auto|N] "
             "[--design "
             "DIR]... [--plot FILE]\n"
             "DIR --point ID [--fpga DEVICE] --gpu DEVICE [--gpu DEVICE]...\n"
             "DIR DIR... [--by KEY]... [-o DIR] [--format png|svg|pdf|csv]",
    .arguments = {1, MODELS_MOST},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record, &tn_compared_fronts_record),
    .answer = answer,
};
