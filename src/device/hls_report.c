#include "device/hls_report.h"

#include "base/buffer.h"
#include "base/file.h"
#include "text/number.h"
#include "text/xml.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { REPORT_BYTES_MOST = 1 << 26, FIGURE_MOST = 1000000, STAGES_MOST = 256, CELLS_MOST = 32 };

/* What stands in a module's name before its widths. */
typedef struct {
    const char *name;
    tn_operator kind;
    const char *precision;
    uint64_t bits;
} function;
static const function functions[] = {
    {"fadd", TN_ADDER, "fp32", 32},        {"fsub", TN_ADDER, "fp32", 32},
    {"faddfsub", TN_ADDER, "fp32", 32},    {"fmul", TN_MULTIPLY, "fp32", 32},
    {"fdiv", TN_DIVIDE, "fp32", 32},       {"fcmp", TN_COMPARE, "fp32", 32},
    {"fexp", TN_EXPONENTIAL, "fp32", 32},  {"flog", TN_LOGARITHM, "fp32", 32},
    {"fsqrt", TN_SQUARE_ROOT, "fp32", 32}, {"hadd", TN_ADDER, "fp16", 16},
    {"hsub", TN_ADDER, "fp16", 16},        {"haddhsub", TN_ADDER, "fp16", 16},
    {"hmul", TN_MULTIPLY, "fp16", 16},     {"hdiv", TN_DIVIDE, "fp16", 16},
    {"hcmp", TN_COMPARE, "fp16", 16},      {"hexp", TN_EXPONENTIAL, "fp16", 16},
    {"hlog", TN_LOGARITHM, "fp16", 16},    {"hsqrt", TN_SQUARE_ROOT, "fp16", 16},
};

typedef struct {
    const function *of;
    uint64_t stages;
    const char *made; /* "full_dsp" of the name, which goes on behind it */
    size_t made_length;
} module_name;

typedef struct {
    tn_arena *arena;
    tn_error *error;
    tn_hls_report *report;
    size_t room;
    const char *tool, *device; /* NULL: not said */
    double period_ns;
    bool is_report;
    /* The table that is read: what its columns are, the name's first. */
    const char *item; /* element item around: its name */
    size_t keys;
    char key[CELLS_MOST][32];
} reader;

/* ---- names of modules ---- */

static bool take_number(const char **cursor, uint64_t *value) {
    const char *begin = *cursor;
    *value = 0;
    for (; isdigit((unsigned char)**cursor) && *value < FIGURE_MOST; ++*cursor)
        *value = 10 * *value + (uint64_t)(**cursor - '0');
    return *cursor > begin;
}

/* Behind the function: "_32ns_32ns_32_7_full_dsp_1". */
static bool parse_widths(const char *cursor, const function *of, module_name *name) {
    uint64_t width;
    size_t operands = 0;
    for (;; operands++) {
        if (*cursor++ != '_' || !take_number(&cursor, &width)) return false;
        if (*cursor != 'n' && *cursor != 's' && *cursor != 'u') break; /* the result's */
        if (width != of->bits) return false;
        while (*cursor == 'n' || *cursor == 's' || *cursor == 'u') cursor++;
    }
    if (operands == 0 || *cursor++ != '_' || !take_number(&cursor, &name->stages)) return false;
    if (name->stages == 0 || name->stages > STAGES_MOST) return false;
    name->of = of;
    name->made = *cursor == '_' ? cursor + 1 : cursor;
    name->made_length = 0;
    for (const char *c = name->made; isalpha((unsigned char)*c); c += *c == '_') {
        while (isalpha((unsigned char)*c)) c++;
        name->made_length = (size_t)(c - name->made);
    }
    return true;
}

/* Some function's name, at the beginning or behind "_". */
static bool parse_module(const char *text, module_name *name) {
    for (const char *c = text; c; c = strchr(c, '_')) {
        if (*c == '_') c++;
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
            const size_t length = strlen(functions[i].name);
            if (strncmp(c, functions[i].name, length) == 0 && parse_widths(c + length, &functions[i], name))
                return true;
        }
    }
    return false;
}

