/* What all steps of a model have in common, or differ in at most: which cores may meet in a memory, and which pools are the
 * same in every design. Bounds of parts rest on it (price/part_bounds.h). */
#ifndef TN_PRICE_PART_SURVEY_H
#define TN_PRICE_PART_SURVEY_H

#include "price/core_shares.h"
#include "price/parts.h"

/* What all steps of a model have in common, or differ in at most: made of every step that parts are made of. */
typedef struct tn_part_survey {
    tn_core_classes cores;
    bool begun;
    uint64_t pool[TN_ARRAY_ROLES]; /* digest of what a pool of that role is of, */
    bool differs[TN_ARRAY_ROLES];  /* which is not the same in all steps */
} tn_part_survey;

/* Adds the parting's step. What is kept lives in `arena`. */
tn_status tn_part_survey_add(tn_part_survey *survey, const tn_parting *parting, tn_arena *arena,
                             tn_error *error);

/* Has the parting know the classes of its step's cores; the step was added. Lives in `arena`. */
tn_status tn_part_survey_know(const tn_part_survey *survey, tn_parting *parting, tn_arena *arena,
                              tn_error *error);

#endif
