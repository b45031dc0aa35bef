/* The generated engine in simulation: cycles of every operation as predicted, every bit of every memory as the in-order
 * reference has it, on linear layers with drawn layouts, cuts and kernels. */
#include "base/file.h"
#include "base/memory.h"
#include "program/program.h"
#include "rtl/compile.h"
#include "rtl/files.h"
#include "rtl/image.h"
#include "rtl/reference.h"
#include "support/program.h"
#include "tensor/folding.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
    const char *spec; /* of the layer */
    tn_flow_name flow;
    uint64_t rows, columns, terms, vector, multiply, add;
    bool update;
    uint32_t runs;
    uint64_t seed;
    enum {
        SIMPLE,
        TWICE,
        PLAIN
    } kind; /* TWICE: cuts of two indices and two forms of banks, too; PLAIN: one element a
                                           word, one bank, so that every issue takes one cycle */
} drawn_case;

static uint64_t draw(uint64_t *state, uint64_t below) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return (z ^ (z >> 31)) % below;
}

/* The word's elements dealt to the axes at random; skews at random, until some axes tell the banks apart. */
static tn_bank_layout draw_layout(const tn_rtl_memory *memory, const uint64_t *dims, uint32_t axes,
                                  uint64_t *state) {
    uint64_t second = memory->second ? memory->second : 1;
    tn_bank_layout layout = {
        .axes = axes, .forms = second > 1 ? 2 : 1, .banks = {memory->banks / second, second}};
    for (uint32_t k = 0; k < axes; k++) {
        layout.dims[k] = dims[k];
        layout.word[k] = 1;
    }
    for (uint64_t word = memory->word; word > 1; word /= 2) layout.word[draw(state, axes)] *= 2;
    do
        for (uint32_t form = 0; form < layout.forms; form++)
            for (uint32_t k = 0; k < axes; k++) layout.skew[form][k] = draw(state, 4);
    while (!tn_rtl_strides_of(&layout).told);
    return layout;
}

/* Of operands; then of what products add to their results. */
enum { OPERANDS_IN = 3, MEMORIES = OPERANDS_IN + TN_RTL_ADDED };

typedef struct {
    tn_arena arena;
    tn_program program;
    tn_rtl_design design;
    tn_rtl_memory memory[MEMORIES];
    tn_rtl_array *array;
    tn_rtl_operation *operation;
    float **values;
    const uint64_t *index_size;
    bool twice; /* groups may cut two indices */
} layer;

static void check(tn_status status, const tn_error *error) {
    if (status != TN_OK) fail_msg("%s", error->message);
}

/* A group's indices: those of a that b shares or not, and that c has not. Cuts one of them, or two. */
static tn_rtl_cut draw_cut(const layer *fixture, uint32_t a, uint32_t b, bool shared, uint32_t c,
                           uint64_t lanes, uint64_t *state) {
    uint32_t found[TN_BANK_LAYOUT_AXES], count = 0;
    const tn_rtl_array *first = &fixture->array[a];
    for (uint32_t k = 0; k < first->layout.axes; k++) {
        bool in_b = tn_rtl_axis_of(&fixture->array[b], first->index[k]) != TN_RTL_NONE,
             in_c = tn_rtl_axis_of(&fixture->array[c], first->index[k]) != TN_RTL_NONE;
        if (in_b == shared && !in_c) found[count++] = first->index[k];
    }
    tn_rtl_cut cut = {{TN_RTL_NONE, TN_RTL_NONE}, {1, 1}};
    if (count == 0) return cut;
    uint32_t one = (uint32_t)draw(state, count), other = (one + 1) % count;
    cut.index[0] = found[one];
    cut.edge[0] = lanes;
    if (fixture->twice && count > 1 && lanes > 1 && draw(state, 2)) {
        cut.edge[1] = UINT64_C(1) << (1 + draw(state, (uint64_t)__builtin_ctzll(lanes)));
        cut.edge[0] = lanes / cut.edge[1];
        cut.index[1] = found[other];
    }
    return cut;
}

