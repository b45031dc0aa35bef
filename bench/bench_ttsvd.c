/* Decompositions and allocation in seconds:
 *   - 768 x 768 TT-SVD at cap 48, the reference matrix where it lies beside the source tree, and beside it
 * LAPACK's dgesdd on the same sequence of matrices (what NumPy's numpy.linalg.svd calls), with all threads of
 * the BLAS
 *   - 4096 x 11008 at cap 64, by two foldings, with the peak memory of the program
 *   - a layer's candidates: one shared first cut, then each folding and rank
 *   - allocation over 38 layers x 40 candidates under 1, 2 and 3 budgets */
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "decompose/dense.h"
#include "decompose/factored.h"
#include "decompose/middle_cut.h"
#include "decompose/ttsvd.h"
#include "knapsack/allocation.h"
#include "text/arrays.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SIDE = 768, MODES = 6, CAP = 48, REPEATS = 7 };
static const uint64_t modes[MODES] = {12, 8, 8, 8, 8, 12};

static tn_status load(double **w, tn_error *error) {
    tn_arrays *arrays;
    TN_TRY(TN_ALLOC(SIDE * SIDE, w, error));
    if (tn_arrays_open(BENCH_SHARED_DIR "/oracles/ttsvd/w768_tt.npy", &arrays, NULL) != TN_OK) {
        printf("reference matrix absent: a random one\n");
        return tn_random_fill_normal(1, *w, SIDE * SIDE, error);
    }
    tn_status status = tn_arrays_read(arrays, 0, *w, error);
    tn_arrays_close(arrays);
    return status;
}

static tn_status decompose(const double *w, const uint64_t *mode, size_t count, uint64_t cap, double *time,
                           double *relative, tn_error *error) {
    uint64_t caps[TN_TRAIN_MODES];
    for (size_t k = 0; k < count; k++) caps[k] = cap;
    tn_train_rule rule = {.cap = caps, .seed = 1};
    tn_train train;
    double start = tn_clock_seconds();
    TN_TRY(tn_train_decompose(w, mode, count, &rule, &train, error));
    *time = tn_clock_seconds() - start;
    *relative = sqrt(train.squared_loss / train.squared_norm);
    tn_train_free(&train);
    return TN_OK;
}

/* One thin decomposition as numpy.linalg.svd makes it, the rest of the train in `rest` (rank x columns). */
static tn_status plain_cut(int rows, int columns, double *rest, int *rank, tn_error *error) {
    int few = rows < columns ? rows : columns, ask = -1, info, lwork;
    double *u = NULL, *s = NULL, *vt = NULL, *work = NULL, best;
    int *integers = NULL;
    dgesdd_("S", &columns, &rows, rest, &columns, s, vt, &columns, u, &few, &best, &ask, integers, &info);
    lwork = (int)best;
    TN_TRY(TN_ALLOC((size_t)rows * (size_t)few, &u, error));
    TN_TRY(TN_ALLOC((size_t)columns * (size_t)few, &vt, error));
    TN_TRY(TN_ALLOC((size_t)few, &s, error));
    TN_TRY(TN_ALLOC((size_t)lwork, &work, error));
    TN_TRY(TN_ALLOC(8 * (size_t)few, &integers, error));
    dgesdd_("S", &columns, &rows, rest, &columns, s, vt, &columns, u, &few, work, &lwork, integers, &info);
    *rank = few < CAP ? few : CAP;
    for (int i = 0; i < *rank; i++)
        for (int j = 0; j < columns; j++)
            rest[(size_t)i * (size_t)columns + (size_t)j] =
                s[i] * vt[(size_t)i * (size_t)columns + (size_t)j];
    tn_free(u);
    tn_free(vt);
    tn_free(s);
    tn_free(work);
    tn_free(integers);
    return TN_OK;
}

static tn_status plain_sequence(const double *w, double *time, tn_error *error) {
    double *rest = NULL;
    int rank = 1, columns = SIDE * SIDE;
    TN_TRY(TN_ALLOC(SIDE * SIDE, &rest, error));
    memcpy(rest, w, SIDE * SIDE * sizeof *w);
    double start = tn_clock_seconds();
    tn_status status = TN_OK;
    for (int k = 0; k + 1 < MODES && status == TN_OK; k++) {
        columns /= (int)modes[k];
        status = plain_cut(rank * (int)modes[k], columns, rest, &rank, error);
    }
    *time = tn_clock_seconds() - start;
    tn_free(rest);
    return status;
}

static tn_status bench_small(const double *w, tn_error *error) {
    double ours = INFINITY, plain = INFINITY, time, relative = 0;
    for (int i = 0; i < REPEATS; i++) {
        TN_TRY(decompose(w, modes, MODES, CAP, &time, &relative, error));
        ours = fmin(ours, time);
        TN_TRY(plain_sequence(w, &time, error));
        plain = fmin(plain, time);
    }
    printf("768 x 768 TT-SVD at cap 48       %8.1f ms, error %.6g\n", 1e3 * ours, relative);
    printf("  plain dgesdd in sequence       %8.1f ms, %.2f times as long\n", 1e3 * plain, plain / ours);
    return TN_OK;
}

static double peak_MB(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1e3;
}

