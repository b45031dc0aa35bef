/* The keys of a device file of kind roofline. */
#include "base/random.h"
#include "device/device_data.h"
#include "roofline/fit.h"
#include "roofline/roofline.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/yaml.h"

#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Measured products: read, divided in halves, compared with what a roofline predicts. */

enum { MOST_ROWS = 100000 };

typedef struct {
    size_t precision, m, n, k, us[TN_ROOFLINE_TIMES];
} columns;

static tn_status find_columns(const tn_csv *csv, columns *table, tn_error *error) {
    static const char *const names[] = {"dtype", "M", "N", "K"};
    size_t found[4];
    TN_TRY(tn_csv_columns(csv, names, 4, false, found, error));
    *table = (columns){found[0],
                       found[1],
                       found[2],
                       found[3],
                       {tn_csv_column(csv, "graph_us"), tn_csv_column(csv, "eager_us")}};
    if (table->us[TN_TIME_GRAPH] == csv->columns && table->us[TN_TIME_EAGER] == csv->columns)
        return tn_fail_at(error, TN_INPUT, (tn_position){csv->file, 1, 1},
                          "no measured times; a column graph_us or eager_us holds them");
    return TN_OK;
}

static tn_status read_row(const tn_csv *csv, size_t row, const columns *table, const tn_roofline *roofline,
                          tn_roofline_measurement *out, tn_error *error) {
    const tn_csv_cell *name = tn_csv_at(csv, row, table->precision);
    tn_error unplaced;
    if (tn_roofline_precision_find(roofline, name->text, &out->precision, &unplaced) != TN_OK)
        return tn_fail_at(error, TN_INPUT, name->position, "%s", unplaced.message);
    out->product.batch = 1;
    TN_TRY(tn_csv_count(csv, row, table->m, 1, TN_ROOFLINE_MOST_SIZE, &out->product.m, error));
    TN_TRY(tn_csv_count(csv, row, table->n, 1, TN_ROOFLINE_MOST_SIZE, &out->product.n, error));
    TN_TRY(tn_csv_count(csv, row, table->k, 1, TN_ROOFLINE_MOST_SIZE, &out->product.k, error));
    for (size_t time = 0; time < TN_ROOFLINE_TIMES; time++)
        if (table->us[time] < csv->columns)
            TN_TRY(tn_csv_real(csv, row, table->us[time], 1e-6, 1e12, &out->us[time], error));
    return TN_OK;
}

tn_status tn_roofline_measurements_load(const char *path, const tn_roofline *roofline, tn_arena *arena,
                                        tn_roofline_measurements *data, tn_error *error) {
    tn_csv csv;
    columns table;
    tn_roofline_measurements made = {0};
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    TN_TRY(find_columns(&csv, &table, error));
    if (csv.rows > MOST_ROWS)
        return tn_fail(error, TN_LIMIT, "%s: %zu rows; at most %d are read", path, csv.rows, MOST_ROWS);
    TN_TRY(TN_NEW(arena, csv.rows, &made.row, error));
    made.count = csv.rows;
    /* The bare name: a device file says what it was fitted to, not where that lay. */
    const char *slash = strrchr(path, '/');
    TN_TRY(tn_arena_copy_text(arena, slash ? slash + 1 : path, strlen(slash ? slash + 1 : path), &made.file,
                              error));
    for (size_t row = 0; row < csv.rows; row++)
        TN_TRY(read_row(&csv, row, &table, roofline, &made.row[row], error));
    *data = made;
    return TN_OK;
}

