#include "hardware/layout.h"

#include "hardware/pool.h"
#include "hardware/vector.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

/* The uses of an array, or of a memory; none is covered by another, in a fixed order. */
typedef struct use_node {
    tn_use use;
    struct use_node *next;
} use_node;

typedef struct {
    const tn_step *step;
    tn_arena *arena;
    tn_error *error;
    use_node **uses;  /* [arrays] */
    uint8_t *streams; /* [arrays]: bit 0 input gradients, bit 1 weight gradients and updates */
} maker;

static bool covers(const tn_use *a, const tn_use *b) {
    return a->side == b->side && a->extent[0] >= b->extent[0] && a->extent[1] >= b->extent[1];
}

static bool before(const tn_use *a, const tn_use *b) {
    if (a->side != b->side) return a->side < b->side;
    if (a->extent[0] != b->extent[0]) return a->extent[0] < b->extent[0];
    return a->extent[1] < b->extent[1];
}

static tn_status add_use(maker *with, use_node **list, tn_use use) {
    for (const use_node *node = *list; node; node = node->next)
        if (covers(&node->use, &use)) return TN_OK;
    for (use_node **at = list; *at;)
        if (covers(&use, &(*at)->use))
            *at = (*at)->next;
        else
            at = &(*at)->next;
    use_node *made;
    TN_TRY(tn_arena_alloc(with->arena, 1, sizeof *made, &made, with->error));
    use_node **at = list;
    while (*at && before(&(*at)->use, &use)) at = &(*at)->next;
    *made = (use_node){use, *at};
    *at = made;
    return TN_OK;
}

static uint32_t clamp(uint64_t extent) {
    return extent < TN_BUILD_PARALLEL_MOST ? (uint32_t)extent : TN_BUILD_PARALLEL_MOST;
}

/* Operands of a product: left, right, and whatever else takes part in the result. */
enum { LEFT, RIGHT, RESULT };

static tn_use use_of(const tn_step *step, const tn_operation *operation, unsigned position) {
    uint32_t rows = clamp(operation->rows), columns = clamp(operation->columns),
             reduction = clamp(operation->reduction);
    if (operation->kind != TN_OP_PRODUCT) {
        bool elementwise = tn_vector_elementwise(tn_vector_of(step, operation));
        uint64_t line = elementwise ? (uint64_t)rows * columns : columns;
        return (tn_use){TN_SIDE_VECTOR, {clamp(line), 1}};
    }
    if (position == LEFT) return (tn_use){TN_SIDE_LEFT, {rows, reduction}};
    if (position == RIGHT) return (tn_use){TN_SIDE_RIGHT, {reduction, columns}};
    return (tn_use){TN_SIDE_RESULT, {rows, columns}};
}

static uint8_t stream_bit(tn_phase phase) {
    if (phase == TN_FORWARD) return 0;
    return phase == TN_INPUT_GRADIENT ? 1 : 2;
}

static tn_status note_use(maker *with, const tn_operation *operation, uint32_t array, unsigned position) {
    with->streams[array] |= stream_bit(operation->phase);
    return add_use(with, &with->uses[array], use_of(with->step, operation, position));
}

static tn_status collect_uses(maker *with) {
    const tn_step *step = with->step;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t j = 0; j < operation->read_count; j++)
            TN_TRY(note_use(with, operation, operation->reads[j], j));
        for (uint32_t j = 0; j < operation->write_count; j++)
            TN_TRY(note_use(with, operation, operation->writes[j], RESULT));
    }
    return TN_OK;
}

static bool equal_uses(const use_node *a, const use_node *b) {
    for (; a && b; a = a->next, b = b->next)
        if (memcmp(a->use.extent, b->use.extent, sizeof a->use.extent) != 0 || a->use.side != b->use.side)
            return false;
    return !a && !b;
}

static bool is_activation(const tn_array *array) {
    return array->role == TN_ARRAY_ACTIVATION || array->role == TN_ARRAY_INTERMEDIATE;
}

static tn_status flatten_uses(maker *with, const use_node *list, tn_layout_memory *memory) {
    tn_use *use;
    uint32_t count = 0;
    for (const use_node *node = list; node; node = node->next) count++;
    TN_TRY(tn_arena_alloc(with->arena, count, sizeof *use, &use, with->error));
    memory->use = use;
    memory->uses = count;
    for (const use_node *node = list; node; node = node->next) *use++ = node->use;
    return TN_OK;
}

static tn_status one_extent(maker *with, uint64_t elements, tn_layout_memory *memory) {
    tn_extent *extent;
    TN_TRY(tn_arena_alloc(with->arena, 1, sizeof *extent, &extent, with->error));
    *extent = (tn_extent){elements, 1};
    memory->extent = extent;
    memory->extents = 1;
    return TN_OK;
}

/* Merges arrays that `wanted` accepts by equal size, role and uses; a class is a memory with copies. */
static tn_status add_classes(maker *with, bool cores, bool others, tn_layout *layout) {
    const tn_step *step = with->step;
    uint32_t first = layout->memories;
    for (uint32_t i = 0; i < step->arrays; i++) {
        const tn_array *array = &step->array[i];
        if (array->elements == 0 || !(array->is_core ? cores : others)) continue;
        uint32_t at = first;
        for (; at < layout->memories; at++) {
            const tn_array *other = &step->array[layout->memory[at].array];
            if (other->elements == array->elements && other->role == array->role &&
                other->is_core == array->is_core &&
                equal_uses(with->uses[layout->memory[at].array], with->uses[i]))
                break;
        }
        tn_layout_memory *memory = &layout->memory[at];
        if (at == layout->memories) {
            layout->memories++;
            *memory =
                (tn_layout_memory){.array = i, .activation = is_activation(array), .grouped = array->is_core};
            TN_TRY(flatten_uses(with, with->uses[i], memory));
            TN_TRY(one_extent(with, array->elements, memory));
        }
        memory->both_streams |= with->streams[i] == 3;
        memory->arrays++;
        memory->copies++;
        layout->memory_of[i] = at;
    }
    return TN_OK;
}

