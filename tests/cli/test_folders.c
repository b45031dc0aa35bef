/* Folders of results, and spaces, as people and programs mistreat them: the commands sweep, merge, validate,
 * recommend and plot. */
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
#include <unistd.h>

static void shell(int status, const char *command) {
    test_run run = test_shell(command);
    if (run.status != status) print_error("%s\nexit %d\n%s%s", command, run.status, run.out, run.err);
    assert_int_equal(run.status, status);
    test_run_free(&run);
}

/* Runs the command, which must end with that status and say `text` on standard error. */
static void complains(int status, const char *text, const char *command) {
    test_run run = test_shell(command);
    bool said = strstr(run.err, text) != NULL;
    if (run.status != status || !said)
        print_error("%s\nexit %d\n%s%s", command, run.status, run.out, run.err);
    assert_int_equal(run.status, status);
    assert_true(said);
    test_run_free(&run);
}

static int set_up(void **state) {
    assert_int_equal(test_folder_make(state), 0);
    setenv("MINI", test_source("tests/space/data/mini.yaml"), 1);
    setenv("SMALL", test_source("tests/space/data/small.yaml"), 1);
    setenv("TINY", test_source("tests/space/data/tiny.yaml"), 1);
    setenv("SOURCE", test_source("."), 1);
    shell(0, "$TENFOLD sweep $MINI -o $FOLDER/mini --quiet");
    return 0;
}

/* Bad input is the error of `cost`, not "undefined". */
static void bad_input_is_an_error(void **state) {
    (void)state;
    shell(0, "cp $SOURCE/models/devices/u50.yaml $FOLDER/fast.yaml && echo 'clock_MHz: 1900' "
             ">>$FOLDER/fast.yaml && "
             "ln -s $SOURCE/models/devices/families $FOLDER/families");
    shell(2, "$TENFOLD cost atis-2enc --device $FOLDER/fast.yaml 2>$FOLDER/cost.err");
    shell(2,
          "$TENFOLD sweep $MINI --set device=$FOLDER/fast.yaml -o $FOLDER/fast --quiet 2>$FOLDER/sweep.err");
    shell(0, "tail -1 $FOLDER/cost.err | cut -c1-60 >$FOLDER/a; tail -1 $FOLDER/sweep.err | cut -c1-60 "
             ">$FOLDER/b; cmp $FOLDER/a $FOLDER/b");
    shell(0, "printf 'weight,rows,columns,rank,relative_error\\nsquare,12x8x8,8x8x12,4,0.5\\n' "
             ">$FOLDER/errors.csv");
    complains(
        2, "errors.csv: has no row for weight square, rows 24x32, columns 32x24, rank 4",
        "$TENFOLD sweep $MINI --set error_table=$FOLDER/errors.csv -o $FOLDER/errors --quiet --threads 1");
}

static void undefined_flows_are_named(void **state) {
    (void)state;
    shell(0, "$TENFOLD sweep $SMALL -o $FOLDER/small --quiet | grep -q 'weight square in format tt with 2 "
             "factors a "
             "side has no flow bidirectional-published'");
    shell(0, "$TENFOLD sweep $SMALL -o $FOLDER/small2 --quiet --json | grep -q '\"flow\": "
             "\"bidirectional-published\"'");
}

/* Fronts of training flows differ in length: a point that one lacks is undefined, and so recorded. */
static void points_past_a_front_are_undefined(void **state) {
    (void)state;
    shell(0, "printf 'kind: space\nname: points\nmodel: atis-2enc\ndevice: u50\nchoices:\n  "
             "weights.square.folding: "
             "[\"24x32,32x24\"]\n  weights.square.rank: [4]\n  weights.square.flow: [training-optimal, "
             "training-front-8]\n' >$FOLDER/points.yaml");
    shell(0, "for more in '' --resume; do $TENFOLD sweep $FOLDER/points.yaml -o $FOLDER/points $more --quiet "
             "--json "
             ">$FOLDER/points.json && grep -q '\"complete\": \"exhausted\"' $FOLDER/points.json && grep -q "
             "'\"flow\": \"training-front-8\"' $FOLDER/points.json || exit 1; done");
}

