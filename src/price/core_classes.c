#include "price/core_classes.h"

#include "base/checked.h"
#include "device/block.h"
#include "layout/layout_problem.h"
#include "price/parting.h"

#include <math.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

/* ---- uses of a step's cores ---- */

typedef struct {
    const tn_step *step;
    tn_core_uses *uses; /* [arrays] */
    bool *is_full;      /* [arrays]: some use had no room */
    tn_core_uses *way;  /* [arrays]: of all that the core is updated with */
} uses_of_step;

static void add_use(uses_of_step *found, uint32_t array, tn_use use) {
    tn_core_uses *its = &found->uses[array];
    if (!found->step->array[array].is_core) return;
    found->is_full[array] |= !tn_uses_add(its->use, &its->count, TN_USES_MOST, use);
}

/* Without room a way has fewer uses, whose row is no wider. */
static void add_ways(uses_of_step *found) {
    const tn_step *step = found->step;
    for (uint32_t a = 0; a < step->arrays; a++) found->way[a] = found->uses[a];
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *update = &step->operation[i];
        if (!tn_operation_is_update(update)) continue;
        for (uint32_t j = 0; j < update->read_count; j++)
            for (uint32_t k = 0; k < update->read_count; k++) {
                const tn_core_uses *its = &found->uses[update->reads[k]];
                tn_core_uses *way = &found->way[update->reads[j]];
                for (uint32_t n = 0; n < its->count; n++)
                    tn_uses_add(way->use, &way->count, TN_USES_MOST, its->use[n]);
            }
    }
}

static tn_status find_uses(const tn_step *step, tn_arena *arena, uses_of_step *found, tn_error *error) {
    *found = (uses_of_step){.step = step};
    TN_TRY(TN_NEW(arena, step->arrays, &found->uses, error));
    TN_TRY(TN_NEW(arena, step->arrays, &found->is_full, error));
    TN_TRY(TN_NEW(arena, step->arrays, &found->way, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t j = 0; j < operation->read_count; j++)
            add_use(found, operation->reads[j], tn_use_of(operation, j));
        for (uint32_t j = 0; j < operation->write_count; j++)
            add_use(found, operation->writes[j], tn_use_of(operation, TN_OPERATION_READS));
    }
    add_ways(found);
    return TN_OK;
}

/* ---- which class ---- */

static bool same_uses(const tn_core_uses *a, const tn_core_uses *b) {
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = a->use[i].side == b->use[i].side && a->use[i].extent[0] == b->use[i].extent[0] &&
               a->use[i].extent[1] == b->use[i].extent[1];
    return same;
}

static bool same_class(const tn_core_class *a, const tn_core_class *b) {
    return a->elements == b->elements && a->word_bits == b->word_bits && a->role == b->role &&
           a->ordinal == b->ordinal && same_uses(&a->uses, &b->uses);
}

static tn_core_class class_of_array(const uses_of_step *found, uint32_t array) {
    const tn_array *core = &found->step->array[array];
    return (tn_core_class){.elements = core->elements,
                           .word_bits = tn_array_word_bits(found->step, array),
                           .role = core->role,
                           .uses = found->uses[array]};
}

static bool is_core(const tn_step *step, uint32_t array) {
    return step->array[array].is_core && step->array[array].elements > 0;
}

