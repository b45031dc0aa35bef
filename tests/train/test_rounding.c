/* Products of rounded operands against loops, gradients among operands against what a doubled loss doubles, and
 * steps of the model with such products. */
#include "train/rounding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "step/program_cache.h"
#include "support/models.h"
#include "support/trained.h"
#include "train/initial.h"
#include "train/trainer.h"

enum { SIDE_MOST = 24, TOKENS = 5 };

/* The nearest multiple of the group's step, by the definition: the group of 4 around k of a row, greatest in
 * [2^(e-1), 2^e), step 2^(e-3), at most 7 steps. */
static double rounded(const double *row, int count, int k) {
    double most = 0, step = 1;
    for (int i = k / 4 * 4; i < count && i < k / 4 * 4 + 4; i++) most = fmax(most, fabs(row[i]));
    if (most == 0) return 0;
    while (most >= 8 * step) step *= 2;
    while (most < 4 * step) step /= 2;
    double whole = nearbyint(row[k] / step);
    return fmin(fmax(whole, -7), 7) * step;
}

/* Rounding in float32 itself gives the bits that rounding by way of float64 gives: every set of instructions, groups
 * over the whole range of exponents, subnormals, zeros of both signs and ties. */
static void float32_rounds_as_float64_does(void **state) {
    (void)state;
    enum { ROWS = 3, COLUMNS = 37, TRIALS = 400 };
    static const char *const names[] = {"bf16",     "bfp16,8,4", "bfp16,8,2",
                                        "bfp5,9,7", "bfp64,8,1", "bfp16,8,20"};
    const tn_kernels *set[TN_KERNEL_SETS];
    size_t sets = tn_kernels_float32_sets(set);
    uint64_t random = 11;
    for (int trial = 0; trial < TRIALS; trial++) {
        tn_number_format format;
        float values[ROWS * COLUMNS], given[ROWS * COLUMNS];
        double exact[ROWS * COLUMNS];
        assert_int_equal(tn_number_format_read(names[trial % 6], &format, NULL), TN_OK);
        int centre = (int)tn_splitmix_below(&random, 270) - 145,
            spread = 1 + (int)tn_splitmix_below(&random, 12);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            double size = ldexp(1 + tn_splitmix_unit(&random),
                                centre - (int)tn_splitmix_below(&random, (uint32_t)spread));
            uint32_t sort = tn_splitmix_below(&random, 8);
            if (sort == 0) size = 0;
            if (sort == 1) size = ldexp(1 + (double)tn_splitmix_below(&random, 512) / 512, centre); /* ties */
            given[i] = (float)(tn_splitmix_below(&random, 2) ? size : -size);
            if (isinf(given[i])) given[i] = 1;
            exact[i] = (double)given[i];
        }
        tn_number_format_round(&format, exact, ROWS, COLUMNS, NULL);
        for (size_t k = 0; k < sets; k++) {
            memcpy(values, given, sizeof values);
            assert_true(set[k]->round(&format, values, ROWS, COLUMNS));
            for (int i = 0; i < ROWS * COLUMNS; i++) {
                float expected = (float)exact[i];
                assert_memory_equal(&values[i], &expected, sizeof expected);
            }
        }
    }
}

static void products_are_those_of_rounded_rows(void **state) {
    (void)state;
    uint64_t random = 5;
    tn_number_format format;
    tn_rounding_room room = {0};
    const tn_kernels *kernels = tn_kernels_of(TN_FLOAT64);
    assert_int_equal(tn_number_format_read("bfp4,8,3", &format, NULL), TN_OK);
    assert_int_equal(tn_rounding_grow(&room, SIDE_MOST * SIDE_MOST, kernels->bytes, NULL), TN_OK);
    for (int trial = 0; trial < 40; trial++) {
        int rows = 1 + (int)tn_splitmix_below(&random, 9), columns = 1 + (int)tn_splitmix_below(&random, 9),
            reduction = 1 + (int)tn_splitmix_below(&random, 15);
        bool turn_a = trial & 1, turn_b = trial & 2;
        const tn_gemm gemm = {.rows = rows,
                              .reduction = reduction,
                              .columns = columns,
                              .lead_a = SIDE_MOST,
                              .lead_b = SIDE_MOST,
                              .lead_out = columns,
                              .transpose_a = turn_a,
                              .transpose_b = turn_b};
        double a[SIDE_MOST][SIDE_MOST], b[SIDE_MOST][SIDE_MOST], out[SIDE_MOST * SIDE_MOST];
        for (int i = 0; i < SIDE_MOST; i++)
            for (int j = 0; j < SIDE_MOST; j++) {
                a[i][j] = tn_splitmix_unit(&random) - .5;
                b[i][j] = 100 * tn_splitmix_unit(&random) - 50;
            }
        for (int both = 0; both < 2; both++) { /* b rounded or not */
            const tn_operand_rounding how[2] = {{.format = &format}, {.format = both ? &format : NULL}};
            tn_rounded_gemm(&room, how, kernels, &gemm, a, b, out);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++) {
                    double left[SIDE_MOST], right[SIDE_MOST], sum = 0;
                    for (int k = 0; k < reduction; k++) {
                        left[k] = turn_a ? a[k][i] : a[i][k];
                        right[k] = turn_b ? b[j][k] : b[k][j];
                    }
                    for (int k = 0; k < reduction; k++)
                        sum += rounded(left, reduction, k) * (both ? rounded(right, reduction, k) : right[k]);
                    assert_true(fabs(out[i * columns + j] - sum) < 1e-10);
                }
        }
    }
    tn_rounding_free(&room);
}

