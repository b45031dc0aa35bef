/* What all steps of a model have in common, or differ in at most: which cores may meet in a memory, and which pools are the
 * same in every design. Bounds of parts rest on it (price/part_bounds.h). */
#ifndef TN_PRICE_PART_SURVEY_H
#define TN_PRICE_PART_SURVEY_H

#include "price/parts.h"

/* Cores of one size, and in how many layers there may be one. */
typedef struct tn_core_limit {
    uint64_t elements, word_bits;
    uint32_t role;
    uint32_t layers;
    uint32_t *most; /* [units + 1]: layers of each unit, over its options */
} tn_core_limit;

/* What all steps of a model have in common, or differ in at most: made of every step that parts are made of. */
typedef struct tn_part_survey {
    size_t limits, slots; /* open addressing; word_bits 0: empty */
    tn_core_limit *limit;
    bool begun;
    uint64_t pool[TN_ARRAY_ROLES]; /* digest of what a pool of that role is of, */
    bool differs[TN_ARRAY_ROLES];  /* which is not the same in all steps */
} tn_part_survey;
/* The limit of such cores; where there is none a place for one, whose word_bits are 0, or NULL. */
tn_core_limit *tn_core_limit_find(const tn_part_survey *survey, uint64_t elements, uint64_t word_bits,
                                  uint32_t role);

/* Adds the parting's step. What is kept lives in `arena`. */
tn_status tn_part_survey_add(tn_part_survey *survey, const tn_parting *parting, tn_arena *arena,
                             tn_error *error);

#endif
