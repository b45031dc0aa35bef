/* The search for layouts of a program (layout/tensor_layout.h) as a problem: its tensors, its products, and how each product may
 * be cut.
 */
#ifndef TN_LAYOUT_LAYOUT_PROBLEM_H
#define TN_LAYOUT_LAYOUT_PROBLEM_H

#include "base/memory.h"
#include "kernel/issue.h"
#include "layout/layout_demand.h"
#include "program/program.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_LAYOUT_AXES = 64 };

typedef struct tn_kernel_edges {
    uint64_t rows, columns, reduction; /* R, C, P */
    uint64_t systolic; /* 1: an array of R x C cells, whose blocks are those of a product's pass */
} tn_kernel_edges;

/* What is made least: the cycles of products, tiles waiting to be written included; or first the cycles of issues, as if
 * results were written from a buffer while the next ones are computed. */
typedef enum tn_layout_goal { TN_LEAST_CYCLES, TN_LEAST_ISSUES } tn_layout_goal;
extern const char *const tn_layout_goal_names[]; /* "cycles", "issues"; ended by NULL */

enum { TN_CUT_ROWS, TN_CUT_COLUMNS, TN_CUT_REDUCTION, TN_CUT_GROUPS };
enum { TN_OF_LEFT, TN_OF_RIGHT, TN_OF_RESULT, TN_OF_ALL };
enum { TN_CUTS_MOST = 8, TN_WORD_AXES = 3 };

/* How a group of indices is cut: an issue takes edge[k] consecutive values of index[k]. */
typedef struct tn_group_cut {
    uint32_t indices, index[TN_ISSUE_CUTS]; /* 0: the group is empty, or one value is taken of it */
    uint64_t edge[TN_ISSUE_CUTS];
    uint64_t blocks; /* that the group is cut into */
} tn_group_cut;

/* Ways to cut a group, and the one that is taken. */
typedef struct tn_cut_choice {
    uint32_t count, taken;
    tn_group_cut cut[TN_CUTS_MOST];
} tn_cut_choice;

typedef struct tn_searched_product {
    uint32_t tensor[TN_OF_ALL]; /* those that stand for the operands */
    uint64_t batch, cost;
    tn_array_pass pass;
    uint64_t edge[TN_CUT_GROUPS]; /* of its blocks */
    uint64_t cells[2];            /* rows and columns of the array */
    uint64_t least;               /* that it may cost: every access one cycle */
    tn_cut_choice group[TN_CUT_GROUPS];
    /* Cycles of a block of each operand, by the cuts of the two groups that it is cut along. */
    uint32_t access[TN_OF_ALL][TN_CUTS_MOST][TN_CUTS_MOST];
} tn_searched_product;

typedef struct tn_searched_tensor {
    uint32_t axes, axis[TN_LAYOUT_AXES];
    uint32_t stands_for; /* itself, or the core whose gradient it is: that one's layout is its own */
    uint32_t least_log,
        row_log; /* of the largest block that a use may ask for; of the memory's row as it is */
    tn_layout_demand demand;
    tn_bank_kind kind;
    uint32_t bank_log;
    bool is_stale;       /* a neighbour in a product was laid anew */
    uint32_t uses, *use; /* products, each once */
    uint64_t least;      /* that they may cost together */
} tn_searched_tensor;

typedef struct tn_layout_search {
    const tn_program *program;
    tn_kernel_edges edges;
    uint32_t indices, tensors, products;
    const uint64_t *size; /* [indices] */
    tn_searched_tensor *tensor;
    tn_searched_product *product;
    uint8_t *log;   /* [tensors * indices]: of the word's edge along the index */
    uint64_t *skew; /* [tensors * indices] */
    uint64_t *turn; /* the same; 0: none (tn_shared_axis) */
    tn_bank_kind wanted;
    uint32_t widest_log;   /* of any tensor's block: no word is wider */
    uint64_t issue_weight; /* how often an issue's cycle counts for each that a tile waits to be written */
} tn_layout_search;

/* Of search->program on a kernel of search->edge; demand: NULL, or one for each tensor. Everything lives in `arena`. */
tn_status tn_layout_search_read(tn_layout_search *search, const tn_layout_demand *demand, tn_arena *arena,
                                tn_error *error);
/* Room for another search of the same sizes. */
tn_status tn_layout_search_room(tn_layout_search *search, tn_arena *arena, tn_error *error);

/* The two groups that an operand's blocks are cut along, as kernel/issue.h orders them. */
extern const int tn_cut_directions[TN_OF_ALL][2];
/* `cut`, of the first (0) or second (1) of them, as the operand's blocks take it: of weights, and of sums that rested, a
 * systolic array takes one row after the other. */
const tn_group_cut *tn_block_cut(const tn_searched_product *p, int side, int direction,
                                 const tn_group_cut *cut);

/* The product's cuts as taken. */
void tn_layout_search_cuts(const tn_searched_product *product, const tn_group_cut **cut);

#endif
