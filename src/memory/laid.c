#include "memory/laid.h"

#include "base/checked.h"
#include "base/digest.h"
#include "memory/laying_out.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

enum { ROWS_KEPT = 512, LISTS = 512 };

/* How many elements the rows of all memories have: few sets of them come of many kinds of parallelism. */
typedef struct row_set {
    uint8_t *kind_log, *log; /* of each kind of rows; [map->memories] */
    uint32_t number;
    struct row_set *next;
} row_set;

typedef struct {
    uint64_t parallelism[5]; /* rows, columns, reduction, vector, array; 0: none yet */
    const row_set *set;
} kept_rows;

/* Under a bound a memory's row follows from how many elements it has, whatever the others are: updates go through memories
 * of equal rows (memory/row_kinds.h). So each is found once for each number of elements, and a build picks. */
typedef struct {
    tn_laid laid; /* of the build at hand; no `memory`: none yet */
    tn_row
        *rows[TN_ROW_LOGS]; /* [map->memories], where every row has 2^l elements; NULL: not asked for yet */
} bound_rows;

struct tn_laid_map {
    tn_laid_step *step;
    const tn_map *map;
    tn_laid_kinds kinds;
    tn_arena *arena;
    kept_rows rows[ROWS_KEPT];
    row_set *sets; /* all that came, each once */
    tn_row_kinds row_kinds;
    uint8_t *trial; /* [row_kinds.count] */
    tn_laid **list; /* [LISTS], by hash */
    bound_rows bound;
};

/* ---- rows of memories ---- */

/* By kind of rows. */
static void find_logs(const tn_laid_map *laid_map, const tn_build *build, uint8_t *log) {
    const tn_row_kinds *kinds = &laid_map->row_kinds;
    for (uint32_t k = 0; k < kinds->count; k++)
        log[k] = (uint8_t)tn_log_above(tn_mapped_row(&kinds->asked[k], build));
}

/* The set of those rows, by kind, which is a new one if none is as they are. */
static tn_status find_set(tn_laid_map *laid_map, const uint8_t *log, const row_set **set, tn_error *error) {
    const tn_row_kinds *kinds = &laid_map->row_kinds;
    row_set *made = laid_map->sets;
    while (made && memcmp(made->kind_log, log, kinds->count) != 0) made = made->next;
    *set = made;
    if (made) return TN_OK;
    TN_TRY(TN_NEW(laid_map->arena, 1, &made, error));
    TN_TRY(TN_NEW(laid_map->arena, kinds->count, &made->kind_log, error));
    TN_TRY(TN_NEW(laid_map->arena, laid_map->map->memories, &made->log, error));
    memcpy(made->kind_log, log, kinds->count);
    for (uint32_t m = 0; m < laid_map->map->memories; m++) made->log[m] = log[kinds->of_memory[m]];
    made->number = laid_map->sets ? laid_map->sets->number + 1 : 1;
    made->next = laid_map->sets;
    *set = laid_map->sets = made;
    return TN_OK;
}

/* Rows of all memories, or those that were found before under the same parallelism. */
static tn_status find_rows(tn_laid_map *laid_map, const tn_build *build, const row_set **set,
                           tn_error *error) {
    const uint64_t parallelism[] = {build->rows, build->columns, build->reduction, build->vector,
                                    build->array};
    kept_rows *kept = &laid_map->rows[tn_hash_place(tn_hash_counts(parallelism, 5), ROWS_KEPT)];
    if (memcmp(kept->parallelism, parallelism, sizeof parallelism) != 0) {
        find_logs(laid_map, build, laid_map->trial);
        TN_TRY(find_set(laid_map, laid_map->trial, &kept->set, error));
        memcpy(kept->parallelism, parallelism, sizeof parallelism);
    }
    *set = kept->set;
    return TN_OK;
}

static uint64_t banks_of(uint32_t split, uint32_t row_log) {
    const uint64_t one = 1;
    if (split == TN_SPLIT_PARTITION && one << row_log <= TN_LAYOUT_BANKS_MOST) return one << row_log;
    if (split == TN_SPLIT_BANKS) return one << (row_log - row_log / 2);
    return 1;
}

/* ---- demands ---- */

