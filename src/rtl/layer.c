#include "rtl/layer.h"

#include "rtl/access.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MEMORIES_MOST = 64 };

typedef struct {
    const tn_program *program;
    const tn_rtl_layer_options *options;
    bool dense;
    tn_arena *arena;
    tn_error *error;
    tn_rtl_array *array;
    tn_rtl_operation *operation;
    tn_phase *phase;
    tn_rtl_memory *memory;
    tn_rtl_layer *layer;
} maker;

/* ---- layouts ---- */

static tn_rtl_cut cut_of(const maker *with, uint32_t step, int group) {
    const tn_group_cut *from = &with->options->layouts->product[step].cut[group];
    tn_rtl_cut cut = {{TN_RTL_NONE, TN_RTL_NONE}, {1, 1}};
    for (uint32_t k = 0; k < from->indices; k++) {
        cut.index[k] = from->index[k];
        cut.edge[k] = from->edge[k];
    }
    return cut;
}

static tn_status layout_of(maker *with, uint32_t t) {
    const tn_tensor_layout *found = &with->options->layouts->tensor[t];
    const tn_program_tensor *tensor = &with->program->tensor[t];
    tn_rtl_array *array = &with->array[t];
    tn_bank_layout *layout = &array->layout;
    *layout = (tn_bank_layout){.axes = tensor->indices.count, .forms = 1, .banks = {found->banks}};
    if (layout->axes > TN_BANK_LAYOUT_AXES)
        return tn_fail(with->error, TN_INPUT, "%s has %" PRIu32 " axes; layouts of hardware have at most %d",
                       array->name, layout->axes, TN_BANK_LAYOUT_AXES);
    if (layout->axes == 0) {
        layout->axes = 1;
        layout->dims[0] = layout->word[0] = layout->skew[0][0] = 1;
        array->index[0] = TN_RTL_NONE;
    }
    for (uint32_t k = 0; k < tensor->indices.count; k++) {
        array->index[k] = tensor->indices.index[k];
        layout->dims[k] = with->program->index_size[array->index[k]];
        layout->word[k] = 1;
        layout->skew[0][k] = 0;
        for (uint32_t i = 0; i < found->axes; i++) {
            if (found->index[i] != array->index[k]) continue;
            layout->word[k] = found->edge[i];
            layout->skew[0][k] = found->skew[i];
        }
    }
    return TN_OK;
}

/* ---- names ---- */

static tn_status name_array(const maker *with, uint32_t t) {
    const tn_program_tensor *tensor = &with->program->tensor[t];
    const char **name = &with->array[t].name;
    char number[24] = "";
    if (!with->dense) snprintf(number, sizeof number, "%" PRIu32, tensor->core + 1);
    switch (tensor->role) {
    case TN_ROLE_X:
        return tn_arena_format(with->arena, name, with->error, "x");
    case TN_ROLE_Y:
        return tn_arena_format(with->arena, name, with->error, "y");
    case TN_ROLE_DX:
        return tn_arena_format(with->arena, name, with->error, "dx");
    case TN_ROLE_DY:
        return tn_arena_format(with->arena, name, with->error, "dy");
    case TN_ROLE_CORE:
        return tn_arena_format(with->arena, name, with->error, "%s%s", with->dense ? "w" : "core", number);
    case TN_ROLE_CORE_GRADIENT:
        return tn_arena_format(with->arena, name, with->error, "%s%s", with->dense ? "dw" : "dcore", number);
    default:
        return tn_arena_format(with->arena, name, with->error, "t%" PRIu32, t + 1);
    }
}

/* ---- memories ---- */

static bool meets(const tn_rtl_operation *operation, uint32_t a, uint32_t b) {
    return (operation->left == a && operation->right == b) || (operation->left == b && operation->right == a);
}

/* No operation wants the array and another one of the memory at once. */
static bool is_free(const maker *with, uint32_t t, uint32_t memory, uint32_t operations) {
    for (uint32_t other = 0; other < t; other++) {
        if (with->array[other].memory != memory) continue;
        for (uint32_t i = 0; i < operations; i++)
            if (meets(&with->operation[i], t, other)) return false;
    }
    return true;
}

static tn_status place_array(maker *with, uint32_t t, uint32_t operations) {
    tn_rtl_array *array = &with->array[t];
    tn_rtl_strides strides = tn_rtl_strides_of(&array->layout);
    tn_rtl_design *design = &with->layer->design;
    uint32_t m = 0;
    while (m < design->memories &&
           (with->memory[m].banks != strides.banks || with->memory[m].word != strides.elements ||
            with->memory[m].second != strides.banks / strides.first || !is_free(with, t, m, operations)))
        m++;
    if (m == MEMORIES_MOST)
        return tn_fail(with->error, TN_INPUT, "the layer wants more than %d memories", MEMORIES_MOST);
    if (m == design->memories) {
        with->memory[m] = (tn_rtl_memory){.banks = strides.banks,
                                          .second = strides.banks / strides.first,
                                          .word = strides.elements,
                                          .style = with->options->style};
        design->memories++;
    }
    array->memory = m;
    array->base = with->memory[m].depth;
    with->memory[m].depth += strides.depth;
    return TN_OK;
}

static void choose_styles(const maker *with) {
    for (uint32_t m = 0; m < with->layer->design.memories; m++) {
        tn_rtl_memory *memory = &with->memory[m];
        if (memory->style == TN_STYLE_AUTO)
            memory->style = tn_memory_style_auto(TN_RTL_ELEMENT_BITS * memory->word, memory->depth,
                                                 with->options->lutram_bits_most);
    }
}

