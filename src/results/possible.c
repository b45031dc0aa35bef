#include "results/possible.h"

#include "base/interrupt.h"
#include "front/archive.h"
#include "front/knee.h"
#include "results/settled.h"
#include "search/evaluator.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

const double tn_possible_least = 0.05;

enum { DRAWS = TN_SETTLED_DRAWS, COMBINATIONS_MOST = 20000, CANDIDATES_MOST = 4000000 };

/* A design that is looked at. */
typedef struct {
    tn_possible found;
    double value[TN_OBJECTIVES_MOST]; /* to minimise; accuracy's is not asked */
    double order;                     /* one of them */
    size_t combination;
    bool feasible;
} candidate;

typedef struct {
    const tn_space *space;
    tn_arena *arena;
    size_t accuracy;                    /* its place among the objectives */
    size_t learned[TN_AXES_MOST], axes; /* the choices that accuracy depends on */
    size_t combinations;
    uint64_t *offset; /* [combinations]: what its digits add to an id */
    double *drawn;    /* [combinations][DRAWS] */
    size_t
        *ahead; /* [combinations of the front][combinations]: draws in which the first is the more accurate */
    size_t *row; /* [combinations]: of `ahead`; SIZE_MAX: no design of the front has it */
    candidate *item;
    size_t count, front; /* the first `front` are those of the front */
    size_t next;
    tn_status status;
    tn_error error;
} study;

static uint64_t learned_offset(const study *s, uint64_t id) {
    uint64_t offset = 0;
    for (size_t k = 0; k < s->axes; k++)
        offset +=
            tn_choices_digit(&s->space->choices, id, s->learned[k]) * s->space->choices.stride[s->learned[k]];
    return offset;
}

