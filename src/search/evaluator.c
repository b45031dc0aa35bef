#include "search/evaluator.h"

#include "base/checked.h"
#include "base/memory.h"
#include "model/layer_weight.h"
#include "search/outer_step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *tn_cause_name(const tn_space *space, uint32_t cause) {
    if (cause == TN_CAUSE_UNDEFINED) return "undefined";
    if (cause == TN_CAUSE_OVERFLOW) return "overflow";
    if (cause == TN_CAUSE_LIMIT) return "limit";
    if (cause == TN_CAUSE_UNMEASURED) return "unmeasured";
    if (cause >= TN_CAUSE_CONSTRAINT) return space->constraint[cause - TN_CAUSE_CONSTRAINT].name;
    if (cause >= TN_CAUSE_RESOURCE) return tn_resource_names[cause - TN_CAUSE_RESOURCE];
    return "feasible";
}

static bool is_bounded(const tn_space *space) {
    return space->choices.designs > space->laid_most;
}

tn_status tn_evaluator_new(const tn_space *space, tn_evaluator **evaluator, tn_error *error) {
    tn_evaluator *made;
    TN_TRY(TN_ALLOC(1, &made, error));
    made->space = made->whole = space;
    made->is_bounded = is_bounded(space);
    *evaluator = made;
    return TN_OK;
}

void tn_evaluator_free(tn_evaluator *evaluator) {
    if (!evaluator) return;
    tn_program_cache_free(evaluator->cache);
    tn_arena_free(&evaluator->step_arena);
    tn_arena_free(&evaluator->laid_arena);
    for (int i = 0; i < TN_MODELS_KEPT; i++) tn_arena_free(&evaluator->loaded[i].arena);
    tn_free(evaluator);
}

tn_model *tn_evaluator_model(tn_evaluator *evaluator) {
    return evaluator->model;
}

const tn_build *tn_evaluator_build(const tn_evaluator *evaluator) {
    return &evaluator->build;
}

/* "weights.square.rank=12", of a layer's own copy "layers.encoder1.query.rank=12"; a folding of the former in two keys. */
static tn_status add_weight_keys(const tn_evaluator *state, const tn_axis *choice, size_t digit,
                                 size_t weight, tn_arena *arena, const char **set, size_t *count,
                                 tn_error *error) {
    static const char *const what[] = {[TN_AXIS_FORMAT] = "format",
                                       [TN_AXIS_FOLDING] = "folding",
                                       [TN_AXIS_RANK] = "rank",
                                       [TN_AXIS_FLOW] = "flow"};
    tn_model *model = state->space->model;
    const char *name = tn_model_weight_at(model, weight)->name;
    const bool is_copy = tn_model_weight_base(model, weight) != weight;
    tn_buffer value = {0};
    tn_axis_value(choice, digit, &value);
    tn_status status = value.status;
    if (status == TN_OK && choice->kind == TN_AXIS_FOLDING && !is_copy) {
        const int rows = (int)strcspn(value.data, ",");
        status = tn_arena_format(arena, &set[(*count)++], error, "weights.%s.m=%.*s", name, rows, value.data);
        if (status == TN_OK)
            status = tn_arena_format(arena, &set[(*count)++], error, "weights.%s.n=%s", name,
                                     value.data + rows + 1);
    } else if (status == TN_OK) {
        status = tn_arena_format(arena, &set[(*count)++], error, "%s.%s.%s=%s",
                                 is_copy ? "layers" : "weights", name, what[choice->kind], value.data);
    }
    tn_buffer_free(&value);
    return status;
}

static bool is_choice(const tn_space *space, tn_axis_kind kind, size_t weight) {
    bool found = false;
    for (size_t i = 0; i < space->outers; i++) {
        const tn_axis *choice = &space->choices.axis[space->outer[i]];
        found |= choice->kind == kind && tn_axis_varies(choice, weight);
    }
    return found;
}

/* The keys of the weight that the choice varies, and of the layers whose own ones the file has, unless they have a choice
 * themselves. A weight of another format or folding whose rank is no choice has that of its file, spread anew. */
