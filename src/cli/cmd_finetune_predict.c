/* tenfold finetune predict DATA.csv --gpu NAME: throughput on a GPU from other GPUs' measurements. */
#include "cli/cmd_finetune.h"
#include "cli/output.h"
#include "finetune/transfer.h"
#include "text/number.h"

#include <math.h>
#include <string.h>

enum { MOST_SPARSITIES = 64, MOST_BATCHES = 64 };

typedef struct {
    tn_common common;
    const char *gpu_name, *model, *dataset, *table_name;
    const char *of_model, *of_dataset; /* of the measurements */
    double sparsity, model_GB;         /* NAN: not given */
    tn_option_list calibration, batch;
    tn_gpu_table table;
    const tn_gpu *gpu;
    tn_finetune_data all, from_data; /* of the one model and data set; without the predicted GPU */
    const tn_finetune_group *truth;  /* the predicted GPU's own measurements, or NULL */
    tn_transfer transfer;
    tn_transfer_error *held_out;
    size_t held_outs;
    size_t rows;
    struct row {
        double sparsity, batch, measured; /* measured NAN: not */
        tn_finetune_interval rate;
    } * row;
    double largest[MOST_SPARSITIES], of_sparsity[MOST_SPARSITIES]; /* batches by memory; NAN: not known */
    size_t sparsities;
} request;

static tn_status read_data(request *r, const char *path, tn_arena *arena, tn_error *error) {
    if (!r->gpu_name)
        return tn_fail(error, TN_INPUT, "--gpu must be given: the GPU to predict, of the table");
    TN_TRY(tn_gpu_table_load(r->table_name, arena, &r->table, error));
    TN_TRY(tn_gpu_find(&r->table, r->gpu_name, &r->gpu, error));
    TN_TRY(tn_finetune_load(path, arena, &r->all, error));
    TN_TRY(tn_finetune_keep(&r->all, NULL, r->model, r->dataset, error));
    for (size_t i = 0; i < r->all.count; i++) {
        const tn_finetune_group *group = &r->all.group[i];
        if (strcmp(group->model, r->all.group[0].model) != 0 ||
            strcmp(group->dataset, r->all.group[0].dataset) != 0)
            return tn_fail_at(
                error, TN_INPUT, (tn_position){.file = path},
                "measurements of more than one model or data set; choose with --model and --dataset");
        if (strcmp(group->gpu, r->gpu_name) == 0) r->truth = group;
    }
    r->of_model = r->all.group[0].model;
    r->of_dataset = r->all.group[0].dataset;
    TN_TRY(tn_finetune_without(&r->all, r->gpu_name, arena, &r->from_data, error));
    if (r->calibration.count && r->from_data.count)
        TN_TRY(tn_finetune_keep_gpus(&r->from_data, r->calibration.item, r->calibration.count, error));
    TN_TRY(tn_transfer_fit(&r->from_data, &r->table, arena, &r->transfer, error));
    return tn_transfer_hold_out(&r->from_data, &r->table, arena, &r->transfer, &r->held_out, &r->held_outs,
                                error);
}

/* --- What to predict: the sparsities measured elsewhere or the one given; the batches given, those measured
 * on the GPU itself, or powers of two up to what fits. */

static void list_sparsities(request *r) {
    if (!isnan(r->sparsity)) {
        r->of_sparsity[r->sparsities++] = r->sparsity;
        return;
    }
    for (size_t i = 0; i < r->from_data.count; i++)
        for (size_t j = 0; j < r->from_data.group[i].count; j++) {
            size_t k = 0;
            while (k < r->sparsities && r->of_sparsity[k] != r->from_data.group[i].point[j].sparsity) k++;
            if (k == r->sparsities && k < MOST_SPARSITIES)
                r->of_sparsity[r->sparsities++] = r->from_data.group[i].point[j].sparsity;
        }
}

static double most_measured(const tn_finetune_data *data, double sparsity) {
    double most = 1;
    for (size_t i = 0; i < data->count; i++)
        for (size_t j = 0; j < data->group[i].count; j++)
            if (data->group[i].point[j].sparsity == sparsity)
                most = fmax(most, data->group[i].point[j].batch);
    return most;
}

static void add_row(request *r, double sparsity, double batch, double measured) {
    r->row[r->rows++] =
        (struct row){sparsity, batch, measured, tn_transfer_predict(&r->transfer, r->gpu, batch, sparsity)};
}

static void add_truth(request *r, double sparsity) {
    for (size_t i = 0; i < r->truth->count; i++)
        if (r->truth->point[i].sparsity == sparsity)
            add_row(r, sparsity, r->truth->point[i].batch, r->truth->point[i].queries_per_s);
}

static void add_powers(request *r, double sparsity, double largest) {
    double batch = 1;
    for (; batch < largest; batch *= 2) add_row(r, sparsity, batch, NAN);
    if (largest >= 1) add_row(r, sparsity, largest, NAN);
}

