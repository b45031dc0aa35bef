/* One design's price with its origin: kernels, memories, misfits with their largest contributors, the
 * timeline and its critical path, energy by part, and the unverified figures that the numbers rest on. The
 * same parts as in tn_price_step, so the same numbers.
 */
#ifndef TN_DESIGN_EXPLAIN_H
#define TN_DESIGN_EXPLAIN_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "design/array_layout.h"
#include "memory/placement.h"
#include "price/energy.h"
#include "price/price.h"
#include "price/waterfall.h"

#include <stdbool.h>

TN_PUBLIC_BEGIN

typedef struct tn_kernel_line {
    const char *name;
    uint64_t count;                   /* of equal kernels */
    uint64_t lanes;                   /* multiply-adds, or elements, that one takes a cycle */
    tn_resources used;                /* all of them together */
    uint64_t operations, busy_cycles; /* of the step, all kernels together */
    uint64_t critical_cycles;         /* of the critical path */
    double utilisation;               /* busy cycles / (count * cycles of the step) */
    double filled;                    /* multiply-adds done / those that the busy cycles hold; 0 for others */
} tn_kernel_line;

typedef struct tn_memory_line {
    const char *name; /* of its largest array: "encoder1.query.core2" */
    const char *role; /* of that array; "staging" */
    uint32_t arrays;  /* that live in it, its copies and groups */
    tn_placed placed; /* style, split, group, shape, blocks */
    /* Of its arrays, in the order of the step, the largest one's too; none where layouts are ideal. */
    uint32_t layouts;
    const tn_array_layout *layout, *largest;
} tn_memory_line;

enum { TN_LARGEST = 5 };

/* The largest contributors to a resource, greatest first. */
typedef struct tn_largest {
    uint32_t count;
    const char *name[TN_LARGEST];
    uint64_t amount[TN_LARGEST];
} tn_largest;

typedef struct tn_misfit {
    tn_resource resource;
    uint64_t needed, available;
    uint32_t count; /* of the largest contributors */
    const char *largest[TN_LARGEST];
    uint64_t amount[TN_LARGEST];
} tn_misfit;

typedef struct tn_timeline_item {
    uint32_t operation; /* of the step */
    uint32_t kernel;    /* line */
    uint64_t start, finish;
    bool critical; /* lies on the critical path */
} tn_timeline_item;

/* What the critical path waited for, counted by the cycles of the tasks waited for. */
typedef struct tn_waited {
    uint64_t data_cycles, kernel_cycles, port_cycles, order_cycles, external_cycles;
    const char *port; /* the memory whose ports were waited for longest; NULL: none was */
} tn_waited;

/* A product of that layer does these operations as its results are written (build.fusion). */
typedef struct tn_fused_line {
    const char *layer, *operations; /* "encoder1.out", "add encoder1.out.bias, add encoder1.norm.output" */
} tn_fused_line;

typedef struct tn_explanation {
    tn_price price;
    const tn_step *step; /* as the build does it: what `operation` counts in */
    const char *device;
    double clock_MHz;
    tn_resources available;
    uint32_t kernels, memories, misfits, items, fused_lines;
    const tn_kernel_line *kernel;
    const tn_memory_line *memory;
    const tn_misfit *misfit;
    const tn_timeline_item *item;
    const tn_fused_line *fused;
    tn_waited waited;
    tn_cells_price cells; /* of memory that loses what it holds; no arrays where it keeps it */
    double joules[TN_ENERGY_PARTS];
    /* The same with every unverified figure of energy at its least and at its most (price/energy.h). */
    double least_joules[TN_ENERGY_PARTS], most_joules[TN_ENERGY_PARTS];
    const tn_device_energy *coefficients; /* that the joules are made with */
    uint64_t floor_cycles; /* multiply-adds of the step over what the device's DSP blocks can do in a cycle */
    tn_fall_line fall[TN_FALLS]; /* from there to the step */
    const char *bound;           /* a sentence: what the step's time comes from */
    const char *rtl; /* "yes", or the key for which hardware is not generated (price/obstacle.h) */
    /* Whose operators the price rests on: "generated" (those that tenfold rtl builds), "hls", or "mixed". */
    const char *operator_set;
    uint32_t unverified_count;
    const char *const *unverified; /* keys of the device file */
} tn_explanation;

/* Of all kernels and memories, whether the resource is short or not. */
tn_largest tn_explanation_largest(const tn_explanation *explanation, tn_resource resource);

tn_status tn_price_explain(tn_workload *workload, const tn_build *build, tn_arena *arena,
                           tn_explanation *explanation, tn_error *error);

TN_PUBLIC_END

#endif
