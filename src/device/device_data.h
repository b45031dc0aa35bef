/* What a device file of kind fpga says, decoded: inside the hardware room, and for who prints it.
 *
 * Operators are pipelined: a row says with how many stages and what resources an operator meets a clock
 * period. At a given clock the row with the longest period that still meets it is taken (an operator built
 * for a shorter period works at a longer one too).
 */
#ifndef TN_DEVICE_DEVICE_DATA_H
#define TN_DEVICE_DEVICE_DATA_H

#include "base/public.h"
#include "device/block_floating.h"
#include "device/device.h"
#include "model/operation.h"
#include "model/precision.h"
#include "text/schema.h"

#include <stdbool.h>

TN_PUBLIC_BEGIN

/* Where a figure comes from. */
typedef enum tn_origin {
    TN_CONFIRMED,  /* the vendor's table, checked twice */
    TN_PUBLISHED,  /* read in a publication */
    TN_REPORT,     /* read in a tool's report */
    TN_MEASURED,   /* measured with an independent program */
    TN_DERIVED,    /* follows from other figures */
    TN_UNVERIFIED, /* remembered or assumed */
} tn_origin;
extern const char *const tn_origin_names[]; /* ended by NULL */

typedef struct tn_sourced {
    double value;
    double least, most; /* what the figure may be; tn_figure_range (price/energy.h) says where both are 0 */
    uint32_t origin;    /* tn_origin */
    const char *source;
} tn_sourced;

/* Who makes an operator: high-level synthesis, or the generator of this program. */
typedef enum tn_operator_source { TN_OPERATORS_HLS, TN_OPERATORS_GENERATED } tn_operator_source;
extern const char *const tn_operator_source_names[]; /* "hls", "generated"; ended by NULL */

typedef struct tn_operator_row {
    const char *name;
    const char *precision; /* name of the operands' format */
    tn_position precision_at;
    uint32_t operator_kind;        /* tn_operator */
    uint32_t set;                  /* tn_operator_source */
    double period_ns;              /* clock period that it meets */
    uint64_t stages, lut, ff, dsp; /* stages: cycles from operands to result */
    uint64_t packed;               /* multipliers with a common operand that the DSP blocks serve */
    uint32_t origin;
    const char *source;
} tn_operator_row;

/* What a transfer takes follows from this in price/moves.h. */
typedef struct tn_external_memory {
    const char *name; /* "hbm2", "ddr4" */
    uint64_t capacity_bytes;
    double bandwidth_GBps, efficiency, latency_ns;
    uint64_t burst_bytes, access_bytes;
    uint64_t channels, port_bits; /* port_bits 0: no limit */
    uint64_t banks;               /* of a channel; 0: no conflicts */
    double row_ns;
    uint64_t row_bytes; /* 0: nothing is known of rows */
    double pJ_per_bit, pJ_per_row;
    uint64_t lut, ff;
    double rest_W;
    uint32_t origin;
    tn_text_list unverified; /* keys of this memory that are not as sure as the rest */
    const char *source;
} tn_external_memory;

typedef struct tn_device_resources_data {
    uint64_t lut, ff, dsp, bram18, uram, slr;
    uint32_t origin;
    tn_text_list unverified; /* keys of this mapping that are not as sure as the rest */
    const char *source;
} tn_device_resources_data;

typedef struct tn_device_memory {
    uint32_t geometry;         /* tn_geometry */
    uint64_t lutram_bits_most; /* automatic style: an array of at most so many bits goes to LUTRAM */
    uint32_t origin;
    const char *source;
} tn_device_memory;

/* Integer operators of any width. */
typedef struct tn_device_integer {
    uint64_t multiply_stages, add_stages;
    uint64_t multiply_lut_per_bit_pair; /* of products too small for a DSP block */
    uint64_t add_lut_per_bit, ff_per_bit;
    uint32_t origin;
    const char *source;
} tn_device_integer;

/* What kernels take besides operators, open sums and routing: control, addresses, descriptors. */
typedef struct tn_device_control {
    uint64_t lut, ff;               /* of a matmul kernel */
    uint64_t vector_lut, vector_ff; /* of a vector kernel */
    uint64_t product_cycles;        /* to start and drain a product, or a block of one */
    uint64_t vector_cycles;         /* the same of a pass of a vector kernel */
    uint64_t descriptor_bits;       /* that tell the kernels an operation */
    uint64_t shell_lut, shell_lutram,
        shell_ff; /* of the bus around an engine; LUTs that are memory among the first */
    uint32_t origin;
    tn_text_list unverified; /* keys of this mapping that are not as sure as the rest */
    const char *source;
} tn_device_control;

