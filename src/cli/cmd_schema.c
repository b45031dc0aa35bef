/* tenfold schema COMMAND [--keys]: what the JSON of a command holds, from the tables of columns that write it. */
#include "cli/commands.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    tn_common common;
    bool keys;
    const char *folder;
} request;

/* "cost", or "finetune fit". */
static tn_status find(const request *asked, const tn_command **found, tn_error *error) {
    const char *part = asked->common.arguments > 1 ? asked->common.argument[1] : NULL;
    TN_TRY(tn_command_find(asked->common.argument[0], found, error));
    if (part) TN_TRY(tn_command_part(*found, part, found, error));
    if ((*found)->answer_count) return TN_OK;
    return tn_fail(error, TN_INPUT, "%s answers by its parts; name one, as in tenfold help %s",
                   (*found)->name, (*found)->name);
}

static void schema_name(const tn_command *command, char *name, size_t room, const char *behind) {
    snprintf(name, room, "%s%s", command->name, behind);
    for (char *blank; (blank = strchr(name, ' '));) *blank = '.';
}

static void put_schema(const tn_command *command, tn_buffer *out) {
    char id[96], name[64];
    tn_json json;
    schema_name(command, name, sizeof name, "/1");
    snprintf(id, sizeof id, "tenfold.%s", name);
    tn_answer_begin(&json, out);
    tn_json_put_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    tn_json_put_text(&json, "$id", id);
    tn_json_put_text(&json, "title", command->summary);
    tn_json_put_text(&json, "type", "object");
    tn_json_key(&json, "anyOf");
    tn_json_array(&json);
    for (size_t i = 0; i < command->answer_count; i++) {
        tn_json_object(&json);
        tn_record_schema(command->answers[i], id, &json);
        tn_json_end(&json);
    }
    tn_json_end(&json);
    tn_json_end(&json);
}

static tn_status print_keys(const tn_command *command, tn_error *error) {
    static const char *const head[] = {"key", "type", "unit", "what"};
    for (size_t i = 0; i < command->answer_count; i++) {
        tn_table table;
        if (i) tn_say("\nor\n\n");
        tn_table_head(&table, head, sizeof head / sizeof *head);
        tn_record_key_rows(command->answers[i], "", &table);
        TN_TRY(tn_table_end(&table, error));
    }
    return TN_OK;
}

static tn_status write_one(request *asked, const tn_command *command, tn_error *error) {
    const char *path;
    char name[64];
    tn_buffer out = {0};
    if (!command->answer_count) return TN_OK;
    schema_name(command, name, sizeof name, ".json");
    TN_TRY(tn_arena_format(&asked->common.arena, &path, error, "%s/%s", asked->folder, name));
    put_schema(command, &out);
    tn_status status = tn_file_write_buffer(path, &out, error);
    tn_buffer_free(&out);
    return status;
}

static tn_status write_all(request *asked, tn_error *error) {
    TN_TRY(tn_command_output(&asked->common, asked->folder, error));
    for (size_t i = 0; i < tn_commands_count; i++) {
        TN_TRY(write_one(asked, tn_commands[i], error));
        for (size_t k = 0; k < tn_commands[i]->parts; k++)
            TN_TRY(write_one(asked, tn_commands[i]->part[k], error));
    }
    return tn_output_names("folders", &asked->folder, 1, asked->common.json, error);
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    const tn_command *command;
    tn_buffer out = {0};
    (void)answer;
    if (asked->folder && (asked->common.arguments || asked->keys))
        return tn_fail(error, TN_INPUT, "-o writes the schemas of all commands; leave out %s",
                       asked->keys ? "--keys" : "the command");
    if (asked->folder) return write_all(asked, error);
    if (!asked->common.arguments)
        return tn_fail(error, TN_INPUT, "schema needs a command, or -o DIR for all of them");
    TN_TRY(find(asked, &command, error));
    if (asked->keys && !asked->common.json) return print_keys(command, error);
    put_schema(command, &out);
    return tn_output(&out, error);
}

static const tn_option options[] = {
    {"--keys", TN_INTO(request, keys), NULL, "a table of the keys, their types and units instead"},
    {"-o", TN_INTO(request, folder), "DIR", "write the schemas of all commands there, as COMMAND.json"},
};

static const tn_column answer_keys[] = {
    TN_ANSWER_KEY("$schema", "string", TN_OPTIONAL), TN_ANSWER_KEY("$id", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("title", "string", TN_OPTIONAL),   TN_ANSWER_KEY("type", "string", TN_OPTIONAL),
    TN_ANSWER_LIST("anyOf", "object", TN_OPTIONAL),  TN_ANSWER_LIST("folders", "string", TN_OPTIONAL)};
static const tn_record answer_record = {.column = answer_keys,
                                        .columns = sizeof answer_keys / sizeof *answer_keys};

const tn_command tn_command_schema = {
    .name = "schema",
    .summary = "what the JSON answer of a command holds, as JSON Schema or as a table of keys",
    .usage = "COMMAND [PART] [--keys]\n-o DIR",
    .arguments = {0, 2},
    TN_OPTIONS(options),
    TN_REQUEST(request, NULL),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
