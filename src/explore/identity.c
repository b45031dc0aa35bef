#include "explore/identity.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

static const size_t file_limit_bytes = (size_t)256 << 20;

static tn_status digest_tree(const tn_yaml *root, char *text, tn_error *error) {
    tn_buffer out = {0};
    tn_yaml_write(root, &out);
    tn_status status =
        out.status == TN_OK ? TN_OK : tn_fail(error, out.status, "no memory to hash the inputs");
    if (status == TN_OK) tn_digest(out.data, out.length, text);
    tn_buffer_free(&out);
    return status;
}

static tn_status digest_file(const char *path, char *text, tn_error *error) {
    char *data;
    size_t length;
    TN_TRY(tn_file_read(path, file_limit_bytes, &data, &length, error));
    tn_digest(data, length, text);
    tn_free(data);
    return TN_OK;
}

tn_status tn_space_hashes(const tn_space *space, tn_hashes *hashes, tn_error *error) {
    *hashes = (tn_hashes){0};
    TN_TRY(digest_tree(space->root, hashes->space, error));
    TN_TRY(digest_tree(tn_model_root(space->model), hashes->model, error));
    TN_TRY(digest_tree(tn_device_root(space->device), hashes->device, error));
    return space->error_table_path ? digest_file(space->error_table_path, hashes->error_table, error) : TN_OK;
}

tn_status tn_sweep_identity(const tn_space *space, const tn_sweep_options *options, char *text,
                            size_t capacity, tn_error *error) {
    tn_hashes hashes;
    TN_TRY(tn_space_hashes(space, &hashes, error));
    snprintf(text, capacity,
             "tenfold %s space %s model %s device %s errors %s shard %" PRIu64 "/%" PRIu64 " budget %" PRIu64
             " seed %" PRIu64 " keep-all %d",
             TENFOLD_VERSION, hashes.space, hashes.model, hashes.device, hashes.error_table, options->shard,
             options->shards, options->budget, options->seed, options->keep_all);
    return TN_OK;
}
