/* What of a step and a build has templates, whichever part of the step is generated. */
#ifndef TN_RTL_BUILDABLE_H
#define TN_RTL_BUILDABLE_H

#include "hardware/build.h"
#include "model/step.h"

/* TN_INPUT names the first thing that has none: an array other than lanes, a precision other than FP32, weights with
 * zeros that a kernel would have to pass over. */
tn_status tn_rtl_check_buildable(const tn_step *step, const tn_build *build, tn_error *error);

#endif
