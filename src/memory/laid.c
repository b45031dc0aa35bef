#include "memory/laid.h"

#include "base/checked.h"
#include "base/digest.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

enum { ROWS_KEPT = 16, LISTS = 512 };

/* How many elements the rows of all memories have: few sets of them come of many kinds of parallelism. */
typedef struct row_set {
    uint8_t *log; /* [map->memories] */
    uint32_t number;
    struct row_set *next;
} row_set;

typedef struct {
    uint64_t parallelism[4]; /* rows, columns, reduction, vector; 0: none yet */
    const row_set *set;
} kept_rows;

/* Under a bound a memory's row follows from how many elements it has, whatever the others are: updates go through memories
 * of equal rows (even_out). So each is found once for each number of elements, and a build picks. */
typedef struct {
    tn_laid laid;            /* of the build at hand; no `memory`: none yet */
    tn_row *of[TN_ROW_LOGS]; /* [map->memories], where every row has 2^l elements; NULL: not asked for yet */
} bound_rows;

struct tn_laid_map {
    tn_laid_step *of;
    const tn_map *map;
    tn_arena *arena;
    kept_rows rows[ROWS_KEPT];
    row_set *sets;  /* all that came, each once */
    uint8_t *trial; /* [map->memories] */
    tn_laid **list; /* [LISTS], by hash */
    bound_rows bound;
};

typedef struct {
    tn_laid_step *of;
    const tn_step *step;
    const tn_laid_arrays *arrays;
    const tn_map *map;
    const tn_build *build;
    tn_arena *arena;
    tn_error *error;
    tn_laid *laid;
    const uint8_t *row_log; /* [memories] */
    uint32_t widest_log;    /* of the terms or columns that the kernel takes, whichever are more */
} layer_out;

/* The banking that a split of the build asks for. */
static tn_banking banking_of(uint32_t split) {
    static const tn_banking banking[] = {[TN_SPLIT_PARTITION] = TN_BANKING_SKEW,
                                         [TN_SPLIT_RESHAPE] = TN_BANKING_WORD,
                                         [TN_SPLIT_BANKS] = TN_BANKING_ROWS,
                                         [TN_SPLIT_AUTO] = TN_BANKING_AUTO};
    return banking[split];
}

/* ---- rows of memories ---- */

/* Raises what an update, or a copy, goes through to the widest of it; true if anything changed. */
static bool even_out(const tn_map *map, const uint32_t *array, uint32_t arrays, uint8_t *row_log) {
    uint8_t most = 0;
    bool changed = false;
    for (uint32_t i = 0; i < arrays; i++) {
        uint32_t memory = map->memory_of[array[i]];
        if (memory != NONE && row_log[memory] > most) most = row_log[memory];
    }
    for (uint32_t i = 0; i < arrays; i++) {
        uint32_t memory = map->memory_of[array[i]];
        if (memory == NONE || row_log[memory] == most) continue;
        row_log[memory] = most;
        changed = true;
    }
    return changed;
}

static void find_logs(const tn_laid_map *with, const tn_build *build, uint8_t *log) {
    const tn_laid_arrays *arrays = with->of->arrays;
    const tn_operation *operation = with->of->step->operation;
    bool changed = true;
    for (uint32_t m = 0; m < with->map->memories; m++)
        log[m] = (uint8_t)tn_log_above(tn_mapped_row(&with->map->memory[m], build));
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < arrays->updates; i++) {
            const tn_operation *update = &operation[arrays->update[i]];
            changed |= even_out(with->map, update->reads, update->read_count, log);
        }
        for (uint32_t i = 0; i < arrays->cuts; i++) {
            const tn_operation *copy = &operation[arrays->cut[i]];
            changed |= even_out(with->map, (const uint32_t[]){copy->reads[0], copy->writes[0]}, 2, log);
        }
    }
}

/* The set of those rows, which is a new one if none is as they are. */
static tn_status find_set(tn_laid_map *with, const uint8_t *log, const row_set **set, tn_error *error) {
    size_t memories = with->map->memories;
    row_set *made = with->sets;
    while (made && memcmp(made->log, log, memories) != 0) made = made->next;
    *set = made;
    if (made) return TN_OK;
    TN_TRY(TN_NEW(with->arena, 1, &made, error));
    TN_TRY(TN_NEW(with->arena, memories, &made->log, error));
    memcpy(made->log, log, memories);
    made->number = with->sets ? with->sets->number + 1 : 1;
    made->next = with->sets;
    *set = with->sets = made;
    return TN_OK;
}

