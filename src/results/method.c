/* Which way a front is found, and into the folder with it. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/threads.h"
#include "results/result.h"
#include "search/chunk.h"
#include "search/decomposition.h"
#include "search/evolution.h"
#include "search/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Asked of a space that is too large to enumerate, where nothing else is. */
static const double usual_epsilon = 0.05;

/* Of a time what a decomposition's tables may take, where another method can take its place with the rest. */
static const double tabled_share = 0.75;

/* An enumeration of everything proves its front. */
static void certify_enumeration(const tn_space *space, const tn_sweep_options *options, tn_outcome *outcome) {
    outcome->exact = outcome->certified = outcome->completion == TN_EXHAUSTED && options->shards <= 1;
    for (size_t i = 0; i < space->objectives; i++) outcome->factor[i] = 1;
}

/* Where the keys of no design can be combined that is the error of the space, as `tenfold cost` gives it. */
static tn_status check_some_defined(const tn_space *space, const tn_outcome *outcome, tn_error *error) {
    const tn_undefined_count *undefined = outcome->undefined;
    tn_evaluator *evaluator;
    tn_evaluation evaluation;
    if (outcome->undefined_count != 1 || undefined->flow.weight != TN_UNDEFINED_KEYS ||
        undefined->designs < space->choices.designs)
        return TN_OK;
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = tn_evaluate_design(evaluator, undefined->first, &evaluation, error);
    if (status == TN_INPUT && error) *error = *tn_evaluator_why(evaluator);
    tn_evaluator_free(evaluator);
    return status;
}

static tn_status enumerate(const tn_space *space, const tn_sweep_options *options, const char *folder,
                           const tn_progress *progress, tn_summary *summary, tn_error *error) {
    tn_sweep_db *store;
    tn_outcome outcome;
    TN_TRY(tn_sweep_db_open(folder, space, options, &store, error));
    tn_status status = tn_sweep_run(store, space, options, progress, &outcome, error);
    if (status == TN_OK) {
        certify_enumeration(space, options, &outcome);
        status = check_some_defined(space, &outcome, error);
        if (status == TN_OK)
            status = tn_result_write(store, folder, space, options, &outcome, summary, error);
        tn_outcome_free(&outcome);
    }
    tn_sweep_db_close(store);
    return status;
}

typedef struct {
    uint64_t id;
    size_t index;
} placed;

static int by_id(const void *a, const void *b) {
    uint64_t left = ((const placed *)a)->id, right = ((const placed *)b)->id;
    return (left > right) - (left < right);
}

/* Designs that were found, and what is known of them. */
typedef struct {
    size_t count;
    const uint32_t *digit;
    const tn_evaluation *evaluation;
} designs;

/* The found designs as a front, by ascending id. */
static tn_status take_front(const tn_space *space, const designs *found, placed *order, tn_evaluation *known,
                            tn_outcome *outcome, tn_error *error) {
    for (size_t i = 0; i < found->count; i++) {
        order[i].index = i;
        TN_TRY(
            tn_choices_id_of(&space->choices, found->digit + i * space->choices.count, &order[i].id, error));
    }
    tn_point *point = NULL;
    TN_TRY(TN_ALLOC(found->count, &point, error));
    qsort(order, found->count, sizeof *order, by_id);
    for (size_t i = 0; i < found->count; i++) {
        known[i] = found->evaluation[order[i].index];
        tn_space_point(space, &known[i], order[i].id, &point[i]);
    }
    outcome->known = known;
    tn_status status = tn_archive_offer_all(&outcome->front, point, found->count, error);
    tn_free(point);
    return status;
}

