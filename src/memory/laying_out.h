/* Layouts of a step while they are found. Inside the room. */
#ifndef TN_MEMORY_LAYING_OUT_H
#define TN_MEMORY_LAYING_OUT_H

#include "memory/laid.h"

typedef struct tn_layer_out {
    tn_laid_step *laid_step;
    const tn_step *step;
    const tn_laid_arrays *arrays;
    const tn_map *map;
    const tn_laid_kinds *kinds;
    const tn_build *build;
    tn_arena *arena;
    tn_error *error;
    tn_laid *laid;
    const uint8_t *row_log; /* [memories] */
    uint32_t widest_log;    /* of the terms or columns that the kernel takes, whichever are more */
} tn_layer_out;

/* What a step is laid out with, layer by layer. */
struct tn_laid_begun {
    tn_layer_out layout;
    tn_build build;  /* its own */
    uint64_t *depth; /* of each kind of arrays that are matrices */
};

/* The banking that a split of the build asks for. */
static inline tn_banking tn_split_banking(uint32_t split) {
    static const tn_banking banking[] = {[TN_SPLIT_PARTITION] = TN_BANKING_SKEW,
                                         [TN_SPLIT_RESHAPE] = TN_BANKING_WORD,
                                         [TN_SPLIT_BANKS] = TN_BANKING_ROWS,
                                         [TN_SPLIT_AUTO] = TN_BANKING_AUTO};
    return banking[split];
}

/* The edges of its matmul kernel. */
static inline tn_kernel_edges tn_build_edges(const tn_build *build) {
    return (tn_kernel_edges){build->rows, build->columns, build->reduction,
                             build->array == TN_ARRAY_SYSTOLIC};
}

/* Finds the bound of layers alone (TN_LAID_ALONE, memory/laid.h). */
tn_status tn_lay_alone(tn_layer_out *layout);

#endif
