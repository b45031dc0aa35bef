/* Mantissas that grow: products begin in a narrow block floating point and end in that of `precision`, either by shares of
 * the steps and of the layers, or by FAST's rule (Zhang, McDanel, Kung, HPCA 2022): an operand X stays narrow in layer l of L
 * and step i of I where r(X) = sum |wide - narrow| / |sum narrow| is at most a - b i / I - b l / L. One kernel serves all
 * mantissas by chunks of TN_CHUNK_BITS bits with a sign, a pair of chunks in a pass. */
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

static bool wanted(const tn_model *model) {
    return model->keys.schedule.narrow_at.line > 0;
}

static tn_status refuse(const tn_builder *b, const char *what) {
    return tn_fail_at(
        b->error, TN_INPUT, b->model->keys.schedule.narrow_at,
        "precision_schedule %s; it grows from one block floating point to another, such as bfp16,8,2 to a "
        "precision.products of bfp16,8,4",
        what);
}

static tn_status check(const tn_builder *b) {
    const tn_number_format *narrow = &b->model->keys.schedule.narrow;
    if (narrow->kind != TN_BLOCK_FLOATING) return refuse(b, "begins with a format that is none");
    for (int i = 0; i < TN_VALUES; i++) {
        const tn_number_format *wide = &b->model->keys.formats.operand[i];
        if (wide->kind != TN_BLOCK_FLOATING || wide->group != narrow->group ||
            wide->exponent_bits != narrow->exponent_bits)
            return refuse(b, "ends in operands of other groups or exponents");
        if (wide->mantissa_bits % TN_CHUNK_BITS || narrow->mantissa_bits % TN_CHUNK_BITS)
            return refuse(b, "has mantissas of an odd number of bits, which chunks of 2 bits can't hold");
        if (wide->mantissa_bits <= narrow->mantissa_bits) return refuse(b, "begins no narrower than it ends");
    }
    return TN_OK;
}

static double chunks(const tn_number_format *format) {
    return (double)(format->mantissa_bits / TN_CHUNK_BITS);
}

/* Passes of a product, the mean over the run. */
static double passes_of(const tn_builder *b, const tn_operation *o) {
    const tn_precision_schedule *schedule = &b->model->keys.schedule;
    double narrow = chunks(&schedule->narrow), left = chunks(&o->arithmetic->left),
           right = chunks(&o->arithmetic->right);
    double layer = (double)(o->layer + 1) / (double)b->model->layers;
    if (schedule->a > 0)
        return (schedule->wide_share * left + (1 - schedule->wide_share) * narrow) *
               (schedule->wide_share * right + (1 - schedule->wide_share) * narrow);
    double share = layer <= schedule->layers ? schedule->steps : 0;
    return share * narrow * narrow + (1 - share) * left * right;
}

static tn_status apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    TN_TRY(check(b));
    b->step->schedule = &b->model->keys.schedule;
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation o = earlier[i];
        if (o.kind == TN_OP_PRODUCT && o.arithmetic) {
            tn_arithmetic *chunked;
            double passes = passes_of(b, &o);
            TN_TRY(TN_NEW(b->arena, 1, &chunked, b->error));
            *chunked = *o.arithmetic;
            chunked->chunk_bits = TN_CHUNK_BITS;
            o.arithmetic = chunked;
            o.cycle_ratio = passes * (o.cycle_ratio > 0 ? o.cycle_ratio : 1);
        }
        TN_TRY(tn_builder_keep(b, &o));
    }
    return TN_OK;
}

static const char *const excluded[] = {"outlier-pairs", "inference", NULL};

const tn_transformation tn_growing_precision = {
    .name = "growing-precision",
    .keys = "precision_schedule",
    .source = "Zhang, McDanel, Kung, FAST, HPCA 2022",
    .needs = "operands in block floating point of one group and exponent, with whole chunks of mantissa",
    .changes =
        "matmul kernels multiply chunks of 2 bits; cycles of products by their passes, the mean over the run",
    .excludes = excluded,
    .wanted = wanted,
    .apply = apply,
};
