#include "flow/training_front.h"

#include "base/memory.h"

#include <stdlib.h>

static bool covers(const tn_training_candidate *one, uint64_t macs, uint64_t saved, uint64_t peak) {
    return one->total_macs <= macs && one->saved_elements <= saved && one->peak_elements <= peak;
}

bool tn_training_candidates_cover(const tn_training_candidates *front, uint64_t total_macs,
                                  uint64_t saved_elements, uint64_t peak_elements) {
    for (size_t i = 0; i < front->count; i++)
        if (covers(&front->item[i], total_macs, saved_elements, peak_elements)) return true;
    return false;
}

tn_status tn_training_candidates_add(tn_training_candidates *front, const tn_training_candidate *candidate,
                                     tn_error *error) {
    uint64_t macs = candidate->total_macs, saved = candidate->saved_elements, peak = candidate->peak_elements;
    if (tn_training_candidates_cover(front, macs, saved, peak)) return TN_OK;
    TN_TRY(tn_grow(&front->item, &front->capacity, front->count + 1, sizeof *front->item, error));
    size_t left = 0;
    for (size_t i = 0; i < front->count; i++) {
        const tn_training_candidate *old = &front->item[i];
        if (!covers(candidate, old->total_macs, old->saved_elements, old->peak_elements))
            front->item[left++] = *old;
    }
    front->item[left++] = *candidate;
    front->count = left;
    return TN_OK;
}

static int compare(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int by_counts(const void *a, const void *b) {
    const tn_training_candidate *one = a, *other = b;
    int order = compare(one->total_macs, other->total_macs);
    if (order == 0) order = compare(one->saved_elements, other->saved_elements);
    return order ? order : compare(one->peak_elements, other->peak_elements);
}

void tn_training_candidates_sort(tn_training_candidates *front) {
    if (front->count) qsort(front->item, front->count, sizeof *front->item, by_counts);
}

void tn_training_candidates_free(tn_training_candidates *front) {
    tn_free(front->item);
    *front = (tn_training_candidates){0};
}
