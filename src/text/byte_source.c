#include "text/byte_source.h"

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
