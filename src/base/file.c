#include "base/file.h"

#include "base/interrupt.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { READ_AT_ONCE = 65536, READ_ATTEMPTS = 100, POLL_MS = 100 };

/* Waits until a pipe or a terminal has something to read or has ended; a signal ends the wait. */
static tn_status wait_for_bytes(int file, const char *path, tn_error *error) {
    struct pollfd reading = {.fd = file, .events = POLLIN};
    for (;;) {
        int ready = poll(&reading, 1, POLL_MS);
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted while reading %s", path);
        if (ready > 0) return TN_OK;
        if (ready < 0 && errno != EINTR) return tn_fail_reading(error, path, errno, "can't be read");
    }
}

/* *got = 0 at the end. */
static tn_status read_some(int file, bool waits, const char *path, char *bytes, size_t room, size_t *got,
                           tn_error *error) {
    for (int attempt = 0;; attempt++) {
        if (waits) TN_TRY(wait_for_bytes(file, path, error));
        ssize_t count = read(file, bytes, room);
        if (count >= 0) {
            *got = (size_t)count;
            return TN_OK;
        }
        bool again = errno == EINTR || (waits && errno == EAGAIN);
        if (!again || attempt == READ_ATTEMPTS) return tn_fail_reading(error, path, errno, "can't be read");
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted while reading %s", path);
    }
}

static tn_status read_all(int file, const char *path, size_t limit_bytes, char **bytes, size_t *used,
                          tn_error *error) {
    struct stat about;
    size_t capacity = 0, got = 1;
    if (fstat(file, &about) != 0) return tn_fail_reading(error, path, errno, "can't be read");
    while (got) {
        TN_TRY(tn_grow(bytes, &capacity, *used + READ_AT_ONCE + 1, 1, error));
        TN_TRY(read_some(file, !S_ISREG(about.st_mode), path, *bytes + *used, capacity - *used - 1, &got,
                         error));
        *used += got;
        if (*used > limit_bytes)
            return tn_fail_at(error, TN_LIMIT, (tn_position){.file = path},
                              "is larger than %zu bytes, the limit for this kind of file", limit_bytes);
    }
    return TN_OK;
}

/* O_NONBLOCK: opening a named pipe must not wait for a writer where no signal reaches it. */
tn_status tn_file_read(const char *path, size_t limit_bytes, char **data, size_t *length, tn_error *error) {
    char *bytes = NULL;
    size_t used = 0;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return tn_fail_reading(error, path, errno, "can't be opened");
    tn_status status = read_all(file, path, limit_bytes, &bytes, &used, error);
    close(file);
    if (status != TN_OK) {
        tn_free(bytes);
        return status;
    }
    bytes[used] = '\0';
    *data = bytes;
    *length = used;
    return TN_OK;
}

/* ---- temporaries
 *
 * A file is written as FOLDER/.NAME.RANDOM.tmp and renamed over NAME. Names are made with O_EXCL and O_NOFOLLOW,
 * so that a link laid in the folder is never followed. The writer holds a lock on its temporary; one that
 * nobody holds was left by a process that died, and the next writer of NAME removes it.
 */

enum { NAME_KEPT = 200, RANDOM_DIGITS = 12 };

/* The start of all temporaries of `name`; long names are cut so that the system still takes them. */
static void temporary_prefix(const char *name, char prefix[NAME_KEPT + 3]) {
    snprintf(prefix, NAME_KEPT + 3, ".%.*s.", NAME_KEPT, name);
}

static bool is_temporary(const char *entry, const char *prefix) {
    size_t start = strlen(prefix);
    return strncmp(entry, prefix, start) == 0 && strlen(entry) == start + RANDOM_DIGITS + strlen(".tmp") &&
           strcmp(entry + start + RANDOM_DIGITS, ".tmp") == 0;
}

