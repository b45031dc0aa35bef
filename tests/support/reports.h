/* Memories of UltraScale+ parts that took block RAM in Vitis HLS reports, in the order of the reference data
 * (oracles/fpga/hls_memory_rows.csv), with how each comes about. */
#ifndef TEST_SUPPORT_REPORTS_H
#define TEST_SUPPORT_REPORTS_H

#include <stdint.h>

typedef enum test_report_kind {
    TEST_PLAIN,          /* simple dual port */
    TEST_DUAL,           /* true dual port: twice the blocks where the width was 36 */
    TEST_DUAL_PING_PONG, /* and both halves of a ping-pong */
    TEST_OPEN,           /* not explained */
} test_report_kind;

typedef struct test_report {
    const char *part, *module;
    uint64_t words, bits, bram18;
    test_report_kind kind;
    const char *remark;
} test_report;

enum { TEST_REPORTS = 18 };
extern const test_report test_reports[TEST_REPORTS];

/* What the model says of it: of its kind; of a plain one where that is open. */
uint64_t test_report_bram18(const test_report *report);

#endif
