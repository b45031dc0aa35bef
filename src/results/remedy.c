#include "results/remedy.h"

#include "base/interrupt.h"
#include "device/build.h"
#include "front/knee.h"
#include "model/layer_weight.h"
#include "search/evaluator.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double tn_budget_ratio(const tn_resources *used, const tn_resources *budget) {
    double most = 0;
    for (int i = 0; i < TN_RESOURCES; i++) {
        uint64_t need = tn_resource_amount(used, (tn_resource)i),
                 have = tn_resource_amount(budget, (tn_resource)i);
        if (need > 0) most = fmax(most, have ? (double)need / (double)have : INFINITY);
    }
    return most;
}

/* By which factor a value lies beyond a constraint's bounds; 1 where it is within. A bound of 0 or of another sign,
 * and a condition of several parts, have no factor: then it is infinite. */
static double constraint_factor(const tn_constraint *constraint, const tn_evaluation *evaluation) {
    if (constraint->expression) return INFINITY;
    double value = constraint->quantity->get(evaluation), factor = 1;
    if (value > constraint->most) factor = value / constraint->most;
    if (value < constraint->least) factor = constraint->least / value;
    return factor >= 1 && isfinite(factor) ? factor : INFINITY;
}

/* The greatest of both: at most 1 where the design fits. Of a constraint nothing is said where the quantity is not
 * known (NaN) or the condition has several parts. */
static double tn_shortfall(const tn_limits *limits, const tn_evaluation *evaluation) {
    double most = tn_budget_ratio(&evaluation->price.used, limits->budget);
    for (size_t i = 0; limits->space && i < limits->space->constraints; i++) {
        const tn_constraint *constraint = &limits->space->constraint[i];
        if (!constraint->expression && !isnan(constraint->quantity->get(evaluation)))
            most = fmax(most, constraint_factor(constraint, evaluation));
    }
    return most;
}

/* `space`: the variant of the design. */
static double factor_of(const tn_space *space, const tn_evaluation *evaluation, uint32_t cause) {
    if (cause >= TN_CAUSE_CONSTRAINT)
        return constraint_factor(&space->constraint[cause - TN_CAUSE_CONSTRAINT], evaluation);
    return tn_budget_ratio(&evaluation->price.used, &space->budget);
}

static void offer(tn_misses *misses, tn_miss next) {
    size_t at = 0;
    while (at < misses->count && misses->miss[at].cause != next.cause) at++;
    if (at == misses->count) misses->miss[misses->count++] = next;
    if (next.factor < misses->miss[at].factor) misses->miss[at] = next;
}

static int by_factor(const void *a, const void *b) {
    const tn_miss *x = a, *y = b;
    return tn_value_order(x->factor, x->id, y->factor, y->id);
}

static tn_status look_at(const tn_space *space, tn_evaluator *evaluator, uint64_t outer, tn_misses *misses,
                         tn_error *error) {
    for (uint64_t inner = 0; inner < space->inner_count; inner++) {
        tn_evaluation evaluation;
        uint32_t cause;
        bool exact;
        TN_TRY(tn_evaluate_bound(evaluator, outer, inner, &evaluation, &cause, &exact, error));
        misses->evaluated++;
        if (cause < TN_CAUSE_RESOURCE) continue; /* feasible, or without a price */
        uint64_t id = tn_space_id(space, outer, inner);
        offer(misses, (tn_miss){id, cause, factor_of(tn_space_of(space, id), &evaluation, cause)});
    }
    return TN_OK;
}

tn_status tn_misses_find(const tn_space *space, uint64_t most, tn_misses *misses, tn_error *error) {
    tn_evaluator *evaluator;
    *misses = (tn_misses){0};
    if (space->choices.is_vast) return TN_OK; /* no design has a number to begin with */
    uint64_t outers = most / space->inner_count;
    if (outers == 0) outers = 1;
    if (outers > space->outer_count) outers = space->outer_count;
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = TN_OK;
    for (uint64_t i = 0; status == TN_OK && i < outers && !tn_interrupted(); i++) {
        /* Evenly over all; the product fits, as outers <= most. */
        uint64_t outer = (uint64_t)((double)i * ((double)space->outer_count / (double)outers));
        status = look_at(space, evaluator, outer, misses, error);
    }
    tn_evaluator_free(evaluator);
    qsort(misses->miss, misses->count, sizeof *misses->miss, by_factor);
    return status;
}

