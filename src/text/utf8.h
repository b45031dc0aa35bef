/* UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing over U+10FFFF. */
#ifndef TN_TEXT_UTF8_H
#define TN_TEXT_UTF8_H

#include <stddef.h>

/* Bytes of the character that `text` (of `length` > 0 bytes) begins with: 1 to 4, or 0 where it is not UTF-8.
 */
size_t tn_utf8_length(const char *text, size_t length);

#endif
