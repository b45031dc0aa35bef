/* tenfold query DIR [EXPR]: the designs of a sweep that fulfil a condition. */
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "results/query.h"
#include "text/csv.h"
#include "text/json.h"
#include "text/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    tn_common common;
    const char *sort, *columns;
    uint64_t limit;
    bool all, csv, descending, origin;
} request;

/* What is shown of each design. */
typedef struct {
    const tn_space *space;
    const char *where;
    bool origin; /* of each row: names of space, model and device */
    size_t count;
    const tn_design_column **column;
} view;

/* ---- which columns ---- */

static tn_status named_columns(const char *list, const tn_design_columns *all, view *window,
                               tn_error *error) {
    for (unsigned index = 1; *list;) {
        size_t length = strcspn(list, ",");
        const tn_position place = {"--columns", 1, index};
        TN_TRY(tn_design_column_find(all, list, length, place, &window->column[window->count], error));
        for (size_t i = 0; i < window->count; i++)
            if (window->column[i] == window->column[window->count])
                return tn_fail_at(error, TN_INPUT, place, "'%s' is named twice", window->column[i]->name);
        window->count++;
        index += (unsigned)length + 1;
        list += length;
        if (*list == ',' && list[1] == '\0')
            return tn_fail_at(error, TN_INPUT, (tn_position){"--columns", 1, index},
                              "a name is missing behind the last comma");
        list += *list == ',';
    }
    return window->count ? TN_OK : tn_fail(error, TN_INPUT, "--columns is empty; name at least one");
}

static bool is_objective(const tn_space *space, const tn_design_column *column) {
    for (size_t i = 0; i < space->objectives; i++)
        if (strcmp(space->objective[i]->name, column->name) == 0) return true;
    return false;
}

/* Programs get every column; people the choices, the objectives and what they asked about. */
static tn_status choose_columns(const request *asked, const tn_query *query, const tn_design_columns *all,
                                view *window, tn_error *error) {
    bool person = !asked->common.json && !asked->csv;
    TN_TRY(TN_NEW((tn_arena *)&asked->common.arena, all->count, &window->column, error));
    if (asked->columns) return named_columns(asked->columns, all, window, error);
    for (size_t i = 0; i < all->count; i++) {
        const tn_design_column *column = &all->column[i];
        bool wanted = column->kind != TN_DESIGN_QUANTITY || column == query->order ||
                      is_objective(window->space, column) ||
                      (query->where && tn_condition_mentions(query->where, column->name));
        if (!person || wanted) window->column[window->count++] = column;
    }
    return TN_OK;
}

/* ---- output ---- */

static tn_status print_csv(const view *window, const tn_query_answer *found, tn_error *error) {
    tn_buffer out = {0}, value = {0};
    static const char *const origin[] = {"space", "model", "device"};
    for (int i = 0; window->origin && i < 3; i++) tn_csv_put(&out, origin[i]);
    for (size_t c = 0; c < window->count; c++) tn_csv_put(&out, window->column[c]->name);
    tn_csv_line(&out);
    for (size_t i = 0; i < found->count; i++) {
        const tn_space *own = tn_space_of(window->space, found->design[i].id);
        if (window->origin) {
            tn_csv_put(&out, window->space->name);
            tn_csv_put(&out, tn_model_name(own->model));
            tn_csv_put(&out, tn_device_name(own->device));
        }
        for (size_t c = 0; c < window->count; c++) {
            value.length = 0;
            tn_candidate_text(&window->space->choices, window->column[c], &found->design[i], &value);
            tn_csv_put(&out, value.data ? value.data : "");
        }
        tn_csv_line(&out);
    }
    if (value.status != TN_OK) out.status = value.status;
    tn_buffer_free(&value);
    return tn_output(&out, error);
}

static void put_value(const view *window, const tn_design_column *column, const tn_candidate *design,
                      tn_buffer *value, tn_json *json) {
    bool is_text = column->kind == TN_DESIGN_CHOICE && column->has_texts;
    tn_json_key(json, column->name);
    value->length = 0;
    tn_candidate_text(&window->space->choices, column, design, value);
    uint64_t count;
    if (!is_text && value->data && tn_read_count(value->data, &count) == TN_NUMBER_OK)
        tn_json_count(json, count);
    else if (is_text)
        tn_json_text(json, value->data);
    else
        tn_json_real(json, tn_candidate_number(&window->space->choices, column, design));
}

