/* Keys of `training:`, schedules, and the page that lists the keys. */
#include "support/pages.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/model.h"
#include "model/train_settings.h"

static tn_status decode(const char *text, tn_arena *arena, tn_train_settings *settings, tn_error *error) {
    tn_yaml *root;
    assert_int_equal(tn_yaml_parse("settings", text, strlen(text), arena, &root, error), TN_OK);
    return tn_train_settings_decode(root, arena, settings, error);
}

static void defaults(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_train_settings settings;
    assert_int_equal(tn_train_settings_decode(NULL, &arena, &settings, NULL), TN_OK);
    assert_int_equal(settings.epochs, 8);
    assert_true(settings.learning_rate == 0.01);
    assert_true(settings.clip_norm == 0 && settings.warmup_steps == 0);
    assert_int_equal(settings.schedule, TN_RATE_LINEAR);
    assert_true(settings.layer_norm_epsilon == 1e-5);
    assert_true(settings.shuffle);
    assert_true(tn_train_settings_weight_of(&settings, "slot-loss") == 1);
    tn_arena_free(&arena);
}

static void weights_of_losses(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_train_settings settings;
    assert_int_equal(decode("loss_weights: {slot: {weight: 4}}", &arena, &settings, NULL), TN_OK);
    assert_true(tn_train_settings_weight_of(&settings, "slot-loss") == 4);
    assert_true(tn_train_settings_weight_of(&settings, "slot") == 4);
    assert_true(tn_train_settings_weight_of(&settings, "slots-loss") == 1);
    assert_int_equal(tn_train_settings_weight(&settings, "slot-loss=2.5", &arena, NULL), TN_OK);
    assert_true(tn_train_settings_weight_of(&settings, "slot-loss") == 2.5); /* the last one counts */
    assert_true(tn_train_settings_weight_of(&settings, "intent-loss") == 1);
    static const char *const wrong[] = {"slot", "=4", "slot=", "slot=-1", "slot=many", "slot=1e9"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tn_train_settings_weight(&settings, wrong[i], &arena, NULL), TN_INPUT);
    tn_arena_free(&arena);
}

static void rates(void **state) {
    (void)state;
    tn_train_settings settings = {.learning_rate = 0.5, .schedule = TN_RATE_LINEAR};
    assert_true(tn_train_rate(&settings, 0, 4) == 0.5);
    assert_true(tn_train_rate(&settings, 1, 4) == 0.375);
    assert_true(tn_train_rate(&settings, 3, 4) == 0.125);
    settings.schedule = TN_RATE_CONSTANT;
    assert_true(tn_train_rate(&settings, 3, 4) == 0.5);
    settings.warmup_steps = 3; /* in quarters to the whole */
    assert_true(tn_train_rate(&settings, 0, 8) == 0.125);
    assert_true(tn_train_rate(&settings, 2, 8) == 0.375);
    assert_true(tn_train_rate(&settings, 3, 8) == 0.5);
    settings.schedule = TN_RATE_LINEAR;
    assert_true(tn_train_rate(&settings, 1, 4) == 0.1875);
}

static void refused(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "learning_rate: -1", "schedule: cosine", "epochs: 0",       "token_loss: most", "tokens: none",
        "beta2: 1",          "speed: 3",         "momentum: 2",     "shuffle: maybe",   "seed: -1",
        "epochs: 1.5",       "clip_norm: -1",    "warmup_steps: -2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_arena arena = {0};
        tn_train_settings settings;
        tn_error error = {0};
        assert_int_equal(decode(wrong[i], &arena, &settings, &error), TN_INPUT);
        assert_int_equal(error.line, 1);
        tn_arena_free(&arena);
    }
}

/* A model file says what is wrong with them when it is read, whoever asks for it: a price follows from none of them. */
static void refused_by_a_model(void **state) {
    (void)state;
    static const char *const set[] = {"training.phase=inference"};
    tn_arena arena = {0};
    tn_error error = {0};
    tn_model *model;
    assert_int_equal(tn_model_load(test_source("models/atis-2enc.yaml"), set, 1, &arena, &model, &error),
                     TN_INPUT);
    assert_non_null(strstr(error.message, "unknown key \"phase\" of training"));
    tn_arena_free(&arena);
}

/* docs/train.md holds the table of the keys. */
static void page(void **state) {
    (void)state;
    tn_buffer tables = {0};
    tn_train_settings_document(&tables);
    test_page("train.md", "schema", &tables);
    tn_buffer_free(&tables);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults), cmocka_unit_test(weights_of_losses),  cmocka_unit_test(rates),
        cmocka_unit_test(refused),  cmocka_unit_test(refused_by_a_model), cmocka_unit_test(page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
