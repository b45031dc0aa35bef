/* UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing over U+10FFFF. */
#ifndef TN_TEXT_UTF8_H
#define TN_TEXT_UTF8_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* Names with wild cards, as shells have them: `*` stands for any text, dots included, `?` for any one character. */

bool tn_pattern_matches(const char *pattern, const char *text);

/* Bytes of the character that `text` (of `length` > 0 bytes) begins with: 1 to 4, or 0 where it is not UTF-8.
 */
size_t tn_utf8_length(const char *text, size_t length);

/* Whether the character of so many bytes steers a terminal (C0, DEL, C1) instead of showing. */
bool tn_utf8_is_control(const char *text, size_t bytes);

/* Appends the text as a terminal may show it: U+FFFD instead of control characters and of what is not UTF-8.
 * Line feeds stay with `lines`. */
void tn_utf8_printable(const char *text, size_t length, bool lines, tn_buffer *out);

#endif
