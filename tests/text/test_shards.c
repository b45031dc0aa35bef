/* Checkpoints in parts: arrays of an index are read from the files that it names; an index that is wrong is one error. */
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "text/arrays.h"

static const double values[] = {1, 2, 3, 4, 5, 6};
static const uint64_t shape[] = {2, 3};

static int make(void **state) {
    if (test_folder_make(state) != 0) return -1;
    const tn_array_out a = {.name = "a", .axes = 2, .shape = shape, .values = values},
                       b = {.name = "b",
                            .axes = 1,
                            .shape = shape,
                            .values = values + 4,
                            .half = TN_HALF_BF16},
                       more[] = {b,
                                 {.name = "c", .axes = 2, .shape = shape, .values = values, .single = true}};
    return tn_safetensors_write(test_in_folder("one.safetensors"), &a, 1, NULL) != TN_OK ||
           tn_safetensors_write(test_in_folder("two.safetensors"), more, 2, NULL) != TN_OK;
}

static const char *write_index(const char *text) {
    const char *path = test_in_folder("model.safetensors.index.json");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void arrays_of_all_files(void **state) {
    (void)state;
    tn_arrays *arrays;
    size_t index;
    double read[6];
    const char *path = write_index("{\"metadata\": {}, \"weight_map\": {\"c\": \"two.safetensors\", \"a\": "
                                   "\"one.safetensors\", \"b\": \"two.safetensors\"}}");
    assert_int_equal(tn_arrays_open(path, &arrays, NULL), TN_OK);
    assert_int_equal(tn_arrays_count(arrays), 3);
    assert_int_equal(tn_arrays_find(arrays, "a", &index, NULL), TN_OK);
    assert_int_equal(tn_arrays_read(arrays, index, read, NULL), TN_OK);
    assert_memory_equal(read, values, sizeof values);
    assert_int_equal(tn_arrays_find(arrays, "b", &index, NULL), TN_OK);
    assert_string_equal(tn_arrays_info(arrays, index)->type, "bf16");
    assert_int_equal(tn_arrays_read(arrays, index, read, NULL), TN_OK);
    assert_memory_equal(read, values + 4, 2 * sizeof *values);
    assert_int_equal(tn_arrays_find(arrays, "c", &index, NULL), TN_OK);
    assert_int_equal(tn_arrays_read_rows(arrays, index, 1, 1, read, NULL), TN_OK);
    assert_memory_equal(read, values + 3, 3 * sizeof *values);
    tn_arrays_close(arrays);
}

static void wrong_indices(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } row[] = {
        {"{\"weight_map\": {\"a\": \"three.safetensors\"}}", "three.safetensors"},
        {"{\"weight_map\": {\"a\": \"two.safetensors\"}}", "\"a\" is not in two.safetensors"},
        {"{\"weight_map\": {\"a\": \"../one.safetensors\"}}", "no file beside the index"},
        {"{\"weight_map\": {\"a\": \"\"}}", "no file beside the index"},
        {"{\"weight_map\": {\"a\": 7}}", "no file for \"a\""},
        {"{\"weight_map\": {}}", "without a \"weight_map\""},
        {"{\"weight_map\": {\"a\": \"model.safetensors.index.json\"}}", "index"},
        {"{\"weight_map\": {\"a\": \"one.safetensors\", \"a\": \"one.safetensors\"}}", "duplicate"},
        {"{\"weight_map\": {\"a\": ", "no index of a checkpoint"},
        {"{}", "without a \"weight_map\""},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_arrays *arrays;
        tn_error error = {0};
        assert_int_not_equal(tn_arrays_open(write_index(row[i].text), &arrays, &error), TN_OK);
        if (!strstr(error.message, row[i].says) && !strstr(error.file, row[i].says))
            fail_msg("%zu: %s: %s", i, error.file, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_all_files),
        cmocka_unit_test(wrong_indices),
    };
    return cmocka_run_group_tests(tests, make, test_folder_remove);
}
