#include "hardware/laid.h"

#include "base/checked.h"
#include "hardware/workload.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

/* What the search of a layer found for its demands. */
struct tn_laid_layer {
    const tn_program *program;
    tn_kernel_edges edges;
    tn_banking banking;
    const tn_layout_demand *demand; /* [program->tensors] */
    tn_layouts layouts;
    struct tn_laid_layer *next;
};

typedef struct {
    tn_workload *workload;
    const tn_step *step;
    const tn_map *map;
    const tn_build *build;
    tn_arena *arena;
    tn_error *error;
    tn_laid *laid;
    uint8_t *row_log; /* [memories] */
} layer_out;

tn_banking tn_split_banking(uint32_t split) {
    static const tn_banking banking[] = {[TN_SPLIT_PARTITION] = TN_BANKING_SKEW,
                                         [TN_SPLIT_RESHAPE] = TN_BANKING_WORD,
                                         [TN_SPLIT_BANKS] = TN_BANKING_ROWS,
                                         [TN_SPLIT_AUTO] = TN_BANKING_AUTO};
    return banking[split];
}

static uint64_t greater(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* ---- rows of memories ---- */

static bool is_update(const tn_operation *operation) {
    return operation->kind == TN_OP_UPDATE_SGD || operation->kind == TN_OP_UPDATE_MOMENTUM ||
           operation->kind == TN_OP_UPDATE_ADAM;
}

/* Raises what an update goes through to the widest of it; true if anything changed. */
static bool even_out(layer_out *with, const tn_operation *operation) {
    uint8_t most = 0;
    bool changed = false;
    for (uint32_t i = 0; i < operation->read_count; i++) {
        uint32_t memory = with->map->memory_of[operation->reads[i]];
        if (memory != NONE && with->row_log[memory] > most) most = with->row_log[memory];
    }
    for (uint32_t i = 0; i < operation->read_count; i++) {
        uint32_t memory = with->map->memory_of[operation->reads[i]];
        if (memory == NONE || with->row_log[memory] == most) continue;
        with->row_log[memory] = most;
        changed = true;
    }
    return changed;
}

static void find_rows(layer_out *with, tn_plan *plan) {
    const tn_build *build = with->build;
    const uint64_t parallelism[] = {build->rows, build->columns, build->reduction, build->vector};
    bool changed = true;
    if (memcmp(plan->row_parallelism, parallelism, sizeof parallelism) == 0) return;
    memcpy(plan->row_parallelism, parallelism, sizeof parallelism);
    for (uint32_t m = 0; m < with->map->memories; m++)
        with->row_log[m] = (uint8_t)tn_log_above(tn_mapped_row(&with->map->memory[m], with->build));
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < with->workload->updates; i++)
            changed |= even_out(with, &with->step->operation[with->workload->update[i]]);
    }
}

static uint64_t banks_of(uint32_t split, uint32_t row_log) {
    const uint64_t one = 1;
    if (split == TN_SPLIT_PARTITION && one << row_log <= TN_LAYOUT_BANKS_MOST) return one << row_log;
    if (split == TN_SPLIT_BANKS) return one << (row_log - row_log / 2);
    return 1;
}

/* ---- demands ---- */

/* How many layers' operations touch each array. */
static tn_status count_layers(tn_workload *workload, tn_error *error) {
    const tn_step *step = workload->step;
    uint32_t *last; /* layer that touched it last, from 1 */
    TN_TRY(tn_arena_alloc(workload->arena, step->arrays, sizeof *last, &last, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t j = 0; j < operation->read_count + operation->write_count; j++) {
            uint32_t array = j < operation->read_count ? operation->reads[j]
                                                       : operation->writes[j - operation->read_count];
            if (last[array] == operation->layer + 1) continue;
            last[array] = operation->layer + 1;
            workload->in_layers[array]++;
        }
    }
    return TN_OK;
}

