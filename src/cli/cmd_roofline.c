/* tenfold roofline --device D (--batch FILE.csv | --dtype T --m M --n N --k K) [--time graph|eager]
 * tenfold roofline fit ..., tenfold roofline step ...: the fit is in cmd_roofline_fit.c */
#include "cli/cmd_roofline.h"

#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "model/model.h"
#include "model/operation.h"
#include "plot/roofline.h"
#include "roofline/step.h"
#include "text/csv.h"
#include "text/json.h"

#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tn_common common;
    const char *device_name, *batch_file, *precision, *time_name;
    tn_roofline_product product;
    tn_option_list set;
    tn_roofline_time time;
    tn_roofline *roofline;
} request;

tn_status tn_roofline_load(const char *device_name, const tn_option_list *set, tn_arena *arena,
                           tn_roofline **roofline, tn_error *error) {
    tn_device *device;
    if (!device_name) return tn_fail(error, TN_INPUT, "which device? --device h200, for instance");
    TN_TRY(tn_device_load(device_name, set->item, set->count, arena, &device, error));
    return tn_roofline_of(device, arena, roofline, error);
}

static tn_status find_time(const char *name, tn_roofline_time *time, tn_error *error) {
    for (int i = 0; i < TN_ROOFLINE_TIMES; i++)
        if (strcmp(name, tn_roofline_time_names[i]) == 0) {
            *time = (tn_roofline_time)i;
            return TN_OK;
        }
    return tn_fail(error, TN_INPUT, "--time is graph or eager, not '%.60s'", name);
}

/* A product and its time; of a row of a batch also its labels, and how far a measured time is off. */
typedef struct {
    const char *name, *id, *precision, *time;
    tn_roofline_product product;
    bool is_batch, measured;
    double us, TFLOPS, relative_error;
} product_row;

#define PRODUCT_COLUMNS                                                                                      \
    TN_COLUMN_AS("dtype", product_row, precision, NULL),                                                     \
        TN_COLUMN_AS("batch", product_row, product.batch, NULL, TN_OPTIONAL,                                 \
                     TN_WHEN(product_row, is_batch)),                                                        \
        TN_COLUMN_AS("M", product_row, product.m, NULL), TN_COLUMN_AS("N", product_row, product.n, NULL),    \
        TN_COLUMN_AS("K", product_row, product.k, NULL), TN_COLUMN_AS(NULL, product_row, time, "time"),      \
        TN_COLUMN_AS("predicted_us", product_row, us, "predicted", .unit = "us", TN_FIXED(3))

static const tn_column one_columns[] = {PRODUCT_COLUMNS,
                                        TN_COLUMN(product_row, TFLOPS, "rate", .unit = "TFLOPS")};
static const tn_record one_record = TN_RECORD(product_row, one_columns);

static const tn_column row_columns[] = {
    TN_COLUMN(product_row, name, NULL, TN_OPTIONAL),
    TN_COLUMN(product_row, id, NULL, TN_OPTIONAL),
    PRODUCT_COLUMNS,
    TN_COLUMN(product_row, relative_error, NULL, TN_OPTIONAL, TN_WHEN(product_row, measured)),
};
static const tn_record row_record = TN_RECORD(product_row, row_columns);

static tn_status predict(const request *r, product_row *row, tn_error *error) {
    const tn_roofline_product *p = &row->product;
    TN_TRY(tn_roofline_predict(r->roofline, row->precision, r->time, p, &row->us, error));
    row->time = r->time_name;
    row->is_batch = p->batch != 1;
    row->TFLOPS = 2 * (double)p->batch * (double)p->m * (double)p->n * (double)p->k / row->us / 1e6;
    return TN_OK;
}

/* --- One product. */

