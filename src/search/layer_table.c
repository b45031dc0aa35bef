#include "search/layer_table.h"

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/threads.h"
#include "model/layer_weight.h"
#include "price/workload_data.h"

#include <math.h>
#include <string.h>

/* What all threads share. */
typedef struct {
    const tn_space *space;
    const tn_units *units;
    const uint32_t *digit;
    const uint64_t *inner;
    tn_layer_table *table;
    tn_arena *arena;              /* the table's; one thread at a time */
    uint64_t *good;               /* [units]: a defined option of each */
    uint64_t steps, made, filled; /* made: parts of a step under a build; filled: whole steps */
    const tn_table_work *work;
    double begun;             /* when the stage was, by tn_clock_seconds */
    tn_part_survey *survey;   /* [TN_FUSIONS]: of all steps, where parts are bounds */
    tn_step_kind kind;        /* of the first step: what all must have in common */
    size_t stagings;          /* sizes over which arrays live off chip, in some builds, */
    const tn_build **staging; /* and a build of each */
    tn_status status;
    tn_error error;
} job;

static const char tables_made[] = "tables made";

/* One thread's. */
typedef struct {
    tn_evaluator *evaluator;
    tn_arena arena;
    tn_price_part *part;  /* [units + 1] */
    tn_part_cores *cores; /* [units + 1] */
    tn_demand *staging;   /* [TN_STAGINGS][units + 1] */
} worker;

static uint32_t unit_of_weight(const job *all, size_t weight) {
    const tn_space *space = all->space;
    for (uint32_t i = 0; i < all->units->layers; i++) {
        const tn_model_layer layer = tn_model_layer_at(space->model, i);
        if (layer.weight && tn_model_weight_place(space->model, layer.weight) == weight)
            return all->units->of_layer[i];
    }
    return all->units->count;
}

/* ---- time ---- */

static void begin_stage(job *all, const char *what, const char *progress) {
    all->table->stage = what;
    all->table->share = 0;
    all->begun = tn_clock_seconds();
    tn_progress_begin(all->work->progress, progress);
}

/* As tn_check_time; and, where another method would have the time, over when at the pace so far it is before this stage is done in
 * all tables. */
static tn_status check_time(const job *all, uint64_t done, uint64_t total, tn_error *error) {
    static const double least_share = 0.1;
    const tn_table_work *work = all->work;
    const double given = work->deadline - all->begun, taken = tn_clock_seconds() - all->begun,
                 tables = work->tables ? (double)(work->tables - work->table) : 1;
    TN_TRY(tn_check_time(work->deadline, error));
    if (!work->is_paced || taken < least_share * given ||
        taken * tables * (double)total <= given * (double)done)
        return TN_OK;
    return tn_fail(error, TN_INTERRUPTED, "the time will be over before the tables are made");
}

/* ---- options that are defined ---- */

static void set_option(const job *all, uint32_t unit, uint64_t option, uint32_t *digit) {
    tn_digits_of(&all->space->choices, all->units->unit[unit].axis, all->units->unit[unit].axes, option,
                 digit);
}

/* Makes the step in which every unit has its option `index`, or a good one where it has fewer; those that turn out
 * undefined are marked and replaced. Units without a good option yet try the next ones. *whole = false where the
 * step can't be made for all that. */
static tn_status load_step(job *all, worker *thread, uint64_t index, uint64_t *option, bool *whole,
                           tn_error *error) {
    uint32_t digit[TN_AXES_MOST], cause, units = all->units->count;
    memcpy(digit, all->digit, all->space->choices.count * sizeof *digit);
    for (uint32_t u = 0; u < units; u++) {
        option[u] = index < all->table->unit[u].options ? index : all->good[u];
        set_option(all, u, option[u], digit);
    }
    *whole = true;
    for (;;) {
        TN_TRY(tn_evaluator_load(thread->evaluator, digit, &cause, error));
        if (cause == TN_CAUSE_NONE) return TN_OK;
        uint32_t weight = tn_evaluator_undefined(thread->evaluator)->weight,
                 u = cause == TN_CAUSE_UNDEFINED ? unit_of_weight(all, weight) : units;
        if (u == units) {
            all->table->refused = cause != TN_CAUSE_UNDEFINED ? "some steps are beyond what is priced"
                                  : weight == TN_UNDEFINED_KEYS
                                      ? "some of its keys can't be combined"
                                      : "a weight that no choice varies has a flow that its format "
                                        "does not have";
            *whole = false;
            return TN_OK;
        }
        all->table->unit[u].defined[option[u]] = false;
        bool known = all->good[u] != UINT64_MAX;
        option[u] = known ? all->good[u] : option[u] + 1;
        if (option[u] >= all->table->unit[u].options) {
            all->table->empty = true;
            *whole = false;
            return TN_OK;
        }
        set_option(all, u, option[u], digit);
    }
}

