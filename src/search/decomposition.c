#include "search/decomposition.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/threads.h"
#include "front/archive.h"
#include "price/obstacle.h"
#include "search/certificate.h"
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
        const tn_table_work work = {.deadline = state->front.deadline,
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
                                              SETTINGS_MOST / state->keys, state->front.deadline,
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

/* ---- fronts of builds ---- */

static tn_status find_fronts(tn_decomposing *state, tn_error *error) {
    int threads = tn_thread_count(state->options->threads);
    size_t done = 0, all = 0;
    bool failed = false;
    for (size_t i = 0; i < state->tasks; i++) all += !state->task[i].skipped;
    tn_progress_begin(state->options->progress, "builds merged");
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < state->tasks; i++) {
        tn_build_task *job = &state->task[i];
        if (job->skipped || failed) continue;
        job->status =
            tn_build_front_find(state->space, &state->units, &state->table[job->keys], job->build,
                                state->key_digit[job->keys], &state->front, &job->front, &job->error);
        if (job->status == TN_OK) job->status = TN_ALLOC(job->front.count, &job->design, &job->error);
#pragma omp critical(tenfold_decomposition)
        {
            failed |= job->status != TN_OK;
            tn_progress_report(state->options->progress, ++done, all);
        }
    }
    return tn_decomposing_status(state, error);
}

tn_status tn_decomposing_status(const tn_decomposing *state, tn_error *error) {
    for (size_t i = 0; i < state->tasks; i++)
        if (state->task[i].status != TN_OK) {
            if (error) *error = state->task[i].error;
            return state->task[i].status;
        }
    return TN_OK;
}

/* ---- bounds of designs ---- */

void tn_decomposing_digits(const tn_decomposing *state, const tn_build_task *job, size_t point,
                           uint32_t *digit) {
    const tn_space *space = state->space;
    memcpy(digit, state->key_digit[job->keys], space->choices.count * sizeof *digit);
    for (uint32_t u = 0; u < state->units.count; u++)
        tn_digits_of(&space->choices, state->units.unit[u].axis, state->units.unit[u].axes,
                     job->front.option[u][point], digit);
    tn_digits_of(&space->choices, space->inner, space->inners, job->inner, digit);
}

/* Sums that are six digits but for their rounding, as true ones are; others below what they may be. */
static double learned_at_least(double sum) {
    static const double rounding = 1e-3, below = 1e-12;
    const double digits = round(1e6 * sum);
    return fabs(1e6 * sum - digits) < rounding ? digits / 1e6 : sum - below * fabs(sum);
}

static void set_learned(const tn_layer_table *table, const tn_build_front *front, size_t point,
                        tn_evaluation *bound) {
    const double learned = front->cost[TN_COST_LEARNED][point];
    bound->accuracy = table->learns_more ? -learned_at_least(-learned) : NAN;
    bound->perplexity = table->learns_more ? NAN : learned_at_least(learned);
    bound->accuracy_deviation = learned_at_least(front->cost[TN_COST_DEVIATION][point]);
    bound->accuracy_interpolated = learned_at_least(front->cost[TN_COST_BASIS][point]);
}

tn_evaluation tn_decomposing_bound(const tn_decomposing *state, const tn_build_task *job, size_t point) {
    const tn_layer_table *table = &state->table[job->keys];
    const tn_build_front *front = &job->front;
    tn_evaluation bound = {.steps_per_epoch = table->steps_per_epoch};
    double cycles = front->cost[TN_COST_CYCLES][point];
    /* Sums of fractions may be a rounding error too large. */
    static const double below = 1 - 1e-12;
    bound.price.cycles_per_step = (uint64_t)(cycles == floor(cycles) ? cycles : ceil(cycles * below));
    bound.price.seconds_per_step =
        (double)bound.price.cycles_per_step / (state->space->device->clock_MHz * 1e6);
    double capacity = front->cost[TN_COST_CAPACITY][point];
    bound.price.on_chip_bytes =
        (uint64_t)floor((capacity == floor(capacity) ? capacity : capacity * below) / 8);
    bound.price.used.bram18 = (uint64_t)ceil(front->cost[TN_COST_BRAM18][point] * below);
    bound.price.used.uram = (uint64_t)ceil(front->cost[TN_COST_URAM][point] * below);
    bound.price.used.lut = table->kernels[job->build].lut;
    bound.price.used.ff = table->kernels[job->build].ff;
    bound.price.used.dsp = table->kernels[job->build].dsp;
    bound.price.static_joules_per_step = front->cost[TN_COST_STATIC_JOULES][point] * below;
    bound.price.joules_per_step = /* what is not static is dynamic */
        fmin(front->cost[TN_COST_JOULES][point] * below,
             bound.price.static_joules_per_step + front->cost[TN_COST_DYNAMIC_JOULES][point] * below);
    bound.price.watts = front->cost[TN_COST_WATTS][point] * below;
    set_learned(table, front, point, &bound);
    bound.price.off_chip_bytes = (uint64_t)front->cost[TN_COST_OFF_CHIP][point];
    bound.price.off_chip_bytes_per_step = (uint64_t)front->cost[TN_COST_MOVED][point];
    bound.degrees_of_freedom = (uint64_t)front->cost[TN_COST_DEGREES][point];
    bound.parameters = (uint64_t)front->cost[TN_COST_PARAMETERS][point];
    bound.macs_per_step = (uint64_t)front->cost[TN_COST_MACS][point];
    return bound;
}

