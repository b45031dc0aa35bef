/* Where a model's trained weights lie: the key `checkpoint:` of a model file (docs/ranks.md), which says for
 * each layer the array that holds its matrix.
 *
 *     checkpoint:
 *       convention: rows-are-output
 *       tensors:
 *         - {layer: embedding, tensor: embeddings.weight}
 *         - {layer: "encoder{i}.query", tensor: "blocks.{i-1}.attention.qkv.weight", rows: [0, 768]}
 *         - {layer: "encoder{i}.narrow", cores: ["blocks.{i-1}.down.0", "blocks.{i-1}.down.1", ...]}
 *
 * {i} in a layer's name stands for a whole number, and {i}, {i-1}, {i+2} .. in its tensors for that number. A
 * layer that no entry names is looked for under its own name, with or without ".weight" behind it.
 */
#ifndef TN_RANKS_CHECKPOINT_H
#define TN_RANKS_CHECKPOINT_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "decompose/matrix_source.h"
#include "model/model.h"
#include "text/arrays.h"
#include "text/schema.h"

TN_PUBLIC_BEGIN

typedef struct tn_checkpoint {
    uint32_t convention;  /* tn_convention, of entries that say none */
    tn_item_list tensors; /* of a private struct */
} tn_checkpoint;

extern const tn_schema tn_checkpoint_schema;

/* From tn_model_checkpoint(model), which may be NULL. An entry that fits no layer of the model is TN_INPUT.
 */
tn_status tn_checkpoint_decode(const tn_yaml *node, const tn_model *model, tn_arena *arena,
                               tn_checkpoint *checkpoint, tn_error *error);

/* The source of a layer's matrix. Arrays that the file does not have are TN_INPUT. Lives in `arena`. */
tn_status tn_checkpoint_find(const tn_checkpoint *checkpoint, const char *layer, const tn_arrays *arrays,
                             tn_arena *arena, tn_matrix_source *source, tn_error *error);

/* Every array that the entries name for a layer of the model is there; the others are looked for when they are wanted. */
tn_status tn_checkpoint_check(const tn_checkpoint *checkpoint, const tn_model *model, const tn_arrays *arrays,
                              tn_arena *arena, tn_error *error);

TN_PUBLIC_END

#endif
