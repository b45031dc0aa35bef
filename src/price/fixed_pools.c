#include "price/fixed_pools.h"

#include "base/checked.h"
#include "device/block.h"
#include "layout/layout_problem.h"

#include <math.h>

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    const tn_part_survey *survey;
    const tn_workload *workload;
    const tn_plan *plan;
    const tn_build *build;
    /* Rows by memory of the map: the logarithm of their elements, or the least that it may be where they may be wider. */
    uint8_t *log;
    bool *may_be_wider;
} pricer;

bool tn_is_of_fixed_pool(const tn_part_survey *survey, const tn_workload *workload, const tn_build *build,
                         uint32_t array) {
    const tn_array *this_array = &workload->step->array[array];
    return build->buffers == TN_BUFFERS_POOLED && tn_build_lays_rows(build) &&
           tn_build_places_cores(workload, build) && !this_array->is_core &&
           !tn_role_is_activation(this_array->role) && !survey->differs[this_array->role];
}

static bool is_fixed(const pricer *state, uint32_t array) {
    return tn_is_of_fixed_pool(state->survey, state->workload, state->build, array);
}

/* What the update goes through gets the rows of the widest of it; true if anything changed. */
static bool even_out(const pricer *state, const tn_operation *update) {
    const uint32_t *memory_of = state->plan->map.memory_of;
    bool wider = false, changed = false;
    uint8_t most = 0;
    for (uint32_t j = 0; j < update->read_count; j++) {
        const uint32_t m = memory_of[update->reads[j]];
        if (m == NONE) continue;
        wider |= state->may_be_wider[m] || !is_fixed(state, update->reads[j]);
        if (is_fixed(state, update->reads[j])) most = (uint8_t)tn_greatest(most, state->log[m]);
    }
    for (uint32_t j = 0; j < update->read_count; j++) {
        const uint32_t m = memory_of[update->reads[j]];
        if (m == NONE || !is_fixed(state, update->reads[j])) continue;
        changed |= state->log[m] < most || state->may_be_wider[m] != wider;
        state->log[m] = most;
        state->may_be_wider[m] = wider;
    }
    return changed;
}

/* A copy of a part may go through other rows; with arrays off chip all lie as if none were, in other pools. */
static void find_rows(pricer *state) {
    const tn_map *map = &state->plan->map;
    const tn_step *step = state->workload->step;
    bool wider = state->plan->off_chip, changed = true;
    for (uint32_t i = 0; i < step->operations; i++) wider |= step->operation[i].partial != NULL;
    for (uint32_t m = 0; m < map->memories; m++) {
        state->log[m] = (uint8_t)tn_log_above(tn_mapped_row(&map->memory[m], state->build));
        state->may_be_wider[m] = wider;
    }
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < step->operations; i++)
            if (tn_operation_is_update(&step->operation[i])) changed |= even_out(state, &step->operation[i]);
    }
}

static tn_status price_memory(const pricer *state, uint32_t m, double *least, tn_error *error) {
    const tn_mapped *memory = &state->plan->map.memory[m];
    const tn_place place = tn_place_as_built(memory, state->build);
    const uint32_t own = state->log[m],
                   most = state->may_be_wider[m] ? (uint32_t)tn_greatest(own, tn_widest_row_log(state->build))
                                                 : own;
    *least = INFINITY;
    for (uint32_t log = own; log <= most; log++) {
        const uint64_t elements = UINT64_C(1) << log, banks = tn_row_banks(state->build, log),
                       depth = tn_mapped_rows(memory, elements);
        const tn_row row = {elements, banks, depth, banks, depth, 1};
        tn_memory_share share;
        TN_TRY(tn_price_share(state->workload->device, state->workload->word_bits, memory, &row, state->build,
                              &place, &share, error));
        *least = fmin(*least, (double)share.bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS +
                                  (double)share.uram * TN_MEMORY_CAPACITY_URAM_BITS);
    }
    return TN_OK;
}

static tn_status price_all(pricer *state, tn_arena *scratch, double *bits, tn_error *error) {
    const tn_map *map = &state->plan->map;
    bool *done;
    TN_TRY(TN_NEW(scratch, map->memories, &done, error));
    TN_TRY(TN_NEW(scratch, map->memories, &state->log, error));
    TN_TRY(TN_NEW(scratch, map->memories, &state->may_be_wider, error));
    find_rows(state);
    for (uint32_t a = 0; a < state->workload->step->arrays; a++) {
        const uint32_t m = map->memory_of[a];
        double its;
        if (m == NONE || done[m] || !is_fixed(state, a)) continue;
        done[m] = true;
        TN_TRY(price_memory(state, m, &its, error));
        *bits += its;
    }
    return TN_OK;
}

tn_status tn_fixed_pools_price(const tn_part_survey *survey, const tn_workload *workload, const tn_plan *plan,
                               const tn_build *build, double *bits, tn_error *error) {
    pricer state = {.survey = survey, .workload = workload, .plan = plan, .build = build};
    tn_arena scratch = {0};
    *bits = 0;
    tn_status status = price_all(&state, &scratch, bits, error);
    tn_arena_free(&scratch);
    return status;
}
