/* Where the arrays of a case lie: a folder of .npy files with at most one container of several, or one
 * container alone. Internal to the room. */
#ifndef TN_RUN_CASE_FILES_H
#define TN_RUN_CASE_FILES_H

#include "base/arena.h"
#include "base/error.h"
#include "text/arrays.h"

#include <stdbool.h>
#include <stdint.h>

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

tn_status tn_case_files_open(tn_case_files *files, const char *folder, tn_arena *arena, tn_error *error);
void tn_case_files_close(tn_case_files *files);

/* Reads array `name`; absent: values NULL. Refuses NaN and infinity. */
tn_status tn_case_files_read(tn_case_files *files, const char *name, tn_case_array *array, tn_error *error);
/* The highest number behind `stem` ("core" finds core1, core12) among the arrays; 0: none. */
tn_status tn_case_files_highest(const tn_case_files *files, const char *stem, uint32_t *highest,
                                tn_error *error);

#endif
