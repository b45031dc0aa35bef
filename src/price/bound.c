#include "price/bound.h"

#include "base/checked.h"
#include "memory/place_floor.h"
#include "price/operating_point.h"
#include "price/price_parts.h"
#include "price/recall.h"
#include "price/workload_data.h"

#include <math.h>
#include <stddef.h>

/* Blocks that are chosen by cost (geometry yosys) may be fewer of a deeper memory; of operations that overlap in pieces, or
 * while they wait for external memory or are refreshed, nothing is proved. */
static bool has_bound(const tn_device *device, const tn_build *build, const tn_build_mask *bounded) {
    const bool overlaps = build->schedule != TN_SCHEDULE_SEQUENTIAL,
               plain = build->schedule != TN_SCHEDULE_PIPELINED && build->off_chip_over_bytes == 0;
    return tn_build_is_bounded(build, bounded) && (!overlaps || plain) &&
           device->memory.geometry == TN_GEOMETRY_HLS;
}

bool tn_price_has_bound(const tn_device *device, const tn_build *build) {
    const tn_build_mask bounded = tn_build_mask_bounded();
    return has_bound(device, build, &bounded);
}

/* Sums in another order differ by less of each other. */
static const double ROUNDING = 1e-12;

/* What of a bound is asked for. */
typedef struct {
    tn_closeness closeness;
    uint64_t enough_cycles;
    bool memories;
} asked;

/* The layouts that products are priced with, or vector kernels. */
static tn_laying laying_of(tn_closeness closeness, const tn_build *build, bool products) {
    const bool in_turn =
        build->schedule == TN_SCHEDULE_SEQUENTIAL; /* else the work waits for memories' ports */
    if (closeness == TN_BY_PARALLELISM || (closeness == TN_BY_PRODUCTS && !products && in_turn))
        return TN_LAID_BOUND;
    return closeness == TN_BY_WORK && in_turn ? TN_LAID_AS_FOUND : TN_LAID_CLOSELY;
}

/* ---- work ---- */

/* The build with one operation after the other, and the vector units that it has. */
static tn_build in_turn(const tn_build *build) {
    tn_build turn = *build;
    turn.vector_units = tn_build_shares_vectors(build) ? TN_UNITS_SHARED : TN_UNITS_OWN;
    turn.schedule = TN_SCHEDULE_SEQUENTIAL;
    return turn;
}

/* However operations overlap, kernels of a kind take what is done in turn among themselves, and what waits for something
 * begins after it. */
static uint64_t least_overlapped(const tn_workload *workload, const tn_build *build,
                                 const tn_work_price *turn) {
    const uint64_t units = tn_workload_vector_units(workload, build);
    uint64_t most = turn->chain_cycles;
    for (uint32_t i = 0; i < workload->arithmetics; i++)
        most = tn_greatest(most, turn->product_cycles[i] / tn_workload_matmuls(workload, build, i));
    return units ? tn_greatest(most, turn->vector_cycles / units) : most;
}

/* Of the set's builds, whose operations overlap or not alike. *has: there is a bound, as what does not split is found of one
 * build alone. */
static tn_status bound_work(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                            tn_laying of_vectors, uint64_t enough, tn_work_price *work, bool *has,
                            tn_error *error) {
    const bool overlaps = set->build.schedule != TN_SCHEDULE_SEQUENTIAL;
    tn_build_set turn = *set;
    const tn_work_price *whole;
    if (overlaps) turn.build = in_turn(&set->build);
    if (tn_work_splits(workload, plan, &turn.build) && !(overlaps && set->build.layouts == TN_LAID_CLOSELY)) {
        TN_TRY(tn_recall_least_work(workload, plan, &turn, of_vectors, overlaps ? UINT64_MAX : enough, work,
                                    error));
    } else {
        const tn_build_level last = tn_build_searches_layouts(&turn.build) ? TN_LEVEL_BANK : TN_LEVEL_ROW;
        *has = tn_build_set_free_axis(set, TN_LEVEL_KERNEL, last) == set->axes &&
               tn_build_set_free_axis(set, TN_LEVEL_LANE, TN_LEVEL_LANE) == set->axes;
        if (!*has) return TN_OK;
        TN_TRY(tn_recall_whole_work(workload, plan, &turn.build, &whole, error));
        *work = *whole;
    }
    if (overlaps) work->cycles_per_step = least_overlapped(workload, &set->build, work);
    return TN_OK;
}

