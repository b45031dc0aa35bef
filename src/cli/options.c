#include "cli/options.h"

#include "base/file.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "cli/output.h"
#include "design/changes.h"
#include "device/device.h"
#include "model/model.h"
#include "results/result.h"
#include "roofline/roofline.h"
#include "text/number.h"

#include <stdio.h>
#include <string.h>

static const char *const common_help[][2] = {
    {"--json", "print one JSON object and nothing else"},
    {"--quiet", "no progress on standard error"},
    {"--help", "show this text"},
};
enum { COMMON = sizeof common_help / sizeof *common_help };

static const char *part_name(const tn_command *part) {
    return strrchr(part->name, ' ') + 1;
}

/* Usage, summary, the options' help and the parts, on standard output. */
static void print_usage(const tn_command *command) {
    const char *line = command->usage, *lead = "usage:";
    do {
        int length = (int)strcspn(line, "\n");
        tn_say("%s tenfold %s%s%.*s\n", lead, command->name, length ? " " : "", length, line);
        line += length + (line[length] == '\n');
        lead = "      ";
    } while (*line);
    tn_say("\n%s\n\noptions:\n", command->summary);
    for (size_t i = 0; i < command->options; i++) {
        const tn_option *option = &command->option[i];
        char head[64];
        snprintf(head, sizeof head, "%s%s%s", option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
        tn_say("  %-26s %s\n", head, option->help);
    }
    for (size_t i = 0; i < COMMON; i++) tn_say("  %-26s %s\n", common_help[i][0], common_help[i][1]);
    if (command->parts) tn_say("\n`tenfold %s SUBCOMMAND --help` explains one:\n", command->name);
    for (size_t i = 0; i < command->parts; i++)
        tn_say("  %-10s %s\n", part_name(command->part[i]), command->part[i]->summary);
}

static const tn_option *find(const tn_command *command, const char *name, size_t length) {
    for (size_t i = 0; i < command->options; i++) {
        const tn_option *option = &command->option[i];
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) return option;
    }
    return NULL;
}

static tn_status unknown(const tn_command *command, const char *given, tn_error *error) {
    const char *names[TN_OPTION_MOST + COMMON];
    size_t known = 0;
    for (size_t i = 0; i < command->options && i < TN_OPTION_MOST; i++)
        names[known++] = command->option[i].name;
    for (size_t i = 0; i < COMMON; i++) names[known++] = common_help[i][0];
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    const char *near = tn_suggest(name, names, known);
    if (near) return tn_fail(error, TN_INPUT, "unknown option %s; did you mean %s?", name, near);
    return tn_fail(error, TN_INPUT, "unknown option %s; see tenfold help %s", name, command->name);
}

static tn_status store(const tn_option *option, const char *text, void *request, tn_error *error) {
    void *value = (char *)request + option->offset;
    uint64_t before, count; /* a count whose default is 0 stands for what was not given */
    switch (option->type) {
    case TN_OPTION_FLAG:
        *(bool *)value = true;
        break;
    case TN_OPTION_TEXT:
        *(const char **)value = text;
        break;
    case TN_OPTION_COUNT:
        memcpy(&before, value, sizeof before);
        if (tn_read_count(text, value) != TN_NUMBER_OK)
            return tn_fail(error, TN_INPUT, "%s takes a whole number from 0, not '%s'", option->name, text);
        memcpy(&count, value, sizeof count);
        if (before == 0 && count == 0)
            return tn_fail(error, TN_INPUT, "%s 0 would say nothing; give at least 1, or leave it out",
                           option->name);
        break;
    case TN_OPTION_REAL:
        if (tn_read_real(text, value) != TN_NUMBER_OK)
            return tn_fail(error, TN_INPUT, "%s takes a number, not '%s'", option->name, text);
        break;
    case TN_OPTION_LIST: {
        tn_option_list *list = value;
        if (list->count == TN_OPTION_MOST)
            return tn_fail(error, TN_LIMIT, "%s is given more than %d times", option->name, TN_OPTION_MOST);
        list->item[list->count++] = text;
        break;
    }
    }
    return TN_OK;
}

static bool *common_flag(tn_common *common, const char *given) {
    if (strcmp(given, "--json") == 0) return &common->json;
    if (strcmp(given, "--quiet") == 0) return &common->quiet;
    if (strcmp(given, "--help") == 0 || strcmp(given, "-h") == 0) return &common->help;
    return NULL;
}

