/* A training step lowered to what this CPU executes: every operation of a tn_step with its kernel, the plans of its
 * products, and a place in memory for every array.
 *
 * Lifetimes are found here anew, by counting which operations touch an array, and memory is dealt out by them:
 * arrays whose lives do not meet share memory, so that a step allocates nothing. The live elements that the
 * execution reports are counted as it goes: what an operation makes is added before it, what nobody touches
 * any more is taken off behind it. Nothing here reads the predicted lifetimes, peaks or counts.
 *
 * Parameters and the optimizer's state lie outside (train/trainer.h); a step of a shorter sequence uses the
 * first rows of the position table. Internal to the room.
 */
#ifndef TN_TRAIN_LOWERED_STEP_H
#define TN_TRAIN_LOWERED_STEP_H

#include "base/error.h"
#include "base/memory.h"
#include "model/formula.h"
#include "model/model.h"
#include "model/step.h"
#include "program/program.h"
#include "train/contraction.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In which order the axes of a program's arrays lie in memory.
 *
 * What the layer gets and gives, cores and their gradients have the order of their indices. An intermediate may lie
 * as its maker and its readers like it best: every order that lets one of them use the array where it lies is tried,
 * array after array, until none is cheaper. Look-ups are cut at the tokens' digits (train/contraction.h). Internal to
 * the room.
 */

typedef struct tn_axis_order {
    const tn_program *program;
    bool looked_up;     /* the layer looks words up: x is not there, cores are cut at its digits */
    uint64_t *elements; /* [tensors] of the arrays; 0: there is none */
    tn_indices *order;  /* [tensors] */
} tn_axis_order;

/* A loss of the model: cross-entropy of one row an example (its class) or one a token. */
typedef struct tn_head {
    uint32_t layer;  /* in the step */
    uint32_t logits; /* array */
    uint64_t rows, outputs;
    bool of_example;
} tn_head;

typedef struct tn_instruction {
    const tn_operation *operation;
    const tn_contraction *contraction; /* of products */
    const uint32_t *const *digits; /* of look-ups: [digit] -> [token], filled before a step; NULL elsewhere */
    const tn_block *part;          /* of a look-up that cuts a part out of an array; NULL elsewhere */
    uint64_t made_elements, dead_elements;
    uint32_t clear_count, clear[2]; /* results that products are added to, cleared before the operation */
    uint32_t head;                  /* of a cross-entropy */
    double scale;                   /* of attention's scores */
    const tn_formula *formula;      /* of an operation on elements */
} tn_instruction;

typedef struct tn_table_digits {
    uint32_t layer, count;           /* digits of a word */
    uint64_t radix[TN_FACTORS_MOST]; /* the first is the slowest */
    uint32_t **digit;                /* [count][tokens] */
} tn_table_digits;

typedef struct tn_lowered_step {
    tn_step step;
    uint64_t batch, sequence;
    uint32_t forward_end;  /* operations before it are the forward phase */
    uint32_t update_begin; /* the first update */
    bool updates_last;     /* nothing but updates stands behind it */
    tn_instruction *instruction;
    size_t *place;  /* [arrays] bytes from the start of the pool; of resident arrays: their number */
    bool *resident; /* [arrays] */
    uint64_t resident_elements;
    size_t pool_bytes, scratch_elements;
    tn_operand_rounding (*rounding)[2]; /* [operations]; NULL: no product is rounded */
    const tn_number_format
        *kept;                /* what operations make is rounded to it; NULL: no wider than the run's own */
    size_t rounded_elements;  /* of the largest array that is rounded */
    size_t selected_elements; /* of the largest sparse parameter */
    uint32_t *mask_of;        /* [arrays] of a sparse parameter; UINT32_MAX: none */
    uint64_t kept_tokens;     /* of an example, behind the first attention; 0: all */
    uint32_t heads;
    tn_head *head;
    uint32_t tables;
    tn_table_digits *table;
} tn_lowered_step;

/* Whether the operands of this product are rounded as they are read. */
static inline bool tn_is_rounded(const tn_lowered_step *lowered, const tn_operation *operation) {
    if (!lowered->rounding) return false;
    const tn_operand_rounding *how = lowered->rounding[operation - lowered->step.operation];
    return how[0].format || how[1].format || how[0].schedule;
}

/* Lowers the model's step of a sort (model/model.h); the model must outlive it. A model that takes features from outside is TN_INPUT. */
tn_status tn_lower_step(const tn_model *model, uint32_t sort, tn_program_cache *cache, tn_real real,
                        tn_arena *arena, tn_lowered_step *lowered, tn_error *error);

#endif
