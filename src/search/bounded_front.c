/* The front of a space whose prices do not split: bounds of all designs on one side (search/build_front.h), designs priced as
 * built on the other, brought together until each bound has a design near it.
 *
 * Bounds are found coarsely at first, and again with finer boxes for the builds that need it. The design behind a bound is
 * rarely as good as the bound, which lets every layer have its memory and its words as if the others were like it. So
 * designs are sought that are: those whose units are all alike, those with a few kinds of units in the place of the many of
 * the bound's own design, and what differs a little from the design that is nearest to the bound so far. */
#include "search/decomposing.h"

#include "base/digest.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"
#include "front/archive.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* A batch of designs to be priced. */
typedef struct {
    size_t count, capacity;
    uint32_t *digit; /* [capacity][choices] */
    tn_evaluation *evaluation;
    uint32_t *cause;
    size_t room; /* of evaluation and cause */
} batch;

typedef struct {
    tn_decomposing *state;
    const tn_space *space;
    size_t choices, objectives;
    double asked;    /* the greatest factor that is asked for */
    uint64_t most;   /* designs */
    uint64_t random; /* state of the random numbers */
    uint32_t *like;  /* [units]: the first unit with the same options */
    uint64_t *seen;  /* hashes of designs that were priced, 0: none */
    size_t seen_slots, seen_count;
    batch next;
    /* Members, those that were once on the front: */
    size_t members, member_room, digit_room, evaluation_room, log_room;
    tn_point *member;
    double *member_log; /* [members][objectives] */
    uint32_t *member_digit;
    tn_evaluation *evaluation;
    tn_archive archive;
    /* Bounds: value = of objectives, left = task, right = point. */
    tn_sums bounds;
    size_t covered_room[4];
    double *bound_log; /* [bounds][objectives] */
    double *distance;  /* [bounds]: logarithm of the greatest ratio to the member that is nearest, */
    uint32_t *nearest; /* and which it is */
    uint32_t *tries;
} reach;

/* ---- designs ---- */

