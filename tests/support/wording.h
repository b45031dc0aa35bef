/* What people read speaks of titles and units. */
#ifndef TEST_SUPPORT_WORDING_H
#define TEST_SUPPORT_WORDING_H

#include <stddef.h>

/* Fails where a word of the text is a raw key (build.rows, on_chip_bytes) or a number over 9,999 without separator or prefix;
 * `where` says whose text it is. */
void test_wording(const char *text, const char *where);
/* Texts looked at so far. */
size_t test_wordings(void);

#endif
