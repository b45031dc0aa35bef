#include "support/random_space.h"

#include "base/file.h"
#include "base/random.h"
#include "results/result.h"
#include "search/evaluator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef test_random_space drawing;

static uint32_t below(drawing *picture, uint32_t count) {
    return tn_splitmix_below(&picture->state, count);
}

/* True once in so many times. */
static bool once_in(drawing *picture, uint32_t times) {
    return below(picture, times) == 0;
}

#define PICK(to, ...)                                                                                        \
    (((const char *const[]){__VA_ARGS__})[below(                                                             \
        to, (uint32_t)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))])
#define PICK_NUMBER(to, ...)                                                                                 \
    (((const uint32_t[]){                                                                                    \
        __VA_ARGS__})[below(to, (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))])

/* ---- weights ---- */

enum { SQUARE, WIDE, NARROW, TABLE, WEIGHTS };
static const char *const weight_names[] = {"square", "wide", "narrow", "table"};

static void weight_sizes(const drawing *picture, int weight, uint32_t *rows, uint32_t *columns) {
    *rows = weight == WIDE ? picture->hidden : weight == TABLE ? picture->vocabulary : picture->width;
    *columns = weight == NARROW ? picture->hidden : picture->width;
}

/* `size` as `factors` factors, drawn one prime at a time. */
static void draw_factors(drawing *picture, uint32_t size, uint32_t factors, uint32_t *factor) {
    for (uint32_t i = 0; i < factors; i++) factor[i] = 1;
    for (uint32_t prime = 2; size > 1; prime++)
        for (; size % prime == 0; size /= prime) factor[below(picture, factors)] *= prime;
}

static size_t write_factors(char *text, size_t room, const uint32_t *factor, uint32_t factors) {
    size_t length = 0;
    for (uint32_t i = 0; i < factors; i++)
        length += (size_t)snprintf(text + length, room - length, "%s%u", i ? "x" : "", factor[i]);
    return length;
}

/* "2x6,3x4" */
static void draw_folding(drawing *picture, int weight, uint32_t factors, char *text, size_t room) {
    uint32_t rows, columns, factor[4];
    weight_sizes(picture, weight, &rows, &columns);
    draw_factors(picture, rows, factors, factor);
    size_t length = write_factors(text, room, factor, factors);
    draw_factors(picture, columns, factors, factor);
    text[length++] = ',';
    write_factors(text + length, room - length, factor, factors);
}

static const char *draw_format(drawing *picture) {
    return PICK(picture, "tt", "tt", "tt", "ttm", "ttm", "tr", "tucker", "ht", "cp", "bt", "bt", "dense");
}

/* A rank for all bonds or, of some formats, all ranks. */
static void draw_rank(drawing *picture, const char *format, uint32_t factors, char *text, size_t room) {
    uint32_t count = strcmp(format, "bt") == 0 || strcmp(format, "tt") == 0 || strcmp(format, "tr") == 0
                         ? 2 * factors + 1
                     : strcmp(format, "ttm") == 0 ? factors + 1
                                                  : 0;
    uint32_t rank[12];
    bool listed = count > 0 && once_in(picture, strcmp(format, "bt") == 0 ? 2 : 4);
    for (uint32_t i = 0; i < (listed ? count : 1); i++) rank[i] = 1 + below(picture, 5);
    if (listed && (strcmp(format, "tt") == 0 || strcmp(format, "ttm") == 0)) rank[0] = rank[count - 1] = 1;
    if (listed && strcmp(format, "tr") == 0) rank[count - 1] = rank[0];
    write_factors(text, room, rank, listed ? count : 1);
}

static void add_weight(drawing *picture, int weight) {
    bool trains = weight != TABLE && once_in(picture, 5);
    uint32_t factors = trains ? 1 : PICK_NUMBER(picture, 1, 2, 2, 2, 3);
    char rank[64], *folding = picture->folding[weight][0];
    snprintf(picture->formats[weight], sizeof picture->formats[weight], "%s",
             weight == TABLE ? PICK(picture, "ttm", "ttm", "tt", "bt", "cp", "tucker", "dense")
             : trains        ? PICK(picture, "tt", "cp")
                             : draw_format(picture));
    draw_folding(picture, weight, factors, folding, sizeof picture->folding[weight][0]);
    draw_rank(picture, picture->formats[weight], factors, rank, sizeof rank);
    size_t comma = strcspn(folding, ",");
    tn_buffer_format(&picture->model, "  %s: {format: %s, m: %.*s, n: %s", weight_names[weight],
                     picture->formats[weight], (int)comma, folding, folding + comma + 1);
    if (strcmp(picture->formats[weight], "dense") != 0) tn_buffer_format(&picture->model, ", rank: %s", rank);
    if (once_in(picture, 3))
        tn_buffer_format(&picture->model, ", flow: %s",
                         weight == TABLE ? PICK(picture, "right-to-left", "optimal")
                         : trains        ? PICK(picture, "training-optimal", "training-least-saved")
                                         : PICK(picture, "right-to-left", "optimal", "dense", "cheapest-2"));
    tn_buffer_text(&picture->model, "}\n");
    picture->trains[weight] = trains;
    picture->has_weight[weight] = true;
}

/* ---- layers ---- */

typedef struct {
    drawing *picture;
    const char *indent, *last; /* what the next layer takes */
} stack;

