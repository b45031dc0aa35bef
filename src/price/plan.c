#include "price/plan.h"

#include "base/checked.h"
#include "memory/placement.h"
#include "memory/staged.h"

#include <inttypes.h>

/* Bytes of the arrays off chip, which the device's external memory must hold. */
static tn_status count_off_chip(const tn_workload *workload, tn_plan *plan, tn_error *error) {
    const tn_step *step = workload->step;
    const tn_external_memory *external = workload->device->external.item;
    for (uint32_t i = 0; i < step->arrays; i++)
        if (tn_map_puts_off_chip(step, &plan->options, i))
            plan->off_chip_bytes += tn_ceil_div(step->array[i].elements * tn_array_word_bits(step, i), 8);
    plan->off_chip = plan->off_chip_bytes > 0;
    if (!plan->off_chip) return TN_OK;
    if (workload->device->external.count == 0)
        return tn_fail(
            error, TN_INPUT,
            "device %s has no external memory for the arrays over build.off_chip_over_bytes; add one "
            "to its `external`, or set the key to 0",
            tn_device_name(workload->device));
    if (plan->off_chip_bytes > external->capacity_bytes)
        return tn_fail(error, TN_INPUT,
                       "off-chip arrays of %" PRIu64 " bytes do not fit the %" PRIu64 " bytes of %s",
                       plan->off_chip_bytes, external->capacity_bytes, external->name);
    return TN_OK;
}

static tn_status no_fit(tn_error *error) {
    return tn_fail(error, TN_OVERFLOW, "the bytes moved in a step do not fit 64 bits");
}

/* What each operation moves when it is done, and all of them in a step. */
static tn_status list_transfers(tn_workload *workload, tn_plan *plan, tn_error *error) {
    const tn_step *step = workload->step;
    const tn_external_memory *external = workload->device->external.item;
    if (!plan->off_chip) return TN_OK;
    TN_TRY(TN_NEW(workload->arena, step->operations, &plan->transfer_bytes, error));
    TN_TRY(TN_NEW(workload->arena, step->operations, &plan->moves, error));
    for (uint32_t i = 0; i < plan->map.staged_count; i++) {
        const tn_staged *staged = &plan->map.staged[i];
        TN_TRY(tn_moves_add(step, external, &plan->map.tiling[staged->operation], staged,
                            &plan->moves[staged->operation], error));
    }
    for (uint32_t i = 0; i < step->operations; i++) {
        const double share = workload->work[workload->work_of[i]].share;
        const uint64_t rows = tn_scaled_up(tn_moves_rows(external, &plan->moves[i]), share);
        plan->transfer_bytes[i] = tn_scaled_up(plan->moves[i].bytes, share);
        if (!tn_add(plan->off_chip_bytes_per_step, plan->transfer_bytes[i], &plan->off_chip_bytes_per_step) ||
            !tn_add(plan->off_chip_rows_per_step, rows, &plan->off_chip_rows_per_step))
            return no_fit(error);
    }
    return TN_OK;
}

static tn_status find_plan(tn_workload *workload, const tn_map_options *options, tn_plan **plan,
                           tn_error *error);

static tn_status make_plan(tn_workload *workload, const tn_map_options *options, tn_plan **plan,
                           tn_error *error) {
    const tn_step *step = workload->step;
    tn_arena *arena = workload->arena;
    tn_plan *made;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    made->options = *options;
    TN_TRY(count_off_chip(workload, made, error)); /* what does not fit there needs no map */
    TN_TRY(tn_map_make(step, options, arena, &made->map, error));
    TN_TRY(list_transfers(workload, made, error));
    TN_TRY(TN_NEW(arena, made->map.memories, &made->place, error));
    TN_TRY(tn_share_memo_make(made->map.memories, arena, &made->shares, error));
    made->next = workload->plans;
    workload->plans = made;
    *plan = made;
    if (!made->off_chip) return TN_OK;
    tn_map_options on_chip = *options;
    on_chip.off_chip_over_bytes = on_chip.tile_bytes = 0;
    TN_TRY(find_plan(workload, &on_chip, &made->on_chip, error));
    return TN_NEW(arena, made->map.memories, &made->staged_laid.memory, error);
}

static tn_status find_plan(tn_workload *workload, const tn_map_options *options, tn_plan **plan,
                           tn_error *error) {
    for (*plan = workload->plans; *plan; *plan = (*plan)->next)
        if ((*plan)->options.buffers == options->buffers &&
            (*plan)->options.off_chip_over_bytes == options->off_chip_over_bytes &&
            (*plan)->options.tile_bytes == options->tile_bytes)
            return TN_OK;
    return make_plan(workload, options, plan, error);
}

tn_status tn_workload_plan(tn_workload *workload, const tn_build *build, tn_plan **plan, tn_error *error) {
    const tn_external_memory none = {0}, *external = workload->device->external.count
                                                         ? workload->device->external.item
                                                         : &none;
    const tn_map_options options = {
        (tn_buffers)build->buffers, build->off_chip_over_bytes, external->burst_bytes,
        build->off_chip_over_bytes ? build->off_chip_tile_bytes : 0, external->access_bytes};
    return find_plan(workload, &options, plan, error);
}

