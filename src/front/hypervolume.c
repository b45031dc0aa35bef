#include "front/hypervolume.h"

#include "base/guard.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "front/knee.h"
#include "front/staircase.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A point's place in the order of the first axis. */
typedef struct {
    double first;
    size_t point;
} ranked;

/* Points as they are taken apart, one set for each number of axes left: room[axes] holds count x axes values. Three axes are
 * swept over: along[place] is the first value there, step[point] the place. */
typedef struct {
    double *room[TN_WFG_AXES_MOST + 1], *along;
    ranked *rank;
    size_t *step;
    tn_staircase stairs;
} sets;

static int compare_last(const double *a, const double *b, size_t axes) {
    for (size_t k = axes; k-- > 0;)
        if (a[k] != b[k]) return a[k] > b[k] ? -1 : 1;
    return 0;
}

#define ORDER(axes)                                                                                          \
    static int by_last_##axes(const void *a, const void *b) {                                                \
        return compare_last(a, b, axes);                                                                     \
    }
ORDER(1)
ORDER(2)
ORDER(3)
ORDER(4)
ORDER(5)
ORDER(6)
ORDER(7)
ORDER(8)

static int (*const orders[])(const void *, const void *) = {
    NULL, by_last_1, by_last_2, by_last_3, by_last_4, by_last_5, by_last_6, by_last_7, by_last_8};

static bool at_most(const double *a, const double *b, size_t axes) {
    for (size_t k = 0; k < axes; k++)
        if (a[k] > b[k]) return false;
    return true;
}

/* Keeps of [count] points those that none before or behind is at most; the number kept. */
static size_t keep_best(double *point, size_t count, size_t axes) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const double *own = point + i * axes;
        bool beaten = false;
        for (size_t k = 0; !beaten && k < kept; k++) beaten = at_most(point + k * axes, own, axes);
        if (beaten) continue;
        size_t left = 0;
        for (size_t k = 0; k < kept; k++) {
            if (at_most(own, point + k * axes, axes)) continue;
            if (left != k) memcpy(point + left * axes, point + k * axes, axes * sizeof *point);
            left++;
        }
        kept = left;
        if (kept != i) memmove(point + kept * axes, own, axes * sizeof *point);
        kept++;
    }
    return kept;
}

/* Two axes: a staircase, from the worst in the second on. */
static double wfg_area(const double *point, size_t count) {
    double sum = 0, reach = 1;
    for (size_t i = count; i-- > 0;) { /* the best in the second first: the first then falls */
        const double *own = point + 2 * i;
        if (own[0] >= reach) continue;
        sum += (reach - own[0]) * (1 - own[1]);
        reach = own[0];
    }
    return sum;
}

static int by_first_axis(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return tn_value_order(x->first, x->point, y->first, y->point);
}

/* What a point of two axes adds to the area below the staircase, which it enters; 0 where a step covers it. */
static double widen_area(sets *subsets, size_t step, double height) {
    tn_staircase *stairs = &subsets->stairs;
    const size_t before = tn_stair_before(stairs, step);
    double above = before == TN_STAIR_NONE ? 1 : stairs->height[before], begin = subsets->along[step],
           sum = 0;
    if (before != TN_STAIR_NONE && above <= height) return 0;
    for (;;) {
        const size_t next = tn_stair_from(stairs, step);
        const double end = next == TN_STAIR_NONE ? 1 : subsets->along[next];
        sum += (end - begin) * (above - height);
        if (next == TN_STAIR_NONE || stairs->height[next] < height) break;
        above = stairs->height[next];
        begin = end;
        tn_stair_drop(stairs, next);
    }
    tn_stair_put(stairs, step, height);
    return sum;
}

/* Three axes, points sorted by the last, the worst first: the area that those so far cover, times how far it is to the
 * next. */