static uint64_t hash_of(const reach *reaching, const uint32_t *digit) {
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < reaching->choices; i++) {
        hash = (hash ^ digit[i]) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

static tn_status make_seen(reach *reaching, tn_error *error) {
    uint64_t *grown;
    size_t slots = reaching->seen_slots ? 2 * reaching->seen_slots : 4096;
    if (2 * reaching->seen_count < reaching->seen_slots) return TN_OK;
    TN_TRY(TN_ALLOC(slots, &grown, error));
    for (size_t i = 0; i < reaching->seen_slots; i++) {
        if (!reaching->seen[i]) continue;
        size_t place = reaching->seen[i] & (slots - 1);
        while (grown[place]) place = (place + 1) & (slots - 1);
        grown[place] = reaching->seen[i];
    }
    tn_free(reaching->seen);
    reaching->seen = grown;
    reaching->seen_slots = slots;
    return TN_OK;
}

/* Of designs whose hashes are equal one is priced: nothing is lost but it. */
static tn_status add_design(reach *reaching, const uint32_t *digit, tn_error *error) {
    batch *next = &reaching->next;
    TN_TRY(make_seen(reaching, error));
    uint64_t hash = hash_of(reaching, digit);
    size_t place = hash & (reaching->seen_slots - 1);
    while (reaching->seen[place] && reaching->seen[place] != hash)
        place = (place + 1) & (reaching->seen_slots - 1);
    if (reaching->seen[place]) return TN_OK;
    reaching->seen[place] = hash;
    reaching->seen_count++;
    TN_TRY(TN_GROW(&next->digit, &next->capacity, (next->count + 1) * reaching->choices, error));
    memcpy(next->digit + next->count++ * reaching->choices, digit, reaching->choices * sizeof *digit);
    return TN_OK;
}

static bool is_over(const reach *reaching) {
    return tn_interrupted() || tn_clock_seconds() > reaching->state->front.deadline ||
           reaching->state->evaluated + reaching->next.count > reaching->most;
}

static void price_some(reach *reaching, size_t *at, tn_status *status, tn_error *error) {
    enum { RUN = 4 };
    batch *next = &reaching->next;
    tn_evaluator *evaluator = NULL;
    tn_error own = {0};
    tn_status found = tn_evaluator_new(reaching->space, &evaluator, &own);
    while (found == TN_OK) {
        size_t first;
#pragma omp critical(tenfold_bounded_front)
        {
            first = *status == TN_OK ? *at : SIZE_MAX;
            *at += RUN;
        }
        if (first >= next->count) break;
        for (size_t i = first; found == TN_OK && i < first + RUN && i < next->count; i++) {
            if (tn_interrupted() || tn_clock_seconds() > reaching->state->front.deadline) {
                next->cause[i] = TN_CAUSE_LIMIT; /* not priced */
                continue;
            }
            found = tn_evaluate_digits(evaluator, next->digit + i * reaching->choices, &next->evaluation[i],
                                       &next->cause[i], &own);
        }
    }
#pragma omp critical(tenfold_bounded_front)
    if (found != TN_OK && *status == TN_OK) {
        *status = found;
        if (error) *error = own;
    }
    tn_evaluator_free(evaluator);
}

static double log_of(double value) {
    static const double nothing = -700;
    return value == 0 ? nothing : log(fabs(value));
}

static tn_status keep_member(reach *reaching, size_t index, tn_error *error) {
    tn_point point;
    const size_t n = reaching->members, objectives = reaching->objectives;
    tn_space_point(reaching->space, &reaching->next.evaluation[index], n, &point);
    if (tn_archive_covers(&reaching->archive, point.value)) return TN_OK;
    TN_TRY(TN_GROW(&reaching->member, &reaching->member_room, n + 1, error));
    TN_TRY(TN_GROW(&reaching->member_digit, &reaching->digit_room, (n + 1) * reaching->choices, error));
    TN_TRY(TN_GROW(&reaching->evaluation, &reaching->evaluation_room, n + 1, error));
    TN_TRY(TN_GROW(&reaching->member_log, &reaching->log_room, (n + 1) * objectives, error));
    reaching->member[n] = point;
    reaching->evaluation[n] = reaching->next.evaluation[index];
    memcpy(reaching->member_digit + n * reaching->choices, reaching->next.digit + index * reaching->choices,
           reaching->choices * sizeof *reaching->member_digit);
    for (size_t k = 0; k < objectives; k++) reaching->member_log[n * objectives + k] = log_of(point.value[k]);
    reaching->members++;
    return tn_archive_offer(&reaching->archive, &point, error);
}

/* ---- which design is near a bound ---- */

static void cover(reach *reaching, size_t first_member) {
    const size_t objectives = reaching->objectives;
    double sign[TN_OBJECTIVES_MOST];
    for (size_t k = 0; k < objectives; k++) sign[k] = reaching->space->objective[k]->maximise ? -1 : 1;
#pragma omp parallel for schedule(static, 256)
    for (size_t i = 0; i < reaching->bounds.count; i++) {
        const double *bound = reaching->bound_log + i * objectives;
        double least = reaching->distance[i];
        for (size_t m = first_member; m < reaching->members; m++) {
            const double *member = reaching->member_log + m * objectives;
            double most = 0;
            for (size_t k = 0; k < objectives; k++) most = fmax(most, sign[k] * (member[k] - bound[k]));
            if (most >= least) continue;
            least = most;
            reaching->nearest[i] = (uint32_t)m;
        }
        reaching->distance[i] = least;
    }
}

/* Prices what was added. */
static tn_status price_batch(reach *reaching, tn_error *error) {
    batch *next = &reaching->next;
    size_t at = 0, first_member = reaching->members, room = next->room;
    tn_status status = TN_OK;
    int threads =
        reaching->state->options->threads ? (int)reaching->state->options->threads : omp_get_max_threads();
    if (next->count == 0) return TN_OK;
    TN_TRY(TN_GROW(&next->evaluation, &room, next->count, error));
    TN_TRY(TN_GROW(&next->cause, &next->room, next->count, error));
#pragma omp parallel num_threads(threads)
    price_some(reaching, &at, &status, error);
    reaching->state->evaluated += next->count;
    for (size_t i = 0; status == TN_OK && i < next->count; i++)
        if (next->cause[i] == TN_CAUSE_NONE) status = keep_member(reaching, i, error);
    next->count = 0;
    cover(reaching, first_member);
    return status;
}

/* ---- bounds ---- */

static tn_status add_bounds(reach *reaching, uint32_t index, tn_error *error) {
    const tn_build_task *job = &reaching->state->task[index];
    const tn_resources *budget = &reaching->space->budget;
    const double bytes = ((double)budget->bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS +
                          (double)budget->uram * TN_MEMORY_CAPACITY_URAM_BITS) /
                         8;
    for (size_t k = 0; k < job->front.count; k++) {
        const tn_evaluation bound = tn_decomposing_bound(reaching->state, job, k);
        tn_point point;
        if (tn_decomposing_breaks(reaching->space, &bound) ||
            (double)bound.price.on_chip_bytes > bytes * job->front.slack)
            continue;
        tn_space_point(reaching->space, &bound, 0, &point);
        for (size_t d = 0; d < reaching->objectives; d++)
            point.value[d] *=
                reaching->space->objective[d]->maximise ? job->front.slack : 1 / job->front.slack;
        TN_TRY(tn_sums_add(&reaching->bounds, point.value, 0, 0, index, (uint32_t)k, error));
    }
    return TN_OK;
}

/* All bounds, and how near the members are to each. */
static tn_status gather_bounds(reach *reaching, tn_error *error) {
    const tn_boxes boxes = {.rounded = reaching->objectives};
    const size_t objectives = reaching->objectives;
    tn_sums_free(&reaching->bounds);
    tn_sums_begin(&reaching->bounds, objectives);
    for (size_t i = 0; i < reaching->state->tasks; i++)
        if (!reaching->state->task[i].skipped) TN_TRY(add_bounds(reaching, (uint32_t)i, error));
    TN_TRY(tn_sums_prune(&reaching->bounds, &boxes, error));
    size_t count = reaching->bounds.count;
    TN_TRY(TN_GROW(&reaching->bound_log, &reaching->covered_room[0], count * objectives, error));
    TN_TRY(TN_GROW(&reaching->distance, &reaching->covered_room[1], count, error));
    TN_TRY(TN_GROW(&reaching->nearest, &reaching->covered_room[2], count, error));
    TN_TRY(TN_GROW(&reaching->tries, &reaching->covered_room[3], count, error));
    for (size_t i = 0; i < count; i++) {
        reaching->distance[i] = INFINITY;
        reaching->nearest[i] = UINT32_MAX;
        reaching->tries[i] = 0;
        for (size_t k = 0; k < objectives; k++)
            reaching->bound_log[i * objectives + k] = log_of(reaching->bounds.value[k][i]);
    }
    cover(reaching, 0);
    return TN_OK;
}

/* Fronts of the builds in wants[tasks]; what has a front keeps it where the time is over or there is no room. */
static tn_status find_fronts(reach *reaching, const bool *wants, double epsilon, tn_error *error) {
    tn_decomposing *state = reaching->state;
    int threads = state->options->threads ? (int)state->options->threads : omp_get_max_threads();
    size_t done = 0;
    tn_front_options options = state->front;
    options.epsilon = epsilon;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < state->tasks; i++) {
        tn_build_task *job = &state->task[i];
        tn_build_front found;
        if (job->skipped || !wants[i]) continue;
        if (job->front.option && tn_clock_seconds() > options.deadline) continue;
        tn_front_options own = options;
        if (!job->front.option) own.deadline = INFINITY;
        job->status = tn_build_front_find(state->space, &state->units, &state->table[job->keys], job->build,
                                          state->key_digit[job->keys], &own, &found, &job->error);
        if (job->status == TN_OK) {
            tn_build_front_free(&job->front, state->units.count);
            job->front = found;
        } else if (job->front.option && !tn_interrupted() &&
                   (job->status == TN_INTERRUPTED || job->status == TN_LIMIT)) {
            job->status = TN_OK;
            job->is_finest = true;
        }
#pragma omp critical(tenfold_decomposition)
        if (state->options->progress) tn_progress_report(state->options->progress, ++done, state->tasks);
    }
    return tn_decomposing_status(state, error);
}

