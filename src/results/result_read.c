/* Reading a folder of results, which anybody may have made. */
#include "base/file.h"
#include "base/memory.h"
#include "price/obstacle.h"
#include "results/result.h"
#include "results/result_inputs.h"
#include "text/csv.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static tn_status read_completion(const json_t *json, const char *path, tn_result *result, tn_error *error) {
    const char *complete = json_string_value(json_object_get(json, "complete"));
    const json_t *evaluated = json_object_get(json, "evaluated");
    for (int i = 0; complete && tn_completion_names[i]; i++)
        if (strcmp(complete, tn_completion_names[i]) == 0 && json_is_integer(evaluated) &&
            json_integer_value(evaluated) >= 0) {
            result->completion = (tn_completion)i;
            result->evaluated = (uint64_t)json_integer_value(evaluated);
            const json_t *shard = json_object_get(json, "shard"), *shards = json_object_get(json, "shards");
            if (json_integer_value(shard) > 0 && json_integer_value(shards) > 0) {
                result->shard = (uint64_t)json_integer_value(shard);
                result->shards = (uint64_t)json_integer_value(shards);
            }
            return TN_OK;
        }
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = path},
                      "does not say how far the sweep came (complete, evaluated)");
}

/* The places of a row's values. */
static tn_status read_digits(const tn_csv *csv, size_t row, const tn_space *space, const size_t *column,
                             uint32_t *digit, tn_error *error) {
    tn_buffer value = {0};
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < space->choices.count; i++) {
        const tn_csv_cell *cell = tn_csv_at(csv, row, column[i]);
        size_t place = 0;
        for (; place < space->choices.axis[i].count; place++) {
            value.length = 0;
            tn_axis_value(&space->choices.axis[i], place, &value);
            if (value.status != TN_OK || strcmp(value.data, cell->text) == 0) break;
        }
        status = value.status;
        if (status == TN_OK && place == space->choices.axis[i].count)
            status = tn_fail_at(error, TN_INPUT, cell->position, "'%.100s' is no value of %.100s", cell->text,
                                space->choices.axis[i].key);
        digit[i] = (uint32_t)place;
    }
    tn_buffer_free(&value);
    return status;
}

/* The ids of a vast space's designs are their places in front.csv. */
static tn_status list_designs(const char *folder, tn_arena *arena, const tn_space *space, tn_error *error) {
    const char *path;
    tn_csv csv;
    size_t column[TN_AXES_MOST];
    uint32_t digit[TN_AXES_MOST];
    if (!space->choices.is_vast) return TN_OK;
    TN_TRY(tn_arena_format(arena, &path, error, "%s/front.csv", folder));
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    for (size_t i = 0; i < space->choices.count; i++)
        TN_TRY(tn_csv_columns(&csv, &space->choices.axis[i].key, 1, false, &column[i], error));
    for (size_t row = 0; row < csv.rows; row++) {
        uint64_t id;
        TN_TRY(read_digits(&csv, row, space, column, digit, error));
        TN_TRY(tn_choices_id_of(&space->choices, digit, &id, error));
    }
    return TN_OK;
}

static tn_status check_folder(const char *folder, tn_error *error) {
    if (tn_is_folder(folder)) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                      "is no folder of results; `tenfold sweep SPACE -o DIR` makes one");
}

tn_status tn_result_space(const char *folder, tn_arena *arena, tn_space **space, tn_result *result,
                          tn_error *error) {
    const char *path;
    json_t *json;
    tn_result ignored;
    TN_TRY(check_folder(folder, error));
    TN_TRY(TN_NEW(arena, 1, space, error));
    TN_TRY(tn_result_record_load(folder, arena, &path, &json, error));
    tn_status status = read_completion(json, path, result ? result : &ignored, error);
    if (status == TN_OK) status = tn_result_inputs_load(json, folder, arena, *space, error);
    if (status == TN_OK) status = list_designs(folder, arena, *space, error);
    json_decref(json);
    return status;
}

/* ---- rows */

