#include "step/fusion.h"

#include "base/checked.h"
#include "model/operation.h"
#include "step/builder.h"
#include "step/transformation.h"

#include <string.h>

/* Update at write-back: every parameter is updated as soon as its gradient is whole and the last product that
 * needs the old value is done, rather than at the end of the step. So a gradient is held from its first write
 * to there, and the arrays behind it in the backward pass may take its place. The same operations with the
 * same operands: no value of the step changes. */

/* Updates by the operation that they follow: heads of lists, in the order of the updates. */
typedef struct waiting {
    uint32_t *first, *last, *next; /* [operations] */
} waiting;

static bool wanted(const tn_model *model) {
    return model->keys.update.when == TN_UPDATE_WRITE_BACK;
}

static tn_status find_last_uses(tn_builder *b, const tn_operation *earlier, uint32_t operations,
                                uint32_t **last_use) {
    uint32_t *last;
    TN_TRY(TN_NEW(b->arena, b->step->arrays, &last, b->error));
    for (uint32_t i = 0; i < operations; i++) {
        if (earlier[i].phase == TN_UPDATE) continue;
        for (uint32_t k = 0; k < earlier[i].read_count; k++) last[earlier[i].reads[k]] = i;
        for (uint32_t k = 0; k < earlier[i].write_count; k++) last[earlier[i].writes[k]] = i;
    }
    *last_use = last;
    return TN_OK;
}

/* An update reads all that it writes. */
static uint32_t last_before(const tn_operation *update, const uint32_t *last_use) {
    uint32_t last = 0;
    for (uint32_t k = 0; k < update->read_count; k++)
        if (last_use[update->reads[k]] > last) last = last_use[update->reads[k]];
    return last;
}

static tn_status queue_updates(tn_builder *b, const tn_operation *earlier, uint32_t operations,
                               waiting *queue) {
    uint32_t *last_use;
    TN_TRY(find_last_uses(b, earlier, operations, &last_use));
    TN_TRY(TN_NEW(b->arena, operations, &queue->first, b->error));
    TN_TRY(TN_NEW(b->arena, operations, &queue->last, b->error));
    TN_TRY(TN_NEW(b->arena, operations, &queue->next, b->error));
    for (uint32_t i = 0; i < operations; i++) queue->first[i] = queue->next[i] = TN_NONE;
    for (uint32_t i = 0; i < operations; i++) {
        if (earlier[i].phase != TN_UPDATE) continue;
        uint32_t index = last_before(&earlier[i], last_use);
        *(queue->first[index] == TN_NONE ? &queue->first[index] : &queue->next[queue->last[index]]) = i;
        queue->last[index] = i;
    }
    return TN_OK;
}

static tn_status apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    waiting queue;
    TN_TRY(queue_updates(b, earlier, operations, &queue));
    for (uint32_t i = 0; i < operations; i++) {
        if (earlier[i].phase == TN_UPDATE) continue;
        TN_TRY(tn_builder_keep(b, &earlier[i]));
        for (uint32_t update = queue.first[i]; update != TN_NONE; update = queue.next[update])
            TN_TRY(tn_builder_keep(b, &earlier[update]));
    }
    return TN_OK;
}

const tn_transformation tn_write_back = {
    .name = "write-back",
    .keys = "update.when",
    .source = "Lin et al., On-Device Training Under 256KB Memory, NeurIPS 2022",
    .needs = "nothing",
    .changes =
        "updates follow the last use of gradient and old value; gradients live shorter; no value changes",
    .wanted = wanted,
    .apply = apply,
};

static bool is_activation(tn_operation_kind kind) {
    return tn_operation_rows[kind].shape == TN_SHAPE_MAP;
}

/* The product makes its layer's output, all of it. */
static bool makes_output(const tn_step *step, const tn_operation *product) {
    if (product->kind != TN_OP_PRODUCT || product->phase != TN_FORWARD || !product->program_step)
        return false;
    const tn_step_layer *layer = &step->layer[product->layer];
    const uint64_t size[] = {product->batch, product->rows, product->columns};
    uint64_t elements;
    return layer->program->tensor[product->program_step->out].role == TN_ROLE_Y &&
           layer->family == TN_LAYER_LINEAR && tn_product(size, 3, &elements) &&
           elements == step->array[product->writes[0]].elements;
}