/* ---- filling ---- */

static tn_status refuse(job *all, const char *why) {
#pragma omp critical(tenfold_layer_table)
    all->table->refused = why;
    return TN_OK;
}

static bool same_array(const tn_common_memory *a, const tn_common_memory *b) {
    return a->layer == b->layer && a->part == b->part && a->number == b->number && a->role == b->role &&
           a->elements == b->elements && a->word_bits == b->word_bits && a->users == b->users &&
           memcmp(a->unit, b->unit, a->users * sizeof *a->unit) == 0;
}

static tn_status fill_shared(job *all, const tn_parting *parting, const uint64_t *option, const bool *own) {
    const tn_layer_table *table = all->table;
    const tn_common_memory *shared;
    uint32_t count = tn_parting_shared(parting, &shared);
    if (count != table->shared) return refuse(all, "layers share other arrays with other choices");
    for (uint32_t i = 0; i < count; i++) {
        tn_demand rest;
        if (!same_array(&shared[i], &table->memory[i].common))
            return refuse(all, "layers share other arrays with other choices");
        if (!tn_parting_demand(parting, i, table->units, &rest))
            return refuse(all, "a shared array has too many different uses");
        if (memcmp(&rest, &table->memory[i].rest, sizeof rest) != 0)
            return refuse(all, "operations without a choice use shared arrays differently");
        for (uint32_t u = 0; u < table->units; u++) {
            const tn_unit_table *unit = &table->unit[u];
            if (own[u]) tn_parting_demand(parting, i, u, &unit->demand[i * unit->options + option[u]]);
        }
    }
    return TN_OK;
}

static tn_status fill_staging(job *all, worker *thread, tn_parting *parting, const uint64_t *option,
                              const bool *own, tn_error *error) {
    const tn_layer_table *table = all->table;
    for (size_t k = 0; k < all->stagings; k++) {
        bool fits;
        TN_TRY(tn_parting_staging(parting, all->staging[k], thread->staging, &fits, error));
        if (!fits) return refuse(all, "a staging memory has too many different uses");
        for (uint32_t p = 0; p < TN_STAGINGS; p++) {
            size_t index = table->shared + k * TN_STAGINGS + p;
            const tn_demand *demand = thread->staging + p * (table->units + 1);
            if (memcmp(&demand[table->units], &table->memory[index].rest, sizeof *demand) != 0)
                return refuse(all, "operations without a choice reach arrays off chip differently");
            for (uint32_t u = 0; u < table->units; u++) {
                const tn_unit_table *unit = &table->unit[u];
                if (own[u]) unit->demand[index * unit->options + option[u]] = demand[u];
            }
        }
    }
    return TN_OK;
}

/* What the options' layers do of TN_SUM_WORK; of all else the least of all steps. */
static void fill_work(job *all, const tn_workload *workload, const uint64_t *option, const bool *own) {
    tn_layer_table *table = all->table;
    double rest = 0;
    for (uint32_t i = 0; i < workload->step->operations; i++) {
        const tn_work *work = &workload->work[workload->work_of[i]];
        const uint32_t u = all->units->of_layer[workload->step->operation[i].layer];
        if (!work->product) continue;
        if (u == table->units)
            rest += tn_work_macs(work);
        else if (own[u])
            table->unit[u].sum[TN_SUM_WORK][option[u]] += tn_work_macs(work);
    }
#pragma omp critical(tenfold_layer_table)
    table->rest_sum[TN_SUM_WORK] =
        table->rest_sum[TN_SUM_WORK] < 0 ? rest : fmin(table->rest_sum[TN_SUM_WORK], rest);
}