/* Reads the option at argv[*i], moving *i over its value. */
static tn_status read_option(const tn_command *command, int argc, char **argv, int *i, bool *given,
                             void *request, tn_error *error) {
    const char *text = argv[*i];
    size_t length = strcspn(text, "=");
    const tn_option *known = find(command, text, length);
    if (!known) return unknown(command, text, error);
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    if (known->type == TN_OPTION_FLAG && value)
        return tn_fail(error, TN_INPUT, "%s takes no value", known->name);
    if (known->type != TN_OPTION_FLAG && !value) {
        if (*i + 1 == argc) return tn_fail(error, TN_INPUT, "%s needs its %s", known->name, known->argument);
        value = argv[++*i];
    }
    size_t place = (size_t)(known - command->option);
    if (known->type != TN_OPTION_LIST && given[place])
        return tn_fail(error, TN_INPUT, "%s is given twice; give it once", known->name);
    given[place] = true;
    return store(known, value, request, error);
}

/* What a request is filled from: a command line, or names. */
typedef struct asking {
    bool by_name;
    int argc;
    char **argv;
    tn_named_request named;
} asking;

static tn_status take_argument(const tn_command *command, const char *text, tn_common *common,
                               const char **argument, tn_error *error) {
    if (common->arguments == command->arguments.most)
        return tn_fail(error, TN_INPUT, "unexpected argument '%s'; see tenfold help %s", text, command->name);
    argument[common->arguments++] = text;
    return TN_OK;
}

/* Sorts argv[1..argc-1] into options and arguments of the request, which holds the defaults
 * (they may be mixed; "--" ends options; "--name=value" and "--name value" are the same; an option other than
 * LIST given twice is an error, as are more or fewer arguments than the command takes). */
static tn_status read_line(const tn_command *command, int argc, char **argv, const char **argument,
                           bool *given, void *request, tn_error *error) {
    tn_common *common = request;
    bool options_ended = false;
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        if (options_ended || text[0] != '-' || text[1] == '\0') {
            TN_TRY(take_argument(command, text, common, argument, error));
            continue;
        }
        bool *flag = common_flag(common, text);
        if (flag)
            *flag = true;
        else if (strcmp(text, "--") == 0)
            options_ended = true;
        else
            TN_TRY(read_option(command, argc, argv, &i, given, request, error));
    }
    return TN_OK;
}

/* The same from names. */
static tn_status read_named_option(const tn_command *command, const tn_named_option *named, bool *given,
                                   tn_common *common, tn_error *error) {
    const char *name;
    tn_buffer joined = {0};
    TN_TRY(tn_arena_format(&common->arena, &name, error, "--%s", named->name));
    if (strcmp(name, "--quiet") == 0 && named->is_truth) {
        common->quiet = named->truth;
        return TN_OK;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "--json") == 0)
        return tn_fail(error, TN_INPUT, "%s is for people; every answer to a request is JSON", name);
    const tn_option *known = find(command, name, strlen(name));
    if (!known) known = find(command, name + 1, strlen(name) - 1); /* "-o" */
    if (!known) return unknown(command, name, error);
    bool is_flag = known->type == TN_OPTION_FLAG;
    if (is_flag != named->is_truth)
        return tn_fail(error, TN_INPUT, is_flag ? "%s takes true or false" : "%s needs its %s", name,
                       known->argument);
    size_t place = (size_t)(known - command->option);
    if (given[place]) return tn_fail(error, TN_INPUT, "%s is given twice; give it once", name);
    given[place] = !is_flag || named->truth;
    if (is_flag) return named->truth ? store(known, NULL, common, error) : TN_OK;
    if (known->type == TN_OPTION_LIST) {
        for (size_t i = 0; i < named->count; i++) TN_TRY(store(known, named->text[i], common, error));
        return TN_OK;
    }
    for (size_t i = 0; i < named->count; i++) tn_buffer_format(&joined, "%s%s", i ? "," : "", named->text[i]);
    const char *value = "";
    tn_status status =
        joined.status == TN_OK
            ? tn_arena_copy_text(&common->arena, joined.data ? joined.data : "", joined.length, &value, error)
            : tn_fail(error, joined.status, "no memory for a request");
    tn_buffer_free(&joined);
    return status == TN_OK ? store(known, value, common, error) : status;
}

static tn_status read_named(const tn_command *command, const tn_named_request *named, const char **argument,
                            bool *given, tn_common *common, tn_error *error) {
    common->json = true;
    for (size_t i = 0; i < named->arguments; i++)
        TN_TRY(take_argument(command, named->argument[i], common, argument, error));
    for (size_t i = 0; i < named->options; i++)
        TN_TRY(read_named_option(command, &named->option[i], given, common, error));
    return TN_OK;
}

