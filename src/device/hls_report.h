/* Operators as reports of high-level synthesis (Vitis HLS, Vivado HLS) have them, as rows of a device file.
 *
 * Two reports are read, which are told by what they hold:
 *
 *   FUNCTION.verbose.rpt.xml  the clock's target, and tables of instances with their module, DSP blocks, LUTs and flip-flops
 *   csynth.xml                the clock's target, and the operators that were bound (BindNode) with latency and DSP blocks;
 *                             LUTs and flip-flops of operators are not in it
 *
 * An operator is an instance whose module is called like fadd_32ns_32ns_32_7_full_dsp_1, a name of the tool's own before it
 * or not: what it computes, widths of operands and result, stages, and how it is made. `stages` of a row is the one of
 * the name: cycles from operands to result, the latency that csynth.xml has and one more. FP32 and FP16 are read; what
 * computes something else, or in 64 bits, is passed over. Of a module that several instances are of, and of functions,
 * one row is kept, with the greatest figures.
 */
#ifndef TN_DEVICE_HLS_REPORT_H
#define TN_DEVICE_HLS_REPORT_H

#include "base/error.h"
#include "base/memory.h"
#include "device/device_data.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tn_hls_report {
    tn_operator_row *row; /* set hls, origin report; unverified where has_logic is false */
    size_t count;
    bool has_logic; /* LUTs and flip-flops are known */
} tn_hls_report;

/* TN_INPUT with file, line and column where the file is no XML, no such report, or has a figure that is none; where it
 * holds no operator of these at all. */
tn_status tn_hls_report_load(const char *path, tn_arena *arena, tn_hls_report *report, tn_error *error);

#endif