static tn_status add_choice(const tn_evaluator *state, size_t outer, size_t weight, tn_model *file,
                            tn_arena *arena, const char **set, size_t *count, tn_error *error) {
    const tn_space *space = state->space;
    const tn_axis *choice = &space->choices.axis[space->outer[outer]];
    const size_t digit = state->digit[outer];
    TN_TRY(add_weight_keys(state, choice, digit, weight, arena, set, count, error));
    if (tn_model_weight_base(space->model, weight) != weight) return TN_OK;
    if (choice->kind != TN_AXIS_RANK && choice->kind != TN_AXIS_FLOW &&
        !is_choice(space, TN_AXIS_RANK, weight))
        TN_TRY(tn_arena_format(arena, &set[(*count)++], error, "weights.%s.rank=%" PRIu64,
                               tn_model_weight_at(space->model, weight)->name, state->use[weight].rank));
    for (size_t i = weight + 1; i < tn_model_weights(space->model); i++)
        if (tn_model_weight_base(space->model, i) == weight && !is_choice(space, choice->kind, i) &&
            tn_model_weight_find(file, tn_model_weight_at(space->model, i)->name))
            TN_TRY(add_weight_keys(state, choice, digit, i, arena, set, count, error));
    return TN_OK;
}

static tn_status add_keys(const tn_evaluator *state, tn_model *file, tn_arena *arena, const char ***set,
                          size_t *count, tn_error *error) {
    const tn_space *space = state->space;
    const size_t weights = tn_model_weights(space->model);
    size_t most = 0;
    for (size_t i = 0; i < space->outers; i++)
        most += 3 * (1 + space->choices.axis[space->outer[i]].more + weights);
    TN_TRY(TN_NEW(arena, most, set, error));
    for (size_t i = 0; i < space->outers; i++) {
        const tn_axis *choice = &space->choices.axis[space->outer[i]];
        for (size_t k = 0; tn_axis_is_of_weight(choice) && k <= choice->more; k++)
            TN_TRY(add_choice(state, i, k ? choice->more_weight[k - 1] : choice->weight, file, arena, *set,
                              count, error));
    }
    return TN_OK;
}

tn_status tn_evaluator_design(const tn_evaluator *evaluator, tn_arena *arena, tn_design *design,
                              tn_error *error) {
    const char **set;
    size_t count = 0;
    tn_design made = {.device = evaluator->space->device, .build = evaluator->build, .trims_ranks = true};
    tn_model *file;
    TN_TRY(tn_model_vary(tn_model_root(evaluator->model), NULL, 0, arena, &file, error));
    TN_TRY(add_keys(evaluator, file, arena, &set, &count, error));
    TN_TRY(tn_model_vary(tn_model_root(evaluator->model), set, count, arena, &made.model, error));
    /* Ranks as they were trimmed; a flow that the format of the file chose. */
    for (size_t i = 0; i < tn_model_weights(made.model); i++) {
        tn_model_weight *entry = tn_model_weight_at(made.model, i);
        const tn_model_weight *evaluated = tn_model_weight_find(evaluator->model, entry->name);
        if (!evaluated) continue;
        entry->weight = evaluated->weight;
        entry->flow = evaluated->flow;
    }
    *design = made;
    return TN_OK;
}

const tn_step *tn_evaluator_step(const tn_evaluator *evaluator) {
    return &evaluator->step;
}

const tn_undefined_flow *tn_evaluator_undefined(const tn_evaluator *evaluator) {
    return &evaluator->undefined;
}

const tn_error *tn_evaluator_why(const tn_evaluator *evaluator) {
    return &evaluator->why;
}

static void set_build(tn_evaluator *evaluator, uint64_t inner) {
    const tn_space *space = evaluator->space;
    uint32_t digit[TN_AXES_MOST];
    evaluator->build = evaluator->base_build;
    tn_digits_of(&space->choices, space->inner, space->inners, inner, digit);
    for (size_t i = 0; i < space->inners; i++) {
        const tn_axis *choice = &space->choices.axis[space->inner[i]];
        tn_build_set_value(&evaluator->build, choice->field, choice->number[digit[space->inner[i]]]);
    }
}

tn_cause tn_worst_resource(const tn_resources *used, const tn_resources *budget) {
    double worst = 1;
    tn_cause cause = TN_CAUSE_NONE;
    for (int i = 0; i < TN_RESOURCES; i++) {
        uint64_t need = tn_resource_amount(used, (tn_resource)i),
                 have = tn_resource_amount(budget, (tn_resource)i);
        if (need <= have) continue;
        double factor = have ? (double)need / (double)have : INFINITY;
        if (factor <= worst) continue;
        worst = factor;
        cause = (tn_cause)(TN_CAUSE_RESOURCE + i);
    }
    return cause;
}