static tn_status read_options(const tn_command *command, const asking *asked, void *request,
                              tn_error *error) {
    tn_common *common = request;
    const char **argument;
    bool *given;
    size_t most = asked->by_name ? asked->named.arguments : (size_t)asked->argc;
    TN_TRY(TN_NEW(&common->arena, most + 1, &argument, error));
    TN_TRY(TN_NEW(&common->arena, command->options + 1, &given, error));
    common->argument = argument;
    common->given = given;
    TN_TRY(asked->by_name ? read_named(command, &asked->named, argument, given, common, error)
                          : read_line(command, asked->argc, asked->argv, argument, given, request, error));
    if (!common->help && common->arguments < command->arguments.least)
        return tn_fail(error, TN_INPUT, "too few arguments; it is tenfold %s %.*s", command->name,
                       (int)strcspn(command->usage, "\n"), command->usage);
    return TN_OK;
}

/* ---- running ---- */

/* That no part of the command is called `name`; NULL: that none was named. */
static tn_status which_part(const tn_command *command, const char *name, tn_error *error) {
    const char *names[16];
    tn_buffer list = {0};
    size_t count = command->parts < 16 ? command->parts : 16;
    for (size_t i = 0; i < count; i++) {
        names[i] = part_name(command->part[i]);
        tn_buffer_format(&list, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", names[i]);
    }
    const char *near = name ? tn_suggest(name, names, count) : NULL, *all = list.data ? list.data : "";
    tn_status status = !name ? tn_fail(error, TN_INPUT, "%s needs a subcommand first: %s", command->name, all)
                       : near ? tn_fail(error, TN_INPUT, "%s has no subcommand '%.60s'; did you mean %s?",
                                        command->name, name, near)
                              : tn_fail(error, TN_INPUT, "%s has no subcommand '%.60s'; it has %s",
                                        command->name, name, all);
    tn_buffer_free(&list);
    return status;
}

tn_status tn_command_part(const tn_command *command, const char *name, const tn_command **part,
                          tn_error *error) {
    for (size_t i = 0; i < command->parts; i++)
        if (strcmp(name, part_name(command->part[i])) == 0) {
            *part = command->part[i];
            return TN_OK;
        }
    if (command->parts) return which_part(command, name, error);
    return tn_fail(error, TN_INPUT, "%s has no parts, and so no '%.60s'", command->name, name);
}

/* argv as a shell takes it again. */
static tn_status put_line(const tn_command *command, int argc, char **argv, tn_common *common,
                          tn_error *error) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%";
    tn_buffer line = {0};
    tn_buffer_format(&line, "tenfold %s", command->name);
    for (int i = 1; i < argc; i++) {
        bool quoted = argv[i][0] == '\0' || argv[i][strspn(argv[i], plain)] != '\0';
        tn_buffer_text(&line, quoted ? " '" : " ");
        for (const char *c = argv[i]; *c; c++) {
            if (*c == '\'')
                tn_buffer_text(&line, "'\\''");
            else
                tn_buffer_bytes(&line, c, 1);
        }
        if (quoted) tn_buffer_text(&line, "'");
    }
    tn_status status = line.status == TN_OK
                           ? tn_arena_copy_text(&common->arena, line.data, line.length, &common->line, error)
                           : tn_fail(error, line.status, "no memory for the command line");
    tn_buffer_free(&line);
    return status;
}

static tn_status answer_request(const tn_command *command, const asking *asked, void *request, int *answer,
                                tn_error *error) {
    tn_common *common = request;
    if (!asked->by_name) TN_TRY(put_line(command, asked->argc, asked->argv, common, error));
    TN_TRY(read_options(command, asked, request, error));
    tn_answer_named(command->name);
    if (common->help) {
        print_usage(command);
        if (command->explain) command->explain(request);
        return TN_OK;
    }
    return command->answer ? command->answer(request, answer, error) : which_part(command, NULL, error);
}

tn_status tn_command_output(tn_common *common, const char *folder, tn_error *error) {
    return folder ? tn_folder_lock(folder, &common->output, error) : TN_OK;
}

/* Each file is whole or not there; that some are missing is said. */
static void release_output(tn_common *common, tn_status status, tn_error *error) {
    char folder[256];
    bool is_partial = status == TN_IO || status == TN_MEMORY || status == TN_INTERRUPTED;
    snprintf(folder, sizeof folder, "%s", common->output.path ? common->output.path : "");
    if (!tn_folder_unlock(&common->output) || !is_partial || !error) return;
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, "; %s lacks some of its files", folder);
}

