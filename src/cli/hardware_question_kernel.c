/* `tenfold hardware kernel`: a kernel with the memories of its operands, each wide enough for its parallel accesses. */
#include "base/checked.h"
#include "cli/cmd_hardware.h"
#include "device/block.h"
#include "device/device_data.h"
#include "kernel/kernel.h"
#include "kernel/vector.h"
#include "layout/bank_layout.h"
#include "layout/layouts.h"
#include "tensor/folding.h"

#include <stdio.h>
#include <string.h>

/* `tenfold hardware memory|layout|layer`: where elements lie, and in how many blocks. */

/* ---- memory ---- */

static const char *const ports[] = {"simple", "true", NULL};
static const char *const geometries[] = {"device", "hls", "yosys", NULL};
enum { WIDTH, DEPTH, STYLE_HARDWARE_QUESTION_LAYOUT, GEOMETRY, PORTS };
static const tn_parameter memory_parameters[] = {
    [WIDTH] = {"width", NULL, NULL, "bits of a word"},
    [DEPTH] = {"depth", NULL, NULL, "words"},
    [STYLE_HARDWARE_QUESTION_LAYOUT] = {"style", "auto", tn_memory_style_names,
                                        "block, ultra, distributed, or auto: small ones distributed"},
    [GEOMETRY] =
        {"geometry", "device", geometries,
         "how it is cut into blocks: hls tiles plainly, yosys packs tighter; the device's, hls without one"},
    [PORTS] = {"ports", "simple", ports, "simple: one writes, one reads; true: two independent accesses"},
};
static const tn_column memory_columns[] = {
    TN_COLUMN(tn_blocks, bram18, "BRAM18", .unit = "blocks"),
    TN_COLUMN(tn_blocks, bram36, "BRAM36", .unit = "pairs"),
    TN_COLUMN(tn_blocks, uram, "URAM", .unit = "blocks"),
    TN_COLUMN(tn_blocks, lutram, "LUTRAM", .unit = "LUTs"),
};
static const tn_record memory_record = TN_RECORD(tn_blocks, memory_columns);

static tn_status ask_memory(const tn_question_values *v, void *answer, tn_error *error) {
    const uint64_t *p = v->value, small_bits = v->device ? v->device->memory.lutram_bits_most : 1024;
    tn_memory_style style = (tn_memory_style)p[STYLE_HARDWARE_QUESTION_LAYOUT];
    tn_geometry geometry = v->device ? (tn_geometry)v->device->memory.geometry : TN_GEOMETRY_HLS;
    if (p[GEOMETRY] > 0) geometry = (tn_geometry)(p[GEOMETRY] - 1);
    if (style == TN_STYLE_AUTO) style = tn_memory_style_auto(p[WIDTH], p[DEPTH], small_bits);
    return tn_memory_blocks(geometry, style, p[WIDTH], p[DEPTH], p[PORTS] == 1, answer, error);
}

const tn_question tn_question_memory = TN_QUESTION(memory, NULL, "blocks of a memory");

/* ---- layout ---- */

enum { DIMS, WORD, BANKS, SKEW, BLOCK };
static const tn_parameter layout_parameters[] = {
    [DIMS] = {"dims", NULL, tn_sizes, "elements of the array along each axis: 12x14x48"},
    [WORD] = {"word", NULL, tn_sizes, "elements that lie together in one word, along each axis: 1x1x4"},
    [BANKS] = {"banks", "1", tn_sizes, "banks along each of their own axes, one word a cycle each: 4x4"},
    [SKEW] = {"skew", "", tn_sizes,
              "for each axis of the banks a linear form of the word's coordinates: 1x0x1,0x1x0"},
    [BLOCK] = {"block", NULL, tn_sizes, "elements that are read at once, along each axis: 1x4x4"},
};
typedef struct {
    tn_bank_layout_size size;
    uint64_t issues;
} layout_answer;
static const tn_column layout_columns[] = {
    TN_COLUMN_AS("words", layout_answer, size.words, "words"),
    TN_COLUMN_AS("padded_elements", layout_answer, size.padded_elements, "padded", .unit = "elements"),
    TN_COLUMN_AS("depth", layout_answer, size.depth, "depth", .unit = "words"),
    TN_COLUMN(layout_answer, issues, "issues", .unit = "cycles"),
};
static const tn_record layout_record = TN_RECORD(layout_answer, layout_columns);

