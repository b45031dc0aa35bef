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
    uint64_t *size, *word, *skew, *divide;
} axes;

static tn_status make_axes(const teller *with, tn_array_layout *of, uint32_t count, axes *made) {
    uint64_t *numbers;
    TN_TRY(TN_NEW(with->arena, count, &made->axis, with->error));
    TN_TRY(TN_NEW(with->arena, (size_t)count * 4, &numbers, with->error));
    made->size = numbers;
    made->word = numbers + count;
    made->skew = numbers + 2 * (size_t)count;
    made->divide = numbers + 3 * (size_t)count;
    of->axes = count;
    of->axis = made->axis;
    of->size = made->size;
    of->word = made->word;
    of->skew = made->skew;
    of->divide = made->divide;
    return TN_OK;
}

static uint64_t rows_of_slice(const tn_array_layout *of) {
    uint64_t rows = 1;
    for (uint32_t k = 0; k < of->axes; k++)
        rows *= tn_ceil_div(tn_ceil_div(of->size[k], of->word[k]), of->divide[k]);
    return rows;
}

static tn_status measure(const teller *with, tn_array_layout *of) {
    uint64_t element_words = 1;
    of->words = of->slices;
    for (uint32_t k = 0; k < of->axes; k++) {
        element_words *= of->word[k];
        if (!tn_mul(of->words, tn_ceil_div(of->size[k], of->word[k]), &of->words))
            return tn_fail(with->error, TN_OVERFLOW, "the words of %s do not fit 64 bits", of->name);
    }
    of->row_elements = of->banks * element_words;
    if (!tn_mul(of->words, element_words, &of->padded_elements) ||
        !tn_mul(rows_of_slice(of), of->slices, &of->depth))
        return tn_fail(with->error, TN_OVERFLOW, "the padded elements of %s do not fit 64 bits", of->name);
    return TN_OK;
}

/* ---- ways to lie ---- */

static tn_status tell_tensor(const teller *with, const tn_tensor_layout *tensor, uint64_t slices,
                             tn_array_layout *of) {
    axes made;
    TN_TRY(make_axes(with, of, tensor->axes, &made));
    for (uint32_t k = 0; k < tensor->axes; k++) {
        TN_TRY(tn_arena_format(with->arena, &made.axis[k], with->error, "i%" PRIu32, tensor->index[k]));
        made.size[k] = tensor->size[k];
        made.word[k] = tensor->edge[k];
        made.skew[k] = tensor->skew[k];
        made.divide[k] = tensor->divide[k];
    }
    of->banks = tensor->banks;
    of->slices = slices;
    return measure(with, of);
}

/* Words that share a row are the next ones of a row of the matrix, or of a column where that takes fewer rows; with
 * skews apart by more than one, of both. Heads of scores lie one behind the other. */
static tn_status tell_matrix(const teller *with, const tn_shared_words *words, uint64_t heads, uint64_t rows,
                             uint64_t columns, tn_array_layout *of) {
    axes made;
    TN_TRY(make_axes(with, of, 2, &made));
    made.axis[0] = "row";
    made.axis[1] = "column";
    made.size[0] = rows;
    made.size[1] = columns;
    made.word[0] = UINT64_C(1) << words->token_log;
    made.word[1] = UINT64_C(1) << words->feature_log;
    of->banks = UINT64_C(1) << words->bank_log;
    made.skew[0] = 1 % of->banks;
    made.skew[1] = words->apart % of->banks;
    made.divide[0] = tn_least(words->apart, of->banks);
    made.divide[1] = of->banks / made.divide[0];
    uint64_t along_row = rows_of_slice(of);
    if (words->apart == 1) {
        made.divide[0] = of->banks;
        made.divide[1] = 1;
        if (along_row <= rows_of_slice(of)) made.divide[0] = 1, made.divide[1] = of->banks;
    }
    of->slices = heads;
    return measure(with, of);
}

static tn_status tell_elements(const teller *with, uint64_t elements, uint64_t row, tn_array_layout *of) {
    axes made;
    TN_TRY(make_axes(with, of, 1, &made));
    made.axis[0] = "element";
    made.size[0] = elements;
    made.word[0] = row;
    made.divide[0] = 1;
    of->banks = of->slices = 1;
    return measure(with, of);
}

static tn_status tell_layer(const teller *with, uint32_t layer) {
    const tn_laid_arrays *arrays = with->workload->laid->arrays;
    const tn_layouts *layouts = with->laid->layer[layer];
    for (uint32_t t = 0; layouts && t < layouts->tensors; t++) {
        uint32_t array = arrays->of_tensor[layer][t];
        if (array == NONE || with->layout[array].axes || with->layout[array].memory == NONE) continue;
        if (with->laid->words[array].is_matrix) continue;
        TN_TRY(tell_tensor(with, &layouts->tensor[t], tn_laid_slices(arrays, with->workload->step, layer, t),
                           &with->layout[array]));
    }
    return TN_OK;
}

