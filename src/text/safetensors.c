/* safetensors (huggingface/safetensors, README "Format"): 8 bytes of header length, a JSON object from names
 * to {dtype, shape, data_offsets}, the values. Entries of any type may be there; those of a type that is not
 * read fail when they are asked for. Spans must lie inside the file, have the size that dtype and
 * shape give, and neither overlap nor leave holes, as the format demands. The header is limited to 16 MiB. */
#include "base/memory.h"
#include "text/array_file.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A checkpoint in several .safetensors files: an index, a JSON object whose "weight_map" goes from names of arrays to names
 * of files beside it. The arrays are those of the map, and each must be in the file that it names. */

static const uint64_t LIMIT_INDEX_BYTES = (uint64_t)64 << 20;
enum { SHARDS_MOST = 4096 };

/* The shard of that file name, opened when it is first named. */
static tn_status find_shard(tn_arrays *arrays, tn_array_part_opener *open_part, const char *name,
                            const char **names, tn_arrays **shard, tn_error *error) {
    size_t i = 0;
    const char *path, *slash = strrchr(arrays->source.file, '/');
    while (i < arrays->shards && strcmp(names[i], name) != 0) i++;
    *shard = i < arrays->shards ? arrays->shard[i] : NULL;
    if (*shard) return TN_OK;
    if (strchr(name, '/') || name[0] == '\0' || name[0] == '.')
        return tn_byte_source_fail(&arrays->source, error,
                                   "names \"%.100s\", which is no file beside the index", name);
    if (arrays->shards == SHARDS_MOST)
        return tn_fail_at(error, TN_LIMIT, (tn_position){.file = arrays->source.file},
                          "names more than %d files", SHARDS_MOST);
    TN_TRY(tn_arena_format(&arrays->arena, &path, error, "%.*s%s",
                           slash ? (int)(slash + 1 - arrays->source.file) : 0, arrays->source.file, name));
    names[i] = name;
    TN_TRY(open_part(path, shard, error));
    arrays->shard[arrays->shards++] = *shard;
    return TN_OK;
}

/* Arrays stand in the map as in the file as a rule: the search goes on where the last one ended. */
static const tn_array_entry *find_entry(const tn_arrays *shard, const char *name, size_t *source) {
    for (size_t i = 0; i < shard->count; i++) {
        const tn_array_entry *entry = &shard->entry[(*source + i) % shard->count];
        if (strcmp(entry->info.name, name) != 0) continue;
        *source = (*source + i + 1) % shard->count;
        return entry;
    }
    return NULL;
}

static tn_status read_map(tn_arrays *arrays, tn_array_part_opener *open_part, json_t *map, const char **names,
                          tn_error *error) {
    const char *name;
    json_t *file;
    size_t start = 0;
    json_object_foreach(map, name, file) {
        tn_arrays *shard;
        if (!json_is_string(file))
            return tn_byte_source_fail(&arrays->source, error, "\"weight_map\" has no file for \"%.100s\"",
                                       name);
        TN_TRY(find_shard(arrays, open_part, json_string_value(file), names, &shard, error));
        const tn_array_entry *entry = find_entry(shard, name, &start);
        if (!entry)
            return tn_byte_source_fail(&arrays->source, error,
                                       "\"%.100s\" is not in %.100s, where the index has it", name,
                                       json_string_value(file));
        arrays->entry[arrays->count] = *entry;
        arrays->entry[arrays->count++].source = &shard->source;
    }
    return TN_OK;
}

static tn_status read_index(tn_arrays *arrays, tn_array_part_opener *open_part, const json_t *index,
                            tn_error *error) {
    json_t *map = json_object_get(index, "weight_map");
    const char **names;
    if (!json_is_object(map) || json_object_size(map) == 0)
        return tn_byte_source_fail(
            &arrays->source, error,
            "is JSON without a \"weight_map\"; the index of a checkpoint in parts has one");
    TN_TRY(TN_NEW(&arrays->arena, json_object_size(map), &arrays->entry, error));
    TN_TRY(TN_NEW(&arrays->arena, SHARDS_MOST, &arrays->shard, error));
    TN_TRY(TN_ALLOC(SHARDS_MOST + 1, &names, error));
    tn_status status = read_map(arrays, open_part, map, names, error);
    tn_free(names);
    return status;
}

