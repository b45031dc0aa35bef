/* tenfold ranks: one matrix, a table, a model, through the program, and that other commands take what it
 * writes. */
#include "decompose/ttsvd.h"
#include "support/arrays.h"
#include "support/folder.h"
#include "support/matrix.h"
#include "support/program.h"
#include "support/shared.h"
#include "text/arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 24, COLUMNS = 30 };
static double *w;

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(test_in_folder(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void write_matrix(const char *name, uint64_t rows, uint64_t columns, const double *values) {
    const uint64_t shape[] = {rows, columns};
    const tn_array_out out = {.name = "w", .axes = 2, .shape = shape, .values = values};
    assert_int_equal(tn_npy_write(test_in_folder(name), &out, NULL), TN_OK);
}

static const char model_text[] =
    "kind: model\nname: small\nbatch: 1\nsequence: 4\nexamples: 10\nweights:\n"
    "  up: {format: tt, m: 4x3x2, n: 2x3x5, rank: 2}\n  down: {format: ttm, m: 5x6, n: 6x4, rank: "
    "2}\nlayers:\n"
    "  - {name: words, kind: embedding, vocabulary: 9, width: 30}\n"
    "  - name: block\n    kind: block\n    repeat: 2\n    layers:\n"
    "      - {name: up, kind: linear, outputs: 24, weight: up}\n"
    "      - {name: down, kind: linear, outputs: 30, weight: down}\n"
    "  - {name: loss, kind: cross-entropy}\n"
    "checkpoint:\n  tensors:\n    - {layer: \"block{i}.up\", tensor: \"fused{i}\", rows: [0, 24]}\n"
    "    - {layer: \"block{i}.down\", tensor: \"fused{i}\", rows: [24, 24], convention: input-rows}\n";

/* One array a block: up's matrix above down's transpose. */
static void write_weights(void) {
    static const uint64_t shape[] = {2 * ROWS, COLUMNS};
    double *one = test_normal(1, 2 * ROWS * COLUMNS), *two = test_normal(2, 2 * ROWS * COLUMNS);
    for (size_t i = 0; i < 2 * ROWS * COLUMNS; i++) {
        one[i] *= exp(-(double)(i % COLUMNS) / 5);
        two[i] *= 3 * exp(-(double)(i / COLUMNS % ROWS) / 9);
    }
    const tn_array_out out[] = {{.name = "fused1", .axes = 2, .shape = shape, .values = one},
                                {.name = "fused2", .axes = 2, .shape = shape, .values = two}};
    assert_int_equal(tn_npz_write(test_in_folder("weights.npz"), out, 2, NULL), TN_OK);
    free(one);
    free(two);
}

static int set_up(void **state) {
    if (test_folder_make(state) != 0) return -1;
    w = test_normal(5, ROWS * COLUMNS);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) w[i] *= exp(-(double)(i % COLUMNS) / 6);
    write_matrix("w.npy", ROWS, COLUMNS, w);
    write_text("model.yaml", model_text);
    write_weights();
    return 0;
}

static int tear_down(void **state) {
    free(w);
    return test_folder_remove(state);
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number under %s", key);
    return json_number_value(value);
}

static const json_t *item(const json_t *object, const char *key, size_t i) {
    const json_t *found = json_array_get(json_object_get(object, key), i);
    if (!found) fail_msg("no item %zu under %s", i, key);
    return found;
}

static void one_matrix_by_caps(void **state) {
    (void)state;
    json_t *j =
        test_program_json(0, "ranks", "--matrix", test_in_folder("w.npy"), "--fold", "m=4x3x2,n=2x3x5",
                          "--format", "tt", "--cap", "2,1x3x4x5x4x3x1,100", "--spectrum", "--json", NULL);
    static const uint64_t mode[] = {4, 3, 2, 2, 3, 5};
    static const uint64_t caps[][5] = {{2, 2, 2, 2, 2}, {3, 4, 5, 4, 3}, {100, 100, 100, 100, 100}};
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = item(j, "rows", i);
        tn_train_rule rule = {.cap = caps[i]};
        tn_train train;
        uint64_t parameters;
        assert_int_equal(tn_train_decompose(w, mode, 6, &rule, &train, NULL), TN_OK);
        assert_int_equal(tn_train_parameters(&train, &parameters, NULL), TN_OK);
        double expected = sqrt(train.squared_loss / train.squared_norm);
        assert_true(fabs(number(row, "tail_error") - expected) < 1e-13);
        assert_true(fabs(number(row, "relative_error") - expected) < 1e-13);
        assert_true(number(row, "parameters") == (double)parameters);
        for (size_t k = 0; k <= 6; k++)
            assert_int_equal(json_integer_value(item(row, "ranks", k)), train.rank[k]);
        tn_train_free(&train);
    }
    assert_int_equal(json_integer_value(json_object_get(item(j, "rows", 0), "cap")), 2);
    assert_true(json_is_array(json_object_get(item(j, "rows", 1), "cap")));
    assert_int_equal(json_integer_value(item(item(j, "rows", 2), "requested_ranks", 3)), 100);
    assert_int_equal(json_integer_value(item(item(j, "rows", 2), "useful_ranks", 3)), 24);
    double *value = test_singular_values(12, 60, w);
    for (size_t i = 0; i < 12; i++)
        assert_true(fabs(json_number_value(json_array_get(item(j, "singular_values", 1), i)) - value[i]) <
                    1e-12 * value[0]);
    free(value);
    json_decref(j);
}

