#include "step/builder.h"

#include "base/checked.h"
#include "model/operation.h"

#include <inttypes.h>
#include <string.h>

/* Doubles an arena array of `size`-byte items; the old one stays behind in the arena. */
static tn_status grow(tn_builder *b, void *items, size_t count, size_t capacity, size_t size) {
    void *grown, *old;
    memcpy(&old, items, sizeof old);
    TN_TRY(tn_arena_alloc(b->arena, capacity, size, &grown, b->error));
    if (count) memcpy(grown, old, count * size);
    memcpy(items, &grown, sizeof grown);
    return TN_OK;
}

enum { FIRST_CAPACITY = 512, COUNT_MOST = UINT32_MAX / 2 };

static tn_status room_for_array(tn_builder *b) {
    tn_step *step = b->step;
    if (step->arrays < b->array_capacity) return TN_OK;
    if (step->arrays >= COUNT_MOST) return tn_fail(b->error, TN_LIMIT, "a step of more than 2^31 arrays");
    size_t capacity = b->array_capacity ? 2 * b->array_capacity : FIRST_CAPACITY;
    TN_TRY(grow(b, &step->array, step->arrays, capacity, sizeof *step->array));
    b->array_capacity = capacity;
    return TN_OK;
}

static tn_status room_for_operation(tn_builder *b) {
    tn_step *step = b->step;
    if (step->operations < b->operation_capacity) return TN_OK;
    if (step->operations >= COUNT_MOST)
        return tn_fail(b->error, TN_LIMIT, "a step of more than 2^31 operations");
    size_t capacity = b->operation_capacity ? 2 * b->operation_capacity : FIRST_CAPACITY;
    TN_TRY(grow(b, &step->operation, step->operations, capacity, sizeof *step->operation));
    b->operation_capacity = capacity;
    return TN_OK;
}

tn_status tn_builder_array(tn_builder *b, tn_array_part part, uint32_t number, tn_array_role role,
                           uint64_t elements, uint32_t *array) {
    TN_TRY(room_for_array(b));
    *array = b->step->arrays++;
    b->step->array[*array] = (tn_array){.part = part,
                                        .number = number,
                                        .role = role,
                                        .layer = b->layer_index,
                                        .elements = elements,
                                        .first = TN_NONE};
    return TN_OK;
}

tn_status tn_builder_matrix(tn_builder *b, tn_array_part part, tn_array_role role, uint64_t rows,
                            uint64_t columns, uint32_t *array) {
    uint64_t elements;
    if (!tn_mul(rows, columns, &elements))
        return tn_fail(b->error, TN_OVERFLOW,
                       "%s of layer %s, %" PRIu64 " x %" PRIu64 ", has more than 2^64 elements",
                       tn_array_part_names[part], tn_builder_layer(b)->name, rows, columns);
    return tn_builder_array(b, part, 0, role, elements, array);
}

static uint32_t states(const tn_builder *b) {
    return tn_optimizer_rows[b->model->keys.optimizer].states;
}

/* Arrays that lie one behind the other for each parameter. */
static uint32_t arrays_per_parameter(const tn_builder *b) {
    return 2 + states(b);
}

static tn_status count_parameter(tn_builder *b, uint64_t elements, uint64_t state) {
    tn_step *step = b->step;
    tn_step_layer *layer = &step->layer[b->layer_index];
    if (tn_add(layer->parameters, elements, &layer->parameters) &&
        tn_add(step->parameters, elements, &step->parameters) &&
        tn_add(step->optimizer_elements, state, &step->optimizer_elements))
        return TN_OK;
    return tn_fail(b->error, TN_OVERFLOW, "the model has more than 2^64 parameters");
}

tn_status tn_builder_add_parameter(tn_builder *b, tn_array_part part, uint32_t number, uint64_t elements,
                                   bool is_core) {
    tn_layer_arrays *made = tn_builder_made(b);
    uint64_t state = 0;
    uint32_t array, other;
    if (!tn_mul(elements, states(b), &state))
        return tn_fail(b->error, TN_OVERFLOW, "optimizer state of more than 2^64 elements");
    TN_TRY(count_parameter(b, elements, state));
    TN_TRY(tn_builder_array(b, part, number, TN_ARRAY_PARAMETER, elements, &array));
    TN_TRY(tn_builder_array(b, part, number, TN_ARRAY_GRADIENT, elements, &other));
    for (uint32_t i = 0; i < states(b); i++)
        TN_TRY(tn_builder_array(b, part, number, TN_ARRAY_OPTIMIZER, elements, &other));
    for (uint32_t i = array; i <= other; i++) b->step->array[i].is_core = is_core;
    if (made->parameters++ == 0) made->first_parameter = array;
    return TN_OK;
}

uint32_t tn_builder_parameter(const tn_builder *b, uint32_t i) {
    return tn_builder_made(b)->first_parameter + i * arrays_per_parameter(b);
}

uint32_t tn_builder_parameter_gradient(const tn_builder *b, uint32_t i) {
    return tn_builder_parameter(b, i) + 1;
}

void tn_builder_anew(tn_builder *b, const tn_operation **earlier, uint32_t *operations) {
    *earlier = b->step->operation;
    *operations = b->step->operations;
    b->step->operation = NULL;
    b->step->operations = 0;
    b->operation_capacity = 0;
}