/* ---- operations ---- */

static tn_status add_products(maker *with, uint32_t *count) {
    for (uint32_t s = 0; s < with->program->steps; s++) {
        const tn_program_step *step = &with->program->step[s];
        with->phase[*count] = step->phase;
        with->operation[(*count)++] = (tn_rtl_operation){.name = with->array[step->out].name,
                                                         .left = step->a,
                                                         .right = step->b,
                                                         .result = step->out,
                                                         .row = cut_of(with, s, 0),
                                                         .column = cut_of(with, s, 1),
                                                         .term = cut_of(with, s, 2)};
    }
    return TN_OK;
}

static tn_status add_updates(maker *with, uint32_t *count) {
    for (uint32_t k = 0; k < with->layer->cores; k++) {
        uint32_t core = with->layer->core[k], gradient = with->layer->core_gradient[k];
        tn_rtl_operation *update = &with->operation[*count];
        if (gradient == TN_RTL_NONE) continue;
        *update = (tn_rtl_operation){.update = true, .left = core, .right = gradient, .result = core};
        TN_TRY(tn_arena_format(with->arena, &update->name, with->error, "update %s", with->array[core].name));
        with->phase[(*count)++] = TN_UPDATE;
    }
    return TN_OK;
}

static tn_status list_roles(maker *with) {
    tn_rtl_layer *layer = with->layer;
    uint32_t *core, *gradient, cores = 0;
    for (uint32_t t = 0; t < with->program->tensors; t++)
        cores += with->program->tensor[t].role == TN_ROLE_CORE;
    TN_TRY(tn_arena_alloc(with->arena, cores, sizeof *core, &core, with->error));
    TN_TRY(tn_arena_alloc(with->arena, cores, sizeof *gradient, &gradient, with->error));
    layer->x = layer->y = layer->dx = layer->dy = TN_RTL_NONE;
    for (uint32_t k = 0; k < cores; k++) gradient[k] = TN_RTL_NONE;
    for (uint32_t t = 0; t < with->program->tensors; t++) {
        const tn_program_tensor *tensor = &with->program->tensor[t];
        if (tensor->role == TN_ROLE_X) layer->x = t;
        if (tensor->role == TN_ROLE_Y) layer->y = t;
        if (tensor->role == TN_ROLE_DX) layer->dx = t;
        if (tensor->role == TN_ROLE_DY) layer->dy = t;
        if (tensor->role == TN_ROLE_CORE) core[tensor->core] = t;
        if (tensor->role == TN_ROLE_CORE_GRADIENT) gradient[tensor->core] = t;
    }
    layer->cores = cores;
    layer->core = core;
    layer->core_gradient = gradient;
    return TN_OK;
}

static tn_status make_room(maker *with) {
    uint32_t tensors = with->program->tensors;
    size_t operations = (size_t)with->program->steps + tensors;
    TN_TRY(tn_arena_alloc(with->arena, tensors, sizeof *with->array, &with->array, with->error));
    TN_TRY(tn_arena_alloc(with->arena, operations, sizeof *with->operation, &with->operation, with->error));
    TN_TRY(tn_arena_alloc(with->arena, operations, sizeof *with->phase, &with->phase, with->error));
    return tn_arena_alloc(with->arena, MEMORIES_MOST, sizeof *with->memory, &with->memory, with->error);
}

tn_status tn_rtl_layer_make(const tn_program *program, bool dense, const tn_rtl_layer_options *options,
                            tn_arena *arena, tn_rtl_layer *layer, tn_error *error) {
    maker with = {.program = program,
                  .options = options,
                  .dense = dense,
                  .arena = arena,
                  .error = error,
                  .layer = layer};
    uint32_t operations = 0;
    *layer = (tn_rtl_layer){0};
    if (program->micro_batches > 1)
        return tn_fail(error, TN_INPUT, "a flow of %" PRIu64 " micro-batches; hardware is generated for one",
                       program->micro_batches);
    TN_TRY(make_room(&with));
    TN_TRY(list_roles(&with));
    for (uint32_t t = 0; t < program->tensors; t++) TN_TRY(name_array(&with, t));
    for (uint32_t t = 0; t < program->tensors; t++) TN_TRY(layout_of(&with, t));
    for (uint32_t k = 0; k < layer->cores && options->update; k++)
        if (layer->core_gradient[k] != TN_RTL_NONE)
            with.array[layer->core_gradient[k]].layout = with.array[layer->core[k]].layout;
    TN_TRY(add_products(&with, &operations));
    if (options->update) TN_TRY(add_updates(&with, &operations));
    for (uint32_t t = 0; t < program->tensors; t++) TN_TRY(place_array(&with, t, operations));
    choose_styles(&with);
    layer->phase = with.phase;
    layer->design.rows = options->rows;
    layer->design.columns = options->columns;
    layer->design.terms = options->terms;
    layer->design.vector = options->vector;
    layer->design.multiply_cycles = options->multiply_cycles;
    layer->design.add_cycles = options->add_cycles;
    layer->design.rate = options->rate;
    layer->design.arrays = program->tensors;
    layer->design.operations = operations;
    layer->design.memory = with.memory;
    layer->design.array = with.array;
    layer->design.operation = with.operation;
    return tn_rtl_design_check(&layer->design, error);
}
