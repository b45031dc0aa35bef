/* The first byte chooses a command or a part of one; the rest are its arguments, one a line. They are read as the
 * program reads them, into a request of that command, and only the work is left out: they are refused with an
 * error, or the request holds nothing but what the arguments say. */
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS_MOST = 64, ARGUMENTS_MOST = 400 };

static tn_command command[COMMANDS_MOST];
static size_t commands;
static const tn_command *asked;
static char *argument[ARGUMENTS_MOST + 2];
static int arguments;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static void hold(bool true_of_request) {
    if (!true_of_request) abort();
}

/* Points into one of the arguments. */
static bool is_given(const char *text) {
    for (int i = 1; i < arguments; i++)
        if (text >= argument[i] && text <= argument[i] + strlen(argument[i])) return true;
    return false;
}

static bool is_named(const tn_option *option) {
    size_t length = strlen(option->name);
    for (int i = 1; i < arguments; i++)
        if (strncmp(argument[i], option->name, length) == 0 &&
            (argument[i][length] == '\0' || argument[i][length] == '='))
            return true;
    return false;
}

static void check_value(const tn_option *option, const char *member) {
    const tn_option_list *list = (const void *)member;
    switch (option->type) {
    case TN_OPTION_FLAG:
        hold(*(const bool *)(const void *)member);
        break;
    case TN_OPTION_TEXT:
        hold(is_given(*(const char *const *)(const void *)member));
        break;
    case TN_OPTION_LIST:
        hold(list->count > 0 && list->count <= TN_OPTION_MOST);
        for (size_t i = 0; i < list->count; i++) hold(is_given(list->item[i]));
        break;
    case TN_OPTION_COUNT:
    case TN_OPTION_REAL:
        break;
    }
}

/* In the place of the command's work. */
static tn_status check_request(void *request, int *answer, tn_error *error) {
    const tn_common *common = request;
    (void)answer;
    (void)error;
    hold(common->arguments >= asked->arguments.least && common->arguments <= asked->arguments.most);
    hold(common->arguments < (size_t)arguments || common->arguments == 0);
    for (size_t i = 0; i < common->arguments; i++) hold(is_given(common->argument[i]));
    for (size_t i = 0; i < asked->options; i++) {
        if (!common->given[i]) continue;
        hold(is_named(&asked->option[i]));
        check_value(&asked->option[i], (const char *)request + asked->option[i].offset);
    }
    return TN_OK;
}

static void add_command(const tn_command *this_command) {
    if (commands == COMMANDS_MOST) abort();
    for (size_t i = 0; i < this_command->parts; i++) add_command(this_command->part[i]);
    command[commands] = *this_command;
    command[commands].find = NULL;
    command[commands].part = NULL;
    command[commands].parts = 0;
    command[commands++].answer = check_request;
}

/* Help goes to standard output, where nobody reads it. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    for (size_t i = 0; i < tn_commands_count; i++) add_command(tn_commands[i]);
    if (!freopen("/dev/null", "w", stdout)) abort();
    return 0;
}

static void split_lines(char *text) {
    arguments = 1;
    for (char *line = text; line && arguments <= ARGUMENTS_MOST;) {
        char *end = strchr(line, '\n');
        if (end) *end++ = '\0';
        argument[arguments++] = line;
        line = end;
    }
    argument[arguments] = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char name[] = "command", *text = calloc(size + 1, 1);
    tn_error error = {0};
    int answer = 0;
    if (!text) abort();
    if (size > 1) memcpy(text, data + 1, size - 1);
    asked = &command[size > 0 ? data[0] % commands : 0];
    argument[0] = name;
    split_lines(text);
    if (size < 2) arguments = 1, argument[1] = NULL;
    tn_status status = tn_command_run(asked, arguments, argument, &answer, &error);
    hold(status == TN_OK || (error.status == status && error.message[0] != '\0'));
    free(text);
    return 0;
}
