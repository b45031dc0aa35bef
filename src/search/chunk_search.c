#include "search/chunk_search.h"

#include "base/memory.h"
#include "search/kernel_floor.h"
#include "search/outer_step.h"
#include "search/places.h"

#include <stdlib.h>

/* A design, or a set of them with its first one, and what none of them goes below. */
struct tn_chunk_candidate {
    tn_point bound;
    uint64_t inner;
    uint64_t work; /* of a set: its number among them */
};

tn_status tn_chunk_search_begin(const tn_space *space, bool counts, tn_chunk_search *search,
                                tn_error *error) {
    *search = (tn_chunk_search){.space = space, .counts = counts};
    tn_archive_begin(&search->known, space->objectives);
    TN_TRY(TN_ALLOC(1, &search->axes, error));
    TN_TRY(TN_ALLOC(1, &search->floors, error));
    return tn_evaluator_new(space, &search->evaluator, error);
}

void tn_chunk_search_free(tn_chunk_search *search) {
    tn_evaluator_free(search->evaluator);
    tn_archive_free(&search->known);
    tn_free(search->axes);
    tn_free(search->floors);
    tn_free(search->candidate);
    tn_free(search->design);
    *search = (tn_chunk_search){0};
}

/* A bound comes after those that are nowhere greater; ids settle what is equal. */
static int by_bound(const void *a, const void *b) {
    const tn_point *x = &((const tn_chunk_candidate *)a)->bound, *y = &((const tn_chunk_candidate *)b)->bound;
    for (size_t k = 0; k < TN_OBJECTIVES_MOST; k++)
        if (x->value[k] != y->value[k]) return x->value[k] < y->value[k] ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void sort(tn_chunk_candidate *candidate, size_t count) {
    if (count) qsort(candidate, count, sizeof *candidate, by_bound);
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

static bool is_refused(const chunk_run *run, const tn_point *bound) {
    return tn_archive_refuses(&run->found->front, bound) || tn_archive_refuses(&run->search->known, bound);
}

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

/* ---- each design by itself ---- */

typedef tn_status bound_evaluation(tn_evaluator *evaluator, uint64_t outer, uint64_t inner,
                                   tn_evaluation *evaluation, uint32_t *cause, bool *exact, tn_error *error);

/* Whether a closer bound leaves the design a chance: it fits, and nothing refuses it. */
static tn_status has_chance(chunk_run *run, bound_evaluation *evaluate, const tn_chunk_candidate *candidate,
                            tn_point *bound, bool *has) {
    const uint64_t id = candidate->bound.id; /* which *bound may be of */
    tn_evaluation evaluation;
    uint32_t cause;
    bool exact;
    TN_TRY(evaluate(run->search->evaluator, run->outer, candidate->inner, &evaluation, &cause, &exact,
                    run->error));
    *has = cause == TN_CAUSE_NONE;
    if (!*has) return TN_OK;
    tn_space_point(run->search->space, &evaluation, id, bound);
    *has = !is_refused(run, bound);
    return TN_OK;
}

static tn_status add(tn_chunk_candidate **list, size_t *count, size_t *capacity,
                     const tn_chunk_candidate *candidate, tn_error *error) {
    TN_TRY(TN_GROW(list, capacity, *count + 1, error));
    (*list)[(*count)++] = *candidate;
    return TN_OK;
}

static tn_status judge_design(chunk_run *run, uint64_t inner) {
    tn_chunk_search *search = run->search;
    tn_evaluation evaluation;
    tn_chunk_candidate design = {.inner = inner};
    uint32_t cause;
    bool exact;
    TN_TRY(tn_evaluate_bound(search->evaluator, run->outer, inner, &evaluation, &cause, &exact, run->error));
    run->found->count[cause]++;
    if (cause != TN_CAUSE_NONE && cause != TN_CAUSE_UNDEFINED) return TN_OK;
    const uint64_t id = tn_space_id(search->space, run->outer, inner);
    if (cause == TN_CAUSE_UNDEFINED)
        return tn_outcome_add_undefined(run->found, tn_evaluator_undefined(search->evaluator), 1, id,
                                        run->error);
    tn_space_point(search->space, &evaluation, id, &design.bound);
    if (exact) {
        if (run->keep) TN_TRY(run->keep(run->target, id, &evaluation, run->error));
        return tn_archive_offer(&run->found->front, &design.bound, run->error);
    }
    if (run->keep) return lay(run, inner, id);
    if (tn_archive_refuses(&search->known, &design.bound)) return TN_OK;
    return add(&search->candidate, &search->candidates, &search->capacity, &design, run->error);
}

/* By bounds: neighbours then are of one parallelism and share what is found for it. */
static tn_status run_designs(chunk_run *run, const tn_chunk *chunk) {
    tn_chunk_search *search = run->search;
    search->candidates = 0;
    for (uint64_t inner = chunk->first; inner < chunk->first + chunk->inners; inner++)
        TN_TRY(judge_design(run, inner));
    sort(search->candidate, search->candidates);
    for (size_t i = 0; i < search->candidates; i++) {
        const tn_chunk_candidate *next = &search->candidate[i];
        tn_point bound;
        bool has;
        if (tn_archive_refuses(&run->found->front, &next->bound)) continue;
        TN_TRY(has_chance(run, tn_evaluate_close_bound, next, &bound, &has));
        if (has) TN_TRY(lay(run, next->inner, next->bound.id));
    }
    return TN_OK;
}

/* ---- sets of designs ---- */

/* Designs of a set that has no bound, each by its price. */
static tn_status judge_each(chunk_run *run, uint64_t work) {
    const tn_place_axes *axes = run->search->axes;
    for (uint64_t kind = 0; kind < axes->kind_count; kind++)
        for (uint64_t place = 0; place < axes->place_count; place++)
            TN_TRY(judge_design(run, tn_place_axes_inner(axes, run->search->space, work, kind, place)));
    return TN_OK;
}

/* The bound of a set, and the set among the candidates where nothing refuses it. */
static tn_status judge_set(chunk_run *run, uint64_t work) {
    tn_chunk_search *search = run->search;
    const tn_place_axes *axes = search->axes;
    tn_evaluation evaluation;
    tn_chunk_candidate set = {.inner = tn_place_axes_inner(axes, search->space, work, 0, 0), .work = work};
    uint32_t cause;
    bool exact;
    TN_TRY(tn_evaluate_places_bound(search->evaluator, run->outer, set.inner, &axes->any, false, &evaluation,
                                    &cause, &exact, run->error));
    if (exact) return judge_each(run, work);
    run->found->count[cause] += axes->designs;
    if (cause != TN_CAUSE_NONE && cause != TN_CAUSE_UNDEFINED) return TN_OK;
    const uint64_t id = tn_space_id(search->space, run->outer, set.inner);
    if (cause == TN_CAUSE_UNDEFINED)
        return tn_outcome_add_undefined(run->found, tn_evaluator_undefined(search->evaluator), axes->designs,
                                        id, run->error);
    tn_space_point(search->space, &evaluation, id, &set.bound);
    if (is_refused(run, &set.bound)) return TN_OK;
    return add(&search->candidate, &search->candidates, &search->capacity, &set, run->error);
}

/* Whether the design's memories leave it a chance, with the rest as all designs of its kind have it at least. */
static tn_status has_room(chunk_run *run, const tn_chunk_candidate *design, const tn_evaluation *least,
                          bool *has) {
    tn_evaluation evaluation;
    tn_point bound;
    TN_TRY(tn_evaluate_place(run->search->evaluator, design->inner, least, &evaluation, has, run->error));
    if (!*has) return TN_OK;
    tn_space_point(run->search->space, &evaluation, design->bound.id, &bound);
    *has = !is_refused(run, &bound);
    return TN_OK;
}

/* The designs of a set with one kind of places whose bounds nothing refuses; *least: a bound of all of these. */
static tn_status list_designs(chunk_run *run, uint64_t work, uint64_t kind, const tn_evaluation *least) {
    tn_chunk_search *search = run->search;
    const tn_place_axes *axes = search->axes;
    search->designs = 0;
    for (uint64_t place = 0; place < axes->place_count; place++) {
        tn_chunk_candidate design = {.inner = tn_place_axes_inner(axes, search->space, work, kind, place)};
        tn_evaluation evaluation;
        uint32_t cause;
        bool exact, has;
        design.bound.id = tn_space_id(search->space, run->outer, design.inner);
        TN_TRY(has_room(run, &design, least, &has));
        if (!has) continue;
        if (axes->of_kind[kind].searched) tn_evaluator_take_build(search->evaluator, design.inner);
        if (axes->of_kind[kind].searched &&
            tn_place_repeats(search->space, tn_evaluator_build(search->evaluator)))
            continue;
        TN_TRY(tn_evaluate_bound(search->evaluator, run->outer, design.inner, &evaluation, &cause, &exact,
                                 run->error));
        if (cause != TN_CAUSE_NONE) continue;
        tn_space_point(search->space, &evaluation, design.bound.id, &design.bound);
        if (!is_refused(run, &design.bound))
            TN_TRY(add(&search->design, &search->designs, &search->design_capacity, &design, run->error));
    }
    return TN_OK;
}

/* Whether every closer bound leaves the design a chance. */
static tn_status may_be_laid(chunk_run *run, const tn_chunk_candidate *design, bool *may) {
    static bound_evaluation *const closer[] = {tn_evaluate_close_bound, tn_evaluate_work_bound};
    tn_point bound;
    *may = !is_refused(run, &design->bound);
    for (size_t i = 0; i < sizeof closer / sizeof *closer && *may; i++)
        TN_TRY(has_chance(run, closer[i], design, &bound, may));
    return TN_OK;
}

/* They do the same work, so a closer bound costs one search for all of them. Those of the least bounds first: what is laid
 * refuses most of the others before any closer bound is asked of them. */
static tn_status lay_designs(chunk_run *run) {
    tn_chunk_search *search = run->search;
    sort(search->design, search->designs);
    for (size_t i = 0; i < search->designs; i++) {
        const tn_chunk_candidate *design = &search->design[i];
        bool may;
        TN_TRY(may_be_laid(run, design, &may));
        if (may) TN_TRY(lay(run, design->inner, design->bound.id));
    }
    return TN_OK;
}

/* Whether what all designs of a set with one kind of places take at least leaves one of them a chance. */
static tn_status may_pay(chunk_run *run, uint64_t work, uint64_t kind, bool closely,
                         tn_evaluation *evaluation, bool *may) {
    tn_chunk_search *search = run->search;
    const tn_place_axes *axes = search->axes;
    const uint64_t inner = tn_place_axes_inner(axes, search->space, work, kind, 0);
    tn_point bound;
    uint32_t cause;
    bool exact;
    TN_TRY(tn_evaluate_places_bound(search->evaluator, run->outer, inner, &axes->of_kind[kind], closely,
                                    evaluation, &cause, &exact, run->error));
    *may = cause == TN_CAUSE_NONE;
    if (!*may) return TN_OK;
    tn_space_point(search->space, evaluation, tn_space_id(search->space, run->outer, inner), &bound);
    *may = !is_refused(run, &bound);
    return TN_OK;
}

static tn_status open_set(chunk_run *run, const tn_chunk_candidate *set) {
    const tn_place_axes *axes = run->search->axes;
    for (uint64_t kind = 0; kind < axes->kind_count; kind++) {
        tn_evaluation least;
        bool may = true;
        if (axes->kind_count > 1) TN_TRY(may_pay(run, set->work, kind, false, &least, &may));
        if (may) TN_TRY(may_pay(run, set->work, kind, true, &least, &may));
        if (!may) continue;
        TN_TRY(list_designs(run, set->work, kind, &least));
        TN_TRY(lay_designs(run));
    }
    return TN_OK;
}

static tn_status run_sets(chunk_run *run) {
    tn_chunk_search *search = run->search;
    search->candidates = 0;
    for (uint64_t work = 0; work < search->axes->work_count; work++) TN_TRY(judge_set(run, work));
    sort(search->candidate, search->candidates);
    for (size_t i = 0; i < search->candidates; i++)
        if (!is_refused(run, &search->candidate[i].bound)) TN_TRY(open_set(run, &search->candidate[i]));
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

/* Whether hardware is generated may differ within a set. */
static bool asks_obstacle(const tn_space *space) {
    bool asks = false;
    for (size_t i = 0; i < space->objectives; i++) asks |= tn_quantity_is_obstacle(space->objective[i]);
    return asks;
}

tn_status tn_chunk_search_run(tn_chunk_search *search, const tn_chunk *chunk, tn_chunk_keep *keep,
                              void *target, tn_outcome *found, tn_error *error) {
    tn_evaluator *evaluator = search->evaluator;
    chunk_run run = {search, chunk->outer, keep, target, found, error};
    const bool sets = !keep && !search->counts && tn_evaluator_is_bounded(evaluator) &&
                      tn_space_is_settled(search->space) && !asks_obstacle(search->space);
    for (; run.outer < chunk->outer + chunk->outers; run.outer++) {
        uint32_t floor = sets ? tn_kernel_floor_recall(search->floors, evaluator, run.outer) : TN_CAUSE_NONE;
        if (floor != TN_CAUSE_NONE) {
            found->count[floor] += chunk->inners;
            continue;
        }
        if (!evaluator->has_outer || evaluator->outer != run.outer)
            TN_TRY(tn_evaluator_load_outer(evaluator, run.outer, error));
        if (evaluator->outer_cause != TN_CAUSE_NONE) {
            TN_TRY(count_all(&run, chunk));
        } else if (sets && (floor = tn_kernel_floor_find(search->floors, evaluator)) != TN_CAUSE_NONE) {
            found->count[floor] += chunk->inners;
        } else if (sets) {
            tn_place_axes_of(search->space, &evaluator->base_build, search->axes);
            TN_TRY(run_sets(&run));
        } else {
            TN_TRY(run_designs(&run, chunk));
        }
    }
    found->evaluated = found->evaluated_now = chunk->designs;
    return TN_OK;
}
