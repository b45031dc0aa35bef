#include "price/work.h"

#include "base/checked.h"
#include "base/memory.h"
#include "kernel/array_kernel.h"
#include "model/technique.h"
#include "price/energy.h"
#include "price/laid_cycles.h"
#include "price/workload_data.h"

#include <math.h>
#include <string.h>

/* ---- cycles of a class ---- */

/* No product of so few tiles takes less with layouts, which may cut it into more of them: sums that wait for each
 * other for want of tiles then wait less. */
static uint64_t least_cycles(const tn_matmul *kernel, const tn_matmul_time *time) {
    uint64_t terms = time->issues / time->interleaved;
    if (time->interval_cycles == 1) return time->cycles;
    return tn_least(time->cycles, terms * kernel->lane.sum.stages - 1 + tn_matmul_fill_cycles(kernel));
}

/* All passes of a vector kernel, every block in a cycle. */
static tn_status vector_cycles(const tn_workload *workload, const tn_vector *kernel,
                               const tn_product_size *size, uint64_t *cycles, tn_error *error) {
    const tn_pass *passes = tn_operation_passes(kernel->kind);
    tn_vector_blocks blocks;
    TN_TRY(tn_vector_plain_blocks(kernel->kind, size->rows, size->columns, &blocks, error));
    *cycles = 0;
    for (int i = 0; i < TN_PASSES_MOST && passes[i].form != TN_PASS_NONE; i++) {
        uint64_t part;
        TN_TRY(tn_workload_pass_cycles(workload, kernel, i, &blocks, &part, error));
        if (!tn_add(*cycles, part, cycles))
            return tn_fail(error, TN_OVERFLOW, "a vector kernel's cycles do not fit 64 bits");
    }
    return TN_OK;
}

tn_status tn_work_cycles(const tn_workload *workload, const tn_work *work, const tn_product_size *size,
                         const tn_build *build, uint64_t *cycles, uint64_t *issues, tn_error *error) {
    *issues = 0;
    if (!work->product) {
        /* As laid it is copied at once, or row by row: the theorem of price/bound.h. */
        const bool copied = build->layouts == TN_LAID_BOUND && work->vector == TN_OP_SCATTER;
        const tn_vector kernel =
            tn_workload_vector(workload, build, copied ? TN_OP_LOOKUP : (tn_operation_kind)work->vector);
        TN_TRY(vector_cycles(workload, &kernel, size, cycles, error));
    } else if (build->array == TN_ARRAY_SYSTOLIC) {
        const tn_matmul kernel = tn_workload_matmul(workload, build, work->arithmetic);
        tn_array_time time;
        TN_TRY(tn_array_kernel_cycles(&kernel, (tn_phase)work->phase, size, &time, error));
        *cycles = time.cycles;
    } else {
        const tn_matmul kernel = tn_workload_matmul(workload, build, work->arithmetic);
        tn_matmul_time time;
        TN_TRY(tn_matmul_cycles(&kernel, size, &time, error));
        *cycles = build->layouts == TN_LAID_BOUND ? least_cycles(&kernel, &time) : time.cycles;
        *issues = time.issues;
    }
    *cycles = tn_scaled_up(*cycles, work->cycle_ratio);
    *cycles += tn_write_back_cycles(work->operation, &workload->vector_operators);
    const tn_device_control *control = &workload->device->control;
    *cycles += work->product ? control->product_cycles
                             : control->vector_cycles * tn_vector_starts((tn_operation_kind)work->vector);
    *cycles = tn_scaled_up(*cycles, work->share);
    return TN_OK;
}

/* ---- traffic ---- */

/* Parameters, gradients and optimizer state are written where they stay. */
static bool store_is_core(const tn_array *array) {
    return !tn_role_is_activation(array->role);
}

