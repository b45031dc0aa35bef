#include "results/remedy.h"

#include "model/graph.h"
#include "model/layer_weight.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REMEDIES_MOST = 64, KEY_MOST = 200, VALUE_MOST = 32 };
/* Operations that are priced in all, a few seconds: of a step with more than 100,000 only the first changes are
 * tried, and the answer says how many. */
static const uint64_t PRICED_MOST = 1 << 22;

typedef struct {
    const tn_limits *limits;
    tn_program_cache *cache;
    tn_priced given;
    tn_arena *arena, scratch; /* of one trial after the other */
    tn_remedies *out;
    tn_error *error;
} search;

/* A change that was priced. */
typedef struct {
    char key[KEY_MOST], value[VALUE_MOST], was[VALUE_MOST];
    int sacrifice; /* what else is given up: 0 nothing, 1 the method of training or its numbers, 2 what is learned, or at once */
    bool priced; /* a change without a price (an illegal build, a rank that does not exist, ..) is none */
    tn_price price;
    double ratio;
} trial;

/* ---- what is kept ---- */

static tn_status write_remedy(search *state, const trial *tried, tn_remedy *remedy) {
    remedy->price = tried->price;
    remedy->ratio = tried->ratio;
    remedy->sacrifice = tried->sacrifice;
    TN_TRY(tn_arena_format(state->arena, &remedy->was, state->error, "%s", tried->was));
    return tn_arena_format(state->arena, &remedy->change, state->error, "%s=%s", tried->key, tried->value);
}

/* Changes of the hardware before those of the method, these before those of what is learned; then the faster. */
static bool comes_before(const trial *tried, const tn_remedy *other) {
    if (tried->sacrifice != other->sacrifice) return tried->sacrifice < other->sacrifice;
    return tried->price.seconds_per_step < other->price.seconds_per_step;
}

/* In its place by time, behind equals; the slowest of too many goes. */
static tn_status add_remedy(search *state, const trial *tried) {
    tn_remedies *out = state->out;
    size_t index = out->count;
    while (index > 0 && comes_before(tried, &out->remedy[index - 1])) index--;
    if (index == REMEDIES_MOST) return TN_OK;
    if (out->count < REMEDIES_MOST) out->count++;
    memmove(&out->remedy[index + 1], &out->remedy[index], (out->count - index - 1) * sizeof *out->remedy);
    return write_remedy(state, tried, &out->remedy[index]);
}

/* Where the design then fits, or comes nearer than with any other change. */
static tn_status keep(search *state, const trial *tried) {
    tn_remedies *out = state->out;
    if (!tried->priced) return TN_OK;
    if (tried->ratio <= 1) return add_remedy(state, tried);
    if (tried->sacrifice > 1) return TN_OK; /* rank 1, or a sequence of 1, is no advice */
    if (tried->ratio >= out->given_ratio || (out->closest.change && tried->ratio >= out->closest.ratio))
        return TN_OK;
    return write_remedy(state, tried, &out->closest);
}

/* ---- pricing ---- */

static bool may_try(search *state) {
    bool may = (state->out->tried + 1) * (uint64_t)state->given.given->operations <= PRICED_MOST;
    state->out->cut |= !may;
    return may;
}

static tn_status shortfall(search *state, const tn_priced *priced, double *ratio) {
    tn_evaluation evaluation;
    return tn_limits_evaluate(state->limits, priced, &evaluation, ratio, state->error);
}

static tn_status price_changed(search *state, const tn_design *changed, tn_arena *scratch, trial *tried) {
    tn_priced priced;
    state->out->tried++;
    TN_TRY(tn_design_price(changed, &state->given, state->cache, scratch, &priced, state->error));
    tried->price = priced.price;
    return shortfall(state, &priced, &tried->ratio);
}

/* The design with the trial's change. What is no price is told by tried->priced; only a lack of memory and an interruption
 * fail. */