static tn_status fill_sums(job *all, const tn_workload *workload, const uint64_t *option, const bool *own,
                           tn_error *error) {
    const tn_layer_table *table = all->table;
    const tn_step *step = workload->step;
    double sum[TN_LAYER_SUMS] = {0}, whole[TN_LAYER_SUMS] = {0};
    whole[TN_SUM_PARAMETERS] = (double)step->parameters;
    whole[TN_SUM_MACS] = (double)tn_step_macs(step->macs);
    for (uint32_t u = 0; u < table->units; u++)
        for (int s = 0; own[u] && s < TN_LAYER_SUMS; s++) table->unit[u].sum[s][option[u]] = 0;
    for (uint32_t i = 0; i < step->layers; i++) {
        const tn_step_layer *layer = &step->layer[i];
        uint32_t u = all->units->of_layer[i];
        uint64_t degrees = 0;
        if (u == table->units) continue;
        if (layer->weight) TN_TRY(tn_weight_degrees_of_freedom(layer->weight, &degrees, error));
        const double own_sum[TN_SUM_WORK] = {(double)degrees, (double)layer->parameters,
                                             (double)tn_step_macs(layer->macs)};
        for (int s = 0; s < TN_SUM_WORK; s++) {
            sum[s] += own_sum[s];
            if (own[u]) table->unit[u].sum[s][option[u]] += own_sum[s];
        }
    }
    fill_work(all, workload, option, own);
    bool same = true;
#pragma omp critical(tenfold_layer_table)
    for (int s = TN_SUM_PARAMETERS; s < TN_SUM_WORK; s++) {
        if (table->rest_sum[s] < 0) all->table->rest_sum[s] = whole[s] - sum[s];
        same &= table->rest_sum[s] == whole[s] - sum[s];
    }
    return same ? TN_OK : refuse(all, "layers without a choice count differently with other choices");
}

static tn_status fill_parts(job *all, worker *thread, tn_parting *parting, const uint64_t *option,
                            const bool *own, tn_error *error) {
    tn_layer_table *table = all->table;
    for (size_t b = 0; b < table->builds; b++) {
        tn_error why = {0};
        TN_TRY(tn_check_time(all->work->deadline, error));
        tn_status status = tn_parting_price(parting, &table->build[b], thread->part, &why);
        if (status == TN_LIMIT) return refuse(all, "the parts of a step do not sum to its price");
        if (status != TN_OK) {
            if (error) *error = why;
            return status;
        }
        for (uint32_t u = 0; u < table->units; u++)
            if (own[u]) table->unit[u].part[b][option[u]] = thread->part[u];
        bool same = true;
#pragma omp critical(tenfold_layer_table)
        {
            if (table->rest[b].operations < 0) table->rest[b] = thread->part[table->units];
            same = memcmp(&table->rest[b], &thread->part[table->units], sizeof *thread->part) == 0;
        }
        if (!same) return refuse(all, "layers without a choice cost differently with other choices");
#pragma omp atomic
        all->made++;
    }
    return TN_OK;
}

/* Of bounds the least: what a sum of them holds of a design that no step here is. */
static void keep_least(tn_price_part *rest, const tn_price_part *found) {
    if (rest->operations < 0) *rest = *found;
    rest->cycles = fmin(rest->cycles, found->cycles);
    rest->operations = fmin(rest->operations, found->operations);
    rest->bram18 = fmin(rest->bram18, found->bram18);
    rest->uram = fmin(rest->uram, found->uram);
    rest->capacity_bits = fmin(rest->capacity_bits, found->capacity_bits);
    rest->off_chip_bytes = fmin(rest->off_chip_bytes, found->off_chip_bytes);
    rest->off_chip_bytes_per_step = fmin(rest->off_chip_bytes_per_step, found->off_chip_bytes_per_step);
    rest->joules = fmin(rest->joules, found->joules);
    rest->static_joules = fmin(rest->static_joules, found->static_joules);
    rest->dynamic_joules = fmin(rest->dynamic_joules, found->dynamic_joules);
    rest->watts = fmin(rest->watts, found->watts);
}

