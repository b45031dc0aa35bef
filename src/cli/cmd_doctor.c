/* tenfold doctor */
#include "base/child.h"
#include "base/search_path.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "text/onnx.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is there or not: an outside program that some command, a test or a reader of results runs; a library, of this
 * build or of Python. */
typedef struct {
    const char *name, *version, *path, *purpose, *loss, *install;
    bool found;
} finding;

/* ---- programs ---- */

typedef struct {
    const char *name, *purpose, *loss, *package; /* the package's name in Debian */
    const char *version_option;
} tool;
static const tool tools[] = {
    {"gnuplot", "figures: plot, --plot, ranks -o", "--format csv writes the numbers; report draws its own",
     "gnuplot-nox", "--version"},
    {"verilator", "rtl --simulate", "rtl writes the hardware, for any simulator", "verilator", "--version"},
    {"make", "rtl --simulate, --synthesise", "run the commands in the Makefile of OUT by hand", "make",
     "--version"},
    {"g++", "rtl --simulate", "rtl writes the hardware, for any simulator", "g++", "--version"},
    {"yosys", "rtl --synthesise", "rtl predicts the resources; the vendor's tools count them", "yosys", "-V"},
    {"sbatch", "a sweep's shards on a cluster", "slurm writes a list for GNU parallel and a plain loop too",
     "slurm-client", "--version"},
    {"parallel", "a sweep's shards on machines without Slurm", "slurm writes a plain loop too", "parallel",
     "--version"},
    {"sqlite3", "asking sweep.db by hand", "query, or Python's sqlite3", "sqlite3", "--version"},
    {"python3", "reading results and cores by scripts", "query --csv, export", "python3", "--version"},
    {"chromium", "the test of report's pages", "any browser shows them; the test says that it was skipped",
     "chromium", "--version"},
};
enum { TOOLS = sizeof tools / sizeof *tools };

/* Where PATH has it, or NULL. */
static tn_status locate(const char *name, tn_arena *arena, const char **path, tn_error *error) {
    const char *folders = getenv("PATH");
    *path = NULL;
    for (const char *cursor = folders ? folders : ""; *cursor;) {
        size_t length = strcspn(cursor, ":");
        const char *tried;
        TN_TRY(tn_arena_format(arena, &tried, error, "%.*s/%s", (int)length, cursor, name));
        if (length && access(tried, X_OK) == 0) {
            *path = tried;
            return TN_OK;
        }
        cursor += length + (cursor[length] == ':');
    }
    return TN_OK;
}

/* What of the line at `said` is a version: its first word that begins with a digit, without punctuation behind it. */
static tn_status find_version(const char *said, tn_arena *arena, const char **version, tn_error *error) {
    size_t line = strcspn(said, "\n"), index = 0;
    while (index < line &&
           !(said[index] >= '0' && said[index] <= '9' && (index == 0 || said[index - 1] == ' ')))
        index++;
    size_t length = strspn(said + index, "0123456789.+-abcdefghijklmnopqrstuvwxyz");
    return length ? tn_arena_copy_text(arena, said + index, length, version, error) : TN_OK;
}

/* Runs a program that says something; `hear` makes of it what is looked for. One that can't be started says nothing. */
typedef tn_status hearing(const char *said, tn_arena *arena, void *result, tn_error *error);

static tn_status ask(const char *const *argument, hearing *hear, void *result, tn_arena *arena,
                     tn_error *error) {
    tn_child child;
    tn_status status = tn_child_run(&child, NULL, argument, error);
    if (status == TN_OK) status = hear(child.out.data ? child.out.data : "", arena, result, error);
    tn_child_free(&child);
    return status == TN_MEMORY || status == TN_INTERRUPTED ? status : TN_OK;
}

static tn_status hear_version(const char *said, tn_arena *arena, void *result, tn_error *error) {
    finding *found = result;
    return find_version(said, arena, &found->version, error);
}

static tn_status look_for(const tool *program, tn_arena *arena, finding *found, tn_error *error) {
    const char *const argument[] = {program->name, program->version_option, NULL};
    *found = (finding){.name = program->name, .purpose = program->purpose, .loss = program->loss};
    TN_TRY(locate(program->name, arena, &found->path, error));
    found->found = found->path != NULL;
    if (!found->found)
        return tn_arena_format(arena, &found->install, error, "apt install %s", program->package);
    return ask(argument, hear_version, found, arena, error);
}

/* ---- libraries ---- */

/* Those that this build may have, then modules of the python3 on PATH. */
static const finding libraries[] = {
    {.name = "protobuf-c",
     .purpose = "ONNX files: model, ranks --weights",
     .loss = ".safetensors, .npz and .npy are read",
     .install = "apt install libprotobuf-c-dev protobuf-c-compiler, then build anew"},
    {.name = "numpy",
     .purpose = "cores.py, which reads cores that ranks wrote",
     .loss = "any reader of .npz or .safetensors",
     .install = "apt install python3-numpy"},
    {.name = "pandas",
     .purpose = "results as data frames",
     .loss = "Python's csv and sqlite3 read them",
     .install = "apt install python3-pandas"},
    {.name = "torch",
     .purpose = "cores.py's layers to train",
     .loss = "train, or NumPy",
     .install = "pip install torch"},
};
enum { LIBRARIES = sizeof libraries / sizeof *libraries, MODULES_FROM = 1 };

