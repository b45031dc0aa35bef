#include "design/handover.h"

#include "base/checked.h"
#include "memory/laid_arrays.h"
#include "memory/pool.h"
#include "price/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tn_workload *workload;
    const tn_build *build;
    const tn_plan *plan;
    const tn_map *map;
    tn_handover *out;
    tn_arena *arena;
    tn_error *error;
    uint32_t *first;      /* [map memories]: the first of its memories in the list */
    uint64_t *copy_depth; /* [map memories]: rows of one copy */
    uint64_t *slot_rows;  /* [map slots]: rows of a slot */
    uint64_t *slot_at;    /* [map slots]: its first row */
    const tn_laid *laid;  /* NULL: elements lie in C order, row behind row */
} maker;

/* ---- memories ---- */

static uint64_t group_of(const maker *builder, uint32_t m) {
    return builder->out->why->memory[m].placed.place.group;
}

static uint64_t row_elements(const maker *builder, uint32_t m) {
    const tn_placed *placed = &builder->out->why->memory[m].placed;
    return placed->banks * placed->width_bits / builder->out->element_bits;
}

static tn_status list_memory(maker *builder, uint32_t m, uint64_t copies) {
    const tn_memory_line *line = &builder->out->why->memory[m];
    const tn_placed *placed = &line->placed;
    tn_handed_memory *made = &builder->out->memory[builder->out->memories];
    *made = (tn_handed_memory){.holds = line->name,
                               .style = placed->place.style,
                               .split = placed->place.split,
                               .staging = builder->map->memory[m].staging,
                               .banks = placed->banks,
                               .width_bits = placed->width_bits,
                               .depth = builder->copy_depth[m] * copies,
                               .row_elements = row_elements(builder, m),
                               .read_ports = builder->build->read_ports};
    tn_blocks bank;
    const uint64_t own_bits = builder->map->memory[m].word_bits,
                   word_bits = own_bits > 0 ? own_bits : builder->out->element_bits;
    uint64_t rows;
    TN_TRY(tn_bank_blocks(builder->workload->device, made->style, word_bits, made->width_bits, made->depth,
                          &bank, &rows, builder->error));
    uint64_t times = made->banks * made->read_ports;
    made->blocks =
        (tn_blocks){bank.bram18 * times, bank.bram36 * times, bank.uram * times, bank.lutram * times};
    return tn_arena_format(builder->arena, &made->name, builder->error, "m%" PRIu32,
                           builder->out->memories++);
}

static tn_status list_memories(maker *builder) {
    const tn_map *map = builder->map;
    uint64_t count = 0;
    for (uint32_t m = 0; m < map->memories; m++)
        count += tn_ceil_div(map->memory[m].copies, group_of(builder, m));
    TN_TRY(TN_NEW(builder->arena, map->memories, &builder->first, builder->error));
    TN_TRY(TN_NEW(builder->arena, map->memories, &builder->copy_depth, builder->error));
    TN_TRY(TN_NEW(builder->arena, count, &builder->out->memory, builder->error));
    for (uint32_t m = 0; m < map->memories; m++) {
        uint64_t copies = map->memory[m].copies, group = group_of(builder, m);
        builder->first[m] = builder->out->memories;
        builder->copy_depth[m] = builder->out->why->memory[m].placed.depth / group;
        for (uint64_t done = 0; done < copies; done += group)
            TN_TRY(list_memory(builder, m, tn_least(group, copies - done)));
    }
    return TN_OK;
}

/* ---- where arrays lie ---- */

/* Rows of its memory that an array takes. */
static uint64_t rows_of(const maker *builder, uint32_t array) {
    if (builder->laid && builder->laid->depth[array]) return builder->laid->depth[array];
    return tn_ceil_div(builder->out->step->array[array].elements,
                       row_elements(builder, builder->map->memory_of[array]));
}

/* The slots of a pooled memory lie one behind the other, in the order of their numbers. */
static tn_status place_slots(maker *builder) {
    const tn_map *map = builder->map;
    const tn_step *step = builder->out->step;
    uint64_t *next;
    uint32_t *memory;
    TN_TRY(TN_NEW(builder->arena, map->slots, &builder->slot_rows, builder->error));
    TN_TRY(TN_NEW(builder->arena, map->slots, &builder->slot_at, builder->error));
    TN_TRY(TN_NEW(builder->arena, map->slots, &memory, builder->error));
    TN_TRY(TN_NEW(builder->arena, map->memories, &next, builder->error));
    for (uint32_t i = 0; i < map->slots; i++) memory[i] = TN_HANDED_NONE;
    for (uint32_t i = 0; i < step->arrays; i++) {
        uint32_t slot = map->slot_of[i], m = map->memory_of[i];
        if (slot == UINT32_MAX || m == UINT32_MAX || map->memory[m].grouped) continue;
        uint64_t rows = rows_of(builder, i);
        if (rows > builder->slot_rows[slot]) builder->slot_rows[slot] = rows;
        memory[slot] = m;
    }
    for (uint32_t slot = 0; slot < map->slots; slot++) {
        if (memory[slot] == TN_HANDED_NONE) continue;
        builder->slot_at[slot] = next[memory[slot]];
        next[memory[slot]] += builder->slot_rows[slot];
    }
    return TN_OK;
}

