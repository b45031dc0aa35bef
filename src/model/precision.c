#include "model/precision.h"

#include <stddef.h>

const char *const tn_precision_names[] = {"fp32", "fp16", "bf16", "int8", NULL};

uint64_t tn_precision_bytes(tn_precision precision) {
    static const uint64_t bytes[TN_PRECISIONS] = {4, 2, 2, 1};
    return bytes[precision];
}
