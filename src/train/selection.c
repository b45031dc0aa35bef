#include "train/selection.h"

#include <math.h>

/* The `rank`-th greatest, from 0, of `values`, which are left in another order (Hoare, Find, 1961). */
static double greatest_of_rank(double *values, size_t count, size_t rank) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] > pivot) i++;
            while (values[j] < pivot) j--;
            if (i >= j) break;
            double swapped = values[i];
            values[i++] = values[j];
            values[j--] = swapped;
        }
        /* values[low..j] >= pivot >= values[j+1..high], unless i == j stand on the pivot. */
        size_t end = values[j] < pivot ? j - 1 : j;
        if (rank <= end)
            high = end == high ? end - 1 : end;
        else
            low = end + 1;
        if (end == high + 1 && rank == end) return values[end];
    }
    return values[low];
}

void tn_select_greatest(const tn_kernels *kernels, void *values, size_t elements, size_t live, void *mask,
                        double *scratch) {
    double *value = scratch, *size = scratch + elements;
    kernels->to_double(values, value, elements);
    for (size_t i = 0; i < elements; i++) size[i] = fabs(value[i]);
    double least = greatest_of_rank(size, elements, live - 1);
    size_t above = 0;
    for (size_t i = 0; i < elements; i++) above += fabs(value[i]) > least;
    size_t equal = live - above; /* of those that are just as great */
    for (size_t i = 0; i < elements; i++) {
        bool stays = fabs(value[i]) > least || (fabs(value[i]) == least && equal > 0 && equal-- > 0);
        if (!stays) value[i] = 0;
        size[i] = stays;
    }
    kernels->from_double(value, values, elements);
    if (mask) kernels->from_double(size, mask, elements);
}

size_t tn_count_live(const tn_kernels *kernels, const void *values, size_t elements, double *scratch) {
    size_t live = 0;
    kernels->to_double(values, scratch, elements);
    for (size_t i = 0; i < elements; i++) live += scratch[i] != 0;
    return live;
}