bool tn_decomposing_breaks(const tn_space *space, const tn_evaluation *bound) {
    for (size_t i = 0; i < space->constraints; i++) {
        const tn_constraint *constraint = &space->constraint[i];
        if (!constraint->quantity || !tn_quantity_cost_of(constraint->quantity)) continue;
        double value = constraint->quantity->get(bound);
        if (constraint->quantity->maximise ? value < constraint->least : value > constraint->most)
            return true;
    }
    return false;
}

static uint64_t id_of(const tn_space *space, const uint32_t *digit) {
    uint64_t id = 0;
    for (size_t i = 0; i < space->choices.count; i++) id += digit[i] * space->choices.stride[i];
    return space->choices.is_vast ? 0 : id;
}

static tn_boxes boxes_of(const tn_decomposing *state) {
    tn_boxes boxes = {.rounded = state->space->objectives, .width = state->width};
    for (size_t k = 0; k < state->space->objectives; k++)
        boxes.negated[k] = state->space->objective[k]->maximise;
    return boxes;
}

/* What its bound covers may be better: it does not fit, or is far from its bound. */
static bool is_misfit(const tn_known_design *design) {
    return design->evaluated && (design->cause != TN_CAUSE_NONE || design->is_far);
}

static tn_status add_bound(tn_decomposing *state, size_t i, size_t k, tn_error *error) {
    const tn_build_task *job = &state->task[i];
    const tn_evaluation bound = job->listed ? job->design[k].evaluation : tn_decomposing_bound(state, job, k);
    uint32_t digit[TN_AXES_MOST];
    tn_point point;
    if (tn_decomposing_breaks(state->space, &bound)) return TN_OK;
    tn_space_point(state->space, &bound, 0, &point);
    tn_decomposing_digits(state, job, k, digit);
    return tn_sums_add(&state->chosen, point.value, 0, id_of(state->space, digit), (uint32_t)i, (uint32_t)k,
                       error);
}

/* Puts the bounds of all builds together. That of a design which is known not to fit covers none of another build: those
 * are chosen in its place, and it stays for the designs of its own build that it may have covered. */
static tn_status choose(tn_decomposing *state, double *slack, tn_error *error) {
    const tn_space *space = state->space;
    const tn_boxes boxes = boxes_of(state);
    tn_sums_free(&state->chosen);
    tn_sums_begin(&state->chosen, space->objectives);
    *slack = 1;
    for (size_t i = 0; i < state->tasks; i++) {
        const tn_build_task *job = &state->task[i];
        if (job->skipped) continue;
        *slack = fmax(*slack, job->front.slack);
        for (size_t k = 0; k < job->front.count; k++)
            if (!is_misfit(&job->design[k])) TN_TRY(add_bound(state, i, k, error));
        if (state->chosen.count > 4000000)
            TN_TRY(tn_sums_prune(&state->chosen, &boxes, state->front.deadline, error));
    }
    *slack *= 1 + state->width;
    TN_TRY(tn_sums_prune(&state->chosen, &boxes, state->front.deadline, error));
    for (size_t i = 0; state->misfits && i < state->tasks; i++) {
        const tn_build_task *job = &state->task[i];
        for (size_t k = 0; !job->skipped && !job->listed && k < job->front.count; k++)
            if (is_misfit(&job->design[k])) TN_TRY(add_bound(state, i, k, error));
    }
    return TN_OK;
}

