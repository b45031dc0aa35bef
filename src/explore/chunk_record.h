/* What one chunk found, as bytes for a store: words of 64 bits, the least significant byte first.
 *
 *   designs, causes, (cause, designs)..., flows, (weight, format, factors, flow, designs)...,
 *   points, (id, objectives...)..., kept sum 0, kept sum 1
 *
 * Causes, flows and points ascend. The points are those that entered the front of the sweep when the chunk was
 * finished: whatever beat the others lies in another chunk. The kept sums are those of the chunk's rows in the
 * table of kept designs (explore/sweep_db.h). A digest over the record, the chunk's number and the sweep's
 * identity tells a damaged record, or that of another chunk or sweep, from a true one.
 */
#ifndef TN_EXPLORE_CHUNK_RECORD_H
#define TN_EXPLORE_CHUNK_RECORD_H

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "explore/outcome.h"
#include "explore/space.h"

#include <stddef.h>
#include <stdint.h>

/* Appends the record. */
tn_status tn_chunk_record_write(const tn_space *space, const tn_outcome *found, const uint64_t kept[2],
                                tn_buffer *out, tn_error *error);

/* Adds what the record of chunk `number` says to the empty outcome *found. A record that this chunk can't have
 * written is TN_INPUT, with what is wrong. */
tn_status tn_chunk_record_read(const tn_space *space, uint64_t number, const void *bytes, size_t length,
                               tn_outcome *found, uint64_t kept[2], tn_error *error);

void tn_chunk_record_digest(const char *identity, uint64_t number, const void *bytes, size_t length,
                            unsigned char digest[TN_DIGEST_BYTES]);

#endif
