#include "plot/gnuplot.h"

#include "base/c_locale.h"
#include "base/child.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "base/search_path.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/words.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { FEWEST = 3, FEW = 8, DIGITS = 9 };
static const double margin = 0.04; /* of the axis, on both sides */

static void add(tn_ticks *ticks, double point) {
    const double slack = 1e-9 * fmax(fabs(ticks->least), fabs(ticks->most));
    if (point >= ticks->least - slack && point <= ticks->most + slack) {
        if (ticks->count < TN_TICKS_MOST) ticks->value[ticks->count] = point;
        ticks->count++;
    }
}

/* The least step of 1, 2, 5 x 10^n with at most FEW marks. */
static void linear(tn_ticks *ticks) {
    static const double multiple[] = {1, 2, 5};
    double width = ticks->most - ticks->least, power = floor(log10(width)) - 1;
    for (int i = 0;; i++) {
        double step = multiple[i % 3] * pow(10, power + i / 3);
        double first = ceil(ticks->least / step - 1e-9), last = floor(ticks->most / step + 1e-9);
        if (last - first + 1 > FEW) continue;
        ticks->count = 0;
        for (double k = first; k <= last; k++) add(ticks, k * step);
        return;
    }
}

/* Powers of ten times the digits, every so many decades. */
static void decades(tn_ticks *ticks, const double *digit, int digits, double every) {
    double first = floor(log10(ticks->least) / every) * every;
    ticks->count = 0;
    for (double power = first; power <= log10(ticks->most) + 1e-9; power += every)
        for (int i = 0; i < digits; i++) add(ticks, digit[i] * pow(10, power));
}

static void logarithmic(tn_ticks *ticks) {
    static const double one[] = {1}, some[] = {1, 2, 5}, all[DIGITS] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (double every = 1; every <= 256; every *= 2) {
        decades(ticks, one, 1, every);
        if (ticks->count <= FEW) break;
    }
    if (ticks->count < FEWEST) decades(ticks, some, 3, 1);
    if (ticks->count < FEWEST) decades(ticks, all, DIGITS, 1);
    if (ticks->count < FEWEST) linear(ticks);
}

tn_ticks tn_ticks_of(double least, double most, bool log) {
    tn_ticks made = {0};
    if (log) {
        double factor = most > least ? pow(most / least, margin) : 1.25;
        made.least = least / factor;
        made.most = most * factor;
        logarithmic(&made);
    } else {
        double widen = most > least ? margin * (most - least) : fmax(0.25 * fabs(least), 1e-12);
        if (most == least && least == 0) widen = 1;
        made.least = least - widen;
        made.most = most + widen;
        linear(&made);
    }
    return made;
}

static const char *const format_name[] = {"png", "svg", "pdf", "csv"};
enum { FORMATS = sizeof format_name / sizeof *format_name };

/* What selects the terminal; the size follows from size_x and size_y, in points of 1/72 inch on paper. */
static const char *const terminal[][3] = {
    [TN_FIGURE_SCREEN] =
        {
            "set terminal pngcairo enhanced size size_x,size_y font 'sans,10'",
            "set terminal svg enhanced size size_x,size_y font 'sans,12' background 'white'",
            "set terminal pdfcairo enhanced size size_x/100.0,size_y/100.0 font 'sans,10'",
        },
    [TN_FIGURE_PAPER] =
        {
            "set terminal pngcairo enhanced size 300*inch_x,300*inch_y font 'Times,9' fontscale 3 "
            "linewidth 3 pointscale 2",
            "set terminal svg enhanced size 96*inch_x,96*inch_y font 'Times,12' background 'white'",
            "set terminal pdfcairo enhanced size inch_x,inch_y font 'Times,9' pointscale 0.6",
        },
};
static const char paper_size[] = "inch_x = size_x >= 920 ? 7.16 : 3.5\ninch_y = inch_x * size_y / size_x\n";
/* Marks of a logarithmic axis from lo to hi, never one alone: every power of ten, or 1, 2, 5 of each, or all digits,
 * as the argument of `set xtics`, without texts where `unlabelled` is set; less than a factor of two is no matter for logarithms. Recursive, as gnuplot has no
 * loops in functions. */
