/* tenfold doctor */
#include "base/child.h"
#include "base/search_path.h"
#include "cli/commands.h"
#include "cli/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An outside program that some command runs, or that the tests or users of what is written run. */
typedef struct {
    const char *name, *purpose, *package; /* the package's name in Debian */
    const char *version_option;
} tool;
static const tool tools[] = {
    {"gnuplot", "figures: plot, --plot, ranks -o", "gnuplot-nox", "--version"},
    {"verilator", "rtl --simulate", "verilator", "--version"},
    {"make", "rtl --simulate, --synthesise", "make", "--version"},
    {"g++", "rtl --simulate", "g++", "--version"},
    {"yosys", "rtl --synthesise", "yosys", "-V"},
    {"sbatch", "running a sweep's shards on a cluster", "slurm-client", "--version"},
    {"sqlite3", "asking sweep.db by hand", "sqlite3", "--version"},
    {"python3", "reading results by scripts", "python3", "--version"},
    {"chromium", "the test of report's pages; any browser shows them", "chromium", "--version"},
};
enum { TOOLS = sizeof tools / sizeof *tools };

typedef struct {
    const char *program, *version, *path, *purpose, *install;
    bool found;
} finding;
static const tn_column columns[] = {
    TN_COLUMN(finding, program, "program"), TN_COLUMN(finding, found, "found"),
    TN_COLUMN(finding, version, "version"), TN_COLUMN(finding, path, NULL),
    TN_COLUMN(finding, purpose, "for"),     TN_COLUMN(finding, install, "to install"),
};
static const tn_record finding_record = TN_RECORD(finding, columns);

typedef struct {
    const char *version, *data;
    finding program[TOOLS];
    size_t programs, missing;
    bool ok;
} answer_of;
static const tn_column answer_columns[] = {
    TN_COLUMN(answer_of, version, NULL),
    TN_COLUMN(answer_of, data, NULL),
    TN_ROWS_IN("programs", answer_of, program, programs, finding_record, NULL),
    TN_COLUMN(answer_of, ok, NULL),
};
static const tn_record answer_record = TN_RECORD(answer_of, answer_columns);

/* Where PATH has it, or NULL. */
static tn_status locate(const char *name, tn_arena *arena, const char **path, tn_error *error) {
    const char *folders = getenv("PATH");
    *path = NULL;
    for (const char *at = folders ? folders : ""; *at;) {
        size_t length = strcspn(at, ":");
        const char *tried;
        TN_TRY(tn_arena_format(arena, &tried, error, "%.*s/%s", (int)length, at, name));
        if (length && access(tried, X_OK) == 0) {
            *path = tried;
            return TN_OK;
        }
        at += length + (at[length] == ':');
    }
    return TN_OK;
}

/* The first word of what it prints that begins with a digit, without punctuation behind it. */
static tn_status read_version(const tool *of, tn_arena *arena, const char **version, tn_error *error) {
    const char *const argument[] = {of->name, of->version_option, NULL};
    tn_child child;
    tn_status status = tn_child_run(&child, NULL, argument, error);
    if (status == TN_OK) {
        const char *said = child.out.data ? child.out.data : "";
        size_t line = strcspn(said, "\n"), at = 0;
        while (at < line && !(said[at] >= '0' && said[at] <= '9' && (at == 0 || said[at - 1] == ' '))) at++;
        size_t length = strspn(said + at, "0123456789.+-abcdefghijklmnopqrstuvwxyz");
        status = tn_arena_copy_text(arena, said + at, length, version, error);
    }
    tn_child_free(&child);
    return status;
}

static tn_status look_for(const tool *of, tn_arena *arena, finding *found, tn_error *error) {
    *found = (finding){.program = of->name, .purpose = of->purpose};
    TN_TRY(locate(of->name, arena, &found->path, error));
    found->found = found->path != NULL;
    if (!found->found) return tn_arena_format(arena, &found->install, error, "apt install %s", of->package);
    tn_status status = read_version(of, arena, &found->version, error);
    if (status == TN_MEMORY || status == TN_INTERRUPTED) return status;
    return TN_OK; /* one that can't be started is there without a version */
}

static tn_status answer(void *asked, int *exit_status, tn_error *error) {
    tn_common *common = asked;
    answer_of all = {.version = TENFOLD_VERSION, .programs = TOOLS};
    (void)exit_status;
    for (size_t i = 0; i < TOOLS; i++) {
        TN_TRY(look_for(&tools[i], &common->arena, &all.program[i], error));
        all.missing += !all.program[i].found;
    }
    all.ok = all.missing == 0;
    tn_status status = tn_search_path_find_file("plots", "front.gp", &common->arena, &all.data, error);
    if (status == TN_MEMORY) return status;
    if (status != TN_OK) all.data = NULL;
    if (common->json) return tn_output_json(&answer_record, &all, error);
    TN_TRY(tn_output_rows(&finding_record, all.program, TOOLS, error));
    tn_say("\ntenfold %s; its data files are %s\n", all.version,
           all.data ? "found" : "not found: set TENFOLD_PATH");
    if (all.missing) tn_say("Without the missing programs all commands work but what stands beside them.\n");
    return TN_OK;
}

const tn_command tn_command_doctor = {
    .name = "doctor",
    .summary = "which outside programs are there, what for, and how to get the others",
    .usage = "",
    .answer = answer,
};
