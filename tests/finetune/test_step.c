/* Inside a step: kernels add up to what is counted and to what is estimated, in every model, and use no more of a GPU than
 * it has; loads of experts against drawing tokens one by one. */
#include "base/random.h"
#include "finetune/step.h"
#include "support/folder.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static tn_arena arena;
static tn_error error;
static tn_gpu_table table;

static int set_up(void **state) {
    if (test_folder_make(state) != 0) return -1;
    return tn_gpu_table_load(test_source("models/prices/gpus.yaml"), &arena, &table, &error) == TN_OK ? 0
                                                                                                      : -1;
}

static int tear_down(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

static void load_model(const char *name, const char *set, tn_language_model *model) {
    char path[64] = "models/";
    if (tn_language_model_load(test_source(strcat(strcat(path, name), ".yaml")), &set, set ? 1 : 0, &arena,
                               model, &error) != TN_OK)
        fail_msg("%s", error.message);
}

static const struct {
    const char *name, *set;
} cases[] = {
    {"mixtral-8x7b", NULL},
    {"mixtral-8x7b", "feed_forward.active=8"},
    {"mixtral-8x7b", "training.checkpointing=false"},
    {"blackmamba-2.8b", NULL},
    {"blackmamba-2.8b",
     "training={method: lora, adapters: {state_space: true, feed_forward: true, input_bits: 16}}"},
    {"llama3-8b", NULL},
    {"llama3-8b", "training.method=full"},
    {"bert-base", NULL},
};
enum { CASES = sizeof cases / sizeof *cases };

static bool near(double x, double y) {
    return fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y));
}

/* Operations are those of the count; matrices are read in every pass; each group runs backward what it ran forward. */
static void kernels_add_up(void **state) {
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (uint64_t batch = 1; batch <= 64; batch *= 8) {
            tn_language_model model;
            tn_language_count count;
            tn_step_kernels kernels;
            load_model(cases[c].name, cases[c].set, &model);
            uint64_t active = model.feed_forward.active;
            const tn_language_training *t = &model.training;
            assert_int_equal(tn_language_count_of(&model, 96, active, &count, &error), TN_OK);
            assert_int_equal(tn_kernels_of_step(&model, (double)batch, 96, active, NULL, &kernels, &error),
                             TN_OK);
            double operations = 0, update = 0, weights = 0;
            for (size_t i = 0; i < kernels.count; i++) {
                const tn_step_effort *stage = kernels.kernel[i].stage;
                bool again = stage[TN_STAGE_AGAIN].launches + stage[TN_STAGE_AGAIN].operations +
                                 stage[TN_STAGE_AGAIN].weight_bytes + stage[TN_STAGE_AGAIN].activation_bytes >
                             0;
                for (int j = 0; j < TN_STAGES; j++) {
                    operations += stage[j].operations;
                    weights += stage[j].weight_bytes;
                    update += stage[j].update_bytes;
                }
                if (again)
                    assert_true(t->checkpointing &&
                                stage[TN_STAGE_AGAIN].operations == stage[TN_STAGE_FORWARD].operations);
                assert_true(stage[TN_STAGE_BACKWARD].operations >= stage[TN_STAGE_FORWARD].operations);
                assert_true(stage[TN_STAGE_BACKWARD].launches == 2 * stage[TN_STAGE_FORWARD].launches);
            }
            assert_true(near(operations, (double)count.training_flops * (double)batch));
            assert_true(near(update, (double)count.trained_parameters *
                                             (double)(2 * t->gradient_bits + 2 * t->optimizer_bits) / 8 +
                                         (double)count.trained_parameters * 2 * model.matrix_bits / 8));
            /* 96 tokens and more touch every expert of 8 by 2 */
            double passes = t->checkpointing ? 3 : 2, bits = model.matrix_bits;
            if (tn_language_is_packed(&model)) bits += 2 * (double)t->activation_bits;
            assert_true(fabs(weights / (passes * (double)count.matrix_parameters * bits / 8) - 1) < 1e-6);
        }
}

