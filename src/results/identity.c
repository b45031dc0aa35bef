#include "results/identity.h"

#include "base/buffer.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static tn_status digest(tn_buffer *trees, char *text, tn_error *error) {
    tn_status status =
        trees->status == TN_OK ? TN_OK : tn_fail(error, trees->status, "no memory to hash the inputs");
    if (status == TN_OK) tn_digest(trees->data, trees->length, text);
    tn_buffer_free(trees);
    return status;
}

tn_status tn_tree_digest(const tn_yaml *root, char text[TN_DIGEST_TEXT], tn_error *error) {
    tn_buffer tree = {0};
    tn_yaml_write(root, &tree);
    return digest(&tree, text, error);
}

static tn_status hash_inputs(const tn_space *space, tn_hashes *hashes, tn_error *error) {
    *hashes = (tn_hashes){0};
    tn_buffer models = {0}, devices = {0};
    TN_TRY(tn_tree_digest(space->root, hashes->space, error));
    for (size_t m = 0; m < space->models; m++)
        tn_yaml_write(tn_model_root(tn_space_variant(space, m, 0)->model), &models);
    TN_TRY(digest(&models, hashes->model, error));
    for (size_t d = 0; d < space->devices; d++)
        tn_yaml_write(tn_device_root(tn_space_variant(space, 0, d)->device), &devices);
    TN_TRY(digest(&devices, hashes->device, error));
    if (space->error_table.count)
        tn_digest(space->error_table.text, space->error_table.length, hashes->error_table);
    if (space->accuracy_table.rows)
        tn_digest(space->accuracy_table.text, space->accuracy_table.length, hashes->accuracy_table);
    return TN_OK;
}

/* The options' part, at the end. */
static void put_options(const tn_sweep_options *options, char *text, size_t capacity) {
    int length = snprintf(
        text, capacity,
        " shard %" PRIu64 "/%" PRIu64 " budget %" PRIu64 " seed %" PRIu64 " keep-all %d count %d",
        options->shard, options->shards, options->budget, options->seed, options->keep_all, options->counts);
    if (options->method <= TN_ENUMERATE || (size_t)length >= capacity) return;
    snprintf(text + length, capacity - (size_t)length, " method %s epsilon %.17g seconds %.17g",
             tn_method_names[options->method], options->epsilon, options->seconds);
}

tn_status tn_sweep_identity(const tn_space *space, const tn_sweep_options *options,
                            char text[TN_IDENTITY_TEXT], tn_error *error) {
    tn_hashes hashes;
    TN_TRY(hash_inputs(space, &hashes, error));
    int length =
        snprintf(text, TN_IDENTITY_TEXT, "tenfold %s space %s model %s device %s errors %s accuracies %s",
                 TENFOLD_VERSION, hashes.space, hashes.model, hashes.device, hashes.error_table,
                 hashes.accuracy_table);
    put_options(options, text + length, TN_IDENTITY_TEXT - (size_t)length);
    return TN_OK;
}

/* The first word of `ours` in which `text` differs is named by the word before it. */
static tn_status differs(const char *ours, const char *text, const char *path, tn_error *error) {
    const char *what = "tenfold";
    size_t what_length = strlen(what);
    for (size_t i = 0; ours[i] && ours[i] == text[i]; i++) {
        if (ours[i] != ' ' || ours[i + 1] < 'a' || ours[i + 1] > 'z') continue;
        static const char *const names[] = {"space", "model", "device", "errors", "accuracies"};
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (strncmp(ours + i + 1, names[n], strlen(names[n])) == 0 &&
                ours[i + 1 + strlen(names[n])] == ' ')
                what = names[n], what_length = strlen(names[n]);
    }
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = path},
                      "was made with another %.*s%s; only parts of one sweep belong together",
                      (int)what_length, what, strncmp(what, "tenfold", 7) == 0 ? " version" : "");
}

tn_status tn_sweep_identity_read(const tn_space *space, const char *text, const char *path,
                                 tn_sweep_options *options, tn_error *error) {
    char ours[TN_IDENTITY_TEXT], said[256];
    int keep_all = 0, counts = 0, used = 0;
    *options = (tn_sweep_options){0};
    TN_TRY(tn_sweep_identity(space, options, ours, error));
    size_t common = (size_t)(strstr(ours, " shard ") - ours);
    if (strncmp(ours, text, common) != 0) return differs(ours, text, path, error);
    sscanf(text + common,
           " shard %20" SCNu64 "/%20" SCNu64 " budget %20" SCNu64 " seed %20" SCNu64
           " keep-all %1d count %1d%n",
           &options->shard, &options->shards, &options->budget, &options->seed, &keep_all, &counts, &used);
    options->keep_all = keep_all != 0;
    options->counts = counts != 0;
    if (used > 0 && strncmp(text + common + used, " method ", 8) == 0)
        return tn_fail_at(
            error, TN_INPUT, (tn_position){.file = path},
            "holds a front alone, which was not found by evaluating every design; only parts of "
            "sweeps that do can be merged or asked for all designs");
    put_options(options, said, sizeof said);
    if (strcmp(said, text + common) != 0 ||
        (options->shards && (options->shard == 0 || options->shard > options->shards)))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = path},
                          "does not say which part of a sweep it is");
    return TN_OK;
}
