/* The fewest rows of a memory that an array of a step takes whatever its layout (layout/layout_search.h): known of what the
 * program of one layer alone touches. Inside the room. */
#ifndef TN_PRICE_ARRAY_ROWS_H
#define TN_PRICE_ARRAY_ROWS_H

#include "memory/laid.h"
#include "price/workload_data.h"

typedef struct tn_array_rows {
    const uint64_t *
        *least;       /* [arrays]: by the logarithm of a row's elements; NULL: as many as the elements fill */
    uint64_t *slices; /* [arrays]: so many times */
} tn_array_rows;

/* Of the workload's step; lives in `arena`. */
tn_status tn_array_rows_find(tn_workload *workload, tn_arena *arena, tn_array_rows *rows, tn_error *error);

/* Rows of 2^log elements that the array takes at least. */
uint64_t tn_array_depth(const tn_array_rows *rows, const tn_step *step, uint32_t array, uint32_t log);

#endif
