#include "explore/result.h"

#include "base/file.h"
#include "base/memory.h"
#include "explore/identity.h"
#include "explore/knee.h"
#include "explore/recommendation.h"
#include "explore/sweep_db.h"
#include "text/csv.h"
#include "text/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REASON_TEXT = 96, PATH_TEXT = 1024 };

/* A design of a result being written. */
typedef struct {
    uint64_t id;
    char reason[REASON_TEXT];
    tn_evaluation evaluation;
} row;

typedef struct {
    row *item;
    size_t count;
} rows;

/* ---- rows
 * ----------------------------------------------------------------------------------------------------- */

static tn_status evaluate_rows(const tn_space *space, rows *of, tn_error *error) {
    tn_evaluator *evaluator;
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < of->count; i++) {
        uint64_t outer, inner;
        uint32_t cause;
        tn_space_split(space, of->item[i].id, &outer, &inner);
        status = tn_evaluate(evaluator, outer, inner, &of->item[i].evaluation, &cause, error);
    }
    tn_evaluator_free(evaluator);
    return status;
}

static tn_status front_rows(const tn_archive *front, rows *of, tn_point **point, tn_error *error) {
    of->count = front->count;
    TN_TRY(tn_alloc(of->count, sizeof *of->item, &of->item, error));
    TN_TRY(tn_alloc(of->count, sizeof **point, point, error));
    tn_archive_points(front, *point);
    for (size_t i = 0; i < of->count; i++) of->item[i].id = (*point)[i].id;
    return TN_OK;
}

static void recommend_row(rows *of, uint64_t id, const tn_axis *choice, size_t digit, tn_buffer *value) {
    row *next = &of->item[of->count++];
    next->id = id;
    value->length = 0;
    tn_axis_value(choice, digit, value);
    snprintf(next->reason, REASON_TEXT, "best at %s=%s", choice->key, value->data ? value->data : "");
}

/* The knee, then the best of the front at each value of the default choice. */
static tn_status recommended_rows(const tn_space *space, const tn_point *point, size_t count, rows *of,
                                  uint64_t *knee, tn_error *error) {
    size_t at = tn_default_by(space), values = at < space->choices ? space->choice[at].count : 0;
    if (count == 0) return TN_OK;
    TN_TRY(tn_alloc(values + 1, sizeof *of->item, &of->item, error));
    *knee = point[tn_knee(point, count, space->objectives)].id;
    of->item[0].id = *knee;
    snprintf(of->item[0].reason, REASON_TEXT, "knee");
    of->count = 1;
    tn_buffer value = {0};
    for (size_t digit = 0; digit < values; digit++) {
        size_t best = tn_best_at(space, at, digit, point, count);
        if (best < count) recommend_row(of, point[best].id, &space->choice[at], digit, &value);
    }
    tn_status status = value.status;
    tn_buffer_free(&value);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for the recommended designs");
}

static void put_head(const tn_space *space, bool with_reason, tn_buffer *out) {
    if (with_reason) tn_csv_put(out, "reason");
    tn_csv_put(out, "id");
    for (size_t i = 0; i < space->choices; i++) tn_csv_put(out, space->choice[i].key);
    for (size_t i = 0; i < tn_quantities_count; i++) tn_csv_put(out, tn_quantities[i].name);
    tn_csv_line(out);
}

static void put_row(const tn_space *space, bool with_reason, const row *of, tn_buffer *value,
                    tn_buffer *out) {
    if (with_reason) tn_csv_put(out, of->reason);
    tn_csv_put_count(out, of->id);
    for (size_t i = 0; i < space->choices; i++) {
        value->length = 0;
        tn_axis_value(&space->choice[i], tn_space_digit(space, of->id, i), value);
        tn_csv_put(out, value->data ? value->data : "");
    }
    for (size_t i = 0; i < tn_quantities_count; i++) {
        double number = tn_quantities[i].get(&of->evaluation);
        if (tn_quantities[i].whole)
            tn_csv_put_count(out, (uint64_t)number);
        else
            tn_csv_put_real(out, number);
    }
    tn_csv_line(out);
}

