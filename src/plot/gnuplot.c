#include "plot/gnuplot.h"

#include "base/arena.h"
#include "base/child.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/search_path.h"
#include "base/suggest.h"
#include "text/number.h"

#include <string.h>

static const char *const format_name[] = {"png", "svg", "pdf"};
enum { FORMATS = sizeof format_name / sizeof *format_name };

/* What selects the terminal; the size follows from size_x and size_y, in points of 1/72 inch on paper. */
static const char *const terminal[] = {
    "set terminal pngcairo enhanced size size_x,size_y font 'sans,10'",
    "set terminal svg enhanced size size_x,size_y font 'sans,12' background 'white'",
    "set terminal pdfcairo enhanced size size_x/100.0,size_y/100.0 font 'sans,10'",
};

tn_status tn_figure_format_find(const char *name, tn_figure_format *format, tn_error *error) {
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(name, format_name[i]) == 0) {
            *format = (tn_figure_format)i;
            return TN_OK;
        }
    const char *near = tn_suggest(name, format_name, FORMATS);
    return tn_fail(error, TN_INPUT, "unknown figure format '%s'; %s%s", name,
                   near ? "did you mean " : "it must be ", near ? near : "png, svg or pdf");
}

const char *tn_figure_format_name(tn_figure_format format) {
    return format_name[format];
}

tn_status tn_figure_format_of(const char *path, tn_figure_format *format, tn_error *error) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (!dot || (slash && dot < slash))
        return tn_fail(error, TN_INPUT, "figure %s has no ending; it must end in .png, .svg or .pdf", path);
    return tn_figure_format_find(dot + 1, format, error);
}

/* Between double quotes gnuplot runs what stands between backquotes and expands macros after @, before it
 * looks at escapes; between single quotes it misreads doubled quotes at either end. So everything it could
 * make something of is an octal escape between double quotes. */
static void put_script_text(tn_buffer *out, const char *text) {
    tn_buffer_text(out, "\"");
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < ' ' || byte == 0x7f)
            tn_buffer_text(out, " ");
        else if (strchr("\"'\\`@$#", byte))
            tn_buffer_format(out, "\\%03o", byte);
        else
            tn_buffer_bytes(out, text, 1);
    }
    tn_buffer_text(out, "\"");
}

void tn_define_text(tn_buffer *definition, const char *name, const char *text) {
    tn_buffer_format(definition, "%s = ", name);
    put_script_text(definition, text);
    tn_buffer_text(definition, "\n");
}

void tn_define_real(tn_buffer *definition, const char *name, double value) {
    char text[32];
    tn_real_text(value, text, sizeof text);
    tn_buffer_format(definition, "%s = %s\n", name, text);
}

void tn_figure_cell(tn_buffer *data, const char *text) {
    tn_buffer_text(data, "\"");
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') tn_buffer_text(data, "\\");
        tn_buffer_bytes(data, byte < ' ' || byte == 0x7f ? " " : text, 1);
    }
    tn_buffer_text(data, "\"");
}

/* The script: head, definitions, template. Names of files begin with ./, for gnuplot opens what begins with <
 * or | as a pipe to a shell, and gives names such as - and + a meaning of their own. Its output goes to standard output when the library runs it and to
 * the picture's own name when a person does. */
static tn_status write_script(const tn_figure *figure, const char *name, tn_arena *arena, tn_buffer *script,
                              tn_error *error) {
    const char *file, *path;
    TN_TRY(tn_arena_format(arena, &file, error, "%s.gp", figure->script));
    TN_TRY(tn_search_path_find_file("plots", file, arena, &path, error));
    char *body = NULL;
    size_t length = 0;
    TN_TRY(tn_file_read(path, 1 << 20, &body, &length, error));
    const char *ending = format_name[figure->format];
    tn_buffer_text(script, "# Run gnuplot on this file in its folder to draw the figure again.\n");
    if (figure->definition && figure->definition->length)
        tn_buffer_bytes(script, figure->definition->data, figure->definition->length);
    tn_buffer_text(script, "if (!exists('size_x')) size_x = 900\nif (!exists('size_y')) size_y = 600\n");
    tn_buffer_format(script, "%s\n", terminal[figure->format]);
    const char *picture, *numbers;
    tn_status status = tn_arena_format(arena, &picture, error, "./%s.%s", name, ending);
    if (status == TN_OK) status = tn_arena_format(arena, &numbers, error, "./%s.dat", name);
    if (status == TN_OK) {
        tn_define_text(script, "picture", picture);
        tn_buffer_text(script, "if (!exists('to_pipe')) set output picture\n");
        tn_define_text(script, "data", numbers);
        tn_buffer_text(script, "\n");
        tn_buffer_bytes(script, body, length);
    }
    tn_free(body);
    return status;
}

static tn_status run(const char *folder, const char *script, const char *picture, tn_error *error) {
    const char *const argument[] = {"gnuplot", "-e", "to_pipe = 1", script, NULL};
    tn_child child;
    tn_status status = tn_child_run(&child, folder, argument, error);
    if (status == TN_IO && error) {
        tn_error cause = *error;
        status =
            tn_fail(error, TN_IO, "no figure without gnuplot: %s; install gnuplot, or plot the data file",
                    cause.message);
    }
    if (status == TN_OK && (child.status != 0 || child.out.length == 0)) {
        const char *said = child.err.data ? child.err.data : "";
        said += strspn(said, " \n\t");
        status = tn_fail(error, TN_IO, "gnuplot failed on %s with status %d: %.*s", script, child.status,
                         (int)strcspn(said, "\n"), said);
    }
    if (status == TN_OK) status = tn_file_write(picture, child.out.data, child.out.length, error);
    tn_child_free(&child);
    return status;
}

static tn_status check_name(const char *path, tn_error *error) {
    for (const char *at = path; *at; at++)
        if ((unsigned char)*at < ' ') return tn_fail(error, TN_INPUT, "control character in a figure's name");
    const char *slash = strrchr(path, '/');
    if (!*(slash ? slash + 1 : path)) return tn_fail(error, TN_INPUT, "figure without a name: '%s'", path);
    return TN_OK;
}

static tn_status draw(const tn_figure *figure, tn_arena *arena, tn_buffer *script, tn_error *error) {
    const char *slash = strrchr(figure->path, '/');
    const char *name = slash ? slash + 1 : figure->path, *folder, *numbers, *commands, *picture, *base;
    TN_TRY(tn_arena_copy_text(arena, figure->path, (size_t)(name - figure->path), &folder, error));
    TN_TRY(tn_arena_format(arena, &numbers, error, "%s.dat", figure->path));
    TN_TRY(tn_arena_format(arena, &commands, error, "%s.gp", figure->path));
    TN_TRY(tn_arena_format(arena, &base, error, "./%s.gp", name));
    TN_TRY(tn_arena_format(arena, &picture, error, "%s.%s", figure->path, format_name[figure->format]));
    TN_TRY(write_script(figure, name, arena, script, error));
    TN_TRY(tn_file_write_buffer(numbers, figure->data, error));
    TN_TRY(tn_file_write_buffer(commands, script, error));
    return run(*folder ? folder : NULL, base, picture, error);
}

tn_status tn_figure_draw(const tn_figure *figure, tn_error *error) {
    TN_TRY(check_name(figure->path, error));
    if (figure->definition && figure->definition->status != TN_OK)
        return tn_fail(error, figure->definition->status, "no memory for the definitions of a figure");
    tn_arena arena = {0};
    tn_buffer script = {0};
    tn_status status = draw(figure, &arena, &script, error);
    tn_buffer_free(&script);
    tn_arena_free(&arena);
    return status;
}
