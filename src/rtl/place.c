#include "rtl/place.h"

#include "rtl/access.h"

#include <inttypes.h>
#include <string.h>

/* ---- layouts ---- */

tn_status tn_rtl_tensor_layout(const tn_program *program, const tn_program_tensor *tensor,
                               const tn_tensor_layout *found, const char *name, tn_bank_layout *layout,
                               tn_error *error) {
    *layout = (tn_bank_layout){.axes = tensor->indices.count, .forms = 1, .banks = {found->banks}};
    if (layout->axes > TN_BANK_LAYOUT_AXES)
        return tn_fail(error, TN_INPUT, "%s has %" PRIu32 " axes; layouts of hardware have at most %d", name,
                       layout->axes, TN_BANK_LAYOUT_AXES);
    if (layout->axes == 0) {
        layout->axes = 1;
        layout->dims[0] = layout->word[0] = layout->skew[0][0] = 1;
        layout->divide[0] = found->banks;
    }
    for (uint32_t k = 0; k < tensor->indices.count; k++) {
        uint32_t index = tensor->indices.index[k];
        layout->dims[k] = program->index_size[index];
        layout->word[k] = layout->divide[k] = 1;
        layout->skew[0][k] = 0;
        for (uint32_t i = 0; i < found->axes; i++) {
            const tn_layout_axis *axis = &found->axis[i];
            if (axis->index != index) continue;
            layout->word[k] = axis->edge;
            layout->skew[0][k] = axis->skew;
            layout->divide[k] = axis->divide;
            layout->turn[k] = axis->turn;
        }
    }
    return TN_OK;
}

tn_rtl_cut tn_rtl_cut_of(const tn_product_layout *product, int group) {
    const tn_group_cut *source = &product->cut[group];
    tn_rtl_cut cut = {{TN_RTL_NONE, TN_RTL_NONE}, {1, 1}};
    for (uint32_t k = 0; k < source->indices; k++) {
        cut.index[k] = source->index[k];
        cut.edge[k] = source->edge[k];
    }
    return cut;
}

/* ---- lives ---- */

/* Of an array: the first and the last operation that it must be there for. */
typedef struct {
    uint32_t first, last;
    uint64_t depth; /* words that it takes of every bank */
    bool lives, placed;
} life;

static const uint32_t END = UINT32_MAX;

typedef struct {
    tn_rtl_design *design;
    const tn_rtl_placing *how;
    tn_rtl_array *array;
    tn_rtl_memory *memory;
    life *life; /* [arrays] */
    tn_error *error;
} placer;

static uint32_t stored(const tn_rtl_design *design, uint32_t array) {
    return design->array[array].view_of ? design->array[array].view_of - 1 : array;
}

/* The storages that an operation reads at once. */
static uint32_t operands_of(const tn_rtl_design *design, const tn_rtl_operation *operation,
                            uint32_t list[TN_RTL_READS]) {
    uint32_t count = tn_rtl_reads(operation, list);
    for (uint32_t i = 0; i < count; i++) list[i] = stored(design, list[i]);
    return count;
}

static void touch(placer *placement, uint32_t array, uint32_t operation, bool reads) {
    life *lifetime = &placement->life[array];
    if (!lifetime->lives) {
        *lifetime = (life){.first = reads ? 0 : operation, .last = reads ? END : operation, .lives = true};
    } else if (operation > lifetime->last) {
        lifetime->last = operation;
    }
}

/* What is read before anything writes it is there from the beginning, and again when the program runs again; what is not
 * read behind its last write is a result. A price knows both. */
static void find_lives(placer *placement) {
    const tn_rtl_design *design = placement->design;
    for (uint32_t i = 0; i < design->operations; i++) {
        const tn_rtl_operation *operation = &design->operation[i];
        uint32_t list[TN_RTL_READS], count = operands_of(design, operation, list);
        for (uint32_t k = 0; k < count; k++) touch(placement, list[k], i, true);
        if (tn_rtl_writes(operation)) touch(placement, stored(design, operation->result), i, false);
    }
    for (uint32_t i = 0; i < design->operations && !placement->how->priced; i++) {
        const tn_rtl_operation *operation = &design->operation[i];
        life *lifetime = &placement->life[stored(design, operation->result)];
        if (tn_rtl_writes(operation) && lifetime->last == i) lifetime->last = END;
    }
}

