/* Graphs that PyTorch exported (tests/ranks/data/export.py): its attention and encoder layers with packed projections, batch or
 * tokens first, open or fixed sizes, constants folded or not; fused projections cut by Slice and Squeeze; wake-word heads,
 * convolutions; a recogniser of which a part can be taken. Parameters and forward multiply-adds are those that PyTorch
 * counted as it ran. */
#include "support/folder.h"
#include "support/onnx_file.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "text/onnx.h"

enum { GRAPHS = 15 };

static const char *graph_path(const char *name) {
    static char path[300];
    snprintf(path, sizeof path, "%s/tests/ranks/data/%s", TEST_SOURCE_DIR, name);
    return path;
}

static bool cannot_read(void) {
    if (tn_onnx_library()) return false;
    print_message("SKIPPED: this build does not read ONNX files\n");
    return true;
}

static uint64_t forward_macs(const char *model) {
    json_t *cost = test_program_json(0, "cost", model, "--set", "format=dense", "--json", NULL),
           *forward = json_object_get(json_object_get(cost, "phases"), "forward");
    assert_true(json_is_integer(json_object_get(forward, "macs")));
    const uint64_t macs = (uint64_t)json_integer_value(json_object_get(forward, "macs"));
    json_decref(cost);
    return macs;
}

static void counts_are_equal(void **state) {
    (void)state;
    char line[300], name[64], start[200], file[80];
    uint64_t parameters, macs;
    int graphs = 0;
    FILE *counts;
    if (cannot_read()) return;
    counts = fopen(graph_path("counts.csv"), "r");
    assert_non_null(counts);
    assert_non_null(fgets(line, sizeof line, counts)); /* the head */
    while (fgets(line, sizeof line, counts)) {
        start[0] = '\0';
        if (sscanf(line, "%63[^,],,%" SCNu64 ",%" SCNu64, name, &parameters, &macs) != 3)
            assert_int_equal(
                sscanf(line, "%63[^,],%199[^,],%" SCNu64 ",%" SCNu64, name, start, &parameters, &macs), 4);
        snprintf(file, sizeof file, "%s.onnx", name);
        /* a value to begin with, or the number of tokens that is left open */
        const char *option = start[0] ? "--from" : strstr(name, "open") ? "--sequence" : NULL;
        json_t *told =
            test_program_json(0, "model", graph_path(file), "--batch", "2", "-o", test_in_folder("m.yaml"),
                              "--json", option, start[0] ? start : "6", NULL);
        const uint64_t ours = (uint64_t)json_integer_value(json_object_get(told, "dense_parameters")),
                       counted = forward_macs(test_in_folder("m.yaml"));
        if (ours != parameters || counted != macs)
            fail_msg("%s: %" PRIu64 " parameters and %" PRIu64 " multiply-adds, not %" PRIu64 " and %" PRIu64,
                     name, ours, counted, parameters, macs);
        json_decref(told);
        graphs++;
    }
    assert_int_equal(fclose(counts), 0);
    assert_int_equal(graphs, GRAPHS);
}

/* Each projection is its part of the packed matrix, and the weights are read through the mapping. */
static void weights_are_found(void **state) {
    (void)state;
    static const char *const graphs[] = {"attention.onnx", "encoder.onnx", "sliced.onnx"};
    if (cannot_read()) return;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        char *text, part[40];
        size_t length;
        json_decref(test_program_json(0, "model", graph_path(graphs[i]), "--rank", "2", "-o",
                                      test_in_folder("m.yaml"), "--json", NULL));
        assert_int_equal(tn_file_read(test_in_folder("m.yaml"), 1 << 20, &text, &length, NULL), TN_OK);
        for (int k = 0; k < 3; k++) {
            snprintf(part, sizeof part, "columns: [%d, 8]", 8 * k);
            if (!strstr(text, part)) fail_msg("%s: no %s in\n%s", graphs[i], part, text);
        }
        assert_non_null(strstr(text, "heads: 2"));
        free(text);
        json_decref(test_program_json(0, "ranks", test_in_folder("m.yaml"), "--weights",
                                      graph_path(graphs[i]), "--budget", "params=95%", "--depth", "own",
                                      "--cap", "1,2,4", "--json", NULL));
    }
}