/* The cores of an option, those of the build before where they are the same. */
static tn_status keep_cores(job *all, const tn_part_cores *found, uint32_t u, size_t build, uint64_t option,
                            tn_error *error) {
    tn_part_cores **cores = all->table->unit[u].cores;
    uint32_t *copy;
    if (build > 0 && cores[build - 1][option].count == found->count &&
        (found->count == 0 || memcmp(cores[build - 1][option].core_class, found->core_class,
                                     found->count * sizeof *found->core_class) == 0)) {
        cores[build][option] = cores[build - 1][option];
        return TN_OK;
    }
    tn_status status;
#pragma omp critical(tenfold_layer_table)
    status = TN_NEW(all->arena, found->count, &copy, error);
    if (status != TN_OK) return status;
    if (found->count) memcpy(copy, found->core_class, found->count * sizeof *copy);
    cores[build][option] = (tn_part_cores){found->count, copy};
    return TN_OK;
}

/* The parting of the step as the build does it. */
static tn_status part_step(const job *all, worker *thread, const tn_build *build, tn_parting **parting,
                           tn_error *error) {
    tn_workload *workload;
    TN_TRY(tn_workload_built(tn_evaluator_workload(thread->evaluator), build, &workload, error));
    TN_TRY(
        tn_parting_make(workload, all->units->of_layer, all->table->units, &thread->arena, parting, error));
    return tn_part_survey_know(&all->survey[build->fusion], *parting, &thread->arena, error);
}

/* The bounds of all builds' parts. Of a build that can't be had of this step, for want of external memory, nothing is known. */
static tn_status fill_bounds(job *all, worker *thread, const uint64_t *option, const bool *own,
                             tn_error *error) {
    tn_layer_table *table = all->table;
    tn_parting *parting[TN_FUSIONS] = {NULL};
    for (size_t b = 0; b < table->builds; b++) {
        const tn_build *build = &table->build[b];
        tn_error why = {0};
        if (table->impossible[b]) continue;
        TN_TRY(tn_check_time(all->work->deadline, error));
        if (!parting[build->fusion]) TN_TRY(part_step(all, thread, build, &parting[build->fusion], error));
        tn_status status = tn_parting_bound(parting[build->fusion], build, &table->view[b], &thread->arena,
                                            thread->part, thread->cores, &why);
        if (status == TN_INPUT || status == TN_OVERFLOW) {
            memset(thread->part, 0, (table->units + 1) * sizeof *thread->part);
            memset(thread->cores, 0, (table->units + 1) * sizeof *thread->cores);
        } else if (status != TN_OK) {
            if (error) *error = why;
            return status;
        }
        for (uint32_t u = 0; u < table->units; u++) {
            if (!own[u]) continue;
            table->unit[u].part[b][option[u]] = thread->part[u];
            TN_TRY(keep_cores(all, &thread->cores[u], u, b, option[u], error));
        }
#pragma omp critical(tenfold_layer_table)
        keep_least(&table->rest[b], &thread->part[table->units]);
#pragma omp atomic
        all->made++;
    }
    return TN_OK;
}

/* Units whose option the step has: the one of that number, where it has one and it is defined. */
static void list_own(const job *all, uint64_t index, const uint64_t *option, bool *own) {
    for (uint32_t u = 0; u < all->table->units; u++)
        own[u] = option[u] == index || all->good[u] == UINT64_MAX;
}