/* Words that a product reads of its left and right operand. */
static void operand_words(const tn_workload *workload, const tn_work *work, const tn_build *build,
                          uint64_t issues, double words[2]) {
    if (build->array == TN_ARRAY_SYSTOLIC) {
        const tn_matmul kernel = tn_workload_matmul(workload, build, work->arithmetic);
        tn_array_time time; /* which fitted before */
        if (tn_array_kernel_cycles(&kernel, (tn_phase)work->phase, &work->size, &time, NULL) != TN_OK) return;
        for (int side = 0; side < 2; side++) words[side] = (double)time.words[side];
        return;
    }
    double terms = (double)tn_least(build->reduction, work->size.reduction) * (double)issues;
    words[0] = terms * (double)tn_least(build->rows, work->size.rows);
    words[1] = terms * (double)tn_least(build->columns, work->size.columns);
}

static void add_traffic(const tn_workload *workload, const tn_work *work, const tn_build *build,
                        uint64_t issues, tn_work_price *price) {
    double count = (double)work->count * work->share;
    double elements = count * (double)work->size.rows * (double)work->size.columns;
    if (!work->product) {
        double passes = (double)tn_vector_passes((tn_operation_kind)work->vector);
        for (int store = 0; store < TN_STORES; store++)
            price->words[store] += elements * (passes * work->reads[store] + work->writes[store]);
        return;
    }
    double words[2] = {0};
    operand_words(workload, work, build, issues, words);
    for (int side = 0; side < 2; side++)
        price->words[work->side_store[side]] += count * words[side] * fmin(1, work->cycle_ratio);
    for (int store = 0; store < TN_STORES; store++)
        price->words[store] += elements * (double)work->size.batch * work->writes[store];
    for (uint32_t i = 0; i < work->operation->fused_count; i++) {
        uint32_t read = work->operation->fused[i].read;
        if (read == UINT32_MAX) continue;
        bool core = store_is_core(&workload->step->array[work->operation->reads[read]]);
        price->words[core ? TN_STORE_CORES : TN_STORE_ACTIVATIONS] +=
            count * (double)tn_write_back_words(work->operation, i, build);
    }
}

/* Lanes behind the sums work in the cycle in which a tile leaves these. */
static void add_write_backs(const tn_workload *workload, const tn_build *build, tn_work_price *price) {
    if (!workload->writing_back) return;
    uint64_t edge[2];
    tn_side_edges(TN_SIDE_RESULT, build, edge);
    for (uint32_t i = 0; i < workload->works; i++) {
        const tn_work *work = &workload->work[i];
        if (work->operation->fused_count == 0) continue;
        const tn_resources used = tn_workload_write_back(workload, build, work->arithmetic);
        double tiles = (double)work->size.batch * (double)tn_ceil_div(work->size.rows, edge[0]) *
                       (double)tn_ceil_div(work->size.columns, edge[1]);
        price->vector_busy_pF +=
            tn_energy_capacitance_pF(workload->device, &used) * tiles * (double)work->count * work->share;
    }
}

static tn_resources unit_resources(const tn_workload *workload, const tn_build *build, const bool *kinds) {
    uint64_t lanes[TN_OPERATION_KINDS] = {0};
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++)
        if (kinds[kind]) lanes[kind] = tn_workload_vector(workload, build, (tn_operation_kind)kind).lanes;
    return tn_vector_unit_resources(workload->device, lanes, &workload->vector_operators);
}

tn_resources tn_workload_vector_kernels(const tn_workload *workload, const tn_build *build,
                                        const bool *kinds) {
    tn_resources all = {0};
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++) {
        if (!kinds[kind]) continue;
        if (tn_build_shares_vectors(build)) return unit_resources(workload, build, kinds);
        const tn_vector kernel = tn_workload_vector(workload, build, (tn_operation_kind)kind);
        const tn_resources used = tn_vector_resources(workload->device, &kernel);
        tn_resources_add(&all, &used, 1);
    }
    return all;
}

static void add_vector_unit(const tn_workload *workload, const tn_build *build, const uint64_t *busy,
                            tn_work_price *price) {
    price->vectors = unit_resources(workload, build, workload->vector_used);
    double capacitance_pF = tn_energy_capacitance_pF(workload->device, &price->vectors);
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++)
        price->vector_busy_pF += capacitance_pF * (double)busy[kind];
}

