/* Time of a training step, on one core: the 2-encoder model at 32 tokens, dense and by each flow; the share of
 * time in products; and the floor, the time that one large product of OpenBLAS takes for as many multiply-adds. And by two
 * threads, beside what two programs at once get out of this machine. */
#include "base/guard.h"
#include "base/random.h"
#include "model/model.h"
#include "train/initial.h"
#include "train/trainer.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TOKENS = 32, ROUNDS = 7, SIDE = 1024 };

/* Of this thread's own work: other programs on the machine do not count. */
static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check(tn_status status, const tn_error *error) {
    if (status == TN_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

static void steps_of(tn_trainer *trainer, int steps, tn_step_result *result, tn_error *error) {
    uint32_t token[TOKENS];
    int32_t slot[TOKENS];
    uint64_t state = 1;
    const tn_example example = {TOKENS, token, slot, 3};
    for (int i = 0; i < TOKENS; i++) {
        token[i] = tn_splitmix_below(&state, 1000);
        slot[i] = (int32_t)tn_splitmix_below(&state, 120);
    }
    for (int i = 0; i < steps; i++)
        check(tn_trainer_step(trainer, &example, 1, true, 1e-4, result, error), error);
}

/* The best of several runs of `steps` steps. */
static double seconds_per_step(tn_trainer *trainer, int steps, tn_step_result *result, tn_error *error) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double started = cpu_seconds();
        steps_of(trainer, steps, result, error);
        double seconds = (cpu_seconds() - started) / steps;
        if (seconds < best) best = seconds;
    }
    return best;
}

/* Multiply-adds a second that the processor's widest vectors do out of registers: the peak of one core. */
typedef float lanes __attribute__((vector_size(64)));
__attribute__((target_clones("avx512f", "arch=haswell", "default"), optimize("fp-contract=fast"))) static void
multiply_add(uint64_t rounds, const lanes *this_lanes, const lanes *and, lanes *result) {
    const lanes factor = *this_lanes, term = *and;
    enum { CHAINS = 12 }; /* to hide the latency of each */
    lanes sum[CHAINS];
    for (int i = 0; i < CHAINS; i++) sum[i] = term * (float)i;
    for (uint64_t k = 0; k < rounds; k++)
        for (int i = 0; i < CHAINS; i++) sum[i] = sum[i] * factor + term;
    for (int i = 1; i < CHAINS; i++) sum[0] += sum[i];
    *result = sum[0];
}

static double peak_rate(void) {
    const uint64_t rounds = 4000000;
    lanes factor, term, sum;
    double best = 1e9;
    float kept = 0;
    for (int i = 0; i < 16; i++) {
        factor[i] = 0.5F;
        term[i] = (float)i;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double started = cpu_seconds();
        multiply_add(rounds, &factor, &term, &sum);
        double seconds = cpu_seconds() - started;
        kept += sum[3];
        if (seconds < best) best = seconds;
    }
    if (kept == 1) printf(" ");
    return 12.0 * 16 * (double)rounds / best;
}

/* Multiply-adds a second of one large product. */
static double large_product_rate(void) {
    float *values = malloc(3 * (size_t)SIDE * SIDE * sizeof *values), *a = values, *b = a + SIDE * SIDE,
          *out = b + SIDE * SIDE;
    double best = 1e9;
    for (size_t i = 0; i < 3 * (size_t)SIDE * SIDE; i++) values[i] = (float)(i % 7) - 3;
    for (int round = 0; round < ROUNDS; round++) {
        double started = cpu_seconds();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, 0, out,
                    SIDE);
        double seconds = cpu_seconds() - started;
        if (seconds < best) best = seconds;
    }
    free(values);
    return (double)SIDE * SIDE * SIDE / best;
}

/* Of atis-2enc, by a flow or uncompressed. */
static tn_trainer *trainer_of(tn_flow_name flow, bool dense, tn_arena *arena) {
    static const char *const as_dense[] = {"format=dense"};
    static tn_train_settings settings;
    tn_error error = {0};
    tn_model *model;
    tn_trainer *trainer;
    check(tn_model_load("atis-2enc", as_dense, dense, arena, &model, &error), &error);
    tn_model_weight_find(model, "square")->flow = flow;
    check(tn_train_settings_decode(NULL, arena, &settings, &error), &error);
    check(tn_trainer_new(model, &settings, TN_FLOAT32, &trainer, &error), &error);
    check(tn_initialise(trainer, &settings, &error), &error);
    return trainer;
}

