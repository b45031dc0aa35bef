/* The archive against the comparison of all pairs, in any order of offers and merged from parts. */
#include "front/archive.h"
#include "front/staircase.h"

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

/* In one go, on top of what is there, and merged: up to three objectives are sorted, more are offered one by one. Ties on a
 * coarse grid, and points that are there twice, with the same id or another. */
static void all_at_once_equals_brute_force(void **state) {
    static tn_point point[POINTS], expected[POINTS];
    (void)state;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    for (unsigned round = 0; round < 120; round++) {
        const size_t objectives = 1 + round % 4, count = round % 5 == 0 ? 70 : 400 + 13 * round;
        const size_t begin = round % 7 == 0 ? 0 : count / (1 + round % 7);
        random_points(random, point, count, objectives,
                      round % 3 == 0   ? 5
                      : round % 3 == 1 ? 40
                                       : 100000,
                      round % 2);
        for (size_t i = 0; i < count / 5; i++) {
            const tn_point *twin = &point[gsl_rng_uniform_int(random, count / 2)];
            tn_point *other = &point[count / 2 + gsl_rng_uniform_int(random, count / 2)];
            memcpy(other->value, twin->value, sizeof other->value);
            other->id = i % 3 == 0 ? twin->id : (uint64_t)(other - point);
        }
        size_t front = brute_force(point, count, objectives, expected);
        qsort(expected, front, sizeof *expected, by_id);
        size_t different = 0; /* one point of those that are the same to the id */
        for (size_t i = 0; i < front; i++)
            if (i == 0 || expected[i].id != expected[different - 1].id ||
                !same(&expected[i], &expected[different - 1], objectives))
                expected[different++] = expected[i];

        tn_archive whole, part;
        tn_archive_begin(&whole, objectives);
        tn_archive_begin(&part, objectives);
        gsl_ran_shuffle(random, point, count, sizeof *point);
        assert_int_equal(tn_archive_offer_all(&whole, point, begin, NULL), TN_OK);
        assert_int_equal(tn_archive_offer_all(&part, point + begin, count - begin, NULL), TN_OK);
        const size_t before = whole.count;
        assert_int_equal(tn_archive_offer_all(&whole, point + begin, count - begin, NULL), TN_OK);
        assert_front(&whole, expected, different, objectives);

        /* What entered by absorbing is what the whole has and the first part had not. */
        tn_archive first;
        tn_archive_begin(&first, objectives);
        assert_int_equal(tn_archive_offer_all(&first, point, begin, NULL), TN_OK);
        assert_int_equal(first.count, before);
        static tn_point had[POINTS], entered[POINTS];
        tn_archive_points(&first, had);
        assert_int_equal(tn_archive_absorb(&first, &part, NULL), TN_OK);
        assert_front(&first, expected, different, objectives);
        tn_archive_points(&part, entered);
        size_t fresh = 0;
        for (size_t i = 0; i < different; i++) {
            bool old = false;
            for (size_t k = 0; k < before; k++)
                old |= had[k].id == expected[i].id && same(&had[k], &expected[i], objectives);
            if (old) continue;
            assert_true(fresh < part.count);
            assert_int_equal(entered[fresh].id, expected[i].id);
            assert_true(same(&entered[fresh++], &expected[i], objectives));
        }
        assert_int_equal(fresh, part.count);
        /* It goes on as any archive: nothing of its own enters again, what is better does. */
        for (size_t i = 0; i < different; i++) assert_true(tn_archive_refuses(&whole, &expected[i]));
        tn_point best = {.id = count};
        for (size_t k = 0; k < objectives; k++) best.value[k] = -1e9;
        assert_int_equal(tn_archive_offer(&whole, &best, NULL), TN_OK);
        assert_int_equal(whole.count, 1);
        tn_archive_free(&whole);
        tn_archive_free(&part);
        tn_archive_free(&first);
    }
    gsl_rng_free(random);
}

/* The staircase against an array that is looked through. */
static void stairs_equal_an_array(void **state) {
    (void)state;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    static const size_t places[] = {1, 2, 63, 64, 65, 4095, 4096, 4097, 300000};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        const size_t count = places[p];
        tn_staircase stairs;
        bool *is_step = calloc(count, sizeof *is_step);
        assert_int_equal(tn_staircase_new(count, &stairs, NULL), TN_OK);
        for (int change = 0; change < 300; change++) {
            const size_t place = gsl_rng_uniform_int(random, count);
            is_step[place] = !is_step[place];
            if (is_step[place])
                tn_stair_put(&stairs, place, (double)place);
            else
                tn_stair_drop(&stairs, place);
            const size_t asked = gsl_rng_uniform_int(random, count);
            size_t before = TN_STAIR_NONE, from = TN_STAIR_NONE;
            for (size_t i = 0; i <= asked; i++)
                if (is_step[i]) before = i;
            for (size_t i = count; i-- > asked;)
                if (is_step[i]) from = i;
            assert_true(tn_stair_before(&stairs, asked) == before);
            assert_true(tn_stair_from(&stairs, asked) == from);
        }
        tn_staircase_reset(&stairs, count);
        assert_true(tn_stair_from(&stairs, 0) == TN_STAIR_NONE);
        tn_staircase_free(&stairs);
        free(is_step);
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
        cmocka_unit_test(all_at_once_equals_brute_force),
        cmocka_unit_test(stairs_equal_an_array),
        cmocka_unit_test(lowest_id_of_equals_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
