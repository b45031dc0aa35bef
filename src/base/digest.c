#include "base/digest.h"

#include <nettle/sha2.h>
#include <stdio.h>

void tn_digest_parts(const tn_digest_part *part, size_t parts, unsigned char digest[TN_DIGEST_BYTES]) {
    struct sha256_ctx context;
    sha256_init(&context);
    for (size_t i = 0; i < parts; i++) sha256_update(&context, part[i].length, part[i].data);
    sha256_digest(&context, TN_DIGEST_BYTES, digest);
}

void tn_digest(const void *data, size_t length, char text[TN_DIGEST_TEXT]) {
    unsigned char digest[TN_DIGEST_BYTES];
    tn_digest_parts(&(tn_digest_part){data, length}, 1, digest);
    for (size_t i = 0; i < sizeof digest; i++) sprintf(text + 2 * i, "%02x", digest[i]);
}
