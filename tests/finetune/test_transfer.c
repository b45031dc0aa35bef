/* GPUs that follow the scaling are predicted from each other; bills; the table of GPUs. */
#include "finetune/gpu.h"
#include "finetune/transfer.h"
#include "support/finetune.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static tn_arena arena;
static tn_error error;

static tn_gpu gpus[] = {
    {.name = "slow", .memory_GB = 24, .peak_TFLOPS = 70, .bandwidth_GBps = 500},
    {.name = "middle", .memory_GB = 48, .peak_TFLOPS = 150, .bandwidth_GBps = 900},
    {.name = "fast", .memory_GB = 80, .peak_TFLOPS = 900, .bandwidth_GBps = 3000},
    {.name = "wide", .memory_GB = 96, .peak_TFLOPS = 300, .bandwidth_GBps = 4000},
};
enum { GPUS = sizeof gpus / sizeof *gpus, BATCHES = 6 };
static const tn_gpu_table table = {.file = "t.yaml", .count = GPUS, .gpu = gpus};

static double seconds_on(const tn_gpu *gpu, double a, double c, double batch, double sparsity) {
    const test_step_law law = {.fixed = 2 * pow(gpu->bandwidth_GBps / 1000, -a),
                               .query = 0.3 * pow(gpu->peak_TFLOPS / 300, -c),
                               .g = 0.5,
                               .h = 0.7,
                               .p = 2,
                               .m = 8};
    return test_step_seconds(&law, batch, sparsity);
}

/* Measurements of all GPUs at batches 1, 2, 4 .. 32 and two sparsities. */
static tn_finetune_data measure(double a, double c, double noise) {
    static tn_finetune_group group[GPUS];
    static tn_finetune_point point[GPUS][2 * BATCHES];
    uint64_t dice = 9;
    for (size_t i = 0; i < GPUS; i++) {
        group[i] = (tn_finetune_group){.gpu = gpus[i].name, .model = "m", .dataset = "d", .point = point[i]};
        for (int j = 0; j < 2 * BATCHES; j++) {
            double batch = pow(2, j / 2), sparsity = j % 2 ? 0.25 : 1;
            double seconds = seconds_on(&gpus[i], a, c, batch, sparsity) * exp(noise * test_noise(&dice));
            group[i].point[group[i].count++] =
                (tn_finetune_point){.batch = batch, .sparsity = sparsity, .queries_per_s = batch / seconds};
        }
    }
    return (tn_finetune_data){"m.csv", GPUS, group};
}

static void exponents_come_back(void **state) {
    (void)state;
    static const double exponents[][2] = {{0.2, 0.6}, {0.6, 0.3}, {0.9, 0.9}, {0.05, 1}};
    for (int i = 0; i < 4; i++) {
        double a = exponents[i][0], c = exponents[i][1];
        tn_finetune_data all = measure(a, c, 0.01), rest;
        tn_transfer transfer;
        assert_int_equal(tn_finetune_without(&all, "wide", &arena, &rest, &error), TN_OK);
        assert_int_equal(tn_transfer_fit(&rest, &table, &arena, &transfer, &error), TN_OK);
        assert_true(fabs(transfer.estimate.parameter[TN_STEP_BANDWIDTH_EXPONENT] - a) < 0.06);
        assert_true(fabs(transfer.estimate.parameter[TN_STEP_PEAK_EXPONENT] - c) < 0.06);
        assert_true(tn_step_determined(&transfer.estimate, TN_STEP_PEAK_EXPONENT));
        tn_transfer_error off = tn_transfer_compare(&transfer, &gpus[3], &all.group[3]);
        assert_true(off.relative_rmse < 0.05 && fabs(off.mean_relative) <= off.relative_rmse);
        double truth = 64 / seconds_on(&gpus[3], a, c, 64, 0.25);
        assert_true(fabs(tn_transfer_predict(&transfer, &gpus[3], 64, 0.25).value / truth - 1) < 0.06);
    }
}

