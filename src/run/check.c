#include "run/check.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/random.h"
#include "run/executor.h"
#include "run/product.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { SIDE = 128, RUNS = 5, SMALL_CALLS = 500 };

/* Three square arrays of SIDE x SIDE elements of either type. */
typedef struct arrays {
    double *a, *b, *c;
} arrays;

static void multiply(tn_real real, const arrays *values, int side) {
    if (real == TN_FLOAT64)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1.0, values->a, side,
                    values->b, side, 0.0, values->c, side);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1.0f, (float *)values->a,
                    side, (float *)values->b, side, 0.0f, (float *)values->c, side);
}

static void transpose(tn_real real, const arrays *values) {
    const tn_axes source = {2, {0, 1}, {SIDE, SIDE}}, target = {2, {1, 0}, {SIDE, SIDE}};
    tn_permute(tn_real_bytes(real), &source, &target, values->a, values->c);
}

/* A whole step on 2 x 2 arrays, the first of which has its batch index last. */
static tn_status small_step(tn_real real, const arrays *values, tn_error *error) {
    const uint64_t index_size[] = {2, 2, 2};
    uint32_t row_batch[] = {1, 0}, batch_column[] = {0, 2}, all[] = {0, 1, 2};
    const tn_operand a = {{2, row_batch}, values->a}, b = {{2, batch_column}, values->b};
    tn_product_work work = {0};
    return tn_run_product(real, index_size, a, b, (tn_indices){3, all}, values->c, &work, error);
}

static double best(double seconds, double started) {
    double now = tn_clock_seconds() - started;
    return now < seconds ? now : seconds;
}

static tn_status measure(tn_cpu_rates *rates, tn_real real, const arrays *values, tn_error *error) {
    double large = 1, small = 1, moved = 1, step = 1;
    for (int run = 0; run < RUNS; run++) {
        double started = tn_clock_seconds();
        multiply(real, values, SIDE);
        large = best(large, started);
        started = tn_clock_seconds();
        for (int i = 0; i < SMALL_CALLS; i++) multiply(real, values, 1);
        small = best(small, started);
        started = tn_clock_seconds();
        transpose(real, values);
        moved = best(moved, started);
        started = tn_clock_seconds();
        for (int i = 0; i < SMALL_CALLS; i++) TN_TRY(small_step(real, values, error));
        step = best(step, started);
    }
    rates->seconds_per_mac[real] = large / ((double)SIDE * SIDE * SIDE);
    rates->seconds_per_call[real] = small / SMALL_CALLS;
    rates->seconds_per_step[real] = fmax(0, step - 2 * small) / SMALL_CALLS; /* it has a batch of 2 */
    rates->seconds_per_element[real] = moved / ((double)SIDE * SIDE);
    return TN_OK;
}

static tn_status allocate(arrays *values, tn_error *error) {
    size_t elements = (size_t)SIDE * SIDE;
    TN_TRY(TN_ALLOC(elements, &values->a, error));
    TN_TRY(TN_ALLOC(elements, &values->b, error));
    return TN_ALLOC(elements, &values->c, error);
}

tn_status tn_cpu_measure(tn_cpu_rates *rates, tn_error *error) {
    arrays values = {0};
    tn_status status = allocate(&values, error);
    tn_blas_serial();
    for (int real = 0; status == TN_OK && real < TN_REALS; real++)
        status = measure(rates, (tn_real)real, &values, error);
    tn_blas_restore();
    tn_free(values.a);
    tn_free(values.b);
    tn_free(values.c);
    return status;
}

double tn_cpu_seconds(const tn_cpu_rates *rates, const tn_program *program, tn_phase phase, tn_real real) {
    double seconds = 0;
    for (uint32_t s = 0; s < program->steps; s++) {
        const tn_program_step *step = &program->step[s];
        if (step->phase != phase) continue;
        double elements = (double)program->tensor[step->a].elements +
                          (double)program->tensor[step->b].elements +
                          (double)program->tensor[step->out].elements;
        double times = step->once ? 1 : (double)program->micro_batches;
        seconds +=
            times *
            (rates->seconds_per_step[real] + (double)step->shape.batch * rates->seconds_per_call[real] +
             (double)step->macs * rates->seconds_per_mac[real] + elements * rates->seconds_per_element[real]);
    }
    return seconds;
}

static const double dense_tolerance[TN_REALS] = {1e-12, 1e-4}, difference_tolerance = 1e-8;

/* One program being checked in one precision. */
typedef struct checking {
    const tn_trial *trial;
    const tn_program *program;
    tn_real real;
    double **output; /* [tensors] */
    tn_execution execution;
    double dense_error[TN_PHASES], given_error[TN_PHASES], difference_error[TN_PHASES];
    tn_arena *scratch;
    tn_error *error;
} checking;

static double norm_of(const double *values, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += values[i] * values[i];
    return sqrt(sum);
}

