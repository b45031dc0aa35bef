/* Memory maps and pools: whatever the step, no two live arrays share a place, no operation wants two words of
 * one memory, every memory is as large and as wide as its arrays need. */
#include "base/memory.h"
#include "memory/map.h"
#include "memory/pool.h"
#include "price/tasks.h"
#include "support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static bool live_together(const tn_array *a, const tn_array *b) {
    return a->first <= b->last && b->first <= a->last;
}

static tn_map map_of(const tn_step *step, tn_buffers buffers, uint64_t off_chip_over_bytes, tn_arena *arena) {
    const tn_map_options options = {buffers, off_chip_over_bytes, 64, 0, 1};
    tn_map map;
    assert_int_equal(tn_map_make(step, &options, arena, &map, NULL), TN_OK);
    return map;
}

static bool same_place(const tn_map *map, uint32_t a, uint32_t b) {
    if (map->slot_of[a] != UINT32_MAX) return map->slot_of[a] == map->slot_of[b];
    return map->memory_of[a] == map->memory_of[b] && map->copy_of[a] == map->copy_of[b] &&
           map->slot_of[b] == UINT32_MAX;
}

/* Every array has a place of its own while it lives; its memory has an extent that it fits. */
static void check_places(const tn_step *step, const tn_map *map) {
    for (uint32_t i = 0; i < step->arrays; i++) {
        if (map->off_chip[i]) {
            assert_int_equal(map->memory_of[i], UINT32_MAX);
            continue;
        }
        const tn_mapped *memory = &map->memory[map->memory_of[i]];
        assert_true(map->copy_of[i] < memory->copies);
        assert_true(memory->extent[0].elements >= step->array[i].elements);
        for (uint32_t j = 0; j < i; j++)
            if (!map->off_chip[j] && same_place(map, i, j))
                assert_false(live_together(&step->array[i], &step->array[j]));
    }
}

/* Slots of a memory: as many extents as slots, each as large as the largest array of the slot. */
static void check_extents(const tn_step *step, const tn_map *map) {
    for (uint32_t m = 0; m < map->memories; m++) {
        const tn_mapped *memory = &map->memory[m];
        uint64_t held = 0, arrays = 0, slots = 0, in_slots = 0;
        if (memory->staging) continue;
        for (uint32_t i = 0; i < memory->extents; i++) {
            held += memory->extent[i].elements * memory->extent[i].arrays;
            slots += memory->extent[i].arrays;
        }
        uint64_t *largest = calloc(map->slots + 1, sizeof *largest);
        assert_non_null(largest);
        for (uint32_t i = 0; i < step->arrays; i++) {
            if (map->memory_of[i] != m) continue;
            arrays++;
            if (map->slot_of[i] != UINT32_MAX && step->array[i].elements > largest[map->slot_of[i]])
                largest[map->slot_of[i]] = step->array[i].elements;
        }
        assert_int_equal(arrays, memory->arrays);
        for (uint32_t i = 0; i < map->slots; i++) in_slots += largest[i];
        if (in_slots > 0 && memory->copies == 1 && !memory->grouped) assert_int_equal(in_slots, held);
        if (memory->grouped) assert_int_equal(slots, 1);
        free(largest);
    }
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Words in a cycle, operation by operation. */
static void check_accesses(const tn_step *step, const tn_map *map, const tn_build *build) {
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t j = 0; j < operation->read_count; j++) {
            uint32_t array = operation->reads[j];
            const tn_mapped *memory =
                &map->memory[map->off_chip[array] ? map->staging_of[j] : map->memory_of[array]];
            uint64_t words = least(build->vector, operation->columns);
            if (operation->kind == TN_OP_PRODUCT && j == 0)
                words = least(build->rows, operation->rows) * least(build->reduction, operation->reduction);
            if (operation->kind == TN_OP_PRODUCT && j == 1)
                words =
                    least(build->columns, operation->columns) * least(build->reduction, operation->reduction);
            assert_true(tn_mapped_accesses(memory, build) >= words);
        }
        uint32_t array = operation->writes[0];
        const tn_mapped *memory =
            &map->memory[map->off_chip[array] ? map->staging_of[TN_OPERATION_READS] : map->memory_of[array]];
        if (operation->kind == TN_OP_PRODUCT)
            assert_true(tn_mapped_accesses(memory, build) >=
                        least(build->rows, operation->rows) * least(build->columns, operation->columns));
    }
}