static tn_status predict_all(request *r, const double *batch, tn_arena *arena, tn_error *error) {
    size_t most = MOST_BATCHES + (r->truth ? r->truth->count : 0) + r->batch.count;
    list_sparsities(r);
    TN_TRY(TN_NEW(arena, most * r->sparsities, &r->row, error));
    if (isnan(r->model_GB)) TN_TRY(tn_model_memory(r->from_data.group[0].model, arena, &r->model_GB, error));
    for (size_t i = 0; i < r->sparsities; i++) {
        double sparsity = r->of_sparsity[i];
        r->largest[i] = NAN;
        if (!isnan(r->model_GB))
            TN_TRY(tn_transfer_largest_batch(&r->from_data, &r->table, r->gpu, r->model_GB, sparsity,
                                             &r->largest[i], error));
        for (size_t j = 0; j < r->batch.count; j++) add_row(r, sparsity, batch[j], NAN);
        if (r->batch.count) continue;
        if (r->truth)
            add_truth(r, sparsity);
        else
            add_powers(r, sparsity,
                       isnan(r->largest[i]) ? most_measured(&r->from_data, sparsity) : r->largest[i]);
    }
    return TN_OK;
}

/* --- Output */

static tn_finetune_interval exponent(const tn_transfer *t, int parameter) {
    double gradient[TN_STEP_PARAMETERS] = {0};
    gradient[parameter] = 1;
    double point = t->estimate.parameter[parameter], half = tn_step_half_width(&t->estimate, gradient);
    return (tn_finetune_interval){point, point - half, point + half};
}

static void put_exponent(tn_json *json, const tn_transfer *t, int parameter) {
    tn_finetune_interval value = exponent(t, parameter);
    tn_json_object(json);
    tn_json_put_real(json, "value", value.value);
    tn_json_put_interval(json, "interval", &value);
    tn_json_put_bool(json, "determined", tn_step_determined(&t->estimate, parameter));
    tn_json_end(json);
}

static const tn_column error_columns[] = {
    TN_COLUMN(tn_transfer_error, gpu, NULL),
    TN_COLUMN(tn_transfer_error, points, NULL),
    TN_COLUMN(tn_transfer_error, relative_rmse, NULL),
    TN_COLUMN_AS("mean_relative_error", tn_transfer_error, mean_relative, NULL),
};
static const tn_record error_record = TN_RECORD(tn_transfer_error, error_columns);

static void show_off(const void *entry, tn_buffer *cell) {
    const struct row *row = entry;
    double off = 100 * (row->rate.value / row->measured - 1);
    if (isfinite(off))
        tn_buffer_format(cell, "%.4g", off);
    else
        tn_buffer_text(cell, "-");
}

static const tn_column row_columns[] = {
    TN_COLUMN(struct row, sparsity, "sparsity"),
    TN_COLUMN_AS("batch_size", struct row, batch, "batch"),
    TN_COLUMN_AS("queries_per_s", struct row, rate.value, "examples/s"),
    TN_RANGE("interval", struct row, rate.low, "95 % interval"),
    TN_COLUMN(struct row, measured, "measured"),
    TN_WRITTEN(NULL, NULL, "off, %", .cell = show_off),
};
static const tn_record row_record = TN_RECORD(struct row, row_columns);

static void put_bandwidth(const void *r, tn_json *json) {
    put_exponent(json, &((const request *)r)->transfer, TN_STEP_BANDWIDTH_EXPONENT);
}

static void put_peak(const void *r, tn_json *json) {
    put_exponent(json, &((const request *)r)->transfer, TN_STEP_PEAK_EXPONENT);
}

static void put_from(const void *row, tn_json *json) {
    const request *r = row;
    tn_json_row(json);
    for (size_t i = 0; i < r->from_data.count; i++) tn_json_text(json, r->from_data.group[i].gpu);
    tn_json_end(json);
}

