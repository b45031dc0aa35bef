/* A study of accuracies at work (learn/accuracy_study.h): its runs, the front of its last sweep, and what to train next. What is asked and
 * answered, and inside the room its state. */
#ifndef TN_LEARN_ACCURACY_SESSION_H
#define TN_LEARN_ACCURACY_SESSION_H

#include "front/archive.h"
#include "learn/training.h"
#include "search/evaluator.h"
#include "space/space.h"

#include <pthread.h>
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
 * right classes and right labels on dev, of those the data have; of text there is a perplexity in its place. */
typedef struct tn_study_row {
    uint64_t id; /* of the first design with its choices */
    uint64_t parameters, epochs, seeds,
        collapsed; /* collapsed: seeds that diverged or give one answer to all */
    double
        learned; /* what the model of measurements has (space/accuracy_table.h): the accuracy, or as perplexity */
    double accuracy, perplexity; /* one of them NAN */
    double spread;               /* of that one, standard deviation over seeds; NAN for one */
    double seconds;              /* of training, all seeds */
    tn_scores dev, test;         /* means over these seeds */
    const char *seed_list;       /* "1 2" */
    const char *command;         /* that trains it, but for data and seed */
    size_t curve_epochs;
    const double *curve; /* [curve_epochs] accuracy after each epoch of the first seed */
} tn_study_row;

typedef struct tn_study {
    size_t count;
    tn_study_row *row;             /* by falling accuracy */
    uint64_t combinations, epochs; /* in all; spent, those of earlier studies in the folder too */
    uint64_t sentences;
    bool is_text;                          /* perplexities of the next byte */
    tn_scores constant_dev, constant_test; /* of the most frequent class and label */
    double dense;                          /* learned by the dense model, as the table's model says; NAN */
    /* Of the last front by what was known: */
    bool chosen;
    uint64_t recommended; /* the knee */
    double probability;   /* with which it is the knee */
    const char *ended;    /* why the study did */
} tn_study;

/* A training: done, or in work where `epochs` is 0. */
typedef struct {
    uint64_t id, seed, epochs, parameters, macs;
    double seconds;
    bool collapsed;
    tn_scores dev, test;
    const char *curve; /* "0.81 0.86", after each epoch */
} tn_study_run;

/* The front of the last sweep, and what it says by the table of now. */
typedef struct {
    tn_arena arena;
    bool swept, start; /* without: accuracy is no objective of the space, or no design is on the front */
    size_t runs;       /* that the swept table had */
    double seconds;    /* that the sweep took */
    const tn_space *space;
    size_t count;
    tn_point *point;
    double *macs; /* [count] of a step */
} tn_study_front;

typedef struct tn_study_session {
    const tn_space *space;
    const tn_study_options *options;
    const char *data;
    tn_study *study;
    tn_arena *arena;
    size_t axis[TN_AXES_MOST], axes; /* the choices that accuracy depends on */

    pthread_mutex_t lock; /* of all that follows, and of the arena */
    tn_study_run *run;
    size_t runs, room;
    uint64_t *begin; /* first candidates, in order */
    size_t begins;
    tn_study_front front;
    double began;
    uint64_t steps_told;
    bool ends;
    tn_status status; /* the first failure of a worker */
    tn_error error;
} tn_study_session;

/* The first design of a combination; that with the choices of another one that accuracy depends on. */
uint64_t tn_study_design_of(const tn_study_session *s, uint64_t combination);
uint64_t tn_study_first_like(const tn_study_session *s, uint64_t id);

/* All that follows: with the lock held. Place of a run among them, s->runs where there is none. */
size_t tn_study_place_of_run(const tn_study_session *s, uint64_t id, uint64_t seed);
tn_status tn_study_add_run(tn_study_session *s, tn_study_run run, tn_error *error);
/* Takes up what runs.csv has of an earlier study, or of other shards. */
tn_status tn_study_read_runs(tn_study_session *s, tn_error *error);
/* Rows of all candidates with a run that is done, in s->study, and the file of them. */
tn_status tn_study_write_table(tn_study_session *s, tn_evaluator *evaluator, tn_arena *arena,
                               tn_error *error);

/* The candidates that begin. */
tn_status tn_study_plan(tn_study_session *s, tn_error *error);
/* The next training, added to the runs: *place among them, or *found = false where there is none. */
tn_status tn_study_next(tn_study_session *s, tn_arena *arena, tn_evaluator *evaluator, size_t *place,
                        bool *found, tn_error *error);

/* Of no run. */
extern const tn_scores tn_study_no_scores;
/* The mean of intent and slot accuracy; of text, whose tokens are told without chunks, what stands for the perplexity of the next
 * byte (space/accuracy_table.h). */
double tn_study_accuracy(const tn_scores *scores);
bool tn_study_is_text(const tn_scores *scores);
void tn_study_put_scores(tn_buffer *out, const tn_scores *scores);
/* Appends a finished run to runs.csv, so that it outlives the process. */
tn_status tn_study_append_run(tn_study_session *s, const tn_study_run *run, tn_error *error);
tn_status tn_study_runs_path(const tn_study_session *s, tn_arena *arena, const char **path, tn_error *error);

/* Appends the table: id, the choices, parameters, epochs, seeds, accuracy .. . */
void tn_study_csv(const tn_space *space, const tn_study *study, tn_buffer *out);

#endif
