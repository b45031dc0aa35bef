#include "rtl/simulate.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BANK_BYTES_MOST = 1 << 30, REPORT_BYTES_MOST = 1 << 24 };

static tn_status need(const char *program, const char *package, tn_error *error) {
    tn_child child;
    const char *const argument[] = {program, "-V", NULL};
    tn_status status = tn_child_run(&child, NULL, argument, NULL);
    if (status == TN_OK || status == TN_INTERRUPTED) tn_child_free(&child);
    if (status == TN_INTERRUPTED) return tn_fail(error, TN_INTERRUPTED, "interrupted");
    if (status == TN_OK) return TN_OK;
    return tn_fail(error, TN_IO, "%s can't be started; install the package %s", program, package);
}

/* Progress from what `make simulate` prints: "cycle 1000 of 46868". */
typedef struct {
    const tn_progress *progress;
    size_t seen; /* bytes */
} follower;

static void follow(void *user, const tn_buffer *out) {
    follower *progress = user;
    for (const char *line = out->data + progress->seen, *end; (end = strchr(line, '\n')) != NULL;
         line = end + 1) {
        uint64_t cycle, cycles;
        progress->seen = (size_t)(end + 1 - out->data);
        if (sscanf(line, "cycle %" SCNu64 " of %" SCNu64, &cycle, &cycles) == 2)
            tn_progress_report(progress->progress, cycle, cycles);
    }
}

static tn_status make(const char *folder, const char *target, const char *floats, const char *optimise,
                      const tn_progress *progress, tn_child *child, tn_error *error) {
    const char *const argument[] = {"make", target, floats, optimise, NULL};
    follower state = {progress, 0};
    return tn_child_follow(child, folder, argument, &(tn_child_listener){follow, &state}, error);
}

/* The last lines of what a program printed. */
static const char *tail(const tn_buffer *text) {
    enum { SHOWN = 600 };
    if (!text->data) return "";
    return text->length > SHOWN ? text->data + text->length - SHOWN : text->data;
}

static tn_status read_cycles(const tn_rtl_engine *engine, const char *printed, tn_arena *arena,
                             tn_rtl_simulation *simulation, tn_error *error) {
    uint32_t operations = engine->design->operations, seen = 0;
    TN_TRY(TN_NEW(arena, operations, &simulation->cycles, error));
    for (const char *line = printed; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        uint32_t operation;
        uint64_t cycles;
        if (sscanf(line, "operation %" SCNu32 " cycles %" SCNu64, &operation, &cycles) != 2) continue;
        if (operation >= operations)
            return tn_fail(error, TN_IO, "the simulation ran more operations than the program");
        simulation->cycles[operation] = cycles;
        seen++;
    }
    if (seen < operations)
        return tn_fail(error, TN_IO, "the simulation ended before its program: %s", printed);
    for (uint32_t i = 0; i < operations; i++) simulation->total += simulation->cycles[i];
    return TN_OK;
}

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* A bank as $writememh writes it: comments, then a word a line, its last element first. */
static tn_status parse_bank(const tn_rtl_memory *shape, const char *path, const char *text, float *word,
                            tn_error *error) {
    uint64_t words = 0;
    for (const char *cursor = text; *cursor;) {
        if (*cursor == '/' || *cursor == '\n' || *cursor == '\r') {
            while (*cursor && *cursor != '\n') cursor++;
            if (*cursor) cursor++;
            continue;
        }
        if (words == shape->depth) return tn_fail(error, TN_IO, "%s holds more words than its bank", path);
        for (uint64_t e = shape->word; e-- > 0;) {
            uint32_t bits = 0;
            for (int i = 0; i < 8; i++, cursor++) {
                if (digit_of(*cursor) < 0)
                    return tn_fail(error, TN_IO, "%s: word %" PRIu64 " is no number", path, words);
                bits = bits << 4 | (uint32_t)digit_of(*cursor);
            }
            memcpy(&word[words * shape->word + e], &bits, sizeof bits);
        }
        words++;
    }
    if (words < shape->depth) return tn_fail(error, TN_IO, "%s holds fewer words than its bank", path);
    return TN_OK;
}

static tn_status read_memories(const tn_rtl_engine *engine, const char *folder, tn_arena *arena,
                               tn_rtl_image *image, tn_error *error) {
    TN_TRY(tn_rtl_image_make(engine->design, arena, image, error));
    for (uint32_t m = 0; m < engine->design->memories; m++) {
        const tn_rtl_memory *shape = &engine->design->memory[m];
        for (uint64_t b = 0; b < shape->banks; b++) {
            const char *path;
            char *text;
            size_t length;
            TN_TRY(
                tn_arena_format(arena, &path, error, "%s/memory%" PRIu32 "_%03" PRIu64 ".out", folder, m, b));
            TN_TRY(tn_file_read(path, BANK_BYTES_MOST, &text, &length, error));
            tn_status status =
                parse_bank(shape, path, text, image->memory[m] + b * shape->depth * shape->word, error);
            tn_free(text);
            TN_TRY(status);
        }
    }
    return TN_OK;
}