static double sum_of(const tn_step_profile_row *row, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += row[i].seconds;
    return sum;
}

static void profiles_are_steps(void **state) {
    (void)state;
    static const char *const gpus[] = {"a40", "a100", "h100", "h200", "l4"};
    for (int c = 0; c < CASES; c++)
        for (int g = 0; g < 5; g++)
            for (uint64_t batch = 1; batch <= 128; batch *= 4) {
                const tn_gpu *gpu;
                tn_language_model model;
                tn_finetune_estimate estimate;
                tn_step_profile p;
                tn_query_lengths lengths = {.median = 128, .spread = 0.5, .longest = INFINITY};
                tn_finetune_work work = {.model = &model,
                                         .framework = &table.framework,
                                         .lengths = &lengths,
                                         .lengths_known = true};
                load_model(cases[c].name, cases[c].set, &model);
                work.active = model.feed_forward.active;
                assert_int_equal(tn_gpu_find(&table, gpus[g], &gpu, &error), TN_OK);
                assert_int_equal(tn_finetune_estimate_step(&work, gpu, batch, &estimate, &error), TN_OK);
                assert_int_equal(tn_profile_step(&work, gpu, batch, NULL, &p, &error), TN_OK);
                assert_true(near(p.seconds, estimate.seconds.value) &&
                            near(p.queries_per_s, estimate.queries_per_s.value));
                assert_true(near(sum_of(p.stage, p.stages), p.seconds) &&
                            near(sum_of(p.layer, p.layers), p.seconds));
                assert_true(near(sum_of(p.kernel, p.kernels), p.seconds));
                for (size_t i = 0; i < p.kernels; i++) {
                    double stages = 0;
                    for (int j = 0; j < TN_STAGES; j++) stages += p.kernel[i].stage_seconds[j];
                    assert_true(fabs(stages - p.kernel[i].seconds) <= 1e-9 * p.seconds);
                    assert_true(p.kernel[i].utilisation <= table.framework.compute_share + 1e-9);
                    assert_true(p.kernel[i].bandwidth <= table.framework.bandwidth_share + 1e-9);
                }
                assert_int_equal(p.routed, model.feed_forward.experts > 1);
                if (p.routed) assert_true(p.dense_seconds >= p.seconds * (1 - 1e-9));
            }
}

/* What limits: a small batch the host's launches, a large one the products; a stored format of few bits is unpacked. */
static void limits_follow_the_batch(void **state) {
    (void)state;
    const tn_gpu *gpu;
    tn_language_model model;
    tn_step_profile small, large;
    tn_query_lengths lengths = {.median = 128, .longest = INFINITY};
    tn_finetune_work work = {.model = &model,
                             .framework = &table.framework,
                             .lengths = &lengths,
                             .lengths_known = true,
                             .active = 2};
    load_model("mixtral-8x7b", NULL, &model);
    assert_int_equal(tn_gpu_find(&table, "h100", &gpu, &error), TN_OK);
    assert_int_equal(tn_profile_step(&work, gpu, 1, NULL, &small, &error), TN_OK);
    assert_int_equal(tn_profile_step(&work, gpu, 256, NULL, &large, &error), TN_OK);
    bool unpacks = false;
    for (size_t i = 0; i < small.kernels; i++) {
        if (strcmp(small.kernel[i].layer, "experts") != 0) continue;
        unpacks = unpacks || strcmp(small.kernel[i].name, "unpacking") == 0;
        if (strcmp(small.kernel[i].name, "gathering") == 0)
            assert_string_equal(small.kernel[i].limit, "launches");
        if (strcmp(small.kernel[i].name, "products") != 0) continue;
        assert_string_not_equal(small.kernel[i].limit, "products");
        assert_string_equal(large.kernel[i].limit, "products");
        assert_true(large.kernel[i].utilisation > 2 * small.kernel[i].utilisation);
    }
    assert_true(unpacks);
}

/* ---- loads ---- */