static void add_vector_kernels(const tn_workload *workload, const tn_build *build, const uint64_t *busy,
                               tn_work_price *price) {
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++) price->vector_cycles += busy[kind];
    if (workload->vectors > 0 && tn_build_shares_vectors(build)) {
        add_vector_unit(workload, build, busy, price);
        return;
    }
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++) {
        if (!workload->vector_used[kind]) continue;
        const tn_vector kernel = tn_workload_vector(workload, build, (tn_operation_kind)kind);
        tn_resources used = tn_vector_resources(workload->device, &kernel);
        double capacitance_pF = tn_energy_capacitance_pF(workload->device, &used);
        tn_resources_add(&price->vectors, &used, 1);
        price->vector_busy_pF += capacitance_pF * (double)busy[kind];
    }
}

/* By operation instead of by class; downwards, as cycles by class are in the same place. */
static void spread_classes(tn_workload *workload) {
    for (uint32_t i = workload->step->operations; i-- > 0;) {
        workload->cycles[i] = workload->cycles[workload->work_of[i]];
        workload->piece_cycles[i] = workload->piece_cycles[workload->work_of[i]];
    }
}

/* What tiles take more than the whole product: each is a product of its own, whose pipeline fills and drains, and is
 * rounded up to the kernel's edges. */
static tn_status add_tiles(tn_workload *workload, const tn_plan *plan, const tn_build *this_build, uint32_t i,
                           tn_error *error) {
    tn_build ideal = *this_build, *build = &ideal;
    ideal.layouts = TN_LAID_IDEALLY; /* what tiles take more is the same for every layout, and for bounds */
    const tn_tiling *tiling = &plan->map.tiling[i];
    const tn_work *work = &workload->work[workload->work_of[i]];
    uint64_t one, all, issues, tiled;
    if (tiling->tiles == 0) return TN_OK;
    const tn_product_size tile = {1, tiling->rows, tiling->reduction, tiling->columns};
    TN_TRY(tn_work_cycles(workload, work, &tile, build, &one, &issues, error));
    TN_TRY(tn_work_cycles(workload, work, &work->size, build, &all, &issues, error));
    if (!tn_mul(one, tiling->tiles, &tiled) ||
        !tn_add(workload->cycles[i], tiled > all ? tiled - all : 0, &workload->cycles[i]))
        return tn_fail(error, TN_OVERFLOW, "the cycles of a tiled product do not fit 64 bits");
    return TN_OK;
}

/* Kernels read staging memories, wherever the array that they hold is kept; and a transfer writes or reads every word of
 * them once more. */
static void stage_words(const tn_workload *workload, const tn_plan *plan, const tn_build *build, uint32_t i,
                        tn_work_price *price) {
    const tn_operation *operation = &workload->step->operation[i];
    const tn_work *work = &workload->work[workload->work_of[i]];
    const double elements = (double)work->size.batch * (double)work->size.rows * (double)work->size.columns;
    double words[2] = {0}, moved = 0, of_cores = 0;
    if (work->product) operand_words(workload, work, build, workload->issues[workload->work_of[i]], words);
    for (uint32_t j = 0; j < operation->read_count; j++)
        if (plan->map.off_chip[operation->reads[j]] &&
            store_is_core(&workload->step->array[operation->reads[j]]))
            of_cores += !work->product ? elements * (double)tn_vector_passes((tn_operation_kind)work->vector)
                        : j < TN_PRODUCT_OPERANDS ? words[j] * fmin(1, work->cycle_ratio)
                                                  : 0;
    for (uint32_t j = 0; j < operation->write_count; j++)
        if (plan->map.off_chip[operation->writes[j]] &&
            store_is_core(&workload->step->array[operation->writes[j]]))
            of_cores += elements;
    for (uint32_t j = 0; j < plan->moves[i].operands; j++)
        moved += (double)plan->moves[i].operand[j].elements;
    price->words[TN_STORE_CORES] -= of_cores * work->share;
    price->words[TN_STORE_ACTIVATIONS] += (of_cores + moved) * work->share;
}

