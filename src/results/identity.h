/* What exactly was swept: SHA-256 of the space, its models and its devices (all as resolved and written anew:
 * inheritance and overrides applied, as the copies in a result's folder), the program's version and the
 * options that choose designs. Results carry it; a sweep goes on only where it is the same. */
#ifndef TN_RESULTS_IDENTITY_H
#define TN_RESULTS_IDENTITY_H

#include "base/digest.h"
#include "results/sweep_plan.h"

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
