/* Estimates without a measurement: against what was measured, presets against parameters summed tensor by tensor, experts
 * touched against drawing them. */
#include "base/random.h"
#include "finetune/data.h"
#include "finetune/step.h"
#include "model/model.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static tn_arena arena;
static tn_error error;

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

static void load(const char *name, tn_language_model *model) {
    char path[64] = "models/";
    tn_status status = tn_language_model_load(test_source(strcat(strcat(path, name), ".yaml")), NULL, 0,
                                              &arena, model, &error);
    if (status != TN_OK) fail_msg("%s", error.message);
}

/* The same file as a training step. */
static uint64_t parameters_of_layers(const char *name) {
    char path[64] = "models/";
    tn_model *model;
    tn_program_cache *cache;
    tn_step step = {0};
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    if (tn_model_load(test_source(strcat(strcat(path, name), ".yaml")), NULL, 0, &arena, &model, &error) !=
            TN_OK ||
        tn_step_build(model, cache, &arena, &step, &error) != TN_OK)
        fail_msg("%s", error.message);
    tn_program_cache_free(cache);
    return step.parameters;
}

/* The tensors of a checkpoint of the Llama family, from the sizes that are published of each model. */
static void presets_have_their_parameters(void **state) {
    static const struct {
        const char *name;
        uint64_t hidden, ff, layers, heads, kv_heads, head, vocabulary;
        bool tied;
        uint64_t published, adapters;
    } known[] = {
        {"llama3-8b", 4096, 14336, 32, 32, 8, 128, 128256, false, 8030261248, 41943040},
        {"llama3-70b", 8192, 28672, 80, 64, 8, 128, 128256, false, 70553706496, 207093760},
        {"llama3.2-1b", 2048, 8192, 16, 32, 8, 64, 128256, true, 1235814400, 11272192},
        {"mistral-7b", 4096, 14336, 32, 32, 8, 128, 32000, false, 7241732096, 41943040},
        {"phi3-mini", 3072, 8192, 32, 32, 32, 96, 32064, false, 3821079552, 29884416},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const uint64_t h = known[i].hidden, q = known[i].heads * known[i].head,
                       kv = known[i].kv_heads * known[i].head, ff = known[i].ff;
        /* rows and columns of q, k, v, o, gate, up and down */
        const uint64_t matrix[7][2] = {{q, h}, {kv, h}, {kv, h}, {h, q}, {ff, h}, {ff, h}, {h, ff}};
        uint64_t layer = 2 * h, adapters = 0;
        for (int m = 0; m < 7; m++) {
            layer += matrix[m][0] * matrix[m][1];
            adapters += 16 * (matrix[m][0] + matrix[m][1]);
        }
        uint64_t all = known[i].layers * layer + h + (known[i].tied ? 1 : 2) * known[i].vocabulary * h;
        assert_int_equal(all, known[i].published);
        assert_int_equal(known[i].layers * adapters, known[i].adapters);
        tn_language_model model;
        tn_language_count count;
        load(known[i].name, &model);
        assert_int_equal(tn_language_count_of(&model, 512, 1, &count, NULL), TN_OK);
        assert_int_equal(count.parameters, known[i].published);
        assert_int_equal(count.trained_parameters, known[i].adapters);
        assert_int_equal(parameters_of_layers(known[i].name), known[i].published);
    }
    assert_int_equal(parameters_of_layers("qwen2.5-7b"),
                     7615616512); /* biases of queries, keys and values, too */
}

static void experts_touched(void **state) {
    enum { EXPERTS = 8, ROUNDS = 20000 };
    uint64_t random = 11;
    (void)state;
    for (unsigned active = 1; active <= EXPERTS; active++)
        for (unsigned tokens = 1; tokens <= 12; tokens += 1 + tokens / 3) {
            uint64_t sum = 0;
            for (int round = 0; round < ROUNDS; round++) {
                unsigned seen = 0;
                for (unsigned t = 0; t < tokens; t++)
                    for (unsigned chosen = 0, mask = 0; chosen < active;) {
                        unsigned bit = 1u << tn_splitmix_below(&random, EXPERTS);
                        chosen += !(mask & bit);
                        mask |= bit;
                        seen |= bit;
                    }
                sum += (uint64_t)__builtin_popcount(seen);
            }
            double drawn = (double)sum / ROUNDS;
            assert_true(fabs(tn_experts_touched(EXPERTS, active, tokens) - drawn) < 0.04);
        }
}