static tn_known_design *chosen_design(const tn_decomposing *state, size_t index) {
    return &state->task[state->chosen.left[index]].design[state->chosen.right[index]];
}

/* ---- true prices ---- */

tn_status tn_decomposing_price(tn_evaluator *evaluator, const uint32_t *digit, tn_evaluation *evaluation,
                               uint32_t *cause, tn_error *error) {
    tn_interrupt_hold();
    const tn_status status = tn_evaluate_digits(evaluator, digit, evaluation, cause, error);
    tn_interrupt_release();
    return status;
}

/* Of a build that is listed what was chosen is no bound. */
static bool is_far(const tn_decomposing *state, size_t index, const tn_known_design *design) {
    tn_point price;
    if (state->task[state->chosen.left[index]].listed || design->cause != TN_CAUSE_NONE) return false;
    tn_space_point(state->space, &design->evaluation, 0, &price);
    for (size_t k = 0; k < state->space->objectives; k++)
        if (state->chosen.value[k][index] == 0 && price.value[k] > 0) return true;
    return false;
}

static void evaluate_some(tn_decomposing *state, size_t *next, tn_status *status, tn_error *error) {
    tn_evaluator *evaluator;
    tn_error own = {0};
    uint32_t digit[TN_AXES_MOST];
    tn_status found = tn_evaluator_new(state->space, &evaluator, &own);
    while (found == TN_OK) {
        size_t index;
#pragma omp critical(tenfold_decomposition)
        index = *status == TN_OK ? (*next)++ : SIZE_MAX;
        if (index >= state->chosen.count) break;
        found = tn_check_time(state->front.deadline, &own);
        if (found != TN_OK) break;
        tn_known_design *design = chosen_design(state, index);
        if (design->evaluated) continue;
        tn_decomposing_digits(state, &state->task[state->chosen.left[index]], state->chosen.right[index],
                              digit);
        found = tn_decomposing_price(evaluator, digit, &design->evaluation, &design->cause, &own);
        if (found != TN_OK) break;
        design->evaluated = true;
        design->is_far = is_far(state, index, design);
#pragma omp critical(tenfold_decomposition)
        {
            state->evaluated++;
            state->cause[design->cause]++;
            state->misfits += is_misfit(design);
            tn_progress_report(state->options->progress,
                               *next < state->chosen.count ? *next : state->chosen.count,
                               state->chosen.count);
        }
    }
#pragma omp critical(tenfold_decomposition)
    if (found != TN_OK && *status == TN_OK) {
        *status = found;
        if (error) *error = own;
    }
    tn_evaluator_free(evaluator);
}

static tn_status evaluate_chosen(tn_decomposing *state, tn_error *error) {
    int threads = tn_thread_count(state->options->threads);
    size_t next = 0;
    tn_status status = TN_OK;
    tn_progress_begin(state->options->progress, "designs priced");
#pragma omp parallel num_threads(threads)
    evaluate_some(state, &next, &status, error);
    return status;
}

/* ---- the front ---- */

static tn_status keep_members(tn_decomposing *state, double slack, tn_decomposed *found, tn_error *error) {
    const tn_space *space = state->space;
    size_t feasible = 0;
    tn_point *point = NULL, *member = NULL;
    uint32_t *own = NULL, digit[TN_AXES_MOST];
    tn_archive archive;
    tn_archive_begin(&archive, space->objectives);
    tn_status status = TN_ALLOC(state->chosen.count, &point, error);
    if (status == TN_OK) status = TN_ALLOC(state->chosen.count, &own, error);
    for (size_t i = 0; status == TN_OK && i < state->chosen.count; i++) {
        own[i] = UINT32_MAX;
        const tn_known_design *design = chosen_design(state, i);
        if (design->cause != TN_CAUSE_NONE) continue;
        tn_space_point(space, &design->evaluation, i, &point[i]);
        own[i] = (uint32_t)feasible++;
        status = tn_archive_offer(&archive, &point[i], error);
    }
    if (status == TN_OK) status = TN_ALLOC(archive.count, &member, error);
    if (status == TN_OK) {
        size_t all = 0;
        for (size_t i = 0; i < state->chosen.count; i++) /* those that are feasible, one behind the other */
            if (own[i] != UINT32_MAX) point[all++] = point[i];
        tn_certify(space, &state->chosen, slack, point, feasible, own, found->factor, &found->exact);
        found->least_ids = found->exact && !space->choices.is_vast &&
                           tn_bounds_are_prices(&state->chosen, point, own, space->objectives);
        tn_archive_points(&archive, member);
        found->count = archive.count;
        status = TN_ALLOC(found->count * space->choices.count, &found->digit, error);
    }
    if (status == TN_OK) status = TN_ALLOC(found->count, &found->evaluation, error);
    for (size_t i = 0; status == TN_OK && i < found->count; i++) {
        size_t index = (size_t)member[i].id;
        tn_decomposing_digits(state, &state->task[state->chosen.left[index]], state->chosen.right[index],
                              digit);
        memcpy(found->digit + i * space->choices.count, digit, space->choices.count * sizeof *digit);
        found->evaluation[i] = chosen_design(state, index)->evaluation;
    }
    tn_archive_free(&archive);
    tn_free(point);
    tn_free(own);
    tn_free(member);
    return status;
}