static void one_matrix_by_tolerances(void **state) {
    (void)state;
    static const char *const formats[] = {"tt", "ttm", "tr", "tucker"};
    double *turned = test_transpose(ROWS, COLUMNS, w);
    write_matrix("turned.npy", COLUMNS, ROWS, turned);
    for (size_t i = 0; i < 4; i++) {
        json_t *j =
            test_program_json(0, "ranks", "--matrix", test_in_folder("w.npy"), "--fold", "m=6x4,n=5x6",
                              "--format", formats[i], "--tolerance", "0.5,0.1", "--json", NULL);
        json_t *k = test_program_json(0, "ranks", "--matrix", test_in_folder("turned.npy"), "--transpose",
                                      "--fold", "m=6x4,n=5x6", "--format", formats[i], "--tolerance",
                                      "0.5,0.1", "--json", NULL);
        for (size_t r = 0; r < 2; r++) {
            const json_t *row = item(j, "rows", r);
            assert_true(number(row, "relative_error") <= number(row, "tolerance"));
            assert_true(fabs(number(row, "relative_error") - number(row, "tail_error")) < 1e-12);
            assert_true(
                json_equal(json_object_get(row, "ranks"), json_object_get(item(k, "rows", r), "ranks")));
        }
        json_decref(j);
        json_decref(k);
    }
    free(turned);
}

/* The reference data, through the program. */
static void reference_row(void **state) {
    (void)state;
    json_t *j = test_program_json(0, "ranks", "--matrix", test_shared_or_skip("oracles/ttsvd/w768_tt.npy"),
                                  "--fold", "m=12x8x8,n=8x8x12", "--format", "tt", "--cap", "12,48",
                                  "--spectrum", "--json", NULL);
    assert_true(number(item(j, "rows", 0), "parameters") == 4896);
    assert_true(fabs(number(item(j, "rows", 0), "relative_error") / 1.464404621180e-01 - 1) < 1e-10);
    assert_true(fabs(number(item(j, "rows", 1), "tail_error") / 1.055819192472e-03 - 1) < 1e-9);
    assert_true(fabs(number(item(j, "rows", 0), "lower_bound") / 1.399123850696e-01 - 1) < 1e-10);
    assert_true(fabs(number(item(j, "rows", 0), "upper_bound") / 2.336747134384e-01 - 1) < 1e-10);
    json_decref(j);
}

static void cores_are_a_case(void **state) {
    (void)state;
    static const char *const formats[] = {"tt", "ttm", "tr"};
    for (size_t i = 0; i < 3; i++) {
        const char *out = test_in_folder(formats[i]), *cores = test_in_folder("cores");
        json_t *j = test_program_json(0, "ranks", "--matrix", test_in_folder("w.npy"), "--fold",
                                      "m=6x4,n=5x6", "--format", formats[i], "--cap", "3", "--case-out", out,
                                      "--tokens", "4", "-o", cores, "--json", NULL);
        json_decref(j);
        j = test_program_json(0, "validate", "--case", out, "--json", NULL);
        assert_true(json_is_true(json_object_get(j, "ok")));
        json_decref(j);
        tn_arrays *arrays = test_arrays_open(test_in_folder("cores/cores.npz"));
        assert_true(tn_arrays_count(arrays) >= 2);
        tn_arrays_close(arrays);
    }
}

