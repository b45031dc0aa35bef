#include "text/choices.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHORTEST_RUN = 3 };

/* Where the number begins that the name ends in. */
static size_t stem(const char *name) {
    size_t at = strlen(name);
    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') at--;
    return at;
}

static bool follows(const char *name, const char *next) {
    size_t at = stem(name);
    return name[at] && next && stem(next) == at && strncmp(name, next, at) == 0 &&
           strtoull(next + at, NULL, 10) == strtoull(name + at, NULL, 10) + 1;
}

/* How many names from the first on are written as one. */
static size_t run_of(const char *const *names) {
    size_t count = 1;
    while (follows(names[count - 1], names[count])) count++;
    return count < SHORTEST_RUN ? 1 : count;
}

void tn_choices_write(tn_buffer *out, const char *const *names, const char *quote, const char *last) {
    for (size_t i = 0; names[i];) {
        size_t count = run_of(names + i);
        const char *before = i == 0 ? "" : names[i + count] ? ", " : last;
        tn_buffer_format(out, "%s%s%s%s", before, quote, names[i], quote);
        if (count > 1) tn_buffer_format(out, " to %s%s%s", quote, names[i + count - 1], quote);
        i += count;
    }
}
