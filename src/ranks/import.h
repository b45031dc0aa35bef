/* A model file from what people have: the arrays of a checkpoint by the names that published models give them
 * (ranks/tensor_names.h), the layers that they make, foldings for the matrices, and where each lies (ranks/checkpoint.h).
 * Models of the Llama family hold a language model, too, which is what `tenfold finetune` counts; where tokens are sent to
 * experts, layers that a training step of this program does not have, they are nothing else (finetune/language_model.h).
 *
 * The model's parameters, all dense, are those of the checkpoint: elements - constants - shared - left_out + padding + added.
 */
#ifndef TN_RANKS_IMPORT_H
#define TN_RANKS_IMPORT_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "text/arrays.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tn_import_head { TN_HEAD_AS_FOUND, TN_HEAD_CLASSIFIER } tn_import_head;

typedef struct tn_import_options {
    const char *name;   /* of the model */
    const char *config; /* config.json beside the checkpoint; NULL: none */
    const char *map;    /* names that are no published family's (ranks/name_map.h); NULL: they are */
    const char *from,
        *to; /* values of an ONNX graph between which it is taken; NULL: from its inputs, to its outputs */
    uint64_t heads, sequence, batch; /* 0: of the config or the checkpoint, else by custom */
    uint64_t rank;
    tn_import_head
        head; /* TN_HEAD_CLASSIFIER: two classes take the place of a language model's output projection */
} tn_import_options;

/* An array of the checkpoint, and the layer that it belongs to; NULL: none was recognised. */
typedef struct tn_imported_array {
    const tn_array_info *info;
    const char *layer;
} tn_imported_array;

enum { TN_IMPORT_NOTES = 16 };

typedef struct tn_import {
    const char *family; /* of ranks/tensor_names.h */
    uint64_t layers, hidden, vocabulary, heads;
    size_t arrays, recognised, notes;
    tn_imported_array *array;
    const char *note[TN_IMPORT_NOTES];
    uint64_t elements;       /* of all arrays */
    uint64_t constants;      /* of these: masks and numbers of positions, no parameters */
    uint64_t shared;         /* of these: a second copy of a table */
    uint64_t left_out;       /* of these: what the model has no layer for */
    uint64_t padding, added; /* what the model has beside them: rows of a padded vocabulary, a classifier */
} tn_import;

/* Opens what a model is made from: a checkpoint or a graph, or the config.json of a known family alone, whose arrays are those
 * that its checkpoint would have, without values (ranks/config_arrays.c); `options->config` is then the file itself. */
tn_status tn_import_open(const char *path, tn_import_options *options, tn_arena *arena, tn_arrays **arrays,
                         tn_error *error);

/* Appends the model file to `out`. Names of no family, arrays that are missing or of sizes that do not fit each other, and
 * a configuration of another model are TN_INPUT. Lives in `arena`. */
tn_status tn_import_model(tn_arrays *arrays, const char *path, const tn_import_options *options,
                          tn_arena *arena, tn_import *import, tn_buffer *out, tn_error *error);

#endif