static tn_status answer_one(request *r, tn_error *error) {
    product_row row = {.precision = r->precision, .product = r->product};
    const char *unverified;
    if (!r->precision)
        return tn_fail(error, TN_INPUT, "which product? --dtype fp32 --m 32 --n 768 --k 768, or --batch");
    TN_TRY(predict(r, &row, error));
    TN_TRY(tn_roofline_unverified(r->roofline, r->precision, r->time, &r->common.arena, &unverified, error));
    if (r->common.json) {
        tn_buffer out = {0};
        tn_json json;
        tn_answer_begin(&json, &out);
        tn_json_put_text(&json, "device", r->roofline->name);
        tn_json_put_text(&json, "time", r->time_name);
        tn_record_keys(&one_record, &row, &json);
        tn_json_put_text(&json, "unverified", *unverified ? unverified : NULL);
        tn_json_end(&json);
        return tn_output(&out, error);
    }
    TN_TRY(tn_output_rows(&one_record, &row, 1, error));
    if (*unverified) tn_say("\nunverified: %s\n", unverified);
    return TN_OK;
}

/* --- A batch. */

enum { DTYPE, COLUMN_M, COLUMN_N, COLUMN_K, BATCH, GRAPH_US, EAGER_US, COLUMNS };
static const char *const column_names[COLUMNS] = {"dtype", "M", "N", "K", "batch", "graph_us", "eager_us"};
static const char *const labels[] = {"name", "id"};
enum { REQUIRED = BATCH, LABELS = 2 };

/* Of the rows of one precision. */
struct precision_note {
    const char *precision, *unverified;
    double median_error;
    size_t rows;
};

typedef struct {
    tn_csv csv;
    size_t column[COLUMNS]; /* csv.columns: absent */
    size_t measured;        /* column of the measured time, or csv.columns */
    const char *device, *time;
    product_row *row; /* [csv.rows] */
    bool is_measured;
    size_t precisions;
    struct precision_note *note; /* [precisions]: of those that rows have */
    size_t unverifieds;
    struct precision_note *unverified;
} batch;

static tn_status find_columns(const request *r, batch *b, tn_error *error) {
    const char *known[COLUMNS + LABELS];
    memcpy(known, column_names, sizeof column_names);
    memcpy(known + COLUMNS, labels, sizeof labels);
    for (size_t c = 0; c < b->csv.columns; c++) {
        const tn_csv_cell *head = &b->csv.head[c];
        size_t i = 0;
        while (i < COLUMNS + LABELS && strcmp(known[i], head->text) != 0) i++;
        if (i < COLUMNS + LABELS) continue;
        const char *near = tn_suggest(head->text, known, COLUMNS + LABELS);
        if (near)
            return tn_fail_at(error, TN_INPUT, head->position, "unknown column '%.60s'; did you mean %s?",
                              head->text, near);
        return tn_fail_at(
            error, TN_INPUT, head->position,
            "unknown column '%.60s'; a batch has dtype, M, N, K and may have batch, graph_us, eager_us, "
            "name, id",
            head->text);
    }
    TN_TRY(tn_csv_columns(&b->csv, column_names, REQUIRED, false, b->column, error));
    for (size_t i = REQUIRED; i < COLUMNS; i++) b->column[i] = tn_csv_column(&b->csv, column_names[i]);
    b->measured = b->column[r->time == TN_TIME_GRAPH ? GRAPH_US : EAGER_US];
    return TN_OK;
}

static const char *label_of(const tn_csv *csv, size_t row, const char *label) {
    size_t column = tn_csv_column(csv, label);
    return column < csv->columns ? tn_csv_at(csv, row, column)->text : NULL;
}

