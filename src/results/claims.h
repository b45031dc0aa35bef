/* A design that a publication describes (results/claims.h), as a design of a space: found among the values of the space's
 * choices and priced like any other, so that it can be marked beside a front. */
#ifndef TN_RESULTS_CLAIMS_H
#define TN_RESULTS_CLAIMS_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "search/evaluator.h"
#include "text/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a publication claims of training on an FPGA and on GPUs, and the designs that it describes: a file of kind
 * claims, looked up in models/claims. */

TN_PUBLIC_BEGIN

typedef enum tn_claim_kind {
    TN_CLAIM_DENSE_BYTES,  /* of the uncompressed model's parameters */
    TN_CLAIM_MEMORY_RATIO, /* memory of uncompressed training on `against` over that of the design */
    TN_CLAIM_BRAM_BYTES,   /* that the design takes */
    TN_CLAIM_URAM_BYTES,
    TN_CLAIM_ENERGY_RATIO, /* of an epoch: tensor training on `against` over the design */
} tn_claim_kind;

typedef struct tn_claim {
    uint32_t what;        /* tn_claim_kind */
    const char *model;    /* that it speaks of; NULL: all of the file's models together */
    const char *baseline; /* the GPU of ratios */
    double least, most;   /* as published; least 0: "up to", "less than" */
    const char *text;
} tn_claim;

/* A design as it is published. Figures that are not are 0. */
typedef struct tn_claimed_design {
    const char *model, *device; /* a device without its variant stands for all of its variants */
    tn_text_list choices;       /* "weights.square.rank=12": keys and values as those of a space */
    double seconds_per_step, on_chip_bytes, dsp, accuracy;
    uint32_t origin; /* tn_origin */
    const char *source;
} tn_claimed_design;

/* What is said of the hardware that trains a model: a figure of its design, and how sure it is. */
typedef struct tn_claimed_figure {
    const char *model;
    const char *quantity; /* a quantity of designs (space/quantity.h): "dsp" */
    double value;
    uint32_t origin; /* tn_origin; unverified: remembered by readers, not read again */
    const char *source;
} tn_claimed_figure;

typedef struct tn_claims {
    const char *name, *source;
    tn_text_list models;
    size_t count;
    const tn_claim *claim;
    size_t designs;
    const tn_claimed_design *design;
    size_t figures;
    const tn_claimed_figure *figure;
} tn_claims;

extern const tn_schema tn_claims_schema;

/* A path or a bare name. Lives in `arena`. */
tn_status tn_claims_load(const char *name, tn_arena *arena, tn_claims *claims, tn_error *error);
/* Whether the publication speaks of that model. */
bool tn_claims_cover(const tn_claims *claims, const char *model);

TN_PUBLIC_END

/* *found: the space has the design's model and device, and among the values of its choices those of the design. Of
 * the build, what the publication does not say is the model file's; any other choice must be said. *evaluation is then what the design costs, whether it fits or not; without a price it is not found. */
tn_status tn_published_design(tn_evaluator *evaluator, const tn_space *space, const tn_claimed_design *design,
                              tn_evaluation *evaluation, bool *found, tn_error *error);

#endif
