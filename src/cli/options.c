#include "cli/options.h"
#include "cli/output.h"

#include "base/suggest.h"
#include "text/number.h"

#include <stdio.h>
#include <string.h>

static const char *const common_help[][2] = {
    {"--json", "print one JSON object and nothing else"},
    {"--quiet", "no progress on standard error"},
    {"--help", "show this text"},
};
enum { COMMON = sizeof common_help / sizeof *common_help };

void tn_options_usage(const tn_command *command, const tn_option *option, size_t count) {
    const char *line = command->usage, *lead = "usage:";
    while (*line) {
        int length = (int)strcspn(line, "\n");
        tn_say("%s tenfold %s %.*s\n", lead, command->name, length, line);
        line += length + (line[length] == '\n');
        lead = "      ";
    }
    tn_say("\n%s\n\noptions:\n", command->summary);
    for (size_t i = 0; i < count; i++) {
        char head[64];
        snprintf(head, sizeof head, "%s%s%s", option[i].name, option[i].argument ? " " : "",
                 option[i].argument ? option[i].argument : "");
        tn_say("  %-26s %s\n", head, option[i].help);
    }
    for (size_t i = 0; i < COMMON; i++) tn_say("  %-26s %s\n", common_help[i][0], common_help[i][1]);
}

static const tn_option *find(const tn_option *option, size_t count, const char *name, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(option[i].name) == length && strncmp(option[i].name, name, length) == 0) return &option[i];
    return NULL;
}

static tn_status unknown(const tn_command *command, const tn_option *option, size_t count, const char *given,
                         tn_error *error) {
    const char *names[TN_OPTION_MOST + COMMON];
    size_t known = 0;
    for (size_t i = 0; i < count && i < TN_OPTION_MOST; i++) names[known++] = option[i].name;
    for (size_t i = 0; i < COMMON; i++) names[known++] = common_help[i][0];
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    const char *near = tn_suggest(name, names, known);
    if (near) return tn_fail(error, TN_INPUT, "unknown option %s; did you mean %s?", name, near);
    return tn_fail(error, TN_INPUT, "unknown option %s; see tenfold help %s", name, command->name);
}

static tn_status store(const tn_option *option, const char *text, tn_error *error) {
    switch (option->type) {
    case TN_OPTION_FLAG:
        *(bool *)option->value = true;
        break;
    case TN_OPTION_TEXT:
        *(const char **)option->value = text;
        break;
    case TN_OPTION_COUNT:
        if (tn_read_count(text, option->value) != TN_NUMBER_OK)
            return tn_fail(error, TN_INPUT, "%s takes a whole number from 0, not '%s'", option->name, text);
        break;
    case TN_OPTION_REAL:
        if (tn_read_real(text, option->value) != TN_NUMBER_OK)
            return tn_fail(error, TN_INPUT, "%s takes a number, not '%s'", option->name, text);
        break;
    case TN_OPTION_LIST: {
        tn_option_list *list = option->value;
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
static tn_status read_option(const tn_command *command, const tn_option *option, size_t count, int argc,
                             char **argv, int *i, bool *given, tn_error *error) {
    const char *text = argv[*i];
    size_t length = strcspn(text, "=");
    const tn_option *known = find(option, count, text, length);
    if (!known) return unknown(command, option, count, text, error);
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    if (known->type == TN_OPTION_FLAG && value)
        return tn_fail(error, TN_INPUT, "%s takes no value", known->name);
    if (known->type != TN_OPTION_FLAG && !value) {
        if (*i + 1 == argc) return tn_fail(error, TN_INPUT, "%s needs its %s", known->name, known->argument);
        value = argv[++*i];
    }
    if (known->type != TN_OPTION_LIST && given[known - option])
        return tn_fail(error, TN_INPUT, "%s is given twice; give it once", known->name);
    given[known - option] = true;
    return store(known, value, error);
}

tn_status tn_options_read(const tn_command *command, const tn_option *option, size_t count, int argc,
                          char **argv, size_t least, size_t most, const char **positional,
                          size_t *positional_count, tn_common *common, tn_error *error) {
    bool given[TN_OPTION_MOST] = {false}, options_ended = false;
    size_t found = 0;
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        if (options_ended || text[0] != '-' || text[1] == '\0') {
            if (found == most)
                return tn_fail(error, TN_INPUT, "unexpected argument '%s'; see tenfold help %s", text,
                               command->name);
            positional[found++] = text;
            continue;
        }
        bool *flag = common_flag(common, text);
        if (flag)
            *flag = true;
        else if (strcmp(text, "--") == 0)
            options_ended = true;
        else
            TN_TRY(read_option(command, option, count, argc, argv, &i, given, error));
    }
    if (!common->help && found < least)
        return tn_fail(error, TN_INPUT, "too few arguments; see tenfold help %s", command->name);
    *positional_count = found;
    return TN_OK;
}
