#include "explore/hypervolume.h"

#include "base/gsl.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "explore/wfg.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdlib.h>

enum { SAMPLES_PER_LOOK = 65536 };

/* Points up to which the exact volume takes less than about a tenth of a second, by axes. */
static const size_t exact_most[] = {0, 0, 0, 1000, 300, 100};

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
    TN_TRY(tn_alloc(front->count, sizeof *point, &point, error));
    tn_archive_points(front, point);
    bounds(unit, point, front->objectives);
    tn_status status = tn_alloc(unit->points * unit->axes, sizeof *unit->point, &unit->point, error);
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
