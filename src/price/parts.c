#include "price/parts.h"

#include "base/checked.h"
#include "device/block.h"
#include "price/parting.h"
#include "price/price.h"
#include "price/work.h"

#include <math.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX, SHARED = TN_OWNER_SHARED;

tn_status tn_parting_refuses(const tn_build *build, tn_arena *arena, const char **why, tn_error *error) {
    const char *all = "";
    const tn_field *refused = NULL;
    *why = NULL;
    for (size_t i = tn_build_schema.count; i-- > 0;) {
        const tn_field *key = &tn_build_schema.field[i];
        const uint32_t only = tn_build_key_of(key)->splits_as;
        if (only && tn_build_value(build, key) + 1 != only) refused = key;
    }
    if (!refused) return TN_OK;
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *key = &tn_build_schema.field[i];
        const uint32_t only = tn_build_key_of(key)->splits_as;
        if (only)
            TN_TRY(tn_arena_format(arena, &all, error, "%s%sbuild.%s=%s", all, *all ? ", " : "", key->key,
                                   key->choices[only - 1]));
    }
    return tn_arena_format(arena, why, error, "build.%s is not %s; prices split with set: [%s]", refused->key,
                           refused->choices[tn_build_key_of(refused)->splits_as - 1], all);
}

/* ---- uses ---- */

static uint32_t cut(uint32_t extent, uint64_t parallel) {
    return extent < parallel ? extent : (uint32_t)parallel;
}

/* Adds a use, its extents cut to what the build's parallelism can tell apart (NULL: as it is). False: no room. */
static bool add_use(tn_demand *demand, const tn_build *build, tn_use use) {
    if (build) {
        uint64_t edge[2];
        tn_side_edges(use.side, build, edge);
        use.extent[0] = cut(use.extent[0], edge[0]);
        use.extent[1] = cut(use.extent[1], edge[1]);
    }
    if (!tn_uses_add(demand->use, &demand->count, TN_USES_MOST, use)) return false;
    memset(&demand->use[demand->count], 0, (TN_USES_MOST - demand->count) * sizeof *demand->use);
    return true;
}

bool tn_demand_join(tn_demand *demand, const tn_build *build, const tn_demand *other) {
    bool fits = true;
    if (other->elements > demand->elements) demand->elements = other->elements;
    for (uint32_t i = 0; i < other->count; i++) fits = fits && add_use(demand, build, other->use[i]);
    return fits;
}

/* ---- who touches what ---- */

static void touch(const tn_parting *parting, uint32_t array, uint32_t unit) {
    uint32_t *owner = &parting->owner[array];
    if (*owner == NONE || *owner == parting->units)
        *owner = unit;
    else if (unit != parting->units && unit != *owner)
        *owner = SHARED;
}

typedef void visit(tn_parting *parting, uint32_t array, uint32_t unit, tn_use use, void *user);

static void each_use(tn_parting *parting, visit *call, void *user) {
    const tn_step *step = parting->workload->step;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        uint32_t unit = parting->unit_of_operation[i];
        for (uint32_t j = 0; j < operation->read_count; j++)
            call(parting, operation->reads[j], unit, tn_use_of(operation, j), user);
        for (uint32_t j = 0; j < operation->write_count; j++)
            call(parting, operation->writes[j], unit, tn_use_of(operation, TN_OPERATION_READS), user);
    }
}

static void find_owner(tn_parting *parting, uint32_t array, uint32_t unit, tn_use use, void *user) {
    (void)use;
    (void)user;
    touch(parting, array, unit);
}

static void collect(tn_parting *parting, uint32_t array, uint32_t unit, tn_use use, void *user) {
    const uint32_t *place = user;
    if (parting->owner[array] != SHARED) return;
    tn_demand *demand = &parting->demand[place[array] * (parting->units + 1) + unit];
    parting->fits &= add_use(demand, NULL, use);
}

static tn_status list_users(tn_parting *parting, uint32_t index, tn_arena *arena, tn_error *error) {
    uint32_t *unit;
    tn_common_memory *shared = &parting->shared[index];
    TN_TRY(TN_NEW(arena, parting->units, &unit, error));
    shared->unit = unit;
    for (uint32_t u = 0; u < parting->units; u++)
        if (parting->demand[index * (parting->units + 1) + u].count) unit[shared->users++] = u;
    return TN_OK;
}

