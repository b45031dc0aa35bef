/* Every design of a small space priced on its own: by an evaluator made for it alone, that has seen no other design. And
 * their front by comparing all pairs. What sweeps, bounds and decompositions say is compared with this. */
#ifndef TEST_SUPPORT_EVERY_DESIGN_H
#define TEST_SUPPORT_EVERY_DESIGN_H

#include "search/evaluator.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct test_design {
    tn_status status; /* of its evaluation */
    uint32_t cause;
    tn_evaluation evaluation;
    bool on_front;
} test_design;

typedef struct test_every_design {
    uint64_t designs, feasible, failed, front;
    test_design *design; /* [designs], by id */
    tn_error error;      /* of the first that failed */
} test_every_design;

test_every_design test_price_every_design(const tn_space *space);
void test_every_design_free(test_every_design *all);

/* Marks the front: feasible designs that no other is as good as in every objective and better in one, and of equal ones
 * that of the least id[design]. */
void test_mark_front(const tn_space *space, test_every_design *all, const uint64_t *id);

/* Whether a design has a price. */
bool test_has_price(const test_design *design);

#endif
