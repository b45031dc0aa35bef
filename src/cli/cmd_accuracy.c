/* tenfold accuracy SPACE --data FOLDER -o DIR */
#include "base/file.h"
#include "base/guard.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "learn/accuracy_study.h"
#include "learn/study_figures.h"
#include "space/space.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct request {
    tn_common common;
    const char *data, *folder, *shard, *format;
    uint64_t effort, seeds, threads;
    double sure, time;
    bool resume, plot;
    tn_option_list set, loss_weight;
} request;

enum { EFFORT = 64 };

/* In per cent beside an accuracy. */
static void spread_cell(const void *row, tn_buffer *cell) {
    const tn_study_row *r = row;
    if (isnan(r->spread))
        tn_buffer_text(cell, "-");
    else
        tn_buffer_format(cell, "%.3g", (isnan(r->perplexity) ? 100 : 1) * r->spread);
}

static const tn_column row_columns[] = {
    TN_COLUMN(tn_study_row, id, "first design"),
    TN_COLUMN(tn_study_row, parameters, "parameters"),
    TN_COLUMN(tn_study_row, epochs, "epochs"),
    TN_COLUMN(tn_study_row, seeds, "seeds"),
    TN_COLUMN(tn_study_row, collapsed, "collapsed"),
    TN_COLUMN(tn_study_row, accuracy, "accuracy", TN_PERCENT),
    TN_COLUMN(tn_study_row, perplexity, "perplexity", TN_FIXED(3)),
    TN_COLUMN(tn_study_row, spread, NULL),
    {.cell = spread_cell, .title = "spread", .kind = TN_COLUMN_TEXT},
    TN_COLUMN_AS("test_intent_accuracy", tn_study_row, test.intent_accuracy, "test intent", TN_PERCENT),
    TN_COLUMN_AS("test_slot_accuracy", tn_study_row, test.slot_accuracy, "slot", TN_PERCENT),
    TN_COLUMN_AS("test_slot_f1", tn_study_row, test.slot_f1, "F1", TN_PERCENT),
};
static const tn_record row_record = TN_RECORD(tn_study_row, row_columns);
static const tn_column study_columns[] = {
    TN_COLUMN(tn_study, combinations, NULL),
    TN_COLUMN(tn_study, epochs, NULL),
    TN_COLUMN(tn_study, sentences, NULL),
    TN_COLUMN(tn_study, recommended, NULL, TN_WHEN(tn_study, chosen)),
    TN_COLUMN(tn_study, probability, NULL),
    TN_COLUMN(tn_study, ended, NULL),
    TN_ROWS("rows", tn_study, row, count, row_record, NULL),
};
static const tn_record study_record = TN_RECORD(tn_study, study_columns);

static void report(void *user, uint64_t step, uint64_t steps, double loss, double rate) {
    (void)loss;
    (void)rate;
    tn_progress_report(&((tn_watch *)user)->progress, step, steps);
}

static tn_status read_shard(const char *text, tn_study_options *options, tn_error *error) {
    unsigned long long i = 0, n = 1;
    int read = 0;
    if (text && (sscanf(text, "%llu/%llu%n", &i, &n, &read) != 2 || text[read] || i == 0 || i > n))
        return tn_fail(error, TN_INPUT, "--shard %s; it is I/N with I from 1 to N", text);
    options->shard = text ? i - 1 : 0;
    options->shards = n;
    return TN_OK;
}

/* Takes `training.KEY=VALUE` out of what was asked to be set: keys of the runs, the others are the space's. */
static tn_status split_settings(request *asked, const char *const **of_space, size_t *count,
                                const char **training, tn_arena *arena, tn_error *error) {
    static const char prefix[] = "training.";
    const char **kept;
    tn_buffer text = {0};
    TN_TRY(TN_NEW(arena, asked->set.count + 1, &kept, error));
    *count = 0;
    for (size_t i = 0; i < asked->set.count; i++) {
        const char *item = asked->set.item[i], *equals = strchr(item, '=');
        if (!equals || strncmp(item, prefix, sizeof prefix - 1) != 0) {
            kept[(*count)++] = item;
            continue;
        }
        int length = (int)(equals - item) - (int)(sizeof prefix - 1);
        tn_buffer_format(&text, "%.*s: %s\n", length, item + sizeof prefix - 1, equals + 1);
    }
    *of_space = kept;
    *training = NULL;
    tn_status status = text.status;
    if (status == TN_OK && text.length)
        status = tn_arena_copy_text(arena, text.data, text.length, training, error);
    tn_buffer_free(&text);
    return status;
}

