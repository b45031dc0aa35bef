/* A model file from a checkpoint: its arrays by the names that BERT-, DistilBERT-, ViT- and GPT-2-like models give them, the
 * layers that they make, foldings for the matrices, and where each lies (ranks/checkpoint.h). Llama-like ones have layers
 * that a training step of this program does not (grouped queries, gated feed-forward): they become a language model
 * (finetune/language_model.h).
 *
 * A matrix M x N is folded into two to four factors a side, of which the largest is least; outputs have theirs the greatest
 * first, inputs the least first. A vocabulary that does not fold is padded to the next size that does. */
#ifndef TN_RANKS_IMPORT_H
#define TN_RANKS_IMPORT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "text/arrays.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_import_options {
    const char *name;                /* of the model */
    const char *config;              /* config.json beside the checkpoint; NULL: none */
    uint64_t heads, sequence, batch; /* 0: of the config or the checkpoint, else by custom */
    uint64_t rank;
} tn_import_options;

/* An array of the checkpoint, and the layer that it belongs to; NULL: none was recognised. */
typedef struct tn_imported_array {
    const tn_array_info *info;
    const char *layer;
} tn_imported_array;

enum { TN_IMPORT_NOTES = 12 };

typedef struct tn_import {
    const char *family; /* "bert", "distilbert", "vit", "gpt2", "llama" */
    bool is_language_model;
    uint64_t layers, hidden, vocabulary, heads;
    size_t arrays, recognised, notes;
    tn_imported_array *array;
    const char *note[TN_IMPORT_NOTES];
} tn_import;

/* Appends the model file to `out`. Names of no family are TN_INPUT that lists some of them. Lives in `arena`. */
tn_status tn_import_model(const tn_arrays *arrays, const char *path, const tn_import_options *options,
                          tn_arena *arena, tn_import *import, tn_buffer *out, tn_error *error);

/* *factor[*count]: the best of two to four factors of n, ascending; false where the largest of all ways is over four times the
 * root that equal factors would be. For `count` > 0 only that many. */
bool tn_balanced_factors(uint64_t n, unsigned count, uint64_t factor[4]);

#endif