/* A gradient's memory serves again once its update is done: a class needs as many as live at once. */
static tn_status reuse_core_gradients(maker *with, tn_layout *layout) {
    uint32_t *list;
    TN_TRY(tn_arena_alloc(with->arena, with->step->arrays, sizeof *list, &list, with->error));
    for (uint32_t m = 0; m < layout->memories; m++) {
        if (with->step->array[layout->memory[m].array].role != TN_ARRAY_GRADIENT) continue;
        uint32_t count = 0;
        for (uint32_t i = 0; i < with->step->arrays; i++)
            if (layout->memory_of[i] == m) list[count++] = i;
        layout->memory[m].copies = tn_pool_most_alive(with->step, list, count);
    }
    return TN_OK;
}

/* The slots of one memory of a pool, equal sizes merged; slots come largest first. */
static tn_status fill_extents(maker *with, const tn_pool *pool, uint32_t which, tn_layout_memory *memory) {
    tn_extent *extent;
    uint32_t count = 0;
    TN_TRY(tn_arena_alloc(with->arena, pool->slots, sizeof *extent, &extent, with->error));
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

static tn_status add_pool(maker *with, const uint32_t *list, uint32_t count, bool activation,
                          tn_layout *layout) {
    tn_pool pool;
    TN_TRY(tn_pool_make(with->step, list, count, with->arena, &pool, with->error));
    for (uint32_t which = 0; which < pool.memories; which++) {
        tn_layout_memory *memory = &layout->memory[layout->memories];
        use_node *uses = NULL;
        uint8_t streams = 0;
        *memory = (tn_layout_memory){.activation = activation, .copies = 1};
        for (uint32_t i = 0; i < count; i++) {
            if (pool.slot[pool.slot_of[i]].memory != which) continue;
            for (const use_node *node = with->uses[list[i]]; node; node = node->next)
                TN_TRY(add_use(with, &uses, node->use));
            streams |= with->streams[list[i]];
            memory->arrays++;
            layout->memory_of[list[i]] = layout->memories;
            layout->slot_of[list[i]] = layout->slots + pool.slot_of[i];
        }
        memory->both_streams = streams == 3;
        TN_TRY(flatten_uses(with, uses, memory));
        TN_TRY(fill_extents(with, &pool, which, memory));
        layout->memories++;
    }
    layout->slots += pool.slots;
    return TN_OK;
}

/* Pools of what is no core, by what they hold: parameters, gradients, optimizer state, the rest. */
static tn_status add_pools(maker *with, tn_layout *layout) {
    const tn_step *step = with->step;
    uint32_t *list;
    TN_TRY(tn_arena_alloc(with->arena, step->arrays, sizeof *list, &list, with->error));
    for (int role = 0; role <= TN_ARRAY_ACTIVATION; role++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < step->arrays; i++) {
            const tn_array *array = &step->array[i];
            int pool = is_activation(array) ? TN_ARRAY_ACTIVATION : (int)array->role;
            if (array->elements > 0 && !array->is_core && pool == role) list[count++] = i;
        }
        if (count > 0) TN_TRY(add_pool(with, list, count, role == TN_ARRAY_ACTIVATION, layout));
    }
    return TN_OK;
}

tn_status tn_layout_make(const tn_step *step, tn_buffers buffers, tn_arena *arena, tn_layout *layout,
                         tn_error *error) {
    maker with = {.step = step, .arena = arena, .error = error};
    *layout = (tn_layout){0};
    TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *with.uses, &with.uses, error));
    TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *with.streams, &with.streams, error));
    TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *layout->memory, &layout->memory, error));
    TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *layout->memory_of, &layout->memory_of, error));
    TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *layout->slot_of, &layout->slot_of, error));
    for (uint32_t i = 0; i < step->arrays; i++) layout->memory_of[i] = layout->slot_of[i] = NONE;
    TN_TRY(collect_uses(&with));
    bool pooled = buffers == TN_BUFFERS_POOLED;
    TN_TRY(add_classes(&with, true, !pooled, layout));
    if (!pooled) return TN_OK;
    TN_TRY(reuse_core_gradients(&with, layout));
    return add_pools(&with, layout);
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

uint64_t tn_layout_accesses(const tn_layout_memory *memory, const tn_build *build) {
    const uint64_t parallel[][2] = {[TN_SIDE_LEFT] = {build->rows, build->reduction},
                                    [TN_SIDE_RIGHT] = {build->reduction, build->columns},
                                    [TN_SIDE_RESULT] = {build->rows, build->columns},
                                    [TN_SIDE_VECTOR] = {build->vector, 1}};
    uint64_t most = 1;
    for (uint32_t i = 0; i < memory->uses; i++) {
        const tn_use *use = &memory->use[i];
        const uint64_t *p = parallel[use->side];
        uint64_t words = least(p[0], use->extent[0]) * least(p[1], use->extent[1]);
        if (words > most) most = words;
    }
    return most;
}
