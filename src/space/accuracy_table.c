#include "space/accuracy_table.h"

#include "base/buffer.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/memory.h"
#include "text/csv.h"
#include "text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_BYTES = 256 << 20 };

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

bool tn_accuracy_is_record(const char *name) {
    static const char *const names[] = {"id",     "parameters", "sentences", "epochs",
                                        "seeds",  "seed_list",  "collapsed", "accuracy",
                                        "spread", "seconds",    "command",   "test_accuracy"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return strncmp(name, "dev_", 4) == 0 || strncmp(name, "test_", 5) == 0;
}

/* The last word of a key, and what is in front of it. */
static const char *last_word(const char *key) {
    const char *end = strrchr(key, '.');
    return end ? end + 1 : key;
}

static bool ends_as(const char *key, const char *word) {
    return strcmp(last_word(key), word) == 0;
}

static bool same_owner(const char *a, const char *b) {
    size_t length = (size_t)(last_word(a) - a);
    return length == (size_t)(last_word(b) - b) && strncmp(a, b, length) == 0;
}

/* Where a row's texts are whole weights and constant answers. */
static const char *const whole = "dense", *const no_model = "constant";

typedef struct {
    const tn_csv *csv;
    tn_accuracy_table *table;
    size_t accuracy, epochs, seeds, collapsed, spread, sentences, test, test_intent, test_slot;
    tn_arena *arena;
    tn_error *error;
} reader;

static tn_status find_columns(reader *r) {
    static const char *const value = "accuracy";
    const tn_csv *csv = r->csv;
    tn_accuracy_table *t = r->table;
    TN_TRY(TN_NEW(r->arena, csv->columns, &t->column, r->error));
    TN_TRY(TN_NEW(r->arena, csv->columns, &t->choice, r->error));
    for (size_t i = 0; i < csv->columns; i++) {
        const char *name = csv->head[i].text;
        if (tn_accuracy_is_record(name)) continue;
        if (t->columns == TN_ACCURACY_CHOICES_MOST)
            return tn_fail_at(r->error, TN_LIMIT, csv->head[i].position, "has more than %d choices",
                              TN_ACCURACY_CHOICES_MOST);
        t->choice[t->columns].kind = ends_as(name, "rank")      ? TN_ACCURACY_RANK
                                     : ends_as(name, "folding") ? TN_ACCURACY_FOLDING
                                                                : TN_ACCURACY_LEVEL;
        t->column[t->columns++] = (tn_accuracy_column){.name = name, .column = i, .axis = SIZE_MAX};
    }
    /* A folding bends its own weight's ranks, else the first ones; without ranks it is a level like any. */
    for (size_t i = 0; i < t->columns; i++) {
        if (t->choice[i].kind != TN_ACCURACY_FOLDING) continue;
        size_t found = t->columns;
        for (size_t k = t->columns; k-- > 0;)
            if (t->choice[k].kind == TN_ACCURACY_RANK &&
                (found == t->columns || same_owner(t->column[k].name, t->column[i].name) ||
                 !same_owner(t->column[found].name, t->column[i].name)))
                found = k;
        t->choice[i].rank = found;
        if (found == t->columns) t->choice[i].kind = TN_ACCURACY_LEVEL;
    }
    r->epochs = tn_csv_column(csv, "epochs");
    r->seeds = tn_csv_column(csv, "seeds");
    r->collapsed = tn_csv_column(csv, "collapsed");
    r->spread = tn_csv_column(csv, "spread");
    r->sentences = tn_csv_column(csv, "sentences");
    r->test = tn_csv_column(csv, "test_accuracy");
    r->test_intent = tn_csv_column(csv, "test_intent_accuracy");
    r->test_slot = tn_csv_column(csv, "test_slot_accuracy");
    return tn_csv_columns(csv, &value, 1, false, &r->accuracy, r->error);
}

static bool is_constant(const reader *r, size_t row) {
    for (size_t i = 0; i < r->table->columns; i++)
        if (ends_as(r->table->column[i].name, "format") &&
            strcmp(tn_csv_at(r->csv, row, r->table->column[i].column)->text, no_model) == 0)
            return true;
    return false;
}

/* *does: not all of its seeds collapsed; *runs that did not. */
static tn_status count_runs(const reader *r, size_t row, uint64_t *runs, tn_error *error) {
    uint64_t seeds = 1, collapsed = 0;
    if (r->seeds < r->csv->columns) TN_TRY(tn_csv_count(r->csv, row, r->seeds, 1, UINT32_MAX, &seeds, error));
    if (r->collapsed < r->csv->columns)
        TN_TRY(tn_csv_count(r->csv, row, r->collapsed, 0, seeds, &collapsed, error));
    *runs = seeds - collapsed;
    return TN_OK;
}

/* Texts of a column's levels among the rows that count; the most frequent first, the others as they come. */
static tn_status find_levels(reader *r, size_t column) {
    tn_accuracy_table *t = r->table;
    tn_accuracy_column *c = &t->column[column];
    tn_accuracy_choice *choice = &t->choice[column];
    size_t *count, best = 0;
    if (choice->kind == TN_ACCURACY_RANK) return TN_OK;
    TN_TRY(TN_NEW(r->arena, t->rows, &c->level, r->error));
    TN_TRY(TN_NEW(r->arena, t->rows, &count, r->error));
    for (size_t i = 0; i < t->rows; i++) {
        const char *text = tn_csv_at(r->csv, t->line[i], c->column)->text;
        size_t k = 0;
        bool none = choice->kind == TN_ACCURACY_FOLDING
                        ? *text == '\0' || strcmp(text, whole) == 0
                        : strcmp(text, whole) == 0 && ends_as(c->name, "format");
        if (none) continue;
        while (k < choice->levels && strcmp(c->level[k], text) != 0) k++;
        if (k == choice->levels) c->level[choice->levels++] = text;
        if (++count[k] > count[best]) best = k;
    }
    if (choice->levels == 0) return TN_OK;
    const char *usual = c->level[best];
    memmove(&c->level[1], &c->level[0], best * sizeof *c->level);
    c->level[0] = usual;
    return TN_OK;
}

/* "12x8x8,8x8x12": false for what is no folding. One side alone stands for both. */
static bool read_shape(const char *text, double shape[TN_ACCURACY_SHAPE]) {
    static const double usual_factors = 2.5, usual_factor = 8;
    enum { FACTORS_MOST = 64 };
    double factor[FACTORS_MOST], outer = 0, middle = 0;
    size_t count = 0, of_side[2] = {0}, side = 0;
    for (const char *cursor = text;; cursor++) {
        char *end;
        if (*cursor < '1' || *cursor > '9' || count == FACTORS_MOST) return false;
        factor[count++] = log((double)strtoul(cursor, &end, 10) / usual_factor);
        of_side[side]++;
        cursor = end;
        if (*cursor == '\0') break;
        if (*cursor == ',' && ++side == 2) return false;
        if (*cursor != 'x' && *cursor != ',') return false;
    }
    size_t sides = side + 1;
    shape[0] = (double)count / (double)sides - usual_factors;
    shape[1] = shape[2] = 0;
    for (size_t k = 0, first = 0; k < sides; first += of_side[k++]) {
        size_t d = of_side[k];
        if (d < 3) continue;
        /* Outputs begin with the outermost factor, inputs end with it. */
        outer += factor[k == 0 ? first : first + d - 1] / (double)sides;
        for (size_t i = first + 1; i + 1 < first + d; i++)
            middle += factor[i] / (double)(d - 2) / (double)sides;
    }
    shape[1] = outer;
    shape[2] = middle;
    return true;
}

/* The greatest of "1x12x12x1" or "12". */
static bool read_rank(const char *text, double *rank) {
    char number[32];
    *rank = 0;
    for (const char *cursor = text;; cursor++) {
        size_t length = strcspn(cursor, "x");
        uint64_t value = 0;
        if (length >= sizeof number) return false;
        memcpy(number, cursor, length);
        number[length] = '\0';
        if (tn_read_count(number, &value) != TN_NUMBER_OK || value == 0 || value > UINT32_MAX) return false;
        *rank = fmax(*rank, (double)value);
        cursor += length;
        if (*cursor == '\0') return true;
    }
}

bool tn_accuracy_table_value(const tn_accuracy_table *table, size_t column, const char *text,
                             tn_accuracy_value *value) {
    const tn_accuracy_choice *choice = &table->choice[column];
    const tn_accuracy_column *c = &table->column[column];
    *value = (tn_accuracy_value){0};
    if (choice->kind == TN_ACCURACY_RANK) {
        value->number = INFINITY;
        return *text == '\0' || strcmp(text, whole) == 0 || read_rank(text, &value->number);
    }
    while (value->level < choice->levels && strcmp(c->level[value->level], text) != 0) value->level++;
    if (choice->kind == TN_ACCURACY_LEVEL) {
        if (ends_as(c->name, "format") && strcmp(text, whole) == 0) value->number = INFINITY;
        return true;
    }
    return *text == '\0' || strcmp(text, whole) == 0 || read_shape(text, value->shape);
}

/* A whole weight has neither ranks nor a format's effect. */
static void make_whole(const tn_accuracy_table *t, tn_accuracy_value *value) {
    for (size_t i = 0; i < t->columns; i++) {
        const tn_accuracy_column *c = &t->column[i];
        if (t->choice[i].kind != TN_ACCURACY_LEVEL || !isinf(value[i].number)) continue;
        value[i] = (tn_accuracy_value){0};
        for (size_t k = 0; k < t->columns; k++)
            if (t->choice[k].kind == TN_ACCURACY_RANK && same_owner(c->name, t->column[k].name))
                value[k].number = INFINITY;
    }
}

static tn_status read_row(reader *r, size_t row, tn_accuracy_measurement *target) {
    tn_accuracy_table *t = r->table;
    const tn_csv *csv = r->csv;
    tn_accuracy_value *value;
    size_t line = t->line[row];
    TN_TRY(TN_NEW(r->arena, t->columns, &value, r->error));
    for (size_t i = 0; i < t->columns; i++) {
        const tn_csv_cell *cell = tn_csv_at(csv, line, t->column[i].column);
        if (!tn_accuracy_table_value(t, i, cell->text, &value[i]))
            return tn_fail_at(r->error, TN_INPUT, cell->position, "'%.60s' is no %s", cell->text,
                              t->choice[i].kind == TN_ACCURACY_RANK ? "rank: 12, or 1x12x12x1"
                                                                    : "folding: 12x8x8,8x8x12");
    }
    *target = (tn_accuracy_measurement){.value = value, .passes = 1, .spread = NAN, .test = NAN};
    TN_TRY(count_runs(r, line, &target->runs, r->error));
    uint64_t passes = 1;
    if (r->epochs < csv->columns)
        TN_TRY(tn_csv_count(csv, line, r->epochs, 1, UINT32_MAX, &passes, r->error));
    target->passes = (double)passes;
    TN_TRY(tn_csv_real(csv, line, r->accuracy, 0, 1, &target->accuracy, r->error));
    if (r->spread < csv->columns && strcmp(tn_csv_at(csv, line, r->spread)->text, "nan") != 0)
        TN_TRY(tn_csv_real(csv, line, r->spread, 0, 1, &target->spread, r->error));
    return TN_OK;
}

/* On test: of one column, or the mean of two. */
static tn_status read_test(const reader *r, size_t line, double *test) {
    const size_t column[2] = {r->test < r->csv->columns ? r->test : r->test_intent,
                              r->test < r->csv->columns ? r->test : r->test_slot};
    *test = 0;
    for (size_t i = 0; i < 2; i++) {
        double part = NAN;
        if (column[i] < r->csv->columns && strcmp(tn_csv_at(r->csv, line, column[i])->text, "nan") != 0)
            TN_TRY(tn_csv_real(r->csv, line, column[i], 0, 1, &part, r->error));
        *test += part / 2;
    }
    return TN_OK;
}

static bool same_value(const tn_accuracy_choice *choice, tn_accuracy_value a, tn_accuracy_value b) {
    if (choice->kind == TN_ACCURACY_RANK) return a.number == b.number;
    return a.level == b.level && memcmp(a.shape, b.shape, sizeof a.shape) == 0;
}

static bool same_values(const tn_accuracy_table *t, const tn_accuracy_value *a, const tn_accuracy_value *b) {
    for (size_t i = 0; i < t->columns; i++)
        if (!same_value(&t->choice[i], a[i], b[i])) return false;
    return true;
}

static tn_status refuse_doubles(const reader *r) {
    const tn_accuracy_table *t = r->table;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t k = 0; k < i; k++)
            if (t->row[i].passes == t->row[k].passes && same_values(t, t->row[i].value, t->row[k].value))
                return tn_fail_at(r->error, TN_INPUT, tn_csv_at(r->csv, t->line[i], 0)->position,
                                  "has the choices of line %u; give them once",
                                  tn_csv_at(r->csv, t->line[k], 0)->position.line);
    return TN_OK;
}

