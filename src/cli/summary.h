/* What `tenfold sweep` and `tenfold merge` say at their end. */
#ifndef TN_CLI_SUMMARY_H
#define TN_CLI_SUMMARY_H

#include "explore/result.h"

#include <stdbool.h>

tn_status tn_print_summary(const tn_summary *summary, const char *folder, bool json, tn_error *error);

/* Says that the result is not of the whole space, where that is so; `aside`: on standard error. */
void tn_print_incomplete(const tn_result *result, bool aside);

#endif
