/* tenfold technique NAME --KEY VALUE... | --batch FILE.csv | quantise --format FORMAT IN.npy OUT.npy
 *
 * Options and cells of a batch become a mapping, which the technique's schema decodes as it would a file's: one
 * set of checks, with the cell's place in the message. */
#include "cli/cmd_technique.h"

#include "base/checked.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/technique_questions.h"
#include "tensor/number_format.h"
#include "text/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char tn_quantise_source[] = "IEEE 754; Drumond et al., Hybrid Block Floating Point, NeurIPS 2018";

typedef struct technique_quantise_request {
    tn_common common;
    const char *format;
    bool stochastic;
    uint64_t seed;
} technique_quantise_request;
static const technique_quantise_request defaults = {.seed = 1};
static const tn_option options[] = {
    {"--format", TN_INTO(technique_quantise_request, format), "FORMAT",
     "fp32, fp16, bf16, int16, int8, fixed16,8 (bits, behind the point), bfp16,8,4 (group, exponent, "
     "mantissa), olive4 (bits) or olive4,mse (by the scale of least squared error)"},
    {"--stochastic", TN_INTO(technique_quantise_request, stochastic), NULL,
     "round up with the probability of the rest"},
    {"--seed", TN_INTO(technique_quantise_request, seed), "S", "of stochastic rounding (default 1)"},
};

typedef struct quantised {
    const char *technique, *format, *source;
    uint64_t elements, changed, seed;
    double bits_per_value, relative_error, largest_error;
    bool stochastic;
} quantised;
static const tn_column columns[] = {
    TN_COLUMN(quantised, technique, NULL),
    TN_COLUMN(quantised, source, NULL),
    TN_COLUMN(quantised, format, "format"),
    TN_COLUMN(quantised, elements, "elements"),
    TN_COLUMN(quantised, bits_per_value, "value, bits"),
    TN_COLUMN(quantised, changed, "changed"),
    TN_COLUMN(quantised, relative_error, "relative error", TN_POWER(2)),
    TN_COLUMN(quantised, largest_error, "largest error", TN_POWER(2)),
    TN_COLUMN(quantised, stochastic, NULL),
    TN_COLUMN(quantised, seed, "seed", TN_WHEN(quantised, stochastic), TN_OPTIONAL),
};
static const tn_record record = TN_RECORD(quantised, columns);

static tn_status refuse_not_finite(const char *file, const double *values, uint64_t count, tn_error *error) {
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return tn_fail_at(error, TN_INPUT, (tn_position){file, 0, 0},
                              "element %" PRIu64 " is %s; only finite numbers are rounded", i,
                              isnan(values[i]) ? "no number" : "infinite");
    return TN_OK;
}

/* ||rounded - values|| / ||values||, and the largest difference; squares are of shares of the greatest value. */
static void compare(const double *values, const double *rounded, quantised *result) {
    double error = 0, norm = 0, most = 0;
    int e;
    for (uint64_t i = 0; i < result->elements; i++) most = fmax(most, fabs(values[i]));
    (void)frexp(most, &e);
    for (uint64_t i = 0; i < result->elements; i++) {
        double difference = fabs(rounded[i] - values[i]), share = scalbn(values[i], -e);
        result->changed += difference > 0;
        error += scalbn(difference, -e) * scalbn(difference, -e);
        norm += share * share;
        if (difference > result->largest_error) result->largest_error = difference;
    }
    result->relative_error = error > 0 ? sqrt(error / norm) : 0;
}

static tn_status quantise(technique_quantise_request *r, const tn_number_format *format, tn_arrays *arrays,
                          quantised *result, tn_error *error) {
    const char *file = r->common.argument[0];
    const tn_array_info *info = tn_arrays_info(arrays, 0);
    double *values, *rounded;
    size_t columns_of = info->axes > 0 ? (size_t)info->shape[info->axes - 1] : 1;
    if (tn_arrays_count(arrays) != 1)
        return tn_fail_at(error, TN_INPUT, (tn_position){file, 0, 0}, "%zu arrays; one .npy file has one",
                          tn_arrays_count(arrays));
    result->elements = info->elements;
    TN_TRY(TN_NEW(&r->common.arena, info->elements, &values, error));
    TN_TRY(TN_NEW(&r->common.arena, info->elements, &rounded, error));
    TN_TRY(tn_arrays_read(arrays, 0, values, error));
    TN_TRY(refuse_not_finite(file, values, info->elements, error));
    if (info->elements > 0) {
        memcpy(rounded, values, info->elements * sizeof *values);
        tn_number_format_round(format, rounded, info->elements / columns_of, columns_of,
                               r->stochastic ? &(uint64_t){r->seed} : NULL);
        compare(values, rounded, result);
    }
    const tn_array_out out = {.name = info->name,
                              .axes = info->axes,
                              .shape = info->shape,
                              .values = rounded,
                              .single = strcmp(info->type, "f8") != 0};
    return tn_npy_write(r->common.argument[1], &out, error);
}