static void nothing_to_validate_is_exit_1(void **state) {
    (void)state;
    shell(1, "$TENFOLD sweep $MINI -o $FOLDER/none --quiet --set device=$TINY");
    shell(0, "$TENFOLD validate $FOLDER/none --quiet | grep -q 'no design that fits'; test $? -eq 0");
    shell(1, "$TENFOLD validate $FOLDER/none --quiet");
    shell(1, "$TENFOLD validate $FOLDER/none --quiet --json >$FOLDER/none.json");
    shell(0, "grep -q '\"ok\": false' $FOLDER/none.json");
    shell(1, "$TENFOLD plot $FOLDER/none");
}

static void names_that_sqlite_confuses(void **state) {
    (void)state;
    shell(0, "sed 's/name: table/name: Square/; s/weight: table/weight: Square/; s/^  table:/  Square:/' "
             "$SOURCE/models/atis-2enc.yaml >$FOLDER/case.yaml");
    shell(0, "printf 'kind: space\\nname: \"a\\\\\"b\"\\nmodel: case.yaml\\ndevice: u50\\nchoices:\\n  "
             "weights.square.rank: [4, 8]\\n  weights.Square.rank: [8, 16]\\n' >$FOLDER/case-space.yaml");
    shell(0, "$TENFOLD sweep $FOLDER/case-space.yaml -o $FOLDER/case --quiet --keep-all --json "
             ">$FOLDER/case.json");
    shell(0, "python3 -c 'import json,os; assert "
             "json.load(open(os.environ[\"FOLDER\"]+\"/case.json\"))[\"space\"] == \"a\\\"b\"'");
    shell(0, "$TENFOLD sweep $FOLDER/case-space.yaml -o $FOLDER/case --quiet --keep-all --resume");
}

/* device:, model: and error_table: are relative to the space file, wherever the program runs. */
static void paths_are_relative_to_the_file(void **state) {
    (void)state;
    shell(
        0,
        "mkdir -p $FOLDER/p/inputs && cp $SOURCE/models/atis-2enc.yaml $FOLDER/p/inputs/model.yaml && cp "
        "$TINY "
        "$FOLDER/p/inputs/device.yaml && printf "
        "'weight,rows,columns,rank,relative_error\\nsquare,12x8x8,8x8x12,4,0.5\\n' >$FOLDER/p/inputs/e.csv");
    shell(0, "printf 'kind: space\\nname: p\\nmodel: inputs/model.yaml\\ndevice: "
             "./inputs/device.yaml\\nerror_table: "
             "inputs/e.csv\\nchoices:\\n  weights.square.rank: [4]\\n' >$FOLDER/p/space.yaml");
    shell(0, "cd / && $TENFOLD sweep $FOLDER/p/space.yaml --dry-run");
    shell(0, "cd $FOLDER/p && $TENFOLD sweep space.yaml --dry-run && cd inputs && $TENFOLD sweep "
             "../space.yaml --dry-run");
    shell(0, "cd $FOLDER/p/inputs && $TENFOLD sweep ../space.yaml --set device=device.yaml --dry-run");
}

static void values_given_twice_are_refused(void **state) {
    (void)state;
    complains(2, "12 is given twice",
              "$TENFOLD sweep $MINI --dry-run --set 'choices.weights\\.square\\.rank=[12, 12]' 2>&1 "
              "| head -1 >&2; sed 's/rank: .4, 12./rank: [12, 4, 12]/' $MINI >$FOLDER/twice.yaml; "
              "$TENFOLD sweep $FOLDER/twice.yaml --dry-run");
    complains(2, "is given twice",
              "sed 's/sequence: .*/sequence: [16, 16.0]/' $MINI >$FOLDER/twice.yaml; $TENFOLD "
              "sweep $FOLDER/twice.yaml --dry-run");
}

/* Norms 3 and 4, errors 0.5 and 1: sqrt((1.5^2 + 4^2) / (3^2 + 4^2)). */
static void relative_error_is_weighed(void **state) {
    (void)state;
    shell(0, "printf 'weight,rows,columns,rank,relative_error,norm\\nsquare,12x8x8,8x8x12,12,0.5,3\\ntable,"
             "10x10x10,12x8x8,30,1,4\\n' >$FOLDER/norms.csv && printf 'kind: space\\nname: n\\nmodel: "
             "atis-2enc\\ndevice: u50\\nerror_table: norms.csv\\nchoices:\\n  weights.square.rank: [12]\\n  "
             "build.rows: [1, 4]\\n' >$FOLDER/norms.yaml");
    shell(0,
          "$TENFOLD sweep $FOLDER/norms.yaml -o $FOLDER/norms --quiet && awk -F, 'NR == 1 { for (i = 1; i <= "
          "NF; "
          "i++) if ($i == \"relative_error\") c = NF - i } NR == 2 { d = $(NF - c) - sqrt((1.5 ^ 2 + 16) / "
          "25); exit !(d < "
          "1e-12 && d > -1e-12) }' $FOLDER/norms/front.csv");
    shell(0,
          "awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == \"relative_error\") c = NF - i } NR == 2 { "
          "exit $(NF - c) != \"nan\" }' $FOLDER/mini/front.csv");
    shell(0, "$TENFOLD recommend $FOLDER/mini --json | grep -q '\"relative_error\": null'");
    complains(2, "column `norm`",
              "sed -i 's/,norm$//; s/,[34]$//' $FOLDER/norms.csv; $TENFOLD sweep "
              "$FOLDER/norms.yaml --dry-run");
}

