#include "search/reach.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

uint64_t tn_reach_below(tn_reach *reaching, uint64_t count) {
    return tn_splitmix_next(&reaching->random) % count;
}

void tn_reach_set_option(const tn_reach *reaching, uint32_t unit, uint64_t option, uint32_t *digit) {
    const tn_unit *its = &reaching->state->units.unit[unit];
    tn_digits_of(&reaching->space->choices, its->axis, its->axes, option, digit);
}

uint64_t tn_reach_option(const tn_reach *reaching, uint32_t unit, const uint32_t *digit) {
    const tn_unit *its = &reaching->state->units.unit[unit];
    return tn_digits_number(&reaching->space->choices, its->axis, its->axes, digit);
}

/* Whether the units have choices of the same kinds with as many values. */
static bool are_alike(const tn_reach *reaching, const tn_unit *a, const tn_unit *b) {
    bool alike = a->axes == b->axes;
    for (size_t i = 0; alike && i < a->axes; i++) {
        const tn_axis *x = &reaching->space->choices.axis[a->axis[i]],
                      *y = &reaching->space->choices.axis[b->axis[i]];
        alike = x->kind == y->kind && x->count == y->count;
    }
    return alike;
}

tn_status tn_reach_find_likes(tn_reach *reaching, tn_error *error) {
    const tn_units *units = &reaching->state->units;
    TN_TRY(TN_NEW(&reaching->state->arena, units->count, &reaching->like, error));
    for (uint32_t u = 0; u < units->count; u++) {
        reaching->like[u] = u;
        for (uint32_t k = 0; k < u && reaching->like[u] == u; k++)
            if (are_alike(reaching, &units->unit[k], &units->unit[u])) reaching->like[u] = reaching->like[k];
    }
    return TN_OK;
}

static void set_build(const tn_reach *reaching, const tn_build_task *job, uint32_t *digit) {
    const tn_space *space = reaching->space;
    memcpy(digit, reaching->state->key_digit[job->keys], space->choices.count * sizeof *digit);
    tn_digits_of(&space->choices, space->inner, space->inners, job->inner, digit);
}

tn_status tn_reach_add_uniform(tn_reach *reaching, uint64_t most, tn_error *error) {
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
            option[u] = all ? rest % options : tn_reach_below(reaching, options);
            rest /= options;
        }
        for (size_t i = 0; i < state->tasks; i++) {
            if (state->task[i].skipped) continue;
            set_build(reaching, &state->task[i], digit);
            for (uint32_t u = 0; u < units; u++) tn_reach_set_option(reaching, u, option[u], digit);
            TN_TRY(tn_reach_add_design(reaching, digit, error));
        }
    }
    return TN_OK;
}

/* How much two options of a unit differ in what the objectives are made of. */
static double difference(const tn_reach *reaching, const tn_build_task *job, uint32_t unit, uint64_t a,
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
static tn_status add_kinds(tn_reach *reaching, const tn_build_task *job, const uint32_t *own, uint32_t kinds,
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
                uint64_t candidate = tn_reach_option(reaching, c, own);
                for (uint32_t u = group; u < units; u++) {
                    if (reaching->like[u] != group) continue;
                    uint64_t its = tn_reach_option(reaching, u, own);
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
            uint64_t its = tn_reach_option(reaching, u, own), best = kind[0];
            for (uint32_t k = 1; k < chosen; k++)
                if (difference(reaching, job, u, its, kind[k]) < difference(reaching, job, u, its, best))
                    best = kind[k];
            tn_reach_set_option(reaching, u, best, digit);
        }
    }
    return tn_reach_add_design(reaching, digit, error);
}

/* A design that differs from `from` in a unit, in all units of a kind, or by the bound's build. */
static tn_status add_change(tn_reach *reaching, const tn_build_task *job, const uint32_t *from,
                            const uint32_t *toward, tn_error *error) {
    const tn_units *units = &reaching->state->units;
    uint32_t digit[TN_AXES_MOST], moved[TN_AXES_MOST];
    memcpy(digit, from, reaching->choices * sizeof *digit);
    const uint32_t u = (uint32_t)tn_reach_below(reaching, units->count);
    const uint64_t its = tn_reach_option(reaching, u, from);
    uint32_t source = u;
    for (int tries = 0; tries < 8; tries++) { /* a like unit of the bound's design, or of the member's own */
        source = (uint32_t)tn_reach_below(reaching, units->count);
        if (reaching->like[source] == reaching->like[u]) break;
        source = u;
    }
    uint64_t target = tn_reach_option(reaching, source, tn_reach_below(reaching, 3) ? toward : from);
    if (tn_reach_below(reaching, 4) == 0) { /* one choice of it another value */
        const tn_unit *unit = &units->unit[u];
        size_t axis = unit->axis[tn_reach_below(reaching, unit->axes)];
        memcpy(moved, from, reaching->choices * sizeof *moved);
        const size_t count = reaching->space->choices.axis[axis].count;
        moved[axis] = (uint32_t)tn_reach_below(reaching, count);
        target = tn_reach_option(reaching, u, moved);
    }
    const bool all = tn_reach_below(reaching, 2);
    for (uint32_t k = 0; k < units->count; k++)
        if (k == u ||
            (all && reaching->like[k] == reaching->like[u] && tn_reach_option(reaching, k, from) == its))
            tn_reach_set_option(reaching, k, target, digit);
    if (tn_reach_below(reaching, 4) == 0)
        tn_digits_of(&reaching->space->choices, reaching->space->inner, reaching->space->inners, job->inner,
                     digit);
    return tn_reach_add_design(reaching, digit, error);
}

tn_status tn_reach_add_candidates(tn_reach *reaching, size_t bound, tn_error *error) {
    enum { CHANGES = 5, KINDS = 3, MIXES = 6 };
    const tn_build_task *job = &reaching->state->task[reaching->bounds.left[bound]];
    uint32_t own[TN_AXES_MOST];
    tn_decomposing_digits(reaching->state, job, reaching->bounds.right[bound], own);
    if (reaching->tries[bound]++ == 0) {
        TN_TRY(tn_reach_add_design(reaching, own, error));
        for (uint32_t kinds = 1; kinds <= KINDS; kinds++) TN_TRY(add_kinds(reaching, job, own, kinds, error));
        if (reaching->nearest[bound] == UINT32_MAX) return TN_OK;
    }
    for (int i = 0; i < MIXES; i++) TN_TRY(tn_reach_add_mix(reaching, job, own, bound, error));
    for (int i = 0; reaching->nearest[bound] != UINT32_MAX && i < CHANGES; i++)
        TN_TRY(add_change(reaching, job,
                          reaching->member_digit + (size_t)reaching->nearest[bound] * reaching->choices, own,
                          error));
    return TN_OK;
}
