/* The front of training flows by brute force, written from the definitions in program/training.h and
 * program/program.h and sharing nothing with the library: every pair of trees, every set of values that both
 * have, every order of steps (by trying each next step, remembering sets of done steps). For networks of up
 * to 6 tensors. With several micro-batches: every tree, every set of kept values and of shared merges. */
#ifndef TEST_SUPPORT_TRAINING_BRUTE_H
#define TEST_SUPPORT_TRAINING_BRUTE_H

#include "tensor/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEST_TRAINING_TENSORS = 6, TEST_TRAINING_FRONT = 512 };

typedef struct test_training_point {
    uint64_t macs, saved, peak;
} test_training_point;

typedef struct test_training_front {
    size_t count;
    test_training_point point[TEST_TRAINING_FRONT]; /* fewest MACs first */
} test_training_front;

test_training_front test_training_brute(const tn_network *network, bool input_gradient,
                                        uint64_t micro_batches);

/* Whether some flow of one tree forward, any of its values kept, and any number of trees backward takes fewer
 * MACs than each of the points that have no more saved elements. For up to 5 tensors. */
bool test_training_beats(const tn_network *network, bool input_gradient, const test_training_point *point,
                         size_t count);

/* The least MACs of any set of steps that makes Y and the gradients, along however many trees; for up to 5
 * tensors. */
uint64_t test_training_least_macs(const tn_network *network, bool input_gradient);

#endif