static tn_status fill(job *all, worker *thread, uint64_t index, tn_error *error) {
    const tn_layer_table *table = all->table;
    uint64_t *option;
    bool *own, whole;
    tn_parting *parting;
    tn_step_kind kind;
    uint64_t filled;
#pragma omp atomic read
    filled = all->filled;
    TN_TRY(check_time(all, filled, all->steps, error));
    tn_arena_reset(&thread->arena);
    TN_TRY(TN_NEW(&thread->arena, table->units, &option, error));
    TN_TRY(TN_NEW(&thread->arena, table->units, &own, error));
    TN_TRY(load_step(all, thread, index, option, &whole, error));
    if (!whole) return TN_OK;
    list_own(all, index, option, own);
    tn_workload *workload = tn_evaluator_workload(thread->evaluator);
    tn_step_kind_of(workload, &kind);
    if (memcmp(&kind, &all->kind, sizeof kind) != 0)
        return refuse(all, "the kinds of operations change with the choices");
    if (table->bounded) return fill_bounds(all, thread, option, own, error);
    TN_TRY(tn_parting_make(workload, all->units->of_layer, table->units, &thread->arena, &parting, error));
    TN_TRY(fill_shared(all, parting, option, own));
    TN_TRY(fill_staging(all, thread, parting, option, own, error));
    TN_TRY(fill_sums(all, workload, option, own, error));
    return fill_parts(all, thread, parting, option, own, error);
}

static tn_status worker_begin(const job *all, worker *thread, tn_error *error) {
    *thread = (worker){0};
    TN_TRY(TN_ALLOC(all->table->units + 1, &thread->part, error));
    TN_TRY(TN_ALLOC(all->table->units + 1, &thread->cores, error));
    TN_TRY(TN_ALLOC((size_t)TN_STAGINGS * (all->table->units + 1), &thread->staging, error));
    return tn_evaluator_new(all->space, &thread->evaluator, error);
}

static void worker_end(worker *thread) {
    tn_evaluator_free(thread->evaluator);
    tn_arena_free(&thread->arena);
    tn_free(thread->part);
    tn_free(thread->cores);
    tn_free(thread->staging);
}

/* ---- the first step: what all have in common ---- */

static tn_status make_room(job *all, tn_arena *arena, tn_error *error) {
    tn_layer_table *table = all->table;
    TN_TRY(TN_NEW(arena, table->units, &table->unit, error));
    TN_TRY(TN_NEW(arena, table->units, &all->good, error));
    TN_TRY(TN_NEW(arena, table->builds, &table->rest, error));
    TN_TRY(TN_NEW(arena, table->builds, &table->kernels, error));
    TN_TRY(TN_NEW(arena, table->builds, &table->impossible, error));
    for (size_t b = 0; b < table->builds; b++) table->rest[b].operations = -1;
    for (int s = TN_SUM_PARAMETERS; s < TN_LAYER_SUMS; s++) table->rest_sum[s] = -1;
    all->steps = 1;
    for (uint32_t u = 0; u < table->units; u++) {
        tn_unit_table *unit = &table->unit[u];
        all->good[u] = UINT64_MAX;
        unit->options = all->units->unit[u].options;
        if (unit->options > all->steps) all->steps = unit->options;
        TN_TRY(TN_NEW(arena, unit->options, &unit->defined, error));
        memset(unit->defined, 1, unit->options);
        for (int s = 0; s < TN_LAYER_SUMS; s++) TN_TRY(TN_NEW(arena, unit->options, &unit->sum[s], error));
        TN_TRY(TN_NEW(arena, table->builds, &unit->part, error));
        TN_TRY(TN_NEW(arena, table->builds, &unit->cores, error));
        for (size_t b = 0; b < table->builds; b++) {
            TN_TRY(TN_NEW(arena, unit->options, &unit->part[b], error));
            if (table->bounded) TN_TRY(TN_NEW(arena, unit->options, &unit->cores[b], error));
        }
    }
    return TN_OK;
}

/* One for each size over which arrays live off chip in some build. */
static tn_status list_stagings(job *all, tn_arena *arena, tn_error *error) {
    const tn_layer_table *table = all->table;
    TN_TRY(TN_NEW(arena, table->builds, &all->staging, error));
    for (size_t b = 0; b < table->builds; b++) {
        size_t k = 0;
        if (table->build[b].off_chip_over_bytes == 0) continue;
        while (k < all->stagings &&
               (all->staging[k]->off_chip_over_bytes != table->build[b].off_chip_over_bytes ||
                all->staging[k]->off_chip_tile_bytes != table->build[b].off_chip_tile_bytes))
            k++;
        if (k == all->stagings) all->staging[all->stagings++] = &table->build[b];
    }
    return TN_OK;
}

