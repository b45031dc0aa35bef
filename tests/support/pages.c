#include "support/pages.h"

#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_buffer read_page(const char *path) {
    tn_buffer page = {0};
    char chunk[4096];
    FILE *stream = fopen(path, "r");
    if (!stream) fail_msg("%s can't be read", path);
    for (size_t length; (length = fread(chunk, 1, sizeof chunk, stream)) > 0;)
        tn_buffer_bytes(&page, chunk, length);
    fclose(stream);
    assert_int_equal(page.status, TN_OK);
    return page;
}

static void write_page(const char *path, const tn_buffer *page, const char *begin, const char *end,
                       const tn_buffer *text) {
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fwrite(page->data, 1, (size_t)(begin - page->data), stream);
    fwrite(text->data, 1, text->length, stream);
    fputs(end, stream);
    assert_int_equal(fclose(stream), 0);
}

void test_page(const char *name, const char *mark, const tn_buffer *text) {
    char path[256], opening[128], closing[128];
    assert_int_equal(text->status, TN_OK);
    snprintf(path, sizeof path, "docs/%s", name);
    snprintf(opening, sizeof opening, "<!-- %s -->\n", mark);
    snprintf(closing, sizeof closing, "<!-- end of %s -->", mark);
    const char *file = test_source(path);
    tn_buffer page = read_page(file);
    const char *begin = strstr(page.data, opening);
    if (!begin) fail_msg("%s has no mark %s", path, opening);
    begin += strlen(opening);
    const char *end = strstr(begin, closing);
    if (!end) fail_msg("%s has no mark %s", path, closing);
    if (getenv("TENFOLD_WRITE_PAGES")) {
        write_page(file, &page, begin, end, text);
    } else if ((size_t)(end - begin) != text->length || memcmp(begin, text->data, text->length) != 0) {
        fail_msg("%s: what stands at \"%s\" is not what the program says; run this test with "
                 "TENFOLD_WRITE_PAGES=1",
                 path, mark);
    }
    tn_buffer_free(&page);
}