/* Operands of a step lie in different memories: a colouring, tried from a drawn colour. */
static void place_arrays(layer *fixture, uint64_t *state) {
    const tn_program *program = &fixture->program;
    for (uint32_t t = 0; t < program->tensors; t++) {
        uint32_t start = (uint32_t)draw(state, 3), tried = 0;
        for (; tried < 3; tried++) {
            uint32_t memory = (start + tried) % 3;
            bool free = true;
            for (uint32_t s = 0; s < program->steps; s++) {
                const tn_program_step *step = &program->step[s];
                uint32_t other = step->a == t ? step->b : step->b == t ? step->a : t;
                free = free && !(other < t && fixture->array[other].memory == memory);
            }
            if (program->tensor[t].role == TN_ROLE_CORE_GRADIENT) /* beside its core, for the update */
                free = free && fixture->array[program->tensor[t].core + 1].memory != memory;
            if (free) {
                fixture->array[t].memory = memory;
                break;
            }
        }
        assert_true(tried < 3);
    }
}

/* The array that the product's write-back adds as its `which`: of the result's axes, or all but the tokens'. */
static uint32_t add_added(layer *fixture, const tn_rtl_operation *product, int which, uint64_t *state) {
    const tn_rtl_array *result = &fixture->array[product->result];
    const uint32_t index = fixture->program.tensors + (uint32_t)which;
    tn_rtl_array *array = &fixture->array[index];
    tn_rtl_memory *memory = &fixture->memory[OPERANDS_IN + which];
    const bool told = memory->second <= 1 || result->layout.axes > 2; /* two forms of banks take two axes */
    const uint32_t start = told && draw(state, 2) ? 1 : 0;
    uint64_t dims[TN_BANK_LAYOUT_AXES], elements = 1;
    uint32_t axes = 0;
    tn_error error;
    for (uint32_t k = start; k < result->layout.axes; k++) {
        array->index[axes] = result->index[k];
        dims[axes] = result->layout.dims[k];
        elements *= dims[axes++];
    }
    array->memory = (uint32_t)(OPERANDS_IN + which);
    array->name = "added";
    array->layout = draw_layout(memory, dims, axes, state);
    array->base = memory->depth;
    memory->depth += tn_rtl_strides_of(&array->layout).depth;
    check(
        tn_arena_alloc(&fixture->arena, elements, sizeof **fixture->values, &fixture->values[index], &error),
        &error);
    for (uint64_t i = 0; i < elements; i++)
        fixture->values[index][i] = (float)((double)draw(state, 1 << 24) / (1 << 23) - 1);
    return index;
}

/* The product that makes Y does something before it writes. */
static void add_write_back(layer *fixture, const drawn_case *sample, uint64_t *state) {
    uint32_t s = 0;
    while (fixture->program.tensor[fixture->operation[s].result].role != TN_ROLE_Y) s++;
    tn_rtl_operation *product = &fixture->operation[s];
    if (sample->kind != PLAIN) product->write_back.stages = 1 + (uint32_t)draw(state, 7);
    for (int which = 0; which < TN_RTL_ADDED; which++)
        product->write_back.added[which] = add_added(fixture, product, which, state);
}

