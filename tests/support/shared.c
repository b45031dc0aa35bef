#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *join(const char *folder, const char *name) {
    static char path[8][1024];
    static unsigned next;
    char *text = path[next++ % 8];
    snprintf(text, sizeof path[0], "%s/%s", folder, name);
    return text;
}

const char *test_shared(const char *name) {
    const char *folder = getenv("TENFOLD_SHARED");
    const char *path = join(folder ? folder : TEST_SHARED_DIR, name);
    if (access(path, R_OK) == 0) return path;
    const char *own = join(TEST_SOURCE_DIR "/tests", name);
    if (access(own, R_OK) == 0) return own;
    printf("SKIPPED: %s is absent\n", path);
    return NULL;
}

const char *test_shared_or_skip(const char *name) {
    const char *path = test_shared(name);
    if (!path) skip();
    return path;
}

const char *test_source(const char *name) {
    return join(TEST_SOURCE_DIR, name);
}
