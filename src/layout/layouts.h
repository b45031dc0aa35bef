/* Layouts of the tensors of a layer's program on a matmul kernel: which axis of each index group every product
 * cuts, and which elements of every tensor lie together in a word (layout/tensor_layout.h).
 *
 * A product's rows, columns and terms are groups of indices. A kernel of R x C sums and P terms an issue cuts
 * one index of each group: an issue takes R consecutive values of one row index, P of one reduction index and
 * C of one column index, and one value of every other index; where no index of a group is long enough, it may
 * take 2^i values of one and the rest of another. So it reads a block of each operand, and at the
 * end of a sum writes one of the result, that are boxes in the tensors' own axes.
 *
 * The search descends from two starts, tensor by tensor: each takes the word with which its products, each cut as
 * suits it best, cost least while the other tensors stand. Then it takes up the three tensors of one product at
 * once, of each that costs more than it must, as long as that helps. Ties go to the narrower word, then to fewer
 * words, then to the first. It ends at once where every issue takes one cycle and every cut wastes least: nothing
 * is better, so the result is exact. Otherwise `bound_cycles` says what no choice can beat.
 */
#ifndef TN_LAYOUT_LAYOUTS_H
#define TN_LAYOUT_LAYOUTS_H

#include "layout/layout_problem.h"
#include "layout/layout_state.h"
#include "layout/product_layout.h"
#include "layout/tensor_layout.h"

/* What is made least: the cycles of products, tiles waiting to be written included; or first the cycles of issues, as if
 * results were written from a buffer while the next ones are computed. */
typedef enum tn_layout_goal { TN_LEAST_CYCLES, TN_LEAST_ISSUES } tn_layout_goal;
extern const char *const tn_layout_goal_names[]; /* "cycles", "issues"; ended by NULL */

typedef struct tn_layouts {
    uint32_t tensors, products;
    tn_tensor_layout *tensor;   /* [tensors]: of the program */
    tn_product_layout *product; /* [products]: steps of the program */
    uint64_t issue_cycles;      /* of all issues of all products, if all blocks were like the worst */
    uint64_t cycles;            /* the same with what tiles wait to be written, pipelines' filling apart */
    uint64_t bound_cycles;      /* no cuts and words take fewer */
    bool exact;                 /* they are equal */
} tn_layouts;

/* Searches the layouts of a problem. demand[tensors of its program], or NULL: no demands, as of a layer alone. *layouts
 * lives in `arena`; room: for all searches, one after the other (layout/layout_state.h). */
tn_status tn_layouts_find(const tn_layout_problem *problem, tn_banking banking, tn_layout_goal goal,
                          const tn_layout_demand *demand, tn_layout_room *room, tn_arena *arena,
                          tn_layouts *layouts, tn_error *error);

#endif
