#include "space/quantity.h"

#include "base/name_index.h"

#include <math.h>
#include <string.h>

static double cycles(const tn_evaluation *evaluation) {
    return (double)evaluation->price.cycles_per_step;
}
static double step_seconds(const tn_evaluation *evaluation) {
    return evaluation->price.seconds_per_step;
}
static double epoch_seconds(const tn_evaluation *evaluation) {
    return evaluation->price.seconds_per_step * (double)evaluation->steps_per_epoch;
}
static double joules(const tn_evaluation *evaluation) {
    return evaluation->price.joules_per_step;
}
static double static_joules(const tn_evaluation *evaluation) {
    return evaluation->price.static_joules_per_step;
}
static double dynamic_joules(const tn_evaluation *evaluation) {
    return evaluation->price.joules_per_step - evaluation->price.static_joules_per_step;
}
static double watts(const tn_evaluation *evaluation) {
    return evaluation->price.watts;
}
static double on_chip_bytes(const tn_evaluation *evaluation) {
    return (double)evaluation->price.on_chip_bytes;
}
static double off_chip_bytes(const tn_evaluation *evaluation) {
    return (double)evaluation->price.off_chip_bytes;
}
static double off_chip_bytes_per_step(const tn_evaluation *evaluation) {
    return (double)evaluation->price.off_chip_bytes_per_step;
}
static double lut(const tn_evaluation *evaluation) {
    return (double)evaluation->price.used.lut;
}
static double ff(const tn_evaluation *evaluation) {
    return (double)evaluation->price.used.ff;
}
static double dsp(const tn_evaluation *evaluation) {
    return (double)evaluation->price.used.dsp;
}
static double bram18(const tn_evaluation *evaluation) {
    return (double)evaluation->price.used.bram18;
}
static double uram(const tn_evaluation *evaluation) {
    return (double)evaluation->price.used.uram;
}
static double degrees_of_freedom(const tn_evaluation *evaluation) {
    return (double)evaluation->degrees_of_freedom;
}
static double parameters(const tn_evaluation *evaluation) {
    return (double)evaluation->parameters;
}
static double macs(const tn_evaluation *evaluation) {
    return (double)evaluation->macs_per_step;
}
static double peak_elements(const tn_evaluation *evaluation) {
    return (double)evaluation->peak_elements;
}
static double relative_error(const tn_evaluation *evaluation) {
    return evaluation->error;
}
static double accuracy(const tn_evaluation *evaluation) {
    return evaluation->accuracy;
}
static double perplexity(const tn_evaluation *evaluation) {
    return evaluation->perplexity;
}
static double accuracy_deviation(const tn_evaluation *evaluation) {
    return evaluation->accuracy_deviation;
}
static double accuracy_interpolated(const tn_evaluation *evaluation) {
    return evaluation->accuracy_interpolated;
}
static double rtl(const tn_evaluation *evaluation) {
    return evaluation->obstacle;
}

const tn_quantity tn_quantities[] = {
    {"cycles_per_step", false, true, TN_BOUNDED_BELOW, true, false, cycles,
     "clock cycles of one training step"},
    {"seconds_per_step", false, false, TN_BOUNDED_BELOW, true, false, step_seconds,
     "latency of one training step, s"},
    {"seconds_per_epoch", false, false, TN_BOUNDED_BELOW, true, false, epoch_seconds,
     "latency of one epoch, s"},
    {"joules_per_step", false, false, TN_BOUNDED_BELOW, false, true, joules,
     "energy of one training step, J"},
    {"static_joules_per_step", false, false, TN_BOUNDED_BELOW, false, false, static_joules,
     "of it static power times latency, J"},
    {"dynamic_joules_per_step", false, false, TN_BOUNDED_BELOW, false, true, dynamic_joules,
     "of it what switching and moving words takes, J"},
    {"watts", false, false, TN_BOUNDED_BELOW, false, true, watts, "mean power, W"},
    {"on_chip_bytes", false, true, TN_BOUNDED_BELOW, false, true, on_chip_bytes,
     "capacity of the BRAM and URAM blocks taken, bytes"},
    {"off_chip_bytes", false, true, TN_BOUNDED_EXACTLY, false, false, off_chip_bytes,
     "bytes of arrays that live in external memory"},
    {"off_chip_bytes_per_step", false, true, TN_BOUNDED_EXACTLY, false, false, off_chip_bytes_per_step,
     "bytes moved to and from it in a training step"},
    {"lut", false, true, TN_BOUNDED_BELOW, false, true, lut, "look-up tables"},
    {"ff", false, true, TN_BOUNDED_BELOW, false, true, ff, "flip-flops"},
    {"dsp", false, true, TN_BOUNDED_EXACTLY, false, false, dsp, "DSP blocks"},
    {"bram18", false, true, TN_BOUNDED_BELOW, false, true, bram18, "18-kbit block RAMs"},
    {"uram", false, true, TN_BOUNDED_BELOW, false, true, uram, "UltraRAM blocks"},
    {"degrees_of_freedom", true, true, TN_BOUNDED_BY_STEP, false, false, degrees_of_freedom,
     "parameters of the weights that the choices vary, less sum of r^2 over their bonds"},
    {"parameters", false, true, TN_BOUNDED_EXACTLY, false, false, parameters,
     "trained parameters of the model"},
    {"macs_per_step", false, true, TN_BOUNDED_EXACTLY, false, false, macs,
     "multiply-adds of one training step"},
    {"peak_elements", false, true, TN_BOUNDED_EXACTLY, false, false, peak_elements,
     "elements live at the worst moment of a step"},
    {"relative_error", false, false, TN_BOUNDED_BY_STEP, false, false, relative_error,
     "error of the weights by the space's error_table"},
    {"accuracy", true, false, TN_BOUNDED_BY_STEP, false, false, accuracy,
     "mean over seeds of what its choices learn, by the model of the space's accuracy_table, 0 to 1"},
    {"perplexity", false, false, TN_BOUNDED_BY_STEP, false, false, perplexity,
     "in its place where the table has perplexities: e to the mean loss of the next byte"},
    {"accuracy_deviation", false, false, TN_BOUNDED_BY_STEP, false, false, accuracy_deviation,
     "standard deviation with which that mean is known"},
    {"accuracy_interpolated", false, false, TN_BOUNDED_BY_STEP, false, false, accuracy_interpolated,
     "0: the design was trained; 1: its ranks lie between trained ones; 2: carried over from other choices"},
    {"rtl", false, true, TN_BOUNDED_EXACTLY, false, true, rtl,
     "0: `tenfold rtl` generates it; else the number of a key that prevents it. Files have yes, or that key"},
};
const size_t tn_quantities_count = sizeof tn_quantities / sizeof *tn_quantities;

