#include "device/device.h"

#include "base/name_index.h"
#include "base/search_path.h"
#include "device/block.h"
#include "device/device_data.h"
#include "device/multiply.h"
#include "text/yaml.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* The keys of a device file of kind fpga. */

const char *const tn_origin_names[] = {"confirmed", "published",  "report", "measured",
                                       "derived",   "unverified", NULL};
const char *const tn_operator_source_names[] = {"hls", "generated", NULL};
static const char *const kind_names[] = {"fpga", "roofline", NULL};

/* Large enough for any device, small enough that no product of a price overflows (price/price.c). */
#define MOST_RESOURCE 1e9
#define MOST_STAGES   256

#define ORIGIN_FIELD(owner)                                                                                  \
    TN_KEY(CHOICE, owner, origin,                                                                            \
           "how the figures are known; results list the unverified ones they rest on",                       \
           TN_DEFAULT("unverified"), TN_ONE_OF(tn_origin_names))
#define SOURCE_FIELD(owner) TN_KEY(TEXT, owner, source, "where they were read")

static const tn_field figure_fields[] = {
    TN_KEY(REAL, tn_sourced, value, "the figure, in the unit its key ends in", TN_REQUIRED,
           TN_WITHIN(0, 1e12)),
    TN_KEY(REAL, tn_sourced, least,
           "the least that it may be; where an unverified figure has neither least nor most: half of it",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e12)),
    TN_KEY(REAL, tn_sourced, most, "the greatest; without least and most: twice an unverified figure",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e12)),
    ORIGIN_FIELD(tn_sourced),
    SOURCE_FIELD(tn_sourced),
};
static const tn_schema figure_schema = TN_SCHEMA("device.figure", tn_sourced, figure_fields);

static const tn_field operator_fields[] = {
    TN_KEY(
        TEXT, tn_operator_row, precision,
        "of the operands: fp32, fp16, bf16, int16, int8, or any other format by its name, such as fixed16,8",
        TN_REQUIRED, TN_SEEN(tn_operator_row, precision_at)),
    TN_KEY_AS("operator", CHOICE, tn_operator_row, operator_kind, "what it computes (add also subtracts)",
              TN_REQUIRED, TN_ONE_OF(tn_operator_names)),
    TN_KEY(CHOICE, tn_operator_row, set, "who makes it: high-level synthesis, or this program's generator",
           TN_DEFAULT("hls"), TN_ONE_OF(tn_operator_source_names)),
    TN_KEY(REAL, tn_operator_row, period_ns,
           "clock period that it meets, ns; it serves every longer period too", TN_REQUIRED,
           TN_WITHIN(0.1, 1000)),
    TN_KEY(COUNT, tn_operator_row, stages, "pipeline stages: cycles from operands to result", TN_REQUIRED,
           TN_WITHIN(1, MOST_STAGES)),
    TN_KEY(COUNT, tn_operator_row, lut, "LUTs of one operator", TN_WITHIN(0, 1e6)),
    TN_KEY(COUNT, tn_operator_row, ff, "flip-flops of one operator", TN_WITHIN(0, 1e6)),
    TN_KEY(COUNT, tn_operator_row, dsp, "DSP blocks of one operator", TN_WITHIN(0, 1e6)),
    TN_KEY(COUNT, tn_operator_row, packed, "multipliers with an operand in common that these blocks serve",
           TN_DEFAULT("1"), TN_WITHIN(1, 64)),
    ORIGIN_FIELD(tn_operator_row),
    SOURCE_FIELD(tn_operator_row),
};
static const tn_schema operator_schema = TN_SCHEMA("device.operator", tn_operator_row, operator_fields);