/* A design whose objective nobody knows can be compared with no other. */
static bool is_unmeasured(const tn_space *space, const tn_evaluation *evaluation) {
    for (size_t i = 0; i < space->objectives; i++)
        if (isnan(space->objective[i]->get(evaluation))) return true;
    return false;
}

/* Builds of the step that stands: those of an inner combination, but for inner choices that are free. */
typedef struct {
    uint64_t inner;
    uint32_t free; /* bit i: the i-th one is */
} builds;

/* The candidate with the choices of the design, or of the set, that is spoken of; of TN_KNOWN_LEAST all are open. */
static void tell_choices(const tn_evaluator *evaluator, const builds *of, uint32_t *digit, bool *open,
                         tn_candidate *design) {
    const tn_space *space = evaluator->space;
    const bool all_open = design->known == TN_KNOWN_LEAST;
    for (size_t i = 0; i < space->outers; i++) {
        digit[space->outer[i]] = all_open ? 0 : (uint32_t)evaluator->digit[i];
        open[space->outer[i]] = all_open;
    }
    tn_digits_of(&space->choices, space->inner, space->inners, of->inner, digit);
    for (size_t i = 0; i < space->inners; i++)
        open[space->inner[i]] = all_open || (i < TN_BUILD_AXES_MOST && of->free >> i & 1);
    design->id = tn_digits_id(&space->choices, space->outer, space->outers, digit) +
                 tn_digits_id(&space->choices, space->inner, space->inners, digit);
    design->digit = digit;
    design->open = open;
}

/* A candidate, and room for its choices: told once a constraint asks for them. */
typedef struct {
    tn_candidate design;
    uint32_t digit[TN_AXES_MOST];
    bool open[TN_AXES_MOST];
} told_design;

static bool breaks(const tn_evaluator *evaluator, size_t constraint, const builds *of, told_design *told) {
    const tn_space *space = evaluator->space;
    if (space->constraint[constraint].expression && !told->design.digit)
        tell_choices(evaluator, of, told->digit, told->open, &told->design);
    return !tn_constraint_holds(&space->constraint[constraint], &space->choices, &told->design);
}

/* The first constraint that is broken for sure. */
static tn_cause broken_constraint(const tn_evaluator *evaluator, const builds *of, tn_known known,
                                  const tn_evaluation *evaluation) {
    told_design told;
    told.design = (tn_candidate){.known = known, .evaluation = evaluation, .most = &evaluator->space->most};
    for (size_t i = 0; i < evaluator->space->constraints; i++)
        if (breaks(evaluator, i, of, &told)) return (tn_cause)(TN_CAUSE_CONSTRAINT + i);
    return TN_CAUSE_NONE;
}

bool tn_evaluator_breaks(const tn_evaluator *evaluator, size_t constraint, bool exact,
                         const tn_evaluation *evaluation) {
    const builds of = {evaluator->inner, 0};
    told_design told;
    told.design = (tn_candidate){.known = exact ? TN_KNOWN_WHOLE : TN_KNOWN_BOUND,
                                 .evaluation = evaluation,
                                 .most = &evaluator->space->most};
    return breaks(evaluator, constraint, &of, &told);
}

/* Whether some build of the space has a price with a bound on its device. */
static tn_status find_bounds(tn_evaluator *evaluator, const tn_space *space, bool *has, tn_error *error) {
    TN_TRY(
        tn_build_decode(tn_model_build(space->model), &evaluator->step_arena, &evaluator->base_build, error));
    evaluator->space = space;
    for (uint64_t inner = 0; inner < space->inner_count && !*has; inner++) {
        set_build(evaluator, inner);
        *has = tn_price_has_bound(space->device, &evaluator->build);
    }
    return TN_OK;
}

tn_status tn_space_has_bounds(const tn_space *space, bool *has, tn_error *error) {
    tn_evaluator *evaluator;
    *has = false;
    if (!is_bounded(space)) return TN_OK;
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = TN_OK;
    for (size_t m = 0; status == TN_OK && m < space->models; m++)
        for (size_t d = 0; status == TN_OK && d < space->devices; d++)
            status = find_bounds(evaluator, tn_space_variant(space, m, d), has, error);
    tn_evaluator_free(evaluator);
    return status;
}

