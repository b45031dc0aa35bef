#include "results/possible.h"

#include "base/interrupt.h"
#include "base/threads.h"
#include "results/possible_study.h"

#include <stdlib.h>

const double tn_possible_least = 0.05;

static int by_id(const void *a, const void *b) {
    const tn_possible *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static tn_status list_possible(const tn_possible_study *study, tn_arena *arena, tn_possible_list *possible,
                               tn_error *error) {
    TN_TRY(TN_NEW(arena, study->contested_designs, &possible->item, error));
    for (size_t i = 0; i < study->contested_designs; i++) {
        const tn_contested_design *own = &study->contested_design[i];
        const bool on_front = own->number < study->members;
        if (!on_front && !tn_is_likely(&own->held)) continue;
        possible->item[possible->count++] =
            (tn_possible){.id = own->design.id,
                          .probability = (double)tn_draw_set_count(&own->held) / TN_SETTLED_DRAWS,
                          .on_front = on_front,
                          .evaluation = on_front ? study->evaluation[own->number]
                                                 : study->priced.evaluation[own->number - study->members]};
    }
    possible->least_doubt = study->neighbours.least_doubt;
    if (possible->count) qsort(possible->item, possible->count, sizeof *possible->item, by_id);
    return TN_OK;
}

static tn_status begin_front(tn_possible_study *study, tn_arena *arena, tn_error *error) {
    TN_TRY(TN_NEW(arena, study->members, &study->member, error));
    for (size_t i = 0; i < study->members; i++) {
        study->member[i] =
            (tn_learned_rival){.id = study->point[i].id,
                               .combination = tn_learned_combination(&study->learned, study->point[i].id)};
        tn_rival_costs(&study->point[i], study->space->objectives, study->accuracy, study->member[i].cost);
    }
    return tn_rivals_make(&study->learned, study->member, study->members, study->space->objectives, arena,
                          &study->front, error);
}

static tn_status look(tn_possible_study *study, tn_arena *arena, tn_possible_list *possible,
                      tn_error *error) {
    TN_TRY(tn_learned_find(study->space, arena, &study->learned, error));
    if (study->learned.combinations == 0) return TN_OK;
    TN_TRY(begin_front(study, arena, error));
    TN_TRY(tn_front_neighbours_find(&study->learned, study->point, study->members, tn_possible_least,
                                    study->neighbours_most, arena, &study->neighbours, error));
    TN_TRY(tn_possible_workers_begin(study, error));
    TN_TRY(tn_possible_price_likely(study, error));
    TN_TRY(tn_possible_settle(study, arena, error));
    return list_possible(study, arena, possible, error);
}

tn_status tn_possible_designs(const tn_space *space, const tn_point *front, const tn_evaluation *evaluation,
                              size_t front_count, size_t most, unsigned threads, tn_arena *arena,
                              tn_possible_list *possible, tn_error *error) {
    *possible = (tn_possible_list){0};
    if (front_count == 0 || space->choices.is_vast || space->accuracy_table.rows == 0) return TN_OK;
    tn_possible_study *study; /* large */
    TN_TRY(TN_NEW(arena, 1, &study, error));
    *study = (tn_possible_study){.space = space,
                                 .accuracy = tn_accuracy_objective(space),
                                 .threads = tn_thread_count(threads),
                                 .point = front,
                                 .evaluation = evaluation,
                                 .members = front_count,
                                 .neighbours_most = most};
    if (study->accuracy == space->objectives) return TN_OK;
    if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted");
    tn_status status = look(study, arena, possible, error);
    tn_possible_workers_free(study);
    return status;
}
