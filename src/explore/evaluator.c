#include "explore/evaluator.h"

#include "base/checked.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Programs that a thread keeps before it starts afresh: bounds its memory on long sweeps. */
enum { OUTERS_PER_CACHE = 4096 };

struct tn_evaluator {
    const tn_space *space;
    tn_arena model_arena, step_arena;
    tn_model *model;
    tn_build base_build, build;
    tn_program_cache *cache;
    uint64_t cached_outers;

    uint64_t outer;      /* the combination that stands, */
    bool has_outer;      /* if there is one */
    uint64_t model_keys; /* digits of the model keys that the model was loaded with */
    bool has_model;
    tn_cause outer_cause; /* TN_CAUSE_NONE, UNDEFINED or OVERFLOW */
    tn_step step;
    tn_workload *workload;
    double error;
    uint64_t degrees_of_freedom;
};

const char *tn_cause_name(const tn_space *space, uint32_t cause) {
    if (cause == TN_CAUSE_UNDEFINED) return "undefined";
    if (cause == TN_CAUSE_OVERFLOW) return "overflow";
    if (cause >= TN_CAUSE_CONSTRAINT) return space->constraint[cause - TN_CAUSE_CONSTRAINT].name;
    if (cause >= TN_CAUSE_RESOURCE) return tn_resource_names[cause - TN_CAUSE_RESOURCE];
    return "feasible";
}

tn_status tn_evaluator_new(const tn_space *space, tn_evaluator **evaluator, tn_error *error) {
    tn_evaluator *made;
    TN_TRY(tn_alloc(1, sizeof *made, &made, error));
    made->space = space;
    *evaluator = made;
    return TN_OK;
}

void tn_evaluator_free(tn_evaluator *evaluator) {
    if (!evaluator) return;
    tn_program_cache_free(evaluator->cache);
    tn_arena_free(&evaluator->step_arena);
    tn_arena_free(&evaluator->model_arena);
    tn_free(evaluator);
}

tn_model *tn_evaluator_model(tn_evaluator *evaluator) {
    return evaluator->model;
}

const tn_build *tn_evaluator_build(const tn_evaluator *evaluator) {
    return &evaluator->build;
}

const tn_step *tn_evaluator_step(const tn_evaluator *evaluator) {
    return &evaluator->step;
}

/* Loads the model with the space's own overrides and the model keys among the choices. Their digits are the
 * leading ones of the outer combination, so they change rarely. */
static tn_status load_model(tn_evaluator *with, const size_t *digit, uint64_t keys, tn_error *error) {
    const tn_space *space = with->space;
    tn_arena_reset(&with->model_arena);
    with->has_model = false;
    const char **set;
    size_t count = 0;
    TN_TRY(tn_arena_alloc(&with->model_arena, space->set_count + space->outers, sizeof *set, &set, error));
    for (; count < space->set_count; count++) set[count] = space->set[count];
    for (size_t i = 0; i < space->outers; i++) {
        const tn_axis *choice = &space->choice[space->outer[i]];
        if (choice->kind != TN_AXIS_MODEL_KEY) break;
        TN_TRY(tn_arena_format(&with->model_arena, &set[count++], error, "%s=%s", choice->key,
                               choice->text[digit[i]]));
    }
    TN_TRY(tn_model_load(space->model_name, set, count, &with->model_arena, &with->model, error));
    TN_TRY(tn_build_decode(tn_model_build(with->model), &with->model_arena, &with->base_build, error));
    with->model_keys = keys;
    with->has_model = true;
    return TN_OK;
}

static uint64_t greatest_rank(const tn_weight *weight) {
    uint64_t greatest = 1;
    for (uint32_t i = 0; i < weight->rank_count; i++)
        if (weight->rank[i] > greatest) greatest = weight->rank[i];
    return greatest;
}

/* What the choices say of one weight: places of their values, SIZE_MAX where there is no such choice. */
typedef struct {
    const tn_axis *format, *folding, *rank, *flow;
    size_t format_digit, folding_digit, rank_digit, flow_digit;
} weight_choices;

static weight_choices choices_of(const tn_space *space, size_t weight, const size_t *digit) {
    weight_choices of = {0};
    for (size_t i = 0; i < space->outers; i++) {
        const tn_axis *choice = &space->choice[space->outer[i]];
        if (choice->kind == TN_AXIS_MODEL_KEY || choice->weight != weight) continue;
        if (choice->kind == TN_AXIS_FORMAT) of.format = choice, of.format_digit = digit[i];
        if (choice->kind == TN_AXIS_FOLDING) of.folding = choice, of.folding_digit = digit[i];
        if (choice->kind == TN_AXIS_RANK) of.rank = choice, of.rank_digit = digit[i];
        if (choice->kind == TN_AXIS_FLOW) of.flow = choice, of.flow_digit = digit[i];
    }
    return of;
}

