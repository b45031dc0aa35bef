/* Standard normal numbers: Mersenne twister and ziggurat of GSL. The same seed gives the same numbers. */
#ifndef TN_FIT_GAUSSIAN_H
#define TN_FIT_GAUSSIAN_H

#include "base/error.h"

#include <stdint.h>

tn_status tn_gaussian(uint64_t seed, uint64_t count, double *values, tn_error *error);

#endif
