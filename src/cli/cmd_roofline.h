/* The parts of `tenfold roofline`, and what they share. */
#ifndef TN_CLI_CMD_ROOFLINE_H
#define TN_CLI_CMD_ROOFLINE_H

#include "cli/options.h"
#include "roofline/roofline.h"

extern const tn_command tn_roofline_fit_command, tn_roofline_step_command;

/* The roofline of a device named on the command line. */
tn_status tn_roofline_load(const char *device_name, const tn_option_list *set, tn_arena *arena,
                           tn_roofline **roofline, tn_error *error);

#endif