static tn_status list_shared(tn_parting *parting, tn_arena *arena, tn_error *error) {
    const tn_step *step = parting->workload->step;
    uint32_t *place;
    TN_TRY(TN_NEW(arena, step->arrays, &place, error));
    for (uint32_t i = 0; i < step->arrays; i++) parting->shared_count += parting->owner[i] == SHARED;
    TN_TRY(TN_NEW(arena, parting->shared_count, &parting->shared, error));
    TN_TRY(TN_NEW(arena, (size_t)parting->shared_count * (parting->units + 1), &parting->demand, error));
    parting->fits = true;
    for (uint32_t i = 0, index = 0; i < step->arrays; i++) {
        const tn_array *array = &step->array[i];
        if (parting->owner[i] != SHARED) continue;
        parting->shared[index] = (tn_common_memory){.layer = array->layer,
                                                    .part = array->part,
                                                    .number = array->number,
                                                    .role = array->role,
                                                    .word_bits = tn_array_word_bits(step, i),
                                                    .elements = array->elements};
        for (uint32_t u = 0; u <= parting->units; u++)
            parting->demand[index * (parting->units + 1) + u].elements = array->elements;
        place[i] = index++;
    }
    each_use(parting, collect, place);
    for (uint32_t i = 0; i < parting->shared_count; i++) TN_TRY(list_users(parting, i, arena, error));
    return TN_OK;
}

tn_status tn_parting_make(tn_workload *workload, const uint32_t *unit_of, uint32_t units, tn_arena *arena,
                          tn_parting **parting, tn_error *error) {
    const tn_step *step = workload->step;
    tn_parting *made;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    *made = (tn_parting){.workload = workload, .units = units, .unit_of_layer = unit_of};
    TN_TRY(TN_NEW(arena, step->operations, &made->unit_of_operation, error));
    TN_TRY(TN_NEW(arena, step->arrays, &made->owner, error));
    for (uint32_t i = 0; i < step->operations; i++)
        made->unit_of_operation[i] = unit_of[step->operation[i].layer];
    for (uint32_t i = 0; i < step->arrays; i++) made->owner[i] = NONE;
    each_use(made, find_owner, NULL);
    TN_TRY(list_shared(made, arena, error));
    *parting = made;
    return TN_OK;
}

uint32_t tn_parting_shared(const tn_parting *parting, const tn_common_memory **shared) {
    *shared = parting->shared;
    return parting->shared_count;
}

bool tn_parting_demand(const tn_parting *parting, uint32_t shared, uint32_t unit, tn_demand *demand) {
    *demand = parting->demand[shared * (parting->units + 1) + unit];
    return parting->fits;
}

/* ---- memories ---- */

static void add_blocks(const tn_memory_share *share, double times, tn_price_part *part) {
    double bram18 = (double)share->bram18 * times, uram = (double)share->uram * times;
    part->bram18 += bram18;
    part->uram += uram;
    part->capacity_bits += bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS + uram * TN_MEMORY_CAPACITY_URAM_BITS;
}

/* The least that one core takes in a memory of 1 to `group` of them. */
static tn_status add_grouped(const tn_parting *parting, const tn_mapped *memory, const tn_build *build,
                             tn_price_part *part, tn_error *error) {
    const tn_workload *workload = parting->workload;
    tn_price_part least = {0};
    for (uint64_t k = 1; k <= build->group; k++) {
        tn_mapped full = *memory;
        tn_price_part own = {0};
        tn_memory_share share;
        tn_place place = tn_place_as_built(memory, build);
        full.copies = place.group = k;
        TN_TRY(
            tn_price_share(workload->device, workload->word_bits, &full, NULL, build, &place, &share, error));
        add_blocks(&share, 1 / (double)k, &own);
        least.bram18 = k == 1 ? own.bram18 : fmin(least.bram18, own.bram18);
        least.uram = k == 1 ? own.uram : fmin(least.uram, own.uram);
        least.capacity_bits = k == 1 ? own.capacity_bits : fmin(least.capacity_bits, own.capacity_bits);
    }
    part->bram18 += least.bram18;
    part->uram += least.uram;
    part->capacity_bits += least.capacity_bits;
    return TN_OK;
}

/* A memory of the map with all its copies holds one array in each. */
static tn_status one_copy(const tn_parting *parting, const tn_mapped *memory, const tn_build *build,
                          tn_price_part *each, tn_error *error) {
    const tn_workload *workload = parting->workload;
    tn_mapped one = *memory;
    tn_memory_share share;
    tn_place place = tn_place_as_built(memory, build);
    *each = (tn_price_part){0};
    if (memory->grouped && build->group > 1) return add_grouped(parting, memory, build, each, error);
    one.copies = 1;
    TN_TRY(tn_price_share(workload->device, workload->word_bits, &one, NULL, build, &place, &share, error));
    add_blocks(&share, 1, each);
    return TN_OK;
}

