/* The fit of rooflines: it finds laws that are known, keeps the bars on products measured on a GPU that it
 * has not seen, and what it writes reads back the same. */
#include "base/file.h"
#include "base/memory.h"
#include "roofline/fit.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const tn_roofline_fit_options options = TN_ROOFLINE_FIT_DEFAULTS;
static char path[] = "/tmp/tenfold-fit-XXXXXX";

static int set_up(void **state) {
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int tear_down(void **state) {
    (void)state;
    return unlink(path);
}

static void write_text(const char *text) {
    assert_int_equal(tn_file_write(path, text, strlen(text), NULL), TN_OK);
}

static tn_roofline *load(const char *file, tn_arena *arena) {
    tn_device *device;
    tn_roofline *roofline = NULL;
    tn_error error = {0};
    if (tn_device_load(file, NULL, 0, arena, &device, &error) != TN_OK ||
        tn_roofline_of(device, arena, &roofline, &error) != TN_OK)
        fail_msg("%s:%u: %s", error.file, error.line, error.message);
    return roofline;
}

static tn_roofline *data_sheet(tn_arena *arena) {
    return load(test_source("models/devices/families/h200.yaml"), arena);
}

/* --- Made-up measurements of a law that is known, on shapes drawn at random. */

enum { ROWS = 120 };

static uint64_t random_size(void) {
    return 1 + (uint64_t)floor(pow(2, 12.0 * rand() / RAND_MAX));
}

static void make_up(const tn_roofline *roofline, const tn_roofline_law *graph, const tn_roofline_law *eager,
                    tn_roofline_measurement *row) {
    const tn_roofline_precision *precision;
    assert_int_equal(tn_roofline_precision_find(roofline, "fp32", &precision, NULL), TN_OK);
    for (size_t i = 0; i < ROWS; i++) {
        row[i] = (tn_roofline_measurement){.precision = precision,
                                           .product = {1, random_size(), random_size(), random_size()}};
        double noise = 1 + 0.02 * (2.0 * rand() / RAND_MAX - 1);
        row[i].us[TN_TIME_GRAPH] =
            noise * tn_roofline_law_us(roofline, precision, graph, NULL, &row[i].product);
        row[i].us[TN_TIME_EAGER] =
            noise * tn_roofline_law_us(roofline, precision, eager, graph, &row[i].product);
    }
}

static void finds_a_known_law(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_roofline *roofline = data_sheet(&arena), fitted;
    const tn_roofline_law graph = {.precision = "fp32",
                                   .time = TN_TIME_GRAPH,
                                   .tile = 64,
                                   .split_depth = 256,
                                   .launch_us = 5,
                                   .vector_launch = 0.6,
                                   .misaligned_launch = 1.3,
                                   .pipeline_us = 0.5,
                                   .compute_efficiency = 0.7,
                                   .misaligned_compute = 1.4,
                                   .cache_gain = 0.8};
    const tn_roofline_law eager = {
        .precision = "fp32", .time = TN_TIME_EAGER, .host_us = 15, .misaligned_host = 1.2, .gap_us = 3};
    tn_roofline_measurement row[ROWS], other[ROWS];
    tn_roofline_measurements data = {ROWS, row, "made up"}, unseen = {ROWS, other, "made up"};
    srand(1);
    make_up(roofline, &graph, &eager, row);
    make_up(roofline, &graph, &eager, other);
    assert_int_equal(tn_roofline_fit(roofline, &data, NULL, &options, &arena, &fitted, NULL), TN_OK);
    assert_int_equal(fitted.laws.count, 2);
    const tn_roofline_law *found;
    assert_int_equal(tn_roofline_law_find(&fitted, "fp32", TN_TIME_GRAPH, &found, NULL), TN_OK);
    assert_int_equal(found->tile, graph.tile);
    assert_int_equal(found->split_depth, graph.split_depth);
    assert_true(fabs(found->launch_us / graph.launch_us - 1) < 0.1);
    assert_true(fabs(found->compute_efficiency / graph.compute_efficiency - 1) < 0.1);
    assert_int_equal(tn_roofline_law_find(&fitted, "fp32", TN_TIME_EAGER, &found, NULL), TN_OK);
    assert_true(fabs(found->host_us / eager.host_us - 1) < 0.1);
    assert_true(fabs(found->misaligned_host / eager.misaligned_host - 1) < 0.1);
    for (int time = 0; time < TN_ROOFLINE_TIMES; time++) {
        double median;
        size_t rows;
        assert_int_equal(tn_roofline_error(&fitted, &unseen, NULL, "fp32", (tn_roofline_time)time, &arena,
                                           &median, &rows, NULL),
                         TN_OK);
        assert_int_equal(rows, ROWS);
        assert_true(median < 0.03);
    }
    tn_arena_free(&arena);
}

/* --- Measured on an H200. */

static const double bar[TN_ROOFLINE_TIMES] = {[TN_TIME_GRAPH] = 0.15, [TN_TIME_EAGER] = 0.10};

static void held_out_halves(void **state) {
    (void)state;
    const char *file = test_shared_or_skip("oracles/gpu/h200_matmul.csv");
    tn_arena arena = {0};
    tn_roofline *roofline = data_sheet(&arena);
    tn_roofline_measurements data;
    bool *held_out;
    assert_int_equal(tn_roofline_measurements_load(file, roofline, &arena, &data, NULL), TN_OK);
    assert_int_equal(TN_NEW(&arena, data.count, &held_out, NULL), TN_OK);
    for (uint64_t split = 0; split < 3; split++) {
        tn_roofline fitted;
        assert_int_equal(tn_roofline_split(&data, split, 1, held_out, &arena, NULL), TN_OK);
        assert_int_equal(tn_roofline_fit(roofline, &data, held_out, &options, &arena, &fitted, NULL), TN_OK);
        const tn_roofline_law *law = fitted.laws.item;
        assert_int_equal(fitted.laws.count, 4);
        for (size_t i = 0; i < fitted.laws.count; i++) {
            double median;
            size_t rows;
            tn_roofline_time time = (tn_roofline_time)law[i].time;
            assert_int_equal(tn_roofline_error(&fitted, &data, held_out, law[i].precision, time, &arena,
                                               &median, &rows, NULL),
                             TN_OK);
            print_message("held out half %d, %s %s: median relative error %.1f %% over %zu rows\n",
                          (int)split, law[i].precision, tn_roofline_time_names[time], 100 * median, rows);
            assert_true(rows >= 100);
            assert_true(median <= bar[time]);
        }
    }
    tn_arena_free(&arena);
}

/* The device file of the tree was fitted to all rows, so its error there is small. */
static void device_of_the_tree(void **state) {
    (void)state;
    const char *file = test_shared_or_skip("oracles/gpu/h200_matmul.csv");
    tn_arena arena = {0};
    tn_roofline *roofline = load(test_source("models/devices/h200.yaml"), &arena);
    tn_roofline_measurements data;
    assert_int_equal(tn_roofline_measurements_load(file, roofline, &arena, &data, NULL), TN_OK);
    const tn_roofline_law *law = roofline->laws.item;
    assert_int_equal(roofline->laws.count, 4);
    for (size_t i = 0; i < roofline->laws.count; i++) {
        double median;
        size_t rows;
        assert_int_equal(tn_roofline_error(roofline, &data, NULL, law[i].precision,
                                           (tn_roofline_time)law[i].time, &arena, &median, &rows, NULL),
                         TN_OK);
        assert_true(rows > 200 && median < 0.03);
    }
    tn_arena_free(&arena);
}

/* --- Halves. */

static void halves_are_halves(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_roofline *roofline = data_sheet(&arena);
    const tn_roofline_precision *precision = roofline->precisions.item;
    tn_roofline_measurement row[11] = {{0}};
    tn_roofline_measurements data = {11, row, "none"};
    bool first[11], second[11], random[11], again[11];
    for (size_t i = 0; i < 11; i++) row[i].precision = &precision[i % 3 == 0];
    assert_int_equal(tn_roofline_split(&data, 0, 1, first, &arena, NULL), TN_OK);
    assert_int_equal(tn_roofline_split(&data, 1, 1, second, &arena, NULL), TN_OK);
    assert_int_equal(tn_roofline_split(&data, 2, 1, random, &arena, NULL), TN_OK);
    assert_int_equal(tn_roofline_split(&data, 2, 1, again, &arena, NULL), TN_OK);
    int held[2] = {0};
    for (size_t i = 0; i < 11; i++) {
        assert_true(first[i] != second[i]);
        assert_true(random[i] == again[i]);
        held[i % 3 == 0] += random[i];
    }
    /* 7 rows of one precision, 4 of the other, each halved on its own. */
    assert_true(held[0] == 3 || held[0] == 4);
    assert_int_equal(held[1], 2);
    tn_arena_free(&arena);
}

/* --- Files. */

static void written_laws_read_back(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_roofline *roofline = data_sheet(&arena), fitted, *read;
    const tn_roofline_law graph = {.launch_us = 4,
                                   .vector_launch = 1,
                                   .misaligned_launch = 1,
                                   .tile = 32,
                                   .split_depth = 64,
                                   .compute_efficiency = 0.5,
                                   .misaligned_compute = 1,
                                   .cache_gain = 1,
                                   .pipeline_us = 0.1};
    const tn_roofline_law eager = {.host_us = 9, .misaligned_host = 1, .gap_us = 1};
    tn_roofline_measurement row[ROWS];
    tn_roofline_measurements data = {ROWS, row, "a \"strange\\name\""};
    srand(2);
    make_up(roofline, &graph, &eager, row);
    for (size_t i = 0; i < ROWS; i++) row[i].us[0] *= 1 + 0.3 * sin((double)i);
    assert_int_equal(tn_roofline_fit(roofline, &data, NULL, &options, &arena, &fitted, NULL), TN_OK);
    tn_buffer out = {0};
    tn_buffer_format(&out, "kind: roofline\nname: mine\ninherit: %s\nroofline:\n",
                     test_source("models/devices/families/h200.yaml"));
    tn_roofline_write_laws(&fitted, &out);
    assert_int_equal(tn_file_write_buffer(path, &out, NULL), TN_OK);
    tn_buffer_free(&out);
    read = load(path, &arena);
    assert_int_equal(read->laws.count, fitted.laws.count);
    for (int i = 0; i < 50; i++) {
        tn_roofline_product p = {1, random_size(), random_size(), random_size()};
        for (int time = 0; time < TN_ROOFLINE_TIMES; time++) {
            double before, after;
            assert_int_equal(tn_roofline_predict(&fitted, "fp32", (tn_roofline_time)time, &p, &before, NULL),
                             TN_OK);
            assert_int_equal(tn_roofline_predict(read, "fp32", (tn_roofline_time)time, &p, &after, NULL),
                             TN_OK);
            assert_true(before == after);
        }
    }
    tn_arena_free(&arena);
}

static void bad_measurements_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        unsigned line;
    } cases[] = {
        {"dtype,M,N,K\nfp32,1,1,1\n", "graph_us", 1},
        {"dtype,M,N,graph_us\nfp32,1,1,1\n", "K", 1},
        {"dtype,M,N,K,graph_us\nfp23,1,1,1,2\n", "fp32", 2},
        {"dtype,M,N,K,graph_us\nfp32,1,0,1,2\n", "", 2},
        {"dtype,M,N,K,graph_us\nfp32,1,1,1,2\nfp32,1,1,1,0\n", "", 3},
        {"dtype,M,N,K,graph_us\nfp32,1,1,1,nan\n", "", 2},
        {"dtype,M,N,K,graph_us\nfp32,1,1,99999999999,2\n", "", 2},
    };
    tn_arena arena = {0};
    tn_roofline *roofline = data_sheet(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_roofline_measurements data;
        tn_error error = {0};
        write_text(cases[i].text);
        assert_int_equal(tn_roofline_measurements_load(path, roofline, &arena, &data, &error), TN_INPUT);
        assert_non_null(strstr(error.message, cases[i].message));
        assert_int_equal(error.line, cases[i].line);
    }
    tn_arena_free(&arena);
}

