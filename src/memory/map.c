#include "memory/map.h"

#include "base/checked.h"
#include "base/group.h"
#include "kernel/tiling.h"
#include "kernel/vector.h"
#include "layout/layout_demand.h"
#include "memory/pool.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

/* Operands of a product by position. */
enum { LEFT, RIGHT, WRITTEN = TN_OPERATION_READS };

/* The uses of an array, or of a memory (tn_uses_add). */
typedef struct use_list {
    tn_use *use;
    uint32_t count, room;
} use_list;

typedef struct {
    const tn_step *step;
    const tn_map_options *options;
    tn_arena *arena;
    tn_error *error;
    use_list *uses; /* [arrays] */
    uint32_t *list; /* [arrays]: scratch */
    tn_map *map;
} maker;

/* ---- uses ---- */

static bool covers(const tn_use *a, const tn_use *b) {
    return a->side == b->side && a->extent[0] >= b->extent[0] && a->extent[1] >= b->extent[1];
}

static bool before(const tn_use *a, const tn_use *b) {
    if (a->side != b->side) return a->side < b->side;
    if (a->extent[0] != b->extent[0]) return a->extent[0] < b->extent[0];
    return a->extent[1] < b->extent[1];
}

bool tn_uses_add(tn_use *use, uint32_t *uses, uint32_t most, tn_use added) {
    uint32_t kept = 0, place;
    for (uint32_t i = 0; i < *uses; i++)
        if (covers(&use[i], &added)) return true;
    for (uint32_t i = 0; i < *uses; i++)
        if (!covers(&added, &use[i])) use[kept++] = use[i];
    if (kept == most) return false;
    for (place = kept; place > 0 && before(&added, &use[place - 1]); place--) use[place] = use[place - 1];
    use[place] = added;
    *uses = kept + 1;
    return true;
}

static tn_status add_use(maker *builder, use_list *list, tn_use use) {
    enum { ROOM_LEAST = 4 };
    if (list->count == list->room) {
        const uint32_t room = list->room ? 2 * list->room : ROOM_LEAST;
        tn_use *grown;
        TN_TRY(TN_NEW(builder->arena, room, &grown, builder->error));
        if (list->count) memcpy(grown, list->use, list->count * sizeof *grown);
        *list = (use_list){grown, list->count, room};
    }
    tn_uses_add(list->use, &list->count, list->room, use);
    return TN_OK;
}

static uint32_t clamp(uint64_t extent) {
    return extent < TN_BUILD_PARALLEL_MOST ? (uint32_t)extent : TN_BUILD_PARALLEL_MOST;
}

tn_use tn_use_of(const tn_operation *operation, unsigned position) {
    uint32_t rows = clamp(operation->rows), columns = clamp(operation->columns),
             reduction = clamp(operation->reduction);
    if (operation->kind != TN_OP_PRODUCT) {
        bool elementwise = tn_operation_is_elementwise(operation->kind);
        uint64_t line = elementwise ? (uint64_t)rows * columns : columns;
        return (tn_use){TN_SIDE_VECTOR, {clamp(line), 1}};
    }
    if (position == LEFT) return (tn_use){TN_SIDE_LEFT, {rows, reduction}};
    if (position == RIGHT) return (tn_use){TN_SIDE_RIGHT, {reduction, columns}};
    for (uint32_t i = 0; i < operation->fused_count; i++)
        if (operation->fused[i].read == position)
            return (tn_use){TN_SIDE_BESIDE,
                            {clamp(operation->fused[i].rows), clamp(operation->fused[i].columns)}};
    return (tn_use){TN_SIDE_RESULT, {rows, columns}};
}

static tn_status collect_uses(maker *builder) {
    const tn_step *step = builder->step;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t j = 0; j < operation->read_count; j++)
            TN_TRY(add_use(builder, &builder->uses[operation->reads[j]], tn_use_of(operation, j)));
        for (uint32_t j = 0; j < operation->write_count; j++)
            TN_TRY(add_use(builder, &builder->uses[operation->writes[j]], tn_use_of(operation, WRITTEN)));
    }
    return TN_OK;
}

