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

static tn_status make_device(study *of, const tn_device *given, figures under, tn_device **device,
                             tn_error *error) {
    bool most = under == OPERATORS_MOST || under == ENERGY_MOST;
    tn_external_memory *external;
    if (under == OPERATORS_LEAST || under == OPERATORS_MOST)
        return tn_operators_extreme(given, most, of->arena, device, error);
    TN_TRY(TN_NEW(of->arena, 1, device, error));
    TN_TRY(TN_NEW(of->arena, 1, &external, error));
    **device = tn_energy_extreme(given, most, external);
    return TN_OK;
}

/* device[FIGURES]: of the design. */
static tn_status evaluate_design(study *of, size_t at, tn_evaluator *evaluator, tn_device *const *device,
                                 tn_error *error) {
    uint64_t outer, inner;
    tn_space_split(of->space, of->id[at], &outer, &inner);
    for (figures under = AS_GIVEN; under < FIGURES; under++) {
        uint32_t cause;
        tn_evaluation *evaluation = &of->evaluation[under][at];
        if (under == AS_GIVEN)
            TN_TRY(tn_evaluate(evaluator, outer, inner, evaluation, &cause, error));
        else
            TN_TRY(tn_evaluate_on(evaluator, device[under], evaluation, &cause, error));
        of->fits[under][at] = cause == TN_CAUSE_NONE;
    }
    return TN_OK;
}

static tn_status evaluate_all(study *of, tn_error *error) {
    tn_device *(*device)[FIGURES]; /* by device */
    tn_evaluator *evaluator;
    TN_TRY(TN_NEW(of->arena, of->space->devices, &device, error));
    for (figures under = AS_GIVEN; under < FIGURES; under++) {
        TN_TRY(tn_arena_alloc(of->arena, of->count, sizeof **of->evaluation, &of->evaluation[under], error));
        TN_TRY(tn_arena_alloc(of->arena, of->count, sizeof **of->fits, &of->fits[under], error));
        for (size_t d = 0; under != AS_GIVEN && d < of->space->devices; d++)
            TN_TRY(
                make_device(of, tn_space_variant(of->space, 0, d)->device, under, &device[d][under], error));
    }
    TN_TRY(tn_evaluator_new(of->space, &evaluator, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < of->count; i++)
        status = evaluate_design(of, i, evaluator, device[tn_space_device_of(of->space, of->id[i])], error);
    tn_evaluator_free(evaluator);
    return status;
}

/* ---- knees ---- */

static objectives own_objectives(const tn_space *space) {
    objectives own = {.count = space->objectives};
    memcpy(own.item, space->objective, sizeof own.item);
    return own;
}

static size_t place_of(const objectives *of, const char *name) {
    size_t at = 0;
    while (at < of->count && strcmp(of->item[at]->name, name) != 0) at++;
    return at;
}

/* The quantity as a further objective, or in place of the one at `at`; a name of the table in quantity.c. */
static objectives changed(objectives of, size_t at, const char *name) {
    const tn_quantity *quantity = NULL;
    if (tn_quantity_find(name, (tn_position){0}, &quantity, NULL) != TN_OK) return of;
    of.item[at] = quantity;
    if (at == of.count) of.count++;
    return of;
}

static uint64_t knee_of(study *of, figures under, const objectives *by) {
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++) {
        if (!of->fits[under][i]) continue;
        tn_point *point = &of->point[count++];
        point->id = of->id[i];
        for (size_t j = 0; j < by->count; j++) {
            double value = by->item[j]->get(&of->evaluation[under][i]);
            point->value[j] = by->item[j]->maximise ? -value : value;
        }
    }
    return count ? of->point[tn_knee(of->point, count, by->count)].id : UINT64_MAX;
}

static void note(study *of, const char *change, figures under, const objectives *by) {
    uint64_t design = knee_of(of, under, by);
    tn_perturbation *next = &of->out->change[of->out->changes++];
    *next = (tn_perturbation){.change = change, .design = design, .kept = design == of->knee};
    of->out->kept += next->kept;
}

static tn_status add_further(study *of, const objectives *own, tn_error *error) {
    size_t tried = 0;
    for (size_t i = 0; i < FURTHER && tried < FURTHER_TRIED && own->count < TN_OBJECTIVES_MOST; i++) {
        const char *change;
        if (place_of(own, further[i]) < own->count) continue;
        objectives more = changed(*own, own->count, further[i]);
        TN_TRY(tn_arena_format(of->arena, &change, error, "%s as a further objective", further[i]));
        note(of, change, AS_GIVEN, &more);
        tried++;
    }
    return TN_OK;
}

/* The same intent in another unit. */
static void add_other_unit(study *of, const objectives *own) {
    static const struct {
        const char *own, *other, *change;
    } unit[] = {
        {"dsp", "lut", "lut in place of dsp"},
        {"lut", "dsp", "dsp in place of lut"},
        {"seconds_per_step", "macs_per_step", "macs_per_step in place of seconds_per_step"},
    };
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        size_t at = place_of(own, unit[i].own);
        if (at == own->count || place_of(own, unit[i].other) < own->count) continue;
        objectives other = changed(*own, at, unit[i].other);
        note(of, unit[i].change, AS_GIVEN, &other);
        return;
    }
}

static void add_figures(study *of, const objectives *own) {
    note(of, "unverified figures of operators and control at half", OPERATORS_LEAST, own);
    note(of, "unverified figures of operators and control at twice", OPERATORS_MOST, own);
    objectives with = *own;
    if (place_of(own, "joules_per_step") == own->count && own->count < TN_OBJECTIVES_MOST)
        with = changed(*own, own->count, "joules_per_step");
    note(of, "joules_per_step an objective, figures of energy at their least", ENERGY_LEAST, &with);
    note(of, "joules_per_step an objective, figures of energy at their most", ENERGY_MOST, &with);
}

static tn_status add_left_out(study *of, const objectives *own, tn_error *error) {
    for (size_t i = 0; own->count > 1 && i < own->count; i++) {
        objectives fewer = *own;
        const char *change;
        memmove(&fewer.item[i], &fewer.item[i + 1], (fewer.count - i - 1) * sizeof *fewer.item);
        fewer.count--;
        TN_TRY(tn_arena_format(of->arena, &change, error, "without %s", own->item[i]->name));
        uint64_t design = knee_of(of, AS_GIVEN, &fewer);
        of->out->without[of->out->objectives++] =
            (tn_perturbation){.change = change, .design = design, .kept = design == of->knee};
    }
    return TN_OK;
}

tn_status tn_robustness_of(const tn_space *space, const uint64_t *id, size_t count, uint64_t knee,
                           tn_arena *arena, tn_robustness *robustness, tn_error *error) {
    study of = {.space = space, .id = id, .count = count, .knee = knee, .arena = arena, .out = robustness};
    objectives own = own_objectives(space);
    *robustness = (tn_robustness){0};
    TN_TRY(TN_NEW(arena, count, &of.point, error));
    TN_TRY(evaluate_all(&of, error));
    TN_TRY(add_further(&of, &own, error));
    add_other_unit(&of, &own);
    add_figures(&of, &own);
    return add_left_out(&of, &own, error);
}
