/* The model file of a family whose layers a training step has: entry, a block of encoders, and what stands behind it. */
#include "ranks/importer.h"
#include "ranks/model_text.h"
#include "text/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What `tenfold finetune` counts of a family with grouped queries and a gated feed-forward: a mapping of its model file. */

/* Of one layer. */
static uint64_t find_biases(const tn_importer *importer) {
    static const tn_tensor_role other[] = {TN_TENSOR_QUERY, TN_TENSOR_KEY, TN_TENSOR_VALUE, TN_TENSOR_OUTPUT};
    uint64_t biases = 0;
    for (int i = 0; i < 4; i++)
        if (importer->role[other[i]].biases) biases += importer->role[other[i]].bias_elements;
    for (tn_tensor_role norm = TN_TENSOR_QUERY_NORM; norm <= TN_TENSOR_KEY_NORM; norm++)
        if (importer->role[norm].info) biases += importer->role[norm].info->elements;
    return biases;
}

/* Of language models: measures a family with these, whose arrays must fit each other. */
static tn_status import_grouped(tn_importer *importer, tn_grouped_sizes *grouped) {
    const tn_role_arrays *role = importer->role;
    const tn_array_info *query = role[TN_TENSOR_QUERY].info, *key = role[TN_TENSOR_KEY].info;
    uint64_t wide = query->shape[0];
    *grouped = (tn_grouped_sizes){.hidden = importer->out->hidden, .head = wide / importer->out->heads};
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_QUERY, wide, grouped->hidden));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_OUTPUT, grouped->hidden, wide));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_KEY, key ? key->shape[0] : 0, grouped->hidden));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_VALUE, key->shape[0], grouped->hidden));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_GATE, importer->widened, grouped->hidden));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_WIDEN, importer->widened, grouped->hidden));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_NARROW, grouped->hidden, importer->widened));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_ATTENTION_NORM, grouped->hidden, 0));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_FEED_NORM, grouped->hidden, 0));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_FINAL_NORM, grouped->hidden, 0));
    TN_TRY(tn_importer_optional(importer, TN_TENSOR_QUERY_NORM, grouped->head, 0));
    TN_TRY(tn_importer_optional(importer, TN_TENSOR_KEY_NORM, grouped->head, 0));
    grouped->experts = role[TN_TENSOR_GATE].experts;
    TN_TRY(tn_importer_optional(importer, TN_TENSOR_ROUTER, grouped->experts, grouped->hidden));
    grouped->kv_heads = key->shape[0] / grouped->head;
    grouped->biases = find_biases(importer);
    if (grouped->kv_heads == 0 || key->shape[0] % grouped->head || importer->out->heads % grouped->kv_heads ||
        (importer->config.size[TN_CONFIG_KV_HEADS] &&
         importer->config.size[TN_CONFIG_KV_HEADS] != grouped->kv_heads))
        return tn_fail_at(importer->error, TN_INPUT, (tn_position){.file = importer->path},
                          "keys of width %" PRIu64 " are not whole heads of %" PRIu64
                          ", of which there are %" PRIu64 " for queries; give --config or --heads",
                          key->shape[0], grouped->head, importer->out->heads);
    return TN_OK;
}