static void a_table(void **state) {
    (void)state;
    write_text("table.csv",
               "layer,cap,ranks,params,cycles,sqerr\na,1,1 1,10,5,9\na,2,1 2,20,9,4\na,3,,35,12,1\n"
               "b,1,,10,1,20\nb,2,,25,3,5\nb,3,,40,30,2\n");
    json_t *j = test_program_json(0, "ranks", "--table", test_in_folder("table.csv"), "--budget", "params=60",
                                  "--json", NULL);
    assert_true(number(j, "sqerr") == 6 && number(j, "params") == 60);
    assert_true(json_is_true(json_object_get(j, "exact")) && number(j, "gap") == 0);
    assert_int_equal(json_integer_value(json_object_get(item(j, "layers", 0), "cap")), 3);
    assert_int_equal(json_integer_value(json_object_get(item(j, "layers", 1), "cap")), 2);
    assert_string_equal(json_string_value(json_object_get(item(j, "methods", 2), "method")), "uniform");
    json_decref(j);
    j = test_program_json(0, "ranks", "--table", test_in_folder("table.csv"), "--budget", "parameters=60",
                          "--budget", "cycles=14", "--json", NULL);
    assert_true(number(j, "sqerr") == 9);
    json_decref(j);
    j = test_program_json(0, "ranks", "--table", test_in_folder("table.csv"), "--max-error", "9",
                          "--minimise", "cycles", "--json", NULL);
    assert_true(number(j, "cycles") == 12 && number(j, "sqerr") == 9);
    json_decref(j);
    j = test_program_json(1, "ranks", "--table", test_in_folder("table.csv"), "--budget", "params=19",
                          "--json", NULL);
    assert_true(json_is_false(json_object_get(j, "fits")) && json_is_true(json_object_get(j, "exact")));
    json_decref(j);
}

/* Model in, model out; cost, sweep and validate take what was written. */
static void a_model(void **state) {
    (void)state;
    const char *out = test_in_folder("out"), *model = test_in_folder("model.yaml");
    json_t *j = test_program_json(0, "ranks", model, "--weights", test_in_folder("weights.npz"), "--budget",
                                  "params=1500", "-o", out, "--quiet", "--json", NULL);
    assert_int_equal(json_array_size(json_object_get(j, "layers")), 4);
    const json_t *total = json_object_get(j, "total");
    assert_true(number(total, "parameters") <= 1500);
    assert_true(json_is_true(json_object_get(j, "fits")));
    json_t *cost = test_program_json(0, "cost", test_in_folder("out/model.yaml"), "--json", NULL);
    assert_true(number(cost, "parameters") == number(total, "parameters"));
    json_decref(cost);
    json_t *checks =
        test_program_json(0, "validate", test_in_folder("out/model.yaml"), "--quiet", "--json", NULL);
    assert_true(json_is_true(json_object_get(checks, "ok")));
    json_decref(checks);
    static const char *const files[] = {
        "allocation.csv",         "candidates.csv",      "error.csv",           "front.csv",
        "singular_values.csv",    "cores.npz",           "figures/errors.png",  "figures/front.png",
        "figures/allocation.png", "figures/spectra.png", "figures/formats.png", "formats.csv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[64];
        snprintf(name, sizeof name, "out/%s", files[i]);
        if (access(test_in_folder(name), R_OK) != 0) fail_msg("%s is missing", name);
    }
    json_decref(j);
    /* Activation-aware, from one diagonal for all inputs of 30 features. */
    static const uint64_t shape[] = {COLUMNS}, square[] = {ROWS};
    double diagonal[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) diagonal[i] = (double)(1 + i);
    const tn_array_out c[] = {{.name = "block1.up", .axes = 1, .shape = shape, .values = diagonal},
                              {.name = "block2.up", .axes = 1, .shape = shape, .values = diagonal},
                              {.name = "block1.down", .axes = 1, .shape = square, .values = diagonal},
                              {.name = "block2.down", .axes = 1, .shape = square, .values = diagonal}};
    assert_int_equal(tn_npz_write(test_in_folder("moments.npz"), c, 4, NULL), TN_OK);
    j = test_program_json(0, "ranks", model, "--weights", test_in_folder("weights.npz"), "--covariance",
                          test_in_folder("moments.npz"), "--max-error", "0.3", "--quiet", "--json", NULL);
    assert_true(json_is_true(json_object_get(j, "activation_aware")) && number(j, "relative_error") <= 0.3);
    json_decref(j);
    j = test_program_json(1, "ranks", model, "--weights", test_in_folder("weights.npz"), "--budget",
                          "cycles=10", "--quiet", "--json", NULL);
    json_decref(j);
}

/* The error table is an objective of a sweep. */
static void error_is_an_objective(void **state) {
    (void)state;
    write_text("space.yaml",
               "kind: space\nname: small\nmodel: model.yaml\ndevice: u50\nerror_table: out/error.csv\n"
               "choices:\n  weights.up.rank: [1, 2, 4]\n  weights.down.rank: [1, 2, 4]\n"
               "objectives: [seconds_per_step, relative_error]\n");
    char command[512];
    snprintf(command, sizeof command,
             "cd %s && $TENFOLD sweep space.yaml -o swept --quiet && head -1 swept/front.csv", test_folder);
    test_run got = test_shell(command);
    if (got.status != 0) print_error("%s%s\n", got.out, got.err);
    assert_int_equal(got.status, 0);
    assert_non_null(strstr(got.out, "error"));
    test_run_free(&got);
}

