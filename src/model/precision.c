#include "model/precision.h"

#include "text/number.h"

#include <stddef.h>
#include <string.h>

const char *const tn_precision_names[] = {"fp32", "fp16", "bf16", "int8", NULL};

uint64_t tn_precision_bytes(tn_precision precision) {
    static const uint64_t bytes[TN_PRECISIONS] = {4, 2, 2, 1};
    return bytes[precision];
}

static bool read_part(const char *text, size_t length, uint64_t *part) {
    char digits[24];
    if (length == 0 || length >= sizeof digits) return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return strspn(digits, "0123456789") == length && tn_read_count(digits, part) == TN_NUMBER_OK && *part > 0;
}

static bool read_block(const char *text, tn_arithmetic *arithmetic) {
    uint64_t *const part[] = {&arithmetic->group, &arithmetic->exponent_bits, &arithmetic->mantissa_bits};
    for (int i = 0; i < 3; i++) {
        size_t length = strcspn(text, ",");
        if (!read_part(text, length, part[i]) || (text[length] == '\0') != (i == 2)) return false;
        text += length + 1;
    }
    return true;
}

bool tn_arithmetic_read(const char *text, tn_arithmetic *arithmetic) {
    tn_arithmetic read = {.precision = TN_FP32};
    bool known = strncmp(text, "bfp", 3) == 0 && read_block(text + 3, &read);
    for (int i = 0; i < TN_PRECISIONS && !known; i++) {
        known = strcmp(text, tn_precision_names[i]) == 0;
        read.precision = (tn_precision)i;
    }
    if (known) *arithmetic = read;
    return known;
}