tn_status tn_roofline_error(const tn_roofline *roofline, const tn_roofline_measurements *data,
                            const bool *take, const char *precision, tn_roofline_time time, tn_arena *arena,
                            double *median, size_t *rows, tn_error *error) {
    double *errors;
    size_t count = 0;
    TN_TRY(TN_NEW(arena, data->count, &errors, error));
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
    TN_TRY(TN_NEW(arena, data->count, &order, error));
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

/* The laws of a roofline as YAML. */

enum { LINE = 100, INDENT = 10 };

static void put_real(tn_buffer *out, const char *key, double value) {
    char text[40];
    tn_real_text(value, text, sizeof text);
    tn_buffer_format(out, "      %s: %s\n", key, text);
}

/* A list of numbers over as many lines as it takes. */
typedef struct {
    tn_buffer *out;
    size_t column, items;
} list;

static void begin_list(list *l, tn_buffer *out, const char *key) {
    tn_buffer_format(out, "        %s: [", key);
    *l = (list){out, INDENT + strlen(key) + 1, 0};
}

static void add(list *l, const char *text) {
    size_t length = strlen(text);
    if (l->items++) tn_buffer_text(l->out, ",");
    if (l->column + length + 2 > LINE) {
        tn_buffer_format(l->out, "\n%*s", INDENT, "");
        l->column = INDENT;
    } else if (l->items > 1) {
        tn_buffer_text(l->out, " ");
    }
    tn_buffer_text(l->out, text);
    l->column += length + 2;
}

static void end_list(list *l) {
    tn_buffer_text(l->out, "]\n");
}

static void put_counts(tn_buffer *out, const char *key, const tn_count_list *values) {
    list l;
    begin_list(&l, out, key);
    for (size_t i = 0; i < values->count; i++) {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, values->item[i]);
        add(&l, text);
    }
    end_list(&l);
}

static void put_reals(tn_buffer *out, const char *key, const tn_real_list *values) {
    list l;
    begin_list(&l, out, key);
    for (size_t i = 0; i < values->count; i++) {
        char text[40];
        tn_real_text(values->item[i], text, sizeof text);
        add(&l, text);
    }
    end_list(&l);
}

static void put_surface(tn_buffer *out, const tn_roofline_surface *s) {
    char mean[40], noise[40];
    tn_real_text(s->mean, mean, sizeof mean);
    tn_real_text(s->noise, noise, sizeof noise);
    tn_buffer_format(out, "      surface:\n        mean: %s\n        noise: %s\n", mean, noise);
    put_reals(out, "scale", &s->scale);
    put_counts(out, "m", &s->m);
    put_counts(out, "n", &s->n);
    put_counts(out, "k", &s->k);
    put_reals(out, "weight", &s->weight);
}

static void put_law(tn_buffer *out, const tn_roofline_law *law) {
    tn_yaml_put(out, 4, "- precision", law->precision);
    tn_yaml_put(out, 6, "time", tn_roofline_time_names[law->time]);
    tn_yaml_put(out, 6, "origin", tn_origin_names[law->origin]);
    if (law->source) tn_yaml_put(out, 6, "source", law->source);
    if (law->time == TN_TIME_EAGER) {
        put_real(out, "host_us", law->host_us);
        put_real(out, "misaligned_host", law->misaligned_host);
        put_real(out, "gap_us", law->gap_us);
    } else {
        tn_buffer_format(out, "      tile: %" PRIu64 "\n      split_depth: %" PRIu64 "\n", law->tile,
                         law->split_depth);
        put_real(out, "launch_us", law->launch_us);
        put_real(out, "vector_launch", law->vector_launch);
        put_real(out, "misaligned_launch", law->misaligned_launch);
        put_real(out, "pipeline_us", law->pipeline_us);
        put_real(out, "compute_efficiency", law->compute_efficiency);
        put_real(out, "misaligned_compute", law->misaligned_compute);
        put_real(out, "cache_gain", law->cache_gain);
    }
    if (law->surface.m.count) put_surface(out, &law->surface);
}

void tn_roofline_write_laws(const tn_roofline *roofline, tn_buffer *out) {
    const tn_roofline_law *laws = roofline->laws.item;
    tn_buffer_text(out, "  laws:\n");
    for (size_t i = 0; i < roofline->laws.count; i++) put_law(out, &laws[i]);
}

const char *const tn_roofline_time_names[] = {"graph", "eager", NULL};
static const char *const kind_names[] = {"fpga", "roofline", NULL};

static const tn_field surface_fields[] = {
    TN_KEY(REAL, tn_roofline_surface, mean, "logarithm of measured over law far from every measured shape",
           TN_WITHIN(-50, 50)),
    TN_KEY(REAL, tn_roofline_surface, noise, "variance of a measurement beside that of the surface",
           TN_WITHIN(0, 1e4)),
    TN_KEY(REAL_LIST, tn_roofline_surface, scale,
           "inverse lengths along log2 M, N, K; halvings of N, of K (up to 3), of both; M = 1, N = 1, K = 1; "
           "log2 M N, 1 + flops / 2^27, 1 + elements / 2^21",
           TN_WITHIN(0, 1e4)),
    TN_KEY(COUNT_LIST, tn_roofline_surface, m, "M of the measured products", TN_WITHIN(1, 2147483648.0)),
    TN_KEY(COUNT_LIST, tn_roofline_surface, n, "their N", TN_WITHIN(1, 2147483648.0)),
    TN_KEY(COUNT_LIST, tn_roofline_surface, k, "their K", TN_WITHIN(1, 2147483648.0)),
    TN_KEY(REAL_LIST, tn_roofline_surface, weight, "their weights", TN_WITHIN(-1e6, 1e6)),
};
static const tn_schema surface_schema =
    TN_SCHEMA("device.roofline.law.surface", tn_roofline_surface, surface_fields);

