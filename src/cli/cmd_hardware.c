/* tenfold hardware QUESTION [--device D] OPTIONS | --batch FILE.csv | array --execute A.npy B.npy -o C.npy */
#include "cli/cmd_hardware.h"

#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/technique_questions.h"
#include "device/device_data.h"
#include "device/multiply.h"
#include "kernel/pipeline.h"
#include "kernel/systolic_player.h"
#include "text/arrays.h"
#include "text/json.h"
#include "text/number.h"

#include <stdio.h>
#include <string.h>

const char *const tn_sizes[] = {NULL};

const tn_question *const tn_questions[] = {
    &tn_question_memory,   &tn_question_layout, &tn_question_layer, &tn_question_multiply, &tn_question_array,
    &tn_question_training, &tn_question_dot,    &tn_question_loop,  &tn_question_kernel,
};
const size_t tn_questions_count = sizeof tn_questions / sizeof *tn_questions;

/* `tenfold hardware multiply|array|training|dot|loop`: formulas of single circuits (device/multiply.h, systolic.h,
 * pipeline.h). */

/* ---- multiply ---- */

static const char *const dsp_blocks[] = {"device", "dsp48e1", "dsp48e2", NULL};
enum { A_BITS, B_BITS, SIGNEDNESS, BLOCK };
static const tn_parameter multiply_parameters[] = {
    [A_BITS] = {"a", NULL, NULL, "bits of one operand"},
    [B_BITS] = {"b", NULL, NULL, "bits of the other"},
    [SIGNEDNESS] = {"signedness", "signed", tn_signedness_names, "of both"},
    [BLOCK] = {"block", "device", dsp_blocks,
               "the device's DSP block (dsp48e2 without a device), or one by name"},
};
typedef struct {
    uint64_t dsp;
} multiply_answer;
static const tn_column multiply_columns[] = {
    TN_COLUMN(multiply_answer, dsp, "DSP", .unit = "blocks"),
};
static const tn_record multiply_record = TN_RECORD(multiply_answer, multiply_columns);

static tn_status ask_multiply(const tn_question_values *v, void *answer, tn_error *error) {
    const tn_dsp_block *block;
    const char *name = dsp_blocks[v->value[BLOCK]];
    multiply_answer *result = answer;
    if (v->value[BLOCK] == 0) name = v->device ? v->device->dsp_block : tn_dsp48e2.name;
    TN_TRY(tn_dsp_block_find(name, &block, error));
    return tn_multiply_dsp(block, v->value[A_BITS], v->value[B_BITS], (tn_signedness)v->value[SIGNEDNESS],
                           &result->dsp, error);
}

const tn_question tn_question_multiply = TN_QUESTION(multiply, NULL, "DSP blocks of an integer multiplier");

/* ---- array, training ---- */

enum { ROWS, COLUMNS, M, K, N, DATAFLOW, TRANSPOSITION = DATAFLOW };
static const tn_parameter array_parameters[] = {
    [ROWS] = {"rows", NULL, NULL, "processing elements in a column"},
    [COLUMNS] = {"cols", NULL, NULL, "processing elements in a row"},
    [M] = {"m", NULL, NULL, "rows of the product"},
    [K] = {"k", NULL, NULL, "terms of its reduction"},
    [N] = {"n", NULL, NULL, "columns of the product"},
    [DATAFLOW] = {"dataflow", NULL, tn_dataflow_names, "what stays in the array, and who counts the cycles"},
};
static const tn_column array_columns[] = {
    TN_COLUMN(tn_systolic_result, cycles, "cycles"),
    TN_COLUMN(tn_systolic_result, tiles, "tiles"),
    TN_COLUMN(tn_systolic_result, utilisation, "utilisation", TN_FIXED(4), .unit = "MACs/element/cycle"),
};
static const tn_record array_record = TN_RECORD(tn_systolic_result, array_columns);

static tn_status ask_array(const tn_question_values *v, void *answer, tn_error *error) {
    const uint64_t *p = v->value;
    const tn_systolic array = {p[ROWS], p[COLUMNS]};
    const tn_array_product product = {p[M], p[K], p[N]};
    return tn_systolic_cycles(&array, (tn_dataflow)p[DATAFLOW], &product, answer, error);
}

