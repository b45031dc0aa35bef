#include "price/waterfall.h"

#include "base/checked.h"
#include "kernel/vector.h"
#include "price/laid_cycles.h"
#include "price/plan.h"
#include "price/work.h"
#include "price/workload_data.h"
#include "program/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *part, *keys;
} rows[TN_FALLS] = {
    [TN_FALL_FLOOR] = {"every DSP block multiplies all the time",
                       "weights.NAME.folding, weights.NAME.rank, weights.NAME.flow, precision"},
    [TN_FALL_ENGINE] = {"multipliers that the engine does not have",
                        "build.rows, build.columns, build.reduction"},
    [TN_FALL_EDGES] = {"lanes that the edges of products leave empty",
                       "build.rows, build.columns, build.reduction, weights.NAME.folding, weights.NAME.rank"},
    [TN_FALL_SUMS] = {"sums that wait for an adder, and padding of their rounds",
                      "build.reduction, build.rows, build.columns, weights.NAME.flow"},
    [TN_FALL_LAYOUTS] = {"issues that layouts add",
                         "build.split, build.skew, weights.NAME.folding, weights.NAME.flow"},
    [TN_FALL_DRAINS] = {"products that start, fill and drain",
                        "weights.NAME.flow, weights.NAME.folding, build.reduction, build.fusion"},
    [TN_FALL_SLICES] = {"slices of gradients, zeroed and added token by token",
                        "weights.NAME.format, build.vector"},
    [TN_FALL_VECTOR] = {"elements of the vector unit",
                        "build.vector, build.lane_dsp, build.lane_lut, build.fusion"},
    [TN_FALL_VECTOR_SUMS] = {"its sums that wait for an adder", "build.vector, build.fusion"},
    [TN_FALL_VECTOR_LAYOUTS] = {"its issues that layouts add", "build.split, build.vector"},
    [TN_FALL_VECTOR_DRAINS] = {"its passes that start and drain", "build.fusion, batch"},
    [TN_FALL_MOVES] = {"arrays that lie outside", "build.off_chip_over_bytes, build.off_chip_tile_bytes"},
    [TN_FALL_BESIDE] = {"saved by what runs side by side",
                        "build.schedule, build.kernels, build.sharing, build.read_ports"},
};

typedef struct {
    tn_workload *workload;
    const tn_plan *plan;
    const tn_build *build;
    tn_arena *arena;
    tn_error *error;
    double blocks; /* DSP blocks times cycles, of the operations so far */
    tn_fall_line *line;
    uint32_t groups, *group_of; /* of operations: of one kind and phase, and layers of one kind */
    tn_fall_group *group;       /* [TN_FALLS * groups] */
} teller;

/* ---- counts of one operation, each with all before it ---- */

typedef struct {
    int64_t fall[TN_FALLS];
    int64_t reached;
} counted;

static void reach(counted *count, tn_fall part, uint64_t cycles) {
    count->fall[part] += (int64_t)cycles - count->reached;
    count->reached = (int64_t)cycles;
}

/* Leaves `rest` cycles for the parts behind. */
static void reach_rest(counted *count, tn_fall part, uint64_t cycles, uint64_t rest) {
    const int64_t reached = (int64_t)cycles - (int64_t)rest;
    count->fall[part] += reached - count->reached;
    count->reached = reached;
}

static double dsp_of(const tn_workload *workload, const tn_work *work) {
    const tn_lane *lane = &workload->lane[work->arithmetic];
    return (double)lane->multiply.dsp / (double)lane->packed +
           (double)(lane->group > 1 ? lane->tree.dsp : lane->sum.dsp);
}

/* Cycles of all DSP blocks for the operations so far; the last one counts whole. */
static uint64_t floor_so_far(const teller *telling) {
    const double has = (double)telling->workload->device->resources.dsp;
    return has > 0 ? (uint64_t)ceil(telling->blocks / has) : 0;
}

static void count_floor(teller *telling, const tn_operation *operation, const tn_work *work, counted *count) {
    const uint64_t before = floor_so_far(telling);
    telling->blocks += (double)operation->macs * dsp_of(telling->workload, work);
    reach(count, TN_FALL_FLOOR, floor_so_far(telling) - before);
}