/* What was measured of `points`, and how estimates hold it. */
typedef struct {
    size_t points, inside;
    double log_square, worst;
} hold;

static void hold_point(const tn_finetune_work *work, const tn_gpu *gpu, double batch, double measured,
                       hold *h) {
    tn_finetune_estimate of;
    if (tn_finetune_estimate_step(work, gpu, (uint64_t)batch, &of, &error) != TN_OK)
        fail_msg("%s", error.message);
    double off = log(of.queries_per_s.value / measured);
    h->points++;
    h->inside += of.queries_per_s.low <= measured && measured <= of.queries_per_s.high;
    h->log_square += off * off;
    h->worst = fmax(h->worst, exp(fabs(off)));
}

/* Every published throughput that has a model file, at the medians of its data sets: 79 and 174 tokens. */
static void hold_published(const tn_gpu_table *table, bool known, hold *h) {
    tn_finetune_data data;
    assert_int_equal(
        tn_finetune_load(test_shared_or_skip("data/finetune/measured_throughput.csv"), &arena, &data, &error),
        TN_OK);
    for (size_t i = 0; i < data.count; i++) {
        const tn_finetune_group *group = &data.group[i];
        const tn_gpu *gpu;
        tn_language_model model;
        tn_query_lengths lengths = {.median = strcmp(group->dataset, "CS") == 0 ? 79 : 174,
                                    .spread = known ? table->framework.unknown_spread : 0,
                                    .longest = INFINITY};
        tn_finetune_work work = {
            .model = &model, .framework = &table->framework, .lengths = &lengths, .lengths_known = known};
        load(group->model, &model);
        assert_int_equal(tn_gpu_find(table, group->gpu, &gpu, &error), TN_OK);
        for (size_t k = 0; k < group->count; k++) {
            const tn_finetune_point *point = &group->point[k];
            assert_int_equal(tn_language_active(&model, point->sparsity, &work.active, &error), TN_OK);
            hold_point(&work, gpu, point->batch, point->queries_per_s, h);
        }
    }
}

/* 54 steps of an 8-expert model on an H200; every query has 79 tokens. */
static void hold_h200(const tn_gpu_table *table, bool known, hold *h) {
    const tn_gpu *gpu;
    tn_language_model model;
    tn_query_lengths lengths = {.median = 79, .longest = INFINITY};
    tn_finetune_work work = {
        .model = &model, .framework = &table->framework, .lengths = &lengths, .lengths_known = known};
    char line[256], mode[16];
    FILE *stream = fopen(test_shared_or_skip("data/finetune/h200_moe_seq79.csv"), "r");
    assert_non_null(stream);
    assert_int_equal(tn_gpu_find(table, "h200", &gpu, &error), TN_OK);
    load("dense-7b", &model);
    model.hidden = 2048;
    model.tied_embeddings = true;
    model.attention =
        (tn_language_attention){.layers = 8, .heads = 16, .kv_heads = 16, .head_size = 128, .flash = true};
    model.feed_forward =
        (tn_language_feed_forward){.layers = 8, .size = 7168, .matrices = 3, .experts = 8, .active = 2};
    model.training.adapters = (tn_language_adapters){.rank = 16, .feed_forward = true, .bits = 16};
    model.training.gradient_bits = 16;
    model.training.optimizer_bits = 32;
    while (fgets(line, sizeof line, stream)) {
        unsigned k, batch;
        double rate;
        if (sscanf(line, "H200,%15[^,],8,2048,7168,%*u,79,%u,%u,%*f,%lf", mode, &k, &batch, &rate) != 4)
            continue;
        model.training.method = mode[0] == 'l' ? TN_TUNE_LORA : TN_TUNE_FULL;
        work.active = k;
        hold_point(&work, gpu, batch, rate, h);
    }
    fclose(stream);
}