static void layer(stack *this_stack, const char *name, const char *kind, const char *rest) {
    tn_buffer_format(&this_stack->picture->model, "%s- {name: %s, kind: %s, input: %s%s}\n",
                     this_stack->indent, name, kind, this_stack->last, rest);
    this_stack->last = name;
}

/* A linear layer; `weight` below 0: dense. `which`: of those that may vary on their own, below 0: none. */
static void linear(stack *this_stack, const char *name, const char *input, uint32_t outputs, int weight,
                   int which) {
    drawing *picture = this_stack->picture;
    bool named = weight >= 0 && picture->has_weight[weight] && !once_in(picture, 4);
    tn_buffer_format(&picture->model, "%s- {name: %s, kind: linear, input: %s, outputs: %u",
                     this_stack->indent, name, input, outputs);
    if (named) tn_buffer_format(&picture->model, ", weight: %s", weight_names[weight]);
    if (once_in(picture, 4)) tn_buffer_text(&picture->model, ", bias: false");
    tn_buffer_text(&picture->model, "}\n");
    if (which >= 0) picture->has_layer[which] = named && this_stack->indent[2] == '\0';
    this_stack->last = name;
}

static void add_norm(stack *this_stack, const char *name) {
    layer(this_stack, name, PICK(this_stack->picture, "layer-norm", "layer-norm", "rms-norm"), "");
}

static void add_attention(stack *this_stack) {
    drawing *picture = this_stack->picture;
    const char *entry = this_stack->last;
    uint32_t heads = picture->width % 4 == 0 ? PICK_NUMBER(picture, 1, 2, 4) : PICK_NUMBER(picture, 1, 2),
             shared = once_in(picture, 4) ? 1 : heads, kv_width = picture->width / heads * shared;
    char rest[128];
    linear(this_stack, "query", entry, picture->width, SQUARE, 0);
    linear(this_stack, "key", entry, kv_width, kv_width == picture->width ? SQUARE : -1, 1);
    linear(this_stack, "value", entry, kv_width, kv_width == picture->width ? SQUARE : -1, 2);
    const char *query = "query";
    if (picture->width / heads % 2 == 0 && once_in(picture, 5)) {
        this_stack->last = query;
        snprintf(rest, sizeof rest, ", heads: %u", heads);
        layer(this_stack, "turned", "rotary", rest);
        query = "turned";
    }
    tn_buffer_format(
        &picture->model,
        "%s- {name: attention, kind: attention, heads: %u, kv_heads: %u, causal: %s, input: [%s, "
        "key, value]}\n",
        this_stack->indent, heads, shared, once_in(picture, 3) ? "true" : "false", query);
    this_stack->last = "attention";
    if (once_in(picture, 3)) linear(this_stack, "output", "attention", picture->width, SQUARE, -1);
    if (once_in(picture, 2)) {
        tn_buffer_format(&picture->model, "%s- {name: sum, kind: residual, input: [%s, %s]}\n",
                         this_stack->indent, entry, this_stack->last);
        this_stack->last = "sum";
    }
    if (once_in(picture, 2)) add_norm(this_stack, "norm");
}

/* In place of a feed-forward. */
static void add_experts(stack *this_stack) {
    drawing *picture = this_stack->picture;
    const uint32_t experts = 2 + below(picture, 2);
    char rest[256];
    snprintf(rest, sizeof rest, ", experts: %u, top: %u, hidden: %u%s%s%s%s%s", experts,
             1 + below(picture, experts), picture->hidden,
             PICK(picture, "", ", capacity: 1", ", capacity: 1.5"), PICK(picture, "", "", ", balance: 0.1"),
             PICK(picture, "", ", gated: true", ", bias: false"),
             picture->has_weight[WIDE] && !once_in(picture, 4) ? ", up: wide" : "",
             picture->has_weight[NARROW] && !once_in(picture, 4) ? ", down: narrow" : "");
    layer(this_stack, "down", "moe", rest);
}

static void add_feed_forward(stack *this_stack) {
    drawing *picture = this_stack->picture;
    const char *entry = this_stack->last;
    if (once_in(picture, 6)) {
        add_experts(this_stack);
        return;
    }
    linear(this_stack, "up", entry, picture->hidden, WIDE, 3);
    layer(this_stack, "bend", PICK(picture, "gelu", "relu", "silu", "tanh"), "");
    if (once_in(picture, 4)) {
        linear(this_stack, "gate", entry, picture->hidden, WIDE, -1);
        tn_buffer_format(&picture->model, "%s- {name: gated, kind: multiply, input: [bend, gate]}\n",
                         this_stack->indent);
        this_stack->last = "gated";
    }
    linear(this_stack, "down", this_stack->last, picture->width, NARROW, -1);
    if (once_in(picture, 2)) {
        tn_buffer_format(&picture->model, "%s- {name: added, kind: residual, input: [%s, down]}\n",
                         this_stack->indent, entry);
        this_stack->last = "added";
    }
    if (once_in(picture, 3)) add_norm(this_stack, "last-norm");
}

