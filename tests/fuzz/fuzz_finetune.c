/* Any bytes as a table of measured throughput: refused with an error, or data. */
#include "fit/finetune_data.h"
#include "named_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_finetune_data table;
    tn_error error;
    tn_finetune_load(named_file(data, size), &arena, &table, &error);
    tn_arena_free(&arena);
    return 0;
}