const tn_question tn_question_array = TN_QUESTION(array, NULL, "cycles of a product on a systolic array");

/* ---- array --execute: the array played on the matrices of two files ---- */

static const char *const passes[] = {"forward", "input-gradient", "weight-gradient", NULL}; /* as tn_phase */
enum { PLAY_DATAFLOW = 2, PASS, PLAY_A, PLAY_B, PLAY_C, PLAY_PARAMETERS };
static const tn_parameter play_parameters[] = {
    [ROWS] = {"rows", NULL, NULL, "processing elements in a column"},
    [COLUMNS] = {"cols", NULL, NULL, "processing elements in a row"},
    [PLAY_DATAFLOW] = {"dataflow", NULL, tn_dataflow_names, "what stays in the array"},
    [PASS] = {"pass", "forward", passes, "which of A B, A B^T and A^T B"},
    [PLAY_A] = {"a", NULL, tn_sizes, "left operand"},
    [PLAY_B] = {"b", NULL, tn_sizes, "right operand"},
    [PLAY_C] = {"c", NULL, tn_sizes, "the product"},
};
static const tn_column play_columns[] = {
    TN_COLUMN(tn_array_played, cycles, "cycles"),
    TN_COLUMN(tn_array_played, saved_accesses, "saved accesses", .unit = "words"),
};
static const tn_record play_record = TN_RECORD(tn_array_played, play_columns);

typedef struct {
    const char *path;
    uint64_t rows, columns;
    bool integers;
    tn_array_value *value;
} matrix;

static tn_status read_opened_matrix(tn_arrays *file, tn_arena *arena, matrix *operand, tn_error *error) {
    const tn_array_info *info = tn_arrays_info(file, 0);
    if (tn_arrays_count(file) != 1)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = operand->path},
                          "holds %zu arrays; the array is fed from a file with one, such as a .npy",
                          tn_arrays_count(file));
    if (info->axes != 2)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = operand->path},
                          "has %zu axes; a systolic array multiplies matrices, of 2 axes", info->axes);
    operand->rows = info->shape[0];
    operand->columns = info->shape[1];
    operand->integers = info->integers;
    TN_TRY(TN_NEW(arena, info->elements, &operand->value, error));
    return operand->integers ? tn_arrays_read_integers(file, 0, (void *)operand->value, error)
                             : tn_arrays_read(file, 0, (void *)operand->value, error);
}

static tn_status read_matrix(const char *path, tn_arena *arena, matrix *operand, tn_error *error) {
    tn_arrays *file;
    TN_TRY(tn_arrays_open_numbers(path, &file, error));
    operand->path = path;
    tn_status status = read_opened_matrix(file, arena, operand, error);
    tn_arrays_close(file);
    return status;
}

/* The layer's sizes from the operands of its pass. */
static tn_status match(tn_phase pass, const matrix *a, const matrix *b, tn_array_product *layer,
                       tn_error *error) {
    uint64_t of_a = pass == TN_WEIGHT_GRADIENT ? a->rows : a->columns;
    uint64_t of_b = pass == TN_INPUT_GRADIENT ? b->columns : b->rows;
    *layer = (tn_array_product){a->rows, pass == TN_INPUT_GRADIENT ? b->rows : a->columns, b->columns};
    if (of_a != of_b)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = b->path},
                          "is %llu x %llu and %s %llu x %llu; %s needs as many %s here as %s there",
                          (unsigned long long)b->rows, (unsigned long long)b->columns, a->path,
                          (unsigned long long)a->rows, (unsigned long long)a->columns, passes[pass],
                          pass == TN_INPUT_GRADIENT ? "columns" : "rows",
                          pass == TN_WEIGHT_GRADIENT ? "rows" : "columns");
    if (a->integers != b->integers)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = b->path},
                          "holds %s and %s %s; give both as integers or both in floating point",
                          b->integers ? "integers" : "floating point", a->path,
                          a->integers ? "integers" : "floating point");
    return TN_OK;
}

