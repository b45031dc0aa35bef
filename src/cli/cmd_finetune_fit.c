/* tenfold finetune fit DATA.csv: a throughput law for every group of measurements. */
#include "base/interrupt.h"
#include "cli/cmd_finetune.h"
#include "cli/output.h"
#include "cli/watch.h"
#include "finetune/law.h"
#include "plot/finetune_figures.h"
#include "text/number.h"
#include "text/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    double batch, sparsity; /* sparsity 0: every one that was measured */
} query_point;

typedef struct {
    const char *law_name, *gpu, *model, *dataset, *plot;
    double c3;
    tn_option_list at;
    tn_common common;
    tn_law_choice choice;
    size_t places;
    query_point *place;
    tn_finetune_data data;
    tn_finetune_study *study; /* one a group */
    tn_finetune_law *law;     /* the chosen one */
    tn_finetune_data refused; /* the groups that determine no law, and why */
    const char **why;
    tn_error first; /* the first of them in full */
} request;

static const tn_finetune_fit *fit_of(const request *r, size_t group) {
    return &r->study[group].fit[r->law[group]];
}

/* --- --at BATCH[:SPARSITY] */

static tn_status read_place(const char *text, tn_arena *arena, query_point *to, tn_error *error) {
    const char *colon = strchr(text, ':'), *batch;
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    TN_TRY(tn_arena_copy_text(arena, text, length, &batch, error));
    bool good = tn_read_real(batch, &to->batch) == TN_NUMBER_OK && to->batch >= 1 && to->batch <= 1e9;
    if (good && colon)
        good = tn_read_real(colon + 1, &to->sparsity) == TN_NUMBER_OK && to->sparsity >= 1e-6 &&
               to->sparsity <= 1;
    if (good) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "--at takes BATCH or BATCH:SPARSITY, a batch from 1 to 1e9 and a sparsity up to 1, not '%.60s'",
        text);
}

static tn_status read_places(request *r, tn_arena *arena, tn_error *error) {
    TN_TRY(tn_arena_alloc(arena, r->at.count, sizeof *r->place, &r->place, error));
    for (size_t i = 0; i < r->at.count; i++) TN_TRY(read_place(r->at.item[i], arena, &r->place[i], error));
    r->places = r->at.count;
    return TN_OK;
}

/* The sparsities of a group in the order of their first points, `most` at most. */
static size_t sparsities(const tn_finetune_group *group, double *sparsity, size_t most) {
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        size_t j = 0;
        while (j < count && sparsity[j] != group->point[i].sparsity) j++;
        if (j == count && count < most) sparsity[count++] = group->point[i].sparsity;
    }
    return count;
}
enum { MOST_SPARSITIES = 64 };

/* --- JSON */

static void put_coefficients(tn_json *json, const tn_finetune_fit *fit) {
    int count = tn_finetune_coefficients(fit->law);
    tn_json_key(json, "coefficients");
    tn_json_object(json);
    for (int i = 0; i < count; i++)
        tn_json_put_real(json, tn_finetune_coefficient_name(fit->law, i), fit->coefficient[i].value);
    tn_json_end(json);
    tn_json_key(json, "intervals");
    tn_json_object(json);
    for (int i = 0; i < count; i++)
        tn_json_put_interval(json, tn_finetune_coefficient_name(fit->law, i), &fit->coefficient[i]);
    tn_json_end(json);
    tn_json_key(json, "undetermined");
    tn_json_array(json);
    for (int i = 0; i < count; i++)
        if (!fit->determined[i]) tn_json_text(json, tn_finetune_coefficient_name(fit->law, i));
    tn_json_end(json);
}

static void put_throughput(tn_json *json, const tn_finetune_fit *fit, double batch, double sparsity) {
    tn_finetune_interval at = tn_finetune_fitted(fit, batch, sparsity);
    tn_json_object(json);
    tn_json_put_real(json, "sparsity", sparsity);
    tn_json_put_real(json, "batch_size", batch);
    tn_json_put_real(json, "queries_per_s", at.value);
    tn_json_put_interval(json, "interval", &at);
    tn_json_end(json);
}

static void put_places(tn_json *json, const request *r, const tn_finetune_group *group,
                       const tn_finetune_fit *fit) {
    double sparsity[MOST_SPARSITIES];
    size_t count = sparsities(group, sparsity, MOST_SPARSITIES);
    tn_json_key(json, "at");
    tn_json_array(json);
    for (size_t i = 0; i < r->places; i++) {
        if (r->place[i].sparsity > 0) {
            put_throughput(json, fit, r->place[i].batch, r->place[i].sparsity);
            continue;
        }
        for (size_t j = 0; j < count; j++) put_throughput(json, fit, r->place[i].batch, sparsity[j]);
    }
    tn_json_end(json);
}

