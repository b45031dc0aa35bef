#include "results/contested.h"

#include <stdlib.h>

typedef struct tn_contested_list {
    size_t combination, begin, end;
    tn_draw_set held; /* by any of them */
    double most[TN_OBJECTIVES_MOST];
} contested_list;

typedef struct tn_contest_lead {
    bool is_known;
    tn_draw_set ahead;
} contest_lead;

static int by_costs(const void *a, const void *b) {
    const tn_learned_rival *x = &((const tn_contested_design *)a)->design,
                           *y = &((const tn_contested_design *)b)->design;
    if (x->combination != y->combination) return x->combination < y->combination ? -1 : 1;
    for (size_t k = 0; k < TN_OBJECTIVES_MOST; k++)
        if (x->cost[k] != y->cost[k]) return x->cost[k] < y->cost[k] ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

tn_status tn_contested_make(const tn_learned *learned, tn_contested_design *design, size_t count,
                            size_t objectives, tn_arena *arena, tn_contested *contested, tn_error *error) {
    *contested = (tn_contested){.learned = learned, .objectives = objectives, .design = design};
    if (count) qsort(design, count, sizeof *design, by_costs);
    for (size_t i = 0; i < count; i++)
        contested->lists += i == 0 || design[i].design.combination != design[i - 1].design.combination;
    TN_TRY(TN_NEW(arena, contested->lists, &contested->list, error));
    for (size_t i = 0, l = 0; i < count; l++) {
        contested_list *list = &contested->list[l];
        *list = (contested_list){.combination = design[i].design.combination, .begin = i};
        for (size_t k = 0; k < objectives; k++) list->most[k] = design[i].design.cost[k];
        for (; i < count && design[i].design.combination == list->combination; i++)
            for (size_t k = 0; k < objectives; k++)
                if (design[i].design.cost[k] > list->most[k]) list->most[k] = design[i].design.cost[k];
        list->end = i;
    }
    tn_contested_renew(contested);
    return TN_OK;
}

void tn_contested_renew(tn_contested *contested) {
    for (size_t l = 0; l < contested->lists; l++) {
        contested_list *list = &contested->list[l];
        list->held = (tn_draw_set){{0}};
        for (size_t i = list->begin; i < list->end; i++)
            tn_draw_set_add(&list->held, &contested->design[i].held);
    }
}

void tn_contest_free(tn_contest *contest) {
    tn_free(contest->lead);
    *contest = (tn_contest){0};
}

static tn_status look_from(tn_contest *contest, const tn_contested *contested, size_t combination,
                           tn_error *error) {
    if (contest->combination == combination + 1) return TN_OK;
    TN_TRY(TN_GROW(&contest->lead, &contest->capacity, contested->lists, error));
    contest->combination = combination + 1;
    for (size_t l = 0; l < contested->lists; l++) contest->lead[l].is_known = false;
    return TN_OK;
}

static bool contests_list(const tn_contested *contested, const contested_list *list, const double *cost,
                          const tn_draw_set *draws) {
    for (size_t i = list->end; i-- > list->begin && contested->design[i].design.cost[0] >= cost[0];)
        if (tn_no_dearer(cost, contested->design[i].design.cost, contested->objectives) &&
            tn_draw_set_meets(draws, &contested->design[i].held))
            return true;
    return false;
}

tn_status tn_contests(tn_contest *contest, const tn_contested *contested, size_t combination,
                      const double *cost, const tn_draw_set *draws, bool *is, tn_error *error) {
    TN_TRY(look_from(contest, contested, combination, error));
    *is = false;
    for (size_t l = 0; l < contested->lists && !*is; l++) {
        const contested_list *list = &contested->list[l];
        contest_lead *lead = &contest->lead[l];
        if (list->combination == combination || !tn_draw_set_meets(draws, &list->held) ||
            !tn_no_dearer(cost, list->most, contested->objectives))
            continue;
        if (!lead->is_known) {
            lead->ahead = tn_learned_ahead(contested->learned, combination, list->combination, true);
            lead->is_known = true;
        }
        const tn_draw_set ahead = tn_draw_set_both(draws, &lead->ahead);
        if (tn_draw_set_meets(&ahead, &list->held)) *is = contests_list(contested, list, cost, &ahead);
    }
    return TN_OK;
}
