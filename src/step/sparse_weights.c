/* Sparse training: of every dense matrix of a linear layer a fixed share of the weights is live. Which they are follows
 * from `sparsity.selection`:
 *
 *   magnitude              those of the greatest magnitude; the others are zero. Behind each update they are selected anew.
 *   accumulated-gradient   Procrustes (Yang et al., MICRO 2020), after Golub, Lemieux, Lis, Full deep neural network training
 *                          on a pruned weight budget, MLSys 2019: those that lie farthest from where they began, |w - W(0)|,
 *                          among the live ones and all that this step's gradients move, which are the candidates. The others
 *                          return to W(0), which is drawn again from the seed and kept nowhere. One operation takes the
 *                          place of update and selection, so that only the live set is ever kept: its values and a mask of a
 *                          bit a weight.
 *
 * Forward pass and input gradient multiply live weights alone where the others are zero: always with `magnitude`, with the
 * other once `sparsity.initial_decay` has taken W(0) to zero, which is what is priced. Where W(0) stays, products are dense
 * and read a matrix that was made from the live set and W(0) right before. The weight gradient is of all weights, since any
 * may become live. Tiles of a product wait for the fullest of them: how full that is follows from the spread of so many live
 * weights over tiles, balanced or not. */
#include "base/checked.h"
#include "model/technique.h"
#include "step/transformation.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static bool sparse_weights_wanted(const tn_model *model) {
    return model->keys.sparsity.weights_at.line && model->keys.sparsity.weights < 1;
}

static bool is_sparse(const tn_array *array) {
    return array->role == TN_ARRAY_PARAMETER && !array->is_core && array->part == TN_PART_WEIGHT;
}

/* The cycles of a product by those of the dense one: the fullest of the tiles, whose shares of the live weights are the
 * expected order of so many draws (Blom, Statistical Estimates and Transformed Beta-Variables, 1958). */
static tn_status fullest_share(const tn_builder *b, uint64_t elements, uint64_t live, double *share) {
    const tn_model_sparsity *sparsity = &b->model->keys.sparsity;
    uint64_t *tile, fullest, balanced, tiles = sparsity->tiles < elements ? sparsity->tiles : elements;
    double each = (double)elements / (double)tiles, density = (double)live / (double)elements;
    double spread = sqrt(each * density * (1 - density));
    TN_TRY(TN_NEW(b->arena, tiles, &tile, b->error));
    for (uint64_t i = 0; i < tiles; i++) {
        double quantile = ((double)i + 1 - 0.375) / ((double)tiles + 0.25);
        double load = each * density + spread * gsl_cdf_ugaussian_Pinv(quantile);
        tile[i] = (uint64_t)llround(fmin(fmax(load, 0), each));
    }
    TN_TRY(tn_procrustes_cycles(tile, tiles, &fullest, &balanced, b->error));
    *share = fmin(1, (double)(sparsity->balance == TN_BALANCE_PAIRS ? balanced : fullest) / each);
    return TN_OK;
}

static tn_status add_mask(tn_builder *b, uint32_t parameter, uint32_t *mask) {
    const tn_array array = b->step->array[parameter];
    b->layer_index = array.layer;
    TN_TRY(tn_builder_array(b, TN_PART_MASK, 0, TN_ARRAY_OPTIMIZER, array.elements, mask));
    if (!tn_add(b->step->optimizer_elements, array.elements, &b->step->optimizer_elements))
        return tn_fail(b->error, TN_OVERFLOW, "masks of more than 2^64 elements");
    return TN_OK;
}

/* Only the live weights of the operand are multiplied, each as often as in the dense product. */
static tn_status thin(tn_builder *b, tn_operation *o) {
    for (uint32_t k = 0; k < o->read_count && o->phase != TN_WEIGHT_GRADIENT; k++) {
        const tn_array *array = &b->step->array[o->reads[k]];
        if (!is_sparse(array) || array->live == 0) continue;
        o->live = array->live;
        o->live_of = array->elements;
        TN_TRY(fullest_share(b, array->elements, array->live, &o->cycle_ratio));
    }
    return TN_OK;
}

static bool tracks(const tn_builder *b) {
    return b->model->keys.sparsity.selection == TN_SELECTION_ACCUMULATED;
}

/* W(0) stays where it does not decay. */
static bool returns_to_initial(const tn_builder *b) {
    return tracks(b) && b->model->keys.sparsity.initial_decay == 1;
}

static bool is_sparse_update(const tn_builder *b, const tn_operation *o) {
    return o->phase == TN_UPDATE && is_sparse(&b->step->array[o->writes[0]]);
}

/* Marks what is sparse. In training with a tracked set that is what is updated; else any dense matrix. */
static tn_status mark_matrices(tn_builder *b, const tn_operation *earlier, uint32_t operations, bool *marked,
                               uint32_t *matrices) {
    const double share = b->model->keys.sparsity.weights;
    const uint32_t arrays = b->step->arrays;
    for (uint32_t i = 0; i < operations; i++)
        if (is_sparse_update(b, &earlier[i])) marked[earlier[i].writes[0]] = true;
    for (uint32_t i = 0; i < arrays; i++) {
        tn_array *array = &b->step->array[i];
        if (!is_sparse(array)) continue;
        ++*matrices;
        if (!tracks(b) || (b->step->inference && !returns_to_initial(b))) marked[i] = true;
        if (!marked[i]) continue;
        array->live = (uint64_t)llround(fmax(1, share * (double)array->elements));
        if (tracks(b) && !b->step->inference) array->stored = array->live;
    }
    return TN_OK;
}

