/* What a space asks of a table of accuracies: which of its choices the table speaks of, and what is known of a design. */
#include "space/accuracy_column.h"

#include "base/buffer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One of the keys, or below one. */
static bool is_under(const char *key, const char *const *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(keys[i]);
        if (strncmp(key, keys[i], length) == 0 && (key[length] == '\0' || key[length] == '.')) return true;
    }
    return false;
}

/* Keys of the model that change no value of a step, or none but by rounding. */
static bool is_neutral(const char *key) {
    static const char *const keys[] = {"flow",
                                       "update",
                                       "activations",
                                       "memory",
                                       "dvfs",
                                       "flat_gemm",
                                       "sparsity.activations",
                                       "sparsity.gradients",
                                       "sparsity.depth",
                                       "sparsity.efficiency",
                                       "sparsity.balance",
                                       "sparsity.tiles"};
    return is_under(key, keys, sizeof keys / sizeof *keys);
}

bool tn_accuracy_is_of_inference(const tn_axis *choice) {
    static const char *const keys[] = {"phase", "precision", "pruning", "exit", "outliers", "outlier_scale"};
    return choice->kind == TN_AXIS_MODEL_KEY && is_under(choice->key, keys, sizeof keys / sizeof *keys);
}

bool tn_accuracy_depends_on(const tn_axis *choice) {
    if (choice->kind == TN_AXIS_MODEL_KEY) return !is_neutral(choice->key);
    return choice->kind == TN_AXIS_MODEL || choice->kind == TN_AXIS_FORMAT ||
           choice->kind == TN_AXIS_FOLDING || choice->kind == TN_AXIS_RANK;
}

const char *tn_accuracy_column_name(const tn_axis *choice, size_t choices, size_t i) {
    const char *key = choice[i].key, *end = strrchr(key, '.');
    if (!end) return key;
    for (size_t k = 0; k < choices; k++) {
        const char *other = strrchr(choice[k].key, '.');
        if (k != i && tn_accuracy_depends_on(&choice[k]) && other && strcmp(other, end) == 0) return key;
    }
    return end + 1;
}

/* The scalar that a model file has under a dotted key, or on the way to it (`precision: bf16` for
 * precision.products); NULL: none. */
static const char *scalar_under(const tn_yaml *node, const char *key) {
    char word[64];
    while (node && node->kind == TN_YAML_MAPPING && *key) {
        size_t length = strcspn(key, ".");
        if (length >= sizeof word) return NULL;
        memcpy(word, key, length);
        word[length] = '\0';
        node = tn_yaml_get(node, word);
        key += length + (key[length] == '.');
    }
    return node && node->kind == TN_YAML_SCALAR ? node->text : NULL;
}

/* The weight that a column speaks of: `weights.NAME.rank`, or the first one where it has the last word alone. */
static const tn_model_weight *weight_of(const tn_accuracy_column *c, const tn_model *model) {
    char name[64];
    const char *end = tn_accuracy_last_word(c->name), *begin = strchr(c->name, '.');
    if (end == c->name) return tn_model_weights(model) ? tn_model_weight_at((tn_model *)model, 0) : NULL;
    size_t length = (size_t)(end - begin) - 2;
    if (strncmp(c->name, "weights.", 8) != 0 || begin + 1 >= end || length >= sizeof name) return NULL;
    memcpy(name, begin + 1, length);
    name[length] = '\0';
    return tn_model_weight_find((tn_model *)model, name);
}

/* What the model file has of a column without a choice. */
static tn_status value_of_model(const tn_accuracy_table *t, size_t column, const tn_model *model,
                                tn_accuracy_value *value, tn_error *error) {
    const tn_accuracy_column *c = &t->column[column];
    tn_buffer text = {0};
    const char *found = NULL;
    bool is_rank = t->choice[column].kind == TN_ACCURACY_RANK;
    if (strcmp(c->name, "model") == 0)
        found = tn_model_name(model);
    else if (is_rank || tn_accuracy_ends_as(c->name, "folding") || tn_accuracy_ends_as(c->name, "format")) {
        const tn_model_weight *weight = weight_of(c, model);
        if (weight && weight->weight.format == TN_DENSE)
            found = tn_accuracy_dense_text;
        else if (weight && tn_accuracy_ends_as(c->name, "format"))
            found = tn_format_names[weight->weight.format];
        else if (weight && is_rank) {
            uint64_t most = 1;
            for (uint32_t k = 0; k < weight->weight.rank_count; k++)
                if (weight->weight.rank[k] > most) most = weight->weight.rank[k];
            tn_buffer_format(&text, "%llu", (unsigned long long)most);
        } else if (weight) {
            for (uint32_t k = 0; k < 2 * weight->weight.d; k++) {
                uint64_t factor =
                    k < weight->weight.d ? weight->weight.m[k] : weight->weight.n[k - weight->weight.d];
                tn_buffer_format(&text, "%s%llu",
                                 k == 0                  ? ""
                                 : k == weight->weight.d ? ","
                                                         : "x",
                                 (unsigned long long)factor);
            }
        }
        if (!found && text.length) found = text.data;
    } else
        found = scalar_under(tn_model_root(model), c->name);
    if (text.status != TN_OK) {
        tn_buffer_free(&text);
        return tn_fail(error, TN_MEMORY, "no memory for a value of the model");
    }
    if (found) tn_accuracy_table_value(t, column, found, value);
    tn_buffer_free(&text);
    return TN_OK;
}