static tn_status decode_settings(const tn_model *model, const char *training, tn_arena *arena,
                                 tn_train_settings *settings, tn_error *error) {
    static const tn_yaml none = {.kind = TN_YAML_MAPPING};
    const tn_yaml *given = tn_model_training(model) ? tn_model_training(model) : &none;
    tn_yaml *override, *merged;
    if (!training) return tn_train_settings_decode(given, arena, settings, error);
    TN_TRY(tn_yaml_parse("--set", training, strlen(training), arena, &override, error));
    TN_TRY(tn_yaml_merge(given, override, arena, &merged, error));
    return tn_train_settings_decode(merged, arena, settings, error);
}

/* Settings of the runs as `tenfold train` takes them, for the table; the passes stand there on their own. */
static tn_status write_settings(const request *asked, tn_arena *arena, const char **text, tn_error *error) {
    tn_buffer out = {0};
    for (size_t i = 0; i < asked->loss_weight.count; i++)
        tn_buffer_format(&out, "%s--loss-weight %s", out.length ? " " : "", asked->loss_weight.item[i]);
    for (size_t i = 0; i < asked->set.count; i++)
        if (strncmp(asked->set.item[i], "training.", 9) == 0 &&
            strncmp(asked->set.item[i], "training.epochs=", 16) != 0 &&
            strncmp(asked->set.item[i], "training.seed=", 14) != 0)
            tn_buffer_format(&out, "%s--set %s", out.length ? " " : "", asked->set.item[i]);
    tn_status status = out.status;
    if (status == TN_OK)
        status = tn_arena_copy_text(arena, out.data ? out.data : "", out.length, text, error);
    tn_buffer_free(&out);
    return status;
}

static void say_end(const tn_study *study) {
    if (study->ended) tn_say("ended: %s\n", study->ended);
    if (study->chosen)
        tn_say("design %llu is the knee of the front in %.0f of 100 draws from what is known\n",
               (unsigned long long)study->recommended, 100 * study->probability);
}

