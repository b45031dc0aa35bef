/* The parts of `tenfold roofline`: each is run with argv[0] its own name. */
#ifndef TN_CLI_CMD_ROOFLINE_H
#define TN_CLI_CMD_ROOFLINE_H

#include "cli/options.h"
#include "roofline/roofline.h"

tn_status tn_roofline_run_fit(int argc, char **argv, tn_error *error);
tn_status tn_roofline_run_step(int argc, char **argv, tn_error *error);

/* The roofline of a device named on the command line. */
tn_status tn_roofline_load(const char *device_name, const tn_option_list *set, tn_arena *arena,
                           tn_roofline **roofline, tn_error *error);

#endif
