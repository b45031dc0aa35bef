/* tenfold export: no two arrays that live at once lie in one place, memories add up to the price, the header compiles and holds
 * the same, contraction paths replay to the layers' multiply-adds. */
#include "base/file.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *design, *paths, *cost;

static json_t *load(const char *name) {
    json_t *loaded = json_load_file(test_in_folder(name), 0, NULL);
    if (!loaded) fail_msg("%s can't be read", name);
    return loaded;
}

static int set_up(void **state) {
    if (test_folder_make(state) != 0) return -1;
    test_run run = test_program("sweep", test_source("tests/space/data/small.yaml"), "--quiet", "-o",
                                test_in_folder("swept"), NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    json_t *told = test_program_json(0, "recommend", test_in_folder("swept"), "--json", NULL);
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)json_integer_value(json_object_get(told, "design")));
    json_decref(told);
    json_decref(test_program_json(0, "export", test_in_folder("swept"), "--point", id, "-o",
                                  test_in_folder("out"), "--json", NULL));
    cost = test_program_json(0, "cost", test_in_folder("swept"), "--point", id, "--json", NULL);
    design = load("out/design.json");
    paths = load("out/paths.json");
    return 0;
}

static int tear_down(void **state) {
    json_decref(design);
    json_decref(paths);
    json_decref(cost);
    return test_folder_remove(state);
}

static const json_t *item(const json_t *list, size_t i) {
    return json_array_get(list, i);
}

static long long number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("no count under %s", key);
    return json_integer_value(value);
}

static const char *text(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static const json_t *memory_named(const char *name) {
    const json_t *memories = json_object_get(design, "memories");
    for (size_t i = 0; i < json_array_size(memories); i++)
        if (strcmp(text(item(memories, i), "name"), name) == 0) return item(memories, i);
    fail_msg("no memory %s", name);
    return NULL;
}

typedef struct {
    const char *memory;
    long long offset, end, first, last;
} place;

static place place_of(const json_t *array) {
    const json_t *lifetime = json_object_get(array, "lifetime"), *last = item(lifetime, 1);
    place location = {.memory = text(array, "memory"), .first = json_integer_value(item(lifetime, 0))};
    location.last = json_is_null(last) ? INT64_MAX : json_integer_value(last);
    if (!location.memory) return location;
    location.offset = number(array, "offset");
    location.end = location.offset + number(json_object_get(array, "layout"), "rows");
    return location;
}

/* Returns how many pairs of arrays use one place after the other. */
static size_t check_places(void) {
    const json_t *arrays = json_object_get(design, "arrays");
    size_t count = json_array_size(arrays), together = 0;
    assert_true(count > 100);
    place *location = calloc(count, sizeof *location);
    for (size_t i = 0; i < count; i++) {
        const json_t *array = item(arrays, i), *shape = json_object_get(array, "shape");
        long long elements = 1;
        for (size_t k = 0; k < json_array_size(shape); k++) elements *= json_integer_value(item(shape, k));
        assert_int_equal(elements, number(array, "elements"));
        assert_int_equal(json_array_size(json_object_get(array, "axes")), json_array_size(shape));
        location[i] = place_of(array);
        if (!location[i].memory) continue;
        const json_t *memory = memory_named(location[i].memory);
        assert_true(location[i].end <= number(memory, "depth"));
        assert_true((location[i].end - location[i].offset) * number(memory, "row_elements") >= elements);
        for (size_t k = 0; k < i; k++) {
            if (!location[k].memory || strcmp(location[k].memory, location[i].memory) != 0) continue;
            bool overlap = location[k].offset < location[i].end && location[i].offset < location[k].end,
                 live = location[k].first <= location[i].last && location[i].first <= location[k].last;
            together += overlap;
            if (overlap && live)
                fail_msg("%s and %s lie in one place of %s", text(item(arrays, k), "tensor"),
                         text(array, "tensor"), location[i].memory);
        }
    }
    free(location);
    return together;
}

static const json_t *array_named(const char *name) {
    const json_t *arrays = json_object_get(design, "arrays");
    for (size_t i = 0; i < json_array_size(arrays); i++)
        if (strcmp(text(item(arrays, i), "tensor"), name) == 0) return item(arrays, i);
    fail_msg("no array %s", name);
    return NULL;
}

/* The shapes of an embedding's cores are those of the weight: digit, factor of the columns, ranks. */
static void looked_up_cores_have_their_shape(void **state) {
    static const char *const names[] = {"embedding.core1", "embedding.core2", "embedding.core3",
                                        "embedding.core1.gradient", "embedding.core2.gradient"};
    static const long long shapes[][4] = {
        {10, 12, 30}, {10, 30, 8, 30}, {10, 30, 8}, {10, 12, 30}, {10, 30, 8, 30}};
    static const size_t axes[] = {3, 4, 3, 3, 4};
    (void)state;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        const json_t *array = array_named(names[i]), *shape = json_object_get(array, "shape");
        assert_string_equal(json_string_value(item(json_object_get(array, "axes"), 0)), "slice");
        assert_int_equal(json_array_size(shape), axes[i]);
        for (size_t k = 0; k < axes[i]; k++)
            assert_int_equal(json_integer_value(item(shape, k)), shapes[i][k]);
    }
}

