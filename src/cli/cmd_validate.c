/* tenfold validate (DIR [--point ID|all] | MODEL | --case FOLDER|FILE) */
#include "base/file.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "run/case.h"
#include "run/validate.h"
#include "text/csv.h"
#include "text/json.h"
#include "text/number.h"
#include "text/record.h"

#include <stdio.h>
#include <string.h>

/* More rows than a person reads: only those that fail are printed (--json and validation.csv have all). */
enum { DEFAULT_SEED = 1, MOST_ROWS = 60 };

typedef struct request {
    tn_common common;
    const char *target, *path, *flow, *point; /* target: the argument */
    uint64_t seed, micro_batches;
    bool training;
    tn_option_list set;
} request;

typedef struct answer_data {
    tn_checks checks;
    tn_cpu_rates rates;
    tn_arrays *arrays; /* of a single file */
    tn_arena arena;
    bool drawn;   /* some values came from the seed */
    bool nothing; /* the sweep has no design that fits */
} answer_data;

static tn_status find_flow(const char *name, tn_flow_name *flow, tn_error *error) {
    *flow = TN_FLOW_NAMES;
    if (!name) return TN_OK;
    for (int i = 0; i < TN_FLOW_NAMES; i++)
        if (strcmp(name, tn_flow_names[i]) == 0) *flow = (tn_flow_name)i;
    if (*flow != TN_FLOW_NAMES) return TN_OK;
    char told[512];
    return tn_fail(error, TN_INPUT, "unknown flow '%.60s'; %s", name,
                   tn_suggestion(name, tn_flow_names, TN_FLOW_NAMES, told, sizeof told));
}

/* Reads every array, so that what can't be read is refused. */
static tn_status read_all(tn_arrays *arrays, tn_error *error) {
    for (size_t i = 0; i < tn_arrays_count(arrays); i++) {
        double *values;
        TN_TRY(TN_ALLOC(tn_arrays_info(arrays, i)->elements, &values, error));
        tn_status status = tn_arrays_read(arrays, i, values, error);
        tn_free(values);
        TN_TRY(status);
    }
    return TN_OK;
}

static tn_status validate_case(const request *asked, answer_data *found, tn_error *error) {
    tn_trial trial;
    tn_flow_name flow;
    TN_TRY(find_flow(asked->flow, &flow, error));
    if (tn_is_folder(asked->path)) {
        TN_TRY(tn_case_load_folder(asked->path, &found->arena, &trial, error));
    } else {
        TN_TRY(tn_arrays_open(asked->path, &found->arrays, error));
        TN_TRY(read_all(found->arrays, error));
        if (tn_arrays_count(found->arrays) < 2 || !tn_case_in_arrays(found->arrays)) return TN_OK;
        TN_TRY(tn_case_load_arrays(found->arrays, asked->path, asked->seed, &found->arena, &trial, error));
        found->drawn = trial.seed == asked->seed;
    }
    TN_TRY(tn_validate_trial(&found->checks, &trial, flow, &found->rates, error));
    if (!asked->training) return TN_OK;
    return tn_validate_training(&found->checks, &trial, asked->micro_batches, &found->rates, error);
}

/* A model, or a sweep's design with what is set otherwise. */
static tn_status validate_target(const request *asked, answer_data *found, tn_target *target,
                                 tn_error *error) {
    tn_watch watch;
    if (asked->flow)
        return tn_fail(error, TN_INPUT, "--flow goes with --case; a model names its flows (--set flow=%s)",
                       asked->flow);
    TN_TRY(
        tn_target_load(asked->target, asked->point, NULL, NULL, &asked->set, &found->arena, target, error));
    found->drawn = true;
    tn_watch_begin(&watch, "layers", asked->common.quiet);
    tn_executed executed = {0};
    tn_status status = tn_validate_model(&found->checks, &executed, target->design.model, "", asked->seed,
                                         &found->rates, &watch.progress, error);
    tn_executed_free(&executed);
    tn_watch_end(&watch);
    return status;
}

static tn_status validate_model(const request *asked, answer_data *found, tn_error *error) {
    tn_target target = {0};
    tn_status status = validate_target(asked, found, &target, error);
    tn_target_free(&target);
    return status;
}

static const char *const no_yes[] = {"no", "yes"};

static void put_difference(const void *row, tn_json *json) {
    const tn_check *check = row;
    if (check->difference_error < 0)
        tn_json_null(json);
    else
        tn_json_real(json, check->difference_error);
}

/* A check that failed is seen among many. */
static void show_ok(const void *row, tn_buffer *cell) {
    tn_buffer_text(cell, ((const tn_check *)row)->ok ? "yes" : "NO");
}

