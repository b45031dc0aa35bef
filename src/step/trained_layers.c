/* Trained layers: parameters that are not trained have no update, no gradient and no state of the optimizer, and what
 * only these needed is gone: weight gradients, saved activations, and the input gradients before the first layer that
 * is trained. The forward pass and the losses stay. */
#include "step/trained_layers.h"

#include "base/checked.h"
#include "base/name_index.h"
#include "model/operation.h"
#include "step/builder.h"
#include "step/recompute.h"
#include "step/transformation.h"
#include "text/utf8.h"

/* Inference: the forward phase alone. Losses, gradients and updates are gone, and with them what only they read:
 * forward operations whose results nobody takes, parameters' gradients, the optimizer's state. What the loss
 * would have read, the logits, is the result. */

static bool inference_wanted(const tn_model *model) {
    return tn_model_is_inference(model);
}

static tn_status inference_apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    bool *none, *logits;
    TN_TRY(TN_NEW(b->arena, operations, &none, b->error));
    TN_TRY(TN_NEW(b->arena, b->step->arrays, &logits, b->error));
    for (uint32_t i = 0; i < operations; i++)
        if (earlier[i].kind == TN_OP_CROSS_ENTROPY) logits[earlier[i].reads[0]] = true;
    return tn_builder_keep_needed(b, earlier, tn_recompute_forward(earlier, operations), none, logits);
}

const tn_transformation tn_inference = {
    .name = "inference",
    .keys = "phase",
    .source = "common practice",
    .needs = "nothing",
    .changes =
        "the forward phase alone: no loss, gradient, update or optimizer state; no activation is saved",
    .wanted = inference_wanted,
    .apply = inference_apply,
};

/* Lists of which only a part is wanted: what that part needs is kept, all else is left out. */

static bool writes_one_of(const tn_operation *operation, const bool *wanted_array) {
    for (uint32_t k = 0; k < operation->write_count; k++)
        if (wanted_array[operation->writes[k]]) return true;
    return false;
}

static void mark(bool *used, const tn_operation *operation) {
    for (uint32_t k = 0; k < operation->read_count; k++) used[operation->reads[k]] = true;
    for (uint32_t k = 0; k < operation->write_count; k++) used[operation->writes[k]] = true;
}

tn_status tn_builder_close_ranks(tn_builder *b, bool keep_resident) {
    tn_step *step = b->step;
    uint32_t *place, arrays = 0;
    bool *used;
    TN_TRY(TN_NEW(b->arena, step->arrays, &place, b->error));
    TN_TRY(TN_NEW(b->arena, step->arrays, &used, b->error));
    for (uint32_t i = 0; i < step->operations; i++) mark(used, &step->operation[i]);
    step->optimizer_elements = 0;
    for (uint32_t i = 0; i < step->arrays; i++) {
        place[i] = TN_NONE;
        if (!used[i] && !(keep_resident && tn_array_is_resident(&step->array[i]))) continue;
        place[i] = arrays;
        step->array[arrays++] = step->array[i];
        if (step->array[i].role == TN_ARRAY_OPTIMIZER)
            step->optimizer_elements += step->array[i].elements; /* a part of a sum that fitted */
    }
    for (uint32_t i = 0; i < step->layers; i++)
        if (step->layer[i].output != TN_NONE) step->layer[i].output = place[step->layer[i].output];
    step->arrays = arrays;
    for (uint32_t i = 0; i < step->operations; i++) {
        tn_operation *operation = &step->operation[i];
        for (uint32_t k = 0; k < operation->read_count; k++) operation->reads[k] = place[operation->reads[k]];
        for (uint32_t k = 0; k < operation->write_count; k++)
            operation->writes[k] = place[operation->writes[k]];
    }
    return TN_OK;
}

tn_status tn_builder_keep_needed(tn_builder *b, const tn_operation *earlier, uint32_t operations,
                                 const bool *wanted, const bool *array) {
    bool *needed, *kept;
    TN_TRY(TN_NEW(b->arena, b->step->arrays, &needed, b->error));
    TN_TRY(TN_NEW(b->arena, operations, &kept, b->error));
    for (uint32_t i = 0; i < b->step->arrays; i++) needed[i] = array && array[i];
    for (uint32_t i = operations; i-- > 0;) {
        if (earlier[i].phase == TN_UPDATE && !wanted[i]) continue;
        kept[i] = wanted[i] || writes_one_of(&earlier[i], needed);
        for (uint32_t k = 0; kept[i] && k < earlier[i].read_count; k++) needed[earlier[i].reads[k]] = true;
    }
    for (uint32_t i = 0; i < operations; i++)
        if (kept[i]) TN_TRY(tn_builder_keep(b, &earlier[i]));
    return tn_builder_close_ranks(b, false);
}

/* The updates: one operation a parameter array, at the end of the step. */

