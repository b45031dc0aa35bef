/* tenfold plot DIR */
#include "cli/cmd_roofline.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/summary.h"
#include "explore/result.h"
#include "plot/sweep_figures.h"

#include <string.h>

typedef struct {
    const char *folder, *format, *gpu;
    double epsilon;
    tn_common common;
} request;

static tn_status draw(const request *asked, tn_arena *arena, tn_error *error) {
    static const tn_option_list none;
    tn_sweep_figure_options options = {.epsilon = asked->epsilon};
    tn_roofline *gpu = NULL;
    tn_result result;
    const char *path[TN_SWEEP_FIGURES];
    size_t count;
    if (!(asked->epsilon >= 0 && asked->epsilon <= 1000))
        return tn_fail(error, TN_INPUT, "--thin %g; it is the share that a design may be worse, 0 to 1000",
                       asked->epsilon);
    TN_TRY(tn_figure_format_find(asked->format, &options.format, error));
    if (strcmp(asked->gpu, "none") != 0) TN_TRY(tn_roofline_load(asked->gpu, &none, arena, &gpu, error));
    options.gpu = gpu;
    TN_TRY(tn_result_load(asked->folder, arena, &result, error));
    tn_print_incomplete(&result, true);
    TN_TRY(tn_sweep_figures(&result, &options, arena, path, &count, error));
    return tn_output_names("figures", path, count, asked->common.json, error);
}

static tn_status run(const tn_command *command, int argc, char **argv, int *answer, tn_error *error) {
    request asked = {.format = "png", .gpu = "rtx3090", .epsilon = 0.02};
    const tn_option options[] = {
        {"--format", TN_OPTION_TEXT, &asked.format, "png|svg|pdf", "picture format; default png"},
        {"--thin", TN_OPTION_REAL, &asked.epsilon, "EPS",
         "leave out designs of the front that a drawn one equals within this share; default 0.02, 0 draws "
         "all"},
        {"--gpu", TN_OPTION_TEXT, &asked.gpu, "DEVICE",
         "roofline device to mark in the front, or none; default rtx3090"},
    };
    enum { OPTIONS = sizeof options / sizeof *options };
    size_t given;
    (void)answer;
    TN_TRY(tn_options_read(command, options, OPTIONS, argc, argv, 1, 1, &asked.folder, &given, &asked.common,
                           error));
    if (asked.common.help) {
        tn_options_usage(command, options, OPTIONS);
        return TN_OK;
    }
    tn_arena arena = {0};
    tn_status status = draw(&asked, &arena, error);
    tn_arena_free(&arena);
    return status;
}

const tn_command tn_command_plot = {
    .name = "plot",
    .summary = "draw the figures of a sweep",
    .usage = "DIR [--format png|svg|pdf] [--thin EPS] [--gpu DEVICE|none]",
    .run = run,
};
