#include "rtl/design.h"

#include "kernel/array_kernel.h"
#include "rtl/access.h"

#include <inttypes.h>
#include <string.h>

static bool is_power(uint64_t value) {
    return value > 0 && (value & (value - 1)) == 0;
}

uint32_t tn_rtl_axis_of(const tn_rtl_array *array, uint32_t index) {
    for (uint32_t k = 0; k < array->layout.axes; k++)
        if (index != TN_RTL_NONE && array->index[k] == index) return k;
    return TN_RTL_NONE;
}

bool tn_rtl_is_cut(const tn_rtl_cut *cut, uint32_t index) {
    return index != TN_RTL_NONE && (cut->index[0] == index || cut->index[1] == index);
}

void tn_rtl_edges(const tn_rtl_design *design, const tn_rtl_operation *operation, uint64_t edge[3]) {
    tn_array_edges(design->rows, design->columns, operation->array, edge);
    if (!design->systolic) edge[2] = design->terms;
}

static tn_status check_array(const tn_rtl_design *design, const tn_rtl_array *array, tn_error *error) {
    const tn_bank_layout *layout = &array->layout;
    const tn_rtl_memory *memory = &design->memory[array->memory];
    bool powers = layout->forms <= 2;
    for (uint32_t k = 0; k < layout->forms && powers; k++) powers = is_power(layout->banks[k]);
    for (uint32_t k = 0; k < layout->axes; k++) powers = powers && is_power(layout->word[k]);
    if (!powers)
        return tn_fail(
            error, TN_INPUT,
            "%s: words and banks of generated hardware are powers of two, banks in at most two forms",
            array->name);
    tn_rtl_strides strides = tn_rtl_strides_of(layout);
    if (strides.banks > TN_RTL_BANKS_MOST)
        return tn_fail(error, TN_INPUT, "%s: %" PRIu64 " banks; the templates take at most %d", array->name,
                       strides.banks, TN_RTL_BANKS_MOST);
    if (!strides.told)
        return tn_fail(error, TN_INPUT, "%s: under its skews no axes tell its banks apart", array->name);
    if (memory->banks % strides.banks != 0 || strides.banks * strides.elements > memory->banks * memory->word)
        return tn_fail(error, TN_INPUT, "%s: its layout has other banks or words than its memory",
                       array->name);
    if (array->base > memory->depth || strides.depth > memory->depth - array->base)
        return tn_fail(error, TN_INPUT,
                       "%s: words %" PRIu64 " to %" PRIu64 " lie beyond its memory of %" PRIu64, array->name,
                       array->base, array->base + strides.depth, memory->depth);
    return TN_OK;
}

static tn_status check_memory(const tn_rtl_memory *memory, uint32_t number, tn_error *error) {
    if (memory->depth <= UINT64_C(1) << TN_RTL_ADDRESS_BITS_MOST) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   "memory %" PRIu32 " holds %" PRIu64
                   " words of each bank; addresses have at most %d bits, so let words or banks be wider",
                   number, memory->depth, TN_RTL_ADDRESS_BITS_MOST);
}

static bool same_layout(const tn_bank_layout *a, const tn_bank_layout *b) {
    bool same = a->axes == b->axes && a->forms == b->forms &&
                memcmp(a->dims, b->dims, a->axes * sizeof *a->dims) == 0 &&
                memcmp(a->word, b->word, a->axes * sizeof *a->word) == 0 &&
                memcmp(a->divide, b->divide, a->axes * sizeof *a->divide) == 0 &&
                memcmp(a->turn, b->turn, a->axes * sizeof *a->turn) == 0;
    for (uint32_t k = 0; same && k < a->forms; k++)
        same =
            a->banks[k] == b->banks[k] && memcmp(a->skew[k], b->skew[k], a->axes * sizeof *a->skew[k]) == 0;
    return same;
}

/* The kernel's lanes that the cut takes. */
static tn_status check_cut(const tn_rtl_cut *cut, uint64_t lanes, const char *name, tn_error *error) {
    for (int k = 0; k < 2; k++)
        if (!is_power(cut->edge[k]) || (cut->index[k] == TN_RTL_NONE && cut->edge[k] != 1))
            return tn_fail(error, TN_INPUT, "%s: indices are cut into powers of two, and none into 1", name);
    if (cut->edge[0] * cut->edge[1] > lanes)
        return tn_fail(error, TN_INPUT, "%s: a block of %" PRIu64 " x %" PRIu64 " on %" PRIu64 " lanes", name,
                       cut->edge[0], cut->edge[1], lanes);
    return TN_OK;
}

