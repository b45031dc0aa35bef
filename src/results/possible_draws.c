#include "results/possible_study.h"

#include "base/checked.h"

enum { AT_ONCE = 64 };

static void narrow(tn_possible_worker *worker, tn_possible_candidate *candidate) {
    tn_rivals_narrow(&worker->known, candidate->design.combination, candidate->design.id,
                     candidate->design.cost, &candidate->open);
}

/* ---- what is contested ---- */

static tn_status narrow_contested(tn_possible_study *study, tn_possible_worker *worker, size_t index,
                                  tn_error *error) {
    tn_contested_design *own = &study->contested_design[index];
    (void)error;
    tn_rivals_narrow(&worker->known, own->design.combination, own->design.id, own->design.cost, &own->held);
    return TN_OK;
}

/* Narrows what is contested by what all threads hold others against. */
static tn_status narrow_all_contested(tn_possible_study *study, tn_error *error) {
    return tn_possible_run(study, narrow_contested, 0, study->contested_designs, AT_ONCE, error);
}

/* The front, and what is priced and likely to be on it. */
static tn_status list_contested(tn_possible_study *study, tn_arena *arena, tn_error *error) {
    const size_t members = study->members, all = members + study->priced.count;
    tn_contested_design *design;
    TN_TRY(TN_NEW(arena, all, &design, error));
    for (size_t i = 0; i < all; i++)
        design[i] =
            (tn_contested_design){.design = i < members ? study->member[i] : study->priced.rival[i - members],
                                  .held = tn_draw_set_all,
                                  .number = i};
    study->contested_design = design;
    study->contested_designs = all;
    TN_TRY(tn_possible_view_known(study, &study->front, true, error));
    TN_TRY(narrow_all_contested(study, error));
    TN_TRY(tn_possible_renew_known(study, 0, true, error));
    TN_TRY(narrow_all_contested(study, error));
    study->contested_designs = 0;
    for (size_t i = 0; i < all; i++)
        if (i < members || tn_is_likely(&design[i].held)) design[study->contested_designs++] = design[i];
    return tn_contested_make(&study->learned, design, study->contested_designs, study->space->objectives,
                             arena, &study->contested, error);
}

/* ---- what contests it ---- */

static tn_status narrow_candidate(tn_possible_study *study, tn_possible_worker *worker, size_t index,
                                  tn_error *error) {
    (void)error;
    narrow(worker, &study->candidates.item[index]);
    return TN_OK;
}

/* A candidate that contests nothing is asked for no more. */
static tn_status judge(tn_possible_study *study, tn_possible_worker *worker, tn_possible_candidate *candidate,
                       tn_error *error) {
    bool is;
    if (tn_draw_set_is_empty(&candidate->open)) return TN_OK;
    TN_TRY(tn_contests(&worker->contest, &study->contested, candidate->design.combination,
                       candidate->design.cost, &candidate->open, &is, error));
    if (!is) candidate->open = (tn_draw_set){{0}};
    return TN_OK;
}

static tn_status judge_candidate(tn_possible_study *study, tn_possible_worker *worker, size_t index,
                                 tn_error *error) {
    return judge(study, worker, &study->candidates.item[index], error);
}

static tn_status judge_and_price(tn_possible_study *study, tn_possible_worker *worker,
                                 tn_possible_candidate *candidate, tn_error *error) {
    TN_TRY(tn_possible_check_interrupt(error));
    narrow(worker, candidate);
    TN_TRY(judge(study, worker, candidate, error));
    if (tn_draw_set_is_empty(&candidate->open)) return TN_OK;
    return tn_possible_price(study, worker, candidate, error);
}

static tn_status price_contesting(tn_possible_study *study, tn_possible_worker *worker, size_t index,
                                  tn_error *error) {
    const tn_possible_group *group = &study->group[index];
    tn_archive_clear(&worker->alike); /* of another step, perhaps of another combination */
    for (size_t i = group->begin; i < group->end; i++)
        TN_TRY(judge_and_price(study, worker, &study->candidates.item[i], error));
    return TN_OK;
}

/* Groups with a candidate on which something depends: no more than there were before. */
static void list_groups(tn_possible_study *study) {
    const tn_candidates *all = &study->candidates;
    study->groups = 0;
    for (size_t i = 0; i < all->count;) {
        const tn_possible_candidate *first = &all->item[i];
        tn_possible_group group = {.begin = i};
        bool any = false;
        for (; i < all->count && all->item[i].outer == first->outer &&
               all->item[i].design.combination == first->design.combination;
             i++)
            any = any || !tn_draw_set_is_empty(&all->item[i].open);
        group.end = i;
        if (any) study->group[study->groups++] = group;
    }
}

/* Draws are held until every design that may take them is priced. */
tn_status tn_possible_settle(tn_possible_study *study, tn_arena *arena, tn_error *error) {
    const size_t likely = study->priced.count, candidates = study->candidates.count;
    TN_TRY(tn_possible_renew_known(study, 0, false, error));
    TN_TRY(tn_possible_run(study, narrow_candidate, 0, candidates, AT_ONCE, error));
    TN_TRY(list_contested(study, arena, error));
    TN_TRY(tn_possible_run(study, judge_candidate, 0, candidates, AT_ONCE, error));
    list_groups(study);
    for (size_t begin = 0, end; begin < study->groups; begin = end) {
        const size_t known = study->priced.count;
        end = tn_least(begin + tn_possible_groups_at_once(study), study->groups);
        TN_TRY(tn_possible_renew_known(study, likely, false, error));
        TN_TRY(tn_possible_run(study, price_contesting, begin, end, 1, error));
        TN_TRY(tn_possible_gather(study, error));
        TN_TRY(tn_possible_renew_known(study, known, true, error));
        TN_TRY(narrow_all_contested(study, error));
        tn_contested_renew(&study->contested);
    }
    return TN_OK;
}
