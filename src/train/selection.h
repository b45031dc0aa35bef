/* Sparse training: of a parameter's elements those of the greatest magnitude stay, so many; the others become zero. Of
 * equal ones the earlier stay. Internal to the room. */
#ifndef TN_TRAIN_SELECTION_H
#define TN_TRAIN_SELECTION_H

#include "train/kernels.h"

#include <stddef.h>

/* `mask` (NULL: not wanted) becomes 1 and 0. `scratch` has 2 x `elements`. 1 <= live <= elements. */
void tn_select_greatest(const tn_kernels *kernels, void *values, size_t elements, size_t live, void *mask,
                        double *scratch);

/* Elements that are not zero. */
size_t tn_count_live(const tn_kernels *kernels, const void *values, size_t elements, double *scratch);

#endif
