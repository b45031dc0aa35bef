/* Early exit: a share of the inputs leaves behind each repetition of the blocks, so that later ones run for the rest
 * alone; what stands behind the blocks runs once. With a deadline the clock falls to what is left to do, and the
 * voltage with it (hardware/energy.h). Tambe et al., EdgeBERT, MICRO 2021. Counts are those of the mean input. */
#include "base/checked.h"
#include "model/technique.h"
#include "model/transformation.h"

#include <inttypes.h>
#include <math.h>

static bool wanted(const tn_model *model) {
    return model->exit.count > 0;
}

/* Shares as whole numbers of this, so that counts stay whole. */
static const uint64_t PARTS = 1000000;

static tn_status shares_of(tn_builder *b, double **reached) {
    const tn_model *model = b->model;
    uint32_t repetitions = 0;
    double layers, left = 1;
    tn_error unplaced = {0};
    for (uint32_t i = 0; i < model->layers; i++)
        if (model->layer[i].repetition != TN_NONE && model->layer[i].repetition >= repetitions)
            repetitions = model->layer[i].repetition + 1;
    if (model->exit.count != repetitions)
        return tn_fail_at(b->error, TN_INPUT, model->exit_at,
                          "\"exit\" has %zu shares; the blocks are repeated %" PRIu32
                          " times, and behind each a share leaves",
                          model->exit.count, repetitions);
    if (tn_early_exit_layers(model->exit.item, model->exit.count, &layers, &unplaced) != TN_OK)
        return tn_fail_at(b->error, TN_INPUT, model->exit_at, "\"exit\": %.300s", unplaced.message);
    TN_TRY(tn_arena_alloc(b->arena, repetitions, sizeof **reached, reached, b->error));
    for (uint32_t i = 0; i < repetitions; i++) {
        (*reached)[i] = left;
        left -= model->exit.item[i];
    }
    return TN_OK;
}

/* What a layer of a later repetition gives is there what the same layer of the last repetition that runs gave. */
static tn_status output_at_exit(tn_builder *b, uint32_t array, uint32_t *at_exit) {
    const tn_model *model = b->model;
    const tn_step *step = b->step;
    uint32_t layer = step->array[array].layer, here = 0, there = 0, exit = b->sort;
    *at_exit = array;
    if (model->layer[layer].repetition == TN_NONE || model->layer[layer].repetition <= exit) return TN_OK;
    while (model->layer[here].repetition != exit) here++;
    while (model->layer[there].repetition != model->layer[layer].repetition) there++;
    uint32_t same = layer - there + here;
    if (model->layer[here].block != model->layer[layer].block || step->layer[layer].output != array)
        return tn_fail_at(
            b->error, TN_INPUT, model->exit_at,
            "behind the blocks something is read that an input which leaves in another block, or "
            "earlier, has not; give \"exit\" 0 there");
    *at_exit = step->layer[same].output;
    return TN_OK;
}

/* The list of an input that leaves behind repetition b->sort. */
static tn_status leave(tn_builder *b, const tn_operation *before, uint32_t operations) {
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation o = before[i];
        uint32_t repetition = b->model->layer[o.layer].repetition;
        if (repetition != TN_NONE && repetition > b->sort) continue;
        for (uint32_t k = 0; k < o.read_count; k++) TN_TRY(output_at_exit(b, o.reads[k], &o.reads[k]));
        for (uint32_t k = 0; k < o.write_count; k++) TN_TRY(output_at_exit(b, o.writes[k], &o.writes[k]));
        TN_TRY(tn_builder_keep(b, &o));
    }
    return tn_builder_close_ranks(b, true);
}

static tn_status apply(tn_builder *b, const tn_operation *before, uint32_t operations) {
    double *reached;
    TN_TRY(shares_of(b, &reached));
    if (b->sort != TN_SORT_MEAN) return leave(b, before, operations);
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation o = before[i];
        uint32_t repetition = b->model->layer[o.layer].repetition;
        uint64_t parts =
            repetition == TN_NONE ? PARTS : (uint64_t)llround(reached[repetition] * (double)PARTS);
        if (parts == 0) parts = 1;
        if (parts < PARTS) {
            o.times = parts;
            o.of_times = PARTS;
        }
        TN_TRY(tn_builder_keep(b, &o));
    }
    return TN_OK;
}

const tn_transformation tn_early_exit = {
    .name = "early-exit",
    .keys = "exit, dvfs",
    .source = "Tambe et al., EdgeBERT, MICRO 2021",
    .needs = "phase: inference",
    .changes = "how often each repetition of a block runs for a mean input; with dvfs clock and voltage",
    .inference_only = true,
    .wanted = wanted,
    .apply = apply,
};