static const tn_field external_fields[] = {
    TN_KEY(COUNT, tn_external_memory, capacity_bytes, "size, bytes", TN_REQUIRED, TN_WITHIN(1, 1e15)),
    TN_KEY(REAL, tn_external_memory, bandwidth_GBps, "peak bandwidth, 1e9 bytes/s", TN_REQUIRED,
           TN_WITHIN(1e-3, 1e6)),
    TN_KEY(REAL, tn_external_memory, efficiency, "share of the peak that long bursts reach", TN_DEFAULT("1"),
           TN_WITHIN(0.01, 1)),
    TN_KEY(REAL, tn_external_memory, latency_ns,
           "from request to first word, ns; an operation waits so long for what it reads, and again for what "
           "it writes",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(COUNT, tn_external_memory, burst_bytes,
           "most bytes that one request moves, and that a kernel which goes over an array once holds of it, "
           "twice",
           TN_DEFAULT("4096"), TN_WITHIN(64, 1e9)),
    TN_KEY(COUNT, tn_external_memory, access_bytes,
           "the least that an access moves: shorter lines of a tile move as much", TN_DEFAULT("64"),
           TN_WITHIN(1, 65536)),
    TN_KEY(COUNT, tn_external_memory, channels,
           "channels that the bandwidth is of, over which bursts are dealt", TN_DEFAULT("1"),
           TN_WITHIN(1, 1024)),
    TN_KEY(COUNT, tn_external_memory, port_bits,
           "bits that the design takes from a channel in a cycle of its clock; 0: as many as come",
           TN_DEFAULT("0"), TN_WITHIN(0, 65536)),
    TN_KEY(COUNT, tn_external_memory, banks,
           "banks of a channel, in which arrays that are moved side by side meet; 0: they never do",
           TN_DEFAULT("0"), TN_WITHIN(0, 65536)),
    TN_KEY(
        REAL, tn_external_memory, row_ns,
        "what a burst waits whose bank has a row of another array open: closing it and opening its own, ns",
        TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(COUNT, tn_external_memory, row_bytes, "bytes of a row of a bank; 0: rows are not counted",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e9)),
    TN_KEY(REAL, tn_external_memory, pJ_per_bit, "energy of a bit moved, pJ", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e6)),
    TN_KEY(REAL, tn_external_memory, pJ_per_row,
           "energy of opening a row, pJ, of which each burst opens at least one", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e9)),
    TN_KEY(COUNT, tn_external_memory, lut, "LUTs of controller and data movers, where a design uses it",
           TN_DEFAULT("0"), TN_WITHIN(0, MOST_RESOURCE)),
    TN_KEY(COUNT, tn_external_memory, ff, "flip-flops of them", TN_DEFAULT("0"), TN_WITHIN(0, MOST_RESOURCE)),
    TN_KEY(REAL, tn_external_memory, rest_W,
           "power that controller and memory draw at rest in a design that uses them, W, beside static_W",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e4)),
    ORIGIN_FIELD(tn_external_memory),
    TN_KEY(TEXT_LIST, tn_external_memory, unverified, "keys whose figure is not as sure as `origin` says"),
    SOURCE_FIELD(tn_external_memory),
};
static const tn_schema external_schema = TN_SCHEMA("device.external", tn_external_memory, external_fields);
enum {
    EXTERNAL_KEYS = sizeof external_fields / sizeof *external_fields - 3
}; /* but origin, unverified, source */

#define RESOURCE(name, meaning)                                                                              \
    TN_KEY(COUNT, tn_device_resources_data, name, meaning, TN_REQUIRED, TN_WITHIN(0, MOST_RESOURCE))
static const tn_field resource_fields[] = {
    RESOURCE(lut, "LUTs available"),
    RESOURCE(ff, "flip-flops available"),
    RESOURCE(dsp, "DSP blocks available"),
    RESOURCE(bram18, "block RAMs of 18 Kib available (a BRAM36 is two)"),
    RESOURCE(uram, "UltraRAMs of 288 Kib available"),
    TN_KEY(COUNT, tn_device_resources_data, slr, "dies (super logic regions) over which they are spread",
           TN_DEFAULT("1"), TN_WITHIN(1, 64)),
    ORIGIN_FIELD(tn_device_resources_data),
    TN_KEY(TEXT_LIST, tn_device_resources_data, unverified,
           "resources whose figure is not as sure as `origin` says"),
    SOURCE_FIELD(tn_device_resources_data),
};
static const tn_schema resources_schema =
    TN_SCHEMA("device.resources", tn_device_resources_data, resource_fields);

static const tn_field memory_fields[] = {
    TN_KEY(CHOICE, tn_device_memory, geometry,
           "how a width x depth is cut into blocks: hls tiles plainly, yosys packs rows tighter",
           TN_DEFAULT("hls"), TN_ONE_OF(tn_geometry_names)),
    TN_KEY(COUNT, tn_device_memory, lutram_bits_most,
           "style auto: a bank of at most so many bits becomes LUTRAM", TN_DEFAULT("1024"),
           TN_WITHIN(0, MOST_RESOURCE)),
    ORIGIN_FIELD(tn_device_memory),
    SOURCE_FIELD(tn_device_memory),
};
static const tn_schema memory_schema = TN_SCHEMA("device.memory", tn_device_memory, memory_fields);

#define INTEGER(name, given, meaning)                                                                        \
    TN_KEY(COUNT, tn_device_integer, name, meaning, TN_DEFAULT(given), TN_WITHIN(1, MOST_STAGES))
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

static const tn_field dvfs_fields[] = {
    TN_KEY(REAL_LIST, tn_device_dvfs, volts, "core voltages, ascending, V", TN_WITHIN(0.1, 5),
           TN_SEEN(tn_device_dvfs, volts_at)),
    TN_KEY(REAL_LIST, tn_device_dvfs, MHz, "clock that the design reaches at each, ascending",
           TN_WITHIN(0.001, 2000)),
    ORIGIN_FIELD(tn_device_dvfs),
    SOURCE_FIELD(tn_device_dvfs),
};
static const tn_schema dvfs_schema = TN_SCHEMA("device.dvfs", tn_device_dvfs, dvfs_fields);