/* One GPU says nothing of the exponents: they stay at their priors, and the interval says so. */
static void one_gpu_leaves_the_exponents_open(void **state) {
    (void)state;
    tn_finetune_data all = measure(0.5, 0.8, 0.01);
    tn_transfer transfer;
    tn_transfer_error *errors;
    size_t count;
    all.count = 1;
    assert_int_equal(tn_transfer_fit(&all, &table, &arena, &transfer, &error), TN_OK);
    assert_false(tn_step_determined(&transfer.estimate, TN_STEP_BANDWIDTH_EXPONENT));
    assert_false(tn_step_determined(&transfer.estimate, TN_STEP_PEAK_EXPONENT));
    assert_int_equal(tn_transfer_hold_out(&all, &table, &arena, &transfer, &errors, &count, &error), TN_OK);
    assert_int_equal(count, 0);
    tn_finetune_interval interval = tn_transfer_predict(&transfer, &gpus[2], 16, 1);
    double truth = 16 / seconds_on(&gpus[2], 0.5, 0.8, 16, 1);
    assert_true(interval.high / interval.low > 1.5 && interval.low < truth && truth < interval.high);
    tn_finetune_interval own = tn_transfer_predict(&transfer, &gpus[0], 16, 1);
    assert_true(own.high / own.low < interval.high / interval.low);
}

/* What holding out says is what a fit to the others and a comparison say. */
static void holding_out(void **state) {
    (void)state;
    tn_finetune_data all = measure(0.3, 0.6, 0.03), rest;
    tn_transfer transfer, other;
    tn_transfer_error *errors;
    size_t count;
    assert_int_equal(tn_transfer_fit(&all, &table, &arena, &transfer, &error), TN_OK);
    tn_finetune_interval before = tn_transfer_predict(&transfer, &gpus[1], 8, 1);
    assert_int_equal(tn_transfer_hold_out(&all, &table, &arena, &transfer, &errors, &count, &error), TN_OK);
    assert_int_equal(count, GPUS);
    assert_int_equal(tn_finetune_without(&all, "fast", &arena, &rest, &error), TN_OK);
    assert_int_equal(tn_transfer_fit(&rest, &table, &arena, &other, &error), TN_OK);
    assert_true(errors[2].relative_rmse ==
                tn_transfer_compare(&other, &gpus[2], &all.group[2]).relative_rmse);
    double square = 0;
    for (size_t i = 0; i < count; i++) square += errors[i].relative_rmse * errors[i].relative_rmse;
    /* with a prior of 15 % that weighs as two GPUs */
    assert_true(fabs(transfer.spread - sqrt((square + 2 * 0.15 * 0.15) / (GPUS + 2))) < 1e-12);
    assert_true(transfer.spread_degrees == GPUS + 2);
    tn_finetune_interval after = tn_transfer_predict(&transfer, &gpus[1], 8, 1);
    assert_true(after.value == before.value && after.high < before.high && after.low > before.low);
}

/* Mixtral on the published GPUs, each predicted from the others: the interval of a next run holds 9 of 10 of every GPU's
 * points, the H100's too, whose peak is three times the others'. */
static void a_new_gpu_is_held(void **state) {
    (void)state;
    tn_finetune_data data, rest;
    tn_gpu_table shipped;
    assert_int_equal(
        tn_finetune_load(test_shared_or_skip("data/finetune/measured_throughput.csv"), &arena, &data, &error),
        TN_OK);
    assert_int_equal(tn_gpu_table_load(test_source("models/prices/gpus.yaml"), &arena, &shipped, &error),
                     TN_OK);
    assert_int_equal(tn_finetune_keep(&data, NULL, "mixtral-8x7b", "CS", &error), TN_OK);
    for (size_t g = 0; g < data.count; g++) {
        const tn_finetune_group *group = &data.group[g];
        const tn_gpu *gpu;
        tn_transfer transfer;
        tn_transfer_error *errors;
        size_t count, held = 0;
        double widest = 1;
        assert_int_equal(tn_gpu_find(&shipped, group->gpu, &gpu, &error), TN_OK);
        assert_int_equal(tn_finetune_without(&data, group->gpu, &arena, &rest, &error), TN_OK);
        assert_int_equal(tn_transfer_fit(&rest, &shipped, &arena, &transfer, &error), TN_OK);
        assert_int_equal(tn_transfer_hold_out(&rest, &shipped, &arena, &transfer, &errors, &count, &error),
                         TN_OK);
        for (size_t i = 0; i < group->count; i++) {
            const tn_finetune_point *p = &group->point[i];
            tn_finetune_interval interval = tn_transfer_predict(&transfer, gpu, p->batch, p->sparsity);
            held += interval.low <= p->queries_per_s && p->queries_per_s <= interval.high;
            widest = fmax(widest, interval.high / interval.low);
        }
        print_message("%s: %zu of %zu, the widest a factor of %.2f\n", group->gpu, held, group->count,
                      widest);
        assert_true(10 * held >= 9 * group->count);
        assert_true(widest < 3);
    }
}

