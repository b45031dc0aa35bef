/* tenfold COMMAND [ARGUMENTS] [OPTIONS]: finds the command, runs it, turns its failure into message and exit
 * status. */
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/output.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_OUTSIDE = 3, EXIT_INTERRUPTED = 130 };

static int exit_status(tn_status status) {
    switch (status) {
    case TN_OK:
        return 0;
    case TN_INPUT:
    case TN_OVERFLOW:
    case TN_LIMIT:
        return EXIT_USAGE;
    case TN_MEMORY:
    case TN_IO:
        return EXIT_OUTSIDE;
    case TN_INTERRUPTED:
        return EXIT_INTERRUPTED;
    }
    return EXIT_OUTSIDE;
}

/* What a library computes can't be asked to stop. Files appear whole or not at all and stores survive a kill,
 * so where nobody has noticed the signal after a while, the program may end at once. */
static const struct itimerval patience = {.it_value = {.tv_sec = 1, .tv_usec = 500000}};

static void on_signal(int number) {
    (void)number;
    tn_interrupt();
    setitimer(ITIMER_REAL, &patience, NULL);
}

static void on_patience_ended(int number) {
    static const char said[] = "tenfold: interrupted\n";
    (void)number;
    if (tn_interrupt_noticed()) return;
    ssize_t written = write(STDERR_FILENO, said, sizeof said - 1);
    (void)written;
    _exit(EXIT_INTERRUPTED);
}

/* A library may end the program by exit: the OpenMP runtime does, with status 1, where it gets no memory. That
 * is an outside cause, and what waits to be printed is not the answer. */
static bool ended_here;

static void on_exit_of_others(void) {
    if (ended_here) return;
    fprintf(stderr, "tenfold: a library ended the program, most likely without memory\n");
    _exit(EXIT_OUTSIDE);
}

static int complain(const tn_error *error) {
    char text[2048];
    tn_error_text(error, text, sizeof text);
    fprintf(stderr, "tenfold: %s\n", text);
    return exit_status(error->status);
}

/* All commands; on standard error where none was given. */
static int general_help(bool asked) {
    tn_buffer out = {0};
    tn_error error = {0};
    tn_help_commands(&out);
    if (asked) return tn_output(&out, &error) == TN_OK ? 0 : complain(&error);
    fprintf(stderr, "tenfold: which command?\n\n%s", out.data ? out.data : "");
    tn_buffer_free(&out);
    return EXIT_USAGE;
}

/* Of a word that is no command. */
static int explain_word(const char *word) {
    tn_buffer out = {0};
    tn_arena arena = {0};
    tn_error error = {0};
    int status = 0;
    if (tn_help_word(word, &out)) {
        if (tn_output(&out, &error) != TN_OK) status = complain(&error);
    } else {
        const char *near = tn_help_near(word, &arena);
        fprintf(stderr,
                "tenfold: no command, key, quantity, flow, format or technique is called '%s'; %s%s%s\n",
                word, near ? "did you mean '" : "`tenfold help` lists the commands", near ? near : "",
                near ? "'?" : "");
        tn_buffer_free(&out);
        status = EXIT_USAGE;
    }
    tn_arena_free(&arena);
    return status;
}

/* Output that did not reach its file (a full disk) is a failure too. A pipe that its reader has closed ends
 * the program as it ends others: by the signal, without a word. */
static int finish(int status) {
    tn_error error = {0};
    bool closed;
    if (tn_output_finish(&closed, &error) == TN_OK) return status;
    if (closed) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return complain(&error);
}

static int run_command(const tn_command *command, int argc, char **argv) {
    tn_error error = {0};
    int answer = 0;
    tn_status status = tn_command_run(command, argc, argv, &answer, &error);
    int written = finish(answer);
    return status == TN_OK ? written : complain(&error);
}

static int act(int argc, char **argv) {
    /* The first signal asks for a clean stop, the second kills. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_patience_ended}, NULL);
    signal(SIGPIPE, SIG_IGN); /* a failed write says so: EPIPE, EFBIG */
    signal(SIGXFSZ, SIG_IGN);

    if (argc < 2) return general_help(false);
    if (strcmp(argv[1], "--version") == 0) {
        tn_say("tenfold %s\n", TENFOLD_VERSION);
        return finish(0);
    }
    bool help = strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    if (help && argc == 2) return finish(general_help(true));
    const tn_command *command;
    tn_error error = {0};
    if (tn_command_find(argv[help ? 2 : 1], &command, &error) != TN_OK)
        return help ? finish(explain_word(argv[2])) : complain(&error);
    char *ask_help[] = {argv[1], (char *)"--help", NULL};
    return help ? run_command(command, 2, ask_help) : run_command(command, argc - 1, argv + 1);
}

/* OpenBLAS starts its threads when it is loaded. One that gets no memory asks for it again and again, and its
 * library waits for it at exit, for ever. */
static bool memory_is_short(int status) {
    struct rlimit limit;
    return status == EXIT_OUTSIDE || (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY);
}

int main(int argc, char **argv) {
    atexit(on_exit_of_others);
    int status = act(argc, argv);
    ended_here = true;
    if (!memory_is_short(status)) return status;
    fflush(NULL);
    _exit(status);
}
