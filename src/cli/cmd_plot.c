/* tenfold plot DIR: the figures of a sweep, or its designs by two of their columns. */
#include "cli/cmd_plot.h"

#include "base/file.h"
#include "cli/cmd_roofline.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "device/block.h"
#include "plot/scatter.h"
#include "plot/sweep_figures.h"
#include "results/goal.h"
#include "results/query.h"
#include "results/result.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const tn_result *result;
    const tn_designs_plot *asked;
    tn_arena *arena;
    tn_design_columns columns;
    const tn_design_column *x, *y, *colour; /* colour NULL: none */
    tn_query query;
    tn_query_answer found;
    size_t count;
    tn_scatter_point *point;
    const tn_candidate **design; /* [count] behind the points */
} plotting;

static tn_status find(plotting *plot, const char *name, const char *option, const tn_design_column **column,
                      tn_error *error) {
    *column = NULL;
    if (!name) return TN_OK;
    return tn_design_column_find(&plot->columns, name, strlen(name), (tn_position){option, 1, 1}, column,
                                 error);
}

/* Texts of a choice; a column of numbers has none. */
static bool is_named(const tn_design_column *column) {
    return column->kind == TN_DESIGN_CHOICE && column->has_texts && !column->has_numbers;
}

static double place_of(const plotting *plot, const tn_design_column *column, const tn_candidate *design) {
    if (is_named(column))
        return (double)tn_choices_digit(&plot->result->space->choices, design->id, column->place);
    return tn_candidate_number(&plot->result->space->choices, column, design);
}

static tn_status names_of(const plotting *plot, const tn_design_column *column, const char *const **name,
                          tn_error *error) {
    const char **made;
    tn_buffer value = {0};
    tn_status status = TN_NEW(plot->arena, column->choice->count, &made, error);
    for (size_t i = 0; status == TN_OK && i < column->choice->count; i++) {
        value.length = 0;
        tn_axis_value(column->choice, i, &value);
        status = value.status == TN_OK
                     ? tn_arena_copy_text(plot->arena, value.data, value.length, &made[i], error)
                     : tn_fail(error, value.status, "no memory for the names of an axis");
    }
    tn_buffer_free(&value);
    *name = made;
    return status;
}

/* The values of a choice of few numbers. */
static tn_status add_values(const tn_design_column *column, tn_scatter_axis *axis, tn_error *error) {
    tn_buffer value = {0};
    tn_status status = TN_OK;
    if (column->has_texts || column->choice->count > TN_SCATTER_VALUES) return TN_OK;
    for (size_t i = 0; status == TN_OK && i < column->choice->count; i++) {
        value.length = 0;
        tn_axis_value(column->choice, i, &value);
        status = value.status;
        if (status == TN_OK && tn_read_real(value.data, &axis->value[axis->values]) == TN_NUMBER_OK)
            axis->values++;
    }
    tn_buffer_free(&value);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for the marks of an axis");
}

/* What the device has of it by the caps, where designs come near. */
static void add_budget(const plotting *plot, const tn_design_column *column, tn_scatter_axis *axis) {
    const tn_space *space = plot->result->space;
    double most = 0;
    if (space->devices > 1 || axis->ends || column->kind != TN_DESIGN_QUANTITY) return;
    const double budget = tn_quantities[column->place].get(&space->most);
    for (size_t i = 0; i < plot->count; i++) most = fmax(most, place_of(plot, column, plot->design[i]));
    if (!(budget > 0 && budget <= 2 * most)) return; /* nor where it is not known: NaN */
    axis->ends = 1;
    axis->end[0] = budget;
    axis->end_name[0] = "budget";
}