static tn_status price_trial(search *state, trial *tried) {
    tn_design changed;
    char text[KEY_MOST + VALUE_MOST + 2];
    const char *const set[] = {text};
    tried->priced = false;
    if (!may_try(state)) return TN_OK;
    tn_arena_reset(&state->scratch);
    snprintf(text, sizeof text, "%s=%s", tried->key, tried->value);
    tn_status status =
        tn_design_change(&state->given.design, set, 1, &state->scratch, &changed, state->error);
    if (status == TN_OK) status = price_changed(state, &changed, &state->scratch, tried);
    tried->priced = status == TN_OK;
    return status == TN_MEMORY || status == TN_INTERRUPTED ? status : TN_OK;
}

static tn_status try_change(search *state, trial *tried) {
    TN_TRY(price_trial(state, tried));
    return keep(state, tried);
}

/* ---- the build ---- */

static tn_status try_choice(search *state, const tn_field *field, trial *tried) {
    uint64_t given = tn_build_value(&state->given.design.build, field);
    for (uint64_t value = 0; field->choices[value]; value++) {
        if (value == given) continue;
        snprintf(tried->value, sizeof tried->value, "%s", field->choices[value]);
        snprintf(tried->was, sizeof tried->was, "%s", field->choices[given]);
        TN_TRY(try_change(state, tried));
    }
    return TN_OK;
}

/* The next value of a count behind *value, by its row; false behind the last. `up`: doubles of what is halved else. */
static bool next_count(const tn_field *field, uint64_t given, bool up, uint64_t *value) {
    enum { DOUBLINGS_MOST = 6 };
    const tn_build_key *key = tn_build_key_of(field);
    switch (key->relief) {
    case TN_RELIEF_HALVES:
        *value = up ? *value * 2 : *value / 2;
        if (up) return *value <= (uint64_t)field->maximum && *value <= given << DOUBLINGS_MOST;
        return *value >= (uint64_t)field->minimum && *value > 0;
    case TN_RELIEF_DOUBLES:
        *value *= 2;
        return !up && *value <= key->last;
    case TN_RELIEF_QUARTERS:
        *value = *value == 0 ? key->first : *value / 4;
        return !up && *value >= key->last && (given == 0 || *value < given);
    default:
        return false;
    }
}

static tn_status try_count(search *state, const tn_field *field, bool up, trial *tried) {
    uint64_t given = tn_build_value(&state->given.design.build, field), value = given;
    bool fits = false;
    snprintf(tried->was, sizeof tried->was, "%" PRIu64, given);
    while (!fits && next_count(field, given, up, &value)) {
        snprintf(tried->value, sizeof tried->value, "%" PRIu64, value);
        TN_TRY(try_change(state, tried));
        fits = tried->priced && tried->ratio <= 1;
    }
    return TN_OK;
}

static tn_status try_build(search *state) {
    bool up = state->limits->space && state->limits->space->constraints;
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *field = &tn_build_schema.field[i];
        trial tried = {0};
        if (tn_build_key_of(field)->relief == TN_RELIEF_NONE) continue;
        snprintf(tried.key, sizeof tried.key, "build.%s", field->key);
        if (field->type == TN_FIELD_CHOICE) TN_TRY(try_choice(state, field, &tried));
        if (field->type == TN_FIELD_COUNT) TN_TRY(try_count(state, field, false, &tried));
        if (field->type == TN_FIELD_COUNT && up) TN_TRY(try_count(state, field, true, &tried));
    }
    return TN_OK;
}

/* ---- several keys at once ---- */

/* Prices the design with all of them; `set` is "KEY=VALUE" each. */
static tn_status try_set(search *state, const char *const *set, size_t count, tn_arena *scratch,
                         tn_priced *priced, double *ratio) {
    tn_design changed;
    *ratio = INFINITY;
    if (!may_try(state)) return TN_OK;
    tn_status status = tn_design_change(&state->given.design, set, count, scratch, &changed, state->error);
    if (status == TN_OK) {
        state->out->tried++;
        status = tn_design_price(&changed, &state->given, state->cache, scratch, priced, state->error);
    }
    if (status == TN_OK) status = shortfall(state, priced, ratio);
    if (status == TN_MEMORY || status == TN_INTERRUPTED) return status;
    if (status != TN_OK) *ratio = INFINITY;
    return TN_OK;
}

enum { TOGETHER_MOST = 6 };

