/* A training step on a roofline device: a small one added up by hand, and the ATIS models against steps that
 * were measured on an H200. */
#include "base/file.h"
#include "model/model.h"
#include "roofline/step.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/tenfold-step-XXXXXX";

static tn_roofline *load(const char *file, const char *const *set, size_t sets, tn_arena *arena) {
    tn_device *device;
    tn_roofline *roofline;
    assert_int_equal(tn_device_load(file, set, sets, arena, &device, NULL), TN_OK);
    assert_int_equal(tn_roofline_of(device, arena, &roofline, NULL), TN_OK);
    return roofline;
}

static void added_up_by_hand(void **state) {
    (void)state;
    tn_arena arena = {0};
    const char *const set[] = {
        ("roofline.laws.0={precision: fp32, time: graph, launch_us: 2, vector_launch: 0.5, "
         "compute_efficiency: 1, cache_gain: 1, tile: 8, split_depth: 1000}"),
        "roofline.bandwidth_GBps=100",
        "roofline.multiprocessors=1",
        "roofline.precisions.fp32.peak_TFLOPS=0.001",
        "roofline.host_us_per_operation=0",
        "roofline.host_us_per_kernel=10",
        "roofline.step_power_W=50",
        "roofline.load_power_W=70",
        "roofline.graph_factor=[0.5, 2]"};
    tn_roofline *roofline = load(test_source("models/devices/generic-cpu.yaml"), set, 9, &arena);
    tn_operation operation[] = {
        {.kind = TN_OP_PRODUCT, .batch = 1, .rows = 8, .reduction = 10, .columns = 8, .flops = 1280},
        {.kind = TN_OP_ADD,
         .batch = 1,
         .rows = 100,
         .reduction = 1,
         .columns = 1000,
         .read_count = 2,
         .write_count = 1},
        {.kind = TN_OP_PRODUCT, .batch = 1, .rows = 8, .reduction = 10, .columns = 8, .flops = 1280},
    };
    tn_step step = {
        .name = "small", .precision = "fp32", .element_bytes = 4, .operations = 3, .operation = operation};
    tn_roofline_step predicted;
    assert_int_equal(tn_roofline_step_predict(roofline, &step, 0, &arena, &predicted, NULL), TN_OK);
    /* 1280 flops at 1e3 a us; 1.2 MB at 1e5 bytes a us. */
    double product = 2 + 1.28, addition = 1 + 12;
    assert_true(fabs(predicted.graph_us - (2 * product + addition)) < 1e-9);
    assert_true(fabs(predicted.product_us - 2 * product) < 1e-9);
    assert_int_equal(predicted.operations, 3);
    assert_int_equal(predicted.kernels, 2);
    assert_int_equal(predicted.kernel[0].count, 2);
    assert_true(fabs(predicted.launched_us - 30) < 1e-9);
    assert_true(fabs(predicted.joules - 30e-6 * 50) < 1e-15);
    /* 2560 of 1e3 flops a us, less than 1,201,792 bytes of 1e5 a us: so much of what lies between waiting and the peak. */
    double share = 1201792 / 1e5 / predicted.graph_us;
    assert_true(fabs(predicted.graph_W - (50 + 20 * share)) < 1e-9);
    assert_true(fabs(predicted.graph_joules - 1e-6 * predicted.graph_us * (50 + 20 * share)) < 1e-15);
    assert_true(fabs(predicted.least_graph_joules - 1e-6 * predicted.graph_us / 2 * 20) < 1e-15);
    assert_true(fabs(predicted.most_graph_joules - 1e-6 * predicted.graph_us * 2 * 150) < 1e-15);
    /* More launches than operations; so few that the kernels themselves are longer. */
    assert_int_equal(tn_roofline_step_predict(roofline, &step, 9, &arena, &predicted, NULL), TN_OK);
    assert_true(fabs(predicted.launched_us - 90) < 1e-9);
    assert_int_equal(tn_roofline_step_predict(roofline, &step, 1, &arena, &predicted, NULL), TN_OK);
    assert_true(fabs(predicted.launched_us - predicted.graph_us) < 1e-9);
    assert_true(predicted.joules == predicted.graph_joules);
    step.precision = "bf16";
    tn_error error;
    assert_int_equal(tn_roofline_step_predict(roofline, &step, 0, &arena, &predicted, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "bf16"));
    tn_arena_free(&arena);
}

