/* Subcommands of `tenfold finetune`, and what they share. */
#ifndef TN_CLI_CMD_FINETUNE_H
#define TN_CLI_CMD_FINETUNE_H

#include "base/memory.h"
#include "cli/options.h"
#include "cli/output.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"
#include "text/json.h"

extern const tn_command tn_finetune_fit_command, tn_finetune_batch_command, tn_finetune_cost_command,
    tn_finetune_predict_command, tn_finetune_count_command, tn_finetune_profile_command;

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

/* Takes what --price says, [GPU=]USD each, instead of the table's prices. */
tn_status tn_take_prices(const tn_option_list *given, tn_gpu_table *table, tn_error *error);

/* Appends what --method full, lora or qlora (NULL: the file's own) sets in a model. */
tn_status tn_take_method(const char *method, const char **set, size_t *count, tn_error *error);

/* --- Output. */

/* A GPU that has no bill. */
typedef struct tn_left_out {
    const char *gpu, *why;
} tn_left_out;
extern const tn_record tn_left_out_record;

/* The note of a bill's price for people, behind `before` ("": nothing): "price assumed", of which a reader should think. */
void tn_show_price_note(const tn_bill *bill, const char *before, tn_buffer *cell);
/* What stands below bills for people: who has none, and, where prices are assumed, how to give one's own. */
void tn_say_below_bills(const tn_left_out *left, size_t lefts, bool assumed);

/* The GPUs that can be rented: `tenfold list gpus`. */
tn_status tn_list_gpus(tn_common *common, tn_error *error);

/* key: [low, high], or null where there is none. */
void tn_json_put_interval(tn_json *json, const char *key, const tn_finetune_interval *interval);

#endif
