#include "price/part_bounds.h"

#include "base/checked.h"
#include "base/memory.h"
#include "device/block.h"
#include "layout/layout_problem.h"
#include "memory/memory_share.h"
#include "price/array_rows.h"
#include "price/cycle_bounds.h"
#include "price/energy.h"
#include "price/fixed_pools.h"
#include "price/parting.h"
#include "price/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

enum { KEPT = 1024 };

/* What an array alone of that size and rows takes at least. */
typedef struct {
    uint64_t elements, word_bits;
    uint32_t store, least_log;
    const uint64_t *rows;
    uint64_t slices;
    bool filled;
    tn_core_share share;
} kept_share;

typedef struct {
    tn_parting *parting;
    const tn_workload *workload;
    const tn_step *step;
    const tn_build *build;
    const tn_part_view *view;
    tn_plan *plan;
    tn_arena *arena; /* of the parting */
    tn_arena scratch;
    bool is_placed;       /* memories are where the keys say, and take no less with more rows */
    bool is_laid;         /* layouts are found: rows are no narrower than uses ask, but may be wider */
    uint32_t widest_log;  /* of any block of the build */
    uint64_t lutram_bits; /* no memory of LUTs holds an array of more */
    uint8_t *row_log;     /* [arrays]: by its own uses, and those of what it is updated with */
    tn_mapped *mapped;    /* [arrays]: alone in a memory */
    tn_use *use;          /* [arrays][TN_USES_MOST] */
    kept_share *kept;     /* [KEPT] */
    tn_array_rows rows;
    bool *counts; /* [arrays]: cores of classes that are in the parts */
    /* The least bits of blocks for each bit of a pool's rows, by the logarithm of their elements: without padding, and with. */
    double density[TN_STORES][TN_ROW_LOGS], padded_density[TN_STORES][TN_ROW_LOGS];
    tn_price_part *own; /* [arrays]: what each takes while it lives */
} bounder;

/* ---- rows ---- */

static void add_use(bounder *state, uint32_t array, tn_use use) {
    tn_mapped *mapped = &state->mapped[array];
    /* Without room the row is that of fewer uses, which is no wider. */
    tn_uses_add(&state->use[(size_t)array * TN_USES_MOST], &mapped->uses, TN_USES_MOST, use);
}

static void collect_uses(bounder *state) {
    for (uint32_t i = 0; i < state->step->operations; i++) {
        const tn_operation *operation = &state->step->operation[i];
        for (uint32_t j = 0; j < operation->read_count; j++)
            add_use(state, operation->reads[j], tn_use_of(operation, j));
        for (uint32_t j = 0; j < operation->write_count; j++)
            add_use(state, operation->writes[j], tn_use_of(operation, TN_OPERATION_READS));
    }
}

/* What an update goes through has rows of one size; off chip nothing has rows. */
static void even_updates(bounder *state) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < state->step->operations; i++) {
            const tn_operation *operation = &state->step->operation[i];
            uint8_t most = 0;
            if (!tn_operation_is_update(operation)) continue;
            for (uint32_t j = 0; j < operation->read_count; j++)
                if (!state->plan->map.off_chip[operation->reads[j]] &&
                    state->row_log[operation->reads[j]] > most)
                    most = state->row_log[operation->reads[j]];
            for (uint32_t j = 0; j < operation->read_count; j++) {
                uint8_t *log = &state->row_log[operation->reads[j]];
                changed |= *log < most;
                *log = most > *log ? most : *log;
            }
        }
    }
}

