#include "price/obstacle.h"

#include "base/checked.h"
#include "model/operation.h"
#include "step/fusion.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Numbers are kept in stores: new ones go behind. */
enum {
    NONE,
    PRECISION,
    SCHEDULE,
    DEADLINE,
    CELLS,
    BATCH,
    PARTS,
    SPARSE,
    ZEROS,
    COLUMNS,
    PREDICTED,
    SOMETIMES,
    PRUNED,
    OPTIMIZER,
    KIND,
    CAUSAL,
    HEADS,
    FUSED,
    OFF_CHIP,
    OF_STEPS,
    OF_BUILD = 64 /* behind it those of a build's keys, in their order */
};
static const char *const keys[OF_STEPS] = {[NONE] = "yes",
                                           [PRECISION] = "precision",
                                           [SCHEDULE] = "precision_schedule",
                                           [DEADLINE] = "dvfs",
                                           [CELLS] = "memory",
                                           [BATCH] = "batch",
                                           [PARTS] = "ratio",
                                           [SPARSE] = "sparsity.weights",
                                           [ZEROS] = "sparsity",
                                           [COLUMNS] = "flat_gemm",
                                           [PREDICTED] = "predicted_gradients",
                                           [SOMETIMES] = "exit",
                                           [PRUNED] = "pruning",
                                           [OPTIMIZER] = "optimizer",
                                           [KIND] = "layers.kind",
                                           [CAUSAL] = "layers.causal",
                                           [HEADS] = "layers.kv_heads",
                                           [FUSED] = "build.fusion",
                                           [OFF_CHIP] = "build.off_chip_over_bytes"};
const uint32_t tn_off_chip_obstacle = OFF_CHIP;

const char *tn_obstacle_key(uint32_t obstacle, char text[TN_OBSTACLE_TEXT]) {
    if (obstacle < OF_STEPS) return keys[obstacle];
    if (obstacle < OF_BUILD || obstacle - OF_BUILD >= tn_build_schema.count) return "unknown";
    snprintf(text, TN_OBSTACLE_TEXT, "build.%s", tn_build_schema.field[obstacle - OF_BUILD].key);
    return text;
}

uint32_t tn_obstacle_of_key(const char *key) {
    for (uint32_t i = 0; i < OF_STEPS; i++)
        if (strcmp(keys[i], key) == 0) return i;
    for (uint32_t i = 0; i < tn_build_schema.count; i++)
        if (strncmp(key, "build.", 6) == 0 && strcmp(tn_build_schema.field[i].key, key + 6) == 0)
            return OF_BUILD + i;
    return UINT32_MAX;
}

/* ---- a build ---- */

static bool takes(const tn_field *key, uint64_t value) {
    const uint32_t as = tn_build_key_of(key)->generated_as;
    if (as == TN_GENERATED_ANY) return true;
    if (key->type == TN_FIELD_CHOICE) return as >> value & 1;
    if (as == TN_GENERATED_ONE) return value == 1;
    return as == TN_GENERATED_POWERS && (value & (value - 1)) == 0 && value <= TN_GENERATED_ELEMENTS_MOST;
}

/* The place of the first key with another value than is generated; as many as there are: none. */
static uint32_t find_key(const tn_build *build) {
    uint32_t i = 0;
    while (i < tn_build_schema.count &&
           takes(&tn_build_schema.field[i], tn_build_value(build, &tn_build_schema.field[i])))
        i++;
    return i;
}

/* Each block that the kernel takes at once lies in words of so many elements at most, or in as many banks. */
static bool has_long_blocks(const tn_build *build) {
    const uint64_t edge[] = {build->rows, build->columns, build->reduction};
    for (int i = 0; i < 3; i++)
        if (edge[i] * edge[(i + 1) % 3] > TN_GENERATED_ELEMENTS_MOST) return true;
    return false;
}

