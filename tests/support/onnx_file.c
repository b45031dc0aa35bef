#include "support/onnx_file.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, LENGTH = 2 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

static void varint(tn_buffer *out, uint64_t value) {
    do {
        unsigned char byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        tn_buffer_bytes(out, &byte, 1);
        value >>= 7;
    } while (value);
}

void test_onnx_number(tn_buffer *out, unsigned field, uint64_t value) {
    varint(out, field << 3 | VARINT);
    varint(out, value);
}

void test_onnx_bytes(tn_buffer *out, unsigned field, const void *bytes, size_t length) {
    varint(out, field << 3 | LENGTH);
    varint(out, length);
    tn_buffer_bytes(out, bytes, length);
}

static void text(tn_buffer *out, unsigned field, const char *value) {
    test_onnx_bytes(out, field, value, strlen(value));
}

/* Moves a message into a field. */
static void put(tn_buffer *out, unsigned field, tn_buffer *message) {
    test_onnx_bytes(out, field, message->data, message->length);
    tn_buffer_free(message);
}

void test_onnx_tensor(test_onnx *f, const char *name, uint64_t rows, uint64_t columns, float value) {
    tn_buffer tensor = {0};
    uint64_t count = (rows ? rows : 1) * (columns ? columns : 1);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (uint64_t i = 0; i < count; i++)
        values[i] = rows ? (float)sin(0.37 * (double)i + (double)name[0] + (double)strlen(name)) / 8 : value;
    if (rows) test_onnx_number(&tensor, 1, rows);
    if (columns) test_onnx_number(&tensor, 1, columns);
    test_onnx_number(&tensor, 2, 1);
    text(&tensor, 8, name);
    test_onnx_bytes(&tensor, 9, values, count * sizeof *values);
    put(&f->graph, GRAPH_INITIALIZER, &tensor);
    f->elements += count;
    free(values);
}

void test_onnx_integers(test_onnx *f, const char *name, const int64_t *values, size_t count) {
    tn_buffer tensor = {0}, packed = {0};
    test_onnx_number(&tensor, 1, count);
    test_onnx_number(&tensor, 2, 7);
    for (size_t i = 0; i < count; i++) varint(&packed, (uint64_t)values[i]);
    put(&tensor, 7, &packed);
    text(&tensor, 8, name);
    put(&f->graph, GRAPH_INITIALIZER, &tensor);
}

/* Each word of a text as a field. */
static void words(tn_buffer *out, unsigned field, const char *list) {
    while (*list) {
        size_t length = strcspn(list, " ");
        test_onnx_bytes(out, field, list, length);
        list += length + (list[length] == ' ');
    }
}

void test_onnx_node(test_onnx *f, const char *operator, const char * inputs, const char *outputs,
                    const char *attribute) {
    tn_buffer node = {0}, buffer = {0};
    words(&node, 1, inputs);
    words(&node, 2, outputs);
    text(&node, 4, operator);
    if (attribute) {
        const char *value = strchr(attribute, '=') + 1;
        test_onnx_bytes(&buffer, 1, attribute, (size_t)(value - attribute) - 1);
        if (!strchr(value, ',')) test_onnx_number(&buffer, 3, (uint64_t)strtoll(value, NULL, 10));
        for (const char *cursor = value; strchr(value, ',') && *cursor;
             cursor += strcspn(cursor, ","), cursor += *cursor == ',')
            test_onnx_number(&buffer, 8, (uint64_t)strtoll(cursor, NULL, 10));
        put(&node, 5, &buffer);
    }
    put(&f->graph, GRAPH_NODE, &node);
}

static void value(test_onnx *f, unsigned field, const char *name, int real, const int64_t *shape,
                  size_t axes) {
    tn_buffer info = {0}, type = {0}, tensor = {0}, dims = {0};
    for (size_t i = 0; i < axes; i++) {
        tn_buffer dim = {0};
        if (shape[i] > 0) test_onnx_number(&dim, 1, (uint64_t)shape[i]);
        put(&dims, 1, &dim);
    }
    test_onnx_number(&tensor, 1, real ? 1 : 7);
    put(&tensor, 2, &dims);
    put(&type, 1, &tensor);
    text(&info, 1, name);
    put(&info, 2, &type);
    put(&f->graph, field, &info);
}

void test_onnx_input(test_onnx *f, const char *name, int real, const int64_t *shape, size_t axes) {
    value(f, GRAPH_INPUT, name, real, shape, axes);
}

void test_onnx_output(test_onnx *f, const char *name) {
    value(f, GRAPH_OUTPUT, name, 1, NULL, 0);
}

tn_buffer test_onnx_finish(test_onnx *f) {
    tn_buffer model = {0};
    test_onnx_number(&model, 1, 8);
    put(&model, 7, &f->graph);
    return model;
}

void test_onnx_write(test_onnx *f, const char *path) {
    tn_buffer model = test_onnx_finish(f);
    assert_int_equal(tn_file_write_buffer(path, &model, NULL), TN_OK);
    tn_buffer_free(&model);
}
