/* The best contraction tree of a network, exactly where that is possible (docs/flows.md says how and proves
 * what it relies on). Outer products are allowed unless `no_outer`. The search's own memory is an arena that
 * is gone when it returns; results live in the caller's arena. Equal input gives equal output: what limits a
 * search is counted work, never time.
 *
 * Objectives: least MACs (ties: the smaller largest intermediate, exactly, where `exact`); least peak live
 * elements over all trees and all execution orders (ties: fewer MACs); least price.
 */
#ifndef TN_FLOW_SEARCH_H
#define TN_FLOW_SEARCH_H

#include "base/arena.h"
#include "base/error.h"
#include "base/public.h"
#include "flow/search_result.h"
#include "flow/tree.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

/* options NULL: least MACs, outer products allowed. TN_INPUT where no_outer forbids every tree; TN_OVERFLOW
 * where every tree found is past 64 bits. */
tn_status tn_search(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                    tn_search_result *result, tn_error *error);

/* Every tree on the front of (macs, peak_elements), fewest MACs first; one tree per point. With
 * max_live_elements only the points within it (possibly none). The objective is not looked at. */
typedef struct tn_tree_front {
    size_t count;
    tn_search_result *item;
    bool exact; /* nothing is missing and nothing dominated */
    tn_stop stop;
} tn_tree_front;
tn_status tn_search_front(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                          tn_tree_front *front, tn_error *error);

/* Every tree there is, outer products among them unless no_outer: `visit` is called with each in its best
 * execution order; its failure ends the walk. TN_LIMIT for more than 8 tensors (135,135 trees). */
typedef tn_status (*tn_tree_visitor)(void *user, const tn_tree *tree, const tn_tree_cost *cost,
                                     tn_error *error);
tn_status tn_search_every_tree(const tn_network *network, const tn_search_options *options,
                               tn_tree_visitor visit, void *user, tn_error *error);

TN_PUBLIC_END

#endif
