#include "text/zip.h"

#include "base/checked.h"
#include "base/memory.h"
#include "text/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sizes of the records' fixed parts, and the longest comment. */
enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    MOST_COMMENT = 65535,
};
static const uint32_t LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50, END64 = 0x06064b50,
                      LOCATOR = 0x07064b50;
static const uint32_t IN_ZIP64 = 0xffffffff;
static const uint64_t LIMIT_DIRECTORY_BYTES = (uint64_t)64 << 20;

typedef struct directory {
    uint64_t offset, bytes, members;
    uint64_t end; /* where the end record begins */
} directory;

static tn_status damaged(const tn_byte_source *source, const char *what, tn_error *error) {
    return tn_byte_source_fail(source, error, "not a sound zip archive: %s", what);
}

/* The end record stands last in the file, but for a comment that it gives the length of. */
static tn_status find_end(const tn_byte_source *source, unsigned char *record, uint64_t *offset,
                          tn_error *error) {
    unsigned char *tail;
    uint64_t most = END_BYTES + MOST_COMMENT;
    size_t length = (size_t)(source->size_bytes < most ? source->size_bytes : most);
    TN_TRY(tn_alloc(length, 1, &tail, error));
    tn_status status = tn_byte_source_read(source, source->size_bytes - length, tail, length, error);
    bool found = false;
    for (size_t back = END_BYTES; status == TN_OK && !found && back <= length; back++) {
        const unsigned char *cursor = tail + length - back;
        found = tn_get_u32(cursor) == END && tn_get_u16(cursor + 20) == back - END_BYTES;
        if (!found) continue;
        memcpy(record, cursor, END_BYTES);
        *offset = source->size_bytes - back;
    }
    tn_free(tail);
    if (status == TN_OK && !found)
        return damaged(source, "its directory is missing; the file may be truncated", error);
    return status;
}

static tn_status read_end64(const tn_byte_source *source, uint64_t offset, directory *dir, tn_error *error) {
    unsigned char record[END64_BYTES];
    TN_TRY(tn_byte_source_read(source, offset, record, sizeof record, error));
    if (tn_get_u32(record) != END64) return damaged(source, "its ZIP64 directory is missing", error);
    if (tn_get_u32(record + 16) != 0 || tn_get_u32(record + 20) != 0)
        return damaged(source, "it is split over several files", error);
    *dir = (directory){.offset = tn_get_u64(record + 48),
                       .bytes = tn_get_u64(record + 40),
                       .members = tn_get_u64(record + 32),
                       .end = offset};
    return TN_OK;
}

static tn_status find_directory(const tn_byte_source *source, directory *dir, tn_error *error) {
    unsigned char record[END_BYTES], locator[LOCATOR_BYTES];
    uint64_t end;
    TN_TRY(find_end(source, record, &end, error));
    if (tn_get_u16(record + 4) != 0 || tn_get_u16(record + 6) != 0)
        return damaged(source, "it is split over several files", error);
    *dir = (directory){.offset = tn_get_u32(record + 16),
                       .bytes = tn_get_u32(record + 12),
                       .members = tn_get_u16(record + 10),
                       .end = end};
    if (end < LOCATOR_BYTES) return TN_OK;
    TN_TRY(tn_byte_source_read(source, end - LOCATOR_BYTES, locator, sizeof locator, error));
    return tn_get_u32(locator) == LOCATOR ? read_end64(source, tn_get_u64(locator + 8), dir, error) : TN_OK;
}

static tn_status check_directory(const tn_byte_source *source, const directory *dir, tn_error *error) {
    uint64_t end;
    if (!tn_add(dir->offset, dir->bytes, &end) || end > dir->end)
        return damaged(source, "its directory reaches outside the file", error);
    if (dir->bytes > LIMIT_DIRECTORY_BYTES)
        return tn_fail_at(error, TN_LIMIT, (tn_position){.file = source->file},
                          "zip directory of %" PRIu64 " bytes; at most %" PRIu64 " are read", dir->bytes,
                          LIMIT_DIRECTORY_BYTES);
    if (dir->members > dir->bytes / CENTRAL_BYTES)
        return damaged(source, "its directory has no room for the members it claims", error);
    return TN_OK;
}

