/* A lock that a process holds on a file, so that one writer at a time works in a folder. The system releases
 * it when the process ends, however it ends; the file stays, and says who holds it while somebody does. */
#ifndef TN_BASE_LOCK_H
#define TN_BASE_LOCK_H

#include "base/error.h"

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

#endif
