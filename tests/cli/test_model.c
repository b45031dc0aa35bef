/* tenfold model: checkpoints of each family, written by this test with names that are in use, become model files whose parameters
 * are those of the arrays; cost prices them, ranks reads them. */
#include "base/memory.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"
#include "text/arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 64, WIDE = 128, LAYERS = 2, TOKENS = 16, WORDS = 118, ARRAYS_MOST = 96 };

typedef struct {
    char name[ARRAYS_MOST][96];
    uint64_t shape[ARRAYS_MOST][4];
    tn_array_out out[ARRAYS_MOST];
    size_t count;
    uint64_t elements;
    double *values;
} checkpoint;

static void add(checkpoint *c, const char *name, uint64_t rows, uint64_t columns) {
    size_t i = c->count++;
    assert_true(i < ARRAYS_MOST);
    assert_true(strlen(name) < sizeof c->name[i]);
    strcpy(c->name[i], name);
    c->shape[i][0] = rows;
    c->shape[i][1] = columns;
    c->out[i] = (tn_array_out){.name = c->name[i],
                               .axes = columns ? 2 : 1,
                               .shape = c->shape[i],
                               .values = c->values,
                               .single = true};
    c->elements += rows * (columns ? columns : 1);
}

/* A matrix (or, with columns 0, a norm) with its bias. */
static void add_layer(checkpoint *c, const char *prefix, int layer, const char *name, uint64_t rows,
                      uint64_t columns, uint64_t bias) {
    char full[160];
    if (layer >= 0)
        snprintf(full, sizeof full, "%s%d.%s.weight", prefix, layer, name);
    else
        snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    add(c, full, rows, columns);
    strcpy(strrchr(full, '.'), ".bias");
    if (bias) add(c, full, bias, 0);
}

static void write_bert(checkpoint *c) {
    add(c, "bert.embeddings.word_embeddings.weight", WORDS, HIDDEN);
    add(c, "bert.embeddings.position_embeddings.weight", TOKENS, HIDDEN);
    add(c, "bert.embeddings.token_type_embeddings.weight", 2, HIDDEN);
    add_layer(c, "bert.", -1, "embeddings.LayerNorm", HIDDEN, 0, HIDDEN);
    for (int i = 0; i < LAYERS; i++) {
        static const char p[] = "bert.encoder.layer.";
        add_layer(c, p, i, "attention.self.query", HIDDEN, HIDDEN, HIDDEN);
        add_layer(c, p, i, "attention.self.key", HIDDEN, HIDDEN, HIDDEN);
        add_layer(c, p, i, "attention.self.value", HIDDEN, HIDDEN, HIDDEN);
        add_layer(c, p, i, "attention.output.dense", HIDDEN, HIDDEN, HIDDEN);
        add_layer(c, p, i, "attention.output.LayerNorm", HIDDEN, 0, HIDDEN);
        add_layer(c, p, i, "intermediate.dense", WIDE, HIDDEN, WIDE);
        add_layer(c, p, i, "output.dense", HIDDEN, WIDE, HIDDEN);
        add_layer(c, p, i, "output.LayerNorm", HIDDEN, 0, HIDDEN);
    }
    add_layer(c, "bert.", -1, "pooler.dense", HIDDEN, HIDDEN, HIDDEN);
    add_layer(c, "", -1, "classifier", 3, HIDDEN, 3);
}

static void write_gpt2(checkpoint *c) {
    add(c, "transformer.wte.weight", 128, HIDDEN);
    add(c, "transformer.wpe.weight", TOKENS, HIDDEN);
    for (int i = 0; i < LAYERS; i++) {
        static const char p[] = "transformer.h.";
        add_layer(c, p, i, "ln_1", HIDDEN, 0, HIDDEN);
        add_layer(c, p, i, "attn.c_attn", HIDDEN, 3 * HIDDEN, 3 * HIDDEN);
        add_layer(c, p, i, "attn.c_proj", HIDDEN, HIDDEN, HIDDEN);
        add_layer(c, p, i, "ln_2", HIDDEN, 0, HIDDEN);
        add_layer(c, p, i, "mlp.c_fc", HIDDEN, WIDE, WIDE);
        add_layer(c, p, i, "mlp.c_proj", WIDE, HIDDEN, HIDDEN);
    }
    add_layer(c, "transformer.", -1, "ln_f", HIDDEN, 0, HIDDEN);
}

static void write_gpt2_classifier(checkpoint *c) {
    write_gpt2(c);
    add(c, "score.weight", 2, HIDDEN);
}

