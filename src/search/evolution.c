#include "search/evolution.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "front/archive.h"
#include "front/knee.h"
#include "search/archived_designs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POPULATION = 200, BARREN_MOST = 200 };

/* A design of the population or an offspring. */
typedef struct {
    uint32_t *digit; /* [choices] */
    size_t index;    /* among all evaluated */
    double value[TN_OBJECTIVES_MOST];
    double lack; /* 0: feasible; else by which factor it is over, or infinity where it has no price */
    unsigned rank;
    double crowding;
} individual;

typedef struct {
    const tn_space *space;
    const tn_evolve_options *options;
    double deadline; /* tn_clock_seconds */
    uint64_t state;  /* of the random numbers */
    size_t *like;    /* [choices]: the first of those that choose the same of other weights or layers */
    /* All evaluated designs, and their places by a hash of the digits. */
    size_t count, capacity, evaluation_capacity, value_capacity;
    uint32_t *digit; /* [count][choices] */
    tn_evaluation *evaluation;
    uint32_t *cause;
    size_t slots;
    uint32_t *slot;
    individual *item; /* [2 * POPULATION] */
    uint32_t *digits; /* theirs */
    size_t parents, children;
    size_t finished; /* the first of all evaluated, whose generations were */
} evolution;

/* ---- what was evaluated ---- */

static uint64_t hash_of(const uint32_t *digit, size_t choices) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < choices; i++) hash = (hash ^ digit[i]) * UINT64_C(1099511628211);
    return hash ^ hash >> 29;
}

/* The slot of the design, or the free one where it belongs. */
static size_t slot_of(const evolution *population, const uint32_t *digit) {
    size_t choices = population->space->choices.count,
           index = hash_of(digit, choices) & (population->slots - 1);
    while (population->slot[index] && memcmp(population->digit + (population->slot[index] - 1) * choices,
                                             digit, choices * sizeof *digit) != 0)
        index = (index + 1) & (population->slots - 1);
    return index;
}

static tn_status note(evolution *population, const uint32_t *digit, size_t *entry, tn_error *error) {
    size_t choices = population->space->choices.count;
    TN_TRY(TN_GROW(&population->digit, &population->capacity, (population->count + 1) * choices, error));
    TN_TRY(TN_GROW(&population->evaluation, &population->evaluation_capacity, population->count + 1, error));
    TN_TRY(TN_GROW(&population->cause, &population->value_capacity, population->count + 1, error));
    memcpy(population->digit + population->count * choices, digit, choices * sizeof *digit);
    *entry = population->count++;
    population->slot[slot_of(population, digit)] = (uint32_t)*entry + 1;
    return TN_OK;
}

/* ---- breeding ---- */

static bool are_alike(const tn_axis *a, const tn_axis *b) {
    return tn_axis_is_of_weight(a) && a->kind == b->kind && a->count == b->count;
}

static tn_status find_likes(evolution *population, tn_error *error) {
    const tn_choices *choices = &population->space->choices;
    TN_TRY(TN_ALLOC(choices->count, &population->like, error));
    for (size_t i = 0; i < choices->count; i++) {
        size_t first = 0;
        while (first < i && !are_alike(&choices->axis[first], &choices->axis[i])) first++;
        population->like[i] = first;
    }
    return TN_OK;
}

/* alike: what is alike has one value. */
static void draw_design(evolution *population, bool alike, uint32_t *digit) {
    const tn_choices *choices = &population->space->choices;
    for (size_t i = 0; i < choices->count; i++) {
        digit[i] = tn_splitmix_below(&population->state, (uint32_t)choices->axis[i].count);
        if (alike) digit[i] = digit[population->like[i]];
    }
}

/* Deb's order: fewer lacks, then the lesser front, then the less crowded. */
static bool is_better(const individual *a, const individual *b) {
    if (a->lack != b->lack) return a->lack < b->lack;
    if (a->rank != b->rank) return a->rank < b->rank;
    return a->crowding > b->crowding;
}

static const individual *tournament(evolution *population) {
    const individual
        *a = &population->item[tn_splitmix_below(&population->state, (uint32_t)population->parents)],
        *b = &population->item[tn_splitmix_below(&population->state, (uint32_t)population->parents)];
    return is_better(b, a) ? b : a;
}

/* Another value: half the time a neighbour, as values of a range are in order. */
static uint32_t changed(evolution *population, size_t choice, uint32_t digit) {
    const uint32_t count = (uint32_t)population->space->choices.axis[choice].count;
    if (tn_splitmix_next(&population->state) >> 63) return tn_splitmix_below(&population->state, count);
    return (digit + (tn_splitmix_next(&population->state) >> 63 ? 1 : count - 1)) % count;
}

