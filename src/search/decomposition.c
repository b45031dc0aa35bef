#include "search/decomposition.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "price/obstacle.h"
#include "search/decomposing.h"
#include "search/learned_bounds.h"
#include "search/quantity_cost.h"

#include <math.h>
#include <string.h>

enum { TABLE_BYTES_MOST_LOG2 = 32 };

/* ---- a space's tables ---- */

static tn_status list_keys(tn_decomposing *state, tn_error *error) {
    const tn_space *space = state->space;
    state->keys = 1;
    for (size_t i = 0; i < space->outers; i++)
        if (space->choices.axis[space->outer[i]].kind == TN_AXIS_MODEL_KEY) {
            state->key_axis[state->key_axes++] = space->outer[i];
            if (!tn_mul(state->keys, space->choices.axis[space->outer[i]].count, &state->keys))
                state->keys = UINT64_MAX;
        }
    /* What tables of parts take. */
    uint64_t bytes = state->keys, options = 0;
    for (uint32_t u = 0; u < state->units.count; u++)
        if (!tn_add(options, state->units.unit[u].options, &options)) options = UINT64_MAX;
    bool fits = tn_mul(bytes, options, &bytes) && tn_mul(bytes, space->inner_count, &bytes) &&
                tn_mul(bytes, sizeof(tn_price_part), &bytes) && bytes >> TABLE_BYTES_MOST_LOG2 == 0;
    if (!fits) {
        state->refused = "its options, builds and model keys make tables of over 4 GiB";
        return TN_OK;
    }
    TN_TRY(TN_NEW(&state->arena, state->keys, &state->key_digit, error));
    for (uint64_t k = 0; k < state->keys; k++)
        tn_digits_of(&space->choices, state->key_axis, state->key_axes, k, state->key_digit[k]);
    return TN_OK;
}

static tn_status make_tables(tn_decomposing *state, tn_error *error) {
    const tn_space *space = state->space;
    enum { SETTINGS_MOST = 100000 };
    uint64_t *inner;
    size_t builds = (size_t)space->inner_count;
    TN_TRY(TN_NEW(&state->arena, builds, &inner, error));
    for (size_t b = 0; b < builds; b++) inner[b] = b;
    TN_TRY(TN_NEW(&state->arena, state->keys, &state->table, error));
    TN_TRY(TN_NEW(&state->arena, state->keys * builds, &state->task, error));
    for (uint64_t k = 0; k < state->keys && !state->refused; k++) {
        tn_layer_table *table = &state->table[k];
        const tn_table_work work = {.deadline = state->table_deadline,
                                    .is_paced = state->options->table_seconds > 0,
                                    .threads = state->options->threads,
                                    .progress = state->options->progress,
                                    .table = k,
                                    .tables = state->keys};
        tn_status status = tn_layer_table_make(space, &state->units, state->key_digit[k], inner, builds,
                                               state->bounded, &work, &state->arena, table, error);
        state->stage = table->stage;
        state->share = ((double)k + table->share) / (double)state->keys;
        if (status != TN_OK) return status;
        state->refused = table->refused;
        for (int c = TN_LEARNED_FIRST; c < TN_LEARNED_FIRST + TN_LEARNED_COSTS; c++)
            if (tn_space_asks_learned(space, (tn_layer_cost)c) && !table->refused)
                TN_TRY(tn_learned_bounds_find(space, &state->units, state->key_digit[k], (tn_layer_cost)c,
                                              SETTINGS_MOST / state->keys, state->table_deadline,
                                              &state->arena, table, error));
        for (size_t b = 0; !table->empty && !table->refused && b < builds; b++)
            if (!table->impossible[b])
                state->task[state->tasks++] = (tn_build_task){.keys = (size_t)k, .build = b, .inner = b};
    }
    return TN_OK;
}

/* Where prices do not split, tables of bounds. */
static tn_status make_some_tables(tn_decomposing *state, tn_error *error) {
    for (size_t i = 0; i < state->space->objectives; i++)
        state->bounded |= tn_quantity_cost_of(state->space->objective[i])->is_bound;
    TN_TRY(make_tables(state, error));
    if (!state->refused || state->bounded) return TN_OK;
    state->bounded = true;
    state->refused = NULL;
    state->tasks = 0;
    return make_tables(state, error);
}