static void missing_shards_are_named(void **state) {
    (void)state;
    shell(0, "for i in 1 2 3 4; do $TENFOLD sweep $SMALL -o $FOLDER/s$i --shard $i/4 --seed 7 --quiet || "
             "exit; done");
    complains(1, "shard 3 of 4", "$TENFOLD merge $FOLDER/s1 $FOLDER/s2 $FOLDER/s4 -o $FOLDER/three");
    shell(0, "$TENFOLD recommend $FOLDER/three | head -1 | grep -q unfinished");
    shell(0, "$TENFOLD recommend $FOLDER/three --json | grep -q '\"complete\": \"interrupted\"'");
    complains(0, "unfinished", "$TENFOLD plot $FOLDER/three");
    shell(
        0,
        "$TENFOLD merge $FOLDER/s1 $FOLDER/s2 $FOLDER/s3 $FOLDER/s4 -o $FOLDER/four && grep -q '\"seed\": 7' "
        "$FOLDER/four/sweep.json");
    shell(0, "$TENFOLD sweep $SMALL -o $FOLDER/budget --budget 1000 --quiet && $TENFOLD recommend "
             "$FOLDER/budget | head "
             "-1 | grep -q budget");
}

/* Ranks that the modes can't fill cost nothing more; lists of ranks are values. */
static void ranks_are_the_useful_ones(void **state) {
    (void)state;
    shell(0, "printf 'kind: space\\nname: r\\nmodel: atis-2enc\\ndevice: u50\\nobjectives: "
             "[seconds_per_step]\\nchoices:\\n  weights.square.rank: [1x12x32x32x32x12x1, 32]\\n' "
             ">$FOLDER/ranks.yaml");
    shell(0,
          "$TENFOLD sweep $FOLDER/ranks.yaml -o $FOLDER/ranks --keep-all --quiet --json >$FOLDER/ranks.json");
    shell(0, "sqlite3 $FOLDER/ranks/sweep.db 'SELECT count(DISTINCT parameters), count(*) FROM designs' "
             "2>/dev/null | "
             "grep -q '1|2' || ! command -v sqlite3 >/dev/null");
    complains(2, "has 7",
              "sed 's/1x12x32x32x32x12x1/1x12x12x1/' $FOLDER/ranks.yaml >$FOLDER/ranks2.yaml; $TENFOLD sweep "
              "$FOLDER/ranks2.yaml -o $FOLDER/ranks2 --quiet");
}

static void second_sweep_is_refused(void **state) {
    (void)state;
    shell(0,
          "$TENFOLD sweep atis-2enc-u50 -o $FOLDER/fight --quiet --threads 1 >/dev/null 2>&1 & pid=$!; while "
          "! test -s "
          "$FOLDER/fight/sweep.lock; do sleep 0.02; done; sleep 0.1; $TENFOLD sweep atis-2enc-u50 -o "
          "$FOLDER/fight "
          "--resume --quiet 2>$FOLDER/fight.err; status=$?; $TENFOLD merge $FOLDER/fight -o $FOLDER/fought "
          ">/dev/null 2>&1; merge=$?; kill -9 $pid; test $status -eq 3 && test $merge -ge 2 && grep -q "
          "\"process $pid \" "
          "$FOLDER/fight.err");
}

