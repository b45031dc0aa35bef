#include "design/array_layout.h"

#include "base/checked.h"
#include "price/plan.h"

#include <inttypes.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    const tn_workload *workload;
    const tn_plan *plan;
    const tn_laid *laid;
    tn_arena *arena;
    tn_error *error;
    tn_array_layout *layout; /* [step->arrays] */
} teller;

/* Axes of a layout that is being told. */
typedef struct {
    const char **axis;
    uint64_t *size, *word, *skew, *divide, *turn;
} axes;

static tn_status make_axes(const teller *report, tn_array_layout *layout, uint32_t count, axes *made) {
    uint64_t *numbers;
    TN_TRY(TN_NEW(report->arena, count, &made->axis, report->error));
    TN_TRY(TN_NEW(report->arena, (size_t)count * 5, &numbers, report->error));
    made->size = numbers;
    made->word = numbers + count;
    made->skew = numbers + 2 * (size_t)count;
    made->divide = numbers + 3 * (size_t)count;
    made->turn = numbers + 4 * (size_t)count;
    layout->axes = count;
    layout->axis = made->axis;
    layout->size = made->size;
    layout->word = made->word;
    layout->skew = made->skew;
    layout->divide = made->divide;
    layout->turn = made->turn;
    return TN_OK;
}

static uint64_t rows_of_slice(const tn_array_layout *layout) {
    uint64_t rows = 1;
    for (uint32_t k = 0; k < layout->axes; k++)
        rows *= tn_ceil_div(tn_ceil_div(layout->size[k], layout->word[k]), layout->divide[k]);
    return rows;
}

static tn_status measure(const teller *report, tn_array_layout *layout) {
    uint64_t element_words = 1;
    layout->words = layout->slices;
    for (uint32_t k = 0; k < layout->axes; k++) {
        element_words *= layout->word[k];
        if (!tn_mul(layout->words, tn_ceil_div(layout->size[k], layout->word[k]), &layout->words))
            return tn_fail(report->error, TN_OVERFLOW, "the words of %s do not fit 64 bits", layout->name);
    }
    layout->row_elements = layout->banks * element_words;
    if (!tn_mul(layout->words, element_words, &layout->padded_elements) ||
        !tn_mul(rows_of_slice(layout), layout->slices, &layout->depth))
        return tn_fail(report->error, TN_OVERFLOW, "the padded elements of %s do not fit 64 bits",
                       layout->name);
    return TN_OK;
}

/* ---- ways to lie ---- */

static tn_status tell_tensor(const teller *report, const tn_tensor_layout *tensor, uint64_t slices,
                             tn_array_layout *layout) {
    axes made;
    TN_TRY(make_axes(report, layout, tensor->axes, &made));
    for (uint32_t k = 0; k < tensor->axes; k++) {
        const tn_layout_axis *axis = &tensor->axis[k];
        TN_TRY(tn_arena_format(report->arena, &made.axis[k], report->error, "i%" PRIu32, axis->index));
        made.size[k] = axis->size;
        made.word[k] = axis->edge;
        made.skew[k] = axis->skew;
        made.divide[k] = axis->divide;
        made.turn[k] = axis->turn;
    }
    layout->banks = tensor->banks;
    layout->slices = slices;
    return measure(report, layout);
}

/* Heads of scores lie one behind the other. */
static tn_status tell_matrix(const teller *report, const tn_shared_words *words, uint64_t heads,
                             uint64_t rows, uint64_t columns, tn_array_layout *layout) {
    axes made;
    TN_TRY(make_axes(report, layout, 2, &made));
    made.axis[0] = "row";
    made.axis[1] = "column";
    made.size[0] = rows;
    made.size[1] = columns;
    made.word[0] = UINT64_C(1) << words->token_log;
    made.word[1] = UINT64_C(1) << words->feature_log;
    layout->banks = UINT64_C(1) << words->bank_log;
    made.skew[0] = 1 % layout->banks;
    made.skew[1] = words->apart % layout->banks;
    made.divide[0] = layout->banks >> words->divide_log;
    made.divide[1] = UINT64_C(1) << words->divide_log;
    made.turn[1] = words->turn_log ? UINT64_C(1) << words->turn_log : 0;
    layout->slices = heads;
    return measure(report, layout);
}

static tn_status tell_elements(const teller *report, uint64_t elements, uint64_t row,
                               tn_array_layout *layout) {
    axes made;
    TN_TRY(make_axes(report, layout, 1, &made));
    made.axis[0] = "element";
    made.size[0] = elements;
    made.word[0] = row;
    made.divide[0] = 1;
    layout->banks = layout->slices = 1;
    return measure(report, layout);
}

static tn_status tell_layer(const teller *report, uint32_t layer) {
    const tn_laid_arrays *arrays = report->workload->laid->arrays;
    const tn_layouts *layouts = report->laid->layer[layer];
    for (uint32_t t = 0; layouts && t < layouts->tensors; t++) {
        uint32_t array = arrays->of_tensor[layer][t];
        if (array == NONE || report->layout[array].axes || report->layout[array].memory == NONE) continue;
        if (tn_laid_words_of(report->laid, array)->is_matrix) continue;
        TN_TRY(tell_tensor(report, &layouts->tensor[t],
                           tn_laid_slices(arrays, report->workload->step, layer, t), &report->layout[array]));
    }
    return TN_OK;
}

