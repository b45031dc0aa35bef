#include "results/result.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/threads.h"
#include "front/knee.h"
#include "price/obstacle.h"
#include "results/possible.h"
#include "results/recommendation.h"
#include "results/result_inputs.h"
#include "results/shortage.h"
#include "results/sweep_db.h"
#include "search/evaluator.h"
#include "text/csv.h"
#include "text/json.h"
#include "text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REASON_TEXT = 160 };

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

/* ---- rows ---- */

/* The designs of a front, evaluated again for what their points do not say. */
typedef struct {
    const tn_sweep_db *store;
    const tn_space *space;
    const tn_point *point; /* [count] */
    size_t count, next;
    row *item; /* [count] */
    tn_status status;
    tn_error error;
} pricing;

static tn_status price_design(pricing *pricer, tn_evaluator *evaluator, size_t index, tn_error *error) {
    const tn_point *point = &pricer->point[index];
    bool same;
    pricer->item[index].id = point->id;
    TN_TRY(tn_evaluator_confirm(evaluator, point, &pricer->item[index].evaluation, &same, error));
    if (same) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = tn_sweep_db_path(pricer->store)},
                      "says of design %" PRIu64
                      " what it is not; `tenfold sweep ... --resume --repair` evaluates anew what can't be "
                      "trusted",
                      point->id);
}

static void price_some(pricing *pricer) {
    enum { AT_ONCE = 16 }; /* neighbours share an outer combination */
    tn_evaluator *evaluator;
    tn_error error = {0};
    tn_status status = tn_evaluator_new(pricer->space, &evaluator, &error);
    while (status == TN_OK) {
        size_t start;
#pragma omp critical(tenfold_price_front)
        {
            start = pricer->status == TN_OK ? pricer->next : pricer->count;
            pricer->next = start + AT_ONCE;
        }
        if (start >= pricer->count) break;
        for (size_t i = start; status == TN_OK && i < start + AT_ONCE && i < pricer->count; i++)
            status = price_design(pricer, evaluator, i, &error);
    }
#pragma omp critical(tenfold_price_front)
    if (status != TN_OK && pricer->status == TN_OK) {
        pricer->status = status;
        pricer->error = error;
    }
    tn_evaluator_free(evaluator);
}

static tn_status price_all(pricing *pricer, const tn_sweep_options *options, tn_error *error) {
    int threads = tn_thread_count(options->threads);
#pragma omp parallel num_threads(threads)
    {
        /* An interrupted search of flows ends with what it has: another design than the one that was found. */
        tn_interrupt_hold();
        price_some(pricer);
        tn_interrupt_release();
    }
    if (pricer->status != TN_OK && error) *error = pricer->error;
    return pricer->status;
}

/* The front's rows by ascending id, and their points. */
static tn_status front_rows(const tn_sweep_db *store, const tn_space *space, const tn_sweep_options *options,
                            const tn_outcome *outcome, rows *buffer, tn_point **point, tn_error *error) {
    buffer->count = outcome->front.count;
    TN_TRY(TN_ALLOC(buffer->count, &buffer->item, error));
    TN_TRY(TN_ALLOC(buffer->count, point, error));
    tn_archive_points(&outcome->front, *point);
    pricing pricer = {
        .store = store, .space = space, .point = *point, .count = buffer->count, .item = buffer->item};
    if (!outcome->known) return price_all(&pricer, options, error);
    for (size_t i = 0; i < buffer->count; i++) {
        buffer->item[i].id = (*point)[i].id;
        buffer->item[i].evaluation = outcome->known[i];
    }
    return TN_OK;
}