/* Rows of all memories, or those that were found before under the same parallelism. */
static tn_status find_rows(tn_laid_map *with, const tn_build *build, const row_set **set, tn_error *error) {
    const uint64_t parallelism[] = {build->rows, build->columns, build->reduction, build->vector};
    kept_rows *kept = &with->rows[tn_hash_place(tn_hash_counts(parallelism, 4), ROWS_KEPT)];
    if (memcmp(kept->parallelism, parallelism, sizeof parallelism) != 0) {
        find_logs(with, build, with->trial);
        TN_TRY(find_set(with, with->trial, &kept->set, error));
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

/* Words of rows x columns: as many columns as the kernel takes terms or columns, as far as they lie together in every
 * folding, and as many rows as fill the memory's row; more columns where the matrix has no more rows. */
static tn_layout_demand demand_of_matrix(const layer_out *with, uint32_t array, uint32_t row_log) {
    uint32_t rows = with->arrays->rows_log[array], features = with->widest_log;
    if (rows < row_log && features < row_log - rows) features = row_log - rows;
    if (features > with->arrays->feature_log[array]) features = with->arrays->feature_log[array];
    if (features > row_log) features = row_log;
    return (tn_layout_demand){.has_row = true,
                              .is_updated = true,
                              .is_shared = true,
                              .row_log = (uint8_t)row_log,
                              .feature_log = (uint8_t)features,
                              .token_log = (uint8_t)(row_log - features)};
}

static tn_layout_demand demand_of(const layer_out *with, uint32_t layer, uint32_t tensor) {
    const tn_program *program = with->arrays->program[layer];
    uint32_t array = with->arrays->of_tensor[layer][tensor],
             memory = array == NONE ? NONE : with->map->memory_of[array];
    const bool looked_up = program != with->step->layer[layer].program;
    if (memory == NONE) return (tn_layout_demand){.is_updated = true, .is_looked_up = looked_up};
    uint8_t row_log = with->row_log[memory];
    if (with->arrays->columns[array] == 0 || program->tensor[tensor].indices.count == 0)
        return (tn_layout_demand){
            .has_row = true, .is_updated = true, .is_looked_up = looked_up, .row_log = row_log};
    tn_layout_demand demand = demand_of_matrix(with, array, row_log);
    if (!looked_up) return demand;
    demand.row_log = demand.feature_log; /* of one token: a word's other rows are those of other tokens */
    demand.token_log = 0;
    return demand;
}

/* Matrices lie in the same words for every operation; the depth follows. */
static void lay_matrices(layer_out *with) {
    const tn_bank_kind kind = tn_banking_kind(banking_of(with->build->split));
    for (uint32_t a = 0; a < with->step->arrays; a++) {
        uint32_t memory = with->map->memory_of[a];
        uint64_t columns = with->arrays->columns[a];
        if (memory == NONE || columns == 0) continue;
        uint64_t rows = with->arrays->rows[a];
        const tn_layout_demand demand = demand_of_matrix(with, a, with->row_log[memory]);
        tn_laid_words *words = &with->laid->words[a];
        *words = (tn_laid_words){.is_matrix = true, .of = tn_layout_shared(&demand, kind, rows > 1)};
        if (words->of.bank_log > 0) continue; /* the layers' searches say how words share rows */
        const uint64_t heads = with->arrays->heads[a];
        with->laid->depth[a] = heads * (((rows / heads - 1) >> words->of.token_log) + 1) *
                               (((columns - 1) >> words->of.feature_log) + 1);
    }
}

/* ---- layers ---- */

/* Layouts of a layer under its demands; for a bound, under which cycles are found later, the demands alone. */
static tn_status lay_layer(layer_out *with, uint32_t layer) {
    const tn_build *build = with->build;
    const tn_program *program = with->arrays->program[layer];
    const tn_kernel_edges edges = {build->rows, build->columns, build->reduction};
    tn_laid_layers *layers = &with->of->layers;
    tn_layout_demand *demand;
    if (!program) return TN_OK;
    TN_TRY(TN_NEW(layers->arena, program->tensors, &demand, with->error));
    for (uint32_t t = 0; t < program->tensors; t++) demand[t] = demand_of(with, layer, t);
    tn_laid_layer **of = &with->laid->known[layer];
    TN_TRY(tn_laid_layer_find(layers, program, &edges, banking_of(build->split), demand, of, with->error));
    if (with->laid->closely) return TN_OK;
    return tn_laid_layer_search(layers, *of, &with->laid->layer[layer], with->error);
}

static tn_status lay_layers(layer_out *with) {
    const tn_step *step = with->step;
    TN_TRY(TN_NEW(with->arena, step->arrays, &with->laid->words, with->error));
    TN_TRY(TN_NEW(with->arena, step->layers, &with->laid->known, with->error));
    lay_matrices(with);
    for (uint32_t l = 0; l < step->layers; l++) TN_TRY(lay_layer(with, l));
    return TN_OK;
}

tn_status tn_laid_product_cycles(const tn_laid_step *of, const tn_laid *laid, uint32_t layer,
                                 uint32_t product, const tn_matmul *kernel, uint64_t *cycles,
                                 tn_error *error) {
    return tn_laid_layer_cycles(&of->layers, laid->known[layer], laid->closely, product, kernel, cycles,
                                error);
}

tn_status tn_laid_partial_cycles(const tn_laid_step *of, const tn_laid *laid, uint32_t layer,
                                 const tn_partial *part, const tn_matmul *kernel, uint64_t *cycles,
                                 tn_error *error) {
    return tn_laid_layer_partial_cycles(&of->layers, laid->known[layer], part, kernel, cycles, error);
}

/* ---- depths ---- */

uint64_t tn_laid_tensor_rows(const tn_laid *laid, uint32_t layer, uint32_t tensor, uint64_t row_elements) {
    if (!laid->closely) return laid->layer[layer]->tensor[tensor].depth;
    return laid->least[layer]->rows[tensor][tn_log_above(row_elements)];
}

static tn_status find_least_depths(layer_out *with) {
    const tn_step *step = with->step;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_program *program = with->arrays->program[l];
        const tn_least_rows *least;
        if (!program) continue;
        TN_TRY(tn_least_rows_find(&with->of->least, program, with->of->layers.arena, &least, with->error));
        if (with->laid->least) with->laid->least[l] = least;
        for (uint32_t t = 0; t < program->tensors; t++) {
            uint32_t array = with->arrays->of_tensor[l][t],
                     memory = array == NONE ? NONE : with->map->memory_of[array];
            if (memory == NONE || (program != step->layer[l].program && with->arrays->columns[array] > 0))
                continue;
            with->laid->depth[array] =
                tn_greatest(with->laid->depth[array],
                            least->rows[t][with->row_log[memory]] * tn_laid_slices(with->arrays, step, l, t));
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
        if (!tn_operation_is_update(operation) || with->laid->depth[operation->reads[0]] == 0) continue;
        uint64_t elements = step->array[operation->reads[0]].elements;
        for (uint32_t k = 2; k < operation->read_count; k++) {
            if (with->arrays->part[operation->reads[k]].of) continue;
            with->laid->depth[operation->reads[k]] = with->laid->depth[operation->reads[0]] *
                                                     (step->array[operation->reads[k]].elements / elements);
        }
    }
}

static void find_depths(layer_out *with) {
    const tn_step *step = with->step;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_layouts *layouts = with->laid->layer[l];
        for (uint32_t t = 0; layouts && t < layouts->tensors; t++) {
            uint32_t array = with->arrays->of_tensor[l][t],
                     memory = array == NONE ? NONE : with->map->memory_of[array];
            if (memory == NONE) continue;
            if (with->arrays->program[l] == step->layer[l].program || with->arrays->columns[array] == 0)
                with->laid->depth[array] =
                    tn_greatest(with->laid->depth[array],
                                layouts->tensor[t].depth * tn_laid_slices(with->arrays, step, l, t));
            with->laid->memory[memory].banks =
                tn_greatest(with->laid->memory[memory].banks, layouts->tensor[t].banks);
        }
    }
}

/* Parts lie as the wholes do, as far as they go. */
static void find_part_depths(layer_out *with) {
    for (uint32_t a = 0; a < with->step->arrays; a++) {
        const tn_laid_part *part = &with->arrays->part[a];
        tn_tensor_layout layout;
        if (!part->of || with->map->memory_of[a] == NONE) continue;
        tn_row *memory = &with->laid->memory[with->map->memory_of[a]];
        tn_partial_layout(&with->laid->layer[part->layer]->tensor[part->of->tensor], part->of, &layout);
        with->laid->depth[a] = layout.depth * part->times;
        memory->banks = tn_greatest(memory->banks, layout.banks);
    }
}

/* Slots of a memory lie one behind the other, each as deep as the deepest of its arrays. */
static tn_status sum_depths(layer_out *with) {
    const tn_map *map = with->map;
    uint64_t *slot;
    uint32_t *slot_memory;
    TN_TRY(TN_NEW(with->arena, map->slots, &slot, with->error));
    TN_TRY(TN_NEW(with->arena, map->slots, &slot_memory, with->error));
    for (uint32_t i = 0; i < with->step->arrays; i++) {
        uint32_t memory = map->memory_of[i];
        if (memory == NONE) continue;
        uint64_t depth = with->laid->depth[i], row = row_of(with, i);
        if (depth == 0) depth = tn_ceil_div(with->step->array[i].elements, row);
        if (map->memory[memory].grouped || map->slot_of[i] == NONE) {
            with->laid->memory[memory].depth = tn_greatest(with->laid->memory[memory].depth, depth);
        } else {
            slot[map->slot_of[i]] = tn_greatest(slot[map->slot_of[i]], depth);
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

/* Rows of all memories, empty. */
static tn_status begin_laid(layer_out *with) {
    const tn_step *step = with->step;
    tn_laid *laid = with->laid;
    TN_TRY(TN_NEW(with->arena, with->map->memories, &laid->memory, with->error));
    TN_TRY(TN_NEW(with->arena, step->layers, &laid->layer, with->error));
    TN_TRY(TN_NEW(with->arena, step->arrays, &laid->depth, with->error));
    for (uint32_t m = 0; m < with->map->memories; m++)
        laid->memory[m].elements = UINT64_C(1) << with->row_log[m];
    return TN_OK;
}

static tn_status fill_memories(layer_out *with) {
    for (uint32_t m = 0; m < with->map->memories; m++) {
        tn_row *row = &with->laid->memory[m];
        row->banks = tn_greatest(row->banks, banks_of(with->build->split, with->row_log[m]));
        row->asked_banks = banks_of(with->build->split, with->row_log[m]);
        unpadded_depth(with, m);
        row->unpadded_depth = row->depth;
        if (!with->map->memory[m].staging) row->depth = 0;
    }
    follow_parameters(with);
    return sum_depths(with);
}

static tn_status lay_all(layer_out *with) {
    TN_TRY(begin_laid(with));
    TN_TRY(lay_layers(with));
    find_depths(with);
    find_part_depths(with);
    return fill_memories(with);
}

/* ---- bounds ---- */

static tn_status find_bound_rows(const layer_out *with, uint32_t log, tn_row **rows) {
    layer_out alike = *with;
    tn_laid laid = {0};
    uint8_t *row_log;
    TN_TRY(TN_NEW(with->arena, with->map->memories, &row_log, with->error));
    memset(row_log, (int)log, with->map->memories * sizeof *row_log);
    alike.laid = &laid;
    alike.row_log = row_log;
    TN_TRY(begin_laid(&alike));
    TN_TRY(find_least_depths(&alike));
    TN_TRY(fill_memories(&alike));
    *rows = laid.memory;
    return TN_OK;
}

/* The bound's rows for the build at hand, in the place of those of the build before. */
static tn_status lay_bound(layer_out *with, bound_rows *bound, const tn_laid_key *key) {
    tn_laid *laid = &bound->laid;
    uint32_t memories = with->map->memories;
    if (!laid->memory) TN_TRY(TN_NEW(with->arena, memories, &laid->memory, with->error));
    if (memcmp(&laid->key, key, sizeof *key) == 0) return TN_OK;
    laid->key = (tn_laid_key){0};
    for (uint32_t m = 0; m < memories; m++) {
        uint32_t log = with->row_log[m];
        if (!bound->of[log]) TN_TRY(find_bound_rows(with, log, &bound->of[log]));
        tn_row *row = &laid->memory[m];
        *row = bound->of[log][m];
        row->banks = row->asked_banks = banks_of(with->build->split, log);
        row->of_bound = 1;
    }
    laid->key = *key;
    return TN_OK;
}

/* What operations take by the closer bound: memories are those of the other. */
static tn_status lay_closely(layer_out *with) {
    with->laid->closely = true;
    TN_TRY(begin_laid(with));
    TN_TRY(TN_NEW(with->arena, with->step->layers, &with->laid->least, with->error));
    TN_TRY(lay_layers(with));
    return find_least_depths(with);
}

/* ---- what is known ---- */

tn_status tn_laid_step_make(const tn_step *step, tn_arena *arena, tn_laid_step **made, tn_error *error) {
    tn_laid_step *of;
    TN_TRY(TN_NEW(arena, 1, &of, error));
    of->step = step;
    TN_TRY(tn_laid_arrays_find(step, arena, &of->arrays, error));
    TN_TRY(tn_laid_layers_begin(&of->layers, arena, error));
    *made = of;
    return TN_OK;
}

tn_status tn_laid_map_make(tn_laid_step *of, const tn_map *map, tn_arena *arena, tn_laid_map **made,
                           tn_error *error) {
    tn_laid_map *with;
    TN_TRY(TN_NEW(arena, 1, &with, error));
    *with = (tn_laid_map){.of = of, .map = map, .arena = arena};
    TN_TRY(TN_NEW(arena, map->memories, &with->trial, error));
    TN_TRY(TN_NEW(arena, LISTS, &with->list, error));
    *made = with;
    return TN_OK;
}

/* The list that what lies so is in. */
static tn_laid **list_of(const tn_laid_map *with, const tn_laid_key *key) {
    const uint64_t count[] = {key->rows, key->columns, key->reduction, key->vector, key->split, key->laying};
    return &with->list[tn_hash_place(tn_hash_counts(count, 6), LISTS)];
}

static tn_status lay_anew(layer_out *with, const tn_laid_key *key, tn_laid **list) {
    TN_TRY(TN_NEW(with->arena, 1, &with->laid, with->error));
    with->laid->key = *key;
    TN_TRY((key->laying == TN_LAID_CLOSELY ? lay_closely : lay_all)(with));
    with->laid->next = *list;
    *list = with->laid;
    return TN_OK;
}

tn_status tn_laid_rows(tn_laid_map *with, const tn_build *build, uint32_t *number, tn_error *error) {
    const row_set *rows;
    TN_TRY(find_rows(with, build, &rows, error));
    *number = rows->number;
    return TN_OK;
}

tn_status tn_laid_find(tn_laid_map *with, const tn_build *build, const tn_laid **laid, tn_error *error) {
    const row_set *rows;
    const tn_laid_key key = {build->rows,   build->columns, build->reduction,
                             build->vector, build->split,   build->layouts};
    layer_out out = {.of = with->of,
                     .step = with->of->step,
                     .arrays = with->of->arrays,
                     .map = with->map,
                     .build = build,
                     .arena = with->arena,
                     .error = error,
                     .widest_log = tn_log_above(tn_greatest(build->reduction, build->columns))};
    TN_TRY(find_rows(with, build, &rows, error));
    out.row_log = rows->log;
    if (build->layouts == TN_LAID_BOUND) {
        TN_TRY(lay_bound(&out, &with->bound, &key));
        *laid = &with->bound.laid;
        return TN_OK;
    }
    tn_laid **list = list_of(with, &key), *of = *list;
    while (of && memcmp(&of->key, &key, sizeof key) != 0) of = of->next;
    if (!of) TN_TRY(lay_anew(&out, &key, list));
    *laid = of ? of : *list;
    return TN_OK;
}
