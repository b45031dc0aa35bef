/* tenfold plot DIR */
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/summary.h"
#include "explore/result.h"
#include "plot/sweep_figures.h"

static tn_status draw(const char *folder, const char *format_name, bool json, tn_arena *arena,
                      tn_error *error) {
    tn_figure_format format;
    tn_result result;
    const char *path[TN_SWEEP_FIGURES];
    size_t count;
    TN_TRY(tn_figure_format_find(format_name, &format, error));
    TN_TRY(tn_result_load(folder, arena, &result, error));
    tn_print_incomplete(&result, true);
    TN_TRY(tn_sweep_figures(&result, format, arena, path, &count, error));
    return tn_output_names("figures", path, count, json, error);
}

static tn_status run(const tn_command *command, int argc, char **argv, int *answer, tn_error *error) {
    const char *folder, *format = "png";
    const tn_option options[] = {
        {"--format", TN_OPTION_TEXT, &format, "png|svg|pdf", "picture format; default png"}};
    size_t given;
    tn_common common = {0};
    (void)answer;
    TN_TRY(tn_options_read(command, options, 1, argc, argv, 1, 1, &folder, &given, &common, error));
    if (common.help) {
        tn_options_usage(command, options, 1);
        return TN_OK;
    }
    tn_arena arena = {0};
    tn_status status = draw(folder, format, common.json, &arena, error);
    tn_arena_free(&arena);
    return status;
}

const tn_command tn_command_plot = {
    .name = "plot",
    .summary = "draw the figures of a sweep",
    .usage = "DIR [--format png|svg|pdf]",
    .run = run,
};
