/* Names that a text may be one of, as people read them: "a, b, part-1 to part-9 or c". Internal to the room. */
#ifndef TN_TEXT_CHOICES_H
#define TN_TEXT_CHOICES_H

#include "base/buffer.h"

/* Appends the names (ended by NULL), each between two `quote`, with `last` before the last one and commas before
 * the others. Three or more in a row that differ in a number that counts up are written as the first to the
 * last. */
void tn_choices_write(tn_buffer *out, const char *const *names, const char *quote, const char *last);

#endif