/* ---- memories ---- */

/* What kernels take, and the build that routing to them is counted for. */
typedef struct {
    const tn_build *build;
    tn_resources used;
} kernels_price;

/* The least at several places, of those that leave the kernels their LUTs. */
static tn_status bound_places(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                              const kernels_price *kernels, tn_memory_price *memories, tn_error *error) {
    const tn_place_least *least;
    TN_TRY(tn_recall_least_memories(workload, plan, set, kernels->build, &least, error));
    uint64_t lanes = 0;
    if (plan->map.memories) TN_TRY(tn_recall_lanes_lut(workload, kernels->build, &lanes, error));
    const uint64_t taken = tn_least(kernels->used.lut + lanes, workload->within.lut),
                   lut = workload->within.lut - taken, capacity_bits = tn_place_least_capacity(least, lut);
    const bool fits = capacity_bits != UINT64_MAX;
    *memories =
        (tn_memory_price){.bram18 = least->bram18,
                          .uram = least->uram,
                          .lutram = least->lutram,
                          .selection_lut = lanes + (fits ? least->routing_lut : least->lut - least->lutram),
                          .block_bits = tn_greatest(least->capacity_bits, fits ? capacity_bits : 0)};
    return TN_OK;
}

/* Amounts alone: ports and what is stored are of one build. */
static void lower_memories(tn_memory_price *least, const tn_memory_price *other) {
    *least = (tn_memory_price){.bram18 = tn_least(least->bram18, other->bram18),
                               .uram = tn_least(least->uram, other->uram),
                               .lutram = tn_least(least->lutram, other->lutram),
                               .selection_lut = tn_least(least->selection_lut, other->selection_lut),
                               .block_bits = tn_least(least->block_bits, other->block_bits)};
}

static tn_status bound_memories(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                                const kernels_price *kernels, tn_memory_price *memories, tn_error *error) {
    enum { CORES = 1 << TN_STORE_CORES, ACTIVATIONS = 1 << TN_STORE_ACTIVATIONS };
    const uint32_t row = tn_build_set_free_axis(set, TN_LEVEL_ROW, TN_LEVEL_ROW);
    *memories = (tn_memory_price){0};
    if (tn_build_set_free_axis(set, TN_LEVEL_KERNEL, TN_LEVEL_KERNEL) < set->axes) return TN_OK;
    if (row < set->axes)
        *memories = (tn_memory_price){.bram18 = UINT64_MAX,
                                      .uram = UINT64_MAX,
                                      .lutram = UINT64_MAX,
                                      .selection_lut = UINT64_MAX,
                                      .block_bits = UINT64_MAX};
    for (size_t v = 0; row < set->axes && v < set->axis[row].count; v++) {
        const tn_build_set fixed = tn_build_set_fixed(set, row, v);
        tn_memory_price one;
        TN_TRY(bound_memories(workload, plan, &fixed, kernels, &one, error));
        lower_memories(memories, &one);
    }
    if (row < set->axes) return TN_OK;
    if (set->build.placement == TN_PLACE_SEARCHED ||
        tn_build_set_free_axis(set, TN_LEVEL_BANK, TN_LEVEL_PLACE) < set->axes)
        return bound_places(workload, plan, set, kernels, memories, error);
    TN_TRY(tn_recall_memories(workload, plan, &set->build, CORES, NULL, memories, error));
    return tn_recall_memories(workload, plan, &set->build, ACTIVATIONS, NULL, memories, error);
}

/* ---- the bound ---- */