/* The matrix that a product reads, from the live set and W(0). */
static tn_status add_regeneration(tn_builder *b, const tn_operation *product, uint32_t parameter,
                                  uint32_t mask, uint32_t *dense) {
    const tn_array array = b->step->array[parameter];
    b->layer_index = product->layer;
    TN_TRY(tn_builder_array(b, TN_PART_REGENERATED, 0, TN_ARRAY_INTERMEDIATE, array.elements, dense));
    return tn_builder_keep(b, &(tn_operation){.kind = TN_OP_REGENERATE,
                                              .phase = product->phase,
                                              .layer = product->layer,
                                              .batch = 1,
                                              .rows = 1,
                                              .reduction = 1,
                                              .columns = array.elements,
                                              .read_count = 2,
                                              .reads = {parameter, mask},
                                              .write_count = 1,
                                              .writes = {*dense}});
}

static tn_status keep_product(tn_builder *b, const tn_operation *earlier, const uint32_t *mask) {
    tn_operation o = *earlier;
    if (!returns_to_initial(b)) {
        TN_TRY(thin(b, &o));
        return tn_builder_keep(b, &o);
    }
    for (uint32_t k = 0; k < TN_PRODUCT_OPERANDS; k++)
        if (is_sparse(&b->step->array[o.reads[k]]) && mask[o.reads[k]] != TN_NONE)
            TN_TRY(add_regeneration(b, &o, o.reads[k], mask[o.reads[k]], &o.reads[k]));
    return tn_builder_keep(b, &o);
}

/* The update, and behind it the selection; or both in one. */
static tn_status keep_update(tn_builder *b, const tn_operation *o, uint32_t mask) {
    if (tracks(b)) {
        tn_operation track = *o;
        track.kind = TN_OP_TRACK;
        track.reads[track.read_count++] = mask;
        track.writes[track.write_count++] = mask;
        return tn_builder_keep(b, &track);
    }
    TN_TRY(tn_builder_keep(b, o));
    return tn_builder_keep(b, &(tn_operation){.kind = TN_OP_SELECT,
                                              .phase = TN_UPDATE,
                                              .layer = o->layer,
                                              .batch = 1,
                                              .rows = 1,
                                              .reduction = 1,
                                              .columns = o->columns,
                                              .read_count = 1,
                                              .reads = {o->writes[0]},
                                              .write_count = 2,
                                              .writes = {o->writes[0], mask}});
}

static tn_status check_tracking(const tn_builder *b) {
    if (!tracks(b) || b->model->keys.optimizer == TN_SGD) return TN_OK;
    return tn_fail_at(
        b->error, TN_INPUT, b->model->keys.sparsity.selection_at,
        "sparsity.selection accumulated-gradient keeps numbers of the live weights alone, which an optimizer "
        "with a state would need of all; set optimizer: sgd, or selection: magnitude");
}

static tn_status sparse_weights_apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    const uint32_t arrays = b->step->arrays;
    uint32_t matrices = 0, *mask;
    bool *marked;
    TN_TRY(check_tracking(b));
    TN_TRY(TN_NEW(b->arena, arrays, &marked, b->error));
    TN_TRY(TN_NEW(b->arena, arrays, &mask, b->error));
    for (uint32_t i = 0; i < arrays; i++) mask[i] = TN_NONE;
    TN_TRY(mark_matrices(b, earlier, operations, marked, &matrices));
    if (matrices == 0)
        return tn_fail_at(
            b->error, TN_INPUT, b->model->keys.sparsity.weights_at,
            "sparsity.weights is of dense matrices, of which no linear layer has one; set format=dense or "
            "leave it out");
    for (uint32_t i = 0; i < operations; i++)
        if (is_sparse_update(b, &earlier[i]))
            TN_TRY(add_mask(b, earlier[i].writes[0], &mask[earlier[i].writes[0]]));
    for (uint32_t i = 0; i < operations; i++) {
        if (earlier[i].kind == TN_OP_PRODUCT)
            TN_TRY(keep_product(b, &earlier[i], mask));
        else if (is_sparse_update(b, &earlier[i]))
            TN_TRY(keep_update(b, &earlier[i], mask[earlier[i].writes[0]]));
        else
            TN_TRY(tn_builder_keep(b, &earlier[i]));
    }
    return TN_OK;
}

static const char *const sparse_weights_excluded[] = {"zero-skipping", NULL};

const tn_transformation tn_sparse_weights = {
    .name = "sparse-weights",
    .keys = "sparsity.weights, .selection, .balance",
    .source = "Yang et al., Procrustes, MICRO 2020, of selection accumulated-gradient",
    .needs = "linear layers with dense matrices",
    .changes = "multiply-adds of forward pass and input gradient; cycles by the fullest tile; a selection "
               "behind each "
               "update; a mask of a bit a weight",
    .excludes = sparse_weights_excluded,
    .wanted = sparse_weights_wanted,
    .apply = sparse_weights_apply,
};