static void free_fronts(tn_decomposing *state) {
    for (size_t i = 0; i < state->tasks; i++) {
        if (state->task[i].front.option) tn_build_front_free(&state->task[i].front, state->units.count);
        tn_free(state->task[i].design);
        state->task[i].design = NULL;
        state->task[i].listed = false;
        state->task[i].status = TN_OK;
    }
}

/* ---- builds with misfits ---- */

static bool has_misfit(const tn_build_task *job) {
    for (size_t k = 0; !job->skipped && k < job->front.count; k++)
        if (is_misfit(&job->design[k])) return true;
    return false;
}

/* All designs of the build in place of its bounds. */
static tn_status list_designs(tn_decomposing *state, tn_build_task *job, uint64_t designs, tn_error *error) {
    const tn_layer_table *table = &state->table[job->keys];
    const uint32_t units = state->units.count;
    tn_build_front all = {.slack = 1};
    tn_status status = TN_ALLOC(units, &all.option, error);
    for (uint32_t u = 0; status == TN_OK && u < units; u++) status = TN_ALLOC(designs, &all.option[u], error);
    for (uint64_t design = 0; status == TN_OK && design < designs; design++) {
        uint64_t rest = design;
        bool defined = true;
        for (uint32_t u = units; u-- > 0; rest /= table->unit[u].options) {
            all.option[u][all.count] = (uint32_t)(rest % table->unit[u].options);
            defined &= table->unit[u].defined[all.option[u][all.count]];
        }
        all.count += defined;
    }
    tn_build_front_free(&job->front, units);
    tn_free(job->design);
    job->design = NULL;
    job->front = all;
    job->listed = true;
    return status == TN_OK ? TN_ALLOC(all.count, &job->design, error) : status;
}

/* Lists the builds that have misfits, as far as they have few designs, and evaluates these. */
static tn_status list_misfitting(tn_decomposing *state, tn_error *error) {
    enum { OF_A_BUILD = 4096, OF_ALL = 20000 };
    const double none[TN_OBJECTIVES_MOST] = {0};
    uint64_t designs = 1;
    for (uint32_t u = 0; u < state->units.count && designs <= OF_A_BUILD; u++)
        if (!tn_mul(designs, state->units.unit[u].options, &designs)) designs = UINT64_MAX;
    if (designs > OF_A_BUILD) return TN_OK;
    tn_sums_free(&state->chosen);
    tn_sums_begin(&state->chosen, state->space->objectives);
    for (size_t i = 0; i < state->tasks; i++) {
        tn_build_task *job = &state->task[i];
        if (job->listed || !has_misfit(job) || state->listed + designs > OF_ALL) continue;
        state->listed += designs;
        TN_TRY(list_designs(state, job, designs, error));
        for (size_t k = 0; k < job->front.count; k++)
            TN_TRY(tn_sums_add(&state->chosen, none, 0, 0, (uint32_t)i, (uint32_t)k, error));
    }
    return evaluate_chosen(state, error);
}

/* ---- one front ---- */

static bool is_within(const tn_decomposing *state, double epsilon, const tn_decomposed *found) {
    for (size_t k = 0; k < state->space->objectives; k++)
        if (found->factor[k] > 1 + epsilon) return false;
    return true;
}

