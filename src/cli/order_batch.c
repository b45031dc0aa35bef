/* `tenfold order --batch` (cli/order.h). */
#include "base/clock.h"
#include "base/interrupt.h"
#include "cli/order.h"
#include "tensor/einsum.h"
#include "text/json.h"

#include <string.h>

enum { MACS, LARGEST, SECONDS, ADDED };
static const char *const added[ADDED] = {"macs", "largest_intermediate", "seconds"};

typedef struct batch {
    const tn_csv *csv;
    const tn_search_options *search;
    size_t einsum, sizes;  /* columns */
    size_t present[ADDED]; /* columns of those names that the file has already; csv->columns: none */
    tn_error *error;
} batch;

static tn_status find_columns(batch *b) {
    static const char *const needed[] = {"name", "einsum"};
    const tn_csv *csv = b->csv;
    size_t column[2];
    TN_TRY(tn_csv_columns(csv, needed, 2, false, column, b->error));
    b->einsum = column[1];
    b->sizes = tn_csv_column(csv, "sizes");
    if (b->sizes == csv->columns) b->sizes = tn_csv_column(csv, "sizes(json)");
    if (b->sizes == csv->columns)
        return tn_fail_at(
            b->error, TN_INPUT, csv->head[0].at,
            "column \"sizes\" is missing; it holds a JSON object such as {\"a\": 32, \"b\": 8}");
    for (int i = 0; i < ADDED; i++) b->present[i] = tn_csv_column(csv, added[i]);
    return TN_OK;
}

/* An error without a place gets the row's. */
static tn_status placed(const batch *b, tn_status status, tn_position at) {
    tn_error *error = b->error;
    if (status == TN_OK || !error || error->file[0] || status == TN_MEMORY) return status;
    tn_error plain = *error;
    return tn_fail_at(error, status, at, "%s", plain.message);
}

static tn_status solve(const batch *b, size_t row, tn_arena *arena, tn_search_result *result,
                       double *seconds) {
    const tn_csv_cell *einsum = tn_csv_at(b->csv, row, b->einsum), *sizes = tn_csv_at(b->csv, row, b->sizes);
    tn_network network;
    TN_TRY(tn_einsum_parse(einsum->text, einsum->at, arena, &network, b->error));
    TN_TRY(tn_einsum_json_sizes(sizes->text, sizes->at, &network, b->error));
    double started_seconds = tn_clock_seconds();
    TN_TRY(placed(b, tn_search(&network, b->search, arena, result, b->error), einsum->at));
    *seconds = tn_clock_seconds() - started_seconds;
    return TN_OK;
}

/* One of the added values; nothing where no tree was found. */
static void put_value(int which, const tn_search_result *result, double seconds, tn_buffer *out) {
    if (which == SECONDS)
        tn_csv_put_real(out, seconds);
    else if (!result->found)
        tn_csv_put(out, "");
    else
        tn_csv_put_count(out, which == MACS ? result->cost.macs : result->cost.largest_intermediate);
}

/* Which of the added values the column holds; ADDED: none, it is the file's own. */
static int which_value(const batch *b, size_t column) {
    int which = 0;
    while (which < ADDED && b->present[which] != column) which++;
    return which;
}

static void put_csv_row(const batch *b, size_t row, const tn_search_result *result, double seconds,
                        tn_buffer *out) {
    for (size_t column = 0; column < b->csv->columns; column++) {
        int which = which_value(b, column);
        if (which < ADDED)
            put_value(which, result, seconds, out);
        else
            tn_csv_put(out, tn_csv_at(b->csv, row, column)->text);
    }
    for (int which = 0; which < ADDED; which++)
        if (b->present[which] == b->csv->columns) put_value(which, result, seconds, out);
    tn_csv_line(out);
}

static void put_json_row(const batch *b, size_t row, const tn_search_result *result, double seconds,
                         tn_json *json) {
    tn_json_object(json);
    for (size_t column = 0; column < b->csv->columns; column++)
        if (which_value(b, column) == ADDED)
            tn_json_put_text(json, b->csv->head[column].text, tn_csv_at(b->csv, row, column)->text);
    if (result->found) {
        tn_json_put_count(json, "macs", result->cost.macs);
        tn_json_put_count(json, "largest_intermediate", result->cost.largest_intermediate);
    }
    tn_json_put_bool(json, "found", result->found);
    tn_json_put_bool(json, "exact", result->exact);
    tn_json_put_count(json, "lower_bound", result->lower_bound);
    tn_json_put_real(json, "seconds", seconds);
    tn_json_end(json);
}

static tn_status put_rows(const batch *b, tn_json *json, tn_buffer *out) {
    tn_arena arena = {0};
    tn_status status = TN_OK;
    for (size_t row = 0; status == TN_OK && row < b->csv->rows; row++) {
        tn_search_result result;
        double seconds = 0;
        tn_arena_reset(&arena);
        status = tn_interrupted() ? tn_fail(b->error, TN_INTERRUPTED, "interrupted before row %zu", row + 1)
                                  : solve(b, row, &arena, &result, &seconds);
        if (status == TN_OK && json)
            put_json_row(b, row, &result, seconds, json);
        else if (status == TN_OK)
            put_csv_row(b, row, &result, seconds, out);
    }
    tn_arena_free(&arena);
    return status;
}

static tn_status put_csv(const batch *b, tn_buffer *out) {
    for (size_t column = 0; column < b->csv->columns; column++) tn_csv_put(out, b->csv->head[column].text);
    for (int which = 0; which < ADDED; which++)
        if (b->present[which] == b->csv->columns) tn_csv_put(out, added[which]);
    tn_csv_line(out);
    return put_rows(b, NULL, out);
}

static tn_status put_json(const batch *b, tn_buffer *out) {
    tn_json json;
    tn_json_begin(&json, out);
    tn_json_object(&json);
    tn_json_key(&json, "rows");
    tn_json_array(&json);
    TN_TRY(put_rows(b, &json, out));
    tn_json_end(&json);
    tn_json_end(&json);
    return TN_OK;
}

tn_status tn_order_batch(const tn_csv *csv, const tn_search_options *search, bool as_json, tn_buffer *out,
                         tn_error *error) {
    batch b = {.csv = csv, .search = search, .error = error};
    TN_TRY(find_columns(&b));
    TN_TRY(as_json ? put_json(&b, out) : put_csv(&b, out));
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory for the answer");
}