/* Which array of the step a program's tensor is; NONE: no operation says. The same for all builds. */
static tn_status find_arrays(tn_workload *workload, tn_error *error) {
    const tn_step *step = workload->step;
    TN_TRY(tn_arena_alloc(workload->arena, step->operations, sizeof *workload->update, &workload->update,
                          error));
    for (uint32_t i = 0; i < step->operations; i++)
        if (is_update(&step->operation[i])) workload->update[workload->updates++] = i;
    TN_TRY(tn_arena_alloc(workload->arena, step->layers, sizeof *workload->array_of, &workload->array_of,
                          error));
    TN_TRY(tn_arena_alloc(workload->arena, step->arrays, sizeof *workload->feature_log,
                          &workload->feature_log, error));
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_program *program = step->layer[l].program;
        if (!program) continue;
        TN_TRY(tn_arena_alloc(workload->arena, program->tensors, sizeof **workload->array_of,
                              &workload->array_of[l], error));
        for (uint32_t t = 0; t < program->tensors; t++) workload->array_of[l][t] = NONE;
    }
    TN_TRY(tn_arena_alloc(workload->arena, step->arrays, sizeof *workload->in_layers, &workload->in_layers,
                          error));
    TN_TRY(count_layers(workload, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        uint32_t *array_of = workload->array_of[operation->layer];
        if (!operation->program_step || !array_of) continue;
        array_of[operation->program_step->a] = operation->reads[0];
        array_of[operation->program_step->b] = operation->reads[1];
        array_of[operation->program_step->out] = operation->writes[0];
    }
    return TN_OK;
}

/* An activation that operations of several layers touch. */
static bool is_shared(const tn_workload *workload, uint32_t layer, uint32_t tensor) {
    tn_role role = workload->step->layer[layer].program->tensor[tensor].role;
    bool outer = role == TN_ROLE_X || role == TN_ROLE_Y || role == TN_ROLE_DX || role == TN_ROLE_DY;
    return outer && workload->in_layers[workload->array_of[layer][tensor]] > 1;
}

/* Sizes of an activation's features in one layer's folding. */
static uint32_t features_of(const tn_program *program, const tn_program_tensor *tensor, uint64_t *size) {
    for (uint32_t k = 1; k < tensor->indices.count; k++)
        size[k - 1] = program->index_size[tensor->indices.index[k]];
    return tensor->indices.count - 1;
}

/* The most features, as a logarithm, that lie together in every folding that touches the array: where all fold alike
 * those of the last axis, padded; else what is a box in each. */
static tn_status find_features(tn_workload *workload, tn_error *error) {
    const tn_step *step = workload->step;
    struct {
        uint64_t size[TN_FACTORS_MOST];
        uint32_t axes;
    } * first, here;
    uint64_t *features;
    TN_TRY(tn_arena_alloc(workload->arena, step->arrays, sizeof *first, &first, error));
    TN_TRY(tn_arena_alloc(workload->arena, TN_INDICES_MOST, sizeof *features, &features, error));
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_program *program = step->layer[l].program;
        for (uint32_t t = 0; program && t < program->tensors; t++) {
            uint32_t array = workload->array_of[l][t];
            const tn_program_tensor *tensor = &program->tensor[t];
            if (array == NONE || !is_shared(workload, l, t) || tensor->indices.count < 2) continue;
            uint8_t *most = &workload->feature_log[array];
            here.axes = features_of(program, tensor, features);
            if (here.axes > TN_FACTORS_MOST) { /* more than weights have: nothing is known to lie together */
                *most = 0;
                continue;
            }
            memset(here.size, 0, sizeof here.size);
            memcpy(here.size, features, here.axes * sizeof *features);
            if (first[array].axes == 0) {
                memcpy(&first[array], &here, sizeof here);
                *most = (uint8_t)tn_log_above(here.size[here.axes - 1]);
                continue;
            }
            if (first[array].axes == here.axes && memcmp(first[array].size, here.size, sizeof here.size) == 0)
                continue;
            while (!tn_layout_is_box(here.size, here.axes, *most) ||
                   !tn_layout_is_box(first[array].size, first[array].axes, *most))
                --*most;
        }
    }
    return TN_OK;
}