static double wfg_sweep(sets *subsets, const double *point, size_t count) {
    double sum = 0, area = 0;
    for (size_t i = 0; i < count; i++) subsets->rank[i] = (ranked){point[3 * i], i};
    qsort(subsets->rank, count, sizeof *subsets->rank, by_first_axis);
    for (size_t i = 0; i < count; i++) {
        subsets->along[i] = subsets->rank[i].first;
        subsets->step[subsets->rank[i].point] = i;
    }
    tn_staircase_reset(&subsets->stairs, count);
    for (size_t i = count; i-- > 0;) {
        area += widen_area(subsets, subsets->step[i], point[3 * i + 1]);
        sum += area * ((i ? point[3 * i - 1] : 1) - point[3 * i + 2]);
    }
    return sum;
}

static double volume_of(sets *subsets, size_t count, size_t axes) {
    double *point = subsets->room[axes], sum = 0;
    if (count == 0) return 0;
    qsort(point, count, axes * sizeof *point, orders[axes]);
    if (axes == 1) return 1 - point[count - 1];
    if (axes == 2) return wfg_area(point, count);
    if (axes == 3) return wfg_sweep(subsets, point, count);
    for (size_t i = 0; i < count; i++) {
        const double *own = point + i * axes;
        double *limited = subsets->room[axes - 1], inside = 1;
        size_t others = 0;
        for (size_t k = 0; k + 1 < axes; k++) inside *= 1 - own[k];
        for (size_t j = i + 1; j < count; j++) {
            const double *other = point + j * axes;
            for (size_t k = 0; k + 1 < axes; k++)
                limited[others * (axes - 1) + k] = other[k] > own[k] ? other[k] : own[k];
            others++;
        }
        others = keep_best(limited, others, axes - 1);
        sum += (1 - own[axes - 1]) * (inside - volume_of(subsets, others, axes - 1));
    }
    return sum;
}

tn_status tn_wfg_volume(const double *point, size_t count, size_t axes, double *volume, tn_error *error) {
    sets subsets = {.along = NULL};
    size_t inside = 0;
    tn_status status = tn_staircase_new(count, &subsets.stairs, error);
    if (status == TN_OK) status = TN_ALLOC(count, &subsets.along, error);
    if (status == TN_OK) status = TN_ALLOC(count, &subsets.rank, error);
    if (status == TN_OK) status = TN_ALLOC(count, &subsets.step, error);
    for (size_t k = 1; status == TN_OK && k <= axes; k++)
        status = TN_ALLOC(count * k, &subsets.room[k], error);
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        bool counts = true;
        for (size_t k = 0; k < axes; k++) counts &= point[i * axes + k] < 1;
        if (counts) memcpy(subsets.room[axes] + axes * inside++, point + i * axes, axes * sizeof *point);
    }
    if (status == TN_OK && axes > 3) inside = keep_best(subsets.room[axes], inside, axes);
    if (status == TN_OK) *volume = volume_of(&subsets, inside, axes);
    for (size_t k = 1; k <= axes; k++) tn_free(subsets.room[k]);
    tn_free(subsets.along);
    tn_free(subsets.rank);
    tn_free(subsets.step);
    tn_staircase_free(&subsets.stairs);
    return status;
}

enum { SAMPLES_PER_LOOK = 65536 };

/* Points up to which the exact volume takes less than about a tenth of a second, by axes. */
static const size_t exact_most[] = {0, 0, 0, 1000000, 2000, 500};

/* The front in the unit cube: point[i * axes + j] in 0..1, without the axes on which all points agree. */
typedef struct {
    size_t points, axes;
    double *point;
    double least[TN_OBJECTIVES_MOST], span[TN_OBJECTIVES_MOST];
    size_t objective[TN_OBJECTIVES_MOST];
} unit_front;

