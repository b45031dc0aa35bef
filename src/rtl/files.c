#include "rtl/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/search_path.h"
#include "rtl/bits.h"
#include "rtl/circuit.h"
#include "rtl/map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCALAR_BYTES_MOST = 1 << 26 };

static uint32_t bits_of(double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

typedef struct {
    const tn_rtl_engine *engine;
    const tn_rtl_program *program;
    const char *folder;
    tn_arena *arena;
    tn_error *error;
} vector_files_writer;

static tn_status vector_files_put(const vector_files_writer *target, const char *name, tn_buffer *text) {
    const char *path;
    tn_status status = text->status;
    if (status != TN_OK) tn_fail(target->error, status, "no memory for %s", name);
    if (status == TN_OK)
        status = tn_arena_format(target->arena, &path, target->error, "%s/%s", target->folder, name);
    if (status == TN_OK)
        status = tn_file_write(path, text->data ? text->data : "", text->length, target->error);
    tn_buffer_free(text);
    return status;
}

/* A place is an entry of the map (rtl/map.h), a count stays as it is. */
static uint64_t word_of(const vector_files_writer *target, const tn_rtl_slot *slot, uint64_t index) {
    if (slot->kind == TN_RTL_SLOT_TOKENS) return index;
    return tn_rtl_map_entry(&target->engine->design->array[slot->array].layout, slot->axis, index);
}

static tn_status put_samples(const vector_files_writer *target, const tn_rtl_sample *sample, uint32_t runs) {
    const tn_rtl_design *design = target->engine->design;
    tn_buffer words = {0}, labels = {0};
    for (uint32_t run = 0; run < runs; run++) {
        for (uint32_t i = 0; i < design->sample_words; i++)
            tn_buffer_format(&words, "%010" PRIx64 "\n",
                             word_of(target, &target->program->slot[i], sample[run].word[i]));
        for (uint32_t i = 0; i < design->sample_labels; i++)
            tn_buffer_format(&labels, "%08" PRIx32 "%08" PRIx32 "\n", bits_of(sample[run].share[i]),
                             sample[run].label[i]);
    }
    tn_status status = vector_files_put(target, "sample.hex", &words);
    if (status == TN_OK) return vector_files_put(target, "labels.hex", &labels);
    tn_buffer_free(&labels);
    return status;
}

static tn_status put_scalars(const vector_files_writer *target, const double *scalars, const char *ending) {
    for (int i = 0; i < TN_ROW_SCALARS; i++) {
        tn_buffer text = {0};
        const char *name;
        TN_TRY(tn_arena_format(target->arena, &name, target->error, "scalars%d.%s", i, ending));
        for (uint64_t row = 0; row < target->engine->design->scalar_rows; row++)
            tn_buffer_format(&text, "%08" PRIx32 "\n", bits_of(scalars[TN_ROW_SCALARS * row + (uint64_t)i]));
        TN_TRY(vector_files_put(target, name, &text));
    }
    return TN_OK;
}

static tn_status put_sources(const vector_files_writer *target) {
    tn_buffer lane = {0}, exponential = {0}, logarithm = {0};
    tn_circuit_lane(target->engine->circuit, target->engine->circuits, &target->engine->design->latencies,
                    &lane);
    tn_special_exponential_table(&exponential);
    tn_special_logarithm_table(&logarithm);
    tn_status status = vector_files_put(target, "vector_lane.sv", &lane);
    if (status == TN_OK) status = vector_files_put(target, "exponential.hex", &exponential);
    if (status == TN_OK) return vector_files_put(target, "logarithm.hex", &logarithm);
    tn_buffer_free(&exponential);
    tn_buffer_free(&logarithm);
    return status;
}

static tn_status vector_files_put_all(const vector_files_writer *target, const tn_rtl_sample *sample,
                                      uint32_t runs, const double *begin, const double *end) {
    TN_TRY(put_sources(target));
    TN_TRY(put_samples(target, sample, runs));
    TN_TRY(put_scalars(target, begin, "hex"));
    return put_scalars(target, end, "expected");
}

tn_status tn_rtl_vector_files_write(const tn_rtl_engine *engine, const tn_rtl_program *program,
                                    const tn_rtl_sample *sample, uint32_t runs, const double *begin,
                                    const double *end, const char *folder, tn_error *error) {
    tn_arena arena = {0};
    const vector_files_writer target = {engine, program, folder, &arena, error};
    tn_status status = vector_files_put_all(&target, sample, runs, begin, end);
    tn_arena_free(&arena);
    return status;
}

/* ---- back ---- */

static tn_status parse(const char *path, const char *text, uint64_t rows, double *scalar, tn_error *error) {
    uint64_t row = 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char *end;
        uint32_t bits = (uint32_t)strtoul(line, &end, 16);
        float value;
        if (*line == '/' || end == line) continue;
        if (row == rows) return tn_fail(error, TN_IO, "%s holds more scalars than rows", path);
        memcpy(&value, &bits, sizeof value);
        scalar[TN_ROW_SCALARS * row++] = (double)value;
    }
    return row == rows ? TN_OK : tn_fail(error, TN_IO, "%s holds fewer scalars than rows", path);
}