static tn_status read_texts(reader *r, const char *name, const char ***text) {
    size_t column = tn_csv_column(r->csv, name);
    if (column == r->csv->columns) return TN_OK;
    TN_TRY(TN_NEW(r->arena, r->table->rows, text, r->error));
    for (size_t i = 0; i < r->table->rows; i++)
        (*text)[i] = tn_csv_at(r->csv, r->table->line[i], column)->text;
    return TN_OK;
}

/* Seeds of "1 2 7", as places among all. */
static tn_status read_seeds(reader *r, const char *text, uint64_t *seen, size_t *count,
                            tn_accuracy_measurement *row) {
    size_t *place, most = 1;
    for (const char *cursor = text; *cursor; cursor++) most += *cursor == ' ';
    TN_TRY(TN_NEW(r->arena, most, &place, r->error));
    row->seed = place;
    for (const char *cursor = text; *cursor >= '0' && *cursor <= '9';) {
        char *end;
        uint64_t seed = strtoull(cursor, &end, 10);
        size_t k = 0;
        while (k < *count && seen[k] != seed) k++;
        if (k == TN_ACCURACY_SEEDS_MOST) { /* too many to tell apart */
            row->seeds = 0;
            return TN_OK;
        }
        if (k == *count) seen[(*count)++] = seed;
        place[row->seeds++] = k;
        cursor = end + (*end == ' ');
    }
    return TN_OK;
}