static tn_status play_files(const tn_question_values *v, tn_arena *arena, tn_array_played *played,
                            tn_error *error) {
    matrix a, b;
    tn_array_value *c;
    tn_array_play play = {.array = {v->value[ROWS], v->value[COLUMNS]},
                          .dataflow = (tn_dataflow)v->value[PLAY_DATAFLOW],
                          .pass = (tn_phase)v->value[PASS]};
    TN_TRY(read_matrix(v->text[PLAY_A], arena, &a, error));
    TN_TRY(read_matrix(v->text[PLAY_B], arena, &b, error));
    TN_TRY(match(play.pass, &a, &b, &play.layer, error));
    play.integers = a.integers;
    play.a = a.value;
    play.b = b.value;
    const uint64_t shape[] = {play.pass == TN_WEIGHT_GRADIENT ? play.layer.k : play.layer.m,
                              play.pass == TN_INPUT_GRADIENT ? play.layer.k : play.layer.n};
    tn_array_out out = {.name = "c", .axes = 2, .shape = shape};
    TN_TRY(tn_arena_alloc(arena, shape[0], shape[1] * sizeof *c, &c, error));
    TN_TRY(tn_systolic_play(&play, c, played, error));
    if (play.integers)
        out.integers = (const void *)c;
    else
        out.values = (const void *)c;
    return tn_npy_write(v->text[PLAY_C], &out, error);
}

static tn_status ask_play(const tn_question_values *v, void *answer, tn_error *error) {
    tn_arena arena = {0};
    tn_status status = play_files(v, &arena, answer, error);
    tn_arena_free(&arena);
    return status;
}

static const tn_question question_play = {"array",         NULL,         NULL,    play_parameters,
                                          PLAY_PARAMETERS, &play_record, ask_play};

static const tn_parameter training_parameters[] = {
    [ROWS] = {"rows", NULL, NULL, "processing elements in a column"},
    [COLUMNS] = {"cols", NULL, NULL, "processing elements in a row"},
    [M] = {"m", NULL, NULL, "tokens"},
    [K] = {"k", NULL, NULL, "inputs of the layer, on the rows"},
    [N] = {"n", NULL, NULL, "outputs of the layer, on the columns"},
    [TRANSPOSITION] = {"transposition", "in-place", (const char *const[]){"in-place", "explicit", NULL},
                       "in the array, or through the buffer"},
};
static const tn_column training_columns[] = {
    TN_COLUMN_AS("forward", tn_systolic_passes, forward_cycles, "forward", .unit = "cycles"),
    TN_COLUMN_AS("input_gradient", tn_systolic_passes, input_gradient_cycles, "input gradient",
                 .unit = "cycles"),
    TN_COLUMN_AS("weight_gradient", tn_systolic_passes, weight_gradient_cycles, "weight gradient",
                 .unit = "cycles"),
    TN_COLUMN(tn_systolic_passes, transposition_cycles, "transposing", .unit = "cycles"),
    TN_COLUMN_AS("total", tn_systolic_passes, total_cycles, "total", .unit = "cycles"),
    TN_COLUMN(tn_systolic_passes, transposition_accesses, "transposing", .unit = "words accessed"),
};
static const tn_record training_record = TN_RECORD(tn_systolic_passes, training_columns);

static tn_status ask_training(const tn_question_values *v, void *answer, tn_error *error) {
    const uint64_t *p = v->value;
    const tn_systolic array = {p[ROWS], p[COLUMNS]};
    const tn_array_product layer = {p[M], p[K], p[N]};
    tn_systolic_training training;
    TN_TRY(tn_systolic_training_cycles(&array, &layer, &training, error));
    *(tn_systolic_passes *)answer =
        p[TRANSPOSITION] == 0 ? training.in_place : training.explicit_transposition;
    return TN_OK;
}

const tn_question tn_question_training =
    TN_QUESTION(training, NULL, "cycles of a layer's three training passes on a systolic array");

/* ---- dot, loop ---- */

