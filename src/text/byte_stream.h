/* A span of a byte source read from front to back: as it stands or inflated (RFC 1951, by zlib), its CRC-32
 * checked where the span has one and is read whole.
 *
 * Inflating stops at span->bytes, whatever more the compressed data would give. */
#ifndef TN_TEXT_BYTE_STREAM_H
#define TN_TEXT_BYTE_STREAM_H

#include "text/byte_source.h"

#include <stdbool.h>
#include <zlib.h>

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
