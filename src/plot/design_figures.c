#include "plot/design_figures.h"

#include "base/c_locale.h"
#include "base/file.h"
#include "plot/gnuplot.h"
#include "text/number.h"
#include "text/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const phase_titles[TN_PHASES] = {"forward", "input gradient", "weight gradient", "update"};

static double milliseconds(const tn_explanation *why, uint64_t cycles) {
    return (double)cycles / (1e3 * why->clock_MHz);
}

/* kernel row, start, finish, phase, 1 on the critical path */
static void write_items(const tn_step *step, const tn_explanation *why, tn_buffer *data) {
    for (uint32_t i = 0; i < why->items; i++) {
        const tn_timeline_item *item = &why->item[i];
        tn_buffer_format(data, "%u %.9g %.9g %d %d\n", (unsigned)item->kernel, milliseconds(why, item->start),
                         milliseconds(why, item->finish), (int)step->operation[item->operation].phase,
                         (int)item->critical);
    }
}

static void define(const tn_step *step, const tn_explanation *why, tn_buffer *definition) {
    char name[32], text[256];
    char time[48];
    tn_snprintf(text, sizeof text, "one training step of %.80s on %.80s: %s", step->name, why->device,
                tn_quantity_text(why->price.seconds_per_step, "s", time));
    tn_define_text(definition, "heading", text);
    tn_define_real(definition, "size_x", TN_FIGURE_WIDE);
    /* What no operation runs on (the wires between kernels) has no bars. */
    uint32_t rows = why->kernels;
    while (rows > 1 && why->kernel[rows - 1].operations == 0) rows--;
    tn_define_real(definition, "kernels", rows);
    tn_define_real(definition, "step_ms", milliseconds(why, why->price.cycles_per_step));
    tn_define_axis(definition, "x", "s", 1e-3, 0, milliseconds(why, why->price.cycles_per_step), false);
    for (int phase = 0; phase < TN_PHASES; phase++) {
        tn_snprintf(name, sizeof name, "phase_%d", phase);
        tn_define_text(definition, name, phase_titles[phase]);
    }
    for (uint32_t i = 0; i < why->kernels; i++) {
        const tn_kernel_line *kernel = &why->kernel[i];
        tn_snprintf(name, sizeof name, "kernel_%u", (unsigned)i);
        tn_define_text(definition, name, kernel->name);
        tn_snprintf(name, sizeof name, "busy_%u", (unsigned)i);
        tn_snprintf(text, sizeof text, "%.1f %%", 100 * kernel->utilisation);
        tn_define_text(definition, name, text);
    }
}

static tn_status draw(const tn_step *step, const tn_explanation *why, tn_figure *figure, tn_buffer *data,
                      tn_buffer *definition, tn_error *error) {
    write_items(step, why, data);
    define(step, why, definition);
    figure->data = data;
    figure->definition = definition;
    return tn_figure_draw(figure, error);
}

tn_status tn_timeline_figure(const tn_step *step, const tn_explanation *why, const char *folder,
                             tn_figure_format format, tn_figure_style style, tn_arena *arena,
                             const char **path, tn_error *error) {
    tn_figure figure = {.format = format, .style = style, .script = "timeline"};
    tn_buffer data = {0}, definition = {0};
    TN_TRY(tn_folder_make(folder, error));
    TN_TRY(tn_arena_format(arena, &figure.path, error, "%s/timeline", folder));
    tn_status status = draw(step, why, &figure, &data, &definition, error);
    tn_buffer_free(&data);
    tn_buffer_free(&definition);
    TN_TRY(status);
    return tn_arena_format(arena, path, error, "%s.%s", figure.path, tn_figure_format_name(format));
}

/* ---- memory ---- */

enum { MEMORIES_SHOWN = 22 };
static const double bits_per_KiB = 8192.0;

static int by_capacity(const void *a, const void *b) {
    const tn_memory_line *x = *(const tn_memory_line *const *)a, *y = *(const tn_memory_line *const *)b;
    if (x->placed.capacity_bits != y->placed.capacity_bits)
        return x->placed.capacity_bits > y->placed.capacity_bits ? -1 : 1;
    return (x > y) - (x < y);
}