static tn_status answer(void *asked, int *answered, tn_error *error) {
    technique_quantise_request *r = asked;
    tn_number_format format;
    tn_arrays *arrays;
    (void)answered;
    if (!r->format) return tn_fail(error, TN_INPUT, "quantise needs --format, such as bfp16,8,4");
    TN_TRY(tn_number_format_read(r->format, &format, error));
    quantised result = {.technique = "quantise",
                        .source = tn_quantise_source,
                        .format = r->format,
                        .bits_per_value = tn_number_format_bits(&format),
                        .stochastic = r->stochastic,
                        .seed = r->seed};
    TN_TRY(tn_arrays_open(r->common.argument[0], &arrays, error));
    tn_status status = quantise(r, &format, arrays, &result, error);
    tn_arrays_close(arrays);
    TN_TRY(status);
    return r->common.json ? tn_output_json(&record, &result, error)
                          : tn_output_rows(&record, &result, 1, error);
}

const tn_command tn_command_technique_quantise = {
    .name = "technique quantise",
    .summary = "an array as a number format keeps it, groups along its last axis",
    .usage = "--format FORMAT IN.npy OUT.npy",
    .arguments = {2, 2},
    TN_OPTIONS(options),
    TN_REQUEST(technique_quantise_request, &defaults),
    TN_ANSWERS(&record),
    .answer = answer,
};

#define QUANTISE "quantise" /* works on files and has no formula to ask */
_Static_assert((int)TN_TECHNIQUE_KEYS_MOST <= (int)TN_FORMULA_KEYS_MOST, "a technique is a formula");

typedef struct request {
    tn_common common;
    const tn_technique *technique;
    const char *given[TN_TECHNIQUE_KEYS_MOST]; /* options; NULL: not given */
    const char *batch;
} request;

/* --- From texts to a question. */

static tn_status make_scalar(tn_arena *arena, const char *text, size_t length, tn_position position,
                             tn_yaml **node, tn_error *error) {
    TN_TRY(TN_NEW(arena, 1, node, error));
    (*node)->position = position;
    return tn_arena_copy_text(arena, text, length, &(*node)->text, error);
}

/* "10,2,8,4", of a key that takes a list. */
static tn_status make_list(tn_arena *arena, const char *text, tn_position position, tn_yaml **node,
                           tn_error *error) {
    size_t count = 1;
    for (const char *comma = text; (comma = strchr(comma, ',')); comma++) count++;
    TN_TRY(TN_NEW(arena, 1, node, error));
    tn_yaml *list = *node;
    TN_TRY(TN_NEW(arena, count, &list->item, error));
    list->kind = TN_YAML_SEQUENCE;
    list->position = position;
    for (; list->count < count; list->count++) {
        size_t length = strcspn(text, ",");
        TN_TRY(make_scalar(arena, text, length, position, &list->item[list->count], error));
        text += length + 1;
    }
    return TN_OK;
}

static tn_status add_value(tn_arena *arena, const tn_field *field, const char *text, tn_position position,
                           tn_yaml *mapping, tn_error *error) {
    bool list = field->type == TN_FIELD_COUNT_LIST || field->type == TN_FIELD_REAL_LIST;
    tn_yaml **key = &mapping->key[mapping->count], **value = &mapping->item[mapping->count];
    TN_TRY(make_scalar(arena, field->key, strlen(field->key), position, key, error));
    TN_TRY(list ? make_list(arena, text, position, value, error)
                : make_scalar(arena, text, strlen(text), position, value, error));
    mapping->count++;
    return TN_OK;
}

/* --- The technique as a formula. */