static const char marks[] =
    /* Colours that are told apart with any kind of colour-blindness and in grey (Okabe and Ito 2008), and steps of one scale
     * (viridis without its yellow end) */
    "array hue[7] = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#d55e00', '#56b4e9', '#000000']\n"
    /* the same for parts that touch: each of another lightness than those beside it */
    "array part[4] = ['#0072b2', '#e69f00', '#b3ddf7', '#000000']\n"
    "array hue_of[7] = [0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0xd55e00, 0x56b4e9, 0x000000]\n"
    "array shade_of[9] = [0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0x90d743, "
    "0xaddc30]\n"
    "step_of(i, count) = shade_of[count < 2 ? 1 : 1 + int(7.0 * (i - 1) / (count - 1) + 0.5)]\n"
    "set palette defined (0 '#440154', 0.3 '#3b528b', 0.6 '#21918c', 0.85 '#5ec962', 1 '#90d743')\n"
    "set border 3 linewidth 0.6\nset tics scale 0.6 nomirror\n"
    "set key Left reverse samplen 1.5 spacing 1.1 noenhanced\n"
    "narrow(lo, hi) = lo <= 0 || hi < 2 * lo\n"
    "unlabelled = 0\n"
    "per = 1 # what a mark says of one\n"
    "say(v) = v >= 1e4 ? gprintf('%.0s %c', v) : sprintf('%g', v)\n"
    "mark_text(v) = unlabelled ? '' : say(per * v)\n"
    "powers(k, hi) = 10.0 ** k > hi ? '' : sprintf('\"%s\" %.9g, ', mark_text(10.0 ** k), 10.0 ** k) . "
    "powers(k + 1, hi)\n"
    "some(k) = (int(k + 900) % 3 == 0 ? 1 : int(k + 900) % 3 == 1 ? 2 : 5) * 10.0 ** floor(k / 3.0)\n"
    "somes(k, hi) = some(k) > hi ? '' : sprintf('\"%s\" %.9g, ', mark_text(some(k)), some(k)) . somes(k + 1, "
    "hi)\n"
    "each(k) = (int(k + 900) % 9 + 1) * 10.0 ** floor(k / 9.0)\n"
    "eachs(k, hi) = each(k) > hi ? '' : sprintf('\"%s\" %.9g, ', mark_text(each(k)), each(k)) . eachs(k + 1, "
    "hi)\n"
    "list(text) = '(' . text[1 : strlen(text) - 2] . ')'\n"
    "log_marks(lo, hi) = narrow(lo, hi) ? 'autofreq' : hi < 8 * lo ? list(eachs(9 * floor(log10(lo)), hi)) : "
    "\\\n"
    "    hi < 200 * lo ? list(somes(3 * floor(log10(lo)), hi)) : list(powers(floor(log10(lo)), hi))\n";
static const char *const style_name[] = {"screen", "paper"};

tn_status tn_figure_style_find(const char *name, tn_figure_style *style, tn_error *error) {
    for (int i = 0; i < 2; i++)
        if (strcmp(name, style_name[i]) == 0) {
            *style = (tn_figure_style)i;
            return TN_OK;
        }
    return tn_fail(error, TN_INPUT, "unknown style '%s'; it must be screen or paper", name);
}

tn_status tn_figure_format_find(const char *name, tn_figure_format *format, tn_error *error) {
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(name, format_name[i]) == 0) {
            *format = (tn_figure_format)i;
            return TN_OK;
        }
    char told[128];
    return tn_fail(error, TN_INPUT, "unknown figure format '%.60s'; %s", name,
                   tn_suggestion(name, format_name, FORMATS, told, sizeof told));
}

const char *tn_figure_format_name(tn_figure_format format) {
    return format_name[format];
}

tn_status tn_figure_format_of(const char *path, tn_figure_format *format, tn_error *error) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (!dot || (slash && dot < slash))
        return tn_fail(error, TN_INPUT, "figure %s has no ending; it must end in .png, .svg, .pdf or .csv",
                       path);
    return tn_figure_format_find(dot + 1, format, error);
}

