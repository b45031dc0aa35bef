#include "ranks/import.h"

#include "base/file.h"
#include "base/memory.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

typedef enum {
    WORDS,
    POSITIONS,
    TYPES,
    FIRST_NORM,
    PATCHES,
    CLASS_TOKEN,
    QUERY,
    KEY,
    VALUE,
    FUSED,
    OUTPUT,
    NORM_A,
    NORM_B,
    WIDEN,
    NARROW,
    GATE,
    FINAL_NORM,
    POOLER,
    CLASSIFIER,
    HEAD,
    ROLES
} role;

/* Endings of names, without ".weight" and ".bias"; {i} is the layer. */
typedef struct {
    const char *name;
    const char *ending[ROLES];
    bool norm_first,
        input_rows; /* norms before what they belong to; matrices are inputs x outputs (Conv1D) */
} family;

static const family families[] = {
    {"bert",
     {[WORDS] = "embeddings.word_embeddings",
      [POSITIONS] = "embeddings.position_embeddings",
      [TYPES] = "embeddings.token_type_embeddings",
      [FIRST_NORM] = "embeddings.LayerNorm",
      [QUERY] = "encoder.layer.{i}.attention.self.query",
      [KEY] = "encoder.layer.{i}.attention.self.key",
      [VALUE] = "encoder.layer.{i}.attention.self.value",
      [OUTPUT] = "encoder.layer.{i}.attention.output.dense",
      [NORM_A] = "encoder.layer.{i}.attention.output.LayerNorm",
      [WIDEN] = "encoder.layer.{i}.intermediate.dense",
      [NARROW] = "encoder.layer.{i}.output.dense",
      [NORM_B] = "encoder.layer.{i}.output.LayerNorm",
      [POOLER] = "pooler.dense",
      [CLASSIFIER] = "classifier"},
     false,
     false},
    {"distilbert",
     {[WORDS] = "embeddings.word_embeddings",
      [POSITIONS] = "embeddings.position_embeddings",
      [FIRST_NORM] = "embeddings.LayerNorm",
      [QUERY] = "transformer.layer.{i}.attention.q_lin",
      [KEY] = "transformer.layer.{i}.attention.k_lin",
      [VALUE] = "transformer.layer.{i}.attention.v_lin",
      [OUTPUT] = "transformer.layer.{i}.attention.out_lin",
      [NORM_A] = "transformer.layer.{i}.sa_layer_norm",
      [WIDEN] = "transformer.layer.{i}.ffn.lin1",
      [NARROW] = "transformer.layer.{i}.ffn.lin2",
      [NORM_B] = "transformer.layer.{i}.output_layer_norm",
      [POOLER] = "pre_classifier",
      [CLASSIFIER] = "classifier"},
     false,
     false},
    {"vit",
     {[PATCHES] = "embeddings.patch_embeddings.projection",
      [CLASS_TOKEN] = "embeddings.cls_token",
      [POSITIONS] = "embeddings.position_embeddings",
      [QUERY] = "encoder.layer.{i}.attention.attention.query",
      [KEY] = "encoder.layer.{i}.attention.attention.key",
      [VALUE] = "encoder.layer.{i}.attention.attention.value",
      [OUTPUT] = "encoder.layer.{i}.attention.output.dense",
      [NORM_A] = "encoder.layer.{i}.layernorm_before",
      [WIDEN] = "encoder.layer.{i}.intermediate.dense",
      [NARROW] = "encoder.layer.{i}.output.dense",
      [NORM_B] = "encoder.layer.{i}.layernorm_after",
      [FINAL_NORM] = "layernorm",
      [CLASSIFIER] = "classifier"},
     true,
     false},
    {"gpt2",
     {[WORDS] = "wte",
      [POSITIONS] = "wpe",
      [NORM_A] = "h.{i}.ln_1",
      [FUSED] = "h.{i}.attn.c_attn",
      [OUTPUT] = "h.{i}.attn.c_proj",
      [NORM_B] = "h.{i}.ln_2",
      [WIDEN] = "h.{i}.mlp.c_fc",
      [NARROW] = "h.{i}.mlp.c_proj",
      [FINAL_NORM] = "ln_f",
      [CLASSIFIER] = "score",
      [HEAD] = "lm_head"},
     true,
     true},
    {"llama",
     {[WORDS] = "embed_tokens",
      [QUERY] = "layers.{i}.self_attn.q_proj",
      [KEY] = "layers.{i}.self_attn.k_proj",
      [VALUE] = "layers.{i}.self_attn.v_proj",
      [OUTPUT] = "layers.{i}.self_attn.o_proj",
      [GATE] = "layers.{i}.mlp.gate_proj",
      [WIDEN] = "layers.{i}.mlp.up_proj",
      [NARROW] = "layers.{i}.mlp.down_proj",
      [NORM_A] = "layers.{i}.input_layernorm",
      [NORM_B] = "layers.{i}.post_attention_layernorm",
      [FINAL_NORM] = "norm",
      [HEAD] = "lm_head"},
     true,
     false},
};

