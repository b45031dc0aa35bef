#include "plot/scatter.h"

#include "base/c_locale.h"
#include "base/memory.h"
#include "plot/ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MOST = 48 };

typedef struct {
    double least, most;
} range;

static void widen(range *of, double value) {
    of->least = fmin(of->least, value);
    of->most = fmax(of->most, value);
}

/* 6e6 and not 6e+06 */
static void mark_text(double at, char *text, size_t capacity) {
    char number[TEXT_MOST / 2];
    tn_snprintf(number, sizeof number, "%.6g", at);
    char *power = strchr(number, 'e');
    if (!power) {
        tn_snprintf(text, capacity, "%s", number);
        return;
    }
    *power++ = '\0';
    const char *sign = *power == '-' ? "-" : "";
    power += strspn(power, "+-0");
    tn_snprintf(text, capacity, "%se%s%s", number, sign, power);
}

static void define_marks(tn_buffer *definition, const char *axis, const tn_ticks *ticks) {
    char text[TN_TICKS_MOST][TEXT_MOST];
    const char *label[TN_TICKS_MOST];
    for (size_t i = 0; i < ticks->count; i++) {
        mark_text(ticks->at[i], text[i], sizeof text[i]);
        label[i] = text[i];
    }
    tn_define_marks(definition, axis, label, ticks->at, ticks->count);
}

/* A text at each whole number from 0. */
static tn_status define_names(tn_buffer *definition, const char *axis, const tn_scatter_axis *of,
                              tn_error *error) {
    double *at;
    TN_TRY(tn_alloc(of->names, sizeof *at, &at, error));
    for (size_t i = 0; i < of->names; i++) at[i] = (double)i;
    tn_define_marks(definition, axis, of->name, at, of->names);
    tn_free(at);
    return TN_OK;
}

static tn_status define_axis(tn_buffer *definition, const char *axis, const tn_scatter_axis *of, range values,
                             tn_error *error) {
    char name[TEXT_MOST];
    if (of->log && values.least <= 0)
        return tn_fail(error, TN_INPUT,
                       "%s has a value of %g, which a logarithmic axis can't show; leave it "
                       "linear, or leave such designs out with --where",
                       of->title, values.least);
    tn_ticks ticks = tn_ticks_of(values.least, values.most, of->log);
    if (of->names) {
        ticks.least = -0.5;
        ticks.most = (double)of->names - 0.5;
    }
    tn_snprintf(name, sizeof name, "%s_label", axis);
    tn_define_text(definition, name, of->title);
    tn_snprintf(name, sizeof name, "%s_log", axis);
    tn_define_real(definition, name, of->log);
    tn_snprintf(name, sizeof name, "%s_least", axis);
    tn_define_real(definition, name, ticks.least);
    tn_snprintf(name, sizeof name, "%s_most", axis);
    tn_define_real(definition, name, ticks.most);
    const char *letters = strcmp(axis, "colour") == 0 ? "cb" : axis;
    if (of->names) return define_names(definition, letters, of, error);
    define_marks(definition, letters, &ticks);
    return TN_OK;
}

static tn_status define(const tn_scatter *of, tn_buffer *definition, tn_error *error) {
    range x = {INFINITY, -INFINITY}, y = x, colour = x;
    for (size_t i = 0; i < of->count; i++) {
        widen(&x, of->point[i].x);
        widen(&y, of->point[i].y);
        widen(&colour, of->point[i].colour);
    }
    tn_define_text(definition, "heading", of->heading);
    TN_TRY(define_axis(definition, "x", &of->x, x, error));
    TN_TRY(define_axis(definition, "y", &of->y, y, error));
    tn_define_real(definition, "coloured", of->colour.title != NULL);
    if (of->colour.title) TN_TRY(define_axis(definition, "colour", &of->colour, colour, error));
    tn_define_real(definition, "series", (double)of->series);
    tn_define_real(definition, "point_size", of->count > 2000 ? 0.35 : of->count > 200 ? 0.6 : 0.9);
    tn_buffer_format(definition, "array title_of[%zu]\n", of->series ? of->series : 1);
    for (size_t i = 0; i < of->series; i++) {
        char name[TEXT_MOST];
        tn_snprintf(name, sizeof name, "title_of[%zu]", i + 1);
        tn_define_text(definition, name, of->series_name[i]);
    }
    return TN_OK;
}

static void put_points(const tn_scatter *of, tn_buffer *data) {
    for (size_t s = 0; s < (of->series ? of->series : 1); s++) {
        size_t put = 0;
        for (size_t i = 0; i < of->count; i++) {
            const tn_scatter_point *point = &of->point[i];
            if (of->series && point->series != s) continue;
            tn_buffer_format(data, "%.17g %.17g %.17g %d\n", point->x, point->y, point->colour,
                             point->hollow);
            put++;
        }
        if (put == 0) tn_buffer_text(data, "NaN NaN NaN 0\n"); /* an index without lines would not count */
        tn_buffer_text(data, "\n\n");
    }
}

tn_status tn_scatter_draw(const tn_scatter *scatter, const char *path, tn_figure_format format,
                          tn_figure_style style, tn_error *error) {
    tn_buffer data = {0}, definition = {0};
    if (scatter->count == 0) return tn_fail(error, TN_INPUT, "there is no design to draw");
    tn_status status = define(scatter, &definition, error);
    put_points(scatter, &data);
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
