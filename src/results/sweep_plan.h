/* What a sweep is asked for, and which chunks of the space that means. */
#ifndef TN_RESULTS_SWEEP_PLAN_H
#define TN_RESULTS_SWEEP_PLAN_H

#include "base/digest.h"
#include "base/error.h"
#include "base/public.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* How a front is found: every design evaluated; by decomposition (search/decomposition.h), with a certificate; by
 * evolution (search/evolution.h), which proves nothing. */
typedef enum tn_method { TN_METHOD_AUTO, TN_ENUMERATE, TN_DECOMPOSE, TN_EVOLVE } tn_method;
extern const char *const tn_method_names[]; /* "auto", "enumerate", "decompose", "evolve"; ended by NULL */

typedef struct tn_sweep_options {
    unsigned threads;       /* 0: all */
    uint64_t shard, shards; /* this is shard 1..shards; 0 of 0: the whole */
    uint64_t budget;        /* evaluate at most about so many designs, of chunks drawn by `seed`; 0: all */
    uint64_t seed;
    bool resume;   /* go on with what the folder holds of this sweep */
    bool repair;   /* with resume: drop what the folder's store can't be trusted in, instead of refusing it */
    bool keep_all; /* keep every feasible design */
    tn_method method;
    bool has_epsilon;
    double epsilon, seconds; /* of decompositions: asked for with has_epsilon, with seconds > 0 */
} tn_sweep_options;

typedef struct tn_sweep_plan {
    uint64_t chunks; /* of the space */
    uint64_t *chunk; /* [chosen] those to evaluate, in the order of evaluation */
    uint64_t chosen;
    bool sampled; /* the budget leaves some out */
} tn_sweep_plan;

/* TN_INPUT where the shard does not exist. Free with tn_sweep_plan_free. */
tn_status tn_sweep_plan_make(const tn_space *space, const tn_sweep_options *options, tn_sweep_plan *plan,
                             tn_error *error);
void tn_sweep_plan_free(tn_sweep_plan *plan);

TN_PUBLIC_END

/* What exactly was swept: SHA-256 of the space, its models and its devices (all as resolved and written anew:
 * inheritance and overrides applied, as the copies in a result's folder), the program's version and the
 * options that choose designs. Results carry it; a sweep goes on only where it is the same. */

typedef struct tn_hashes {
    char space[TN_DIGEST_TEXT], model[TN_DIGEST_TEXT], device[TN_DIGEST_TEXT];
    char error_table[TN_DIGEST_TEXT], accuracy_table[TN_DIGEST_TEXT]; /* empty: none */
} tn_hashes;

/* Of one file, as it is written anew. */
tn_status tn_tree_digest(const tn_yaml *root, char text[TN_DIGEST_TEXT], tn_error *error);

enum { TN_IDENTITY_TEXT = 1024 };

/* The identity as one line of text. */
tn_status tn_sweep_identity(const tn_space *space, const tn_sweep_options *options,
                            char text[TN_IDENTITY_TEXT], tn_error *error);

/* Reads the options back from an identity of the same space, model, device and version; any other is TN_INPUT,
 * with what differs. `path` is where it was found. */
tn_status tn_sweep_identity_read(const tn_space *space, const char *text, const char *path,
                                 tn_sweep_options *options, tn_error *error);

#endif