static void refusals(void **state) {
    (void)state;
    static const uint64_t small[] = {2, 3};
    static const double numbers[] = {1, 2, 3, 4, 5, HUGE_VAL};
    const tn_array_out odd = {.name = "x", .axes = 2, .shape = small, .values = numbers};
    assert_int_equal(tn_npy_write(test_in_folder("odd.npy"), &odd, NULL), TN_OK);
    /* The second array is missing: said before the first, which can't be used, is looked at. */
    static const uint64_t fused[] = {2 * ROWS, COLUMNS};
    double *infinite = test_normal(1, 2 * ROWS * COLUMNS);
    double *vast = test_zeros(2 * ROWS * COLUMNS), diagonal[COLUMNS];
    for (size_t i = 0; i < 2 * ROWS * COLUMNS; i++) vast[i] = ldexp(infinite[i], 900);
    for (size_t i = 0; i < COLUMNS; i++) diagonal[i] = i == 3 ? HUGE_VAL : 1;
    static const uint64_t wide[] = {COLUMNS}, tall[] = {ROWS};
    const tn_array_out large[] = {{.name = "fused1", .axes = 2, .shape = fused, .values = vast},
                                  {.name = "fused2", .axes = 2, .shape = fused, .values = vast}};
    const tn_array_out odd_moments[] = {
        {.name = "block1.up", .axes = 1, .shape = wide, .values = diagonal},
        {.name = "block1.down", .axes = 1, .shape = tall, .values = diagonal},
        {.name = "block2.up", .axes = 1, .shape = wide, .values = diagonal},
        {.name = "block2.down", .axes = 1, .shape = tall, .values = diagonal}};
    assert_int_equal(tn_npz_write(test_in_folder("vast.npz"), large, 2, NULL), TN_OK);
    assert_int_equal(tn_npz_write(test_in_folder("infinite.npz"), odd_moments, 4, NULL), TN_OK);
    free(vast);
    infinite[0] = HUGE_VAL;
    const tn_array_out half[] = {{.name = "fused1", .axes = 2, .shape = fused, .values = infinite},
                                 {.name = "other", .axes = 2, .shape = small, .values = numbers}};
    assert_int_equal(tn_npz_write(test_in_folder("half.npz"), half, 2, NULL), TN_OK);
    free(infinite);
    static const struct {
        const char *arguments, *message;
    } cases[] = {
        {"", "nothing to do"},
        {"model.yaml --matrix w.npy", "give one of them"},
        {"--matrix w.npy --cap 2", "needs --fold"},
        {"--matrix w.npy --fold m=6x4,n=5x6", "either --cap R,.. or --tolerance"},
        {"--matrix w.npy --fold m=6x4,n=5x6 --cap 2 --tolerance 0.1", "either --cap R,.. or --tolerance"},
        {"--matrix w.npy --fold m=6x4,n=5x6 --cap 2,,3", "empty item"},
        {"--matrix w.npy --fold m=6x4,n=5x6 --cap 0", "no whole number"},
        {"--matrix w.npy --fold m=6x4,n=5x6 --cap 1x2x1", "ranks"},
        {"--matrix w.npy --fold m=6x4,n=5x6 --tolerance 2", "0 to 1"},
        {"--matrix w.npy --fold m=6x4,n=5x6 --cap 2 --format ttn", "did you mean tt"},
        {"--matrix w.npy --fold m=6x4,n=5x6 --cap 2 --svd exakt", "did you mean exact"},
        {"--matrix w.npy --fold m=5x6,n=6x4 --cap 2", "it may have to be transposed"},
        {"--matrix w.npy --fold m=6x4,n=5x7 --cap 2", "24 x 35"},
        {"--matrix w.npy --fold k=6x4,n=5x6 --cap 2", "k"},
        {"--matrix odd.npy --fold m=2,n=3 --cap 2", "holds infinity at (1, 2)"},
        {"--matrix absent.npy --fold m=2,n=3 --cap 2", "absent.npy"},
        {"--matrix weights.npz --fold m=6x8,n=5x6 --cap 2", "holds 2 arrays"},
        {"--matrix weights.npz --tensor fused3 --fold m=6x8,n=5x6 --cap 2", "did you mean \"fused"},
        {"--matrix w.npy --fold m=6x4,n=5x6 --cap 2 --budget params=100000", "--budget goes with"},
        {"--matrix w.npy --fold m=6x4,n=5x6 --cap 2 --tokens 0", "--tokens 0"},
        {"--table w.npy --budget params=100000", "w.npy"},
        {"--table table.csv", "nothing bounds the ranks"},
        {"--table table.csv --budget prams=3", "did you mean params"},
        {"--table table.csv --budget luts=3", "there are params"},
        {"--table table.csv --budget params", "KEY=VALUE"},
        {"--table table.csv --budget params=-3", "at least 0"},
        {"--table table.csv --budget params=100000 --budget parameters=4", "given twice"},
        {"--table table.csv --budget param=3", "did you mean params"},
        {"--table table.csv --budget cycles=12mb", "bytes in kB, MB, GB"},
        {"--table table.csv --budget params=100000 --max-error -1",
         "--max-error is -1; it must be at least 0"},
        {"--table table.csv --budget params=100000 --minimise params", "--max-error"},
        {"model.yaml --budget params=100000", "needs --weights"},
        {"model.yaml --weights absent.npz --budget params=100000", "absent.npz"},
        {"model.yaml --weights absent.npz --budget dsp=3",
         "there are parameters, bytes, macs, cycles, bram18, uram"},
        {"model.yaml --weights absent.npz --max-error 0.1 --minimise dsp", "there are parameters"},
        {"model.yaml --weights absent.npz --budget uram=464 --device vck190",
         "464 uram is more than the 463 of vck190"},
        {"model.yaml --weights weights.npz --budget params=100000 --format cp",
         "not decomposed into format cp"},
        {"model.yaml --weights half.npz --budget params=100000",
         "holds no array \"fused2\"; did you mean \"fused1\"? "
         "it holds fused1, other"},
        {"model.yaml --weights w.npy --budget params=100000", "fused1"},
        {"model.yaml --weights weights.npz", "nothing bounds the ranks"},
        {"model.yaml --weights weights.npz --budget params=100000 --cap 3,2", "must rise"},
        {"model.yaml --weights weights.npz --budget params=100000 --fold m=5,n=5",
         "no layer with a named weight"},
        {"model.yaml --weights weights.npz --budget params=100000 --set clock_MHz=3", "add --device"},
        {"model.yaml --weights weights.npz --budget cycles=3 --device h200", "no FPGA"},
        {"model.yaml --weights weights.npz --budget params=100000 --covariance w.npy", "second moments"},
        {"model.yaml --weights weights.npz --budget params=100000 --covariance infinite.npz",
         "infinite.npz: block1.up holds a value that is not finite at (3, 3)"},
        {"model.yaml --weights vast.npz --budget params=100000",
         "vast.npz: the squares of the values of layer block1.up"},
        {"model.yaml --weights weights.npz --budget params=3",
         "what is not compressed (biases, norms, dense layers) takes 378"},
        {"model.yaml --weights weights.npz --budget params=400", "the least that any choice takes is"},
        {"model.yaml --weights weights.npz --budget params=100000 --keep block1.upp",
         "did you mean block1.up?"},
        {"model.yaml --weights weights.npz --budget params=100000 --layer-error 2", "over 0 and up to 1"},
        {"model.yaml --weights weights.npz --budget cycles=3 --device u50 --set inherit=u280",
         "\"inherit\" belongs"},
        {"model.yaml --weights weights.npz --budget cycles=3 --device u50@user-area --set variant=half",
         "give one of them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[512];
        snprintf(command, sizeof command, "cd %s && $TENFOLD ranks %s", test_folder, cases[i].arguments);
        test_run got = test_shell(command);
        bool good = got.status == 2 && got.out[0] == '\0' && strncmp(got.err, "tenfold: ", 9) == 0 &&
                    strchr(got.err, '\n') == got.err + strlen(got.err) - 1 &&
                    strstr(got.err, cases[i].message);
        if (!good) fail_msg("ranks %s: status %d\n%s%s", cases[i].arguments, got.status, got.out, got.err);
        test_run_free(&got);
    }
}

/* A layer that is kept is dense; no layer's error is over what is allowed of each; one that keeps less than half of its squared
 * norm is warned of. */
static void layers_are_guarded(void **state) {
    (void)state;
    const char *model = test_in_folder("model.yaml"), *weights = test_in_folder("weights.npz");
    json_t *j = test_program_json(0, "ranks", model, "--weights", weights, "--budget", "params=100000",
                                  "--keep", "block1.*", "--cap", "1,2", "--minimise", "params", "--max-error",
                                  "1", "--layer-error", "0.9", "--quiet", "--json", NULL);
    const char *const formats[] = {"dense", "dense"};
    for (size_t l = 0; l < 2; l++)
        assert_string_equal(json_string_value(json_object_get(item(j, "layers", l), "format")), formats[l]);
    for (size_t l = 0; l < 4; l++) assert_true(number(item(j, "layers", l), "relative_error") <= 0.9);
    json_decref(j);
    j = test_program_json(0, "ranks", model, "--weights", weights, "--cap", "1", "--minimise", "params",
                          "--max-error", "1", "--quiet", "--json", NULL);
    size_t lost = 0;
    for (size_t l = 0; l < 4; l++) {
        const double error = number(item(j, "layers", l), "relative_error");
        if (error * error <= 0.5) continue;
        assert_string_equal(json_string_value(json_object_get(item(j, "warnings", lost++), "layer")),
                            json_string_value(json_object_get(item(j, "layers", l), "layer")));
    }
    assert_true(lost > 0);
    assert_int_equal(json_array_size(json_object_get(j, "warnings")), lost);
    json_decref(j);
}

/* The matrix as it is costs what it holds and has no error. Where the budget holds all four it is chosen, and
 * the model that is written has it; a format that would need more than the matrix is never the choice. */
static void dense_is_a_candidate(void **state) {
    (void)state;
    const char *model = test_in_folder("model.yaml"), *weights = test_in_folder("weights.npz");
    json_t *j = test_program_json(0, "ranks", model, "--weights", weights, "--format", "tucker", "--budget",
                                  "params=100000", "-o", test_in_folder("dense"), "--quiet", "--json", NULL);
    for (size_t l = 0; l < 4; l++) {
        const json_t *layer = item(j, "layers", l);
        assert_string_equal(json_string_value(json_object_get(layer, "format")), "dense");
        size_t bias = l % 2 ? COLUMNS : ROWS; /* up, down, up, down */
        assert_true(number(layer, "parameters") == (double)(ROWS * COLUMNS + bias));
        assert_true(number(layer, "relative_error") == 0);
    }
    json_t *cost = test_program_json(0, "cost", test_in_folder("dense/model.yaml"), "--json", NULL);
    assert_true(number(cost, "parameters") == number(json_object_get(j, "total"), "parameters"));
    json_decref(cost);
    json_decref(j);
    /* Its core is the matrix, whichever way round the file has it. */
    tn_arrays *cores, *given;
    double *core = test_zeros(ROWS * COLUMNS), *fused = test_zeros(2 * ROWS * COLUMNS);
    size_t index;
    assert_int_equal(tn_arrays_open(test_in_folder("dense/cores.npz"), &cores, NULL), TN_OK);
    assert_int_equal(tn_arrays_open(weights, &given, NULL), TN_OK);
    assert_int_equal(tn_arrays_read(given, 0, fused, NULL), TN_OK);
    assert_int_equal(tn_arrays_find(cores, "block1.up.core1", &index, NULL), TN_OK);
    assert_int_equal(tn_arrays_read(cores, index, core, NULL), TN_OK);
    assert_memory_equal(core, fused, ROWS * COLUMNS * sizeof *core);
    assert_int_equal(tn_arrays_find(cores, "block1.down.core1", &index, NULL), TN_OK);
    assert_int_equal(tn_arrays_read(cores, index, core, NULL), TN_OK);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < COLUMNS; k++)
            assert_true(core[k * ROWS + i] == fused[ROWS * COLUMNS + i * COLUMNS + k]);
    tn_arrays_close(cores);
    tn_arrays_close(given);
    free(core);
    free(fused);
}