/* A multiplexer as synthesised. */
typedef struct tn_multiplexer_row {
    const char *name;
    uint64_t inputs, width_bits, lut;
    uint32_t origin;
    const char *source;
} tn_multiplexer_row;

/* P = static + sum over resources of amount * capacitance * toggle * clock * voltage^2; accesses per bit.
 * Figures all, so that they can be gone through as an array (TN_ENERGY_FIGURES). */
typedef struct tn_device_energy {
    tn_sourced static_W, voltage_V, toggle, idle_toggle;
    tn_sourced lut_pF, ff_pF, dsp_pF, bram18_pF, uram_pF;
    tn_sourced wires, clock_pF;
    tn_sourced bram_pJ_per_bit, uram_pJ_per_bit, lutram_pJ_per_bit;
} tn_device_energy;
enum { TN_ENERGY_FIGURES = sizeof(tn_device_energy) / sizeof(tn_sourced) };
extern const tn_schema tn_device_energy_schema; /* a field for each figure */

/* Operating points: the voltage at which the design reaches a clock, straight lines between; without any the voltage falls in
 * proportion to the clock. */
typedef struct tn_device_dvfs {
    tn_real_list volts, MHz; /* as many, both ascending */
    uint32_t origin;         /* tn_origin */
    const char *source;
    tn_position volts_at;
} tn_device_dvfs;

/* Cells of the memory blocks that lose their value: embedded DRAM. */
typedef struct tn_device_edram {
    double retention_us;       /* that a cell keeps its value; 0: the blocks are SRAM */
    double refresh_pJ_per_bit; /* a read and a write */
    uint32_t origin;
    tn_text_list unverified; /* keys of this mapping that are not as sure as the rest */
    const char *source;
} tn_device_edram;

struct tn_device {
    const char *name, *title, *part, *variant, *about, *inherit;
    const char *full_name; /* "u50@user-area" */
    uint32_t kind;         /* tn_device_kind */
    double clock_MHz;
    tn_real_list clock_range_MHz; /* least and greatest that placement may reach; empty: clock_MHz */
    const char *dsp_block;        /* "dsp48e2" */
    tn_device_resources_data resources;
    tn_device_memory memory;
    tn_device_integer integer;
    tn_block_floating_figures block_floating;
    tn_device_control control;
    tn_device_edram edram;
    uint32_t operator_set;     /* tn_operator_source */
    tn_item_list operators;    /* tn_operator_row */
    tn_item_list multiplexers; /* tn_multiplexer_row, by rising inputs */
    tn_item_list external;     /* tn_external_memory */
    tn_device_energy energy;
    tn_device_dvfs dvfs;
    const tn_yaml *variants, *root;
};

/* Whether there is any row for it, whatever the clock. */
bool tn_device_has_operator(const tn_device *device, const tn_number_format *format, tn_operator kind);

/* Whether its FP32 sums and products are those of the generator. */
bool tn_device_is_generated(const tn_device *device);

/* The row for an operator at the device's clock, of the device's set where that has one that meets it, else of
 * high-level synthesis; where no row meets the clock, an error that names the fastest one. */
tn_status tn_device_operator(const tn_device *device, const tn_number_format *format, tn_operator kind,
                             const tn_operator_row **row, tn_error *error);

/* Of the operators that these rows are for (NULL: none), all those that no row of the device's set or of high-level
 * synthesis meets at its clock, in one TN_INPUT, each with the fastest row that there is. */
tn_status tn_device_operators_check(const tn_device *device, const tn_operator_row *const *wanted,
                                    size_t count, tn_error *error);

TN_PUBLIC_END

/* What the figures of a device may be, and devices with their unverified figures at one end of that.
 *
 * Figures of energy say their own least and most. Any other unverified figure may be wrong by a factor of 2 either
 * way: half to twice. Prices grow with every one of these figures, so the two extreme devices bound what the
 * figures leave open of a design's price.
 */

/* What a figure may be: from its own least to its most, the figure itself included; without them, half to
 * twice an unverified one, and a verified one is what it is. */
void tn_figure_range(const tn_sourced *figure, double *least, double *most);

/* The device with every figure of energy at its least, or at its most. The external memory is copied into
 * *external, where there is one, and *device must outlive both. */
tn_device tn_energy_extreme(const tn_device *device, bool most, tn_external_memory *external);

/* The device with stages, LUTs and flip-flops of its unverified operators, and what control takes, at half or at
 * twice. Lives in `arena`. */
tn_status tn_operators_extreme(const tn_device *device, bool most, tn_arena *arena, tn_device **extreme,
                               tn_error *error);

#endif