static size_t column_named(const tn_accuracy_table *t, const char *name) {
    size_t i = 0;
    while (i < t->columns && strcmp(t->column[i].name, name) != 0) i++;
    return i;
}

static tn_status bind_axis(tn_accuracy_table *t, const tn_axis *axis, size_t axes, size_t i, tn_arena *arena,
                           tn_error *error) {
    const char *key = axis[i].key, *word = tn_accuracy_last_word(key);
    size_t place = column_named(t, key), claimed = 0;
    for (size_t k = 0; k < axes; k++)
        claimed += tn_accuracy_depends_on(&axis[k]) && tn_accuracy_ends_as(axis[k].key, word) &&
                   column_named(t, axis[k].key) == t->columns;
    if (place == t->columns && claimed == 1) place = column_named(t, word);
    if (place == t->columns)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = t->path, .line = 1, .column = 1},
                          "has no column \"%s\" for the choice %s", tn_accuracy_column_name(axis, axes, i),
                          key);
    tn_accuracy_column *c = &t->column[place];
    c->axis = i;
    c->values = axis[i].count;
    TN_TRY(TN_NEW(arena, c->values, &c->value, error));
    tn_buffer text = {0};
    bool fits = true;
    for (size_t k = 0; k < c->values && fits; k++) {
        text.length = 0;
        tn_axis_value(&axis[i], k, &text);
        fits = text.status == TN_OK && tn_accuracy_table_value(t, place, text.data, &c->value[k]);
    }
    tn_status status = text.status;
    tn_buffer_free(&text);
    if (status != TN_OK) return tn_fail(error, status, "no memory for the values of a choice");
    if (fits) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = t->path, .line = 1, .column = 1},
                      "its column \"%s\" does not hold what the choice %s has", c->name, key);
}

tn_status tn_accuracy_table_bind(tn_accuracy_table *table, const tn_axis *axis, size_t axes,
                                 const tn_model *model, tn_arena *arena, tn_error *error) {
    tn_accuracy_value usual[TN_ACCURACY_CHOICES_MOST];
    tn_accuracy_table_usual(table, usual);
    for (size_t i = 0; i < axes; i++)
        if (tn_accuracy_depends_on(&axis[i])) TN_TRY(bind_axis(table, axis, axes, i, arena, error));
    for (size_t i = 0; i < table->columns; i++) {
        tn_accuracy_column *c = &table->column[i];
        if (c->axis != SIZE_MAX) continue;
        c->values = 1;
        TN_TRY(TN_NEW(arena, 1, &c->value, error));
        *c->value = usual[i];
        if (model) TN_TRY(value_of_model(table, i, model, c->value, error));
    }
    return TN_OK;
}

void tn_accuracy_table_values(const tn_accuracy_table *table, const size_t *digit, tn_accuracy_value *value) {
    for (size_t i = 0; i < table->columns; i++) {
        const tn_accuracy_column *c = &table->column[i];
        value[i] = c->value[c->axis == SIZE_MAX ? 0 : digit[c->axis]];
    }
}

void tn_accuracy_table_usual(const tn_accuracy_table *table, tn_accuracy_value *value) {
    for (size_t i = 0; i < table->columns; i++) {
        const tn_accuracy_choice *choice = &table->choice[i];
        value[i] = (tn_accuracy_value){.number = choice->kind == TN_ACCURACY_RANK ? INFINITY : 0};
        if (choice->kind == TN_ACCURACY_FOLDING && choice->levels)
            tn_accuracy_table_value(table, i, table->column[i].level[0], &value[i]);
        size_t most = 0;
        for (size_t k = 0; k < table->rows && choice->kind == TN_ACCURACY_RANK; k++) {
            size_t same = 0;
            double rank = table->row[k].value[i].number;
            for (size_t n = 0; n < table->rows; n++) same += table->row[n].value[i].number == rank;
            if (same <= most) continue;
            most = same;
            value[i].number = rank;
        }
    }
}

