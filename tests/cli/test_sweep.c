/* The commands sweep, merge, plot and recommend as a user runs them, and what they leave when the world
 * breaks. */
#include "base/file.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"
#include "support/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *small;

static int set_up(void **state) {
    static char path[1024];
    assert_int_equal(test_folder_make(state), 0);
    snprintf(path, sizeof path, "%s", test_source("tests/space/data/small.yaml"));
    small = path;
    setenv("SPACE", small, 1);
    setenv("LAYERS", test_source("tests/space/data/layers.yaml"), 1);
    setenv("TINY", test_source("tests/space/data/tiny.yaml"), 1);
    return 0;
}

static void shell(int status, const char *command) {
    test_run run = test_shell(command);
    if (run.status != status) print_error("%s\nexit %d\n%s%s", command, run.status, run.out, run.err);
    assert_int_equal(run.status, status);
    test_run_free(&run);
}

static void sweep_says_what_the_contract_asks(void **state) {
    (void)state;
    static const char *const keys[] = {"space", "designs",     "evaluated", "feasible", "rejected",
                                       "front", "hypervolume", "complete",  "seconds",  "designs_per_second"};
    json_t *json = test_program_json(0, "sweep", small, "-o", test_in_folder("s"), "--json", NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_non_null(json_object_get(json, keys[i]));
    assert_string_equal(json_string_value(json_object_get(json, "complete")), "exhausted");
    json_int_t sum = json_integer_value(json_object_get(json, "feasible"));
    const char *cause;
    json_t *count;
    json_object_foreach(json_object_get(json, "rejected"), cause, count) sum += json_integer_value(count);
    assert_int_equal(sum, json_integer_value(json_object_get(json, "designs")));
    json_decref(json);
    shell(0, "grep -q '\"command\": \"tenfold sweep ' $FOLDER/s/sweep.json && grep -q '\"date\": \"20' "
             "$FOLDER/s/sweep.json");
    shell(0, "test -s $FOLDER/s/front.csv -a -s $FOLDER/s/recommended.csv -a -s $FOLDER/s/sweep.json");
    shell(0, "head -1 $FOLDER/s/front.csv | grep -q '^id,'");
}

/* A space whose every design is refused says of the nearest what it lacks, by which key, and what would help: and it does. */
static void bad_space_says_why(void **state) {
    static const char *const spaces[] = {
        "settle: all\nchoices: {build.rows: [512], build.columns: [64]}\n",
        "settle: [build.group, build.split]\ncaps: {uram: 0, bram18: 1}\nchoices: {build.rows: [2, 4]}\n",
        "settle: [build.group]\nconstraints: [seconds_per_step <= 1e-9]\n"
        "choices: {build.rows: [2, 4]}\n"};
    static const char *const cause[] = {"lut", "bram18", "seconds_per_step"}, *const key[] = {"caps.lut",
                                                                                              "caps.bram18",
                                                                                              "constraints"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char file[2048], said[256];
        const char *path = test_in_folder("bad.yaml");
        tn_error error = {0};
        snprintf(file, sizeof file, "kind: space\nname: bad\nmodel: %s\ndevice: kv260\n%s",
                 test_source("tests/space/data/small-transformer.yaml"), spaces[i]);
        test_ok(tn_file_write(path, file, strlen(file), &error), &error);
        shell(0, "rm -rf $FOLDER/bad");
        json_t *json = test_program_json(1, "sweep", path, "-o", test_in_folder("bad"), "--json", NULL);
        json_t *shortage = json_object_get(json, "shortage");
        assert_string_equal(json_string_value(json_object_get(shortage, "key")), key[i]);
        assert_non_null(strstr(json_string_value(json_object_get(shortage, "cause")), cause[i]));
        assert_true(json_number_value(json_object_get(shortage, "factor")) > 1);
        json_decref(json);
        snprintf(
            said, sizeof said,
            "$TENFOLD sweep $FOLDER/bad.yaml -o $FOLDER/bad --resume | grep '^no design fits' | grep -q %s",
            key[i]);
        shell(0, said);
    }
}

static void shards_merge(void **state) {
    (void)state;
    shell(0, "$TENFOLD sweep $SPACE -o $FOLDER/a --shard 1/2 --quiet && $TENFOLD sweep $SPACE -o $FOLDER/b "
             "--shard 2/2 --quiet "
             "&& $TENFOLD merge $FOLDER/a $FOLDER/b -o $FOLDER/ab && cmp $FOLDER/ab/front.csv "
             "$FOLDER/s/front.csv");
    shell(2, "$TENFOLD sweep $SPACE -o $FOLDER/c --shard 3/2");
    shell(2, "$TENFOLD sweep $SPACE -o $FOLDER/c --shard 0/2");
}

static void another_folder_is_left_alone(void **state) {
    (void)state;
    shell(0, "cp $FOLDER/s/front.csv $FOLDER/before.csv");
    shell(2, "$TENFOLD sweep $SPACE -o $FOLDER/s --quiet");
    shell(
        0,
        "$TENFOLD sweep $SPACE -o $FOLDER/s --resume --quiet && cmp $FOLDER/before.csv $FOLDER/s/front.csv");
}

/* Killed wherever it stands: front.csv is absent or whole, and the next run ends the work. */
static void killed_sweep_goes_on(void **state) {
    (void)state;
    for (int i = 1; i <= 6; i++) {
        char command[512];
        snprintf(
            command, sizeof command,
            "rm -rf $FOLDER/k; $TENFOLD sweep $SPACE -o $FOLDER/k --quiet >/dev/null & pid=$!; sleep 0.0%d; "
            "kill -9 $pid; wait $pid; if test -e $FOLDER/k/front.csv; then cmp $FOLDER/k/front.csv "
            "$FOLDER/s/front.csv || exit 5; fi; $TENFOLD sweep $SPACE -o $FOLDER/k --resume --quiet "
            ">/dev/null "
            "&& cmp $FOLDER/k/front.csv $FOLDER/s/front.csv",
            i * 3 % 10);
        shell(0, command);
    }
}

/* A limit on file sizes stands for a full disk: the write fails as it would there. */
static void full_disk_is_exit_3(void **state) {
    (void)state;
    shell(3, "trap '' XFSZ; ulimit -f 8; exec $TENFOLD sweep $SPACE -o $FOLDER/full --quiet");
    shell(1, "test -e $FOLDER/full/front.csv");
    shell(3, "exec $TENFOLD list flows >/dev/full");
    shell(0, "rm -rf $FOLDER/full");
}

static void interrupted_sweep_is_exit_130(void **state) {
    (void)state;
    shell(0, "rm -rf $FOLDER/i; $TENFOLD sweep atis-2enc-u50 -o $FOLDER/i --quiet --json >$FOLDER/out & "
             "pid=$!; sleep 1; "
             "kill -INT $pid; wait $pid; test $? -eq 130 && grep -q interrupted $FOLDER/out && test -s "
             "$FOLDER/i/sweep.db -a ! -e $FOLDER/i/possible.csv");
}

/* Where the front is written, and the designs that may be on it are still being looked for: the front stays, and the next run lists
 * them. It may have listed them before the signal comes. */
static void interrupted_list_is_exit_130(void **state) {
    (void)state;
    setenv("CHOICES",
           "choices={weights.square.folding: {factors: [2, 3], smallest: 8, largest: 48, pairs: mirrored}, "
           "weights.square.rank: {from: 2, to: 48, step: 4}, weights.square.flow: [right-to-left], "
           "build.rows: [2, 4, 8]}",
           1);
    shell(0, "$TENFOLD sweep atis-2enc-u50 --set \"$CHOICES\" -o $FOLDER/p --quiet >/dev/null & pid=$!; "
             "while test ! -e $FOLDER/p/front.csv && kill -0 $pid; do sleep 0.01; done; kill -INT $pid; "
             "wait $pid; s=$?; cp $FOLDER/p/front.csv $FOLDER/p.csv && "
             "if test $s -ne 0; then test $s -eq 130 -a ! -e $FOLDER/p/possible.csv || exit 5; fi; "
             "$TENFOLD sweep atis-2enc-u50 --set \"$CHOICES\" -o $FOLDER/p --resume --quiet >/dev/null && "
             "cmp $FOLDER/p.csv $FOLDER/p/front.csv && test -s $FOLDER/p/possible.csv");
}

/* A time that ends before there is a front leaves no folder, and one that is there as it is. */
static void a_time_too_short_is_exit_2(void **state) {
    (void)state;
    shell(0, "! $TENFOLD sweep $LAYERS -o $FOLDER/late --time 0.000001 --method decompose 2>$FOLDER/said && "
             "grep -q 'time were over with 0 % of the tables made' $FOLDER/said && test ! -e $FOLDER/late");
    shell(0, "! $TENFOLD sweep atis-2enc-layers -o $FOLDER/late --time 0.000001 2>$FOLDER/said && "
             "grep -q 'time were over before the first 200 designs' $FOLDER/said && test ! -e $FOLDER/late");
    shell(2, "$TENFOLD sweep $LAYERS -o $FOLDER/s --resume --time 0.000001 --quiet");
    shell(0, "cmp $FOLDER/before.csv $FOLDER/s/front.csv");
}

/* What can be enumerated gives what a moment is enough for, and goes on with it later. */
static void a_short_time_enumerates_a_part(void **state) {
    (void)state;
    shell(0,
          "$TENFOLD sweep $SPACE -o $FOLDER/part --method enumerate --time 0.000001 --quiet >$FOLDER/said && "
          "grep -q '(budget)' $FOLDER/said && test $(wc -l <$FOLDER/part/front.csv) -gt 1");
    shell(0, "$TENFOLD sweep $SPACE -o $FOLDER/part --method enumerate --resume --quiet >$FOLDER/said && "
             "grep -q '^exact' $FOLDER/said && cmp $FOLDER/before.csv $FOLDER/part/front.csv");
}

static void plots_and_recommends(void **state) {
    (void)state;
    json_t *json = test_program_json(0, "plot", test_in_folder("s"), "--json", NULL);
    assert_true(json_array_size(json_object_get(json, "figures")) >= 3);
    json_decref(json);
    shell(0, "$TENFOLD plot $FOLDER/s --format svg >/dev/null && $TENFOLD plot $FOLDER/s --format pdf "
             ">/dev/null && "
             "for f in front macs resources; do for e in png svg pdf gp dat; do test -s "
             "$FOLDER/s/figures/$f.$e || exit 1; "
             "done; done");
    shell(0, "$TENFOLD recommend $FOLDER/s | grep -q '^build.*design'");
    json = test_program_json(0, "recommend", test_in_folder("s"), "--json", NULL);
    assert_non_null(json_object_get(json, "slowest_kernel"));
    json_decref(json);
    shell(2, "$TENFOLD plot $FOLDER/nothing");
    shell(2, "$TENFOLD plot $FOLDER/s --format gif");
    shell(3, "PATH=/nowhere exec $TENFOLD plot $FOLDER/s");
}

/* What is not known is not said: only where all designs are known, or bounded, none of them fits. */
static void of_what_was_seen_nothing_fits(void **state) {
    static const char *const methods[] = {"--method decompose", "--method evolve --budget 50", "--budget 50"};
    char command[512];
    (void)state;
    /* 20,736 designs */
    shell(0, "sed 's/^  build.rows.*/&\\n  build.group: {from: 1, to: 108}/' $LAYERS > $FOLDER/many.yaml");
    for (int i = 0; i < 3; i++) {
        snprintf(command, sizeof command,
                 "$TENFOLD sweep $FOLDER/many.yaml -o $FOLDER/unfit --quiet %s "
                 "--set 'constraints=[lut <= 90000]' > $FOLDER/said",
                 methods[i]);
        shell(0, "rm -rf $FOLDER/unfit");
        shell(1, command);
        shell(0, "grep -q '^none of the [1-9][0-9,]* evaluated designs fits, and nothing is known of the "
                 "others; the causes' "
                 "$FOLDER/said && grep -q '  lut <= 90000 *[1-9]' $FOLDER/said && ! grep -q 'no "
                 "design\\|every design\\|certificate' $FOLDER/said");
        shell(0, "grep -q '\"complete\": \"budget\"' $FOLDER/unfit/sweep.json && "
                 "grep -q '\"certificate\": null' $FOLDER/unfit/sweep.json && "
                 "grep -q '\"exact\": false' $FOLDER/unfit/sweep.json");
    }
    static const char *const most[] = {"1000", "90000"}; /* no bound is left; every design is priced */
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command,
                 "rm -rf $FOLDER/unfit; $TENFOLD sweep $LAYERS -o $FOLDER/unfit --quiet --method decompose "
                 "--set 'constraints=[lut <= %s]' > $FOLDER/said",
                 most[i]);
        shell(1, command);
        shell(0, "grep -q '^no design fits; the nearest' $FOLDER/said && rm -rf $FOLDER/unfit");
        shell(1, "grep -q '^exact:' $FOLDER/said");
    }
}

