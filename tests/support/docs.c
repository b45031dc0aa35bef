#include "support/docs.h"

#include "base/file.h"
#include "base/memory.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void replace(const char *path, const char *page, const char *start, const char *end,
                    const tn_buffer *part) {
    tn_buffer fresh = {0};
    tn_buffer_bytes(&fresh, page, (size_t)(start - page));
    tn_buffer_bytes(&fresh, part->data, part->length);
    tn_buffer_text(&fresh, end);
    assert_int_equal(tn_file_write_buffer(path, &fresh, NULL), TN_OK);
    tn_buffer_free(&fresh);
}

void test_docs_part(const char *name, const char *mark, tn_buffer *expected) {
    const char *path = test_source(name);
    char begin_mark[64], end_mark[64], *page;
    size_t length;
    tn_error error = {0};
    assert_int_equal(expected->status, TN_OK);
    if (tn_file_read(path, 1 << 24, &page, &length, &error) != TN_OK) fail_msg("%s: %s", path, error.message);
    snprintf(begin_mark, sizeof begin_mark, "<!-- %s -->\n", mark);
    snprintf(end_mark, sizeof end_mark, "<!-- end of %s -->", mark);
    const char *start = strstr(page, begin_mark), *end = start ? strstr(start, end_mark) : NULL;
    if (!end) fail_msg("%s has no part between <!-- %s --> and %s", name, mark, end_mark);
    start += strlen(begin_mark);
    bool same =
        (size_t)(end - start) == expected->length && memcmp(start, expected->data, expected->length) == 0;
    if (!same && getenv("TENFOLD_WRITE_DOCS")) {
        replace(path, page, start, end, expected);
        same = true;
    }
    if (!same)
        print_error("%s, part %s, should be:\n%s\n(TENFOLD_WRITE_DOCS=1 writes it)\n", name, mark,
                    expected->data);
    tn_free(page);
    tn_buffer_free(expected);
    assert_true(same);
}
