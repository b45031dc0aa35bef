/* The front of the designs of a chunk, by branch and bound over the builds of each of its steps (search/build_search.h); or, where
 * each of them is to be judged, kept or counted, design by design. */
#ifndef TN_SEARCH_CHUNK_SEARCH_H
#define TN_SEARCH_CHUNK_SEARCH_H

#include "search/build_search.h"
#include "search/chunk.h"
#include "search/evaluator.h"

struct tn_kernel_floors;

/* What one thread works with. */
typedef struct tn_chunk_search {
    const tn_space *space;
    tn_evaluator *evaluator;
    tn_archive known; /* designs of elsewhere: what they refuse is not laid */
    tn_build_search builds;
    bool counts; /* each design by its own bound */
    /* search/kernel_floor.h; NULL: no build of the space has a bound, and designs are counted by their prices */
    struct tn_kernel_floors *floors;
} tn_chunk_search;

tn_status tn_chunk_search_begin(const tn_space *space, bool counts, tn_chunk_search *search, tn_error *error);
void tn_chunk_search_free(tn_chunk_search *search);

/* Takes a feasible design as laid. */
typedef tn_status tn_chunk_keep(void *target, uint64_t id, const tn_evaluation *evaluation, tn_error *error);

/* Adds to *found, which is empty, how the chunk's designs were judged and their front, but for some that search->known refuses. With
 * `keep` every design whose bound fits is laid, counted as what it is then, and given to it where that fits, too. search->known
 * may grow between calls, not during one. */
tn_status tn_chunk_search_run(tn_chunk_search *search, const tn_chunk *chunk, tn_chunk_keep *keep,
                              void *target, tn_outcome *found, tn_error *error);

#endif
