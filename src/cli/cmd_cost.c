/* tenfold cost (MODEL | DIR --point ID): the columns of its answer, its tables for people, the command. */
#include "cli/cost.h"

#include "base/c_locale.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "plot/design_figures.h"
#include "text/record.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

static const tn_column phase_columns[] = {
    TN_COLUMN(tn_cost_phase, name, "phase"),
    TN_COLUMN(tn_cost_phase, macs, "MACs"),
    TN_COLUMN_AS(NULL, tn_cost_phase, vector_flops, "vector FLOPs"),
    TN_COLUMN(tn_cost_phase, flops, "FLOPs"),
    TN_COLUMN_AS(NULL, tn_cost_phase, share, "share", TN_PERCENT),
    TN_COLUMN_AS(NULL, tn_cost_phase, share, "", TN_BAR),
};
static const tn_record phase_record = TN_RECORD(tn_cost_phase, phase_columns);

static const tn_column layer_macs_columns[] = {
    TN_COLUMN_AS("forward", tn_cost_layer, layer.macs[TN_FORWARD], NULL),
    TN_COLUMN_AS("input_gradient", tn_cost_layer, layer.macs[TN_INPUT_GRADIENT], NULL),
    TN_COLUMN_AS("weight_gradient", tn_cost_layer, layer.macs[TN_WEIGHT_GRADIENT], NULL),
};
static const tn_record layer_macs_record = TN_RECORD(tn_cost_layer, layer_macs_columns);

static const tn_column layer_flops_columns[] = {
    TN_COLUMN_AS("forward", tn_cost_layer, layer.flops[TN_FORWARD], NULL),
    TN_COLUMN_AS("input_gradient", tn_cost_layer, layer.flops[TN_INPUT_GRADIENT], NULL),
    TN_COLUMN_AS("weight_gradient", tn_cost_layer, layer.flops[TN_WEIGHT_GRADIENT], NULL),
};
static const tn_record layer_flops_record = TN_RECORD(tn_cost_layer, layer_flops_columns);

static const tn_column layer_columns[] = {
    TN_COLUMN_AS("name", tn_cost_layer, layer.name, NULL),
    TN_COLUMN_AS(NULL, tn_cost_layer, shown, "layer"),
    TN_COLUMN_AS(NULL, tn_cost_layer, count, "x"),
    TN_COLUMN_AS("kind", tn_cost_layer, layer.kind, "kind"),
    TN_COLUMN_AS("format", tn_cost_layer, layer.format, "format"),
    TN_COLUMN_AS("weight", tn_cost_layer, layer.weight_name, NULL),
    TN_LIST("ranks", tn_cost_layer, layer.rank, layer.rank_count, NULL),
    TN_LIST("useful_ranks", tn_cost_layer, layer.useful_rank, layer.rank_count, NULL),
    TN_COLUMN_AS(NULL, tn_cost_layer, ranks, "rank"),
    TN_COLUMN_AS(NULL, tn_cost_layer, layer.flow, "flow"),
    TN_COLUMN_AS("tokens", tn_cost_layer, layer.tokens, NULL),
    TN_COLUMN_AS("parameters", tn_cost_layer, layer.parameters, "parameters"),
    TN_COLUMN_AS("degrees_of_freedom", tn_cost_layer, layer.degrees_of_freedom, NULL),
    TN_GROUP("macs", layer_macs_record, NULL),
    TN_GROUP("flops", layer_flops_record, NULL),
    TN_COLUMN_AS(NULL, tn_cost_layer, layer.macs[TN_FORWARD], "forward MACs"),
    TN_COLUMN_AS(NULL, tn_cost_layer, layer.macs[TN_INPUT_GRADIENT], "input grad. MACs"),
    TN_COLUMN_AS(NULL, tn_cost_layer, layer.macs[TN_WEIGHT_GRADIENT], "weight grad. MACs"),
    TN_COLUMN_AS("peak_elements", tn_cost_layer, layer.peak_elements, NULL),
    TN_COLUMN_AS(NULL, tn_cost_layer, greatest_peak_elements, "peak elements"),
    TN_COLUMN_AS("saved_elements", tn_cost_layer, layer.saved_elements, "saved elements"),
    TN_COLUMN_AS("flow", tn_cost_layer, layer.flow, NULL),
};
static const tn_record layer_record = TN_RECORD(tn_cost_layer, layer_columns);

static const tn_column memory_columns[] = {
    TN_COLUMN(tn_cost_memory, key, NULL),
    TN_COLUMN_AS(NULL, tn_cost_memory, name, "what"),
    TN_COLUMN_AS(NULL, tn_cost_memory, elements, "elements"),
    TN_COLUMN(tn_cost_memory, bytes, "bytes"),
    TN_COLUMN_AS(NULL, tn_cost_memory, bytes, "size", TN_FITTING("B")),
};
static const tn_record memory_record = TN_RECORD(tn_cost_memory, memory_columns);

