/* What `tenfold cost` answers: one design, priced and explained, and its flows compared. */
#ifndef TN_CLI_COST_H
#define TN_CLI_COST_H

#include "base/error.h"
#include "base/memory.h"
#include "design/changes.h"
#include "design/explain.h"
#include "device/device_data.h"
#include "model/step.h"
#include "results/remedy.h"
#include "text/record.h"

typedef struct tn_cost_phase {
    const char *name;
    uint64_t macs, vector_flops, flops; /* flops: 2 macs + vector_flops */
    double share;                       /* of all FLOPs */
} tn_cost_phase;

typedef struct tn_cost_layer {
    tn_step_layer layer;
    /* Layers of a repeated block that cost the same share a line: so many, the first of them; of the others 0. */
    uint64_t count, greatest_peak_elements;
    const char *shown, *ranks; /* for people: "encoder*.query", "12" */
} tn_cost_layer;

typedef struct tn_cost_memory {
    const char *key, *name;
    uint64_t elements, bytes;
} tn_cost_memory;

typedef struct tn_cost_resource {
    const char *name;
    uint64_t used, available;
    double share; /* NAN: some is used and there is none */
} tn_cost_resource;

typedef struct tn_cost_kernel {
    tn_kernel_line line;
    double critical_share; /* of the step's cycles */
} tn_cost_kernel;

/* The range is over the figures of energy that are not verified, all at their least and all at their most. */
typedef struct tn_cost_energy {
    const char *name;
    double joules, least, most, share;
} tn_cost_energy;

/* Contents of memory by role; parts of energy, then sums of them. */
enum { TN_COST_MEMORIES = 7, TN_COST_DYNAMIC = TN_ENERGY_PARTS, TN_COST_ALL, TN_COST_ENERGIES };

typedef struct tn_cost {
    /* Given: */
    tn_step step;
    tn_build build;
    tn_explanation why;
    tn_grouping grouping[TN_GROUPINGS];
    uint32_t clocks;
    tn_clock_price clock[TN_CLOCKS_MOST];
    uint32_t flows;
    tn_flow_price flow[TN_FLOW_PRICES_MOST];
    uint32_t techniques;
    tn_technique_price *technique;
    tn_remedies remedies; /* where it does not fit */
    struct {
        char change[48];
        uint64_t was;
        double seconds_per_step;
    } faster; /* where it fits: the double of a count of its build that is fastest and fits; 0 s: none is faster */
    const char *figure; /* path of the drawn timeline; NULL: none */
    /* Made of it: */
    tn_cost_phase phase[TN_PHASES];
    tn_cost_layer *layer; /* [step.layers] */
    uint32_t memories;
    tn_cost_memory memory[TN_COST_MEMORIES]; /* the last two of a step that decodes */
    tn_cost_resource resource[TN_RESOURCES];
    tn_cost_kernel *kernel; /* [why.kernels] */
    tn_cost_energy energy[TN_COST_ENERGIES];
    tn_device_energy coefficients;
    double seconds_per_epoch;
    bool has_shell; /* the two below are in `resource` and in `fits` */
    uint64_t shell_lut, shell_ff;
    bool fits;
    const char *rtl;          /* "yes", or the key that keeps it from being generated */
    const char *operator_set; /* whose operators the price rests on: "generated", "hls" or "mixed" */
} tn_cost;

/* Of a step's energy by part: all together. */
double tn_cost_joules(const double joules[TN_ENERGY_PARTS]);

extern const tn_record tn_cost_record;                                 /* the whole answer */
extern const tn_record tn_cost_memory_record, tn_cost_grouping_record; /* of tn_memory_line, tn_grouping */

/* For people: the first page, whose last line says how to ask for more (`again`: the arguments); the design's memories, and what
 * grouping and placement are worth. */
/* Whether hardware is generated of the design, or which key prevents it, and whose operators are priced: in `text`. */
enum { TN_HARDWARE_TEXT = 160 };
const char *tn_hardware_text(const tn_explanation *why, char text[TN_HARDWARE_TEXT]);

void tn_cost_print_page(const tn_cost *cost, const char *again);
tn_status tn_cost_print_memories(const tn_cost *cost, tn_error *error);

/* Makes what is made of the given. */
tn_status tn_cost_prepare(tn_cost *cost, tn_arena *arena, tn_error *error);

#endif