/* Appends the language model that `tenfold finetune` counts (finetune/language_model.h), each line behind `indent`. */
static void import_put_language(const tn_importer *importer, const tn_grouped_sizes *grouped, uint64_t active,
                                const char *indent, tn_buffer *out) {
    const tn_import *import = importer->out;
    const char *i = indent;
    tn_buffer_format(out, "%skind: language-model\n%sname: %s\n%sorigin: derived\n%ssource: ", i, i,
                     importer->options->name, i, i);
    tn_json_quote(importer->path, out);
    tn_buffer_format(out,
                     "\n%shidden: %" PRIu64 "\n%svocabulary: %" PRIu64
                     "\n%stied_embeddings: %s\n%smatrix_bits: 16\n%sother_bits: 16\n",
                     i, grouped->hidden, i, import->vocabulary, i, importer->tied ? "true" : "false", i, i);
    tn_buffer_format(out,
                     "%sattention: {layers: %" PRIu64 ", heads: %" PRIu64 ", kv_heads: %" PRIu64
                     ", head_size: %" PRIu64 ", biases: %" PRIu64 ", flash: true}\n",
                     i, import->layers, import->heads, grouped->kv_heads, grouped->head, grouped->biases);
    tn_buffer_format(out,
                     "%sfeed_forward: {layers: %" PRIu64 ", size: %" PRIu64 ", matrices: 3, experts: %" PRIu64
                     ", active: %" PRIu64 "}\n",
                     i, import->layers, importer->widened, grouped->experts, active);
    tn_buffer_format(
        out,
        "%straining:\n%s  method: lora\n%s  adapters: {rank: 16, attention: true, feed_forward: true, "
        "bits: 32, input_bits: 32}\n%s  checkpointing: true\n",
        i, i, i, i);
}

/* Of a mixture of experts: how many of them a token is sent to, and what layers of experts have no place for. */
static tn_status note_experts(tn_importer *importer, const tn_grouped_sizes *grouped, uint64_t *active) {
    *active = importer->config.size[TN_CONFIG_ACTIVE] ? importer->config.size[TN_CONFIG_ACTIVE] : 2;
    if (*active > grouped->experts) *active = grouped->experts;
    if (importer->config.size[TN_CONFIG_ACTIVE] == 0 && grouped->experts > 1)
        TN_TRY(tn_importer_note(importer,
                                "how many experts a token is sent to is not in the checkpoint: %" PRIu64
                                " are taken; give --config",
                                *active));
    if (grouped->experts < 2) return TN_OK;
    if (importer->role[TN_TENSOR_ROUTER].biases) {
        importer->out->left_out +=
            importer->role[TN_TENSOR_ROUTER].biases * importer->role[TN_TENSOR_ROUTER].bias_elements;
        TN_TRY(tn_importer_note(importer, "biases of the routers are left out"));
    }
    return tn_importer_note(importer, "experts are priced at an even load (capacity: 1)");
}

typedef struct {
    tn_importer *importer;
    tn_model_text text;
    uint64_t hidden, sequence, padded, patch, classes;
    bool language;            /* the output projection is there */
    bool of_example;          /* the classifier takes the first token alone */
    tn_grouped_sizes grouped; /* of a family with grouped queries */
    uint64_t active;          /* experts that a token is sent to */
    const char *activation;
} writer;

static bool has(const writer *w, tn_tensor_role role) {
    return w->importer->role[role].info != NULL;
}

static bool has_experts(const writer *w) {
    return w->importer->family->grouped && w->grouped.experts > 1;
}

/* ---- what is checked before a line is written ---- */

static tn_status check_matrices(tn_importer *importer, uint64_t h, uint64_t wide) {
    if (importer->family->names[TN_TENSOR_FUSED]) {
        TN_TRY(tn_importer_matrix(importer, TN_TENSOR_FUSED, 3 * h, h));
    } else {
        TN_TRY(tn_importer_matrix(importer, TN_TENSOR_QUERY, h, h));
        TN_TRY(tn_importer_matrix(importer, TN_TENSOR_KEY, h, h));
        TN_TRY(tn_importer_matrix(importer, TN_TENSOR_VALUE, h, h));
    }
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_OUTPUT, h, h));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_WIDEN, wide, h));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_NARROW, h, wide));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_ATTENTION_NORM, h, 0));
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_FEED_NORM, h, 0));
    TN_TRY(tn_importer_optional(importer, TN_TENSOR_FIRST_NORM, h, 0));
    TN_TRY(tn_importer_optional(importer, TN_TENSOR_FINAL_NORM, h, 0));
    return tn_importer_optional(importer, TN_TENSOR_POOLER, h, h);
}

