/* The first page of `tenfold cost`: the verdict, five numbers, what takes most, what to change. */
#include "base/c_locale.h"
#include "cli/cost.h"
#include "cli/output.h"
#include "text/number.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { INDENT = 12 };

/* ---- what takes most ---- */

/* Products of one kind: those of a layer's phase, in all repetitions of its block. */
typedef struct {
    const char *layer;
    int phase;
    uint64_t cycles;
} share;

/* Characters up to the number of a repeated block: "encoder12.query" counts as "encoder.query". */
static bool same_kind(const char *a, const char *b) {
    const char *dot_a = strchr(a, '.'), *dot_b = strchr(b, '.');
    if (!dot_a || !dot_b) return strcmp(a, b) == 0;
    size_t stem_a = (size_t)(dot_a - a), stem_b = (size_t)(dot_b - b);
    while (stem_a && a[stem_a - 1] >= '0' && a[stem_a - 1] <= '9') stem_a--;
    while (stem_b && b[stem_b - 1] >= '0' && b[stem_b - 1] <= '9') stem_b--;
    return stem_a == stem_b && strncmp(a, b, stem_a) == 0 && strcmp(dot_a, dot_b) == 0;
}

/* kind[l]: the first layer of the kind of layer l. A step has a few dozen kinds, whatever the number of its layers. */
static void find_kinds(const tn_step *step, uint32_t *kind) {
    for (uint32_t l = 0; l < step->layers; l++) {
        uint32_t first = 0;
        while (first < l &&
               !(kind[first] == first && same_kind(step->layer[first].name, step->layer[l].name)))
            first++;
        kind[l] = first;
    }
}

static uint64_t *cycles_of(const tn_cost *cost, const uint32_t *kind, uint64_t (*cycles)[TN_PHASES],
                           uint32_t item) {
    const tn_operation *operation = &cost->why.step->operation[cost->why.item[item].operation];
    return &cycles[kind[operation->layer]][operation->phase];
}

/* Of the kinds and phases with the most cycles the one whose first product comes first. `kind` and `cycles`: room for each
 * layer, zeroed. */
static share greatest_share(const tn_cost *cost, uint32_t *kind, uint64_t (*cycles)[TN_PHASES],
                            uint64_t *all) {
    const tn_step *step = cost->why.step;
    share most = {0};
    find_kinds(step, kind);
    *all = 0;
    for (uint32_t i = 0; i < cost->why.items; i++) {
        const uint64_t taken = cost->why.item[i].finish - cost->why.item[i].start;
        *cycles_of(cost, kind, cycles, i) += taken;
        *all += taken;
    }
    for (uint32_t i = 0; i < cost->why.items; i++) {
        const tn_operation *operation = &step->operation[cost->why.item[i].operation];
        const uint64_t sum = *cycles_of(cost, kind, cycles, i);
        if (sum > most.cycles) most = (share){step->layer[operation->layer].name, (int)operation->phase, sum};
    }
    return most;
}

static void say_share(const tn_cost *cost, share most, uint64_t all) {
    static const char *const phase[TN_PHASES] = {"forward", "input gradient", "weight gradient", "update"};
    char time[48];
    if (!most.layer || all == 0) return;
    double seconds = (double)most.cycles / (1e6 * cost->why.clock_MHz);
    const char *dot = strchr(most.layer, '.');
    size_t stem = dot ? (size_t)(dot - most.layer) : 0;
    while (stem && most.layer[stem - 1] >= '0' && most.layer[stem - 1] <= '9') stem--;
    bool repeated = dot && stem < (size_t)(dot - most.layer);
    tn_say_folded("takes most", INDENT, "%.*s%s%s, %s: %s, %.0f %% of the kernels' time",
                  repeated ? (int)stem : (int)strlen(most.layer), most.layer, repeated ? "*" : "",
                  repeated ? dot : "", phase[most.phase], tn_quantity_text(seconds, "s", time),
                  100.0 * (double)most.cycles / (double)all);
}