/* Rows of sums leave an array where no stage is. */
static bool fuses_behind_array(const tn_build *build) {
    return build->array == TN_ARRAY_SYSTOLIC && build->fusion != TN_FUSION_NONE;
}

uint32_t tn_build_obstacle(const tn_build *build) {
    const uint32_t place = find_key(build);
    if (place < tn_build_schema.count) return OF_BUILD + place;
    if (fuses_behind_array(build)) return tn_obstacle_of_key("build.array");
    return has_long_blocks(build) ? OF_BUILD : NONE; /* its first key: rows */
}

static tn_status check_build(const tn_build *build, bool alone, tn_error *error) {
    const uint32_t place = find_key(build);
    if (place == tn_build_schema.count && fuses_behind_array(build))
        return tn_fail(error, TN_INPUT,
                       "build.array: systolic has no template for build.fusion behind it; set fusion to none");
    if (place == tn_build_schema.count && !has_long_blocks(build)) {
        if (!alone || build->off_chip_over_bytes == 0) return TN_OK;
        return tn_fail(error, TN_INPUT,
                       "build.off_chip_over_bytes is %" PRIu64
                       ", of which there are no templates for a layer alone; set it to 0",
                       build->off_chip_over_bytes);
    }
    if (place == tn_build_schema.count)
        return tn_fail(error, TN_INPUT,
                       "build.rows, columns and reduction make blocks of too many elements; the templates "
                       "take at most %d",
                       TN_GENERATED_ELEMENTS_MOST);
    const tn_field *key = &tn_build_schema.field[place];
    const uint64_t value = tn_build_value(build, key);
    const uint32_t as = tn_build_key_of(key)->generated_as;
    if (key->type == TN_FIELD_COUNT && as == TN_GENERATED_POWERS)
        return tn_fail(error, TN_INPUT,
                       "build.%s is %" PRIu64 "; generated hardware takes powers of two up to %d", key->key,
                       value, TN_GENERATED_ELEMENTS_MOST);
    if (key->type == TN_FIELD_CHOICE)
        return tn_fail(error, TN_INPUT, "build.%s is %s, of which there are no templates; set it to %s",
                       key->key, key->choices[value], key->choices[__builtin_ctz(as)]);
    return tn_fail(error, TN_INPUT, "build.%s is %" PRIu64 ", of which there are no templates; set it to 1",
                   key->key, value);
}

/* ---- a step ---- */

static bool is_shaped(const tn_operation *operation) {
    static const bool shaped[TN_SHAPES] = {
        [TN_SHAPE_PRODUCT] = true, [TN_SHAPE_LOOKUP] = true, [TN_SHAPE_SCATTER] = true,
        [TN_SHAPE_ADD] = true,     [TN_SHAPE_MAP] = true,    [TN_SHAPE_SUM] = true,
        [TN_SHAPE_SCORES] = true,  [TN_SHAPE_ROWS] = true,   [TN_SHAPE_LOSS] = true,
        [TN_SHAPE_UPDATE] = true};
    return shaped[tn_operation_rows[operation->kind].shape] && tn_operation_has_lane(operation->kind);
}

static bool takes_a_precision(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return operation->arithmetic != NULL;
}
static bool takes_a_part(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return operation->partial != NULL;
}
static bool takes_what_stays(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return operation->gather != NULL;
}
static bool is_of_some_steps(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return operation->times > 0;
}
static bool takes_few_elements(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return operation->live > 0;
}
static bool passes_over_zeros(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return operation->cycle_ratio > 0 && operation->cycle_ratio != 1;
}
static bool is_in_columns(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return operation->column_block > 0;
}
static bool is_predictor(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return operation->predictor != NULL;
}
static bool is_other_update(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return tn_operation_is_update(operation) && !is_shaped(operation);
}
static bool is_other_kind(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return !tn_operation_is_update(operation) && !is_shaped(operation);
}
static bool is_under_a_mask(const tn_step *step, const tn_operation *operation) {
    return operation->attention && step->layer[operation->layer].causal;
}
static bool shares_heads(const tn_step *step, const tn_operation *operation) {
    return operation->attention && step->layer[operation->layer].group > 1;
}
static bool is_norm_of_heads(const tn_step *step, const tn_operation *operation) {
    return tn_operation_rows[operation->kind].of_heads &&
           operation->rows > step->layer[operation->layer].tokens * step->batch;
}
static bool writes_back_otherwise(const tn_step *step, const tn_operation *operation) {
    uint32_t stages, added[TN_FUSED_ADDED];
    (void)step;
    return operation->fused_count > 0 && !tn_fused_stages(operation, &stages, added);
}