/* Evaluates what is chosen. Where some of that does not fit, and the front is then further from the bounds than was asked
 * for, builds of few designs are listed, and what the misfits covered of other builds is chosen in their place: until the
 * front is near enough, some more designs were evaluated, or there are no others. As long as nothing fits it goes on. */
static tn_status choose_front(tn_decomposing *state, double epsilon, tn_decomposed *found, tn_error *error) {
    enum { MORE = 4, LEAST = 1000 };
    uint64_t before, most = 0, begun = state->evaluated;
    double slack;
    bool again;
    state->misfits = state->listed = 0;
    do {
        before = state->misfits;
        tn_decomposed_free(found);
        TN_TRY(choose(state, &slack, error));
        if (!most) most = begun + MORE * state->chosen.count + LEAST;
        TN_TRY(evaluate_chosen(state, error));
        TN_TRY(keep_members(state, slack, found, error));
        again = state->misfits > before && !is_within(state, epsilon, found) &&
                (found->count == 0 || state->evaluated < most);
        if (again) TN_TRY(list_misfitting(state, error));
    } while (again);
    state->hides = false;
    found->certified = true;
    for (size_t i = 0; found->count == 0 && i < state->tasks; i++)
        state->hides |= !state->task[i].listed && has_misfit(&state->task[i]);
    found->none_fits = found->count == 0 && !state->hides;
    return TN_OK;
}

/* One front, with boxes that together stay within 1 + epsilon. */
static tn_status pass(tn_decomposing *state, double epsilon, tn_decomposed *found, tn_error *error) {
    const double asked = epsilon;
    /* Factors are rounded up at the end (tn_certify): what is asked for holds with that. */
    if (epsilon > 0) epsilon = (1 + epsilon) * (1 - 2e-9) - 1;
    /* The last pruning, over all builds, gets as much as each of those before. */
    state->width = pow(1 + epsilon, 1.0 / (state->units.count + 3)) - 1;
    state->front.epsilon = (1 + epsilon) / (1 + state->width) - 1;
    if (epsilon == 0) state->width = state->front.epsilon = 0;
    tn_status status = find_fronts(state, error);
    if (status == TN_OK) status = choose_front(state, asked, found, error);
    free_fronts(state);
    return status;
}

/* Finer and finer, until what is asked for is reached or the time is over; TN_INTERRUPTED where that is before the first. */
static tn_status refine(tn_decomposing *state, tn_decomposed *found, tn_error *error) {
    static const double steps[] = {0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0};
    const double wanted = state->options->epsilon;
    bool any = false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        double epsilon = fmax(steps[i], wanted), before = tn_clock_seconds();
        tn_decomposed next = {0};
        tn_status status = pass(state, epsilon, &next, error);
        if ((status == TN_INTERRUPTED || status == TN_LIMIT) && any) return TN_OK;
        if (status != TN_OK) {
            tn_decomposed_free(&next);
            return status;
        }
        tn_decomposed_free(found);
        *found = next;
        any = true;
        if (found->exact || epsilon <= wanted) return TN_OK;
        double now = tn_clock_seconds();
        if (now + 2 * (now - before) > state->front.deadline) return TN_OK;
    }
    return TN_OK;
}

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

static tn_status run(tn_decomposing *state, tn_decomposed *found, tn_error *error) {
    state->refused = tn_objective_without_cost(state->space);
    if (state->refused) return TN_OK;
    TN_TRY(tn_units_find(state->space, &state->arena, &state->units, error));
    if (state->units.count == 0) state->refused = "no choice is of a weight or a layer";
    if (!state->refused) TN_TRY(list_keys(state, error));
    if (!state->refused) TN_TRY(make_some_tables(state, error));
    if (state->refused) return TN_OK;
    state->share = 1;
    skip_builds(state);
    set_costs(state);
    if (state->tasks == 0) return price_refused(state, found, error);
    if (state->bounded) return tn_bounded_front(state, found, error);
    return state->options->seconds > 0 ? refine(state, found, error)
                                       : pass(state, state->options->epsilon, found, error);
}

tn_status tn_decompose(const tn_space *space, const tn_decompose_options *options, tn_decomposed *found,
                       tn_error *error) {
    tn_decomposing state = {.space = space, .options = options, .stage = "tables made"};
    double started = tn_clock_seconds();
    state.front.deadline = options->seconds > 0 ? started + options->seconds : INFINITY;
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
