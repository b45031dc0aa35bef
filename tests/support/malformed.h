/* The files of tests/malformed and what they must be refused with (see the README.md there). */
#ifndef TEST_SUPPORT_MALFORMED_H
#define TEST_SUPPORT_MALFORMED_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { TEST_PHRASES = 8 };

typedef struct test_malformed {
    const char *kind;
    char path[1024];
    tn_status status;
    unsigned line, column; /* 0: not said */
    size_t phrases;
    char phrase[TEST_PHRASES][256]; /* each occurs in the message */
} test_malformed;

/* Calls `visit` for each file of the kind; returns how many there are. A file without a sound expectation is
 * a failed assertion. */
int test_malformed_each(const char *kind, void (*visit)(const test_malformed *file, void *user), void *user);

/* Whether `text` has all phrases. */
bool test_malformed_says(const test_malformed *file, const char *text);

#endif
