/* What the designs of a space learn: one candidate for every combination of the choices that accuracy depends on
 * (formats, foldings, ranks and other keys of the model; never flows, parallelism or memories), trained where it changes the
 * recommendation most.
 *
 * Candidates spread over the space begin. Where that is not all, and the space has accuracy as an objective, the space is swept
 * by what is known so far (space/accuracy_model.h), and the next training is the one whose result tells most of what is open
 * about the knee of the front for each second it takes (results/settled.h); each result counts for the next choice, and the
 * space is swept anew from time to time. It ends when the knee is settled with the wanted probability, or time or effort are spent.
 *
 * DIR/runs.csv has a line a finished run, appended: a study that was stopped goes on where it was, and several processes
 * (shards) may share a folder. An unfinished run goes on from its checkpoint. DIR/accuracy.csv is the table of all.
 */
#ifndef TN_LEARN_ACCURACY_STUDY_H
#define TN_LEARN_ACCURACY_STUDY_H

#include "base/error.h"
#include "base/memory.h"
#include "learn/training.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_study_options {
    const char *folder; /* DIR: runs.csv, accuracy.csv, checkpoints of candidates */
    const char
        *space_name; /* as tn_space_load takes it, for the space with the table so far; with its overrides */
    const char *const *set;
    size_t sets;
    uint64_t
        effort;     /* epochs to spend, all candidates together, those of earlier studies in the folder too */
    uint64_t seeds; /* with which the candidates that begin are trained; at least 1 */
    uint64_t shard, shards; /* 0 .. shards - 1 */
    unsigned threads;       /* candidates side by side; 0: one */
    double sure; /* the probability with which the knee is to be settled; 0: effort and time end the study */
    double seconds;       /* 0: no bound */
    const char *settings; /* of `tenfold train`, as they stand in a command line, for the table */
    tn_train_settings settings_of_runs;
    tn_training_watch watch;
} tn_study_options;

/* One candidate: mean over those of its seeds that did not collapse; NAN where all did. Accuracy is the mean of the shares of
 * right classes and right labels on dev, of those the data have. */
typedef struct tn_study_row {
    uint64_t id; /* of the first design with its choices */
    uint64_t parameters, epochs, seeds,
        collapsed;           /* collapsed: seeds that diverged or give one answer to all */
    double accuracy, spread; /* spread: standard deviation over seeds; NAN for one */
    double seconds;          /* of training, all seeds */
    tn_scores dev, test;     /* means over these seeds */
    const char *seed_list;   /* "1 2" */
    const char *command;     /* that trains it, but for data and seed */
    size_t curve_epochs;
    const double *curve; /* [curve_epochs] accuracy after each epoch of the first seed */
} tn_study_row;

typedef struct tn_study {
    size_t count;
    tn_study_row *row;             /* by falling accuracy */
    uint64_t combinations, epochs; /* in all; spent, those of earlier studies in the folder too */
    uint64_t sentences;
    tn_scores constant_dev, constant_test; /* of the most frequent class and label */
    /* Of the last front by what was known: */
    bool chosen;
    uint64_t recommended; /* the knee */
    double probability;   /* with which it is the knee */
    const char *ended;    /* why the study did */
} tn_study;

tn_status tn_accuracy_study(const tn_space *space, const char *data, const tn_study_options *options,
                            tn_arena *arena, tn_study *study, tn_error *error);

/* Appends the table: id, the choices, parameters, epochs, seeds, accuracy .. . */
void tn_study_csv(const tn_space *space, const tn_study *study, tn_buffer *out);

#endif
