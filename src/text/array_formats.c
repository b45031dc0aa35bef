/* Which format a file of arrays (text/arrays.h) is in, by how it begins; where that is no proof, by its name. */
#include "base/checked.h"
#include "base/file.h"
#include "base/memory.h"
#include "text/array_file.h"
#include "text/element.h"
#include "text/zip.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NumPy's array format, versions 1.0, 2.0 and 3.0 (numpy.lib.format: magic, version, length of the header, header as a Python
 * dictionary of descr, fortran_order and shape, values). Headers are limited to 64 KiB. */
#define TN_NPY_MAGIC "\x93NUMPY"
enum { TN_NPY_MAGIC_BYTES = 6 };
enum { PREFIX_BYTES = 8, MOST_HEADER_BYTES = 65536, LONGEST_TYPE = 40 };

/* The header's Python dictionary, read from front to back. */
typedef struct npy_header_text {
    const char *text, *end;
    const tn_byte_source *source;
    const char *name;
    tn_error *error;
    char type[LONGEST_TYPE + 1];
    bool has_type, has_order, has_shape;
} npy_header_text;

static tn_status bad_header(const npy_header_text *header_text, const char *wanted) {
    return tn_byte_source_fail(header_text->source, header_text->error,
                               "\"%.100s\": damaged .npy header: %s; it must read like {'descr': '<f8', "
                               "'fortran_order': False, 'shape': (3, 4), }",
                               header_text->name, wanted);
}

static void skip_space(npy_header_text *header_text) {
    while (header_text->text < header_text->end &&
           (*header_text->text == ' ' || *header_text->text == '\n' || *header_text->text == '\t'))
        header_text->text++;
}

/* Passes over `c` and the space before it, if it is there. */
static bool take(npy_header_text *header_text, char c) {
    skip_space(header_text);
    if (header_text->text == header_text->end || *header_text->text != c) return false;
    header_text->text++;
    return true;
}

static bool take_word(npy_header_text *header_text, const char *word) {
    size_t length = strlen(word);
    skip_space(header_text);
    if ((size_t)(header_text->end - header_text->text) < length ||
        memcmp(header_text->text, word, length) != 0)
        return false;
    header_text->text += length;
    return true;
}

/* 'text' or "text"; it stays in place. */
static bool take_text(npy_header_text *header_text, const char **text, size_t *length) {
    char quote = take(header_text, '\'') ? '\'' : take(header_text, '"') ? '"' : '\0';
    if (!quote) return false;
    const char *end = memchr(header_text->text, quote, (size_t)(header_text->end - header_text->text));
    if (!end) return false;
    *text = header_text->text;
    *length = (size_t)(end - header_text->text);
    header_text->text = end + 1;
    return true;
}

/* Behind an opening bracket: up to the closing one. Structured types are passed over, not understood. */
static bool skip_list(npy_header_text *header_text) {
    for (size_t depth = 1; depth > 0; header_text->text++) {
        if (header_text->text == header_text->end) return false;
        depth += *header_text->text == '[';
        depth -= *header_text->text == ']';
    }
    return true;
}

static tn_status read_type(npy_header_text *header_text) {
    const char *text = "structured";
    size_t length = strlen(text);
    bool good = take(header_text, '[') ? skip_list(header_text) : take_text(header_text, &text, &length);
    if (!good || length > LONGEST_TYPE || memchr(text, '\0', length))
        return bad_header(header_text, "no type after 'descr'");
    memcpy(header_text->type, text, length);
    header_text->type[length] = '\0';
    header_text->has_type = true;
    return TN_OK;
}

static tn_status read_order(npy_header_text *header_text, tn_array_entry *entry) {
    entry->fortran_order = take_word(header_text, "True");
    if (!entry->fortran_order && !take_word(header_text, "False"))
        return bad_header(header_text, "neither True nor False after 'fortran_order'");
    header_text->has_order = true;
    return TN_OK;
}

static tn_status read_length(npy_header_text *header_text, uint64_t *length) {
    bool digits = false;
    *length = 0;
    skip_space(header_text);
    for (; header_text->text < header_text->end && *header_text->text >= '0' && *header_text->text <= '9';
         header_text->text++, digits = true)
        if (!tn_mul(*length, 10, length) || !tn_add(*length, (uint64_t)(*header_text->text - '0'), length))
            return tn_fail_at(header_text->error, TN_OVERFLOW,
                              (tn_position){.file = header_text->source->file},
                              "\"%.100s\": an axis longer than 2^64", header_text->name);
    if (!digits) return bad_header(header_text, "an axis that is not a whole number in 'shape'");
    take(header_text, 'L'); /* as Python 2 wrote it */
    return TN_OK;
}

