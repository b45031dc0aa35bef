/* Names with wild cards, as shells have them: `*` stands for any text, dots included, `?` for any one character. */
#ifndef TN_TEXT_PATTERN_H
#define TN_TEXT_PATTERN_H

#include <stdbool.h>

bool tn_pattern_matches(const char *pattern, const char *text);

#endif
