/* tenfold merge DIR... -o DIR */
#include "cli/commands.h"
#include "cli/summary.h"
#include "explore/merge.h"

#include <stdio.h>

enum { MOST_PARTS = 1024 };

static tn_status run(const tn_command *command, int argc, char **argv, int *answer, tn_error *error) {
    const char *part[MOST_PARTS], *folder = NULL;
    const tn_option options[] = {{"-o", TN_OPTION_TEXT, &folder, "DIR", "folder for the joined results"}};
    size_t parts;
    tn_common common = {0};
    TN_TRY(tn_options_read(command, options, 1, argc, argv, 1, MOST_PARTS, part, &parts, &common, error));
    if (common.help) {
        tn_options_usage(command, options, 1);
        return TN_OK;
    }
    if (!folder) return tn_fail(error, TN_INPUT, "merge needs -o DIR, the folder for the joined results");
    tn_arena arena = {0};
    tn_summary summary;
    const char *missing;
    tn_status status = tn_merge_folders(part, parts, folder, &arena, &summary, &missing, error);
    if (status == TN_OK) {
        *answer = summary.feasible && !missing ? 0 : 1;
        if (missing)
            fprintf(stderr,
                    "tenfold: %s: not the whole sweep: %s missing or unfinished; merge all of them into "
                    "another folder\n",
                    folder, missing);
        status = tn_print_summary(&summary, folder, common.json, error);
    }
    tn_arena_free(&arena);
    return status;
}

const tn_command tn_command_merge = {
    .name = "merge",
    .summary = "join the results of a sweep's shards",
    .usage = "DIR... -o DIR",
    .run = run,
};
