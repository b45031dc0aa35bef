#include "plot/report.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "base/search_path.h"
#include "device/block.h"
#include "plot/design_figures.h"
#include "search/evaluator.h"
#include "space/expression.h"
#include "text/json.h"
#include "text/words.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 26 };

static tn_status put_file(tn_json *json, const char *key, const char *folder, const char *name, bool needed,
                          tn_arena *arena, tn_error *error) {
    const char *path;
    char *text;
    size_t length;
    TN_TRY(tn_arena_format(arena, &path, error, "%s/%s", folder, name));
    if (!needed && access(path, F_OK) != 0) {
        tn_json_put_text(json, key, NULL);
        return TN_OK;
    }
    TN_TRY(tn_file_read(path, FILE_MOST, &text, &length, error));
    tn_json_put_text(json, key, text);
    tn_free(text);
    return TN_OK;
}

/* ---- names, each once ---- */

typedef struct {
    tn_name_index index;
    uint32_t count, most;
    const char **name;
    tn_arena arena; /* of the names; the index is made anew as it grows */
} names;

/* Place of the name among them. */
static tn_status name_place(names *all, const char *name, uint32_t *place, tn_error *error) {
    const char *own;
    *place = all->count ? tn_name_index_find(&all->index, name) : TN_NAME_NONE;
    if (*place != TN_NAME_NONE) return TN_OK;
    if (all->count == all->most) {
        const char **more;
        all->most = all->most ? 2 * all->most : 1024;
        TN_TRY(TN_NEW(&all->arena, all->most, &more, error));
        TN_TRY(tn_name_index_new(&all->index, all->most, &all->arena, error));
        for (uint32_t i = 0; i < all->count; i++) tn_name_index_add(&all->index, more[i] = all->name[i], i);
        all->name = more;
    }
    TN_TRY(tn_arena_copy_text(&all->arena, name, strlen(name), &own, error));
    *place = all->count++;
    all->name[*place] = own;
    tn_name_index_add(&all->index, own, *place);
    return TN_OK;
}

/* ---- what a design's panels show; numbers in rows, as there is one for every design ---- */

enum { MEMORIES_SHOWN = 14, LAYERS_SHOWN = 16, PARTS = 400, PANELS_MOST = 4096 };

/* Place, more arrays, style (0 block RAM, 1 UltraRAM, 2 LUTRAM), memories, bits, rows, capacity and contents in bits of each of the
 * largest; of all others together their number, capacity and contents. */
static tn_status put_memories(tn_json *json, const tn_explanation *why, names *all, tn_arena *arena,
                              tn_error *error) {
    static const int kind[] = {
        [TN_STYLE_AUTO] = 0, [TN_STYLE_BLOCK] = 0, [TN_STYLE_ULTRA] = 1, [TN_STYLE_DISTRIBUTED] = 2};
    const tn_memory_line **order;
    uint64_t other[3] = {0};
    TN_TRY(tn_memories_by_capacity(why, arena, &order, error));
    tn_json_row(json);
    for (uint32_t i = 0; i < why->memories; i++) {
        const tn_placed *placed = &order[i]->placed;
        uint32_t place;
        if (i >= MEMORIES_SHOWN) {
            other[0]++;
            other[1] += (uint64_t)placed->capacity_bits;
            other[2] += (uint64_t)placed->stored_bits;
            continue;
        }
        TN_TRY(name_place(all, order[i]->name, &place, error));
        const uint64_t row[] = {place,
                                order[i]->arrays - 1,
                                (uint64_t)kind[placed->place.style],
                                placed->memories,
                                placed->width_bits,
                                placed->depth,
                                (uint64_t)placed->capacity_bits,
                                (uint64_t)placed->stored_bits};
        for (size_t k = 0; k < sizeof row / sizeof *row; k++) tn_json_count(json, row[k]);
    }
    tn_json_end(json);
    tn_json_counts(json, other, 3);
    return TN_OK;
}