static const tn_field law_fields[] = {
    TN_KEY(TEXT, tn_roofline_law, precision, "one of `precisions`", TN_REQUIRED),
    TN_KEY(CHOICE, tn_roofline_law, time,
           "graph: a kernel in a replayed graph; eager: a product launched by its host", TN_REQUIRED,
           TN_ONE_OF(tn_roofline_time_names)),
    TN_KEY(CHOICE, tn_roofline_law, origin, "how the coefficients are known", TN_DEFAULT("unverified"),
           TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT, tn_roofline_law, source, "what they were fitted to"),
    TN_KEY(COUNT, tn_roofline_law, tile,
           "edge of the tile of outputs that a multiprocessor computes at a time", TN_DEFAULT("64"),
           TN_WITHIN(1, 4096)),
    TN_KEY(COUNT, tn_roofline_law, split_depth,
           "least terms of the reduction in a part, where free multiprocessors share one tile",
           TN_DEFAULT("256"), TN_WITHIN(1, 1e6)),
    TN_KEY(REAL, tn_roofline_law, launch_us, "of a kernel, microseconds", TN_DEFAULT("0"),
           TN_WITHIN(0, TN_ROOFLINE_MOST_US)),
    TN_KEY(REAL, tn_roofline_law, vector_launch, "its factor where M or N is 1", TN_DEFAULT("1"),
           TN_WITHIN(TN_ROOFLINE_LEAST_FACTOR, TN_ROOFLINE_MOST_FACTOR)),
    TN_KEY(REAL, tn_roofline_law, misaligned_launch, "its factor where rows are no multiple of 16 bytes",
           TN_DEFAULT("1"), TN_WITHIN(TN_ROOFLINE_LEAST_FACTOR, TN_ROOFLINE_MOST_FACTOR)),
    TN_KEY(REAL, tn_roofline_law, pipeline_us,
           "for every doubling of 1 + K/16: filling and emptying the pipeline, joining parts, microseconds",
           TN_DEFAULT("0"), TN_WITHIN(0, TN_ROOFLINE_MOST_US)),
    TN_KEY(REAL, tn_roofline_law, compute_efficiency, "share of the peak that whole waves of tiles reach",
           TN_DEFAULT("1"), TN_WITHIN(TN_ROOFLINE_LEAST_FACTOR, TN_ROOFLINE_MOST_FACTOR)),
    TN_KEY(REAL, tn_roofline_law, misaligned_compute,
           "factor on computing for each halving of the rows' alignment below 16 bytes", TN_DEFAULT("1"),
           TN_WITHIN(TN_ROOFLINE_LEAST_FACTOR, TN_ROOFLINE_MOST_FACTOR)),
    TN_KEY(REAL, tn_roofline_law, cache_gain,
           "bandwidth of operands that the cache holds, over that of the memory", TN_DEFAULT("1"),
           TN_WITHIN(TN_ROOFLINE_LEAST_FACTOR, TN_ROOFLINE_MOST_FACTOR)),
    TN_KEY(REAL, tn_roofline_law, host_us, "eager: what the host needs for a launch, microseconds",
           TN_DEFAULT("0"), TN_WITHIN(0, TN_ROOFLINE_MOST_US)),
    TN_KEY(REAL, tn_roofline_law, misaligned_host, "its factor where rows are no multiple of 16 bytes",
           TN_DEFAULT("1"), TN_WITHIN(TN_ROOFLINE_LEAST_FACTOR, TN_ROOFLINE_MOST_FACTOR)),
    TN_KEY(REAL, tn_roofline_law, gap_us,
           "eager: between kernels that the host does not hold up, microseconds", TN_DEFAULT("0"),
           TN_WITHIN(0, TN_ROOFLINE_MOST_US)),
    TN_KEY(MAPPING, tn_roofline_law, surface, "what the shape does beyond the law; absent: nothing",
           .sub = &surface_schema),
};
static const tn_schema law_schema = TN_SCHEMA("device.roofline.law", tn_roofline_law, law_fields);

