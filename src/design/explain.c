#include "design/explain.h"

#include "base/c_locale.h"
#include "base/checked.h"
#include "device/device_data.h"
#include "price/obstacle.h"
#include "price/price_parts.h"
#include "price/routing.h"
#include "price/workload_data.h"
#include "step/fusion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    tn_workload *workload;
    const tn_build *build;
    tn_plan *plan;
    tn_arena *arena;
    tn_error *error;
    tn_work_price work;
    tn_memory_price memories;
    tn_schedule schedule;
    uint32_t line_of[TN_UNITS]; /* kernel line of a unit */
    tn_kernel_line *kernel;
    tn_memory_line *memory;
    tn_timeline_item *item;
    tn_explanation *out;
} teller;

/* ---- kernels ---- */

static uint32_t served_by(const teller *report, uint32_t operation) {
    return tn_unit_shared(report->workload->unit_of[operation], report->build);
}

static tn_status tell_matmul(teller *report, uint32_t unit, tn_kernel_line *line) {
    const tn_build *build = report->build;
    uint32_t arithmetic = unit / TN_PHASES;
    char text[TN_ARITHMETIC_TEXT];
    line->count = build->kernels;
    line->lanes = build->rows * build->columns * build->reduction;
    tn_resources_add(&line->used, &report->work.matmul[arithmetic], line->count);
    if (report->workload->arithmetics == 1) return TN_OK;
    tn_arithmetic_text(&report->workload->arithmetic[arithmetic], text);
    return tn_arena_format(report->arena, &line->name, report->error, "%s %s", line->name, text);
}

static tn_status tell_kernel(teller *report, uint32_t unit, tn_kernel_line *line) {
    *line = (tn_kernel_line){
        .name = tn_resource_unit_name(unit, report->build), .count = 1, .lanes = report->build->vector};
    if (unit < TN_MATMULS) return tell_matmul(report, unit, line);
    if (tn_build_shares_vectors(report->build)) {
        line->used = report->work.vectors;
        return TN_OK;
    }
    const tn_vector kernel =
        tn_workload_vector(report->workload, report->build, (tn_operation_kind)(unit - TN_MATMULS));
    line->lanes = kernel.lanes;
    line->used = tn_vector_resources(report->workload->device, &kernel);
    return TN_OK;
}

/* Multiplexers and rotators of all kernels, and those within deep memories: in use whatever runs. */
static void tell_routing(teller *report) {
    tn_resources used = tn_workload_routing(report->workload, report->build, report->memories.port);
    used.lut += report->memories.selection_lut;
    used.ff += report->memories.read_ff;
    report->kernel[report->out->kernels++] =
        (tn_kernel_line){.name = "routing",
                         .count = 1,
                         .used = used,
                         .busy_cycles = report->out->price.cycles_per_step,
                         .utilisation = 1};
}

/* Lanes of operators behind the matmul kernels' sums. */
static void tell_write_backs(teller *report) {
    const tn_workload *workload = report->workload;
    tn_kernel_line *line = &report->kernel[report->out->kernels];
    if (!workload->writing_back) return;
    report->out->kernels++;
    *line = (tn_kernel_line){.name = "write-back",
                             .lanes = tn_write_back_lanes(report->build),
                             .used = tn_workload_write_backs(workload, report->build)};
    for (uint32_t i = 0; i < workload->arithmetics; i++)
        if (workload->writing_back >> i & 1) line->count += report->build->kernels;
    for (uint32_t i = 0; i < workload->works; i++)
        for (uint32_t k = 0; k < workload->work[i].operation->fused_count; k++)
            line->operations += workload->work[i].count;
}

/* Controller and data movers of external memory; the operations that wait for them are their kernels'. */
static void tell_controller(teller *report) {
    const tn_plan *plan = report->plan;
    tn_kernel_line *line = &report->kernel[report->out->kernels];
    if (!plan->off_chip) return;
    report->out->kernels++;
    *line = (tn_kernel_line){
        .name = "external memory", .count = 1, .used = tn_plan_controller(plan, report->workload->device)};
    for (uint32_t i = 0; i < report->workload->step->operations; i++)
        if (plan->moves[i].operands > 0)
            line->busy_cycles += report->workload->time[i].finish - report->workload->time[i].start;
    line->utilisation = (double)line->busy_cycles / (double)report->out->price.cycles_per_step;
}

