/* Products of tensors by BLAS against sums over all indices, written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/product.h"
#include "support/brute.h"

enum { INDICES = 7, MOST = 4096 };

typedef struct {
    uint64_t size[INDICES];
    uint32_t index[3][INDICES]; /* of a, b and the result */
    tn_indices indices[3];
    double a[MOST], b[MOST], out[MOST], expected[MOST];
    float single_a[MOST], single_b[MOST], single_out[MOST];
} drawn;

static uint64_t elements_of(const drawn *d, int tensor) {
    uint64_t elements = 1;
    for (uint32_t i = 0; i < d->indices[tensor].count; i++) elements *= d->size[d->index[tensor][i]];
    return elements;
}

static void shuffle(uint32_t *items, uint32_t count, uint64_t *seed) {
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)(test_random(seed) % i), swap = items[i - 1];
        items[i - 1] = items[j];
        items[j] = swap;
    }
}

/* Each index on two or three of a, b and the result, in any order. */
static void draw(drawn *d, uint64_t *seed) {
    memset(d, 0, sizeof *d);
    for (uint32_t i = 0; i < INDICES; i++) {
        d->size[i] = 1 + test_random(seed) % 4;
        unsigned mask = (unsigned[]){3, 5, 6, 7}[test_random(seed) % 4];
        for (int t = 0; t < 3; t++)
            if (mask >> t & 1) d->index[t][d->indices[t].count++] = i;
    }
    for (int t = 0; t < 3; t++) {
        d->indices[t].index = d->index[t];
        if (test_random(seed) % 3) shuffle(d->index[t], d->indices[t].count, seed);
    }
}

static size_t position(const drawn *d, int tensor, const uint64_t *entry) {
    size_t where = 0;
    for (uint32_t i = 0; i < d->indices[tensor].count; i++) {
        uint32_t index = d->index[tensor][i];
        where = where * d->size[index] + entry[index];
    }
    return where;
}

static uint64_t sum_over_all(drawn *d) {
    uint64_t entry[INDICES] = {0}, terms = 1;
    for (int i = 0; i < INDICES; i++) terms *= d->size[i];
    for (uint64_t term = 0; term < terms; term++) {
        uint64_t rest = term;
        for (int i = 0; i < INDICES; i++) {
            entry[i] = rest % d->size[i];
            rest /= d->size[i];
        }
        d->expected[position(d, 2, entry)] += d->a[position(d, 0, entry)] * d->b[position(d, 1, entry)];
    }
    return terms;
}

static void against_written_out_sums(void **state) {
    (void)state;
    static drawn d;
    uint64_t seed = 11;
    uint32_t checked = 0, permuted = 0;
    for (int round = 0; round < 2000; round++) {
        draw(&d, &seed);
        uint64_t count[3] = {elements_of(&d, 0), elements_of(&d, 1), elements_of(&d, 2)};
        if (count[0] > MOST || count[1] > MOST || count[2] > MOST) continue;
        for (uint64_t i = 0; i < count[0]; i++)
            d.single_a[i] = (float)(d.a[i] = (double)(test_random(&seed) % 201) / 100 - 1);
        for (uint64_t i = 0; i < count[1]; i++)
            d.single_b[i] = (float)(d.b[i] = (double)(test_random(&seed) % 201) / 100 - 1);
        uint64_t terms = sum_over_all(&d);
        tn_product_work work = {0}, single = {0};
        tn_operand a = {d.indices[0], d.a}, b = {d.indices[1], d.b};
        assert_int_equal(tn_run_product(TN_FLOAT64, d.size, a, b, d.indices[2], d.out, &work, NULL), TN_OK);
        a.values = d.single_a;
        b.values = d.single_b;
        assert_int_equal(tn_run_product(TN_FLOAT32, d.size, a, b, d.indices[2], d.single_out, &single, NULL),
                         TN_OK);
        for (uint64_t i = 0; i < count[2]; i++) {
            assert_true(fabs(d.out[i] - d.expected[i]) <= 1e-12);
            assert_true(fabs((double)d.single_out[i] - d.expected[i]) <= 1e-4);
        }
        assert_int_equal(work.macs, terms);
        assert_int_equal(single.macs, terms);
        assert_true(work.scratch_elements <= work.permuted_elements);
        checked++;
        permuted += work.permuted_elements > 0;
    }
    assert_true(checked > 500 && permuted > 300 && permuted < checked);
}

