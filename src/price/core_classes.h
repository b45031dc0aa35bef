/* Classes of the cores of all steps of a model: which cores a build may group into memories together.
 *
 * A step puts cores of equal size, role, word and uses into one class, at most one of a layer: the n-th of a layer's cores
 * that are alike is in the n-th class of such cores (memory/map.h). All of that a layer decides alone, so a core has the
 * same class in every design in which its layer has the same choices. */
#ifndef TN_PRICE_CORE_CLASSES_H
#define TN_PRICE_CORE_CLASSES_H

#include "price/array_rows.h"
#include "price/parts.h"

enum { TN_CORE_WAYS = 2 };

/* A list of uses, none of which covers another. */
typedef struct tn_core_uses {
    uint32_t count;
    tn_use use[TN_USES_MOST];
} tn_core_uses;

typedef struct tn_core_class {
    uint64_t elements, word_bits;
    tn_array_role role;
    uint32_t ordinal; /* among its layer's cores that are alike */
    tn_core_uses uses;
    bool
        is_blurred; /* it had more uses than have room: several classes may be taken for one, and theorem 1 is not known */
    uint64_t stored; /* the fewest elements that are kept of any */
    uint32_t ways; /* uses of all that some core is updated with, which has rows of one size; more ways: 0, */
    bool has_more_ways; /* and its own */
    tn_core_uses way[TN_CORE_WAYS];
    uint32_t
        linked; /* a class that some update goes through, too: the first of them, in turn, stands for all; */
    bool is_open; /* what stands for all: and through what is no core of a known class */
    bool is_padded;
    uint64_t rows[TN_ROW_LOGS]; /* the fewest of any, where each of them is known to be padded */
    uint32_t layers;            /* N */
    uint32_t *most;             /* [units + 1]: of each unit, over its options */
} tn_core_class;

/* Made of every step that parts are made of. */
typedef struct tn_core_classes {
    uint32_t count;
    size_t room, slots;
    tn_core_class *list;
    uint32_t *slot; /* open addressing: place in the list, plus 1 */
} tn_core_classes;

/* Adds those of the parting's step; what is kept lives in `arena`. */
tn_status tn_core_classes_add(tn_core_classes *classes, const tn_parting *parting, tn_arena *arena,
                              tn_error *error);

/* class_of[arrays] of the parting's step, which was added; UINT32_MAX: no core. */
tn_status tn_core_classes_find(const tn_core_classes *classes, const tn_parting *parting, uint32_t *class_of,
                               tn_error *error);

/* The class that stands for all which some update goes through together with it. */
uint32_t tn_core_class_linked(const tn_core_classes *classes, uint32_t core_class);

#endif
