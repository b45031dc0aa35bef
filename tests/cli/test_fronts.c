/* tenfold compare DIR DIR... and tenfold plot DIR --x --y, against front.csv read by this test. */
#include "base/file.h"
#include "base/memory.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRONTS = 3, OBJECTIVES = 4, MOST = 512 };
static const char *const device[FRONTS] = {"u50@user-area", "u280", "vck190"};
static const char *const objective[OBJECTIVES] = {"seconds_per_step", "on_chip_bytes", "dsp",
                                                  "degrees_of_freedom"};

typedef struct {
    size_t count;
    uint64_t id[MOST];
    double value[MOST][OBJECTIVES]; /* less is better */
} front;
static front this_line[FRONTS];

static void read_front(size_t i) {
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[OBJECTIVES], id;
    char name[64];
    const char *id_name = "id";
    snprintf(name, sizeof name, "%zu/front.csv", i);
    assert_int_equal(tn_csv_load(test_in_folder(name), &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, &id_name, 1, false, &id, NULL), TN_OK);
    for (int j = 0; j < OBJECTIVES; j++)
        assert_int_equal(tn_csv_columns(&csv, &objective[j], 1, false, &column[j], NULL), TN_OK);
    this_line[i].count = csv.rows;
    assert_true(csv.rows > 10 && csv.rows <= MOST);
    for (size_t r = 0; r < csv.rows; r++) {
        assert_int_equal(tn_csv_count(&csv, r, id, 0, UINT64_MAX, &this_line[i].id[r], NULL), TN_OK);
        for (int j = 0; j < OBJECTIVES; j++)
            assert_int_equal(
                tn_csv_real(&csv, r, column[j], -INFINITY, INFINITY, &this_line[i].value[r][j], NULL), TN_OK);
        this_line[i].value[r][OBJECTIVES - 1] *= -1;
    }
    tn_arena_free(&arena);
}

static int set_up(void **state) {
    if (test_folder_make(state) != 0) return -1;
    for (size_t i = 0; i < FRONTS; i++) {
        char set[64], name[8];
        snprintf(set, sizeof set, "device=%s", device[i]);
        snprintf(name, sizeof name, "%zu", i);
        test_run run = test_program("sweep", test_source("tests/space/data/small.yaml"), "--set", set, "-o",
                                    test_in_folder(name), "--quiet", NULL);
        assert_int_equal(run.status, 0);
        test_run_free(&run);
        read_front(i);
    }
    return 0;
}

static bool dominates(const double *a, const double *b, int objectives) {
    bool better = false;
    for (int j = 0; j < objectives; j++) {
        if (a[j] > b[j]) return false;
        better |= a[j] < b[j];
    }
    return better;
}

static bool covered(size_t stride, size_t input, size_t row, int objectives) {
    for (size_t r = 0; r < this_line[stride].count; r++)
        if (dominates(this_line[stride].value[r], this_line[input].value[row], objectives)) return true;
    return false;
}

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static long long count(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

/* The value that the answer's design has, less being better. */
static void read_values(const json_t *design, double *value) {
    for (int j = 0; j < OBJECTIVES; j++) value[j] = json_number_value(json_object_get(design, objective[j]));
    value[OBJECTIVES - 1] *= -1;
}

static void who_dominates_whom(void **state) {
    (void)state;
    json_t *told = test_program_json(0, "compare", test_in_folder("0"), test_in_folder("1"),
                                     test_in_folder("2"), "-o", test_in_folder("together"), "--json", NULL);
    const json_t *fronts = json_object_get(told, "fronts"), *coverage = json_object_get(told, "coverage"),
                 *designs = json_object_get(told, "designs");
    assert_int_equal(json_array_size(json_object_get(told, "objectives")), OBJECTIVES);
    assert_int_equal(json_array_size(coverage), FRONTS * (FRONTS - 1));
    size_t pair = 0, index = 0;
    for (size_t stride = 0; stride < FRONTS; stride++)
        for (size_t i = 0; i < FRONTS; i++) {
            long long expected = 0;
            if (i == stride) continue;
            for (size_t r = 0; r < this_line[i].count; r++) expected += covered(stride, i, r, OBJECTIVES);
            assert_int_equal(count(json_array_get(coverage, pair++), "designs"), expected);
        }
    for (size_t i = 0; i < FRONTS; i++) {
        long long best = 0;
        for (size_t r = 0; r < this_line[i].count; r++, index++) {
            const json_t *design = json_array_get(designs, index);
            const json_t *better = json_object_get(design, "dominated_by");
            bool none = true;
            for (size_t stride = 0; stride < FRONTS; stride++) none &= !covered(stride, i, r, OBJECTIVES);
            best += none;
            assert_int_equal(count(design, "id"), this_line[i].id[r]);
            assert_int_equal(json_is_null(better), none);
            if (none) continue;
            /* Whom it names dominates it, and nothing dominates that. */
            bool found = false;
            double own[OBJECTIVES], other[OBJECTIVES];
            read_values(design, own);
            for (size_t k = 0; k < json_array_size(designs) && !found; k++) {
                const json_t *named = json_array_get(designs, k);
                found = count(named, "id") == count(better, "id") &&
                        json_equal(json_object_get(named, "folder"), json_object_get(better, "folder"));
                if (!found) continue;
                read_values(named, other);
                assert_true(dominates(other, own, OBJECTIVES));
                assert_true(json_is_null(json_object_get(named, "dominated_by")));
            }
            assert_true(found);
        }
        assert_int_equal(count(json_array_get(fronts, i), "undominated"), best);
        assert_int_equal(count(json_array_get(fronts, i), "designs"), this_line[i].count);
    }
    assert_int_equal(json_array_size(designs), index);
    assert_int_equal(access(test_in_folder("together/fronts.csv"), R_OK), 0);
    assert_int_equal(access(test_in_folder("together/fronts.png"), R_OK), 0);
    json_decref(told);
}

/* By other quantities than the objectives. */
static void by_one_quantity(void **state) {
    (void)state;
    json_t *told = test_program_json(0, "compare", test_in_folder("0"), test_in_folder("2"), "--by",
                                     "seconds_per_step", "--json", NULL);
    long long expected = 0;
    for (size_t r = 0; r < this_line[2].count; r++) expected += covered(0, 2, r, 1);
    assert_int_equal(count(json_array_get(json_object_get(told, "coverage"), 0), "designs"), expected);
    json_decref(told);
    test_run run = test_program("compare", test_in_folder("0"), "atis-2enc", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "no folder"));
    test_run_free(&run);
}