/* Place, layers, then cycles by phase of each of the longest, last of all others together (place: that of ""). */
static tn_status put_layers(tn_json *json, const tn_explanation *why, names *all, tn_arena *arena,
                            tn_error *error) {
    tn_phase_line *line, other = {.name = ""};
    uint32_t lines, place;
    TN_TRY(tn_phase_lines(why->step, why, arena, &line, &lines, error));
    for (uint32_t i = LAYERS_SHOWN; i < lines; i++) {
        other.layers += line[i].layers;
        other.all += line[i].all;
        for (int p = 0; p < TN_PHASES; p++) other.ms[p] += line[i].ms[p];
    }
    tn_json_row(json);
    for (uint32_t i = 0; i <= lines && i <= LAYERS_SHOWN; i++) {
        const tn_phase_line *of = i < lines && i < LAYERS_SHOWN ? &line[i] : &other;
        if (of->all == 0) continue;
        TN_TRY(name_place(all, of->name, &place, error));
        tn_json_count(json, place);
        tn_json_count(json, of->layers);
        for (int p = 0; p < TN_PHASES; p++)
            tn_json_count(json, (uint64_t)llround(of->ms[p] * 1e3 * why->clock_MHz));
    }
    tn_json_end(json);
    return TN_OK;
}

/* Of a kernel, by PARTS equal parts of the step: the phase that it is busy with for most of a part, as f, i, w, u, or
 * "." where it rests; in capitals where that is critical; with a count before what lasts longer: "12f3.W". */
static void kernel_runs(const tn_explanation *why, uint32_t kernel, double (*spent)[TN_PHASES + 1],
                        tn_buffer *runs) {
    double part = fmax(1, (double)why->price.cycles_per_step) / PARTS;
    char last = 0;
    size_t length = 0;
    memset(spent, 0, PARTS * sizeof *spent);
    for (uint32_t i = 0; i < why->items; i++) {
        const tn_timeline_item *item = &why->item[i];
        if (item->kernel != kernel) continue;
        double start = (double)item->start / part, finish = (double)item->finish / part;
        for (size_t k = (size_t)start; k < PARTS && (double)k < finish; k++) {
            double within = fmin(finish, (double)k + 1) - fmax(start, (double)k);
            spent[k][why->step->operation[item->operation].phase] += within;
            if (item->critical) spent[k][TN_PHASES] += within;
        }
    }
    runs->length = 0;
    for (size_t k = 0; k <= PARTS; k++) {
        char is = 0;
        if (k < PARTS) {
            int most = 0;
            double sum = 0;
            for (int p = 0; p < TN_PHASES; p++) {
                sum += spent[k][p];
                if (spent[k][p] > spent[k][most]) most = p;
            }
            is = sum > 0 ? "fiwu"[most] : '.';
            if (sum > 0 && spent[k][TN_PHASES] * 2 >= sum) is = "FIWU"[most];
        }
        if (is != last && length > 1) tn_buffer_format(runs, "%zu", length);
        if (is != last && length) tn_buffer_bytes(runs, &last, 1);
        length = is == last ? length + 1 : 1;
        last = is;
    }
}

static tn_status put_kernels(tn_json *json, const tn_explanation *why, names *all, tn_error *error) {
    double spent[PARTS][TN_PHASES + 1];
    tn_buffer runs = {0};
    tn_status status = TN_OK;
    tn_json_row(json);
    for (uint32_t k = 0; status == TN_OK && k < why->kernels; k++) {
        uint32_t place;
        if (why->kernel[k].operations == 0) continue; /* the wires between kernels */
        status = name_place(all, why->kernel[k].name, &place, error);
        if (status != TN_OK) break;
        kernel_runs(why, k, spent, &runs);
        tn_json_count(json, place);
        tn_json_count(json, (uint64_t)llround(1000 * why->kernel[k].utilisation));
        tn_json_text(json, runs.data);
    }
    tn_json_end(json);
    if (runs.status != TN_OK) json->out->status = runs.status;
    tn_buffer_free(&runs);
    return status;
}