/* What belongs together: large arrays off chip and the tiles that they pass through; then whatever of these brings the design
 * nearest is kept, and the next is tried beside it, until it fits. */
static const struct {
    const char *key, *value[6];
} together[] = {
    {"build.off_chip_over_bytes", {"1048576", "65536", "16384", "4096", "1024"}},
    {"build.off_chip_tile_bytes", {"65536", "16384", "4096"}},
    {"build.core_memory", {"shallow", "distributed"}},
    {"build.activation_memory", {"shallow"}},
    {"build.placement", {"searched"}},
    {"build.buffers", {"pooled"}},
    {"build.rows", {"2", "1"}},
    {"build.columns", {"2", "1"}},
    {"build.reduction", {"2", "1"}},
    {"build.vector", {"2", "1"}},
};
enum { KEYS_TOGETHER = sizeof together / sizeof *together };

typedef struct {
    char text[TOGETHER_MOST][KEY_MOST];
    const char *set[TOGETHER_MOST];
    size_t count;
} combination;

static bool has_key(const combination *chosen, const char *key) {
    for (size_t i = 0; i < chosen->count; i++)
        if (strncmp(chosen->text[i], key, strlen(key)) == 0 && chosen->text[i][strlen(key)] == '=')
            return true;
    return false;
}

static void add_key(combination *chosen, const char *key, const char *value) {
    snprintf(chosen->text[chosen->count], sizeof chosen->text[0], "%s=%s", key, value);
    chosen->count++;
    for (size_t i = 0; i < chosen->count; i++) chosen->set[i] = chosen->text[i];
}

/* The pairs of off-chip keys first; then the one change more that comes nearest; of those that fit the fastest. */
static tn_status extend(search *state, combination *chosen, tn_price *price, double *ratio, bool *better) {
    combination best = *chosen;
    double least = *ratio, seconds = INFINITY;
    *better = false;
    for (size_t k = 0; k < KEYS_TOGETHER; k++)
        for (size_t v = 0; v < 6 && together[k].value[v]; v++) {
            bool pair = k == 0 && chosen->count == 0;
            for (size_t t = 0; t < (pair ? 4 : 1); t++) {
                combination next = *chosen;
                tn_arena scratch = {0};
                tn_priced priced;
                double now;
                if (has_key(chosen, together[k].key) || chosen->count + 1 + pair > TOGETHER_MOST) continue;
                add_key(&next, together[k].key, together[k].value[v]);
                if (pair && t > 0) add_key(&next, together[1].key, together[1].value[t - 1]);
                tn_status status = try_set(state, next.set, next.count, &scratch, &priced, &now);
                bool fits = now <= 1, nearer = now < 0.999 * least && least > 1;
                if (status == TN_OK &&
                    (fits ? least > 1 || priced.price.seconds_per_step < seconds : nearer)) {
                    best = next;
                    least = now;
                    *price = priced.price;
                    seconds = priced.price.seconds_per_step;
                    *better = true;
                }
                tn_arena_free(&scratch);
                TN_TRY(status);
            }
        }
    *chosen = best;
    for (size_t i = 0; i < chosen->count; i++) chosen->set[i] = chosen->text[i];
    *ratio = least;
    return TN_OK;
}

static tn_status keep_combination(search *state, const combination *chosen, const tn_price *price,
                                  double ratio) {
    tn_remedies *out = state->out;
    tn_buffer text = {0};
    for (size_t i = 0; i < chosen->count; i++)
        tn_buffer_format(&text, "%s%s", i ? " --set " : "", chosen->text[i]);
    tn_status status = text.status;
    tn_remedy made = {.was = "as built", .price = *price, .ratio = ratio};
    if (status == TN_OK)
        status = tn_arena_copy_text(state->arena, text.data, text.length, &made.change, state->error);
    tn_buffer_free(&text);
    TN_TRY(status);
    if (ratio > 1) {
        if (!out->closest.change || ratio < out->closest.ratio) out->closest = made;
        return TN_OK;
    }
    size_t index = 0;
    while (index < out->count && out->remedy[index].sacrifice == 0 &&
           out->remedy[index].price.seconds_per_step <= price->seconds_per_step)
        index++;
    if (index == REMEDIES_MOST) return TN_OK;
    if (out->count < REMEDIES_MOST) out->count++;
    memmove(&out->remedy[index + 1], &out->remedy[index], (out->count - index - 1) * sizeof *out->remedy);
    out->remedy[index] = made;
    return TN_OK;
}

