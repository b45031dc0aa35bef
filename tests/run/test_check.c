/* Execution: every format and flow gives what the dense matrix gives, with exactly the predicted work and
 * memory; and a check that should fail does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "run/check.h"
#include "run/executor.h"

static const tn_cpu_rates rates = {{1e-6, 1e-6}, {1e-7, 1e-7}, {1e-9, 1e-9}, {1e-9, 1e-9}};
static const tn_program_options training = {.training = true},
                                first_layer = {.training = true, .no_input_gradient = true};

static tn_weight weight_of(tn_format format, uint32_t d, uint64_t rank) {
    static const uint64_t m[] = {3, 2, 4, 2}, n[] = {2, 5, 1, 3};
    tn_weight weight = {.format = format, .d = d};
    memcpy(weight.m, m, sizeof m);
    memcpy(weight.n, n, sizeof n);
    if (format == TN_BLOCK_TERM) weight.rank[2 * d] = 2;
    assert_int_equal(tn_weight_set_rank(&weight, rank, NULL), TN_OK);
    return weight;
}

static tn_trial draw(const tn_weight *weight, uint64_t tokens, tn_arena *arena) {
    tn_trial trial;
    assert_int_equal(tn_trial_draw(weight, tokens, 7, arena, &trial, NULL), TN_OK);
    return trial;
}

static tn_program named(const tn_trial *trial, tn_flow_name flow, const tn_program_options *options,
                        tn_arena *arena) {
    tn_program program;
    assert_int_equal(tn_program_named(&trial->weight, trial->tokens, flow, options, arena, &program, NULL),
                     TN_OK);
    return program;
}

static void report(const tn_check *check) {
    if (check->ok) return;
    print_error("%s %s %s %s: error %g, difference %g, MACs %llu %llu, peak %llu %llu\n", check->name,
                check->flow, tn_real_names[check->real], tn_phase_names[check->phase], check->relative_error,
                check->difference_error, (unsigned long long)check->macs_predicted,
                (unsigned long long)check->macs_executed, (unsigned long long)check->peak_elements_predicted,
                (unsigned long long)check->peak_elements_executed);
}

static void every_format_and_flow(void **state) {
    (void)state;
    size_t rows = 0;
    for (int format = 0; format < TN_FORMATS; format++)
        for (uint32_t d = 1; d <= (format == TN_TT || format == TN_TTM ? 4 : 3); d++) {
            tn_arena arena = {0};
            tn_weight weight = weight_of((tn_format)format, d, 3);
            tn_trial trial = draw(&weight, 5, &arena);
            for (int flow = 0; flow < TN_FLOWS; flow++) {
                if (!tn_flow_exists(&weight, (tn_flow_name)flow)) continue;
                tn_checks checks = {0};
                tn_program program = named(&trial, (tn_flow_name)flow, &training, &arena);
                assert_int_equal(tn_check_program(&checks, &trial, &program, tn_format_names[format],
                                                  tn_flow_names[flow], &rates, NULL),
                                 TN_OK);
                assert_int_equal(checks.count, 6);
                for (size_t i = 0; i < checks.count; i++) report(&checks.item[i]);
                assert_false(checks.failed);
                rows += checks.count;
                tn_checks_free(&checks);
            }
            tn_arena_free(&arena);
        }
    assert_true(rows > 500);
}

static void first_layers_have_no_input_gradient(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_weight weight = weight_of(TN_TT, 3, 3);
    tn_trial trial = draw(&weight, 4, &arena);
    for (int flow = 0; flow < TN_FLOWS; flow++) {
        tn_checks checks = {0};
        tn_program program = named(&trial, (tn_flow_name)flow, &first_layer, &arena);
        assert_int_equal(
            tn_check_program(&checks, &trial, &program, "first", tn_flow_names[flow], &rates, NULL), TN_OK);
        assert_int_equal(checks.count, 4);
        for (size_t i = 0; i < checks.count; i++) {
            assert_true(checks.item[i].ok);
            assert_true(checks.item[i].phase != TN_INPUT_GRADIENT);
        }
        tn_checks_free(&checks);
    }
    tn_arena_free(&arena);
}

/* One row of the check of `program`. */
static tn_check row_of(const tn_trial *trial, const tn_program *program, tn_real real, tn_phase phase) {
    tn_checks checks = {0};
    tn_check found = {0};
    assert_int_equal(tn_check_program(&checks, trial, program, "", "", &rates, NULL), TN_OK);
    for (size_t i = 0; i < checks.count; i++)
        if (checks.item[i].real == real && checks.item[i].phase == phase) found = checks.item[i];
    tn_checks_free(&checks);
    return found;
}

