#include "space/accuracy_table.h"

#include "base/buffer.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/monotone.h"
#include "text/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_BYTES = 256 << 20 };

typedef struct {
    uint64_t key, rank;
    double value;
    tn_position at;
} point;

/* The columns of a table, csv->columns where one is absent. */
typedef struct {
    const tn_csv *csv;
    const tn_axis *choice;
    size_t choices, rank; /* rank: the choice that is interpolated over, `choices` where none is */
    size_t *column;       /* [choices], of those that accuracy depends on */
    size_t accuracy, epochs, seeds, collapsed;
} reader;

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

const char *tn_accuracy_column(const tn_axis *choice, size_t choices, size_t i) {
    const char *key = choice[i].key, *end = strrchr(key, '.');
    if (!end) return key;
    for (size_t k = 0; k < choices; k++) {
        const char *other = strrchr(choice[k].key, '.');
        if (k != i && tn_accuracy_depends_on(&choice[k]) && other && strcmp(other, end) == 0) return key;
    }
    return end + 1;
}

/* The first choice of one rank for all bonds; lists of ranks lie on no line. */
static size_t rank_choice(const tn_axis *choice, size_t choices) {
    for (size_t i = 0; i < choices; i++)
        if (choice[i].kind == TN_AXIS_RANK && !choice[i].rank_list) return i;
    return choices;
}

static tn_status find_columns(reader *r, tn_arena *arena, tn_error *error) {
    static const char *const value = "accuracy";
    TN_TRY(TN_NEW(arena, r->choices, &r->column, error));
    for (size_t i = 0; i < r->choices; i++) {
        if (!tn_accuracy_depends_on(&r->choice[i])) continue;
        const char *name = tn_accuracy_column(r->choice, r->choices, i);
        r->column[i] = tn_csv_column(r->csv, r->choice[i].key);
        if (r->column[i] == r->csv->columns)
            TN_TRY(tn_csv_columns(r->csv, &name, 1, false, &r->column[i], error));
    }
    r->rank = rank_choice(r->choice, r->choices);
    r->epochs = tn_csv_column(r->csv, "epochs");
    r->seeds = tn_csv_column(r->csv, "seeds");
    r->collapsed = tn_csv_column(r->csv, "collapsed");
    return tn_csv_columns(r->csv, &value, 1, false, &r->accuracy, error);
}

/* *place of the text among a choice's values, or their count. */
static tn_status find_value(const tn_axis *choice, const char *text, size_t *place, tn_error *error) {
    tn_buffer value = {0};
    for (*place = 0; *place < choice->count; ++*place) {
        value.length = 0;
        tn_axis_value(choice, *place, &value);
        if (value.status != TN_OK || strcmp(value.data, text) == 0) break;
    }
    tn_status status = value.status;
    tn_buffer_free(&value);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for the values of a choice");
}

static tn_status most_epochs(const reader *r, uint64_t *most, tn_error *error) {
    *most = 0;
    for (size_t i = 0; r->epochs < r->csv->columns && i < r->csv->rows; i++) {
        uint64_t epochs;
        TN_TRY(tn_csv_count(r->csv, i, r->epochs, 0, UINT64_MAX, &epochs, error));
        if (epochs > *most) *most = epochs;
    }
    return TN_OK;
}

static tn_status counts(const reader *r, size_t row, uint64_t epochs, bool *does, tn_error *error) {
    uint64_t own = epochs, seeds = 1, collapsed = 0;
    if (r->epochs < r->csv->columns) TN_TRY(tn_csv_count(r->csv, row, r->epochs, 0, UINT64_MAX, &own, error));
    if (r->seeds < r->csv->columns && r->collapsed < r->csv->columns) {
        TN_TRY(tn_csv_count(r->csv, row, r->seeds, 1, UINT64_MAX, &seeds, error));
        TN_TRY(tn_csv_count(r->csv, row, r->collapsed, 0, seeds, &collapsed, error));
    }
    *does = own == epochs && collapsed < seeds;
    return TN_OK;
}

/* *here = false where the row speaks of values that the space does not have. */
static tn_status read_point(const reader *r, size_t row, point *of, bool *here, tn_error *error) {
    *of = (point){.at = tn_csv_at(r->csv, row, r->accuracy)->at};
    *here = true;
    for (size_t i = 0; i < r->choices; i++) {
        const tn_axis *choice = &r->choice[i];
        size_t place;
        if (!tn_accuracy_depends_on(choice)) continue;
        if (i == r->rank) {
            TN_TRY(tn_csv_count(r->csv, row, r->column[i], 1, UINT32_MAX, &of->rank, error));
            continue;
        }
        TN_TRY(find_value(choice, tn_csv_at(r->csv, row, r->column[i])->text, &place, error));
        *here &= place < choice->count;
        of->key = of->key * choice->count + place;
    }
    return *here ? tn_csv_real(r->csv, row, r->accuracy, 0, 1, &of->value, error) : TN_OK;
}

