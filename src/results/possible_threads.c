#include "base/interrupt.h"
#include "results/possible_study.h"

#include <omp.h>

tn_status tn_possible_workers_begin(tn_possible_study *study, tn_error *error) {
    TN_TRY(TN_ALLOC((size_t)study->threads, &study->worker, error));
    for (int t = 0; t < study->threads; t++) {
        tn_possible_worker *worker = &study->worker[t];
        worker->combination = SIZE_MAX;
        tn_archive_begin(&worker->alike, study->space->objectives);
        TN_TRY(tn_rival_view_take(&worker->front, &study->front, false, error));
        TN_TRY(tn_evaluator_new(study->space, &worker->evaluator, error));
    }
    return TN_OK;
}

static void free_priced(tn_priced_designs *list) {
    tn_free(list->rival);
    tn_free(list->evaluation);
}

void tn_possible_workers_free(tn_possible_study *study) {
    for (int t = 0; study->worker && t < study->threads; t++) {
        tn_possible_worker *worker = &study->worker[t];
        tn_evaluator_free(worker->evaluator);
        tn_rival_view_free(&worker->front);
        tn_rival_view_free(&worker->known);
        tn_contest_free(&worker->contest);
        tn_archive_free(&worker->alike);
        free_priced(&worker->priced);
        tn_free(worker->likely.item);
        tn_free(worker->candidates.item);
    }
    tn_free(study->worker);
    tn_free(study->candidates.item);
    tn_free(study->group);
    tn_arena_free(&study->known_arena);
    free_priced(&study->priced);
}

tn_status tn_possible_check_interrupt(tn_error *error) {
    tn_interrupt_release();
    const bool stops = tn_interrupted();
    tn_interrupt_hold();
    return stops ? tn_fail(error, TN_INTERRUPTED, "interrupted") : TN_OK;
}

static void work(tn_possible_study *study, tn_possible_task *task, size_t begin, size_t end, size_t at_once) {
    tn_possible_worker *worker = &study->worker[omp_get_thread_num()];
#pragma omp for schedule(dynamic, 1)
    for (size_t block = 0; block < (end - begin + at_once - 1) / at_once; block++) {
        tn_error error = {0};
        tn_status status;
#pragma omp atomic read
        status = study->status;
        for (size_t i = begin + block * at_once;
             status == TN_OK && i < begin + (block + 1) * at_once && i < end; i++) {
            status = tn_possible_check_interrupt(&error);
            if (status == TN_OK) status = task(study, worker, i, &error);
        }
#pragma omp critical(tenfold_possible)
        if (status != TN_OK && study->status == TN_OK) {
            study->error = error;
#pragma omp atomic write
            study->status = status;
        }
    }
}

tn_status tn_possible_run(tn_possible_study *study, tn_possible_task *task, size_t begin, size_t end,
                          size_t at_once, tn_error *error) {
#pragma omp parallel num_threads(study->threads)
    {
        tn_interrupt_hold(); /* heard by tn_possible_check_interrupt */
        work(study, task, begin, end, at_once);
        tn_interrupt_release();
    }
    if (study->status != TN_OK && error) *error = study->error;
    return study->status;
}

static tn_status gather_priced(tn_priced_designs *all, tn_priced_designs *own, tn_error *error) {
    const size_t count = all->count + own->count;
    TN_TRY(TN_GROW(&all->rival, &all->rival_capacity, count, error));
    TN_TRY(TN_GROW(&all->evaluation, &all->evaluation_capacity, count, error));
    for (size_t i = 0; i < own->count; i++) {
        all->rival[all->count] = own->rival[i];
        all->evaluation[all->count++] = own->evaluation[i];
    }
    own->count = 0;
    return TN_OK;
}

tn_status tn_possible_gather(tn_possible_study *study, tn_error *error) {
    for (int t = 0; t < study->threads; t++)
        TN_TRY(gather_priced(&study->priced, &study->worker[t].priced, error));
    return TN_OK;
}

tn_status tn_possible_view_known(tn_possible_study *study, const tn_rivals *rivals, bool ties,
                                 tn_error *error) {
    for (int t = 0; t < study->threads; t++)
        TN_TRY(tn_rival_view_take(&study->worker[t].known, rivals, ties, error));
    return TN_OK;
}

tn_status tn_possible_renew_known(tn_possible_study *study, size_t begin, bool ties, tn_error *error) {
    tn_arena_reset(&study->known_arena);
    TN_TRY(tn_rivals_make(&study->learned, study->priced.rival + begin, study->priced.count - begin,
                          study->space->objectives, &study->known_arena, &study->known, error));
    return tn_possible_view_known(study, &study->known, ties, error);
}
