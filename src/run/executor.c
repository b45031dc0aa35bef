#include "run/executor.h"

#include "base/checked.h"
#include "base/memory.h"
#include "run/permute.h"
#include "run/store.h"

#include <cblas.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

double tn_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct execution {
    const tn_program *program;
    const double *const *input;
    double *const *output;
    tn_store store;
    uint32_t *reads_left; /* [tensors] */
    tn_execution *done;
    tn_error *error;
} execution;

/* Scratch may add as much again as the operands and the result. */
static tn_status check_memory(const tn_program *program, tn_real real, tn_error *error) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t needed_bytes;
    if (pages <= 0 || page_bytes <= 0) return TN_OK;
    bool fits = tn_mul(tn_program_peak(program), 2 * tn_real_bytes(real), &needed_bytes);
    uint64_t machine_bytes = (uint64_t)pages * (uint64_t)page_bytes;
    if (fits && needed_bytes <= machine_bytes) return TN_OK;
    return tn_fail(error, TN_LIMIT,
                   "executing this flow needs %" PRIu64 " elements of %zu bytes, twice for scratch; this "
                   "machine has %" PRIu64 " bytes of memory",
                   tn_program_peak(program), tn_real_bytes(real), machine_bytes);
}

static tn_status make(execution *e, uint32_t tensor, tn_phase phase) {
    tn_axes axes = tn_axes_of(e->program->index_size, e->program->tensor[tensor].indices);
    return tn_store_make(&e->store, tensor, tn_axes_elements(&axes), phase, e->error);
}

static tn_status make_input(execution *e, uint32_t tensor, tn_phase phase) {
    TN_TRY(make(e, tensor, phase));
    tn_store_put(&e->store, tensor, e->input[tensor]);
    return TN_OK;
}

static tn_status begin(execution *e, tn_real real) {
    const tn_program *program = e->program;
    TN_TRY(tn_store_begin(&e->store, real, program->tensors, e->error));
    TN_TRY(tn_alloc(program->tensors, sizeof *e->reads_left, &e->reads_left, e->error));
    for (uint32_t s = 0; s < program->steps; s++) {
        e->reads_left[program->step[s].a]++;
        e->reads_left[program->step[s].b]++;
    }
    for (uint32_t t = 0; t < program->inputs; t++)
        if (program->tensor[t].role != TN_ROLE_DY) TN_TRY(make_input(e, t, TN_FORWARD));
    return TN_OK;
}

/* Y goes to the next layer, what only the forward phase read goes, dY comes. */
static tn_status turn_back(execution *e, tn_phase phase) {
    const tn_program *program = e->program;
    for (uint32_t t = 0; t < program->tensors; t++) {
        tn_role role = program->tensor[t].role;
        if (role == TN_ROLE_Y || (role == TN_ROLE_X && e->reads_left[t] == 0)) tn_store_free(&e->store, t);
    }
    for (uint32_t t = 0; t < program->inputs; t++)
        if (program->tensor[t].role == TN_ROLE_DY) TN_TRY(make_input(e, t, phase));
    return TN_OK;
}

static void release(execution *e, uint32_t tensor, tn_phase phase) {
    if (--e->reads_left[tensor] > 0) return;
    tn_role role = e->program->tensor[tensor].role;
    if (role == TN_ROLE_INTERMEDIATE || (role == TN_ROLE_X && phase != TN_FORWARD))
        tn_store_free(&e->store, tensor);
}

static tn_status multiply(execution *e, const tn_program_step *step) {
    const tn_program_tensor *tensor = e->program->tensor;
    tn_operand a = {tensor[step->a].indices, e->store.values[step->a]};
    tn_operand b = {tensor[step->b].indices, e->store.values[step->b]};
    uint64_t before = e->done->work.macs;
    double started = tn_seconds();
    TN_TRY(tn_run_product(e->store.real, e->program->index_size, a, b, tensor[step->out].indices,
                          e->store.values[step->out], &e->done->work, e->error));
    e->done->seconds[step->phase] += tn_seconds() - started;
    e->done->macs[step->phase] += e->done->work.macs - before;
    return TN_OK;
}

static tn_status run_step(execution *e, const tn_program_step *step) {
    TN_TRY(make(e, step->out, step->phase));
    TN_TRY(multiply(e, step));
    bool wanted = e->program->tensor[step->out].role != TN_ROLE_INTERMEDIATE && e->output[step->out];
    if (wanted) tn_store_get(&e->store, step->out, e->output[step->out]);
    release(e, step->a, step->phase);
    release(e, step->b, step->phase);
    return TN_OK;
}

static tn_status run(execution *e, tn_real real) {
    const tn_program *program = e->program;
    TN_TRY(begin(e, real));
    for (uint32_t s = 0; s < program->steps; s++) {
        if (program->training && s == program->forward_steps) TN_TRY(turn_back(e, program->step[s].phase));
        TN_TRY(run_step(e, &program->step[s]));
    }
    for (int phase = 0; phase < TN_PHASES; phase++)
        e->done->peak_elements[phase] = e->store.peak_elements[phase];
    return TN_OK;
}

tn_status tn_execute(const tn_program *program, tn_real real, const double *const *input,
                     double *const *output, tn_execution *done, tn_error *error) {
    execution e = {.program = program, .input = input, .output = output, .done = done, .error = error};
    *done = (tn_execution){0};
    TN_TRY(check_memory(program, real, error));
    openblas_set_num_threads(1);
    tn_status status = run(&e, real);
    tn_store_end(&e.store);
    tn_free(e.reads_left);
    return status;
}
