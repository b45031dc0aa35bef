/* What stands behind a recommendation and takes time to price, kept with the sweep: how firmly the knee stands
 * (results/recommendation.h), and what the space left out (results/outside.h).
 *
 * FOLDER/recommendation.json holds both beside a hash of all that they depend on: the program's version, and the folder's
 * sweep.json (which has the hashes of the inputs), front.csv and recommended.csv. Where it is missing, was made of something
 * else or does not say what it should, both are found anew and the file is written, under the folder's lock. A folder that
 * can't be written, or that another process writes in, just gets no file. */
#ifndef TN_RESULTS_KEPT_GROUNDS_H
#define TN_RESULTS_KEPT_GROUNDS_H

#include "results/outside.h"
#include "results/recommendation.h"
#include "results/result.h"

/* Of the result's front and the first of its recommended designs. Texts live in `arena`. */
tn_status tn_grounds_kept(const tn_result *result, tn_arena *arena, tn_robustness *robustness,
                          tn_outside *outside, tn_error *error);

/* What the space left out of another design of the front, found anew. Lives in `arena`. */
tn_status tn_outside_result(const tn_result *result, uint64_t id, tn_arena *arena, tn_outside *outside,
                            tn_error *error);

#endif
