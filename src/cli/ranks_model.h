/* The ranks of a model's layers, on their way from what was asked to the answer (cli/ranks_model.c). */
#ifndef TN_CLI_RANKS_MODEL_H
#define TN_CLI_RANKS_MODEL_H

#include "cli/options.h"
#include "cli/ranks.h"
#include "ranks/rank_plan.h"

typedef struct tn_ranks_work {
    const tn_ranks_asked *asked;
    tn_arena arena;
    tn_error *error;
    tn_target target;
    tn_model *model;         /* of it */
    const tn_device *device; /* NULL: no budget needs one */
    tn_accuracy *accuracy;
    tn_trained trained;
    tn_layer_option_rule rule;
    tn_rank_plan plan;
    tn_rank_goal goal;
    tn_rank_outcome outcome;
} tn_ranks_work;

/* The answer for people, or as JSON. */
tn_status tn_ranks_print_text(const tn_ranks_work *w);
tn_status tn_ranks_print_json(const tn_ranks_work *w);

#endif
