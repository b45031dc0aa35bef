/* tenfold plot DIR */
#include "cli/cmd_roofline.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/summary.h"
#include "explore/result.h"
#include "plot/sweep_figures.h"

#include <string.h>

typedef struct {
    tn_common common;
    const char *format, *gpu;
    double epsilon;
} request;

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    static const tn_option_list none;
    request *asked = request_asked;
    tn_arena *arena = &asked->common.arena;
    tn_sweep_figure_options drawn = {.epsilon = asked->epsilon};
    tn_roofline *gpu = NULL;
    tn_result result;
    const char *path[TN_SWEEP_FIGURES];
    size_t count;
    (void)answer;
    if (!(asked->epsilon >= 0 && asked->epsilon <= 1000))
        return tn_fail(error, TN_INPUT, "--thin %g; it is the share that a design may be worse, 0 to 1000",
                       asked->epsilon);
    TN_TRY(tn_figure_format_find(asked->format, &drawn.format, error));
    if (strcmp(asked->gpu, "none") != 0) TN_TRY(tn_roofline_load(asked->gpu, &none, arena, &gpu, error));
    drawn.gpu = gpu;
    TN_TRY(tn_result_load(asked->common.argument[0], arena, &result, error));
    tn_print_incomplete(&result, true);
    TN_TRY(tn_sweep_figures(&result, &drawn, arena, path, &count, error));
    return tn_output_names("figures", path, count, asked->common.json, error);
}

static const request defaults = {.format = "png", .gpu = "rtx3090", .epsilon = 0.02};
static const tn_option options[] = {
    {"--format", TN_INTO(request, format), "png|svg|pdf", "picture format; default png"},
    {"--thin", TN_INTO(request, epsilon), "EPS",
     "leave out designs of the front that a drawn one equals within this share; default 0.02, 0 draws all"},
    {"--gpu", TN_INTO(request, gpu), "DEVICE",
     "roofline device to mark in the front, or none; default rtx3090"},
};

const tn_command tn_command_plot = {
    .name = "plot",
    .summary = "draw the figures of a sweep",
    .usage = "DIR [--format png|svg|pdf] [--thin EPS] [--gpu DEVICE|none]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    .answer = answer,
};
