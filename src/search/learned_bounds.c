#include "search/learned_bounds.h"

#include "base/checked.h"
#include "base/interrupt.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Settings are numbers of digits, those of a unit's choices next to each other. */
typedef struct {
    const tn_space *space;
    tn_layer_table *table;
    tn_layer_cost cost;
    double deadline;
    tn_arena *arena;
    size_t axes, axis[TN_ACCURACY_CHOICES_MOST];
    uint64_t settings, *stride, *classes; /* [units]: c_u(k) = k / stride % classes */
    double *value;                        /* [settings]: v; INFINITY where nothing is known */
    double *sum;                          /* [settings] */
    double **part;                        /* [units][classes]: g */
} finder;

/* ---- settings ---- */

static bool is_asked(const finder *state, size_t axis) {
    const tn_accuracy_table *table = &state->space->accuracy_table;
    bool is = false;
    for (size_t i = 0; i < table->columns; i++) is |= table->column[i].axis == axis;
    return is;
}

static void add_axis(finder *state, size_t axis) {
    state->axis[state->axes++] = axis;
    if (!tn_mul(state->settings, state->space->choices.axis[axis].count, &state->settings))
        state->settings = UINT64_MAX;
}

/* Of units; where others bear on what is learned, settings are too many to be listed. */
static tn_status list_axes(finder *state, const tn_units *units, tn_error *error) {
    TN_TRY(TN_NEW(state->arena, units->count, &state->stride, error));
    TN_TRY(TN_NEW(state->arena, units->count, &state->classes, error));
    state->settings = 1;
    for (uint32_t u = 0; u < units->count; u++) {
        const tn_unit *unit = &units->unit[u];
        state->stride[u] = state->settings;
        for (size_t i = 0; i < unit->axes; i++)
            if (is_asked(state, unit->axis[i])) add_axis(state, unit->axis[i]);
        state->classes[u] = state->settings / state->stride[u];
    }
    size_t listed = 0;
    for (size_t i = 0; i < state->space->choices.count; i++)
        listed += is_asked(state, i) && state->space->choices.axis[i].kind != TN_AXIS_MODEL_KEY;
    if (listed != state->axes) state->settings = UINT64_MAX;
    return TN_OK;
}

/* As the evaluator rounds it. */
static double learned_at(const finder *state, const size_t *digit) {
    const tn_accuracy_table *table = &state->space->accuracy_table;
    tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
    tn_accuracy_basis basis;
    tn_accuracy_table_values(table, digit, value);
    const tn_accuracy_estimate found = tn_accuracy_table_told_estimate(
        table, tn_accuracy_table_at(table, value, table->model.passes, &basis));
    if (isnan(found.mean)) return INFINITY; /* a design without a value is on no front */
    if (state->cost == TN_COST_BASIS) return (double)basis;
    if (state->cost == TN_COST_DEVIATION) return round(1e6 * found.deviation) / 1e6;
    return (table->answers > 0 ? 1 : -1) * round(1e6 * found.mean) / 1e6;
}

static tn_status find_values(finder *state, const uint32_t *key_digit, tn_error *error) {
    enum { LOOKS = 16 }; /* settings between two looks at the time */
    const tn_choices *choices = &state->space->choices;
    size_t digit[TN_AXES_MOST];
    TN_TRY(TN_NEW(state->arena, state->settings, &state->value, error));
    TN_TRY(TN_NEW(state->arena, state->settings, &state->sum, error));
    for (size_t i = 0; i < choices->count; i++) digit[i] = key_digit[i];
    for (uint64_t k = 0; k < state->settings; k++) {
        uint64_t rest = k;
        if (k % LOOKS == 0) TN_TRY(tn_check_time(state->deadline, error));
        for (size_t i = 0; i < state->axes; rest /= choices->axis[state->axis[i++]].count)
            digit[state->axis[i]] = (size_t)(rest % choices->axis[state->axis[i]].count);
        state->value[k] = learned_at(state, digit);
    }
    return TN_OK;
}

/* ---- sums ---- */

static uint64_t class_of(const finder *state, uint32_t unit, uint64_t setting) {
    return setting / state->stride[unit] % state->classes[unit];
}

static double mean_of_all(const finder *state) {
    double sum = 0, count = 0;
    for (uint64_t k = 0; k < state->settings; k++) {
        if (state->value[k] == INFINITY) continue;
        sum += state->value[k];
        count++;
    }
    return count > 0 ? sum / count : 0;
}

/* How far the settings of each class are from the mean of all. */
static tn_status begin_parts(finder *state, tn_error *error) {
    const double mean = mean_of_all(state);
    TN_TRY(TN_NEW(state->arena, state->table->units, &state->part, error));
    for (uint32_t u = 0; u < state->table->units; u++) {
        double *count;
        TN_TRY(tn_check_time(state->deadline, error));
        TN_TRY(TN_NEW(state->arena, state->classes[u], &state->part[u], error));
        TN_TRY(TN_NEW(state->arena, state->classes[u], &count, error));
        for (uint64_t k = 0; k < state->settings; k++) {
            if (state->value[k] == INFINITY) continue;
            state->part[u][class_of(state, u, k)] += state->value[k] - mean;
            count[class_of(state, u, k)]++;
        }
        for (uint64_t c = 0; c < state->classes[u]; c++) state->part[u][c] /= fmax(1, count[c]);
    }
    for (uint64_t k = 0; k < state->settings; k++)
        for (uint32_t u = 0; u < state->table->units; u++)
            state->sum[k] += state->part[u][class_of(state, u, k)];
    return TN_OK;
}