tn_status tn_plan_tasks(tn_workload *workload, tn_plan *plan, tn_error *error) {
    const tn_step *step = workload->step;
    uint64_t resources = tn_tasks_resources(&plan->map);
    if (plan->task) return TN_OK;
    if (resources > UINT32_MAX / TN_SERVERS_MOST)
        return tn_fail(error, TN_LIMIT, "step %s has too many memories to schedule", step->name);
    TN_TRY(tn_waits_make(step, &plan->map, workload->arena, &plan->waits, error));
    TN_TRY(TN_NEW(workload->arena, resources, &plan->servers, error));
    TN_TRY(tn_schedule_scratch_make(step->operations, (uint32_t)resources, workload->arena, &plan->scratch,
                                    error));
    return TN_NEW(workload->arena, step->operations, &plan->task, error);
}

static bool is_ideal(const tn_build *build) {
    return build->layouts == TN_LAID_IDEALLY;
}

static tn_status make_laid(tn_workload *workload, tn_error *error) {
    if (workload->laid) return TN_OK;
    return tn_laid_step_make(workload->step, workload->laid_programs, workload->arena, &workload->laid,
                             error);
}

tn_status tn_workload_shares(tn_workload *workload, tn_known_shares **shares, tn_error *error) {
    if (!workload->laid_programs) TN_TRY(make_laid(workload, error));
    tn_laid_programs *programs = workload->laid_programs ? workload->laid_programs : workload->laid->programs;
    if (!programs->shares) TN_TRY(tn_known_shares_new(programs->layers.arena, &programs->shares, error));
    *shares = programs->shares;
    return TN_OK;
}

static tn_status make_layouts(tn_workload *workload, tn_plan *plan, tn_error *error) {
    if (plan->layouts) return TN_OK;
    TN_TRY(make_laid(workload, error));
    TN_TRY(tn_laid_map_make(workload->laid, &plan->map, workload->arena, &plan->layouts, error));
    return tn_operation_groups_find(workload, workload->laid->arrays, tn_laid_map_kinds(plan->layouts),
                                    workload->arena, &plan->groups, error);
}

tn_status tn_plan_lay(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_error *error) {
    plan->laid = NULL;
    if (is_ideal(build)) return TN_OK;
    if (plan->on_chip) {
        TN_TRY(tn_plan_lay(workload, plan->on_chip, build, error));
        TN_TRY(tn_staged_lay(workload->step, &plan->map, &plan->on_chip->map, plan->on_chip->laid,
                             &plan->staged_laid, error));
        plan->laid = &plan->staged_laid;
        return TN_OK;
    }
    TN_TRY(make_layouts(workload, plan, error));
    return tn_laid_find(plan->layouts, build, &plan->laid, error);
}

tn_status tn_plan_begin_lay(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_error *error) {
    if (is_ideal(build) || plan->on_chip) return tn_plan_lay(workload, plan, build, error);
    TN_TRY(make_layouts(workload, plan, error));
    return tn_laid_begin(plan->layouts, build, &plan->laid, error);
}

tn_status tn_plan_rows(tn_workload *workload, tn_plan *plan, const tn_build *build, uint32_t *number,
                       tn_error *error) {
    *number = 0;
    if (is_ideal(build) || build->layouts != TN_LAID_BOUND) return TN_OK;
    if (plan->on_chip) return tn_plan_rows(workload, plan->on_chip, build, number, error);
    TN_TRY(make_layouts(workload, plan, error));
    return tn_laid_rows(plan->layouts, build, number, error);
}

tn_resources tn_plan_controller(const tn_plan *plan, const tn_device *device) {
    const tn_external_memory *external = device->external.item;
    return plan->off_chip ? (tn_resources){.lut = external->lut, .ff = external->ff} : (tn_resources){0};
}

static tn_status search_places(tn_workload *workload, tn_plan *plan, const tn_build *build,
                               uint64_t kernel_lut, bool *exact, tn_error *error) {
    const tn_device *device = workload->device;
    const tn_resources has = tn_device_resources(device);
    uint64_t descriptors = workload->descriptor_bram18; /* which are in block RAM, whatever else is */
    kernel_lut += tn_plan_controller(plan, device).lut;
    const tn_placement_budget budget = {.bram18 = has.bram18 > descriptors ? has.bram18 - descriptors : 0,
                                        .uram = has.uram,
                                        .lut = has.lut > kernel_lut ? has.lut - kernel_lut : 0};
    tn_arena scratch = {0};
    tn_placement found;
    tn_status status =
        tn_placement_search(device, workload->word_bits, &plan->map, plan->laid ? plan->laid->memory : NULL,
                            build, &budget, 0, &scratch, &found, error);
    for (uint32_t i = 0; status == TN_OK && i < plan->map.memories; i++) plan->place[i] = found.place[i];
    if (status == TN_OK && exact) *exact = found.exact && found.fits;
    tn_arena_free(&scratch);
    return status;
}

tn_status tn_plan_places(tn_workload *workload, tn_plan *plan, const tn_build *build, uint64_t kernel_lut,
                         bool *exact, tn_error *error) {
    if (exact) *exact = false;
    if (build->placement == TN_PLACE_SEARCHED)
        return search_places(workload, plan, build, kernel_lut, exact, error);
    for (uint32_t i = 0; i < plan->map.memories; i++)
        plan->place[i] = tn_place_as_built(&plan->map.memory[i], build);
    return TN_OK;
}
