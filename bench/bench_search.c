/* Times the search on binary trees and caterpillars (bench/trees.csv, closed and with legs), on random closed networks of 40
 * tensors of three indices each, and on every network of the reference data beside the times of the Python tools in its file:
 * the search alone, single thread, outer products on, median of many runs. */
#include "base/clock.h"
#include "base/random.h"
#include "flow/search.h"
#include "tensor/einsum.h"
#include "text/csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS_MOST = 2001, RUNS_LEAST = 11 };
static const double SECONDS_PER_ROW = 0.3;

static int by_value(const void *a, const void *b) {
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

static tn_status median_seconds(const tn_network *network, double *median, tn_search_result *result,
                                tn_error *error) {
    static double seconds[RUNS_MOST];
    size_t runs = 0;
    tn_arena arena = {0};
    tn_status status = TN_OK;
    for (double spent = 0;
         status == TN_OK && runs < RUNS_MOST && (runs < RUNS_LEAST || spent < SECONDS_PER_ROW); runs++) {
        tn_arena_reset(&arena);
        double start = tn_clock_seconds();
        status = tn_search(network, NULL, &arena, result, error);
        seconds[runs] = tn_clock_seconds() - start;
        spent += seconds[runs];
    }
    qsort(seconds, runs, sizeof *seconds, by_value);
    *median = seconds[runs / 2];
    tn_arena_free(&arena);
    return status;
}

static const char *cell_text(const tn_csv *csv, size_t row, const char *column) {
    size_t place = tn_csv_column(csv, column);
    return place == csv->columns ? "" : tn_csv_at(csv, row, place)->text;
}

static tn_status time_row(const tn_csv *csv, size_t row, tn_error *error) {
    tn_arena arena = {0};
    tn_network network;
    tn_search_result result;
    double median = 0;
    tn_status status =
        tn_einsum_parse(cell_text(csv, row, "einsum"), (tn_position){0}, &arena, &network, error);
    if (status == TN_OK)
        status = tn_einsum_json_sizes(cell_text(csv, row, "sizes(json)"), (tn_position){0}, &network, error);
    if (status == TN_OK) status = median_seconds(&network, &median, &result, error);
    if (status == TN_OK)
        printf("%-24s %7" PRIu32 " %14" PRIu64 " %8s %8" PRIu64 " %12.4f %14s %12s %12s\n",
               cell_text(csv, row, "name"), network.tensors, result.cost.macs, result.exact ? "yes" : "no",
               result.work, 1e3 * median, cell_text(csv, row, "time_ms_opt_einsum_dp"),
               cell_text(csv, row, "time_ms_optimal"), cell_text(csv, row, "time_ms_cotengra"));
    tn_arena_free(&arena);
    return status;
}

static tn_status time_file(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_csv csv;
    tn_status status = tn_csv_load(path, &arena, &csv, error);
    for (size_t row = 0; status == TN_OK && row < csv.rows; row++) status = time_row(&csv, row, error);
    tn_arena_free(&arena);
    return status;
}

/* A ring through 40 tensors, and chords that give each one a third index: closed, of degree 3. */
static tn_status time_closed(uint64_t seed, uint64_t size_most, tn_error *error) {
    enum { TENSORS = 40, EDGES = 3 * TENSORS / 2 };
    uint64_t random = seed, size[EDGES];
    uint32_t edge[TENSORS][3], left[TENSORS], edges = 0;
    tn_indices tensor[TENSORS];
    tn_search_result result;
    tn_arena arena = {0};
    tn_network network = {.tensors = TENSORS, .indices = EDGES, .index_size = size, .tensor = tensor};
    for (uint32_t i = 0; i < EDGES; i++) size[i] = 2 + tn_splitmix_below(&random, (uint32_t)size_most - 1);
    for (uint32_t t = 0; t < TENSORS; t++) {
        edge[t][0] = edges++;
        edge[(t + 1) % TENSORS][1] = edge[t][0];
        left[t] = t;
        tensor[t] = (tn_indices){3, edge[t]};
    }
    for (uint32_t count = TENSORS; count; count--) {
        uint32_t place = tn_splitmix_below(&random, count), t = left[place];
        left[place] = left[count - 1];
        edge[t][2] = edges + (TENSORS - count) / 2;
    }
    double start = tn_clock_seconds();
    tn_status status = tn_search(&network, NULL, &arena, &result, error);
    if (status == TN_OK)
        printf("closed, sizes 2 to %-5" PRIu64 " %7d %14" PRIu64 " %8s %8" PRIu64 " %12.1f\n", size_most,
               TENSORS, result.cost.macs, result.exact ? "yes" : "no", result.work,
               1e3 * (tn_clock_seconds() - start));
    tn_arena_free(&arena);
    return status;
}

/* The given files; else the trees here and, where it lies beside the source tree, the reference data. */
int main(int argc, char **argv) {
    static const char *const usual[] = {BENCH_SOURCE_DIR "/bench/trees.csv",
                                        BENCH_SHARED_DIR "/oracles/order/optimal_flows.csv"};
    tn_error error = {0};
    tn_status status = TN_OK;
    printf("%-24s %7s %14s %8s %8s %12s %14s %12s %12s\n", "network", "tensors", "MACs", "proven", "pairs",
           "tenfold, ms", "opt_einsum dp", "its optimal", "cotengra");
    for (int i = 1; status == TN_OK && i < argc; i++) status = time_file(argv[i], &error);
    for (int i = 0; status == TN_OK && argc == 1 && i < 2; i++) status = time_file(usual[i], &error);
    for (uint64_t seed = 1; status == TN_OK && argc == 1 && seed <= 6; seed++)
        status = time_closed(seed, seed % 2 ? 2 : 5, &error);
    if (status == TN_OK) return 0;
    fprintf(stderr, "bench_search: %s\n", error.message);
    return 1;
}
