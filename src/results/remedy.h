/* What would make a design fit: every single change of its build, of the ranks and flows of its weights, and of the
 * model's keys that decide what lives is made and priced; those after which it fits are told. What is done already is
 * no change, so it is never proposed; nor is what can't be built (ideal layouts).
 *
 *   counts of the build (rows, columns, vector, ..)   halved until it fits; where a constraint has to be kept, doubled
 *   group                                             doubled until it fits
 *   off_chip_over_bytes, off_chip_tile_bytes          from 1 MiB, from 64 KiB down by factors of 4
 *   choices of the build (sharing, memories, ..)      every other one
 *   the rank of a weight                              the greatest with which it fits
 *   the flow of a weight                              every other one that takes no search
 *   batch, sequence                                   halved until it fits; 1 alone where that does not
 *   format, activations, update, optimizer, precision those that take less memory
 *
 * Where no single change of the hardware is enough, several are made together: large arrays off chip with the tiles that they pass
 * through, then one after the other what brings the design nearest. Changes that cost nothing but time come first; rank 1 is never
 * proposed, and what cuts sequence or batch is no nearest miss.
 */
#ifndef TN_RESULTS_REMEDY_H
#define TN_RESULTS_REMEDY_H

#include "base/memory.h"
#include "results/limits.h"

#include <stdbool.h>

/* The text of a key of the model's file by its dotted path; `usual` where it has none, NULL where it is no scalar. */
const char *tn_model_key_text(const tn_model *model, const char *key, const char *usual);

typedef struct tn_remedy {
    const char *
        change; /* "build.vector=2", "weights.square.rank=6": as --set takes it; several with " --set " between them */
    const char *was; /* "4" */
    tn_price price;  /* of the design with it */
    double ratio;    /* what it falls short by then (results/limits.h); at most 1 where it fits */
    int sacrifice; /* 0: none but time; 1: the method of training or its numbers; 2: what is learned, or at once */
} tn_remedy;

typedef struct tn_remedies {
    size_t count, tried;
    bool cut;            /* not all were tried: the step is very long */
    size_t weights_left; /* whose ranks and flows were not tried for that: those of the fewest parameters */
    tn_remedy
        *remedy; /* least sacrifice first, then the fastest design; of equally fast ones in the order above */
    double given_ratio; /* without any change */
    tn_remedy
        closest; /* of the changes that do not suffice the one that comes nearest; change NULL: none helps */
} tn_remedies;

/* Of a design that was priced, with the cache that it was priced with, in memory that outlives the remedies. None where the design
 * falls short of nothing that is known of changes. */
tn_status tn_remedies_of(const tn_priced *given, const tn_limits *limits, tn_program_cache *cache,
                         tn_arena *arena, tn_remedies *remedies, tn_error *error);

/* The same of a design alone. */
tn_status tn_remedies_find(const tn_design *design, const tn_limits *limits, tn_arena *arena,
                           tn_remedies *remedies, tn_error *error);

#endif
