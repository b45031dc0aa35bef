/* The memories of generated hardware: those of the price, block by block; and, of whatever program, no array is overwritten
 * while it is wanted. */
#include "base/memory.h"
#include "rtl/access.h"
#include "rtl/place.h"
#include "support/program.h"
#include "support/shared.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the price's memories ---- */

static json_t *answered(const char *command) {
    json_error_t where;
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s: %s%s", command, run.out, run.err);
    json_t *root = json_loads(run.out, 0, &where);
    if (!root) fail_msg("%s: %s", command, where.text);
    test_run_free(&run);
    return root;
}

static json_int_t number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("%s is no integer", key);
    return json_integer_value(value);
}

static const char *text(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    if (!value) fail_msg("%s is no text", key);
    return value;
}

/* The generated memories that the price's line stands for: as many, of its style and width, the deepest as deep as it says,
 * together in its blocks. */
static void check_line(const char *what, const json_t *line, const json_t *list) {
    static const char *const blocks[] = {"bram18", "uram", "lutram"};
    json_int_t count = 0, deepest = 0, sum[3] = {0};
    size_t i;
    json_t *memory;
    json_array_foreach((json_t *)list, i, memory) {
        if (strcmp(text(memory, "holds"), text(line, "name")) != 0) continue;
        count++;
        assert_string_equal(text(memory, "style"), text(line, "style"));
        assert_int_equal(number(memory, "width_bits"), number(line, "width_bits"));
        if (number(memory, "depth") > deepest) deepest = number(memory, "depth");
        for (int k = 0; k < 3; k++) sum[k] += number(memory, blocks[k]);
    }
    if (count != number(line, "memories") || deepest != number(line, "depth"))
        fail_msg("%s, %s: %lld memories, the deepest of %lld words; priced %lld of %lld", what,
                 text(line, "name"), (long long)count, (long long)deepest,
                 (long long)number(line, "memories"), (long long)number(line, "depth"));
    for (int k = 0; k < 3; k++)
        if (sum[k] != number(line, blocks[k]))
            fail_msg("%s, %s: %s %lld, priced %lld", what, text(line, "name"), blocks[k], (long long)sum[k],
                     (long long)number(line, blocks[k]));
}

/* memories.svh has one instance for each memory of the list, of its banks, words, depth and style. */
static void check_sources(const char *folder, const json_t *list) {
    char path[256], *source, *cursor;
    FILE *file;
    size_t i, length;
    json_t *memory;
    snprintf(path, sizeof path, "%s/memories.svh", folder);
    file = fopen(path, "r");
    assert_non_null(file);
    source = calloc(1, 1 << 20);
    assert_non_null(source);
    length = fread(source, 1, (1 << 20) - 1, file);
    fclose(file);
    assert_true(length > 0);
    cursor = source;
    json_array_foreach((json_t *)list, i, memory) {
        char expected[256];
        snprintf(expected, sizeof expected,
                 ".BANKS_HERE(%lld), .WORD_HERE(%lld), .DEPTH(%lld), .ADDRESS(ADDRESS), .STYLE(\"%s\"), "
                 ".NAME(\"memory%zu\")",
                 (long long)number(memory, "banks"), (long long)number(memory, "width_bits") / 32,
                 (long long)number(memory, "depth"),
                 strcmp(text(memory, "style"), "lutram") == 0 ? "distributed" : text(memory, "style"), i);
        cursor = strstr(cursor, expected);
        if (!cursor) fail_msg("no %s", expected);
    }
    free(source);
}

static void check_price(const char *model, const char *options, bool update) {
    char command[1024];
    size_t i;
    json_t *line;
    snprintf(command, sizeof command, "'%s' cost '%s' --json %s", TEST_PROGRAM, model, options);
    json_t *price = answered(command);
    snprintf(command, sizeof command, "'%s' rtl '%s' -o memories --json %s %s", TEST_PROGRAM, model,
             update ? "--update" : "", options);
    json_t *hardware = answered(command), *list = json_object_get(hardware, "memory_list");
    size_t memories = 0;
    json_array_foreach(json_object_get(price, "memories"), i, line) {
        check_line(options, line, list);
        memories += (size_t)number(line, "memories");
    }
    assert_int_equal(json_array_size(list), memories);
    assert_true(json_is_true(json_object_get(json_object_get(hardware, "memory_blocks"), "of_price")));
    assert_int_equal(number(hardware, "cycles_predicted"),
                     number(json_object_get(price, "latency"), "cycles_per_step"));
    check_sources("memories", list);
    /* The program is logic in both. */
    const json_t *program = json_object_get(hardware, "program");
    assert_int_equal(number(program, "bram18"), 0);
    assert_int_equal(number(program, "inferred_bram18"), 0);
    json_decref(price);
    json_decref(hardware);
}

static void test_memories_are_those_of_the_price(void **state) {
    (void)state;
    const char *model = test_source("tests/rtl/data/kernels.yaml");
    static const char *const builds[] = {
        "",
        "--set build.rows=4 --set build.vector=8",
        "--set build.buffers=separate",
        "--set build.group=1 --set build.activation_memory=ultra",
        "--set build.split=auto --set build.columns=4 --set build.placement=searched",
        "--set build.core_memory=distributed --set build.reduction=4 --set build.fusion=additions",
        "--set build.split=partition --set build.reduction=2",
        "--set build.split=banks --set build.columns=8 --set build.vector=16",
    };
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) check_price(model, builds[i], true);
    check_price(model, "--set phase=inference", false);
    check_price(test_source("tests/rtl/data/fused.yaml"), "--set build.fusion=write-back", true);
    test_run gone = test_shell("rm -rf memories");
    test_run_free(&gone);
}

