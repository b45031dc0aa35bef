/* tenfold finetune fit DATA.csv: a throughput law for every group of measurements. */
#include "base/interrupt.h"
#include "base/name_index.h"
#include "cli/cmd_finetune.h"
#include "cli/output.h"
#include "finetune/finetune_figures.h"
#include "finetune/language_model.h"
#include "finetune/law.h"
#include "text/number.h"

#include <math.h>
#include <string.h>

typedef struct {
    double batch, sparsity; /* sparsity 0: every one that was measured */
} query_point;

typedef struct {
    tn_common common;
    const char *law_name, *gpu, *model, *dataset, *plot;
    double c3;
    tn_option_list points;
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

/* --- Choosing a law. */

tn_status tn_law_choice_find(const char *name, tn_law_choice *choice, tn_error *error) {
    static const char *const names[] = {"best", "log", "step"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *choice = (tn_law_choice)i;
            return TN_OK;
        }
    char told[128];
    return tn_fail(error, TN_INPUT, "unknown law '%.60s'; %s", name,
                   tn_suggestion(name, names, 3, told, sizeof told));
}

tn_status tn_study_and_choose(const tn_finetune_group *group, tn_law_choice choice, double c3,
                              tn_arena *arena, tn_finetune_study *study, tn_finetune_law *law,
                              tn_error *error) {
    if (c3 == 0) {
        tn_language_model model;
        bool found;
        TN_TRY(tn_language_model_find(group->model, arena, &model, &found, error));
        if (found && model.published_at.line) c3 = model.published.c3;
    }
    TN_TRY(tn_finetune_study_group(group, c3, study, error));
    *law = choice == TN_LAW_LOG ? TN_FINETUNE_LOG : choice == TN_LAW_STEP ? TN_FINETUNE_STEP : study->best;
    if (study->fitted[*law]) return TN_OK;
    return tn_finetune_fit_group(group, *law, c3, &study->fit[*law], error);
}

static const tn_finetune_fit *fit_of(const request *r, size_t group) {
    return &r->study[group].fit[r->law[group]];
}

/* --- --at BATCH[:SPARSITY] */

static tn_status read_place(const char *text, tn_arena *arena, query_point *point, tn_error *error) {
    const char *colon = strchr(text, ':'), *batch;
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    TN_TRY(tn_arena_copy_text(arena, text, length, &batch, error));
    bool good =
        tn_read_real(batch, &point->batch) == TN_NUMBER_OK && point->batch >= 1 && point->batch <= 1e9;
    if (good && colon)
        good = tn_read_real(colon + 1, &point->sparsity) == TN_NUMBER_OK && point->sparsity >= 1e-6 &&
               point->sparsity <= 1;
    if (good) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "--at takes BATCH or BATCH:SPARSITY, a batch from 1 to 1e9 and a sparsity up to 1, not '%.60s'",
        text);
}

