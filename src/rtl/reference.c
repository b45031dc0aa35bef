#include "rtl/reference.h"

#include "rtl/access.h"
#include "rtl/ieee.h"

/* One index of a product: its size and its stride in each of the three arrays, 0 where it is none of theirs. */
typedef struct {
    uint64_t size, stride[3];
} loop;

typedef struct {
    loop outer[TN_BANK_LAYOUT_AXES * 3], inner[TN_BANK_LAYOUT_AXES + 2]; /* inner[0], inner[1]: cut */
    uint32_t outers, inners;
    uint64_t cut[2]; /* terms of a group along them */
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
    nest made = {.inners = 2, .cut = {operation->term.edge[0], operation->term.edge[1]}};
    for (uint32_t k = 0; k < array[2]->layout.axes; k++)
        if (array[2]->index[k] != TN_RTL_NONE)
            made.outer[made.outers++] = loop_of(array, array[2]->index[k], index_size[array[2]->index[k]]);
    for (int k = 0; k < 2; k++) {
        uint32_t index = operation->term.index[k];
        made.inner[k] = index == TN_RTL_NONE ? (loop){.size = 1} : loop_of(array, index, index_size[index]);
    }
    for (uint32_t k = array[0]->layout.axes; k-- > 0;) {
        uint32_t index = array[0]->index[k];
        bool summed = index != TN_RTL_NONE && tn_rtl_axis_of(array[1], index) != TN_RTL_NONE &&
                      tn_rtl_axis_of(array[2], index) == TN_RTL_NONE;
        if (summed && !tn_rtl_is_cut(&operation->term, index))
            made.inner[made.inners++] = loop_of(array, index, index_size[index]);
    }
    return made;
}

/* The group of terms from x on along the cut indices: a tree over `terms` products, those beyond an index zero. */
static float group_sum(const nest *of, uint64_t terms, const float *left, const float *right,
                       const uint64_t *x) {
    float node[2 * TN_RTL_LANES_MOST];
    const loop *first = &of->inner[0], *second = &of->inner[1];
    for (uint64_t t = 0; t < terms; t++) {
        uint64_t u = t / of->cut[1], v = t % of->cut[1];
        bool present = u < of->cut[0] && x[0] + u < first->size && x[1] + v < second->size;
        float a = present ? left[u * first->stride[0] + v * second->stride[0]] : 0,
              b = present ? right[u * first->stride[1] + v * second->stride[1]] : 0;
        node[terms + t] = tn_ieee_multiply(a, b);
    }
    for (uint64_t t = terms; t-- > 1;) node[t] = tn_ieee_add(node[2 * t], node[2 * t + 1]);
    return node[1];
}

static float sum(const nest *of, uint64_t terms, const float *left, const float *right) {
    uint64_t x[TN_BANK_LAYOUT_AXES + 2] = {0};
    float total = 0;
    for (;;) {
        const float *a = left, *b = right;
        for (uint32_t i = 0; i < of->inners; i++) {
            a += x[i] * of->inner[i].stride[0];
            b += x[i] * of->inner[i].stride[1];
        }
        total = tn_ieee_add(total, group_sum(of, terms, a, b, x));
        uint32_t i = 0;
        for (; i < of->inners; i++) {
            x[i] += i < 2 ? of->cut[i] : 1;
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