static bool takes_windows(const tn_step *step, const tn_operation *operation) {
    (void)step;
    return operation->window != NULL;
}

/* In the order in which they are told. */
static const struct {
    uint32_t obstacle;
    bool (*is)(const tn_step *step, const tn_operation *operation);
    const char *does; /* of the layer, for people */
} unbuilt[] = {
    {PRECISION, takes_a_precision, "multiplies in a precision of its own, which no template does"},
    {PARTS, takes_a_part, "takes a part of an array, which no template does"},
    {PRUNED, takes_what_stays, "takes a part of an array, which no template does"},
    {PREDICTED, is_predictor, "predicts gradients, which no template does"},
    {SOMETIMES, is_of_some_steps, "is done in some steps, or for some inputs, which no template does"},
    {SPARSE, takes_few_elements, "multiplies a sparse parameter, which no template does"},
    {ZEROS, passes_over_zeros, "passes over zeros, which no template does"},
    {COLUMNS, is_in_columns, "computes its columns in blocks, which no template does"},
    {OPTIMIZER, is_other_update, "has an update of no template; train with optimizer: sgd"},
    {KIND, takes_windows, "takes windows of pictures, which no template does"},
    {KIND, is_other_kind, NULL},
    {CAUSAL, is_under_a_mask, "attention with a causal mask has no template"},
    {HEADS, shares_heads, "attention with fewer kv_heads than heads has no template"},
    {HEADS, is_norm_of_heads, "a norm of heads has no template"},
    {FUSED, writes_back_otherwise, NULL},
};
enum { UNBUILT = sizeof unbuilt / sizeof *unbuilt };

static uint32_t array_obstacle(const tn_array *array) {
    if (array->live > 0 || array->part == TN_PART_MASK) return SPARSE;
    if (tn_array_is_predictor(array)) return PREDICTED;
    if (array->is_part) return PARTS;
    return array->exit > 0 ? SOMETIMES : NONE;
}

/* The format that is not FP32; NULL: all are. */
static const tn_number_format *find_format(const tn_step *step, const char **what) {
    static const char *const names[TN_VALUES] = {[TN_VALUE_WEIGHT] = "weights",
                                                 [TN_VALUE_ACTIVATION] = "activations",
                                                 [TN_VALUE_GRADIENT] = "gradients"};
    *what = "sums";
    if (!tn_number_format_same(&step->formats->accumulate, &tn_fp32)) return &step->formats->accumulate;
    for (int value = 0; value < TN_VALUES; value++) {
        *what = names[value];
        if (!tn_number_format_same(&step->formats->operand[value], &tn_fp32))
            return &step->formats->operand[value];
    }
    return NULL;
}

/* Of the step as a whole. */
static uint32_t whole_obstacle(const tn_step *step) {
    const char *what;
    if (find_format(step, &what)) return PRECISION;
    if (step->schedule) return SCHEDULE;
    if (step->deadline_us > 0) return DEADLINE;
    return step->retention_us > 0 ? CELLS : NONE;
}

/* The first operation, and which of its facts. */
static int find_operation(const tn_step *step, uint32_t *operation) {
    for (*operation = 0; *operation < step->operations; ++*operation)
        for (int i = 0; i < UNBUILT; i++)
            if (unbuilt[i].is(step, &step->operation[*operation])) return i;
    return UNBUILT;
}

