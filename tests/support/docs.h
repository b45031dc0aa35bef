/* Parts of the pages in docs/ that follow from the code: they stand between "<!-- MARK -->" and "<!-- end of
 * MARK -->", and a test holds them to what the code says. With TENFOLD_WRITE_DOCS=1 in the environment they
 * are written instead. */
#ifndef TEST_SUPPORT_DOCS_H
#define TEST_SUPPORT_DOCS_H

#include "base/buffer.h"

/* Asserts that the marked part of the page (a path in the source tree) is `expected`; frees `expected`. */
void test_docs_part(const char *page, const char *mark, tn_buffer *expected);

#endif