static const char *write(const char *text) {
    static char path[96];
    snprintf(path, sizeof path, "%s/load.csv", test_folder);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
    return path;
}

static void a_load_from_a_file(void **state) {
    (void)state;
    tn_expert_load load;
    assert_int_equal(
        tn_expert_load_read(write("expert,tokens\n0,10\n2,30\n1,20\n3,40\n"), 4, 2, &arena, &load, &error),
        TN_OK);
    assert_true(near(load.share[0], 0.1) && near(load.share[1], 0.2) && near(load.share[2], 0.3));
    assert_true(near(tn_expert_load_imbalance(&load), 1.6));
    assert_true(near(tn_expert_load_dropped(&load, 1), 0.2) && near(tn_expert_load_dropped(&load, 1.2), 0.1));
    assert_true(tn_expert_load_dropped(&load, 1.6) < 1e-12);
    /* shares' variance 0.0125 = (1/4)(3/4) / (4 a + 1) */
    assert_true(near(tn_expert_load_concentration(&load), 3.5));
    assert_int_equal(tn_expert_load_read(write("share,expert\n0.25,0\n0.25,1\n0.25,2\n0.25,3\n"), 4, 4,
                                         &arena, &load, &error),
                     TN_OK);
    assert_true(isinf(tn_expert_load_concentration(&load)) && tn_expert_load_imbalance(&load) == 1);
    static const struct {
        const char *text, *words;
        unsigned line, column;
    } wrong[] = {
        {"expert,tokens\n0,1\n1,1\n2,1\n", "expert 3 is missing", 1, 1},
        {"expert,tokens\n0,1\n1,1\n2,1\n2,1\n", "expert 2 stands twice", 5, 1},
        {"expert,tokens\n0,1\n1,1\n2,1\n4,1\n", "4", 5, 1},
        {"expert,tokens\n0,1\n1,1\n2,1\n3,-1\n", "-1", 5, 3},
        {"expert,tokens\n0,0\n1,0\n2,0\n3,0\n", "tokens sum to 0", 1, 8},
        {"expert,tokens\n0,9\n1,1\n2,1\n3,1\n", "one at most 1/2 of its choices", 2, 3},
        {"expert,share\n0,0.3\n1,0.3\n2,0.3\n3,0.2\n", "shares sum to 1.1; they must sum to 1", 1, 8},
        {"expert,share\n0,nan\n1,0.3\n2,0.3\n3,0.2\n", "nan", 2, 3},
        {"expert,load\n0,1\n", "unknown column \"load\"", 1, 8},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(tn_expert_load_read(write(wrong[i].text), 4, 2, &arena, &load, &error), TN_INPUT);
        if (!strstr(error.message, wrong[i].words) ||
            (error.line != wrong[i].line || error.column != wrong[i].column))
            fail_msg("%s:%u:%u: %s", error.file, error.line, error.column, error.message);
    }
    assert_int_equal(tn_expert_load_even(4, 5, &arena, &load, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "5 of 4 experts"));
}

/* Draws have the moments of a Dirichlet distribution: their concentration comes back. */
static void drawn_loads(void **state) {
    (void)state;
    static const double concentrations[] = {0.5, 2, 10, 100};
    for (int c = 0; c < 4; c++) {
        double square = 0;
        enum { DRAWS = 4000, EXPERTS = 8 };
        for (uint64_t seed = 1; seed <= DRAWS; seed++) {
            tn_expert_load load;
            double sum = 0;
            assert_int_equal(tn_expert_load_draw(EXPERTS, 1, concentrations[c], seed, &arena, &load, &error),
                             TN_OK);
            for (int i = 0; i < EXPERTS; i++) {
                sum += load.share[i];
                square += (load.share[i] - 1. / EXPERTS) * (load.share[i] - 1. / EXPERTS) / EXPERTS / DRAWS;
            }
            assert_true(fabs(sum - 1) < 1e-9);
        }
        double fitted = (1. / EXPERTS * (1 - 1. / EXPERTS) / square - 1) / EXPERTS;
        assert_true(fabs(fitted / concentrations[c] - 1) < 0.06);
    }
    for (uint64_t seed = 1; seed <= 200; seed++) {
        tn_expert_load load;
        assert_int_equal(tn_expert_load_draw(8, 4, 0.05, seed, &arena, &load, &error), TN_OK);
        for (int i = 0; i < 8; i++) assert_true(load.share[i] <= 0.25 + 1e-9);
    }
    tn_expert_load load;
    assert_int_equal(tn_expert_load_draw(8, 2, 0, 1, &arena, &load, &error), TN_INPUT);
}