typedef struct watched {
    const tn_number_format *format;
    uint32_t arrays;
} watched;

static void check_format(void *user, const tn_step *step, uint32_t operation, uint32_t array,
                         const void *values) {
    watched *w = user;
    const float *given = values;
    (void)operation;
    w->arrays++;
    for (uint64_t i = 0; i < step->array[array].elements; i++) {
        double value = given[i];
        if (!isfinite(value)) continue;
        tn_number_format_round(w->format, &value, 1, 1, NULL);
        assert_true(value == (double)given[i]);
    }
}

/* --- whole steps */

static const char model_text[] =
    "kind: model\nname: small\nsequence: 5\nflow: FLOW\nprecision: {products: \"PRODUCTS\"}\n"
    "weights:\n  square: {format: tt, m: 4x4, n: 4x4, rank: 3}\n  table: {format: ttm, m: 4x5, n: 4x4, rank: "
    "3}\n"
    "layers:\n  - {name: embedding, kind: embedding, vocabulary: 20, width: 16, weight: table}\n"
    "  - {name: query, kind: linear, outputs: 16, weight: square, input: embedding}\n"
    "  - {name: key, kind: linear, outputs: 16, input: embedding}\n"
    "  - {name: value, kind: linear, outputs: 16, weight: square, input: embedding}\n"
    "  - {name: attention, kind: attention, heads: 2, input: [query, key, value]}\n"
    "  - {name: sum, kind: residual, input: [embedding, attention]}\n"
    "  - {name: norm, kind: layer-norm}\n"
    "  - {name: slot-head, kind: linear, outputs: 6}\n  - {name: slot-loss, kind: cross-entropy}\n";

typedef struct recorded {
    uint32_t operations, arrays;
    double **made; /* [operations] the first result */
} recorded;

typedef struct bench {
    tn_arena arena;
    tn_model *model;
    tn_train_settings settings;
    tn_trainer *trainer;
    recorded record;
    const tn_step *step;
} bench;

static void begin(bench *b, const char *flow, const char *products, const char *training) {
    char text[2048];
    const char *flow_at = strstr(model_text, "FLOW"), *products_at = strstr(model_text, "PRODUCTS");
    tn_yaml *root, *settings;
    *b = (bench){0};
    snprintf(text, sizeof text, "%.*s%s%.*s%s%s", (int)(flow_at - model_text), model_text, flow,
             (int)(products_at - flow_at - 4), flow_at + 4, products, products_at + 8);
    assert_int_equal(tn_yaml_parse("model", text, strlen(text), &b->arena, &root, NULL), TN_OK);
    assert_int_equal(tn_model_decode(root, &b->arena, &b->model, NULL), TN_OK);
    assert_int_equal(tn_yaml_parse("training", training, strlen(training), &b->arena, &settings, NULL),
                     TN_OK);
    assert_int_equal(tn_train_settings_decode(settings, &b->arena, &b->settings, NULL), TN_OK);
    assert_int_equal(tn_trainer_new(b->model, &b->settings, TN_FLOAT64, &b->trainer, NULL), TN_OK);
    assert_int_equal(tn_initialise(b->trainer, &b->settings, NULL), TN_OK);
}

