/* tenfold merge DIR... -o DIR */
#include "cli/commands.h"
#include "cli/output.h"
#include "results/merge.h"

#include <stdio.h>

enum { MOST_PARTS = 1024 };

typedef struct {
    tn_common common;
    const char *folder;
} request;

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_common *common = &r->common;
    tn_summary summary;
    const char *missing;
    if (!r->folder) return tn_fail(error, TN_INPUT, "merge needs -o DIR, the folder for the joined results");
    TN_TRY(tn_merge_folders(common->argument, common->arguments, r->folder, &common->arena, &summary,
                            &missing, error));
    *answer = summary.feasible && !missing ? 0 : 1;
    if (missing)
        tn_note("tenfold: %s: not the whole sweep: %s missing or unfinished; merge all of them into another "
                "folder",
                r->folder, missing);
    return tn_print_summary(&summary, r->folder, common->json, error);
}

static const tn_option options[] = {
    {"-o", TN_INTO(request, folder), "DIR", "folder for the joined results"},
};

const tn_command tn_command_merge = {
    .name = "merge",
    .summary = "join the results of a sweep's shards",
    .usage = "DIR... -o DIR",
    .arguments = {1, MOST_PARTS},
    TN_OPTIONS(options),
    TN_REQUEST(request, NULL),
    TN_ANSWERS(&tn_summary_record),
    .answer = answer,
};