static tn_status make_axis(const plotting *plot, const tn_design_column *column, char letter,
                           tn_scatter_axis *axis, tn_error *error) {
    TN_TRY(tn_scatter_axis_of(column->name, plot->arena, axis, error));
    axis->log = letter && strchr(plot->asked->log, letter);
    const tn_accuracy_table *table = &plot->result->space->accuracy_table;
    char constant[48];
    if (table->rows && strcmp(column->name, tn_accuracy_table_quantity(table)) == 0) {
        const tn_accuracy_ends ends = tn_accuracy_table_ends(table);
        axis->ends = isnan(ends.dense) ? 0 : isnan(ends.constant) ? 1 : 2;
        axis->end[0] = ends.dense;
        axis->end[1] = ends.constant;
        axis->end_name[0] = "dense";
        axis->end_name[1] = "a constant answer";
        if (axis->ends == 2)
            TN_TRY(tn_arena_format(plot->arena, &axis->title, error, "%s (a constant answer: %s)",
                                   axis->title, tn_quantity_text(ends.constant, axis->unit, constant)));
    }
    if (!is_named(column) && column->kind == TN_DESIGN_CHOICE) TN_TRY(add_values(column, axis, error));
    if (letter) add_budget(plot, column, axis);
    if (!is_named(column)) return TN_OK;
    if (axis->log)
        return tn_fail(error, TN_INPUT, "--log %c: %s has texts, which have no logarithm", letter,
                       column->name);
    axis->names = column->choice->count;
    return names_of(plot, column, &axis->name, error);
}

/* A choice of few values, whose designs are told apart as series. */
static bool is_discrete(const tn_design_column *column) {
    enum { SERIES_MOST = 8 };
    return column->kind == TN_DESIGN_CHOICE && (is_named(column) || column->choice->count <= SERIES_MOST);
}

/* A design of which a value is not known is left out. */
static tn_status take_points(plotting *plot, tn_error *error) {
    TN_TRY(TN_NEW(plot->arena, plot->found.count, &plot->point, error));
    TN_TRY(TN_NEW(plot->arena, plot->found.count, &plot->design, error));
    for (size_t i = 0; i < plot->found.count; i++) {
        const tn_candidate *design = &plot->found.design[i];
        tn_scatter_point point = {.x = place_of(plot, plot->x, design), .y = place_of(plot, plot->y, design)};
        if (plot->colour) point.colour = place_of(plot, plot->colour, design);
        if (plot->colour && is_discrete(plot->colour))
            point.series = tn_choices_digit(&plot->result->space->choices, design->id, plot->colour->place);
        if (!isfinite(point.x) || !isfinite(point.y) || !isfinite(point.colour)) continue;
        plot->design[plot->count] = design;
        plot->point[plot->count++] = point;
    }
    return TN_OK;
}

/* ---- output ---- */

static tn_status write_csv(const plotting *plot, const char *path, tn_error *error) {
    const tn_design_column *column[] = {&plot->columns.column[0], plot->x, plot->y, plot->colour};
    size_t columns = plot->colour ? 4 : 3;
    tn_buffer out = {0}, value = {0};
    for (size_t c = 0; c < columns; c++) tn_csv_put(&out, column[c]->name);
    tn_csv_line(&out);
    for (size_t i = 0; i < plot->count; i++) {
        for (size_t c = 0; c < columns; c++) {
            value.length = 0;
            tn_candidate_text(&plot->result->space->choices, column[c], plot->design[i], &value);
            tn_csv_put(&out, value.data ? value.data : "");
        }
        tn_csv_line(&out);
    }
    if (value.status != TN_OK) out.status = value.status;
    tn_buffer_free(&value);
    tn_status status = tn_file_write_buffer(path, &out, error);
    tn_buffer_free(&out);
    return status;
}

/* A condition in the titles of its columns: "rank of square = 12". */
static void put_condition(const plotting *plot, const char *text, tn_buffer *out) {
    while (*text) {
        size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
        bool column = false;
        char name[128];
        if (length > 0 && length < sizeof name) {
            memcpy(name, text, length);
            name[length] = '\0';
            for (size_t i = 0; i < plot->columns.count; i++)
                column |= strcmp(plot->columns.column[i].name, name) == 0;
        }
        if (column)
            tn_word_put_title(name, out);
        else
            tn_buffer_bytes(out, text, length ? length : 1);
        text += length ? length : 1;
    }
}

