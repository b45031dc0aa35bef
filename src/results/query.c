#include "results/query.h"

#include "base/memory.h"
#include "front/knee.h"
#include "results/sweep_db.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const tn_result *result;
    const tn_query *query;
    tn_arena *arena;
    tn_query_answer *answer;
    tn_candidate *design;
    size_t capacity;
} asking;

static tn_status take(void *user, uint64_t id, const double *value, tn_error *error) {
    asking *question = user;
    tn_query_answer *answer = question->answer;
    const tn_candidate found = {.id = id, .value = value};
    double *kept;
    answer->asked++;
    if (question->query->where && !tn_condition_holds(question->query->where, &found)) return TN_OK;
    TN_TRY(TN_GROW(&question->design, &question->capacity, answer->matched + 1, error));
    TN_TRY(TN_NEW(question->arena, tn_quantities_count, &kept, error));
    memcpy(kept, value, tn_quantities_count * sizeof *kept);
    question->design[answer->matched++] = (tn_candidate){.id = id, .value = kept};
    return TN_OK;
}

static tn_status take_kept(asking *question, tn_error *error) {
    tn_sweep_db *store;
    tn_sweep_options options;
    const tn_result *result = question->result;
    TN_TRY(tn_sweep_db_open_part(result->folder, result->space, &store, &options, error));
    tn_status status =
        options.keep_all
            ? tn_sweep_db_each(store, take, question, error)
            : tn_fail_at(error, TN_INPUT, (tn_position){.file = result->folder},
                         "keeps the designs of its front alone; sweep with --keep-all to ask all of them");
    tn_sweep_db_close(store);
    return status;
}

typedef struct {
    double key;
    tn_candidate design;
} keyed;

static int by_key(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    bool unknown_x = isnan(x->key), unknown_y = isnan(y->key);
    if (unknown_x != unknown_y) return unknown_x - unknown_y;
    return tn_value_order(unknown_x ? 0 : x->key, x->design.id, unknown_y ? 0 : y->key, y->design.id);
}

/* A choice of texts is ordered by the places of its values. */
static double key_of(const asking *question, const tn_candidate *design) {
    const tn_design_column *column = question->query->order;
    if (!column) return 0;
    double key = column->kind == TN_DESIGN_CHOICE && !column->has_numbers
                     ? (double)tn_candidate_digit(&question->result->space->choices, design, column->place)
                     : tn_candidate_number(&question->result->space->choices, column, design);
    return question->query->descending ? -key : key;
}

static tn_status order(asking *question, tn_error *error) {
    tn_query_answer *answer = question->answer;
    size_t count = answer->matched;
    keyed *sorted;
    TN_TRY(TN_NEW(question->arena, count, &sorted, error));
    for (size_t i = 0; i < count; i++)
        sorted[i] = (keyed){key_of(question, &question->design[i]), question->design[i]};
    qsort(sorted, count, sizeof *sorted, by_key);
    answer->count = count < question->query->most ? count : question->query->most;
    TN_TRY(TN_NEW(question->arena, answer->count, &answer->design, error));
    for (size_t i = 0; i < answer->count; i++) answer->design[i] = sorted[i].design;
    return TN_OK;
}

tn_status tn_query_run(const tn_result *result, const tn_query *query, tn_arena *arena,
                       tn_query_answer *answer, tn_error *error) {
    asking question = {.result = result, .query = query, .arena = arena, .answer = answer};
    *answer = (tn_query_answer){0};
    tn_status status = TN_OK;
    if (query->all)
        status = take_kept(&question, error);
    else
        for (size_t i = 0; status == TN_OK && i < result->front_count; i++)
            status = take(&question, result->front[i].id, result->front[i].value, error);
    if (status == TN_OK) status = order(&question, error);
    tn_free(question.design);
    return status;
}