/* Sizes and offset that don't fit 32 bits stand in the extra field with id 1, those only, in this order. */
static bool read_zip64(const unsigned char *extra, size_t length, tn_zip_member *member) {
    uint64_t *field[] = {&member->data.bytes, &member->data.stored_bytes, &member->header_offset};
    while (length >= 4) {
        size_t size = tn_get_u16(extra + 2);
        if (size > length - 4) return false;
        if (tn_get_u16(extra) == 1) {
            const unsigned char *value = extra + 4, *end = value + size;
            for (size_t i = 0; i < 3; i++) {
                if (*field[i] != IN_ZIP64) continue;
                if (end - value < 8) return false;
                *field[i] = tn_get_u64(value);
                value += 8;
            }
        }
        extra += 4 + size;
        length -= 4 + size;
    }
    return true;
}

static tn_status set_name(const tn_byte_source *source, tn_arena *arena, const unsigned char *bytes,
                          size_t length, tn_zip_member *member, tn_error *error) {
    for (size_t i = 0; i < length;) {
        size_t character = tn_utf8_length((const char *)bytes + i, length - i);
        if (character == 0 || bytes[i] < 0x20)
            return damaged(source, "a member's name is not UTF-8 text", error);
        i += character;
    }
    return tn_arena_copy_text(arena, (const char *)bytes, length, &member->name, error);
}

static tn_status set_method(const tn_byte_source *source, unsigned flags, unsigned method,
                            tn_zip_member *member, tn_error *error) {
    if (flags & 1)
        return tn_byte_source_fail(source, error, "\"%.100s\" is encrypted; write it without a password",
                                   member->name);
    if (method != 0 && method != 8)
        return tn_byte_source_fail(
            source, error, "\"%.100s\" has compression method %u; stored (0) and deflated (8) are read",
            member->name, method);
    member->data.deflated = method == 8;
    return TN_OK;
}

/* The most that a deflate stream can grow: 258 bytes from 2 bits (RFC 1951: length and distance codes of one
 * bit each). Sizes beyond that are lies, whatever the stream holds. */
static bool plausible_size(const tn_byte_span *data) {
    enum { MOST_GROWTH = 1032 };
    if (!data->deflated) return data->bytes == data->stored_bytes;
    return data->bytes / MOST_GROWTH <= data->stored_bytes;
}

/* The entry that begins at `cursor`, of which `left` bytes are there; *taken of them are its own. */
static tn_status read_central(const tn_byte_source *source, tn_arena *arena, const unsigned char *cursor,
                              size_t left, tn_zip_member *member, size_t *taken, tn_error *error) {
    if (left < CENTRAL_BYTES || tn_get_u32(cursor) != CENTRAL)
        return damaged(source, "its directory has an entry that is none", error);
    size_t name = tn_get_u16(cursor + 28), extra = tn_get_u16(cursor + 30), comment = tn_get_u16(cursor + 32);
    *taken = CENTRAL_BYTES + name + extra + comment;
    if (*taken > left) return damaged(source, "its directory ends inside an entry", error);
    *member = (tn_zip_member){
        .header_offset = tn_get_u32(cursor + 42),
        .data = {.bytes = tn_get_u32(cursor + 24),
                 .stored_bytes = tn_get_u32(cursor + 20),
                 .has_crc = true,
                 .crc = tn_get_u32(cursor + 16)},
    };
    TN_TRY(set_name(source, arena, cursor + CENTRAL_BYTES, name, member, error));
    if (!read_zip64(cursor + CENTRAL_BYTES + name, extra, member))
        return damaged(source, "a member's ZIP64 field is too short", error);
    TN_TRY(set_method(source, tn_get_u16(cursor + 8), tn_get_u16(cursor + 10), member, error));
    if (!plausible_size(&member->data))
        return tn_byte_source_fail(source, error,
                                   "\"%.100s\" claims %" PRIu64 " bytes out of %" PRIu64
                                   " stored ones: the archive is damaged",
                                   member->name, member->data.bytes, member->data.stored_bytes);
    return TN_OK;
}