static tn_status heading_of(const plotting *plot, const char **heading, tn_error *error) {
    tn_buffer text = {0};
    char count[32];
    tn_buffer_format(&text, "%s: %s designs", plot->result->space->name, tn_count_text(plot->count, count));
    if (plot->query.where) {
        tn_buffer_text(&text, " with ");
        put_condition(plot, tn_condition_text(plot->query.where), &text);
    }
    tn_status status = text.status == TN_OK
                           ? tn_arena_copy_text(plot->arena, text.data, text.length, heading, error)
                           : tn_fail(error, text.status, "no memory for a heading");
    tn_buffer_free(&text);
    return status;
}

static tn_status draw(const plotting *plot, const char *path, tn_error *error) {
    const tn_designs_plot *asked = plot->asked;
    const char *heading = "";
    tn_scatter figure = {.count = plot->count, .point = plot->point, .series = 1};
    TN_TRY(make_axis(plot, plot->x, 'x', &figure.x, error));
    TN_TRY(make_axis(plot, plot->y, 'y', &figure.y, error));
    figure.marked = plot->count;
    if (plot->result->front_count) {
        uint64_t advised;
        TN_TRY(tn_goal_design(plot->result, plot->arena, &advised, error));
        for (size_t i = 0; i < plot->count; i++)
            if (plot->design[i]->id == advised) figure.marked = i;
    }
    figure.marked_name = "recommended";
    figure.attained = true;
    figure.joined = plot->x->kind == TN_DESIGN_CHOICE && plot->x->has_numbers;
    if (plot->colour && is_discrete(plot->colour)) {
        tn_scatter_axis titled = {0};
        figure.series = plot->colour->choice->count;
        figure.ordered = !is_named(plot->colour);
        TN_TRY(tn_scatter_axis_of(plot->colour->name, plot->arena, &titled, error));
        figure.series_title = titled.title;
        TN_TRY(names_of(plot, plot->colour, &figure.series_name, error));
    } else if (plot->colour) {
        TN_TRY(make_axis(plot, plot->colour, '\0', &figure.colour, error));
    }
    if (!figure.series_name) figure.series_name = &heading;
    if (asked->style == TN_FIGURE_SCREEN) TN_TRY(heading_of(plot, &heading, error));
    figure.heading = heading;
    return tn_scatter_draw(&figure, path, asked->format, asked->style, error);
}

/* FOLDER/figures/Y-by-X */
static tn_status path_of(const plotting *plot, const char **path, tn_error *error) {
    const char *folder;
    if (plot->asked->out) {
        *path = plot->asked->out;
        return TN_OK;
    }
    TN_TRY(tn_arena_format(plot->arena, &folder, error, "%s/figures", plot->result->folder));
    TN_TRY(tn_folder_make(folder, error));
    return tn_arena_format(plot->arena, path, error, "%s/%s-by-%s", folder, plot->y->name, plot->x->name);
}

static tn_status ask(plotting *plot, tn_error *error) {
    const tn_designs_plot *asked = plot->asked;
    const tn_resources has = tn_device_resources(plot->result->space->device);
    if (strcmp(asked->log, "") != 0 && strcmp(asked->log, "x") != 0 && strcmp(asked->log, "y") != 0 &&
        strcmp(asked->log, "xy") != 0)
        return tn_fail(error, TN_INPUT, "--log %s; it is x, y or xy", asked->log);
    TN_TRY(tn_design_columns_of(&plot->result->space->choices, &has, plot->arena, &plot->columns, error));
    TN_TRY(find(plot, asked->x, "--x", &plot->x, error));
    TN_TRY(find(plot, asked->y, "--y", &plot->y, error));
    TN_TRY(find(plot, asked->colour, "--colour", &plot->colour, error));
    if (asked->where)
        TN_TRY(tn_condition_parse(asked->where, (tn_position){"--where", 1, 1}, plot->result->space,
                                  plot->arena, &plot->query.where, error));
    return tn_query_run(plot->result, &plot->query, plot->arena, &plot->found, error);
}

