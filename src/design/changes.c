#include "design/changes.h"

#include "base/checked.h"
#include "base/memory.h"
#include "device/device_data.h"
#include "kernel/kernel.h"
#include "model/graph.h"
#include "price/plan.h"
#include "price/work.h"
#include "step/program_cache.h"
#include "step/transformation.h"

#include <string.h>

/* Inserts a clock in ascending order unless it is there, or the list is full. */
static void add_clock(double clock_MHz, tn_clock_price *list, uint32_t *count) {
    uint32_t index = *count;
    while (index > 0 && list[index - 1].clock_MHz > clock_MHz) index--;
    if (*count == TN_CLOCKS_MOST || (index > 0 && list[index - 1].clock_MHz == clock_MHz)) return;
    for (uint32_t i = *count; i > index; i--) list[i] = list[i - 1];
    list[index] = (tn_clock_price){.clock_MHz = clock_MHz};
    ++*count;
}

static void list_clocks(const tn_device *device, tn_clock_price *list, uint32_t *count) {
    static const double usual[] = {100, 150, 200};
    const tn_operator_row *row = device->operators.item;
    *count = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) add_clock(usual[i], list, count);
    add_clock(device->clock_MHz, list, count);
    for (size_t i = 0; i < device->operators.count; i++)
        if (1e3 / row[i].period_ns > usual[2]) add_clock(1e3 / row[i].period_ns, list, count);
}

static tn_status price_clock(const tn_priced *given, tn_clock_price *line, tn_error *error) {
    tn_device device = *given->design.device;
    tn_design design = given->design;
    tn_arena arena = {0};
    tn_priced priced;
    device.clock_MHz = line->clock_MHz;
    design.device = &device;
    tn_status status = tn_design_price(&design, given, NULL, &arena, &priced, error);
    if (status == TN_OK) {
        line->cycles_per_step = priced.price.cycles_per_step;
        line->seconds_per_step = priced.price.seconds_per_step;
        line->dsp = priced.price.used.dsp;
    }
    tn_arena_free(&arena);
    return status;
}

tn_status tn_clock_prices(const tn_priced *given, tn_clock_price *price, uint32_t *count, tn_error *error) {
    const tn_device *device = given->design.device;
    uint32_t listed;
    list_clocks(device, price, &listed);
    *count = 0;
    for (uint32_t i = 0; i < listed; i++) {
        tn_status status = price_clock(given, &price[i], error);
        if (status == TN_INPUT && price[i].clock_MHz != device->clock_MHz) continue;
        TN_TRY(status);
        price[(*count)++] = price[i];
    }
    return TN_OK;
}

static const char *const names[TN_GROUPINGS] = {"each core alone", "as built", "searched"};

static tn_build changed(const tn_build *build, int which) {
    tn_build own = *build;
    if (which == 0) own.group = 1;
    if (which < 2) own.placement = TN_PLACE_AS_BUILT;
    if (which == 2) own.placement = TN_PLACE_SEARCHED;
    return own;
}

static tn_status sum_memories(const tn_workload *workload, const tn_plan *plan, const tn_build *build,
                              tn_grouping *line, tn_error *error) {
    for (uint32_t i = 0; i < plan->map.memories; i++) {
        tn_placed placed;
        TN_TRY(tn_place_price(workload->device, workload->word_bits, &plan->map.memory[i],
                              tn_plan_row(plan, i), build, &plan->place[i], &placed, error));
        line->bram18 += placed.blocks.bram18 + 2 * placed.blocks.bram36;
        line->uram += placed.blocks.uram;
        line->lutram += placed.blocks.lutram;
        line->stored_bits += placed.stored_bits;
        line->capacity_bits += placed.capacity_bits;
    }
    return TN_OK;
}