static uint64_t hash_of(const tn_core_class *its) {
    uint64_t hash = its->elements * 31 + its->word_bits * 7 + (uint64_t)its->role + 131 * its->ordinal;
    for (uint32_t i = 0; i < its->uses.count; i++)
        hash = hash * 1031 + (uint64_t)its->uses.use[i].side +
               5 * (its->uses.use[i].extent[0] + UINT64_C(2048) * its->uses.use[i].extent[1]);
    return hash * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

/* Where the class is kept, or belongs; its place in the list, or NONE. */
static uint32_t place_of(const tn_core_classes *classes, const tn_core_class *its, size_t *slot) {
    *slot = classes->slots ? (size_t)hash_of(its) & (classes->slots - 1) : 0;
    while (classes->slots && classes->slot[*slot]) {
        const uint32_t place = classes->slot[*slot] - 1;
        if (same_class(&classes->list[place], its)) return place;
        *slot = (*slot + 1) & (classes->slots - 1);
    }
    return NONE;
}

/* The classes of a step's arrays: `visit` with the class, all but its ordinal the array's own. */
static tn_status each_core(const uses_of_step *found, tn_arena *scratch,
                           tn_status (*visit)(void *user, uint32_t array, tn_core_class *its,
                                              tn_error *error),
                           void *user, tn_error *error) {
    const tn_step *step = found->step;
    uint32_t *first, *next; /* cores of a layer, one behind the other */
    TN_TRY(TN_NEW(scratch, step->layers, &first, error));
    TN_TRY(TN_NEW(scratch, step->arrays, &next, error));
    for (uint32_t l = 0; l < step->layers; l++) first[l] = NONE;
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (!is_core(step, a)) continue;
        tn_core_class its = class_of_array(found, a);
        uint32_t before = first[step->array[a].layer];
        for (; before != NONE; before = next[before]) {
            const tn_core_class other = class_of_array(found, before);
            its.ordinal += same_class(&other, &(tn_core_class){.elements = its.elements,
                                                               .word_bits = its.word_bits,
                                                               .role = its.role,
                                                               .uses = its.uses});
        }
        next[a] = first[step->array[a].layer];
        first[step->array[a].layer] = a;
        TN_TRY(visit(user, a, &its, error));
    }
    return TN_OK;
}

/* ---- adding a step ---- */

typedef struct {
    tn_core_classes *classes;
    const tn_parting *parting;
    const uses_of_step *found;
    tn_array_rows rows;
    uint32_t *class_of; /* [arrays] */
    uint32_t *layers;   /* [classes before, and those of the step][units + 1]: of this step; grows */
    size_t layer_room;
    tn_arena *arena;
} adder;

static tn_status make_room(tn_core_classes *classes, tn_arena *arena, tn_error *error) {
    if (2 * (size_t)(classes->count + 1) > classes->slots) {
        const size_t slots = classes->slots ? 2 * classes->slots : 256;
        TN_TRY(TN_NEW(arena, slots, &classes->slot, error));
        classes->slots = slots;
        for (uint32_t i = 0; i < classes->count; i++) {
            size_t slot;
            place_of(classes, &classes->list[i], &slot);
            classes->slot[slot] = i + 1;
        }
    }
    if (classes->count == classes->room) {
        const size_t room = classes->room ? 2 * classes->room : 64;
        tn_core_class *grown;
        TN_TRY(TN_NEW(arena, room, &grown, error));
        if (classes->count) memcpy(grown, classes->list, classes->count * sizeof *grown);
        classes->list = grown;
        classes->room = room;
    }
    return TN_OK;
}

static void add_way(tn_core_class *its, const tn_core_uses *way) {
    for (uint32_t i = 0; i < its->ways; i++)
        if (same_uses(&its->way[i], way)) return;
    its->has_more_ways |= its->ways == TN_CORE_WAYS;
    if (!its->has_more_ways) its->way[its->ways++] = *way;
}

static void add_rows(const adder *state, tn_core_class *its, uint32_t array, bool is_new) {
    const tn_step *step = state->found->step;
    const uint64_t stored = tn_array_stored(&step->array[array]);
    its->stored = is_new ? stored : tn_least(its->stored, stored);
    its->is_padded = (is_new || its->is_padded) && state->rows.least[array];
    for (uint32_t log = 0; its->is_padded && log < TN_ROW_LOGS; log++) {
        const uint64_t depth = tn_array_depth(&state->rows, step, array, log);
        its->rows[log] = is_new ? depth : tn_least(its->rows[log], depth);
    }
}

static tn_status add_core(void *user, uint32_t array, tn_core_class *its, tn_error *error) {
    adder *state = user;
    tn_core_classes *classes = state->classes;
    const uint32_t units = state->parting->units,
                   unit = state->parting->unit_of_layer[state->found->step->array[array].layer];
    size_t slot;
    TN_TRY(make_room(classes, state->arena, error));
    uint32_t place = place_of(classes, its, &slot);
    const bool is_new = place == NONE;
    if (is_new) {
        place = classes->count++;
        classes->slot[slot] = place + 1;
        classes->list[place] = *its;
        classes->list[place].linked = place;
        TN_TRY(TN_NEW(state->arena, units + 1, &classes->list[place].most, error));
    }
    tn_core_class *kept = &classes->list[place];
    state->class_of[array] = place;
    kept->is_blurred |= state->found->is_full[array];
    add_way(kept, &state->found->way[array]);
    add_rows(state, kept, array, is_new);
    TN_TRY(TN_GROW(&state->layers, &state->layer_room, (size_t)classes->count * (units + 1), error));
    const uint32_t layers = ++state->layers[(size_t)place * (units + 1) + unit];
    if (layers > kept->most[unit]) {
        kept->layers += layers - kept->most[unit];
        kept->most[unit] = layers;
    }
    return TN_OK;
}

