#include "search/reach.h"

#include "search/certificate.h"

#include <math.h>
#include <string.h>

/* The greatest factor by which the sum of the options' parts alone is worse than the bound: no less than that of the design. */
static double worse_at_least(const tn_reach *reaching, const tn_build_task *job, const uint64_t *option,
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
static uint64_t neighbour_of(tn_reach *reaching, uint32_t unit, uint64_t option) {
    const tn_unit *its = &reaching->state->units.unit[unit];
    uint32_t digit[TN_AXES_MOST];
    tn_reach_set_option(reaching, unit, option, digit);
    const size_t axis = its->axis[tn_reach_below(reaching, its->axes)],
                 count = reaching->space->choices.axis[axis].count;
    const uint32_t moved = digit[axis] + (tn_reach_below(reaching, 2) ? 1 : UINT32_MAX);
    if (moved < count) digit[axis] = moved;
    return tn_reach_option(reaching, unit, digit);
}

static bool is_among(const uint64_t *list, uint32_t count, uint64_t value) {
    bool found = false;
    for (uint32_t i = 0; i < count; i++) found |= list[i] == value;
    return found;
}

tn_status tn_reach_add_mix(tn_reach *reaching, const tn_build_task *job, const uint32_t *own, size_t bound,
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
            const uint32_t kinds = 1 + (uint32_t)tn_reach_below(reaching, KINDS_MOST);
            if (reaching->like[first] != first) continue;
            for (uint32_t u = first; u < units->count; u++) likes += reaching->like[u] == first;
            for (uint32_t k = 0; k < kinds; k++) {
                uint32_t source;
                do source = first + (uint32_t)tn_reach_below(reaching, units->count - first);
                while (reaching->like[source] != first);
                kind[k] = tn_reach_option(reaching, source, own);
                if (tn_reach_below(reaching, 4) == 0) kind[k] = neighbour_of(reaching, source, kind[k]);
                /* Of one kind in two memories nothing is saved. */
                for (int moves = 0; moves < 6 && is_among(kind, k, kind[k]); moves++)
                    kind[k] = neighbour_of(reaching, source, kind[k]);
            }
            const bool fills = likes > group && tn_reach_below(reaching, 3) == 0;
            for (uint32_t u = first; u < units->count; u++) {
                if (reaching->like[u] != first) continue;
                const uint64_t k = fills ? place / group : (uint64_t)place * kinds / likes;
                option[u] = kind[k < kinds ? k : kinds - 1];
                /* what differs from the rest in the bound's own design does so for a reason */
                if (tn_reach_below(reaching, 4) == 0 && u + 2 >= units->count)
                    option[u] = tn_reach_option(reaching, u, own);
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
    for (uint32_t u = 0; u < units->count; u++) tn_reach_set_option(reaching, u, best[u], digit);
    return tn_reach_add_design(reaching, digit, error);
}
