/* The memory of an execution: tensors made and freed one by one, with what is live and its peak. It counts
 * elements as they are allocated and knows nothing of predictions. Internal to the room. */
#ifndef TN_RUN_LIVE_TENSORS_H
#define TN_RUN_LIVE_TENSORS_H

#include "base/error.h"
#include "flow/program.h"
#include "run/product.h"

#include <stdint.h>

typedef struct tn_store {
    tn_real real;
    uint32_t tensors;
    void **values;      /* [tensors]; NULL: not live */
    uint64_t *elements; /* [tensors], of the live ones */
    uint64_t live_elements, peak_elements[TN_PHASES];
} tn_store;

tn_status tn_store_begin(tn_store *store, tn_real real, uint32_t tensors, tn_error *error);
/* Makes tensor t of that many elements, in `phase`. */
tn_status tn_store_make(tn_store *store, uint32_t tensor, uint64_t elements, tn_phase phase, tn_error *error);
void tn_store_free(tn_store *store, uint32_t tensor);
/* What is live now is live during `phase`. */
void tn_store_note(tn_store *store, tn_phase phase);
void tn_store_end(tn_store *store);

/* tensor += addend, which is of the store's type. */
void tn_store_add(tn_store *store, uint32_t tensor, const void *addend);

/* Between the store's type and float64; the tensor is live. */
void tn_store_put(tn_store *store, uint32_t tensor, const double *values);
void tn_store_get(const tn_store *store, uint32_t tensor, double *values);

#endif
