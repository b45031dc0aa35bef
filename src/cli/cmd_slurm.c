/* tenfold slurm SPACE -o DIR --tasks N: a sweep in parts, as scripts for the engines that people have. */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "search/chunk.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TASKS_MOST = 10000 };

typedef struct {
    tn_common common;
    const char *folder, *partition, *account, *limit, *memory;
    uint64_t tasks, cpus;
    tn_option_list set;
} request;

/* What the scripts say. */
typedef struct {
    const request *asked;
    char *space, *folder; /* absolute: jobs start anywhere */
    const char *program, *path;
} scripts;

/* A word for the shell, whatever it holds. */
static void put_word(tn_buffer *out, const char *text) {
    tn_buffer_text(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            tn_buffer_text(out, "'\\''");
        else
            tn_buffer_bytes(out, text, 1);
    }
    tn_buffer_text(out, "'");
}

static void put_variables(const scripts *batch, tn_buffer *out) {
    tn_buffer_text(out, "tenfold=${TENFOLD:-");
    put_word(out, batch->program);
    tn_buffer_text(out, "}\nspace=");
    put_word(out, batch->space);
    tn_buffer_text(out, "\ndir=");
    put_word(out, batch->folder);
    tn_buffer_format(out, "\ntasks=%llu\n", (unsigned long long)batch->asked->tasks);
    if (!batch->path) return;
    tn_buffer_text(out, "export TENFOLD_PATH=${TENFOLD_PATH:-");
    put_word(out, batch->path);
    tn_buffer_text(out, "}\n");
}

static void put_set(const scripts *batch, tn_buffer *out) {
    for (size_t i = 0; i < batch->asked->set.count; i++) {
        tn_buffer_text(out, " --set ");
        put_word(out, batch->asked->set.item[i]);
    }
}

/* One part. A sweep that finds nothing feasible in it ends with 1, which is an answer and no failure. */
static void put_part(const scripts *batch, tn_buffer *out) {
    tn_buffer_text(out,
                   "#!/bin/sh\n"
                   "# One part of the sweep: part.sh I, from 1. Run again, it goes on where it stopped.\n");
    put_variables(batch, out);
    tn_buffer_text(
        out, "\"$tenfold\" sweep \"$space\" -o \"$dir/part-$1\" --shard \"$1/$tasks\" --resume --quiet \\\n"
             "    --threads \"${SLURM_CPUS_PER_TASK:-${THREADS:-1}}\"");
    put_set(batch, out);
    tn_buffer_text(
        out, "\nstatus=$?\n[ $status -eq 1 ] && exit 0  # no design of this part fits, which is an answer\n"
             "exit $status\n");
}

static void put_merge(const scripts *batch, tn_buffer *out) {
    tn_buffer_text(out, "#!/bin/sh\n# Joins the parts into the folder that one sweep would have written.\n");
    put_variables(batch, out);
    tn_buffer_text(
        out, "set --\ni=1\nwhile [ $i -le $tasks ]; do set -- \"$@\" \"$dir/part-$i\"; i=$((i + 1)); done\n"
             "exec \"$tenfold\" merge \"$@\" -o \"$dir/result\"\n");
}

static void put_option(tn_buffer *out, const char *name, const char *value) {
    if (value) tn_buffer_format(out, "#SBATCH --%s=%s\n", name, value);
}

static void put_common(const scripts *batch, tn_buffer *out) {
    put_option(out, "partition", batch->asked->partition);
    put_option(out, "account", batch->asked->account);
    put_option(out, "time", batch->asked->limit);
}

/* The array: a task that is killed is queued again by Slurm or, told to end at its time limit, by itself. */
static void put_array(const scripts *batch, tn_buffer *out) {
    tn_buffer_format(
        out,
        "#!/bin/sh\n#SBATCH --job-name=tenfold\n#SBATCH --array=1-%llu\n#SBATCH --cpus-per-task=%llu\n"
        "#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --signal=B:TERM@60\n"
        "#SBATCH --output=%s/log/part-%%a.log\n",
        (unsigned long long)batch->asked->tasks, (unsigned long long)batch->asked->cpus, batch->folder);
    put_option(out, "mem", batch->asked->memory);
    put_common(batch, out);
    put_variables(batch, out);
    tn_buffer_text(
        out, "sh \"$dir/part.sh\" \"$SLURM_ARRAY_TASK_ID\" &\npart=$!\n"
             "trap 'kill -TERM $(ps -o pid= --ppid $part) 2>/dev/null' TERM  # what is finished is kept\n"
             "wait $part || wait $part\nstatus=$?\n"
             "# Told to end before it was done, or killed, which does not help for ever: queue it again.\n"
             "if [ $status -eq 130 ] || { [ $status -gt 128 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt 5 ]; }; "
             "then\n"
             "    exec scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\nfi\nexit $status\n");
}

