/* What the exact search for least MACs (flow/exact.h) works on, and where lemma 2 of docs/flows.md leaves an outer
 * product of a plain network a chance. Internal to the room. */
#ifndef TN_FLOW_EXACT_ENGINE_H
#define TN_FLOW_EXACT_ENGINE_H

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "flow/bounds.h"
#include "flow/cut_bound.h"
#include "flow/neighbours.h"
#include "flow/pricing.h"
#include "flow/problem.h"
#include "flow/queue.h"

#include <stdbool.h>
#include <stdint.h>

/* A set of tensors and the best tree known for it. */
typedef struct tn_exact_node {
    uint64_t set, open;
    uint64_t cost;
    uint64_t size;    /* elements of its tensor */
    uint64_t largest; /* elements of the largest tensor made in its tree */
    uint64_t charged; /* elements of the charged tensors in the set (flow/bounds.h) */
    uint64_t ahead;   /* least cost of all merges that are not in its tree */
    uint32_t left, right;
    bool apart; /* an outer product: its parts share no index */
} tn_exact_node;

typedef enum tn_outer_rule { TN_OUTER_NEVER, TN_OUTER_BY_LEMMA, TN_OUTER_ALWAYS } tn_outer_rule;

typedef struct tn_exact_engine {
    const tn_problem *problem;
    const tn_pricing *pricing;
    tn_remaining_cost remaining; /* nothing under foreign prices, for it counts MACs */
    const tn_cut_bound *cuts;    /* NULL: none, or they don't apply */
    bool plain;
    tn_outer_rule outer;
    tn_arena *arena;
    tn_error *error;

    uint32_t nodes, node_capacity;
    tn_exact_node *node;
    tn_set_map number_of; /* from set to node */
    tn_queue waiting;

    /* Finished sets: of a plain network by their open groups, those without an output group also in `inner`,
     * smallest first; of others one after the other. */
    tn_neighbours neighbours;
    uint32_t inners, *inner;
    uint32_t done;
    uint64_t *done_set, *done_open;
    uint32_t *done_node;

    uint64_t bound; /* no tree that costs more is wanted */
    uint64_t largest_input, work, work_most;
    uint32_t nodes_most, links_most;
    uint32_t full; /* node of all tensors, or NONE */
} tn_exact_engine;

/* Lemma 2: the tensor that takes the outer product of two parts has so many elements at least, whatever the
 * parts (|A| |B| max(|A|, |B|) is least where they are alike). */
uint64_t tn_outer_least_taker(const tn_exact_node *apart);

/* True if lemma 2 lets `whole` take the outer product: it has all its indices and elements enough. */
bool tn_outer_takes(const tn_exact_node *whole, const tn_exact_node *apart);

/* True if lemma 2 lets some tensor of the network take the outer product. */
bool tn_outer_some_input_takes(const tn_exact_engine *e, const tn_exact_node *apart);

/* Lemma 2: the tensor D that takes both at once has at least so many elements. */
static inline uint64_t tn_outer_needed_partner(const tn_exact_node *a, const tn_exact_node *b) {
    return tn_saturating_mul(tn_saturating_mul(a->size, b->size), tn_greatest(a->size, b->size));
}

/* What the outer product, making such a D and taking both with it cost at least; a and b themselves apart. */
static inline uint64_t tn_outer_least(const tn_exact_node *a, const tn_exact_node *b, uint64_t need) {
    return tn_saturating_add(tn_saturating_mul(a->size, b->size), tn_saturating_add(need, need));
}

/* True if the outer product may be part of a tree within the bound, by what the two functions above say. */
bool tn_outer_may_pay(const tn_exact_engine *e, const tn_exact_node *a, const tn_exact_node *b, uint64_t need,
                      uint64_t least);

#endif