static tn_status print_json(const view *window, bool all, const tn_query_answer *found, tn_error *error) {
    tn_buffer out = {0}, value = {0};
    tn_json json;
    tn_answer_begin(&json, &out);
    tn_json_put_text(&json, "space", window->space->name);
    tn_json_put_text(&json, "where", window->where);
    tn_json_put_text(&json, "of", all ? "all" : "front");
    tn_json_put_count(&json, "designs", found->asked);
    tn_json_put_count(&json, "matched", found->matched);
    tn_json_key(&json, "rows");
    tn_json_array(&json);
    for (size_t i = 0; i < found->count; i++) {
        tn_json_object(&json);
        const tn_space *own = tn_space_of(window->space, found->design[i].id);
        if (window->origin) {
            tn_json_put_text(&json, "space", window->space->name);
            tn_json_put_text(&json, "model", tn_model_name(own->model));
            tn_json_put_text(&json, "device", tn_device_name(own->device));
        }
        for (size_t c = 0; c < window->count; c++)
            put_value(window, window->column[c], &found->design[i], &value, &json);
        tn_json_end(&json);
    }
    tn_json_end(&json);
    tn_json_end(&json);
    if (value.status != TN_OK) out.status = value.status;
    tn_buffer_free(&value);
    return tn_output(&out, error);
}

/* Ids as --point takes them, quantities with the prefix of their column. */
static void put_cell(const view *window, const tn_design_column *column, const tn_prefix *prefix,
                     const tn_candidate *design, tn_buffer *value, tn_table *table) {
    char text[48];
    double number = tn_candidate_number(&window->space->choices, column, design);
    if (column->kind == TN_DESIGN_QUANTITY) {
        tn_table_text(table, isnan(number) ? "-" : tn_plain_text(number * prefix->scale, text));
        return;
    }
    value->length = 0;
    tn_candidate_text(&window->space->choices, column, design, value);
    tn_table_text(table, value->data ? value->data : "");
}

static tn_prefix prefix_of(const view *window, const tn_design_column *column, const tn_query_answer *found) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; column->kind == TN_DESIGN_QUANTITY && i < found->count; i++) {
        double number = fabs(tn_candidate_number(&window->space->choices, column, &found->design[i]));
        if (!isfinite(number) || number == 0) continue;
        least = fmin(least, number);
        most = fmax(most, number);
    }
    return tn_prefix_between(tn_word_unit(column->name), fmin(least, most), most);
}

static void put_head(const tn_design_column *column, const tn_prefix *prefix, tn_buffer *head,
                     tn_table *table) {
    head->length = 0;
    tn_word_put_head(column->name, column->kind == TN_DESIGN_QUANTITY ? prefix->unit : NULL, head);
    tn_table_text(table, head->data);
}

static tn_status print_table(const view *window, bool all, const tn_query_answer *found, tn_error *error) {
    char matched[32], asked[32], shown[32];
    tn_table table;
    tn_buffer value = {0};
    tn_prefix *prefix;
    TN_TRY(TN_ALLOC(window->count, &prefix, error));
    tn_table_begin(&table, window->count);
    table.constants = true;
    for (size_t c = 0; c < window->count; c++) {
        prefix[c] = prefix_of(window, window->column[c], found);
        put_head(window->column[c], &prefix[c], &value, &table);
    }
    for (size_t i = 0; i < found->count; i++)
        for (size_t c = 0; c < window->count; c++)
            put_cell(window, window->column[c], &prefix[c], &found->design[i], &value, &table);
    if (value.status != TN_OK) table.status = value.status;
    tn_buffer_free(&value);
    tn_free(prefix);
    TN_TRY(tn_table_end(&table, error));
    tn_say("\n%s of the %s %s", tn_count_text(found->matched, matched), tn_count_text(found->asked, asked),
           all ? "designs that were kept" : "designs of the front");
    if (found->count < found->matched) tn_say(", the first %s shown", tn_count_text(found->count, shown));
    tn_say("\n");
    return TN_OK;
}