/* ---- rows of one size ---- */

static uint32_t first_linked(const tn_core_classes *classes, uint32_t core_class) {
    while (classes->list[core_class].linked != core_class) core_class = classes->list[core_class].linked;
    return core_class;
}

static void link_classes(tn_core_classes *classes, uint32_t a, uint32_t b) {
    a = first_linked(classes, a);
    b = first_linked(classes, b);
    const bool is_open = classes->list[a].is_open || classes->list[b].is_open;
    classes->list[a > b ? a : b].linked = a > b ? b : a;
    classes->list[a > b ? b : a].is_open = is_open;
}

/* What updates, and copies of parts, go through. */
static void link_updates(const adder *state) {
    const tn_step *step = state->found->step;
    tn_core_classes *classes = state->classes;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        uint32_t first = NONE;
        bool others = operation->partial != NULL;
        if (!tn_operation_is_update(operation) && !operation->partial) continue;
        for (uint32_t j = 0; j < operation->read_count; j++) {
            const uint32_t its = state->class_of[operation->reads[j]];
            others |= its == NONE || classes->list[its].is_blurred;
            if (its == NONE) continue;
            if (first == NONE) first = its;
            link_classes(classes, first, its);
        }
        if (first != NONE && others) classes->list[first_linked(classes, first)].is_open = true;
        const uint32_t written = operation->partial ? state->class_of[operation->writes[0]] : NONE;
        if (written != NONE) classes->list[first_linked(classes, written)].is_open = true;
    }
}

tn_status tn_core_classes_add(tn_core_classes *classes, const tn_parting *parting, tn_arena *arena,
                              tn_error *error) {
    tn_arena scratch = {0};
    uses_of_step found;
    adder state = {.classes = classes, .parting = parting, .found = &found, .arena = arena};
    const uint32_t arrays = parting->workload->step->arrays;
    tn_status status = find_uses(parting->workload->step, &scratch, &found, error);
    if (status == TN_OK) status = tn_array_rows_find(parting->workload, &scratch, &state.rows, error);
    if (status == TN_OK) status = TN_NEW(&scratch, arrays, &state.class_of, error);
    for (uint32_t a = 0; status == TN_OK && a < arrays; a++) state.class_of[a] = NONE;
    if (status == TN_OK) status = each_core(&found, &scratch, add_core, &state, error);
    if (status == TN_OK) link_updates(&state);
    tn_free(state.layers);
    tn_arena_free(&scratch);
    return status;
}

typedef struct {
    const tn_core_classes *classes;
    uint32_t *class_of;
} asked;

static tn_status look_up(void *user, uint32_t array, tn_core_class *its, tn_error *error) {
    const asked *state = user;
    size_t slot;
    (void)error;
    state->class_of[array] = place_of(state->classes, its, &slot);
    return TN_OK;
}

tn_status tn_core_classes_find(const tn_core_classes *classes, const tn_parting *parting, uint32_t *class_of,
                               tn_error *error) {
    const tn_step *step = parting->workload->step;
    tn_arena scratch = {0};
    uses_of_step found;
    asked state = {classes, class_of};
    for (uint32_t a = 0; a < step->arrays; a++) class_of[a] = NONE;
    tn_status status = find_uses(step, &scratch, &found, error);
    if (status == TN_OK) status = each_core(&found, &scratch, look_up, &state, error);
    tn_arena_free(&scratch);
    return status;
}

/* ---- what they take ---- */

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
    const uint32_t first = first_linked(classes, core_class);
    uint32_t most = 0;
    if (classes->list[first].is_open || build->off_chip_over_bytes > 0) return tn_widest_row_log(build);
    for (uint32_t i = 0; i < classes->count; i++)
        if (first_linked(classes, i) == first)
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
