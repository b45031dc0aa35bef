/* The named changes of a design (design/design.h), each of them another design with its price: other clocks, memories grouped
 * and placed otherwise, every flow, the flow that is fastest, each technique before and behind it. */
#ifndef TN_DESIGN_CHANGES_H
#define TN_DESIGN_CHANGES_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "design/design.h"
#include "flow/named.h"

#include <stdbool.h>
#include <stdint.h>

/* A step's price at other clocks: 100, 150 and 200 MHz, the device's own, and above 200 MHz those that rows of
 * the device's operators meet. A clock that some operator of the step does not meet is left out: nothing is
 * extrapolated. Slower operators have fewer stages, so cycles differ too. What a clock asks of placement and
 * routing is not in it.
 */

TN_PUBLIC_BEGIN

enum { TN_CLOCKS_MOST = 12 };

typedef struct tn_clock_price {
    double clock_MHz;
    uint64_t cycles_per_step;
    double seconds_per_step;
    uint64_t dsp;
} tn_clock_price;

/* Ascending by clock. */
tn_status tn_clock_prices(const tn_priced *given, tn_clock_price *price, uint32_t *count, tn_error *error);

TN_PUBLIC_END

/* What grouping and placement are worth for one design: the memories of a build with each core alone, as the
 * build groups them, and placed by search. */

enum { TN_GROUPINGS = 3 };

typedef struct tn_grouping {
    const char *name; /* "each core alone", "as built", "searched" */
    uint64_t bram18, uram, lutram;
    double stored_bits, capacity_bits; /* of all memories together */
    bool fits;                         /* beside the build's kernels */
    bool exact;                        /* nothing else fits in less; false for what was not searched */
} tn_grouping;

/* line[TN_GROUPINGS] */
tn_status tn_grouping_compare(const tn_priced *given, tn_grouping *line, tn_error *error);

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

typedef struct tn_flow_price {
    const char *name; /* "right-to-left", ..., "optimal-cycles" */
    bool as_given;    /* the flow that these weights have in the model file */
    uint64_t macs;    /* of a step, all phases */
    uint64_t saved_elements, peak_elements;
    tn_price price;
} tn_flow_price;

enum { TN_FLOW_PRICES_MOST = TN_FLOWS + 2 };

/* line[TN_FLOW_PRICES_MOST]; *count is 0 where no weight is in a tensor format. */
tn_status tn_flow_prices(const tn_design *design, tn_program_cache *cache, tn_flow_price *line,
                         uint32_t *count, tn_error *error);

/* The flow `fastest`: of each weight that asks for it, the one of its flows with which a step takes the fewest cycles under a
 * build on a device, layouts and all.
 *
 * It is chosen from the flows that are trees (`dense`, `right-to-left`, `bidirectional`, `bidirectional-published`, `optimal`)
 * and from `cheapest-2` to `cheapest-8`; of a weight that is looked up from the two that look-ups have. Every one of them is
 * priced (price/price.h), so with one such weight the answer is exact over these flows; several are settled one after the
 * other, the others standing, until none changes: no change of a single weight's flow is then better. Where some of the
 * designs fit the device, the fastest of those is taken; of equally fast ones that of the least memory, then the first.
 */

TN_PUBLIC_BEGIN

/* Whether a weight asks for it. */
bool tn_flows_are_open(tn_model *model);

/* Gives each weight of the design's model that asks for it such a flow. A model that no flow gives a price is the error of
 * the last. */
tn_status tn_flows_settle(tn_design *design, tn_error *error);

TN_PUBLIC_END

/* Before, and behind. */
typedef struct tn_change {
    uint64_t before, after;
} tn_change;
typedef struct tn_real_change {
    double before, after;
} tn_real_change;

/* What each technique of a design changes: first the format of everything, then the transformations that its model asks
 * for (step/transformation.h), in the order in which they are applied, then what its memories and kernels are.
 *
 * A technique that rewrites no list of operations: */
typedef struct tn_design_choice {
    const char *name, *keys, *source, *changes; /* as of a transformation */
    bool comes_first;                           /* before the transformations */
    bool (*wanted)(const tn_design *design);
    void (*leave_out)(tn_design *design); /* whose model may be changed */
} tn_design_choice;
extern const tn_design_choice tn_design_choices[]; /* ended by one without a name */

typedef struct tn_technique_price {
    const char *name, *keys;
    tn_change macs;                    /* of a step, all phases */
    tn_change saved_bytes, peak_bytes; /* activations kept for the backward pass; most live at once */
    tn_change cycles_per_step;
    tn_real_change joules_per_step;
} tn_technique_price;

/* Lives in `arena`. */
tn_status tn_technique_prices(const tn_design *design, tn_program_cache *cache, tn_arena *arena,
                              tn_technique_price **line, uint32_t *count, tn_error *error);

#endif
