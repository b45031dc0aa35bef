/* tenfold rtl: a linear layer's step as hardware in a folder, and what its simulation and synthesis say of the price. */
#ifndef TN_RTL_GENERATE_H
#define TN_RTL_GENERATE_H

#include "rtl/request.h"

/* tenfold rtl of a whole step, or of a layer of any kind. Internal to the room. */

/* Writes sources, program, memory images and operands/NAME.npy; runs what is asked for, then results/NAME.npy. A layer
 * that is not linear, an arithmetic without templates or a layout that none builds is TN_INPUT. */
tn_status tn_rtl_generate(const tn_rtl_request *request, tn_arena *arena, tn_rtl_answer *answer,
                          tn_error *error);

#endif