/* The knee, then the best of the front at each value of the default choice. */
static tn_status recommended_rows(const tn_space *space, const rows *front, const tn_point *point,
                                  rows *buffer, uint64_t *knee, tn_error *error) {
    size_t index = tn_default_by(space),
           values = index < space->choices.count ? space->choices.axis[index].count : 0;
    if (front->count == 0) return TN_OK;
    TN_TRY(TN_ALLOC(values + 1, &buffer->item, error));
    const row *best = &front->item[tn_knee(point, front->count, space->objectives)];
    *knee = best->id;
    buffer->item[0] = *best;
    snprintf(buffer->item[0].reason, REASON_TEXT, "knee");
    buffer->count = 1;
    tn_buffer value = {0};
    for (size_t digit = 0; digit < values; digit++) {
        size_t place = tn_best_at(space, index, digit, point, front->count);
        if (place == front->count) continue;
        row *next = &buffer->item[buffer->count++];
        *next = front->item[place];
        value.length = 0;
        tn_axis_value(&space->choices.axis[index], digit, &value);
        snprintf(next->reason, REASON_TEXT, "best at %s=%s", space->choices.axis[index].key,
                 value.data ? value.data : "");
    }
    tn_status status = value.status;
    tn_buffer_free(&value);
    return status == TN_OK ? TN_OK : tn_fail(error, status, "no memory for the recommended designs");
}

static void put_head(const tn_space *space, const char *reason, tn_buffer *out) {
    if (reason) tn_csv_put(out, reason);
    tn_csv_put(out, "id");
    for (size_t i = 0; i < space->choices.count; i++) tn_csv_put(out, space->choices.axis[i].key);
    for (size_t i = 0; i < tn_quantities_count; i++) tn_csv_put(out, tn_quantities[i].name);
    tn_csv_line(out);
}

static void put_row(const tn_space *space, const char *reason, const row *entry, tn_buffer *value,
                    tn_buffer *out) {
    if (reason) tn_csv_put(out, entry->reason);
    tn_csv_put_count(out, entry->id);
    for (size_t i = 0; i < space->choices.count; i++) {
        value->length = 0;
        tn_axis_value(&space->choices.axis[i], tn_choices_digit(&space->choices, entry->id, i), value);
        tn_csv_put(out, value->data ? value->data : "");
    }
    for (size_t i = 0; i < tn_quantities_count; i++) {
        char obstacle[TN_OBSTACLE_TEXT];
        double number = tn_quantities[i].get(&entry->evaluation);
        if (tn_quantity_is_obstacle(&tn_quantities[i]))
            tn_csv_put(out, tn_obstacle_key((uint32_t)number, obstacle));
        else if (tn_quantities[i].whole)
            tn_csv_put_count(out, (uint64_t)number);
        else
            tn_csv_put_real(out, number); /* nan: unknown */
    }
    tn_csv_line(out);
}

static void put_rows(const tn_space *space, const char *reason, const rows *buffer, tn_buffer *out) {
    tn_buffer value = {0};
    put_head(space, reason, out);
    for (size_t i = 0; i < buffer->count; i++) put_row(space, reason, &buffer->item[i], &value, out);
    if (value.status != TN_OK) out->status = value.status;
    tn_buffer_free(&value);
}

static tn_status write_rows(const char *folder, const char *name, const tn_space *space, const char *reason,
                            const rows *buffer, tn_error *error) {
    tn_buffer out = {0};
    put_rows(space, reason, buffer, &out);
    return tn_result_file_write(folder, name, &out, error);
}

/* ---- a list of possible designs that an earlier run of the same sweep left ---- */

static tn_status remove_possible(const char *folder, tn_arena *arena, tn_error *error) {
    const char *old;
    TN_TRY(tn_arena_format(arena, &old, error, "%s/possible.csv", folder));
    remove(old);
    return TN_OK;
}

/* Whether the folder's front.csv is that text. */
static tn_status is_front(const char *folder, const tn_buffer *text, tn_arena *arena, bool *is,
                          tn_error *error) {
    const char *path;
    char *data;
    size_t length;
    *is = false;
    TN_TRY(tn_arena_format(arena, &path, error, "%s/front.csv", folder));
    const tn_status status = tn_file_read(path, TN_RESULT_FILE_BYTES_MOST, &data, &length, error);
    if (status == TN_MEMORY || status == TN_IO) return status;
    if (status != TN_OK) return TN_OK; /* there is none */
    *is = text->status == TN_OK && length == text->length && memcmp(data, text->data, length) == 0;
    tn_free(data);
    return TN_OK;
}