static void add_layers(drawing *picture, bool block, bool attention, bool feed_forward) {
    stack this_stack = {picture, "  ", "embedding"};
    tn_buffer_text(&picture->model, "layers:\n");
    if (once_in(picture, 6))
        tn_buffer_format(&picture->model, "  - {name: embedding, kind: input, width: %u}\n", picture->width);
    else
        tn_buffer_format(
            &picture->model, "  - {name: embedding, kind: embedding, vocabulary: %u, width: %u%s}\n",
            picture->vocabulary, picture->width, picture->has_weight[TABLE] ? ", weight: table" : "");
    if (once_in(picture, 2)) layer(&this_stack, "positions", "positions", "");
    if (once_in(picture, 4)) add_norm(&this_stack, "first-norm");
    if (block) {
        tn_buffer_format(&picture->model,
                         "  - name: encoder\n    kind: block\n    repeat: %u\n    input: %s\n    layers:\n",
                         1 + below(picture, 2), this_stack.last);
        this_stack.indent = "      ";
        this_stack.last = "entry";
    }
    if (attention) add_attention(&this_stack);
    if (once_in(picture, 12))
        layer(&this_stack, "mixer", "mamba",
              PICK(picture, ", state: 2, taps: 2, step_rank: 1", ", state: 5, taps: 3"));
    if (feed_forward) add_feed_forward(&this_stack);
    if (block) this_stack = (stack){picture, "  ", "encoder"};
    if (once_in(picture, 5)) {
        layer(&this_stack, "first", "first-token", "");
    } else if (once_in(picture, 5)) {
        linear(&this_stack, "other-head", this_stack.last, 3, -1, -1);
        layer(&this_stack, "other-loss", "cross-entropy", "");
        this_stack.last = block ? "encoder" : feed_forward ? "down" : attention ? "attention" : "embedding";
    }
    if (!picture->has_weight[TABLE] && once_in(picture, 6))
        tn_buffer_format(&picture->model,
                         "  - {name: head, kind: linear, input: %s, outputs: %u, tied: embedding}\n",
                         this_stack.last, picture->vocabulary);
    else
        linear(&this_stack, "head", this_stack.last, 2 + below(picture, 6), -1, -1);
    this_stack.last = "head";
    layer(&this_stack, "loss", "cross-entropy", "");
}

/* ---- what training and arithmetic are like ---- */

typedef struct {
    const char *key, *value[4]; /* the first is the default */
} key_values;

/* Keys of the model that a file or a choice may have. */
static const key_values model_keys[] = {
    {"batch", {"1", "2", "3", "4"}},
    {"sequence", {"2", "3", "5", "8"}},
    {"optimizer", {"sgd", "momentum", "adam", NULL}},
    {"format", {"as-given", "dense", NULL, NULL}},
    {"flow", {"bidirectional", "right-to-left", "optimal", NULL}},
    {"precision", {"fp32", "bf16", "fp16", NULL}},
    {"update.when", {"end", "write-back", NULL, NULL}},
    {"activations.policy", {"keep", "recompute", "recompute-layers", "reversible"}},
    {"activations.segments", {"0", "2", "3", NULL}},
    {"phase", {"training", "inference", NULL, NULL}},
    {"precision.products", {"fp32", "int8", "bf16", "bfp16,8,4"}},
    {"precision.activations", {"fp32", "int16", "fixed12,4", NULL}},
    {"frozen", {"[]", "[embedding]", "[\"*head\"]", "[\"*.bias\", embedding]"}},
    {"train", {"[\"*\"]", "[\"*head\"]", "[\"*.bias\"]", "[\"*head\", \"*query\"]"}},
    {"ratio", {"[1]", "[0.5]", "[0.25]", NULL}},
    {"sparsity.weights", {"1", "0.5", "0.3", NULL}},
    {"sparsity.balance", {"none", "pairs", NULL, NULL}},
    {"sparsity.activations", {"0", "0.5", "0.7", NULL}},
    {"sparsity.gradients", {"0", "0.4", NULL, NULL}},
    {"predicted_gradients.per", {"0", "1", "4", NULL}},
    {"memory.kind", {"sram", "edram", NULL, NULL}},
    {"memory.retention_us", {"3.35", "0.1", "10", NULL}},
    {"pruning.tokens", {"1", "0.5", NULL, NULL}},
    {"pruning.heads", {"1", "0.5", NULL, NULL}},
    {"exit", {"[1]", "[0.5, 0.5]", "[0.25, 0.75]", NULL}},
    {"outliers", {"0", "4", NULL, NULL}},
    {"dvfs.deadline_us", {"0", "10", "100", NULL}},
    {"flat_gemm.block", {"0", "2", "4", NULL}},
    {"examples", {"1", "7", "100", NULL}},
};
enum { MODEL_KEYS = sizeof model_keys / sizeof *model_keys };

static uint32_t values_of(const key_values *values) {
    uint32_t count = 0;
    while (count < 4 && values->value[count]) count++;
    return count;
}

static void add_model_keys(drawing *picture) {
    /* Keys that are spoken of often, drawn often. */
    static const char *const often[] = {"optimizer", "precision.products", "frozen", "update.when",
                                        "activations.policy"};
    char set[MODEL_KEYS][80];
    size_t sets = 0;
    for (uint32_t count = below(picture, 4); count > 0; count--) {
        const key_values *values = &model_keys[2 + below(picture, MODEL_KEYS - 2)];
        if (once_in(picture, 2)) {
            const char *name = often[below(picture, 5)];
            for (int i = 0; i < MODEL_KEYS; i++)
                if (strcmp(model_keys[i].key, name) == 0) values = &model_keys[i];
        }
        bool again = false;
        for (size_t i = 0; i < sets; i++) again |= strncmp(set[i], values->key, strlen(values->key)) == 0;
        if (again) continue;
        snprintf(set[sets++], sizeof set[0], "%s=%s", values->key,
                 values->value[below(picture, values_of(values))]);
    }
    if (once_in(picture, 15)) {
        snprintf(set[sets++], sizeof set[0], "precision.products=bfp16,8,4");
        snprintf(set[sets++], sizeof set[0], "precision_schedule={narrow: \"bfp16,8,2\", steps: 0.%u}",
                 1 + below(picture, 9));
    }
    /* Base values of the space: keys of the model file by their dotted paths, whatever it says. */
    for (size_t i = 0; i < sets; i++) tn_buffer_format(&picture->head, ", '%s'", set[i]);
}

