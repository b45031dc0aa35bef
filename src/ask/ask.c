#include "ask/ask.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "text/number.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- the request ---- */

static tn_status copy_text(tn_buffer *text, tn_arena *arena, const char **copy, tn_error *error) {
    tn_status status = text->status;
    if (status != TN_OK)
        tn_fail(error, status, "no memory for a request");
    else
        status = tn_arena_copy_text(arena, text->data ? text->data : "", text->length, copy, error);
    tn_buffer_free(text);
    return status;
}

static tn_status put_value(const char *name, const json_t *value, tn_buffer *text, tn_error *error);

/* "[1, 2]", as a file would have it. */
static tn_status put_row(const char *name, const json_t *list, tn_buffer *text, tn_error *error) {
    size_t i;
    json_t *item;
    tn_buffer_text(text, "[");
    json_array_foreach((json_t *)list, i, item) {
        if (i) tn_buffer_text(text, ", ");
        TN_TRY(put_value(name, item, text, error));
    }
    tn_buffer_text(text, "]");
    return TN_OK;
}

static tn_status put_value(const char *name, const json_t *value, tn_buffer *text, tn_error *error) {
    char number[32];
    switch (json_typeof(value)) {
    case JSON_STRING:
        if (strlen(json_string_value(value)) != json_string_length(value))
            return tn_fail(error, TN_INPUT, "%.60s holds a zero byte", name);
        tn_buffer_text(text, json_string_value(value));
        return TN_OK;
    case JSON_INTEGER:
        tn_buffer_format(text, "%lld", (long long)json_integer_value(value));
        return TN_OK;
    case JSON_REAL:
        tn_real_text(json_real_value(value), number, sizeof number);
        tn_buffer_text(text, number);
        return TN_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        tn_buffer_text(text, json_is_true(value) ? "true" : "false");
        return TN_OK;
    case JSON_ARRAY:
        return put_row(name, value, text, error);
    default:
        return tn_fail(error, TN_INPUT, "%.60s takes texts, numbers and lists of them, not %s", name,
                       json_is_null(value) ? "null" : "an object");
    }
}

static tn_status value_text(const char *name, const json_t *value, tn_arena *arena, const char **text,
                            tn_error *error) {
    tn_buffer made = {0};
    tn_status status = put_value(name, value, &made, error);
    if (status != TN_OK) {
        tn_buffer_free(&made);
        return status;
    }
    return copy_text(&made, arena, text, error);
}

/* Texts of a list's items, or "KEY=VALUE" of an object's. */
static tn_status read_texts(const char *name, json_t *value, tn_arena *arena, size_t *count,
                            const char *const **texts, tn_error *error) {
    const char **text, *key;
    size_t i = 0;
    json_t *item;
    *count = json_is_object(value)  ? json_object_size(value)
             : json_is_array(value) ? json_array_size(value)
                                    : 1;
    TN_TRY(TN_NEW(arena, *count + 1, &text, error));
    *texts = text;
    if (!json_is_object(value) && !json_is_array(value)) return value_text(name, value, arena, text, error);
    if (json_is_array(value)) {
        json_array_foreach(value, i, item) TN_TRY(value_text(name, item, arena, &text[i], error));
        return TN_OK;
    }
    json_object_foreach(value, key, item) {
        const char *right;
        TN_TRY(value_text(key, item, arena, &right, error));
        TN_TRY(tn_arena_format(arena, &text[i++], error, "%s=%s", key, right));
    }
    return TN_OK;
}

static tn_status read_options(json_t *options, tn_arena *arena, tn_named_request *named, tn_error *error) {
    tn_named_option *option;
    const char *key;
    json_t *value;
    if (!options || json_is_null(options)) return TN_OK;
    if (!json_is_object(options))
        return tn_fail(error, TN_INPUT, "\"options\" takes an object, such as {\"device\": \"u50\"}");
    TN_TRY(TN_NEW(arena, json_object_size(options) + 1, &option, error));
    named->option = option;
    json_object_foreach(options, key, value) {
        if (json_is_null(value)) continue;
        option->name = key;
        option->is_truth = json_is_boolean(value);
        option->truth = json_is_true(value);
        if (!option->is_truth) TN_TRY(read_texts(key, value, arena, &option->count, &option->text, error));
        option++;
        named->options++;
    }
    return TN_OK;
}

