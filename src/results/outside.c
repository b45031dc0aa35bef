#include "results/outside.h"

#include "base/interrupt.h"
#include "model/graph.h"
#include "model/layer_weight.h"
#include "results/remedy.h"
#include "space/settle.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tn_effect_names[] = {
    [TN_EFFECT_NOTHING] = "nothing", [TN_EFFECT_ROUNDING] = "rounding", [TN_EFFECT_VALUES] = "values"};
const char *const tn_outside_titles[TN_OUTSIDE_VALUES] = {"latency", "memory", "DSP", "energy", "LUT"};

enum { SETTINGS_MOST = 256, KEY_MOST = 200, VALUE_MOST = 32 };
static const double NOTICEABLE = 0.05, NOTICEABLE_FREE = 0.01; /* where something is lost, where nothing is */

/* Keys of the model that a space may leave out, and what other values of them compute; those that change nothing are told by
 * their rows (space/settle.h). */
static const struct {
    const char *key, *usual, *value;
    tn_effect effect;
} model_keys[] = {
    {"activations.policy", "keep", "reversible", TN_EFFECT_ROUNDING}, /* inputs are found by subtraction */
    {"precision", "fp32", "bf16", TN_EFFECT_VALUES},
    {"precision", "fp32", "{products: bf16}", TN_EFFECT_VALUES},
    {"precision", "fp32", "{products: int16}", TN_EFFECT_VALUES},
    {"precision", "fp32", "{products: \"bfp16,8,7\"}", TN_EFFECT_VALUES},
    {"optimizer", "sgd", "sgd", TN_EFFECT_VALUES},
    {"format", "as-given", "as-given", TN_EFFECT_VALUES},
};

static const char *const paired_keys[] = {"update.when", "build.group", "build.split", "build.placement"};

/* Another value of a key. */
typedef struct {
    char key[KEY_MOST], value[VALUE_MOST], was[VALUE_MOST];
    tn_effect effect;
    bool paired, in_space, varied; /* the space lists the value; it varies the key */
} setting;

typedef struct {
    tn_outside_change told;
    tn_effect effect;
    double objective[TN_OBJECTIVES_MOST]; /* to minimise */
    double best, sum;                     /* of the objectives' relative changes: the least, all together */
    bool spends;                          /* more than hardly more of something that is told */
} candidate;

typedef struct {
    const tn_space *space;
    bool free; /* TN_OUTSIDE_FREE */
    tn_limits limits;
    tn_priced given;
    candidate own;
    tn_program_cache *cache;
    setting *setting;
    candidate *found;
    size_t settings, count, capacity;
    tn_arena *arena, scratch;
    tn_outside *out;
    tn_error *error;
} search;

/* ---- what there is to try ---- */

static bool is_paired(const char *key) {
    for (size_t i = 0; i < sizeof paired_keys / sizeof *paired_keys; i++)
        if (strcmp(paired_keys[i], key) == 0) return true;
    return false;
}

/* The key, or a mapping that holds it. */
static bool holds(const char *outer, const char *key) {
    const size_t length = strlen(outer);
    return strncmp(outer, key, length) == 0 && (key[length] == '\0' || key[length] == '.');
}

static tn_status look_up(const tn_space *space, setting *entry, tn_error *error) {
    tn_buffer text = {0};
    tn_status status = TN_OK;
    for (size_t i = 0; i < space->choices.count; i++) {
        const tn_axis *axis = &space->choices.axis[i];
        if (!holds(axis->key, entry->key) && !holds(entry->key, axis->key)) continue;
        entry->varied = true;
        entry->in_space |= strcmp(axis->key, entry->key) != 0; /* other values of a part, or of the whole */
        for (size_t digit = 0; digit < axis->count && !entry->in_space; digit++) {
            text.length = 0;
            tn_axis_value(axis, digit, &text);
            if (text.status != TN_OK) status = tn_fail(error, text.status, "no memory for a choice");
            entry->in_space = text.status != TN_OK || strcmp(text.data, entry->value) == 0;
        }
    }
    tn_buffer_free(&text);
    return status;
}

