/* Zip archives (PKWARE APPNOTE 6.3): the directory at their end, ZIP64 included, members stored or deflated.
 * Encrypted and split archives are refused, and members that overlap or reach outside the file. */
#ifndef TN_TEXT_ZIP_H
#define TN_TEXT_ZIP_H

#include "base/file.h"
#include "base/memory.h"
#include "text/byte_stream.h"

typedef struct tn_zip_member {
    const char *name;
    uint64_t header_offset; /* of the local header in the file */
    tn_byte_span data;
} tn_zip_member;

/* (*member)[*count] in the directory's order, in the arena. */
tn_status tn_zip_directory(const tn_byte_source *source, tn_arena *arena, tn_zip_member **member,
                           size_t *count, tn_error *error);

/* Writing stored members with ZIP64 fields: the header before a member's `bytes` (whose CRC is known), then,
 * after the last member, the directory. Offsets and sizes of members come from `member`. */
void tn_zip_put_header(const tn_zip_member *member, tn_buffer *out);
void tn_zip_put_directory(const tn_zip_member *member, size_t count, uint64_t offset, tn_buffer *out);

#endif