static void data_without_a_law_are_refused(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_roofline *roofline = data_sheet(&arena), fitted;
    tn_roofline_measurements data;
    tn_error error;
    write_text("dtype,M,N,K,graph_us\nfp32,1,1,1,2\nfp32,2,1,1,2\n");
    assert_int_equal(tn_roofline_measurements_load(path, roofline, &arena, &data, NULL), TN_OK);
    assert_int_equal(tn_roofline_fit(roofline, &data, NULL, &options, &arena, &fitted, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "at least 16"));
    tn_buffer seconds = {0};
    tn_buffer_text(&seconds, "dtype,M,N,K,graph_us\n");
    for (int i = 1; i <= 20; i++) tn_buffer_format(&seconds, "fp32,%d,768,768,%g\n", 512 * i, 3e-5 * i);
    assert_int_equal(tn_file_write_buffer(path, &seconds, NULL), TN_OK);
    tn_buffer_free(&seconds);
    tn_roofline_measurements wrong_unit;
    assert_int_equal(tn_roofline_measurements_load(path, roofline, &arena, &wrong_unit, NULL), TN_OK);
    assert_int_equal(tn_roofline_fit(roofline, &wrong_unit, NULL, &options, &arena, &fitted, &error),
                     TN_INPUT);
    assert_non_null(strstr(error.message, "microseconds"));
    tn_roofline_fit_options none = options;
    none.starts = 0;
    assert_int_equal(tn_roofline_fit(roofline, &data, NULL, &none, &arena, &fitted, &error), TN_INPUT);
    tn_arena_free(&arena);
}

