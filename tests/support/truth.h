/* Every design of a space beside a front that was found by decomposition. */
#ifndef TEST_SUPPORT_TRUTH_H
#define TEST_SUPPORT_TRUTH_H

#include "front/archive.h"
#include "search/decomposition.h"

#include <stdint.h>

typedef struct truth {
    tn_archive front; /* free it */
    uint64_t feasible;
} truth;

/* Fails where the factors of what was found do not hold of some design. */
void test_enumerate(const tn_space *space, truth *all, const tn_decomposed *found);

#endif