static const tn_field precision_fields[] = {
    TN_KEY(REAL, tn_roofline_precision, peak_TFLOPS, "dense peak, 1e12 flops/s (a multiply-add is 2)",
           TN_REQUIRED, TN_WITHIN(1e-6, 1e6)),
    TN_KEY(REAL, tn_roofline_precision, efficiency,
           "share of the peak that large products reach here, in place of the law's compute_efficiency; 0: "
           "the law's",
           TN_DEFAULT("0"), TN_WITHIN(0, 1)),
    TN_KEY(COUNT, tn_roofline_precision, element_bytes, "of an element", TN_REQUIRED, TN_WITHIN(1, 16)),
    TN_KEY(CHOICE, tn_roofline_precision, origin, "how the peak is known", TN_DEFAULT("unverified"),
           TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT, tn_roofline_precision, source, "where it was read"),
};
static const tn_schema precision_schema =
    TN_SCHEMA("device.roofline.precision", tn_roofline_precision, precision_fields);

static const tn_field roofline_fields[] = {
    TN_KEY(COUNT, tn_roofline, multiprocessors, "streaming multiprocessors, or cores", TN_REQUIRED,
           TN_WITHIN(1, 1e6)),
    TN_KEY(REAL, tn_roofline, bandwidth_GBps, "of the memory, 1e9 bytes/s", TN_REQUIRED,
           TN_WITHIN(1e-3, 1e6)),
    TN_KEY(COUNT, tn_roofline, memory_bytes, "its size", TN_REQUIRED, TN_WITHIN(1, 1e15)),
    TN_KEY(COUNT, tn_roofline, cache_bytes, "last-level cache", TN_REQUIRED, TN_WITHIN(0, 1e12)),
    TN_KEY(REAL, tn_roofline, host_us_per_kernel,
           "what the host needs for each kernel of a training step as launched; 0: not known",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(REAL, tn_roofline, host_us_per_operation,
           "what the host needs for each operation of a launched step but those below; 0: not known",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(REAL, tn_roofline, host_us_per_contraction,
           "what it needs for each product inside a layer whose weight is in a tensor format",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(REAL, tn_roofline, kernels_per_operation, "kernels that such an operation launches",
           TN_DEFAULT("1"), TN_WITHIN(1, 1e3)),
    TN_KEY(REAL, tn_roofline, kernels_per_contraction, "kernels that such a product launches",
           TN_DEFAULT("1"), TN_WITHIN(1, 1e3)),
    TN_KEY(REAL_LIST, tn_roofline, host_factor,
           "least and greatest factor that the host's times may be off by; absent: none",
           TN_WITHIN(1e-3, 1e3)),
    TN_KEY(REAL, tn_roofline, step_power_W,
           "mean power of the board over a launched training step; 0: not known", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e5)),
    TN_KEY(REAL_LIST, tn_roofline, step_power_range_W, "its least and greatest; absent: itself",
           TN_WITHIN(0, 1e5)),
    TN_KEY(REAL, tn_roofline, load_power_W,
           "power of the board where kernels reach its peak or its bandwidth without a gap; 0: the greatest "
           "of step_power_range_W",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e5)),
    TN_KEY(REAL_LIST, tn_roofline, graph_factor,
           "least and greatest factor that a step as a graph may be off by; absent: none",
           TN_WITHIN(1e-3, 1e3)),
    TN_KEY(CHOICE, tn_roofline, origin, "how the figures are known", TN_DEFAULT("unverified"),
           TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT_LIST, tn_roofline, unverified, "keys of this mapping that are not as sure as `origin` says"),
    TN_KEY(TEXT, tn_roofline, source, "where they were read"),
    TN_KEY(TABLE, tn_roofline, precisions, "peaks by precision", TN_REQUIRED, .sub = &precision_schema),
    TN_KEY(LIST, tn_roofline, laws, "times of products; `tenfold roofline fit` writes them",
           .sub = &law_schema),
};
const tn_schema tn_roofline_schema = TN_SCHEMA("device.roofline", tn_roofline, roofline_fields);

/* The whole file: only what names it, and the mapping above. */
typedef struct roofline_device {
    uint32_t kind;
    const char *name, *title, *about, *inherit, *variant;
    const tn_yaml *variants;
    tn_roofline roofline;
} roofline_device;

#define TEXT(name, meaning) TN_KEY(TEXT, roofline_device, name, meaning)
static const tn_field device_fields[] = {
    TN_KEY(CHOICE, roofline_device, kind, "roofline", TN_REQUIRED, TN_ONE_OF(kind_names)),
    TN_KEY(TEXT, roofline_device, name, "as results call it", TN_REQUIRED),
    TEXT(title, "for people"),
    TEXT(about, "a remark"),
    TEXT(inherit, "device (bare name) or file (path from this file's folder) that this one overrides"),
    TEXT(variant, "the one of `variants` that is taken; NAME@VARIANT chooses another"),
    TN_KEY(NODE, roofline_device, variants, "named mappings of keys that override those of the file"),
    TN_KEY(MAPPING, roofline_device, roofline, "peaks, bandwidth and laws", TN_REQUIRED,
           .sub = &tn_roofline_schema),
};
const tn_schema tn_roofline_device_schema = TN_SCHEMA("device (roofline)", roofline_device, device_fields);

/* Gives an error that was found without its place the place. */
static tn_status placed(tn_error *error, tn_position position) {
    if (!error) return TN_INPUT;
    snprintf(error->file, sizeof error->file, "%s", position.file ? position.file : "");
    error->line = position.line;
    error->column = position.column;
    return error->status;
}

/* What the schema can't say: every law is of a known precision, comes once, and its surface is whole; every
 * eager law has its graph law. */
static tn_status check_laws(const tn_roofline *r, const tn_yaml *nodes, tn_arena *arena, tn_error *error) {
    tn_roofline_law *laws = r->laws.item;
    for (size_t i = 0; i < r->laws.count; i++) {
        tn_position position = nodes->item[i]->position;
        const tn_roofline_precision *precision;
        const tn_roofline_law *first, *graph;
        tn_status status = tn_roofline_precision_find(r, laws[i].precision, &precision, error);
        if (status == TN_OK) status = tn_roofline_law_find(r, laws[i].precision, laws[i].time, &first, error);
        if (status == TN_OK && laws[i].time == TN_TIME_EAGER)
            status = tn_roofline_law_find(r, laws[i].precision, TN_TIME_GRAPH, &graph, error);
        if (status != TN_OK) return placed(error, position);
        if (first != &laws[i])
            return tn_fail_at(error, TN_INPUT, position, "a second law for %s times of %s; one is enough",
                              tn_roofline_time_names[laws[i].time], laws[i].precision);
        TN_TRY(tn_roofline_surface_make(&laws[i].surface, position, arena, error));
    }
    return TN_OK;
}

/* A range is its two ends, least first. */
static tn_status check_range(const tn_yaml *roofline, const char *key, const tn_real_list *range,
                             tn_error *error) {
    if (range->count == 0 || (range->count == 2 && range->item[0] <= range->item[1])) return TN_OK;
    return tn_fail_at(error, TN_INPUT, tn_yaml_get(roofline, key)->position,
                      "%s is a range, [least, greatest]; this is none", key);
}

tn_status tn_roofline_of(const tn_device *device, tn_arena *arena, tn_roofline **roofline, tn_error *error) {
    const tn_yaml *root = tn_device_root(device);
    if (tn_device_kind_of(device) != TN_DEVICE_ROOFLINE)
        return tn_fail_at(error, TN_INPUT, root->position,
                          "device %s is no roofline device; h200, a100 and others are",
                          tn_device_name(device));
    roofline_device *whole;
    TN_TRY(TN_NEW(arena, 1, &whole, error));
    TN_TRY(tn_schema_decode(&tn_roofline_device_schema, root, arena, whole, error));
    whole->roofline.name = tn_device_name(device);
    const tn_yaml *laws = tn_yaml_get(tn_yaml_get(root, "roofline"), "laws");
    const tn_yaml *own = tn_yaml_get(root, "roofline");
    TN_TRY(check_range(own, "host_factor", &whole->roofline.host_factor, error));
    TN_TRY(check_range(own, "step_power_range_W", &whole->roofline.step_power_range_W, error));
    TN_TRY(check_range(own, "graph_factor", &whole->roofline.graph_factor, error));
    if (laws) TN_TRY(check_laws(&whole->roofline, laws, arena, error));
    *roofline = &whole->roofline;
    return TN_OK;
}