static void lower_price(tn_price *least, const tn_price *other) {
    const double dynamic = fmin(least->joules_per_step - least->static_joules_per_step,
                                other->joules_per_step - other->static_joules_per_step);
    least->cycles_per_step = tn_least(least->cycles_per_step, other->cycles_per_step);
    least->seconds_per_step = fmin(least->seconds_per_step, other->seconds_per_step);
    least->watts = fmin(least->watts, other->watts);
    least->static_joules_per_step = fmin(least->static_joules_per_step, other->static_joules_per_step);
    least->joules_per_step = least->static_joules_per_step + dynamic; /* no more than either's */
    while (least->joules_per_step - least->static_joules_per_step > dynamic)
        least->joules_per_step = nextafter(least->joules_per_step, 0);
    tn_resources_lower(&least->used, &other->used);
    least->on_chip_bytes = tn_least(least->on_chip_bytes, other->on_chip_bytes);
    least->off_chip_bytes = tn_least(least->off_chip_bytes, other->off_chip_bytes);
    least->off_chip_bytes_per_step = tn_least(least->off_chip_bytes_per_step, other->off_chip_bytes_per_step);
    least->misfits &= other->misfits;
}

/* The power of a step that does nothing: kernels idle, and no word moves. With a deadline it is not told. */
static double resting_watts(const tn_workload *workload, const tn_activity *activity, double seconds) {
    const tn_device_energy *energy = &workload->device->energy;
    const bool works_for_less = energy->toggle.value < energy->idle_toggle.value;
    tn_activity rest = *activity;
    double joules[TN_ENERGY_PARTS];
    if (workload->step->deadline_us > 0 || seconds <= 0) return 0;
    rest.idle_pF = works_for_less ? 0 : activity->idle_pF + activity->busy_pF;
    rest.busy_pF = 0;
    tn_energy_of(workload->device, &rest, joules);
    const double all = joules[TN_ENERGY_STATIC] + joules[TN_ENERGY_KERNELS] + joules[TN_ENERGY_CLOCK] +
                       joules[TN_ENERGY_MEMORY_BLOCKS];
    return all / seconds * (1 - ROUNDING);
}

/* Whether all builds of the set take those cycles: they were laid one operation after the other, and no key is free that they follow
 * from. */
static bool is_exact(const tn_workload *workload, const tn_plan *plan, const tn_build_set *set,
                     const asked *of, uint64_t cycles) {
    return of->closeness == TN_BY_WORK && cycles < of->enough_cycles &&
           tn_work_splits(workload, plan, &set->build) &&
           tn_build_set_free_axis(set, TN_LEVEL_RUN, TN_LEVEL_LANE) == set->axes;
}

/* Of builds that run the same step, on the same map, side by side alike. */
static tn_status bound_alike(tn_workload *workload, const tn_build_set *set, tn_laying of_vectors,
                             const asked *of, tn_price *price, bool *has, tn_error *error) {
    const tn_build least = tn_build_set_least(set);
    tn_build_set memories_set = *set;
    tn_work_price work;
    tn_memory_price memories = {0};
    tn_plan *plan;
    TN_TRY(tn_workload_built(workload, &set->build, &workload, error));
    TN_TRY(tn_recall_begin(workload, error));
    TN_TRY(tn_workload_plan(workload, &set->build, &plan, error));
    TN_TRY(bound_work(workload, plan, set, of_vectors, of->enough_cycles, &work, has, error));
    if (!*has) return TN_OK;
    memories_set.build.layouts = TN_LAID_BOUND;
    const kernels_price kernels = {&least, tn_workload_kernels(workload, &least, &work)};
    const bool fits = tn_resources_misfits(&kernels.used, &workload->within) == 0; /* else no memories help */
    if (of->memories && (fits || set->free == 0))
        TN_TRY(bound_memories(workload, plan, &memories_set, &kernels, &memories, error));
    tn_activity activity;
    tn_price_sum(workload, plan, &least, &work, &memories, price, &activity);
    price->watts = is_exact(workload, plan, set, of, work.cycles_per_step)
                       ? price->watts * (1 - ROUNDING)
                       : resting_watts(workload, &activity, price->seconds_per_step);
    return TN_OK;
}

