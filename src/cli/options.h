/* Command-line options as tables that print their own usage. */
#ifndef TN_CLI_OPTIONS_H
#define TN_CLI_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tn_option_type {
    TN_OPTION_FLAG,  /* bool */
    TN_OPTION_TEXT,  /* const char * */
    TN_OPTION_COUNT, /* uint64_t */
    TN_OPTION_REAL,  /* double */
    TN_OPTION_LIST,  /* tn_option_list; repeatable */
} tn_option_type;

enum { TN_OPTION_MOST = 256 };

typedef struct tn_option_list {
    size_t count;
    const char *item[TN_OPTION_MOST];
} tn_option_list;

typedef struct tn_option {
    const char *name; /* with its dashes: "--json", "-o" */
    tn_option_type type;
    void *value;          /* where the value goes; keeps its default where the option is not given */
    const char *argument; /* name of the argument in the usage text; NULL for flags */
    const char *help;     /* one line, with the default */
} tn_option;

/* Options that every command takes. */
typedef struct tn_common {
    bool json, quiet, help;
} tn_common;

/* One command of the program. `run` gives the exit status of a finished run through *answer (0, or 1 for "the
 * work ran and the answer is no") or fails; the caller turns failures into the message and exit status. */
typedef struct tn_command tn_command;
struct tn_command {
    const char *name, *summary; /* the summary is one line, for `tenfold help` */
    const char *usage;          /* the arguments behind the name, one alternative a line */
    tn_status (*run)(const tn_command *command, int argc, char **argv, int *answer, tn_error *error);
};

/* Sorts argv[1..argc-1] into options and positional arguments (they may be mixed; "--" ends options;
 * "--name=value" and "--name value" are the same; an option other than LIST given twice is an error).
 * `positional` holds `most`; more is an error, as is fewer than `least`. --json, --quiet and --help go to
 * *common. */
tn_status tn_options_read(const tn_command *command, const tn_option *option, size_t count, int argc,
                          char **argv, size_t least, size_t most, const char **positional,
                          size_t *positional_count, tn_common *common, tn_error *error);

/* Prints usage, summary and the options' help on standard output. */
void tn_options_usage(const tn_command *command, const tn_option *option, size_t count);

#endif