static tn_status price_memories(const tn_parting *parting, const tn_plan *plan, const tn_build *build,
                                tn_price_part *part, tn_price_part *common, tn_error *error) {
    const tn_step *step = parting->workload->step;
    tn_arena scratch = {0};
    tn_price_part *each;
    tn_status status = TN_NEW(&scratch, plan->map.memories, &each, error);
    for (uint32_t m = 0; status == TN_OK && m < plan->map.memories; m++)
        status = one_copy(parting, &plan->map.memory[m], build, &each[m], error);
    for (uint32_t i = 0; status == TN_OK && i < step->arrays; i++) {
        if (plan->map.memory_of[i] == UINT32_MAX) continue;
        uint32_t owner = parting->owner[i] == NONE ? parting->units : parting->owner[i];
        const tn_price_part *own = &each[plan->map.memory_of[i]];
        tn_price_part *target = owner == SHARED ? common : &part[owner];
        target->bram18 += own->bram18;
        target->uram += own->uram;
        target->capacity_bits += own->capacity_bits;
    }
    for (uint32_t m = 0; status == TN_OK && m < plan->map.memories; m++) {
        const tn_mapped *memory = &plan->map.memory[m];
        tn_memory_share share;
        tn_place place = tn_place_as_built(memory, build);
        if (!memory->staging) continue;
        status = tn_price_share(parting->workload->device, parting->workload->word_bits, memory, NULL, build,
                                &place, &share, error);
        if (status == TN_OK) add_blocks(&share, 1, common);
    }
    tn_arena_free(&scratch);
    return status;
}

bool tn_is_on_chip(const tn_build *build, const tn_common_memory *array) {
    return build->off_chip_over_bytes == 0 ||
           array->elements <= 8 * build->off_chip_over_bytes / array->word_bits;
}

tn_status tn_common_price(const tn_device *device, uint64_t word_bits, const tn_build *build,
                          const tn_common_memory *memory, const tn_demand *demand, tn_price_part *part,
                          tn_error *error) {
    bool activation = memory->staging || tn_role_is_activation(memory->role);
    const tn_extent extent = {demand->elements, 1};
    tn_mapped mapped = {.arrays = 1,
                        .store = activation ? TN_STORE_ACTIVATIONS : TN_STORE_CORES,
                        .staging = memory->staging,
                        .word_bits = memory->word_bits,
                        .copies = 1,
                        .uses = demand->count,
                        .use = demand->use,
                        .extents = 1,
                        .extent = &extent};
    tn_memory_share share;
    tn_place place = tn_place_as_built(&mapped, build);
    if (demand->elements == 0) return TN_OK;
    TN_TRY(tn_price_share(device, word_bits, &mapped, NULL, build, &place, &share, error));
    add_blocks(&share, 1, part);
    return TN_OK;
}

tn_status tn_parting_staging(tn_parting *parting, const tn_build *build, tn_demand *demand, bool *fits,
                             tn_error *error) {
    const tn_step *step = parting->workload->step;
    tn_plan *plan;
    *fits = true;
    memset(demand, 0, (size_t)TN_STAGINGS * (parting->units + 1) * sizeof *demand);
    TN_TRY(tn_workload_plan(parting->workload, build, &plan, error));
    for (uint32_t i = 0; i < plan->map.staged_count; i++) {
        const tn_staged *staged = &plan->map.staged[i];
        const uint32_t unit = parting->unit_of_operation[staged->operation];
        tn_demand *its = &demand[staged->position * (parting->units + 1) + unit];
        its->elements = tn_greatest(its->elements, staged->held);
        *fits = *fits && add_use(its, NULL, tn_use_of(&step->operation[staged->operation], staged->position));
    }
    return TN_OK;
}

tn_status tn_descriptor_price(const tn_device *device, uint64_t operations, tn_price_part *part,
                              tn_error *error) {
    tn_blocks blocks;
    TN_TRY(tn_descriptor_blocks(device, operations, &blocks, error));
    const tn_memory_share share = {.bram18 = blocks.bram18 + 2 * blocks.bram36};
    add_blocks(&share, 1, part);
    return TN_OK;
}

/* ---- the price ---- */

