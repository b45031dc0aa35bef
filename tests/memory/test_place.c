/* Places of single memories, counted by hand from the blocks of UltraScale+: a BRAM18 is 18 bits x 1,024, a BRAM36
 * 36 x 1,024, an URAM 72 x 4,096. */
#include "memory/placement.h"
#include "support/prices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static tn_arena arena;
static tn_device *device;

static int load(const char *operators) {
    return tn_device_load("u50", &operators, 1, &arena, &device, NULL) != TN_OK;
}

static int set_up(void **state) {
    (void)state;
    return load("operator_set=hls");
}

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

/* `copies` memories of one array of `elements` words of 32 bits, read `wide` at a time. */
static tn_placed placed_as(uint64_t elements, uint32_t wide, uint64_t copies, tn_place place) {
    const tn_extent extent = {elements, 1};
    const tn_use use = {TN_SIDE_VECTOR, {wide, 1}};
    const tn_mapped memory = {.arrays = (uint32_t)copies,
                              .grouped = copies > 1,
                              .copies = copies,
                              .uses = 1,
                              .extents = 1,
                              .use = &use,
                              .extent = &extent};
    tn_build build = test_build();
    build.vector = wide;
    tn_placed placed;
    assert_int_equal(tn_mapped_accesses(&memory, &build), wide);
    assert_int_equal(tn_place_price(device, 32, &memory, NULL, &build, &place, &placed, NULL), TN_OK);
    return placed;
}

static uint64_t bram18(const tn_placed *placed) {
    return placed->blocks.bram18 + 2 * placed->blocks.bram36;
}

/* 4,096 words four at a time: four banks of 32 x 1,024, or one of 128 x 1,024. */
static void splits(void **state) {
    (void)state;
    const tn_place partition = {TN_STYLE_BLOCK, TN_SPLIT_PARTITION, 1},
                   reshape = {TN_STYLE_BLOCK, TN_SPLIT_RESHAPE, 1};
    tn_placed placed = placed_as(4096, 4, 1, partition);
    assert_int_equal(placed.banks, 4);
    assert_int_equal(placed.width_bits, 32);
    assert_int_equal(placed.depth, 1024);
    assert_int_equal(bram18(&placed), 4 * 2);
    placed = placed_as(4096, 4, 1, reshape);
    assert_int_equal(placed.banks, 1);
    assert_int_equal(placed.width_bits, 128);
    assert_int_equal(placed.depth, 1024);
    assert_true(bram18(&placed) >= 8); /* 4 BRAM36 hold 144 bits; fewer can't hold 128 */
    assert_true(placed.stored_bits == 4096.0 * 32);
    assert_true(placed.capacity_bits >= placed.stored_bits);
}

/* Seven arrays of 100 words three to a memory: two full groups of 300 words and one of 100, all in one block each
 * of 32 bits, two BRAM18. A group of more than there are is all of them. */
static void groups(void **state) {
    (void)state;
    tn_placed placed = placed_as(100, 1, 7, (tn_place){TN_STYLE_BLOCK, TN_SPLIT_PARTITION, 3});
    assert_int_equal(placed.memories, 3);
    assert_int_equal(placed.depth, 300);
    uint64_t three = bram18(&placed);
    placed = placed_as(100, 1, 7, (tn_place){TN_STYLE_BLOCK, TN_SPLIT_PARTITION, 1});
    assert_int_equal(placed.memories, 7);
    assert_int_equal(bram18(&placed) * 3, three * 7);
    assert_true(placed.stored_bits == 7 * 100.0 * 32);
    placed = placed_as(100, 1, 7, (tn_place){TN_STYLE_BLOCK, TN_SPLIT_PARTITION, 100});
    assert_int_equal(placed.memories, 1);
    assert_int_equal(placed.place.group, 7);
    assert_int_equal(placed.depth, 700);
}

/* auto is LUTRAM while a bank is small, and says what it chose. */
static void styles(void **state) {
    (void)state;
    const tn_place any = {TN_STYLE_AUTO, TN_SPLIT_PARTITION, 1};
    tn_placed placed = placed_as(8, 1, 1, any);
    assert_int_equal(placed.place.style, TN_STYLE_DISTRIBUTED);
    assert_int_equal(bram18(&placed) + placed.blocks.uram, 0);
    assert_true(placed.blocks.lutram > 0);
    placed = placed_as(1024, 1, 1, any);
    assert_int_equal(placed.place.style, TN_STYLE_BLOCK);
    assert_int_equal(bram18(&placed), 2);
    /* 65,536 words: 64 BRAM36 of 1,344, or 16 URAM of 640 */
    placed = placed_as(65536, 1, 1, (tn_place){TN_STYLE_ULTRA, TN_SPLIT_PARTITION, 1});
    assert_int_equal(placed.blocks.uram, 16);
    placed = placed_as(65536, 1, 1, (tn_place){TN_STYLE_BLOCK, TN_SPLIT_PARTITION, 1});
    assert_int_equal(bram18(&placed), 128);
}

/* Generated hardware writes element by element, so each element has blocks of its own, 16 of them 512 bits: on 1,024 rows
 * 36 x 1,024 each. UltraRAM enables bytes, so that elements and rows of them lie side by side in its 72 bits. */
static void elements_of_words(void **state) {
    (void)state;
    assert_int_equal(load("operator_set=generated"), 0);
    tn_placed placed = placed_as(16 * 744, 16, 1, (tn_place){TN_STYLE_BLOCK, TN_SPLIT_RESHAPE, 1});
    assert_int_equal(bram18(&placed), 32);
    placed = placed_as(16 * 744, 16, 1, (tn_place){TN_STYLE_BLOCK, TN_SPLIT_PARTITION, 1});
    assert_int_equal(bram18(&placed), 32);
    placed = placed_as(16 * 27535, 16, 1, (tn_place){TN_STYLE_ULTRA, TN_SPLIT_RESHAPE, 1});
    assert_int_equal(placed.blocks.uram, 50); /* 7 rows of 512 bits: 49.8 */
    placed = placed_as(32 * 16, 16, 1, (tn_place){TN_STYLE_DISTRIBUTED, TN_SPLIT_RESHAPE, 1});
    assert_int_equal(placed.blocks.lutram, 16 * 24);
    assert_int_equal(load("operator_set=hls"), 0);
    placed = placed_as(16 * 744, 16, 1, (tn_place){TN_STYLE_BLOCK, TN_SPLIT_RESHAPE, 1});
    assert_int_equal(bram18(&placed), 29);
    placed = placed_as(16 * 27535, 16, 1, (tn_place){TN_STYLE_ULTRA, TN_SPLIT_RESHAPE, 1});
    assert_int_equal(placed.blocks.uram, 56);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(splits), cmocka_unit_test(groups),
                                       cmocka_unit_test(styles), cmocka_unit_test(elements_of_words)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