/* Where no single change of the hardware is enough. */
static tn_status try_together(search *state) {
    combination chosen = {0};
    tn_price price = {0};
    double ratio = state->out->given_ratio;
    bool better = true;
    for (size_t i = 0; i < state->out->count; i++)
        if (state->out->remedy[i].sacrifice == 0) return TN_OK;
    while (better && ratio > 1 && chosen.count < TOGETHER_MOST)
        TN_TRY(extend(state, &chosen, &price, &ratio, &better));
    return chosen.count ? keep_combination(state, &chosen, &price, ratio) : TN_OK;
}

/* ---- keys of the model ---- */

const char *tn_model_key_text(const tn_model *model, const char *key, const char *usual) {
    const tn_yaml *node = tn_model_root(model);
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

static tn_status try_keys(search *state) {
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
        const char *given = tn_model_key_text(state->given.design.model, change[i].key, change[i].usual);
        trial tried = {.sacrifice = 1};
        if (!given || strcmp(given, change[i].value) == 0) continue;
        snprintf(tried.key, sizeof tried.key, "%s", change[i].key);
        snprintf(tried.value, sizeof tried.value, "%s", change[i].value);
        snprintf(tried.was, sizeof tried.was, "%s", given);
        TN_TRY(try_change(state, &tried));
    }
    return TN_OK;
}

static tn_status price_size(search *state, uint64_t value, trial *tried) {
    snprintf(tried->value, sizeof tried->value, "%" PRIu64, value);
    tried->ratio = INFINITY;
    return price_trial(state, tried);
}

/* Of one that has a price without fitting at 1 no greater one fits; else halves until one does. */
static tn_status try_size(search *state, uint64_t given, trial *tried) {
    if (given == 1) return TN_OK;
    TN_TRY(price_size(state, 1, tried));
    const trial least = *tried;
    if (least.priced && least.ratio > 1) return keep(state, &least);
    for (uint64_t value = given / 2; value > 1; value /= 2) {
        TN_TRY(price_size(state, value, tried));
        TN_TRY(keep(state, tried));
        if (tried->priced && tried->ratio <= 1) return TN_OK;
    }
    return keep(state, &least);
}

static tn_status try_sizes(search *state) {
    const struct {
        const char *key;
        uint64_t given;
    } size[] = {{"batch", state->given.given->batch}, {"sequence", state->given.given->sequence}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        trial tried = {.sacrifice = 2};
        snprintf(tried.key, sizeof tried.key, "%s", size[i].key);
        snprintf(tried.was, sizeof tried.was, "%" PRIu64, size[i].given);
        TN_TRY(try_size(state, size[i].given, &tried));
    }
    return TN_OK;
}

/* ---- weights ---- */

static tn_status price_rank(search *state, uint64_t rank, trial *tried, bool *fits) {
    snprintf(tried->value, sizeof tried->value, "%" PRIu64, rank);
    TN_TRY(price_trial(state, tried));
    *fits = tried->priced && tried->ratio <= 1;
    return TN_OK;
}

/* The greatest rank with which the design fits: between `fitting` and `short_of`, halving. */
static tn_status try_ranks(search *state, const tn_model_weight *entry, trial *tried) {
    uint64_t fitting = 1, short_of = tn_weight_greatest_rank(&entry->weight);
    bool fits, least = true;
    snprintf(tried->was, sizeof tried->was, "%" PRIu64, short_of);
    if (short_of == 1) return TN_OK;
    TN_TRY(price_rank(state, fitting, tried, &fits));
    if (!fits) return keep(state, tried); /* then no rank does */
    trial best = *tried;
    while (short_of - fitting > 1 && may_try(state)) {
        uint64_t rank = fitting + (short_of - fitting) / 2;
        TN_TRY(price_rank(state, rank, tried, &fits));
        if (fits) best = *tried;
        least &= !fits;
        *(fits ? &fitting : &short_of) = rank;
    }
    return least ? TN_OK : keep(state, &best); /* rank 1 learns nothing */
}

