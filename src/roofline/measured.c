/* Measured products: read, divided in halves, compared with what a roofline predicts. */
#include "base/random.h"
#include "roofline/fit.h"
#include "text/csv.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 100000 };

typedef struct {
    size_t precision, m, n, k, us[TN_ROOFLINE_TIMES];
} columns;

static tn_status find_columns(const tn_csv *csv, columns *at, tn_error *error) {
    static const char *const names[] = {"dtype", "M", "N", "K"};
    size_t found[4];
    TN_TRY(tn_csv_columns(csv, names, 4, false, found, error));
    *at = (columns){found[0],
                    found[1],
                    found[2],
                    found[3],
                    {tn_csv_column(csv, "graph_us"), tn_csv_column(csv, "eager_us")}};
    if (at->us[TN_TIME_GRAPH] == csv->columns && at->us[TN_TIME_EAGER] == csv->columns)
        return tn_fail_at(error, TN_INPUT, (tn_position){csv->file, 1, 1},
                          "no measured times; a column graph_us or eager_us holds them");
    return TN_OK;
}

static tn_status read_row(const tn_csv *csv, size_t row, const columns *at, const tn_roofline *roofline,
                          tn_roofline_measurement *out, tn_error *error) {
    const tn_csv_cell *name = tn_csv_at(csv, row, at->precision);
    tn_error unplaced;
    if (tn_roofline_precision_find(roofline, name->text, &out->precision, &unplaced) != TN_OK)
        return tn_fail_at(error, TN_INPUT, name->at, "%s", unplaced.message);
    out->product.batch = 1;
    TN_TRY(tn_csv_count(csv, row, at->m, 1, TN_ROOFLINE_MOST_SIZE, &out->product.m, error));
    TN_TRY(tn_csv_count(csv, row, at->n, 1, TN_ROOFLINE_MOST_SIZE, &out->product.n, error));
    TN_TRY(tn_csv_count(csv, row, at->k, 1, TN_ROOFLINE_MOST_SIZE, &out->product.k, error));
    for (size_t time = 0; time < TN_ROOFLINE_TIMES; time++)
        if (at->us[time] < csv->columns)
            TN_TRY(tn_csv_real(csv, row, at->us[time], 1e-6, 1e12, &out->us[time], error));
    return TN_OK;
}

tn_status tn_roofline_measurements_load(const char *path, const tn_roofline *roofline, tn_arena *arena,
                                        tn_roofline_measurements *data, tn_error *error) {
    tn_csv csv;
    columns at;
    tn_roofline_measurements made = {0};
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    TN_TRY(find_columns(&csv, &at, error));
    if (csv.rows > MOST_ROWS)
        return tn_fail(error, TN_LIMIT, "%s: %zu rows; at most %d are read", path, csv.rows, MOST_ROWS);
    TN_TRY(tn_arena_alloc(arena, csv.rows, sizeof *made.row, &made.row, error));
    made.count = csv.rows;
    /* The bare name: a device file says what it was fitted to, not where that lay. */
    const char *slash = strrchr(path, '/');
    TN_TRY(tn_arena_copy_text(arena, slash ? slash + 1 : path, strlen(slash ? slash + 1 : path), &made.file,
                              error));
    for (size_t row = 0; row < csv.rows; row++)
        TN_TRY(read_row(&csv, row, &at, roofline, &made.row[row], error));
    *data = made;
    return TN_OK;
}

tn_status tn_roofline_error(const tn_roofline *roofline, const tn_roofline_measurements *data,
                            const bool *take, const char *precision, tn_roofline_time time, tn_arena *arena,
                            double *median, size_t *rows, tn_error *error) {
    double *errors;
    size_t count = 0;
    TN_TRY(tn_arena_alloc(arena, data->count, sizeof *errors, &errors, error));
    for (size_t i = 0; i < data->count; i++) {
        const tn_roofline_measurement *row = &data->row[i];
        double us;
        if ((take && !take[i]) || row->us[time] == 0 || strcmp(row->precision->name, precision) != 0)
            continue;
        TN_TRY(tn_roofline_predict(roofline, precision, time, &row->product, &us, error));
        errors[count++] = fabs(us / row->us[time] - 1);
    }
    *rows = count;
    *median = count ? gsl_stats_median(errors, 1, count) : 0;
    return TN_OK;
}

/* Rows of each precision in turn: `order` holds their places, shuffled or not. */
static void hold_out_every_second(const size_t *order, size_t count, size_t first, bool *held_out) {
    for (size_t i = first; i < count; i += 2) held_out[order[i]] = true;
}

tn_status tn_roofline_split(const tn_roofline_measurements *data, uint64_t number, uint64_t seed,
                            bool *held_out, tn_arena *arena, tn_error *error) {
    size_t *order;
    TN_TRY(tn_arena_alloc(arena, data->count, sizeof *order, &order, error));
    tn_random *random;
    TN_TRY(tn_random_open(seed * 1000 + number, &random, error));
    memset(held_out, 0, data->count * sizeof *held_out);
    for (size_t first = 0; first < data->count; first++) {
        size_t count = 0;
        bool seen = false;
        for (size_t i = 0; i < first && !seen; i++)
            seen = data->row[i].precision == data->row[first].precision;
        if (seen) continue;
        for (size_t i = first; i < data->count; i++)
            if (data->row[i].precision == data->row[first].precision) order[count++] = i;
        if (number > 1) tn_random_shuffle(random, order, count, sizeof *order);
        hold_out_every_second(order, count, number == 0, held_out);
    }
    tn_random_close(random);
    return TN_OK;
}