#define CONTROL(name, most, meaning) TN_KEY(COUNT, tn_device_control, name, meaning, TN_WITHIN(0, most))
static const tn_field control_fields[] = {
    CONTROL(lut, 1e6, "LUTs of a matmul kernel besides operators, open sums and routing: loops, addresses"),
    CONTROL(ff, 1e6, "flip-flops of a matmul kernel besides operators and ports"),
    CONTROL(vector_lut, 1e6, "LUTs of a vector kernel besides operators and routing"),
    CONTROL(vector_ff, 1e6, "flip-flops of a vector kernel besides operators and ports"),
    CONTROL(product_cycles, 1e4, "cycles to start and drain a product, or a block of one"),
    CONTROL(vector_cycles, 1e4, "cycles to start and drain a pass of a vector kernel, or a block of one"),
    CONTROL(descriptor_bits, 1e6, "bits that tell the kernels an operation, kept in a memory of their own"),
    CONTROL(shell_lut, 1e6,
            "LUTs of the bus around generated hardware (rtl --shell), in no price but where --shell asks"),
    CONTROL(shell_lutram, 1e6, "of these LUTs those that are memory"),
    CONTROL(shell_ff, 1e6, "flip-flops of that bus"),
    ORIGIN_FIELD(tn_device_control),
    TN_KEY(TEXT_LIST, tn_device_control, unverified, "keys whose figure is not as sure as `origin` says"),
    SOURCE_FIELD(tn_device_control),
};
static const tn_schema control_schema = TN_SCHEMA("device.control", tn_device_control, control_fields);

static const tn_field edram_fields[] = {
    TN_KEY(REAL, tn_device_edram, retention_us, "time that a cell keeps its value", TN_REQUIRED,
           TN_WITHIN(1e-3, 1e9)),
    TN_KEY(REAL, tn_device_edram, refresh_pJ_per_bit, "energy to refresh a bit, pJ", TN_REQUIRED,
           TN_WITHIN(0, 1e6)),
    ORIGIN_FIELD(tn_device_edram),
    TN_KEY(TEXT_LIST, tn_device_edram, unverified, "keys whose figure is not as sure as `origin` says"),
    SOURCE_FIELD(tn_device_edram),
};
static const tn_schema edram_schema = TN_SCHEMA("device.edram", tn_device_edram, edram_fields);

static const tn_field multiplexer_fields[] = {
    TN_KEY(COUNT, tn_multiplexer_row, inputs, "words that it chooses from", TN_REQUIRED, TN_WITHIN(2, 1e6)),
    TN_KEY(COUNT, tn_multiplexer_row, width_bits, "bits of a word", TN_REQUIRED, TN_WITHIN(1, 1e6)),
    TN_KEY(COUNT, tn_multiplexer_row, lut, "LUTs that it takes", TN_REQUIRED, TN_WITHIN(0, 1e6)),
    ORIGIN_FIELD(tn_multiplexer_row),
    SOURCE_FIELD(tn_multiplexer_row),
};
static const tn_schema multiplexer_schema =
    TN_SCHEMA("device.multiplexer", tn_multiplexer_row, multiplexer_fields);

#define FIGURE(name, meaning)                                                                                \
    TN_KEY(MAPPING, tn_device_energy, name, meaning, TN_REQUIRED, .sub = &figure_schema)
static const tn_field energy_fields[] = {
    FIGURE(static_W, "power of the configured device at rest"),
    FIGURE(voltage_V, "core voltage"),
    FIGURE(toggle, "share of a busy resource's nodes that switch in a cycle"),
    FIGURE(idle_toggle, "the same while its kernel waits"),
    TN_KEY(MAPPING, tn_device_energy, wires,
           "capacitance of the wires behind LUTs and flip-flops, by that of these; absent: theirs has it",
           .sub = &figure_schema),
    TN_KEY(MAPPING, tn_device_energy, clock_pF,
           "of the clock tree, for each flip-flop that it reaches, switched in every cycle; absent: 0",
           .sub = &figure_schema),
    FIGURE(lut_pF, "effective switched capacitance of a LUT"),
    FIGURE(ff_pF, "of a flip-flop"),
    FIGURE(dsp_pF, "of a DSP block"),
    FIGURE(bram18_pF, "of a BRAM18 besides its accesses"),
    FIGURE(uram_pF, "of an URAM besides its accesses"),
    FIGURE(bram_pJ_per_bit, "a bit read from or written to block RAM"),
    FIGURE(uram_pJ_per_bit, "a bit read from or written to UltraRAM"),
    FIGURE(lutram_pJ_per_bit, "a bit read from or written to LUTRAM"),
};
const tn_schema tn_device_energy_schema = TN_SCHEMA("device.energy", tn_device_energy, energy_fields);

