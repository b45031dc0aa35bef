#include "cli/commands.h"

/* Commands of the satellites (docs/README.md) stand where the build has them. */
#ifdef TENFOLD_SATELLITES
#define SATELLITE(command) &command,
#else
#define SATELLITE(command)
#endif

/* clang-format off */
const tn_command *const tn_commands[] = {
    &tn_command_cost,
    &tn_command_order,
    &tn_command_sweep,
    &tn_command_merge,
    &tn_command_slurm,
    SATELLITE(tn_command_validate)
    SATELLITE(tn_command_train)
    SATELLITE(tn_command_accuracy)
    &tn_command_export,
    SATELLITE(tn_command_rtl)
    SATELLITE(tn_command_ranks)
    SATELLITE(tn_command_model)
    &tn_command_plot,
    &tn_command_report,
    &tn_command_recommend,
    &tn_command_query,
    &tn_command_compare,
    &tn_command_hardware,
    &tn_command_technique,
    &tn_command_roofline,
    SATELLITE(tn_command_finetune)
    &tn_command_list,
    &tn_command_doctor,
    &tn_command_completion,
};
/* clang-format on */
const size_t tn_commands_count = sizeof tn_commands / sizeof *tn_commands;
