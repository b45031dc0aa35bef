/* A growing byte buffer for text. After the first failed append it stays failed and appends nothing more, so
 * that a writer may check once at its end. `data` is always a C string once anything was appended. Numbers are
 * written as in the C locale, whatever the program has set. */
#ifndef TN_BASE_BUFFER_H
#define TN_BASE_BUFFER_H

#include "base/error.h"
#include "base/public.h"

#include <stdarg.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

typedef struct tn_buffer {
    char *data;
    size_t length, capacity;
    tn_status status;
} tn_buffer;

void tn_buffer_bytes(tn_buffer *buffer, const void *bytes, size_t length);
void tn_buffer_text(tn_buffer *buffer, const char *text);
void tn_buffer_format(tn_buffer *buffer, const char *format, ...) TN_PRINTF(2, 3);
void tn_buffer_format_list(tn_buffer *buffer, const char *format, va_list arguments) TN_PRINTF(2, 0);
void tn_buffer_free(tn_buffer *buffer);

TN_PUBLIC_END

#endif