tn_status tn_shards_open(tn_arrays *arrays, tn_array_part_opener *open_part, tn_error *error) {
    const tn_byte_source *source = &arrays->source;
    char *text;
    json_error_t problem;
    if (source->size_bytes > LIMIT_INDEX_BYTES)
        return tn_fail_at(error, TN_LIMIT, (tn_position){.file = source->file},
                          "is JSON of more than %llu bytes, no index of a checkpoint",
                          (unsigned long long)LIMIT_INDEX_BYTES);
    TN_TRY(tn_alloc(source->size_bytes, 1, &text, error));
    tn_status status = tn_byte_source_read(source, 0, text, (size_t)source->size_bytes, error);
    json_t *index = status == TN_OK
                        ? json_loadb(text, (size_t)source->size_bytes, JSON_REJECT_DUPLICATES, &problem)
                        : NULL;
    tn_free(text);
    if (status == TN_OK && !json_is_object(index))
        status =
            tn_fail_at(error, TN_INPUT,
                       index ? (tn_position){.file = source->file}
                             : (tn_position){source->file, (unsigned)problem.line, (unsigned)problem.column},
                       "is no index of a checkpoint: %s", index ? "not an object" : problem.text);
    if (status == TN_OK) status = read_index(arrays, open_part, index, error);
    json_decref(index);
    return status;
}

enum { LENGTH_BYTES = 8 };
static const uint64_t LIMIT_HEADER_BYTES = (uint64_t)16 << 20;

typedef struct reader {
    tn_arrays *arrays;
    uint64_t values_offset, values_bytes;
    tn_error *error;
} reader;

static tn_status bad_tensor(const reader *input, const char *name, const char *wanted) {
    return tn_byte_source_fail(&input->arrays->source, input->error, "tensor \"%.100s\": %s", name, wanted);
}

static tn_status set_type(const reader *input, const json_t *dtype, tn_array_entry *entry) {
    static const struct {
        const char *name;
        tn_element element;
    } known[] = {
        {"F16", TN_ELEMENT_F16}, {"BF16", TN_ELEMENT_BF16}, {"F32", TN_ELEMENT_F32}, {"F64", TN_ELEMENT_F64}};
    const char *name = json_string_value(dtype);
    if (!name) return bad_tensor(input, entry->info.name, "has no \"dtype\" that is a text such as \"F32\"");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) entry->element = known[i].element;
    entry->info.type = tn_element_name(entry->element);
    if (entry->info.type) return TN_OK;
    return tn_arena_copy_text(&input->arrays->arena, name, strlen(name), &entry->info.type, input->error);
}

/* A list of `count` whole numbers. */
static bool read_counts(const json_t *list, size_t count, uint64_t *values) {
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0) return false;
        values[i] = (uint64_t)json_integer_value(item);
    }
    return true;
}

static tn_status set_shape(const reader *input, const json_t *shape, tn_array_entry *entry) {
    entry->info.axes = json_array_size(shape);
    if (entry->info.axes > TN_ARRAY_AXES)
        return tn_fail_at(input->error, TN_LIMIT, (tn_position){.file = input->arrays->source.file},
                          "tensor \"%.100s\" has %zu axes; at most %d are read", entry->info.name,
                          entry->info.axes, TN_ARRAY_AXES);
    if (!json_is_array(shape) || !read_counts(shape, entry->info.axes, entry->info.shape))
        return bad_tensor(input, entry->info.name, "has no \"shape\" that is a list of whole numbers");
    return TN_OK;
}

static tn_status set_span(const reader *input, const json_t *offsets, tn_array_entry *entry) {
    uint64_t range[2], bytes;
    if (json_array_size(offsets) != 2 || !read_counts(offsets, 2, range) || range[0] > range[1])
        return bad_tensor(input, entry->info.name, "has no \"data_offsets\" that are [begin, end]");
    if (range[1] > input->values_bytes)
        return tn_byte_source_fail(&input->arrays->source, input->error,
                                   "tensor \"%.100s\" ends at byte %" PRIu64 " of the values, %" PRIu64
                                   " are there: the file is truncated or damaged",
                                   entry->info.name, range[1], input->values_bytes);
    entry->span = (tn_byte_span){.offset = input->values_offset + range[0],
                                 .stored_bytes = range[1] - range[0],
                                 .bytes = range[1] - range[0]};
    TN_TRY(tn_array_size(&input->arrays->source, entry, &bytes, input->error));
    if (entry->element != TN_ELEMENT_OTHER && bytes != entry->span.bytes)
        return tn_byte_source_fail(&input->arrays->source, input->error,
                                   "tensor \"%.100s\" has %" PRIu64
                                   " bytes of values, its type and shape need %" PRIu64,
                                   entry->info.name, entry->span.bytes, bytes);
    return TN_OK;
}