static tn_status write_rows(const char *folder, const char *name, const tn_space *space, bool with_reason,
                            const rows *of, tn_error *error) {
    tn_buffer out = {0}, value = {0};
    char path[PATH_TEXT];
    put_head(space, with_reason, &out);
    for (size_t i = 0; i < of->count; i++) put_row(space, with_reason, &of->item[i], &value, &out);
    if (value.status != TN_OK) out.status = value.status;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tn_status status = tn_file_write_buffer(path, &out, error);
    tn_buffer_free(&out);
    tn_buffer_free(&value);
    return status;
}

/* ---- inputs and provenance
 * ------------------------------------------------------------------------------------ */

static tn_status write_tree(const char *folder, const char *name, const tn_yaml *root, tn_error *error) {
    tn_buffer out = {0};
    char path[PATH_TEXT];
    tn_yaml_write(root, &out);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tn_status status = tn_file_write_buffer(path, &out, error);
    tn_buffer_free(&out);
    return status;
}

static tn_status write_inputs(const char *folder, const tn_space *space, tn_error *error) {
    TN_TRY(write_tree(folder, "space.yaml", space->root, error));
    TN_TRY(write_tree(folder, "model.yaml", tn_model_root(space->model), error));
    TN_TRY(write_tree(folder, "device.yaml", tn_device_root(space->device), error));
    if (!space->error_table_path) return TN_OK;
    char *data, path[PATH_TEXT];
    size_t length;
    snprintf(path, sizeof path, "%s/error_table.csv", folder);
    TN_TRY(tn_file_read(space->error_table_path, (size_t)256 << 20, &data, &length, error));
    tn_status status = tn_file_write(path, data, length, error);
    tn_free(data);
    return status;
}

static void put_counts(const tn_summary *summary, tn_json *json) {
    tn_json_put_text(json, "space", summary->space);
    tn_json_put_count(json, "designs", summary->designs);
    tn_json_put_count(json, "evaluated", summary->evaluated);
    tn_json_put_count(json, "feasible", summary->feasible);
    tn_json_key(json, "rejected");
    tn_json_object(json);
    for (size_t i = 0; i < summary->causes; i++)
        tn_json_put_count(json, summary->cause[i], summary->cause_count[i]);
    tn_json_end(json);
    tn_json_put_count(json, "front", summary->front);
    tn_json_put_real(json, "hypervolume", summary->hypervolume.share);
    tn_json_put_count(json, "hypervolume_samples", summary->hypervolume.samples);
    tn_json_put_text(json, "complete", tn_completion_names[summary->completion]);
    tn_json_key(json, "knee");
    if (summary->front)
        tn_json_count(json, summary->knee);
    else
        tn_json_null(json);
}

void tn_summary_json(const tn_summary *summary, tn_buffer *out) {
    tn_json json;
    tn_json_begin(&json, out);
    tn_json_object(&json);
    put_counts(summary, &json);
    tn_json_put_real(&json, "seconds", summary->seconds);
    tn_json_put_real(&json, "designs_per_second", summary->designs_per_second);
    tn_json_end(&json);
}

