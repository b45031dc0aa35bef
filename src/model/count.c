/* What a list of operations costs, and what each of them waits for. */
#include "base/checked.h"
#include "model/builder.h"
#include "model/operation.h"

#include <string.h>

/* The operations of the backward pass that read each parameter, which its update overwrites: of array i
 * operation[first[i]] .. operation[first[i+1] - 1]. */
typedef struct readers {
    uint32_t *first, *operation;
} readers;

static bool is_read_late(const tn_step *step, uint32_t operation, uint32_t array) {
    return operation >= step->forward_operations && step->operation[operation].phase != TN_UPDATE &&
           step->array[array].role == TN_ARRAY_PARAMETER;
}

static tn_status find_readers(tn_builder *b, readers *of) {
    const tn_step *step = b->step;
    uint32_t arrays = step->arrays;
    TN_TRY(tn_arena_alloc(b->arena, (size_t)arrays + 2, sizeof *of->first, &of->first, b->error));
    /* Counts two places up, then starts one place up, which filling moves to the ends. */
    for (uint32_t i = 0; i < step->operations; i++)
        for (uint32_t k = 0; k < step->operation[i].read_count; k++)
            if (is_read_late(step, i, step->operation[i].reads[k]))
                of->first[step->operation[i].reads[k] + 2]++;
    for (uint32_t i = 0; i <= arrays; i++) of->first[i + 1] += of->first[i];
    TN_TRY(tn_arena_alloc(b->arena, of->first[arrays + 1], sizeof *of->operation, &of->operation, b->error));
    for (uint32_t i = 0; i < step->operations; i++)
        for (uint32_t k = 0; k < step->operation[i].read_count; k++)
            if (is_read_late(step, i, step->operation[i].reads[k]))
                of->operation[of->first[step->operation[i].reads[k] + 1]++] = i;
    return TN_OK;
}

/* Adds an operation to an ascending list without repetition. */
static void wait_for(uint32_t *after, uint32_t *count, uint32_t operation) {
    uint32_t at = *count;
    while (at > 0 && after[at - 1] > operation) at--;
    if (at > 0 && after[at - 1] == operation) return;
    memmove(&after[at + 1], &after[at], (*count - at) * sizeof *after);
    after[at] = operation;
    ++*count;
}

/* Those that wrote what it reads; an update waits for the readers of the old value too. */
static void link_operation(const tn_builder *b, const readers *of, uint32_t position, uint32_t *after) {
    tn_operation *operation = &b->step->operation[position];
    operation->after = after;
    operation->after_count = 0;
    if (operation->phase == TN_UPDATE)
        for (uint32_t i = of->first[operation->writes[0]]; i < of->first[operation->writes[0] + 1]; i++)
            if (of->operation[i] < position) wait_for(after, &operation->after_count, of->operation[i]);
    for (uint32_t i = 0; i < operation->read_count; i++)
        if (b->writer[operation->reads[i]] != TN_NONE)
            wait_for(after, &operation->after_count, b->writer[operation->reads[i]]);
}

static tn_status link_operations(tn_builder *b) {
    const tn_step *step = b->step;
    readers of;
    TN_TRY(find_readers(b, &of));
    size_t most = of.first[step->arrays];
    uint32_t *after;
    for (uint32_t i = 0; i < step->operations; i++) most += step->operation[i].read_count;
    TN_TRY(tn_arena_alloc(b->arena, most, sizeof *after, &after, b->error));
    TN_TRY(tn_arena_alloc(b->arena, step->arrays, sizeof *b->writer, &b->writer, b->error));
    for (uint32_t i = 0; i < step->arrays; i++) b->writer[i] = TN_NONE;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        link_operation(b, &of, i, after);
        after += operation->after_count;
        for (uint32_t k = 0; k < operation->write_count; k++) b->writer[operation->writes[k]] = i;
    }
    return TN_OK;
}

static tn_status add_costs(tn_builder *b, const tn_operation *operation) {
    tn_step *step = b->step;
    tn_step_layer *layer = &step->layer[operation->layer];
    tn_phase phase = operation->phase;
    if (tn_add(layer->macs[phase], operation->macs, &layer->macs[phase]) &&
        tn_add(layer->flops[phase], operation->flops, &layer->flops[phase]) &&
        tn_add(step->macs[phase], operation->macs, &step->macs[phase]) &&
        tn_add(step->flops[phase], operation->flops, &step->flops[phase]))
        return TN_OK;
    return tn_fail(b->error, TN_OVERFLOW, "the %s phase takes more than 2^64 operations",
                   tn_phase_names[phase]);
}

tn_status tn_builder_count(tn_builder *b) {
    tn_step *step = b->step;
    while (step->forward_operations < step->operations &&
           step->operation[step->forward_operations].phase == TN_FORWARD)
        step->forward_operations++;
    for (uint32_t i = 0; i < step->operations; i++) {
        TN_TRY(tn_operation_count(&step->operation[i], b->error));
        TN_TRY(add_costs(b, &step->operation[i]));
    }
    return link_operations(b);
}
