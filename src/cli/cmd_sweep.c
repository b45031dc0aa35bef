/* tenfold sweep SPACE -o DIR */
#include "base/interrupt.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "results/result.h"
#include "results/shortage.h"
#include "results/sweep.h"
#include "space/space.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    tn_common common;
    const char *folder, *shard, *epsilon, *time, *method;
    uint64_t threads, budget, seed;
    bool resume, repair, dry_run, keep_all, counts, buildable;
    tn_option_list set;
} request;

/* "I/N" */
static tn_status read_shard(const char *text, tn_sweep_options *options, tn_error *error) {
    char first[32];
    const char *slash = text ? strchr(text, '/') : NULL;
    if (!text) return TN_OK;
    bool good = slash && slash - text < (ptrdiff_t)sizeof first;
    if (good) {
        memcpy(first, text, (size_t)(slash - text));
        first[slash - text] = '\0';
        good = tn_read_count(first, &options->shard) == TN_NUMBER_OK &&
               tn_read_count(slash + 1, &options->shards) == TN_NUMBER_OK && options->shard >= 1 &&
               options->shard <= options->shards;
    }
    return good ? TN_OK
                : tn_fail(error, TN_INPUT, "--shard '%s' is no part of a whole; write I/N with I from 1 to N",
                          text);
}

static void show_first(const void *axis, tn_buffer *cell) {
    tn_axis_value(axis, 0, cell);
}

static void show_last(const void *axis, tn_buffer *cell) {
    tn_axis_value(axis, ((const tn_axis *)axis)->count - 1, cell);
}

static const tn_column axis_columns[] = {
    TN_COLUMN(tn_axis, key, "choice"),
    TN_COLUMN(tn_axis, count, "values"),
    TN_WRITTEN(NULL, NULL, "first", .cell = show_first),
    TN_WRITTEN(NULL, NULL, "last", .cell = show_last),
};
static const tn_record axis_record = TN_RECORD(tn_axis, axis_columns);

static void put_size(const void *space, tn_json *json) {
    tn_json_big(json, &((const tn_space *)space)->choices.size);
}

static const tn_column space_columns[] = {
    TN_COLUMN_AS("space", tn_space, name, NULL),
    TN_WRITTEN("designs", put_size, NULL, .type = "integer string"),
};
static const tn_record space_record = TN_RECORD(tn_space, space_columns);

static tn_status print_dry_run(const tn_space *space, bool json, tn_error *error) {
    char text[TN_BIG_TEXT];
    if (json) return tn_output_json(&space_record, space, error);
    TN_TRY(tn_output_rows(&axis_record, space->choices.axis, space->choices.count, error));
    tn_say("\n%s designs in space %s; nothing was evaluated (--dry-run)\n",
           tn_big_words(&space->choices.size, text), space->name);
    return TN_OK;
}

static tn_status read_amount(const char *option, const char *text, double most, double *amount,
                             tn_error *error) {
    if (text && (tn_read_real(text, amount) != TN_NUMBER_OK || !(*amount >= 0 && *amount <= most)))
        return tn_fail(error, TN_INPUT, "%s '%s' is no number from 0 to %g", option, text, most);
    return TN_OK;
}

static tn_status read_method(const char *text, tn_method *method, tn_error *error) {
    size_t count = 0;
    for (; tn_method_names[count]; count++)
        if (text && strcmp(text, tn_method_names[count]) == 0) {
            *method = (tn_method)count;
            return TN_OK;
        }
    if (!text) return TN_OK;
    char told[128];
    return tn_fail(error, TN_INPUT, "unknown --method '%.60s'; %s", text,
                   tn_suggestion(text, tn_method_names, count, told, sizeof told));
}

static tn_status sweep(const request *asked, const tn_space *space, tn_summary *summary, tn_error *error) {
    tn_sweep_options options = {.threads = (unsigned)asked->threads,
                                .budget = asked->budget,
                                .seed = asked->seed,
                                .resume = asked->resume,
                                .repair = asked->repair,
                                .keep_all = asked->keep_all,
                                .counts = asked->counts,
                                .command = asked->common.line};
    TN_TRY(read_shard(asked->shard, &options, error));
    TN_TRY(read_method(asked->method, &options.method, error));
    TN_TRY(read_amount("--epsilon", asked->epsilon, 1e6, &options.epsilon, error));
    TN_TRY(read_amount("--time", asked->time, 1e9, &options.seconds, error));
    options.has_epsilon = asked->epsilon != NULL;
    if (asked->time && options.seconds == 0)
        return tn_fail(error, TN_INPUT, "--time takes more than 0 seconds");
    tn_watch watch;
    tn_watch_begin(&watch, "designs", asked->common.quiet);
    tn_status status = tn_sweep_folder(space, &options, asked->folder, &watch.progress, summary, error);
    tn_watch_end(&watch);
    return status;
}

