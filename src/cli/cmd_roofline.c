/* tenfold roofline --device D (--batch FILE.csv | --dtype T --m M --n N --k K) [--time graph|eager]
 * tenfold roofline fit ..., tenfold roofline step ...: cmd_roofline_fit.c, cmd_roofline_step.c */
#include "cli/cmd_roofline.h"
#include "cli/output.h"

#include "base/suggest.h"
#include "cli/commands.h"
#include "text/csv.h"
#include "text/json.h"
#include "text/table.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
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

static void begin_json(tn_json *json, tn_buffer *out, const request *r) {
    tn_json_begin(json, out);
    tn_json_object(json);
    tn_json_put_text(json, "device", r->roofline->name);
    tn_json_put_text(json, "time", r->time_name);
}

static void put_json_product(tn_json *json, const char *precision, const tn_roofline_product *p, double us) {
    tn_json_put_text(json, "dtype", precision);
    if (p->batch != 1) tn_json_put_count(json, "batch", p->batch);
    tn_json_put_count(json, "M", p->m);
    tn_json_put_count(json, "N", p->n);
    tn_json_put_count(json, "K", p->k);
    tn_json_put_real(json, "predicted_us", us);
}

/* --- One product. */

static tn_status answer_one(request *r, tn_error *error) {
    double us;
    const char *unverified;
    if (!r->precision)
        return tn_fail(error, TN_INPUT, "which product? --dtype fp32 --m 32 --n 768 --k 768, or --batch");
    TN_TRY(tn_roofline_predict(r->roofline, r->precision, r->time, &r->product, &us, error));
    TN_TRY(tn_roofline_unverified(r->roofline, r->precision, r->time, &r->common.arena, &unverified, error));
    double flops =
        2 * (double)r->product.batch * (double)r->product.m * (double)r->product.n * (double)r->product.k;
    if (r->common.json) {
        tn_buffer out = {0};
        tn_json json;
        begin_json(&json, &out, r);
        put_json_product(&json, r->precision, &r->product, us);
        tn_json_put_real(&json, "TFLOPS", flops / us / 1e6);
        tn_json_put_text(&json, "unverified", *unverified ? unverified : NULL);
        tn_json_end(&json);
        return tn_output(&out, error);
    }
    tn_table table;
    tn_table_begin(&table, 3);
    tn_table_text(&table, "time");
    tn_table_text(&table, "predicted (us)");
    tn_table_text(&table, "rate (TFLOPS)");
    tn_table_text(&table, r->time_name);
    tn_table_format(&table, "%.3f", us);
    tn_table_format(&table, "%.4g", flops / us / 1e6);
    TN_TRY(tn_table_end(&table, error));
    if (*unverified) tn_say("\nunverified: %s\n", unverified);
    return TN_OK;
}

/* --- A batch. */

enum { DTYPE, COLUMN_M, COLUMN_N, COLUMN_K, BATCH, GRAPH_US, EAGER_US, COLUMNS };
static const char *const column_names[COLUMNS] = {"dtype", "M", "N", "K", "batch", "graph_us", "eager_us"};
static const char *const labels[] = {"name", "id"};
enum { REQUIRED = BATCH, LABELS = 2 };

typedef struct {
    tn_csv csv;
    size_t column[COLUMNS]; /* csv.columns: absent */
    size_t measured;        /* column of the measured time, or csv.columns */
    double *error;          /* [rows]: relative, where measured */
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
            return tn_fail_at(error, TN_INPUT, head->at, "unknown column '%.60s'; did you mean %s?",
                              head->text, near);
        return tn_fail_at(
            error, TN_INPUT, head->at,
            "unknown column '%.60s'; a batch has dtype, M, N, K and may have batch, graph_us, eager_us, "
            "name, id",
            head->text);
    }
    TN_TRY(tn_csv_columns(&b->csv, column_names, REQUIRED, false, b->column, error));
    for (size_t i = REQUIRED; i < COLUMNS; i++) b->column[i] = tn_csv_column(&b->csv, column_names[i]);
    b->measured = b->column[r->time == TN_TIME_GRAPH ? GRAPH_US : EAGER_US];
    return TN_OK;
}