static const tn_field device_fields[] = {
    TN_KEY(CHOICE, tn_device, kind, "fpga; the keys of kind roofline have their own page section",
           TN_REQUIRED, TN_ONE_OF(kind_names)),
    TN_KEY(TEXT, tn_device, name, "as results call it", TN_REQUIRED),
    TN_KEY(TEXT, tn_device, title, "for people"),
    TN_KEY(TEXT, tn_device, part, "the vendor's part"),
    TN_KEY(TEXT, tn_device, about, "a remark"),
    TN_KEY(TEXT, tn_device, inherit,
           "device (bare name) or file (path from this file's folder, else from models/devices) that this "
           "one overrides"),
    TN_KEY(TEXT, tn_device, variant, "the one of `variants` that is taken; NAME@VARIANT chooses another"),
    TN_KEY(NODE, tn_device, variants, "named mappings of keys that override those of the file"),
    TN_KEY(REAL, tn_device, clock_MHz, "clock of the design, MHz", TN_REQUIRED, TN_WITHIN(1, 2000)),
    TN_KEY(
        REAL_LIST, tn_device, clock_range_MHz,
        "least and greatest clock that placement and routing of a design may reach, MHz; absent: clock_MHz",
        TN_WITHIN(1, 2000)),
    TN_KEY(TEXT, tn_device, dsp_block, "dsp48e1 (25 x 18 bits) or dsp48e2 (27 x 18)", TN_DEFAULT("dsp48e2")),
    TN_KEY(MAPPING, tn_device, resources, "what a design may use", TN_REQUIRED, .sub = &resources_schema),
    TN_KEY(MAPPING, tn_device, memory, "how arrays become memory blocks", .sub = &memory_schema),
    TN_KEY(MAPPING, tn_device, integer, "integer operators of any width, for block floating point",
           .sub = &integer_schema),
    TN_KEY(MAPPING, tn_device, block_floating,
           "what kernels of block floating point have besides multipliers and adders; absent: free",
           .sub = &tn_block_floating_schema),
    TN_KEY(MAPPING, tn_device, control, "what kernels take besides operators", .sub = &control_schema),
    TN_KEY(MAPPING, tn_device, edram,
           "cells of memory blocks that lose their value, embedded DRAM; absent: they are SRAM",
           .sub = &edram_schema),
    TN_KEY(CHOICE, tn_device, operator_set,
           "operators that kernels are made of; what the set has not at the clock is taken from hls",
           TN_DEFAULT("generated"), TN_ONE_OF(tn_operator_source_names)),
    TN_KEY(TABLE, tn_device, multiplexers,
           "LUTs of multiplexers by their inputs; without any, a third of a LUT a bit and further input",
           .sub = &multiplexer_schema),
    TN_KEY(TABLE, tn_device, operators, "operators by precision and clock", TN_REQUIRED,
           .sub = &operator_schema),
    TN_KEY(TABLE, tn_device, external, "memories outside the chip", .sub = &external_schema),
    TN_KEY(MAPPING, tn_device, energy, "coefficients of power and energy", TN_REQUIRED,
           .sub = &tn_device_energy_schema),
    TN_KEY(MAPPING, tn_device, dvfs, "operating points of voltage and clock, for a model's dvfs.deadline_us",
           .sub = &dvfs_schema),
};
const tn_schema tn_device_schema = TN_SCHEMA("device", tn_device, device_fields);

/* An unverified figure that says no range of its own may be wrong by this factor either way. */
enum { UNVERIFIED_FACTOR = 2 };

void tn_figure_range(const tn_sourced *figure, double *least, double *most) {
    bool ranged = figure->least > 0 || figure->most > 0;
    double factor = !ranged && figure->origin == TN_UNVERIFIED ? UNVERIFIED_FACTOR : 1;
    *least = ranged ? fmin(figure->least, figure->value) : figure->value / factor;
    *most = ranged ? fmax(figure->most, figure->value) : figure->value * factor;
}

static bool is_listed(const tn_text_list *list, const char *key) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i], key) == 0) return true;
    return false;
}

/* A figure of energy of external memory: half to twice, where it is unverified. */
static double extreme_external(const tn_external_memory *external, const char *key, double figure,
                               bool most) {
    const bool sure = external->origin != TN_UNVERIFIED && !is_listed(&external->unverified, key);
    return sure ? figure : most ? figure * UNVERIFIED_FACTOR : figure / UNVERIFIED_FACTOR;
}

tn_device tn_energy_extreme(const tn_device *device, bool most, tn_external_memory *external) {
    tn_device extreme = *device;
    tn_sourced figure[TN_ENERGY_FIGURES];
    memcpy(figure, &extreme.energy, sizeof figure);
    for (size_t i = 0; i < TN_ENERGY_FIGURES; i++) {
        double low, high;
        tn_figure_range(&figure[i], &low, &high);
        figure[i].value = most ? high : low;
    }
    memcpy(&extreme.energy, figure, sizeof figure);
    const bool sure =
        device->edram.origin != TN_UNVERIFIED && !is_listed(&device->edram.unverified, "refresh_pJ_per_bit");
    if (!sure && most) extreme.edram.refresh_pJ_per_bit *= UNVERIFIED_FACTOR;
    if (!sure && !most) extreme.edram.refresh_pJ_per_bit /= UNVERIFIED_FACTOR;
    if (extreme.external.count > 0) {
        *external = *(const tn_external_memory *)device->external.item;
        external->pJ_per_bit = extreme_external(external, "pJ_per_bit", external->pJ_per_bit, most);
        external->pJ_per_row = extreme_external(external, "pJ_per_row", external->pJ_per_row, most);
        external->rest_W = extreme_external(external, "rest_W", external->rest_W, most);
        extreme.external.item = external;
    }
    return extreme;
}

