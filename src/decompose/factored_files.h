/* Decomposed weights as files. */
#ifndef TN_DECOMPOSE_FACTORED_FILES_H
#define TN_DECOMPOSE_FACTORED_FILES_H

#include "base/error.h"
#include "decompose/factored.h"
#include "text/arrays.h"

#include <stddef.h>
#include <stdint.h>

/* An .npz file with the cores of `count` weights, float64: PREFIX[i].core1, PREFIX[i].core2, ..; a prefix of
 * NULL or "" gives plain core1, core2, .. The shapes are those of tn_weight_core_shape. */
tn_status tn_factored_write_npz(const char *path, const tn_factored *const *factored,
                                const char *const *prefix, size_t count, tn_error *error);

/* The same as .safetensors in float32, or in 16 bits. */
tn_status tn_factored_write_safetensors(const char *path, const tn_factored *const *factored,
                                        const char *const *prefix, size_t count, tn_half half,
                                        tn_error *error);

/* A folder as `tenfold validate --case` reads it: core1.npy, .. with x.npy (tokens x N) and dy.npy (tokens x
 * M), drawn with `seed`, and y.npy = x V^T, dx.npy = dy V of the rebuilt matrix V. TT, TTM and ring. */
tn_status tn_factored_write_case(const char *folder, const tn_factored *factored, uint64_t tokens,
                                 uint64_t seed, tn_error *error);

#endif