/* Each value from either parent; then about one and a half of them changed, half the time with all that are alike. */
static void breed(evolution *population, uint32_t *digit) {
    const individual *a = tournament(population), *b = tournament(population);
    const size_t choices = population->space->choices.count;
    for (size_t i = 0; i < choices; i++)
        digit[i] = tn_splitmix_next(&population->state) >> 63 ? a->digit[i] : b->digit[i];
    for (size_t i = 0; i < choices; i++) {
        if (tn_splitmix_unit(&population->state) * (double)choices >= 1.5) continue;
        digit[i] = changed(population, i, digit[i]);
        if (tn_splitmix_next(&population->state) >> 63) continue;
        for (size_t k = 0; k < choices; k++)
            if (population->like[k] == population->like[i]) digit[k] = digit[i];
    }
}

/* Adds designs that were not evaluated before, as many as the population has room for; fewer where hardly any is left.
 */
static tn_status add_children(evolution *population, bool drawn, tn_error *error) {
    population->children = 0;
    for (unsigned barren = 0; population->children < POPULATION && barren < BARREN_MOST &&
                              population->count < population->options->budget;) {
        individual *child = &population->item[population->parents + population->children];
        if (drawn)
            draw_design(population, population->children % 2 == 0, child->digit);
        else
            breed(population, child->digit);
        if (population->slot[slot_of(population, child->digit)]) {
            barren++;
            continue;
        }
        TN_TRY(note(population, child->digit, &child->index, error));
        population->children++;
        barren = 0;
    }
    return TN_OK;
}

/* ---- evaluation ---- */

static double lack_of(const evolution *population, size_t index) {
    const uint32_t *digit = population->digit + index * population->space->choices.count;
    const tn_resources *used = &population->evaluation[index].price.used,
                       *budget = &tn_space_of_digits(population->space, digit)->budget;
    uint32_t cause = population->cause[index];
    if (cause == TN_CAUSE_NONE) return 0;
    if (cause < TN_CAUSE_RESOURCE) return INFINITY;
    if (cause >= TN_CAUSE_CONSTRAINT) return 1 + (double)(cause - TN_CAUSE_CONSTRAINT) / TN_CONSTRAINTS_MOST;
    tn_resource which = (tn_resource)(cause - TN_CAUSE_RESOURCE);
    uint64_t have = tn_resource_amount(budget, which);
    return 2 + (double)tn_resource_amount(used, which) / (have ? (double)have : 1);
}

static void evaluate_some(evolution *population, tn_status *status, tn_error *error) {
    tn_evaluator *evaluator;
    tn_error own = {0};
    tn_status found = tn_evaluator_new(population->space, &evaluator, &own);
#pragma omp for schedule(dynamic, 1)
    for (size_t i = 0; i < population->children; i++) {
        size_t index = population->item[population->parents + i].index;
        if (found != TN_OK) continue;
        found = tn_check_time(population->deadline, &own);
        if (found == TN_OK)
            found =
                tn_evaluate_digits(evaluator, population->digit + index * population->space->choices.count,
                                   &population->evaluation[index], &population->cause[index], &own);
    }
#pragma omp critical(tenfold_evolution)
    if (found != TN_OK && *status == TN_OK) {
        *status = found;
        if (error) *error = own;
    }
    tn_evaluator_free(evaluator);
}

static tn_status evaluate_children(evolution *population, tn_error *error) {
    int threads = tn_thread_count(population->options->threads);
    tn_status status = TN_OK;
#pragma omp parallel num_threads(threads)
    evaluate_some(population, &status, error);
    TN_TRY(status);
    /* An interrupted search of flows ends with what it has: another design than the one that was asked for. */
    if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted");
    for (size_t i = 0; i < population->children; i++) {
        individual *child = &population->item[population->parents + i];
        tn_point point = {0};
        child->lack = lack_of(population, child->index);
        if (child->lack == 0)
            tn_space_point(population->space, &population->evaluation[child->index], 0, &point);
        memcpy(child->value, point.value, sizeof child->value);
    }
    return TN_OK;
}

/* ---- selection ---- */

static bool dominates(const individual *a, const individual *b, size_t objectives) {
    bool less = false;
    if (a->lack != b->lack) return a->lack < b->lack;
    if (a->lack > 0) return false;
    for (size_t k = 0; k < objectives; k++) {
        if (a->value[k] > b->value[k]) return false;
        less |= a->value[k] < b->value[k];
    }
    return less;
}

/* Ranks by how many fronts must be taken away before a design is on one. */
static void rank_all(evolution *population, size_t count) {
    size_t left = count;
    for (size_t i = 0; i < count; i++) population->item[i].rank = UINT32_MAX;
    for (unsigned rank = 0; left > 0; rank++)
        for (size_t i = 0; i < count; i++) {
            bool beaten = population->item[i].rank < rank;
            for (size_t k = 0; !beaten && k < count; k++)
                beaten = population->item[k].rank >= rank &&
                         dominates(&population->item[k], &population->item[i], population->space->objectives);
            if (beaten) continue;
            population->item[i].rank = rank;
            left--;
        }
}

typedef struct {
    double value;
    size_t index;
} placed;

static int by_value(const void *a, const void *b) {
    const placed *x = a, *y = b;
    return tn_value_order(x->value, x->index, y->value, y->index);
}