/* The answers of an inference are there at its end, whatever comes behind the operation that makes them. */
static void test_answers_live_to_the_end(void **state) {
    (void)state;
    char command[1024];
    size_t i, answers = 0;
    json_error_t where;
    json_t *array;
    snprintf(command, sizeof command, "'%s' export '%s' --set phase=inference -o handed >/dev/null",
             TEST_PROGRAM, test_source("tests/rtl/data/kernels.yaml"));
    test_run run = test_shell(command);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    json_t *root = json_load_file("handed/design.json", 0, &where);
    assert_non_null(root);
    const json_int_t last = (json_int_t)json_array_size(json_object_get(root, "operations")) - 1;
    json_array_foreach(json_object_get(root, "arrays"), i, array) {
        const char *name = text(array, "tensor");
        if (strcmp(name, "intent-head.output") != 0 && strcmp(name, "slot-head.output") != 0) continue;
        answers++;
        assert_int_equal(json_integer_value(json_array_get(json_object_get(array, "lifetime"), 1)), last);
    }
    assert_int_equal(answers, 2);
    json_decref(root);
    run = test_shell("rm -rf handed");
    test_run_free(&run);
}

/* ---- lives ---- */

enum { ARRAYS = 24, OPERATIONS = 60, WORDS_MOST = 1 << 16 };

static uint64_t draw(uint64_t *state, uint64_t below) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return (z ^ (z >> 31)) % below;
}

static void draw_array(uint64_t *state, tn_rtl_array *array) {
    *array = (tn_rtl_array){.name = "drawn"};
    array->layout = (tn_bank_layout){.axes = 1, .forms = 1, .banks = {1}};
    array->layout.dims[0] = 1 + draw(state, 40);
    array->layout.word[0] = draw(state, 3) ? 4 : 2;
}

/* Which array holds each word of each memory: set as it is written, asked as it is read. */
static void play(const tn_rtl_design *design, const bool *given) {
    static uint32_t holder[ARRAYS][WORDS_MOST];
    memset(holder, 0, sizeof holder);
    for (int pass = 0; pass < 3; pass++) /* what is given; then the program twice */
        for (uint32_t i = 0; i < (pass == 0 ? design->arrays : design->operations); i++) {
            const tn_rtl_operation *operation = &design->operation[i];
            const uint32_t touched[] = {operation->left, operation->right, operation->result};
            for (int k = pass == 0 ? 2 : 0; k < 3; k++) {
                const uint32_t a = pass == 0 ? i : touched[k];
                const tn_rtl_array *array = &design->array[a];
                uint64_t depth = tn_rtl_strides_of(&array->layout).depth;
                assert_true(array->base + depth <= design->memory[array->memory].depth);
                for (uint64_t w = 0; w < depth && (pass > 0 || given[a]); w++) {
                    uint32_t *entry = &holder[array->memory][array->base + w];
                    if (k == 2)
                        *entry = a + 1;
                    else if (*entry != a + 1)
                        fail_msg("operation %u reads word %llu of array %u, where array %u is", (unsigned)i,
                                 (unsigned long long)w, (unsigned)a, (unsigned)*entry - 1);
                }
            }
        }
    for (uint32_t i = 0; i < design->operations; i++)
        assert_true(design->array[design->operation[i].left].memory !=
                    design->array[design->operation[i].right].memory);
}

/* Programs of drawn products: an array is there for whatever reads it, and memories are no deeper than if none shared. */
static void test_nothing_is_overwritten_while_it_lives(void **state) {
    (void)state;
    uint64_t seed = 11, together = 0, apart = 0;
    for (int round = 0; round < 200; round++) {
        tn_arena arena = {0};
        tn_rtl_array array[ARRAYS];
        tn_rtl_operation operation[OPERATIONS];
        tn_rtl_design design = {
            .arrays = ARRAYS, .operations = OPERATIONS, .array = array, .operation = operation};
        bool given[ARRAYS] = {false}, written[ARRAYS] = {false};
        for (uint32_t a = 0; a < ARRAYS; a++) draw_array(&seed, &array[a]);
        for (uint32_t i = 0; i < OPERATIONS; i++) {
            uint32_t near = i * (ARRAYS - 4) / OPERATIONS; /* arrays come and go */
            operation[i] = (tn_rtl_operation){.left = near + (uint32_t)draw(&seed, 4)};
            operation[i].right = near + (operation[i].left - near + 1 + (uint32_t)draw(&seed, 3)) % 4;
            operation[i].result = near + (uint32_t)draw(&seed, 4);
            given[operation[i].left] |= !written[operation[i].left];
            given[operation[i].right] |= !written[operation[i].right];
            written[operation[i].result] = true;
        }
        const tn_rtl_placing how = {.style = TN_STYLE_BLOCK};
        tn_error error;
        if (tn_rtl_place_arrays(&design, array, &how, &arena, &error) != TN_OK) fail_msg("%s", error.message);
        play(&design, given);
        for (uint32_t a = 0; a < ARRAYS; a++) apart += tn_rtl_strides_of(&array[a].layout).depth;
        for (uint32_t m = 0; m < design.memories; m++) together += design.memory[m].depth;
        tn_arena_free(&arena);
    }
    assert_true(together < apart);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memories_are_those_of_the_price),
                                       cmocka_unit_test(test_answers_live_to_the_end),
                                       cmocka_unit_test(test_nothing_is_overwritten_while_it_lives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
