#include "rtl/bits.h"

#include "base/memory.h"

void tn_rtl_bits_put(tn_rtl_bits *bits, uint64_t value, uint64_t width) {
    if (bits->status == TN_OK)
        bits->status = tn_grow(&bits->byte, &bits->capacity, (bits->bits + width) / 8 + 1, 1, NULL);
    if (bits->status != TN_OK) return;
    for (uint64_t i = 0; i < width; i++, bits->bits++) {
        uint8_t mask = (uint8_t)(1 << bits->bits % 8);
        if (i < 64 && value >> i & 1)
            bits->byte[bits->bits / 8] |= mask;
        else
            bits->byte[bits->bits / 8] &= (uint8_t)~mask;
    }
}

void tn_rtl_bits_hex(tn_rtl_bits *source, tn_buffer *out) {
    if (source->status != TN_OK) out->status = source->status;
    size_t rest = source->bits % 4;
    if (rest > 0) tn_rtl_bits_put(source, 0, 4 - rest);
    for (size_t i = source->bits / 4; i-- > 0 && source->status == TN_OK;)
        tn_buffer_format(out, "%x", source->byte[i / 2] >> (i % 2 * 4) & 15);
    tn_free(source->byte);
    *source = (tn_rtl_bits){0};
}

void tn_rtl_bits_literal(tn_rtl_bits *source, tn_buffer *out) {
    tn_buffer_format(out, "%zu'h", source->bits);
    tn_rtl_bits_hex(source, out);
}
