#include "search/reach.h"

#include "base/digest.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/threads.h"

#include <math.h>
#include <string.h>

/* ---- designs ---- */

static uint64_t hash_of(const tn_reach *reaching, const uint32_t *digit) {
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < reaching->choices; i++) hash = tn_hash_word(hash, digit[i]);
    return hash ? hash : 1;
}

static tn_status make_seen(tn_reach *reaching, tn_error *error) {
    uint64_t *grown;
    size_t slots = reaching->seen_slots ? 2 * reaching->seen_slots : 4096;
    if (2 * reaching->seen_count < reaching->seen_slots) return TN_OK;
    TN_TRY(TN_ALLOC(slots, &grown, error));
    for (size_t i = 0; i < reaching->seen_slots; i++) {
        if (!reaching->seen[i]) continue;
        size_t place = reaching->seen[i] & (slots - 1);
        while (grown[place]) place = (place + 1) & (slots - 1);
        grown[place] = reaching->seen[i];
    }
    tn_free(reaching->seen);
    reaching->seen = grown;
    reaching->seen_slots = slots;
    return TN_OK;
}

/* Of designs whose hashes are equal one is priced: nothing is lost but it. */
tn_status tn_reach_add_design(tn_reach *reaching, const uint32_t *digit, tn_error *error) {
    tn_design_batch *next = &reaching->next;
    TN_TRY(make_seen(reaching, error));
    uint64_t hash = hash_of(reaching, digit);
    size_t place = hash & (reaching->seen_slots - 1);
    while (reaching->seen[place] && reaching->seen[place] != hash)
        place = (place + 1) & (reaching->seen_slots - 1);
    if (reaching->seen[place]) return TN_OK;
    reaching->seen[place] = hash;
    reaching->seen_count++;
    TN_TRY(TN_GROW(&next->digit, &next->capacity, (next->count + 1) * reaching->choices, error));
    memcpy(next->digit + next->count++ * reaching->choices, digit, reaching->choices * sizeof *digit);
    return TN_OK;
}

bool tn_reach_is_over(const tn_reach *reaching) {
    return tn_check_time(reaching->state->front.deadline, NULL) != TN_OK ||
           reaching->state->evaluated + reaching->next.count > reaching->most;
}

static const uint32_t not_priced = TN_CAUSES; /* as the time was over */

static void price_some(tn_reach *reaching, size_t *at, tn_status *status, tn_error *error) {
    enum { RUN = 4 };
    tn_design_batch *next = &reaching->next;
    tn_evaluator *evaluator = NULL;
    tn_error own = {0};
    tn_status found = tn_evaluator_new(reaching->space, &evaluator, &own);
    while (found == TN_OK) {
        size_t first;
#pragma omp critical(tenfold_bounded_front)
        {
            first = *status == TN_OK ? *at : SIZE_MAX;
            *at += RUN;
        }
        if (first >= next->count) break;
        for (size_t i = first; found == TN_OK && i < first + RUN && i < next->count; i++) {
            if (tn_check_time(reaching->state->front.deadline, NULL) != TN_OK) {
                next->cause[i] = not_priced;
                continue;
            }
            found = tn_decomposing_price(evaluator, next->digit + i * reaching->choices, &next->evaluation[i],
                                         &next->cause[i], &own);
        }
#pragma omp critical(tenfold_bounded_front)
        tn_progress_report(reaching->state->options->progress, *at < next->count ? *at : next->count,
                           next->count);
    }
#pragma omp critical(tenfold_bounded_front)
    if (found != TN_OK && *status == TN_OK) {
        *status = found;
        if (error) *error = own;
    }
    tn_evaluator_free(evaluator);
}

double tn_reach_log(double value) {
    static const double nothing = -700;
    return value == 0 ? nothing : log(fabs(value));
}

static tn_status keep_member(tn_reach *reaching, size_t index, tn_error *error) {
    tn_point point;
    const size_t n = reaching->members, objectives = reaching->objectives;
    tn_space_point(reaching->space, &reaching->next.evaluation[index], n, &point);
    if (tn_archive_covers(&reaching->archive, point.value)) return TN_OK;
    TN_TRY(TN_GROW(&reaching->member, &reaching->member_room, n + 1, error));
    TN_TRY(TN_GROW(&reaching->member_digit, &reaching->digit_room, (n + 1) * reaching->choices, error));
    TN_TRY(TN_GROW(&reaching->evaluation, &reaching->evaluation_room, n + 1, error));
    TN_TRY(TN_GROW(&reaching->member_log, &reaching->log_room, (n + 1) * objectives, error));
    reaching->member[n] = point;
    reaching->evaluation[n] = reaching->next.evaluation[index];
    memcpy(reaching->member_digit + n * reaching->choices, reaching->next.digit + index * reaching->choices,
           reaching->choices * sizeof *reaching->member_digit);
    for (size_t k = 0; k < objectives; k++)
        reaching->member_log[n * objectives + k] = tn_reach_log(point.value[k]);
    reaching->members++;
    return tn_archive_offer(&reaching->archive, &point, error);
}

/* ---- which design is near a bound ---- */

void tn_reach_cover(tn_reach *reaching, size_t first_member) {
    const size_t objectives = reaching->objectives;
    double sign[TN_OBJECTIVES_MOST];
    for (size_t k = 0; k < objectives; k++) sign[k] = reaching->space->objective[k]->maximise ? -1 : 1;
    const int threads = tn_thread_count(reaching->state->options->threads);
#pragma omp parallel for schedule(static, 256) num_threads(threads)
    for (size_t i = 0; i < reaching->bounds.count; i++) {
        const double *bound = reaching->bound_log + i * objectives;
        double least = reaching->distance[i];
        for (size_t m = first_member; m < reaching->members; m++) {
            const double *member = reaching->member_log + m * objectives;
            double most = 0;
            for (size_t k = 0; k < objectives; k++) most = fmax(most, sign[k] * (member[k] - bound[k]));
            if (most >= least) continue;
            least = most;
            reaching->nearest[i] = (uint32_t)m;
        }
        reaching->distance[i] = least;
    }
}

tn_status tn_reach_price(tn_reach *reaching, tn_error *error) {
    tn_design_batch *next = &reaching->next;
    size_t at = 0, first_member = reaching->members, room = next->room;
    tn_status status = TN_OK;
    int threads = tn_thread_count(reaching->state->options->threads);
    if (next->count == 0) return TN_OK;
    TN_TRY(TN_GROW(&next->evaluation, &room, next->count, error));
    TN_TRY(TN_GROW(&next->cause, &next->room, next->count, error));
    tn_progress_begin(reaching->state->options->progress, "designs priced");
#pragma omp parallel num_threads(threads)
    price_some(reaching, &at, &status, error);
    for (size_t i = 0; status == TN_OK && i < next->count; i++) {
        if (next->cause[i] == not_priced) continue;
        reaching->state->evaluated++;
        reaching->state->cause[next->cause[i]]++;
        if (next->cause[i] == TN_CAUSE_NONE) status = keep_member(reaching, i, error);
    }
    next->count = 0;
    tn_reach_cover(reaching, first_member);
    return status;
}
