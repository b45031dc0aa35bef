#include "search/decomposition.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "front/archive.h"
#include "search/build_front.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { SUMS_MOST = 20000000, TABLE_BYTES_MOST_LOG2 = 32 };

/* ---- objectives that follow from costs that add ---- */

typedef struct {
    const char *quantity;
    tn_layer_cost cost;
} source;
/* Those of TN_COSTS are the same for all designs of a build. */
static const source sources[] = {
    {"cycles_per_step", TN_COST_CYCLES},
    {"seconds_per_step", TN_COST_CYCLES},
    {"seconds_per_epoch", TN_COST_CYCLES},
    {"on_chip_bytes", TN_COST_CAPACITY},
    {"bram18", TN_COST_BRAM18},
    {"uram", TN_COST_URAM},
    {"degrees_of_freedom", TN_COST_DEGREES},
    {"parameters", TN_COST_PARAMETERS},
    {"macs_per_step", TN_COST_MACS},
    {"dsp", TN_COSTS},
    {"off_chip_bytes", TN_COST_OFF_CHIP},
    {"off_chip_bytes_per_step", TN_COST_MOVED},
};

static const source *source_of(const tn_quantity *quantity) {
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcmp(quantity->name, sources[i].quantity) == 0) return &sources[i];
    return NULL;
}

/* NULL, or why no front of the space can be found so, before any work. */
static const char *refuses(const tn_space *space) {
    for (size_t i = 0; i < space->objectives; i++)
        if (!source_of(space->objective[i])) return space->objective[i]->name;
    return NULL;
}

/* ---- a space's tables ---- */

/* What is known of the design behind a bound. */
typedef struct {
    bool evaluated;
    uint32_t cause;
    tn_evaluation evaluation;
} known_design;

/* A combination of model keys and a build. */
typedef struct {
    size_t keys, build; /* place of the table, and in it */
    uint64_t inner;
    bool skipped;
    tn_build_front front; /* of bounds; or, */
    bool listed; /* where its designs are few and some do not fit, all of them: no bounds but their prices */
    known_design *design; /* [front.count] */
    tn_status status;
    tn_error error;
} task;

typedef struct {
    const tn_space *space;
    const tn_decompose_options *options;
    tn_arena arena;
    tn_units units;
    uint64_t keys; /* combinations of model keys */
    size_t key_axes;
    uint32_t (*key_digit)[TN_AXES_MOST]; /* [keys]: digits of all choices, those of other choices 0 */
    tn_layer_table *table;               /* [keys] */
    size_t tasks;
    task *task; /* [keys * builds] */
    tn_front_options front;
    double width; /* of boxes over all builds */
    double deadline;
    const char *refused;
    /* Points of all builds that are left: objectives, left = task, right = point. */
    tn_sums chosen;
    uint64_t evaluated;       /* designs, in all */
    uint64_t misfits, listed; /* of this pass: those that turned out not to fit; of builds that are listed */
    bool hides;               /* nothing fits of what was evaluated, but others may */
} search;

static tn_status list_keys(search *with, tn_error *error) {
    const tn_space *space = with->space;
    with->keys = 1;
    for (size_t i = 0; i < space->outers; i++)
        if (space->choices.axis[space->outer[i]].kind == TN_AXIS_MODEL_KEY) {
            with->key_axes++;
            if (!tn_mul(with->keys, space->choices.axis[space->outer[i]].count, &with->keys))
                with->keys = UINT64_MAX;
        }
    /* What tables of parts take. */
    uint64_t bytes = with->keys, options = 0;
    for (uint32_t u = 0; u < with->units.count; u++)
        if (!tn_add(options, with->units.unit[u].options, &options)) options = UINT64_MAX;
    bool fits = tn_mul(bytes, options, &bytes) && tn_mul(bytes, space->inner_count, &bytes) &&
                tn_mul(bytes, sizeof(tn_price_part), &bytes) && bytes >> TABLE_BYTES_MOST_LOG2 == 0;
    if (!fits) {
        with->refused = "its options, builds and model keys make tables of over 4 GiB";
        return TN_OK;
    }
    TN_TRY(TN_NEW(&with->arena, with->keys, &with->key_digit, error));
    for (uint64_t k = 0; k < with->keys; k++)
        tn_digits_of(&space->choices, space->outer, with->key_axes, k, with->key_digit[k]);
    return TN_OK;
}

