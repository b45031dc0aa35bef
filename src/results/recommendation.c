#include "results/recommendation.h"

#include "base/name_index.h"
#include "device/device_data.h"
#include "front/knee.h"
#include "search/evaluator.h"

#include <string.h>

size_t tn_default_by(const tn_space *space) {
    for (size_t i = 0; i < space->choices.count; i++)
        if (space->choices.axis[i].kind == TN_AXIS_RANK) return i;
    return TN_AXES_MOST;
}

tn_status tn_axis_find(const tn_space *space, const char *key, size_t *choice, tn_error *error) {
    const char *known[TN_AXES_MOST];
    for (size_t i = 0; i < space->choices.count; i++) {
        known[i] = space->choices.axis[i].key;
        if (strcmp(known[i], key) != 0) continue;
        *choice = i;
        return TN_OK;
    }
    const char *near = tn_suggest(key, known, space->choices.count);
    return tn_fail(error, TN_INPUT, "space %s has no choice '%.200s'; %s %s%s", space->name, key,
                   near ? "did you mean" : "it has for instance", near ? near : known[0], near ? "?" : "");
}

static bool is_better(const tn_point *a, const tn_point *b, size_t objectives) {
    for (size_t i = 0; i < objectives; i++)
        if (a->value[i] != b->value[i]) return a->value[i] < b->value[i];
    return a->id < b->id;
}

size_t tn_best_at(const tn_space *space, size_t choice, size_t digit, const tn_point *point, size_t count) {
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        if (tn_choices_digit(&space->choices, point[i].id, choice) != digit) continue;
        if (best == count || is_better(&point[i], &point[best], space->objectives)) best = i;
    }
    return best;
}

typedef enum { AS_GIVEN, OPERATORS_LEAST, OPERATORS_MOST, ENERGY_LEAST, ENERGY_MOST, FIGURES } figures;

/* Further objectives, in the order in which they are tried; those that a space has already are passed over. */
static const char *const further[] = {"joules_per_step", "dynamic_joules_per_step", "lut", "macs_per_step",
                                      "bram18",          "peak_elements",           "ff"};
enum { FURTHER = sizeof further / sizeof *further, FURTHER_TRIED = 3 };

typedef struct {
    const tn_quantity *item[TN_OBJECTIVES_MOST];
    size_t count;
} objectives;

typedef struct {
    const tn_space *space;
    const uint64_t *id;
    size_t count;
    uint64_t knee;
    tn_arena *arena;
    tn_evaluation *evaluation[FIGURES];
    bool *fits[FIGURES];
    tn_point *point; /* [count], to work with */
    tn_robustness *out;
} study;

/* ---- designs under other figures ---- */

static tn_status make_device(study *studied, const tn_device *given, figures variant, tn_device **device,
                             tn_error *error) {
    bool most = variant == OPERATORS_MOST || variant == ENERGY_MOST;
    tn_external_memory *external;
    if (variant == OPERATORS_LEAST || variant == OPERATORS_MOST)
        return tn_operators_extreme(given, most, studied->arena, device, error);
    TN_TRY(TN_NEW(studied->arena, 1, device, error));
    TN_TRY(TN_NEW(studied->arena, 1, &external, error));
    **device = tn_energy_extreme(given, most, external);
    return TN_OK;
}

/* device[FIGURES]: of the design. */
static tn_status evaluate_design(study *studied, size_t index, tn_evaluator *evaluator,
                                 tn_device *const *device, tn_error *error) {
    uint64_t outer, inner;
    tn_space_split(studied->space, studied->id[index], &outer, &inner);
    for (figures variant = AS_GIVEN; variant < FIGURES; variant++) {
        uint32_t cause;
        tn_evaluation *evaluation = &studied->evaluation[variant][index];
        if (variant == AS_GIVEN)
            TN_TRY(tn_evaluate(evaluator, outer, inner, evaluation, &cause, error));
        else
            TN_TRY(tn_evaluate_on(evaluator, device[variant], evaluation, &cause, error));
        studied->fits[variant][index] = cause == TN_CAUSE_NONE;
    }
    return TN_OK;
}

