/* What a trainer holds. For the rooms that execute the step and learn by it. */
#ifndef TN_TRAIN_TRAINER_STATE_H
#define TN_TRAIN_TRAINER_STATE_H

#include "train/gradient_sums.h"
#include "train/lowered_step.h"
#include "train/team.h"
#include "train/trainer.h"
#include "train/zero_shares.h"

/* The step of one size: so many examples of so many tokens. */
typedef struct tn_sized_step {
    uint64_t batch, tokens;
    uint32_t sort; /* of the steps of a run (model/model.h) */
    tn_lowered_step lowered;
} tn_sized_step;

/* A parameter's initial values: the draws of one sequence from this one on, uniform in +-amplitude; 0: none is drawn. */
typedef struct tn_initial_draws {
    uint64_t first;
    double amplitude;
} tn_initial_draws;

/* The examples of a step, laid out as the step reads them. */
typedef struct tn_batch {
    uint32_t *token;  /* [batch * tokens] padding: 0 */
    int32_t *slot;    /* [batch * tokens] negative: no label */
    int32_t *intent;  /* [batch] */
    uint64_t *length; /* [batch] */
    size_t tokens_capacity, examples_capacity;
} tn_batch;

/* How fast operations of about so many multiply-adds run, by one thread and by the team: least seconds for a
 * multiply-add of late, and how often it was tried. */
typedef struct tn_pace {
    double seconds[2];
    uint64_t tries[2], start; /* since: the slower one was tried */
} tn_pace;
enum { TN_SELECTION_ROOM = 6 };
enum { TN_PACES = 64 }; /* by the logarithm of the multiply-adds */

struct tn_trainer {
    tn_arena arena;
    const tn_model *model;
    tn_program_cache *cache, *own_cache; /* own_cache: NULL where it is somebody else's */
    tn_train_settings settings;
    tn_real real;
    const tn_kernels *kernels;
    size_t parameters;
    tn_train_parameter *parameter;
    uint64_t initial_seed;
    tn_initial_draws *initial; /* [parameters] */
    size_t residents;
    void **resident;            /* parameters' values and states, in the order of the step's arrays */
    size_t *resident_parameter; /* of its values, state or mask; of a predictor's matrix its own number */
    void *resident_memory;
    tn_sized_step **sized;
    size_t sized_count, sized_capacity;
    const tn_sized_step *whole; /* of the model's own batch and sequence, the first sort */
    size_t predictors;
    tn_train_parameter *predictor; /* matrices of predictors of gradients */
    uint32_t sort;                 /* that is run; TN_SORT_MEAN: as the run's steps follow each other */
    void *pool_memory, *scratch_memory;
    char *pool, *scratch;
    size_t pool_bytes, scratch_elements;
    tn_rounding_room rounding;
    double *selection_room; /* of the largest sparse parameter, TN_SELECTION_ROOM doubles an element */
    size_t selection_elements;
    tn_zero_counter zeros;
    tn_gradient_sums gradients;
    uint32_t *kept_token,
        *kept_head;    /* of each example, ascending, where tokens and heads are pruned (train/answers.h) */
    double *weight_of; /* of each token or head of an example, to choose by, and room for a row behind them */
    size_t routes;
    tn_route_counts *route; /* of the model's routers, in the order of their layers */
    bool *chosen;           /* [experts] room of a router (train/experts.h), as the two behind it */
    double *share, *gate;
    tn_batch batch;
    double weight[TN_HEADS_MOST];
    uint64_t steps;
    uint64_t place; /* decoding: of the token in its example, from 0; the cache holds those before it */
    bool selected;  /* sparse parameters have their first live elements */
    tn_trainer_watcher watcher;
    void *watcher_user;
    bool timed;
    double product_seconds;
    uint32_t threads;
    tn_crew *crew; /* of so many members; NULL until they are needed */
    tn_pace pace[TN_PACES];
};

/* One step or forward pass on its way. */
typedef struct tn_step_run {
    tn_trainer *t;
    const tn_sized_step *sized;
    uint64_t examples;
    double rate;
    uint32_t *const *class_of;
    tn_step_result *result;
    uint64_t live_elements;
} tn_step_run;

/* Executes the operations from..end-1 of the step, counting multiply-adds and live elements into run->result. */
void tn_run_operations(tn_step_run *run, uint32_t start, uint32_t end);
/* The losses of what the forward phase left, without gradients. */
void tn_run_losses(tn_step_run *run);

/* Where the values of an array of the step lie: for good, or in the pool as long as it lives. */
static inline void *tn_array_values(const tn_step_run *run, uint32_t array) {
    const tn_lowered_step *lowered = &run->sized->lowered;
    const uint64_t place = lowered->place[array];
    return lowered->resident[array] ? (char *)run->t->resident[place] : run->t->pool + place;
}

/* *aligned = `bytes` of zeroed memory at a multiple of 64; *memory is what tn_free takes. */
tn_status tn_aligned_memory(size_t bytes, void **memory, char **aligned, tn_error *error);

/* Names and memory of all that stays, by the step `whole` (trainer_parameters.c). */
tn_status tn_make_parameters(tn_trainer *trainer, tn_error *error);

/* The step of that size and sort, lowered now if it was not yet. */
tn_status tn_trainer_sized(tn_trainer *trainer, uint64_t batch, uint64_t tokens, uint32_t sort,
                           const tn_sized_step **sized, tn_error *error);

#endif
