#include "cli/technique_questions.h"

#include "base/name_index.h"
#include "cli/output.h"
#include "kernel/systolic.h"
#include "model/technique.h"

#include <inttypes.h>
#include <string.h>

static const char *const labels[] = {"name", "id"}; /* columns of a batch that are passed on */
enum { LABELS = sizeof labels / sizeof *labels, NO_COLUMN = -1 };

static tn_status ask(const tn_technique_formula *f, const tn_csv_cell *value, tn_position row,
                     tn_arena *arena, void **answer, tn_error *error) {
    tn_error unplaced = {0};
    TN_TRY(tn_arena_alloc(arena, 1, f->answers->size, answer, error));
    tn_status status = f->ask(f->context, value, arena, *answer, &unplaced);
    if (status == TN_OK) return TN_OK;
    if (unplaced.file[0]) row = (tn_position){unplaced.file, unplaced.line, unplaced.column};
    return tn_fail_at(error, status, row, "%s", unplaced.message);
}

/* --- One question. */

static tn_status answer_one(const tn_technique_formula *f, bool as_json, tn_arena *arena, tn_error *error) {
    tn_csv_cell value[TN_FORMULA_KEYS_MOST] = {0};
    void *answer;
    for (size_t k = 0; k < f->keys; k++) {
        value[k].text = f->key[k].given;
        if (!value[k].text && f->key[k].required)
            return tn_fail(error, TN_INPUT, "%s needs --%s, %s", f->name, f->key[k].name, f->key[k].help);
    }
    TN_TRY(ask(f, value, (tn_position){0}, arena, &answer, error));
    if (!as_json) return tn_output_rows(f->answers, answer, 1, error);
    tn_buffer out = {0};
    tn_json json;
    tn_answer_begin(&json, &out);
    f->put_head(f->context, &json);
    f->put_asked(f->context, &json);
    tn_record_keys(f->answers, answer, &json);
    tn_json_end(&json);
    return tn_output(&out, error);
}

/* --- A batch: a question a row. */

static bool same_name(const char *key, const char *column) {
    size_t i = 0;
    for (; key[i] && column[i]; i++)
        if (key[i] != column[i] && !(key[i] == '-' && column[i] == '_')) return false;
    return key[i] == column[i];
}

static bool is_label(const char *name) {
    for (size_t i = 0; i < LABELS; i++)
        if (strcmp(labels[i], name) == 0) return true;
    return false;
}

static tn_status refuse_column(const tn_technique_formula *f, const tn_csv_cell *head, tn_error *error) {
    const char *names[TN_FORMULA_KEYS_MOST + LABELS];
    for (size_t i = 0; i < f->answers->columns; i++)
        if (f->answers->column[i].key && strcmp(f->answers->column[i].key, head->text) == 0)
            return tn_fail_at(error, TN_INPUT, head->position,
                              "column '%s' is what %s answers; rename or remove it", head->text, f->name);
    for (size_t k = 0; k < f->keys; k++) names[k] = f->key[k].name;
    memcpy(names + f->keys, labels, sizeof labels);
    char told[512];
    return tn_fail_at(error, TN_INPUT, head->position, "%s has no column '%.60s'; %s", f->name, head->text,
                      tn_suggestion(head->text, names, f->keys + LABELS, told, sizeof told));
}

/* Where each key's text comes from: its column, or NO_COLUMN and then the option. */
static tn_status map_columns(const tn_technique_formula *f, const tn_csv *csv, int *column, tn_error *error) {
    for (size_t k = 0; k < f->keys; k++) column[k] = NO_COLUMN;
    for (size_t c = 0; c < csv->columns; c++) {
        size_t k = 0;
        while (k < f->keys && !same_name(f->key[k].name, csv->head[c].text)) k++;
        if (k == f->keys && is_label(csv->head[c].text)) continue;
        if (k == f->keys) return refuse_column(f, &csv->head[c], error);
        if (f->key[k].given || column[k] != NO_COLUMN)
            return tn_fail_at(error, TN_INPUT, csv->head[c].position, "%s is given twice; give it once",
                              f->key[k].name);
        column[k] = (int)c;
    }
    for (size_t k = 0; k < f->keys; k++)
        if (f->key[k].required && column[k] == NO_COLUMN && !f->key[k].given)
            return tn_fail_at(error, TN_INPUT, (tn_position){csv->file, 1, 1},
                              "a batch for %s needs a column '%s', %s", f->name, f->key[k].name,
                              f->key[k].help);
    return TN_OK;
}

