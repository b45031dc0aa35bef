/* The archive against the comparison of all pairs, in any order of offers and merged from parts. */
#include "front/archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 2000 };

static bool dominates(const tn_point *a, const tn_point *b, size_t objectives) {
    bool less = false;
    for (size_t i = 0; i < objectives; i++) {
        if (a->value[i] > b->value[i]) return false;
        less |= a->value[i] < b->value[i];
    }
    return less;
}

static bool same(const tn_point *a, const tn_point *b, size_t objectives) {
    return memcmp(a->value, b->value, objectives * sizeof *a->value) == 0;
}

/* All pairs: kept are those that none dominates and that have the lowest id among equals. */
static size_t brute_force(const tn_point *point, size_t count, size_t objectives, tn_point *front) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool good = true;
        for (size_t j = 0; good && j < count; j++) {
            if (dominates(&point[j], &point[i], objectives)) good = false;
            if (point[j].id < point[i].id && same(&point[j], &point[i], objectives)) good = false;
        }
        if (good) front[kept++] = point[i];
    }
    return kept;
}

static int by_id(const void *a, const void *b) {
    uint64_t x = ((const tn_point *)a)->id, y = ((const tn_point *)b)->id;
    return (x > y) - (x < y);
}

/* Coordinates on a coarse grid, so that ties are common; some clouds hug the front. */
static void random_points(gsl_rng *random, tn_point *point, size_t count, size_t objectives, unsigned grid,
                          bool shell) {
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        point[i] = (tn_point){.id = i};
        for (size_t j = 0; j < objectives; j++) {
            point[i].value[j] = (double)gsl_rng_uniform_int(random, grid);
            sum += point[i].value[j];
        }
        if (shell) point[i].value[0] += (double)(objectives * grid) - sum;
    }
}

static void assert_front(const tn_archive *archive, const tn_point *expected, size_t count,
                         size_t objectives) {
    static tn_point found[POINTS];
    assert_int_equal(archive->count, count);
    tn_archive_points(archive, found);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i].id, expected[i].id);
        assert_true(same(&found[i], &expected[i], objectives));
    }
}

static void equals_brute_force(void **state) {
    static tn_point point[POINTS], expected[POINTS];
    (void)state;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    for (unsigned round = 0; round < 40; round++) {
        size_t objectives = 1 + round % 6, count = round % 5 == 0 ? 50 : POINTS / 2 + 10 * round;
        random_points(random, point, count, objectives, round % 3 ? 12 : 1000, round % 2);
        size_t front = brute_force(point, count, objectives, expected);
        qsort(expected, front, sizeof *expected, by_id);

        tn_archive whole, part[2];
        tn_archive_begin(&whole, objectives);
        tn_archive_begin(&part[0], objectives);
        tn_archive_begin(&part[1], objectives);
        gsl_ran_shuffle(random, point, count, sizeof *point);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(tn_archive_offer(&whole, &point[i], NULL), TN_OK);
            assert_int_equal(tn_archive_offer(&part[point[i].id % 2], &point[i], NULL), TN_OK);
        }
        assert_front(&whole, expected, front, objectives);
        assert_int_equal(tn_archive_absorb(&part[0], &part[1], NULL), TN_OK);
        assert_front(&part[0], expected, front, objectives);
        tn_archive_free(&whole);
        tn_archive_free(&part[0]);
        tn_archive_free(&part[1]);
    }
    gsl_rng_free(random);
}

static void lowest_id_of_equals_stays(void **state) {
    (void)state;
    tn_archive archive;
    tn_archive_begin(&archive, 2);
    const uint64_t ids[] = {7, 3, 9};
    for (size_t i = 0; i < 3; i++) {
        tn_point point = {.value = {1, 2}, .id = ids[i]};
        assert_int_equal(tn_archive_offer(&archive, &point, NULL), TN_OK);
    }
    tn_point found;
    assert_int_equal(archive.count, 1);
    tn_archive_points(&archive, &found);
    assert_int_equal(found.id, 3);
    tn_archive_free(&archive);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(lowest_id_of_equals_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