static tn_status tell_kernels(teller *report) {
    const tn_step *step = report->workload->step;
    double macs[TN_UNITS] = {0};
    TN_TRY(TN_NEW(report->arena, TN_UNITS + 3, &report->kernel, report->error));
    for (uint32_t unit = 0; unit < TN_UNITS; unit++) report->line_of[unit] = NONE;
    for (uint32_t i = 0; i < step->operations; i++) {
        uint32_t unit = served_by(report, i), *line = &report->line_of[unit];
        if (*line == NONE) {
            *line = report->out->kernels++;
            TN_TRY(tell_kernel(report, unit, &report->kernel[*line]));
        }
        report->kernel[*line].operations++;
        report->kernel[*line].busy_cycles +=
            report->workload->time[i].finish - report->workload->time[i].start;
        macs[*line] += (double)step->operation[i].macs;
    }
    double cycles = (double)report->out->price.cycles_per_step;
    for (uint32_t i = 0; i < report->out->kernels; i++) {
        tn_kernel_line *line = &report->kernel[i];
        double busy = (double)line->busy_cycles;
        if (cycles > 0) line->utilisation = busy / ((double)line->count * cycles);
        if (macs[i] > 0) line->filled = macs[i] / (busy * (double)line->lanes);
    }
    tell_write_backs(report);
    tell_routing(report);
    tell_controller(report);
    report->out->kernel = report->kernel;
    return TN_OK;
}

static tn_status tell_fused(teller *report) {
    const tn_step *step = report->workload->step;
    tn_fused_line *line;
    TN_TRY(TN_NEW(report->arena, step->operations, &line, report->error));
    report->out->fused = line;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *product = &step->operation[i];
        if (product->fused_count == 0) continue;
        line->layer = step->layer[product->layer].name;
        TN_TRY(tn_fused_text(step, product, report->arena, &line->operations, report->error));
        line++;
    }
    report->out->fused_lines = (uint32_t)(line - report->out->fused);
    return TN_OK;
}

/* ---- memories ---- */

static tn_status tell_descriptors(teller *report) {
    const tn_workload *workload = report->workload;
    const uint64_t bits = workload->device->control.descriptor_bits, operations = workload->step->operations;
    if (tn_device_is_generated(workload->device)) return TN_OK; /* logic */
    if (bits == 0 || operations == 0) return TN_OK;
    tn_memory_line *line = &report->memory[report->out->memories++];
    *line = (tn_memory_line){.name = "descriptors", .role = "descriptors", .arrays = 1};
    line->placed = (tn_placed){.place = {TN_STYLE_BLOCK, TN_SPLIT_RESHAPE, 1},
                               .accesses = 1,
                               .banks = 1,
                               .width_bits = bits,
                               .depth = operations,
                               .memories = 1,
                               .stored_bits = (double)bits * (double)operations};
    TN_TRY(tn_descriptor_blocks(workload->device, workload->step->operations, &line->placed.blocks,
                                report->error));
    line->placed.capacity_bits = (double)(line->placed.blocks.bram18 + 2 * line->placed.blocks.bram36) *
                                 TN_MEMORY_CAPACITY_BRAM18_BITS;
    return TN_OK;
}

/* Deals the arrays' layouts to the memories that hold them. */
static tn_status tell_layouts(teller *report) {
    const tn_map *map = &report->plan->map;
    const uint32_t arrays = report->workload->step->arrays;
    const tn_array_layout *told;
    tn_array_layout *dealt;
    TN_TRY(tn_array_layouts_tell(report->workload, report->plan, report->arena, &told, report->error));
    if (!told) return TN_OK;
    TN_TRY(TN_NEW(report->arena, arrays, &dealt, report->error));
    for (uint32_t a = 0; a < arrays; a++)
        if (told[a].memory != NONE) report->memory[told[a].memory].layouts++;
    for (uint32_t i = 0; i < map->memories; i++) {
        tn_memory_line *line = &report->memory[i];
        line->layout = dealt;
        dealt += line->layouts;
        line->layouts = 0;
    }
    for (uint32_t a = 0; a < arrays; a++) {
        if (told[a].memory == NONE) continue;
        tn_memory_line *line = &report->memory[told[a].memory];
        tn_array_layout *layout = (tn_array_layout *)&line->layout[line->layouts++];
        *layout = told[a];
        if (a == map->memory[told[a].memory].array) line->largest = layout;
    }
    return TN_OK;
}