enum { REMEDIES_MOST = 64, KEY_MOST = 200, VALUE_MOST = 32 };
/* Operations that are priced in all, a few seconds: of a step with more than 100,000 only the first changes are
 * tried, and the answer says how many. */
static const uint64_t PRICED_MOST = 1 << 22;

typedef struct {
    tn_model *model;
    const tn_device *device;
    const tn_build *build;
    const tn_limits *limits;
    tn_program_cache *cache;
    tn_step step; /* of the model as it stands */
    tn_workload *workload;
    tn_arena *arena;
    tn_remedies *out;
    tn_error *error;
} search;

/* A change that was priced. */
typedef struct {
    char key[KEY_MOST], value[VALUE_MOST], was[VALUE_MOST];
    bool priced; /* a change without a price (an illegal build, a rank that does not exist, ..) is none */
    tn_price price;
    double ratio;
} trial;

/* ---- what is kept ---- */

static tn_status write_remedy(search *with, const trial *tried, tn_remedy *remedy) {
    remedy->price = tried->price;
    remedy->ratio = tried->ratio;
    TN_TRY(tn_arena_format(with->arena, &remedy->was, with->error, "%s", tried->was));
    return tn_arena_format(with->arena, &remedy->change, with->error, "%s=%s", tried->key, tried->value);
}

/* In its place by time, behind equals; the slowest of too many goes. */
static tn_status add_remedy(search *with, const trial *tried) {
    tn_remedies *out = with->out;
    size_t at = out->count;
    while (at > 0 && out->remedy[at - 1].price.seconds_per_step > tried->price.seconds_per_step) at--;
    if (at == REMEDIES_MOST) return TN_OK;
    if (out->count < REMEDIES_MOST) out->count++;
    memmove(&out->remedy[at + 1], &out->remedy[at], (out->count - at - 1) * sizeof *out->remedy);
    return write_remedy(with, tried, &out->remedy[at]);
}

/* Where the design then fits, or comes nearer than with any other change. */
static tn_status keep(search *with, const trial *tried) {
    tn_remedies *out = with->out;
    if (!tried->priced) return TN_OK;
    if (tried->ratio <= 1) return add_remedy(with, tried);
    if (tried->ratio >= out->given_ratio || (out->closest.change && tried->ratio >= out->closest.ratio))
        return TN_OK;
    return write_remedy(with, tried, &out->closest);
}

/* ---- pricing ---- */

static bool may_try(search *with) {
    bool may = (with->out->tried + 1) * (uint64_t)with->step.operations <= PRICED_MOST;
    with->out->cut |= !may;
    return may;
}

static tn_status shortfall(search *with, const tn_step *step, const tn_price *price, double *ratio) {
    const tn_space *space = with->limits->space;
    tn_evaluation evaluation = {.price = *price,
                                .parameters = step->parameters,
                                .peak_elements = step->peak_elements,
                                .steps_per_epoch = step->steps_per_epoch,
                                .error = NAN,
                                .accuracy = NAN,
                                .accuracy_deviation = NAN,
                                .accuracy_interpolated = NAN};
    for (int phase = 0; phase < TN_PHASES; phase++) evaluation.macs_per_step += step->macs[phase];
    if (space) TN_TRY(tn_varied_degrees_of_freedom(space, step, &evaluation.degrees_of_freedom, with->error));
    *ratio = tn_shortfall(with->limits, &evaluation);
    return TN_OK;
}

/* What is no price is told by tried->priced; only a lack of memory and an interruption fail. */
static tn_status as_trial(tn_status status, trial *tried) {
    tried->priced = status == TN_OK;
    return status == TN_MEMORY || status == TN_INTERRUPTED ? status : TN_OK;
}

static tn_status price_build(search *with, const tn_build *build, trial *tried) {
    tried->priced = false;
    if (!may_try(with)) return TN_OK;
    with->out->tried++;
    tn_status status = tn_price_step(with->workload, build, &tried->price, with->error);
    if (status == TN_OK) status = shortfall(with, &with->step, &tried->price, &tried->ratio);
    return as_trial(status, tried);
}

