#include "plot/scatter.h"

#include "base/c_locale.h"
#include "base/memory.h"
#include "plot/gnuplot.h"
#include "space/quantity.h"
#include "text/number.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tree's layout: tensors are one below the other, a merge lies between its operands and right of both. */
typedef struct layout {
    const tn_order_figure *figure;
    const tn_indices *tensor;
    const uint64_t *elements, *macs; /* of merges */
    double *x, *y;                   /* [2 * tensors - 1] */
    uint32_t placed;                 /* tensors so far */
    size_t longest;                  /* characters of a tensor's name */
    double most_macs;
} layout;

static void place(layout *l, uint32_t node) {
    const tn_tree *tree = l->figure->tree;
    if (node < tree->tensors) {
        l->x[node] = 0;
        l->y[node] = -(double)l->placed++;
        return;
    }
    tn_merge merge = tree->merge[node - tree->tensors];
    place(l, merge.a);
    place(l, merge.b);
    l->x[node] = 1 + fmax(l->x[merge.a], l->x[merge.b]);
    l->y[node] = (l->y[merge.a] + l->y[merge.b]) / 2;
}

/* From each operand level to above its merge, then down or up to it. */
static void put_lines(const layout *l, tn_buffer *data) {
    const tn_tree *tree = l->figure->tree;
    tn_buffer_text(data, "# lines: x y\n");
    for (uint32_t i = 0; i + 1 < tree->tensors; i++) {
        const uint32_t pair[2] = {tree->merge[i].a, tree->merge[i].b}, node = tree->tensors + i;
        for (int side = 0; side < 2; side++)
            tn_buffer_format(data, "%g %g\n%g %g\n%g %g\n\n", l->x[pair[side]], l->y[pair[side]], l->x[node],
                             l->y[pair[side]], l->x[node], l->y[node]);
    }
    tn_buffer_text(data, "\n");
}

static void put_name(const layout *l, uint32_t node, tn_buffer *label) {
    const tn_network *network = l->figure->network;
    char text[32];
    tn_buffer_format(label, "%s [", tn_network_tensor_name(network, node, text));
    for (uint32_t i = 0; i < l->tensor[node].count; i++)
        tn_buffer_format(label, "%s%s", i ? " " : "",
                         tn_network_index_name(network, l->tensor[node].index[i], text));
    tn_buffer_text(label, "]");
}

static void put_cell(tn_buffer *data, tn_buffer *label) {
    if (label->status == TN_OK) tn_figure_cell(data, label->data);
    if (label->status != TN_OK && data->status == TN_OK) data->status = label->status;
    tn_buffer_text(data, "\n");
    tn_buffer_free(label);
}

static void put_nodes(layout *l, tn_buffer *data) {
    uint32_t n = l->figure->tree->tensors;
    tn_buffer_text(data, "# tensors: x y name\n");
    for (uint32_t node = 0; node < n; node++) {
        tn_buffer label = {0};
        put_name(l, node, &label);
        if (label.length > l->longest) l->longest = label.length;
        tn_buffer_format(data, "%g %g ", l->x[node], l->y[node]);
        put_cell(data, &label);
    }
    tn_buffer_text(data, "\n\n# merges: x y share-of-the-costliest label\n");
    for (uint32_t i = 0; i + 1 < n; i++) {
        tn_buffer label = {0};
        char macs[32], elements[32];
        tn_buffer_format(&label, "%" PRIu32 ": %s MACs, %s numbers", i + 1, tn_count_text(l->macs[i], macs),
                         tn_count_text(l->elements[i], elements));
        tn_buffer_format(data, "%g %g %g ", l->x[n + i], l->y[n + i], (double)l->macs[i] / l->most_macs);
        put_cell(data, &label);
    }
    tn_buffer_text(data, "\n\n");
}

static void order_figure_put_points(const tn_order_figure *figure, tn_buffer *data) {
    tn_buffer_text(data, "# front: MACs, peak live elements\n");
    if (figure->front->count == 0) tn_buffer_text(data, "NaN NaN\n");
    for (size_t i = 0; i < figure->front->count; i++)
        tn_buffer_format(data, "%" PRIu64 " %" PRIu64 "\n", figure->front->item[i].cost.macs,
                         figure->front->item[i].cost.peak_elements);
    tn_buffer_text(data, "\n\n# flows: MACs, peak live elements, name\n");
    for (size_t i = 0; i < figure->flows; i++) {
        tn_buffer_format(data, "%" PRIu64 " %" PRIu64 " ", figure->flow[i].cost.macs,
                         figure->flow[i].cost.peak_elements);
        tn_figure_cell(data, figure->flow[i].name);
        tn_buffer_text(data, "\n");
    }
}