typedef struct {
    const tn_arrays *arrays;
    const tn_import_options *options;
    const family *family;
    tn_arena *arena;
    tn_import *out;
    tn_error *error;
    const tn_array_info *first[ROLES]; /* the array of each role, of layer 0 */
    const char *pattern[ROLES];        /* its name with {i-1} for the number */
    uint64_t sequence, widened, classes, patch;
    bool padded;
} importer;

/* Whether `name`, without ".weight", ends with the ending behind a dot or its start; *number is what stands for {i}, and
 * *at and *digits where it stands in the name. */
static bool ends_with(const char *name, size_t length, const char *ending, uint64_t *number, size_t *at,
                      size_t *digits) {
    const char *mark = strstr(ending, "{i}");
    size_t tail = strlen(mark ? mark + 3 : ending), head = mark ? (size_t)(mark - ending) : 0;
    *digits = 0;
    if (tail > length || strncmp(name + length - tail, mark ? mark + 3 : ending, tail) != 0) return false;
    size_t begin = length - tail;
    if (mark) {
        while (*digits < begin && *digits < 9 && name[begin - *digits - 1] >= '0' &&
               name[begin - *digits - 1] <= '9')
            ++*digits;
        *at = begin -= *digits;
        if (*digits == 0 || head > begin || strncmp(name + begin - head, ending, head) != 0) return false;
        *number = strtoull(name + begin, NULL, 10);
        begin -= head;
    }
    return begin == 0 || name[begin - 1] == '.';
}

/* The length of a name without ".weight" (or ".gamma"); of what ends otherwise, all of it. */
static size_t stem(const char *name, bool *is_bias) {
    static const char *const endings[] = {".weight", ".gamma", ".bias", ".beta"};
    size_t length = strlen(name);
    *is_bias = false;
    for (int i = 0; i < 4; i++) {
        size_t own = strlen(endings[i]);
        if (length <= own || strcmp(name + length - own, endings[i]) != 0) continue;
        *is_bias = i > 1;
        return length - own;
    }
    return length;
}

static bool has_role(const family *of, const tn_array_info *info, int r, uint64_t *number, size_t *at,
                     size_t *digits, bool *bias) {
    size_t length = stem(info->name, bias);
    return of->ending[r] && ends_with(info->name, length, of->ending[r], number, at, digits);
}

static bool is_family(const importer *with, const family *of) {
    int first = of->ending[FUSED] ? FUSED : QUERY;
    bool attention = false, gate = !of->ending[GATE];
    for (size_t i = 0; i < tn_arrays_count(with->arrays); i++) {
        uint64_t number = 1;
        size_t at, digits;
        bool bias;
        const tn_array_info *info = tn_arrays_info(with->arrays, i);
        attention |= has_role(of, info, first, &number, &at, &digits, &bias) && number == 0;
        if (of->ending[GATE]) gate |= has_role(of, info, GATE, &number, &at, &digits, &bias);
    }
    return attention && gate;
}

static tn_status find_family(importer *with, const char *path) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (is_family(with, &families[i])) {
            with->family = &families[i];
            with->out->family = families[i].name;
            return TN_OK;
        }
    size_t count = tn_arrays_count(with->arrays);
    return tn_fail_at(with->error, TN_INPUT, (tn_position){.file = path},
                      "names none of its %zu arrays as BERT, DistilBERT, ViT, GPT-2 or Llama models do "
                      "(\"%.80s\"%s); write the "
                      "model file by hand (docs/model-file.md)",
                      count, count ? tn_arrays_info(with->arrays, 0)->name : "", count > 1 ? ", .." : "");
}

