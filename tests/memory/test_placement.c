/* The placement search, and what bounds it, against trying every combination, on maps small enough for that. */
#include "memory/place_floor.h"
#include "memory/place_table.h"
#include "memory/placement.h"
#include "support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_arena arena;
static tn_device *device;

static uint64_t draw(uint64_t *state, uint64_t bound) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

enum { MEMORIES = 5, CHOICES = 3 * 2 * 4 };

typedef struct {
    double capacity, bram, uram, lut;
} cost;

/* All places of a memory: any style, split and group of 1, 2, 4 .. and all; LUTRAM only while a bank is
 * small. */
static unsigned list(const tn_mapped *memory, const tn_build *build, cost *costs) {
    unsigned count = 0;
    uint64_t groups[4] = {1, 2, 4, memory->copies};
    for (int style = TN_STYLE_BLOCK; style <= TN_STYLE_DISTRIBUTED; style++)
        for (int split = 0; split < 2; split++)
            for (int g = 0; g < 4; g++) {
                const tn_place place = {(tn_memory_style)style, (tn_array_split)split, groups[g]};
                tn_placed placed;
                if (groups[g] > memory->copies || (groups[g] > 1 && !memory->grouped)) continue;
                assert_int_equal(tn_place_price(device, 32, memory, NULL, build, &place, &placed, NULL),
                                 TN_OK);
                if (style == TN_STYLE_DISTRIBUTED && placed.width_bits * placed.depth > 1024) continue;
                costs[count++] =
                    (cost){placed.capacity_bits, (double)(placed.blocks.bram18 + 2 * placed.blocks.bram36),
                           (double)placed.blocks.uram, (double)placed.blocks.lutram};
            }
    return count;
}

static double best_of_all(const tn_map *map, const tn_build *build, const tn_placement_budget *budget) {
    cost costs[MEMORIES][CHOICES];
    unsigned count[MEMORIES], digit[MEMORIES] = {0};
    double best = INFINITY;
    for (uint32_t i = 0; i < map->memories; i++) count[i] = list(&map->memory[i], build, costs[i]);
    for (;;) {
        cost sum = {0, 0, 0, 0};
        for (uint32_t i = 0; i < map->memories; i++) {
            const cost *price = &costs[i][digit[i]];
            sum = (cost){sum.capacity + price->capacity, sum.bram + price->bram, sum.uram + price->uram,
                         sum.lut + price->lut};
        }
        if (sum.bram <= (double)budget->bram18 && sum.uram <= (double)budget->uram &&
            sum.lut <= (double)budget->lut && sum.capacity < best)
            best = sum.capacity;
        uint32_t index = 0;
        while (index < map->memories && ++digit[index] == count[index]) digit[index++] = 0;
        if (index == map->memories) return best;
    }
}

static void against_every_combination(void **state) {
    (void)state;
    unsigned fits = 0, tight = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        tn_arena own = {0};
        uint64_t random = seed;
        tn_mapped memory[MEMORIES] = {{0}};
        tn_extent extent[MEMORIES];
        const tn_use use = {TN_SIDE_LEFT, {64, 64}};
        tn_map map = {.memories = 1 + (uint32_t)draw(&random, MEMORIES - (seed % 8 > 0)), .memory = memory};
        tn_build build = {.rows = 1 + draw(&random, 8),
                          .reduction = 1 + draw(&random, 8),
                          .columns = 1,
                          .vector = 1,
                          .read_ports = 1 + draw(&random, 2)};
        for (uint32_t i = 0; i < map.memories; i++) {
            bool grouped = draw(&random, 2);
            extent[i] = (tn_extent){1 + draw(&random, draw(&random, 2) ? 300 : 60000), 1};
            memory[i] = (tn_mapped){.grouped = grouped,
                                    .copies = grouped ? 1 + draw(&random, 8) : 1,
                                    .uses = 1,
                                    .use = &use,
                                    .extents = 1,
                                    .extent = &extent[i]};
        }
        const tn_placement_budget budget = {draw(&random, 150), draw(&random, 60), draw(&random, 2000)};
        tn_placement found;
        assert_int_equal(tn_placement_search(device, 32, &map, NULL, &build, &budget, 0, &own, &found, NULL),
                         TN_OK);
        double best = best_of_all(&map, &build, &budget);
        assert_true(found.exact);
        assert_int_equal(found.fits, isfinite(best));
        if (found.fits) {
            double sum = 0;
            assert_true(found.capacity_bits == best && found.bound_bits == best);
            for (uint32_t i = 0; i < map.memories; i++) {
                tn_placed placed;
                assert_int_equal(
                    tn_place_price(device, 32, &memory[i], NULL, &build, &found.place[i], &placed, NULL),
                    TN_OK);
                sum += placed.capacity_bits;
            }
            assert_true(sum == best);
            const tn_placement_budget all = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
            fits++;
            tight += best_of_all(&map, &build, &all) < best;
        }
        tn_arena_free(&own);
    }
    printf("%u of 400 fit, in %u of them the budget costs capacity\n", fits, tight);
    assert_true(fits > 100 && tight > 30);
}

