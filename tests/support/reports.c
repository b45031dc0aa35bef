#include "support/reports.h"

#include "device/block.h"

#include <stddef.h>
#include <stdlib.h>

const test_report test_reports[TEST_REPORTS] = {
    {"xck26", "AUTO_1R", 32, 32, 1, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R", 256, 46, 2, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R", 256, 50, 2, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R1W", 24, 32, 1, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R1W", 24, 128, 4, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R1W", 24, 256, 8, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R1W", 48, 288, 8, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R1W", 192, 512, 58, TEST_DUAL_PING_PONG, "two ports (29) and ping-pong (x 2)"},
    {"xck26", "AUTO_1R1W", 576, 4096, 228, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R1W", 1152, 2048, 176, TEST_OPEN,
     "admitted: 3 % more than any plain tiling; the tool cuts it in a way the report does not show"},
    {"xck26", "BRAM_1R", 177, 20, 1, TEST_PLAIN, ""},
    {"xck26", "V_0ejP", 48, 32, 1, TEST_PLAIN, ""},
    {"xczu3eg", "AUTO_1R1W", 256, 24, 1, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R1W", 36, 32, 4, TEST_DUAL_PING_PONG, "two ports (2) and ping-pong (x 2)"},
    {"xck26", "AUTO_1R1W", 48, 32, 1, TEST_PLAIN, ""},
    {"xck26", "AUTO_1R1W", 48, 32, 6, TEST_OPEN,
     "admitted: six blocks for one bank; three copies of a ping-pong pair, or of two ports, would be six, "
     "but the report does not say"},
    {"xczu7ev", "linebuf_0", 512, 32, 2, TEST_DUAL, "two ports"},
    {"xczu7ev", "linebuf_1", 512, 32, 1, TEST_PLAIN, ""},
};

uint64_t test_report_bram18(const test_report *report) {
    bool dual = report->kind == TEST_DUAL || report->kind == TEST_DUAL_PING_PONG;
    const tn_array_memory array = {.words = report->words,
                                   .word_bits = report->bits,
                                   .accesses = 1,
                                   .group = 1,
                                   .style = TN_STYLE_BLOCK,
                                   .true_dual_port = dual,
                                   .ping_pong = report->kind == TEST_DUAL_PING_PONG};
    tn_array_blocks got;
    if (tn_array_memory_blocks(&array, TN_GEOMETRY_HLS, &got, NULL) != TN_OK) abort();
    return got.blocks.bram18;
}