static tn_status answer_row(const request *r, batch *b, size_t index, tn_error *error) {
    const tn_csv *csv = &b->csv;
    const tn_csv_cell *dtype = tn_csv_at(csv, index, b->column[DTYPE]);
    product_row *row = &b->row[index];
    tn_roofline_product *p = &row->product;
    tn_error unplaced;
    *row = (product_row){.name = label_of(csv, index, "name"),
                         .id = label_of(csv, index, "id"),
                         .precision = dtype->text,
                         .product = {.batch = 1},
                         .measured = b->is_measured};
    TN_TRY(tn_csv_count(csv, index, b->column[COLUMN_M], 1, TN_ROOFLINE_MOST_SIZE, &p->m, error));
    TN_TRY(tn_csv_count(csv, index, b->column[COLUMN_N], 1, TN_ROOFLINE_MOST_SIZE, &p->n, error));
    TN_TRY(tn_csv_count(csv, index, b->column[COLUMN_K], 1, TN_ROOFLINE_MOST_SIZE, &p->k, error));
    if (b->column[BATCH] < csv->columns)
        TN_TRY(tn_csv_count(csv, index, b->column[BATCH], 1, TN_ROOFLINE_MOST_SIZE, &p->batch, error));
    tn_status status = predict(r, row, &unplaced);
    if (status != TN_OK) return tn_fail_at(error, status, dtype->position, "%s", unplaced.message);
    double measured;
    if (!b->is_measured) return TN_OK;
    TN_TRY(tn_csv_real(csv, index, b->measured, 1e-6, 1e12, &measured, error));
    row->relative_error = row->us / measured - 1;
    return TN_OK;
}

/* What the rows of each precision rest on, and their median error where they are measured. */
static tn_status note_precisions(request *r, batch *b, tn_error *error) {
    const tn_roofline_precision *precision = r->roofline->precisions.item;
    size_t count = r->roofline->precisions.count;
    double *sizes;
    TN_TRY(TN_NEW(&r->common.arena, b->csv.rows, &sizes, error));
    TN_TRY(TN_NEW(&r->common.arena, count, &b->note, error));
    TN_TRY(TN_NEW(&r->common.arena, count, &b->unverified, error));
    for (size_t i = 0; i < count; i++) {
        struct precision_note note = {.precision = precision[i].name};
        for (size_t row = 0; row < b->csv.rows; row++)
            if (strcmp(b->row[row].precision, note.precision) == 0)
                sizes[note.rows++] = fabs(b->row[row].relative_error);
        if (note.rows == 0) continue;
        note.median_error = gsl_stats_median(sizes, 1, note.rows);
        TN_TRY(tn_roofline_unverified(r->roofline, note.precision, r->time, &r->common.arena,
                                      &note.unverified, error));
        b->note[b->precisions++] = note;
        if (*note.unverified) b->unverified[b->unverifieds++] = note;
    }
    return TN_OK;
}

static const tn_column unverified_columns[] = {
    TN_COLUMN(struct precision_note, precision, NULL),
    TN_COLUMN(struct precision_note, unverified, NULL),
};
static const tn_record unverified_record = TN_RECORD(struct precision_note, unverified_columns);

static const tn_column median_columns[] = {
    TN_COLUMN(struct precision_note, precision, NULL),
    TN_COLUMN(struct precision_note, median_error, NULL),
};
static const tn_record median_record = TN_RECORD(struct precision_note, median_columns);

static const tn_column batch_columns[] = {
    TN_COLUMN(batch, device, NULL),
    TN_COLUMN(batch, time, NULL),
    TN_ROWS("rows", batch, row, csv.rows, row_record, NULL),
    TN_ROWS("unverified", batch, unverified, unverifieds, unverified_record, NULL, TN_KEYED),
    TN_ROWS("median_relative_error", batch, note, precisions, median_record, NULL, TN_KEYED, TN_OPTIONAL,
            TN_WHEN(batch, is_measured)),
};
static const tn_record batch_record = TN_RECORD(batch, batch_columns);