static void put_merge_job(const scripts *batch, tn_buffer *out) {
    tn_buffer_format(out, "#!/bin/sh\n#SBATCH --job-name=tenfold-merge\n#SBATCH --output=%s/log/merge.log\n",
                     batch->folder);
    put_common(batch, out);
    put_variables(batch, out);
    tn_buffer_text(out, "exec sh \"$dir/merge.sh\"\n");
}

static void put_submit(const scripts *batch, tn_buffer *out) {
    tn_buffer_text(
        out, "#!/bin/sh\n# Submits the array, and a job that merges its parts once all are done.\nset -e\n");
    put_variables(batch, out);
    tn_buffer_text(out,
                   "job=$(sbatch --parsable \"$dir/sweep.sbatch\")\n"
                   "merge=$(sbatch --parsable --dependency=\"afterok:${job%%;*}\" \"$dir/merge.sbatch\")\n"
                   "echo \"array $job of $tasks parts, then job $merge merges them into $dir/result\"\n");
}

static void put_parallel(const scripts *batch, tn_buffer *out) {
    tn_buffer_text(out, "#!/bin/sh\n# The parts under GNU parallel (its options may follow: -j 8, --sshlogin "
                        "...), then the merge.\nset -e\n");
    put_variables(batch, out);
    tn_buffer_text(
        out,
        "seq 1 $tasks | parallel --retries 3 \"$@\" sh \"$dir/part.sh\" {}\nexec sh \"$dir/merge.sh\"\n");
}

static void put_loop(const scripts *batch, tn_buffer *out) {
    tn_buffer_text(out, "#!/bin/sh\n# The parts one after the other, then the merge.\nset -e\n");
    put_variables(batch, out);
    tn_buffer_text(out, "i=1\nwhile [ $i -le $tasks ]; do sh \"$dir/part.sh\" $i; i=$((i + 1)); done\nexec "
                        "sh \"$dir/merge.sh\"\n");
}

static const struct {
    const char *name;
    void (*put)(const scripts *batch, tn_buffer *out);
} files[] = {{"part.sh", put_part},       {"merge.sh", put_merge},
             {"sweep.sbatch", put_array}, {"merge.sbatch", put_merge_job},
             {"submit.sh", put_submit},   {"parallel.sh", put_parallel},
             {"loop.sh", put_loop}};

static tn_status write_all(const scripts *batch, tn_error *error) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        tn_buffer path = {0}, text = {0};
        tn_buffer_format(&path, "%s/%s", batch->folder, files[i].name);
        files[i].put(batch, &text);
        tn_status status = path.status == TN_OK ? tn_file_write_buffer(path.data, &text, error)
                                                : tn_fail(error, path.status, "no memory for a path");
        tn_buffer_free(&path);
        tn_buffer_free(&text);
        TN_TRY(status);
    }
    return TN_OK;
}

static tn_status absolute(const char *path, char **whole, tn_error *error) {
    *whole = realpath(path, NULL);
    return *whole ? TN_OK : tn_fail_system(error, path, errno, "can't be found");
}

/* What stands behind a directive of Slurm is read to the end of the line. */
static tn_status check_word(const char *option, const char *text, tn_error *error) {
    if (!text || (*text && text[strcspn(text, " \t\n\r'\"\\$`")] == '\0')) return TN_OK;
    return tn_fail(error, TN_INPUT, "%s '%s' is no single word, as a script of Slurm needs it", option, text);
}

static tn_status check_request(const request *asked, tn_error *error) {
    if (!asked->folder)
        return tn_fail(error, TN_INPUT, "slurm needs -o DIR, the folder for scripts and parts");
    if (asked->tasks < 1 || asked->tasks > TASKS_MOST)
        return tn_fail(error, TN_INPUT,
                       "slurm needs --tasks N, into how many parts the sweep is cut: 1 to %d", TASKS_MOST);
    if (asked->cpus < 1 || asked->cpus > 4096) return tn_fail(error, TN_INPUT, "--cpus takes 1 to 4096");
    TN_TRY(check_word("--partition", asked->partition, error));
    TN_TRY(check_word("--account", asked->account, error));
    TN_TRY(check_word("--limit", asked->limit, error));
    return check_word("--mem", asked->memory, error);
}

