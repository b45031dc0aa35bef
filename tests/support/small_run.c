#include "support/small_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "learn/generated.h"

static char data_folder[96];

/* A small model of the same build: one encoder of width 16. */
static const char model_text[] =
    "kind: model\nname: small\nsequence: 24\nexamples: 200\nflow: optimal\n"
    "training: {learning_rate: 0.05, loss_weights: {slot: {weight: 2}}}\n"
    "weights:\n  square: {format: tt, m: 4x4, n: 4x4, rank: 6}\n"
    "  table: {format: ttm, m: 16x16, n: 4x4, rank: 8}\n"
    "layers:\n  - {name: embedding, kind: embedding, vocabulary: 256, width: 16, weight: table}\n"
    "  - {name: positions, kind: positions}\n"
    "  - {name: query, kind: linear, outputs: 16, weight: square, input: positions}\n"
    "  - {name: key, kind: linear, outputs: 16, weight: square, input: positions}\n"
    "  - {name: value, kind: linear, outputs: 16, weight: square, input: positions}\n"
    "  - {name: attention, kind: attention, heads: 2, input: [query, key, value]}\n"
    "  - {name: sum, kind: residual, input: [positions, attention]}\n"
    "  - {name: norm, kind: layer-norm}\n"
    "  - {name: first-token, kind: first-token, input: norm}\n"
    "  - {name: intent-head, kind: linear, outputs: 8}\n"
    "  - {name: intent-loss, kind: cross-entropy}\n"
    "  - {name: slot-head, kind: linear, outputs: 64, input: norm}\n"
    "  - {name: slot-loss, kind: cross-entropy}\n";

int test_small_set_up(void **state) {
    const tn_generated how = {.train = 200, .dev = 30, .test = 60, .seed = 3};
    if (test_folder_make(state) != 0) return -1;
    snprintf(data_folder, sizeof data_folder, "%s/data", test_folder);
    if (tn_generated_write(data_folder, &how, NULL) != TN_OK) return -1;
    FILE *file = fopen(test_in_folder("small.yaml"), "w");
    return file && fputs(model_text, file) >= 0 && fclose(file) == 0 ? 0 : -1;
}

const char *test_small_data(void) {
    return data_folder;
}

void test_small_begin(test_small_run *b, const char *const *set, size_t sets) {
    *b = (test_small_run){0};
    tn_status status =
        tn_model_load(test_in_folder("small.yaml"), set, sets, &b->arena, &b->model, &b->error);
    if (status != TN_OK) print_error("%s\n", b->error.message);
    assert_int_equal(status, TN_OK);
    assert_int_equal(tn_dataset_load(data_folder, 24, &b->arena, &b->data, &b->error), TN_OK);
    b->run = (tn_training){.model = b->model, .data = &b->data, .real = TN_FLOAT32};
    assert_int_equal(
        tn_train_settings_decode(tn_model_training(b->model), &b->arena, &b->run.settings, &b->error), TN_OK);
    b->run.settings.epochs = 3;
}

tn_status test_small_train(test_small_run *b) {
    tn_status status = tn_training_run(&b->run, &b->arena, &b->result, &b->error);
    if (status != TN_OK) print_message("%s\n", b->error.message);
    return status;
}
