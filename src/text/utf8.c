#include "text/utf8.h"

#include <stddef.h>

/* A mismatch goes back to the last star, which then stands for one character more: earlier ones need not. */
bool tn_pattern_matches(const char *pattern, const char *text) {
    const char *star = NULL, *rest = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            rest = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++rest;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

static int continues(unsigned char byte) {
    return (byte & 0xc0) == 0x80;
}

size_t tn_utf8_length(const char *text, size_t length) {
    const unsigned char *byte = (const unsigned char *)text;
    unsigned char first = byte[0];
    if (first < 0x80) return 1;
    size_t bytes = first >= 0xc2 && first < 0xe0   ? 2
                   : first >= 0xe0 && first < 0xf0 ? 3
                   : first >= 0xf0 && first < 0xf5 ? 4
                                                   : 0;
    if (bytes == 0 || bytes > length) return 0;
    for (size_t i = 1; i < bytes; i++)
        if (!continues(byte[i])) return 0;
    int overlong = (first == 0xe0 && byte[1] < 0xa0) || (first == 0xf0 && byte[1] < 0x90);
    int outside_range = (first == 0xed && byte[1] >= 0xa0) || (first == 0xf4 && byte[1] >= 0x90);
    return overlong || outside_range ? 0 : bytes;
}

bool tn_utf8_is_control(const char *text, size_t bytes) {
    const unsigned char *byte = (const unsigned char *)text;
    return bytes == 1 ? byte[0] < 0x20 || byte[0] == 0x7f : bytes == 2 && byte[0] == 0xc2 && byte[1] < 0xa0;
}

void tn_utf8_printable(const char *text, size_t length, bool lines, tn_buffer *out) {
    for (size_t bytes; length > 0; text += bytes, length -= bytes) {
        bytes = tn_utf8_length(text, length);
        bool shows = bytes && (!tn_utf8_is_control(text, bytes) || (lines && *text == '\n'));
        if (shows)
            tn_buffer_bytes(out, text, bytes);
        else
            tn_buffer_text(out, "\xef\xbf\xbd");
        bytes += bytes == 0;
    }
}
