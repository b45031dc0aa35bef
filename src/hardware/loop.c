#include "hardware/loop.h"

#include "base/checked.h"

static tn_status overflow(tn_error *error) {
    return tn_fail(error, TN_OVERFLOW, "the loop's cycles do not fit 64 bits; give it fewer trips");
}

tn_status tn_loop_cycles(const tn_loop *loop, uint64_t *cycles, tn_error *error) {
    if (loop->iteration_cycles == 0)
        return tn_fail(error, TN_INPUT, "a loop whose iteration takes 0 cycles; it takes at least 1");
    if (loop->pipelined && loop->interval_cycles == 0)
        return tn_fail(error, TN_INPUT, "a pipelined loop with interval 0; it is at least 1");
    uint64_t total = 0;
    if (loop->trips == 0) {
        *cycles = 0;
        return TN_OK;
    }
    if (!loop->pipelined) {
        if (!tn_mul(loop->trips, loop->iteration_cycles, &total)) return overflow(error);
    } else {
        uint64_t tail = loop->iteration_cycles - 1;
        if (tail < loop->interval_cycles) tail = loop->interval_cycles;
        total = tail;
        if (!tn_mul_add(loop->trips - 1, loop->interval_cycles, &total)) return overflow(error);
    }
    *cycles = total;
    return TN_OK;
}
