#include "ranks/model_text.h"

#include "text/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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

/* factor[count]: those of n of which the largest is least, rising; false where that is over twice what equal factors would
 * be, or n has no such factors. */
static bool balanced_factors(uint64_t n, unsigned count, uint64_t factor[TN_IMPORT_FACTORS_MOST]) {
    const double uneven = 2;
    const uint64_t largest = (uint64_t)1
                             << 40; /* no side of a matrix that anyone has; factors are tried one by one */
    uint64_t own[TN_IMPORT_FACTORS_MOST];
    double best = INFINITY;
    if (n < 4 || n > largest) return false;
    split(n, count, 2, own, &best, factor, count);
    return best <= uneven * pow((double)n, 1.0 / count) + 1e-9;
}

/* Three factors a side where both sides have such, else two, else four, rising; 0: none, the matrix stays dense. */
static unsigned import_fold(uint64_t m, uint64_t n, uint64_t rows[TN_IMPORT_FACTORS_MOST],
                            uint64_t columns[TN_IMPORT_FACTORS_MOST]) {
    static const unsigned order[] = {3, 2, 4};
    for (int i = 0; i < 3; i++)
        if (balanced_factors(m, order[i], rows) && balanced_factors(n, order[i], columns)) return order[i];
    return 0;
}

/* Three factors a side where both sides have such, else two, else four, rising; 0: none, the matrix stays dense. */
static bool import_folds(uint64_t m, uint64_t n) {
    uint64_t rows[TN_IMPORT_FACTORS_MOST], columns[TN_IMPORT_FACTORS_MOST];
    return import_fold(m, n, rows, columns) > 0;
}

uint64_t tn_import_padded(uint64_t vocabulary, uint64_t width) {
    uint64_t rows[TN_IMPORT_FACTORS_MOST], columns[TN_IMPORT_FACTORS_MOST];
    for (uint64_t v = vocabulary; v <= vocabulary + vocabulary / 16 + 16; v++)
        if (import_fold(v, width, rows, columns) == 3) return v;
    return vocabulary;
}

void tn_model_text_begin(tn_model_text *text, uint64_t rank) {
    *text = (tn_model_text){.rank = rank, .indent = "  "};
}

void tn_model_text_free(tn_model_text *text) {
    tn_buffer_free(&text->layers);
    tn_buffer_free(&text->mapping);
}

/* Whether the matrix has an entry of `weights`, which is made where there is none. */
static bool has_weight(tn_model_text *text, uint64_t rows, uint64_t columns, bool table) {
    for (size_t i = 0; i < text->shapes; i++)
        if (text->shape[i].rows == rows && text->shape[i].columns == columns && text->shape[i].table == table)
            return true;
    if (text->shapes == TN_MODEL_TEXT_SHAPES_MOST || !import_folds(rows, columns)) return false;
    text->shape[text->shapes].rows = rows;
    text->shape[text->shapes].columns = columns;
    text->shape[text->shapes++].table = table;
    return true;
}

static void begin(tn_model_text *text, const char *name, const char *kind) {
    tn_buffer_format(&text->layers, "%s- {name: %s, kind: %s", text->indent, name, kind);
}

static void end(tn_model_text *text, const char *input) {
    if (input) tn_buffer_format(&text->layers, ", input: %s", input);
    tn_buffer_text(&text->layers, "}\n");
}

void tn_model_text_layer(tn_model_text *text, const char *name, const char *kind, const char *input) {
    begin(text, name, kind);
    end(text, input);
}

void tn_model_text_linear(tn_model_text *text, const char *name, uint64_t m, uint64_t n, bool bias,
                          const char *input, const char *tied) {
    begin(text, name, "linear");
    tn_buffer_format(&text->layers, ", outputs: %" PRIu64, m);
    if (!tied && has_weight(text, m, n, false))
        tn_buffer_format(&text->layers, ", weight: matrix%" PRIu64 "x%" PRIu64, m, n);
    if (!bias) tn_buffer_text(&text->layers, ", bias: false");
    if (tied) tn_buffer_format(&text->layers, ", tied: %s", tied);
    end(text, input);
}

/* A key for both sides, or one for each. */
static void put_sides(tn_model_text *text, const char *key, const uint64_t *side) {
    tn_buffer_format(&text->layers, ", %s: %" PRIu64, key, side[0]);
    if (side[1] != side[0]) tn_buffer_format(&text->layers, ", %s_width: %" PRIu64, key, side[1]);
}

void tn_model_text_conv(tn_model_text *text, const char *name, uint64_t m, uint64_t n,
                        const tn_model_text_window *window, bool bias, const char *input) {
    begin(text, name, "conv");
    tn_buffer_format(&text->layers, ", outputs: %" PRIu64 ", height: %" PRIu64 ", width: %" PRIu64, m,
                     window->picture[0], window->picture[1]);
    put_sides(text, "kernel", window->kernel);
    put_sides(text, "stride", window->stride);
    put_sides(text, "padding", window->padding);
    if (has_weight(text, m, n, false))
        tn_buffer_format(&text->layers, ", weight: matrix%" PRIu64 "x%" PRIu64, m, n);
    if (!bias) tn_buffer_text(&text->layers, ", bias: false");
    end(text, input);
}