static const char *const layer_names[ROLES] = {[WORDS] = "embedding",       [POSITIONS] = "positions",
                                               [TYPES] = "types",           [FIRST_NORM] = "first-norm",
                                               [PATCHES] = "patches",       [CLASS_TOKEN] = "class-token",
                                               [QUERY] = "query",           [KEY] = "key",
                                               [VALUE] = "value",           [FUSED] = "query, key, value",
                                               [OUTPUT] = "output",         [NORM_A] = "attention-norm",
                                               [NORM_B] = "feed-norm",      [WIDEN] = "widen",
                                               [NARROW] = "narrow",         [GATE] = "gate",
                                               [FINAL_NORM] = "final-norm", [POOLER] = "pooler",
                                               [CLASSIFIER] = "classifier", [HEAD] = "head"};

/* "encoder.layer.0.x" with the digits replaced by {i-1}. */
static tn_status pattern_of(importer *with, const tn_array_info *info, int r, size_t at, size_t digits) {
    if (digits == 0) {
        with->pattern[r] = info->name;
        return TN_OK;
    }
    return tn_arena_format(with->arena, &with->pattern[r], with->error, "%.*s{i-1}%s", (int)at, info->name,
                           info->name + at + digits);
}

static tn_status assign_array(importer *with, tn_imported_array *array) {
    for (int r = 0; r < ROLES; r++) {
        uint64_t number = 0;
        size_t at = 0, digits;
        bool bias;
        if (!has_role(with->family, array->info, r, &number, &at, &digits, &bias)) continue;
        with->out->recognised++;
        if (digits && number + 1 > with->out->layers) with->out->layers = number + 1;
        if (!bias && number == 0) {
            with->first[r] = array->info;
            TN_TRY(pattern_of(with, array->info, r, at, digits));
        }
        if (digits == 0) {
            array->layer = layer_names[r];
            return TN_OK;
        }
        return tn_arena_format(with->arena, &array->layer, with->error, "encoder%" PRIu64 ".%s", number + 1,
                               layer_names[r]);
    }
    return TN_OK;
}

static tn_status assign(importer *with) {
    tn_import *out = with->out;
    out->arrays = tn_arrays_count(with->arrays);
    TN_TRY(tn_arena_alloc(with->arena, out->arrays, sizeof *out->array, &out->array, with->error));
    for (size_t i = 0; i < out->arrays; i++) {
        out->array[i].info = tn_arrays_info(with->arrays, i);
        TN_TRY(assign_array(with, &out->array[i]));
    }
    return TN_OK;
}

/* ---- sizes ---- */

static tn_status note(importer *with, const char *text) {
    if (with->out->notes < TN_IMPORT_NOTES) with->out->note[with->out->notes++] = text;
    return TN_OK;
}

static uint64_t configured(const json_t *config, const char *const *key) {
    for (; *key; key++) {
        const json_t *value = json_object_get(config, *key);
        if (json_is_integer(value) && json_integer_value(value) > 0)
            return (uint64_t)json_integer_value(value);
    }
    return 0;
}

static tn_status read_config(importer *with, uint64_t *heads, uint64_t *kv_heads) {
    static const char *const of_heads[] = {"num_attention_heads", "n_head", "n_heads", NULL},
                             *const of_kv[] = {"num_key_value_heads", NULL};
    char *text;
    size_t length;
    json_error_t problem;
    *heads = *kv_heads = 0;
    if (!with->options->config) return TN_OK;
    TN_TRY(tn_file_read(with->options->config, 1 << 24, &text, &length, with->error));
    json_t *config = json_loadb(text, length, 0, &problem);
    tn_free(text);
    if (!json_is_object(config)) {
        json_decref(config);
        return tn_fail_at(
            with->error, TN_INPUT,
            (tn_position){with->options->config, (unsigned)problem.line, (unsigned)problem.column},
            "is no configuration: %s", config ? "not an object" : problem.text);
    }
    *heads = configured(config, of_heads);
    *kv_heads = configured(config, of_kv);
    json_decref(config);
    return TN_OK;
}

