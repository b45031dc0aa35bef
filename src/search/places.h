/* The choices of a build that say where memories lie, apart from the others: designs that differ in those alone do the same
 * work, so one bound holds for all of them (tn_evaluate_places_bound). Inside the room. */
#ifndef TN_SEARCH_PLACES_H
#define TN_SEARCH_PLACES_H

#include "memory/placement.h"
#include "space/space.h"

/* The choices of a build, dealt out. Split and placement make the kinds of places: each kind has a bound of its own. */
enum { TN_PLACE_KINDS_MOST = (TN_SPLIT_AUTO + 1) * (TN_PLACE_SEARCHED + 1) };
typedef struct tn_place_axes {
    size_t works, kinds, places; /* choices of each sort; where they stand among the space's: */
    size_t work[TN_AXES_MOST], kind[2], place[TN_AXES_MOST];
    uint64_t work_count, kind_count, place_count;  /* combinations of each sort */
    uint64_t designs;                              /* of each combination of works */
    uint64_t group[TN_BUILD_GROUP_MOST];           /* that some build asks for, rising */
    tn_place_options any;                          /* of all places; */
    tn_place_options of_kind[TN_PLACE_KINDS_MOST]; /* of those of a kind */
} tn_place_axes;

void tn_place_axes_of(const tn_space *space, const tn_build *base, tn_place_axes *axes);

/* The inner combination of the space whose works, kinds and places have those numbers. */
uint64_t tn_place_axes_inner(const tn_place_axes *axes, const tn_space *space, uint64_t work, uint64_t kind,
                             uint64_t place);

/* Whether a design of a lesser id costs the same: where places are searched, styles and groups say nothing. Not where
 * constraints may ask for them. */
bool tn_place_repeats(const tn_space *space, const tn_build *build);

#endif