static tn_status ask_row(const tn_technique_formula *f, const tn_csv *csv, size_t row, const int *column,
                         tn_arena *arena, void **answer, tn_error *error) {
    tn_csv_cell value[TN_FORMULA_KEYS_MOST] = {0};
    for (size_t k = 0; k < f->keys; k++)
        value[k] = column[k] == NO_COLUMN ? (tn_csv_cell){.text = f->key[k].given}
                                          : *tn_csv_at(csv, row, (size_t)column[k]);
    return ask(f, value, csv->columns ? tn_csv_at(csv, row, 0)->position : (tn_position){0}, arena, answer,
               error);
}

static void put_csv_row(const tn_technique_formula *f, const tn_csv *csv, size_t row, const void *answer,
                        tn_buffer *out) {
    for (size_t c = 0; c < csv->columns; c++) tn_csv_put(out, tn_csv_at(csv, row, c)->text);
    tn_record_csv(f->answers, answer, out);
    tn_csv_line(out);
}

static void put_json_row(const tn_technique_formula *f, const tn_csv *csv, size_t row, const void *answer,
                         tn_json *json) {
    tn_json_object(json);
    for (size_t i = 0; i < LABELS; i++) {
        size_t column = tn_csv_column(csv, labels[i]);
        if (column < csv->columns) tn_json_put_text(json, labels[i], tn_csv_at(csv, row, column)->text);
    }
    f->put_asked(f->context, json);
    tn_record_keys(f->answers, answer, json);
    tn_json_end(json);
}

static tn_status answer_rows(const tn_technique_formula *f, const tn_csv *csv, bool as_json, tn_buffer *out,
                             tn_error *error) {
    int column[TN_FORMULA_KEYS_MOST];
    tn_json json;
    TN_TRY(map_columns(f, csv, column, error));
    if (as_json) {
        tn_answer_begin(&json, out);
        f->put_head(f->context, &json);
        tn_json_key(&json, "rows");
        tn_json_array(&json);
    } else {
        for (size_t c = 0; c < csv->columns; c++) tn_csv_put(out, csv->head[c].text);
        tn_record_csv_head(f->answers, out);
        tn_csv_line(out);
    }
    tn_arena arena = {0}; /* of a row */
    tn_status status = TN_OK;
    for (size_t row = 0; row < csv->rows && status == TN_OK; row++) {
        void *answer;
        tn_arena_reset(&arena);
        status = ask_row(f, csv, row, column, &arena, &answer, error);
        if (status != TN_OK) break;
        if (as_json)
            put_json_row(f, csv, row, answer, &json);
        else
            put_csv_row(f, csv, row, answer, out);
    }
    tn_arena_free(&arena);
    if (status != TN_OK || !as_json) return status;
    tn_json_end(&json);
    tn_json_end(&json);
    return TN_OK;
}

tn_status tn_formula_answer(const tn_technique_formula *formula, const char *batch, bool json,
                            tn_arena *arena, tn_error *error) {
    tn_csv csv;
    tn_buffer out = {0};
    if (!batch) return answer_one(formula, json, arena, error);
    TN_TRY(tn_csv_load(batch, arena, &csv, error));
    return tn_output_made(answer_rows(formula, &csv, json, &out, error), &out, error);
}

#define BACKWARD_HELP "backward work of a layer over its forward work"

/* --- fast */

typedef struct fast {
    uint64_t group, exponent, mantissa, weights, activations, gradients;
} fast;
static const tn_field fast_keys[] = {
    TN_KEY(COUNT, fast, group, "values that share an exponent", TN_FROM(1)),
    TN_KEY(COUNT, fast, exponent, "bits of the exponent", TN_FROM(1)),
    TN_KEY(COUNT, fast, mantissa, "bits of a mantissa, in chunks of 2", TN_FROM(1)),
    TN_KEY(COUNT, fast, weights, "mantissa bits of weights", TN_FROM(1)),
    TN_KEY(COUNT, fast, activations, "mantissa bits of activations", TN_FROM(1)),
    TN_KEY(COUNT, fast, gradients, "mantissa bits of gradients", TN_FROM(1)),
};
typedef struct fast_answer {
    uint64_t group_bits, passes;
    bool has_bits, has_passes;
} fast_answer;
static const tn_column fast_answers[] = {
    TN_COLUMN(fast_answer, group_bits, "group, bits", TN_WHEN(fast_answer, has_bits), TN_OPTIONAL),
    TN_COLUMN(fast_answer, passes, "passes of the three products", TN_WHEN(fast_answer, has_passes),
              TN_OPTIONAL),
};

