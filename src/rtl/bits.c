#include "rtl/bits.h"

#include "base/memory.h"

void tn_rtl_bits_put(tn_rtl_bits *to, uint64_t value, uint64_t width) {
    if (to->status == TN_OK)
        to->status = tn_grow(&to->byte, &to->capacity, (to->bits + width) / 8 + 1, 1, NULL);
    if (to->status != TN_OK) return;
    for (uint64_t i = 0; i < width; i++, to->bits++) {
        uint8_t mask = (uint8_t)(1 << to->bits % 8);
        if (i < 64 && value >> i & 1)
            to->byte[to->bits / 8] |= mask;
        else
            to->byte[to->bits / 8] &= (uint8_t)~mask;
    }
}

void tn_rtl_bits_hex(tn_rtl_bits *from, tn_buffer *out) {
    if (from->status != TN_OK) out->status = from->status;
    size_t rest = from->bits % 4;
    if (rest > 0) tn_rtl_bits_put(from, 0, 4 - rest);
    for (size_t i = from->bits / 4; i-- > 0 && from->status == TN_OK;)
        tn_buffer_format(out, "%x", from->byte[i / 2] >> (i % 2 * 4) & 15);
    tn_free(from->byte);
    *from = (tn_rtl_bits){0};
}

void tn_rtl_bits_literal(tn_rtl_bits *from, tn_buffer *out) {
    tn_buffer_format(out, "%zu'h", from->bits);
    tn_rtl_bits_hex(from, out);
}