/* Cycles, clock, sentence of what the time comes from, place of the device, memories, kernels, layers. */
static tn_status put_panels(tn_json *json, const tn_space *space, uint64_t id, const tn_explanation *why,
                            names *all, tn_arena *arena, tn_error *error) {
    uint32_t bound;
    TN_TRY(name_place(all, why->bound ? why->bound : "", &bound, error));
    tn_json_row(json);
    tn_json_count(json, why->price.cycles_per_step);
    tn_json_real(json, why->clock_MHz);
    tn_json_count(json, bound);
    tn_json_count(json, tn_space_device_of(space, id));
    TN_TRY(put_memories(json, why, all, arena, error));
    TN_TRY(put_kernels(json, why, all, error));
    TN_TRY(put_layers(json, why, all, arena, error));
    tn_json_end(json);
    return TN_OK;
}

/* ---- titles, limits ---- */

/* Of every column: its title, unit, and which direction is better (-1: less, 1: more, 0: neither). */
static tn_status put_words(tn_json *json, const tn_design_columns *columns, tn_error *error) {
    tn_buffer title = {0};
    tn_json_key(json, "words");
    tn_json_object(json);
    for (size_t i = 0; i < columns->count; i++) {
        const char *key = columns->column[i].name;
        const tn_quantity *quantity = NULL;
        title.length = 0;
        tn_word_put_title(key, &title);
        if (title.status != TN_OK) break;
        tn_json_key(json, key);
        tn_json_row(json);
        tn_json_text(json, title.data);
        tn_json_text(json, tn_word_unit(key));
        if (tn_quantity_find(key, (tn_position){0}, &quantity, NULL) == TN_OK && quantity->maximise)
            tn_json_count(json, 1);
        else
            tn_json_real(json, quantity ? -1 : 0);
        tn_json_end(json);
    }
    tn_json_end(json);
    tn_status status = title.status;
    tn_buffer_free(&title);
    tn_json_key(json, "prefixes");
    tn_prefixes_put(json);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for titles");
}

/* What each device has, what the caps leave of it, and what the space demands: a limit is a quantity, a value, and whose it is. */
static void put_limits(tn_json *json, const tn_space *space) {
    tn_json_key(json, "devices");
    tn_json_array(json);
    for (size_t d = 0; d < space->devices; d++) {
        const tn_space *variant = tn_space_variant(space, 0, d);
        const tn_resources has = tn_device_resources(variant->device);
        tn_json_object(json);
        tn_json_put_text(json, "name", tn_device_name(variant->device));
        for (int side = 0; side < 2; side++) {
            const tn_resources *of = side ? &variant->budget : &has;
            tn_json_key(json, side ? "budget" : "has");
            tn_json_object(json);
            for (int i = 0; i < TN_RESOURCES; i++)
                tn_json_put_count(json, tn_resource_names[i], tn_resource_amount(of, (tn_resource)i));
            tn_json_put_real(json, "on_chip_bytes", tn_resources_block_bytes(of));
            tn_json_end(json);
        }
        tn_json_end(json);
    }
    tn_json_end(json);
    tn_json_key(json, "limits");
    tn_json_array(json);
    for (size_t i = 0; i < space->constraints; i++)
        for (int most = 0; most < 2; most++) {
            const tn_constraint *constraint = &space->constraint[i];
            double value = most ? constraint->most : constraint->least;
            if (!constraint->quantity || isinf(value)) continue;
            tn_json_row(json);
            tn_json_text(json, constraint->quantity->name);
            tn_json_real(json, value);
            tn_json_end(json);
        }
    tn_json_end(json);
}

/* A design's texts under the head of front.csv. */
static tn_status put_texts(tn_json *json, const tn_space *space, const tn_design_columns *columns,
                           const tn_result_row *row, tn_error *error) {
    const tn_candidate design = {.id = row->id, .value = row->value};
    tn_buffer text = {0};
    tn_json_key(json, "texts");
    tn_json_array(json);
    for (size_t i = 0; i < columns->count; i++) {
        text.length = 0;
        tn_candidate_text(&space->choices, &columns->column[i], &design, &text);
        tn_json_text(json, text.status == TN_OK ? text.data : "");
    }
    tn_json_end(json);
    tn_status status =
        text.status == TN_OK ? TN_OK : tn_fail(error, text.status, "no memory for the design's columns");
    tn_buffer_free(&text);
    return status;
}