static const tn_column answer_columns[] = {
    TN_COLUMN_AS("folder", scripts, folder, NULL),
    TN_COLUMN_AS("space", scripts, space, NULL),
};
static const tn_record answer_record = TN_RECORD(scripts, answer_columns);

static tn_status say(const scripts *batch, tn_error *error) {
    if (batch->asked->common.json) return tn_output_json(&answer_record, batch, error);
    tn_say("%llu parts of %s; each takes its share of the blocks of designs and goes on where it stopped\n",
           (unsigned long long)batch->asked->tasks, batch->space);
    tn_say("  Slurm         sh %s/submit.sh      an array of tasks, then a job that merges\n", batch->folder);
    tn_say("  GNU parallel  sh %s/parallel.sh -j 4\n", batch->folder);
    tn_say("  plain         sh %s/loop.sh\n", batch->folder);
    tn_say("the result will be in %s/result, as of one sweep\n", batch->folder);
    return TN_OK;
}

static tn_status make_log_folder(const char *folder, tn_error *error) {
    tn_buffer path = {0};
    tn_buffer_format(&path, "%s/log", folder);
    tn_status status = path.status == TN_OK ? tn_folder_make(path.data, error)
                                            : tn_fail(error, path.status, "no memory for a path");
    tn_buffer_free(&path);
    return status;
}

static tn_status write_scripts(scripts *batch, const tn_space *space, tn_error *error) {
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    batch->program = length > 0 ? program : "tenfold";
    batch->path = getenv("TENFOLD_PATH");
    TN_TRY(tn_folder_make(batch->asked->folder, error));
    TN_TRY(absolute(batch->asked->folder, &batch->folder, error));
    TN_TRY(absolute(space->path, &batch->space, error));
    if (strpbrk(batch->folder, " \t\n%\\"))
        return tn_fail(error, TN_INPUT, "%s: a script of Slurm can't name a folder with blanks, %% or \\",
                       batch->folder);
    TN_TRY(make_log_folder(batch->folder, error));
    TN_TRY(write_all(batch, error));
    return say(batch, error);
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    scripts batch = {.asked = asked};
    tn_space *space;
    (void)answer;
    TN_TRY(check_request(asked, error));
    TN_TRY(TN_NEW(&asked->common.arena, 1, &space, error));
    TN_TRY(tn_space_load(asked->common.argument[0], asked->set.item, asked->set.count, NULL,
                         &asked->common.arena, space, error));
    if (!tn_can_enumerate(space))
        return tn_fail_at(
            error, TN_INPUT, (tn_position){.file = space->path},
            "is too large to evaluate every design, in however many parts; `tenfold sweep SPACE "
            "--epsilon 0.05` finds its front");
    TN_TRY(tn_command_output(&asked->common, asked->folder, error));
    tn_status status = write_scripts(&batch, space, error);
    free(batch.folder);
    free(batch.space);
    return status;
}

static const request defaults = {.cpus = 1};
static const tn_option options[] = {
    {"-o", TN_INTO(request, folder), "DIR", "folder for the scripts, the parts and the merged result"},
    {"--tasks", TN_INTO(request, tasks), "N", "parts, tasks of the array: 1 to 10000"},
    {"--partition", TN_INTO(request, partition), "P", "Slurm's partition; default: the cluster's"},
    {"--account", TN_INTO(request, account), "A", "Slurm's account"},
    {"--limit", TN_INTO(request, limit), "T", "time limit of a task, as Slurm writes it: 2:00:00"},
    {"--cpus", TN_INTO(request, cpus), "C", "processors of a task; default 1"},
    {"--mem", TN_INTO(request, memory), "M", "memory of a task, as Slurm writes it: 2G"},
    {"--set", TN_INTO(request, set), "KEY=VALUE",
     "override a key of the space file or of the model; repeatable"},
};

const tn_command tn_command_slurm = {
    .name = "slurm",
    .summary = "write the scripts of a sweep in parts, for Slurm, GNU parallel or a plain loop",
    .usage = "SPACE -o DIR --tasks N [--partition P] [--account A] [--limit T] [--cpus C] [--mem M]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&answer_record),
    .answer = answer,
};