/* ", words of 4x1x4": of the memory's largest array. */
static void word_text(const tn_memory_line *line, char *text, size_t size) {
    size_t length = 0;
    *text = 0;
    if (!line->largest || line->largest->row_elements == 1) return;
    for (uint32_t k = 0; k < line->largest->axes && length < size; k++)
        length += (size_t)tn_snprintf(text + length, size - length, "%s%" PRIu64, k ? "x" : ", word ",
                                      line->largest->word[k]);
}

static void put_memory(const tn_memory_line *line, tn_buffer *data) {
    static const int kind[] = {
        [TN_STYLE_AUTO] = 0, [TN_STYLE_BLOCK] = 0, [TN_STYLE_ULTRA] = 1, [TN_STYLE_DISTRIBUTED] = 2};
    const tn_placed *placed = &line->placed;
    char name[160], layout[240], word[96];
    if (line->arrays > 1)
        tn_snprintf(name, sizeof name, "%.110s and %" PRIu32 " more", line->name, line->arrays - 1);
    else
        tn_snprintf(name, sizeof name, "%.110s", line->name);
    char copies[32] = "", banks[48] = "";
    if (placed->memories > 1) tn_snprintf(copies, sizeof copies, "%" PRIu64 " of ", placed->memories);
    if (placed->banks > 1) tn_snprintf(banks, sizeof banks, "%" PRIu64 " banks of ", placed->banks);
    word_text(line, word, sizeof word);
    char depth[32], width[32];
    tn_snprintf(layout, sizeof layout, "%s%s%s rows of %s bits%s", copies, banks,
                tn_count_text(placed->depth, depth), tn_count_text(placed->width_bits, width), word);
    tn_figure_cell(data, name);
    tn_buffer_format(data, " %.9g %.9g %d ", placed->capacity_bits / bits_per_KiB,
                     placed->stored_bits / bits_per_KiB, kind[placed->place.style]);
    tn_figure_cell(data, layout);
    tn_buffer_text(data, "\n");
}

tn_status tn_memories_by_capacity(const tn_explanation *why, tn_arena *arena, const tn_memory_line ***made,
                                  tn_error *error) {
    const tn_memory_line **order;
    TN_TRY(TN_NEW(arena, why->memories, &order, error));
    for (uint32_t i = 0; i < why->memories; i++) order[i] = &why->memory[i];
    if (why->memories) qsort(order, why->memories, sizeof *order, by_capacity);
    *made = order;
    return TN_OK;
}

tn_status tn_memory_figure(const tn_explanation *why, tn_arena *arena, tn_buffer *data, tn_buffer *definition,
                           tn_error *error) {
    const tn_memory_line **order;
    uint32_t shown = why->memories < MEMORIES_SHOWN ? why->memories : MEMORIES_SHOWN, rows = shown;
    TN_TRY(tn_memories_by_capacity(why, arena, &order, error));
    double most = 1, capacity = 0, stored = 0;
    for (uint32_t i = 0; i < why->memories; i++) {
        if (i < shown) {
            put_memory(order[i], data);
            most = fmax(most, order[i]->placed.capacity_bits / bits_per_KiB);
            continue;
        }
        capacity += order[i]->placed.capacity_bits / bits_per_KiB;
        stored += order[i]->placed.stored_bits / bits_per_KiB;
    }
    if (why->memories > shown) {
        char text[64];
        tn_snprintf(text, sizeof text, "%" PRIu32 " smaller memories", why->memories - shown);
        tn_figure_cell(data, text);
        tn_buffer_format(data, " %.9g %.9g 0 \"\"\n", capacity, stored);
        most = fmax(most, capacity);
        rows++;
    }
    tn_define_real(definition, "rows", rows);
    tn_define_real(definition, "most", most);
    tn_define_axis(definition, "x", "B", 1024, 0, most, false);
    tn_define_real(definition, "size_x", TN_FIGURE_WIDE);
    tn_define_real(definition, "size_y", 120 + 22.0 * rows);
    return TN_OK;
}

