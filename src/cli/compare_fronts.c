#include "cli/compare_fronts.h"

#include "base/file.h"
#include "cli/output.h"
#include "plot/scatter.h"
#include "results/dominance.h"
#include "text/csv.h"
#include "text/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A front as it is printed. */
typedef struct {
    const char *folder, *space, *model, *device;
    uint64_t designs, undominated;
    double share; /* of its designs, that nothing dominates */
} front_line;

/* How much of a front another one dominates. */
typedef struct {
    const char *covering, *covered;
    uint64_t designs;
    double share;
} coverage_line;

typedef struct {
    size_t sources;
    const tn_result *source;
    tn_dominance dominance;
    size_t coverages;
    front_line *front;
    coverage_line *coverage;  /* of every pair of fronts */
    const char *csv, *figure; /* paths; NULL: none */
} comparison;

static const tn_column front_columns[] = {
    TN_COLUMN(front_line, folder, "front"),
    TN_COLUMN(front_line, space, "space"),
    TN_COLUMN(front_line, model, "model"),
    TN_COLUMN(front_line, device, "device"),
    TN_COLUMN(front_line, designs, "designs"),
    TN_COLUMN(front_line, undominated, "dominated by none"),
    TN_COLUMN(front_line, share, "of its designs", TN_PERCENT),
};
static const tn_record front_record = TN_RECORD(front_line, front_columns);

static const tn_column coverage_columns[] = {
    TN_COLUMN_AS("by", coverage_line, covering, "front"),
    TN_COLUMN_AS("of", coverage_line, covered, "dominates of"),
    TN_COLUMN(coverage_line, designs, "designs"),
    TN_COLUMN(coverage_line, share, "of its front", TN_PERCENT),
};
static const tn_record coverage_record = TN_RECORD(coverage_line, coverage_columns);

/* ---- what is said ---- */

static double share_of(size_t part, size_t whole) {
    return whole ? (double)part / (double)whole : NAN;
}

static tn_status make_lines(comparison *compared, tn_arena *arena, tn_error *error) {
    const tn_dominance *d = &compared->dominance;
    TN_TRY(TN_NEW(arena, compared->sources, &compared->front, error));
    TN_TRY(TN_NEW(arena, compared->sources * compared->sources, &compared->coverage, error));
    for (size_t s = 0; s < compared->sources; s++) {
        const tn_space *space = compared->source[s].space;
        const char *model, *device;
        TN_TRY(tn_space_model_names(space, arena, &model, error));
        TN_TRY(tn_space_device_names(space, arena, &device, error));
        compared->front[s] = (front_line){.folder = compared->source[s].folder,
                                          .space = space->name,
                                          .model = model,
                                          .device = device,
                                          .designs = d->designs[s],
                                          .undominated = d->best[s],
                                          .share = share_of(d->best[s], d->designs[s])};
        for (size_t owner = 0; owner < compared->sources; owner++) {
            size_t covered = d->covered[s * compared->sources + owner];
            if (owner != s)
                compared->coverage[compared->coverages++] =
                    (coverage_line){.covering = compared->source[s].folder,
                                    .covered = compared->source[owner].folder,
                                    .designs = covered,
                                    .share = share_of(covered, d->designs[owner])};
        }
    }
    return TN_OK;
}

static double value_of(const tn_dominance *dominance, const tn_rival *rival, size_t objective) {
    return dominance->objective[objective]->maximise ? -rival->value[objective] : rival->value[objective];
}

/* ---- files ---- */

static tn_status write_csv(comparison *compared, const char *folder, tn_arena *arena, tn_error *error) {
    const tn_dominance *d = &compared->dominance;
    tn_buffer out = {0};
    static const char *const head[] = {"folder", "model", "device", "id"};
    for (int i = 0; i < 4; i++) tn_csv_put(&out, head[i]);
    for (size_t i = 0; i < d->objectives; i++) tn_csv_put(&out, d->objective[i]->name);
    tn_csv_put(&out, "dominated_by_folder");
    tn_csv_put(&out, "dominated_by_id");
    tn_csv_line(&out);
    for (size_t i = 0; i < d->count; i++) {
        const tn_rival *rival = &d->rival[i];
        const front_line *front = &compared->front[rival->source];
        const tn_space *own = tn_space_of(compared->source[rival->source].space, rival->row->id);
        tn_csv_put(&out, front->folder);
        tn_csv_put(&out, tn_model_name(own->model));
        tn_csv_put(&out, tn_device_name(own->device));
        tn_csv_put_count(&out, rival->row->id);
        for (size_t j = 0; j < d->objectives; j++) tn_csv_put_real(&out, value_of(d, rival, j));
        tn_csv_put(&out, rival->better ? compared->source[rival->better->source].folder : "");
        if (rival->better)
            tn_csv_put_count(&out, rival->better->row->id);
        else
            tn_csv_put(&out, "");
        tn_csv_line(&out);
    }
    TN_TRY(tn_arena_format(arena, &compared->csv, error, "%s/fronts.csv", folder));
    tn_status status = tn_file_write_buffer(compared->csv, &out, error);
    tn_buffer_free(&out);
    return status;
}