/* A price, or what bounds it, of one design or of a set. */
typedef struct {
    enum { BY_PRICE, BY_BOUND, BY_CLOSE_BOUND, OF_SET, WORK_OF_SET } kind;
    const tn_build_set *set;
    tn_closeness closeness;
    uint64_t enough_cycles;
    bool *has; /* of a set: whether there is a bound */
} pricing;

static tn_status price_as(const pricing *asked, tn_workload *workload, const tn_build *build, tn_price *price,
                          bool *exact, tn_error *error) {
    *exact = true;
    switch (asked->kind) {
    case OF_SET:
        *exact = false;
        return tn_price_set_bound(workload, asked->set, asked->closeness, asked->enough_cycles, price,
                                  asked->has, error);
    case WORK_OF_SET:
        *exact = false;
        return tn_price_set_work(workload, asked->set, price, asked->has, error);
    case BY_BOUND:
        return tn_price_bound(workload, build, price, exact, error);
    case BY_CLOSE_BOUND:
        return tn_price_close_bound(workload, build, price, exact, error);
    default:
        return tn_price_step(workload, build, price, error);
    }
}

static const pricing by_price = {.kind = BY_PRICE};

uint32_t tn_evaluator_narrowing(const tn_evaluator *evaluator) {
    const tn_space *space = evaluator->space;
    for (size_t i = 0; i < space->constraints; i++) {
        const tn_resources left = tn_constraints_within(&space->constraint[i], 1, &space->budget);
        if (memcmp(&left, &space->budget, sizeof left) != 0) return (uint32_t)(TN_CAUSE_CONSTRAINT + i);
    }
    return TN_CAUSE_NONE;
}

/* Blocks of one style alone fit where those of the other are asked for, too: together they hold no more than there is. */
static tn_cause lacking_capacity(const tn_evaluator *evaluator, const tn_evaluation *evaluation) {
    const double bytes = (double)evaluation->price.on_chip_bytes;
    if (bytes <= tn_resources_block_bytes(&evaluator->space->within)) return TN_CAUSE_NONE;
    return bytes <= tn_resources_block_bytes(&evaluator->space->budget) ? tn_evaluator_narrowing(evaluator)
                                                                        : TN_CAUSE_RESOURCE + TN_BRAM18;
}

/* What the step that stands says of its designs, whatever their builds; */
static tn_evaluation whatever_build(const tn_evaluator *evaluator) {
    const bool has_perplexity = evaluator->has_perplexity;
    return (tn_evaluation){.degrees_of_freedom = evaluator->degrees_of_freedom,
                           .error = evaluator->error,
                           .accuracy = has_perplexity ? NAN : evaluator->accuracy.mean,
                           .perplexity = has_perplexity ? evaluator->accuracy.mean : NAN,
                           .accuracy_deviation = evaluator->accuracy.deviation,
                           .accuracy_interpolated = evaluator->accuracy_basis == TN_ACCURACY_UNKNOWN
                                                        ? NAN
                                                        : (double)evaluator->accuracy_basis};
}

/* and of those of one. */
static tn_status describe_step(tn_evaluator *evaluator, const tn_build *build, tn_evaluation *evaluation,
                               tn_error *error) {
    const tn_step *step;
    TN_TRY(tn_workload_step(evaluator->workload, build, &step, error));
    *evaluation = whatever_build(evaluator);
    evaluation->parameters = step->parameters;
    evaluation->macs_per_step = tn_step_macs(step->macs);
    evaluation->peak_elements = step->peak_elements;
    evaluation->steps_per_epoch = step->steps_per_epoch;
    return TN_OK;
}

/* Builds of a set run steps of other peaks: the least of all. */
static tn_status lower_peaks(tn_evaluator *evaluator, const tn_build_set *set, tn_evaluation *evaluation,
                             tn_error *error) {
    const uint32_t free = set->free & tn_build_set_axes(set, TN_BEARS_STEP);
    for (uint32_t i = 0; i < set->axes; i++)
        for (size_t v = 0; free >> i & 1 && v < set->axis[i].count; v++) {
            const tn_build_set fixed = tn_build_set_fixed(set, i, v);
            const tn_step *step;
            TN_TRY(tn_workload_step(evaluator->workload, &fixed.build, &step, error));
            evaluation->peak_elements = tn_least(evaluation->peak_elements, step->peak_elements);
        }
    return TN_OK;
}

