/* Cases from array files: what is read of them, what is refused; and the reference data's 28 cases. */
#include "support/folder.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "run/case.h"
#include "run/executor.h"
#include "run/validate.h"
#include "text/arrays.h"

static const tn_cpu_rates rates = {{1e-6, 1e-6}, {1e-7, 1e-7}, {1e-9, 1e-9}, {1e-9, 1e-9}};

static void put(const char *name, const char *shape, const double *values, bool single) {
    uint64_t axis[8];
    size_t axes = 0;
    for (const char *cursor = shape; *cursor; cursor += strcspn(cursor, "x"), cursor += *cursor == 'x')
        axis[axes++] = strtoull(cursor, NULL, 10);
    tn_array_out array = {.name = name, .axes = axes, .shape = axis, .values = values, .single = single};
    char file[64];
    snprintf(file, sizeof file, "%s.npy", name);
    assert_int_equal(tn_npy_write(test_in_folder(file), &array, NULL), TN_OK);
}

static double numbers[4096];

static void draw_numbers(void) {
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = (double)((i * 37 + 11) % 17) / 8 - 1;
}

/* TT of d = 2: m = 3x2, n = 2x4, ranks 2, 3, 2, and four tokens. */
static void put_train(void) {
    draw_numbers();
    put("core1", "1x3x2", numbers, false);
    put("core2", "2x2x3", numbers + 7, false);
    put("core3", "3x2x2", numbers + 31, false);
    put("core4", "2x4x1", numbers + 57, false);
    put("x", "4x8", numbers + 71, false);
    put("dy", "4x6", numbers + 113, false);
}

static tn_status load(tn_arena *arena, tn_trial *trial, tn_error *error) {
    return tn_case_load_folder(test_folder, arena, trial, error);
}

static void refuse(const char *message) {
    tn_arena arena = {0};
    tn_trial trial;
    tn_error error = {0};
    tn_status status = load(&arena, &trial, &error);
    if (status != TN_INPUT || !strstr(error.message, message))
        print_error("status %d, '%s' instead of '%s'\n", status, error.message, message);
    assert_int_equal(status, TN_INPUT);
    assert_non_null(strstr(error.message, message));
    tn_arena_free(&arena);
}

static void drop(const char *name) {
    assert_int_equal(unlink(test_in_folder(name)), 0);
}

static void a_train(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trial trial;
    tn_checks checks = {0};
    put_train();
    assert_int_equal(load(&arena, &trial, NULL), TN_OK);
    assert_int_equal(trial.weight.format, TN_TT);
    assert_int_equal(trial.weight.d, 2);
    assert_int_equal(trial.weight.m[0], 3);
    assert_int_equal(trial.weight.n[1], 4);
    assert_int_equal(trial.weight.rank[2], 3);
    assert_int_equal(trial.tokens, 4);
    assert_int_equal(trial.cores, 4);
    assert_true(trial.input[2][0] == numbers[7] && trial.input[5][23] == numbers[136]);
    assert_null(trial.given.y);
    assert_int_equal(tn_validate_trial(&checks, &trial, TN_FLOW_NAMES, &rates, NULL), TN_OK);
    assert_false(checks.failed);
    assert_int_equal(checks.count, 4 * 6); /* four flows: the published one is of d = 3 */
    tn_checks_free(&checks);
    assert_int_equal(tn_validate_trial(&checks, &trial, TN_FLOW_BIDIRECTIONAL_PUBLISHED, &rates, NULL),
                     TN_INPUT);
    tn_checks_free(&checks);
    tn_arena_free(&arena);
}

/* Results that were given are compared with, to the precision of the files. */
static void given_results(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trial trial, given;
    tn_checks checks = {0};
    double y[24];
    put_train();
    assert_int_equal(load(&arena, &trial, NULL), TN_OK);
    put("y", "4x6", trial.reference.y, false);
    put("dx", "4x8", trial.reference.dx, false);
    put("dcore3", "3x2x2", trial.reference.dcore[2], false);
    assert_int_equal(load(&arena, &given, NULL), TN_OK);
    assert_true(given.given.tolerance == 0);
    assert_int_equal(tn_validate_trial(&checks, &given, TN_FLOW_OPTIMAL, &rates, NULL), TN_OK);
    assert_false(checks.failed);
    tn_checks_free(&checks);
    memcpy(y, trial.reference.y, sizeof y);
    y[7] += 1e-6;
    put("y", "4x6", y, false);
    assert_int_equal(load(&arena, &given, NULL), TN_OK);
    assert_int_equal(tn_validate_trial(&checks, &given, TN_FLOW_OPTIMAL, &rates, NULL), TN_OK);
    assert_true(checks.failed && !checks.item[0].ok && checks.item[1].ok);
    tn_checks_free(&checks);
    /* float32 files can't be asked for more than float32 holds. */
    put("y", "4x6", y, true);
    assert_int_equal(load(&arena, &given, NULL), TN_OK);
    assert_true(given.given.tolerance == 32 * 0x1p-24);
    assert_int_equal(tn_validate_trial(&checks, &given, TN_FLOW_OPTIMAL, &rates, NULL), TN_OK);
    assert_false(checks.failed);
    tn_checks_free(&checks);
    tn_arena_free(&arena);
}