static tn_status read_shape(npy_header_text *header_text, tn_array_entry *entry) {
    tn_array_info *info = &entry->info;
    if (!take(header_text, '(')) return bad_header(header_text, "no tuple after 'shape'");
    for (info->axes = 0; !take(header_text, ')'); info->axes++) {
        if (info->axes == TN_ARRAY_AXES)
            return tn_fail_at(header_text->error, TN_LIMIT, (tn_position){.file = header_text->source->file},
                              "\"%.100s\" has more than %d axes", header_text->name, TN_ARRAY_AXES);
        if (info->axes > 0 && !take(header_text, ','))
            return bad_header(header_text, "no comma between axes");
        if (info->axes > 0 && take(header_text, ')')) break;
        TN_TRY(read_length(header_text, &info->shape[info->axes]));
    }
    header_text->has_shape = true;
    return TN_OK;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

static tn_status read_pair(npy_header_text *header_text, tn_array_entry *entry) {
    const char *key;
    size_t length;
    if (!take_text(header_text, &key, &length) || !take(header_text, ':'))
        return bad_header(header_text, "no key");
    if (is_word(key, length, "descr") && !header_text->has_type) return read_type(header_text);
    if (is_word(key, length, "fortran_order") && !header_text->has_order)
        return read_order(header_text, entry);
    if (is_word(key, length, "shape") && !header_text->has_shape) return read_shape(header_text, entry);
    return bad_header(header_text, "a key that is unknown or stands twice");
}

static tn_status read_dictionary(npy_header_text *header_text, tn_array_entry *entry) {
    if (!take(header_text, '{')) return bad_header(header_text, "no dictionary");
    while (!take(header_text, '}')) {
        TN_TRY(read_pair(header_text, entry));
        if (take(header_text, ',')) continue;
        if (take(header_text, '}')) break;
        return bad_header(header_text, "no comma between keys");
    }
    skip_space(header_text);
    if (header_text->text != header_text->end) return bad_header(header_text, "text behind the dictionary");
    if (!header_text->has_type || !header_text->has_order || !header_text->has_shape)
        return bad_header(header_text, "'descr', 'fortran_order' or 'shape' is missing");
    return TN_OK;
}

static tn_status set_type(tn_arrays *arrays, tn_array_entry *entry, const char *type, tn_error *error) {
    static const tn_element readable[] = {
        TN_ELEMENT_F16, TN_ELEMENT_F32, TN_ELEMENT_F64, TN_ELEMENT_I8,  TN_ELEMENT_I16,
        TN_ELEMENT_I32, TN_ELEMENT_I64, TN_ELEMENT_U8,  TN_ELEMENT_U16, TN_ELEMENT_U32,
    };
    entry->info.type = NULL;
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++) {
        const char *known = tn_element_name(readable[i]), *orders = known[1] == '1' ? "|" : "<>";
        if (!type[0] || !strchr(orders, type[0]) || strcmp(type + 1, known) != 0) continue;
        entry->element = readable[i];
        entry->big_endian = type[0] == '>';
        entry->info.integers = tn_element_is_integer(readable[i]);
        if (!entry->info.integers) entry->info.type = known;
    }
    if (entry->info.type) return TN_OK;
    return tn_arena_copy_text(&arrays->arena, type, strlen(type), &entry->info.type, error);
}

/* Magic, version and the header's length; *start = where the header begins. */
static tn_status read_prefix(tn_byte_stream *stream, uint64_t *start, size_t *length, tn_error *error) {
    unsigned char prefix[PREFIX_BYTES + 4] = {0};
    TN_TRY(tn_byte_stream_read(stream, prefix, PREFIX_BYTES, error));
    if (memcmp(prefix, TN_NPY_MAGIC, TN_NPY_MAGIC_BYTES) != 0)
        return tn_byte_source_fail(stream->source, error,
                                   "\"%.100s\" does not begin as a .npy file does (\\x93NUMPY)",
                                   stream->name);
    unsigned version = prefix[TN_NPY_MAGIC_BYTES], minor = prefix[TN_NPY_MAGIC_BYTES + 1];
    if (version < 1 || version > 3 || minor != 0)
        return tn_byte_source_fail(stream->source, error,
                                   "\"%.100s\" is .npy version %u.%u; 1.0, 2.0 and 3.0 are read",
                                   stream->name, version, minor);
    size_t length_bytes = version == 1 ? 2 : 4;
    TN_TRY(tn_byte_stream_read(stream, prefix + PREFIX_BYTES, length_bytes, error));
    *length = tn_get_u32(prefix + PREFIX_BYTES);
    *start = PREFIX_BYTES + length_bytes;
    if (*length > MOST_HEADER_BYTES)
        return tn_fail_at(error, TN_LIMIT, (tn_position){.file = stream->source->file},
                          "\"%.100s\" claims a .npy header of %zu bytes; at most %d are read", stream->name,
                          *length, (int)MOST_HEADER_BYTES);
    return TN_OK;
}