/* *path = the figure. *answer = 1 where no design is left. */
static tn_status plot_designs(const tn_result *result, const tn_designs_plot *asked, tn_arena *arena,
                              const char **path, int *answer, tn_error *error) {
    plotting plot = {
        .result = result, .asked = asked, .arena = arena, .query = {.all = asked->all, .most = UINT64_MAX}};
    const char *base;
    TN_TRY(ask(&plot, error));
    TN_TRY(take_points(&plot, error));
    *path = NULL;
    *answer = plot.count == 0;
    if (plot.count == 0) return TN_OK;
    TN_TRY(path_of(&plot, &base, error));
    TN_TRY(tn_arena_format(arena, path, error, "%s.%s", base, tn_figure_format_name(asked->format)));
    return asked->format == TN_FIGURE_CSV ? write_csv(&plot, *path, error) : draw(&plot, base, error);
}

typedef struct {
    tn_common common;
    const char *point, *format, *gpu, *claims, *style;
    double epsilon;
    const char *x, *y, *colour, *where, *log, *out;
    bool all;
} request;

enum {
    FIGURE_OPTIONS = 4,
    SHARED_OPTIONS = 2
}; /* of all figures; of both; the rest are those of --x and --y */

static tn_status check(const request *asked, tn_error *error) {
    const tn_option *option = tn_command_plot.option;
    bool points = asked->x || asked->y;
    for (size_t i = 0; i < tn_command_plot.options; i++) {
        bool of_figures = i < FIGURE_OPTIONS, of_points = i >= FIGURE_OPTIONS + SHARED_OPTIONS;
        if (asked->common.given[i] && points && of_figures)
            return tn_fail(error, TN_INPUT, "%s does not go with --x and --y", option[i].name);
        if (asked->common.given[i] && !points && of_points)
            return tn_fail(error, TN_INPUT, "%s goes with --x and --y", option[i].name);
    }
    if (points && (!asked->x || !asked->y))
        return tn_fail(error, TN_INPUT, "--%c is missing; --x and --y go together", asked->x ? 'y' : 'x');
    if (!(asked->epsilon >= 0 && asked->epsilon <= 1000))
        return tn_fail(error, TN_INPUT, "--thin %g; it is the share that a design may be worse, 0 to 1000",
                       asked->epsilon);
    return TN_OK;
}