static void work_adds_up(void **state) {
    (void)state;
    const uint64_t size[] = {3, 4, 5, 2};
    uint32_t on_a[] = {3, 0, 1}, on_b[] = {3, 1, 2}, on_out[] = {3, 0, 2};
    double a[24] = {1}, b[40] = {2}, out[30];
    tn_product_work work = {0};
    for (int round = 1; round <= 2; round++) {
        assert_int_equal(tn_run_product(TN_FLOAT64, size, (tn_operand){{3, on_a}, a},
                                        (tn_operand){{3, on_b}, b}, (tn_indices){3, on_out}, out, &work,
                                        NULL),
                         TN_OK);
        assert_int_equal(work.macs, round * 2 * 60);
        assert_int_equal(work.calls, round * 2);
        assert_int_equal(work.permuted_elements, 0);
    }
    uint32_t last[] = {0, 2, 3};
    assert_int_equal(tn_run_product(TN_FLOAT64, size, (tn_operand){{3, on_a}, a}, (tn_operand){{3, on_b}, b},
                                    (tn_indices){3, last}, out, &work, NULL),
                     TN_OK);
    assert_int_equal(work.permuted_elements, 30);
    assert_int_equal(work.scratch_elements, 30);
    assert_true(out[0] == 2 && out[1] == 0);
}

/* Both results as they leave the product lie right, transposed or not: nothing is moved. */
static void spares_permutations(void **state) {
    (void)state;
    const uint64_t size[] = {3, 4, 5};
    uint32_t orders[2][3][2] = {{{0, 1}, {1, 2}, {0, 2}}, {{1, 0}, {2, 1}, {2, 0}}};
    double a[12] = {0}, b[20] = {0}, out[15];
    for (int mask = 0; mask < 8; mask++) {
        tn_product_work work = {0};
        tn_operand on_a = {{2, orders[mask & 1][0]}, a}, on_b = {{2, orders[mask >> 1 & 1][1]}, b};
        assert_int_equal(tn_run_product(TN_FLOAT64, size, on_a, on_b, (tn_indices){2, orders[mask >> 2][2]},
                                        out, &work, NULL),
                         TN_OK);
        assert_int_equal(work.permuted_elements, 0);
        assert_int_equal(work.calls, 1);
    }
}

static void too_long_for_blas(void **state) {
    (void)state;
    const uint64_t size[] = {1, UINT64_C(1) << 31};
    uint32_t first[] = {0}, both[] = {0, 1}, second[] = {1};
    double value = 1;
    tn_product_work work = {0};
    tn_error error;
    /* The values are never looked at. */
    assert_int_equal(tn_run_product(TN_FLOAT64, size, (tn_operand){{2, both}, &value},
                                    (tn_operand){{1, first}, &value}, (tn_indices){1, second}, &value, &work,
                                    &error),
                     TN_LIMIT);
    assert_non_null(strstr(error.message, "BLAS"));
}

static void permutations(void **state) {
    (void)state;
    const uint64_t size[] = {2, 1, 3, 4};
    uint32_t from_order[] = {0, 1, 2, 3}, to_order[] = {3, 0, 1, 2};
    tn_axes source = tn_axes_of(size, (tn_indices){4, from_order});
    tn_axes target = tn_axes_of(size, (tn_indices){4, to_order});
    assert_int_equal(source.count, 3);
    assert_int_equal(tn_axes_elements(&source), 24);
    double values[24], moved[24];
    float single[24], single_moved[24];
    for (int i = 0; i < 24; i++) single[i] = (float)(values[i] = i);
    tn_permute(sizeof *values, &source, &target, values, moved);
    tn_permute(sizeof *single, &source, &target, single, single_moved);
    for (int a = 0; a < 2; a++)
        for (int c = 0; c < 3; c++)
            for (int d = 0; d < 4; d++) {
                assert_true(moved[(d * 2 + a) * 3 + c] == (a * 3 + c) * 4 + d);
                assert_true(single_moved[(d * 2 + a) * 3 + c] == (float)((a * 3 + c) * 4 + d));
            }
    tn_axes none = tn_axes_of(size, (tn_indices){0, NULL});
    tn_permute(sizeof *values, &none, &none, values + 5, moved);
    assert_true(moved[0] == 5);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const uint64_t size[] = {3, 4, 5, 2};
    uint32_t on_a[] = {0, 3, 1}, on_b[] = {1, 3, 2}, on_out[] = {0, 2, 3};
    double a[24] = {0}, b[40] = {0}, out[30];
    for (long n = 1;; n++) {
        tn_product_work work = {0};
        tn_memory_fail_at(n);
        tn_status status =
            tn_run_product(TN_FLOAT64, size, (tn_operand){{3, on_a}, a}, (tn_operand){{3, on_b}, b},
                           (tn_indices){3, on_out}, out, &work, NULL);
        long requests = tn_memory_requests();
        tn_memory_fail_at(0);
        if (requests < n) {
            assert_int_equal(status, TN_OK);
            assert_int_equal(n, 4);
            return;
        }
        assert_int_equal(status, TN_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_written_out_sums),
        cmocka_unit_test(work_adds_up),
        cmocka_unit_test(spares_permutations),
        cmocka_unit_test(too_long_for_blas),
        cmocka_unit_test(permutations),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