uint32_t tn_step_obstacle(const tn_step *step) {
    uint32_t obstacle = whole_obstacle(step), operation;
    if (obstacle != NONE) return obstacle;
    const int fact = find_operation(step, &operation);
    if (fact < UNBUILT) return unbuilt[fact].obstacle;
    for (uint32_t a = 0; a < step->arrays && obstacle == NONE; a++)
        obstacle = array_obstacle(&step->array[a]);
    return obstacle == NONE && step->batch != 1 ? BATCH : obstacle;
}

static tn_status check_whole(const tn_step *step, tn_error *error) {
    const char *what;
    const tn_number_format *format = find_format(step, &what);
    char name[TN_NUMBER_FORMAT_NAME];
    if (format) {
        tn_number_format_name(format, name);
        return tn_fail(error, TN_INPUT, "%s in %s; the templates compute in fp32 alone: set precision=fp32",
                       what, name);
    }
    static const char *const said[OF_STEPS] = {
        [SCHEDULE] = "formats that change during a run have no template; leave precision_schedule out",
        [DEADLINE] = "a clock that follows the work has no template; leave the deadline (dvfs) out",
        [CELLS] = "cells that are refreshed have no template; leave memory out"};
    const uint32_t obstacle = whole_obstacle(step);
    return obstacle == NONE ? TN_OK : tn_fail(error, TN_INPUT, "%s", said[obstacle]);
}

static tn_status check_operations(const tn_step *step, uint32_t only, tn_arena *arena, tn_error *error) {
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        const char *layer = step->layer[operation->layer].name, *text;
        if (only != UINT32_MAX && operation->layer != only) continue;
        for (int k = 0; k < UNBUILT; k++) {
            const uint32_t obstacle = unbuilt[k].obstacle;
            if (only != UINT32_MAX && obstacle == OPTIMIZER) continue; /* it takes steps of SGD, or none */
            if (!unbuilt[k].is(step, operation)) continue;
            if (obstacle == KIND)
                return tn_fail(error, TN_INPUT, "%s: %s has no template", layer,
                               tn_operation_rows[operation->kind].kernel);
            if (obstacle != FUSED) return tn_fail(error, TN_INPUT, "%s: %s", layer, unbuilt[k].does);
            TN_TRY(tn_fused_text(step, operation, arena, &text, error));
            return tn_fail(
                error, TN_INPUT,
                "%s: build.fusion has no template for a product that does \"%s\" as it writes; set "
                "it to additions, or none",
                layer, text);
        }
    }
    return TN_OK;
}

static tn_status check_arrays(const tn_step *step, tn_error *error) {
    static const char *const what[OF_STEPS] = {[SPARSE] = "a sparse parameter",
                                               [PREDICTED] = "a predictor of gradients",
                                               [PARTS] = "a part of a weight",
                                               [SOMETIMES] = "an early exit"};
    for (uint32_t a = 0; a < step->arrays; a++) {
        const uint32_t obstacle = array_obstacle(&step->array[a]);
        if (obstacle != NONE)
            return tn_fail(error, TN_INPUT, "%s has %s, of which there are no templates",
                           step->layer[step->array[a].layer].name, what[obstacle]);
    }
    return TN_OK;
}

tn_status tn_obstacle_check(const tn_step *step, const tn_build *build, uint32_t layer, tn_arena *arena,
                            tn_error *error) {
    const bool alone = layer != UINT32_MAX && step->layer[layer].family == TN_LAYER_LINEAR;
    TN_TRY(check_build(build, alone, error));
    TN_TRY(check_whole(step, error));
    TN_TRY(check_operations(step, layer, arena, error));
    TN_TRY(check_arrays(step, error));
    if (alone || step->batch == 1) return TN_OK;
    return tn_fail(error, TN_INPUT, "batch %" PRIu64 "; the step is generated for one example", step->batch);
}
