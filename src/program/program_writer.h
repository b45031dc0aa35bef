/* Writes a program one step after the other. Internal to the room: who orders steps (reverse mode, the
 * published flow, training flows) gives pairs of tensors; indices, shapes, MACs, liveness and peaks follow
 * here, once for all.
 *
 * tn_writer_begin, then tn_writer_add for each step in order, forward phase first, then tn_writer_end.
 */
#ifndef TN_PROGRAM_PROGRAM_WRITER_H
#define TN_PROGRAM_PROGRAM_WRITER_H

#include "program/program.h"

typedef struct tn_writer {
    const tn_network *network; /* of the forward product */
    tn_program *program;
    tn_arena *arena; /* of the program */
    tn_error *error;
    uint32_t most_steps;
    uint16_t *carriers; /* [indices]: on how many tensors of the closed network */
    uint16_t *carried;  /* [tensors][indices]: on how many of those that the tensor contracts */
    uint8_t *mark;      /* [indices] */
} tn_writer;

/* What a step makes. `core` is that of a core gradient. */
typedef struct tn_made {
    tn_phase phase;
    tn_role role;
    uint32_t core;
    bool recomputed, once;
} tn_made;

/* Program tensor 0 is X, 1.. the cores, then dY if `training`. `scratch` must live until tn_writer_end. */
tn_status tn_writer_begin(tn_writer *writer, const tn_network *network, bool training, uint32_t most_steps,
                          tn_arena *arena, tn_arena *scratch, tn_program *program, tn_error *error);
/* *out = the tensor that the step makes. */
tn_status tn_writer_add(tn_writer *writer, uint32_t a, uint32_t b, tn_made made, uint32_t *out);
/* Liveness, peaks and sums. micro_batches must be set in the program before, if it is not 1. */
tn_status tn_writer_end(tn_writer *writer);

#endif
