/* The three passes of training on one array: the worked numbers, and bounds. (test_systolic_player.c plays them.) */
#include "kernel/systolic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static tn_systolic_training ask(uint64_t rows, uint64_t columns, uint64_t tokens, uint64_t inputs,
                                uint64_t outputs) {
    tn_systolic array = {rows, columns};
    tn_array_product layer = {tokens, inputs, outputs};
    tn_systolic_training training;
    assert_int_equal(tn_systolic_training_cycles(&array, &layer, &training, NULL), TN_OK);
    return training;
}

static void worked_numbers(void **state) {
    (void)state;
    tn_systolic_training t = ask(16, 16, 32, 16, 16);
    assert_int_equal(t.in_place.forward_cycles, 78);
    assert_int_equal(t.in_place.input_gradient_cycles, 62);
    assert_int_equal(t.in_place.weight_gradient_cycles, 78);
    assert_int_equal(t.in_place.transposition_accesses, 0);
    assert_int_equal(t.explicit_transposition.forward_cycles, 78);
    assert_int_equal(t.explicit_transposition.input_gradient_cycles, 78);
    assert_int_equal(t.explicit_transposition.weight_gradient_cycles, 2 * 62);
    assert_int_equal(t.explicit_transposition.transposition_accesses, 2 * 16 * 16 + 2 * 32 * 16);
    assert_int_equal(t.explicit_transposition.transposition_cycles, 32 + 64);
}

/* Saves where weights fill one tile; the input gradient saves always. The weight gradient of a layer much
 * wider than its tokens does not: in place it drains every tile after few tokens. */
static void where_in_place_saves(void **state) {
    (void)state;
    for (uint64_t edge = 1; edge <= 32; edge *= 2)
        for (uint64_t size = 1; size <= 100; size += 7) {
            tn_systolic_training wide = ask(edge, edge, size, 3 * size, 2 * size),
                                 one = ask(edge, edge, size, edge, edge);
            assert_true(wide.in_place.input_gradient_cycles <=
                        wide.explicit_transposition.input_gradient_cycles);
            assert_true(one.in_place.total_cycles < one.explicit_transposition.total_cycles);
        }
    tn_systolic_training atis = ask(16, 16, 32, 768, 768);
    assert_true(atis.in_place.weight_gradient_cycles > atis.explicit_transposition.weight_gradient_cycles);
}

static void bad_sizes_are_refused(void **state) {
    (void)state;
    tn_systolic_training training;
    tn_systolic array = {0, 4}, one = {1, 1};
    tn_array_product layer = {4, 4, 4}, none = {4, 0, 4};
    tn_array_product most = {TN_SYSTOLIC_MOST_SIZE, TN_SYSTOLIC_MOST_SIZE, TN_SYSTOLIC_MOST_SIZE};
    assert_int_equal(tn_systolic_training_cycles(&array, &layer, &training, NULL), TN_INPUT);
    assert_int_equal(tn_systolic_training_cycles(&one, &none, &training, NULL), TN_INPUT);
    assert_int_equal(tn_systolic_training_cycles(&one, &most, &training, NULL), TN_OVERFLOW);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_numbers),
        cmocka_unit_test(where_in_place_saves),
        cmocka_unit_test(bad_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