/* A list is of a front: another one takes it away, whatever comes then. *keeps: it is of this one. */
static tn_status write_front(const char *folder, const tn_space *space, const tn_sweep_options *options,
                             const rows *front, tn_arena *arena, bool *keeps, tn_error *error) {
    tn_buffer out = {0};
    *keeps = false;
    put_rows(space, NULL, front, &out);
    tn_status status = options->resume ? is_front(folder, &out, arena, keeps, error) : TN_OK;
    if (status == TN_OK && !*keeps) status = remove_possible(folder, arena, error);
    if (status == TN_OK) return tn_result_file_write(folder, "front.csv", &out, error);
    tn_buffer_free(&out);
    return status;
}

/* What is said of the list that stays, if there is one; what can't be read is gone. */
static tn_status keep_possible(const char *folder, const rows *front, tn_arena *arena, tn_summary *summary,
                               tn_error *error) {
    const char *path;
    tn_csv csv;
    json_t *record;
    TN_TRY(tn_arena_format(arena, &path, error, "%s/possible.csv", folder));
    tn_status status = tn_csv_load(path, arena, &csv, error);
    if (status == TN_MEMORY || status == TN_IO) return status;
    if (status != TN_OK || csv.rows < front->count) return remove_possible(folder, arena, error);
    summary->possible = csv.rows - front->count;
    summary->possible_least_doubt = tn_possible_least;
    status = tn_result_record_load(folder, arena, &path, &record, error);
    if (status == TN_MEMORY || status == TN_IO) return status;
    if (status != TN_OK) return TN_OK;
    const json_t *least = json_object_get(record, "possible_least_doubt");
    if (json_number_value(least) > 0) summary->possible_least_doubt = json_number_value(least);
    json_decref(record);
    return TN_OK;
}

/* A sweep with a budget looks at no more of them than it has seen, one with a time at as many as take a part of that. */
static uint64_t neighbours_most(const tn_sweep_options *options, const tn_summary *summary) {
    uint64_t most = TN_POSSIBLE_NEIGHBOURS_MOST;
    if (summary->evaluated < summary->designs) most = tn_least(most, summary->evaluated);
    if (options->seconds > 0)
        most = (uint64_t)fmin((double)most, ceil(options->seconds * TN_POSSIBLE_NEIGHBOURS_PER_SECOND));
    return most;
}

/* possible.csv, where accuracies are known with a deviation: designs that may be on the front, by their probability of it. */
static tn_status write_possible(const char *folder, const tn_space *space, const tn_sweep_options *options,
                                const rows *front, const tn_point *point, bool keeps, tn_arena *arena,
                                tn_summary *summary, tn_error *error) {
    tn_evaluation *evaluation;
    tn_possible_list possible = {0};
    TN_TRY(TN_NEW(arena, front->count, &evaluation, error));
    for (size_t i = 0; i < front->count; i++) evaluation[i] = front->item[i].evaluation;
    summary->possible_most = neighbours_most(options, summary);
    const tn_status status =
        tn_possible_designs(space, point, evaluation, front->count, summary->possible_most, options->threads,
                            arena, &possible, error);
    /* They take a while: a sweep that is to stop leaves them to the one that goes on with it. */
    if (status == TN_INTERRUPTED) return keeps ? keep_possible(folder, front, arena, summary, error) : TN_OK;
    TN_TRY(status);
    if (possible.count == 0) return remove_possible(folder, arena, error);
    rows all = {.count = possible.count};
    TN_TRY(TN_NEW(arena, all.count, &all.item, error));
    for (size_t i = 0; i < all.count; i++) {
        const tn_possible *design = &possible.item[i];
        all.item[i] = (row){.id = design->id, .evaluation = design->evaluation};
        snprintf(all.item[i].reason, REASON_TEXT, "%.4g", design->probability);
    }
    summary->possible = all.count - front->count;
    summary->possible_least_doubt = possible.least_doubt;
    return write_rows(folder, "possible.csv", space, "front_probability", &all, error);
}

