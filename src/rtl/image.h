/* What memories hold: arrays of values put where their layouts say, and read back; and what a program leaves there. Arrays
 * take turns in a place, so that behind an array its words hold whatever the next one does not write. Words that nothing
 * has written are zero. */
#ifndef TN_RTL_IMAGE_H
#define TN_RTL_IMAGE_H

#include "base/buffer.h"
#include "base/memory.h"
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

/* The memories behind the operation, which were as before it: what it writes, and where it goes word by word the padding,
 * too, in the hardware's arithmetic. values: its result's elements behind it; word: of the sample, NULL where nothing is
 * looked up. */
tn_status tn_rtl_image_follow(const tn_rtl_design *design, const tn_rtl_operation *operation,
                              const uint64_t *word, const double *values, tn_rtl_image *image,
                              tn_error *error);

/* Elements of all memories; those that differ in a bit. */
uint64_t tn_rtl_image_elements(const tn_rtl_design *design);
uint64_t tn_rtl_image_differ(const tn_rtl_design *design, const tn_rtl_image *a, const tn_rtl_image *b);

/* One bank as $readmemh reads it: a word a line, its last element first. */
void tn_rtl_image_bank(const tn_rtl_design *design, const tn_rtl_image *image, uint32_t memory, uint64_t bank,
                       tn_buffer *out);

#endif