static tn_layout_demand demand_of(const layer_out *with, uint32_t layer, uint32_t tensor) {
    const tn_workload *workload = with->workload;
    const tn_program *program = with->step->layer[layer].program;
    uint32_t array = workload->array_of[layer][tensor],
             memory = array == NONE ? NONE : with->map->memory_of[array];
    if (memory == NONE) return (tn_layout_demand){.is_updated = true};
    tn_layout_demand demand = {.has_row = true, .is_updated = true, .row_log = with->row_log[memory]};
    const tn_indices *indices = &program->tensor[tensor].indices;
    if (!is_shared(workload, layer, tensor) || indices->count == 0) return demand;
    uint32_t row = demand.row_log, tokens = tn_log_above(program->index_size[indices->index[0]]),
             features = tn_log_above(greater(with->build->reduction, with->build->columns));
    if (tokens < row && features < row - tokens) features = row - tokens;
    if (features > workload->feature_log[array]) features = workload->feature_log[array];
    if (features > row) features = row;
    demand.is_shared = true;
    demand.feature_log = (uint8_t)features;
    demand.token_log = (uint8_t)(row - features);
    return demand;
}

/* ---- layers ---- */

static bool is_found(const struct tn_laid_layer *found, const tn_program *program,
                     const tn_kernel_edges *edges, tn_banking banking, const tn_layout_demand *demand) {
    return found->program == program && found->banking == banking &&
           memcmp(&found->edges, edges, sizeof *edges) == 0 &&
           memcmp(found->demand, demand, program->tensors * sizeof *demand) == 0;
}

static tn_status lay_layer(layer_out *with, uint32_t layer) {
    const tn_build *build = with->build;
    const tn_program *program = with->step->layer[layer].program;
    const tn_kernel_edges edges = {build->rows, build->columns, build->reduction};
    tn_banking banking = tn_split_banking(build->split);
    tn_layout_demand *demand;
    struct tn_laid_layer *found = with->workload->laid_layers;
    if (!program) return TN_OK;
    TN_TRY(tn_arena_alloc(with->arena, program->tensors, sizeof *demand, &demand, with->error));
    for (uint32_t t = 0; t < program->tensors; t++) demand[t] = demand_of(with, layer, t);
    while (found && !is_found(found, program, &edges, banking, demand)) found = found->next;
    if (!found) {
        TN_TRY(tn_arena_alloc(with->arena, 1, sizeof *found, &found, with->error));
        *found =
            (struct tn_laid_layer){.program = program, .edges = edges, .banking = banking, .demand = demand};
        TN_TRY(tn_layouts_find(program, &edges, banking, TN_LEAST_CYCLES, demand, with->arena,
                               &found->layouts, with->error));
        found->next = with->workload->laid_layers;
        with->workload->laid_layers = found;
    }
    with->laid->layer[layer] = &found->layouts;
    return TN_OK;
}

/* ---- depths ---- */

enum { ROW_LOGS = 21 }; /* rows of up to 1024 x 1024 elements */

/* Rows that each tensor of a program takes at least, by the logarithm of a row's elements. */
struct tn_least_depths {
    const tn_program *program;
    uint64_t (*rows)[ROW_LOGS]; /* [program->tensors] */
    struct tn_least_depths *next;
};

/* Of all boxes of 2^l elements the fewest that cover the tensor: whatever the words and banks, elements of one row lie
 * in such a box, along the axis that tells banks apart stretched by their number. */
static void least_rows(const tn_program *program, uint32_t tensor, uint64_t *rows) {
    const tn_indices *of = &program->tensor[tensor].indices;
    for (uint32_t l = 0; l < ROW_LOGS; l++) rows[l] = 1;
    for (uint32_t k = 0; k < of->count; k++) {
        uint64_t size = program->index_size[of->index[k]];
        if (size == 1) continue;
        for (uint32_t l = ROW_LOGS; l-- > 0;) {
            uint64_t best = UINT64_MAX;
            for (uint32_t along = 0; along <= l; along++) {
                uint64_t words = rows[l - along] * (((size - 1) >> along) + 1);
                if (words < best) best = words;
            }
            rows[l] = best;
        }
    }
}

static tn_status find_least(tn_workload *workload, const tn_program *program,
                            const struct tn_least_depths **least, tn_error *error) {
    struct tn_least_depths *of = workload->least_depths;
    while (of && of->program != program) of = of->next;
    *least = of;
    if (of) return TN_OK;
    TN_TRY(tn_arena_alloc(workload->arena, 1, sizeof *of, &of, error));
    TN_TRY(tn_arena_alloc(workload->arena, program->tensors, sizeof *of->rows, &of->rows, error));
    for (uint32_t t = 0; t < program->tensors; t++) least_rows(program, t, of->rows[t]);
    of->program = program;
    of->next = workload->least_depths;
    workload->least_depths = of;
    *least = of;
    return TN_OK;
}