/* ---- two threads ---- */

static double wall_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The least wall time of a step of the uncompressed model by so many threads. */
static double dense_step_seconds(uint32_t threads) {
    enum { STEPS = 12 };
    tn_arena arena = {0};
    tn_error error = {0};
    tn_step_result result;
    double best = 1e9;
    tn_trainer *trainer = trainer_of(TN_FLOW_DENSE, true, &arena);
    tn_trainer_set_threads(trainer, threads);
    for (int round = 0; round < ROUNDS; round++) {
        double started = wall_seconds();
        steps_of(trainer, STEPS, &result, &error);
        double seconds = (wall_seconds() - started) / STEPS;
        if (seconds < best) best = seconds;
    }
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
    return best;
}

/* The least wall time of a step in each of two processes that run at once and share nothing: no two threads of one step can be
 * faster than this machine lets two programs be. */
static double side_by_side_seconds(void) {
    double seconds[2] = {0};
    int pipes[2][2];
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        if (pipe(pipes[i]) != 0) return NAN;
        pid_t child = fork();
        if (child < 0) return NAN;
        if (child == 0) {
            double own = dense_step_seconds(1);
            _exit(write(pipes[i][1], &own, sizeof own) == sizeof own ? 0 : 1);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (read(pipes[i][0], &seconds[i], sizeof seconds[i]) != sizeof seconds[i]) seconds[i] = NAN;
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    while (wait(NULL) > 0) {}
    return fmax(seconds[0], seconds[1]);
}

static void measure_two_threads(void) {
    double one = dense_step_seconds(1), two = dense_step_seconds(2), both = side_by_side_seconds();
    printf("uncompressed on two threads, wall time: %.2f ms against %.2f ms, %.2f times as fast; two "
           "programs side by side do "
           "%.2f times the steps of one here\n",
           1e3 * two, 1e3 * one, one / two, 2 * one / both);
}

static double measure(const char *name, tn_flow_name flow, bool dense, double rate) {
    tn_arena arena = {0};
    tn_error error = {0};
    tn_step_result result;
    tn_trainer *trainer = trainer_of(flow, dense, &arena);
    int steps = dense || flow == TN_FLOW_DENSE ? 10 : 100;
    double seconds = seconds_per_step(trainer, steps, &result, &error), floor = (double)result.macs / rate;
    tn_trainer_time(trainer, true);
    double started = cpu_seconds();
    (void)seconds_per_step(trainer, steps, &result, &error);
    double share = tn_trainer_product_seconds(trainer) / (cpu_seconds() - started);
    printf("%-24s %8.2f %8.1f %9.0f %8.2f %8.2f\n", name, 1e3 * seconds, (double)result.macs / 1e6,
           100 * share, 1e3 * floor, seconds / floor);
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
    return seconds;
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0); /* a line a flow, also into a file: each takes a while */
    tn_blas_serial();
    double rate = large_product_rate(), best = 1e9;
    printf("one product of %d x %d x %d: %.1f G multiply-adds a second, one thread, by kernels of OpenBLAS "
           "for %s; the "
           "processor's peak %.1f G; steps by kernels for %s\n",
           SIDE, SIDE, SIDE, rate / 1e9, openblas_get_corename(), peak_rate() / 1e9,
           tn_kernels_of(TN_FLOAT32)->set);
    printf("%-24s %8s %8s %9s %8s %8s\n", "flow", "ms/step", "M MACs", "products%", "floor ms", "x floor");
    for (int flow = 0; flow < TN_FLOWS; flow++) {
        double seconds = measure(tn_flow_names[flow], (tn_flow_name)flow, false, rate);
        if (seconds < best) best = seconds;
    }
    double dense = measure("uncompressed", TN_FLOW_DENSE, true, rate);
    printf("uncompressed takes %.1f times as long as the best flow\n", dense / best);
    measure_two_threads();
    tn_blas_restore();
    return 0;
}