static double dot(const double *a, const double *b, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static double relative_error(const double *got, const double *expected, uint64_t count) {
    double sum = 0, norm = norm_of(expected, count);
    for (uint64_t i = 0; i < count; i++) sum += (got[i] - expected[i]) * (got[i] - expected[i]);
    return norm > 0 ? sqrt(sum) / norm : sqrt(sum);
}

/* Keeps the larger error; a NaN stays. */
static void worsen(double *worst, double error) {
    if (!(error <= *worst)) *worst = error;
}

static bool is_output(const tn_program_tensor *tensor) {
    return tensor->role == TN_ROLE_Y || tensor->role == TN_ROLE_DX || tensor->role == TN_ROLE_CORE_GRADIENT;
}

/* What an output must be by the dense product, and what was given for it. */
static const double *expected(const tn_trial *trial, const tn_program_tensor *tensor, const double **given) {
    switch (tensor->role) {
    case TN_ROLE_Y:
        *given = trial->given.y;
        return trial->reference.y;
    case TN_ROLE_DX:
        *given = trial->given.dx;
        return trial->reference.dx;
    default:
        *given = trial->given.dcore ? trial->given.dcore[tensor->core] : NULL;
        return trial->reference.dcore[tensor->core];
    }
}

/* The phase whose result the output is: that of the step which makes it. */
static tn_phase phase_of(const tn_program *program, const tn_program_tensor *tensor) {
    return program->step[tensor->made_by].phase;
}

/* Elements of an output, of all micro-batches. */
static uint64_t elements_of(const tn_program *program, uint32_t tensor) {
    const tn_program_tensor *one = &program->tensor[tensor];
    bool rows = one->role == TN_ROLE_Y || one->role == TN_ROLE_X || one->role == TN_ROLE_DX;
    return rows ? program->micro_batches * one->elements : one->elements;
}

static void compare(checking *c) {
    for (uint32_t t = c->program->inputs; t < c->program->tensors; t++) {
        const tn_program_tensor *tensor = &c->program->tensor[t];
        if (!is_output(tensor)) continue;
        const double *given, *dense = expected(c->trial, tensor, &given);
        tn_phase phase = phase_of(c->program, tensor);
        uint64_t elements = elements_of(c->program, t);
        worsen(&c->dense_error[phase], relative_error(c->output[t], dense, elements));
        if (given) worsen(&c->given_error[phase], relative_error(c->output[t], given, elements));
    }
}

static tn_status execute(checking *c) {
    const tn_program *program = c->program;
    TN_TRY(TN_NEW(c->scratch, program->tensors, &c->output, c->error));
    for (uint32_t t = program->inputs; t < program->tensors; t++)
        if (is_output(&program->tensor[t]))
            TN_TRY(
                tn_arena_alloc(c->scratch, elements_of(program, t), sizeof(double), &c->output[t], c->error));
    TN_TRY(tn_execute(program, c->real, c->trial->input, c->output, &c->execution, c->error));
    /* Once more for the time alone: the first run touches memory for the first time. */
    tn_execution again;
    TN_TRY(tn_execute(program, c->real, c->trial->input, c->output, &again, c->error));
    for (int phase = 0; phase < TN_PHASES; phase++)
        c->execution.seconds[phase] = fmin(c->execution.seconds[phase], again.seconds[phase]);
    return TN_OK;
}

/* Y . dY of the program's forward phase with these inputs. */
static tn_status loss(checking *c, const double *const *input, double *value) {
    tn_program forward = *c->program;
    tn_execution unused;
    uint32_t y = forward.step[forward.forward_steps - 1].out;
    forward.training = false;
    forward.steps = forward.forward_steps;
    forward.epilogue_steps = 0;
    TN_TRY(tn_execute(&forward, TN_FLOAT64, input, c->output, &unused, c->error));
    *value = dot(c->output[y], c->trial->input[c->trial->cores + 1], elements_of(&forward, y));
    return TN_OK;
}

/* The central difference of input t along `direction`. */
static tn_status central_difference(checking *c, uint32_t t, const double *direction, double *difference) {
    uint64_t elements = elements_of(c->program, t);
    const double **input;
    double *moved, sides[2];
    TN_TRY(TN_NEW(c->scratch, c->program->inputs, &input, c->error));
    TN_TRY(TN_NEW(c->scratch, elements, &moved, c->error));
    memcpy(input, c->trial->input, c->program->inputs * sizeof *input);
    input[t] = moved;
    for (int side = 0; side < 2; side++) {
        for (uint64_t i = 0; i < elements; i++)
            moved[i] = c->trial->input[t][i] + (side == 0 ? direction[i] : -direction[i]);
        TN_TRY(loss(c, input, &sides[side]));
    }
    *difference = (sides[0] - sides[1]) / 2;
    return TN_OK;
}

static tn_status check_difference(checking *c, uint32_t gradient) {
    const tn_program_tensor *tensor = &c->program->tensor[gradient];
    uint32_t t = tensor->role == TN_ROLE_DX ? 0 : tensor->core + 1;
    uint64_t elements = elements_of(c->program, gradient);
    double *direction, difference;
    TN_TRY(TN_NEW(c->scratch, elements, &direction, c->error));
    TN_TRY(tn_random_fill_normal(c->trial->seed + 1000 + t, direction, elements, c->error));
    /* As long as the input itself, so that neither side of the difference drowns in the other. */
    double length = norm_of(direction, elements), scale = norm_of(c->trial->input[t], elements) / length;
    for (uint64_t i = 0; i < elements; i++) direction[i] *= scale;
    TN_TRY(central_difference(c, t, direction, &difference));
    const double *values = c->output[gradient];
    double size = norm_of(values, elements) * length * scale / sqrt((double)elements);
    double error = fabs(difference - dot(values, direction, elements));
    worsen(&c->difference_error[phase_of(c->program, tensor)], size > 0 ? error / size : error);
    return TN_OK;
}

static tn_status check_differences(checking *c) {
    for (uint32_t t = c->program->inputs; t < c->program->tensors; t++) {
        const tn_program_tensor *tensor = &c->program->tensor[t];
        if (is_output(tensor) && tensor->role != TN_ROLE_Y) TN_TRY(check_difference(c, t));
    }
    return TN_OK;
}

static bool is_given(const tn_trial *trial, tn_phase phase) {
    if (phase == TN_FORWARD) return trial->given.y != NULL;
    return phase == TN_INPUT_GRADIENT ? trial->given.dx != NULL : trial->given.dcore != NULL;
}

static tn_check judge(const checking *c, tn_phase phase, const tn_cpu_rates *rates) {
    double tolerance = dense_tolerance[c->real], given_within = fmax(tolerance, c->trial->given.tolerance);
    bool given = is_given(c->trial, phase), differences = c->real == TN_FLOAT64 && phase != TN_FORWARD;
    tn_check check = {
        .real = c->real,
        .phase = phase,
        .macs_predicted = c->program->macs[phase],
        .macs_executed = c->execution.macs[phase],
        .peak_elements_predicted = c->program->peak_elements[phase],
        .peak_elements_executed = c->execution.peak_elements[phase],
        .scratch_elements = c->execution.work.scratch_elements,
        .relative_error = c->dense_error[phase],
        .tolerance = given ? given_within : tolerance,
        .difference_error = differences ? c->difference_error[phase] : -1,
        .seconds_predicted = tn_cpu_seconds(rates, c->program, phase, c->real),
        .seconds_executed = c->execution.seconds[phase],
    };
    worsen(&check.relative_error, c->given_error[phase]);
    check.ok = check.macs_predicted == check.macs_executed &&
               check.peak_elements_predicted == check.peak_elements_executed &&
               c->dense_error[phase] <= tolerance && c->given_error[phase] <= given_within &&
               (!differences || check.difference_error <= difference_tolerance);
    return check;
}

static tn_status append(tn_checks *checks, tn_check check, const char *name, const char *flow,
                        tn_error *error) {
    TN_TRY(TN_GROW(&checks->item, &checks->capacity, checks->count + 1, error));
    TN_TRY(tn_arena_copy_text(&checks->arena, name, strlen(name), &check.name, error));
    TN_TRY(tn_arena_copy_text(&checks->arena, flow, strlen(flow), &check.flow, error));
    checks->item[checks->count++] = check;
    checks->failed |= !check.ok;
    return TN_OK;
}

static bool has_phase(const tn_program *program, tn_phase phase) {
    for (uint32_t s = 0; s < program->steps; s++)
        if (program->step[s].phase == phase) return true;
    return false;
}

static tn_status check_in(tn_checks *checks, checking *c, const char *name, const char *flow,
                          const tn_cpu_rates *rates) {
    TN_TRY(execute(c));
    compare(c);
    if (c->real == TN_FLOAT64) TN_TRY(check_differences(c));
    for (int phase = 0; phase < TN_PHASES; phase++)
        if (has_phase(c->program, (tn_phase)phase))
            TN_TRY(append(checks, judge(c, (tn_phase)phase, rates), name, flow, c->error));
    return TN_OK;
}

tn_status tn_check_program(tn_checks *checks, const tn_trial *trial, const tn_program *program,
                           const char *name, const char *flow, const tn_cpu_rates *rates, tn_error *error) {
    tn_status status = TN_OK;
    for (int real = 0; status == TN_OK && real < TN_REALS; real++) {
        tn_arena scratch = {0};
        checking c = {
            .trial = trial, .program = program, .real = (tn_real)real, .scratch = &scratch, .error = error};
        status = check_in(checks, &c, name, flow, rates);
        tn_arena_free(&scratch);
    }
    return status;
}

void tn_checks_free(tn_checks *checks) {
    tn_free(checks->item);
    tn_arena_free(&checks->arena);
    *checks = (tn_checks){0};
}
