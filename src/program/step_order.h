/* The order of execution of a list of steps that needs least memory. Internal to the room.
 *
 * Each step reads two items and makes a third. What is live depends on which steps are done, not on their
 * order, so the least peak over all orders is a bottleneck path through the sets of done steps: they are
 * walked layer by layer (equally many done), one entry per set, the smallest peak kept. A step that does not
 * raise the peak of its entry and leaves no more live than before is taken at once, without alternatives: in
 * any order it can be moved here, for what it frees and adds is the same or less live at every step between.
 */
#ifndef TN_PROGRAM_STEP_ORDER_H
#define TN_PROGRAM_STEP_ORDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_ORDER_STEPS = 64, TN_ORDER_ITEMS = 320 };

typedef struct tn_order_item {
    uint64_t elements;
    bool stays; /* not freed after its last read */
} tn_order_item;

typedef struct tn_order_step {
    uint16_t a, b, out;
} tn_order_step;

typedef struct tn_order_problem {
    uint32_t items, steps;
    tn_order_item item[TN_ORDER_ITEMS];
    tn_order_step step[TN_ORDER_STEPS]; /* in some order in which they can be executed */
    uint64_t live;                      /* elements live at the start: what no step here makes */
} tn_order_problem;

typedef struct tn_order_result {
    uint64_t peak;                 /* UINT64_MAX where a live count passes 64 bits */
    uint8_t order[TN_ORDER_STEPS]; /* positions in problem->step */
    bool exact;                    /* proven least */
} tn_order_result;

/* Memory that is kept from call to call. Zero-initialise; tn_orderer_free. */
typedef struct tn_orderer {
    struct tn_order_entry *entry;
    size_t entries, capacity;
    uint32_t *slot; /* hash table of the layer that is being made */
    uint32_t slot_bits;
} tn_orderer;

/* `entries_most`: a layer keeps at most that many sets, those of smallest peak; the result is exact where no
 * layer had more. */
tn_status tn_order_find(tn_orderer *orderer, const tn_order_problem *problem, size_t entries_most,
                        tn_order_result *result, tn_error *error);
void tn_orderer_free(tn_orderer *orderer);

#endif
