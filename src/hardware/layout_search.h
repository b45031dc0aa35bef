/* The descent of hardware/layouts.h, inside the room: tensors, products and what is tried of each. */
#ifndef TN_HARDWARE_LAYOUT_SEARCH_H
#define TN_HARDWARE_LAYOUT_SEARCH_H

#include "hardware/layouts.h"

enum { TN_CUT_ROWS, TN_CUT_COLUMNS, TN_CUT_REDUCTION, TN_CUT_GROUPS };
enum { TN_OF_LEFT, TN_OF_RIGHT, TN_OF_RESULT, TN_OF_ALL };
enum { TN_CUTS_MOST = 8, TN_WORD_AXES = 3 };

/* How a tensor's memory gives its words. OPEN: not decided yet, so nothing is in its way. */
typedef enum tn_bank_kind {
    TN_BANKS_OPEN,
    TN_BANKS_ONE_WORD,
    TN_BANKS_ROWS,
    TN_BANKS_FULL_SKEW
} tn_bank_kind;

/* Ways to cut a group, and the one that is taken. */
typedef struct tn_cut_choice {
    uint32_t count, taken;
    tn_group_cut cut[TN_CUTS_MOST];
} tn_cut_choice;

typedef struct tn_searched_product {
    uint32_t tensor[TN_OF_ALL]; /* those that stand for the operands */
    uint64_t batch, cost;
    uint64_t least; /* that it may cost: every access one cycle */
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
    uint64_t edge[TN_CUT_GROUPS];
    uint32_t indices, tensors, products;
    const uint64_t *size; /* [indices] */
    tn_searched_tensor *tensor;
    tn_searched_product *product;
    uint8_t *log;   /* [tensors * indices]: of the word's edge along the index */
    uint64_t *skew; /* [tensors * indices] */
    tn_bank_kind wanted;
    uint32_t widest_log;   /* of any tensor's block: no word is wider */
    uint64_t issue_weight; /* how often an issue's cycle counts for each that a tile waits to be written */
} tn_layout_search;

/* Cuts every product as if nothing were in its way, or only shared activations. */
void tn_layout_search_open(tn_layout_search *search);
/* Descends with banks of the wanted kind until the cost is `bound`, or from all starts; `best`: room for another
 * search of the same sizes. */
void tn_layout_search_descend(tn_layout_search *search, tn_layout_search *best, uint64_t bound);
/* How what several layers share lies: of one wide word whole boxes of tokens x features; in banks rows of features,
 * rotated from token to token; each element in a bank of its own, features 2^token_log banks apart. */
typedef struct tn_shared_words {
    uint8_t token_log, feature_log, bank_log; /* of a word's edges, of the banks */
    uint64_t apart;                           /* banks from a word to the next along the features */
} tn_shared_words;
tn_shared_words tn_layout_shared(const tn_layout_demand *demand, tn_bank_kind kind, bool has_tokens);

/* Rows of banks where one wide word is too slow, the full skew where they are too, neither where it does not help; shared
 * tensors stay, as one layer cannot decide for all. */
void tn_layout_search_add_banks(tn_layout_search *search);

/* The two groups that an operand's blocks are cut along, as hardware/issue.h orders them. */
extern const int tn_cut_directions[TN_OF_ALL][2];

/* The product's cuts as taken, and the cycles that all its issues take with the writes. */
void tn_layout_search_cuts(const tn_searched_product *product, const tn_group_cut **cut);
uint64_t tn_layout_search_cycles(const tn_layout_search *search);

/* Words that the fullest of `banks` banks, a power of two, has of words[0] x .. x words[axes - 1], word (i, ..) in bank
 * i skew[0] + ... */
uint64_t tn_fullest_bank(const uint64_t *words, const uint64_t *skew, uint32_t axes, uint64_t banks);

/* Whether 2^p words along each axis lie in different banks for this reason: along an axis they lie where sums of some of
 * s, 2 s, .., 2^(p - 1) s lead, and sums of steps whose lowest bits all differ are all different. Where there are as
 * many words as banks there is no other reason: of the product of 1 + x^(2^i s) every root of unity of order 2^k > 1 must
 * be a root, and that takes a step of lowest bit k - 1. */
bool tn_words_apart(const uint64_t *words, const uint64_t *skew, uint32_t axes, uint64_t banks);

/* Words of 2^log elements that a block of `block` elements, at a multiple of its size, touches at most along an axis
 * of `size`. */
uint64_t tn_words_of_block(uint64_t size, uint64_t block, uint32_t log);

#endif