static tn_status find_rows(bounder *state, tn_error *error) {
    const tn_step *step = state->step;
    TN_TRY(TN_NEW(&state->scratch, step->arrays, &state->mapped, error));
    TN_TRY(TN_NEW(&state->scratch, (size_t)step->arrays * TN_USES_MOST, &state->use, error));
    TN_TRY(TN_NEW(&state->scratch, step->arrays, &state->row_log, error));
    TN_TRY(TN_NEW(&state->scratch, step->arrays, &state->own, error));
    TN_TRY(TN_NEW(&state->scratch, KEPT, &state->kept, error));
    TN_TRY(TN_NEW(&state->scratch, step->arrays, &state->counts, error));
    TN_TRY(tn_array_rows_find(state->parting->workload, &state->scratch, &state->rows, error));
    collect_uses(state);
    for (uint32_t a = 0; a < step->arrays; a++) {
        tn_mapped *mapped = &state->mapped[a];
        mapped->word_bits = tn_array_word_bits(step, a);
        mapped->store = tn_role_store(step->array[a].role);
        mapped->grouped = step->array[a].is_core;
        mapped->extents = mapped->arrays = 1;
        mapped->use = &state->use[(size_t)a * TN_USES_MOST];
        state->row_log[a] = (uint8_t)tn_log_above(tn_mapped_row(mapped, state->build));
    }
    even_updates(state);
    return TN_OK;
}

/* ---- memories ---- */

static double bits_of(const tn_memory_share *share) {
    return (double)share->bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS +
           (double)share->uram * TN_MEMORY_CAPACITY_URAM_BITS;
}

/* A core in a place that the keys give it, whose class is known. */
static bool is_of_class(const bounder *state, uint32_t array) {
    return state->is_placed && state->view->core && state->parting->core_class[array] != NONE;
}

/* In a memory of its own. */
static tn_status price_alone(bounder *state, uint32_t array, tn_price_part *own, tn_error *error) {
    const tn_extent extent = {tn_array_stored(&state->step->array[array]), 1};
    tn_mapped mapped = state->mapped[array];
    const kept_share key = {.elements = extent.elements,
                            .word_bits = mapped.word_bits,
                            .store = mapped.store,
                            .least_log = state->row_log[array],
                            .rows = state->rows.least[array],
                            .slices = state->rows.slices[array]};
    const uint64_t hash = (key.elements * 31 + key.word_bits * 7 + key.least_log * 131 + key.store +
                           (uint64_t)(uintptr_t)key.rows) *
                          UINT64_C(0x9e3779b97f4a7c15);
    kept_share *kept = &state->kept[hash >> 54];
    bool found = state->is_laid && kept->filled && kept->elements == key.elements &&
                 kept->word_bits == key.word_bits && kept->store == key.store &&
                 kept->least_log == key.least_log && kept->rows == key.rows && kept->slices == key.slices;
    if (!found) {
        kept_share fresh = key;
        uint64_t rows[TN_ROW_LOGS];
        for (uint32_t log = 0; log < TN_ROW_LOGS; log++)
            rows[log] = tn_array_depth(&state->rows, state->step, array, log);
        mapped.extent = &extent;
        TN_TRY(tn_least_share(state->workload, state->build, &mapped, rows, key.least_log,
                              state->is_laid ? (uint32_t)tn_greatest(key.least_log, state->widest_log)
                                             : key.least_log,
                              1, NULL, &fresh.share, error));
        fresh.filled = true;
        *kept = fresh;
    }
    *own = (tn_price_part){
        .capacity_bits = kept->share.capacity_bits, .bram18 = kept->share.bram18, .uram = kept->share.uram};
    return TN_OK;
}

/* In a memory of whatever depth, with whatever else. */
static void price_pooled(const bounder *state, uint32_t array, tn_price_part *own) {
    const tn_mapped *mapped = &state->mapped[array];
    const uint64_t elements = tn_array_stored(&state->step->array[array]);
    const uint32_t style =
        mapped->store == TN_STORE_ACTIVATIONS ? state->build->activation_memory : state->build->core_memory;
    double bits = (double)elements;
    *own = (tn_price_part){0};
    if (elements * mapped->word_bits <= state->lutram_bits ||
        (state->is_placed && (style == TN_STYLE_DISTRIBUTED || style == TN_STYLE_SHALLOW)))
        return;
    if (state->is_laid && state->is_placed && mapped->word_bits == state->workload->word_bits) {
        bits = INFINITY;
        for (uint32_t log = state->row_log[array]; log <= state->widest_log; log++) {
            const double unpadded =
                             (double)(((elements - 1) >> log) + 1) * state->density[mapped->store][log],
                         padded = (double)tn_array_depth(&state->rows, state->step, array, log) *
                                  state->padded_density[mapped->store][log];
            bits = fmin(bits, ldexp(fmax(unpadded, padded), (int)log));
        }
    }
    bits *= (double)mapped->word_bits * (double)state->build->read_ports;
    own->capacity_bits = bits;
    if (state->build->placement == TN_PLACE_SEARCHED) return;
    if (style == TN_STYLE_BLOCK) own->bram18 = bits / TN_MEMORY_CAPACITY_BRAM18_BITS;
    if (style == TN_STYLE_ULTRA) own->uram = bits / TN_MEMORY_CAPACITY_URAM_BITS;
}

