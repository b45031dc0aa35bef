/* Products multiplied otherwise than arrays are stored: in another precision or in block floating point. Arrays
 * stay as they are; operands are converted as they enter the kernel. */
#include "model/operation.h"
#include "model/transformation.h"

static bool wanted(const tn_model *model) {
    return model->products.group > 0 || model->products.precision != model->precision;
}

static tn_status apply(tn_builder *b, const tn_operation *before, uint32_t operations) {
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation operation = before[i];
        if (operation.kind == TN_OP_PRODUCT) operation.arithmetic = &b->model->products;
        TN_TRY(tn_builder_keep(b, &operation));
    }
    return TN_OK;
}

const tn_transformation tn_product_arithmetic = {
    .name = "product-arithmetic",
    .keys = "precision.products",
    .source = "Zhang, McDanel, Kung, FAST, HPCA 2022",
    .needs = "operators of that precision, or integer operators for block floating point, on the device",
    .changes =
        "multipliers and adders of matmul kernels, and so their cycles, resources and energy; no memory",
    .wanted = wanted,
    .apply = apply,
};
