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
static void find_lacks(const tn_space *space, const tn_explanation *why, miss *of) {
    for (int r = 0; r < TN_RESOURCES; r++) {
        uint64_t need = tn_resource_amount(&why->price.used, (tn_resource)r);
        uint64_t have = tn_resource_amount(&space->budget, (tn_resource)r);
        if (need <= have) continue;
        lack *next = &of->lack[of->lacks++];
        *next = (lack){.resource = tn_resource_names[r], .needed = need, .available = have};
        tn_largest largest = tn_explanation_largest(why, (tn_resource)r);
        next->largest_count = largest.count;
        for (uint32_t i = 0; i < largest.count; i++) {
            next->largest[i] = largest.name[i];
            next->amount[i] = largest.amount[i];
        }
    }
}

static tn_status describe(const tn_space *space, tn_evaluator *evaluator, const tn_miss *from,
                          tn_arena *arena, miss *to, tn_error *error) {
    tn_explanation why;
    tn_remedies remedies;
    *to = (miss){.design = from->id,
                 .cause = tn_cause_name(space, from->cause),
                 .factor = from->factor,
                 .closest_factor = NAN};
    TN_TRY(tn_choices_text(&space->choices, from->id, arena, &to->choices, error));
    TN_TRY(tn_evaluate_explain(evaluator, from->id, arena, &why, error));
    const tn_space *variant = tn_space_of(space, from->id);
    find_lacks(variant, &why, to);
    const tn_limits limits = {.budget = &variant->budget, .space = variant};
    tn_design design;
    TN_TRY(tn_evaluator_design(evaluator, arena, &design, error));
    TN_TRY(tn_remedies_find(&design, &limits, arena, &remedies, error));
    to->tried = remedies.tried;
    to->weights_left = remedies.weights_left;
    to->closest = remedies.count ? NULL : remedies.closest.change;
    to->closest_factor = to->closest ? remedies.closest.ratio : NAN;
    for (size_t i = 0; i < remedies.count && i < REMEDIES_SHOWN; i++)
        to->remedy[to->remedies++] = (remedy){remedies.remedy[i].change, remedies.remedy[i].was,
                                              remedies.remedy[i].price.seconds_per_step};
    return TN_OK;
}

static void say_miss(const miss *of) {
    char need[32], have[32], text[32];
    if (isfinite(of->factor))
        tn_say("\ndesign %" PRIu64 ", %.3g times what %s allows\n  %s\n", of->design, of->factor, of->cause,
               of->choices);
    else
        tn_say("\ndesign %" PRIu64 ", which %s does not allow\n  %s\n", of->design, of->cause, of->choices);
    for (size_t i = 0; i < of->lacks; i++) {
        const lack *l = &of->lack[i];
        tn_say("  %s: needs %s, may use %s; most of it for", l->resource, tn_count_text(l->needed, need),
               tn_count_text(l->available, have));
        for (size_t k = 0; k < l->largest_count; k++)
            tn_say("%s %s (%s)", k ? "," : "", l->largest[k], tn_count_text(l->amount[k], text));
        tn_say("\n");
    }
    if (of->tried == 0) return;
    if (of->remedies == 0) tn_say("  none of %zu single changes makes it fit", of->tried);
    if (of->closest)
        tn_say("; %s comes nearest, to %.3g times what is allowed", of->closest, of->closest_factor);
    if (of->remedies == 0) tn_say("\n");
    for (size_t i = 0; i < of->remedies; i++)
        tn_say("  %s %s (is %s): %s a step\n", i ? "     or" : "fits with", of->remedy[i].change,
               of->remedy[i].was, tn_si_text(of->remedy[i].seconds_per_step, "s", text));
    if (of->weights_left)
        tn_say("  (the step is long: of %zu weights, those of the fewest parameters, no change was tried)\n",
               of->weights_left);
}

static tn_status print(const answer *of) {
    char designs[32], evaluated[32];
    tn_say("nothing fits: none of the designs of space %s that were swept is feasible\n", of->space);
    tn_say("nearest misses of %s designs (of %s), by what they lack most\n",
           tn_count_text(of->evaluated, evaluated), tn_count_text(of->designs, designs));
    for (size_t i = 0; i < of->misses; i++) say_miss(&of->miss[i]);
    return TN_OK;
}

tn_status tn_recommend_misses(const tn_result *result, bool json, tn_arena *arena, tn_error *error) {
    const tn_space *space = result->space;
    tn_misses found;
    tn_evaluator *evaluator;
    answer of = {.space = space->name, .designs = space->choices.designs};
    TN_TRY(tn_misses_find(space, EVALUATED_MOST, &found, error));
    of.evaluated = found.evaluated;
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < found.count && i < MISSES_SHOWN; i++)
        status = describe(space, evaluator, &found.miss[i], arena, &of.miss[of.misses++], error);
    if (status == TN_OK) status = json ? tn_output_json(&answer_record, &of, error) : print(&of);
    tn_evaluator_free(evaluator);
    return status;
}
