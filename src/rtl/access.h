/* How a block of an array lies in its banks: what the hardware's tables and counters are made of.
 *
 * Word c of an array lies in bank (sum of skew_k c_k) mod banks, at its array's base plus
 *     sum over axes k other than m of c_k stride_k, plus floor(c_m / banks) stride_m
 * where m is an axis of odd skew: bank and the other coordinates tell its residue. A block is cut along at most two
 * axes; as its size is a power of two and its place a multiple of it, which of its words lies in which bank, counted
 * from the bank of its first word, and how far behind that word, is the same wherever it lies.
 */
#ifndef TN_RTL_ACCESS_H
#define TN_RTL_ACCESS_H

#include "rtl/design.h"

/* An array's words in its memory. */
typedef struct tn_rtl_strides {
    uint32_t bank_axis;                   /* m */
    uint64_t banks, elements;             /* of a word */
    uint64_t words[TN_BANK_LAYOUT_AXES];  /* along the axis */
    uint64_t stride[TN_BANK_LAYOUT_AXES]; /* words of a bank */
    uint64_t place[TN_BANK_LAYOUT_AXES];  /* stride within a word */
    uint64_t depth;                       /* words that the array takes of each bank */
} tn_rtl_strides;

tn_rtl_strides tn_rtl_strides_of(const tn_bank_layout *layout);

/* Where element x lies: bank, word of the bank (from the array's base), element of the word. */
typedef struct tn_rtl_place {
    uint64_t bank, word, element;
} tn_rtl_place;
tn_rtl_place tn_rtl_place_of(const tn_bank_layout *layout, const tn_rtl_strides *strides, const uint64_t *x);

enum { TN_RTL_LANES_MOST = 1024, TN_RTL_BANKS_MOST = 64, TN_RTL_PHASES_MOST = 64, TN_RTL_WORD_MOST = 64 };

/* One lane's source: in which phase, from which word of that phase (by its place in the rotation), which element. */
typedef struct tn_rtl_lane {
    uint16_t phase, word, element;
    bool present;
} tn_rtl_lane;

/* A block of `extent[0]` elements along axis[0] and `extent[1]` along axis[1] (TN_RTL_NONE: 1), of which up to
 * `size[k]` would fit: lane u * size[1] + v is the element u, v. */
typedef struct tn_rtl_pattern {
    uint32_t phases;
    uint32_t lanes;
    tn_rtl_lane lane[TN_RTL_LANES_MOST];
    bool used[TN_RTL_PHASES_MOST][TN_RTL_BANKS_MOST];
    uint64_t offset[TN_RTL_PHASES_MOST][TN_RTL_BANKS_MOST]; /* words behind the first */
} tn_rtl_pattern;

tn_status tn_rtl_pattern_make(const tn_bank_layout *layout, const uint32_t axis[2], const uint64_t size[2],
                              const uint64_t extent[2], tn_rtl_pattern *pattern, tn_error *error);

/* What one counter adds for one array (templates/odometer.sv), if it moves along `axis` by `step` elements. */
typedef struct tn_rtl_counter {
    uint64_t period, stride;    /* log2 of the steps after which `stride` is added */
    uint64_t turn_period, turn; /* the same of the rotation */
    uint64_t inside, shift;     /* low bits that are a place in the word, and by how much they are moved */
} tn_rtl_counter;
tn_rtl_counter tn_rtl_counter_of(const tn_bank_layout *layout, uint32_t axis, uint64_t step);

#endif