static void batch_follows_memory(void **state) {
    (void)state;
    tn_finetune_data all = measure(0.3, 0.6, 0.01);
    double batch;
    all.count = 2; /* slow 24 GB and middle 48 GB, both up to batch 32 */
    assert_int_equal(tn_transfer_largest_batch(&all, &table, &gpus[2], 8, 0.25, &batch, &error), TN_OK);
    assert_true(batch == floor(32 * (80.0 - 8) / (48 - 8)));
    assert_int_equal(tn_transfer_largest_batch(&all, &table, &gpus[2], 8, 0.5, &batch, &error), TN_OK);
    assert_true(batch == 0);
    assert_int_equal(tn_transfer_largest_batch(&all, &table, &gpus[0], 30, 0.25, &batch, &error), TN_OK);
    assert_true(batch == 0);
}

static void transfers_that_are_refused(void **state) {
    (void)state;
    tn_finetune_data all = measure(0.3, 0.6, 0.01), none = {"m.csv", 0, NULL};
    tn_transfer transfer;
    assert_int_equal(tn_transfer_fit(&none, &table, &arena, &transfer, &error), TN_INPUT);
    all.group[1].gpu = "midle";
    assert_int_equal(tn_transfer_fit(&all, &table, &arena, &transfer, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "middle"));
    all = measure(0.3, 0.6, 0.01);
    all.group[3].dataset = "e";
    assert_int_equal(tn_transfer_fit(&all, &table, &arena, &transfer, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "more than one model or data set"));
}

/* arXiv 2408.04693, 15,000 queries, 10 epochs: 32.7, 25.4 and 17.9 dollars. */
static void published_bills(void **state) {
    (void)state;
    tn_bill bill[] = {
        {.gpu = "A40", .queries_per_s = {1.01, 0.9, 1.1}, .usd_per_hour = 0.79},
        {.gpu = "A100", .queries_per_s = {2.74, NAN, NAN}, .usd_per_hour = 1.67},
        {.gpu = "H100", .queries_per_s = {4.90, -1, 6}, .usd_per_hour = 2.1},
    };
    static const double published[] = {32.7, 25.4, 17.9};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tn_bill_reckon(&bill[i], 15000, 10, &error), TN_OK);
        assert_true(fabs(bill[i].usd.value / published[i] - 1) < 0.01);
        assert_true(fabs(bill[i].hours.value * bill[i].usd_per_hour - bill[i].usd.value) < 1e-9);
    }
    assert_true(fabs(bill[0].usd.low - 150000 / 1.1 / 3600 * 0.79) < 1e-9);
    assert_true(isnan(bill[1].usd.low));
    assert_true(isinf(bill[2].hours.high) && isinf(bill[2].usd.high));
    tn_bill_sort(bill, 3);
    assert_string_equal(bill[0].gpu, "H100");
    assert_string_equal(bill[2].gpu, "A40");
    bill[0].queries_per_s.value = 0;
    assert_int_equal(tn_bill_reckon(&bill[0], 15000, 10, &error), TN_INPUT);
}

static void the_shipped_table(void **state) {
    (void)state;
    tn_gpu_table shipped;
    const tn_gpu *gpu;
    assert_int_equal(tn_gpu_table_load(test_source("models/prices/gpus.yaml"), &arena, &shipped, &error),
                     TN_OK);
    assert_int_equal(tn_gpu_find(&shipped, "A40-48GB", &gpu, &error), TN_OK);
    assert_true(gpu->memory_GB == 48 && gpu->usd_per_hour == 0.79 && !gpu->price_unverified);
    assert_int_equal(tn_gpu_find(&shipped, "A100-40GB", &gpu, &error), TN_OK);
    assert_true(gpu->memory_GB == 40 && gpu->bandwidth_GBps == 1555 && gpu->usd_per_hour == 0);
    assert_int_equal(tn_gpu_find(&shipped, "H100-80GB", &gpu, &error), TN_OK);
    assert_true(gpu->peak_TFLOPS > 900 && gpu->usd_per_hour == 2.1);
    assert_int_equal(tn_gpu_find(&shipped, "H100-80G", &gpu, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "'H100-80GB'"));
}

static int clear(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(exponents_come_back, clear),
        cmocka_unit_test_teardown(one_gpu_leaves_the_exponents_open, clear),
        cmocka_unit_test_teardown(holding_out, clear),
        cmocka_unit_test_teardown(a_new_gpu_is_held, clear),
        cmocka_unit_test_teardown(batch_follows_memory, clear),
        cmocka_unit_test_teardown(transfers_that_are_refused, clear),
        cmocka_unit_test_teardown(published_bills, clear),
        cmocka_unit_test_teardown(the_shipped_table, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
