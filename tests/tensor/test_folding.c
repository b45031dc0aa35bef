/* Foldings against all tuples within the bounds, and extents on which every attempt ends in a dead end. */
#include "base/interrupt.h"
#include "tensor/folding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static tn_error error;

/* All tuples of d factors from smallest to largest by counting up, in the order of the library: the first factor
 * is the slowest. */
static size_t brute_force(uint64_t size, uint32_t d, uint64_t smallest, uint64_t largest,
                          tn_folding *folding) {
    size_t count = 0;
    tn_folding this_folding = {.d = d};
    for (uint32_t i = 0; i < d; i++) this_folding.factor[i] = smallest;
    for (;;) {
        uint64_t product = 1;
        for (uint32_t i = 0; i < d; i++) product *= this_folding.factor[i];
        if (product == size) folding[count++] = this_folding;
        uint32_t i = d;
        while (i > 0 && this_folding.factor[i - 1] == largest) this_folding.factor[--i] = smallest;
        if (i == 0) return count;
        this_folding.factor[i - 1]++;
    }
}

static void equal_all_tuples(void **state) {
    static tn_folding expected[10000];
    (void)state;
    for (uint64_t size = 1; size <= 96; size++)
        for (uint32_t d = 1; d <= 4; d++)
            for (uint64_t smallest = 1; smallest <= 3; smallest++) {
                tn_arena arena = {0};
                tn_foldings found;
                size_t count = brute_force(size, d, smallest, 12, expected);
                assert_int_equal(tn_foldings_all(size, d, smallest, 12, &arena, &found, &error), TN_OK);
                assert_int_equal(found.count, count);
                for (size_t i = 0; i < count; i++)
                    assert_memory_equal(found.item[i].factor, expected[i].factor, d * sizeof(uint64_t));
                tn_arena_free(&arena);
            }
}

/* 61 and 59 * 53 have no divisor that helps; without memory of dead ends these take longer than anybody waits. */
static void dead_ends_end(void **state) {
    static const struct {
        uint64_t size, smallest, largest;
    } cases[] = {{(uint64_t)61 << 30, 1, 60}, {(uint64_t)59 * 53 * 720720, 1, 52}, {735134400, 2, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_arena arena = {0};
        tn_foldings found;
        assert_int_equal(
            tn_foldings_all(cases[i].size, 16, cases[i].smallest, cases[i].largest, &arena, &found, &error),
            TN_OK);
        assert_int_equal(found.count, 0);
        tn_arena_free(&arena);
    }
}

static void stops_when_asked(void **state) {
    tn_arena arena = {0};
    tn_foldings found;
    (void)state;
    tn_interrupt();
    assert_int_equal(tn_foldings_all(720720, 8, 1, 720720, &arena, &found, &error), TN_INTERRUPTED);
    tn_interrupt_clear();
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_all_tuples),
        cmocka_unit_test(dead_ends_end),
        cmocka_unit_test(stops_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