/* Later operations, in the order of the list: does one read what the array holds now? */
static bool is_read_later(const tn_operation *later, uint32_t count, uint32_t array) {
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < later[i].read_count; k++)
            if (later[i].reads[k] == array) return true;
        for (uint32_t k = 0; k < later[i].write_count; k++)
            if (later[i].writes[k] == array) return false;
    }
    return false;
}

/* Does the program's product count the tokens among these indices? */
static bool counts_tokens(const tn_program *program, const tn_program_step *step, uint32_t operand) {
    const tn_indices *y = &program->tensor[step->out].indices, *has = &program->tensor[operand].indices;
    for (uint32_t i = 0; i < has->count; i++)
        if (has->index[i] == y->index[0]) return true;
    return false;
}

/* What the added array tells apart of the product's rows and columns: a bias is the same for every token. */
static bool measure_added(const tn_step *step, const tn_operation *product, const tn_operation *add,
                          uint32_t array, tn_fused *fused) {
    const tn_step_layer *layer = &step->layer[product->layer];
    uint64_t elements = step->array[array].elements;
    fused->rows = product->rows;
    fused->columns = product->columns;
    if (elements == step->array[product->writes[0]].elements) return true;
    if (elements != add->columns) return false;
    bool in_rows = counts_tokens(layer->program, product->program_step, product->program_step->a);
    *(in_rows ? &fused->rows : &fused->columns) /= add->rows;
    return true;
}

/* What else the addition reads; false: the operation cannot be fused. */
static bool find_added(const tn_operation *operation, uint32_t result, uint32_t *array) {
    if (tn_operation_rows[operation->kind].shape != TN_SHAPE_ADD || operation->read_count != 2) return false;
    if ((operation->reads[0] == result) == (operation->reads[1] == result)) return false;
    *array = operation->reads[operation->reads[0] == result];
    return true;
}

/* Takes `operation`, which `later` ones follow, up into the product; false: it stays on its own. */
static bool take_up(const tn_step *step, bool activations, tn_operation *product,
                    const tn_operation *operation, const tn_operation *later, uint32_t count,
                    tn_fused *fused) {
    const uint32_t result = product->writes[0], made = operation->writes[0];
    uint32_t added;
    if (!tn_operation_rows[operation->kind].may_fuse || operation->phase != TN_FORWARD ||
        operation->times != product->times || operation->of_times != product->of_times ||
        product->fused_count == TN_FUSED_MOST)
        return false;
    *fused = (tn_fused){.kind = operation->kind, .layer = operation->layer, .read = UINT32_MAX};
    if (operation->rows * operation->columns != step->array[result].elements) return false;
    if (is_activation(operation->kind)) {
        if (!activations || operation->reads[0] != result) return false;
    } else if (!find_added(operation, result, &added) || product->read_count == TN_PRODUCT_READS ||
               !measure_added(step, product, operation, added, fused)) {
        return false;
    } else {
        fused->read = product->read_count;
    }
    fused->keeps = made != result && is_read_later(later, count, result);
    if (fused->keeps && product->write_count == TN_PRODUCT_WRITES) return false;
    if (fused->keeps) product->writes[product->write_count++] = result;
    if (fused->read != UINT32_MAX) product->reads[product->read_count++] = added;
    product->writes[0] = made;
    product->fused_count++;
    return true;
}