static const tn_column check_columns[] = {
    TN_COLUMN(tn_check, name, "layer"),
    TN_COLUMN(tn_check, flow, "flow"),
    TN_NAME("precision", tn_check, real, tn_real_names, "precision"),
    TN_NAME("phase", tn_check, phase, tn_phase_names, "phase"),
    TN_COLUMN(tn_check, macs_predicted, "MACs"),
    TN_COLUMN(tn_check, macs_executed, "executed"),
    TN_COLUMN(tn_check, peak_elements_predicted, "peak live, elements"),
    TN_COLUMN(tn_check, peak_elements_executed, "executed"),
    TN_COLUMN(tn_check, scratch_elements, NULL),
    TN_COLUMN(tn_check, relative_error, "relative error", TN_POWER(1)),
    TN_COLUMN(tn_check, tolerance, NULL),
    TN_WRITTEN("difference_error", put_difference, NULL),
    TN_COLUMN(tn_check, seconds_predicted, "estimated", TN_IN("us", 1e6), TN_FIXED(0)),
    TN_COLUMN(tn_check, seconds_executed, "time", TN_IN("us", 1e6), TN_FIXED(0)),
    TN_COLUMN(tn_check, ok, NULL, .names = no_yes),
    TN_WRITTEN(NULL, NULL, "ok", .cell = show_ok),
};
static const tn_record check_record = TN_RECORD(tn_check, check_columns);

/* The rows as FOLDER/validation.csv, which `tenfold plot` draws. */
static tn_status write_table(const tn_checks *checks, const char *folder, tn_error *error) {
    tn_buffer out = {0};
    char path[1024];
    tn_record_csv_head(&check_record, &out);
    tn_csv_line(&out);
    for (size_t i = 0; i < checks->count; i++) {
        tn_record_csv(&check_record, &checks->item[i], &out);
        tn_csv_line(&out);
    }
    snprintf(path, sizeof path, "%s/validation.csv", folder);
    tn_status status = tn_file_write_buffer(path, &out, error);
    tn_buffer_free(&out);
    return status;
}

static tn_status validate_result(const request *asked, answer_data *found, tn_error *error) {
    tn_result result;
    tn_watch watch;
    uint64_t id;
    bool all = !asked->point || strcmp(asked->point, "all") == 0;
    if (asked->flow)
        return tn_fail(error, TN_INPUT, "a sweep's folder says its flows itself; --flow goes with --case");
    if (asked->set.count && all)
        return tn_fail(error, TN_INPUT, "--set says what if of one design; give its --point ID");
    if (asked->set.count) return validate_model(asked, found, error);
    if (!all) TN_TRY(tn_point_read(asked->point, &id, error));
    TN_TRY(tn_result_load(asked->target, &found->arena, &result, error));
    if (all && result.recommended_count == 0) {
        found->nothing = true;
        return TN_OK;
    }
    found->drawn = true;
    tn_watch_begin(&watch, "designs", asked->common.quiet);
    tn_status status = tn_validate_result(&found->checks, &result, all, all ? 0 : id, asked->seed,
                                          &found->rates, &watch.progress, error);
    tn_watch_end(&watch);
    return status == TN_OK ? write_table(&found->checks, asked->target, error) : status;
}

static tn_status validate(const request *asked, answer_data *found, tn_error *error) {
    TN_TRY(tn_cpu_measure(&found->rates, error));
    if (asked->path) return validate_case(asked, found, error);
    return tn_is_folder(asked->target) ? validate_result(asked, found, error)
                                       : validate_model(asked, found, error);
}

static void show_shape(const void *row, tn_buffer *cell) {
    const tn_array_info *info = row;
    if (info->axes == 0) tn_buffer_text(cell, "scalar");
    for (size_t axis = 0; axis < info->axes; axis++)
        tn_buffer_format(cell, "%s%llu", axis ? " x " : "", (unsigned long long)info->shape[axis]);
}

static const tn_column array_columns[] = {
    TN_COLUMN(tn_array_info, name, "array"),
    TN_COLUMN(tn_array_info, type, "type"),
    TN_ARRAY("shape", tn_array_info, shape, axes, NULL),
    TN_COLUMN(tn_array_info, elements, "elements"),
    TN_WRITTEN(NULL, NULL, "shape", .cell = show_shape),
};
static const tn_record array_record = TN_RECORD(tn_array_info, array_columns);

static tn_status print_json(const request *asked, const answer_data *found, tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    tn_answer_begin(&json, &out);
    if (found->arrays) {
        tn_json_key(&json, "arrays");
        tn_json_array(&json);
        for (size_t i = 0; i < tn_arrays_count(found->arrays); i++)
            tn_record_json(&array_record, tn_arrays_info(found->arrays, i), &json);
        tn_json_end(&json);
    }
    if (found->drawn) tn_json_put_count(&json, "seed", asked->seed);
    tn_json_key(&json, "checks");
    tn_record_rows(&check_record, found->checks.item, found->checks.count, &json);
    tn_json_put_bool(&json, "ok", !found->checks.failed && !found->nothing);
    tn_json_end(&json);
    return tn_output(&out, error);
}