/* What the step law approaches as the batch grows; null for the log law. */
static void put_saturation(tn_json *json, const tn_finetune_group *group, const tn_finetune_fit *fit) {
    double sparsity[MOST_SPARSITIES];
    size_t count = sparsities(group, sparsity, MOST_SPARSITIES);
    tn_json_key(json, "saturation");
    tn_json_array(json);
    for (size_t i = 0; i < count; i++) {
        tn_json_object(json);
        tn_json_put_real(json, "sparsity", sparsity[i]);
        tn_json_put_real(json, "queries_per_s", tn_finetune_saturation(fit, sparsity[i]));
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void put_laws(tn_json *json, const tn_finetune_study *study) {
    tn_json_key(json, "laws");
    tn_json_array(json);
    for (int law = 0; law < TN_FINETUNE_LAWS; law++) {
        if (!study->fitted[law]) continue;
        tn_json_object(json);
        tn_json_put_text(json, "law", tn_finetune_law_name((tn_finetune_law)law));
        tn_json_put_real(json, "rmse", study->fit[law].rmse);
        tn_json_put_real(json, "relative_rmse", study->fit[law].relative_rmse);
        tn_json_put_real(json, "loo_rmse", study->cross[law].rmse);
        tn_json_put_real(json, "loo_relative_rmse", study->cross[law].relative_rmse);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void put_group(tn_json *json, const request *r, size_t place) {
    const tn_finetune_group *group = &r->data.group[place];
    const tn_finetune_study *study = &r->study[place];
    const tn_finetune_fit *fit = fit_of(r, place);
    tn_json_object(json);
    tn_json_put_text(json, "gpu", group->gpu);
    tn_json_put_text(json, "model", group->model);
    tn_json_put_text(json, "dataset", group->dataset);
    tn_json_put_text(json, "law", tn_finetune_law_name(fit->law));
    put_coefficients(json, fit);
    tn_json_put_real(json, "rmse", fit->rmse);
    tn_json_put_real(json, "relative_rmse", fit->relative_rmse);
    tn_json_put_count(json, "points", fit->points);
    tn_json_put_real(json, "loo_rmse", study->cross[fit->law].rmse);
    tn_json_put_real(json, "loo_relative_rmse", study->cross[fit->law].relative_rmse);
    tn_json_put_count(json, "loo_points", study->cross[fit->law].points);
    tn_json_put_bool(json, "one_sparsity", fit->one_sparsity);
    put_saturation(json, group, fit);
    put_laws(json, study);
    if (r->places) put_places(json, r, group, fit);
    tn_json_end(json);
}

static tn_status print_json(const request *r, tn_error *error) {
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_json_key(&json, "groups");
    tn_json_array(&json);
    for (size_t i = 0; i < r->data.count; i++) put_group(&json, r, i);
    tn_json_end(&json);
    tn_json_key(&json, "refused");
    tn_json_array(&json);
    for (size_t i = 0; i < r->refused.count; i++) {
        tn_json_object(&json);
        tn_json_put_text(&json, "gpu", r->refused.group[i].gpu);
        tn_json_put_text(&json, "model", r->refused.group[i].model);
        tn_json_put_text(&json, "dataset", r->refused.group[i].dataset);
        tn_json_put_text(&json, "why", r->why[i]);
        tn_json_end(&json);
    }
    tn_json_end(&json);
    tn_json_end(&json);
    return tn_output(&out, error);
}

/* --- Tables */

static void put_names(tn_table *table, const tn_finetune_group *group) {
    tn_table_text(table, group->gpu);
    tn_table_text(table, group->model);
    tn_table_text(table, group->dataset);
}

static void put_number(tn_table *table, double value) {
    if (isfinite(value))
        tn_table_format(table, "%.4g", value);
    else
        tn_table_text(table, "-");
}

static tn_status print_fits(const request *r, tn_error *error) {
    static const char *const head[] = {"gpu",      "model",      "dataset",      "law",       "points",
                                       "rmse q/s", "relative %", "left out q/s", "left out %"};
    enum { COLUMNS = sizeof head / sizeof *head };
    tn_table table;
    tn_table_head(&table, head, COLUMNS);
    for (size_t i = 0; i < r->data.count; i++) {
        const tn_finetune_fit *fit = fit_of(r, i);
        const tn_finetune_cross *cross = &r->study[i].cross[fit->law];
        put_names(&table, &r->data.group[i]);
        tn_table_text(&table, tn_finetune_law_name(fit->law));
        tn_table_count(&table, fit->points);
        put_number(&table, fit->rmse);
        put_number(&table, 100 * fit->relative_rmse);
        put_number(&table, cross->rmse);
        put_number(&table, 100 * cross->relative_rmse);
    }
    return tn_table_end(&table, error);
}

static tn_status print_coefficients(const request *r, tn_error *error) {
    static const char *const head[] = {"gpu",   "model", "dataset", "coefficient", "unit",
                                       "value", "from",  "to",      "by the data"};
    enum { COLUMNS = sizeof head / sizeof *head };
    tn_table table;
    tn_table_head(&table, head, COLUMNS);
    for (size_t i = 0; i < r->data.count; i++) {
        const tn_finetune_fit *fit = fit_of(r, i);
        for (int j = 0; j < tn_finetune_coefficients(fit->law); j++) {
            put_names(&table, &r->data.group[i]);
            tn_table_text(&table, tn_finetune_coefficient_name(fit->law, j));
            tn_table_text(&table, tn_finetune_coefficient_unit(fit->law, j));
            put_number(&table, fit->coefficient[j].value);
            put_number(&table, fit->coefficient[j].low);
            put_number(&table, fit->coefficient[j].high);
            tn_table_text(&table, fit->determined[j] ? "yes" : "no");
        }
    }
    return tn_table_end(&table, error);
}

static void put_place(tn_table *table, const tn_finetune_group *group, const tn_finetune_fit *fit,
                      double batch, double sparsity) {
    tn_finetune_interval at = tn_finetune_fitted(fit, batch, sparsity);
    put_names(table, group);
    put_number(table, batch);
    put_number(table, sparsity);
    put_number(table, at.value);
    put_number(table, at.low);
    put_number(table, at.high);
}

static tn_status print_places(const request *r, tn_error *error) {
    static const char *const head[] = {"gpu",      "model",     "dataset", "batch",
                                       "sparsity", "queries/s", "from",    "to"};
    enum { COLUMNS = sizeof head / sizeof *head };
    tn_table table;
    tn_table_head(&table, head, COLUMNS);
    for (size_t i = 0; i < r->data.count; i++) {
        const tn_finetune_group *group = &r->data.group[i];
        double sparsity[MOST_SPARSITIES];
        size_t count = sparsities(group, sparsity, MOST_SPARSITIES);
        for (size_t j = 0; j < r->places; j++) {
            const query_point *at = &r->place[j];
            if (at->sparsity > 0) put_place(&table, group, fit_of(r, i), at->batch, at->sparsity);
            for (size_t k = 0; k < count && at->sparsity == 0; k++)
                put_place(&table, group, fit_of(r, i), at->batch, sparsity[k]);
        }
    }
    return tn_table_end(&table, error);
}

static void print_notes(const request *r) {
    for (size_t i = 0; i < r->data.count; i++) {
        const tn_finetune_group *group = &r->data.group[i];
        const tn_finetune_fit *fit = fit_of(r, i);
        if (fit->one_sparsity)
            tn_say("%s, %s, %s: measured at sparsity %g only; how throughput depends on sparsity is not "
                   "determined\n",
                   group->gpu, group->model, group->dataset, fit->sparsity);
        if (fit->law == TN_FINETUNE_LOG && !fit->determined[TN_LOG_C3])
            tn_say("%s, %s, %s: only C2/C3 is determined; C3 = 1 by convention (--c3, or a model file of "
                   "that name)\n",
                   group->gpu, group->model, group->dataset);
        if (r->study[i].cross[fit->law].points == 0)
            tn_say("%s, %s, %s: too few measurements to leave one out\n", group->gpu, group->model,
                   group->dataset);
    }
}

static tn_status print_tables(const request *r, tn_error *error) {
    TN_TRY(print_fits(r, error));
    tn_say("\n95 %% intervals; a coefficient that the data do not determine stays near its prior:\n");
    TN_TRY(print_coefficients(r, error));
    if (r->places) {
        tn_say("\n");
        TN_TRY(print_places(r, error));
    }
    print_notes(r);
    return TN_OK;
}

/* --- The command */

/* Fits one group; one that determines no law is set aside with its reason. */
static tn_status fit_group(request *r, const tn_finetune_group *group, tn_arena *arena, tn_error *error) {
    size_t to = r->data.count;
    tn_error cause = {0};
    tn_status status =
        tn_study_and_choose(group, r->choice, r->c3, arena, &r->study[to], &r->law[to], &cause);
    if (status == TN_OK) r->data.group[r->data.count++] = *group;
    if (status != TN_OK && error) *error = cause;
    if (status != TN_INPUT || strcmp(cause.file, r->data.file) != 0) return status; /* a broken model file */
    if (r->refused.count == 0) r->first = cause;
    size_t length = strlen(cause.message);
    TN_TRY(tn_arena_copy_text(arena, cause.message, length, &r->why[r->refused.count], error));
    r->refused.group[r->refused.count++] = *group;
    return TN_OK;
}

static tn_status fit_groups(request *r, tn_arena *arena, tn_error *error) {
    const tn_finetune_data all = r->data;
    tn_watch watch;
    tn_status status = TN_OK;
    r->data.count = 0;
    TN_TRY(tn_arena_alloc(arena, all.count, sizeof *r->study, &r->study, error));
    TN_TRY(tn_arena_alloc(arena, all.count, sizeof *r->law, &r->law, error));
    TN_TRY(tn_arena_alloc(arena, all.count, sizeof *r->why, &r->why, error));
    TN_TRY(tn_arena_alloc(arena, all.count, sizeof *r->data.group, &r->data.group, error));
    TN_TRY(tn_arena_alloc(arena, all.count, sizeof *r->refused.group, &r->refused.group, error));
    tn_watch_begin(&watch, "groups", r->common.quiet);
    for (size_t i = 0; i < all.count && status == TN_OK; i++) {
        status = tn_interrupted()
                     ? tn_fail(error, TN_INTERRUPTED, "interrupted after %zu of %zu groups", i, all.count)
                     : fit_group(r, &all.group[i], arena, error);
        tn_progress_report(&watch.progress, i + 1, all.count);
    }
    tn_watch_end(&watch);
    return status;
}

/* What remains to say of groups that were set aside: the first one's error, and how many more there are. */
static tn_status report_refused(const request *r, tn_error *error) {
    if (r->refused.count == 0) return TN_OK;
    *error = r->first;
    if (r->refused.count > 1)
        tn_fail_at(error, TN_INPUT, r->refused.group[0].at, "%s; %zu more groups are refused", r->why[0],
                   r->refused.count - 1);
    return TN_INPUT;
}

static tn_status plot(const request *r, tn_arena *arena, tn_error *error) {
    const tn_finetune_fit **fit;
    TN_TRY(tn_arena_alloc(arena, r->data.count, sizeof *fit, &fit, error));
    for (size_t i = 0; i < r->data.count; i++) fit[i] = fit_of(r, i);
    return tn_finetune_throughput_figure(r->plot, &r->data, fit, error);
}

static tn_status answer_request(request *r, const char *path, tn_arena *arena, tn_error *error) {
    if (isnan(r->c3))
        r->c3 = 0;
    else
        TN_TRY(tn_need_positive("--c3", r->c3, 1e6, error));
    TN_TRY(tn_law_choice_find(r->law_name, &r->choice, error));
    TN_TRY(read_places(r, arena, error));
    TN_TRY(tn_finetune_load(path, arena, &r->data, error));
    TN_TRY(tn_finetune_keep(&r->data, r->gpu, r->model, r->dataset, error));
    TN_TRY(fit_groups(r, arena, error));
    if (r->data.count == 0) return report_refused(r, error);
    if (r->plot) TN_TRY(plot(r, arena, error));
    TN_TRY(r->common.json ? print_json(r, error) : print_tables(r, error));
    return report_refused(r, error);
}

static tn_status run(const tn_command *command, int argc, char **argv, int *answer, tn_error *error) {
    request r = {.law_name = "best", .c3 = NAN}; /* NAN: not given */
    const tn_option options[] = {
        {"--law", TN_OPTION_TEXT, &r.law_name, "log|step|best", "law; default best, by leave-one-out error"},
        {"--c3", TN_OPTION_REAL, &r.c3, "V", "C3 of the log law; default that of the model file, else 1"},
        {"--gpu", TN_OPTION_TEXT, &r.gpu, "NAME", "only this GPU"},
        {"--model", TN_OPTION_TEXT, &r.model, "NAME", "only this model"},
        {"--dataset", TN_OPTION_TEXT, &r.dataset, "NAME", "only this data set"},
        {"--at", TN_OPTION_LIST, &r.at, "BATCH[:SPARSITY]", "throughput there too; repeatable"},
        {"--plot", TN_OPTION_TEXT, &r.plot, "FILE", "figure, .png, .svg or .pdf"},
    };
    enum { OPTIONS = sizeof options / sizeof *options };
    const char *path;
    size_t given;
    (void)answer;
    TN_TRY(tn_options_read(command, options, OPTIONS, argc, argv, 1, 1, &path, &given, &r.common, error));
    if (r.common.help) {
        tn_options_usage(command, options, OPTIONS);
        return TN_OK;
    }
    tn_arena arena = {0};
    tn_status status = answer_request(&r, path, &arena, error);
    tn_arena_free(&arena);
    return status;
}

const tn_command tn_finetune_fit_command = {
    .name = "finetune fit",
    .summary = "fit a throughput law to measurements",
    .usage = "DATA.csv [--law log|step|best] [--c3 V]",
    .run = run,
};