/* Versions by what is installed, without importing anything, which takes seconds. */
static const char ask_python[] = "import importlib.metadata as m, sys\n"
                                 "for name in sys.argv[1:]:\n"
                                 "    try: print(name, m.version(name))\n"
                                 "    except m.PackageNotFoundError: print(name)\n";

/* A line for each module in the order asked: its name, and its version where it is there. */
static tn_status hear_modules(const char *said, tn_arena *arena, void *result, tn_error *error) {
    finding *found = result;
    for (size_t i = MODULES_FROM; i < LIBRARIES && *said; i++) {
        size_t line = strcspn(said, "\n"), name = strlen(found[i].name);
        found[i].found = line > name;
        if (found[i].found) TN_TRY(find_version(said, arena, &found[i].version, error));
        said += line + (said[line] == '\n');
    }
    return TN_OK;
}

static tn_status look_for_libraries(finding *found, tn_arena *arena, tn_error *error) {
    const char *argument[4 + LIBRARIES] = {"python3", "-c", ask_python};
    memcpy(found, libraries, sizeof libraries);
    found[0].version = tn_onnx_library();
    found[0].found = found[0].version != NULL;
    for (size_t i = MODULES_FROM; i < LIBRARIES; i++) argument[3 + i - MODULES_FROM] = found[i].name;
    TN_TRY(ask(argument, hear_modules, found, arena, error));
    for (size_t i = 0; i < LIBRARIES; i++)
        if (found[i].found) found[i].install = NULL;
    return TN_OK;
}

/* ---- output ---- */

#define FINDING_COLUMNS(called)                                                                              \
    TN_COLUMN_AS(called, finding, name, called), TN_COLUMN(finding, found, "found"),                         \
        TN_COLUMN(finding, version, "version"), TN_COLUMN(finding, path, NULL),                              \
        TN_COLUMN(finding, purpose, "for"), TN_COLUMN_AS("without", finding, loss, "without it"),            \
        TN_COLUMN(finding, install, "to install")
static const tn_column program_columns[] = {FINDING_COLUMNS("program")};
static const tn_column library_columns[] = {FINDING_COLUMNS("library")};
static const tn_record program_record = TN_RECORD(finding, program_columns);
static const tn_record library_record = TN_RECORD(finding, library_columns);

typedef struct {
    const char *version, *data;
    finding program[TOOLS], optional[LIBRARIES];
    size_t programs, libraries;
    bool ok;
} answer_of;
static const tn_column answer_columns[] = {
    TN_COLUMN(answer_of, version, NULL),
    TN_COLUMN(answer_of, data, NULL),
    TN_ROWS_IN("programs", answer_of, program, programs, program_record, NULL),
    TN_ROWS_IN("libraries", answer_of, optional, libraries, library_record, NULL),
    TN_COLUMN(answer_of, ok, NULL),
};
static const tn_record answer_record = TN_RECORD(answer_of, answer_columns);

static bool all_found(const finding *found, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!found[i].found) return false;
    return true;
}

static tn_status print_people(const answer_of *all, tn_error *error) {
    TN_TRY(tn_output_rows(&program_record, all->program, all->programs, error));
    tn_say("\n");
    TN_TRY(tn_output_rows(&library_record, all->optional, all->libraries, error));
    tn_say("\ntenfold %s; its data files are %s\n", all->version,
           all->data ? "found" : "not found: set TENFOLD_PATH");
    if (!all->ok) tn_say("Whatever is missing, all commands work but for what stands beside it.\n");
    return TN_OK;
}

static tn_status answer(void *asked, int *exit_status, tn_error *error) {
    tn_common *common = asked;
    answer_of all = {.version = TENFOLD_VERSION, .programs = TOOLS, .libraries = LIBRARIES};
    (void)exit_status;
    for (size_t i = 0; i < TOOLS; i++) TN_TRY(look_for(&tools[i], &common->arena, &all.program[i], error));
    TN_TRY(look_for_libraries(all.optional, &common->arena, error));
    all.ok = all_found(all.program, TOOLS) && all_found(all.optional, LIBRARIES);
    tn_status status = tn_search_path_find_file("plots", "front.gp", &common->arena, &all.data, error);
    if (status == TN_MEMORY) return status;
    if (status != TN_OK) all.data = NULL;
    return common->json ? tn_output_json(&answer_record, &all, error) : print_people(&all, error);
}

const tn_command tn_command_doctor = {
    .name = "doctor",
    .summary = "which outside programs and libraries are there, what for, and what to do without",
    .usage = "",
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
