/* Checkpoints: which array a layer's matrix is, by pattern and by name, and what is refused. */
#include "ranks/checkpoint.h"
#include "ranks/name_map.h"

#include "support/models.h"
#include "support/pages.h"
#include "text/arrays.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tn_error error;
static char path[64];

static tn_status decode(const char *text, tn_model *model, tn_arena *arena, tn_checkpoint *checkpoint) {
    tn_yaml *node;
    assert_int_equal(tn_yaml_parse("test", text, strlen(text), arena, &node, &error), TN_OK);
    return tn_checkpoint_decode(node, model, arena, checkpoint, &error);
}

/* Arrays of any shape: only names count here. */
static int make_file(void **state) {
    static const uint64_t shape[] = {2, 3};
    static const double values[6] = {1, 2, 3, 4, 5, 6};
    (void)state;
    strcpy(path, "/tmp/tenfold-checkpoint-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    const tn_array_out arrays[] = {{.name = "plain", .axes = 2, .shape = shape, .values = values},
                                   {.name = "turned", .axes = 2, .shape = shape, .values = values},
                                   {.name = "a.weight", .axes = 2, .shape = shape, .values = values}};
    assert_int_equal(tn_npz_write(path, arrays, 3, &error), TN_OK);
    return 0;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static void layers_find_their_arrays(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_model *model = test_model_loaded("atis-2enc", NULL, &arena);
    tn_checkpoint checkpoint;
    tn_matrix_source source;
    tn_arrays *arrays;
    static const char text[] =
        "convention: input-rows\ntensors:\n"
        "  - {layer: embedding, tensor: plain, convention: rows-are-output}\n"
        "  - {layer: \"encoder{i}.query\", tensor: \"f{i-1}sed{i+1}{i}\", rows: [6, 7]}\n"
        "  - {layer: encoder2.key, cores: [plain, turned], transpose: true}\n";
    assert_int_equal(decode(text, model, &arena, &checkpoint), TN_OK);
    assert_int_equal(tn_arrays_open(path, &arrays, &error), TN_OK);
    assert_int_equal(tn_checkpoint_find(&checkpoint, "embedding", arrays, &arena, &source, &error), TN_OK);
    assert_string_equal(source.tensor, "plain");
    assert_false(source.transposed);
    assert_int_equal(tn_checkpoint_find(&checkpoint, "encoder2.query", arrays, &arena, &source, &error),
                     TN_INPUT);
    assert_non_null(strstr(error.message, "\"f1sed32\""));
    assert_int_equal(tn_checkpoint_find(&checkpoint, "encoder2.key", arrays, &arena, &source, &error), TN_OK);
    assert_int_equal(source.cores, 2);
    assert_string_equal(source.core[1], "turned");
    assert_false(source.transposed); /* turned twice */
    assert_int_equal(tn_checkpoint_find(&checkpoint, "a", arrays, &arena, &source, &error), TN_OK);
    assert_string_equal(source.tensor, "a.weight");
    assert_true(source.transposed);
    assert_int_equal(tn_checkpoint_find(&checkpoint, "plain", arrays, &arena, &source, &error), TN_OK);
    assert_string_equal(source.tensor, "plain");
    tn_arrays_close(arrays);
    tn_arena_free(&arena);
}

static void odd_checkpoints_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"tensors: [{layer: encoder1.qery, tensor: a}]", "did you mean encoder1.query"},
        {"tensors: [{layer: encoder3.query, tensor: a}]", "no layer with a matrix"},
        {"tensors: [{layer: encoder1.attention, tensor: a}]", "no layer with a matrix"},
        {"tensors: [{layer: encoder1.query}]", "needs either `tensor` or `cores`"},
        {"tensors: [{layer: encoder1.query, tensor: a, cores: [b]}]", "needs either"},
        {"tensors: [{layer: encoder1.query, cores: [a], rows: [0, 5]}]", "takes no rows"},
        {"tensors: [{layer: encoder1.query, tensor: a, rows: [5]}]", "[first, count]"},
        {"tensors: [{layer: encoder1.query, tensor: a, rows: [5, 0]}]", "[first, count]"},
        {"tensors: [{layer: encoder1.query, tensor: a, convention: input-frist}]", "input-first"},
        {"tensor: []", "did you mean \"tensors\""},
    };
    tn_arena arena = {0};
    tn_model *model = test_model_loaded("atis-2enc", NULL, &arena);
    tn_checkpoint checkpoint;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(decode(cases[i].text, model, &arena, &checkpoint), TN_INPUT);
        if (!strstr(error.message, cases[i].message)) fail_msg("%s: %s", cases[i].text, error.message);
        assert_int_equal(error.line, 1);
    }
    /* Braces are judged when a layer is looked for. */
    static const char *const names[] = {"x{j}", "x{i", "x{i-5}", "x{i+}"};
    for (size_t i = 0; i < 4; i++) {
        char text[128];
        tn_matrix_source source;
        snprintf(text, sizeof text, "tensors: [{layer: \"encoder{i}.query\", tensor: \"%s\"}]", names[i]);
        assert_int_equal(decode(text, model, &arena, &checkpoint), TN_OK);
        assert_int_equal(tn_checkpoint_find(&checkpoint, "encoder1.query", NULL, &arena, &source, &error),
                         TN_INPUT);
        assert_non_null(strstr(error.message, "braces"));
    }
    tn_arena_free(&arena);
}

static void page(void **state) {
    (void)state;
    tn_buffer keys = {0};
    tn_schema_document(&tn_checkpoint_schema, &keys);
    test_page("ranks.md", "checkpoint", &keys);
    tn_buffer_free(&keys);
    tn_schema_document(&tn_name_map_schema, &keys);
    test_page("import.md", "names", &keys);
    tn_buffer_free(&keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_find_their_arrays),
        cmocka_unit_test(odd_checkpoints_are_refused),
        cmocka_unit_test(page),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