tn_status tn_grouping_compare(const tn_priced *given, tn_grouping *line, tn_error *error) {
    const tn_build *build = &given->design.build;
    const tn_resources has = tn_device_resources(given->design.device);
    tn_workload *workload;
    tn_plan *plan;
    tn_work_price work;
    TN_TRY(tn_workload_built(given->workload, build, &workload, error));
    TN_TRY(tn_workload_plan(workload, build, &plan, error));
    TN_TRY(tn_plan_lay(workload, plan, build, error));
    TN_TRY(tn_price_work(workload, plan, build, &work, error));
    const tn_resources kernels = tn_workload_kernels(workload, build, &work);
    for (int i = 0; i < TN_GROUPINGS; i++) {
        tn_build own = changed(build, i);
        line[i] = (tn_grouping){.name = names[i]};
        TN_TRY(tn_plan_places(workload, plan, &own, kernels.lut, &line[i].exact, error));
        TN_TRY(sum_memories(workload, plan, &own, &line[i], error));
        line[i].bram18 += workload->descriptor_bram18;
        line[i].fits = line[i].bram18 <= has.bram18 && line[i].uram <= has.uram &&
                       kernels.lut + line[i].lutram <= has.lut;
    }
    return TN_OK;
}

/* A design whose weights in tensor formats that linear layers multiply with all take one flow. */
typedef struct {
    tn_design design; /* its model is a copy */
    const tn_design *given;
    bool *varies; /* [weights] */
    tn_program_cache *cache;
    tn_arithmetic arithmetic; /* of the step's products */
    tn_arena arena;           /* of one step */
    tn_error *error;
} comparison;

static bool find_varying(comparison *state) {
    bool any = false;
    for (size_t i = 0; i < tn_model_layers(state->given->model); i++) {
        tn_model_layer layer = tn_model_layer_at(state->given->model, i);
        if (!layer.weight || layer.looked_up || layer.dense) continue;
        state->varies[tn_model_weight_place(state->given->model, layer.weight)] = any = true;
    }
    return any;
}

static bool all_have(const comparison *state, tn_flow_name flow) {
    for (size_t i = 0; i < tn_model_weights(state->given->model); i++)
        if (state->varies[i] && !tn_flow_exists(&tn_model_weight_at(state->given->model, i)->weight, flow))
            return false;
    return true;
}

static bool all_given(const comparison *state, tn_flow_name flow) {
    for (size_t i = 0; i < tn_model_weights(state->given->model); i++)
        if (state->varies[i] && tn_model_weight_at(state->given->model, i)->flow != flow) return false;
    return true;
}

static tn_status price_flow(comparison *state, tn_program_cache *cache, tn_flow_name flow,
                            tn_flow_price *line) {
    tn_priced priced;
    tn_arena_reset(&state->arena);
    for (size_t i = 0; i < tn_model_weights(state->design.model); i++)
        if (state->varies[i]) tn_model_weight_at(state->design.model, i)->flow = flow;
    TN_TRY(tn_design_price(&state->design, NULL, cache, &state->arena, &priced, state->error));
    *line = (tn_flow_price){.name = tn_flow_names[flow],
                            .as_given = all_given(state, flow),
                            .macs = tn_step_macs(priced.step->macs),
                            .saved_elements = priced.step->activation_elements,
                            .peak_elements = priced.step->peak_elements,
                            .price = priced.price};
    state->arithmetic = tn_arithmetic_of(&priced.step->formats->accumulate);
    for (uint32_t i = 0; i < priced.step->operations; i++)
        if (priced.step->operation[i].arithmetic) state->arithmetic = *priced.step->operation[i].arithmetic;
    return TN_OK;
}

/* Cycles of a product; more than any tree may take where they do not fit. */
static uint64_t cycles_of(const tn_matmul *kernel, uint64_t batch, uint64_t rows, uint64_t reduction,
                          uint64_t columns) {
    static const uint64_t too_many = UINT64_MAX >> 16;
    const tn_product_size size = {batch, rows, reduction, columns};
    tn_matmul_time time;
    bool fits = tn_matmul_cycles(kernel, &size, &time, NULL) == TN_OK && time.cycles < too_many;
    return fits ? time.cycles : too_many;
}

/* A merge and what reverse mode makes of it, in the order of its operands (program/program.c):
 * c = a b, rows x reduction x columns; da = dc b; db = dc a. */
static uint64_t merge_price(void *user, const tn_product_shape *shape) {
    const tn_matmul *kernel = user;
    return cycles_of(kernel, shape->batch, shape->rows, shape->reduction, shape->columns) +
           cycles_of(kernel, shape->batch, shape->rows, shape->columns, shape->reduction) +
           cycles_of(kernel, shape->batch, shape->columns, shape->rows, shape->reduction);
}

