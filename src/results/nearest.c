#include "results/nearest.h"

#include "front/knee.h"
#include "search/evaluator.h"
#include "space/quantity.h"

#include <math.h>
#include <stdlib.h>
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

/* What the distance is at least, from what the design costs at least. */
static double least_distance(const asked *a, const tn_evaluation *bound) {
    double worst = 0;
    for (size_t i = 0; i < a->count; i++) {
        double more = log(a->quantity[i]->get(bound) / a->said[i]->value);
        worst = fmax(worst, a->quantity[i]->bounded == TN_BOUNDED_BELOW ? more : fabs(more));
    }
    return worst;
}

typedef struct {
    double least;
    uint64_t id;
} candidate;

static int by_least(const void *a, const void *b) {
    const candidate *one = a, *other = b;
    return tn_value_order(one->least, one->id, other->least, other->id);
}

/* The designs of an outer combination that may fit, the most promising first. */
static tn_status find_candidates(tn_evaluator *evaluator, const tn_space *space, const asked *a,
                                 uint64_t outer, candidate *found, size_t *count, tn_error *error) {
    *count = 0;
    for (uint64_t inner = 0; inner < space->inner_count; inner++) {
        tn_evaluation bound;
        uint32_t cause;
        bool exact;
        TN_TRY(tn_evaluate_bound(evaluator, outer, inner, &bound, &cause, &exact, error));
        if (cause != TN_CAUSE_NONE) continue;
        found[(*count)++] = (candidate){least_distance(a, &bound), tn_space_id(space, outer, inner)};
    }
    qsort(found, *count, sizeof *found, by_least);
    return TN_OK;
}

typedef struct {
    double distance;
    uint64_t id; /* TN_NO_DESIGN: none yet */
    tn_evaluation evaluation;
} nearest_design;

static tn_status search_outer(tn_evaluator *evaluator, const tn_space *space, const asked *a, uint64_t outer,
                              candidate *found, nearest_design *best, tn_error *error) {
    size_t count;
    TN_TRY(find_candidates(evaluator, space, a, outer, found, &count, error));
    for (size_t i = 0; i < count && found[i].least <= best->distance; i++) {
        tn_evaluation evaluation;
        uint32_t cause;
        uint64_t same, inner;
        tn_space_split(space, found[i].id, &same, &inner);
        TN_TRY(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, error));
        if (cause != TN_CAUSE_NONE) continue;
        double distance = distance_of(a, &evaluation);
        if (distance > best->distance || (distance == best->distance && found[i].id > best->id)) continue;
        *best = (nearest_design){distance, found[i].id, evaluation};
    }
    return TN_OK;
}

/* A step is built for each outer combination once. */
static tn_status search(tn_evaluator *evaluator, const tn_space *space, const asked *a, tn_arena *arena,
                        nearest_design *best, tn_error *error) {
    candidate *found;
    *best = (nearest_design){.distance = INFINITY, .id = TN_NO_DESIGN};
    TN_TRY(TN_NEW(arena, space->inner_count, &found, error));
    for (uint64_t outer = 0; outer < space->outer_count; outer++)
        TN_TRY(search_outer(evaluator, space, a, outer, found, best, error));
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
    nearest_design best;
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
    space->laid_most = 0; /* bounds leave out most of them */
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = search(evaluator, space, &a, arena, &best, error);
    tn_evaluator_free(evaluator);
    TN_TRY(status);
    if (best.id == TN_NO_DESIGN) return TN_OK;
    *count = a.count;
    return fill(&a, space, best.id, &best.evaluation, arena, *figure, error);
}
