/* Models that are run and not trained: the answers are those of training's own scoring, an early exit answers as a model
 * of so many repetitions does, wanted shares leave, and counts are as predicted. */
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/generated.h"
#include "learn/training.h"
#include "train/initial.h"

static char data_folder[96], trained_folder[96], weights[128];

/* Small, of three encoders or fewer. */
static const char model_text[] =
    "kind: model\nname: small\nsequence: 24\nexamples: 120\nflow: optimal\n"
    "training: {learning_rate: 0.05, loss_weights: {slot: {weight: 2}}}\n"
    "weights:\n  square: {format: tt, m: 4x4, n: 4x4, rank: 4}\n"
    "layers:\n  - {name: embedding, kind: embedding, vocabulary: 256, width: 16}\n"
    "  - {name: positions, kind: positions}\n"
    "  - name: encoder\n    kind: block\n    repeat: %d\n    layers:\n"
    "      - {name: query, kind: linear, outputs: 16, weight: square, input: entry}\n"
    "      - {name: key, kind: linear, outputs: 16, weight: square, input: entry}\n"
    "      - {name: value, kind: linear, outputs: 16, weight: square, input: entry}\n"
    "      - {name: attention, kind: attention, heads: 4, input: [query, key, value]}\n"
    "      - {name: sum, kind: residual, input: [entry, attention]}\n"
    "      - {name: norm, kind: layer-norm}\n"
    "  - {name: first-token, kind: first-token, input: encoder}\n"
    "  - {name: intent-head, kind: linear, outputs: 8}\n"
    "  - {name: intent-loss, kind: cross-entropy}\n"
    "  - {name: slot-head, kind: linear, outputs: 64, input: encoder}\n"
    "  - {name: slot-loss, kind: cross-entropy}\n";

static void write_model(const char *name, int repeat) {
    FILE *file = fopen(test_in_folder(name), "w");
    assert_non_null(file);
    assert_true(fprintf(file, model_text, repeat) > 0 && fclose(file) == 0);
}

typedef struct bench {
    tn_arena arena;
    tn_dataset data;
    tn_training run;
    tn_training_result result;
    tn_error error;
} bench;

static tn_status run(bench *b, const char *name, const char *const *set, size_t sets,
                     const char *weights_file, const char *folder) {
    tn_model *model;
    *b = (bench){0};
    if (tn_model_load(test_in_folder(name), set, sets, &b->arena, &model, &b->error) != TN_OK)
        fail_msg("%s", b->error.message);
    assert_int_equal(tn_dataset_load(data_folder, 24, &b->arena, &b->data, &b->error), TN_OK);
    b->run = (tn_training){
        .model = model, .data = &b->data, .real = TN_FLOAT32, .weights = weights_file, .folder = folder};
    assert_int_equal(tn_train_settings_decode(tn_model_training(model), &b->arena, &b->run.settings, NULL),
                     TN_OK);
    b->run.settings.epochs = 2;
    return tn_training_run(&b->run, &b->arena, &b->result, &b->error);
}

static void check_counts(const tn_training_result *r) {
    assert_true(r->macs.executed > 0);
    assert_int_equal(r->macs.predicted, r->macs.executed);
    assert_int_equal(r->macs_per_step.predicted, r->macs_per_step.executed);
    for (size_t i = 0; i < r->sorts; i++) {
        assert_int_equal(r->sort[i].macs.predicted, r->sort[i].macs.executed);
        assert_int_equal(r->sort[i].peak_elements.predicted, r->sort[i].peak_elements.executed);
    }
}

static void check_same(const tn_scores *a, const tn_scores *b) {
    assert_true(a->loss == b->loss);
    assert_true(a->intent_accuracy == b->intent_accuracy);
    assert_true(a->slot_accuracy == b->slot_accuracy);
    assert_true(a->slot_f1 == b->slot_f1 || (isnan(a->slot_f1) && isnan(b->slot_f1)));
}

static tn_scores trained_dev, trained_test;