/* After how many words of 2^features columns a row of banks is turned once more: where the first axis begins, in some
 * folding, that goes beyond all banks, so that its values lie in different ones; else all banks. What the host writes, and what
 * updates take beside it, is not turned. */
static uint8_t turn_of_matrix(const tn_layer_out *layout, uint32_t array, uint32_t row_log,
                              uint32_t features) {
    const uint32_t word = (uint32_t)tn_least(features, row_log / 2), box = layout->arrays->feature_log[array];
    const tn_build *build = layout->build;
    const uint64_t edges = (build->rows & (build->rows - 1)) | (build->columns & (build->columns - 1)) |
                           (build->reduction & (build->reduction - 1)) |
                           (build->vector & (build->vector - 1));
    if (edges != 0) return 0; /* blocks would lie across turns */
    if (build->skew != TN_SKEW_FEATURES || build->split != TN_SPLIT_BANKS ||
        !tn_role_is_activation(layout->step->array[array].role) || row_log > box)
        return 0;
    for (uint32_t log = row_log; log <= box; log++)
        if (layout->arrays->axis_logs[array] >> log & 1) return (uint8_t)(log - word);
    return (uint8_t)(row_log - word);
}

/* Words of rows x columns: as many columns as the kernel takes terms or columns, as far as they lie together in every
 * folding, and as many rows as fill the memory's row; more columns where the matrix has no more rows. */
static tn_layout_demand demand_of_matrix(const tn_layer_out *layout, uint32_t array, uint32_t row_log) {
    uint32_t rows = layout->arrays->rows_log[array], features = layout->widest_log;
    if (rows < row_log && features < row_log - rows) features = row_log - rows;
    if (features > layout->arrays->feature_log[array]) features = layout->arrays->feature_log[array];
    if (features > row_log) features = row_log;
    return (tn_layout_demand){.has_row = true,
                              .is_updated = true,
                              .is_shared = true,
                              .row_log = (uint8_t)row_log,
                              .feature_log = (uint8_t)features,
                              .token_log = (uint8_t)(row_log - features),
                              .turn_log = turn_of_matrix(layout, array, row_log, features)};
}

static tn_layout_demand demand_of(const tn_layer_out *layout, uint32_t layer, uint32_t tensor) {
    const tn_program *program = layout->arrays->program[layer];
    uint32_t array = layout->arrays->of_tensor[layer][tensor],
             memory = array == NONE ? NONE : layout->map->memory_of[array];
    const bool looked_up = program != layout->step->layer[layer].program;
    if (memory == NONE) return (tn_layout_demand){.is_updated = true, .is_looked_up = looked_up};
    uint8_t row_log = layout->row_log[memory];
    if (layout->arrays->columns[array] == 0 || program->tensor[tensor].indices.count == 0)
        return (tn_layout_demand){
            .has_row = true, .is_updated = true, .is_looked_up = looked_up, .row_log = row_log};
    tn_layout_demand demand = demand_of_matrix(layout, array, row_log);
    demand.is_one_token = looked_up && layout->arrays->rows[array] > 1;
    return demand;
}

/* Matrices lie in the same words for every operation, and those of a kind alike; the depth follows, [kinds->arrays]. */
static tn_status lay_matrices(tn_layer_out *layout, uint64_t **depth) {
    const tn_bank_kind banking = tn_banking_kind(tn_split_banking(layout->build->split));
    const tn_laid_kinds *kinds = layout->kinds;
    TN_TRY(TN_NEW(layout->arena, kinds->arrays, &layout->laid->words, layout->error));
    TN_TRY(TN_NEW(layout->arena, kinds->arrays, depth, layout->error));
    layout->laid->words_of = kinds->of_array;
    for (uint32_t k = 0; k < kinds->arrays; k++) {
        const uint32_t a = kinds->array[k], memory = layout->map->memory_of[a];
        const uint64_t columns = layout->arrays->columns[a];
        if (memory == NONE || columns == 0) continue;
        const uint64_t rows = layout->arrays->rows[a], heads = layout->arrays->heads[a];
        const tn_layout_demand demand = demand_of_matrix(layout, a, layout->row_log[memory]);
        tn_laid_words *words = &layout->laid->words[k];
        *words = (tn_laid_words){.is_matrix = true, .shared = tn_layout_shared(&demand, banking, rows > 1)};
        (*depth)[k] = heads * tn_layout_share_rows(&words->shared, rows / heads, columns,
                                                   layout->arrays->feature_log[a]);
    }
    return TN_OK;
}

