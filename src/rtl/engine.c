#include "rtl/engine.h"

#include "base/checked.h"

uint64_t tn_rtl_port_lanes(const tn_rtl_engine *engine, tn_rtl_port port) {
    const tn_rtl_design *design = engine->design;
    const uint64_t lanes[] = {design->rows * design->terms, design->terms * design->columns,
                              design->rows * design->columns};
    const uint64_t edge = tn_greatest(design->rows, design->columns), rows[] = {edge, design->columns, edge};
    if (port == TN_RTL_EXTRA) return design->vector;
    if (port >= TN_RTL_ADDED_FIRST) return design->rows * design->columns;
    const uint64_t own = design->systolic ? rows[port] : lanes[port];
    return engine->updates || engine->circuits ? tn_greatest(own, design->vector) : own;
}
