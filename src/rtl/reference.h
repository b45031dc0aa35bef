/* The program's arithmetic in the hardware's order, on plain arrays: what the memories must hold at its end, bit for
 * bit. It knows the order of additions (groups of terms, the cut index fastest; within a group a tree) and nothing of
 * memories, layouts or tiles. */
#ifndef TN_RTL_REFERENCE_H
#define TN_RTL_REFERENCE_H

#include "base/error.h"
#include "rtl/design.h"

/* values[array] has the array's elements in C order of its axes; operations change them in turn. */
tn_status tn_rtl_reference_run(const tn_rtl_design *design, const uint64_t *index_size, float *const *values,
                               tn_error *error);

#endif