/* ---- layers ---- */

/* Layouts of a layer under its demands; for a bound, under which cycles are found later, the demands alone. */
static tn_status lay_layer(tn_layer_out *layout, uint32_t layer) {
    const tn_build *build = layout->build;
    const tn_program *program = layout->arrays->program[layer];
    const tn_kernel_edges edges = tn_build_edges(build);
    tn_laid_layers *layers = &layout->laid_step->programs->layers;
    tn_layout_demand *demand;
    if (!program) return TN_OK;
    tn_arena_reset(&layers->room.scratch);
    TN_TRY(TN_NEW(&layers->room.scratch, program->tensors, &demand, layout->error));
    for (uint32_t t = 0; t < program->tensors; t++) demand[t] = demand_of(layout, layer, t);
    tn_laid_layer *laid_layer;
    TN_TRY(tn_laid_layer_find(layers, program, &edges, tn_split_banking(build->split), demand, &laid_layer,
                              layout->error));
    if (!layout->laid->closely)
        TN_TRY(tn_laid_layer_search(layers, laid_layer, &layout->laid->layer[layer], layout->error));
    layout->laid->known[layer] = laid_layer;
    return TN_OK;
}

/* The layer as it was laid, now or before. */
static tn_status find_layer(const tn_laid *laid, uint32_t layer, tn_laid_layer **found, tn_error *error) {
    *found = laid->known[layer];
    if (*found || !laid->begun) return TN_OK;
    tn_layer_out *layout = &laid->begun->layout;
    const uint32_t like = layout->kinds->layer[layout->kinds->of_layer[layer]];
    layout->error = error;
    if (!laid->known[like]) TN_TRY(lay_layer(layout, like));
    laid->layer[layer] = laid->layer[like];
    *found = laid->known[layer] = laid->known[like];
    return TN_OK;
}

tn_status tn_laid_product_cycles(const tn_laid_step *laid_step, const tn_laid *laid, uint32_t layer,
                                 uint32_t product, const tn_matmul *kernel, uint64_t *cycles,
                                 tn_error *error) {
    if (laid->alone) *cycles = UINT64_MAX;
    for (uint32_t i = 0; laid->alone && i < laid->ways[layer]; i++) {
        uint64_t its;
        TN_TRY(tn_laid_layer_cycles(&laid_step->programs->layers, laid->way[layer][i], true, product, kernel,
                                    &its, error));
        *cycles = tn_least(*cycles, its);
    }
    if (laid->alone) return TN_OK;
    tn_laid_layer *known;
    TN_TRY(find_layer(laid, layer, &known, error));
    return tn_laid_layer_cycles(&laid_step->programs->layers, known, laid->closely, product, kernel, cycles,
                                error);
}

tn_status tn_laid_partial_cycles(const tn_laid_step *laid_step, const tn_laid *laid, uint32_t layer,
                                 const tn_partial *part, const tn_matmul *kernel, uint64_t *cycles,
                                 tn_error *error) {
    tn_laid_layer *known;
    TN_TRY(find_layer(laid, layer, &known, error));
    return tn_laid_layer_partial_cycles(&laid_step->programs->layers, known, part, kernel, cycles, error);
}

tn_status tn_laid_product_layout(const tn_laid *laid, uint32_t layer, uint32_t product,
                                 const tn_product_layout **layout, tn_error *error) {
    tn_laid_layer *known;
    TN_TRY(find_layer(laid, layer, &known, error));
    *layout = &laid->layer[layer]->product[product];
    return TN_OK;
}

/* ---- depths ---- */

/* Elements of a row that the tensor has: a memory's row may be longer. */
static uint64_t row_of_tensor(const tn_tensor_layout *tensor) {
    uint64_t elements = tensor->banks;
    for (uint32_t k = 0; k < tensor->axes; k++) elements *= tensor->axis[k].edge;
    return elements;
}

/* Of rows of at most 2^row_log elements those that lanes go through fastest. */
static uint64_t fastest_rows(const uint64_t *rows, uint32_t row_log, uint64_t lanes, uint64_t *row) {
    uint64_t least = UINT64_MAX, taken = 0;
    for (uint32_t log = 0; log <= row_log; log++) {
        const uint64_t elements = UINT64_C(1) << log, passes = rows[log] * tn_ceil_div(elements, lanes);
        if (passes > least) continue;
        least = passes;
        taken = rows[log];
        *row = elements;
    }
    return taken;
}

