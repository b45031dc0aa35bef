/* The archive under a stream of points, and exact hypervolumes, on four sets: random points of a cube, points of a
 * sphere's front, clusters of such, and the demo space's own designs. User seconds of one thread.
 *
 *     bench_archive [POINTS]      default 100000 points of the sphere; the million takes some minutes */
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "front/archive.h"
#include "front/hypervolume.h"
#include "search/evaluator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 1;

/* On the part of a sphere that faces the origin: none dominates another. */
static void sphere(double *value, size_t objectives) {
    double norm = 0;
    for (size_t k = 0; k < objectives; k++) {
        double u = tn_splitmix_unit(&state), v = tn_splitmix_unit(&state);
        value[k] = fabs(sqrt(-2 * log(u + 1e-300)) * cos(6.283185307179586 * v));
        norm += value[k] * value[k];
    }
    for (size_t k = 0; k < objectives; k++) value[k] = 1 - value[k] / sqrt(norm);
}

static void cube(double *value, size_t objectives) {
    for (size_t k = 0; k < objectives; k++) value[k] = tn_splitmix_unit(&state);
}

static void clustered(double *value, size_t objectives) {
    enum { CLUSTERS = 20 };
    uint64_t now = state, own = tn_splitmix_below(&state, CLUSTERS);
    double centre[TN_OBJECTIVES_MOST];
    now = state;
    state = 1000 + own;
    sphere(centre, objectives);
    state = now;
    sphere(value, objectives);
    for (size_t k = 0; k < objectives; k++) value[k] = centre[k] + 0.02 * value[k];
}

typedef struct {
    const char *name;
    void (*draw)(double *value, size_t objectives);
} set;
static const set sets[] = {{"cube", cube}, {"sphere", sphere}, {"clustered", clustered}};

static void stream(const set *distribution, size_t objectives, uint64_t points) {
    tn_archive archive;
    tn_archive_begin(&archive, objectives);
    double started = tn_clock_seconds();
    for (uint64_t i = 0; i < points; i++) {
        tn_point point = {.id = i};
        distribution->draw(point.value, objectives);
        if (tn_archive_offer(&archive, &point, NULL) != TN_OK) exit(1);
    }
    double seconds = tn_clock_seconds() - started;
    printf("archive %-10s %zu objectives: %8llu points, front %8zu, %9.3f s, %8.2f us a point\n",
           distribution->name, objectives, (unsigned long long)points, archive.count, seconds,
           1e6 * seconds / (double)points);
    tn_archive_free(&archive);
}

/* The same front of all points at once. */
static void whole(const set *distribution, size_t objectives, uint64_t points) {
    tn_archive archive;
    tn_point *point = NULL;
    if (TN_ALLOC((size_t)points, &point, NULL) != TN_OK) exit(1);
    for (uint64_t i = 0; i < points; i++) {
        point[i].id = i;
        distribution->draw(point[i].value, objectives);
    }
    tn_archive_begin(&archive, objectives);
    double started = tn_clock_seconds();
    if (tn_archive_offer_all(&archive, point, (size_t)points, NULL) != TN_OK) exit(1);
    double seconds = tn_clock_seconds() - started;
    printf("at once %-10s %zu objectives: %8llu points, front %8zu, %9.3f s, %8.2f us a point\n",
           distribution->name, objectives, (unsigned long long)points, archive.count, seconds,
           1e6 * seconds / (double)points);
    tn_archive_free(&archive);
    tn_free(point);
}

static void volume(const set *distribution, size_t objectives, size_t points) {
    double *point = NULL, value;
    if (TN_ALLOC(points * objectives, &point, NULL) != TN_OK) exit(1);
    for (size_t i = 0; i < points; i++) distribution->draw(point + i * objectives, objectives);
    double started = tn_clock_seconds();
    if (tn_wfg_volume(point, points, objectives, &value, NULL) != TN_OK) exit(1);
    printf("volume  %-10s %zu objectives: %8zu points, %.9f, %9.3f s\n", distribution->name, objectives,
           points, value, tn_clock_seconds() - started);
    tn_free(point);
}

static void sweep(void) {
    tn_arena arena = {0};
    static tn_space space;
    tn_evaluator *evaluator;
    tn_archive archive;
    uint64_t points = 0;
    double seconds = 0;
    if (tn_space_load(BENCH_SOURCE_DIR "/spaces/atis-2enc-u50.yaml", NULL, 0, NULL, &arena, &space, NULL) !=
            TN_OK ||
        tn_evaluator_new(&space, &evaluator, NULL) != TN_OK)
        exit(1);
    tn_archive_begin(&archive, space.objectives);
    for (uint64_t outer = 0; outer < space.outer_count; outer += 97)
        for (uint64_t inner = 0; inner < space.inner_count; inner++) {
            tn_evaluation evaluation;
            tn_point point;
            uint32_t cause;
            if (tn_evaluate(evaluator, outer, inner, &evaluation, &cause, NULL) != TN_OK) exit(1);
            if (cause != TN_CAUSE_NONE) continue;
            tn_space_point(&space, &evaluation, points++, &point);
            double started = tn_clock_seconds();
            if (tn_archive_offer(&archive, &point, NULL) != TN_OK) exit(1);
            seconds += tn_clock_seconds() - started;
        }
    printf("archive %-10s %zu objectives: %8llu points, front %8zu, %9.3f s, %8.2f us a point\n", "sweep",
           space.objectives, (unsigned long long)points, archive.count, seconds,
           1e6 * seconds / (double)points);
    tn_archive_free(&archive);
    tn_evaluator_free(evaluator);
    tn_arena_free(&arena);
}

int main(int argc, char **argv) {
    uint64_t points = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        for (size_t objectives = 3; objectives <= 5; objectives += 2)
            stream(&sets[i], objectives, i == 1 ? points : points / 4);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) whole(&sets[i], 3, i == 1 ? points : points / 4);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) volume(&sets[i], 3, (size_t)points);
    static const size_t sizes[] = {0, 0, 0, 1000, 1000, 300};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        for (size_t objectives = 3; objectives <= 5; objectives++)
            volume(&sets[i], objectives, sizes[objectives]);
    sweep();
    return 0;
}
