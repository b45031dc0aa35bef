/* From operations to a step: when each operation runs, on which kernel.
 *
 * A task starts once the tasks it needs have finished, its kernel is free and its stream has come to it. A
 * kernel runs its tasks one at a time, in the order of the step; so does a stream.
 *   sequential          one stream: an operation after the other
 *   gradients-together  two streams: weight gradients and updates beside everything else
 * Starts and ends are exact (integers, cycles from the start of the step); a simulation that plays the same
 * rules cycle by cycle agrees (tests/hardware/test_schedule.c).
 */
#ifndef TN_HARDWARE_SCHEDULE_H
#define TN_HARDWARE_SCHEDULE_H

#include "base/error.h"

#include <stdint.h>

enum { TN_STREAMS = 2, TN_UNITS_MOST = 64 };

typedef struct tn_task {
    uint32_t unit, stream;
    uint32_t after_count;
    const uint32_t *after; /* earlier tasks */
    uint32_t work;         /* its cycles are cycles[work] */
} tn_task;

typedef struct tn_schedule {
    uint32_t tasks, streams; /* streams 1: all tasks in one */
    const tn_task *task;
    uint32_t unit[TN_UNITS_MOST]; /* kernel that serves a task's unit */
} tn_schedule;

/* finish[i]: cycle in which task i has ended; *total: the last of them. The caller sees to it that the sum of
 * all cycles fits 64 bits. */
void tn_schedule_run(const tn_schedule *schedule, const uint64_t *cycles, uint64_t *finish, uint64_t *total);

#endif
