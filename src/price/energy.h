/* Energy of a step on an FPGA, all coefficients from the device file:
 *     static power * time, that of external memory and its controller included where it is used
 *   + sum over kernels of C V^2 (toggle * busy cycles + idle toggle * idle cycles), C = sum of amount * pF
 *     (of LUTs and flip-flops their wires' capacitance beside their own)
 *   + the clock tree: C V^2 in every cycle for each flip-flop that it reaches
 *   + the same of the memory blocks, which always idle besides their accesses
 *   + bits read and written * energy of an access, by kind of memory
 *   + bits moved off chip * energy of a bit + rows opened there * energy of a row
 *   + refreshes of cells that lose their value: floor(lifetime / retention) for each word of an activation.
 * With a deadline (model key dvfs) the clock is cycles / deadline and the voltage that of the device's operating points (key dvfs),
 * or falls in proportion, not below a least one.
 */
#ifndef TN_PRICE_ENERGY_H
#define TN_PRICE_ENERGY_H

#include "base/public.h"
#include "device/block.h"
#include "device/device_data.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_energy_part {
    TN_ENERGY_STATIC,
    TN_ENERGY_KERNELS,
    TN_ENERGY_CLOCK,
    TN_ENERGY_MEMORY_BLOCKS,
    TN_ENERGY_MEMORY_ACCESSES,
    TN_ENERGY_OFF_CHIP,
    TN_ENERGY_REFRESH,
    TN_ENERGY_PARTS
} tn_energy_part;
extern const char *const tn_energy_names[]; /* ended by NULL */

/* The voltage at that clock: by the device's operating points, at least the first and at most voltage_V; without points in
 * proportion to the clock. */
double tn_energy_volts(const tn_device *device, double MHz);

/* Capacitance of logic, pF; memory blocks in `amount` count too. */
double tn_energy_capacitance_pF(const tn_device *device, const tn_resources *amount);

typedef struct tn_activity {
    double seconds, cycles;
    double busy_pF, idle_pF;                      /* capacitance weighted by busy and by idle cycles */
    double block_pF;                              /* of the memory blocks */
    double clock_pF;                              /* of the clock tree */
    double access_bits[TN_STYLE_DISTRIBUTED + 1]; /* by style; auto stays 0 */
    double off_chip_pJ;                           /* of bits moved off chip and rows opened for them, */
    double off_chip_rest_W;                       /* and at rest of what moves them */
    double refresh_pJ;
    double
        lowered; /* share by which the voltage is below the device's, by time; static power falls with it */
    double lowered_squared; /* share by which its square is below, by cycles */
} tn_activity;

/* What is in cells that lose it (CAMEL, HPCA 2024): what lives no longer than they keep it is never refreshed. */
typedef struct tn_cells_price {
    bool lose; /* there are such cells */
    double retention_us;
    /* Of what a step makes and uses up, each array counted once, however many share a place. */
    double longest_us; /* that an array lives */
    uint64_t arrays, refreshed_arrays;
    double words, refreshed_words, refreshes; /* refreshes of words, in a step */
    /* Of what stays from step to step, which no order of operations frees from refreshes. */
    double staying_words, staying_refreshes;
} tn_cells_price;

/* joules[part] of the step. */
void tn_energy_of(const tn_device *device, const tn_activity *activity, double joules[TN_ENERGY_PARTS]);

TN_PUBLIC_END

#endif
