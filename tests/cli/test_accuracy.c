/* tenfold accuracy as a user runs it: a study's rows run again by their own command, predictions by every way of naming a design,
 * and what a table cannot say. */
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"
#include "support/status.h"
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

static double real(const json_t *json, const char *key) {
    const json_t *value = json_object_get(json, key);
    if (!json_is_number(value)) fail_msg("no number %s", key);
    return json_number_value(value);
}

static const char model_text[] =
    "kind: model\\nname: small\\nsequence: 24\\nflow: optimal\\n"
    "training: {learning_rate: 0.3, epochs: 3}\\n"
    "weights:\\n  square: {format: tt, m: 4x4, n: 4x4, rank: 6}\\n"
    "layers:\\n  - {name: embedding, kind: embedding, vocabulary: 256, width: 16}\\n"
    "  - {name: query, kind: linear, outputs: 16, weight: square}\\n"
    "  - {name: first-token, kind: first-token}\\n"
    "  - {name: intent-head, kind: linear, outputs: 8}\\n  - {name: intent-loss, kind: cross-entropy}\\n"
    "  - {name: slot-head, kind: linear, outputs: 64, input: query}\\n  - {name: slot-loss, kind: "
    "cross-entropy}\\n";
static const char space_text[] =
    "kind: space\\nname: small\\nmodel: small.yaml\\ndevice: u50\\nchoices:\\n"
    "  weights.square.rank: [1, 2, 4, 8]\\n  weights.square.folding: [\"4x4,4x4\", \"2x2x4,4x2x2\"]\\n"
    "  precision.products: [fp32, int8]\\n";

static int set_up(void **state) {
    char command[4096];
    if (test_folder_make(state) != 0) return -1;
    snprintf(
        command, sizeof command,
        "cd %s && printf '%s' >small.yaml && printf '%s' >space.yaml && cp '%s' atis.csv && "
        "\"$TENFOLD\" train --generate data --sentences 150 --seed 3 && "
        "\"$TENFOLD\" accuracy space.yaml --data data -o study --effort 36 --seeds 2 --threads 2 --quiet "
        "--loss-weight slot=4 --set training.clip_norm=20",
        test_in_folder(""), model_text, space_text, test_source("spaces/atis-accuracy.csv"));
    test_run run = test_shell(command);
    int status = run.status;
    if (status != 0) print_error("%s", run.err);
    test_run_free(&run);
    return status;
}

static double dev_accuracy(const char *command, int seed) {
    char text[2048];
    assert_int_equal(strncmp(command, "tenfold ", 8), 0);
    snprintf(text, sizeof text, "\"$TENFOLD\" %s --data data --seed %d --json --quiet", command + 8, seed);
    json_t *json = test_shell_json(text);
    const json_t *epochs = json_object_get(json, "epochs");
    const json_t *dev = json_object_get(json_array_get(epochs, json_array_size(epochs) - 1), "dev");
    double accuracy = (real(dev, "intent_accuracy") + real(dev, "slot_accuracy")) / 2;
    json_decref(json);
    return accuracy;
}

/* The mean of a row over its seeds is that of its command, run with each, to the last bits of adding up. */
static void rows_run_again(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_error error = {0};
    tn_csv csv;
    static const char *const names[] = {"command", "accuracy", "collapsed", "seed_list"};
    size_t column[4], checked = 0;
    test_ok(tn_csv_load(test_in_folder("study/accuracy.csv"), &arena, &csv, &error), &error);
    test_ok(tn_csv_columns(&csv, names, 4, false, column, &error), &error);
    for (size_t i = 1; i < csv.rows; i++) { /* behind the constant answer */
        uint64_t collapsed;
        double accuracy, sum = 0, seeds = 0;
        test_ok(tn_csv_count(&csv, i, column[2], 0, 99, &collapsed, &error), &error);
        if (collapsed) continue;
        test_ok(tn_csv_real(&csv, i, column[1], 0, 1, &accuracy, &error), &error);
        for (const char *cursor = tn_csv_at(&csv, i, column[3])->text; *cursor;
             cursor += strcspn(cursor, " ") + (strchr(cursor, ' ') != NULL)) {
            sum += dev_accuracy(tn_csv_at(&csv, i, column[0])->text, atoi(cursor));
            seeds++;
        }
        assert_true(seeds >= 1 && fabs(sum / seeds - accuracy) < 1e-15);
        checked++;
    }
    assert_true(checked >= 2);
    tn_arena_free(&arena);
}