static void other_formats(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trial trial;
    draw_numbers();
    put("core1", "2x3x2", numbers, false);
    put("core2", "2x2x2", numbers, false);
    put("x", "5x2", numbers, false);
    put("dy", "5x3", numbers, false);
    assert_int_equal(load(&arena, &trial, NULL), TN_OK);
    assert_int_equal(trial.weight.format, TN_RING);
    put("core1", "1x3x2x2", numbers, false);
    put("core2", "2x2x4x1", numbers, false);
    put("x", "5x8", numbers, false);
    put("dy", "5x6", numbers, false);
    assert_int_equal(load(&arena, &trial, NULL), TN_OK);
    assert_int_equal(trial.weight.format, TN_TTM);
    assert_int_equal(trial.weight.n[1], 4);
    drop("core2.npy");
    put("core1", "6x8", numbers, false);
    assert_int_equal(load(&arena, &trial, NULL), TN_OK);
    assert_int_equal(trial.weight.format, TN_DENSE);
    tn_arena_free(&arena);
}

static void what_is_missing_or_misshapen(void **state) {
    (void)state;
    refuse("no core1; a case holds");
    put_train();
    drop("core2.npy");
    refuse("core2 is missing, there is core4");
    put_train();
    put("core6", "1x1x1", numbers, false);
    refuse("core5 is missing, there is core6");
    drop("core6.npy");
    drop("core4.npy");
    refuse("3 cores of 3 axes; TT has an even number");
    put_train();
    put("core2", "2x2x3x1", numbers, false);
    refuse("has 4 axes, core1 has 3");
    put("core2", "5x2x3", numbers, false);
    refuse("first axis 5, but the core before ends with rank 2");
    put_train();
    put("core4", "2x4x2", numbers, false);
    refuse("both must be 1");
    put("core4", "2x0x1", numbers, false);
    refuse("factors are at least 1");
    put_train();
    drop("dy.npy");
    refuse("no dy; a case needs x and dy");
    put_train();
    drop("x.npy");
    refuse("no x; a case needs x and dy");
    put("x", "4x9", numbers, false);
    refuse("x.npy must be tokens x 8");
    put("x", "0x8", numbers, false);
    refuse("x.npy must be tokens x 8");
    put("x", "3x8", numbers, false);
    refuse("dy.npy must be 3 x 6");
    put_train();
    put("y", "4x8", numbers, false);
    refuse("y.npy must be 4 x 6");
    drop("y.npy");
    put("dcore2", "2x3x2", numbers, false);
    refuse("dcore2.npy must have the shape of core2");
    drop("dcore2.npy");
    put("dcore5", "2x3x2", numbers, false);
    refuse("dcore5, but 4 cores");
    drop("dcore5.npy");
    numbers[71] = 1.0 / 0.0;
    put("x", "4x8", numbers + 71, false);
    refuse("element 0 is not a finite number");
}

static void too_many_cores(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trial trial;
    tn_error error;
    put("core33", "1x1x1", numbers, false);
    assert_int_equal(load(&arena, &trial, &error), TN_LIMIT);
    assert_non_null(strstr(error.message, "at most 32 cores"));
    tn_arena_free(&arena);
}

static tn_array_out member(const char *name, size_t axes, const uint64_t *shape, size_t start) {
    return (tn_array_out){.name = name, .axes = axes, .shape = shape, .values = numbers + start};
}

static const uint64_t SHAPES[][3] = {{1, 3, 2}, {2, 2, 3}, {3, 2, 2}, {2, 4, 1}, {4, 8, 0}, {4, 6, 0}};

