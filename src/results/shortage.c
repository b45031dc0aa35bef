#include "results/shortage.h"

#include "results/remedy.h"

#include <math.h>
#include <string.h>

enum { LOOKED_AT_MOST = 20000 };

/* What it needs, and what would help. */
static tn_status describe(const tn_space *space, tn_evaluator *evaluator, const tn_miss *miss,
                          tn_arena *arena, tn_shortage *shortage, tn_error *error) {
    tn_explanation why;
    tn_remedies remedies;
    tn_design design;
    const tn_space *variant = tn_space_of(space, miss->id);
    const tn_limits limits = {.budget = &variant->budget, .space = variant};
    TN_TRY(tn_evaluate_explain(evaluator, miss->id, arena, &why, error));
    TN_TRY(tn_evaluator_design(evaluator, arena, &design, error));
    TN_TRY(tn_remedies_find(&design, &limits, arena, &remedies, error));
    if (miss->cause < TN_CAUSE_CONSTRAINT) {
        const tn_resource resource = (tn_resource)(miss->cause - TN_CAUSE_RESOURCE);
        shortage->needed = tn_resource_amount(&why.price.used, resource);
        shortage->allowed = tn_resource_amount(&variant->budget, resource);
        shortage->factor =
            shortage->allowed ? (double)shortage->needed / (double)shortage->allowed : INFINITY;
        TN_TRY(tn_arena_format(arena, &shortage->key, error, "caps.%s", shortage->cause));
    } else {
        shortage->key = "constraints";
    }
    const tn_remedy *best = remedies.count ? &remedies.remedy[0] : &remedies.closest;
    for (size_t i = remedies.count;
         i-- > 0;) /* the first of those that change one key, where there are any */
        if (!strstr(remedies.remedy[i].change, " --set ")) best = &remedies.remedy[i];
    shortage->change = best->change;
    shortage->was = best->was;
    shortage->changed_factor = best->change ? best->ratio : NAN;
    return TN_OK;
}

tn_status tn_shortage_find(const tn_space *space, tn_arena *arena, tn_shortage *shortage, tn_error *error) {
    tn_misses misses;
    tn_evaluator *evaluator;
    *shortage = (tn_shortage){.changed_factor = NAN};
    TN_TRY(tn_misses_find(space, LOOKED_AT_MOST, &misses, error));
    if (misses.count == 0) return TN_OK;
    const tn_miss *nearest = &misses.miss[0];
    shortage->looked_at = misses.evaluated;
    shortage->design = nearest->id;
    shortage->factor = nearest->factor;
    shortage->cause = tn_cause_name(space, nearest->cause);
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = describe(space, evaluator, nearest, arena, shortage, error);
    tn_evaluator_free(evaluator);
    return status;
}