static const tn_column resource_columns[] = {
    TN_COLUMN(tn_cost_resource, name, "resource"),
    TN_COLUMN(tn_cost_resource, used, "used"),
    TN_COLUMN(tn_cost_resource, available, "available"),
    TN_COLUMN(tn_cost_resource, share, "share", TN_PERCENT),
    TN_COLUMN_AS(NULL, tn_cost_resource, share, "", TN_BAR),
};
static const tn_record resource_record = TN_RECORD(tn_cost_resource, resource_columns);

static const tn_column kernel_columns[] = {
    TN_COLUMN_AS("name", tn_cost_kernel, line.name, "kernel"),
    TN_COLUMN_AS("count", tn_cost_kernel, line.count, "x"),
    TN_COLUMN_AS("lanes", tn_cost_kernel, line.lanes, "lanes"),
    TN_COLUMN_AS("operations", tn_cost_kernel, line.operations, "operations"),
    TN_COLUMN_AS("busy_cycles", tn_cost_kernel, line.busy_cycles, "busy cycles"),
    TN_COLUMN_AS("critical_cycles", tn_cost_kernel, line.critical_cycles, NULL),
    TN_COLUMN_AS(NULL, tn_cost_kernel, critical_share, "on critical path", TN_PERCENT),
    TN_COLUMN_AS("utilisation", tn_cost_kernel, line.utilisation, "busy", TN_PERCENT),
    TN_COLUMN_AS(NULL, tn_cost_kernel, line.utilisation, "", TN_BAR),
    TN_COLUMN_AS("filled", tn_cost_kernel, line.filled, NULL),
};
static const tn_record kernel_record = TN_RECORD(tn_cost_kernel, kernel_columns);

static const tn_column fused_columns[] = {
    TN_COLUMN(tn_fused_line, layer, "product of"),
    TN_COLUMN(tn_fused_line, operations, "does as it writes"),
};
static const tn_record fused_record = TN_RECORD(tn_fused_line, fused_columns);

static const tn_column waited_columns[] = {
    TN_COLUMN(tn_waited, data_cycles, NULL),
    TN_COLUMN(tn_waited, kernel_cycles, NULL),
    TN_COLUMN_AS("memory_port_cycles", tn_waited, port_cycles, NULL),
    TN_COLUMN(tn_waited, order_cycles, NULL),
    TN_COLUMN_AS("external_memory_cycles", tn_waited, external_cycles, NULL),
    TN_COLUMN_AS("memory_port", tn_waited, port, NULL),
};
static const tn_record waited_record = TN_RECORD(tn_waited, waited_columns);

static const tn_column latency_columns[] = {
    TN_COLUMN_AS("cycles_per_step", tn_cost, why.price.cycles_per_step, NULL),
    TN_COLUMN_AS("seconds_per_step", tn_cost, why.price.seconds_per_step, NULL),
    TN_COLUMN_AS("steps_per_epoch", tn_cost, step.steps_per_epoch, NULL),
    TN_COLUMN(tn_cost, seconds_per_epoch, NULL),
    TN_COLUMN_AS("clock_MHz", tn_cost, why.clock_MHz, NULL),
    TN_COLUMN_AS("floor_cycles", tn_cost, why.floor_cycles, NULL),
    TN_COLUMN_AS("bound", tn_cost, why.bound, NULL),
    TN_OBJECT("critical_path_waits", tn_cost, why.waited, waited_record, NULL),
};
static const tn_record latency_record = TN_RECORD(tn_cost, latency_columns);

static void put_fallen(const void *row, tn_json *json) {
    tn_json_real(json, (double)((const tn_fall_line *)row)->cycles);
}

static void put_reached(const void *row, tn_json *json) {
    tn_json_real(json, (double)((const tn_fall_line *)row)->reached);
}

static void put_of_group(const void *row, tn_json *json) {
    tn_json_real(json, (double)((const tn_fall_group *)row)->cycles);
}

static void show_signed(int64_t cycles, tn_buffer *cell) {
    char text[32];
    tn_buffer_format(cell, "%s%s", cycles < 0 ? "-" : "", tn_count_text((uint64_t)llabs(cycles), text));
}

static void show_fallen(const void *row, tn_buffer *cell) {
    show_signed(((const tn_fall_line *)row)->cycles, cell);
}

static void show_reached(const void *row, tn_buffer *cell) {
    show_signed(((const tn_fall_line *)row)->reached, cell);
}

static void show_groups(const void *row, tn_buffer *cell) {
    const tn_fall_line *line = row;
    for (uint32_t i = 0; i < line->groups; i++) {
        tn_buffer_format(cell, "%s%" PRIu64 " x %s: ", i ? "; " : "", line->group[i].count,
                         line->group[i].operations);
        show_signed(line->group[i].cycles, cell);
    }
}