bool tn_quantity_is_obstacle(const tn_quantity *quantity) {
    return quantity->get == rtl;
}

const tn_span tn_any_number = {-INFINITY, INFINITY};

static bool is_known(const tn_quantity *quantity, tn_known known) {
    switch (known) {
    case TN_KNOWN_WHOLE:
        return true;
    case TN_KNOWN_BOUND:
        return quantity->bounded != TN_BOUNDED_BELOW;
    case TN_KNOWN_KERNELS:
        return quantity->bounded == TN_BOUNDED_BY_STEP ||
               (quantity->bounded == TN_BOUNDED_EXACTLY && !quantity->of_memories);
    default:
        return known == TN_KNOWN_STEP && quantity->bounded == TN_BOUNDED_BY_STEP;
    }
}

tn_span tn_quantity_span(const tn_quantity *quantity, tn_known known, double value, double most) {
    if (is_known(quantity, known)) return (tn_span){value, value};
    if (quantity->bounded == TN_BOUNDED_BY_STEP || isnan(value)) return tn_any_number;
    return (tn_span){value, isnan(most) ? INFINITY : most};
}

tn_evaluation tn_evaluation_most(const tn_resources *budget) {
    return (tn_evaluation){
        .price = {.cycles_per_step = UINT64_MAX,
                  .seconds_per_step = INFINITY,
                  .joules_per_step = INFINITY,
                  .watts = INFINITY,
                  .static_joules_per_step = INFINITY,
                  .used = *budget,
                  .on_chip_bytes = (uint64_t)fmin(tn_resources_block_bytes(budget), 0x1p63),
                  .off_chip_bytes = UINT64_MAX,
                  .off_chip_bytes_per_step = UINT64_MAX},
        .parameters = UINT64_MAX,
        .degrees_of_freedom = UINT64_MAX,
        .macs_per_step = UINT64_MAX,
        .peak_elements = UINT64_MAX,
        .steps_per_epoch = 1,
        .error = INFINITY,
        .accuracy = INFINITY,
        .perplexity = INFINITY,
        .accuracy_deviation = INFINITY,
        .accuracy_interpolated = INFINITY,
        .obstacle = UINT32_MAX,
    };
}

tn_status tn_quantity_find(const char *name, tn_position position, const tn_quantity **quantity,
                           tn_error *error) {
    const char *names[sizeof tn_quantities / sizeof *tn_quantities];
    for (size_t i = 0; i < tn_quantities_count; i++) {
        names[i] = tn_quantities[i].name;
        if (strcmp(name, names[i]) == 0) {
            *quantity = &tn_quantities[i];
            return TN_OK;
        }
    }
    const char *near = tn_suggest(name, names, tn_quantities_count);
    return tn_fail_at(error, TN_INPUT, position, "unknown quantity '%s'; %s%s%s", name,
                      near ? "did you mean '" : "the page of the space file lists them", near ? near : "",
                      near ? "'?" : "");
}