static void remove_stale(int folder, const char *prefix) {
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (!list) {
        if (copy >= 0) close(copy);
        return; /* stale files are litter, not a reason to write nothing */
    }
    for (const struct dirent *entry; (entry = readdir(list));) {
        if (!is_temporary(entry->d_name, prefix)) continue;
        int file = openat(folder, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file < 0) continue;
        if (flock(file, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, entry->d_name, 0);
        close(file);
    }
    closedir(list);
}

static int random_name(const char *prefix, char *name, size_t capacity) {
    uint64_t number = 0;
    ssize_t got;
    do got = getrandom(&number, sizeof number, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof number) return -1;
    snprintf(name, capacity, "%s%0*" PRIx64 ".tmp", prefix, RANDOM_DIGITS,
             number >> (64 - 4 * RANDOM_DIGITS));
    return 0;
}

/* A new file of the writer's own, locked; -1 with errno. */
static int make_temporary(tn_file_writer *writer, const char *prefix) {
    for (int attempt = 0; attempt < 100; attempt++) {
        if (random_name(prefix, writer->temporary, sizeof writer->temporary) != 0) return -1;
        int file = openat(writer->folder, writer->temporary,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file < 0 && errno == EEXIST) continue;
        if (file < 0) return -1;
        struct stat about;
        /* Without locks (some network file systems) nothing is taken for stale either. Between making the
         * file and locking it another writer may have removed it as stale: then once more. */
        if (flock(file, LOCK_EX) != 0 || fstat(file, &about) != 0 || about.st_nlink > 0) return file;
        close(file);
    }
    errno = EEXIST;
    return -1;
}

static void close_writer(tn_file_writer *writer) {
    if (writer->stream) fclose(writer->stream);
    if (writer->folder >= 0) close(writer->folder);
    tn_free(writer->path);
    *writer = (tn_file_writer){.folder = -1};
}

/* What a rename must not replace: a folder, a device, a pipe. */
static tn_status check_target(const char *path, tn_error *error) {
    struct stat about;
    if (stat(path, &about) != 0 || S_ISREG(about.st_mode)) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = path}, "is no regular file; give another name");
}

static tn_status open_writer(tn_file_writer *writer, const char *path, tn_error *error) {
    char prefix[NAME_KEPT + 3];
    TN_TRY(check_target(path, error));
    TN_TRY(tn_copy_text(path, &writer->path, error));
    char *slash = strrchr(writer->path, '/');
    writer->name = slash ? slash + 1 : writer->path;
    if (slash) *slash = '\0';
    const char *folder = !slash ? "." : slash == writer->path ? "/" : writer->path;
    writer->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = errno;
    if (slash) *slash = '/';
    if (writer->folder < 0) return tn_fail_system(error, path, failed, "can't be written");
    if (strlen(writer->name) > NAME_MAX)
        return tn_fail(error, TN_LIMIT, "a file name of %zu bytes; at most %d are possible",
                       strlen(writer->name), NAME_MAX);
    temporary_prefix(writer->name, prefix);
    remove_stale(writer->folder, prefix);
    int file = make_temporary(writer, prefix);
    if (file < 0) return tn_fail_system(error, path, errno, "can't be written");
    writer->stream = fdopen(file, "wb");
    if (writer->stream) return TN_OK;
    failed = errno;
    unlinkat(writer->folder, writer->temporary, 0);
    close(file);
    return tn_fail_system(error, path, failed, "can't be written");
}

tn_status tn_file_open(tn_file_writer *writer, const char *path, tn_error *error) {
    *writer = (tn_file_writer){.folder = -1};
    tn_status status = open_writer(writer, path, error);
    if (status != TN_OK) close_writer(writer);
    return status;
}

tn_status tn_file_commit(tn_file_writer *writer, tn_error *error) {
    int failed = ferror(writer->stream) ? EIO : 0;
    if (fflush(writer->stream) != 0 || (!failed && fsync(fileno(writer->stream)) != 0)) failed = errno;
    /* Renamed while the lock is held, so that nobody takes the file for stale. */
    if (!failed && renameat(writer->folder, writer->temporary, writer->folder, writer->name) != 0)
        failed = errno;
    if (failed)
        unlinkat(writer->folder, writer->temporary, 0);
    else
        fsync(writer->folder);
    tn_status status = failed ? tn_fail_system(error, writer->path, failed, "can't be written") : TN_OK;
    close_writer(writer);
    return status;
}

void tn_file_abandon(tn_file_writer *writer) {
    if (!writer->stream) return;
    unlinkat(writer->folder, writer->temporary, 0);
    close_writer(writer);
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

bool tn_is_folder(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static tn_status make_folders(char *path, size_t length, tn_error *error) {
    for (size_t i = 1; i <= length; i++) {
        char end = path[i];
        if (end != '/' && end != '\0') continue;
        path[i] = '\0';
        int failed = mkdir(path, 0777) != 0 && errno != EEXIST ? errno : 0;
        path[i] = end;
        if (failed) return tn_fail_system(error, path, failed, "folder can't be made");
    }
    if (!tn_is_folder(path))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = path}, "is a file; a folder is needed");
    return TN_OK;
}

