/* Pages of docs/ hold tables that the program makes, between <!-- MARK --> and <!-- end of MARK -->. */
#ifndef TEST_SUPPORT_PAGES_H
#define TEST_SUPPORT_PAGES_H

#include "base/buffer.h"

/* Asserts that docs/NAME holds `text` between the marks. With TENFOLD_WRITE_PAGES=1 in the environment it
 * writes the text there instead. */
void test_page(const char *name, const char *mark, const tn_buffer *text);

#endif