/* The choice that takes fewest blocks says how many a device needs. With no more than those on it, a budget of
 * parameters alone gives what fits, though the best without a device would take more. */
static void blocks_of_the_device_bound_every_budget(void **state) {
    (void)state;
    const char *model = test_in_folder("model.yaml"), *weights = test_in_folder("weights.npz");
    json_t *fewest =
        test_program_json(0, "ranks", model, "--weights", weights, "--max-error", "1", "--minimise", "bram18",
                          "--budget", "uram=0", "--quiet", "--json", NULL);
    json_t *best = test_program_json(0, "ranks", model, "--weights", weights, "--budget", "params=1500",
                                     "--device", "u50", "--quiet", "--json", NULL);
    double least = number(json_object_get(fewest, "total"), "bram18");
    assert_true(number(json_object_get(best, "total"), "bram18") > least);
    char most[64];
    snprintf(most, sizeof most, "resources.bram18=%.0f", least + 1);
    json_t *j =
        test_program_json(0, "ranks", model, "--weights", weights, "--budget", "params=1500", "--device",
                          "u50", "--set", most, "--set", "resources.uram=0", "--quiet", "--json", NULL);
    const json_t *total = json_object_get(j, "total");
    assert_true(number(total, "bram18") <= least + 1 && number(total, "uram") == 0);
    assert_true(number(total, "parameters") <= 1500);
    assert_true(number(j, "relative_error") > number(best, "relative_error"));
    json_decref(fewest);
    json_decref(best);
    json_decref(j);
}