const tn_accuracy_measurement *tn_accuracy_table_row(const tn_accuracy_table *table,
                                                     const tn_accuracy_value *value, double passes) {
    for (size_t i = 0; i < table->rows; i++)
        if (table->row[i].passes == passes &&
            tn_accuracy_same(table->choice, table->columns, table->row[i].value, value))
            return &table->row[i];
    return NULL;
}

/* Whether rows with the same levels and foldings have ranks on both sides of each. */
static bool lies_between(const tn_accuracy_table *t, const tn_accuracy_value *value, double passes) {
    bool below[TN_ACCURACY_CHOICES_MOST] = {0}, above[TN_ACCURACY_CHOICES_MOST] = {0};
    for (size_t i = 0; i < t->rows; i++) {
        const tn_accuracy_value *has = t->row[i].value;
        bool same = t->row[i].passes == passes;
        for (size_t k = 0; k < t->columns && same; k++)
            same = t->choice[k].kind == TN_ACCURACY_RANK ||
                   tn_accuracy_same_value(&t->choice[k], &has[k], &value[k]);
        for (size_t k = 0; k < t->columns && same; k++) {
            below[k] |= has[k].number <= value[k].number;
            above[k] |= has[k].number >= value[k].number;
        }
    }
    for (size_t k = 0; k < t->columns; k++)
        if (t->choice[k].kind == TN_ACCURACY_RANK && !(below[k] && above[k])) return false;
    return true;
}

tn_accuracy_estimate tn_accuracy_table_at(const tn_accuracy_table *table, const tn_accuracy_value *value,
                                          double passes, tn_accuracy_basis *basis) {
    tn_accuracy_value own[TN_ACCURACY_CHOICES_MOST];
    if (table->rows) memcpy(own, value, table->columns * sizeof *own);
    tn_accuracy_make_whole(table, own);
    *basis = TN_ACCURACY_UNKNOWN;
    bool known = table->rows > 0;
    for (size_t i = 0; i < table->columns && known; i++)
        known = table->choice[i].kind != TN_ACCURACY_LEVEL || own[i].level < table->choice[i].levels ||
                table->choice[i].levels == 0;
    if (!known) return (tn_accuracy_estimate){NAN, NAN, NAN, NAN, NAN};
    *basis = tn_accuracy_table_row(table, own, passes) ? TN_ACCURACY_MEASURED
             : lies_between(table, own, passes)        ? TN_ACCURACY_BETWEEN
                                                       : TN_ACCURACY_CARRIED;
    return tn_accuracy_model_at(&table->model, own, passes);
}

const double tn_accuracy_bytes = 256;

double tn_accuracy_of_loss(double loss, double answers) {
    return 1 - loss / log(answers);
}

const char *tn_accuracy_table_quantity(const tn_accuracy_table *table) {
    return table->answers > 0 ? "perplexity" : "accuracy";
}

double tn_accuracy_table_told(const tn_accuracy_table *table, double accuracy) {
    return table->answers > 0 ? exp((1 - accuracy) * log(table->answers)) : accuracy;
}

double tn_accuracy_to_minimise(const tn_accuracy_table *table, double accuracy) {
    return table->answers > 0 ? tn_accuracy_table_told(table, accuracy) : -accuracy;
}

tn_accuracy_estimate tn_accuracy_table_told_estimate(const tn_accuracy_table *table,
                                                     tn_accuracy_estimate estimate) {
    if (table->answers <= 0) return estimate;
    double mean = tn_accuracy_table_told(table, estimate.mean);
    return (tn_accuracy_estimate){.mean = mean,
                                  .deviation = mean * log(table->answers) * estimate.deviation,
                                  .low = tn_accuracy_table_told(table, estimate.high),
                                  .high = tn_accuracy_table_told(table, estimate.low),
                                  .test = tn_accuracy_table_told(table, estimate.test)};
}

tn_accuracy_estimate tn_accuracy_table_dense(const tn_accuracy_table *table) {
    tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
    bool ranks = false;
    tn_accuracy_table_usual(table, value);
    for (size_t i = 0; i < table->columns; i++)
        if (table->choice[i].kind == TN_ACCURACY_RANK) {
            value[i].number = INFINITY;
            ranks = true;
        }
    if (!ranks) return (tn_accuracy_estimate){NAN, NAN, NAN, NAN, NAN};
    return tn_accuracy_model_at(&table->model, value, table->model.passes);
}

tn_accuracy_ends tn_accuracy_table_ends(const tn_accuracy_table *table) {
    tn_accuracy_ends ends = {NAN, NAN};
    if (table->rows == 0) return ends;
    ends.dense = tn_accuracy_table_told(table, tn_accuracy_table_dense(table).mean);
    if (table->constant > 0) ends.constant = tn_accuracy_table_told(table, table->constant);
    return ends;
}
