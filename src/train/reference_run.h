/* A reference run as its folder has it: oracle.json, the model, the weights of the first step (docs/train.md). Internal to
 * the room. */
#ifndef TN_TRAIN_REFERENCE_RUN_H
#define TN_TRAIN_REFERENCE_RUN_H

#include "base/arena.h"
#include "base/error.h"
#include "model/model.h"
#include "train/trainer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

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

/* *reference must be closed, opened or not. A folder that is no reference run is TN_INPUT. */
tn_status tn_reference_run_open(const char *folder, tn_reference_run *reference, tn_error *error);
void tn_reference_run_close(tn_reference_run *reference);

/* Sets the trainer's parameters to those of the first step: from initial.npz, or drawn as oracle.json's `arrays` say. */
tn_status tn_reference_run_initial(tn_reference_run *reference, tn_trainer *trainer);

/* Fails: oracle.json has no usable member `what`. */
tn_status tn_reference_run_malformed(const tn_reference_run *reference, const char *what);

#endif
