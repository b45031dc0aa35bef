/* Whole numbers beyond 64 bits: counts of combinations, which only grow by factors. */
#ifndef TN_BASE_BIG_H
#define TN_BASE_BIG_H

#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_BIG_LIMBS = 137, TN_BIG_TEXT = 1240 }; /* 1233 digits */

typedef struct tn_big {
    size_t limbs;                /* 0: the number is 0 */
    uint32_t limb[TN_BIG_LIMBS]; /* nine decimal digits each, the last ones first */
} tn_big;

tn_big tn_big_of(uint64_t value);
/* number *= factor; false (and unchanged) where it would have more digits than that. */
bool tn_big_multiply(tn_big *number, uint32_t factor);
/* The number where it fits 64 bits; false where it does not. */
bool tn_big_count(const tn_big *number, uint64_t *value);
/* All its decimal digits; the text. */
const char *tn_big_text(const tn_big *number, char text[TN_BIG_TEXT]);
/* Two digits and the power of ten, "1.2e43", rounded to nearest; all digits of a number under 1000. */
const char *tn_big_brief(const tn_big *number, char text[TN_BIG_TEXT]);

TN_PUBLIC_END

#endif
