/* What grouping and placement are worth for one design: the memories of a build with each core alone, as the
 * build groups them, and placed by search. */
#ifndef TN_HARDWARE_GROUPING_H
#define TN_HARDWARE_GROUPING_H

#include "base/error.h"
#include "hardware/price.h"

#include <stdbool.h>

enum { TN_GROUPINGS = 3 };

typedef struct tn_grouping {
    const char *name; /* "each core alone", "as built", "searched" */
    uint64_t bram18, uram, lutram;
    double stored_bits, capacity_bits; /* of all memories together */
    bool fits;                         /* beside the build's kernels */
    bool exact;                        /* nothing else fits in less; false for what was not searched */
} tn_grouping;

/* line[TN_GROUPINGS] */
tn_status tn_grouping_compare(tn_workload *workload, const tn_build *build, tn_grouping *line,
                              tn_error *error);

#endif
