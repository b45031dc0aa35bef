#include "price/core_shares.h"

#include "base/checked.h"
#include "device/block.h"
#include "layout/layout_problem.h"

#include <math.h>

static const uint32_t NONE = UINT32_MAX;

bool tn_build_places_cores(const tn_workload *workload, const tn_build *build) {
    return build->placement == TN_PLACE_AS_BUILT && workload->device->memory.geometry == TN_GEOMETRY_HLS;
}

bool tn_build_lays_rows(const tn_build *build) {
    return build->layouts == TN_LAID_AS_FOUND && build->array == TN_ARRAY_LANES;
}

uint64_t tn_row_banks(const tn_build *build, uint32_t row_log) {
    if (build->split == TN_SPLIT_PARTITION && UINT64_C(1) << row_log <= TN_LAYOUT_BANKS_MOST)
        return UINT64_C(1) << row_log;
    return build->split == TN_SPLIT_BANKS ? UINT64_C(1) << (row_log - row_log / 2) : 1;
}

/* A memory of `copies` in rows of that size. */
static tn_status share_of(const tn_workload *workload, const tn_build *build, const tn_mapped *mapped,
                          const uint64_t *rows, uint32_t log, uint64_t copies, tn_memory_share *share,
                          tn_error *error) {
    const uint64_t one = 1, banks = tn_row_banks(build, log);
    const tn_row row = {one << log, banks, rows[log], banks, ((mapped->extent->elements - 1) >> log) + 1, 1};
    tn_mapped memory = *mapped;
    tn_place place = tn_place_as_built(&memory, build);
    memory.copies = place.group = copies;
    return tn_price_share(workload->device, workload->word_bits, &memory,
                          tn_build_lays_rows(build) ? &row : NULL, build, &place, share, error);
}

tn_status tn_least_share(const tn_workload *workload, const tn_build *build, const tn_mapped *mapped,
                         const uint64_t *rows, uint32_t least_log, uint32_t most_log, uint64_t group,
                         double *memory_bits, tn_core_share *share, tn_error *error) {
    share->capacity_bits = share->bram18 = share->uram = INFINITY;
    for (uint64_t copies = 1; copies <= group; copies++) {
        double least = INFINITY;
        for (uint32_t log = least_log; log <= most_log; log++) {
            tn_memory_share found;
            TN_TRY(share_of(workload, build, mapped, rows, log, copies, &found, error));
            share->bram18 = fmin(share->bram18, (double)found.bram18 / (double)copies);
            share->uram = fmin(share->uram, (double)found.uram / (double)copies);
            least = fmin(least, (double)found.bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS +
                                    (double)found.uram * TN_MEMORY_CAPACITY_URAM_BITS);
        }
        if (memory_bits) memory_bits[copies] = least;
        share->capacity_bits = fmin(share->capacity_bits, least / (double)copies);
    }
    return TN_OK;
}

static uint32_t row_log_of(tn_mapped mapped, const tn_core_uses *uses, const tn_build *build) {
    mapped.use = uses->use;
    mapped.uses = uses->count;
    return tn_log_above(tn_mapped_row(&mapped, build));
}

/* Off chip nothing has rows, which might be those that it is updated with. */
static uint32_t least_row_log(const tn_core_class *its, const tn_mapped *mapped, const tn_build *build) {
    uint32_t least = NONE;
    for (uint32_t i = 0; i < its->ways; i++)
        least = (uint32_t)tn_least(least, row_log_of(*mapped, &its->way[i], build));
    return its->has_more_ways || build->off_chip_over_bytes > 0 ? row_log_of(*mapped, &its->uses, build)
                                                                : least;
}

/* Whatever the other members, and what those are updated with. */
static uint32_t most_row_log(const tn_core_classes *classes, uint32_t core_class, const tn_mapped *mapped,
                             const tn_build *build) {
    const uint32_t first = tn_core_class_linked(classes, core_class);
    uint32_t most = 0;
    if (classes->list[first].is_open || build->off_chip_over_bytes > 0) return tn_widest_row_log(build);
    for (uint32_t i = 0; i < classes->count; i++)
        if (tn_core_class_linked(classes, i) == first)
            most = (uint32_t)tn_greatest(most, row_log_of(*mapped, &classes->list[i].uses, build));
    return most;
}

/* D and A of all counts, from what memories of so many take. */
static tn_status find_sums(const double *memory_bits, uint64_t group, bool is_known, tn_arena *arena,
                           tn_core_share *share, tn_error *error) {
    const uint32_t layers = share->layers;
    TN_TRY(TN_NEW(arena, layers + 1, &share->alone, error));
    TN_TRY(TN_NEW(arena, layers + 1, &share->among, error));
    for (uint32_t n = 0; n <= layers; n++) {
        share->alone[n] = share->among[n] = n * share->capacity_bits;
        if (is_known && n > 0)
            share->alone[n] = (double)(n / group) * memory_bits[group] + memory_bits[n % group];
    }
    for (uint32_t n = layers; n-- > 1;) share->alone[n] = fmin(share->alone[n], share->alone[n + 1]);
    for (uint32_t n = layers / 2 + 1; n <= layers; n++) {
        share->among[n] = INFINITY;
        for (uint32_t x = 0; x <= layers - n; x++)
            share->among[n] = fmin(share->among[n], share->alone[n + x] - x * share->capacity_bits);
    }
    return TN_OK;
}

tn_status tn_core_share_find(const tn_workload *workload, const tn_build *build,
                             const tn_core_classes *classes, uint32_t core_class, tn_arena *arena,
                             tn_core_share *share, tn_error *error) {
    const tn_core_class *its = &classes->list[core_class];
    const tn_extent extent = {its->stored, 1};
    const tn_mapped mapped = {.word_bits = its->word_bits,
                              .arrays = 1,
                              .store = tn_role_store(its->role),
                              .grouped = true,
                              .extents = 1,
                              .extent = &extent,
                              .uses = its->uses.count,
                              .use = its->uses.use};
    const uint64_t group = tn_least(build->group, its->layers);
    const uint32_t least_log = least_row_log(its, &mapped, build),
                   most_log =
                       (uint32_t)tn_greatest(least_log, most_row_log(classes, core_class, &mapped, build));
    uint64_t rows[TN_ROW_LOGS];
    double *memory_bits;
    for (uint32_t log = 0; log < TN_ROW_LOGS; log++)
        rows[log] = its->is_padded ? its->rows[log] : ((its->stored - 1) >> log) + 1;
    *share = (tn_core_share){.layers = its->layers, .most_log = most_log};
    TN_TRY(TN_ALLOC(group + 1, &memory_bits, error));
    tn_status status =
        tn_least_share(workload, build, &mapped, rows, least_log,
                       tn_build_lays_rows(build) ? most_log : least_log, group, memory_bits, share, error);
    if (status == TN_OK) status = find_sums(memory_bits, group, !its->is_blurred, arena, share, error);
    tn_free(memory_bits);
    return status;
}