static uint64_t blocks_bits(const tn_blocks *blocks) {
    return (blocks->bram18 + 2 * blocks->bram36) * TN_MEMORY_CAPACITY_BRAM18_BITS +
           blocks->uram * TN_MEMORY_CAPACITY_URAM_BITS;
}

/* The least bits of blocks of all styles and groups of both stores that fit; UINT64_MAX: none does. */
static uint64_t least_as_built(const tn_map *map, const tn_row *rows, const tn_build *base,
                               const tn_place_options *options, const tn_placement_budget *within) {
    uint64_t least = UINT64_MAX;
    const size_t groups = options->groups;
    for (size_t style = 0; style < groups * TN_STYLE_DISTRIBUTED * TN_STYLE_DISTRIBUTED; style++) {
        tn_build build = *base;
        tn_blocks sum = {0};
        build.group = options->group[style % groups];
        build.core_memory = (uint32_t)(style / groups % TN_STYLE_DISTRIBUTED);
        build.activation_memory = (uint32_t)(style / groups / TN_STYLE_DISTRIBUTED);
        for (uint32_t i = 0; i < map->memories; i++) {
            const tn_place place = tn_place_as_built(&map->memory[i], &build);
            tn_placed placed;
            assert_int_equal(
                tn_place_price(device, 32, &map->memory[i], &rows[i], &build, &place, &placed, NULL), TN_OK);
            sum.bram18 += placed.blocks.bram18 + 2 * placed.blocks.bram36;
            sum.uram += placed.blocks.uram;
        }
        if (sum.bram18 <= within->bram18 && sum.uram <= within->uram && blocks_bits(&sum) < least)
            least = blocks_bits(&sum);
    }
    return least;
}

/* Under a number rows are told once: later they are known, and give the same. */
static void recall_least(tn_place_table *table, const tn_row *rows, const tn_place_options *options,
                         const tn_placement_budget *within, const tn_place_least *expected) {
    for (int turn = 0; turn < 2; turn++) {
        const bool known = tn_place_table_knows(table, 1, options, within);
        tn_place_least least;
        assert_int_equal(known, turn);
        assert_int_equal(tn_place_table_least(table, known ? NULL : rows, 1, options, within, &least, NULL),
                         TN_OK);
        assert_memory_equal(&least, expected, offsetof(tn_place_least, step));
        assert_memory_equal(least.step, expected->step, least.steps * sizeof *least.step);
    }
}

