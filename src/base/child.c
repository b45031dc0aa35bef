#define _GNU_SOURCE /* posix_spawn_file_actions_addchdir_np, in POSIX since 2024 without the _np */
#include "base/child.h"

#include "base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Pipes from the child: what it prints and its errors. */
enum { OUT, ERR, PIPES };

typedef struct {
    int end[2];
} channel;

static void close_end(int *end) {
    if (*end >= 0) close(*end);
    *end = -1;
}

static void close_all(channel *pipes) {
    for (int i = 0; i < PIPES; i++) {
        close_end(&pipes[i].end[0]);
        close_end(&pipes[i].end[1]);
    }
}

static tn_status open_all(channel *pipes, tn_error *error) {
    for (int i = 0; i < PIPES; i++) pipes[i] = (channel){{-1, -1}};
    for (int i = 0; i < PIPES; i++) {
        if (pipe(pipes[i].end) != 0) {
            int failed = errno;
            close_all(pipes);
            return tn_fail_system(error, NULL, failed, "no pipe to another program");
        }
        fcntl(pipes[i].end[0], F_SETFD, FD_CLOEXEC);
        fcntl(pipes[i].end[1], F_SETFD, FD_CLOEXEC);
    }
    return TN_OK;
}

/* Errors as errno values, as posix_spawn reports them. */
static int arrange(posix_spawn_file_actions_t *actions, const channel *pipes, const char *folder) {
    int failed = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_adddup2(actions, pipes[OUT].end[1], STDOUT_FILENO);
    if (!failed) failed = posix_spawn_file_actions_adddup2(actions, pipes[ERR].end[1], STDERR_FILENO);
    if (!failed && folder) failed = posix_spawn_file_actions_addchdir_np(actions, folder);
    return failed;
}

/* A program that ignores SIGPIPE, as this library's host may, must not make its children do so. They are a group of
 * their own, so that all of them can be ended. */
static int default_signals(posix_spawnattr_t *attributes) {
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    int failed = posix_spawnattr_setsigdefault(attributes, &broken_pipe);
    if (!failed) failed = posix_spawnattr_setpgroup(attributes, 0);
    return failed ? failed
                  : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

static int start(const channel *pipes, const char *folder, const char *const *argument, pid_t *process) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed) return failed;
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = arrange(&actions, pipes, folder);
        if (!failed) failed = default_signals(&attributes);
        if (!failed)
            failed = posix_spawnp(process, argument[0], &actions, &attributes,
                                  (char *const *)(uintptr_t)argument, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Reads what has come on one pipe; false at its end. */
static bool drain(int descriptor, tn_buffer *target) {
    char bytes[65536];
    ssize_t got = read(descriptor, bytes, sizeof bytes);
    if (got > 0) tn_buffer_bytes(target, bytes, (size_t)got);
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

static tn_status collect(channel *pipes, tn_child *child, const tn_child_listener *listener,
                         tn_error *error) {
    tn_buffer *target[] = {&child->out, &child->err};
    while (pipes[OUT].end[0] >= 0 || pipes[ERR].end[0] >= 0) {
        struct pollfd wait_for[] = {{.fd = pipes[OUT].end[0], .events = POLLIN},
                                    {.fd = pipes[ERR].end[0], .events = POLLIN}};
        int ready = poll(wait_for, 2, 200);
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted");
        if (ready < 0 && errno != EINTR) return tn_fail_system(error, NULL, errno, "waiting for a program");
        for (int i = 0; ready > 0 && i < 2; i++)
            if (wait_for[i].revents && !drain(wait_for[i].fd, target[i])) close_end(&pipes[i].end[0]);
        if (child->out.status != TN_OK || child->err.status != TN_OK)
            return tn_fail(error, TN_MEMORY, "no memory for what a program printed");
        if (listener && ready > 0 && wait_for[OUT].revents) listener->heard(listener->user, &child->out);
    }
    return TN_OK;
}

static int end_of(pid_t process) {
    int status;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

tn_status tn_child_run(tn_child *child, const char *folder, const char *const *argument, tn_error *error) {
    return tn_child_follow(child, folder, argument, NULL, error);
}

tn_status tn_child_follow(tn_child *child, const char *folder, const char *const *argument,
                          const tn_child_listener *listener, tn_error *error) {
    *child = (tn_child){0};
    channel pipes[PIPES];
    TN_TRY(open_all(pipes, error));
    pid_t process;
    int failed = start(pipes, folder, argument, &process);
    if (failed) {
        close_all(pipes);
        return tn_fail_system(error, argument[0], failed, "can't be started");
    }
    for (int i = 0; i < PIPES; i++) close_end(&pipes[i].end[1]);
    tn_status status = collect(pipes, child, listener, error);
    if (status != TN_OK) kill(-process, SIGKILL);
    close_all(pipes);
    child->status = end_of(process);
    return status;
}

void tn_child_free(tn_child *child) {
    tn_buffer_free(&child->out);
    tn_buffer_free(&child->err);
    *child = (tn_child){0};
}