static void draw_model(drawing *picture) {
    picture->width = PICK_NUMBER(picture, 6, 8, 12, 12, 16, 24);
    picture->hidden = PICK_NUMBER(picture, 8, 12, 18, 24);
    picture->vocabulary = PICK_NUMBER(picture, 8, 12, 16, 30);
    picture->batch = 1 + below(picture, 3);
    picture->sequence = 1 + below(picture, 8);
    bool attention = !once_in(picture, 3), feed_forward = !attention || once_in(picture, 3),
         block = once_in(picture, 4);
    tn_buffer_format(&picture->model, "kind: model\nname: drawn\nbatch: %u\nsequence: %u\nweights:\n",
                     picture->batch, picture->sequence);
    add_weight(picture, SQUARE);
    if (feed_forward) add_weight(picture, WIDE);
    if (feed_forward && once_in(picture, 2)) add_weight(picture, NARROW);
    if (once_in(picture, 2)) add_weight(picture, TABLE);
    add_layers(picture, block, attention, feed_forward);
}

/* ---- choices ---- */

static bool has_choice(const drawing *picture, const char *key) {
    for (size_t i = 0; i < picture->choices; i++)
        if (strcmp(picture->choice[i].key, key) == 0) return true;
    return false;
}

static test_choice *begin_choice(drawing *picture, const char *key) {
    if (picture->choices == TEST_CHOICES_MOST || has_choice(picture, key)) return NULL;
    test_choice *made = &picture->choice[picture->choices];
    *made = (test_choice){0};
    snprintf(made->key, sizeof made->key, "%s", key);
    return made;
}

static void add_value(test_choice *choice, const char *value) {
    for (size_t i = 0; i < choice->count; i++)
        if (strcmp(choice->value[i], value) == 0) return;
    char *text = choice->value[choice->count++];
    memccpy(text, value, '\0', sizeof choice->value[0]);
    text[sizeof choice->value[0] - 1] = '\0';
}

/* Takes the choice in; how many designs there are with it, of `designs` without. */
static uint64_t end_choice(drawing *picture, test_choice *choice, uint64_t designs) {
    if (!choice || choice->count < 1) return designs;
    picture->choices++;
    return designs * choice->count;
}

/* 2 to `most` of the values, in a drawn order. */
static void add_some(drawing *picture, test_choice *choice, const char *const *value, uint32_t values,
                     uint32_t most) {
    uint32_t count = 2 + below(picture, most - 1);
    for (uint32_t tries = 0; choice && tries < 4 * count && choice->count < count; tries++)
        add_value(choice, value[below(picture, values)]);
}

static const struct {
    const char *key, *value[12];
} build_keys[] = {
    {"rows", {"1", "2", "3", "4", "5", "6", "8", "16"}},
    {"columns", {"1", "2", "3", "4", "5", "6", "8", "16"}},
    {"reduction", {"1", "2", "3", "4", "6", "8"}},
    {"vector", {"1", "2", "3", "4", "6", "8", "16"}},
    {"array", {"lanes", "systolic"}},
    {"lane_dsp", {"0", "3", "6", "12", "24"}},
    {"lane_lut", {"0", "300", "700", "1400"}},
    {"vector_units", {"auto", "own", "shared"}},
    {"fusion", {"none", "additions", "write-back"}},
    {"kernels", {"1", "2", "3", "5"}},
    {"sharing", {"shared", "per-phase"}},
    {"core_memory", {"auto", "block", "ultra", "distributed"}},
    {"activation_memory", {"auto", "block", "ultra", "distributed"}},
    {"split", {"partition", "reshape", "banks", "auto"}},
    {"skew", {"tokens", "features"}},
    {"group", {"1", "2", "3", "8"}},
    {"layouts", {"searched", "ideal"}},
    {"buffers", {"separate", "pooled"}},
    {"read_ports", {"1", "2", "3"}},
    {"off_chip_over_bytes", {"0", "50", "100", "200", "400", "1000"}},
    {"off_chip_tile_bytes", {"0", "16", "64", "256", "1000001"}},
    {"placement", {"as-built", "searched"}},
    {"blocks", {"1", "2", "3", "4", "7"}},
    {"schedule", {"sequential", "sequential", "gradients-together", "parallel", "pipelined"}},
};
enum { BUILD_KEYS = sizeof build_keys / sizeof *build_keys };

static uint32_t build_values(size_t key) {
    uint32_t count = 0;
    while (count < 12 && build_keys[key].value[count]) count++;
    return count;
}

/* Keys that a decomposition refuses to have otherwise. */
static bool is_fixed(const drawing *picture, const char *key) {
    static const char *const fixed[] = {"schedule", "buffers", "placement", "layouts", "fusion"};
    for (size_t i = 0; picture->decomposes && i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(key, fixed[i]) == 0) return true;
    return false;
}