/* ---- rows ---- */

/* Letters, digits and "-" of a text, as names of rows are. */
static void put_name(tn_buffer *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        tn_buffer_format(out, "%c", isalnum((unsigned char)text[i]) ? text[i] : '-');
}

static tn_status make_row(reader *r, const char *module, const module_name *name, tn_operator_row *row) {
    tn_buffer text = {0};
    char period[32];
    *row = (tn_operator_row){.precision = name->of->precision,
                             .operator_kind = name->of->kind,
                             .set = TN_OPERATORS_HLS,
                             .period_ns = r->period_ns,
                             .stages = name->stages,
                             .packed = 1,
                             .origin = TN_REPORT};
    tn_real_text(r->period_ns, period, sizeof period);
    tn_buffer_format(&text, "hls-%s-%s-", name->of->precision, tn_operator_names[name->of->kind]);
    put_name(&text, period, strlen(period));
    tn_buffer_format(&text, "ns-%" PRIu64, name->stages);
    if (strstr(name->of->name, "sub"))
        tn_buffer_text(&text, strstr(name->of->name, "add") ? "-addsub" : "-sub");
    if (name->made_length) tn_buffer_text(&text, "-");
    put_name(&text, name->made, name->made_length);
    tn_status status = text.status;
    if (status != TN_OK) tn_fail(r->error, status, "no memory for the rows of a report");
    if (status == TN_OK) status = tn_arena_copy_text(r->arena, text.data, text.length, &row->name, r->error);
    tn_buffer_free(&text);
    if (status == TN_OK)
        status = tn_arena_format(r->arena, &row->source, r->error, "%s%s%s%s%s", r->tool ? r->tool : "HLS",
                                 r->device ? ", " : "", r->device ? r->device : "", ": ", module);
    return status;
}

/* The module's row, a new one where it has none. */
static tn_status find_row(reader *r, tn_position position, const char *module, const module_name *name,
                          tn_operator_row **row) {
    tn_hls_report *report = r->report;
    tn_operator_row made;
    size_t room = r->room;
    if (r->period_ns <= 0)
        return tn_fail_at(
            r->error, TN_INPUT, position,
            "operator %.80s stands before the clock's target period, so that no period is known", module);
    TN_TRY(make_row(r, module, name, &made));
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->row[i].name, made.name) == 0) {
            *row = &report->row[i];
            return TN_OK;
        }
    if (report->count == room) {
        tn_operator_row *rows;
        room = room ? 2 * room : 32;
        TN_TRY(TN_NEW(r->arena, room, &rows, r->error));
        if (report->count) memcpy(rows, report->row, report->count * sizeof *rows);
        report->row = rows;
        r->room = room;
    }
    report->row[report->count] = made;
    *row = &report->row[report->count++];
    return TN_OK;
}

static void raise_to(uint64_t *figure, uint64_t value) {
    if (value > *figure) *figure = value;
}

/* "227", "~0", "-" (none). */
static tn_status parse_figure(reader *r, tn_position position, const char *what, const char *text,
                              uint64_t *value) {
    *value = 0;
    if (strcmp(text, "-") == 0 || strcmp(text, "~0") == 0) return TN_OK;
    if (tn_read_count(text, value) == TN_NUMBER_OK && *value <= FIGURE_MOST) return TN_OK;
    return tn_fail_at(r->error, TN_INPUT, position, "%s is '%.40s'; it is a whole number up to %d", what,
                      text, FIGURE_MOST);
}

/* "10.00", "10.00 ns" */
static tn_status parse_period(reader *r, tn_position position, const char *text) {
    char number[32];
    double value;
    const size_t length = strcspn(text, " ");
    const char *unit = text + length + strspn(text + length, " ");
    if (length < sizeof number && (*unit == '\0' || strcmp(unit, "ns") == 0)) {
        memcpy(number, text, length);
        number[length] = '\0';
        if (tn_read_real(number, &value) == TN_NUMBER_OK && value >= 0.1 && value <= 1000) {
            r->period_ns = value;
            return TN_OK;
        }
    }
    return tn_fail_at(r->error, TN_INPUT, position,
                      "the clock's target is '%.40s'; it is a period of 0.1 to 1000 ns", text);
}