/* ---- candidates ---- */

static uint64_t below(reach *reaching, uint64_t count) {
    return tn_splitmix_next(&reaching->random) % count;
}

static void set_option(const reach *reaching, uint32_t unit, uint64_t option, uint32_t *digit) {
    const tn_unit *its = &reaching->state->units.unit[unit];
    tn_digits_of(&reaching->space->choices, its->axis, its->axes, option, digit);
}

static uint64_t option_of(const reach *reaching, uint32_t unit, const uint32_t *digit) {
    const tn_unit *its = &reaching->state->units.unit[unit];
    return tn_digits_number(&reaching->space->choices, its->axis, its->axes, digit);
}

/* Whether the units have choices of the same kinds with as many values. */
static bool are_alike(const reach *reaching, const tn_unit *a, const tn_unit *b) {
    bool alike = a->axes == b->axes;
    for (size_t i = 0; alike && i < a->axes; i++) {
        const tn_axis *x = &reaching->space->choices.axis[a->axis[i]],
                      *y = &reaching->space->choices.axis[b->axis[i]];
        alike = x->kind == y->kind && x->count == y->count;
    }
    return alike;
}

static tn_status find_likes(reach *reaching, tn_error *error) {
    const tn_units *units = &reaching->state->units;
    TN_TRY(TN_NEW(&reaching->state->arena, units->count, &reaching->like, error));
    for (uint32_t u = 0; u < units->count; u++) {
        reaching->like[u] = u;
        for (uint32_t k = 0; k < u && reaching->like[u] == u; k++)
            if (are_alike(reaching, &units->unit[k], &units->unit[u])) reaching->like[u] = reaching->like[k];
    }
    return TN_OK;
}

