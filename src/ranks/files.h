/* What a choice of ranks leaves in a folder:
 *   allocation.csv       layer by layer the candidate that was chosen
 *   front.csv            least error at every amount of one cost, with its lower bound
 * and for a model
 *   model.yaml           the model with the chosen foldings and ranks, as every command takes it
 *   cores.npz            the cores of all its layers, LAYER.core1, ..
 *   candidates.csv       every candidate of every layer
 *   error.csv            error of each entry of `weights` by folding and rank, for the `error_table` of a
 * space file singular_values.csv  of every bond of the chosen foldings Each is written whole or not at all.
 */
#ifndef TN_RANKS_FILES_H
#define TN_RANKS_FILES_H

#include "base/clock.h"
#include "base/error.h"
#include "ranks/problem.h"
#include "ranks/rank_plan.h"

#include <stddef.h>

/* allocation.csv; without rows where nothing fits. */
tn_status tn_rank_write_allocation(const char *folder, const tn_rank_problem *problem,
                                   const tn_rank_way *choice, tn_error *error);
tn_status tn_rank_write_front(const char *folder, const tn_rank_problem *problem, size_t cost,
                              const tn_tradeoff *front, tn_error *error);

tn_status tn_rank_write_candidates(const char *folder, const tn_rank_plan *plan, tn_error *error);
/* Rows for the candidates by cap in the format of the weight; the layers of one entry are taken together. */
tn_status tn_rank_write_error_table(const char *folder, const tn_rank_plan *plan,
                                    const tn_layer_option_rule *rule, tn_error *error);
/* plan->own must stand as chosen (tn_rank_plan_solve leaves it so). */
tn_status tn_rank_write_model(const char *folder, const tn_rank_plan *plan, tn_error *error);
/* half: cores.safetensors beside cores.npz, in that type or float32; NULL: not written. */
tn_status tn_rank_write_cores(const char *folder, const tn_rank_plan *plan, const tn_rank_way *choice,
                              const tn_trained *trained, const tn_layer_option_rule *rule,
                              const tn_half *half, const tn_progress *progress, tn_error *error);
/* Of unfoldings whose smaller side is at most 2048; layers beyond are left out. */
tn_status tn_rank_write_spectra(const char *folder, const tn_rank_plan *plan, const tn_rank_way *choice,
                                const tn_trained *trained, tn_error *error);

#endif