/* `forms`: the memories have these banks and words, whatever the case draws. */
static void build(layer *fixture, const drawn_case *sample, const tn_rtl_memory *forms) {
    uint64_t state = sample->seed, tokens;
    tn_error error;
    tn_weight weight;
    fixture->arena = (tn_arena){0};
    fixture->twice = sample->kind == TWICE;
    check(tn_spec_parse(sample->spec, (tn_position){0}, &weight, &tokens, &error), &error);
    check(tn_program_named(&weight, tokens, sample->flow, &(tn_program_options){.training = true},
                           &fixture->arena, &fixture->program, &error),
          &error);
    const tn_program *program = &fixture->program;
    fixture->index_size = program->index_size;
    uint32_t updates = 0;
    for (uint32_t t = 0; t < program->tensors; t++)
        updates += program->tensor[t].role == TN_ROLE_CORE_GRADIENT;
    const uint32_t arrays = program->tensors + TN_RTL_ADDED;
    check(TN_NEW(&fixture->arena, arrays, &fixture->array, &error), &error);
    check(TN_NEW(&fixture->arena, arrays, &fixture->values, &error), &error);
    check(TN_NEW(&fixture->arena, program->steps + updates, &fixture->operation, &error), &error);
    uint64_t widest = sample->rows > sample->columns ? sample->rows : sample->columns;
    for (int m = 0; m < OPERANDS_IN; m++)
        fixture->memory[m] = (tn_rtl_memory){.banks = UINT64_C(1) << draw(&state, 3),
                                             .word = draw(&state, 3) ? widest : 2,
                                             .style = TN_STYLE_BLOCK};
    for (int m = 0; m < 3 && fixture->twice; m++)
        fixture->memory[m].second = UINT64_C(1) << draw(&state, 2),
        fixture->memory[m].banks *= fixture->memory[m].second;
    for (int m = 0; m < 3 && sample->kind == PLAIN; m++)
        fixture->memory[m].banks = fixture->memory[m].word = 1;
    if (sample->update) { /* the same words for all, so that any core may be updated from any memory */
        fixture->memory[1] = fixture->memory[2] = fixture->memory[0];
    }
    for (int m = OPERANDS_IN; m < MEMORIES; m++) fixture->memory[m] = fixture->memory[m - OPERANDS_IN];
    for (int m = 0; m < MEMORIES && forms; m++) {
        fixture->memory[m] = forms[m];
        fixture->memory[m].depth = 0;
    }
    for (uint32_t t = 0; t < program->tensors; t++) fixture->array[t].memory = UINT32_MAX;
    place_arrays(fixture, &state);
    for (uint32_t t = 0; t < program->tensors; t++) {
        tn_rtl_array *array = &fixture->array[t];
        tn_rtl_memory *memory = &fixture->memory[array->memory];
        const tn_program_tensor *tensor = &program->tensor[t];
        char name[32];
        uint64_t dims[TN_BANK_LAYOUT_AXES] = {1}, elements = 1;
        uint32_t axes = tensor->indices.count;
        assert_in_range(axes, 1, TN_BANK_LAYOUT_AXES);
        for (uint32_t k = 0; k < axes; k++) {
            array->index[k] = tensor->indices.index[k];
            dims[k] = program->index_size[tensor->indices.index[k]];
            elements *= dims[k];
        }
        array->layout = draw_layout(memory, dims, axes, &state);
        if (sample->update && tensor->role == TN_ROLE_CORE_GRADIENT) {
            const tn_rtl_array *core = &fixture->array[tensor->core + 1];
            array->layout = core->layout;
        }
        array->base = memory->depth;
        memory->depth += tn_rtl_strides_of(&array->layout).depth + draw(&state, 3);
        check(tn_arena_format(&fixture->arena, &array->name, &error, "%s",
                              tn_program_tensor_name(program, t, name)),
              &error);
        check(
            tn_arena_alloc(&fixture->arena, elements, sizeof **fixture->values, &fixture->values[t], &error),
            &error);
        for (uint64_t i = 0; t < program->inputs && i < elements; i++)
            fixture->values[t][i] = (float)((double)draw(&state, 1 << 24) / (1 << 23) - 1);
    }
    uint32_t operations = 0;
    for (uint32_t s = 0; s < program->steps; s++) {
        const tn_program_step *step = &program->step[s];
        fixture->operation[operations++] = (tn_rtl_operation){
            .name = "product",
            .left = step->a,
            .right = step->b,
            .result = step->out,
            .row = draw_cut(fixture, step->a, step->out, true, step->b, sample->rows, &state),
            .column = draw_cut(fixture, step->b, step->out, true, step->a, sample->columns, &state),
            .term = draw_cut(fixture, step->a, step->b, true, step->out, sample->terms, &state)};
    }
    for (uint32_t t = 0; t < program->tensors && sample->update; t++)
        if (program->tensor[t].role == TN_ROLE_CORE_GRADIENT) {
            uint32_t core = program->tensor[t].core + 1;
            fixture->operation[operations++] = (tn_rtl_operation){
                .name = "update", .update = true, .left = core, .right = t, .result = core};
        }
    add_write_back(fixture, sample, &state);
    fixture->design = (tn_rtl_design){.rows = sample->rows,
                                      .columns = sample->columns,
                                      .terms = sample->terms,
                                      .vector = sample->vector,
                                      .multiply_cycles = sample->multiply,
                                      .add_cycles = sample->add,
                                      .rate = 0.01,
                                      .latencies.cycles[TN_COMPARE] = 2,
                                      .memories = MEMORIES,
                                      .arrays = arrays,
                                      .operations = operations,
                                      .memory = fixture->memory,
                                      .array = fixture->array,
                                      .operation = fixture->operation};
    for (int m = 0; m < MEMORIES; m++)
        if (fixture->memory[m].depth == 0) fixture->memory[m].depth = 1;
}

