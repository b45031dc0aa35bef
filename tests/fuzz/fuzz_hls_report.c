/* Any bytes as a report of high-level synthesis: refused with an error, or rows that a device file could have. */
#include "device/hls_report.h"
#include "named_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_hls_report report;
    tn_error error;
    if (tn_hls_report_load(named_file(data, size), &arena, &report, &error) == TN_OK) {
        if (report.count == 0) abort();
        for (size_t i = 0; i < report.count; i++) {
            const tn_operator_row *row = &report.row[i];
            if (row->stages == 0 || row->stages > 256 || !(row->period_ns >= 0.1) ||
                !(row->period_ns <= 1000) || row->lut > 1000000 || row->ff > 1000000 || row->dsp > 1000000 ||
                row->operator_kind >= TN_OPERATORS)
                abort();
        }
    }
    tn_arena_free(&arena);
    return 0;
}
