/* The memory of an execution: tensors made and freed one by one, with what is live and its peak. It counts
 * elements as they are allocated and knows nothing of predictions. Internal to the room. */
#ifndef TN_RUN_LIVE_TENSORS_H
#define TN_RUN_LIVE_TENSORS_H

#include "base/error.h"
#include "flow/program.h"
#include "run/product.h"

#include <stdint.h>

typedef struct tn_live_tensors {
    tn_real real;
    uint32_t tensors;
    void **values;      /* [tensors]; NULL: not live */
    uint64_t *elements; /* [tensors], of the live ones */
    uint64_t live_elements, peak_elements[TN_PHASES];
} tn_live_tensors;

tn_status tn_live_tensors_begin(tn_live_tensors *store, tn_real real, uint32_t tensors, tn_error *error);
/* Makes tensor t of that many elements, in `phase`. */
tn_status tn_live_tensors_make(tn_live_tensors *store, uint32_t tensor, uint64_t elements, tn_phase phase,
                               tn_error *error);
void tn_live_tensors_free(tn_live_tensors *store, uint32_t tensor);
/* What is live now is live during `phase`. */
void tn_live_tensors_note(tn_live_tensors *store, tn_phase phase);
void tn_live_tensors_end(tn_live_tensors *store);

/* tensor += addend, which is of the store's type. */
void tn_live_tensors_add(tn_live_tensors *store, uint32_t tensor, const void *addend);

/* Between the store's type and float64; the tensor is live. */
void tn_live_tensors_put(tn_live_tensors *store, uint32_t tensor, const double *values);
void tn_live_tensors_get(const tn_live_tensors *store, uint32_t tensor, double *values);

#endif
