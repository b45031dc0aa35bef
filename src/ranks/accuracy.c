#include "ranks/accuracy.h"

#include "base/monotone.h"
#include "base/name_index.h"
#include "space/accuracy_table.h"
#include "text/csv.h"
#include "text/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_LEAST = 3 };

typedef struct {
    const char *layer;   /* NULL: the whole model */
    const char *folding; /* NULL: any */
    size_t count;
    double *rank, *value; /* by rising rank */
    double best;
} curve;

struct tn_accuracy {
    const char *path;
    size_t curves;
    curve *curve;
};

typedef struct {
    const char *layer, *folding; /* "": the file has no such column */
    double rank, value;
    tn_position position;
} point;

static int by_curve(const point *x, const point *y) {
    int order = strcmp(x->layer, y->layer);
    return order ? order : strcmp(x->folding, y->folding);
}

static int by_curve_and_rank(const void *a, const void *b) {
    const point *x = a, *y = b;
    int order = by_curve(x, y);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static tn_status add_curve(tn_accuracy *accuracy, const point *points, size_t count, bool whole,
                           tn_arena *arena, tn_error *error) {
    const char *folding = *points[0].folding ? points[0].folding : NULL;
    if (folding && count < POINTS_LEAST) return TN_OK;
    curve *c = &accuracy->curve[accuracy->curves++];
    *c = (curve){
        .layer = whole ? NULL : points[0].layer, .folding = folding, .count = count, .best = points[0].value};
    if (count < POINTS_LEAST)
        return tn_fail_at(error, TN_INPUT, points[0].position,
                          "a curve of %zu points%s%.100s; at least %d are needed", count,
                          whole ? "" : " for layer ", whole ? "" : points[0].layer, POINTS_LEAST);
    TN_TRY(TN_NEW(arena, count, &c->rank, error));
    TN_TRY(TN_NEW(arena, count, &c->value, error));
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && points[i].rank == points[i - 1].rank)
            return tn_fail_at(error, TN_INPUT, points[i].position,
                              "rank %g is measured twice, first in line %u; give it once", points[i].rank,
                              points[i - 1].position.line);
        c->rank[i] = points[i].rank;
        c->value[i] = points[i].value;
        c->best = fmax(c->best, points[i].value);
    }
    return TN_OK;
}

/* The greatest of "1 12 12 1", "1x12x12x1" or "12". */
static tn_status read_ranks(const tn_csv_cell *cell, double *rank, tn_error *error) {
    char number[32];
    *rank = 0;
    for (const char *cursor = cell->text;;) {
        size_t length = strcspn(cursor, " x");
        uint64_t value = 0;
        if (length < sizeof number) {
            memcpy(number, cursor, length);
            number[length] = '\0';
        }
        if (length >= sizeof number || tn_read_count(number, &value) != TN_NUMBER_OK || value == 0)
            return tn_fail_at(error, TN_INPUT, cell->position,
                              "'%.60s' must be a rank, or ranks as 1 12 12 1", cell->text);
        *rank = fmax(*rank, (double)value);
        if (cursor[length] == '\0') return TN_OK;
        cursor += length + 1;
    }
}

/* Which rows can be compared: not all of their seeds have collapsed, and what they have besides rank, folding and layer
 * (passes, model, formats) is what most rows have. */
typedef struct {
    size_t seeds, collapsed; /* columns; csv->columns where they are absent */
    size_t others, *other;   /* further choices, and epochs */
    const char **usual;      /* [others] */
} comparable;

static bool is_other(const char *name) {
    static const char *const own[] = {"rank", "ranks", "folding", "layer"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0) return false;
    return strcmp(name, "epochs") == 0 || !tn_accuracy_is_record(name);
}

/* The text of most rows; of two the one that is longer or, as a number of equal length, greater. */
static const char *usual_text(const tn_csv *csv, size_t column) {
    const char *usual = "";
    size_t most = 0;
    for (size_t i = 0; i < csv->rows; i++) {
        const char *text = tn_csv_at(csv, i, column)->text;
        size_t same = 0, longer = strlen(text), length = strlen(usual);
        for (size_t k = 0; k < csv->rows; k++) same += strcmp(tn_csv_at(csv, k, column)->text, text) == 0;
        bool greater = longer != length ? longer > length : strcmp(text, usual) > 0;
        if (same < most || (same == most && !greater)) continue;
        most = same;
        usual = text;
    }
    return usual;
}

static tn_status find_comparable(const tn_csv *csv, tn_arena *arena, comparable *candidate, tn_error *error) {
    *candidate =
        (comparable){.seeds = tn_csv_column(csv, "seeds"), .collapsed = tn_csv_column(csv, "collapsed")};
    TN_TRY(TN_NEW(arena, csv->columns, &candidate->other, error));
    TN_TRY(TN_NEW(arena, csv->columns, &candidate->usual, error));
    for (size_t i = 0; i < csv->columns; i++) {
        if (!is_other(csv->head[i].text)) continue;
        candidate->usual[candidate->others] = usual_text(csv, i);
        candidate->other[candidate->others++] = i;
    }
    return TN_OK;
}