/* *outcome says all but its front. */
static tn_status write_found(const tn_space *space, const tn_sweep_options *options, const char *folder,
                             const designs *found, tn_outcome *outcome, tn_summary *summary,
                             tn_error *error) {
    tn_sweep_db *store;
    placed *order = NULL;
    tn_evaluation *known = NULL;
    TN_TRY(tn_sweep_db_open(folder, space, options, &store, error));
    tn_status status = TN_ALLOC(found->count, &order, error);
    if (status == TN_OK) status = TN_ALLOC(found->count, &known, error);
    if (status == TN_OK) status = take_front(space, found, order, known, outcome, error);
    if (status == TN_OK) status = tn_result_write(store, folder, space, options, outcome, summary, error);
    tn_free(order);
    tn_free(known);
    tn_sweep_db_close(store);
    return status;
}

static tn_status write_decomposed(const tn_space *space, const tn_sweep_options *options, const char *folder,
                                  const tn_decomposed *found, tn_summary *summary, tn_error *error) {
    const designs front = {found->count, found->digit, found->evaluation};
    tn_outcome outcome;
    tn_outcome_begin(space, &outcome);
    outcome.evaluated = outcome.evaluated_now = found->evaluated;
    memcpy(outcome.count, found->cause, sizeof outcome.count);
    /* Of an empty front nothing is near; that it is the whole one may be known all the same. */
    const bool known = (found->certified && found->count > 0) || found->none_fits;
    outcome.completion = known ? TN_EXHAUSTED : tn_interrupted() ? TN_STOPPED : TN_BUDGET;
    outcome.seconds = found->seconds;
    outcome.method = tn_method_names[TN_DECOMPOSE];
    outcome.certified = known;
    outcome.exact = found->exact || found->none_fits;
    for (size_t k = 0; k < space->objectives; k++)
        outcome.factor[k] = found->none_fits ? 1 : found->factor[k];
    tn_status status = write_found(space, options, folder, &front, &outcome, summary, error);
    tn_outcome_free(&outcome);
    return status;
}

static tn_status write_evolved(const tn_space *space, const tn_sweep_options *options, const char *folder,
                               const tn_evolved *found, tn_summary *summary, tn_error *error) {
    const designs front = {found->count, found->digit, found->evaluation};
    tn_outcome outcome;
    tn_outcome_begin(space, &outcome);
    outcome.evaluated = outcome.evaluated_now = found->evaluated;
    memcpy(outcome.count, found->cause, sizeof outcome.count);
    outcome.completion = found->stopped ? TN_STOPPED : TN_BUDGET;
    outcome.seconds = found->seconds;
    outcome.method = tn_method_names[TN_EVOLVE];
    tn_status status = write_found(space, options, folder, &front, &outcome, summary, error);
    tn_outcome_free(&outcome);
    return status;
}

/* ---- what is kept with the results of each method */

/* Designs that an evolution evaluates where no budget is given; where a time is, at most. */
enum { USUAL_BUDGET = 20000, TIMED_BUDGET = 1000000 };

static bool asks_certificate(const tn_sweep_options *options) {
    return options->has_epsilon || options->seconds > 0;
}

static tn_sweep_options evolution_of(const tn_sweep_options *options) {
    tn_sweep_options stored = *options;
    stored.method = TN_EVOLVE;
    if (stored.budget == 0) stored.budget = stored.seconds > 0 ? TIMED_BUDGET : USUAL_BUDGET;
    return stored;
}

static tn_sweep_options decomposition_of(const tn_sweep_options *options) {
    tn_sweep_options stored = *options;
    stored.method = TN_DECOMPOSE;
    stored.has_epsilon = true;
    if (!asks_certificate(options)) stored.epsilon = usual_epsilon;
    return stored;
}

/* Where a certificate can't be had. */
static tn_sweep_options without_certificate(const tn_sweep_options *options) {
    tn_sweep_options plain = *options;
    plain.has_epsilon = false;
    plain.epsilon = 0;
    return plain;
}

/* ---- methods */