static void arrays_that_live_at_once_lie_apart(void **state) {
    (void)state;
    assert_true(check_places() > 10);
}

static void memories_add_up_to_the_price(void **state) {
    const json_t *memories = json_object_get(design, "memories"), *told = json_object_get(cost, "memories"),
                 *used = json_object_get(cost, "resources");
    long long bram = 0, uram = 0, descriptors = 0;
    (void)state;
    for (size_t i = 0; i < json_array_size(memories); i++) {
        const json_t *blocks = json_object_get(item(memories, i), "blocks");
        bram += number(blocks, "bram18") + 2 * number(blocks, "bram36");
        uram += number(blocks, "uram");
    }
    for (size_t i = 0; told && i < json_array_size(told); i++)
        if (strcmp(text(item(told, i), "name"), "descriptors") == 0)
            descriptors = number(item(told, i), "bram18");
    assert_int_equal(uram, number(json_object_get(used, "uram"), "used"));
    long long rest = number(json_object_get(used, "bram18"), "used") - bram;
    assert_true(rest >= 0 && (descriptors == 0 || rest == descriptors));
}

static void operations_wait_for_earlier_ones(void **state) {
    const json_t *operations = json_object_get(design, "operations");
    long long end = 0;
    size_t arrays = json_array_size(json_object_get(design, "arrays"));
    (void)state;
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const json_t *object = item(operations, i), *waits = json_object_get(object, "waits");
        assert_non_null(text(object, "kernel"));
        for (size_t k = 0; k < json_array_size(waits); k++) {
            size_t before = (size_t)json_integer_value(item(waits, k));
            assert_true(before < i);
            assert_true(number(item(operations, before), "finish") <= number(object, "start"));
        }
        static const char *const lists[] = {"reads", "writes"};
        for (int l = 0; l < 2; l++)
            for (size_t k = 0; k < json_array_size(json_object_get(object, lists[l])); k++)
                assert_true((size_t)json_integer_value(item(json_object_get(object, lists[l]), k)) < arrays);
        if (number(object, "finish") > end) end = number(object, "finish");
    }
    assert_int_equal(end, number(design, "cycles_per_step"));
}

/* ---- contraction paths ---- */

enum { OPERANDS = 64 };

/* Replays the path on index sets, each index of which has one size: multiply-adds of all pairs, and the indices of the end. */
static double replay(const json_t *object, char *last) {
    char term[OPERANDS][64], expression[1024];
    double size[128] = {0}, macs = 0;
    size_t count = 0;
    const json_t *path = json_object_get(object, "path"), *shapes = json_object_get(object, "shapes");
    snprintf(expression, sizeof expression, "%s", text(object, "einsum"));
    char *output = strstr(expression, "->");
    assert_non_null(output);
    *output = '\0';
    output += 2;
    for (char *cursor = strtok(expression, ","); cursor; cursor = strtok(NULL, ","), count++) {
        snprintf(term[count], sizeof term[count], "%s", cursor);
        const json_t *shape = item(shapes, count);
        assert_int_equal(json_array_size(shape), strlen(cursor));
        for (size_t k = 0; cursor[k]; k++) {
            double own = (double)json_integer_value(item(shape, k));
            assert_true(size[(int)cursor[k]] == 0 || size[(int)cursor[k]] == own);
            size[(int)cursor[k]] = own;
        }
    }
    assert_string_equal(json_string_value(item(path, 0)), "einsum_path");
    for (size_t p = 1; p < json_array_size(path); p++) {
        size_t a = (size_t)json_integer_value(item(item(path, p), 0)),
               b = (size_t)json_integer_value(item(item(path, p), 1));
        assert_true(a < b && b < count);
        char left[64], right[64], made[64];
        double product = 1;
        size_t length = 0;
        strcpy(left, term[a]);
        strcpy(right, term[b]);
        memmove(term[b], term[b + 1], (count - b - 1) * sizeof *term);
        memmove(term[a], term[a + 1], (count - a - 2) * sizeof *term);
        count -= 2;
        for (int c = 'A'; c <= 'z'; c++) {
            bool used = strchr(left, c) || strchr(right, c), later = strchr(output, c) != NULL;
            if (!used) continue;
            product *= size[c];
            for (size_t k = 0; k < count; k++) later |= strchr(term[k], c) != NULL;
            if (later) made[length++] = (char)c;
        }
        made[length] = '\0';
        strcpy(term[count++], made);
        macs += product;
    }
    assert_int_equal(count, 1);
    strcpy(last, term[0]);
    for (char *c = output; *c; c++) assert_non_null(strchr(last, *c));
    assert_int_equal(strlen(last), strlen(output));
    return macs;
}

