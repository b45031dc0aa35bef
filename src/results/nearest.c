#include "results/nearest.h"

#include "search/evaluator.h"
#include "space/quantity.h"

#include <math.h>
#include <string.h>

/* The flow that the publication's design of that model chooses; NULL: none is said. */
static const char *flow_of(const tn_claims *claims, const char *model) {
    static const char key[] = ".flow=";
    for (size_t i = 0; i < claims->designs; i++) {
        const tn_claimed_design *design = &claims->design[i];
        if (strcmp(design->model, model) != 0) continue;
        for (size_t k = 0; k < design->choices.count; k++) {
            const char *found = strstr(design->choices.item[k], key);
            if (found) return found + sizeof key - 1;
        }
    }
    return NULL;
}

static tn_status load_builds(const char *model, const char *device, const char *flow, tn_arena *arena,
                             tn_space *space, tn_error *error) {
    const char *set[3];
    TN_TRY(tn_arena_format(arena, &set[0], error, "model=%s", model));
    TN_TRY(tn_arena_format(arena, &set[1], error, "device=%s", device));
    TN_TRY(tn_arena_format(arena, &set[2], error, "choices.flow=[%s]", flow));
    return tn_space_load("build-search", set, 3, NULL, arena, space, error);
}

typedef struct {
    const tn_claimed_figure **said; /* [count] */
    const tn_quantity **quantity;
    size_t count;
} asked;

static double distance_of(const asked *a, const tn_evaluation *evaluation) {
    double worst = 0;
    for (size_t i = 0; i < a->count; i++)
        worst = fmax(worst, fabs(log(a->said[i]->value / a->quantity[i]->get(evaluation))));
    return worst;
}

/* *id: TN_NO_DESIGN where none fits. */
static tn_status search(tn_evaluator *evaluator, const tn_space *space, const asked *a, uint64_t *id,
                        tn_evaluation *best, tn_error *error) {
    double nearest = INFINITY;
    *id = TN_NO_DESIGN;
    for (uint64_t i = 0; i < space->choices.designs; i++) {
        tn_evaluation evaluation;
        uint32_t cause;
        uint64_t outer, inner;
        tn_space_split(space, i, &outer, &inner);
        TN_TRY(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, error));
        if (cause != TN_CAUSE_NONE) continue;
        double distance = distance_of(a, &evaluation);
        if (!(distance < nearest)) continue;
        nearest = distance;
        *best = evaluation;
        *id = i;
    }
    return TN_OK;
}

static tn_status fill(const asked *a, const tn_space *space, uint64_t id, const tn_evaluation *best,
                      tn_arena *arena, tn_nearest_figure *figure, tn_error *error) {
    const char *build;
    TN_TRY(tn_choices_text(&space->choices, id, arena, &build, error));
    for (size_t i = 0; i < a->count; i++) {
        double ours = a->quantity[i]->get(best);
        figure[i] = (tn_nearest_figure){.model = a->said[i]->model,
                                        .quantity = a->said[i]->quantity,
                                        .published = a->said[i]->value,
                                        .origin = a->said[i]->origin,
                                        .ours = ours,
                                        .ratio = a->said[i]->value / ours,
                                        .build = build};
    }
    return TN_OK;
}

tn_status tn_nearest_build(const tn_claims *claims, const char *model, const char *name, const char *device,
                           tn_arena *arena, tn_nearest_figure **figure, size_t *count, tn_error *error) {
    asked a = {0};
    tn_space *space;
    tn_evaluator *evaluator;
    tn_evaluation best;
    uint64_t id;
    const char *flow = flow_of(claims, name);
    *count = 0;
    TN_TRY(TN_NEW(arena, claims->figures, &a.said, error));
    TN_TRY(TN_NEW(arena, claims->figures, &a.quantity, error));
    TN_TRY(TN_NEW(arena, claims->figures, figure, error));
    TN_TRY(TN_NEW(arena, 1, &space, error));
    for (size_t i = 0; i < claims->figures; i++) {
        const tn_claimed_figure *said = &claims->figure[i];
        if (strcmp(said->model, name) != 0) continue;
        TN_TRY(tn_quantity_find(said->quantity, (tn_position){.file = claims->name}, &a.quantity[a.count],
                                error));
        a.said[a.count++] = said;
    }
    if (a.count == 0 || !flow) return TN_OK;
    TN_TRY(load_builds(model, device, flow, arena, space, error));
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = search(evaluator, space, &a, &id, &best, error);
    tn_evaluator_free(evaluator);
    TN_TRY(status);
    if (id == TN_NO_DESIGN) return TN_OK;
    *count = a.count;
    return fill(&a, space, id, &best, arena, *figure, error);
}