/* The local header repeats the name and says where the data begin. */
static tn_status locate_data(const tn_byte_source *source, const directory *dir, tn_zip_member *member,
                             tn_error *error) {
    unsigned char local[LOCAL_BYTES];
    char name[512];
    uint64_t end;
    size_t name_length = strlen(member->name);
    if (name_length > sizeof name)
        return tn_fail_at(error, TN_LIMIT, (tn_position){.file = source->file},
                          "a zip member's name of %zu bytes; at most %zu are read", name_length, sizeof name);
    if (member->header_offset >= dir->offset) return damaged(source, "a member lies outside the file", error);
    TN_TRY(tn_byte_source_read(source, member->header_offset, local, sizeof local, error));
    if (tn_get_u32(local) != LOCAL || tn_get_u16(local + 26) != name_length)
        return damaged(source, "a member is not where the directory says", error);
    TN_TRY(tn_byte_source_read(source, member->header_offset + LOCAL_BYTES, name, name_length, error));
    if (memcmp(name, member->name, name_length) != 0)
        return damaged(source, "a member is not where the directory says", error);
    member->data.offset = member->header_offset + LOCAL_BYTES + name_length + tn_get_u16(local + 28);
    if (!tn_add(member->data.offset, member->data.stored_bytes, &end) || end > dir->offset)
        return tn_byte_source_fail(source, error,
                                   "\"%.100s\" reaches outside the archive: it is truncated or damaged",
                                   member->name);
    return TN_OK;
}

static int by_offset(const void *a, const void *b) {
    const tn_zip_member *x = *(const tn_zip_member *const *)a, *y = *(const tn_zip_member *const *)b;
    return (x->header_offset > y->header_offset) - (x->header_offset < y->header_offset);
}

/* Overlapping members make small archives of enormous content. */
static tn_status refuse_overlap(const tn_byte_source *source, const tn_zip_member *member, size_t count,
                                tn_error *error) {
    const tn_zip_member **sorted;
    TN_TRY(TN_ALLOC(count, &sorted, error));
    for (size_t i = 0; i < count; i++) sorted[i] = &member[i];
    qsort(sorted, count, sizeof *sorted, by_offset);
    tn_status status = TN_OK;
    for (size_t i = 1; i < count && status == TN_OK; i++) {
        const tn_byte_span *before = &sorted[i - 1]->data;
        if (before->offset + before->stored_bytes > sorted[i]->header_offset)
            status = tn_byte_source_fail(source, error,
                                         "members \"%.100s\" and \"%.100s\" overlap: the archive is damaged",
                                         sorted[i - 1]->name, sorted[i]->name);
    }
    tn_free(sorted);
    return status;
}

static tn_status read_members(const tn_byte_source *source, tn_arena *arena, const directory *dir,
                              const unsigned char *bytes, tn_zip_member *member, tn_error *error) {
    size_t left = (size_t)dir->bytes, taken;
    for (uint64_t i = 0; i < dir->members; i++) {
        TN_TRY(read_central(source, arena, bytes, left, &member[i], &taken, error));
        TN_TRY(locate_data(source, dir, &member[i], error));
        bytes += taken;
        left -= taken;
    }
    if (left > 0) return damaged(source, "its directory is longer than its entries", error);
    return refuse_overlap(source, member, (size_t)dir->members, error);
}

tn_status tn_zip_directory(const tn_byte_source *source, tn_arena *arena, tn_zip_member **member,
                           size_t *count, tn_error *error) {
    directory dir;
    unsigned char *bytes;
    TN_TRY(find_directory(source, &dir, error));
    TN_TRY(check_directory(source, &dir, error));
    TN_TRY(TN_NEW(arena, (size_t)dir.members, member, error));
    TN_TRY(tn_alloc((size_t)dir.bytes, 1, &bytes, error));
    tn_status status = tn_byte_source_read(source, dir.offset, bytes, (size_t)dir.bytes, error);
    if (status == TN_OK) status = read_members(source, arena, &dir, bytes, *member, error);
    tn_free(bytes);
    *count = (size_t)dir.members;
    return status;
}