static tn_status keep_common(job *all, worker *thread, tn_parting *parting, tn_arena *arena,
                             tn_error *error) {
    tn_layer_table *table = all->table;
    const tn_common_memory *shared;
    TN_TRY(list_stagings(all, arena, error));
    table->shared = tn_parting_shared(parting, &shared);
    table->common = table->shared + (uint32_t)all->stagings * TN_STAGINGS;
    TN_TRY(TN_NEW(arena, table->common, &table->memory, error));
    for (uint32_t i = 0; i < table->common; i++)
        TN_TRY(TN_NEW(arena, table->units, &table->memory[i].user, error));
    for (uint32_t i = 0; i < table->shared; i++) {
        tn_table_memory *memory = &table->memory[i];
        uint32_t *unit;
        TN_TRY(TN_NEW(arena, shared[i].users, &unit, error));
        memcpy(unit, shared[i].unit, shared[i].users * sizeof *unit);
        memory->common = shared[i];
        memory->common.unit = unit;
        for (uint32_t k = 0; k < shared[i].users; k++) memory->user[unit[k]] = true;
        if (!tn_parting_demand(parting, i, table->units, &memory->rest))
            table->refused = "a shared array has too many different uses";
    }
    for (size_t k = 0; k < all->stagings; k++) {
        bool fits;
        TN_TRY(tn_parting_staging(parting, all->staging[k], thread->staging, &fits, error));
        if (!fits) table->refused = "a staging memory has too many different uses";
        for (uint32_t p = 0; p < TN_STAGINGS; p++) {
            tn_table_memory *memory = &table->memory[table->shared + k * TN_STAGINGS + p];
            memory->common = (tn_common_memory){.staging = true, .position = p};
            memory->off_chip_over_bytes = all->staging[k]->off_chip_over_bytes;
            memory->off_chip_tile_bytes = all->staging[k]->off_chip_tile_bytes;
            memory->rest = thread->staging[p * (table->units + 1) + table->units];
            memset(memory->user, 1, table->units * sizeof *memory->user);
        }
    }
    for (uint32_t u = 0; u < table->units; u++) {
        tn_unit_table *unit_table = &table->unit[u];
        TN_TRY(TN_NEW(arena, unit_table->options * table->common, &unit_table->demand, error));
    }
    return TN_OK;
}

/* So many of the steps, or builds, are done, of this table and those before it. */
static void report(const job *all, uint64_t done, uint64_t total) {
    const tn_table_work *work = all->work;
    tn_progress_report(work->progress, work->table * total + done, (work->tables ? work->tables : 1) * total);
}

static void report_survey(const job *all, uint64_t done, uint64_t total) {
    all->table->share = (double)done / (double)total;
    report(all, done, total);
}

/* What options add up to, and what all steps have in common as each of the builds does them. */
static tn_status survey_steps(job *all, worker *thread, tn_arena *arena, tn_error *error) {
    const tn_layer_table *table = all->table;
    uint64_t *option;
    bool whole, *own;
    begin_stage(all, "steps surveyed", "steps surveyed");
    TN_TRY(TN_NEW(arena, TN_FUSIONS, &all->survey, error));
    TN_TRY(TN_NEW(arena, table->units, &option, error));
    TN_TRY(TN_NEW(arena, table->units, &own, error));
    for (uint64_t index = 0; index < all->steps && !table->empty && !table->refused; index++) {
        bool done[TN_FUSIONS] = {false};
        TN_TRY(check_time(all, index, all->steps, error));
        TN_TRY(load_step(all, thread, index, option, &whole, error));
        list_own(all, index, option, own);
        if (whole) TN_TRY(fill_sums(all, tn_evaluator_workload(thread->evaluator), option, own, error));
        for (size_t b = 0; whole && b < table->builds; b++) {
            const uint32_t fusion = table->build[b].fusion;
            tn_workload *workload;
            tn_parting *parting;
            if (done[fusion]) continue;
            done[fusion] = true;
            tn_arena_reset(&thread->arena);
            TN_TRY(tn_workload_built(tn_evaluator_workload(thread->evaluator), &table->build[b], &workload,
                                     error));
            TN_TRY(tn_parting_make(workload, all->units->of_layer, table->units, &thread->arena, &parting,
                                   error));
            TN_TRY(tn_part_survey_add(&all->survey[fusion], parting, arena, error));
        }
        report_survey(all, index + 1, all->steps);
    }
    return TN_OK;
}