/* A look-up in cores is so many products, one a token. Of operations that some steps or issues leave out, a share. */
static tn_status count_product(teller *telling, const tn_operation *operation, const tn_work *work,
                               const tn_laid_time *time, uint64_t cycles, counted *count) {
    const tn_build *build = telling->build;
    const tn_matmul kernel = tn_workload_matmul(telling->workload, build, work->arithmetic);
    const uint64_t lanes = build->rows * build->columns * build->reduction,
                   own = cycles - tn_least(cycles, tn_scaled_up(time->pass_cycles, work->share)),
                   fill = tn_matmul_fill_cycles(&kernel) - 1,
                   start = telling->workload->device->control.product_cycles +
                           tn_write_back_cycles(operation, &telling->workload->vector_operators);
    const bool cut = time->products > 0 && work->size.batch % time->products == 0;
    const uint64_t times = cut ? time->products : 1;
    reach(count, TN_FALL_ENGINE, tn_ceil_div(operation->macs, lanes));
    if (build->array == TN_ARRAY_LANES) {
        tn_product_size one = work->size;
        tn_matmul_time ideal;
        one.batch /= times;
        TN_TRY(tn_matmul_cycles(&kernel, &one, &ideal, telling->error));
        const uint64_t tiles = one.batch * tn_ceil_div(one.rows, build->rows) *
                               tn_ceil_div(one.columns, build->columns),
                       issues = tiles * tn_ceil_div(one.reduction, build->reduction),
                       waited = (ideal.issues - 1) * ideal.interval_cycles + 1,
                       drained = tn_scaled_up(fill, work->cycle_ratio) + start;
        reach(count, TN_FALL_EDGES, tn_scaled_up(times * issues, work->cycle_ratio * work->share));
        reach(count, TN_FALL_SUMS, tn_scaled_up(times * waited, work->cycle_ratio * work->share));
        reach_rest(count, TN_FALL_LAYOUTS, own, tn_scaled_up(times * drained, work->share));
    }
    reach(count, TN_FALL_DRAINS, own);
    reach(count, TN_FALL_SLICES, cycles);
    return TN_OK;
}

/* The passes of a row, over all elements in ideal words; or one that is done row by row. */
static tn_status count_vector(teller *telling, const tn_work *work, const tn_laid_time *time, uint64_t cycles,
                              counted *count) {
    tn_operation_kind kind = (tn_operation_kind)work->vector;
    if (kind == TN_OP_SCATTER && time->passes > 0) /* as laid: added row by row, or copied at once */
        kind = tn_moves_by_row(telling->workload->step, work->operation) ? TN_OP_ADD : TN_OP_LOOKUP;
    const tn_pass *pass = tn_operation_passes(kind);
    const tn_vector kernel = tn_workload_vector(telling->workload, telling->build, kind);
    const uint64_t lanes = kernel.lanes, all = tn_vector_starts(kernel.kind),
                   start = telling->workload->device->control.vector_cycles;
    tn_vector_blocks blocks = {work->size.rows, work->size.columns, {1, 1}, {1, 1}};
    uint64_t elements = 0, waited = 0, drained = 0;
    if (tn_operation_is_elementwise(kernel.kind)) {
        blocks.columns *= blocks.rows;
        blocks.rows = 1;
    }
    for (int i = 0; i < TN_PASSES_MOST && pass[i].form != TN_PASS_NONE; i++) {
        uint64_t ideal, drain;
        TN_TRY(tn_vector_pass_cycles(&kernel, i, &blocks, &ideal, telling->error));
        TN_TRY(tn_vector_pass_drain(&kernel, i, &blocks, &drain, telling->error));
        elements += blocks.rows * (pass[i].form == TN_PASS_PER_ROW ? 1 : tn_ceil_div(blocks.columns, lanes));
        waited += ideal - drain;
        drained += drain + start;
    }
    if (all == 1 && time->passes > 1) drained *= time->passes;
    reach(count, TN_FALL_VECTOR, tn_scaled_up(elements, work->share));
    reach(count, TN_FALL_VECTOR_SUMS, tn_scaled_up(waited, work->share));
    reach_rest(count, TN_FALL_VECTOR_LAYOUTS, cycles, tn_scaled_up(drained, work->share));
    reach(count, TN_FALL_VECTOR_DRAINS, cycles);
    return TN_OK;
}

static tn_status count_operation(teller *telling, uint32_t index, counted *count) {
    tn_workload *workload = telling->workload;
    const tn_operation *operation = &workload->step->operation[index];
    const tn_work *work = &workload->work[workload->work_of[index]];
    const bool laid = tn_build_searches_layouts(telling->build), outside = telling->plan->off_chip;
    const uint64_t cycles = workload->cycles[laid || outside ? index : workload->work_of[index]];
    tn_laid_time time = {0};
    uint64_t own = cycles;
    if (laid) TN_TRY(tn_laid_cycles(workload, telling->plan, telling->build, index, &time, telling->error));
    if (outside && telling->plan->transfer_bytes[index] > 0) {
        uint64_t issues;
        TN_TRY(tn_work_cycles(workload, work, &work->size, telling->build, &own, &issues, telling->error));
        if (time.cycles > 0) own = time.cycles + time.start_cycles;
    }
    if (work->product) {
        count_floor(telling, operation, work, count);
        TN_TRY(count_product(telling, operation, work, &time, own, count));
    } else {
        TN_TRY(count_vector(telling, work, &time, own, count));
    }
    reach(count, TN_FALL_MOVES, cycles);
    return TN_OK;
}