static int compare_uses(const use_list *a, const use_list *b) {
    for (uint32_t i = 0; i < a->count && i < b->count; i++)
        if (before(&a->use[i], &b->use[i]) || before(&b->use[i], &a->use[i]))
            return before(&a->use[i], &b->use[i]) ? -1 : 1;
    return (a->count > b->count) - (a->count < b->count);
}

static void take_uses(const use_list *list, tn_mapped *memory) {
    memory->use = list->use;
    memory->uses = list->count;
    for (uint32_t i = 0; i < list->count; i++) memory->sides |= 1u << list->use[i].side;
}

/* ---- memories of one array each, merged into classes ---- */

uint64_t tn_array_word_bits(const tn_step *step, uint32_t array) {
    const tn_number_format *format = step->array[array].format;
    return format ? tn_number_format_word_bits(format) : 8 * step->element_bytes;
}

static bool is_mapped(const maker *builder, uint32_t array) {
    return builder->step->array[array].elements > 0 && !builder->map->off_chip[array];
}

static tn_status one_extent(maker *builder, uint64_t elements, tn_mapped *memory) {
    tn_extent *extent;
    TN_TRY(TN_NEW(builder->arena, 1, &extent, builder->error));
    *extent = (tn_extent){elements, 1};
    memory->extent = extent;
    memory->extents = 1;
    return TN_OK;
}

/* What decides an array's class. Arrays of a class are alike; and of cores, it holds one of a layer: the n-th of
 * a layer's cores that are alike is in the n-th class of such cores. */
typedef struct {
    const tn_array *detail;
    uint64_t bits;
    const use_list *uses;
    uint32_t array, kind, ordinal; /* kind: the same for arrays that are alike; ordinal: among its layer's */
} member;

static int by_likeness(const void *left, const void *right) {
    const member *a = left, *b = right;
    if (a->detail->elements != b->detail->elements) return a->detail->elements < b->detail->elements ? -1 : 1;
    if (a->detail->role != b->detail->role) return a->detail->role < b->detail->role ? -1 : 1;
    if (a->bits != b->bits) return a->bits < b->bits ? -1 : 1;
    if (a->detail->is_core != b->detail->is_core) return a->detail->is_core ? 1 : -1;
    return compare_uses(a->uses, b->uses);
}

static int by_layer(const void *left, const void *right) {
    const member *a = left, *b = right;
    int likeness = by_likeness(a, b);
    if (likeness != 0) return likeness;
    if (a->detail->layer != b->detail->layer) return a->detail->layer < b->detail->layer ? -1 : 1;
    return (a->array > b->array) - (a->array < b->array);
}

static int by_class(const void *left, const void *right) {
    const member *a = left, *b = right;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->ordinal != b->ordinal) return a->ordinal < b->ordinal ? -1 : 1;
    return (a->array > b->array) - (a->array < b->array);
}

/* first[i]: the first array of the class of array i, of the cores and, if so asked, of the others. */
static tn_status find_classes(maker *builder, bool others, uint32_t *first) {
    uint32_t count = 0;
    member *members;
    TN_TRY(TN_NEW(builder->arena, builder->step->arrays, &members, builder->error));
    for (uint32_t i = 0; i < builder->step->arrays; i++)
        if (others || builder->step->array[i].is_core)
            members[count++] = (member){.detail = &builder->step->array[i],
                                        .bits = tn_array_word_bits(builder->step, i),
                                        .uses = &builder->uses[i],
                                        .array = i};
    qsort(members, count, sizeof *members, by_layer);
    for (uint32_t i = 1; i < count; i++) {
        const member *before = &members[i - 1];
        bool alike = by_likeness(before, &members[i]) == 0;
        members[i].kind = before->kind + !alike;
        if (alike && before->detail->is_core && before->detail->layer == members[i].detail->layer)
            members[i].ordinal = before->ordinal + 1;
    }
    qsort(members, count, sizeof *members, by_class);
    for (uint32_t i = 0; i < count; i++) {
        const member *before = i > 0 ? &members[i - 1] : NULL;
        bool same = before && before->kind == members[i].kind && before->ordinal == members[i].ordinal;
        first[members[i].array] = same ? first[before->array] : members[i].array;
    }
    return TN_OK;
}