/* Steps that were measured on an H200, in the order of the measurements: kernels launched and milliseconds of each. The
 * measured tensor-train models keep a dense table. */
static struct {
    const char *name;
    const char *set[2];
    size_t sets;
    uint64_t kernels;
    double measured_ms;
} steps[] = {
    {.name = "dense", {"format=dense"}, 1},
    {.name = "right-to-left", {"flow=right-to-left", "weights.table.format=dense"}, 2},
    {.name = "bidirectional", {"flow=bidirectional", "weights.table.format=dense"}, 2},
};
enum { STEPS = 3, DENSE = 0 };

static int read_steps(void) {
    static const char *const names[] = {"kernels", "step_ms"};
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[2];
    bool ok =
        tn_csv_load(test_source("tests/oracles/gpu/h200_training_step.csv"), &arena, &csv, NULL) == TN_OK &&
        tn_csv_columns(&csv, names, 2, false, column, NULL) == TN_OK && csv.rows == STEPS;
    for (size_t i = 0; ok && i < STEPS; i++)
        ok = tn_csv_count(&csv, i, column[0], 1, 1 << 20, &steps[i].kernels, NULL) == TN_OK &&
             tn_csv_real(&csv, i, column[1], 0, 1e6, &steps[i].measured_ms, NULL) == TN_OK;
    tn_arena_free(&arena);
    return ok ? 0 : -1;
}

static int set_up(void **state) {
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 || close(descriptor) != 0 ? -1 : read_steps();
}

static int tear_down(void **state) {
    (void)state;
    return unlink(path);
}