/* A part of a gradient, what was cut out for it and its state lie as the whole, as far as they go. */
static tn_status tell_part(const teller *report, uint32_t array) {
    const tn_laid_part *part = &report->workload->laid->arrays->part[array];
    tn_tensor_layout layout;
    if (!part->partial || report->layout[array].memory == NONE) return TN_OK;
    TN_TRY(tn_partial_layout(&report->laid->layer[part->layer]->tensor[part->partial->tensor], part->partial,
                             report->arena, &layout, report->error));
    return tell_tensor(report, &layout, part->times, &report->layout[array]);
}

/* An optimizer's state lies as its parameter. */
static tn_status tell_states(const teller *report) {
    const tn_step *step = report->workload->step;
    const tn_laid_arrays *arrays = report->workload->laid->arrays;
    for (uint32_t i = 0; i < arrays->updates; i++) {
        const tn_operation *update = &step->operation[arrays->update[i]];
        const tn_array_layout *parameter = &report->layout[update->reads[0]];
        for (uint32_t k = 2; parameter->axes && k < update->read_count; k++) {
            tn_array_layout *layout = &report->layout[update->reads[k]];
            const char *name = layout->name;
            uint32_t memory = layout->memory;
            if (layout->axes || memory == NONE) continue;
            *layout = *parameter;
            layout->name = name;
            layout->memory = memory;
            TN_TRY(measure(report, layout));
        }
    }
    return TN_OK;
}

static tn_status tell_rest(const teller *report) {
    const tn_step *step = report->workload->step;
    for (uint32_t a = 0; a < step->arrays; a++) {
        tn_array_layout *layout = &report->layout[a];
        if (layout->axes || layout->memory == NONE) continue;
        const tn_laid_words *words = tn_laid_words_of(report->laid, a);
        uint64_t columns = report->workload->laid->arrays->columns[a], elements = step->array[a].elements,
                 heads = report->workload->laid->arrays->heads[a];
        if (words->is_matrix)
            TN_TRY(tell_matrix(report, &words->shared, heads, elements / columns / heads, columns, layout));
        else
            TN_TRY(tell_elements(report, elements, report->laid->memory[layout->memory].elements, layout));
    }
    return TN_OK;
}

/* ---- uses ---- */

static uint64_t slowest(const uint64_t *cycles) {
    uint64_t most = 0;
    for (int kind = 0; kind < TN_BLOCK_KINDS; kind++)
        if (cycles[kind] > most) most = cycles[kind];
    return most;
}

/* Calls for each operand of each product that has layouts; the first time to count. */
static void list_uses(const teller *report, tn_array_use **use) {
    static const char *const sides[] = {"left", "right", "result"};
    const tn_step *step = report->workload->step;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        const tn_layouts *layouts = report->laid->layer[operation->layer];
        if (operation->kind != TN_OP_PRODUCT || !operation->program_step || !layouts) continue;
        const tn_product_layout *product =
            &layouts->product[operation->program_step - step->layer[operation->layer].program->step];
        const uint32_t array[] = {operation->reads[0], operation->reads[1], operation->writes[0]};
        const uint64_t *cycles[] = {product->issued.left, product->issued.right, product->issued.result};
        for (int side = 0; side < 3; side++) {
            tn_array_layout *layout = &report->layout[array[side]];
            if (layout->memory == NONE) continue;
            if (use)
                use[array[side]][layout->uses] =
                    (tn_array_use){.layer = step->layer[operation->layer].name,
                                   .phase = tn_phase_names[operation->phase],
                                   .operand = sides[side],
                                   .blocks = product->tiles * (side < 2 ? product->terms : 1),
                                   .block_cycles = slowest(cycles[side])};
            layout->uses++;
        }
    }
}

static tn_status tell_uses(const teller *report) {
    uint32_t arrays = report->workload->step->arrays;
    tn_array_use **use;
    TN_TRY(TN_NEW(report->arena, arrays, &use, report->error));
    list_uses(report, NULL);
    for (uint32_t a = 0; a < arrays; a++) {
        TN_TRY(tn_arena_alloc(report->arena, report->layout[a].uses, sizeof **use, &use[a], report->error));
        report->layout[a].use = use[a];
        report->layout[a].uses = 0;
    }
    list_uses(report, use);
    return TN_OK;
}

tn_status tn_array_layouts_tell(const tn_workload *workload, const tn_plan *plan, tn_arena *arena,
                                const tn_array_layout **layout, tn_error *error) {
    const tn_step *step = workload->step;
    teller report = {.workload = workload, .plan = plan, .laid = plan->laid, .arena = arena, .error = error};
    *layout = NULL;
    if (!report.laid) return TN_OK;
    TN_TRY(TN_NEW(arena, step->arrays, &report.layout, error));
    for (uint32_t a = 0; a < step->arrays; a++) {
        report.layout[a].memory = plan->map.memory_of[a];
        TN_TRY(tn_step_array_name(step, a, arena, &report.layout[a].name, error));
    }
    for (uint32_t a = 0; a < step->arrays; a++) TN_TRY(tell_part(&report, a));
    for (uint32_t l = 0; l < step->layers; l++) TN_TRY(tell_layer(&report, l));
    TN_TRY(tell_states(&report));
    TN_TRY(tell_rest(&report));
    TN_TRY(tell_uses(&report));
    *layout = report.layout;
    return TN_OK;
}