static const tn_parameter dot_parameters[] = {
    {"parallel", NULL, NULL, "products an issue"},
    {"mul-latency", NULL, NULL, "cycles of a multiplication"},
    {"add-latency", NULL, NULL, "cycles of an addition"},
    {"ii", NULL, NULL, "cycles between issues"},
    {"m", NULL, NULL, "rows of the product"},
    {"k", NULL, NULL, "terms of its reduction"},
    {"n", NULL, NULL, "columns of the product"},
    {"order", "any", tn_dot_order_names, "ijk: one accumulator; ikj: one a column; any: whichever is legal"},
};
static const tn_column dot_columns[] = {
    TN_COLUMN(tn_dot_result, cycles, "cycles"),
    TN_COLUMN(tn_dot_result, legal, "legal"),
    TN_COLUMN_AS("least_ii", tn_dot_result, least_interval_cycles, "least II", .unit = "cycles"),
};
static const tn_record dot_record = TN_RECORD(tn_dot_result, dot_columns);

static tn_status ask_dot(const tn_question_values *v, void *answer, tn_error *error) {
    const uint64_t *p = v->value;
    const tn_dot dot = {p[0], p[1], p[2], p[3], p[4], p[5], p[6], (tn_dot_order)p[7]};
    return tn_dot_cycles(&dot, answer, error);
}

const tn_question tn_question_dot =
    TN_QUESTION(dot, NULL, "cycles of a pipelined dot-product kernel, and whether its interval is legal");

static const char *const no_yes[] = {"no", "yes", NULL};
enum { TRIPS, ITERATION, PIPELINED, INTERVAL };
static const tn_parameter loop_parameters[] = {
    [TRIPS] = {"trips", NULL, NULL, "iterations"},
    [ITERATION] = {"iteration-latency", NULL, NULL, "cycles of one iteration"},
    [PIPELINED] = {"pipelined", "yes", no_yes, "a new iteration starts before the last one has ended"},
    [INTERVAL] = {"ii", "1", NULL, "pipelined: cycles between iterations"},
};
typedef struct {
    uint64_t cycles;
} loop_answer;
static const tn_column loop_columns[] = {
    TN_COLUMN(loop_answer, cycles, "cycles"),
};
static const tn_record loop_record = TN_RECORD(loop_answer, loop_columns);

static tn_status ask_loop(const tn_question_values *v, void *answer, tn_error *error) {
    const tn_loop loop = {v->value[TRIPS], v->value[ITERATION], v->value[PIPELINED] == 1, v->value[INTERVAL]};
    return tn_loop_cycles(&loop, &((loop_answer *)answer)->cycles, error);
}

const tn_question tn_question_loop =
    TN_QUESTION(loop, NULL, "cycles of a loop as high-level synthesis schedules it");

enum { OWN_OPTIONS = 3, PLAY_OPTIONS = 3, CHOICES_WIDTH = 14 };
_Static_assert((int)TN_PARAMETERS_MOST <= (int)TN_FORMULA_KEYS_MOST, "a question is a formula");

typedef struct {
    tn_common common;
    const tn_question *question;
    const char *given[TN_PARAMETERS_MOST]; /* options; NULL: not given */
    const char *device_name, *batch;
    const char *execute, *pass, *output; /* array */
    tn_option_list set;
    const tn_device *device;
} request;

static tn_status find_question(const char *name, const tn_question **question, tn_error *error) {
    const char *names[16];
    for (size_t i = 0; i < tn_questions_count; i++) {
        names[i] = tn_questions[i]->name;
        if (strcmp(name, names[i]) != 0) continue;
        *question = tn_questions[i];
        return TN_OK;
    }
    char told[256];
    return tn_fail(error, TN_INPUT, "unknown question '%.60s'; %s", name,
                   tn_suggestion(name, names, tn_questions_count, told, sizeof told));
}

/* --- Values: a text given as an option or in a cell becomes a number or a choice. */

static tn_status unknown_choice(const tn_parameter *p, const char *text, tn_position position,
                                tn_error *error) {
    size_t count = 0;
    while (p->choices[count]) count++;
    char told[256];
    return tn_fail_at(error, TN_INPUT, position, "unknown %s '%.60s'; %s", p->name, text,
                      tn_suggestion(text, p->choices, count, told, sizeof told));
}