/* Nothing where memory is short. */
static void say_greatest(const tn_cost *cost) {
    const uint32_t layers = cost->why.step->layers;
    tn_arena scratch = {0};
    uint32_t *kind;
    uint64_t(*cycles)[TN_PHASES], all;
    if (TN_NEW(&scratch, layers, &kind, NULL) == TN_OK && TN_NEW(&scratch, layers, &cycles, NULL) == TN_OK) {
        const share most = greatest_share(cost, kind, cycles, &all);
        say_share(cost, most, all);
    }
    tn_arena_free(&scratch);
}

/* ---- what to change ---- */

static void say_remedies(const tn_remedies *remedies) {
    enum { SHOWN = 3 };
    char time[48];
    if (remedies->count == 0 && remedies->closest.change)
        tn_say_folded("to fit", INDENT,
                      "no change of %zu that were tried is enough; nearest: --set %s (is %s), then %.3g "
                      "times what the device has",
                      remedies->tried, remedies->closest.change, remedies->closest.was,
                      remedies->closest.ratio);
    else if (remedies->count == 0)
        tn_say_folded("to fit", INDENT, "none of %zu changes helps; take a larger device or a smaller model",
                      remedies->tried);
    for (size_t i = 0; i < remedies->count && i < SHOWN; i++)
        tn_say_folded(i ? "or" : "to fit", INDENT, "--set %s (is %s): %s a step", remedies->remedy[i].change,
                      remedies->remedy[i].was,
                      tn_quantity_text(remedies->remedy[i].price.seconds_per_step, "s", time));
}

static void say_faster(const tn_cost *cost) {
    const tn_flow_price *best = NULL;
    char time[48];
    for (uint32_t i = 0; i < cost->flows; i++) {
        const tn_flow_price *flow = &cost->flow[i];
        if (flow->price.misfits || flow->as_given || strcmp(flow->name, "optimal-cycles") == 0) continue;
        if (flow->price.seconds_per_step <
            0.99 * (best ? best->price.seconds_per_step : cost->why.price.seconds_per_step))
            best = flow;
    }
    if (best)
        tn_say_folded("to change", INDENT, "flow %s of all weights: %s a step (--show flows)", best->name,
                      tn_quantity_text(best->price.seconds_per_step, "s", time));
    if (cost->faster.seconds_per_step > 0)
        tn_say_folded(best ? "or" : "to change", INDENT,
                      "--set %s (is %" PRIu64 "): %s a step, and it still fits", cost->faster.change,
                      cost->faster.was, tn_quantity_text(cost->faster.seconds_per_step, "s", time));
}

/* ---- the page ---- */

const char *tn_hardware_text(const tn_explanation *why, char text[TN_HARDWARE_TEXT]) {
    const bool built = strcmp(why->rtl, "yes") == 0;
    const char *operators = strcmp(why->operator_set, "generated") == 0
                                ? built ? "generated, those that are built" : "generated"
                            : strcmp(why->operator_set, "hls") == 0 ? "hls, by high-level synthesis"
                                                                    : "some generated, some hls";
    tn_snprintf(text, TN_HARDWARE_TEXT, "rtl %s%s; operators: %s", built ? "yes" : "no, for key ",
                built ? "" : why->rtl, operators);
    return text;
}

