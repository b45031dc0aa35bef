/* A model's training step, written: forward parts of its layers, backward parts, transformations, costs. */
#include "step/builder.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/group.h"
#include "model/model.h"
#include "model/operation.h"
#include "step/transformation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What a list of operations costs, and what each of them waits for. */

static bool is_read_late(const tn_step *step, uint32_t operation, uint32_t array) {
    return operation >= step->forward_operations && step->operation[operation].phase != TN_UPDATE &&
           step->array[array].role == TN_ARRAY_PARAMETER;
}

/* The operations of the backward pass that read each parameter, which its update overwrites, by array. */
static tn_status find_readers(tn_builder *b, tn_groups *groups) {
    const tn_step *step = b->step;
    uint32_t *array, *operation, reads = 0, late = 0;
    for (uint32_t i = 0; i < step->operations; i++) reads += step->operation[i].read_count;
    TN_TRY(TN_NEW(b->arena, reads, &array, b->error));
    TN_TRY(TN_NEW(b->arena, reads, &operation, b->error));
    for (uint32_t i = 0; i < step->operations; i++)
        for (uint32_t k = 0; k < step->operation[i].read_count; k++) {
            if (!is_read_late(step, i, step->operation[i].reads[k])) continue;
            array[late] = step->operation[i].reads[k];
            operation[late++] = i;
        }
    return tn_group_by(array, operation, late, step->arrays, b->arena, groups, b->error);
}

/* Adds an operation to an ascending list without repetition. */
static void wait_for(uint32_t *after, uint32_t *count, uint32_t operation) {
    uint32_t index = *count;
    while (index > 0 && after[index - 1] > operation) index--;
    if (index > 0 && after[index - 1] == operation) return;
    memmove(&after[index + 1], &after[index], (*count - index) * sizeof *after);
    after[index] = operation;
    ++*count;
}

/* Those that wrote what it reads; an update waits for the readers of the old value too. */
static void link_operation(const tn_builder *b, const tn_groups *groups, uint32_t position, uint32_t *after) {
    tn_operation *operation = &b->step->operation[position];
    operation->after = after;
    operation->after_count = 0;
    if (operation->phase == TN_UPDATE)
        for (uint32_t i = groups->first[operation->writes[0]]; i < groups->first[operation->writes[0] + 1];
             i++)
            if (groups->member[i] < position) wait_for(after, &operation->after_count, groups->member[i]);
    for (uint32_t i = 0; i < operation->read_count; i++)
        if (b->writer[operation->reads[i]] != TN_NONE)
            wait_for(after, &operation->after_count, b->writer[operation->reads[i]]);
}