/* The weight as the model file has it, with the choices applied: format, then folding, then rank (a new
 * format or folding has other bonds, so the rank is spread anew: the chosen one, else the greatest of the
 * file), then flow. */
static tn_status set_weight(tn_evaluator *with, size_t position, const size_t *digit, tn_error *error) {
    const tn_space *space = with->space;
    weight_choices of = choices_of(space, position, digit);
    tn_model_weight *entry = tn_model_weight_at(with->model, position);
    if (of.format) entry->weight.format = (tn_format)of.format->number[of.format_digit];
    if (of.folding) {
        const tn_folding_pair *pair = &of.folding->folding[of.folding_digit];
        entry->weight.d = pair->m.d;
        memcpy(entry->weight.m, pair->m.factor, sizeof pair->m.factor);
        memcpy(entry->weight.n, pair->n.factor, sizeof pair->n.factor);
    }
    if (of.format || of.folding || of.rank) {
        uint64_t given = greatest_rank(&tn_model_weight_at(space->model, position)->weight);
        TN_TRY(tn_weight_set_rank(&entry->weight, of.rank ? of.rank->number[of.rank_digit] : given, error));
    }
    if (of.flow) entry->flow = (tn_flow_name)of.flow->number[of.flow_digit];
    return TN_OK;
}

/* Root of the sum of squared errors of the weights that the table speaks of. */
static bool error_of_weights(tn_evaluator *with) {
    const tn_error_table *table = &with->space->error_table;
    double sum = 0;
    for (size_t i = 0; table->count && i < tn_model_weights(with->model); i++) {
        const tn_model_weight *entry = tn_model_weight_at(with->model, i);
        double relative_error;
        if (!tn_error_table_covers(table, entry->name)) continue;
        if (!tn_error_table_find(table, entry->name, &entry->weight, &relative_error)) return false;
        sum += relative_error * relative_error;
    }
    with->error = sqrt(sum);
    return true;
}

static tn_status renew_cache(tn_evaluator *with, tn_error *error) {
    if (with->cache && with->cached_outers++ < OUTERS_PER_CACHE) return TN_OK;
    tn_program_cache_free(with->cache);
    with->cache = NULL;
    with->cached_outers = 0;
    return tn_program_cache_new(&with->cache, error);
}

/* Turns "this weight has no such flow" and overflow into causes; other failures stay failures. */
static tn_status as_cause(tn_status status, tn_cause *cause) {
    if (status == TN_INPUT || status == TN_LIMIT)
        *cause = TN_CAUSE_UNDEFINED;
    else if (status == TN_OVERFLOW)
        *cause = TN_CAUSE_OVERFLOW;
    else
        return status;
    return TN_OK;
}

/* Whether a choice sets the weight's format, folding, rank or flow; *any: that of some weight. */
static bool is_varied(const tn_space *space, const char *weight, bool *any) {
    bool found = *any = false;
    for (size_t i = 0; i < space->outers; i++) {
        const tn_axis *choice = &space->choice[space->outer[i]];
        if (choice->kind == TN_AXIS_MODEL_KEY) continue;
        *any = true;
        found |= strcmp(tn_model_weight_at(space->model, choice->weight)->name, weight) == 0;
    }
    return found;
}

/* Over the layers, since each trains a copy of its own. Where the choices vary no weight, all named ones
 * count. */
static tn_status count_degrees_of_freedom(tn_evaluator *with, tn_error *error) {
    with->degrees_of_freedom = 0;
    for (uint32_t i = 0; i < with->step.layers; i++) {
        const tn_step_layer *layer = &with->step.layer[i];
        uint64_t degrees;
        bool any;
        if (!layer->weight_name || (!is_varied(with->space, layer->weight_name, &any) && any)) continue;
        TN_TRY(tn_weight_degrees_of_freedom(layer->weight, &degrees, error));
        if (!tn_add(with->degrees_of_freedom, degrees, &with->degrees_of_freedom))
            return tn_fail(error, TN_OVERFLOW, "the model has more than 2^64 degrees of freedom");
    }
    return TN_OK;
}

static tn_status make_step(tn_evaluator *with, const size_t *digit, tn_error *error) {
    for (size_t i = 0; i < tn_model_weights(with->model); i++) TN_TRY(set_weight(with, i, digit, error));
    if (!error_of_weights(with))
        return tn_fail(error, TN_INPUT, "the error table has no row for this design");
    TN_TRY(tn_step_build(with->model, with->cache, &with->step_arena, &with->step, error));
    TN_TRY(count_degrees_of_freedom(with, error));
    return tn_workload_prepare(&with->step, with->space->device, &with->step_arena, &with->workload, error);
}