/* Activations that are no layer of the training step would be priced and trained as another. */
static tn_status find_activation(writer *w) {
    static const struct {
        const char *said, *kind;
    } known[] = {{"gelu", "gelu"},       {"gelu_new", "gelu"}, {"gelu_fast", "gelu"},
                 {"quick_gelu", "gelu"}, {"relu", "relu"},     {"gelu_pytorch_tanh", "gelu"},
                 {"tanh", "tanh"},       {"silu", "silu"},     {"swish", "silu"}};
    const tn_model_config *config = &w->importer->config;
    w->activation = w->importer->family->activation;
    if (!config->activation) return TN_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(config->activation, known[i].said) == 0) {
            w->activation = known[i].kind;
            return TN_OK;
        }
    return tn_fail_at(w->importer->error, TN_INPUT, (tn_position){.file = config->path},
                      "has the activation \"%.60s\"; a training step has gelu, silu, relu and tanh",
                      config->activation);
}

/* Positions beyond the sequence are left out of the table. */
static tn_status find_sequence(writer *w) {
    tn_importer *importer = w->importer;
    uint64_t asked = importer->options->sequence, positions = importer->positions;
    w->sequence = asked ? asked : positions ? positions : 128;
    if (positions && w->sequence > positions)
        return tn_fail(importer->error, TN_INPUT,
                       "--sequence %" PRIu64 " is more than the %" PRIu64
                       " positions that the checkpoint has",
                       w->sequence, positions);
    if (!has(w, TN_TENSOR_POSITIONS) || w->sequence == positions) return TN_OK;
    importer->out->left_out += (positions - w->sequence) * w->hidden;
    return tn_importer_note(importer, "positions beyond %" PRIu64 " of %" PRIu64 " are left out", w->sequence,
                            positions);
}

static tn_status find_vocabulary(writer *w) {
    tn_import *out = w->importer->out;
    w->padded = out->vocabulary;
    if (out->vocabulary == 0) return TN_OK;
    if (w->language && w->importer->tied)
        return tn_importer_note(w->importer,
                                "the table of %" PRIu64
                                " words is the output projection too and stays dense; --head "
                                "classifier leaves the projection out and folds the table",
                                out->vocabulary);
    w->padded = tn_import_padded(out->vocabulary, w->hidden);
    if (w->padded == out->vocabulary) return TN_OK;
    out->padding = (w->padded - out->vocabulary) * w->hidden;
    return tn_importer_note(w->importer,
                            "the vocabulary of %" PRIu64 " does not fold: padded to %" PRIu64 " (%" PRIu64
                            " rows of zeros, %" PRIu64 " parameters)",
                            out->vocabulary, w->padded, w->padded - out->vocabulary, out->padding);
}

static tn_status add_classifier(writer *w) {
    tn_import *out = w->importer->out;
    w->classes = 2;
    w->of_example = true;
    out->added += w->classes * w->hidden + w->classes;
    return tn_importer_note(w->importer,
                            "a classifier of 2 classes on the first token was added (%" PRIu64 " parameters)",
                            w->classes * w->hidden + w->classes);
}

/* A classifier of every token has no pooler before it; one of an example does, or is known by its name. */
static tn_status find_end(writer *w) {
    tn_importer *importer = w->importer;
    const tn_role_arrays *classifier = &importer->role[TN_TENSOR_CLASSIFIER];
    bool replaced = importer->options->head == TN_HEAD_CLASSIFIER;
    if (classifier->info) {
        const char *score = strstr(classifier->pattern, "score");
        w->classes = classifier->info->shape[0];
        w->of_example = has(w, TN_TENSOR_POOLER) || has(w, TN_TENSOR_PATCHES) || score;
        TN_TRY(tn_importer_optional(importer, TN_TENSOR_CLASSIFIER, w->classes, w->hidden));
    }
    w->language = importer->family->is_decoder && !classifier->info && !replaced;
    if (w->language) return TN_OK;
    if (has(w, TN_TENSOR_HEAD) && !importer->tied)
        importer->out->left_out += importer->role[TN_TENSOR_HEAD].info->elements;
    return classifier->info ? TN_OK : add_classifier(w);
}