/* The page's design. */
static tn_status put_design(const tn_result *result, tn_evaluator *evaluator,
                            const tn_design_columns *columns, uint64_t id, names *all, tn_arena *arena,
                            tn_json *json, tn_error *error) {
    tn_result_row row;
    tn_explanation why;
    TN_TRY(tn_result_design(result, evaluator, &id, arena, &row, error));
    TN_TRY(tn_evaluate_explain(evaluator, row.id, arena, &why, error));
    tn_json_key(json, "design");
    tn_json_object(json);
    TN_TRY(put_texts(json, result->space, columns, &row, error));
    tn_json_key(json, "panels");
    TN_TRY(put_panels(json, result->space, row.id, &why, all, arena, error));
    tn_json_key(json, "unverified");
    tn_json_array(json);
    for (uint32_t i = 0; i < why.unverified_count; i++) tn_json_text(json, why.unverified[i]);
    tn_json_end(json);
    tn_json_end(json);
    return TN_OK;
}

/* Of the designs of the front in its order; of the first PANELS_MOST where there are more. */
static tn_status put_front_panels(const tn_result *result, tn_evaluator *evaluator, names *all, tn_json *json,
                                  tn_error *error) {
    tn_arena scratch = {0};
    tn_status status = TN_OK;
    tn_json_key(json, "panels");
    tn_json_array(json);
    for (size_t i = 0; status == TN_OK && i < result->front_count && i < PANELS_MOST; i++) {
        tn_explanation why;
        tn_arena_reset(&scratch);
        status = tn_evaluate_explain(evaluator, result->front[i].id, &scratch, &why, error);
        if (status == TN_OK)
            status = put_panels(json, result->space, result->front[i].id, &why, all, &scratch, error);
    }
    tn_json_end(json);
    tn_arena_free(&scratch);
    return status;
}

static tn_status put_explained(const tn_result *result, const tn_design_columns *columns, uint64_t id,
                               tn_arena *arena, tn_json *json, tn_error *error) {
    tn_evaluator *evaluator;
    names all = {0};
    TN_TRY(tn_evaluator_new(result->space, &evaluator, error));
    tn_status status = put_design(result, evaluator, columns, id, &all, arena, json, error);
    if (status == TN_OK) status = put_front_panels(result, evaluator, &all, json, error);
    tn_json_key(json, "names");
    tn_json_array(json);
    for (uint32_t i = 0; i < all.count; i++) tn_json_text(json, all.name[i]);
    tn_json_end(json);
    tn_arena_free(&all.arena);
    tn_evaluator_free(evaluator);
    return status;
}

static tn_status put_data(const tn_result *result, const tn_report *report, tn_arena *arena, tn_json *json,
                          tn_error *error) {
    const tn_space *space = result->space;
    const tn_resources has = tn_device_resources(space->device);
    const char *models, *devices;
    tn_design_columns columns;
    TN_TRY(tn_space_model_names(space, arena, &models, error));
    TN_TRY(tn_space_device_names(space, arena, &devices, error));
    TN_TRY(tn_design_columns_of(&space->choices, &has, arena, &columns, error));
    tn_json_put_text(json, "space", space->name);
    tn_json_put_text(json, "model", models);
    tn_json_put_text(json, "device", devices);
    tn_json_put_text(json, "folder", result->folder);
    tn_json_put_text(json, "advice", report->advice);
    tn_json_put_count(json, "advised", report->advised);
    const tn_accuracy_ends ends = tn_accuracy_table_ends(&space->accuracy_table);
    tn_json_key(json, "ends");
    tn_json_object(json);
    tn_json_put_text(json, "quantity", tn_accuracy_table_quantity(&space->accuracy_table));
    tn_json_put_real(json, "dense", ends.dense);
    tn_json_put_real(json, "constant", ends.constant);
    tn_json_end(json);
    tn_json_key(json, "choices");
    tn_json_array(json);
    for (size_t i = 0; i < space->choices.count; i++) tn_json_text(json, space->choices.axis[i].key);
    tn_json_end(json);
    TN_TRY(put_words(json, &columns, error));
    put_limits(json, space);
    TN_TRY(put_file(json, "front", result->folder, "front.csv", true, arena, error));
    TN_TRY(put_file(json, "recommended", result->folder, "recommended.csv", true, arena, error));
    TN_TRY(put_file(json, "sweep", result->folder, "sweep.json", true, arena, error));
    TN_TRY(put_file(json, "validation", result->folder, "validation.csv", false, arena, error));
    return put_explained(result, &columns, report->about ? *report->about : report->advised, arena, json,
                         error);
}