/* The same train in one .npz: in a folder beside x and dy, with them, and alone. */
static void containers(void **state) {
    (void)state;
    static const size_t source[] = {0, 7, 31, 57, 71, 113};
    tn_array_out all[6];
    tn_arena arena = {0};
    tn_trial trial, packed;
    tn_arrays *arrays;
    put_train();
    assert_int_equal(load(&arena, &trial, NULL), TN_OK);
    for (int k = 0; k < 6; k++) {
        static const char *const names[] = {"core1", "core2", "core3", "core4", "x", "dy"};
        all[k] = member(names[k], k < 4 ? 3 : 2, SHAPES[k], source[k]);
    }
    assert_int_equal(tn_npz_write(test_in_folder("cores.npz"), all, 4, NULL), TN_OK);
    refuse("is in");
    static const char *const cores[] = {"core1.npy", "core2.npy", "core3.npy", "core4.npy"};
    for (int k = 0; k < 4; k++) drop(cores[k]);
    assert_int_equal(load(&arena, &packed, NULL), TN_OK);
    assert_memory_equal(packed.reference.y, trial.reference.y, 24 * sizeof(double));

    assert_int_equal(tn_npz_write(test_in_folder("cores.safetensors"), all, 4, NULL), TN_OK);
    refuse("both cores.npz and cores.safetensors");

    assert_int_equal(tn_npz_write(test_in_folder("whole.npz"), all, 6, NULL), TN_OK);
    assert_int_equal(tn_arrays_open(test_in_folder("whole.npz"), &arrays, NULL), TN_OK);
    assert_true(tn_case_in_arrays(arrays));
    assert_int_equal(tn_case_load_arrays(arrays, "whole.npz", 5, &arena, &packed, NULL), TN_OK);
    assert_memory_equal(packed.reference.y, trial.reference.y, 24 * sizeof(double));
    assert_int_equal(packed.seed, 0);
    tn_arrays_close(arrays);

    assert_int_equal(tn_arrays_open(test_in_folder("cores.npz"), &arrays, NULL), TN_OK);
    assert_int_equal(tn_case_load_arrays(arrays, "cores.npz", 5, &arena, &packed, NULL), TN_OK);
    assert_int_equal(packed.seed, 5);
    assert_int_equal(packed.tokens, 8);
    tn_arrays_close(arrays);

    assert_int_equal(tn_npz_write(test_in_folder("half.npz"), all, 5, NULL), TN_OK);
    assert_int_equal(tn_arrays_open(test_in_folder("half.npz"), &arrays, NULL), TN_OK);
    assert_int_equal(tn_case_load_arrays(arrays, "half.npz", 5, &arena, &packed, NULL), TN_INPUT);
    tn_arrays_close(arrays);
    tn_arena_free(&arena);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    put_train();
    for (long n = 1;; n++) {
        tn_arena arena = {0};
        tn_trial trial;
        tn_memory_fail_at(n);
        tn_status status = load(&arena, &trial, NULL);
        long requests = tn_memory_requests();
        tn_memory_fail_at(0);
        tn_arena_free(&arena);
        if (requests < n) {
            assert_int_equal(status, TN_OK);
            assert_true(n > 20);
            return;
        }
        assert_int_equal(status, TN_MEMORY);
    }
}

/* All cases of the reference data, by every flow: float64 within 1e-12 of autograd's results. */
static void reference_cases(void **state) {
    (void)state;
    const char *root = test_shared_or_skip("oracles/gradients");
    DIR *cases = opendir(root);
    int count = 0;
    assert_non_null(cases);
    for (struct dirent *entry; (entry = readdir(cases));) {
        if (strncmp(entry->d_name, "tt", 2) != 0) continue;
        char path[1024];
        tn_arena arena = {0};
        tn_trial trial;
        tn_checks checks = {0};
        snprintf(path, sizeof path, "%s/%s", root, entry->d_name);
        assert_int_equal(tn_case_load_folder(path, &arena, &trial, NULL), TN_OK);
        assert_true(trial.given.y && trial.given.dx && trial.given.dcore &&
                    trial.given.dcore[trial.cores - 1]);
        assert_int_equal(tn_validate_trial(&checks, &trial, TN_FLOW_NAMES, &rates, NULL), TN_OK);
        for (size_t i = 0; i < checks.count; i++) {
            const tn_check *check = &checks.item[i];
            if (!check->ok) print_error("%s %s: %g\n", check->name, check->flow, check->relative_error);
            assert_true(check->real == TN_FLOAT32 || check->relative_error < 1e-12);
        }
        assert_false(checks.failed);
        count++;
        tn_checks_free(&checks);
        tn_arena_free(&arena);
    }
    closedir(cases);
    assert_true(count == 28 || count == 2); /* all, or those of tests/oracles */
}

int main(void) {
#define CASE(test) cmocka_unit_test_setup_teardown(test, test_folder_make, test_folder_remove)
    const struct CMUnitTest tests[] = {
        CASE(a_train),
        CASE(given_results),
        CASE(other_formats),
        CASE(too_many_cores),
        CASE(containers),
        CASE(what_is_missing_or_misshapen),
        CASE(every_allocation_may_fail),
        cmocka_unit_test(reference_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
