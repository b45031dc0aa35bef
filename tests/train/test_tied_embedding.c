/* A linear layer tied to an embedding's table: its step changes the table by what an untied twin, whose matrix begins
 * equal to the table, changes table and matrix by together; whatever is kept, and whenever parameters are updated. */
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/initial.h"
#include "train/trainer.h"

enum { WORDS = 20, WIDTH = 16, TABLE = WORDS * WIDTH, TOKENS = 8, PARAMETERS_MOST = 16 };

static const char layers[] = "layers:\n  - {name: embedding, kind: embedding, vocabulary: 20, width: 16%s}\n"
                             "  - {name: positions, kind: positions}\n"
                             "  - {name: hidden, kind: linear, outputs: 16, weight: square}\n"
                             "  - {name: activation, kind: gelu}\n"
                             "  - {name: norm, kind: layer-norm}\n"
                             "  - {name: head, kind: linear, outputs: %s%s}\n"
                             "  - {name: loss, kind: cross-entropy}\n";

static const char *write_model(const char *embedding, const char *outputs, const char *head) {
    const char *path = test_in_folder("tied.yaml");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("kind: model\nname: tied\nsequence: 8\nflow: optimal\n"
          "weights:\n  square: {format: tt, m: 4x4, n: 4x4, rank: 3}\n",
          file);
    if (strstr(embedding, "weight")) fputs("  table: {format: ttm, m: 5x4, n: 4x4, rank: 3}\n", file);
    fprintf(file, layers, embedding, outputs, head);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* What one step of rate 1 changes table and head's matrix by; a tied head has none. */
typedef struct {
    double table[TABLE], head[TABLE];
    uint64_t parameters, macs;
} change;

static void one_step(tn_trainer *t, change *delta) {
    uint32_t token[TOKENS];
    int32_t slot[TOKENS];
    double before[2][TABLE];
    double *values[2] = {NULL, NULL};
    tn_step_result result = {0};
    for (size_t i = 0; i < tn_trainer_parameters(t); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(t, i);
        if (strcmp(p->name, "embedding.weight") == 0) values[0] = p->values;
        if (strcmp(p->name, "head.weight") == 0) values[1] = p->values;
    }
    assert_non_null(values[0]);
    for (int i = 0; i < TABLE; i++) values[0][i] = 0.1 * sin(0.7 * i);
    if (values[1]) memcpy(values[1], values[0], sizeof before[1]);
    for (uint32_t i = 0; i < TOKENS; i++) {
        token[i] = 5 * i % WORDS; /* some words twice */
        slot[i] = (int32_t)(7 * i % WORDS);
    }
    const tn_example example = {.tokens = TOKENS, .token = token, .slot = slot, .intent = -1};
    for (int k = 0; k < 2; k++)
        if (values[k]) memcpy(before[k], values[k], sizeof before[k]);
    assert_int_equal(tn_trainer_step(t, &example, 1, false, 1, &result, NULL), TN_OK);
    assert_int_equal(result.macs, result.macs_predicted);
    assert_int_equal(result.peak_elements, result.peak_elements_predicted);
    delta->macs = result.macs;
    for (int i = 0; i < TABLE; i++) {
        delta->table[i] = values[0][i] - before[0][i];
        delta->head[i] = values[1] ? values[1][i] - before[1][i] : 0;
    }
}

static void step_of(const char *head, const char *const *set, size_t sets, change *delta) {
    tn_arena arena = {0};
    tn_model *model;
    tn_trainer *trainer;
    tn_train_settings settings;
    tn_error error = {0};
    if (tn_model_load(write_model("", "20", head), set, sets, &arena, &model, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tn_train_settings_decode(tn_model_training(model), &arena, &settings, NULL), TN_OK);
    if (tn_trainer_new(model, &settings, TN_FLOAT64, &trainer, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
    delta->parameters = tn_trainer_parameter_elements(trainer);
    one_step(trainer, delta);
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
}

static void gradients_add_up(void **state) {
    (void)state;
    static const char *const sets[][2] = {{"batch=1", "update.when=end"},
                                          {"batch=1", "update.when=write-back"},
                                          {"activations.policy=recompute-layers", "update.when=end"},
                                          {"activations.policy=recompute-layers", "update.when=write-back"}};
    static change apart, together;
    step_of(", bias: false", NULL, 0, &apart);
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        double moved = 0;
        step_of(", bias: false, tied: embedding", sets[k], 2, &together);
        assert_int_equal(together.parameters, apart.parameters - TABLE);
        assert_true(together.macs >= apart.macs); /* the same, or with what is recomputed */
        for (int i = 0; i < TABLE; i++) {
            double both = apart.table[i] + apart.head[i];
            moved = fmax(moved, fabs(apart.table[i]));
            if (fabs(together.table[i] - both) > 1e-12)
                fail_msg("%zu: %.17g, not %.17g", k, together.table[i], both);
        }
        assert_true(moved > 1e-3); /* the embedding's own part counts */
    }
}

static void slips_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *embedding, *outputs, *head, *says;
    } wrong[] = {
        {"", "20", ", tied: embeding", "did you mean"},
        {"", "20", ", tied: hidden", "kind linear"},
        {"", "21", ", tied: embedding", "must be equal"},
        {", weight: table", "20", ", tied: embedding", "must be dense"},
        {"", "20", ", tied: embedding, weight: square", "no weight of its own"},
        {"", "20",
         ", tied: embedding}\n  - {name: again, kind: linear, outputs: 16}\n"
         "  - {name: other, kind: linear, outputs: 20, tied: embedding",
         "already"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_arena arena = {0};
        tn_model *model;
        tn_error error = {0};
        const char *path = write_model(wrong[i].embedding, wrong[i].outputs, wrong[i].head);
        assert_int_equal(tn_model_load(path, NULL, 0, &arena, &model, &error), TN_INPUT);
        if (!strstr(error.message, wrong[i].says)) fail_msg("%s", error.message);
        assert_true(error.line > 0);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_add_up),
        cmocka_unit_test(slips_are_refused),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
