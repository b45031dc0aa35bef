#include "text/byte_stream.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INTERRUPTIONS_MOST = 100 };

tn_status tn_byte_source_fail(const tn_byte_source *source, tn_error *error, const char *format, ...) {
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = source->file}, "%s", message);
}

tn_status tn_byte_source_open(const char *path, tn_byte_source *source, tn_error *error) {
    struct stat about;
    *source = (tn_byte_source){.file = path, .descriptor = -1};
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return tn_fail_reading(error, path, errno, "can't be opened");
    if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
        close(descriptor);
        return tn_byte_source_fail(source, error, "is not a regular file; a file of arrays is needed");
    }
    source->descriptor = descriptor;
    source->size_bytes = (uint64_t)about.st_size;
    return TN_OK;
}

void tn_byte_source_memory(const char *name, const void *bytes, size_t length, tn_byte_source *source) {
    *source = (tn_byte_source){.file = name, .memory = bytes, .descriptor = -1, .size_bytes = length};
}

void tn_byte_source_close(tn_byte_source *source) {
    if (source->descriptor >= 0) close(source->descriptor);
    source->descriptor = -1;
}

static tn_status too_short(const tn_byte_source *source, uint64_t offset, size_t length, tn_error *error) {
    return tn_byte_source_fail(source, error,
                               "ends after %" PRIu64 " bytes; %zu bytes from byte %" PRIu64
                               " on are needed: the file is truncated or damaged",
                               source->size_bytes, length, offset);
}

tn_status tn_byte_source_read(const tn_byte_source *source, uint64_t offset, void *bytes, size_t length,
                              tn_error *error) {
    if (offset > source->size_bytes || length > source->size_bytes - offset)
        return too_short(source, offset, length, error);
    if (source->memory) {
        if (length) memcpy(bytes, source->memory + offset, length);
        return TN_OK;
    }
    int interruptions = 0;
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(source->descriptor, (char *)bytes + done, length - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR && interruptions++ < INTERRUPTIONS_MOST) continue;
        if (got < 0) return tn_fail_reading(error, source->file, errno, "can't be read");
        if (got == 0) return too_short(source, offset, length, error);
        done += (size_t)got;
    }
    return TN_OK;
}

/* zlib's memory comes from where all memory comes from. */
static void *allocate(void *user, unsigned items, unsigned size) {
    void *memory = NULL;
    (void)user;
    return tn_alloc(items, size, &memory, NULL) == TN_OK ? memory : NULL;
}

static void release(void *user, void *memory) {
    (void)user;
    tn_free(memory);
}

tn_status tn_byte_stream_open(tn_byte_stream *stream, const tn_byte_source *source, const tn_byte_span *span,
                              const char *name, bool whole, tn_error *error) {
    stream->source = source;
    stream->span = *span;
    stream->name = name;
    stream->checking = whole && span->has_crc;
    stream->taken = stream->fetched = 0;
    stream->begin = stream->end = 0;
    stream->crc = (uint32_t)crc32(0, NULL, 0);
    if (!span->deflated) return TN_OK;
    stream->inflater = (z_stream){.zalloc = allocate, .zfree = release};
    if (inflateInit2(&stream->inflater, -MAX_WBITS) != Z_OK)
        return tn_fail(error, TN_MEMORY, "no memory to inflate %s", name);
    return TN_OK;
}

void tn_byte_stream_close(tn_byte_stream *stream) {
    if (stream->span.deflated) inflateEnd(&stream->inflater);
}

static tn_status fill_buffer(tn_byte_stream *stream, tn_error *error) {
    uint64_t left = stream->span.stored_bytes - stream->fetched;
    size_t length = left < TN_STREAM_BUFFER ? (size_t)left : TN_STREAM_BUFFER;
    TN_TRY(tn_byte_source_read(stream->source, stream->span.offset + stream->fetched, stream->buffer, length,
                               error));
    stream->fetched += length;
    stream->begin = 0;
    stream->end = length;
    return TN_OK;
}

static tn_status read_stored(tn_byte_stream *stream, unsigned char *bytes, size_t length, tn_error *error) {
    while (length > 0) {
        if (stream->begin == stream->end) TN_TRY(fill_buffer(stream, error));
        size_t piece = stream->end - stream->begin < length ? stream->end - stream->begin : length;
        memcpy(bytes, stream->buffer + stream->begin, piece);
        stream->begin += piece;
        bytes += piece;
        length -= piece;
    }
    return TN_OK;
}

static tn_status damaged(const tn_byte_stream *stream, const char *how, tn_error *error) {
    return tn_byte_source_fail(stream->source, error,
                               "\"%.100s\": the compressed data %s: the file is damaged", stream->name, how);
}