static tn_status evaluate_all(study *studied, tn_error *error) {
    tn_device *(*device)[FIGURES]; /* by device */
    tn_evaluator *evaluator;
    TN_TRY(TN_NEW(studied->arena, studied->space->devices, &device, error));
    for (figures variant = AS_GIVEN; variant < FIGURES; variant++) {
        TN_TRY(tn_arena_alloc(studied->arena, studied->count, sizeof **studied->evaluation,
                              &studied->evaluation[variant], error));
        TN_TRY(tn_arena_alloc(studied->arena, studied->count, sizeof **studied->fits, &studied->fits[variant],
                              error));
        for (size_t d = 0; variant != AS_GIVEN && d < studied->space->devices; d++)
            TN_TRY(make_device(studied, tn_space_variant(studied->space, 0, d)->device, variant,
                               &device[d][variant], error));
    }
    TN_TRY(tn_evaluator_new(studied->space, &evaluator, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < studied->count; i++)
        status = evaluate_design(studied, i, evaluator,
                                 device[tn_space_device_of(studied->space, studied->id[i])], error);
    tn_evaluator_free(evaluator);
    return status;
}

/* ---- knees ---- */

static objectives own_objectives(const tn_space *space) {
    objectives own = {.count = space->objectives};
    memcpy(own.item, space->objective, sizeof own.item);
    return own;
}

static size_t place_of(const objectives *goals, const char *name) {
    size_t index = 0;
    while (index < goals->count && strcmp(goals->item[index]->name, name) != 0) index++;
    return index;
}

/* The quantity as a further objective, or in place of the one at `index`; a name of the table in quantity.c. */
static objectives changed(objectives goals, size_t index, const char *name) {
    const tn_quantity *quantity = NULL;
    if (tn_quantity_find(name, (tn_position){0}, &quantity, NULL) != TN_OK) return goals;
    goals.item[index] = quantity;
    if (index == goals.count) goals.count++;
    return goals;
}

static uint64_t knee_of(study *studied, figures variant, const objectives *goals) {
    size_t count = 0;
    for (size_t i = 0; i < studied->count; i++) {
        if (!studied->fits[variant][i]) continue;
        tn_point *point = &studied->point[count++];
        point->id = studied->id[i];
        for (size_t j = 0; j < goals->count; j++) {
            double value = goals->item[j]->get(&studied->evaluation[variant][i]);
            point->value[j] = goals->item[j]->maximise ? -value : value;
        }
    }
    return count ? studied->point[tn_knee(studied->point, count, goals->count)].id : UINT64_MAX;
}

static void note(study *studied, const char *change, figures variant, const objectives *goals) {
    uint64_t design = knee_of(studied, variant, goals);
    tn_perturbation *next = &studied->out->change[studied->out->changes++];
    *next = (tn_perturbation){.change = change, .design = design, .kept = design == studied->knee};
    studied->out->kept += next->kept;
}

static tn_status add_further(study *studied, const objectives *own, tn_error *error) {
    size_t tried = 0;
    for (size_t i = 0; i < FURTHER && tried < FURTHER_TRIED && own->count < TN_OBJECTIVES_MOST; i++) {
        const char *change;
        if (place_of(own, further[i]) < own->count) continue;
        objectives more = changed(*own, own->count, further[i]);
        TN_TRY(tn_arena_format(studied->arena, &change, error, "%s as a further objective", further[i]));
        note(studied, change, AS_GIVEN, &more);
        tried++;
    }
    return TN_OK;
}

/* The same intent in another unit. */
static void add_other_unit(study *studied, const objectives *own) {
    static const struct {
        const char *own, *other, *change;
    } unit[] = {
        {"dsp", "lut", "lut in place of dsp"},
        {"lut", "dsp", "dsp in place of lut"},
        {"seconds_per_step", "macs_per_step", "macs_per_step in place of seconds_per_step"},
    };
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        size_t index = place_of(own, unit[i].own);
        if (index == own->count || place_of(own, unit[i].other) < own->count) continue;
        objectives other = changed(*own, index, unit[i].other);
        note(studied, unit[i].change, AS_GIVEN, &other);
        return;
    }
}

