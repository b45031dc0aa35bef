/* tenfold technique NAME --KEY VALUE... | --batch FILE.csv | quantise --format FORMAT IN.npy OUT.npy
 *
 * Options and cells of a batch become a mapping, which the technique's schema decodes as it would a file's: one
 * set of checks, with the cell's place in the message. */
#include "base/arena.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/technique_quantise.h"
#include "cli/technique_questions.h"
#include "text/csv.h"

#include <stdio.h>
#include <string.h>

static const char *const labels[] = {"name", "id"}; /* columns of a batch that are passed on */
#define QUANTISE "quantise"                         /* works on files and has no formula to ask */
enum { LABELS = sizeof labels / sizeof *labels, NO_KEY = -1 };

typedef struct request {
    tn_common common;
    const tn_technique *technique;
    const char *given[TN_TECHNIQUE_KEYS_MOST]; /* options; NULL: not given */
    const char *batch;
} request;

/* A row of answers, with what it was asked. */
typedef struct answered {
    const tn_yaml *question;
    void *answer;
} answered;

/* --- From texts to a question. */

static tn_status make_scalar(tn_arena *arena, const char *text, size_t length, tn_position at, tn_yaml **node,
                             tn_error *error) {
    TN_TRY(tn_arena_alloc(arena, 1, sizeof **node, node, error));
    (*node)->at = at;
    return tn_arena_copy_text(arena, text, length, &(*node)->text, error);
}

/* "10,2,8,4", of a key that takes a list. */
static tn_status make_list(tn_arena *arena, const char *text, tn_position at, tn_yaml **node,
                           tn_error *error) {
    size_t count = 1;
    for (const char *comma = text; (comma = strchr(comma, ',')); comma++) count++;
    TN_TRY(tn_arena_alloc(arena, 1, sizeof **node, node, error));
    tn_yaml *list = *node;
    TN_TRY(tn_arena_alloc(arena, count, sizeof *list->item, &list->item, error));
    list->kind = TN_YAML_SEQUENCE;
    list->at = at;
    for (; list->count < count; list->count++) {
        size_t length = strcspn(text, ",");
        TN_TRY(make_scalar(arena, text, length, at, &list->item[list->count], error));
        text += length + 1;
    }
    return TN_OK;
}

static tn_status add_value(tn_arena *arena, const tn_field *field, const char *text, tn_position at,
                           tn_yaml *mapping, tn_error *error) {
    bool list = field->type == TN_FIELD_COUNT_LIST || field->type == TN_FIELD_REAL_LIST;
    tn_yaml **key = &mapping->key[mapping->count], **value = &mapping->item[mapping->count];
    TN_TRY(make_scalar(arena, field->key, strlen(field->key), at, key, error));
    TN_TRY(list ? make_list(arena, text, at, value, error)
                : make_scalar(arena, text, strlen(text), at, value, error));
    mapping->count++;
    return TN_OK;
}

/* Where each key's text comes from: its column of the row (column[key]), or the option. */
static tn_status make_question(const request *r, tn_arena *arena, const tn_csv *csv, size_t row,
                               const int *column, tn_yaml **question, tn_error *error) {
    const tn_schema *keys = &r->technique->keys;
    TN_TRY(tn_arena_alloc(arena, 1, sizeof **question, question, error));
    tn_yaml *mapping = *question;
    mapping->kind = TN_YAML_MAPPING;
    TN_TRY(tn_arena_alloc(arena, keys->count, sizeof *mapping->key, &mapping->key, error));
    TN_TRY(tn_arena_alloc(arena, keys->count, sizeof *mapping->item, &mapping->item, error));
    if (csv && csv->columns > 0) mapping->at = tn_csv_at(csv, row, 0)->at;
    for (size_t i = 0; i < keys->count; i++) {
        const tn_csv_cell option = {r->given[i], {0}};
        const tn_csv_cell *cell =
            csv && column[i] != NO_KEY ? tn_csv_at(csv, row, (size_t)column[i]) : &option;
        if (cell->text) TN_TRY(add_value(arena, &keys->field[i], cell->text, cell->at, mapping, error));
    }
    return TN_OK;
}

