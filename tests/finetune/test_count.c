/* Counts of language models against published totals and against matrices written out one by one. */
#include "finetune/count.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static tn_arena arena;
static tn_language_model model;
static tn_language_count count;
static tn_error error;

static void load(const char *name, const char *set) {
    char path[64] = "models/";
    tn_status status = tn_language_model_load(test_source(strcat(strcat(path, name), ".yaml")), &set,
                                              set ? 1 : 0, &arena, &model, &error);
    if (status != TN_OK) print_error("%s\n", error.message);
    assert_int_equal(status, TN_OK);
}

static void count_at(uint64_t sequence, uint64_t active) {
    assert_int_equal(tn_language_count_of(&model, sequence, active, &count, &error), TN_OK);
}

/* Mixtral 8x7B has 46,702,792,704 parameters, 12.9 billion of them active, Llama 2 7B 6,738,415,616;
 * BlackMamba is called 2.8B. */
static void published_sizes(void **state) {
    (void)state;
    load("mixtral-8x7b", NULL);
    count_at(79, 2);
    assert_int_equal(count.parameters, 46702792704);
    assert_int_equal(count.active_parameters, 12879925248);
    load("dense-7b", NULL);
    count_at(79, 1);
    assert_int_equal(count.parameters, 6738415616);
    assert_int_equal(count.active_parameters, 6738415616);
    load("blackmamba-2.8b", NULL);
    count_at(79, 2);
    assert_true(fabs((double)count.parameters / 2.8e9 - 1) < 0.01);
    assert_true(fabs((double)count.weight_bytes / 5.6e9 - 1) < 0.01);
    assert_int_equal(count.trained_parameters, count.parameters);
    assert_int_equal(count.gradient_bytes, 2 * count.parameters);
    assert_int_equal(count.workspace_bytes, 0);
}

/* A training step takes about six operations a token and active parameter, eight with checkpointing. */
static void six_operations_a_parameter(void **state) {
    (void)state;
    load("dense-7b", "training.method=full");
    count_at(64, 1);
    double each = (double)count.training_flops / 64 / (double)count.parameters;
    assert_true(each > 7.6 && each < 8.1);
    load("dense-7b", "training={method: full, checkpointing: false}");
    count_at(64, 1);
    each = (double)count.training_flops / 64 / (double)count.parameters;
    assert_true(each > 5.8 && each < 6.1);
    load("dense-7b", "training={method: lora, adapters: {attention: true}, checkpointing: false}");
    count_at(64, 1);
    each = (double)count.training_flops / 64 / (double)count.parameters;
    assert_true(each > 3.8 && each < 4.1);
}

/* Adapters of rank 16 on w1, w2, w3 (14336 x 4096) of 8 experts and on the router, in 32 layers. */
static void mixtral_adapters(void **state) {
    (void)state;
    load("mixtral-8x7b", NULL);
    count_at(100, 2);
    uint64_t adapters = 32 * (8 * 3 * 16 * (14336 + 4096) + 16 * (4096 + 8));
    assert_int_equal(count.trained_parameters, adapters);
    assert_int_equal(count.optimizer_bytes, 8 * adapters);
    uint64_t matrices = 32ull * (8 * 3 * 14336ull * 4096 + 2 * 4096 * 4096 + 2 * 1024 * 4096);
    uint64_t others = 32 * (2 * 4096 + 8 * 4096) + 4096 + 2 * 32000 * 4096;
    assert_int_equal(matrices + others, count.parameters);
    double weights = ceil((double)matrices * 4.127 / 8) + 2 * (double)others + 4 * (double)adapters;
    assert_true(fabs((double)count.weight_bytes - weights) < 1);
    assert_int_equal(count.workspace_bytes, 2 * 14336 * 4096);
}

/* A tiny model, every number by hand: hidden 8, 2 heads of 4 with 1 key head, feed-forward 16 of 2 matrices
 * and 4 experts, 3 tokens, 1 expert active, full training, everything kept in 16 bits. */