static tn_status need(importer *with, int r, size_t axes) {
    const tn_array_info *info = with->first[r];
    if (info && info->axes >= axes) return TN_OK;
    return tn_fail(with->error, TN_INPUT,
                   "the checkpoint has no matrix '%s', which a model of family %s needs",
                   with->family->ending[r], with->family->name);
}

/* Outputs and inputs of a role's matrix. */
static uint64_t outputs_of(const importer *with, int r) {
    return with->first[r]->shape[with->family->input_rows ? 1 : 0];
}

static tn_status measure(importer *with, uint64_t *kv_heads) {
    tn_import *out = with->out;
    const tn_import_options *o = with->options;
    uint64_t heads;
    TN_TRY(need(with, with->family->ending[FUSED] ? FUSED : QUERY, 2));
    TN_TRY(need(with, OUTPUT, 2));
    TN_TRY(need(with, WIDEN, 2));
    TN_TRY(need(with, NARROW, 2));
    TN_TRY(read_config(with, &heads, kv_heads));
    out->hidden = outputs_of(with, OUTPUT);
    with->widened = outputs_of(with, WIDEN);
    if (with->family->ending[WORDS]) {
        TN_TRY(need(with, WORDS, 2));
        out->vocabulary = with->first[WORDS]->shape[0];
    }
    const tn_array_info *positions = with->first[POSITIONS];
    with->sequence = positions && positions->axes >= 2 ? positions->shape[positions->axes - 2] : 128;
    if (o->sequence) with->sequence = o->sequence;
    if (with->first[CLASSIFIER]) with->classes = with->first[CLASSIFIER]->shape[0];
    out->heads = o->heads ? o->heads : heads;
    if (out->heads == 0) {
        const char *text;
        out->heads = out->hidden % 64 == 0 ? out->hidden / 64 : 1;
        TN_TRY(tn_arena_format(with->arena, &text, with->error,
                               "heads are not in the checkpoint: %" PRIu64 " of %" PRIu64
                               " are taken; give --config or --heads",
                               out->heads, out->hidden / out->heads));
        TN_TRY(note(with, text));
    }
    if (out->hidden % out->heads)
        return tn_fail(with->error, TN_INPUT, "%" PRIu64 " heads do not divide the width %" PRIu64,
                       out->heads, out->hidden);
    return TN_OK;
}

/* ---- foldings ---- */

static void split(uint64_t n, unsigned count, uint64_t least, uint64_t *own, double *best, uint64_t *factor,
                  unsigned all) {
    if (count == 1) {
        own[all - 1] = n;
        if (n < least || (double)n >= *best) return;
        *best = (double)n;
        memcpy(factor, own, all * sizeof *own);
        return;
    }
    for (uint64_t f = least; f * f <= n; f++) {
        if (n % f) continue;
        own[all - count] = f;
        split(n / f, count - 1, f, own, best, factor, all);
    }
}

bool tn_balanced_factors(uint64_t n, unsigned count, uint64_t factor[4]) {
    const double uneven = 2;
    uint64_t own[4];
    double best = INFINITY;
    if (n < 4) return false;
    split(n, count, 2, own, &best, factor, count);
    return best <= uneven * pow((double)n, 1.0 / count) + 1e-9;
}

/* Three factors a side where both fold so, else two, else four; 0: none. */
static unsigned fold(uint64_t m, uint64_t n, uint64_t rows[4], uint64_t columns[4]) {
    static const unsigned order[] = {3, 2, 4};
    for (int i = 0; i < 3; i++)
        if (tn_balanced_factors(m, order[i], rows) && tn_balanced_factors(n, order[i], columns))
            return order[i];
    return 0;
}

static uint64_t padded_vocabulary(uint64_t vocabulary, uint64_t hidden) {
    uint64_t rows[4], columns[4];
    for (uint64_t v = vocabulary; v <= vocabulary + vocabulary / 16 + 16; v++)
        if (fold(v, hidden, rows, columns) == 3) return v;
    return vocabulary;
}

