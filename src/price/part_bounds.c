#include "price/part_bounds.h"

#include "base/checked.h"
#include "base/memory.h"
#include "device/block.h"
#include "layout/layout_problem.h"
#include "memory/memory_share.h"
#include "price/energy.h"
#include "price/parting.h"
#include "price/work.h"

#include <math.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

enum { KEPT = 1024 };

/* What a core of that size and rows takes at least. */
typedef struct {
    uint64_t elements, word_bits;
    uint32_t store, least_log, group;
    const uint64_t *rows;
    uint64_t slices;
    bool filled;
    double capacity_bits, bram18, uram;
} kept_core;

typedef struct {
    const tn_parting *parting;
    const tn_workload *workload;
    const tn_step *step;
    const tn_build *build;
    const tn_part_survey *survey;
    tn_plan *plan;
    tn_arena scratch;
    bool is_placed;       /* memories are where the keys say, and take no less with more rows */
    bool is_laid;         /* layouts are found: rows are no narrower than uses ask, but may be wider */
    uint32_t widest_log;  /* of any block of the build */
    uint64_t lutram_bits; /* no memory of LUTs holds an array of more */
    uint8_t *row_log;     /* [arrays]: by its own uses, and those of what it is updated with */
    tn_mapped *mapped;    /* [arrays]: alone in a memory */
    tn_use *use;          /* [arrays][TN_USES_MOST] */
    kept_core *kept;      /* [KEPT] */
    const uint64_t *
        *rows; /* [arrays]: the fewest it takes, by the logarithm of their elements; NULL: of its elements, */
    uint64_t *slices; /* so many times */
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

/* Of what the program of one layer alone touches. */
static tn_status find_least_rows(bounder *state, tn_error *error) {
    tn_workload *workload = state->parting->workload;
    const tn_step *step = state->step;
    if (!workload->laid)
        TN_TRY(tn_laid_step_make(step, workload->laid_programs, workload->arena, &workload->laid, error));
    const tn_laid_arrays *arrays = workload->laid->arrays;
    for (uint32_t l = 0; l < step->layers; l++) {
        const tn_program *program = arrays->program[l];
        const tn_least_rows *least;
        if (!program) continue;
        TN_TRY(tn_least_rows_find(&workload->laid->programs->least, program,
                                  workload->laid->programs->layers.arena, &least, error));
        for (uint32_t t = 0; t < program->tensors; t++) {
            const uint32_t array = arrays->of_tensor[l][t];
            if (array == NONE || arrays->columns[array] > 0 || state->rows[array] ||
                step->array[array].layer != l)
                continue;
            state->rows[array] = least->rows[t];
            state->slices[array] = tn_laid_slices(arrays, step, l, t);
        }
    }
    return TN_OK;
}

static tn_status find_rows(bounder *state, tn_error *error) {
    const tn_step *step = state->step;
    TN_TRY(TN_NEW(&state->scratch, step->arrays, &state->mapped, error));
    TN_TRY(TN_NEW(&state->scratch, (size_t)step->arrays * TN_USES_MOST, &state->use, error));
    TN_TRY(TN_NEW(&state->scratch, step->arrays, &state->row_log, error));
    TN_TRY(TN_NEW(&state->scratch, step->arrays, &state->own, error));
    TN_TRY(TN_NEW(&state->scratch, KEPT, &state->kept, error));
    TN_TRY(TN_NEW(&state->scratch, step->arrays, &state->rows, error));
    TN_TRY(TN_NEW(&state->scratch, step->arrays, &state->slices, error));
    if (state->is_laid) TN_TRY(find_least_rows(state, error));
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

static uint64_t banks_asked(const tn_build *build, uint32_t row_log) {
    if (build->split == TN_SPLIT_PARTITION && UINT64_C(1) << row_log <= TN_LAYOUT_BANKS_MOST)
        return UINT64_C(1) << row_log;
    return build->split == TN_SPLIT_BANKS ? UINT64_C(1) << (row_log - row_log / 2) : 1;
}

/* Rows of so many elements that the array takes. */
static uint64_t depth_of(const bounder *state, uint32_t array, uint32_t log) {
    const uint64_t unpadded = ((tn_array_stored(&state->step->array[array]) - 1) >> log) + 1;
    if (!state->is_laid || !state->rows[array] || state->step->array[array].stored > 0) return unpadded;
    return tn_greatest(unpadded, state->rows[array][log] * state->slices[array]);
}

static double bits_of(const tn_memory_share *share) {
    return (double)share->bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS +
           (double)share->uram * TN_MEMORY_CAPACITY_URAM_BITS;
}

/* One of `copies` that share a memory of such rows. */
static tn_status share_of(const bounder *state, uint32_t array, uint32_t log, uint64_t copies,
                          tn_memory_share *share, tn_error *error) {
    const uint64_t elements = tn_array_stored(&state->step->array[array]), one = 1,
                   banks = banks_asked(state->build, log);
    const tn_extent extent = {elements, 1};
    const tn_row row = {one << log, banks, depth_of(state, array, log), banks, ((elements - 1) >> log) + 1,
                        1};
    tn_mapped memory = state->mapped[array];
    tn_place place = tn_place_as_built(&memory, state->build);
    memory.copies = place.group = copies;
    memory.extent = &extent;
    return tn_price_share(state->workload->device, state->workload->word_bits, &memory,
                          state->is_laid ? &row : NULL, state->build, &place, share, error);
}

static tn_status least_share(const bounder *state, uint32_t array, kept_core *core, tn_error *error) {
    const uint32_t most =
        state->is_laid ? (uint32_t)tn_greatest(core->least_log, state->widest_log) : core->least_log;
    core->capacity_bits = core->bram18 = core->uram = INFINITY;
    for (uint32_t log = core->least_log; log <= most; log++)
        for (uint64_t copies = 1; copies <= core->group; copies++) {
            tn_memory_share share;
            TN_TRY(share_of(state, array, log, copies, &share, error));
            core->bram18 = fmin(core->bram18, (double)share.bram18 / (double)copies);
            core->uram = fmin(core->uram, (double)share.uram / (double)copies);
            core->capacity_bits = fmin(core->capacity_bits, bits_of(&share) / (double)copies);
        }
    return TN_OK;
}

/* How many like it can be in a memory. */
static uint32_t group_of(const bounder *state, uint32_t array) {
    const tn_array *core = &state->step->array[array];
    uint64_t group = state->build->group;
    if (!core->is_core) return 1;
    const tn_core_limit *limit =
        state->survey
            ? tn_core_limit_find(state->survey, core->elements, state->mapped[array].word_bits, core->role)
            : NULL;
    if (limit && limit->word_bits > 0) group = tn_least(group, limit->layers);
    return (uint32_t)group;
}

/* In a memory of its own, or with others of its class. */
static tn_status price_alone(bounder *state, uint32_t array, tn_price_part *own, tn_error *error) {
    const tn_mapped *mapped = &state->mapped[array];
    const kept_core key = {.elements = tn_array_stored(&state->step->array[array]),
                           .word_bits = mapped->word_bits,
                           .store = mapped->store,
                           .least_log = state->row_log[array],
                           .rows = state->rows[array],
                           .slices = state->slices[array],
                           .group = group_of(state, array)};
    const uint64_t hash = (key.elements * 31 + key.word_bits * 7 + key.least_log * 131 + key.store +
                           2 * key.group + (uint64_t)(uintptr_t)key.rows) *
                          UINT64_C(0x9e3779b97f4a7c15);
    kept_core *kept = &state->kept[hash >> 54];
    bool found = state->is_laid && kept->filled && kept->elements == key.elements &&
                 kept->word_bits == key.word_bits && kept->store == key.store &&
                 kept->least_log == key.least_log && kept->group == key.group && kept->rows == key.rows &&
                 kept->slices == key.slices;
    if (!found) {
        kept_core fresh = key;
        TN_TRY(least_share(state, array, &fresh, error));
        fresh.filled = true;
        *kept = fresh;
    }
    *own = (tn_price_part){.capacity_bits = kept->capacity_bits, .bram18 = kept->bram18, .uram = kept->uram};
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
                         padded =
                             (double)depth_of(state, array, log) * state->padded_density[mapped->store][log];
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
    if (banks_asked(state->build, log) != 1 || asked == TN_STYLE_DISTRIBUTED || asked == TN_STYLE_SHALLOW)
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

/* Whether the array's pool is the same in all designs. */
static bool is_of_fixed_pool(const bounder *state, uint32_t array) {
    const tn_array *this_array = &state->step->array[array];
    return state->survey && state->build->buffers == TN_BUFFERS_POOLED && state->is_laid &&
           state->is_placed && !this_array->is_core && !tn_role_is_activation(this_array->role) &&
           !state->survey->differs[this_array->role];
}

static tn_status price_fixed_memory(const bounder *state, const tn_mapped *memory, double *least,
                                    tn_error *error) {
    const tn_place place = tn_place_as_built(memory, state->build);
    const uint32_t own = tn_log_above(tn_mapped_row(memory, state->build));
    *least = INFINITY;
    for (uint32_t log = own; log <= tn_greatest(own, state->widest_log); log++) {
        const uint64_t banks = banks_asked(state->build, log), one = 1;
        tn_memory_share share;
        uint64_t depth = 0;
        for (uint32_t i = 0; i < memory->extents; i++)
            depth += memory->extent[i].arrays * (((memory->extent[i].elements - 1) >> log) + 1);
        const tn_row row = {one << log, banks, depth, banks, depth, 1};
        TN_TRY(tn_price_share(state->workload->device, state->workload->word_bits, memory, &row, state->build,
                              &place, &share, error));
        *least = fmin(*least, bits_of(&share));
    }
    return TN_OK;
}

static tn_status add_fixed_pools(bounder *state, tn_price_part *part, tn_error *error) {
    const tn_map *map = &state->plan->map;
    bool *done;
    TN_TRY(TN_NEW(&state->scratch, map->memories, &done, error));
    for (uint32_t a = 0; a < state->step->arrays; a++) {
        const uint32_t m = map->memory_of[a];
        double bits;
        if (m == NONE || done[m] || !is_of_fixed_pool(state, a)) continue;
        done[m] = true;
        TN_TRY(price_fixed_memory(state, &map->memory[m], &bits, error));
        part->capacity_bits += bits;
    }
    return TN_OK;
}

static tn_status price_arrays(bounder *state, tn_error *error) {
    const bool pooled = state->build->buffers == TN_BUFFERS_POOLED;
    for (int store = 0; state->is_laid && state->is_placed && pooled && store < TN_STORES; store++)
        for (uint32_t log = 0; log <= state->widest_log; log++)
            TN_TRY(find_density(state, (tn_store)store, log, error));
    for (uint32_t a = 0; a < state->step->arrays; a++) {
        if (state->step->array[a].elements == 0 || state->plan->map.off_chip[a] || is_of_fixed_pool(state, a))
            continue;
        if (state->is_placed && (state->step->array[a].is_core || !pooled))
            TN_TRY(price_alone(state, a, &state->own[a], error));
        else
            price_pooled(state, a, &state->own[a]);
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

/* What lives at the moment; part[units + 1] gets it. */
static void add_living(const bounder *state, int life, tn_moment moment, tn_price_part *part) {
    const tn_step *step = state->step;
    uint32_t first, last, owner;
    tn_price_part most = {0};
    if (!range_of(step, moment, &first, &last)) return;
    owner = state->parting->unit_of_operation[first];
    for (uint32_t a = 0; a < step->arrays; a++) {
        const tn_array *array = &step->array[a];
        uint32_t its = owner_of(state->parting, a);
        if (life_of(state, a) != life || its == owner) continue;
        if (array->first <= first && array->last >= last) add(&part[its], &state->own[a]);
    }
    for (uint32_t i = first; i <= last; i++) {
        tn_price_part sum = {0};
        for (uint32_t a = 0; a < step->arrays; a++) {
            const tn_array *array = &step->array[a];
            if (owner_of(state->parting, a) == owner && array->first <= i && array->last >= i &&
                life_of(state, a) == life)
                add(&sum, &state->own[a]);
        }
        if (sum.capacity_bits > most.capacity_bits) most = sum;
    }
    add(&part[owner], &most);
}

static tn_status add_memories(bounder *state, const tn_part_view *view, tn_price_part *part,
                              tn_error *error) {
    TN_TRY(price_arrays(state, error));
    TN_TRY(add_fixed_pools(state, &part[state->parting->units], error));
    for (uint32_t a = 0; a < state->step->arrays; a++)
        if (life_of(state, a) == TN_LIVES) add(&part[owner_of(state->parting, a)], &state->own[a]);
    for (int life = 0; state->build->buffers == TN_BUFFERS_POOLED && life < TN_LIVES; life++)
        add_living(state, life, view->moment[life], part);
    return TN_OK;
}

/* ---- work ---- */

/* The build with one operation after the other, whose operations take no more than its own. */
static tn_build in_turn(const tn_build *build) {
    tn_build turn = *build;
    turn.vector_units = tn_build_shares_vectors(build) ? TN_UNITS_SHARED : TN_UNITS_OWN;
    turn.schedule = TN_SCHEDULE_SEQUENTIAL;
    turn.blocks = 1;
    turn.layouts = tn_build_searches_layouts(build) ? TN_LAID_BOUND : TN_LAID_IDEALLY;
    return turn;
}

/* An operation in pieces: a cycle for each block of it. */
static double least_of_pieces(const tn_workload *workload, const tn_build *build, const tn_work *work) {
    const tn_product_size *size = &work->size;
    double blocks = (double)size->batch;
    if (work->product) {
        blocks *= (double)tn_ceil_div(size->rows, build->rows) *
                  (double)tn_ceil_div(size->columns, build->columns) *
                  (double)tn_ceil_div(size->reduction, build->reduction);
        if (build->array == TN_ARRAY_SYSTOLIC) /* cells multiply what they hold */
            blocks = (double)size->batch * (double)size->rows * (double)size->columns *
                     (double)size->reduction / ((double)build->rows * (double)build->columns);
    } else {
        blocks = (double)size->rows * (double)size->columns / (double)build->vector;
    }
    (void)workload;
    return floor(blocks * fmin(1, work->cycle_ratio) * fmin(1, work->share));
}

static uint32_t kind_of(const tn_workload *workload, const tn_work *work) {
    return work->product ? work->arithmetic : workload->arithmetics;
}

static double kernels_of(const tn_workload *workload, const tn_build *build, uint32_t kind) {
    return (double)(kind < workload->arithmetics ? tn_workload_matmuls(workload, build, kind)
                                                 : tn_workload_vector_units(workload, build));
}

/* cycles[operations] */
static tn_status find_cycles(bounder *state, double *cycles, tn_work_price *price, tn_error *error) {
    tn_workload *workload = state->parting->workload;
    const tn_build turn = in_turn(state->build);
    const bool in_pieces = state->build->schedule == TN_SCHEDULE_PIPELINED;
    TN_TRY(tn_price_work(workload, state->plan, &turn, price, error));
    for (uint32_t i = 0; i < state->step->operations; i++) {
        const uint32_t work = workload->work_of[i];
        cycles[i] = in_pieces ? least_of_pieces(workload, state->build, &workload->work[work])
                              : (double)workload->cycles[state->plan->off_chip ? i : work];
    }
    if (turn.layouts != TN_LAID_BOUND || in_pieces || state->plan->off_chip) return TN_OK;
    tn_build alone = turn;
    tn_work_price closer;
    alone.layouts = TN_LAID_ALONE;
    TN_TRY(tn_plan_lay(workload, state->plan, &alone, error));
    TN_TRY(tn_price_work(workload, state->plan, &alone, &closer, error));
    for (uint32_t i = 0; i < state->step->operations; i++)
        cycles[i] = fmax(cycles[i], (double)workload->cycles[i]);
    return TN_OK;
}

/* What the step's energy grows by with a cycle that it lasts, and with one that a matmul kernel works. */
static void rates_of(const bounder *state, const tn_work_price *price, double *lasting, double *busy) {
    const tn_device *device = state->workload->device;
    const tn_device_energy *energy = &device->energy;
    const tn_step *step = state->step;
    const tn_resources kernels = tn_workload_kernels(state->workload, state->build, price);
    double volts = energy->voltage_V.value, share = 1;
    if (step->deadline_us > 0 && volts > 0)
        share = fmin(1, fmax(step->least_V, tn_energy_volts(device, 0)) / volts);
    const double pJ = 1e-12 * volts * volts * share * share;
    *lasting = energy->static_W.value * share / (device->clock_MHz * 1e6) +
               pJ * energy->idle_toggle.value * tn_energy_capacitance_pF(device, &kernels);
    for (uint32_t i = 0; i < state->workload->arithmetics; i++)
        busy[i] = pJ * fmax(0, energy->toggle.value - energy->idle_toggle.value) *
                  tn_energy_capacitance_pF(device, &price->matmul[i]);
    if (energy->toggle.value < energy->idle_toggle.value)
        *lasting = energy->static_W.value * share / (device->clock_MHz * 1e6);
}

static tn_status add_work(bounder *state, const tn_part_view *view, tn_price_part *part, tn_error *error) {
    const tn_workload *workload = state->workload;
    const bool in_turn = state->build->schedule == TN_SCHEDULE_SEQUENTIAL;
    double *cycles, lasting, busy[TN_ARITHMETICS_MOST] = {0};
    tn_work_price price;
    TN_TRY(TN_NEW(&state->scratch, state->step->operations, &cycles, error));
    TN_TRY(find_cycles(state, cycles, &price, error));
    rates_of(state, &price, &lasting, busy);
    for (uint32_t i = 0; i < state->step->operations; i++) {
        const tn_work *work = &workload->work[workload->work_of[i]];
        tn_price_part *its = &part[state->parting->unit_of_operation[i]];
        uint32_t kind = kind_of(workload, work);
        double lasts = cycles[i];
        if (!in_turn) lasts = kind == view->kind ? lasts / kernels_of(workload, state->build, kind) : 0;
        its->cycles += lasts;
        its->joules += lasts * lasting;
        /* What waits for external memory is not all work. */
        if (work->product && !state->plan->off_chip) its->joules += cycles[i] * busy[kind];
        its->operations++;
    }
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

static tn_status begin(tn_parting *parting, const tn_build *build, const tn_part_survey *survey,
                       bounder *state, tn_error *error) {
    *state = (bounder){.parting = parting,
                       .survey = survey,
                       .workload = parting->workload,
                       .step = parting->workload->step,
                       .build = build,
                       .is_laid = build->layouts == TN_LAID_AS_FOUND && build->array == TN_ARRAY_LANES,
                       .widest_log = tn_widest_row_log(build)};
    state->is_placed = build->placement == TN_PLACE_AS_BUILT &&
                       parting->workload->device->memory.geometry == TN_GEOMETRY_HLS;
    state->lutram_bits = parting->workload->device->memory.lutram_bits_most;
    if (build->placement == TN_PLACE_SEARCHED || build->split == TN_SPLIT_PARTITION ||
        build->split == TN_SPLIT_BANKS) /* a bank is as small */
        state->lutram_bits <<= state->widest_log;
    TN_TRY(tn_workload_plan(parting->workload, build, &state->plan, error));
    return find_rows(state, error);
}

tn_status tn_parting_bound(tn_parting *parting, const tn_build *this_build, const tn_part_view *view,
                           tn_price_part *part, tn_error *error) {
    const tn_build build = tn_build_effective(this_build);
    bounder state;
    memset(part, 0, (parting->units + 1) * sizeof *part);
    tn_status status = begin(parting, &build, view->survey, &state, error);
    if (status == TN_OK) status = add_work(&state, view, part, error);
    if (status == TN_OK) status = add_memories(&state, view, part, error);
    if (status == TN_OK) add_off_chip(&state, part);
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
    TN_TRY(find_cycles(state, cycles, &price, error));
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

tn_status tn_part_view_choose(tn_parting *parting, const tn_build *this_build, const tn_part_survey *survey,
                              tn_part_view *view, tn_error *error) {
    const tn_build build = tn_build_effective(this_build);
    bounder state;
    *view = (tn_part_view){.survey = survey, .kind = NONE};
    tn_status status = begin(parting, &build, survey, &state, error);
    if (status == TN_OK) status = choose_moments(&state, view, error);
    if (status == TN_OK) status = choose_kind(&state, view, error);
    tn_arena_free(&state.scratch);
    return status;
}

tn_status tn_bound_kernels(tn_workload *workload, const tn_build *build, tn_resources *kernels,
                           tn_error *error) {
    const tn_build effective = tn_build_effective(build), turn = in_turn(&effective);
    tn_work_price work;
    tn_plan *plan;
    TN_TRY(tn_workload_plan(workload, &effective, &plan, error));
    TN_TRY(tn_price_work(workload, plan, &turn, &work, error));
    *kernels = tn_workload_kernels(workload, &effective, &work);
    return TN_OK;
}
