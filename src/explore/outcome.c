#include "explore/outcome.h"

#include "base/memory.h"

#include <string.h>

const char *const tn_completion_names[] = {"exhausted", "budget", "interrupted", NULL};

void tn_outcome_begin(const tn_space *space, tn_outcome *outcome) {
    *outcome = (tn_outcome){0};
    tn_archive_begin(&outcome->front, space->objectives);
}

void tn_outcome_free(tn_outcome *outcome) {
    tn_archive_free(&outcome->front);
    tn_free(outcome->undefined);
    *outcome = (tn_outcome){0};
}

void tn_outcome_clear(tn_outcome *outcome) {
    tn_archive_clear(&outcome->front);
    outcome->evaluated = outcome->evaluated_now = 0;
    memset(outcome->count, 0, sizeof outcome->count);
    outcome->undefined_count = 0;
}

static int compare(const tn_undefined_flow *a, const tn_undefined_flow *b) {
    if (a->weight != b->weight) return a->weight < b->weight ? -1 : 1;
    if (a->format != b->format) return a->format < b->format ? -1 : 1;
    if (a->factors != b->factors) return a->factors < b->factors ? -1 : 1;
    return (a->flow > b->flow) - (a->flow < b->flow);
}

tn_status tn_outcome_add_undefined(tn_outcome *outcome, const tn_undefined_flow *flow, uint64_t designs,
                                   tn_error *error) {
    size_t at = 0;
    while (at < outcome->undefined_count && compare(&outcome->undefined[at].flow, flow) < 0) at++;
    if (at < outcome->undefined_count && compare(&outcome->undefined[at].flow, flow) == 0) {
        outcome->undefined[at].designs += designs;
        return TN_OK;
    }
    TN_TRY(tn_grow(&outcome->undefined, &outcome->undefined_capacity, outcome->undefined_count + 1,
                   sizeof *outcome->undefined, error));
    memmove(&outcome->undefined[at + 1], &outcome->undefined[at],
            (outcome->undefined_count - at) * sizeof *outcome->undefined);
    outcome->undefined[at] = (tn_undefined_count){.flow = *flow, .designs = designs};
    outcome->undefined_count++;
    return TN_OK;
}

tn_status tn_outcome_absorb(tn_outcome *outcome, tn_outcome *from, tn_error *error) {
    TN_TRY(tn_archive_absorb(&outcome->front, &from->front, error));
    for (size_t i = 0; i < from->undefined_count; i++)
        TN_TRY(
            tn_outcome_add_undefined(outcome, &from->undefined[i].flow, from->undefined[i].designs, error));
    outcome->evaluated += from->evaluated;
    outcome->evaluated_now += from->evaluated_now;
    for (uint32_t i = 0; i < TN_CAUSES; i++) outcome->count[i] += from->count[i];
    return TN_OK;
}
