/* One axis of a space: a key and the values it may take.
 *
 *   weights.NAME.folding   pairs of foldings (m, n)     {factors: [2, 3, 4], smallest: 4, largest: 48, pairs: all}
 *                                                       or a list of "12x8x8,8x8x12"
 *   weights.NAME.rank      one rank for all bonds       [2, 4, 8] or {from: 2, to: 48, step: 2}
 *   weights.NAME.format    formats                      [tt, ttm]
 *   weights.NAME.flow      names of flows               [right-to-left, optimal]
 *   layers.NAME.WHAT       the same four of one layer   (space/layer_choice.h)
 *   build.KEY              values of a key of the build [1, 2, 4], {from: 1, to: 64, times: 2}, [bram, uram]
 *   model, device          models, devices              [u50@user-area, zcu104]
 *   any other key          of the model file            a list of scalars
 */
#ifndef TN_SPACE_AXIS_H
#define TN_SPACE_AXIS_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/build.h"
#include "model/model.h"
#include "tensor/folding.h"
#include "tensor/weight.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_axis_kind {
    TN_AXIS_MODEL, /* names of models and of devices, as `model:` and `device:` of a space take them */
    TN_AXIS_DEVICE,
    TN_AXIS_MODEL_KEY, /* text values; the model is loaded anew with KEY=VALUE */
    TN_AXIS_FORMAT,
    TN_AXIS_FOLDING,
    TN_AXIS_RANK,
    TN_AXIS_FLOW,
    TN_AXIS_BUILD,
} tn_axis_kind;

/* How a table keeps the values: as whole numbers if all are, else as numbers if all are, else as text. */
typedef enum tn_axis_stored { TN_STORED_TEXT, TN_STORED_INTEGER, TN_STORED_REAL } tn_axis_stored;

typedef struct tn_folding_pair {
    tn_folding m, n;
} tn_folding_pair;

typedef struct tn_rank_list {
    uint32_t count; /* 0: one rank for all bonds */
    uint64_t rank[TN_RANKS_MOST];
} tn_rank_list;

typedef struct tn_axis {
    const char *key;
    tn_position position;
    tn_axis_kind kind;
    size_t weight; /* position in the model, for the kinds of weights */
    size_t more;   /* further weights that have the same value: tied layers */
    const size_t *more_weight;
    const tn_field *field; /* of tn_build, for builds */
    size_t count;          /* values */
    tn_folding_pair *folding;
    uint64_t *number; /* ranks, formats, flows, builds (a choice's place among the field's names) */
    tn_rank_list
        *rank_list; /* ranks: lists among the values, whose number is the greatest; NULL: none is one */
    tn_axis_stored stored;
    const char **text; /* model keys, and the names behind number where it is a name */
    bool settled;      /* no choice of the file: searched by itself (space/settle.h) */
} tn_axis;

/* Reads one entry of `choices:`; the model gives the weights' names and sizes. */
tn_status tn_axis_decode(const char *key, tn_position position, const tn_yaml *values, tn_model *model,
                         tn_arena *arena, tn_axis *choice, tn_error *error);

/* The same for a weight of the model and what of it varies: TN_AXIS_FORMAT, FOLDING, RANK or FLOW. */
tn_status tn_axis_decode_weight(const char *key, tn_position position, const tn_yaml *values, tn_model *model,
                                size_t weight, tn_axis_kind kind, tn_arena *arena, tn_axis *choice,
                                tn_error *error);

/* Whether the choice sets the format, folding, rank or flow of some weight, */
bool tn_axis_is_of_weight(const tn_axis *choice);
/* of that weight. */
bool tn_axis_varies(const tn_axis *choice, size_t weight);

/* Gives the weight all the ranks of a list among the values; TN_INPUT where its format and folding have others. */
tn_status tn_axis_set_ranks(const tn_axis *choice, size_t digit, tn_weight *weight, tn_error *error);

/* Value `digit` as text: "12x8x8,8x8x12", "12", "optimal". */
void tn_axis_value(const tn_axis *choice, size_t digit, tn_buffer *out);

/* Appends the tables of what a choice's values may be, for the page of the space file. */
void tn_axis_document(tn_buffer *out);

TN_PUBLIC_END

/* Foldings as the values of a choice: listed as texts, or every way to fold both sides into so many factors within
 * bounds. */

enum { TN_AXIS_VALUES_MOST = 1000000 }; /* of one choice */

/* Fills choice->folding and choice->count; `weight` says what its sides multiply to. */
tn_status tn_axis_decode_foldings(const tn_yaml *values, const tn_weight *weight, tn_arena *arena,
                                  tn_axis *choice, tn_error *error);

/* The table of the keys that describe foldings. */
void tn_axis_document_foldings(tn_buffer *out);

#endif