/* What is asked, and the question last decoded. */
typedef struct asking {
    const tn_technique *technique;
    const tn_yaml *question;
} asking;

static tn_status ask(void *context, const tn_csv_cell *value, tn_arena *arena, void *answer,
                     tn_error *error) {
    asking *a = context;
    const tn_schema *keys = &a->technique->keys;
    void *decoded;
    tn_yaml *mapping;
    TN_TRY(TN_NEW(arena, 1, &mapping, error));
    mapping->kind = TN_YAML_MAPPING;
    TN_TRY(TN_NEW(arena, keys->count, &mapping->key, error));
    TN_TRY(TN_NEW(arena, keys->count, &mapping->item, error));
    for (size_t i = 0; i < keys->count; i++)
        if (value[i].text)
            TN_TRY(add_value(arena, &keys->field[i], value[i].text, value[i].position, mapping, error));
    TN_TRY(tn_arena_alloc(arena, 1, keys->size, &decoded, error));
    TN_TRY(tn_schema_decode(keys, mapping, arena, decoded, error));
    a->question = mapping;
    return a->technique->ask(decoded, answer, error);
}

static void put_head(void *context, tn_json *json) {
    const tn_technique *technique = ((const asking *)context)->technique;
    tn_json_put_text(json, "technique", technique->name);
    tn_json_put_text(json, "source", technique->source);
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

/* Under the names of the columns of a batch: data_us. */
static void put_asked(void *context, tn_json *json) {
    const tn_yaml *question = ((const asking *)context)->question;
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

static tn_status answer_technique(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    const tn_technique *t = r->technique;
    asking context = {.technique = t};
    tn_formula_key key[TN_TECHNIQUE_KEYS_MOST];
    const tn_technique_formula formula = {"technique", t->name, key,      t->keys.count, &t->answers,
                                          &context,    ask,     put_head, put_asked};
    (void)answer;
    for (size_t i = 0; i < t->keys.count; i++)
        key[i] = (tn_formula_key){t->keys.field[i].key, t->keys.field[i].help, t->keys.field[i].required,
                                  r->given[i]};
    return tn_formula_answer(&formula, r->batch, r->common.json, &r->common.arena, error);
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
    char told[512];
    return tn_fail(error, TN_INPUT, "unknown technique '%.60s'; %s", name,
                   tn_suggestion(name, names, count, told, sizeof told));
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
static tn_status make_command(const tn_technique *technique, tn_arena *arena, tn_command *own,
                              tn_error *error) {
    tn_option *option;
    request *fresh;
    TN_TRY(TN_NEW(arena, technique->keys.count + 1, &option, error));
    TN_TRY(TN_NEW(arena, 1, &fresh, error));
    fresh->technique = technique;
    *own = (tn_command){.name = "technique",
                        .summary = technique->summary,
                        .option = option,
                        .options = technique->keys.count + 1,
                        TN_REQUEST(request, fresh),
                        .answer = answer_technique,
                        .explain = print_source};
    TN_TRY(tn_arena_format(arena, &own->usage, error,
                           "%s --KEY VALUE...\n%s [--KEY VALUE]... --batch FILE.csv", technique->name,
                           technique->name));
    return make_options(&technique->keys, arena, option, error);
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

static tn_status find(tn_arena *arena, const char *name, tn_command *found, tn_error *error) {
    const tn_technique *technique;
    if (strcmp(name, QUANTISE) == 0) {
        *found = tn_command_technique_quantise;
        return TN_OK;
    }
    TN_TRY(find_technique(name, &technique, error));
    return make_command(technique, arena, found, error);
}

/* What was asked and what is answered have keys of their names beside it. */
static const tn_column asked_keys[] = {TN_ANSWER_KEY("technique", "string"),
                                       TN_ANSWER_LIST("rows", "object", TN_OPTIONAL)};
static const tn_record asked_record = {.column = asked_keys,
                                       .columns = sizeof asked_keys / sizeof *asked_keys};

const tn_command tn_command_technique = {
    .name = "technique",
    .summary = "ask a technique's formula one question, or one a row of a table",
    .usage = "NAME --KEY VALUE...\nNAME [--KEY VALUE]... --batch FILE.csv\n"
             "quantise --format FORMAT IN.npy OUT.npy",
    TN_ANSWERS(&asked_record, &record),
    .answer = answer_none,
    .explain = list_techniques,
    .find = find,
};
