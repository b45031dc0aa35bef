#include "cli/cost.h"

#include "cli/output.h"
#include "text/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void make_phases(tn_cost *cost) {
    const tn_step *step = &cost->step;
    double sum = 0;
    for (int i = 0; i < TN_PHASES; i++) sum += (double)step->flops[i];
    for (int i = 0; i < TN_PHASES; i++)
        cost->phase[i] = (tn_cost_phase){.name = tn_phase_names[i],
                                         .macs = step->macs[i],
                                         .vector_flops = step->flops[i] - 2 * step->macs[i],
                                         .flops = step->flops[i],
                                         .share = sum > 0 ? (double)step->flops[i] / sum : 0};
}

static void make_memory(tn_cost *cost) {
    const tn_step *step = &cost->step;
    const tn_cost_memory rows[TN_COST_MEMORIES] = {
        {"parameter_bytes", "parameters", step->parameters, step->parameter_bytes},
        {"gradient_bytes", "gradients", step->gradient_elements, step->gradient_bytes},
        {"optimizer_bytes", "optimizer state", step->optimizer_elements, step->optimizer_bytes},
        {"activation_bytes", "saved activations", step->activation_elements, step->activation_bytes},
        {"peak_bytes", "most live at once", step->peak_elements, step->peak_bytes},
        {"cache_bytes", "cache of keys and values", step->cache_elements, step->cache_bytes},
        {"cache_moved_bytes", "of it read and written a step", step->cache_moved_elements,
         step->cache_moved_bytes},
    };
    cost->memories = step->decoding ? TN_COST_MEMORIES : TN_COST_MEMORIES - 2;
    for (uint32_t i = 0; i < cost->memories; i++) cost->memory[i] = rows[i];
}

static void make_resources(tn_cost *cost) {
    for (int i = 0; i < TN_RESOURCES; i++) {
        uint64_t need =
            tn_resource_amount(&cost->why.price.used, (tn_resource)i) + (i == TN_LUT  ? cost->shell_lut
                                                                         : i == TN_FF ? cost->shell_ff
                                                                                      : 0);
        uint64_t have = tn_resource_amount(&cost->why.available, (tn_resource)i);
        double share = have ? (double)need / (double)have : need ? NAN : 0;
        cost->resource[i] = (tn_cost_resource){tn_resource_names[i], need, have, share};
    }
}

static double dynamic_joules(const double joules[TN_ENERGY_PARTS]) {
    double sum = 0;
    for (int i = 0; i < TN_ENERGY_PARTS; i++)
        if (i != TN_ENERGY_STATIC) sum += joules[i];
    return sum;
}

double tn_cost_joules(const double joules[TN_ENERGY_PARTS]) {
    return joules[TN_ENERGY_STATIC] + dynamic_joules(joules);
}

static void make_energy(tn_cost *cost) {
    const tn_explanation *why = &cost->why;
    const double *mid = why->joules, *least = why->least_joules, *most = why->most_joules;
    double whole = why->price.joules_per_step;
    for (int i = 0; i < TN_ENERGY_PARTS; i++)
        cost->energy[i] = (tn_cost_energy){tn_energy_names[i], mid[i], least[i], most[i], 0};
    cost->energy[TN_COST_DYNAMIC] =
        (tn_cost_energy){"all dynamic", dynamic_joules(mid), dynamic_joules(least), dynamic_joules(most), 0};
    cost->energy[TN_COST_ALL] =
        (tn_cost_energy){"all", whole, tn_cost_joules(least), tn_cost_joules(most), 0};
    for (int i = 0; i < TN_COST_ENERGIES; i++)
        cost->energy[i].share = whole > 0 ? cost->energy[i].joules / whole : 0;
    cost->coefficients = *why->coefficients;
}

static tn_status make_kernels(tn_cost *cost, tn_arena *arena, tn_error *error) {
    const tn_explanation *why = &cost->why;
    double cycles = (double)why->price.cycles_per_step;
    TN_TRY(TN_NEW(arena, why->kernels, &cost->kernel, error));
    for (uint32_t i = 0; i < why->kernels; i++)
        cost->kernel[i] = (tn_cost_kernel){why->kernel[i],
                                           cycles > 0 ? (double)why->kernel[i].critical_cycles / cycles : 0};
    return TN_OK;
}

/* ---- layers: those of a repeated block that cost the same share a line ---- */

/* "encoder2.query" gives "encoder" and ".query"; false for layers outside blocks. */
static bool split_name(const char *name, size_t *block, const char **rest) {
    *rest = strchr(name, '.');
    if (!*rest) return false;
    *block = (size_t)(*rest - name);
    while (*block > 0 && name[*block - 1] >= '0' && name[*block - 1] <= '9') --*block;
    return true;
}