static tn_status read_rows(reader *r) {
    tn_accuracy_table *t = r->table;
    const tn_csv *csv = r->csv;
    TN_TRY(TN_NEW(r->arena, csv->rows, &t->row, r->error));
    TN_TRY(TN_NEW(r->arena, csv->rows, &t->line, r->error));
    for (size_t i = 0; i < csv->rows; i++) {
        uint64_t runs;
        if (r->sentences < csv->columns)
            TN_TRY(tn_csv_count(csv, i, r->sentences, 1, UINT64_MAX, &t->sentences, r->error));
        if (is_constant(r, i)) {
            TN_TRY(tn_csv_real(csv, i, r->accuracy, 0, 1, &t->constant, r->error));
            TN_TRY(read_test(r, i, &t->constant_test));
            continue;
        }
        TN_TRY(count_runs(r, i, &runs, r->error));
        if (runs) t->line[t->rows++] = i;
    }
    if (t->rows == 0)
        return tn_fail_at(r->error, TN_INPUT, csv->head[0].position,
                          "has no row that counts: every one has collapsed");
    for (size_t i = 0; i < t->columns; i++) TN_TRY(find_levels(r, i));
    TN_TRY(read_texts(r, "command", &t->command));
    TN_TRY(read_texts(r, "seed_list", &t->seed_list));
    for (size_t i = 0; i < t->rows; i++) {
        TN_TRY(read_row(r, i, &t->row[i]));
        TN_TRY(read_test(r, t->line[i], &t->row[i].test));
        make_whole(t, (tn_accuracy_value *)t->row[i].value);
    }
    uint64_t seen[TN_ACCURACY_SEEDS_MOST];
    for (size_t i = 0; t->seed_list && i < t->rows; i++)
        TN_TRY(read_seeds(r, t->seed_list[i], seen, &t->seeds, &t->row[i]));
    return refuse_doubles(r);
}