/* A part of a gradient, what was cut out for it and its state lie as the whole, as far as they go. */
static tn_status tell_part(const teller *with, uint32_t array) {
    const tn_laid_part *part = &with->workload->laid->arrays->part[array];
    tn_tensor_layout layout;
    if (!part->of || with->layout[array].memory == NONE) return TN_OK;
    tn_partial_layout(&with->laid->layer[part->layer]->tensor[part->of->tensor], part->of, &layout);
    return tell_tensor(with, &layout, part->times, &with->layout[array]);
}

/* An optimizer's state lies as its parameter. */
static tn_status tell_states(const teller *with) {
    const tn_step *step = with->workload->step;
    const tn_laid_arrays *arrays = with->workload->laid->arrays;
    for (uint32_t i = 0; i < arrays->updates; i++) {
        const tn_operation *update = &step->operation[arrays->update[i]];
        const tn_array_layout *parameter = &with->layout[update->reads[0]];
        for (uint32_t k = 2; parameter->axes && k < update->read_count; k++) {
            tn_array_layout *of = &with->layout[update->reads[k]];
            const char *name = of->name;
            uint32_t memory = of->memory;
            if (of->axes || memory == NONE) continue;
            *of = *parameter;
            of->name = name;
            of->memory = memory;
            of->slices *= step->array[update->reads[k]].elements / step->array[update->reads[0]].elements;
            TN_TRY(measure(with, of));
        }
    }
    return TN_OK;
}

static tn_status tell_rest(const teller *with) {
    const tn_step *step = with->workload->step;
    for (uint32_t a = 0; a < step->arrays; a++) {
        tn_array_layout *of = &with->layout[a];
        if (of->axes || of->memory == NONE) continue;
        const tn_laid_words *words = &with->laid->words[a];
        uint64_t columns = with->workload->laid->arrays->columns[a], elements = step->array[a].elements,
                 heads = with->workload->laid->arrays->heads[a];
        if (words->is_matrix)
            TN_TRY(tell_matrix(with, &words->of, heads, elements / columns / heads, columns, of));
        else
            TN_TRY(tell_elements(with, elements, with->laid->memory[of->memory].elements, of));
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
static void list_uses(const teller *with, tn_array_use **use) {
    static const char *const sides[] = {"left", "right", "result"};
    const tn_step *step = with->workload->step;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *of = &step->operation[i];
        const tn_layouts *layouts = with->laid->layer[of->layer];
        if (of->kind != TN_OP_PRODUCT || !of->program_step || !layouts) continue;
        const tn_product_layout *product =
            &layouts->product[of->program_step - step->layer[of->layer].program->step];
        const uint32_t array[] = {of->reads[0], of->reads[1], of->writes[0]};
        const uint64_t *cycles[] = {product->issued.left, product->issued.right, product->issued.result};
        for (int side = 0; side < 3; side++) {
            tn_array_layout *layout = &with->layout[array[side]];
            if (layout->memory == NONE) continue;
            if (use)
                use[array[side]][layout->uses] =
                    (tn_array_use){.layer = step->layer[of->layer].name,
                                   .phase = tn_phase_names[of->phase],
                                   .as = sides[side],
                                   .blocks = product->tiles * (side < 2 ? product->terms : 1),
                                   .block_cycles = slowest(cycles[side])};
            layout->uses++;
        }
    }
}

static tn_status tell_uses(const teller *with) {
    uint32_t arrays = with->workload->step->arrays;
    tn_array_use **use;
    TN_TRY(TN_NEW(with->arena, arrays, &use, with->error));
    list_uses(with, NULL);
    for (uint32_t a = 0; a < arrays; a++) {
        TN_TRY(tn_arena_alloc(with->arena, with->layout[a].uses, sizeof **use, &use[a], with->error));
        with->layout[a].use = use[a];
        with->layout[a].uses = 0;
    }
    list_uses(with, use);
    return TN_OK;
}

tn_status tn_array_layouts_tell(const tn_workload *workload, const tn_plan *plan, tn_arena *arena,
                                const tn_array_layout **layout, tn_error *error) {
    const tn_step *step = workload->step;
    teller with = {.workload = workload, .plan = plan, .laid = plan->laid, .arena = arena, .error = error};
    *layout = NULL;
    if (!with.laid) return TN_OK;
    TN_TRY(TN_NEW(arena, step->arrays, &with.layout, error));
    for (uint32_t a = 0; a < step->arrays; a++) {
        with.layout[a].memory = plan->map.memory_of[a];
        TN_TRY(tn_step_array_name(step, a, arena, &with.layout[a].name, error));
    }
    for (uint32_t a = 0; a < step->arrays; a++) TN_TRY(tell_part(&with, a));
    for (uint32_t l = 0; l < step->layers; l++) TN_TRY(tell_layer(&with, l));
    TN_TRY(tell_states(&with));
    TN_TRY(tell_rest(&with));
    TN_TRY(tell_uses(&with));
    *layout = with.layout;
    return TN_OK;
}
