/* The keys of a model file as tables, one schema for the file and one for an entry of `weights` (those of
 * layers: model/layer_kind.h), and the plain structs they decode into. What the keys mean together is judged
 * in graph.c.
 */
#ifndef TN_MODEL_MODEL_FILE_H
#define TN_MODEL_MODEL_FILE_H

#include "base/error.h"
#include "base/memory.h"
#include "model/precision.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_model_phase { TN_PHASE_TRAINING, TN_PHASE_INFERENCE, TN_PHASE_DECODE } tn_model_phase;
typedef enum tn_update_when { TN_UPDATE_END, TN_UPDATE_WRITE_BACK } tn_update_when;
typedef enum tn_outlier_scale { TN_OUTLIER_SCALE_SIGMA, TN_OUTLIER_SCALE_MSE } tn_outlier_scale;

typedef enum tn_weight_policy { TN_POLICY_AS_GIVEN, TN_POLICY_DENSE } tn_weight_policy;

typedef struct tn_weight_entry {
    const char *name;
    uint32_t format, flow;
    tn_count_list m, n, rank;
    tn_position format_at, m_at, n_at, rank_at, flow_at; /* line 0: absent */
} tn_weight_entry;

typedef struct tn_model_update {
    uint32_t when; /* tn_update_when */
} tn_model_update;

/* What the backward pass reads of a layer's forward results: kept; recomputed from what enters the block, or the layer;
 * recovered from what leaves a reversible block; or the first two as costs least within a budget. */
typedef enum tn_activation_policy {
    TN_ACTIVATIONS_KEEP,
    TN_ACTIVATIONS_RECOMPUTE,
    TN_ACTIVATIONS_RECOMPUTE_LAYERS,
    TN_ACTIVATIONS_REVERSIBLE,
    TN_ACTIVATIONS_OPTIMAL
} tn_activation_policy;

typedef struct tn_model_activations {
    uint32_t policy; /* tn_activation_policy */
    uint64_t segments, budget_bytes;
    tn_position policy_at, segments_at, budget_at; /* line 0: absent */
} tn_model_activations;
extern const tn_schema tn_block_activations_schema; /* the policy alone */

typedef enum tn_balance { TN_BALANCE_NONE, TN_BALANCE_PAIRS } tn_balance;
typedef enum tn_weight_selection { TN_SELECTION_MAGNITUDE, TN_SELECTION_ACCUMULATED } tn_weight_selection;
typedef struct tn_model_sparsity {
    double weights;                /* share that is live; 1: all */
    uint32_t selection;            /* tn_weight_selection */
    double initial_decay;          /* factor of W(0) after each step; 1: it stays */
    uint32_t balance;              /* tn_balance */
    uint64_t tiles, depth;         /* that wait for each other; operands ahead */
    double activations, gradients; /* shares that are zero */
    double efficiency;
    tn_position weights_at, selection_at;
} tn_model_sparsity;

/* Of every per + truly steps of a run, from step `warmup` on, the last `per` predict gradients instead of a backward
 * pass; none or 0 alone: none does. Of several each holds for an equal part of the run. */
typedef struct tn_model_predicted {
    tn_count_list per;
    tn_position per_at;
    uint64_t truly, predictor, warmup_steps;
    double rate;
} tn_model_predicted;

typedef struct tn_model_pruning {
    double tokens, heads; /* shares that stay */
} tn_model_pruning;
typedef struct tn_model_flat {
    uint64_t rows, block; /* products of at most so many rows, in blocks of so many columns; 0: none */
} tn_model_flat;
/* Clock and voltage that follow the work: a step takes this long. 0: neither. */
typedef struct tn_model_dvfs {
    double deadline_us, least_V;
} tn_model_dvfs;
typedef enum tn_cell { TN_CELL_SRAM, TN_CELL_EDRAM } tn_cell;
typedef struct tn_model_cells {
    uint32_t kind; /* tn_cell */
    double retention_us, refresh_pj;
    tn_position kind_at, retention_at, refresh_at; /* line 0: absent */
} tn_model_cells;

typedef struct tn_model_file {
    uint32_t kind, phase, optimizer, format, flow; /* phase: tn_model_phase */
    const tn_yaml *precision_node;
    tn_formats formats;
    tn_precision_schedule schedule;
    const char *name;
    uint64_t batch, sequence, examples;
    tn_item_list weights;   /* of tn_weight_entry */
    tn_item_list overrides; /* of tn_override (model/layer_weight.h) */
    tn_model_update update;
    tn_model_activations activations;
    tn_model_sparsity sparsity;
    tn_model_predicted predicted_gradients;
    tn_model_pruning pruning;
    tn_real_list exit;
    tn_model_flat flat_gemm;
    tn_model_dvfs dvfs;
    tn_model_cells memory;
    uint64_t outliers;
    uint32_t outlier_scale;     /* tn_outlier_scale */
    tn_text_list train, frozen; /* patterns */
    const tn_yaml *layers, *build, *checkpoint, *training, *language_model;
    tn_real_list ratio;
    tn_position name_at, train_at, frozen_at, ratio_at, exit_at, predicted_at;
} tn_model_file;

/* Steps that predict for every `truly` true ones where a run stands at `progress`, 0 to 1. */
uint64_t tn_predicted_per(const tn_model_predicted *predicted, double progress);
/* Share of the steps behind the warm-up that predict; 0: the model predicts no gradients. */
double tn_predicted_share(const tn_model_predicted *predicted);

tn_status tn_model_file_decode(const tn_yaml *root, tn_arena *arena, tn_model_file *file, tn_error *error);

/* Refuses names that paths can't hold: letters, digits, - and _, at least one. `what` is "layer", ... */
tn_status tn_model_name_check(const char *name, tn_position position, const char *what, tn_error *error);

/* Appends the tables of the keys above the layers. */
void tn_model_file_document(tn_buffer *out);

#endif