static tn_status check_sum(const tn_parting *parting, const tn_build *build, const tn_price_part *part,
                           const tn_price_part *common, tn_error *error) {
    tn_workload *workload = parting->workload;
    tn_price_part sum = *common;
    tn_price whole;
    TN_TRY(tn_descriptor_price(workload->device, workload->step->operations, &sum, error));
    TN_TRY(tn_price_step(workload, build, &whole, error));
    for (uint32_t u = 0; u <= parting->units; u++) {
        sum.cycles += part[u].cycles;
        sum.bram18 += part[u].bram18;
        sum.uram += part[u].uram;
        sum.off_chip_bytes += part[u].off_chip_bytes;
        sum.off_chip_bytes_per_step += part[u].off_chip_bytes_per_step;
    }
    bool grouped = build->group > 1;
    bool same = sum.cycles == (double)whole.cycles_per_step &&
                sum.off_chip_bytes == (double)whole.off_chip_bytes &&
                sum.off_chip_bytes_per_step == (double)whole.off_chip_bytes_per_step &&
                (grouped ? sum.bram18 <= (double)whole.used.bram18 * (1 + 1e-12) &&
                               sum.uram <= (double)whole.used.uram * (1 + 1e-12)
                         : sum.bram18 == (double)whole.used.bram18 && sum.uram == (double)whole.used.uram);
    if (same) return TN_OK;
    return tn_fail(error, TN_LIMIT,
                   "the parts of step %s sum to %.17g cycles, %.17g block RAMs and %.17g UltraRAMs; it takes "
                   "%.17g, %.17g and %.17g",
                   workload->step->name, sum.cycles, sum.bram18, sum.uram, (double)whole.cycles_per_step,
                   (double)whole.used.bram18, (double)whole.used.uram);
}

static void add_off_chip(const tn_parting *parting, const tn_plan *plan, tn_price_part *part,
                         tn_price_part *common) {
    const tn_step *step = parting->workload->step;
    if (!plan->off_chip) return;
    for (uint32_t i = 0; i < step->arrays; i++) {
        uint32_t owner = parting->owner[i] == NONE ? parting->units : parting->owner[i];
        if (!plan->map.off_chip[i]) continue;
        (owner == SHARED ? common : &part[owner])->off_chip_bytes +=
            (double)tn_ceil_div(step->array[i].elements * tn_array_word_bits(step, i), 8);
    }
    for (uint32_t i = 0; i < step->operations; i++)
        part[parting->unit_of_operation[i]].off_chip_bytes_per_step += (double)plan->transfer_bytes[i];
}

tn_status tn_parting_price(tn_parting *parting, const tn_build *build, tn_price_part *part, tn_error *error) {
    tn_workload *workload = parting->workload;
    const tn_step *step = workload->step;
    tn_price_part common = {0};
    tn_work_price work;
    tn_plan *plan;
    memset(part, 0, (parting->units + 1) * sizeof *part);
    TN_TRY(tn_workload_plan(workload, build, &plan, error));
    TN_TRY(tn_price_work(workload, plan, build, &work, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        tn_price_part *price_part = &part[parting->unit_of_operation[i]];
        price_part->cycles += (double)workload->cycles[plan->off_chip ? i : workload->work_of[i]];
        price_part->operations++;
    }
    add_off_chip(parting, plan, part, &common);
    TN_TRY(price_memories(parting, plan, build, part, &common, error));
    /* A shared array off chip is no part of any unit, and the same whatever they choose. */
    part[parting->units].off_chip_bytes += common.off_chip_bytes;
    common.off_chip_bytes = 0;
    return check_sum(parting, build, part, &common, error);
}

void tn_step_kind_of(const tn_workload *workload, tn_step_kind *kind) {
    memset(kind, 0, sizeof *kind);
    kind->arithmetics = workload->arithmetics;
    kind->vectors = workload->vectors;
    kind->vector_reads = workload->vector_reads;
    memcpy(kind->phases, workload->phases, sizeof kind->phases);
    memcpy(kind->arithmetic, workload->arithmetic, sizeof kind->arithmetic);
    memcpy(kind->vector_used, workload->vector_used, sizeof kind->vector_used);
}

tn_status tn_parting_kernels(tn_workload *workload, const tn_build *build, tn_resources *kernels,
                             tn_error *error) {
    tn_work_price work;
    tn_plan *plan;
    TN_TRY(tn_workload_plan(workload, build, &plan, error));
    TN_TRY(tn_price_work(workload, plan, build, &work, error));
    *kernels = tn_workload_kernels(workload, build, &work);
    return TN_OK;
}