/* Answers; what the formula refuses is placed at the row. */
static tn_status ask(const tn_technique *technique, const tn_yaml *question, tn_arena *arena, void **answer,
                     tn_error *error) {
    void *decoded;
    tn_error unplaced = {0};
    TN_TRY(tn_arena_alloc(arena, 1, technique->keys.size, &decoded, error));
    TN_TRY(tn_arena_alloc(arena, 1, technique->answers.size, answer, error));
    TN_TRY(tn_schema_decode(&technique->keys, question, arena, decoded, error));
    tn_status status = technique->ask(decoded, *answer, &unplaced);
    if (status == TN_OK) return TN_OK;
    return tn_fail_at(error, status, question->at, "%s", unplaced.message);
}

/* --- One question. */

/* An option's name is said as it is typed. */
static tn_status require_options(const request *r, const int *column, const char *file, tn_error *error) {
    const tn_schema *keys = &r->technique->keys;
    for (size_t i = 0; i < keys->count; i++) {
        const tn_field *field = &keys->field[i];
        if (!field->required || r->given[i] || (column && column[i] != NO_KEY)) continue;
        if (column)
            return tn_fail_at(error, TN_INPUT, (tn_position){file, 1, 1}, "%s needs a column %s, %s",
                              keys->name, field->key, field->help);
        return tn_fail(error, TN_INPUT, "%s needs --%s, %s", keys->name, field->key, field->help);
    }
    return TN_OK;
}

/* A text that the schema has taken for a number. */
static void put_number(const char *text, tn_json *json) {
    uint64_t count;
    double real = 0;
    if (tn_read_count(text, &count) == TN_NUMBER_OK) {
        tn_json_count(json, count);
        return;
    }
    (void)tn_read_real(text, &real);
    tn_json_real(json, real);
}

/* What was asked, under the names of the columns of a batch: data_us. */
static void put_given(const tn_yaml *question, tn_json *json) {
    for (size_t i = 0; i < question->count; i++) {
        const tn_yaml *value = question->item[i];
        char key[64];
        snprintf(key, sizeof key, "%s", question->key[i]->text);
        for (char *dash = key; (dash = strchr(dash, '-'));) *dash = '_';
        tn_json_key(json, key);
        if (value->kind == TN_YAML_SCALAR) {
            put_number(value->text, json);
            continue;
        }
        tn_json_row(json);
        for (size_t k = 0; k < value->count; k++) put_number(value->item[k]->text, json);
        tn_json_end(json);
    }
}

static tn_status answer_one(request *r, tn_error *error) {
    const tn_technique *technique = r->technique;
    tn_yaml *question;
    void *answer;
    TN_TRY(require_options(r, NULL, NULL, error));
    TN_TRY(make_question(r, &r->common.arena, NULL, 0, NULL, &question, error));
    TN_TRY(ask(technique, question, &r->common.arena, &answer, error));
    if (!r->common.json) return tn_output_rows(&technique->answers, answer, 1, error);
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_put_text(&json, "technique", technique->name);
    tn_json_put_text(&json, "source", technique->source);
    put_given(question, &json);
    tn_record_keys(&technique->answers, answer, &json);
    tn_json_end(&json);
    return tn_output(&out, error);
}

/* --- A batch: a question a row. */

static bool same_name(const char *key, const char *column) {
    size_t i = 0;
    for (; key[i] && column[i]; i++)
        if (key[i] != column[i] && !(key[i] == '-' && column[i] == '_')) return false;
    return key[i] == column[i];
}

static tn_status refuse_column(const tn_technique *technique, const tn_csv_cell *head, tn_error *error) {
    const char *names[TN_TECHNIQUE_KEYS_MOST + LABELS];
    for (size_t i = 0; i < technique->answers.columns; i++)
        if (strcmp(technique->answers.column[i].key, head->text) == 0)
            return tn_fail_at(error, TN_INPUT, head->at,
                              "column '%s' is what %s answers; rename or remove it", head->text,
                              technique->name);
    for (size_t i = 0; i < technique->keys.count; i++) names[i] = technique->keys.field[i].key;
    memcpy(names + technique->keys.count, labels, sizeof labels);
    const char *near = tn_suggest(head->text, names, technique->keys.count + LABELS);
    if (near)
        return tn_fail_at(error, TN_INPUT, head->at, "%s has no column '%.60s'; did you mean %s?",
                          technique->name, head->text, near);
    return tn_fail_at(error, TN_INPUT, head->at, "%s has no column '%.60s'; see tenfold technique %s --help",
                      technique->name, head->text, technique->name);
}