/* The numbers behind a figure are those that a query lists. */
static void a_plot_shows_what_a_query_lists(void **state) {
    static const char where[] = "weights.square.rank >= 12 and dsp < 900";
    (void)state;
    test_run drawn = test_program("plot", test_in_folder("0"), "--x", "dsp", "--y", "seconds_per_step",
                                  "--colour", "weights.square.flow", "--where", where, "--format", "csv",
                                  "-o", test_in_folder("points"), NULL);
    assert_int_equal(drawn.status, 0);
    test_run_free(&drawn);
    test_run listed = test_program("query", test_in_folder("0"), where, "--csv", "--columns",
                                   "id,dsp,seconds_per_step,weights.square.flow", NULL);
    char *points;
    FILE *file = fopen(test_in_folder("points.csv"), "r");
    assert_non_null(file);
    points = test_malloc(strlen(listed.out) + 2);
    size_t length = fread(points, 1, strlen(listed.out) + 1, file);
    points[length] = '\0';
    fclose(file);
    assert_string_equal(points, listed.out);
    test_free(points);
    test_run_free(&listed);
    static const char *const colours[] = {"weights.square.flow", "weights.square.rank", "watts"};
    for (int i = 0; i < 3; i++) {
        drawn =
            test_program("plot", test_in_folder("0"), "--x", "dsp", "--y", "seconds_per_step", "--log", "xy",
                         "--colour", colours[i], "--format", "svg", "--style", i ? "paper" : "screen", NULL);
        assert_int_equal(drawn.status, 0);
        test_run_free(&drawn);
        assert_int_equal(access(test_in_folder("0/figures/seconds_per_step-by-dsp.svg"), R_OK), 0);
    }
    drawn =
        test_program("plot", test_in_folder("0"), "--x", "dsp", "--y", "watts", "--where", "dsp < 1", NULL);
    assert_int_equal(drawn.status, 1);
    test_run_free(&drawn);
    drawn = test_program("plot", test_in_folder("0"), "--x", "off_chip_bytes", "--y", "watts", "--log", "x",
                         NULL);
    assert_int_equal(drawn.status, 2);
    assert_non_null(strstr(drawn.err, "logarithmic"));
    test_run_free(&drawn);
}

/* The value of a definition of the front's script. */
static double defined(const char *script, const char *name) {
    char line[64];
    snprintf(line, sizeof line, "\n%s = ", name);
    const char *cursor = strstr(script, line);
    if (!cursor) fail_msg("no %s", name);
    return strtod(cursor + strlen(line), NULL);
}

static void plot_models(const char *gpu, const char *claims, char **script) {
    size_t length;
    test_run run = test_program("plot", test_in_folder("models"), "--gpu", gpu, "--claims", claims,
                                "--format", "svg", NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    assert_int_equal(tn_file_read(test_in_folder("models/figures/front.gp"), 1 << 20, script, &length, NULL),
                     TN_OK);
}

/* A GPU's step of every model that the space chooses between, as `roofline step` tells it; published designs. */
static void a_front_marks_what_stands_beside_it(void **state) {
    static const char *const model[] = {"atis-2enc", "atis-4enc"};
    char *script;
    (void)state;
    test_run run = test_program("sweep", test_source("tests/space/data/models.yaml"), "-o",
                                test_in_folder("models"), "--quiet", NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    plot_models("h200", "arxiv-2501.06663", &script);
    assert_true(defined(script, "gpus") == 2);
    assert_non_null(strstr(script, "published design, priced here"));
    assert_true(fabs(defined(script, "published_MiB") - 28.5) < 1e-9);
    for (int i = 0; i < 2; i++) {
        char name[32];
        json_t *step = test_program_json(0, "roofline", "step", model[i], "--device", "h200", "--json", NULL);
        snprintf(name, sizeof name, "gpu_ms_%d", i + 1);
        assert_true(fabs(defined(script, name) - number(step, "launched_ms")) < 1e-6);
        snprintf(name, sizeof name, "gpu_kernels_ms_%d", i + 1);
        assert_true(fabs(defined(script, name) - number(step, "graph_ms")) < 1e-6);
        json_decref(step);
    }
    tn_free(script);
    plot_models("none", "none", &script);
    assert_true(defined(script, "gpus") == 0);
    assert_non_null(strstr(script, "as its file has it"));
    tn_free(script);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_dominates_whom),
        cmocka_unit_test(by_one_quantity),
        cmocka_unit_test(a_plot_shows_what_a_query_lists),
        cmocka_unit_test(a_front_marks_what_stands_beside_it),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