static tn_status make_tables(search *with, tn_error *error) {
    const tn_space *space = with->space;
    uint64_t *inner;
    size_t builds = (size_t)space->inner_count;
    TN_TRY(TN_NEW(&with->arena, builds, &inner, error));
    for (size_t b = 0; b < builds; b++) inner[b] = b;
    TN_TRY(TN_NEW(&with->arena, with->keys, &with->table, error));
    TN_TRY(TN_NEW(&with->arena, with->keys * builds, &with->task, error));
    for (uint64_t k = 0; k < with->keys && !with->refused; k++) {
        tn_layer_table *table = &with->table[k];
        TN_TRY(tn_layer_table_make(space, &with->units, with->key_digit[k], inner, builds,
                                   with->options->threads, &with->arena, table, error));
        with->refused = table->refused;
        for (size_t b = 0; !table->empty && b < builds; b++)
            with->task[with->tasks++] = (task){.keys = (size_t)k, .build = b, .inner = b};
    }
    return TN_OK;
}

/* ---- builds that cannot enter ---- */

/* Whether b is a with more matmul kernels, which a sequential schedule leaves idle: then no design of b has less of
 * anything, or more degrees of freedom, than that of a with the same choices, and none fits where that does not. */
static bool only_adds_kernels(const search *with, const task *a, const task *b) {
    const tn_build *base = &with->table[a->keys].build[a->build];
    tn_build other = with->table[b->keys].build[b->build];
    bool more =
        other.kernels >= base->kernels && (other.sharing == base->sharing || base->sharing == TN_SHARED);
    if (a->keys != b->keys || !more) return false;
    other.kernels = base->kernels;
    other.sharing = base->sharing;
    return memcmp(&other, base, sizeof other) == 0;
}

static bool has_dsp_objective(const tn_space *space) {
    for (size_t i = 0; i < space->objectives; i++)
        if (strcmp(space->objective[i]->name, "dsp") == 0) return true;
    return false;
}

/* Of designs that are equal in all objectives that of the least id is the front's, so without DSPs among them only
 * later builds are skipped. */
static bool is_beaten(const search *with, const task *b) {
    for (size_t i = 0; i < with->tasks; i++) {
        const task *a = &with->task[i];
        if (a == b || a->keys != b->keys || !only_adds_kernels(with, a, b)) continue;
        uint64_t dsp[2] = {with->table[a->keys].kernels[a->build].dsp,
                           with->table[b->keys].kernels[b->build].dsp};
        bool strict = has_dsp_objective(with->space) && dsp[0] < dsp[1];
        if (strict || a->inner < b->inner) return true;
    }
    return false;
}

/* Whether a design that has no less of anything, and as many degrees of freedom, can't hold a constraint that the other one
 * breaks. */
static bool constraints_only_cap(const tn_space *space) {
    for (size_t i = 0; i < space->constraints; i++) {
        const tn_constraint *of = &space->constraint[i];
        if (!of->quantity || (!of->quantity->maximise && of->least > -INFINITY)) return false;
    }
    return true;
}

static void skip_builds(search *with) {
    const tn_resources *budget = &with->space->budget;
    const bool caps = constraints_only_cap(with->space);
    for (size_t i = 0; i < with->tasks; i++) {
        task *of = &with->task[i];
        const tn_resources *kernels = &with->table[of->keys].kernels[of->build];
        of->skipped = kernels->lut > budget->lut || kernels->ff > budget->ff || kernels->dsp > budget->dsp ||
                      (caps && is_beaten(with, of));
    }
}

/* ---- fronts of builds ---- */

static tn_status find_fronts(search *with, tn_error *error) {
    int threads = with->options->threads ? (int)with->options->threads : omp_get_max_threads();
    size_t done = 0;
    bool failed = false;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < with->tasks; i++) {
        task *of = &with->task[i];
        if (of->skipped || failed) continue;
        of->status = tn_build_front_find(with->space, &with->units, &with->table[of->keys], of->build,
                                         with->key_digit[of->keys], &with->front, &of->front, &of->error);
        if (of->status == TN_OK) of->status = TN_ALLOC(of->front.count, &of->design, &of->error);
#pragma omp critical(tenfold_decomposition)
        {
            failed |= of->status != TN_OK;
            if (with->options->progress) tn_progress_report(with->options->progress, ++done, with->tasks);
        }
    }
    for (size_t i = 0; i < with->tasks; i++)
        if (with->task[i].status != TN_OK) {
            if (error) *error = with->task[i].error;
            return with->task[i].status;
        }
    return TN_OK;
}