static void place_array(maker *builder, uint32_t i) {
    const tn_map *map = builder->map;
    tn_handed_array *made = &builder->out->array[i];
    uint32_t m = map->memory_of[i];
    made->memory = TN_HANDED_NONE;
    if (m == UINT32_MAX) return;
    uint64_t group = group_of(builder, m), copy = map->copy_of[i];
    made->memory = builder->first[m] + (uint32_t)(copy / group);
    made->offset = copy % group * builder->copy_depth[m];
    if (map->slot_of[i] != UINT32_MAX && !map->memory[m].grouped)
        made->offset += builder->slot_at[map->slot_of[i]];
    made->rows = rows_of(builder, i);
    builder->out->memory[made->memory].arrays++;
}

/* ---- shapes ---- */

static tn_status add_axis(maker *builder, const tn_program *program, uint32_t index, tn_handed_array *made) {
    made->shape[made->axes] = program->index_size[index];
    return tn_arena_format(builder->arena, &made->axis[made->axes++], builder->error, "i%" PRIu32, index);
}

/* Of a core that words are looked up in the program knows the slice of every token; the array holds one for each value of the
 * core's digit of a word's number, one behind the other. */
static tn_status shape_as_slices(maker *builder, const tn_program *program, const tn_indices *indices,
                                 tn_handed_array *made) {
    uint64_t elements = 1;
    if (made->role != tn_array_role_names[TN_ARRAY_PARAMETER] &&
        made->role != tn_array_role_names[TN_ARRAY_GRADIENT])
        return TN_OK;
    for (uint32_t a = 0; a < indices->count; a++)
        if (indices->index[a] != TN_LOOKUP_TOKEN) elements *= program->index_size[indices->index[a]];
    if (made->elements % elements) return TN_OK;
    made->axis[0] = "slice";
    made->shape[0] = made->elements / elements;
    made->axes = 1;
    for (uint32_t a = 0; a < indices->count; a++)
        if (indices->index[a] != TN_LOOKUP_TOKEN) TN_TRY(add_axis(builder, program, indices->index[a], made));
    return TN_OK;
}

static tn_status shape_as_tensor(maker *builder, const tn_program *program, uint32_t tensor,
                                 tn_handed_array *made) {
    const tn_program_tensor *program_tensor = &program->tensor[tensor];
    if (program_tensor->indices.count > TN_HANDED_AXES) return TN_OK;
    if (program_tensor->elements != made->elements)
        return shape_as_slices(builder, program, &program_tensor->indices, made);
    for (uint32_t a = 0; a < program_tensor->indices.count; a++)
        TN_TRY(add_axis(builder, program, program_tensor->indices.index[a], made));
    return TN_OK;
}

/* A part of a gradient, or what was cut out for it. */
static tn_status shape_as_part(maker *builder, const tn_operation *operation) {
    const tn_partial *partial = operation->partial;
    const tn_program *program = builder->out->step->layer[operation->layer].program;
    const tn_indices *indices = &program->tensor[partial->tensor].indices;
    tn_handed_array *made = &builder->out->array[operation->writes[0]];
    if (made->axes || indices->count > TN_HANDED_AXES) return TN_OK;
    for (uint32_t a = 0; a < indices->count; a++) {
        TN_TRY(add_axis(builder, program, indices->index[a], made));
        if (indices->index[a] == partial->index) made->shape[a] = partial->kept;
    }
    return TN_OK;
}

static void shape_as_matrix(const tn_operation *operation, tn_handed_array *made, uint64_t rows,
                            uint64_t columns) {
    const uint64_t factor[] = {operation->batch, rows, columns};
    uint64_t elements;
    if (made->axes || !tn_product(factor, 3, &elements) || elements != made->elements) return;
    if (operation->batch > 1) {
        made->axis[made->axes] = "batch";
        made->shape[made->axes++] = operation->batch;
    }
    made->axis[made->axes] = "row";
    made->shape[made->axes++] = rows;
    made->axis[made->axes] = "column";
    made->shape[made->axes++] = columns;
}