/* Whether all builds of the set have the same kernels, and run the same step. */
static bool has_kernels(const tn_build_set *set) {
    return tn_build_set_free_axis(set, TN_LEVEL_RUN, TN_LEVEL_ROW) == set->axes &&
           tn_build_set_free_axis(set, TN_LEVEL_LANE, TN_LEVEL_LANE) == set->axes;
}

/* The design whose choices are set, or a set. */
static tn_status judge(tn_evaluator *evaluator, const pricing *asked, tn_evaluation *evaluation,
                       tn_cause *cause, bool *exact, tn_error *error) {
    const bool of_set = asked->kind == OF_SET || asked->kind == WORK_OF_SET;
    TN_TRY(describe_step(evaluator, &evaluator->build, evaluation, error));
    if (of_set) TN_TRY(lower_peaks(evaluator, asked->set, evaluation, error));
    tn_status status =
        price_as(asked, evaluator->workload, &evaluator->build, &evaluation->price, exact, &evaluator->why);
    TN_TRY(tn_evaluator_as_cause(evaluator, status, cause, error));
    if (of_set && !*asked->has) return TN_OK;
    if (*cause == TN_CAUSE_NONE && !of_set)
        TN_TRY(tn_workload_obstacle(evaluator->workload, &evaluator->build,
                                    evaluation->price.off_chip_bytes > 0, &evaluation->obstacle, error));
    if (*cause == TN_CAUSE_NONE)
        *cause = tn_worst_resource(&evaluation->price.used, &evaluator->space->budget);
    if (*cause == TN_CAUSE_NONE && !*exact) *cause = lacking_capacity(evaluator, evaluation);
    if (*cause == TN_CAUSE_NONE && is_unmeasured(evaluator->space, evaluation)) *cause = TN_CAUSE_UNMEASURED;
    const builds of = {evaluator->inner, of_set ? asked->set->free : 0};
    const tn_known of_builds = of_set && has_kernels(asked->set) ? TN_KNOWN_KERNELS : TN_KNOWN_STEP,
                   known = of_set   ? of_builds
                           : *exact ? TN_KNOWN_WHOLE
                                    : TN_KNOWN_BOUND;
    if (*cause == TN_CAUSE_NONE) *cause = broken_constraint(evaluator, &of, known, evaluation);
    return TN_OK;
}

/* The design of the step that stands and an inner combination. */
static tn_status evaluate_inner(tn_evaluator *evaluator, uint64_t inner, const pricing *asked,
                                tn_evaluation *evaluation, uint32_t *cause, bool *exact, tn_error *error) {
    tn_cause found = evaluator->outer_cause;
    *exact = true;
    if (found == TN_CAUSE_NONE) set_build(evaluator, inner);
    evaluator->inner = inner;
    if (found == TN_CAUSE_NONE) TN_TRY(judge(evaluator, asked, evaluation, &found, exact, error));
    *cause = (uint32_t)found;
    return TN_OK;
}

static tn_status evaluate(tn_evaluator *evaluator, uint64_t outer, uint64_t inner, const pricing *asked,
                          tn_evaluation *evaluation, uint32_t *cause, bool *exact, tn_error *error) {
    if (!evaluator->has_outer || evaluator->outer != outer)
        TN_TRY(tn_evaluator_load_outer(evaluator, outer, error));
    return evaluate_inner(evaluator, inner, asked, evaluation, cause, exact, error);
}

tn_status tn_evaluate(tn_evaluator *evaluator, uint64_t outer, uint64_t inner, tn_evaluation *evaluation,
                      uint32_t *cause, tn_error *error) {
    bool exact;
    return evaluate(evaluator, outer, inner, &by_price, evaluation, cause, &exact, error);
}

/* The bound, or the price where there is none to ask for. */
static tn_status evaluate_bound(tn_evaluator *evaluator, uint64_t outer, uint64_t inner, pricing asked,
                                tn_evaluation *evaluation, uint32_t *cause, bool *exact, tn_error *error) {
    return evaluate(evaluator, outer, inner, evaluator->is_bounded ? &asked : &by_price, evaluation, cause,
                    exact, error);
}

tn_status tn_evaluate_bound(tn_evaluator *evaluator, uint64_t outer, uint64_t inner,
                            tn_evaluation *evaluation, uint32_t *cause, bool *exact, tn_error *error) {
    return evaluate_bound(evaluator, outer, inner, (pricing){.kind = BY_BOUND}, evaluation, cause, exact,
                          error);
}

