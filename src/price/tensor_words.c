#include "price/tensor_words.h"

#include "base/checked.h"
#include "base/memory.h"

#include <string.h>

typedef struct {
    const tn_layout_problem *problem;
    const tn_searched_tensor *tensor; /* the problem's */
    tn_tensor_words *words;
} lister;

static tn_status add_word(lister *state, const uint8_t *log, tn_error *error) {
    tn_tensor_words *list = state->words;
    const uint32_t axes = state->tensor->axes;
    TN_TRY(TN_GROW(&list->log, &list->room, (size_t)(list->count + 1) * axes + 1, error));
    if (axes) memcpy(list->log + (size_t)list->count * axes, log, axes);
    list->count++;
    return TN_OK;
}

static bool has_room(const lister *state, uint32_t axis, uint32_t log) {
    return (uint64_t)1 << log < state->problem->size[state->tensor->axis[axis]];
}

/* Whether the box can't be longer. */
static bool is_full(const lister *state, const uint8_t *log, uint32_t used, uint32_t left) {
    bool full = true;
    for (uint32_t i = 0; left > 0 && i < state->tensor->axes; i++)
        if (log[i] > 0 || used < TN_WORD_AXES) full = full && !has_room(state, i, log[i]);
    return full;
}

static tn_status add_boxes(lister *state, uint32_t axis, uint32_t used, uint32_t left, uint8_t *log,
                           tn_error *error) {
    if (axis == state->tensor->axes)
        return is_full(state, log, used, left) ? add_word(state, log, error) : TN_OK;
    TN_TRY(add_boxes(state, axis + 1, used, left, log, error));
    for (uint32_t l = 1; used < TN_WORD_AXES && l <= left && has_room(state, axis, l - 1); l++) {
        log[axis] = (uint8_t)l;
        TN_TRY(add_boxes(state, axis + 1, used + 1, left - l, log, error));
    }
    log[axis] = 0;
    return TN_OK;
}

/* Features lie along the last axes, each in turn, as far as they go; rows along the first (layout/tensor_layout.h). */
static tn_status add_shared(lister *state, uint32_t first, uint32_t row_log, uint32_t most, tn_error *error) {
    const tn_searched_tensor *tensor = state->tensor;
    for (uint32_t features = 0; features <= most; features++) {
        uint8_t log[TN_LAYOUT_AXES] = {0};
        uint32_t left = features;
        for (uint32_t i = tensor->axes; i-- > 0 && tensor->axis[i] != first;) {
            log[i] = (uint8_t)tn_least(tn_log_above(state->problem->size[tensor->axis[i]]), left);
            left -= log[i];
        }
        if (tensor->axes > 0 && tensor->axis[0] == first) log[0] = (uint8_t)(row_log - features);
        TN_TRY(add_word(state, log, error));
    }
    return TN_OK;
}

tn_status tn_tensor_words_list(const tn_layout_problem *problem, uint32_t tensor, uint32_t row_log,
                               uint32_t features, tn_tensor_words *words, tn_error *error) {
    lister state = {problem, &problem->tensor[tensor], words};
    uint8_t log[TN_LAYOUT_AXES] = {0};
    if (features == TN_NO_FEATURES) return add_boxes(&state, 0, 0, row_log, log, error);
    return add_shared(&state, problem->program->tensor[tensor].indices.index[0], row_log,
                      (uint32_t)tn_least(features, row_log), error);
}