/* A copy of the table, as a model's state has it, and a mask, which is no parameter. */
static void write_gpt2_state(checkpoint *c) {
    write_gpt2(c);
    add(c, "transformer.h.0.attn.bias", TOKENS, TOKENS);
    add(c, "lm_head.weight", 128, HIDDEN);
}

/* `kind` as in the families that share the names: biases (Qwen2), norms of heads (Qwen3), experts (Mixtral). */
static void write_grouped(checkpoint *c, const char *prefix, const char *kind) {
    char p[64], name[64];
    uint64_t bias = strcmp(kind, "biases") == 0;
    snprintf(name, sizeof name, "%sembed_tokens.weight", prefix);
    add(c, name, 128, HIDDEN);
    snprintf(p, sizeof p, "%slayers.", prefix);
    for (int i = 0; i < LAYERS; i++) {
        add_layer(c, p, i, "self_attn.q_proj", HIDDEN, HIDDEN, bias * HIDDEN);
        add_layer(c, p, i, "self_attn.k_proj", HIDDEN / 2, HIDDEN, bias * HIDDEN / 2);
        add_layer(c, p, i, "self_attn.v_proj", HIDDEN / 2, HIDDEN, bias * HIDDEN / 2);
        add_layer(c, p, i, "self_attn.o_proj", HIDDEN, HIDDEN, 0);
        if (strcmp(kind, "norms") == 0) {
            add_layer(c, p, i, "self_attn.q_norm", HIDDEN / 4, 0, 0);
            add_layer(c, p, i, "self_attn.k_norm", HIDDEN / 4, 0, 0);
        }
        bool experts = strcmp(kind, "experts") == 0;
        if (experts) add_layer(c, p, i, "block_sparse_moe.gate", 3, HIDDEN, 0);
        for (int e = 0; e < (experts ? 3 : 1); e++) {
            static const char *const dense[] = {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"};
            static const int number[] = {1, 3, 2};
            for (int k = 0; k < 3; k++) {
                snprintf(name, sizeof name, "block_sparse_moe.experts.%d.w%d", e, number[k]);
                add_layer(c, p, i, experts ? name : dense[k], k == 2 ? HIDDEN : WIDE, k == 2 ? WIDE : HIDDEN,
                          0);
            }
        }
        add_layer(c, p, i, "input_layernorm", HIDDEN, 0, 0);
        add_layer(c, p, i, "post_attention_layernorm", HIDDEN, 0, 0);
    }
    snprintf(name, sizeof name, "%snorm.weight", prefix);
    add(c, name, HIDDEN, 0);
}

static void write_llama(checkpoint *c) {
    write_grouped(c, "model.", "");
    add(c, "lm_head.weight", 128, HIDDEN);
}

static void write_llama_classifier(checkpoint *c) {
    write_grouped(c, "model.", "");
    add(c, "score.weight", 5, HIDDEN);
}

static void write_qwen2(checkpoint *c) {
    write_grouped(c, "model.", "biases");
    add(c, "lm_head.weight", 128, HIDDEN);
}

static void write_qwen3(checkpoint *c) {
    write_grouped(c, "", "norms");
}

static void write_mixtral(checkpoint *c) {
    write_grouped(c, "model.", "experts");
    add(c, "lm_head.weight", 128, HIDDEN);
}

/* BERT's names behind another prefix, another head, positions that begin at two. */
static void write_roberta(checkpoint *c) {
    write_bert(c);
    c->elements = 0;
    c->count -= 4; /* pooler and classifier */
    for (size_t i = 0; i < c->count; i++) {
        char rest[96];
        strcpy(rest, c->name[i] + strlen("bert."));
        snprintf(c->name[i], sizeof c->name[i], "roberta.%.80s", rest);
    }
    add(c, "lm_head.dense.weight", HIDDEN, HIDDEN); /* of pretraining: left out */
    add_layer(c, "", -1, "classifier.dense", HIDDEN, HIDDEN, HIDDEN);
    add_layer(c, "", -1, "classifier.out_proj", 3, HIDDEN, 3);
}

static void write_distilbert(checkpoint *c) {
    add(c, "distilbert.embeddings.word_embeddings.weight", WORDS, HIDDEN);
    add(c, "distilbert.embeddings.position_embeddings.weight", TOKENS, HIDDEN);
    add_layer(c, "distilbert.", -1, "embeddings.LayerNorm", HIDDEN, 0, HIDDEN);
    for (int i = 0; i < LAYERS; i++) {
        static const char p[] = "distilbert.transformer.layer.";
        static const char *const square[] = {"attention.q_lin", "attention.k_lin", "attention.v_lin",
                                             "attention.out_lin"};
        for (int k = 0; k < 4; k++) add_layer(c, p, i, square[k], HIDDEN, HIDDEN, HIDDEN);
        add_layer(c, p, i, "sa_layer_norm", HIDDEN, 0, HIDDEN);
        add_layer(c, p, i, "ffn.lin1", WIDE, HIDDEN, WIDE);
        add_layer(c, p, i, "ffn.lin2", HIDDEN, WIDE, HIDDEN);
        add_layer(c, p, i, "output_layer_norm", HIDDEN, 0, HIDDEN);
    }
    add_layer(c, "", -1, "classifier", 9, HIDDEN, 9); /* of every token: nothing stands before it */
}

static uint64_t write_checkpoint(void fill(checkpoint *), const char *name, bool npz) {
    checkpoint c = {.values = malloc(WIDE * 4 * HIDDEN * sizeof(double))};
    for (size_t i = 0; i < WIDE * 4 * HIDDEN; i++) /* of full rank, so that no two ranks have one error */
        c.values[i] = sin(0.37 * (double)i + 1e-3 * (double)i * (double)i) / 8;
    fill(&c);
    const char *path = test_in_folder(name);
    assert_int_equal(npz ? tn_npz_write(path, c.out, c.count, NULL)
                         : tn_safetensors_write(path, c.out, c.count, NULL),
                     TN_OK);
    c.elements = 0; /* a writer may have changed what it added */
    for (size_t i = 0; i < c.count; i++) c.elements += c.shape[i][0] * (c.shape[i][1] ? c.shape[i][1] : 1);
    free(c.values);
    return c.elements;
}

static uint64_t count(const json_t *object, const char *key) {
    if (!json_is_integer(json_object_get(object, key))) fail_msg("no count under %s", key);
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* What every import must hold: the dense model has the parameters of the arrays that it takes. */
static void accounts(const json_t *told, uint64_t elements) {
    assert_int_equal(count(told, "elements"), elements);
    assert_int_equal(count(told, "dense_parameters"), elements - count(told, "constants") -
                                                          count(told, "shared") - count(told, "left_out") +
                                                          count(told, "padding") + count(told, "added"));
}

static json_t *import(const char *checkpoint_name, const char *model_name) {
    return test_program_json(0, "model", test_in_folder(checkpoint_name), "--heads", "4", "-o",
                             test_in_folder(model_name), "--rank", "4", "--json", NULL);
}

/* Dense again, the model has the parameters of the arrays, and the rows that pad the vocabulary. */
static void dense_parameters(const char *model, uint64_t expected) {
    json_t *cost =
        test_program_json(0, "cost", test_in_folder(model), "--set", "format=dense", "--json", NULL);
    assert_int_equal(count(cost, "parameters"), expected);
    json_decref(cost);
    cost = test_program_json(0, "cost", test_in_folder(model), "--json", NULL);
    assert_true(count(cost, "parameters") < expected);
    json_decref(cost);
}

static void ranks_read_it(const char *model, const char *weights) {
    json_t *ranks = test_program_json(0, "ranks", test_in_folder(model), "--weights", test_in_folder(weights),
                                      "--budget", "params=30000", "--depth", "own", "--json", NULL);
    assert_true(json_array_size(json_object_get(ranks, "layers")) > 8);
    json_decref(ranks);
}

/* Budgets as amounts of memory and shares of the dense model choose as the same number of parameters does; plain low-rank factors
 * are candidates of depth 1. */
static void budgets_in_units(void) {
    const char *model = test_in_folder("bert.yaml"), *weights = test_in_folder("bert.safetensors");
    json_t *dense = test_program_json(0, "cost", model, "--set", "format=dense", "--json", NULL);
    uint64_t all = count(dense, "parameters");
    json_decref(dense);
    char params[64], bytes[64], share[64];
    snprintf(params, sizeof params, "params=%llu", (unsigned long long)(all / 2));
    snprintf(bytes, sizeof bytes, "%.6fkB", 4e-3 * (double)(all / 2));
    snprintf(share, sizeof share, "%.10g %%", 100.0 * (double)(all / 2) / (double)all);
    const char *const same[] = {params, bytes, share};
    json_t *first = NULL;
    for (int i = 0; i < 3; i++) {
        json_t *ranks = test_program_json(0, "ranks", model, "--weights", weights, "--budget", same[i],
                                          "--depth", "1,2", "--cap", "2,4,8,16", "--json", NULL);
        if (first)
            assert_true(json_equal(json_object_get(first, "layers"), json_object_get(ranks, "layers")));
        if (first)
            json_decref(ranks);
        else
            first = ranks;
    }
    json_decref(first);
    test_run run = test_program("ranks", model, "--weights", weights, "--budget", "params=12MB", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "unit of bytes"));
    test_run_free(&run);
    run = test_program("ranks", "--table", test_source("docs/examples/candidates.csv"), "--budget",
                       "params=50%", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "give a number"));
    test_run_free(&run);
}

