/* A profile: what live elements do while a part of a tree is executed, boiled down to what matters for
 * interleaving it with other parts. Internal to the room.
 *
 * Executing the merges of a subtree in some order, the live intermediates go up to a hill and down to a
 * valley again and again. Only the segments (hill, valley) matter where the first hill is the highest of all,
 * its valley the lowest after it, and so on: hills fall, valleys rise, and the last valley is the size of the
 * subtree's result. Two subtrees are interleaved best by taking segments in falling order of hill - valley,
 * and so the best order of a tree over all topological orders follows bottom-up.
 * Source: J. W. H. Liu, "An application of generalized tree pebbling to sparse matrix factorization", SIAM J.
 * Algebraic Discrete Methods 8 (1987). The network's own tensors are always resident and not counted here.
 */
#ifndef TN_FLOW_PROFILE_H
#define TN_FLOW_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* Elements above what is resident. `first` and `last` are the ends of the list of merges executed in it. */
typedef struct tn_segment {
    uint64_t hill, valley;
    uint32_t first, last;
} tn_segment;

typedef struct tn_profile {
    uint32_t count;
    tn_segment *segment;
} tn_profile;

/* *out = the best profile of the merge `merge` that makes `elements` from the results of a and b (an empty
 * profile: an operand of the network, which is resident). out->segment has room for a.count + b.count + 1.
 * next[m] is the merge executed after m; NULL where the order is not asked for. False on overflow. */
bool tn_profile_merge(const tn_profile *a, const tn_profile *b, uint64_t elements, uint32_t merge,
                      uint32_t *next, tn_profile *out);

/* Most live elements above what is resident. */
static inline uint64_t tn_profile_peak(const tn_profile *profile) {
    return profile->count ? profile->segment[0].hill : 0;
}

/* True if whatever is executed beside b, having a in its place never needs more. Both end in one size. */
bool tn_profile_dominates(const tn_profile *a, const tn_profile *b);

#endif
