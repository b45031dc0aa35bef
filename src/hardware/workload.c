#include "hardware/workload.h"

#include "base/checked.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

static bool is_core_store(const tn_step *step, uint32_t array) {
    tn_array_role role = step->array[array].role;
    return role != TN_ARRAY_ACTIVATION && role != TN_ARRAY_INTERMEDIATE;
}

static tn_status describe(const tn_step *step, const tn_operation *operation, tn_work *work,
                          tn_error *error) {
    *work = (tn_work){.product = operation->kind == TN_OP_PRODUCT, .count = 1};
    work->size =
        (tn_product_size){operation->batch, operation->rows, operation->reduction, operation->columns};
    for (uint32_t i = 0; i < operation->read_count; i++)
        if (is_core_store(step, operation->reads[i]))
            work->reads_core++;
        else
            work->reads_activation++;
    for (uint32_t i = 0; i < operation->write_count; i++)
        if (is_core_store(step, operation->writes[i]))
            work->writes_core++;
        else
            work->writes_activation++;
    if (work->product) {
        work->left_core = is_core_store(step, operation->reads[0]);
        work->right_core = is_core_store(step, operation->reads[1]);
        return TN_OK;
    }
    work->vector = (uint8_t)tn_vector_of(step, operation);
    work->size.batch = work->size.reduction = 1;
    if (!tn_vector_elementwise((tn_vector_kind)work->vector)) return TN_OK;
    work->size.rows = 1;
    if (!tn_mul(operation->rows, operation->columns, &work->size.columns))
        return tn_fail(error, TN_OVERFLOW, "an operation's elements do not fit 64 bits");
    return TN_OK;
}

static bool same_work(const tn_work *a, const tn_work *b) {
    return a->product == b->product && a->vector == b->vector && a->reads_core == b->reads_core &&
           a->reads_activation == b->reads_activation && a->writes_core == b->writes_core &&
           a->left_core == b->left_core && a->right_core == b->right_core &&
           memcmp(&a->size, &b->size, sizeof a->size) == 0;
}

static uint32_t find_work(tn_workload *workload, const tn_work *work) {
    uint32_t at = 0;
    while (at < workload->works && !same_work(&workload->work[at], work)) at++;
    if (at == workload->works)
        workload->work[workload->works++] = *work;
    else
        workload->work[at].count++;
    return at;
}

/* Products run on the kernel of their phase (unit 0, 1, 2), which is the same for all where it is shared
 * (price.c); vector kernels have a unit each. */
static uint32_t unit_of(const tn_work *work, tn_phase phase) {
    if (!work->product) return TN_PHASES + work->vector;
    return phase == TN_UPDATE ? TN_WEIGHT_GRADIENT : (uint32_t)phase;
}

static uint32_t stream_of(tn_phase phase) {
    return phase == TN_WEIGHT_GRADIENT || phase == TN_UPDATE;
}

