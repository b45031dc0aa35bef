#include "ranks/accuracy.h"

#include "base/monotone.h"
#include "base/suggest.h"
#include "text/csv.h"
#include "text/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_LEAST = 3 };

typedef struct {
    const char *layer; /* NULL: the whole model */
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
    const char *layer;
    double rank, value;
    tn_position at;
} point;

static int by_layer_and_rank(const void *a, const void *b) {
    const point *x = a, *y = b;
    int order = strcmp(x->layer, y->layer);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static tn_status add_curve(tn_accuracy *accuracy, const point *points, size_t count, bool whole,
                           tn_arena *arena, tn_error *error) {
    curve *c = &accuracy->curve[accuracy->curves++];
    *c = (curve){.layer = whole ? NULL : points[0].layer, .count = count, .best = points[0].value};
    if (count < POINTS_LEAST)
        return tn_fail_at(error, TN_INPUT, points[0].at,
                          "a curve of %zu points%s%.100s; at least %d are needed", count,
                          whole ? "" : " for layer ", whole ? "" : points[0].layer, POINTS_LEAST);
    TN_TRY(tn_arena_alloc(arena, count, sizeof *c->rank, &c->rank, error));
    TN_TRY(tn_arena_alloc(arena, count, sizeof *c->value, &c->value, error));
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && points[i].rank == points[i - 1].rank)
            return tn_fail_at(error, TN_INPUT, points[i].at,
                              "rank %g is measured twice, first in line %u; give it once", points[i].rank,
                              points[i - 1].at.line);
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
    for (const char *at = cell->text;;) {
        size_t length = strcspn(at, " x");
        uint64_t value = 0;
        if (length < sizeof number) {
            memcpy(number, at, length);
            number[length] = '\0';
        }
        if (length >= sizeof number || tn_read_count(number, &value) != TN_NUMBER_OK || value == 0)
            return tn_fail_at(error, TN_INPUT, cell->at, "'%.60s' must be a rank, or ranks as 1 12 12 1",
                              cell->text);
        *rank = fmax(*rank, (double)value);
        if (at[length] == '\0') return TN_OK;
        at += length + 1;
    }
}

static tn_status read_points(const tn_csv *csv, point *points, bool *whole, tn_error *error) {
    const char *names[] = {"rank", "accuracy"};
    size_t column[2], layer = tn_csv_column(csv, "layer");
    if (tn_csv_column(csv, "ranks") < csv->columns) names[0] = "ranks";
    TN_TRY(tn_csv_columns(csv, names, 2, false, column, error));
    *whole = layer == csv->columns;
    for (size_t i = 0; i < csv->rows; i++) {
        const tn_csv_cell *ranks = tn_csv_at(csv, i, column[0]);
        points[i].layer = *whole ? "" : tn_csv_at(csv, i, layer)->text;
        points[i].at = ranks->at;
        TN_TRY(read_ranks(ranks, &points[i].rank, error));
        TN_TRY(tn_csv_real(csv, i, column[1], -INFINITY, INFINITY, &points[i].value, error));
    }
    return TN_OK;
}

tn_status tn_accuracy_load(const char *path, tn_arena *arena, tn_accuracy **accuracy, tn_error *error) {
    tn_csv csv;
    tn_accuracy *made;
    point *points;
    bool whole;
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    TN_TRY(tn_arena_alloc(arena, 1, sizeof *made, &made, error));
    TN_TRY(tn_arena_alloc(arena, csv.rows, sizeof *points, &points, error));
    TN_TRY(tn_arena_alloc(arena, csv.rows, sizeof *made->curve, &made->curve, error));
    made->path = path;
    TN_TRY(read_points(&csv, points, &whole, error));
    if (csv.rows == 0)
        return tn_fail_at(error, TN_INPUT, csv.head[0].at, "no points; add rows of rank and accuracy");
    qsort(points, csv.rows, sizeof *points, by_layer_and_rank);
    for (size_t first = 0, next; first < csv.rows; first = next) {
        for (next = first + 1; next < csv.rows && strcmp(points[next].layer, points[first].layer) == 0;)
            next++;
        TN_TRY(add_curve(made, points + first, next - first, whole, arena, error));
    }
    *accuracy = made;
    return TN_OK;
}

static tn_status find(const tn_accuracy *accuracy, const char *layer, const curve **found, tn_error *error) {
    const curve *c = accuracy->curve;
    *found = c;
    if (!c[0].layer) return TN_OK;
    for (size_t i = 0; i < accuracy->curves; i++) {
        *found = &c[i];
        if (strcmp(c[i].layer, layer) == 0) return TN_OK;
    }
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = accuracy->path},
                      "has no curve for layer %.100s; measure it, or leave the column `layer` out", layer);
}

tn_status tn_accuracy_at(const tn_accuracy *accuracy, const char *layer, double rank, double *value,
                         tn_error *error) {
    const curve *c;
    TN_TRY(find(accuracy, layer, &c, error));
    if (!(rank >= c->rank[0] && rank <= c->rank[c->count - 1]))
        return tn_fail_at(
            error, TN_INPUT, (tn_position){.file = accuracy->path},
            "rank %g%s%.100s lies outside the measured ranks %g to %g; measure it, or ask for ranks between",
            rank, c->layer ? " of layer " : "", c->layer ? c->layer : "", c->rank[0], c->rank[c->count - 1]);
    return tn_monotone_at(c->rank, c->value, c->count, rank, value, error);
}

tn_status tn_accuracy_range(const tn_accuracy *accuracy, const char *layer, double *least, double *most,
                            tn_error *error) {
    const curve *c;
    TN_TRY(find(accuracy, layer, &c, error));
    *least = c->rank[0];
    *most = c->rank[c->count - 1];
    return TN_OK;
}

tn_status tn_accuracy_loss(const tn_accuracy *accuracy, const char *layer, size_t layers, double rank,
                           double *loss, tn_error *error) {
    const curve *c;
    double value;
    TN_TRY(find(accuracy, layer, &c, error));
    TN_TRY(tn_accuracy_at(accuracy, layer, rank, &value, error));
    *loss = fmax(0, c->best - value) / (c->layer ? 1.0 : (double)layers);
    return TN_OK;
}
