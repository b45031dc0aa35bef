/* ONNX graphs become model files: an encoder written operator by operator, a decoder of fused products with a tied table,
 * patches of images; every parameter is accounted for, and the weights are read through the mapping. What is no layer is
 * named; damaged files are one error. */
#include "support/folder.h"
#include "support/onnx_file.h"
#include "support/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "text/arrays.h"
#include "text/onnx.h"

enum { H = 16, WIDE = 64, WORDS = 118, TOKENS = 8, LAYERS = 2 };

static const int64_t tokens_shape[] = {-1, TOKENS}, heads_shape[] = {0, 0, 4, H / 4},
                     flat_shape[] = {0, 0, H};

static void linear(test_onnx *f, const char *name, uint64_t m, uint64_t n, const char *source,
                   const char *target) {
    char weight[64], bias[64], product[64], operands[160];
    snprintf(weight, sizeof weight, "onnx::MatMul_%s", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    snprintf(product, sizeof product, "%s_product", name);
    test_onnx_tensor(f, weight, n, m, 0);
    test_onnx_tensor(f, bias, m, 0, 0);
    snprintf(operands, sizeof operands, "%s %s", source, weight);
    test_onnx_node(f, "MatMul", operands, product, NULL);
    snprintf(operands, sizeof operands, "%s %s", bias, product);
    test_onnx_node(f, "Add", operands, target, NULL);
}

/* A node whose names begin with `prefix` where they begin with %. */
static void node(test_onnx *f, const char *prefix, const char *operator, const char * inputs,
                 const char *outputs, const char *attribute) {
    char text[2][200];
    const char *source[2] = {inputs, outputs};
    for (int i = 0; i < 2; i++) {
        size_t index = 0;
        for (const char *c = source[i]; *c; c++) {
            if (*c != '%') text[i][index++] = *c;
            if (*c == '%') index += (size_t)snprintf(text[i] + index, sizeof text[i] - index, "%s", prefix);
        }
        text[i][index] = '\0';
    }
    test_onnx_node(f, operator, text[0], text[1], attribute);
}

/* Nine operators. */
static void norm(test_onnx *f, const char *name, const char *source, const char *target) {
    char operands[160], scale[64], shift[64];
    snprintf(scale, sizeof scale, "%s.weight", name);
    snprintf(shift, sizeof shift, "%s.bias", name);
    test_onnx_tensor(f, scale, H, 0, 0);
    test_onnx_tensor(f, shift, H, 0, 0);
    snprintf(operands, sizeof operands, "%s", source);
    node(f, name, "ReduceMean", operands, "%_mean", "axes=-1,");
    snprintf(operands, sizeof operands, "%s %%_mean", source);
    node(f, name, "Sub", operands, "%_centred", NULL);
    node(f, name, "Pow", "%_centred two", "%_squares", NULL);
    node(f, name, "ReduceMean", "%_squares", "%_variance", "axes=-1,");
    node(f, name, "Add", "%_variance small", "%_with", NULL);
    node(f, name, "Sqrt", "%_with", "%_root", NULL);
    node(f, name, "Div", "%_centred %_root", "%_normed", NULL);
    node(f, name, "Mul", "%_normed %.weight", "%_scaled", NULL);
    snprintf(operands, sizeof operands, "%s", target);
    node(f, name, "Add", "%_scaled %.bias", operands, NULL);
}

/* GELU by the error function, its half last. */
static void gelu(test_onnx *f, const char *name, const char *source, const char *target) {
    char operands[160];
    snprintf(operands, sizeof operands, "%s root_two", source);
    node(f, name, "Div", operands, "%_by", NULL);
    node(f, name, "Erf", "%_by", "%_erf", NULL);
    node(f, name, "Add", "%_erf one", "%_plus", NULL);
    snprintf(operands, sizeof operands, "%s %%_plus", source);
    node(f, name, "Mul", operands, "%_times", NULL);
    node(f, name, "Mul", "%_times half", target, NULL);
}

static void heads(test_onnx *f, const char *name, const char *perm) {
    node(f, name, "Reshape", "% heads", "%_folded", NULL);
    node(f, name, "Transpose", "%_folded", "%_heads", perm);
}

static void numbers(test_onnx *f) {
    static const int64_t zero[] = {0};
    test_onnx_tensor(f, "two", 0, 0, 2);
    test_onnx_tensor(f, "small", 0, 0, 1e-5F);
    test_onnx_tensor(f, "one", 0, 0, 1);
    test_onnx_tensor(f, "half", 0, 0, 0.5F);
    test_onnx_tensor(f, "root_two", 0, 0, 1.41421356F);
    test_onnx_tensor(f, "cube", 0, 0, 3);
    test_onnx_tensor(f, "slope", 0, 0, 0.044715F);
    test_onnx_tensor(f, "root", 0, 0, 0.7978845608F);
    test_onnx_integers(f, "first", zero, 1);
    test_onnx_integers(f, "heads", heads_shape, 4);
    test_onnx_integers(f, "flat", flat_shape, 3);
}
enum { NUMBERS = 8 };

static void encoder(test_onnx *f, int i, const char *source, const char *target) {
    char p[24], q[48], k[48], v[48];
    snprintf(p, sizeof p, "layer.%d", i);
    snprintf(q, sizeof q, "%s.query", p);
    snprintf(k, sizeof k, "%s.key", p);
    snprintf(v, sizeof v, "%s.value", p);
    linear(f, q, H, H, source, q);
    linear(f, k, H, H, source, k);
    linear(f, v, H, H, source, v);
    heads(f, q, "perm=0,2,1,3");
    heads(f, k, "perm=0,2,3,1");
    heads(f, v, "perm=0,2,1,3");
    node(f, p, "MatMul", "%.query_heads %.key_heads", "%_scores", NULL);
    node(f, p, "Div", "%_scores two", "%_scaled", NULL);
    node(f, p, "Add", "%_scaled mask_added", "%_masked", NULL);
    node(f, p, "Softmax", "%_masked", "%_shares", "axis=-1");
    node(f, p, "MatMul", "%_shares %.value_heads", "%_context", NULL);
    node(f, p, "Transpose", "%_context", "%_turned", "perm=0,2,1,3");
    node(f, p, "Reshape", "%_turned flat", "%_flat", NULL);
    char flat[48], out[48], sum[48], normed[48], wide[48], active[48], narrow[48], name[48];
    snprintf(flat, sizeof flat, "%s_flat", p);
    snprintf(out, sizeof out, "%s.output", p);
    snprintf(sum, sizeof sum, "%s_sum", p);
    snprintf(normed, sizeof normed, "%s_normed", p);
    snprintf(wide, sizeof wide, "%s.widen", p);
    snprintf(active, sizeof active, "%s_active", p);
    snprintf(narrow, sizeof narrow, "%s.narrow", p);
    linear(f, out, H, H, flat, out);
    char operands[120];
    snprintf(operands, sizeof operands, "%s %s", out, source);
    test_onnx_node(f, "Add", operands, sum, NULL);
    snprintf(name, sizeof name, "%s.norm1", p);
    norm(f, name, sum, normed);
    linear(f, wide, WIDE, H, normed, wide);
    gelu(f, wide, wide, active);
    linear(f, narrow, H, WIDE, active, narrow);
    snprintf(operands, sizeof operands, "%s %s", narrow, normed);
    snprintf(sum, sizeof sum, "%s_sum2", p);
    test_onnx_node(f, "Add", operands, sum, NULL);
    snprintf(name, sizeof name, "%s.norm2", p);
    norm(f, name, sum, target);
}

static void write_encoder(test_onnx *f) {
    numbers(f);
    test_onnx_input(f, "tokens", 0, tokens_shape, 2);
    test_onnx_input(f, "mask", 0, tokens_shape, 2);
    test_onnx_tensor(f, "words.weight", WORDS, H, 0);
    test_onnx_tensor(f, "places.weight", TOKENS, H, 0);
    const int64_t places[] = {0, 1, 2, 3, 4, 5, 6, 7};
    test_onnx_integers(f, "places", places, TOKENS);
    test_onnx_node(f, "Gather", "words.weight tokens", "looked", NULL);
    test_onnx_node(f, "Gather", "places.weight places", "placed", NULL);
    test_onnx_node(f, "Add", "placed looked", "sum", NULL);
    norm(f, "first", "sum", "normed"); /* after the integers "first": its parts have other names */
    test_onnx_node(f, "Cast", "mask", "mask_real", "to=1");
    test_onnx_node(f, "Sub", "one mask_real", "mask_added", NULL);
    encoder(f, 0, "normed", "encoded1");
    encoder(f, 1, "encoded1", "encoded2");
    test_onnx_node(f, "Gather", "encoded2 first", "token", "axis=1");
    linear(f, "pooler", H, H, "token", "pooled");
    test_onnx_node(f, "Tanh", "pooled", "active", NULL);
    test_onnx_tensor(f, "classifier.weight", 3, H, 0);
    test_onnx_tensor(f, "classifier.bias", 3, 0, 0);
    test_onnx_node(f, "Gemm", "active classifier.weight classifier.bias", "logits", "transB=1");
    test_onnx_output(f, "logits");
}

/* GPT-2's way: one product for queries, keys and values, GELU by tanh, the table as the output projection. */
static void write_decoder(test_onnx *f) {
    numbers(f);
    test_onnx_input(f, "tokens", 0, tokens_shape, 2);
    test_onnx_tensor(f, "words.weight", WORDS, H, 0);
    test_onnx_node(f, "Gather", "words.weight tokens", "looked", NULL);
    test_onnx_tensor(f, "norm.weight", H, 0, 0);
    test_onnx_tensor(f, "norm.bias", H, 0, 0);
    test_onnx_node(f, "LayerNormalization", "looked norm.weight norm.bias", "normed", "axis=-1");
    linear(f, "fused", 3 * H, H, "normed", "fused");
    test_onnx_node(f, "Split", "fused", "q k v", "axis=2");
    heads(f, "q", "perm=0,2,1,3");
    heads(f, "k", "perm=0,2,3,1");
    heads(f, "v", "perm=0,2,1,3");
    test_onnx_node(f, "MatMul", "q_heads k_heads", "scores", NULL);
    test_onnx_node(f, "Mul", "scores half", "scaled", NULL);
    test_onnx_node(f, "Cast", "tokens", "mask", "to=9");
    test_onnx_node(f, "Where", "mask scaled small", "masked", NULL);
    test_onnx_node(f, "Softmax", "masked", "shares", "axis=-1");
    test_onnx_node(f, "MatMul", "shares v_heads", "context", NULL);
    test_onnx_node(f, "Reshape", "context flat", "joined", NULL);
    linear(f, "output", H, H, "joined", "put");
    test_onnx_node(f, "Add", "looked put", "sum", NULL);
    linear(f, "widen", WIDE, H, "sum", "wide");
    test_onnx_node(f, "Pow", "wide cube", "p1", NULL);
    test_onnx_node(f, "Mul", "p1 slope", "p2", NULL);
    test_onnx_node(f, "Add", "wide p2", "p3", NULL);
    test_onnx_node(f, "Mul", "root p3", "p4", NULL);
    test_onnx_node(f, "Tanh", "p4", "p5", NULL);
    test_onnx_node(f, "Add", "p5 one", "p6", NULL);
    test_onnx_node(f, "Mul", "wide half", "p7", NULL);
    test_onnx_node(f, "Mul", "p7 p6", "active", NULL);
    linear(f, "narrow", H, WIDE, "active", "narrow");
    test_onnx_node(f, "Add", "sum narrow", "last", NULL);
    test_onnx_node(f, "Transpose", "words.weight", "turned", "perm=1,0");
    test_onnx_node(f, "MatMul", "last turned", "logits", NULL);
    test_onnx_output(f, "logits");
}

static uint64_t write_graph(void fill(test_onnx *), const char *name) {
    test_onnx f = {0};
    fill(&f);
    test_onnx_write(&f, test_in_folder(name));
    return f.elements;
}

static uint64_t count(const json_t *object, const char *key) {
    if (!json_is_integer(json_object_get(object, key))) fail_msg("no count under %s", key);
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* Built without the library, the program says so, and there is nothing to test. */
static bool cannot_read(void) {
    write_graph(write_decoder, "any.onnx");
    test_run run = test_program("model", test_in_folder("any.onnx"), "-o", test_in_folder("any.yaml"), NULL);
    bool cannot = run.status == 2 && strstr(run.err, "libprotobuf-c was not there");
    test_run_free(&run);
    if (cannot) print_message("SKIPPED: this build does not read ONNX files\n");
    return cannot;
}

static void import(const char *graph, const char *model, uint64_t elements, uint64_t dense, size_t layers) {
    json_t *told = test_program_json(0, "model", test_in_folder(graph), "--rank", "4", "-o",
                                     test_in_folder(model), "--json", NULL);
    assert_string_equal(json_string_value(json_object_get(told, "family")), "onnx");
    assert_int_equal(count(told, "layers"), layers);
    assert_int_equal(count(told, "left_out"), 0);
    assert_int_equal(count(told, "added"), 0);
    assert_int_equal(count(told, "dense_parameters"), dense);
    assert_int_equal(elements - NUMBERS + count(told, "padding"), dense);
    json_decref(told);
    json_t *cost =
        test_program_json(0, "cost", test_in_folder(model), "--set", "format=dense", "--json", NULL);
    assert_int_equal(count(cost, "parameters"), dense);
    json_decref(cost);
    json_t *ranks =
        test_program_json(0, "ranks", test_in_folder(model), "--weights", test_in_folder(graph), "--budget",
                          "params=90%", "--depth", "own", "--cap", "2,4,8", "--json", NULL);
    assert_true(json_array_size(json_object_get(ranks, "layers")) >= 6);
    json_decref(ranks);
}

static void graphs(void **state) {
    (void)state;
    if (cannot_read()) return;
    /* words (padded to 120), positions, norm; layers; pooler, three classes */
    uint64_t layer = 4 * (H * H + H) + 2 * H * WIDE + WIDE + H + 4 * H;
    uint64_t elements = write_graph(write_encoder, "encoder.onnx");
    import("encoder.onnx", "encoder.yaml", elements,
           (120 + TOKENS) * H + 2 * H + LAYERS * layer + H * H + H + 3 * H + 3, 3 + LAYERS * 12 + 4);
    /* words, which are the projection too and stay as they are; norm, products */
    elements = write_graph(write_decoder, "decoder.onnx");
    import("decoder.onnx", "decoder.yaml", elements, WORDS * H + layer - 2 * H, 13);
    char *text;
    size_t length;
    assert_int_equal(tn_file_read(test_in_folder("decoder.yaml"), 1 << 20, &text, &length, NULL), TN_OK);
    assert_non_null(strstr(text, "heads: 4"));
    assert_non_null(strstr(text, "kind: gelu"));
    assert_non_null(strstr(text, "tied: words"));
    assert_non_null(strstr(text, "columns: [16, 16]"));
    free(text);
}

/* One line that says what is wrong. */
static void refuse(void fill(test_onnx *), const char *says) {
    write_graph(fill, "wrong.onnx");
    test_run run = test_program("model", test_in_folder("wrong.onnx"), "-o", test_in_folder("w.yaml"), NULL);
    assert_int_equal(run.status, 2);
    if (!strstr(run.err, says) || strchr(run.err, '\n') != run.err + strlen(run.err) - 1)
        fail_msg("%s", run.err);
    test_run_free(&run);
}

static void unknown_operator(test_onnx *f) {
    numbers(f);
    test_onnx_input(f, "tokens", 0, tokens_shape, 2);
    test_onnx_tensor(f, "words.weight", WORDS, H, 0);
    test_onnx_node(f, "Gather", "words.weight tokens", "looked", NULL);
    test_onnx_node(f, "LSTM", "looked", "state", NULL);
    test_onnx_output(f, "state");
}

static void circle(test_onnx *f) {
    test_onnx_input(f, "x", 1, flat_shape, 3);
    test_onnx_node(f, "Add", "x later", "sooner", NULL);
    test_onnx_node(f, "Relu", "sooner", "later", NULL);
    test_onnx_output(f, "later");
}

static void twice(test_onnx *f) {
    test_onnx_input(f, "x", 1, flat_shape, 3);
    test_onnx_node(f, "Relu", "x", "y", NULL);
    test_onnx_node(f, "Relu", "x", "y", NULL);
    test_onnx_output(f, "y");
}

static void shared(test_onnx *f) {
    test_onnx_input(f, "tokens", 0, tokens_shape, 2);
    test_onnx_input(f, "others", 0, tokens_shape, 2);
    test_onnx_tensor(f, "words", WORDS, H, 0);
    test_onnx_node(f, "Gather", "words tokens", "x", NULL);
    test_onnx_node(f, "Gather", "words others", "y", NULL);
    test_onnx_node(f, "Add", "x y", "z", NULL);
    test_onnx_output(f, "z");
}

static void wrong_width(test_onnx *f) {
    test_onnx_input(f, "x", 1, flat_shape, 3);
    test_onnx_tensor(f, "w", H + 1, H, 0);
    test_onnx_node(f, "MatMul", "x w", "y", NULL);
    test_onnx_output(f, "y");
}

static void no_output(test_onnx *f) {
    test_onnx_input(f, "x", 1, flat_shape, 3);
    test_onnx_output(f, "nothing");
}

/* Attention without heads is one head; a head's width alone says how many there are. */
static void attention_only(test_onnx *f, const int64_t *shape, size_t axes) {
    test_onnx_input(f, "x", 1, flat_shape, 3);
    linear(f, "q", H, H, "x", "q");
    linear(f, "k", H, H, "x", "k");
    linear(f, "v", H, H, "x", "v");
    if (shape) test_onnx_integers(f, "shape", shape, axes);
    for (int i = 0; shape && i < 3; i++) { /* tokens come first, heads stand beside the examples */
        char source[16] = {"qkv"[i], ' ', 's', 'h', 'a', 'p', 'e', 0}, folded[8] = {'p', "qkv"[i], 0},
             target[8] = {'f', "qkv"[i], 0};
        test_onnx_node(f, "Reshape", source, folded, NULL);
        if (i != 1) test_onnx_node(f, "Transpose", folded, target, "perm=1,0,2");
    }
    test_onnx_node(f, "Transpose", shape ? "pk" : "k", "turned", shape ? "perm=1,2,0" : "perm=0,2,1");
    test_onnx_node(f, "MatMul", shape ? "fq turned" : "q turned", "scores", NULL);
    test_onnx_node(f, "Softmax", "scores", "shares", "axis=-1");
    test_onnx_node(f, "MatMul", shape ? "shares fv" : "shares v", "context", NULL);
    if (shape) {
        static const int64_t flat[] = {0, -1, H};
        test_onnx_integers(f, "flat", flat, 3);
        test_onnx_node(f, "Transpose", "context", "back", "perm=1,0,2");
        test_onnx_node(f, "Reshape", "back flat", "joined", NULL);
    }
    linear(f, "out", 3, H, shape ? "joined" : "context", "logits");
    test_onnx_output(f, "logits");
}

static void one_head(test_onnx *f) {
    attention_only(f, NULL, 0);
}

static void heads_by_width(test_onnx *f) {
    static const int64_t shape[] = {0, -1, H / 8};
    attention_only(f, shape, 3);
}

static void heads_are_counted(void **state) {
    (void)state;
    static const struct {
        void (*fill)(test_onnx *);
        const char *says;
    } row[] = {{one_head, "heads: 1,"}, {heads_by_width, "heads: 8,"}};
    if (cannot_read()) return;
    for (int i = 0; i < 2; i++) {
        char *text;
        size_t length;
        write_graph(row[i].fill, "attention.onnx");
        json_decref(test_program_json(0, "model", test_in_folder("attention.onnx"), "-o",
                                      test_in_folder("a.yaml"), "--json", NULL));
        assert_int_equal(tn_file_read(test_in_folder("a.yaml"), 1 << 20, &text, &length, NULL), TN_OK);
        if (!strstr(text, row[i].says)) fail_msg("%s", text);
        free(text);
    }
}

static void what_is_refused(void **state) {
    (void)state;
    if (cannot_read()) return;
    refuse(unknown_operator, "(LSTM) is no layer");
    refuse(circle, "\"later\", which nothing before it gives");
    refuse(twice, "gives \"y\" twice");
    refuse(shared, "two layers");
    refuse(wrong_width, "17 inputs for 16 features");
    refuse(no_output, "is given by no node");
}

static const char *odd_name;

static void odd(test_onnx *f) {
    char operands[64];
    test_onnx_input(f, "x", 1, flat_shape, 3);
    test_onnx_tensor(f, odd_name, H, H, 0);
    snprintf(operands, sizeof operands, "x %s", odd_name);
    test_onnx_node(f, "MatMul", operands, "y", NULL);
    test_onnx_output(f, "y");
}

/* Names that a model file can hold are found again; others are refused, and nothing is written. */
static void odd_names(void **state) {
    (void)state;
    if (cannot_read()) return;
    static const struct {
        const char *name;
        int status;
    } row[] = {{"plain", 0},      {"quote\"d", 0}, {"back\\slash", 0}, {"\xc3\xa9t\xc3\xa9", 0},
               {"line\nfeed", 0}, {"br{ce", 2},    {"{i}", 2},         {"b\xff", 2},
               {"{i+x}", 2}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        odd_name = row[i].name;
        write_graph(odd, "odd.onnx");
        remove(test_in_folder("odd.yaml"));
        test_run run =
            test_program("model", test_in_folder("odd.onnx"), "-o", test_in_folder("odd.yaml"), NULL);
        bool written = access(test_in_folder("odd.yaml"), F_OK) == 0;
        if (run.status != row[i].status) fail_msg("%s: status %d: %s", row[i].name, run.status, run.err);
        assert_int_equal(written, run.status == 0);
        test_run_free(&run);
        if (!written) continue;
        run = test_program("ranks", test_in_folder("odd.yaml"), "--weights", test_in_folder("odd.onnx"),
                           "--max-error", "0.5", "--minimise", "parameters", NULL);
        if (run.status > 1) fail_msg("%s: status %d: %s", row[i].name, run.status, run.err);
        test_run_free(&run);
    }
}

/* Every beginning of a file, and every byte of its first part changed: an error or a graph, nothing else. */
static void damaged(void **state) {
    (void)state;
    if (cannot_read()) return;
    test_onnx f = {0};
    shared(&f);
    tn_buffer whole = test_onnx_finish(&f);
    for (size_t length = 0; length < whole.length; length++) {
        tn_arrays *arrays = NULL;
        assert_int_not_equal(tn_arrays_open_memory("part.onnx", whole.data, length, &arrays, NULL), TN_OK);
    }
    for (size_t i = 0; i < 96; i++)
        for (int bit = 0; bit < 8; bit++) {
            tn_arrays *arrays;
            whole.data[i] = (char)(whole.data[i] ^ 1 << bit);
            if (tn_arrays_open_memory("bits.onnx", whole.data, whole.length, &arrays, NULL) == TN_OK)
                tn_arrays_close(arrays);
            whole.data[i] = (char)(whole.data[i] ^ 1 << bit);
        }
    tn_buffer_free(&whole);
}

/* Values in a file beside the model. */
static void external_values(void **state) {
    (void)state;
    if (cannot_read()) return;
    static const float values[] = {9, 9, 1, 2, 3, 4};
    static const struct {
        const char *location, *offset, *says;
    } row[] = {{"values.bin", "8", NULL},
               {"values.bin", "12", "needs 16 bytes"},
               {"values.bin", "0x10", "\"0x10\""},
               {"values.bin", "garbage", "\"garbage\""},
               {"values.bin", "", "no number of bytes"},
               {"values.bin", "-8", "\"-8\""},
               {"values.bin", "8 ", "\"8 \""},
               {"values.bin", "1e1", "\"1e1\""},
               {"values.bin", "99999999999999999999", "no number of bytes"},
               {"nowhere.bin", "0", "nowhere.bin"},
               {"../values.bin", "0", "no file beside it"}};
    assert_int_equal(tn_file_write(test_in_folder("values.bin"), values, sizeof values, NULL), TN_OK);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_buffer tensor = {0}, graph = {0}, model = {0};
        const char *const pair[][2] = {{"location", row[i].location}, {"offset", row[i].offset}};
        test_onnx_number(&tensor, 1, 4);
        test_onnx_number(&tensor, 2, 1);
        test_onnx_bytes(&tensor, 8, "w", 1);
        test_onnx_number(&tensor, 14, 1);
        for (int k = 0; k < 2; k++) {
            tn_buffer entry = {0};
            test_onnx_bytes(&entry, 1, pair[k][0], strlen(pair[k][0]));
            test_onnx_bytes(&entry, 2, pair[k][1], strlen(pair[k][1]));
            test_onnx_bytes(&tensor, 13, entry.data, entry.length);
            tn_buffer_free(&entry);
        }
        test_onnx_bytes(&graph, 5, tensor.data, tensor.length);
        test_onnx_number(&model, 1, 8);
        test_onnx_bytes(&model, 7, graph.data, graph.length);
        assert_int_equal(tn_file_write(test_in_folder("external.onnx"), model.data, model.length, NULL),
                         TN_OK);
        tn_arrays *arrays;
        tn_error error = {0};
        double read[4];
        tn_status status = tn_arrays_open(test_in_folder("external.onnx"), &arrays, &error);
        if (row[i].says) {
            assert_int_equal(status, TN_INPUT);
            if (!strstr(error.message, row[i].says) && !strstr(error.file, row[i].says))
                fail_msg("%s", error.message);
        } else {
            assert_int_equal(status, TN_OK);
            assert_int_equal(tn_arrays_read(arrays, 0, read, &error), TN_OK);
            for (int k = 0; k < 4; k++) assert_true(read[k] == k + 1);
            tn_arrays_close(arrays);
        }
        tn_buffer_free(&tensor);
        tn_buffer_free(&graph);
        tn_buffer_free(&model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs),  cmocka_unit_test(heads_are_counted), cmocka_unit_test(what_is_refused),
        cmocka_unit_test(damaged), cmocka_unit_test(external_values),   cmocka_unit_test(odd_names),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
