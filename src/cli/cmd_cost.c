/* tenfold cost MODEL */
#include "cli/commands.h"
#include "cli/cost.h"
#include "cli/output.h"
#include "cli/sets.h"
#include "plot/timeline_figure.h"

typedef struct {
    tn_common common;
    const char *device, *folder, *format;
    tn_option_list set;
} request;

static tn_status load(const request *asked, tn_arena *arena, tn_model **model, tn_device **device,
                      tn_error *error) {
    tn_sets sets;
    TN_TRY(tn_sets_divide(&asked->set, &sets, error));
    TN_TRY(tn_model_load(asked->common.argument[0], sets.model.item, sets.model.count, arena, model, error));
    TN_TRY(tn_device_load(asked->device, sets.device.item, sets.device.count, arena, device, error));
    if (tn_device_kind_of(*device) == TN_DEVICE_FPGA) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "device %s is no FPGA; `tenfold roofline step %s --device %s` predicts a training step on it",
        tn_device_name(*device), asked->common.argument[0], asked->device);
}

static tn_status price(tn_model *model, const tn_device *device, tn_program_cache *cache, tn_arena *arena,
                       tn_cost *cost, tn_error *error) {
    tn_workload *workload;
    TN_TRY(tn_build_decode(tn_model_build(model), arena, &cost->build, error));
    TN_TRY(tn_step_build(model, cache, arena, &cost->step, error));
    TN_TRY(tn_workload_prepare(&cost->step, device, arena, &workload, error));
    TN_TRY(tn_price_explain(workload, &cost->build, arena, &cost->why, error));
    const tn_resources has = tn_device_resources(device);
    if (cost->why.misfits)
        TN_TRY(tn_remedies_find(model, device, &cost->build, &has, arena, &cost->remedies, error));
    TN_TRY(tn_clock_prices(&cost->step, device, &cost->build, cost->clock, &cost->clocks, error));
    TN_TRY(tn_grouping_compare(workload, &cost->build, cost->grouping, error));
    TN_TRY(tn_flow_prices(model, device, &cost->build, cache, cost->flow, &cost->flows, error));
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

static tn_status answer_request(const request *asked, tn_program_cache *cache, tn_arena *arena,
                                tn_error *error) {
    tn_model *model;
    tn_device *device;
    tn_figure_format format;
    tn_cost cost = {0};
    TN_TRY(read_format(asked, &format, error));
    TN_TRY(load(asked, arena, &model, &device, error));
    TN_TRY(price(model, device, cache, arena, &cost, error));
    TN_TRY(draw(asked, format, arena, &cost, error));
    return asked->common.json ? tn_output_json(&tn_cost_record, &cost, error) : tn_cost_print(&cost, error);
}

static const request defaults = {.device = "u50@user-area"};
static const tn_option options[] = {
    {"--device", TN_INTO(request, device), "DEVICE",
     "device file, name or NAME@VARIANT; default u50@user-area"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "override a key of the model or the device; repeatable"},
    {"--plot", TN_INTO(request, folder), "DIR", "draw the step's timeline by kernel into this folder"},
    {"--format", TN_INTO(request, format), "png|svg|pdf", "picture format of --plot; default png"},
};

/* A design that does not fit is an answer, not a failure: "fits": false. */
static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_program_cache *cache;
    (void)answer;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = answer_request(r, cache, &r->common.arena, error);
    tn_program_cache_free(cache);
    return status;
}

const tn_command tn_command_cost = {
    .name = "cost",
    .summary = "one design's cost: a model's training step on a device",
    .usage = "MODEL [--device DEVICE] [--set KEY=VALUE]...",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    .answer = answer,
};
