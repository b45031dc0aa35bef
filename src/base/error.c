#include "base/error.h"

#include "base/c_locale.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

TN_PRINTF(4, 0)
static tn_status record(tn_error *error, tn_status status, tn_position position, const char *format,
                        va_list arguments) {
    if (error) {
        error->status = status;
        error->line = position.line;
        error->column = position.column;
        snprintf(error->file, sizeof error->file, "%s", position.file ? position.file : "");
        tn_c_locale locale = tn_c_locale_enter();
        vsnprintf(error->message, sizeof error->message, format, arguments);
        tn_c_locale_leave(locale);
    }
    return status;
}

tn_status tn_fail(tn_error *error, tn_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(error, status, (tn_position){0}, format, arguments);
    va_end(arguments);
    return status;
}

tn_status tn_fail_at(tn_error *error, tn_status status, tn_position position, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(error, status, position, format, arguments);
    va_end(arguments);
    return status;
}

tn_status tn_fail_system(tn_error *error, const char *file, int error_number, const char *what) {
    tn_status status = error_number == ENOMEM ? TN_MEMORY : TN_IO;
    return tn_fail_at(error, status, (tn_position){.file = file}, "%s: %s", what, strerror(error_number));
}

tn_status tn_fail_reading(tn_error *error, const char *file, int error_number, const char *what) {
    static const int of_the_name[] = {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM,
                                      ELOOP,  ENXIO,   ENODEV, EINVAL, ENAMETOOLONG};
    for (size_t i = 0; i < sizeof of_the_name / sizeof *of_the_name; i++)
        if (error_number == of_the_name[i])
            return tn_fail_at(error, TN_INPUT, (tn_position){.file = file}, "%s: %s", what,
                              strerror(error_number));
    return tn_fail_system(error, file, error_number, what);
}

/* File names and what is quoted from input must not break the line or steer a terminal. */
static void hide_control_characters(char *text) {
    for (unsigned char *cursor = (unsigned char *)text; *cursor; cursor++) {
        bool second_block =
            cursor[0] == 0xc2 && cursor[1] >= 0x80 && cursor[1] < 0xa0; /* U+0080 to U+009F in UTF-8 */
        if (*cursor < 0x20 || *cursor == 0x7f || second_block) *cursor = '?';
        if (second_block) *++cursor = '?';
    }
}

void tn_error_text(const tn_error *error, char *text, unsigned long capacity) {
    if (error->file[0] && error->line)
        snprintf(text, capacity, "%s:%u:%u: %s", error->file, error->line, error->column, error->message);
    else if (error->file[0])
        snprintf(text, capacity, "%s: %s", error->file, error->message);
    else
        snprintf(text, capacity, "%s", error->message);
    hide_control_characters(text);
}

tn_status tn_fail_placed(tn_error *error, tn_status status, tn_position position) {
    if (status != TN_INPUT && status != TN_LIMIT && status != TN_OVERFLOW) return status;
    if (!error || error->line || error->file[0]) return status;
    error->line = position.line;
    error->column = position.column;
    snprintf(error->file, sizeof error->file, "%s", position.file ? position.file : "");
    return status;
}
