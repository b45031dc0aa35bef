/* Files: read whole with a limit, written whole or not at all. */
#ifndef TN_BASE_FILE_H
#define TN_BASE_FILE_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A lock that a process holds on a file, so that one writer at a time works in a folder. The system releases
 * it when the process ends, however it ends; the file stays, and says who holds it while somebody does. */

typedef struct tn_lock {
    int descriptor; /* -1: none is held */
} tn_lock;

/* Takes the lock `name` in the folder open as `folder`; made where it is missing, never through a link.
 * TN_IO that names the process where another one holds it, with `path`, the folder's, for the message. */
tn_status tn_lock_take(int folder, const char *name, const char *path, tn_lock *lock, tn_error *error);
/* As above for a reader: any number may read at once, none while somebody writes. Without such a file nobody
 * ever wrote, and nothing is locked. */
tn_status tn_lock_share(int folder, const char *name, const char *path, tn_lock *lock, tn_error *error);
void tn_lock_release(tn_lock *lock);

/* A folder that several files are written to, so that no other process writes there meanwhile. All zero: none. */
typedef struct tn_locked_folder {
    char *path; /* NULL: none is held */
    int folder;
    tn_lock lock;
    bool made; /* it was not there before */
} tn_locked_folder;

/* Makes the folder and its parents where they are missing, and takes the lock `.lock` in it: errors as of
 * tn_lock_take. */
tn_status tn_folder_lock(const char *path, tn_locked_folder *locked, tn_error *error);
/* Removes the lock, and the folder too where it was made for this and is empty. True if it still has files. */
bool tn_folder_unlock(tn_locked_folder *locked);

/* *data = the file's bytes with a NUL behind them (tn_free it), *length without the NUL. A missing or
 * unreadable file is TN_INPUT (the caller named it), a file over `limit_bytes` TN_LIMIT. */
tn_status tn_file_read(const char *path, size_t limit_bytes, char **data, size_t *length, tn_error *error);

/* A file being written beside its final place: open, write to `stream`, then commit (flush, sync, rename over
 * the old file) or abandon (remove); both free the writer. Until commit the old file is untouched. After a
 * crash only a temporary .NAME.*.tmp is left, which the next writer of the same file removes. A target that is
 * a link is replaced, not followed; one that is a folder, device or pipe is TN_INPUT. */
typedef struct tn_file_writer {
    FILE *stream;
    int folder;          /* descriptor of the target's folder */
    char *path, *name;   /* of the target; its last part */
    char temporary[256]; /* name in the folder */
} tn_file_writer;

tn_status tn_file_open(tn_file_writer *writer, const char *path, tn_error *error);
tn_status tn_file_commit(tn_file_writer *writer, tn_error *error);
void tn_file_abandon(tn_file_writer *writer);

/* All of the above for a finished text. */
tn_status tn_file_write(const char *path, const void *data, size_t length, tn_error *error);
/* As tn_file_write; reports the buffer's own failure (memory) first. */
tn_status tn_file_write_buffer(const char *path, const tn_buffer *buffer, tn_error *error);

/* Whether there is a folder of that path. */
bool tn_is_folder(const char *path);

/* Makes the folder and its parents where they are missing. */
tn_status tn_folder_make(const char *path, tn_error *error);

#endif
