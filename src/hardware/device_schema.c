/* The keys of a device file of kind fpga. */
#include "hardware/device_data.h"
#include "hardware/memory.h"

const char *const tn_origin_names[] = {"confirmed", "published",  "report", "measured",
                                       "derived",   "unverified", NULL};
const char *const tn_operator_names[] = {"multiply",    "add",       "compare",     "divide",
                                         "exponential", "logarithm", "square-root", NULL};
static const char *const kind_names[] = {"fpga", "roofline", NULL};

/* Large enough for any device, small enough that no product of a price overflows (hardware/price.c). */
#define MOST_RESOURCE 1e9
#define MOST_STAGES   256

#define ORIGIN_FIELD(owner)                                                                                  \
    {                                                                                                        \
        .key = "origin", .type = TN_FIELD_CHOICE, .offset = offsetof(owner, origin),                         \
        .choices = tn_origin_names, .fallback = "unverified",                                                \
        .help = "how the figures are known; results list the unverified ones they rest on"                   \
    }
#define SOURCE_FIELD(owner)                                                                                  \
    {                                                                                                        \
        .key = "source", .type = TN_FIELD_TEXT, .offset = offsetof(owner, source),                           \
        .help = "where they were read"                                                                       \
    }

static const tn_field figure_fields[] = {
    {.key = "value",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_sourced, value),
     .required = true,
     .minimum = 0,
     .maximum = 1e12,
     .help = "the figure, in the unit its key ends in"},
    ORIGIN_FIELD(tn_sourced),
    SOURCE_FIELD(tn_sourced),
};
static const tn_schema figure_schema = TN_SCHEMA("device.figure", tn_sourced, figure_fields);

static const tn_field operator_fields[] = {
    {.key = "precision",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_operator_row, precision),
     .choices = tn_precision_names,
     .required = true,
     .help = "of the operands"},
    {.key = "operator",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_operator_row, operator_kind),
     .choices = tn_operator_names,
     .required = true,
     .help = "what it computes (add also subtracts)"},
    {.key = "period_ns",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_operator_row, period_ns),
     .required = true,
     .minimum = 0.1,
     .maximum = 1000,
     .help = "clock period that it meets, ns; it serves every longer period too"},
    {.key = "stages",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_operator_row, stages),
     .required = true,
     .minimum = 1,
     .maximum = MOST_STAGES,
     .help = "pipeline stages: cycles from operands to result"},
    {.key = "lut",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_operator_row, lut),
     .maximum = 1e6,
     .help = "LUTs of one operator"},
    {.key = "ff",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_operator_row, ff),
     .maximum = 1e6,
     .help = "flip-flops of one operator"},
    {.key = "dsp",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_operator_row, dsp),
     .maximum = 1e6,
     .help = "DSP blocks of one operator"},
    ORIGIN_FIELD(tn_operator_row),
    SOURCE_FIELD(tn_operator_row),
};
static const tn_schema operator_schema = TN_SCHEMA("device.operator", tn_operator_row, operator_fields);

static const tn_field external_fields[] = {
    {.key = "capacity_bytes",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_external_memory, capacity_bytes),
     .required = true,
     .minimum = 1,
     .maximum = 1e15,
     .help = "size, bytes"},
    {.key = "bandwidth_GBps",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_external_memory, bandwidth_GBps),
     .required = true,
     .minimum = 1e-3,
     .maximum = 1e6,
     .help = "peak bandwidth, 1e9 bytes/s"},
    {.key = "efficiency",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_external_memory, efficiency),
     .fallback = "1",
     .minimum = 0.01,
     .maximum = 1,
     .help = "share of the peak that long bursts reach"},
    {.key = "latency_ns",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_external_memory, latency_ns),
     .fallback = "0",
     .maximum = 1e6,
     .help = "from request to first word, ns, paid once a burst"},
    {.key = "pJ_per_bit",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_external_memory, pJ_per_bit),
     .fallback = "0",
     .maximum = 1e6,
     .help = "energy of a bit moved, pJ"},
    {.key = "burst_bytes",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_external_memory, burst_bytes),
     .fallback = "4096",
     .minimum = 64,
     .maximum = 1e9,
     .help = "bytes that a kernel which goes over an array once holds of it at a time"},
    ORIGIN_FIELD(tn_external_memory),
    SOURCE_FIELD(tn_external_memory),
};
static const tn_schema external_schema = TN_SCHEMA("device.external", tn_external_memory, external_fields);

