/* .npy, .npz and .safetensors out: little-endian, C order. */
#include "base/checked.h"
#include "base/file.h"
#include "base/memory.h"
#include "text/arrays.h"
#include "text/element.h"
#include "text/npy.h"
#include "text/zip.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CHUNK_ELEMENTS = 2048, LONGEST_NAME = 500 };

static tn_element element_of(const tn_array_out *array) {
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
        tn_element_encode(element, array->values + done, piece, bytes);
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
    TN_TRY(tn_arena_alloc(arena, count, sizeof *member, &member, error));
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
