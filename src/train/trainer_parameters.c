/* The arrays of a trainer that stay: parameters, the optimizer's state, predictors, constants and the cache of decoding. */
#include "model/graph.h"
#include "train/trainer_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ALIGN_BYTES = 64 };

tn_status tn_aligned_memory(size_t bytes, void **memory, char **aligned, tn_error *error) {
    char *raw;
    TN_TRY(tn_alloc(bytes + ALIGN_BYTES, 1, &raw, error));
    *memory = raw;
    *aligned = raw + (ALIGN_BYTES - (uintptr_t)raw % ALIGN_BYTES) % ALIGN_BYTES;
    return TN_OK;
}

/* "core2", "bias", "weight": a table that is kept whole is a layer's weight too. */
static tn_status name_parameter(tn_trainer *t, const tn_array *array, tn_train_parameter *parameter,
                                tn_error *error) {
    const tn_step *step = &t->whole->lowered.step;
    const char *layer = step->layer[array->layer].name;
    const char *part = tn_array_part_names[array->part == TN_PART_TABLE ? TN_PART_WEIGHT : array->part];
    if (array->number)
        return tn_arena_format(&t->arena, &parameter->name, error, "%s.%s%" PRIu32, layer, part,
                               array->number);
    return tn_arena_format(&t->arena, &parameter->name, error, "%s.%s", layer, part);
}

static void shape_parameter(const tn_trainer *t, const tn_array *array, tn_train_parameter *parameter) {
    const tn_layer *layer = &t->model->layer[array->layer];
    const tn_step_layer *line = &t->whole->lowered.step.layer[array->layer];
    if (array->part == TN_PART_CORE) {
        parameter->axes = tn_weight_core_shape(line->weight, array->number - 1, parameter->shape);
        return;
    }
    const bool of_features = array->part == TN_PART_TAPS || array->part == TN_PART_DECAY,
               matrix = array->part == TN_PART_WEIGHT || array->part == TN_PART_TABLE || of_features;
    parameter->axes = matrix ? 2 : 1;
    parameter->shape[0] = array->elements;
    if (!matrix) return;
    parameter->shape[1] = of_features      ? array->elements / layer->width
                          : layer->columns ? layer->columns
                                           : layer->width;
    parameter->shape[0] = array->elements / parameter->shape[1];
}

static tn_status describe_parameter(tn_trainer *t, const tn_array *array, tn_train_parameter *parameter,
                                    tn_error *error) {
    const tn_layer_kind *kind = t->model->layer[array->layer].kind;
    *parameter = (tn_train_parameter){.elements = array->elements,
                                      .layer = array->layer,
                                      .is_core = array->is_core,
                                      .is_table = kind->family == TN_LAYER_EMBEDDING ||
                                                  kind->family == TN_LAYER_POSITIONS,
                                      .is_scale = array->part == TN_PART_SCALE,
                                      .is_decay = array->part == TN_PART_DECAY};
    TN_TRY(name_parameter(t, array, parameter, error));
    shape_parameter(t, array, parameter);
    return TN_OK;
}

static tn_status describe_predictor(tn_trainer *t, const tn_array *array, tn_train_parameter *predictor,
                                    tn_error *error) {
    *predictor = (tn_train_parameter){.axes = 1,
                                      .shape = {array->elements},
                                      .elements = array->elements,
                                      .layer = array->layer,
                                      .inputs = array->inputs};
    return tn_arena_format(&t->arena, &predictor->name, error, "%s.%s%" PRIu32,
                           t->whole->lowered.step.layer[array->layer].name, tn_array_part_names[array->part],
                           array->number);
}

/* The constant of rotary positions, as step/attention.c has it. */
static tn_status fill_rotations(tn_trainer *t, const tn_array *array, void *memory, tn_error *error) {
    const tn_layer *layer = &t->model->layer[array->layer];
    const uint64_t depth = layer->width / layer->heads, half = depth / 2;
    double *values;
    TN_TRY(TN_ALLOC(array->elements, &values, error));
    for (uint64_t p = 0; p < array->elements / depth; p++)
        for (uint64_t i = 0; i < half; i++) {
            double angle = (double)p * pow(layer->base, -2 * (double)i / (double)depth);
            values[p * depth + i] = cos(angle);
            values[p * depth + half + i] = sin(angle);
        }
    t->kernels->from_double(values, memory, array->elements);
    tn_free(values);
    return TN_OK;
}

static bool is_state(const tn_array *array) {
    return array->role == TN_ARRAY_OPTIMIZER && array->part != TN_PART_MASK && !tn_array_is_predictor(array);
}

/* What comes behind begins at a multiple of 64 bytes, unless it is another state of the same parameter. */
static size_t resident_bytes(const tn_trainer *t, uint32_t i) {
    const tn_step *step = &t->whole->lowered.step;
    const size_t bytes = step->array[i].elements * t->kernels->bytes;
    if (i + 1 < step->arrays && is_state(&step->array[i]) && is_state(&step->array[i + 1])) return bytes;
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* Values and states of all parameters in one piece of memory. */
tn_status tn_make_parameters(tn_trainer *t, tn_error *error) {
    const tn_step *step = &t->whole->lowered.step;
    size_t bytes = 0;
    char *memory;
    for (uint32_t i = 0; i < step->arrays; i++) {
        t->residents += t->whole->lowered.resident[i];
        t->parameters += step->array[i].role == TN_ARRAY_PARAMETER;
        t->predictors += tn_array_is_predictor(&step->array[i]);
        if (t->whole->lowered.resident[i]) bytes += resident_bytes(t, i);
    }
    TN_TRY(TN_NEW(&t->arena, t->residents, &t->resident, error));
    TN_TRY(TN_NEW(&t->arena, t->residents, &t->resident_parameter, error));
    TN_TRY(TN_NEW(&t->arena, t->parameters, &t->parameter, error));
    TN_TRY(TN_NEW(&t->arena, t->parameters, &t->initial, error));
    TN_TRY(tn_aligned_memory(bytes, &t->resident_memory, &memory, error));
    TN_TRY(TN_NEW(&t->arena, t->predictors, &t->predictor, error));
    size_t parameter = 0, resident = 0, predictor = 0;
    for (uint32_t i = 0; i < step->arrays; i++) {
        const tn_array *array = &step->array[i];
        if (!t->whole->lowered.resident[i]) continue;
        if (array->role == TN_ARRAY_PARAMETER) {
            TN_TRY(describe_parameter(t, array, &t->parameter[parameter], error));
            t->parameter[parameter++].values = memory;
        } else if (tn_array_is_predictor(array)) {
            TN_TRY(describe_predictor(t, array, &t->predictor[predictor], error));
            t->predictor[predictor++].values = memory;
        } else if (array->role == TN_ARRAY_CONSTANT) {
            TN_TRY(fill_rotations(t, array, memory, error));
        } else if (array->role == TN_ARRAY_CACHE) {
            t->resident_parameter[resident] = 0; /* of none: it begins with zeros, which are not read */
        } else if (is_state(array)) {            /* stands behind its parameter */
            tn_train_parameter *its = &t->parameter[parameter - 1];
            if (!its->state) its->state = memory;
            its->state_elements += array->elements;
        }
        if (array->role != TN_ARRAY_CACHE)
            t->resident_parameter[resident] = tn_array_is_predictor(array) ? predictor - 1 : parameter - 1;
        t->resident[resident++] = memory;
        memory += resident_bytes(t, i);
    }
    return TN_OK;
}
