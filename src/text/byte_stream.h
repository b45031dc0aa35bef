/* A span of a byte source read from front to back: as it stands or inflated (RFC 1951, by zlib), its CRC-32
 * checked where the span has one and is read whole.
 *
 * Inflating stops at span->bytes, whatever more the compressed data would give. */
#ifndef TN_TEXT_BYTE_STREAM_H
#define TN_TEXT_BYTE_STREAM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* The bytes of an input that is read here and there: a regular file or a piece of memory. Nothing is believed
 * about its size but what the system says. */

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

typedef struct tn_byte_span {
    uint64_t offset;       /* in the source */
    uint64_t stored_bytes; /* there */
    uint64_t bytes;        /* as read; equal to stored_bytes unless deflated */
    bool deflated, has_crc;
    uint32_t crc;
} tn_byte_span;

enum { TN_STREAM_BUFFER = 32768 };

typedef struct tn_byte_stream {
    const tn_byte_source *source;
    tn_byte_span span;
    const char *name; /* of what is read, for messages */
    bool checking;    /* the CRC: every byte is read */
    uint64_t taken;   /* bytes handed out or skipped */
    uint64_t fetched; /* stored bytes taken from the source */
    uint32_t crc;
    z_stream inflater;
    size_t begin, end; /* of what `buffer` holds */
    unsigned char buffer[TN_STREAM_BUFFER];
} tn_byte_stream;

/* `whole`: everything will be read and then tn_byte_stream_finish called. */
tn_status tn_byte_stream_open(tn_byte_stream *stream, const tn_byte_source *source, const tn_byte_span *span,
                              const char *name, bool whole, tn_error *error);
void tn_byte_stream_close(tn_byte_stream *stream);

/* The next `length` bytes; an error where the span ends before. */
tn_status tn_byte_stream_read(tn_byte_stream *stream, void *bytes, size_t length, tn_error *error);
tn_status tn_byte_stream_skip(tn_byte_stream *stream, uint64_t bytes, tn_error *error);
/* Everything was read: is the span at its end, and its CRC right? */
tn_status tn_byte_stream_finish(tn_byte_stream *stream, tn_error *error);

#endif