/* An operation takes as long as its kernel or the transfers that run beside it, and those that do not (price/moves.h). */
static tn_status add_transfers(tn_workload *workload, const tn_plan *plan, const tn_build *build,
                               uint64_t blocks, tn_work_price *price, tn_error *error) {
    const tn_external_memory *external = workload->device->external.item;
    for (uint32_t i = 0; i < workload->step->operations; i++) {
        const double share = workload->work[workload->work_of[i]].share;
        tn_moves_time time;
        if (plan->moves[i].operands == 0) continue;
        TN_TRY(add_tiles(workload, plan, build, i, error));
        stage_words(workload, plan, build, i, price);
        tn_moves_cycles(external, workload->device->clock_MHz, build, &plan->moves[i], &time);
        const uint64_t beside = tn_scaled_up(time.beside, share),
                       alone = tn_scaled_up(time.edge + time.latency, share);
        const uint64_t waiting = (beside > workload->cycles[i] ? beside - workload->cycles[i] : 0) + alone;
        workload->cycles[i] += waiting;
        price->moving_cycles += waiting;
        workload->piece_cycles[i] =
            tn_greatest(workload->piece_cycles[i], tn_ceil_div(beside, blocks)) + tn_ceil_div(alone, blocks);
    }
    price->words[TN_STORE_CORES] = fmax(0, price->words[TN_STORE_CORES]); /* rounding */
    return TN_OK;
}

/* What operations take with their operands where they were laid. A block of one is priced as its share of the whole. */
static tn_status lay_operations(tn_workload *workload, const tn_plan *plan, const tn_build *build,
                                uint64_t blocks, tn_work_price *price, uint64_t *busy, tn_error *error) {
    const tn_operation_groups *groups = &plan->groups;
    for (uint32_t g = 0; g < groups->count; g++)
        TN_TRY(tn_laid_cycles(workload, plan, build, groups->first[g], &groups->time[g], error));
    for (uint32_t i = 0; i < workload->step->operations; i++) {
        const tn_work *work = &workload->work[workload->work_of[i]];
        const tn_laid_time *time = &groups->time[groups->of_operation[i]];
        if (time->cycles == 0) continue;
        uint64_t *kernel = work->product ? &price->product_cycles[work->arithmetic] : &busy[work->vector];
        *kernel += time->cycles + time->start_cycles - workload->cycles[i];
        workload->cycles[i] = time->cycles + time->start_cycles;
        workload->piece_cycles[i] =
            tn_greatest(workload->piece_cycles[i], tn_ceil_div(time->cycles, blocks) + time->start_cycles);
    }
    return TN_OK;
}

static tn_status price_class(tn_workload *workload, uint32_t index, const tn_build *build, uint64_t blocks,
                             tn_error *error) {
    const tn_work *work = &workload->work[index];
    tn_product_size piece = work->size;
    uint64_t issues;
    TN_TRY(tn_work_cycles(workload, work, &work->size, build, &workload->cycles[index],
                          &workload->issues[index], error));
    if (blocks == 1) return TN_OK;
    piece.rows = tn_ceil_div(piece.rows, blocks);
    return tn_work_cycles(workload, work, &piece, build, &workload->piece_cycles[index], &issues, error);
}

/* Whether cycles differ within a class of operations. */
static bool by_operation(const tn_plan *plan, const tn_build *build) {
    return plan->off_chip || tn_build_searches_layouts(build);
}

void tn_price_run(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_schedule *schedule,
                  uint64_t *cycles) {
    uint32_t resources;
    for (uint32_t i = 0; i < workload->step->operations; i++)
        plan->task[i].work = by_operation(plan, build) ? i : workload->work_of[i];
    tn_tasks_make(workload->step, workload->unit_of, &plan->map, plan->place, &plan->waits, build, plan->task,
                  plan->servers, &resources);
    *schedule = (tn_schedule){.tasks = workload->step->operations,
                              .resources = resources,
                              .blocks = (uint32_t)build->blocks,
                              .task = plan->task,
                              .servers = plan->servers,
                              .cycles = workload->cycles,
                              .piece_cycles = workload->piece_cycles};
    tn_schedule_run(schedule, &plan->scratch, workload->time, cycles);
}