/* ---- tables of a verbose report ---- */

/* The n-th cell of "a, b, c" without the blanks around it; false: there are fewer. */
static bool find_cell(const char *text, size_t n, char *cell, size_t room) {
    for (; n > 0; n--) {
        text += strcspn(text, ",");
        if (*text++ == '\0') return false;
    }
    while (isspace((unsigned char)*text)) text++;
    size_t length = strcspn(text, ",");
    while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
    if (length >= room) length = room - 1;
    memcpy(cell, text, length);
    cell[length] = '\0';
    return true;
}

static size_t find_key(const reader *r, const char *name) {
    size_t i = 0;
    while (i < r->keys && strcmp(r->key[i], name) != 0) i++;
    return i;
}

/* A row of a table: its first cell is the element's name, the others are the text. */
static tn_status read_line(reader *r, tn_position position, const char *text) {
    const size_t target = find_key(r, "Target"), module = find_key(r, "Module"), lut = find_key(r, "LUT"),
                 ff = find_key(r, "FF");
    size_t dsp = find_key(r, "DSP");
    char cell[256];
    module_name name;
    tn_operator_row *row;
    uint64_t value;
    if (dsp == r->keys) dsp = find_key(r, "DSP48E");
    if (target < r->keys && strcmp(r->key[0], "Clock") == 0) {
        if (!find_cell(text, target - 1, cell, sizeof cell))
            return tn_fail_at(r->error, TN_INPUT, position, "the clock has no target");
        return parse_period(r, position, cell);
    }
    if (module == r->keys || dsp == r->keys || lut == r->keys || ff == r->keys || module == 0) return TN_OK;
    if (!find_cell(text, module - 1, cell, sizeof cell) || !parse_module(cell, &name)) return TN_OK;
    TN_TRY(find_row(r, position, cell, &name, &row));
    const struct {
        size_t at;
        const char *what;
        uint64_t *figure;
    } figures[] = {{dsp, "DSP", &row->dsp}, {lut, "LUT", &row->lut}, {ff, "FF", &row->ff}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (figures[i].at == 0 || !find_cell(text, figures[i].at - 1, cell, sizeof cell))
            return tn_fail_at(r->error, TN_INPUT, position, "the row has no %s", figures[i].what);
        TN_TRY(parse_figure(r, position, figures[i].what, cell, &value));
        raise_to(figures[i].figure, value);
    }
    r->report->has_logic = true;
    return TN_OK;
}

static tn_status read_keys(reader *r, tn_position position, const char *text) {
    for (r->keys = 0; r->keys < CELLS_MOST; r->keys++)
        if (!find_cell(text, r->keys, r->key[r->keys], sizeof *r->key)) return TN_OK;
    return tn_fail_at(r->error, TN_LIMIT, position, "a table of more than %d columns", CELLS_MOST - 1);
}

/* ---- operators bound, of csynth.xml ---- */

static tn_status read_bound(reader *r, const tn_xml_event *event) {
    const char *kind = tn_xml_attribute_of(event, "BINDTYPE"),
               *module = tn_xml_attribute_of(event, "RTLNAME"),
               *latency = tn_xml_attribute_of(event, "LATENCY"), *dsp = tn_xml_attribute_of(event, "DSP");
    module_name name;
    tn_operator_row *row;
    uint64_t value;
    if (!kind || strcmp(kind, "op") != 0 || !module || !parse_module(module, &name)) return TN_OK;
    if (!latency)
        return tn_fail_at(r->error, TN_INPUT, event->position, "operator %.80s has no LATENCY", module);
    TN_TRY(parse_figure(r, event->position, "LATENCY", latency, &value));
    if (value + 1 != name.stages)
        return tn_fail_at(r->error, TN_INPUT, event->position,
                          "LATENCY of %.80s is %" PRIu64 ", but its name says %" PRIu64 " stages, one more",
                          module, value, name.stages);
    TN_TRY(find_row(r, event->position, module, &name, &row));
    TN_TRY(parse_figure(r, event->position, "DSP", dsp ? dsp : "-", &value));
    raise_to(&row->dsp, value);
    return TN_OK;
}

