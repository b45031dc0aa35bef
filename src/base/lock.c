#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
    const tn_position at = {.file = path};
    long process = living_holder(file);
    if (!process)
        return tn_fail_at(error, TN_IO, at, "another process writes in this folder; wait until it has ended");
    return tn_fail_at(error, TN_IO, at, "process %ld writes in this folder; wait until it has ended",
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