static tn_status check_keys(json_t *request, tn_error *error) {
    static const char *const keys[] = {"command", "arguments", "options"};
    enum { KEYS = sizeof keys / sizeof *keys };
    const char *key;
    json_t *value;
    if (!json_is_object(request))
        return tn_fail(error, TN_INPUT,
                       "a request is an object: {\"command\": \"cost\", \"arguments\": [...]}");
    json_object_foreach(request, key, value) {
        bool known = false;
        char told[128];
        for (size_t i = 0; i < KEYS; i++) known = known || strcmp(key, keys[i]) == 0;
        if (!known)
            return tn_fail(error, TN_INPUT, "a request has no key \"%.60s\"; %s", key,
                           tn_suggestion(key, keys, KEYS, told, sizeof told));
    }
    return TN_OK;
}

/* Texts are the request's or the arena's. */
static tn_status read_request(json_t *request, tn_arena *arena, const tn_command **command,
                              tn_named_request *named, tn_error *error) {
    TN_TRY(check_keys(request, error));
    const char *name = json_string_value(json_object_get(request, "command"));
    json_t *arguments = json_object_get(request, "arguments");
    if (!name) return tn_fail(error, TN_INPUT, "a request needs \"command\", a name such as \"cost\"");
    TN_TRY(tn_command_find(name, command, error));
    if (arguments && !json_is_array(arguments))
        return tn_fail(error, TN_INPUT, "\"arguments\" takes a list, such as [\"atis-2enc\"]");
    if (arguments)
        TN_TRY(read_texts("arguments", arguments, arena, &named->arguments, &named->argument, error));
    return read_options(json_object_get(request, "options"), arena, named, error);
}

/* ---- the answer ---- */

/* The last thing that was noted says why there is no answer. */
typedef struct hearing {
    const tn_listener *listener;
    char last[512];
} hearing;

static void hear_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    const tn_listener *listener = ((hearing *)user)->listener;
    if (listener && listener->progress) listener->progress(listener->user, what, done, total);
}

static void hear_note(void *user, const char *text) {
    hearing *h = user;
    const char *lead = "tenfold: ";
    if (strncmp(text, lead, strlen(lead)) == 0) text += strlen(lead);
    snprintf(h->last, sizeof h->last, "%s", text);
    if (h->listener && h->listener->note) h->listener->note(h->listener->user, text);
}

static tn_status answer_request(json_t *request, const tn_listener *listener, tn_buffer *out,
                                tn_error *error) {
    tn_arena arena = {0};
    const tn_command *command;
    tn_named_request named = {0};
    int answer = 0;
    hearing heard = {.listener = listener};
    const tn_listener hearer = {.progress = hear_progress, .note = hear_note, .user = &heard};
    tn_status status = read_request(request, &arena, &command, &named, error);
    if (status == TN_OK) {
        tn_capture_begin(out, &hearer);
        status = tn_command_ask(command, &named, &answer, error);
        tn_capture_end();
    }
    tn_arena_free(&arena);
    if (status == TN_OK && out->status != TN_OK)
        status = tn_fail(error, out->status, "no memory for the answer");
    if (status == TN_OK && out->length == 0)
        status = tn_fail(error, TN_INPUT, "%s", heard.last[0] ? heard.last : "there is nothing to answer");
    return status;
}

tn_status tn_ask_heard(const char *request, const tn_listener *listener, char **answer, tn_error *error) {
    json_error_t wrong;
    tn_buffer out = {0};
    *answer = NULL;
    json_t *read = json_loads(request, JSON_REJECT_DUPLICATES, &wrong);
    if (!read)
        return tn_fail_at(error, TN_INPUT, (tn_position){NULL, (unsigned)wrong.line, (unsigned)wrong.column},
                          "the request is no JSON: %s", wrong.text);
    tn_status status = answer_request(read, listener, &out, error);
    json_decref(read);
    if (status == TN_OK)
        *answer = out.data;
    else
        tn_buffer_free(&out);
    return status;
}

tn_status tn_ask(const char *request, char **answer, tn_error *error) {
    return tn_ask_heard(request, NULL, answer, error);
}

void tn_answer_free(char *answer) {
    tn_free(answer);
}

const char *tn_version(void) {
    return TENFOLD_VERSION;
}
