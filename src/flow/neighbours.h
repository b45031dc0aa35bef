/* Finished sets of a plain network (tn_problem_is_plain), found by the index that leads to them. Internal to
 * the room. Each inner group is on two tensors, so what a set can merge with over a group holds the other
 * tensor and has the group open too: one list per group and side. */
#ifndef TN_FLOW_NEIGHBOURS_H
#define TN_FLOW_NEIGHBOURS_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/problem.h"

typedef struct tn_neighbour {
    uint64_t set;
    uint32_t node, next; /* next in the same list, TN_NEIGHBOUR_NONE at its end */
} tn_neighbour;

#define TN_NEIGHBOUR_NONE UINT32_MAX

typedef struct tn_neighbours {
    uint32_t count, capacity;
    tn_neighbour *item;
    uint32_t head[TN_PROBLEM_GROUPS][2]; /* [group][the set holds the later of its two tensors] */
} tn_neighbours;

/* Empties all lists, keeps the memory. */
void tn_neighbours_clear(tn_neighbours *neighbours);

/* Lists the set under each of `groups`, some of its open groups that are not in the output. */
tn_status tn_neighbours_add(tn_neighbours *neighbours, const tn_problem *problem, tn_neighbour item,
                            uint64_t groups, tn_arena *arena, tn_error *error);

/* True if a set with the group open holds the later of the group's two tensors. */
static inline bool tn_neighbours_side(const tn_problem *problem, uint32_t group, uint64_t set) {
    return !(tn_lowest(problem->carriers[group]) & set);
}

#endif
