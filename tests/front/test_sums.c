/* What merging keeps of sums against all of them: every sum is covered by a kept one as far as boxes allow, and none that is
 * kept is needless. */
#include "front/sums.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

static uint64_t state = 1;

static uint64_t below(uint32_t count) {
    return tn_splitmix_below(&state, count);
}

/* Values of 1 to `most`; those of a negated dimension are negative. */
static void draw_sums(tn_sums *sums, const tn_boxes *boxes, size_t dimensions, size_t count, uint32_t most) {
    tn_sums_begin(sums, dimensions);
    for (size_t i = 0; i < count; i++) {
        double value[TN_SUM_DIMENSIONS];
        for (size_t d = 0; d < dimensions; d++)
            value[d] = (boxes->negated[d] ? -1 : 1) * (double)(1 + below(most));
        assert_int_equal(tn_sums_add(sums, value, 0, i, 0, 0, NULL), TN_OK);
    }
}

/* Whether the point is at most the value, within a box where dimensions are rounded. */
static bool is_near(const tn_sums *kept, size_t point, const double *value, const tn_boxes *boxes) {
    for (size_t d = 0; d < kept->dimensions; d++) {
        const double own = kept->value[d][point], factor = d < boxes->rounded ? 1 + boxes->width : 1;
        const bool covers =
            boxes->negated[d] ? (boxes->shift[d] - own) * factor * (1 + 1e-12) >= boxes->shift[d] - value[d]
                              : own + boxes->shift[d] <= (value[d] + boxes->shift[d]) * factor * (1 + 1e-12);
        if (!covers) return false;
    }
    return true;
}

static bool is_covered(const tn_sums *kept, const double *value, const tn_boxes *boxes) {
    for (size_t i = 0; i < kept->count; i++)
        if (is_near(kept, i, value, boxes)) return true;
    return false;
}

static void check_sums(const tn_sums *a, const tn_sums *b, const tn_sums *kept, const tn_boxes *boxes) {
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++) {
            double value[TN_SUM_DIMENSIONS];
            for (size_t d = 0; d < a->dimensions; d++) value[d] = a->value[d][i] + b->value[d][k];
            assert_true(is_covered(kept, value, boxes));
        }
}

/* No kept point is at most another in everything. */
static void check_needed(const tn_sums *kept) {
    for (size_t i = 0; i < kept->count; i++)
        for (size_t k = 0; k < kept->count; k++) {
            bool below_it = i != k;
            for (size_t d = 0; d < kept->dimensions; d++) below_it &= kept->value[d][i] <= kept->value[d][k];
            assert_false(below_it);
        }
}

/* Two products together, and the points that were there before. */
static void try_merging(size_t dimensions, size_t rounded, double width, size_t count, uint32_t most) {
    tn_boxes boxes = {.rounded = rounded, .width = width};
    tn_sums before, a[2], b[2], kept, none;
    const double nothing[TN_SUM_DIMENSIONS] = {0};
    tn_merging merging = {.boxes = &boxes, .most = 1000000, .deadline = INFINITY};
    for (size_t d = 0; d < rounded; d++) {
        boxes.negated[d] = below(3) == 0;
        boxes.shift[d] = (double)below(most);
    }
    draw_sums(&before, &boxes, dimensions, count, 2 * most);
    draw_sums(&kept, &boxes, dimensions, 0, 1);
    tn_sums_begin(&none, dimensions);
    assert_int_equal(tn_sums_add(&none, nothing, 0, 0, 0, 0, NULL), TN_OK);
    for (int round = 0; round < 2; round++) { /* the second begins with what the first kept */
        draw_sums(&a[round], &boxes, dimensions, count, most);
        draw_sums(&b[round], &boxes, dimensions, count / 2 + 1, most);
        assert_int_equal(tn_merging_begin(&merging, &kept, NULL), TN_OK);
        if (round == 0) assert_int_equal(tn_merging_add(&merging, &before, &none, NULL), TN_OK);
        assert_int_equal(tn_merging_add(&merging, &a[round], &b[round], NULL), TN_OK);
        assert_int_equal(tn_merging_end(&merging, NULL), TN_OK);
        check_needed(&kept);
    }
    check_sums(&before, &none, &kept, &boxes);
    for (int round = 0; round < 2; round++) {
        check_sums(&a[round], &b[round], &kept, &boxes);
        tn_sums_free(&a[round]);
        tn_sums_free(&b[round]);
    }
    tn_merging_free(&merging);
    tn_sums_free(&before);
    tn_sums_free(&none);
    tn_sums_free(&kept);
}

