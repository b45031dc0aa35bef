/* Wide numbers of generated sources: bits put one behind the other, least significant first. */
#ifndef TN_RTL_BITS_H
#define TN_RTL_BITS_H

#include "base/buffer.h"

#include <stdint.h>

typedef struct tn_rtl_bits {
    uint8_t *byte;
    size_t bits, capacity; /* capacity in bytes */
    tn_status status;      /* the first failure; what is put afterwards is lost */
} tn_rtl_bits;

/* Appends the low `width` bits of `value`, zeros beyond its 64. */
void tn_rtl_bits_put(tn_rtl_bits *bits, uint64_t value, uint64_t width);

/* In hexadecimal digits, most significant first; a failure of the bits becomes one of `out`. Frees them. */
void tn_rtl_bits_hex(tn_rtl_bits *source, tn_buffer *out);

/* As a literal of SystemVerilog: 12'h0a5. Frees them. */
void tn_rtl_bits_literal(tn_rtl_bits *source, tn_buffer *out);

/* Bits that tell so many values apart, at least 1. */
static inline uint64_t tn_rtl_bits_for(uint64_t values) {
    uint64_t bits = 1;
    while (bits < 63 && (UINT64_C(1) << bits) < values) bits++;
    return bits;
}

#endif
