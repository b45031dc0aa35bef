/* The tables of `tenfold cost` for people. */
#include "cli/cost.h"
#include "cli/output.h"

#include "text/table.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double bytes_per_MiB = 1048576.0;

enum { BAR = 24, RANKS = 21 * TN_RANKS_MOST };

static void head(tn_table *table, const char *const *title, size_t columns) {
    tn_table_begin(table, columns);
    for (size_t i = 0; i < columns; i++) tn_table_text(table, title[i]);
}
#define HEAD(table, ...)                                                                                     \
    do {                                                                                                     \
        const char *const titles[] = {__VA_ARGS__};                                                          \
        head((table), titles, sizeof titles / sizeof *titles);                                               \
    } while (0)

/* A bar of at most BAR signs; one that goes over its end says so. */
static const char *bar(double share, char text[BAR + 4]) {
    size_t full = share >= 1 ? BAR : share > 0 ? (size_t)(share * BAR + 0.5) : 0;
    memset(text, '.', BAR);
    memset(text, '#', full);
    strcpy(text + BAR, share > 1 ? ">>" : "");
    return text;
}

static void print_title(const tn_cost *cost) {
    const tn_step *step = &cost->step;
    const tn_explanation *why = &cost->why;
    uint64_t macs = 0;
    char text[3][32];
    for (int phase = 0; phase < TN_PHASES; phase++) macs += step->macs[phase];
    tn_say("%s on %s at %g MHz\n", step->name, why->device, why->clock_MHz);
    tn_say("batch %" PRIu64 " x %" PRIu64 " tokens, %s, %s, %s steps an epoch\n", step->batch, step->sequence,
           tn_precision_names[step->precision], tn_optimizer_names[step->optimizer],
           tn_count_text(step->steps_per_epoch, text[0]));
    tn_say("%s parameters (%s), %s multiply-adds a training step\n", tn_count_text(step->parameters, text[0]),
           tn_bytes_text((double)(step->parameters * step->element_bytes), text[1]),
           tn_count_text(macs, text[2]));
    tn_say("a step takes %s cycles = %.4g ms, %.4g mJ at %.3g W; an epoch %.4g s, %.4g J: %s\n",
           tn_count_text(why->price.cycles_per_step, text[0]), 1e3 * why->price.seconds_per_step,
           1e3 * why->price.joules_per_step, why->price.watts,
           why->price.seconds_per_step * (double)step->steps_per_epoch,
           why->price.joules_per_step * (double)step->steps_per_epoch,
           why->price.misfits ? "DOES NOT FIT" : "fits");
}

/* ---- layers: those of a repeated block that cost the same share a line ---- */

/* "encoder2.query" gives "encoder" and ".query"; false for layers outside blocks. */
static bool split_name(const char *name, size_t *block, const char **rest) {
    *rest = strchr(name, '.');
    if (!*rest) return false;
    *block = (size_t)(*rest - name);
    while (*block > 0 && name[*block - 1] >= '0' && name[*block - 1] <= '9') --*block;
    return true;
}

static bool same_block_layer(const char *a, const char *b) {
    size_t block_a, block_b;
    const char *rest_a, *rest_b;
    return split_name(a, &block_a, &rest_a) && split_name(b, &block_b, &rest_b) && block_a == block_b &&
           strncmp(a, b, block_a) == 0 && strcmp(rest_a, rest_b) == 0;
}

static bool same_cost(const tn_step_layer *a, const tn_step_layer *b) {
    return a->parameters == b->parameters && a->saved_elements == b->saved_elements &&
           memcmp(a->macs, b->macs, sizeof a->macs) == 0 && memcmp(a->flops, b->flops, sizeof a->flops) == 0;
}

/* "12" where all bonds inside have that rank, else every rank: "1x12x8x1". */
static size_t write_ranks(char *text, size_t capacity, const uint64_t *rank, uint32_t count) {
    uint64_t greatest = 1;
    size_t length = 0;
    bool equal = true;
    for (uint32_t i = 0; i < count; i++)
        if (rank[i] > greatest) greatest = rank[i];
    for (uint32_t i = 0; i < count; i++) equal &= rank[i] == greatest || rank[i] == 1;
    if (equal) return (size_t)snprintf(text, capacity, "%" PRIu64, greatest);
    for (uint32_t i = 0; i < count && length < capacity; i++)
        length += (size_t)snprintf(text + length, capacity - length, "%s%" PRIu64, i ? "x" : "", rank[i]);
    return length;
}