/* Stored members with their sizes in ZIP64 fields, whatever they are: one way for small and large archives.
 */

enum { VERSION = 45, UTF8_NAME = 0x800, MADE_BY_UNIX = 3 << 8, READABLE = 0100644, IN_ZIP64_16 = 0xffff };
/* 1980-01-01, the earliest date the format has: equal arrays give equal files. */
enum { TIME = 0, DATE = 1 << 5 | 1 };
static const uint32_t IN_ZIP64_ZIP_WRITE = 0xffffffff;

static void put(tn_buffer *out, uint64_t value, size_t bytes) {
    unsigned char little[8];
    for (size_t i = 0; i < bytes; i++) little[i] = (unsigned char)(value >> 8 * i);
    tn_buffer_bytes(out, little, bytes);
}

/* Flags to sizes: what the local header and the directory's entry have in common. */
static void put_common(const tn_zip_member *member, size_t extra_bytes, tn_buffer *out) {
    put(out, VERSION, 2);
    put(out, UTF8_NAME, 2);
    put(out, 0, 2); /* method: stored */
    put(out, TIME, 2);
    put(out, DATE, 2);
    put(out, member->data.crc, 4);
    put(out, IN_ZIP64_ZIP_WRITE, 4);
    put(out, IN_ZIP64_ZIP_WRITE, 4);
    put(out, strlen(member->name), 2);
    put(out, extra_bytes, 2);
}

void tn_zip_put_header(const tn_zip_member *member, tn_buffer *out) {
    put(out, 0x04034b50, 4);
    put_common(member, 20, out);
    tn_buffer_text(out, member->name);
    put(out, 1, 2);
    put(out, 16, 2);
    put(out, member->data.bytes, 8);
    put(out, member->data.stored_bytes, 8);
}

static void put_central(const tn_zip_member *member, tn_buffer *out) {
    put(out, 0x02014b50, 4);
    put(out, MADE_BY_UNIX | VERSION, 2);
    put_common(member, 28, out);
    put(out, 0, 2); /* comment */
    put(out, 0, 2); /* disk */
    put(out, 0, 2);
    put(out, (uint64_t)READABLE << 16, 4);
    put(out, IN_ZIP64_ZIP_WRITE, 4);
    tn_buffer_text(out, member->name);
    put(out, 1, 2);
    put(out, 24, 2);
    put(out, member->data.bytes, 8);
    put(out, member->data.stored_bytes, 8);
    put(out, member->header_offset, 8);
}

void tn_zip_put_directory(const tn_zip_member *member, size_t count, uint64_t offset, tn_buffer *out) {
    size_t start = out->length;
    for (size_t i = 0; i < count; i++) put_central(&member[i], out);
    uint64_t bytes = out->length - start;
    put(out, 0x06064b50, 4);
    put(out, 44, 8); /* of the rest of this record */
    put(out, MADE_BY_UNIX | VERSION, 2);
    put(out, VERSION, 2);
    put(out, 0, 4);
    put(out, 0, 4);
    put(out, count, 8);
    put(out, count, 8);
    put(out, bytes, 8);
    put(out, offset, 8);
    put(out, 0x07064b50, 4);
    put(out, 0, 4);
    put(out, offset + bytes, 8);
    put(out, 1, 4);
    put(out, 0x06054b50, 4);
    put(out, 0, 4);
    put(out, IN_ZIP64_16, 2);
    put(out, IN_ZIP64_16, 2);
    put(out, IN_ZIP64_ZIP_WRITE, 4);
    put(out, IN_ZIP64_ZIP_WRITE, 4);
    put(out, 0, 2);
}