static void add_cells(const tn_workload *workload, uint32_t array, bool stays, double lives_us,
                      uint64_t refreshes, tn_work_price *price) {
    const double words = (double)tn_array_stored(&workload->step->array[array]);
    tn_cells_price *cells = &price->cells;
    price->refresh_pJ +=
        (double)refreshes * words *
        (workload->device_cells && !workload->step->refresh_given
             ? workload->device->edram.refresh_pJ_per_bit * (double)tn_array_word_bits(workload->step, array)
             : workload->step->refresh_pJ);
    if (stays) {
        cells->staying_words += words;
        cells->staying_refreshes += (double)refreshes * words;
        return;
    }
    cells->longest_us = fmax(cells->longest_us, lives_us);
    cells->arrays++;
    cells->words += words;
    cells->refreshed_arrays += refreshes > 0;
    if (refreshes > 0) cells->refreshed_words += words;
    cells->refreshes += (double)refreshes * words;
}

/* Refreshes of what lives in cells that lose it: lifetimes from the first operation's start to the last one's end. */
static tn_status add_refreshes(tn_workload *workload, const tn_plan *plan, const tn_build *build,
                               tn_work_price *price, tn_error *error) {
    const tn_step *step = workload->step;
    bool sequential = build->schedule == TN_SCHEDULE_SEQUENTIAL;
    double us_per_cycle = 1 / workload->device->clock_MHz;
    uint64_t *end, now = 0, all = 0;
    if (workload->retention_us <= 0) return TN_OK;
    price->cells.lose = true;
    price->cells.retention_us = workload->retention_us;
    TN_TRY(TN_ALLOC(step->operations, &end, error));
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < step->operations; i++) {
        now += workload->cycles[by_operation(plan, build) ? i : workload->work_of[i]];
        end[i] = now;
        if (!sequential && workload->time[i].finish > all) all = workload->time[i].finish;
    }
    if (sequential) all = now;
    for (uint32_t i = 0; i < step->arrays && status == TN_OK; i++) {
        const tn_array *array = &step->array[i];
        uint64_t refreshes;
        const bool stays = array->last >= step->operations; /* from step to step */
        if (array->first >= step->operations || (!workload->device_cells && (store_is_core(array) || stays)))
            continue;
        uint64_t begin = array->first == 0 ? 0 : end[array->first - 1], last = stays ? all : end[array->last];
        if (!sequential) {
            begin = stays ? 0 : workload->time[array->first].start;
            last = stays ? all : workload->time[array->last].finish;
        }
        const double lives_us = (double)(last - begin) * us_per_cycle;
        status = tn_refreshes(lives_us, workload->retention_us, &refreshes, error);
        if (status == TN_OK) add_cells(workload, i, stays, lives_us, refreshes, price);
    }
    tn_free(end);
    return status;
}

/* How often an operation runs for a mean input tells where inputs leave: one that leaves at an exit runs what at least as many
 * come to. */
static void tell_exits(const tn_workload *workload, const tn_plan *plan, const tn_build *build,
                       tn_work_price *price) {
    const tn_step *step = workload->step;
    double reach[TN_EXIT_WORKS_MOST + 1];
    uint32_t exits = 0;
    if (step->deadline_us <= 0) return;
    for (uint32_t i = 0; i < step->operations; i++) {
        const double share = fmin(1, workload->work[workload->work_of[i]].share);
        uint32_t place = 0;
        while (place < exits && reach[place] > share) place++;
        if (place < exits && reach[place] == share) continue;
        if (exits == TN_EXIT_WORKS_MOST) return;
        memmove(&reach[place + 1], &reach[place], (exits++ - place) * sizeof *reach);
        reach[place] = share;
    }
    for (uint32_t e = 0; e < exits; e++) {
        price->exit[e] = (tn_exit_work){.share = reach[e] - (e + 1 < exits ? reach[e + 1] : 0)};
        for (uint32_t i = 0; i < step->operations; i++) {
            const double share = workload->work[workload->work_of[i]].share;
            if (fmin(1, share) < reach[e]) continue;
            price->exit[e].cycles +=
                (double)workload->cycles[by_operation(plan, build) ? i : workload->work_of[i]] /
                fmin(1, share);
        }
    }
    price->exits = exits;
}