static void end(bench *b) {
    for (uint32_t i = 0; i < b->record.operations; i++) tn_free(b->record.made[i]);
    tn_free(b->record.made);
    tn_trainer_free(b->trainer);
    tn_arena_free(&b->arena);
}

static void record(void *user, const tn_step *step, uint32_t operation, uint32_t array, const void *values) {
    bench *b = user;
    size_t bytes = step->array[array].elements * sizeof(double);
    b->step = step;
    if (!b->record.made) {
        assert_int_equal(TN_ALLOC(step->operations, &b->record.made, NULL), TN_OK);
        b->record.operations = step->operations;
    }
    if (array != step->operation[operation].writes[0] || b->record.made[operation]) return;
    assert_int_equal(tn_alloc(bytes, 1, &b->record.made[operation], NULL), TN_OK);
    memcpy(b->record.made[operation], values, bytes);
}

static tn_step_result run(bench *b, double rate) {
    static const uint32_t tokens[TOKENS] = {3, 17, 4, 4, 11};
    static const int32_t slots[TOKENS] = {0, 5, 2, 2, 1};
    const tn_example example = {.tokens = TOKENS, .token = tokens, .slot = slots, .intent = -1};
    tn_step_result result;
    tn_error error;
    if (tn_trainer_step(b->trainer, &example, 1, false, rate, &result, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(result.macs, result.macs_predicted);
    assert_int_equal(result.peak_elements, result.peak_elements_predicted);
    return result;
}

/* Twice the loss: every gradient doubles, exactly, and nothing else changes. Blocks scale with their values, so
 * this holds with rounding too. */
static void gradients_are_what_a_doubled_loss_doubles(void **state) {
    (void)state;
    static const char *const flows[] = {"right-to-left", "bidirectional", "optimal"};
    for (size_t f = 0; f < sizeof flows / sizeof *flows; f++) {
        bench one, two;
        tn_operand_rounding(*rounding)[2];
        uint32_t doubled = 0, products = 0;
        begin(&one, flows[f], "bfp16,8,6", "{loss_weights: {slot: {weight: 1}}}");
        begin(&two, flows[f], "bfp16,8,6", "{loss_weights: {slot: {weight: 2}}}");
        tn_trainer_watch(one.trainer, record, &one);
        tn_trainer_watch(two.trainer, record, &two);
        run(&one, 0);
        run(&two, 0);
        assert_int_equal(tn_rounding_plan(one.step, &one.arena, &rounding, NULL), TN_OK);
        assert_non_null(rounding);
        for (uint32_t i = 0; i < one.step->operations; i++) {
            const tn_operation *o = &one.step->operation[i];
            if (o->kind != TN_OP_PRODUCT) continue;
            bool gradient = rounding[i][0].gradient || rounding[i][1].gradient;
            assert_false(rounding[i][0].gradient && rounding[i][1].gradient);
            for (uint64_t k = 0; k < one.step->array[o->writes[0]].elements; k++)
                assert_true(two.record.made[i][k] == (gradient ? 2 : 1) * one.record.made[i][k]);
            doubled += gradient;
            products++;
        }
        assert_true(doubled > products / 2 && doubled < products);
        end(&one);
        end(&two);
    }
}

/* Norm of the parameters' difference after a step of rate 1. */
static double difference(const char *products, const char *training, const char *other,
                         const char *other_training) {
    bench one, two;
    double sum = 0;
    begin(&one, "bidirectional", products, training);
    begin(&two, "bidirectional", other, other_training);
    run(&one, 1);
    run(&two, 1);
    for (size_t p = 0; p < tn_trainer_parameters(one.trainer); p++) {
        const double *a = tn_trainer_parameter(one.trainer, p)->values,
                     *b = tn_trainer_parameter(two.trainer, p)->values;
        for (uint64_t i = 0; i < tn_trainer_parameter(one.trainer, p)->elements; i++)
            sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    end(&one);
    end(&two);
    return sqrt(sum);
}

/* Two more bits, about a quarter of the error; with as many as a float, next to none. */
static void errors_fall_with_the_mantissa(void **state) {
    (void)state;
    static const char *const formats[] = {"bfp16,8,4", "bfp16,8,8", "bfp16,8,12", "bfp16,8,24"};
    double before = INFINITY;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        double now = difference(formats[i], "{}", "fp32", "{}");
        assert_true(now > 0 && now < before / 6); /* of 16 */
        before = now;
    }
    assert_true(before < 1e-6);
    assert_true(difference("fp16", "{}", "fp32", "{}") < 1e-2);
    assert_true(difference("bf16", "{}", "fp32", "{}") > difference("fp16", "{}", "fp32", "{}"));
    assert_true(difference("fp32", "{}", "fp32", "{}") == 0);
}

static void stochastic_rounding_follows_the_seed(void **state) {
    (void)state;
    static const char first[] = "{gradient_rounding: stochastic, seed: 1}";
    assert_true(difference("bfp16,8,4", first, "bfp16,8,4", first) == 0);
    assert_true(difference("bfp16,8,4", first, "bfp16,8,4", "{seed: 1}") > 0);
    assert_true(difference("fp32", first, "fp32", "{seed: 1}") == 0); /* nothing is rounded */
}

/* What has no backward pass can be run, not trained. */
static void inference_is_refused(void **state) {
    (void)state;
    tn_arena arena = {0};
    static const char *const inference = "phase=inference";
    tn_model *model;
    tn_train_settings settings;
    tn_trainer *trainer;
    tn_step_result result;
    uint32_t token[] = {1};
    int32_t slot[] = {0};
    const tn_example example = {.tokens = 1, .token = token, .slot = slot};
    tn_error error;
    assert_int_equal(tn_model_load("atis-2enc", &inference, 1, &arena, &model, NULL), TN_OK);
    assert_int_equal(tn_train_settings_decode(NULL, &arena, &settings, NULL), TN_OK);
    assert_int_equal(tn_trainer_new(model, &settings, TN_FLOAT32, &trainer, &error), TN_OK);
    assert_int_equal(tn_trainer_step(trainer, &example, 1, false, 0.1, &result, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "phase: training"));
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
}

static void memory_that_is_not_to_be_had(void **state) {
    (void)state;
    tn_rounding_room room = {0};
    for (long n = 1; n <= 3; n++) {
        tn_memory_fail_at(n);
        assert_int_equal(tn_rounding_grow(&room, 10, 8, NULL), TN_MEMORY);
        tn_memory_fail_at(0);
    }
    assert_int_equal(tn_rounding_grow(&room, 10, 8, NULL), TN_OK);
    tn_rounding_free(&room);
}

/* All arrays in one format: whatever an operation makes is a value of it. */
static void arrays_are_kept_in_their_format(void **state) {
    (void)state;
    static const char *const names[] = {"fp16", "bf16", "fixed16,10"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_arena arena = {0};
        tn_number_format format;
        char set[64];
        const char *sets[] = {set, "sequence=6"};
        tn_model *model;
        snprintf(set, sizeof set, "precision=\"%s\"", names[i]);
        assert_int_equal(tn_number_format_read(names[i], &format, NULL), TN_OK);
        assert_int_equal(tn_model_load("atis-2enc", sets, 2, &arena, &model, NULL), TN_OK);
        watched watch = {.format = &format};
        test_trained trained = test_train(model, TN_FLOAT32, 1, check_format, &watch);
        assert_true(watch.arrays > 300);
        free(trained.values);
        tn_arena_free(&arena);
    }
}

/* Whatever the two formats are, a step before the change is that of the first to the bit, one behind it that of the
 * second, in all layers or in the first ones. Formats of chunks share a kernel of chunks, others stand beside each other, and
 * what products alone read is kept in the wider one. */
static void formats_change(void **state) {
    (void)state;
    static const struct {
        const char *begin, *end;
        double passes; /* 0: not in chunks */
    } row[] = {{"fp32", "bf16", 0},
               {"bf16", "fp32", 0},
               {"fp32", "bfp4,8,4", 0},
               {"bfp4,8,4", "bfp4,8,2", 2.5},
               {"bfp4,8,8", "bfp4,8,2", 8.5}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        test_trained alone[2];
        char products[64], schedule[96];
        tn_arena arena = {0};
        tn_model *model;
        for (int end = 0; end < 2; end++) {
            snprintf(products, sizeof products, "precision={products: \"%s\"}",
                     end ? row[i].end : row[i].begin);
            const char *const set[] = {"sequence=6", products};
            assert_int_equal(tn_model_load("atis-2enc", set, 2, &arena, &model, NULL), TN_OK);
            alone[end] = test_train(model, TN_FLOAT32, 1, NULL, NULL);
        }
        snprintf(products, sizeof products, "precision={products: \"%s\"}", row[i].end);
        snprintf(schedule, sizeof schedule, "precision_schedule={begin: \"%s\", steps: 0.5}", row[i].begin);
        const char *const set[] = {"sequence=6", products, schedule};
        assert_int_equal(tn_model_load("atis-2enc", set, 3, &arena, &model, NULL), TN_OK);
        for (int end = 0; end < 2; end++) {
            double share;
            const test_trained now = test_train_at(model, TN_FLOAT32, 1, end ? 0.5 : 0.4999, &share);
            assert_true(share == end);
            /* FP32 by itself sums in another order; arrays that are kept in groups along one axis and read along another
             * are rounded twice. */
            if (strcmp(end ? row[i].end : row[i].begin, "fp32") == 0)
                assert_true(test_trained_distance(&now, &alone[end]) < 1e-6);
            else if (strcmp(row[i].end, "bfp4,8,4") != 0)
                assert_memory_equal(now.values, alone[end].values, now.parameters * sizeof *now.values);
            free(now.values);
            free(alone[end].values);
        }
        const tn_step step = test_step_of(model, &arena);
        tn_number_format begin, end;
        assert_int_equal(tn_number_format_read(row[i].begin, &begin, NULL), TN_OK);
        assert_int_equal(tn_number_format_read(row[i].end, &end, NULL), TN_OK);
        const double wider = fmax(tn_number_format_bits(&begin), tn_number_format_bits(&end));
        for (uint32_t o = 0; o < step.operations; o++) {
            const tn_operation *operation = &step.operation[o];
            if (operation->kind != TN_OP_PRODUCT) continue;
            assert_int_equal(operation->arithmetic->chunk_bits, row[i].passes > 0 ? 2 : 0);
            assert_int_equal(operation->arithmetic->begins, row[i].passes == 0);
            if (row[i].passes > 0) assert_true(fabs(operation->cycle_ratio - row[i].passes) < 1e-12);
            for (int k = 0; k < 2; k++)
                assert_true(tn_number_format_bits(step.array[operation->reads[k]].format) >= wider);
        }
        tn_arena_free(&arena);
    }
}

static void schedules_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *products, *schedule, *message;
    } row[] = {
        {"bfp16,8,4", "{steps: 0.5}", "no key \"begin\""},
        {"bfp16,8,4", "{begin: fp32, narrow: fp32}", "both begin and narrow"},
        {"bfp16,8,4", "{begin: fp33}", "fp33"},
        {"bfp16,8,4", "{begin: \"bfp16,8,4\"}", "the format that it ends in"},
        {"bfp16,8,4", "{begin: olive4}", "outlier-victim pairs"},
        {"bfp16,8,4", "{begin: fp32, a: 0.5}", "FAST's rule"},
        {"bfp16,8,2", "{begin: \"bfp16,8,4\", a: 0.5}", "FAST's rule"},
        {"bfp16,8,4", "{begin: \"bfp8,8,2\", a: 0.5}", "FAST's rule"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char products[64], schedule[96];
        tn_arena arena = {0};
        tn_error error = {0};
        tn_model *model;
        tn_step step;
        snprintf(products, sizeof products, "precision.products=%s", row[i].products);
        snprintf(schedule, sizeof schedule, "precision_schedule=%s", row[i].schedule);
        const char *const set[] = {products, schedule};
        tn_status status = tn_model_load("atis-2enc", set, 2, &arena, &model, &error);
        if (status == TN_OK) {
            tn_program_cache *cache;
            assert_int_equal(tn_program_cache_new(&cache, &error), TN_OK);
            status = tn_step_build(model, cache, &arena, &step, &error);
            tn_program_cache_free(cache);
        }
        if (status != TN_INPUT || !strstr(error.message, row[i].message))
            fail_msg("%s: status %d, %s", row[i].schedule, status, error.message);
        tn_arena_free(&arena);
    }
}

/* FP32 in the first layers alone: their products are those of FP32 throughout, the others' never. */
static void first_layers_begin(void **state) {
    (void)state;
    const tn_precision_schedule schedule = {.steps = 0.25, .layers = 0.5};
    assert_true(tn_precision_schedule_begins(&schedule, 0.2, 0.5));
    assert_false(tn_precision_schedule_begins(&schedule, 0.2, 0.51));
    assert_false(tn_precision_schedule_begins(&schedule, 0.25, 0.5));
    tn_arena arena = {0};
    tn_model *model;
    const char *const set[] = {"sequence=6", "precision.products=bf16",
                               "precision_schedule={begin: fp32, steps: 1, layers: 0.5}"};
    double share;
    assert_int_equal(tn_model_load("atis-2enc", set, 3, &arena, &model, NULL), TN_OK);
    const test_trained now = test_train_at(model, TN_FLOAT32, 1, 0.9, &share);
    const tn_step step = test_step_of(model, &arena);
    uint64_t products = 0, ending = 0;
    for (uint32_t o = 0; o < step.operations; o++) {
        if (step.operation[o].kind != TN_OP_PRODUCT) continue;
        products++;
        ending += (double)(step.operation[o].layer + 1) > 0.5 * (double)step.layers;
    }
    assert_true(ending > 0 && ending < products);
    assert_true(share > 0 && share < 1);
    free(now.values);
    tn_arena_free(&arena);
}

/* By shares a step is that of the narrow format before, of the wide one behind; by FAST's rule with a threshold above or
 * below all gains too, and between them some operands are wide. Passes are priced on a kernel of chunks. */
static void mantissas_grow(void **state) {
    static const struct {
        const char *schedule;
        double progress, wide_least, wide_most, passes;
    } row[] = {{"precision_schedule={narrow: \"bfp4,8,2\", steps: 0.5}", 0, 0, 0, 2.5},
               {"precision_schedule={narrow: \"bfp4,8,2\", steps: 0.5}", 0.5, 1, 1, 2.5},
               {"precision_schedule={narrow: \"bfp4,8,2\", steps: 1}", 0.9, 0, 0, 1},
               {"precision_schedule={narrow: \"bfp4,8,2\", a: 1e6}", 0, 0, 0.1, 4},
               {"precision_schedule={narrow: \"bfp4,8,2\", a: 1e-9, wide_share: 0.5}", 0, 0.5, 1, 2.25},
               {"precision_schedule={narrow: \"bfp4,8,2\", a: 1, b: 0.4}", 0, 0.02, 0.98, 4}};
    test_trained narrow = {0}, wide = {0};
    for (size_t i = 0; i < 2 + sizeof row / sizeof *row; i++) {
        tn_arena arena = {0};
        tn_model *model;
        bool plain = i < 2;
        const char *const set[] = {"sequence=6",
                                   i == 0 ? "precision.products=bfp4,8,2" : "precision.products=bfp4,8,4",
                                   plain ? "batch=1" : row[i - 2].schedule};
        assert_int_equal(tn_model_load("atis-2enc", set, 3, &arena, &model, NULL), TN_OK);
        if (plain) {
            *(i ? &wide : &narrow) = test_train(model, TN_FLOAT32, 1, NULL, NULL);
            tn_arena_free(&arena);
            continue;
        }
        double share;
        const test_trained now = test_train_at(model, TN_FLOAT32, 1, row[i - 2].progress, &share);
        if (share < row[i - 2].wide_least || share > row[i - 2].wide_most)
            fail_msg("%s: %g of the operands are wide", row[i - 2].schedule, share);
        if (share == 0) assert_memory_equal(now.values, narrow.values, now.parameters * sizeof *now.values);
        if (share == 1) assert_memory_equal(now.values, wide.values, now.parameters * sizeof *now.values);
        const tn_step step = test_step_of(model, &arena);
        for (uint32_t o = 0; o < step.operations; o++) {
            if (step.operation[o].kind != TN_OP_PRODUCT) continue;
            assert_true(fabs(step.operation[o].cycle_ratio - row[i - 2].passes) < 1e-12);
            assert_int_equal(step.operation[o].arithmetic->chunk_bits, 2);
        }
        free(now.values);
        tn_arena_free(&arena);
    }
    free(narrow.values);
    free(wide.values);
    test_models_end(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float32_rounds_as_float64_does),
        cmocka_unit_test(products_are_those_of_rounded_rows),
        cmocka_unit_test(arrays_are_kept_in_their_format),
        cmocka_unit_test(formats_change),
        cmocka_unit_test(first_layers_begin),
        cmocka_unit_test(schedules_are_refused),
        cmocka_unit_test(mantissas_grow),
        cmocka_unit_test(gradients_are_what_a_doubled_loss_doubles),
        cmocka_unit_test(errors_fall_with_the_mantissa),
        cmocka_unit_test(stochastic_rounding_follows_the_seed),
        cmocka_unit_test(inference_is_refused),
        cmocka_unit_test(memory_that_is_not_to_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
