/* tenfold hardware QUESTION [--device D] OPTIONS | --batch FILE.csv */
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/hardware_questions.h"
#include "cli/output.h"
#include "text/csv.h"
#include "text/json.h"
#include "text/number.h"
#include "text/table.h"

#include <stdio.h>
#include <string.h>

static const char *const labels[] = {"name", "id"}; /* columns of a batch that are passed on */
enum { LABELS = sizeof labels / sizeof *labels, NO_COLUMN = -1, OWN_OPTIONS = 3, CHOICES_WIDTH = 14 };

typedef struct {
    tn_common common;
    const tn_question *question;
    const char *given[TN_PARAMETERS_MOST]; /* options; NULL: not given */
    const char *device_name, *batch;
    tn_option_list set;
    const tn_device *device;
} request;

static tn_status find_question(const char *name, const tn_question **question, tn_error *error) {
    const char *names[16];
    for (size_t i = 0; i < tn_questions_count; i++) {
        names[i] = tn_questions[i].name;
        if (strcmp(name, names[i]) != 0) continue;
        *question = &tn_questions[i];
        return TN_OK;
    }
    const char *near = tn_suggest(name, names, tn_questions_count);
    if (near) return tn_fail(error, TN_INPUT, "no question called '%.60s'; did you mean %s?", name, near);
    return tn_fail(error, TN_INPUT, "no question called '%.60s'; see tenfold help hardware", name);
}

/* --- Values: a text given as an option or in a cell becomes a number or a choice. */

static tn_status unknown_choice(const tn_parameter *p, const char *text, tn_position at, tn_error *error) {
    size_t count = 0;
    while (p->choices[count]) count++;
    const char *near = tn_suggest(text, p->choices, count);
    if (near)
        return tn_fail_at(error, TN_INPUT, at, "%s is not '%.60s'; did you mean %s?", p->name, text, near);
    return tn_fail_at(error, TN_INPUT, at, "%s is not '%.60s'; it is %s, or another of %zu", p->name, text,
                      p->choices[0], count);
}

/* A value of a parameter. Sizes stay text: the question reads them. */
static tn_status read_value(const tn_question *q, size_t which, const char *text, tn_position at,
                            tn_question_values *values, tn_error *error) {
    const tn_parameter *p = &q->parameter[which];
    uint64_t *value = &values->value[which];
    if (p->choices == tn_sizes) {
        values->text[which] = text;
        return TN_OK;
    }
    if (p->choices) {
        for (uint64_t i = 0; p->choices[i]; i++)
            if (strcmp(p->choices[i], text) == 0) {
                *value = i;
                return TN_OK;
            }
        return unknown_choice(p, text, at, error);
    }
    switch (tn_read_count(text, value)) {
    case TN_NUMBER_OK:
        return TN_OK;
    case TN_NUMBER_RANGE:
        return tn_fail_at(error, TN_OVERFLOW, at, "%s = %.60s does not fit 64 bits", p->name, text);
    case TN_NUMBER_MALFORMED:
        break;
    }
    return tn_fail_at(error, TN_INPUT, at, "%s is not '%.60s'; it is a whole number", p->name, text);
}

/* Answers with the place of the row where the library knew none. */
static tn_status ask(const tn_question *question, const tn_question_values *values, tn_position at,
                     tn_answer *answer, tn_error *error) {
    tn_error unplaced = {0};
    *answer = (tn_answer){0};
    tn_status status = question->ask(values, answer, &unplaced);
    if (status == TN_OK) return TN_OK;
    return tn_fail_at(error, status, at, "%s", unplaced.message);
}

/* --- Output of answers. */

static void put_json_value(tn_json *json, const tn_parameter *p, uint64_t value, const char *text) {
    if (p->choices == tn_sizes)
        tn_json_put_text(json, p->name, *text ? text : NULL);
    else if (p->choices)
        tn_json_put_text(json, p->name, p->choices[value]);
    else
        tn_json_put_count(json, p->name, value);
}

static void put_json_row(tn_json *json, const tn_question *q, const tn_question_values *values,
                         const tn_answer *answer) {
    for (size_t i = 0; i < q->parameters; i++)
        put_json_value(json, &q->parameter[i], values->value[i], values->text[i]);
    tn_record_keys(q->record, answer, json);
}

/* --- One question. */

