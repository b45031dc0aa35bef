#include "text/arrays.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "text/array_file.h"
#include "text/element.h"
#include "text/zip.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

tn_status tn_array_size(const tn_byte_source *source, tn_array_entry *entry, uint64_t *bytes,
                        tn_error *error) {
    tn_array_info *info = &entry->info;
    if (tn_product(info->shape, info->axes, &info->elements) &&
        tn_mul(info->elements, tn_element_bytes(entry->element), bytes))
        return TN_OK;
    return tn_fail_at(error, TN_OVERFLOW, (tn_position){.file = source->file},
                      "\"%.100s\" claims more values than 64 bits count", info->name);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tn_status tn_array_names(const tn_arrays *arrays, tn_error *error) {
    const char **name;
    TN_TRY(TN_ALLOC(arrays->count, &name, error));
    for (size_t i = 0; i < arrays->count; i++) name[i] = arrays->entry[i].info.name;
    qsort(name, arrays->count, sizeof *name, by_name);
    tn_status status = TN_OK;
    for (size_t i = 1; i < arrays->count && status == TN_OK; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            status =
                tn_byte_source_fail(&arrays->source, error, "holds two arrays named \"%.100s\"", name[i]);
    tn_free(name);
    return status;
}

static tn_status declare(tn_arrays *arrays, const tn_array_info *info, size_t count, tn_error *error) {
    uint64_t bytes;
    TN_TRY(TN_NEW(&arrays->arena, count, &arrays->entry, error));
    for (; arrays->count < count; arrays->count++) {
        tn_array_entry *entry = &arrays->entry[arrays->count];
        const char *name = info[arrays->count].name;
        *entry = (tn_array_entry){.info = info[arrays->count], .element = TN_ELEMENT_F32};
        entry->info.type = "f4";
        TN_TRY(tn_arena_copy_text(&arrays->arena, name, strlen(name), &entry->info.name, error));
        TN_TRY(tn_array_size(&arrays->source, entry, &bytes, error));
    }
    return tn_array_names(arrays, error);
}

tn_status tn_arrays_declare(const char *file, const tn_array_info *info, size_t count, tn_arrays **arrays,
                            tn_error *error) {
    *arrays = NULL;
    TN_TRY(TN_ALLOC(1, arrays, error));
    **arrays = (tn_arrays){.without_values = true};
    tn_byte_source_memory(NULL, "", 0, &(*arrays)->source);
    tn_status status =
        tn_arena_copy_text(&(*arrays)->arena, file, strlen(file), &(*arrays)->source.file, error);
    if (status == TN_OK) status = declare(*arrays, info, count, error);
    if (status == TN_OK) return TN_OK;
    tn_arrays_close(*arrays);
    *arrays = NULL;
    return status;
}

void tn_arrays_close(tn_arrays *arrays) {
    if (!arrays) return;
    for (size_t i = 0; i < arrays->shards; i++) tn_arrays_close(arrays->shard[i]);
    for (size_t i = 0; i < arrays->besides; i++) tn_byte_source_close(arrays->companion[i]);
    tn_byte_source_close(&arrays->source);
    tn_arena_free(&arrays->arena);
    tn_free(arrays);
}

size_t tn_arrays_count(const tn_arrays *arrays) {
    return arrays->count;
}

const tn_array_info *tn_arrays_info(const tn_arrays *arrays, size_t position) {
    return &arrays->entry[position].info;
}

static tn_status no_such_array(const tn_arrays *arrays, const char *name, tn_error *error) {
    const char **names;
    TN_TRY(TN_ALLOC(arrays->count, &names, error));
    for (size_t i = 0; i < arrays->count; i++) names[i] = arrays->entry[i].info.name;
    const char *nearest = tn_suggest(name, names, arrays->count);
    char list[400];
    tn_name_list(names, arrays->count, list, sizeof list);
    tn_free(names);
    if (arrays->count == 0)
        return tn_byte_source_fail(&arrays->source, error, "holds no array \"%.100s\", nor any other", name);
    return tn_byte_source_fail(&arrays->source, error, "holds no array \"%.100s\"; %s%.100s%sit holds %s",
                               name, nearest ? "did you mean \"" : "", nearest ? nearest : "",
                               nearest ? "\"? " : "", list);
}

tn_status tn_arrays_find(const tn_arrays *arrays, const char *name, size_t *position, tn_error *error) {
    for (size_t i = 0; i < arrays->count; i++) {
        if (strcmp(arrays->entry[i].info.name, name) != 0) continue;
        *position = i;
        return TN_OK;
    }
    return no_such_array(arrays, name, error);
}

/* values[i * stride] = the stream's next `count` elements; of an array of integers `values` are int64_t. */
static tn_status read_elements(tn_byte_stream *stream, const tn_array_entry *entry, uint64_t count,
                               double *values, uint64_t stride, tn_error *error) {
    enum { CHUNK_BYTES = 16384 };
    unsigned char bytes[CHUNK_BYTES];
    size_t size = tn_element_bytes(entry->element), most = CHUNK_BYTES / size;
    while (count > 0) {
        size_t piece = count < most ? (size_t)count : most;
        TN_TRY(tn_byte_stream_read(stream, bytes, piece * size, error));
        if (entry->info.integers)
            tn_element_decode_integers(entry->element, entry->big_endian, bytes, piece, (void *)values,
                                       (size_t)stride);
        else
            tn_element_decode(entry->element, entry->big_endian, bytes, piece, values, (size_t)stride);
        values += piece * stride;
        count -= piece;
    }
    return TN_OK;
}

/* A place in the axes behind the first, counted with the second axis as the fastest, as Fortran order has it;
 * `offset` is the same place in C order. */
typedef struct column {
    uint64_t index[TN_ARRAY_AXES], stride[TN_ARRAY_AXES], offset;
} column;

static void first_column(const tn_array_info *info, column *walk) {
    *walk = (column){0};
    uint64_t stride = 1;
    for (size_t axis = info->axes; axis-- > 1;) {
        walk->stride[axis] = stride;
        stride *= info->shape[axis];
    }
}

static void next_column(const tn_array_info *info, column *walk) {
    for (size_t axis = 1; axis < info->axes; axis++) {
        walk->offset += walk->stride[axis];
        if (++walk->index[axis] < info->shape[axis]) return;
        walk->offset -= walk->stride[axis] * info->shape[axis];
        walk->index[axis] = 0;
    }
}

static tn_status read_fortran(tn_byte_stream *stream, const tn_array_entry *entry, uint64_t first,
                              uint64_t count, double *values, tn_error *error) {
    const tn_array_info *info = &entry->info;
    uint64_t size = tn_element_bytes(entry->element), rows = info->shape[0], columns = info->elements / rows;
    column walk;
    first_column(info, &walk);
    for (uint64_t i = 0; i < columns; i++) {
        TN_TRY(tn_byte_stream_skip(stream, first * size, error));
        TN_TRY(read_elements(stream, entry, count, values + walk.offset, columns, error));
        TN_TRY(tn_byte_stream_skip(stream, (rows - first - count) * size, error));
        next_column(info, &walk);
    }
    return TN_OK;
}

static tn_status read_span(tn_byte_stream *stream, const tn_array_entry *entry, uint64_t first,
                           uint64_t count, double *values, tn_error *error) {
    const tn_array_info *info = &entry->info;
    uint64_t rows = info->axes ? info->shape[0] : 1, row_elements = info->elements / rows;
    TN_TRY(tn_byte_stream_skip(stream, entry->values_offset, error));
    if (entry->fortran_order && info->axes > 1) {
        TN_TRY(read_fortran(stream, entry, first, count, values, error));
    } else {
        TN_TRY(tn_byte_stream_skip(stream, first * row_elements * tn_element_bytes(entry->element), error));
        TN_TRY(read_elements(stream, entry, count * row_elements, values, 1, error));
    }
    return count == rows ? tn_byte_stream_finish(stream, error) : TN_OK;
}

static tn_status refuse_no_floats(const tn_arrays *arrays, const tn_array_entry *entry, tn_error *error) {
    if (entry->element != TN_ELEMENT_OTHER && !entry->info.integers) return TN_OK;
    return tn_byte_source_fail(
        entry->source ? entry->source : &arrays->source, error,
        "array \"%.100s\" holds type %.40s; only floating-point ones are read (f2, f4, f8; F16, "
        "BF16, F32, F64)",
        entry->info.name, entry->info.type);
}

static tn_status read_rows(const tn_arrays *arrays, const tn_array_entry *entry, uint64_t first,
                           uint64_t count, double *values, tn_error *error) {
    const tn_array_info *info = &entry->info;
    const tn_byte_source *source = entry->source ? entry->source : &arrays->source;
    uint64_t rows = info->axes ? info->shape[0] : 1;
    tn_byte_stream *stream;
    if (info->elements == 0 || count == 0) return TN_OK;
    if (arrays->without_values)
        return tn_byte_source_fail(
            source, error, "says that there is an array \"%.100s\", and has none of its values", info->name);
    TN_TRY(TN_ALLOC(1, &stream, error));
    tn_status status = tn_byte_stream_open(stream, source, &entry->span, info->name, count == rows, error);
    if (status == TN_OK) {
        status = read_span(stream, entry, first, count, values, error);
        tn_byte_stream_close(stream);
    }
    tn_free(stream);
    return status;
}

tn_status tn_arrays_read(tn_arrays *arrays, size_t position, double *values, tn_error *error) {
    const tn_array_entry *entry = &arrays->entry[position];
    TN_TRY(refuse_no_floats(arrays, entry, error));
    return read_rows(arrays, entry, 0, entry->info.axes ? entry->info.shape[0] : 1, values, error);
}

tn_status tn_arrays_read_integers(tn_arrays *arrays, size_t position, int64_t *values, tn_error *error) {
    const tn_array_entry *entry = &arrays->entry[position];
    if (!entry->info.integers)
        return tn_byte_source_fail(&arrays->source, error,
                                   "array \"%.100s\" holds type %.40s where integers are wanted",
                                   entry->info.name, entry->info.type);
    return read_rows(arrays, entry, 0, entry->info.axes ? entry->info.shape[0] : 1, (void *)values, error);
}

tn_status tn_arrays_read_rows(tn_arrays *arrays, size_t position, uint64_t first, uint64_t count,
                              double *values, tn_error *error) {
    const tn_array_entry *entry = &arrays->entry[position];
    const tn_array_info *info = &entry->info;
    uint64_t rows = info->axes ? info->shape[0] : 1;
    if (first > rows || count > rows - first)
        return tn_byte_source_fail(&arrays->source, error,
                                   "rows %" PRIu64 " to %" PRIu64
                                   " of array \"%.100s\" were asked for; it has %" PRIu64,
                                   first, first + count, info->name, rows);
    TN_TRY(refuse_no_floats(arrays, entry, error));
    return read_rows(arrays, entry, first, count, values, error);
}