static void *append(layer *fixture, const void *a, uint32_t a_count, const void *b, uint32_t b_count,
                    size_t size) {
    char *both;
    tn_error error;
    check(tn_arena_alloc(&fixture->arena, (size_t)a_count + b_count, size, &both, &error), &error);
    memcpy(both, a, a_count * size);
    memcpy(both + a_count * size, b, b_count * size);
    return both;
}

static tn_rtl_operation moved(tn_rtl_operation operation, uint32_t arrays, uint32_t indices) {
    tn_rtl_cut *cuts[] = {&operation.row, &operation.column, &operation.term};
    operation.left += arrays;
    operation.right += arrays;
    operation.result += arrays;
    for (int which = 0; which < TN_RTL_ADDED; which++) operation.write_back.added[which] += arrays;
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 2; k++)
            if (cuts[c]->index[k] != TN_RTL_NONE) cuts[c]->index[k] += indices;
    return operation;
}

/* One program of two layers on the same memories, their operations in turn: products follow updates. */
static void join(layer *fixture, const layer *other) {
    tn_rtl_design *a = &fixture->design;
    const tn_rtl_design *b = &other->design;
    uint32_t indices = fixture->program.indices, arrays = a->arrays;
    fixture->array = append(fixture, fixture->array, arrays, other->array, b->arrays, sizeof *fixture->array);
    fixture->values =
        append(fixture, fixture->values, arrays, other->values, b->arrays, sizeof *fixture->values);
    fixture->index_size = append(fixture, fixture->index_size, indices, other->index_size,
                                 other->program.indices, sizeof *fixture->index_size);
    for (uint32_t t = arrays; t < arrays + b->arrays; t++) {
        tn_rtl_array *array = &fixture->array[t];
        array->base += fixture->memory[array->memory].depth;
        for (uint32_t k = 0; k < array->layout.axes; k++) array->index[k] += indices;
    }
    for (int m = 0; m < MEMORIES; m++) fixture->memory[m].depth += other->memory[m].depth;
    tn_rtl_operation *all =
        append(fixture, fixture->operation, a->operations, other->operation, b->operations, sizeof *all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->operations || i < b->operations; i++) {
        if (i < a->operations) all[count++] = fixture->operation[i];
        if (i < b->operations) all[count++] = moved(other->operation[i], arrays, indices);
    }
    fixture->operation = all;
    a->arrays += b->arrays;
    a->operations = count;
    a->array = fixture->array;
    a->operation = all;
}

static void put_all(const layer *fixture, tn_rtl_image *image) {
    tn_error error;
    check(tn_rtl_image_make(&fixture->design, (tn_arena *)&fixture->arena, image, &error), &error);
    for (uint32_t t = 0; t < fixture->design.arrays; t++)
        tn_rtl_image_put(&fixture->design, &fixture->array[t], fixture->values[t], image);
}

/* Builds and runs the folder's testbench; its exit status. The simulator's own objects, the same for every engine, are
 * compiled once and kept in `runtime`. */
static int run_testbench(const char *folder, char **printed) {
    char command[512];
    snprintf(command, sizeof command,
             "mkdir -p '%s/object-c-fast' runtime && { cp -pn runtime/*.o '%s/object-c-fast/' 2>/dev/null; "
             "make -C '%s' simulate FLOATS=c OPTIMISE=-O0 2>&1; status=$?; "
             "cp -pn '%s'/object-c-fast/verilated*.o runtime/ 2>/dev/null; exit $status; }",
             folder, folder, folder, folder);
    test_run run = test_shell(command);
    int status = run.status;
    *printed = strdup(run.out);
    assert_non_null(*printed);
    test_run_free(&run);
    return status;
}

/* A case with what its memories hold before and after. */
typedef struct {
    layer layer, other; /* other: joined to the layer */
    tn_rtl_engine engine;
    tn_rtl_image begin, end;
    uint32_t runs;
} prepared;

static void compile(prepared *made) {
    tn_error error;
    check(tn_rtl_compile(&made->layer.design, made->layer.index_size, &made->layer.arena, &made->engine,
                         &error),
          &error);
}

