/* How a block of an array lies in its banks: what the hardware's tables and counters are made of.
 *
 * Word c of an array lies in the bank whose k-th coordinate is (sum of skew_k,i c_i) mod banks_k; a bank's number is
 * its first coordinate plus banks_0 times its second. Of one form there may be an axis along which words lie one bank further
 * after each turn_i of them. Its place in the bank is the array's base plus
 *     sum over axes i of floor(c_i / divide_i) stride_i
 * where divide_i is the layout's, or, where that has none, 1 but for one or two axes. The bank's number tells the residues:
 * the divides multiply to the number of banks. A block is cut along at most four axes; as its edges are powers of two and its place a multiple of
 * them, which of its words lies in which bank, counted from the bank of its first word, and how far behind that word,
 * is the same wherever it lies.
 */
#ifndef TN_RTL_ACCESS_H
#define TN_RTL_ACCESS_H

#include "base/memory.h"
#include "rtl/design.h"

enum { TN_RTL_LANES_MOST = 1024, TN_RTL_BANKS_MOST = 256, TN_RTL_PHASES_MOST = 64, TN_RTL_WORD_MOST = 256 };

/* An array's words in its memory. */
typedef struct tn_rtl_strides {
    bool told;                            /* some axes tell the banks apart; false: nothing else is set */
    uint64_t banks, first;                /* first: banks of the first form */
    uint64_t elements;                    /* of a word */
    uint64_t words[TN_BANK_LAYOUT_AXES];  /* along the axis */
    uint64_t divide[TN_BANK_LAYOUT_AXES]; /* words along the axis that share a place in different banks */
    uint64_t stride[TN_BANK_LAYOUT_AXES]; /* words of a bank */
    uint64_t place[TN_BANK_LAYOUT_AXES];  /* stride within a word */
    uint64_t depth;                       /* words that the array takes of each bank */
} tn_rtl_strides;

/* Of the axes that tell the banks apart, those are taken with which the array takes the fewest words of a bank. */
tn_rtl_strides tn_rtl_strides_of(const tn_bank_layout *layout);

/* Where element x lies: bank, word of the bank (from the array's base), element of the word. */
typedef struct tn_rtl_place {
    uint64_t bank, word, element;
} tn_rtl_place;
tn_rtl_place tn_rtl_place_of(const tn_bank_layout *layout, const tn_rtl_strides *strides, const uint64_t *x);

/* One lane's source: in which phase, from which word of that phase (by its place in the rotation), which element. */
typedef struct tn_rtl_lane {
    uint16_t phase, word, element;
    bool present;
} tn_rtl_lane;

/* A word that a phase takes from the bank at this place in the rotation. */
typedef struct tn_rtl_bank_word {
    bool used;
    uint64_t offset; /* words behind the first */
} tn_rtl_bank_word;

/* A block: its first direction has the edges 0 and 1, its second 2 and 3. */
enum { TN_RTL_EDGES = 4 };
typedef struct tn_rtl_block {
    uint32_t axis[TN_RTL_EDGES]; /* of the array, or TN_RTL_NONE */
    uint64_t size[TN_RTL_EDGES]; /* elements along the edge, 1 where there is no axis */
    uint64_t lanes[2];           /* of the kernel along each direction */
} tn_rtl_block;

/* Lane (u0 * size[1] + u1) * lanes[1] + (v0 * size[3] + v1) is the block's element u0, u1, v0, v1. */
typedef struct tn_rtl_pattern {
    uint32_t phases, lanes, banks;
    tn_rtl_lane *lane;      /* [lanes] */
    tn_rtl_bank_word *word; /* [phases * banks] */
} tn_rtl_pattern;

/* `extent`: elements along each edge, as many as `size` or, at an array's end, fewer. Lives in `arena`. */
tn_status tn_rtl_pattern_make(const tn_bank_layout *layout, const tn_rtl_block *block, const uint64_t *extent,
                              tn_arena *arena, tn_rtl_pattern *pattern, tn_error *error);
/* The lane of the block's element x. */
uint64_t tn_rtl_block_lane(const tn_rtl_block *block, const uint64_t x[TN_RTL_EDGES]);
bool tn_rtl_pattern_equal(const tn_rtl_pattern *a, const tn_rtl_pattern *b);

/* What one counter adds for one array (templates/odometer.sv), if it moves along `axis` by `step` elements. */
typedef struct tn_rtl_counter {
    uint64_t period, stride;          /* log2 of the steps after which `stride` is added */
    uint64_t turn_period, turn;       /* the same of the rotation, which is a bank's number */
    uint64_t further_period, further; /* and of a bank more */
    uint64_t inside, shift; /* low bits that are a place in the word, and by how much they are moved */
} tn_rtl_counter;
tn_rtl_counter tn_rtl_counter_of(const tn_bank_layout *layout, uint32_t axis, uint64_t step);

#endif