static tn_status price_model(search *with, const tn_model *model, trial *tried) {
    tn_arena scratch = {0};
    tn_step step;
    tn_workload *workload;
    tried->priced = false;
    if (!may_try(with)) return TN_OK;
    with->out->tried++;
    tn_status status = tn_step_build(model, with->cache, &scratch, &step, with->error);
    if (status == TN_OK) status = tn_workload_prepare(&step, with->device, &scratch, &workload, with->error);
    if (status == TN_OK) status = tn_price_step(workload, with->build, &tried->price, with->error);
    if (status == TN_OK) status = shortfall(with, &step, &tried->price, &tried->ratio);
    tn_arena_free(&scratch);
    return as_trial(status, tried);
}

/* ---- the build ---- */

static tn_status try_choice(search *with, const tn_field *field, trial *tried) {
    uint64_t given = tn_build_value(with->build, field);
    for (uint64_t value = 0; field->choices[value]; value++) {
        tn_build build = *with->build;
        if (value == given) continue;
        tn_build_set_value(&build, field, value);
        snprintf(tried->value, sizeof tried->value, "%s", field->choices[value]);
        snprintf(tried->was, sizeof tried->was, "%s", field->choices[given]);
        TN_TRY(price_build(with, &build, tried));
        TN_TRY(keep(with, tried));
    }
    return TN_OK;
}

/* The next value of a count behind *value; false behind the last. */
static bool next_count(const tn_field *field, uint64_t given, bool up, uint64_t *value) {
    enum { GROUP_MOST = 64, DOUBLINGS_MOST = 6 };
    static const struct {
        const char *key;
        uint64_t first, last;
    } bytes[] = {{"off_chip_over_bytes", 1 << 20, 256}, {"off_chip_tile_bytes", 1 << 16, 1 << 10}};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        if (strcmp(field->key, bytes[i].key) != 0) continue;
        *value = *value == 0 ? bytes[i].first : *value / 4;
        return !up && *value >= bytes[i].last && (given == 0 || *value < given);
    }
    if (strcmp(field->key, "group") == 0) {
        *value *= 2;
        return !up && *value <= GROUP_MOST;
    }
    *value = up ? *value * 2 : *value / 2;
    if (up) return *value <= (uint64_t)field->maximum && *value <= given << DOUBLINGS_MOST;
    return *value >= (uint64_t)field->minimum && *value > 0;
}

static tn_status try_count(search *with, const tn_field *field, bool up, trial *tried) {
    uint64_t given = tn_build_value(with->build, field), value = given;
    bool fits = false;
    snprintf(tried->was, sizeof tried->was, "%" PRIu64, given);
    while (!fits && next_count(field, given, up, &value)) {
        tn_build build = *with->build;
        tn_build_set_value(&build, field, value);
        snprintf(tried->value, sizeof tried->value, "%" PRIu64, value);
        TN_TRY(price_build(with, &build, tried));
        TN_TRY(keep(with, tried));
        fits = tried->priced && tried->ratio <= 1;
    }
    return TN_OK;
}

static tn_status try_build(search *with) {
    /* What runs side by side takes no less; blocks change nothing by themselves; ideal layouts can't be built. */
    static const char *const idle[] = {"schedule", "blocks", "layouts"};
    bool up = with->limits->space && with->limits->space->constraints;
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *field = &tn_build_schema.field[i];
        bool is_idle = false;
        trial tried;
        for (size_t k = 0; k < sizeof idle / sizeof *idle; k++) is_idle |= strcmp(field->key, idle[k]) == 0;
        if (is_idle) continue;
        snprintf(tried.key, sizeof tried.key, "build.%s", field->key);
        if (field->type == TN_FIELD_CHOICE) TN_TRY(try_choice(with, field, &tried));
        if (field->type == TN_FIELD_COUNT) TN_TRY(try_count(with, field, false, &tried));
        if (field->type == TN_FIELD_COUNT && up) TN_TRY(try_count(with, field, true, &tried));
    }
    return TN_OK;
}

/* ---- keys of the model ---- */