static bool has_candidates(const char *folder) {
    char path[1024];
    snprintf(path, sizeof path, "%s/accuracy.csv", folder);
    FILE *file = fopen(path, "r");
    if (file) fclose(file);
    return file != NULL;
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    tn_arena *arena = &asked->common.arena;
    tn_space space;
    tn_study study;
    tn_watch watch;
    const char *const *set, *training;
    size_t sets;
    (void)answer;
    if (!asked->data || !asked->folder)
        return tn_fail(error, TN_INPUT, "accuracy needs --data FOLDER and -o DIR");
    if (asked->seeds == 0) return tn_fail(error, TN_INPUT, "--seeds 0; at least one is needed");
    if (!asked->resume && has_candidates(asked->folder))
        return tn_fail(error, TN_INPUT, "%s holds a study; --resume goes on with it", asked->folder);
    tn_figure_format format;
    TN_TRY(tn_figure_format_find(asked->format, &format, error));
    TN_TRY(tn_blas_room(error));
    tn_study_options options = {.folder = asked->folder,
                                .effort = asked->effort,
                                .seeds = asked->seeds,
                                .threads = (unsigned)(asked->threads < 256 ? asked->threads : 256),
                                .sure = asked->sure,
                                .seconds = asked->time};
    if (asked->sure < 0 || asked->sure > 1)
        return tn_fail(error, TN_INPUT, "--sure %g; it is a probability, 0 to 1", asked->sure);
    if ((asked->sure > 0 || asked->time > 0) && asked->effort == EFFORT) options.effort = UINT64_MAX;
    TN_TRY(read_shard(asked->shard, &options, error));
    TN_TRY(split_settings(asked, &set, &sets, &training, arena, error));
    TN_TRY(tn_space_load(asked->common.argument[0], set, sets, NULL, arena, &space, error));
    if (space.models > 1)
        return tn_fail(
            error, TN_INPUT,
            "the model is a choice of space %s; a study trains one: --set model=NAME on a space that "
            "names it",
            space.name);
    options.space_name = asked->common.argument[0];
    options.set = set;
    options.sets = sets;
    TN_TRY(write_settings(asked, arena, &options.settings, error));
    TN_TRY(decode_settings(space.model, training, arena, &options.settings_of_runs, error));
    for (size_t i = 0; i < asked->loss_weight.count; i++)
        TN_TRY(tn_train_settings_weight(&options.settings_of_runs, asked->loss_weight.item[i], arena, error));
    TN_TRY(tn_folder_make(asked->folder, error));
    tn_watch_begin(&watch, "steps of all candidates", asked->common.quiet);
    options.watch = (tn_training_watch){.report = report, .user = &watch};
    tn_status status = tn_accuracy_study(&space, asked->data, &options, arena, &study, error);
    tn_watch_end(&watch);
    TN_TRY(status);
    if (asked->plot) TN_TRY(tn_study_figures(asked->folder, &space, &study, format, error));
    if (asked->common.json) return tn_output_json(&study_record, &study, error);
    tn_say("%zu of %llu combinations, %llu epochs, seed %llu\n", study.count,
           (unsigned long long)study.combinations, (unsigned long long)study.epochs,
           (unsigned long long)options.settings_of_runs.seed);
    say_end(&study);
    return tn_output_rows(&row_record, study.row, study.count, error);
}

static const request defaults = {.effort = EFFORT, .seeds = 1, .threads = 1, .format = "png"};
static const tn_option options[] = {
    {"--data", TN_INTO(request, data), "FOLDER|FILE",
     "train, dev and test with seq.in, seq.out, label; or a text, byte by byte"},
    {"-o", TN_INTO(request, folder), "DIR", "folder of checkpoints and of accuracy.csv"},
    {"--effort", TN_INTO(request, effort), "EPOCHS",
     "to spend, all candidates together (64; none with --sure or --time)"},
    {"--seeds", TN_INTO(request, seeds), "N", "with which the candidates that begin are trained (1)"},
    {"--sure", TN_INTO(request, sure), "P",
     "end when the recommendation is settled with this probability (none)"},
    {"--time", TN_INTO(request, time), "SECONDS", "begin no training after these (none)"},
    {"--threads", TN_INTO(request, threads), "N", "candidates trained side by side (1)"},
    {"--shard", TN_INTO(request, shard), "I/N", "of the candidates that begin every N-th, from the I-th"},
    {"--resume", TN_INTO(request, resume), NULL, "go on with the study in DIR"},
    {"--plot", TN_INTO(request, plot), NULL, "draw accuracy by parameters and by epochs into DIR/figures"},
    {"--format", TN_INTO(request, format), "png|svg|pdf", "picture format of --plot (png)"},
    {"--loss-weight", TN_INTO(request, loss_weight), "NAME=FACTOR", "factor of a loss, slot=4 (repeatable)"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "override a key of the space or model, or training.KEY of the runs (repeatable)"},
};

static const tn_command *const parts[] = {&tn_accuracy_fit_command, &tn_accuracy_predict_command};

const tn_command tn_command_accuracy = {
    .name = "accuracy",
    .summary = "train what a space learns, where it changes the recommendation most; fit and predict what "
               "was measured",
    .usage = "SPACE --data FOLDER -o DIR [--effort EPOCHS] [--sure P] [--time SECONDS] [--resume]\n"
             "fit TABLE.csv [--leave-one-out]\n"
             "predict TABLE.csv --set KEY=VALUE...",
    TN_PARTS(parts),
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&study_record),
    .answer = answer,
};