static uint64_t add_build_choice(drawing *picture, uint64_t designs) {
    size_t key = once_in(picture, 3) ? below(picture, 4) : below(picture, BUILD_KEYS);
    char name[64];
    if (is_fixed(picture, build_keys[key].key)) return designs;
    if (strcmp(build_keys[key].key, "off_chip_tile_bytes") == 0 &&
        !has_choice(picture, "build.off_chip_over_bytes"))
        return designs;
    snprintf(name, sizeof name, "build.%s", build_keys[key].key);
    test_choice *choice = begin_choice(picture, name);
    if (choice && key < 4 && once_in(picture, 5)) {
        uint32_t most = 3 + below(picture, 6);
        choice->range = true;
        choice->count = 1;
        snprintf(choice->value[0], sizeof choice->value[0], "{from: 1, to: %u}", most);
        picture->choices++;
        return designs * most;
    }
    add_some(picture, choice, build_keys[key].value, build_values(key), 4);
    return end_choice(picture, choice, designs);
}

static uint64_t add_weight_choice(drawing *picture, uint64_t designs) {
    static const char *const ranks[] = {"1", "2", "3", "4", "5", "6", "8"},
                             *const formats[] = {"tt", "ttm", "tr", "tucker", "ht", "cp", "bt", "dense"},
                             *const flows[] = {"right-to-left",
                                               "optimal",
                                               "dense",
                                               "bidirectional",
                                               "bidirectional-published",
                                               "cheapest-2",
                                               "training-optimal",
                                               "training-least-peak",
                                               "training-front-2"},
                             *const look_ups[] = {"right-to-left", "optimal"},
                             *const layers[] = {"query", "key", "value", "up"};
    static const int weight_of[] = {SQUARE, SQUARE, SQUARE, WIDE};
    int layer = (int)below(picture, 4), weight = (int)below(picture, WEIGHTS);
    bool own = once_in(picture, 4) && picture->has_layer[layer];
    char key[64];
    if (own) weight = weight_of[layer];
    if (!picture->has_weight[weight]) return designs;
    uint32_t what = below(picture, 5);
    snprintf(key, sizeof key, "%s.%s.%s", own ? "layers" : "weights",
             own ? layers[layer] : weight_names[weight],
             what <= 1   ? "rank"
             : what == 2 ? "folding"
             : what == 3 ? "format"
                         : "flow");
    if (picture->trains[weight] && (what == 2 || what == 3)) return designs;
    test_choice *choice = begin_choice(picture, key);
    if (!choice) return designs;
    if (what <= 1) add_some(picture, choice, ranks, 7, 4);
    if (what == 2) {
        uint32_t count = 2 + below(picture, 2);
        add_value(choice, picture->folding[weight][0]);
        for (uint32_t tries = 0; tries < 8 && choice->count < count; tries++) {
            char folding[64];
            draw_folding(picture, weight, PICK_NUMBER(picture, 1, 2, 2, 3), folding, sizeof folding);
            add_value(choice, folding);
        }
    }
    if (what == 3) {
        add_some(picture, choice, formats, 8, 3);
        if (once_in(picture, 2)) add_value(choice, "bt");
    }
    if (what == 4 && weight == TABLE) add_some(picture, choice, look_ups, 2, 2);
    if (what == 4 && weight != TABLE)
        add_some(picture, choice, flows, picture->trains[weight] ? 9 : once_in(picture, 3) ? 6 : 3, 3);
    return end_choice(picture, choice, designs);
}

static uint64_t add_model_choice(drawing *picture, uint64_t designs) {
    const key_values *values = &model_keys[below(picture, MODEL_KEYS)];
    test_choice *choice = begin_choice(picture, values->key);
    if (choice) add_some(picture, choice, values->value, values_of(values), 3);
    return end_choice(picture, choice, designs);
}

static const char *draw_device(drawing *picture) {
    return PICK(picture, "zcu104", "zcu104", "u50", "u50@user-area", "u280", "u55c", "vck190", "zcu102",
                "kv260", "pynq-z2");
}

/* `picture->tied`: two layers' ranks that are always the same. */
static uint64_t add_tied(drawing *picture, uint64_t designs) {
    if (!picture->has_layer[0] || !picture->has_layer[1] || has_choice(picture, "layers.query.rank"))
        return designs;
    if (has_choice(picture, "layers.key.rank") || picture->choices + 2 > TEST_CHOICES_MOST) return designs;
    for (int i = 0; i < 2; i++) {
        test_choice *choice = begin_choice(picture, i ? "layers.key.rank" : "layers.query.rank");
        add_value(choice, "2");
        add_value(choice, "3");
        picture->choices++;
    }
    picture->tied = true;
    return 2 * designs;
}

