/* The contraction flows of one model side by side, under a device's kernel prices.
 *
 * For each named flow, every weight in a tensor format that linear layers multiply with takes that flow;
 * tables that are looked up and dense weights stay as they are. A flow that one of these weights does not
 * have is left out; a training flow is priced only where all of them have it. One line more, `optimal-cycles`, has the
 * tree whose products, forward and backward, take the fewest cycles of this build's matmul kernel together if every
 * block lies in one word (exactly: each merge is priced with the two gradients that reverse mode makes of it). That is
 * the time of the products with ideal layouts where nothing runs side by side; otherwise it is a good guess, and another
 * flow may be faster.
 */
#ifndef TN_HARDWARE_FLOW_PRICES_H
#define TN_HARDWARE_FLOW_PRICES_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/named.h"
#include "hardware/build.h"
#include "hardware/device.h"
#include "hardware/price.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_flow_price {
    const char *name; /* "right-to-left", ..., "optimal-cycles" */
    bool as_given;    /* the flow that these weights have in the model file */
    uint64_t macs;    /* of a step, all phases */
    uint64_t saved_elements, peak_elements;
    tn_price price;
} tn_flow_price;

enum { TN_FLOW_PRICES_MOST = TN_FLOWS + 2 };

/* line[TN_FLOW_PRICES_MOST]; *count is 0 where no weight is in a tensor format. The model is as before
 * afterwards. */
tn_status tn_flow_prices(tn_model *model, const tn_device *device, const tn_build *build,
                         tn_program_cache *cache, tn_flow_price *line, uint32_t *count, tn_error *error);

#endif