/* In groups of any size, no operation reads two arrays through one port. */
static void check_ports(const tn_step *step, const tn_map *map) {
    for (uint32_t group = 1; group <= 64; group *= 4)
        for (uint32_t i = 0; i < step->operations; i++) {
            const tn_operation *operation = &step->operation[i];
            for (uint32_t j = 0; j < operation->read_count; j++)
                for (uint32_t k = 0; k < j; k++) {
                    uint32_t a = operation->reads[j], b = operation->reads[k];
                    if (a == b || map->off_chip[a] || map->off_chip[b]) continue;
                    if (map->memory_of[a] != map->memory_of[b]) continue;
                    bool grouped = map->memory[map->memory_of[a]].grouped;
                    /* A random step mixes layers in an operation; layers of a model do not. */
                    if (grouped && (step->array[a].layer != operation->layer ||
                                    step->array[b].layer != operation->layer))
                        continue;
                    uint32_t factor = grouped ? group : 1;
                    assert_true(map->copy_of[a] / factor != map->copy_of[b] / factor ||
                                step->array[a].layer != step->array[b].layer);
                }
        }
}

static void check(const tn_step *step) {
    static const tn_build builds[] = {{.rows = 1, .columns = 1, .reduction = 1, .vector = 1},
                                      {.rows = 4, .columns = 2, .reduction = 8, .vector = 4},
                                      {.rows = 16, .columns = 32, .reduction = 1, .vector = 64}};
    tn_arena arena = {0};
    for (int buffers = 0; buffers < 2; buffers++)
        for (uint64_t excess = 0; excess <= 400; excess += 200) {
            tn_map map = map_of(step, (tn_buffers)buffers, excess, &arena);
            check_places(step, &map);
            check_extents(step, &map);
            check_ports(step, &map);
            for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
                check_accesses(step, &map, &builds[i]);
        }
    tn_arena_free(&arena);
}

static void random_steps(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        tn_arena arena = {0};
        check(test_step_random(seed, 40, &arena));
        tn_arena_free(&arena);
    }
}

static void trains(void **state) {
    (void)state;
    tn_arena arena = {0};
    const tn_step *step = test_step_trains(14, 12, &arena);
    check(step);
    /* 14 layers of 6 cores make 6 classes, and as many of their gradients. */
    tn_map map = map_of(step, TN_BUFFERS_POOLED, 0, &arena);
    unsigned classes = 0;
    for (uint32_t i = 0; i < map.memories; i++) {
        if (!map.memory[i].grouped) continue;
        classes++;
        assert_int_equal(map.memory[i].arrays, 14);
    }
    assert_int_equal(classes, 12);
    tn_arena_free(&arena);
}

/* With arrays of one size, slots are as many as live at once at the worst moment. */
static void pools_are_tight(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        tn_array array[40];
        uint32_t list[40], most = 0;
        uint64_t draw = seed;
        tn_step step = {.arrays = 40, .array = array};
        tn_arena arena = {0};
        tn_pool pool;
        for (uint32_t i = 0; i < 40; i++) {
            draw = draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            uint32_t first = (uint32_t)(draw >> 40) % 60;
            array[i] = (tn_array){.elements = 5, .first = first, .last = first + (uint32_t)(draw >> 33) % 12};
            list[i] = i;
        }
        for (uint32_t index = 0; index < 80; index++) {
            uint32_t alive = 0;
            for (uint32_t i = 0; i < 40; i++) alive += array[i].first <= index && index <= array[i].last;
            if (alive > most) most = alive;
        }
        assert_int_equal(tn_pool_make(&step, list, 40, &arena, &pool, NULL), TN_OK);
        assert_int_equal(pool.slots, most);
        tn_arena_free(&arena);
    }
}

