/* The front over the builds of one step, by branch and bound over the keys of a build.
 *
 * Keys are fixed one after the other, by what they decide (price/build_set.h): first what runs side by side, and what a matmul kernel
 * is; then what the step is, the lanes that rows and words follow from, and banks; what is left are sets of builds that differ in
 * lanes of single vector kernels and in where memories lie alone. Of each set that has come about its bound says what none of its
 * builds goes below (tn_evaluate_set): what is too much for the caps and constraints, or beaten by a design that is known, goes
 * with all of them. The sets that are left come in the order of their bounds. Of each a closer bound is asked for, with every product
 * in its best layouts, then one with its work as laid, which its builds share; then of the lanes; then, with memories as laid, of
 * the places. What nothing refuses is priced, and refuses others. A closer bound lays products, the heaviest first, until they
 * take as many cycles as a design that is known refuses with all else of the set: most sets are refused by a few of them.
 *
 * The front is that of every build as priced: what a set's bound refuses, each of its designs is refused by, since ids of
 * the set are no lower than its first one's (front/archive.h).
 */
#ifndef TN_SEARCH_BUILD_SEARCH_H
#define TN_SEARCH_BUILD_SEARCH_H

#include "search/chunk.h"
#include "search/evaluator.h"

typedef struct tn_build_node tn_build_node;

typedef struct tn_build_search {
    const tn_space *space;
    tn_evaluator *evaluator; /* whose step stands */
    tn_archive *known;       /* designs of elsewhere */
    uint32_t axes;
    tn_build_axis axis[TN_BUILD_AXES_MOST]; /* the space's inner choices */
    uint32_t order[TN_BUILD_AXES_MOST];     /* in which they are fixed */
    tn_build_node *node;                    /* sets that nothing refuses */
    size_t nodes, capacity;
    bool only_bytes; /* of the objectives memories bear on on_chip_bytes alone */
    uint32_t deciders
        [TN_BUILD_AXES_MOST]; /* of each axis: those whose values say whether anything reads its key */
    bool
        skips_kernels; /* that are idle: no constraint asks for more of anything, and designs are not counted by prices */
    bool asks_keys;  /* some constraint may speak of keys of a build */
    bool has_bounds; /* some build of the space has one; else designs are counted by their prices */
} tn_build_search;

/* TN_LIMIT where there are too many choices of a build. has_bounds: some build of the space has one (tn_space_has_bounds). */
tn_status tn_build_search_begin(const tn_space *space, tn_evaluator *evaluator, tn_archive *known,
                                bool has_bounds, tn_build_search *search, tn_error *error);
void tn_build_search_free(tn_build_search *search);

/* Adds the front of the chunk's builds under outer combination `outer`, whose step stands, to *found, and how its sets were judged.
 * kernels: what those of every build take at least; NULL: nothing is known of them. */
tn_status tn_build_search_run(tn_build_search *search, const tn_chunk *chunk, uint64_t outer,
                              const tn_resources *kernels, tn_outcome *found, tn_error *error);

#endif