/* Every layer of a model file has biases where the family has; where an array is missing, the model has more. */
static bool bias_of(writer *w, tn_tensor_role role) {
    return w->importer->role[role].biases > 0;
}

static uint64_t missing_shifts(const writer *w) {
    static const tn_tensor_role norms[] = {TN_TENSOR_FIRST_NORM, TN_TENSOR_ATTENTION_NORM,
                                           TN_TENSOR_FEED_NORM, TN_TENSOR_FINAL_NORM};
    uint64_t missing = 0;
    for (int i = 0; i < 4; i++)
        missing += w->importer->role[norms[i]].arrays - w->importer->role[norms[i]].biases;
    return missing;
}

/* What the layers do otherwise than the published model. */
static tn_status note_grouped(writer *w) {
    tn_importer *importer = w->importer;
    if (!importer->family->grouped) return TN_OK;
    TN_TRY(note_experts(importer, &w->grouped, &w->active));
    if (has(w, TN_TENSOR_CLASSIFIER))
        TN_TRY(tn_importer_note(
            importer, "the classifier takes the first token, which under a causal mask sees itself alone: it "
                      "stands for the last in counts and prices"));
    if (importer->config.rotary_scaled)
        TN_TRY(tn_importer_note(
            importer, "rope_scaling changes the angles of rotary positions; the layers turn by unscaled "
                      "ones"));
    return importer->config.path
               ? TN_OK
               : tn_importer_note(importer, "rotary positions of base 10000 are taken; give --config");
}

static tn_status check(writer *w) {
    tn_importer *importer = w->importer;
    w->hidden = importer->out->hidden;
    TN_TRY(importer->family->grouped ? import_grouped(importer, &w->grouped)
                                     : check_matrices(importer, w->hidden, importer->widened));
    if (has(w, TN_TENSOR_TYPES))
        TN_TRY(tn_importer_optional(importer, TN_TENSOR_TYPES, importer->role[TN_TENSOR_TYPES].info->shape[0],
                                    w->hidden));
    if (has(w, TN_TENSOR_PATCHES)) {
        w->patch = importer->role[TN_TENSOR_PATCHES].info->elements / w->hidden;
        TN_TRY(tn_importer_optional(importer, TN_TENSOR_PATCHES, w->hidden, w->patch));
    }
    TN_TRY(find_activation(w));
    TN_TRY(find_sequence(w));
    TN_TRY(find_end(w));
    TN_TRY(find_vocabulary(w));
    TN_TRY(note_grouped(w));
    uint64_t shifts = importer->family->grouped ? 0 : missing_shifts(w);
    if (shifts == 0) return TN_OK;
    importer->out->added += shifts * w->hidden;
    return tn_importer_note(
        importer, "%" PRIu64 " norms have no shift in the checkpoint; a layer-norm has one", shifts);
}

/* ---- the layers ---- */

static void put_entry(writer *w) {
    tn_model_text *text = &w->text;
    const char *target = "embedding";
    if (has(w, TN_TENSOR_PATCHES)) {
        tn_model_text_input(text, "pixels", w->patch);
        tn_model_text_linear(text, "patches", w->hidden, w->patch, bias_of(w, TN_TENSOR_PATCHES), NULL, NULL);
        target = "patches";
    } else
        tn_model_text_embedding(text, "embedding", w->padded, w->hidden, w->language && w->importer->tied);
    if (has(w, TN_TENSOR_CLASS_TOKEN)) {
        tn_model_text_embedding(text, "class-token", 1, w->hidden, true);
        tn_model_text_residual(text, "with-class", target, "class-token");
        target = "with-class";
    }
    if (has(w, TN_TENSOR_POSITIONS)) {
        tn_model_text_layer(text, "positions", "positions", NULL);
        target = "positions";
    }
    if (has(w, TN_TENSOR_TYPES)) {
        tn_model_text_embedding(text, "types", w->importer->role[TN_TENSOR_TYPES].info->shape[0], w->hidden,
                                true);
        tn_model_text_residual(text, "with-types", target, "types");
    }
    if (has(w, TN_TENSOR_FIRST_NORM)) tn_model_text_layer(text, "first-norm", "layer-norm", NULL);
}

