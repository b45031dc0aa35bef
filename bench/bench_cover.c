/* Whether a certificate holds: random designs of a space, priced one by one, against the front in a folder of
 * `tenfold sweep`.
 *
 *     bench_cover DIR [DESIGNS [SEED [BUILDS]]]      default 1000000 designs, seed 1
 *
 * BUILDS (1): so many designs in a row have the same choices of layers, with builds drawn anew: the step is the larger
 * part of a price. */
#include "base/clock.h"
#include "base/random.h"
#include "front/archive.h"
#include "results/result.h"
#include "search/evaluator.h"

#include <jansson.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const tn_error *error) {
    char text[2048];
    tn_error_text(error, text, sizeof text);
    fprintf(stderr, "bench_cover: %s\n", text);
    return 1;
}

/* Factors of the folder's certificate, in the order of the objectives. */
static int read_factors(const char *folder, const tn_space *space, double *factor) {
    char path[4096];
    snprintf(path, sizeof path, "%s/sweep.json", folder);
    json_t *record = json_load_file(path, 0, NULL), *certificate = json_object_get(record, "certificate");
    int missing = !json_is_object(certificate);
    for (size_t k = 0; !missing && k < space->objectives; k++) {
        const json_t *value = json_object_get(certificate, space->objective[k]->name);
        missing = !json_is_number(value);
        factor[k] = json_number_value(value);
    }
    json_decref(record);
    return missing;
}

typedef struct {
    uint64_t feasible, uncovered;
} tally;

/* The i-th design: choices of the model and its layers from one stream, of the build from another. */
static void draw_digits(const tn_space *space, uint64_t i, uint64_t seed, uint64_t builds, uint32_t *digit) {
    uint64_t layers = seed * UINT64_C(1000000007) + i / builds, build = ~(seed * UINT64_C(1000000007) + i);
    for (size_t c = 0; c < space->choices.count; c++) {
        uint64_t *state = space->choices.axis[c].kind == TN_AXIS_BUILD ? &build : &layers;
        digit[c] = tn_splitmix_below(state, (uint32_t)space->choices.axis[c].count);
    }
}

static tn_status draw(const tn_space *space, tn_archive *front, const double *factor, uint64_t begin,
                      uint64_t end, uint64_t seed, uint64_t builds, tally *counts, tn_error *error) {
    tn_evaluator *evaluator;
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = TN_OK;
    for (uint64_t i = begin; status == TN_OK && i < end; i++) {
        uint32_t digit[TN_AXES_MOST], cause;
        tn_evaluation evaluation;
        tn_point point;
        draw_digits(space, i, seed, builds, digit);
        status = tn_evaluate_digits(evaluator, digit, &evaluation, &cause, error);
        if (status != TN_OK || cause != TN_CAUSE_NONE) continue;
        counts->feasible++;
        tn_space_point(space, &evaluation, 0, &point);
        for (size_t k = 0; k < space->objectives; k++)
            point.value[k] *= space->objective[k]->maximise ? 1 / factor[k] : factor[k];
        counts->uncovered += !tn_archive_covers(front, point.value);
    }
    tn_evaluator_free(evaluator);
    return status;
}

int main(int argc, char **argv) {
    tn_arena arena = {0};
    tn_error error = {0};
    static tn_result result;
    double factor[TN_OBJECTIVES_MOST];
    uint64_t designs = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000,
             seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1,
             builds = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    if (argc < 2 || builds == 0) {
        printf("bench_cover: skipped; give the folder of a sweep with a certificate\n");
        return 0;
    }
    if (tn_result_load(argv[1], &arena, &result, &error) != TN_OK) return fail(&error);
    const tn_space *space = result.space;
    if (read_factors(argv[1], space, factor)) {
        fprintf(stderr, "bench_cover: %s has no certificate\n", argv[1]);
        return 1;
    }
    tn_archive front; /* of all threads; copied for each, as asking remembers */
    tally all = {0};
    tn_status status = TN_OK;
    double started = tn_clock_seconds();
#pragma omp parallel private(front)
    {
        tally own = {0};
        tn_error why = {0};
        tn_archive_begin(&front, space->objectives);
        tn_status found = TN_OK;
        for (size_t i = 0; found == TN_OK && i < result.front_count; i++) {
            tn_point point = {.id = i};
            for (size_t k = 0; k < space->objectives; k++) {
                double value = result.front[i].value[space->objective[k] - tn_quantities];
                point.value[k] = space->objective[k]->maximise ? -value : value;
            }
            found = tn_archive_offer(&front, &point, &why);
        }
        uint64_t part = (uint64_t)omp_get_thread_num(), parts = (uint64_t)omp_get_num_threads();
        if (found == TN_OK)
            found = draw(space, &front, factor, designs * part / parts, designs * (part + 1) / parts, seed,
                         builds, &own, &why);
        tn_archive_free(&front);
#pragma omp critical
        {
            all.feasible += own.feasible;
            all.uncovered += own.uncovered;
            if (found != TN_OK) {
                status = found;
                error = why;
            }
        }
    }
    if (status != TN_OK) return fail(&error);
    printf(
        "%llu random designs, %llu feasible, %llu not covered by the front of %zu within the certificate (",
        (unsigned long long)designs, (unsigned long long)all.feasible, (unsigned long long)all.uncovered,
        result.front_count);
    for (size_t k = 0; k < space->objectives; k++)
        printf("%s%s %.6f", k ? ", " : "", space->objective[k]->name, factor[k]);
    printf("); %.0f s\n", tn_clock_seconds() - started);
    tn_arena_free(&arena);
    return all.uncovered > 0;
}