/* Block counts of every shape repeat with PERIOD rows, and change with SHORTEST. */
enum { PERIOD = 16384, SHORTEST = 512 };

/* Whether memories of that width and any greater depth are of the style that those of PERIOD rows are. */
static bool is_settled(const bounder *state, uint64_t width) {
    const tn_device *device = state->workload->device;
    tn_blocks block, ultra;
    if (device->resources.uram == 0) return true;
    return tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_BLOCK, width, PERIOD, false, &block, NULL) == TN_OK &&
           tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_ULTRA, width, PERIOD, false, &ultra, NULL) == TN_OK &&
           2 * (double)ultra.uram * (double)device->resources.bram18 <
               (double)(block.bram18 + 2 * block.bram36) * (double)device->resources.uram;
}

/* Bits of blocks for each bit of rows, the least over all depths, in a style or the one that each depth gets. */
static tn_status least_density(const bounder *state, tn_store store, uint32_t log, tn_memory_style style,
                               double *density, tn_error *error) {
    const uint64_t one = 1, width = state->workload->word_bits << log;
    *density = INFINITY;
    for (uint64_t depth = SHORTEST; depth <= PERIOD; depth += SHORTEST) {
        const tn_extent extent = {depth << log, 1};
        const tn_mapped memory = {.arrays = 1, .store = store, .copies = 1, .extents = 1, .extent = &extent};
        const tn_row row = {one << log, 1, depth, 1, depth, 1};
        const tn_place place = {style, TN_SPLIT_RESHAPE, 1};
        tn_memory_share share;
        TN_TRY(tn_price_share(state->workload->device, state->workload->word_bits, &memory, &row,
                              state->build, &place, &share, error));
        if (share.style == TN_STYLE_DISTRIBUTED) continue; /* what lies there counts nothing */
        *density = fmin(*density,
                        bits_of(&share) / ((double)depth * (double)width * (double)state->build->read_ports));
    }
    if (isinf(*density) || *density < 1) *density = 1;
    return TN_OK;
}

static tn_status find_density(bounder *state, tn_store store, uint32_t log, tn_error *error) {
    const uint32_t asked =
        store == TN_STORE_ACTIVATIONS ? state->build->activation_memory : state->build->core_memory;
    double *density = &state->density[store][log], *padded = &state->padded_density[store][log], block, ultra;
    *density = *padded = 1;
    if (tn_row_banks(state->build, log) != 1 || asked == TN_STYLE_DISTRIBUTED || asked == TN_STYLE_SHALLOW)
        return TN_OK;
    const bool by_element = tn_device_is_generated(state->workload->device);
    if (by_element) { /* elements share blocks across rows of them, whatever the depth */
        block = tn_memory_element_density(TN_STYLE_BLOCK, state->workload->word_bits);
        ultra = tn_memory_element_density(TN_STYLE_ULTRA, state->workload->word_bits);
        if (asked == TN_STYLE_AUTO && state->workload->device->resources.uram == 0) ultra = block;
    } else {
        TN_TRY(least_density(state, store, log, TN_STYLE_BLOCK, &block, error));
        TN_TRY(least_density(state, store, log, TN_STYLE_ULTRA, &ultra, error));
    }
    *density = *padded = asked == TN_STYLE_BLOCK   ? block
                         : asked == TN_STYLE_ULTRA ? ultra
                                                   : fmin(block, ultra);
    if (asked == TN_STYLE_AUTO && !by_element && is_settled(state, state->workload->word_bits << log))
        TN_TRY(least_density(state, store, log, TN_STYLE_AUTO, density, error));
    return TN_OK;
}