static tn_status lay_out(layout *l, tn_arena *arena, tn_error *error) {
    const tn_order_figure *figure = l->figure;
    uint32_t n = figure->tree->tensors;
    tn_indices *tensor = NULL;
    uint64_t *elements = NULL, *macs = NULL;
    TN_TRY(tn_tree_tensors(figure->network, figure->tree, arena, &tensor, error));
    TN_TRY(tn_tree_merges(figure->network, figure->tree, arena, &elements, &macs, error));
    TN_TRY(TN_NEW(arena, 2 * (size_t)n, &l->x, error));
    TN_TRY(TN_NEW(arena, 2 * (size_t)n, &l->y, error));
    l->tensor = tensor;
    l->elements = elements;
    l->macs = macs;
    for (uint32_t i = 0; i + 1 < n; i++) l->most_macs = fmax(l->most_macs, (double)macs[i]);
    place(l, 2 * n - 2);
    return TN_OK;
}

/* The flows' names as one text with blanks between. */
static void order_figure_define_names(const tn_order_figure *figure, tn_buffer *definition) {
    tn_buffer names = {0};
    tn_buffer_bytes(&names, "", 0);
    for (size_t i = 0; i < figure->flows; i++)
        tn_buffer_format(&names, "%s%s", i ? " " : "", figure->flow[i].name);
    if (names.status == TN_OK)
        tn_define_text(definition, "names", names.data);
    else if (definition->status == TN_OK)
        definition->status = names.status;
    tn_buffer_free(&names);
}

static void order_figure_define(const layout *l, tn_buffer *definition) {
    uint32_t n = l->figure->tree->tensors;
    tn_define_text(definition, "network", l->figure->title);
    tn_define_real(definition, "tensors", n);
    tn_define_real(definition, "depth", l->x[2 * n - 2]);
    tn_define_real(definition, "longest", (double)l->longest);
    tn_define_real(definition, "points", (double)l->figure->front->count);
    tn_define_real(definition, "flows", (double)l->figure->flows);
    order_figure_define_names(l->figure, definition);
    tn_define_real(definition, "size_x", 1500);
    tn_define_real(definition, "size_y", fmax(560, 120 + 40.0 * n));
}

static tn_status draw(const char *path, layout *l, tn_arena *arena, tn_buffer *definition, tn_buffer *data,
                      tn_error *error) {
    tn_figure figure = {.script = "order", .definition = definition, .data = data};
    TN_TRY(tn_figure_format_of(path, &figure.format, error));
    size_t ending = strlen(strrchr(path, '.'));
    TN_TRY(tn_arena_copy_text(arena, path, strlen(path) - ending, &figure.path, error));
    TN_TRY(lay_out(l, arena, error));
    put_lines(l, data);
    put_nodes(l, data);
    order_figure_put_points(l->figure, data);
    order_figure_define(l, definition);
    return tn_figure_draw(&figure, error);
}

tn_status tn_order_draw(const char *path, const tn_order_figure *figure, tn_error *error) {
    layout l = {.figure = figure};
    tn_arena arena = {0};
    tn_buffer definition = {0}, data = {0};
    if (figure->tree->tensors < 2)
        return tn_fail(error, TN_INPUT, "a network of one tensor has no tree to draw");
    tn_status status = draw(path, &l, &arena, &definition, &data, error);
    tn_buffer_free(&definition);
    tn_buffer_free(&data);
    tn_arena_free(&arena);
    return status;
}

enum { TEXT_MOST = 48 };

typedef struct {
    double least, most;
} range;

static void widen(range *interval, double value) {
    interval->least = fmin(interval->least, value);
    interval->most = fmax(interval->most, value);
}

/* A text at each whole number from 0. */
static tn_status define_names(tn_buffer *definition, const char *axis, const tn_scatter_axis *scatter_axis,
                              tn_error *error) {
    double *element;
    TN_TRY(TN_ALLOC(scatter_axis->names, &element, error));
    for (size_t i = 0; i < scatter_axis->names; i++) element[i] = (double)i;
    tn_define_marks(definition, axis, scatter_axis->name, element, scatter_axis->names);
    tn_free(element);
    return TN_OK;
}

/* A mark at each of few values. */
static void define_values(tn_buffer *definition, const char *axis, const tn_scatter_axis *scatter_axis) {
    char text[TN_SCATTER_VALUES][48];
    const char *label[TN_SCATTER_VALUES];
    for (size_t i = 0; i < scatter_axis->values; i++)
        label[i] = tn_plain_text(scatter_axis->value[i], text[i]);
    tn_define_marks(definition, axis, label, scatter_axis->value, scatter_axis->values);
}