#define RESOURCE(name, meaning)                                                                              \
    {                                                                                                        \
        .key = #name, .type = TN_FIELD_COUNT, .offset = offsetof(tn_device_resources_data, name),            \
        .required = true, .maximum = MOST_RESOURCE, .help = meaning                                          \
    }
static const tn_field resource_fields[] = {
    RESOURCE(lut, "LUTs available"),
    RESOURCE(ff, "flip-flops available"),
    RESOURCE(dsp, "DSP blocks available"),
    RESOURCE(bram18, "block RAMs of 18 Kib available (a BRAM36 is two)"),
    RESOURCE(uram, "UltraRAMs of 288 Kib available"),
    {.key = "slr",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_device_resources_data, slr),
     .fallback = "1",
     .minimum = 1,
     .maximum = 64,
     .help = "dies (super logic regions) over which they are spread"},
    ORIGIN_FIELD(tn_device_resources_data),
    {.key = "unverified",
     .type = TN_FIELD_TEXT_LIST,
     .offset = offsetof(tn_device_resources_data, unverified),
     .help = "resources whose figure is not as sure as `origin` says"},
    SOURCE_FIELD(tn_device_resources_data),
};
static const tn_schema resources_schema =
    TN_SCHEMA("device.resources", tn_device_resources_data, resource_fields);

static const tn_field memory_fields[] = {
    {.key = "geometry",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_device_memory, geometry),
     .choices = tn_geometry_names,
     .fallback = "hls",
     .help = "how a width x depth is cut into blocks: hls tiles plainly, yosys packs rows tighter"},
    {.key = "lutram_bits_most",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_device_memory, lutram_bits_most),
     .fallback = "1024",
     .maximum = MOST_RESOURCE,
     .help = "style auto: a bank of at most so many bits becomes LUTRAM"},
    ORIGIN_FIELD(tn_device_memory),
    SOURCE_FIELD(tn_device_memory),
};
static const tn_schema memory_schema = TN_SCHEMA("device.memory", tn_device_memory, memory_fields);

#define INTEGER(name, given, meaning)                                                                        \
    {                                                                                                        \
        .key = #name, .type = TN_FIELD_COUNT, .offset = offsetof(tn_device_integer, name),                   \
        .fallback = given, .minimum = 1, .maximum = MOST_STAGES, .help = meaning                             \
    }
static const tn_field integer_fields[] = {
    INTEGER(multiply_stages, "3", "pipeline stages of an integer multiplier"),
    INTEGER(add_stages, "1", "of an integer adder"),
    INTEGER(multiply_lut_per_bit_pair, "1", "LUTs of a multiplier without DSP block, for each pair of bits"),
    INTEGER(add_lut_per_bit, "1", "LUTs of an adder, for each bit"),
    INTEGER(ff_per_bit, "1", "flip-flops of a result, for each bit and stage"),
    ORIGIN_FIELD(tn_device_integer),
    SOURCE_FIELD(tn_device_integer),
};
static const tn_schema integer_schema = TN_SCHEMA("device.integer", tn_device_integer, integer_fields);

static const tn_field control_fields[] = {
    {.key = "lut",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_device_control, lut),
     .maximum = 1e6,
     .help = "LUTs of a kernel besides its operators: loops, addresses, control"},
    {.key = "ff",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_device_control, ff),
     .maximum = 1e6,
     .help = "flip-flops of a kernel besides its operators"},
    {.key = "lane_lut",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_device_control, lane_lut),
     .maximum = 1e6,
     .help = "LUTs of every word a kernel reads or writes in a cycle: choosing the array and the bank"},
    {.key = "operation_cycles",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(tn_device_control, operation_cycles),
     .maximum = 1e4,
     .help = "cycles before the first issue of an operation or block: handshake, first reads; default 0"},
    ORIGIN_FIELD(tn_device_control),
    SOURCE_FIELD(tn_device_control),
};
static const tn_schema control_schema = TN_SCHEMA("device.control", tn_device_control, control_fields);