/* ---- the summary, and its provenance ---- */

static void put_undefined(const tn_summary *summary, tn_json *json) {
    tn_json_key(json, "undefined");
    tn_json_array(json);
    for (size_t i = 0; i < summary->undefined_count; i++) {
        const tn_undefined_line *line = &summary->undefined[i];
        tn_json_object(json);
        if (line->weight) {
            tn_json_put_text(json, "weight", line->weight);
            tn_json_put_text(json, "format", line->format);
            tn_json_put_count(json, "factors", line->factors);
            tn_json_put_text(json, "flow", line->flow);
        } else {
            tn_json_put_count(json, "design", line->first);
            tn_json_put_text(json, "why", line->why);
        }
        tn_json_put_count(json, "designs", line->designs);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void put_certificate(const tn_summary *summary, tn_json *json) {
    tn_json_key(json, "certificate");
    if (summary->certified) {
        tn_json_object(json);
        for (size_t i = 0; i < summary->objectives; i++)
            tn_json_put_real(json, summary->objective[i]->name, summary->factor[i]);
        tn_json_end(json);
    } else {
        tn_json_null(json);
    }
    tn_json_put_bool(json, "exact", summary->exact);
}

static void put_counts(const tn_summary *summary, tn_json *json) {
    tn_json_put_text(json, "space", summary->space);
    tn_json_key(json, "designs");
    tn_json_big(json, summary->size);
    tn_json_put_count(json, "evaluated", summary->evaluated);
    tn_json_put_count(json, "feasible", summary->feasible);
    tn_json_put_text(json, "counted_by", summary->counted_by);
    tn_json_key(json, "rejected");
    tn_json_object(json);
    for (size_t i = 0; i < summary->causes; i++)
        tn_json_put_count(json, summary->cause[i], summary->cause_count[i]);
    tn_json_end(json);
    put_undefined(summary, json);
    tn_json_put_count(json, "front", summary->front);
    tn_json_put_count(json, "possible", summary->possible);
    tn_json_put_real(json, "possible_least_doubt", summary->possible_least_doubt);
    tn_json_put_real(json, "hypervolume", summary->hypervolume.share);
    tn_json_put_count(json, "hypervolume_samples", summary->hypervolume.samples);
    tn_json_put_text(json, "complete", tn_completion_names[summary->completion]);
    tn_json_put_text(json, "method", summary->method);
    put_certificate(summary, json);
    tn_json_key(json, "knee");
    if (summary->front)
        tn_json_count(json, summary->knee);
    else
        tn_json_null(json);
}

static void put_shortage(const tn_shortage *shortage, tn_json *json) {
    tn_json_key(json, "shortage");
    if (!shortage || !shortage->cause) {
        tn_json_null(json);
        return;
    }
    tn_json_object(json);
    tn_json_put_text(json, "cause", shortage->cause);
    tn_json_put_text(json, "key", shortage->key);
    tn_json_put_count(json, "design", shortage->design);
    tn_json_put_real(json, "factor", shortage->factor);
    tn_json_put_text(json, "change", shortage->change);
    tn_json_put_text(json, "was", shortage->was);
    tn_json_put_real(json, "changed_factor", shortage->changed_factor);
    tn_json_end(json);
}

void tn_summary_keys(const tn_summary *summary, tn_json *json) {
    put_counts(summary, json);
    tn_json_put_real(json, "seconds", summary->seconds);
    tn_json_put_real(json, "designs_per_second", summary->designs_per_second);
    put_shortage(summary->shortage, json);
}

/* Who asked for it, and when (of SOURCE_DATE_EPOCH where that is set, so that a file can be made again byte by byte). */
static void put_origin(const tn_sweep_options *options, tn_json *json) {
    char date[32] = "";
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    uint64_t given;
    bool has_epoch = epoch && tn_read_count(epoch, &given) == TN_NUMBER_OK;
    time_t now = has_epoch ? (time_t)given : time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    tn_json_put_text(json, "command", options->command);
    tn_json_put_text(json, "date", date);
}

/* Without the times that it took, so that the file is the same whatever the machine and the threads. */
static tn_status put_provenance(const tn_space *space, const tn_sweep_options *options,
                                const tn_summary *summary, tn_arena *names, tn_json *json, tn_error *error) {
    const char *models, *devices;
    TN_TRY(tn_space_model_names(space, names, &models, error));
    TN_TRY(tn_space_device_names(space, names, &devices, error));
    tn_json_object(json);
    tn_json_put_text(json, "tenfold", TENFOLD_VERSION);
    put_counts(summary, json);
    tn_json_put_text(json, "model", models);
    tn_json_put_text(json, "device", devices);
    TN_TRY(tn_result_inputs_hashes(space, json, error));
    tn_json_key(json, "objectives");
    tn_json_array(json);
    for (size_t i = 0; i < space->objectives; i++) {
        tn_json_object(json);
        tn_json_put_text(json, "quantity", space->objective[i]->name);
        tn_json_put_text(json, "direction", space->objective[i]->maximise ? "maximise" : "minimise");
        tn_json_end(json);
    }
    tn_json_end(json);
    tn_json_key(json, "constraints");
    tn_json_array(json);
    for (size_t i = 0; i < space->constraints; i++) tn_json_text(json, space->constraint[i].name);
    tn_json_end(json);
    tn_json_put_count(json, "seed", options->seed);
    tn_json_put_count(json, "budget", options->budget);
    tn_json_put_count(json, "shard", options->shard);
    tn_json_put_count(json, "shards", options->shards);
    if (options->command) put_origin(options, json);
    tn_json_end(json);
    return TN_OK;
}

static tn_status write_provenance(const char *folder, const tn_space *space, const tn_sweep_options *options,
                                  const tn_summary *summary, tn_error *error) {
    tn_arena names = {0};
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_status status = put_provenance(space, options, summary, &names, &json, error);
    tn_arena_free(&names);
    if (status == TN_OK) return tn_result_file_write(folder, "sweep.json", &out, error);
    tn_buffer_free(&out);
    return status;
}

/* What an undefined design lacks; keys are asked of the first of them. */
static tn_status describe_undefined(const tn_space *space, const tn_undefined_count *undefined,
                                    tn_undefined_line *line, tn_error *error) {
    tn_evaluator *evaluator;
    tn_evaluation evaluation;
    tn_error why = {0};
    *line = (tn_undefined_line){.designs = undefined->designs, .first = undefined->first};
    if (undefined->flow.weight != TN_UNDEFINED_KEYS) {
        line->weight = tn_space_weight_name(space, undefined->flow.weight);
        line->format = tn_format_names[undefined->flow.format];
        line->flow = tn_flow_names[undefined->flow.flow];
        line->factors = undefined->flow.factors;
        return TN_OK;
    }
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = tn_evaluate_design(evaluator, undefined->first, &evaluation, &why);
    if (status == TN_INPUT)
        snprintf(line->why, sizeof line->why, "%.255s", tn_evaluator_why(evaluator)->message);
    tn_evaluator_free(evaluator);
    if (status == TN_OK || status == TN_INPUT) return TN_OK;
    if (error) *error = why;
    return status;
}

static tn_status summarise(const tn_space *space, const tn_sweep_options *options, tn_outcome *outcome,
                           tn_summary *summary, tn_error *error) {
    tn_archive *front = &outcome->front;
    bool has_bounds;
    *summary = (tn_summary){
        .space = space->name,
        .designs = space->choices.designs,
        .size = &space->choices.size,
        .evaluated = outcome->evaluated,
        .feasible = front->count ? outcome->count[TN_CAUSE_NONE] : 0,
        .front = front->count,
        .completion = outcome->completion,
        .shard = options->shard,
        .shards = options->shards,
        .seconds = outcome->seconds,
        .designs_per_second = outcome->seconds > 0 ? (double)outcome->evaluated_now / outcome->seconds : 0,
    };
    summary->method = outcome->method ? outcome->method : tn_method_names[TN_ENUMERATE];
    TN_TRY(tn_space_has_bounds(space, &has_bounds, error));
    has_bounds &= !options->keep_all && strcmp(summary->method, tn_method_names[TN_ENUMERATE]) == 0;
    summary->counted_by = !has_bounds ? "price" : options->counts ? "bound" : "set";
    summary->exact = outcome->exact;
    summary->certified = outcome->certified;
    summary->goes_on = outcome->completion != TN_EXHAUSTED && options->budget == 0 &&
                       strcmp(summary->method, tn_method_names[TN_ENUMERATE]) == 0;
    summary->objectives = space->objectives;
    memcpy(summary->objective, space->objective, sizeof summary->objective);
    memcpy(summary->factor, outcome->factor, sizeof summary->factor);
    for (uint32_t i = TN_CAUSE_NONE + 1; i < TN_CAUSES; i++) {
        if (!outcome->count[i]) continue;
        summary->cause[summary->causes] = tn_cause_name(space, i);
        summary->cause_count[summary->causes++] = outcome->count[i];
    }
    if (!front->count && outcome->count[TN_CAUSE_NONE]) { /* they fit as if ideally laid only */
        summary->cause[summary->causes] = "layouts";
        summary->cause_count[summary->causes++] = outcome->count[TN_CAUSE_NONE];
    }
    for (size_t i = 0; i < outcome->undefined_count && i < TN_UNDEFINED_SHOWN; i++)
        TN_TRY(describe_undefined(space, &outcome->undefined[i],
                                  &summary->undefined[summary->undefined_count++], error));
    return tn_hypervolume_of(front, space->hypervolume_samples, &summary->hypervolume, error);
}

/* ---- all files ---- */

static tn_status store_front(tn_sweep_db *store, const rows *front, tn_error *error) {
    uint64_t *id = NULL;
    tn_evaluation *evaluation = NULL;
    tn_status status = TN_ALLOC(front->count, &id, error);
    if (status == TN_OK) status = TN_ALLOC(front->count, &evaluation, error);
    for (size_t i = 0; status == TN_OK && i < front->count; i++) {
        id[i] = front->item[i].id;
        evaluation[i] = front->item[i].evaluation;
    }
    if (status == TN_OK) status = tn_sweep_db_front(store, id, evaluation, front->count, error);
    tn_free(id);
    tn_free(evaluation);
    return status;
}

tn_status tn_result_write(tn_sweep_db *store, const char *folder, const tn_space *space,
                          const tn_sweep_options *options, tn_outcome *outcome, tn_summary *summary,
                          tn_error *error) {
    rows front = {0}, recommended = {0};
    tn_arena arena = {0};
    tn_point *point = NULL;
    bool keeps = false;
    tn_status status = front_rows(store, space, options, outcome, &front, &point, error);
    if (status == TN_OK) status = summarise(space, options, outcome, summary, error);
    if (status == TN_OK) status = recommended_rows(space, &front, point, &recommended, &summary->knee, error);
    if (status == TN_OK) status = tn_result_inputs_write(folder, space, error);
    if (status == TN_OK) status = write_rows(folder, "recommended.csv", space, "reason", &recommended, error);
    if (status == TN_OK) status = store_front(store, &front, error);
    if (status == TN_OK) status = write_front(folder, space, options, &front, &arena, &keeps, error);
    if (status == TN_OK)
        status = write_possible(folder, space, options, &front, point, keeps, &arena, summary, error);
    if (status == TN_OK) status = write_provenance(folder, space, options, summary, error);
    tn_arena_free(&arena);
    tn_free(point);
    tn_free(front.item);
    tn_free(recommended.item);
    return status;
}
