/* The choices of a build that say where memories lie, apart from the others: designs that differ in those alone do the same
 * work, so one bound holds for all of them (tn_evaluate_places_bound). Inside the room. */
#ifndef TN_SEARCH_PLACES_H
#define TN_SEARCH_PLACES_H

#include "memory/placement.h"
#include "space/space.h"

/* The choices of a build, dealt out. */
typedef struct tn_place_axes {
    size_t works, places; /* choices of each kind; their places among the space's: */
    size_t work[TN_AXES_MOST],
        place[TN_AXES_MOST]; /* what the kernels do; where memories lie, the split last */
    size_t splits;           /* 1 where build.split is among the latter, else 0 */
    uint64_t work_count, place_count, split_count; /* combinations; place_count without the split */
    uint64_t designs;                              /* of each combination of works */
    uint64_t group[TN_BUILD_GROUP_MOST];           /* that some build asks for, rising */
    tn_place_options any;                          /* of all places; and by the split's digit: */
    tn_place_options of_split[TN_SPLIT_AUTO + 1];
} tn_place_axes;

void tn_place_axes_of(const tn_space *space, const tn_build *base, tn_place_axes *axes);

/* The inner combination of the space whose works, places and split have those numbers. */
uint64_t tn_place_axes_inner(const tn_place_axes *axes, const tn_space *space, uint64_t work, uint64_t place,
                             uint64_t split);

/* Whether a design of a lesser id costs the same: where places are searched, styles and groups say nothing. Not where
 * constraints may ask for them. */
bool tn_place_repeats(const tn_space *space, const tn_build *build);

#endif