static tn_status tell_memories(teller *report) {
    const tn_map *map = &report->plan->map;
    const tn_workload *workload = report->workload;
    TN_TRY(TN_NEW(report->arena, map->memories + 1, &report->memory, report->error));
    for (uint32_t i = 0; i < map->memories; i++) {
        const tn_mapped *memory = &map->memory[i];
        tn_memory_line *line = &report->memory[i];
        line->arrays = memory->arrays;
        line->role =
            memory->staging ? "staging" : tn_array_role_names[workload->step->array[memory->array].role];
        TN_TRY(tn_step_array_name(workload->step, memory->array, report->arena, &line->name, report->error));
        TN_TRY(tn_place_price(workload->device, workload->word_bits, memory, tn_plan_row(report->plan, i),
                              report->build, &report->plan->place[i], &line->placed, report->error));
    }
    report->out->memory = report->memory;
    report->out->memories = map->memories;
    TN_TRY(tell_layouts(report));
    return tell_descriptors(report);
}

/* ---- misfits ---- */

/* Keeps the largest, greatest first; of equals the first told. */
static void contribute(tn_largest *largest, const char *name, uint64_t amount) {
    uint32_t index = largest->count;
    if (amount == 0) return;
    while (index > 0 && largest->amount[index - 1] < amount) index--;
    if (index == TN_LARGEST) return;
    uint32_t last = largest->count < TN_LARGEST ? largest->count++ : TN_LARGEST - 1;
    for (uint32_t i = last; i > index; i--) {
        largest->amount[i] = largest->amount[i - 1];
        largest->name[i] = largest->name[i - 1];
    }
    largest->amount[index] = amount;
    largest->name[index] = name;
}

tn_largest tn_explanation_largest(const tn_explanation *explanation, tn_resource resource) {
    tn_largest largest = {0};
    for (uint32_t i = 0; i < explanation->kernels; i++)
        contribute(&largest, explanation->kernel[i].name,
                   tn_resource_amount(&explanation->kernel[i].used, resource));
    for (uint32_t i = 0; i < explanation->memories; i++) {
        const tn_blocks *blocks = &explanation->memory[i].placed.blocks;
        const tn_resources taken = {
            .lut = blocks->lutram, .bram18 = blocks->bram18 + 2 * blocks->bram36, .uram = blocks->uram};
        contribute(&largest, explanation->memory[i].name, tn_resource_amount(&taken, resource));
    }
    return largest;
}

static tn_status tell_misfits(teller *report) {
    tn_explanation *out = report->out;
    tn_misfit *list;
    TN_TRY(TN_NEW(report->arena, TN_RESOURCES, &list, report->error));
    for (int resource = 0; resource < TN_RESOURCES; resource++) {
        if (!(out->price.misfits >> resource & 1)) continue;
        tn_misfit *misfit = &list[out->misfits++];
        *misfit = (tn_misfit){.resource = (tn_resource)resource,
                              .needed = tn_resource_amount(&out->price.used, (tn_resource)resource),
                              .available = tn_resource_amount(&out->available, (tn_resource)resource)};
        tn_largest largest = tn_explanation_largest(out, misfit->resource);
        misfit->count = largest.count;
        memcpy(misfit->largest, largest.name, sizeof largest.name);
        memcpy(misfit->amount, largest.amount, sizeof largest.amount);
    }
    out->misfit = list;
    return TN_OK;
}

/* ---- timeline and critical path ---- */

static uint32_t memory_of_port(const tn_map *map, uint64_t port) {
    uint32_t memory = 0;
    while (memory + 1 < map->memories && map->memory[memory + 1].first_port <= port) memory++;
    return memory;
}

/* Cycles that the path spends behind what it waited for. */
static void count_wait(teller *report, const tn_task_time *time, uint64_t cycles, uint64_t *by_memory) {
    tn_waited *waited = &report->out->waited;
    uint32_t resource = time->waited_resource;
    if (time->wait == TN_WAIT_NOTHING) return;
    if (time->wait == TN_WAIT_TASK)
        waited->data_cycles += cycles;
    else if (resource < TN_UNITS)
        waited->kernel_cycles += cycles;
    else if (resource < TN_RESOURCE_EXTERNAL)
        waited->order_cycles += cycles;
    else if (resource == TN_RESOURCE_EXTERNAL)
        waited->external_cycles += cycles;
    else {
        waited->port_cycles += cycles;
        by_memory[memory_of_port(&report->plan->map, (resource - TN_RESOURCE_PORTS) / 2)] += cycles;
    }
}

