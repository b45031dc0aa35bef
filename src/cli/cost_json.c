#include "cli/cost.h"

#include "text/json.h"

uint64_t tn_cost_amount(const tn_resources *of, tn_resource resource) {
    const uint64_t amount[TN_RESOURCES] = {of->lut, of->ff, of->dsp, of->bram18, of->uram};
    return amount[resource];
}

static const tn_phase layer_phases[] = {TN_FORWARD, TN_INPUT_GRADIENT, TN_WEIGHT_GRADIENT};
enum { LAYER_PHASES = sizeof layer_phases / sizeof *layer_phases };

static void write_phases(tn_json *json, const tn_step *step) {
    tn_json_key(json, "phases");
    tn_json_object(json);
    for (int phase = 0; phase < TN_PHASES; phase++) {
        tn_json_key(json, tn_phase_names[phase]);
        tn_json_object(json);
        tn_json_put_count(json, "macs", step->macs[phase]);
        tn_json_put_count(json, "flops", step->flops[phase]);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void write_layer(tn_json *json, const tn_step_layer *layer) {
    tn_json_object(json);
    tn_json_put_text(json, "name", layer->name);
    tn_json_put_text(json, "kind", layer->kind);
    tn_json_put_text(json, "format", layer->format);
    tn_json_put_text(json, "weight", layer->weight_name);
    tn_json_put_counts(json, "ranks", layer->rank, layer->rank_count);
    tn_json_put_counts(json, "useful_ranks", layer->useful_rank, layer->rank_count);
    tn_json_put_count(json, "tokens", layer->tokens);
    tn_json_put_count(json, "parameters", layer->parameters);
    tn_json_put_count(json, "degrees_of_freedom", layer->degrees_of_freedom);
    for (int flops = 0; flops < 2; flops++) {
        tn_json_key(json, flops ? "flops" : "macs");
        tn_json_object(json);
        for (int i = 0; i < LAYER_PHASES; i++)
            tn_json_put_count(json, tn_phase_names[layer_phases[i]],
                              (flops ? layer->flops : layer->macs)[layer_phases[i]]);
        tn_json_end(json);
    }
    tn_json_put_count(json, "peak_elements", layer->peak_elements);
    tn_json_put_count(json, "saved_elements", layer->saved_elements);
    tn_json_put_text(json, "flow", layer->flow);
    tn_json_end(json);
}

static void write_memory(tn_json *json, const tn_step *step) {
    uint64_t bytes = step->element_bytes;
    tn_json_key(json, "memory");
    tn_json_object(json);
    tn_json_put_count(json, "parameter_bytes", step->parameters * bytes);
    tn_json_put_count(json, "gradient_bytes", step->gradient_elements * bytes);
    tn_json_put_count(json, "optimizer_bytes", step->optimizer_elements * bytes);
    tn_json_put_count(json, "activation_bytes", step->activation_elements * bytes);
    tn_json_put_count(json, "peak_bytes", step->peak_elements * bytes);
    tn_json_end(json);
}

static void write_resources(tn_json *json, const tn_resources *used, const tn_resources *available) {
    tn_json_key(json, "resources");
    tn_json_object(json);
    for (int i = 0; i < TN_RESOURCES; i++) {
        uint64_t need = tn_cost_amount(used, (tn_resource)i),
                 have = tn_cost_amount(available, (tn_resource)i);
        tn_json_key(json, tn_resource_names[i]);
        tn_json_object(json);
        tn_json_put_count(json, "used", need);
        tn_json_put_count(json, "available", have);
        tn_json_key(json, "share");
        if (have || !need)
            tn_json_real(json, have ? (double)need / (double)have : 0);
        else
            tn_json_null(json); /* no share of nothing */
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void write_latency(tn_json *json, const tn_cost *cost) {
    const tn_price *price = &cost->why.price;
    tn_json_key(json, "latency");
    tn_json_object(json);
    tn_json_put_count(json, "cycles_per_step", price->cycles_per_step);
    tn_json_put_real(json, "seconds_per_step", price->seconds_per_step);
    tn_json_put_count(json, "steps_per_epoch", cost->step.steps_per_epoch);
    tn_json_put_real(json, "seconds_per_epoch", price->seconds_per_step * (double)cost->step.steps_per_epoch);
    tn_json_put_real(json, "clock_MHz", cost->why.clock_MHz);
    tn_json_put_count(json, "floor_cycles", cost->why.floor_cycles);
    tn_json_put_text(json, "bound", cost->why.bound);
    tn_json_key(json, "critical_path_waits");
    tn_json_object(json);
    tn_json_put_count(json, "data_cycles", cost->why.waited.data_cycles);
    tn_json_put_count(json, "kernel_cycles", cost->why.waited.kernel_cycles);
    tn_json_put_count(json, "memory_port_cycles", cost->why.waited.port_cycles);
    tn_json_put_count(json, "order_cycles", cost->why.waited.order_cycles);
    tn_json_put_count(json, "external_memory_cycles", cost->why.waited.external_cycles);
    tn_json_put_text(json, "memory_port", cost->why.waited.port);
    tn_json_end(json);
    tn_json_end(json);
}

static void write_coefficients(tn_json *json, const tn_device_energy *of) {
    tn_json_key(json, "coefficients");
    tn_json_object(json);
    tn_json_put_real(json, "static_W", of->static_W.value);
    tn_json_put_real(json, "voltage_V", of->voltage_V.value);
    tn_json_put_real(json, "toggle", of->toggle.value);
    tn_json_put_real(json, "idle_toggle", of->idle_toggle.value);
    tn_json_put_real(json, "lut_pF", of->lut_pF.value);
    tn_json_put_real(json, "ff_pF", of->ff_pF.value);
    tn_json_put_real(json, "dsp_pF", of->dsp_pF.value);
    tn_json_put_real(json, "bram18_pF", of->bram18_pF.value);
    tn_json_put_real(json, "uram_pF", of->uram_pF.value);
    tn_json_put_real(json, "bram_pJ_per_bit", of->bram_pJ_per_bit.value);
    tn_json_put_real(json, "uram_pJ_per_bit", of->uram_pJ_per_bit.value);
    tn_json_put_real(json, "lutram_pJ_per_bit", of->lutram_pJ_per_bit.value);
    tn_json_end(json);
}

static void write_range(tn_json *json, const char *name, double least, double most) {
    tn_json_key(json, name);
    tn_json_array(json);
    tn_json_real(json, least);
    tn_json_real(json, most);
    tn_json_end(json);
}

static void write_energy(tn_json *json, const tn_explanation *why) {
    tn_json_key(json, "energy");
    tn_json_object(json);
    tn_json_put_real(json, "joules_per_step", why->price.joules_per_step);
    tn_json_put_real(json, "watts", why->price.watts);
    tn_json_put_real(json, "static_joules", why->price.static_joules_per_step);
    tn_json_put_real(json, "dynamic_joules", tn_cost_dynamic(why->joules));
    tn_json_key(json, "range");
    tn_json_object(json);
    write_range(json, "joules_per_step", tn_cost_joules(why->least_joules), tn_cost_joules(why->most_joules));
    write_range(json, "static_joules", why->least_joules[TN_ENERGY_STATIC],
                why->most_joules[TN_ENERGY_STATIC]);
    write_range(json, "dynamic_joules", tn_cost_dynamic(why->least_joules),
                tn_cost_dynamic(why->most_joules));
    tn_json_end(json);
    tn_json_key(json, "joules");
    tn_json_object(json);
    for (int i = 0; i < TN_ENERGY_PARTS; i++) tn_json_put_real(json, tn_energy_names[i], why->joules[i]);
    tn_json_end(json);
    write_coefficients(json, why->coefficients);
    tn_json_end(json);
}

static const tn_column kernel_columns[] = {
    TN_COLUMN(tn_kernel_line, name, NULL),        TN_COLUMN(tn_kernel_line, count, NULL),
    TN_COLUMN(tn_kernel_line, lanes, NULL),       TN_COLUMN(tn_kernel_line, operations, NULL),
    TN_COLUMN(tn_kernel_line, busy_cycles, NULL), TN_COLUMN(tn_kernel_line, critical_cycles, NULL),
    TN_COLUMN(tn_kernel_line, utilisation, NULL), TN_COLUMN(tn_kernel_line, filled, NULL),
};
static const tn_record kernel_record = TN_RECORD(tn_kernel_line, kernel_columns);

static void put_fits(const void *at, tn_json *json) {
    tn_json_bool(json, ((const tn_flow_price *)at)->price.misfits == 0);
}

static void show_fits(const void *at, tn_buffer *cell) {
    tn_buffer_text(cell, ((const tn_flow_price *)at)->price.misfits ? "no" : "yes");
}

static void show_flow(const void *at, tn_buffer *cell) {
    const tn_flow_price *flow = at;
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
    TN_COLUMN_AS("seconds_per_step", tn_flow_price, price.seconds_per_step, "time", TN_IN("ms", 1e3)),
    TN_COLUMN_AS("joules_per_step", tn_flow_price, price.joules_per_step, "energy", TN_IN("mJ", 1e3)),
    TN_COLUMN_AS("on_chip_bytes", tn_flow_price, price.on_chip_bytes, "on chip", TN_IN("MiB", 1 / 1048576.0),
                 TN_FIXED(2)),
    TN_WRITTEN("fits", put_fits, "fits", .cell = show_fits),
};
const tn_record tn_cost_flow_record = TN_RECORD(tn_flow_price, flow_columns);

static const tn_column clock_columns[] = {
    TN_COLUMN_AS("clock_MHz", tn_clock_price, clock_MHz, "clock", TN_IN("MHz", 1)),
    TN_COLUMN(tn_clock_price, cycles_per_step, "cycles a step"),
    TN_COLUMN_AS("seconds_per_step", tn_clock_price, seconds_per_step, "time", TN_IN("ms", 1e3)),
    TN_COLUMN(tn_clock_price, dsp, "DSP"),
};
const tn_record tn_cost_clock_record = TN_RECORD(tn_clock_price, clock_columns);

static const tn_column misfit_columns[] = {
    TN_NAME("resource", tn_misfit, resource, tn_resource_names, NULL),
    TN_COLUMN(tn_misfit, needed, NULL),
    TN_COLUMN(tn_misfit, available, NULL),
    TN_ARRAY("largest", tn_misfit, largest, count, NULL),
    TN_ARRAY("amounts", tn_misfit, amount, count, NULL),
};
static const tn_record misfit_record = TN_RECORD(tn_misfit, misfit_columns);

static void put_seconds(const void *row, tn_json *json) {
    tn_json_real(json, ((const tn_remedy *)row)->price.seconds_per_step);
}

static const tn_column remedy_columns[] = {
    TN_COLUMN(tn_remedy, change, NULL),
    TN_COLUMN(tn_remedy, was, NULL),
    TN_WRITTEN("seconds_per_step", put_seconds, NULL),
};
static const tn_record remedy_record = TN_RECORD(tn_remedy, remedy_columns);

static void write_unverified(tn_json *json, const tn_explanation *why) {
    tn_json_key(json, "unverified");
    tn_json_array(json);
    for (uint32_t i = 0; i < why->unverified_count; i++) tn_json_text(json, why->unverified[i]);
    tn_json_end(json);
}

tn_status tn_cost_json(const tn_cost *cost, tn_buffer *out, tn_error *error) {
    const tn_step *step = &cost->step;
    const tn_explanation *why = &cost->why;
    tn_json json;
    tn_json_begin(&json, out);
    tn_json_object(&json);
    tn_json_put_text(&json, "model", step->name);
    tn_json_put_text(&json, "device", why->device);
    tn_json_put_count(&json, "parameters", step->parameters);
    tn_json_put_count(&json, "bytes", step->parameters * step->element_bytes);
    tn_json_put_count(&json, "degrees_of_freedom", step->degrees_of_freedom);
    tn_json_put_count(&json, "batch", step->batch);
    tn_json_put_count(&json, "sequence", step->sequence);
    tn_json_put_text(&json, "precision", tn_precision_names[step->precision]);
    tn_json_put_text(&json, "optimizer", tn_optimizer_names[step->optimizer]);
    write_phases(&json, step);
    tn_json_key(&json, "layers");
    tn_json_array(&json);
    for (uint32_t i = 0; i < step->layers; i++) write_layer(&json, &step->layer[i]);
    tn_json_end(&json);
    write_memory(&json, step);
    write_resources(&json, &why->price.used, &why->available);
    tn_json_put_count(&json, "on_chip_bytes", why->price.on_chip_bytes);
    tn_json_put_count(&json, "off_chip_bytes", why->price.off_chip_bytes);
    tn_json_put_count(&json, "off_chip_bytes_per_step", why->price.off_chip_bytes_per_step);
    write_latency(&json, cost);
    write_energy(&json, why);
    tn_json_key(&json, "kernels");
    tn_record_rows(&kernel_record, why->kernel, why->kernels, &json);
    tn_cost_write_memories(cost, &json);
    tn_json_key(&json, "flows");
    tn_record_rows(&tn_cost_flow_record, cost->flow, cost->flows, &json);
    tn_json_key(&json, "clocks");
    tn_record_rows(&tn_cost_clock_record, cost->clock, cost->clocks, &json);
    tn_json_put_bool(&json, "fits", why->price.misfits == 0);
    tn_json_key(&json, "misfits");
    tn_record_rows(&misfit_record, why->misfit, why->misfits, &json);
    tn_json_key(&json, "remedies");
    tn_record_rows(&remedy_record, cost->remedies.remedy, cost->remedies.count, &json);
    write_unverified(&json, why);
    if (cost->figure) tn_json_put_text(&json, "figure", cost->figure);
    tn_json_end(&json);
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory for the result");
}