static void steps_of_atis(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_roofline *roofline = load(test_source("models/devices/h200.yaml"), NULL, 0, &arena);
    tn_roofline_step predicted[STEPS];
    tn_program_cache *cache;
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    for (size_t i = 0; i < STEPS; i++) {
        tn_model *model;
        tn_step step;
        tn_error error = {0};
        if (tn_model_load(test_source("models/atis-2enc.yaml"), steps[i].set, steps[i].sets, &arena, &model,
                          &error) != TN_OK ||
            tn_step_build(model, cache, &arena, &step, &error) != TN_OK)
            fail_msg("%s", error.message);
        assert_int_equal(
            tn_roofline_step_predict(roofline, &step, steps[i].kernels, &arena, &predicted[i], NULL), TN_OK);
        double launched_ms = predicted[i].launched_us / 1e3, ratio = launched_ms / steps[i].measured_ms;
        print_message("%s: launched %.2f ms, measured %.2f ms, ratio %.2f; as a graph %.3f ms\n",
                      steps[i].name, launched_ms, steps[i].measured_ms, ratio, predicted[i].graph_us / 1e3);
        assert_true(ratio < 1.5 && ratio > 1 / 1.5);
        assert_true(predicted[i].graph_us < predicted[i].launched_us);
    }
    for (size_t i = 1; i < STEPS; i++) {
        assert_true(predicted[i].launched_us > predicted[DENSE].launched_us);
        assert_true(predicted[i].graph_us > predicted[DENSE].graph_us);
    }
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

/* With launches estimated from the operations alone: time and kernels within a fourth of what was measured, and
 * the range around it. */
static void estimated_launches_of_atis(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_roofline *roofline = load(test_source("models/devices/h200.yaml"), NULL, 0, &arena);
    tn_program_cache *cache;
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    for (size_t i = 0; i < STEPS; i++) {
        tn_model *model;
        tn_step step;
        tn_roofline_step predicted;
        assert_int_equal(tn_model_load(test_source("models/atis-2enc.yaml"), steps[i].set, steps[i].sets,
                                       &arena, &model, NULL),
                         TN_OK);
        assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
        assert_int_equal(tn_roofline_step_predict(roofline, &step, 0, &arena, &predicted, NULL), TN_OK);
        double ms = predicted.launched_us / 1e3, kernels = (double)predicted.launches;
        /* 14 layers of 18 products each, but where everything is dense. */
        assert_int_equal(predicted.contractions, i == DENSE ? 0 : 14 * 18);
        assert_true(fabs(ms / steps[i].measured_ms - 1) < 0.25);
        assert_true(fabs(kernels / (double)steps[i].kernels - 1) < 0.25);
        assert_true(predicted.least_us / 1e3 < steps[i].measured_ms);
        assert_true(predicted.most_us / 1e3 > steps[i].measured_ms);
        assert_true(predicted.least_joules < predicted.joules && predicted.joules < predicted.most_joules);
    }
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

/* Two times of the host, found from the dense and the right-to-left step, say the bidirectional one. */
static void launches_of_a_step_held_out(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_roofline *roofline = load(test_source("models/devices/h200.yaml"), NULL, 0, &arena);
    tn_program_cache *cache;
    double plain[STEPS], contractions[STEPS];
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    for (size_t i = 0; i < STEPS; i++) {
        tn_model *model;
        tn_step step;
        tn_roofline_step predicted;
        assert_int_equal(tn_model_load(test_source("models/atis-2enc.yaml"), steps[i].set, steps[i].sets,
                                       &arena, &model, NULL),
                         TN_OK);
        assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
        assert_int_equal(tn_roofline_step_predict(roofline, &step, 0, &arena, &predicted, NULL), TN_OK);
        contractions[i] = (double)predicted.contractions;
        plain[i] = (double)predicted.operations - contractions[i];
    }
    double of_plain = steps[0].measured_ms / plain[0];
    double of_contraction = (steps[1].measured_ms - of_plain * plain[1]) / contractions[1];
    double held_out = of_plain * plain[2] + of_contraction * contractions[2];
    assert_true(fabs(held_out / steps[2].measured_ms - 1) < 0.05);
    assert_true(fabs(roofline->host_us_per_operation / (1e3 * of_plain) - 1) < 0.01);
    assert_true(fabs(roofline->host_us_per_contraction / (1e3 * of_contraction) - 1) < 0.01);
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

static void host_from_measured_steps(void **state) {
    (void)state;
    static const char text[] = "kernels,step_ms,energy_mJ\n100,1,50\n100,4,400\n200,4,200\n";
    tn_arena arena = {0};
    double host_us, ratio, power_W;
    tn_error error;
    assert_int_equal(tn_file_write(path, text, strlen(text), NULL), TN_OK);
    assert_int_equal(tn_roofline_fit_host(path, &arena, &host_us, &ratio, &power_W, NULL), TN_OK);
    /* 10, 40 and 20 us a kernel: 20 is within 2 of both ends. */
    assert_true(fabs(host_us - 20) < 1e-9 && fabs(ratio - 2) < 1e-12);
    assert_true(fabs(power_W - (50 + 100 + 50) / 3.0) < 1e-9);
    assert_int_equal(tn_file_write(path, "kernels,step_ms\n", 16, NULL), TN_OK);
    assert_int_equal(tn_roofline_fit_host(path, &arena, &host_us, &ratio, &power_W, &error), TN_INPUT);
    assert_int_equal(tn_file_write(path, "kernels,step_ms\n0,1\n", 20, NULL), TN_OK);
    assert_int_equal(tn_roofline_fit_host(path, &arena, &host_us, &ratio, &power_W, &error), TN_INPUT);
    assert_int_equal(error.line, 2);
    tn_arena_free(&arena);
}

/* The device file's host cost is what the reference data gives. */
static void host_of_the_h200(void **state) {
    (void)state;
    const char *file = test_shared_or_skip("oracles/gpu/h200_training_step.csv");
    tn_arena arena = {0};
    double host_us, ratio, power_W;
    tn_roofline *roofline = load(test_source("models/devices/h200.yaml"), NULL, 0, &arena);
    assert_int_equal(tn_roofline_fit_host(file, &arena, &host_us, &ratio, &power_W, NULL), TN_OK);
    assert_true(fabs(roofline->host_us_per_kernel / host_us - 1) < 1e-5);
    assert_true(fabs(roofline->step_power_W / power_W - 1) < 1e-5);
    assert_true(ratio < 1.5);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_up_by_hand),           cmocka_unit_test(steps_of_atis),
        cmocka_unit_test(estimated_launches_of_atis), cmocka_unit_test(launches_of_a_step_held_out),
        cmocka_unit_test(host_from_measured_steps),   cmocka_unit_test(host_of_the_h200),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