static int by_offset(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static size_t combination_of(const study *s, uint64_t id) {
    const uint64_t offset = learned_offset(s, id),
                   *place = bsearch(&offset, s->offset, s->combinations, sizeof *s->offset, by_offset);
    return place ? (size_t)(place - s->offset) : s->combinations;
}

/* All combinations of what is learned, by their offsets, and accuracies drawn for each. */
static tn_status draw_combinations(study *s, tn_error *error) {
    const tn_choices *choices = &s->space->choices;
    size_t columns = s->space->accuracy_table.columns;
    tn_accuracy_value *value;
    s->combinations = 1;
    for (size_t i = 0; i < choices->count; i++) {
        if (!tn_accuracy_depends_on(&choices->axis[i])) continue;
        s->learned[s->axes++] = i;
        s->combinations *= choices->axis[i].count;
        if (s->combinations > COMBINATIONS_MOST) {
            s->combinations = 0;
            return TN_OK;
        }
    }
    TN_TRY(TN_NEW(s->arena, s->combinations, &s->offset, error));
    TN_TRY(TN_NEW(s->arena, s->combinations * columns, &value, error));
    TN_TRY(TN_NEW(s->arena, s->combinations * DRAWS, &s->drawn, error));
    for (size_t c = 0; c < s->combinations; c++)
        for (size_t k = 0, rest = c; k < s->axes; k++) {
            size_t values = choices->axis[s->learned[k]].count;
            s->offset[c] += rest % values * choices->stride[s->learned[k]];
            rest /= values;
        }
    qsort(s->offset, s->combinations, sizeof *s->offset, by_offset);
    for (size_t c = 0; c < s->combinations; c++) {
        size_t digit[TN_AXES_MOST];
        for (size_t i = 0; i < choices->count; i++) digit[i] = tn_choices_digit(choices, s->offset[c], i);
        tn_accuracy_table_values(&tn_space_of(s->space, s->offset[c])->accuracy_table, digit,
                                 value + c * columns);
    }
    return tn_draw_accuracies(&s->space->accuracy_table, value, s->combinations, s->drawn, s->arena, error);
}

static size_t draws_ahead(const study *s, size_t a, size_t b) {
    size_t sum = 0;
    for (size_t k = 0; k < DRAWS; k++) sum += s->drawn[a * DRAWS + k] > s->drawn[b * DRAWS + k];
    return sum;
}

/* How the combinations of the front stand to all. */
static tn_status compare_combinations(study *s, tn_error *error) {
    size_t rows = 0;
    TN_TRY(TN_NEW(s->arena, s->combinations, &s->row, error));
    for (size_t c = 0; c < s->combinations; c++) s->row[c] = SIZE_MAX;
    for (size_t i = 0; i < s->front; i++)
        if (s->row[s->item[i].combination] == SIZE_MAX) s->row[s->item[i].combination] = rows++;
    TN_TRY(TN_NEW(s->arena, rows * s->combinations, &s->ahead, error));
    for (size_t c = 0; c < s->combinations; c++)
        for (size_t b = 0; s->row[c] != SIZE_MAX && b < s->combinations; b++)
            s->ahead[s->row[c] * s->combinations + b] = draws_ahead(s, c, b);
    return TN_OK;
}

static bool is_open(size_t draws) {
    return draws >= tn_possible_least * DRAWS && draws <= (1 - tn_possible_least) * DRAWS;
}

/* The front's designs with what is learned changed: their ids, each once, behind the front. */
static tn_status add_neighbours(study *s, const tn_point *front, tn_error *error) {
    size_t most = s->front;
    uint64_t *id;
    for (size_t i = 0; i < s->front; i++) {
        const size_t *ahead = s->ahead + s->row[s->item[i].combination] * s->combinations;
        for (size_t c = 0; c < s->combinations; c++) most += is_open(ahead[c]);
    }
    if (most > CANDIDATES_MOST) most = CANDIDATES_MOST;
    TN_TRY(TN_NEW(s->arena, most, &id, error));
    size_t count = 0;
    for (size_t i = 0; i < s->front; i++) {
        size_t own = s->item[i].combination;
        const size_t *ahead = s->ahead + s->row[own] * s->combinations;
        uint64_t rest = front[i].id - s->offset[own];
        for (size_t c = 0; c < s->combinations && count < most; c++)
            if (is_open(ahead[c])) id[count++] = rest + s->offset[c];
    }
    if (count) qsort(id, count, sizeof *id, by_offset);
    const candidate *own = s->item;
    TN_TRY(TN_NEW(s->arena, s->front + count, &s->item, error));
    memcpy(s->item, own, s->front * sizeof *own);
    for (size_t i = 0, k = 0; i < count; i++) {
        while (k < s->front && front[k].id < id[i]) k++;
        if ((i > 0 && id[i] == id[i - 1]) || (k < s->front && front[k].id == id[i])) continue;
        s->item[s->count++] = (candidate){.found = {.id = id[i]}, .combination = combination_of(s, id[i])};
    }
    return TN_OK;
}

/* a is nowhere worse than b but perhaps in accuracy. */
static bool no_dearer(const study *s, const double *a, const double *b) {
    for (size_t k = 0; k < s->space->objectives; k++)
        if (k != s->accuracy && a[k] > b[k]) return false;
    return true;
}

/* Whether a design of the front is no dearer and almost surely as accurate. */
static bool surely_dominated(const study *s, const double *value, size_t combination) {
    for (size_t i = 0; i < s->front; i++) {
        const candidate *own = &s->item[i];
        if (!no_dearer(s, own->value, value)) continue;
        if (own->combination == combination ||
            s->ahead[s->row[own->combination] * s->combinations + combination] >
                (1 - tn_possible_least) * DRAWS)
            return true;
    }
    return false;
}

/* Designs of one combination that fit: what they refuse is on no front of any draw, and of what else is no dearer than it
 * they are, too. */
typedef struct {
    size_t combination;
    tn_archive designs;
} alike;

static tn_status evaluate(study *s, tn_evaluator *evaluator, alike *own, candidate *entry, tn_error *error) {
    tn_point point;
    uint64_t outer, inner;
    uint32_t cause;
    bool exact;
    tn_space_split(s->space, entry->found.id, &outer, &inner);
    TN_TRY(tn_evaluate_bound(evaluator, outer, inner, &entry->found.evaluation, &cause, &exact, error));
    if (cause != TN_CAUSE_NONE) return TN_OK;
    for (int closer = 0; closer < (exact ? 1 : 3); closer++) {
        if (closer == 1)
            TN_TRY(tn_evaluate_close_bound(evaluator, outer, inner, &entry->found.evaluation, &cause, &exact,
                                           error));
        if (closer == 2)
            TN_TRY(tn_evaluate(evaluator, outer, inner, &entry->found.evaluation, &cause, error));
        if (cause != TN_CAUSE_NONE) return TN_OK;
        tn_space_point(s->space, &entry->found.evaluation, entry->found.id, &point);
        if (tn_archive_refuses(&own->designs, &point)) return TN_OK;
        if (surely_dominated(s, point.value, entry->combination)) return TN_OK;
    }
    memcpy(entry->value, point.value, sizeof entry->value);
    entry->feasible = true;
    return tn_archive_offer(&own->designs, &point, error);
}

/* Those of a combination come one behind the other, where its choices are the first of the space. */
static tn_status evaluate_next(study *s, tn_evaluator *evaluator, alike *own, candidate *entry,
                               tn_error *error) {
    if (own->combination != entry->combination) tn_archive_clear(&own->designs);
    own->combination = entry->combination;
    return evaluate(s, evaluator, own, entry, error);
}

static void evaluate_some(study *s) {
    enum { AT_ONCE = 256 }; /* neighbours share an outer combination */
    tn_evaluator *evaluator;
    tn_error error = {0};
    alike own = {.combination = SIZE_MAX};
    tn_archive_begin(&own.designs, s->space->objectives);
    tn_status status = tn_evaluator_new(s->space, &evaluator, &error);
    while (status == TN_OK) {
        size_t start;
#pragma omp critical(tenfold_possible)
        {
            start = s->status == TN_OK ? s->next : s->count;
            s->next = start + AT_ONCE;
        }
        if (start >= s->count) break;
        for (size_t i = start; status == TN_OK && i < start + AT_ONCE && i < s->count; i++)
            status = evaluate_next(s, evaluator, &own, &s->item[i], &error);
    }
#pragma omp critical(tenfold_possible)
    if (status != TN_OK && s->status == TN_OK) {
        s->status = status;
        s->error = error;
    }
    tn_archive_free(&own.designs);
    tn_evaluator_free(evaluator);
}

static tn_status evaluate_all(study *s, int threads, tn_error *error) {
    s->next = s->front;
#pragma omp parallel num_threads(threads)
    {
        tn_interrupt_hold(); /* a search of flows that is cut short would make other designs */
        evaluate_some(s);
        tn_interrupt_release();
    }
    if (s->status != TN_OK) {
        if (error) *error = s->error;
        return s->status;
    }
    size_t count = s->front;
    for (size_t i = s->front; i < s->count; i++)
        if (s->item[i].feasible) s->item[count++] = s->item[i];
    s->count = count;
    return TN_OK;
}

/* Of equals the lowest id stays, as in a front. */
static bool dominates_its_like(const study *s, const candidate *a, const candidate *b) {
    return no_dearer(s, a->value, b->value) &&
           (!no_dearer(s, b->value, a->value) || a->found.id < b->found.id);
}

/* Those of each combination that none of its like dominates: whatever is no dearer than a design, one of these is. */
typedef struct {
    size_t count;
    const candidate **item; /* by value of the first objective that is not accuracy, rising */
} contenders;

static int by_combination(const void *a, const void *b) {
    const candidate *x = *(const candidate *const *)a, *y = *(const candidate *const *)b;
    if (x->combination != y->combination) return x->combination < y->combination ? -1 : 1;
    return tn_value_order(x->order, x->found.id, y->order, y->found.id);
}

/* Into list[combinations], and *order, which they lie in. Candidates that are dominated get a probability of 0. */
static tn_status list_contenders(study *s, int threads, contenders *list, tn_error *error) {
    const candidate **order;
    bool *beaten;
    const size_t first = s->accuracy == 0 && s->space->objectives > 1 ? 1 : 0;
    TN_TRY(TN_NEW(s->arena, s->count, &order, error));
    TN_TRY(TN_NEW(s->arena, s->count, &beaten, error));
    for (size_t i = 0; i < s->count; i++) {
        s->item[i].order = s->item[i].value[first];
        s->item[i].found.probability = 0;
        order[i] = &s->item[i];
    }
    qsort(order, s->count, sizeof *order, by_combination);
    for (size_t i = 0; i < s->count; i++) {
        contenders *own = &list[order[i]->combination];
        if (own->count++ == 0) own->item = order + i;
    }
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
    for (size_t i = 0; i < s->count; i++) {
        const contenders *own = &list[order[i]->combination];
        for (size_t k = 0; k < own->count && own->item[k]->order <= order[i]->order && !beaten[i]; k++)
            beaten[i] = own->item[k] != order[i] && dominates_its_like(s, own->item[k], order[i]);
    }
    for (size_t c = 0; c < s->combinations; c++) {
        const size_t begin = list[c].count ? (size_t)(list[c].item - order) : 0;
        size_t kept = 0;
        for (size_t i = 0; i < list[c].count; i++)
            if (!beaten[begin + i]) order[begin + kept++] = order[begin + i];
        list[c].count = kept;
    }
    return TN_OK;
}

static bool has_no_dearer(const study *s, const contenders *list, const candidate *entry) {
    for (size_t i = 0; i < list->count && list->item[i]->order <= entry->order; i++)
        if (no_dearer(s, list->item[i]->value, entry->value)) return true;
    return false;
}

/* The share of the draws in which none of those that are no dearer is as accurate. `rival` is room for combinations. */
static double share_of_draws(const study *s, const contenders *list, const candidate *entry, size_t *rival) {
    size_t rivals = 0, free_draws = 0;
    for (size_t c = 0; c < s->combinations; c++)
        if (c != entry->combination && has_no_dearer(s, &list[c], entry)) rival[rivals++] = c;
    const double *own = s->drawn + entry->combination * DRAWS;
    for (size_t k = 0; k < DRAWS; k++) {
        size_t r = 0;
        while (r < rivals && s->drawn[rival[r] * DRAWS + k] < own[k]) r++;
        free_draws += r == rivals;
        if (r > 0 && r < rivals) { /* the next draw asks it first */
            size_t best = rival[r];
            rival[r] = rival[0];
            rival[0] = best;
        }
    }
    return (double)free_draws / DRAWS;
}

static tn_status find_probabilities(study *s, int threads, tn_error *error) {
    contenders *list;
    size_t *rival;
    TN_TRY(TN_NEW(s->arena, s->combinations, &list, error));
    TN_TRY(TN_NEW(s->arena, (size_t)threads * s->combinations, &rival, error));
    TN_TRY(list_contenders(s, threads, list, error));
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (size_t c = 0; c < s->combinations; c++)
        for (size_t i = 0; i < list[c].count; i++) {
            candidate *entry = &s->item[list[c].item[i] - s->item];
            entry->found.probability =
                share_of_draws(s, list, entry, rival + (size_t)omp_get_thread_num() * s->combinations);
        }
    return TN_OK;
}

static int by_id(const void *a, const void *b) {
    const tn_possible *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static tn_status look(study *s, const tn_point *front, const tn_evaluation *evaluation, int threads,
                      tn_possible **possible, size_t *count, tn_error *error) {
    TN_TRY(draw_combinations(s, error));
    if (s->combinations == 0) return TN_OK;
    TN_TRY(TN_NEW(s->arena, s->front, &s->item, error));
    for (size_t i = 0; i < s->front; i++) {
        s->item[i] = (candidate){.found = {.id = front[i].id, .on_front = true, .evaluation = evaluation[i]},
                                 .combination = combination_of(s, front[i].id),
                                 .feasible = true};
        memcpy(s->item[i].value, front[i].value, sizeof s->item[i].value);
    }
    TN_TRY(compare_combinations(s, error));
    TN_TRY(add_neighbours(s, front, error));
    TN_TRY(evaluate_all(s, threads, error));
    TN_TRY(find_probabilities(s, threads, error));
    TN_TRY(TN_NEW(s->arena, s->count, possible, error));
    for (size_t i = 0; i < s->count; i++)
        if (s->item[i].found.on_front || s->item[i].found.probability >= tn_possible_least)
            (*possible)[(*count)++] = s->item[i].found;
    qsort(*possible, *count, sizeof **possible, by_id);
    return TN_OK;
}

tn_status tn_possible_designs(const tn_space *space, const tn_point *front, const tn_evaluation *evaluation,
                              size_t front_count, unsigned threads, tn_arena *arena, tn_possible **possible,
                              size_t *count, tn_error *error) {
    study *s;
    *count = 0;
    *possible = NULL;
    if (front_count == 0 || space->choices.is_vast || space->accuracy_table.rows == 0) return TN_OK;
    TN_TRY(TN_NEW(arena, 1, &s, error));
    *s = (study){.space = space, .arena = arena, .front = front_count, .count = front_count};
    s->accuracy = tn_accuracy_objective(space);
    if (s->accuracy == space->objectives) return TN_OK;
    return look(s, front, evaluation, threads ? (int)threads : omp_get_max_threads(), possible, count, error);
}