/* Upwards: an operator keeps at least one stage. */
static uint64_t extreme_count(uint64_t figure, bool most) {
    return most ? figure * UNVERIFIED_FACTOR : (figure + UNVERIFIED_FACTOR - 1) / UNVERIFIED_FACTOR;
}

/* The keys that are unverified: all of them, or those that are named so. */
static void stretch_control(tn_device_control *control, bool most) {
    const struct {
        const char *key;
        uint64_t *figure;
    } figures[] = {{"lut", &control->lut},
                   {"ff", &control->ff},
                   {"vector_lut", &control->vector_lut},
                   {"vector_ff", &control->vector_ff},
                   {"product_cycles", &control->product_cycles},
                   {"vector_cycles", &control->vector_cycles},
                   {"descriptor_bits", &control->descriptor_bits},
                   {"shell_lut", &control->shell_lut},
                   {"shell_lutram", &control->shell_lutram},
                   {"shell_ff", &control->shell_ff}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (control->origin == TN_UNVERIFIED || is_listed(&control->unverified, figures[i].key))
            *figures[i].figure = extreme_count(*figures[i].figure, most);
    }
}

tn_status tn_operators_extreme(const tn_device *device, bool most, tn_arena *arena, tn_device **extreme,
                               tn_error *error) {
    tn_device *made;
    tn_operator_row *row;
    size_t rows = device->operators.count;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    TN_TRY(TN_NEW(arena, rows, &row, error));
    *made = *device;
    if (rows) memcpy(row, device->operators.item, rows * sizeof *row);
    made->operators.item = row;
    for (size_t i = 0; i < rows; i++) {
        if (row[i].origin != TN_UNVERIFIED) continue;
        row[i].stages = extreme_count(row[i].stages, most);
        row[i].lut = extreme_count(row[i].lut, most);
        row[i].ff = extreme_count(row[i].ff, most);
    }
    stretch_control(&made->control, most);
    *extreme = made;
    return TN_OK;
}

static const char folder[] = "models/devices";

enum { INHERIT_DEPTH = 8 };

/* A path beside `file`, for files that are named relative to the one that names them. */
static tn_status beside(const char *file, const char *name, tn_arena *arena, const char **path,
                        tn_error *error) {
    const char *slash = strrchr(file, '/');
    if (name[0] == '/' || !slash) return tn_arena_copy_text(arena, name, strlen(name), path, error);
    return tn_arena_format(arena, path, error, "%.*s/%s", (int)(slash - file), file, name);
}

/* A path beside the file that names it, else beside the shipped devices: a copy of one of those finds its family
 * wherever it lies. */
static tn_status find_parent(const char *file, const char *name, tn_arena *arena, const char **path,
                             tn_error *error) {
    const char *shipped;
    TN_TRY(beside(file, name, arena, path, error));
    if (name[0] == '/' || access(*path, F_OK) == 0) return TN_OK;
    tn_status status = tn_search_path_find_file(folder, name, arena, &shipped, NULL);
    if (status == TN_OK) *path = shipped;
    return status == TN_MEMORY ? tn_fail(error, status, "no memory for the path of a device file") : TN_OK;
}

static tn_status load_tree(const char *path, unsigned depth, tn_arena *arena, tn_yaml **root,
                           tn_error *error) {
    TN_TRY(tn_yaml_load(path, arena, root, error));
    if ((*root)->kind != TN_YAML_MAPPING)
        return tn_fail_at(error, TN_INPUT, (*root)->position, "a device file is a mapping of keys to values");
    const tn_yaml *parent = tn_yaml_get(*root, "inherit");
    if (!parent) return TN_OK;
    if (parent->kind != TN_YAML_SCALAR || parent->text[0] == '\0')
        return tn_fail_at(error, TN_INPUT, parent->position,
                          "\"inherit\" must be the name or path of a device");
    if (depth == INHERIT_DEPTH)
        return tn_fail_at(error, TN_INPUT, parent->position,
                          "devices inherit over more than %d files, perhaps in a circle", INHERIT_DEPTH);
    const char *parent_path;
    bool is_path = strchr(parent->text, '/') || strstr(parent->text, ".yaml");
    tn_yaml *base, *merged;
    tn_status status = is_path ? find_parent(path, parent->text, arena, &parent_path, error)
                               : tn_search_path_find(folder, parent->text, arena, &parent_path, error);
    if (status == TN_OK) status = load_tree(parent_path, depth + 1, arena, &base, error);
    if (status == TN_INPUT && error && error->line == 0) {
        tn_error inner = *error;
        return tn_fail_at(error, status, parent->position, "can't inherit from %.200s: is it there? %.600s",
                          parent->text, inner.message);
    }
    TN_TRY(status);
    TN_TRY(tn_yaml_merge(base, *root, arena, &merged, error));
    *root = merged;
    return TN_OK;
}