/* Whatever an interrupted run says of itself, what it gave is not the whole answer; and a child or a call that
 * the same signal ended is no outside cause. */
static tn_status interrupted_status(tn_status status, tn_error *error) {
    if (!tn_interrupt_noticed() || (status != TN_OK && status != TN_IO)) return status;
    return tn_fail(error, TN_INTERRUPTED, "interrupted; what was finished is kept");
}

/* A request holds lists of options: large for the stack. */
static tn_status answer_command(const tn_command *command, const asking *asked, int *answer,
                                tn_error *error) {
    char *request;
    size_t size = command->request_size ? command->request_size : sizeof(tn_common);
    TN_TRY(tn_alloc(1, size, &request, error));
    if (command->defaults) memcpy(request, command->defaults, size);
    tn_status status = answer_request(command, asked, request, answer, error);
    release_output((tn_common *)(void *)request, status, error);
    tn_arena_free(&((tn_common *)(void *)request)->arena);
    tn_free(request);
    return interrupted_status(status, error);
}

/* An argument that stands first; NULL: there is none. */
static const char *first_of(const asking *asked) {
    if (asked->by_name) return asked->named.arguments ? asked->named.argument[0] : NULL;
    return asked->argc > 1 && asked->argv[1][0] != '-' ? asked->argv[1] : NULL;
}

static asking behind_first(const asking *asked) {
    asking rest = *asked;
    if (asked->by_name) {
        rest.named.argument++;
        rest.named.arguments--;
    } else {
        rest.argv++;
        rest.argc--;
    }
    return rest;
}

static tn_status run(const tn_command *command, const asking *asked, int *answer, tn_error *error) {
    const char *first = first_of(asked);
    if (!first) return answer_command(command, asked, answer, error);
    const asking rest = behind_first(asked);
    if (command->find) {
        tn_arena arena = {0};
        tn_command found;
        tn_status status = command->find(&arena, first, &found, error);
        if (status == TN_OK) status = answer_command(&found, &rest, answer, error);
        tn_arena_free(&arena);
        return status;
    }
    for (size_t i = 0; i < command->parts; i++)
        if (strcmp(first, part_name(command->part[i])) == 0)
            return answer_command(command->part[i], &rest, answer, error);
    if (!command->answer) return which_part(command, first, error);
    return answer_command(command, asked, answer, error);
}

tn_status tn_command_run(const tn_command *command, int argc, char **argv, int *answer, tn_error *error) {
    return run(command, &(asking){.argc = argc, .argv = argv}, answer, error);
}

tn_status tn_command_ask(const tn_command *command, const tn_named_request *named, int *answer,
                         tn_error *error) {
    return run(command, &(asking){.by_name = true, .named = *named}, answer, error);
}

static const tn_schema *const device_schemas[] = {&tn_device_schema, &tn_roofline_device_schema};
enum { DEVICE_SCHEMAS = sizeof device_schemas / sizeof *device_schemas };

static tn_status unknown_key(const char *assignment, size_t length, tn_error *error) {
    const char *names[128];
    char given[64];
    size_t count = 0;
    const tn_position position = {"--set", 1, 1};
    for (size_t s = 0; s <= DEVICE_SCHEMAS; s++) {
        const tn_schema *schema = s < DEVICE_SCHEMAS ? device_schemas[s] : &tn_model_schema;
        for (size_t i = 0; i < schema->count && count < sizeof names / sizeof *names; i++)
            names[count++] = schema->field[i].key;
    }
    if (length >= sizeof given) length = sizeof given - 1;
    memcpy(given, assignment, length);
    given[length] = '\0';
    const char *near = tn_suggest(given, names, count);
    return tn_fail_at(error, TN_INPUT, position, "neither model nor device has a key \"%s\"; %s%s%s", given,
                      near ? "did you mean " : "their keys are in docs/model-file.md and docs/device-file.md",
                      near ? near : "", near ? "?" : "");
}

static bool is_device_key(const char *assignment) {
    for (size_t i = 0; i < DEVICE_SCHEMAS; i++)
        if (tn_schema_has(device_schemas[i], assignment)) return true;
    return false;
}

