/* tenfold list models|devices|spaces|flows|formats|techniques */
#include "base/arena.h"
#include "base/search_path.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "flow/named.h"
#include "tensor/weight.h"

#include <string.h>

/* Files of a folder, or names that the program knows. */
typedef struct {
    const char *what, *folder;
    const char *const *names; /* ended by NULL */
} catalogue;

/* Training techniques that some command prices: `tenfold hardware training`, key `precision` of a model,
 * `tenfold order
 * --training` (what to keep and what to compute again). */
static const char *const techniques[] = {"in-place-transposition", "reduced-precision", "recomputation",
                                         NULL};

static const catalogue catalogues[] = {
    {"models", "models", NULL},     {"devices", "models/devices", NULL}, {"spaces", "spaces", NULL},
    {"flows", NULL, tn_flow_names}, {"formats", NULL, tn_format_names},  {"techniques", NULL, techniques},
};
enum { CATALOGUES = sizeof catalogues / sizeof *catalogues };

static tn_status find(const char *what, const catalogue **found, tn_error *error) {
    const char *names[CATALOGUES];
    for (size_t i = 0; i < CATALOGUES; i++) {
        names[i] = catalogues[i].what;
        if (strcmp(what, names[i]) == 0) {
            *found = &catalogues[i];
            return TN_OK;
        }
    }
    const char *near = tn_suggest(what, names, CATALOGUES);
    return tn_fail(error, TN_INPUT, "nothing called '%s' to list; %s%s", what,
                   near ? "did you mean " : "one of ",
                   near ? near : "models, devices, spaces, flows, formats, techniques");
}

static tn_status answer(void *asked, int *answer, tn_error *error) {
    tn_common *common = asked;
    const char *what = common->argument[0];
    const catalogue *wanted = NULL;
    size_t count = 0;
    (void)answer;
    TN_TRY(find(what, &wanted, error));
    const char *const *names = wanted->names;
    if (wanted->folder) {
        const char **files;
        TN_TRY(tn_search_path_list(wanted->folder, &common->arena, &files, &count, error));
        names = files;
    }
    while (!wanted->folder && names[count]) count++;
    return tn_output_names(what, names, count, common->json, error);
}

const tn_command tn_command_list = {
    .name = "list",
    .summary = "list what can be named: models, devices, spaces, flows, formats, techniques",
    .usage = "models|devices|spaces|flows|formats|techniques",
    .arguments = {1, 1},
    .answer = answer,
};