static void refuse(const char *path, const char *option, const char *value, const char *says) {
    test_run run = option ? test_program("model", path, option, value, "-o", test_in_folder("w.yaml"), NULL)
                          : test_program("model", path, "-o", test_in_folder("w.yaml"), NULL);
    assert_int_equal(run.status, 2);
    if (!strstr(run.err, says) || strchr(run.err, '\n') != run.err + strlen(run.err) - 1)
        fail_msg("%s", run.err);
    test_run_free(&run);
}

/* One line that names the file, the node and what can be taken. */
static void refusals(void **state) {
    (void)state;
    char path[300];
    if (cannot_read()) return;
    snprintf(path, sizeof path, "%s", graph_path("recogniser.onnx"));
    refuse(path, NULL, NULL,
           "recogniser.onnx: node \"/stem/stem.2/Conv\" (Conv) is a convolution of 8 groups; one of all "
           "features at once is "
           "recognised; what can be taken is --from \"/stem/stem.3/MaxPool_output_0\", with 13 matrices");
    refuse(path, "--from", "nowhere", "has no value \"nowhere\"");
    refuse(path, "--to", "nowhere", "has no value \"nowhere\"");
    json_decref(test_program_json(0, "model", path, "--to", "/stem/stem.1/Relu_output_0", "-o",
                                  test_in_folder("w.yaml"), "--json", NULL));
}

static const int64_t frames[] = {2, 6, 8};

static void branch(test_onnx *f) {
    test_onnx_input(f, "x", 1, frames, 3);
    test_onnx_node(f, "If", "x", "y", NULL);
    test_onnx_output(f, "y");
}

static void odd_heads(test_onnx *f) {
    static const int64_t shape[] = {2, 6, 3, 2};
    test_onnx_input(f, "x", 1, frames, 3);
    test_onnx_integers(f, "shape", shape, 4);
    test_onnx_tensor(f, "w", 12, 8, 0);
    test_onnx_tensor(f, "v", 8, 8, 0);
    test_onnx_node(f, "MatMul", "x v", "query", NULL);
    test_onnx_node(f, "Transpose", "query", "turned", "perm=0,2,1");
    test_onnx_node(f, "MatMul", "turned turned", "scores", NULL);
    test_onnx_output(f, "scores");
}

static void later_token(test_onnx *f) {
    static const int64_t begin = 2, end = 3, axis = 1;
    test_onnx_input(f, "x", 1, frames, 3);
    test_onnx_integers(f, "begin", &begin, 1);
    test_onnx_integers(f, "end", &end, 1);
    test_onnx_integers(f, "axis", &axis, 1);
    test_onnx_node(f, "Slice", "x begin end axis", "y", NULL);
    test_onnx_output(f, "y");
}

static void uneven_sum(test_onnx *f) {
    static const int64_t others[] = {2, 5, 8};
    test_onnx_input(f, "x", 1, frames, 3);
    test_onnx_input(f, "z", 1, others, 3);
    test_onnx_node(f, "Add", "x z", "y", NULL);
    test_onnx_output(f, "y");
}

static void wrong_shapes(void **state) {
    (void)state;
    static const struct {
        void (*fill)(test_onnx *);
        const char *says;
    } row[] = {{branch, "(If) has a graph of its own inside"},
               {odd_heads, "(MatMul) multiplies queries and keys whose heads are 6 and 8 wide"},
               {later_token, "(Slice) takes other tokens than the first"},
               {uneven_sum, "(Add) combines 6 and 5 tokens"}};
    if (cannot_read()) return;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        test_onnx f = {0};
        row[i].fill(&f);
        test_onnx_write(&f, test_in_folder("wrong.onnx"));
        refuse(test_in_folder("wrong.onnx"), NULL, NULL, row[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_equal),
        cmocka_unit_test(weights_are_found),
        cmocka_unit_test(refusals),
        cmocka_unit_test(wrong_shapes),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