static tn_status load_outer(tn_evaluator *with, uint64_t outer, tn_error *error) {
    const tn_space *space = with->space;
    size_t digit[TN_AXES_MOST];
    uint64_t keys = 0, rest = outer;
    for (size_t i = space->outers; i-- > 0;) {
        size_t count = space->choice[space->outer[i]].count;
        digit[i] = (size_t)(rest % count);
        rest /= count;
    }
    for (size_t i = 0; i < space->outers && space->choice[space->outer[i]].kind == TN_AXIS_MODEL_KEY; i++)
        keys = keys * space->choice[space->outer[i]].count + digit[i];
    with->has_outer = false;
    if (!with->has_model || keys != with->model_keys) TN_TRY(load_model(with, digit, keys, error));
    TN_TRY(renew_cache(with, error));
    tn_arena_reset(&with->step_arena);
    with->outer_cause = TN_CAUSE_NONE;
    TN_TRY(as_cause(make_step(with, digit, error), &with->outer_cause));
    with->outer = outer;
    with->has_outer = true;
    return TN_OK;
}

static void set_build(tn_evaluator *with, uint64_t inner) {
    const tn_space *space = with->space;
    with->build = with->base_build;
    for (size_t i = space->inners; i-- > 0;) {
        const tn_axis *choice = &space->choice[space->inner[i]];
        uint64_t value = choice->number[inner % choice->count];
        inner /= choice->count;
        char *member = (char *)&with->build + choice->field->offset;
        if (choice->field->type == TN_FIELD_CHOICE)
            memcpy(member, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
        else
            memcpy(member, &value, sizeof value);
    }
}

/* The resource that is over its budget by the greatest factor. */
static tn_cause worst_resource(const tn_resources *used, const tn_resources *budget) {
    const uint64_t need[TN_RESOURCES] = {used->lut, used->ff, used->dsp, used->bram18, used->uram};
    const uint64_t have[TN_RESOURCES] = {budget->lut, budget->ff, budget->dsp, budget->bram18, budget->uram};
    double worst = 1;
    tn_cause cause = TN_CAUSE_NONE;
    for (int i = 0; i < TN_RESOURCES; i++) {
        if (need[i] <= have[i]) continue;
        double factor = have[i] ? (double)need[i] / (double)have[i] : INFINITY;
        if (factor <= worst) continue;
        worst = factor;
        cause = (tn_cause)(TN_CAUSE_RESOURCE + i);
    }
    return cause;
}

static tn_cause broken_constraint(const tn_space *space, const tn_evaluation *evaluation) {
    for (size_t i = 0; i < space->constraints; i++) {
        double value = space->constraint[i].quantity->get(evaluation);
        if (!(value >= space->constraint[i].least && value <= space->constraint[i].most))
            return (tn_cause)(TN_CAUSE_CONSTRAINT + i);
    }
    return TN_CAUSE_NONE;
}

static uint64_t sum_of(const uint64_t *macs) {
    uint64_t sum = 0;
    for (int phase = 0; phase < TN_PHASES; phase++) sum += macs[phase];
    return sum;
}

tn_status tn_evaluate(tn_evaluator *evaluator, uint64_t outer, uint64_t inner, tn_evaluation *evaluation,
                      uint32_t *cause, tn_error *error) {
    if (!evaluator->has_outer || evaluator->outer != outer) TN_TRY(load_outer(evaluator, outer, error));
    tn_cause found = evaluator->outer_cause;
    if (found == TN_CAUSE_NONE) {
        const tn_step *step = &evaluator->step;
        *evaluation = (tn_evaluation){.parameters = step->parameters,
                                      .degrees_of_freedom = evaluator->degrees_of_freedom,
                                      .macs_per_step = sum_of(step->macs),
                                      .peak_elements = step->peak_elements,
                                      .steps_per_epoch = step->steps_per_epoch,
                                      .error = evaluator->error};
        set_build(evaluator, inner);
        TN_TRY(as_cause(tn_price_step(evaluator->workload, &evaluator->build, &evaluation->price, error),
                        &found));
        if (found == TN_CAUSE_NONE)
            found = worst_resource(&evaluation->price.used, &evaluator->space->budget);
        if (found == TN_CAUSE_NONE) found = broken_constraint(evaluator->space, evaluation);
    }
    *cause = (uint32_t)found;
    return TN_OK;
}

tn_status tn_evaluate_explain(tn_evaluator *evaluator, uint64_t id, tn_arena *arena,
                              tn_explanation *explanation, tn_error *error) {
    uint64_t outer, inner;
    uint32_t cause;
    tn_evaluation evaluation;
    tn_space_split(evaluator->space, id, &outer, &inner);
    TN_TRY(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, error));
    if (cause == TN_CAUSE_UNDEFINED || cause == TN_CAUSE_OVERFLOW)
        return tn_fail(error, TN_INPUT, "design %" PRIu64 " has no price: %s", id,
                       tn_cause_name(evaluator->space, cause));
    return tn_price_explain(evaluator->workload, &evaluator->build, arena, explanation, error);
}