static tn_status add_setting(search *state, const char *key, const char *value, const char *was,
                             tn_effect effect) {
    if (state->settings == SETTINGS_MOST || strcmp(value, was) == 0 || strlen(value) >= VALUE_MOST)
        return TN_OK;
    setting *entry = &state->setting[state->settings++];
    *entry = (setting){.effect = effect, .paired = is_paired(key)};
    snprintf(entry->key, sizeof entry->key, "%s", key);
    snprintf(entry->value, sizeof entry->value, "%s", value);
    snprintf(entry->was, sizeof entry->was, "%s", was);
    return look_up(state->space, entry, state->error);
}

static tn_status add_count(search *state, const tn_field *field, const char *key, uint64_t given,
                           uint64_t value, tn_effect effect) {
    char text[VALUE_MOST], was[VALUE_MOST];
    if (value < (uint64_t)field->minimum || value > (uint64_t)field->maximum) return TN_OK;
    snprintf(text, sizeof text, "%" PRIu64, value);
    snprintf(was, sizeof was, "%" PRIu64, given);
    return add_setting(state, key, text, was, effect);
}

/* Groups neither grow nor shrink by steps: any may be the best. */
static tn_status add_group(void *user, const char *key, const char *usual, const char *value) {
    search *state = user;
    char was[VALUE_MOST];
    (void)usual;
    snprintf(was, sizeof was, "%" PRIu64, state->given.design.build.group);
    return add_setting(state, key, value, was, TN_EFFECT_NOTHING);
}

static tn_status list_build_key(search *state, const tn_field *field) {
    const tn_build *build = &state->given.design.build;
    const uint64_t given = tn_build_value(build, field);
    const tn_effect effect =
        tn_build_key_of(field)->bears_on & TN_BEARS_VALUES ? TN_EFFECT_ROUNDING : TN_EFFECT_NOTHING;
    char key[KEY_MOST];
    snprintf(key, sizeof key, "build.%s", field->key);
    if (field->offset == offsetof(tn_build, layouts)) return TN_OK; /* ideal ones can't be built */
    if (field->type == TN_FIELD_CHOICE) {
        for (uint64_t value = 0; field->choices[value]; value++)
            TN_TRY(add_setting(state, key, field->choices[value], field->choices[given], effect));
        return TN_OK;
    }
    if (field->offset == offsetof(tn_build, group)) return tn_settled_key_values(key, add_group, state);
    if (given == 0) return TN_OK; /* nothing off chip */
    TN_TRY(add_count(state, field, key, given, given / 2, effect));
    if (given <= UINT64_MAX / 2) return add_count(state, field, key, given, given * 2, effect);
    return TN_OK;
}

static tn_status list_flows(search *state) {
    tn_model *model = state->given.design.model;
    if (tn_model_is_dense(model)) return TN_OK; /* whatever its weights say */
    for (size_t i = 0; i < tn_model_weights(model); i++) {
        const tn_model_weight *entry = tn_model_weight_at(model, i);
        char key[KEY_MOST];
        if (entry->weight.format == TN_DENSE || tn_model_weight_base(model, i) != i) continue;
        snprintf(key, sizeof key, "weights.%.150s.flow", entry->name);
        for (uint32_t flow = 0; flow < TN_FLOWS; flow++)
            TN_TRY(
                add_setting(state, key, tn_flow_names[flow], tn_flow_names[entry->flow], TN_EFFECT_ROUNDING));
    }
    return TN_OK;
}

static tn_status add_model_setting(search *state, const char *key, const char *usual, const char *value,
                                   tn_effect effect) {
    const char *was = tn_model_key_text(state->given.design.model, key, usual);
    return was ? add_setting(state, key, value, was, effect) : TN_OK;
}

static tn_status add_settled(void *user, const char *key, const char *usual, const char *value) {
    return add_model_setting(user, key, usual, value, TN_EFFECT_NOTHING);
}

static tn_status list_settings(search *state) {
    TN_TRY(tn_settled_model_values(add_settled, state));
    for (size_t i = 0; i < sizeof model_keys / sizeof *model_keys; i++)
        TN_TRY(add_model_setting(state, model_keys[i].key, model_keys[i].usual, model_keys[i].value,
                                 model_keys[i].effect));
    for (size_t i = 0; i < tn_build_schema.count; i++)
        TN_TRY(list_build_key(state, &tn_build_schema.field[i]));
    return list_flows(state);
}