static void prepare(const drawn_case *sample, const drawn_case *other, prepared *made) {
    tn_error error;
    memset(made, 0, sizeof *made);
    made->runs = sample->runs;
    build(&made->layer, sample, NULL);
    if (other) {
        build(&made->other, other, made->layer.memory);
        join(&made->layer, &made->other);
    }
    compile(made);
    tn_rtl_image followed;
    put_all(&made->layer, &made->begin);
    put_all(&made->layer, &followed);
    for (uint32_t run = 0; run < sample->runs; run++)
        check(tn_rtl_reference_run(&made->layer.design, made->layer.index_size, made->layer.values, &followed,
                                   &error),
              &error);
    put_all(&made->layer, &made->end); /* every array has a place of its own here */
    assert_int_equal(tn_rtl_image_differ(&made->layer.design, &followed, &made->end), 0);
}

static void write_files(const prepared *made, const char *folder) {
    tn_error error;
    check(tn_rtl_files_write(&made->engine, &made->begin, &made->end, made->runs, folder, &error), &error);
}

/* Every operation takes its predicted cycles, and the memories hold what the reference says. */
static void check_simulation(const drawn_case *sample, const prepared *made, const char *folder) {
    char line[64], *printed;
    uint64_t cycles = 0;
    write_files(made, folder);
    if (run_testbench(folder, &printed) != 0) fail_msg("%s: %s\n%s", sample->spec, folder, printed);
    assert_non_null(strstr(printed, " wrong 0\n"));
    for (uint32_t i = 0; i < made->layer.design.operations; i++) {
        cycles += made->engine.step[i].cycles;
        snprintf(line, sizeof line, "operation %" PRIu32 " cycles %" PRIu64 "\n", i,
                 made->engine.step[i].cycles);
        if (!strstr(printed, line))
            fail_msg("%s: expected '%s' in %s\n%s", sample->spec, line, folder, printed);
    }
    assert_int_equal(cycles, made->engine.cycles);
    free(printed);
}

static void remove_folder(const char *folder) {
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    test_run run = test_shell(command);
    test_run_free(&run);
}

static void forget(prepared *made) {
    tn_arena_free(&made->layer.arena);
    tn_arena_free(&made->other.arena);
}

static void simulate(const drawn_case *sample, const drawn_case *other) {
    char folder[] = "engine-XXXXXX";
    prepared made;
    assert_non_null(mkdtemp(folder));
    prepare(sample, other, &made);
    check_simulation(sample, &made, folder);
    forget(&made);
    remove_folder(folder);
    print_message("%s%s%s on %" PRIu64 "x%" PRIu64 "x%" PRIu64 "\n", sample->spec, other ? " and " : "",
                  other ? other->spec : "", sample->rows, sample->columns, sample->terms);
}

/* Layers and kernels: those of the numbers that TENFOLD_RTL_CASES asks for ("0-34": all, mixed ones too); every suite
 * runs the first mixed one, as a build of a simulation takes seconds. */