/* ---- the model file ---- */

typedef struct {
    uint64_t rows, columns;
    bool used, table;
} shape;
enum { SHAPES_MOST = 8 };

/* Writes an entry of `weights` for the shape where it folds; *named says whether. */
static void put_weight(const importer *with, uint64_t m, uint64_t n, bool table, tn_buffer *out) {
    uint64_t rows[4], columns[4];
    unsigned d = fold(m, n, rows, columns);
    tn_buffer_format(out, "  %s%" PRIu64 "x%" PRIu64 ": {format: %s, m: ", table ? "table" : "matrix", m, n,
                     table ? "ttm" : "tt");
    for (unsigned k = d; k-- > 0;) tn_buffer_format(out, "%" PRIu64 "%s", rows[k], k ? "x" : ", n: ");
    for (unsigned k = 0; k < d; k++) tn_buffer_format(out, "%s%" PRIu64, k ? "x" : "", columns[k]);
    tn_buffer_format(out, ", rank: %" PRIu64 "%s}\n", with->options->rank, table ? ", flow: optimal" : "");
}

static bool folds(uint64_t m, uint64_t n) {
    uint64_t rows[4], columns[4];
    return fold(m, n, rows, columns) > 0;
}

static void put_weights(const importer *with, uint64_t vocabulary, tn_buffer *out) {
    uint64_t h = with->out->hidden;
    const shape all[] = {{h, h, folds(h, h), false},
                         {with->widened, h, folds(with->widened, h) && with->widened != h, false},
                         {h, with->widened, folds(h, with->widened) && with->widened != h, false},
                         {vocabulary, h, vocabulary && folds(vocabulary, h), true},
                         {h, with->patch, with->patch && with->patch != h && folds(h, with->patch), false}};
    tn_buffer_text(out, "weights:\n");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].used) put_weight(with, all[i].rows, all[i].columns, all[i].table, out);
}

static void put_linear(const char *name, uint64_t m, uint64_t n, bool bias, const char *input,
                       const char *indent, tn_buffer *out) {
    tn_buffer_format(out, "%s- {name: %s, kind: linear, outputs: %" PRIu64, indent, name, m);
    if (folds(m, n)) tn_buffer_format(out, ", weight: matrix%" PRIu64 "x%" PRIu64, m, n);
    if (!bias) tn_buffer_text(out, ", bias: false");
    if (input) tn_buffer_format(out, ", input: %s", input);
    tn_buffer_text(out, "}\n");
}

static void put_entry(const importer *with, uint64_t vocabulary, tn_buffer *out) {
    uint64_t h = with->out->hidden;
    if (with->first[PATCHES]) {
        tn_buffer_format(out, "  - {name: pixels, kind: input, width: %" PRIu64 "}\n", with->patch);
        put_linear("patches", h, with->patch, true, NULL, "  ", out);
        tn_buffer_format(out,
                         "  - {name: class-token, kind: embedding, vocabulary: 1, width: %" PRIu64 "}\n"
                         "  - {name: with-class, kind: residual, input: [patches, class-token]}\n",
                         h);
    } else {
        tn_buffer_format(out,
                         "  - {name: embedding, kind: embedding, vocabulary: %" PRIu64 ", width: %" PRIu64,
                         vocabulary, h);
        if (folds(vocabulary, h)) tn_buffer_format(out, ", weight: table%" PRIu64 "x%" PRIu64, vocabulary, h);
        tn_buffer_text(out, "}\n");
    }
    if (with->first[POSITIONS]) tn_buffer_text(out, "  - {name: positions, kind: positions}\n");
    if (with->first[TYPES])
        tn_buffer_format(out,
                         "  - {name: types, kind: embedding, vocabulary: %" PRIu64 ", width: %" PRIu64 "}\n"
                         "  - {name: with-types, kind: residual, input: [positions, types]}\n",
                         with->first[TYPES]->shape[0], h);
    if (with->first[FIRST_NORM]) tn_buffer_text(out, "  - {name: first-norm, kind: layer-norm}\n");
}