static tn_status tell_path(teller *report) {
    const tn_task_time *time = report->workload->time;
    uint32_t *path, count;
    uint64_t *by_memory, greatest = 0;
    TN_TRY(TN_NEW(report->arena, report->schedule.tasks, &path, report->error));
    TN_TRY(TN_NEW(report->arena, report->plan->map.memories, &by_memory, report->error));
    tn_schedule_path(&report->schedule, time, path, &count);
    /* A task counts from its start to the start of the one that waited for it: streamed ones overlap. */
    uint64_t end = report->out->price.cycles_per_step;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t task = path[i];
        report->kernel[report->line_of[served_by(report, task)]].critical_cycles += end - time[task].start;
        report->item[task].critical = true;
        if (i > 0) count_wait(report, &time[path[i - 1]], end - time[task].start, by_memory);
        end = time[task].start;
    }
    for (uint32_t i = 0; i < report->plan->map.memories; i++) {
        if (by_memory[i] <= greatest) continue;
        greatest = by_memory[i];
        report->out->waited.port = report->memory[i].name;
    }
    return TN_OK;
}

static tn_status tell_timeline(teller *report) {
    uint32_t count = report->workload->step->operations;
    TN_TRY(TN_NEW(report->arena, count, &report->item, report->error));
    for (uint32_t i = 0; i < count; i++)
        report->item[i] = (tn_timeline_item){.operation = i,
                                             .kernel = report->line_of[served_by(report, i)],
                                             .start = report->workload->time[i].start,
                                             .finish = report->workload->time[i].finish};
    report->out->items = count;
    report->out->item = report->item;
    return tell_path(report);
}

/* ---- what bounds the step ---- */

/* Of the time of all operations, what their kernels wait for transfers. */
static double moving_share(const teller *report) {
    double all = 0;
    for (uint32_t i = 0; i < report->workload->step->operations; i++)
        all += (double)report->workload->cycles[i];
    return all > 0 ? (double)report->work.moving_cycles / all : 0;
}

static tn_status tell_bound(teller *report) {
    tn_explanation *out = report->out;
    const tn_waited *waited = &out->waited;
    double cycles = (double)out->price.cycles_per_step;
    const tn_kernel_line *most = NULL;
    char ports[256] = "";
    for (uint32_t i = 0; i < out->kernels; i++)
        if (!most || out->kernel[i].critical_cycles > most->critical_cycles) most = &out->kernel[i];
    if (!most || cycles == 0)
        return tn_arena_format(report->arena, &out->bound, report->error, "nothing to do");
    double share = 100 * (double)most->critical_cycles / cycles;
    if (report->plan->off_chip)
        tn_snprintf(ports, sizeof ports, "; operations wait %.0f %% of their time for %.100s",
                    100 * moving_share(report),
                    ((const tn_external_memory *)report->workload->device->external.item)->name);
    else if (waited->port_cycles > 0)
        tn_snprintf(ports, sizeof ports, "; %.0f %% of the time is behind memory ports, mostly of %.100s",
                    100 * (double)waited->port_cycles / cycles, waited->port);
    if (most->filled > 0)
        return tn_arena_format(report->arena, &out->bound, report->error,
                               "%s: %.0f %% of the critical path, its multipliers filled to %.0f %%%s",
                               most->name, share, 100 * most->filled, ports);
    return tn_arena_format(report->arena, &out->bound, report->error, "%s: %.0f %% of the critical path%s",
                           most->name, share, ports);
}

/* ---- unverified figures ---- */

typedef struct {
    teller *report;
    const char **name;
    uint32_t count, room;
    tn_status status;
} unverified_names;

static void note_unverified(unverified_names *all, bool unverified, const char *prefix, const char *name) {
    const char *text;
    if (!unverified || all->status != TN_OK || all->count == all->room) return;
    all->status = tn_arena_format(all->report->arena, &text, all->report->error, "%s%s%s", prefix,
                                  name[0] ? "." : "", name);
    if (all->status == TN_OK) all->name[all->count++] = text;
}

