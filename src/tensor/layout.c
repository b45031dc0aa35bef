#include "tensor/layout.h"

#include <stdbool.h>
#include <string.h>

static void add_axis(tn_layout *layout, uint32_t core, uint32_t label) {
    tn_core_axes *axes = &layout->core[core];
    axes->label[axes->count++] = (uint8_t)label;
    layout->carriers[label]++;
}

static void lay_chain(const tn_weight *weight, tn_layout *layout) {
    uint32_t modes = 2 * weight->d, bond = modes;
    layout->cores = modes;
    for (uint32_t k = 0; k < modes; k++) {
        bool closes = weight->format == TN_RING && k + 1 == modes;
        add_axis(layout, k, bond + k);
        add_axis(layout, k, k);
        add_axis(layout, k, closes ? bond : bond + k + 1);
    }
}

static void lay_matrix_chain(const tn_weight *weight, tn_layout *layout) {
    uint32_t d = weight->d, bond = 2 * d;
    layout->cores = d;
    for (uint32_t k = 0; k < d; k++) {
        add_axis(layout, k, bond + k);
        add_axis(layout, k, k);
        add_axis(layout, k, d + k);
        add_axis(layout, k, bond + k + 1);
    }
}

static void lay_tucker(const tn_weight *weight, tn_layout *layout, bool terms) {
    uint32_t modes = 2 * weight->d, bond = modes, core = modes, term = bond + modes;
    layout->cores = modes + 1;
    if (terms) add_axis(layout, core, term);
    for (uint32_t k = 0; k < modes; k++) {
        if (terms) add_axis(layout, k, term);
        add_axis(layout, k, k);
        add_axis(layout, k, bond + k);
        add_axis(layout, core, bond + k);
    }
}

/* Lays the inner nodes over modes [low, high), children first, and returns the label of its bond upwards. */
static uint32_t lay_node(const tn_weight *weight, tn_layout *layout, uint32_t low, uint32_t high) {
    uint32_t modes = 2 * weight->d, bond = modes;
    if (high - low == 1) return bond + low;
    uint32_t middle = low + (high - low + 1) / 2;
    uint32_t left = lay_node(weight, layout, low, middle), right = lay_node(weight, layout, middle, high);
    uint32_t core = layout->cores++, up = bond + core;
    add_axis(layout, core, left);
    add_axis(layout, core, right);
    if (high - low < modes) add_axis(layout, core, up);
    return up;
}

static void lay_tree(const tn_weight *weight, tn_layout *layout) {
    uint32_t modes = 2 * weight->d, bond = modes;
    layout->cores = modes;
    for (uint32_t k = 0; k < modes; k++) {
        add_axis(layout, k, k);
        add_axis(layout, k, bond + k);
    }
    lay_node(weight, layout, 0, modes);
}

static void lay_shared(const tn_weight *weight, tn_layout *layout) {
    uint32_t modes = 2 * weight->d;
    layout->cores = modes;
    for (uint32_t k = 0; k < modes; k++) {
        add_axis(layout, k, k);
        add_axis(layout, k, modes);
    }
}

static void lay_dense(const tn_weight *weight, tn_layout *layout) {
    layout->cores = 1;
    for (uint32_t k = 0; k < 2 * weight->d; k++) add_axis(layout, 0, k);
}

void tn_layout_of(const tn_weight *weight, tn_layout *layout) {
    uint32_t d = weight->d;
    memset(layout, 0, sizeof *layout);
    layout->labels = 2 * d + weight->rank_count;
    for (uint32_t k = 0; k < d; k++) {
        layout->size[k] = weight->m[k];
        layout->size[d + k] = weight->n[k];
    }
    for (uint32_t j = 0; j < weight->rank_count; j++) layout->size[2 * d + j] = weight->rank[j];
    switch (weight->format) {
    case TN_DENSE:
        lay_dense(weight, layout);
        break;
    case TN_TT:
    case TN_RING:
        lay_chain(weight, layout);
        break;
    case TN_TTM:
        lay_matrix_chain(weight, layout);
        break;
    case TN_TUCKER:
        lay_tucker(weight, layout, false);
        break;
    case TN_BLOCK_TERM:
        lay_tucker(weight, layout, true);
        break;
    case TN_HT:
        lay_tree(weight, layout);
        break;
    case TN_CP:
        lay_shared(weight, layout);
        break;
    }
}