/* Experts touched, each chosen on its own with its share: against throwing dice. */
static void touched_by_a_load(void **state) {
    (void)state;
    tn_expert_load load;
    uint64_t dice = 3;
    assert_int_equal(tn_expert_load_read(write("expert,share\n0,0.45\n1,0.3\n2,0.2\n3,0.05\n"), 4, 2, &arena,
                                         &load, &error),
                     TN_OK);
    for (int tokens = 1; tokens <= 16; tokens *= 2) {
        enum { ROUNDS = 20000 };
        double seen = 0;
        for (int round = 0; round < ROUNDS; round++)
            for (int e = 0; e < 4; e++) {
                bool touched = false;
                for (int t = 0; t < tokens; t++) touched |= tn_splitmix_unit(&dice) < 2 * load.share[e];
                seen += touched;
            }
        assert_true(fabs(tn_expert_load_touched(&load, tokens) - seen / ROUNDS) < 0.03);
    }
}

/* An even load costs nothing; one less even has the fullest expert's time; a capacity pads and drops. */
static void loads_cost_time(void **state) {
    (void)state;
    const tn_gpu *gpu;
    tn_language_model model;
    tn_expert_load even, uneven;
    tn_step_profile plain, p;
    tn_query_lengths lengths = {.median = 128, .longest = INFINITY};
    tn_finetune_work work = {.model = &model,
                             .framework = &table.framework,
                             .lengths = &lengths,
                             .lengths_known = true,
                             .active = 2};
    load_model("mixtral-8x7b", NULL, &model);
    assert_int_equal(tn_gpu_find(&table, "h100", &gpu, &error), TN_OK);
    assert_int_equal(tn_expert_load_even(8, 2, &arena, &even, &error), TN_OK);
    assert_int_equal(tn_expert_load_read(write("expert,tokens\n0,40\n1,20\n2,10\n3,10\n4,5\n5,5\n6,5\n7,5\n"),
                                         8, 2, &arena, &uneven, &error),
                     TN_OK);
    assert_int_equal(tn_profile_step(&work, gpu, 64, NULL, &plain, &error), TN_OK);
    assert_int_equal(tn_profile_step(&work, gpu, 64, &even, &p, &error), TN_OK);
    assert_true(near(p.seconds, plain.seconds) && near(p.slowest_seconds, p.seconds));
    assert_int_equal(tn_profile_step(&work, gpu, 64, &uneven, &p, &error), TN_OK);
    assert_true(near(p.imbalance, 3.2) && p.slowest_seconds > 1.5 * p.seconds &&
                p.slowest_seconds < 3.2 * p.seconds);
    assert_true(near(p.capacity[0].seconds, p.seconds) && near(p.capacity[0].dropped, 0.35));
    for (int i = 1; i < TN_PROFILE_CAPACITIES; i++)
        assert_true(p.capacity[i].seconds > p.capacity[i - 1].seconds &&
                    p.capacity[i].dropped < p.capacity[i - 1].dropped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_add_up),
        cmocka_unit_test(profiles_are_steps),
        cmocka_unit_test(limits_follow_the_batch),
        cmocka_unit_test(a_load_from_a_file),
        cmocka_unit_test(drawn_loads),
        cmocka_unit_test(touched_by_a_load),
        cmocka_unit_test(loads_cost_time),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