static void tiny_by_hand(void **state) {
    (void)state;
    load("dense-7b", NULL);
    model.hidden = 8;
    model.vocabulary = 10;
    model.attention = (tn_language_attention){.layers = 1, .heads = 2, .kv_heads = 1, .head_size = 4};
    model.feed_forward =
        (tn_language_feed_forward){.layers = 1, .size = 16, .matrices = 2, .experts = 4, .active = 1};
    model.training.method = TN_TUNE_FULL;
    model.training.checkpointing = false;
    count_at(3, 1);
    uint64_t attention = 8 + 8 * 8 + 2 * (4 * 8) + 8 * 8, experts = 8 + 8 * 4 + 4 * 2 * (16 * 8);
    assert_int_equal(count.parameters, attention + experts + 8 + 2 * 80);
    uint64_t macs = 3 * (64 + 64 + 64 + 8 * 3 + 2 * 128 + 8 * 4 + 80);
    assert_int_equal(count.forward_macs, macs);
    /* forward and input gradient of everything, weight gradient of matrices (scores have none) */
    assert_int_equal(count.training_flops, 2 * (3 * macs - 3 * 8 * 3));
    /* per token: attention 8 + 8 + (8 + 4 + 4 + 8) and scores and softmax 2 heads x 3; experts 8 + 8 + 4 + (5 x
     * 8: gathered, its input, output, weighted, summed; 16 + 16); logits 96 bits an entry */
    uint64_t elements = 8 + 8 + 24 + 2 * 2 * 3 + 8 + 8 + 4 + 72;
    assert_int_equal(count.activation_bytes, 3 * (2 * elements + 10 * 12));
    assert_int_equal(count.logit_bytes, 3 * 10 * 12);
    model.training.checkpointing = true;
    count_at(3, 1);
    /* two layer inputs of 8, and the larger of the larger layer (8 + 8 + 4 + 72 = 92 elements) and the logits */
    assert_int_equal(count.kept_bytes, 3 * 2 * 16);
    assert_int_equal(count.layer_bytes, 3 * 2 * 92);
    assert_int_equal(count.activation_bytes, 3 * 2 * (16 + 92));
    assert_int_equal(count.training_flops, 2 * (4 * macs - 3 * 80 - 3 * 8 * 3));
    uint64_t kept = 3 * (2 * elements), logits = 3 * 10 * 12;
    model.training.keeps_all = true;
    count_at(3, 1);
    assert_int_equal(count.activation_bytes, kept + logits);
    model.training.keeps_all = false;
    model.vocabulary = 10000;
    count_at(3, 1);
    assert_int_equal(count.activation_bytes, 3 * (2 * 16 + 10000 * 12));
}

/* Peak memory over batch of an 8-expert model on an H200: the slope between 512 and 768 queries of 79 tokens, where
 * activations decide the peak, against the count of a query. */
static void measured_peak_memory(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("data/finetune/h200_moe_seq79.csv");
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    double peak[2][3][2] = {0}; /* full or lora, top-k 2 or 8, batch 512 or 768 */
    char line[256], mode[16];
    while (fgets(line, sizeof line, stream)) {
        unsigned k, batch;
        double GB;
        if (sscanf(line, "H200,%15[^,],8,2048,7168,%*u,79,%u,%u,%*f,%*f,%lf", mode, &k, &batch, &GB) != 4)
            continue;
        if (batch == 512 || batch == 768) peak[mode[0] == 'l'][k == 8][batch == 768] = GB;
    }
    fclose(stream);
    load("dense-7b", NULL);
    model.hidden = 2048;
    model.tied_embeddings = true;
    model.attention =
        (tn_language_attention){.layers = 8, .heads = 16, .kv_heads = 16, .head_size = 128, .flash = true};
    model.feed_forward =
        (tn_language_feed_forward){.layers = 8, .size = 7168, .matrices = 3, .experts = 8, .active = 2};
    model.training.adapters = (tn_language_adapters){.rank = 16, .feed_forward = true, .bits = 16};
    for (int lora = 0; lora < 2; lora++)
        for (int dense = 0; dense < (lora ? 1 : 2); dense++) {
            model.training.method = lora ? TN_TUNE_LORA : TN_TUNE_FULL;
            count_at(79, dense ? 8 : 2);
            double slope = 1e9 * (peak[lora][dense][1] - peak[lora][dense][0]) / 256;
            print_message("%s, %d experts a token: %.1f MB a query measured, %.1f counted\n",
                          lora ? "lora" : "full", dense ? 8 : 2, slope / 1e6,
                          (double)count.activation_bytes / 1e6);
            assert_true(slope > 0 && fabs((double)count.activation_bytes / slope - 1) < 0.08);
        }
}

