/* What was published (results/comparison.h), as `tenfold compare` sets it beside its rows and judges it. */
#ifndef TN_CLI_CMD_COMPARE_H
#define TN_CLI_CMD_COMPARE_H

#include "base/error.h"
#include "base/memory.h"
#include "results/comparison.h"
#include "text/json.h"
#include "text/record.h"

/* Of a tn_verdict. */
extern const tn_record tn_verdict_record;

#endif
