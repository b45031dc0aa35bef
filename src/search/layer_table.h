/* What every option of every unit of a space adds to the costs of a design, under a list of builds
 * with one combination of model keys: the input of a front by decomposition (docs/decomposition.md).
 *
 * A step is made for each option, all units taking theirs at once, and its price is parted (price/parts.h). What no
 * unit touches must come out the same for all of them, or the table is refused. Where prices do not split, the parts are
 * lower bounds (price/part_bounds.h), and of what no unit touches the least counts. */
#ifndef TN_SEARCH_LAYER_TABLE_H
#define TN_SEARCH_LAYER_TABLE_H

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "price/part_bounds.h"
#include "price/parts.h"
#include "search/evaluator.h"
#include "search/units.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a sum of costs is of; all but degrees of freedom and accuracy are minimised. */
typedef enum tn_layer_cost {
    TN_COST_CYCLES,
    TN_COST_CAPACITY, /* of memory blocks, bits */
    TN_COST_BRAM18,
    TN_COST_URAM,
    TN_COST_DEGREES,
    TN_COST_PARAMETERS,
    TN_COST_MACS,
    TN_COST_OFF_CHIP,   /* bytes of arrays that live there, */
    TN_COST_MOVED,      /* and bytes that pass in a step */
    TN_COST_OPERATIONS, /* of the step, which its descriptors take memory by */
    TN_COST_JOULES,     /* of bounds alone, as all that follow: */
    TN_COST_STATIC_JOULES,
    TN_COST_DYNAMIC_JOULES,
    TN_COST_WATTS,
    TN_COST_LEARNED,   /* accuracy or perplexity (search/learned_bounds.h), */
    TN_COST_DEVIATION, /* with which it is known, */
    TN_COST_BASIS,     /* and what it rests on: tn_accuracy_basis */
    TN_COST_NOTHING,   /* 0 of everything: the objective of designs that no objective tells apart */
    TN_COSTS
} tn_layer_cost;

/* Costs that follow from the accuracy table. */
enum { TN_LEARNED_FIRST = TN_COST_LEARNED, TN_LEARNED_COSTS = TN_COST_BASIS - TN_COST_LEARNED + 1 };

/* Of a part; 0 for those that follow from no build. */
double tn_part_cost(const tn_price_part *part, tn_layer_cost cost);

/* Sums over layers that no build changes. */
typedef enum tn_layer_sum {
    TN_SUM_DEGREES,
    TN_SUM_PARAMETERS,
    TN_SUM_MACS,
    TN_SUM_WORK, /* multiply-adds of products that kernels do: less, where some are left out */
    TN_LAYER_SUMS
} tn_layer_sum;

typedef struct tn_unit_table {
    uint64_t options;
    bool *defined;                     /* [options]: formats have their flows */
    double *sum[TN_LAYER_SUMS];        /* [options] */
    double *learned[TN_LEARNED_COSTS]; /* [options]; NULL: not asked for */
    tn_price_part **part;              /* [builds][options] */
    tn_part_cores **cores;             /* [builds][options]: of bounds */
    tn_demand *demand;                 /* [common][options] */
} tn_unit_table;

/* A memory that several units bear on. Staging belongs to the builds that keep arrays of over so many bytes off chip. */
typedef struct tn_table_memory {
    tn_common_memory common;
    uint64_t off_chip_over_bytes, off_chip_tile_bytes; /* staging: of those builds */
    tn_demand rest;                                    /* by no unit */
    bool *user;                                        /* [units] */
} tn_table_memory;

typedef struct tn_layer_table {
    bool bounded; /* parts are bounds of prices, which do not split; no memories are common then */
    uint32_t units;
    tn_unit_table *unit;
    size_t builds;
    const tn_build *build;
    const tn_part_view *view; /* [builds]: where bounded */
    bool *
        impossible; /* [builds]: keys exclude each other, or caps or constraints every design, whatever the rest */
    tn_price_part *rest; /* [builds]: of no unit */
    double rest_sum[TN_LAYER_SUMS];
    double learned_rest[TN_LEARNED_COSTS];
    bool learns_more;        /* what is learned is accuracy: its costs are negated */
    tn_resources *kernels;   /* [builds]: of all kernels, which are the same for all options */
    uint32_t common, shared; /* the first `shared` are arrays, the rest staging */
    tn_table_memory *memory; /* [common] */
    uint64_t word_bits, steps_per_epoch;
    const char *stage;   /* "builds surveyed", "tables made": what was done when it ended, */
    double share;        /* and how much of it */
    bool empty;          /* some unit has no defined option */
    const char *refused; /* NULL, or why prices do not split */
} tn_layer_table;

/* What an option of a unit adds to a cost under a build, and what no unit adds; negated where more is better. */
double tn_option_cost(const tn_layer_table *table, size_t build, uint32_t unit, uint64_t option,
                      tn_layer_cost cost);
double tn_rest_cost(const tn_layer_table *table, size_t build, tn_layer_cost cost);
bool tn_cost_is_negated(const tn_layer_table *table, tn_layer_cost cost);

/* How a table is made. */
typedef struct tn_table_work {
    double deadline;             /* tn_clock_seconds: TN_INTERRUPTED after it, and by interruptions; */
    bool is_paced;               /* and as soon as it is plain that it will be too short */
    unsigned threads;            /* 0: as many as there are */
    const tn_progress *progress; /* NULL: none */
    uint64_t table, tables; /* it is one of so many that follow each other, for the progress; 0 of 0: alone */
} tn_table_work;

/* digit[choices]: of the model keys (the rest is not read). inner[builds]: combinations of the build's choices. bounded: parts
 * are to be bounds. Lives in `arena`. */
tn_status tn_layer_table_make(const tn_space *space, const tn_units *units, const uint32_t *digit,
                              const uint64_t *inner, size_t builds, bool bounded, const tn_table_work *work,
                              tn_arena *arena, tn_layer_table *table, tn_error *error);

#endif