static tn_status ask_layout(const tn_question_values *v, void *answer, tn_error *error) {
    const char *const *text = v->text;
    uint64_t block[TN_BANK_LAYOUT_AXES];
    layout_answer *result = answer;
    tn_bank_layout layout;
    TN_TRY(tn_bank_layout_read(text[DIMS], text[WORD], text[BANKS], *text[SKEW] ? text[SKEW] : NULL, &layout,
                               error));
    TN_TRY(tn_bank_layout_read_block(&layout, text[BLOCK], block, error));
    TN_TRY(tn_bank_layout_measure(&layout, &result->size, error));
    return tn_bank_layout_issues(&layout, block, &result->issues, error);
}

const tn_question tn_question_layout =
    TN_QUESTION(layout, NULL, "words, depth and cycles of an array laid out over banks");

/* ---- layer ---- */

enum { LAYER, FLOW, LAYER_ROWS, LAYER_COLUMNS, LAYER_REDUCTION, BANKING, LEAST };
static const tn_parameter layer_parameters[] = {
    [LAYER] = {"layer", NULL, tn_sizes, "weight and tokens: tt:m=12x8x8,n=8x8x12,rank=12,tokens=32"},
    [FLOW] = {"flow", "optimal", tn_flow_names, "order of its products, forward and all gradients"},
    [LAYER_ROWS] = {"rows", "4", NULL, "rows computed at a time"},
    [LAYER_COLUMNS] = {"columns", "4", NULL, "columns computed at a time"},
    [LAYER_REDUCTION] = {"reduction", "4", NULL, "terms taken at a time"},
    [BANKING] = {"banking", "word", tn_banking_names,
                 "one wide word a memory, rows of banks, the full skew, or per tensor what it needs"},
    [LEAST] = {"least", "issues", tn_layout_goal_names,
               "what is made least: cycles of issues, or of products with tiles that wait to be written"},
};
typedef struct {
    uint64_t products, ideal_issues, issues, cycles, bound_cycles, words;
    bool exact;
} layer_answer;
static const tn_column layer_columns[] = {
    TN_COLUMN(layer_answer, products, "products"),
    TN_COLUMN(layer_answer, ideal_issues, "ideal issues"),
    TN_COLUMN(layer_answer, issues, "issues", .unit = "cycles"),
    TN_COLUMN(layer_answer, cycles, "cycles"),
    TN_COLUMN(layer_answer, bound_cycles, "bound", .unit = "cycles"),
    TN_COLUMN(layer_answer, exact, "exact"),
    TN_COLUMN(layer_answer, words, "words"),
};
static const tn_record layer_record = TN_RECORD(layer_answer, layer_columns);

static tn_status read_layer(const tn_question_values *v, tn_arena *arena, tn_program *program,
                            tn_error *error) {
    const tn_program_options options = {.training = true};
    tn_weight weight;
    uint64_t tokens;
    TN_TRY(tn_spec_parse(v->text[LAYER], (tn_position){0}, &weight, &tokens, error));
    return tn_program_named(&weight, tokens, (tn_flow_name)v->value[FLOW], &options, arena, program, error);
}