static tn_status read_header(tn_arrays *arrays, tn_array_entry *entry, tn_byte_stream *stream,
                             tn_error *error) {
    uint64_t start;
    size_t length;
    char *text;
    TN_TRY(read_prefix(stream, &start, &length, error));
    TN_TRY(tn_alloc(length, 1, &text, error));
    tn_status status = tn_byte_stream_read(stream, text, length, error);
    if (status == TN_OK) {
        npy_header_text header_text = {.text = text,
                                       .end = text + length,
                                       .source = &arrays->source,
                                       .name = entry->info.name,
                                       .error = error};
        status = read_dictionary(&header_text, entry);
        if (status == TN_OK) status = set_type(arrays, entry, header_text.type, error);
    }
    tn_free(text);
    entry->values_offset = start + length;
    return status;
}

static tn_status check_size(const tn_arrays *arrays, tn_array_entry *entry, tn_error *error) {
    uint64_t bytes, held = entry->span.bytes - entry->values_offset;
    TN_TRY(tn_array_size(&arrays->source, entry, &bytes, error));
    if (entry->element == TN_ELEMENT_OTHER || bytes == held) return TN_OK;
    return tn_byte_source_fail(&arrays->source, error,
                               "\"%.100s\" claims %" PRIu64 " bytes of values, %" PRIu64
                               " are there: the file is truncated or damaged",
                               entry->info.name, bytes, held);
}

/* Fills type, order, shape and values_offset of an entry from the .npy file that stands in entry->span, and
 * checks that its values take up the rest of the span. entry->info.name is set. */
static tn_status npy_entry(tn_arrays *arrays, tn_array_entry *entry, tn_error *error) {
    tn_byte_stream *stream;
    TN_TRY(TN_ALLOC(1, &stream, error));
    tn_status status =
        tn_byte_stream_open(stream, &arrays->source, &entry->span, entry->info.name, false, error);
    if (status == TN_OK) {
        status = read_header(arrays, entry, stream, error);
        tn_byte_stream_close(stream);
    }
    tn_free(stream);
    return status == TN_OK ? check_size(arrays, entry, error) : status;
}

static tn_status name_from_path(tn_arrays *arrays, const char **name, tn_error *error) {
    const char *path = arrays->source.file, *slash = strrchr(path, '/');
    if (slash) path = slash + 1;
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".npy") == 0) length -= 4;
    return tn_arena_copy_text(&arrays->arena, path, length, name, error);
}

/* Each fills entries from the open source. */
static tn_status npy_open(tn_arrays *arrays, tn_error *error) {
    uint64_t size = arrays->source.size_bytes;
    TN_TRY(TN_NEW(&arrays->arena, 1, &arrays->entry, error));
    tn_array_entry *entry = arrays->entry;
    entry->span = (tn_byte_span){.stored_bytes = size, .bytes = size};
    TN_TRY(name_from_path(arrays, &entry->info.name, error));
    TN_TRY(npy_entry(arrays, entry, error));
    arrays->count = 1;
    if (entry->element != TN_ELEMENT_OTHER && (arrays->takes_integers || !entry->info.integers)) return TN_OK;
    return tn_byte_source_fail(&arrays->source, error,
                               "holds type %s; only f2, f4 and f8 of either byte order are read%s",
                               entry->info.type, arrays->takes_integers ? ", and integers but uint64" : "");
}

/* Appends magic and header (version 1.0) of values in C order. */
static void npy_header(tn_element element, size_t axes, const uint64_t *shape, tn_buffer *out) {
    enum { ALIGNMENT = 64 };
    tn_buffer text = {0};
    tn_buffer_format(&text, "{'descr': '<%s', 'fortran_order': False, 'shape': (", tn_element_name(element));
    for (size_t i = 0; i < axes; i++) tn_buffer_format(&text, "%s%" PRIu64, i ? ", " : "", shape[i]);
    tn_buffer_text(&text, axes == 1 ? ",), }" : "), }");
    while ((PREFIX_BYTES + 2 + text.length + 1) % ALIGNMENT != 0 && text.status == TN_OK)
        tn_buffer_text(&text, " ");
    tn_buffer_text(&text, "\n");
    tn_buffer_bytes(out, TN_NPY_MAGIC "\x01\x00", PREFIX_BYTES);
    tn_buffer_bytes(out, (unsigned char[]){(unsigned char)text.length, (unsigned char)(text.length >> 8)}, 2);
    if (text.status == TN_OK)
        tn_buffer_bytes(out, text.data, text.length);
    else if (out->status == TN_OK)
        out->status = text.status;
    tn_buffer_free(&text);
}

