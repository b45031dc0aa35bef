/* Any bytes as one file of a folder of results: the first byte says which, and whether the rest is the file or, four bytes
 * each, places in the true file and what stands there instead. Readers refuse the
 * folder or give rows whose designs have values for every choice; a store is refused or goes on to the same front. */
#include "base/file.h"
#include "results/merge.h"
#include "results/result.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"front.csv",  "recommended.csv", "sweep.json", "space.yaml",
                                    "model.yaml", "device.yaml",     "sweep.db",   "sweep.db-journal"};
enum { NAMES = sizeof names / sizeof *names, FIRST_STORE = 6 };

/* In memory where that is possible: results are synced to disk, which made ten runs a second. */
static char folder[64], whole[96], copy[96];
static bool standing[NAMES]; /* the copy's file is the true one */
static tn_arena arena;
static tn_space space;
static const tn_sweep_options resume = {.threads = 1, .resume = true};
static uint64_t front;

static void run(const char *deed, const char *path) {
    char command[128];
    snprintf(command, sizeof command, "%s '%s'", deed, path);
    if (system(command) != 0) abort();
}

static void remove_folder(void) {
    run("rm -rf", folder);
    tn_arena_free(&arena);
}

static void make_whole(void) {
    tn_error error;
    tn_summary summary;
    snprintf(folder, sizeof folder, "%s/tenfold-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) abort();
    snprintf(whole, sizeof whole, "%s/whole", folder);
    snprintf(copy, sizeof copy, "%s/copy", folder);
    if (tn_space_load(FUZZ_SOURCE_DIR "/tests/space/data/mini.yaml", NULL, 0, NULL, &arena, &space, &error) !=
            TN_OK ||
        tn_sweep_folder(&space, &resume, whole, NULL, &summary, &error) != TN_OK)
        abort();
    front = summary.front;
    run("mkdir", copy);
    atexit(remove_folder);
}

static void path_of(const char *owner, size_t i, char path[128]) {
    snprintf(path, 128, "%s/%s", owner, names[i]);
}

static void put(size_t i, const void *data, size_t size) {
    char path[128];
    path_of(copy, i, path);
    unlink(path);
    standing[i] = false;
    if (!data) return;
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
}

/* The true file, changed at the places that the data name. */
static void put_patched(size_t i, const uint8_t *data, size_t size) {
    char path[128], *file;
    size_t length;
    path_of(whole, i, path);
    if (tn_file_read(path, 1 << 24, &file, &length, NULL) != TN_OK) {
        put(i, NULL, 0);
        return;
    }
    for (size_t index = 0; index + 4 <= size && length; index += 4)
        file[(data[index] | (size_t)data[index + 1] << 8 | (size_t)data[index + 2] << 16) % length] =
            (char)data[index + 3];
    put(i, file, length);
    free(file);
}

static void stand(size_t i) {
    put_patched(i, NULL, 0);
    standing[i] = true;
}

static void lay_out(size_t which, bool patched, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < NAMES; i++) {
        if (i != which && standing[i]) continue;
        if (i != which)
            stand(i);
        else if (patched)
            put_patched(i, data, size);
        else
            put(i, data, size);
    }
}

static void check_rows(const tn_result *result) {
    for (size_t i = 0; i < result->front_count; i++)
        for (size_t c = 0; c < result->space->choices.count; c++)
            if (tn_choices_digit(&result->space->choices, result->front[i].id, c) >=
                result->space->choices.axis[c].count)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!whole[0]) make_whole();
    if (size == 0) return 0;
    size_t which = data[0] % NAMES;
    tn_error error;
    lay_out(which, data[0] / NAMES % 2, data + 1, size - 1);
    if (which < FIRST_STORE) {
        tn_arena own = {0};
        tn_result result;
        if (tn_result_load(copy, &own, &result, &error) == TN_OK) check_rows(&result);
        tn_arena_free(&own);
    } else {
        tn_summary summary;
        memset(standing, 0, sizeof standing); /* it writes them */
        if (tn_sweep_folder(&space, &resume, copy, NULL, &summary, &error) == TN_OK && summary.front != front)
            abort();
    }
    return 0;
}
