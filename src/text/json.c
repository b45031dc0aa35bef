#include "text/json.h"

#include "text/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void tn_json_begin(tn_json *json, tn_buffer *out) {
    *json = (tn_json){.out = out};
}

static void line_break(tn_json *json) {
    tn_buffer_format(json->out, "\n%*s", (int)(2 * json->depth), "");
}

/* The comma and line break due before a key, or before a value that has no key. */
static void separate(tn_json *json) {
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    unsigned level = json->depth;
    if (json->after_item[level]) tn_buffer_text(json->out, json->compact[level] ? ", " : ",");
    if (level > 0 && !json->compact[level]) line_break(json);
    json->after_item[level] = true;
}

static void open_level(tn_json *json, bool array, bool compact) {
    separate(json);
    if (json->depth + 1 >= TN_JSON_LEVELS) {
        if (json->out->status == TN_OK) json->out->status = TN_LIMIT;
        return;
    }
    bool inherited = json->compact[json->depth];
    unsigned level = ++json->depth;
    json->array[level] = array;
    json->compact[level] = compact || inherited;
    json->after_item[level] = false;
    tn_buffer_text(json->out, array ? "[" : "{");
}

void tn_json_object(tn_json *json) {
    open_level(json, false, false);
}

void tn_json_array(tn_json *json) {
    open_level(json, true, false);
}

void tn_json_row(tn_json *json) {
    open_level(json, true, true);
}

void tn_json_end(tn_json *json) {
    if (json->depth == 0) return;
    unsigned level = json->depth--;
    if (json->after_item[level] && !json->compact[level]) line_break(json);
    tn_buffer_text(json->out, json->array[level] ? "]" : "}");
    if (json->depth == 0) tn_buffer_text(json->out, "\n");
}

static void write_escape(tn_buffer *out, unsigned char c) {
    switch (c) {
    case '"':
        tn_buffer_text(out, "\\\"");
        break;
    case '\\':
        tn_buffer_text(out, "\\\\");
        break;
    case '\n':
        tn_buffer_text(out, "\\n");
        break;
    case '\r':
        tn_buffer_text(out, "\\r");
        break;
    case '\t':
        tn_buffer_text(out, "\\t");
        break;
    default:
        tn_buffer_format(out, "\\u%04x", c);
    }
}

void tn_json_quote(const char *text, tn_buffer *out) {
    tn_buffer_text(out, "\"");
    for (size_t length = strlen(text); length > 0;) {
        unsigned char c = (unsigned char)*text;
        size_t bytes = tn_utf8_length(text, length);
        if (bytes == 0)
            tn_buffer_text(out, "\\ufffd");
        else if (bytes == 2 && tn_utf8_is_control(text, bytes))
            tn_buffer_format(out, "\\u00%02x", (unsigned char)text[1]);
        else if (c == '"' || c == '\\' || tn_utf8_is_control(text, bytes))
            write_escape(out, c);
        else
            tn_buffer_bytes(out, text, bytes);
        bytes += bytes == 0;
        text += bytes;
        length -= bytes;
    }
    tn_buffer_text(out, "\"");
}

void tn_json_key(tn_json *json, const char *key) {
    separate(json);
    tn_json_quote(key, json->out);
    tn_buffer_text(json->out, ": ");
    json->after_key = true;
}

void tn_json_text(tn_json *json, const char *value) {
    if (!value) {
        tn_json_null(json);
        return;
    }
    separate(json);
    tn_json_quote(value, json->out);
}

void tn_json_count(tn_json *json, uint64_t value) {
    separate(json);
    tn_buffer_format(json->out, "%" PRIu64, value);
}

void tn_json_big(tn_json *json, const tn_big *value) {
    char text[TN_BIG_TEXT];
    uint64_t count;
    if (tn_big_count(value, &count) && count <= INT64_MAX)
        tn_json_count(json, count);
    else
        tn_json_text(json, tn_big_text(value, text));
}

void tn_json_real(tn_json *json, double value) {
    char text[32];
    if (!isfinite(value)) {
        tn_json_null(json);
        return;
    }
    separate(json);
    tn_real_text(value, text, sizeof text);
    tn_buffer_text(json->out, text);
}

void tn_json_bool(tn_json *json, bool value) {
    separate(json);
    tn_buffer_text(json->out, value ? "true" : "false");
}

void tn_json_null(tn_json *json) {
    separate(json);
    tn_buffer_text(json->out, "null");
}

void tn_json_put_text(tn_json *json, const char *key, const char *value) {
    tn_json_key(json, key);
    tn_json_text(json, value);
}

void tn_json_put_count(tn_json *json, const char *key, uint64_t value) {
    tn_json_key(json, key);
    tn_json_count(json, value);
}

void tn_json_put_real(tn_json *json, const char *key, double value) {
    tn_json_key(json, key);
    tn_json_real(json, value);
}

void tn_json_put_bool(tn_json *json, const char *key, bool value) {
    tn_json_key(json, key);
    tn_json_bool(json, value);
}

void tn_json_counts(tn_json *json, const uint64_t *value, size_t count) {
    tn_json_row(json);
    for (size_t i = 0; i < count; i++) tn_json_count(json, value[i]);
    tn_json_end(json);
}

void tn_json_put_counts(tn_json *json, const char *key, const uint64_t *value, size_t count) {
    tn_json_key(json, key);
    tn_json_counts(json, value, count);
}