static void note_row(unverified_names *all, bool *told, const tn_operator_row *row) {
    const tn_operator_row *first = all->report->workload->device->operators.item;
    if (told[row - first]) return;
    told[row - first] = true;
    note_unverified(all, row->origin == TN_UNVERIFIED, "operators", row->name);
}

static void note_operators(unverified_names *all, bool *told) {
    const tn_workload *workload = all->report->workload;
    bool integer = false;
    for (uint32_t i = 0; i < workload->arithmetics; i++) {
        const tn_lane *lane = &workload->lane[i];
        if (lane->multiply.row) note_row(all, told, lane->multiply.row);
        if (lane->sum.row) note_row(all, told, lane->sum.row);
        if (lane->begin_multiply.row) note_row(all, told, lane->begin_multiply.row);
        integer |= !lane->multiply.row;
    }
    note_unverified(all, integer && workload->device->integer.origin == TN_UNVERIFIED, "integer", "");
    for (int kind = 0; kind < TN_OPERATORS; kind++)
        if (workload->write_back.operators[kind] > 0)
            note_row(all, told, workload->vector_operators.row[kind]);
    for (int vector = 0; vector < TN_OPERATION_KINDS; vector++)
        for (int kind = 0; kind < TN_OPERATORS; kind++)
            if (workload->vector_used[vector] && tn_vector_uses((tn_operation_kind)vector, (tn_operator)kind))
                note_row(all, told, workload->vector_operators.row[kind]);
}

static void note_resources(unverified_names *all) {
    const tn_device_resources_data *has = &all->report->workload->device->resources;
    note_unverified(all, has->origin == TN_UNVERIFIED, "resources", "");
    for (size_t i = 0; i < has->unverified.count && has->origin != TN_UNVERIFIED; i++)
        note_unverified(all, true, "resources", has->unverified.item[i]);
}

static void note_control(unverified_names *all) {
    const tn_device_control *control = &all->report->workload->device->control;
    note_unverified(all, control->origin == TN_UNVERIFIED, "control", "");
    for (size_t i = 0; i < control->unverified.count && control->origin != TN_UNVERIFIED; i++)
        note_unverified(all, true, "control", control->unverified.item[i]);
}

static void note_external(unverified_names *all) {
    const tn_external_memory *external = all->report->workload->device->external.item;
    char name[64];
    if (!all->report->plan->off_chip) return;
    note_unverified(all, external->origin == TN_UNVERIFIED, "external", external->name);
    tn_snprintf(name, sizeof name, "external.%.50s", external->name);
    for (size_t i = 0; i < external->unverified.count && external->origin != TN_UNVERIFIED; i++)
        note_unverified(all, true, name, external->unverified.item[i]);
}

static void note_edram(unverified_names *all) {
    const tn_device_edram *edram = &all->report->workload->device->edram;
    if (edram->retention_us <= 0) return;
    note_unverified(all, edram->origin == TN_UNVERIFIED, "edram", "");
    for (size_t i = 0; i < edram->unverified.count && edram->origin != TN_UNVERIFIED; i++)
        note_unverified(all, true, "edram", edram->unverified.item[i]);
}

static void note_energy(unverified_names *all) {
    const char *energy = (const char *)&all->report->workload->device->energy;
    for (size_t i = 0; i < tn_device_energy_schema.count; i++) {
        const tn_field *field = &tn_device_energy_schema.field[i];
        const tn_sourced *figure = (const tn_sourced *)(energy + field->offset);
        note_unverified(all, figure->origin == TN_UNVERIFIED, "energy", field->key);
    }
}

/* Of the rows that the price takes; of none, what the device asks for. */
static const char *operator_set_name(const tn_device *device, const bool *told) {
    const tn_operator_row *row = device->operators.item;
    bool of[] = {[TN_OPERATORS_HLS] = false, [TN_OPERATORS_GENERATED] = false};
    for (size_t i = 0; i < device->operators.count; i++)
        if (told[i]) of[row[i].set] = true;
    if (of[TN_OPERATORS_HLS] == of[TN_OPERATORS_GENERATED] && of[TN_OPERATORS_HLS]) return "mixed";
    const bool any = of[TN_OPERATORS_HLS] || of[TN_OPERATORS_GENERATED];
    return tn_operator_source_names[any ? of[TN_OPERATORS_GENERATED] : device->operator_set];
}

