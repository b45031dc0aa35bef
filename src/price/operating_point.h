/* Clock and voltage of a step that has time until a deadline (model key dvfs): each input has the slowest clock that still meets
 * it, and the voltage of that clock. Inputs of early exits differ: who leaves early has fewer cycles in the same time. Tambe et
 * al., EdgeBERT, MICRO 2021, section 5. Inside the room. */
#ifndef TN_PRICE_OPERATING_POINT_H
#define TN_PRICE_OPERATING_POINT_H

#include "device/device_data.h"
#include "model/step.h"
#include "price/work.h"

typedef struct tn_operating_point {
    double seconds;         /* of the mean input */
    double lowered;         /* share by which the voltage is below the device's, by time, */
    double lowered_squared; /* and its square below that square, by cycles */
} tn_operating_point;

tn_operating_point tn_operating_point_of(const tn_step *step, const tn_device *device,
                                         const tn_work_price *work);

#endif
