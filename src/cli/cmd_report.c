/* tenfold report DIR [--point ID] [-o FILE.html] */
#include "cli/cmd_recommend.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "plot/report.h"
#include "results/result.h"

#include <inttypes.h>

typedef struct {
    tn_common common;
    const char *point, *out;
} request;

static tn_status write_page(const tn_result *result, const uint64_t *about, const char *path, tn_arena *arena,
                            tn_error *error) {
    tn_report report = {.about = about};
    tn_buffer advice = {0};
    tn_status status = tn_recommend_default(result, arena, &report.advised, &advice, error);
    report.advice = advice.data;
    if (status == TN_OK) status = tn_report_write(result, &report, path, arena, error);
    tn_buffer_free(&advice);
    return status;
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    tn_arena *arena = &asked->common.arena;
    const char *path = asked->out;
    uint64_t id;
    tn_result result;
    if (asked->point) TN_TRY(tn_point_read(asked->point, &id, error));
    TN_TRY(tn_result_load(asked->common.argument[0], arena, &result, error));
    if (!asked->common.json) tn_print_incomplete(&result, true);
    if (result.front_count == 0) {
        if (!asked->common.json)
            tn_say("%s holds no design that fits; there is nothing to report\n", result.folder);
        *answer = 1;
        return asked->common.json ? tn_output_names("reports", NULL, 0, true, error) : TN_OK;
    }
    if (!path && asked->point)
        TN_TRY(tn_arena_format(arena, &path, error, "%s/report-%" PRIu64 ".html", result.folder, id));
    if (!path) TN_TRY(tn_arena_format(arena, &path, error, "%s/report.html", result.folder));
    TN_TRY(write_page(&result, asked->point ? &id : NULL, path, arena, error));
    return tn_output_names("reports", &path, 1, asked->common.json, error);
}

static const tn_option options[] = {
    {"--point", TN_INTO(request, point), "ID", "about this design; default the recommended one"},
    {"-o", TN_INTO(request, out), "FILE.html",
     "the page to write; default DIR/report.html, of another design DIR/report-ID.html"},
};

static const tn_column reports_keys[] = {
    TN_ANSWER_LIST("reports", "string"),
};
static const tn_record reports_record = {.column = reports_keys,
                                         .columns = sizeof reports_keys / sizeof *reports_keys};

const tn_command tn_command_report = {
    .name = "report",
    .summary = "write a sweep as one page of HTML to look through, send and print",
    .usage = "DIR [--point ID] [-o FILE.html]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, NULL),
    TN_ANSWERS(&reports_record),
    .answer = answer,
};
