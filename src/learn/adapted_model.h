/* What adapted ranks come to: the price of a slice on the device before training, the trimmed model and its weights behind
 * it. Internal to the room. */
#ifndef TN_LEARN_ADAPTED_MODEL_H
#define TN_LEARN_ADAPTED_MODEL_H

#include "base/error.h"
#include "base/memory.h"
#include "design/design.h"
#include "learn/rank_penalty.h"
#include "learn/training.h"
#include "model/model.h"
#include "train/trainer.h"

/* `design` has the trainer's model. Sets every bond's cost to what a slice of it adds to the time of a step and to the bytes of memory, half of each over
 * its mean of all slices of all bonds, times the mean of the costs that there were. A slice's price is the mean one
 * between the bond's rank and half of it: memories and parallel units come in wholes, so that one rank less often changes
 * nothing. */
tn_status tn_slice_costs(const tn_trainer *trainer, const tn_design *design, tn_rank_penalty *penalty,
                         tn_error *error);

tn_status tn_device_price_of(const tn_design *design, tn_device_price *price, tn_error *error);

/* *trimmed = the trainer's model with the ranks of the slices that are left: as `overrides` of its file, so that its root
 * is the whole of it. */
tn_status tn_trimmed_model(const tn_trainer *trainer, const tn_rank_penalty *penalty, tn_arena *arena,
                           tn_model **trimmed, tn_error *error);

/* The layers of penalised bonds with the ranks that the trainer's model has; lists live in `arena`. */
tn_status tn_adapted_layers(const tn_trainer *trimmed, const tn_rank_penalty *penalty, tn_arena *arena,
                            tn_adapted *adapted, tn_error *error);

/* Copies the parameters without the slices that vanished; `target` is of the trimmed model. */
tn_status tn_trimmed_values(const tn_trainer *source, const tn_rank_penalty *penalty, tn_trainer *target,
                            tn_error *error);

#endif
