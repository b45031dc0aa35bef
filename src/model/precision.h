/* The format of every value of a training step. */
#ifndef TN_MODEL_PRECISION_H
#define TN_MODEL_PRECISION_H

#include <stdint.h>

typedef enum tn_precision { TN_FP32, TN_FP16, TN_BF16, TN_INT8, TN_PRECISIONS } tn_precision;
extern const char *const tn_precision_names[]; /* "fp32", "fp16", "bf16", "int8"; ended by NULL */
uint64_t tn_precision_bytes(tn_precision precision);

#endif
