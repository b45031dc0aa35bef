#include "ranks/tensor_names.h"

#include <stdlib.h>
#include <string.h>

const tn_tensor_family tn_tensor_families[] = {
    {.name = "bert",
     .names = {[TN_TENSOR_WORDS] = "embeddings.word_embeddings",
               [TN_TENSOR_POSITIONS] = "embeddings.position_embeddings",
               [TN_TENSOR_TYPES] = "embeddings.token_type_embeddings",
               [TN_TENSOR_FIRST_NORM] = "embeddings.LayerNorm",
               [TN_TENSOR_QUERY] = "encoder.layer.{i}.attention.self.query",
               [TN_TENSOR_KEY] = "encoder.layer.{i}.attention.self.key",
               [TN_TENSOR_VALUE] = "encoder.layer.{i}.attention.self.value",
               [TN_TENSOR_OUTPUT] = "encoder.layer.{i}.attention.output.dense",
               [TN_TENSOR_ATTENTION_NORM] = "encoder.layer.{i}.attention.output.LayerNorm",
               [TN_TENSOR_WIDEN] = "encoder.layer.{i}.intermediate.dense",
               [TN_TENSOR_NARROW] = "encoder.layer.{i}.output.dense",
               [TN_TENSOR_FEED_NORM] = "encoder.layer.{i}.output.LayerNorm",
               [TN_TENSOR_POOLER] = "pooler.dense|classifier.dense",
               [TN_TENSOR_CLASSIFIER] = "classifier|classifier.out_proj|qa_outputs"},
     .left_out = {"cls.", "lm_head."},
     .activation = "gelu"},
    {.name = "distilbert",
     .names = {[TN_TENSOR_WORDS] = "embeddings.word_embeddings",
               [TN_TENSOR_POSITIONS] = "embeddings.position_embeddings",
               [TN_TENSOR_FIRST_NORM] = "embeddings.LayerNorm",
               [TN_TENSOR_QUERY] = "transformer.layer.{i}.attention.q_lin",
               [TN_TENSOR_KEY] = "transformer.layer.{i}.attention.k_lin",
               [TN_TENSOR_VALUE] = "transformer.layer.{i}.attention.v_lin",
               [TN_TENSOR_OUTPUT] = "transformer.layer.{i}.attention.out_lin",
               [TN_TENSOR_ATTENTION_NORM] = "transformer.layer.{i}.sa_layer_norm",
               [TN_TENSOR_WIDEN] = "transformer.layer.{i}.ffn.lin1",
               [TN_TENSOR_NARROW] = "transformer.layer.{i}.ffn.lin2",
               [TN_TENSOR_FEED_NORM] = "transformer.layer.{i}.output_layer_norm",
               [TN_TENSOR_POOLER] = "pre_classifier",
               [TN_TENSOR_CLASSIFIER] = "classifier|qa_outputs"},
     .left_out = {"vocab_"},
     .activation = "gelu"},
    {.name = "vit",
     .names = {[TN_TENSOR_PATCHES] = "embeddings.patch_embeddings.projection",
               [TN_TENSOR_CLASS_TOKEN] = "embeddings.cls_token",
               [TN_TENSOR_POSITIONS] = "embeddings.position_embeddings",
               [TN_TENSOR_QUERY] = "encoder.layer.{i}.attention.attention.query",
               [TN_TENSOR_KEY] = "encoder.layer.{i}.attention.attention.key",
               [TN_TENSOR_VALUE] = "encoder.layer.{i}.attention.attention.value",
               [TN_TENSOR_OUTPUT] = "encoder.layer.{i}.attention.output.dense",
               [TN_TENSOR_ATTENTION_NORM] = "encoder.layer.{i}.layernorm_before",
               [TN_TENSOR_WIDEN] = "encoder.layer.{i}.intermediate.dense",
               [TN_TENSOR_NARROW] = "encoder.layer.{i}.output.dense",
               [TN_TENSOR_FEED_NORM] = "encoder.layer.{i}.layernorm_after",
               [TN_TENSOR_FINAL_NORM] = "layernorm",
               [TN_TENSOR_POOLER] = "pooler.dense",
               [TN_TENSOR_CLASSIFIER] = "classifier"},
     .activation = "gelu",
     .norm_first = true},
    {.name = "gpt2",
     .names = {[TN_TENSOR_WORDS] = "wte",
               [TN_TENSOR_POSITIONS] = "wpe",
               [TN_TENSOR_ATTENTION_NORM] = "h.{i}.ln_1",
               [TN_TENSOR_FUSED] = "h.{i}.attn.c_attn",
               [TN_TENSOR_OUTPUT] = "h.{i}.attn.c_proj",
               [TN_TENSOR_FEED_NORM] = "h.{i}.ln_2",
               [TN_TENSOR_WIDEN] = "h.{i}.mlp.c_fc",
               [TN_TENSOR_NARROW] = "h.{i}.mlp.c_proj",
               [TN_TENSOR_FINAL_NORM] = "ln_f",
               [TN_TENSOR_CLASSIFIER] = "score|classifier",
               [TN_TENSOR_HEAD] = "lm_head"},
     .activation = "gelu",
     .norm_first = true,
     .input_rows = true,
     .is_decoder = true},
    {.name = "opt",
     .names = {[TN_TENSOR_WORDS] = "decoder.embed_tokens",
               [TN_TENSOR_POSITIONS] = "decoder.embed_positions",
               [TN_TENSOR_QUERY] = "decoder.layers.{i}.self_attn.q_proj",
               [TN_TENSOR_KEY] = "decoder.layers.{i}.self_attn.k_proj",
               [TN_TENSOR_VALUE] = "decoder.layers.{i}.self_attn.v_proj",
               [TN_TENSOR_OUTPUT] = "decoder.layers.{i}.self_attn.out_proj",
               [TN_TENSOR_ATTENTION_NORM] = "decoder.layers.{i}.self_attn_layer_norm",
               [TN_TENSOR_WIDEN] = "decoder.layers.{i}.fc1",
               [TN_TENSOR_NARROW] = "decoder.layers.{i}.fc2",
               [TN_TENSOR_FEED_NORM] = "decoder.layers.{i}.final_layer_norm",
               [TN_TENSOR_FINAL_NORM] = "decoder.final_layer_norm",
               [TN_TENSOR_CLASSIFIER] = "score",
               [TN_TENSOR_HEAD] = "lm_head"},
     .activation = "relu",
     .norm_first = true,
     .is_decoder = true},
    {.name = "llama",
     .names = {[TN_TENSOR_WORDS] = "embed_tokens",
               [TN_TENSOR_QUERY] = "layers.{i}.self_attn.q_proj",
               [TN_TENSOR_KEY] = "layers.{i}.self_attn.k_proj",
               [TN_TENSOR_VALUE] = "layers.{i}.self_attn.v_proj",
               [TN_TENSOR_OUTPUT] = "layers.{i}.self_attn.o_proj",
               [TN_TENSOR_QUERY_NORM] = "layers.{i}.self_attn.q_norm",
               [TN_TENSOR_KEY_NORM] = "layers.{i}.self_attn.k_norm",
               [TN_TENSOR_GATE] = "layers.{i}.mlp.gate_proj|layers.{i}.block_sparse_moe.experts.{e}.w1|"
                                  "layers.{i}.mlp.experts.{e}.gate_proj",
               [TN_TENSOR_WIDEN] = "layers.{i}.mlp.up_proj|layers.{i}.block_sparse_moe.experts.{e}.w3|"
                                   "layers.{i}.mlp.experts.{e}.up_proj",
               [TN_TENSOR_NARROW] = "layers.{i}.mlp.down_proj|layers.{i}.block_sparse_moe.experts.{e}.w2|"
                                    "layers.{i}.mlp.experts.{e}.down_proj",
               [TN_TENSOR_ROUTER] = "layers.{i}.block_sparse_moe.gate|layers.{i}.mlp.gate",
               [TN_TENSOR_ATTENTION_NORM] = "layers.{i}.input_layernorm",
               [TN_TENSOR_FEED_NORM] = "layers.{i}.post_attention_layernorm",
               [TN_TENSOR_FINAL_NORM] = "norm",
               [TN_TENSOR_CLASSIFIER] = "score",
               [TN_TENSOR_HEAD] = "lm_head"},
     .activation = "silu",
     .norm_first = true,
     .is_decoder = true,
     .grouped = true},
};
const size_t tn_tensor_family_count = sizeof tn_tensor_families / sizeof *tn_tensor_families;

