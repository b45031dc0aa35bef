#include "search/reach.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/threads.h"

#include <math.h>

static tn_status add_bounds(const tn_reach *reaching, uint32_t index, tn_sums *bounds, tn_error *error) {
    const tn_build_task *job = &reaching->state->task[index];
    const double bytes = tn_resources_block_bytes(&reaching->space->budget);
    for (size_t k = 0; k < job->front.count; k++) {
        const tn_evaluation bound = tn_decomposing_bound(reaching->state, job, k);
        tn_point point;
        if (tn_decomposing_breaks(reaching->space, &bound) ||
            (double)bound.price.on_chip_bytes > bytes * job->front.slack)
            continue;
        tn_space_point(reaching->space, &bound, 0, &point);
        for (size_t d = 0; d < reaching->objectives; d++)
            point.value[d] *=
                reaching->space->objective[d]->maximise ? job->front.slack : 1 / job->front.slack;
        TN_TRY(tn_sums_add(bounds, point.value, 0, 0, index, (uint32_t)k, error));
    }
    return TN_OK;
}

static tn_status find_bounds(const tn_reach *reaching, tn_sums *bounds, tn_error *error) {
    const tn_boxes boxes = {.rounded = reaching->objectives};
    tn_sums_begin(bounds, reaching->objectives);
    for (size_t i = 0; i < reaching->state->tasks; i++)
        if (!reaching->state->task[i].skipped) TN_TRY(add_bounds(reaching, (uint32_t)i, bounds, error));
    return tn_sums_prune(bounds, &boxes, reaching->state->front.deadline, error);
}

tn_status tn_reach_gather_bounds(tn_reach *reaching, tn_error *error) {
    const size_t objectives = reaching->objectives;
    tn_sums bounds;
    tn_status status = find_bounds(reaching, &bounds, error);
    if (status != TN_OK) {
        tn_sums_free(&bounds);
        return reaching->bounded && status == TN_INTERRUPTED ? TN_OK : status;
    }
    tn_sums_free(&reaching->bounds);
    reaching->bounds = bounds;
    reaching->bounded = true;
    size_t count = reaching->bounds.count;
    TN_TRY(TN_GROW(&reaching->bound_log, &reaching->covered_room[0], count * objectives, error));
    TN_TRY(TN_GROW(&reaching->distance, &reaching->covered_room[1], count, error));
    TN_TRY(TN_GROW(&reaching->nearest, &reaching->covered_room[2], count, error));
    TN_TRY(TN_GROW(&reaching->tries, &reaching->covered_room[3], count, error));
    for (size_t i = 0; i < count; i++) {
        reaching->distance[i] = INFINITY;
        reaching->nearest[i] = UINT32_MAX;
        reaching->tries[i] = 0;
        for (size_t k = 0; k < objectives; k++)
            reaching->bound_log[i * objectives + k] = tn_reach_log(reaching->bounds.value[k][i]);
    }
    tn_reach_cover(reaching, 0);
    return TN_OK;
}

tn_status tn_reach_find_fronts(tn_reach *reaching, const bool *wants, double epsilon, tn_error *error) {
    tn_decomposing *state = reaching->state;
    int threads = tn_thread_count(state->options->threads);
    size_t done = 0, all = 0;
    tn_front_options options = state->front;
    options.epsilon = epsilon;
    for (size_t i = 0; i < state->tasks; i++) all += !state->task[i].skipped && wants[i];
    tn_progress_begin(state->options->progress, "builds merged");
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < state->tasks; i++) {
        tn_build_task *job = &state->task[i];
        tn_build_front found;
        if (job->skipped || !wants[i]) continue;
        if (tn_clock_seconds() > options.deadline) {
            if (!job->front.option) job->status = tn_fail(&job->error, TN_INTERRUPTED, "interrupted");
            continue;
        }
        job->status = tn_build_front_find(state->space, &state->units, &state->table[job->keys], job->build,
                                          state->key_digit[job->keys], &options, &found, &job->error);
        if (job->status == TN_OK) {
            tn_build_front_free(&job->front, state->units.count);
            job->front = found;
        } else if (job->front.option && (job->status == TN_LIMIT || job->status == TN_INTERRUPTED)) {
            job->status = TN_OK;
            job->is_finest = true;
        }
#pragma omp critical(tenfold_decomposition)
        tn_progress_report(state->options->progress, ++done, all);
    }
    return tn_decomposing_status(state, error);
}