static void wrong_predictions_fail(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_weight weight = weight_of(TN_TT, 2, 3);
    tn_trial trial = draw(&weight, 4, &arena);
    tn_program program = named(&trial, TN_FLOW_OPTIMAL, &training, &arena);
    assert_true(row_of(&trial, &program, TN_FLOAT32, TN_FORWARD).ok);
    program.macs[TN_FORWARD]++;
    assert_false(row_of(&trial, &program, TN_FLOAT32, TN_FORWARD).ok);
    assert_true(row_of(&trial, &program, TN_FLOAT32, TN_WEIGHT_GRADIENT).ok);
    program.peak_elements[TN_WEIGHT_GRADIENT]--;
    assert_false(row_of(&trial, &program, TN_FLOAT32, TN_WEIGHT_GRADIENT).ok);
    tn_arena_free(&arena);
}

static void wrong_results_fail(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_weight weight = weight_of(TN_TTM, 2, 3);
    tn_trial trial = draw(&weight, 4, &arena);
    tn_program program = named(&trial, TN_FLOW_RIGHT_TO_LEFT, &training, &arena);
    trial.reference.dcore[1][0] += 1e-9;
    assert_false(row_of(&trial, &program, TN_FLOAT64, TN_WEIGHT_GRADIENT).ok);
    assert_true(row_of(&trial, &program, TN_FLOAT32, TN_WEIGHT_GRADIENT).ok);
    trial.reference.dcore[1][0] = NAN;
    assert_false(row_of(&trial, &program, TN_FLOAT32, TN_WEIGHT_GRADIENT).ok);

    double y[24];
    memcpy(y, trial.reference.y, sizeof y);
    trial.given.y = y;
    assert_true(row_of(&trial, &program, TN_FLOAT64, TN_FORWARD).ok);
    y[3] += 1e-6;
    tn_check check = row_of(&trial, &program, TN_FLOAT64, TN_FORWARD);
    assert_false(check.ok);
    assert_true(check.relative_error > 1e-8);
    trial.given.tolerance = 1e-5; /* results from files of a coarse type */
    assert_true(row_of(&trial, &program, TN_FLOAT64, TN_FORWARD).ok);
    trial.reference.y[3] += 1e-6; /* ... are no excuse against the dense product */
    assert_false(row_of(&trial, &program, TN_FLOAT64, TN_FORWARD).ok);
    tn_arena_free(&arena);
}

/* The differences judge alone: with half of Y left out of the loss they differ from gradients that still
 * agree with the dense product. */
static void differences_fail_on_their_own(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_weight weight = weight_of(TN_TT, 2, 3);
    tn_trial trial = draw(&weight, 4, &arena);
    tn_program program = named(&trial, TN_FLOW_OPTIMAL, &training, &arena);
    tn_check check = row_of(&trial, &program, TN_FLOAT64, TN_INPUT_GRADIENT);
    assert_true(check.ok && check.difference_error >= 0 && check.difference_error < 1e-12);
    uint32_t y = program.step[program.forward_steps - 1].out;
    program.tensor[y].elements /= 2;
    check = row_of(&trial, &program, TN_FLOAT64, TN_INPUT_GRADIENT);
    assert_true(check.relative_error < 1e-14 && check.difference_error > 1e-3);
    assert_false(check.ok);
    tn_arena_free(&arena);
}

/* W, an independent way: one element of W at a time from its cores' slices. */
static void reference_of_a_train(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_weight weight = weight_of(TN_TT, 2, 2);
    tn_trial trial = draw(&weight, 1, &arena);
    const double *const *core = trial.input + 1, *x = trial.input[0];
    for (int i1 = 0; i1 < 3; i1++)
        for (int i2 = 0; i2 < 2; i2++) {
            double y = 0;
            for (int j = 0; j < 10; j++)
                for (int r1 = 0; r1 < 2; r1++)
                    for (int r2 = 0; r2 < 2; r2++)
                        for (int r3 = 0; r3 < 2; r3++)
                            y += core[0][i1 * 2 + r1] * core[1][(r1 * 2 + i2) * 2 + r2] *
                                 core[2][(r2 * 2 + j / 5) * 2 + r3] * core[3][r3 * 5 + j % 5] * x[j];
            assert_true(fabs(y - trial.reference.y[i1 * 2 + i2]) < 1e-14);
        }
    tn_arena_free(&arena);
}