/* ---- energy ---- */

static void put_energy(const char *part, double joules, double least, double most, tn_buffer *data) {
    char label[160], mean[48], low[48], high[48];
    tn_snprintf(label, sizeof label, "%s (%s to %s)", tn_quantity_text(joules, "J", mean),
                tn_quantity_text(least, "J", low), tn_quantity_text(most, "J", high));
    tn_figure_cell(data, part);
    tn_buffer_format(data, " %.9g %.9g %.9g ", 1e3 * joules, 1e3 * least, 1e3 * most);
    tn_figure_cell(data, label);
    tn_buffer_text(data, "\n");
}

void tn_energy_figure(const tn_explanation *why, tn_buffer *data, tn_buffer *definition) {
    double least = 0, most = 0;
    int rows = 1;
    for (int i = 0; i < TN_ENERGY_PARTS; i++) {
        if (why->most_joules[i] == 0) continue; /* a part that the device or the design does not have */
        put_energy(tn_energy_names[i], why->joules[i], why->least_joules[i], why->most_joules[i], data);
        rows++;
        least += why->least_joules[i];
        most += why->most_joules[i];
    }
    put_energy("all", why->price.joules_per_step, least, most, data);
    tn_define_real(definition, "rows", rows);
    tn_define_real(definition, "most", 1e3 * most);
    tn_define_axis(definition, "x", "J", 1e-3, 0, 1e3 * most, false);
    tn_define_real(definition, "size_x", TN_FIGURE_WIDE);
    tn_define_real(definition, "size_y", 360);
}

/* ---- from the floor to the step ---- */

/* Part, where its bar begins and ends, what it is of, its label. Parts of 0 have no bar. */
void tn_floor_figure(const tn_explanation *why, tn_buffer *data, tn_buffer *definition) {
    static const int kind[TN_FALLS] = {
        [TN_FALL_ENGINE] = 1,        [TN_FALL_EDGES] = 1,       [TN_FALL_SUMS] = 1,
        [TN_FALL_LAYOUTS] = 1,       [TN_FALL_DRAINS] = 1,      [TN_FALL_SLICES] = 2,
        [TN_FALL_VECTOR] = 2,        [TN_FALL_VECTOR_SUMS] = 2, [TN_FALL_VECTOR_LAYOUTS] = 2,
        [TN_FALL_VECTOR_DRAINS] = 2, [TN_FALL_MOVES] = 3,       [TN_FALL_BESIDE] = 3};
    const double per_cycle = 1e-3 / why->clock_MHz;
    double most = 0;
    int shown = 0;
    for (int i = 0; i < TN_FALLS; i++) {
        const tn_fall_line *line = &why->fall[i];
        const double end = per_cycle * (double)line->reached,
                     begin = per_cycle * (double)(line->reached - line->cycles);
        char label[64], count[32];
        if (line->cycles == 0) continue;
        tn_snprintf(label, sizeof label, "%s%s cycles", line->cycles < 0 ? "-" : "",
                    tn_count_text((uint64_t)llabs(line->cycles), count));
        tn_figure_cell(data, line->part);
        tn_buffer_format(data, " %.9g %.9g %d ", begin, end, kind[i]);
        tn_figure_cell(data, label);
        tn_buffer_text(data, "\n");
        most = fmax(most, fmax(begin, end));
        shown++;
    }
    tn_define_real(definition, "rows", shown);
    tn_define_real(definition, "most", most);
    tn_define_axis(definition, "x", "s", 1e-3, 0, most, false);
    tn_define_real(definition, "size_x", TN_FIGURE_WIDE);
    tn_define_real(definition, "size_y", 120 + 26.0 * shown);
}

/* ---- time by layer and phase ---- */

enum { LAYERS_SHOWN = 24 };

/* "encoder12.query" as "encoder.query": layers of a repeated block are one line. */
static void block_name(const char *name, char *text, size_t capacity) {
    const char *dot = strchr(name, '.'), *end = dot;
    while (end && end > name && end[-1] >= '0' && end[-1] <= '9') end--;
    if (end && end > name)
        tn_snprintf(text, capacity, "%.*s%s", (int)(end - name), name, dot);
    else
        tn_snprintf(text, capacity, "%s", name);
}