static tn_status price_least_cycles(comparison *state, tn_flow_price *line) {
    const tn_build *build = &state->design.build;
    tn_matmul kernel = {.rows = build->rows, .columns = build->columns, .reduction = build->reduction};
    tn_program_cache *cache;
    TN_TRY(tn_lane_load(state->design.device, &state->arithmetic, &kernel.lane, state->error));
    const tn_pricing pricing = {.price = merge_price, .user = &kernel};
    TN_TRY(tn_program_cache_new(&cache, state->error));
    tn_program_cache_price(cache, &pricing);
    tn_status status = price_flow(state, cache, TN_FLOW_OPTIMAL, line);
    line->name = "optimal-cycles";
    line->as_given = false;
    tn_program_cache_free(cache);
    return status;
}

static tn_status compare(comparison *state, tn_arena *arena, tn_flow_price *line, uint32_t *count) {
    TN_TRY(TN_NEW(arena, tn_model_weights(state->given->model), &state->varies, state->error));
    if (!find_varying(state)) return TN_OK;
    TN_TRY(tn_model_copy(state->given->model, arena, &state->design.model, state->error));
    for (int flow = 0; flow < TN_FLOWS; flow++)
        if (all_have(state, (tn_flow_name)flow))
            TN_TRY(price_flow(state, state->cache, (tn_flow_name)flow, &line[(*count)++]));
    /* Searching a training flow takes a while: only what the model asks for. */
    for (int flow = TN_FLOWS; flow < TN_FLOW_NAMES; flow++)
        if (all_given(state, (tn_flow_name)flow))
            TN_TRY(price_flow(state, state->cache, (tn_flow_name)flow, &line[(*count)++]));
    return price_least_cycles(state, &line[(*count)++]);
}

tn_status tn_flow_prices(const tn_design *design, tn_program_cache *cache, tn_flow_price *line,
                         uint32_t *count, tn_error *error) {
    comparison state = {.design = *design, .given = design, .cache = cache, .error = error};
    tn_arena arena = {0};
    *count = 0;
    tn_status status = compare(&state, &arena, line, count);
    tn_arena_free(&state.arena);
    tn_arena_free(&arena);
    return status;
}

enum { CANDIDATES_MOST = TN_FLOWS + TN_FLOW_CHEAPEST_8 - TN_FLOW_CHEAPEST_2 + 1 };

typedef struct {
    tn_design *design;
    tn_program_cache *cache;
    tn_arena arena; /* of one step */
    tn_error *error;
} search;

bool tn_flows_are_open(tn_model *model) {
    for (size_t i = 0; i < tn_model_weights(model); i++)
        if (tn_model_weight_at(model, i)->flow == TN_FLOW_FASTEST) return true;
    return false;
}

static bool is_looked_up(const search *state, const tn_model_weight *weight) {
    for (size_t i = 0; i < tn_model_layers(state->design->model); i++) {
        tn_model_layer layer = tn_model_layer_at(state->design->model, i);
        if (layer.weight == weight) return layer.looked_up;
    }
    return false;
}

static uint32_t list_candidates(const search *state, const tn_model_weight *weight,
                                tn_flow_name candidate[CANDIDATES_MOST]) {
    const bool looked_up = is_looked_up(state, weight);
    uint32_t count = 0;
    for (int f = 0; f < TN_FLOW_NAMES; f++) {
        tn_flow_name flow = (tn_flow_name)f;
        if (f >= TN_FLOWS && !tn_flow_is_cheapest(flow)) continue;
        if (looked_up ? tn_lookup_flow_exists(flow) : tn_flow_exists(&weight->weight, flow))
            candidate[count++] = flow;
    }
    return count;
}

static bool is_better(const tn_price *a, const tn_price *b) {
    const bool fits = a->misfits == 0;
    if (fits != (b->misfits == 0)) return fits;
    if (a->cycles_per_step != b->cycles_per_step) return a->cycles_per_step < b->cycles_per_step;
    return a->on_chip_bytes < b->on_chip_bytes;
}