/* Of a time that began then, by tn_clock_seconds, what is left for a method; 0: there is no time. */
static double seconds_left(const tn_sweep_options *options, double begun) {
    const double left = options->seconds - (tn_clock_seconds() - begun);
    return options->seconds > 0 ? fmax(left, (1 - tabled_share) * options->seconds) : 0;
}

/* begun: when the time began. */
static tn_status evolve(const tn_space *space, const tn_sweep_options *options, double begun,
                        const char *folder, const tn_progress *progress, tn_summary *summary,
                        tn_error *error) {
    const tn_sweep_options stored = evolution_of(options);
    const tn_evolve_options own = {.budget = stored.budget,
                                   .seconds = seconds_left(options, begun),
                                   .seed = options->seed,
                                   .threads = options->threads,
                                   .progress = progress};
    tn_evolved found;
    TN_TRY(tn_evolve(space, &own, &found, error));
    tn_status status = write_evolved(space, &stored, folder, &found, summary, error);
    tn_evolved_free(&found);
    return status;
}

/* *refused: NULL where it went. */
static tn_status decompose(const tn_space *space, const tn_sweep_options *options, const char *folder,
                           const tn_progress *progress, tn_summary *summary, const char **refused,
                           tn_error *error) {
    const tn_sweep_options stored = decomposition_of(options);
    const bool only = options->method == TN_DECOMPOSE; /* else another method gets the rest */
    const tn_decompose_options own = {.epsilon = stored.epsilon,
                                      .seconds = options->seconds,
                                      .table_seconds = only ? 0 : tabled_share * options->seconds,
                                      .threads = options->threads,
                                      .progress = progress};
    tn_decomposed found;
    if (space->variant) {
        *refused = "its models or devices are choices; decompose each on its own, and `tenfold compare` "
                   "their folders";
        return TN_OK;
    }
    TN_TRY(tn_decompose(space, &own, &found, error));
    const bool missed = !found.refused && found.count == 0 && !found.none_fits && !tn_interrupted();
    *refused = found.refused;
    if (missed && options->method == TN_METHOD_AUTO && tn_can_enumerate(space))
        *refused = "none of the designs that it priced fits, and its bounds leave others";
    tn_status status = *refused ? TN_OK : write_decomposed(space, &stored, folder, &found, summary, error);
    tn_decomposed_free(&found);
    return status;
}

/* Whether every design is to be evaluated. */
static bool is_enumeration(const tn_space *space, const tn_sweep_options *options) {
    if (options->method != TN_METHOD_AUTO) return options->method == TN_ENUMERATE;
    return !asks_certificate(options) && tn_can_enumerate(space);
}

/* Designs of a part that are kept at a time. */
static const uint64_t KEPT_MOST = 1 << 24;

static tn_status check(const tn_space *space, const tn_sweep_options *options, tn_error *error) {
    bool asks = asks_certificate(options);
    if (options->keep_all && is_enumeration(space, options) && tn_chunk_at(space, 0).designs > KEPT_MOST)
        return tn_fail_at(
            error, TN_INPUT, (tn_position){.file = space->path},
            "--keep-all keeps every design, and with the settled keys there are too many; set `settle` to a "
            "shorter list");
    if (options->has_epsilon && (options->method == TN_ENUMERATE || options->method == TN_EVOLVE))
        return tn_fail(error, TN_INPUT, "--epsilon goes with --method decompose");
    if (((asks && options->method == TN_METHOD_AUTO) || options->method == TN_DECOMPOSE) && options->budget)
        return tn_fail(error, TN_INPUT,
                       "--budget goes with sweeps that draw designs, not with a decomposition");
    if ((options->shards || options->keep_all) && !is_enumeration(space, options))
        return tn_fail_at(
            error, TN_INPUT, (tn_position){.file = space->path},
            "--shard and --keep-all go with sweeps that evaluate every design; the front of this "
            "one is found in one piece");
    return TN_OK;
}

