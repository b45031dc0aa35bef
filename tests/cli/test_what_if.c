/* DIR --point ID --set KEY=VALUE of every command that takes it: the answer is that of the sweep's design which has those
 * values, or of the device or flow that was set. */
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tests/cli/data/what-if.yaml: tt, 12x8x8,8x8x12, optimal, encoder1.query of rank 3, batch 1, 2 rows; of rank 2, and of 12. */
#define LOW  "8"
#define HIGH "24"

static int set_up(void **state) {
    if (test_folder_make(state) != 0) return -1;
    test_run run = test_program("sweep", test_source("tests/cli/data/what-if.yaml"), "--quiet", "-o",
                                test_in_folder("swept"), NULL);
    int status = run.status;
    test_run_free(&run);
    return setenv("SWEPT", test_in_folder("swept"), 1) != 0 || status != 0;
}

static json_t *ask(const char *arguments) {
    char command[512];
    snprintf(command, sizeof command, "\"$TENFOLD\" %s --json --quiet", arguments);
    test_run run = test_shell(command);
    json_t *answer = json_loads(run.out, 0, NULL);
    if (!answer || run.status != 0) fail_msg("%s: exit %d\n%s", command, run.status, run.err);
    test_run_free(&run);
    return answer;
}

static const json_t *member(const json_t *object, const char *key) {
    const json_t *found = json_object_get(object, key);
    if (!found) fail_msg("no %s", key);
    return found;
}

/* Both answers are equal in those members, which are not empty; NULL: in all. */
static void agree(const char *one, const char *other, const char *const *key) {
    json_t *a = ask(one), *b = ask(other);
    if (!key) assert_true(json_equal(a, b));
    for (; key && *key; key++) {
        if (!json_equal((json_t *)member(a, *key), (json_t *)member(b, *key)))
            fail_msg("%s and %s differ in %s", one, other, *key);
    }
    json_decref(a);
    json_decref(b);
}

static long long cycles(const json_t *cost) {
    return json_integer_value(member(member(cost, "latency"), "cycles_per_step"));
}

static double seconds(const json_t *cost) {
    return json_number_value(member(member(cost, "latency"), "seconds_per_step"));
}

static void cost(void **state) {
    (void)state;
    agree("cost $SWEPT --point " LOW " --set weights.square.rank=12", "cost $SWEPT --point " HIGH, NULL);
    agree("cost $SWEPT --point " HIGH " --set weights.square.rank=2", "cost $SWEPT --point " LOW, NULL);
    agree("cost $SWEPT --point " HIGH
          " --set layers.encoder1.query.rank=200 --set build.rows=4 --set batch=2",
          "cost $SWEPT --point 31", NULL);
    agree("cost $SWEPT --point " HIGH " --set weights.square.format=ttm", "cost $SWEPT --point 120", NULL);
    agree("cost $SWEPT --point " HIGH " --set build.rows=2", "cost $SWEPT --point " HIGH, NULL);
}

/* The clock that the answer lists beside the device's own. */
static void device_keys(void **state) {
    (void)state;
    json_t *given = ask("cost $SWEPT --point " HIGH),
           *slow = ask("cost $SWEPT --point " HIGH " --set clock_MHz=150");
    const json_t *clocks = member(given, "clocks");
    double listed = 0;
    for (size_t i = 0; i < json_array_size(clocks); i++)
        if (json_number_value(member(json_array_get(clocks, i), "clock_MHz")) == 150)
            listed = json_number_value(member(json_array_get(clocks, i), "seconds_per_step"));
    assert_true(listed > seconds(given));
    assert_true(seconds(slow) == listed);
    json_decref(given);
    json_decref(slow);
}

static void fastest_flow(void **state) {
    (void)state;
    static const char *const flows[] = {"dense", "right-to-left", "bidirectional", "optimal", "cheapest-2"};
    json_t *fastest =
        ask("cost $SWEPT --point " HIGH " --set weights.square.flow=fastest --set build.rows=8");
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments,
                 "cost $SWEPT --point " HIGH " --set build.rows=8 --set weights.square.flow=%s", flows[i]);
        json_t *one = ask(arguments);
        const bool fits = json_is_true(member(one, "fits"));
        assert_true(!fits || cycles(fastest) <= cycles(one));
        json_decref(one);
    }
    assert_true(json_is_true(member(fastest, "fits")));
    json_decref(fastest);
}

