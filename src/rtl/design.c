#include "rtl/design.h"

#include "rtl/access.h"

#include <inttypes.h>
#include <string.h>

static bool is_power(uint64_t value) {
    return value > 0 && (value & (value - 1)) == 0;
}

uint32_t tn_rtl_axis_of(const tn_rtl_array *array, uint32_t index) {
    for (uint32_t k = 0; k < array->layout.axes; k++)
        if (array->index[k] == index) return k;
    return TN_RTL_NONE;
}

static tn_status check_array(const tn_rtl_design *design, const tn_rtl_array *array, tn_error *error) {
    const tn_bank_layout *layout = &array->layout;
    const tn_rtl_memory *memory = &design->memory[array->memory];
    bool powers = layout->forms == 1 && is_power(layout->banks[0]), told = layout->banks[0] == 1;
    for (uint32_t k = 0; k < layout->axes; k++) {
        powers = powers && is_power(layout->word[k]);
        told = told || layout->skew[0][k] % 2 == 1;
    }
    if (!powers)
        return tn_fail(error, TN_INPUT,
                       "%s: words and banks of generated hardware are powers of two, in one row of banks",
                       array->name);
    if (!told)
        return tn_fail(error, TN_INPUT, "%s: some axis needs an odd skew, to tell its banks apart",
                       array->name);
    tn_rtl_strides strides = tn_rtl_strides_of(layout);
    if (strides.banks != memory->banks || strides.elements != memory->word)
        return tn_fail(error, TN_INPUT, "%s: its layout has other banks or words than its memory",
                       array->name);
    if (array->base > memory->depth || strides.depth > memory->depth - array->base)
        return tn_fail(error, TN_INPUT,
                       "%s: words %" PRIu64 " to %" PRIu64 " lie beyond its memory of %" PRIu64, array->name,
                       array->base, array->base + strides.depth, memory->depth);
    return TN_OK;
}

static bool same_layout(const tn_bank_layout *a, const tn_bank_layout *b) {
    return a->axes == b->axes && memcmp(a->dims, b->dims, a->axes * sizeof *a->dims) == 0 &&
           memcmp(a->word, b->word, a->axes * sizeof *a->word) == 0 && a->banks[0] == b->banks[0] &&
           memcmp(a->skew[0], b->skew[0], a->axes * sizeof *a->skew[0]) == 0;
}

static tn_status check_operation(const tn_rtl_design *design, const tn_rtl_operation *operation,
                                 tn_error *error) {
    const tn_rtl_array *left = &design->array[operation->left], *right = &design->array[operation->right];
    if (left->memory == right->memory)
        return tn_fail(error, TN_INPUT,
                       "%s: its operands %s and %s lie in one memory, which gives one at a time",
                       operation->name, left->name, right->name);
    if (operation->update &&
        (operation->result != operation->left || !same_layout(&left->layout, &right->layout)))
        return tn_fail(error, TN_INPUT, "%s: %s and %s must lie alike in their memories", operation->name,
                       left->name, right->name);
    return TN_OK;
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
    for (uint32_t i = 0; i < design->arrays; i++) TN_TRY(check_array(design, &design->array[i], error));
    for (uint32_t i = 0; i < design->operations; i++)
        TN_TRY(check_operation(design, &design->operation[i], error));
    return TN_OK;
}