/* The file's columns, and what was computed behind them; what else there is to say on standard error. */
static tn_status print_batch(const request *r, const batch *b, tn_error *error) {
    const tn_csv *csv = &b->csv;
    tn_buffer out = {0};
    for (size_t c = 0; c < csv->columns; c++) tn_csv_put(&out, csv->head[c].text);
    tn_csv_put(&out, "predicted_us");
    if (b->is_measured) tn_csv_put(&out, "relative_error");
    tn_csv_line(&out);
    for (size_t row = 0; row < csv->rows; row++) {
        for (size_t c = 0; c < csv->columns; c++) tn_csv_put(&out, tn_csv_at(csv, row, c)->text);
        tn_csv_put_real(&out, b->row[row].us);
        if (b->is_measured) tn_csv_put_real(&out, b->row[row].relative_error);
        tn_csv_line(&out);
    }
    for (size_t i = 0; i < b->unverifieds && !r->common.quiet; i++)
        tn_note("%s %s: unverified: %s", b->unverified[i].precision, r->time_name,
                b->unverified[i].unverified);
    for (size_t i = 0; b->is_measured && i < b->precisions && !r->common.quiet; i++)
        tn_note("%s %s: median relative error %.1f %% over %zu rows", b->note[i].precision, r->time_name,
                100 * b->note[i].median_error, b->note[i].rows);
    return tn_output(&out, error);
}

static tn_status answer_batch(request *r, tn_error *error) {
    batch b = {.device = r->roofline->name, .time = r->time_name};
    TN_TRY(tn_csv_load(r->batch_file, &r->common.arena, &b.csv, error));
    TN_TRY(find_columns(r, &b, error));
    b.is_measured = b.measured < b.csv.columns;
    TN_TRY(TN_NEW(&r->common.arena, b.csv.rows, &b.row, error));
    for (size_t row = 0; row < b.csv.rows; row++) TN_TRY(answer_row(r, &b, row, error));
    TN_TRY(note_precisions(r, &b, error));
    return r->common.json ? tn_output_json(&batch_record, &b, error) : print_batch(r, &b, error);
}

/* --- The command. */

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    (void)answer;
    TN_TRY(find_time(r->time_name, &r->time, error));
    if (r->batch_file && (r->precision || r->product.m || r->product.n || r->product.k))
        return tn_fail(error, TN_INPUT,
                       "--batch brings its own products; leave out --dtype, --m, --n and --k");
    TN_TRY(tn_roofline_load(r->device_name, &r->set, &r->common.arena, &r->roofline, error));
    return r->batch_file ? answer_batch(r, error) : answer_one(r, error);
}

static const request defaults = {.time_name = "graph", .product = {.batch = 1}};
static const tn_option options[] = {
    {"--device", TN_INTO(request, device_name), "DEVICE", "a roofline device: h200, a100, ..."},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of the device; repeatable"},
    {"--batch", TN_INTO(request, batch_file), "FILE.csv", "products with columns dtype, M, N, K"},
    {"--time", TN_INTO(request, time_name), "graph|eager",
     "graph: the kernel in a replayed graph (default); eager: launched by its host"},
    {"--dtype", TN_INTO(request, precision), "NAME", "precision of one product: fp32, bf16"},
    {"--m", TN_INTO(request, product.m), "N", "its rows"},
    {"--n", TN_INTO(request, product.n), "N", "its columns"},
    {"--k", TN_INTO(request, product.k), "N", "terms of its reduction"},
};
static const tn_command *const parts[] = {&tn_roofline_fit_command, &tn_roofline_step_command};

static const tn_column one_answer_columns[] = {
    TN_ANSWER_KEY("device", "string"), TN_ANSWER_KEY("time", "string"), PRODUCT_COLUMNS,
    TN_COLUMN(product_row, TFLOPS, "rate", .unit = "TFLOPS"), TN_ANSWER_KEY("unverified", "string null")};
static const tn_record one_answer_record = TN_RECORD(product_row, one_answer_columns);

const tn_command tn_command_roofline = {
    .name = "roofline",
    .summary = "time of products and training steps on a GPU or CPU, and the fit of its law",
    .usage = "--device D --batch FILE.csv [--time graph|eager]\n"
             "--device D --dtype T --m M --n N --k K [--time graph|eager]\n"
             "fit --device D [DATA.csv] [--steps STEPS.csv] [-o FILE.yaml]\n"
             "step MODEL --device D [--kernels N] [--plot FILE]",
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&one_answer_record, &batch_record),
    .answer = answer,
    TN_PARTS(parts),
};