static void draw_choices(drawing *picture) {
    uint64_t designs = 1;
    bool other_device = !picture->decomposes && once_in(picture, 12);
    if (other_device) {
        test_choice *choice = begin_choice(picture, "device");
        add_value(choice, draw_device(picture));
        add_value(choice, draw_device(picture));
        designs = end_choice(picture, choice, designs);
    } else {
        tn_buffer_format(&picture->head, "device: %s\n", draw_device(picture));
    }
    if (!picture->decomposes && once_in(picture, 20)) {
        test_choice *choice = begin_choice(picture, "model");
        add_value(choice, "model.yaml");
        add_value(choice, "other.yaml");
        designs = end_choice(picture, choice, designs);
        char *sequence = strstr(picture->model.data, "sequence: ");
        tn_buffer_format(&picture->other_model, "%.*ssequence: %u%s", (int)(sequence - picture->model.data),
                         picture->model.data, picture->sequence + 2, strchr(sequence, '\n'));
    } else {
        tn_buffer_text(&picture->head, "model: model.yaml\n");
    }
    if (once_in(picture, 25)) designs = add_tied(picture, designs);
    if (picture->decomposes) /* no decomposition without a choice of a weight */
        for (int i = 0; i < 6; i++)
            designs = designs < picture->most ? add_weight_choice(picture, designs) : designs;
    /* What priced wrongly before: kernels beside fusion, off-chip tiles. */
    for (int tries = 0; tries < 60 && designs < picture->most && picture->choices < TEST_CHOICES_MOST - 2;
         tries++) {
        uint32_t what = below(picture, 10);
        designs = what < 6   ? add_build_choice(picture, designs)
                  : what < 9 ? add_weight_choice(picture, designs)
                             : add_model_choice(picture, designs);
    }
    for (size_t i = picture->choices; i > 1; i--) { /* in any order */
        size_t other = below(picture, (uint32_t)i);
        test_choice kept = picture->choice[i - 1];
        picture->choice[i - 1] = picture->choice[other];
        picture->choice[other] = kept;
    }
}

/* What no choice varies. */
static void set_build(drawing *picture) {
    if (picture->decomposes)
        tn_buffer_text(&picture->head,
                       ", build.layouts=ideal, build.buffers=separate, build.placement=as-built");
    for (size_t i = 0; i < BUILD_KEYS; i++) {
        char name[64];
        snprintf(name, sizeof name, "build.%s", build_keys[i].key);
        if (has_choice(picture, name) || is_fixed(picture, build_keys[i].key) || !once_in(picture, 5))
            continue;
        if (strcmp(build_keys[i].key, "array") == 0) continue; /* it asks for reduction: 1 */
        tn_buffer_format(&picture->head, ", %s=%s", name,
                         build_keys[i].value[below(picture, build_values(i))]);
    }
}

/* ---- settled keys ---- */

static void draw_settled(drawing *picture) {
    static const char *const keys[] = {"build.group",        "build.split",
                                       "build.core_memory",  "build.activation_memory",
                                       "build.placement",    "build.read_ports",
                                       "build.buffers",      "build.fusion",
                                       "build.kernels",      "build.sharing",
                                       "build.schedule",     "update.when",
                                       "activations.policy", "flow"};
    enum { KEYS = sizeof keys / sizeof *keys };
    uint32_t used = 0, count = 1 + below(picture, 3);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t next = below(picture, KEYS);
        const bool said = has_choice(picture, keys[next]) || strstr(picture->head.data, keys[next]);
        if (said || used >> next & 1) continue;
        tn_buffer_format(&picture->head, "%s%s", used ? ", " : "settle: [", keys[next]);
        used |= 1u << next;
    }
    if (used) tn_buffer_text(&picture->head, "]\n");
}

/* ---- the rest of the space ---- */

static void add_objectives(drawing *picture) {
    static const char *const all[] = {"cycles_per_step", "seconds_per_step", "on_chip_bytes", "bram18", "dsp",
                                      "degrees_of_freedom", "parameters", "macs_per_step", "uram",
                                      "off_chip_bytes", "off_chip_bytes_per_step", "seconds_per_epoch",
                                      /* not of a decomposition: */
                                      "lut", "ff", "joules_per_step", "dynamic_joules_per_step",
                                      "static_joules_per_step", "peak_elements", "watts"};
    enum { ALL = sizeof all / sizeof *all, DECOMPOSED = 12 };
    if (!picture->decomposes && once_in(picture, 6)) return;
    uint32_t count = 1 + below(picture, 4), used = 0, most = picture->decomposes ? DECOMPOSED : ALL;
    tn_buffer_text(&picture->head, "objectives: [");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = below(picture, most);
        if (next == ALL - 1 && !once_in(picture, 4)) next = 0; /* nothing bounds it */
        if (used >> next & 1) continue;
        tn_buffer_format(&picture->head, "%s%s", used ? ", " : "", all[next]);
        used |= 1u << next;
    }
    tn_buffer_text(&picture->head, "]\n");
}

static void write_choice(tn_buffer *out, const test_choice *choice, bool backwards) {
    tn_buffer_format(out, "  %s: ", choice->key);
    if (choice->range) {
        tn_buffer_format(out, "%s\n", choice->value[0]);
        return;
    }
    for (size_t i = 0; i < choice->count; i++)
        tn_buffer_format(out, "%s'%s'", i ? ", " : "[", choice->value[backwards ? choice->count - 1 - i : i]);
    tn_buffer_text(out, "]\n");
}

static void write_file(const char *folder, const char *name, const char *data, size_t length) {
    char path[320];
    tn_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (tn_file_write(path, data, length, &error) != TN_OK) fail_msg("%s: %s", path, error.message);
}

static bool load(const drawing *picture, const char *folder, const char *name, bool backwards,
                 tn_arena *arena, tn_space *space, tn_error *error) {
    char path[320];
    tn_buffer text = {0};
    tn_buffer_format(&text, "kind: space\nname: drawn\nhypervolume_samples: 1024\n%s", picture->head.data);
    if (picture->constraints.length) tn_buffer_format(&text, "%s", picture->constraints.data);
    if (picture->error_table.length) tn_buffer_text(&text, "error_table: errors.csv\n");
    if (picture->accuracy_table.length) tn_buffer_text(&text, "accuracy_table: accuracy.csv\n");
    if (picture->tied) tn_buffer_text(&text, "tied: [[layers.query.rank, layers.key.rank]]\n");
    tn_buffer_text(&text, "choices:\n");
    for (size_t i = 0; i < picture->choices; i++)
        write_choice(&text, &picture->choice[backwards ? picture->choices - 1 - i : i], backwards);
    write_file(folder, name, text.data, text.length);
    tn_buffer_free(&text);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *error = (tn_error){0};
    return tn_space_load(path, NULL, 0, NULL, arena, space, error) == TN_OK;
}

