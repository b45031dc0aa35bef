/* The products of a program on a kernel of given edges, as a search for layouts has them (layout/layouts.h): which axes its
 * tensors have, and how each product may be cut. All of it follows from program, sizes and edges, whatever banks and demands
 * there are, so that it is read once, and searches and bounds share it.
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

enum { TN_CUT_ROWS, TN_CUT_COLUMNS, TN_CUT_REDUCTION, TN_CUT_GROUPS };
enum { TN_OF_LEFT, TN_OF_RIGHT, TN_OF_RESULT, TN_OF_ALL };
enum { TN_CUTS_MOST = 8, TN_WORD_AXES = 3 };

/* How a group of indices is cut: an issue takes edge[k] consecutive values of index[k]. */
typedef struct tn_group_cut {
    uint32_t indices, index[TN_ISSUE_CUTS]; /* 0: the group is empty, or one value is taken of it */
    uint64_t edge[TN_ISSUE_CUTS];
    uint64_t blocks; /* that the group is cut into */
} tn_group_cut;

/* Ways to cut a group, at most TN_CUTS_MOST: those of the fewest blocks first. */
typedef struct tn_cut_choice {
    uint32_t count;
    const tn_group_cut *cut;
} tn_cut_choice;

/* An index that some cut goes along: words of 2^whole_log values hold every block along it whole, and so do wider ones. */
typedef struct tn_cut_index {
    uint32_t index, whole_log;
} tn_cut_index;

/* A product's operand, or its result. */
typedef struct tn_searched_operand {
    uint32_t tensor;
    uint32_t block_log; /* of the largest block that the product may ask for */
    /* Cuts of the first and second of its groups as its blocks take them: of weights, and of sums that rested, a systolic
     * array takes one row after the other, however the group is cut. */
    const tn_group_cut *block[2];
    uint32_t indices;
    const tn_cut_index *index; /* [indices]: that some cut of its blocks goes along */
} tn_searched_operand;

typedef struct tn_searched_product {
    tn_searched_operand operand[TN_OF_ALL];
    uint64_t batch;
    tn_array_pass pass;
    uint64_t cells[2]; /* rows and columns of the array */
    tn_cut_choice group[TN_CUT_GROUPS];
} tn_searched_product;

typedef struct tn_searched_tensor {
    uint32_t axes;
    const uint32_t *axis; /* [axes]: indices of more than one value */
    uint32_t room_log;    /* of the largest word that it fills */
    /* The core whose gradient it is, of the gradient of X (is_first) X; else itself. */
    uint32_t gradient_of;
    bool is_first;
} tn_searched_tensor;

typedef struct tn_layout_problem {
    const tn_program *program;
    const uint64_t *size;    /* [program->indices] */
    const uint8_t *size_log; /* [program->indices]: of the least power of two that covers it */
    tn_kernel_edges edges;
    const tn_searched_tensor *tensor; /* [program->tensors] */
    tn_searched_product *product;     /* [program->steps]: those that were read */
} tn_layout_problem;

/* TN_LIMIT where a tensor has more axes than TN_LAYOUT_AXES. What is read lives in `arena`. */
tn_status tn_layout_problem_read(const tn_program *program, const tn_kernel_edges *edges, tn_arena *arena,
                                 tn_layout_problem *problem, tn_error *error);
/* The same without products, which a bound reads one by one. like: a problem of the same program, whose tensors it shares; or
 * NULL. */
tn_status tn_layout_problem_begin(const tn_program *program, const tn_kernel_edges *edges,
                                  const tn_layout_problem *like, tn_arena *arena, tn_layout_problem *problem,
                                  tn_error *error);
/* Reads a product that was not read yet; all of them. */
tn_status tn_layout_problem_product(tn_layout_problem *problem, uint32_t product, tn_arena *arena,
                                    tn_error *error);
tn_status tn_layout_problem_complete(tn_layout_problem *problem, tn_arena *arena, tn_error *error);
/* One product alone, with indices of other sizes than the program's; *product lives in `arena`. */
tn_status tn_searched_product_read(const tn_program *program, const uint64_t *size,
                                   const tn_kernel_edges *edges, const tn_program_step *step, tn_arena *arena,
                                   tn_searched_product *product, tn_error *error);

/* Of the gradient of a core, or of X, the core, or X, where it comes before; else the tensor itself. */
uint32_t tn_gradient_of(const tn_program *program, uint32_t tensor);

/* The tensor that it lies as under its demand: the core whose update goes through both word by word, or itself. */
uint32_t tn_searched_stands_for(const tn_layout_problem *problem, uint32_t tensor,
                                const tn_layout_demand *demand);

/* Whether other layers want the tensor, too, in words that its demand says. */
bool tn_searched_is_shared(const tn_layout_problem *problem, uint32_t tensor, const tn_layout_demand *demand);

/* The two groups that an operand's blocks are cut along, as kernel/issue.h orders them. */
extern const int tn_cut_directions[TN_OF_ALL][2];

#endif