/* The classes of products; */
static tn_status price_products(tn_workload *workload, const tn_build *build, uint64_t blocks,
                                tn_work_price *price, tn_error *error) {
    for (uint32_t i = 0; i < workload->works; i++) {
        const tn_work *work = &workload->work[i];
        if (!work->product) continue;
        TN_TRY(price_class(workload, i, build, blocks, error));
        price->product_cycles[work->arithmetic] += workload->cycles[i] * work->count;
        add_traffic(workload, work, build, workload->issues[i], price);
        price->cycles_per_step += workload->cycles[i] * work->count;
    }
    return TN_OK;
}

/* and the kernels that do them. */
static void add_matmuls(const tn_workload *workload, const tn_build *build, tn_work_price *price) {
    for (uint32_t i = 0; i < workload->arithmetics; i++) {
        const tn_matmul kernel = tn_workload_matmul(workload, build, i);
        price->matmul[i] = tn_matmul_resources(workload->device, &kernel);
    }
    add_write_backs(workload, build, price);
}

/* The classes of vector kernels; busy: cycles by kind. */
static tn_status price_vectors(tn_workload *workload, const tn_build *build, uint64_t blocks, uint64_t *busy,
                               tn_work_price *price, tn_error *error) {
    for (uint32_t i = 0; i < workload->works; i++) {
        const tn_work *work = &workload->work[i];
        if (work->product) continue;
        TN_TRY(price_class(workload, i, build, blocks, error));
        uint64_t cycles = workload->cycles[i] * work->count;
        price->cycles_per_step += cycles;
        busy[work->vector] += cycles;
        add_traffic(workload, work, build, 0, price);
    }
    return TN_OK;
}

bool tn_work_splits(const tn_workload *workload, const tn_plan *plan, const tn_build *build) {
    return build->schedule == TN_SCHEDULE_SEQUENTIAL && !plan->off_chip && workload->retention_us <= 0 &&
           workload->step->deadline_us <= 0;
}

/* What the operation takes more than its class, modulo 2^64. */
static tn_status lay_operation(tn_workload *workload, const tn_plan *plan, const tn_build *build,
                               uint32_t operation, uint64_t *more, tn_error *error) {
    const uint32_t class = workload->work_of[operation];
    tn_laid_time time;
    uint64_t issues;
    TN_TRY(tn_laid_cycles(workload, plan, build, operation, &time, error));
    uint64_t cycles = time.cycles + time.start_cycles;
    if (time.cycles == 0) /* ideally */
        TN_TRY(tn_work_cycles(workload, &workload->work[class], &workload->work[class].size, build, &cycles,
                              &issues, error));
    *more = cycles - workload->cycles[class];
    return TN_OK;
}

/* The i-th of the heaviest groups. */
static tn_status lay_product(tn_workload *workload, const tn_plan *plan, const tn_build *build,
                             tn_product_groups *groups, uint32_t i, tn_work_price *price, tn_error *error) {
    const uint32_t group = groups->heaviest[i], operation = groups->first[group];
    uint64_t more;
    TN_TRY(lay_operation(workload, plan, build, operation, &more, error));
    more *= groups->size[group];
    price->product_cycles[workload->work[workload->work_of[operation]].arithmetic] += more;
    price->cycles_per_step += more;
    groups->more_cycles[group] = more <= INT64_MAX && !workload->laid->arrays->clears[operation] ? more : 0;
    if (i == 0 || groups->more_cycles[group] <= groups->more_cycles[groups->heaviest[i - 1]]) return TN_OK;
    groups->heaviest[i] = groups->heaviest[i - 1]; /* comes before it the next time */
    groups->heaviest[i - 1] = group;
    return TN_OK;
}