tn_status tn_rtl_vector_files_read(const tn_rtl_engine *engine, const char *folder, tn_arena *arena,
                                   double *scalars, tn_error *error) {
    for (int i = 0; i < TN_ROW_SCALARS; i++) {
        const char *path;
        char *text;
        size_t length;
        TN_TRY(tn_arena_format(arena, &path, error, "%s/scalars%d.out", folder, i));
        TN_TRY(tn_file_read(path, SCALAR_BYTES_MOST, &text, &length, error));
        tn_status status = parse(path, text, engine->design->scalar_rows, scalars + i, error);
        tn_free(text);
        TN_TRY(status);
    }
    return TN_OK;
}

static const char *const templates[] = {"fields.svh", "fp32.c",       "pipe.sv",          "delay.sv",
                                        "flags.sv",   "fp32_pack.sv", "fp32_multiply.sv", "fp32_add.sv",
                                        "bank.sv",    "memory.sv",    "odometer.sv",      "addresses.sv",
                                        "turn.sv",    "lanes.sv",     "read_port.sv",     "dot_lanes.sv",
                                        "engine.sv",  "testbench.sv", "Makefile",         "waivers.vlt",
                                        NULL};

static const char *const pass_templates[] = {"passes.svh",
                                             "taps.sv",
                                             "delay_by.sv",
                                             "fp32_greater.sv",
                                             "fp32_divide.sv",
                                             "fp32_square_root.sv",
                                             "fp32_exponential.sv",
                                             "fp32_logarithm.sv",
                                             "vector_sum.sv",
                                             "vector_unit.sv",
                                             NULL};

static const char *const array_templates[] = {"systolic.svh", "systolic_cell.sv", "systolic.sv", NULL};

static const char *const write_back_templates[] = {"write_back.svh", "fp32_greater.sv", "write_back.sv",
                                                   NULL};

enum { TEMPLATE_BYTES_MOST = 1 << 20 };

typedef struct {
    const char *folder;
    tn_arena *arena;
    tn_error *error;
} writer;

static tn_status put(const writer *output, const char *name, const void *data, size_t length) {
    const char *path;
    TN_TRY(tn_arena_format(output->arena, &path, output->error, "%s/%s", output->folder, name));
    return tn_file_write(path, data, length, output->error);
}

static tn_status put_buffer(const writer *output, const char *name, tn_buffer *text) {
    tn_status status = text->status;
    if (status != TN_OK)
        tn_fail(output->error, status, "no memory for %s", name);
    else
        status = put(output, name, text->data ? text->data : "", text->length);
    tn_buffer_free(text);
    return status;
}

static tn_status copy_templates(const writer *output, const char *const *list) {
    for (const char *const *name = list; *name; name++) {
        const char *path;
        char *data;
        size_t length;
        TN_TRY(tn_search_path_find_file("src/rtl/templates", *name, output->arena, &path, output->error));
        TN_TRY(tn_file_read(path, TEMPLATE_BYTES_MOST, &data, &length, output->error));
        tn_status status = put(output, *name, data, length);
        tn_free(data);
        TN_TRY(status);
    }
    return TN_OK;
}

static tn_status put_images(const writer *output, const tn_rtl_engine *engine, const tn_rtl_image *image,
                            const char *ending) {
    for (uint32_t m = 0; m < engine->design->memories; m++) {
        for (uint64_t b = 0; b < engine->design->memory[m].banks; b++) {
            tn_buffer text = {0};
            const char *name;
            TN_TRY(tn_arena_format(output->arena, &name, output->error, "memory%" PRIu32 "_%03" PRIu64 ".%s",
                                   m, b, ending));
            tn_rtl_image_bank(engine->design, image, m, b, &text);
            TN_TRY(put_buffer(output, name, &text));
        }
    }
    return TN_OK;
}