/* "u50@user-area" -> "u50", "user-area" (NULL where there is none). */
static tn_status split_name(const char *name, tn_arena *arena, const char **file, const char **variant,
                            tn_error *error) {
    const char *cursor = strrchr(name, '@');
    *variant = NULL;
    if (!cursor || strchr(cursor, '/')) return tn_arena_copy_text(arena, name, strlen(name), file, error);
    TN_TRY(tn_arena_copy_text(arena, name, (size_t)(cursor - name), file, error));
    return tn_arena_copy_text(arena, cursor + 1, strlen(cursor + 1), variant, error);
}

static tn_status unknown_variant(const tn_yaml *variants, const char *wanted, tn_position position,
                                 tn_arena *arena, tn_error *error) {
    size_t count = variants ? variants->count : 0;
    const char **names;
    TN_TRY(TN_NEW(arena, count, &names, error));
    for (size_t i = 0; i < count; i++) names[i] = variants->key[i]->text;
    const char *near = tn_suggest(wanted, names, count);
    if (near)
        return tn_fail_at(error, TN_INPUT, position, "no variant called '%.100s'; did you mean %s?", wanted,
                          near);
    if (count == 0)
        return tn_fail_at(error, TN_INPUT, position, "no variant called '%.100s'; the device has no variants",
                          wanted);
    return tn_fail_at(error, TN_INPUT, position, "no variant called '%.100s'; the first of %zu is %s", wanted,
                      count, names[0]);
}

/* *variants = the mapping of that key, or NULL. */
static tn_status find_variants(const tn_yaml *root, const tn_yaml **variants, tn_error *error) {
    *variants = tn_yaml_get(root, "variants");
    if (!*variants || (*variants)->kind == TN_YAML_MAPPING) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (*variants)->position, "\"variants\" must be a mapping from names");
}

/* *tree = root without `variants`, overridden by the variant of that name. */
static tn_status take_variant(const tn_yaml *root, const char *variant, tn_position position, tn_arena *arena,
                              tn_yaml **tree, tn_error *error) {
    const tn_yaml *variants;
    TN_TRY(find_variants(root, &variants, error));
    const tn_yaml empty = {.kind = TN_YAML_MAPPING, .position = root->position}, *override = &empty;
    if (variant) override = variants ? tn_yaml_get(variants, variant) : NULL;
    if (!override) return unknown_variant(variants, variant, position, arena, error);
    if (override->kind != TN_YAML_MAPPING)
        return tn_fail_at(error, TN_INPUT, override->position,
                          "a variant must be a mapping of keys to values");
    return tn_yaml_merge(root, override, arena, tree, error);
}

/* Names under `unverified` are keys of the mapping. */
static tn_status check_unverified(const tn_text_list *list, const char *mapping, const char *const *names,
                                  const tn_yaml *tree, const tn_yaml *mapped, tn_error *error) {
    size_t count = 0;
    while (names[count]) count++;
    for (size_t i = 0; i < list->count; i++) {
        size_t known = 0;
        while (known < count && strcmp(list->item[i], names[known]) != 0) known++;
        if (known < count) continue;
        const tn_yaml *node = mapped ? tn_yaml_get(mapped, "unverified") : NULL;
        return tn_fail_at(error, TN_INPUT, node ? node->position : tree->position,
                          "\"unverified\" of device.%s names '%.100s'; it names keys such as %s or %s",
                          mapping, list->item[i], names[0], names[count - 1]);
    }
    return TN_OK;
}

static tn_status check_lists(const tn_device *device, const tn_yaml *tree, tn_error *error) {
    static const char *const resources[] = {"lut", "ff", "dsp", "bram18", "uram", NULL};
    static const char *const control[] = {"lut",
                                          "ff",
                                          "vector_lut",
                                          "vector_ff",
                                          "product_cycles",
                                          "vector_cycles",
                                          "descriptor_bits",
                                          "shell_lut",
                                          "shell_lutram",
                                          "shell_ff",
                                          NULL};
    const char *external[EXTERNAL_KEYS + 1] = {NULL};
    for (size_t i = 0; i < EXTERNAL_KEYS; i++) external[i] = external_fields[i].key;
    TN_TRY(check_unverified(&device->resources.unverified, "resources", resources, tree,
                            tn_yaml_get(tree, "resources"), error));
    TN_TRY(check_unverified(&device->control.unverified, "control", control, tree,
                            tn_yaml_get(tree, "control"), error));
    static const char *const edram[] = {"retention_us", "refresh_pJ_per_bit", NULL};
    TN_TRY(
        check_unverified(&device->edram.unverified, "edram", edram, tree, tn_yaml_get(tree, "edram"), error));
    for (size_t i = 0; i < device->external.count; i++) {
        const tn_external_memory *memory = (const tn_external_memory *)device->external.item + i;
        TN_TRY(check_unverified(&memory->unverified, "external", external, tree,
                                tn_yaml_get(tn_yaml_get(tree, "external"), memory->name), error));
    }
    return TN_OK;
}

