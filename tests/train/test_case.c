/* The reference runs: losses, activations, gradients and weights by every flow, in both precisions. */
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "train/train_case.h"

static bool has_flow(const tn_train_checks *checks, const char *flow, tn_real real) {
    for (size_t i = 0; i < checks->count; i++)
        if (checks->item[i].real == real && strcmp(checks->item[i].flow, flow) == 0) return true;
    return false;
}

static size_t count_quantity(const tn_train_checks *checks, const char *quantity) {
    size_t count = 0;
    for (size_t i = 0; i < checks->count; i++) count += strcmp(checks->item[i].quantity, quantity) == 0;
    return count;
}

static void run(const char *name, const char *flow, uint32_t threads, tn_train_checks *checks) {
    tn_error error = {0};
    *checks = (tn_train_checks){0};
    tn_status status = tn_train_case(test_shared_or_skip(name), flow, threads, checks, &error);
    if (status != TN_OK) print_error("%s: %s\n", name, error.message);
    assert_int_equal(status, TN_OK);
}

/* Every check holds, every flow of the list (ended by NULL) is there in both precisions, and two threads find the very
 * same. */
static void holds(const char *name, const char *only, const char *const *flow, size_t runs,
                  size_t gradients) {
    tn_train_checks one, two;
    run(name, only, 1, &one);
    run(name, only, 2, &two);
    assert_int_equal(one.count, two.count);
    for (size_t i = 0; i < one.count; i++) {
        const tn_train_check *check = &one.item[i];
        if (!check->ok)
            print_error("%s: %s, %s, %s, %s: %g\n", name, check->name, check->quantity, check->flow,
                        tn_real_names[check->real], check->relative_error);
        assert_true(check->ok);
        assert_true(check->tolerance <= (check->real == TN_FLOAT64 ? 1e-12 : 1e-5));
        assert_string_equal(check->quantity, two.item[i].quantity);
        assert_true(check->relative_error == two.item[i].relative_error);
    }
    for (; *flow; flow++)
        for (int real = 0; real < TN_REALS; real++) assert_true(has_flow(&one, *flow, (tn_real)real));
    assert_int_equal(count_quantity(&one, "gradients"), gradients * runs);
    assert_int_equal(count_quantity(&one, "macs"), runs);
    assert_int_equal(count_quantity(&one, "peak_elements"), runs);
    tn_train_checks_free(&one);
    tn_train_checks_free(&two);
}

static void dense(void **state) {
    (void)state;
    static const char *const flows[] = {"dense", "dense, write-back", NULL};
    holds("oracles/training/tiny-dense", NULL, flows, 4, 3);
}

/* Multiplied out: in float64 alone. */
static void tensor_trains(void **state) {
    (void)state;
    static const char *const flows[] = {"right-to-left",    "bidirectional",       "optimal",
                                        "training-optimal", "optimal, write-back", NULL};
    holds("oracles/training/tiny-tt", NULL, flows, 11, 3);
}

static void tensor_train_matrices(void **state) {
    (void)state;
    static const char *const flows[] = {"right-to-left", "optimal", "training-optimal", "optimal, write-back",
                                        NULL};
    holds("oracles/training/tiny-ttm", NULL, flows, 9, 3);
}

/* 50 steps of the two-encoder model; `tenfold train --case` runs its other flows. */
static void atis_model(void **state) {
    (void)state;
    static const char *const flows[] = {"bidirectional", NULL};
    holds("oracles/training/atis-2enc-tt12", "bidirectional", flows, 2, 0);
}

static void absent_case(void **state) {
    (void)state;
    tn_train_checks checks = {0};
    tn_error error = {0};
    assert_int_equal(tn_train_case("/no/such/folder", NULL, 1, &checks, &error), TN_INPUT);
    assert_non_null(strstr(error.file, "/no/such/folder/oracle.json"));
    assert_int_equal(checks.count, 0);
    tn_train_checks_free(&checks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense),
        cmocka_unit_test(tensor_trains),
        cmocka_unit_test(tensor_train_matrices),
        cmocka_unit_test(atis_model),
        cmocka_unit_test(absent_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
