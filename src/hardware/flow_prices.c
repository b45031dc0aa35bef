#include "hardware/flow_prices.h"

#include "base/checked.h"
#include "base/memory.h"
#include "hardware/kernel.h"

#include <string.h>

typedef struct {
    tn_model *model;
    const tn_device *device;
    const tn_build *build;
    size_t weights;
    bool *varies;        /* [weights] */
    tn_flow_name *given; /* [weights] */
    tn_program_cache *cache;
    tn_arithmetic arithmetic; /* of the step's products */
    tn_arena arena;           /* of one step */
    tn_error *error;
} comparison;

/* Weights of linear layers in a tensor format. */
static void find_varying(comparison *with) {
    for (size_t i = 0; i < tn_model_layers(with->model); i++) {
        tn_model_layer layer = tn_model_layer_at(with->model, i);
        if (!layer.weight || layer.looked_up || layer.dense) continue;
        with->varies[tn_model_weight_place(with->model, layer.weight)] = true;
    }
}

static bool any_varies(const comparison *with) {
    for (size_t i = 0; i < with->weights; i++)
        if (with->varies[i]) return true;
    return false;
}

static bool all_have(const comparison *with, tn_flow_name flow) {
    for (size_t i = 0; i < with->weights; i++)
        if (with->varies[i] && !tn_flow_exists(&tn_model_weight_at(with->model, i)->weight, flow))
            return false;
    return true;
}

static bool all_given(const comparison *with, tn_flow_name flow) {
    for (size_t i = 0; i < with->weights; i++)
        if (with->varies[i] && with->given[i] != flow) return false;
    return true;
}

static void set_flow(comparison *with, tn_flow_name flow) {
    for (size_t i = 0; i < with->weights; i++)
        if (with->varies[i]) tn_model_weight_at(with->model, i)->flow = flow;
}

static tn_status price_flow(comparison *with, tn_program_cache *cache, tn_flow_name flow,
                            tn_flow_price *line) {
    tn_step step;
    tn_workload *workload;
    tn_arena_reset(&with->arena);
    set_flow(with, flow);
    *line = (tn_flow_price){.name = tn_flow_names[flow], .as_given = all_given(with, flow)};
    TN_TRY(tn_step_build(with->model, cache, &with->arena, &step, with->error));
    for (int phase = 0; phase < TN_PHASES; phase++)
        if (!tn_add(line->macs, step.macs[phase], &line->macs))
            return tn_fail(with->error, TN_OVERFLOW, "a step of more than 2^64 multiply-adds");
    line->saved_elements = step.activation_elements;
    line->peak_elements = step.peak_elements;
    with->arithmetic = tn_arithmetic_of(&step.formats->accumulate);
    for (uint32_t i = 0; i < step.operations; i++)
        if (step.operation[i].arithmetic) with->arithmetic = *step.operation[i].arithmetic;
    TN_TRY(tn_workload_prepare(&step, with->device, &with->arena, &workload, with->error));
    return tn_price_step(workload, with->build, &line->price, with->error);
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

/* A merge and what reverse mode makes of it, in the order of its operands (flow/program.c):
 * c = a b, rows x reduction x columns; da = dc b; db = dc a. */
static uint64_t merge_price(void *user, const tn_product_shape *shape) {
    const tn_matmul *kernel = user;
    return cycles_of(kernel, shape->batch, shape->rows, shape->reduction, shape->columns) +
           cycles_of(kernel, shape->batch, shape->rows, shape->columns, shape->reduction) +
           cycles_of(kernel, shape->batch, shape->columns, shape->rows, shape->reduction);
}

static tn_status price_least_cycles(comparison *with, tn_flow_price *line) {
    const tn_build *build = with->build;
    tn_matmul kernel = {build->rows, build->columns, build->reduction, {.group = 0}};
    tn_program_cache *cache;
    TN_TRY(tn_lane_load(with->device, &with->arithmetic, &kernel.lane, with->error));
    const tn_pricing pricing = {.price = merge_price, .user = &kernel};
    TN_TRY(tn_program_cache_new(&cache, with->error));
    tn_program_cache_price(cache, &pricing);
    tn_status status = price_flow(with, cache, TN_FLOW_OPTIMAL, line);
    line->name = "optimal-cycles";
    line->as_given = false;
    tn_program_cache_free(cache);
    return status;
}

static tn_status compare(comparison *with, tn_flow_price *line, uint32_t *count) {
    for (int flow = 0; flow < TN_FLOWS; flow++)
        if (all_have(with, (tn_flow_name)flow))
            TN_TRY(price_flow(with, with->cache, (tn_flow_name)flow, &line[(*count)++]));
    /* Searching a training flow takes a while: only what the model asks for. */
    for (int flow = TN_FLOWS; flow < TN_FLOW_NAMES; flow++)
        if (all_given(with, (tn_flow_name)flow))
            TN_TRY(price_flow(with, with->cache, (tn_flow_name)flow, &line[(*count)++]));
    return price_least_cycles(with, &line[(*count)++]);
}

static tn_status compare_all(comparison *with, tn_arena *arena, tn_flow_price *line, uint32_t *count) {
    with->weights = tn_model_weights(with->model);
    TN_TRY(tn_arena_alloc(arena, with->weights, sizeof *with->varies, &with->varies, with->error));
    TN_TRY(tn_arena_alloc(arena, with->weights, sizeof *with->given, &with->given, with->error));
    find_varying(with);
    if (!any_varies(with)) return TN_OK;
    for (size_t i = 0; i < with->weights; i++) with->given[i] = tn_model_weight_at(with->model, i)->flow;
    tn_status status = compare(with, line, count);
    for (size_t i = 0; i < with->weights; i++) tn_model_weight_at(with->model, i)->flow = with->given[i];
    return status;
}

tn_status tn_flow_prices(tn_model *model, const tn_device *device, const tn_build *build,
                         tn_program_cache *cache, tn_flow_price *line, uint32_t *count, tn_error *error) {
    comparison with = {.model = model, .device = device, .build = build, .cache = cache, .error = error};
    tn_arena arena = {0};
    *count = 0;
    tn_status status = compare_all(&with, &arena, line, count);
    tn_arena_free(&with.arena);
    tn_arena_free(&arena);
    return status;
}