static const drawn_case cases[] = {
    {"tt:m=4x3,n=3x4,rank=3,tokens=5", TN_FLOW_BIDIRECTIONAL, 2, 2, 1, 4, 4, 7, true, 2, 1, SIMPLE},
    {"ttm:m=4x3,n=2x5,rank=3,tokens=5", TN_FLOW_OPTIMAL, 4, 2, 2, 2, 3, 4, true, 1, 3, TWICE},
    {"dense:m=12,n=20,tokens=5", TN_FLOW_DENSE, 2, 2, 2, 1, 4, 7, true, 1, 4, SIMPLE},
    {"tt:m=6x4,n=4x6,rank=5,tokens=3", TN_FLOW_RIGHT_TO_LEFT, 4, 2, 2, 2, 3, 4, false, 1, 2, TWICE},
    {"tt:m=12,n=12,rank=4,tokens=32", TN_FLOW_OPTIMAL, 4, 4, 4, 8, 4, 7, true, 1, 5, SIMPLE},
    {"tt:m=3x4,n=5x2,rank=4,tokens=1", TN_FLOW_OPTIMAL, 4, 4, 1, 4, 4, 7, true, 2, 6, TWICE},
    {"tt:m=4x4x4,n=4x4x4,rank=4,tokens=5", TN_FLOW_BIDIRECTIONAL, 4, 4, 4, 4, 4, 7, true, 1, 7, SIMPLE},
    {"tt:m=4x3x2,n=2x3x4,rank=5,tokens=32", TN_FLOW_OPTIMAL, 8, 4, 2, 4, 4, 7, true, 1, 8, TWICE},
    {"tt:m=2x3x4,n=4x3x2,rank=6,tokens=5", TN_FLOW_RIGHT_TO_LEFT, 2, 4, 8, 4, 4, 7, true, 1, 9, SIMPLE},
    {"tt:m=2x2x3x2,n=2x3x2x2,rank=3,tokens=5", TN_FLOW_OPTIMAL, 2, 2, 4, 2, 3, 4, true, 1, 10, TWICE},
    {"tt:m=3x2x2x2,n=2x2x2x3,rank=2,tokens=1", TN_FLOW_BIDIRECTIONAL, 4, 2, 1, 8, 4, 7, true, 1, 11, SIMPLE},
    {"tt:m=4x2x2x4,n=2x4x4x2,rank=4,tokens=32", TN_FLOW_OPTIMAL, 4, 4, 2, 4, 4, 7, true, 1, 12, TWICE},
    {"ttm:m=4x4,n=4x4,rank=4,tokens=32", TN_FLOW_RIGHT_TO_LEFT, 4, 4, 4, 4, 4, 7, true, 1, 13, SIMPLE},
    {"ttm:m=3x5,n=4x3,rank=7,tokens=1", TN_FLOW_OPTIMAL, 2, 2, 1, 2, 4, 7, true, 1, 14, TWICE},
    {"ttm:m=2x3x4,n=3x2x2,rank=4,tokens=5", TN_FLOW_OPTIMAL, 8, 2, 2, 4, 4, 7, true, 1, 15, SIMPLE},
    {"ttm:m=4x4x2,n=2x4x4,rank=8,tokens=32", TN_FLOW_OPTIMAL, 4, 8, 4, 8, 3, 7, true, 1, 16, TWICE},
    {"ttm:m=2x2x2x2,n=2x2x2x2,rank=3,tokens=5", TN_FLOW_RIGHT_TO_LEFT, 2, 2, 2, 4, 4, 4, true, 1, 17, SIMPLE},
    {"dense:m=16,n=16,tokens=32", TN_FLOW_DENSE, 4, 4, 4, 4, 4, 7, true, 1, 18, TWICE},
    {"dense:m=24,n=10,tokens=1", TN_FLOW_DENSE, 8, 2, 1, 4, 4, 7, true, 2, 19, SIMPLE},
    {"dense:m=4x6,n=5x4,tokens=5", TN_FLOW_DENSE, 4, 2, 8, 16, 4, 7, true, 1, 20, TWICE},
    {"tt:m=8x4,n=4x8,rank=8,tokens=32", TN_FLOW_BIDIRECTIONAL, 8, 8, 8, 8, 4, 7, true, 1, 21, SIMPLE},
    {"tt:m=8x8,n=8x8,rank=12,tokens=5", TN_FLOW_OPTIMAL, 8, 8, 4, 8, 4, 7, true, 1, 22, TWICE},
    {"ttm:m=8x4,n=4x8,rank=6,tokens=5", TN_FLOW_OPTIMAL, 8, 8, 1, 8, 4, 7, true, 1, 23, SIMPLE},
    {"tt:m=5x3,n=7x2,rank=5,tokens=1", TN_FLOW_RIGHT_TO_LEFT, 8, 8, 2, 4, 4, 7, true, 1, 24, TWICE},
    {"tt:m=5x3,n=7x2,rank=5,tokens=5", TN_FLOW_RIGHT_TO_LEFT, 1, 4, 4, 4, 5, 8, true, 1, 25, SIMPLE},
    {"tt:m=4x3,n=3x4,rank=3,tokens=32", TN_FLOW_OPTIMAL, 4, 1, 4, 4, 2, 3, true, 1, 26, TWICE},
    {"tt:m=4x3,n=3x4,rank=4,tokens=5", TN_FLOW_BIDIRECTIONAL, 2, 2, 8, 4, 1, 1, true, 1, 27, SIMPLE},
    {"dense:m=7,n=9,tokens=5", TN_FLOW_DENSE, 2, 8, 2, 2, 6, 9, true, 1, 28, TWICE},
    {"tt:m=4x4,n=4x4,rank=1x4x8x4x1,tokens=5", TN_FLOW_OPTIMAL, 4, 4, 2, 2, 4, 7, true, 1, 29, SIMPLE},
    {"tt:m=6x4x2,n=2x4x6,rank=3,tokens=5", TN_FLOW_BIDIRECTIONAL, 4, 2, 4, 4, 4, 7, true, 2, 30, TWICE},
    {"ttm:m=6x4,n=4x6,rank=5,tokens=32", TN_FLOW_OPTIMAL, 2, 4, 2, 4, 4, 7, true, 2, 31, SIMPLE},
    {"tt:m=3x3x3,n=3x3x3,rank=3,tokens=5", TN_FLOW_OPTIMAL, 2, 2, 2, 1, 4, 7, true, 2, 32, TWICE},
};

