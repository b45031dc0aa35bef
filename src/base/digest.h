/* SHA-256 of bytes (nettle). As text in hexadecimal it is what `sha256sum` prints, so that users can check the
 * inputs of a result. */
#ifndef TN_BASE_DIGEST_H
#define TN_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where a direct-mapped table keeps what belongs to a key. */

/* A place below `places`, at most 2^32: multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4). */
static inline size_t tn_hash_place(uint64_t key, uint32_t places) {
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % places;
}

/* Several counts as one key, the first weighing most. */
static inline uint64_t tn_hash_counts(const uint64_t *count, size_t counts) {
    uint64_t mixed = 0;
    for (size_t i = 0; i < counts; i++) mixed = mixed * 1031 + count[i];
    return mixed;
}

/* A word taken into a hash, every bit of which then depends on every bit of it. */
static inline uint64_t tn_hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

/* Bytes taken into a hash, a word at a time. */
static inline uint64_t tn_hash_bytes(uint64_t hash, const void *data, size_t length) {
    const unsigned char *byte = data;
    for (size_t i = 0; i < length; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, byte + i, length - i < sizeof word ? length - i : sizeof word);
        hash = tn_hash_word(hash, word);
    }
    return hash;
}

enum { TN_DIGEST_BYTES = 32, TN_DIGEST_TEXT = 2 * TN_DIGEST_BYTES + 1 };

void tn_digest(const void *data, size_t length, char text[TN_DIGEST_TEXT]);

/* Of several parts, one behind the other. */
typedef struct tn_digest_part {
    const void *data;
    size_t length;
} tn_digest_part;
void tn_digest_parts(const tn_digest_part *part, size_t parts, unsigned char digest[TN_DIGEST_BYTES]);

#endif
