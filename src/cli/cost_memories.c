/* The memories of `tenfold cost`. */
#include "cli/cost.h"
#include "cli/output.h"
#include "text/table.h"

#include <inttypes.h>
#include <stdlib.h>

static const double bytes_per_MiB = 1048576.0;

/* The largest are shown, the rest in one line: a design with separate buffers has hundreds. */
enum { SHOWN = 16 };

static uint64_t bram18_of(const tn_memory_line *line) {
    return line->placed.blocks.bram18 + 2 * line->placed.blocks.bram36;
}

static double use_of(double stored_bits, double capacity_bits) {
    return capacity_bits > 0 ? 100 * stored_bits / capacity_bits : 0;
}

/* Greatest capacity first; of equals the order of the step. */
static int by_capacity(const void *left, const void *right) {
    const tn_memory_line *a = *(const tn_memory_line *const *)left,
                         *b = *(const tn_memory_line *const *)right;
    if (a->placed.capacity_bits != b->placed.capacity_bits)
        return a->placed.capacity_bits > b->placed.capacity_bits ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void add_line(tn_table *table, const tn_memory_line *line) {
    const tn_placed *placed = &line->placed;
    tn_table_text(table, line->name);
    tn_table_text(table, line->role);
    tn_table_count(table, line->arrays);
    tn_table_format(table, "%s, %s", tn_memory_style_names[placed->place.style],
                    tn_array_split_names[placed->place.split]);
    tn_table_count(table, placed->accesses);
    tn_table_format(table, "%" PRIu64 " x %" PRIu64 " x %" PRIu64, placed->memories, placed->width_bits,
                    placed->depth);
    tn_table_count(table, bram18_of(line));
    tn_table_count(table, placed->blocks.uram);
    tn_table_count(table, placed->blocks.lutram);
    tn_table_format(table, "%.1f", use_of(placed->stored_bits, placed->capacity_bits));
}

static void add_rest(tn_table *table, const tn_memory_line *const *line, uint32_t count) {
    uint64_t arrays = 0, bram18 = 0, uram = 0, lutram = 0;
    double stored = 0, capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        arrays += line[i]->arrays;
        bram18 += bram18_of(line[i]);
        uram += line[i]->placed.blocks.uram;
        lutram += line[i]->placed.blocks.lutram;
        stored += line[i]->placed.stored_bits;
        capacity += line[i]->placed.capacity_bits;
    }
    tn_table_format(table, "%" PRIu32 " more", count);
    tn_table_text(table, "");
    tn_table_count(table, arrays);
    for (int i = 0; i < 3; i++) tn_table_text(table, "");
    tn_table_count(table, bram18);
    tn_table_count(table, uram);
    tn_table_count(table, lutram);
    tn_table_format(table, "%.1f", use_of(stored, capacity));
}

static tn_status print_lines(const tn_explanation *why, tn_error *error) {
    static const char *const titles[] = {
        "memory of", "role", "arrays",      "style",  "words a cycle", "memories x bits x words",
        "BRAM18",    "URAM", "LUTRAM, LUT", "used, %"};
    enum { COLUMNS = sizeof titles / sizeof *titles };
    tn_arena arena = {0};
    const tn_memory_line **line;
    tn_table table;
    TN_TRY(tn_arena_alloc(&arena, why->memories, sizeof *line, &line, error));
    for (uint32_t i = 0; i < why->memories; i++) line[i] = &why->memory[i];
    qsort(line, why->memories, sizeof *line, by_capacity);
    uint32_t shown = why->memories > SHOWN ? SHOWN - 1 : why->memories;
    tn_say_heading("Memories (named after their largest array)");
    tn_table_begin(&table, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) tn_table_text(&table, titles[i]);
    for (uint32_t i = 0; i < shown; i++) add_line(&table, line[i]);
    if (shown < why->memories) add_rest(&table, line + shown, why->memories - shown);
    tn_arena_free(&arena);
    return tn_table_end(&table, error);
}

tn_status tn_cost_print_memories(const tn_cost *cost, tn_error *error) {
    tn_table table;
    TN_TRY(print_lines(&cost->why, error));
    tn_say_heading("Memories by grouping and placement");
    tn_table_begin(&table, 7);
    static const char *const titles[] = {"", "BRAM18", "URAM", "LUTRAM, LUT", "MiB taken", "used, %", "fits"};
    for (size_t i = 0; i < 7; i++) tn_table_text(&table, titles[i]);
    for (int i = 0; i < TN_GROUPINGS; i++) {
        const tn_grouping *line = &cost->grouping[i];
        tn_table_format(&table, "%s%s", line->name, line->exact ? " (least possible)" : "");
        tn_table_count(&table, line->bram18);
        tn_table_count(&table, line->uram);
        tn_table_count(&table, line->lutram);
        tn_table_format(&table, "%.2f", line->capacity_bits / 8 / bytes_per_MiB);
        tn_table_format(&table, "%.1f", use_of(line->stored_bits, line->capacity_bits));
        tn_table_text(&table, line->fits ? "yes" : "no");
    }
    return tn_table_end(&table, error);
}

static void write_line(tn_json *json, const tn_memory_line *line) {
    const tn_placed *placed = &line->placed;
    tn_json_object(json);
    tn_json_put_text(json, "name", line->name);
    tn_json_put_text(json, "role", line->role);
    tn_json_put_count(json, "arrays", line->arrays);
    tn_json_put_text(json, "style", tn_memory_style_names[placed->place.style]);
    tn_json_put_text(json, "split", tn_array_split_names[placed->place.split]);
    tn_json_put_count(json, "group", placed->place.group);
    tn_json_put_count(json, "accesses", placed->accesses);
    tn_json_put_count(json, "memories", placed->memories);
    tn_json_put_count(json, "width_bits", placed->width_bits);
    tn_json_put_count(json, "depth", placed->depth);
    tn_json_put_count(json, "bram18", bram18_of(line));
    tn_json_put_count(json, "uram", placed->blocks.uram);
    tn_json_put_count(json, "lutram", placed->blocks.lutram);
    tn_json_put_real(json, "stored_bits", placed->stored_bits);
    tn_json_put_real(json, "capacity_bits", placed->capacity_bits);
    tn_json_end(json);
}

void tn_cost_write_memories(const tn_cost *cost, tn_json *json) {
    tn_json_key(json, "memories");
    tn_json_array(json);
    for (uint32_t i = 0; i < cost->why.memories; i++) write_line(json, &cost->why.memory[i]);
    tn_json_end(json);
    tn_json_key(json, "grouping");
    tn_json_array(json);
    for (int i = 0; i < TN_GROUPINGS; i++) {
        const tn_grouping *line = &cost->grouping[i];
        tn_json_object(json);
        tn_json_put_text(json, "name", line->name);
        tn_json_put_count(json, "bram18", line->bram18);
        tn_json_put_count(json, "uram", line->uram);
        tn_json_put_count(json, "lutram", line->lutram);
        tn_json_put_real(json, "stored_bits", line->stored_bits);
        tn_json_put_real(json, "capacity_bits", line->capacity_bits);
        tn_json_put_bool(json, "fits", line->fits);
        tn_json_put_bool(json, "exact", line->exact);
        tn_json_end(json);
    }
    tn_json_end(json);
}
