/* Where nothing fits: the designs that come nearest, what they lack, what takes it, and which single changes mend
 * them. */
#include "cli/cmd_recommend.h"
#include "cli/output.h"
#include "results/remedy.h"

#include <inttypes.h>
#include <math.h>

enum {
    EVALUATED_MOST = 500000, /* designs that are looked at: a few seconds */
    MISSES_SHOWN = 3,
    REMEDIES_SHOWN = 5,
};

typedef struct {
    const char *resource;
    uint64_t needed, available;
    size_t largest_count;
    const char *largest[TN_LARGEST];
    uint64_t amount[TN_LARGEST];
} lack;

typedef struct {
    const char *change, *was;
    double seconds_per_step;
} remedy;

typedef struct {
    uint64_t design;
    const char *cause;
    double factor;
    const char *choices;
    size_t lacks;
    lack lack[TN_RESOURCES];
    size_t tried, weights_left, remedies;
    const char *closest; /* change that helps most where none suffices; NULL */
    double closest_factor;
    remedy remedy[REMEDIES_SHOWN];
} miss;

typedef struct {
    const char *space;
    uint64_t designs, evaluated;
    size_t misses;
    miss miss[MISSES_SHOWN];
} answer;

static const tn_column lack_columns[] = {
    TN_COLUMN(lack, resource, NULL),
    TN_COLUMN(lack, needed, NULL),
    TN_COLUMN(lack, available, NULL),
    TN_ARRAY("largest", lack, largest, largest_count, NULL),
};
static const tn_record lack_record = TN_RECORD(lack, lack_columns);

static const tn_column remedy_columns[] = {
    TN_COLUMN(remedy, change, NULL),
    TN_COLUMN(remedy, was, NULL),
    TN_COLUMN(remedy, seconds_per_step, NULL),
};
static const tn_record remedy_record = TN_RECORD(remedy, remedy_columns);

static const tn_column miss_columns[] = {
    TN_COLUMN(miss, design, NULL),
    TN_COLUMN(miss, cause, NULL),
    TN_COLUMN(miss, factor, NULL),
    TN_COLUMN(miss, choices, NULL),
    TN_ROWS_IN("misfits", miss, lack, lacks, lack_record, NULL),
    TN_COLUMN_AS("changes_tried", miss, tried, NULL),
    TN_COLUMN_AS("weights_not_tried", miss, weights_left, NULL),
    TN_COLUMN(miss, closest, NULL, TN_OPTIONAL),
    TN_COLUMN(miss, closest_factor, NULL, TN_OPTIONAL),
    TN_ROWS_IN("remedies", miss, remedy, remedies, remedy_record, NULL),
};
static const tn_record miss_record = TN_RECORD(miss, miss_columns);

static const tn_column answer_columns[] = {
    TN_COLUMN(answer, space, NULL),
    TN_COLUMN(answer, designs, NULL),
    TN_COLUMN(answer, evaluated, NULL),
    TN_ROWS_IN("misses", answer, miss, misses, miss_record, NULL),
};
static const tn_record answer_record = TN_RECORD(answer, answer_columns);

/* What the explanation says of resources, against the budget under the caps instead of the whole device; `space` is
 * the variant of the design. */
static void find_lacks(const tn_space *space, const tn_explanation *why, miss *failure) {
    for (int r = 0; r < TN_RESOURCES; r++) {
        uint64_t need = tn_resource_amount(&why->price.used, (tn_resource)r);
        uint64_t have = tn_resource_amount(&space->budget, (tn_resource)r);
        if (need <= have) continue;
        lack *next = &failure->lack[failure->lacks++];
        *next = (lack){.resource = tn_resource_names[r], .needed = need, .available = have};
        tn_largest largest = tn_explanation_largest(why, (tn_resource)r);
        next->largest_count = largest.count;
        for (uint32_t i = 0; i < largest.count; i++) {
            next->largest[i] = largest.name[i];
            next->amount[i] = largest.amount[i];
        }
    }
}

