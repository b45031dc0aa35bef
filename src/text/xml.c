#include "text/xml.h"

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

void tn_xml_begin(tn_xml *xml, const char *file, const char *bytes, size_t length, tn_arena *arena) {
    static const char mark[] = "\xef\xbb\xbf";
    *xml = (tn_xml){.cursor = bytes, .end = bytes + length, .position = {file, 1, 1}, .arena = arena};
    if (length >= sizeof mark - 1 && memcmp(bytes, mark, sizeof mark - 1) == 0)
        xml->cursor += sizeof mark - 1;
}

const char *tn_xml_attribute_of(const tn_xml_event *event, const char *name) {
    for (size_t i = 0; i < event->attributes; i++)
        if (strcmp(event->attribute[i].name, name) == 0) return event->attribute[i].value;
    return NULL;
}

/* ---- characters ---- */

static void step(tn_xml *xml) {
    if (*xml->cursor++ == '\n') {
        xml->position.line++;
        xml->position.column = 1;
    } else {
        xml->position.column++;
    }
}

static bool begins(const tn_xml *xml, const char *text) {
    const size_t length = strlen(text);
    return (size_t)(xml->end - xml->cursor) >= length && memcmp(xml->cursor, text, length) == 0;
}

static bool takes(tn_xml *xml, const char *text) {
    if (!begins(xml, text)) return false;
    for (size_t i = strlen(text); i > 0; i--) step(xml);
    return true;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80;
}

static void skip_space(tn_xml *xml) {
    while (xml->cursor < xml->end && is_space(*xml->cursor)) step(xml);
}

/* Up to behind `end`. */
static tn_status skip_to(tn_xml *xml, const char *end, tn_position begin, const char *what, tn_error *error) {
    while (xml->cursor < xml->end)
        if (takes(xml, end))
            return TN_OK;
        else
            step(xml);
    return tn_fail_at(error, TN_INPUT, begin, "%s is not closed; the file ends before %s", what, end);
}

static tn_status read_name(tn_xml *xml, const char **name, tn_error *error) {
    const char *begin = xml->cursor;
    while (xml->cursor < xml->end && is_of_name(*xml->cursor)) step(xml);
    if (xml->cursor == begin)
        return tn_fail_at(error, TN_INPUT, xml->position, "a name is missing here; this is no XML");
    return tn_arena_copy_text(xml->arena, begin, (size_t)(xml->cursor - begin), name, error);
}

/* ---- entities ---- */

