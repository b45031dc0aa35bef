/* A smaller network none of whose trees costs more, to bound networks that the exact search can't take.
 * Internal to the room.
 *
 * Leave out a tensor, or give an index size 1: every tree of the network is then one of what is left (without
 * the leaf, and without the merge that consumed it), and no merge of it spans more. So the least cost of what
 * is left, or any bound on it, bounds the network. Kept are the tensors with the most elements and, of the
 * indices between those, the largest. */
#ifndef TN_FLOW_RELAXATION_H
#define TN_FLOW_RELAXATION_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/problem.h"

/* *problem may have fewer than 2 tensors; it then bounds nothing. Outer products must be allowed in its
 * trees whatever the network's may do. Scratch memory comes from the arena. */
tn_status tn_relax(const tn_network *network, tn_arena *arena, tn_problem *problem, tn_error *error);

#endif
