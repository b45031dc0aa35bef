#include "train/step_sorts.h"

#include "base/checked.h"

#include <math.h>

static uint64_t mean_macs(const tn_training_result *of, bool executed) {
    long double sum = 0;
    if (of->sorts == 1) return executed ? of->sort[0].macs.executed : of->sort[0].macs.predicted;
    for (size_t i = 0; i < of->sorts; i++)
        sum += (long double)of->sort[i].share *
               (long double)(executed ? of->sort[i].macs.executed : of->sort[i].macs.predicted);
    return (uint64_t)llroundl(sum);
}

tn_status tn_note_sort(tn_trainer *trainer, uint32_t sort, const tn_step_result *result, tn_arena *arena,
                       tn_training_result *to, tn_error *error) {
    const char *name;
    TN_TRY(tn_trainer_sort_name(trainer, sort, arena, &name, error));
    to->sort[to->sorts++] =
        (tn_step_sort_result){.name = name,
                              .share = tn_trainer_sort_share(trainer, sort),
                              .macs = {result->macs_predicted, result->macs},
                              .peak_elements = {result->peak_elements_predicted, result->peak_elements}};
    to->macs_per_step = (tn_predicted_executed){mean_macs(to, false), mean_macs(to, true)};
    to->peak_elements.predicted = tn_greatest(to->peak_elements.predicted, result->peak_elements_predicted);
    to->peak_elements.executed = tn_greatest(to->peak_elements.executed, result->peak_elements);
    return TN_OK;
}