uint64_t tn_laid_tensor_rows(const tn_laid *laid, uint32_t layer, uint32_t tensor, uint64_t row_elements,
                             uint64_t lanes, uint64_t *row) {
    if (laid->closely)
        return fastest_rows(laid->least[layer]->rows[tensor], tn_log_above(row_elements), lanes, row);
    *row = row_of_tensor(&laid->layer[layer]->tensor[tensor]);
    return laid->layer[layer]->tensor[tensor].depth;
}

/* Rows of a layer's tensors that are no matrices, noted for the first array of the tensor's kind. */
static tn_status find_layer_depths(tn_layer_out *layout, uint32_t layer) {
    const tn_program *program = layout->arrays->program[layer];
    const tn_laid_kinds *kinds = layout->kinds;
    tn_laid *laid = layout->laid;
    const tn_least_rows *least;
    if (!program) return TN_OK;
    TN_TRY(tn_least_rows_find(&layout->laid_step->programs->least, program,
                              layout->laid_step->programs->layers.arena, &least, layout->error));
    if (laid->least) laid->least[layer] = least;
    for (uint32_t t = 0; t < program->tensors; t++) {
        const uint32_t own = layout->arrays->of_tensor[layer][t],
                       array = own == NONE ? NONE : kinds->array[kinds->of_array[own]],
                       memory = own == NONE ? NONE : layout->map->memory_of[own];
        if (memory == NONE ||
            (program != layout->step->layer[layer].program && layout->arrays->columns[own] > 0))
            continue;
        uint64_t rows = least->rows[t][layout->row_log[memory]];
        if (laid->closely) /* passes go over it; memories are those of the other bound */
            rows = fastest_rows(least->rows[t], layout->row_log[memory], layout->build->vector,
                                &laid->row[array]);
        laid->depth[array] =
            tn_greatest(laid->depth[array], rows * tn_laid_slices(layout->arrays, layout->step, layer, t));
    }
    return TN_OK;
}

static tn_status find_least_depths(tn_layer_out *layout) {
    const tn_laid_kinds *kinds = layout->kinds;
    tn_laid *laid = layout->laid;
    for (uint32_t k = 0; k < kinds->layers; k++) TN_TRY(find_layer_depths(layout, kinds->layer[k]));
    for (uint32_t l = 0; laid->least && l < layout->step->layers; l++)
        laid->least[l] = laid->least[kinds->layer[kinds->of_layer[l]]];
    for (uint32_t a = 0; a < layout->step->arrays; a++) {
        const uint32_t like = kinds->array[kinds->of_array[a]];
        laid->depth[a] = laid->depth[like];
        laid->row[a] = laid->row[like];
    }
    return TN_OK;
}

static uint64_t row_of(const tn_layer_out *layout, uint32_t array) {
    uint32_t memory = layout->map->memory_of[array];
    return memory == NONE ? 1 : UINT64_C(1) << layout->row_log[memory];
}

/* An optimizer's state lies as its parameter, once for each of its words. */
static void follow_parameters(tn_layer_out *layout) {
    const tn_step *step = layout->step;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        if (!tn_operation_is_update(operation) || layout->laid->depth[operation->reads[0]] == 0) continue;
        uint64_t elements = step->array[operation->reads[0]].elements;
        for (uint32_t k = 2; k < operation->read_count; k++) {
            if (layout->arrays->part[operation->reads[k]].partial) continue;
            layout->laid->depth[operation->reads[k]] = layout->laid->depth[operation->reads[0]] *
                                                       (step->array[operation->reads[k]].elements / elements);
        }
    }
}

static void find_depths(tn_layer_out *layout) {
    const tn_step *step = layout->step;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_layouts *layouts = layout->laid->layer[l];
        for (uint32_t t = 0; layouts && t < layouts->tensors; t++) {
            uint32_t array = layout->arrays->of_tensor[l][t],
                     memory = array == NONE ? NONE : layout->map->memory_of[array];
            if (memory == NONE) continue;
            if (layout->arrays->columns[array] == 0) {
                layout->laid->depth[array] =
                    tn_greatest(layout->laid->depth[array],
                                layouts->tensor[t].depth * tn_laid_slices(layout->arrays, step, l, t));
                layout->laid->row[array] = row_of_tensor(&layouts->tensor[t]);
            }
            layout->laid->memory[memory].banks =
                tn_greatest(layout->laid->memory[memory].banks, layouts->tensor[t].banks);
        }
    }
}

