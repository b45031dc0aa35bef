/* From a design to its engine: patterns of the ports, one descriptor an operation, and the cycles that each takes
 * (rtl/compile_pass.h).
 */
#ifndef TN_RTL_COMPILE_H
#define TN_RTL_COMPILE_H

#include "rtl/engine.h"

/* Everything lives in `arena`; *design must outlive it. index_size: of every index that operations name. */
tn_status tn_rtl_compile(const tn_rtl_design *design, const uint64_t *index_size, tn_arena *arena,
                         tn_rtl_engine *engine, tn_error *error);

#endif
