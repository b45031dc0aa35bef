/* A model in which every layer has a weight of its own, so that each may get ranks of its own; and its file.
 *
 * Layers of the given model that name one entry of `weights` share its shape. Here each of them names an
 * entry called after the layer, encoder1-query for encoder1.query; in a repeated block a layer names one per
 * repetition. All else of the file stays as it is. When it is written, entries that came out equal are one
 * again.
 */
#ifndef TN_RANKS_OWN_WEIGHTS_H
#define TN_RANKS_OWN_WEIGHTS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "model/model.h"
#include "text/yaml.h"

/* *own = `model` with a weight for each layer, in the same order of layers. Lives in `arena`. */
tn_status tn_own_weights_make(const tn_model *model, tn_arena *arena, tn_model **own, tn_error *error);

/* Appends the model file of `own` with its weights as they stand. A weight of the original that all its
 * layers share still keeps its name. Format, folding, ranks and flow are written; entries are those of the
 * layers. */
tn_status tn_own_weights_write(const tn_model *model, tn_model *own, tn_arena *arena, tn_buffer *out,
                               tn_error *error);

#endif