static tn_status check_dsp_block(const tn_device *device, const tn_yaml *tree, tn_error *error) {
    const tn_dsp_block *block;
    tn_error unplaced;
    tn_status status = tn_dsp_block_find(device->dsp_block, &block, &unplaced);
    if (status == TN_OK) return TN_OK;
    const tn_yaml *node = tn_yaml_get(tree, "dsp_block");
    return tn_fail_at(error, status, node ? node->position : tree->position, "%s", unplaced.message);
}

static tn_status check_dvfs(const tn_device *device, tn_error *error) {
    const tn_device_dvfs *points = &device->dvfs;
    bool ascending = points->volts.count == points->MHz.count;
    for (size_t i = 1; ascending && i < points->volts.count; i++)
        ascending = points->volts.item[i] > points->volts.item[i - 1] &&
                    points->MHz.item[i] > points->MHz.item[i - 1];
    if (ascending) return TN_OK;
    return tn_fail_at(error, TN_INPUT, points->volts_at,
                      "\"dvfs\" has %zu volts and %zu MHz; give a clock for each voltage, both ascending",
                      points->volts.count, points->MHz.count);
}

/* Names of formats as the program writes them, so that they compare as text. */
static tn_status name_formats(const tn_device *device, tn_arena *arena, tn_error *error) {
    tn_operator_row *rows = device->operators.item;
    for (size_t i = 0; i < device->operators.count; i++) {
        tn_number_format format;
        char name[TN_NUMBER_FORMAT_NAME];
        tn_error unplaced = {0};
        if (tn_number_format_read(rows[i].precision, &format, &unplaced) != TN_OK)
            return tn_fail_at(error, TN_INPUT, rows[i].precision_at,
                              "\"precision\" of operator %.60s: %.300s", rows[i].name, unplaced.message);
        tn_number_format_name(&format, name);
        TN_TRY(tn_arena_format(arena, &rows[i].precision, error, "%s", name));
    }
    return TN_OK;
}

static bool is_kind(const tn_yaml *tree, const char *kind) {
    const tn_yaml *node = tn_yaml_get(tree, "kind");
    return node && node->kind == TN_YAML_SCALAR && strcmp(node->text, kind) == 0;
}

/* Those of equal inputs stay as they are. */
static void sort_multiplexers(tn_device *device) {
    tn_multiplexer_row *row = device->multiplexers.item;
    for (size_t i = 1; i < device->multiplexers.count; i++) {
        const tn_multiplexer_row own = row[i];
        size_t place = i;
        for (; place > 0 && row[place - 1].inputs > own.inputs; place--) row[place] = row[place - 1];
        row[place] = own;
    }
}

static tn_status decode(const tn_yaml *tree, tn_arena *arena, tn_device *device, tn_error *error) {
    if (is_kind(tree, "roofline")) {
        const tn_yaml *name = tn_yaml_get(tree, "name");
        if (!name || name->kind != TN_YAML_SCALAR)
            return tn_fail_at(error, TN_INPUT, tree->position, "key \"name\" of device is missing");
        *device = (tn_device){.name = name->text, .kind = TN_DEVICE_ROOFLINE};
    } else {
        TN_TRY(tn_schema_decode(&tn_device_schema, tree, arena, device, error));
        TN_TRY(check_lists(device, tree, error));
        TN_TRY(check_dsp_block(device, tree, error));
        TN_TRY(check_dvfs(device, error));
        TN_TRY(name_formats(device, arena, error));
        sort_multiplexers(device);
    }
    device->root = tree;
    return TN_OK;
}

/* Variants that were not chosen are decoded all the same, so that their mistakes are seen. */
static tn_status check_variants(const tn_yaml *root, tn_arena *arena, tn_error *error) {
    const tn_yaml *variants;
    TN_TRY(find_variants(root, &variants, error));
    for (size_t i = 0; variants && i < variants->count; i++) {
        tn_yaml *tree;
        tn_device device;
        TN_TRY(take_variant(root, variants->key[i]->text, variants->key[i]->position, arena, &tree, error));
        TN_TRY(decode(tree, arena, &device, error));
    }
    return TN_OK;
}

static bool sets_variant(const char *assignment) {
    return strncmp(assignment, "variant=", 8) == 0;
}

/* Keys that were applied before values are set: setting them would change nothing, silently. */
static tn_status refuse_applied(const char *assignment, const char *name, const char *variant,
                                tn_error *error) {
    const tn_position position = {"--set", 1, 1};
    size_t length = strcspn(assignment, ".=");
    if ((length == 7 && strncmp(assignment, "inherit", 7) == 0) ||
        (length == 8 && strncmp(assignment, "variants", 8) == 0))
        return tn_fail_at(
            error, TN_INPUT, position,
            "\"%.*s\" belongs to the device's file; name the device that is meant, or write one", (int)length,
            assignment);
    if (sets_variant(assignment) && variant && strcmp(assignment + 8, variant) != 0)
        return tn_fail_at(error, TN_INPUT, position,
                          "%.100s, but the device was asked for as %.100s; give one of them", assignment,
                          name);
    return TN_OK;
}

