/* tenfold rtl of a whole step, or of a layer of any kind. Internal to the room. */
#ifndef TN_RTL_GENERATE_STEP_H
#define TN_RTL_GENERATE_STEP_H

#include "hardware/workload.h"
#include "rtl/generate.h"
#include "rtl/resources.h"

/* Without request->layer the whole step on a drawn or given example a step; with it that layer's operations on drawn
 * operands. */
tn_status tn_rtl_generate_step(const tn_rtl_request *request, tn_arena *arena, tn_rtl_answer *answer,
                               tn_error *error);

/* generate.c: the layouts that the step is priced with; of a build that is priced ideally those that would be found. */
tn_status tn_rtl_lay(const tn_rtl_request *request, tn_arena *arena, tn_workload **workload, tn_plan **plan,
                     tn_error *error);

/* generate.c: what an engine is counted to take, or what Yosys found. */
void tn_rtl_tell_resources(tn_rtl_answer *answer, const tn_rtl_resources *of, bool synthesised);

#endif
