/* A model file being written from what was found in another file: its layers line by line, the weights that they need, and
 * where each matrix lies (docs/model-file.md). A matrix that folds gets an entry of `weights`, one for each size. */
#ifndef TN_RANKS_MODEL_TEXT_H
#define TN_RANKS_MODEL_TEXT_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the matrices of an imported model are folded: into two to four factors a side, of which the largest is least. */

enum { TN_IMPORT_FACTORS_MOST = 4 };

/* The least vocabulary from `vocabulary` on that folds into three factors beside `width`; itself where none is near. */
uint64_t tn_import_padded(uint64_t vocabulary, uint64_t width);

enum { TN_MODEL_TEXT_SHAPES_MOST = 64 };

typedef struct tn_model_text {
    uint64_t rank;      /* of the weights in cores */
    const char *indent; /* of the layers' lines: "  ", in a block "      " */
    size_t shapes;
    struct {
        uint64_t rows, columns;
        bool table;
    } shape[TN_MODEL_TEXT_SHAPES_MOST];
    tn_buffer layers, mapping;
} tn_model_text;

void tn_model_text_begin(tn_model_text *text, uint64_t rank);
void tn_model_text_free(tn_model_text *text);

/* A layer of a kind that has no keys but `input`, which may be NULL (the layer before). */
void tn_model_text_layer(tn_model_text *text, const char *name, const char *kind, const char *input);
/* y = W x + b, W m x n; `tied` NULL, or the embedding whose table W is. */
void tn_model_text_linear(tn_model_text *text, const char *name, uint64_t m, uint64_t n, bool bias,
                          const char *input, const char *tied);
/* `whole`: the table stays dense. */
void tn_model_text_embedding(tn_model_text *text, const char *name, uint64_t vocabulary, uint64_t width,
                             bool whole);
/* kv_heads: as many as heads where none are shared. */
typedef struct tn_model_text_heads {
    uint64_t heads, kv_heads;
    bool causal;
} tn_model_text_heads;
void tn_model_text_attention(tn_model_text *text, const char *name, const tn_model_text_heads *heads,
                             const char *query, const char *key, const char *value);
/* A layer of kind rms-norm over each of the heads of its input. */
void tn_model_text_head_norm(tn_model_text *text, const char *name, uint64_t heads, const char *input);
void tn_model_text_rotary(tn_model_text *text, const char *name, uint64_t heads, double base,
                          const char *input);
/* Down and across, as a file's conv layer has them (docs/model-file.md). */
typedef struct tn_model_text_window {
    const uint64_t *picture, *kernel, *stride, *padding;
} tn_model_text_window;
void tn_model_text_conv(tn_model_text *text, const char *name, uint64_t m, uint64_t n,
                        const tn_model_text_window *window, bool bias, const char *input);
/* A mixture of gated experts at an even load, `width` features in and out. */
typedef struct tn_model_text_moe {
    uint64_t experts, top, hidden, width;
    const char *activation;
    bool bias;
} tn_model_text_moe;
void tn_model_text_experts(tn_model_text *text, const char *name, const tn_model_text_moe *moe);
/* Kind residual or multiply. */
void tn_model_text_pair(tn_model_text *text, const char *name, const char *kind, const char *a,
                        const char *b);
void tn_model_text_residual(tn_model_text *text, const char *name, const char *a, const char *b);
void tn_model_text_input(tn_model_text *text, const char *name, uint64_t width);

/* Where a layer's matrix lies; `more`: further keys, ", padded: true". */
void tn_model_text_map(tn_model_text *text, const char *layer, const char *tensor, const char *more);

/* Appends the weights, the layers and the mapping to what stands in `out`. */
tn_status tn_model_text_finish(const tn_model_text *text, const char *convention, tn_buffer *out,
                               tn_error *error);

#endif
