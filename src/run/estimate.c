#include "run/estimate.h"

#include "base/blas.h"
#include "base/clock.h"
#include "base/memory.h"
#include "run/executor.h"
#include "run/permute.h"

#include <cblas.h>
#include <math.h>

enum { SIDE = 128, RUNS = 5, SMALL_CALLS = 500 };

/* Three square arrays of SIDE x SIDE elements of either type. */
typedef struct arrays {
    double *a, *b, *c;
} arrays;

static void multiply(tn_real real, const arrays *on, int side) {
    if (real == TN_FLOAT64)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1.0, on->a, side, on->b,
                    side, 0.0, on->c, side);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1.0f, (float *)on->a, side,
                    (float *)on->b, side, 0.0f, (float *)on->c, side);
}

static void transpose(tn_real real, const arrays *on) {
    const tn_axes from = {2, {0, 1}, {SIDE, SIDE}}, to = {2, {1, 0}, {SIDE, SIDE}};
    tn_permute(tn_real_bytes(real), &from, &to, on->a, on->c);
}

/* A whole step on 2 x 2 arrays, the first of which has its batch index last. */
static tn_status small_step(tn_real real, const arrays *on, tn_error *error) {
    const uint64_t index_size[] = {2, 2, 2};
    uint32_t row_batch[] = {1, 0}, batch_column[] = {0, 2}, all[] = {0, 1, 2};
    const tn_operand a = {{2, row_batch}, on->a}, b = {{2, batch_column}, on->b};
    tn_product_work work = {0};
    return tn_run_product(real, index_size, a, b, (tn_indices){3, all}, on->c, &work, error);
}

static double best(double seconds, double started) {
    double now = tn_clock_seconds() - started;
    return now < seconds ? now : seconds;
}

static tn_status measure(tn_cpu_rates *rates, tn_real real, const arrays *on, tn_error *error) {
    double large = 1, small = 1, moved = 1, step = 1;
    for (int run = 0; run < RUNS; run++) {
        double started = tn_clock_seconds();
        multiply(real, on, SIDE);
        large = best(large, started);
        started = tn_clock_seconds();
        for (int i = 0; i < SMALL_CALLS; i++) multiply(real, on, 1);
        small = best(small, started);
        started = tn_clock_seconds();
        transpose(real, on);
        moved = best(moved, started);
        started = tn_clock_seconds();
        for (int i = 0; i < SMALL_CALLS; i++) TN_TRY(small_step(real, on, error));
        step = best(step, started);
    }
    rates->seconds_per_mac[real] = large / ((double)SIDE * SIDE * SIDE);
    rates->seconds_per_call[real] = small / SMALL_CALLS;
    rates->seconds_per_step[real] = fmax(0, step - 2 * small) / SMALL_CALLS; /* it has a batch of 2 */
    rates->seconds_per_element[real] = moved / ((double)SIDE * SIDE);
    return TN_OK;
}

static tn_status allocate(arrays *on, tn_error *error) {
    size_t elements = (size_t)SIDE * SIDE;
    TN_TRY(tn_alloc(elements, sizeof *on->a, &on->a, error));
    TN_TRY(tn_alloc(elements, sizeof *on->b, &on->b, error));
    return tn_alloc(elements, sizeof *on->c, &on->c, error);
}

tn_status tn_cpu_measure(tn_cpu_rates *rates, tn_error *error) {
    arrays on = {0};
    tn_status status = allocate(&on, error);
    tn_blas_serial();
    for (int real = 0; status == TN_OK && real < TN_REALS; real++)
        status = measure(rates, (tn_real)real, &on, error);
    tn_blas_restore();
    tn_free(on.a);
    tn_free(on.b);
    tn_free(on.c);
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
