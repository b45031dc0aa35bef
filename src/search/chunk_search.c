#include "search/chunk_search.h"

#include "base/memory.h"

#include <stdlib.h>

struct tn_chunk_candidate {
    tn_point bound;
    uint64_t inner;
};

tn_status tn_chunk_search_begin(const tn_space *space, tn_chunk_search *search, tn_error *error) {
    *search = (tn_chunk_search){.space = space};
    tn_archive_begin(&search->known, space->objectives);
    return tn_evaluator_new(space, &search->evaluator, error);
}

void tn_chunk_search_free(tn_chunk_search *search) {
    tn_evaluator_free(search->evaluator);
    tn_archive_free(&search->known);
    tn_free(search->candidate);
    *search = (tn_chunk_search){0};
}

static tn_status add_candidate(tn_chunk_search *search, const tn_point *bound, uint64_t inner,
                               tn_error *error) {
    if (tn_archive_refuses(&search->known, bound)) return TN_OK;
    TN_TRY(TN_GROW(&search->candidate, &search->capacity, search->candidates + 1, error));
    search->candidate[search->candidates++] = (tn_chunk_candidate){*bound, inner};
    return TN_OK;
}

/* A bound comes after those that are nowhere greater; ids settle what is equal. */
static int by_bound(const void *a, const void *b) {
    const tn_point *x = &((const tn_chunk_candidate *)a)->bound, *y = &((const tn_chunk_candidate *)b)->bound;
    for (size_t k = 0; k < TN_OBJECTIVES_MOST; k++)
        if (x->value[k] != y->value[k]) return x->value[k] < y->value[k] ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* With `keep` every design comes here whose bound fits: those that do not fit as laid are then counted as what they are. */
static tn_status lay(tn_chunk_search *search, uint64_t outer, uint64_t inner, uint64_t id,
                     tn_chunk_keep *keep, void *target, tn_outcome *found, tn_error *error) {
    tn_evaluation evaluation;
    tn_point point;
    uint32_t cause;
    TN_TRY(tn_evaluate(search->evaluator, outer, inner, &evaluation, &cause, error));
    if (keep) {
        found->count[TN_CAUSE_NONE]--;
        found->count[cause]++;
    }
    if (cause != TN_CAUSE_NONE) return TN_OK;
    if (keep) TN_TRY(keep(target, id, &evaluation, error));
    tn_space_point(search->space, &evaluation, id, &point);
    return tn_archive_offer(&found->front, &point, error);
}

/* Whether its closer bound leaves it a chance: it fits, and nothing refuses it. */
static tn_status has_chance(tn_chunk_search *search, uint64_t outer, const tn_chunk_candidate *candidate,
                            tn_archive *front, bool *has, tn_error *error) {
    tn_evaluation evaluation;
    tn_point bound;
    uint32_t cause;
    bool exact;
    TN_TRY(tn_evaluate_close_bound(search->evaluator, outer, candidate->inner, &evaluation, &cause, &exact,
                                   error));
    *has = cause == TN_CAUSE_NONE;
    if (!*has) return TN_OK;
    tn_space_point(search->space, &evaluation, candidate->bound.id, &bound);
    *has = !tn_archive_refuses(front, &bound) && !tn_archive_refuses(&search->known, &bound);
    return TN_OK;
}

/* By bounds: neighbours then are of one parallelism and share what is found for it. */
static tn_status lay_candidates(tn_chunk_search *search, uint64_t outer, tn_outcome *found, tn_error *error) {
    if (search->candidates) qsort(search->candidate, search->candidates, sizeof *search->candidate, by_bound);
    for (size_t i = 0; i < search->candidates; i++) {
        const tn_chunk_candidate *next = &search->candidate[i];
        bool has;
        if (tn_archive_refuses(&found->front, &next->bound)) continue;
        TN_TRY(has_chance(search, outer, next, &found->front, &has, error));
        if (has) TN_TRY(lay(search, outer, next->inner, next->bound.id, NULL, NULL, found, error));
    }
    return TN_OK;
}

tn_status tn_chunk_search_run(tn_chunk_search *chunk_search, const tn_chunk *chunk, tn_chunk_keep *keep,
                              void *target, tn_outcome *found, tn_error *error) {
    chunk_search->candidates = 0;
    for (uint64_t inner = chunk->first; inner < chunk->first + chunk->designs; inner++) {
        tn_evaluation evaluation;
        tn_point bound;
        uint32_t cause;
        bool exact;
        TN_TRY(tn_evaluate_bound(chunk_search->evaluator, chunk->outer, inner, &evaluation, &cause, &exact,
                                 error));
        found->count[cause]++;
        if (cause != TN_CAUSE_NONE && cause != TN_CAUSE_UNDEFINED) continue;
        const uint64_t id = tn_space_id(chunk_search->space, chunk->outer, inner);
        if (cause == TN_CAUSE_UNDEFINED) {
            TN_TRY(tn_outcome_add_undefined(found, tn_evaluator_undefined(chunk_search->evaluator), 1, id,
                                            error));
            continue;
        }
        tn_space_point(chunk_search->space, &evaluation, id, &bound);
        if (exact) {
            if (keep) TN_TRY(keep(target, id, &evaluation, error));
            TN_TRY(tn_archive_offer(&found->front, &bound, error));
        } else if (keep) {
            TN_TRY(lay(chunk_search, chunk->outer, inner, id, keep, target, found, error));
        } else {
            TN_TRY(add_candidate(chunk_search, &bound, inner, error));
        }
    }
    found->evaluated = found->evaluated_now = chunk->designs;
    return lay_candidates(chunk_search, chunk->outer, found, error);
}
