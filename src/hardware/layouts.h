/* Layouts of the tensors of a layer's program on a matmul kernel: which axis of each index group every product
 * cuts, and which elements of every tensor lie together in a word.
 *
 * A product's rows, columns and terms are groups of indices. A kernel of R x C sums and P terms an issue cuts
 * one index of each group: an issue takes R consecutive values of one row index, P of one reduction index and
 * C of one column index, and one value of every other index; where no index of a group is long enough, it may
 * take 2^i values of one and the rest of another. So it reads a block of each operand, and at the
 * end of a sum writes one of the result, that are boxes in the tensors' own axes.
 *
 * A tensor's word is a box of 2^k elements, edges powers of two (an address is split by bits). Its size is
 * that of the largest block that any of its uses may ask for. A memory gives one word a cycle from each of its
 * banks:
 *
 *     one wide word   as many cycles as the block touches words
 *     row banks       words of T elements along one axis, rotated over T banks: a block along that axis and
 *                     any other takes one cycle, one along two others as many as its shorter edge
 *     full skew       every element in a bank of its own, skewed both ways: one cycle
 *
 * Two indices that one group cuts move along the same banks, so they take turns in either.
 *
 * An issue takes as many cycles as the slower of its two operands. A finished tile is written while the next
 * ones are computed, so writing is in the way only where it takes longer than a tile. Axes are padded to whole
 * words, each on its own.
 *
 * The search descends from several starts, tensor by tensor: each takes the word with which its products, each
 * cut as suits it best, cost least while the other tensors stand. Cost is the cycles of issues plus those of
 * tiles; ties go to the narrower word, then to fewer words, then to the first. It ends at once where every
 * issue takes one cycle and every cut wastes least: nothing is better, so the result is exact. Otherwise
 * `bound_cycles` says what no choice can beat.
 */
#ifndef TN_HARDWARE_LAYOUTS_H
#define TN_HARDWARE_LAYOUTS_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/program.h"
#include <stdbool.h>
#include <stdint.h>

enum { TN_LAYOUT_AXES = 16 };

/* Banks of all tensors' memories; auto: of each tensor the first of them under which all its blocks take one
 * cycle, if that helps. */
typedef enum tn_banking {
    TN_BANKING_WORD, /* one wide word */
    TN_BANKING_ROWS,
    TN_BANKING_SKEW,
    TN_BANKING_AUTO
} tn_banking;
extern const char *const tn_banking_names[]; /* "word", "rows", "skew", "auto"; ended by NULL */

typedef struct tn_kernel_edges {
    uint64_t rows, columns, reduction; /* R, C, P */
} tn_kernel_edges;

typedef struct tn_tensor_layout {
    uint64_t word_elements; /* the box below */
    uint64_t words;         /* of the padded tensor */
    uint64_t banks;         /* 1: one wide word; row banks; word_elements: full skew */
    bool full_skew;
    uint32_t axes, index[TN_LAYOUT_AXES];
    uint64_t size[TN_LAYOUT_AXES], edge[TN_LAYOUT_AXES]; /* of the word along the axis */
    uint32_t row_axis;                                   /* of row banks: place among the axes */
} tn_tensor_layout;

/* How a group of indices is cut: an issue takes edge[k] consecutive values of index[k]. */
typedef struct tn_group_cut {
    uint32_t indices, index[2]; /* 0: the group is empty, or one value is taken of it */
    uint64_t edge[2];
    uint64_t blocks; /* that the group is cut into */
} tn_group_cut;

typedef struct tn_product_layout {
    tn_group_cut cut[3];   /* of rows, columns, reduction */
    uint64_t tiles, terms; /* issues are tiles times terms */
    uint64_t read_cycles;  /* of an issue: the slower operand's */
    uint64_t write_cycles; /* of a finished tile */
} tn_product_layout;

typedef struct tn_layouts {
    uint32_t tensors, products;
    tn_tensor_layout *tensor;   /* [tensors]: of the program */
    tn_product_layout *product; /* [products]: steps of the program */
    uint64_t issue_cycles;      /* of all issues of all products */
    uint64_t cycles;            /* of all tiles of all products, pipelines' filling apart */
    uint64_t bound_cycles;      /* no cuts and words take fewer */
    bool exact;                 /* they are equal */
} tn_layouts;

/* Activations (X, Y, dX, dY) lie as several layers want them: words of `tokens` x `features` elements, both
 * powers of two, along the token index and the innermost other one. NULL to tn_layouts_find: they are free,
 * as of a layer alone. */
typedef struct tn_activation_word {
    uint64_t tokens, features;
} tn_activation_word;

/* Searches the layouts of a program on a kernel. Lives in `arena`. */
tn_status tn_layouts_find(const tn_program *program, const tn_kernel_edges *edges, tn_banking banking,
                          const tn_activation_word *activations, tn_arena *arena, tn_layouts *layouts,
                          tn_error *error);

/* The least power of two that is not below `value`, of 1 to 2^63. */
uint64_t tn_power_above(uint64_t value);

#endif
