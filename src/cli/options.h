/* Commands as data: a table of options that fills a request and prints its own usage, and the one place that
 * reads a command line, shows help, runs the answer and frees what it took.
 *
 *     typedef struct { tn_common common; const char *device; uint64_t seed; } request;
 *     static const request defaults = {.device = "u50", .seed = 1};
 *     static const tn_option options[] = {
 *         {"--device", TN_INTO(request, device), "DEVICE", "device file or name; default u50"},
 *         {"--seed", TN_INTO(request, seed), "S", "seed of the draw; default 1"},
 *     };
 *     static tn_status answer(void *asked, int *answer, tn_error *error) { request *r = asked; ... }
 *     const tn_command tn_command_name = {
 *         .name = "name", .summary = "...", .usage = "MODEL [OPTIONS]", .arguments = {1, 1},
 *         TN_OPTIONS(options), TN_REQUEST(request, &defaults), .answer = answer};
 */
#ifndef TN_CLI_OPTIONS_H
#define TN_CLI_OPTIONS_H

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "design/design.h"
#include "search/evaluator.h"
#include "text/record.h"

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
    size_t offset;        /* of the member of the request that takes the value, and holds its default */
    const char *argument; /* name of the argument in the usage text; NULL for flags */
    const char *help;     /* one line, with the default */
} tn_option;

/* Type and offset of a member. */
#define TN_INTO(request, member) TN_OPTION_TYPE(((request *)0)->member), offsetof(request, member)
/* clang-format off */
#define TN_OPTION_TYPE(member)                                                                               \
    _Generic((member), bool: TN_OPTION_FLAG, const char *: TN_OPTION_TEXT, uint64_t: TN_OPTION_COUNT,         \
             double: TN_OPTION_REAL, tn_option_list: TN_OPTION_LIST)
/* clang-format on */

/* What every request begins with: the options that all commands take, and what is no option. */
typedef struct tn_common {
    bool json, quiet, help;
    size_t arguments;
    const char *const *argument; /* [arguments], and a NULL behind them */
    const bool *given;           /* [options of the command] */
    tn_arena arena;              /* freed when the command ends */
    tn_locked_folder output;     /* that the command writes; released when it ends */
    const char *line;            /* the command line, as a shell takes it again */
} tn_common;

typedef struct tn_command tn_command;
struct tn_command {
    const char *name, *summary; /* the summary is one line, for `tenfold help` */
    const char *usage;          /* the arguments behind the name, one alternative a line */
    struct {
        size_t least, most;
    } arguments; /* that are no options */
    const tn_option *option;
    size_t options;
    size_t request_size;  /* of a struct that begins with tn_common */
    const void *defaults; /* a request; NULL: zeros */
    /* What its JSON holds beside "schema": one of these. `tenfold schema` shows them. */
    const tn_record *const *answers;
    size_t answer_count;
    /* Gives the exit status of a finished run through *answer (0 unless set; 1 for "the work ran and the
     * answer is no") or fails; the program turns failures into the message and exit status. */
    tn_status (*answer)(void *request, int *answer, tn_error *error);
    void (*explain)(const void *request); /* NULL, or says more at the end of the help */
    /* Commands of their own behind the name, called "NAME PART". NULL `answer`: one of them must be named. */
    const tn_command *const *part;
    size_t parts;
    /* Or what its first argument names is a command with options of its own, made in the arena. */
    tn_status (*find)(tn_arena *arena, const char *name, tn_command *found, tn_error *error);
};
#define TN_OPTIONS(table)            .option = (table), .options = sizeof(table) / sizeof *(table)
#define TN_REQUEST(type, of_default) .request_size = sizeof(type), .defaults = (of_default)
#define TN_ANSWERS(...)                                                                                      \
    .answers = (const tn_record *const[]){__VA_ARGS__},                                                      \
    .answer_count = sizeof((const tn_record *const[]){__VA_ARGS__}) / sizeof(const tn_record *)
#define TN_PARTS(table) .part = (table), .parts = sizeof(table) / sizeof *(table)

/* Runs a command with argv[0] its own name: help, or the answer to what argv asks. */
tn_status tn_command_run(const tn_command *command, int argc, char **argv, int *answer, tn_error *error);

/* A request by the names of its options, as a program has it. */
typedef struct tn_named_option {
    const char *name; /* without its dashes: "json", "o" */
    size_t count;     /* of texts; a list takes each, a text all of them set apart by commas */
    const char *const *text;
    bool is_truth, truth; /* of a flag; no texts */
} tn_named_option;

typedef struct tn_named_request {
    size_t arguments, options;
    const char *const *argument; /* [arguments] */
    const tn_named_option *option;
} tn_named_request;

/* The same, asked by names: the answer as JSON, and no help. Texts that the request takes are its own. */
tn_status tn_command_ask(const tn_command *command, const tn_named_request *named, int *answer,
                         tn_error *error);

/* The part of a command by its name; TN_INPUT where there is none. */
tn_status tn_command_part(const tn_command *command, const char *name, const tn_command **part,
                          tn_error *error);

/* Before a command writes several files into `folder`: makes it, and keeps others out until the command ends.
 * TN_IO where another process writes there; NULL: there is no such folder. */
tn_status tn_command_output(tn_common *common, const char *folder, tn_error *error);

/* --set KEY=VALUE of a command that reads a model and a device: the first name of the path decides whose key
 * it is. What both have (kind, name) is the model's. */

typedef struct tn_sets {
    tn_option_list model, device;
} tn_sets;

/* A key of neither is TN_INPUT and suggests the nearest of both. */
tn_status tn_sets_divide(const tn_option_list *given, tn_sets *sets, tn_error *error);

/* What a command works on: a model on a device, or one design of a sweep (DIR --point ID). */

/* The id that --point gives; TN_INPUT where it is no whole number. */
tn_status tn_point_read(const char *point, uint64_t *id, tn_error *error);

/* The device of a model that was asked about without one. */
#define TN_USUAL_DEVICE "u50@user-area"

typedef struct tn_target {
    tn_design design;        /* without a device, and no build, where the command asked for none */
    tn_evaluator *evaluator; /* of a sweep's design; else NULL */
    const tn_space *space;   /* likewise */
    uint64_t id;
    const tn_option_list *set; /* what of it is otherwise */
} tn_target;

/* `name`: a model, or a sweep's folder with `point`, the id of one of its designs. `device`: the one that was asked for;
 * NULL: `usual` of a model (NULL: none is wanted), its own of a design. `set`: what of them is otherwise: keys of a model, and
 * of its device where there is one; of a design any key of model, device and build, the rest as the sweep has it. Flows `fastest` are settled (design/changes.h): on that device, and
 * where none is wanted, or one that is no FPGA, on the one that `tenfold cost` takes without asking. */
tn_status tn_target_load(const char *name, const char *point, const char *device, const char *usual,
                         const tn_option_list *set, tn_arena *arena, tn_target *target, tn_error *error);
/* The choices of a sweep's design, and what is otherwise: "build.rows=4 build.columns=4, but build.rows=8", in the arena; "" of
 * a model. */
tn_status tn_target_choices(const tn_target *target, tn_arena *arena, const char **choices, tn_error *error);
void tn_target_free(tn_target *target);

#endif