static tn_status add_class(maker *builder, uint32_t array, tn_mapped *memory) {
    const tn_array *this_array = &builder->step->array[array];
    *memory = (tn_mapped){.array = array,
                          .word_bits = tn_array_word_bits(builder->step, array),
                          .store = tn_role_store(this_array->role),
                          .grouped = this_array->is_core};
    take_uses(&builder->uses[array], memory);
    return one_extent(builder, tn_array_stored(this_array), memory);
}

/* Classes are numbered by the first of their arrays that is mapped. */
static tn_status add_classes(maker *builder, bool others) {
    tn_map *map = builder->map;
    uint32_t *first, *class_of;
    TN_TRY(TN_NEW(builder->arena, builder->step->arrays, &first, builder->error));
    TN_TRY(TN_NEW(builder->arena, builder->step->arrays, &class_of, builder->error));
    for (uint32_t i = 0; i < builder->step->arrays; i++) class_of[i] = NONE;
    TN_TRY(find_classes(builder, others, first));
    for (uint32_t i = 0; i < builder->step->arrays; i++) {
        if (!is_mapped(builder, i) || (!builder->step->array[i].is_core && !others)) continue;
        uint32_t *entry = &class_of[first[i]];
        if (*entry == NONE) {
            *entry = map->memories;
            TN_TRY(add_class(builder, i, &map->memory[*entry]));
            map->memories++;
        }
        map->memory_of[i] = *entry;
        map->copy_of[i] = (uint32_t)map->memory[*entry].copies++;
        map->memory[*entry].arrays++;
    }
    return TN_OK;
}

/* A core gradient's memory serves again once its update is done. */
static tn_status reuse_core_gradients(maker *builder) {
    tn_map *map = builder->map;
    tn_groups classes;
    TN_TRY(tn_group_by(map->memory_of, NULL, builder->step->arrays, map->memories, builder->arena, &classes,
                       builder->error));
    for (uint32_t m = 0; m < map->memories; m++) {
        uint32_t count = map->memory[m].arrays;
        const uint32_t *list = classes.member + classes.first[m];
        tn_pool pool;
        if (builder->step->array[map->memory[m].array].role != TN_ARRAY_GRADIENT) continue;
        TN_TRY(tn_pool_deal(builder->step, list, count, builder->arena, &pool, builder->error));
        map->memory[m].copies = pool.slots;
        for (uint32_t i = 0; i < count; i++) {
            map->copy_of[list[i]] = pool.slot_of[i];
            map->slot_of[list[i]] = map->slots + pool.slot_of[i];
        }
        map->slots += pool.slots;
    }
    return TN_OK;
}

/* ---- pools ---- */

/* The slots of one memory of a pool, equal sizes merged; slots come largest first. */
static tn_status fill_extents(maker *builder, const tn_pool *pool, uint32_t which, tn_mapped *memory) {
    tn_extent *extent;
    uint32_t count = 0;
    TN_TRY(TN_NEW(builder->arena, pool->slots, &extent, builder->error));
    memory->array = NONE;
    for (uint32_t i = 0; i < pool->slots; i++) {
        if (pool->slot[i].memory != which) continue;
        if (memory->array == NONE) memory->array = pool->slot[i].array;
        if (count > 0 && extent[count - 1].elements == pool->slot[i].elements)
            extent[count - 1].arrays++;
        else
            extent[count++] = (tn_extent){pool->slot[i].elements, 1};
    }
    memory->extent = extent;
    memory->extents = count;
    return TN_OK;
}

static tn_status add_pooled(maker *builder, const tn_pool *pool, uint32_t count, uint32_t which) {
    tn_map *map = builder->map;
    tn_mapped *memory = &map->memory[map->memories];
    use_list all = {0};
    *memory = (tn_mapped){.copies = 1};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t array = builder->list[i];
        if (pool->slot[pool->slot_of[i]].memory != which) continue;
        for (uint32_t k = 0; k < builder->uses[array].count; k++)
            TN_TRY(add_use(builder, &all, builder->uses[array].use[k]));
        memory->arrays++;
        memory->word_bits = tn_array_word_bits(builder->step, array);
        memory->store = tn_role_store(builder->step->array[array].role);
        map->memory_of[array] = map->memories;
        map->copy_of[array] = 0;
        map->slot_of[array] = map->slots + pool->slot_of[i];
    }
    map->memories++;
    take_uses(&all, memory);
    return fill_extents(builder, pool, which, memory);
}