static void set_build(const reach *reaching, const tn_build_task *job, uint32_t *digit) {
    const tn_space *space = reaching->space;
    memcpy(digit, reaching->state->key_digit[job->keys], space->choices.count * sizeof *digit);
    tn_digits_of(&space->choices, space->inner, space->inners, job->inner, digit);
}

/* Designs whose like units have like options, under every build: all of them, or as many drawn. */
static tn_status add_uniform(reach *reaching, uint64_t most, tn_error *error) {
    const tn_decomposing *state = reaching->state;
    const uint32_t units = state->units.count;
    uint64_t designs = 1, *option;
    uint32_t digit[TN_AXES_MOST];
    TN_TRY(TN_NEW(&reaching->state->arena, units, &option, error));
    for (uint32_t u = 0; u < units; u++)
        if (reaching->like[u] == u && designs <= most) designs *= state->units.unit[u].options;
    const bool all = designs <= most / (state->tasks ? state->tasks : 1);
    if (!all) designs = most / (state->tasks ? state->tasks : 1) + 1;
    for (uint64_t design = 0; design < designs; design++) {
        uint64_t rest = design;
        for (uint32_t u = 0; u < units; u++) {
            uint64_t options = state->units.unit[u].options;
            if (reaching->like[u] != u) {
                option[u] = option[reaching->like[u]];
                continue;
            }
            option[u] = all ? rest % options : below(reaching, options);
            rest /= options;
        }
        for (size_t i = 0; i < state->tasks; i++) {
            if (state->task[i].skipped) continue;
            set_build(reaching, &state->task[i], digit);
            for (uint32_t u = 0; u < units; u++) set_option(reaching, u, option[u], digit);
            TN_TRY(add_design(reaching, digit, error));
        }
    }
    return TN_OK;
}

/* How much two options of a unit differ in what the objectives are made of. */
static double difference(const reach *reaching, const tn_build_task *job, uint32_t unit, uint64_t a,
                         uint64_t b) {
    const tn_unit_table *table = &reaching->state->table[job->keys].unit[unit];
    const tn_price_part *x = &table->part[job->build][a], *y = &table->part[job->build][b];
    double sum = 0;
    if (!table->defined[a] || !table->defined[b]) return INFINITY;
    const double pair[][2] = {{x->cycles, y->cycles},
                              {x->capacity_bits, y->capacity_bits},
                              {table->sum[TN_SUM_DEGREES][a], table->sum[TN_SUM_DEGREES][b]}};
    for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
        double most = fmax(pair[k][0], pair[k][1]);
        if (most > 0) sum += fabs(pair[k][0] - pair[k][1]) / most;
    }
    return sum;
}

/* The design with at most `kinds` options among like units: first those that move least from it, each unit to the one that
 * is nearest to its own. */
