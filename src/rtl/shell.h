/* The folder's shell (templates/shell.sv), host program (templates/host) and the vendor's scripts (templates/vitis), for a card.
 * Nothing of the scripts has been run by the vendor's tools. */
#ifndef TN_RTL_SHELL_H
#define TN_RTL_SHELL_H

#include "rtl/step_run.h"

/* What a host can train: a whole step that ends in a loss. Else TN_INPUT. */
tn_status tn_rtl_shell_check(const tn_rtl_request *request, tn_error *error);

/* Behind tn_rtl_run_write: sources, host/, vitis/, and examples.txt, which holds the run's examples as the host reads them. */
tn_status tn_rtl_shell_write(const tn_rtl_step_run *run, const tn_rtl_resources *used);

#endif
