/* Every relative link of README.md and of the pages in docs/ leads to a file. */
#include "base/file.h"
#include "base/memory.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Broken links of one page, each named on standard error; *links counts all. */
static int broken_links(const char *folder, const char *name, int *links) {
    char path[1024], target[2200];
    char *text;
    size_t length;
    int broken = 0;
    snprintf(path, sizeof path, "%s%s", folder, name);
    assert_int_equal(tn_file_read(test_source(path), 1 << 24, &text, &length, NULL), TN_OK);
    for (char *cursor = text; (cursor = strstr(cursor, "](")); cursor += 2) {
        size_t size = strcspn(cursor + 2, ")#");
        if (size == 0 || strncmp(cursor + 2, "http", 4) == 0) continue;
        snprintf(target, sizeof target, "%s%.*s", folder, (int)size, cursor + 2);
        ++*links;
        if (access(test_source(target), R_OK) == 0) continue;
        print_error("%s: link to %s leads nowhere\n", path, target);
        broken++;
    }
    tn_free(text);
    return broken;
}

static void every_link_leads_somewhere(void **state) {
    (void)state;
    int links = 0, broken = broken_links("", "README.md", &links);
    DIR *pages = opendir(test_source("docs"));
    assert_non_null(pages);
    for (const struct dirent *page; (page = readdir(pages));)
        if (strstr(page->d_name, ".md")) broken += broken_links("docs/", page->d_name, &links);
    closedir(pages);
    print_message("%d links\n", links);
    assert_true(links > 10);
    assert_int_equal(broken, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_link_leads_somewhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