static tn_status tell_unverified(teller *report) {
    const tn_device *device = report->workload->device;
    unverified_names all = {.report = report, .room = (uint32_t)device->operators.count + 64};
    bool *told;
    TN_TRY(TN_NEW(report->arena, device->operators.count, &told, report->error));
    TN_TRY(TN_NEW(report->arena, all.room, &all.name, report->error));
    note_resources(&all);
    note_unverified(&all, device->memory.origin == TN_UNVERIFIED, "memory", "");
    note_control(&all);
    note_operators(&all, told);
    report->out->operator_set = operator_set_name(device, told);
    note_external(&all);
    note_edram(&all);
    note_energy(&all);
    report->out->unverified = all.name;
    report->out->unverified_count = all.count;
    return all.status;
}

/* ---- the whole ---- */

/* The same work and memories, summed by the extreme devices' coefficients. */
static tn_status tell_energy_range(teller *report) {
    for (int most = 0; most <= 1; most++) {
        tn_external_memory external;
        const tn_device device = tn_energy_extreme(report->workload->device, most, &external);
        tn_workload workload = *report->workload;
        tn_activity activity;
        tn_work_price work;
        tn_price price;
        workload.device = &device;
        TN_TRY(tn_price_work(&workload, report->plan, report->build, &work, report->error));
        tn_price_sum(&workload, report->plan, report->build, &work, &report->memories, &price, &activity);
        tn_energy_of(&device, &activity, most ? report->out->most_joules : report->out->least_joules);
    }
    return TN_OK;
}

static tn_status tell_rtl(teller *report) {
    char text[TN_OBSTACLE_TEXT];
    const char *key;
    uint32_t obstacle;
    TN_TRY(tn_workload_obstacle(report->workload, report->build, report->plan->off_chip, &obstacle,
                                report->error));
    key = tn_obstacle_key(obstacle, text);
    return tn_arena_copy_text(report->arena, key, strlen(key), &report->out->rtl, report->error);
}

tn_status tn_price_explain(tn_workload *workload, const tn_build *build, tn_arena *arena,
                           tn_explanation *explanation, tn_error *error) {
    enum { ALL_STORES = (1 << TN_STORES) - 1 };
    TN_TRY(tn_build_check(build, error));
    TN_TRY(tn_workload_built(workload, build, &workload, error));
    teller report = {
        .workload = workload, .build = build, .arena = arena, .error = error, .out = explanation};
    tn_activity activity;
    uint64_t cycles;
    *explanation = (tn_explanation){.step = workload->step,
                                    .device = tn_device_name(workload->device),
                                    .clock_MHz = tn_device_clock_MHz(workload->device),
                                    .available = tn_device_resources(workload->device)};
    explanation->coefficients = &workload->device->energy;
    TN_TRY(tn_workload_plan(workload, build, &report.plan, error));
    TN_TRY(tn_plan_lay(workload, report.plan, build, error));
    TN_TRY(tn_price_work(workload, report.plan, build, &report.work, error));
    const tn_resources kernels = tn_workload_kernels(workload, build, &report.work);
    TN_TRY(tn_plan_places(workload, report.plan, build, kernels.lut, NULL, error));
    TN_TRY(tn_price_memories(workload, report.plan, build, ALL_STORES, &report.memories, error));
    tn_price_sum(workload, report.plan, build, &report.work, &report.memories, &explanation->price,
                 &activity);
    explanation->cells = report.work.cells;
    tn_energy_of(workload->device, &activity, explanation->joules);
    TN_TRY(tell_energy_range(&report));
    TN_TRY(tn_plan_tasks(workload, report.plan, error));
    tn_price_run(workload, report.plan, build, &report.schedule, &cycles);
    TN_TRY(tn_waterfall(workload, report.plan, build, cycles, arena, explanation->fall, error));
    explanation->floor_cycles = (uint64_t)explanation->fall[TN_FALL_FLOOR].cycles;
    TN_TRY(tell_kernels(&report));
    TN_TRY(tell_fused(&report));
    TN_TRY(tell_memories(&report));
    TN_TRY(tell_misfits(&report));
    TN_TRY(tell_timeline(&report));
    TN_TRY(tell_bound(&report));
    TN_TRY(tell_rtl(&report));
    return tell_unverified(&report);
}