static tn_status put_testbench(const writer *output, const tn_rtl_engine *engine, uint32_t runs) {
    uint64_t elements = tn_rtl_image_elements(engine->design), cycles = engine->cycles * runs;
    tn_rtl_bits last = {0};
    for (uint32_t f = 0; f < engine->forms; f++) tn_rtl_bits_put(&last, engine->form[f].banks - 1, 8);
    tn_buffer text = {0};
    tn_buffer_format(&text,
                     "localparam int RUNS = %" PRIu32 ";\n"
                     "localparam int OPERATIONS = %" PRIu32 ";\n"
                     "localparam longint ELEMENTS = %" PRIu64 ";\n"
                     "localparam longint CYCLES = %" PRIu64 ";\n"
                     "localparam longint CYCLES_MOST = %" PRIu64 ";\n"
                     "localparam longint REPORT = %" PRIu64 ";\n"
                     "localparam int MEMORIES = %" PRIu32 ";\n"
                     "localparam logic [8*MEMORIES-1:0] LAST_BANK = ",
                     runs, engine->design->operations, elements, cycles, 2 * cycles + 1000 * runs + 1000,
                     cycles < 100000 ? 1000 : cycles / 100, engine->forms);
    tn_rtl_bits_literal(&last, &text);
    const tn_rtl_design *design = engine->design;
    const bool passes = engine->circuits > 0;
    tn_buffer_format(&text,
                     ";\nlocalparam int SAMPLE_WORDS = %" PRIu32 ";\nlocalparam int SAMPLE_LABELS = %" PRIu32
                     ";\nlocalparam int SCALAR_ROWS = %" PRIu64 ";\n",
                     passes ? design->sample_words : 0, passes ? design->sample_labels : 0,
                     passes ? (uint64_t)design->scalar_rows : 0);
    tn_rtl_host_spaces(&text);
    return put_buffer(output, "testbench.svh", &text);
}

/* What the testbench compares the cycles of operations with. */
static tn_status put_cycles(const writer *output, const tn_rtl_engine *engine) {
    tn_buffer text = {0};
    for (uint32_t i = 0; i < engine->design->operations; i++)
        tn_buffer_format(&text, "%08" PRIx64 "\n", engine->step[i].cycles);
    return put_buffer(output, "cycles.hex", &text);
}

/* The sources of a list that are modules, once each. */
static void list_sources(tn_buffer *out, const char *const *list, const char *const *before) {
    for (const char *const *name = list; *name; name++) {
        bool known = strstr(*name, ".svh") != NULL;
        for (const char *const *other = before; *other; other++) known |= strcmp(*name, *other) == 0;
        if (!known) tn_buffer_format(out, " %s", *name);
    }
}

/* What the Makefile compiles beside the engine. */
static tn_status put_makefile(const writer *output, const tn_rtl_engine *engine) {
    static const char *const none[] = {NULL};
    const char *const *passes = engine->circuits ? pass_templates : none;
    tn_buffer list = {0};
    tn_buffer_text(&list, "PARTS :=");
    list_sources(&list, passes, none);
    if (engine->circuits) tn_buffer_text(&list, " vector_lane.sv");
    if (engine->stages) list_sources(&list, write_back_templates, passes);
    if (engine->design->systolic) list_sources(&list, array_templates, none);
    tn_buffer_text(&list, "\n");
    return put_buffer(output, "parts.mk", &list);
}

static tn_status put_all(const writer *output, const tn_rtl_engine *engine, const tn_rtl_image *begin,
                         const tn_rtl_image *end, uint32_t runs) {
    tn_buffer header = {0}, patterns = {0}, memories = {0}, descriptor = {0}, program = {0};
    tn_rtl_columns columns;
    TN_TRY(tn_folder_make(output->folder, output->error));
    TN_TRY(copy_templates(output, templates));
    if (engine->circuits) TN_TRY(copy_templates(output, pass_templates));
    if (engine->stages) TN_TRY(copy_templates(output, write_back_templates));
    if (engine->design->systolic) TN_TRY(copy_templates(output, array_templates));
    TN_TRY(put_makefile(output, engine));
    TN_TRY(tn_rtl_columns_find(engine, output->arena, &columns, output->error));
    tn_rtl_engine_header(engine, &columns, &header);
    TN_TRY(put_buffer(output, "engine.svh", &header));
    tn_rtl_engine_patterns(engine, &patterns);
    TN_TRY(put_buffer(output, "patterns.sv", &patterns));
    tn_rtl_engine_memories(engine, &memories);
    TN_TRY(put_buffer(output, "memories.svh", &memories));
    tn_rtl_engine_descriptor(engine, &columns, &descriptor);
    TN_TRY(put_buffer(output, "descriptor.svh", &descriptor));
    tn_rtl_engine_program(engine, &columns, &program);
    TN_TRY(put_buffer(output, "program.hex", &program));
    TN_TRY(put_images(output, engine, begin, "hex"));
    TN_TRY(put_images(output, engine, end, "expected"));
    TN_TRY(put_cycles(output, engine));
    return put_testbench(output, engine, runs);
}

tn_status tn_rtl_files_write(const tn_rtl_engine *engine, const tn_rtl_image *begin, const tn_rtl_image *end,
                             uint32_t runs, const char *folder, tn_error *error) {
    tn_arena arena = {0};
    const writer output = {folder, &arena, error};
    tn_status status = put_all(&output, engine, begin, end, runs);
    tn_arena_free(&arena);
    return status;
}

tn_status tn_rtl_templates_copy(const char *const *list, const char *folder, tn_arena *arena,
                                tn_error *error) {
    const writer output = {folder, arena, error};
    return copy_templates(&output, list);
}
