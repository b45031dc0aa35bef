#include "train/gradient_sums.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

tn_status tn_gradient_sums_make(tn_gradient_sums *sums, uint64_t elements, tn_error *error) {
    *sums = (tn_gradient_sums){.elements = elements};
    TN_TRY(TN_ALLOC(elements, &sums->values, error));
    return TN_ALLOC(elements, &sums->sum, error);
}

void tn_gradient_sums_free(tn_gradient_sums *sums) {
    tn_free(sums->sum);
    tn_free(sums->values);
    *sums = (tn_gradient_sums){0};
}

void tn_gradient_sums_add(tn_gradient_sums *sums, const tn_kernels *kernels, const void *gradient,
                          uint64_t elements) {
    double *sum = sums->sum + sums->added;
    kernels->to_double(gradient, sums->values, elements);
    for (uint64_t i = 0; i < elements; i++) {
        sum[i] += sums->values[i];
        sums->squares += sums->values[i] * sums->values[i];
    }
    sums->added += elements;
}

void tn_gradient_sums_step(tn_gradient_sums *sums) {
    sums->steps++;
    sums->added = 0;
}

void tn_gradient_sums_take(tn_gradient_sums *sums, double *variance, double *mean_square, uint64_t *steps) {
    const double count = (double)sums->steps;
    double square = 0; /* of the sum of all gradients */
    for (uint64_t i = 0; i < sums->elements; i++) square += sums->sum[i] * sums->sum[i];
    *steps = sums->steps;
    *variance = *mean_square = NAN;
    if (sums->steps > 1) {
        *variance = fmax(0, (sums->squares - square / count) / (count - 1));
        *mean_square = square / (count * count) - *variance / count;
    }
    memset(sums->sum, 0, sums->elements * sizeof *sums->sum);
    sums->squares = 0;
    sums->steps = 0;
}