static tn_status add_kinds(reach *reaching, const tn_build_task *job, const uint32_t *own, uint32_t kinds,
                           tn_error *error) {
    enum { KINDS_MOST = 4 };
    const uint32_t units = reaching->state->units.count;
    uint32_t digit[TN_AXES_MOST];
    memcpy(digit, own, reaching->choices * sizeof *digit);
    for (uint32_t group = 0; group < units; group++) {
        uint64_t kind[KINDS_MOST];
        uint32_t chosen = 0;
        if (reaching->like[group] != group) continue;
        for (; chosen < kinds && chosen < KINDS_MOST; chosen++) { /* greedily */
            double least = INFINITY;
            for (uint32_t c = group; c < units; c++) {
                if (reaching->like[c] != group) continue;
                double sum = 0;
                uint64_t candidate = option_of(reaching, c, own);
                for (uint32_t u = group; u < units; u++) {
                    if (reaching->like[u] != group) continue;
                    uint64_t its = option_of(reaching, u, own);
                    double nearest = difference(reaching, job, u, its, candidate);
                    for (uint32_t k = 0; k < chosen; k++)
                        nearest = fmin(nearest, difference(reaching, job, u, its, kind[k]));
                    sum += nearest;
                }
                if (sum >= least) continue;
                least = sum;
                kind[chosen] = candidate;
            }
            if (least == INFINITY) break;
        }
        for (uint32_t u = group; chosen > 0 && u < units; u++) {
            if (reaching->like[u] != group) continue;
            uint64_t its = option_of(reaching, u, own), best = kind[0];
            for (uint32_t k = 1; k < chosen; k++)
                if (difference(reaching, job, u, its, kind[k]) < difference(reaching, job, u, its, best))
                    best = kind[k];
            set_option(reaching, u, best, digit);
        }
    }
    return add_design(reaching, digit, error);
}

/* The greatest factor by which the sum of the options' parts alone is worse than the bound: no less than that of the design. */
static double worse_at_least(const reach *reaching, const tn_build_task *job, const uint64_t *option,
                             size_t bound) {
    const tn_layer_table *table = &reaching->state->table[job->keys];
    tn_build_task one = *job;
    double cost[TN_COSTS], most = 1;
    tn_point point;
    for (int c = 0; c < TN_COSTS; c++) {
        cost[c] = tn_rest_cost(table, job->build, (tn_layer_cost)c);
        one.front.cost[c] = &cost[c];
    }
    for (uint32_t u = 0; u < table->units; u++) {
        if (!table->unit[u].defined[option[u]]) return INFINITY;
        for (int c = 0; c < TN_COSTS; c++)
            cost[c] += tn_option_cost(table, job->build, u, option[u], (tn_layer_cost)c);
    }
    for (int c = 0; c < TN_COSTS; c++)
        if (tn_cost_is_negated(table, (tn_layer_cost)c)) cost[c] = -cost[c];
    const tn_evaluation evaluation = tn_decomposing_bound(reaching->state, &one, 0);
    tn_space_point(reaching->space, &evaluation, 0, &point);
    for (size_t k = 0; k < reaching->objectives; k++)
        most = fmax(most, tn_worse_by(reaching->space, k, point.value[k], reaching->bounds.value[k][bound]));
    return most;
}

/* An option near the unit's: one of its choices has the next value, before or behind. */
static uint64_t neighbour_of(reach *reaching, uint32_t unit, uint64_t option) {
    const tn_unit *its = &reaching->state->units.unit[unit];
    uint32_t digit[TN_AXES_MOST];
    set_option(reaching, unit, option, digit);
    const size_t axis = its->axis[below(reaching, its->axes)],
                 count = reaching->space->choices.axis[axis].count;
    const uint32_t moved = digit[axis] + (below(reaching, 2) ? 1 : UINT32_MAX);
    if (moved < count) digit[axis] = moved;
    return option_of(reaching, unit, digit);
}

static bool is_among(const uint64_t *list, uint32_t count, uint64_t value) {
    bool found = false;
    for (uint32_t i = 0; i < count; i++) found |= list[i] == value;
    return found;
}

/* A design with a few kinds of units, each of which has as many as the others or as fill a memory that cores share: drawn,
 * until one is drawn whose parts alone are no further from the bound than the nearest design. */