/* The least over places: exactly, of what builds ask for; no more than what a search finds. */
/* With what earlier ones left in the memo. */
static void least_of_places(void **state) {
    (void)state;
    unsigned fits = 0, found_fits = 0, tight = 0;
    tn_arena kept = {0};
    tn_known_shares *shares;
    tn_known_lines *lines;
    assert_int_equal(tn_known_shares_new(&kept, &shares, NULL), TN_OK);
    assert_int_equal(tn_known_lines_new(&kept, &lines, NULL), TN_OK);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        tn_arena own = {0};
        uint64_t random = seed;
        static const uint64_t groups[] = {1, 4, 16, 32}; /* of no more copies than 8 */
        const tn_use use = {TN_SIDE_LEFT, {1, 1}};
        tn_mapped memory[MEMORIES] = {{0}};
        tn_extent extent[MEMORIES];
        tn_row rows[MEMORIES];
        tn_map map = {.memories = MEMORIES, .memory = memory};
        tn_build build = {.rows = 1, .reduction = 1, .columns = 1, .vector = 1, .split = TN_SPLIT_RESHAPE};
        build.read_ports = 1 + draw(&random, 2);
        for (uint32_t i = 0; i < MEMORIES; i++) {
            const bool core = draw(&random, 2), grouped = core && draw(&random, 2);
            const uint64_t elements = UINT64_C(1) << draw(&random, 6), depth = 1 + draw(&random, 3000);
            extent[i] = (tn_extent){elements * depth, 1};
            rows[i] = (tn_row){elements, 1, depth, 1, depth, 1};
            memory[i] = (tn_mapped){.store = core ? TN_STORE_CORES : TN_STORE_ACTIVATIONS,
                                    .grouped = grouped,
                                    .copies = grouped ? 1 + draw(&random, 8) : 1,
                                    .uses = 1,
                                    .use = &use,
                                    .extents = 1,
                                    .extent = &extent[i]};
        }
        uint32_t kind[MEMORIES], kinds = 0; /* of equal rows */
        for (uint32_t i = 0; i < MEMORIES; i++) {
            uint32_t like = 0;
            while (rows[like].elements != rows[i].elements) like++;
            kind[i] = like < i ? kind[like] : kinds++;
        }
        tn_place_options options = {.styles = {7, 7},
                                    .splits = 1u << TN_SPLIT_RESHAPE,
                                    .groups = sizeof groups / sizeof *groups,
                                    .group = groups,
                                    .read_ports = build.read_ports,
                                    .as_built = true};
        const tn_placement_budget within = {draw(&random, 900), draw(&random, 120), UINT32_MAX};
        tn_place_least least;
        tn_place_table *table;
        assert_int_equal(tn_place_table_make(device, 32, &map, seed % 2 ? kind : NULL, &options, shares,
                                             lines, &own, &table, NULL),
                         TN_OK);
        assert_int_equal(tn_place_table_least(table, rows, 0, &options, &within, &least, NULL), TN_OK);
        recall_least(table, rows, &options, &within, &least);
        const uint64_t best = least_as_built(&map, rows, &build, &options, &within);
        if (best == UINT64_MAX)
            assert_true(least.bram18 > within.bram18 || least.uram > within.uram);
        else
            assert_int_equal(least.capacity_bits, best);
        fits += best < UINT64_MAX;
        options.as_built = false;
        options.searched = true;
        tn_placement found;
        assert_int_equal(tn_place_table_least(table, rows, 0, &options, &within, &least, NULL), TN_OK);
        recall_least(table, rows, &options, &within, &least);
        assert_int_equal(tn_placement_search(device, 32, &map, rows, &build, &within, 0, &own, &found, NULL),
                         TN_OK);
        if (found.fits) {
            uint64_t bits = 0;
            for (uint32_t i = 0; i < MEMORIES; i++) {
                tn_placed placed;
                assert_int_equal(
                    tn_place_price(device, 32, &memory[i], &rows[i], &build, &found.place[i], &placed, NULL),
                    TN_OK);
                bits += blocks_bits(&placed.blocks);
            }
            assert_true(least.bram18 <= within.bram18 && least.uram <= within.uram &&
                        least.capacity_bits <= bits);
            found_fits++;
            tight += 10 * least.capacity_bits >= 9 * bits;
        }
        tn_arena_free(&own);
    }
    printf("%u of 300 fit as built, %u searched, of which the bound has nine tenths of %u\n", fits,
           found_fits, tight);
    assert_true(fits > 50 && found_fits > 50 && 2 * tight > found_fits);
    tn_arena_free(&kept);
}

enum { FLOOR_MEMORIES = 3, FLOOR_PLACES = 1024, FLOOR_WIDEST_LOG = 4 };
static const uint64_t floor_groups[] = {3, 5};

