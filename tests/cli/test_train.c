/* tenfold train as a user runs it: the JSON contract, how runs end that learn nothing, and that what interrupts a run
 * costs no result. */
#include "support/folder.h"
#include "support/program.h"

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

/* A small model of the same build as the reference: one encoder of width 16. */
static const char model_text[] =
    "kind: model\\nname: small\\nsequence: 24\\nexamples: 40\\nflow: optimal\\n"
    "training: {learning_rate: 0.05}\\n"
    "weights:\\n  square: {format: tt, m: 4x4, n: 4x4, rank: 6}\\n"
    "  table: {format: ttm, m: 16x16, n: 4x4, rank: 8}\\n"
    "layers:\\n  - {name: embedding, kind: embedding, vocabulary: 256, width: 16, weight: table}\\n"
    "  - {name: positions, kind: positions}\\n"
    "  - {name: query, kind: linear, outputs: 16, weight: square, input: positions}\\n"
    "  - {name: key, kind: linear, outputs: 16, weight: square, input: positions}\\n"
    "  - {name: value, kind: linear, outputs: 16, weight: square, input: positions}\\n"
    "  - {name: attention, kind: attention, heads: 2, input: [query, key, value]}\\n"
    "  - {name: sum, kind: residual, input: [positions, attention]}\\n"
    "  - {name: norm, kind: layer-norm}\\n"
    "  - {name: first-token, kind: first-token, input: norm}\\n"
    "  - {name: intent-head, kind: linear, outputs: 8}\\n"
    "  - {name: intent-loss, kind: cross-entropy}\\n"
    "  - {name: slot-head, kind: linear, outputs: 64, input: norm}\\n"
    "  - {name: slot-loss, kind: cross-entropy}\\n";

static int set_up(void **state) {
    char command[4096];
    if (test_folder_make(state) != 0) return -1;
    snprintf(
        command, sizeof command,
        "cd %s && printf '%s' >small.yaml && \"$TENFOLD\" train --generate data --sentences 120 --seed 3",
        test_in_folder(""), model_text);
    test_run run = test_shell(command);
    int status = run.status;
    test_run_free(&run);
    return status;
}

static void has_pair(const json_t *json, const char *key) {
    const json_t *pair = json_object_get(json, key);
    json_int_t predicted = json_integer_value(json_object_get(pair, "predicted"));
    assert_true(predicted > 0);
    assert_int_equal(predicted, json_integer_value(json_object_get(pair, "executed")));
}

static void has_scores(const json_t *epoch, const char *split) {
    static const char *const keys[] = {"loss", "intent_accuracy", "slot_accuracy", "slot_f1"};
    const json_t *scores = json_object_get(epoch, split);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_true(json_is_number(json_object_get(scores, keys[i])));
}

static void contract(void **state) {
    (void)state;
    json_t *json = test_shell_json("\"$TENFOLD\" train small.yaml --data data --epochs 2 --json --quiet");
    const json_t *epochs = json_object_get(json, "epochs"), *epoch;
    size_t i;
    assert_true(json_integer_value(json_object_get(json, "parameters")) > 0);
    assert_int_equal(json_integer_value(json_object_get(json, "steps")), 240);
    assert_true(json_real_value(json_object_get(json, "seconds_per_step")) > 0);
    has_pair(json, "macs_per_step");
    has_pair(json, "peak_elements");
    assert_int_equal(json_array_size(epochs), 2);
    json_array_foreach(epochs, i, epoch) {
        assert_int_equal(json_integer_value(json_object_get(epoch, "epoch")), (json_int_t)i + 1);
        assert_true(json_is_number(json_object_get(epoch, "loss")));
        assert_true(json_is_number(json_object_get(epoch, "learning_rate")));
        has_scores(epoch, "dev");
        has_scores(epoch, "test");
    }
    json_decref(json);
}

