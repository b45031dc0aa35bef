#include "run/executor.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/guard.h"
#include "base/memory.h"
#include "run/product.h"

#include <cblas.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static tn_status live_tensors_begin(tn_live_tensors *store, tn_real real, uint32_t tensors, tn_error *error) {
    *store = (tn_live_tensors){.real = real, .tensors = tensors};
    TN_TRY(TN_ALLOC(tensors, &store->values, error));
    return TN_ALLOC(tensors, &store->elements, error);
}

/* Makes tensor t of that many elements, in `phase`. */
static tn_status live_tensors_make(tn_live_tensors *store, uint32_t tensor, uint64_t elements, tn_phase phase,
                                   tn_error *error) {
    TN_TRY(tn_alloc(elements, tn_real_bytes(store->real), &store->values[tensor], error));
    store->elements[tensor] = elements;
    store->live_elements += elements;
    tn_live_tensors_note(store, phase);
    return TN_OK;
}

void tn_live_tensors_note(tn_live_tensors *store, tn_phase phase) {
    if (store->live_elements > store->peak_elements[phase])
        store->peak_elements[phase] = store->live_elements;
}

/* Makes tensor t of that many elements, in `phase`. */
static void live_tensors_free(tn_live_tensors *store, uint32_t tensor) {
    if (!store->values[tensor]) return;
    tn_free(store->values[tensor]);
    store->values[tensor] = NULL;
    store->live_elements -= store->elements[tensor];
}

static void live_tensors_end(tn_live_tensors *store) {
    for (uint32_t t = 0; store->values && store->elements && t < store->tensors; t++)
        live_tensors_free(store, t);
    tn_free(store->values);
    tn_free(store->elements);
}

/* tensor += addend, which is of the store's type. */
static void live_tensors_add(tn_live_tensors *store, uint32_t tensor, const void *addend) {
    uint64_t elements = store->elements[tensor];
    if (store->real == TN_FLOAT64)
        for (uint64_t i = 0; i < elements; i++)
            ((double *)store->values[tensor])[i] += ((const double *)addend)[i];
    else
        for (uint64_t i = 0; i < elements; i++)
            ((float *)store->values[tensor])[i] += ((const float *)addend)[i];
}

/* Between the store's type and float64; the tensor is live. */
static void live_tensors_put(tn_live_tensors *store, uint32_t tensor, const double *values) {
    if (store->real == TN_FLOAT64) {
        memcpy(store->values[tensor], values, store->elements[tensor] * sizeof *values);
        return;
    }
    float *single = store->values[tensor];
    for (uint64_t i = 0; i < store->elements[tensor]; i++) single[i] = (float)values[i];
}

/* Between the store's type and float64; the tensor is live. */
static void live_tensors_get(const tn_live_tensors *store, uint32_t tensor, double *values) {
    if (store->real == TN_FLOAT64) {
        memcpy(values, store->values[tensor], store->elements[tensor] * sizeof *values);
        return;
    }
    const float *single = store->values[tensor];
    for (uint64_t i = 0; i < store->elements[tensor]; i++) values[i] = single[i];
}