/* *changed: another flow than the one that stood. */
static tn_status settle(search *state, tn_model_weight *weight, bool *changed) {
    tn_flow_name candidate[CANDIDATES_MOST];
    const tn_flow_name stood = weight->flow;
    const uint32_t count = list_candidates(state, weight, candidate);
    tn_flow_name best = stood;
    tn_price least = {0};
    bool found = false;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < count; i++) {
        tn_priced next;
        weight->flow = candidate[i];
        tn_arena_reset(&state->arena);
        status = tn_design_price(state->design, NULL, state->cache, &state->arena, &next, state->error);
        if (status == TN_MEMORY || status == TN_INTERRUPTED) return status;
        if (status != TN_OK || (found && !is_better(&next.price, &least))) continue;
        best = candidate[i];
        least = next.price;
        found = true;
    }
    weight->flow = best;
    *changed |= best != stood;
    return found ? TN_OK : status;
}

/* A weight that changes makes the step better, so this ends; the number of rounds is bounded all the same. */
static tn_status settle_all(search *state, tn_model_weight *const *open, size_t count) {
    enum { ROUNDS_MOST = 8 };
    bool changed = true;
    for (size_t i = 0; i < count; i++) open[i]->flow = TN_FLOW_OPTIMAL;
    for (int round = 0; changed && round < ROUNDS_MOST; round++) {
        changed = false;
        for (size_t i = 0; i < count; i++) TN_TRY(settle(state, open[i], &changed));
        if (count == 1) break; /* nothing else can have moved */
    }
    return TN_OK;
}

tn_status tn_flows_settle(tn_design *design, tn_error *error) {
    tn_model *model = design->model;
    search state = {.design = design, .error = error};
    tn_arena arena = {0};
    tn_model_weight **open;
    size_t weights = tn_model_weights(model), count = 0;
    tn_status status = TN_NEW(&arena, weights, &open, error);
    for (size_t i = 0; status == TN_OK && i < weights; i++)
        if (tn_model_weight_at(model, i)->flow == TN_FLOW_FASTEST)
            open[count++] = tn_model_weight_at(model, i);
    if (status == TN_OK) status = tn_program_cache_new(&state.cache, error);
    if (status == TN_OK) status = settle_all(&state, open, count);
    tn_program_cache_free(state.cache);
    tn_arena_free(&state.arena);
    tn_arena_free(&arena);
    return status;
}

/* --- choices of a design that are no transformation of its list */

static bool has_format(const tn_design *design) {
    return !tn_number_format_same(&design->model->keys.formats.accumulate, &tn_fp32);
}

static bool has_cells(const tn_design *design) {
    return design->model->keys.memory.kind == TN_CELL_EDRAM;
}

static bool has_array(const tn_design *design) {
    return design->build.array == TN_ARRAY_SYSTOLIC;
}

/* Everything in fp32, but for operands that have a format of their own. */
static void drop_format(tn_design *design) {
    tn_formats *formats = &design->model->keys.formats;
    for (int i = 0; i < TN_VALUES; i++)
        if (tn_number_format_same(&formats->operand[i], &formats->accumulate)) formats->operand[i] = tn_fp32;
    formats->accumulate = tn_fp32;
}

static void drop_cells(tn_design *design) {
    design->model->keys.memory.kind = TN_CELL_SRAM;
}

static void drop_array(tn_design *design) {
    design->build.array = TN_ARRAY_LANES;
}

const tn_design_choice tn_design_choices[] = {
    {"number-format", "precision, precision.accumulate",
     "Micikevicius et al., Mixed Precision Training, ICLR 2018",
     "format of sums, of all other arithmetic and of arrays: operators, bits of memories", true, has_format,
     drop_format},
    {"embedded-dram", "memory.kind, .retention_us, .refresh_pj", "Zhang et al., CAMEL, HPCA 2024",
     "activations' cells lose what is not refreshed: energy of refreshes, by lifetimes in the schedule",
     false, has_cells, drop_cells},
    {"systolic-array", "build.array", "Zhang, McDanel, Kung, FAST, HPCA 2022",
     "matmul kernels are an array that transposes in place: cycles of each pass, resources", false, has_array,
     drop_array},
    {.name = NULL},
};

/* --- prices */

typedef struct state {
    uint64_t macs, saved_bytes, peak_bytes, cycles_per_step;
    double joules_per_step;
} state;

typedef struct pricing {
    const tn_design *design;
    uint32_t transformations; /* of the table */
    tn_program_cache *cache;
    tn_error *error;
} pricing;

