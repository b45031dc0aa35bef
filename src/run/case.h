/* A layer with values, and what it must give, from array files (docs/validate.md).
 *
 * The arrays are core1, core2, .. (3 axes: TT, or a ring where the outer ranks are equal and above 1, the
 * first half carrying the output modes; 4 axes: TTM; one core of 2 axes: dense), x (tokens x N), dy (tokens x
 * M) and, to compare with, y, dx and dcore1, dcore2, .. Each may be any type that text/arrays.h reads.
 */
#ifndef TN_RUN_CASE_H
#define TN_RUN_CASE_H

#include "base/error.h"
#include "base/memory.h"
#include "run/trial.h"
#include "text/arrays.h"

#include <stdbool.h>
#include <stdint.h>

/* Where the arrays of a case lie: a folder of .npy files with at most one container of several, or one
 * container alone. Internal to the room. */

typedef struct tn_case_files {
    const char *path;     /* of the folder or the file */
    bool folder;          /* with .npy files */
    tn_arrays *container; /* NULL: none */
    const char *container_path;
    bool owns_container;
    double epsilon;  /* unit roundoff of the coarsest type read; 0: float64 only */
    tn_arena *arena; /* of the values */
} tn_case_files;

typedef struct tn_case_array {
    const char *where; /* for messages: path, or path and member */
    size_t axes;
    uint64_t shape[TN_ARRAY_AXES], elements;
    const double *values; /* NULL: there is no such array */
} tn_case_array;

/* From a folder: each array is NAME.npy there, or a member of cores.npz or cores.safetensors there; one that
 * lies in two places is TN_INPUT, as is a missing core, x or dy. Other files are not looked at. */
tn_status tn_case_load_folder(const char *folder, tn_arena *arena, tn_trial *trial, tn_error *error);

/* From an open file with several arrays. Where it has neither x nor dy, both are drawn with `seed`. */
tn_status tn_case_load_arrays(tn_arrays *arrays, const char *path, uint64_t seed, tn_arena *arena,
                              tn_trial *trial, tn_error *error);
/* Whether it has a core1. */
bool tn_case_in_arrays(const tn_arrays *arrays);

#endif
