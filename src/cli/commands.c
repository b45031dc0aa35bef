#include "cli/commands.h"

#include "base/name_index.h"

#include <string.h>

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
    &tn_command_schema,
};
/* clang-format on */
const size_t tn_commands_count = sizeof tn_commands / sizeof *tn_commands;

tn_status tn_command_find(const char *name, const tn_command **command, tn_error *error) {
    const char *names[sizeof tn_commands / sizeof *tn_commands];
    for (size_t i = 0; i < tn_commands_count; i++) {
        names[i] = tn_commands[i]->name;
        if (strcmp(name, names[i]) != 0) continue;
        *command = tn_commands[i];
        return TN_OK;
    }
    const char *near = tn_suggest(name, names, tn_commands_count);
    if (near) return tn_fail(error, TN_INPUT, "unknown command '%s'; did you mean '%s'?", name, near);
    return tn_fail(error, TN_INPUT, "unknown command '%s'; `tenfold help` lists them", name);
}
