/* The hypervolume against exact areas and volumes counted cell by cell, the knee against its definition, and
 * foldings against trying every tuple. */
#include "front/hypervolume.h"
#include "front/knee.h"
#include "tensor/folding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRID = 16 };

/* Share of the cells of a GRID^objectives box (between ideal and nadir of points with whole coordinates
 * 0..GRID) that a point covers. */
static double cells(const tn_archive *front, size_t objectives) {
    tn_point point[512];
    double least[3], most[3];
    tn_archive_points(front, point);
    for (size_t j = 0; j < objectives; j++) {
        least[j] = most[j] = point[0].value[j];
        for (size_t i = 0; i < front->count; i++) {
            least[j] = fmin(least[j], point[i].value[j]);
            most[j] = fmax(most[j], point[i].value[j]);
        }
    }
    double covered = 0, all = 0;
    for (double x = least[0]; x < most[0]; x++)
        for (double y = least[1]; y < most[1]; y++)
            for (double z = objectives > 2 ? least[2] : 0; z < (objectives > 2 ? most[2] : 1); z++) {
                bool inside = false;
                for (size_t i = 0; !inside && i < front->count; i++)
                    inside = point[i].value[0] <= x && point[i].value[1] <= y &&
                             (objectives < 3 || point[i].value[2] <= z);
                covered += inside;
                all++;
            }
    return covered / all;
}

static void volume_equals_cells(void **state) {
    (void)state;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    for (int round = 0; round < 12; round++) {
        size_t objectives = 2 + (size_t)round % 2;
        tn_archive front;
        tn_archive_begin(&front, objectives);
        for (uint64_t i = 0; i < 40; i++) {
            tn_point point = {.id = i};
            for (size_t j = 0; j < objectives; j++)
                point.value[j] = (double)gsl_rng_uniform_int(random, GRID);
            assert_int_equal(tn_archive_offer(&front, &point, NULL), TN_OK);
        }
        tn_hypervolume volume;
        if (front.count < 2) continue;
        assert_int_equal(tn_hypervolume_of(&front, 1 << 16, &volume, NULL), TN_OK);
        assert_true(volume.exact);
        assert_true(fabs(volume.share - cells(&front, objectives)) < 1e-12);
        tn_archive_free(&front);
    }
    gsl_rng_free(random);
}

/* Volumes of 1 to 5 axes by cells of a grid. */
static void exact_volumes(void **state) {
    (void)state;
    enum { CELLS = 6, POINTS = 14 };
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    for (size_t axes = 1; axes <= 5; axes++)
        for (int round = 0; round < 8; round++) {
            double point[POINTS * 5], volume, all = pow(CELLS, (double)axes), covered = 0;
            for (size_t i = 0; i < POINTS * axes; i++)
                point[i] = (double)gsl_rng_uniform_int(random, CELLS + 1) / CELLS;
            assert_int_equal(tn_wfg_volume(point, POINTS, axes, &volume, NULL), TN_OK);
            for (size_t cell = 0; cell < (size_t)all; cell++) {
                bool inside = false;
                for (size_t i = 0; !inside && i < POINTS; i++) {
                    size_t rest = cell;
                    inside = true;
                    for (size_t k = 0; k < axes; k++, rest /= CELLS)
                        inside &= point[i * axes + k] <= (double)(rest % CELLS) / CELLS + 1e-9;
                }
                covered += inside;
            }
            assert_true(fabs(volume - covered / all) < 1e-12);
        }
    gsl_rng_free(random);
}

static int by_last(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (x[2] > y[2]) - (x[2] < y[2]);
}

/* Slab by slab: the area below the lowest of the points so far at each of their first values. */
static double slabs(const double (*point)[3], size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double area = 0, begin = 1;
        for (;
             ;) { /* from the right: the greatest first value below `begin`, and the lowest second up to it */
            double left = -1, lowest = 1;
            for (size_t k = 0; k <= i; k++)
                if (point[k][0] < begin) left = fmax(left, point[k][0]);
            if (left < 0) break;
            for (size_t k = 0; k <= i; k++)
                if (point[k][0] <= left) lowest = fmin(lowest, point[k][1]);
            area += (begin - left) * (1 - lowest);
            begin = left;
        }
        sum += area * ((i + 1 < count ? point[i + 1][2] : 1) - point[i][2]);
    }
    return sum;
}

/* Three axes with ties and points that are there twice, some outside. */
static void swept_volumes(void **state) {
    (void)state;
    enum { POINTS = 120 };
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    for (int round = 0; round < 60; round++) {
        double point[POINTS][3], inside[POINTS][3], volume;
        size_t count = 1 + gsl_rng_uniform_int(random, POINTS), left = 0;
        for (size_t i = 0; i < count; i++)
            for (int k = 0; k < 3; k++)
                point[i][k] = round % 3 == 0   ? gsl_rng_uniform(random)
                              : round % 3 == 1 ? (double)gsl_rng_uniform_int(random, 11) / 10
                                               : point[gsl_rng_uniform_int(random, i + 1)][k] * (i > 0);
        for (size_t i = 0; i < count; i++)
            if (point[i][0] < 1 && point[i][1] < 1 && point[i][2] < 1)
                memcpy(inside[left++], point[i], sizeof *inside);
        qsort(inside, left, sizeof *inside, by_last);
        assert_int_equal(tn_wfg_volume(*point, count, 3, &volume, NULL), TN_OK);
        assert_true(fabs(volume - slabs((const double(*)[3])inside, left)) < 1e-12);
    }
    gsl_rng_free(random);
}