static int by_key_and_rank(const void *a, const void *b) {
    const point *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static tn_status make_curves(tn_accuracy_table *table, const point *points, size_t count, tn_arena *arena,
                             tn_error *error) {
    double *rank, *value;
    TN_TRY(TN_NEW(arena, count, &table->curve, error));
    TN_TRY(TN_NEW(arena, count, &rank, error));
    TN_TRY(TN_NEW(arena, count, &value, error));
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && points[i].key == points[i - 1].key;
        if (same && points[i].rank == points[i - 1].rank)
            return tn_fail_at(error, TN_INPUT, points[i].at, "has the choices of line %u; give them once",
                              points[i - 1].at.line);
        if (!same)
            table->curve[table->curves++] =
                (tn_accuracy_curve){.key = points[i].key, .rank = &rank[i], .value = &value[i]};
        rank[i] = (double)points[i].rank;
        value[i] = points[i].value;
        table->curve[table->curves - 1].count++;
    }
    return TN_OK;
}

tn_status tn_accuracy_table_load(const char *path, const tn_axis *choice, size_t choices, tn_arena *arena,
                                 tn_accuracy_table *table, tn_error *error) {
    tn_csv csv;
    reader r = {.csv = &csv, .choice = choice, .choices = choices};
    point *points;
    size_t count = 0;
    uint64_t epochs, combinations = 1;
    char *data;
    *table = (tn_accuracy_table){.path = path};
    for (size_t i = 0; i < choices; i++)
        if (tn_accuracy_depends_on(&choice[i]) && !tn_mul(combinations, choice[i].count, &combinations))
            return tn_fail_at(error, TN_LIMIT, (tn_position){.file = path},
                              "accuracy would depend on over 2^64 combinations of choices; tie some");
    TN_TRY(tn_file_read(path, LIMIT_BYTES, &data, &table->length, error));
    tn_status status = tn_arena_copy_text(arena, data, table->length, &table->text, error);
    tn_free(data);
    TN_TRY(status);
    TN_TRY(tn_csv_parse(path, table->text, table->length, arena, &csv, error));
    TN_TRY(find_columns(&r, arena, error));
    TN_TRY(most_epochs(&r, &epochs, error));
    TN_TRY(TN_NEW(arena, csv.rows, &points, error));
    for (size_t i = 0; i < csv.rows; i++) {
        bool does, here;
        TN_TRY(counts(&r, i, epochs, &does, error));
        if (!does) continue;
        TN_TRY(read_point(&r, i, &points[count], &here, error));
        count += here;
    }
    if (count == 0)
        return tn_fail_at(error, TN_INPUT, csv.head[0].at,
                          "has no row that counts for a value of the space's choices");
    qsort(points, count, sizeof *points, by_key_and_rank);
    return make_curves(table, points, count, arena, error);
}

static int by_key(const void *key, const void *curve) {
    uint64_t wanted = *(const uint64_t *)key, has = ((const tn_accuracy_curve *)curve)->key;
    return (wanted > has) - (wanted < has);
}

tn_status tn_accuracy_table_at(const tn_accuracy_table *table, const tn_axis *choice, size_t choices,
                               const size_t *digit, double *accuracy, bool *interpolated, tn_error *error) {
    size_t at = rank_choice(choice, choices);
    uint64_t key = 0;
    *accuracy = NAN;
    *interpolated = false;
    for (size_t i = 0; i < choices; i++)
        if (i != at && tn_accuracy_depends_on(&choice[i])) key = key * choice[i].count + digit[i];
    const tn_accuracy_curve *curve =
        table->curves ? bsearch(&key, table->curve, table->curves, sizeof *curve, by_key) : NULL;
    if (!curve) return TN_OK;
    double rank = at < choices ? (double)choice[at].number[digit[at]] : 0;
    for (size_t i = 0; i < curve->count; i++)
        if (curve->rank[i] == rank) {
            *accuracy = curve->value[i];
            return TN_OK;
        }
    if (rank < curve->rank[0] || rank > curve->rank[curve->count - 1]) return TN_OK;
    *interpolated = true;
    return tn_monotone_at(curve->rank, curve->value, curve->count, rank, accuracy, error);
}
