#include "text/pattern.h"

#include <stddef.h>

/* A mismatch goes back to the last star, which then stands for one character more: earlier ones need not. */
bool tn_pattern_matches(const char *pattern, const char *text) {
    const char *star = NULL, *behind = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            behind = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++behind;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}
