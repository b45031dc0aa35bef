/* Rows of the answers of a head, and how sure they are. Internal to the room. */
#ifndef TN_TRAIN_ANSWERS_H
#define TN_TRAIN_ANSWERS_H

#include "train/trainer_state.h"

/* Look-ups that leave out what is pruned (step/pruning.c), and the choice of what stays, executed: the first token of an
 * example, of which a class is read, and those that the first attention gave the most probability; the heads that gave the
 * greatest values. Internal to the room. */

void tn_run_importance(tn_step_run *run, const tn_operation *operation);
void tn_run_top(tn_step_run *run, const tn_operation *operation);

void tn_run_gather(tn_step_run *run, const tn_operation *operation);

/* The token of the example that a row of what was pruned is, and the row of a token; of lists that prune none the same
 * number. UINT64_MAX: it did not stay. */
uint64_t tn_kept_token(const tn_step_run *run, uint64_t example, uint64_t row);

/* The row of logits of an example, or of a token of it; UINT64_MAX: of a token that was pruned. */
uint64_t tn_logits_row(const tn_step_run *run, bool of_example, uint64_t example, uint64_t token);

/* TN_OP_ENTROPY: the mean over the rows of the examples, padding left out, of the entropy of their softmax over that of equal
 * answers. Adds it, over the number of heads, to the result where this exit is the last of the list. */
void tn_run_entropy(tn_step_run *run, const tn_operation *operation);

#endif
