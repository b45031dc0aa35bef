#include "results/possible.h"
#include "results/possible_study.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_AT_ONCE = 4 }; /* of one combination, mostly */

bool tn_is_likely(const tn_draw_set *draws) {
    return (double)tn_draw_set_count(draws) / TN_SETTLED_DRAWS >= tn_possible_least;
}

/* ---- one design ---- */

/* A design that a member of the front almost surely dominates is on no front, and none is judged by it; nor does one matter that
 * is dominated in every draw. */
static bool is_refused(tn_possible_worker *worker, const tn_learned_rival *design, tn_draw_set *open) {
    return tn_rivals_refuse(&worker->front, design->combination, design->cost,
                            (1 - tn_possible_least) * TN_SETTLED_DRAWS, open);
}

static tn_point point_of(const tn_learned_rival *design) {
    tn_point point = {.id = design->id};
    memcpy(point.value, design->cost, sizeof point.value);
    return point;
}

static tn_status keep_priced(tn_possible_worker *worker, const tn_learned_rival *design,
                             const tn_evaluation *evaluation, tn_error *error) {
    tn_priced_designs *list = &worker->priced;
    const tn_point point = point_of(design);
    tn_draw_set open = tn_draw_set_all;
    if (tn_archive_refuses(&worker->alike, &point) || is_refused(worker, design, &open)) return TN_OK;
    TN_TRY(TN_GROW(&list->rival, &list->rival_capacity, list->count + 1, error));
    TN_TRY(TN_GROW(&list->evaluation, &list->evaluation_capacity, list->count + 1, error));
    list->rival[list->count] = *design;
    list->evaluation[list->count++] = *evaluation;
    return tn_archive_offer(&worker->alike, &point, error);
}

static void set_costs(const tn_possible_study *study, const tn_evaluation *evaluation,
                      tn_learned_rival *design) {
    tn_point point;
    tn_space_point(study->space, evaluation, design->id, &point);
    tn_rival_costs(&point, study->space->objectives, study->accuracy, design->cost);
}

/* By the bound, or the close one; *left = it is not refused. One whose bound is its price becomes a priced design instead. */
static tn_status bound(const tn_possible_study *study, tn_possible_worker *worker, bool closely,
                       tn_possible_candidate *candidate, bool *left, tn_error *error) {
    tn_evaluation evaluation;
    uint64_t outer, inner;
    uint32_t cause;
    bool exact;
    *left = false;
    tn_space_split(study->space, candidate->design.id, &outer, &inner);
    TN_TRY((closely ? tn_evaluate_close_bound : tn_evaluate_bound)(worker->evaluator, outer, inner,
                                                                   &evaluation, &cause, &exact, error));
    if (cause != TN_CAUSE_NONE) return TN_OK;
    set_costs(study, &evaluation, &candidate->design);
    if (exact) return keep_priced(worker, &candidate->design, &evaluation, error);
    const tn_point point = point_of(&candidate->design);
    *left = !tn_archive_refuses(&worker->alike, &point) &&
            !is_refused(worker, &candidate->design, &candidate->open);
    return TN_OK;
}

tn_status tn_possible_price(const tn_possible_study *study, tn_possible_worker *worker,
                            tn_possible_candidate *candidate, tn_error *error) {
    tn_evaluation evaluation;
    uint64_t outer, inner;
    uint32_t cause;
    const tn_point bound = point_of(&candidate->design);
    candidate->open = (tn_draw_set){{0}};
    if (tn_archive_refuses(&worker->alike, &bound)) return TN_OK;
    tn_space_split(study->space, candidate->design.id, &outer, &inner);
    TN_TRY(tn_evaluate(worker->evaluator, outer, inner, &evaluation, &cause, error));
    if (cause != TN_CAUSE_NONE) return TN_OK;
    set_costs(study, &evaluation, &candidate->design);
    return keep_priced(worker, &candidate->design, &evaluation, error);
}

/* ---- one group ---- */

static tn_status keep(tn_candidates *list, const tn_possible_candidate *candidate, tn_error *error) {
    TN_TRY(TN_GROW(&list->item, &list->capacity, list->count + 1, error));
    list->item[list->count++] = *candidate;
    return TN_OK;
}

/* Likely ones are priced after all of their group are looked at. */
static tn_status look_at(tn_possible_study *study, tn_possible_worker *worker, size_t neighbour,
                         uint64_t outer, tn_error *error) {
    tn_possible_candidate next = {.design = {.id = study->neighbours.id[neighbour],
                                             .combination = study->neighbours.combination[neighbour]},
                                  .outer = outer,
                                  .open = tn_draw_set_all};
    bool left = true;
    TN_TRY(tn_possible_check_interrupt(error));
    for (int closely = 0; closely < 2 && left; closely++) {
        TN_TRY(bound(study, worker, closely, &next, &left, error));
        if (left)
            tn_rivals_narrow(&worker->known, next.design.combination, next.design.id, next.design.cost,
                             &next.open);
        left = left && !tn_draw_set_is_empty(&next.open);
    }
    if (!left) return TN_OK;
    return keep(tn_is_likely(&next.open) ? &worker->likely : &worker->candidates, &next, error);
}

