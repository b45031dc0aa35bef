#include "cli/output.h"

#include "text/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int first_failure; /* errno of the first write that failed */

static void write_out(const char *data, size_t length) {
    if (first_failure || length == 0) return;
    errno = 0;
    if (fwrite(data, 1, length, stdout) != length) first_failure = errno ? errno : EIO;
}

/* As it is into files and pipes; fit for a terminal on one. */
tn_status tn_output(tn_buffer *text, tn_error *error) {
    tn_status status = text->status;
    if (status == TN_OK && isatty(STDOUT_FILENO) == 1) {
        tn_buffer shown = {0};
        tn_utf8_printable(text->data ? text->data : "", text->length, true, &shown);
        status = shown.status;
        if (status == TN_OK) write_out(shown.data, shown.length);
        tn_buffer_free(&shown);
    } else if (status == TN_OK) {
        write_out(text->data, text->length);
    }
    tn_buffer_free(text);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for the answer");
}

tn_status tn_output_made(tn_status status, tn_buffer *out, tn_error *error) {
    if (status == TN_OK) return tn_output(out, error);
    tn_buffer_free(out);
    return status;
}

tn_status tn_output_json(const tn_record *record, const void *row, tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_record_json(record, row, &json);
    return tn_output(&out, error);
}

static bool has_colour(void) {
    return isatty(STDOUT_FILENO) == 1 && !getenv("NO_COLOR");
}

/* What was made fit for a terminal already, and may hold colours of our own. */
static tn_status write_shown(tn_buffer *out, tn_error *error) {
    tn_status status = out->status;
    if (status == TN_OK) write_out(out->data, out->length);
    tn_buffer_free(out);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for a table");
}

tn_status tn_output_rows(const tn_record *record, const void *rows, size_t count, tn_error *error) {
    tn_buffer out = {0};
    tn_record_table(record, rows, count, has_colour(), &out);
    return write_shown(&out, error);
}

tn_status tn_output_lines(const tn_record *record, const void *row, tn_error *error) {
    tn_buffer out = {0};
    tn_record_lines(record, row, has_colour(), &out);
    return write_shown(&out, error);
}

tn_status tn_output_names(const char *key, const char *const *name, size_t count, bool as_json,
                          tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    if (!as_json) {
        for (size_t i = 0; i < count; i++) tn_buffer_format(&out, "%s\n", name[i]);
        return tn_output(&out, error);
    }
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_key(&json, key);
    tn_json_array(&json);
    for (size_t i = 0; i < count; i++) tn_json_text(&json, name[i]);
    tn_json_end(&json);
    tn_json_end(&json);
    return tn_output(&out, error);
}

tn_status tn_table_end(tn_table *table, tn_error *error) {
    tn_buffer out = {0};
    tn_table_write(table, has_colour(), &out);
    tn_table_free(table);
    return write_shown(&out, error);
}

void tn_say(const char *format, ...) {
    tn_buffer text = {0}, shown = {0};
    va_list arguments;
    va_start(arguments, format);
    tn_buffer_format_list(&text, format, arguments);
    va_end(arguments);
    if (text.data) tn_utf8_printable(text.data, text.length, true, &shown);
    if (text.status != TN_OK || shown.status != TN_OK) first_failure = ENOMEM;
    write_out(shown.data, shown.length);
    tn_buffer_free(&text);
    tn_buffer_free(&shown);
}

void tn_say_heading(const char *text) {
    static const char begin[] = "\033[1;4m", end[] = "\033[0m";
    bool colour = has_colour();
    write_out("\n", 1);
    if (colour) write_out(begin, sizeof begin - 1);
    tn_say("%s", text);
    if (colour) write_out(end, sizeof end - 1);
    write_out("\n", 1);
}

tn_status tn_output_finish(bool *closed, tn_error *error) {
    errno = 0;
    if (fflush(stdout) != 0 && !first_failure) first_failure = errno ? errno : EIO;
    *closed = first_failure == EPIPE;
    if (first_failure == 0 && !ferror(stdout)) return TN_OK;
    return tn_fail_system(error, "", first_failure ? first_failure : EIO, "standard output can't be written");
}
