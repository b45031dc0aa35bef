#include "text/arrays.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "text/array_file.h"
#include "text/array_formats.h"
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

/* .npy, .npz and .safetensors out: little-endian, C order. */

enum { CHUNK_ELEMENTS = 2048, LONGEST_NAME = 500 };

static tn_element element_of(const tn_array_out *array) {
    if (array->integers) return TN_ELEMENT_I64;
    if (array->half != TN_HALF_NONE) return array->half == TN_HALF_F16 ? TN_ELEMENT_F16 : TN_ELEMENT_BF16;
    return array->single ? TN_ELEMENT_F32 : TN_ELEMENT_F64;
}

/* *bytes of all values. */
static tn_status check(const tn_array_out *array, uint64_t *elements, uint64_t *bytes, tn_error *error) {
    const char *name = array->name ? array->name : "array";
    if (array->axes > TN_ARRAY_AXES)
        return tn_fail(error, TN_LIMIT, "array \"%.100s\" has %zu axes; at most %d are written", name,
                       array->axes, TN_ARRAY_AXES);
    if (!tn_product(array->shape, array->axes, elements) ||
        !tn_mul(*elements, tn_element_bytes(element_of(array)), bytes))
        return tn_fail(error, TN_OVERFLOW, "array \"%.100s\" has more bytes than 64 bits count", name);
    for (uint64_t i = 0; array->single && i < *elements; i++)
        if (isfinite(array->values[i]) && fabs(array->values[i]) > (double)FLT_MAX)
            return tn_fail(error, TN_INPUT, "array \"%.100s\" has %g at place %llu; float32 ends at %g", name,
                           array->values[i], (unsigned long long)i, (double)FLT_MAX);
    const double half_most = 65504;
    for (uint64_t i = 0; array->half == TN_HALF_F16 && i < *elements; i++)
        if (isfinite(array->values[i]) && fabs(array->values[i]) > half_most)
            return tn_fail(error, TN_INPUT, "array \"%.100s\" has %g at place %llu; float16 ends at %g", name,
                           array->values[i], (unsigned long long)i, half_most);
    return TN_OK;
}

/* Passes the values' bytes to the stream, where there is one, and into the CRC. */
static int put_values(const tn_array_out *array, uint64_t elements, FILE *stream, uint32_t *crc) {
    unsigned char bytes[CHUNK_ELEMENTS * sizeof(double)];
    tn_element element = element_of(array);
    for (uint64_t done = 0; done < elements; done += CHUNK_ELEMENTS) {
        size_t piece = elements - done < CHUNK_ELEMENTS ? (size_t)(elements - done) : CHUNK_ELEMENTS;
        size_t length = piece * tn_element_bytes(element);
        const void *values =
            array->integers ? (const void *)(array->integers + done) : (const void *)(array->values + done);
        tn_element_encode(element, values, piece, bytes);
        *crc = (uint32_t)crc32(*crc, bytes, (unsigned)length);
        if (stream && fwrite(bytes, 1, length, stream) != length) return errno;
    }
    return 0;
}

static int put_buffer(const tn_buffer *buffer, FILE *stream) {
    if (buffer->status != TN_OK) return ENOMEM;
    return fwrite(buffer->data, 1, buffer->length, stream) == buffer->length ? 0 : errno;
}

static tn_status close_writer(tn_file_writer *writer, const char *path, int failed, tn_error *error) {
    if (!failed) return tn_file_commit(writer, error);
    tn_file_abandon(writer);
    return tn_fail_system(error, path, failed, "can't be written");
}

tn_status tn_npy_write(const char *path, const tn_array_out *array, tn_error *error) {
    uint64_t elements, bytes;
    uint32_t crc = 0;
    tn_file_writer writer;
    tn_buffer header = {0};
    TN_TRY(check(array, &elements, &bytes, error));
    TN_TRY(tn_file_open(&writer, path, error));
    tn_npy_header(element_of(array), array->axes, array->shape, &header);
    int failed = put_buffer(&header, writer.stream);
    if (!failed) failed = put_values(array, elements, writer.stream, &crc);
    tn_buffer_free(&header);
    return close_writer(&writer, path, failed, error);
}

/* The member's place and CRC, and its .npy header. */
static tn_status plan_member(const tn_array_out *array, tn_arena *arena, uint64_t offset,
                             tn_zip_member *member, uint64_t *elements, tn_buffer *header, tn_error *error) {
    uint64_t bytes;
    if (!array->name || array->name[0] == '\0' || strlen(array->name) > LONGEST_NAME)
        return tn_fail(error, TN_INPUT, "an array for an .npz has no name, or one of over %d bytes",
                       LONGEST_NAME);
    TN_TRY(check(array, elements, &bytes, error));
    TN_TRY(tn_arena_format(arena, &member->name, error, "%s.npy", array->name));
    tn_npy_header(element_of(array), array->axes, array->shape, header);
    if (header->status != TN_OK) return tn_fail(error, header->status, "no memory for a .npy header");
    uint32_t crc = (uint32_t)crc32(0, (const unsigned char *)header->data, (unsigned)header->length);
    put_values(array, *elements, NULL, &crc);
    member->header_offset = offset;
    member->data.crc = crc;
    member->data.bytes = member->data.stored_bytes = header->length + bytes;
    return TN_OK;
}

