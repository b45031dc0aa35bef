/* --set KEY=VALUE of a command that reads a model and a device: the first name of the path decides whose key
 * it is. What both have (kind, name) is the model's. */
#ifndef TN_CLI_SETS_H
#define TN_CLI_SETS_H

#include "base/error.h"
#include "cli/options.h"

typedef struct tn_sets {
    tn_option_list model, device;
} tn_sets;

/* A key of neither is TN_INPUT and suggests the nearest of both. */
tn_status tn_sets_divide(const tn_option_list *given, tn_sets *sets, tn_error *error);

#endif
