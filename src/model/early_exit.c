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

static tn_status apply(tn_builder *b, const tn_operation *before, uint32_t operations) {
    double *reached;
    TN_TRY(shares_of(b, &reached));
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
