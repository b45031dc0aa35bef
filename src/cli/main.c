/* tenfold COMMAND [ARGUMENTS] [OPTIONS]: finds the command, runs it, turns its failure into message and exit
 * status. */
#include "base/interrupt.h"
#include "cli/commands.h"
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

static void general_help(void) {
    tn_say("tenfold %s: tensor-train ranks, contraction flow and parallelism, before you build hardware\n\n"
           "usage: tenfold COMMAND [ARGUMENTS] [OPTIONS]\n\ncommands:\n",
           TENFOLD_VERSION);
    for (size_t i = 0; i < tn_commands_count; i++)
        tn_say("  %-10s %s\n", tn_commands[i]->name, tn_commands[i]->summary);
    tn_say("  %-10s %s\n\n`tenfold help COMMAND` explains one.\n", "help", "explain a command");
    tn_say("\nModels, devices and spaces are paths, or bare names looked up in models/, models/devices/ and\n"
           "spaces/ of the folders in TENFOLD_PATH (set apart by colons), of the source tree and of the\n"
           "installed data folder; `tenfold list models` shows them.\n");
}

static int complain(const tn_error *error) {
    char text[2048];
    tn_error_text(error, text, sizeof text);
    fprintf(stderr, "tenfold: %s\n", text);
    return exit_status(error->status);
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

    if (argc < 2) {
        fprintf(stderr, "tenfold: which command? `tenfold help` lists them\n");
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        tn_say("tenfold %s\n", TENFOLD_VERSION);
        return finish(0);
    }
    bool help = strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    if (help && argc == 2) {
        general_help();
        return finish(0);
    }
    const tn_command *command;
    tn_error error = {0};
    if (tn_command_find(argv[help ? 2 : 1], &command, &error) != TN_OK) return complain(&error);
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
