/* A small model, generated questions and a training run of them, in the test's folder. */
#ifndef TEST_SUPPORT_SMALL_RUN_H
#define TEST_SUPPORT_SMALL_RUN_H

#include "learn/training.h"
#include "support/folder.h"

typedef struct test_small_run {
    tn_arena arena; /* of all that it holds; free it */
    tn_model *model;
    tn_dataset data;
    tn_training run; /* three epochs in float32 */
    tn_training_result result;
    tn_error error;
} test_small_run;

/* Group set-up: the test's folder with `data`, 200 sentences to train, and small.yaml. */
int test_small_set_up(void **state);
const char *test_small_data(void);

void test_small_begin(test_small_run *b, const char *const *set, size_t sets);
tn_status test_small_train(test_small_run *b);

#endif