static tn_status link_operations(tn_builder *b) {
    const tn_step *step = b->step;
    tn_groups groups;
    TN_TRY(find_readers(b, &groups));
    size_t most = groups.first[step->arrays];
    uint32_t *after;
    for (uint32_t i = 0; i < step->operations; i++) most += step->operation[i].read_count;
    TN_TRY(TN_NEW(b->arena, most, &after, b->error));
    TN_TRY(TN_NEW(b->arena, step->arrays, &b->writer, b->error));
    for (uint32_t i = 0; i < step->arrays; i++) b->writer[i] = TN_NONE;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        link_operation(b, &groups, i, after);
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

/* What tn_step_macs relies on. */
static tn_status check_sum(const tn_builder *b) {
    uint64_t sum = 0;
    for (int phase = 0; phase < TN_PHASES; phase++)
        if (!tn_add(sum, b->step->macs[phase], &sum))
            return tn_fail(b->error, TN_OVERFLOW, "the step takes more than 2^64 multiply-adds");
    return TN_OK;
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
    TN_TRY(check_sum(b));
    return link_operations(b);
}

static tn_weight dense_weight(uint64_t rows, uint64_t columns) {
    return (tn_weight){.format = TN_DENSE, .d = 1, .m = {rows}, .n = {columns}};
}

/* The counts that follow from the weight alone. */
static tn_status measure(tn_builder *b, tn_used_weight *used) {
    uint64_t *useful;
    TN_TRY(tn_weight_parameters(&used->weight, &used->parameters, b->error));
    TN_TRY(tn_weight_degrees_of_freedom(&used->weight, &used->degrees_of_freedom, b->error));
    TN_TRY(TN_NEW(b->arena, used->weight.rank_count, &useful, b->error));
    TN_TRY(tn_weight_useful_ranks(&used->weight, useful, b->error));
    used->useful_rank = useful;
    return TN_OK;
}

static tn_status use_weights(tn_builder *b) {
    const tn_model *model = b->model;
    TN_TRY(TN_NEW(b->arena, model->weights, &b->used, b->error));
    for (size_t i = 0; i < model->weights; i++) {
        const tn_weight_use *use = &model->weight[i];
        tn_used_weight *used = &b->used[i];
        TN_TRY(tn_fail_placed(b->error, tn_named_weight_check(model, use, b->error), use->position));
        bool dense = tn_model_is_dense(model) || use->entry.weight.format == TN_DENSE;
        *used = (tn_used_weight){.name = use->entry.name,
                                 .flow = dense ? TN_FLOW_DENSE : use->entry.flow,
                                 .flow_at = use->flow_at};
        used->weight = dense ? dense_weight(use->rows, use->columns) : use->entry.weight;
        TN_TRY(tn_fail_placed(b->error, measure(b, used), use->position));
    }
    return TN_OK;
}

/* The layer's weight: a named one, or a dense one of its own. */
static tn_status weight_of(tn_builder *b, const tn_layer *layer, const tn_used_weight **weight) {
    *weight = NULL;
    if (layer->rows == 0) return TN_OK;
    if (layer->weight != TN_NONE) {
        *weight = &b->used[layer->weight];
        return TN_OK;
    }
    tn_used_weight *own;
    TN_TRY(TN_NEW(b->arena, 1, &own, b->error));
    *own = (tn_used_weight){.weight = dense_weight(layer->rows, layer->columns), .flow = TN_FLOW_DENSE};
    *weight = own;
    return measure(b, own);
}

static void describe(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_layer_arrays *made = tn_builder_made(b);
    tn_step_layer *line = &b->step->layer[b->layer_index];
    line->degrees_of_freedom = line->parameters;
    line->tokens = layer->tokens;
    line->group = layer->kv_heads ? layer->heads / layer->kv_heads : 0;
    line->causal = layer->causal;
    line->output = made->output;
    line->program = made->program;
    if (!made->weight) return;
    const tn_used_weight *used = made->weight;
    bool tensor = used->weight.format != TN_DENSE;
    line->weight = &used->weight;
    line->weight_name = used->name;
    line->format = tn_format_names[used->weight.format];
    line->flow = tensor || made->program ? tn_flow_names[used->flow] : NULL;
    line->rank_count = used->weight.rank_count;
    line->rank = used->weight.rank;
    line->useful_rank = used->useful_rank;
    line->degrees_of_freedom -= used->parameters - used->degrees_of_freedom;
}

/* Where a program could not be made because of the flow, the flow's key is the place to look. */
static tn_status placed(tn_builder *b, tn_status status) {
    const tn_used_weight *used = tn_builder_made(b)->weight;
    tn_error *error = b->error;
    if (!error || error->line || !used || !used->name || (status != TN_INPUT && status != TN_LIMIT))
        return status;
    tn_error inner = *error;
    return tn_fail_at(error, status, used->flow_at, "weight \"%.100s\" in layer %.100s: %.700s", used->name,
                      tn_builder_layer(b)->name, inner.message);
}

static tn_status add_forward(tn_builder *b) {
    tn_step *step = b->step;
    for (b->layer_index = 0; b->layer_index < b->model->layers; b->layer_index++) {
        const tn_layer *layer = tn_builder_layer(b);
        tn_layer_arrays *made = tn_builder_made(b);
        *made = (tn_layer_arrays){.output = TN_NONE, .gradient = TN_NONE, .first_parameter = TN_NONE};
        step->layer[b->layer_index] =
            (tn_step_layer){.name = layer->name, .kind = layer->kind->name, .family = layer->kind->family};
        TN_TRY(tn_fail_placed(b->error, weight_of(b, layer, &made->weight), layer->position));
        TN_TRY(tn_fail_placed(b->error, placed(b, layer->kind->forward(b)), layer->position));
        describe(b);
        if (!tn_add(step->degrees_of_freedom, step->layer[b->layer_index].degrees_of_freedom,
                    &step->degrees_of_freedom))
            return tn_fail(b->error, TN_OVERFLOW, "the model has more than 2^64 degrees of freedom");
    }
    return TN_OK;
}

static tn_status add_backward(tn_builder *b) {
    for (uint32_t i = b->model->layers; i-- > 0;) {
        b->layer_index = i;
        const tn_layer *layer = tn_builder_layer(b);
        /* Of a step that decodes what the losses read is wanted, and no gradient. */
        if (b->step->decoding && layer->kind->family != TN_LAYER_LOSS) continue;
        if (layer->learns) TN_TRY(tn_fail_placed(b->error, layer->kind->backward(b), layer->position));
    }
    return TN_OK;
}

static tn_status build(tn_builder *b, uint32_t transformations) {
    tn_step *step = b->step;
    char precision[TN_NUMBER_FORMAT_NAME];
    tn_number_format_name(&step->formats->accumulate, precision);
    TN_TRY(tn_arena_format(b->arena, &step->precision, b->error, "%s", precision));
    TN_TRY(TN_NEW(b->arena, b->model->layers, &step->layer, b->error));
    TN_TRY(TN_NEW(b->arena, b->model->layers, &b->made, b->error));
    TN_TRY(use_weights(b));
    TN_TRY(add_forward(b));
    TN_TRY(add_backward(b));
    TN_TRY(tn_builder_updates(b));
    TN_TRY(tn_transformations_apply(tn_transformations, transformations, b));
    TN_TRY(tn_builder_count(b));
    return tn_builder_liveness(b);
}

static tn_status build_step(const tn_model *model, tn_program_cache *cache, uint32_t transformations,
                            uint32_t sort, tn_arena *arena, tn_step *step, tn_error *error) {
    tn_builder b = {
        .model = model, .cache = cache, .arena = arena, .error = error, .step = step, .sort = sort};
    *step = (tn_step){
        .name = model->keys.name,
        .formats = &model->keys.formats,
        .inference = tn_model_is_inference(model),
        .decoding = tn_model_is_decoding(model),
        .least_V = model->keys.dvfs.least_V,
        .retention_us = model->keys.memory.kind == TN_CELL_EDRAM ? model->keys.memory.retention_us : 0,
        .refresh_pJ = model->keys.memory.refresh_pj,
        .retention_given =
            model->keys.memory.kind == TN_CELL_EDRAM && model->keys.memory.retention_at.line != 0,
        .refresh_given = model->keys.memory.kind == TN_CELL_EDRAM && model->keys.memory.refresh_at.line != 0,
        .optimizer = (tn_optimizer)model->keys.optimizer,
        .batch = model->keys.batch,
        .sequence = model->keys.sequence,
        .element_bytes = tn_ceil_div(tn_number_format_word_bits(&model->keys.formats.accumulate), 8),
        .steps_per_epoch = tn_ceil_div(model->keys.examples, model->keys.batch),
        .layers = model->layers};
    return tn_fail_placed(error, build(&b, transformations), model->root->position);
}

tn_status tn_step_build_part(const tn_model *model, tn_program_cache *cache, uint32_t transformations,
                             tn_arena *arena, tn_step *step, tn_error *error) {
    return build_step(model, cache, transformations, TN_SORT_MEAN, arena, step, error);
}

tn_status tn_step_build_sort(const tn_model *model, tn_program_cache *cache, uint32_t sort, tn_arena *arena,
                             tn_step *step, tn_error *error) {
    return build_step(model, cache, UINT32_MAX, tn_step_sorts(model) > 1 ? sort : TN_SORT_MEAN, arena, step,
                      error);
}

tn_status tn_step_build(const tn_model *model, tn_program_cache *cache, tn_arena *arena, tn_step *step,
                        tn_error *error) {
    return tn_step_build_part(model, cache, UINT32_MAX, arena, step, error);
}
