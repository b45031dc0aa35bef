#include "base/big.h"

#include "base/checked.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIMB = 1000000000 };

tn_big tn_big_of(uint64_t value) {
    tn_big number = {0};
    for (; value; value /= LIMB) number.limb[number.limbs++] = (uint32_t)(value % LIMB);
    return number;
}

bool tn_big_multiply(tn_big *number, uint32_t factor) {
    tn_big made = {0};
    uint64_t carry = 0;
    for (size_t i = 0; i < number->limbs || carry; i++) {
        if (i == TN_BIG_LIMBS) return false;
        if (i < number->limbs) carry += (uint64_t)number->limb[i] * factor;
        made.limb[i] = (uint32_t)(carry % LIMB);
        carry /= LIMB;
        made.limbs = i + 1;
    }
    *number = factor ? made : (tn_big){0};
    return true;
}

bool tn_big_count(const tn_big *number, uint64_t *value) {
    *value = 0;
    for (size_t i = number->limbs; i-- > 0;) {
        uint64_t above = *value;
        *value = number->limb[i];
        if (!tn_mul_add(above, LIMB, value)) return false;
    }
    return true;
}

const char *tn_big_text(const tn_big *number, char text[TN_BIG_TEXT]) {
    size_t index = 0;
    if (number->limbs == 0) return strcpy(text, "0");
    for (size_t i = number->limbs; i-- > 0;)
        index += (size_t)snprintf(text + index, TN_BIG_TEXT - index,
                                  i + 1 == number->limbs ? "%" PRIu32 : "%09" PRIu32, number->limb[i]);
    return text;
}

const char *tn_big_brief(const tn_big *number, char text[TN_BIG_TEXT]) {
    tn_big_text(number, text);
    size_t digits = strlen(text), power = digits - 1;
    if (digits <= 3) return text;
    unsigned lead = (unsigned)(text[0] - '0') * 10 + (unsigned)(text[1] - '0') + (text[2] >= '5');
    if (lead == 100) {
        lead = 10;
        power++;
    }
    snprintf(text, TN_BIG_TEXT, "%u.%ue%zu", lead / 10, lead % 10, power);
    return text;
}