tn_status tn_sets_divide(const tn_option_list *given, tn_sets *sets, tn_error *error) {
    *sets = (tn_sets){0};
    for (size_t i = 0; i < given->count; i++) {
        const char *assignment = given->item[i];
        if (tn_schema_has(&tn_model_schema, assignment))
            sets->model.item[sets->model.count++] = assignment;
        else if (is_device_key(assignment))
            sets->device.item[sets->device.count++] = assignment;
        else
            return unknown_key(assignment, strcspn(assignment, ".="), error);
    }
    return TN_OK;
}

tn_status tn_point_read(const char *point, uint64_t *id, tn_error *error) {
    if (tn_read_count(point, id) == TN_NUMBER_OK) return TN_OK;
    return tn_fail(error, TN_INPUT, "--point takes the id of a design, a whole number, not '%.100s'", point);
}

/* Flows that a device has to choose are chosen before anybody asks for a step. */
static tn_status settle_flows(const tn_target *target, tn_arena *arena, tn_error *error) {
    tn_design design = target->design;
    tn_device *usual;
    if (!tn_flows_are_open(design.model)) return TN_OK;
    if (!design.device) TN_TRY(tn_build_decode(tn_model_build(design.model), arena, &design.build, error));
    if (!design.device || tn_device_kind_of(design.device) != TN_DEVICE_FPGA) {
        TN_TRY(tn_device_load(TN_USUAL_DEVICE, NULL, 0, arena, &usual, error));
        design.device = usual;
    }
    return tn_flows_settle(&design, error);
}

static tn_status load_model(const char *name, const char *device_name, const tn_option_list *set,
                            tn_arena *arena, tn_target *target, tn_error *error) {
    tn_design *design = &target->design;
    tn_sets sets = {.model = *set};
    tn_device *device;
    if (device_name) TN_TRY(tn_sets_divide(set, &sets, error));
    TN_TRY(tn_model_load(name, sets.model.item, sets.model.count, arena, &design->model, error));
    if (!device_name) return settle_flows(target, arena, error);
    TN_TRY(tn_device_load(device_name, sets.device.item, sets.device.count, arena, &device, error));
    TN_TRY(tn_build_decode(tn_model_build(design->model), arena, &design->build, error));
    design->device = device;
    return settle_flows(target, arena, error);
}

static tn_status load_design(const char *folder, const char *point, const char *device_name,
                             const tn_option_list *set, tn_arena *arena, tn_target *target, tn_error *error) {
    uint64_t id;
    tn_space *space;
    tn_evaluation evaluation;
    tn_device *device;
    tn_sets known;
    if (!point)
        return tn_fail(error, TN_INPUT, "a sweep's folder needs --point ID, the id of one of its designs");
    TN_TRY(tn_point_read(point, &id, error));
    TN_TRY(tn_sets_divide(set, &known, error));
    TN_TRY(tn_result_space(folder, arena, &space, NULL, error));
    TN_TRY(tn_evaluator_new(space, &target->evaluator, error));
    TN_TRY(tn_evaluate_design(target->evaluator, id, &evaluation, error));
    target->space = space;
    target->id = id;
    target->set = set;
    TN_TRY(tn_evaluator_design(target->evaluator, arena, &target->design, error));
    if (device_name) {
        TN_TRY(tn_device_load(device_name, NULL, 0, arena, &device, error));
        target->design.device = device;
    }
    if (set->count == 0) return TN_OK;
    TN_TRY(tn_design_change(&target->design, set->item, set->count, arena, &target->design, error));
    return settle_flows(target, arena, error);
}

tn_status tn_target_load(const char *name, const char *point, const char *device, const char *usual,
                         const tn_option_list *set, tn_arena *arena, tn_target *target, tn_error *error) {
    *target = (tn_target){0};
    if (tn_is_folder(name)) return load_design(name, point, device, set, arena, target, error);
    if (point) return tn_fail(error, TN_INPUT, "--point goes with the folder of a sweep");
    return load_model(name, device ? device : usual, set, arena, target, error);
}

tn_status tn_target_choices(const tn_target *target, tn_arena *arena, const char **choices, tn_error *error) {
    *choices = "";
    if (!target->space) return TN_OK;
    TN_TRY(tn_choices_text(&target->space->choices, target->id, arena, choices, error));
    for (size_t i = 0; i < target->set->count; i++)
        TN_TRY(tn_arena_format(arena, choices, error, "%s%s %s", *choices, i ? "" : ", but",
                               target->set->item[i]));
    return TN_OK;
}

void tn_target_free(tn_target *target) {
    tn_evaluator_free(target->evaluator);
    *target = (tn_target){0};
}