static void say_numbers(const tn_cost *cost) {
    const tn_step *step = &cost->step;
    const tn_price *price = &cost->why.price;
    char a[48], b[48], c[48], d[48];
    const char *whole = step->inference ? "all examples" : "an epoch";
    tn_say_folded("latency", INDENT, "%s a step, %s %s (%s cycles at %g MHz)",
                  tn_quantity_text(price->seconds_per_step, "s", a),
                  tn_quantity_text(cost->seconds_per_epoch, "s", b), whole,
                  tn_count_text(price->cycles_per_step, c), cost->why.clock_MHz);
    tn_say_folded("energy", INDENT, "%s a step at %s; %s to %s by its unverified figures",
                  tn_quantity_text(price->joules_per_step, "J", a), tn_quantity_text(price->watts, "W", b),
                  tn_quantity_text(cost->energy[TN_COST_ALL].least, "J", c),
                  tn_quantity_text(cost->energy[TN_COST_ALL].most, "J", d));
    if (price->off_chip_bytes)
        tn_say_folded("memory", INDENT, "%s of blocks on chip; %s off chip, %s moved a step",
                      tn_quantity_text((double)price->on_chip_bytes, "B", a),
                      tn_quantity_text((double)price->off_chip_bytes, "B", b),
                      tn_quantity_text((double)price->off_chip_bytes_per_step, "B", c));
    else
        tn_say_folded("memory", INDENT, "%s of blocks on chip; nothing off chip",
                      tn_quantity_text((double)price->on_chip_bytes, "B", a));
    tn_say_folded("work", INDENT, "%s multiply-adds a step; %s parameters (%s)",
                  tn_quantity_text((double)tn_step_macs(step->macs), "", a),
                  tn_count_text(step->parameters, b),
                  tn_quantity_text((double)cost->memory[0].bytes, "B", c));
    tn_buffer used = {0};
    for (int i = 0; i < TN_RESOURCES; i++) {
        const tn_cost_resource *resource = &cost->resource[i];
        if (resource->used == 0 && resource->available == 0) continue;
        if (isnan(resource->share))
            tn_buffer_format(&used, "%s%s %s of none", used.length ? ", " : "", resource->name,
                             tn_count_text(resource->used, a));
        else
            tn_buffer_format(&used, "%s%s %s %%", used.length ? ", " : "", resource->name,
                             tn_plain_text(floor(100 * resource->share + 0.5), a));
    }
    tn_say_folded("device", INDENT, "%s", used.data ? used.data : "nothing is used");
    tn_buffer_free(&used);
    if (cost->has_shell)
        tn_say_folded("shell", INDENT,
                      "%s LUT and %s flip-flops of these are its bus (tenfold rtl --shell)%s",
                      tn_count_text(cost->shell_lut, a), tn_count_text(cost->shell_ff, b),
                      !cost->fits && cost->why.misfits == 0 ? "; without it the design fits" : "");
}

void tn_cost_print_page(const tn_cost *cost, const char *again) {
    const tn_step *step = &cost->step;
    const tn_explanation *why = &cost->why;
    char a[48], b[48];
    tn_say_folded("", 0, "%s on %s: %s", step->name, why->device, cost->fits ? "fits" : "DOES NOT FIT");
    tn_say_folded("", 2, "batch %" PRIu64 " x %" PRIu64 " tokens, %s, %s; %s step%s an epoch", step->batch,
                  step->sequence, step->precision,
                  step->decoding    ? "decoding: a step is of one token"
                  : step->inference ? "inference: a step is a forward pass"
                                    : tn_optimizer_names[step->optimizer],
                  tn_count_text(step->steps_per_epoch, a), step->steps_per_epoch == 1 ? "" : "s");
    for (uint32_t i = 0; i < why->misfits; i++) {
        const tn_misfit *misfit = &why->misfit[i];
        tn_say_folded("  short of", INDENT, "%s: needs %s, has %s%s%s", tn_resource_names[misfit->resource],
                      tn_count_text(misfit->needed, a), tn_count_text(misfit->available, b),
                      misfit->count ? "; most for " : "", misfit->count ? misfit->largest[0] : "");
    }
    char hardware[TN_HARDWARE_TEXT];
    tn_say_folded("hardware", INDENT, "%s", tn_hardware_text(why, hardware));
    say_numbers(cost);
    say_greatest(cost);
    if (why->bound) tn_say_folded("waits for", INDENT, "%s", why->bound);
    if (cost->fits)
        say_faster(cost);
    else if (why->misfits)
        say_remedies(&cost->remedies);
    if (why->unverified_count)
        tn_say_folded("rests on", INDENT,
                      "%" PRIu32 " figures of the device file that nobody verified (--show unverified)",
                      why->unverified_count);
    if (cost->figure) tn_say_folded("drawn", INDENT, "%s", cost->figure);
    tn_say_folded("more", INDENT, "tenfold cost %s --full, or --show layers,kernels,memories,flows,...",
                  again);
}
