#include "step/transformation.h"

#include <string.h>

const tn_transformation *const tn_transformations[] = {&tn_inference,
                                                       &tn_trained_layers,
                                                       &tn_sparse_update,
                                                       &tn_reversible,
                                                       &tn_checkpointing,
                                                       &tn_optimal_checkpointing,
                                                       &tn_predicted_gradients,
                                                       &tn_write_back,
                                                       &tn_sparse_weights,
                                                       &tn_zero_skipping,
                                                       &tn_pruning,
                                                       &tn_early_exit,
                                                       &tn_flat_products,
                                                       &tn_product_arithmetic,
                                                       &tn_growing_precision,
                                                       &tn_outlier_pairs,
                                                       NULL};

static bool excludes(const tn_transformation *one, const tn_transformation *other) {
    for (const char *const *name = one->excludes; name && *name; name++)
        if (strcmp(*name, other->name) == 0) return true;
    return false;
}

static tn_status refuse_conflicts(const tn_transformation *const *table, const tn_builder *b) {
    for (const tn_transformation *const *one = table; *one; one++)
        for (const tn_transformation *const *other = table; *other; other++)
            if (excludes(*one, *other) && (*one)->wanted(b->model) && (*other)->wanted(b->model))
                return tn_fail(b->error, TN_INPUT, "%s (%s) can't be combined with %s (%s); leave one out",
                               (*one)->name, (*one)->keys, (*other)->name, (*other)->keys);
    return TN_OK;
}

static tn_status refuse_training(const tn_transformation *const *table, const tn_builder *b) {
    for (; *table; table++)
        if ((*table)->inference_only && !tn_model_is_inference(b->model) && (*table)->wanted(b->model))
            return tn_fail(b->error, TN_INPUT,
                           "%s (%s) is a technique of inference; set phase: inference, or leave it out",
                           (*table)->name, (*table)->keys);
    return TN_OK;
}

tn_status tn_transformations_apply(const tn_transformation *const *table, uint32_t most, tn_builder *b) {
    TN_TRY(refuse_conflicts(table, b));
    TN_TRY(refuse_training(table, b));
    for (; *table && most > 0; table++, most--) {
        if (!(*table)->wanted(b->model)) continue;
        const tn_operation *earlier;
        uint32_t operations;
        tn_builder_anew(b, &earlier, &operations);
        TN_TRY((*table)->apply(b, earlier, operations));
    }
    return TN_OK;
}