/* Parts lie as the wholes do, as far as they go. */
static tn_status find_part_depths(tn_layer_out *state) {
    for (uint32_t a = 0; a < state->step->arrays; a++) {
        const tn_laid_part *part = &state->arrays->part[a];
        tn_tensor_layout layout;
        if (!part->partial || state->map->memory_of[a] == NONE) continue;
        tn_row *memory = &state->laid->memory[state->map->memory_of[a]];
        TN_TRY(tn_partial_layout(&state->laid->layer[part->layer]->tensor[part->partial->tensor],
                                 part->partial, state->arena, &layout, state->error));
        /* no less deep than its elements need, as the bound has it (price/bound.h) */
        state->laid->depth[a] = tn_greatest(layout.depth * part->times,
                                            tn_ceil_div(state->step->array[a].elements, row_of(state, a)));
        memory->banks = tn_greatest(memory->banks, layout.banks);
    }
    return TN_OK;
}

/* Slots of a memory lie one behind the other, each as deep as the deepest of its arrays. */
static tn_status sum_depths(tn_layer_out *layout) {
    const tn_map *map = layout->map;
    uint64_t *slot;
    uint32_t *slot_memory;
    TN_TRY(TN_NEW(layout->arena, map->slots, &slot, layout->error));
    TN_TRY(TN_NEW(layout->arena, map->slots, &slot_memory, layout->error));
    for (uint32_t i = 0; i < layout->step->arrays; i++) {
        uint32_t memory = map->memory_of[i];
        if (memory == NONE) continue;
        uint64_t depth = layout->laid->depth[i], row = row_of(layout, i);
        if (depth == 0 || layout->step->array[i].stored > 0) /* a tracked set lies one behind the other */
            depth = tn_ceil_div(tn_array_stored(&layout->step->array[i]), row);
        if (map->memory[memory].grouped || map->slot_of[i] == NONE) {
            layout->laid->memory[memory].depth = tn_greatest(layout->laid->memory[memory].depth, depth);
        } else {
            slot[map->slot_of[i]] = tn_greatest(slot[map->slot_of[i]], depth);
            slot_memory[map->slot_of[i]] = memory;
        }
    }
    for (uint32_t s = 0; s < map->slots; s++)
        if (slot[s] > 0) layout->laid->memory[slot_memory[s]].depth += slot[s];
    return TN_OK;
}

/* Rows of all memories, empty, and those of arrays. */
static tn_status begin_laid(tn_layer_out *layout) {
    tn_laid *laid = layout->laid;
    TN_TRY(TN_NEW(layout->arena, layout->map->memories, &laid->memory, layout->error));
    TN_TRY(TN_NEW(layout->arena, layout->step->arrays, &laid->depth, layout->error));
    TN_TRY(TN_NEW(layout->arena, layout->step->arrays, &laid->row, layout->error));
    for (uint32_t m = 0; m < layout->map->memories; m++)
        laid->memory[m].elements = UINT64_C(1) << layout->row_log[m];
    return TN_OK;
}

static tn_status fill_memories(tn_layer_out *layout) {
    for (uint32_t m = 0; m < layout->map->memories; m++) {
        tn_row *row = &layout->laid->memory[m];
        row->banks = tn_greatest(row->banks, banks_of(layout->build->split, layout->row_log[m]));
        row->asked_banks = banks_of(layout->build->split, layout->row_log[m]);
        row->unpadded_depth = row->depth = tn_mapped_rows(&layout->map->memory[m], row->elements);
        if (!layout->map->memory[m].staging) row->depth = 0;
    }
    follow_parameters(layout);
    return sum_depths(layout);
}

/* ---- bounds ---- */