/* Inside a script element "<" could end it; in JSON it stands in texts alone. */
static void put_safely(tn_buffer *page, const tn_buffer *json) {
    const char *source = json->data, *end = json->data + json->length, *cursor;
    for (; (cursor = memchr(source, '<', (size_t)(end - source))); source = cursor + 1) {
        tn_buffer_bytes(page, source, (size_t)(cursor - source));
        tn_buffer_text(page, "\\u003c");
    }
    tn_buffer_bytes(page, source, (size_t)(end - source));
}

static tn_status read_part(const char *name, tn_arena *arena, char **text, tn_error *error) {
    const char *path;
    size_t length;
    TN_TRY(tn_search_path_find_file("plots", name, arena, &path, error));
    return tn_file_read(path, FILE_MOST, text, &length, error);
}

/* The frame, each <!-- NAME --> replaced by the file of that name, or by the data. */
static tn_status fill_frame(const char *frame, const tn_buffer *json, tn_arena *arena, tn_buffer *page,
                            tn_error *error) {
    static const char open[] = "<!-- ", close[] = " -->";
    for (const char *cursor; (cursor = strstr(frame, open));) {
        const char *name = cursor + sizeof open - 1, *end = strstr(name, close), *file;
        char *text;
        tn_buffer_bytes(page, frame, (size_t)(cursor - frame));
        if (!end) return tn_fail(error, TN_INPUT, "plots/report.html has an open comment");
        TN_TRY(tn_arena_copy_text(arena, name, (size_t)(end - name), &file, error));
        frame = end + sizeof close - 1;
        if (strcmp(file, "data") == 0) {
            put_safely(page, json);
            continue;
        }
        TN_TRY(read_part(file, arena, &text, error));
        tn_buffer_text(page, text);
        tn_free(text);
    }
    tn_buffer_text(page, frame);
    return TN_OK;
}

static tn_status make_page(const tn_result *result, const tn_report *report, tn_arena *arena, tn_buffer *data,
                           tn_buffer *page, tn_error *error) {
    tn_json json;
    char *frame;
    tn_json_begin(&json, data);
    tn_json_object(&json);
    TN_TRY(put_data(result, report, arena, &json, error));
    tn_json_end(&json);
    if (data->status != TN_OK) return tn_fail(error, data->status, "no memory for the report");
    TN_TRY(read_part("report.html", arena, &frame, error));
    tn_status status = fill_frame(frame, data, arena, page, error);
    tn_free(frame);
    return status;
}

tn_status tn_report_write(const tn_result *result, const tn_report *report, const char *path, tn_arena *arena,
                          tn_error *error) {
    tn_buffer data = {0}, page = {0};
    if (result->front_count == 0 || result->recommended_count == 0)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = result->folder},
                          "holds an empty front; there is nothing to report");
    tn_status status = make_page(result, report, arena, &data, &page, error);
    if (status == TN_OK) status = tn_file_write_buffer(path, &page, error);
    tn_buffer_free(&data);
    tn_buffer_free(&page);
    return status;
}
