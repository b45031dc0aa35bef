/* A reference training run, and how far ours is from it (docs/train.md).
 *
 * A folder has oracle.json and, where the weights are given, model.yaml, initial.npz, final.npz and, for each sample,
 * gradientsN.npz and activationsN.npz. Where they are not, oracle.json names each array's amplitude and the
 * weights are drawn by SplitMix64 as it says; then the loss of every step and the norms and sums of the arrays
 * are compared. Every flow that the model's weights have is run, in float64 and float32: those that are trees, the best training
 * flow, and the optimal one with updates written back where a gradient is finished (update.when). Flow `dense` of a
 * compressed matrix is run in float64, and only where the matrix is small.
 *
 * The error of an array is the norm of the difference over the norm of what is expected; an array that is zero
 * but for rounding (norm below 1e-9 of the largest array's, such as the gradient of a key's bias, which softmax
 * cancels) is measured against that largest norm. Tolerances: 1e-12 in float64 and 1e-5 in float32; executed
 * multiply-adds and peak live elements must be the predicted ones.
 */
#ifndef TN_TRAIN_TRAIN_CASE_H
#define TN_TRAIN_TRAIN_CASE_H

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "run/product.h"
#include "train/trainer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A reference run as its folder has it: oracle.json, the model, the weights of the first step (docs/train.md). Internal to
 * the room. */

typedef struct tn_reference_sample {
    tn_example example;
    double loss; /* at the first weights; NAN: not told */
} tn_reference_sample;

typedef struct tn_reference_run {
    const char *folder;
    json_t *root; /* oracle.json */
    tn_model *model;
    bool drawn; /* weights from the generator, not from a file */
    size_t samples, steps;
    tn_reference_sample *sample;
    double rate;
    tn_train_settings settings;
    tn_arena arena;
    tn_error *error;
} tn_reference_run;

typedef struct tn_train_check {
    const char *name;     /* "sample 0", "step 9", "10 steps" */
    const char *quantity; /* "loss", "activations", "gradients", "weights", "macs", "peak_elements" .. */
    const char *worst;    /* the array that is farthest off, or NULL */
    const char *flow;
    tn_real real;
    double relative_error, tolerance;
    bool ok;
} tn_train_check;

typedef struct tn_train_checks {
    tn_arena arena;
    tn_train_check *item;
    size_t count, capacity;
    bool failed;
} tn_train_checks;

/* `flow`: this one alone ("optimal", "optimal, write-back"); NULL: every one. */
tn_status tn_train_case(const char *folder, const char *flow, uint32_t threads, tn_train_checks *checks,
                        tn_error *error);
void tn_train_checks_free(tn_train_checks *checks);

#endif
