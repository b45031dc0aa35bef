/* The pages of the language-model file and the GPU table say what the code reads. */
#include "finetune/gpu.h"
#include "finetune/language_model.h"
#include "support/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void page_of(const tn_schema *schema, const char *page) {
    tn_buffer keys = {0};
    tn_schema_document(schema, &keys);
    test_page(page, "schema", &keys);
    tn_buffer_free(&keys);
}

static void language_model_file(void **state) {
    (void)state;
    page_of(&tn_language_model_schema, "language-model-file.md");
}

static void gpu_table_file(void **state) {
    (void)state;
    page_of(&tn_gpu_table_schema, "gpu-table-file.md");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(language_model_file),
                                       cmocka_unit_test(gpu_table_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