/* What products take whatever their layouts, under the keys that bear on them. */
typedef struct tn_counted_products {
    bool filled;
    tn_build key;
    uint64_t *cycles; /* [works], as in the workload */
    tn_work_price price;
} counted_products;

static tn_status begin_counted(tn_workload *workload, tn_error *error) {
    if (workload->counted) return TN_OK;
    counted_products *made;
    TN_TRY(TN_NEW(workload->arena, 1, &made, error));
    TN_TRY(TN_NEW(workload->arena, workload->works, &made->cycles, error));
    workload->counted = made;
    return TN_OK;
}

/* The classes of products whatever their layouts: those of one kernel are asked for again with each of its layouts. */
static tn_status count_products(tn_workload *workload, const tn_build *build, tn_work_price *price,
                                tn_error *error) {
    const size_t bytes = workload->works * sizeof *workload->cycles;
    tn_build key = tn_build_masked(build, &workload->of_products);
    key.layouts = TN_LAID_BOUND;
    TN_TRY(begin_counted(workload, error));
    counted_products *counted = workload->counted;
    if (!counted->filled || memcmp(&counted->key, &key, sizeof key) != 0) {
        counted->filled = false;
        counted->price = (tn_work_price){0};
        TN_TRY(price_products(workload, &key, 1, &counted->price, error));
        memcpy(counted->cycles, workload->cycles, bytes);
        counted->key = key;
        counted->filled = true;
    }
    memcpy(workload->cycles, counted->cycles, bytes);
    *price = counted->price;
    return TN_OK;
}

tn_status tn_price_products(tn_workload *workload, tn_plan *plan, const tn_build *build, uint64_t enough,
                            tn_work_price *price, bool *whole, tn_error *error) {
    tn_product_groups *groups =
        build->layouts == TN_LAID_CLOSELY ? &plan->groups.bounded : &plan->groups.products;
    *price = (tn_work_price){0};
    *whole = true;
    if (build->layouts != TN_LAID_IDEALLY)
        TN_TRY(count_products(workload, build, price, error));
    else
        TN_TRY(price_products(workload, build, 1, price, error));
    for (uint32_t i = 0; tn_build_searches_layouts(build) && i < groups->count && *whole; i++) {
        *whole = price->cycles_per_step < enough;
        if (*whole) TN_TRY(lay_product(workload, plan, build, groups, i, price, error));
    }
    add_matmuls(workload, build, price);
    return TN_OK;
}

tn_status tn_price_vectors(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_work_price *price,
                           tn_error *error) {
    const tn_operation_groups *groups = &plan->groups;
    uint64_t busy[TN_OPERATION_KINDS] = {0}, more;
    *price = (tn_work_price){0};
    TN_TRY(price_vectors(workload, build, 1, busy, price, error));
    for (uint32_t g = 0; tn_build_searches_layouts(build) && g < groups->count; g++) {
        const tn_work *work = &workload->work[workload->work_of[groups->first[g]]];
        if (work->product) continue;
        TN_TRY(lay_operation(workload, plan, build, groups->first[g], &more, error));
        busy[work->vector] += groups->size[g] * more;
        price->cycles_per_step += groups->size[g] * more;
    }
    add_vector_kernels(workload, build, busy, price);
    return TN_OK;
}

/* The latest that an operation ends if each begins with the end of the last that it waits for. */
static uint64_t longest_chain(const tn_workload *workload) {
    const tn_step *step = workload->step;
    uint64_t *end = workload->issues, most = 0; /* scratch: what is left there is not read again */
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        end[i] = 0;
        for (uint32_t k = 0; k < operation->after_count; k++)
            end[i] = tn_greatest(end[i], end[operation->after[k]]);
        end[i] += workload->cycles[i];
        most = tn_greatest(most, end[i]);
    }
    return most;
}