/* A norm, attention of grouped queries with positions as angles, and a gated feed-forward. */
static void put_grouped_layers(writer *w) {
    tn_model_text *text = &w->text;
    const tn_importer *importer = w->importer;
    const tn_model_text_heads heads = {importer->out->heads, w->grouped.kv_heads, true};
    const uint64_t h = w->hidden, inner = importer->widened, wide = heads.heads * w->grouped.head,
                   shared = heads.kv_heads * w->grouped.head;
    const double base = importer->config.rotary_base > 0 ? importer->config.rotary_base : 10000;
    const bool query_norm = has(w, TN_TENSOR_QUERY_NORM), key_norm = has(w, TN_TENSOR_KEY_NORM);
    tn_model_text_layer(text, "attention-norm", "rms-norm", "entry");
    tn_model_text_linear(text, "query", wide, h, bias_of(w, TN_TENSOR_QUERY), "attention-norm", NULL);
    tn_model_text_linear(text, "key", shared, h, bias_of(w, TN_TENSOR_KEY), "attention-norm", NULL);
    tn_model_text_linear(text, "value", shared, h, bias_of(w, TN_TENSOR_VALUE), "attention-norm", NULL);
    if (query_norm) tn_model_text_head_norm(text, "query-norm", heads.heads, "query");
    if (key_norm) tn_model_text_head_norm(text, "key-norm", heads.kv_heads, "key");
    tn_model_text_rotary(text, "query-rotary", heads.heads, base, query_norm ? "query-norm" : "query");
    tn_model_text_rotary(text, "key-rotary", heads.kv_heads, base, key_norm ? "key-norm" : "key");
    tn_model_text_attention(text, "attention", &heads, "query-rotary", "key-rotary", "value");
    tn_model_text_linear(text, "output", h, wide, bias_of(w, TN_TENSOR_OUTPUT), NULL, NULL);
    tn_model_text_residual(text, "attention-residual", "entry", "output");
    tn_model_text_layer(text, "feed-norm", "rms-norm", NULL);
    if (has_experts(w)) {
        tn_model_text_experts(text, "experts",
                              &(tn_model_text_moe){w->grouped.experts, w->active, inner, h, w->activation,
                                                   bias_of(w, TN_TENSOR_NARROW)});
        tn_model_text_residual(text, "feed-residual", "attention-residual", "experts");
        return;
    }
    tn_model_text_linear(text, "gate", inner, h, bias_of(w, TN_TENSOR_GATE), "feed-norm", NULL);
    tn_model_text_layer(text, "activation", w->activation, NULL);
    tn_model_text_linear(text, "widen", inner, h, bias_of(w, TN_TENSOR_WIDEN), "feed-norm", NULL);
    tn_model_text_pair(text, "gated", "multiply", "activation", "widen");
    tn_model_text_linear(text, "narrow", h, inner, bias_of(w, TN_TENSOR_NARROW), NULL, NULL);
    tn_model_text_residual(text, "feed-residual", "attention-residual", "narrow");
}