tn_status tn_evaluate_close_bound(tn_evaluator *evaluator, uint64_t outer, uint64_t inner,
                                  tn_evaluation *evaluation, uint32_t *cause, bool *exact, tn_error *error) {
    return evaluate_bound(evaluator, outer, inner, (pricing){.kind = BY_CLOSE_BOUND}, evaluation, cause,
                          exact, error);
}

static tn_status evaluate_set(tn_evaluator *evaluator, const tn_build_set *set, uint64_t inner,
                              const pricing *asked, tn_evaluation *evaluation, uint32_t *cause, bool *has,
                              tn_error *error) {
    tn_cause found = evaluator->outer_cause;
    bool exact;
    evaluator->build = set->build;
    evaluator->inner = inner;
    *has = true;
    if (found == TN_CAUSE_NONE) TN_TRY(judge(evaluator, asked, evaluation, &found, &exact, error));
    *cause = (uint32_t)found;
    return TN_OK;
}

tn_status tn_evaluate_set(tn_evaluator *evaluator, const tn_build_set *set, uint64_t inner,
                          tn_closeness closeness, uint64_t enough_cycles, tn_evaluation *evaluation,
                          uint32_t *cause, bool *has, tn_error *error) {
    const pricing asked = {
        .kind = OF_SET, .set = set, .closeness = closeness, .enough_cycles = enough_cycles, .has = has};
    return evaluate_set(evaluator, set, inner, &asked, evaluation, cause, has, error);
}

tn_status tn_evaluate_set_work(tn_evaluator *evaluator, const tn_build_set *set, uint64_t inner,
                               tn_evaluation *evaluation, uint32_t *cause, bool *has, tn_error *error) {
    const pricing asked = {.kind = WORK_OF_SET, .set = set, .has = has};
    return evaluate_set(evaluator, set, inner, &asked, evaluation, cause, has, error);
}

void tn_evaluate_place(const tn_evaluator *evaluator, uint64_t inner, const tn_evaluation *work,
                       const tn_place_list *places, size_t place, tn_evaluation *evaluation,
                       uint32_t *cause) {
    const tn_place_entry *entry = &places->entry[place];
    const tn_space *space = evaluator->space;
    tn_resources *used = &evaluation->price.used;
    *evaluation = *work;
    used->bram18 += entry->bram18;
    used->uram += entry->uram;
    used->lut += entry->lut + places->lanes_lut;
    evaluation->price.on_chip_bytes += entry->capacity_bits / 8;
    *cause = (uint32_t)tn_worst_resource(used, &space->budget);
    if (*cause == TN_CAUSE_NONE) *cause = (uint32_t)lacking_capacity(evaluator, evaluation);
    if (*cause == TN_CAUSE_NONE)
        *cause = (uint32_t)broken_constraint(evaluator, &(builds){inner, 0}, TN_KNOWN_KERNELS, evaluation);
}

/* What steps of so many cycles take. */
static void add_time(const tn_evaluator *evaluator, uint64_t cycles, tn_evaluation *evaluation) {
    evaluation->steps_per_epoch = evaluator->step.steps_per_epoch;
    tn_price_least_time(evaluator->workload, cycles, &evaluation->price);
}

uint32_t tn_evaluator_refuses(const tn_evaluator *evaluator, const tn_resources *least, uint64_t cycles) {
    tn_evaluation evaluation = {.price.used = *least};
    const tn_cause cause = tn_worst_resource(least, &evaluator->space->budget);
    add_time(evaluator, cycles, &evaluation);
    return (uint32_t)(cause != TN_CAUSE_NONE
                          ? cause
                          : broken_constraint(evaluator, &(builds){0}, TN_KNOWN_LEAST, &evaluation));
}

uint32_t tn_evaluator_refuses_set(const tn_evaluator *evaluator, const tn_build_set *set, uint64_t inner) {
    const builds of = {inner, set->free};
    tn_evaluation least = whatever_build(evaluator);
    if (is_unmeasured(evaluator->space, &least)) return TN_CAUSE_UNMEASURED;
    add_time(evaluator, tn_price_set_least_cycles(evaluator->workload, set), &least);
    return (uint32_t)broken_constraint(evaluator, &of, TN_KNOWN_STEP, &least);
}

bool tn_evaluator_is_bounded(const tn_evaluator *evaluator) {
    return evaluator->is_bounded;
}