static tn_status load_and_fit(tn_arena *arena) {
    tn_device *device;
    tn_roofline *roofline, fitted;
    tn_roofline_measurements data;
    tn_roofline_fit_options once = {.seed = 1, .starts = 1};
    TN_TRY(tn_device_load(test_source("models/devices/families/h200.yaml"), NULL, 0, arena, &device, NULL));
    TN_TRY(tn_roofline_of(device, arena, &roofline, NULL));
    TN_TRY(tn_roofline_measurements_load(path, roofline, arena, &data, NULL));
    return tn_roofline_fit(roofline, &data, NULL, &once, arena, &fitted, NULL);
}

static void every_request_for_memory_may_fail(void **state) {
    (void)state;
    tn_buffer text = {0};
    tn_buffer_text(&text, "dtype,M,N,K,graph_us\n");
    for (int i = 1; i <= 16; i++)
        tn_buffer_format(&text, "fp32,%d,%d,8,%d\n", 4 * i, 8 * (i % 3 + 1), 2 + i % 4);
    assert_int_equal(tn_file_write_buffer(path, &text, NULL), TN_OK);
    tn_buffer_free(&text);
    long failed = 0;
    for (tn_status status = TN_MEMORY; status != TN_OK; failed++) {
        tn_arena arena = {0};
        tn_memory_fail_at(failed + 1);
        status = load_and_fit(&arena);
        tn_memory_fail_at(0);
        tn_arena_free(&arena);
        assert_true(status == TN_OK || status == TN_MEMORY);
    }
    assert_true(failed > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_known_law),
        cmocka_unit_test(held_out_halves),
        cmocka_unit_test(device_of_the_tree),
        cmocka_unit_test(halves_are_halves),
        cmocka_unit_test(written_laws_read_back),
        cmocka_unit_test(bad_measurements_are_refused),
        cmocka_unit_test(data_without_a_law_are_refused),
        cmocka_unit_test(every_request_for_memory_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
