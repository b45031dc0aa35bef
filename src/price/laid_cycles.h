/* Cycles of a step's operations with every operand where it lies (memory/laid.h): what generated hardware takes, operation
 * by operation (tests/rtl). Inside the room.
 *
 *   products of layers   the issues of their layouts; of a look-up in cores a product for each token, whose gradients
 *                        are added into the slice that the token names, set to zero once
 *   attention            R x P and P x C blocks of matrices in their words
 *   vector kernels       passes of V columns of a row, each block as many cycles as its fullest bank has words of it;
 *                        look-ups and scatters row by row
 *   updates              word by word, padding included
 *   parts of gradients   products over the part of an index (layout/product_layout.h), copies and updates row by row of
 *                        what holds the part; for a bound ideally
 */
#ifndef TN_PRICE_LAID_CYCLES_H
#define TN_PRICE_LAID_CYCLES_H

#include "model/attention.h"
#include "price/plan.h"

typedef struct tn_laid_time {
    uint64_t
        cycles; /* first issue to last effect of every product and pass; 0: the operation is priced ideally */
    uint64_t start_cycles; /* that starting and draining them takes on the device */
    uint64_t products;     /* that it is done in: of a look-up in cores one a token */
    uint64_t
        passes; /* of vector kernels; beside products those that set to zero and add what a token makes */
    uint64_t pass_cycles; /* of `cycles` and `start_cycles` what these take */
} tn_laid_time;

/* What an operation of a class took, by what that depends on: operations of one class whose operands lie alike take equally
 * long. Of attention and passes; the layers' own products are kept with their layouts. */
typedef struct tn_laid_class {
    uint64_t
        edges[7]; /* of the build, lanes of the kernel and of its unit, its array; 0: nothing is known yet */
    const tn_attention_product *attention;
    uint64_t group; /* of it: query heads that share a head of keys */
    tn_laid_words words[TN_OPERATION_READS + TN_OPERATION_WRITES];
    tn_laid_time time;
} tn_laid_class;

tn_status tn_laid_cycles(tn_workload *workload, const tn_plan *plan, const tn_build *build,
                         uint32_t operation, tn_laid_time *time, tn_error *error);

/* Elements that an update goes over, padded rows of its parameter; 0: the operation is none, or its parameter's elements
 * lie one behind the other. */
uint64_t tn_laid_update_elements(const tn_laid *laid, const tn_map *map, const tn_operation *operation,
                                 uint64_t lanes);

#endif