static tn_status set_entry(const reader *input, const char *name, const json_t *tensor,
                           tn_array_entry *entry) {
    TN_TRY(tn_arena_copy_text(&input->arrays->arena, name, strlen(name), &entry->info.name, input->error));
    if (json_object_size(tensor) != 3)
        return bad_tensor(input, name, "must be an object of \"dtype\", \"shape\" and \"data_offsets\"");
    TN_TRY(set_type(input, json_object_get(tensor, "dtype"), entry));
    TN_TRY(set_shape(input, json_object_get(tensor, "shape"), entry));
    return set_span(input, json_object_get(tensor, "data_offsets"), entry);
}

static int by_offset(const void *a, const void *b) {
    const tn_byte_span *x = &(*(const tn_array_entry *const *)a)->span,
                       *y = &(*(const tn_array_entry *const *)b)->span;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static tn_status check_coverage(const reader *input, const tn_array_entry *const *sorted) {
    const tn_arrays *arrays = input->arrays;
    uint64_t end = input->values_offset;
    for (size_t i = 0; i < arrays->count; i++) {
        const tn_array_entry *entry = sorted[i];
        if (entry->span.offset != end)
            return bad_tensor(input, entry->info.name,
                              entry->span.offset < end
                                  ? "overlaps the tensor before it: the file is damaged"
                                  : "has bytes before it that belong to no tensor: the file is damaged");
        end += entry->span.bytes;
    }
    if (end == input->values_offset + input->values_bytes) return TN_OK;
    return tn_byte_source_fail(&arrays->source, input->error,
                               "%" PRIu64 " bytes behind the last tensor belong to none: the file is damaged",
                               input->values_offset + input->values_bytes - end);
}

static tn_status refuse_overlap(const reader *input) {
    const tn_arrays *arrays = input->arrays;
    const tn_array_entry **sorted;
    TN_TRY(TN_ALLOC(arrays->count, &sorted, input->error));
    for (size_t i = 0; i < arrays->count; i++) sorted[i] = &arrays->entry[i];
    qsort(sorted, arrays->count, sizeof *sorted, by_offset);
    tn_status status = check_coverage(input, sorted);
    tn_free(sorted);
    return status;
}

static tn_status set_entries(const reader *input, json_t *header) {
    const char *name;
    json_t *tensor;
    tn_arrays *arrays = input->arrays;
    TN_TRY(TN_NEW(&arrays->arena, json_object_size(header), &arrays->entry, input->error));
    json_object_foreach(header, name, tensor) {
        if (strcmp(name, "__metadata__") == 0) continue;
        TN_TRY(set_entry(input, name, tensor, &arrays->entry[arrays->count]));
        arrays->count++;
    }
    return refuse_overlap(input);
}

static tn_status parse_header(const reader *input, const char *text, size_t length) {
    json_error_t problem;
    json_t *header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (!header && json_error_code(&problem) == json_error_out_of_memory)
        return tn_fail(input->error, TN_MEMORY, "no memory to read a safetensors header");
    if (!header)
        return tn_byte_source_fail(&input->arrays->source, input->error,
                                   "safetensors header is not JSON: %s (byte %d of it)", problem.text,
                                   problem.position);
    tn_status status =
        json_is_object(header)
            ? set_entries(input, header)
            : tn_byte_source_fail(&input->arrays->source, input->error,
                                  "safetensors header is not a JSON object from names to tensors");
    json_decref(header);
    return status;
}

tn_status tn_safetensors_open(tn_arrays *arrays, tn_error *error) {
    const tn_byte_source *source = &arrays->source;
    unsigned char prefix[LENGTH_BYTES];
    char *text;
    TN_TRY(tn_byte_source_read(source, 0, prefix, sizeof prefix, error));
    uint64_t length = tn_get_u64(prefix), held = source->size_bytes - LENGTH_BYTES;
    if (length > held)
        return tn_byte_source_fail(source, error,
                                   "claims a safetensors header of %" PRIu64 " bytes, %" PRIu64
                                   " are there: the file is truncated or damaged",
                                   length, held);
    if (length > LIMIT_HEADER_BYTES)
        return tn_fail_at(error, TN_LIMIT, (tn_position){.file = source->file},
                          "safetensors header of %" PRIu64 " bytes; at most %" PRIu64 " are read", length,
                          LIMIT_HEADER_BYTES);
    const reader input = {.arrays = arrays,
                          .values_offset = LENGTH_BYTES + length,
                          .values_bytes = held - length,
                          .error = error};
    TN_TRY(tn_alloc((size_t)length, 1, &text, error));
    tn_status status = tn_byte_source_read(source, LENGTH_BYTES, text, (size_t)length, error);
    if (status == TN_OK) status = parse_header(&input, text, (size_t)length);
    tn_free(text);
    return status;
}
