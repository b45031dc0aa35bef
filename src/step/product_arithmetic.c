/* Arithmetic of products by key: operands in formats of their own, in outlier-victim pairs, and multipliers that pass over
 * zeros. */
#include "model/technique.h"
#include "model/zero_skip.h"
#include "step/transformation.h"

#include <inttypes.h>
#include <stdio.h>

/* Products whose operands have formats of their own, by what they are: weights, activations, gradients. Operands are
 * rounded as they enter the kernel. */

static bool product_arithmetic_wanted(const tn_model *model) {
    const tn_formats *formats = &model->keys.formats;
    for (int i = 0; i < TN_VALUES; i++)
        if (!tn_number_format_same(&formats->operand[i], &formats->accumulate)) return true;
    return formats->accumulate.kind == TN_BLOCK_FLOATING;
}

static tn_status product_arithmetic_apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    const tn_formats *formats = &b->model->keys.formats;
    tn_arithmetic *chosen[TN_VALUES][TN_VALUES] = {{NULL}};
    TN_TRY(tn_builder_values(b, earlier, operations));
    b->formatted = true;
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation operation = earlier[i];
        if (operation.kind == TN_OP_PRODUCT) {
            uint32_t left = b->step->array[operation.reads[0]].value,
                     right = b->step->array[operation.reads[1]].value;
            tn_arithmetic **arithmetic = &chosen[left][right];
            if (!*arithmetic) {
                TN_TRY(TN_NEW(b->arena, 1, arithmetic, b->error));
                **arithmetic = (tn_arithmetic){.left = formats->operand[left],
                                               .right = formats->operand[right],
                                               .sum = formats->accumulate};
            }
            operation.arithmetic = *arithmetic;
        }
        TN_TRY(tn_builder_keep(b, &operation));
    }
    return TN_OK;
}

const tn_transformation tn_product_arithmetic = {
    .name = "product-arithmetic",
    .keys = "precision.weights, .activations, .gradients, .products",
    .source = "Zhang, McDanel, Kung, FAST, HPCA 2022",
    .needs = "operators of the formats, or integer operators, on the device",
    .changes =
        "multipliers and adders of matmul kernels, and so their cycles, resources and energy; bits of arrays "
        "that products alone read",
    .wanted = product_arithmetic_wanted,
    .apply = product_arithmetic_apply,
};

/* Outlier-victim pairs: operands of few bits where an outlier takes the bits of its neighbour, which becomes zero, so that
 * every value has one width and no index is needed. Guo et al., OliVe, ISCA 2023. Products are integer ones of that
 * width; the decoder in front of a multiplier gives an exponent of two bits, by which its product is shifted. */

static bool outlier_pairs_wanted(const tn_model *model) {
    return model->keys.outliers > 0 || model->keys.outlier_scale == TN_OUTLIER_SCALE_MSE;
}

static tn_status outlier_pairs_apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    tn_arithmetic *pairs;
    tn_formats *formats;
    char name[TN_NUMBER_FORMAT_NAME];
    if (b->model->keys.outliers == 0)
        return tn_fail(b->error, TN_INPUT,
                       "\"outlier_scale\" is mse without \"outliers\"; set these to 2 to 8 bits");
    if (b->model->keys.outliers == 1)
        return tn_fail(b->error, TN_INPUT, "\"outliers\" is 1 bit; it must be 0, or 2 to 8");
    tn_number_format pair;
    snprintf(name, sizeof name, "olive%" PRIu64 "%s", b->model->keys.outliers,
             b->model->keys.outlier_scale == TN_OUTLIER_SCALE_MSE ? ",mse" : "");
    TN_TRY(tn_number_format_read(name, &pair, b->error));
    TN_TRY(TN_NEW(b->arena, 1, &pairs, b->error));
    TN_TRY(TN_NEW(b->arena, 1, &formats, b->error));
    *pairs = (tn_arithmetic){.left = pair, .right = pair, .sum = b->model->keys.formats.accumulate};
    *formats = b->model->keys.formats;
    for (int i = 0; i < TN_VALUES; i++) formats->operand[i] = pair;
    b->step->formats = formats;
    b->formatted = true;
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation o = earlier[i];
        if (o.kind == TN_OP_PRODUCT) o.arithmetic = pairs;
        TN_TRY(tn_builder_keep(b, &o));
    }
    return TN_OK;
}

static const char *const outlier_pairs_excluded[] = {"product-arithmetic", NULL};

const tn_transformation tn_outlier_pairs = {
    .name = "outlier-pairs",
    .keys = "outliers, outlier_scale",
    .source = "Guo et al., OliVe, ISCA 2023",
    .needs = "phase: inference",
    .changes =
        "multipliers and adders of matmul kernels; bits of parameters and of arrays that products alone read",
    .excludes = outlier_pairs_excluded,
    .inference_only = true,
    .wanted = outlier_pairs_wanted,
    .apply = outlier_pairs_apply,
};

/* Skipping zeros: a multiplier takes operands of several steps ahead in place of zeros, of the operand that has more of
 * them: activations forward, gradients in input gradients, either in weight gradients. Mahmoud et al., TensorDash,
 * MICRO 2020. Cycles of products fall, nothing else, by what its scheduler comes to on zeros that are drawn
 * (model/zero_skip.h): lanes that find no pair wait, and rows for one another. */

static bool zero_skipping_wanted(const tn_model *model) {
    return model->keys.sparsity.activations > 0 || model->keys.sparsity.gradients > 0;
}

static double share_of(const tn_model_sparsity *sparsity, uint32_t value) {
    return value == TN_VALUE_GRADIENT     ? sparsity->gradients
           : value == TN_VALUE_ACTIVATION ? sparsity->activations
                                          : 0;
}

static tn_status zero_skipping_apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    const tn_model_sparsity *sparsity = &b->model->keys.sparsity;
    double ratio[TN_VALUES] = {1, 1, 1};
    for (uint32_t value = 0; value < TN_VALUES; value++) {
        const double share = share_of(sparsity, value) * sparsity->efficiency;
        if (share > 0) TN_TRY(tn_zero_skip_ratio(share, (size_t)sparsity->depth, &ratio[value], b->error));
    }
    TN_TRY(tn_builder_values(b, earlier, operations));
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation o = earlier[i];
        if (o.kind == TN_OP_PRODUCT) {
            const uint32_t left = b->step->array[o.reads[0]].value, right = b->step->array[o.reads[1]].value;
            o.cycle_ratio = ratio[share_of(sparsity, left) > share_of(sparsity, right) ? left : right];
        }
        TN_TRY(tn_builder_keep(b, &o));
    }
    return TN_OK;
}

const tn_transformation tn_zero_skipping = {
    .name = "zero-skipping",
    .keys = "sparsity.activations, sparsity.gradients, sparsity.depth",
    .source = "Mahmoud et al., TensorDash, MICRO 2020",
    .needs = "shares of zeros, which `tenfold train` measures",
    .changes = "cycles of products, by the zeros of the operand that has more of them",
    .wanted = zero_skipping_wanted,
    .apply = zero_skipping_apply,
};