static bool is_label(const char *name) {
    for (size_t i = 0; i < LABELS; i++)
        if (strcmp(labels[i], name) == 0) return true;
    return false;
}

static tn_status map_columns(const request *r, const tn_csv *csv, int *column, tn_error *error) {
    const tn_schema *keys = &r->technique->keys;
    for (size_t i = 0; i < keys->count; i++) column[i] = NO_KEY;
    for (size_t c = 0; c < csv->columns; c++) {
        size_t i = 0;
        while (i < keys->count && !same_name(keys->field[i].key, csv->head[c].text)) i++;
        if (i == keys->count && is_label(csv->head[c].text)) continue;
        if (i == keys->count) return refuse_column(r->technique, &csv->head[c], error);
        if (r->given[i] || column[i] != NO_KEY)
            return tn_fail_at(error, TN_INPUT, csv->head[c].at, "%s is given twice; give it once",
                              keys->field[i].key);
        column[i] = (int)c;
    }
    return require_options(r, column, csv->file, error);
}

static void put_json_row(const request *r, const tn_csv *csv, size_t row, const answered *a, tn_json *json) {
    tn_json_object(json);
    for (size_t i = 0; i < LABELS; i++) {
        size_t column = tn_csv_column(csv, labels[i]);
        if (column < csv->columns) tn_json_put_text(json, labels[i], tn_csv_at(csv, row, column)->text);
    }
    put_given(a->question, json);
    tn_record_keys(&r->technique->answers, a->answer, json);
    tn_json_end(json);
}

static void put_csv_row(const request *r, const tn_csv *csv, size_t row, const answered *a, tn_buffer *out) {
    for (size_t c = 0; c < csv->columns; c++) tn_csv_put(out, tn_csv_at(csv, row, c)->text);
    tn_record_csv(&r->technique->answers, a->answer, out);
    tn_csv_line(out);
}

static tn_status answer_rows(request *r, const tn_csv *csv, tn_buffer *out, tn_error *error) {
    int column[TN_TECHNIQUE_KEYS_MOST];
    tn_json json;
    TN_TRY(map_columns(r, csv, column, error));
    if (r->common.json) {
        tn_json_begin(&json, out);
        tn_json_object(&json);
        tn_json_put_text(&json, "technique", r->technique->name);
        tn_json_put_text(&json, "source", r->technique->source);
        tn_json_key(&json, "rows");
        tn_json_array(&json);
    } else {
        for (size_t c = 0; c < csv->columns; c++) tn_csv_put(out, csv->head[c].text);
        tn_record_csv_head(&r->technique->answers, out);
        tn_csv_line(out);
    }
    tn_arena arena = {0}; /* of a row */
    tn_status status = TN_OK;
    for (size_t row = 0; row < csv->rows && status == TN_OK; row++) {
        answered a;
        tn_yaml *question;
        tn_arena_reset(&arena);
        status = make_question(r, &arena, csv, row, column, &question, error);
        if (status == TN_OK) status = ask(r->technique, question, &arena, &a.answer, error);
        if (status != TN_OK) break;
        a.question = question;
        if (r->common.json)
            put_json_row(r, csv, row, &a, &json);
        else
            put_csv_row(r, csv, row, &a, out);
    }
    tn_arena_free(&arena);
    if (status != TN_OK || !r->common.json) return status;
    tn_json_end(&json);
    tn_json_end(&json);
    return TN_OK;
}

static tn_status answer_technique(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_csv csv;
    tn_buffer out = {0};
    (void)answer;
    if (!r->batch) return answer_one(r, error);
    TN_TRY(tn_csv_load(r->batch, &r->common.arena, &csv, error));
    return tn_output_made(answer_rows(r, &csv, &out, error), &out, error);
}

/* --- The command. */