/* ---- bounds of designs ---- */

static void digits_of(const search *with, const task *of, size_t point, uint32_t *digit) {
    const tn_space *space = with->space;
    memcpy(digit, with->key_digit[of->keys], space->choices.count * sizeof *digit);
    for (uint32_t u = 0; u < with->units.count; u++)
        tn_digits_of(&space->choices, with->units.unit[u].axis, with->units.unit[u].axes,
                     of->front.option[u][point], digit);
    tn_digits_of(&space->choices, space->inner, space->inners, of->inner, digit);
}

/* What the costs say of the quantities that follow from them; the rest stays 0. */
static tn_evaluation bound_of(const search *with, const task *of, size_t point) {
    const tn_layer_table *table = &with->table[of->keys];
    const tn_build_front *front = &of->front;
    tn_evaluation bound = {.steps_per_epoch = table->steps_per_epoch};
    double cycles = front->cost[TN_COST_CYCLES][point];
    bound.price.cycles_per_step = (uint64_t)cycles;
    bound.price.seconds_per_step =
        (double)bound.price.cycles_per_step / (with->space->device->clock_MHz * 1e6);
    /* Sums of fractions may be a rounding error too large. */
    static const double below = 1 - 1e-12;
    double capacity = front->cost[TN_COST_CAPACITY][point];
    bound.price.on_chip_bytes =
        (uint64_t)floor((capacity == floor(capacity) ? capacity : capacity * below) / 8);
    bound.price.used.bram18 = (uint64_t)ceil(front->cost[TN_COST_BRAM18][point] * below);
    bound.price.used.uram = (uint64_t)ceil(front->cost[TN_COST_URAM][point] * below);
    bound.price.used.dsp = table->kernels[of->build].dsp;
    bound.price.off_chip_bytes = (uint64_t)front->cost[TN_COST_OFF_CHIP][point];
    bound.price.off_chip_bytes_per_step = (uint64_t)front->cost[TN_COST_MOVED][point];
    bound.degrees_of_freedom = (uint64_t)front->cost[TN_COST_DEGREES][point];
    bound.parameters = (uint64_t)front->cost[TN_COST_PARAMETERS][point];
    bound.macs_per_step = (uint64_t)front->cost[TN_COST_MACS][point];
    return bound;
}

/* Whether the bound alone shows that no design behind it holds the constraints. */
static bool breaks(const tn_space *space, const tn_evaluation *bound) {
    for (size_t i = 0; i < space->constraints; i++) {
        const tn_constraint *of = &space->constraint[i];
        if (!of->quantity || !source_of(of->quantity)) continue;
        double value = of->quantity->get(bound);
        if (of->quantity->maximise ? value < of->least : value > of->most) return true;
    }
    return false;
}

static uint64_t id_of(const tn_space *space, const uint32_t *digit) {
    uint64_t id = 0;
    for (size_t i = 0; i < space->choices.count; i++) id += digit[i] * space->choices.stride[i];
    return space->choices.is_vast ? 0 : id;
}

static tn_boxes boxes_of(const search *with) {
    tn_boxes boxes = {.rounded = with->space->objectives, .width = with->width};
    for (size_t k = 0; k < with->space->objectives; k++)
        boxes.negated[k] = with->space->objective[k]->maximise;
    return boxes;
}

static bool is_misfit(const known_design *design) {
    return design->evaluated && design->cause != TN_CAUSE_NONE;
}

static tn_status add_bound(search *with, size_t i, size_t k, tn_error *error) {
    const task *of = &with->task[i];
    const tn_evaluation bound = of->listed ? of->design[k].evaluation : bound_of(with, of, k);
    uint32_t digit[TN_AXES_MOST];
    tn_point point;
    if (breaks(with->space, &bound)) return TN_OK;
    tn_space_point(with->space, &bound, 0, &point);
    digits_of(with, of, k, digit);
    return tn_sums_add(&with->chosen, point.value, 0, id_of(with->space, digit), (uint32_t)i, (uint32_t)k,
                       error);
}

/* Puts the bounds of all builds together. That of a design which is known not to fit covers none of another build: those
 * are chosen in its place, and it stays for the designs of its own build that it may have covered. */