static void bounds(unit_front *unit, const tn_point *point, size_t objectives) {
    for (size_t j = 0; j < objectives; j++) {
        double least = point[0].value[j], most = least;
        for (size_t i = 1; i < unit->points; i++) {
            if (point[i].value[j] < least) least = point[i].value[j];
            if (point[i].value[j] > most) most = point[i].value[j];
        }
        if (most == least) continue;
        unit->objective[unit->axes] = j;
        unit->least[unit->axes] = least;
        unit->span[unit->axes++] = most - least;
    }
}

static tn_status make_unit(const tn_archive *front, unit_front *unit, tn_error *error) {
    *unit = (unit_front){.points = front->count};
    tn_point *point = NULL;
    TN_TRY(TN_ALLOC(front->count, &point, error));
    tn_archive_points(front, point);
    bounds(unit, point, front->objectives);
    tn_status status = TN_ALLOC(unit->points * unit->axes, &unit->point, error);
    for (size_t i = 0; status == TN_OK && i < unit->points; i++)
        for (size_t j = 0; j < unit->axes; j++)
            unit->point[i * unit->axes + j] =
                (point[i].value[unit->objective[j]] - unit->least[j]) / unit->span[j];
    tn_free(point);
    return status;
}

static int by_first(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Area under two axes: a staircase from left to right. Points sorted by the first axis. */
static double area(const unit_front *unit) {
    double sum = 0, lowest = 1;
    for (size_t i = 0; i < unit->points; i++) {
        const double *point = unit->point + 2 * i;
        if (point[1] >= lowest) continue;
        sum += (1 - point[0]) * (lowest - point[1]);
        lowest = point[1];
    }
    return sum;
}

/* The archive of the unit points answers the coverage questions. */
static tn_status sampled(const unit_front *unit, uint64_t samples, double *share, tn_error *error) {
    tn_archive archive;
    tn_archive_begin(&archive, unit->axes);
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < unit->points; i++) {
        tn_point point = {.id = i};
        for (size_t j = 0; j < unit->axes; j++) point.value[j] = unit->point[i * unit->axes + j];
        status = tn_archive_offer(&archive, &point, error);
    }
    tn_gsl_quiet();
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_sobol, (unsigned)unit->axes);
    tn_gsl_restore();
    if (!sequence && status == TN_OK) status = tn_fail(error, TN_MEMORY, "no memory for a Sobol sequence");
    uint64_t covered = 0;
    bool stopped = false;
    for (uint64_t i = 0; status == TN_OK && i < samples && !stopped; i++) {
        /* The first of them are always drawn, so that an interrupted sweep has a figure too. */
        stopped = i % SAMPLES_PER_LOOK == 0 && i > 0 && tn_interrupted();
        double value[TN_OBJECTIVES_MOST];
        gsl_qrng_get(sequence, value);
        covered += tn_archive_covers(&archive, value);
    }
    if (sequence) gsl_qrng_free(sequence);
    tn_archive_free(&archive);
    *share = stopped ? NAN : samples ? (double)covered / (double)samples : 0;
    return status;
}

tn_status tn_hypervolume_of(tn_archive *front, uint64_t samples, tn_hypervolume *volume, tn_error *error) {
    *volume = (tn_hypervolume){.exact = true};
    if (front->count == 0) return TN_OK;
    unit_front unit;
    TN_TRY(make_unit(front, &unit, error));
    tn_status status = TN_OK;
    if (unit.axes <= 1) {
        volume->share = 1; /* the least point covers the whole line, or all points are one */
    } else if (unit.axes == 2) {
        qsort(unit.point, unit.points, 2 * sizeof *unit.point, by_first);
        volume->share = area(&unit);
    } else if (unit.axes < sizeof exact_most / sizeof *exact_most && unit.points <= exact_most[unit.axes]) {
        status = tn_wfg_volume(unit.point, unit.points, unit.axes, &volume->share, error);
    } else {
        volume->exact = false;
        volume->samples = samples;
        status = sampled(&unit, samples, &volume->share, error);
    }
    tn_free(unit.point);
    return status;
}