/* The sum over objectives of the distance of the neighbours on either side, within one rank. */
static void crowd(evolution *population, size_t count) {
    placed order[2 * POPULATION];
    for (size_t i = 0; i < count; i++) population->item[i].crowding = 0;
    for (size_t k = 0; k < population->space->objectives; k++)
        for (unsigned rank = 0; rank < count; rank++) {
            size_t of_rank = 0;
            for (size_t i = 0; i < count; i++)
                if (population->item[i].rank == rank)
                    order[of_rank++] = (placed){population->item[i].value[k], i};
            if (of_rank == 0) break;
            qsort(order, of_rank, sizeof *order, by_value);
            double span = order[of_rank - 1].value - order[0].value;
            population->item[order[0].index].crowding = population->item[order[of_rank - 1].index].crowding =
                INFINITY;
            for (size_t i = 1; i + 1 < of_rank && span > 0; i++)
                population->item[order[i].index].crowding += (order[i + 1].value - order[i - 1].value) / span;
        }
}

static int by_fitness(const void *a, const void *b) {
    const individual *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return tn_value_order(-x->crowding, x->index, -y->crowding, y->index);
}

static void select_parents(evolution *population) {
    size_t count = population->parents + population->children;
    rank_all(population, count);
    crowd(population, count);
    if (count) qsort(population->item, count, sizeof *population->item, by_fitness);
    population->parents = count < POPULATION ? count : POPULATION;
}

/* ---- the run ---- */

static tn_status begin(evolution *population, tn_error *error) {
    size_t choices = population->space->choices.count;
    population->slots = 1024;
    while (population->slots < 2 * population->options->budget) population->slots *= 2;
    population->state = population->options->seed;
    TN_TRY(TN_ALLOC(population->slots, &population->slot, error));
    TN_TRY(TN_ALLOC(2 * POPULATION, &population->item, error));
    TN_TRY(TN_ALLOC(2 * POPULATION * choices, &population->digits, error));
    for (size_t i = 0; i < 2 * POPULATION; i++) population->item[i].digit = population->digits + i * choices;
    return find_likes(population, error);
}

static tn_status generations(evolution *population, tn_error *error) {
    for (bool drawn = true; population->count < population->options->budget; drawn = false) {
        TN_TRY(add_children(population, drawn, error));
        if (population->children == 0) return TN_OK; /* hardly any design is left */
        TN_TRY(evaluate_children(population, error));
        population->finished = population->count;
        select_parents(population);
        if (population->options->progress)
            tn_progress_report(population->options->progress, population->count, population->options->budget);
    }
    return TN_OK;
}

static tn_status keep_front(evolution *population, tn_evolved *found, tn_error *error) {
    const tn_space *space = population->space;
    tn_archive front;
    tn_archive_begin(&front, space->objectives);
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < population->finished; i++) {
        tn_point own;
        found->cause[population->cause[i]]++;
        if (population->cause[i] != TN_CAUSE_NONE) continue;
        tn_space_point(space, &population->evaluation[i], i, &own);
        status = tn_archive_offer(&front, &own, error);
    }
    if (status == TN_OK)
        status = tn_archived_designs(&front, space->choices.count, population->digit, population->evaluation,
                                     &found->count, &found->digit, &found->evaluation, error);
    found->evaluated = population->finished;
    tn_archive_free(&front);
    return status;
}

tn_status tn_evolve(const tn_space *space, const tn_evolve_options *options, tn_evolved *found,
                    tn_error *error) {
    enum { BUDGET_MOST = 1 << 30 };
    evolution population = {.space = space, .options = options};
    double started = tn_clock_seconds();
    population.deadline = options->seconds > 0 ? started + options->seconds : INFINITY;
    *found = (tn_evolved){0};
    if (options->budget > BUDGET_MOST)
        return tn_fail(error, TN_LIMIT, "a budget of over 2^30 designs for an evolution; take less");
    tn_status status = begin(&population, error);
    if (status == TN_OK) status = generations(&population, error);
    found->stopped = tn_interrupted();
    if (status == TN_INTERRUPTED && population.finished > 0)
        status = TN_OK;
    else if (status == TN_INTERRUPTED && !tn_interrupted())
        status =
            tn_fail(error, TN_LIMIT,
                    "%.3g s of --time were over before the first %d designs were evaluated; allow more time",
                    options->seconds, POPULATION);
    if (status == TN_OK) status = keep_front(&population, found, error);
    found->seconds = tn_clock_seconds() - started;
    tn_free(population.digit);
    tn_free(population.evaluation);
    tn_free(population.cause);
    tn_free(population.slot);
    tn_free(population.item);
    tn_free(population.digits);
    tn_free(population.like);
    if (status != TN_OK) tn_evolved_free(found);
    return status;
}

void tn_evolved_free(tn_evolved *found) {
    tn_free(found->digit);
    tn_free(found->evaluation);
    *found = (tn_evolved){0};
}