tn_status tn_builder_keep(tn_builder *b, const tn_operation *given) {
    TN_TRY(room_for_operation(b));
    b->step->operation[b->step->operations++] = *given;
    return TN_OK;
}

tn_status tn_builder_add(tn_builder *b, const tn_operation *given) {
    tn_operation operation = *given;
    operation.layer = b->layer_index;
    if (operation.batch == 0) operation.batch = 1;
    if (operation.reduction == 0) operation.reduction = 1;
    return tn_builder_keep(b, &operation);
}

/* target += other */
static tn_status add_in_place(tn_builder *b, uint32_t target, uint32_t other, uint64_t rows,
                              uint64_t columns) {
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_ADD,
                                             .phase = TN_INPUT_GRADIENT,
                                             .rows = rows,
                                             .columns = columns,
                                             .read_count = 2,
                                             .reads = {target, other},
                                             .write_count = 1,
                                             .writes = {target}});
}

tn_status tn_builder_contribute(tn_builder *b, uint32_t target, uint32_t gradient, bool is_free) {
    tn_layer_arrays *made = &b->made[target];
    const tn_layer *layer = &b->model->layer[target];
    uint32_t before = made->gradient;
    if (before == TN_NONE) {
        made->gradient = gradient;
        made->gradient_is_free = is_free;
        return TN_OK;
    }
    if (made->gradient_is_free) return add_in_place(b, before, gradient, layer->tokens, layer->width);
    made->gradient_is_free = true;
    if (is_free) {
        made->gradient = gradient;
        return add_in_place(b, gradient, before, layer->tokens, layer->width);
    }
    TN_TRY(tn_builder_matrix(b, TN_PART_GRADIENT_SUM, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &made->gradient));
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_ADD,
                                             .phase = TN_INPUT_GRADIENT,
                                             .rows = layer->tokens,
                                             .columns = layer->width,
                                             .read_count = 2,
                                             .reads = {before, gradient},
                                             .write_count = 1,
                                             .writes = {made->gradient}});
}

const tn_layer *tn_builder_layer(const tn_builder *b) {
    return &b->model->layer[b->layer_index];
}

tn_layer_arrays *tn_builder_made(const tn_builder *b) {
    return &b->made[b->layer_index];
}

const tn_layer *tn_builder_input_layer(const tn_builder *b, uint32_t input) {
    return &b->model->layer[tn_builder_layer(b)->input[input]];
}

uint32_t tn_builder_input(const tn_builder *b, uint32_t input) {
    return b->made[tn_builder_layer(b)->input[input]].output;
}

bool tn_builder_input_learns(const tn_builder *b, uint32_t input) {
    return tn_builder_input_layer(b, input)->learns;
}

/* What arrays hold, weights, activations or gradients, and in which format they are kept. */

/* What an operation makes is of the last kind in the chain weights, activations, gradients that it reads; a loss makes
 * gradients. Between layers nothing is a weight. */
tn_status tn_builder_values(tn_builder *b, const tn_operation *operation, uint32_t operations) {
    tn_step *step = b->step;
    for (uint32_t i = 0; i < step->arrays; i++) {
        tn_array_role role = step->array[i].role;
        step->array[i].value = role == TN_ARRAY_ACTIVATION || role == TN_ARRAY_CACHE     ? TN_VALUE_ACTIVATION
                               : step->array[i].part == TN_PART_MASK                     ? TN_VALUE_WEIGHT
                               : role == TN_ARRAY_GRADIENT || role == TN_ARRAY_OPTIMIZER ? TN_VALUE_GRADIENT
                                                                                         : TN_VALUE_WEIGHT;
    }
    for (uint32_t i = 0; i < operations; i++) {
        const tn_operation *o = &operation[i];
        uint32_t value = o->kind == TN_OP_CROSS_ENTROPY ? TN_VALUE_GRADIENT : TN_VALUE_WEIGHT;
        if (o->phase == TN_UPDATE) continue;
        for (uint32_t k = 0; k < o->read_count; k++)
            value = tn_greatest(value, step->array[o->reads[k]].value);
        for (uint32_t k = 0; k < o->write_count; k++) {
            tn_array *array = &step->array[o->writes[k]];
            array->value = tn_greatest(array->value, value);
        }
    }
    return TN_OK;
}

/* An array that products alone read is kept as they take it; rounding it where it is written or read is the same. */
tn_status tn_builder_formats(tn_builder *b) {
    tn_step *step = b->step;
    bool *other;
    TN_TRY(tn_builder_values(b, step->operation, step->operations));
    TN_TRY(TN_NEW(b->arena, step->arrays, &other, b->error));
    for (uint32_t i = 0; i < step->operations; i++)
        for (uint32_t k = 0; k < step->operation[i].read_count; k++)
            other[step->operation[i].reads[k]] |=
                step->operation[i].kind != TN_OP_PRODUCT || k >= TN_PRODUCT_OPERANDS;
    for (uint32_t i = 0; i < step->arrays; i++) {
        tn_array *array = &step->array[i];
        bool read = b->formatted && !other[i] && array->last > array->first;
        if (array->part == TN_PART_MASK) {
            array->format = &tn_bit;
            continue;
        }
        array->format = read ? &step->formats->operand[array->value] : &step->formats->accumulate;
    }
    return TN_OK;
}
