/* What a publication claims of training on an FPGA and on GPUs: a file of kind claims, looked up in models/claims. */
#ifndef TN_EXPLORE_CLAIMS_H
#define TN_EXPLORE_CLAIMS_H

#include "base/arena.h"
#include "base/error.h"
#include "text/schema.h"

#include <stdbool.h>

typedef enum tn_claim_kind {
    TN_CLAIM_DENSE_BYTES,  /* of the uncompressed model's parameters */
    TN_CLAIM_MEMORY_RATIO, /* memory of uncompressed training on `against` over that of the design */
    TN_CLAIM_BRAM_BYTES,   /* that the design takes */
    TN_CLAIM_URAM_BYTES,
    TN_CLAIM_ENERGY_RATIO, /* of an epoch: tensor training on `against` over the design */
} tn_claim_kind;

typedef struct tn_claim {
    uint32_t what;       /* tn_claim_kind */
    const char *model;   /* that it speaks of; NULL: all of the file's models together */
    const char *against; /* the GPU of ratios */
    double least, most;  /* as published; least 0: "up to", "less than" */
    const char *text;
} tn_claim;

typedef struct tn_claims {
    const char *name, *source;
    tn_text_list models;
    size_t count;
    const tn_claim *claim;
} tn_claims;

extern const tn_schema tn_claims_schema;

/* A path or a bare name. Lives in `arena`. */
tn_status tn_claims_load(const char *name, tn_arena *arena, tn_claims *claims, tn_error *error);
/* Whether the publication speaks of that model. */
bool tn_claims_cover(const tn_claims *claims, const char *model);

#endif
