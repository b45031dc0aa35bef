/* What `tenfold compare` asks of the satellites (docs/README.md): steps timed by the trainer, and rents. */
#include "cli/cmd_compare.h"

#ifdef TENFOLD_SATELLITES
#include "base/guard.h"
#include "finetune/gpu.h"
#include "learn/training.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 3, FIRST_STEPS = 3, STEPS_MOST = 200 };
static const double run_seconds = 0.1; /* of one run, where a step takes less */

static tn_status run_steps(const tn_model *model, uint64_t steps, uint32_t threads, tn_arena *arena,
                           double *seconds_per_step, tn_error *error) {
    tn_training_result result;
    tn_training run = {.model = model, .real = TN_FLOAT32, .steps = steps, .threads = threads};
    TN_TRY(tn_train_settings_decode(tn_model_training(model), arena, &run.settings, error));
    TN_TRY(tn_training_run(&run, arena, &result, error));
    *seconds_per_step = result.seconds_per_step;
    return TN_OK;
}

/* Sorted times of a step. */
static tn_status time_steps(const tn_model *model, uint32_t threads, tn_arena *arena, double seconds[RUNS],
                            tn_error *error) {
    TN_TRY(run_steps(model, FIRST_STEPS, threads, arena, &seconds[0], error));
    double steps = fmin(STEPS_MOST, fmax(FIRST_STEPS, run_seconds / seconds[0]));
    for (int i = 0; i < RUNS; i++)
        TN_TRY(run_steps(model, (uint64_t)steps, threads, arena, &seconds[i], error));
    for (int i = 1; i < RUNS; i++)
        for (int k = i; k > 0 && seconds[k] < seconds[k - 1]; k--) {
            double swap = seconds[k];
            seconds[k] = seconds[k - 1];
            seconds[k - 1] = swap;
        }
    return TN_OK;
}

static tn_status measure(const tn_compared_step *step, uint64_t batch, tn_arena *scratch, tn_arena *arena,
                         tn_comparison_row *row, tn_error *error) {
    static const char *const dense[] = {"format=dense"};
    double seconds[2][RUNS];
    const tn_model *model = step->model;
    tn_model *made;
    if (step->is_dense) {
        TN_TRY(tn_model_vary(tn_model_root(model), dense, 1, scratch, &made, error));
        model = made;
    }
    if (batch) {
        TN_TRY(tn_model_resize(model, batch, tn_model_sequence(model), scratch, &made, error));
        model = made;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t threads[] = {1, online > 1 ? (uint32_t)online : 1};
    size_t kinds = threads[1] > 1 ? 2 : 1, best = 0;
    for (size_t i = 0; i < kinds; i++) TN_TRY(time_steps(model, threads[i], scratch, seconds[i], error));
    if (kinds == 2 && seconds[1][RUNS / 2] < seconds[0][RUNS / 2]) best = 1;
    const tn_roofline *r = step->roofline;
    const tn_real_list *watts = &r->step_power_range_W;
    row->way = TN_WAY_MEASURED;
    row->seconds_per_step = seconds[best][RUNS / 2];
    row->seconds = (tn_interval){seconds[best][0], seconds[best][RUNS - 1]};
    row->power_W = r->step_power_W;
    row->power = watts->count == 2 ? (tn_interval){watts->item[0], watts->item[1]}
                                   : (tn_interval){r->step_power_W, r->step_power_W};
    row->joules_per_step = row->power_W * row->seconds_per_step;
    row->joules = (tn_interval){row->power.least * row->seconds.least, row->power.most * row->seconds.most};
    row->kernels_seconds = NAN;
    TN_TRY(tn_arena_format(arena, &row->system, error, "this machine (%u thread%s)", threads[best],
                           threads[best] > 1 ? "s" : ""));
    row->unverified = "step_power_W";
    return TN_OK;
}

tn_status tn_compare_measured(const tn_compared_step *step, uint64_t batch, tn_arena *arena,
                              tn_comparison_row *row, tn_error *error) {
    tn_arena scratch = {0};
    TN_TRY(tn_blas_room(error));
    TN_TRY(tn_compare_step(step, batch, arena, row, error));
    tn_status status = measure(step, batch, &scratch, arena, row, error);
    tn_arena_free(&scratch);
    return status;
}

tn_status tn_compare_rents(const char *prices, tn_arena *arena, tn_rent_terms *terms, tn_error *error) {
    tn_gpu_table table;
    tn_rent *rent;
    TN_TRY(tn_gpu_table_load(prices, arena, &table, error));
    TN_TRY(TN_NEW(arena, table.count, &rent, error));
    terms->rents = 0;
    terms->rent = rent;
    for (size_t i = 0; i < table.count; i++)
        if (table.gpu[i].device && table.gpu[i].usd_per_hour > 0)
            rent[terms->rents++] = (tn_rent){table.gpu[i].device, table.gpu[i].usd_per_hour};
    return TN_OK;
}
#else
tn_status tn_compare_measured(const tn_compared_step *step, uint64_t batch, tn_arena *arena,
                              tn_comparison_row *row, tn_error *error) {
    (void)step, (void)batch, (void)arena, (void)row;
    return tn_fail(error, TN_INPUT,
                   "this program is built without training, so it cannot measure; --cpu DEVICE "
                   "takes a device's law");
}

tn_status tn_compare_rents(const char *prices, tn_arena *arena, tn_rent_terms *terms, tn_error *error) {
    (void)prices, (void)arena, (void)error;
    terms->rents = 0;
    return TN_OK;
}
#endif