static tn_status add_mix(reach *reaching, const tn_build_task *job, const uint32_t *own, size_t bound,
                         tn_error *error) {
    enum { TRIES = 40, KINDS_MOST = 6 };
    const tn_units *units = &reaching->state->units;
    const uint64_t group = reaching->state->table[job->keys].build[job->build].group;
    const double enough =
        fmax(reaching->asked, 0.5 * (reaching->asked + exp(fmin(reaching->distance[bound], 5))));
    uint64_t option[TN_AXES_MOST], best[TN_AXES_MOST];
    uint32_t digit[TN_AXES_MOST];
    double least = INFINITY;
    for (int tries = 0; tries < TRIES && least > reaching->asked; tries++) {
        for (uint32_t first = 0; first < units->count; first++) {
            uint64_t kind[KINDS_MOST];
            uint32_t likes = 0, place = 0;
            const uint32_t kinds = 1 + (uint32_t)below(reaching, KINDS_MOST);
            if (reaching->like[first] != first) continue;
            for (uint32_t u = first; u < units->count; u++) likes += reaching->like[u] == first;
            for (uint32_t k = 0; k < kinds; k++) {
                uint32_t source;
                do source = first + (uint32_t)below(reaching, units->count - first);
                while (reaching->like[source] != first);
                kind[k] = option_of(reaching, source, own);
                if (below(reaching, 4) == 0) kind[k] = neighbour_of(reaching, source, kind[k]);
                /* Of one kind in two memories nothing is saved. */
                for (int moves = 0; moves < 6 && is_among(kind, k, kind[k]); moves++)
                    kind[k] = neighbour_of(reaching, source, kind[k]);
            }
            const bool fills = likes > group && below(reaching, 3) == 0;
            for (uint32_t u = first; u < units->count; u++) {
                if (reaching->like[u] != first) continue;
                const uint64_t k = fills ? place / group : (uint64_t)place * kinds / likes;
                option[u] = kind[k < kinds ? k : kinds - 1];
                /* what differs from the rest in the bound's own design does so for a reason */
                if (below(reaching, 4) == 0 && u + 2 >= units->count) option[u] = option_of(reaching, u, own);
                place++;
            }
        }
        double worse = worse_at_least(reaching, job, option, bound);
        if (worse >= least) continue;
        least = worse;
        memcpy(best, option, units->count * sizeof *best);
    }
    if (least > enough) return TN_OK;
    memcpy(digit, own, reaching->choices * sizeof *digit);
    for (uint32_t u = 0; u < units->count; u++) set_option(reaching, u, best[u], digit);
    return add_design(reaching, digit, error);
}

/* A design that differs from `from` in a unit, in all units of a kind, or by the bound's build. */
static tn_status add_change(reach *reaching, const tn_build_task *job, const uint32_t *from,
                            const uint32_t *toward, tn_error *error) {
    const tn_units *units = &reaching->state->units;
    uint32_t digit[TN_AXES_MOST], moved[TN_AXES_MOST];
    memcpy(digit, from, reaching->choices * sizeof *digit);
    const uint32_t u = (uint32_t)below(reaching, units->count);
    const uint64_t its = option_of(reaching, u, from);
    uint32_t source = u;
    for (int tries = 0; tries < 8; tries++) { /* a like unit of the bound's design, or of the member's own */
        source = (uint32_t)below(reaching, units->count);
        if (reaching->like[source] == reaching->like[u]) break;
        source = u;
    }
    uint64_t target = option_of(reaching, source, below(reaching, 3) ? toward : from);
    if (below(reaching, 4) == 0) { /* one choice of it another value */
        const tn_unit *unit = &units->unit[u];
        size_t axis = unit->axis[below(reaching, unit->axes)];
        memcpy(moved, from, reaching->choices * sizeof *moved);
        const size_t count = reaching->space->choices.axis[axis].count;
        moved[axis] = (uint32_t)below(reaching, count);
        target = option_of(reaching, u, moved);
    }
    const bool all = below(reaching, 2);
    for (uint32_t k = 0; k < units->count; k++)
        if (k == u || (all && reaching->like[k] == reaching->like[u] && option_of(reaching, k, from) == its))
            set_option(reaching, k, target, digit);
    if (below(reaching, 4) == 0)
        tn_digits_of(&reaching->space->choices, reaching->space->inner, reaching->space->inners, job->inner,
                     digit);
    return add_design(reaching, digit, error);
}

static tn_status add_candidates(reach *reaching, size_t bound, tn_error *error) {
    enum { CHANGES = 5, KINDS = 3, MIXES = 6 };
    const tn_build_task *job = &reaching->state->task[reaching->bounds.left[bound]];
    uint32_t own[TN_AXES_MOST];
    tn_decomposing_digits(reaching->state, job, reaching->bounds.right[bound], own);
    if (reaching->tries[bound]++ == 0) {
        TN_TRY(add_design(reaching, own, error));
        for (uint32_t kinds = 1; kinds <= KINDS; kinds++) TN_TRY(add_kinds(reaching, job, own, kinds, error));
        if (reaching->nearest[bound] == UINT32_MAX) return TN_OK;
    }
    for (int i = 0; i < MIXES; i++) TN_TRY(add_mix(reaching, job, own, bound, error));
    for (int i = 0; reaching->nearest[bound] != UINT32_MAX && i < CHANGES; i++)
        TN_TRY(add_change(reaching, job,
                          reaching->member_digit + (size_t)reaching->nearest[bound] * reaching->choices, own,
                          error));
    return TN_OK;
}