/* LUTs, flip-flops and DSP blocks follow from the build: ranks can't mend them, but what does not fit is told. */
static void every_resource_of_the_device_is_held(void **state) {
    (void)state;
    const char *model = test_in_folder("model.yaml"), *weights = test_in_folder("weights.npz");
    json_t *cost = test_program_json(0, "cost", model, "--device", "u50", "--json", NULL);
    static const char *const names[] = {"lut", "ff", "dsp"};
    for (size_t i = 0; i < 3; i++) {
        char set[64];
        double used = number(json_object_get(json_object_get(cost, "resources"), names[i]), "used");
        assert_true(used > 10);
        snprintf(set, sizeof set, "resources.%s=%.0f", names[i], used / 2);
        json_t *j = test_program_json(1, "ranks", model, "--weights", weights, "--budget", "params=1500",
                                      "--device", "u50", "--set", set, "--quiet", "--json", NULL);
        const json_t *misfits = json_object_get(j, "misfits"), *misfit = json_array_get(misfits, 0);
        assert_int_equal(json_array_size(misfits), 1);
        assert_string_equal(json_string_value(json_object_get(misfit, "resource")), names[i]);
        assert_true(number(misfit, "needed") > number(misfit, "available"));
        json_decref(j);
    }
    json_decref(cost);
}