/* One call of inflate for at most `length` bytes; *ended after the last byte. */
static tn_status inflate_some(tn_byte_stream *stream, unsigned char *bytes, size_t length, size_t *got,
                              bool *ended, tn_error *error) {
    z_stream *z = &stream->inflater;
    if (stream->begin == stream->end && stream->fetched < stream->span.stored_bytes)
        TN_TRY(fill_buffer(stream, error));
    z->next_in = stream->buffer + stream->begin;
    z->avail_in = (unsigned)(stream->end - stream->begin);
    z->next_out = bytes;
    z->avail_out = (unsigned)length;
    int result = inflate(z, Z_NO_FLUSH);
    stream->begin = stream->end - z->avail_in;
    *got = length - z->avail_out;
    *ended = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR) return tn_fail(error, TN_MEMORY, "no memory to inflate %s", stream->name);
    if (result == Z_BUF_ERROR) return damaged(stream, "ends too early", error);
    if (result != Z_OK && result != Z_STREAM_END) return damaged(stream, "is not a deflate stream", error);
    return TN_OK;
}

static tn_status read_deflated(tn_byte_stream *stream, unsigned char *bytes, size_t length, tn_error *error) {
    while (length > 0) {
        size_t got, piece = length < TN_STREAM_BUFFER ? length : TN_STREAM_BUFFER;
        bool ended;
        TN_TRY(inflate_some(stream, bytes, piece, &got, &ended, error));
        bytes += got;
        length -= got;
        if (ended && length > 0) return damaged(stream, "ends too early", error);
    }
    return TN_OK;
}

tn_status tn_byte_stream_read(tn_byte_stream *stream, void *bytes, size_t length, tn_error *error) {
    if (length > stream->span.bytes - stream->taken)
        return tn_byte_source_fail(stream->source, error,
                                   "\"%.100s\" ends after %" PRIu64 " bytes; %zu bytes from byte %" PRIu64
                                   " on are needed: it is truncated or damaged",
                                   stream->name, stream->span.bytes, length, stream->taken);
    TN_TRY(stream->span.deflated ? read_deflated(stream, bytes, length, error)
                                 : read_stored(stream, bytes, length, error));
    if (stream->checking)
        for (size_t done = 0; done < length; done += TN_STREAM_BUFFER) {
            size_t piece = length - done < TN_STREAM_BUFFER ? length - done : TN_STREAM_BUFFER;
            stream->crc = (uint32_t)crc32(stream->crc, (const unsigned char *)bytes + done, (unsigned)piece);
        }
    stream->taken += length;
    return TN_OK;
}

/* Stored bytes whose CRC nobody asks for are passed over unread. */
static void jump(tn_byte_stream *stream, uint64_t bytes) {
    uint64_t buffered = stream->end - stream->begin;
    stream->taken += bytes;
    if (bytes <= buffered) {
        stream->begin += (size_t)bytes;
        return;
    }
    stream->begin = stream->end = 0;
    stream->fetched += bytes - buffered;
}

tn_status tn_byte_stream_skip(tn_byte_stream *stream, uint64_t bytes, tn_error *error) {
    if (!stream->span.deflated && !stream->checking && bytes <= stream->span.bytes - stream->taken) {
        jump(stream, bytes);
        return TN_OK;
    }
    while (bytes > 0) {
        unsigned char scrap[4096];
        size_t piece = bytes < sizeof scrap ? (size_t)bytes : sizeof scrap;
        TN_TRY(tn_byte_stream_read(stream, scrap, piece, error));
        bytes -= piece;
    }
    return TN_OK;
}

tn_status tn_byte_stream_finish(tn_byte_stream *stream, tn_error *error) {
    if (stream->span.deflated) {
        unsigned char more;
        size_t got = 0;
        for (bool ended = false; !ended && got == 0;)
            TN_TRY(inflate_some(stream, &more, 1, &got, &ended, error));
        bool rest = stream->begin < stream->end || stream->fetched < stream->span.stored_bytes;
        if (got > 0) return damaged(stream, "gives more bytes than the directory says", error);
        if (rest) return damaged(stream, "ends before its place in the archive does", error);
    }
    if (stream->checking && stream->crc != stream->span.crc)
        return tn_byte_source_fail(stream->source, error,
                                   "\"%.100s\" has CRC %08" PRIx32 ", the directory says %08" PRIx32
                                   ": the file is damaged",
                                   stream->name, stream->crc, stream->span.crc);
    return TN_OK;
}