static tn_status choose(search *with, double *slack, tn_error *error) {
    const tn_space *space = with->space;
    const tn_boxes boxes = boxes_of(with);
    tn_sums_free(&with->chosen);
    tn_sums_begin(&with->chosen, space->objectives);
    *slack = 1;
    for (size_t i = 0; i < with->tasks; i++) {
        const task *of = &with->task[i];
        if (of->skipped) continue;
        *slack = fmax(*slack, of->front.slack);
        for (size_t k = 0; k < of->front.count; k++)
            if (!is_misfit(&of->design[k])) TN_TRY(add_bound(with, i, k, error));
        if (with->chosen.count > 4000000) TN_TRY(tn_sums_prune(&with->chosen, &boxes, error));
    }
    *slack *= 1 + with->width;
    TN_TRY(tn_sums_prune(&with->chosen, &boxes, error));
    for (size_t i = 0; with->misfits && i < with->tasks; i++) {
        const task *of = &with->task[i];
        for (size_t k = 0; !of->skipped && !of->listed && k < of->front.count; k++)
            if (is_misfit(&of->design[k])) TN_TRY(add_bound(with, i, k, error));
    }
    return TN_OK;
}

static known_design *chosen_design(const search *with, size_t at) {
    return &with->task[with->chosen.left[at]].design[with->chosen.right[at]];
}

/* ---- true prices ---- */

static void evaluate_some(search *with, size_t *next, tn_status *status, tn_error *error) {
    tn_evaluator *evaluator;
    tn_error own = {0};
    uint32_t digit[TN_AXES_MOST];
    tn_status found = tn_evaluator_new(with->space, &evaluator, &own);
    while (found == TN_OK) {
        size_t at;
#pragma omp critical(tenfold_decomposition)
        at = *status == TN_OK ? (*next)++ : SIZE_MAX;
        if (at >= with->chosen.count) break;
        if (tn_interrupted()) {
            found = tn_fail(&own, TN_INTERRUPTED, "interrupted");
            break;
        }
        known_design *design = chosen_design(with, at);
        if (design->evaluated) continue;
        digits_of(with, &with->task[with->chosen.left[at]], with->chosen.right[at], digit);
        found = tn_evaluate_digits(evaluator, digit, &design->evaluation, &design->cause, &own);
        if (found != TN_OK) break;
        design->evaluated = true;
#pragma omp critical(tenfold_decomposition)
        {
            with->evaluated++;
            with->misfits += design->cause != TN_CAUSE_NONE;
        }
    }
#pragma omp critical(tenfold_decomposition)
    if (found != TN_OK && *status == TN_OK) {
        *status = found;
        if (error) *error = own;
    }
    tn_evaluator_free(evaluator);
}

static tn_status evaluate_chosen(search *with, tn_error *error) {
    int threads = with->options->threads ? (int)with->options->threads : omp_get_max_threads();
    size_t next = 0;
    tn_status status = TN_OK;
#pragma omp parallel num_threads(threads)
    evaluate_some(with, &next, &status, error);
    return status;
}

/* ---- the front ---- */

static tn_status keep_members(search *with, double slack, tn_decomposed *found, tn_error *error) {
    const tn_space *space = with->space;
    size_t feasible = 0;
    tn_point *point = NULL, *member = NULL;
    uint32_t *own = NULL, digit[TN_AXES_MOST];
    tn_archive archive;
    tn_archive_begin(&archive, space->objectives);
    tn_status status = TN_ALLOC(with->chosen.count, &point, error);
    if (status == TN_OK) status = TN_ALLOC(with->chosen.count, &own, error);
    for (size_t i = 0; status == TN_OK && i < with->chosen.count; i++) {
        own[i] = UINT32_MAX;
        const known_design *design = chosen_design(with, i);
        if (design->cause != TN_CAUSE_NONE) continue;
        tn_space_point(space, &design->evaluation, i, &point[i]);
        own[i] = (uint32_t)feasible++;
        status = tn_archive_offer(&archive, &point[i], error);
    }
    if (status == TN_OK) status = TN_ALLOC(archive.count, &member, error);
    if (status == TN_OK) {
        size_t all = 0;
        for (size_t i = 0; i < with->chosen.count; i++) /* those that are feasible, one behind the other */
            if (own[i] != UINT32_MAX) point[all++] = point[i];
        tn_certify(space, &with->chosen, slack, point, feasible, own, found->factor, &found->exact);
        tn_archive_points(&archive, member);
        found->count = archive.count;
        status = TN_ALLOC(found->count * space->choices.count, &found->digit, error);
    }
    if (status == TN_OK) status = TN_ALLOC(found->count, &found->evaluation, error);
    for (size_t i = 0; status == TN_OK && i < found->count; i++) {
        size_t at = (size_t)member[i].id;
        digits_of(with, &with->task[with->chosen.left[at]], with->chosen.right[at], digit);
        memcpy(found->digit + i * space->choices.count, digit, space->choices.count * sizeof *digit);
        found->evaluation[i] = chosen_design(with, at)->evaluation;
    }
    tn_archive_free(&archive);
    tn_free(point);
    tn_free(own);
    tn_free(member);
    return status;
}