/* What can be reached at all is the optimum of least error under the same budgets. */
static void unreachable_errors_name_the_reachable(void **state) {
    (void)state;
    const char *model = test_in_folder("model.yaml"), *weights = test_in_folder("weights.npz");
    json_t *least = test_program_json(0, "ranks", model, "--weights", weights, "--budget", "params=700",
                                      "--quiet", "--json", NULL);
    json_t *j = test_program_json(1, "ranks", model, "--weights", weights, "--budget", "params=700",
                                  "--max-error", "0.001", "--quiet", "--json", NULL);
    assert_true(fabs(number(j, "least_reachable_error") - number(least, "sqerr")) < 1e-9);
    test_run got = test_program("ranks", model, "--weights", weights, "--budget", "params=700", "--max-error",
                                "0.001", "--quiet", NULL);
    char expected[64];
    snprintf(expected, sizeof expected, "the least reachable is %.6g\n", number(least, "relative_error"));
    assert_int_equal(got.status, 1);
    if (!strstr(got.out, expected)) fail_msg("no \"%s\" in\n%s", expected, got.out);
    test_run_free(&got);
    json_decref(j);
    json_decref(least);
}

/* Values whose squares overflow or underflow: the same ranks and errors as of the matrix of common size, its norm
 * and singular values times the factor, and cores that give the matrix itself. */
static void sizes_of_values_do_not_matter(void **state) {
    (void)state;
    static const int exponents[] = {-1000, -600, 600, 1010};
    const char *fold = "m=4x3x2,n=2x3x5";
    json_t *plain = test_program_json(0, "ranks", "--matrix", test_in_folder("w.npy"), "--fold", fold,
                                      "--tolerance", "0.3,0.05", "--spectrum", "--json", NULL);
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        double *scaled = test_zeros(ROWS * COLUMNS);
        for (size_t i = 0; i < ROWS * COLUMNS; i++) scaled[i] = ldexp(w[i], exponents[e]);
        write_matrix("scaled.npy", ROWS, COLUMNS, scaled);
        free(scaled);
        json_t *j = test_program_json(0, "ranks", "--matrix", test_in_folder("scaled.npy"), "--fold", fold,
                                      "--tolerance", "0.3,0.05", "--spectrum", "-o", test_in_folder("scaled"),
                                      "--json", NULL);
        assert_true(fabs(number(j, "norm") / ldexp(number(plain, "norm"), exponents[e]) - 1) < 1e-12);
        for (size_t i = 0; i < 2; i++) {
            const json_t *got = item(j, "rows", i), *expected = item(plain, "rows", i);
            assert_true(json_equal(json_object_get(got, "ranks"), json_object_get(expected, "ranks")));
            assert_true(fabs(number(got, "relative_error") - number(expected, "relative_error")) < 1e-12);
            assert_true(fabs(number(got, "upper_bound") - number(expected, "upper_bound")) < 1e-12);
        }
        const json_t *first = json_array_get(item(j, "singular_values", 0), 0);
        const json_t *common = json_array_get(item(plain, "singular_values", 0), 0);
        double ratio = json_number_value(first) / ldexp(json_number_value(common), exponents[e]);
        assert_true(fabs(ratio - 1) < 1e-12);
        json_decref(j);
    }
    /* The last one's cores, each made of common size, multiply to the matrix of common size. */
    tn_arrays *cores = test_arrays_open(test_in_folder("scaled/cores-tolerance-0.05.npz"));
    double *left = NULL;
    uint64_t height = 1, width = 1;
    int exponent = 0;
    for (size_t k = 0; k < tn_arrays_count(cores); k++) {
        const tn_array_info *info = tn_arrays_info(cores, k);
        uint64_t right = info->shape[info->axes - 1], rest = info->elements / width;
        double *core = test_zeros(info->elements), largest = 0;
        int power;
        assert_int_equal(tn_arrays_read(cores, k, core, NULL), TN_OK);
        for (size_t i = 0; i < info->elements; i++) largest = fmax(largest, fabs(core[i]));
        frexp(largest, &power);
        exponent += power;
        for (size_t i = 0; i < info->elements; i++) core[i] = ldexp(core[i], -power);
        double *next = left ? test_multiply(height, rest, width, left, core) : NULL;
        height *= rest / right;
        width = right;
        if (left) free(left), free(core);
        left = left ? next : core;
    }
    tn_arrays_close(cores);
    double squares = 0, norm = 0;
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        double difference = ldexp(left[i], exponent - 1010) - w[i];
        squares += difference * difference;
        norm += w[i] * w[i];
    }
    assert_true(sqrt(squares / norm) < 0.0501);
    free(left);
    json_decref(plain);
}