enum { CASES = sizeof cases / sizeof *cases };

/* Two layers in one program; the first runs twice. */
static const drawn_case mixed[][2] = {
    {{"tt:m=4x3,n=3x2,rank=3,tokens=5", TN_FLOW_BIDIRECTIONAL, 2, 2, 2, 2, 4, 7, true, 2, 34, TWICE},
     {"dense:m=5,n=7,tokens=3", TN_FLOW_DENSE, 2, 2, 2, 2, 4, 7, true, 2, 35, TWICE}},
    {{"tt:m=4x2x3,n=3x2x4,rank=5,tokens=32", TN_FLOW_OPTIMAL, 4, 4, 2, 4, 4, 7, true, 1, 36, SIMPLE},
     {"ttm:m=3x4,n=4x2,rank=4,tokens=5", TN_FLOW_OPTIMAL, 4, 4, 2, 4, 4, 7, true, 1, 37, SIMPLE}},
};
enum { MIXED = sizeof mixed / sizeof *mixed };

/* Seven tiles and an adder of seven cycles: every sum is wanted the cycle it is ready. */
static const drawn_case tight = {
    "dense:m=7,n=3,tokens=1", TN_FLOW_DENSE, 1, 1, 1, 1, 4, 7, false, 1, 33, PLAIN};
/* Some arrays lie in several banks. */
static const drawn_case banked = {
    "dense:m=6,n=5,tokens=3", TN_FLOW_DENSE, 2, 2, 1, 1, 1, 1, false, 1, 38, SIMPLE};

static void expect_failure(const char *folder, const char *what) {
    char *printed;
    if (run_testbench(folder, &printed) == 0) fail_msg("%s was not noticed:\n%s", what, printed);
    if (!strstr(printed, "memories differ") && !strstr(printed, "does not end"))
        fail_msg("%s: the testbench failed in another way:\n%s", what, printed);
    free(printed);
}

static void put(const char *folder, const char *name, tn_buffer *text) {
    char path[256];
    tn_error error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    check(tn_file_write(path, text->data, text->length, &error), &error);
    tn_buffer_free(text);
}

/* Every bit of the descriptors stored on its own, so that one can be wrong alone. */
static tn_rtl_columns all_columns(prepared *made) {
    tn_rtl_columns columns;
    tn_error error;
    check(tn_rtl_columns_find(&made->engine, &made->layer.arena, &columns, &error), &error);
    assert_true(columns.stored < columns.bits);
    columns.stored = columns.bits;
    for (uint32_t b = 0; b < columns.bits; b++) columns.number[b] = b;
    return columns;
}

static void store_all_bits(prepared *made, const char *folder) {
    const tn_rtl_columns columns = all_columns(made);
    tn_buffer header = {0}, descriptor = {0}, program = {0};
    tn_rtl_engine_header(&made->engine, &columns, &header);
    tn_rtl_engine_descriptor(&made->engine, &columns, &descriptor);
    tn_rtl_engine_program(&made->engine, &columns, &program);
    put(folder, "engine.svh", &header);
    put(folder, "descriptor.svh", &descriptor);
    put(folder, "program.hex", &program);
}

/* program.hex alone is written anew: the engine's circuit stays. */
static void write_program(prepared *made, const char *folder, uint64_t flipped) {
    const tn_rtl_columns columns = all_columns(made);
    tn_buffer program = {0};
    tn_rtl_engine_program(&made->engine, &columns, &program);
    size_t digits = strcspn(program.data, " \n");
    if (flipped != UINT64_MAX) {
        char *digit = &program.data[digits - 1 - flipped / 4], text[2] = {*digit, 0};
        *digit = "0123456789abcdef"[strtoul(text, NULL, 16) ^ (1UL << flipped % 4)];
    }
    put(folder, "program.hex", &program);
}

