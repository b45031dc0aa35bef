#include "rtl/reference.h"

#include "base/memory.h"
#include "rtl/ieee.h"

/* One index of a product: its size and its stride in each of the three arrays, 0 where it is none of theirs. */
typedef struct {
    uint64_t size, stride[3];
} loop;

typedef struct {
    loop outer[TN_BANK_LAYOUT_AXES * 3], inner[TN_BANK_LAYOUT_AXES]; /* inner[0]: cut, if cut is not 0 */
    uint32_t outers, inners;
    uint64_t cut; /* terms of a group along inner[0] */
} nest;

static uint64_t stride_of(const tn_rtl_array *array, uint32_t index) {
    uint32_t axis = tn_rtl_axis_of(array, index);
    uint64_t stride = 1;
    if (axis == TN_RTL_NONE) return 0;
    for (uint32_t k = axis + 1; k < array->layout.axes; k++) stride *= array->layout.dims[k];
    return stride;
}

static loop loop_of(const tn_rtl_array *const array[3], uint32_t index, uint64_t size) {
    return (loop){size, {stride_of(array[0], index), stride_of(array[1], index), stride_of(array[2], index)}};
}

static nest nest_of(const tn_rtl_design *design, const tn_rtl_operation *operation,
                    const uint64_t *index_size) {
    const tn_rtl_array *const array[3] = {&design->array[operation->left], &design->array[operation->right],
                                          &design->array[operation->result]};
    nest made = {.cut = 1};
    for (uint32_t k = 0; k < array[2]->layout.axes; k++)
        made.outer[made.outers++] = loop_of(array, array[2]->index[k], index_size[array[2]->index[k]]);
    if (operation->term != TN_RTL_NONE) {
        made.inner[made.inners++] = loop_of(array, operation->term, index_size[operation->term]);
        made.cut = design->terms;
    }
    for (uint32_t k = array[0]->layout.axes; k-- > 0;) {
        uint32_t index = array[0]->index[k];
        bool summed =
            tn_rtl_axis_of(array[1], index) != TN_RTL_NONE && tn_rtl_axis_of(array[2], index) == TN_RTL_NONE;
        if (summed && index != operation->term)
            made.inner[made.inners++] = loop_of(array, index, index_size[index]);
    }
    return made;
}

/* The group of terms from x on along inner[0]: a tree over design->terms products, those beyond the index zero. */
static float group_sum(const nest *of, uint64_t terms, const float *left, const float *right, uint64_t x) {
    float node[2 * 1024];
    for (uint64_t t = 0; t < terms; t++) {
        bool cut = of->cut > 1, present = cut ? x + t < of->inner[0].size : t == 0;
        float a = present ? left[cut ? t * of->inner[0].stride[0] : 0] : 0,
              b = present ? right[cut ? t * of->inner[0].stride[1] : 0] : 0;
        node[terms + t] = tn_ieee_multiply(a, b);
    }
    for (uint64_t t = terms; t-- > 1;) node[t] = tn_ieee_add(node[2 * t], node[2 * t + 1]);
    return node[1];
}

static float sum(const nest *of, uint64_t terms, const float *left, const float *right) {
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0}, step = of->cut;
    float total = 0;
    for (;;) {
        const float *a = left, *b = right;
        for (uint32_t i = 0; i < of->inners; i++) {
            a += x[i] * of->inner[i].stride[0];
            b += x[i] * of->inner[i].stride[1];
        }
        total = tn_ieee_add(total, group_sum(of, terms, a, b, x[0]));
        uint32_t i = 0;
        for (; i < of->inners; i++) {
            x[i] += i == 0 ? step : 1;
            if (x[i] < of->inner[i].size) break;
            x[i] = 0;
        }
        if (i == of->inners) return total;
    }
}

static void run_product(const tn_rtl_design *design, const tn_rtl_operation *operation,
                        const uint64_t *index_size, float *const *values) {
    nest of = nest_of(design, operation, index_size);
    uint64_t x[TN_BANK_LAYOUT_AXES * 3] = {0};
    for (;;) {
        uint64_t at[3] = {0};
        for (uint32_t i = 0; i < of.outers; i++)
            for (int k = 0; k < 3; k++) at[k] += x[i] * of.outer[i].stride[k];
        values[operation->result][at[2]] =
            sum(&of, design->terms, values[operation->left] + at[0], values[operation->right] + at[1]);
        uint32_t i = of.outers;
        while (i-- > 0) {
            if (++x[i] < of.outer[i].size) break;
            x[i] = 0;
        }
        if (i == UINT32_MAX) return;
    }
}

static void run_update(const tn_rtl_design *design, const tn_rtl_operation *operation, float *const *values) {
    const tn_bank_layout *layout = &design->array[operation->left].layout;
    uint64_t elements = 1;
    for (uint32_t k = 0; k < layout->axes; k++) elements *= layout->dims[k];
    float *w = values[operation->left];
    const float *g = values[operation->right];
    for (uint64_t i = 0; i < elements; i++)
        w[i] = tn_ieee_add(w[i], -tn_ieee_multiply((float)design->rate, g[i]));
}

tn_status tn_rtl_reference_run(const tn_rtl_design *design, const uint64_t *index_size, float *const *values,
                               tn_error *error) {
    TN_TRY(tn_rtl_design_check(design, error));
    for (uint32_t i = 0; i < design->operations; i++) {
        if (design->operation[i].update)
            run_update(design, &design->operation[i], values);
        else
            run_product(design, &design->operation[i], index_size, values);
    }
    return TN_OK;
}