static const tn_column group_columns[] = {
    TN_COLUMN(tn_fall_group, operations, NULL),
    TN_COLUMN(tn_fall_group, count, NULL),
    TN_WRITTEN("cycles", put_of_group, NULL, .type = "integer"),
};
static const tn_record group_record = TN_RECORD(tn_fall_group, group_columns);

static const tn_column fall_columns[] = {
    TN_COLUMN(tn_fall_line, part, "part"),
    TN_WRITTEN("cycles", put_fallen, "cycles", .cell = show_fallen, .type = "integer"),
    TN_WRITTEN("reached", put_reached, "so far", .cell = show_reached, .type = "integer"),
    TN_ROWS("largest", tn_fall_line, group, groups, group_record, NULL, .in_place = true),
    TN_WRITTEN(NULL, NULL, "most of it", .cell = show_groups),
    TN_COLUMN(tn_fall_line, keys, NULL),
};
static const tn_record fall_record = TN_RECORD(tn_fall_line, fall_columns);

static const tn_column part_columns[] = {
    TN_COLUMN(tn_cost_energy, name, "part"),
    TN_COLUMN(tn_cost_energy, joules, "energy", TN_FITTING("J")),
    TN_COLUMN_AS(NULL, tn_cost_energy, least, "least", TN_FITTING("J")),
    TN_COLUMN_AS(NULL, tn_cost_energy, most, "most", TN_FITTING("J")),
    TN_COLUMN_AS(NULL, tn_cost_energy, share, "share", TN_PERCENT),
    TN_COLUMN_AS(NULL, tn_cost_energy, share, "", TN_BAR),
};
static const tn_record part_record = TN_RECORD(tn_cost_energy, part_columns);

static const tn_column range_columns[] = {
    TN_RANGE("joules_per_step", tn_cost, energy[TN_COST_ALL].least, NULL),
    TN_RANGE("static_joules", tn_cost, energy[TN_ENERGY_STATIC].least, NULL),
    TN_RANGE("dynamic_joules", tn_cost, energy[TN_COST_DYNAMIC].least, NULL),
};
static const tn_record range_record = TN_RECORD(tn_cost, range_columns);