static bool meet(const life *a, const life *b) {
    return a->lives && b->lives && a->first <= b->last && b->first <= a->last;
}

/* ---- places ---- */

/* Of a row of the price's memory an array of fewer elements takes the first ones. */
static bool has_form(const tn_rtl_memory *memory, const tn_rtl_strides *strides) {
    if (memory->of_price)
        return memory->banks % strides->banks == 0 &&
               strides->banks * strides->elements <= memory->banks * memory->word;
    return memory->word == strides->elements && memory->banks == strides->banks &&
           (memory->second ? memory->second : 1) == strides->banks / strides->first;
}

/* Memories that the array may not lie in: those of placed arrays that some operation reads beside it. */
static void find_taken(const placer *placement, uint32_t array, bool *taken) {
    const tn_rtl_design *design = placement->design;
    memset(taken, 0, TN_RTL_MEMORIES_MOST * sizeof *taken);
    for (uint32_t i = 0; i < design->operations; i++) {
        uint32_t list[TN_RTL_READS], count = operands_of(design, &design->operation[i], list);
        bool reads = false;
        for (uint32_t k = 0; k < count; k++) reads = reads || list[k] == array;
        for (uint32_t k = 0; k < count && reads; k++)
            if (list[k] != array && placement->life[list[k]].placed)
                taken[placement->array[list[k]].memory] = true;
    }
}

/* The first words of the memory that are free while the array lives; words that none holds lie behind all others. */
static uint64_t free_base(const placer *placement, uint32_t memory, uint32_t array) {
    const life *mine = &placement->life[array];
    uint64_t base = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t a = 0; a < placement->design->arrays; a++) {
            const life *other = &placement->life[a];
            if (!other->placed || placement->array[a].memory != memory || !meet(mine, other)) continue;
            const uint64_t end = placement->array[a].base + other->depth;
            if (base >= end || placement->array[a].base >= base + mine->depth) continue;
            base = end;
            moved = true;
        }
    }
    return base;
}

static tn_status place_array(placer *placement, uint32_t a) {
    const tn_rtl_strides strides = tn_rtl_strides_of(&placement->array[a].layout);
    tn_rtl_design *design = placement->design;
    tn_rtl_array *array = &placement->array[a];
    bool taken[TN_RTL_MEMORIES_MOST];
    uint32_t m = 0;
    find_taken(placement, a, taken);
    for (; m < design->memories; m++) {
        if (taken[m] || !has_form(&placement->memory[m], &strides)) continue;
        array->base = free_base(placement, m, a);
        if (!placement->memory[m].of_price || array->base + strides.depth <= placement->memory[m].depth)
            break;
    }
    if (m == TN_RTL_MEMORIES_MOST)
        return tn_fail(placement->error, TN_INPUT, "more than %d memories are wanted", TN_RTL_MEMORIES_MOST);
    if (m == design->memories) {
        placement->memory[m] = (tn_rtl_memory){.holds = array->name,
                                               .banks = strides.banks,
                                               .second = strides.banks / strides.first,
                                               .word = strides.elements,
                                               .style = placement->how->style};
        array->base = 0;
        design->memories++;
    }
    array->memory = m;
    if (array->base + strides.depth > placement->memory[m].depth)
        placement->memory[m].depth = array->base + strides.depth;
    placement->life[a].placed = true;
    return TN_OK;
}

/* ---- the price's places ---- */

static tn_status take_memories(placer *placement) {
    const tn_handover *priced = placement->how->priced;
    if (priced->memories > TN_RTL_MEMORIES_MOST)
        return tn_fail(placement->error, TN_INPUT, "%" PRIu32 " memories; the templates take at most %d",
                       priced->memories, TN_RTL_MEMORIES_MOST);
    for (uint32_t m = 0; m < priced->memories; m++) {
        const tn_handed_memory *source = &priced->memory[m];
        placement->memory[m] = (tn_rtl_memory){.holds = source->holds,
                                               .of_price = true,
                                               .banks = source->banks,
                                               .word = source->row_elements / source->banks,
                                               .depth = source->depth,
                                               .style = source->style};
    }
    placement->design->memories = priced->memories;
    return TN_OK;
}

