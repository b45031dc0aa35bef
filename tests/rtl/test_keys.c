/* Every key of a build, with each of its choices: hardware of as many cycles as `tenfold cost` says, or exit 2 with the key's
 * name; which of the two, the core says beforehand (price/obstacle.h). */
#include "support/program.h"
#include "support/shared.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/build.h"
#include "price/obstacle.h"

static json_t *answered(const test_run *run) {
    json_error_t where;
    json_t *root = json_loads(run->out, 0, &where);
    if (!root) fail_msg("%s: %s%s", where.text, run->out, run->err);
    return root;
}

static long long number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("%s is no integer", key);
    return json_integer_value(value);
}

static const char *model(void) {
    return test_source("tests/rtl/data/fused.yaml");
}

/* The price, its word on hardware, and the hardware itself. Returns whether it was generated. */
static bool check(const char *sets, const char *key, const char *options) {
    char command[2048];
    snprintf(command, sizeof command, "'%s' cost '%s' --json %s", TEST_PROGRAM, model(), sets);
    test_run cost = test_shell(command);
    json_t *price = answered(&cost);
    const char *told = json_string_value(json_object_get(price, "rtl"));
    assert_non_null(told);
    const bool built = strcmp(told, "yes") == 0;
    snprintf(command, sizeof command, "'%s' rtl '%s' --update --json -o keys %s %s", TEST_PROGRAM, model(),
             sets, options);
    test_run made = test_shell(command);
    if (made.status != (built ? 0 : 2)) fail_msg("%s: exit %d, '%s'", sets, made.status, made.err);
    if (built) {
        json_t *hardware = answered(&made);
        const long long cycles = number(json_object_get(price, "latency"), "cycles_per_step");
        if (number(hardware, "cycles_predicted") != cycles)
            fail_msg("%s: %lld cycles generated, %lld priced", sets, number(hardware, "cycles_predicted"),
                     cycles);
        if (*options) {
            assert_int_equal(number(hardware, "cycles_simulated"), cycles);
            assert_int_equal(number(hardware, "wrong_words"), 0);
        }
        json_decref(hardware);
    } else if (strncmp(told, "build.", 6) != 0 || (key && strcmp(told + 6, key) != 0) ||
               !strstr(made.err, told)) {
        fail_msg("%s: cost names %s, rtl says '%s'", sets, told, made.err);
    }
    json_decref(price);
    test_run_free(&cost);
    test_run_free(&made);
    return built;
}

/* Counts: one, three and 512. */
static void test_every_value(void **state) {
    (void)state;
    static const uint64_t counts[] = {1, 3, 512};
    size_t built = 0, refused = 0;
    for (size_t k = 0; k < tn_build_schema.count; k++) {
        const tn_field *key = &tn_build_schema.field[k];
        char set[128];
        for (size_t v = 0; key->type == TN_FIELD_CHOICE && key->choices[v]; v++) {
            const bool cells = strcmp(key->key, "array") == 0 && v > 0;
            snprintf(set, sizeof set, "--set build.%s=%s%s", key->key, key->choices[v],
                     cells ? " --set build.reduction=1" : "");
            *(check(set, key->key, "") ? &built : &refused) += 1;
        }
        for (size_t v = 0; key->type == TN_FIELD_COUNT && v < sizeof counts / sizeof *counts; v++) {
            if ((double)counts[v] > key->maximum || (double)counts[v] < key->minimum) continue;
            snprintf(set, sizeof set, "--set build.%s=%llu", key->key, (unsigned long long)counts[v]);
            *(check(set, strcmp(key->key, "vector") == 0 ? key->key : NULL, "") ? &built : &refused) += 1;
        }
    }
    print_message("%zu values are generated, %zu refused by name\n", built, refused);
    assert_true(built >= 40 && refused >= 15);
}

/* A key says what is generated with it, so that a new one does not pass unasked; the number of an obstacle and its key are
 * one to one. */
static void test_rows(void **state) {
    (void)state;
    char text[TN_OBSTACLE_TEXT], name[64];
    for (size_t k = 0; k < tn_build_schema.count; k++) {
        const tn_field *key = &tn_build_schema.field[k];
        assert_int_not_equal(tn_build_key_of(key)->generated_as, 0);
        snprintf(name, sizeof name, "build.%s", key->key);
        const uint32_t obstacle = tn_obstacle_of_key(name);
        assert_int_not_equal(obstacle, UINT32_MAX);
        assert_string_equal(tn_obstacle_key(obstacle, text), name);
    }
    assert_int_equal(tn_obstacle_of_key("yes"), 0);
    assert_int_equal(tn_obstacle_of_key("build.nothing"), UINT32_MAX);
}

