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
#include "learn/accuracy_session.h"
#include "space/space.h"

tn_status tn_accuracy_study(const tn_space *space, const char *data, const tn_study_options *options,
                            tn_arena *arena, tn_study *study, tn_error *error);

#endif
