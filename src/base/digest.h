/* SHA-256 of bytes (nettle), in hexadecimal: what `sha256sum` prints, so that users can check the inputs of a
 * result. */
#ifndef TN_BASE_DIGEST_H
#define TN_BASE_DIGEST_H

#include <stddef.h>

enum { TN_DIGEST_TEXT = 65 };

void tn_digest(const void *data, size_t length, char text[TN_DIGEST_TEXT]);

#endif
