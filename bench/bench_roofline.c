/* How fast rooflines predict and are fitted. */
#include "base/clock.h"
#include "roofline/fit.h"

#include <stdio.h>
#include <stdlib.h>

static tn_status load(const char *path, tn_arena *arena, tn_roofline **roofline, tn_error *error) {
    tn_device *device;
    TN_TRY(tn_device_load(path, NULL, 0, arena, &device, error));
    return tn_roofline_of(device, arena, roofline, error);
}

static tn_status predictions(tn_arena *arena, tn_error *error) {
    enum { PRODUCTS = 20000 };
    tn_roofline *roofline;
    double sum_us = 0;
    TN_TRY(load(BENCH_SOURCE_DIR "/models/devices/h200.yaml", arena, &roofline, error));
    double started = tn_clock_seconds();
    for (uint64_t i = 0; i < PRODUCTS; i++) {
        tn_roofline_product p = {1, 1 + i % 997, 1 + i % 101, 1 + i % 13};
        double us;
        TN_TRY(tn_roofline_predict(roofline, "fp32", TN_TIME_GRAPH, &p, &us, error));
        sum_us += us;
    }
    printf("prediction of a product: %.2f us (mean predicted time %.2f us)\n",
           1e6 * (tn_clock_seconds() - started) / PRODUCTS, sum_us / PRODUCTS);
    return TN_OK;
}

static tn_status fit(tn_arena *arena, tn_error *error) {
    tn_roofline *roofline, fitted;
    tn_roofline_measurements data;
    tn_roofline_fit_options options = TN_ROOFLINE_FIT_DEFAULTS;
    TN_TRY(load(BENCH_SOURCE_DIR "/models/devices/families/h200.yaml", arena, &roofline, error));
    TN_TRY(tn_roofline_measurements_load(BENCH_SHARED_DIR "/oracles/gpu/h200_matmul.csv", roofline, arena,
                                         &data, error));
    double started = tn_clock_seconds();
    TN_TRY(tn_roofline_fit(roofline, &data, NULL, &options, arena, &fitted, error));
    printf("fit of %zu laws to %zu rows: %.2f s\n", fitted.laws.count, data.count,
           tn_clock_seconds() - started);
    return TN_OK;
}

int main(void) {
    tn_arena arena = {0};
    tn_error error = {0};
    tn_status status = predictions(&arena, &error);
    if (status == TN_OK) status = fit(&arena, &error);
    if (status != TN_OK) printf("SKIPPED: %s\n", error.message);
    tn_arena_free(&arena);
    return status == TN_OK || status == TN_INPUT ? EXIT_SUCCESS : EXIT_FAILURE;
}
