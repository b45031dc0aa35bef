/* Training flows and look-ups, executed: kept, recomputed and shared values give the dense layer's numbers
 * with exactly the predicted work and memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "program/training.h"
#include "run/check.h"
#include "run/executor.h"
#include "run/validate.h"
#include "step/program_cache.h"

static const tn_cpu_rates rates = {{1e-6, 1e-6}, {1e-7, 1e-7}, {1e-9, 1e-9}, {1e-9, 1e-9}};

static tn_weight weight_of(tn_format format, uint32_t d, uint64_t rank) {
    static const uint64_t m[] = {3, 2, 4, 2}, n[] = {2, 5, 1, 3};
    tn_weight weight = {.format = format, .d = d};
    memcpy(weight.m, m, sizeof m);
    memcpy(weight.n, n, sizeof n);
    assert_int_equal(tn_weight_set_rank(&weight, rank, NULL), TN_OK);
    return weight;
}

static void report(const tn_checks *checks) {
    for (size_t i = 0; i < checks->count; i++) {
        const tn_check *check = &checks->item[i];
        if (!check->ok)
            print_error("%s %s %s %s: error %g, difference %g, MACs %llu %llu, peak %llu %llu\n", check->name,
                        check->flow, tn_real_names[check->real], tn_phase_names[check->phase],
                        check->relative_error, check->difference_error,
                        (unsigned long long)check->macs_predicted, (unsigned long long)check->macs_executed,
                        (unsigned long long)check->peak_elements_predicted,
                        (unsigned long long)check->peak_elements_executed);
    }
    assert_false(checks->failed);
}

static void every_flow_of_a_front(void **state) {
    (void)state;
    static const struct {
        tn_format format;
        uint32_t d;
    } row[] = {{TN_TT, 2}, {TN_TTM, 3}, {TN_RING, 2}, {TN_TUCKER, 1}, {TN_CP, 2}, {TN_TT, 4}};
    size_t rows = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (uint64_t micro_batches = 1; micro_batches <= 3; micro_batches += 2) {
            tn_arena arena = {0};
            tn_checks checks = {0};
            tn_trial trial;
            tn_weight weight = weight_of(row[i].format, row[i].d, 3);
            assert_int_equal(tn_trial_draw(&weight, 6, 3, &arena, &trial, NULL), TN_OK);
            assert_int_equal(tn_validate_training(&checks, &trial, micro_batches, &rates, NULL), TN_OK);
            report(&checks);
            rows += checks.count;
            tn_checks_free(&checks);
            tn_arena_free(&arena);
        }
    assert_true(rows > 300);
}

static const tn_training_flow *least_of(const tn_training_front *front, size_t count_offset) {
    const tn_training_flow *best = &front->item[0];
    for (size_t i = 1; i < front->count; i++) {
        uint64_t one, other;
        memcpy(&one, (const char *)&front->item[i].cost + count_offset, sizeof one);
        memcpy(&other, (const char *)&best->cost + count_offset, sizeof other);
        if (one < other) best = &front->item[i];
    }
    return best;
}

static void check_named(const tn_trial *trial, tn_flow_name name, bool no_input_gradient,
                        const tn_training_flow *wanted) {
    const tn_program_options options = {.training = true, .no_input_gradient = no_input_gradient};
    tn_arena arena = {0};
    tn_checks checks = {0};
    tn_program program;
    tn_training_cost cost;
    assert_int_equal(tn_program_named(&trial->weight, trial->tokens, name, &options, &arena, &program, NULL),
                     TN_OK);
    assert_int_equal(tn_training_cost_of(&program, &cost, NULL), TN_OK);
    assert_int_equal(cost.total_macs, wanted->cost.total_macs);
    assert_int_equal(cost.saved_elements, wanted->cost.saved_elements);
    assert_int_equal(cost.peak_elements, wanted->cost.peak_elements);
    assert_int_equal(tn_check_program(&checks, trial, &program, "named", tn_flow_names[name], &rates, NULL),
                     TN_OK);
    assert_true(checks.count > 0);
    report(&checks);
    tn_checks_free(&checks);
    tn_arena_free(&arena);
}

/* Names of points say which point, and each is executed with the predicted work and memory. */
static void named_points_of_a_front(void **state) {
    (void)state;
    static const struct {
        tn_format format;
        uint32_t d;
    } row[] = {{TN_TT, 2}, {TN_RING, 2}, {TN_CP, 2}};
    for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
        tn_arena arena = {0};
        tn_trial trial;
        tn_network network;
        tn_training_front front;
        tn_program program;
        tn_weight weight = weight_of(row[i / 2].format, row[i / 2].d, 3);
        bool first_layer = i % 2;
        const tn_training_options options = {.no_input_gradient = first_layer};
        const tn_program_options training = {.training = true, .no_input_gradient = first_layer};
        assert_int_equal(tn_trial_draw(&weight, 6, 3, &arena, &trial, NULL), TN_OK);
        assert_int_equal(tn_weight_forward(&weight, 6, &arena, &network, NULL), TN_OK);
        assert_int_equal(tn_training_search(&network, &options, &arena, &front, NULL), TN_OK);
        check_named(&trial, TN_FLOW_TRAINING_OPTIMAL, first_layer,
                    least_of(&front, offsetof(tn_training_cost, total_macs)));
        check_named(&trial, TN_FLOW_TRAINING_LEAST_SAVED, first_layer,
                    least_of(&front, offsetof(tn_training_cost, saved_elements)));
        check_named(&trial, TN_FLOW_TRAINING_LEAST_PEAK, first_layer,
                    least_of(&front, offsetof(tn_training_cost, peak_elements)));
        for (size_t point = 2; point <= 32; point++) {
            tn_flow_name name = (tn_flow_name)(TN_FLOW_TRAINING_FRONT_2 + point - 2);
            if (point <= front.count)
                check_named(&trial, name, first_layer, &front.item[point - 1]);
            else
                assert_int_equal(tn_program_named(&weight, 6, name, &training, &arena, &program, NULL),
                                 TN_INPUT);
        }
        tn_arena_free(&arena);
    }
}

