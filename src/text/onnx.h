/* ONNX files (onnx.ai): a graph of operators and its constant tensors. The tensors are among the arrays of the file
 * (text/arrays.h) by their names: initializers, and the values of Constant nodes by the names of their outputs. The graph is here.
 *
 * A file is read whole, at most 2 GiB of it, as the format has it. Values kept in other files are read from beside the file.
 * A program built without libprotobuf-c refuses ONNX files and says so. */
#ifndef TN_TEXT_ONNX_H
#define TN_TEXT_ONNX_H

#include "text/arrays.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_ONNX_UNKNOWN = -1 }; /* a dimension that the file leaves open */

typedef struct tn_onnx_attribute {
    const char *name;
    float real;
    int64_t number;
    size_t numbers;
    const int64_t *list;
    const char *text;
    size_t tensor; /* position among the arrays, or TN_ONNX_NONE */
} tn_onnx_attribute;
#define TN_ONNX_NONE SIZE_MAX

typedef struct tn_onnx_node {
    const char *name, *operator, * domain; /* "" where there is none */
    size_t inputs, outputs, attributes;
    const char *const *input; /* "": an input that is left away */
    const char *const *output;
    const tn_onnx_attribute *attribute;
} tn_onnx_node;

/* A graph's input or output. */
typedef struct tn_onnx_value {
    const char *name;
    bool is_real; /* floating point */
    size_t axes;
    const int64_t *shape;
} tn_onnx_value;

typedef struct tn_onnx {
    size_t nodes, inputs, outputs, inners;
    const tn_onnx_node *node;
    const tn_onnx_value *input, *output,
        *inner; /* inner: values between, where the file tells their shapes */
} tn_onnx;

/* The version of the libprotobuf-c that reads them, or NULL: this program was built without. */
const char *tn_onnx_library(void);

/* The graph of an ONNX file that is open, or NULL: it is of another format. Lives as long as `arrays`. */
const tn_onnx *tn_arrays_graph(const tn_arrays *arrays);

/* Whole numbers of a small tensor (int64, at most `most` elements) as *count numbers; false where it is none. */
bool tn_onnx_integers(const tn_arrays *arrays, size_t position, size_t most, int64_t *values, size_t *count);

/* The attribute of that name, or NULL. */
const tn_onnx_attribute *tn_onnx_attribute_of(const tn_onnx_node *node, const char *name);

#endif