/* Classes of operations, and the task of each but for what it waits for. */
static tn_status list_works(tn_workload *workload, tn_task *task, tn_arena *arena, tn_error *error) {
    const tn_step *step = workload->step;
    bool phase_used[TN_PHASES] = {false};
    TN_TRY(tn_arena_alloc(arena, step->operations, sizeof *workload->work, &workload->work, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        tn_work work;
        TN_TRY(describe(step, operation, &work, error));
        if (operation->batch == 0 || operation->rows == 0 || operation->reduction == 0 ||
            operation->columns == 0)
            return tn_fail(error, TN_INPUT, "operation %u of step %s has an extent of 0", (unsigned)i,
                           step->name);
        uint32_t unit = unit_of(&work, operation->phase);
        if (work.product)
            phase_used[unit] = true;
        else
            workload->vector_used[work.vector] = true;
        task[i] = (tn_task){
            .unit = unit, .stream = stream_of(operation->phase), .work = find_work(workload, &work)};
    }
    for (int phase = 0; phase < TN_PHASES; phase++) workload->matmuls += phase_used[phase];
    return TN_OK;
}

/* While tasks are listed: the last task of each stream that touched an array, and who has a slot. */
typedef struct {
    const tn_step *step;
    const tn_layout *layout;
    uint32_t (*touched)[TN_STREAMS]; /* [arrays] */
    uint32_t *occupant;              /* [slots] */
    uint32_t *after, count;          /* of the task at hand */
} hazards;

static void wait_for(hazards *with, uint32_t task) {
    if (task == NONE) return;
    for (uint32_t i = 0; i < with->count; i++)
        if (with->after[i] == task) return;
    with->after[with->count++] = task;
}

/* A value is written once nothing still wants the old one: what the array held, or who had its slot. */
static void wait_for_room(hazards *with, uint32_t array) {
    for (int stream = 0; stream < TN_STREAMS; stream++) wait_for(with, with->touched[array][stream]);
    uint32_t slot = with->layout->slot_of[array];
    if (slot == NONE || with->occupant[slot] == NONE || with->occupant[slot] == array) return;
    for (int stream = 0; stream < TN_STREAMS; stream++)
        wait_for(with, with->touched[with->occupant[slot]][stream]);
}

static void touch(hazards *with, uint32_t array, uint32_t stream, uint32_t task) {
    uint32_t slot = with->layout->slot_of[array];
    with->touched[array][stream] = task;
    if (slot != NONE) with->occupant[slot] = array;
}

static tn_status list_waits(hazards *with, tn_task *task, tn_arena *arena, tn_error *error) {
    for (uint32_t i = 0; i < with->step->operations; i++) {
        const tn_operation *operation = &with->step->operation[i];
        size_t most = operation->after_count + (size_t)operation->write_count * 2 * TN_STREAMS;
        TN_TRY(tn_arena_alloc(arena, most, sizeof *with->after, &with->after, error));
        with->count = 0;
        for (uint32_t j = 0; j < operation->after_count; j++) wait_for(with, operation->after[j]);
        for (uint32_t j = 0; j < operation->write_count; j++) wait_for_room(with, operation->writes[j]);
        for (uint32_t j = 0; j < operation->read_count; j++)
            touch(with, operation->reads[j], task[i].stream, i);
        for (uint32_t j = 0; j < operation->write_count; j++)
            touch(with, operation->writes[j], task[i].stream, i);
        task[i].after = with->after;
        task[i].after_count = with->count;
    }
    return TN_OK;
}

static tn_status list_tasks(tn_workload *workload, tn_arena *arena, tn_error *error) {
    const tn_step *step = workload->step;
    workload->tasks = step->operations;
    for (int buffers = 0; buffers < 2; buffers++) {
        hazards with = {.step = step, .layout = &workload->layout[buffers]};
        TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *with.touched, &with.touched, error));
        TN_TRY(tn_arena_alloc(arena, with.layout->slots, sizeof *with.occupant, &with.occupant, error));
        TN_TRY(tn_arena_alloc(arena, step->operations, sizeof **workload->task, &workload->task[buffers],
                              error));
        memset(with.touched, 0xff, step->arrays * sizeof *with.touched);
        memset(with.occupant, 0xff, with.layout->slots * sizeof *with.occupant);
        if (buffers == 0)
            TN_TRY(list_works(workload, workload->task[0], arena, error));
        else
            memcpy(workload->task[1], workload->task[0], step->operations * sizeof **workload->task);
        TN_TRY(list_waits(&with, workload->task[buffers], arena, error));
    }
    return TN_OK;
}

/* Whatever the build, no sum of a price leaves 64 bits: a kernel of one lane and the slowest operators takes
 * the most cycles, padding at most doubles them. */