static void rows_divide_into_micro_batches(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_checks checks = {0};
    tn_trial trial;
    tn_weight weight = weight_of(TN_TT, 1, 2);
    assert_int_equal(tn_trial_draw(&weight, 6, 3, &arena, &trial, NULL), TN_OK);
    assert_int_equal(tn_validate_training(&checks, &trial, 4, &rates, NULL), TN_INPUT);
    assert_int_equal(tn_validate_training(&checks, &trial, 0, &rates, NULL), TN_INPUT);
    assert_int_equal(checks.count, 0);
    tn_checks_free(&checks);
    tn_arena_free(&arena);
}

/* Two micro-batches of six rows each against one batch of twelve: sums over rows are the same. */
static void micro_batches_give_the_whole_batch(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trial trial;
    tn_network network;
    tn_training_front front;
    tn_execution execution;
    const tn_training_options options = {.micro_batches = 2};
    tn_weight weight = weight_of(TN_TT, 2, 2);
    assert_int_equal(tn_trial_draw(&weight, 12, 5, &arena, &trial, NULL), TN_OK);
    assert_int_equal(tn_weight_forward(&weight, 6, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_training_search(&network, &options, &arena, &front, NULL), TN_OK);
    const tn_program *program = &front.item[0].program;
    assert_true(program->prelude_steps > 0 && program->epilogue_steps > 0);
    static double values[64][128];
    double *output[64] = {0};
    for (uint32_t t = program->inputs; t < program->tensors; t++) output[t] = values[t];
    assert_int_equal(tn_execute(program, TN_FLOAT64, trial.input, output, &execution, NULL), TN_OK);
    for (uint32_t t = program->inputs; t < program->tensors; t++) {
        const tn_program_tensor *tensor = &program->tensor[t];
        const double *expected = tensor->role == TN_ROLE_Y    ? trial.reference.y
                                 : tensor->role == TN_ROLE_DX ? trial.reference.dx
                                                              : trial.reference.dcore[tensor->core];
        bool rows = tensor->role == TN_ROLE_Y || tensor->role == TN_ROLE_DX;
        if (tensor->role == TN_ROLE_INTERMEDIATE) continue;
        for (uint64_t i = 0; i < tensor->elements * (rows ? 2 : 1); i++)
            assert_true(fabs(values[t][i] - expected[i]) < 1e-13);
    }
    tn_arena_free(&arena);
}

static void look_ups(void **state) {
    (void)state;
    static const tn_format formats[] = {TN_TTM, TN_TT, TN_TUCKER, TN_CP, TN_HT, TN_RING};
    static const tn_flow_name flows[] = {TN_FLOW_RIGHT_TO_LEFT, TN_FLOW_OPTIMAL};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (int flow = 0; flow < 2; flow++) {
            tn_arena arena = {0};
            tn_checks checks = {0};
            tn_trial trial;
            tn_program program;
            tn_weight weight = weight_of(formats[i], 3, 2);
            assert_int_equal(tn_trial_draw_lookup(&weight, 7, 9, &arena, &trial, NULL), TN_OK);
            assert_int_equal(tn_lookup_program(&weight, 7, flows[flow], &arena, &program, NULL), TN_OK);
            assert_int_equal(tn_check_program(&checks, &trial, &program, tn_format_names[formats[i]],
                                              tn_flow_names[flows[flow]], &rates, NULL),
                             TN_OK);
            assert_int_equal(checks.count, 4);
            report(&checks);
            tn_checks_free(&checks);
            tn_arena_free(&arena);
        }
}

/* A row of the table, an independent way: the product of the cores' slices. */
static void a_row_is_a_product_of_slices(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trial trial;
    tn_weight weight = weight_of(TN_TTM, 2, 2);
    assert_int_equal(tn_trial_draw_lookup(&weight, 4, 11, &arena, &trial, NULL), TN_OK);
    const double *first = trial.input[0], *second = trial.input[1]; /* (token, n1, r), (r, token, n2) */
    for (int t = 0; t < 4; t++)
        for (int n1 = 0; n1 < 2; n1++)
            for (int n2 = 0; n2 < 5; n2++) {
                double sum = 0;
                for (int r = 0; r < 2; r++) sum += first[(t * 2 + n1) * 2 + r] * second[(r * 4 + t) * 5 + n2];
                assert_true(fabs(sum - trial.reference.y[(t * 2 + n1) * 5 + n2]) < 1e-14);
            }
    tn_arena_free(&arena);
}

static tn_status validate_each(tn_checks *checks, tn_arena *arena) {
    tn_weight weight = weight_of(TN_TT, 1, 2);
    tn_trial trial;
    tn_program program;
    TN_TRY(tn_trial_draw(&weight, 2, 1, arena, &trial, NULL));
    TN_TRY(tn_validate_training(checks, &trial, 2, &rates, NULL));
    TN_TRY(tn_trial_draw_lookup(&weight, 2, 1, arena, &trial, NULL));
    TN_TRY(tn_lookup_program(&weight, 2, TN_FLOW_OPTIMAL, arena, &program, NULL));
    return tn_check_program(checks, &trial, &program, "x", "y", &rates, NULL);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (long n = 1;; n++) {
        tn_arena arena = {0};
        tn_checks checks = {0};
        tn_memory_fail_at(n);
        tn_status status = validate_each(&checks, &arena);
        long requests = tn_memory_requests();
        tn_memory_fail_at(0);
        tn_checks_free(&checks);
        tn_arena_free(&arena);
        if (requests < n) {
            assert_int_equal(status, TN_OK);
            assert_true(n > 100);
            return;
        }
        assert_int_equal(status, TN_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flow_of_a_front),
        cmocka_unit_test(named_points_of_a_front),
        cmocka_unit_test(rows_divide_into_micro_batches),
        cmocka_unit_test(micro_batches_give_the_whole_batch),
        cmocka_unit_test(look_ups),
        cmocka_unit_test(a_row_is_a_product_of_slices),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
