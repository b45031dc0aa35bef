/* Memory, arena and buffer: what they promise when there is memory and when there is none. */
#include "base/buffer.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void allocations(void **state) {
    (void)state;
    tn_error error;
    unsigned char *bytes = NULL;
    assert_int_equal(tn_alloc(1000, 3, &bytes, &error), TN_OK);
    for (int i = 0; i < 3000; i++) assert_int_equal(bytes[i], 0);
    tn_free(bytes);
    void *none = NULL;
    assert_int_equal(tn_alloc(0, 8, &none, &error), TN_OK);
    assert_non_null(none);
    tn_free(none);
    tn_free(NULL);
    none = NULL;
    assert_int_equal(tn_alloc(SIZE_MAX / 2, 3, &none, &error), TN_MEMORY);
    assert_null(none);
    char *copy;
    assert_int_equal(tn_copy_text("abc", &copy, &error), TN_OK);
    assert_string_equal(copy, "abc");
    tn_free(copy);
}

static void growth(void **state) {
    (void)state;
    tn_error error;
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(TN_GROW(&items, &capacity, i + 1, &error), TN_OK);
        assert_true(capacity > i);
        assert_int_equal(items[i], 0);
        items[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++) assert_int_equal(items[i], i);
    const uint32_t *before = items;
    size_t held = capacity;
    assert_int_equal(TN_GROW(&items, &capacity, SIZE_MAX / 2, &error), TN_MEMORY);
    assert_int_equal(TN_GROW(&items, &capacity, SIZE_MAX, &error), TN_MEMORY);
    tn_memory_fail_at(1);
    assert_int_equal(TN_GROW(&items, &capacity, held + 1, &error), TN_MEMORY);
    tn_memory_fail_at(0);
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, held);
    tn_free(items);
}

static void only_the_asked_for_request_fails(void **state) {
    (void)state;
    void *memory[4];
    tn_memory_fail_at(3);
    for (int i = 0; i < 4; i++)
        assert_int_equal(tn_alloc(1, 1, &memory[i], NULL), i == 2 ? TN_MEMORY : TN_OK);
    assert_int_equal(tn_memory_requests(), 4);
    tn_memory_fail_at(0);
    for (int i = 0; i < 4; i++)
        if (i != 2) tn_free(memory[i]);
}

/* Blocks of many sizes keep what is written to them, are zeroed and aligned, before and after a reset. */
static void check_blocks(tn_arena *arena) {
    enum { BLOCKS = 300 };
    tn_error error;
    for (int round = 0; round < 3; round++) {
        unsigned char *block[BLOCKS];
        for (size_t i = 0; i < BLOCKS; i++) {
            assert_int_equal(tn_arena_alloc(arena, i * 7 % 900 + 1, i % 5 + 1, &block[i], &error), TN_OK);
            assert_int_equal((uintptr_t)block[i] % _Alignof(max_align_t), 0);
            size_t length = (i * 7 % 900 + 1) * (i % 5 + 1);
            for (size_t k = 0; k < length; k++) assert_int_equal(block[i][k], 0);
            memset(block[i], (int)(i % 255) + 1, length);
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            assert_int_equal(block[i][0], i % 255 + 1);
            assert_int_equal(block[i][(i * 7 % 900 + 1) * (i % 5 + 1) - 1], i % 255 + 1);
        }
        tn_arena_reset(arena);
    }
    void *huge;
    assert_int_equal(tn_arena_alloc(arena, SIZE_MAX / 2, 3, &huge, &error), TN_MEMORY);
    assert_int_equal(tn_arena_alloc(arena, SIZE_MAX - 4, 1, &huge, &error), TN_MEMORY);
}

static void arena_blocks(void **state) {
    (void)state;
    tn_arena arena = {0};
    check_blocks(&arena);
    tn_arena_free(&arena);
    tn_arena_free(&arena);
}

/* What is in an arena stays as it is while another one within it is filled and reset, which asks for its chunks once. */
static void arena_within_another(void **state) {
    (void)state;
    tn_arena arena = {0}, within = {.parent = &arena};
    const char *text, *behind;
    assert_int_equal(tn_arena_format(&arena, &text, NULL, "%s-%d", "core", 12), TN_OK);
    check_blocks(&within);
    assert_int_equal(tn_arena_format(&arena, &behind, NULL, "%s", "behind"), TN_OK);
    tn_memory_fail_at(0);
    check_blocks(&within);
    assert_int_equal(tn_memory_requests(), 0);
    assert_string_equal(text, "core-12");
    assert_string_equal(behind, "behind");
    tn_arena_free(&within);
    tn_arena_free(&arena);
}

/* What an arena holds, whatever it held before a reset. */
static void arena_holds_what_is_allocated(void **state) {
    (void)state;
    enum { BLOCKS = 300, BYTES = 1024 };
    tn_arena arena = {0};
    char *block;
    assert_int_equal(tn_arena_bytes(&arena), 0);
    for (size_t count = BLOCKS; count > 0; count /= 4) {
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(tn_arena_alloc(&arena, BYTES, 1, &block, NULL), TN_OK);
            assert_int_equal(tn_arena_bytes(&arena), (i + 1) * BYTES);
        }
        tn_arena_reset(&arena);
        assert_int_equal(tn_arena_bytes(&arena), 0);
    }
    tn_arena_free(&arena);
}

static void arena_texts(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_error error;
    const char *text;
    assert_int_equal(tn_arena_copy_text(&arena, "abcdef", 3, &text, &error), TN_OK);
    assert_string_equal(text, "abc");
    assert_int_equal(tn_arena_format(&arena, &text, &error, "%s-%d", "core", 12), TN_OK);
    assert_string_equal(text, "core-12");
    char *large;
    tn_memory_fail_at(1);
    assert_int_equal(tn_arena_alloc(&arena, 1, 1 << 20, &large, &error), TN_MEMORY);
    tn_memory_fail_at(0);
    assert_int_equal(tn_arena_alloc(&arena, 1, 1 << 20, &large, &error), TN_OK);
    assert_string_equal(text, "core-12");
    tn_arena_free(&arena);
}

static void buffers(void **state) {
    (void)state;
    tn_buffer buffer = {0};
    char expected[4000] = "";
    for (int i = 0; i < 500; i++) {
        tn_buffer_format(&buffer, "%d,", i);
        snprintf(expected + strlen(expected), 16, "%d,", i);
    }
    tn_buffer_text(&buffer, "end");
    tn_buffer_bytes(&buffer, "x\0y", 3);
    strcat(expected, "end");
    assert_int_equal(buffer.status, TN_OK);
    assert_int_equal(buffer.length, strlen(expected) + 3);
    assert_memory_equal(buffer.data, expected, strlen(expected));
    assert_memory_equal(buffer.data + strlen(expected), "x\0y", 4);
    tn_buffer_free(&buffer);
    tn_memory_fail_at(1);
    tn_buffer_text(&buffer, "lost");
    tn_memory_fail_at(0);
    tn_buffer_text(&buffer, "lost too");
    assert_int_equal(buffer.status, TN_MEMORY);
    assert_int_equal(buffer.length, 0);
    tn_buffer_free(&buffer);
    assert_int_equal(buffer.status, TN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(allocations),
                                       cmocka_unit_test(growth),
                                       cmocka_unit_test(only_the_asked_for_request_fails),
                                       cmocka_unit_test(arena_blocks),
                                       cmocka_unit_test(arena_within_another),
                                       cmocka_unit_test(arena_holds_what_is_allocated),
                                       cmocka_unit_test(arena_texts),
                                       cmocka_unit_test(buffers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
