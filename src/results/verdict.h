/* Which system decides: the verdict over the rows of a comparison of one model (results/comparison.h), by their own numbers.
 *
 * Time and energy are those of an epoch. At the own batch the rows of that batch stand against each other; at the best one
 * all rows do, each system at its own best. Crossing points are roots: at which batch, power, latency or price of the board
 * the answer turns.
 */
#ifndef TN_RESULTS_VERDICT_H
#define TN_RESULTS_VERDICT_H

#include "results/comparison.h"

typedef enum tn_compared_quantity {
    TN_COMPARED_TIME,
    TN_COMPARED_ENERGY,
    TN_COMPARED_QUANTITIES
} tn_compared_quantity;
extern const char *const tn_compared_quantity_names[]; /* "time", "energy"; ended by NULL */

typedef struct tn_decision {
    const char *model;
    uint32_t quantity;  /* tn_compared_quantity */
    const char *batch;  /* "own" or "best" */
    const char *winner; /* tn_compare_label of the row */
    double value;       /* its time or energy of an epoch: s, J */
    const char *fpga;   /* the best FPGA's row; NULL: no design fits, nor have the keys below a value */
    double fpga_value;
    const char *opponent; /* the best of all others */
    double opponent_value;
    double ratio; /* opponent_value / fpga_value: above 1 the FPGA wins */
    bool sure;    /* the ranges of the two do not meet */
} tn_decision;

typedef enum tn_crossing_kind {
    TN_CROSSING_BATCH_TIME,   /* from this batch on the opponent takes less time an example */
    TN_CROSSING_BATCH_ENERGY, /* or less energy */
    TN_CROSSING_POWER, /* the FPGA's mean power at which its energy at the own batch is the opponent's */
    TN_CROSSING_REST,  /* its power at rest at which it is */
    TN_CROSSING_BUDGET, /* what the opponent of the least power draws at the own batch: below it only the FPGA trains */
    TN_CROSSING_LATENCY, /* the FPGA's shortest step: asked for less, it is none that can */
    TN_CROSSING_PRICE, /* of the board, at which an epoch costs what it costs on a rented GPU at the own batch */
    TN_CROSSING_PRICE_BEST, /* the same at the best batches */
    TN_CROSSINGS
} tn_crossing_kind;
extern const char *const tn_crossing_names[]; /* "batch-time", ...; ended by NULL */

typedef struct tn_crossing {
    const char *model;
    uint32_t kind; /* tn_crossing_kind */
    double value;  /* NAN: nowhere */
    const char *unit;
    const char *opponent; /* label; NULL: none */
} tn_crossing;

/* What a claimed ratio of energies, tensor training on a GPU over the design, is under other assumptions: power at rest of the
 * FPGA against the time of the GPU's step. */
typedef struct tn_energy_ratio {
    const char *model, *system;
    double rest_W;
    double kernels, least, launched,
        most; /* the ratio where the step takes its kernels alone, or is launched */
    double kernels_seconds, least_seconds, launched_seconds, most_seconds; /* those steps */
    double claimed;                                                        /* the published ratio */
    double claimed_seconds; /* the step that would make it true */
} tn_energy_ratio;

typedef struct tn_judgement {
    const char *model;
    size_t decisions, crossings, ratios;
    tn_decision decision[2 * TN_COMPARED_QUANTITIES];
    tn_crossing crossing[TN_CROSSINGS];
    tn_energy_ratio ratio[3]; /* power at rest at its least, as it stands, at its most */
    const char *verdict;      /* in words */
} tn_judgement;

/* What an hour of a system costs to rent, electricity included. */
typedef struct tn_rent {
    const char *system;
    double usd_per_hour;
} tn_rent;

typedef struct tn_rent_terms {
    double usd_per_kWh, years; /* over which a bought board is used, day and night */
    size_t rents;
    const tn_rent *rent;
} tn_rent_terms;

/* "h200, dense, graph, batch 1"; at a best batch with ", 70 updates an epoch" behind it */
tn_status tn_compare_label(const tn_comparison_row *row, tn_arena *arena, const char **label,
                           tn_error *error);

/* The rows of one model, and the steps that the batch may cross on; `host_W` is in the rows already. `claims`: NULL or those
 * whose ratio of energies is asked about. */
tn_status tn_judge_rows(const tn_comparison_row *row, size_t rows, const tn_compared_step *step, size_t steps,
                        const tn_rent_terms *terms, double host_W, const tn_claims *claims, tn_arena *arena,
                        tn_judgement *judgement, tn_error *error);

#endif
