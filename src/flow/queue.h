/* A queue that gives the least first: a binary heap in an arena. Internal to the room. Equal keys come in the
 * order of their second key, then of their numbers, so that a search never depends on the heap's shape. */
#ifndef TN_FLOW_QUEUE_H
#define TN_FLOW_QUEUE_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_queued {
    uint64_t key, second;
    uint32_t number;
} tn_queued;

typedef struct tn_queue {
    size_t count, capacity;
    tn_queued *item;
} tn_queue;

tn_status tn_queue_push(tn_queue *queue, tn_queued item, tn_arena *arena, tn_error *error);
/* Of a queue that is not empty. */
tn_queued tn_queue_pop(tn_queue *queue);

#endif