/* "nan" stands for what is not known. */
static tn_status read_quantity(const tn_csv *csv, size_t row, size_t column, const tn_quantity *quantity,
                               double *value, tn_error *error) {
    const tn_csv_cell *cell = tn_csv_at(csv, row, column);
    const uint32_t obstacle = tn_quantity_is_obstacle(quantity) ? tn_obstacle_of_key(cell->text) : 0;
    *value = obstacle;
    if (obstacle == UINT32_MAX)
        return tn_fail_at(error, TN_INPUT, cell->position,
                          "'%.60s' is no key that keeps a design from being generated; yes is none",
                          cell->text);
    if (tn_quantity_is_obstacle(quantity)) return TN_OK;
    if (strcmp(tn_csv_at(csv, row, column)->text, "nan") != 0)
        return tn_csv_real(csv, row, column, -INFINITY, INFINITY, value, error);
    *value = NAN;
    return TN_OK;
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
    TN_TRY(TN_NEW(arena, tn_quantities_count, &column, error));
    for (size_t q = 0; q < tn_quantities_count; q++)
        TN_TRY(tn_csv_columns(&csv, &tn_quantities[q].name, 1, false, &column[q], error));
    size_t reason = tn_csv_column(&csv, "reason");
    TN_TRY(TN_NEW(arena, csv.rows, &made, error));
    for (size_t i = 0; i < csv.rows; i++) {
        double *value;
        TN_TRY(TN_NEW(arena, tn_quantities_count, &value, error));
        uint64_t last = space->choices.is_vast ? space->choices.listed->count : space->choices.designs;
        if (last == 0)
            return tn_fail_at(error, TN_INPUT, tn_csv_at(&csv, i, id_column)->position, "no such design");
        TN_TRY(tn_csv_count(&csv, i, id_column, 0, last - 1, &made[i].id, error));
        for (size_t q = 0; q < tn_quantities_count; q++)
            TN_TRY(read_quantity(&csv, i, column[q], &tn_quantities[q], &value[q], error));
        made[i].value = value;
        made[i].reason = reason < csv.columns ? tn_csv_at(&csv, i, reason)->text : "";
    }
    *row_out = made;
    *count = csv.rows;
    return TN_OK;
}

tn_status tn_result_load(const char *folder, tn_arena *arena, tn_result *result, tn_error *error) {
    *result = (tn_result){.folder = folder};
    TN_TRY(tn_result_space(folder, arena, &result->space, result, error));
    TN_TRY(load_rows(folder, "front.csv", result->space, arena, &result->front, &result->front_count, error));
    TN_TRY(load_rows(folder, "recommended.csv", result->space, arena, &result->recommended,
                     &result->recommended_count, error));
    if ((result->front_count == 0) != (result->recommended_count == 0))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                          "has %s; a sweep writes both or none",
                          result->front_count ? "designs in front.csv and none in recommended.csv"
                                              : "designs in recommended.csv and none in front.csv");
    return TN_OK;
}

static const tn_result_row *row_of(const tn_result_row *row, size_t count, uint64_t id) {
    for (size_t i = 0; i < count; i++)
        if (row[i].id == id) return &row[i];
    return NULL;
}

tn_status tn_result_design(const tn_result *result, tn_evaluator *evaluator, const uint64_t *id,
                           tn_arena *arena, tn_result_row *row, tn_error *error) {
    tn_evaluation evaluation;
    const tn_result_row *known =
        id ? row_of(result->recommended, result->recommended_count, *id) : &result->recommended[0];
    double *value;
    if (!known) known = row_of(result->front, result->front_count, *id);
    TN_TRY(tn_evaluate_design(evaluator, known ? known->id : *id, &evaluation, error));
    if (known) {
        *row = *known;
        return TN_OK;
    }
    TN_TRY(TN_NEW(arena, tn_quantities_count, &value, error));
    for (size_t q = 0; q < tn_quantities_count; q++) value[q] = tn_quantities[q].get(&evaluation);
    *row = (tn_result_row){.id = *id, .reason = "", .value = value};
    return TN_OK;
}

double tn_result_value(const tn_result_row *row, const char *quantity) {
    for (size_t i = 0; i < tn_quantities_count; i++)
        if (strcmp(tn_quantities[i].name, quantity) == 0) return row->value[i];
    return NAN;
}

tn_status tn_result_points(const tn_result *result, tn_arena *arena, tn_point **point, tn_error *error) {
    const tn_space *space = result->space;
    TN_TRY(TN_NEW(arena, result->front_count, point, error));
    for (size_t i = 0; i < result->front_count; i++) {
        tn_point *next = &(*point)[i];
        next->id = result->front[i].id;
        for (size_t j = 0; j < space->objectives; j++) {
            const tn_quantity *objective = space->objective[j];
            double value = result->front[i].value[objective - tn_quantities];
            next->value[j] = objective->maximise ? -value : value;
        }
    }
    return TN_OK;
}
