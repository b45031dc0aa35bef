/* Layouts of the tensors of a layer's program on a matmul kernel: which axis of each index group every product
 * cuts, and which elements of every tensor lie together in a word.
 *
 * A product's rows, columns and terms are groups of indices. A kernel of R x C sums and P terms an issue cuts
 * one index of each group: an issue takes R consecutive values of one row index, P of one reduction index and
 * C of one column index, and one value of every other index; where no index of a group is long enough, it may
 * take 2^i values of one and the rest of another. So it reads a block of each operand, and at the
 * end of a sum writes one of the result, that are boxes in the tensors' own axes.
 *
 * A memory gives a row of 2^k elements a cycle, in banks that give a word each:
 *
 *     one wide word   a row is a word: a box of elements, edges powers of two (an address is split by bits)
 *     row banks       words of T elements along one axis, rotated over the banks: a block along that axis and
 *                     any other takes one cycle, one along two others as many as its shorter edge
 *     full skew       every element is a word in a bank of its own; which banks (skews) is searched as well
 *
 * Element x lies in the word c, c_k = floor(x_k / edge_k); a word lies in bank (sum of skew_k c_k) mod banks, in
 * row sum of floor(c_k / divide_k) stride_k: along one axis or two the next words share a row, where the skews put
 * them into different banks. So axes are padded to whole words, and these to whole rounds of banks. A block takes as many cycles as its fullest bank
 * has words of it; what an issue and a product then take is hardware/issue.h.
 *
 * The search descends from two starts, tensor by tensor: each takes the word with which its products, each cut as
 * suits it best, cost least while the other tensors stand. Then it takes up the three tensors of one product at
 * once, of each that costs more than it must, as long as that helps. Ties go to the narrower word, then to fewer
 * words, then to the first. It ends at once where every issue takes one cycle and every cut wastes least: nothing
 * is better, so the result is exact. Otherwise `bound_cycles` says what no choice can beat.
 */
#ifndef TN_HARDWARE_LAYOUTS_H
#define TN_HARDWARE_LAYOUTS_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/program.h"
#include "hardware/issue.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_LAYOUT_AXES = 64, TN_LAYOUT_BANKS_MOST = 1024 };

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

/* Axes of one element are left out. */
typedef struct tn_tensor_layout {
    uint64_t row_elements; /* that the memory gives a cycle: banks times the elements of a word */
    uint64_t banks;        /* 1: one wide word */
    uint64_t depth;        /* rows that the tensor takes */
    uint32_t axes, index[TN_LAYOUT_AXES];
    uint64_t size[TN_LAYOUT_AXES];
    uint64_t edge[TN_LAYOUT_AXES]; /* of a word along the axis */
    uint64_t skew[TN_LAYOUT_AXES]; /* below `banks` */
    /* Words along the axis that share a place in different banks: 1 but along one axis, or two, where the product is
     * `banks`. */
    uint64_t divide[TN_LAYOUT_AXES];
} tn_tensor_layout;

/* How a group of indices is cut: an issue takes edge[k] consecutive values of index[k]. */
typedef struct tn_group_cut {
    uint32_t indices, index[TN_ISSUE_CUTS]; /* 0: the group is empty, or one value is taken of it */
    uint64_t edge[TN_ISSUE_CUTS];
    uint64_t blocks; /* that the group is cut into */
} tn_group_cut;

typedef struct tn_product_layout {
    tn_group_cut cut[3];   /* of rows, columns, reduction */
    uint64_t tiles, terms; /* issues are tiles times terms */
    uint64_t read_cycles;  /* of an issue: the slower operand's, of the worst blocks */
    uint64_t write_cycles; /* of the worst tile */
    tn_issued_product issued;
} tn_product_layout;

typedef struct tn_layouts {
    uint32_t tensors, products;
    tn_tensor_layout *tensor;   /* [tensors]: of the program */
    tn_product_layout *product; /* [products]: steps of the program */
    uint64_t issue_cycles;      /* of all issues of all products, if all blocks were like the worst */
    uint64_t cycles;            /* the same with what tiles wait to be written, pipelines' filling apart */
    uint64_t bound_cycles;      /* no cuts and words take fewer */
    bool exact;                 /* they are equal */
} tn_layouts;

/* What a design asks of a tensor's layout; all zeros: nothing. */
typedef struct tn_layout_demand {
    uint8_t row_log;   /* its memory's rows have 2^this elements */
    bool has_row;      /* else the widest block that a use asks for, or another tensor's */
    bool is_updated;   /* a core's gradient: it lies as the core does, so that the update goes word by word */
    bool is_looked_up; /* X is a look-up's first core, and its gradient dX likewise */
    bool is_shared;    /* other layers want it, too: its words are 2^token_log values of the first index by
                          2^feature_log elements of the last ones, these in C order */
    uint8_t token_log, feature_log;
} tn_layout_demand;

/* What is made least: the cycles of products, tiles waiting to be written included; or first the cycles of issues, as if
 * results were written from a buffer while the next ones are computed. */
typedef enum tn_layout_goal { TN_LEAST_CYCLES, TN_LEAST_ISSUES } tn_layout_goal;
extern const char *const tn_layout_goal_names[]; /* "cycles", "issues"; ended by NULL */

/* Searches the layouts of a program on a kernel. demand[program->tensors], or NULL: no demands, as of a layer
 * alone. *layouts lives in `arena`. */
tn_status tn_layouts_find(const tn_program *program, const tn_kernel_edges *edges, tn_banking banking,
                          tn_layout_goal goal, const tn_layout_demand *demand, tn_arena *arena,
                          tn_layouts *layouts, tn_error *error);

/* Whether 2^log consecutive elements in C order, from a multiple of it, are always a box of the last axes. */
bool tn_layout_is_box(const uint64_t *size, uint32_t axes, uint32_t log);

/* The least power of two that is not below `value`, of 1 to 2^63, and its logarithm. */
uint64_t tn_power_above(uint64_t value);
uint32_t tn_log_above(uint64_t value);

#endif