static void bert(void **state) {
    (void)state;
    uint64_t elements = write_checkpoint(write_bert, "bert.safetensors", false);
    json_t *told = import("bert.safetensors", "bert.yaml");
    assert_string_equal(json_string_value(json_object_get(told, "family")), "bert");
    assert_int_equal(count(told, "layers"), LAYERS);
    assert_int_equal(count(told, "recognised"), json_array_size(json_object_get(told, "tensors")));
    assert_non_null(
        strstr(json_string_value(json_array_get(json_object_get(told, "notes"), 0)), "padded to 120"));
    json_decref(told);
    dense_parameters("bert.yaml", elements + 2 * HIDDEN); /* 118 = 2 x 59 rows become 120 = 4 x 5 x 6 */
    ranks_read_it("bert.yaml", "bert.safetensors");
    budgets_in_units();
}

static void gpt2(void **state) {
    (void)state;
    uint64_t elements = write_checkpoint(write_gpt2_classifier, "gpt2.npz", true);
    json_t *told = import("gpt2.npz", "gpt2.yaml");
    assert_string_equal(json_string_value(json_object_get(told, "family")), "gpt2");
    assert_int_equal(json_array_size(json_object_get(told, "notes")), 0);
    accounts(told, elements);
    json_decref(told);
    dense_parameters("gpt2.yaml", elements);
    ranks_read_it("gpt2.yaml", "gpt2.npz");
}