/* Values of free keys that decide what is done, one after the other. */
static tn_status bound_each(tn_workload *workload, const tn_build_set *set, const asked *of, tn_price *price,
                            bool *has, tn_error *error) {
    uint32_t axis = tn_build_set_free_axis(set, TN_LEVEL_RUN, TN_LEVEL_RUN);
    if (axis == set->axes) axis = tn_build_set_free_axis(set, TN_LEVEL_STEP, TN_LEVEL_STEP);
    if (axis == set->axes) {
        tn_build_set effective = *set;
        *has = has_bound(workload->device, &set->build, &workload->bounded) &&
               (set->build.schedule == TN_SCHEDULE_SEQUENTIAL || workload->retention_us <= 0);
        if (!*has) return TN_OK;
        effective.build = tn_build_set_effective(set);
        effective.build.layouts = laying_of(of->closeness, &set->build, true);
        return bound_alike(workload, &effective, laying_of(of->closeness, &set->build, false), of, price, has,
                           error);
    }
    *has = true;
    for (size_t v = 0; *has && v < set->axis[axis].count; v++) {
        const tn_build_set fixed = tn_build_set_fixed(set, axis, v);
        tn_price one;
        TN_TRY(bound_each(workload, &fixed, of, &one, has, error));
        if (v == 0)
            *price = one;
        else if (*has)
            lower_price(price, &one);
    }
    return TN_OK;
}

static tn_status price_set(tn_workload *workload, const tn_build_set *set, const asked *of, tn_price *price,
                           bool *has, tn_error *error) {
    for (uint32_t i = 0; i < set->axes; i++)
        if (set->free >> i & 1 && tn_build_key_of(set->axis[i].key)->bounded_as) {
            *has = false; /* some of its builds may have none */
            return TN_OK;
        }
    return bound_each(workload, set, of, price, has, error);
}

tn_status tn_price_set_bound(tn_workload *workload, const tn_build_set *set, tn_closeness closeness,
                             uint64_t enough_cycles, tn_price *price, bool *has, tn_error *error) {
    return price_set(workload, set, &(asked){closeness, enough_cycles, true}, price, has, error);
}

tn_status tn_price_set_work(tn_workload *workload, const tn_build_set *set, tn_price *price, bool *has,
                            tn_error *error) {
    return price_set(workload, set, &(asked){TN_BY_WORK, UINT64_MAX, false}, price, has, error);
}

static tn_status price_bound(tn_workload *workload, const tn_build *build, tn_closeness closeness,
                             tn_price *price, bool *exact, tn_error *error) {
    const tn_build_set one = {.build = *build};
    bool has;
    TN_TRY(tn_build_check_together(build, error));
    TN_TRY(tn_price_set_bound(workload, &one, closeness, UINT64_MAX, price, &has, error));
    *exact = !has;
    return has ? TN_OK : tn_price_step(workload, build, price, error);
}

tn_status tn_price_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                         tn_error *error) {
    return price_bound(workload, build, TN_BY_PARALLELISM, price, exact, error);
}

tn_status tn_price_close_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                               tn_error *error) {
    return price_bound(workload, build, TN_BY_WORDS, price, exact, error);
}

/* ---- products whatever the kernels ---- */

uint64_t tn_price_set_least_cycles(const tn_workload *workload, const tn_build_set *set) {
    tn_build greatest = tn_build_set_greatest(set);
    const double lanes = (double)greatest.rows * (double)greatest.columns * (double)greatest.reduction;
    double macs[TN_ARITHMETICS_MOST] = {0}, most = 0;
    greatest.sharing = TN_PER_PHASE;
    for (uint32_t i = 0; i < workload->works; i++) {
        const tn_work *work = &workload->work[i];
        if (work->product) macs[work->arithmetic] += (double)work->count * tn_work_macs(work);
    }
    for (uint32_t a = 0; a < workload->arithmetics; a++)
        most = fmax(most, macs[a] / lanes / (double)tn_workload_matmuls(workload, &greatest, a));
    return most < 0x1p63 ? (uint64_t)(most * (1 - ROUNDING)) : 0;
}

void tn_price_least_time(const tn_workload *workload, uint64_t cycles, tn_price *price) {
    const tn_device *device = workload->device;
    const tn_work_price work = {.cycles_per_step = cycles};
    double joules[TN_ENERGY_PARTS];
    if (workload->step->deadline_us > 0) return;
    price->cycles_per_step = cycles;
    price->seconds_per_step = tn_operating_point_of(workload->step, device, &work).seconds;
    tn_energy_of(device, &(tn_activity){.seconds = price->seconds_per_step}, joules);
    price->static_joules_per_step = price->joules_per_step = joules[TN_ENERGY_STATIC];
}