/* tenfold roofline step MODEL --device D [--kernels N] [--plot FILE] */

typedef struct {
    tn_roofline_kernel kernel;
    const char *kind;
    bool is_product;
    double all_us; /* of the step */
    double share;  /* of it as a graph */
} kernel_row;

typedef struct {
    tn_common common;
    const char *device_name, *point, *plot;
    tn_option_list set, model_set, device_set;
    uint64_t launches, shown;
    tn_roofline *roofline;
    const char *device;
    tn_step step;
    tn_roofline_step predicted;
    const char *unverified; /* NULL: everything is verified */
    kernel_row *kernel;     /* [predicted.kernels], the longest first */
    double graph_ms, product_ms;
    bool launched, powered;                /* known of the device: */
    double launched_ms, least_ms, most_ms; /* ... and NAN where not */
    double joules, graph_joules;
} cmd_roofline_step_request;

static int by_share(const void *a, const void *b) {
    double left = ((const kernel_row *)a)->all_us, right = ((const kernel_row *)b)->all_us;
    return (left < right) - (left > right);
}

static void show_size(const void *entry, tn_buffer *cell) {
    const kernel_row *row = entry;
    const tn_roofline_product *size = &row->kernel.product;
    if (row->is_product) tn_buffer_format(cell, "%" PRIu64 " x ", size->batch);
    tn_buffer_format(cell, "%" PRIu64 " x %" PRIu64, size->m, size->n);
    if (row->is_product) tn_buffer_format(cell, " x %" PRIu64, size->k);
}

#define OF_PRODUCT TN_OPTIONAL, TN_WHEN(kernel_row, is_product)
static const tn_column kernel_columns[] = {
    TN_COLUMN(kernel_row, kind, "kernel"),
    TN_WRITTEN(NULL, NULL, "batch x M x N x K", .cell = show_size),
    TN_COLUMN_AS("count", kernel_row, kernel.count, "count"),
    TN_COLUMN_AS("batch", kernel_row, kernel.product.batch, NULL, OF_PRODUCT),
    TN_COLUMN_AS("K", kernel_row, kernel.product.k, NULL, OF_PRODUCT),
    TN_COLUMN_AS("M", kernel_row, kernel.product.m, NULL),
    TN_COLUMN_AS("N", kernel_row, kernel.product.n, NULL),
    TN_COLUMN_AS("us", kernel_row, kernel.us, "one", .unit = "us", TN_FIXED(2)),
    TN_COLUMN_AS(NULL, kernel_row, all_us, "all", TN_IN("ms", 1e-3), TN_FIXED(4)),
    TN_COLUMN_AS(NULL, kernel_row, share, "share", TN_PERCENT),
    TN_COLUMN_AS("flops", kernel_row, kernel.flops, NULL),
    TN_COLUMN_AS("bytes", kernel_row, kernel.bytes, NULL),
};
static const tn_record kernel_record = TN_RECORD(kernel_row, kernel_columns);

#define LAUNCHED TN_OPTIONAL, TN_WHEN(cmd_roofline_step_request, launched)
static const tn_column range_columns[] = {
    TN_RANGE("launched_ms", cmd_roofline_step_request, least_ms, NULL),
    TN_RANGE("joules", cmd_roofline_step_request, predicted.least_joules, NULL, TN_OPTIONAL,
             TN_WHEN(cmd_roofline_step_request, powered)),
};
static const tn_record range_record = TN_RECORD(cmd_roofline_step_request, range_columns);