static void paths_replay(void **state) {
    const json_t *list = json_object_get(paths, "paths"), *layers = json_object_get(cost, "layers");
    size_t outputs = 0;
    (void)state;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = item(list, i);
        char last[64];
        if (json_is_null(json_object_get(object, "path"))) continue;
        double macs = replay(object, last);
        assert_true(macs == json_number_value(json_object_get(object, "macs")));
        if (strcmp(text(object, "output"), "Y") != 0) continue;
        for (size_t l = 0; l < json_array_size(layers); l++)
            if (strcmp(text(item(layers, l), "name"), text(object, "layer")) == 0) {
                assert_true(macs == json_number_value(json_object_get(
                                        json_object_get(item(layers, l), "macs"), "forward")));
                outputs++;
            }
    }
    assert_true(outputs > 10);
}

/* ---- the header ---- */

/* The script of docs/export.md, where NumPy is: every path is one that einsum takes, and gives the output its shape. */
static void numpy_takes_the_paths(void **state) {
    (void)state;
    test_run there = test_shell("python3 -c 'import numpy'");
    int absent = there.status;
    test_run_free(&there);
    if (absent) {
        print_message("SKIPPED: python3 has no numpy; no path was given to einsum\n");
        skip();
    }
    test_run run = test_shell("set -e; cd \"$FOLDER\"; mkdir results; ln -s ../out results/handed; "
                              "awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' '" TEST_SOURCE_DIR
                              "/docs/export.md' >paths.py; python3 paths.py");
    if (run.status != 0) print_error("%s\n", run.err);
    assert_int_equal(run.status, 0);
    size_t lines = 0;
    for (const char *cursor = run.out; (cursor = strchr(cursor, '\n')); cursor++) lines++;
    assert_int_equal(lines, json_array_size(json_object_get(paths, "paths")));
    test_run_free(&run);
}

static void the_header_compiles_and_says_the_same(void **state) {
    (void)state;
    if (system("cc --version > /dev/null 2>&1") != 0) {
        print_message("SKIPPED: no C compiler\n");
        skip();
    }
    FILE *file = fopen(test_in_folder("check.c"), "w");
    assert_non_null(file);
    fputs("#include \"out/design.h\"\n#include \"out/memories.h\"\n#include <stdio.h>\n"
          "int main(void) {\n    unsigned long long rows = 0, waits = 0, shape = 0;\n"
          "    for (unsigned i = 0; i < TENFOLD_ARRAYS; i++) rows += tenfold_arrays[i].rows + "
          "tenfold_arrays[i].offset;\n"
          "    for (unsigned i = 0; i < TENFOLD_ARRAYS; i++) shape += "
          "tenfold_shapes[tenfold_arrays[i].shape];\n"
          "    for (unsigned i = 0; i < TENFOLD_OPERATIONS; i++)\n"
          "        for (unsigned k = 0; k < tenfold_operations[i].wait_count; k++)\n"
          "            waits += tenfold_waits[tenfold_operations[i].waits + k];\n"
          "    printf(\"%llu %llu %llu %u %llu %u %u\\n\", rows, waits, shape, (unsigned)TENFOLD_MEMORIES,\n"
          "           (unsigned long long)TENFOLD_CYCLES_PER_STEP, (unsigned)(sizeof m0 / sizeof *m0),\n"
          "           (unsigned)(tenfold_reads[tenfold_operations[0].reads] + "
          "tenfold_writes[tenfold_operations[0].writes]));\n"
          "    return 0;\n}\n",
          file);
    fclose(file);
    test_run run = test_shell(
        "cd \"$FOLDER\" && cc -std=c99 -Wall -Werror -Wno-unused-variable -Wno-unused-const-variable "
        "-Wno-unknown-pragmas check.c -o check && ./check");
    if (run.status != 0) fail_msg("%s", run.err);
    const json_t *arrays = json_object_get(design, "arrays"),
                 *operations = json_object_get(design, "operations"),
                 *memories = json_object_get(design, "memories");
    unsigned long long rows = 0, waits = 0, shape = 0;
    for (size_t i = 0; i < json_array_size(arrays); i++) {
        const json_t *array = item(arrays, i);
        place location = place_of(array);
        if (location.memory) rows += (unsigned long long)location.end;
        shape += (unsigned long long)json_integer_value(item(json_object_get(array, "shape"), 0));
    }
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const json_t *list = json_object_get(item(operations, i), "waits");
        for (size_t k = 0; k < json_array_size(list); k++)
            waits += (unsigned long long)json_integer_value(item(list, k));
    }
    char expected[256];
    const json_t *first = item(operations, 0), *m0 = item(memories, 0);
    snprintf(expected, sizeof expected, "%llu %llu %llu %zu %lld %lld %lld\n", rows, waits, shape,
             json_array_size(memories), number(design, "cycles_per_step"),
             number(m0, "depth") * number(m0, "row_elements"),
             (long long)(json_integer_value(item(json_object_get(first, "reads"), 0)) +
                         json_integer_value(item(json_object_get(first, "writes"), 0))));
    assert_string_equal(run.out, expected);
    test_run_free(&run);
    run = test_shell("grep -c 'bind_storage' \"$FOLDER/out/memories.h\"");
    assert_int_equal(atoi(run.out), (int)json_array_size(memories));
    test_run_free(&run);
}