static tn_status ask_fast(const void *question, void *answer, tn_error *error) {
    const fast *q = question;
    fast_answer *a = answer;
    int format = (q->group > 0) + (q->exponent > 0) + (q->mantissa > 0);
    int products = (q->weights > 0) + (q->activations > 0) + (q->gradients > 0);
    if (format % 3 != 0 || products % 3 != 0 || format + products == 0)
        return tn_fail(error, TN_INPUT,
                       "fast takes --group, --exponent and --mantissa together, or --weights, --activations "
                       "and --gradients, or all six");
    a->has_bits = format > 0;
    a->has_passes = products > 0;
    if (a->has_bits) TN_TRY(tn_fast_group_bits(q->group, q->exponent, q->mantissa, &a->group_bits, error));
    if (!a->has_passes) return TN_OK;
    return tn_fast_passes(q->weights, q->activations, q->gradients, &a->passes, error);
}

/* --- checkpointing, reversible */

typedef struct checkpointing {
    uint64_t layers, segments;
    double backward;
} checkpointing;
static const tn_field checkpointing_keys[] = {
    TN_KEY(COUNT, checkpointing, layers, "layers of equal activations", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(COUNT, checkpointing, segments, "segments, 1 to as many as layers", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(REAL, checkpointing, backward, BACKWARD_HELP, TN_DEFAULT("2"), TN_WITHIN(0, 1e6)),
};
typedef struct checkpointing_answer {
    uint64_t live;
    double time_ratio;
} checkpointing_answer;
static const tn_column checkpointing_answers[] = {
    TN_COLUMN(checkpointing_answer, live, "live (activations of a layer)"),
    TN_COLUMN(checkpointing_answer, time_ratio, "time, times"),
};

static tn_status ask_checkpointing(const void *question, void *answer, tn_error *error) {
    const checkpointing *q = question;
    checkpointing_answer *a = answer;
    a->time_ratio = tn_checkpointing_time_ratio(q->segments, q->backward);
    return tn_checkpointing_live(q->layers, q->segments, &a->live, error);
}

typedef struct reversible {
    double backward;
} reversible;
static const tn_field reversible_keys[] = {
    TN_KEY(REAL, reversible, backward, BACKWARD_HELP, TN_DEFAULT("2"), TN_WITHIN(0, 1e6)),
};
typedef struct reversible_answer {
    double time_ratio;
} reversible_answer;
static const tn_column reversible_answers[] = {TN_COLUMN(reversible_answer, time_ratio, "time, times")};

static tn_status ask_reversible(const void *question, void *answer, tn_error *error) {
    const reversible *q = question;
    (void)error;
    ((reversible_answer *)answer)->time_ratio = tn_reversible_time_ratio(q->backward);
    return TN_OK;
}

/* --- procrustes */

typedef struct procrustes {
    tn_count_list tiles;
} procrustes;
static const tn_field procrustes_keys[] = {
    TN_KEY(COUNT_LIST, procrustes, tiles, "non-zeros of each tile: 10,2,8,4", TN_REQUIRED),
};
typedef struct procrustes_answer {
    uint64_t unbalanced, balanced;
} procrustes_answer;
static const tn_column procrustes_answers[] = {
    TN_COLUMN(procrustes_answer, unbalanced, "unbalanced, cycles"),
    TN_COLUMN(procrustes_answer, balanced, "balanced, cycles"),
};

static tn_status ask_procrustes(const void *question, void *answer, tn_error *error) {
    const procrustes *q = question;
    procrustes_answer *a = answer;
    return tn_procrustes_cycles(q->tiles.item, q->tiles.count, &a->unbalanced, &a->balanced, error);
}

/* --- ada-gp, tensordash */

typedef struct ada_gp {
    uint64_t predicted, truly;
    double predictor, backward;
} ada_gp;
static const tn_field ada_gp_keys[] = {
    TN_KEY(COUNT, ada_gp, predicted, "steps whose gradients are predicted", TN_REQUIRED),
    TN_KEY_AS("true", COUNT, ada_gp, truly, "steps with a backward pass, for each so many predicted",
              TN_REQUIRED),
    TN_KEY(REAL, ada_gp, predictor, "cost of the predictor over that of the network, forward",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e6)),
    TN_KEY(REAL, ada_gp, backward, BACKWARD_HELP, TN_DEFAULT("2"), TN_WITHIN(0, 1e6)),
};
typedef struct speedup_answer {
    double speedup;
} speedup_answer;
static const tn_column speedup_answers[] = {TN_COLUMN(speedup_answer, speedup, "speed-up, times")};

static tn_status ask_ada_gp(const void *question, void *answer, tn_error *error) {
    const ada_gp *q = question;
    speedup_answer *a = answer;
    return tn_predicted_gradient_speedup(q->predicted, q->truly, q->predictor, q->backward, &a->speedup,
                                         error);
}

typedef struct tensordash {
    uint64_t depth;
    double sparsity, efficiency;
} tensordash;
static const tn_field tensordash_keys[] = {
    TN_KEY(COUNT, tensordash, depth, "steps of operands within reach of a multiplier", TN_REQUIRED,
           TN_FROM(1)),
    TN_KEY(REAL, tensordash, sparsity, "share of operands that are zero", TN_REQUIRED, TN_WITHIN(0, 1)),
    TN_KEY(REAL, tensordash, efficiency, "share of the zeros whose place is filled", TN_DEFAULT("1"),
           TN_WITHIN(0, 1)),
};

static tn_status ask_tensordash(const void *question, void *answer, tn_error *error) {
    const tensordash *q = question;
    (void)error;
    ((speedup_answer *)answer)->speedup = tn_zero_skipping_speedup(q->depth, q->sparsity, q->efficiency);
    return TN_OK;
}

/* --- camel */

typedef struct camel {
    double data_us, retention_us, refresh_pj;
    uint64_t words;
} camel;
static const tn_field camel_keys[] = {
    TN_KEY_AS("data-us", REAL, camel, data_us, "how long data is needed, us", TN_REQUIRED,
              TN_WITHIN(0, 1e18)),
    TN_KEY_AS("retention-us", REAL, camel, retention_us, "how long a cell keeps it, us", TN_REQUIRED,
              TN_WITHIN(0, 1e18)),
    TN_KEY(COUNT, camel, words, "words of data", TN_DEFAULT("0")),
    TN_KEY_AS("refresh-pj", REAL, camel, refresh_pj, "energy to refresh a word, pJ", TN_DEFAULT("0"),
              TN_WITHIN(0, 1e18)),
};
typedef struct camel_answer {
    uint64_t refreshes;
    double refresh_energy_pj;
} camel_answer;
static const tn_column camel_answers[] = {
    TN_COLUMN(camel_answer, refreshes, "refreshes of a word"),
    TN_COLUMN(camel_answer, refresh_energy_pj, "refreshing, pJ"),
};

static tn_status ask_camel(const void *question, void *answer, tn_error *error) {
    const camel *q = question;
    camel_answer *a = answer;
    TN_TRY(tn_refreshes(q->data_us, q->retention_us, &a->refreshes, error));
    a->refresh_energy_pj = (double)a->refreshes * q->refresh_pj * (double)q->words;
    return TN_OK;
}

/* --- flash-decoding */

typedef struct flash_decoding {
    uint64_t m, n, k, block;
} flash_decoding;
static const tn_field flash_decoding_keys[] = {
    TN_KEY(COUNT, flash_decoding, m, "rows of the flat operand: tokens decoded at once", TN_REQUIRED,
           TN_FROM(1)),
    TN_KEY(COUNT, flash_decoding, n, "columns of the weight", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(COUNT, flash_decoding, k, "rows of the weight, summed over", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(COUNT, flash_decoding, block, "columns of a block", TN_REQUIRED, TN_FROM(1)),
};
typedef struct flash_decoding_answer {
    double intensity;
    uint64_t blocks;
} flash_decoding_answer;
static const tn_column flash_decoding_answers[] = {
    TN_COLUMN(flash_decoding_answer, intensity, "operations an element moved"),
    TN_COLUMN(flash_decoding_answer, blocks, "blocks"),
};

static tn_status ask_flash_decoding(const void *question, void *answer, tn_error *error) {
    const flash_decoding *q = question;
    flash_decoding_answer *a = answer;
    if (q->block > q->n)
        return tn_fail(error, TN_INPUT,
                       "blocks of %" PRIu64 " columns of %" PRIu64 "; a block has at most all", q->block,
                       q->n);
    a->intensity = tn_flat_product_intensity(q->m, q->k, q->block);
    a->blocks = tn_flat_product_blocks(q->n, q->block);
    return TN_OK;
}

/* --- in-place */

typedef struct in_place {
    uint64_t rows, cols, m, k, n;
} in_place;
static const tn_field in_place_keys[] = {
    TN_KEY(COUNT, in_place, rows, "processing elements in a column", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(COUNT, in_place, cols, "processing elements in a row", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(COUNT, in_place, m, "rows of the activations", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(COUNT, in_place, k, "rows of the weight, summed over going forward", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(COUNT, in_place, n, "columns of the weight", TN_REQUIRED, TN_FROM(1)),
};
typedef struct in_place_answer {
    uint64_t forward, input_gradient, weight_gradient, saved_accesses;
} in_place_answer;
static const tn_column in_place_answers[] = {
    TN_COLUMN(in_place_answer, forward, "forward, cycles"),
    TN_COLUMN(in_place_answer, input_gradient, "input gradient, cycles"),
    TN_COLUMN(in_place_answer, weight_gradient, "weight gradient, cycles"),
    TN_COLUMN(in_place_answer, saved_accesses, "saved accesses, elements"),
};

static tn_status ask_in_place(const void *question, void *answer, tn_error *error) {
    const in_place *q = question;
    const tn_systolic array = {.rows = q->rows, .columns = q->cols};
    const tn_array_product layer = {.m = q->m, .k = q->k, .n = q->n};
    tn_systolic_training passes;
    TN_TRY(tn_systolic_training_cycles(&array, &layer, &passes, error));
    *(in_place_answer *)answer = (in_place_answer){
        passes.in_place.forward_cycles, passes.in_place.input_gradient_cycles,
        passes.in_place.weight_gradient_cycles, passes.explicit_transposition.transposition_accesses};
    return TN_OK;
}

/* --- sparse-update, spatten, edgebert */

typedef struct sparse_update {
    tn_count_list bytes;
    tn_real_list shares;
} sparse_update;
static const tn_field sparse_update_keys[] = {
    TN_KEY(COUNT_LIST, sparse_update, bytes, "saved input of each trained layer, bytes: 4096,1024",
           TN_REQUIRED),
    TN_KEY(REAL_LIST, sparse_update, shares, "share of each layer's channels that is updated: 0.5,1",
           TN_REQUIRED, TN_WITHIN(0, 1)),
};
typedef struct sparse_update_answer {
    double saved_bytes;
} sparse_update_answer;
static const tn_column sparse_update_answers[] = {
    TN_COLUMN(sparse_update_answer, saved_bytes, "saved, bytes", TN_FIXED(1)),
};

static tn_status ask_sparse_update(const void *question, void *answer, tn_error *error) {
    const sparse_update *q = question;
    sparse_update_answer *a = answer;
    if (q->bytes.count != q->shares.count)
        return tn_fail(error, TN_INPUT, "%zu layers in bytes and %zu in shares; both have one for each layer",
                       q->bytes.count, q->shares.count);
    return tn_sparse_update_saved(q->bytes.item, q->shares.item, q->bytes.count, &a->saved_bytes, error);
}

typedef struct spatten {
    double tokens, heads, refetched;
    uint64_t msb, lsb;
} spatten;
static const tn_field spatten_keys[] = {
    TN_KEY(REAL, spatten, tokens, "share of tokens that stay", TN_DEFAULT("1"), TN_WITHIN(0, 1)),
    TN_KEY(REAL, spatten, heads, "share of heads that stay", TN_DEFAULT("1"), TN_WITHIN(0, 1)),
    TN_KEY(COUNT, spatten, msb, "bits of a value that are fetched first", TN_DEFAULT("0"), TN_WITHIN(0, 64)),
    TN_KEY(COUNT, spatten, lsb, "bits that are fetched where these do not suffice", TN_DEFAULT("0"),
           TN_WITHIN(0, 64)),
    TN_KEY(REAL, spatten, refetched, "share of values where they do not", TN_DEFAULT("0"), TN_WITHIN(0, 1)),
};
typedef struct spatten_answer {
    double macs_ratio, bits;
    bool has_bits;
} spatten_answer;
static const tn_column spatten_answers[] = {
    TN_COLUMN(spatten_answer, macs_ratio, "MACs of attention, times"),
    TN_COLUMN(spatten_answer, bits, "fetched, bits a value", TN_WHEN(spatten_answer, has_bits), TN_OPTIONAL),
};

static tn_status ask_spatten(const void *question, void *answer, tn_error *error) {
    const spatten *q = question;
    spatten_answer *a = answer;
    (void)error;
    a->macs_ratio = tn_pruned_attention_ratio(q->tokens, q->heads);
    a->has_bits = q->msb > 0;
    a->bits = tn_progressive_bits(q->msb, q->lsb, q->refetched);
    return TN_OK;
}

typedef struct edgebert {
    tn_real_list exits;
} edgebert;
static const tn_field edgebert_keys[] = {
    TN_KEY(REAL_LIST, edgebert, exits, "share of inputs that leave behind each layer: 0.25,0.25,0.5",
           TN_REQUIRED, TN_WITHIN(0, 1)),
};
typedef struct edgebert_answer {
    double layers;
} edgebert_answer;
static const tn_column edgebert_answers[] = {TN_COLUMN(edgebert_answer, layers, "layers run on average")};

static tn_status ask_edgebert(const void *question, void *answer, tn_error *error) {
    const edgebert *q = question;
    return tn_early_exit_layers(q->exits.item, q->exits.count, &((edgebert_answer *)answer)->layers, error);
}

#define TECHNIQUE(called, type, answer, of_answers, what, published)                                         \
    {                                                                                                        \
        .name = (called), .summary = (what), .source = (published),                                          \
        .keys = TN_SCHEMA(called, type, type##_keys), .answers = TN_RECORD(answer, of_answers),              \
        .ask = ask_##type                                                                                    \
    }
const tn_technique tn_techniques[] = {
    TECHNIQUE("fast", fast, fast_answer, fast_answers,
              "block floating point of growing precision: bits of a group, passes of the products",
              "Zhang, McDanel, Kung, FAST, HPCA 2022"),
    TECHNIQUE("checkpointing", checkpointing, checkpointing_answer, checkpointing_answers,
              "keep the inputs of segments, compute the rest a second time: memory and time",
              "Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016"),
    TECHNIQUE("reversible", reversible, reversible_answer, reversible_answers,
              "blocks whose inputs follow from their outputs: time",
              "Gomez et al., The Reversible Residual Network, NeurIPS 2017"),
    TECHNIQUE("procrustes", procrustes, procrustes_answer, procrustes_answers,
              "sparse training: the fullest tile, as they are and with halves paired",
              "Yang et al., Procrustes, MICRO 2020"),
    TECHNIQUE("ada-gp", ada_gp, speedup_answer, speedup_answers,
              "predicted gradients: steps without backward", "Janfaza et al., ADA-GP, MICRO 2023"),
    TECHNIQUE("tensordash", tensordash, speedup_answer, speedup_answers, "operands that are zero are skipped",
              "Mahmoud et al., TensorDash, MICRO 2020"),
    TECHNIQUE("camel", camel, camel_answer, camel_answers, "training in embedded DRAM: refreshes",
              "Zhang et al., CAMEL, HPCA 2024"),
    TECHNIQUE("flash-decoding", flash_decoding, flash_decoding_answer, flash_decoding_answers,
              "flat products of decoding: operations an element moved, blocks",
              "Hong et al., FlashDecoding++, MLSys 2024"),
    TECHNIQUE("in-place", in_place, in_place_answer, in_place_answers,
              "transposed products on the array that holds the weights: cycles of the three passes",
              "Zhang, McDanel, Kung, FAST, HPCA 2022"),
    TECHNIQUE("sparse-update", sparse_update, sparse_update_answer, sparse_update_answers,
              "some channels of some layers are trained: saved activations",
              "Lin et al., On-Device Training Under 256KB Memory, NeurIPS 2022"),
    TECHNIQUE("spatten", spatten, spatten_answer, spatten_answers,
              "inference with fewer tokens and heads: MACs of attention",
              "Wang, Zhang, Han, SpAtten, HPCA 2021"),
    TECHNIQUE("edgebert", edgebert, edgebert_answer, edgebert_answers,
              "inference that ends early: layers run on average", "Tambe et al., EdgeBERT, MICRO 2021"),
};
const size_t tn_techniques_count = sizeof tn_techniques / sizeof *tn_techniques;