static tn_status find_least_depths(layer_out *with) {
    const tn_step *step = with->step;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_program *program = step->layer[l].program;
        const struct tn_least_depths *least;
        if (!program) continue;
        TN_TRY(find_least(with->workload, program, &least, with->error));
        for (uint32_t t = 0; t < program->tensors; t++) {
            uint32_t array = with->workload->array_of[l][t],
                     memory = array == NONE ? NONE : with->map->memory_of[array];
            if (memory == NONE) continue;
            with->laid->depth[array] =
                greater(with->laid->depth[array], least->rows[t][with->row_log[memory]]);
        }
    }
    return TN_OK;
}

static uint64_t row_of(const layer_out *with, uint32_t array) {
    uint32_t memory = with->map->memory_of[array];
    return memory == NONE ? 1 : UINT64_C(1) << with->row_log[memory];
}

/* An optimizer's state lies as its parameter, once for each of its words. */
static void follow_parameters(layer_out *with) {
    const tn_step *step = with->step;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        if (!is_update(operation) || with->laid->depth[operation->reads[0]] == 0) continue;
        uint64_t elements = step->array[operation->reads[0]].elements;
        for (uint32_t k = 2; k < operation->read_count; k++)
            with->laid->depth[operation->reads[k]] = with->laid->depth[operation->reads[0]] *
                                                     (step->array[operation->reads[k]].elements / elements);
    }
}

static void find_depths(layer_out *with) {
    const tn_step *step = with->step;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_layouts *layouts = with->laid->layer[l];
        for (uint32_t t = 0; layouts && t < layouts->tensors; t++) {
            uint32_t array = with->workload->array_of[l][t],
                     memory = array == NONE ? NONE : with->map->memory_of[array];
            if (memory == NONE) continue;
            with->laid->depth[array] = greater(with->laid->depth[array], layouts->tensor[t].depth);
            with->laid->memory[memory].banks =
                greater(with->laid->memory[memory].banks, layouts->tensor[t].banks);
        }
    }
}

/* Slots of a memory lie one behind the other, each as deep as the deepest of its arrays. */
static tn_status sum_depths(layer_out *with) {
    const tn_map *map = with->map;
    uint64_t *slot;
    uint32_t *slot_memory;
    TN_TRY(tn_arena_alloc(with->arena, map->slots, sizeof *slot, &slot, with->error));
    TN_TRY(tn_arena_alloc(with->arena, map->slots, sizeof *slot_memory, &slot_memory, with->error));
    for (uint32_t i = 0; i < with->step->arrays; i++) {
        uint32_t memory = map->memory_of[i];
        if (memory == NONE) continue;
        uint64_t depth = with->laid->depth[i], row = row_of(with, i);
        if (depth == 0) depth = tn_ceil_div(with->step->array[i].elements, row);
        if (map->memory[memory].grouped || map->slot_of[i] == NONE) {
            with->laid->memory[memory].depth = greater(with->laid->memory[memory].depth, depth);
        } else {
            slot[map->slot_of[i]] = greater(slot[map->slot_of[i]], depth);
            slot_memory[map->slot_of[i]] = memory;
        }
    }
    for (uint32_t s = 0; s < map->slots; s++)
        if (slot[s] > 0) with->laid->memory[slot_memory[s]].depth += slot[s];
    return TN_OK;
}

/* As deep as the elements need. */
static void unpadded_depth(const layer_out *with, uint32_t m) {
    const tn_mapped *memory = &with->map->memory[m];
    tn_row *row = &with->laid->memory[m];
    row->depth = 0;
    for (uint32_t i = 0; i < memory->extents; i++)
        row->depth += memory->extent[i].arrays * tn_ceil_div(memory->extent[i].elements, row->elements);
}

