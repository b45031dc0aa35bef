/* Another program, run to its end without a shell: no input, what it prints caught in memory. */
#ifndef TN_BASE_CHILD_H
#define TN_BASE_CHILD_H

#include "base/buffer.h"
#include "base/error.h"

typedef struct tn_child {
    int status;         /* exit status, or 128 + signal if it was killed */
    tn_buffer out, err; /* what it printed; free both with tn_child_free */
} tn_child;

/* Told whenever the program has printed something more: all of it so far. */
typedef struct tn_child_listener {
    void (*heard)(void *user, const tn_buffer *out);
    void *user;
} tn_child_listener;

/* Runs argument[0] (looked up on PATH) with `argument`, ended by NULL, in the folder `folder` (NULL: this
 * one). TN_IO where the program can't be started, TN_MEMORY, TN_INTERRUPTED (it and what it started is killed then); its
 * own failure is child->status. `listener` may be NULL. */
tn_status tn_child_run(tn_child *child, const char *folder, const char *const *argument, tn_error *error);
tn_status tn_child_follow(tn_child *child, const char *folder, const char *const *argument,
                          const tn_child_listener *listener, tn_error *error);
void tn_child_free(tn_child *child);

#endif
