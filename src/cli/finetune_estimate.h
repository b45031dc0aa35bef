/* tenfold finetune cost MODEL: a bill from counts, roofline and memory, where nothing was measured; beside the laws of
 * measurements, where some were. */
#ifndef TN_CLI_FINETUNE_ESTIMATE_H
#define TN_CLI_FINETUNE_ESTIMATE_H

#include "cli/options.h"

typedef struct tn_estimate_asked {
    tn_common *common;
    const char *model, *names, *method, *data, *table,
        *plot;                         /* NULL: not given; names: of GPUs, between commas */
    tn_option_list tokens, set, price; /* tokens: N or DATASET=N; price: [GPU=]USD */
    const char *lengths;               /* a CSV file of lengths; NULL: not given */
    double spread, longest;            /* of lengths; NAN: not given */
    bool packed;                       /* queries are not padded */
    uint64_t queries, batch;           /* batch 0: by memory */
    uint64_t gpus_per_node, nodes;     /* 0: one */
    double epochs, sparsity;           /* sparsity NAN: the model's own */
} tn_estimate_asked;

/* Whether `name` is a model and no file of measurements. */
bool tn_estimate_names_model(const char *name);
tn_status tn_finetune_estimate_bill(const tn_estimate_asked *asked, int *answer, tn_error *error);

#endif