/* Issues if each found its blocks in one cycle and no tile were cut by an axis. */
static tn_status ideal_issues(const tn_program *program, const tn_kernel_edges *edges, uint64_t *sum,
                              tn_error *error) {
    *sum = 0;
    for (uint32_t i = 0; i < program->steps; i++) {
        const tn_product_shape *shape = &program->step[i].shape;
        const uint64_t blocks[] = {shape->batch, tn_ceil_div(shape->rows, edges->rows),
                                   tn_ceil_div(shape->columns, edges->columns),
                                   tn_ceil_div(shape->reduction, edges->reduction)};
        uint64_t issues;
        if (!tn_product(blocks, 4, &issues) || !tn_add(*sum, issues, sum))
            return tn_fail(error, TN_OVERFLOW, "the issues of a layer do not fit 64 bits");
    }
    return TN_OK;
}

static tn_status answer_layer(const tn_question_values *v, tn_arena *arena, layer_answer *answer,
                              tn_error *error) {
    const tn_kernel_edges edges = {v->value[LAYER_ROWS], v->value[LAYER_COLUMNS], v->value[LAYER_REDUCTION],
                                   false};
    tn_program program;
    tn_layout_problem problem;
    tn_layout_room room;
    tn_layouts layouts;
    for (int i = LAYER_ROWS; i <= LAYER_REDUCTION; i++)
        if (v->value[i] == 0 || v->value[i] > 1024)
            return tn_fail(error, TN_INPUT, "%s of a kernel is %llu; it is 1 to 1024",
                           layer_parameters[i].name, (unsigned long long)v->value[i]);
    TN_TRY(read_layer(v, arena, &program, error));
    TN_TRY(ideal_issues(&program, &edges, &answer->ideal_issues, error));
    TN_TRY(tn_layout_problem_read(&program, &edges, arena, &problem, error));
    TN_TRY(tn_layout_room_begin(&room, arena, error));
    TN_TRY(tn_layouts_find(&problem, (tn_banking)v->value[BANKING], (tn_layout_goal)v->value[LEAST], NULL,
                           &room, arena, &layouts, error));
    for (uint32_t t = 0; t < layouts.tensors; t++) answer->words += layouts.tensor[t].depth;
    answer->products = program.steps;
    answer->issues = layouts.issue_cycles;
    answer->cycles = layouts.cycles;
    answer->bound_cycles = layouts.bound_cycles;
    answer->exact = layouts.exact;
    return TN_OK;
}

static tn_status ask_layer(const tn_question_values *v, void *answer, tn_error *error) {
    tn_arena arena = {0};
    tn_status status = answer_layer(v, &arena, answer, error);
    tn_arena_free(&arena);
    return status;
}

const tn_question tn_question_layer = TN_QUESTION(
    layer, NULL, "issues of a layer's products with the best layouts of its tensors that were found");

/* matmul, two names for what most people ask, then the vector kernels by their own names. */
enum { KIND_MATMUL, KIND_EMBEDDING, KIND_UPDATE, KIND_FIRST_VECTOR };
enum { FIRST_VECTOR = TN_OP_LOOKUP, VECTORS = TN_OPERATION_KINDS - FIRST_VECTOR };
static const char *kernel_kinds[KIND_FIRST_VECTOR + VECTORS + 1] = {"matmul", "embedding", "update"};

void tn_question_kernel_prepare(void) {
    for (int i = 0; i < VECTORS; i++)
        kernel_kinds[KIND_FIRST_VECTOR + i] = tn_operation_rows[FIRST_VECTOR + i].kernel;
}

