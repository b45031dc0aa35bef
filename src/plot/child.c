#include "plot/child.h"

#include "base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Pipes from the child: what it prints, its errors, and the errno of a start that failed. */
enum { OUT, ERR, START, PIPES };

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

/* In the child: only calls that are safe after a fork of a program with threads. */
static void become(const channel *pipes, const char *folder, const char *const *argument) {
    int nothing = open("/dev/null", O_RDONLY);
    bool ready = nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
                 dup2(pipes[OUT].end[1], STDOUT_FILENO) >= 0 && dup2(pipes[ERR].end[1], STDERR_FILENO) >= 0 &&
                 (!folder || chdir(folder) == 0);
    if (ready) {
        signal(SIGPIPE, SIG_DFL);
        execvp(argument[0], (char *const *)(uintptr_t)argument);
    }
    int failed = errno;
    ssize_t told = write(pipes[START].end[1], &failed, sizeof failed);
    _exit(told == (ssize_t)sizeof failed ? 127 : 126);
}

/* Reads what has come on one pipe; false at its end. */
static bool drain(int from, tn_buffer *into) {
    char bytes[65536];
    ssize_t got = read(from, bytes, sizeof bytes);
    if (got > 0) tn_buffer_bytes(into, bytes, (size_t)got);
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

static tn_status collect(channel *pipes, tn_child *child, tn_error *error) {
    tn_buffer *into[] = {&child->out, &child->err};
    while (pipes[OUT].end[0] >= 0 || pipes[ERR].end[0] >= 0) {
        struct pollfd wait_for[] = {{.fd = pipes[OUT].end[0], .events = POLLIN},
                                    {.fd = pipes[ERR].end[0], .events = POLLIN}};
        int ready = poll(wait_for, 2, 200);
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted");
        if (ready < 0 && errno != EINTR) return tn_fail_system(error, NULL, errno, "waiting for a program");
        for (int i = 0; ready > 0 && i < 2; i++)
            if (wait_for[i].revents && !drain(wait_for[i].fd, into[i])) close_end(&pipes[i].end[0]);
        if (child->out.status != TN_OK || child->err.status != TN_OK)
            return tn_fail(error, TN_MEMORY, "no memory for what a program printed");
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
    *child = (tn_child){0};
    channel pipes[PIPES];
    TN_TRY(open_all(pipes, error));
    pid_t process = fork();
    if (process < 0) {
        int failed = errno;
        close_all(pipes);
        return tn_fail_system(error, argument[0], failed, "can't be started");
    }
    if (process == 0) become(pipes, folder, argument);
    for (int i = 0; i < PIPES; i++) close_end(&pipes[i].end[1]);

    int start_failed = 0;
    ssize_t told;
    do told = read(pipes[START].end[0], &start_failed, sizeof start_failed);
    while (told < 0 && errno == EINTR);
    tn_status status = TN_OK;
    if (told == (ssize_t)sizeof start_failed)
        status = tn_fail_system(error, argument[0], start_failed, "can't be started");
    else
        status = collect(pipes, child, error);
    if (status != TN_OK) kill(process, SIGKILL);
    close_all(pipes);
    child->status = end_of(process);
    return status;
}

void tn_child_free(tn_child *child) {
    tn_buffer_free(&child->out);
    tn_buffer_free(&child->err);
    *child = (tn_child){0};
}
