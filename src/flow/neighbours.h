/* Finished sets of a plain network (tn_problem_is_plain), found by the index that leads to them. Internal to
 * the room.
 *
 * Each inner group is on two tensors, so what a set can merge with over a group holds the other tensor and has the
 * group open too: one list per group and side, in the order in which sets were finished.
 *
 * Most sets of a list overlap with the set that asks, or share so little with it that their merge is too large. A page of
 * a list therefore has columns, a bit for every set of the page: who holds a tensor, who has a group open, whose elements
 * take how many bits. A few operations on whole columns leave the sets that are worth a look. Columns
 * are made when a list is read that far; its last few sets wait for theirs, and a short list has none. */
#ifndef TN_FLOW_NEIGHBOURS_H
#define TN_FLOW_NEIGHBOURS_H

#include "base/error.h"
#include "base/memory.h"
#include "flow/problem.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_neighbour {
    uint64_t set, open;
    uint64_t key;    /* what the set was finished at: never falls along a list */
    uint64_t beyond; /* the least that a tree costs with it, but for what consuming it adds */
    uint64_t size;
    uint32_t node;
    bool apart; /* an outer product */
} tn_neighbour;

enum {
    TN_NEIGHBOUR_WORDS = 8,
    TN_NEIGHBOUR_PAGE = 64 * TN_NEIGHBOUR_WORDS,
    TN_NEIGHBOUR_LENGTHS = 65,
    TN_NEIGHBOUR_FACTORS = 3,
    TN_NEIGHBOURS_MANY = 128, /* a list that is read less far has no columns */
};

/* A bit for every set of a page. */
typedef struct tn_neighbour_column {
    uint64_t word[TN_NEIGHBOUR_WORDS];
} tn_neighbour_column;

typedef struct tn_neighbour_page {
    uint64_t least_key[TN_NEIGHBOUR_WORDS], least_beyond[TN_NEIGHBOUR_WORDS]; /* of the sets of each word */
    tn_neighbour_column holds[TN_PROBLEM_TENSORS];                            /* sets with the tensor */
    tn_neighbour_column opens[TN_PROBLEM_GROUPS];                             /* sets with the group open */
    tn_neighbour_column
        within[TN_NEIGHBOUR_LENGTHS]; /* [b] sets whose elements take at most b bits, as a number */
} tn_neighbour_page;

typedef struct tn_neighbour_list {
    uint32_t count, capacity;
    tn_neighbour *item;
    uint32_t filled;          /* how many have their bits in the columns */
    tn_neighbour_page **page; /* of the filled ones */
} tn_neighbour_list;

typedef struct tn_neighbours {
    uint32_t count;                               /* in all lists */
    tn_neighbour_list list[TN_PROBLEM_GROUPS][2]; /* [group][the set holds the later of its two tensors] */
} tn_neighbours;

/* Empties all lists, keeps the memory. */
void tn_neighbours_clear(tn_neighbours *neighbours);

/* Lists the set under each of `groups`, some of its open groups that are not in the output. */
tn_status tn_neighbours_add(tn_neighbours *neighbours, const tn_problem *problem, tn_neighbour item,
                            uint64_t groups, tn_arena *arena, tn_error *error);

/* Gives columns to the sets of the list up to the key, but for the last few; to none of fewer than
 * TN_NEIGHBOURS_MANY. */
tn_status tn_neighbours_fill(tn_neighbour_list *list, uint64_t key, tn_arena *arena, tn_error *error);

/* True if a set with the group open holds the later of the group's two tensors. */
static inline bool tn_neighbours_side(const tn_problem *problem, uint32_t group, uint64_t set) {
    return !(tn_lowest(problem->carriers[group]) & set);
}

/* A set that looks for others over one of its groups. */
typedef struct tn_neighbour_query {
    uint64_t set;
    uint64_t before; /* groups that no other may have open */
    uint64_t after;  /* open groups that another may share beside the one that it is looked for over */
    uint64_t key;    /* the other's at most */
    uint64_t most;   /* what the merge and the other's `beyond` may be together */
    /* [k] the elements of the merge over the other's, at least, where the two share at most k groups beside that one */
    uint64_t factor[TN_NEIGHBOUR_FACTORS];
} tn_neighbour_query;

/* The sets of the page that the query does not exclude. Others may be left that it would exclude. */
tn_neighbour_column tn_neighbour_candidates(const tn_neighbour_page *page, const tn_neighbour_query *query);

#endif