static tn_status take_place(placer *placement, const tn_handed_array *source, uint32_t a) {
    tn_rtl_array *array = &placement->array[a];
    const tn_rtl_strides strides = tn_rtl_strides_of(&array->layout);
    if (source->memory == TN_HANDED_NONE || !has_form(&placement->memory[source->memory], &strides))
        return tn_fail(placement->error, TN_INPUT,
                       "%s lies in words that its memory has not; no template builds that", array->name);
    if (placement->life[a].depth > source->rows)
        return tn_fail(placement->error, TN_INPUT,
                       "%s takes %" PRIu64 " rows of its memory, and is priced for %" PRIu64, array->name,
                       placement->life[a].depth, source->rows);
    array->memory = source->memory;
    array->base = source->offset;
    placement->life[a].placed = true;
    return TN_OK;
}

static tn_status take_places(placer *placement) {
    const tn_handover *priced = placement->how->priced;
    TN_TRY(take_memories(placement));
    for (uint32_t i = 0; i < priced->arrays; i++)
        if (placement->how->array_of[i] != TN_RTL_NONE)
            TN_TRY(take_place(placement, &priced->array[i], placement->how->array_of[i]));
    return TN_OK;
}

/* No two arrays in one place while both are wanted. */
static tn_status check_lives(const placer *placement) {
    for (uint32_t a = 0; a < placement->design->arrays; a++)
        for (uint32_t b = 0; b < a && placement->life[a].placed; b++) {
            const tn_rtl_array *one = &placement->array[a], *other = &placement->array[b];
            if (!placement->life[b].placed || one->memory != other->memory ||
                one->base >= other->base + placement->life[b].depth ||
                other->base >= one->base + placement->life[a].depth ||
                !meet(&placement->life[a], &placement->life[b]))
                continue;
            return tn_fail(placement->error, TN_INPUT, "%s and %s lie in one place, and are wanted at once",
                           other->name, one->name);
        }
    return TN_OK;
}

tn_status tn_rtl_place_arrays(tn_rtl_design *design, tn_rtl_array *array, const tn_rtl_placing *how,
                              tn_arena *arena, tn_error *error) {
    placer placement = {.design = design, .how = how, .array = array, .error = error};
    TN_TRY(TN_NEW(arena, TN_RTL_MEMORIES_MOST, &placement.memory, error));
    TN_TRY(TN_NEW(arena, design->arrays, &placement.life, error));
    design->memory = placement.memory;
    find_lives(&placement);
    for (uint32_t a = 0; a < design->arrays; a++)
        placement.life[a].depth = tn_rtl_strides_of(&array[a].layout).depth;
    if (how->priced) TN_TRY(take_places(&placement));
    for (uint32_t a = 0; a < design->arrays; a++)
        if (!array[a].view_of && !placement.life[a].placed) TN_TRY(place_array(&placement, a));
    TN_TRY(check_lives(&placement));
    for (uint32_t a = 0; a < design->arrays; a++) {
        if (!array[a].view_of) continue;
        array[a].memory = array[array[a].view_of - 1].memory;
        array[a].base = array[array[a].view_of - 1].base;
    }
    for (uint32_t m = 0; m < design->memories; m++)
        if (placement.memory[m].style == TN_STYLE_SHALLOW)
            placement.memory[m].style =
                placement.memory[m].depth <= TN_LUT_WORDS ? TN_STYLE_DISTRIBUTED : TN_STYLE_AUTO;
    for (uint32_t m = 0; m < design->memories; m++)
        if (placement.memory[m].style == TN_STYLE_AUTO)
            placement.memory[m].style =
                tn_memory_style_auto(TN_RTL_ELEMENT_BITS * placement.memory[m].word,
                                     placement.memory[m].depth, how->lutram_bits_most);
    return TN_OK;
}