/* ---- pricing ---- */

static double of_minimise(const tn_quantity *quantity, const tn_evaluation *evaluation) {
    return quantity->maximise ? -quantity->get(evaluation) : quantity->get(evaluation);
}

static tn_status describe(const search *state, const tn_priced *priced, candidate *entry, double *ratio,
                          tn_error *error) {
    tn_evaluation evaluation;
    TN_TRY(tn_limits_evaluate(&state->limits, priced, &evaluation, ratio, error));
    for (size_t i = 0; i < state->space->objectives; i++)
        entry->objective[i] = of_minimise(state->space->objective[i], &evaluation);
    const double value[TN_OUTSIDE_VALUES] = {
        priced->price.seconds_per_step, (double)priced->price.on_chip_bytes, (double)priced->price.used.dsp,
        priced->price.joules_per_step, (double)priced->price.used.lut};
    memcpy(entry->told.value, value, sizeof value);
    return TN_OK;
}

/* As a share of it; of nothing anything is all. */
static double relative(double before, double after) {
    if (before == 0) return (after > 0) - (after < 0);
    return (after - before) / fabs(before);
}

/* Compares with the given design. An objective that is not known (accuracy) stays as it is where the values do. */
static void compare(const search *state, candidate *entry) {
    bool worse = entry->effect == TN_EFFECT_VALUES;
    entry->best = entry->sum = 0;
    for (size_t i = 0; i < state->space->objectives; i++) {
        const double before = state->own.objective[i], after = entry->objective[i];
        if (isnan(before) || isnan(after)) continue;
        const double change = relative(before, after);
        worse |= change > 0;
        entry->sum += change;
        entry->best = fmin(entry->best, change);
    }
    entry->told.dominates = !worse && entry->best < 0;
    for (int i = 0; i < TN_OUTSIDE_VALUES; i++)
        entry->spends |= entry->told.value[i] > state->own.told.value[i] * (1 + NOTICEABLE_FREE);
}

static tn_status keep(search *state, const setting *a, const setting *b, const candidate *priced) {
    TN_TRY(TN_GROW(&state->found, &state->capacity, state->count + 1, state->error));
    candidate *entry = &state->found[state->count];
    *entry = *priced;
    entry->told.changes = tn_effect_names[entry->effect];
    TN_TRY(tn_arena_format(state->arena, &entry->told.change, state->error, "%s=%s%s%s%s%s", a->key, a->value,
                           b ? " " : "", b ? b->key : "", b ? "=" : "", b ? b->value : ""));
    TN_TRY(tn_arena_format(state->arena, &entry->told.was, state->error, "%s%s%s", a->was, b ? ", " : "",
                           b ? b->was : ""));
    state->count++;
    return TN_OK;
}

/* One change, or two. What has no price or does not fit is passed over; only a lack of memory and an interruption fail. */
static tn_status attempt(search *state, const setting *a, const setting *b) {
    char text[2][KEY_MOST + VALUE_MOST + 2];
    const char *const set[] = {text[0], text[1]};
    tn_design changed;
    tn_priced priced;
    double ratio = INFINITY;
    candidate entry = {.effect = b && b->effect > a->effect ? b->effect : a->effect};
    tn_error why = {0};
    if (tn_interrupted()) return tn_fail(state->error, TN_INTERRUPTED, "interrupted");
    snprintf(text[0], sizeof text[0], "%s=%s", a->key, a->value);
    if (b) snprintf(text[1], sizeof text[1], "%s=%s", b->key, b->value);
    tn_arena_reset(&state->scratch);
    state->out->tried++;
    tn_status status =
        tn_design_change(&state->given.design, set, b ? 2 : 1, &state->scratch, &changed, &why);
    if (status == TN_OK)
        status = tn_design_price(&changed, &state->given, state->cache, &state->scratch, &priced, &why);
    if (status == TN_OK) status = describe(state, &priced, &entry, &ratio, &why);
    if (status == TN_MEMORY || status == TN_INTERRUPTED) {
        if (state->error) *state->error = why;
        return status;
    }
    if (status != TN_OK || !(ratio <= 1)) return TN_OK;
    compare(state, &entry);
    const bool tells = state->free ? entry.told.dominates
                                   : entry.best <= -(entry.told.dominates ? NOTICEABLE_FREE : NOTICEABLE);
    return tells ? keep(state, a, b, &entry) : TN_OK;
}

