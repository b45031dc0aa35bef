/* Names that are no published family's: a file says which array is which layer's, and shapes propose it.
 *
 *     kind: names
 *     family: bert
 *     names:
 *       embedding: tok.weight
 *       query: "blocks.{i}.attn.wq"
 *
 * `family` is one of ranks/tensor_names.h: how layers follow each other is taken from it, names from here. {i} is the layer's
 * number, from 0 on; ".weight" behind a name may be left away, what stands before it too.
 */
#ifndef TN_RANKS_NAME_MAP_H
#define TN_RANKS_NAME_MAP_H

#include "base/buffer.h"
#include "base/memory.h"
#include "ranks/tensor_names.h"
#include "text/arrays.h"
#include "text/schema.h"

extern const tn_schema tn_name_map_schema;

/* *family = that of the file with its names. Lives in `arena`. */
tn_status tn_name_map_load(const char *path, tn_arena *arena, tn_tensor_family *family, tn_error *error);

/* Appends such a file for the arrays of a checkpoint: roles by shapes, and where several arrays have one shape by parts of names
 * ("query", "wq") and then by their order; comments say what was decided so. TN_INPUT where nothing repeats, as layers do, or
 * where no matrices of a width repeat. */
tn_status tn_name_map_propose(const tn_arrays *arrays, const char *path, tn_arena *arena, tn_buffer *out,
                              tn_error *error);

#endif
