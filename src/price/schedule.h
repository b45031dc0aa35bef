/* From operations to a step: when each task runs, on which kernel, and what the step waits for.
 *
 * A task needs one server of each of its resources: a kernel of its kind (there may be several), a read port
 * of every memory it reads, the write port of every memory it writes, its stream where there are streams. A
 * server that becomes free takes the next task of its resource's queue, in the order of the step, and keeps
 * it until the task ends; a task starts once all its servers wait for it and the tasks before it have ended.
 *
 * A task may run in `blocks` pieces, so that one that consumes its result row by row starts its piece b as
 * soon as piece b of that result is there (`streamed` waits). A piece takes piece_cycles[work] cycles.
 *
 * As every wait is for an earlier task, one pass over the tasks in order gives all starts and ends exactly,
 * in integer cycles from the start of the step. tests/price/test_schedule.c plays the same rules cycle by
 * cycle.
 */
#ifndef TN_PRICE_SCHEDULE_H
#define TN_PRICE_SCHEDULE_H

#include "base/error.h"
#include "base/memory.h"
#include "device/build.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_TASK_RESOURCES_MOST = 18 }; /* ports of all reads and writes of an operation, kernel and stream */

typedef struct tn_task {
    uint32_t work; /* its cycles are cycles[work] */
    bool cut;      /* runs in pieces */
    uint8_t resources;
    uint32_t resource[TN_TASK_RESOURCES_MOST]; /* distinct */
    uint32_t after_count;
    const uint32_t *after;   /* earlier tasks that must have ended */
    uint32_t streamed_count; /* of them, the first ones: only piece by piece, both tasks being cut */
} tn_task;

typedef struct tn_schedule {
    uint32_t tasks, resources, blocks;
    const tn_task *task;
    const uint8_t *servers;       /* [resources], 1 to TN_SERVERS_MOST */
    const uint64_t *cycles;       /* of a task that is not cut, by work */
    const uint64_t *piece_cycles; /* of a piece of one that is */
} tn_schedule;

/* What a task waited for last before it could start. */
typedef enum tn_wait { TN_WAIT_NOTHING, TN_WAIT_TASK, TN_WAIT_RESOURCE } tn_wait;

typedef struct tn_task_time {
    uint64_t start, finish;
    tn_wait wait;
    uint32_t waited_task;     /* the task that it waited for, or that had the resource */
    uint32_t waited_resource; /* TN_WAIT_RESOURCE */
} tn_task_time;

/* Memory that a run needs, kept between runs. */
typedef struct tn_schedule_scratch {
    uint64_t *free_at;   /* [resources * TN_SERVERS_MOST] */
    uint32_t *holder;    /* the same: task that had the server last */
    uint64_t *piece_end; /* [tasks * TN_BLOCKS_MOST], where any task is cut */
} tn_schedule_scratch;

tn_status tn_schedule_scratch_make(uint32_t tasks, uint32_t resources, tn_arena *arena,
                                   tn_schedule_scratch *scratch, tn_error *error);

/* Fills time[tasks]; *total: the end of the last task. The caller sees to it that the sum of all cycles fits
 * 64 bits. */
void tn_schedule_run(const tn_schedule *schedule, const tn_schedule_scratch *scratch, tn_task_time *time,
                     uint64_t *total);

/* The critical path: tasks from the last to end back to one that waited for nothing. path[tasks]; *count. */
void tn_schedule_path(const tn_schedule *schedule, const tn_task_time *time, uint32_t *path, uint32_t *count);

#endif