static void add_figures(study *studied, const objectives *own) {
    note(studied, "unverified figures of operators and control at half", OPERATORS_LEAST, own);
    note(studied, "unverified figures of operators and control at twice", OPERATORS_MOST, own);
    objectives goals = *own;
    if (place_of(own, "joules_per_step") == own->count && own->count < TN_OBJECTIVES_MOST)
        goals = changed(*own, own->count, "joules_per_step");
    note(studied, "joules_per_step an objective, figures of energy at their least", ENERGY_LEAST, &goals);
    note(studied, "joules_per_step an objective, figures of energy at their most", ENERGY_MOST, &goals);
}

/* Accuracy at either end of what is known of it: one that few runs say moves farther than one that many do. */
static double least_accuracy(const tn_evaluation *evaluation) {
    return evaluation->accuracy - evaluation->accuracy_deviation;
}
static double most_accuracy(const tn_evaluation *evaluation) {
    return evaluation->accuracy + evaluation->accuracy_deviation;
}
static double least_perplexity(const tn_evaluation *evaluation) {
    return evaluation->perplexity - evaluation->accuracy_deviation;
}
static double most_perplexity(const tn_evaluation *evaluation) {
    return evaluation->perplexity + evaluation->accuracy_deviation;
}

static void add_accuracy(study *studied, const objectives *own) {
    static const struct {
        tn_quantity end;
        const char *change;
    } ends[] = {
        {{.name = "accuracy", .maximise = true, .get = least_accuracy}, "accuracies a deviation lower"},
        {{.name = "accuracy", .maximise = true, .get = most_accuracy}, "accuracies a deviation higher"},
        {{.name = "perplexity", .get = least_perplexity}, "perplexities a deviation lower"},
        {{.name = "perplexity", .get = most_perplexity}, "perplexities a deviation higher"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        objectives goals = *own;
        size_t index = place_of(own, ends[i].end.name);
        if (index == own->count) continue;
        goals.item[index] = &ends[i].end;
        note(studied, ends[i].change, AS_GIVEN, &goals);
    }
}

static tn_status add_left_out(study *studied, const objectives *own, tn_error *error) {
    for (size_t i = 0; own->count > 1 && i < own->count; i++) {
        objectives fewer = *own;
        const char *change;
        memmove(&fewer.item[i], &fewer.item[i + 1], (fewer.count - i - 1) * sizeof *fewer.item);
        fewer.count--;
        TN_TRY(tn_arena_format(studied->arena, &change, error, "without %s", own->item[i]->name));
        uint64_t design = knee_of(studied, AS_GIVEN, &fewer);
        studied->out->reduced[studied->out->objectives++] =
            (tn_perturbation){.change = change, .design = design, .kept = design == studied->knee};
    }
    return TN_OK;
}

tn_status tn_robustness_of(const tn_space *space, const uint64_t *id, size_t count, uint64_t knee,
                           tn_arena *arena, tn_robustness *robustness, tn_error *error) {
    study studied = {
        .space = space, .id = id, .count = count, .knee = knee, .arena = arena, .out = robustness};
    objectives own = own_objectives(space);
    *robustness = (tn_robustness){0};
    TN_TRY(TN_NEW(arena, count, &studied.point, error));
    TN_TRY(evaluate_all(&studied, error));
    TN_TRY(add_further(&studied, &own, error));
    add_other_unit(&studied, &own);
    add_figures(&studied, &own);
    add_accuracy(&studied, &own);
    return add_left_out(&studied, &own, error);
}