static tn_status try_flows(search *state, const tn_model_weight *entry, trial *tried) {
    static const tn_flow_name flows[] = {TN_FLOW_RIGHT_TO_LEFT, TN_FLOW_BIDIRECTIONAL,
                                         TN_FLOW_BIDIRECTIONAL_PUBLISHED, TN_FLOW_OPTIMAL};
    snprintf(tried->was, sizeof tried->was, "%s", tn_flow_names[entry->flow]);
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
        if (flows[i] == entry->flow) continue;
        snprintf(tried->value, sizeof tried->value, "%s", tn_flow_names[flows[i]]);
        TN_TRY(try_change(state, tried));
    }
    return TN_OK;
}

/* "weights.square.rank"; of a layer's own copy "layers.encoder1.query.rank". */
static void name_key(const search *state, size_t place, const char *what, trial *tried) {
    tn_model *model = state->given.design.model;
    bool own = tn_model_weight_base(model, place) != place;
    snprintf(tried->key, sizeof tried->key, "%s.%.150s.%s", own ? "layers" : "weights",
             tn_model_weight_at(model, place)->name, what);
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

/* Those in tensor formats, the largest first: a change of a small one rarely makes anything fit. Where the model is told to be
 * dense (format: dense) it has none, whatever its file says of them. */
static tn_status try_weights(search *state) {
    tn_model *model = state->given.design.model;
    if (tn_model_is_dense(model)) return TN_OK;
    size_t all = tn_model_weights(model), count = 0;
    sized *weight;
    TN_TRY(TN_NEW(state->arena, all, &weight, state->error));
    for (size_t i = 0; i < all; i++) {
        const tn_weight *this_weight = &tn_model_weight_at(model, i)->weight;
        if (this_weight->format == TN_DENSE) continue;
        weight[count] = (sized){.place = i};
        /* A count past 64 bits is the design's error, and told before. */
        tn_weight_parameters(this_weight, &weight[count++].parameters, NULL);
    }
    if (count) qsort(weight, count, sizeof *weight, largest_first);
    for (size_t i = 0; i < count; i++) {
        const tn_model_weight *entry = tn_model_weight_at(model, weight[i].place);
        trial tried = {.sacrifice = 2};
        if (!may_try(state)) {
            state->out->weights_left++;
            continue;
        }
        name_key(state, weight[i].place, "rank", &tried);
        TN_TRY(try_ranks(state, entry, &tried));
        tried = (trial){0};
        name_key(state, weight[i].place, "flow", &tried);
        TN_TRY(try_flows(state, entry, &tried));
    }
    return TN_OK;
}

/* ---- all ---- */

static tn_status try_all(search *state) {
    TN_TRY(TN_NEW(state->arena, REMEDIES_MOST, &state->out->remedy, state->error));
    TN_TRY(shortfall(state, &state->given, &state->out->given_ratio));
    if (state->out->given_ratio <= 1) return TN_OK;
    TN_TRY(try_build(state));
    TN_TRY(try_together(state));
    TN_TRY(try_weights(state));
    TN_TRY(try_sizes(state));
    return try_keys(state);
}

tn_status tn_remedies_of(const tn_priced *given, const tn_limits *limits, tn_program_cache *cache,
                         tn_arena *arena, tn_remedies *remedies, tn_error *error) {
    *remedies = (tn_remedies){0};
    search state = {
        .limits = limits, .cache = cache, .given = *given, .arena = arena, .out = remedies, .error = error};
    tn_status status = try_all(&state);
    tn_arena_free(&state.scratch);
    return status;
}

tn_status tn_remedies_find(const tn_design *design, const tn_limits *limits, tn_arena *arena,
                           tn_remedies *remedies, tn_error *error) {
    tn_program_cache *cache;
    tn_priced given;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_design_price(design, NULL, cache, arena, &given, error);
    if (status == TN_OK) status = tn_remedies_of(&given, limits, cache, arena, remedies, error);
    tn_program_cache_free(cache);
    return status;
}
