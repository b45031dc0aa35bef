#include "model/operation.h"

#include "base/checked.h"

#include <inttypes.h>
#include <stdbool.h>

const char *const tn_optimizer_names[] = {"sgd", "momentum", "adam", NULL};

const char *const tn_operation_names[] = {
    [TN_OP_PRODUCT] = "product",
    [TN_OP_LOOKUP] = "lookup",
    [TN_OP_SCATTER] = "scatter",
    [TN_OP_ADD] = "add",
    [TN_OP_COLUMN_SUM] = "column-sum",
    [TN_OP_SOFTMAX] = "softmax",
    [TN_OP_SOFTMAX_GRADIENT] = "softmax-gradient",
    [TN_OP_LAYER_NORM] = "layer-norm",
    [TN_OP_LAYER_NORM_GRADIENT] = "layer-norm-gradient",
    [TN_OP_GELU] = "gelu",
    [TN_OP_GELU_GRADIENT] = "gelu-gradient",
    [TN_OP_TANH] = "tanh",
    [TN_OP_TANH_GRADIENT] = "tanh-gradient",
    [TN_OP_CROSS_ENTROPY] = "cross-entropy",
    [TN_OP_UPDATE] = "update",
    [TN_OPERATION_KINDS] = NULL,
};

const char *const tn_array_role_names[] = {
    [TN_ARRAY_PARAMETER] = "parameter",       [TN_ARRAY_GRADIENT] = "gradient",
    [TN_ARRAY_OPTIMIZER] = "optimizer",       [TN_ARRAY_ACTIVATION] = "activation",
    [TN_ARRAY_INTERMEDIATE] = "intermediate", [TN_ARRAY_ROLES] = NULL,
};

/* sgd:      w -= a g                                                   (mul, sub)
 * momentum: v = b v + g, w -= a v                                      (mul, add, mul, sub)
 * adam:     m = b m + (1-b) g                                          (mul, mul, add)
 *           v = c v + (1-c) g g                                        (mul, mul, mul, add)
 *           w -= a_t m / (sqrt(v) + e)                                 (root, add, div, mul, sub)
 *           the bias corrections lie in a_t, once a step (Kingma, Ba 2015, end of section 2) */
static tn_vector_cost update_cost(tn_optimizer optimizer) {
    static const uint64_t per_element[TN_OPTIMIZERS] = {[TN_SGD] = 2, [TN_MOMENTUM] = 4, [TN_ADAM] = 12};
    return (tn_vector_cost){per_element[optimizer], 0};
}

tn_vector_cost tn_vector_cost_of(tn_operation_kind kind, tn_optimizer optimizer, bool normalised) {
    switch (kind) {
    case TN_OP_SCATTER:
    case TN_OP_ADD:
        return (tn_vector_cost){1, 0};
    case TN_OP_COLUMN_SUM:
        /* s += dy (add); with z = (x - mean) rstd recomputed: (sub, mul), s += dy z (mul, add) */
        return (tn_vector_cost){normalised ? 4 : 1, 0};
    case TN_OP_SOFTMAX:
        /* scale z (mul), maximum (compare), exp(z - maximum) (sub, exp), sum (add), divide (div) */
        return (tn_vector_cost){6, 0};
    case TN_OP_SOFTMAX_GRADIENT:
        /* t = p dp (mul), sum t (add), p (dp - sum) (sub, mul), scale (mul) */
        return (tn_vector_cost){5, 0};
    case TN_OP_LAYER_NORM:
        /* sum x (add); x - mean (sub), square, sum (mul, add), times rstd (mul), scale and shift (mul, add);
         * per row mean and variance (div, div), rstd = 1 / sqrt(variance + e) (add, root, div) */
        return (tn_vector_cost){7, 5};
    case TN_OP_LAYER_NORM_GRADIENT:
        /* z = (x - mean) rstd (sub, mul), g = dy scale (mul), sum g (add), sum g z (mul, add),
         * dx = rstd (g - a - z b) (mul, sub, sub, mul) with the means a, b per row (div, div) */
        return (tn_vector_cost){10, 2};
    case TN_OP_GELU:
        /* t = tanh(k (x + c x^3)) as q = x x, tanh(k x (1 + c q)) (mul, mul, add, mul, mul, tanh),
         * x/2 (1 + t) (add, mul, mul) (Hendrycks, Gimpel 2016, section 2) */
        return (tn_vector_cost){9, 0};
    case TN_OP_GELU_GRADIENT:
        /* t again (6); dy ( (1 + t)/2 + x/2 (1 - t t) k (1 + 3c q) ): (add, mul), (mul), (mul, sub),
         * (mul, add, mul), (mul, mul), (add), (mul) */
        return (tn_vector_cost){18, 0};
    case TN_OP_TANH:
        return (tn_vector_cost){1, 0};
    case TN_OP_TANH_GRADIENT:
        /* dy (1 - y y) (mul, sub, mul) */
        return (tn_vector_cost){3, 0};
    case TN_OP_CROSS_ENTROPY:
        /* maximum (compare), exp(z - maximum) (sub, exp), sum (add), divide (div), mean over rows (mul); per
         * row -1 at the label (sub), loss log(sum) - z (log, sub), its sum (add) */
        return (tn_vector_cost){6, 4};
    case TN_OP_UPDATE:
        return update_cost(optimizer);
    default:
        return (tn_vector_cost){0, 0}; /* products are counted as such; look-ups compute nothing */
    }
}

tn_status tn_operation_count(tn_operation *operation, tn_vector_cost cost, tn_error *error) {
    uint64_t rows = operation->rows, elements;
    bool fits = tn_mul(rows, operation->columns, &elements);
    if (operation->kind == TN_OP_PRODUCT) {
        const uint64_t size[] = {operation->batch, rows, operation->reduction, operation->columns};
        fits = tn_product(size, 4, &operation->macs) && tn_mul(2, operation->macs, &operation->flops);
    } else {
        operation->flops = 0;
        fits = fits && tn_mul_add(elements, cost.per_element, &operation->flops) &&
               tn_mul_add(rows, cost.per_row, &operation->flops);
    }
    if (fits) return TN_OK;
    return tn_fail(error, TN_OVERFLOW,
                   "the %s of %" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64
                   " takes more than 2^64 operations; use smaller sizes",
                   tn_operation_names[operation->kind], operation->batch, rows, operation->reduction,
                   operation->columns);
}