static int set_up(void **state) {
    const tn_generated how = {.train = 120, .dev = 40, .test = 30, .seed = 3};
    if (test_folder_make(state) != 0) return -1;
    snprintf(data_folder, sizeof data_folder, "%s/data", test_folder);
    snprintf(trained_folder, sizeof trained_folder, "%s/trained", test_folder);
    snprintf(weights, sizeof weights, "%s/weights.npz", trained_folder);
    if (tn_generated_write(data_folder, &how, NULL) != TN_OK) return -1;
    for (int repeat = 1; repeat <= 3; repeat++)
        write_model(repeat == 1 ? "1.yaml" : repeat == 2 ? "2.yaml" : "3.yaml", repeat);
    bench b;
    if (run(&b, "3.yaml", NULL, 0, NULL, trained_folder) != TN_OK) return -1;
    trained_dev = b.result.epoch[1].dev;
    trained_test = b.result.epoch[1].test;
    tn_arena_free(&b.arena);
    return 0;
}

static void answers_are_those_of_training(void **state) {
    (void)state;
    static const char *const set[] = {"phase=inference"};
    bench b;
    assert_int_equal(run(&b, "3.yaml", set, 1, weights, NULL), TN_OK);
    assert_true(b.result.evaluated);
    assert_int_equal(b.result.steps, 70);
    check_counts(&b.result);
    check_same(&b.result.dev, &trained_dev);
    check_same(&b.result.test, &trained_test);
    tn_arena_free(&b.arena);
}

static void all_leave_as_a_shorter_model(void **state) {
    (void)state;
    static const char *const exits[] = {"exit=[1, 0, 0]", "exit=[0, 1, 0]", "exit=[0, 0, 1]"};
    static const char *const models[] = {"1.yaml", "2.yaml", "3.yaml"};
    for (int i = 0; i < 3; i++) {
        const char *const set[] = {"phase=inference", exits[i]};
        bench early, whole;
        assert_int_equal(run(&early, "3.yaml", set, 2, weights, NULL), TN_OK);
        assert_int_equal(run(&whole, models[i], set, 1, weights, NULL), TN_OK);
        check_counts(&early.result);
        check_same(&early.result.test, &whole.result.test);
        assert_int_equal(early.result.macs_per_step.executed, whole.result.macs_per_step.executed);
        assert_int_equal(early.result.macs.executed, whole.result.macs.executed);
        tn_arena_free(&early.arena);
        tn_arena_free(&whole.arena);
    }
}

static void wanted_shares_leave(void **state) {
    (void)state;
    static const char *const set[] = {"phase=inference", "exit=[0.5, 0.3, 0.2]"};
    static const double wanted[] = {0.5, 0.3, 0.2};
    bench b;
    tn_program_cache *cache;
    tn_step mean;
    double of_test = 0;
    assert_int_equal(run(&b, "3.yaml", set, 2, weights, NULL), TN_OK);
    check_counts(&b.result);
    assert_int_equal(b.result.exits, 3);
    for (int e = 0; e < 3; e++) {
        assert_true(fabs(b.result.exit[e].of_dev - wanted[e]) < 1e-9);
        of_test += b.result.exit[e].of_test;
    }
    assert_true(fabs(of_test - 1) < 1e-9);
    /* What is priced is the mean of what is executed. */
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(tn_step_build(b.run.model, cache, &b.arena, &mean, NULL), TN_OK);
    uint64_t of_list = mean.macs[TN_FORWARD], of_run = b.result.macs_per_step.executed;
    assert_true((of_list > of_run ? of_list - of_run : of_run - of_list) <= mean.operations);
    tn_program_cache_free(cache);
    tn_arena_free(&b.arena);
}

/* Counts are as predicted whatever is left out; shares that leave all in change no answer. */
static void pruned_passes(void **state) {
    (void)state;
    static const char *const pruned[] = {"pruning.tokens=0.5", "pruning.heads=0.5",
                                         "pruning={tokens: 0.7, heads: 0.3}",
                                         "pruning={tokens: 0.999, heads: 0.999}"};
    static const char *const exits[] = {"exit=[0.5, 0.3, 0.2]", "batch=1"};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            const char *const set[] = {"phase=inference", pruned[i], exits[k]};
            bench b;
            assert_int_equal(run(&b, "3.yaml", set, 3, weights, NULL), TN_OK);
            check_counts(&b.result);
            assert_true(isfinite(b.result.test.loss));
            if (i == 3 && k == 1) check_same(&b.result.test, &trained_test);
            if (i < 3 && k == 1) assert_true(b.result.test.loss != trained_test.loss);
            tn_arena_free(&b.arena);
        }
}

/* What the watcher sees of one pass with half of the tokens and heads. */
typedef struct look {
    double *given;
    uint64_t rows, found, heads_gone;
    double probability[8], magnitude[4]; /* that the first attention gave each token, and each head gave */
    uint64_t choices;
} look;