void tn_model_text_embedding(tn_model_text *text, const char *name, uint64_t vocabulary, uint64_t width,
                             bool whole) {
    begin(text, name, "embedding");
    tn_buffer_format(&text->layers, ", vocabulary: %" PRIu64 ", width: %" PRIu64, vocabulary, width);
    if (!whole && has_weight(text, vocabulary, width, true))
        tn_buffer_format(&text->layers, ", weight: table%" PRIu64 "x%" PRIu64, vocabulary, width);
    end(text, NULL);
}

void tn_model_text_attention(tn_model_text *text, const char *name, const tn_model_text_heads *heads,
                             const char *query, const char *key, const char *value) {
    begin(text, name, "attention");
    tn_buffer_format(&text->layers, ", heads: %" PRIu64, heads->heads);
    if (heads->kv_heads != heads->heads)
        tn_buffer_format(&text->layers, ", kv_heads: %" PRIu64, heads->kv_heads);
    if (heads->causal) tn_buffer_text(&text->layers, ", causal: true");
    tn_buffer_format(&text->layers, ", input: [%s, %s, %s]}\n", query, key, value);
}

void tn_model_text_head_norm(tn_model_text *text, const char *name, uint64_t heads, const char *input) {
    begin(text, name, "rms-norm");
    tn_buffer_format(&text->layers, ", heads: %" PRIu64, heads);
    end(text, input);
}

void tn_model_text_rotary(tn_model_text *text, const char *name, uint64_t heads, double base,
                          const char *input) {
    begin(text, name, "rotary");
    tn_buffer_format(&text->layers, ", heads: %" PRIu64 ", base: %.17g", heads, base);
    end(text, input);
}

void tn_model_text_experts(tn_model_text *text, const char *name, const tn_model_text_moe *moe) {
    begin(text, name, "moe");
    tn_buffer_format(&text->layers,
                     ", experts: %" PRIu64 ", top: %" PRIu64 ", hidden: %" PRIu64
                     ", gated: true, activation: %s, capacity: 1",
                     moe->experts, moe->top, moe->hidden, moe->activation);
    if (has_weight(text, moe->hidden, moe->width, false))
        tn_buffer_format(&text->layers,
                         ", up: matrix%" PRIu64 "x%" PRIu64 ", gate: matrix%" PRIu64 "x%" PRIu64, moe->hidden,
                         moe->width, moe->hidden, moe->width);
    if (has_weight(text, moe->width, moe->hidden, false))
        tn_buffer_format(&text->layers, ", down: matrix%" PRIu64 "x%" PRIu64, moe->width, moe->hidden);
    if (!moe->bias) tn_buffer_text(&text->layers, ", bias: false");
    end(text, NULL);
}

void tn_model_text_pair(tn_model_text *text, const char *name, const char *kind, const char *a,
                        const char *b) {
    begin(text, name, kind);
    tn_buffer_format(&text->layers, ", input: [%s, %s]}\n", a, b);
}

void tn_model_text_residual(tn_model_text *text, const char *name, const char *a, const char *b) {
    tn_model_text_pair(text, name, "residual", a, b);
}

void tn_model_text_input(tn_model_text *text, const char *name, uint64_t width) {
    begin(text, name, "input");
    tn_buffer_format(&text->layers, ", width: %" PRIu64 "}\n", width);
}

/* Names of arrays are what a file says: quoted. */
void tn_model_text_map(tn_model_text *text, const char *layer, const char *tensor, const char *more) {
    tn_buffer_format(&text->mapping, "    - {layer: \"%s\", tensor: ", layer);
    tn_json_quote(tensor, &text->mapping);
    tn_buffer_format(&text->mapping, "%s}\n", more ? more : "");
}

/* Outputs have the greatest factor first, inputs the least: the largest stand outside. */
static void put_weight(const tn_model_text *text, size_t i, tn_buffer *out) {
    uint64_t rows[TN_IMPORT_FACTORS_MOST], columns[TN_IMPORT_FACTORS_MOST];
    uint64_t m = text->shape[i].rows, n = text->shape[i].columns;
    bool table = text->shape[i].table;
    unsigned d = import_fold(m, n, rows, columns);
    tn_buffer_format(out, "  %s%" PRIu64 "x%" PRIu64 ": {format: %s, m: ", table ? "table" : "matrix", m, n,
                     table ? "ttm" : "tt");
    for (unsigned k = d; k-- > 0;) tn_buffer_format(out, "%" PRIu64 "%s", rows[k], k ? "x" : ", n: ");
    for (unsigned k = 0; k < d; k++) tn_buffer_format(out, "%s%" PRIu64, k ? "x" : "", columns[k]);
    tn_buffer_format(out, ", rank: %" PRIu64 "%s}\n", text->rank, table ? ", flow: optimal" : "");
}

tn_status tn_model_text_finish(const tn_model_text *text, const char *convention, tn_buffer *out,
                               tn_error *error) {
    if (text->shapes) tn_buffer_text(out, "weights:\n");
    for (size_t i = 0; i < text->shapes; i++) put_weight(text, i, out);
    tn_buffer_text(out, "\nlayers:\n");
    tn_buffer_bytes(out, text->layers.data, text->layers.length);
    tn_buffer_format(out, "\ncheckpoint:\n  convention: %s\n", convention);
    if (text->mapping.length) tn_buffer_text(out, "  tensors:\n");
    tn_buffer_bytes(out, text->mapping.data, text->mapping.length);
    if (text->layers.status == TN_OK && text->mapping.status == TN_OK && out->status == TN_OK) return TN_OK;
    return tn_fail(error, TN_MEMORY, "no memory for the model file");
}