static tn_status make_tables_in_time(tn_decomposing *state, tn_error *error) {
    const tn_status status = make_some_tables(state, error);
    if (status != TN_INTERRUPTED || tn_interrupted() || state->options->table_seconds == 0) return status;
    state->refused = "its tables would take over three quarters of the time";
    return TN_OK;
}

/* ---- builds that cannot enter ---- */

static bool has_dsp_objective(const tn_space *space) {
    for (size_t i = 0; i < space->objectives; i++)
        if (strcmp(space->objective[i]->name, "dsp") == 0) return true;
    return false;
}

/* Of designs that are equal in all objectives that of the least id is the front's, so without DSPs among them only
 * later builds are skipped. */
static bool is_beaten(const tn_decomposing *state, const tn_build_task *b) {
    for (size_t i = 0; i < state->tasks; i++) {
        const tn_build_task *a = &state->task[i];
        const tn_build *build = &state->table[a->keys].build[a->build];
        if (a == b || a->keys != b->keys ||
            !tn_build_only_adds_kernels(build, &state->table[b->keys].build[b->build]))
            continue;
        uint64_t dsp[2] = {state->table[a->keys].kernels[a->build].dsp,
                           state->table[b->keys].kernels[b->build].dsp};
        bool strict = has_dsp_objective(state->space) && dsp[0] < dsp[1];
        if (strict || a->inner < b->inner) return true;
    }
    return false;
}

static void skip_builds(tn_decomposing *state) {
    const tn_resources *budget = &state->space->budget;
    const bool caps = tn_constraints_only_cap(state->space->constraint, state->space->constraints);
    bool must_be_built = false; /* as whole designs' constraints would say of each */
    for (size_t i = 0; i < state->space->constraints; i++)
        must_be_built |= state->space->constraint[i].quantity && state->space->constraint[i].most == 0 &&
                         tn_quantity_is_obstacle(state->space->constraint[i].quantity);
    for (size_t i = 0; i < state->tasks; i++) {
        tn_build_task *job = &state->task[i];
        const tn_resources *kernels = &state->table[job->keys].kernels[job->build];
        job->skipped = (must_be_built && tn_build_obstacle(&state->table[job->keys].build[job->build])) ||
                       kernels->lut > budget->lut || kernels->ff > budget->ff || kernels->dsp > budget->dsp ||
                       (caps && !state->bounded && is_beaten(state, job));
    }
}

/* ---- costs that are followed ---- */

static void set_costs(tn_decomposing *state) {
    const tn_space *space = state->space;
    enum { SUMS_MOST = 20000000 };
    state->front.most = SUMS_MOST;
    state->front.bounds_only = state->bounded;
    for (size_t i = 0; i < space->objectives; i++) {
        const tn_quantity_cost *origin = tn_quantity_cost_of(space->objective[i]);
        if (origin && origin->cost < TN_COSTS) state->front.objective[origin->cost] = true;
    }
    for (size_t i = 0; i < space->constraints; i++) {
        const tn_quantity_cost *origin =
            space->constraint[i].quantity ? tn_quantity_cost_of(space->constraint[i].quantity) : NULL;
        if (origin && origin->cost < TN_COSTS) state->front.bounded[origin->cost] = true;
    }
}

/* ---- nothing ---- */

/* The first design of a build, and what it lacks. */
static tn_status price_first(tn_decomposing *state, tn_evaluator *evaluator, const tn_layer_table *table,
                             size_t build, tn_error *error) {
    const tn_space *space = state->space;
    uint32_t digit[TN_AXES_MOST], cause;
    tn_evaluation evaluation;
    memcpy(digit, state->key_digit[table - state->table], space->choices.count * sizeof *digit);
    for (uint32_t u = 0; u < state->units.count; u++) {
        uint64_t option = 0;
        while (!table->unit[u].defined[option]) option++;
        tn_digits_of(&space->choices, state->units.unit[u].axis, state->units.unit[u].axes, option, digit);
    }
    tn_digits_of(&space->choices, space->inner, space->inners, build, digit);
    TN_TRY(tn_evaluate_digits(evaluator, digit, &evaluation, &cause, error));
    state->cause[cause]++;
    state->evaluated++;
    return TN_OK;
}

