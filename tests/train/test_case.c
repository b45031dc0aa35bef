/* The reference runs: losses, activations, gradients and weights by every flow, in both precisions. */
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "train/train_case.h"

static size_t count_flows(const tn_train_checks *checks) {
    size_t flows = 0;
    for (size_t i = 0; i < checks->count; i++) {
        bool known = false;
        for (size_t k = 0; k < i; k++) known |= strcmp(checks->item[k].flow, checks->item[i].flow) == 0;
        flows += !known;
    }
    return flows;
}

static size_t count_quantity(const tn_train_checks *checks, const char *quantity) {
    size_t count = 0;
    for (size_t i = 0; i < checks->count; i++) count += strcmp(checks->item[i].quantity, quantity) == 0;
    return count;
}

static void holds(const char *name, size_t flows, size_t gradients) {
    tn_train_checks checks = {0};
    tn_error error = {0};
    tn_status status = tn_train_case(test_shared_or_skip(name), 1, &checks, &error);
    if (status != TN_OK) print_error("%s: %s\n", name, error.message);
    assert_int_equal(status, TN_OK);
    for (size_t i = 0; i < checks.count; i++) {
        const tn_train_check *check = &checks.item[i];
        if (!check->ok)
            print_error("%s: %s, %s, %s, %s: %g\n", name, check->name, check->quantity, check->flow,
                        tn_real_names[check->real], check->relative_error);
        assert_true(check->ok);
    }
    assert_true(count_flows(&checks) >= flows);
    assert_int_equal(count_quantity(&checks, "gradients"), gradients * count_flows(&checks) * TN_REALS);
    assert_int_equal(count_quantity(&checks, "macs"), count_flows(&checks) * TN_REALS);
    assert_int_equal(count_quantity(&checks, "peak_elements"), count_flows(&checks) * TN_REALS);
    tn_train_checks_free(&checks);
}

static void dense(void **state) {
    (void)state;
    holds("oracles/training/tiny-dense", 1, 3);
}

static void tensor_trains(void **state) {
    (void)state;
    holds("oracles/training/tiny-tt", 4, 3);
}

static void tensor_train_matrices(void **state) {
    (void)state;
    holds("oracles/training/tiny-ttm", 3, 3);
}

static void atis_model(void **state) {
    (void)state;
    holds("oracles/training/atis-2enc-tt12", 5, 0);
}

static void absent_case(void **state) {
    (void)state;
    tn_train_checks checks = {0};
    tn_error error = {0};
    assert_int_equal(tn_train_case("/no/such/folder", 1, &checks, &error), TN_INPUT);
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