/* A value of a parameter. Sizes stay text: the question reads them. */
static tn_status read_value(const tn_question *q, size_t which, const char *text, tn_position position,
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
        return unknown_choice(p, text, position, error);
    }
    switch (tn_read_count(text, value)) {
    case TN_NUMBER_OK:
        return TN_OK;
    case TN_NUMBER_RANGE:
        return tn_fail_at(error, TN_OVERFLOW, position, "%s = %.60s does not fit 64 bits", p->name, text);
    case TN_NUMBER_MALFORMED:
        break;
    }
    return tn_fail_at(error, TN_INPUT, position, "%s is not '%.60s'; it is a whole number", p->name, text);
}

/* --- The question as a formula. */

/* What `ask` reads and what is printed of it. */
typedef struct {
    const request *request;
    tn_question_values values;
} asking;

static tn_status ask(void *context, const tn_csv_cell *value, tn_arena *arena, void *answer,
                     tn_error *error) {
    asking *a = context;
    const tn_question *q = a->request->question;
    (void)arena;
    a->values = (tn_question_values){.device = a->request->device};
    for (size_t i = 0; i < q->parameters; i++) {
        const char *text = value[i].text ? value[i].text : q->parameter[i].fallback;
        TN_TRY(read_value(q, i, text, value[i].position, &a->values, error));
    }
    return q->ask(&a->values, answer, error);
}

static void put_head(void *context, tn_json *json) {
    const request *r = ((const asking *)context)->request;
    tn_json_put_text(json, "question", r->question->name);
    if (r->device) tn_json_put_text(json, "device", tn_device_name(r->device));
}

static void put_asked(void *context, tn_json *json) {
    const asking *a = context;
    const tn_question *q = a->request->question;
    for (size_t i = 0; i < q->parameters; i++) {
        const tn_parameter *p = &q->parameter[i];
        if (p->choices == tn_sizes)
            tn_json_put_text(json, p->name, *a->values.text[i] ? a->values.text[i] : NULL);
        else if (p->choices)
            tn_json_put_text(json, p->name, p->choices[a->values.value[i]]);
        else
            tn_json_put_count(json, p->name, a->values.value[i]);
    }
}