void tn_work_add_vectors(tn_work_price *products, const tn_work_price *vectors) {
    products->cycles_per_step += vectors->cycles_per_step;
    products->vectors = vectors->vectors;
    products->vector_cycles = vectors->vector_cycles;
    products->vector_busy_pF += vectors->vector_busy_pF;
    for (int store = 0; store < TN_STORES; store++) products->words[store] += vectors->words[store];
}

void tn_work_lower(tn_work_price *least, const tn_work_price *other) {
    least->cycles_per_step = tn_least(least->cycles_per_step, other->cycles_per_step);
    least->chain_cycles = tn_least(least->chain_cycles, other->chain_cycles);
    least->vector_cycles = tn_least(least->vector_cycles, other->vector_cycles);
    least->vector_busy_pF = fmin(least->vector_busy_pF, other->vector_busy_pF);
    least->moving_cycles = tn_least(least->moving_cycles, other->moving_cycles);
    least->refresh_pJ = fmin(least->refresh_pJ, other->refresh_pJ);
    for (int store = 0; store < TN_STORES; store++)
        least->words[store] = fmin(least->words[store], other->words[store]);
    for (uint32_t i = 0; i < TN_ARITHMETICS_MOST; i++) {
        least->product_cycles[i] = tn_least(least->product_cycles[i], other->product_cycles[i]);
        tn_resources_lower(&least->matmul[i], &other->matmul[i]);
    }
    tn_resources_lower(&least->vectors, &other->vectors);
}

tn_status tn_price_work(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_work_price *price,
                        tn_error *error) {
    uint64_t busy[TN_OPERATION_KINDS] = {0};
    uint64_t blocks = build->schedule == TN_SCHEDULE_PIPELINED ? build->blocks : 1;
    tn_work_price vectors = {0};
    *price = (tn_work_price){0};
    TN_TRY(price_products(workload, build, blocks, price, error));
    TN_TRY(price_vectors(workload, build, blocks, busy, &vectors, error));
    add_matmuls(workload, build, price);
    if (by_operation(plan, build)) {
        spread_classes(workload);
        if (tn_build_searches_layouts(build))
            TN_TRY(lay_operations(workload, plan->on_chip ? plan->on_chip : plan, build, blocks, price, busy,
                                  error));
    }
    add_vector_kernels(workload, build, busy, &vectors);
    tn_work_add_vectors(price, &vectors);
    if (by_operation(plan, build)) {
        if (plan->off_chip) TN_TRY(add_transfers(workload, plan, build, blocks, price, error));
        price->cycles_per_step = 0;
        for (uint32_t i = 0; i < workload->step->operations; i++)
            price->cycles_per_step += workload->cycles[i];
        if (build->layouts == TN_LAID_CLOSELY) price->chain_cycles = longest_chain(workload);
    }
    tell_exits(workload, plan, build, price);
    if (build->schedule == TN_SCHEDULE_SEQUENTIAL) return add_refreshes(workload, plan, build, price, error);
    tn_schedule schedule;
    TN_TRY(tn_plan_tasks(workload, plan, error));
    const tn_resources kernels = tn_workload_kernels(workload, build, price);
    TN_TRY(tn_plan_places(workload, plan, build, kernels.lut, NULL, error));
    tn_price_run(workload, plan, build, &schedule, &price->cycles_per_step);
    return add_refreshes(workload, plan, build, price, error);
}

tn_resources tn_workload_kernels(const tn_workload *workload, const tn_build *build,
                                 const tn_work_price *work) {
    const tn_resources write_backs = tn_workload_write_backs(workload, build);
    tn_resources all = work->vectors;
    tn_resources_add(&all, &write_backs, 1);
    for (uint32_t i = 0; i < workload->arithmetics; i++)
        tn_resources_add(&all, &work->matmul[i], tn_workload_matmuls(workload, build, i));
    return all;
}