/* ---- memories whatever the kernels ---- */

/* Whether no build of the set has another value of the key. */
static bool all_have(const tn_build_set *set, size_t offset, uint64_t own, uint64_t wanted) {
    size_t count;
    const uint64_t *value = tn_build_set_values(set, offset, &own, &count);
    for (size_t i = 0; i < count; i++)
        if (value[i] != wanted) return false;
    return true;
}

static bool has_floor(const tn_workload *workload, const tn_build_set *set) {
    const tn_build *build = &set->build;
    return workload->device->memory.geometry == TN_GEOMETRY_HLS &&
           all_have(set, offsetof(tn_build, off_chip_over_bytes), build->off_chip_over_bytes, 0) &&
           all_have(set, offsetof(tn_build, layouts), build->layouts, TN_LAID_AS_FOUND);
}

/* Of what is kept in part a pool's map tells the whole size. */
static bool keeps_parts(const tn_step *step) {
    for (uint32_t i = 0; i < step->arrays; i++)
        if (step->array[i].stored > 0) return true;
    return false;
}

/* Of builds that run the same step on the same map. */
static tn_status find_lack(tn_workload *workload, const tn_build_set *set, const tn_resources *within,
                           tn_resource *lacks, tn_error *error) {
    static const tn_resource resource_of[] = {[TN_STYLE_AUTO] = TN_RESOURCES,
                                              [TN_STYLE_BLOCK] = TN_BRAM18,
                                              [TN_STYLE_ULTRA] = TN_URAM,
                                              [TN_STYLE_DISTRIBUTED] = TN_LUT};
    tn_build least = tn_build_set_least(set), greatest = tn_build_set_greatest(set);
    size_t groups;
    const uint64_t *group = tn_build_set_values(set, offsetof(tn_build, group), &set->build.group, &groups);
    if (!all_have(set, offsetof(tn_build, array), set->build.array, set->build.array)) {
        least.array = TN_ARRAY_SYSTOLIC; /* whose rows are no longer than those of lanes */
        greatest.array = TN_ARRAY_LANES;
    }
    tn_memory_style lacking = TN_STYLE_AUTO;
    tn_arena scratch = {0};
    tn_known_shares *shares;
    tn_plan *plan;
    *lacks = TN_RESOURCES;
    TN_TRY(tn_workload_built(workload, &set->build, &workload, error));
    if (keeps_parts(workload->step)) return TN_OK;
    TN_TRY(tn_workload_plan(workload, &set->build, &plan, error));
    TN_TRY(tn_workload_shares(workload, &shares, error));
    const tn_placement_budget budget = {
        within->bram18 - tn_least(workload->descriptor_bram18, within->bram18), within->uram, within->lut};
    const tn_status status =
        tn_place_floor_find(workload->device, shares, workload->word_bits, &plan->map, &least, &greatest,
                            groups, group, &budget, &scratch, &lacking, error);
    tn_arena_free(&scratch);
    *lacks = resource_of[lacking];
    return status;
}

static tn_status find_each_lack(tn_workload *workload, const tn_build_set *set, const tn_resources *within,
                                tn_resource *lacks, tn_error *error) {
    const uint32_t axis = tn_build_set_free_axis(set, TN_LEVEL_STEP, TN_LEVEL_STEP);
    if (axis == set->axes) return find_lack(workload, set, within, lacks, error);
    for (size_t v = 0; v < set->axis[axis].count; v++) {
        const tn_build_set fixed = tn_build_set_fixed(set, axis, v);
        TN_TRY(find_each_lack(workload, &fixed, within, lacks, error));
        if (*lacks == TN_RESOURCES) return TN_OK;
    }
    return TN_OK;
}

tn_status tn_price_set_lack(tn_workload *workload, const tn_build_set *set, const tn_resources *within,
                            tn_resource *lacks, tn_error *error) {
    *lacks = TN_RESOURCES;
    return has_floor(workload, set) ? find_each_lack(workload, set, within, lacks, error) : TN_OK;
}