/* Multiply-adds that kernels do for every design at least. */
static double least_work(const tn_layer_table *table) {
    double work = table->rest_sum[TN_SUM_WORK];
    for (uint32_t u = 0; u < table->units; u++) {
        double least = INFINITY;
        for (uint64_t o = 0; o < table->unit[u].options; o++)
            if (table->unit[u].defined[o]) least = fmin(least, table->unit[u].sum[TN_SUM_WORK][o]);
        work += least;
    }
    return work;
}

/* Cycles that so many take with every multiplier of the build's matmul kernels busy. */
static uint64_t least_cycles(const tn_workload *workload, const tn_build *build, double work) {
    double kernels = 0;
    for (uint32_t a = 0; a < workload->arithmetics; a++)
        kernels += (double)tn_workload_matmuls(workload, build, a);
    const double cycles =
        work / kernels / (double)build->rows / (double)build->columns / (double)build->reduction;
    return cycles < 0x1p63 ? (uint64_t)(cycles * (1 - 1e-9)) : 0; /* sums of fractions are rounded */
}

/* A build that can't be had of the step is none: nothing is known of it then. */
static bool is_failure(tn_status status) {
    return status != TN_OK && status != TN_INPUT && status != TN_OVERFLOW;
}

/* The kernels of a build, and how bounds look at steps, unless no design of it holds caps and constraints. */
static tn_status begin_build(job *all, worker *thread, size_t b, double work, tn_part_view *view,
                             tn_arena *arena, tn_error *error) {
    tn_layer_table *table = all->table;
    const tn_build *build = &table->build[b];
    tn_workload *workload;
    tn_parting *parting;
    TN_TRY(tn_workload_built(tn_evaluator_workload(thread->evaluator), build, &workload, error));
    const tn_status kernels = tn_bound_kernels(workload, build, &table->kernels[b], error);
    if (is_failure(kernels)) return kernels;
    if (kernels == TN_OK)
        table->impossible[b] = tn_evaluator_refuses(thread->evaluator, &table->kernels[b],
                                                    least_cycles(workload, build, work)) != TN_CAUSE_NONE;
    if (table->impossible[b]) return TN_OK;
    TN_TRY(part_step(all, thread, build, &parting, error));
    const tn_status seen =
        tn_part_view_choose(parting, build, &all->survey[build->fusion], arena, view, error);
    return is_failure(seen) ? seen : TN_OK;
}

/* How bounds look at steps, and what kernels builds have. */
static tn_status first_bounds(job *all, worker *thread, tn_arena *arena, tn_error *error) {
    tn_layer_table *table = all->table;
    tn_part_view *view;
    uint64_t *option;
    bool whole;
    TN_TRY(TN_NEW(arena, table->builds, &view, error));
    TN_TRY(TN_NEW(arena, table->units, &option, error));
    table->view = view;
    TN_TRY(survey_steps(all, thread, arena, error));
    if (table->refused || table->empty) return TN_OK;
    TN_TRY(load_step(all, thread, 0, option, &whole, error));
    if (!whole) return TN_OK;
    begin_stage(all, "builds surveyed", "builds surveyed");
    const double work = least_work(table);
    for (size_t b = 0; b < table->builds; b++) {
        tn_arena_reset(&thread->arena);
        table->impossible[b] = tn_build_check_together(&table->build[b], NULL) != TN_OK;
        if (table->impossible[b]) continue;
        TN_TRY(check_time(all, b, table->builds, error));
        TN_TRY(begin_build(all, thread, b, work, &view[b], arena, error));
        report_survey(all, b + 1, table->builds);
    }
    return TN_OK;
}

