/* Inference: the forward phase alone. Losses, gradients and updates are gone, and with them what only they read:
 * forward operations whose results nobody takes, parameters' gradients, the optimizer's state. What the loss
 * would have read, the logits, is the result. */
#include "model/operation.h"
#include "model/transformation.h"

static bool wanted(const tn_model *model) {
    return model->inference;
}

static bool writes_one_of(const tn_operation *operation, const bool *wanted_array) {
    for (uint32_t k = 0; k < operation->write_count; k++)
        if (wanted_array[operation->writes[k]]) return true;
    return false;
}

/* From the logits backwards: kept[operation], of the `forward` first ones. */
static tn_status find_needed(tn_builder *b, const tn_operation *before, uint32_t operations, uint32_t forward,
                             bool **kept) {
    bool *needed;
    TN_TRY(tn_arena_alloc(b->arena, b->step->arrays, sizeof *needed, &needed, b->error));
    TN_TRY(tn_arena_alloc(b->arena, operations, sizeof **kept, kept, b->error));
    for (uint32_t i = 0; i < operations; i++)
        if (before[i].kind == TN_OP_CROSS_ENTROPY) needed[before[i].reads[0]] = true;
    for (uint32_t i = forward; i-- > 0;) {
        (*kept)[i] = writes_one_of(&before[i], needed);
        for (uint32_t k = 0; (*kept)[i] && k < before[i].read_count; k++) needed[before[i].reads[k]] = true;
    }
    return TN_OK;
}

static void mark(bool *used, const tn_operation *operation) {
    for (uint32_t k = 0; k < operation->read_count; k++) used[operation->reads[k]] = true;
    for (uint32_t k = 0; k < operation->write_count; k++) used[operation->writes[k]] = true;
}

/* Arrays that no operation touches are left out, and the others numbered anew. */
static tn_status close_ranks(tn_builder *b) {
    tn_step *step = b->step;
    uint32_t *place, arrays = 0;
    bool *used;
    TN_TRY(tn_arena_alloc(b->arena, step->arrays, sizeof *place, &place, b->error));
    TN_TRY(tn_arena_alloc(b->arena, step->arrays, sizeof *used, &used, b->error));
    for (uint32_t i = 0; i < step->operations; i++) mark(used, &step->operation[i]);
    for (uint32_t i = 0; i < step->arrays; i++) {
        if (!used[i]) continue;
        place[i] = arrays;
        step->array[arrays++] = step->array[i];
    }
    step->arrays = arrays;
    for (uint32_t i = 0; i < step->operations; i++) {
        tn_operation *operation = &step->operation[i];
        for (uint32_t k = 0; k < operation->read_count; k++) operation->reads[k] = place[operation->reads[k]];
        for (uint32_t k = 0; k < operation->write_count; k++)
            operation->writes[k] = place[operation->writes[k]];
    }
    return TN_OK;
}

static tn_status apply(tn_builder *b, const tn_operation *before, uint32_t operations) {
    uint32_t forward = 0;
    bool *kept;
    while (forward < operations && before[forward].phase == TN_FORWARD) forward++;
    TN_TRY(find_needed(b, before, operations, forward, &kept));
    for (uint32_t i = 0; i < forward; i++)
        if (kept[i]) TN_TRY(tn_builder_keep(b, &before[i]));
    b->step->optimizer_elements = 0;
    return close_ranks(b);
}

const tn_transformation tn_inference = {
    .name = "inference",
    .keys = "phase",
    .needs = "nothing",
    .changes =
        "the forward phase alone: no loss, gradient, update or optimizer state; no activation is saved",
    .wanted = wanted,
    .apply = apply,
};