static tn_status answer_one(request *r, tn_error *error) {
    const tn_question *q = r->question;
    tn_question_values values = {.device = r->device};
    tn_answer answer;
    const tn_position nowhere = {0};
    for (size_t i = 0; i < q->parameters; i++) {
        const char *text = r->given[i] ? r->given[i] : q->parameter[i].fallback;
        if (!text)
            return tn_fail(error, TN_INPUT, "%s needs --%s, %s", q->name, q->parameter[i].name,
                           q->parameter[i].help);
        TN_TRY(read_value(q, i, text, nowhere, &values, error));
    }
    TN_TRY(ask(q, &values, nowhere, &answer, error));
    if (!r->common.json) return tn_output_rows(q->record, &answer, 1, error);
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_put_text(&json, "question", q->name);
    if (r->device) tn_json_put_text(&json, "device", tn_device_name(r->device));
    put_json_row(&json, q, &values, &answer);
    tn_json_end(&json);
    return tn_output(&out, error);
}

/* --- A batch: a question a row. */

static bool same_name(const char *parameter, const char *column) {
    size_t i = 0;
    for (; parameter[i] && column[i]; i++)
        if (parameter[i] != column[i] && !(parameter[i] == '-' && column[i] == '_')) return false;
    return parameter[i] == column[i];
}

/* What a column of the file is: a parameter, or a label (NO_COLUMN). */
static tn_status identify(const tn_question *q, const tn_csv_cell *head, int *parameter, tn_error *error) {
    *parameter = NO_COLUMN;
    for (size_t i = 0; i < q->parameters; i++)
        if (same_name(q->parameter[i].name, head->text)) {
            *parameter = (int)i;
            return TN_OK;
        }
    for (size_t i = 0; i < LABELS; i++)
        if (strcmp(labels[i], head->text) == 0) return TN_OK;
    for (size_t i = 0; i < q->record->columns; i++)
        if (q->record->column[i].key && strcmp(q->record->column[i].key, head->text) == 0)
            return tn_fail_at(error, TN_INPUT, head->at,
                              "column '%s' is what %s answers; rename or remove it", head->text, q->name);
    const char *names[TN_PARAMETERS_MOST + LABELS];
    for (size_t i = 0; i < q->parameters; i++) names[i] = q->parameter[i].name;
    memcpy(names + q->parameters, labels, sizeof labels);
    const char *near = tn_suggest(head->text, names, q->parameters + LABELS);
    if (near)
        return tn_fail_at(error, TN_INPUT, head->at, "%s has no column '%.60s'; did you mean %s?", q->name,
                          head->text, near);
    return tn_fail_at(error, TN_INPUT, head->at, "%s has no column '%.60s'; see tenfold hardware %s --help",
                      q->name, head->text, q->name);
}

/* Where each parameter comes from: its column, or NO_COLUMN and then the option or the default. */
static tn_status map_columns(const request *r, const tn_csv *csv, int *column, tn_error *error) {
    const tn_question *q = r->question;
    for (size_t i = 0; i < q->parameters; i++) column[i] = NO_COLUMN;
    for (size_t c = 0; c < csv->columns; c++) {
        int parameter;
        TN_TRY(identify(q, &csv->head[c], &parameter, error));
        if (parameter == NO_COLUMN) continue;
        if (r->given[parameter] || column[parameter] != NO_COLUMN)
            return tn_fail_at(error, TN_INPUT, csv->head[c].at, "%s is given twice; give it once",
                              q->parameter[parameter].name);
        column[parameter] = (int)c;
    }
    for (size_t i = 0; i < q->parameters; i++)
        if (column[i] == NO_COLUMN && !r->given[i] && !q->parameter[i].fallback)
            return tn_fail_at(error, TN_INPUT, (tn_position){csv->file, 1, 1},
                              "a batch for %s needs a column '%s', %s", q->name, q->parameter[i].name,
                              q->parameter[i].help);
    return TN_OK;
}

static tn_status answer_row(const request *r, const tn_csv *csv, size_t row, const int *column,
                            tn_question_values *values, tn_answer *answer, tn_error *error) {
    const tn_question *q = r->question;
    tn_position at = csv->columns ? tn_csv_at(csv, row, 0)->at : (tn_position){0};
    values->device = r->device;
    for (size_t i = 0; i < q->parameters; i++) {
        const char *text = r->given[i] ? r->given[i] : q->parameter[i].fallback;
        tn_position where = {0};
        if (column[i] != NO_COLUMN) {
            const tn_csv_cell *cell = tn_csv_at(csv, row, (size_t)column[i]);
            text = cell->text;
            where = cell->at;
        }
        TN_TRY(read_value(q, i, text, where, values, error));
    }
    return ask(q, values, at, answer, error);
}

