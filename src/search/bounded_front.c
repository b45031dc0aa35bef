/* The front of a space whose prices do not split: bounds of all designs on one side (search/build_front.h), designs priced as
 * built on the other, brought together until each bound has a design near it.
 *
 * Bounds are found coarsely at first, and again with finer boxes for the builds that need it. The design behind a bound is
 * rarely as good as the bound, which lets every layer have its memory and its words as if the others were like it. So
 * designs are sought that are: those whose units are all alike, those with a few kinds of units in the place of the many of
 * the bound's own design, and what differs a little from the design that is nearest to the bound so far. */
#include "search/reach.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "search/archived_designs.h"
#include "search/certificate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DESIGNS_MOST = 20000 }; /* where no time is given */

/* ---- the bounds that are furthest from all designs ---- */

/* How far all bounds together are beyond what is asked. */
static double excess(const tn_reach *reaching) {
    const double asked = log(reaching->asked);
    double sum = 0;
    for (size_t i = 0; i < reaching->bounds.count; i++)
        sum += fmin(fmax(0, reaching->distance[i] - asked), 100);
    return sum;
}

static bool is_near(const tn_reach *reaching, size_t a, size_t b) {
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
static tn_status pick(const tn_reach *reaching, size_t *list, size_t most, size_t *count, tn_error *error) {
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

/* Until every bound has a design as near as asked; or, but not before `until`, rounds no longer take that share off what is beyond. */
static tn_status approach(tn_reach *reaching, double least_gain, double until, tn_error *error) {
    enum { PICKED = 48, STALE_MOST = 3 };
    size_t list[PICKED], count;
    double before = excess(reaching);
    for (int stale = 0;
         (stale < STALE_MOST || tn_clock_seconds() < until) && before > 0 && !tn_reach_is_over(reaching);) {
        TN_TRY(pick(reaching, list, PICKED, &count, error));
        for (size_t i = 0; i < count; i++) TN_TRY(tn_reach_add_candidates(reaching, list[i], error));
        if (reaching->next.count == 0 && ++stale > 2 * STALE_MOST) break;
        TN_TRY(tn_reach_price(reaching, error));
        double now = excess(reaching);
        stale = now < before * (1 - least_gain) ? 0 : stale + 1;
        before = now;
    }
    return TN_OK;
}

/* ---- the whole ---- */

/* Builds some of whose bounds are beyond what is asked, of those with coarser boxes than `epsilon`. */
static bool list_wanted(const tn_reach *reaching, double epsilon, bool *wants) {
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

/* By how much the designs behind bounds are beyond these at most, what the boxes lose apart; 1: nothing was found near some. */
static double widest_gap(const tn_reach *reaching) {
    double gap = 1;
    for (size_t i = 0; i < reaching->bounds.count; i++) {
        const double slack = reaching->state->task[reaching->bounds.left[i]].front.slack;
        if (reaching->nearest[i] == UINT32_MAX) return 1;
        gap = fmax(gap, exp(reaching->distance[i]) / slack);
    }
    return gap;
}

/* Whether boxes of that width lose so little that finer ones are not worth their time: beside what is asked, or what the designs
 * are beyond their bounds anyway. */
static bool is_fine(const tn_reach *reaching, double width) {
    return width < 0.15 * (reaching->asked - 1) || width < 0.3 * (widest_gap(reaching) - 1);
}

/* Every design of a space that has few. */
static tn_status price_all(tn_reach *reaching, tn_error *error) {
    const tn_choices *choices = &reaching->space->choices;
    uint32_t digit[TN_AXES_MOST];
    for (uint64_t id = 0; choices->designs <= DESIGNS_MOST && id < choices->designs; id++) {
        for (size_t i = 0; i < choices->count; i++) digit[i] = (uint32_t)tn_choices_digit(choices, id, i);
        TN_TRY(tn_reach_add_design(reaching, digit, error));
    }
    return tn_reach_price(reaching, error);
}

/* Boxes of that width for the builds that want them; what finer bounds of others no longer cover is to be as fine. */
static tn_status bound_builds(tn_reach *reaching, bool *wants, double width, tn_error *error) {
    do {
        TN_TRY(tn_reach_find_fronts(reaching, wants, width, error));
        TN_TRY(tn_reach_gather_bounds(reaching, error));
    } while (list_wanted(reaching, width, wants) && !tn_reach_is_over(reaching));
    return TN_OK;
}

/* Whether the time may be too short for any but the coarsest bounds: what tables took, and the designs before the first bounds, is
 * over a fourth of what is left. */
static bool is_short(const tn_decomposing *state) {
    enum { TIMES = 4 };
    const double left = state->front.deadline - tn_clock_seconds(), taken = state->options->seconds - left;
    return state->options->seconds > 0 && left < TIMES * taken;
}

static tn_status seek(tn_reach *reaching, tn_error *error) {
    static const double steps[] = {1, 0.3, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001};
    static const double little = 1e-2, next_to_nothing = 1e-3; /* that a round gains */
    enum { FINER = 2 }; /* how many times as long the bounds of the next step take at least */
    enum {
        FRUITLESS_MOST = 2
    }; /* the step behind which none is tried that may lead to the first design that fits */
    tn_decomposing *state = reaching->state;
    const bool timed = state->options->seconds > 0;
    bool *wants;
    TN_TRY(tn_reach_find_likes(reaching, error));
    TN_TRY(TN_NEW(&state->arena, state->tasks + 1, &wants, error));
    for (size_t i = 0; i < state->tasks; i++) wants[i] = true;
    TN_TRY(tn_reach_add_uniform(reaching, DESIGNS_MOST / 4, error));
    TN_TRY(tn_reach_price(reaching, error));
    for (size_t i = is_short(state) ? 0 : 1; i < sizeof steps / sizeof *steps; i++) {
        const double begun = tn_clock_seconds();
        const tn_status status = bound_builds(reaching, wants, steps[i], error);
        if (status == TN_INTERRUPTED && state->evaluated > 0) return TN_OK; /* with what was priced */
        TN_TRY(status);
        const double took = tn_clock_seconds() - begun;
        /* Finer bounds take longer still, so with a time as long is spent on designs; the coarsest are for one that is short. */
        if (i > 0) TN_TRY(approach(reaching, little, timed ? tn_clock_seconds() + took : 0, error));
        if (!list_wanted(reaching, 0, wants) || tn_reach_is_over(reaching)) break;
        const bool last =
            i + 1 == sizeof steps / sizeof *steps ||
            (timed ? tn_clock_seconds() + FINER * took > state->front.deadline
                   : is_fine(reaching, steps[i]) || (reaching->members == 0 && i == FRUITLESS_MOST));
        if (!last) continue;
        TN_TRY(approach(reaching, next_to_nothing, timed ? state->front.deadline : 0, error));
        break;
    }
    if (excess(reaching) > 0 && (timed || reaching->members == 0)) TN_TRY(price_all(reaching, error));
    return state->evaluated == 0 ? tn_check_time(state->front.deadline, error) : TN_OK;
}

static void certify(const tn_reach *reaching, tn_decomposed *found) {
    const tn_space *space = reaching->space;
    const bool knows_all = reaching->state->evaluated == space->choices.designs &&
                           tn_check_time(reaching->state->front.deadline, NULL) == TN_OK;
    found->certified = reaching->bounded;
    for (size_t k = 0; k < space->objectives; k++) found->factor[k] = reaching->bounded ? 1 : INFINITY;
    for (size_t i = 0; i < reaching->bounds.count && !knows_all; i++)
        for (size_t k = 0; k < space->objectives; k++) {
            uint32_t member = reaching->nearest[i];
            found->factor[k] =
                fmax(found->factor[k], member == UINT32_MAX
                                           ? INFINITY
                                           : tn_worse_by(space, k, reaching->member[member].value[k],
                                                         reaching->bounds.value[k][i]));
        }
    tn_certify_factors(space->objectives, 1, found->factor, &found->exact);
    found->none_fits =
        reaching->members == 0 && reaching->bounded && (reaching->bounds.count == 0 || knows_all);
}

tn_status tn_bounded_front(tn_decomposing *state, tn_decomposed *found, tn_error *error) {
    const bool timed = state->options->seconds > 0;
    tn_reach reaching = {.state = state,
                         .space = state->space,
                         .choices = state->space->choices.count,
                         .objectives = state->space->objectives,
                         .asked = 1 + state->options->epsilon,
                         .most = timed ? UINT64_MAX : DESIGNS_MOST,
                         .random = 1};
    tn_archive_begin(&reaching.archive, reaching.objectives);
    tn_sums_begin(&reaching.bounds, reaching.objectives);
    tn_status status = seek(&reaching, error);
    if (status == TN_OK) certify(&reaching, found);
    if (status == TN_OK)
        status =
            tn_archived_designs(&reaching.archive, reaching.choices, reaching.member_digit,
                                reaching.evaluation, &found->count, &found->digit, &found->evaluation, error);
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