static bool same_block_layer(const char *a, const char *b) {
    size_t block_a, block_b;
    const char *rest_a, *rest_b;
    return split_name(a, &block_a, &rest_a) && split_name(b, &block_b, &rest_b) && block_a == block_b &&
           strncmp(a, b, block_a) == 0 && strcmp(rest_a, rest_b) == 0;
}

static bool same_cost(const tn_step_layer *a, const tn_step_layer *b) {
    return a->parameters == b->parameters && a->saved_elements == b->saved_elements &&
           memcmp(a->macs, b->macs, sizeof a->macs) == 0 && memcmp(a->flops, b->flops, sizeof a->flops) == 0;
}

/* "12" where all bonds inside have that rank, else every rank: "1x12x8x1". */
static void put_ranks(const uint64_t *rank, uint32_t count, tn_buffer *text) {
    uint64_t greatest = 1;
    bool equal = true;
    for (uint32_t i = 0; i < count; i++)
        if (rank[i] > greatest) greatest = rank[i];
    for (uint32_t i = 0; i < count; i++) equal &= rank[i] == greatest || rank[i] == 1;
    if (equal) tn_buffer_format(text, "%" PRIu64, greatest);
    for (uint32_t i = 0; i < count && !equal; i++)
        tn_buffer_format(text, "%s%" PRIu64, i ? "x" : "", rank[i]);
}

/* The ranks as requested, and the useful ones where they are lower. */
static tn_status name_ranks(tn_cost_layer *layer, tn_arena *arena, tn_error *error) {
    const tn_step_layer *step_layer = &layer->layer;
    tn_buffer text = {0};
    if (step_layer->rank_count == 0) return TN_OK;
    put_ranks(step_layer->rank, step_layer->rank_count, &text);
    if (memcmp(step_layer->rank, step_layer->useful_rank,
               step_layer->rank_count * sizeof *step_layer->rank) != 0) {
        tn_buffer_text(&text, ", useful ");
        put_ranks(step_layer->useful_rank, step_layer->rank_count, &text);
    }
    tn_status status = text.status == TN_OK
                           ? tn_arena_copy_text(arena, text.data, text.length, &layer->ranks, error)
                           : tn_fail(error, text.status, "no memory for a layer's ranks");
    tn_buffer_free(&text);
    return status;
}

/* The layer `index`, if no line has it yet, and those that share its line. */
static tn_status make_line(tn_cost *cost, uint32_t index, bool *placed, tn_arena *arena, tn_error *error) {
    tn_cost_layer *line = &cost->layer[index];
    size_t block;
    const char *rest;
    for (uint32_t i = index; i < cost->step.layers; i++) {
        const tn_step_layer *other = &cost->layer[i].layer;
        if (i != index &&
            !(same_block_layer(line->layer.name, other->name) && same_cost(&line->layer, other)))
            continue;
        placed[i] = true;
        line->count++;
        if (other->peak_elements > line->greatest_peak_elements)
            line->greatest_peak_elements = other->peak_elements;
    }
    line->shown = line->layer.name;
    TN_TRY(name_ranks(line, arena, error));
    if (line->count == 1 || !split_name(line->layer.name, &block, &rest)) return TN_OK;
    return tn_arena_format(arena, &line->shown, error, "%.*s*%s", (int)block, line->layer.name, rest);
}

static tn_status make_layers(tn_cost *cost, tn_arena *arena, tn_error *error) {
    const tn_step *step = &cost->step;
    bool *placed;
    TN_TRY(TN_NEW(arena, step->layers, &cost->layer, error));
    TN_TRY(TN_NEW(arena, step->layers, &placed, error));
    for (uint32_t i = 0; i < step->layers; i++) cost->layer[i].layer = step->layer[i];
    for (uint32_t i = 0; i < step->layers; i++)
        if (!placed[i]) TN_TRY(make_line(cost, i, placed, arena, error));
    return TN_OK;
}

/* Makes what is made of the given. */
tn_status tn_cost_prepare(tn_cost *cost, tn_arena *arena, tn_error *error) {
    make_phases(cost);
    make_memory(cost);
    make_resources(cost);
    make_energy(cost);
    cost->seconds_per_epoch = cost->why.price.seconds_per_step * (double)cost->step.steps_per_epoch;
    cost->fits = cost->why.price.misfits == 0;
    for (int i = 0; i < TN_RESOURCES; i++)
        cost->fits &= cost->resource[i].used <= cost->resource[i].available;
    cost->rtl = cost->why.rtl;
    cost->operator_set = cost->why.operator_set;
    TN_TRY(make_kernels(cost, arena, error));
    return make_layers(cost, arena, error);
}

/* The memories of `tenfold cost`. */

#define bytes_per_MiB 1048576.0

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

