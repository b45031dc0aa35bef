/* What finished chunks of a space found. Outcomes of disjoint chunks merge in any order to the same one. */
#ifndef TN_SEARCH_CHUNK_H
#define TN_SEARCH_CHUNK_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/public.h"
#include "front/archive.h"
#include "search/evaluator.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The chunks that a sweep is cut into: one outer combination of the space, or those that differ in settled keys of the model alone,
 * and all inner ones, or those with one value of each of the first inner choices: where there would be over TN_CHUNK_DESIGNS
 * designs in one (but of settled keys all stay together), or fewer than TN_CHUNKS_LEAST chunks, which threads and parts of a
 * sweep share out. Their numbers follow from the space alone. */

enum { TN_CHUNK_DESIGNS = 65536, TN_CHUNKS_LEAST = 64 };

typedef struct tn_chunk {
    uint64_t outer, outers; /* outer combinations, one behind the other */
    uint64_t first, inners; /* of each the inner combinations first .. first + inners - 1 */
    uint64_t designs;
} tn_chunk;

/* How many there are; TN_LIMIT past 10^8. */
tn_status tn_chunk_count(const tn_space *space, uint64_t *chunks, tn_error *error);
/* Whether every design can be evaluated, in however many parts. */
bool tn_can_enumerate(const tn_space *space);
/* What chunk `number` consists of. */
tn_chunk tn_chunk_at(const tn_space *space, uint64_t number);
/* The number of the chunk that holds design `id`. */
uint64_t tn_chunk_of(const tn_space *space, uint64_t id);

TN_PUBLIC_BEGIN

typedef enum tn_completion { TN_EXHAUSTED, TN_BUDGET, TN_STOPPED } tn_completion;
extern const char *const tn_completion_names[]; /* "exhausted", "budget", "interrupted"; ended by NULL */

/* Designs that are undefined for one reason. */
typedef struct tn_undefined_count {
    tn_undefined_flow flow;
    uint64_t designs;
    uint64_t first; /* the least id of them: what it lacks can be asked of it */
} tn_undefined_count;

typedef struct tn_outcome {
    tn_archive front;
    uint64_t evaluated, count[TN_CAUSES]; /* count[TN_CAUSE_NONE]: feasible */
    tn_undefined_count *undefined;        /* by ascending flow; designs sum to count[TN_CAUSE_UNDEFINED] */
    size_t undefined_count, undefined_capacity;
    tn_completion completion;
    double seconds;
    uint64_t evaluated_now;     /* in this run, for the rate: without what a resumed run found done */
    const tn_evaluation *known; /* of the front's designs, by ascending id; NULL: they are to be evaluated */
    bool certified, exact;      /* exact: the front is that of the whole space */
    double factor[TN_OBJECTIVES_MOST]; /* where certified: docs/decomposition.md */
    const char *method;
} tn_outcome;

void tn_outcome_begin(const tn_space *space, tn_outcome *outcome);
void tn_outcome_free(tn_outcome *outcome);
/* Empty again, memory kept. */
void tn_outcome_clear(tn_outcome *outcome);

/* Counts `designs` more, the first of them of that id, that are undefined because of `flow` (not in `count`). */
tn_status tn_outcome_add_undefined(tn_outcome *outcome, const tn_undefined_flow *flow, uint64_t designs,
                                   uint64_t first, tn_error *error);
/* Adds what disjoint chunks found; of `source` only those points of its front stay that entered. */
tn_status tn_outcome_absorb(tn_outcome *outcome, tn_outcome *source, tn_error *error);

TN_PUBLIC_END

/* What one chunk found, as bytes for a store: words of 64 bits, the least significant byte first.
 *
 *   designs, causes, (cause, designs)..., flows, (weight, format, factors, flow, designs, least id)...,
 *   points, (id, objectives...)..., kept sum 0, kept sum 1
 *
 * Causes, flows and points ascend. The points are those that entered the front of the sweep when the chunk was
 * finished: whatever beat the others lies in another chunk. The kept sums are those of the chunk's rows in the
 * table of kept designs (results/sweep_db.h). A digest over the record, the chunk's number and the sweep's
 * identity tells a damaged record, or that of another chunk or sweep, from a true one.
 */

/* Appends the record. */
tn_status tn_chunk_record_write(const tn_space *space, const tn_outcome *found, const uint64_t kept[2],
                                tn_buffer *out, tn_error *error);

/* Adds what the record of chunk `number` says to the empty outcome *found. A record that this chunk can't have
 * written is TN_INPUT, with what is wrong. */
tn_status tn_chunk_record_read(const tn_space *space, uint64_t number, const void *bytes, size_t length,
                               tn_outcome *found, uint64_t kept[2], tn_error *error);

void tn_chunk_record_digest(const char *identity, uint64_t number, const void *bytes, size_t length,
                            unsigned char *digest);

#endif
