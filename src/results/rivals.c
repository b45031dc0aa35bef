#include "results/rivals.h"

#include "front/knee.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rivals of one combination, by the first of their costs, rising. */
typedef struct tn_rival_list {
    size_t combination, begin, end;
    double least[TN_OBJECTIVES_MOST];
} rival_list;

/* Draws in which those of a list are ahead of designs of the combination at hand. */
typedef struct tn_rival_lead {
    bool is_known;
    size_t count;
    tn_draw_set ahead;
} rival_lead;

void tn_rival_costs(const tn_point *point, size_t objectives, size_t accuracy, double *cost) {
    memcpy(cost, point->value, objectives * sizeof *cost);
    cost[accuracy] = 0;
}

/* ---- lists ---- */

static int by_costs(const void *a, const void *b) {
    const tn_learned_rival *x = a, *y = b;
    if (x->combination != y->combination) return x->combination < y->combination ? -1 : 1;
    for (size_t k = 0; k < TN_OBJECTIVES_MOST; k++)
        if (x->cost[k] != y->cost[k]) return x->cost[k] < y->cost[k] ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* What dominates one comes before it in this order, with equal costs the lower id; so those that are kept decide. */
static size_t keep_best(tn_learned_rival *rival, size_t count, size_t objectives) {
    size_t kept = 0, begin = 0;
    for (size_t i = 0; i < count; i++) {
        bool beaten = false;
        if (kept > 0 && rival[kept - 1].combination != rival[i].combination) begin = kept;
        for (size_t k = begin; k < kept && !beaten; k++)
            beaten = tn_no_dearer(rival[k].cost, rival[i].cost, objectives);
        if (!beaten) rival[kept++] = rival[i];
    }
    return kept;
}

/* A list for each combination, in the order of accuracy. */
static tn_status make_lists(tn_rivals *rivals, size_t count, tn_arena *arena, tn_error *error) {
    const size_t combinations = rivals->learned->combinations;
    size_t *begin, *end;
    TN_TRY(TN_NEW(arena, combinations, &begin, error));
    TN_TRY(TN_NEW(arena, combinations, &end, error));
    for (size_t i = 0; i < count; i++) {
        const size_t place = rivals->learned->place[rivals->rival[i].combination];
        if (end[place] == 0) {
            begin[place] = i;
            rivals->lists++;
        }
        end[place] = i + 1;
    }
    TN_TRY(TN_NEW(arena, rivals->lists, &rivals->list, error));
    for (size_t place = 0, l = 0; place < combinations; place++) {
        if (end[place] == 0) continue;
        rival_list *list = &rivals->list[l++];
        *list = (rival_list){rivals->rival[begin[place]].combination, begin[place], end[place], {0}};
        for (size_t k = 0; k < rivals->objectives; k++) {
            list->least[k] = INFINITY;
            for (size_t i = list->begin; i < list->end; i++)
                list->least[k] = fmin(list->least[k], rivals->rival[i].cost[k]);
        }
    }
    return TN_OK;
}

tn_status tn_rivals_make(const tn_learned *learned, const tn_learned_rival *rival, size_t count,
                         size_t objectives, tn_arena *arena, tn_rivals *rivals, tn_error *error) {
    tn_learned_rival *own;
    *rivals = (tn_rivals){.learned = learned, .objectives = objectives};
    TN_TRY(TN_NEW(arena, count, &own, error));
    if (count) memcpy(own, rival, count * sizeof *own);
    if (count) qsort(own, count, sizeof *own, by_costs);
    rivals->rival = own;
    return make_lists(rivals, keep_best(own, count, objectives), arena, error);
}

/* ---- views ---- */

tn_status tn_rival_view_take(tn_rival_view *view, const tn_rivals *rivals, bool ties, tn_error *error) {
    TN_TRY(TN_GROW(&view->lead, &view->capacity, rivals->lists, error));
    view->rivals = rivals;
    view->ties = ties;
    view->combination = SIZE_MAX;
    return TN_OK;
}

void tn_rival_view_free(tn_rival_view *view) {
    tn_free(view->lead);
    *view = (tn_rival_view){0};
}

static void look_from(tn_rival_view *view, size_t combination) {
    if (view->combination == combination) return;
    view->combination = combination;
    for (size_t l = 0; l < view->rivals->lists; l++) view->lead[l].is_known = false;
}

static const rival_lead *find_lead(tn_rival_view *view, size_t l) {
    rival_lead *lead = &view->lead[l];
    if (lead->is_known) return lead;
    lead->ahead = tn_learned_ahead(view->rivals->learned, view->rivals->list[l].combination,
                                   view->combination, view->ties);
    lead->count = tn_draw_set_count(&lead->ahead);
    lead->is_known = true;
    return lead;
}

/* The first rival of the list, from that place on, that is nowhere dearer; list->end: none. */
static size_t find_no_dearer(const tn_rivals *rivals, const rival_list *list, size_t begin,
                             const double *cost) {
    if (!tn_no_dearer(list->least, cost, rivals->objectives)) return list->end;
    for (size_t i = begin; i < list->end && rivals->rival[i].cost[0] <= cost[0]; i++)
        if (tn_no_dearer(rivals->rival[i].cost, cost, rivals->objectives)) return i;
    return list->end;
}

/* Whether one of its like is nowhere dearer, and somewhere cheaper or of a lower id. */
static bool is_beaten(const tn_rivals *rivals, const rival_list *list, uint64_t id, const double *cost) {
    size_t i = list->begin;
    while ((i = find_no_dearer(rivals, list, i, cost)) < list->end) {
        const tn_learned_rival *rival = &rivals->rival[i++];
        if (rival->id < id || !tn_no_dearer(cost, rival->cost, rivals->objectives)) return true;
    }
    return false;
}

void tn_rivals_narrow(tn_rival_view *view, size_t combination, uint64_t id, const double *cost,
                      tn_draw_set *draws) {
    const tn_rivals *rivals = view->rivals;
    look_from(view, combination);
    for (size_t l = 0; l < rivals->lists && !tn_draw_set_is_empty(draws); l++) {
        const rival_list *list = &rivals->list[l];
        const rival_lead *lead = &view->lead[l];
        if (list->combination == combination) {
            if (is_beaten(rivals, list, id, cost)) *draws = (tn_draw_set){{0}};
            continue;
        }
        if (lead->is_known && !tn_draw_set_meets(&lead->ahead, draws)) continue;
        if (find_no_dearer(rivals, list, list->begin, cost) == list->end) continue;
        tn_draw_set_remove(draws, &find_lead(view, l)->ahead);
    }
}

bool tn_rivals_refuse(tn_rival_view *view, size_t combination, const double *cost, double most,
                      tn_draw_set *draws) {
    const tn_rivals *rivals = view->rivals;
    look_from(view, combination);
    for (size_t l = 0; l < rivals->lists && !tn_draw_set_is_empty(draws); l++) {
        const rival_list *list = &rivals->list[l];
        const rival_lead *lead = &view->lead[l];
        const bool is_like = list->combination == combination;
        if (!is_like && lead->is_known && (double)lead->count <= most &&
            !tn_draw_set_meets(&lead->ahead, draws))
            continue;
        if (find_no_dearer(rivals, list, list->begin, cost) == list->end) continue;
        if (is_like || (double)find_lead(view, l)->count > most) return true;
        tn_draw_set_remove(draws, &lead->ahead);
    }
    return tn_draw_set_is_empty(draws);
}