/* Ranges hold 9 of 10 measured steps of models and GPUs that no law was fitted to, whether lengths are known or only their
 * median is. */
static void ranges_hold(void **state) {
    tn_gpu_table table;
    (void)state;
    assert_int_equal(tn_gpu_table_load(test_source("models/prices/gpus.yaml"), &arena, &table, &error),
                     TN_OK);
    assert_true(table.framework.given);
    for (int known = 0; known < 2; known++) {
        hold published = {0}, h200 = {0};
        hold_published(&table, known, &published);
        hold_h200(&table, known, &h200);
        double off =
            sqrt((published.log_square + h200.log_square) / (double)(published.points + h200.points));
        print_message(
            "%s: %zu of %zu published and %zu of %zu on an H200 in their ranges, a factor of %.3f off, worst "
            "%.2f\n",
            known ? "lengths known" : "median known", published.inside, published.points, h200.inside,
            h200.points, exp(off), fmax(published.worst, h200.worst));
        assert_int_equal(published.points, 96);
        assert_int_equal(h200.points, 54);
        assert_true(10 * (published.inside + h200.inside) >= 9 * 150);
        assert_true(24 * h200.inside >= 22 * h200.points);
        if (!known) continue;
        /* and the stated error is what was found */
        assert_true(off < 1.1 * table.framework.time_error);
        assert_true(fmax(published.worst, h200.worst) < 1.5);
    }
}

/* Mixtral on an H100, 79 tokens, 15,000 queries, 10 epochs: 17.9 $ by the publication's measurements at batch 17. */
static void the_published_bill(void **state) {
    tn_gpu_table table;
    const tn_gpu *gpu;
    tn_language_model model;
    tn_query_lengths lengths = {.median = 79, .longest = INFINITY};
    tn_batch_interval batch;
    tn_finetune_estimate of;
    (void)state;
    assert_int_equal(tn_gpu_table_load(test_source("models/prices/gpus.yaml"), &arena, &table, &error),
                     TN_OK);
    assert_int_equal(tn_gpu_find(&table, "h100", &gpu, &error), TN_OK);
    load("mixtral-8x7b", &model);
    tn_finetune_work work = {
        .model = &model, .framework = &table.framework, .lengths = &lengths, .active = 2, .queries = 15000};
    assert_int_equal(tn_finetune_largest_batch(&work, gpu->memory_GB, &batch, &error), TN_OK);
    assert_true(batch.low <= 17 && 17 <= batch.high);
    assert_int_equal(tn_finetune_estimate_largest(&work, gpu, &batch, &of, &error), TN_OK);
    tn_bill bill = tn_bill_of(gpu, (double)batch.value, of.queries_per_s);
    assert_int_equal(tn_bill_reckon(&bill, 15000, 10, &error), TN_OK);
    print_message("batch %d (%d to %d), %.2f $ (%.2f to %.2f)\n", (int)batch.value, (int)batch.low,
                  (int)batch.high, bill.usd.value, bill.usd.low, bill.usd.high);
    assert_true(bill.usd.low <= 17.9 && 17.9 <= bill.usd.high);
    assert_true(bill.usd.high <= 3 * bill.usd.low);
}

/* What must follow whatever the constants: more tokens take longer, a larger batch gives no less throughput, a range holds its
 * value, and at large batches full training takes longer than adapters. */