/* ---- groups ---- */

/* Of the operation's layer; a step may have none. */
static const char *kind_of(const tn_step *step, const tn_operation *operation) {
    const char *kind = operation->layer < step->layers ? step->layer[operation->layer].kind : NULL;
    return kind ? kind : "a layer";
}

static tn_status name_group(teller *telling, uint32_t index, const char **name) {
    const tn_step *step = telling->workload->step;
    const tn_operation *operation = &step->operation[index];
    return tn_arena_format(telling->arena, name, telling->error, "%s of %s, %s",
                           tn_operation_rows[operation->kind].name, kind_of(step, operation),
                           tn_phase_names[operation->phase]);
}

static bool is_alike(const tn_step *step, const tn_operation *a, const tn_operation *b) {
    return a->kind == b->kind && a->phase == b->phase && strcmp(kind_of(step, a), kind_of(step, b)) == 0;
}

static tn_status group_operations(teller *telling) {
    const tn_step *step = telling->workload->step;
    uint32_t *first;
    TN_TRY(TN_NEW(telling->arena, step->operations, &telling->group_of, telling->error));
    TN_TRY(TN_NEW(telling->arena, step->operations, &first, telling->error));
    for (uint32_t i = 0; i < step->operations; i++) {
        uint32_t g = 0;
        while (g < telling->groups && !is_alike(step, &step->operation[first[g]], &step->operation[i])) g++;
        if (g == telling->groups) first[telling->groups++] = i;
        telling->group_of[i] = g;
    }
    TN_TRY(TN_NEW(telling->arena, (size_t)TN_FALLS * telling->groups + 1, &telling->group, telling->error));
    for (uint32_t g = 0; g < telling->groups; g++) {
        const char *name;
        TN_TRY(name_group(telling, first[g], &name));
        for (int part = 0; part < TN_FALLS; part++)
            telling->group[(uint32_t)part * telling->groups + g].operations = name;
    }
    return TN_OK;
}

static int by_cycles(const void *a, const void *b) {
    const tn_fall_group *x = a, *y = b;
    const int64_t of_x = llabs(x->cycles), of_y = llabs(y->cycles);
    return of_x != of_y ? of_x > of_y ? -1 : 1 : strcmp(x->operations, y->operations);
}

static void find_largest(const teller *telling, tn_fall part) {
    tn_fall_group *group = &telling->group[(uint32_t)part * telling->groups];
    tn_fall_line *line = &telling->line[part];
    if (telling->groups) qsort(group, telling->groups, sizeof *group, by_cycles);
    while (line->groups < TN_FALL_LARGEST && line->groups < telling->groups &&
           group[line->groups].cycles != 0) {
        line->group[line->groups] = group[line->groups];
        line->groups++;
    }
}

tn_status tn_waterfall(tn_workload *workload, const tn_plan *plan, const tn_build *build,
                       uint64_t cycles_per_step, tn_arena *arena, tn_fall_line *line, tn_error *error) {
    teller telling = {
        .workload = workload, .plan = plan, .build = build, .arena = arena, .error = error, .line = line};
    int64_t reached = 0;
    TN_TRY(group_operations(&telling));
    for (int part = 0; part < TN_FALLS; part++)
        line[part] = (tn_fall_line){.part = rows[part].part, .keys = rows[part].keys};
    for (uint32_t i = 0; i < workload->step->operations; i++) {
        counted count = {0};
        TN_TRY(count_operation(&telling, i, &count));
        for (uint32_t part = 0; part < TN_FALLS; part++) {
            tn_fall_group *group = &telling.group[part * telling.groups + telling.group_of[i]];
            group->count++;
            group->cycles += count.fall[part];
            line[part].cycles += count.fall[part];
        }
        reached += count.reached;
    }
    line[TN_FALL_BESIDE].cycles = (int64_t)cycles_per_step - reached;
    reached = 0;
    for (int part = 0; part < TN_FALLS; part++) {
        line[part].reached = reached += line[part].cycles;
        find_largest(&telling, (tn_fall)part);
    }
    return TN_OK;
}