/* A row without a rank is of the model that is not compressed, or of none. */
static tn_status counts(const tn_csv *csv, const comparable *candidate, size_t rank, size_t row, bool *does,
                        tn_error *error) {
    uint64_t seeds = 1, collapsed = 0;
    if (candidate->seeds < csv->columns && candidate->collapsed < csv->columns) {
        TN_TRY(tn_csv_count(csv, row, candidate->seeds, 1, UINT64_MAX, &seeds, error));
        TN_TRY(tn_csv_count(csv, row, candidate->collapsed, 0, seeds, &collapsed, error));
    }
    *does = collapsed < seeds && (*tn_csv_at(csv, row, rank)->text || candidate->others == 0);
    for (size_t i = 0; i < candidate->others; i++)
        *does &= strcmp(tn_csv_at(csv, row, candidate->other[i])->text, candidate->usual[i]) == 0;
    return TN_OK;
}

static tn_status read_points(const tn_csv *csv, tn_arena *arena, point *points, size_t *count, bool *whole,
                             tn_error *error) {
    const char *names[] = {"rank", "accuracy"};
    size_t column[2], layer = tn_csv_column(csv, "layer"), folding = tn_csv_column(csv, "folding");
    comparable rows;
    if (tn_csv_column(csv, "ranks") < csv->columns) names[0] = "ranks";
    TN_TRY(tn_csv_columns(csv, names, 2, false, column, error));
    TN_TRY(find_comparable(csv, arena, &rows, error));
    *whole = layer == csv->columns;
    *count = 0;
    for (size_t i = 0; i < csv->rows; i++) {
        const tn_csv_cell *ranks = tn_csv_at(csv, i, column[0]);
        point *entry = &points[*count];
        bool does;
        TN_TRY(counts(csv, &rows, column[0], i, &does, error));
        if (!does) continue;
        ++*count;
        entry->layer = *whole ? "" : tn_csv_at(csv, i, layer)->text;
        entry->folding = folding == csv->columns ? "" : tn_csv_at(csv, i, folding)->text;
        entry->position = ranks->position;
        TN_TRY(read_ranks(ranks, &entry->rank, error));
        TN_TRY(tn_csv_real(csv, i, column[1], -INFINITY, INFINITY, &entry->value, error));
    }
    return TN_OK;
}

tn_status tn_accuracy_load(const char *path, tn_arena *arena, tn_accuracy **accuracy, tn_error *error) {
    tn_csv csv;
    tn_accuracy *made;
    point *points;
    bool whole;
    size_t count;
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    TN_TRY(TN_NEW(arena, 1, &made, error));
    TN_TRY(TN_NEW(arena, csv.rows, &points, error));
    TN_TRY(TN_NEW(arena, csv.rows, &made->curve, error));
    made->path = path;
    TN_TRY(read_points(&csv, arena, points, &count, &whole, error));
    if (count == 0)
        return tn_fail_at(error, TN_INPUT, csv.head[0].position, "no points; add rows of rank and accuracy");
    qsort(points, count, sizeof *points, by_curve_and_rank);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && by_curve(&points[next], &points[first]) == 0;) next++;
        TN_TRY(add_curve(made, points + first, next - first, whole, arena, error));
    }
    if (made->curves == 0)
        return tn_fail_at(error, TN_INPUT, csv.head[0].position,
                          "no folding has the %d points that a curve needs", POINTS_LEAST);
    *accuracy = made;
    return TN_OK;
}

static const curve *curve_of(const tn_accuracy *accuracy, const char *layer, const char *folding) {
    for (size_t i = 0; i < accuracy->curves; i++) {
        const curve *c = &accuracy->curve[i];
        bool same_layer = !c->layer || strcmp(c->layer, layer) == 0;
        if (same_layer && (!c->folding || (folding && strcmp(c->folding, folding) == 0))) return c;
    }
    return NULL;
}

bool tn_accuracy_covers(const tn_accuracy *accuracy, const char *layer, const char *folding) {
    return curve_of(accuracy, layer, folding) != NULL;
}

static tn_status find(const tn_accuracy *accuracy, const char *layer, const char *folding,
                      const curve **found, tn_error *error) {
    *found = curve_of(accuracy, layer, folding);
    if (*found) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = accuracy->path},
                      "has no curve for layer %.100s%s%.100s; measure it, or leave the column out", layer,
                      folding ? " in folding " : "", folding ? folding : "");
}

tn_status tn_accuracy_at(const tn_accuracy *accuracy, const char *layer, const char *folding, double rank,
                         double *value, tn_error *error) {
    const curve *c;
    TN_TRY(find(accuracy, layer, folding, &c, error));
    if (!(rank >= c->rank[0] && rank <= c->rank[c->count - 1]))
        return tn_fail_at(
            error, TN_INPUT, (tn_position){.file = accuracy->path},
            "rank %g%s%.100s lies outside the measured ranks %g to %g; measure it, or ask for ranks between",
            rank, c->layer ? " of layer " : "", c->layer ? c->layer : "", c->rank[0], c->rank[c->count - 1]);
    return tn_monotone_at(c->rank, c->value, c->count, rank, value, error);
}

tn_status tn_accuracy_range(const tn_accuracy *accuracy, const char *layer, const char *folding,
                            double *least, double *most, tn_error *error) {
    const curve *c;
    TN_TRY(find(accuracy, layer, folding, &c, error));
    *least = c->rank[0];
    *most = c->rank[c->count - 1];
    return TN_OK;
}

tn_status tn_accuracy_loss(const tn_accuracy *accuracy, const char *layer, const char *folding, size_t layers,
                           double rank, double *loss, tn_error *error) {
    const curve *c;
    double value;
    TN_TRY(find(accuracy, layer, folding, &c, error));
    TN_TRY(tn_accuracy_at(accuracy, layer, folding, rank, &value, error));
    *loss = fmax(0, c->best - value) / (c->layer ? 1.0 : (double)layers);
    return TN_OK;
}