/* More experts at work keep and compute more, in proportion. */
static void sparsity_scales_the_experts(void **state) {
    (void)state;
    load("mixtral-8x7b", "training.checkpointing=false");
    uint64_t bytes[9], flops[9];
    for (uint64_t active = 1; active <= 8; active++) {
        count_at(79, active);
        bytes[active] = count.activation_bytes;
        flops[active] = count.training_flops;
    }
    for (uint64_t active = 2; active < 8; active++) {
        assert_int_equal(bytes[active + 1] - bytes[active], bytes[2] - bytes[1]);
        assert_int_equal(flops[active + 1] - flops[active], flops[2] - flops[1]);
    }
    uint64_t active;
    assert_int_equal(tn_language_active(&model, 0.25, &active, &error), TN_OK);
    assert_int_equal(active, 2);
    assert_int_equal(tn_language_active(&model, 1, &active, &error), TN_OK);
    assert_int_equal(active, 8);
    assert_int_equal(tn_language_active(&model, 0.3, &active, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "2.4 experts"));
    assert_int_equal(tn_language_active(&model, 0, &active, &error), TN_INPUT);
}

static void sizes_beyond_64_bits(void **state) {
    (void)state;
    load("dense-7b", NULL);
    model.feed_forward = (tn_language_feed_forward){
        .layers = 10000, .size = 10000000, .matrices = 3, .experts = 100000, .active = 100000};
    model.hidden = 1000000;
    assert_int_equal(tn_language_count_of(&model, 1000, 100000, &count, &error), TN_OVERFLOW);
    assert_non_null(strstr(error.message, "64 bits"));
    load("dense-7b", NULL);
    assert_int_equal(tn_language_count_of(&model, UINT64_MAX / 4, 1, &count, &error), TN_OVERFLOW);
}

static void refused(const char *name, const char *set, const char *words) {
    char path[64] = "models/";
    assert_int_equal(tn_language_model_load(test_source(strcat(strcat(path, name), ".yaml")), &set, 1, &arena,
                                            &model, &error),
                     TN_INPUT);
    if (!strstr(error.message, words)) print_error("%s\n", error.message);
    assert_non_null(strstr(error.message, words));
}

static void what_is_refused(void **state) {
    (void)state;
    refused("mixtral-8x7b", "feed_forward.active=9", "9 active of 8 experts");
    refused("mixtral-8x7b", "attention.kv_heads=5", "must divide");
    refused("mixtral-8x7b", "training.method=lorra", "lora");
    refused("mixtral-8x7b", "hiden=3", "hidden");
    refused("atis-2enc", "batch=1", "kind language-model");
}

static void names_are_not_paths(void **state) {
    (void)state;
    bool found = true;
    assert_int_equal(tn_language_model_find("mixtral-8x7b", &arena, &model, &found, &error), TN_OK);
    assert_true(found && model.published.c3 == 1.8);
    assert_int_equal(tn_language_model_find("../models/mixtral-8x7b", &arena, &model, &found, &error), TN_OK);
    assert_false(found);
    assert_int_equal(tn_language_model_find("atis-2enc", &arena, &model, &found, &error), TN_OK);
    assert_false(found);
}

static int clear(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(published_sizes, clear),
        cmocka_unit_test_teardown(six_operations_a_parameter, clear),
        cmocka_unit_test_teardown(mixtral_adapters, clear),
        cmocka_unit_test_teardown(tiny_by_hand, clear),
        cmocka_unit_test_teardown(measured_peak_memory, clear),
        cmocka_unit_test_teardown(sparsity_scales_the_experts, clear),
        cmocka_unit_test_teardown(sizes_beyond_64_bits, clear),
        cmocka_unit_test_teardown(what_is_refused, clear),
        cmocka_unit_test_teardown(names_are_not_paths, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