static tn_status bench_large(tn_error *error) {
    static const uint64_t fine[] = {16, 16, 16, 16, 16, 43}, coarse[] = {64, 64, 64, 172};
    enum { ROWS = 4096, COLUMNS = 11008 };
    double *w = NULL, time, relative;
    TN_TRY(TN_ALLOC((size_t)ROWS * COLUMNS, &w, error));
    tn_status status = tn_random_fill_normal(2, w, (uint64_t)ROWS * COLUMNS, error);
    if (status == TN_OK) status = decompose(w, fine, 6, 64, &time, &relative, error);
    if (status == TN_OK)
        printf("4096 x 11008 at cap 64, 16x16x16 %8.2f s, error %.4g, peak %.0f MB\n", time, relative,
               peak_MB());
    if (status == TN_OK) status = decompose(w, coarse, 4, 64, &time, &relative, error);
    if (status == TN_OK)
        printf("  64x64 by 64x172, randomised    %8.2f s, error %.4g, peak %.0f MB\n", time, relative,
               peak_MB());
    tn_free(w);
    return status;
}

static tn_status bench_candidates(const double *w, tn_error *error) {
    static const tn_weight foldings[] = {{.format = TN_TT, .d = 3, .m = {12, 8, 8}, .n = {8, 8, 12}},
                                         {.format = TN_TT, .d = 2, .m = {32, 24}, .n = {24, 32}},
                                         {.format = TN_TT, .d = 4, .m = {8, 6, 4, 4}, .n = {4, 4, 6, 8}}};
    static const uint64_t ranks[] = {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48};
    enum { RANKS = sizeof ranks / sizeof *ranks };
    tn_middle_cut halves;
    double start = tn_clock_seconds();
    TN_TRY(tn_middle_cut_make(w, SIDE, SIDE, SIDE, 1, 48, TN_SVD_AUTO, 1, NULL, &halves, error));
    printf("shared first cut of 768 x 768    %8.1f ms\n", 1e3 * (tn_clock_seconds() - start));
    start = tn_clock_seconds();
    tn_status status = TN_OK;
    for (size_t f = 0; f < 3; f++)
        for (size_t r = 0; r < RANKS && status == TN_OK; r++) {
            uint64_t cap[8] = {ranks[r], ranks[r], ranks[r], ranks[r],
                               ranks[r], ranks[r], ranks[r], ranks[r]};
            bool met;
            tn_train train;
            status = tn_middle_cut_train(&halves, &foldings[f], cap, -1, &met, &train, error);
            tn_train_free(&train);
        }
    printf("  each folding and rank behind it %7.2f ms\n",
           1e3 * (tn_clock_seconds() - start) / (3.0 * RANKS));
    tn_middle_cut_free(&halves);
    return status;
}

/* Layers whose errors fall with the rank at different paces; costs as of parameters, cycles and memory
 * blocks. */
static tn_status bench_allocation(size_t costs, tn_error *error) {
    enum { LAYERS = 38, CANDIDATES = 40, COSTS = 3 };
    static double objective[LAYERS * CANDIDATES], cost[LAYERS * CANDIDATES * COSTS],
        noise[LAYERS * (2 + CANDIDATES)];
    size_t first[LAYERS + 1] = {0};
    double budget[COSTS] = {70041, 2.7e7, 900};
    TN_TRY(tn_random_fill_normal(7, noise, LAYERS * (2 + CANDIDATES), error));
    for (size_t l = 0; l < LAYERS; l++) {
        double scale = exp(noise[2 * l]), pace = 0.05 + 0.1 * fabs(noise[2 * l + 1]);
        first[l + 1] = first[l] + CANDIDATES;
        for (size_t c = 0, i = first[l]; c < CANDIDATES; c++, i++) {
            double folding = (double)(c % 3), r = 1 + 2 * (double)(c / 3);
            double wobble = 1 + 0.02 * noise[2 * LAYERS + i];
            double parameters = (20 + 8 * folding) * r + (24 - 6 * folding) * r * r;
            objective[i] = scale * exp(-pace * r * (1 + 0.1 * folding)) * fabs(wobble);
            cost[i * costs] = floor(parameters);
            if (costs > 1) cost[i * costs + 1] = floor(32 * (1500 * r + (folding + 1) * 100 * r * r));
            if (costs > 2) cost[i * costs + 2] = ceil(parameters / 512) * (folding + 1);
        }
    }
    tn_knapsack choices = {LAYERS, costs, first, objective, cost, 0};
    tn_allocation a;
    double start = tn_clock_seconds();
    TN_TRY(tn_allocate(&choices, budget, 0, &a, error));
    printf("38 layers x 40 candidates, %zu budgets %6.3f s, %s, gap %.2g\n", costs,
           tn_clock_seconds() - start, a.exact ? "exact" : "thinned", a.gap);
    tn_allocation_free(&a);
    return TN_OK;
}

static tn_status bench(double **w, tn_error *error) {
    TN_TRY(load(w, error));
    TN_TRY(bench_small(*w, error));
    TN_TRY(bench_candidates(*w, error));
    for (size_t costs = 1; costs <= 3; costs++) TN_TRY(bench_allocation(costs, error));
    return bench_large(error);
}

int main(void) {
    tn_error error;
    double *w = NULL;
    tn_status status = bench(&w, &error);
    if (status != TN_OK) fprintf(stderr, "bench_ttsvd: %s\n", error.message);
    tn_free(w);
    return status != TN_OK;
}