static void put_code(tn_buffer *out, uint32_t code) {
    char bytes[4];
    size_t length = 0;
    if (code < 0x80) {
        bytes[length++] = (char)code;
    } else if (code < 0x800) {
        bytes[length++] = (char)(0xc0 | code >> 6);
        bytes[length++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        bytes[length++] = (char)(0xe0 | code >> 12);
        bytes[length++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[length++] = (char)(0x80 | (code & 0x3f));
    } else {
        bytes[length++] = (char)(0xf0 | code >> 18);
        bytes[length++] = (char)(0x80 | (code >> 12 & 0x3f));
        bytes[length++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[length++] = (char)(0x80 | (code & 0x3f));
    }
    tn_buffer_bytes(out, bytes, length);
}

static int digit_of(char c, uint32_t base) {
    const int digit = c >= '0' && c <= '9'                     ? c - '0'
                      : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                               : -1;
    return digit < (int)base ? digit : -1;
}

/* Behind "&#". */
static bool read_code(tn_xml *xml, uint32_t *code) {
    const uint32_t base = takes(xml, "x") ? 16 : 10;
    size_t digits = 0;
    *code = 0;
    for (int digit; xml->cursor < xml->end && (digit = digit_of(*xml->cursor, base)) >= 0; digits++) {
        if (*code <= 0x10ffff) *code = base * *code + (uint32_t)digit;
        step(xml);
    }
    return digits > 0 && *code > 0 && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff) &&
           takes(xml, ";");
}

static tn_status read_entity(tn_xml *xml, tn_buffer *out, tn_error *error) {
    static const struct {
        const char *name;
        char character;
    } known[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    const tn_position begin = xml->position;
    uint32_t code;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (takes(xml, known[i].name)) {
            tn_buffer_bytes(out, &known[i].character, 1);
            return TN_OK;
        }
    if (!takes(xml, "&#") || !read_code(xml, &code))
        return tn_fail_at(error, TN_INPUT, begin,
                          "'&' begins no entity that is known; write &amp; for the sign");
    put_code(out, code);
    return TN_OK;
}

/* Characters up to one of `ends`, which is not taken. */
static tn_status read_until(tn_xml *xml, const char *ends, tn_buffer *out, tn_error *error) {
    while (xml->cursor < xml->end && (*xml->cursor == '\0' || !strchr(ends, *xml->cursor))) {
        if (*xml->cursor == '\0')
            return tn_fail_at(error, TN_INPUT, xml->position, "a byte 0; this is no XML");
        if (*xml->cursor == '&') {
            TN_TRY(read_entity(xml, out, error));
            continue;
        }
        tn_buffer_bytes(out, xml->cursor, 1);
        step(xml);
    }
    return TN_OK;
}

static tn_status keep(tn_xml *xml, tn_buffer *text, tn_status status, const char **kept, tn_error *error) {
    if (status == TN_OK && text->status != TN_OK)
        status = tn_fail(error, text->status, "no memory for a text");
    if (status == TN_OK)
        status = tn_arena_copy_text(xml->arena, text->data ? text->data : "", text->length, kept, error);
    tn_buffer_free(text);
    return status;
}

/* ---- tags ---- */

static tn_status read_attribute(tn_xml *xml, tn_xml_event *event, tn_error *error) {
    const tn_position begin = xml->position;
    tn_xml_attribute *attribute = &event->attribute[event->attributes];
    tn_buffer text = {0};
    char quote[2] = "";
    if (event->attributes == TN_XML_ATTRIBUTES_MOST)
        return tn_fail_at(error, TN_LIMIT, begin, "an element of more than %d attributes",
                          TN_XML_ATTRIBUTES_MOST);
    TN_TRY(read_name(xml, &attribute->name, error));
    skip_space(xml);
    if (!takes(xml, "="))
        return tn_fail_at(error, TN_INPUT, xml->position, "attribute %s has no value", attribute->name);
    skip_space(xml);
    if (xml->cursor < xml->end) quote[0] = *xml->cursor;
    if (quote[0] != '"' && quote[0] != '\'')
        return tn_fail_at(error, TN_INPUT, xml->position, "the value of %s is not in quotes",
                          attribute->name);
    step(xml);
    TN_TRY(keep(xml, &text, read_until(xml, quote, &text, error), &attribute->value, error));
    if (!takes(xml, quote))
        return tn_fail_at(error, TN_INPUT, begin, "the value of %s is not closed", attribute->name);
    event->attributes++;
    return TN_OK;
}

static tn_status read_open(tn_xml *xml, tn_xml_event *event, tn_error *error) {
    event->kind = TN_XML_OPEN;
    TN_TRY(read_name(xml, &event->text, error));
    if (xml->depth == 0 && xml->roots++ > 0)
        return tn_fail_at(error, TN_INPUT, event->position, "a second element beside the first; XML has one");
    if (xml->depth == TN_XML_DEPTH_MOST)
        return tn_fail_at(error, TN_LIMIT, event->position, "elements nested deeper than %d",
                          TN_XML_DEPTH_MOST);
    for (;;) {
        skip_space(xml);
        if (takes(xml, "/>")) {
            xml->closing = event->text;
            return TN_OK;
        }
        if (takes(xml, ">")) break;
        if (xml->cursor == xml->end)
            return tn_fail_at(error, TN_INPUT, event->position,
                              "element %s is not closed; the file ends in it", event->text);
        TN_TRY(read_attribute(xml, event, error));
    }
    xml->open[xml->depth++] = event->text;
    return TN_OK;
}

static tn_status read_close(tn_xml *xml, tn_xml_event *event, tn_error *error) {
    event->kind = TN_XML_CLOSE;
    TN_TRY(read_name(xml, &event->text, error));
    skip_space(xml);
    if (!takes(xml, ">"))
        return tn_fail_at(error, TN_INPUT, xml->position, "the closing tag of %s has no end", event->text);
    if (xml->depth == 0)
        return tn_fail_at(error, TN_INPUT, event->position, "%s is closed, which was not open", event->text);
    if (strcmp(xml->open[xml->depth - 1], event->text) != 0)
        return tn_fail_at(error, TN_INPUT, event->position, "%s is closed where %s is open", event->text,
                          xml->open[xml->depth - 1]);
    xml->depth--;
    return TN_OK;
}

static tn_status read_data(tn_xml *xml, tn_xml_event *event, tn_error *error) {
    static const char end[] = "]]>";
    const char *begin = xml->cursor;
    event->kind = TN_XML_TEXT;
    TN_TRY(skip_to(xml, end, event->position, "a CDATA section", error));
    return tn_arena_copy_text(xml->arena, begin, (size_t)(xml->cursor - begin) - (sizeof end - 1),
                              &event->text, error);
}

static bool is_blank(const char *text) {
    while (is_space(*text)) text++;
    return *text == '\0';
}

/* Text up to the next tag; *found: there is some. */
static tn_status read_text(tn_xml *xml, tn_xml_event *event, bool *found, tn_error *error) {
    tn_buffer text = {0};
    skip_space(xml);
    event->kind = TN_XML_TEXT;
    event->position = xml->position;
    TN_TRY(keep(xml, &text, read_until(xml, "<", &text, error), &event->text, error));
    *found = !is_blank(event->text);
    if (*found && xml->depth == 0)
        return tn_fail_at(error, TN_INPUT, event->position, "text outside of an element; this is no XML");
    return TN_OK;
}

tn_status tn_xml_next(tn_xml *xml, tn_xml_event *event, tn_error *error) {
    bool found = false;
    *event = (tn_xml_event){.position = xml->position};
    if (xml->closing) {
        event->kind = TN_XML_CLOSE;
        event->text = xml->closing;
        xml->closing = NULL;
        return TN_OK;
    }
    for (;;) {
        TN_TRY(read_text(xml, event, &found, error));
        if (found) return TN_OK;
        event->position = xml->position;
        if (xml->cursor == xml->end) break;
        if (takes(xml, "<!--"))
            TN_TRY(skip_to(xml, "-->", event->position, "a comment", error));
        else if (takes(xml, "<?"))
            TN_TRY(skip_to(xml, "?>", event->position, "an instruction", error));
        else if (xml->depth > 0 && takes(xml, "<![CDATA["))
            return read_data(xml, event, error);
        else if (takes(xml, "<!"))
            TN_TRY(skip_to(xml, ">", event->position, "a declaration", error));
        else if (takes(xml, "</"))
            return read_close(xml, event, error);
        else if (takes(xml, "<"))
            return read_open(xml, event, error);
    }
    event->kind = TN_XML_END;
    if (xml->depth > 0)
        return tn_fail_at(error, TN_INPUT, xml->position, "the file ends while %s is open",
                          xml->open[xml->depth - 1]);
    if (xml->roots == 0)
        return tn_fail_at(error, TN_INPUT, xml->position, "no element at all; this is no XML");
    return TN_OK;
}