/* Where no build is left: some of them tell what is short. */
static tn_status price_refused(tn_decomposing *state, tn_decomposed *found, tn_error *error) {
    enum { PRICED_MOST = 64 };
    tn_evaluator *evaluator;
    found->none_fits = true;
    TN_TRY(tn_evaluator_new(state->space, &evaluator, error));
    tn_status status = TN_OK;
    for (uint64_t k = 0; k < state->keys; k++)
        for (size_t b = 0; !state->table[k].empty && b < state->table[k].builds; b++)
            if (status == TN_OK && state->evaluated < PRICED_MOST)
                status = price_first(state, evaluator, &state->table[k], b, error);
    tn_evaluator_free(evaluator);
    return status;
}

/* ---- the whole ---- */

static tn_status run(tn_decomposing *state, tn_decomposed *found, tn_error *error) {
    state->refused = tn_objective_without_cost(state->space);
    if (state->refused) return TN_OK;
    TN_TRY(tn_units_find(state->space, &state->arena, &state->units, error));
    if (state->units.count == 0) state->refused = "no choice is of a weight or a layer";
    if (!state->refused) TN_TRY(list_keys(state, error));
    if (!state->refused) TN_TRY(make_tables_in_time(state, error));
    if (state->refused) return TN_OK;
    state->share = 1;
    skip_builds(state);
    set_costs(state);
    if (state->tasks == 0) return price_refused(state, found, error);
    if (state->bounded) return tn_bounded_front(state, found, error);
    return tn_summed_front(state, found, error);
}

/* In the place of TN_INTERRUPTED, where only the time ended it, and there is no front. */
static tn_status say_time_is_over(const tn_decomposing *state, tn_error *error) {
    uint64_t options = 0;
    for (uint32_t u = 0; u < state->units.count; u++)
        if (!tn_add(options, state->units.unit[u].options, &options)) options = UINT64_MAX;
    return tn_fail(
        error, TN_LIMIT,
        "the %g s of --time were over with %.3g %% of the %s, before there was a front: %llu options of "
        "layers under %llu builds; allow more time or fewer values of choices, or leave --time out",
        state->options->seconds, 100 * state->share, state->stage, (unsigned long long)options,
        (unsigned long long)(state->keys * state->space->inner_count));
}

tn_status tn_decompose(const tn_space *space, const tn_decompose_options *options, tn_decomposed *found,
                       tn_error *error) {
    tn_decomposing state = {.space = space, .options = options, .stage = "tables made"};
    double started = tn_clock_seconds();
    state.front.deadline = options->seconds > 0 ? started + options->seconds : INFINITY;
    state.table_deadline =
        options->table_seconds > 0 ? started + options->table_seconds : state.front.deadline;
    *found = (tn_decomposed){0};
    tn_sums_begin(&state.chosen, space->objectives);
    tn_status status = run(&state, found, error);
    if (status == TN_INTERRUPTED && !tn_interrupted()) status = say_time_is_over(&state, error);
    if (status == TN_OK && state.hides)
        state.refused = "nothing that it evaluated fits, and it does not see what that lacks before: LUTs, "
                        "flip-flops, or what a constraint asks";
    found->refused = state.refused;
    found->evaluated = state.evaluated;
    memcpy(found->cause, state.cause, sizeof found->cause);
    found->builds = state.tasks;
    for (size_t i = 0; i < state.tasks; i++) found->skipped += state.task[i].skipped;
    found->seconds = tn_clock_seconds() - started;
    tn_sums_free(&state.chosen);
    tn_arena_free(&state.arena);
    if (status != TN_OK) tn_decomposed_free(found);
    return status;
}

void tn_decomposed_free(tn_decomposed *found) {
    tn_free(found->digit);
    tn_free(found->evaluation);
    *found = (tn_decomposed){0};
}