static void put_block(const importer *with, tn_buffer *out) {
    static const char in[] = "      ";
    uint64_t h = with->out->hidden;
    bool first = with->family->norm_first;
    const char *from = first ? "attention-norm" : "entry";
    tn_buffer_format(out, "  - name: encoder\n    kind: block\n    repeat: %" PRIu64 "\n    layers:\n",
                     with->out->layers);
    if (first) tn_buffer_format(out, "%s- {name: attention-norm, kind: layer-norm, input: entry}\n", in);
    put_linear("query", h, h, true, from, in, out);
    put_linear("key", h, h, true, from, in, out);
    put_linear("value", h, h, true, from, in, out);
    tn_buffer_format(
        out, "%s- {name: attention, kind: attention, heads: %" PRIu64 ", input: [query, key, value]}\n", in,
        with->out->heads);
    put_linear("output", h, h, true, NULL, in, out);
    tn_buffer_format(out, "%s- {name: attention-residual, kind: residual, input: [entry, output]}\n", in);
    tn_buffer_format(out, "%s- {name: %s, kind: layer-norm}\n", in, first ? "feed-norm" : "attention-norm");
    put_linear("widen", with->widened, h, true, NULL, in, out);
    tn_buffer_format(out, "%s- {name: activation, kind: gelu}\n", in);
    put_linear("narrow", h, with->widened, true, NULL, in, out);
    tn_buffer_format(out, "%s- {name: feed-residual, kind: residual, input: [%s, narrow]}\n", in,
                     first ? "attention-residual" : "attention-norm");
    if (!first) tn_buffer_format(out, "%s- {name: feed-norm, kind: layer-norm}\n", in);
}

static tn_status put_end(importer *with, tn_buffer *out) {
    uint64_t h = with->out->hidden, classes = with->classes ? with->classes : 2;
    const char *text;
    if (with->first[FINAL_NORM]) tn_buffer_text(out, "  - {name: final-norm, kind: layer-norm}\n");
    tn_buffer_text(out, "  - {name: first-token, kind: first-token}\n");
    if (with->first[POOLER]) {
        put_linear("pooler", h, h, true, NULL, "  ", out);
        tn_buffer_format(out, "  - {name: pooler-activation, kind: %s}\n",
                         strcmp(with->family->name, "bert") == 0 ? "tanh" : "relu");
    }
    tn_buffer_format(out,
                     "  - {name: classifier, kind: linear, outputs: %" PRIu64
                     "%s}\n  - {name: loss, kind: cross-entropy}\n",
                     classes, with->family->input_rows ? ", bias: false" : "");
    if (with->classes) return TN_OK;
    TN_TRY(tn_arena_format(with->arena, &text, with->error,
                           "no classifier in the checkpoint: one of 2 classes on the first token was added%s",
                           with->first[HEAD] || with->family->input_rows
                               ? "; the output projection of the language model is left out"
                               : ""));
    return note(with, text);
}

static void map(const importer *with, const char *layer, int r, const char *more, tn_buffer *out) {
    if (with->first[r])
        tn_buffer_format(out, "    - {layer: \"%s\", tensor: \"%s\"%s}\n", layer, with->pattern[r], more);
}

static void put_mapping(const importer *with, tn_buffer *out) {
    uint64_t h = with->out->hidden;
    char part[96];
    tn_buffer_format(out, "\ncheckpoint:\n  convention: %s\n  tensors:\n",
                     with->family->input_rows ? "input-rows" : "rows-are-output");
    map(with, "embedding", WORDS,
        with->family->input_rows
            ? with->padded ? ", padded: true, convention: rows-are-output" : ", convention: rows-are-output"
        : with->padded ? ", padded: true"
                       : "",
        out);
    map(with, "patches", PATCHES, "", out);
    map(with, "encoder{i}.query", QUERY, "", out);
    map(with, "encoder{i}.key", KEY, "", out);
    map(with, "encoder{i}.value", VALUE, "", out);
    for (int k = 0; k < 3 && with->first[FUSED]; k++) {
        static const char *const layer[] = {"encoder{i}.query", "encoder{i}.key", "encoder{i}.value"};
        snprintf(part, sizeof part, ", columns: [%" PRIu64 ", %" PRIu64 "]", (uint64_t)k * h, h);
        map(with, layer[k], FUSED, part, out);
    }
    map(with, "encoder{i}.output", OUTPUT, "", out);
    map(with, "encoder{i}.widen", WIDEN, "", out);
    map(with, "encoder{i}.narrow", NARROW, "", out);
    map(with, "pooler", POOLER, "", out);
    map(with, "classifier", CLASSIFIER, with->family->input_rows ? ", convention: rows-are-output" : "", out);
}

