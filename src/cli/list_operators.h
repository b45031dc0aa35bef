/* tenfold list operators DEVICE|REPORT.xml */
#ifndef TN_CLI_LIST_OPERATORS_H
#define TN_CLI_LIST_OPERATORS_H

#include "cli/options.h"
#include "text/record.h"

/* Of a device's file as a table; of a report (*.xml) as rows that a device file takes under `operators`. */
tn_status tn_list_operators(tn_common *common, tn_error *error);

extern const tn_record tn_list_operators_record;

#endif
