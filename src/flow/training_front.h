/* Training flows that are not worse than another in all three counts, as choices. Internal to the room. */
#ifndef TN_FLOW_TRAINING_FRONT_H
#define TN_FLOW_TRAINING_FRONT_H

#include "base/error.h"
#include "flow/training_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_training_candidate {
    uint64_t total_macs, saved_elements, peak_elements;
    uint32_t forward, backward; /* positions in the list of trees */
    uint64_t kept, shared;      /* masks over the backward tree's merges */
    const tn_set_pair *pair; /* not NULL: the backward pass along several trees; `kept` is over `forward` */
    uint32_t pairs;
} tn_training_candidate;

typedef struct tn_training_candidates {
    tn_training_candidate *item;
    size_t count, capacity;
} tn_training_candidates;

/* True if one of them is as good in all three counts. */
bool tn_training_candidates_cover(const tn_training_candidates *front, uint64_t total_macs,
                                  uint64_t saved_elements, uint64_t peak_elements);
/* Adds it unless it is covered, and drops what it covers. */
tn_status tn_training_candidates_add(tn_training_candidates *front, const tn_training_candidate *candidate,
                                     tn_error *error);
/* Fewest MACs first, then fewest saved, then lowest peak. */
void tn_training_candidates_sort(tn_training_candidates *front);
void tn_training_candidates_free(tn_training_candidates *front);

#endif
