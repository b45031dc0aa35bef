/* tenfold cost (MODEL | DIR --point ID): the columns of its answer, its tables for people, the command. */
#include "cli/cost.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "plot/design_figures.h"
#include "text/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_MIB 1048576.0

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
    TN_ROWS_HERE("memory", tn_cost, memory, TN_COST_MEMORIES, memory_record, NULL, TN_KEYED),
    TN_ROWS_HERE("resources", tn_cost, resource, TN_RESOURCES, resource_record, NULL, TN_KEYED),
    TN_COLUMN_AS("on_chip_bytes", tn_cost, why.price.on_chip_bytes, NULL),
    TN_COLUMN_AS("off_chip_bytes", tn_cost, why.price.off_chip_bytes, NULL),
    TN_COLUMN_AS("off_chip_bytes_per_step", tn_cost, why.price.off_chip_bytes_per_step, NULL),
    TN_GROUP("latency", latency_record, NULL),
    TN_GROUP("energy", energy_record, NULL),
    TN_ROWS("kernels", tn_cost, kernel, why.kernels, kernel_record, NULL),
    TN_ROWS("fused", tn_cost, why.fused, why.fused_lines, fused_record, NULL),
    TN_ROWS("memories", tn_cost, why.memory, why.memories, tn_cost_memory_record, NULL),
    TN_ROWS_HERE("grouping", tn_cost, grouping, TN_GROUPINGS, tn_cost_grouping_record, NULL),
    TN_ROWS("flows", tn_cost, flow, flows, flow_record, NULL, .in_place = true),
    TN_ROWS("clocks", tn_cost, clock, clocks, clock_record, NULL, .in_place = true),
    TN_ROWS("techniques", tn_cost, technique, techniques, technique_record, NULL),
    TN_COLUMN(tn_cost, fits, NULL),
    TN_ROWS("misfits", tn_cost, why.misfit, why.misfits, misfit_record, NULL),
    TN_ROWS("remedies", tn_cost, remedies.remedy, remedies.count, remedy_record, NULL),
    TN_LIST("unverified", tn_cost, why.unverified, why.unverified_count, NULL),
    TN_COLUMN(tn_cost, figure, NULL, TN_OPTIONAL),
};
const tn_record tn_cost_record = TN_RECORD(tn_cost, cost_columns);

/* ---- people ---- */

static void print_title(const tn_cost *cost) {
    const tn_step *step = &cost->step;
    const tn_explanation *why = &cost->why;
    char text[3][32];
    tn_say("%s on %s at %g MHz\n", step->name, why->device, why->clock_MHz);
    tn_say("batch %" PRIu64 " x %" PRIu64 " tokens, %s, %s, %s steps an epoch\n", step->batch, step->sequence,
           step->precision,
           step->inference ? "inference (a step is a forward pass)" : tn_optimizer_names[step->optimizer],
           tn_count_text(step->steps_per_epoch, text[0]));
    tn_say("%s parameters (%s), %s multiply-adds a %s\n", tn_count_text(step->parameters, text[0]),
           tn_bytes_text((double)cost->memory[0].bytes, text[1]),
           tn_count_text(tn_step_macs(step->macs), text[2]), step->inference ? "step" : "training step");
    tn_say("a step takes %s cycles = %.4g ms, %.4g mJ at %.3g W; an epoch %.4g s, %.4g J: %s\n",
           tn_count_text(why->price.cycles_per_step, text[0]), 1e3 * why->price.seconds_per_step,
           1e3 * why->price.joules_per_step, why->price.watts, cost->seconds_per_epoch,
           why->price.joules_per_step * (double)step->steps_per_epoch, cost->fits ? "fits" : "DOES NOT FIT");
}

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
    tn_say("on-chip memory blocks taken: %.2f MiB", (double)price->on_chip_bytes / BYTES_PER_MIB);
    if (price->off_chip_bytes)
        tn_say("; off chip: %.2f MiB, %.2f MiB moved a step", (double)price->off_chip_bytes / BYTES_PER_MIB,
               (double)price->off_chip_bytes_per_step / BYTES_PER_MIB);
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
    tn_say("%s\nfloor, all DSP blocks multiplying all the time: %s cycles\n", cost->why.bound,
           tn_count_text(cost->why.floor_cycles, floor));
    return TN_OK;
}

static tn_status print_energy(const tn_cost *cost, tn_error *error) {
    tn_say_heading("Energy of a step, and its range over the unverified figures");
    TN_TRY(tn_output_rows(&part_record, cost->energy, TN_COST_ENERGIES, error));
    tn_say_heading("Figures that it is made with (C V^2 of what switches)");
    return tn_output_lines(&coefficient_record, &cost->coefficients, error);
}

/* Single changes that were priced; what is done already is none of them. */
static void print_remedies(const tn_remedies *remedies) {
    enum { SHOWN = 6 };
    char text[32];
    if (remedies->count == 0) {
        tn_say("To fit: none of %zu single changes is enough%s", remedies->tried,
               remedies->cut ? " (of a step this long no more are tried)" : "");
        if (remedies->closest.change)
            tn_say("; %s (is %s) comes nearest, to %.3g times what the device has", remedies->closest.change,
                   remedies->closest.was, remedies->closest.ratio);
        tn_say(".\n");
        return;
    }
    tn_say("To fit: one of these changes, the fastest design first\n");
    for (size_t i = 0; i < remedies->count && i < SHOWN; i++)
        tn_say("  --set %s (is %s): %s a step\n", remedies->remedy[i].change, remedies->remedy[i].was,
               tn_si_text(remedies->remedy[i].price.seconds_per_step, "s", text));
}