/* A design by folding or its two sides, by long or short keys, alone or in a batch. */
static void predictions_agree(void **state) {
    (void)state;
    json_t *one = test_shell_json("\"$TENFOLD\" accuracy predict atis.csv --set weights.square.m=48x16 --set "
                                  "weights.square.n=16x48 --set weights.square.rank=7 --json");
    json_t *other = test_shell_json("\"$TENFOLD\" accuracy predict atis.csv --set folding=48x16,16x48 --set "
                                    "rank=1x7x7x7x1 --json");
    json_t *batch = test_shell_json(
        "printf 'weights.square.folding,rank,model\\n\"48x16,16x48\",7,atis-2enc\\n\"48x16,16x48\","
        "9,atis-2enc\\n\"48x16,16x48\",7,atis-4enc\\n' > designs.csv && \"$TENFOLD\" accuracy predict "
        "atis.csv --batch designs.csv --json");
    const json_t *rows = json_object_get(batch, "rows");
    assert_int_equal(json_array_size(rows), 3);
    static const char *const keys[] = {"mean", "deviation", "low", "high", "test"};
    for (size_t i = 0; i < 5; i++) {
        assert_true(real(one, keys[i]) == real(other, keys[i]));
        assert_true(real(one, keys[i]) == real(json_array_get(rows, 0), keys[i]));
    }
    double mean = real(one, "mean");
    assert_true(real(one, "low") < mean && mean < real(one, "high"));
    assert_true(mean > 0.9 && mean < 0.97 && real(one, "test") < mean);
    assert_true(real(json_array_get(rows, 1), "mean") > mean);
    const json_t *protocol = json_object_get(one, "protocol");
    assert_int_equal((int)real(protocol, "passes"), 4);
    assert_int_equal((int)real(protocol, "sentences"), 4478);
    assert_true(real(protocol, "constant") < 0.68 && real(protocol, "dense") > 0.95);
    json_decref(one);
    json_decref(other);
    json_decref(batch);
}

/* Left out and foretold: no worse than half a point beyond what seeds leave, and the interval holds what it says. */
static void shipped_rows_are_foretold(void **state) {
    (void)state;
    json_t *json = test_shell_json("\"$TENFOLD\" accuracy fit atis.csv --leave-one-out --json");
    const json_t *left = json_object_get(json, "leave_one_out");
    assert_true(real(left, "rms") < 0.0075);
    assert_true(real(left, "inside") >= 0.85);
    assert_int_equal(json_array_size(json_object_get(left, "designs")),
                     (size_t)real(json_object_get(json, "protocol"), "rows"));
    json_decref(json);
}

/* Without a table the first line says what was not looked at; with one accuracy has its ends, and the choice its probability. */
static void recommended_by_what_is_known(void **state) {
    (void)state;
    test_expect(0, "\"$TENFOLD\" sweep space.yaml -o without --quiet && \"$TENFOLD\" recommend without",
                "accuracy unknown: rank of square", "");
    test_expect(0, "\"$TENFOLD\" recommend without --full", "`tenfold accuracy small --data FOLDER -o DIR`",
                "");
    json_t *json = test_shell_json("\"$TENFOLD\" recommend without --json");
    assert_string_equal(json_string_value(json_object_get(json, "unlearned")), "weights.square.rank");
    assert_true(json_is_null(json_object_get(json, "accuracy")));
    json_decref(json);
    test_expect(0,
                "\"$TENFOLD\" sweep space.yaml --set accuracy_table=study/accuracy.csv -o known --quiet && "
                "\"$TENFOLD\" "
                "recommend known",
                "by accuracy: chosen again in", "");
    json = test_shell_json("\"$TENFOLD\" recommend known --json");
    const json_t *accuracy = json_object_get(json, "accuracy"), *settled = json_object_get(json, "settled");
    assert_true(real(accuracy, "low") < real(accuracy, "mean") &&
                real(accuracy, "mean") < real(accuracy, "high"));
    assert_true(real(accuracy, "constant") < real(accuracy, "dense"));
    assert_true(real(accuracy, "mean") <= real(accuracy, "dense"));
    assert_true(real(json, "probability") == real(settled, "kept") / real(settled, "draws"));
    assert_true(json_is_null(json_object_get(json, "unlearned")));
    json_decref(json);
}