static tn_status check_request(const request *asked, tn_error *error) {
    if (asked->repair && !asked->resume)
        return tn_fail(error, TN_INPUT, "--repair goes with --resume: it mends what a folder holds already");
    if (asked->threads > 4096) return tn_fail(error, TN_INPUT, "--threads takes 1 to 4096");
    return TN_OK;
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    tn_arena *arena = &asked->common.arena;
    tn_space *space;
    tn_summary summary;
    tn_shortage shortage;
    TN_TRY(check_request(asked, error));
    TN_TRY(TN_NEW(arena, 1, &space, error));
    if (asked->buildable && asked->set.count == TN_OPTION_MOST)
        return tn_fail(error, TN_LIMIT, "--set is given more than %d times", TN_OPTION_MOST - 1);
    if (asked->buildable) asked->set.item[asked->set.count++] = "buildable=true";
    TN_TRY(tn_space_load(asked->common.argument[0], asked->set.item, asked->set.count, NULL, arena, space,
                         error));
    if (asked->dry_run) return print_dry_run(space, asked->common.json, error);
    if (!asked->folder) return tn_fail(error, TN_INPUT, "sweep needs -o DIR, the folder for its results");
    TN_TRY(sweep(asked, space, &summary, error));
    if (summary.front == 0 && summary.completion == TN_EXHAUSTED && !tn_interrupted()) {
        TN_TRY(tn_shortage_find(space, arena, &shortage, error));
        summary.shortage = &shortage;
    }
    TN_TRY(tn_print_summary(&summary, asked->folder, asked->common.json, error));
    if (summary.completion == TN_STOPPED || tn_interrupted())
        return tn_fail(
            error, TN_INTERRUPTED, "interrupted; what is finished lies in %s%s", asked->folder,
            strcmp(summary.method, tn_method_names[TN_ENUMERATE]) == 0 ? ", --resume goes on with it" : "");
    *answer = summary.feasible ? 0 : 1;
    return TN_OK;
}

static const request defaults = {.seed = 1};
static const tn_option options[] = {
    {"-o", TN_INTO(request, folder), "DIR", "folder for front.csv, recommended.csv, sweep.json, sweep.db"},
    {"--threads", TN_INTO(request, threads), "N", "threads; default: one per processor"},
    {"--shard", TN_INTO(request, shard), "I/N", "evaluate part I of N only; `tenfold merge` joins parts"},
    {"--resume", TN_INTO(request, resume), NULL, "go on with what DIR holds of this sweep"},
    {"--repair", TN_INTO(request, repair), NULL,
     "with --resume: evaluate anew what a damaged sweep.db can't be trusted in"},
    {"--dry-run", TN_INTO(request, dry_run), NULL, "count the designs and stop"},
    {"--buildable", TN_INTO(request, buildable), NULL,
     "leave out designs that `tenfold rtl` does not generate, before the front is found"},
    {"--keep-all", TN_INTO(request, keep_all), NULL, "keep every feasible design in sweep.db, table designs"},
    {"--count", TN_INTO(request, counts), NULL,
     "count why each design is rejected by its own bound, not by that of a set of designs; slower, the same "
     "front"},
    {"--budget", TN_INTO(request, budget), "N", "evaluate about N designs, drawn by the seed; default: all"},
    {"--seed", TN_INTO(request, seed), "S", "seed of the draw of --budget; default 1"},
    {"--epsilon", TN_INTO(request, epsilon), "E",
     "find the front by decomposition, each objective within a factor of 1 + E; 0: exact"},
    {"--time", TN_INTO(request, time), "SECONDS",
     "the best front that is found in that time, by the method that is likely to find most"},
    {"--method", TN_INTO(request, method), "NAME", "enumerate, decompose or evolve; default auto"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "override a key of the space file or of the model; repeatable"},
};

const tn_command tn_command_sweep = {
    .name = "sweep",
    .summary = "evaluate every design of a space and keep the Pareto front",
    .usage =
        "SPACE -o DIR [--threads N] [--shard I/N] [--resume [--repair]] [--dry-run] [--keep-all] [--count]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&tn_summary_record, &space_record),
    .answer = answer,
};