static tn_status add_update(tn_builder *b, uint32_t parameter) {
    const tn_optimizer_row *optimizer = &tn_optimizer_rows[b->model->keys.optimizer];
    return tn_builder_add(b,
                          &(tn_operation){.kind = optimizer->update,
                                          .phase = TN_UPDATE,
                                          .rows = 1,
                                          .columns = b->step->array[parameter].elements,
                                          .read_count = 2 + optimizer->states,
                                          .reads = {parameter, parameter + 1, parameter + 2, parameter + 3},
                                          .write_count = 1 + optimizer->states,
                                          .writes = {parameter, parameter + 2, parameter + 3}});
}

tn_status tn_builder_updates(tn_builder *b) {
    for (b->layer_index = 0; b->layer_index < b->model->layers; b->layer_index++)
        for (uint32_t i = 0; i < tn_builder_made(b)->parameters; i++)
            TN_TRY(add_update(b, tn_builder_parameter(b, i)));
    return TN_OK;
}

/* An empty list of what is frozen is none; one of what is trained leaves nothing. */
static bool wanted(const tn_model *model) {
    return model->keys.train_at.line || model->keys.frozen.count > 0;
}

bool tn_parameter_is_named(const char *pattern, const char *layer, const char *parameter) {
    return tn_pattern_matches(pattern, layer) || tn_pattern_matches(pattern, parameter);
}

/* A pattern that names no parameter is a slip. */
static tn_status refuse_idle(tn_builder *b, const tn_text_list *patterns, const bool *used,
                             tn_position position, const char *key) {
    for (size_t p = 0; p < patterns->count; p++) {
        if (used[p]) continue;
        const char **names;
        TN_TRY(TN_NEW(b->arena, b->step->layers, &names, b->error));
        for (uint32_t i = 0; i < b->step->layers; i++) names[i] = b->step->layer[i].name;
        const char *near = tn_suggest(patterns->item[p], names, b->step->layers);
        return tn_fail_at(b->error, TN_INPUT, position,
                          "\"%s\": no layer with parameters is called \"%.100s\"%s%.100s%s", key,
                          patterns->item[p], near ? "; did you mean " : "; give names such as ",
                          near ? near : "encoder1.* or *.bias", near ? "?" : "");
    }
    return TN_OK;
}

static tn_status named_by(tn_builder *b, const tn_text_list *patterns, tn_position position, const char *key,
                          bool **named) {
    const tn_step *step = b->step;
    bool *used;
    TN_TRY(TN_NEW(b->arena, step->arrays, named, b->error));
    TN_TRY(TN_NEW(b->arena, patterns->count + 1, &used, b->error));
    for (uint32_t i = 0; i < step->arrays; i++) {
        const char *name;
        if (step->array[i].role != TN_ARRAY_PARAMETER) continue;
        TN_TRY(tn_step_array_name(step, i, b->arena, &name, b->error));
        for (size_t p = 0; p < patterns->count; p++) {
            bool is = tn_parameter_is_named(patterns->item[p], step->layer[step->array[i].layer].name, name);
            (*named)[i] |= is;
            used[p] |= is;
        }
    }
    return refuse_idle(b, patterns, used, position, key);
}

tn_status tn_keep_updates(tn_builder *b, const tn_operation *earlier, uint32_t operations, const bool *update,
                          tn_position position) {
    uint32_t forward = tn_recompute_forward(earlier, operations), updates = 0;
    bool *kept;
    TN_TRY(TN_NEW(b->arena, operations, &kept, b->error));
    for (uint32_t i = 0; i < operations; i++) {
        const tn_operation *o = &earlier[i];
        kept[i] = i < forward || o->kind == TN_OP_CROSS_ENTROPY || (o->phase == TN_UPDATE && update[i]);
        updates += o->phase == TN_UPDATE && kept[i];
    }
    if (updates == 0)
        return tn_fail_at(b->error, TN_INPUT, position,
                          "nothing is left to train; for the forward pass alone use phase: inference");
    return tn_builder_keep_needed(b, earlier, operations, kept, NULL);
}

static tn_status apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    const tn_model *model = b->model;
    bool *trained, *frozen, *update, all = !model->keys.train_at.line;
    TN_TRY(named_by(b, &model->keys.train, model->keys.train_at, "train", &trained));
    TN_TRY(named_by(b, &model->keys.frozen, model->keys.frozen_at, "frozen", &frozen));
    TN_TRY(TN_NEW(b->arena, operations, &update, b->error));
    for (uint32_t i = 0; i < operations; i++)
        update[i] = earlier[i].phase == TN_UPDATE && (all || trained[earlier[i].writes[0]]) &&
                    !frozen[earlier[i].writes[0]];
    return tn_keep_updates(b, earlier, operations, update,
                           all ? model->keys.frozen_at : model->keys.train_at);
}

static const char *const excluded[] = {"inference", NULL};

const tn_transformation tn_trained_layers = {
    .name = "trained-layers",
    .keys = "train, frozen",
    .source = "Lin et al., On-Device Training Under 256KB Memory, NeurIPS 2022",
    .needs = "nothing",
    .changes =
        "gradients, updates and optimizer state of the named parameters alone, and what these need; input "
        "gradients end at the first trained layer",
    .excludes = excluded,
    .wanted = wanted,
    .apply = apply,
};