tn_status tn_evaluate_on(tn_evaluator *evaluator, const tn_device *device, tn_evaluation *evaluation,
                         uint32_t *cause, tn_error *error) {
    tn_workload *own = evaluator->workload;
    tn_cause found = evaluator->outer_cause;
    if (found == TN_CAUSE_NONE) {
        TN_TRY(tn_workload_prepare(&evaluator->step, device, &evaluator->step_arena, &evaluator->workload,
                                   error));
        tn_workload_share_layouts(evaluator->workload, own);
        bool exact;
        tn_status status = judge(evaluator, &by_price, evaluation, &found, &exact, error);
        evaluator->workload = own;
        TN_TRY(status);
    }
    *cause = (uint32_t)found;
    return TN_OK;
}

tn_status tn_evaluate_digits(tn_evaluator *evaluator, const uint32_t *digit, tn_evaluation *evaluation,
                             uint32_t *cause, tn_error *error) {
    const tn_space *space = evaluator->space;
    const uint64_t inner = tn_digits_number(&space->choices, space->inner, space->inners, digit);
    bool exact;
    TN_TRY(tn_evaluator_load(evaluator, digit, cause, error));
    return evaluate_inner(evaluator, inner, &by_price, evaluation, cause, &exact, error);
}

tn_status tn_evaluator_load(tn_evaluator *evaluator, const uint32_t *digit, uint32_t *cause,
                            tn_error *error) {
    const tn_space *space = evaluator->space;
    size_t own[TN_AXES_MOST];
    bool same = evaluator->has_digits;
    for (size_t i = 0; i < space->outers; i++) {
        own[i] = digit[space->outer[i]];
        same = same && own[i] == evaluator->digit[i];
    }
    if (!same) {
        TN_TRY(tn_evaluator_load_digits(evaluator, own, error));
        evaluator->has_digits = true;
    }
    *cause = (uint32_t)evaluator->outer_cause;
    return TN_OK;
}

tn_workload *tn_evaluator_workload(tn_evaluator *evaluator) {
    return evaluator->workload;
}

void tn_evaluator_take_build(tn_evaluator *evaluator, uint64_t inner) {
    set_build(evaluator, inner);
}

tn_status tn_evaluate_design(tn_evaluator *evaluator, uint64_t id, tn_evaluation *evaluation,
                             tn_error *error) {
    const tn_space *space = evaluator->space;
    uint64_t outer, inner;
    uint32_t cause;
    uint64_t designs = space->choices.is_vast ? space->choices.listed->count : space->choices.designs;
    if (id >= designs)
        return tn_fail(error, TN_INPUT, "no design %" PRIu64 "; the space has designs 0 to %" PRIu64, id,
                       designs - 1);
    tn_space_split(space, id, &outer, &inner);
    TN_TRY(tn_evaluate(evaluator, outer, inner, evaluation, &cause, error));
    if (cause == TN_CAUSE_UNDEFINED && evaluator->undefined.weight == TN_UNDEFINED_KEYS)
        return tn_fail(error, TN_INPUT, "design %" PRIu64 " has no price: %.900s", id,
                       evaluator->why.message);
    if (cause == TN_CAUSE_UNDEFINED || cause == TN_CAUSE_OVERFLOW || cause == TN_CAUSE_LIMIT)
        return tn_fail(error, TN_INPUT, "design %" PRIu64 " has no price: %s", id,
                       tn_cause_name(space, cause));
    return TN_OK;
}

tn_status tn_evaluate_explain(tn_evaluator *evaluator, uint64_t id, tn_arena *arena,
                              tn_explanation *explanation, tn_error *error) {
    tn_evaluation evaluation;
    TN_TRY(tn_evaluate_design(evaluator, id, &evaluation, error));
    return tn_price_explain(evaluator->workload, &evaluator->build, arena, explanation, error);
}

tn_status tn_evaluator_confirm(tn_evaluator *evaluator, const tn_point *point, tn_evaluation *evaluation,
                               bool *same, tn_error *error) {
    const tn_space *space = evaluator->space;
    uint64_t outer, inner;
    uint32_t cause;
    tn_point found = {0};
    tn_space_split(space, point->id, &outer, &inner);
    TN_TRY(tn_evaluate(evaluator, outer, inner, evaluation, &cause, error));
    *same = cause == TN_CAUSE_NONE;
    if (*same) tn_space_point(space, evaluation, point->id, &found);
    for (size_t i = 0; *same && i < space->objectives; i++) *same = found.value[i] == point->value[i];
    return TN_OK;
}
