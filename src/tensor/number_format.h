/* Number formats as a rounding of values: what a format keeps of them, bit for bit.
 *
 *   fp32, fp16, bf16    IEEE 754 binary32 and binary16, and the upper half of a binary32, with subnormals;
 *                       beyond the largest: infinity
 *   fixed16,8           fixed point: 16 bits with the sign, 8 of them behind the point; clipped
 *   int16, int8         whole multiples of max|x| / (2^(bits-1) - 1) over all values that are rounded together
 *   bfp16,8,4           block floating point: up to 16 neighbours of a row share an exponent of 8 bits, e with
 *                       max|x| in [2^(e-1), 2^e); each has a sign and 4 bits, whole multiples of 2^(e-4);
 *                       clipped to +-(2^4 - 1). Rows are cut from their start, the last group is shorter.
 *                       e is -2^7 .. 2^7 - 1: smaller values are rounded as with the least e, larger clipped.
 *   olive4              outlier-victim pairs of 2 to 8 bits (tensor/number_format.h): by one scale of all values that are
 *                       rounded together, most are whole numbers of so many bits; one beyond them takes the
 *                       code of its neighbour in the row, which becomes zero
 *   olive4,mse          the same by the scale of least squared error, searched for around the other one
 *
 * Rounding is to the nearest multiple, ties to the even one, or stochastic: up with the probability of the
 * rest, so that the expected value is the value. IEEE 754-2019; Drumond et al., Training DNNs with Hybrid Block
 * Floating Point, NeurIPS 2018; Gupta et al., Deep Learning with Limited Numerical Precision, ICML 2015.
 */
#ifndef TN_TENSOR_NUMBER_FORMAT_H
#define TN_TENSOR_NUMBER_FORMAT_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Outlier-victim pairs: numbers of few bits, neighbours in pairs, where an outlier takes the code of its neighbour. Internal to
 * the room.
 *
 * Values are taken over the scale s = max |mean +- 3 sigma| / (2^(bits-1) - 1) of all that are rounded together, sigma their
 * standard deviation. Normal ones are whole numbers up to +-(2^(bits-1) - 1). Of the others each becomes the nearest
 * of the adaptive biased floats +-(2^m + j) 2^(e + bias) with e < 2^E, j < 2^m, (e, j) not (0, 0), where E = bits / 2 of the
 * bits are exponent, m = bits - 1 - E mantissa, and bias = E, so that they begin where normal ones end: 12, 16, 24, .. 96
 * for 4 bits. Whatever is nearer to the last normal number is normal; beyond the largest it is clipped. Pairs begin at a
 * row's start; the neighbour of an outlier, its victim, is zero, of two outliers the second.
 *
 * The authors' program searches from that scale for one of less squared error: of 0.75, 0.77 .. 2.49 times it the first
 * under which the values rounded to the nearest differ least, victims too. Guo et al., OliVe, ISCA 2023.
 */

enum { TN_OUTLIER_BITS_LEAST = 2, TN_OUTLIER_BITS_MOST = 8 };

/* values[rows][columns], finite, in place. searched: by the scale of least squared error. `noise`: normal ones as
 * tn_number_format_round (tensor/number_format.h). */
void tn_outlier_pairs_round(uint32_t bits, bool searched, double *values, size_t rows, size_t columns,
                            uint64_t *noise);

TN_PUBLIC_BEGIN

typedef enum tn_number_kind {
    TN_FLOATING,       /* exponent_bits, mantissa_bits */
    TN_FIXED_POINT,    /* bits, fraction_bits */
    TN_SCALED_INTEGER, /* bits */
    TN_BLOCK_FLOATING, /* group, exponent_bits, mantissa_bits */
    TN_OUTLIER_PAIRS,  /* bits, searched */
} tn_number_kind;

typedef struct tn_number_format {
    tn_number_kind kind;
    uint32_t bits, fraction_bits, exponent_bits, mantissa_bits;
    uint64_t group;
    bool searched; /* the scale of pairs is that of least squared error */
} tn_number_format;

/* Reads a format's name as above; TN_INPUT says which there are and what was out of range: fixed point of 2..52
 * bits with 0..1000 behind the point, groups of 1..2^32, exponents of 1..11 bits, mantissas of 1..24, pairs of 2..8 bits. */
tn_status tn_number_format_read(const char *text, tn_number_format *format, tn_error *error);

extern const tn_number_format tn_fp32, tn_fp16, tn_bf16, tn_int16, tn_int8, tn_bit;
/* Whether values of both take the same bits, and the same operators; how a scale is found does not matter to these. */
bool tn_number_format_same(const tn_number_format *a, const tn_number_format *b);

/* The name, at most TN_NUMBER_FORMAT_NAME bytes with its end. */
enum { TN_NUMBER_FORMAT_NAME = 48 };
void tn_number_format_name(const tn_number_format *format, char name[TN_NUMBER_FORMAT_NAME]);

/* Bits of one value in memory, a group's exponent shared out; the one scale of an int is not counted. */
double tn_number_format_bits(const tn_number_format *format);
/* Bits of a word that holds one value, the share of an exponent rounded up. */
uint64_t tn_number_format_word_bits(const tn_number_format *format);
/* Bytes of so many values, one behind the other: their bits with the exponents of their groups, rounded up. */
tn_status tn_number_format_bytes(const tn_number_format *format, uint64_t values, uint64_t *bytes,
                                 tn_error *error);

/* Rounds values[rows][columns], element (r, c) at values[r * columns + c], all finite. `noise`: NULL for the
 * nearest, else the state of the random numbers (base/random.h, splitmix64) of stochastic rounding, one drawn
 * for every value that is not 0 in its turn. */
void tn_number_format_round(const tn_number_format *format, double *values, size_t rows, size_t columns,
                            uint64_t *noise);

TN_PUBLIC_END

#endif