/* Each class of the unit by the least that its settings are above their sums. */
static tn_status raise(finder *state, uint32_t u, tn_error *error) {
    double *least;
    TN_TRY(tn_check_time(state->deadline, error));
    TN_TRY(TN_NEW(state->arena, state->classes[u], &least, error));
    for (uint64_t c = 0; c < state->classes[u]; c++) least[c] = INFINITY;
    for (uint64_t k = 0; k < state->settings; k++) {
        double *its = &least[class_of(state, u, k)];
        *its = fmin(*its, state->value[k] - state->sum[k]);
    }
    for (uint64_t c = 0; c < state->classes[u]; c++)
        if (isfinite(least[c])) state->part[u][c] += least[c];
    for (uint64_t k = 0; k < state->settings; k++) {
        const uint64_t c = class_of(state, u, k);
        if (isfinite(least[c])) state->sum[k] += least[c];
    }
    return TN_OK;
}

/* ---- the table ---- */

/* The part of a unit with that option. */
static double part_of(const finder *state, const tn_units *units, uint32_t u, uint64_t option) {
    const tn_choices *choices = &state->space->choices;
    const tn_unit *unit = &units->unit[u];
    uint32_t digit[TN_AXES_MOST];
    uint64_t number = 0, stride = 1;
    tn_digits_of(choices, unit->axis, unit->axes, option, digit);
    for (size_t i = 0; i < unit->axes; i++) {
        if (!is_asked(state, unit->axis[i])) continue;
        number += digit[unit->axis[i]] * stride;
        stride *= choices->axis[unit->axis[i]].count;
    }
    return state->part[u][number];
}

static double *rest_of(const finder *state) {
    return &state->table->learned_rest[state->cost - TN_LEARNED_FIRST];
}

/* Parts of a unit are all of one sign, that of the whole: its end nearest to 0 goes to the rest. */
static void fill_unit(const finder *state, const tn_units *units, uint32_t u) {
    double *learned = state->table->unit[u].learned[state->cost - TN_LEARNED_FIRST], end = 0;
    const double sign = tn_cost_is_negated(state->table, state->cost) ? -1 : 1;
    const uint64_t options = state->table->unit[u].options;
    for (uint64_t o = 0; o < options; o++) {
        learned[o] = part_of(state, units, u, o);
        if (o == 0 || sign * learned[o] < sign * end) end = learned[o];
    }
    for (uint64_t o = 0; o < options; o++) learned[o] -= end;
    *rest_of(state) += end;
}

/* One bound for all designs. */
static void fill_alike(const finder *state, double least) {
    for (uint32_t u = 0; u < state->table->units; u++)
        memset(state->table->unit[u].learned[state->cost - TN_LEARNED_FIRST], 0,
               state->table->unit[u].options * sizeof(double));
    *rest_of(state) = least;
}

tn_status tn_learned_bounds_find(const tn_space *space, const tn_units *units, const uint32_t *digit,
                                 tn_layer_cost cost, uint64_t settings_most, double deadline, tn_arena *arena,
                                 tn_layer_table *table, tn_error *error) {
    finder state = {.space = space, .table = table, .cost = cost, .deadline = deadline, .arena = arena};
    const double best = cost == TN_COST_LEARNED ? tn_accuracy_to_minimise(&space->accuracy_table, 1) : 0;
    table->learns_more = space->accuracy_table.answers == 0;
    for (uint32_t u = 0; u < units->count; u++)
        TN_TRY(
            TN_NEW(arena, table->unit[u].options, &table->unit[u].learned[cost - TN_LEARNED_FIRST], error));
    TN_TRY(list_axes(&state, units, error));
    if (state.settings > settings_most) {
        fill_alike(&state, best);
        return TN_OK;
    }
    TN_TRY(find_values(&state, digit, error));
    TN_TRY(begin_parts(&state, error));
    double above = INFINITY, least = INFINITY;
    for (uint64_t k = 0; k < state.settings; k++) {
        above = fmin(above, state.value[k] - state.sum[k]);
        least = fmin(least, state.value[k]);
    }
    if (!isfinite(above)) { /* no design has a value */
        fill_alike(&state, best);
        return TN_OK;
    }
    *rest_of(&state) = above;
    for (uint64_t k = 0; k < state.settings; k++) state.sum[k] += above;
    for (uint32_t u = 0; u < units->count; u++) TN_TRY(raise(&state, u, error));
    for (uint32_t u = 0; u < units->count; u++) fill_unit(&state, units, u);
    /* Sums of one sign alone are rounded to boxes. */
    if (tn_cost_is_negated(table, cost) ? *rest_of(&state) > 0 : *rest_of(&state) < 0)
        fill_alike(&state, least);
    return TN_OK;
}
