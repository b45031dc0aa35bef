/* What reading a graph shares between its values (ranks/onnx_layers.c) and its operators (ranks/onnx_operators.c). */
#ifndef TN_RANKS_ONNX_READER_H
#define TN_RANKS_ONNX_READER_H

#include "base/name_index.h"
#include "ranks/onnx_layers.h"
#include "ranks/onnx_layout.h"

enum { TN_ONNX_LIST_MOST = 8 };
#define TN_ONNX_HEADS_OPEN UINT64_MAX /* folded into heads, the graph does not say how many */

typedef enum tn_onnx_sort {
    TN_ONNX_DATA,       /* no weight has touched it: tokens, masks, shapes */
    TN_ONNX_NUMBER,     /* a constant scalar */
    TN_ONNX_TENSOR,     /* a constant */
    TN_ONNX_POSITIONS,  /* rows of a constant table that no token chooses */
    TN_ONNX_ACTIVATION, /* `row` of what `layer` gives */
    TN_ONNX_SCORES,     /* of the queries `layer` and the keys `key` */
    TN_ONNX_SHARES      /* their softmax */
} tn_onnx_sort;

typedef struct tn_onnx_known {
    tn_onnx_sort sort;
    bool of_tokens; /* TN_ONNX_DATA: an input of the graph has a part in its values */
    size_t array;   /* TN_ONNX_TENSOR, TN_ONNX_POSITIONS */
    bool turned;    /* TN_ONNX_TENSOR: transposed */
    uint32_t layer, key;
    tn_samples row;
    uint64_t heads; /* TN_ONNX_ACTIVATION that was folded into heads; 0: it was not */
    bool of_three;  /* and into queries, keys and values before that */
    size_t listed;  /* TN_ONNX_DATA: so many whole numbers, TN_ONNX_UNKNOWN where they are not known */
    int64_t list[TN_ONNX_LIST_MOST];
    tn_onnx_layout layout; /* of activations, scores, shares and what an input of the graph gives */
} tn_onnx_known;

typedef struct tn_onnx_reader {
    const tn_arrays *arrays;
    const tn_onnx *graph;
    const char *path;
    tn_arena *arena;
    tn_onnx_layers *layers;
    tn_name_index names; /* place in `value` by name */
    tn_onnx_known *value;
    size_t values;
    const tn_onnx_node *node; /* that is being read */
    bool keeps_on;            /* what a refused node gives is taken as an input, for how values lie */
    bool tokens_first;        /* inputs have tokens before examples */
    bool turn;                /* attention was found to go over what was taken for examples */
    tn_error *error;
} tn_onnx_reader;

/* TN_INPUT that names the node being read. */
tn_status tn_onnx_refuse(const tn_onnx_reader *r, const char *format, ...) TN_PRINTF(2, 3);

/* The node's operand i; one that is left away is data without values. */
const tn_onnx_known *tn_onnx_operand(const tn_onnx_reader *r, size_t i);
/* A value under a name of the graph. */
tn_status tn_onnx_name(tn_onnx_reader *r, const char *name, const tn_onnx_known *known);
/* Its output i is this. */
tn_status tn_onnx_give(tn_onnx_reader *r, size_t i, const tn_onnx_known *known);

const tn_array_info *tn_onnx_info(const tn_onnx_reader *r, size_t array);
/* What the array is as a constant. */
tn_status tn_onnx_constant(tn_onnx_reader *r, size_t array, tn_onnx_known *known);

/* Appends a layer; *out = what it gives. Names that are not set are the node's. */
tn_status tn_onnx_add(tn_onnx_reader *r, const tn_onnx_layer *layer, tn_onnx_known *out);
tn_status tn_onnx_add_simple(tn_onnx_reader *r, const char *kind, uint32_t start, tn_onnx_known *out);
/* Kind multiply of two activations, or residual. */
tn_status tn_onnx_add_pair(tn_onnx_reader *r, const char *kind, const tn_onnx_known *a,
                           const tn_onnx_known *b, tn_onnx_known *out);
/* Rows of a table of positions are added to every example alike. */
tn_status tn_onnx_add_positions(tn_onnx_reader *r, const tn_onnx_known *known, size_t array,
                                tn_onnx_known *out);
tn_status tn_onnx_add_linear(tn_onnx_reader *r, const tn_onnx_known *x, size_t array, bool turned,
                             uint64_t rows, uint64_t columns, tn_onnx_known *out);

/* What the operators make of what they take, each a node. */
tn_status tn_onnx_read_node(tn_onnx_reader *r);
tn_status tn_onnx_read_matmul(tn_onnx_reader *r), tn_onnx_read_gemm(tn_onnx_reader *r),
    tn_onnx_read_conv(tn_onnx_reader *r);

/* The layer whose output the value is; an error where it is a function of one that no layer is. */
tn_status tn_onnx_layer_of(const tn_onnx_reader *r, const tn_onnx_known *known, uint32_t *layer);

#endif