static void put_bram18(const void *row, tn_json *json) {
    tn_json_count(json, bram18_of(row));
}

static void show_bram18(const void *row, tn_buffer *cell) {
    char text[32];
    tn_buffer_text(cell, tn_count_text(bram18_of(row), text));
}

static void show_style(const void *row, tn_buffer *cell) {
    const tn_place *place = &((const tn_memory_line *)row)->placed.place;
    tn_buffer_format(cell, "%s, %s", tn_memory_style_names[place->style], tn_array_split_names[place->split]);
}

static void show_shape(const void *row, tn_buffer *cell) {
    const tn_placed *placed = &((const tn_memory_line *)row)->placed;
    tn_buffer_format(cell, "%" PRIu64 " x %" PRIu64 " x %" PRIu64, placed->memories, placed->width_bits,
                     placed->depth);
}

static void show_use(const void *row, tn_buffer *cell) {
    const tn_placed *placed = &((const tn_memory_line *)row)->placed;
    tn_buffer_format(cell, "%.1f", use_of(placed->stored_bits, placed->capacity_bits));
}

static const tn_column use_columns[] = {
    TN_COLUMN(tn_array_use, layer, NULL),
    TN_COLUMN(tn_array_use, phase, NULL),
    TN_COLUMN_AS("as", tn_array_use, operand, NULL),
    TN_COLUMN(tn_array_use, blocks, NULL),
    TN_COLUMN(tn_array_use, block_cycles, NULL),
};
static const tn_record use_record = TN_RECORD(tn_array_use, use_columns);

static void show_product(const uint64_t *factor, uint32_t count, tn_buffer *cell) {
    for (uint32_t k = 0; k < count; k++) tn_buffer_format(cell, "%s%" PRIu64, k ? "x" : "", factor[k]);
}

static void show_axes(const void *row, tn_buffer *cell) {
    const tn_array_layout *layout = row;
    show_product(layout->size, layout->axes, cell);
    for (uint32_t k = 0; k < layout->axes; k++)
        tn_buffer_format(cell, "%s%s", k ? ", " : " (", layout->axis[k]);
    tn_buffer_text(cell, layout->axes ? ")" : "1");
}

static void show_word(const void *row, tn_buffer *cell) {
    const tn_array_layout *layout = row;
    show_product(layout->word, layout->axes, cell);
}

static void show_skew(const void *row, tn_buffer *cell) {
    const tn_array_layout *layout = row;
    if (layout->banks > 1) show_product(layout->skew, layout->axes, cell);
}

static void show_cycles(const void *row, tn_buffer *cell) {
    const tn_array_layout *layout = row;
    uint64_t most = 0;
    for (uint32_t i = 0; i < layout->uses; i++)
        if (layout->use[i].block_cycles > most) most = layout->use[i].block_cycles;
    if (most) tn_buffer_format(cell, "%" PRIu64, most);
}

static const tn_column layout_columns[] = {
    TN_COLUMN_AS("array", tn_array_layout, name, "array"),
    TN_WRITTEN(NULL, NULL, "axes", .cell = show_axes),
    TN_LIST("axes", tn_array_layout, axis, axes, NULL),
    TN_LIST("size", tn_array_layout, size, axes, NULL),
    TN_WRITTEN(NULL, NULL, "word", .cell = show_word),
    TN_LIST("word", tn_array_layout, word, axes, NULL),
    TN_COLUMN(tn_array_layout, banks, "banks"),
    TN_WRITTEN(NULL, NULL, "skew", .cell = show_skew),
    TN_LIST("skew", tn_array_layout, skew, axes, NULL),
    TN_LIST("divide", tn_array_layout, divide, axes, NULL),
    TN_LIST("turn", tn_array_layout, turn, axes, NULL),
    TN_COLUMN(tn_array_layout, slices, NULL),
    TN_COLUMN(tn_array_layout, words, "words"),
    TN_COLUMN(tn_array_layout, padded_elements, "elements with padding"),
    TN_COLUMN(tn_array_layout, depth, "rows"),
    TN_WRITTEN(NULL, NULL, "cycles a block, at most", .cell = show_cycles),
    TN_ROWS("uses", tn_array_layout, use, uses, use_record, NULL),
};
static const tn_record layout_record = TN_RECORD(tn_array_layout, layout_columns);

