#include "run/live_tensors.h"

#include "base/memory.h"

#include <string.h>

tn_status tn_live_tensors_begin(tn_live_tensors *store, tn_real real, uint32_t tensors, tn_error *error) {
    *store = (tn_live_tensors){.real = real, .tensors = tensors};
    TN_TRY(tn_alloc(tensors, sizeof *store->values, &store->values, error));
    return tn_alloc(tensors, sizeof *store->elements, &store->elements, error);
}

tn_status tn_live_tensors_make(tn_live_tensors *store, uint32_t tensor, uint64_t elements, tn_phase phase,
                               tn_error *error) {
    TN_TRY(tn_alloc(elements, tn_real_bytes(store->real), &store->values[tensor], error));
    store->elements[tensor] = elements;
    store->live_elements += elements;
    tn_live_tensors_note(store, phase);
    return TN_OK;
}

void tn_live_tensors_note(tn_live_tensors *store, tn_phase phase) {
    if (store->live_elements > store->peak_elements[phase])
        store->peak_elements[phase] = store->live_elements;
}

void tn_live_tensors_free(tn_live_tensors *store, uint32_t tensor) {
    if (!store->values[tensor]) return;
    tn_free(store->values[tensor]);
    store->values[tensor] = NULL;
    store->live_elements -= store->elements[tensor];
}

void tn_live_tensors_end(tn_live_tensors *store) {
    for (uint32_t t = 0; store->values && store->elements && t < store->tensors; t++)
        tn_live_tensors_free(store, t);
    tn_free(store->values);
    tn_free(store->elements);
}

void tn_live_tensors_add(tn_live_tensors *store, uint32_t tensor, const void *addend) {
    uint64_t elements = store->elements[tensor];
    if (store->real == TN_FLOAT64)
        for (uint64_t i = 0; i < elements; i++)
            ((double *)store->values[tensor])[i] += ((const double *)addend)[i];
    else
        for (uint64_t i = 0; i < elements; i++)
            ((float *)store->values[tensor])[i] += ((const float *)addend)[i];
}

void tn_live_tensors_put(tn_live_tensors *store, uint32_t tensor, const double *values) {
    if (store->real == TN_FLOAT64) {
        memcpy(store->values[tensor], values, store->elements[tensor] * sizeof *values);
        return;
    }
    float *single = store->values[tensor];
    for (uint64_t i = 0; i < store->elements[tensor]; i++) single[i] = (float)values[i];
}

void tn_live_tensors_get(const tn_live_tensors *store, uint32_t tensor, double *values) {
    if (store->real == TN_FLOAT64) {
        memcpy(values, store->values[tensor], store->elements[tensor] * sizeof *values);
        return;
    }
    const float *single = store->values[tensor];
    for (uint64_t i = 0; i < store->elements[tensor]; i++) values[i] = single[i];
}