/* ---- the bounds that are furthest from all designs ---- */

/* How far all bounds together are beyond what is asked. */
static double excess(const reach *reaching) {
    const double asked = log(reaching->asked);
    double sum = 0;
    for (size_t i = 0; i < reaching->bounds.count; i++)
        sum += fmin(fmax(0, reaching->distance[i] - asked), 100);
    return sum;
}

static bool is_near(const reach *reaching, size_t a, size_t b) {
    static const double apart = 0.03;
    double most = 0;
    for (size_t k = 0; k < reaching->objectives; k++)
        most = fmax(most, fabs(reaching->bound_log[a * reaching->objectives + k] -
                               reaching->bound_log[b * reaching->objectives + k]));
    return most < apart;
}

typedef struct {
    double urgency;
    size_t bound;
} urgent;

static int by_urgency(const void *left, const void *right) {
    const urgent *a = left, *b = right;
    if (a->urgency != b->urgency) return a->urgency > b->urgency ? -1 : 1;
    return (a->bound > b->bound) - (a->bound < b->bound);
}

/* Up to `most` of those beyond what is asked, the furthest first, of near ones one; what was tried often comes later. */
static tn_status pick(const reach *reaching, size_t *list, size_t most, size_t *count, tn_error *error) {
    const double asked = log(reaching->asked);
    urgent *order;
    size_t all = 0;
    *count = 0;
    TN_TRY(TN_ALLOC(reaching->bounds.count, &order, error));
    for (size_t i = 0; i < reaching->bounds.count; i++)
        if (reaching->distance[i] > asked)
            order[all++] =
                (urgent){(fmin(reaching->distance[i], 100) - asked) / (1 + 0.3 * reaching->tries[i]), i};
    qsort(order, all, sizeof *order, by_urgency);
    for (size_t i = 0; i < all && *count < most; i++) {
        bool near = false;
        for (size_t k = 0; k < *count && !near; k++) near = is_near(reaching, order[i].bound, list[k]);
        if (!near) list[(*count)++] = order[i].bound;
    }
    tn_free(order);
    return TN_OK;
}

/* Until every bound has a design as near as asked, or little comes nearer any more; `last`: or the time or the designs that
 * there are for it are over. */
static tn_status approach(reach *reaching, bool last, tn_error *error) {
    enum { PICKED = 48, STALE_MOST = 3 };
    const bool timed = reaching->state->options->seconds > 0;
    size_t list[PICKED], count;
    double before = excess(reaching);
    for (int stale = 0; (stale < STALE_MOST || (last && timed)) && before > 0 && !is_over(reaching);) {
        TN_TRY(pick(reaching, list, PICKED, &count, error));
        for (size_t i = 0; i < count; i++) TN_TRY(add_candidates(reaching, list[i], error));
        if (reaching->next.count == 0 && ++stale > 2 * STALE_MOST) break;
        TN_TRY(price_batch(reaching, error));
        double now = excess(reaching);
        stale = now < before * (1 - (last ? 1e-3 : 1e-2)) ? 0 : stale + 1;
        before = now;
    }
    return TN_OK;
}

/* ---- the whole ---- */

/* Builds some of whose bounds are beyond what is asked, of those with coarser boxes than `epsilon`. */
static bool list_wanted(const reach *reaching, double epsilon, bool *wants) {
    const double asked = log(reaching->asked);
    bool any = false;
    memset(wants, 0, reaching->state->tasks * sizeof *wants);
    for (size_t i = 0; i < reaching->bounds.count; i++) {
        const uint32_t task = reaching->bounds.left[i];
        if (reaching->distance[i] <= asked ||
            reaching->state->task[task].front.slack <= 1 + 1.001 * epsilon ||
            reaching->state->task[task].is_finest)
            continue;
        any = wants[task] = true;
    }
    return any;
}