static void print_misfits(const tn_explanation *why, const tn_remedies *remedies) {
    char need[32], have[32];
    if (why->misfits == 0) return;
    tn_say_heading("Does not fit");
    for (uint32_t i = 0; i < why->misfits; i++) {
        const tn_misfit *misfit = &why->misfit[i];
        tn_say("%s: needs %s, has %s. Largest:", tn_resource_names[misfit->resource],
               tn_count_text(misfit->needed, need), tn_count_text(misfit->available, have));
        for (uint32_t k = 0; k < misfit->count; k++)
            tn_say("%s %s (%s)", k ? "," : "", misfit->largest[k], tn_count_text(misfit->amount[k], need));
        tn_say(".\n");
    }
    print_remedies(remedies);
}

static void print_unverified(const tn_explanation *why) {
    if (why->unverified_count == 0) return;
    tn_say("\nunverified figures of the device file that this rests on:");
    for (uint32_t i = 0; i < why->unverified_count; i++) tn_say("%s %s", i ? "," : "", why->unverified[i]);
    tn_say("\n");
}

tn_status tn_cost_print(const tn_cost *cost, tn_error *error) {
    print_title(cost);
    TN_TRY(print_layers(cost, error));
    tn_say_heading("Phases");
    TN_TRY(tn_output_rows(&phase_record, cost->phase, TN_PHASES, error));
    tn_say_heading("Memory (contents; blocks round it up)");
    TN_TRY(tn_output_rows(&memory_record, cost->memory, TN_COST_MEMORIES, error));
    TN_TRY(print_budget(cost, error));
    TN_TRY(tn_cost_print_memories(cost, error));
    TN_TRY(print_timeline(cost, error));
    TN_TRY(print_energy(cost, error));
    tn_say_heading("Clocks that the operators meet (placement and routing apart)");
    TN_TRY(tn_output_rows(&clock_record, cost->clock, cost->clocks, error));
    if (cost->flows) {
        tn_say_heading("Flows of the tensor-format linear layers under these kernels");
        TN_TRY(tn_output_rows(&flow_record, cost->flow, cost->flows, error));
    }
    if (cost->techniques) {
        tn_say_heading("What each technique changes, one behind the other");
        TN_TRY(tn_output_rows(&technique_record, cost->technique, cost->techniques, error));
    }
    print_misfits(&cost->why, &cost->remedies);
    print_unverified(&cost->why);
    if (cost->figure) tn_say("\ntimeline drawn in %s\n", cost->figure);
    return TN_OK;
}

/* ---- the command ---- */

typedef struct {
    tn_common common;
    const char *device, *point, *folder, *format;
    tn_option_list set;
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

static tn_status price(const tn_target *target, tn_program_cache *cache, tn_arena *arena, tn_cost *cost,
                       tn_error *error) {
    const tn_design *design = &target->design;
    const tn_resources has = tn_device_resources(design->device);
    const tn_limits limits = {.budget = &has};
    tn_priced priced;
    TN_TRY(tn_design_price(design, NULL, cache, arena, &priced, error));
    cost->build = design->build;
    cost->step = *priced.step;
    TN_TRY(tn_price_explain(priced.workload, &cost->build, arena, &cost->why, error));
    if (cost->why.misfits) TN_TRY(tn_remedies_find(design, &limits, arena, &cost->remedies, error));
    TN_TRY(tn_clock_prices(&priced, cost->clock, &cost->clocks, error));
    TN_TRY(tn_grouping_compare(&priced, cost->grouping, error));
    TN_TRY(tn_flow_prices(design, cache, cost->flow, &cost->flows, error));
    TN_TRY(tn_technique_prices(design, cache, arena, &cost->technique, &cost->techniques, error));
    return tn_cost_prepare(cost, arena, error);
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
    tn_cost cost = {0};
    TN_TRY(read_format(asked, &format, error));
    TN_TRY(load(asked, arena, target, error));
    TN_TRY(price(target, cache, arena, &cost, error));
    TN_TRY(draw(asked, format, arena, &cost, error));
    return asked->common.json ? tn_output_json(&tn_cost_record, &cost, error) : tn_cost_print(&cost, error);
}

static const tn_option options[] = {
    {"--device", TN_INTO(request, device), "DEVICE",
     "device file, name or NAME@VARIANT; default u50@user-area"},
    {"--point", TN_INTO(request, point), "ID", "with a sweep's folder: this design, on the sweep's device"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "override a key of the model, its build or the device; with --point: what if; repeatable"},
    {"--plot", TN_INTO(request, folder), "DIR", "draw the step's timeline by kernel into this folder"},
    {"--format", TN_INTO(request, format), "png|svg|pdf", "picture format of --plot; default png"},
};

/* A design that does not fit is an answer, not a failure: "fits": false. */
static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_program_cache *cache;
    tn_target target = {0};
    (void)answer;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = answer_request(r, &target, cache, &r->common.arena, error);
    tn_target_free(&target);
    tn_program_cache_free(cache);
    return status;
}

const tn_command tn_command_cost = {
    .name = "cost",
    .summary = "one design's cost: a model's training step on a device",
    .usage = "MODEL [--device DEVICE] [--set KEY=VALUE]...\nDIR --point ID [--set KEY=VALUE]...",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, NULL),
    .answer = answer,
};