/* ---- sweeps ---- */

static const char space[] = "kind: space\nname: keys\nmodel: %s\ndevice: u50@user-area\nchoices:\n"
                            "  build.rows: [2, 3, 4]\n  build.sharing: [shared, per-phase]\n"
                            "  build.split: [reshape, partition]\nobjectives: [seconds_per_step, dsp]\n";

/* Of a line of CSV the n-th field. */
static void field(const char *line, size_t n, char *out, size_t room) {
    while (n-- > 0) line += strcspn(line, ",") + 1;
    snprintf(out, room, "%.*s", (int)strcspn(line, ",\n"), line);
}

static size_t column(const char *head, const char *name) {
    char text[64];
    for (size_t n = 0;; n++) {
        field(head, n, text, sizeof text);
        if (strcmp(text, name) == 0) return n;
    }
}

/* Rows of front.csv, by those of them whose column `rtl` says what their keys say: a row of three, or a kernel a phase, has no
 * template. */
static size_t check_front(const char *folder, size_t *built) {
    char command[256];
    snprintf(command, sizeof command, "cat %s/front.csv", folder);
    test_run run = test_shell(command);
    size_t rows = 0;
    *built = 0;
    for (const char *line = strchr(run.out, '\n') + 1; *line; line = strchr(line, '\n') + 1, rows++) {
        char edge[64], sharing[64], rtl[64];
        field(line, column(run.out, "build.rows"), edge, sizeof edge);
        field(line, column(run.out, "build.sharing"), sharing, sizeof sharing);
        field(line, column(run.out, "rtl"), rtl, sizeof rtl);
        assert_string_equal(rtl, strcmp(edge, "3") == 0              ? "build.rows"
                                 : strcmp(sharing, "per-phase") == 0 ? "build.sharing"
                                                                     : "yes");
        *built += strcmp(rtl, "yes") == 0;
    }
    test_run_free(&run);
    return rows;
}

/* The column says which designs are generated; with --buildable only those are, and what the others covered comes up. */
static void test_sweeps(void **state) {
    (void)state;
    char command[2048];
    size_t built, of_all;
    FILE *file = fopen("keys-space.yaml", "w");
    assert_non_null(file);
    fprintf(file, space, model());
    fclose(file);
    snprintf(
        command, sizeof command,
        "rm -rf keys-all keys-built keys-same; '%s' sweep keys-space.yaml -o keys-all --quiet && '%s' sweep "
        "keys-space.yaml -o keys-built --buildable --quiet && '%s' sweep keys-space.yaml -o keys-same "
        "--set 'choices={build.rows: [2, 4], build.split: [reshape, partition]}' "
        "--quiet",
        TEST_PROGRAM, TEST_PROGRAM, TEST_PROGRAM);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s", run.err);
    test_run_free(&run);
    const size_t all = check_front("keys-all", &of_all);
    assert_true(of_all < all);
    const size_t filtered = check_front("keys-built", &built);
    assert_int_equal(filtered, built);
    run = test_shell("cut -d, -f2,4- keys-built/front.csv | sort >a; "
                     "cut -d, -f2- keys-same/front.csv | sort >b; diff a b; s=$?; rm -f a b; exit $s");
    if (run.status != 0) fail_msg("%s", run.out);
    test_run_free(&run);
}

/* Builds that have all values that are generated between them, simulated. */
static void test_simulated(void **state) {
    (void)state;
    static const char *const builds[] = {
        "--set build.split=banks --set build.activation_memory=ultra --set build.fusion=additions "
        "--set build.skew=features --set build.lane_lut=700 --set build.placement=searched "
        "--set build.vector=2 --set build.rows=1 --set build.core_memory=block",
        "--set build.split=partition --set build.buffers=separate --set build.fusion=write-back --set "
        "build.group=1 "
        "--set build.vector_units=shared --set build.core_memory=distributed",
        "--set build.array=systolic --set build.fusion=none --set build.split=auto --set build.vector=1"};
    test_need("verilator");
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        char sets[512];
        snprintf(sets, sizeof sets, "--set build.columns=2 --set build.reduction=1 %s", builds[i]);
        assert_true(check(sets, NULL, "--simulate --quiet"));
    }
}

static int tear_down(void **state) {
    (void)state;
    test_run run = test_shell("rm -rf keys keys-*");
    test_run_free(&run);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_every_value),
                                       cmocka_unit_test(test_sweeps), cmocka_unit_test(test_simulated)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