static tn_status read_places(request *r, tn_arena *arena, tn_error *error) {
    TN_TRY(TN_NEW(arena, r->points.count, &r->place, error));
    for (size_t i = 0; i < r->points.count; i++)
        TN_TRY(read_place(r->points.item[i], arena, &r->place[i], error));
    r->places = r->points.count;
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

/* --- Output: a row a group, and what it holds. */

typedef struct {
    const char *gpu, *model, *dataset;
    double sparsity, batch;
    tn_finetune_interval rate;
} place_row;

typedef struct {
    double sparsity, queries_per_s;
} saturation_row;

typedef struct {
    const char *law;
    double rmse, relative_rmse, loo_rmse, loo_relative_rmse;
} law_row;

typedef struct {
    const char *gpu, *model, *dataset, *coefficient, *unit;
    tn_finetune_interval value;
    bool determined;
} coefficient_row;

typedef struct {
    const char *gpu, *model, *dataset, *law;
    const tn_finetune_fit *fit;
    tn_finetune_cross cross; /* of the chosen law */
    double rmse, relative_rmse;
    size_t points;
    bool one_sparsity;
    size_t coefficients, saturations, laws, places;
    coefficient_row *coefficient;
    saturation_row *saturation;
    law_row law_of[TN_FINETUNE_LAWS];
    place_row *place;
} group_row;

typedef struct {
    const char *gpu, *model, *dataset, *why;
} refused_row;

typedef struct {
    group_row *group;
    refused_row *refused;
    size_t groups, refusals;
} answer_data;

static void put_coefficients(const void *row, tn_json *json) {
    const group_row *g = row;
    tn_json_object(json);
    for (size_t i = 0; i < g->coefficients; i++)
        tn_json_put_real(json, g->coefficient[i].coefficient, g->coefficient[i].value.value);
    tn_json_end(json);
}

static void put_intervals(const void *row, tn_json *json) {
    const group_row *g = row;
    tn_json_object(json);
    for (size_t i = 0; i < g->coefficients; i++)
        tn_json_put_interval(json, g->coefficient[i].coefficient, &g->coefficient[i].value);
    tn_json_end(json);
}

static void put_undetermined(const void *row, tn_json *json) {
    const group_row *g = row;
    tn_json_array(json);
    for (size_t i = 0; i < g->coefficients; i++)
        if (!g->coefficient[i].determined) tn_json_text(json, g->coefficient[i].coefficient);
    tn_json_end(json);
}

static const tn_column place_columns[] = {
    TN_COLUMN_AS(NULL, place_row, gpu, "gpu"),
    TN_COLUMN_AS(NULL, place_row, model, "model"),
    TN_COLUMN_AS(NULL, place_row, dataset, "dataset"),
    TN_COLUMN(place_row, sparsity, "sparsity"),
    TN_COLUMN_AS("batch_size", place_row, batch, "batch"),
    TN_COLUMN_AS("queries_per_s", place_row, rate.value, "examples/s"),
    TN_RANGE("interval", place_row, rate.low, "95 % interval"),
};
static const tn_record place_record = TN_RECORD(place_row, place_columns);

/* What the step law approaches as the batch grows; null for the log law. */
static const tn_column saturation_columns[] = {
    TN_COLUMN(saturation_row, sparsity, NULL),
    TN_COLUMN(saturation_row, queries_per_s, NULL),
};
static const tn_record saturation_record = TN_RECORD(saturation_row, saturation_columns);

static const tn_column law_columns[] = {
    TN_COLUMN(law_row, law, NULL),
    TN_COLUMN(law_row, rmse, NULL),
    TN_COLUMN(law_row, relative_rmse, NULL),
    TN_COLUMN(law_row, loo_rmse, NULL),
    TN_COLUMN(law_row, loo_relative_rmse, NULL),
};
static const tn_record law_record = TN_RECORD(law_row, law_columns);

static const tn_column coefficient_columns[] = {
    TN_COLUMN(coefficient_row, gpu, "gpu"),
    TN_COLUMN(coefficient_row, model, "model"),
    TN_COLUMN(coefficient_row, dataset, "dataset"),
    TN_COLUMN(coefficient_row, coefficient, "coefficient"),
    TN_COLUMN(coefficient_row, unit, "unit"),
    TN_COLUMN_AS("value", coefficient_row, value.value, "value"),
    TN_RANGE("interval", coefficient_row, value.low, "95 % interval"),
    TN_COLUMN(coefficient_row, determined, "by the data"),
};
static const tn_record coefficient_record = TN_RECORD(coefficient_row, coefficient_columns);

static const tn_column group_columns[] = {
    TN_COLUMN(group_row, gpu, "gpu"),
    TN_COLUMN(group_row, model, "model"),
    TN_COLUMN(group_row, dataset, "dataset"),
    TN_COLUMN(group_row, law, "law"),
    TN_WRITTEN("coefficients", put_coefficients, NULL),
    TN_WRITTEN("intervals", put_intervals, NULL),
    TN_WRITTEN("undetermined", put_undetermined, NULL),
    TN_COLUMN(group_row, rmse, "rmse, examples/s"),
    TN_COLUMN(group_row, relative_rmse, "relative", TN_IN("%", 100)),
    TN_COLUMN(group_row, points, "points"),
    TN_COLUMN_AS("loo_rmse", group_row, cross.rmse, "left out, examples/s"),
    TN_COLUMN_AS("loo_relative_rmse", group_row, cross.relative_rmse, "left out", TN_IN("%", 100)),
    TN_COLUMN_AS("loo_points", group_row, cross.points, NULL),
    TN_COLUMN(group_row, one_sparsity, NULL),
    TN_ROWS("saturation", group_row, saturation, saturations, saturation_record, NULL),
    {.key = "laws",
     .kind = TN_COLUMN_RECORD,
     .nested = &law_record,
     .list = true,
     .in_place = true,
     .offset = offsetof(group_row, law_of),
     TN_LENGTH(group_row, laws)},
    TN_ROWS("at", group_row, place, places, place_record, NULL, TN_OPTIONAL),
};
static const tn_record group_record = TN_RECORD(group_row, group_columns);

static const tn_column refused_columns[] = {
    TN_COLUMN(refused_row, gpu, NULL),
    TN_COLUMN(refused_row, model, NULL),
    TN_COLUMN(refused_row, dataset, NULL),
    TN_COLUMN(refused_row, why, NULL),
};
static const tn_record refused_record = TN_RECORD(refused_row, refused_columns);

static const tn_column answer_columns[] = {
    TN_ROWS("groups", answer_data, group, groups, group_record, NULL),
    TN_ROWS("refused", answer_data, refused, refusals, refused_record, NULL),
};
static const tn_record answer_record = TN_RECORD(answer_data, answer_columns);

static tn_status fill_places(const request *r, const tn_finetune_group *group, const double *sparsity,
                             size_t count, tn_arena *arena, group_row *g, tn_error *error) {
    TN_TRY(TN_NEW(arena, r->places * (count + 1), &g->place, error));
    for (size_t i = 0; i < r->places; i++) {
        const query_point *point = &r->place[i];
        for (size_t j = 0; j < (point->sparsity > 0 ? 1 : count); j++) {
            double chosen = point->sparsity > 0 ? point->sparsity : sparsity[j];
            g->place[g->places++] =
                (place_row){group->gpu, group->model, group->dataset,
                            chosen,     point->batch, tn_finetune_fitted(g->fit, point->batch, chosen)};
        }
    }
    return TN_OK;
}

static tn_status fill_group(const request *r, size_t place, tn_arena *arena, group_row *g, tn_error *error) {
    const tn_finetune_group *group = &r->data.group[place];
    const tn_finetune_study *study = &r->study[place];
    const tn_finetune_fit *fit = fit_of(r, place);
    double sparsity[MOST_SPARSITIES];
    *g = (group_row){group->gpu,
                     group->model,
                     group->dataset,
                     tn_finetune_law_name(fit->law),
                     fit,
                     study->cross[fit->law],
                     fit->rmse,
                     fit->relative_rmse,
                     fit->points,
                     fit->one_sparsity,
                     .coefficients = (size_t)tn_finetune_coefficients(fit->law)};
    TN_TRY(TN_NEW(arena, g->coefficients, &g->coefficient, error));
    for (int i = 0; i < (int)g->coefficients; i++)
        g->coefficient[i] = (coefficient_row){group->gpu,
                                              group->model,
                                              group->dataset,
                                              tn_finetune_coefficient_name(fit->law, i),
                                              tn_finetune_coefficient_unit(fit->law, i),
                                              fit->coefficient[i],
                                              fit->determined[i]};
    g->saturations = sparsities(group, sparsity, MOST_SPARSITIES);
    TN_TRY(TN_NEW(arena, g->saturations, &g->saturation, error));
    for (size_t i = 0; i < g->saturations; i++)
        g->saturation[i] = (saturation_row){sparsity[i], tn_finetune_saturation(fit, sparsity[i])};
    for (int law = 0; law < TN_FINETUNE_LAWS; law++)
        if (study->fitted[law])
            g->law_of[g->laws++] = (law_row){tn_finetune_law_name((tn_finetune_law)law), study->fit[law].rmse,
                                             study->fit[law].relative_rmse, study->cross[law].rmse,
                                             study->cross[law].relative_rmse};
    return fill_places(r, group, sparsity, g->saturations, arena, g, error);
}

static tn_status fill_answer(const request *r, tn_arena *arena, answer_data *a, tn_error *error) {
    *a = (answer_data){.groups = r->data.count, .refusals = r->refused.count};
    TN_TRY(TN_NEW(arena, a->groups, &a->group, error));
    TN_TRY(TN_NEW(arena, a->refusals, &a->refused, error));
    for (size_t i = 0; i < a->groups; i++) TN_TRY(fill_group(r, i, arena, &a->group[i], error));
    for (size_t i = 0; i < a->refusals; i++) {
        const tn_finetune_group *group = &r->refused.group[i];
        a->refused[i] = (refused_row){group->gpu, group->model, group->dataset, r->why[i]};
    }
    return TN_OK;
}

static tn_status print_coefficients(const answer_data *a, tn_error *error) {
    tn_table table;
    tn_record_head(&coefficient_record, NULL, &table);
    for (size_t i = 0; i < a->groups; i++)
        for (size_t j = 0; j < a->group[i].coefficients; j++)
            tn_record_cells(&coefficient_record, &a->group[i].coefficient[j], NULL, &table);
    return tn_table_end(&table, error);
}

static tn_status print_places(const answer_data *a, tn_error *error) {
    tn_table table;
    tn_record_head(&place_record, NULL, &table);
    for (size_t i = 0; i < a->groups; i++)
        for (size_t j = 0; j < a->group[i].places; j++)
            tn_record_cells(&place_record, &a->group[i].place[j], NULL, &table);
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

static tn_status print_answer(const request *r, tn_arena *arena, tn_error *error) {
    answer_data a;
    TN_TRY(fill_answer(r, arena, &a, error));
    if (r->common.json) return tn_output_json(&answer_record, &a, error);
    TN_TRY(tn_output_rows(&group_record, a.group, a.groups, error));
    tn_say("\n95 %% intervals; a coefficient that the data do not determine stays near its prior:\n");
    TN_TRY(print_coefficients(&a, error));
    if (r->places) tn_say("\n");
    if (r->places) TN_TRY(print_places(&a, error));
    print_notes(r);
    return TN_OK;
}

/* --- The command */

/* Fits one group; one that determines no law is set aside with its reason. */
static tn_status fit_group(request *r, const tn_finetune_group *group, tn_arena *arena, tn_error *error) {
    size_t target = r->data.count;
    tn_error cause = {0};
    tn_status status =
        tn_study_and_choose(group, r->choice, r->c3, arena, &r->study[target], &r->law[target], &cause);
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
    TN_TRY(TN_NEW(arena, all.count, &r->study, error));
    TN_TRY(TN_NEW(arena, all.count, &r->law, error));
    TN_TRY(TN_NEW(arena, all.count, &r->why, error));
    TN_TRY(TN_NEW(arena, all.count, &r->data.group, error));
    TN_TRY(TN_NEW(arena, all.count, &r->refused.group, error));
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
        tn_fail_at(error, TN_INPUT, r->refused.group[0].position, "%s; %zu more groups are refused",
                   r->why[0], r->refused.count - 1);
    return TN_INPUT;
}

static tn_status plot(const request *r, tn_arena *arena, tn_error *error) {
    const tn_finetune_fit **fit;
    TN_TRY(TN_NEW(arena, r->data.count, &fit, error));
    for (size_t i = 0; i < r->data.count; i++) fit[i] = fit_of(r, i);
    return tn_finetune_throughput_figure(r->plot, &r->data, fit, error);
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_arena *arena = &r->common.arena;
    (void)answer;
    if (isnan(r->c3))
        r->c3 = 0;
    else
        TN_TRY(tn_need_positive("--c3", r->c3, 1e6, error));
    TN_TRY(tn_law_choice_find(r->law_name, &r->choice, error));
    TN_TRY(read_places(r, arena, error));
    TN_TRY(tn_finetune_load(r->common.argument[0], arena, &r->data, error));
    TN_TRY(tn_finetune_keep(&r->data, r->gpu, r->model, r->dataset, error));
    TN_TRY(fit_groups(r, arena, error));
    if (r->data.count == 0) return report_refused(r, error);
    if (r->plot) TN_TRY(plot(r, arena, error));
    TN_TRY(print_answer(r, arena, error));
    return report_refused(r, error);
}

static const request defaults = {.law_name = "best", .c3 = NAN} /* NAN: not given */;
static const tn_option options[] = {
    {"--law", TN_INTO(request, law_name), "log|step|best", "law; default best, by leave-one-out error"},
    {"--c3", TN_INTO(request, c3), "V", "C3 of the log law; default that of the model file, else 1"},
    {"--gpu", TN_INTO(request, gpu), "NAME", "only this GPU"},
    {"--model", TN_INTO(request, model), "NAME", "only this model"},
    {"--dataset", TN_INTO(request, dataset), "NAME", "only this data set"},
    {"--at", TN_INTO(request, points), "BATCH[:SPARSITY]", "throughput there too; repeatable"},
    {"--plot", TN_INTO(request, plot), "FILE", "figure, .png, .svg or .pdf"},
};

const tn_command tn_finetune_fit_command = {
    .name = "finetune fit",
    .summary = "fit a throughput law to measurements",
    .usage = "DATA.csv [--law log|step|best] [--c3 V]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
