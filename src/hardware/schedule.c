#include "hardware/schedule.h"

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

void tn_schedule_run(const tn_schedule *schedule, const uint64_t *cycles, uint64_t *finish, uint64_t *total) {
    uint64_t unit_free[TN_UNITS_MOST] = {0}, stream_free[TN_STREAMS] = {0}, last = 0;
    for (uint32_t i = 0; i < schedule->tasks; i++) {
        const tn_task *task = &schedule->task[i];
        uint64_t *unit = &unit_free[schedule->unit[task->unit]];
        uint64_t *stream = &stream_free[schedule->streams > 1 ? task->stream : 0];
        uint64_t start = later(*unit, *stream);
        for (uint32_t j = 0; j < task->after_count; j++) start = later(start, finish[task->after[j]]);
        finish[i] = start + cycles[task->work];
        *unit = *stream = finish[i];
        last = later(last, finish[i]);
    }
    *total = last;
}