static const char *const layer_names[TN_TENSOR_ROLES] = {
    [TN_TENSOR_WORDS] = "embedding",     [TN_TENSOR_POSITIONS] = "positions",
    [TN_TENSOR_TYPES] = "types",         [TN_TENSOR_FIRST_NORM] = "first-norm",
    [TN_TENSOR_PATCHES] = "patches",     [TN_TENSOR_CLASS_TOKEN] = "class-token",
    [TN_TENSOR_QUERY] = "query",         [TN_TENSOR_KEY] = "key",
    [TN_TENSOR_VALUE] = "value",         [TN_TENSOR_FUSED] = "query, key, value",
    [TN_TENSOR_OUTPUT] = "output",       [TN_TENSOR_QUERY_NORM] = "query-norm",
    [TN_TENSOR_KEY_NORM] = "key-norm",   [TN_TENSOR_ATTENTION_NORM] = "attention-norm",
    [TN_TENSOR_FEED_NORM] = "feed-norm", [TN_TENSOR_WIDEN] = "widen",
    [TN_TENSOR_NARROW] = "narrow",       [TN_TENSOR_GATE] = "gate",
    [TN_TENSOR_ROUTER] = "router",       [TN_TENSOR_FINAL_NORM] = "final-norm",
    [TN_TENSOR_POOLER] = "pooler",       [TN_TENSOR_CLASSIFIER] = "classifier",
    [TN_TENSOR_HEAD] = "head",
};