static bool is_of_fixed_pool(const bounder *state, uint32_t array) {
    return tn_is_of_fixed_pool(state->view->survey, state->workload, state->build, array);
}

static tn_status price_arrays(bounder *state, tn_error *error) {
    const bool pooled = state->build->buffers == TN_BUFFERS_POOLED;
    for (int store = 0; state->is_laid && state->is_placed && pooled && store < TN_STORES; store++)
        for (uint32_t log = 0; log <= state->widest_log; log++)
            TN_TRY(find_density(state, (tn_store)store, log, error));
    for (uint32_t a = 0; a < state->step->arrays; a++) {
        if (state->step->array[a].elements == 0 || state->plan->map.off_chip[a] || is_of_fixed_pool(state, a))
            continue;
        if (is_of_class(state, a)) {
            const tn_core_share *share = &state->view->core[state->parting->core_class[a]];
            state->own[a] = (tn_price_part){
                .capacity_bits = share->capacity_bits, .bram18 = share->bram18, .uram = share->uram};
        } else if (!state->is_placed || (pooled && !state->step->array[a].is_core)) {
            price_pooled(state, a, &state->own[a]);
        } else if (!state->step->array[a].is_core) {
            TN_TRY(price_alone(state, a, &state->own[a], error));
        }
    }
    return TN_OK;
}

/* ---- moments ---- */

static bool is_of_moment(const tn_operation *operation, tn_moment moment) {
    return operation->layer == moment.layer && operation->phase != TN_UPDATE &&
           (operation->phase != TN_FORWARD) == moment.is_back;
}

/* First and last operation of the moment; false: the step has none. */
static bool range_of(const tn_step *step, tn_moment moment, uint32_t *first, uint32_t *last) {
    bool found = false;
    for (uint32_t i = 0; i < step->operations; i++) {
        if (!is_of_moment(&step->operation[i], moment)) continue;
        if (!found) *first = i;
        *last = i;
        found = true;
    }
    return found;
}

/* Which moment decides that the array counts; TN_LIVES: it always does. */
static int life_of(const bounder *state, uint32_t array) {
    const tn_array *this_array = &state->step->array[array];
    if (state->build->buffers != TN_BUFFERS_POOLED) return TN_LIVES;
    if (this_array->is_core) return this_array->role == TN_ARRAY_GRADIENT ? TN_LIVE_CORE_GRADIENTS : TN_LIVES;
    if (tn_role_is_activation(this_array->role)) return TN_LIVE_ACTIVATIONS;
    if (this_array->role == TN_ARRAY_GRADIENT) return TN_LIVE_GRADIENTS;
    return this_array->last == UINT32_MAX ? TN_LIVES : TN_LIVES + 1;
}

static uint32_t owner_of(const tn_parting *parting, uint32_t array) {
    return parting->owner[array] > parting->units ? parting->units : parting->owner[array];
}

static void add(tn_price_part *part, const tn_price_part *more) {
    part->capacity_bits += more->capacity_bits;
    part->bram18 += more->bram18;
    part->uram += more->uram;
}

/* Whether it is the unit's, and lives while the operation is done. */
static bool lives_of(const bounder *state, uint32_t array, int life, uint32_t owner, uint32_t operation) {
    const tn_array *this_array = &state->step->array[array];
    return owner_of(state->parting, array) == owner && this_array->first <= operation &&
           this_array->last >= operation && life_of(state, array) == life;
}