/* What a user may want to replace by measured figures. */
#define FIGURE(member, title, of_unit)                                                                       \
    TN_COLUMN_AS(#member, tn_device_energy, member.value, title, .unit = (of_unit))
static const tn_column coefficient_columns[] = {
    FIGURE(static_W, "drawn at rest", "W"),
    FIGURE(voltage_V, "voltage of the logic", "V"),
    FIGURE(toggle, "switching while busy", "of 1"),
    FIGURE(idle_toggle, "switching while idle", "of 1"),
    FIGURE(wires, "wires, by their LUTs and flip-flops", "of 1"),
    FIGURE(clock_pF, "clock tree, a flip-flop", "pF"),
    FIGURE(lut_pF, "capacitance of a LUT", "pF"),
    FIGURE(ff_pF, "of a flip-flop", "pF"),
    FIGURE(dsp_pF, "of a DSP block", "pF"),
    FIGURE(bram18_pF, "of a BRAM18", "pF"),
    FIGURE(uram_pF, "of an URAM", "pF"),
    FIGURE(bram_pJ_per_bit, "access to block RAM", "pJ/bit"),
    FIGURE(uram_pJ_per_bit, "to UltraRAM", "pJ/bit"),
    FIGURE(lutram_pJ_per_bit, "to LUTRAM", "pJ/bit"),
};
static const tn_record coefficient_record = TN_RECORD(tn_device_energy, coefficient_columns);

static const tn_column energy_columns[] = {
    TN_COLUMN_AS("joules_per_step", tn_cost, why.price.joules_per_step, NULL),
    TN_COLUMN_AS("watts", tn_cost, why.price.watts, NULL),
    TN_COLUMN_AS("static_joules", tn_cost, why.price.static_joules_per_step, NULL),
    TN_COLUMN_AS("dynamic_joules", tn_cost, energy[TN_COST_DYNAMIC].joules, NULL),
    TN_GROUP("range", range_record, NULL),
    TN_ROWS_HERE("joules", tn_cost, energy, TN_ENERGY_PARTS, part_record, NULL, TN_KEYED),
    TN_OBJECT("coefficients", tn_cost, coefficients, coefficient_record, NULL),
};
static const tn_record energy_record = TN_RECORD(tn_cost, energy_columns);

static const tn_column cell_columns[] = {
    TN_COLUMN_AS("retention_us", tn_cost, why.cells.retention_us, "a cell keeps its value", .unit = "us"),
    TN_COLUMN_AS("longest_us", tn_cost, why.cells.longest_us, "the longest that an array lives",
                 .unit = "us"),
    TN_COLUMN_AS("arrays", tn_cost, why.cells.arrays, "arrays"),
    TN_COLUMN_AS("refreshed_arrays", tn_cost, why.cells.refreshed_arrays,
                 "that live longer and are refreshed"),
    TN_COLUMN_AS("words", tn_cost, why.cells.words, "words of them, each array counted once"),
    TN_COLUMN_AS("refreshed_words", tn_cost, why.cells.refreshed_words, "that live longer and are refreshed"),
    TN_COLUMN_AS("refreshes", tn_cost, why.cells.refreshes, "refreshes of words a step"),
    TN_COLUMN_AS("staying_words", tn_cost, why.cells.staying_words, "words that stay from step to step"),
    TN_COLUMN_AS("staying_refreshes", tn_cost, why.cells.staying_refreshes, "refreshes of these a step"),
};
static const tn_record cell_record = TN_RECORD(tn_cost, cell_columns);

static void put_fits(const void *row, tn_json *json) {
    tn_json_bool(json, ((const tn_flow_price *)row)->price.misfits == 0);
}

static void show_fits(const void *row, tn_buffer *cell) {
    tn_buffer_text(cell, ((const tn_flow_price *)row)->price.misfits ? "no" : "yes");
}

static void show_flow(const void *row, tn_buffer *cell) {
    const tn_flow_price *flow = row;
    tn_buffer_format(cell, "%s%s", flow->name, flow->as_given ? " (as given)" : "");
}

static const tn_column flow_columns[] = {
    TN_WRITTEN(NULL, NULL, "flow", .cell = show_flow),
    TN_COLUMN(tn_flow_price, name, NULL),
    TN_COLUMN(tn_flow_price, as_given, NULL),
    TN_COLUMN(tn_flow_price, macs, "MACs a step"),
    TN_COLUMN(tn_flow_price, saved_elements, "saved elements"),
    TN_COLUMN(tn_flow_price, peak_elements, "peak elements"),
    TN_COLUMN_AS("cycles_per_step", tn_flow_price, price.cycles_per_step, "cycles a step"),
    TN_COLUMN_AS("seconds_per_step", tn_flow_price, price.seconds_per_step, "time", TN_FITTING("s")),
    TN_COLUMN_AS("joules_per_step", tn_flow_price, price.joules_per_step, "energy", TN_FITTING("J")),
    TN_COLUMN_AS("on_chip_bytes", tn_flow_price, price.on_chip_bytes, "on chip", TN_FITTING("B")),
    TN_WRITTEN("fits", put_fits, "fits", .cell = show_fits),
};
static const tn_record flow_record = TN_RECORD(tn_flow_price, flow_columns);

static const tn_column clock_columns[] = {
    TN_COLUMN_AS("clock_MHz", tn_clock_price, clock_MHz, "clock", TN_IN("MHz", 1)),
    TN_COLUMN(tn_clock_price, cycles_per_step, "cycles a step"),
    TN_COLUMN_AS("seconds_per_step", tn_clock_price, seconds_per_step, "time", TN_FITTING("s")),
    TN_COLUMN(tn_clock_price, dsp, "DSP"),
};
static const tn_record clock_record = TN_RECORD(tn_clock_price, clock_columns);

static const tn_column misfit_columns[] = {
    TN_NAME("resource", tn_misfit, resource, tn_resource_names, NULL),
    TN_COLUMN(tn_misfit, needed, NULL),
    TN_COLUMN(tn_misfit, available, NULL),
    TN_ARRAY("largest", tn_misfit, largest, count, NULL),
    TN_ARRAY("amounts", tn_misfit, amount, count, NULL),
};
static const tn_record misfit_record = TN_RECORD(tn_misfit, misfit_columns);

static const tn_column remedy_columns[] = {
    TN_COLUMN(tn_remedy, change, NULL),
    TN_COLUMN(tn_remedy, was, NULL),
    TN_COLUMN_AS("seconds_per_step", tn_remedy, price.seconds_per_step, NULL),
};
static const tn_record remedy_record = TN_RECORD(tn_remedy, remedy_columns);

static const tn_column change_columns[] = {
    TN_COLUMN(tn_change, before, NULL),
    TN_COLUMN(tn_change, after, NULL),
};
static const tn_record change_record = TN_RECORD(tn_change, change_columns);
static const tn_column real_change_columns[] = {
    TN_COLUMN(tn_real_change, before, NULL),
    TN_COLUMN(tn_real_change, after, NULL),
};
static const tn_record real_change_record = TN_RECORD(tn_real_change, real_change_columns);

/* Of each quantity what it was and what it is. */
#define CHANGED(member, heading, ...)                                                                        \
    TN_OBJECT(#member, tn_technique_price, member, change_record, NULL),                                     \
        TN_COLUMN_AS(NULL, tn_technique_price, member.before, heading, __VA_ARGS__),                         \
        TN_COLUMN_AS(NULL, tn_technique_price, member.after, "then", __VA_ARGS__)
static const tn_column technique_columns[] = {
    TN_COLUMN(tn_technique_price, name, "technique"),
    TN_COLUMN(tn_technique_price, keys, NULL),
    CHANGED(macs, "MACs", TN_FITTING("")),
    CHANGED(saved_bytes, "kept", TN_FITTING("B")),
    CHANGED(peak_bytes, "peak", TN_FITTING("B")),
    CHANGED(cycles_per_step, "cycles", .unit = NULL),
    TN_OBJECT("joules_per_step", tn_technique_price, joules_per_step, real_change_record, NULL),
    TN_COLUMN_AS(NULL, tn_technique_price, joules_per_step.before, "energy", TN_FITTING("J")),
    TN_COLUMN_AS(NULL, tn_technique_price, joules_per_step.after, "then", TN_FITTING("J")),
};
static const tn_record technique_record = TN_RECORD(tn_technique_price, technique_columns);

static const tn_column cost_columns[] = {
    TN_COLUMN_AS("model", tn_cost, step.name, NULL),
    TN_COLUMN_AS("device", tn_cost, why.device, NULL),
    TN_COLUMN_AS("parameters", tn_cost, step.parameters, NULL),
    TN_COLUMN_AS("bytes", tn_cost, memory[0].bytes, NULL),
    TN_COLUMN_AS("degrees_of_freedom", tn_cost, step.degrees_of_freedom, NULL),
    TN_COLUMN_AS("batch", tn_cost, step.batch, NULL),
    TN_COLUMN_AS("sequence", tn_cost, step.sequence, NULL),
    TN_COLUMN_AS("precision", tn_cost, step.precision, NULL),
    TN_NAME("optimizer", tn_cost, step.optimizer, tn_optimizer_names, NULL),
    TN_ROWS_HERE("phases", tn_cost, phase, TN_PHASES, phase_record, NULL, TN_KEYED),
    TN_ROWS("layers", tn_cost, layer, step.layers, layer_record, NULL),
    TN_ROWS("memory", tn_cost, memory, memories, memory_record, NULL, .in_place = true, TN_KEYED),
    TN_ROWS_HERE("resources", tn_cost, resource, TN_RESOURCES, resource_record, NULL, TN_KEYED),
    TN_COLUMN_AS("on_chip_bytes", tn_cost, why.price.on_chip_bytes, NULL),
    TN_COLUMN_AS("off_chip_bytes", tn_cost, why.price.off_chip_bytes, NULL),
    TN_COLUMN_AS("off_chip_bytes_per_step", tn_cost, why.price.off_chip_bytes_per_step, NULL),
    TN_GROUP("latency", latency_record, NULL),
    TN_ROWS_HERE("floor", tn_cost, why.fall, TN_FALLS, fall_record, NULL),
    TN_GROUP("energy", energy_record, NULL),
    TN_GROUP("cells", cell_record, NULL, TN_WHEN(tn_cost, why.cells.lose), TN_OPTIONAL),
    TN_ROWS("kernels", tn_cost, kernel, why.kernels, kernel_record, NULL),
    TN_ROWS("fused", tn_cost, why.fused, why.fused_lines, fused_record, NULL),
    TN_ROWS("memories", tn_cost, why.memory, why.memories, tn_cost_memory_record, NULL),
    TN_ROWS_HERE("grouping", tn_cost, grouping, TN_GROUPINGS, tn_cost_grouping_record, NULL),
    TN_ROWS("flows", tn_cost, flow, flows, flow_record, NULL, .in_place = true),
    TN_ROWS("clocks", tn_cost, clock, clocks, clock_record, NULL, .in_place = true),
    TN_ROWS("techniques", tn_cost, technique, techniques, technique_record, NULL),
    TN_COLUMN(tn_cost, shell_lut, NULL, TN_OPTIONAL, TN_WHEN(tn_cost, has_shell)),
    TN_COLUMN(tn_cost, shell_ff, NULL, TN_OPTIONAL, TN_WHEN(tn_cost, has_shell)),
    TN_COLUMN(tn_cost, fits, NULL),
    TN_COLUMN(tn_cost, rtl, NULL),
    TN_COLUMN(tn_cost, operator_set, NULL),
    TN_ROWS("misfits", tn_cost, why.misfit, why.misfits, misfit_record, NULL),
    TN_ROWS("remedies", tn_cost, remedies.remedy, remedies.count, remedy_record, NULL),
    TN_LIST("unverified", tn_cost, why.unverified, why.unverified_count, NULL),
    TN_COLUMN(tn_cost, figure, NULL, TN_OPTIONAL),
};
const tn_record tn_cost_record = TN_RECORD(tn_cost, cost_columns);

/* ---- people: sections ---- */

static tn_status print_layers(const tn_cost *cost, tn_error *error) {
    tn_table table;
    tn_say_heading("Layers (each; * stands for every repetition, with the greatest peak)");
    tn_record_head(&layer_record, NULL, &table);
    for (uint32_t i = 0; i < cost->step.layers; i++)
        if (cost->layer[i].count) tn_record_cells(&layer_record, &cost->layer[i], NULL, &table);
    return tn_table_end(&table, error);
}

static tn_status print_budget(const tn_cost *cost, tn_error *error) {
    const tn_price *price = &cost->why.price;
    tn_say_heading("Budget");
    TN_TRY(tn_output_rows(&resource_record, cost->resource, TN_RESOURCES, error));
    char on[48], off[48], moved[48];
    tn_say("on-chip memory blocks taken: %s", tn_quantity_text((double)price->on_chip_bytes, "B", on));
    if (price->off_chip_bytes)
        tn_say("; off chip: %s, %s moved a step", tn_quantity_text((double)price->off_chip_bytes, "B", off),
               tn_quantity_text((double)price->off_chip_bytes_per_step, "B", moved));
    tn_say("\n");
    return TN_OK;
}

static tn_status print_timeline(const tn_cost *cost, tn_error *error) {
    char floor[32];
    tn_say_heading("Time of a step by kernel");
    TN_TRY(tn_output_rows(&kernel_record, cost->kernel, cost->why.kernels, error));
    if (cost->why.fused_lines) {
        tn_say_heading("Fused into products' write-back");
        TN_TRY(tn_output_rows(&fused_record, cost->why.fused, cost->why.fused_lines, error));
    }
    tn_say_folded("", 0, "%s", cost->why.bound);
    tn_say("floor, all DSP blocks multiplying all the time: %s cycles\n",
           tn_count_text(cost->why.floor_cycles, floor));
    return TN_OK;
}

/* Of parts that are 0 nothing is said. */
static tn_status print_floor(const tn_cost *cost, tn_error *error) {
    const tn_fall_line *fall = cost->why.fall;
    tn_table table;
    tn_say_heading("From the device's floor to the step");
    tn_record_head(&fall_record, NULL, &table);
    for (int i = 0; i < TN_FALLS; i++)
        if (fall[i].cycles != 0) tn_record_cells(&fall_record, &fall[i], NULL, &table);
    TN_TRY(tn_table_end(&table, error));
    tn_say_heading("Keys that change a part");
    for (int i = 0; i < TN_FALLS; i++)
        if (fall[i].cycles != 0) tn_say("%s: %s\n", fall[i].part, fall[i].keys);
    return TN_OK;
}

static tn_status print_energy(const tn_cost *cost, tn_error *error) {
    tn_say_heading("Energy of a step, and its range over the unverified figures");
    TN_TRY(tn_output_rows(&part_record, cost->energy, TN_COST_ENERGIES, error));
    if (cost->why.cells.lose) {
        tn_say_heading("Lifetimes in cells that lose their value");
        TN_TRY(tn_output_lines(&cell_record, cost, error));
    }
    tn_say_heading("Figures that it is made with (C V^2 of what switches)");
    return tn_output_lines(&coefficient_record, &cost->coefficients, error);
}

static tn_status print_misfits(const tn_cost *cost, tn_error *error) {
    const tn_explanation *why = &cost->why;
    const tn_remedies *remedies = &cost->remedies;
    char need[48], have[32];
    (void)error;
    if (why->misfits == 0) return TN_OK;
    tn_say_heading("Does not fit");
    for (uint32_t i = 0; i < why->misfits; i++) {
        const tn_misfit *misfit = &why->misfit[i];
        tn_say("%s: needs %s, has %s. Largest:", tn_resource_names[misfit->resource],
               tn_count_text(misfit->needed, need), tn_count_text(misfit->available, have));
        for (uint32_t k = 0; k < misfit->count; k++)
            tn_say("%s %s (%s)", k ? "," : "", misfit->largest[k], tn_count_text(misfit->amount[k], need));
        tn_say(".\n");
    }
    for (size_t i = 0; i < remedies->count; i++)
        tn_say("  --set %s (is %s): %s a step\n", remedies->remedy[i].change, remedies->remedy[i].was,
               tn_quantity_text(remedies->remedy[i].price.seconds_per_step, "s", need));
    if (remedies->cut) tn_say("  (the step is long: %zu changes were tried, no more)\n", remedies->tried);
    return TN_OK;
}

static tn_status print_unverified(const tn_cost *cost, tn_error *error) {
    const tn_explanation *why = &cost->why;
    (void)error;
    if (why->unverified_count == 0) return TN_OK;
    tn_say_heading("Unverified figures of the device file that this rests on");
    for (uint32_t i = 0; i < why->unverified_count; i++) tn_say("%s\n", why->unverified[i]);
    return TN_OK;
}

static tn_status print_phases(const tn_cost *cost, tn_error *error) {
    tn_say_heading("Phases");
    return tn_output_rows(&phase_record, cost->phase, TN_PHASES, error);
}

static tn_status print_memory(const tn_cost *cost, tn_error *error) {
    tn_say_heading("Memory (contents; blocks round it up)");
    return tn_output_rows(&memory_record, cost->memory, cost->memories, error);
}

static tn_status print_clocks(const tn_cost *cost, tn_error *error) {
    tn_say_heading("Clocks that the operators meet (placement and routing apart)");
    return tn_output_rows(&clock_record, cost->clock, cost->clocks, error);
}

static tn_status print_flows(const tn_cost *cost, tn_error *error) {
    if (cost->flows == 0) return TN_OK;
    tn_say_heading("Flows of the tensor-format linear layers under these kernels");
    return tn_output_rows(&flow_record, cost->flow, cost->flows, error);
}

static tn_status print_techniques(const tn_cost *cost, tn_error *error) {
    if (cost->techniques == 0) return TN_OK;
    tn_say_heading("What each technique changes, one behind the other");
    return tn_output_rows(&technique_record, cost->technique, cost->techniques, error);
}

/* In the order in which --full prints them. */
static const struct {
    const char *name;
    tn_status (*print)(const tn_cost *cost, tn_error *error);
} sections[] = {
    {"layers", print_layers},
    {"phases", print_phases},
    {"memory", print_memory},
    {"budget", print_budget},
    {"memories", tn_cost_print_memories},
    {"kernels", print_timeline},
    {"floor", print_floor},
    {"energy", print_energy},
    {"clocks", print_clocks},
    {"flows", print_flows},
    {"techniques", print_techniques},
    {"misfits", print_misfits},
    {"unverified", print_unverified},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

/* ---- the command ---- */

typedef struct {
    tn_common common;
    const char *device, *point, *folder, *format, *show;
    tn_option_list set;
    bool full, shell;
    bool shown[SECTIONS];
} request;

static const char default_device[] = TN_USUAL_DEVICE;

static tn_status load(const request *asked, tn_arena *arena, tn_target *target, tn_error *error) {
    TN_TRY(tn_target_load(asked->common.argument[0], asked->point, asked->device, default_device, &asked->set,
                          arena, target, error));
    if (tn_device_kind_of(target->design.device) == TN_DEVICE_FPGA) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "device %s is no FPGA; `tenfold roofline step %s --device %s` predicts a training step on it",
        tn_device_name(target->design.device), asked->common.argument[0],
        tn_device_name(target->design.device));
}

/* Twice as many lanes of one kind; the next thing that an architect would try. */
static tn_status try_doubles(const tn_priced *given, tn_program_cache *cache, tn_cost *cost,
                             tn_error *error) {
    const struct {
        const char *key;
        uint64_t is;
    } count[] = {{"build.rows", cost->build.rows},
                 {"build.columns", cost->build.columns},
                 {"build.reduction", cost->build.reduction},
                 {"build.vector", cost->build.vector}};
    double least = 0.98 * cost->why.price.seconds_per_step;
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        tn_arena scratch = {0};
        tn_design changed;
        tn_priced priced;
        char text[48];
        const char *const set[] = {text};
        tn_snprintf(text, sizeof text, "%s=%" PRIu64, count[i].key, 2 * count[i].is);
        tn_status status = tn_design_change(&given->design, set, 1, &scratch, &changed, error);
        if (status == TN_OK) status = tn_design_price(&changed, given, cache, &scratch, &priced, error);
        if (status == TN_OK && priced.price.misfits == 0 && priced.price.seconds_per_step < least) {
            least = cost->faster.seconds_per_step = priced.price.seconds_per_step;
            cost->faster.was = count[i].is;
            memcpy(cost->faster.change, text, sizeof text);
        }
        tn_arena_free(&scratch);
        if (status == TN_MEMORY || status == TN_INTERRUPTED) return status;
    }
    return TN_OK;
}

static tn_status price(const tn_target *target, tn_program_cache *cache, tn_arena *arena, tn_cost *cost,
                       tn_error *error) {
    const tn_design *design = &target->design;
    const tn_resources has = tn_device_resources(design->device);
    const tn_limits limits = {.budget = &has};
    tn_priced priced;
    TN_TRY(tn_design_price(design, NULL, cache, arena, &priced, error));
    if (cost->has_shell) {
        cost->shell_lut = design->device->control.shell_lut;
        cost->shell_ff = design->device->control.shell_ff;
    }
    cost->build = design->build;
    cost->step = *priced.step;
    TN_TRY(tn_price_explain(priced.workload, &cost->build, arena, &cost->why, error));
    if (cost->why.misfits) TN_TRY(tn_remedies_of(&priced, &limits, cache, arena, &cost->remedies, error));
    if (!cost->why.misfits) TN_TRY(try_doubles(&priced, cache, cost, error));
    TN_TRY(tn_clock_prices(&priced, cost->clock, &cost->clocks, error));
    TN_TRY(tn_grouping_compare(&priced, cost->grouping, error));
    TN_TRY(tn_flow_prices(design, cache, cost->flow, &cost->flows, error));
    TN_TRY(tn_technique_prices(design, cache, arena, &cost->technique, &cost->techniques, error));
    return tn_cost_prepare(cost, arena, error);
}

/* The sections that --show names. */
static tn_status read_sections(request *asked, tn_error *error) {
    const char *names[SECTIONS];
    char name[32], told[160];
    for (size_t i = 0; i < SECTIONS; i++) {
        names[i] = sections[i].name;
        asked->shown[i] = asked->full;
    }
    for (const char *cursor = asked->show ? asked->show : ""; *cursor;) {
        size_t length = strcspn(cursor, ","), index = 0;
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), cursor);
        while (index < SECTIONS && strcmp(names[index], name) != 0) index++;
        if (index == SECTIONS)
            return tn_fail(error, TN_INPUT, "--show has no section '%s'; %s", name,
                           tn_suggestion(name, names, SECTIONS, told, sizeof told));
        asked->shown[index] = true;
        cursor += length + (cursor[length] == ',');
    }
    return TN_OK;
}