/* The ranks as requested, and the useful ones where they are lower. */
static void add_ranks(tn_table *table, const tn_step_layer *layer) {
    char text[2 * RANKS + 16] = "";
    size_t length = 0;
    if (layer->rank_count) length = write_ranks(text, RANKS, layer->rank, layer->rank_count);
    if (layer->rank_count &&
        memcmp(layer->rank, layer->useful_rank, layer->rank_count * sizeof *layer->rank) != 0) {
        length += (size_t)snprintf(text + length, sizeof text - length, ", useful ");
        write_ranks(text + length, RANKS, layer->useful_rank, layer->rank_count);
    }
    tn_table_text(table, text);
}

static void add_layer(tn_table *table, const tn_step *step, uint32_t at, bool *shown) {
    const tn_step_layer *layer = &step->layer[at];
    uint64_t count = 0, peak = 0;
    for (uint32_t i = at; i < step->layers; i++) {
        const tn_step_layer *other = &step->layer[i];
        if (i != at && !(same_block_layer(layer->name, other->name) && same_cost(layer, other))) continue;
        shown[i] = true;
        count++;
        if (other->peak_elements > peak) peak = other->peak_elements;
    }
    size_t block;
    const char *rest;
    if (count > 1 && split_name(layer->name, &block, &rest))
        tn_table_format(table, "%.*s*%s", (int)block, layer->name, rest);
    else
        tn_table_text(table, layer->name);
    tn_table_count(table, count);
    tn_table_text(table, layer->kind);
    tn_table_text(table, layer->format ? layer->format : "");
    add_ranks(table, layer);
    tn_table_text(table, layer->flow ? layer->flow : "");
    tn_table_count(table, layer->parameters);
    for (int phase = 0; phase < TN_UPDATE; phase++) tn_table_count(table, layer->macs[phase]);
    tn_table_count(table, peak);
    tn_table_count(table, layer->saved_elements);
}

static tn_status print_layers(const tn_step *step, tn_error *error) {
    tn_table table;
    tn_arena arena = {0};
    bool *shown;
    tn_status status = tn_arena_alloc(&arena, step->layers, sizeof *shown, &shown, error);
    if (status == TN_OK) {
        tn_say_heading("Layers (each; * stands for every repetition, with the greatest peak)");
        HEAD(&table, "layer", "x", "kind", "format", "rank", "flow", "parameters", "forward MACs",
             "input grad. MACs", "weight grad. MACs", "peak elements", "saved elements");
        for (uint32_t i = 0; i < step->layers; i++)
            if (!shown[i]) add_layer(&table, step, i, shown);
        status = tn_table_end(&table, error);
    }
    tn_arena_free(&arena);
    return status;
}

static tn_status print_phases(const tn_step *step, tn_error *error) {
    tn_table table;
    char text[BAR + 4];
    double sum = 0;
    for (int phase = 0; phase < TN_PHASES; phase++) sum += (double)step->flops[phase];
    tn_say_heading("Phases");
    HEAD(&table, "phase", "MACs", "vector FLOPs", "FLOPs", "share, %", "");
    for (int phase = 0; phase < TN_PHASES; phase++) {
        double share = sum > 0 ? (double)step->flops[phase] / sum : 0;
        tn_table_text(&table, tn_phase_names[phase]);
        tn_table_count(&table, step->macs[phase]);
        tn_table_count(&table, step->flops[phase] - 2 * step->macs[phase]);
        tn_table_count(&table, step->flops[phase]);
        tn_table_format(&table, "%.1f", 100 * share);
        tn_table_text(&table, bar(share, text));
    }
    return tn_table_end(&table, error);
}