tn_status tn_folder_make(const char *path, tn_error *error) {
    char *partial;
    if (!*path) return tn_fail(error, TN_INPUT, "an empty folder name; give the folder's path");
    TN_TRY(tn_copy_text(path, &partial, error));
    tn_status status = make_folders(partial, strlen(partial), error);
    tn_free(partial);
    return status;
}

/* The process that the file names, 0 if it names none. */
static long holder(int file) {
    char text[32];
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = '\0';
    long process = strtol(text, NULL, 10);
    return process > 0 ? process : 0;
}

/* The holder writes its number just after it took the lock: an old or missing number is looked at again. */
static long living_holder(int file) {
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int attempt = 0; attempt < 20; attempt++) {
        long process = holder(file);
        if (process && (kill((pid_t)process, 0) == 0 || errno == EPERM)) return process;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static tn_status refuse(int file, const char *path, tn_error *error) {
    const tn_position position = {.file = path};
    long process = living_holder(file);
    if (!process)
        return tn_fail_at(error, TN_IO, position,
                          "another process writes in this folder; wait until it has ended");
    return tn_fail_at(error, TN_IO, position, "process %ld writes in this folder; wait until it has ended",
                      process);
}

static tn_status lock_file(int file, int kind, const char *path, tn_error *error) {
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = path},
                          "its lock is no regular file; remove it");
    int failed;
    do failed = flock(file, kind | LOCK_NB) == 0 ? 0 : errno;
    while (failed == EINTR);
    if (failed == EWOULDBLOCK) return refuse(file, path, error);
    return failed ? tn_fail_system(error, path, failed, "can't be locked") : TN_OK;
}

tn_status tn_lock_take(int folder, const char *name, const char *path, tn_lock *lock, tn_error *error) {
    char text[32];
    *lock = (tn_lock){-1};
    int file = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0) return tn_fail_system(error, path, errno, "can't be locked");
    tn_status status = lock_file(file, LOCK_EX, path, error);
    int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (status == TN_OK && (ftruncate(file, 0) != 0 || pwrite(file, text, (size_t)length, 0) != length))
        status = tn_fail_system(error, path, errno, "its lock can't be written");
    if (status == TN_OK)
        lock->descriptor = file;
    else
        close(file);
    return status;
}

tn_status tn_lock_share(int folder, const char *name, const char *path, tn_lock *lock, tn_error *error) {
    *lock = (tn_lock){-1};
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return TN_OK;
    if (file < 0) return tn_fail_system(error, path, errno, "its lock can't be read");
    tn_status status = lock_file(file, LOCK_SH, path, error);
    if (status == TN_OK)
        lock->descriptor = file;
    else
        close(file);
    return status;
}

void tn_lock_release(tn_lock *lock) {
    if (lock->descriptor >= 0) close(lock->descriptor);
    lock->descriptor = -1;
}

static const char folder_lock[] = ".lock";

/* A lock that its holder has removed in the meantime holds nothing: the next one is made. */
static tn_status take_linked(int folder, const char *path, tn_lock *lock, tn_error *error) {
    struct stat about;
    for (;;) {
        TN_TRY(tn_lock_take(folder, folder_lock, path, lock, error));
        if (fstat(lock->descriptor, &about) == 0 && about.st_nlink > 0) return TN_OK;
        tn_lock_release(lock);
    }
}

tn_status tn_folder_lock(const char *path, tn_locked_folder *locked, tn_error *error) {
    struct stat about;
    *locked = (tn_locked_folder){.made = stat(path, &about) != 0};
    TN_TRY(tn_folder_make(path, error));
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return tn_fail_system(error, path, errno, "can't be written");
    tn_status status = take_linked(folder, path, &locked->lock, error);
    if (status == TN_OK) status = tn_copy_text(path, &locked->path, error);
    locked->folder = folder;
    if (status != TN_OK) {
        tn_lock_release(&locked->lock);
        close(folder);
        *locked = (tn_locked_folder){0};
    }
    return status;
}

bool tn_folder_unlock(tn_locked_folder *locked) {
    if (!locked->path) return false;
    unlinkat(locked->folder, folder_lock, 0);
    bool removed = locked->made && rmdir(locked->path) == 0;
    tn_lock_release(&locked->lock);
    close(locked->folder);
    tn_free(locked->path);
    *locked = (tn_locked_folder){0};
    return !removed;
}
