/* The page on rooflines says which keys the code reads. */
#include "roofline/roofline.h"
#include "support/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void keys_of_the_device_file(void **state) {
    tn_buffer keys = {0};
    (void)state;
    tn_schema_document(&tn_roofline_device_schema, &keys);
    test_page("model-roofline.md", "schema", &keys);
    tn_buffer_free(&keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_of_the_device_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