/* Without the times, so that the file is the same whatever the machine and the threads. */
static tn_status write_provenance(const char *folder, const tn_space *space, const tn_sweep_options *options,
                                  const tn_summary *summary, tn_error *error) {
    tn_hashes hashes;
    TN_TRY(tn_space_hashes(space, &hashes, error));
    tn_buffer out = {0};
    tn_json json;
    char path[PATH_TEXT];
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_put_text(&json, "tenfold", TENFOLD_VERSION);
    put_counts(summary, &json);
    tn_json_put_text(&json, "model", tn_model_name(space->model));
    tn_json_put_text(&json, "device", tn_device_name(space->device));
    tn_json_key(&json, "sha256");
    tn_json_object(&json);
    tn_json_put_text(&json, "space", hashes.space);
    tn_json_put_text(&json, "model", hashes.model);
    tn_json_put_text(&json, "device", hashes.device);
    if (space->error_table_path) tn_json_put_text(&json, "error_table", hashes.error_table);
    tn_json_end(&json);
    tn_json_key(&json, "objectives");
    tn_json_array(&json);
    for (size_t i = 0; i < space->objectives; i++) {
        tn_json_object(&json);
        tn_json_put_text(&json, "quantity", space->objective[i]->name);
        tn_json_put_text(&json, "direction", space->objective[i]->maximise ? "maximise" : "minimise");
        tn_json_end(&json);
    }
    tn_json_end(&json);
    tn_json_key(&json, "constraints");
    tn_json_array(&json);
    for (size_t i = 0; i < space->constraints; i++) tn_json_text(&json, space->constraint[i].name);
    tn_json_end(&json);
    tn_json_put_count(&json, "seed", options->seed);
    tn_json_put_count(&json, "budget", options->budget);
    tn_json_put_count(&json, "shard", options->shard);
    tn_json_put_count(&json, "shards", options->shards);
    tn_json_end(&json);
    snprintf(path, sizeof path, "%s/sweep.json", folder);
    tn_status status = tn_file_write_buffer(path, &out, error);
    tn_buffer_free(&out);
    return status;
}

static tn_status summarise(const tn_space *space, tn_outcome *outcome, tn_summary *summary, tn_error *error) {
    *summary = (tn_summary){
        .space = space->name,
        .designs = space->designs,
        .evaluated = outcome->evaluated,
        .feasible = outcome->count[TN_CAUSE_NONE],
        .front = outcome->front.count,
        .completion = outcome->completion,
        .seconds = outcome->seconds,
        .designs_per_second = outcome->seconds > 0 ? (double)outcome->evaluated_now / outcome->seconds : 0,
    };
    for (uint32_t i = TN_CAUSE_NONE + 1; i < TN_CAUSES; i++) {
        if (!outcome->count[i]) continue;
        summary->cause[summary->causes] = tn_cause_name(space, i);
        summary->cause_count[summary->causes++] = outcome->count[i];
    }
    return tn_hypervolume_of(&outcome->front, space->hypervolume_samples, &summary->hypervolume, error);
}

/* ---- writing
 * -------------------------------------------------------------------------------------------------- */

static tn_status store_front(const char *folder, const tn_space *space, const tn_sweep_options *options,
                             const rows *front, tn_error *error) {
    char identity[1024];
    tn_sweep_db *store;
    TN_TRY(tn_sweep_identity(space, options, identity, sizeof identity, error));
    TN_TRY(tn_sweep_db_open(folder, space, identity, true, &store, error));
    uint64_t *id = NULL;
    tn_evaluation *evaluation = NULL;
    tn_status status = tn_alloc(front->count, sizeof *id, &id, error);
    if (status == TN_OK) status = tn_alloc(front->count, sizeof *evaluation, &evaluation, error);
    for (size_t i = 0; status == TN_OK && i < front->count; i++) {
        id[i] = front->item[i].id;
        evaluation[i] = front->item[i].evaluation;
    }
    if (status == TN_OK) status = tn_sweep_db_front(store, id, evaluation, front->count, error);
    tn_free(id);
    tn_free(evaluation);
    tn_sweep_db_close(store);
    return status;
}