static tn_status define_axis(tn_buffer *definition, const char *axis, const tn_scatter_axis *scatter_axis,
                             range values, tn_error *error) {
    char name[TEXT_MOST];
    if (scatter_axis->log && values.least <= 0)
        return tn_fail(error, TN_INPUT,
                       "%s has a value of %g, which a logarithmic axis can't show; leave it "
                       "linear, or leave such designs out with --where",
                       scatter_axis->title, values.least);
    const char *letters = strcmp(axis, "colour") == 0 ? "cb" : axis;
    tn_ticks ticks = {0};
    if (!scatter_axis->names)
        ticks = tn_define_axis(definition, axis, scatter_axis->unit, 1, values.least, values.most,
                               scatter_axis->log);
    if (scatter_axis->values) define_values(definition, letters, scatter_axis);
    if (scatter_axis->names) {
        ticks.least = -0.5;
        ticks.most = (double)scatter_axis->names - 0.5;
    }
    tn_snprintf(name, sizeof name, "%s_label", axis);
    tn_define_text(definition, name, scatter_axis->title);
    tn_snprintf(name, sizeof name, "%s_log", axis);
    tn_define_real(definition, name, scatter_axis->log);
    tn_snprintf(name, sizeof name, "%s_least", axis);
    tn_define_real(definition, name, ticks.least);
    tn_snprintf(name, sizeof name, "%s_most", axis);
    tn_define_real(definition, name, ticks.most);
    for (size_t i = 0; i < 2; i++) {
        bool shown = i < scatter_axis->ends && scatter_axis->end[i] >= ticks.least &&
                     scatter_axis->end[i] <= ticks.most;
        tn_snprintf(name, sizeof name, "%s_end_%zu", axis, i + 1);
        tn_define_text(definition, name, shown ? scatter_axis->end_name[i] : "");
        tn_snprintf(name, sizeof name, "%s_at_%zu", axis, i + 1);
        tn_define_real(definition, name, shown ? scatter_axis->end[i] : 0);
    }
    return scatter_axis->names ? define_names(definition, letters, scatter_axis, error) : TN_OK;
}

tn_status tn_scatter_axis_of(const char *key, tn_arena *arena, tn_scatter_axis *axis, tn_error *error) {
    tn_buffer title = {0};
    const tn_quantity *quantity = NULL;
    *axis = (tn_scatter_axis){.unit = ""};
    tn_word_put_title(key, &title);
    if (tn_quantity_find(key, (tn_position){0}, &quantity, NULL) == TN_OK) {
        axis->unit = tn_word_unit(key);
        axis->better = quantity->maximise ? 1 : -1;
    }
    tn_status status = title.status == TN_OK
                           ? tn_arena_copy_text(arena, title.data, title.length, &axis->title, error)
                           : tn_fail(error, title.status, "no memory for the title of an axis");
    tn_buffer_free(&title);
    return status;
}

/* ---- the line of what is attained: no point is better in both axes ---- */

static bool has_line(const tn_scatter *scatter) {
    return scatter->attained && scatter->x.better && scatter->y.better && scatter->count > 1;
}

/* Least x (in the better direction) first. */
static int by_better(const void *a, const void *b) {
    const double *p = a, *q = b;
    if (p[0] != q[0]) return p[0] < q[0] ? -1 : 1;
    return p[1] < q[1] ? -1 : p[1] > q[1];
}

void tn_attained_put(double (*point)[2], size_t count, int better_x, int better_y, tn_buffer *data) {
    double best = INFINITY;
    for (size_t i = 0; i < count; i++) {
        point[i][0] *= -better_x;
        point[i][1] *= -better_y;
    }
    if (count) qsort(point, count, sizeof *point, by_better);
    if (count == 0) tn_buffer_text(data, "NaN NaN NaN 0\n");
    for (size_t i = 0; i < count; i++) {
        if (point[i][1] >= best) continue;
        if (best < INFINITY)
            tn_buffer_format(data, "%.17g %.17g NaN 0\n", -better_x * point[i][0], -better_y * best);
        best = point[i][1];
        tn_buffer_format(data, "%.17g %.17g NaN 0\n", -better_x * point[i][0], -better_y * best);
    }
}

static tn_status put_line(const tn_scatter *scatter, tn_buffer *data, tn_error *error) {
    double(*point)[2];
    size_t count = has_line(scatter) ? scatter->count : 0;
    TN_TRY(TN_ALLOC(scatter->count, &point, error));
    for (size_t i = 0; i < count; i++) {
        point[i][0] = scatter->point[i].x;
        point[i][1] = scatter->point[i].y;
    }
    tn_attained_put(point, count, scatter->x.better, scatter->y.better, data);
    tn_buffer_text(data, "\n\n");
    tn_free(point);
    return TN_OK;
}

/* ---- curves over x ---- */

static int by_series(const void *a, const void *b) {
    const tn_scatter_point *p = a, *q = b;
    if (p->series != q->series) return p->series < q->series ? -1 : 1;
    return p->x < q->x ? -1 : p->x > q->x;
}

