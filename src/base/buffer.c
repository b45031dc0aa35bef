#include "base/buffer.h"

#include "base/c_locale.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char *room(tn_buffer *buffer, size_t length) {
    if (buffer->status == TN_OK)
        buffer->status = tn_grow(&buffer->data, &buffer->capacity, buffer->length + length + 1, 1, NULL);
    return buffer->status == TN_OK ? buffer->data + buffer->length : NULL;
}

void tn_buffer_bytes(tn_buffer *buffer, const void *bytes, size_t length) {
    char *target = room(buffer, length);
    if (!target) return;
    if (length) memcpy(target, bytes, length);
    target[length] = '\0';
    buffer->length += length;
}

void tn_buffer_text(tn_buffer *buffer, const char *text) {
    tn_buffer_bytes(buffer, text, strlen(text));
}

void tn_buffer_format(tn_buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tn_buffer_format_list(buffer, format, arguments);
    va_end(arguments);
}

void tn_buffer_format_list(tn_buffer *buffer, const char *format, va_list arguments) {
    tn_c_locale locale = tn_c_locale_enter();
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *target = length < 0 ? NULL : room(buffer, (size_t)length);
    if (target) {
        vsnprintf(target, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
    tn_c_locale_leave(locale);
}

void tn_buffer_free(tn_buffer *buffer) {
    tn_free(buffer->data);
    *buffer = (tn_buffer){0};
}