static void free_fronts(search *with) {
    for (size_t i = 0; i < with->tasks; i++) {
        if (with->task[i].front.option) tn_build_front_free(&with->task[i].front, with->units.count);
        tn_free(with->task[i].design);
        with->task[i].design = NULL;
        with->task[i].listed = false;
        with->task[i].status = TN_OK;
    }
}

/* ---- builds with misfits ---- */

static bool has_misfit(const task *of) {
    for (size_t k = 0; !of->skipped && k < of->front.count; k++)
        if (is_misfit(&of->design[k])) return true;
    return false;
}

/* All designs of the build in place of its bounds. */
static tn_status list_designs(search *with, task *of, uint64_t designs, tn_error *error) {
    const tn_layer_table *table = &with->table[of->keys];
    const uint32_t units = with->units.count;
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
    tn_build_front_free(&of->front, units);
    tn_free(of->design);
    of->design = NULL;
    of->front = all;
    of->listed = true;
    return status == TN_OK ? TN_ALLOC(all.count, &of->design, error) : status;
}

/* Lists the builds that have misfits, as far as they have few designs, and evaluates these. */
static tn_status list_misfitting(search *with, tn_error *error) {
    enum { OF_A_BUILD = 4096, OF_ALL = 20000 };
    const double none[TN_OBJECTIVES_MOST] = {0};
    uint64_t designs = 1;
    for (uint32_t u = 0; u < with->units.count && designs <= OF_A_BUILD; u++)
        if (!tn_mul(designs, with->units.unit[u].options, &designs)) designs = UINT64_MAX;
    if (designs > OF_A_BUILD) return TN_OK;
    tn_sums_free(&with->chosen);
    tn_sums_begin(&with->chosen, with->space->objectives);
    for (size_t i = 0; i < with->tasks; i++) {
        task *of = &with->task[i];
        if (of->listed || !has_misfit(of) || with->listed + designs > OF_ALL) continue;
        with->listed += designs;
        TN_TRY(list_designs(with, of, designs, error));
        for (size_t k = 0; k < of->front.count; k++)
            TN_TRY(tn_sums_add(&with->chosen, none, 0, 0, (uint32_t)i, (uint32_t)k, error));
    }
    return evaluate_chosen(with, error);
}

/* ---- one front ---- */

static bool is_within(const search *with, double epsilon, const tn_decomposed *found) {
    for (size_t k = 0; k < with->space->objectives; k++)
        if (found->factor[k] > 1 + epsilon) return false;
    return true;
}

/* Evaluates what is chosen. Where some of that does not fit, and the front is then further from the bounds than was asked
 * for, builds of few designs are listed, and what the misfits covered of other builds is chosen in their place: until the
 * front is near enough, some more designs were evaluated, or there are no others. As long as nothing fits it goes on. */
static tn_status choose_front(search *with, double epsilon, tn_decomposed *found, tn_error *error) {
    enum { MORE = 4, LEAST = 1000 };
    uint64_t before, most = 0, begun = with->evaluated;
    double slack;
    bool again;
    with->misfits = with->listed = 0;
    do {
        before = with->misfits;
        tn_decomposed_free(found);
        TN_TRY(choose(with, &slack, error));
        if (!most) most = begun + MORE * with->chosen.count + LEAST;
        TN_TRY(evaluate_chosen(with, error));
        TN_TRY(keep_members(with, slack, found, error));
        again = with->misfits > before && !is_within(with, epsilon, found) &&
                (found->count == 0 || with->evaluated < most);
        if (again) TN_TRY(list_misfitting(with, error));
    } while (again);
    with->hides = false;
    for (size_t i = 0; found->count == 0 && i < with->tasks; i++)
        with->hides |= !with->task[i].listed && has_misfit(&with->task[i]);
    return TN_OK;
}

