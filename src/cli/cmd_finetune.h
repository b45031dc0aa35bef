/* Subcommands of `tenfold finetune`, and what they share. */
#ifndef TN_CLI_CMD_FINETUNE_H
#define TN_CLI_CMD_FINETUNE_H

#include "base/arena.h"
#include "cli/options.h"
#include "cli/output.h"
#include "finetune/cross_validation.h"
#include "text/json.h"

extern const tn_command tn_finetune_fit_command, tn_finetune_batch_command, tn_finetune_cost_command,
    tn_finetune_predict_command, tn_finetune_count_command;

/* --- Choosing a law. */

typedef enum tn_law_choice { TN_LAW_BEST, TN_LAW_LOG, TN_LAW_STEP } tn_law_choice;
/* "log", "step" or "best". */
tn_status tn_law_choice_find(const char *name, tn_law_choice *choice, tn_error *error);

/* Both laws on the group, and the chosen one. `c3`: of the option; 0: that of the model file, where there is
 * one. An undetermined chosen law is TN_INPUT. */
tn_status tn_study_and_choose(const tn_finetune_group *group, tn_law_choice choice, double c3,
                              tn_arena *arena, tn_finetune_study *study, tn_finetune_law *law,
                              tn_error *error);

/* *GB = what the model file called `name` says the model takes: as published, else its weights as stored. NAN
 * where there is no such file. */
tn_status tn_model_memory(const char *name, tn_arena *arena, double *GB, tn_error *error);

/* --- Reading options. */

/* TN_INPUT unless 0 < value <= most; `what` is the option. */
tn_status tn_need_positive(const char *what, double value, double most, tn_error *error);

/* --- Output. */

/* key: [low, high], or null where there is none. */
void tn_json_put_interval(tn_json *json, const char *key, const tn_finetune_interval *interval);

#endif