/* ---- the command ---- */

static tn_status say_none(const request *asked, const view *window, const tn_query_answer *found) {
    char text[32];
    if (!asked->common.quiet)
        tn_note("none of the %s %s fulfils: %s", tn_count_text(found->asked, text),
                asked->all ? "designs that were kept" : "designs of the front",
                window->where ? window->where : "nothing is asked");
    return TN_OK;
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    tn_arena *arena = &asked->common.arena;
    tn_result result;
    tn_design_columns columns;
    tn_query query = {.most = asked->limit, .all = asked->all, .descending = asked->descending};
    tn_query_answer found;
    if (asked->csv && asked->common.json)
        return tn_fail(error, TN_INPUT, "--csv and --json exclude each other; give one");
    if (asked->origin && !asked->csv && !asked->common.json)
        return tn_fail(error, TN_INPUT, "--origin goes with --csv or --json");
    if (asked->descending && !asked->sort) return tn_fail(error, TN_INPUT, "--descending goes with --sort");
    TN_TRY(tn_result_load(asked->common.argument[0], arena, &result, error));
    view window = {.space = result.space, .origin = asked->origin};
    const tn_resources has = tn_device_resources(result.space->device);
    TN_TRY(tn_design_columns_of(&result.space->choices, &has, arena, &columns, error));
    if (asked->common.arguments > 1) {
        TN_TRY(tn_condition_parse(asked->common.argument[1], (tn_position){"EXPR", 1, 1}, result.space, arena,
                                  &query.where, error));
        window.where = tn_condition_text(query.where);
    }
    if (asked->sort)
        TN_TRY(tn_design_column_find(&columns, asked->sort, strlen(asked->sort),
                                     (tn_position){"--sort", 1, 1}, &query.order, error));
    TN_TRY(choose_columns(asked, &query, &columns, &window, error));
    TN_TRY(tn_query_run(&result, &query, arena, &found, error));
    tn_print_incomplete(&result, true);
    *answer = found.matched == 0;
    if (asked->csv) return print_csv(&window, &found, error);
    if (asked->common.json) return print_json(&window, asked->all, &found, error);
    return found.matched ? print_table(&window, asked->all, &found, error) : say_none(asked, &window, &found);
}

static const request defaults = {.limit = UINT64_MAX};
static const tn_option options[] = {
    {"--sort", TN_INTO(request, sort), "KEY",
     "order by this quantity or choice, the least first; default: by id"},
    {"--descending", TN_INTO(request, descending), NULL, "the greatest first"},
    {"--limit", TN_INTO(request, limit), "N", "show the first N; default all"},
    {"--columns", TN_INTO(request, columns), "K,K",
     "show these, in this order; default: the choices, the objectives and what is asked about, and "
     "everything with --csv and --json"},
    {"--all", TN_INTO(request, all), NULL, "ask all designs that sweep --keep-all kept, not the front alone"},
    {"--csv", TN_INTO(request, csv), NULL, "print CSV"},
    {"--origin", TN_INTO(request, origin), NULL,
     "with --csv or --json: names of space, model and device in every row, for results that are put "
     "together"},
};

static const tn_column answer_keys[] = {
    TN_ANSWER_KEY("space", "string"),    TN_ANSWER_KEY("where", "string null"),
    TN_ANSWER_KEY("of", "string"),       TN_ANSWER_KEY("designs", "integer"),
    TN_ANSWER_KEY("matched", "integer"), TN_ANSWER_LIST("rows", "object"),
};
static const tn_record answer_record = {.column = answer_keys,
                                        .columns = sizeof answer_keys / sizeof *answer_keys};

const tn_command tn_command_query = {
    .name = "query",
    .summary = "list the designs of a sweep that fulfil a condition",
    .usage = "DIR ['EXPR'] [--sort KEY] [--limit N] [--columns K,K] [--all] [--csv|--json]",
    .arguments = {1, 2},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