/* Whether a time is likely to be enough for every design, or tables of parts would take as long: by what it takes one thread to make
 * a step, to search its builds, and to price a part of it under a build, with two encoders on a core of 2023. */
static tn_status is_soon_enumerated(const tn_space *space, const tn_sweep_options *options, bool *soon,
                                    tn_error *error) {
    static const double step = 1e-3, builds = 2e-3, part = 2e-5;
    double parts = 0;
    tn_arena arena = {0};
    tn_units units;
    *soon = options->seconds > 0 && !options->has_epsilon && tn_can_enumerate(space);
    if (!*soon) return TN_OK;
    const tn_status status = tn_units_find(space, &arena, &units, error);
    for (uint32_t u = 0; status == TN_OK && u < units.count; u++) parts += (double)units.unit[u].options;
    tn_arena_free(&arena);
    for (size_t i = 0; i < space->outers; i++) {
        const tn_axis *axis = &space->choices.axis[space->outer[i]];
        if (axis->kind == TN_AXIS_MODEL_KEY) parts *= (double)axis->count;
    }
    const double tables = parts * (step + (double)space->inner_count * part),
                 time = options->seconds * tn_thread_count(options->threads);
    *soon = (double)space->outer_count * (step + builds) < fmax(time / 2, tables);
    return status;
}

static tn_status refuse(const tn_space *space, const char *why, tn_error *error) {
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = space->path},
                      "the front can't be found by decomposition: %.500s (docs/decomposition.md)", why);
}

/* Before the search, which may take long: the folder may hold what was found, whichever method found it. *method: by which
 * it is looked for; resuming, what found it before does. */
static tn_status choose_method(const tn_space *space, const tn_sweep_options *options, const char *folder,
                               tn_method *method, tn_error *error) {
    static const tn_method methods[] = {TN_DECOMPOSE, TN_EVOLVE, TN_ENUMERATE};
    const tn_sweep_options plain = without_certificate(options),
                           ends[] = {decomposition_of(options), evolution_of(&plain), plain};
    const bool only = options->method != TN_METHOD_AUTO || options->budget;
    const size_t first = only && options->method != TN_DECOMPOSE, count = only ? 1 : 3;
    size_t held;
    TN_TRY(tn_sweep_db_check(folder, space, &ends[first], count, &held, error));
    *method = only ? methods[first] : held < count ? methods[held] : TN_METHOD_AUTO;
    return TN_OK;
}

tn_status tn_sweep_folder(const tn_space *space, const tn_sweep_options *options, const char *folder,
                          const tn_progress *progress, tn_summary *summary, tn_error *error) {
    const double begun = tn_clock_seconds();
    const char *refused = NULL;
    bool soon = false;
    tn_sweep_options asked = *options, plain = without_certificate(options);
    TN_TRY(check(space, options, error));
    if (is_enumeration(space, options)) return enumerate(space, options, folder, progress, summary, error);
    TN_TRY(choose_method(space, options, folder, &asked.method, error));
    if (asked.method == TN_ENUMERATE) return enumerate(space, &plain, folder, progress, summary, error);
    if (asked.method == TN_EVOLVE) return evolve(space, &plain, begun, folder, progress, summary, error);
    if (asked.method == TN_METHOD_AUTO) TN_TRY(is_soon_enumerated(space, options, &soon, error));
    if (soon) return enumerate(space, &plain, folder, progress, summary, error);
    TN_TRY(decompose(space, &asked, folder, progress, summary, &refused, error));
    if (!refused) return TN_OK;
    if (asked.method == TN_DECOMPOSE) return refuse(space, refused, error);
    tn_progress_begin(progress, "designs");
    if (tn_can_enumerate(space)) {
        plain.seconds = seconds_left(options, begun);
        TN_TRY(enumerate(space, &plain, folder, progress, summary, error));
    } else {
        TN_TRY(evolve(space, &plain, begun, folder, progress, summary, error));
    }
    summary->refused = refused;
    return TN_OK;
}