/* What lives at the moment; part[units + 1] gets it, and what it is of cores counts. */
static void add_living(const bounder *state, int life, tn_moment moment, tn_price_part *part) {
    const tn_step *step = state->step;
    uint32_t first, last, owner, fullest;
    tn_price_part most = {0};
    if (!range_of(step, moment, &first, &last)) return;
    fullest = first;
    owner = state->parting->unit_of_operation[first];
    for (uint32_t a = 0; a < step->arrays; a++) {
        const tn_array *array = &step->array[a];
        uint32_t its = owner_of(state->parting, a);
        if (life_of(state, a) != life || its == owner) continue;
        if (array->first > first || array->last < last) continue;
        add(&part[its], &state->own[a]);
        state->counts[a] = true;
    }
    for (uint32_t i = first; i <= last; i++) {
        tn_price_part sum = {0};
        for (uint32_t a = 0; a < step->arrays; a++)
            if (lives_of(state, a, life, owner, i)) add(&sum, &state->own[a]);
        if (sum.capacity_bits <= most.capacity_bits) continue;
        most = sum;
        fullest = i;
    }
    add(&part[owner], &most);
    for (uint32_t a = 0; a < step->arrays; a++)
        if (lives_of(state, a, life, owner, fullest)) state->counts[a] = true;
}

static tn_status add_memories(bounder *state, const tn_part_view *view, tn_price_part *part,
                              tn_error *error) {
    TN_TRY(price_arrays(state, error));
    TN_TRY(tn_fixed_pools_price(state->view->survey, state->workload, state->plan, state->build,
                                &part[state->parting->units].capacity_bits, error));
    for (uint32_t a = 0; a < state->step->arrays; a++) {
        if (life_of(state, a) != TN_LIVES) continue;
        add(&part[owner_of(state->parting, a)], &state->own[a]);
        state->counts[a] = true;
    }
    for (int life = 0; state->build->buffers == TN_BUFFERS_POOLED && life < TN_LIVES; life++)
        add_living(state, life, view->moment[life], part);
    return TN_OK;
}

/* ---- work ---- */

static uint32_t kind_of(const tn_workload *workload, const tn_work *work) {
    return work->product ? work->arithmetic : workload->arithmetics;
}

static double kernels_of(const tn_workload *workload, const tn_build *build, uint32_t kind) {
    return (double)(kind < workload->arithmetics ? tn_workload_matmuls(workload, build, kind)
                                                 : tn_workload_vector_units(workload, build));
}

/* Joules that a cycle adds which the step lasts, static and of kernels that idle, or which a matmul kernel works. */
typedef struct {
    double resting, idle, busy[TN_ARITHMETICS_MOST];
    double watts; /* of the whole step, at least */
} energy_rates;

/* A step with a deadline may rest for some of its time. */
static energy_rates rates_of(const bounder *state, const tn_work_price *price) {
    const tn_device *device = state->workload->device;
    const tn_device_energy *energy = &device->energy;
    const tn_step *step = state->step;
    const tn_resources kernels = tn_workload_kernels(state->workload, state->build, price);
    const double volts = energy->voltage_V.value, clock_Hz = device->clock_MHz * 1e6;
    const bool may_rest = step->deadline_us > 0;
    double share = 1;
    if (may_rest && volts > 0) share = fmin(1, fmax(step->least_V, tn_energy_volts(device, 0)) / volts);
    const double pJ = 1e-12 * volts * volts * share * share;
    energy_rates rates = {.resting = energy->static_W.value * share / clock_Hz,
                          .idle =
                              pJ * energy->idle_toggle.value * tn_energy_capacitance_pF(device, &kernels)};
    for (uint32_t i = 0; i < state->workload->arithmetics; i++)
        rates.busy[i] = pJ * fmax(0, energy->toggle.value - energy->idle_toggle.value) *
                        tn_energy_capacitance_pF(device, &price->matmul[i]);
    if (energy->toggle.value < energy->idle_toggle.value) rates.idle = 0;
    rates.watts = clock_Hz * (rates.resting + (may_rest ? 0 : rates.idle));
    return rates;
}