static void nothing_fits_is_exit_1(void **state) {
    (void)state;
    shell(1, "$TENFOLD sweep $SPACE -o $FOLDER/none --quiet --set device=$TINY");
    shell(0, "$TENFOLD sweep $SPACE --dry-run | grep -q 4,608");
}

/* Names come from outside: quotes and the like stay what they are, and the JSON stays JSON. */
static void dry_run_quotes_the_name(void **state) {
    (void)state;
    json_t *json = test_program_json(0, "sweep", small, "--dry-run", "--json", "--set",
                                     "name=\"say \\\"so\\\", \\\\ \\t {\"", NULL);
    assert_string_equal(json_string_value(json_object_get(json, "space")), "say \"so\", \\ \t {");
    assert_int_equal(json_integer_value(json_object_get(json, "designs")), 4608);
    assert_string_equal(json_string_value(json_object_get(json, "schema")), "tenfold.sweep/1");
    assert_int_equal(json_object_size(json), 3);
    json_decref(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweep_says_what_the_contract_asks),
        cmocka_unit_test(dry_run_quotes_the_name),
        cmocka_unit_test(bad_space_says_why),
        cmocka_unit_test(shards_merge),
        cmocka_unit_test(another_folder_is_left_alone),
        cmocka_unit_test(killed_sweep_goes_on),
        cmocka_unit_test(full_disk_is_exit_3),
        cmocka_unit_test(interrupted_sweep_is_exit_130),
        cmocka_unit_test(interrupted_list_is_exit_130),
        cmocka_unit_test(a_time_too_short_is_exit_2),
        cmocka_unit_test(a_short_time_enumerates_a_part),
        cmocka_unit_test(plots_and_recommends),
        cmocka_unit_test(nothing_fits_is_exit_1),
        cmocka_unit_test(of_what_was_seen_nothing_fits),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