/* Its places are those of the greatest, ascending; of tokens the first is among them. */
static void check_choice(look *l, const float *place, const double *weight, uint64_t count, uint64_t stay,
                         bool of_tokens) {
    bool stays[8] = {false};
    for (uint64_t i = 0; i < stay; i++) {
        assert_true(i == 0 || place[i] > place[i - 1]);
        stays[(int)place[i]] = true;
    }
    assert_true(!of_tokens || stays[0]);
    for (uint64_t a = of_tokens; a < count; a++)
        for (uint64_t b = of_tokens; b < count; b++)
            if (stays[a] && !stays[b]) assert_true(weight[a] >= weight[b]);
    l->choices++;
}

static void watch_first_attention(look *l, const tn_step *step, const tn_operation *o, uint32_t array,
                                  const float *value) {
    const tn_array *made = &step->array[array];
    if (strcmp(step->layer[made->layer].name, "encoder1.attention") != 0) return;
    for (uint64_t i = 0; o->kind == TN_OP_SOFTMAX && i < made->elements; i++)
        l->probability[i % 8] += (double)value[i];
    for (uint64_t i = 0; o->kind == TN_OP_PRODUCT && made->part == TN_PART_OUTPUT && i < made->elements; i++)
        l->magnitude[i % 16 / 4] += fabs((double)value[i]);
    if (o->kind == TN_OP_TOP && made->number == 1) check_choice(l, value, l->probability, 8, 4, true);
    if (o->kind == TN_OP_TOP && made->number == 2) check_choice(l, value, l->magnitude, 4, 2, false);
    if (o->kind == TN_OP_PRODUCT) assert_int_equal(o->rows, 8);
}

static void watch(void *user, const tn_step *step, uint32_t operation, uint32_t array, const void *values) {
    look *l = user;
    const tn_operation *o = &step->operation[operation];
    const float *value = values;
    const tn_array *this_array = &step->array[array];
    watch_first_attention(l, step, o, array, value);
    if (strcmp(step->layer[this_array->layer].name, "positions") == 0 && !o->gather) {
        assert_true(this_array->elements <= 24 * 16);
        for (uint64_t i = 0; i < this_array->elements; i++) l->given[i] = (double)value[i];
        l->rows = this_array->elements / 16;
    }
    /* Every row that stays is a row of what was given, in its order, the first token's first. */
    if (strcmp(step->layer[this_array->layer].name, "positions") == 0 && o->gather) {
        uint64_t next = 0;
        for (uint64_t i = 0; i < o->rows; i++) {
            bool same = false;
            for (; next < l->rows && !same; next++) {
                same = true;
                for (uint64_t c = 0; c < 16; c++)
                    same = same && l->given[next * 16 + c] == (double)value[i * 16 + c];
            }
            assert_true(same && (i > 0 || next == 1));
            l->found++;
        }
    }
    if (o->gather && o->gather->spreads)
        for (uint64_t h = 0; h < 4; h++) {
            bool none = true;
            for (uint64_t i = 0; i < o->rows; i++)
                for (uint64_t c = 0; c < 4; c++) none = none && value[i * 16 + h * 4 + c] == 0;
            l->heads_gone += none;
        }
}

static void rows_and_heads_that_stay(void **state) {
    (void)state;
    static const char *const set[] = {"phase=inference", "pruning={tokens: 0.5, heads: 0.5}"};
    tn_arena arena = {0};
    tn_model *model;
    tn_train_settings settings;
    tn_trainer *trainer;
    tn_step_result result;
    uint32_t token[] = {2, 9, 4, 7, 30, 5, 11, 8};
    int32_t slot[] = {0, 1, 0, 2, 0, 1, 0, 3};
    double given[24 * 16];
    look l = {.given = given};
    const tn_example example = {.tokens = 8, .token = token, .slot = slot, .intent = 1};
    assert_int_equal(tn_model_load(test_in_folder("3.yaml"), set, 2, &arena, &model, NULL), TN_OK);
    assert_int_equal(tn_train_settings_decode(NULL, &arena, &settings, NULL), TN_OK);
    assert_int_equal(tn_trainer_new(model, &settings, TN_FLOAT32, &trainer, NULL), TN_OK);
    assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
    tn_trainer_watch(trainer, watch, &l);
    assert_int_equal(tn_trainer_forward(trainer, &example, 1, false, NULL, &result, NULL), TN_OK);
    assert_int_equal(l.found, 4);
    assert_int_equal(l.heads_gone, 2 * 2); /* the first attention has all */
    assert_int_equal(l.choices, 2);
    assert_int_equal(result.labels[0] + result.labels[1], 1 + 4);
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
}

