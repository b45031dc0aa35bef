/* The updates: one operation a parameter array, after its gradient is whole and after every operation of the
 * backward pass that still reads the old value. */
#include "model/builder.h"
#include "model/operation.h"

#include <string.h>

/* The backward operations that read each array: of array i operation[first[i]] .. operation[first[i+1] - 1].
 */
typedef struct readers {
    uint32_t *first, *operation;
} readers;

static bool is_read_late(const tn_step *step, const tn_operation *operation, uint32_t array) {
    return operation->phase != TN_FORWARD && step->array[array].role == TN_ARRAY_PARAMETER;
}

static tn_status find_readers(tn_builder *b, readers *of) {
    const tn_step *step = b->step;
    uint32_t arrays = step->arrays;
    TN_TRY(tn_arena_alloc(b->arena, (size_t)arrays + 2, sizeof *of->first, &of->first, b->error));
    /* Counts two places up, then starts one place up, which filling moves to the ends. */
    for (uint32_t i = 0; i < step->operations; i++)
        for (uint32_t k = 0; k < step->operation[i].read_count; k++)
            if (is_read_late(step, &step->operation[i], step->operation[i].reads[k]))
                of->first[step->operation[i].reads[k] + 2]++;
    for (uint32_t i = 0; i <= arrays; i++) of->first[i + 1] += of->first[i];
    TN_TRY(tn_arena_alloc(b->arena, of->first[arrays + 1], sizeof *of->operation, &of->operation, b->error));
    for (uint32_t i = 0; i < step->operations; i++)
        for (uint32_t k = 0; k < step->operation[i].read_count; k++)
            if (is_read_late(step, &step->operation[i], step->operation[i].reads[k]))
                of->operation[of->first[step->operation[i].reads[k] + 1]++] = i;
    return TN_OK;
}

/* The readers of the parameter and the last writer of its gradient, ascending and each once. */
static tn_status order_after(tn_builder *b, const readers *of, uint32_t parameter, tn_operation *update) {
    const uint32_t *reader = of->operation + of->first[parameter];
    uint32_t count = of->first[parameter + 1] - of->first[parameter], writer = b->writer[parameter + 1],
             *after;
    TN_TRY(tn_arena_alloc(b->arena, (size_t)count + 1, sizeof *after, &after, b->error));
    uint32_t made = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (writer != TN_NONE && writer <= reader[i]) {
            if (writer < reader[i]) after[made++] = writer;
            writer = TN_NONE;
        }
        after[made++] = reader[i];
    }
    if (writer != TN_NONE) after[made++] = writer;
    update->after = after;
    update->after_count = made;
    return TN_OK;
}

static tn_status add_update(tn_builder *b, const readers *of, uint32_t parameter) {
    bool has_state = b->model->optimizer != TN_SGD;
    tn_operation update = {.kind = TN_OP_UPDATE,
                           .phase = TN_UPDATE,
                           .rows = 1,
                           .columns = b->step->array[parameter].elements,
                           .read_count = has_state ? 3 : 2,
                           .reads = {parameter, parameter + 1, parameter + 2},
                           .write_count = has_state ? 2 : 1,
                           .writes = {parameter, parameter + 2}};
    TN_TRY(order_after(b, of, parameter, &update));
    return tn_builder_add(b, &update);
}

tn_status tn_builder_updates(tn_builder *b) {
    readers of;
    TN_TRY(find_readers(b, &of));
    for (b->at = 0; b->at < b->model->layers; b->at++) {
        tn_layer_arrays *made = tn_builder_made(b);
        made->update_first = b->step->operations;
        for (uint32_t i = 0; i < made->parameters; i++)
            TN_TRY(add_update(b, &of, tn_builder_parameter(b, i)));
        made->update_end = b->step->operations;
    }
    return TN_OK;
}