static tn_status put_member(const tn_array_out *array, tn_arena *arena, tn_zip_member *member,
                            uint64_t *offset, tn_file_writer *writer, tn_error *error) {
    tn_buffer local = {0}, header = {0};
    uint64_t elements;
    uint32_t crc = 0;
    tn_status status = plan_member(array, arena, *offset, member, &elements, &header, error);
    if (status == TN_OK) {
        tn_zip_put_header(member, &local);
        int failed = put_buffer(&local, writer->stream);
        if (!failed) failed = put_buffer(&header, writer->stream);
        if (!failed) failed = put_values(array, elements, writer->stream, &crc);
        if (failed) status = tn_fail_system(error, writer->path, failed, "can't be written");
        *offset += local.length + member->data.bytes;
    }
    tn_buffer_free(&local);
    tn_buffer_free(&header);
    return status;
}

static tn_status put_members(const tn_array_out *array, size_t count, tn_arena *arena, tn_file_writer *writer,
                             tn_error *error) {
    tn_zip_member *member;
    tn_buffer directory = {0};
    uint64_t offset = 0;
    TN_TRY(TN_NEW(arena, count, &member, error));
    for (size_t i = 0; i < count; i++)
        TN_TRY(put_member(&array[i], arena, &member[i], &offset, writer, error));
    tn_zip_put_directory(member, count, offset, &directory);
    int failed = put_buffer(&directory, writer->stream);
    tn_buffer_free(&directory);
    return failed ? tn_fail_system(error, writer->path, failed, "can't be written") : TN_OK;
}

static tn_status refuse_equal_names(const tn_array_out *array, size_t count, tn_error *error) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (array[i].name && array[k].name && strcmp(array[i].name, array[k].name) == 0)
                return tn_fail(error, TN_INPUT, "two arrays for an .npz are named \"%.100s\"", array[i].name);
    return TN_OK;
}

tn_status tn_npz_write(const char *path, const tn_array_out *array, size_t count, tn_error *error) {
    tn_file_writer writer;
    tn_arena arena = {0};
    TN_TRY(refuse_equal_names(array, count, error));
    TN_TRY(tn_file_open(&writer, path, error));
    tn_status status = put_members(array, count, &arena, &writer, error);
    tn_arena_free(&arena);
    if (status == TN_OK) return tn_file_commit(&writer, error);
    tn_file_abandon(&writer);
    return status;
}

/* JSON text between quotes. */
static void put_name(tn_buffer *out, const char *name) {
    tn_buffer_text(out, "\"");
    for (; *name; name++) {
        if ((unsigned char)*name < ' ')
            tn_buffer_format(out, "\\u%04x", (unsigned char)*name);
        else
            tn_buffer_format(out, *name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
    }
    tn_buffer_text(out, "\"");
}

/* The JSON of names, types, shapes and places, filled with blanks to a multiple of 8, so that values are aligned. */
static const char *safetensors_type(const tn_array_out *array) {
    if (array->integers) return "I64";
    if (array->half != TN_HALF_NONE) return array->half == TN_HALF_F16 ? "F16" : "BF16";
    return array->single ? "F32" : "F64";
}

static tn_status safetensors_header(const tn_array_out *array, size_t count, tn_buffer *header,
                                    tn_error *error) {
    uint64_t offset = 0, elements, bytes;
    enum { ALIGN_BYTES = 8 };
    tn_buffer_text(header, "{");
    for (size_t i = 0; i < count; i++) {
        TN_TRY(check(&array[i], &elements, &bytes, error));
        if (i) tn_buffer_text(header, ",");
        put_name(header, array[i].name);
        tn_buffer_format(header, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_type(&array[i]));
        for (size_t axis = 0; axis < array[i].axes; axis++)
            tn_buffer_format(header, "%s%" PRIu64, axis ? "," : "", array[i].shape[axis]);
        tn_buffer_format(header, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset, offset + bytes);
        offset += bytes;
    }
    tn_buffer_text(header, "}");
    while (header->status == TN_OK && header->length % ALIGN_BYTES) tn_buffer_text(header, " ");
    return header->status == TN_OK ? TN_OK
                                   : tn_fail(error, header->status, "no memory for a .safetensors header");
}

static int put_tensors(const tn_array_out *array, size_t count, const tn_buffer *header, FILE *stream) {
    unsigned char length[8];
    uint32_t crc = 0;
    for (size_t i = 0; i < sizeof length; i++)
        length[i] = (unsigned char)((uint64_t)header->length >> (8 * i));
    if (fwrite(length, 1, sizeof length, stream) != sizeof length) return errno;
    int failed = put_buffer(header, stream);
    for (size_t i = 0; !failed && i < count; i++) {
        uint64_t elements = 1;
        for (size_t axis = 0; axis < array[i].axes; axis++) elements *= array[i].shape[axis];
        failed = put_values(&array[i], elements, stream, &crc);
    }
    return failed;
}

tn_status tn_safetensors_write(const char *path, const tn_array_out *array, size_t count, tn_error *error) {
    tn_file_writer writer;
    tn_buffer header = {0};
    TN_TRY(refuse_equal_names(array, count, error));
    tn_status status = safetensors_header(array, count, &header, error);
    if (status == TN_OK) status = tn_file_open(&writer, path, error);
    if (status == TN_OK)
        status = close_writer(&writer, path, put_tensors(array, count, &header, writer.stream), error);
    tn_buffer_free(&header);
    return status;
}
