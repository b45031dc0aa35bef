/* What memories hold: arrays of values put where their layouts say, and read back. Words between arrays are zero. */
#ifndef TN_RTL_IMAGE_H
#define TN_RTL_IMAGE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "rtl/access.h"

typedef struct tn_rtl_image {
    uint32_t memories;
    float **memory; /* [memories]: bank, then word, then element */
} tn_rtl_image;

tn_status tn_rtl_image_make(const tn_rtl_design *design, tn_arena *arena, tn_rtl_image *image,
                            tn_error *error);

/* values in C order of the array's axes. */
void tn_rtl_image_put(const tn_rtl_design *design, const tn_rtl_array *array, const float *values,
                      tn_rtl_image *image);
void tn_rtl_image_get(const tn_rtl_design *design, const tn_rtl_array *array, const tn_rtl_image *image,
                      float *values);

/* One bank as $readmemh reads it: a word a line, its last element first. */
void tn_rtl_image_bank(const tn_rtl_design *design, const tn_rtl_image *image, uint32_t memory, uint64_t bank,
                       tn_buffer *out);

#endif
