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
#include "design/design.h"
#include "search/evaluator.h"
#include "space/quantity.h"
#include "space/space.h"

#include <stdbool.h>

/* How far a design is from what it has to keep: amounts of resources, and the constraints of a space. */

typedef struct tn_limits {
    const tn_resources *budget;
    const tn_space *space; /* whose constraints; NULL: none */
} tn_limits;

/* The greatest ratio of need to budget over the resources: above 1 where the design does not fit. */
double tn_budget_ratio(const tn_resources *used, const tn_resources *budget);

/* *evaluation of a priced design, whose errors and accuracies are not known, and *ratio, by which it falls short: at most 1
 * where it keeps the limits. Of a constraint that asks for what is not known nothing is said. */
tn_status tn_limits_evaluate(const tn_limits *limits, const tn_priced *priced, tn_evaluation *evaluation,
                             double *ratio, tn_error *error);

/* The text of a key of the model's file by its dotted path; `usual` where it has none, NULL where it is no scalar. */
const char *tn_model_key_text(const tn_model *model, const char *key, const char *usual);

/* The designs of a space that come nearest to being feasible, where none is: for each cause of rejection the one
 * that exceeds what is allowed by the least factor. */

typedef struct tn_miss {
    uint64_t id;
    uint32_t cause;
    double factor; /* need over what is allowed, above 1; of a constraint, the value's distance by factor */
} tn_miss;

typedef struct tn_misses {
    uint64_t evaluated; /* all designs, or an even sample over the model's choices */
    size_t count;
    tn_miss miss[TN_CAUSES]; /* nearest first */
} tn_misses;

/* Evaluates about `most` designs at most, on this thread. An interruption ends the search with what it has. */
tn_status tn_misses_find(const tn_space *space, uint64_t most, tn_misses *misses, tn_error *error);

typedef struct tn_remedy {
    const char *
        change; /* "build.vector=2", "weights.square.rank=6": as --set takes it; several with " --set " between them */
    const char *was; /* "4" */
    tn_price price;  /* of the design with it */
    double ratio;    /* what it falls short by then (results/remedy.h); at most 1 where it fits */
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