/* One front, with boxes that together stay within 1 + epsilon. */
static tn_status pass(search *with, double epsilon, tn_decomposed *found, tn_error *error) {
    const double asked = epsilon;
    /* Factors are rounded up at the end (tn_certify): what is asked for holds with that. */
    if (epsilon > 0) epsilon = (1 + epsilon) * (1 - 2e-9) - 1;
    /* The last pruning, over all builds, gets as much as each of those before. */
    with->width = pow(1 + epsilon, 1.0 / (with->units.count + 3)) - 1;
    with->front.epsilon = (1 + epsilon) / (1 + with->width) - 1;
    if (epsilon == 0) with->width = with->front.epsilon = 0;
    tn_status status = find_fronts(with, error);
    if (status == TN_OK) status = choose_front(with, asked, found, error);
    free_fronts(with);
    return status;
}

/* Finer and finer, until what is asked for is reached or the time is over. */
static tn_status refine(search *with, tn_decomposed *found, tn_error *error) {
    static const double steps[] = {0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0};
    double wanted = with->options->epsilon, started = tn_clock_seconds();
    with->front.deadline = started + with->options->seconds;
    bool any = false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        double epsilon = fmax(steps[i], wanted), before = tn_clock_seconds();
        tn_decomposed next = {0};
        tn_status status = pass(with, epsilon, &next, error);
        if ((status == TN_INTERRUPTED || status == TN_LIMIT) && any) return TN_OK;
        if (status == TN_INTERRUPTED && !tn_interrupted()) {
            with->front.deadline = INFINITY; /* the coarsest of all is worth waiting for */
            return pass(with, steps[0], found, error);
        }
        if (status != TN_OK) {
            tn_decomposed_free(&next);
            return status;
        }
        tn_decomposed_free(found);
        *found = next;
        any = true;
        if (found->exact || epsilon <= wanted) return TN_OK;
        double now = tn_clock_seconds();
        if (now + 2 * (now - before) > with->front.deadline) return TN_OK;
    }
    return TN_OK;
}

static void set_costs(search *with) {
    const tn_space *space = with->space;
    with->front.most = SUMS_MOST;
    for (size_t i = 0; i < space->objectives; i++) {
        const source *of = source_of(space->objective[i]);
        if (of && of->cost < TN_COSTS) with->front.objective[of->cost] = true;
    }
    for (size_t i = 0; i < space->constraints; i++) {
        const source *of = space->constraint[i].quantity ? source_of(space->constraint[i].quantity) : NULL;
        if (of && of->cost < TN_COSTS) with->front.bounded[of->cost] = true;
    }
}

static tn_status run(search *with, tn_decomposed *found, tn_error *error) {
    with->refused = refuses(with->space);
    if (with->refused) return TN_OK;
    TN_TRY(tn_units_find(with->space, &with->arena, &with->units, error));
    if (with->units.count == 0) with->refused = "no choice is of a weight or a layer";
    if (!with->refused) TN_TRY(list_keys(with, error));
    if (!with->refused) TN_TRY(make_tables(with, error));
    if (with->refused) return TN_OK;
    skip_builds(with);
    set_costs(with);
    with->front.deadline = INFINITY;
    return with->options->seconds > 0 ? refine(with, found, error)
                                      : pass(with, with->options->epsilon, found, error);
}

tn_status tn_decompose(const tn_space *space, const tn_decompose_options *options, tn_decomposed *found,
                       tn_error *error) {
    search with = {.space = space, .options = options};
    double started = tn_clock_seconds();
    *found = (tn_decomposed){0};
    tn_sums_begin(&with.chosen, space->objectives);
    tn_status status = run(&with, found, error);
    if (status == TN_OK && with.hides)
        with.refused = "nothing that it evaluated fits, and it does not see what that lacks before: LUTs, "
                       "flip-flops, or what a constraint asks";
    found->refused = with.refused;
    found->evaluated = with.evaluated;
    found->builds = with.tasks;
    for (size_t i = 0; i < with.tasks; i++) found->skipped += with.task[i].skipped;
    found->seconds = tn_clock_seconds() - started;
    tn_sums_free(&with.chosen);
    tn_arena_free(&with.arena);
    if (status != TN_OK) tn_decomposed_free(found);
    return status;
}

void tn_decomposed_free(tn_decomposed *found) {
    tn_free(found->digit);
    tn_free(found->evaluation);
    *found = (tn_decomposed){0};
}