/* A norm before or behind attention, then one before or behind the feed-forward. */
static void put_layers(writer *w) {
    tn_model_text *text = &w->text;
    const tn_importer *importer = w->importer;
    const tn_model_text_heads heads = {importer->out->heads, importer->out->heads,
                                       importer->family->is_decoder};
    uint64_t h = w->hidden, wide = importer->widened;
    bool first = importer->family->norm_first, fused = importer->family->names[TN_TENSOR_FUSED] != NULL;
    const char *source = first ? "attention-norm" : "entry";
    if (first) tn_model_text_layer(text, "attention-norm", "layer-norm", "entry");
    tn_model_text_linear(text, "query", h, h, bias_of(w, fused ? TN_TENSOR_FUSED : TN_TENSOR_QUERY), source,
                         NULL);
    tn_model_text_linear(text, "key", h, h, bias_of(w, fused ? TN_TENSOR_FUSED : TN_TENSOR_KEY), source,
                         NULL);
    tn_model_text_linear(text, "value", h, h, bias_of(w, fused ? TN_TENSOR_FUSED : TN_TENSOR_VALUE), source,
                         NULL);
    tn_model_text_attention(text, "attention", &heads, "query", "key", "value");
    tn_model_text_linear(text, "output", h, h, bias_of(w, TN_TENSOR_OUTPUT), NULL, NULL);
    tn_model_text_residual(text, "attention-residual", "entry", "output");
    tn_model_text_layer(text, first ? "feed-norm" : "attention-norm", "layer-norm", NULL);
    tn_model_text_linear(text, "widen", wide, h, bias_of(w, TN_TENSOR_WIDEN), NULL, NULL);
    tn_model_text_layer(text, "activation", w->activation, NULL);
    tn_model_text_linear(text, "narrow", h, wide, bias_of(w, TN_TENSOR_NARROW), NULL, NULL);
    tn_model_text_residual(text, "feed-residual", first ? "attention-residual" : "attention-norm", "narrow");
    if (!first) tn_model_text_layer(text, "feed-norm", "layer-norm", NULL);
}

static void put_block(writer *w) {
    tn_buffer_format(&w->text.layers, "  - name: %s\n    kind: block\n    repeat: %" PRIu64 "\n    layers:\n",
                     tn_importer_block(w->importer), w->importer->out->layers);
    w->text.indent = "      ";
    w->importer->family->grouped ? put_grouped_layers(w) : put_layers(w);
    w->text.indent = "  ";
}

static void put_end(writer *w) {
    tn_model_text *text = &w->text;
    const tn_importer *importer = w->importer;
    bool added = !has(w, TN_TENSOR_CLASSIFIER);
    if (has(w, TN_TENSOR_FINAL_NORM))
        tn_model_text_layer(text, "final-norm", importer->family->grouped ? "rms-norm" : "layer-norm", NULL);
    if (w->language) {
        tn_model_text_linear(text, "head", importer->out->vocabulary, w->hidden, bias_of(w, TN_TENSOR_HEAD),
                             NULL, importer->tied ? "embedding" : NULL);
    } else {
        if (w->of_example) tn_model_text_layer(text, "first-token", "first-token", NULL);
        if (has(w, TN_TENSOR_POOLER)) {
            tn_model_text_linear(text, "pooler", w->hidden, w->hidden, bias_of(w, TN_TENSOR_POOLER), NULL,
                                 NULL);
            tn_model_text_layer(text, "pooler-activation",
                                strcmp(importer->family->name, "distilbert") == 0 ? "relu" : "tanh", NULL);
        }
        tn_model_text_linear(text, "classifier", w->classes, w->hidden,
                             added || bias_of(w, TN_TENSOR_CLASSIFIER), NULL, NULL);
    }
    tn_model_text_layer(text, "loss", "cross-entropy", NULL);
}

/* ---- the mapping ---- */

static void map(writer *w, const char *layer, tn_tensor_role role, const char *more) {
    if (has(w, role)) tn_model_text_map(&w->text, layer, w->importer->role[role].pattern, more);
}

/* The pattern of a role with the number of another expert, which stands behind "experts.". */
static void map_expert(writer *w, const char *layer, tn_tensor_role role, uint64_t expert) {
    static const char marker[] = "experts.";
    const char *pattern = w->importer->role[role].pattern, *start = strstr(pattern, marker);
    char tensor[1024];
    if (!start) return;
    start += sizeof marker - 1;
    snprintf(tensor, sizeof tensor, "%.*s%" PRIu64 "%s", (int)(start - pattern), pattern, expert,
             start + strspn(start, "0123456789"));
    tn_model_text_map(&w->text, layer, tensor, "");
}