const char *tn_tensor_layer(tn_tensor_role role) {
    return layer_names[role];
}

size_t tn_tensor_stem(const char *name, bool *is_bias) {
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

/* Digits from text[at] on, at most nine of them, as a number. */
static size_t read_number(const char *text, size_t index, size_t end, uint64_t *number) {
    size_t digits = 0;
    *number = 0;
    for (; digits < 9 && index + digits < end && text[index + digits] >= '0' && text[index + digits] <= '9';
         digits++)
        *number = 10 * *number + (uint64_t)(text[index + digits] - '0');
    return digits;
}

/* Whether text[at..end) is `pattern`, which ends at "|" or with its text. */
static bool matches(const char *pattern, const char *text, size_t index, size_t end, tn_tensor_name *read) {
    read->has_layer = false;
    while (*pattern && *pattern != '|') {
        if (*pattern == '{') {
            bool layer = pattern[1] == 'i';
            size_t digits = read_number(text, index, end, layer ? &read->layer : &read->expert);
            if (digits == 0) return false;
            if (layer) {
                read->has_layer = true;
                read->index = index;
                read->digits = digits;
            }
            index += digits;
            pattern += 3; /* "{i}" */
        } else {
            if (index == end || text[index++] != *pattern++) return false;
        }
    }
    return index == end;
}

/* At the beginning of the text or behind any of its dots. */
static bool ends_with(const char *pattern, const char *text, size_t end, tn_tensor_name *read) {
    for (size_t index = 0; index < end; index++)
        if ((index == 0 || text[index - 1] == '.') && matches(pattern, text, index, end, read)) return true;
    return false;
}

bool tn_tensor_name_read(const tn_tensor_family *family, const char *name, tn_tensor_name *read) {
    bool is_bias;
    size_t length = tn_tensor_stem(name, &is_bias);
    for (int role = 0; role < TN_TENSOR_ROLES; role++)
        for (const char *way = family->names[role]; way; way = strchr(way, '|')) {
            if (*way == '|') way++;
            *read = (tn_tensor_name){.role = (tn_tensor_role)role, .is_bias = is_bias};
            if (ends_with(way, name, length, read)) return true;
        }
    return false;
}

bool tn_tensor_left_out(const tn_tensor_family *family, const char *name) {
    for (int i = 0; i < TN_TENSOR_LEFT_OUT_MOST && family->left_out[i]; i++)
        if (strncmp(name, family->left_out[i], strlen(family->left_out[i])) == 0) return true;
    return false;
}

bool tn_tensor_is_constant(const char *name) {
    static const char *const constants[] = {"position_ids", "token_type_ids", "h.{i}.attn.bias",
                                            "h.{i}.attn.masked_bias", "rotary_emb.inv_freq"};
    tn_tensor_name read;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (ends_with(constants[i], name, strlen(name), &read)) return true;
    return false;
}

const char *tn_tensor_unsupported(const char *name) {
    static const struct {
        const char *part, *what;
    } known[] = {
        {".SelfAttention.", "T5: its attention adds a learned bias for relative positions"},
        {"albert_layer_groups", "ALBERT: its layers share one set of parameters"},
        {".attention.query_key_value",
         "GPT-NeoX or Falcon: queries, keys and values are mixed in one matrix"},
        {".self_attention.query_key_value",
         "BLOOM or Falcon: queries, keys and values are mixed in one matrix"},
        {".self_attn.qkv_proj", "Phi-3: queries, keys and values are one matrix of unequal parts"},
        {".query_proj", "DeBERTa: its attention has terms for relative positions"},
        {".mixer.in_proj", "Mamba: a state space, not attention"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(name, known[i].part)) return known[i].what;
    return NULL;
}