static tn_status describe(const tn_space *space, tn_evaluator *evaluator, const tn_miss *source,
                          tn_arena *arena, miss *target, tn_error *error) {
    tn_explanation why;
    tn_remedies remedies;
    *target = (miss){.design = source->id,
                     .cause = tn_cause_name(space, source->cause),
                     .factor = source->factor,
                     .closest_factor = NAN};
    TN_TRY(tn_choices_text(&space->choices, source->id, arena, &target->choices, error));
    TN_TRY(tn_evaluate_explain(evaluator, source->id, arena, &why, error));
    const tn_space *variant = tn_space_of(space, source->id);
    find_lacks(variant, &why, target);
    const tn_limits limits = {.budget = &variant->budget, .space = variant};
    tn_design design;
    TN_TRY(tn_evaluator_design(evaluator, arena, &design, error));
    TN_TRY(tn_remedies_find(&design, &limits, arena, &remedies, error));
    target->tried = remedies.tried;
    target->weights_left = remedies.weights_left;
    target->closest = remedies.count ? NULL : remedies.closest.change;
    target->closest_factor = target->closest ? remedies.closest.ratio : NAN;
    for (size_t i = 0; i < remedies.count && i < REMEDIES_SHOWN; i++)
        target->remedy[target->remedies++] = (remedy){remedies.remedy[i].change, remedies.remedy[i].was,
                                                      remedies.remedy[i].price.seconds_per_step};
    return TN_OK;
}

static void say_miss(const miss *failure) {
    char need[32], have[32], text[32];
    if (isfinite(failure->factor))
        tn_say("\ndesign %" PRIu64 ", %.3g times what %s allows\n  %s\n", failure->design, failure->factor,
               failure->cause, failure->choices);
    else
        tn_say("\ndesign %" PRIu64 ", which %s does not allow\n  %s\n", failure->design, failure->cause,
               failure->choices);
    for (size_t i = 0; i < failure->lacks; i++) {
        const lack *l = &failure->lack[i];
        tn_say("  %s: needs %s, may use %s; most of it for", l->resource, tn_count_text(l->needed, need),
               tn_count_text(l->available, have));
        for (size_t k = 0; k < l->largest_count; k++)
            tn_say("%s %s (%s)", k ? "," : "", l->largest[k], tn_count_text(l->amount[k], text));
        tn_say("\n");
    }
    if (failure->tried == 0) return;
    if (failure->remedies == 0) tn_say("  none of %zu single changes makes it fit", failure->tried);
    if (failure->closest)
        tn_say("; %s comes nearest, to %.3g times what is allowed", failure->closest,
               failure->closest_factor);
    if (failure->remedies == 0) tn_say("\n");
    for (size_t i = 0; i < failure->remedies; i++)
        tn_say("  %s %s (is %s): %s a step\n", i ? "     or" : "fits with", failure->remedy[i].change,
               failure->remedy[i].was, tn_si_text(failure->remedy[i].seconds_per_step, "s", text));
    if (failure->weights_left)
        tn_say("  (the step is long: of %zu weights, those of the fewest parameters, no change was tried)\n",
               failure->weights_left);
}

static tn_status print(const answer *result) {
    char designs[32], evaluated[32];
    tn_say("nothing fits: none of the designs of space %s that were swept is feasible\n", result->space);
    tn_say("nearest misses of %s designs (of %s), by what they lack most\n",
           tn_count_text(result->evaluated, evaluated), tn_count_text(result->designs, designs));
    for (size_t i = 0; i < result->misses; i++) say_miss(&result->miss[i]);
    return TN_OK;
}

tn_status tn_recommend_misses(const tn_result *result, bool json, tn_arena *arena, tn_error *error) {
    const tn_space *space = result->space;
    tn_misses found;
    tn_evaluator *evaluator;
    answer summary = {.space = space->name, .designs = space->choices.designs};
    TN_TRY(tn_misses_find(space, EVALUATED_MOST, &found, error));
    summary.evaluated = found.evaluated;
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < found.count && i < MISSES_SHOWN; i++)
        status = describe(space, evaluator, &found.miss[i], arena, &summary.miss[summary.misses++], error);
    if (status == TN_OK) status = json ? tn_output_json(&answer_record, &summary, error) : print(&summary);
    tn_evaluator_free(evaluator);
    return status;
}

const tn_record tn_recommend_misses_record = TN_RECORD(answer, answer_columns);