/* What goes word by word must lie alike: the same words in the same banks, but for the axis of which one has a slice. */
static bool lies_alike(const tn_bank_layout *a, const tn_bank_layout *b, uint32_t sliced) {
    tn_bank_layout whole = *a;
    if (sliced < whole.axes && sliced < b->axes) whole.dims[sliced] = b->dims[sliced];
    return same_layout(&whole, b);
}

static tn_status check_words(const tn_rtl_design *design, const tn_rtl_operation *operation,
                             tn_error *error) {
    const uint32_t array[] = {operation->left, operation->right, operation->extra};
    const tn_rtl_array *result = &design->array[operation->result];
    uint32_t sliced = TN_RTL_NONE;
    for (int i = 0; i < 3; i++)
        if (operation->look[i].used) sliced = operation->look[i].axis;
    for (int i = 0; i < 3; i++)
        if (operation->pass->reads[i] &&
            !lies_alike(&design->array[array[i]].layout, &result->layout, sliced))
            return tn_fail(error, TN_INPUT, "%s: %s and %s must lie alike in their memories", operation->name,
                           design->array[array[i]].name, result->name);
    return TN_OK;
}

uint32_t tn_rtl_reads(const tn_rtl_operation *operation, uint32_t array[TN_RTL_READS]) {
    const uint32_t all[] = {operation->left, operation->right, operation->extra};
    uint32_t count = 0;
    for (int i = 0; i < 3; i++)
        if (operation->pass ? operation->pass->reads[i] : i < 2) array[count++] = all[i];
    for (int i = 0; i < TN_RTL_ADDED; i++)
        if (tn_rtl_adds(operation, i)) array[count++] = operation->write_back.added[i];
    return count;
}

/* A memory gives one of its arrays at a time. */
static tn_status check_memories(const tn_rtl_design *design, const tn_rtl_operation *operation,
                                tn_error *error) {
    uint32_t read[TN_RTL_READS], count = tn_rtl_reads(operation, read);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (design->array[read[i]].memory == design->array[read[k]].memory)
                return tn_fail(error, TN_INPUT,
                               "%s: its operands %s and %s lie in one memory, which gives one at a time",
                               operation->name, design->array[read[k]].name, design->array[read[i]].name);
    return TN_OK;
}

static tn_status check_pass(const tn_rtl_design *design, const tn_rtl_operation *operation, tn_error *error) {
    if (operation->pass->by_word) return check_words(design, operation, error);
    return check_cut(&operation->column, design->vector, operation->name, error);
}

static tn_status check_operation(const tn_rtl_design *design, const tn_rtl_operation *operation,
                                 tn_error *error) {
    TN_TRY(check_memories(design, operation, error));
    if (operation->pass) return check_pass(design, operation, error);
    const tn_rtl_array *left = &design->array[operation->left], *right = &design->array[operation->right];
    if (operation->update &&
        (operation->result != operation->left || !same_layout(&left->layout, &right->layout)))
        return tn_fail(error, TN_INPUT, "%s: %s and %s must lie alike in their memories", operation->name,
                       left->name, right->name);
    if (operation->update) return TN_OK;
    uint64_t edge[3];
    tn_rtl_edges(design, operation, edge);
    TN_TRY(check_cut(&operation->row, edge[0], operation->name, error));
    TN_TRY(check_cut(&operation->column, edge[1], operation->name, error));
    return check_cut(&operation->term, edge[2], operation->name, error);
}

tn_status tn_rtl_design_check(const tn_rtl_design *design, tn_error *error) {
    if (!is_power(design->rows) || !is_power(design->columns) || !is_power(design->terms) ||
        !is_power(design->vector))
        return tn_fail(error, TN_INPUT,
                       "a kernel of %" PRIu64 " x %" PRIu64 " x %" PRIu64 " with %" PRIu64
                       " vector lanes; generated hardware takes powers of two",
                       design->rows, design->columns, design->terms, design->vector);
    if (design->multiply_cycles == 0 || design->add_cycles == 0)
        return tn_fail(error, TN_INPUT, "operators take at least one cycle");
    for (uint32_t m = 0; m < design->memories; m++) TN_TRY(check_memory(&design->memory[m], m, error));
    for (uint32_t i = 0; i < design->arrays; i++) TN_TRY(check_array(design, &design->array[i], error));
    for (uint32_t i = 0; i < design->operations; i++)
        TN_TRY(check_operation(design, &design->operation[i], error));
    return TN_OK;
}