static void put_csv_head(tn_buffer *out, const tn_csv *csv, const tn_question *q) {
    for (size_t c = 0; c < csv->columns; c++) tn_csv_put(out, csv->head[c].text);
    tn_record_csv_head(q->record, out);
    tn_csv_line(out);
}

static void put_csv_row(tn_buffer *out, const tn_csv *csv, size_t row, const tn_question *q,
                        const tn_answer *answer) {
    for (size_t c = 0; c < csv->columns; c++) tn_csv_put(out, tn_csv_at(csv, row, c)->text);
    tn_record_csv(q->record, answer, out);
    tn_csv_line(out);
}

static void put_json_labels(tn_json *json, const tn_csv *csv, size_t row) {
    for (size_t i = 0; i < LABELS; i++) {
        size_t column = tn_csv_column(csv, labels[i]);
        if (column < csv->columns) tn_json_put_text(json, labels[i], tn_csv_at(csv, row, column)->text);
    }
}

static tn_status answer_rows(const request *r, const tn_csv *csv, tn_buffer *out, tn_error *error) {
    int column[TN_PARAMETERS_MOST];
    tn_json json;
    TN_TRY(map_columns(r, csv, column, error));
    if (r->common.json) {
        tn_json_begin(&json, out);
        tn_json_object(&json);
        tn_json_put_text(&json, "question", r->question->name);
        if (r->device) tn_json_put_text(&json, "device", tn_device_name(r->device));
        tn_json_key(&json, "rows");
        tn_json_array(&json);
    } else {
        put_csv_head(out, csv, r->question);
    }
    for (size_t row = 0; row < csv->rows; row++) {
        tn_question_values values = {0};
        tn_answer answer;
        TN_TRY(answer_row(r, csv, row, column, &values, &answer, error));
        if (!r->common.json) {
            put_csv_row(out, csv, row, r->question, &answer);
            continue;
        }
        tn_json_object(&json);
        put_json_labels(&json, csv, row);
        put_json_row(&json, r->question, &values, &answer);
        tn_json_end(&json);
    }
    if (r->common.json) {
        tn_json_end(&json);
        tn_json_end(&json);
    }
    return TN_OK;
}

static tn_status answer_batch(request *r, tn_error *error) {
    tn_csv csv;
    tn_buffer out = {0};
    TN_TRY(tn_csv_load(r->batch, &r->common.arena, &csv, error));
    return tn_output_made(answer_rows(r, &csv, &out, error), &out, error);
}

/* --- The command. */

static tn_status load_device(request *r, tn_error *error) {
    const char *name = r->device_name ? r->device_name : r->question->device;
    tn_device *device;
    if (!name && r->set.count > 0)
        return tn_fail(error, TN_INPUT, "--set overrides keys of a device; name it with --device");
    if (!name) return TN_OK;
    TN_TRY(tn_device_load(name, r->set.item, r->set.count, &r->common.arena, &device, error));
    if (tn_device_kind_of(device) != TN_DEVICE_FPGA)
        return tn_fail(error, TN_INPUT, "device %s is no FPGA; `tenfold roofline` answers for it", name);
    r->device = device;
    return TN_OK;
}

static tn_status answer_question(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    (void)answer;
    TN_TRY(load_device(r, error));
    return r->batch ? answer_batch(r, error) : answer_one(r, error);
}

/* A few short choices are shown with the option, others below the options. */
static bool shown_with_option(const tn_parameter *p) {
    size_t length = 0;
    for (size_t i = 0; p->choices[i]; i++) length += strlen(p->choices[i]) + 1;
    return length <= CHOICES_WIDTH;
}

static tn_status argument_text(const tn_parameter *p, tn_arena *arena, const char **text, tn_error *error) {
    *text = p->choices == tn_sizes ? "SIZES" : p->choices ? "NAME" : "N";
    if (!p->choices || p->choices == tn_sizes || !shown_with_option(p)) return TN_OK;
    *text = p->choices[0];
    for (size_t i = 1; p->choices[i]; i++)
        TN_TRY(tn_arena_format(arena, text, error, "%s|%s", *text, p->choices[i]));
    return TN_OK;
}