enum {
    KIND,
    M,
    N,
    K,
    BATCH,
    ROWS,
    COLUMNS,
    REDUCTION,
    LANES,
    PRECISION,
    GROUP,
    EXPONENT,
    MANTISSA,
    SPLIT,
    STYLE
};
static const tn_parameter kernel_parameters[] = {
    [KIND] = {"kind", NULL, kernel_kinds, "what it computes; update is sgd"},
    [M] = {"m", NULL, NULL, "rows"},
    [N] = {"n", NULL, NULL, "columns"},
    [K] = {"k", "1", NULL, "matmul: terms of the reduction"},
    [BATCH] = {"products", "1", NULL, "matmul: how many of that size"},
    [ROWS] = {"rows", "1", NULL, "matmul: rows computed at a time"},
    [COLUMNS] = {"columns", "1", NULL, "matmul: columns computed at a time"},
    [REDUCTION] = {"reduction", "1", NULL, "matmul: terms taken at a time"},
    [LANES] = {"lanes", "1", NULL, "other kinds: elements at a time"},
    [PRECISION] = {"precision", "fp32", tn_sizes,
                   "of the elements: fp32, fp16, bf16, int16, int8, fixed16,8 or another format"},
    [GROUP] = {"group", "0", NULL, "matmul in block floating point: values that share an exponent; 0: no"},
    [EXPONENT] = {"exponent", "3", NULL, "bits of the shared exponent"},
    [MANTISSA] = {"mantissa", "4", NULL, "mantissa bits of a value, its sign apart"},
    [SPLIT] = {"split", "partition", tn_array_split_names, "how a memory serves parallel accesses"},
    [STYLE] = {"memory", "auto", tn_memory_style_names, "style of the operands' memories"},
};
typedef struct {
    uint64_t cycles;
    tn_resources used;
    char text[256];
    const char *unverified; /* the text; NULL: everything is verified */
} kernel_answer;

static void show_unverified(const void *row, tn_buffer *cell) {
    const kernel_answer *answer = row;
    tn_buffer_text(cell, answer->unverified ? answer->unverified : "none");
}

static const tn_column kernel_columns[] = {
    TN_COLUMN(kernel_answer, cycles, "cycles"),
    TN_COLUMN_AS("dsp", kernel_answer, used.dsp, "DSP", .unit = "blocks"),
    TN_COLUMN_AS("lut", kernel_answer, used.lut, "LUT"),
    TN_COLUMN_AS("ff", kernel_answer, used.ff, "FF"),
    TN_COLUMN_AS("bram18", kernel_answer, used.bram18, "BRAM18", .unit = "blocks"),
    TN_COLUMN_AS("uram", kernel_answer, used.uram, "URAM", .unit = "blocks"),
    TN_COLUMN(kernel_answer, unverified, NULL),
    TN_WRITTEN(NULL, NULL, "unverified", .cell = show_unverified),
};
static const tn_record kernel_record = TN_RECORD(kernel_answer, kernel_columns);

/* Of the elements; --group asks for block floating point besides. */
static tn_status kernel_format(const tn_question_values *v, tn_number_format *format, tn_error *error) {
    return tn_number_format_read(v->text[PRECISION], format, error);
}

/* Block floating point of --group, where that is given, is how products are multiplied; elements stay as they are. */
static tn_status kernel_arithmetic(const tn_question_values *v, tn_arithmetic *arithmetic, tn_error *error) {
    const uint64_t *p = v->value;
    tn_number_format format;
    char name[TN_NUMBER_FORMAT_NAME];
    TN_TRY(kernel_format(v, &format, error));
    if (p[GROUP] > 0) {
        snprintf(name, sizeof name, "bfp%llu,%llu,%llu", (unsigned long long)p[GROUP],
                 (unsigned long long)p[EXPONENT], (unsigned long long)p[MANTISSA]);
        TN_TRY(tn_number_format_read(name, &format, error));
    }
    *arithmetic = tn_arithmetic_of(&format);
    return TN_OK;
}