static const tn_column line_columns[] = {
    TN_COLUMN(tn_memory_line, name, "memory of"),
    TN_COLUMN(tn_memory_line, role, "role"),
    TN_COLUMN(tn_memory_line, arrays, "arrays"),
    TN_NAME("style", tn_memory_line, placed.place.style, tn_memory_style_names, NULL),
    TN_NAME("split", tn_memory_line, placed.place.split, tn_array_split_names, NULL),
    TN_WRITTEN(NULL, NULL, "style", .cell = show_style),
    TN_COLUMN_AS("group", tn_memory_line, placed.place.group, NULL),
    TN_COLUMN_AS("accesses", tn_memory_line, placed.accesses, "words a cycle"),
    TN_COLUMN_AS("memories", tn_memory_line, placed.memories, NULL),
    TN_COLUMN_AS("width_bits", tn_memory_line, placed.width_bits, NULL),
    TN_COLUMN_AS("depth", tn_memory_line, placed.depth, NULL),
    TN_WRITTEN(NULL, NULL, "memories x bits x words", .cell = show_shape),
    TN_WRITTEN("bram18", put_bram18, "BRAM18", .cell = show_bram18),
    TN_COLUMN_AS("uram", tn_memory_line, placed.blocks.uram, "URAM"),
    TN_COLUMN_AS("lutram", tn_memory_line, placed.blocks.lutram, "LUTRAM, LUT"),
    TN_COLUMN_AS("stored_bits", tn_memory_line, placed.stored_bits, NULL),
    TN_COLUMN_AS("capacity_bits", tn_memory_line, placed.capacity_bits, NULL),
    TN_WRITTEN(NULL, NULL, "used, %", .cell = show_use),
    TN_ROWS("layouts", tn_memory_line, layout, layouts, layout_record, NULL),
};
const tn_record tn_cost_memory_record = TN_RECORD(tn_memory_line, line_columns);

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

/* Of each memory's largest array; nothing where layouts are ideal. */
static tn_status print_layouts(const tn_memory_line *const *line, uint32_t count, tn_error *error) {
    tn_table table;
    uint32_t told = 0;
    for (uint32_t i = 0; i < count; i++) told += line[i]->largest != NULL;
    if (told == 0) return TN_OK;
    tn_say_heading("Layouts (of each memory's largest array; --json has all)");
    tn_record_head(&layout_record, NULL, &table);
    for (uint32_t i = 0; i < count; i++)
        if (line[i]->largest) tn_record_cells(&layout_record, line[i]->largest, NULL, &table);
    return tn_table_end(&table, error);
}

static tn_status print_lines(const tn_explanation *why, tn_error *error) {
    tn_arena arena = {0};
    const tn_memory_line **line;
    tn_table table;
    TN_TRY(TN_NEW(&arena, why->memories, &line, error));
    for (uint32_t i = 0; i < why->memories; i++) line[i] = &why->memory[i];
    qsort(line, why->memories, sizeof *line, by_capacity);
    uint32_t shown = why->memories > SHOWN ? SHOWN - 1 : why->memories;
    tn_say_heading("Memories (named after their largest array)");
    tn_record_head(&tn_cost_memory_record, NULL, &table);
    for (uint32_t i = 0; i < shown; i++) tn_record_cells(&tn_cost_memory_record, line[i], NULL, &table);
    if (shown < why->memories) add_rest(&table, line + shown, why->memories - shown);
    tn_status status = tn_table_end(&table, error);
    if (status == TN_OK) status = print_layouts(line, shown, error);
    tn_arena_free(&arena);
    return status;
}

static void show_grouping(const void *row, tn_buffer *cell) {
    const tn_grouping *line = row;
    tn_buffer_format(cell, "%s%s", line->name, line->exact ? " (least possible)" : "");
}

static void show_grouping_use(const void *row, tn_buffer *cell) {
    const tn_grouping *line = row;
    tn_buffer_format(cell, "%.1f", use_of(line->stored_bits, line->capacity_bits));
}

static const tn_column grouping_columns[] = {
    TN_WRITTEN(NULL, NULL, "", .cell = show_grouping),
    TN_COLUMN(tn_grouping, name, NULL),
    TN_COLUMN(tn_grouping, bram18, "BRAM18"),
    TN_COLUMN(tn_grouping, uram, "URAM"),
    TN_COLUMN(tn_grouping, lutram, "LUTRAM, LUT"),
    TN_COLUMN(tn_grouping, stored_bits, NULL),
    TN_COLUMN(tn_grouping, capacity_bits, "taken", TN_IN("MiB", 1 / (8 * bytes_per_MiB)), TN_FIXED(2)),
    TN_WRITTEN(NULL, NULL, "used, %", .cell = show_grouping_use),
    TN_COLUMN(tn_grouping, fits, "fits"),
    TN_COLUMN(tn_grouping, exact, NULL),
};
const tn_record tn_cost_grouping_record = TN_RECORD(tn_grouping, grouping_columns);

tn_status tn_cost_print_memories(const tn_cost *cost, tn_error *error) {
    TN_TRY(print_lines(&cost->why, error));
    tn_say_heading("Memories by grouping and placement");
    return tn_output_rows(&tn_cost_grouping_record, cost->grouping, TN_GROUPINGS, error);
}