static tn_status draw_points(request *asked, const tn_result *result, tn_figure_format format,
                             tn_figure_style style, int *answer, tn_error *error) {
    const char *path;
    const tn_designs_plot plot = {.x = asked->x,
                                  .y = asked->y,
                                  .colour = asked->colour,
                                  .where = asked->where,
                                  .log = asked->log,
                                  .out = asked->out,
                                  .all = asked->all,
                                  .format = format,
                                  .style = style};
    TN_TRY(plot_designs(result, &plot, &asked->common.arena, &path, answer, error));
    if (!path && !asked->common.quiet)
        tn_note("no design %sis left to draw, whose values are known", asked->where ? "of --where " : "");
    return tn_output_names("figures", &path, path != NULL, asked->common.json, error);
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    static const tn_option_list none;
    request *asked = request_asked;
    tn_arena *arena = &asked->common.arena;
    tn_sweep_figure_options drawn = {.epsilon = asked->epsilon};
    tn_roofline *gpu = NULL;
    tn_claims claims;
    tn_result result;
    const char *path[TN_SWEEP_FIGURES];
    size_t count;
    uint64_t id;
    TN_TRY(check(asked, error));
    if (asked->point) TN_TRY(tn_point_read(asked->point, &id, error));
    if (asked->point) drawn.design = &id;
    TN_TRY(tn_figure_format_find(asked->format, &drawn.format, error));
    TN_TRY(tn_figure_style_find(asked->style, &drawn.style, error));
    if (!asked->x && strcmp(asked->gpu, "none") != 0)
        TN_TRY(tn_roofline_load(asked->gpu, &none, arena, &gpu, error));
    if (!asked->x && strcmp(asked->claims, "none") != 0) {
        TN_TRY(tn_claims_load(asked->claims, arena, &claims, error));
        drawn.claims = &claims;
    }
    drawn.gpu = gpu;
    TN_TRY(tn_result_load(asked->common.argument[0], arena, &result, error));
    tn_print_incomplete(&result, true);
    if (result.front_count == 0) {
        if (!asked->common.json)
            tn_say("%s holds no design that fits; there is nothing to draw\n", result.folder);
        *answer = 1;
        return asked->common.json ? tn_output_names("figures", NULL, 0, true, error) : TN_OK;
    }
    if (asked->x) return draw_points(asked, &result, drawn.format, drawn.style, answer, error);
    TN_TRY(tn_sweep_figures(&result, &drawn, arena, path, &count, error));
    return tn_output_names("figures", path, count, asked->common.json, error);
}

static const request defaults = {.format = "png",
                                 .gpu = "rtx3090",
                                 .claims = "arxiv-2501.06663",
                                 .style = "screen",
                                 .log = "",
                                 .epsilon = 0.02};
static const tn_option options[] = {
    {"--point", TN_INTO(request, point), "ID", "figures of this design; default the recommended one"},
    {"--thin", TN_INTO(request, epsilon), "EPS",
     "leave out designs of the front that a drawn one equals within this share; default 0.02, 0 draws all"},
    {"--gpu", TN_INTO(request, gpu), "DEVICE",
     "roofline device to mark in the front, or none; default rtx3090"},
    {"--claims", TN_INTO(request, claims), "FILE",
     "publication whose designs of the space to mark, or none; default arxiv-2501.06663"},
    {"--format", TN_INTO(request, format), "png|svg|pdf|csv",
     "picture format, or the numbers alone as CSV; default png"},
    {"--style", TN_INTO(request, style), "screen|paper",
     "paper: sizes and type of a publication; default screen"},
    {"--x", TN_INTO(request, x), "KEY", "draw the designs as points: this quantity or choice across"},
    {"--y", TN_INTO(request, y), "KEY", "and this one up"},
    {"--colour", TN_INTO(request, colour), "KEY", "colour the points by this one"},
    {"--where", TN_INTO(request, where), "EXPR",
     "draw those that fulfil this condition, as of tenfold query"},
    {"--log", TN_INTO(request, log), "x|y|xy", "logarithmic axes; default: none"},
    {"--all", TN_INTO(request, all), NULL, "of all designs that sweep --keep-all kept, not the front alone"},
    {"-o", TN_INTO(request, out), "PATH", "figure to write, without its ending; default DIR/figures/Y-by-X"},
};

static const tn_column figures_keys[] = {
    TN_ANSWER_LIST("figures", "string"),
};
static const tn_record figures_record = {.column = figures_keys,
                                         .columns = sizeof figures_keys / sizeof *figures_keys};

const tn_command tn_command_plot = {
    .name = "plot",
    .summary = "draw the figures of a sweep, or its designs by two quantities",
    .usage = "DIR [--point ID] [--format png|svg|pdf|csv] [--style paper] [--thin EPS] [--gpu DEVICE|none] "
             "[--claims "
             "FILE|none]\n"
             "DIR --x KEY --y KEY [--colour KEY] [--where EXPR] [--log x|y|xy] [--all] [-o PATH]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&figures_record),
    .answer = answer,
};