static tn_status print_arrays(const tn_arrays *arrays, tn_error *error) {
    tn_table table;
    tn_record_head(&array_record, NULL, &table);
    for (size_t i = 0; i < tn_arrays_count(arrays); i++)
        tn_record_cells(&array_record, tn_arrays_info(arrays, i), NULL, &table);
    return tn_table_end(&table, error);
}

/* Every row, or with `failed` only those that do not hold. */
static tn_status print_checks(const tn_checks *checks, bool failed, tn_error *error) {
    tn_table table;
    tn_record_head(&check_record, NULL, &table);
    for (size_t i = 0; i < checks->count; i++)
        if (!failed || !checks->item[i].ok) tn_record_cells(&check_record, &checks->item[i], NULL, &table);
    return tn_table_end(&table, error);
}

static tn_status print_text(const request *asked, const answer_data *found, tn_error *error) {
    size_t held = 0;
    if (found->arrays) TN_TRY(print_arrays(found->arrays, error));
    if (found->nothing) tn_say("%s holds no design that fits; there is nothing to execute\n", asked->target);
    if (found->checks.count == 0) return TN_OK;
    bool many = found->checks.count > MOST_ROWS;
    double worst[2] = {0, 0};
    for (size_t i = 0; i < found->checks.count; i++) {
        const tn_check *check = &found->checks.item[i];
        held += check->ok;
        if (check->relative_error > worst[check->real]) worst[check->real] = check->relative_error;
    }
    if (!many || found->checks.failed) TN_TRY(print_checks(&found->checks, many, error));
    tn_say("%zu of %zu checks hold: executed multiply-adds and peak live elements as predicted, relative "
           "error at most "
           "%.1e in %s, %.1e in %s",
           held, found->checks.count, worst[0], tn_real_names[0], worst[1], tn_real_names[1]);
    if (found->drawn) tn_say(" (seed %llu)", (unsigned long long)asked->seed);
    tn_say("\n");
    return TN_OK;
}

static tn_status check_request(const request *asked, tn_error *error) {
    if ((asked->target != NULL) == (asked->path != NULL))
        return tn_fail(error, TN_INPUT,
                       "validate takes a sweep's folder, a model, or --case; see tenfold help validate");
    if ((asked->training || asked->micro_batches != 1) && !asked->path)
        return tn_fail(error, TN_INPUT, "--training and --micro-batches go with --case");
    if (asked->micro_batches != 1 && !asked->training)
        return tn_fail(error, TN_INPUT, "--micro-batches goes with --training");
    if (asked->point && (asked->path || !tn_is_folder(asked->target)))
        return tn_fail(error, TN_INPUT, "--point goes with the folder of a sweep");
    return TN_OK;
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    answer_data found = {0};
    asked->target = asked->common.argument[0];
    TN_TRY(check_request(asked, error));
    TN_TRY(tn_blas_room(error));
    tn_status status = validate(asked, &found, error);
    if (status == TN_OK)
        status = asked->common.json ? print_json(asked, &found, error) : print_text(asked, &found, error);
    *answer = found.checks.failed || found.nothing ? 1 : 0;
    tn_checks_free(&found.checks);
    tn_arrays_close(found.arrays);
    tn_arena_free(&found.arena);
    return status;
}

static const request defaults = {.seed = DEFAULT_SEED, .micro_batches = 1};
static const tn_option options[] = {
    {"--case", TN_INTO(request, path), "FOLDER",
     "a layer's cores, x and dy as array files; or one array file, which is read and listed"},
    {"--flow", TN_INTO(request, flow), "NAME",
     "with --case: this flow alone (all trees that have a name but cheapest-2 to -8)"},
    {"--training", TN_INTO(request, training), NULL,
     "with --case: also every flow of the front that `tenfold order --training` finds"},
    {"--micro-batches", TN_INTO(request, micro_batches), "N", "with --training: the rows in N parts (1)"},
    {"--point", TN_INTO(request, point), "ID|all",
     "with DIR: this design of the space, or all recommended ones (all)"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "override a key of the model; with --point: what if; repeatable"},
    {"--seed", TN_INTO(request, seed), "N", "of drawn values (1)"},
};

static const tn_column answer_keys[] = {
    TN_ANSWER_ROWS("arrays", array_record, TN_OPTIONAL),
    TN_ANSWER_KEY("seed", "integer", TN_OPTIONAL),
    TN_ANSWER_ROWS("checks", check_record),
    TN_ANSWER_KEY("ok", "boolean"),
};
static const tn_record answer_record = {.column = answer_keys,
                                        .columns = sizeof answer_keys / sizeof *answer_keys};

const tn_command tn_command_validate = {
    .name = "validate",
    .summary = "execute flows on this CPU: results, gradients, work and memory against the prediction",
    .usage = "DIR [--point ID|all]\nDIR --point ID --set KEY=VALUE...\nMODEL [--set KEY=VALUE]...\n--case "
             "FOLDER|FILE [--flow NAME] [--training "
             "[--micro-batches N]]",
    .arguments = {0, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