static tn_status add_work(bounder *state, const tn_part_view *view, tn_price_part *part, tn_error *error) {
    const tn_workload *workload = state->workload;
    const bool in_turn = state->build->schedule == TN_SCHEDULE_SEQUENTIAL;
    double *cycles;
    tn_work_price price;
    TN_TRY(TN_NEW(&state->scratch, state->step->operations, &cycles, error));
    TN_TRY(tn_cycle_bounds_find(state->parting, state->plan, state->build, state->view->core, state->arena,
                                cycles, &price, error));
    const energy_rates rates = rates_of(state, &price);
    part[state->parting->units].watts = rates.watts;
    for (uint32_t i = 0; i < state->step->operations; i++) {
        const tn_work *work = &workload->work[workload->work_of[i]];
        tn_price_part *its = &part[state->parting->unit_of_operation[i]];
        uint32_t kind = kind_of(workload, work);
        double lasts = cycles[i];
        if (!in_turn) lasts = kind == view->kind ? lasts / kernels_of(workload, state->build, kind) : 0;
        its->cycles += lasts;
        its->static_joules += lasts * rates.resting;
        its->dynamic_joules += lasts * rates.idle;
        /* What waits for external memory is not all work. */
        if (work->product && !state->plan->off_chip) its->dynamic_joules += cycles[i] * rates.busy[kind];
        its->operations++;
    }
    for (uint32_t u = 0; u <= state->parting->units; u++)
        part[u].joules = part[u].static_joules + part[u].dynamic_joules;
    return TN_OK;
}

static void add_off_chip(const bounder *state, tn_price_part *part) {
    const tn_step *step = state->step;
    if (!state->plan->off_chip) return;
    for (uint32_t i = 0; i < step->arrays; i++)
        if (state->plan->map.off_chip[i])
            part[owner_of(state->parting, i)].off_chip_bytes +=
                (double)tn_ceil_div(tn_array_stored(&step->array[i]) * tn_array_word_bits(step, i), 8);
    for (uint32_t i = 0; i < step->operations; i++)
        part[state->parting->unit_of_operation[i]].off_chip_bytes_per_step +=
            (double)state->plan->transfer_bytes[i];
}

/* ---- the whole ---- */

static tn_status begin(tn_parting *parting, const tn_build *build, const tn_part_view *view, tn_arena *arena,
                       bounder *state, tn_error *error) {
    *state = (bounder){.parting = parting,
                       .arena = arena,
                       .view = view,
                       .workload = parting->workload,
                       .step = parting->workload->step,
                       .build = build,
                       .is_laid = tn_build_lays_rows(build),
                       .widest_log = tn_widest_row_log(build)};
    state->is_placed = tn_build_places_cores(parting->workload, build);
    state->lutram_bits = parting->workload->device->memory.lutram_bits_most;
    if (build->placement == TN_PLACE_SEARCHED || build->split == TN_SPLIT_PARTITION ||
        build->split == TN_SPLIT_BANKS) /* a bank is as small */
        state->lutram_bits <<= state->widest_log;
    TN_TRY(tn_workload_plan(parting->workload, build, &state->plan, error));
    return find_rows(state, error);
}

static int by_number(const void *a, const void *b) {
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static tn_status list_cores(const bounder *state, tn_arena *arena, tn_part_cores *cores, tn_error *error) {
    const tn_parting *parting = state->parting;
    memset(cores, 0, (parting->units + 1) * sizeof *cores);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t a = 0; a < state->step->arrays; a++) {
            tn_part_cores *its = &cores[owner_of(parting, a)];
            if (!state->counts[a] || !is_of_class(state, a) || state->plan->map.off_chip[a]) continue;
            if (pass > 0) its->core_class[its->count] = parting->core_class[a];
            its->count++;
        }
        for (uint32_t u = 0; u <= parting->units && pass == 0; u++) {
            TN_TRY(TN_NEW(arena, cores[u].count, &cores[u].core_class, error));
            cores[u].count = 0;
        }
    }
    for (uint32_t u = 0; u <= parting->units; u++)
        if (cores[u].count > 0)
            qsort(cores[u].core_class, cores[u].count, sizeof *cores[u].core_class, by_number);
    return TN_OK;
}

