/* The bytes of an input that is read here and there: a regular file or a piece of memory. Nothing is believed
 * about its size but what the system says. */
#ifndef TN_TEXT_BYTE_SOURCE_H
#define TN_TEXT_BYTE_SOURCE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_byte_source {
    const char *file; /* for messages; belongs to the caller */
    const unsigned char *memory;
    int descriptor; /* used where memory is NULL */
    uint64_t size_bytes;
} tn_byte_source;

tn_status tn_byte_source_open(const char *path, tn_byte_source *source, tn_error *error);
/* `bytes` stay the caller's and must outlive the source. */
void tn_byte_source_memory(const char *name, const void *bytes, size_t length, tn_byte_source *source);
void tn_byte_source_close(tn_byte_source *source);

/* bytes[length] from `offset` on; an error where the source ends before. */
tn_status tn_byte_source_read(const tn_byte_source *source, uint64_t offset, void *bytes, size_t length,
                              tn_error *error);

/* TN_INPUT with the source's file as its place. */
tn_status tn_byte_source_fail(const tn_byte_source *source, tn_error *error, const char *format, ...)
    TN_PRINTF(3, 4);

/* Little-endian numbers. */
static inline uint32_t tn_get_u16(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static inline uint32_t tn_get_u32(const unsigned char *bytes) {
    return tn_get_u16(bytes) | tn_get_u16(bytes + 2) << 16;
}

static inline uint64_t tn_get_u64(const unsigned char *bytes) {
    return tn_get_u32(bytes) | (uint64_t)tn_get_u32(bytes + 4) << 32;
}

#endif
