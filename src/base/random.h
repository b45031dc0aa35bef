/* Random numbers that depend on a seed alone: the same on every machine and for any number of threads.
 *
 *   tn_random     a sequence to draw values, shuffles and starts from: MT19937 of GSL, in the library's own
 *                 memory. Matsumoto, Nishimura, ACM Trans. Model. Comput. Simul. 8 (1998). Seed 0 counts as
 *                 4357, as in GSL.
 *   tn_splitmix   one word of state, for searches that draw at every step: splitmix64, S. Vigna, public
 *                 domain (prng.di.unimi.it).
 */
#ifndef TN_BASE_RANDOM_H
#define TN_BASE_RANDOM_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_random tn_random;

tn_status tn_random_open(uint64_t seed, tn_random **random, tn_error *error);
void tn_random_close(tn_random *random); /* NULL is fine */

/* 0 <= x < below, which is 1 to 2^32 - 1; without bias */
uint32_t tn_random_below(tn_random *random, uint32_t below);
/* Standard normal, by the polar method of Box and Muller. */
double tn_random_normal(tn_random *random);
/* Every order equally likely; `count` things of `size` bytes. */
void tn_random_shuffle(tn_random *random, void *things, size_t count, size_t size);

/* values[count]: standard normal numbers of that seed, by the ziggurat of Marsaglia and Tsang (J. Stat. Softw. 5,
 * 2000), which is faster for many. */
tn_status tn_random_fill_normal(uint64_t seed, double *values, uint64_t count, tn_error *error);

static inline uint64_t tn_splitmix_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* As after so many draws. */
static inline uint64_t tn_splitmix_after(uint64_t state, uint64_t draws) {
    return state + draws * 0x9e3779b97f4a7c15u;
}

/* 0 <= x < 1 */
static inline double tn_splitmix_unit(uint64_t *state) {
    return (double)(tn_splitmix_next(state) >> 11) * 0x1p-53;
}

/* 0 <= x < below; the bias of the remainder is under below / 2^64. */
static inline uint32_t tn_splitmix_below(uint64_t *state, uint32_t below) {
    return (uint32_t)(tn_splitmix_next(state) % below);
}

#endif