/* Puts a quantity before the space's objectives, if it names any. */
static void add_objective(drawing *picture, const char *quantity) {
    static const char begin[] = "objectives: [";
    const char *at = picture->head.data ? strstr(picture->head.data, begin) : NULL;
    if (!at) return;
    tn_buffer head = {0};
    const int before = (int)(at + strlen(begin) - picture->head.data);
    tn_buffer_format(&head, "%.*s%s, %s", before, picture->head.data, quantity, picture->head.data + before);
    tn_buffer_free(&picture->head);
    picture->head = head;
}

/* Accuracies or perplexities of most combinations of the choices that they depend on. */
static void add_accuracy_table(drawing *picture, const tn_space *space) {
    size_t axis[TEST_CHOICES_MOST], axes = 0;
    uint64_t rows = 1;
    for (size_t i = 0; i < space->choices.count && axes < TEST_CHOICES_MOST; i++)
        if (tn_accuracy_depends_on(&space->choices.axis[i])) {
            axis[axes++] = i;
            rows *= space->choices.axis[i].count;
        }
    if (axes == 0 || rows > 200 || space->models > 1) return;
    for (size_t i = 0; i < axes; i++)
        tn_buffer_format(&picture->accuracy_table, "%s,",
                         tn_accuracy_column_name(space->choices.axis, space->choices.count, axis[i]));
    const char *quantity = once_in(picture, 3) ? "perplexity" : "accuracy";
    const double least = once_in(picture, 2) ? 0.9 : 0.5;
    if (once_in(picture, 2)) add_objective(picture, quantity);
    tn_buffer_format(&picture->accuracy_table, "%s\n", quantity);
    for (uint64_t row = 0; row < rows; row++) {
        uint64_t rest = row;
        if (once_in(picture, 5)) continue;
        for (size_t i = 0; i < axes; i++) {
            const tn_axis *this_axis = &space->choices.axis[axis[i]];
            tn_buffer value = {0};
            tn_axis_value(this_axis, (size_t)(rest % this_axis->count), &value);
            tn_buffer_format(&picture->accuracy_table, "\"%s\",", value.data);
            tn_buffer_free(&value);
            rest /= this_axis->count;
        }
        const double accuracy = least + (0.95 - least) * 0.01 * below(picture, 100);
        tn_buffer_format(&picture->accuracy_table, "%.3f\n",
                         strcmp(quantity, "accuracy") == 0 ? accuracy : 10 - 9 * accuracy);
    }
}

/* Rows of weight `square` for every rank and folding that choices give it. */
static void add_error_table(drawing *picture, const tn_space *space) {
    static const uint64_t ranks[] = {1, 2, 3, 4, 5, 6, 8};
    const test_choice *folding = NULL;
    tn_weight own = tn_model_weight_find(space->model, "square")->weight;
    uint64_t greatest = 1;
    for (size_t i = 0; i < picture->choices; i++) {
        if (strncmp(picture->choice[i].key, "layers.", 7) == 0) return;
        if (strcmp(picture->choice[i].key, "weights.square.folding") == 0) folding = &picture->choice[i];
        if (strcmp(picture->choice[i].key, "weights.square.format") == 0) return; /* dense has no rank */
    }
    if (own.format == TN_DENSE) return;
    for (uint32_t i = 0; i < own.rank_count; i++) greatest = own.rank[i] > greatest ? own.rank[i] : greatest;
    tn_buffer_text(&picture->error_table, "weight,rows,columns,rank,relative_error,norm\n");
    for (size_t f = 0; f < (folding ? folding->count : 1); f++) {
        const char *text = folding ? folding->value[f] : picture->folding[SQUARE][0];
        size_t comma = strcspn(text, ",");
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
            tn_buffer_format(&picture->error_table, "square,%.*s,%s,%llu,%.3f,2.5\n", (int)comma, text,
                             text + comma + 1, (unsigned long long)ranks[r],
                             0.9 / (double)(1 + r) + 0.001 * below(picture, 20));
        if (greatest == 7 || greatest > 8)
            tn_buffer_format(&picture->error_table, "square,%.*s,%s,%llu,%.3f,2.5\n", (int)comma, text,
                             text + comma + 1, (unsigned long long)greatest, 0.1);
    }
}