tn_status tn_accuracy_table_read(const char *path, tn_arena *arena, tn_accuracy_table *table,
                                 tn_error *error) {
    tn_csv csv;
    reader r = {.csv = &csv, .table = table, .arena = arena, .error = error};
    char *data;
    *table = (tn_accuracy_table){.path = path, .constant_test = NAN};
    TN_TRY(tn_file_read(path, LIMIT_BYTES, &data, &table->length, error));
    tn_status status = tn_arena_copy_text(arena, data, table->length, &table->text, error);
    tn_free(data);
    TN_TRY(status);
    TN_TRY(tn_csv_parse(path, table->text, table->length, arena, &csv, error));
    TN_TRY(find_columns(&r));
    TN_TRY(read_rows(&r));
    return tn_accuracy_model_fit(table->choice, table->columns, table->row, table->rows, table->constant,
                                 table->seeds, arena, &table->model, error);
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
    const char *end = last_word(c->name), *begin = strchr(c->name, '.');
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
    else if (is_rank || ends_as(c->name, "folding") || ends_as(c->name, "format")) {
        const tn_model_weight *weight = weight_of(c, model);
        if (weight && weight->weight.format == TN_DENSE)
            found = whole;
        else if (weight && ends_as(c->name, "format"))
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
    const char *key = axis[i].key, *word = last_word(key);
    size_t place = column_named(t, key), claimed = 0;
    for (size_t k = 0; k < axes; k++)
        claimed += tn_accuracy_depends_on(&axis[k]) && ends_as(axis[k].key, word) &&
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
        if (table->row[i].passes == passes && same_values(table, table->row[i].value, value))
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
            same = t->choice[k].kind == TN_ACCURACY_RANK || same_value(&t->choice[k], has[k], value[k]);
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
    make_whole(table, own);
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