/* Without a classifier the table is the output projection, whether the checkpoint has it once or twice; or a classifier
 * takes its place. */
static void tied_projection(void **state) {
    (void)state;
    uint64_t elements = write_checkpoint(write_gpt2, "lm.safetensors", false);
    json_t *told = import("lm.safetensors", "lm.yaml");
    accounts(told, elements);
    assert_int_equal(count(told, "dense_parameters"), elements);
    json_decref(told);
    dense_parameters("lm.yaml", elements);
    ranks_read_it("lm.yaml", "lm.safetensors");
    uint64_t twice = write_checkpoint(write_gpt2_state, "state.npz", true);
    told = import("state.npz", "state.yaml");
    accounts(told, twice);
    assert_int_equal(count(told, "shared"), 128 * HIDDEN);
    assert_int_equal(count(told, "constants"), TOKENS * TOKENS);
    assert_int_equal(count(told, "dense_parameters"), elements);
    json_decref(told);
    told = test_program_json(0, "model", test_in_folder("lm.safetensors"), "--heads", "4", "--head",
                             "classifier", "-o", test_in_folder("two.yaml"), "--json", NULL);
    accounts(told, elements);
    assert_int_equal(count(told, "added"), 2 * HIDDEN + 2);
    json_decref(told);
}

static void bert_like(void **state) {
    (void)state;
    static const struct {
        void (*write)(checkpoint *);
        const char *family;
        uint64_t left_out;
    } row[] = {{write_roberta, "bert", HIDDEN * HIDDEN}, {write_distilbert, "distilbert", 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint64_t elements = write_checkpoint(row[i].write, "like.safetensors", false);
        json_t *told = import("like.safetensors", "like.yaml");
        assert_string_equal(json_string_value(json_object_get(told, "family")), row[i].family);
        accounts(told, elements);
        assert_int_equal(count(told, "left_out"), row[i].left_out);
        assert_int_equal(count(told, "added"), 0);
        json_decref(told);
    }
    ranks_read_it("like.yaml", "like.safetensors");
}

static void llama(void **state) {
    (void)state;
    static const struct {
        void (*write)(checkpoint *);
        uint64_t classifier; /* which fine-tuning does not count */
    } row[] = {{write_llama, 0}, {write_llama_classifier, 5 * HIDDEN}, {write_qwen2, 0}, {write_qwen3, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint64_t elements = write_checkpoint(row[i].write, "llama.safetensors", false);
        json_t *told = import("llama.safetensors", "llama.yaml");
        assert_string_equal(json_string_value(json_object_get(told, "kind")), "model");
        accounts(told, elements);
        assert_int_equal(count(told, "left_out"), 0);
        json_decref(told);
        dense_parameters("llama.yaml", elements);
        ranks_read_it("llama.yaml", "llama.safetensors");
        told = test_program_json(0, "finetune", "count", test_in_folder("llama.yaml"), "--sequence", "8",
                                 "--json", NULL);
        assert_int_equal(count(told, "parameters"), elements - row[i].classifier);
        json_decref(told);
    }
}

/* Experts are layers, whose matrices are those of the checkpoint by name; fine-tuning counts the same. */
static void experts(void **state) {
    (void)state;
    uint64_t elements = write_checkpoint(write_mixtral, "mixtral.safetensors", false);
    json_t *told = import("mixtral.safetensors", "mixtral.yaml");
    assert_string_equal(json_string_value(json_object_get(told, "kind")), "model");
    accounts(told, elements);
    assert_int_equal(count(told, "dense_parameters"), elements);
    assert_true(count(told, "parameters") < elements); /* in cores */
    json_decref(told);
    told = test_program_json(0, "ranks", test_in_folder("mixtral.yaml"), "--weights",
                             test_in_folder("mixtral.safetensors"), "--budget", "60 %", "--depth", "own",
                             "--json", NULL);
    size_t found = 0, i;
    const json_t *layer;
    json_array_foreach(json_object_get(told, "layers"), i, layer) {
        const char *name = json_string_value(json_object_get(layer, "layer"));
        found += name && strstr(name, ".experts.expert3-gate") != NULL;
    }
    assert_int_equal(found, LAYERS);
    json_decref(told);
    told = test_program_json(0, "finetune", "count", test_in_folder("mixtral.yaml"), "--sequence", "8",
                             "--json", NULL);
    assert_int_equal(count(told, "parameters"), elements);
    json_decref(told);
}

/* The same model from one file and from two with their index; a part alone is refused. */
static void parts(void **state) {
    (void)state;
    checkpoint c = {.values = calloc(WIDE * 4 * HIDDEN, sizeof(double))};
    write_bert(&c);
    size_t half = c.count / 2;
    assert_int_equal(tn_safetensors_write(test_in_folder("m-00001-of-00002.safetensors"), c.out, half, NULL),
                     TN_OK);
    assert_int_equal(tn_safetensors_write(test_in_folder("m-00002-of-00002.safetensors"), c.out + half,
                                          c.count - half, NULL),
                     TN_OK);
    FILE *index = fopen(test_in_folder("m.safetensors.index.json"), "w");
    assert_non_null(index);
    fputs("{\"metadata\": {\"total_size\": 1}, \"weight_map\": {", index);
    for (size_t i = 0; i < c.count; i++)
        fprintf(index, "%s\"%s\": \"m-0000%d-of-00002.safetensors\"", i ? ", " : "", c.name[i],
                i < half ? 1 : 2);
    fputs("}}", index);
    assert_int_equal(fclose(index), 0);
    free(c.values);
    json_t *told = import("m.safetensors.index.json", "parts.yaml");
    accounts(told, c.elements);
    json_decref(told);
    ranks_read_it("parts.yaml", "m.safetensors.index.json");
    test_run run = test_program("model", test_in_folder("m-00001-of-00002.safetensors"), "-o",
                                test_in_folder("u.yaml"), NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "one of 2 parts"));
    test_run_free(&run);
}

static void write_unknown(checkpoint *c) {
    add(c, "stem.conv.weight", HIDDEN, HIDDEN);
}

static void write_incomplete(checkpoint *c) {
    write_bert(c);
    for (size_t i = 0; i < c->count; i++)
        if (strstr(c->name[i], "layer.1.intermediate.dense.weight")) strcpy(c->name[i], "elsewhere");
}

static void write_t5(checkpoint *c) {
    add(c, "encoder.block.0.layer.0.SelfAttention.q.weight", HIDDEN, HIDDEN);
}

static void write_uneven(checkpoint *c) {
    write_bert(c);
    for (size_t i = 0; i < c->count; i++)
        if (strstr(c->name[i], "layer.1.intermediate.dense.weight")) c->shape[i][0] = HIDDEN;
}

static void write_two(checkpoint *c) {
    write_gpt2(c);
    add(c, "copy.wte.weight", 128, HIDDEN);
}

static void refuse(const char *says, ...) {
    const char *argument[4] = {NULL};
    va_list list;
    va_start(list, says);
    for (int i = 0; i < 3 && (argument[i] = va_arg(list, const char *)); i++) {}
    va_end(list);
    test_run run =
        test_program("model", argument[0], "-o", test_in_folder("u.yaml"), argument[1], argument[2], NULL);
    assert_int_equal(run.status, 2);
    if (!strstr(run.err, says) || strchr(run.err, '\n') != run.err + strlen(run.err) - 1)
        fail_msg("%s", run.err);
    test_run_free(&run);
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void what_is_refused(void **state) {
    (void)state;
    static const struct {
        void (*write)(checkpoint *);
        const char *says;
    } row[] = {{write_unknown, "stem.conv.weight"},
               {write_incomplete, "is not complete"},
               {write_t5, "T5"},
               {write_uneven, "different shapes"},
               {write_two, "checkpoint of one model"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        write_checkpoint(row[i].write, "wrong.safetensors", false);
        refuse(row[i].says, test_in_folder("wrong.safetensors"), NULL);
    }
    const char *good = test_in_folder("bert.safetensors"), *config = test_in_folder("config.json");
    static const struct {
        const char *text, *says;
    } configs[] = {{"{\"hidden_size\": 65}", "another model"},
                   {"{\"num_hidden_layers\": 3}", "another model"},
                   {"{\"hidden_act\": \"mish\"}", "activation \"mish\""},
                   {"{\"hidden_size\": ", "config.json:1:"},
                   {"[]", "not an object"}};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        write_text(config, configs[i].text);
        refuse(configs[i].says, good, "--config", config);
    }
    refuse("--head", good, "--head", "none");
    refuse("positions", good, "--sequence", "17");
    test_run run = test_program("model", good, NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "-o MODEL.yaml"));
    test_run_free(&run);
}

/* ---- a configuration alone ---- */

#define SIZES                                                                                                \
    "\"hidden_size\": 64, \"intermediate_size\": 128, \"num_hidden_layers\": 2, \"num_attention_heads\": "   \
    "4, "
#define GROUPED                                                                                              \
    SIZES "\"num_key_value_heads\": 2, \"vocab_size\": 128, \"num_experts_per_tok\": 2, "                    \
          "\"tie_word_embeddings\": "

static json_t *array_named(const json_t *told, const char *name) {
    size_t i;
    json_t *array;
    json_array_foreach(json_object_get(told, "tensors"), i,
                       array) if (strcmp(json_string_value(json_object_get(array, "name")), name) ==
                                  0) return array;
    return NULL;
}

/* The same arrays of the same shapes in the same layers, but for their type. */
static void same_arrays(const json_t *file, const json_t *alone) {
    size_t i;
    json_t *array;
    json_array_foreach(json_object_get(file, "tensors"), i, array) {
        const char *name = json_string_value(json_object_get(array, "name"));
        const json_t *other = array_named(alone, name);
        if (!other || !json_equal(json_object_get(array, "shape"), json_object_get(other, "shape")) ||
            !json_equal(json_object_get(array, "layer"), json_object_get(other, "layer")))
            fail_msg("%s is not told alike by the configuration", name);
    }
    assert_int_equal(json_array_size(json_object_get(file, "tensors")),
                     json_array_size(json_object_get(alone, "tensors")));
    assert_int_equal(count(file, "dense_parameters"), count(alone, "dense_parameters"));
    assert_int_equal(count(file, "parameters"), count(alone, "parameters"));
}

/* What a configuration says of its checkpoint is what the checkpoint, written by this test, holds; the model files are the same
 * but for the file that they name. */
static void configuration_alone(void **state) {
    (void)state;
    static const struct {
        void (*write)(checkpoint *);
        const char *text;
    } row[] = {
        {write_bert,
         "{\"model_type\": \"bert\", \"architectures\": [\"BertForSequenceClassification\"], " SIZES
         "\"vocab_size\": 118, \"max_position_embeddings\": 16, \"type_vocab_size\": 2, "
         "\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}"},
        {write_gpt2,
         "{\"model_type\": \"gpt2\", \"architectures\": [\"GPT2ForX\"], \"n_embd\": 64, \"n_inner\": "
         "128, \"n_layer\": 2, \"n_head\": 4, \"n_positions\": 16, \"vocab_size\": 128}"},
        {write_gpt2_classifier,
         "{\"model_type\": \"gpt2\", \"architectures\": [\"GPT2ForSequenceClassification\"], \"n_embd\": 64, "
         "\"n_inner\": 128, \"n_layer\": 2, \"n_head\": 4, \"n_positions\": 16, \"vocab_size\": 128}"},
        {write_distilbert,
         "{\"model_type\": \"distilbert\", \"architectures\": [\"DistilBertForTokenClassification\"], "
         "\"dim\": 64, "
         "\"hidden_dim\": 128, \"n_layers\": 2, \"n_heads\": 4, \"max_position_embeddings\": 16, "
         "\"vocab_size\": 118, \"num_labels\": 9}"},
        {write_llama,
         "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], " GROUPED "false}"},
        {write_qwen2,
         "{\"model_type\": \"qwen2\", \"architectures\": [\"Qwen2ForCausalLM\"], " GROUPED "false}"},
        {write_qwen3, "{\"model_type\": \"qwen3\", \"architectures\": [\"Qwen3Model\"], " GROUPED "true}"},
        {write_mixtral, "{\"model_type\": \"mixtral\", \"architectures\": [\"MixtralForCausalLM\"], "
                        "\"num_local_experts\": 3, " GROUPED "false}"},
    };
    char config[512];
    snprintf(config, sizeof config, "%s", test_in_folder("config.json"));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        write_text(config, row[i].text);
        write_checkpoint(row[i].write, "whole.safetensors", false);
        json_t *file = test_program_json(0, "model", test_in_folder("whole.safetensors"), "--config", config,
                                         "-o", test_in_folder("whole.yaml"), "--json", NULL);
        json_t *alone =
            test_program_json(0, "model", config, "-o", test_in_folder("alone.yaml"), "--json", NULL);
        same_arrays(file, alone);
        json_decref(file);
        json_decref(alone);
    }
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"{\"hidden_size\": 64}", "config.json:1:1: no \"model_type\""},
        {"{\"model_type\": \"t5\"}", "config.json:1:16: model_type 't5' is no family"},
        {"{\"model_type\": \"bert\", \"hidden_size\": 64}", "no \"num_hidden_layers\""},
        {"{\"model_type\": \"bert\", \"hidden_size\": -4}", "config.json:1:39: \"hidden_size\" must be"},
        {"{\"model_type\": \"phi3\", " GROUPED "false}", "has not"},
        {"{\"model_type\": ", "config.json:1:"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(config, wrong[i].text);
        refuse(wrong[i].says, config, NULL);
    }
    write_text(config, row[0].text);
    refuse("--from", config, "--from", "x");
}