/* Bounds at prices of drawn designs, or near them; false: no drawn design has a price. */
static bool draw_constraints(drawing *picture, const tn_space *space) {
    enum { PILOTS = 5 };
    static const char *const bounded[] = {
        "cycles_per_step", "seconds_per_step", "lut",           "ff",    "dsp",  "bram18",
        "on_chip_bytes",   "joules_per_step",  "peak_elements", "watts", "uram", "dynamic_joules_per_step",
        "parameters",      "off_chip_bytes",   "macs_per_step"};
    tn_evaluation pilot[PILOTS];
    uint32_t pilots = 0, fit = 0;
    for (int i = 0; i < PILOTS; i++) {
        tn_evaluator *evaluator;
        uint64_t outer, inner;
        uint32_t cause;
        tn_error error = {0};
        uint64_t id = tn_splitmix_next(&picture->state) % space->choices.designs;
        tn_space_split(space, id, &outer, &inner);
        assert_int_equal(tn_evaluator_new(space, &evaluator, NULL), TN_OK);
        if (tn_evaluate(evaluator, outer, inner, &pilot[pilots], &cause, &error) == TN_OK) {
            bool priced =
                cause != TN_CAUSE_UNDEFINED && cause != TN_CAUSE_OVERFLOW && cause != TN_CAUSE_LIMIT;
            fit += cause == TN_CAUSE_NONE;
            pilots += priced;
        }
        tn_evaluator_free(evaluator);
    }
    if (fit == 0) return false;
    uint32_t count = PICK_NUMBER(picture, 0, 0, 1, 1, 1, 2);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = bounded[below(picture, sizeof bounded / sizeof *bounded)];
        const tn_quantity *quantity;
        assert_int_equal(tn_quantity_find(name, (tn_position){0}, &quantity, NULL), TN_OK);
        double value = quantity->get(&pilot[below(picture, pilots)]);
        const test_choice *choice =
            picture->choices ? &picture->choice[below(picture, (uint32_t)picture->choices)] : NULL;
        if (once_in(picture, 3)) value = quantity->whole ? value + 1 : value * 1.01;
        tn_buffer_text(&picture->constraints, i ? ", " : "constraints: [");
        if (once_in(picture, 8))
            tn_buffer_format(&picture->constraints, "'%s <= %.17g or dsp <= %llu'", name, value,
                             (unsigned long long)pilot[0].price.used.dsp);
        else if (once_in(picture, 6))
            tn_buffer_format(&picture->constraints, "'%s >= %.17g'", name, value);
        else if (once_in(picture, 6) && choice && strncmp(choice->key, "build.", 6) == 0 && !choice->range)
            tn_buffer_format(&picture->constraints, "'%s %s %s'", choice->key, PICK(picture, "=", "!="),
                             choice->value[0]);
        else
            tn_buffer_format(&picture->constraints, "'%s <= %.17g'", name, value);
    }
    if (count) tn_buffer_text(&picture->constraints, "]\n");
    if (once_in(picture, 6)) { /* a cap near what a design takes, LUTs and flip-flops among them */
        const tn_resources *used = &pilot[below(picture, pilots)].price.used;
        uint32_t which = below(picture, TN_RESOURCES);
        uint64_t amount = tn_resource_amount(used, (tn_resource)which);
        tn_buffer_format(&picture->constraints, "caps: {%s: %llu}\n", tn_resource_names[which],
                         (unsigned long long)amount);
    }
    return true;
}

void test_random_space_free(test_random_space *drawn) {
    tn_buffer *const buffers[] = {&drawn->model,         &drawn->other_model, &drawn->head,
                                  &drawn->tail,          &drawn->constraints, &drawn->error_table,
                                  &drawn->accuracy_table};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) tn_buffer_free(buffers[i]);
}

/* One attempt: false where the project refuses what was drawn, or nothing of it fits. */
static bool try_to_draw(drawing *picture, const char *folder, tn_arena *arena, tn_space *space) {
    tn_error error;
    picture->decomposes = once_in(picture, 4);
    picture->most = (uint64_t)1 << (2 + below(picture, 7));
    if (once_in(picture, 25)) picture->most = 1000;
    draw_model(picture);
    draw_choices(picture);
    tn_buffer_text(&picture->head, "set: ['build.rows=2'");
    set_build(picture);
    add_model_keys(picture);
    tn_buffer_text(&picture->head, "]\n");
    if (!picture->decomposes && once_in(picture, 3)) draw_settled(picture);
    write_file(folder, "model.yaml", picture->model.data, picture->model.length);
    if (picture->other_model.length)
        write_file(folder, "other.yaml", picture->other_model.data, picture->other_model.length);
    add_objectives(picture);
    if (!load(picture, folder, "space.yaml", false, arena, space, &error)) return false;
    if (space->choices.designs < 2 || space->choices.designs > 4000) return false;
    if (!picture->decomposes && !picture->tied && once_in(picture, 4)) add_accuracy_table(picture, space);
    if (!picture->decomposes && once_in(picture, 8)) add_error_table(picture, space);
    if (picture->accuracy_table.length)
        write_file(folder, "accuracy.csv", picture->accuracy_table.data, picture->accuracy_table.length);
    if (picture->error_table.length)
        write_file(folder, "errors.csv", picture->error_table.data, picture->error_table.length);
    if (!draw_constraints(picture, space)) return false;
    return load(picture, folder, "space.yaml", false, arena, space, &error);
}

void test_random_space_draw(uint64_t seed, const char *folder, tn_arena *arena, test_random_space *drawn,
                            tn_space *space) {
    enum { ATTEMPTS = 200 };
    for (uint64_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        *drawn = (test_random_space){.seed = seed, .state = seed * ATTEMPTS + attempt};
        if (try_to_draw(drawn, folder, arena, space)) return;
        test_random_space_free(drawn);
        tn_arena_reset(arena);
    }
    fail_msg("seed %llu: no space in %d attempts", (unsigned long long)seed, ATTEMPTS);
}

bool test_random_space_backwards(const test_random_space *drawn, const char *folder, tn_arena *arena,
                                 tn_space *space, tn_error *error) {
    return load(drawn, folder, "backwards.yaml", true, arena, space, error);
}
