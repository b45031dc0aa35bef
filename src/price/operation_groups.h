/* Operations of a step that take equally long under every build, wherever their arrays lie: of one class of work, on layers and arrays
 * of one kind (memory/laid_kinds.h). A step has hundreds of operations, and each group of them is timed once. Inside the room. */
#ifndef TN_PRICE_OPERATION_GROUPS_H
#define TN_PRICE_OPERATION_GROUPS_H

#include "memory/laid_kinds.h"
#include "price/workload_data.h"

/* Groups of products. */
typedef struct tn_product_groups {
    uint32_t count;
    uint32_t *first; /* [count]: an operation of each */
    uint64_t *size;  /* [count]: operations */
    /* Those first that took most cycles more than ideally when they were laid last; to begin with, those of the most
     * multiply-adds. Products for which depths are looked for come last. */
    uint32_t *heaviest;    /* [count] */
    uint64_t *more_cycles; /* [count]; 0: not laid yet, or to come last */
} tn_product_groups;

typedef struct tn_operation_groups {
    uint32_t count;
    uint32_t *first;           /* [count]: an operation of each */
    uint64_t *size;            /* [count]: operations */
    uint32_t *of_operation;    /* [step->operations] */
    struct tn_laid_time *time; /* [count]: scratch of price/work.c */
    tn_product_groups products;
    /* Of which the closer bound (TN_LAID_CLOSELY) tells none from another: only matrices are in a product's way, wherever all else of
     * its layer lies. */
    tn_product_groups bounded;
} tn_operation_groups;

tn_status tn_operation_groups_find(const tn_workload *workload, const tn_laid_arrays *arrays,
                                   const tn_laid_kinds *kinds, tn_arena *arena, tn_operation_groups *groups,
                                   tn_error *error);

#endif
