#include "space/accuracy_table.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/memory.h"
#include "space/accuracy_column.h"
#include "text/csv.h"
#include "text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_BYTES = 256 << 20 };

bool tn_accuracy_is_record(const char *name) {
    static const char *const names[] = {"id",        "parameters",    "sentences", "epochs", "seeds",
                                        "seed_list", "collapsed",     "accuracy",  "spread", "seconds",
                                        "command",   "test_accuracy", "perplexity"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return strncmp(name, "dev_", 4) == 0 || strncmp(name, "test_", 5) == 0;
}

typedef struct {
    const tn_csv *csv;
    tn_accuracy_table *table;
    size_t accuracy, epochs, seeds, collapsed, spread, sentences, test, test_intent, test_slot, test_loss;
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
        t->choice[t->columns].kind = tn_accuracy_ends_as(name, "rank")      ? TN_ACCURACY_RANK
                                     : tn_accuracy_ends_as(name, "folding") ? TN_ACCURACY_FOLDING
                                                                            : TN_ACCURACY_LEVEL;
        t->column[t->columns++] = (tn_accuracy_column){.name = name, .column = i, .axis = SIZE_MAX};
    }
    /* A folding bends its own weight's ranks, else the first ones; without ranks it is a level like any. */
    for (size_t i = 0; i < t->columns; i++) {
        if (t->choice[i].kind != TN_ACCURACY_FOLDING) continue;
        size_t found = t->columns;
        for (size_t k = t->columns; k-- > 0;)
            if (t->choice[k].kind == TN_ACCURACY_RANK &&
                (found == t->columns || tn_accuracy_same_owner(t->column[k].name, t->column[i].name) ||
                 !tn_accuracy_same_owner(t->column[found].name, t->column[i].name)))
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
    r->test_loss = tn_csv_column(csv, "test_loss");
    r->accuracy = tn_csv_column(csv, "perplexity");
    if (r->accuracy < csv->columns && tn_csv_column(csv, value) == csv->columns) {
        t->answers = tn_accuracy_bytes;
        return TN_OK;
    }
    return tn_csv_columns(csv, &value, 1, false, &r->accuracy, r->error);
}

/* The format of a row that is one answer to all. */
static const char *const constant_text = "constant";

static bool is_constant(const reader *r, size_t row) {
    for (size_t i = 0; i < r->table->columns; i++)
        if (tn_accuracy_ends_as(r->table->column[i].name, "format") &&
            strcmp(tn_csv_at(r->csv, row, r->table->column[i].column)->text, constant_text) == 0)
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
                        ? *text == '\0' || strcmp(text, tn_accuracy_dense_text) == 0
                        : strcmp(text, tn_accuracy_dense_text) == 0 && tn_accuracy_ends_as(c->name, "format");
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
        return *text == '\0' || strcmp(text, tn_accuracy_dense_text) == 0 || read_rank(text, &value->number);
    }
    while (value->level < choice->levels && strcmp(c->level[value->level], text) != 0) value->level++;
    if (choice->kind == TN_ACCURACY_LEVEL) {
        if (tn_accuracy_ends_as(c->name, "format") && strcmp(text, tn_accuracy_dense_text) == 0)
            value->number = INFINITY;
        return true;
    }
    return *text == '\0' || strcmp(text, tn_accuracy_dense_text) == 0 || read_shape(text, value->shape);
}

void tn_accuracy_make_whole(const tn_accuracy_table *t, tn_accuracy_value *value) {
    for (size_t i = 0; i < t->columns; i++) {
        const tn_accuracy_column *c = &t->column[i];
        if (t->choice[i].kind != TN_ACCURACY_LEVEL || !isinf(value[i].number)) continue;
        value[i] = (tn_accuracy_value){0};
        for (size_t k = 0; k < t->columns; k++)
            if (t->choice[k].kind == TN_ACCURACY_RANK && tn_accuracy_same_owner(c->name, t->column[k].name))
                value[k].number = INFINITY;
    }
}

/* As the model has it, of accuracy or perplexity. */
static tn_status read_accuracy(const reader *r, size_t line, double *accuracy) {
    double perplexity, answers = r->table->answers;
    if (answers == 0) return tn_csv_real(r->csv, line, r->accuracy, 0, 1, accuracy, r->error);
    TN_TRY(tn_csv_real(r->csv, line, r->accuracy, 1, INFINITY, &perplexity, r->error));
    *accuracy = tn_accuracy_of_loss(log(perplexity), answers);
    return TN_OK;
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
    TN_TRY(read_accuracy(r, line, &target->accuracy));
    if (r->spread == csv->columns || strcmp(tn_csv_at(csv, line, r->spread)->text, "nan") == 0) return TN_OK;
    if (t->answers == 0) return tn_csv_real(csv, line, r->spread, 0, 1, &target->spread, r->error);
    TN_TRY(tn_csv_real(csv, line, r->spread, 0, INFINITY, &target->spread, r->error));
    target->spread /= tn_accuracy_table_told(t, target->accuracy) * log(t->answers);
    return TN_OK;
}

/* On test: of one column, or the mean of two; of perplexities the loss. */
static tn_status read_test(const reader *r, size_t line, double *test) {
    const size_t column[2] = {r->test < r->csv->columns ? r->test : r->test_intent,
                              r->test < r->csv->columns ? r->test : r->test_slot};
    if (r->table->answers > 0) {
        double loss = NAN;
        if (r->test_loss < r->csv->columns && strcmp(tn_csv_at(r->csv, line, r->test_loss)->text, "nan") != 0)
            TN_TRY(tn_csv_real(r->csv, line, r->test_loss, 0, INFINITY, &loss, r->error));
        *test = tn_accuracy_of_loss(loss, r->table->answers);
        return TN_OK;
    }
    *test = 0;
    for (size_t i = 0; i < 2; i++) {
        double part = NAN;
        if (column[i] < r->csv->columns && strcmp(tn_csv_at(r->csv, line, column[i])->text, "nan") != 0)
            TN_TRY(tn_csv_real(r->csv, line, column[i], 0, 1, &part, r->error));
        *test += part / 2;
    }
    return TN_OK;
}

static tn_status refuse_doubles(const reader *r) {
    const tn_accuracy_table *t = r->table;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t k = 0; k < i; k++)
            if (t->row[i].passes == t->row[k].passes &&
                tn_accuracy_same(t->choice, t->columns, t->row[i].value, t->row[k].value))
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
            TN_TRY(read_accuracy(r, i, &t->constant));
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
        tn_accuracy_make_whole(t, (tn_accuracy_value *)t->row[i].value);
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