static void print_long_choices(const void *asked) {
    const tn_question *q = ((const request *)asked)->question;
    for (size_t i = 0; i < q->parameters; i++) {
        const tn_parameter *p = &q->parameter[i];
        if (!p->choices || p->choices == tn_sizes || shown_with_option(p)) continue;
        tn_say("\n--%s is one of:", p->name);
        for (size_t c = 0; p->choices[c]; c++) tn_say(" %s", p->choices[c]);
        tn_say("\n");
    }
}

static const tn_option own_options[OWN_OPTIONS] = {
    {"--device", TN_INTO(request, device_name), "DEVICE", "FPGA that answers (kernel: u50; others: none)"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of the device; repeatable"},
    {"--batch", TN_INTO(request, batch), "FILE.csv", "a question a row; columns are the options' names"},
};

/* The options of a question: its parameters, and those of all. */
static tn_status make_options(const tn_question *q, tn_arena *arena, tn_option *option, tn_error *error) {
    for (size_t i = 0; i < q->parameters; i++) {
        const tn_parameter *p = &q->parameter[i];
        const char *name, *help, *argument;
        TN_TRY(tn_arena_format(arena, &name, error, "--%s", p->name));
        TN_TRY(argument_text(p, arena, &argument, error));
        bool shown = p->fallback && *p->fallback;
        TN_TRY(tn_arena_format(arena, &help, error, "%s%s%s%s", p->help, shown ? " (default " : "",
                               shown ? p->fallback : "", shown ? ")" : ""));
        size_t offset = offsetof(request, given) + i * sizeof(const char *);
        option[i] = (tn_option){name, TN_OPTION_TEXT, offset, argument, help};
    }
    memcpy(option + q->parameters, own_options, sizeof own_options);
    return TN_OK;
}

/* A question is a command with its own name, usage and options. */
static tn_status run_question(const tn_question *q, tn_arena *arena, int argc, char **argv, int *answer,
                              tn_error *error) {
    tn_option option[TN_PARAMETERS_MOST + OWN_OPTIONS];
    request *fresh;
    tn_command own = {.name = "hardware",
                      .summary = q->summary,
                      .option = option,
                      .options = q->parameters + OWN_OPTIONS,
                      .request_size = sizeof *fresh,
                      .answer = answer_question,
                      .explain = print_long_choices};
    TN_TRY(tn_arena_alloc(arena, 1, sizeof *fresh, &fresh, error));
    fresh->question = q;
    own.defaults = fresh;
    TN_TRY(tn_arena_format(arena, &own.usage, error,
                           "%s [--device D] OPTIONS\n%s [--device D] [OPTIONS] --batch FILE.csv", q->name,
                           q->name));
    TN_TRY(make_options(q, arena, option, error));
    return tn_command_run(&own, argc, argv, answer, error);
}

/* Without a question. */
static tn_status answer_none(void *asked, int *answer, tn_error *error) {
    (void)asked, (void)answer;
    return tn_fail(error, TN_INPUT,
                   "which question? memory, layout, layer, multiply, array, training, dot, loop or kernel");
}

static void list_questions(const void *asked) {
    (void)asked;
    tn_say("\nquestions (each has its own --help):\n");
    for (size_t i = 0; i < tn_questions_count; i++)
        tn_say("  %-10s %s\n", tn_questions[i].name, tn_questions[i].summary);
}

static tn_status dispatch(const tn_command *command, int argc, char **argv, int *answer, tn_error *error) {
    const tn_question *question;
    tn_arena arena = {0};
    tn_questions_prepare();
    if (argc < 2 || argv[1][0] == '-') return tn_command_answer(command, argc, argv, answer, error);
    TN_TRY(find_question(argv[1], &question, error));
    tn_status status = run_question(question, &arena, argc - 1, argv + 1, answer, error);
    tn_arena_free(&arena);
    return status;
}

const tn_command tn_command_hardware = {
    .name = "hardware",
    .summary = "ask the hardware model one question, or one a row of a table",
    .usage = "memory|layout|layer|multiply|array|training|dot|loop|kernel [--device D] OPTIONS\n"
             "QUESTION [--device D] --batch FILE.csv",
    .answer = answer_none,
    .explain = list_questions,
    .dispatch = dispatch,
};
