#include "model/step.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/group.h"
#include "model/graph.h"
#include "model/model.h"
#include "model/operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint32_t tn_step_sorts(const tn_model *model) {
    if (tn_predicted_share(&model->keys.predicted_gradients) > 0) return TN_PREDICTING_SORTS;
    return model->keys.exit.count > 1 ? (uint32_t)model->keys.exit.count : 1;
}

double tn_step_sort_share(const tn_model *model, uint32_t sort) {
    const double predicted = tn_predicted_share(&model->keys.predicted_gradients);
    if (predicted > 0) return sort == TN_SORT_TRUE ? 1 - predicted : predicted;
    return model->keys.exit.count > 1 ? model->keys.exit.item[sort] : 1;
}

uint64_t tn_step_macs(const uint64_t macs[TN_PHASES]) {
    uint64_t sum = 0;
    for (int phase = 0; phase < TN_PHASES; phase++) sum += macs[phase];
    return sum;
}

bool tn_array_is_resident(const tn_array *array) {
    return array->role == TN_ARRAY_PARAMETER || array->role == TN_ARRAY_OPTIMIZER ||
           array->role == TN_ARRAY_CONSTANT || array->role == TN_ARRAY_CACHE;
}

bool tn_array_is_predictor(const tn_array *array) {
    return array->role == TN_ARRAY_OPTIMIZER &&
           (array->part == TN_PART_PREDICTOR_IN || array->part == TN_PART_PREDICTOR_OUT);
}

/* Of Adam's two, which lie one behind the other. */
static bool is_second_state(const tn_step *step, uint32_t array) {
    const tn_array *own = &step->array[array], *before = array > 0 ? own - 1 : NULL;
    return before && before->role == own->role && before->layer == own->layer && before->part == own->part &&
           before->number == own->number;
}

tn_status tn_step_array_name(const tn_step *step, uint32_t array, tn_arena *arena, const char **name,
                             tn_error *error) {
    const tn_array *this_array = &step->array[array];
    const char *layer = step->layer[this_array->layer].name;
    const char *suffix = this_array->role == TN_ARRAY_GRADIENT ? ".gradient"
                         : this_array->role == TN_ARRAY_OPTIMIZER && !tn_array_is_predictor(this_array)
                             ? is_second_state(step, array) ? ".state2" : ".state"
                         : this_array->is_part  ? ".part"
                         : this_array->is_again ? ".again"
                                                : "";
    char number[24] = "", exit[24] = "";
    if (this_array->number) snprintf(number, sizeof number, "%" PRIu32, this_array->number);
    if (this_array->exit) snprintf(exit, sizeof exit, ".exit%" PRIu32, this_array->exit);
    return tn_arena_format(arena, name, error, "%s.%s%s%s%s", layer, tn_array_part_names[this_array->part],
                           number, suffix, exit);
}