/* ---- the file ---- */

static tn_status read_open(reader *r, const tn_xml_event *event, size_t depth) {
    const char *name = tn_xml_attribute_of(event, "name");
    if (depth == 0 && strcmp(event->text, "profile") != 0)
        return tn_fail_at(r->error, TN_INPUT, event->position,
                          "the first element is %.40s; reports of high-level synthesis begin with profile",
                          event->text);
    if (strcmp(event->text, "item") == 0) r->item = name ? name : "";
    if (strcmp(event->text, "table") == 0) r->keys = 0;
    r->is_report |= strcmp(event->text, "PerformanceEstimates") == 0 ||
                    (strcmp(event->text, "section") == 0 && name && strstr(name, "HLS Report"));
    if (strcmp(event->text, "BindNode") == 0) return read_bound(r, event);
    return TN_OK;
}

/* One line of a text, without the blanks around it. */
static tn_status keep_line(reader *r, const char *before, const char *text, const char **kept) {
    size_t length = strcspn(text, "\r\n");
    while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
    if (length > 80) length = 80;
    return tn_arena_format(r->arena, kept, r->error, "%s%.*s", before, (int)length, text);
}

static tn_status read_text(reader *r, const tn_xml *xml, const tn_xml_event *event) {
    const char *element = xml->open[xml->depth - 1];
    const bool is_item = strcmp(element, "item") == 0;
    if (strcmp(element, "TargetClockPeriod") == 0) return parse_period(r, event->position, event->text);
    if (!r->device && (strcmp(element, "Part") == 0 || (is_item && strcmp(r->item, "Target device") == 0)))
        return keep_line(r, "", event->text, &r->device);
    if (!r->tool && (strcmp(element, "Version") == 0 || (is_item && strcmp(r->item, "Version") == 0)))
        return keep_line(r, "HLS ", event->text, &r->tool);
    if (strcmp(element, "keys") == 0) return read_keys(r, event->position, event->text);
    if (strcmp(element, "column") == 0) return read_line(r, event->position, event->text);
    return TN_OK;
}

static tn_status read_all(reader *r, const char *path, tn_xml *xml) {
    tn_xml_event event;
    for (;;) {
        const size_t depth = xml->depth;
        TN_TRY(tn_xml_next(xml, &event, r->error));
        if (event.kind == TN_XML_END) break;
        if (event.kind == TN_XML_OPEN) TN_TRY(read_open(r, &event, depth));
        if (event.kind == TN_XML_TEXT) TN_TRY(read_text(r, xml, &event));
    }
    const tn_position begin = {path, 1, 1};
    if (!r->is_report)
        return tn_fail_at(
            r->error, TN_INPUT, begin,
            "this is no report of high-level synthesis; take FUNCTION.verbose.rpt.xml, or csynth.xml");
    if (r->report->count == 0)
        return tn_fail_at(
            r->error, TN_INPUT, begin,
            "the report has no operator in FP32 or FP16, such as fadd_32ns_32ns_32_7_full_dsp_1; "
            "take that of the function which computes with them");
    return TN_OK;
}

tn_status tn_hls_report_load(const char *path, tn_arena *arena, tn_hls_report *report, tn_error *error) {
    reader r = {.arena = arena, .error = error, .report = report, .item = ""};
    tn_xml xml;
    char *bytes;
    size_t length;
    *report = (tn_hls_report){0};
    TN_TRY(tn_file_read(path, REPORT_BYTES_MOST, &bytes, &length, error));
    tn_xml_begin(&xml, path, bytes, length, arena);
    tn_status status = read_all(&r, path, &xml);
    tn_free(bytes);
    for (size_t i = 0; i < report->count && !report->has_logic; i++) report->row[i].origin = TN_UNVERIFIED;
    return status;
}