static int compare_costs(const tn_learned_rival *a, const tn_learned_rival *b) {
    for (size_t k = 0; k < TN_OBJECTIVES_MOST; k++)
        if (a->cost[k] != b->cost[k]) return a->cost[k] < b->cost[k] ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int by_costs(const void *a, const void *b) {
    return compare_costs(&((const tn_possible_candidate *)a)->design,
                         &((const tn_possible_candidate *)b)->design);
}

/* Designs of a combination learn alike: what is priced of one of its steps tells of the others. */
static void take_combination(tn_possible_worker *worker, size_t combination) {
    if (worker->combination != combination) tn_archive_clear(&worker->alike);
    worker->combination = combination;
}

static tn_status price_group(tn_possible_study *study, tn_possible_worker *worker, size_t index,
                             tn_error *error) {
    const tn_possible_group *group = &study->group[index];
    tn_candidates *likely = &worker->likely;
    uint64_t outer, inner;
    take_combination(worker, study->neighbours.combination[group->begin]);
    likely->count = 0;
    tn_space_split(study->space, study->neighbours.id[group->begin], &outer, &inner);
    for (size_t i = group->begin; i < group->end; i++) TN_TRY(look_at(study, worker, i, outer, error));
    if (likely->count) qsort(likely->item, likely->count, sizeof *likely->item, by_costs);
    for (size_t i = 0; i < likely->count; i++) {
        TN_TRY(tn_possible_check_interrupt(error));
        TN_TRY(tn_possible_price(study, worker, &likely->item[i], error));
    }
    return TN_OK;
}

/* ---- all groups ---- */

/* Combinations of the most neighbours first, and of each its steps of the most: what is on the front in many places has the
 * cheapest designs, which leave others fewer draws. */
static int by_size(const void *a, const void *b) {
    const tn_possible_group *x = a, *y = b;
    const size_t own = x->end - x->begin, other = y->end - y->begin;
    if (x->of_combination != y->of_combination) return x->of_combination > y->of_combination ? -1 : 1;
    if (x->combination != y->combination) return x->combination < y->combination ? -1 : 1;
    if (own != other) return own > other ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Those that begin with a combination's first one. */
static void count_combination(tn_possible_group *first, size_t groups) {
    size_t count = 0, group = 0;
    for (; group < groups && first[group].combination == first->combination; group++)
        count += first[group].end - first[group].begin;
    while (group-- > 0) first[group].of_combination = count;
}

/* Neighbours come by combination, and of each by step. */
static tn_status list_groups(tn_possible_study *study, tn_error *error) {
    const tn_front_neighbours *all = &study->neighbours;
    uint64_t last = 0;
    study->groups = 0;
    for (size_t i = 0; i < all->count; i++) {
        uint64_t outer, inner;
        tn_space_split(study->space, all->id[i], &outer, &inner);
        if (i == 0 || outer != last || all->combination[i] != all->combination[i - 1]) {
            TN_TRY(TN_GROW(&study->group, &study->group_capacity, study->groups + 1, error));
            study->group[study->groups++] =
                (tn_possible_group){.begin = i, .combination = all->combination[i]};
        }
        study->group[study->groups - 1].end = i + 1;
        last = outer;
    }
    for (size_t g = 0; g < study->groups; g++)
        if (g == 0 || study->group[g].combination != study->group[g - 1].combination)
            count_combination(&study->group[g], study->groups - g);
    if (study->groups) qsort(study->group, study->groups, sizeof *study->group, by_size);
    return TN_OK;
}

static int by_step(const void *a, const void *b) {
    const tn_possible_candidate *x = a, *y = b;
    if (x->design.combination != y->design.combination)
        return x->design.combination < y->design.combination ? -1 : 1;
    if (x->outer != y->outer) return x->outer < y->outer ? -1 : 1;
    return compare_costs(&x->design, &y->design);
}

static tn_status gather_candidates(tn_possible_study *study, tn_error *error) {
    tn_candidates *all = &study->candidates;
    for (int t = 0; t < study->threads; t++) {
        tn_candidates *own = &study->worker[t].candidates;
        TN_TRY(TN_GROW(&all->item, &all->capacity, all->count + own->count, error));
        if (own->count) memcpy(all->item + all->count, own->item, own->count * sizeof *own->item);
        all->count += own->count;
        tn_free(own->item);
        *own = (tn_candidates){0};
    }
    if (all->count) qsort(all->item, all->count, sizeof *all->item, by_step);
    return TN_OK;
}

tn_status tn_possible_price_likely(tn_possible_study *study, tn_error *error) {
    TN_TRY(list_groups(study, error));
    for (size_t begin = 0, end; begin < study->groups; begin = end) {
        end = tn_least(begin + tn_possible_groups_at_once(study), study->groups);
        TN_TRY(tn_possible_renew_known(study, 0, false, error));
        TN_TRY(tn_possible_run(study, price_group, begin, end, STEPS_AT_ONCE, error));
        TN_TRY(tn_possible_gather(study, error));
    }
    return gather_candidates(study, error);
}
