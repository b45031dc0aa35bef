/* The axes of a weight's cores as labels: which core shares what with which. Internal to the room.
 *
 * Labels 0..2d-1 are the modes of W (m first), label 2d+j is the bond of rank[j]. The closing bond of a ring
 * has one label, that of rank[0]. */
#ifndef TN_TENSOR_LAYOUT_H
#define TN_TENSOR_LAYOUT_H

#include "tensor/weight.h"

enum { TN_CORES_MOST = 4 * TN_FACTORS_MOST, TN_LABELS_MOST = 2 * TN_FACTORS_MOST + TN_RANKS_MOST };

typedef struct tn_core_axes {
    uint8_t count, label[2 * TN_FACTORS_MOST + 1];
} tn_core_axes;

typedef struct tn_layout {
    uint32_t cores, labels;
    uint64_t size[TN_LABELS_MOST];
    uint8_t carriers[TN_LABELS_MOST]; /* how many cores have the label */
    tn_core_axes core[TN_CORES_MOST];
} tn_layout;

/* The weight must have passed tn_weight_check. */
void tn_layout_of(const tn_weight *weight, tn_layout *layout);

#endif
