/* A sweep as one page of HTML that needs nothing else: no network, no other file.
 *
 * plots/report.html is its frame; report.css, report.js and the data go into it. The data are the texts of front.csv,
 * recommended.csv, sweep.json and validation.csv as they lie in the folder, so that the page's numbers are theirs; titles, units
 * and prefixes (text/words.h); and of every design of the front what its memories, kernels and layers take (design/explain.h), so
 * that the page shows any of them. */
#ifndef TN_PLOT_REPORT_H
#define TN_PLOT_REPORT_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "results/result.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_report {
    uint64_t advised;      /* the design that is recommended */
    const char *advice;    /* why, as lines "label<tab>text" */
    const uint64_t *about; /* the design that the page opens with; NULL: the recommended one */
} tn_report;

/* Writes the page of a loaded folder, whole or not at all. TN_INPUT where the front is empty or the space has no such design. */
tn_status tn_report_write(const tn_result *result, const tn_report *report, const char *path, tn_arena *arena,
                          tn_error *error);

TN_PUBLIC_END

#endif
