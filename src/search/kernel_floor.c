#include "search/kernel_floor.h"

#include "price/workload_data.h"

/* The place of the model keys among the floors; their count where they are in none. */
static size_t place_of(const tn_kernel_floors *floors, uint64_t keys) {
    size_t place = 0;
    while (place < floors->count && floors->keys[place] != keys) place++;
    return place;
}

uint32_t tn_kernel_floor_recall(const tn_kernel_floors *floors, const tn_evaluator *evaluator,
                                uint64_t outer) {
    size_t digit[TN_AXES_MOST];
    tn_outer_digits(evaluator->whole, outer, digit);
    const size_t place = place_of(floors, tn_outer_keys(evaluator->whole, digit));
    return place < floors->count ? floors->cause[place] : TN_CAUSE_NONE;
}

/* The choices of a build that say how large a kernel is: its edges. */
static size_t list_edges(const tn_space *space, size_t edge[TN_AXES_MOST]) {
    size_t edges = 0;
    for (size_t i = 0; i < space->inners; i++)
        if (tn_build_key_of(space->choices.axis[space->inner[i]].field)->bears_on & TN_BEARS_PRODUCTS)
            edge[edges++] = space->inner[i];
    return edges;
}

/* Over all builds; *known: they are all of lanes. */
static tn_resources least_kernel(tn_evaluator *evaluator, bool *known) {
    const tn_space *space = evaluator->space;
    const tn_workload *workload = evaluator->workload;
    tn_resources least = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0};
    size_t edge[TN_AXES_MOST], edges = list_edges(space, edge);
    uint64_t sizes = 1;
    *known = workload->arithmetics > 0;
    for (size_t i = 0; i < edges; i++) sizes *= space->choices.axis[edge[i]].count;
    for (uint64_t size = 0; size < sizes && *known; size++) {
        uint32_t digit[TN_AXES_MOST] = {0};
        tn_digits_of(&space->choices, edge, edges, size, digit);
        tn_evaluator_take_build(evaluator,
                                tn_digits_number(&space->choices, space->inner, space->inners, digit));
        *known = evaluator->build.array == TN_ARRAY_LANES;
        for (uint32_t a = 0; a < workload->arithmetics && *known; a++) {
            const tn_matmul kernel = tn_workload_matmul(workload, &evaluator->build, a);
            const tn_resources used = tn_matmul_resources(workload->device, &kernel);
            tn_resources_lower(&least, &used);
        }
    }
    return least;
}

uint32_t tn_kernel_floor_find(tn_kernel_floors *floors, tn_evaluator *evaluator) {
    const uint64_t keys = tn_outer_keys(evaluator->whole, evaluator->digit);
    const size_t place = place_of(floors, keys);
    bool known;
    if (place < floors->count) return floors->cause[place];
    if (floors->count == TN_KERNEL_FLOORS) return TN_CAUSE_NONE;
    const tn_resources least = least_kernel(evaluator, &known);
    floors->keys[place] = keys;
    floors->cause[place] =
        known ? (uint32_t)tn_worst_resource(&least, &evaluator->space->budget) : TN_CAUSE_NONE;
    floors->count++;
    return floors->cause[place];
}