static void timed_without_data(void **state) {
    (void)state;
    json_t *json =
        test_shell_json("\"$TENFOLD\" train small.yaml --data none --steps 5 --threads 2 --json --quiet");
    assert_int_equal(json_integer_value(json_object_get(json, "steps")), 5);
    assert_int_equal(json_array_size(json_object_get(json, "epochs")), 0);
    has_pair(json, "macs_per_step");
    json_decref(json);
    test_expect(2, "\"$TENFOLD\" train small.yaml --data none", "", "--steps N");
    test_expect(2, "\"$TENFOLD\" train small.yaml --data data --threads 0", "", "--threads 0");
    test_expect(2, "\"$TENFOLD\" train small.yaml --data data --epochs 0", "", "--epochs 0");
    test_expect(2, "\"$TENFOLD\" train small.yaml --data none --steps 1 -o unused", "", "-o does nothing");
    test_expect(2, "\"$TENFOLD\" train small.yaml --data none --steps 1 --epochs 2", "",
                "--epochs does nothing");
    test_expect(2, "\"$TENFOLD\" train --case data -o unused", "", "-o does nothing with --case");
    test_expect(2, "\"$TENFOLD\" train --generate unused -o other", "", "stands alone");
    test_expect(2, "\"$TENFOLD\" train atis-2enc --data none --steps 2 --history h.csv", "",
                "--history does nothing");
    test_expect(2, "\"$TENFOLD\" train atis-2enc --data x --score-steps 5", "",
                "--history FILE, which is missing");
    test_expect(2, "\"$TENFOLD\" train atis-2enc --data x --history h.csv --gradient-noise 1", "",
                "of 2 steps or more");
    test_expect(2, "\"$TENFOLD\" train atis-2enc --data x --history h.csv --resume -o o", "",
                "leave --resume out");
    test_expect(2,
                "\"$TENFOLD\" train small.yaml --data data --weights none.npz --set format=dense --set "
                "'sparsity={weights: 0.5, selection: accumulated-gradient}'",
                "", "leave --weights out");
    test_expect(2, "ls unused", "", "");
}

/* Nothing that looks like a result. */
static void learns_nothing(void **state) {
    (void)state;
    test_expect(1,
                "\"$TENFOLD\" train small.yaml --data data --learning-rate 1000 --schedule constant -o gone "
                "--json --quiet; "
                "status=$?; [ ! -e gone/weights.npz ] || exit 99; exit $status",
                "", "diverges");
    test_expect(1, "\"$TENFOLD\" train small.yaml --data data --epochs 1 --learning-rate 0.5 --quiet", "",
                "learning rate below");
}

/* Killed at any moment, resumed until it ends: the weights of a run that nobody disturbed. */
static void killed(void **state) {
    (void)state;
    test_expect(
        0,
        "\"$TENFOLD\" train small.yaml --data data --epochs 6 -o whole --quiet >whole.txt && "
        "for i in 1 2 3 4 5 6 7 8; do "
        "timeout -s KILL 0.$((i * 3 + 10)) \"$TENFOLD\" train small.yaml --data data --epochs 6 -o cut "
        "--resume "
        "--quiet >cut.txt 2>cut.err; done; "
        "\"$TENFOLD\" train small.yaml --data data --epochs 6 -o cut --resume --quiet >cut.txt && "
        "cmp whole/weights.npz cut/weights.npz && cmp whole/weights.safetensors cut/weights.safetensors",
        "", "");
}

/* No room for a checkpoint: an error that names the file, and the earlier checkpoint stays. */
static void full_disk(void **state) {
    (void)state;
    test_expect(0,
                "\"$TENFOLD\" train small.yaml --data data --epochs 1 -o full --quiet >first.txt && cp "
                "full/checkpoint.npz kept",
                "", "");
    test_expect(
        3,
        "(ulimit -f 8; trap '' XFSZ; exec \"$TENFOLD\" train small.yaml --data data --epochs 1 --seed 2 "
        "-o full --quiet) "
        ">second.txt",
        "", "full/");
    test_expect(0, "cmp kept full/checkpoint.npz", "", "");
}