/* NumPy's .npz: a zip archive of .npy members. */

static tn_status set_entry(tn_arrays *arrays, const tn_zip_member *member, tn_array_entry *entry,
                           tn_error *error) {
    size_t length = strlen(member->name);
    if (length <= 4 || strcmp(member->name + length - 4, ".npy") != 0)
        return tn_byte_source_fail(&arrays->source, error,
                                   "member \"%.100s\" is not a .npy file; an .npz holds nothing else",
                                   member->name);
    TN_TRY(tn_arena_copy_text(&arrays->arena, member->name, length - 4, &entry->info.name, error));
    entry->span = member->data;
    return npy_entry(arrays, entry, error);
}

/* Each fills entries from the open source. */
static tn_status npz_open(tn_arrays *arrays, tn_error *error) {
    tn_zip_member *member;
    size_t count;
    TN_TRY(tn_zip_directory(&arrays->source, &arrays->arena, &member, &count, error));
    TN_TRY(TN_NEW(&arrays->arena, count, &arrays->entry, error));
    for (size_t i = 0; i < count; i++) TN_TRY(set_entry(arrays, &member[i], &arrays->entry[i], error));
    arrays->count = count;
    return tn_array_names(arrays, error);
}

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* The version of ONNX's format (field 1), a small number, then one of the model's other fields. */
static bool is_onnx(const unsigned char *start) {
    return start[0] == 0x08 && start[1] > 0 && start[1] < 64 && start[2] > 0x08 && start[2] < 0x80;
}

/* `open_part`: opens the files that an index names; NULL: the file is one of them, and no index itself. */
static tn_status open_by_content(tn_arrays *arrays, tn_array_part_opener *open_part, tn_error *error) {
    const tn_byte_source *source = &arrays->source;
    unsigned char start[9] = {0};
    size_t length = source->size_bytes < sizeof start ? (size_t)source->size_bytes : sizeof start;
    TN_TRY(tn_byte_source_read(source, 0, start, length, error));
    if (memcmp(start, TN_NPY_MAGIC, TN_NPY_MAGIC_BYTES) == 0) return npy_open(arrays, error);
    if (memcmp(start, "PK\3\4", 4) == 0 || memcmp(start, "PK\5\6", 4) == 0) return npz_open(arrays, error);
    if (start[0] == '{' && open_part && !ends_with(source->file, ".safetensors"))
        return tn_shards_open(arrays, open_part, error);
    if (start[8] == '{' || ends_with(source->file, ".safetensors")) return tn_safetensors_open(arrays, error);
    if (is_onnx(start) || ends_with(source->file, ".onnx")) return tn_onnx_open(arrays, error);
    return tn_byte_source_fail(
        source, error,
        "is not a .npy, .npz, .safetensors or .onnx file, nor the index of several (it begins like "
        "none of them)");
}

/* Takes the source over. */
static tn_status open_source(tn_byte_source source, tn_array_part_opener *open_part, bool takes_integers,
                             tn_arrays **arrays, tn_error *error) {
    tn_arrays *opened;
    tn_status status = TN_ALLOC(1, &opened, error);
    if (status != TN_OK) {
        tn_byte_source_close(&source);
        return status;
    }
    opened->source = source;
    opened->takes_integers = takes_integers;
    status =
        tn_arena_copy_text(&opened->arena, source.file, strlen(source.file), &opened->source.file, error);
    if (status == TN_OK) status = open_by_content(opened, open_part, error);
    if (status == TN_OK)
        *arrays = opened;
    else
        tn_arrays_close(opened);
    return status;
}

static tn_status open_part(const char *path, tn_arrays **arrays, tn_error *error) {
    tn_byte_source source;
    TN_TRY(tn_byte_source_open(path, &source, error));
    return open_source(source, NULL, false, arrays, error);
}

tn_status tn_arrays_open(const char *path, tn_arrays **arrays, tn_error *error) {
    tn_byte_source source;
    TN_TRY(tn_byte_source_open(path, &source, error));
    return open_source(source, open_part, false, arrays, error);
}

tn_status tn_arrays_open_numbers(const char *path, tn_arrays **arrays, tn_error *error) {
    tn_byte_source source;
    TN_TRY(tn_byte_source_open(path, &source, error));
    return open_source(source, open_part, true, arrays, error);
}

tn_status tn_arrays_open_memory(const char *name, const void *bytes, size_t length, tn_arrays **arrays,
                                tn_error *error) {
    tn_byte_source source;
    tn_byte_source_memory(name, bytes, length, &source);
    return open_source(source, open_part, false, arrays, error);
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
    npy_header(element_of(array), array->axes, array->shape, &header);
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
    npy_header(element_of(array), array->axes, array->shape, header);
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