/* Adds the memory of an operand of words elements, of which the kernel wants `accesses` a cycle. */
static tn_status add_memory(const tn_question_values *v, uint64_t words, uint64_t accesses,
                            tn_resources *used, tn_error *error) {
    tn_number_format format;
    TN_TRY(kernel_format(v, &format, error));
    uint64_t bits = tn_number_format_word_bits(&format);
    tn_array_memory array = {.words = words,
                             .word_bits = bits,
                             .accesses = accesses < words ? accesses : words,
                             .group = 1,
                             .split = (tn_array_split)v->value[SPLIT],
                             .style = (tn_memory_style)v->value[STYLE]};
    tn_array_blocks made;
    if (array.style == TN_STYLE_AUTO)
        array.style = tn_memory_style_auto(bits, tn_ceil_div(words, array.accesses),
                                           v->device->memory.lutram_bits_most);
    TN_TRY(tn_array_memory_blocks(&array, (tn_geometry)v->device->memory.geometry, &made, error));
    if (!tn_add(used->lut, made.blocks.lutram, &used->lut) ||
        !tn_add(used->bram18, made.blocks.bram18, &used->bram18) ||
        !tn_mul_add(made.blocks.bram36, 2, &used->bram18) ||
        !tn_add(used->uram, made.blocks.uram, &used->uram))
        return tn_fail(error, TN_OVERFLOW, "the kernel's memories do not fit 64 bits");
    return TN_OK;
}

static tn_status add_operand(const tn_question_values *v, uint64_t rows, uint64_t columns, uint64_t wide,
                             uint64_t high, tn_resources *used, tn_error *error) {
    const uint64_t factors[] = {v->value[BATCH], rows, columns};
    uint64_t words;
    if (!tn_product(factors, 3, &words))
        return tn_fail(error, TN_OVERFLOW, "an operand's elements do not fit 64 bits; give it smaller sizes");
    uint64_t at_once = (wide < rows ? wide : rows) * (high < columns ? high : columns);
    return add_memory(v, words, at_once, used, error);
}

static tn_status ask_matmul(const tn_question_values *v, const tn_lane *lane, uint64_t *cycles,
                            tn_resources *used, tn_error *error) {
    const uint64_t *p = v->value;
    const tn_matmul kernel = {p[ROWS], p[COLUMNS], p[REDUCTION], *lane, false};
    const tn_product_size product = {p[BATCH], p[M], p[K], p[N]};
    tn_matmul_time time;
    TN_TRY(tn_matmul_cycles(&kernel, &product, &time, error));
    *used = tn_matmul_resources(v->device, &kernel);
    *cycles = time.cycles;
    TN_TRY(add_operand(v, p[M], p[K], p[ROWS], p[REDUCTION], used, error));
    TN_TRY(add_operand(v, p[K], p[N], p[REDUCTION], p[COLUMNS], used, error));
    return add_operand(v, p[M], p[N], p[ROWS], p[COLUMNS], used, error);
}

static tn_operation_kind vector_kind(uint64_t kind) {
    if (kind == KIND_EMBEDDING) return TN_OP_LOOKUP;
    if (kind == KIND_UPDATE) return TN_OP_UPDATE_SGD;
    return (tn_operation_kind)(kind - KIND_FIRST_VECTOR + FIRST_VECTOR);
}

static tn_status ask_vector(const tn_question_values *v, const tn_operator_set *operators, uint64_t *cycles,
                            tn_resources *used, tn_error *error) {
    const uint64_t *p = v->value;
    const tn_vector kernel = {.kind = vector_kind(p[KIND]), .lanes = p[LANES], .operators = operators};
    TN_TRY(tn_vector_cycles(&kernel, p[M], p[N], cycles, error));
    *used = tn_vector_resources(v->device, &kernel);
    TN_TRY(add_operand(v, p[M], p[N], 1, p[LANES], used, error));
    return add_operand(v, p[M], p[N], 1, p[LANES], used, error);
}

/* What the kernel can't be asked: sizes of nothing, more at once than a build may have, keys of the other
 * kind of kernel. */
