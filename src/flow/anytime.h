/* The search for what is too large to be proven: good trees, one after the other, best effort within counted
 * work. Internal to the room.
 *
 * Each round builds a tree greedily (the first without chance, later ones with growing noise), improves it by
 * exchanging every subtree of up to 8 parts by its exact optimum until nothing changes (subtree
 * reconfiguration), shakes it by simulated annealing over rotations, and reconfigures again. Networks of up
 * to TN_TENSORS_MOST tensors. Sources: Gray, Kourtis, "Hyper-optimized tensor network contraction", Quantum 5
 * (2021) for the mixture; Kirkpatrick, Gelatt, Vecchi, Science 220 (1983) for annealing.
 */
#ifndef TN_FLOW_ANYTIME_H
#define TN_FLOW_ANYTIME_H

#include "base/error.h"
#include "base/memory.h"
#include "flow/search.h"

/* What is summed over the merges. */
typedef enum tn_anytime_goal { TN_ANYTIME_MACS, TN_ANYTIME_ELEMENTS, TN_ANYTIME_PRICE } tn_anytime_goal;

typedef struct tn_anytime_options {
    tn_anytime_goal goal;
    bool no_outer;
    const tn_pricing *pricing; /* of TN_ANYTIME_PRICE */
    uint64_t seed;
    uint64_t rounds;
} tn_anytime_options;

/* Called with the tree of each round, merges in a valid order. */
typedef tn_status (*tn_anytime_visitor)(void *user, const tn_tree *tree, tn_error *error);

/* Ends early, without error, once tn_interrupted(). The network must have passed tn_network_check and have at
 * least 2 tensors. TN_INPUT where no_outer forbids every tree. */
tn_status tn_anytime_search(const tn_network *network, const tn_anytime_options *options,
                            tn_anytime_visitor visit, void *user, tn_error *error);

#endif
