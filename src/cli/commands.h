/* The table of commands: one line a command, in the order of `tenfold help`; each lives in cmd_NAME.c. */
#ifndef TN_CLI_COMMANDS_H
#define TN_CLI_COMMANDS_H

#include "cli/options.h"

extern const tn_command tn_command_slurm;
extern const tn_command tn_command_sweep;
extern const tn_command tn_command_merge;
extern const tn_command tn_command_plot;
extern const tn_command tn_command_report;
extern const tn_command tn_command_recommend;
extern const tn_command tn_command_query;
extern const tn_command tn_command_compare;
extern const tn_command tn_command_hardware;
extern const tn_command tn_command_technique;
extern const tn_command tn_command_roofline;
extern const tn_command tn_command_cost;
extern const tn_command tn_command_order;
extern const tn_command tn_command_finetune;
extern const tn_command tn_command_list;
extern const tn_command tn_command_doctor;
extern const tn_command tn_command_completion;
extern const tn_command tn_command_ranks;
extern const tn_command tn_command_model;
extern const tn_command tn_command_validate;
extern const tn_command tn_command_train;
extern const tn_command tn_command_accuracy, tn_accuracy_fit_command, tn_accuracy_predict_command;
extern const tn_command tn_command_rtl;
extern const tn_command tn_command_export;
extern const tn_command tn_command_schema;

extern const tn_command *const tn_commands[];
extern const size_t tn_commands_count;
/* TN_INPUT where there is none of that name. */
tn_status tn_command_find(const char *name, const tn_command **command, tn_error *error);

#endif