/* All memories share ports of the most banks times the widest word. */
static tn_status check_width(const tn_rtl_engine *engine, tn_error *error) {
    enum { ELEMENTS_MOST = 4096 };
    if (engine->banks * engine->word <= ELEMENTS_MOST) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "memories of %" PRIu64 " banks and of %" PRIu64 "-element words share ports of %" PRIu64
        " elements, of which a simulation takes %d; let build.split be reshape, banks or partition",
        engine->banks, engine->word, engine->banks * engine->word, ELEMENTS_MOST);
}

bool tn_rtl_simulates_circuits(const tn_rtl_engine *engine) {
    const tn_rtl_design *design = engine->design;
    return engine->circuits == 0 && design->rows * design->columns * design->terms <= TN_RTL_CIRCUITS_MOST;
}

/* How the compiler is told to optimise the simulation: what is simulated for longer than the compiler takes is compiled for
 * speed, 2.6 times as fast at -O3 as at -O1; what is simulated in a second as it is compiled the fastest. */
static const char *optimisation(const tn_rtl_engine *engine) {
    enum { SHORT = 20000, LONG = 200000 /* cycles */ };
    return engine->cycles < SHORT ? "OPTIMISE=-O0" : engine->cycles < LONG ? "OPTIMISE=-O1" : "OPTIMISE=-O3";
}

tn_status tn_rtl_simulate(const tn_rtl_engine *engine, const char *folder, const tn_progress *progress,
                          tn_arena *arena, tn_rtl_simulation *simulation, tn_error *error) {
    tn_child child;
    *simulation = (tn_rtl_simulation){0};
    double begin = tn_clock_seconds();
    TN_TRY(check_width(engine, error));
    TN_TRY(need("verilator", "verilator", error));
    TN_TRY(need("make", "make", error));
    TN_TRY(make(folder, "simulate", tn_rtl_simulates_circuits(engine) ? "FLOATS=circuit" : "FLOATS=c",
                optimisation(engine), progress, &child, error));
    tn_status status = TN_OK;
    const char *printed = child.out.data ? child.out.data : "";
    bool ended =
        strstr(printed, "elements ") != NULL; /* it may still differ, which is no failure to simulate */
    if (child.status != 0 && !ended)
        status = tn_fail(error, TN_IO, "make simulate failed in %s: %s%s", folder, tail(&child.out),
                         tail(&child.err));
    if (status == TN_OK) status = read_cycles(engine, printed, arena, simulation, error);
    tn_child_free(&child);
    TN_TRY(status);
    simulation->seconds = tn_clock_seconds() - begin;
    return read_memories(engine, folder, arena, &simulation->memories, error);
}

/* ---- synthesis ---- */

/* Cells by name: "     LUT6       1234". */
static void count_cell(const char *line, tn_rtl_resources *found) {
    char cell[64];
    uint64_t count;
    if (sscanf(line, " %63[A-Z0-9_] %" SCNu64, cell, &count) != 2) return;
    if (strncmp(cell, "LUT", 3) == 0 && strlen(cell) == 4) found->lut += count;
    if (strncmp(cell, "FD", 2) == 0) found->ff += count;
    if (strncmp(cell, "DSP48", 5) == 0) found->dsp += count;
    if (strncmp(cell, "RAMB18", 6) == 0) found->bram18 += count;
    if (strncmp(cell, "RAMB36", 6) == 0) found->bram18 += 2 * count;
    if (strncmp(cell, "URAM288", 7) == 0) found->uram += count;
    /* LUTs of a distributed RAM: UG974, RAM32M 4, RAM32M16 8, RAM64M 4, RAM64M8 8, dual port twice the depth in 64s. */
    static const struct {
        const char *name;
        uint64_t luts;
    } rams[] = {{"RAM32M", 4},   {"RAM32M16", 8},  {"RAM64M", 4},    {"RAM64M8", 8},  {"RAM32X1D", 2},
                {"RAM64X1D", 2}, {"RAM128X1D", 4}, {"RAM256X1D", 8}, {"RAM32X1S", 1}, {"RAM64X1S", 1}};
    for (size_t i = 0; i < sizeof rams / sizeof *rams; i++)
        if (strcmp(cell, rams[i].name) == 0) found->lutram += rams[i].luts * count;
    if (strcmp(cell, "SRL16E") == 0 || strcmp(cell, "SRLC32E") == 0) found->lut += count;
}

tn_status tn_rtl_synthesise(const char *folder, bool shell, tn_arena *arena, tn_rtl_synthesis *synthesis,
                            tn_error *error) {
    tn_child child;
    const char *path;
    char *text;
    size_t length;
    *synthesis = (tn_rtl_synthesis){0};
    double begin = tn_clock_seconds();
    TN_TRY(need("yosys", "yosys", error));
    TN_TRY(need("make", "make", error));
    TN_TRY(make(folder, shell ? "synthesise-shell" : "synthesise", NULL, NULL, NULL, &child, error));
    tn_status status = TN_OK;
    if (child.status != 0)
        status = tn_fail(error, TN_IO, "make synthesise failed in %s: %s%s", folder, tail(&child.out),
                         tail(&child.err));
    tn_child_free(&child);
    TN_TRY(status);
    TN_TRY(tn_arena_format(arena, &path, error, "%s/synthesis.txt", folder));
    TN_TRY(tn_file_read(path, REPORT_BYTES_MOST, &text, &length, error));
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        count_cell(line, &synthesis->used);
    tn_free(text);
    synthesis->seconds = tn_clock_seconds() - begin;
    return TN_OK;
}