static tn_status lay_all(layer_out *with) {
    const tn_step *step = with->step;
    tn_laid *laid = with->laid;
    bool bound = with->build->layouts == TN_LAID_BOUND;
    TN_TRY(
        tn_arena_alloc(with->arena, with->map->memories, sizeof *laid->memory, &laid->memory, with->error));
    TN_TRY(tn_arena_alloc(with->arena, step->layers, sizeof *laid->layer, &laid->layer, with->error));
    for (uint32_t m = 0; m < with->map->memories; m++) {
        laid->memory[m].elements = UINT64_C(1) << with->row_log[m];
        laid->memory[m].banks = laid->memory[m].asked_banks = banks_of(with->build->split, with->row_log[m]);
        unpadded_depth(with, m);
        laid->memory[m].unpadded_depth = laid->memory[m].depth;
        if (!with->map->memory[m].staging) laid->memory[m].depth = 0;
    }
    TN_TRY(tn_arena_alloc(with->arena, step->arrays, sizeof *laid->depth, &laid->depth, with->error));
    if (bound) {
        TN_TRY(find_least_depths(with));
    } else {
        for (uint32_t l = 0; l < step->layers; l++) TN_TRY(lay_layer(with, l));
        find_depths(with);
    }
    follow_parameters(with);
    return sum_depths(with);
}

tn_status tn_plan_lay(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_error *error) {
    const tn_laid_key key = {build->rows,   build->columns, build->reduction,
                             build->vector, build->split,   build->layouts};
    plan->laid = NULL;
    if (build->layouts == TN_LAID_IDEALLY || build->array != TN_ARRAY_LANES) return TN_OK;
    if (!workload->array_of) {
        TN_TRY(find_arrays(workload, error));
        TN_TRY(find_features(workload, error));
    }
    if (!plan->all_laid) {
        TN_TRY(tn_arena_alloc(workload->arena, TN_LAID_KEPT, sizeof *plan->all_laid, &plan->all_laid, error));
        TN_TRY(tn_arena_alloc(workload->arena, plan->map.memories, sizeof *plan->row_log, &plan->row_log,
                              error));
    }
    const uint64_t parallelism[] = {key.rows, key.columns, key.reduction, key.vector};
    uint64_t mixed = parallelism[0];
    for (size_t i = 0; i < 3; i++) mixed = mixed * 1031 + parallelism[i + 1];
    tn_laid **list = &plan->all_laid[tn_kept_at(mixed * 16 + key.split * 4 + key.laying, TN_LAID_KEPT)];
    for (plan->laid = *list; plan->laid; plan->laid = plan->laid->next)
        if (memcmp(&plan->laid->key, &key, sizeof key) == 0) return TN_OK;
    layer_out with = {.workload = workload,
                      .step = workload->step,
                      .map = &plan->map,
                      .build = build,
                      .arena = workload->arena,
                      .error = error,
                      .row_log = plan->row_log};
    TN_TRY(tn_arena_alloc(with.arena, 1, sizeof *with.laid, &with.laid, error));
    with.laid->key = key;
    find_rows(&with, plan);
    TN_TRY(lay_all(&with));
    with.laid->next = *list;
    *list = plan->laid = with.laid;
    return TN_OK;
}

tn_status tn_laid_product(const tn_laid *laid, const tn_operation *operation, const tn_program *program,
                          const tn_matmul *kernel, uint64_t *cycles, tn_error *error) {
    const tn_layouts *layouts = laid->layer[operation->layer];
    return tn_issue_product_cycles(kernel, &layouts->product[operation->program_step - program->step].issued,
                                   cycles, error);
}

uint64_t tn_laid_update_elements(const tn_laid *laid, const tn_map *map, const tn_operation *operation,
                                 uint64_t lanes) {
    uint32_t parameter = operation->reads[0];
    if (!is_update(operation) || map->memory_of[parameter] == NONE) return 0;
    uint64_t row = laid->memory[map->memory_of[parameter]].elements;
    return laid->depth[parameter] * tn_ceil_div(row, lanes) * lanes;
}

void tn_workload_share_layouts(tn_workload *workload, const tn_workload *from) {
    workload->array_of = from->array_of;
    workload->feature_log = from->feature_log;
    workload->in_layers = from->in_layers;
    workload->updates = from->updates;
    workload->update = from->update;
    workload->laid_layers = from->laid_layers;
}
