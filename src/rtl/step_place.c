/* Memories of a step's arrays, and the check that every view finds its elements. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "hardware/bank_layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- memories ---- */

static uint32_t stored(const maker *with, uint32_t array) {
    return with->array[array].view_of ? with->array[array].view_of - 1 : array;
}

/* What an operation reads at once. */
static uint32_t operands_of(const maker *with, const tn_rtl_operation *operation, uint32_t list[3]) {
    const uint32_t all[3] = {operation->left, operation->right, operation->extra};
    uint32_t count = 0;
    for (int i = 0; i < 3; i++)
        if (operation->pass ? operation->pass->reads[i] : i < 2) list[count++] = stored(with, all[i]);
    return count;
}

static bool meets(const maker *with, const tn_rtl_operation *operation, uint32_t a, uint32_t b) {
    uint32_t list[3], count = operands_of(with, operation, list);
    bool has_a = false, has_b = false;
    for (uint32_t i = 0; i < count; i++) {
        has_a = has_a || list[i] == a;
        has_b = has_b || list[i] == b;
    }
    return has_a && has_b;
}

/* Memories that the array may not lie in: those of earlier arrays that some operation reads beside it. */
static void find_taken(const maker *with, uint32_t array, bool *taken) {
    for (uint32_t i = 0; i < with->operations; i++) {
        uint32_t list[3], count = operands_of(with, &with->operation[i], list);
        for (uint32_t k = 0; k < count; k++)
            if (list[k] < array && meets(with, &with->operation[i], array, list[k]))
                taken[with->array[list[k]].memory] = true;
    }
}

tn_status tn_rtl_step_place_arrays(maker *with) {
    enum { MEMORIES_MOST = 16 };
    tn_rtl_memory *memory;
    tn_rtl_design *design = &with->to->design;
    TN_TRY(tn_arena_alloc(with->arena, MEMORIES_MOST, sizeof *memory, &memory, with->error));
    for (uint32_t a = 0; a < with->arrays; a++) {
        tn_rtl_array *array = &with->array[a];
        bool taken[MEMORIES_MOST + 1] = {false};
        if (array->view_of) continue;
        find_taken(with, a, taken);
        array->memory = 0;
        while (array->memory < MEMORIES_MOST && taken[array->memory]) array->memory++;
        if (array->memory == MEMORIES_MOST)
            return tn_fail(with->error, TN_INPUT, "the step wants more than %d memories", MEMORIES_MOST);
        if (array->memory >= design->memories) design->memories = array->memory + 1;
        array->base = memory[array->memory].depth;
        memory[array->memory].depth += tn_rtl_strides_of(&array->layout).depth;
    }
    for (uint32_t m = 0; m < design->memories; m++) {
        memory[m].banks = with->banks;
        memory[m].word = with->word;
        memory[m].style = with->options->style;
        if (memory[m].style == TN_STYLE_AUTO)
            memory[m].style = tn_memory_style_auto(TN_RTL_ELEMENT_BITS * with->word, memory[m].depth,
                                                   with->options->lutram_bits_most);
    }
    for (uint32_t a = 0; a < with->arrays; a++) {
        tn_rtl_array *array = &with->array[a];
        if (!array->view_of) continue;
        array->memory = with->array[array->view_of - 1].memory;
        array->base = with->array[array->view_of - 1].base;
    }
    design->memory = memory;
    return TN_OK;
}

/* Every view must find every element where its storage has it. */
static tn_status check_view(const maker *with, const tn_rtl_array *of, const tn_rtl_array *store) {
    tn_rtl_strides seen = tn_rtl_strides_of(&of->layout), own = tn_rtl_strides_of(&store->layout);
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0}, y[TN_BANK_LAYOUT_AXES] = {0}, elements = 1;
    for (uint32_t k = 0; k < of->layout.axes; k++) elements *= of->layout.dims[k];
    for (uint64_t i = 0; i < elements; i++) {
        tn_rtl_place a = tn_rtl_place_of(&of->layout, &seen, x), b = tn_rtl_place_of(&store->layout, &own, y);
        if (!seen.told || !own.told || a.bank != b.bank || a.word != b.word || a.element != b.element)
            return tn_fail(with->error, TN_INPUT,
                           "%s: words of %" PRIu64
                           " features do not fit all of its uses; no template builds that",
                           store->name, with->word);
        for (uint32_t k = of->layout.axes; k-- > 0;) {
            if (++x[k] < of->layout.dims[k]) break;
            x[k] = 0;
        }
        for (uint32_t k = store->layout.axes; k-- > 0;) {
            if (++y[k] < store->layout.dims[k]) break;
            y[k] = 0;
        }
    }
    return TN_OK;
}

static bool same_shape(const tn_bank_layout *a, const tn_bank_layout *b) {
    return a->axes == b->axes && memcmp(a->dims, b->dims, a->axes * sizeof *a->dims) == 0 &&
           memcmp(a->word, b->word, a->axes * sizeof *a->word) == 0 &&
           memcmp(a->skew[0], b->skew[0], a->axes * sizeof *a->skew[0]) == 0;
}

tn_status tn_rtl_step_check_views(const maker *with) {
    for (uint32_t a = 0; a < with->arrays; a++) {
        const tn_rtl_array *of = &with->array[a];
        if (!of->view_of || same_shape(&of->layout, &with->array[of->view_of - 1].layout)) continue;
        bool known = false; /* an earlier pair of the same shapes */
        for (uint32_t b = 0; b < a && !known; b++)
            known = with->array[b].view_of && same_shape(&with->array[b].layout, &of->layout) &&
                    same_shape(&with->array[with->array[b].view_of - 1].layout,
                               &with->array[of->view_of - 1].layout);
        if (!known) TN_TRY(check_view(with, of, &with->array[of->view_of - 1]));
    }
    return TN_OK;
}