/* A text's table has perplexities: of a period that the model learns hardly more than 1, of constant answers that of its letters;
 * told and drawn as perplexities, an objective to minimise. */
static void perplexities(void **state) {
    (void)state;
    double all = 0, loss = 0;
    static const double share[] = {0.5, 0.25, 0.25};
    test_expect(
        0,
        "awk 'BEGIN {for (i = 0; i < 12000; i++) printf \"%c\", substr(\"aabc\", i % 4 + 1, 1)}' > period && "
        "printf 'kind: space\nname: bytes\nmodel: byte-decoder\ndevice: u50\nchoices:\n  "
        "weights.square.rank: [2, 8]\n  build.rows: [1, 2]\n' > bytes.yaml && \"$TENFOLD\" accuracy "
        "bytes.yaml --data period -o text --effort 16 --set training.epochs=4 --seeds 2 --quiet",
        "perplexity", "");
    json_t *json = test_shell_json("\"$TENFOLD\" accuracy fit text/accuracy.csv --json");
    const json_t *protocol = json_object_get(json, "protocol");
    assert_string_equal(json_string_value(json_object_get(protocol, "quantity")), "perplexity");
    for (size_t i = 0; i < 3; i++) all += share[i] * (12000 / 64 - 2 * 18) * 64;
    for (size_t i = 0; i < 3; i++) /* with one more of each byte, the 253 others too */
        loss -= share[i] * log((share[i] * all + 1) / (all + 256));
    assert_true(fabs(real(protocol, "constant") / exp(loss) - 1) < 0.01);
    assert_true(real(protocol, "dense") >= 1 && real(protocol, "dense") < 1.5);
    json_decref(json);
    json = test_shell_json("\"$TENFOLD\" accuracy predict text/accuracy.csv --set rank=8 --json");
    double mean = real(json, "mean");
    assert_true(real(json, "low") <= mean && mean <= real(json, "high") && mean > 1 && mean < 1.5);
    json_decref(json);
    test_expect(0, "\"$TENFOLD\" sweep bytes.yaml --set accuracy_table=text/accuracy.csv -o swept --quiet",
                "", "");
    json = test_shell_json("\"$TENFOLD\" recommend swept --json");
    const json_t *told = json_object_get(json, "accuracy"), *lines = json_object_get(json, "why");
    assert_string_equal(json_string_value(json_object_get(told, "quantity")), "perplexity");
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(lines, json_array_size(lines) - 1), "objective")),
        "perplexity");
    assert_true(real(told, "constant") > real(told, "mean"));
    json_decref(json);
    test_expect(2,
                "\"$TENFOLD\" sweep bytes.yaml --set accuracy_table=text/accuracy.csv --set "
                "'objectives=[dsp, accuracy]' -o no",
                "", "the quantity that it gives is perplexity");
}

static void refusals(void **state) {
    (void)state;
    test_expect(2, "\"$TENFOLD\" accuracy predict atis.csv --set weights.square.rnk=7", "", "no choice");
    test_expect(2, "\"$TENFOLD\" accuracy predict atis.csv --set rank=x", "", "rank");
    test_expect(2, "\"$TENFOLD\" accuracy predict atis.csv --set weights.square.m=48x16", "", "m and n");
    test_expect(2, "\"$TENFOLD\" accuracy predict atis.csv --set folding=48y16", "", "folding");
    test_expect(2, "\"$TENFOLD\" accuracy predict atis.csv --set epochs=0", "", "epochs");
    test_expect(
        2,
        "printf 'rank,colour\\n7,red\\n' > bad.csv && \"$TENFOLD\" accuracy predict atis.csv --batch bad.csv",
        "", "colour");
    test_expect(2, "printf 'rank,accuracy\\n' > none.csv && \"$TENFOLD\" accuracy fit none.csv", "",
                "no row that counts");
    test_expect(2, "\"$TENFOLD\" accuracy space.yaml --data data -o other --sure 2", "", "--sure 2");
    test_expect(0, "\"$TENFOLD\" accuracy predict atis.csv --set model=nobodys --json", "null", "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_run_again),
        cmocka_unit_test(predictions_agree),
        cmocka_unit_test(shipped_rows_are_foretold),
        cmocka_unit_test(recommended_by_what_is_known),
        cmocka_unit_test(perplexities),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