/* Every array as it was written last, and what is made of logits. */
typedef struct answers {
    double (*values)[24 * 64]; /* [arrays] */
    uint64_t entropies;
} answers;

static void watch_answers(void *user, const tn_step *step, uint32_t operation, uint32_t array,
                          const void *values) {
    answers *seen = user;
    const tn_operation *o = &step->operation[operation];
    const float *value = values;
    for (uint64_t i = 0; i < step->array[array].elements && i < 24 * 64; i++)
        seen->values[array][i] = (double)value[i];
    if (o->kind != TN_OP_ENTROPY) return;
    double mean = 0;
    for (uint64_t row = 0; row < o->rows; row++) {
        const double *z = seen->values[o->reads[0]] + row * o->columns;
        double sum = 0, entropy = 0;
        for (uint64_t c = 0; c < o->columns; c++) sum += exp(z[c]);
        for (uint64_t c = 0; c < o->columns; c++) entropy -= exp(z[c]) / sum * log(exp(z[c]) / sum);
        mean += entropy / log((double)o->columns) / (double)o->rows;
    }
    assert_true(fabs(mean - (double)*value) < 1e-6);
    seen->entropies++;
}

/* An exit that decides runs the heads and the entropy of their answers; the last one decides nothing. */
static void exits_decide_by_entropy(void **state) {
    (void)state;
    static const char *const set[] = {"phase=inference", "exit=[0.5, 0.3, 0.2]", "batch=1"};
    for (uint32_t sort = 0; sort < 3; sort++) {
        tn_arena arena = {0};
        tn_model *model;
        tn_train_settings settings;
        tn_trainer *trainer;
        tn_step_result result;
        uint32_t token[] = {2, 9, 4, 7, 30, 5, 11, 8};
        int32_t slot[] = {0, 1, 0, 2, 0, 1, 0, 3};
        answers seen = {0};
        const tn_example example = {.tokens = 8, .token = token, .slot = slot, .intent = 1};
        enum { ARRAYS_MOST = 1000 };
        assert_int_equal(TN_NEW(&arena, ARRAYS_MOST, &seen.values, NULL), TN_OK);
        assert_int_equal(tn_model_load(test_in_folder("3.yaml"), set, 3, &arena, &model, NULL), TN_OK);
        assert_int_equal(tn_train_settings_decode(NULL, &arena, &settings, NULL), TN_OK);
        assert_int_equal(tn_trainer_new(model, &settings, TN_FLOAT32, &trainer, NULL), TN_OK);
        assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
        tn_trainer_set_sort(trainer, sort);
        tn_trainer_watch(trainer, watch_answers, &seen);
        assert_int_equal(tn_trainer_forward(trainer, &example, 1, false, NULL, &result, NULL), TN_OK);
        assert_int_equal(result.macs, result.macs_predicted);
        assert_int_equal(result.peak_elements, result.peak_elements_predicted);
        assert_true(sort < 2 ? result.entropy > 0.5 && result.entropy <= 1 : result.entropy == 0);
        assert_int_equal(seen.entropies, sort < 2 ? 2 * (sort + 1) : 4);
        tn_trainer_free(trainer);
        tn_arena_free(&arena);
    }
}

static void slips_are_refused(void **state) {
    (void)state;
    static const char *const set[] = {"phase=inference"};
    bench b;
    assert_int_equal(run(&b, "3.yaml", set, 1, NULL, NULL), TN_INPUT);
    assert_non_null(strstr(b.error.message, "--weights"));
    tn_arena_free(&b.arena);
    assert_int_equal(run(&b, "3.yaml", set, 1, weights, trained_folder), TN_INPUT);
    assert_non_null(strstr(b.error.message, "-o"));
    tn_arena_free(&b.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_training),
        cmocka_unit_test(all_leave_as_a_shorter_model),
        cmocka_unit_test(wanted_shares_leave),
        cmocka_unit_test(pruned_passes),
        cmocka_unit_test(rows_and_heads_that_stay),
        cmocka_unit_test(exits_decide_by_entropy),
        cmocka_unit_test(slips_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