static tn_status answer_formula(request *r, tn_error *error) {
    const tn_question *q = r->question;
    asking context = {.request = r};
    tn_formula_key key[TN_PARAMETERS_MOST];
    const tn_technique_formula formula = {"hardware", q->name, key,      q->parameters, q->record,
                                          &context,   ask,     put_head, put_asked};
    for (size_t i = 0; i < q->parameters; i++)
        key[i] = (tn_formula_key){q->parameter[i].name, q->parameter[i].help, !q->parameter[i].fallback,
                                  r->given[i]};
    return tn_formula_answer(&formula, r->batch, r->common.json, &r->common.arena, error);
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

/* From the question `array` to the one that plays it. */
static tn_status ask_to_play(request *r, tn_error *error) {
    const char *const *given = r->given, *right = r->common.arguments ? r->common.argument[0] : NULL;
    if (r->batch)
        return tn_fail(error, TN_INPUT, "--batch counts cycles, it plays no array; leave out --execute");
    if (given[M] || given[K] || given[N])
        return tn_fail(error, TN_INPUT, "--m, --k and --n come from the files of --execute; leave them out");
    if (!right) return tn_fail(error, TN_INPUT, "--execute takes two files, A.npy B.npy; give the second");
    if (!r->output) return tn_fail(error, TN_INPUT, "--execute needs -o C.npy, where the product goes");
    const char *const played[TN_PARAMETERS_MOST] = {
        [ROWS] = given[ROWS], [COLUMNS] = given[COLUMNS], [PLAY_DATAFLOW] = given[DATAFLOW],
        [PASS] = r->pass,     [PLAY_A] = r->execute,      [PLAY_B] = right,
        [PLAY_C] = r->output};
    memcpy(r->given, played, sizeof played);
    r->question = &question_play;
    return TN_OK;
}

static tn_status answer_question(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    (void)answer;
    if (r->execute)
        TN_TRY(ask_to_play(r, error));
    else if (r->common.arguments || r->pass || r->output)
        return tn_fail(error, TN_INPUT, "%s belongs to --execute A.npy B.npy -o C.npy",
                       r->pass     ? "--pass"
                       : r->output ? "-o"
                                   : r->common.argument[0]);
    TN_TRY(load_device(r, error));
    return answer_formula(r, error);
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

static bool is_played(const tn_question *q) {
    return q == &tn_question_array;
}

static const tn_option own_options[OWN_OPTIONS] = {
    {"--device", TN_INTO(request, device_name), "DEVICE", "FPGA that answers (kernel: u50; others: none)"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of the device; repeatable"},
    {"--batch", TN_INTO(request, batch), "FILE.csv", "a question a row; columns are the options' names"},
};

static const tn_option play_options[PLAY_OPTIONS] = {
    {"--execute", TN_INTO(request, execute), "A.npy B.npy",
     "plays the array on two matrices, cycle by cycle"},
    {"--pass", TN_INTO(request, pass), "PASS", "forward: A B; input-gradient: A B^T; weight-gradient: A^T B"},
    {"-o", TN_INTO(request, output), "C.npy", "where the product goes"},
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
    if (is_played(q)) memcpy(option + q->parameters + OWN_OPTIONS, play_options, sizeof play_options);
    return TN_OK;
}

/* A question is a command with its own name, usage and options. */
static tn_status make_command(const tn_question *q, tn_arena *arena, tn_command *own, tn_error *error) {
    tn_option *option;
    request *fresh;
    TN_TRY(TN_NEW(arena, TN_PARAMETERS_MOST + OWN_OPTIONS + PLAY_OPTIONS, &option, error));
    TN_TRY(TN_NEW(arena, 1, &fresh, error));
    fresh->question = q;
    *own = (tn_command){.name = "hardware",
                        .summary = q->summary,
                        .option = option,
                        .arguments = {0, is_played(q)},
                        .options = q->parameters + OWN_OPTIONS + (is_played(q) ? PLAY_OPTIONS : 0),
                        TN_REQUEST(request, fresh),
                        .answer = answer_question,
                        .explain = print_long_choices};
    TN_TRY(tn_arena_format(
        arena, &own->usage, error, "%s [--device D] OPTIONS\n%s [--device D] [OPTIONS] --batch FILE.csv%s",
        q->name, q->name,
        is_played(q) ? "\narray --dataflow NAME --rows N --cols N --execute A.npy B.npy -o "
                       "C.npy [--pass PASS]"
                     : ""));
    return make_options(q, arena, option, error);
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
        tn_say("  %-10s %s\n", tn_questions[i]->name, tn_questions[i]->summary);
}

static tn_status find(tn_arena *arena, const char *name, tn_command *found, tn_error *error) {
    const tn_question *question;
    tn_question_kernel_prepare();
    TN_TRY(find_question(name, &question, error));
    return make_command(question, arena, found, error);
}

/* What was asked and what is answered have keys of their names beside it. */
static const tn_column asked_keys[] = {TN_ANSWER_KEY("question", "string"),
                                       TN_ANSWER_KEY("device", "string", TN_OPTIONAL),
                                       TN_ANSWER_LIST("rows", "object", TN_OPTIONAL)};
static const tn_record asked_record = {.column = asked_keys,
                                       .columns = sizeof asked_keys / sizeof *asked_keys};

const tn_command tn_command_hardware = {
    .name = "hardware",
    .summary = "ask the hardware model one question, or one a row of a table",
    .usage = "memory|layout|layer|multiply|array|training|dot|loop|kernel [--device D] OPTIONS\n"
             "QUESTION [--device D] --batch FILE.csv\n"
             "array --dataflow D --rows R --cols C --execute A.npy B.npy -o C.npy [--pass P]",
    TN_ANSWERS(&asked_record),
    .answer = answer_none,
    .explain = list_questions,
    .find = find,
};