static tn_status first_step(job *all, worker *thread, tn_arena *arena, tn_error *error) {
    tn_layer_table *table = all->table;
    uint64_t *option;
    bool whole;
    tn_build *build;
    tn_parting *parting;
    TN_TRY(TN_NEW(arena, table->units, &option, error));
    TN_TRY(load_step(all, thread, 0, option, &whole, error));
    if (!whole) return TN_OK;
    for (uint32_t u = 0; u < table->units; u++) all->good[u] = option[u];
    tn_workload *workload = tn_evaluator_workload(thread->evaluator);
    tn_step_kind_of(workload, &all->kind);
    table->word_bits = 8 * tn_evaluator_step(thread->evaluator)->element_bytes;
    table->steps_per_epoch = tn_evaluator_step(thread->evaluator)->steps_per_epoch;
    TN_TRY(TN_NEW(arena, table->builds, &build, error));
    table->build = build;
    for (size_t b = 0; b < table->builds; b++) {
        TN_TRY(tn_check_time(all->work->deadline, error));
        tn_evaluator_take_build(thread->evaluator, all->inner[b]);
        build[b] = *tn_evaluator_build(thread->evaluator);
        if (table->bounded) continue;
        TN_TRY(tn_parting_refuses(&build[b], arena, &table->refused, error));
        if (tn_build_check_together(&build[b], NULL) != TN_OK)
            table->refused = "some of its keys can't be combined";
        if (table->refused) return TN_OK;
        TN_TRY(tn_parting_kernels(workload, &build[b], &table->kernels[b], error));
    }
    if (table->bounded) return first_bounds(all, thread, arena, error);
    TN_TRY(tn_parting_make(workload, all->units->of_layer, table->units, &thread->arena, &parting, error));
    return keep_common(all, thread, parting, arena, error);
}

static void work_through(job *all) {
    worker thread;
    tn_error error = {0};
    tn_status status = worker_begin(all, &thread, &error);
#pragma omp for schedule(dynamic, 4)
    for (uint64_t index = 0; index < all->steps; index++) {
        if (status != TN_OK || all->table->refused || all->table->empty) continue;
        status = fill(all, &thread, index, &error);
        if (status != TN_OK) continue;
#pragma omp critical(tenfold_layer_table)
        {
            uint64_t filled;
#pragma omp atomic capture
            filled = ++all->filled;
            report(all, filled, all->steps);
        }
    }
#pragma omp critical(tenfold_layer_table)
    if (status != TN_OK && all->status == TN_OK) {
        all->status = status;
        all->error = error;
    }
    worker_end(&thread);
}

tn_status tn_layer_table_make(const tn_space *space, const tn_units *units, const uint32_t *digit,
                              const uint64_t *inner, size_t builds, bool bounded, const tn_table_work *work,
                              tn_arena *arena, tn_layer_table *table, tn_error *error) {
    enum { OPTIONS_MOST = 1000000 };
    job all = {.space = space,
               .units = units,
               .digit = digit,
               .inner = inner,
               .table = table,
               .arena = arena,
               .work = work};
    worker thread;
    *table =
        (tn_layer_table){.bounded = bounded, .units = units->count, .builds = builds, .stage = tables_made};
    for (uint32_t u = 0; u < units->count; u++)
        if (units->unit[u].options > OPTIONS_MOST) {
            table->refused = "over 1,000,000 combinations of choices bear on the same layers";
            return TN_OK;
        }
    TN_TRY(make_room(&all, arena, error));
    tn_status status = worker_begin(&all, &thread, error);
    if (status == TN_OK) status = first_step(&all, &thread, arena, error);
    worker_end(&thread);
    if (status != TN_OK || table->refused || table->empty) return status;
    bool any = !bounded;
    for (size_t b = 0; b < builds; b++) any |= !table->impossible[b];
    if (!any) return TN_OK;
    int count = tn_thread_count(work->threads);
    begin_stage(&all, tables_made, "steps tabled");
#pragma omp parallel num_threads(count)
    work_through(&all);
    table->share = (double)all.made / (double)(all.steps * builds);
    if (all.status != TN_OK && error) *error = all.error;
    return all.status;
}
