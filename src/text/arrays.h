/* Named arrays of numbers in files: .npy (versions 1, 2 and 3), .npz (stored and deflated), .safetensors, and the index of
 * several of these (model.safetensors.index.json); the constant tensors of .onnx (text/onnx.h).
 *
 * Opening reads the headers only; values are read when asked for, converted to float64 in C order, whatever
 * the file's type (f2, f4, f8 of either byte order; F16, BF16, F32, F64) and order. A header is believed only
 * as far as the file's size bears it out. Integer, complex and structured types are refused by name: a .npy
 * file when it is opened, an array among others (.npz, .safetensors) when it is read. Who wants integers (of
 * .npy and .npz, up to 64 bits, uint64 not) opens with tn_arrays_open_numbers and reads them as integers.
 */
#ifndef TN_TEXT_ARRAYS_H
#define TN_TEXT_ARRAYS_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_ARRAY_AXES = 32 };

typedef struct tn_array_info {
    const char *name; /* .npz: the member without ".npy"; .npy: the file's name without folder and ".npy" */
    const char
        *type; /* "f2", "f4", "f8", "bf16"; else what the file calls it, and it can't be read as float64 */
    bool integers; /* tn_arrays_read_integers reads it */
    size_t axes;   /* 0: a scalar */
    uint64_t shape[TN_ARRAY_AXES];
    uint64_t elements;
} tn_array_info;

typedef struct tn_arrays tn_arrays;

/* Opens by content, not by name. tn_arrays_close(NULL) is allowed. */
tn_status tn_arrays_open(const char *path, tn_arrays **arrays, tn_error *error);
/* Opens a .npy file of integers too. */
tn_status tn_arrays_open_numbers(const char *path, tn_arrays **arrays, tn_error *error);
/* The same from memory, which must outlive *arrays; `name` stands for the file. */
tn_status tn_arrays_open_memory(const char *name, const void *bytes, size_t length, tn_arrays **arrays,
                                tn_error *error);
/* Arrays that are told of and have no values: who reads them is refused. `file` says where they are told. Names and shapes are
 * copied; elements are counted here. */
tn_status tn_arrays_declare(const char *file, const tn_array_info *info, size_t count, tn_arrays **arrays,
                            tn_error *error);
void tn_arrays_close(tn_arrays *arrays);

size_t tn_arrays_count(const tn_arrays *arrays);
const tn_array_info *tn_arrays_info(const tn_arrays *arrays, size_t position);
/* The array of that name, or an error that suggests the nearest one. */
tn_status tn_arrays_find(const tn_arrays *arrays, const char *name, size_t *position, tn_error *error);

/* values[info->elements] in C order. NaN and infinity pass; who can't use them refuses them. The CRC of an
 * .npz member is checked here, not where only rows of it are read. */
tn_status tn_arrays_read(tn_arrays *arrays, size_t position, double *values, tn_error *error);
/* The same of an array of integers. */
tn_status tn_arrays_read_integers(tn_arrays *arrays, size_t position, int64_t *values, tn_error *error);
/* Rows first..first+count-1 along axis 0 only (files in C order are read only there). */
tn_status tn_arrays_read_rows(tn_arrays *arrays, size_t position, uint64_t first, uint64_t count,
                              double *values, tn_error *error);

/* Writing, little-endian, C order. TN_INPUT where a finite value is beyond float32 and `single` is asked for.
 */
typedef enum tn_half { TN_HALF_NONE, TN_HALF_F16, TN_HALF_BF16 } tn_half;
typedef struct tn_array_out {
    const char *name;
    size_t axes;
    const uint64_t *shape;
    const double *values;
    const int64_t *integers; /* NULL, or int64 instead of `values` */
    bool single;             /* float32 instead of float64 */
    tn_half half;            /* .safetensors alone: instead of both */
} tn_array_out;
tn_status tn_npy_write(const char *path, const tn_array_out *array, tn_error *error);
/* Members NAME.npy, stored. */
tn_status tn_npz_write(const char *path, const tn_array_out *array, size_t count, tn_error *error);
/* F16, BF16, F32 or F64 tensors in the order given. A finite value beyond F16 is TN_INPUT. */
tn_status tn_safetensors_write(const char *path, const tn_array_out *array, size_t count, tn_error *error);

TN_PUBLIC_END

#endif