/* ---- the same, counted one by one ---- */

enum { LIST_MOST = 400 };

/* Dealing by trying every slot, and colouring by asking every earlier slot. */
static void deal_one_by_one(const tn_step *step, const uint32_t *list, uint32_t count, uint32_t *slot_of,
                            uint32_t *memory_of_slot) {
    uint32_t order[LIST_MOST], slots = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = i;
        for (; index > 0; index--) {
            const tn_array *a = &step->array[list[order[index - 1]]], *b = &step->array[list[i]];
            if (a->elements != b->elements ? a->elements > b->elements : a->first <= b->first) break;
            order[index] = order[index - 1];
        }
        order[index] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool free = false;
        for (uint32_t slot = 0; !free; slot++) {
            free = true;
            for (uint32_t j = 0; j < i; j++)
                free = free && (slot_of[order[j]] != slot ||
                                !live_together(&step->array[list[order[j]]], &step->array[list[order[i]]]));
            slot_of[order[i]] = slot;
        }
        if (slot_of[order[i]] == slots) slots++;
    }
    for (uint32_t slot = 0; slot < slots; slot++) {
        bool taken[LIST_MOST + 1] = {false};
        for (uint32_t i = 0; i < step->operations; i++) {
            const tn_operation *operation = &step->operation[i];
            bool reads[LIST_MOST] = {false};
            for (uint32_t j = 0; j < operation->read_count; j++)
                for (uint32_t k = 0; k < count; k++)
                    if (list[k] == operation->reads[j]) reads[slot_of[k]] = true;
            for (uint32_t other = 0; reads[slot] && other < slot; other++)
                if (reads[other]) taken[memory_of_slot[other]] = true;
        }
        memory_of_slot[slot] = 0;
        while (taken[memory_of_slot[slot]]) memory_of_slot[slot]++;
    }
}

static void pools_as_one_by_one(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        tn_arena arena = {0};
        const tn_step *step = test_step_random(seed, 5 + (uint32_t)seed % 90, &arena);
        uint32_t list[LIST_MOST], slot_of[LIST_MOST], memory_of_slot[LIST_MOST], count = 0;
        tn_pool pool;
        for (uint32_t i = 0; i < step->arrays && count < LIST_MOST; i++)
            if (step->array[i].elements > 0) list[count++] = i;
        deal_one_by_one(step, list, count, slot_of, memory_of_slot);
        assert_int_equal(tn_pool_make(step, list, count, &arena, &pool, NULL), TN_OK);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(pool.slot_of[i], slot_of[i]);
            assert_int_equal(pool.slot[slot_of[i]].memory, memory_of_slot[slot_of[i]]);
        }
        tn_arena_free(&arena);
    }
}

/* Equal sizes, roles and uses, as the map says them. */
static bool alike(const tn_step *step, const tn_map *separate, uint32_t a, uint32_t b) {
    const tn_array *array[] = {&step->array[a], &step->array[b]};
    const tn_mapped *memory[] = {&separate->memory[separate->memory_of[a]],
                                 &separate->memory[separate->memory_of[b]]};
    if (array[0]->elements != array[1]->elements || array[0]->role != array[1]->role ||
        array[0]->is_core != array[1]->is_core || memory[0]->uses != memory[1]->uses)
        return false;
    for (uint32_t i = 0; i < memory[0]->uses; i++)
        if (memory[0]->use[i].side != memory[1]->use[i].side ||
            memory[0]->use[i].extent[0] != memory[1]->use[i].extent[0] ||
            memory[0]->use[i].extent[1] != memory[1]->use[i].extent[1])
            return false;
    return true;
}