/* A level that moves a result, and what it adds there. */
static uint64_t *stride_of_result(tn_rtl_step *step) {
    for (uint32_t level = 0; level < step->tile_levels; level++)
        if (step->tile_count[level] > 1 && step->tile[level][TN_RTL_RESULT].stride > 0)
            return &step->tile[level][TN_RTL_RESULT].stride;
    fail_msg("no level moves the result");
    return NULL;
}

static void test_mutations_of_program(void **state) {
    (void)state;
    char folder[] = "engine-XXXXXX", edit[128], *printed;
    prepared made;
    test_need("verilator");
    assert_non_null(mkdtemp(folder));
    prepare(&tight, NULL, &made);
    check_simulation(&tight, &made, folder);
    store_all_bits(&made, folder);
    /* One stride wrong. */
    uint64_t *stride = stride_of_result(&made.engine.step[0]), right = *stride;
    *stride = right + 1;
    write_program(&made, folder, UINT64_MAX);
    expect_failure(folder, "a wrong stride");
    *stride = right;
    /* One bit of a descriptor, any of its first ones: where operands and results lie. Bits 0 and 1 say what it is. */
    for (uint64_t bit = 2; bit < 2 + 3 * made.engine.memory_bits + 3 * made.engine.address_bits; bit++) {
        if (made.engine.address_bits > 1 && bit >= 2 && bit < 2 + 3 * made.engine.memory_bits)
            continue; /* memories that are not there answer nothing at all */
        write_program(&made, folder, bit);
        snprintf(edit, sizeof edit, "bit %" PRIu64 " of a descriptor", bit);
        expect_failure(folder, edit);
    }
    write_program(&made, folder, UINT64_MAX);
    if (run_testbench(folder, &printed) != 0) fail_msg("the right program fails: %s", printed);
    free(printed);
    /* No bypass of a sum that is just ready. */
    snprintf(edit, sizeof edit, "sed -i 's/wire bypass = .*/wire bypass = 0;/' '%s/dot_lanes.sv'", folder);
    test_run run = test_shell(edit);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    expect_failure(folder, "an accumulator without bypass");
    remove_folder(folder);
    forget(&made);
}

static void test_mutation_of_skew(void **state) {
    (void)state;
    char folder[] = "engine-XXXXXX";
    prepared made;
    test_need("verilator");
    assert_non_null(mkdtemp(folder));
    prepare(&banked, NULL, &made);
    check_simulation(&banked, &made, folder);
    /* The memories are as they were; the circuit is told another skew of an operand in several banks. */
    tn_rtl_array *array = NULL;
    for (uint32_t t = 0; t < made.layer.design.arrays; t++)
        if (made.layer.array[t].layout.banks[0] > 1 && made.layer.array[t].layout.axes > 1 &&
            (t == made.layer.operation[0].left || t == made.layer.operation[0].right))
            array = &made.layer.array[t];
    assert_non_null(array);
    uint64_t *skew = array->layout.skew[0];
    for (uint32_t k = 0; k < 2; k++) skew[k] = skew[k] % 2 ? 0 : 1; /* the axes change their parts */
    compile(&made);
    write_files(&made, folder);
    expect_failure(folder, "a wrong skew");
    remove_folder(folder);
    forget(&made);
}

static void test_engine(void **state) {
    (void)state;
    test_need("verilator");
    const char *asked = getenv("TENFOLD_RTL_CASES");
    size_t first = 0, end = 0;
    if (asked) {
        end = strtoul(asked, NULL, 10);
        if (strchr(asked, '-')) {
            first = end;
            end = strtoul(strchr(asked, '-') + 1, NULL, 10);
        }
    }
    for (size_t i = first; i < end && i < CASES; i++) simulate(&cases[i], NULL);
    for (size_t i = first; i < end; i++)
        if (i >= CASES && i - CASES < MIXED) simulate(&mixed[i - CASES][0], &mixed[i - CASES][1]);
    if (!asked) simulate(&mixed[0][0], &mixed[0][1]);
}

static int forget_runtime(void **state) {
    (void)state;
    remove_folder("runtime");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_engine),
                                       cmocka_unit_test(test_mutations_of_program),
                                       cmocka_unit_test(test_mutation_of_skew)};
    const struct CMUnitTest asked[] = {cmocka_unit_test(test_engine)};
    if (getenv("TENFOLD_RTL_CASES")) return cmocka_run_group_tests(asked, NULL, forget_runtime);
    return cmocka_run_group_tests(tests, NULL, forget_runtime);
}