static tn_status seek(reach *reaching, tn_error *error) {
    static const double steps[] = {0.3, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001};
    tn_decomposing *state = reaching->state;
    bool *wants;
    TN_TRY(find_likes(reaching, error));
    TN_TRY(TN_NEW(&state->arena, state->tasks + 1, &wants, error));
    for (size_t i = 0; i < state->tasks; i++) wants[i] = true;
    TN_TRY(add_uniform(reaching, reaching->most / 4, error));
    TN_TRY(price_batch(reaching, error));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const bool last = steps[i] < 0.15 * (reaching->asked - 1) || i + 1 == sizeof steps / sizeof *steps;
        /* What finer bounds of others no longer cover is to be as fine. */
        do {
            TN_TRY(find_fronts(reaching, wants, steps[i], error));
            TN_TRY(gather_bounds(reaching, error));
        } while (list_wanted(reaching, steps[i], wants) && !is_over(reaching));
        TN_TRY(approach(reaching, last, error));
        if (!list_wanted(reaching, 0, wants) || is_over(reaching) || last) break;
    }
    return tn_interrupted() && reaching->members == 0 ? tn_fail(error, TN_INTERRUPTED, "interrupted") : TN_OK;
}

static void certify(const reach *reaching, tn_decomposed *found) {
    const tn_space *space = reaching->space;
    for (size_t k = 0; k < space->objectives; k++) found->factor[k] = 1;
    for (size_t i = 0; i < reaching->bounds.count; i++)
        for (size_t k = 0; k < space->objectives; k++) {
            uint32_t member = reaching->nearest[i];
            found->factor[k] =
                fmax(found->factor[k], member == UINT32_MAX
                                           ? INFINITY
                                           : tn_worse_by(space, k, reaching->member[member].value[k],
                                                         reaching->bounds.value[k][i]));
        }
    found->exact = true;
    for (size_t k = 0; k < space->objectives; k++) {
        if (found->factor[k] > 1 && isfinite(found->factor[k])) found->factor[k] *= 1 + 1e-9; /* rounding */
        found->exact &= found->factor[k] == 1;
    }
}

static tn_status take_members(reach *reaching, tn_decomposed *found, tn_error *error) {
    tn_point *point = NULL;
    found->count = reaching->archive.count;
    tn_status status = TN_ALLOC(found->count, &point, error);
    if (status == TN_OK) status = TN_ALLOC(found->count * reaching->choices, &found->digit, error);
    if (status == TN_OK) status = TN_ALLOC(found->count, &found->evaluation, error);
    if (status == TN_OK) tn_archive_points(&reaching->archive, point);
    for (size_t i = 0; status == TN_OK && i < found->count; i++) {
        size_t member = (size_t)point[i].id;
        memcpy(found->digit + i * reaching->choices, reaching->member_digit + member * reaching->choices,
               reaching->choices * sizeof *found->digit);
        found->evaluation[i] = reaching->evaluation[member];
    }
    tn_free(point);
    return status;
}

tn_status tn_bounded_front(tn_decomposing *state, tn_decomposed *found, tn_error *error) {
    enum { DESIGNS_MOST = 20000 };
    const bool timed = state->options->seconds > 0;
    reach reaching = {.state = state,
                      .space = state->space,
                      .choices = state->space->choices.count,
                      .objectives = state->space->objectives,
                      .asked = 1 + state->options->epsilon,
                      .most = timed ? UINT64_MAX : DESIGNS_MOST,
                      .random = 1};
    state->front.deadline = timed ? tn_clock_seconds() + state->options->seconds : INFINITY;
    tn_archive_begin(&reaching.archive, reaching.objectives);
    tn_sums_begin(&reaching.bounds, reaching.objectives);
    tn_status status = seek(&reaching, error);
    if (status == TN_OK) certify(&reaching, found);
    if (status == TN_OK) status = take_members(&reaching, found, error);
    for (size_t i = 0; i < state->tasks; i++)
        if (state->task[i].front.option) tn_build_front_free(&state->task[i].front, state->units.count);
    tn_archive_free(&reaching.archive);
    tn_sums_free(&reaching.bounds);
    tn_free(reaching.seen);
    tn_free(reaching.next.digit);
    tn_free(reaching.next.evaluation);
    tn_free(reaching.next.cause);
    tn_free(reaching.member);
    tn_free(reaching.member_log);
    tn_free(reaching.member_digit);
    tn_free(reaching.evaluation);
    tn_free(reaching.bound_log);
    tn_free(reaching.distance);
    tn_free(reaching.nearest);
    tn_free(reaching.tries);
    return status;
}