/* An array's class is the first whose first array is like it and that, for a core, has none of its layer. */
static void classes_as_one_by_one(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        tn_arena arena = {0};
        const tn_step *step = test_step_random(seed, 5 + (uint32_t)seed % 90, &arena);
        tn_map map = map_of(step, TN_BUFFERS_SEPARATE, seed % 3 ? 0 : 300, &arena);
        uint32_t *first, classes = 0;
        assert_int_equal(TN_NEW(&arena, step->arrays, &first, NULL), TN_OK);
        for (uint32_t i = 0; i < step->arrays; i++) {
            uint32_t index = 0;
            if (map.off_chip[i] || step->array[i].elements == 0) {
                assert_int_equal(map.memory_of[i], UINT32_MAX);
                continue;
            }
            for (bool taken = true; taken && index < classes; index += taken) {
                taken = !alike(step, &map, first[index], i);
                for (uint32_t j = 0; j < i && step->array[i].is_core; j++)
                    taken =
                        taken || (map.memory_of[j] == index && step->array[j].layer == step->array[i].layer);
            }
            if (index == classes) first[classes++] = i;
            assert_int_equal(map.memory_of[i], index);
        }
        tn_arena_free(&arena);
    }
}

/* Every layer's weight an own one, and every pair of arrays read together: memory grows with the arrays, not
 * with their square, which would be 20 GB here. */
static void many_arrays(void **state) {
    (void)state;
    enum { ARRAYS = 400000, OPERATIONS = ARRAYS / 2 };
    tn_arena arena = {0};
    tn_step step = {.arrays = ARRAYS, .operations = OPERATIONS};
    uint32_t *list;
    tn_pool pool;
    assert_int_equal(TN_NEW(&arena, ARRAYS, &list, NULL), TN_OK);
    assert_int_equal(TN_NEW(&arena, ARRAYS, &step.array, NULL), TN_OK);
    assert_int_equal(TN_NEW(&arena, OPERATIONS, &step.operation, NULL), TN_OK);
    for (uint32_t i = 0; i < ARRAYS; i++) {
        bool resident = i % 2 == 0;
        list[i] = i;
        step.array[i] =
            (tn_array){.elements = 4, .first = resident ? 0 : i / 2, .last = resident ? UINT32_MAX : i / 2};
    }
    for (uint32_t i = 0; i < OPERATIONS; i++)
        step.operation[i] = (tn_operation){.read_count = 2, .reads = {2 * i, 2 * i + 1}};
    assert_int_equal(tn_pool_make(&step, list, ARRAYS, &arena, &pool, NULL), TN_OK);
    assert_int_equal(pool.slots, OPERATIONS + 1); /* those that live for one operation share a slot */
    assert_int_equal(pool.memories, 2);
    tn_arena_free(&arena);
}

static void every_request_fails(void **state) {
    (void)state;
    tn_arena given = {0};
    const tn_step *step = test_step_random(3, 30, &given);
    const tn_map_options options = {TN_BUFFERS_POOLED, 300, 64, 0, 1};
    tn_status status = TN_MEMORY;
    for (long request = 1; status != TN_OK; request++) {
        tn_arena arena = {0};
        tn_map map;
        tn_waits waits;
        tn_memory_fail_at(request);
        status = tn_map_make(step, &options, &arena, &map, NULL);
        if (status == TN_OK) status = tn_waits_make(step, &map, &arena, &waits, NULL);
        tn_memory_fail_at(0);
        tn_arena_free(&arena);
    }
    tn_arena_free(&given);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps),          cmocka_unit_test(trains),
        cmocka_unit_test(pools_are_tight),       cmocka_unit_test(pools_as_one_by_one),
        cmocka_unit_test(classes_as_one_by_one), cmocka_unit_test(many_arrays),
        cmocka_unit_test(every_request_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
