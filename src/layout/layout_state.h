/* The state of a search for layouts (layout/layouts.h): how the words of each tensor lie now, and how each product is cut.
 */
#ifndef TN_LAYOUT_LAYOUT_STATE_H
#define TN_LAYOUT_LAYOUT_STATE_H

#include "layout/layout_problem.h"
#include "layout/tensor_layout.h"

/* Room that one search after the other takes, with what each has found (layout/product_cost.h, layout/word_choice.h). */
typedef struct tn_layout_room {
    tn_arena scratch;             /* of the search at hand */
    uint64_t costs;               /* found so far, by whichever search: the number of the last */
    struct tn_product_cost *cost; /* by hash */
    struct tn_known_word *word;   /* by hash */
} tn_layout_room;
/* In `arena`, as long as that is. */
tn_status tn_layout_room_begin(tn_layout_room *room, tn_arena *arena, tn_error *error);

typedef struct tn_laid_tensor {
    uint32_t stands_for; /* itself, or the core whose gradient it is: that one's layout is its own */
    uint32_t least_log;  /* of the largest block that a use may ask for */
    tn_layout_demand demand;
    const tn_tensor_layout
        *shared;         /* in words that others want, too, and nothing moves; NULL: the layer's own */
    uint32_t uses, *use; /* products, each once */
    tn_bank_kind kind;
    uint32_t row_log, bank_log; /* of its memory's row, and of the banks in that */
    bool is_stale;              /* a neighbour in a product was laid anew */
} tn_laid_tensor;

typedef struct tn_cut_product {
    uint32_t tensor[TN_OF_ALL]; /* those that stand for the operands */
    uint32_t taken[TN_CUT_GROUPS];
    uint64_t key[TN_OF_ALL]; /* of how each lies (layout/product_cost.h) */
    uint64_t cost, least;    /* as it is cut; what it may cost: every access one cycle */
} tn_cut_product;

typedef struct tn_layout_state {
    const tn_layout_problem *problem;
    tn_bank_kind wanted;
    uint64_t issue_weight; /* how often an issue's cycle counts for each that a tile waits to be written */
    uint32_t indices, tensors, products;
    uint32_t widest_log;     /* of any tensor's block: no word is wider */
    tn_laid_tensor *tensor;  /* [tensors] */
    tn_cut_product *product; /* [products] */
    uint8_t *log;            /* [tensors * indices]: of the word's edge along the index */
    tn_layout_room *room;
    uint64_t costs_before;            /* room->costs as the search began */
    uint64_t *open_cost;              /* [products]: of those of the tensor at hand (layout/word_choice.h) */
    struct tn_operand_access *access; /* [products * TN_OF_ALL] (layout/product_cost.h) */
} tn_layout_state;

/* Of state->problem, with banks as state->wanted; demand: NULL, or one for each tensor. Lives in state->room until the next
 * one begins. */
tn_status tn_layout_state_begin(tn_layout_state *state, const tn_layout_demand *demand, tn_error *error);

/* *copy: another state of the same problem and demands, with room of its own. */
tn_status tn_layout_state_copy(const tn_layout_state *state, tn_layout_state *copy, tn_error *error);
/* How everything lies and is cut in `source`, a copy of the state or the one that it is a copy of. */
void tn_layout_state_take(tn_layout_state *state, const tn_layout_state *source);

#endif