/* What --plot draws from: means of the losses of all steps, an epoch's mean that of the report; dev after each epoch. */
static void losses_drawn(void **state) {
    (void)state;
    double step, loss, first, second, sum = 0, last = 0, reported = 0;
    json_t *json = test_shell_json(
        "\"$TENFOLD\" train small.yaml --data data --epochs 3 -o drawn --plot --format svg --json --quiet");
    const json_t *epochs = json_object_get(json, "epochs"), *epoch;
    size_t i;
    json_array_foreach(epochs, i, epoch) reported += json_number_value(json_object_get(epoch, "loss")) * 120;
    FILE *file = fopen(test_in_folder("drawn/figures/training.dat"), "r");
    assert_non_null(file);
    while (fscanf(file, " %lf %lf", &step, &loss) == 2 && step > last) {
        sum += loss * (step - last);
        last = step;
        if (step == 360) break;
    }
    assert_true(last == 360 && fabs(sum / reported - 1) < 1e-6);
    json_array_foreach(epochs, i, epoch) {
        const json_t *dev = json_object_get(epoch, "dev");
        assert_int_equal(fscanf(file, " %lf %lf %lf %lf", &step, &loss, &first, &second), 4);
        assert_true(step == 120 * (double)(i + 1));
        assert_true(fabs(loss / json_number_value(json_object_get(dev, "loss")) - 1) < 1e-6);
        assert_true(fabs(first - 100 * json_number_value(json_object_get(dev, "intent_accuracy"))) < 1e-6);
        assert_true(fabs(second - 100 * json_number_value(json_object_get(dev, "slot_accuracy"))) < 1e-6);
    }
    fclose(file);
    json_decref(json);
    test_expect(0, "grep -q '</svg>' drawn/figures/training.svg", "", "");
    test_expect(2, "\"$TENFOLD\" train small.yaml --data data --plot", "", "--plot needs -o OUT");
}

/* Random letters cannot be told better than by chance, so nothing leaks from what comes; a period can, but for the first of a
 * sequence. In sequences this short a step that sees the next byte learns it at once: without the mask a perplexity of 2.4. */
static void next_bytes(void **state) {
    (void)state;
    static const struct {
        const char *make;
        double least, most;
    } texts[] = {
        {"awk 'BEGIN {srand(5); for (i = 0; i < 3000; i++) printf \"%c\", 97 + int(4 * rand())}'", 3.9, 4.4},
        {"awk 'BEGIN {for (i = 0; i < 3000; i++) printf \"%c\", 97 + i % 3}'", 1, 1.2},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "%s > text && \"$TENFOLD\" train byte-decoder --data text --epochs 2 --json --quiet "
                 "--set sequence=8 --set training.warmup_steps=20",
                 texts[i].make);
        json_t *json = test_shell_json(command);
        const json_t *dev = json_object_get(json_array_get(json_object_get(json, "epochs"), 1), "dev");
        double perplexity = json_number_value(json_object_get(dev, "perplexity"));
        assert_true(perplexity >= texts[i].least && perplexity <= texts[i].most);
        assert_true(fabs(log(perplexity) - json_number_value(json_object_get(dev, "loss"))) < 1e-9);
        assert_true(json_is_null(json_object_get(dev, "slot_f1")));
        json_decref(json);
    }
    json_t *json = test_shell_json("\"$TENFOLD\" train small.yaml --data data --epochs 1 --json --quiet");
    const json_t *dev = json_object_get(json_array_get(json_object_get(json, "epochs"), 0), "dev");
    assert_true(json_is_null(json_object_get(dev, "perplexity")));
    json_decref(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contract),       cmocka_unit_test(timed_without_data),
        cmocka_unit_test(learns_nothing), cmocka_unit_test(killed),
        cmocka_unit_test(full_disk),      cmocka_unit_test(next_bytes),
        cmocka_unit_test(losses_drawn),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
