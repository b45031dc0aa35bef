/* Branch and bound over the designs of a chunk: what a design costs at least whatever its layouts (tn_evaluate_bound)
 * decides whether it is priced as it is laid. What refuses the bound refuses the design, so only designs whose bound
 * nothing refuses are laid, those of the least bounds first: each that fits then refuses others. The front is that of
 * every design as laid.
 *
 * Where keys are settled (space/settle.h), designs that differ in where memories lie alone are a set: one bound holds for all
 * of them (search/places.h), and what refuses it refuses them all. Of a set that nothing refuses the bounds of each split
 * decide, then those of each design, at last with its work as laid, which the designs of a set and a split share.
 */
#ifndef TN_SEARCH_CHUNK_SEARCH_H
#define TN_SEARCH_CHUNK_SEARCH_H

#include "search/chunk.h"
#include "search/evaluator.h"

typedef struct tn_chunk_candidate tn_chunk_candidate;
struct tn_place_axes;
struct tn_kernel_floors;

/* What one thread works with. */
typedef struct tn_chunk_search {
    const tn_space *space;
    tn_evaluator *evaluator;
    tn_archive known;              /* designs as laid, of elsewhere: what they refuse is not laid */
    struct tn_place_axes *axes;    /* of the outer combination at hand */
    tn_chunk_candidate *candidate; /* sets whose bound nothing refuses */
    size_t candidates, capacity;
    tn_chunk_candidate *design; /* the same of the designs of one set */
    size_t designs, design_capacity;
    bool counts;                     /* each design by its own bound */
    struct tn_kernel_floors *floors; /* search/kernel_floor.h */
} tn_chunk_search;

tn_status tn_chunk_search_begin(const tn_space *space, bool counts, tn_chunk_search *search, tn_error *error);
void tn_chunk_search_free(tn_chunk_search *search);

/* Takes a feasible design as laid. */
typedef tn_status tn_chunk_keep(void *target, uint64_t id, const tn_evaluation *evaluation, tn_error *error);

/* Adds to *found, which is empty, how the chunk's bounds were judged and the front of its designs as laid, but for some that
 * search->known refuses. With `keep` every design whose bound fits is laid, counted as what it is then, and given to it
 * where that fits, too. */
tn_status tn_chunk_search_run(tn_chunk_search *search, const tn_chunk *chunk, tn_chunk_keep *keep,
                              void *target, tn_outcome *found, tn_error *error);

#endif
