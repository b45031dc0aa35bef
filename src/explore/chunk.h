/* The chunks that a sweep is cut into: one outer combination of the space and up to TN_CHUNK_DESIGNS inner
 * ones. Their numbers follow from the space alone. */
#ifndef TN_EXPLORE_CHUNK_H
#define TN_EXPLORE_CHUNK_H

#include "base/error.h"
#include "explore/space.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_CHUNK_DESIGNS = 65536 };

typedef struct tn_chunk {
    uint64_t outer, first, designs; /* inner combinations first .. first + designs - 1 */
} tn_chunk;

/* How many there are; TN_LIMIT past 10^8. */
tn_status tn_chunk_count(const tn_space *space, uint64_t *chunks, tn_error *error);
/* Whether every design can be evaluated, in however many parts. */
bool tn_can_enumerate(const tn_space *space);
/* What chunk `number` consists of. */
tn_chunk tn_chunk_at(const tn_space *space, uint64_t number);
/* The number of the chunk that holds design `id`. */
uint64_t tn_chunk_of(const tn_space *space, uint64_t id);

#endif
