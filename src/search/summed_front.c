/* The front of a space whose prices split: fronts of sums, build by build (search/build_front.h), whose designs are then priced. */
#include "search/decomposing.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/threads.h"
#include "front/archive.h"
#include "search/archived_designs.h"
#include "search/certificate.h"

#include <math.h>
#include <string.h>

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

/* ---- bounds of all builds ---- */

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

/* What is known of designs that were not evaluated. */
static void certify(const tn_decomposing *state, bool all, double slack, const tn_point *point,
                    size_t feasible, const uint32_t *own, tn_decomposed *found) {
    const tn_space *space = state->space;
    found->certified = all;
    for (size_t k = 0; k < space->objectives; k++) found->factor[k] = INFINITY;
    if (!all) return;
    tn_certify(space, &state->chosen, slack, point, feasible, own, found->factor, &found->exact);
    found->least_ids = found->exact && !space->choices.is_vast &&
                       tn_bounds_are_prices(&state->chosen, point, own, space->objectives);
}

/* What fits of what was chosen; all: everything chosen was evaluated. */
static tn_status keep_members(tn_decomposing *state, bool all, double slack, tn_decomposed *found,
                              tn_error *error) {
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
        if (!design->evaluated || design->cause != TN_CAUSE_NONE) continue;
        tn_space_point(space, &design->evaluation, i, &point[i]);
        own[i] = (uint32_t)feasible++;
        status = tn_archive_offer(&archive, &point[i], error);
    }
    if (status == TN_OK) status = TN_ALLOC(archive.count, &member, error);
    if (status == TN_OK) {
        size_t fitting = 0;
        for (size_t i = 0; i < state->chosen.count; i++) /* those that are feasible, one behind the other */
            if (own[i] != UINT32_MAX) point[fitting++] = point[i];
        certify(state, all, slack, point, feasible, own, found);
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
 * front is near enough, some more designs were evaluated, or there are no others. As long as nothing fits it goes on.
 * Where an interruption, or the end of the time, cuts that short, the front is that of what was evaluated. */
static tn_status choose_front(tn_decomposing *state, double epsilon, tn_decomposed *found, tn_error *error) {
    enum { MORE = 4, LEAST = 1000 };
    uint64_t before, most = 0, begun = state->evaluated;
    double slack;
    bool again;
    state->misfits = state->listed = 0;
    state->hides = false;
    do {
        before = state->misfits;
        tn_decomposed_free(found);
        TN_TRY(choose(state, &slack, error));
        if (!most) most = begun + MORE * state->chosen.count + LEAST;
        tn_status status = evaluate_chosen(state, error);
        const bool cut = status == TN_INTERRUPTED && state->evaluated > begun;
        if (!cut) TN_TRY(status);
        TN_TRY(keep_members(state, !cut, slack, found, error));
        again = !cut && state->misfits > before && !is_within(state, epsilon, found) &&
                (found->count == 0 || state->evaluated < most);
        if (again) status = list_misfitting(state, error);
        if (cut || status == TN_INTERRUPTED) return TN_OK;
        TN_TRY(status);
    } while (again);
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

/* All designs of both, one behind the other. */
static tn_status list_both(const tn_decomposed *first, const tn_decomposed *second, size_t choices,
                           tn_decomposed *both, tn_error *error) {
    const tn_decomposed *part[] = {first, second};
    TN_TRY(TN_ALLOC((first->count + second->count) * choices, &both->digit, error));
    TN_TRY(TN_ALLOC(first->count + second->count, &both->evaluation, error));
    for (int i = 0; i < 2; i++) {
        if (part[i]->count == 0) continue;
        memcpy(both->digit + both->count * choices, part[i]->digit,
               part[i]->count * choices * sizeof *both->digit);
        memcpy(both->evaluation + both->count, part[i]->evaluation,
               part[i]->count * sizeof *both->evaluation);
        both->count += part[i]->count;
    }
    return TN_OK;
}

/* The front of both, with what is known of the first: what covers a design there is as good or covered here. */
static tn_status join_fronts(const tn_space *space, tn_decomposed *first, const tn_decomposed *second,
                             tn_error *error) {
    tn_decomposed both = {0}, joined = *first;
    tn_archive archive;
    joined.digit = NULL;
    joined.evaluation = NULL;
    tn_archive_begin(&archive, space->objectives);
    tn_status status = list_both(first, second, space->choices.count, &both, error);
    for (size_t i = 0; status == TN_OK && i < both.count; i++) {
        tn_point point;
        tn_space_point(space, &both.evaluation[i], i, &point);
        status = tn_archive_offer(&archive, &point, error);
    }
    if (status == TN_OK)
        status = tn_archived_designs(&archive, space->choices.count, both.digit, both.evaluation,
                                     &joined.count, &joined.digit, &joined.evaluation, error);
    tn_decomposed_free(status == TN_OK ? first : &joined);
    if (status == TN_OK) *first = joined;
    tn_decomposed_free(&both);
    tn_archive_free(&archive);
    return status;
}

/* A pass that was cut short is the last: what it evaluated joins the front of those before, whose factors hold. */
static tn_status end_refining(const tn_space *space, tn_status status, tn_decomposed *found,
                              tn_decomposed *next, tn_error *error) {
    if (status == TN_OK)
        status = join_fronts(space, found, next, error);
    else if (status == TN_INTERRUPTED || status == TN_LIMIT)
        status = TN_OK;
    tn_decomposed_free(next);
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
        const bool whole = status == TN_OK && next.certified;
        if (any && !whole) return end_refining(state->space, status, found, &next, error);
        tn_decomposed_free(found);
        *found = next;
        TN_TRY(status);
        any = true;
        if (!whole || found->exact || epsilon <= wanted) return TN_OK;
        double now = tn_clock_seconds();
        if (now + 2 * (now - before) > state->front.deadline) return TN_OK;
    }
    return TN_OK;
}

tn_status tn_summed_front(tn_decomposing *state, tn_decomposed *found, tn_error *error) {
    return state->options->seconds > 0 ? refine(state, found, error)
                                       : pass(state, state->options->epsilon, found, error);
}