static tn_status print_memory(const tn_step *step, tn_error *error) {
    const struct {
        const char *name;
        uint64_t elements;
    } lines[] = {
        {"parameters", step->parameters},
        {"gradients", step->gradient_elements},
        {"optimizer state", step->optimizer_elements},
        {"saved activations", step->activation_elements},
        {"most live at once", step->peak_elements},
    };
    tn_table table;
    tn_say_heading("Memory (contents; blocks round it up)");
    HEAD(&table, "what", "elements", "bytes", "MiB");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        uint64_t bytes = lines[i].elements * step->element_bytes;
        tn_table_text(&table, lines[i].name);
        tn_table_count(&table, lines[i].elements);
        tn_table_count(&table, bytes);
        tn_table_format(&table, "%.3f", (double)bytes / bytes_per_MiB);
    }
    return tn_table_end(&table, error);
}

static tn_status print_budget(const tn_explanation *why, tn_error *error) {
    tn_table table;
    char text[BAR + 4];
    tn_say_heading("Budget");
    HEAD(&table, "resource", "used", "available", "share, %", "");
    for (int i = 0; i < TN_RESOURCES; i++) {
        uint64_t need = tn_cost_amount(&why->price.used, (tn_resource)i),
                 have = tn_cost_amount(&why->available, (tn_resource)i);
        double share = have ? (double)need / (double)have : need ? 2 : 0;
        tn_table_text(&table, tn_resource_names[i]);
        tn_table_count(&table, need);
        tn_table_count(&table, have);
        if (have)
            tn_table_format(&table, "%.1f", 100 * share);
        else
            tn_table_text(&table, need ? "has none" : "0.0");
        tn_table_text(&table, bar(share, text));
    }
    TN_TRY(tn_table_end(&table, error));
    tn_say("on-chip memory blocks taken: %.2f MiB", (double)why->price.on_chip_bytes / bytes_per_MiB);
    if (why->price.off_chip_bytes)
        tn_say("; off chip: %.2f MiB, %.2f MiB moved a step",
               (double)why->price.off_chip_bytes / bytes_per_MiB,
               (double)why->price.off_chip_bytes_per_step / bytes_per_MiB);
    tn_say("\n");
    return TN_OK;
}

static tn_status print_timeline(const tn_explanation *why, tn_error *error) {
    tn_table table;
    char text[BAR + 4];
    double cycles = (double)why->price.cycles_per_step;
    tn_say_heading("Time of a step by kernel");
    HEAD(&table, "kernel", "x", "lanes", "operations", "busy cycles", "on critical path", "busy, %", "");
    for (uint32_t i = 0; i < why->kernels; i++) {
        const tn_kernel_line *kernel = &why->kernel[i];
        tn_table_text(&table, kernel->name);
        tn_table_count(&table, kernel->count);
        tn_table_count(&table, kernel->lanes);
        tn_table_count(&table, kernel->operations);
        tn_table_count(&table, kernel->busy_cycles);
        tn_table_format(&table, "%.1f %%", cycles > 0 ? 100 * (double)kernel->critical_cycles / cycles : 0);
        tn_table_format(&table, "%.1f", 100 * kernel->utilisation);
        tn_table_text(&table, bar(kernel->utilisation, text));
    }
    TN_TRY(tn_table_end(&table, error));
    char floor[32];
    tn_say("%s\nfloor, all DSP blocks multiplying all the time: %s cycles\n", why->bound,
           tn_count_text(why->floor_cycles, floor));
    return TN_OK;
}

double tn_cost_joules(const double joules[TN_ENERGY_PARTS]) {
    return joules[TN_ENERGY_STATIC] + tn_cost_dynamic(joules);
}

double tn_cost_dynamic(const double joules[TN_ENERGY_PARTS]) {
    double sum = 0;
    for (int i = 0; i < TN_ENERGY_PARTS; i++)
        if (i != TN_ENERGY_STATIC) sum += joules[i];
    return sum;
}