/* ---- names of no family ---- */

static void replace(char *name, size_t size, const char *was, const char *is) {
    char rest[96];
    char *found = strstr(name, was);
    if (!found) return;
    strcpy(rest, found + strlen(was));
    snprintf(found, size - (size_t)(found - name), "%s%s", is, rest);
}

static const struct {
    const char *was, *is;
} renamed[] = {
    {"bert.embeddings.word_embeddings", "tok"},
    {"bert.embeddings.position_embeddings", "place"},
    {"bert.embeddings.token_type_embeddings", "segment"},
    {"bert.embeddings.LayerNorm", "emb_scale"},
    {"bert.encoder.layer.", "trunk.v2.block_"},
    {"attention.self.query", "mix/wq"},
    {"attention.self.key", "mix/wk"},
    {"attention.self.value", "mix/wv"},
    {"attention.output.dense", "mix/wo"},
    {"attention.output.LayerNorm", "scale_a"},
    {"intermediate.dense", "up"},
    {"output.dense", "down"},
    {"output.LayerNorm", "scale_b"},
    {"bert.pooler.dense", "squash"},
    {"classifier", "verdict"},
};

static void write_odd(checkpoint *c) {
    write_bert(c);
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < sizeof renamed / sizeof *renamed; k++)
            replace(c->name[i], sizeof c->name[i], renamed[k].was, renamed[k].is);
}