static tn_status find_technique(const char *name, const tn_technique **technique, tn_error *error) {
    const char *names[64];
    size_t count = 0;
    for (; count < tn_techniques_count && count < 63; count++) {
        names[count] = tn_techniques[count].name;
        if (strcmp(name, names[count]) != 0) continue;
        *technique = &tn_techniques[count];
        return TN_OK;
    }
    names[count++] = QUANTISE;
    const char *near = tn_suggest(name, names, count);
    if (near) return tn_fail(error, TN_INPUT, "no technique called '%.60s'; did you mean %s?", name, near);
    return tn_fail(error, TN_INPUT, "no technique called '%.60s'; see tenfold help technique", name);
}

static const char *argument_of(const tn_field *field) {
    bool list = field->type == TN_FIELD_COUNT_LIST || field->type == TN_FIELD_REAL_LIST;
    return list ? "X,X,..." : field->type == TN_FIELD_COUNT ? "N" : "X";
}

static void print_source(const void *asked) {
    tn_say("\nsource: %s\n", ((const request *)asked)->technique->source);
}

static tn_status make_options(const tn_schema *keys, tn_arena *arena, tn_option *option, tn_error *error) {
    static const tn_option batch = {"--batch", TN_INTO(request, batch), "FILE.csv",
                                    "a question a row; columns are the options' names"};
    for (size_t i = 0; i < keys->count; i++) {
        const tn_field *field = &keys->field[i];
        const char *name, *help = field->help;
        TN_TRY(tn_arena_format(arena, &name, error, "--%s", field->key));
        if (field->fallback)
            TN_TRY(tn_arena_format(arena, &help, error, "%s (default %s)", field->help, field->fallback));
        size_t offset = offsetof(request, given) + i * sizeof(const char *);
        option[i] = (tn_option){name, TN_OPTION_TEXT, offset, argument_of(field), help};
    }
    option[keys->count] = batch;
    return TN_OK;
}

/* A technique is a command with its own name, usage and options. */
static tn_status run_technique(const tn_technique *technique, tn_arena *arena, int argc, char **argv,
                               int *answer, tn_error *error) {
    tn_option option[TN_TECHNIQUE_KEYS_MOST + 1];
    const request fresh = {.technique = technique};
    tn_command own = {.name = "technique",
                      .summary = technique->summary,
                      .option = option,
                      .options = technique->keys.count + 1,
                      TN_REQUEST(request, &fresh),
                      .answer = answer_technique,
                      .explain = print_source};
    TN_TRY(tn_arena_format(arena, &own.usage, error,
                           "%s --KEY VALUE...\n%s [--KEY VALUE]... --batch FILE.csv", technique->name,
                           technique->name));
    TN_TRY(make_options(&technique->keys, arena, option, error));
    return tn_command_run(&own, argc, argv, answer, error);
}

/* Without a technique. */
static tn_status answer_none(void *asked, int *answer, tn_error *error) {
    (void)asked, (void)answer;
    return tn_fail(error, TN_INPUT, "which technique? `tenfold list techniques` names them");
}

static void list_techniques(const void *asked) {
    (void)asked;
    tn_say("\ntechniques (each has its own --help):\n");
    for (size_t i = 0; i < tn_techniques_count; i++)
        tn_say("  %-15s %s\n", tn_techniques[i].name, tn_techniques[i].summary);
    tn_say("  %-15s %s\n", QUANTISE, tn_command_technique_quantise.summary);
}

static tn_status dispatch(const tn_command *command, int argc, char **argv, int *answer, tn_error *error) {
    const tn_technique *technique;
    tn_arena arena = {0};
    if (argc < 2 || argv[1][0] == '-') return tn_command_answer(command, argc, argv, answer, error);
    if (strcmp(argv[1], QUANTISE) == 0)
        return tn_command_run(&tn_command_technique_quantise, argc - 1, argv + 1, answer, error);
    TN_TRY(find_technique(argv[1], &technique, error));
    tn_status status = run_technique(technique, &arena, argc - 1, argv + 1, answer, error);
    tn_arena_free(&arena);
    return status;
}

const tn_command tn_command_technique = {
    .name = "technique",
    .summary = "ask a technique's formula one question, or one a row of a table",
    .usage = "NAME --KEY VALUE...\nNAME [--KEY VALUE]... --batch FILE.csv\n"
             "quantise --format FORMAT IN.npy OUT.npy",
    .answer = answer_none,
    .explain = list_techniques,
    .dispatch = dispatch,
};
