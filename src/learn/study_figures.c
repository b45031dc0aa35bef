#include "learn/study_figures.h"

#include "base/file.h"
#include "learn/accuracy_session.h"
#include "space/accuracy_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Lines with names in the key; of more, none has one. */
enum { NAMED_MOST = 8, PATH = 1200 };

typedef struct canvas {
    const tn_space *space;
    tn_buffer data, definition, title;
    size_t lines;
} canvas;

static bool varies(const tn_axis *choice, bool ranks) {
    return tn_accuracy_depends_on(choice) && (ranks || choice->kind != TN_AXIS_RANK);
}

static bool same_line(const tn_space *space, uint64_t a, uint64_t b) {
    for (size_t i = 0; i < space->choices.count; i++)
        if (varies(&space->choices.axis[i], false) &&
            tn_choices_digit(&space->choices, a, i) != tn_choices_digit(&space->choices, b, i))
            return false;
    return true;
}

/* Ends the line, named by the values of its choices. */
static void end_line(canvas *c, uint64_t id, bool ranks) {
    char name[32];
    c->title.length = 0;
    for (size_t i = 0; i < c->space->choices.count; i++) {
        if (!varies(&c->space->choices.axis[i], ranks) || c->space->choices.axis[i].count < 2) continue;
        if (c->title.length) tn_buffer_text(&c->title, ", ");
        if (c->space->choices.axis[i].kind == TN_AXIS_RANK) tn_buffer_text(&c->title, "rank ");
        tn_axis_value(&c->space->choices.axis[i], tn_choices_digit(&c->space->choices, id, i), &c->title);
    }
    tn_buffer_text(&c->data, "\n\n");
    snprintf(name, sizeof name, "title_of[%zu]", ++c->lines);
    tn_define_text(&c->definition, name, c->title.length ? c->title.data : "");
}

static void put_parameters(canvas *c, const tn_study *study) {
    uint64_t epochs = 0;
    bool stopped = false;
    for (size_t i = 0; i < study->count; i++) {
        if (isnan(study->row[i].learned)) continue;
        stopped |= epochs > 0 && study->row[i].epochs != epochs;
        if (study->row[i].epochs > epochs) epochs = study->row[i].epochs;
    }
    tn_define_real(&c->definition, "epochs", (double)epochs);
    tn_define_real(&c->definition, "stopped", stopped);
    for (size_t i = 0; i < study->count; i++) {
        const tn_study_row *first = &study->row[i];
        bool begun = false, any = false;
        for (size_t k = 0; k < i; k++)
            begun |= same_line(c->space, study->row[k].id, first->id) && !isnan(study->row[k].learned);
        for (size_t k = i; !begun && k < study->count; k++) {
            const tn_study_row *row = &study->row[k];
            if (isnan(row->learned) || !same_line(c->space, row->id, first->id)) continue;
            any = true;
            tn_buffer_format(&c->data, "%" PRIu64 " %.17g %.17g %d\n", row->parameters,
                             study->is_text ? row->perplexity : 100 * row->accuracy,
                             isnan(row->spread) ? 0 : (study->is_text ? 1 : 100) * row->spread,
                             row->epochs < epochs);
        }
        if (any) end_line(c, first->id, false);
    }
}

/* Of a curve, as it is drawn: per cent, or a perplexity. */
static double shown(const tn_study *study, double learned) {
    const tn_accuracy_table told = {.answers = study->is_text ? tn_accuracy_bytes : 0};
    return (study->is_text ? 1 : 100) * tn_accuracy_table_told(&told, learned);
}

/* The ends between which all lies. */
static void define_ends(canvas *c, const tn_study *study) {
    double constant =
        study->is_text ? exp(study->constant_dev.loss) : 100 * tn_study_accuracy(&study->constant_dev);
    tn_define_real(&c->definition, "constant", constant);
    tn_define_real(&c->definition, "has_dense", !isnan(study->dense));
    tn_define_real(&c->definition, "dense", isnan(study->dense) ? 0 : shown(study, study->dense));
    tn_define_text(&c->definition, "quality_label",
                   study->is_text ? "perplexity on dev" : "accuracy on dev, %");
}

static void put_epochs(canvas *c, const tn_study *study) {
    for (size_t i = 0; i < study->count; i++) {
        const tn_study_row *row = &study->row[i];
        for (size_t e = 0; e < row->curve_epochs; e++)
            tn_buffer_format(&c->data, "%zu %.17g\n", e + 1, shown(study, row->curve[e]));
        if (row->curve_epochs) end_line(c, row->id, true);
    }
}

static tn_status draw(const char *folder, const char *name, const tn_space *space, const tn_study *study,
                      void (*put)(canvas *, const tn_study *), tn_figure_format format, tn_error *error) {
    char path[PATH];
    canvas c = {.space = space};
    tn_buffer_format(&c.definition, "array title_of[%zu]\n", study->count + 1);
    put(&c, study);
    define_ends(&c, study);
    tn_define_real(&c.definition, "lines", (double)c.lines);
    tn_define_real(&c.definition, "named", c.lines <= NAMED_MOST);
    snprintf(path, sizeof path, "%.1000s/figures/%s", folder, name);
    const tn_figure figure = {
        .path = path, .format = format, .script = name, .definition = &c.definition, .data = &c.data};
    tn_status status = c.data.status != TN_OK         ? c.data.status
                       : c.definition.status != TN_OK ? c.definition.status
                                                      : c.title.status;
    if (status != TN_OK)
        tn_fail(error, status, "no memory for a figure");
    else if (c.lines == 0)
        status =
            tn_fail(error, TN_INPUT, "no candidate of the study learned anything; there is nothing to draw");
    else
        status = tn_figure_draw(&figure, error);
    tn_buffer_free(&c.data);
    tn_buffer_free(&c.definition);
    tn_buffer_free(&c.title);
    return status;
}

tn_status tn_study_figures(const char *folder, const tn_space *space, const tn_study *study,
                           tn_figure_format format, tn_error *error) {
    char path[PATH];
    snprintf(path, sizeof path, "%.1000s/figures", folder);
    TN_TRY(tn_folder_make(path, error));
    TN_TRY(draw(folder, "accuracy-parameters", space, study, put_parameters, format, error));
    return draw(folder, "accuracy-epochs", space, study, put_epochs, format, error);
}
