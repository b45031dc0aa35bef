/* Generated hardware, run: `make simulate` in its folder, what it printed and what its memories then held. And
 * `make synthesise`: the resources that Yosys counts. */
#ifndef TN_RTL_SIMULATE_H
#define TN_RTL_SIMULATE_H

#include "base/clock.h"
#include "base/memory.h"
#include "rtl/engine.h"
#include "rtl/image.h"
#include "rtl/resources.h"

typedef struct tn_rtl_simulation {
    uint64_t *cycles; /* [operations]: of the last run */
    uint64_t total;
    tn_rtl_image memories; /* at the end */
    double seconds;        /* of building and running */
} tn_rtl_simulation;

/* `progress`: cycles. TN_IO where Verilator is missing (with the package to install), or the simulation can't be built or read. That
 * memories differ from the reference is no failure here: the caller compares. */
tn_status tn_rtl_simulate(const tn_rtl_engine *engine, const char *folder, const tn_progress *progress,
                          tn_arena *arena, tn_rtl_simulation *simulation, tn_error *error);

/* The operators' circuits are simulated up to this many multipliers; beyond, and beside a vector unit, products and
 * sums are the same arithmetic in C. */
enum { TN_RTL_CIRCUITS_MOST = 64 };
bool tn_rtl_simulates_circuits(const tn_rtl_engine *engine);

typedef struct tn_rtl_synthesis {
    tn_rtl_resources used;
    double seconds;
} tn_rtl_synthesis;

/* TN_IO where Yosys is missing (with the package to install), or fails. */
tn_status tn_rtl_synthesise(const char *folder, bool shell, tn_arena *arena, tn_rtl_synthesis *synthesis,
                            tn_error *error);

#endif