static tn_status put_model(importer *with, const char *path, tn_buffer *out) {
    uint64_t vocabulary = with->out->vocabulary,
             padded = vocabulary ? padded_vocabulary(vocabulary, with->out->hidden) : 0;
    const char *text;
    with->padded = padded != vocabulary;
    if (with->padded) {
        TN_TRY(tn_arena_format(with->arena, &text, with->error,
                               "the vocabulary of %" PRIu64 " does not fold: padded to %" PRIu64 " (%" PRIu64
                               " rows of zeros, which count as parameters)",
                               vocabulary, padded, padded - vocabulary));
        TN_TRY(note(with, text));
    }
    const tn_array_info *patches = with->first[PATCHES];
    if (patches) with->patch = patches->elements / patches->shape[0];
    tn_buffer_format(
        out,
        "# Written by tenfold model from %s: a model of family %s.\nkind: model\nname: %s\nbatch: %" PRIu64
        "\nsequence: %" PRIu64 "\nprecision: fp32\noptimizer: sgd\nflow: optimal\n\n",
        path, with->family->name, with->options->name, with->options->batch ? with->options->batch : 1,
        with->sequence);
    put_weights(with, padded, out);
    tn_buffer_text(out, "\nlayers:\n");
    put_entry(with, padded, out);
    put_block(with, out);
    TN_TRY(put_end(with, out));
    put_mapping(with, out);
    return TN_OK;
}

static tn_status put_language_model(importer *with, const char *path, uint64_t kv_heads, tn_buffer *out) {
    uint64_t h = with->out->hidden, head = outputs_of(with, QUERY) / with->out->heads;
    if (kv_heads == 0) kv_heads = outputs_of(with, KEY) / head;
    with->out->is_language_model = true;
    tn_buffer_format(out,
                     "# Written by tenfold model from %s: a model of family %s.\nkind: language-model\nname: "
                     "%s\norigin: derived\n"
                     "source: \"%s\"\nhidden: %" PRIu64 "\nvocabulary: %" PRIu64
                     "\ntied_embeddings: %s\nmatrix_bits: 16\n"
                     "other_bits: 16\n",
                     path, with->family->name, with->options->name, path, h, with->out->vocabulary,
                     with->first[HEAD] ? "false" : "true");
    tn_buffer_format(out,
                     "attention: {layers: %" PRIu64 ", heads: %" PRIu64 ", kv_heads: %" PRIu64
                     ", head_size: %" PRIu64 ", flash: true}\nfeed_forward: {layers: %" PRIu64
                     ", size: %" PRIu64 ", matrices: 3, experts: 1, active: 1}\n",
                     with->out->layers, with->out->heads, kv_heads, head, with->out->layers, with->widened);
    tn_buffer_text(out, "training:\n  method: lora\n  adapters: {rank: 16, attention: true, feed_forward: "
                        "true, bits: 32, input_bits: 32}\n"
                        "  checkpointing: true\n");
    return note(with, "grouped queries and gated feed-forward are no layers of the training step: this is a "
                      "language model, for "
                      "`tenfold finetune`");
}

tn_status tn_import_model(const tn_arrays *arrays, const char *path, const tn_import_options *options,
                          tn_arena *arena, tn_import *import, tn_buffer *out, tn_error *error) {
    importer with = {.arrays = arrays, .options = options, .arena = arena, .out = import, .error = error};
    uint64_t kv_heads;
    *import = (tn_import){0};
    TN_TRY(find_family(&with, path));
    TN_TRY(assign(&with));
    TN_TRY(measure(&with, &kv_heads));
    TN_TRY(with.family->ending[GATE] ? put_language_model(&with, path, kv_heads, out)
                                     : put_model(&with, path, out));
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory for the model file");
}