/* Of a path. */
static const char *last_name(const char *path) {
    const char *last = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' && c[1]) last = c + 1;
    return last;
}

/* The first two objectives; whether all values of one are positive says whether its axis is logarithmic. */
static tn_status draw(comparison *compared, const char *folder, tn_figure_format format, tn_arena *arena,
                      tn_error *error) {
    const tn_dominance *d = &compared->dominance;
    tn_scatter_point *point;
    const char **name, *path;
    size_t across = d->objectives > 1 ? 1 : 0;
    bool positive[2] = {true, true};
    TN_TRY(TN_NEW(arena, d->count, &point, error));
    TN_TRY(TN_NEW(arena, compared->sources, &name, error));
    for (size_t i = 0; i < d->count; i++) {
        const tn_rival *rival = &d->rival[i];
        point[i] = (tn_scatter_point){.x = value_of(d, rival, across),
                                      .y = value_of(d, rival, 0),
                                      .series = rival->source,
                                      .hollow = rival->better != NULL};
        positive[0] &= point[i].x > 0;
        positive[1] &= point[i].y > 0;
    }
    for (size_t s = 0; s < compared->sources; s++)
        TN_TRY(tn_arena_format(arena, &name[s], error, "%s (%s)", last_name(compared->front[s].folder),
                               compared->front[s].device));
    tn_scatter_axis axis[2];
    for (int a = 0; a < 2; a++) {
        TN_TRY(tn_scatter_axis_of(d->objective[a ? 0 : across]->name, arena, &axis[a], error));
        axis[a].log = positive[a];
    }
    const tn_scatter figure = {.heading =
                                   "fronts beside each other; open marks: designs that another one dominates",
                               .x = axis[0],
                               .y = axis[1],
                               .attained = true,
                               .marked = d->count,
                               .series = compared->sources,
                               .series_name = name,
                               .count = d->count,
                               .point = point};
    TN_TRY(tn_arena_format(arena, &path, error, "%s/fronts", folder));
    TN_TRY(tn_scatter_draw(&figure, path, format, TN_FIGURE_SCREEN, error));
    return tn_arena_format(arena, &compared->figure, error, "%s.%s", path, tn_figure_format_name(format));
}

/* ---- answers ---- */

static void put_design(const comparison *compared, const tn_rival *rival, tn_json *json) {
    const tn_dominance *d = &compared->dominance;
    tn_json_object(json);
    tn_json_put_text(json, "folder", compared->source[rival->source].folder);
    tn_json_put_count(json, "id", rival->row->id);
    for (size_t j = 0; j < d->objectives; j++)
        tn_json_put_real(json, d->objective[j]->name, value_of(d, rival, j));
    tn_json_key(json, "dominated_by");
    if (rival->better) {
        tn_json_object(json);
        tn_json_put_text(json, "folder", compared->source[rival->better->source].folder);
        tn_json_put_count(json, "id", rival->better->row->id);
        tn_json_end(json);
    } else {
        tn_json_null(json);
    }
    tn_json_end(json);
}

/* Fronts of different models train different things. */
static bool models_differ(const comparison *compared) {
    for (size_t s = 1; s < compared->sources; s++)
        if (strcmp(compared->front[s].model, compared->front[0].model) != 0) return true;
    return false;
}