static tn_phase_line *line_of(tn_phase_line *line, uint32_t *lines, const char *name) {
    char text[sizeof line->name];
    block_name(name, text, sizeof text);
    for (uint32_t i = 0; i < *lines; i++)
        if (strcmp(line[i].name, text) == 0) return &line[i];
    memcpy(line[*lines].name, text, sizeof text);
    return &line[(*lines)++];
}

static int by_time(const void *a, const void *b) {
    const tn_phase_line *x = a, *y = b;
    if (x->all != y->all) return x->all > y->all ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void put_line(const tn_phase_line *line, double step_ms, tn_buffer *data) {
    char text[140];
    if (line->layers > 1)
        tn_snprintf(text, sizeof text, "%s (%" PRIu32 ")", line->name, line->layers);
    else
        tn_snprintf(text, sizeof text, "%s", line->name);
    tn_figure_cell(data, text);
    for (int p = 0; p < TN_PHASES; p++) tn_buffer_format(data, " %.9g", line->ms[p]);
    tn_snprintf(text, sizeof text, "%.1f %%", 100 * line->all / step_ms);
    tn_buffer_format(data, " %.9g ", line->all);
    tn_figure_cell(data, text);
    tn_buffer_text(data, "\n");
}

tn_status tn_phase_lines(const tn_step *step, const tn_explanation *why, tn_arena *arena,
                         tn_phase_line **made, uint32_t *count, tn_error *error) {
    tn_phase_line *line;
    uint32_t lines = 0, busy = 0;
    double per_cycle = 1e-3 / why->clock_MHz;
    TN_TRY(TN_NEW(arena, step->layers, &line, error));
    for (uint32_t l = 0; l < step->layers; l++) line_of(line, &lines, step->layer[l].name)->layers++;
    for (uint32_t i = 0; i < why->items; i++) {
        const tn_timeline_item *item = &why->item[i];
        const tn_operation *operation = &step->operation[item->operation];
        tn_phase_line *entry = line_of(line, &lines, step->layer[operation->layer].name);
        double ms = per_cycle * (double)(item->finish - item->start);
        entry->ms[operation->phase] += ms;
        entry->all += ms;
    }
    if (lines) qsort(line, lines, sizeof *line, by_time);
    while (busy < lines && line[busy].all > 0) busy++;
    *made = line;
    *count = busy;
    return TN_OK;
}

tn_status tn_phases_figure(const tn_step *step, const tn_explanation *why, tn_arena *arena, tn_buffer *data,
                           tn_buffer *definition, tn_error *error) {
    tn_phase_line *line, other = {.name = "other layers"};
    uint32_t lines;
    double step_ms = milliseconds(why, why->price.cycles_per_step);
    TN_TRY(tn_phase_lines(step, why, arena, &line, &lines, error));
    double most = 0;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < lines; i++) {
        most = fmax(most, line[i].all);
        if (rows < LAYERS_SHOWN) {
            put_line(&line[i], step_ms, data);
            rows++;
            continue;
        }
        for (int p = 0; p < TN_PHASES; p++) other.ms[p] += line[i].ms[p];
        other.all += line[i].all;
    }
    if (other.all > 0) {
        put_line(&other, step_ms, data);
        most = fmax(most, other.all);
        rows++;
    }
    for (int p = 0; p < TN_PHASES; p++) {
        char name[32];
        tn_snprintf(name, sizeof name, "phase_%d", p);
        tn_define_text(definition, name, phase_titles[p]);
    }
    tn_define_real(definition, "rows", rows);
    tn_define_real(definition, "most", most);
    tn_define_axis(definition, "x", "s", 1e-3, 0, most, false);
    tn_define_real(definition, "size_x", TN_FIGURE_WIDE);
    tn_define_real(definition, "size_y", 120 + 22.0 * rows);
    return TN_OK;
}