tn_status tn_result_write(const char *folder, const tn_space *space, const tn_sweep_options *options,
                          tn_outcome *outcome, tn_summary *summary, tn_error *error) {
    rows front = {0}, recommended = {0};
    tn_point *point = NULL;
    tn_status status = summarise(space, outcome, summary, error);
    if (status == TN_OK) status = front_rows(&outcome->front, &front, &point, error);
    if (status == TN_OK)
        status = recommended_rows(space, point, front.count, &recommended, &summary->knee, error);
    if (status == TN_OK) status = evaluate_rows(space, &front, error);
    if (status == TN_OK) status = evaluate_rows(space, &recommended, error);
    if (status == TN_OK) status = write_inputs(folder, space, error);
    if (status == TN_OK) status = write_rows(folder, "recommended.csv", space, true, &recommended, error);
    if (status == TN_OK) status = store_front(folder, space, options, &front, error);
    if (status == TN_OK) status = write_rows(folder, "front.csv", space, false, &front, error);
    if (status == TN_OK) status = write_provenance(folder, space, options, summary, error);
    tn_free(point);
    tn_free(front.item);
    tn_free(recommended.item);
    return status;
}

/* ---- reading
 * -------------------------------------------------------------------------------------------------- */

tn_status tn_result_space(const char *folder, tn_arena *arena, tn_space **space, tn_error *error) {
    const char *path;
    tn_space_inputs own = {0};
    TN_TRY(tn_arena_alloc(arena, 1, sizeof **space, space, error));
    TN_TRY(tn_arena_format(arena, &path, error, "%s/space.yaml", folder));
    TN_TRY(tn_arena_format(arena, &own.model, error, "%s/model.yaml", folder));
    TN_TRY(tn_arena_format(arena, &own.device, error, "%s/device.yaml", folder));
    TN_TRY(tn_arena_format(arena, &own.error_table, error, "%s/error_table.csv", folder));
    if (access(own.error_table, R_OK) != 0) own.error_table = NULL;
    return tn_space_load(path, NULL, 0, &own, arena, *space, error);
}

static tn_status load_rows(const char *folder, const char *name, const tn_space *space, tn_arena *arena,
                           tn_result_row **row_out, size_t *count, tn_error *error) {
    const char *path, *id_name = "id";
    tn_csv csv;
    size_t id_column, *column;
    tn_result_row *made;
    TN_TRY(tn_arena_format(arena, &path, error, "%s/%s", folder, name));
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    TN_TRY(tn_csv_columns(&csv, &id_name, 1, false, &id_column, error));
    TN_TRY(tn_arena_alloc(arena, tn_quantities_count, sizeof *column, &column, error));
    for (size_t q = 0; q < tn_quantities_count; q++)
        TN_TRY(tn_csv_columns(&csv, &tn_quantities[q].name, 1, false, &column[q], error));
    size_t reason = tn_csv_column(&csv, "reason");
    TN_TRY(tn_arena_alloc(arena, csv.rows, sizeof *made, &made, error));
    for (size_t i = 0; i < csv.rows; i++) {
        double *value;
        TN_TRY(tn_arena_alloc(arena, tn_quantities_count, sizeof *value, &value, error));
        TN_TRY(tn_csv_count(&csv, i, id_column, 0, space->designs - 1, &made[i].id, error));
        for (size_t q = 0; q < tn_quantities_count; q++)
            TN_TRY(tn_csv_real(&csv, i, column[q], -INFINITY, INFINITY, &value[q], error));
        made[i].value = value;
        made[i].reason = reason < csv.columns ? tn_csv_at(&csv, i, reason)->text : "";
    }
    *row_out = made;
    *count = csv.rows;
    return TN_OK;
}

tn_status tn_result_load(const char *folder, tn_arena *arena, tn_result *result, tn_error *error) {
    *result = (tn_result){.folder = folder};
    TN_TRY(tn_result_space(folder, arena, &result->space, error));
    TN_TRY(load_rows(folder, "front.csv", result->space, arena, &result->front, &result->front_count, error));
    return load_rows(folder, "recommended.csv", result->space, arena, &result->recommended,
                     &result->recommended_count, error);
}