/* Of an operation's operands: tensors of its layer's program as that has them, others as rows x columns. */
static tn_status shape_operands(maker *builder, const tn_operation *operation) {
    const tn_program *program = builder->out->step->layer[operation->layer].program;
    tn_handed_array *array = builder->out->array;
    const uint32_t *reads = operation->reads, *writes = operation->writes;
    if (operation->partial) TN_TRY(shape_as_part(builder, operation));
    if (operation->kind == TN_OP_PRODUCT && operation->program_step && program) {
        const tn_program_step *step = operation->program_step;
        if (!array[reads[0]].axes) TN_TRY(shape_as_tensor(builder, program, step->a, &array[reads[0]]));
        if (!array[reads[1]].axes) TN_TRY(shape_as_tensor(builder, program, step->b, &array[reads[1]]));
        if (!array[writes[0]].axes) TN_TRY(shape_as_tensor(builder, program, step->out, &array[writes[0]]));
    }
    if (operation->kind == TN_OP_PRODUCT) {
        shape_as_matrix(operation, &array[reads[0]], operation->rows, operation->reduction);
        shape_as_matrix(operation, &array[reads[1]], operation->reduction, operation->columns);
        shape_as_matrix(operation, &array[writes[0]], operation->rows, operation->columns);
        return TN_OK;
    }
    for (uint32_t k = 0; k < operation->read_count; k++)
        shape_as_matrix(operation, &array[reads[k]], operation->rows, operation->columns);
    for (uint32_t k = 0; k < operation->write_count; k++)
        shape_as_matrix(operation, &array[writes[k]], operation->rows, operation->columns);
    return TN_OK;
}

static tn_status list_arrays(maker *builder) {
    const tn_step *step = builder->out->step;
    TN_TRY(TN_NEW(builder->arena, step->arrays, &builder->out->array, builder->error));
    builder->out->arrays = step->arrays;
    const tn_array_layout *layout;
    TN_TRY(tn_array_layouts_tell(builder->workload, builder->plan, builder->arena, &layout, builder->error));
    for (uint32_t i = 0; i < step->arrays; i++) {
        const tn_array *array = &step->array[i];
        tn_handed_array *made = &builder->out->array[i];
        *made = (tn_handed_array){.role = tn_array_role_names[array->role],
                                  .elements = array->elements,
                                  .first = array->first,
                                  .last = tn_array_last(step, i),
                                  .layout = layout ? &layout[i] : NULL};
        TN_TRY(tn_step_array_name(step, i, builder->arena, &made->name, builder->error));
        place_array(builder, i);
    }
    for (uint32_t i = 0; i < step->operations; i++) TN_TRY(shape_operands(builder, &step->operation[i]));
    for (uint32_t i = 0; i < step->arrays; i++) {
        tn_handed_array *made = &builder->out->array[i];
        if (made->axes) continue;
        made->axes = 1;
        made->shape[0] = made->elements;
        made->axis[0] = "element";
    }
    return TN_OK;
}

/* ---- operations ---- */

static tn_status list_operations(maker *builder) {
    const tn_step *step = builder->out->step;
    const tn_explanation *why = builder->out->why;
    TN_TRY(TN_NEW(builder->arena, step->operations, &builder->out->operation, builder->error));
    builder->out->operations = step->operations;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        builder->out->operation[i] = (tn_handed_operation){.name = step->layer[operation->layer].name,
                                                           .kind = tn_operation_rows[operation->kind].name,
                                                           .phase = tn_phase_names[operation->phase],
                                                           .operation = operation};
    }
    for (uint32_t i = 0; i < why->items; i++) {
        tn_handed_operation *made = &builder->out->operation[why->item[i].operation];
        made->kernel = why->kernel[why->item[i].kernel].name;
        made->start = why->item[i].start;
        made->finish = why->item[i].finish;
        made->critical = why->item[i].critical;
    }
    return TN_OK;
}

tn_status tn_handover_make(tn_workload *workload, const tn_build *build, const tn_explanation *why,
                           tn_arena *arena, tn_handover *handover, tn_error *error) {
    tn_plan *plan;
    TN_TRY(tn_workload_built(workload, build, &workload, error));
    *handover = (tn_handover){.step = workload->step, .why = why, .element_bits = workload->word_bits};
    TN_TRY(tn_workload_plan(workload, build, &plan, error));
    TN_TRY(tn_plan_lay(workload, plan, build, error));
    maker builder = {.workload = workload,
                     .build = build,
                     .plan = plan,
                     .map = &plan->map,
                     .laid = plan->laid,
                     .out = handover,
                     .arena = arena,
                     .error = error};
    TN_TRY(list_memories(&builder));
    TN_TRY(place_slots(&builder));
    TN_TRY(list_arrays(&builder));
    return list_operations(&builder);
}