static tn_status print_json(const comparison *compared, tn_error *error) {
    const tn_dominance *d = &compared->dominance;
    tn_buffer out = {0};
    tn_json json;
    tn_answer_begin(&json, &out);
    tn_json_key(&json, "objectives");
    tn_json_array(&json);
    for (size_t i = 0; i < d->objectives; i++) {
        tn_json_object(&json);
        tn_json_put_text(&json, "quantity", d->objective[i]->name);
        tn_json_put_text(&json, "direction", d->objective[i]->maximise ? "maximise" : "minimise");
        tn_json_end(&json);
    }
    tn_json_end(&json);
    tn_json_key(&json, "models_differ");
    tn_json_bool(&json, models_differ(compared));
    tn_json_key(&json, "fronts");
    tn_record_rows(&front_record, compared->front, compared->sources, &json);
    tn_json_key(&json, "coverage");
    tn_record_rows(&coverage_record, compared->coverage, compared->coverages, &json);
    tn_json_key(&json, "designs");
    tn_json_array(&json);
    for (size_t i = 0; i < d->count; i++) put_design(compared, &d->rival[i], &json);
    tn_json_end(&json);
    if (compared->csv) tn_json_put_text(&json, "csv", compared->csv);
    if (compared->figure) tn_json_put_text(&json, "figure", compared->figure);
    tn_json_end(&json);
    return tn_output(&out, error);
}

static void say_models_differ(const comparison *compared, FILE *stream) {
    if (!models_differ(compared)) return;
    fprintf(stream,
            "warning: the fronts are of different models (%s, %s): a design that dominates one of another "
            "model\ntrains something else; compare one model at a time, or by what they learn (accuracy)\n",
            compared->front[0].model, compared->front[1].model);
}

static tn_status print_people(const comparison *compared, tn_error *error) {
    const tn_dominance *d = &compared->dominance;
    tn_say("compared by");
    for (size_t i = 0; i < d->objectives; i++)
        tn_say("%s %s (%s)", i ? "," : "", tn_word_find(d->objective[i]->name)->title,
               d->objective[i]->maximise ? "more is better" : "less is better");
    tn_say("\n\n");
    TN_TRY(tn_output_rows(&front_record, compared->front, compared->sources, error));
    tn_say("\nwho dominates whom\n");
    TN_TRY(tn_output_rows(&coverage_record, compared->coverage, compared->coverages, error));
    if (compared->csv)
        tn_say("\nevery design, and one that dominates it: %s; figure: %s\n", compared->csv,
               compared->figure);
    else
        tn_say("\n-o DIR writes every design with one that dominates it, and draws them\n");
    return TN_OK;
}

tn_status tn_compare_fronts(tn_common *common, const tn_option_list *keys, const char *folder,
                            const char *format, int *answer, tn_error *error) {
    comparison compared = {.sources = common->arguments};
    tn_arena *arena = &common->arena;
    tn_figure_format picture;
    tn_result *source;
    TN_TRY(tn_figure_format_find(format, &picture, error));
    TN_TRY(TN_NEW(arena, compared.sources, &source, error));
    compared.source = source;
    for (size_t s = 0; s < compared.sources; s++) {
        TN_TRY(tn_result_load(common->argument[s], arena, &source[s], error));
        tn_print_incomplete(&source[s], true);
    }
    TN_TRY(tn_dominance_of(source, compared.sources, keys->item, keys->count, arena, &compared.dominance,
                           error));
    TN_TRY(make_lines(&compared, arena, error));
    *answer = compared.dominance.count == 0;
    if (!common->quiet) say_models_differ(&compared, stderr);
    if (folder && compared.dominance.count) {
        TN_TRY(tn_command_output(common, folder, error));
        TN_TRY(write_csv(&compared, folder, arena, error));
        TN_TRY(draw(&compared, folder, picture, arena, error));
    }
    return common->json ? print_json(&compared, error) : print_people(&compared, error);
}

static const tn_column objective_keys[] = {
    TN_ANSWER_KEY("quantity", "string"),
    TN_ANSWER_KEY("direction", "string"),
};
static const tn_record objective_record = {.column = objective_keys,
                                           .columns = sizeof objective_keys / sizeof *objective_keys};
static const tn_column compared_keys[] = {
    TN_ANSWER_ROWS("objectives", objective_record), TN_ANSWER_ROWS("fronts", front_record),
    TN_ANSWER_ROWS("coverage", coverage_record),    TN_ANSWER_LIST("designs", "object"),
    TN_ANSWER_KEY("models_differ", "boolean"),      TN_ANSWER_KEY("csv", "string", TN_OPTIONAL),
    TN_ANSWER_KEY("figure", "string", TN_OPTIONAL),
};
const tn_record tn_compared_fronts_record = {.column = compared_keys,
                                             .columns = sizeof compared_keys / sizeof *compared_keys};
