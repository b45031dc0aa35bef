#include "price/schedule.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

tn_status tn_schedule_scratch_make(uint32_t tasks, uint32_t resources, tn_arena *arena,
                                   tn_schedule_scratch *scratch, tn_error *error) {
    size_t servers = (size_t)resources * TN_SERVERS_MOST;
    TN_TRY(TN_NEW(arena, servers, &scratch->free_at, error));
    TN_TRY(TN_NEW(arena, servers, &scratch->holder, error));
    return TN_NEW(arena, (size_t)tasks * TN_BLOCKS_MOST, &scratch->piece_end, error);
}

/* The server that is free first; of equals the lowest. */
static size_t first_free(const uint64_t *free_at, unsigned servers) {
    size_t best = 0;
    for (unsigned i = 1; i < servers; i++)
        if (free_at[i] < free_at[best]) best = i;
    return best;
}

static void wait_until(tn_task_time *time, uint64_t cycle, tn_wait wait, uint32_t task, uint32_t resource) {
    if (cycle <= time->start) return;
    *time = (tn_task_time){cycle, 0, wait, task, resource};
}

/* Ends of the pieces of a cut task; a piece follows the one before it and the pieces it consumes. */
static void run_pieces(const tn_schedule *schedule, const tn_schedule_scratch *scratch, uint32_t index,
                       tn_task_time *time) {
    const tn_task *task = &schedule->task[index];
    uint64_t *end = scratch->piece_end + (size_t)index * TN_BLOCKS_MOST;
    uint64_t cycles = schedule->piece_cycles[task->work], before = time->start;
    for (uint32_t piece = 0; piece < schedule->blocks; piece++) {
        for (uint32_t i = 0; i < task->streamed_count; i++) {
            uint64_t there = scratch->piece_end[(size_t)task->after[i] * TN_BLOCKS_MOST + piece];
            if (there <= before) continue;
            before = there;
            if (piece == 0) wait_until(time, there, TN_WAIT_TASK, task->after[i], NONE);
        }
        before = end[piece] = before + cycles;
    }
    time->finish = before;
}

void tn_schedule_run(const tn_schedule *schedule, const tn_schedule_scratch *scratch, tn_task_time *time,
                     uint64_t *total) {
    memset(scratch->free_at, 0, (size_t)schedule->resources * TN_SERVERS_MOST * sizeof *scratch->free_at);
    *total = 0;
    for (uint32_t i = 0; i < schedule->tasks; i++) {
        const tn_task *task = &schedule->task[i];
        size_t server[TN_TASK_RESOURCES_MOST];
        time[i] = (tn_task_time){.waited_task = NONE, .waited_resource = NONE};
        /* Of waits that end at once, data is told before resources: another kernel would not help then. */
        for (uint32_t j = task->streamed_count; j < task->after_count; j++)
            wait_until(&time[i], time[task->after[j]].finish, TN_WAIT_TASK, task->after[j], NONE);
        for (uint32_t j = 0; j < task->resources; j++) {
            uint32_t resource = task->resource[j];
            size_t first = (size_t)resource * TN_SERVERS_MOST;
            server[j] = first + first_free(&scratch->free_at[first], schedule->servers[resource]);
            wait_until(&time[i], scratch->free_at[server[j]], TN_WAIT_RESOURCE, scratch->holder[server[j]],
                       resource);
        }
        if (task->cut)
            run_pieces(schedule, scratch, i, &time[i]);
        else
            time[i].finish = time[i].start + schedule->cycles[task->work];
        for (uint32_t j = 0; j < task->resources; j++) {
            scratch->free_at[server[j]] = time[i].finish;
            scratch->holder[server[j]] = i;
        }
        if (time[i].finish > *total) *total = time[i].finish;
    }
}

void tn_schedule_path(const tn_schedule *schedule, const tn_task_time *time, uint32_t *path,
                      uint32_t *count) {
    uint32_t index = NONE;
    for (uint32_t i = 0; i < schedule->tasks; i++)
        if (index == NONE || time[i].finish > time[index].finish) index = i;
    for (*count = 0; index != NONE;
         index = time[index].wait == TN_WAIT_NOTHING ? NONE : time[index].waited_task)
        path[(*count)++] = index;
}