static void estimates_are_monotone(void **state) {
    tn_gpu_table table;
    const tn_gpu *gpu;
    tn_language_model model, full;
    tn_query_lengths lengths = {.median = 512, .longest = INFINITY},
                     more = {.median = 1024, .longest = INFINITY};
    (void)state;
    assert_int_equal(tn_gpu_table_load(test_source("models/prices/gpus.yaml"), &arena, &table, &error),
                     TN_OK);
    assert_int_equal(tn_gpu_find(&table, "a100", &gpu, &error), TN_OK);
    assert_string_equal(gpu->name, "A100-80GB");
    load("llama3-8b", &model);
    full = model;
    full.training.method = TN_TUNE_FULL;
    tn_finetune_work work = {.model = &model,
                             .framework = &table.framework,
                             .lengths = &lengths,
                             .active = 1,
                             .lengths_known = true};
    double rate = 0;
    for (uint64_t batch = 1; batch <= 64; batch *= 2) {
        tn_finetune_estimate of, longer, all;
        tn_finetune_work other = work;
        assert_int_equal(tn_finetune_estimate_step(&work, gpu, batch, &of, NULL), TN_OK);
        other.lengths = &more;
        assert_int_equal(tn_finetune_estimate_step(&other, gpu, batch, &longer, NULL), TN_OK);
        other = work;
        other.model = &full;
        assert_int_equal(tn_finetune_estimate_step(&other, gpu, batch, &all, NULL), TN_OK);
        assert_true(of.queries_per_s.low < of.queries_per_s.value &&
                    of.queries_per_s.value < of.queries_per_s.high);
        assert_true(of.queries_per_s.value >= rate);
        /* a host that launches adapters' kernels hides what the device takes, up to some batch */
        assert_true(longer.seconds.value >= of.seconds.value);
        if (batch == 64)
            assert_true(longer.seconds.value > of.seconds.value && all.seconds.value > of.seconds.value);
        rate = of.queries_per_s.value;
    }
}

/* 8 A100 hold what one does not; nothing goes over links of one GPU; bytes are those of the header's law; what the links take
 * lies between hidden and added. */
static void several_gpus(void **state) {
    tn_gpu_table table;
    const tn_gpu *gpu;
    tn_language_model model;
    tn_language_count count;
    tn_batch_interval one, shard;
    tn_finetune_estimate alone, of;
    tn_query_lengths lengths = {.median = 512, .longest = INFINITY};
    (void)state;
    assert_int_equal(tn_gpu_table_load(test_source("models/prices/gpus.yaml"), &arena, &table, &error),
                     TN_OK);
    assert_int_equal(tn_gpu_find(&table, "A100-80GB", &gpu, &error), TN_OK);
    load("llama3-8b", &model);
    model.training.method = TN_TUNE_FULL;
    assert_int_equal(tn_language_count_of(&model, 512, 1, &count, &error), TN_OK);
    tn_finetune_work work = {.model = &model,
                             .framework = &table.framework,
                             .lengths = &lengths,
                             .active = 1,
                             .lengths_known = true};
    assert_int_equal(tn_finetune_largest_batch(&work, gpu->memory_GB, &one, &error), TN_OK);
    assert_int_equal(tn_finetune_estimate_step(&work, gpu, 4, &alone, &error), TN_OK);
    assert_true(alone.communication_s == 0);
    work.gpus = 8;
    work.sharded = true;
    assert_int_equal(tn_finetune_largest_batch(&work, gpu->memory_GB, &shard, &error), TN_OK);
    assert_true(one.high == 0 && shard.value > 0);
    double share = 1e9 * table.framework.bandwidth_share;
    for (uint64_t nodes = 1; nodes <= 4; nodes *= 2) {
        work.nodes = nodes;
        assert_int_equal(tn_finetune_estimate_step(&work, gpu, 4, &of, &error), TN_OK);
        double bytes = 3 * (double)count.weight_bytes + (double)count.gradient_bytes, m = (double)nodes;
        double seconds =
            bytes / share * (7. / 8 / gpu->link_GBps + (m - 1) / m / (8 * table.framework.network_GBps));
        assert_true(fabs(of.communication_s / seconds - 1) < 1e-9);
        assert_true(of.seconds.value >= fmax(alone.seconds.value, seconds));
        assert_true(of.seconds.value <= alone.seconds.value + seconds);
        assert_true(of.seconds.low <= fmax(alone.seconds.value, seconds));
        assert_true(of.seconds.high >= alone.seconds.value + seconds);
        double rate = 8 * m * 4 / of.seconds.value;
        assert_true(fabs(of.queries_per_s.value / rate - 1) < 1e-9);
        assert_true(of.queries_per_s.low < rate && rate < of.queries_per_s.high);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_have_their_parameters),
        cmocka_unit_test(experts_touched),
        cmocka_unit_test(ranges_hold),
        cmocka_unit_test(the_published_bill),
        cmocka_unit_test(estimates_are_monotone),
        cmocka_unit_test(several_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