/* Points of a series by their x; *joined: each has a place of its own, and some series has several. */
static tn_status sort_points(const tn_scatter *scatter, tn_scatter_point **sorted, bool *joined,
                             tn_error *error) {
    TN_TRY(TN_ALLOC(scatter->count, sorted, error));
    memcpy(*sorted, scatter->point, scatter->count * sizeof **sorted);
    qsort(*sorted, scatter->count, sizeof **sorted, by_series);
    bool alone = true, several = false;
    for (size_t i = 1; i < scatter->count; i++) {
        alone &= by_series(&(*sorted)[i - 1], &(*sorted)[i]) != 0;
        several |= (*sorted)[i - 1].series == (*sorted)[i].series;
    }
    *joined = scatter->joined && alone && several;
    return TN_OK;
}

static tn_status define(const tn_scatter *scatter, tn_buffer *definition, tn_error *error) {
    range x = {INFINITY, -INFINITY}, y = x, colour = x;
    for (size_t i = 0; i < scatter->count; i++) {
        widen(&x, scatter->point[i].x);
        widen(&y, scatter->point[i].y);
        widen(&colour, scatter->point[i].colour);
    }
    if (scatter->x.ends) widen(&x, scatter->x.end[0]);
    if (scatter->y.ends) widen(&y, scatter->y.end[0]);
    tn_define_text(definition, "heading", scatter->heading);
    TN_TRY(define_axis(definition, "x", &scatter->x, x, error));
    TN_TRY(define_axis(definition, "y", &scatter->y, y, error));
    tn_define_real(definition, "coloured", scatter->colour.title != NULL);
    if (scatter->colour.title) TN_TRY(define_axis(definition, "colour", &scatter->colour, colour, error));
    tn_define_real(definition, "series", (double)scatter->series);
    tn_define_text(definition, "series_title", scatter->series_title ? scatter->series_title : "");
    tn_define_real(definition, "ordered", scatter->ordered);
    tn_define_real(definition, "attained", has_line(scatter));
    tn_define_text(definition, "marked_name",
                   scatter->marked < scatter->count && scatter->marked_name ? scatter->marked_name : "");
    tn_define_real(definition, "point_size", scatter->count > 2000 ? 0.45 : scatter->count > 200 ? 0.6 : 0.9);
    tn_buffer_format(definition, "array title_of[%zu]\n", scatter->series ? scatter->series : 1);
    for (size_t i = 0; i < scatter->series; i++) {
        char name[TEXT_MOST];
        tn_snprintf(name, sizeof name, "title_of[%zu]", i + 1);
        tn_define_text(definition, name, scatter->series_name[i]);
    }
    return TN_OK;
}

/* The series, the line of what is attained, the marked one. */
static tn_status put_points(const tn_scatter *scatter, const tn_scatter_point *sorted, tn_buffer *data,
                            tn_error *error) {
    for (size_t s = 0; s < (scatter->series ? scatter->series : 1); s++) {
        size_t put = 0;
        for (size_t i = 0; i < scatter->count; i++) {
            const tn_scatter_point *point = &sorted[i];
            if (scatter->series && point->series != s) continue;
            tn_buffer_format(data, "%.17g %.17g %.17g %d\n", point->x, point->y, point->colour,
                             point->hollow);
            put++;
        }
        if (put == 0) tn_buffer_text(data, "NaN NaN NaN 0\n"); /* an index without lines would not count */
        tn_buffer_text(data, "\n\n");
    }
    TN_TRY(put_line(scatter, data, error));
    if (scatter->marked < scatter->count)
        tn_buffer_format(data, "%.17g %.17g NaN 0\n", scatter->point[scatter->marked].x,
                         scatter->point[scatter->marked].y);
    else
        tn_buffer_text(data, "NaN NaN NaN 0\n");
    return TN_OK;
}

tn_status tn_scatter_draw(const tn_scatter *scatter, const char *path, tn_figure_format format,
                          tn_figure_style style, tn_error *error) {
    tn_buffer data = {0}, definition = {0};
    if (scatter->count == 0) return tn_fail(error, TN_INPUT, "there is no design to draw");
    tn_scatter_point *sorted;
    bool joined;
    TN_TRY(sort_points(scatter, &sorted, &joined, error));
    tn_define_real(&definition, "joined", joined);
    tn_status status = define(scatter, &definition, error);
    if (status == TN_OK) status = put_points(scatter, sorted, &data, error);
    tn_free(sorted);
    const tn_figure figure = {.path = path,
                              .format = format,
                              .style = style,
                              .script = "scatter",
                              .definition = &definition,
                              .data = &data};
    if (status == TN_OK) status = tn_figure_draw(&figure, error);
    tn_buffer_free(&data);
    tn_buffer_free(&definition);
    return status;
}
