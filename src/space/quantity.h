/* The quantities of a design that objectives and constraints speak of and that every row of a result holds.
 */
#ifndef TN_SPACE_QUANTITY_H
#define TN_SPACE_QUANTITY_H

#include "base/error.h"
#include "base/public.h"
#include "price/price.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* What is known of one evaluated design. */
typedef struct tn_evaluation {
    tn_price price;
    /* Degrees of freedom are those of the weights that the space's choices vary: what every design has alike
     * (other weights, biases, norms, positions, heads) tells none from another. */
    uint64_t parameters, degrees_of_freedom, macs_per_step, peak_elements, steps_per_epoch;
    double error;              /* relative error of its weights by the space's error table; NaN without one */
    double accuracy;           /* by the space's accuracy table; NaN where that has none for it */
    double perplexity;         /* in its place, where the table has perplexities */
    double accuracy_deviation; /* of that mean; NaN likewise */
    double accuracy_interpolated; /* tn_accuracy_basis; NaN: no accuracy */
    uint32_t obstacle;            /* to its hardware (price/obstacle.h); 0: none */
} tn_evaluation;

/* What is said of a quantity before a design is priced. */
typedef enum tn_bounded {
    TN_BOUNDED_BY_STEP, /* its value, by the step: all builds of it have the same */
    TN_BOUNDED_EXACTLY, /* its value, by tn_price_bound: layouts do not matter to it; of a set of builds the least of theirs, which all
                           have whose kernels are the same, but for one of memories */
    TN_BOUNDED_BELOW    /* no more than its value, by tn_price_bound */
} tn_bounded;

typedef struct tn_quantity {
    const char *name; /* with its unit, as the column of front.csv is called */
    bool maximise;    /* as an objective; all others are minimised */
    bool whole;       /* a count: printed without decimals */
    tn_bounded bounded;
    bool of_cycles;   /* of designs of one step it is in proportion to cycles_per_step */
    bool of_memories; /* designs that differ in the places of memories alone may differ in it */
    double (*get)(const tn_evaluation *evaluation);
    const char *help;
} tn_quantity;

/* Whether it numbers obstacles (price/obstacle.h): files have their keys instead. */
bool tn_quantity_is_obstacle(const tn_quantity *quantity);

/* What is known of the quantities of a design, or of all designs of a set. */
typedef enum tn_known {
    TN_KNOWN_WHOLE,   /* all of them */
    TN_KNOWN_BOUND,   /* what bounds its price */
    TN_KNOWN_KERNELS, /* what the step and the kernels decide, and what bounds the prices of all */
    TN_KNOWN_STEP,    /* what the step decides, and what bounds the prices of all */
    TN_KNOWN_LEAST    /* what bounds the prices of all */
} tn_known;

/* The values that a number may have. */
typedef struct tn_span {
    double least, most;
} tn_span;
extern const tn_span tn_any_number;

/* Those of a quantity of which `value` is what is known, and that is at most `most`; NaN is a value, too. */
tn_span tn_quantity_span(const tn_quantity *quantity, tn_known known, double value, double most);

/* What no design exceeds that takes no more than the budget: its resources, and the bytes of its blocks; all else may be anything:
 * infinite or past all counts, what is a difference of two such NaN. */
tn_evaluation tn_evaluation_most(const tn_resources *budget);

extern const tn_quantity tn_quantities[];
extern const size_t tn_quantities_count;

/* The quantity of that name, or TN_INPUT at `position` that suggests the nearest one. */
tn_status tn_quantity_find(const char *name, tn_position position, const tn_quantity **quantity,
                           tn_error *error);

TN_PUBLIC_END

#endif