static void other_commands(void **state) {
    (void)state;
    static const char *const train[] = {"parameters", "macs_per_step", "peak_elements", NULL},
                             *const rtl[] = {"operations", "cycles_predicted", "memory_list", NULL};
    agree("train $SWEPT --point " LOW " --data none --steps 1 --set weights.square.rank=12",
          "train $SWEPT --point " HIGH " --data none --steps 1", train);
    agree("rtl $SWEPT --point " LOW " --layer encoder2.query --set weights.square.rank=12 -o $FOLDER/a",
          "rtl $SWEPT --point " HIGH " --layer encoder2.query -o $FOLDER/b", rtl);
    json_t *a = ask("validate $SWEPT --point " LOW " --set weights.square.rank=12"),
           *b = ask("validate $SWEPT --point " HIGH);
    assert_true(json_is_true(member(a, "ok")));
    const json_t *of_a = member(a, "checks"), *of_b = member(b, "checks");
    assert_int_equal(json_array_size(of_a), json_array_size(of_b));
    for (size_t i = 0; i < json_array_size(of_a); i++)
        assert_true(json_equal((json_t *)member(json_array_get(of_a, i), "macs_executed"),
                               (json_t *)member(json_array_get(of_b, i), "macs_executed")));
    json_decref(a);
    json_decref(b);
}

static void export(void **state) {
    (void)state;
    static const char *const parts[] = {"memories", "arrays", "operations"};
    json_decref(ask("export $SWEPT --point " LOW " --set weights.square.rank=12 -o $FOLDER/what-if"));
    json_decref(ask("export $SWEPT --point " HIGH " -o $FOLDER/design"));
    json_t *a = json_load_file(test_in_folder("what-if/design.json"), 0, NULL),
           *b = json_load_file(test_in_folder("design/design.json"), 0, NULL);
    for (size_t i = 0; i < 3; i++)
        assert_true(json_equal((json_t *)member(a, parts[i]), (json_t *)member(b, parts[i])));
    const char *choices = json_string_value(member(a, "choices"));
    assert_non_null(strstr(choices, ", but weights.square.rank=12"));
    json_decref(a);
    json_decref(b);
}

static void refuses(const char *because, const char *arguments) {
    char command[512];
    snprintf(command, sizeof command, "\"$TENFOLD\" %s", arguments);
    test_run run = test_shell(command);
    if (run.status != 2 || !strstr(run.err, because))
        fail_msg("%s: exit %d, '%s' instead of '%s'", arguments, run.status, run.err, because);
    test_run_free(&run);
}

static void wrong_keys(void **state) {
    (void)state;
    refuses("neither model nor device has a key \"batsh\"; did you mean batch",
            "cost $SWEPT --point 8 --set batsh=2");
    refuses("did you mean \"rows\"", "cost $SWEPT --point 8 --set build.rowz=2");
    refuses("--set:1:12: ", "rtl $SWEPT --point 8 -o $FOLDER/no --set build.rows=0");
    refuses("no layer is called \"encoder9.query\"", "train $SWEPT --point 8 --data none --steps 1 --set "
                                                     "layers.encoder9.query.rank=3");
    refuses("flow\" of weight is sideways", "validate $SWEPT --point 8 --set weights.square.flow=sideways");
    refuses("give its --point ID", "validate $SWEPT --set batch=2");
    refuses("variants", "export $SWEPT --point 8 -o $FOLDER/no --set variants={}");
    refuses("was asked for as u50@user-area", "cost $SWEPT --point 8 --set variant=whole");
    refuses("a design is compared as the sweep has it",
            "compare $SWEPT --point 8 --gpu rtx3090 --set batch=2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cost),           cmocka_unit_test(device_keys), cmocka_unit_test(fastest_flow),
        cmocka_unit_test(other_commands), cmocka_unit_test(export),      cmocka_unit_test(wrong_keys),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
