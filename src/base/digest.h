/* SHA-256 of bytes (nettle). As text in hexadecimal it is what `sha256sum` prints, so that users can check the
 * inputs of a result. */
#ifndef TN_BASE_DIGEST_H
#define TN_BASE_DIGEST_H

#include <stddef.h>

enum { TN_DIGEST_BYTES = 32, TN_DIGEST_TEXT = 2 * TN_DIGEST_BYTES + 1 };

void tn_digest(const void *data, size_t length, char text[TN_DIGEST_TEXT]);

/* Of several parts, one behind the other. */
typedef struct tn_digest_part {
    const void *data;
    size_t length;
} tn_digest_part;
void tn_digest_parts(const tn_digest_part *part, size_t parts, unsigned char digest[TN_DIGEST_BYTES]);

#endif
