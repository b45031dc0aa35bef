/* tenfold roofline --device D (--batch FILE.csv | --dtype T --m M --n N --k K) [--time graph|eager]
 * tenfold roofline fit ..., tenfold roofline step ...: cmd_roofline_fit.c, cmd_roofline_step.c */
#include "cli/cmd_roofline.h"
#include "cli/output.h"

#include "base/suggest.h"
#include "cli/commands.h"
#include "text/csv.h"
#include "text/json.h"

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
        tn_json_begin(&json, &out);
        tn_json_object(&json);
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

static const char *label_of(const tn_csv *csv, size_t row, const char *label) {
    size_t column = tn_csv_column(csv, label);
    return column < csv->columns ? tn_csv_at(csv, row, column)->text : NULL;
}

static tn_status answer_row(const request *r, batch *b, size_t at, tn_error *error) {
    const tn_csv *csv = &b->csv;
    const tn_csv_cell *dtype = tn_csv_at(csv, at, b->column[DTYPE]);
    product_row *row = &b->row[at];
    tn_roofline_product *p = &row->product;
    tn_error unplaced;
    *row = (product_row){.name = label_of(csv, at, "name"),
                         .id = label_of(csv, at, "id"),
                         .precision = dtype->text,
                         .product = {.batch = 1},
                         .measured = b->is_measured};
    TN_TRY(tn_csv_count(csv, at, b->column[COLUMN_M], 1, TN_ROOFLINE_MOST_SIZE, &p->m, error));
    TN_TRY(tn_csv_count(csv, at, b->column[COLUMN_N], 1, TN_ROOFLINE_MOST_SIZE, &p->n, error));
    TN_TRY(tn_csv_count(csv, at, b->column[COLUMN_K], 1, TN_ROOFLINE_MOST_SIZE, &p->k, error));
    if (b->column[BATCH] < csv->columns)
        TN_TRY(tn_csv_count(csv, at, b->column[BATCH], 1, TN_ROOFLINE_MOST_SIZE, &p->batch, error));
    tn_status status = predict(r, row, &unplaced);
    if (status != TN_OK) return tn_fail_at(error, status, dtype->at, "%s", unplaced.message);
    double measured;
    if (!b->is_measured) return TN_OK;
    TN_TRY(tn_csv_real(csv, at, b->measured, 1e-6, 1e12, &measured, error));
    row->relative_error = row->us / measured - 1;
    return TN_OK;
}

/* What the rows of each precision rest on, and their median error where they are measured. */
static tn_status note_precisions(request *r, batch *b, tn_error *error) {
    const tn_roofline_precision *precision = r->roofline->precisions.item;
    size_t count = r->roofline->precisions.count;
    double *sizes;
    TN_TRY(tn_arena_alloc(&r->common.arena, b->csv.rows, sizeof *sizes, &sizes, error));
    TN_TRY(tn_arena_alloc(&r->common.arena, count, sizeof *b->note, &b->note, error));
    TN_TRY(tn_arena_alloc(&r->common.arena, count, sizeof *b->unverified, &b->unverified, error));
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
        fprintf(stderr, "%s %s: unverified: %s\n", b->unverified[i].precision, r->time_name,
                b->unverified[i].unverified);
    for (size_t i = 0; b->is_measured && i < b->precisions && !r->common.quiet; i++)
        fprintf(stderr, "%s %s: median relative error %.1f %% over %zu rows\n", b->note[i].precision,
                r->time_name, 100 * b->note[i].median_error, b->note[i].rows);
    return tn_output(&out, error);
}

static tn_status answer_batch(request *r, tn_error *error) {
    batch b = {.device = r->roofline->name, .time = r->time_name};
    TN_TRY(tn_csv_load(r->batch_file, &r->common.arena, &b.csv, error));
    TN_TRY(find_columns(r, &b, error));
    b.is_measured = b.measured < b.csv.columns;
    TN_TRY(tn_arena_alloc(&r->common.arena, b.csv.rows, sizeof *b.row, &b.row, error));
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