/* A model with arrays off chip and every memory of a core for itself. */
static void a_model_is_handed_over(void **state) {
    (void)state;
    json_decref(test_program_json(0, "export", "encoder-512", "--device", "pynq-z2", "--set",
                                  "build.off_chip_over_bytes=1024", "--set",
                                  "build.off_chip_tile_bytes=16384", "--set", "build.group=1", "--set",
                                  "build.split=partition", "-o", test_in_folder("model"), "--json", NULL));
    json_t *swept = design;
    design = load("model/design.json");
    check_places();
    operations_wait_for_earlier_ones(state);
    size_t off_chip = 0;
    const json_t *arrays = json_object_get(design, "arrays");
    for (size_t i = 0; i < json_array_size(arrays); i++)
        off_chip += json_is_null(json_object_get(item(arrays, i), "memory"));
    assert_true(off_chip > 10);
    json_decref(design);
    design = swept;
    test_run run = test_program("export", "encoder-512", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "-o OUT"));
    test_run_free(&run);
}

/* A command that writes several files keeps others out of the folder. */
static void one_writer_a_folder(void **state) {
    (void)state;
    const char *const commands[][8] = {
        {"export", "atis-2enc", "-o"},
        {"rtl", "atis-2enc", "--layer", "intent-head", "-o"},
        {"slurm", test_source("tests/space/data/small.yaml"), "--tasks", "2", "-o"},
        {"ranks", "atis-2enc", "-o"},
        {"train", "--generate"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char process[64];
        tn_locked_folder other;
        const char *const *word = commands[i];
        assert_int_equal(tn_folder_lock(test_in_folder("busy"), &other, NULL), TN_OK);
        snprintf(process, sizeof process, "process %ld writes in this folder", (long)getpid());
        const char *argument[8] = {0};
        size_t count = 0;
        for (; word[count]; count++) argument[count] = word[count];
        argument[count] = test_in_folder("busy");
        test_run run = test_program(argument[0], argument[1], argument[2], argument[3], argument[4],
                                    argument[5], argument[6], NULL);
        if (run.status != 3 || !strstr(run.err, process))
            fail_msg("%s: status %d: %s", word[0], run.status, run.err);
        test_run_free(&run);
        assert_false(tn_folder_unlock(&other)); /* nothing was written */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looked_up_cores_have_their_shape),
        cmocka_unit_test(arrays_that_live_at_once_lie_apart),
        cmocka_unit_test(memories_add_up_to_the_price),
        cmocka_unit_test(operations_wait_for_earlier_ones),
        cmocka_unit_test(paths_replay),
        cmocka_unit_test(numpy_takes_the_paths),
        cmocka_unit_test(the_header_compiles_and_says_the_same),
        cmocka_unit_test(a_model_is_handed_over),
        cmocka_unit_test(one_writer_a_folder),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