static tn_status answer_row(const request *r, batch *b, size_t row, tn_roofline_product *p, double *us,
                            tn_error *error) {
    const tn_csv *csv = &b->csv;
    const tn_csv_cell *dtype = tn_csv_at(csv, row, b->column[DTYPE]);
    tn_error unplaced;
    *p = (tn_roofline_product){.batch = 1};
    TN_TRY(tn_csv_count(csv, row, b->column[COLUMN_M], 1, TN_ROOFLINE_MOST_SIZE, &p->m, error));
    TN_TRY(tn_csv_count(csv, row, b->column[COLUMN_N], 1, TN_ROOFLINE_MOST_SIZE, &p->n, error));
    TN_TRY(tn_csv_count(csv, row, b->column[COLUMN_K], 1, TN_ROOFLINE_MOST_SIZE, &p->k, error));
    if (b->column[BATCH] < csv->columns)
        TN_TRY(tn_csv_count(csv, row, b->column[BATCH], 1, TN_ROOFLINE_MOST_SIZE, &p->batch, error));
    tn_status status = tn_roofline_predict(r->roofline, dtype->text, r->time, p, us, &unplaced);
    if (status != TN_OK) return tn_fail_at(error, status, dtype->at, "%s", unplaced.message);
    double measured;
    if (b->measured == csv->columns) return TN_OK;
    TN_TRY(tn_csv_real(csv, row, b->measured, 1e-6, 1e12, &measured, error));
    b->error[row] = *us / measured - 1;
    return TN_OK;
}

static void put_csv_head(tn_buffer *out, const batch *b) {
    for (size_t c = 0; c < b->csv.columns; c++) tn_csv_put(out, b->csv.head[c].text);
    tn_csv_put(out, "predicted_us");
    if (b->measured < b->csv.columns) tn_csv_put(out, "relative_error");
    tn_csv_line(out);
}

static void put_csv_row(tn_buffer *out, const batch *b, size_t row, double us) {
    for (size_t c = 0; c < b->csv.columns; c++) tn_csv_put(out, tn_csv_at(&b->csv, row, c)->text);
    tn_csv_put_real(out, us);
    if (b->measured < b->csv.columns) tn_csv_put_real(out, b->error[row]);
    tn_csv_line(out);
}

static void put_json_row(tn_json *json, const batch *b, size_t row, const tn_roofline_product *p, double us) {
    tn_json_object(json);
    for (size_t i = 0; i < LABELS; i++) {
        size_t column = tn_csv_column(&b->csv, labels[i]);
        if (column < b->csv.columns) tn_json_put_text(json, labels[i], tn_csv_at(&b->csv, row, column)->text);
    }
    put_json_product(json, tn_csv_at(&b->csv, row, b->column[DTYPE])->text, p, us);
    if (b->measured < b->csv.columns) tn_json_put_real(json, "relative_error", b->error[row]);
    tn_json_end(json);
}

/* Of the rows of one precision. */
static tn_status median_error(const batch *b, const char *precision, tn_arena *arena, double *median,
                              size_t *rows, tn_error *error) {
    double *sizes;
    size_t count = 0;
    TN_TRY(tn_arena_alloc(arena, b->csv.rows, sizeof *sizes, &sizes, error));
    for (size_t row = 0; row < b->csv.rows; row++)
        if (strcmp(tn_csv_at(&b->csv, row, b->column[DTYPE])->text, precision) == 0)
            sizes[count++] = fabs(b->error[row]);
    *rows = count;
    *median = count ? gsl_stats_median(sizes, 1, count) : 0;
    return TN_OK;
}

static bool has_precision(const batch *b, const char *name) {
    for (size_t row = 0; row < b->csv.rows; row++)
        if (strcmp(tn_csv_at(&b->csv, row, b->column[DTYPE])->text, name) == 0) return true;
    return false;
}