/* A build's rows, padded or not, in one bank or several, any style, and a grouping of the build's or of a search's. */
static unsigned list_built(const tn_mapped *memory, const tn_build *least_build, uint64_t *random,
                           cost *costs) {
    const uint64_t groups[] = {1, 2, 4, floor_groups[0], floor_groups[1], memory->copies};
    const tn_build build = {.read_ports = 1};
    unsigned count = 0;
    for (unsigned i = 0; i < 6 * (TN_STYLE_SHALLOW + 1) * (FLOOR_WIDEST_LOG + 1); i++) {
        const uint64_t group = groups[i % 6], elements = UINT64_C(1) << i / 6 / (TN_STYLE_SHALLOW + 1);
        const uint64_t least = tn_mapped_rows(memory, elements), banks = draw(random, 2) ? elements : 1;
        const tn_row row = {elements, banks, least + draw(random, 2), banks, least, 0};
        const tn_place place = {(tn_memory_style)(i / 6 % (TN_STYLE_SHALLOW + 1)), TN_SPLIT_RESHAPE, group};
        tn_placed placed;
        if (group > memory->copies || (group > 1 && !memory->grouped) ||
            elements < tn_mapped_row(memory, least_build))
            continue;
        assert_int_equal(tn_place_price(device, 32, memory, &row, &build, &place, &placed, NULL), TN_OK);
        costs[count++] = (cost){0, (double)(placed.blocks.bram18 + 2 * placed.blocks.bram36),
                                (double)placed.blocks.uram, (double)placed.blocks.lutram};
    }
    return count;
}

static bool fits_built(const tn_map *map, const tn_build *least_build, uint64_t *random,
                       const tn_placement_budget *within) {
    static cost costs[FLOOR_MEMORIES][FLOOR_PLACES];
    unsigned count[FLOOR_MEMORIES] = {1, 1, 1};
    memset(costs, 0, sizeof costs);
    for (uint32_t i = 0; i < map->memories; i++)
        count[i] = list_built(&map->memory[i], least_build, random, costs[i]);
    for (unsigned i = 0; i < count[0]; i++)
        for (unsigned j = 0; j < count[1]; j++)
            for (unsigned k = 0; k < count[2]; k++) {
                const cost *a = &costs[0][i], *b = &costs[1][j], *c = &costs[2][k];
                if (a->bram + b->bram + c->bram <= (double)within->bram18 &&
                    a->uram + b->uram + c->uram <= (double)within->uram &&
                    a->lut + b->lut + c->lut <= (double)within->lut)
                    return true;
            }
    return false;
}

/* What fits as some build has it is never said to lack room, and most of what fits nowhere is. */
static void no_room_at_all(void **state) {
    (void)state;
    unsigned fits = 0, lacking = 0;
    tn_arena kept = {0};
    tn_known_shares *shares; /* of one device, whatever the map */
    assert_int_equal(tn_known_shares_new(&kept, &shares, NULL), TN_OK);
    for (uint64_t seed = 1; seed <= 400; seed++) {
        tn_arena own = {0};
        uint64_t random = seed;
        const tn_use use[] = {{TN_SIDE_LEFT, {1, 64}}, {TN_SIDE_VECTOR, {64, 1}}};
        const tn_build least = {.rows = 1, .columns = 1, .reduction = 1, .vector = 1 + draw(&random, 8)},
                       greatest = {.rows = 1, .columns = 1, .reduction = 1, .vector = 1 << FLOOR_WIDEST_LOG};
        tn_mapped memory[FLOOR_MEMORIES] = {{0}};
        tn_extent extent[FLOOR_MEMORIES];
        const tn_map map = {.memories = 1 + (uint32_t)draw(&random, FLOOR_MEMORIES), .memory = memory};
        for (uint32_t i = 0; i < map.memories; i++) {
            const bool grouped = draw(&random, 2);
            extent[i] = (tn_extent){1 + draw(&random, draw(&random, 2) ? 600 : 20000), 1 + draw(&random, 2)};
            memory[i] = (tn_mapped){.grouped = grouped,
                                    .copies = 1 + draw(&random, 8),
                                    .word_bits = draw(&random, 3) ? 0 : 10,
                                    .uses = 1,
                                    .use = &use[draw(&random, 2)],
                                    .extents = 1,
                                    .extent = &extent[i]};
        }
        const tn_placement_budget within = {draw(&random, 80), draw(&random, 2) * draw(&random, 12),
                                            draw(&random, 3000)};
        tn_memory_style lacks;
        assert_int_equal(tn_place_floor_find(device, shares, 32, &map, &least, &greatest, 2, floor_groups,
                                             &within, &own, &lacks, NULL),
                         TN_OK);
        const bool fit = fits_built(&map, &least, &random, &within);
        if (fit) assert_int_equal(lacks, TN_STYLE_AUTO);
        fits += fit;
        lacking += lacks != TN_STYLE_AUTO;
        tn_arena_free(&own);
    }
    tn_arena_free(&kept);
    printf("%u of 400 fit in some way, %u are known to lack room\n", fits, lacking);
    assert_true(fits > 100 && lacking > 100 && fits + lacking > 360);
}