static const tn_column answer_columns[] = {
    TN_COLUMN_AS("model", cmd_roofline_step_request, step.name, NULL),
    TN_COLUMN(cmd_roofline_step_request, device, NULL),
    TN_COLUMN_AS("parameters", cmd_roofline_step_request, step.parameters, NULL),
    TN_COLUMN_AS("operations", cmd_roofline_step_request, predicted.operations, NULL),
    TN_COLUMN_AS("kernels", cmd_roofline_step_request, predicted.launches, NULL),
    TN_COLUMN(cmd_roofline_step_request, graph_ms, NULL),
    TN_COLUMN(cmd_roofline_step_request, launched_ms, NULL),
    TN_COLUMN(cmd_roofline_step_request, joules, NULL),
    TN_COLUMN(cmd_roofline_step_request, graph_joules, NULL),
    TN_COLUMN_AS("contractions", cmd_roofline_step_request, predicted.contractions, NULL, LAUNCHED),
    TN_GROUP("range", range_record, NULL, LAUNCHED),
    TN_COLUMN(cmd_roofline_step_request, unverified, NULL),
    TN_COLUMN(cmd_roofline_step_request, product_ms, NULL),
    TN_COLUMN_AS("product_flops", cmd_roofline_step_request, predicted.product_flops, NULL),
    TN_ROWS("kinds", cmd_roofline_step_request, kernel, predicted.kernels, kernel_record, NULL),
};
static const tn_record answer_record = TN_RECORD(cmd_roofline_step_request, answer_columns);

static tn_status make_answer(cmd_roofline_step_request *r, tn_error *error) {
    const tn_roofline_step *p = &r->predicted;
    TN_TRY(TN_NEW(&r->common.arena, p->kernels, &r->kernel, error));
    for (size_t i = 0; i < p->kernels; i++) {
        const tn_roofline_kernel *kernel = &p->kernel[i];
        double all_us = kernel->us * (double)kernel->count;
        r->kernel[i] = (kernel_row){*kernel, tn_operation_rows[kernel->kind].name,
                                    kernel->kind == TN_OP_PRODUCT, all_us, all_us / p->graph_us};
    }
    qsort(r->kernel, p->kernels, sizeof *r->kernel, by_share);
    if (!*r->unverified) r->unverified = NULL;
    r->launched = p->launched_us > 0;
    r->powered = p->joules > 0;
    r->graph_ms = p->graph_us / 1e3;
    r->product_ms = p->product_us / 1e3;
    r->launched_ms = r->launched ? p->launched_us / 1e3 : NAN;
    r->least_ms = p->least_us / 1e3;
    r->most_ms = p->most_us / 1e3;
    r->joules = r->powered ? p->joules : NAN;
    r->graph_joules = r->powered ? p->graph_joules : NAN;
    return TN_OK;
}

static void print_range(double least, double most) {
    if (most > least) tn_say(" (%.3f to %.3f)", least, most);
}

static tn_status print_people(const cmd_roofline_step_request *r, tn_error *error) {
    const tn_roofline_step *p = &r->predicted;
    char text[32];
    tn_say("A training step of %s on %s: %s operations\n", r->step.name, r->roofline->name,
           tn_count_text(p->operations, text));
    tn_say("  as a graph of kernels  %10.3f ms, of which products %.3f ms at %.3g TFLOPS\n", r->graph_ms,
           r->product_ms, p->product_us > 0 ? p->product_flops / p->product_us / 1e6 : 0);
    if (r->launched) {
        tn_say("  as launched            %10.3f ms", r->launched_ms);
        print_range(r->least_ms, r->most_ms);
        tn_say(": %s kernels%s\n", tn_count_text(p->launches, text),
               r->launches ? "" : ", estimated from the operations");
    } else {
        tn_say("  as launched            not known: the device says nothing of its host\n");
    }
    if (r->powered) {
        tn_say("  energy as launched     %10.3f J", p->joules);
        print_range(p->least_joules, p->most_joules);
        tn_say(" at %.0f W\n", 1e6 * p->joules / p->launched_us);
        tn_say("  energy as a graph      %10.3f J", p->graph_joules);
        print_range(p->least_graph_joules, p->most_graph_joules);
        tn_say(" at %.0f W\n", p->graph_W);
    }
    if (r->unverified) tn_say("  unverified             %s\n", r->unverified);
    tn_say("\n");
    TN_TRY(tn_output_rows(&kernel_record, r->kernel, p->kernels < r->shown ? p->kernels : (size_t)r->shown,
                          error));
    if (p->kernels > r->shown)
        tn_say("... and %zu more sizes; --show says how many are listed\n", p->kernels - (size_t)r->shown);
    return TN_OK;
}