static tn_status find_bound_rows(const tn_layer_out *layout, uint32_t log, tn_row **rows) {
    tn_layer_out alike = *layout;
    tn_laid laid = {0};
    uint8_t *row_log;
    TN_TRY(TN_NEW(layout->arena, layout->map->memories, &row_log, layout->error));
    memset(row_log, (int)log, layout->map->memories * sizeof *row_log);
    alike.laid = &laid;
    alike.row_log = row_log;
    TN_TRY(begin_laid(&alike));
    TN_TRY(find_least_depths(&alike));
    TN_TRY(fill_memories(&alike));
    *rows = laid.memory;
    return TN_OK;
}

/* The bound's rows for the build at hand, in the place of those of the build before. */
static tn_status lay_bound(tn_layer_out *layout, bound_rows *bound, const tn_laid_key *key) {
    tn_laid *laid = &bound->laid;
    uint32_t memories = layout->map->memories;
    if (!laid->memory) TN_TRY(TN_NEW(layout->arena, memories, &laid->memory, layout->error));
    if (memcmp(&laid->key, key, sizeof *key) == 0) return TN_OK;
    laid->key = (tn_laid_key){0};
    for (uint32_t m = 0; m < memories; m++) {
        uint32_t log = layout->row_log[m];
        if (!bound->rows[log]) TN_TRY(find_bound_rows(layout, log, &bound->rows[log]));
        tn_row *row = &laid->memory[m];
        *row = bound->rows[log][m];
        row->banks = row->asked_banks = banks_of(layout->build->split, log);
        row->of_bound = 1;
    }
    laid->key = *key;
    laid->is_complete = true;
    return TN_OK;
}

/* ---- layer by layer ---- */

static tn_status begin_layers(tn_layer_out *layout) {
    struct tn_laid_begun *begun;
    TN_TRY(TN_NEW(layout->arena, layout->step->layers, &layout->laid->known, layout->error));
    TN_TRY(TN_NEW(layout->arena, layout->step->layers, &layout->laid->layer, layout->error));
    TN_TRY(TN_NEW(layout->arena, 1, &begun, layout->error));
    TN_TRY(lay_matrices(layout, &begun->depth));
    begun->layout = *layout;
    begun->build = *layout->build;
    begun->layout.build = &begun->build;
    layout->laid->begun = begun;
    return TN_OK;
}

static tn_status lay_memories(tn_layer_out *layout) {
    for (uint32_t a = 0; a < layout->step->arrays; a++) {
        const uint32_t memory = layout->map->memory_of[a];
        if (memory == NONE) continue;
        tn_row *row = &layout->laid->memory[memory];
        row->banks =
            tn_greatest(row->banks, UINT64_C(1) << tn_laid_words_of(layout->laid, a)->shared.bank_log);
    }
    for (uint32_t l = 0; l < layout->step->layers; l++) {
        tn_laid_layer *layer;
        TN_TRY(find_layer(layout->laid, l, &layer, layout->error));
    }
    find_depths(layout);
    TN_TRY(find_part_depths(layout));
    return fill_memories(layout);
}

tn_status tn_laid_complete(const tn_laid *laid, tn_error *error) {
    if (laid->is_complete) return TN_OK;
    tn_layer_out *layout = &laid->begun->layout;
    layout->error = error;
    TN_TRY(begin_laid(layout));
    for (uint32_t a = 0; a < layout->step->arrays; a++)
        layout->laid->depth[a] = laid->begun->depth[layout->kinds->of_array[a]];
    if (laid->closely) TN_TRY(TN_NEW(layout->arena, layout->step->layers, &layout->laid->least, error));
    TN_TRY((laid->closely ? find_least_depths : lay_memories)(layout));
    layout->laid->is_complete = true;
    return TN_OK;
}

/* ---- what is known ---- */

tn_status tn_laid_programs_begin(tn_laid_programs *programs, tn_arena *arena, tn_error *error) {
    *programs = (tn_laid_programs){0};
    return tn_laid_layers_begin(&programs->layers, arena, error);
}

tn_status tn_laid_step_make(const tn_step *step, tn_laid_programs *programs, tn_arena *arena,
                            tn_laid_step **made, tn_error *error) {
    tn_laid_step *laid;
    TN_TRY(TN_NEW(arena, 1, &laid, error));
    *laid = (tn_laid_step){.step = step, .programs = programs};
    if (!programs) {
        TN_TRY(TN_NEW(arena, 1, &laid->programs, error));
        TN_TRY(tn_laid_programs_begin(laid->programs, arena, error));
    }
    TN_TRY(tn_laid_arrays_find(step, &laid->programs->ones, laid->programs->layers.arena, arena,
                               &laid->arrays, error));
    *made = laid;
    return TN_OK;
}

