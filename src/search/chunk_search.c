#include "search/chunk_search.h"

#include "base/memory.h"
#include "search/kernel_floor.h"
#include "search/outer_step.h"

tn_status tn_chunk_search_begin(const tn_space *space, bool counts, tn_chunk_search *search,
                                tn_error *error) {
    *search = (tn_chunk_search){.space = space, .counts = counts};
    tn_archive_begin(&search->known, space->objectives);
    bool has_bounds;
    TN_TRY(tn_space_has_bounds(space, &has_bounds, error));
    if (has_bounds) TN_TRY(TN_ALLOC(1, &search->floors, error));
    TN_TRY(tn_evaluator_new(space, &search->evaluator, error));
    return tn_build_search_begin(space, search->evaluator, &search->known, has_bounds, &search->builds,
                                 error);
}

void tn_chunk_search_free(tn_chunk_search *search) {
    tn_build_search_free(&search->builds);
    tn_evaluator_free(search->evaluator);
    tn_archive_free(&search->known);
    tn_free(search->floors);
    *search = (tn_chunk_search){0};
}

/* A chunk at work. */
typedef struct {
    tn_chunk_search *search;
    uint64_t outer;
    tn_chunk_keep *keep;
    void *target;
    tn_outcome *found;
    tn_error *error;
} chunk_run;

/* With `keep` every design comes here whose bound fits: those that do not fit as laid are then counted as what they are. */
static tn_status lay(chunk_run *run, uint64_t inner, uint64_t id) {
    tn_evaluation evaluation;
    tn_point point;
    uint32_t cause;
    TN_TRY(tn_evaluate(run->search->evaluator, run->outer, inner, &evaluation, &cause, run->error));
    if (run->keep) {
        run->found->count[TN_CAUSE_NONE]--;
        run->found->count[cause]++;
    }
    if (cause != TN_CAUSE_NONE) return TN_OK;
    if (run->keep) TN_TRY(run->keep(run->target, id, &evaluation, run->error));
    tn_space_point(run->search->space, &evaluation, id, &point);
    return tn_archive_offer(&run->found->front, &point, run->error);
}

static bool is_refused(const chunk_run *run, const tn_point *bound) {
    return tn_archive_refuses(&run->found->front, bound) || tn_archive_refuses(&run->search->known, bound);
}

static tn_status judge_design(chunk_run *run, uint64_t inner) {
    tn_chunk_search *search = run->search;
    tn_evaluation evaluation;
    tn_point bound;
    uint32_t cause;
    bool exact;
    TN_TRY(tn_evaluate_bound(search->evaluator, run->outer, inner, &evaluation, &cause, &exact, run->error));
    run->found->count[cause]++;
    if (cause != TN_CAUSE_NONE && cause != TN_CAUSE_UNDEFINED) return TN_OK;
    const uint64_t id = tn_space_id(search->space, run->outer, inner);
    if (cause == TN_CAUSE_UNDEFINED)
        return tn_outcome_add_undefined(run->found, tn_evaluator_undefined(search->evaluator), 1, id,
                                        run->error);
    tn_space_point(search->space, &evaluation, id, &bound);
    if (exact) {
        if (run->keep) TN_TRY(run->keep(run->target, id, &evaluation, run->error));
        return tn_archive_offer(&run->found->front, &bound, run->error);
    }
    bool left = run->keep || !is_refused(run, &bound);
    if (left && !run->keep) {
        TN_TRY(tn_evaluate_close_bound(search->evaluator, run->outer, inner, &evaluation, &cause, &exact,
                                       run->error));
        tn_space_point(search->space, &evaluation, id, &bound);
        left = cause == TN_CAUSE_NONE && !is_refused(run, &bound);
    }
    return left ? lay(run, inner, id) : TN_OK;
}

static tn_status judge_each(chunk_run *run, const tn_chunk *chunk) {
    for (uint64_t inner = chunk->first; inner < chunk->first + chunk->inners; inner++)
        TN_TRY(judge_design(run, inner));
    return TN_OK;
}

/* An outer combination that has no price: all its designs lack it for the same reason. */
static tn_status count_all(chunk_run *run, const tn_chunk *chunk) {
    const tn_evaluator *evaluator = run->search->evaluator;
    run->found->count[evaluator->outer_cause] += chunk->inners;
    if (evaluator->outer_cause != TN_CAUSE_UNDEFINED) return TN_OK;
    return tn_outcome_add_undefined(run->found, tn_evaluator_undefined(evaluator), chunk->inners,
                                    tn_space_id(run->search->space, run->outer, chunk->first), run->error);
}

static tn_status search_sets(const chunk_run *run, const tn_chunk *chunk) {
    tn_chunk_search *search = run->search;
    const tn_kernel_floor *floor =
        search->floors ? tn_kernel_floor_find(search->floors, search->evaluator) : NULL;
    if (floor && floor->cause != TN_CAUSE_NONE) {
        run->found->count[floor->cause] += chunk->inners;
        return TN_OK;
    }
    return tn_build_search_run(&search->builds, chunk, run->outer, floor ? &floor->least : NULL, run->found,
                               run->error);
}

tn_status tn_chunk_search_run(tn_chunk_search *search, const tn_chunk *chunk, tn_chunk_keep *keep,
                              void *target, tn_outcome *found, tn_error *error) {
    tn_evaluator *evaluator = search->evaluator;
    chunk_run run = {search, chunk->outer, keep, target, found, error};
    const bool sets = !keep && !search->counts && tn_evaluator_is_bounded(evaluator),
               floors = sets && search->floors;
    for (; run.outer < chunk->outer + chunk->outers; run.outer++) {
        const uint32_t cause =
            floors ? tn_kernel_floor_recall(search->floors, evaluator, run.outer) : TN_CAUSE_NONE;
        if (cause != TN_CAUSE_NONE) {
            found->count[cause] += chunk->inners;
            continue;
        }
        if (!evaluator->has_outer || evaluator->outer != run.outer)
            TN_TRY(tn_evaluator_load_outer(evaluator, run.outer, error));
        if (evaluator->outer_cause != TN_CAUSE_NONE)
            TN_TRY(count_all(&run, chunk));
        else
            TN_TRY(sets ? search_sets(&run, chunk) : judge_each(&run, chunk));
    }
    found->evaluated = found->evaluated_now = chunk->designs;
    return TN_OK;
}
