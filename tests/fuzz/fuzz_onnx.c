/* Any bytes as an ONNX file: refused with an error, or a graph whose constants are arrays, and whose layers are a model file or
 * an error. */
#include "arrays.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "ranks/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arrays *arrays;
    tn_arena arena = {0};
    tn_buffer out = {0};
    tn_import import;
    tn_error error;
    const tn_import_options options = {.name = "fuzz", .rank = 4};
    if (tn_arrays_open_memory("fuzz.onnx", data, size, &arrays, &error) != TN_OK) return 0;
    (void)tn_import_model(arrays, "fuzz.onnx", &options, &arena, &import, &out, &error);
    tn_buffer_free(&out);
    tn_arena_free(&arena);
    tn_arrays_close(arrays);
    return check_arrays(data, size);
}