/* A search that is cut short says so and keeps a true bound. */
static void cut_short(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(14, 12, &arena);
    const tn_map_options options = {.buffers = TN_BUFFERS_SEPARATE};
    tn_map map;
    tn_build build;
    tn_placement brief, full;
    assert_int_equal(tn_map_make(step, &options, &arena, &map, NULL), TN_OK);
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    const tn_placement_budget budget = {2329, 636, 500000};
    assert_int_equal(tn_placement_search(device, 32, &map, NULL, &build, &budget, 2, &arena, &brief, NULL),
                     TN_OK);
    assert_int_equal(tn_placement_search(device, 32, &map, NULL, &build, &budget, 0, &arena, &full, NULL),
                     TN_OK);
    assert_false(brief.exact);
    assert_true(brief.bound_bits <= full.capacity_bits);
    if (brief.fits) assert_true(full.fits && brief.capacity_bits >= full.capacity_bits);
    printf("14 layers, separate: %s, %.2f MB (bound %.2f MB)\n", full.exact ? "exact" : "not exact",
           full.capacity_bits / 8e6, full.bound_bits / 8e6);
}

/* One memory as the keys of a build say. */
static void as_built(void **state) {
    (void)state;
    const tn_use use = {TN_SIDE_LEFT, {1, 12}};
    const tn_extent extent = {12 * 8 * 12, 1};
    const tn_mapped core = {
        .grouped = true, .copies = 14, .uses = 1, .use = &use, .extents = 1, .extent = &extent};
    tn_build build;
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    build.rows = 1;
    build.reduction = 12;
    build.core_memory = TN_STYLE_BLOCK;
    build.group = 5;
    tn_place place = tn_place_as_built(&core, &build);
    tn_placed placed;
    assert_int_equal(tn_place_price(device, 32, &core, NULL, &build, &place, &placed, NULL), TN_OK);
    /* The worked example: 11 blocks hold five cores; 14 cores are two such groups and one of four. */
    assert_int_equal(placed.memories, 3);
    assert_int_equal(placed.blocks.bram18, 33);
    assert_int_equal(placed.depth, 480);
    assert_int_equal(placed.width_bits, 384);
}

static int load(const char *operators) {
    return tn_device_load("u50", &operators, 1, &arena, &device, NULL) != TN_OK;
}

static int begin(void **state) {
    (void)state;
    return load("operator_set=hls");
}

/* Blocks by element. */
static int begin_generated(void **state) {
    (void)state;
    return load("operator_set=generated");
}

static int end(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_every_combination),
                                       cmocka_unit_test(least_of_places), cmocka_unit_test(no_room_at_all),
                                       cmocka_unit_test(cut_short), cmocka_unit_test(as_built)};
    const struct CMUnitTest generated[] = {cmocka_unit_test(against_every_combination),
                                           cmocka_unit_test(least_of_places),
                                           cmocka_unit_test(no_room_at_all)};
    const int failed = cmocka_run_group_tests(tests, begin, end);
    return failed + cmocka_run_group_tests(generated, begin_generated, end);
}
