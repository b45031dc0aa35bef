#include "base/placed.h"

#include <stdio.h>

tn_status tn_fail_placed(tn_error *error, tn_status status, tn_position at) {
    if (status != TN_INPUT && status != TN_LIMIT && status != TN_OVERFLOW) return status;
    if (!error || error->line || error->file[0]) return status;
    error->line = at.line;
    error->column = at.column;
    snprintf(error->file, sizeof error->file, "%s", at.file ? at.file : "");
    return status;
}