static void put_largest(const void *row, tn_json *json) {
    const request *r = row;
    tn_json_array(json);
    for (size_t i = 0; i < r->sparsities; i++) {
        tn_json_object(json);
        tn_json_put_real(json, "sparsity", r->of_sparsity[i]);
        tn_json_put_real(json, "batch_size", r->largest[i]);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void put_error(const void *row, tn_json *json) {
    const request *r = row;
    if (!r->truth) {
        tn_json_null(json);
        return;
    }
    tn_transfer_error off = tn_transfer_compare(&r->transfer, r->gpu, r->truth);
    tn_record_json(&error_record, &off, json);
}

static const tn_column answer_columns[] = {
    TN_COLUMN_AS("gpu", request, gpu_name, NULL),
    TN_COLUMN_AS("model", request, of_model, NULL),
    TN_COLUMN_AS("dataset", request, of_dataset, NULL),
    TN_WRITTEN("from", put_from, NULL),
    TN_WRITTEN("bandwidth_exponent", put_bandwidth, NULL),
    TN_WRITTEN("peak_exponent", put_peak, NULL),
    TN_WRITTEN("largest_batch", put_largest, NULL),
    TN_ROWS("rows", request, row, rows, row_record, NULL),
    TN_WRITTEN("error", put_error, NULL),
    TN_ROWS("held_out", request, held_out, held_outs, error_record, NULL),
};
static const tn_record answer_record = TN_RECORD(request, answer_columns);

static void print_error_line(const char *what, const tn_transfer_error *e) {
    tn_say("%s%s: %.1f %% off (root mean square of %zu points), %+.1f %% on average\n", what, e->gpu,
           100 * e->relative_rmse, e->points, 100 * e->mean_relative);
}

static tn_status print_tables(const request *r, tn_error *error) {
    tn_finetune_interval a = exponent(&r->transfer, TN_STEP_BANDWIDTH_EXPONENT);
    tn_finetune_interval c = exponent(&r->transfer, TN_STEP_PEAK_EXPONENT);
    tn_say("%s from", r->gpu->name);
    for (size_t i = 0; i < r->from_data.count; i++) tn_say("%s %s", i ? "," : "", r->from_data.group[i].gpu);
    tn_say(": %s on %s\n", r->all.group[0].model, r->all.group[0].dataset);
    tn_say("fixed time ~ bandwidth^-%.2f (%.2f to %.2f), time per query ~ peak^-%.2f (%.2f to %.2f)\n",
           a.value, a.low, a.high, c.value, c.low, c.high);
    for (size_t i = 0; i < r->sparsities; i++)
        if (!isnan(r->largest[i]))
            tn_say("largest batch by memory at sparsity %g: %.0f\n", r->of_sparsity[i], r->largest[i]);
    TN_TRY(tn_output_rows(&row_record, r->row, r->rows, error));
    if (r->truth) {
        tn_transfer_error off = tn_transfer_compare(&r->transfer, r->gpu, r->truth);
        print_error_line("\nheld out, ", &off);
    }
    if (r->held_outs) tn_say("\nthe others, each predicted from the rest:\n");
    for (size_t i = 0; i < r->held_outs; i++) print_error_line("  ", &r->held_out[i]);
    return TN_OK;
}

/* --- The command */

static tn_status read_batches(const request *r, tn_arena *arena, double **batch, tn_error *error) {
    TN_TRY(TN_NEW(arena, r->batch.count, batch, error));
    for (size_t i = 0; i < r->batch.count; i++) {
        uint64_t count;
        if (tn_read_count(r->batch.item[i], &count) != TN_NUMBER_OK || count == 0 || count > 1000000000)
            return tn_fail(error, TN_INPUT, "--batch takes a whole number from 1 to 1e9, not '%.60s'",
                           r->batch.item[i]);
        (*batch)[i] = (double)count;
    }
    return TN_OK;
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_arena *arena = &r->common.arena;
    (void)answer;
    double *batch;
    if (!isnan(r->sparsity) && !(r->sparsity >= 1e-6 && r->sparsity <= 1))
        return tn_fail(error, TN_INPUT, "--sparsity is %g; it must be above 0 and at most 1", r->sparsity);
    if (!isnan(r->model_GB)) TN_TRY(tn_need_positive("--model-GB", r->model_GB, 1e6, error));
    TN_TRY(read_batches(r, arena, &batch, error));
    TN_TRY(read_data(r, r->common.argument[0], arena, error));
    TN_TRY(predict_all(r, batch, arena, error));
    return r->common.json ? tn_output_json(&answer_record, r, error) : print_tables(r, error);
}

static const request defaults = {.table_name = "gpus", .sparsity = NAN, .model_GB = NAN};
static const tn_option options[] = {
    {"--gpu", TN_INTO(request, gpu_name), "NAME",
     "the GPU to predict, of the table; its own measurements are held out"},
    {"--from", TN_INTO(request, calibration), "GPU",
     "measured GPU to predict from; repeatable; default all others"},
    {"--model", TN_INTO(request, model), "NAME", "of the measurements"},
    {"--dataset", TN_INTO(request, dataset), "NAME", "of the measurements"},
    {"--sparsity", TN_INTO(request, sparsity), "S", "default every measured one"},
    {"--batch", TN_INTO(request, batch), "B", "batch to predict; repeatable; default up to what fits"},
    {"--model-GB", TN_INTO(request, model_GB), "GB", "the model's memory; default the model file's"},
    {"--gpus", TN_INTO(request, table_name), "TABLE", "table of GPUs; default gpus"},
};

const tn_command tn_finetune_predict_command = {
    .name = "finetune predict",
    .summary = "throughput on a GPU that was not measured",
    .usage = "DATA.csv --gpu NAME [--from GPU]... [--model NAME] [--dataset NAME]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