static void put_energy(tn_table *table, const char *part, double mid, double least, double most,
                       double whole) {
    char text[BAR + 4];
    double share = whole > 0 ? mid / whole : 0;
    tn_table_text(table, part);
    tn_table_format(table, "%.4g", 1e3 * mid);
    tn_table_format(table, "%.4g", 1e3 * least);
    tn_table_format(table, "%.4g", 1e3 * most);
    tn_table_format(table, "%.1f", 100 * share);
    tn_table_text(table, bar(share, text));
}

/* The range is over the figures of energy that are not verified, all at their least and all at their most. */
static tn_status print_energy(const tn_explanation *why, tn_error *error) {
    tn_table table;
    double whole = why->price.joules_per_step;
    tn_say_heading("Energy of a step, and its range over the unverified figures");
    HEAD(&table, "part", "mJ", "least", "most", "share, %", "");
    for (int i = 0; i < TN_ENERGY_PARTS; i++)
        put_energy(&table, tn_energy_names[i], why->joules[i], why->least_joules[i], why->most_joules[i],
                   whole);
    put_energy(&table, "all dynamic", tn_cost_dynamic(why->joules), tn_cost_dynamic(why->least_joules),
               tn_cost_dynamic(why->most_joules), whole);
    put_energy(&table, "all", whole, tn_cost_joules(why->least_joules), tn_cost_joules(why->most_joules),
               whole);
    return tn_table_end(&table, error);
}

/* What a user may want to replace by measured figures. */
static void print_coefficients(const tn_device_energy *of) {
    tn_say(
        "made with static %g W; C V^2 at %g V, switching %g busy and %g idle, C = %g pF a LUT, %g a "
        "flip-flop, "
        "%g a DSP block, %g a BRAM18, %g an URAM; %g, %g and %g pJ a bit of block RAM, UltraRAM and LUTRAM\n",
        of->static_W.value, of->voltage_V.value, of->toggle.value, of->idle_toggle.value, of->lut_pF.value,
        of->ff_pF.value, of->dsp_pF.value, of->bram18_pF.value, of->uram_pF.value, of->bram_pJ_per_bit.value,
        of->uram_pJ_per_bit.value, of->lutram_pJ_per_bit.value);
}

static tn_status print_clocks(const tn_cost *cost, tn_error *error) {
    tn_say_heading("Clocks that the operators meet (placement and routing apart)");
    return tn_output_rows(&tn_cost_clock_record, cost->clock, cost->clocks, error);
}

static tn_status print_flows(const tn_cost *cost, tn_error *error) {
    if (cost->flows == 0) return TN_OK;
    tn_say_heading("Flows of the tensor-format linear layers under these kernels");
    return tn_output_rows(&tn_cost_flow_record, cost->flow, cost->flows, error);
}

/* Single changes that were priced; what is done already is none of them. */
static void print_remedies(const tn_remedies *of) {
    enum { SHOWN = 6 };
    char text[32];
    if (of->count == 0) {
        tn_say("To fit: none of %zu single changes is enough", of->tried);
        if (of->closest.change)
            tn_say("; %s (is %s) comes nearest, to %.3g times what the device has", of->closest.change,
                   of->closest.was, of->closest.ratio);
        tn_say(".\n");
        return;
    }
    tn_say("To fit: one of these changes, the fastest design first\n");
    for (size_t i = 0; i < of->count && i < SHOWN; i++)
        tn_say("  --set %s (is %s): %s a step\n", of->remedy[i].change, of->remedy[i].was,
               tn_si_text(of->remedy[i].price.seconds_per_step, "s", text));
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
    TN_TRY(print_layers(&cost->step, error));
    TN_TRY(print_phases(&cost->step, error));
    TN_TRY(print_memory(&cost->step, error));
    TN_TRY(print_budget(&cost->why, error));
    TN_TRY(tn_cost_print_memories(cost, error));
    TN_TRY(print_timeline(&cost->why, error));
    TN_TRY(print_energy(&cost->why, error));
    print_coefficients(cost->why.coefficients);
    TN_TRY(print_clocks(cost, error));
    TN_TRY(print_flows(cost, error));
    print_misfits(&cost->why, &cost->remedies);
    print_unverified(&cost->why);
    if (cost->figure) tn_say("\ntimeline drawn in %s\n", cost->figure);
    return TN_OK;
}
