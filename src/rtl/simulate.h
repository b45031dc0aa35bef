/* Generated hardware, run: `make simulate` in its folder, what it printed and what its memories then held. And
 * `make synthesise`: the resources that Yosys counts. */
#ifndef TN_RTL_SIMULATE_H
#define TN_RTL_SIMULATE_H

#include "base/arena.h"
#include "rtl/compile.h"
#include "rtl/image.h"

typedef struct tn_rtl_simulation {
    uint64_t *cycles; /* [operations]: of the last run */
    uint64_t total;
    tn_rtl_image memories; /* at the end */
    double seconds;        /* of building and running */
} tn_rtl_simulation;

/* TN_IO where Verilator is missing (with the package to install), or the simulation can't be built or read. That
 * memories differ from the reference is no failure here: the caller compares. */
tn_status tn_rtl_simulate(const tn_rtl_engine *engine, const char *folder, tn_arena *arena,
                          tn_rtl_simulation *simulation, tn_error *error);

typedef struct tn_rtl_synthesis {
    uint64_t lut, ff, dsp, bram18, uram, lutram; /* lut: logic; lutram: LUTs that are memory */
    double seconds;
} tn_rtl_synthesis;

tn_status tn_rtl_synthesise(const char *folder, tn_arena *arena, tn_rtl_synthesis *synthesis,
                            tn_error *error);

#endif
