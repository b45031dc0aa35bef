#include "base/digest.h"

#include <nettle/sha2.h>
#include <stdio.h>

void tn_digest(const void *data, size_t length, char text[TN_DIGEST_TEXT]) {
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&context);
    sha256_update(&context, length, data);
    sha256_digest(&context, SHA256_DIGEST_SIZE, digest);
    for (size_t i = 0; i < sizeof digest; i++) sprintf(text + 2 * i, "%02x", digest[i]);
}