/* Between double quotes gnuplot runs what stands between backquotes and expands macros after @, before it
 * looks at escapes; between single quotes it misreads doubled quotes at either end. So everything it could
 * make something of is an octal escape between double quotes; so is a digit behind one, which gnuplot would take
 * as part of it. */
static void put_script_text(tn_buffer *out, const char *text) {
    bool escaped = false;
    tn_buffer_text(out, "\"");
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        bool is_digit = byte >= '0' && byte <= '9';
        escaped = strchr("\"'\\`@$#", byte) || (escaped && is_digit);
        if (byte < ' ' || byte == 0x7f)
            tn_buffer_text(out, " ");
        else if (escaped)
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

void tn_define_marks(tn_buffer *definition, const char *axis, const char *const *label, const double *element,
                     size_t count) {
    tn_buffer_format(definition, "set %stics noenhanced (", axis);
    for (size_t i = 0; i < count; i++) {
        char text[32];
        tn_real_text(element[i], text, sizeof text);
        if (i) tn_buffer_text(definition, ", ");
        put_script_text(definition, label[i]);
        tn_buffer_format(definition, " %s", text);
    }
    tn_buffer_text(definition, ")\n");
}

/* All digits that a mark has, thousands separated. */
static void mark_text(double point, char *text, size_t capacity) {
    char number[48];
    if (fabs(point) >= 9999.5)
        tn_snprintf(text, capacity, "%s", tn_plain_text(point, number));
    else
        tn_snprintf(text, capacity, "%.6g", point == 0 ? 0 : point);
}

tn_ticks tn_define_axis(tn_buffer *definition, const char *axis, const char *unit, double per, double least,
                        double most, bool log) {
    char text[TN_TICKS_MOST][48];
    const char *label[TN_TICKS_MOST];
    tn_prefix prefix = tn_prefix_between(unit, per * least, per * most);
    double scale = per * prefix.scale;
    tn_ticks ticks = tn_ticks_of(scale * least, scale * most, log);
    for (size_t i = 0; i < ticks.count; i++) {
        mark_text(ticks.value[i], text[i], sizeof text[i]);
        label[i] = text[i];
        ticks.value[i] /= scale;
    }
    ticks.least /= scale;
    ticks.most /= scale;
    tn_define_marks(definition, strcmp(axis, "colour") == 0 ? "cb" : axis, label, ticks.value, ticks.count);
    tn_buffer_format(definition, "%s_unit = \"%s%s\"\n", axis, *prefix.unit ? ", " : "", prefix.unit);
    return ticks;
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

static tn_status read_template(const tn_figure *figure, tn_arena *arena, char **body, size_t *length,
                               tn_error *error) {
    const char *file, *path;
    TN_TRY(tn_arena_format(arena, &file, error, "%s.gp", figure->script));
    TN_TRY(tn_search_path_find_file("plots", file, arena, &path, error));
    return tn_file_read(path, 1 << 20, body, length, error);
}

/* ---- numbers as CSV ---- */

/* The words of "# columns: ..." as the head; returns their number. */
static size_t put_csv_head(const char *body, bool blocks, tn_buffer *out) {
    static const char mark[] = "# columns:";
    const char *cursor = strstr(body, mark);
    size_t columns = 0;
    if (blocks) tn_csv_put(out, "block");
    cursor = cursor ? cursor + sizeof mark - 1 : "";
    for (;;) {
        char name[64];
        cursor += strspn(cursor, " ");
        size_t length = strcspn(cursor, " \n");
        if (length == 0 || length >= sizeof name) break;
        memcpy(name, cursor, length);
        name[length] = '\0';
        tn_csv_put(out, name);
        cursor += length;
        columns++;
    }
    tn_csv_line(out);
    return columns;
}

/* One cell of a data line, quoted or not; returns what follows. */
static const char *put_csv_cell(const char *cursor, tn_buffer *cell, tn_buffer *out) {
    cell->length = 0;
    tn_buffer_text(cell, "");
    if (*cursor == '"') {
        for (cursor++; *cursor && *cursor != '"' && *cursor != '\n'; cursor++) {
            if (*cursor == '\\' && cursor[1]) cursor++;
            tn_buffer_bytes(cell, cursor, 1);
        }
        cursor += *cursor == '"';
    } else {
        size_t length = strcspn(cursor, " \n");
        tn_buffer_bytes(cell, cursor, length);
        cursor += length;
    }
    tn_csv_put(out, cell->data ? cell->data : "");
    return cursor;
}

/* Lines of fewer cells than `columns` get empty ones. */
static void put_csv_lines(const char *data, bool blocks, size_t columns, tn_buffer *out) {
    tn_buffer cell = {0};
    uint64_t block = 0;
    for (const char *cursor = data; *cursor;) {
        if (strncmp(cursor, "\n\n", 2) == 0) {
            block++;
            cursor += 2;
            continue;
        }
        if (*cursor == '\n' || *cursor == '#') {
            cursor += strcspn(cursor, "\n");
            cursor += *cursor == '\n';
            continue;
        }
        size_t cells = 0;
        if (blocks) tn_csv_put_count(out, block);
        for (; *cursor && *cursor != '\n'; cells++) {
            cursor = put_csv_cell(cursor, &cell, out);
            cursor += strspn(cursor, " ");
        }
        for (; cells < columns; cells++) tn_csv_put(out, "");
        cursor += *cursor == '\n';
        tn_csv_line(out);
    }
    if (cell.status != TN_OK) out->status = cell.status;
    tn_buffer_free(&cell);
}

static tn_status write_csv(const tn_figure *figure, const char *path, tn_arena *arena, tn_error *error) {
    char *body = NULL;
    size_t length = 0;
    tn_buffer out = {0};
    const char *data = figure->data->data ? figure->data->data : "";
    const char *parted = strstr(data, "\n\n\n");
    bool blocks = parted && parted[strspn(parted, "\n")] != '\0';
    TN_TRY(read_template(figure, arena, &body, &length, error));
    size_t columns = put_csv_head(body, blocks, &out);
    put_csv_lines(data, blocks, columns, &out);
    tn_status status = tn_file_write_buffer(path, &out, error);
    tn_buffer_free(&out);
    tn_free(body);
    return status;
}

/* The script: head, definitions, template. Names of files begin with ./, for gnuplot opens what begins with <
 * or | as a pipe to a shell, and gives names such as - and + a meaning of their own. Its output goes to standard output when the library runs it and to
 * the picture's own name when a person does. */
static tn_status write_script(const tn_figure *figure, const char *name, tn_arena *arena, tn_buffer *script,
                              tn_error *error) {
    char *body = NULL;
    size_t length = 0;
    TN_TRY(read_template(figure, arena, &body, &length, error));
    const char *ending = format_name[figure->format];
    tn_buffer_text(script, "# Run gnuplot on this file in its folder to draw the figure again.\n");
    if (figure->definition && figure->definition->length)
        tn_buffer_bytes(script, figure->definition->data, figure->definition->length);
    tn_buffer_text(script, "if (!exists('size_x')) size_x = 900\nif (!exists('size_y')) size_y = 600\n");
    if (figure->style == TN_FIGURE_PAPER) tn_buffer_text(script, paper_size);
    tn_buffer_format(script, "%s\n", terminal[figure->style][figure->format]);
    const char *picture, *numbers;
    tn_status status = tn_arena_format(arena, &picture, error, "./%s.%s", name, ending);
    if (status == TN_OK) status = tn_arena_format(arena, &numbers, error, "./%s.dat", name);
    if (status == TN_OK) {
        tn_define_text(script, "picture", picture);
        tn_buffer_text(script, "if (!exists('to_pipe')) set output picture\n");
        tn_define_text(script, "data", numbers);
        tn_buffer_text(script, marks);
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
    for (const char *cursor = path; *cursor; cursor++)
        if ((unsigned char)*cursor < ' ')
            return tn_fail(error, TN_INPUT, "control character in a figure's name");
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
    if (figure->data->status != TN_OK)
        return tn_fail(error, figure->data->status, "no memory for the numbers of a figure");
    if (figure->format == TN_FIGURE_CSV) return write_csv(figure, picture, arena, error);
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
