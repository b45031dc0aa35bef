#include "plot/report.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/search_path.h"
#include "search/evaluator.h"
#include "space/expression.h"
#include "text/json.h"
#include "text/record.h"

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

static void put_resources(tn_json *json, const tn_explanation *why) {
    tn_json_key(json, "resources");
    tn_json_array(json);
    for (int i = 0; i < TN_RESOURCES; i++) {
        tn_json_object(json);
        tn_json_put_text(json, "resource", tn_resource_names[i]);
        tn_json_put_count(json, "used", tn_resource_amount(&why->price.used, (tn_resource)i));
        tn_json_put_count(json, "available", tn_resource_amount(&why->available, (tn_resource)i));
        tn_json_end(json);
    }
    tn_json_end(json);
}

static const tn_column memory_columns[] = {
    TN_COLUMN(tn_memory_line, name, NULL),
    TN_COLUMN(tn_memory_line, arrays, NULL),
    TN_NAME("style", tn_memory_line, placed.place.style, tn_memory_style_names, NULL),
    TN_COLUMN_AS("memories", tn_memory_line, placed.memories, NULL),
    TN_COLUMN_AS("width_bits", tn_memory_line, placed.width_bits, NULL),
    TN_COLUMN_AS("depth", tn_memory_line, placed.depth, NULL),
    TN_COLUMN_AS("capacity_bits", tn_memory_line, placed.capacity_bits, NULL),
    TN_COLUMN_AS("stored_bits", tn_memory_line, placed.stored_bits, NULL),
};
static const tn_record memory_record = TN_RECORD(tn_memory_line, memory_columns);

static const tn_column kernel_columns[] = {
    TN_COLUMN(tn_kernel_line, name, NULL),
    TN_COLUMN(tn_kernel_line, utilisation, NULL),
};
static const tn_record kernel_record = TN_RECORD(tn_kernel_line, kernel_columns);

/* Operations in time: kernel, start, finish, phase, 1 on the critical path, layer. */
static void put_items(tn_json *json, const tn_step *step, const tn_explanation *why) {
    tn_json_key(json, "items");
    tn_json_array(json);
    for (uint32_t i = 0; i < why->items; i++) {
        const tn_timeline_item *item = &why->item[i];
        const tn_operation *operation = &step->operation[item->operation];
        const uint64_t row[] = {item->kernel,   item->start,     item->finish, (uint64_t)operation->phase,
                                item->critical, operation->layer};
        tn_json_counts(json, row, sizeof row / sizeof *row);
    }
    tn_json_end(json);
    tn_json_key(json, "layers");
    tn_json_array(json);
    for (uint32_t i = 0; i < step->layers; i++) tn_json_text(json, step->layer[i].name);
    tn_json_end(json);
}

/* Its texts under the head of front.csv. */
static tn_status put_texts(tn_json *json, const tn_space *space, const tn_result_row *row, tn_arena *arena,
                           tn_error *error) {
    const tn_candidate design = {.id = row->id, .value = row->value};
    const tn_resources has = tn_device_resources(space->device);
    tn_design_columns columns;
    tn_buffer text = {0};
    TN_TRY(tn_design_columns_of(&space->choices, &has, arena, &columns, error));
    tn_json_key(json, "texts");
    tn_json_array(json);
    for (size_t i = 0; i < columns.count; i++) {
        text.length = 0;
        tn_candidate_text(&space->choices, &columns.column[i], &design, &text);
        tn_json_text(json, text.status == TN_OK ? text.data : "");
    }
    tn_json_end(json);
    tn_status status =
        text.status == TN_OK ? TN_OK : tn_fail(error, text.status, "no memory for the design's columns");
    tn_buffer_free(&text);
    return status;
}

static void put_explained(tn_json *json, const tn_step *step, const tn_explanation *why) {
    tn_json_put_text(json, "bound", why->bound);
    tn_json_put_real(json, "clock_MHz", why->clock_MHz);
    tn_json_put_count(json, "cycles", why->price.cycles_per_step);
    put_resources(json, why);
    tn_json_key(json, "memories");
    tn_record_rows(&memory_record, why->memory, why->memories, json);
    tn_json_key(json, "kernels");
    tn_record_rows(&kernel_record, why->kernel, why->kernels, json);
    put_items(json, step, why);
    tn_json_key(json, "unverified");
    tn_json_array(json);
    for (uint32_t i = 0; i < why->unverified_count; i++) tn_json_text(json, why->unverified[i]);
    tn_json_end(json);
}

static tn_status put_design(const tn_result *result, tn_evaluator *evaluator, const uint64_t *id,
                            tn_arena *arena, tn_json *json, tn_error *error) {
    tn_result_row row;
    tn_explanation why;
    TN_TRY(tn_result_design(result, evaluator, id, arena, &row, error));
    TN_TRY(tn_evaluate_explain(evaluator, row.id, arena, &why, error));
    tn_json_key(json, "design");
    tn_json_object(json);
    TN_TRY(put_texts(json, result->space, &row, arena, error));
    put_explained(json, tn_evaluator_step(evaluator), &why);
    tn_json_end(json);
    return TN_OK;
}

static tn_status put_data(const tn_result *result, const uint64_t *design, tn_arena *arena, tn_json *json,
                          tn_error *error) {
    const tn_space *space = result->space;
    const char *models, *devices;
    tn_evaluator *evaluator;
    TN_TRY(tn_space_model_names(space, arena, &models, error));
    TN_TRY(tn_space_device_names(space, arena, &devices, error));
    tn_json_put_text(json, "space", space->name);
    tn_json_put_text(json, "model", models);
    tn_json_put_text(json, "device", devices);
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
    TN_TRY(put_file(json, "front", result->folder, "front.csv", true, arena, error));
    TN_TRY(put_file(json, "recommended", result->folder, "recommended.csv", true, arena, error));
    TN_TRY(put_file(json, "sweep", result->folder, "sweep.json", true, arena, error));
    TN_TRY(put_file(json, "validation", result->folder, "validation.csv", false, arena, error));
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = put_design(result, evaluator, design, arena, json, error);
    tn_evaluator_free(evaluator);
    return status;
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

static tn_status make_page(const tn_result *result, const uint64_t *design, tn_arena *arena, tn_buffer *data,
                           tn_buffer *page, tn_error *error) {
    tn_json json;
    char *frame;
    tn_json_begin(&json, data);
    tn_json_object(&json);
    TN_TRY(put_data(result, design, arena, &json, error));
    tn_json_end(&json);
    if (data->status != TN_OK) return tn_fail(error, data->status, "no memory for the report");
    TN_TRY(read_part("report.html", arena, &frame, error));
    tn_status status = fill_frame(frame, data, arena, page, error);
    tn_free(frame);
    return status;
}

tn_status tn_report_write(const tn_result *result, const uint64_t *design, const char *path, tn_arena *arena,
                          tn_error *error) {
    tn_buffer data = {0}, page = {0};
    if (result->front_count == 0 || result->recommended_count == 0)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = result->folder},
                          "holds an empty front; there is nothing to report");
    tn_status status = make_page(result, design, arena, &data, &page, error);
    if (status == TN_OK) status = tn_file_write_buffer(path, &page, error);
    tn_buffer_free(&data);
    tn_buffer_free(&page);
    return status;
}
