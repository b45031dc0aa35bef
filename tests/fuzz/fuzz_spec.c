/* Any text as a weight's specification: refused with an error, or a sound weight. */
#include "tensor/folding.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tn_weight weight;
    uint64_t tokens;
    tn_error error;
    char *text = calloc(size + 1, 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    tn_status status = tn_spec_parse(text, (tn_position){"fuzz", 1, 1}, &weight, &tokens, &error);
    if (status == TN_OK && tn_weight_check(&weight, &error) != TN_OK) abort();
    free(text);
    return 0;
}