/* Role of a pool's arrays: activations and intermediates are one. */
static int pool_of(const tn_array *array) {
    return tn_role_store(array->role) == TN_STORE_ACTIVATIONS ? TN_ARRAY_ACTIVATION : (int)array->role;
}

/* The next wider words that arrays of the pool have; 0: none. */
static uint64_t next_bits(const maker *builder, int role, uint64_t bits) {
    uint64_t next = 0;
    for (uint32_t i = 0; i < builder->step->arrays; i++) {
        if (!is_mapped(builder, i) || builder->step->array[i].is_core ||
            pool_of(&builder->step->array[i]) != role)
            continue;
        uint64_t its = tn_array_word_bits(builder->step, i);
        if (its > bits && (next == 0 || its < next)) next = its;
    }
    return next;
}

/* Pools of what is no core, by what they hold, parameters, gradients, optimizer state, the rest, and by the bits of
 * its words. */
static tn_status add_pools(maker *builder) {
    const tn_step *step = builder->step;
    for (int role = 0; role <= TN_ARRAY_ACTIVATION; role++)
        for (uint64_t bits = next_bits(builder, role, 0); bits > 0; bits = next_bits(builder, role, bits)) {
            uint32_t count = 0;
            tn_pool pool;
            for (uint32_t i = 0; i < step->arrays; i++)
                if (is_mapped(builder, i) && !step->array[i].is_core && pool_of(&step->array[i]) == role &&
                    tn_array_word_bits(step, i) == bits)
                    builder->list[count++] = i;
            TN_TRY(tn_pool_make(step, builder->list, count, builder->arena, &pool, builder->error));
            for (uint32_t which = 0; which < pool.memories; which++)
                TN_TRY(add_pooled(builder, &pool, count, which));
            builder->map->slots += pool.slots;
        }
    return TN_OK;
}

/* ---- off chip ---- */

uint64_t tn_operand_elements(const tn_step *step, const tn_operation *operation, uint32_t array,
                             unsigned position) {
    uint64_t whole = tn_array_stored(&step->array[array]), moved;
    uint64_t factor[] = {operation->batch, operation->rows, operation->columns};
    if (operation->kind == TN_OP_PRODUCT && position == LEFT) factor[2] = operation->reduction;
    if (operation->kind == TN_OP_PRODUCT && position == RIGHT) factor[1] = operation->reduction;
    return tn_product(factor, 3, &moved) && moved < whole ? moved : whole;
}

bool tn_map_puts_off_chip(const tn_step *step, const tn_map_options *options, uint32_t array) {
    const uint64_t excess = options->off_chip_over_bytes;
    return excess > 0 && tn_array_stored(&step->array[array]) > 8 * excess / tn_array_word_bits(step, array);
}

static void choose_off_chip(maker *builder) {
    for (uint32_t i = 0; i < builder->step->arrays; i++)
        builder->map->off_chip[i] = tn_map_puts_off_chip(builder->step, builder->options, i);
}

static tn_tile_limits limits_of(const maker *builder) {
    const uint64_t bytes = builder->step->element_bytes;
    return (tn_tile_limits){.capacity = tn_ceil_div(builder->options->tile_bytes, bytes),
                            .access = tn_greatest(1, tn_ceil_div(builder->options->access_bytes, bytes)),
                            .burst = tn_greatest(1, tn_ceil_div(builder->options->burst_bytes, bytes))};
}

static bool is_tiled_alike(const maker *builder, const tn_operation *a, const tn_operation *b) {
    const bool *off = builder->map->off_chip;
    return b->kind == TN_OP_PRODUCT && a->batch == b->batch && a->rows == b->rows &&
           a->columns == b->columns && a->reduction == b->reduction && off[a->reads[0]] == off[b->reads[0]] &&
           off[a->reads[1]] == off[b->reads[1]] && off[a->writes[0]] == off[b->writes[0]];
}

