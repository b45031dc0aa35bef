/* Random numbers of the searches: the same seed, the same numbers, on every machine. Internal to the room.
 * Source: splitmix64, S. Vigna, public domain (prng.di.unimi.it). */
#ifndef TN_FLOW_RANDOM_H
#define TN_FLOW_RANDOM_H

#include <stdint.h>

static inline uint64_t tn_random_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 <= x < 1 */
static inline double tn_random_unit(uint64_t *state) {
    return (double)(tn_random_next(state) >> 11) * 0x1p-53;
}

/* 0 <= x < below; the bias of the remainder is under below / 2^64. */
static inline uint32_t tn_random_below(uint64_t *state, uint32_t below) {
    return (uint32_t)(tn_random_next(state) % below);
}

#endif