static tn_status check_kernel(const uint64_t *p, tn_error *error) {
    for (size_t i = M; i <= LANES; i++) {
        uint64_t most = i < ROWS ? (uint64_t)1 << 32 : 1024;
        if (p[i] == 0 || p[i] > most)
            return tn_fail(error, TN_INPUT, "%s of a kernel is %llu; it is 1 to %llu",
                           kernel_parameters[i].name, (unsigned long long)p[i], (unsigned long long)most);
        bool foreign = p[KIND] == KIND_MATMUL ? i == LANES : i >= K && i < LANES;
        if (foreign && p[i] != 1)
            return tn_fail(error, TN_INPUT, "a %s kernel has no %s; leave it out", kernel_kinds[p[KIND]],
                           kernel_parameters[i].name);
    }
    if (p[KIND] != KIND_MATMUL && p[GROUP] != 0)
        return tn_fail(error, TN_INPUT, "a %s kernel has no block floating point; leave group out",
                       kernel_kinds[p[KIND]]);
    return TN_OK;
}

static void append(char *text, size_t capacity, const char *figure) {
    size_t length = strlen(text);
    snprintf(text + length, capacity - length, "%s%s", length ? ", " : "", figure);
}

static void note_unverified(char *text, size_t capacity, const tn_operator_row *row) {
    if (row && row->origin == TN_UNVERIFIED && !strstr(text, row->name)) append(text, capacity, row->name);
}

static void note_control(const tn_device_control *control, bool vector, kernel_answer *answer) {
    static const char prefix[] = "vector_";
    if (control->origin == TN_UNVERIFIED) append(answer->text, sizeof answer->text, "control");
    for (size_t i = 0; i < control->unverified.count && control->origin != TN_UNVERIFIED; i++) {
        char key[64];
        bool of_vector = strncmp(control->unverified.item[i], prefix, sizeof prefix - 1) == 0;
        snprintf(key, sizeof key, "control.%s", control->unverified.item[i]);
        if (of_vector == vector) append(answer->text, sizeof answer->text, key);
    }
}

/* The keys of the device file that the answer rests on and whose origin is unverified. */
static void find_unverified(const tn_question_values *v, const tn_operator_set *operators,
                            const tn_lane *lane, kernel_answer *answer) {
    uint64_t kind = v->value[KIND];
    bool integer = kind == KIND_MATMUL && !lane->multiply.row;
    note_control(&v->device->control, kind != KIND_MATMUL, answer);
    if (integer && v->device->integer.origin == TN_UNVERIFIED)
        append(answer->text, sizeof answer->text, "integer");
    if (kind == KIND_MATMUL) {
        note_unverified(answer->text, sizeof answer->text, lane->multiply.row);
        note_unverified(answer->text, sizeof answer->text, lane->sum.row);
    }
    for (int i = 0; i < TN_OPERATORS && kind != KIND_MATMUL; i++)
        if (tn_vector_uses(vector_kind(kind), (tn_operator)i))
            note_unverified(answer->text, sizeof answer->text, operators->row[i]);
    answer->unverified = answer->text[0] ? answer->text : NULL;
}

static tn_status ask_kernel(const tn_question_values *v, void *answer, tn_error *error) {
    tn_operator_set operators = {{0}};
    tn_lane lane = {.group = 1};
    kernel_answer *result = answer;
    const uint64_t *p = v->value;
    tn_arithmetic arithmetic;
    TN_TRY(check_kernel(p, error));
    TN_TRY(kernel_arithmetic(v, &arithmetic, error));
    if (p[KIND] == KIND_MATMUL) {
        TN_TRY(tn_lane_load(v->device, &arithmetic, &lane, error));
        TN_TRY(ask_matmul(v, &lane, &result->cycles, &result->used, error));
    } else {
        TN_TRY(tn_operator_set_load(v->device, &arithmetic.left, &operators, error));
        TN_TRY(ask_vector(v, &operators, &result->cycles, &result->used, error));
    }
    find_unverified(v, &operators, &lane, result);
    return TN_OK;
}

const tn_question tn_question_kernel =
    TN_QUESTION(kernel, "u50", "cycles and resources of a kernel with its operands' memories");
