/* Forward results that are made a second time in the backward pass instead of being kept: what checkpointing and
 * reversible blocks have in common.
 *
 * Layers belong to segments. What a segment's forward part takes from elsewhere is kept, and so is what the losses
 * read. All else that only later operations read is made again, by the same operations, right before the first of
 * them. Of a segment only what leads to something wanted runs again.
 *
 * A segment may end in a coupling, result = carry + branch. Its carry is not kept either: behind the branch, which is
 * made again, it is result - branch. The couplings of a chain are undone from the last to the first, as each needs
 * the carries of the next two.
 */
#ifndef TN_STEP_RECOMPUTE_H
#define TN_STEP_RECOMPUTE_H

#include "step/builder.h"

typedef struct tn_coupling {
    uint32_t chain;
    uint32_t branch; /* which operand of the segment's last operation, an addition, it is: 0 or 1 */
} tn_coupling;

typedef struct tn_recomputation {
    uint32_t segments;
    const uint32_t *segment_of; /* [layers]; TN_NONE: its arrays are kept */
    const tn_coupling *
        coupling; /* [segments], those of a chain in the order of the forward pass; NULL: no segment is one */
} tn_recomputation;

/* Forward operations that the list begins with. */
uint32_t tn_recompute_forward(const tn_operation *operation, uint32_t operations);

/* Writes the step's list anew, as tn_transformation.apply does. */
tn_status tn_recompute(tn_builder *b, const tn_operation *earlier, uint32_t operations,
                       const tn_recomputation *wanted);

/* What it would come to, without writing anything: scalar operations made a
 * second time, and elements that are kept for later operations of what the layers with of[layer] make, with those that
 * only what runs again wants of others. */
typedef struct tn_recompute_cost {
    uint64_t flops, kept_elements;
} tn_recompute_cost;

#endif