static tn_status check_bounds(const tn_workload *workload, tn_error *error) {
    enum {
        CYCLES_MOST = 256,
        FILL_MOST = 64 * 256
    }; /* of an operator; of a kernel before its first result */
    uint64_t cycles = 0, elements = 0;
    bool fits = true;
    for (uint32_t i = 0; i < workload->works; i++) {
        const tn_work *work = &workload->work[i];
        const uint64_t factors[] = {work->size.batch,   work->size.rows, work->size.reduction,
                                    work->size.columns, CYCLES_MOST * 8, work->count};
        uint64_t product;
        fits = fits && tn_product(factors, 6, &product) && tn_add(cycles, product, &cycles) &&
               tn_mul_add(work->count, FILL_MOST, &cycles);
    }
    for (uint32_t i = 0; i < workload->step->arrays; i++)
        fits = fits && tn_add(elements, workload->step->array[i].elements, &elements);
    if (fits && cycles < UINT64_MAX / 4 && elements < UINT64_MAX >> 24) return TN_OK;
    return tn_fail(error, TN_OVERFLOW,
                   "the cycles or bits of step %s do not fit 64 bits; make the model smaller",
                   workload->step->name);
}

tn_status tn_workload_prepare(const tn_step *step, const tn_device *device, tn_arena *arena,
                              tn_workload **workload, tn_error *error) {
    tn_workload *made;
    if (tn_device_kind_of(device) != TN_DEVICE_FPGA)
        return tn_fail(error, TN_INPUT, "device %s is no FPGA; a build is priced on devices of kind fpga",
                       tn_device_name(device));
    TN_TRY(tn_arena_alloc(arena, 1, sizeof *made, &made, error));
    made->step = step;
    made->device = device;
    made->precision = step->precision;
    made->word_bits = 8 * step->element_bytes;
    TN_TRY(tn_operator_set_load(device, made->precision, false, &made->product_operators, error));
    made->sum_bits = made->precision == TN_INT8 ? 32 : made->word_bits;
    tn_precision vector = made->precision == TN_INT8 ? TN_FP32 : made->precision;
    TN_TRY(tn_operator_set_load(device, vector, true, &made->vector_operators, error));
    for (int buffers = 0; buffers < 2; buffers++)
        TN_TRY(tn_layout_make(step, (tn_buffers)buffers, arena, &made->layout[buffers], error));
    TN_TRY(list_tasks(made, arena, error));
    TN_TRY(check_bounds(made, error));
    TN_TRY(tn_arena_alloc(arena, made->works, sizeof *made->work_cycles, &made->work_cycles, error));
    TN_TRY(tn_arena_alloc(arena, made->tasks, sizeof *made->finish, &made->finish, error));
    TN_TRY(tn_arena_alloc(arena, 1, sizeof *made->memo, &made->memo, error));
    *workload = made;
    return TN_OK;
}

tn_matmul tn_workload_matmul(const tn_workload *workload, const tn_build *build) {
    const tn_operator_set *set = &workload->product_operators;
    return (tn_matmul){build->rows, build->columns, build->reduction, set->row[TN_MULTIPLY]->stages,
                       set->row[TN_ADDER]->stages};
}

void tn_workload_schedule(const tn_workload *workload, const tn_build *build, tn_schedule *schedule) {
    *schedule = (tn_schedule){.tasks = workload->tasks, .task = workload->task[build->buffers]};
    schedule->streams = tn_build_runs_streams(build) ? TN_STREAMS : 1;
    bool shared = build->sharing == TN_SHARED;
    for (uint32_t unit = 0; unit < TN_UNITS_MOST; unit++)
        schedule->unit[unit] = shared && unit < TN_PHASES ? 0 : unit;
}

tn_status tn_work_cycles(const tn_workload *workload, const tn_work *work, const tn_build *build,
                         uint64_t *cycles, uint64_t *issues, tn_error *error) {
    *issues = 0;
    if (!work->product) {
        const tn_vector kernel = {(tn_vector_kind)work->vector, build->vector, &workload->vector_operators};
        return tn_vector_cycles(&kernel, work->size.rows, work->size.columns, cycles, error);
    }
    const tn_matmul kernel = tn_workload_matmul(workload, build);
    tn_matmul_time time;
    TN_TRY(tn_matmul_cycles(&kernel, &work->size, &time, error));
    *cycles = time.cycles;
    *issues = time.issues;
    return TN_OK;
}