static tn_status try_key(search *with, trial *tried) {
    tn_arena scratch = {0};
    tn_model *changed;
    char keys[KEY_MOST + VALUE_MOST + 8];
    const char *dot = strchr(tried->key, '.');
    if (dot)
        snprintf(keys, sizeof keys, "%.*s: {%s: %s}", (int)(dot - tried->key), tried->key, dot + 1,
                 tried->value);
    else
        snprintf(keys, sizeof keys, "%s: %s", tried->key, tried->value);
    tn_status status = tn_model_change(with->model, keys, &scratch, &changed, with->error);
    if (status == TN_OK)
        status = price_model(with, changed, tried);
    else
        status = as_trial(status, tried);
    tn_arena_free(&scratch);
    return status == TN_OK ? keep(with, tried) : status;
}

/* The text of a key of the model file; `usual` where it has none, NULL where it is no scalar. */
static const char *given_text(const search *with, const char *key, const char *usual) {
    const tn_yaml *node = tn_model_root(with->model);
    while (node && node->kind == TN_YAML_MAPPING && *key) {
        char part[KEY_MOST];
        size_t length = strcspn(key, ".");
        snprintf(part, sizeof part, "%.*s", (int)length, key);
        node = tn_yaml_get(node, part);
        key += length + (key[length] == '.');
    }
    if (!node) return usual;
    return node->kind == TN_YAML_SCALAR ? node->text : NULL;
}

static tn_status try_keys(search *with) {
    static const struct {
        const char *key, *usual, *value;
    } change[] = {
        {"format", "as-given", "as-given"},
        {"activations.policy", "keep", "recompute"},
        {"activations.policy", "keep", "recompute-layers"},
        {"activations.policy", "keep", "reversible"},
        {"update.when", "end", "write-back"},
        {"optimizer", "sgd", "sgd"},
        {"precision", "fp32", "bf16"},
    };
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        const char *given = given_text(with, change[i].key, change[i].usual);
        trial tried;
        if (!given || strcmp(given, change[i].value) == 0) continue;
        snprintf(tried.key, sizeof tried.key, "%s", change[i].key);
        snprintf(tried.value, sizeof tried.value, "%s", change[i].value);
        snprintf(tried.was, sizeof tried.was, "%s", given);
        TN_TRY(try_key(with, &tried));
    }
    return TN_OK;
}

static tn_status try_sizes(search *with) {
    const struct {
        const char *key;
        uint64_t given;
    } size[] = {{"batch", with->step.batch}, {"sequence", with->step.sequence}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        trial tried = {.priced = false, .ratio = INFINITY};
        snprintf(tried.key, sizeof tried.key, "%s", size[i].key);
        snprintf(tried.was, sizeof tried.was, "%" PRIu64, size[i].given);
        for (uint64_t value = size[i].given / 2; value > 0 && tried.ratio > 1; value /= 2) {
            snprintf(tried.value, sizeof tried.value, "%" PRIu64, value);
            tried.ratio = INFINITY;
            TN_TRY(try_key(with, &tried));
        }
    }
    return TN_OK;
}

/* ---- weights ---- */

static uint64_t greatest_rank(const tn_weight *weight) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < weight->rank_count; i++)
        if (weight->rank[i] > most) most = weight->rank[i];
    return most;
}

static tn_status price_rank(search *with, tn_model_weight *entry, uint64_t rank, trial *tried, bool *fits) {
    const tn_weight given = entry->weight;
    snprintf(tried->value, sizeof tried->value, "%" PRIu64, rank);
    tn_status status = as_trial(tn_weight_set_rank(&entry->weight, rank, with->error), tried);
    if (status == TN_OK && tried->priced) status = price_model(with, with->model, tried);
    entry->weight = given;
    *fits = tried->priced && tried->ratio <= 1;
    return status;
}

/* The greatest rank with which the design fits: between `fitting` and `short_of`, halving. */
static tn_status try_ranks(search *with, tn_model_weight *entry, trial *tried) {
    uint64_t fitting = 1, short_of = greatest_rank(&entry->weight);
    bool fits;
    snprintf(tried->was, sizeof tried->was, "%" PRIu64, short_of);
    if (short_of == 1) return TN_OK;
    TN_TRY(price_rank(with, entry, fitting, tried, &fits));
    if (!fits) return keep(with, tried); /* then no rank does */
    trial best = *tried;
    while (short_of - fitting > 1 && may_try(with)) {
        uint64_t rank = fitting + (short_of - fitting) / 2;
        TN_TRY(price_rank(with, entry, rank, tried, &fits));
        if (fits) best = *tried;
        *(fits ? &fitting : &short_of) = rank;
    }
    return keep(with, &best);
}

