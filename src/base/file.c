#include "base/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tn_status tn_file_read(const char *path, size_t limit_bytes, char **data, size_t *length, tn_error *error) {
    const tn_position at = {.file = path};
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return tn_fail_at(error, errno == ENOMEM ? TN_MEMORY : TN_INPUT, at, "can't be opened: %s",
                          strerror(errno));
    char *bytes = NULL;
    size_t used = 0, capacity = 0;
    tn_status status = TN_OK;
    for (;;) {
        status = tn_grow(&bytes, &capacity, used + 65536 + 1, 1, error);
        if (status != TN_OK) break;
        size_t got = fread(bytes + used, 1, capacity - used - 1, stream);
        used += got;
        if (used > limit_bytes) {
            status = tn_fail_at(error, TN_LIMIT, at,
                                "is larger than %zu bytes, the limit for this kind of file", limit_bytes);
            break;
        }
        if (got == 0) {
            if (ferror(stream))
                status = tn_fail_at(error, TN_INPUT, at, "can't be read: %s", strerror(errno));
            break;
        }
    }
    fclose(stream);
    if (status != TN_OK) {
        tn_free(bytes);
        return status;
    }
    bytes[used] = '\0';
    *data = bytes;
    *length = used;
    return TN_OK;
}

tn_status tn_file_open(tn_file_writer *writer, const char *path, tn_error *error) {
    *writer = (tn_file_writer){0};
    if (strlen(path) >= sizeof writer->path)
        return tn_fail(error, TN_LIMIT, "path of %zu bytes; at most %zu are handled", strlen(path),
                       sizeof writer->path - 1);
    snprintf(writer->path, sizeof writer->path, "%s", path);
    snprintf(writer->temporary, sizeof writer->temporary, "%s.%ld.tmp", path, (long)getpid());
    writer->stream = fopen(writer->temporary, "wb");
    if (!writer->stream) return tn_fail_system(error, path, errno, "can't be written");
    return TN_OK;
}

static void sync_folder(const char *path) {
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
}

tn_status tn_file_commit(tn_file_writer *writer, tn_error *error) {
    int failed = ferror(writer->stream) ? EIO : 0;
    if (fflush(writer->stream) != 0 || (!failed && fsync(fileno(writer->stream)) != 0)) failed = errno;
    if (fclose(writer->stream) != 0 && !failed) failed = errno;
    writer->stream = NULL;
    if (!failed && rename(writer->temporary, writer->path) != 0) failed = errno;
    if (failed) {
        unlink(writer->temporary);
        return tn_fail_system(error, writer->path, failed, "can't be written");
    }
    sync_folder(writer->path);
    return TN_OK;
}

void tn_file_abandon(tn_file_writer *writer) {
    if (!writer->stream) return;
    fclose(writer->stream);
    writer->stream = NULL;
    unlink(writer->temporary);
}

tn_status tn_file_write(const char *path, const void *data, size_t length, tn_error *error) {
    tn_file_writer writer;
    TN_TRY(tn_file_open(&writer, path, error));
    if (length && fwrite(data, 1, length, writer.stream) != length) {
        int failed = errno;
        tn_file_abandon(&writer);
        return tn_fail_system(error, path, failed, "can't be written");
    }
    return tn_file_commit(&writer, error);
}

tn_status tn_file_write_buffer(const char *path, const tn_buffer *buffer, tn_error *error) {
    if (buffer->status != TN_OK)
        return tn_fail(error, buffer->status, "no memory for the contents of %s", path);
    return tn_file_write(path, buffer->data, buffer->length, error);
}

tn_status tn_folder_make(const char *path, tn_error *error) {
    char partial[1024];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof partial)
        return tn_fail(error, TN_INPUT, "folder name of %zu bytes; it must have 1 to %zu", length,
                       sizeof partial - 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(partial, path, i);
        partial[i] = '\0';
        if (mkdir(partial, 0777) != 0 && errno != EEXIST)
            return tn_fail_system(error, path, errno, "folder can't be made");
    }
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = path}, "is a file; a folder is needed");
    return TN_OK;
}