tn_status tn_parting_bound(tn_parting *parting, const tn_build *this_build, const tn_part_view *view,
                           tn_arena *arena, tn_price_part *part, tn_part_cores *cores, tn_error *error) {
    const tn_build build = tn_build_effective(this_build);
    bounder state;
    memset(part, 0, (parting->units + 1) * sizeof *part);
    tn_status status = begin(parting, &build, view, arena, &state, error);
    if (status == TN_OK) status = add_work(&state, view, part, error);
    if (status == TN_OK) status = add_memories(&state, view, part, error);
    if (status == TN_OK) add_off_chip(&state, part);
    if (status == TN_OK) status = list_cores(&state, arena, cores, error);
    tn_arena_free(&state.scratch);
    return status;
}

static tn_status choose_moments(bounder *state, tn_part_view *view, tn_error *error) {
    const uint32_t units = state->parting->units;
    tn_price_part *part;
    TN_TRY(TN_NEW(&state->scratch, units + 1, &part, error));
    TN_TRY(price_arrays(state, error));
    for (int life = 0; life < TN_LIVES; life++) {
        double most = -1;
        for (uint32_t index = 0; index < 2 * state->step->layers; index++) {
            const tn_moment moment = {index / 2, index % 2};
            double sum = 0;
            memset(part, 0, (units + 1) * sizeof *part);
            add_living(state, life, moment, part);
            for (uint32_t u = 0; u <= units; u++) sum += part[u].capacity_bits;
            if (sum <= most) continue;
            most = sum;
            view->moment[life] = moment;
        }
    }
    return TN_OK;
}

static tn_status choose_kind(bounder *state, tn_part_view *view, tn_error *error) {
    const tn_workload *workload = state->workload;
    double *cycles, work[TN_ARITHMETICS_MOST + 1] = {0}, most = -1;
    tn_work_price price;
    TN_TRY(TN_NEW(&state->scratch, state->step->operations, &cycles, error));
    TN_TRY(tn_cycle_bounds_find(state->parting, state->plan, state->build, state->view->core, state->arena,
                                cycles, &price, error));
    for (uint32_t i = 0; i < state->step->operations; i++)
        work[kind_of(workload, &workload->work[workload->work_of[i]])] += cycles[i];
    for (uint32_t kind = 0; kind <= workload->arithmetics; kind++) {
        double kernels = kernels_of(workload, state->build, kind);
        if (kernels == 0 || work[kind] / kernels <= most) continue;
        most = work[kind] / kernels;
        view->kind = kind;
    }
    return TN_OK;
}

/* What cores of every class take. */
static tn_status find_shares(const tn_workload *workload, const tn_build *build, tn_arena *arena,
                             tn_part_view *view, tn_error *error) {
    const tn_core_classes *classes = &view->survey->cores;
    tn_core_share *share;
    TN_TRY(TN_NEW(arena, classes->count, &share, error));
    for (uint32_t i = 0; i < classes->count; i++)
        TN_TRY(tn_core_share_find(workload, build, classes, i, arena, &share[i], error));
    view->core = share;
    return TN_OK;
}

tn_status tn_part_view_choose(tn_parting *parting, const tn_build *this_build, const tn_part_survey *survey,
                              tn_arena *arena, tn_part_view *view, tn_error *error) {
    const tn_build build = tn_build_effective(this_build);
    bounder state = {0};
    *view = (tn_part_view){.survey = survey, .kind = NONE};
    tn_status status = find_shares(parting->workload, &build, arena, view, error);
    if (status == TN_OK) status = begin(parting, &build, view, arena, &state, error);
    if (status == TN_OK) status = choose_moments(&state, view, error);
    if (status == TN_OK) status = choose_kind(&state, view, error);
    tn_arena_free(&state.scratch);
    return status;
}

tn_status tn_bound_kernels(tn_workload *workload, const tn_build *build, tn_resources *kernels,
                           tn_error *error) {
    const tn_build effective = tn_build_effective(build), turn = tn_build_in_turn(&effective);
    tn_work_price work;
    tn_plan *plan;
    TN_TRY(tn_workload_plan(workload, &effective, &plan, error));
    TN_TRY(tn_price_work(workload, plan, &turn, &work, error));
    *kernels = tn_workload_kernels(workload, &effective, &work);
    return TN_OK;
}