/* Position ids and counters stand beside the weights in many checkpoints: an entry of integers keeps nobody from
 * the others, and is refused by name where it is asked for. */
static void integers_beside_weights(void **state) {
    (void)state;
    static const char header[] = "{\"ids\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]},"
                                 "\"w\":{\"dtype\":\"F64\",\"shape\":[2,3],\"data_offsets\":[16,64]}}";
    const unsigned char length[8] = {sizeof header - 1};
    const int64_t ids[] = {7, 8};
    const double values[] = {1, 2, 3, 4, 5, 7};
    FILE *file = fopen(test_in_folder("mixed.safetensors"), "wb");
    assert_non_null(file);
    fwrite(length, 1, 8, file);
    fwrite(header, 1, sizeof header - 1, file);
    fwrite(ids, sizeof *ids, 2, file);
    fwrite(values, sizeof *values, 6, file);
    assert_int_equal(fclose(file), 0);
    json_t *j = test_program_json(0, "ranks", "--matrix", test_in_folder("mixed.safetensors"), "--tensor",
                                  "w", "--fold", "m=2,n=3", "--cap", "2", "--json", NULL);
    assert_true(fabs(number(j, "norm") - sqrt(1 + 4 + 9 + 16 + 25 + 49)) < 1e-12);
    json_decref(j);
    test_run got = test_program("ranks", "--matrix", test_in_folder("mixed.safetensors"), "--tensor", "ids",
                                "--fold", "m=1,n=2", "--cap", "1", NULL);
    assert_int_equal(got.status, 2);
    assert_non_null(strstr(got.err, "ids"));
    test_run_free(&got);
}

static void tables_for_people(void **state) {
    (void)state;
    test_run got = test_program("ranks", "--matrix", test_in_folder("w.npy"), "--fold", "m=6x4,n=5x6",
                                "--cap", "3", NULL);
    assert_int_equal(got.status, 0);
    assert_non_null(strstr(got.out, "useful"));
    const char *caution = strstr(got.out, "a poor guide"); /* in the last line, the only one on it */
    assert_non_null(caution);
    assert_ptr_equal(strchr(caution, '\n'), got.out + strlen(got.out) - 1);
    while (caution > got.out && caution[-1] != '\n') caution--;
    assert_true(strncmp(caution - 2, "\n\n", 2) == 0);
    test_run_free(&got);
    got = test_program("ranks", test_in_folder("model.yaml"), "--weights", test_in_folder("weights.npz"),
                       "--budget", "params=1500", "--quiet", NULL);
    assert_int_equal(got.status, 0);
    assert_non_null(strstr(got.out, "uniform rank"));
    assert_non_null(strstr(got.out, "a poor guide"));
    test_run_free(&got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_matrix_by_caps),
        cmocka_unit_test(one_matrix_by_tolerances),
        cmocka_unit_test(reference_row),
        cmocka_unit_test(cores_are_a_case),
        cmocka_unit_test(a_table),
        cmocka_unit_test(a_model),
        cmocka_unit_test(error_is_an_objective),
        cmocka_unit_test(refusals),
        cmocka_unit_test(layers_are_guarded),
        cmocka_unit_test(dense_is_a_candidate),
        cmocka_unit_test(integers_beside_weights),
        cmocka_unit_test(sizes_of_values_do_not_matter),
        cmocka_unit_test(blocks_of_the_device_bound_every_budget),
        cmocka_unit_test(every_resource_of_the_device_is_held),
        cmocka_unit_test(unreachable_errors_name_the_reachable),
        cmocka_unit_test(tables_for_people),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