/* The draw gives W the promised variance, 1/N, so that Y is of order 1. */
static void drawn_values(void **state) {
    (void)state;
    for (int format = 0; format < TN_FORMATS; format++) {
        double sum = 0;
        uint64_t count = 0;
        for (uint64_t seed = 0; seed < 40; seed++) {
            tn_arena arena = {0};
            tn_trial trial, again;
            tn_weight weight = weight_of((tn_format)format, 2, 4);
            assert_int_equal(tn_trial_draw(&weight, 20, 100 * seed, &arena, &trial, NULL), TN_OK);
            assert_int_equal(tn_trial_draw(&weight, 20, 100 * seed, &arena, &again, NULL), TN_OK);
            assert_memory_equal(trial.input[1], again.input[1], sizeof(double));
            for (int i = 0; i < 120; i++) sum += trial.reference.y[i] * trial.reference.y[i];
            count += 120;
            tn_arena_free(&arena);
        }
        assert_true(sum / (double)count > 0.3 && sum / (double)count < 3);
    }
}

static void too_large_for_the_machine(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_error error;
    tn_weight weight = {.format = TN_DENSE, .d = 1, .m = {UINT64_C(1) << 24}, .n = {UINT64_C(1) << 24}};
    tn_program program;
    tn_execution execution;
    assert_int_equal(tn_program_named(&weight, 4, TN_FLOW_DENSE, NULL, &arena, &program, &error), TN_OK);
    assert_int_equal(tn_execute(&program, TN_FLOAT64, NULL, NULL, &execution, &error), TN_LIMIT);
    assert_non_null(strstr(error.message, "this machine has"));
    tn_arena_free(&arena);
}

static void rates_are_measured(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_cpu_rates measured;
    assert_int_equal(tn_cpu_measure(&measured, NULL), TN_OK);
    tn_weight weight = weight_of(TN_DENSE, 2, 1);
    tn_program program;
    assert_int_equal(tn_program_named(&weight, 9, TN_FLOW_DENSE, NULL, &arena, &program, NULL), TN_OK);
    for (int real = 0; real < TN_REALS; real++) {
        assert_true(measured.seconds_per_mac[real] > 0 && measured.seconds_per_mac[real] < 1e-6);
        assert_true(measured.seconds_per_call[real] > 0 && measured.seconds_per_step[real] >= 0);
        assert_true(measured.seconds_per_element[real] > 0);
    }
    double expected = 1e-6 + 1e-7 + (9 * 6 * 10 + 9 * 10 + 60 + 9 * 6) * 1e-9;
    assert_true(fabs(tn_cpu_seconds(&rates, &program, TN_FORWARD, TN_FLOAT32) - expected) < 1e-15);
    assert_true(tn_cpu_seconds(&rates, &program, TN_INPUT_GRADIENT, TN_FLOAT32) == 0);
    tn_arena_free(&arena);
}

static tn_status check_all(tn_checks *checks, tn_arena *arena) {
    tn_weight weight = weight_of(TN_TT, 2, 2);
    tn_trial trial;
    tn_program program;
    TN_TRY(tn_trial_draw(&weight, 2, 1, arena, &trial, NULL));
    TN_TRY(tn_program_named(&weight, 2, TN_FLOW_BIDIRECTIONAL, &training, arena, &program, NULL));
    return tn_check_program(checks, &trial, &program, "x", "y", &rates, NULL);
}

static tn_status measure(tn_checks *checks, tn_arena *arena) {
    tn_cpu_rates measured;
    (void)checks;
    (void)arena;
    return tn_cpu_measure(&measured, NULL);
}

/* Each request in turn, or every `stride`-th; how many failed. */
static long fail_each(tn_status (*work)(tn_checks *, tn_arena *), long stride) {
    for (long n = 1, failed = 0;; n += stride, failed++) {
        tn_arena arena = {0};
        tn_checks checks = {0};
        tn_memory_fail_at(n);
        tn_status status = work(&checks, &arena);
        long requests = tn_memory_requests();
        tn_memory_fail_at(0);
        tn_checks_free(&checks);
        tn_arena_free(&arena);
        if (requests < n) {
            assert_int_equal(status, TN_OK);
            return failed;
        }
        assert_int_equal(status, TN_MEMORY);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(fail_each(check_all, 1) > 100);
    /* Its products are timed over and over, with the same requests each time. */
    assert_true(fail_each(measure, 499) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_and_flow),
        cmocka_unit_test(first_layers_have_no_input_gradient),
        cmocka_unit_test(wrong_predictions_fail),
        cmocka_unit_test(wrong_results_fail),
        cmocka_unit_test(differences_fail_on_their_own),
        cmocka_unit_test(reference_of_a_train),
        cmocka_unit_test(drawn_values),
        cmocka_unit_test(too_large_for_the_machine),
        cmocka_unit_test(rates_are_measured),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