static void map_experts(writer *w, const char *block) {
    static const struct {
        tn_tensor_role role;
        const char *part;
    } matrices[] = {{TN_TENSOR_WIDEN, "up"}, {TN_TENSOR_GATE, "gate"}, {TN_TENSOR_NARROW, "down"}};
    char layer[96];
    snprintf(layer, sizeof layer, "%s{i}.experts.router", block);
    map(w, layer, TN_TENSOR_ROUTER, "");
    for (uint64_t e = 0; e < w->grouped.experts; e++)
        for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
            snprintf(layer, sizeof layer, "%s{i}.experts.expert%" PRIu64 "-%s", block, e + 1,
                     matrices[k].part);
            map_expert(w, layer, matrices[k].role, e);
        }
}

/* The matrices of the layers that repeat. */
static void map_block(writer *w) {
    static const tn_tensor_role matrices[] = {TN_TENSOR_QUERY,  TN_TENSOR_KEY,  TN_TENSOR_VALUE,
                                              TN_TENSOR_OUTPUT, TN_TENSOR_GATE, TN_TENSOR_WIDEN,
                                              TN_TENSOR_NARROW};
    enum { FEED_FORWARD = 4 }; /* the first of them that an expert has of its own */
    static const tn_tensor_role parts[] = {TN_TENSOR_QUERY, TN_TENSOR_KEY, TN_TENSOR_VALUE};
    const char *block = tn_importer_block(w->importer);
    char layer[64], more[128];
    for (uint64_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        snprintf(layer, sizeof layer, "%s{i}.%s", block, tn_tensor_layer(parts[k]));
        snprintf(more, sizeof more, ", %s: [%" PRIu64 ", %" PRIu64 "]",
                 w->importer->family->input_rows ? "columns" : "rows", k * w->hidden, w->hidden);
        map(w, layer, TN_TENSOR_FUSED, more);
    }
    if (has_experts(w)) map_experts(w, block);
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
        if (has_experts(w) && k >= FEED_FORWARD) break;
        snprintf(layer, sizeof layer, "%s{i}.%s", block, tn_tensor_layer(matrices[k]));
        map(w, layer, matrices[k], "");
    }
}

static void put_mapping(writer *w) {
    const char *tables = w->importer->family->input_rows ? ", convention: rows-are-output" : "";
    char more[128];
    snprintf(more, sizeof more, "%s%s", w->padded != w->importer->out->vocabulary ? ", padded: true" : "",
             tables);
    map(w, "embedding", TN_TENSOR_WORDS, more);
    map(w, "patches", TN_TENSOR_PATCHES, "");
    map_block(w);
    if (w->language) {
        if (!w->importer->tied) map(w, "head", TN_TENSOR_HEAD, tables);
        return;
    }
    map(w, "pooler", TN_TENSOR_POOLER, "");
    map(w, "classifier", TN_TENSOR_CLASSIFIER, tables);
}

static tn_status put_file(writer *w, tn_buffer *out) {
    const tn_importer *importer = w->importer;
    tn_importer_begin(importer, out);
    tn_buffer_format(out,
                     "kind: model\nname: %s\nbatch: %" PRIu64 "\nsequence: %" PRIu64
                     "\nprecision: fp32\noptimizer: sgd\nflow: optimal\n\n",
                     importer->options->name, importer->options->batch ? importer->options->batch : 1,
                     w->sequence);
    if (importer->family->grouped) {
        tn_buffer_text(out, "# as `tenfold finetune` counts and prices it\nlanguage_model:\n");
        import_put_language(importer, &w->grouped, has_experts(w) ? w->active : 1, "  ", out);
        tn_buffer_text(out, "\n");
    }
    put_entry(w);
    put_block(w);
    put_end(w);
    put_mapping(w);
    return tn_model_text_finish(&w->text, importer->family->input_rows ? "input-rows" : "rows-are-output",
                                out, importer->error);
}

tn_status tn_import_layers(tn_importer *importer, tn_buffer *out) {
    writer w = {.importer = importer};
    tn_model_text_begin(&w.text, importer->options->rank);
    tn_status status = check(&w);
    if (status == TN_OK) status = put_file(&w, out);
    tn_model_text_free(&w.text);
    return status;
}