static tn_status try_flows(search *with, tn_model_weight *entry, trial *tried) {
    static const tn_flow_name flows[] = {TN_FLOW_RIGHT_TO_LEFT, TN_FLOW_BIDIRECTIONAL,
                                         TN_FLOW_BIDIRECTIONAL_PUBLISHED, TN_FLOW_OPTIMAL};
    const tn_flow_name given = entry->flow;
    snprintf(tried->was, sizeof tried->was, "%s", tn_flow_names[given]);
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
        if (flows[i] == given) continue;
        snprintf(tried->value, sizeof tried->value, "%s", tn_flow_names[flows[i]]);
        entry->flow = flows[i];
        tn_status status = price_model(with, with->model, tried);
        entry->flow = given;
        TN_TRY(status);
        TN_TRY(keep(with, tried));
    }
    return TN_OK;
}

/* "weights.square.rank"; of a layer's own copy "layers.encoder1.query.rank". */
static void name_key(const search *with, size_t place, const char *what, trial *tried) {
    bool own = tn_model_weight_base(with->model, place) != place;
    snprintf(tried->key, sizeof tried->key, "%s.%.150s.%s", own ? "layers" : "weights",
             tn_model_weight_at(with->model, place)->name, what);
}

typedef struct {
    size_t place;
    uint64_t parameters;
} sized;

static int largest_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    if (x->parameters != y->parameters) return x->parameters > y->parameters ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Those in tensor formats, the largest first: a change of a small one rarely makes anything fit. */
static tn_status try_weights(search *with) {
    size_t all = tn_model_weights(with->model), count = 0;
    sized *weight;
    TN_TRY(TN_NEW(with->arena, all, &weight, with->error));
    for (size_t i = 0; i < all; i++) {
        const tn_weight *of = &tn_model_weight_at(with->model, i)->weight;
        if (of->format == TN_DENSE) continue;
        weight[count] = (sized){.place = i};
        /* A count past 64 bits is the design's error, and told before. */
        tn_weight_parameters(of, &weight[count++].parameters, NULL);
    }
    if (count) qsort(weight, count, sizeof *weight, largest_first);
    for (size_t i = 0; i < count; i++) {
        tn_model_weight *entry = tn_model_weight_at(with->model, weight[i].place);
        trial tried;
        if (!may_try(with)) {
            with->out->weights_left++;
            continue;
        }
        name_key(with, weight[i].place, "rank", &tried);
        TN_TRY(try_ranks(with, entry, &tried));
        name_key(with, weight[i].place, "flow", &tried);
        TN_TRY(try_flows(with, entry, &tried));
    }
    return TN_OK;
}

/* ---- all ---- */

static tn_status try_all(search *with) {
    tn_price given;
    TN_TRY(TN_NEW(with->arena, REMEDIES_MOST, &with->out->remedy, with->error));
    TN_TRY(tn_step_build(with->model, with->cache, with->arena, &with->step, with->error));
    TN_TRY(tn_workload_prepare(&with->step, with->device, with->arena, &with->workload, with->error));
    TN_TRY(tn_price_step(with->workload, with->build, &given, with->error));
    TN_TRY(shortfall(with, &with->step, &given, &with->out->given_ratio));
    TN_TRY(try_build(with));
    TN_TRY(try_weights(with));
    TN_TRY(try_sizes(with));
    return try_keys(with);
}

tn_status tn_remedies_find(tn_model *model, const tn_device *device, const tn_build *build,
                           const tn_limits *limits, tn_arena *arena, tn_remedies *remedies, tn_error *error) {
    *remedies = (tn_remedies){0};
    search with = {.model = model,
                   .device = device,
                   .build = build,
                   .limits = limits,
                   .arena = arena,
                   .out = remedies,
                   .error = error};
    TN_TRY(tn_program_cache_new(&with.cache, error));
    tn_status status = try_all(&with);
    tn_program_cache_free(with.cache);
    return status;
}