/* The variant that is asked for, in the order of NAME@VARIANT, --set variant=, the file's own key. */
static tn_status chosen_variant(const tn_yaml *root, const char **variant, tn_position *position,
                                tn_error *error) {
    const tn_yaml *node = tn_yaml_get(root, "variant");
    *position = root->position;
    if (*variant || !node) return TN_OK;
    if (node->kind != TN_YAML_SCALAR)
        return tn_fail_at(error, TN_INPUT, node->position, "\"variant\" must be the name of a variant");
    *variant = node->text;
    *position = node->position;
    return TN_OK;
}

/* Drops what was applied from the tree, so that written and read again it gives the same device: `inherit`,
 * and of `variants` all but the chosen one's name. */
static tn_status seal(tn_yaml *tree, const char *variant, tn_arena *arena, tn_error *error) {
    size_t kept = 0;
    for (size_t i = 0; i < tree->count; i++) {
        const char *key = tree->key[i]->text;
        if (strcmp(key, "inherit") == 0 || strcmp(key, "variant") == 0 || strcmp(key, "variants") == 0)
            continue;
        tree->key[kept] = tree->key[i];
        tree->item[kept++] = tree->item[i];
    }
    tree->count = kept;
    if (!variant) return TN_OK;
    const char *assignment[2];
    TN_TRY(tn_arena_format(arena, &assignment[0], error, "variant=\"%s\"", variant));
    TN_TRY(tn_arena_format(arena, &assignment[1], error, "variants={\"%s\": {}}", variant));
    for (int i = 0; i < 2; i++) TN_TRY(tn_yaml_set(tree, assignment[i], arena, error));
    return TN_OK;
}

tn_status tn_device_load(const char *name, const char *const *set, size_t set_count, tn_arena *arena,
                         tn_device **device, tn_error *error) {
    const char *file, *path, *variant;
    tn_yaml *root, *tree;
    tn_device *made;
    tn_position position;
    TN_TRY(split_name(name, arena, &file, &variant, error));
    TN_TRY(tn_search_path_find(folder, file, arena, &path, error));
    TN_TRY(load_tree(path, 0, arena, &root, error));
    TN_TRY(check_variants(root, arena, error));
    for (size_t i = 0; i < set_count; i++) TN_TRY(refuse_applied(set[i], name, variant, error));
    for (size_t i = 0; i < set_count; i++)
        if (sets_variant(set[i])) TN_TRY(tn_yaml_set(root, set[i], arena, error));
    TN_TRY(chosen_variant(root, &variant, &position, error));
    TN_TRY(take_variant(root, variant, position, arena, &tree, error));
    for (size_t i = 0; i < set_count; i++)
        if (!sets_variant(set[i])) TN_TRY(tn_yaml_set(tree, set[i], arena, error));
    TN_TRY(seal(tree, variant, arena, error));
    TN_TRY(TN_NEW(arena, 1, &made, error));
    TN_TRY(decode(tree, arena, made, error));
    made->variant = variant;
    made->full_name = made->name;
    if (variant) TN_TRY(tn_arena_format(arena, &made->full_name, error, "%s@%s", made->name, variant));
    *device = made;
    return TN_OK;
}

tn_status tn_device_change(const tn_device *device, const char *const *set, size_t set_count, tn_arena *arena,
                           const tn_device **changed, tn_error *error) {
    const tn_yaml nothing = {.kind = TN_YAML_MAPPING};
    const char *variant = device->variant ? device->variant : "";
    tn_yaml *tree;
    tn_device *made;
    TN_TRY(tn_yaml_merge(device->root, &nothing, arena, &tree, error));
    for (size_t i = 0; i < set_count; i++) {
        TN_TRY(refuse_applied(set[i], device->full_name, variant, error));
        TN_TRY(tn_yaml_set(tree, set[i], arena, error));
    }
    TN_TRY(TN_NEW(arena, 1, &made, error));
    TN_TRY(decode(tree, arena, made, error));
    made->variant = device->variant;
    made->full_name = device->full_name;
    *changed = made;
    return TN_OK;
}

tn_device_kind tn_device_kind_of(const tn_device *device) {
    return (tn_device_kind)device->kind;
}

const char *tn_device_name(const tn_device *device) {
    return device->full_name;
}

double tn_resources_block_bytes(const tn_resources *resources) {
    return ((double)resources->bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS +
            (double)resources->uram * TN_MEMORY_CAPACITY_URAM_BITS) /
           8;
}

tn_resources tn_device_resources(const tn_device *device) {
    const tn_device_resources_data *has = &device->resources;
    return (tn_resources){has->lut, has->ff, has->dsp, has->bram18, has->uram};
}

double tn_device_clock_MHz(const tn_device *device) {
    return device->clock_MHz;
}

const tn_yaml *tn_device_root(const tn_device *device) {
    return device->root;
}