/* The unverified figures that the batch rests on, by precision. */
static tn_status flag(request *r, const batch *b, tn_json *json, tn_error *error) {
    const tn_roofline_precision *precision = r->roofline->precisions.item;
    if (json) {
        tn_json_key(json, "unverified");
        tn_json_object(json);
    }
    for (size_t i = 0; i < r->roofline->precisions.count; i++) {
        const char *unverified;
        if (!has_precision(b, precision[i].name)) continue;
        TN_TRY(tn_roofline_unverified(r->roofline, precision[i].name, r->time, &r->common.arena, &unverified,
                                      error));
        if (!*unverified) continue;
        if (json)
            tn_json_put_text(json, precision[i].name, unverified);
        else if (!r->common.quiet)
            fprintf(stderr, "%s %s: unverified: %s\n", precision[i].name, r->time_name, unverified);
    }
    if (json) tn_json_end(json);
    return TN_OK;
}

/* Median errors by precision: into the JSON object, or for people on standard error. */
static tn_status sum_up(request *r, const batch *b, tn_json *json, tn_error *error) {
    const tn_roofline_precision *precision = r->roofline->precisions.item;
    if (json) {
        tn_json_key(json, "median_relative_error");
        tn_json_object(json);
    }
    for (size_t i = 0; i < r->roofline->precisions.count; i++) {
        double median;
        size_t rows;
        TN_TRY(median_error(b, precision[i].name, &r->common.arena, &median, &rows, error));
        if (rows == 0) continue;
        if (json)
            tn_json_put_real(json, precision[i].name, median);
        else if (!r->common.quiet)
            fprintf(stderr, "%s %s: median relative error %.1f %% over %zu rows\n", precision[i].name,
                    r->time_name, 100 * median, rows);
    }
    if (json) tn_json_end(json);
    return TN_OK;
}

static tn_status answer_rows(request *r, batch *b, tn_buffer *out, tn_error *error) {
    tn_json json;
    bool as_json = r->common.json, measured = b->measured < b->csv.columns;
    if (as_json) {
        begin_json(&json, out, r);
        tn_json_key(&json, "rows");
        tn_json_array(&json);
    } else {
        put_csv_head(out, b);
    }
    for (size_t row = 0; row < b->csv.rows; row++) {
        tn_roofline_product product;
        double us;
        TN_TRY(answer_row(r, b, row, &product, &us, error));
        if (as_json)
            put_json_row(&json, b, row, &product, us);
        else
            put_csv_row(out, b, row, us);
    }
    if (as_json) tn_json_end(&json);
    TN_TRY(flag(r, b, as_json ? &json : NULL, error));
    if (measured) TN_TRY(sum_up(r, b, as_json ? &json : NULL, error));
    if (as_json) tn_json_end(&json);
    return TN_OK;
}

static tn_status answer_batch(request *r, tn_error *error) {
    batch b = {0};
    tn_buffer out = {0};
    TN_TRY(tn_csv_load(r->batch_file, &r->common.arena, &b.csv, error));
    TN_TRY(find_columns(r, &b, error));
    TN_TRY(tn_arena_alloc(&r->common.arena, b.csv.rows, sizeof *b.error, &b.error, error));
    return tn_output_made(answer_rows(r, &b, &out, error), &out, error);
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

const tn_command tn_command_roofline = {
    .name = "roofline",
    .summary = "time of products and training steps on a GPU or CPU, and the fit of its law",
    .usage = "--device D --batch FILE.csv [--time graph|eager]\n"
             "--device D --dtype T --m M --n N --k K [--time graph|eager]\n"
             "fit --device D [DATA.csv] [--steps STEPS.csv] [-o FILE.yaml]\n"
             "step MODEL --device D [--kernels N] [--plot FILE]",
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    .answer = answer,
    TN_PARTS(parts),
};