/* A design on its way to the whole one: the choices that come first, so many transformations of the table, the other
 * choices. */
typedef struct stage {
    uint32_t choices_before, transformations, choices_behind; /* of each list the first so many */
} stage;

/* Whether choice `i` is made by now; choices of either sort are counted apart. */
static bool is_made(const stage *phase, uint32_t i) {
    uint32_t place = 0;
    for (uint32_t k = 0; k < i; k++)
        place += tn_design_choices[k].comes_first == tn_design_choices[i].comes_first;
    return place < (tn_design_choices[i].comes_first ? phase->choices_before : phase->choices_behind);
}

static tn_status price(const pricing *pricer, const stage *phase, tn_arena *arena, state *found) {
    tn_design design = *pricer->design;
    tn_priced priced;
    TN_TRY(tn_model_copy(pricer->design->model, arena, &design.model, pricer->error));
    for (uint32_t i = 0; tn_design_choices[i].name; i++)
        if (!is_made(phase, i)) tn_design_choices[i].leave_out(&design);
    design.left_out = pricer->transformations - phase->transformations;
    TN_TRY(tn_design_price(&design, NULL, pricer->cache, arena, &priced, pricer->error));
    *found = (state){.macs = tn_step_macs(priced.step->macs),
                     .saved_bytes = priced.step->activation_bytes,
                     .peak_bytes = priced.step->peak_bytes,
                     .cycles_per_step = priced.price.cycles_per_step,
                     .joules_per_step = priced.price.joules_per_step};
    return TN_OK;
}

static tn_status price_in_scratch(const pricing *pricer, const stage *phase, state *found) {
    tn_arena arena = {0};
    tn_status status = price(pricer, phase, &arena, found);
    tn_arena_free(&arena);
    return status;
}

typedef struct telling {
    pricing pricing;
    stage stage;
    state before; /* of the stage, once a line was told */
    tn_technique_price *line;
    uint32_t lines;
} telling;

/* Another line, of the step from the stage so far to `next`, if the design takes it. */
static tn_status tell(telling *t, bool wanted, stage next, const char *name, const char *keys) {
    state after;
    if (wanted) {
        if (t->lines == 0) TN_TRY(price_in_scratch(&t->pricing, &t->stage, &t->before));
        TN_TRY(price_in_scratch(&t->pricing, &next, &after));
        t->line[t->lines++] =
            (tn_technique_price){.name = name,
                                 .keys = keys,
                                 .macs = {t->before.macs, after.macs},
                                 .saved_bytes = {t->before.saved_bytes, after.saved_bytes},
                                 .peak_bytes = {t->before.peak_bytes, after.peak_bytes},
                                 .cycles_per_step = {t->before.cycles_per_step, after.cycles_per_step},
                                 .joules_per_step = {t->before.joules_per_step, after.joules_per_step}};
        t->before = after;
    }
    t->stage = next;
    return TN_OK;
}

static tn_status tell_choices(telling *t, bool first) {
    for (const tn_design_choice *one = tn_design_choices; one->name; one++) {
        stage next = t->stage;
        if (one->comes_first != first) continue;
        ++*(first ? &next.choices_before : &next.choices_behind);
        TN_TRY(tell(t, one->wanted(t->pricing.design), next, one->name, one->keys));
    }
    return TN_OK;
}

tn_status tn_technique_prices(const tn_design *design, tn_program_cache *cache, tn_arena *arena,
                              tn_technique_price **line, uint32_t *count, tn_error *error) {
    telling t = {.pricing = {.design = design, .cache = cache, .error = error}};
    uint32_t choices = 0;
    *count = 0;
    for (const tn_transformation *const *one = tn_transformations; *one; one++) t.pricing.transformations++;
    for (const tn_design_choice *one = tn_design_choices; one->name; one++) choices++;
    TN_TRY(TN_NEW(arena, t.pricing.transformations + choices, &t.line, error));
    TN_TRY(tell_choices(&t, true));
    for (const tn_transformation *const *one = tn_transformations; *one; one++) {
        stage next = t.stage;
        next.transformations++;
        TN_TRY(tell(&t, (*one)->wanted(design->model), next, (*one)->name, (*one)->keys));
    }
    TN_TRY(tell_choices(&t, false));
    *line = t.line;
    *count = t.lines;
    return TN_OK;
}