static tn_status print(const request *asked, const tn_cost *cost, tn_error *error) {
    const char *again = asked->common.argument[0];
    tn_buffer text = {0};
    tn_buffer_text(&text, again);
    if (asked->point) tn_buffer_format(&text, " --point %s", asked->point);
    if (asked->device) tn_buffer_format(&text, " --device %s", asked->device);
    if (asked->set.count) tn_buffer_text(&text, " --set ...");
    if (!asked->show) tn_cost_print_page(cost, text.data ? text.data : again);
    tn_buffer_free(&text);
    for (size_t i = 0; i < SECTIONS; i++)
        if (asked->shown[i]) TN_TRY(sections[i].print(cost, error));
    return TN_OK;
}

/* Before anything is computed. */
static tn_status read_format(const request *asked, tn_figure_format *format, tn_error *error) {
    if (asked->format && !asked->folder)
        return tn_fail(error, TN_INPUT, "--format is that of a picture; add --plot DIR");
    return tn_figure_format_find(asked->format ? asked->format : "png", format, error);
}

static tn_status draw(const request *asked, tn_figure_format format, tn_arena *arena, tn_cost *cost,
                      tn_error *error) {
    if (!asked->folder) return TN_OK;
    return tn_timeline_figure(&cost->step, &cost->why, asked->folder, format, TN_FIGURE_SCREEN, arena,
                              &cost->figure, error);
}