typedef struct execution {
    const tn_program *program;
    const double *const *input;
    double *const *output;
    tn_live_tensors store;
    uint32_t *body_reads, *once_reads; /* [tensors]: by steps of the body, of prelude and epilogue */
    uint64_t *reads_left;              /* [tensors], of what is live */
    uint64_t micro_batch;
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

static bool of_prelude(const tn_program *program, uint32_t tensor) {
    uint32_t made_by = program->tensor[tensor].made_by;
    return made_by != TN_NO_STEP && made_by < program->prelude_steps;
}

/* How often the tensor is read from when it is made until it is made anew, if it is. */
static uint64_t reads_of(const execution *e, uint32_t tensor) {
    const tn_program *program = e->program;
    if (of_prelude(program, tensor))
        return e->once_reads[tensor] + program->micro_batches * e->body_reads[tensor];
    return tn_program_is_sum(program, tensor) ? e->once_reads[tensor]
                                              : e->body_reads[tensor] + e->once_reads[tensor];
}

static uint64_t elements_of(const tn_program *program, uint32_t tensor) {
    tn_axes axes = tn_axes_of(program->index_size, program->tensor[tensor].indices);
    return tn_axes_elements(&axes);
}

static tn_status make(execution *e, uint32_t tensor, tn_phase phase) {
    e->reads_left[tensor] = reads_of(e, tensor);
    return live_tensors_make(&e->store, tensor, elements_of(e->program, tensor), phase, e->error);
}

/* Inputs of that role; each micro-batch has its own X and dY. */
static tn_status make_inputs(execution *e, tn_role role, tn_phase phase) {
    const tn_program *program = e->program;
    for (uint32_t t = 0; t < program->inputs; t++) {
        if (program->tensor[t].role != role) continue;
        uint64_t offset = role == TN_ROLE_CORE ? 0 : e->micro_batch * elements_of(program, t);
        TN_TRY(make(e, t, phase));
        live_tensors_put(&e->store, t, e->input[t] + offset);
    }
    return TN_OK;
}

static void free_role(execution *e, tn_role role) {
    for (uint32_t t = 0; t < e->program->tensors; t++)
        if (e->program->tensor[t].role == role) live_tensors_free(&e->store, t);
}

/* Y goes to the next layer, what only the forward phase read goes, dY comes. */
static tn_status turn_back(execution *e, tn_phase phase) {
    free_role(e, TN_ROLE_Y);
    if (e->reads_left[0] == 0) free_role(e, TN_ROLE_X);
    return make_inputs(e, TN_ROLE_DY, phase);
}

static void release(execution *e, uint32_t tensor, const tn_program_step *step) {
    if (--e->reads_left[tensor] > 0) return;
    tn_role role = e->program->tensor[tensor].role;
    if (!step->once && of_prelude(e->program, tensor)) return; /* goes when the body ends */
    if (role == TN_ROLE_INTERMEDIATE || (role == TN_ROLE_X && step->phase != TN_FORWARD))
        live_tensors_free(&e->store, tensor);
}

/* The step's product, into `out`. */
static tn_status multiply(execution *e, const tn_program_step *step, void *out) {
    const tn_program_tensor *tensor = e->program->tensor;
    tn_operand a = {tensor[step->a].indices, e->store.values[step->a]};
    tn_operand b = {tensor[step->b].indices, e->store.values[step->b]};
    return tn_run_product(e->store.real, e->program->index_size, a, b, tensor[step->out].indices, out,
                          &e->done->work, e->error);
}

/* The step's product, added to a sum over micro-batches. */
static tn_status multiply_and_add(execution *e, const tn_program_step *step) {
    void *product;
    uint64_t elements = elements_of(e->program, step->out);
    TN_TRY(tn_alloc(elements, tn_real_bytes(e->store.real), &product, e->error));
    tn_status status = multiply(e, step, product);
    if (status == TN_OK) live_tensors_add(&e->store, step->out, product);
    if (elements > e->done->work.scratch_elements) e->done->work.scratch_elements = elements;
    tn_free(product);
    return status;
}

static void copy_out(execution *e, uint32_t tensor) {
    const tn_program *program = e->program;
    tn_role role = program->tensor[tensor].role;
    bool rows = role == TN_ROLE_Y || role == TN_ROLE_DX;
    if (role == TN_ROLE_INTERMEDIATE || !e->output[tensor]) return;
    live_tensors_get(&e->store, tensor,
                     e->output[tensor] + (rows ? e->micro_batch * elements_of(program, tensor) : 0));
}

static tn_status run_step(execution *e, const tn_program_step *step) {
    bool sum = tn_program_is_sum(e->program, step->out);
    uint64_t before = e->done->work.macs;
    if (!sum) TN_TRY(make(e, step->out, step->phase));
    tn_live_tensors_note(&e->store, step->phase); /* a sum is made before */
    double started = tn_clock_seconds();
    if (sum && e->micro_batch > 0)
        TN_TRY(multiply_and_add(e, step));
    else
        TN_TRY(multiply(e, step, e->store.values[step->out]));
    e->done->seconds[step->phase] += tn_clock_seconds() - started;
    e->done->macs[step->phase] += e->done->work.macs - before;
    copy_out(e, step->out);
    release(e, step->a, step);
    release(e, step->b, step);
    return TN_OK;
}

static tn_status run_steps(execution *e, uint32_t first, uint32_t end) {
    for (uint32_t s = first; s < end; s++) TN_TRY(run_step(e, &e->program->step[s]));
    return TN_OK;
}

static tn_status run_micro_batch(execution *e) {
    const tn_program *program = e->program;
    uint32_t end = program->steps - program->epilogue_steps;
    TN_TRY(make_inputs(e, TN_ROLE_X, TN_FORWARD));
    TN_TRY(run_steps(e, program->prelude_steps, program->forward_steps));
    if (program->training) {
        TN_TRY(turn_back(e, program->step[program->forward_steps].phase));
        TN_TRY(run_steps(e, program->forward_steps, end));
    }
    free_role(e, TN_ROLE_X);
    free_role(e, TN_ROLE_Y);
    free_role(e, TN_ROLE_DY);
    free_role(e, TN_ROLE_DX);
    return TN_OK;
}

static tn_status make_sums(execution *e) {
    for (uint32_t t = 0; t < e->program->tensors; t++)
        if (tn_program_is_sum(e->program, t)) TN_TRY(make(e, t, TN_FORWARD));
    return TN_OK;
}

static tn_status run_body(execution *e) {
    TN_TRY(make_sums(e));
    for (e->micro_batch = 0; e->micro_batch < e->program->micro_batches; e->micro_batch++)
        TN_TRY(run_micro_batch(e));
    for (uint32_t t = 0; t < e->program->tensors; t++)
        if (of_prelude(e->program, t) && e->reads_left[t] == 0) live_tensors_free(&e->store, t);
    return TN_OK;
}

static tn_status begin(execution *e, tn_real real) {
    const tn_program *program = e->program;
    TN_TRY(live_tensors_begin(&e->store, real, program->tensors, e->error));
    TN_TRY(TN_ALLOC(program->tensors, &e->body_reads, e->error));
    TN_TRY(TN_ALLOC(program->tensors, &e->once_reads, e->error));
    TN_TRY(TN_ALLOC(program->tensors, &e->reads_left, e->error));
    for (uint32_t s = 0; s < program->steps; s++) {
        uint32_t *reads = program->step[s].once ? e->once_reads : e->body_reads;
        reads[program->step[s].a]++;
        reads[program->step[s].b]++;
    }
    return make_inputs(e, TN_ROLE_CORE, TN_FORWARD);
}

static tn_status run(execution *e, tn_real real) {
    const tn_program *program = e->program;
    TN_TRY(begin(e, real));
    TN_TRY(run_steps(e, 0, program->prelude_steps));
    TN_TRY(run_body(e));
    TN_TRY(run_steps(e, program->steps - program->epilogue_steps, program->steps));
    for (int phase = 0; phase < TN_PHASES; phase++)
        e->done->peak_elements[phase] = e->store.peak_elements[phase];
    return TN_OK;
}

tn_status tn_execute(const tn_program *program, tn_real real, const double *const *input,
                     double *const *output, tn_execution *done, tn_error *error) {
    execution e = {.program = program, .input = input, .output = output, .done = done, .error = error};
    *done = (tn_execution){0};
    TN_TRY(check_memory(program, real, error));
    tn_blas_serial();
    tn_status status = run(&e, real);
    tn_blas_restore();
    live_tensors_end(&e.store);
    tn_free(e.body_reads);
    tn_free(e.once_reads);
    tn_free(e.reads_left);
    return status;
}