#define FIGURE(name, meaning)                                                                                \
    {                                                                                                        \
        .key = #name, .type = TN_FIELD_MAPPING, .offset = offsetof(tn_device_energy, name),                  \
        .sub = &figure_schema, .required = true, .help = meaning                                             \
    }
static const tn_field energy_fields[] = {
    FIGURE(static_W, "power of the configured device at rest"),
    FIGURE(voltage_V, "core voltage"),
    FIGURE(toggle, "share of a busy resource's nodes that switch in a cycle"),
    FIGURE(idle_toggle, "the same while its kernel waits"),
    FIGURE(lut_pF, "effective switched capacitance of a LUT"),
    FIGURE(ff_pF, "of a flip-flop"),
    FIGURE(dsp_pF, "of a DSP block"),
    FIGURE(bram18_pF, "of a BRAM18 besides its accesses"),
    FIGURE(uram_pF, "of an URAM besides its accesses"),
    FIGURE(bram_pJ_per_bit, "a bit read from or written to block RAM"),
    FIGURE(uram_pJ_per_bit, "a bit read from or written to UltraRAM"),
    FIGURE(lutram_pJ_per_bit, "a bit read from or written to LUTRAM"),
};
static const tn_schema energy_schema = TN_SCHEMA("device.energy", tn_device_energy, energy_fields);

static const tn_field device_fields[] = {
    {.key = "kind",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_device, kind),
     .choices = kind_names,
     .required = true,
     .help = "fpga; the keys of kind roofline have their own page section"},
    {.key = "name",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_device, name),
     .required = true,
     .help = "as results call it"},
    {.key = "title", .type = TN_FIELD_TEXT, .offset = offsetof(tn_device, title), .help = "for people"},
    {.key = "part", .type = TN_FIELD_TEXT, .offset = offsetof(tn_device, part), .help = "the vendor's part"},
    {.key = "about", .type = TN_FIELD_TEXT, .offset = offsetof(tn_device, about), .help = "a remark"},
    {.key = "inherit",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_device, inherit),
     .help = "device (bare name) or file (path from this file's folder) that this one overrides"},
    {.key = "variant",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_device, variant),
     .help = "the one of `variants` that is taken; NAME@VARIANT chooses another"},
    {.key = "variants",
     .type = TN_FIELD_NODE,
     .offset = offsetof(tn_device, variants),
     .help = "named mappings of keys that override those of the file"},
    {.key = "clock_MHz",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_device, clock_MHz),
     .required = true,
     .minimum = 1,
     .maximum = 2000,
     .help = "clock of the design, MHz"},
    {.key = "dsp_block",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_device, dsp_block),
     .fallback = "dsp48e2",
     .help = "dsp48e1 (25 x 18 bits) or dsp48e2 (27 x 18)"},
    {.key = "resources",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_device, resources),
     .sub = &resources_schema,
     .required = true,
     .help = "what a design may use"},
    {.key = "memory",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_device, memory),
     .sub = &memory_schema,
     .help = "how arrays become memory blocks"},
    {.key = "integer",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_device, integer),
     .sub = &integer_schema,
     .help = "integer operators of any width, for block floating point"},
    {.key = "control",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_device, control),
     .sub = &control_schema,
     .help = "what kernels take besides operators"},
    {.key = "operators",
     .type = TN_FIELD_TABLE,
     .offset = offsetof(tn_device, operators),
     .sub = &operator_schema,
     .required = true,
     .help = "operators by precision and clock"},
    {.key = "external",
     .type = TN_FIELD_TABLE,
     .offset = offsetof(tn_device, external),
     .sub = &external_schema,
     .help = "memories outside the chip"},
    {.key = "energy",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_device, energy),
     .sub = &energy_schema,
     .required = true,
     .help = "coefficients of power and energy"},
};
const tn_schema tn_device_schema = TN_SCHEMA("device", tn_device, device_fields);