/* Products of few sizes come again and again: each is tiled once. */
static tn_status find_tilings(maker *builder) {
    const tn_step *step = builder->step;
    const tn_tile_limits limits = limits_of(builder);
    uint32_t *kind, kinds = 0;
    TN_TRY(TN_NEW(builder->arena, step->operations, &builder->map->tiling, builder->error));
    TN_TRY(TN_NEW(builder->arena, step->operations, &kind, builder->error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        uint32_t k = 0;
        if (operation->kind != TN_OP_PRODUCT) continue;
        while (k < kinds && !is_tiled_alike(builder, operation, &step->operation[kind[k]])) k++;
        if (k < kinds) {
            builder->map->tiling[i] = builder->map->tiling[kind[k]];
            continue;
        }
        TN_TRY(tn_operation_tiling(operation, builder->map->off_chip, &limits, &builder->map->tiling[i],
                                   builder->error));
        kind[kinds++] = i;
    }
    return TN_OK;
}

/* A flat product goes block by block of its columns (step/linear.c): while one is computed the next is brought. Of a matrix, and
 * of keys, a column's terms lie together; of values they do not. */
static bool goes_by_blocks(const tn_operation *operation, const tn_step *step) {
    const bool of_values = operation->attention && step->array[operation->writes[0]].part != TN_PART_SCORES;
    return operation->column_block > 0 && !of_values;
}

/* What is staged at a time: all, a burst where a kernel goes over it only once, a block of columns, or a tile. */
static uint64_t piece_of(const maker *builder, uint32_t index, uint32_t array, unsigned position) {
    const tn_operation *operation = &builder->step->operation[index];
    const tn_tiling *tiling = &builder->map->tiling[index];
    const tn_tile_limits limits = limits_of(builder);
    const uint64_t all = tn_operand_elements(builder->step, operation, array, position);
    if (operation->kind != TN_OP_PRODUCT) {
        if (tn_vector_passes(operation->kind) == 1) return tn_least(all, limits.burst);
        return limits.capacity ? tn_least(all, tn_greatest(limits.capacity, operation->columns)) : all;
    }
    if (!tiling->tiles && position != LEFT && goes_by_blocks(operation, builder->step))
        return tn_greatest(1, all / operation->columns * operation->column_block);
    if (!tiling->tiles) return all;
    if (position < TN_PRODUCT_OPERANDS) return tiling->staged[position];
    /* What is read or written beside the result goes with its tiles. */
    return tn_least(all, tiling->rows * tiling->columns);
}

static void stage(maker *builder, uint32_t index, uint32_t array, unsigned position) {
    const uint64_t all =
        tn_operand_elements(builder->step, &builder->step->operation[index], array, position);
    if (!builder->map->off_chip[array]) return;
    tn_staged staged = {.operation = index, .array = array, .position = position};
    staged.piece = piece_of(builder, index, array, position);
    staged.held = staged.piece < all ? tn_least(2 * staged.piece, all) : all;
    builder->map->staged[builder->map->staged_count++] = staged;
}

static tn_status list_staged(maker *builder) {
    const tn_step *step = builder->step;
    TN_TRY(TN_NEW(builder->arena, (size_t)step->operations * (TN_OPERATION_READS + TN_OPERATION_WRITES),
                  &builder->map->staged, builder->error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t j = 0; j < operation->read_count; j++) stage(builder, i, operation->reads[j], j);
        for (uint32_t j = 0; j < operation->write_count; j++)
            stage(builder, i, operation->writes[j], WRITTEN);
    }
    return TN_OK;
}

static tn_status add_staging(maker *builder) {
    tn_map *map = builder->map;
    bool any = false;
    for (unsigned position = 0; position <= WRITTEN; position++) map->staging_of[position] = NONE;
    for (uint32_t i = 0; i < builder->step->arrays; i++) any |= map->off_chip[i];
    if (!any) return TN_OK;
    TN_TRY(find_tilings(builder));
    TN_TRY(list_staged(builder));
    for (unsigned position = 0; position <= WRITTEN; position++) {
        tn_mapped staging = {.store = TN_STORE_ACTIVATIONS, .staging = true, .copies = 1};
        use_list uses = {0};
        uint64_t elements = 0;
        for (uint32_t i = 0; i < map->staged_count; i++) {
            const tn_staged *staged = &map->staged[i];
            if (staged->position != position) continue;
            if (staged->held > elements) {
                elements = staged->held;
                staging.array = staged->array;
            }
            staging.arrays++;
            TN_TRY(
                add_use(builder, &uses, tn_use_of(&builder->step->operation[staged->operation], position)));
        }
        if (staging.arrays == 0) continue;
        take_uses(&uses, &staging);
        TN_TRY(one_extent(builder, elements, &staging));
        map->memory[map->memories] = staging;
        map->staging_of[position] = map->memories++;
    }
    return TN_OK;
}

/* ---- the whole ---- */

static tn_status make_room(maker *builder) {
    tn_map *map = builder->map;
    size_t arrays = builder->step->arrays, most = arrays + TN_OPERATION_READS + 1;
    TN_TRY(TN_NEW(builder->arena, arrays, &builder->uses, builder->error));
    TN_TRY(TN_NEW(builder->arena, arrays, &builder->list, builder->error));
    TN_TRY(TN_NEW(builder->arena, most, &map->memory, builder->error));
    TN_TRY(TN_NEW(builder->arena, arrays, &map->memory_of, builder->error));
    TN_TRY(TN_NEW(builder->arena, arrays, &map->copy_of, builder->error));
    TN_TRY(TN_NEW(builder->arena, arrays, &map->slot_of, builder->error));
    TN_TRY(TN_NEW(builder->arena, arrays, &map->off_chip, builder->error));
    for (uint32_t i = 0; i < arrays; i++) map->memory_of[i] = map->copy_of[i] = map->slot_of[i] = NONE;
    return TN_OK;
}

tn_status tn_map_make(const tn_step *step, const tn_map_options *options, tn_arena *arena, tn_map *map,
                      tn_error *error) {
    maker builder = {.step = step, .options = options, .arena = arena, .error = error, .map = map};
    bool pooled = options->buffers == TN_BUFFERS_POOLED;
    *map = (tn_map){0};
    TN_TRY(make_room(&builder));
    choose_off_chip(&builder);
    TN_TRY(collect_uses(&builder));
    TN_TRY(add_classes(&builder, !pooled));
    if (pooled) {
        TN_TRY(reuse_core_gradients(&builder));
        TN_TRY(add_pools(&builder));
    }
    TN_TRY(add_staging(&builder));
    for (uint32_t i = 0; i < map->memories; i++) {
        map->memory[i].first_port = map->ports;
        map->ports += map->memory[i].copies;
    }
    return TN_OK;
}

static uint64_t power_above(uint64_t value) {
    return UINT64_C(1) << tn_log_above(value);
}

static uint64_t widest(const tn_mapped *memory, const tn_build *build, bool powers) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < memory->uses; i++) {
        const tn_use *use = &memory->use[i];
        uint64_t edge[2], words;
        tn_side_edges(use->side, build, edge);
        for (int k = 0; k < 2; k++) {
            edge[k] = tn_least(edge[k], use->extent[k]);
            if (powers) edge[k] = power_above(edge[k]);
        }
        words = edge[0] * edge[1];
        if (words > most) most = words;
    }
    return most;
}

uint64_t tn_mapped_accesses(const tn_mapped *memory, const tn_build *build) {
    return widest(memory, build, false);
}

uint64_t tn_mapped_row(const tn_mapped *memory, const tn_build *build) {
    return widest(memory, build, true);
}

uint64_t tn_mapped_rows(const tn_mapped *memory, uint64_t elements) {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < memory->extents; i++)
        rows += memory->extent[i].arrays * tn_ceil_div(memory->extent[i].elements, elements);
    return rows;
}

uint64_t tn_map_most_copies(const tn_map *map) {
    uint64_t most = 1;
    for (uint32_t m = 0; m < map->memories; m++)
        if (map->memory[m].grouped) most = tn_greatest(most, map->memory[m].copies);
    return most;
}

uint32_t tn_widest_row_log(const tn_build *build) {
    uint32_t most = 0;
    for (int side = 0; side < TN_SIDES; side++) {
        uint64_t edge[2];
        tn_side_edges((tn_side)side, build, edge);
        most = (uint32_t)tn_greatest(most, tn_log_above(edge[0]) + tn_log_above(edge[1]));
    }
    return most;
}
