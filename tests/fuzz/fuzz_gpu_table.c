/* Any bytes as a table of GPUs: refused with an error, or rows with positive figures. */
#include "finetune/gpu.h"
#include "named_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_gpu_table table;
    tn_error error;
    if (tn_gpu_table_load(named_file(data, size), &arena, &table, &error) == TN_OK)
        for (size_t i = 0; i < table.count; i++)
            if (!(table.gpu[i].memory_GB > 0 && table.gpu[i].peak_TFLOPS > 0)) abort();
    tn_arena_free(&arena);
    return 0;
}