static tn_status fuse_operations(tn_builder *b, const tn_operation *earlier, uint32_t operations,
                                 bool activations) {
    for (uint32_t i = 0; i < operations;) {
        tn_operation product = earlier[i];
        tn_fused fused[TN_FUSED_MOST], *kept;
        if (product.fused_count > 0) memcpy(fused, product.fused, product.fused_count * sizeof *fused);
        uint32_t next = i + 1;
        if (makes_output(b->step, &product))
            while (next < operations &&
                   take_up(b->step, activations, &product, &earlier[next], &earlier[next + 1],
                           operations - next - 1, &fused[product.fused_count]))
                next++;
        if (product.fused_count > earlier[i].fused_count) {
            TN_TRY(TN_NEW(b->arena, product.fused_count, &kept, b->error));
            memcpy(kept, fused, product.fused_count * sizeof *kept);
            product.fused = kept;
        }
        TN_TRY(tn_builder_keep(b, &product));
        i = next;
    }
    return TN_OK;
}

/* A copy whose counts and lifetimes are to be found anew. */
static tn_status copy_lists(tn_builder *b, const tn_step *source) {
    tn_step *step = b->step;
    TN_TRY(TN_NEW(b->arena, source->layers, &step->layer, b->error));
    TN_TRY(TN_NEW(b->arena, source->arrays, &step->array, b->error));
    memcpy(step->layer, source->layer, source->layers * sizeof *step->layer);
    memcpy(step->array, source->array, source->arrays * sizeof *step->array);
    for (uint32_t i = 0; i < step->layers; i++) {
        tn_step_layer *layer = &step->layer[i];
        memset(layer->macs, 0, sizeof layer->macs);
        memset(layer->flops, 0, sizeof layer->flops);
        layer->peak_elements = layer->saved_elements = 0;
    }
    for (uint32_t i = 0; i < step->arrays; i++) {
        step->array[i].first = UINT32_MAX;
        step->array[i].last = 0;
    }
    memset(step->macs, 0, sizeof step->macs);
    memset(step->flops, 0, sizeof step->flops);
    step->activation_elements = step->activation_bytes = 0;
    step->operation = NULL;
    step->operations = step->forward_operations = 0;
    return TN_OK;
}

tn_status tn_step_fuse(const tn_step *step, bool activations, tn_arena *arena, tn_step *fused,
                       tn_error *error) {
    tn_builder b = {.arena = arena, .error = error, .step = fused};
    for (uint32_t i = 0; i < step->operations; i++) b.formatted |= step->operation[i].arithmetic != NULL;
    *fused = *step;
    TN_TRY(copy_lists(&b, step));
    TN_TRY(fuse_operations(&b, step->operation, step->operations, activations));
    TN_TRY(tn_builder_close_ranks(&b, true));
    TN_TRY(tn_builder_count(&b));
    return tn_builder_liveness(&b);
}

tn_status tn_fused_text(const tn_step *step, const tn_operation *product, tn_arena *arena, const char **text,
                        tn_error *error) {
    *text = "";
    for (uint32_t i = 0; i < product->fused_count; i++) {
        const tn_fused *fused = &product->fused[i];
        const char *added = "";
        if (fused->read != UINT32_MAX)
            TN_TRY(tn_step_array_name(step, product->reads[fused->read], arena, &added, error));
        TN_TRY(tn_arena_format(arena, text, error, "%s%s%s%s%s", *text, i ? ", " : "",
                               tn_operation_rows[fused->kind].name, *added ? " " : "", added));
    }
    return TN_OK;
}

bool tn_fused_stages(const tn_operation *product, uint32_t *stages, uint32_t added[TN_FUSED_ADDED]) {
    enum { FIRST, POSITIVE, LAST, STAGES };
    int next = FIRST;
    *stages = 0;
    for (uint32_t i = 0; i < product->fused_count; i++) {
        const tn_fused *fused = &product->fused[i];
        const bool adds = tn_operation_rows[fused->kind].shape == TN_SHAPE_ADD;
        const int stage = !adds ? POSITIVE : next == FIRST ? FIRST : LAST;
        if ((!adds && fused->kind != TN_OP_RELU) || fused->keeps || stage < next || next == STAGES)
            return false;
        if (adds) added[stage == LAST] = fused->read;
        *stages |= 1u << stage;
        next = stage + 1;
    }
    return true;
}