tn_status tn_laid_map_make(tn_laid_step *laid, const tn_map *map, tn_arena *arena, tn_laid_map **made,
                           tn_error *error) {
    tn_laid_map *laid_map;
    TN_TRY(TN_NEW(arena, 1, &laid_map, error));
    *laid_map = (tn_laid_map){.step = laid, .map = map, .arena = arena};
    TN_TRY(tn_row_kinds_find(laid->step, laid->arrays, map, arena, &laid_map->row_kinds, error));
    TN_TRY(TN_NEW(arena, laid_map->row_kinds.count, &laid_map->trial, error));
    TN_TRY(TN_NEW(arena, LISTS, &laid_map->list, error));
    TN_TRY(tn_laid_kinds_find(laid->step, laid->arrays, map, &laid_map->row_kinds, arena, &laid_map->kinds,
                              error));
    *made = laid_map;
    return TN_OK;
}

const tn_laid_kinds *tn_laid_map_kinds(const tn_laid_map *laid_map) {
    return &laid_map->kinds;
}

const uint32_t *tn_laid_map_row_kinds(const tn_laid_map *laid_map) {
    return laid_map->row_kinds.of_memory;
}

/* The list that what lies so is in. */
static tn_laid **list_of(const tn_laid_map *laid_map, const tn_laid_key *key) {
    const uint64_t count[] = {key->rows,  key->columns, key->reduction, key->vector,
                              key->split, key->laying,  key->skew,      key->array};
    return &laid_map->list[tn_hash_place(tn_hash_counts(count, 8), LISTS)];
}

static tn_status begin_anew(tn_layer_out *layout, const tn_laid_key *key, tn_laid **list) {
    tn_laid *laid;
    TN_TRY(TN_NEW(layout->arena, 1, &laid, layout->error));
    *laid = (tn_laid){
        .key = *key, .closely = key->laying == TN_LAID_CLOSELY, .is_complete = key->laying == TN_LAID_ALONE};
    layout->laid = laid;
    TN_TRY((key->laying == TN_LAID_ALONE ? tn_lay_alone : begin_layers)(layout));
    laid->next = *list;
    *list = laid;
    return TN_OK;
}

tn_status tn_laid_rows(tn_laid_map *laid_map, const tn_build *build, uint32_t *number, tn_error *error) {
    const row_set *rows;
    TN_TRY(find_rows(laid_map, build, &rows, error));
    *number = rows->number;
    return TN_OK;
}

tn_status tn_laid_begin(tn_laid_map *laid_map, const tn_build *build, const tn_laid **laid, tn_error *error) {
    const row_set *rows;
    const tn_laid_key key = {build->rows,  build->columns, build->reduction, build->vector,
                             build->split, build->layouts, build->skew,      build->array};
    tn_layer_out out = {.laid_step = laid_map->step,
                        .step = laid_map->step->step,
                        .arrays = laid_map->step->arrays,
                        .map = laid_map->map,
                        .kinds = &laid_map->kinds,
                        .build = build,
                        .arena = laid_map->arena,
                        .error = error,
                        .widest_log = tn_log_above(tn_greatest(build->reduction, build->columns))};
    TN_TRY(find_rows(laid_map, build, &rows, error));
    out.row_log = rows->log;
    if (build->layouts == TN_LAID_BOUND) {
        TN_TRY(lay_bound(&out, &laid_map->bound, &key));
        *laid = &laid_map->bound.laid;
        return TN_OK;
    }
    tn_laid **list = list_of(laid_map, &key), *this_laid = *list;
    while (this_laid && memcmp(&this_laid->key, &key, sizeof key) != 0) this_laid = this_laid->next;
    if (!this_laid) TN_TRY(begin_anew(&out, &key, list));
    *laid = this_laid ? this_laid : *list;
    return TN_OK;
}

tn_status tn_laid_find(tn_laid_map *laid_map, const tn_build *build, const tn_laid **laid, tn_error *error) {
    TN_TRY(tn_laid_begin(laid_map, build, laid, error));
    return tn_laid_complete(*laid, error);
}