static void divide_sets(cmd_roofline_step_request *r) {
    static const char of_device[] = "roofline.";
    for (size_t i = 0; i < r->set.count; i++) {
        bool device = strncmp(r->set.item[i], of_device, sizeof of_device - 1) == 0;
        tn_option_list *list = device ? &r->device_set : &r->model_set;
        list->item[list->count++] = r->set.item[i];
    }
}

static tn_status work(cmd_roofline_step_request *r, tn_target *target, tn_program_cache *cache,
                      tn_error *error) {
    divide_sets(r);
    TN_TRY(tn_roofline_load(r->device_name, &r->device_set, &r->common.arena, &r->roofline, error));
    TN_TRY(tn_target_load(r->common.argument[0], r->point, NULL, NULL, &r->model_set, &r->common.arena,
                          target, error));
    TN_TRY(tn_step_build(target->design.model, cache, &r->common.arena, &r->step, error));
    TN_TRY(
        tn_roofline_step_predict(r->roofline, &r->step, r->launches, &r->common.arena, &r->predicted, error));
    TN_TRY(
        tn_roofline_unverified_step(r->roofline, r->step.precision, &r->common.arena, &r->unverified, error));
    if (r->plot) TN_TRY(tn_roofline_draw(r->plot, r->roofline, &r->step, &r->predicted, error));
    r->device = r->roofline->name;
    TN_TRY(make_answer(r, error));
    return r->common.json ? tn_output_json(&answer_record, r, error) : print_people(r, error);
}

static tn_status cmd_roofline_step_answer(void *asked, int *cmd_roofline_step_answer, tn_error *error) {
    tn_program_cache *cache;
    (void)cmd_roofline_step_answer;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_target target = {0};
    tn_status status = work(asked, &target, cache, error);
    tn_target_free(&target);
    tn_program_cache_free(cache);
    return status;
}

static const cmd_roofline_step_request cmd_roofline_step_defaults = {.shown = 12};
static const tn_option cmd_roofline_step_options[] = {
    {"--device", TN_INTO(cmd_roofline_step_request, device_name), "DEVICE",
     "a roofline device: h200, a100, ..."},
    {"--point", TN_INTO(cmd_roofline_step_request, point), "ID",
     "with a sweep's folder: the model of this design"},
    {"--set", TN_INTO(cmd_roofline_step_request, set), "KEY=VALUE",
     "overrides a key of the model, or roofline.KEY of the device; repeatable"},
    {"--kernels", TN_INTO(cmd_roofline_step_request, launches), "N",
     "kernels that the framework launches (default: estimated from the operations)"},
    {"--show", TN_INTO(cmd_roofline_step_request, shown), "N", "sizes of kernels to list (default 12)"},
    {"--plot", TN_INTO(cmd_roofline_step_request, plot), "FILE",
     "draws the roofline with the step's products on it"},
};

const tn_command tn_roofline_step_command = {
    .name = "roofline step",
    .summary = "time of a model's training step on a roofline device: as a graph, and as launched",
    .usage = "(MODEL | DIR --point ID) --device D [--kernels N] [--plot FILE.png|.svg|.pdf]",
    .arguments = {1, 1},
    TN_OPTIONS(cmd_roofline_step_options),
    TN_REQUEST(cmd_roofline_step_request, &cmd_roofline_step_defaults),
    TN_ANSWERS(&answer_record),
    .answer = cmd_roofline_step_answer,
};