static void every_sum_is_covered(void **unused) {
    (void)unused;
    for (size_t dimensions = 1; dimensions <= 4; dimensions++)
        for (int i = 0; i < 12; i++) {
            const size_t count = i % 4 == 3 ? 150 : 1 + (size_t)below(40);
            const uint32_t most = i % 2 ? 20 : 100000;
            try_merging(dimensions, dimensions, 0, count, most);
            try_merging(dimensions, dimensions, 0.01, count, most);
            try_merging(dimensions, dimensions, 0.2, count, most);
            if (dimensions > 1) try_merging(dimensions, dimensions - 1, 0.05, count, most);
        }
}

static void too_many_sums_are_refused(void **unused) {
    (void)unused;
    tn_boxes boxes = {.rounded = 3, .width = 0.001};
    tn_merging merging = {.boxes = &boxes, .most = 5, .deadline = INFINITY};
    tn_sums a, b, kept;
    tn_error error = {0};
    draw_sums(&a, &boxes, 3, 50, 1000);
    draw_sums(&b, &boxes, 3, 50, 1000);
    tn_sums_begin(&kept, 3);
    assert_int_equal(tn_merging_begin(&merging, &kept, &error), TN_OK);
    assert_int_equal(tn_merging_add(&merging, &a, &b, &error), TN_OK);
    assert_int_equal(tn_merging_end(&merging, &error), TN_LIMIT);
    tn_merging_free(&merging);
    tn_sums_free(&a);
    tn_sums_free(&b);
    tn_sums_free(&kept);
}

static void pruning_ends_with_the_time(void **unused) {
    (void)unused;
    const tn_boxes boxes = {.rounded = 1, .width = 0.2};
    tn_merging merging = {.boxes = &boxes, .most = 1000000, .deadline = INFINITY};
    tn_error error = {0};
    tn_sums sums, none, kept;
    const double nothing[TN_SUM_DIMENSIONS] = {0};
    draw_sums(&sums, &boxes, 4, 3000, 1000); /* guards tell most of them apart */
    const double first = sums.value[0][0], over = tn_clock_seconds() - 1;
    assert_int_equal(tn_sums_prune(&sums, &boxes, over, &error), TN_INTERRUPTED);
    tn_interrupt();
    assert_int_equal(tn_sums_prune(&sums, &boxes, INFINITY, &error), TN_INTERRUPTED);
    tn_interrupt_clear();
    assert_int_equal(sums.count, 3000);
    assert_true(sums.value[0][0] == first);
    /* The pruning at the end of a merging, too. */
    draw_sums(&kept, &boxes, 4, 0, 1);
    tn_sums_begin(&none, 4);
    assert_int_equal(tn_sums_add(&none, nothing, 0, 0, 0, 0, NULL), TN_OK);
    assert_int_equal(tn_merging_begin(&merging, &kept, NULL), TN_OK);
    assert_int_equal(tn_merging_add(&merging, &sums, &none, NULL), TN_OK);
    merging.deadline = over;
    assert_int_equal(tn_merging_end(&merging, &error), TN_INTERRUPTED);
    merging.deadline = INFINITY;
    assert_int_equal(tn_merging_end(&merging, NULL), TN_OK);
    assert_int_equal(tn_sums_prune(&sums, &boxes, INFINITY, NULL), TN_OK);
    assert_true(sums.count < 3000);
    tn_merging_free(&merging);
    tn_sums_free(&sums);
    tn_sums_free(&none);
    tn_sums_free(&kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_sum_is_covered),
                                       cmocka_unit_test(too_many_sums_are_refused),
                                       cmocka_unit_test(pruning_ends_with_the_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
