/* The format of every value of a training step. */
#ifndef TN_MODEL_PRECISION_H
#define TN_MODEL_PRECISION_H

#include "base/public.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_precision { TN_FP32, TN_FP16, TN_BF16, TN_INT8, TN_PRECISIONS } tn_precision;
extern const char *const tn_precision_names[]; /* "fp32", "fp16", "bf16", "int8"; ended by NULL */
uint64_t tn_precision_bytes(tn_precision precision);

/* How products are multiplied: in a precision, or in block floating point, where `group` values share an
 * exponent and each has a sign and a mantissa. Group 0: the precision. */
typedef struct tn_arithmetic {
    tn_precision precision;
    uint64_t group, exponent_bits, mantissa_bits;
} tn_arithmetic;

/* Reads "fp32", .., or "bfp16,8,4": group, exponent bits, mantissa bits. False where it is neither. */
bool tn_arithmetic_read(const char *text, tn_arithmetic *arithmetic);

TN_PUBLIC_END

#endif