/* Files of a result that hold nothing, something else, or what no sweep writes. */
static void hostile_files_are_refused(void **state) {
    (void)state;
    static const char *const files[] = {"front.csv",  "recommended.csv", "sweep.json",
                                        "space.yaml", "model.yaml",      "device.yaml"};
    static const char *const deeds[] = {": >$F",
                                        "head -1 $F >$F.1; mv $F.1 $F",
                                        "rm $F",
                                        "printf '\\0\\377' >$F",
                                        "sed -i 's/[0-9][0-9]*/99999999999999999999/g' $F",
                                        "echo '{}' >$F",
                                        "rm $F; mkdir $F"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t k = 0; k < sizeof deeds / sizeof *deeds; k++) {
            char command[512];
            snprintf(command, sizeof command,
                     "rm -rf $FOLDER/h; cp -r $FOLDER/mini $FOLDER/h; F=$FOLDER/h/%s; %s; for c in plot "
                     "recommend; do "
                     "timeout 20 $TENFOLD $c $FOLDER/h >/dev/null 2>&1; s=$?; test $s -eq 2 -o $s -eq 1 || { "
                     "echo $c $s; exit 1; }; done",
                     files[i], deeds[k]);
            shell(0, command);
        }
}

/* A combination of model keys whose counts leave 64 bits is counted; each key alone is fine. */
static void overflow_is_a_cause(void **state) {
    (void)state;
    shell(0, "printf 'kind: space\\nname: o\\nmodel: atis-2enc\\ndevice: u50\\nchoices:\\n  batch: [1, "
             "1000000000000]\\n  sequence: [16, 10000000000]\\n  weights.square.rank: [4]\\n' "
             ">$FOLDER/overflow.yaml");
    shell(0,
          "$TENFOLD sweep $FOLDER/overflow.yaml -o $FOLDER/overflow --quiet --json >$FOLDER/overflow.json; "
          "grep -q "
          "'\"overflow\": [123]' $FOLDER/overflow.json && grep -q '\"evaluated\": 4' $FOLDER/overflow.json");
}

static void folder_names_are_only_names(void **state) {
    (void)state;
    shell(0, "cd $FOLDER && $TENFOLD sweep $MINI -o 'file:x?mode=memory' --quiet && test -s "
             "'file:x?mode=memory/sweep.db'");
    shell(
        0,
        "cd $FOLDER && d=$(printf 'd%.0s' $(seq 200)); mkdir -p $d && cd $d && for i in 1 2 3 4 5 6 7; do "
        "mkdir $d "
        "&& cd $d || exit 1; done; $TENFOLD sweep $MINI -o $FOLDER/$d/$d/$d/$d/$d/$d/$d/$d/result --quiet && "
        "$TENFOLD recommend $FOLDER/$d/$d/$d/$d/$d/$d/$d/$d/result >/dev/null && $TENFOLD merge "
        "$FOLDER/$d/$d/$d/$d/$d/$d/$d/$d/result -o $FOLDER/$d/$d/$d/$d/$d/$d/$d/$d/merged >/dev/null");
}

/* The sweep is over, the hypervolume of 1e8 samples is not: in six objectives no volume is exact. */
static void hypervolume_stops_when_asked(void **state) {
    (void)state;
    setenv("OBJECTIVES", "objectives=[seconds_per_step,bram18,dsp,uram,parameters,ff]", 1);
    shell(0,
          "$TENFOLD sweep $SMALL -o $FOLDER/hv --quiet --set hypervolume_samples=100000000 --set $OBJECTIVES "
          ">$FOLDER/hv.text & "
          "pid=$!; sleep 3; kill -TERM $pid; (sleep 10; kill -9 $pid) 2>/dev/null & guard=$!; wait $pid; "
          "s=$?; kill "
          "$guard; test $s -eq 130 && test -s $FOLDER/hv/front.csv");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_is_an_error),
        cmocka_unit_test(undefined_flows_are_named),
        cmocka_unit_test(points_past_a_front_are_undefined),
        cmocka_unit_test(nothing_to_validate_is_exit_1),
        cmocka_unit_test(names_that_sqlite_confuses),
        cmocka_unit_test(paths_are_relative_to_the_file),
        cmocka_unit_test(values_given_twice_are_refused),
        cmocka_unit_test(relative_error_is_weighed),
        cmocka_unit_test(missing_shards_are_named),
        cmocka_unit_test(ranks_are_the_useful_ones),
        cmocka_unit_test(second_sweep_is_refused),
        cmocka_unit_test(hostile_files_are_refused),
        cmocka_unit_test(overflow_is_a_cause),
        cmocka_unit_test(folder_names_are_only_names),
        cmocka_unit_test(hypervolume_stops_when_asked),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