/* BERT's arrays under other names: shapes and hints give every one its role, and the model is BERT's. */
static void odd_names(void **state) {
    (void)state;
    write_checkpoint(write_bert, "bert.safetensors", false);
    write_checkpoint(write_odd, "odd.safetensors", false);
    char odd[512], names[512];
    snprintf(odd, sizeof odd, "%s", test_in_folder("odd.safetensors"));
    snprintf(names, sizeof names, "%s", test_in_folder("names.yaml"));
    refuse("--propose NAMES.yaml", odd, NULL);
    test_run run = test_program("model", odd, "--propose", names, NULL);
    assert_int_equal(run.status, 0);
    static const char *const roles[] = {
        "family: bert",
        "embedding: \"tok\"",
        "positions: \"place\"",
        "types: \"segment\"",
        "first-norm: \"emb_scale\"",
        "query: \"trunk.v2.block_{i}.mix/wq\"",
        "key: \"trunk.v2.block_{i}.mix/wk\"",
        "value: \"trunk.v2.block_{i}.mix/wv\"",
        "output: \"trunk.v2.block_{i}.mix/wo\"",
        "attention-norm: \"trunk.v2.block_{i}.scale_a\"",
        "feed-norm: \"trunk.v2.block_{i}.scale_b\"",
        "widen: \"trunk.v2.block_{i}.up\"",
        "narrow: \"trunk.v2.block_{i}.down\"",
        "pooler: \"squash\"",
        "classifier: \"verdict\"",
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (!strstr(run.out, roles[i])) fail_msg("no %s in:\n%s", roles[i], run.out);
    assert_null(strstr(run.out, "no role"));
    test_run_free(&run);
    json_t *usual = import("bert.safetensors", "bert.yaml");
    json_t *told = test_program_json(0, "model", odd, "--map", names, "--heads", "4", "--rank", "4", "-o",
                                     test_in_folder("odd.yaml"), "--json", NULL);
    static const char *const same[] = {"family",   "layers",   "parameters", "dense_parameters",
                                       "elements", "left_out", "padding",    "recognised"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!json_equal(json_object_get(usual, same[i]), json_object_get(told, same[i])))
            fail_msg("%s differs", same[i]);
    json_decref(usual);
    json_decref(told);
    ranks_read_it("odd.yaml", "odd.safetensors");
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"kind: names\nfamily: bird\nnames: {query: x}\n", "names.yaml:2:9: no family 'bird'"},
        {"kind: names\nfamily: bert\nnames: {queries: x}\n", "names.yaml:3:9:"},
        {"kind: names\nfamily: bert\nnames: {query: \"trunk.{i}.x\"}\n", "names no array 'trunk.{i}.x'"},
        {"kind: names\nfamily: bert\nnames: {embedding: tok, query: \"block_{i}.mix/wq\"}\n",
         "no array for its"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(names, wrong[i].text);
        refuse(wrong[i].says, odd, "--map", names);
    }
}