/* A front too large to be exact, by samples, beside what is exact. */
static void sampled_volume(void **state) {
    (void)state;
    enum { POINTS = 2500, AXES = 4 };
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    static tn_point point[POINTS];
    static double unit[POINTS][AXES];
    double least[AXES], most[AXES], exact;
    tn_archive front;
    tn_hypervolume volume;
    tn_archive_begin(&front, AXES);
    for (uint64_t i = 0; i < POINTS; i++) { /* on a plane: none dominates another */
        point[i] = (tn_point){.value = {[AXES - 1] = 1}, .id = i};
        for (int k = 0; k + 1 < AXES; k++) {
            point[i].value[k] = gsl_rng_uniform(random) * point[i].value[AXES - 1];
            point[i].value[AXES - 1] -= point[i].value[k];
        }
    }
    assert_int_equal(tn_archive_offer_all(&front, point, POINTS, NULL), TN_OK);
    assert_int_equal(front.count, POINTS);
    assert_int_equal(tn_hypervolume_of(&front, 1 << 16, &volume, NULL), TN_OK);
    assert_false(volume.exact);
    assert_int_equal(volume.samples, 1 << 16);
    for (int k = 0; k < AXES; k++) {
        least[k] = INFINITY;
        most[k] = -INFINITY;
        for (size_t i = 0; i < POINTS; i++) {
            least[k] = fmin(least[k], point[i].value[k]);
            most[k] = fmax(most[k], point[i].value[k]);
        }
        for (size_t i = 0; i < POINTS; i++)
            unit[i][k] = (point[i].value[k] - least[k]) / (most[k] - least[k]);
    }
    assert_int_equal(tn_wfg_volume(*unit, POINTS, AXES, &exact, NULL), TN_OK);
    assert_true(exact > 0.5 && fabs(volume.share - exact) < 0.005);
    tn_archive_free(&front);
    gsl_rng_free(random);
}

static void empty_and_single(void **state) {
    (void)state;
    tn_archive front;
    tn_hypervolume volume;
    tn_archive_begin(&front, 3);
    assert_int_equal(tn_hypervolume_of(&front, 1024, &volume, NULL), TN_OK);
    assert_true(volume.share == 0 && volume.exact);
    tn_archive_offer(&front, &(tn_point){.value = {1, 2, 3}}, NULL);
    assert_int_equal(tn_hypervolume_of(&front, 1024, &volume, NULL), TN_OK);
    assert_true(volume.share == 1 && volume.exact);
    tn_archive_free(&front);
}

static void knee_is_nearest_to_ideal(void **state) {
    (void)state;
    /* By logarithm, (10, 10) is half-way on both axes of 1..100; the corners are a whole axis away. */
    const tn_point point[] = {{{1, 100}, 5}, {{100, 1}, 6}, {{10, 10}, 7}, {{12, 9}, 8}};
    assert_int_equal(tn_knee(point, 4, 2), 2);
    /* Maximised: -degrees of freedom. */
    const tn_point with_negative[] = {{{1, -1}, 0}, {{4, -90}, 1}, {{100, -100}, 2}};
    assert_int_equal(tn_knee(with_negative, 3, 2), 1);
    const tn_point tie[] = {{{1, 2}, 9}, {{2, 1}, 4}};
    assert_int_equal(tn_knee(tie, 2, 2), 1);
}

static size_t tuples(uint64_t size, uint32_t d, uint64_t smallest, uint64_t largest) {
    if (d == 0) return size == 1;
    size_t count = 0;
    for (uint64_t factor = smallest; factor <= largest; factor++)
        if (size % factor == 0) count += tuples(size / factor, d - 1, smallest, largest);
    return count;
}

/* 61 is a factor and no factor may be 61: every one of the many beginnings is a dead end. */
static void foldings_that_cannot_be_end_soon(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_foldings none = {.count = 1};
    uint64_t size = (uint64_t)61 * 720720 * 16;
    assert_int_equal(tn_foldings_all(size, 16, 1, 60, &arena, &none, NULL), TN_OK);
    assert_int_equal(none.count, 0);
    tn_arena_free(&arena);
}

static void foldings_are_all_tuples(void **state) {
    (void)state;
    const uint64_t sizes[] = {1, 7, 64, 768, 1000};
    tn_arena arena = {0};
    for (size_t s = 0; s < 5; s++)
        for (uint32_t d = 1; d <= 5; d++) {
            tn_foldings all;
            uint64_t smallest = 1 + d % 3, largest = 40;
            assert_int_equal(tn_foldings_all(sizes[s], d, smallest, largest, &arena, &all, NULL), TN_OK);
            assert_int_equal(all.count, tuples(sizes[s], d, smallest, largest));
            for (size_t i = 0; i < all.count; i++) {
                uint64_t product = 1;
                for (uint32_t k = 0; k < d; k++) product *= all.item[i].factor[k];
                assert_int_equal(product, sizes[s]);
            }
        }
    tn_foldings none;
    tn_error error;
    assert_int_equal(tn_foldings_all(768, 0, 1, 2, &arena, &none, &error), TN_INPUT);
    assert_int_equal(tn_foldings_all((uint64_t)1 << 40, 16, 1, (uint64_t)1 << 40, &arena, &none, &error),
                     TN_LIMIT);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volume_equals_cells),     cmocka_unit_test(exact_volumes),
        cmocka_unit_test(swept_volumes),           cmocka_unit_test(sampled_volume),
        cmocka_unit_test(empty_and_single),        cmocka_unit_test(knee_is_nearest_to_ideal),
        cmocka_unit_test(foldings_are_all_tuples), cmocka_unit_test(foldings_that_cannot_be_end_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
