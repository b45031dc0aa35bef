/* The page of the space file says what the code reads. */
#include "results/claims.h"
#include "space/space.h"
#include "support/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void keys_of_the_space_file(void **state) {
    tn_buffer keys = {0};
    (void)state;
    tn_space_document(&keys);
    test_page("space-file.md", "schema", &keys);
    tn_buffer_free(&keys);
}

static void quantities(void **state) {
    tn_buffer rows = {0};
    (void)state;
    for (size_t i = 0; i < tn_quantities_count; i++)
        tn_buffer_format(&rows, "| `%s` | %s |\n", tn_quantities[i].name, tn_quantities[i].help);
    test_page("space-file.md", "quantities", &rows);
    tn_buffer_free(&rows);
}

static void keys_of_the_claims_file(void **state) {
    tn_buffer keys = {0};
    (void)state;
    tn_schema_document(&tn_claims_schema, &keys);
    test_page("compare.md", "schema", &keys);
    tn_buffer_free(&keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_the_space_file),
        cmocka_unit_test(quantities),
        cmocka_unit_test(keys_of_the_claims_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