/* The presets against sums over what their publications describe. */
static void presets(void **state) {
    (void)state;
    const uint64_t h = 768, ff = 3072, layer = 4 * (h * h + h) + 2 * h * ff + ff + h + 4 * h;
    assert_int_equal(12 * layer, 85054464);
    const struct {
        const char *name;
        uint64_t parameters;
    } known[] = {
        /* words, positions, types, norm; layers; pooler; two classes */
        {"bert-base", (30522 + 512 + 2 + 2) * h + 12 * layer + h * h + h + 2 * h + 2},
        {"distilbert", (30522 + 512 + 2) * h + 6 * layer + h * h + h + 2 * h + 2},
        /* patches of 16 x 16 x 3, class, positions; layers, norm; 1000 classes */
        {"vit-b", 768 * h + h + h + 197 * h + 12 * layer + 2 * h + 1000 * h + 1000},
        /* words, which are the output projection too, positions; layers, norm */
        {"gpt2", (50257 + 1024) * h + 12 * layer + 2 * h},
    };
    assert_int_equal(known[0].parameters, 109483778);
    assert_int_equal(known[1].parameters, 66955010);
    assert_int_equal(known[2].parameters, 86567656);
    assert_int_equal(known[3].parameters, 124439808);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        json_t *cost = test_program_json(0, "cost", known[i].name, "--set", "format=dense", "--json", NULL);
        if (count(cost, "parameters") != known[i].parameters)
            fail_msg("%s has %llu parameters", known[i].name, (unsigned long long)count(cost, "parameters"));
        json_decref(cost);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bert),
        cmocka_unit_test(gpt2),
        cmocka_unit_test(tied_projection),
        cmocka_unit_test(bert_like),
        cmocka_unit_test(llama),
        cmocka_unit_test(experts),
        cmocka_unit_test(parts),
        cmocka_unit_test(presets),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(configuration_alone),
        cmocka_unit_test(odd_names),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
