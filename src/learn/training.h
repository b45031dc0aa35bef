/* A training run: epochs over a data set, scored on dev and test after each, with a checkpoint after each from
 * which a later run goes on bit for bit.
 */
#ifndef TN_LEARN_TRAINING_H
#define TN_LEARN_TRAINING_H

#include "base/error.h"
#include "base/memory.h"
#include "design/design.h"
#include "learn/dataset.h"
#include "model/model.h"
#include "model/train_settings.h"
#include "train/trainer.h"

#include <stdbool.h>
#include <stdint.h>

/* Accuracies are shares of 1; NAN where the data have no such label. */
typedef struct tn_scores {
    double loss, intent_accuracy, slot_accuracy, slot_f1;
} tn_scores;

typedef struct tn_epoch {
    uint64_t epoch;       /* from 1 */
    double loss;          /* mean over the epoch's steps */
    double learning_rate; /* of its first step */
    tn_scores dev, test;
    bool collapsed; /* all words of dev (without labels: all sentences) get the same answer, and should not */
} tn_epoch;

typedef struct tn_predicted_executed {
    uint64_t predicted, executed;
} tn_predicted_executed;

/* Ranks of a layer that are left. */
typedef struct tn_adapted_layer {
    const char *layer;
    uint32_t ranks;
    const uint64_t *rank; /* [ranks], ends included */
    uint64_t parameters;
} tn_adapted_layer;

/* What a step takes on the device, with the ranks before and behind. */
typedef struct tn_device_price {
    double seconds_per_step;
    uint64_t memory_bytes; /* on the chip and beside it */
} tn_device_price;

/* Where training.rank_penalty asked for it: the model without the slices that vanished. */
typedef struct tn_adapted {
    bool done;
    uint64_t slices, slices_left; /* of all bonds that were penalised */
    uint64_t parameters;
    tn_predicted_executed macs_per_step, peak_elements; /* of a step at the full sequence */
    bool priced;                                        /* on a device: */
    tn_device_price before, after;
    tn_scores dev, test;
    size_t layers;
    tn_adapted_layer *layer;
} tn_adapted;
/* One sort of the run's steps (model/model.h): what a step of it at the model's full sequence comes to. */
typedef struct tn_step_sort_result {
    const char *name; /* "true", "predicted", "exit 1" */
    double share;     /* of the steps, or of the inputs */
    tn_predicted_executed macs, peak_elements;
} tn_step_sort_result;

/* Where inputs leave early: behind the first repetition of the blocks at which the answers' entropy is low enough. */
typedef struct tn_exit_result {
    const char *name;
    double entropy; /* most with which an input leaves here; set on dev, for the wanted share */
    double wanted, of_dev, of_test; /* shares of the inputs */
} tn_exit_result;

/* What a router of a mixture of experts sent to one expert in the last pass over the training data (of steps on random words: in
 * all of them), padding left out; `dropped`: of them those that found no room. */
typedef struct tn_router_load {
    const char *layer;
    uint64_t expert; /* from 0 */
    uint64_t tokens, dropped;
    double share; /* of the router's choices */
} tn_router_load;

typedef struct tn_training_watch {
    /* Steps done of all, the latest mean loss and the rate; NULL: nobody watches. */
    void (*report)(void *user, uint64_t step, uint64_t steps, double loss, double rate);
    void (*finished)(void *user, const tn_epoch *epoch);
    void *user;
    void (*stepped)(void *curve, uint64_t step, uint64_t steps,
                    double loss); /* the loss of each step alone */
    void *curve;
} tn_training_watch;

typedef struct tn_training {
    const tn_model *model;
    const tn_dataset *data; /* NULL: `steps` steps on random words of the full sequence */
    tn_train_settings settings;
    tn_real real;
    uint64_t steps;      /* without data */
    uint32_t threads;    /* that execute a step; 0: one. The result is the same for any number */
    uint64_t stop_after; /* epochs of this run; 0: all */
    const char *weights; /* file of initial parameters; NULL: drawn */
    const char *folder;  /* of checkpoint, weights and, where ranks adapt, model.yaml; NULL: none */
    bool resume;
    const tn_design
        *design; /* what a slice of a core costs on its device weighs the rank penalty; NULL: all the same */
    bool priced; /* what each step takes on the design's device is added up */
    const char
        *history; /* CSV file, written when the run ends: a row for each step (learn/history.h); NULL: none */
    uint64_t score_steps; /* steps after which dev is scored, for the history; 0: after epochs alone */
    uint64_t
        gradient_steps; /* steps of a window over which gradients vary, for the history; 0: not measured */
    tn_training_watch watch;
} tn_training;

typedef struct tn_training_result {
    uint64_t parameters;
    uint64_t steps; /* in all, those before a resume included */
    uint64_t examples, seed;
    tn_predicted_executed
        macs_per_step; /* of a step at the model's full sequence; of several sorts the mean, rounded */
    tn_predicted_executed peak_elements; /* of the same; of several sorts the most */
    size_t sorts;
    tn_step_sort_result *sort;
    tn_zeros zeros;
    double
        wide_share; /* of the operands that a precision schedule made wide, in all steps of this run; NAN: there is none */
    bool priced;
    double device_seconds, device_joules; /* of all steps of this run, as priced */
    bool evaluated;                       /* nothing was trained: */
    tn_scores dev, test;
    size_t exits;
    tn_exit_result *exit;
    tn_predicted_executed macs; /* of all steps of this run, at the lengths that were run */
    double seconds_per_step;    /* of the steps that this run took; NAN where a resume found none left */
    const char *diverged;       /* what happened; NULL: it did not */
    const char *collapsed;      /* the last epoch has; what to say of it; NULL: not */
    tn_adapted adapted;
    size_t loads;
    tn_router_load
        *load; /* router by router, each expert by expert; none after a resume that found no step left */
    size_t epochs;
    tn_epoch *epoch;
} tn_training_result;

/* Lists and texts of *result live in `arena`. A run that diverges is TN_OK with result->diverged set, and writes
 * no weights. TN_INTERRUPTED where it was asked to stop: checkpoints stay. */
tn_status tn_training_run(const tn_training *training, tn_arena *arena, tn_training_result *result,
                          tn_error *error);

/* What the sorts of step of a run come to (model/model.h, tn_step_sorts). Internal to the room. */

/* Notes one execution of the next sort at the full sequence in training->sort, which has room for all, and mean and most of those
 * so far. */
tn_status tn_note_sort(tn_trainer *trainer, uint32_t sort, const tn_step_result *result, tn_arena *arena,
                       tn_training_result *training, tn_error *error);

#endif
