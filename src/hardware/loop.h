/* Cycles of a loop as a high-level synthesis tool schedules it.
 *
 * Pipelined: a new iteration starts every II cycles, the last one runs to its end, and the loop is left one
 * cycle before the last iteration's registered end, but never before its interval has passed:
 *     (trips - 1) * II + max(iteration latency - 1, II).
 * Sequential: trips * iteration latency. No trips: 0 cycles.
 *
 * Source: loop tables of Vitis HLS 2022/2023 reports (tests/hardware/test_loop.c).
 */
#ifndef TN_HARDWARE_LOOP_H
#define TN_HARDWARE_LOOP_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_loop {
    uint64_t trips;
    uint64_t iteration_cycles; /* latency of one iteration, at least 1 */
    bool pipelined;
    uint64_t interval_cycles; /* II, at least 1; only read where pipelined */
} tn_loop;

tn_status tn_loop_cycles(const tn_loop *loop, uint64_t *cycles, tn_error *error);

TN_PUBLIC_END

#endif
