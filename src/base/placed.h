/* The place of an error in its input, added where whoever found it could not know. */
#ifndef TN_BASE_PLACED_H
#define TN_BASE_PLACED_H

#include "base/error.h"

/* Adds the place to an error about an input that has none; returns `status`, as it is for all others. */
tn_status tn_fail_placed(tn_error *error, tn_status status, tn_position at);

#endif
