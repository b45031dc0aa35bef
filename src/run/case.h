/* A layer with values, and what it must give, from array files (docs/validate.md).
 *
 * The arrays are core1, core2, .. (3 axes: TT, or a ring where the outer ranks are equal and above 1, the
 * first half carrying the output modes; 4 axes: TTM; one core of 2 axes: dense), x (tokens x N), dy (tokens x
 * M) and, to compare with, y, dx and dcore1, dcore2, .. Each may be any type that text/arrays.h reads.
 */
#ifndef TN_RUN_CASE_H
#define TN_RUN_CASE_H

#include "base/arena.h"
#include "base/error.h"
#include "run/trial.h"
#include "text/arrays.h"

#include <stdbool.h>
#include <stdint.h>

/* From a folder: each array is NAME.npy there, or a member of cores.npz or cores.safetensors there; one that
 * lies in two places is TN_INPUT, as is a missing core, x or dy. Other files are not looked at. */
tn_status tn_case_load_folder(const char *folder, tn_arena *arena, tn_trial *trial, tn_error *error);

/* From an open file with several arrays. Where it has neither x nor dy, both are drawn with `seed`. */
tn_status tn_case_load_arrays(tn_arrays *arrays, const char *path, uint64_t seed, tn_arena *arena,
                              tn_trial *trial, tn_error *error);
/* Whether it has a core1. */
bool tn_case_in_arrays(const tn_arrays *arrays);

#endif