static tn_status answer_request(const request *asked, tn_target *target, tn_program_cache *cache,
                                tn_arena *arena, tn_error *error) {
    tn_figure_format format;
    tn_cost cost = {.has_shell = asked->shell};
    TN_TRY(read_format(asked, &format, error));
    TN_TRY(load(asked, arena, target, error));
    TN_TRY(price(target, cache, arena, &cost, error));
    TN_TRY(draw(asked, format, arena, &cost, error));
    return asked->common.json ? tn_output_json(&tn_cost_record, &cost, error) : print(asked, &cost, error);
}

static const tn_option options[] = {
    {"--device", TN_INTO(request, device), "DEVICE",
     "device file, name or NAME@VARIANT; default u50@user-area"},
    {"--point", TN_INTO(request, point), "ID", "with a sweep's folder: this design, on the sweep's device"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "override a key of the model, its build or the device; with --point: what if; repeatable"},
    {"--show", TN_INTO(request, show), "SECTION,...",
     "print these alone: layers, phases, memory, budget, memories, kernels, floor, energy, clocks, flows, "
     "techniques, misfits, "
     "unverified"},
    {"--shell", TN_INTO(request, shell), NULL, "with the bus around it that tenfold rtl --shell generates"},
    {"--full", TN_INTO(request, full), NULL, "print every section below the first page"},
    {"--plot", TN_INTO(request, folder), "DIR", "draw the step's timeline by kernel into this folder"},
    {"--format", TN_INTO(request, format), "png|svg|pdf", "picture format of --plot; default png"},
};

/* A design that does not fit is an answer, not a failure: "fits": false. */
static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_program_cache *cache;
    tn_target target = {0};
    (void)answer;
    TN_TRY(read_sections(r, error));
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = answer_request(r, &target, cache, &r->common.arena, error);
    tn_target_free(&target);
    tn_program_cache_free(cache);
    return status;
}

const tn_command tn_command_cost = {
    .name = "cost",
    .summary = "one design's cost: a model's training step on a device",
    .usage = "MODEL [--device DEVICE] [--set KEY=VALUE]... [--full | --show SECTION,...]\nDIR --point ID "
             "[--set KEY=VALUE]...",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, NULL),
    TN_ANSWERS(&tn_cost_record),
    .answer = answer,
};
