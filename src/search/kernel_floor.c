#include "search/kernel_floor.h"

#include "price/work.h"
#include "price/workload_data.h"

#include <string.h>

uint32_t tn_kernel_floor_recall(const tn_kernel_floors *floors, const tn_evaluator *evaluator,
                                uint64_t outer) {
    size_t digit[TN_AXES_MOST];
    tn_outer_digits(evaluator->whole, outer, digit);
    const uint64_t keys = tn_outer_keys(evaluator->whole, digit);
    for (size_t i = 0; i < floors->count; i++)
        if (floors->floor[i].keys == keys) return floors->floor[i].matmul_cause;
    return TN_CAUSE_NONE;
}

/* ---- kernels of all builds ---- */

/* False: nothing is known of kernels of such a build. */
typedef bool lower_kernels(const tn_evaluator *evaluator, tn_resources *least);

/* Over all values of the keys of builds that bear on the kernels. */
static bool lower_all(tn_evaluator *evaluator, unsigned bearing, lower_kernels *lower, tn_resources *least) {
    const tn_space *space = evaluator->space;
    size_t axis[TN_AXES_MOST], axes = 0;
    uint64_t builds = 1;
    bool known = true;
    for (size_t i = 0; i < space->inners; i++)
        if (tn_build_key_of(space->choices.axis[space->inner[i]].field)->bears_on & bearing)
            axis[axes++] = space->inner[i];
    for (size_t i = 0; i < axes; i++) builds *= space->choices.axis[axis[i]].count;
    *least = (tn_resources){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (uint64_t build = 0; build < builds && known; build++) {
        uint32_t digit[TN_AXES_MOST] = {0};
        tn_digits_of(&space->choices, axis, axes, build, digit);
        tn_evaluator_take_build(evaluator,
                                tn_digits_number(&space->choices, space->inner, space->inners, digit));
        known = lower(evaluator, least);
    }
    return known;
}

static bool lower_matmuls(const tn_evaluator *evaluator, tn_resources *least) {
    const tn_workload *workload = evaluator->workload;
    for (uint32_t a = 0; a < workload->arithmetics; a++) {
        const tn_matmul kernel = tn_workload_matmul(workload, &evaluator->build, a);
        const tn_resources used = tn_matmul_resources(workload->device, &kernel);
        tn_resources_lower(least, &used);
    }
    return evaluator->build.array == TN_ARRAY_LANES && workload->arithmetics > 0;
}

/* Where the schedule says which units there are, it may say either. */
static bool lower_vectors(const tn_evaluator *evaluator, tn_resources *least) {
    const uint32_t asked = evaluator->build.vector_units;
    bool kept[TN_OPERATION_KINDS];
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++)
        kept[kind] = evaluator->workload->vector_used[kind] && !tn_operation_rows[kind].may_fuse;
    for (uint32_t units = TN_UNITS_OWN; units <= TN_UNITS_SHARED; units++) {
        tn_build build = evaluator->build;
        build.vector_units = units;
        if (asked != TN_UNITS_AUTO && asked != units) continue;
        const tn_resources used = tn_workload_vector_kernels(evaluator->workload, &build, kept);
        tn_resources_lower(least, &used);
    }
    return true;
}

static void find_floor(tn_evaluator *evaluator, tn_kernel_floor *floor) {
    tn_resources vectors;
    floor->cause = floor->matmul_cause = TN_CAUSE_NONE;
    if (!lower_all(evaluator, TN_BEARS_PRODUCTS, lower_matmuls, &floor->least)) {
        floor->least = (tn_resources){0};
        return;
    }
    floor->matmul_cause = tn_evaluator_refuses(evaluator, &floor->least, 0);
    lower_all(evaluator, TN_BEARS_VECTORS, lower_vectors, &vectors);
    tn_resources_add(&floor->least, &vectors, 1);
    floor->cause = tn_evaluator_refuses(evaluator, &floor->least, 0);
}

const tn_kernel_floor *tn_kernel_floor_find(tn_kernel_floors *floors, tn_evaluator *evaluator) {
    const uint64_t keys = tn_outer_keys(evaluator->whole, evaluator->digit);
    const bool *used = evaluator->workload->vector_used;
    tn_kernel_floor *floor = floors->floor;
    for (; floor < floors->floor + floors->count; floor++)
        if (floor->keys == keys && memcmp(floor->vector_used, used, sizeof floor->vector_used) == 0)
            return floor;
    if (floors->count == TN_KERNEL_FLOORS) return NULL;
    floors->count++;
    floor->keys = keys;
    memcpy(floor->vector_used, used, sizeof floor->vector_used);
    find_floor(evaluator, floor);
    return floor;
}
