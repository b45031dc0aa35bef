/* What the parts of an import share (ranks/import.c and the two that write). */
#ifndef TN_RANKS_IMPORTER_H
#define TN_RANKS_IMPORTER_H

#include "ranks/import.h"
#include "ranks/model_config.h"
#include "ranks/tensor_names.h"

/* The arrays of a role: one, or one a layer (and expert), all of one shape and named alike. */
typedef struct tn_role_arrays {
    const tn_array_info *info; /* of the first that was met; NULL: there is none */
    const char *pattern;       /* its name with {i-1} in the number's place */
    uint64_t arrays, biases, experts;
    uint64_t bias_elements; /* of one */
} tn_role_arrays;

typedef struct tn_importer {
    tn_arrays *arrays;
    const char *path; /* of the checkpoint */
    const tn_import_options *options;
    const tn_tensor_family *family;
    tn_model_config config;
    tn_role_arrays role[TN_TENSOR_ROLES];
    uint64_t positions, widened, experts;
    bool tied; /* the output projection is the embedding's table */
    tn_arena *arena;
    tn_import *out;
    tn_error *error;
} tn_importer;

/* TN_INPUT that names the checkpoint. */
tn_status tn_importer_refuse(const tn_importer *importer, const char *format, ...) TN_PRINTF(2, 3);

/* A note for people; beyond TN_IMPORT_NOTES it is left away. */
tn_status tn_importer_note(tn_importer *importer, const char *format, ...) TN_PRINTF(2, 3);

/* TN_INPUT: there is no array of a role that the family needs. */
tn_status tn_importer_lacks(const tn_importer *importer, tn_tensor_role role);

/* The role's matrix is rows x columns as the family stores it, and present. Biases are absent or of `rows`. */
tn_status tn_importer_matrix(tn_importer *importer, tn_tensor_role role, uint64_t rows, uint64_t columns);
/* The same of one that may be absent. */
tn_status tn_importer_optional(tn_importer *importer, tn_tensor_role role, uint64_t rows, uint64_t columns);

/* Elements of a role's arrays, with their biases. */
uint64_t tn_importer_elements(const tn_importer *importer, tn_tensor_role role);

/* The comment that a written file begins with. */
void tn_importer_begin(const tn_importer *importer, tn_buffer *out);

/* What grouped queries and a gated feed-forward are made of. */
typedef struct tn_grouped_sizes {
    uint64_t hidden, head, kv_heads, experts;
    uint64_t biases; /* of a layer's attention, with the norms of heads */
} tn_grouped_sizes;

/* import_model.c: checks what the kind of model needs and appends the file. */
tn_status tn_import_layers(tn_importer *importer, tn_buffer *out);

/* Of the layers that repeat: "encoder" or, of a family with grouped queries, "decoder". */
const char *tn_importer_block(const tn_importer *importer);

#endif
