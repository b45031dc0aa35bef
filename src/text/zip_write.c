/* Stored members with their sizes in ZIP64 fields, whatever they are: one way for small and large archives.
 */
#include "text/zip.h"

#include <string.h>

enum { VERSION = 45, UTF8_NAME = 0x800, MADE_BY_UNIX = 3 << 8, READABLE = 0100644, IN_ZIP64_16 = 0xffff };
/* 1980-01-01, the earliest date the format has: equal arrays give equal files. */
enum { TIME = 0, DATE = 1 << 5 | 1 };
static const uint32_t IN_ZIP64 = 0xffffffff;

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
    put(out, IN_ZIP64, 4);
    put(out, IN_ZIP64, 4);
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
    put(out, IN_ZIP64, 4);
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
    put(out, IN_ZIP64, 4);
    put(out, IN_ZIP64, 4);
    put(out, 0, 2);
}