static tn_status attempt_all(search *state) {
    for (size_t i = 0; i < state->settings; i++) {
        const setting *one = &state->setting[i];
        if (state->free) {
            if (one->effect != TN_EFFECT_VALUES) TN_TRY(attempt(state, one, NULL));
            continue;
        }
        if (one->in_space || (one->varied && one->effect != TN_EFFECT_NOTHING && !one->paired)) continue;
        TN_TRY(attempt(state, one, NULL));
    }
    for (size_t i = 0; i < state->settings; i++)
        for (size_t k = i + 1; k < state->settings; k++) {
            const setting *a = &state->setting[i], *b = &state->setting[k];
            if (!a->paired || !b->paired || strcmp(a->key, b->key) == 0 ||
                (a->in_space && b->in_space && !state->free))
                continue;
            TN_TRY(attempt(state, a, b));
        }
    return TN_OK;
}

/* ---- what is told ---- */

/* `a` makes `b` needless: computes no less alike and is nowhere worse; of equals the earlier one. */
static bool replaces(const search *state, const candidate *a, const candidate *b) {
    bool less = a->effect < b->effect;
    if (a->effect > b->effect) return false;
    for (int i = 0; i < TN_OUTSIDE_VALUES; i++) {
        if (a->told.value[i] > b->told.value[i]) return false;
        less |= a->told.value[i] < b->told.value[i];
    }
    for (size_t i = 0; i < state->space->objectives; i++) {
        if (a->objective[i] > b->objective[i]) return false;
        less |= a->objective[i] < b->objective[i];
    }
    return less || a < b;
}

static int by_worth(const void *x, const void *y) {
    const candidate *a = x, *b = y;
    if (a->told.dominates != b->told.dominates) return a->told.dominates ? -1 : 1;
    if (a->told.dominates && a->spends != b->spends) return b->spends ? -1 : 1;
    if (a->effect != b->effect) return a->effect < b->effect ? -1 : 1;
    if (a->sum != b->sum) return a->sum < b->sum ? -1 : 1;
    return strcmp(a->told.change, b->told.change);
}

static tn_status tell(search *state) {
    size_t kept = 0;
    candidate *left = NULL;
    TN_TRY(TN_NEW(state->arena, state->count, &left, state->error));
    for (size_t i = 0; i < state->count; i++) {
        bool needless = false;
        for (size_t k = 0; k < state->count && !needless; k++)
            needless = k != i && replaces(state, &state->found[k], &state->found[i]);
        if (!needless) left[kept++] = state->found[i];
    }
    if (kept) qsort(left, kept, sizeof *left, by_worth);
    if (kept > TN_OUTSIDE_MOST) kept = TN_OUTSIDE_MOST;
    TN_TRY(TN_NEW(state->arena, kept, &state->out->change, state->error));
    for (size_t i = 0; i < kept; i++) state->out->change[i] = left[i].told;
    state->out->count = kept;
    return TN_OK;
}

static tn_status find(search *state, const tn_design *design) {
    double ratio;
    TN_TRY(TN_NEW(state->arena, SETTINGS_MOST, &state->setting, state->error));
    TN_TRY(tn_design_price(design, NULL, state->cache, state->arena, &state->given, state->error));
    TN_TRY(describe(state, &state->given, &state->own, &ratio, state->error));
    memcpy(state->out->given, state->own.told.value, sizeof state->out->given);
    TN_TRY(list_settings(state));
    TN_TRY(attempt_all(state));
    return tell(state);
}

tn_status tn_outside_find(const tn_space *space, const tn_design *design, tn_outside_what what,
                          tn_arena *arena, tn_outside *outside, tn_error *error) {
    *outside = (tn_outside){0};
    search state = {.space = space,
                    .free = what == TN_OUTSIDE_FREE,
                    .limits = {.budget = &space->budget, .space = space},
                    .arena = arena,
                    .out = outside,
                    .error = error};
    TN_TRY(tn_program_cache_new(&state.cache, error));
    tn_status status = find(&state, design);
    tn_program_cache_free(state.cache);
    tn_free(state.found);
    tn_arena_free(&state.scratch);
    return status;
}
