/* A set of builds: one of them, and all that differ from it in keys that are free. */
#ifndef TN_PRICE_BUILD_SET_H
#define TN_PRICE_BUILD_SET_H

#include "base/public.h"
#include "device/build.h"

#include <stddef.h>

TN_PUBLIC_BEGIN

/* The values that a key may have, as tn_build_set_value takes them. */
typedef struct tn_build_axis {
    const tn_field *key;
    size_t count;
    const uint64_t *value;
} tn_build_axis;

enum { TN_BUILD_AXES_MOST = 32 };
typedef struct tn_build_set {
    tn_build build; /* keys that are free have their first values */
    uint32_t free;  /* bit i: axis i is */
    uint32_t axes;
    const tn_build_axis *axis; /* [axes] */
} tn_build_set;

/* The set with one axis at one of its values. */
static inline tn_build_set tn_build_set_fixed(const tn_build_set *set, uint32_t axis, size_t value) {
    tn_build_set fixed = *set;
    fixed.free &= ~(1u << axis);
    tn_build_set_value(&fixed.build, set->axis[axis].key, set->axis[axis].value[value]);
    return fixed;
}

/* The values that builds of the set have of the key that is at the offset in a build; *own where it is not free. */
const uint64_t *tn_build_set_values(const tn_build_set *set, size_t offset, const uint64_t *own,
                                    size_t *count);

/* The build of the set in which counts that are free have their least values: what routing and write-backs are counted for. */
tn_build tn_build_set_least(const tn_build_set *set);
/* The same with their greatest values. */
tn_build tn_build_set_greatest(const tn_build_set *set);

/* The build of the set by what bears on some build of it (tn_build_effective): the skew counts where a split may be banks. No schedule is
 * free. */
tn_build tn_build_set_effective(const tn_build_set *set);

/* Of the axes whose keys bear on some of that, the bits. */
static inline uint32_t tn_build_set_axes(const tn_build_set *set, unsigned bearings) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < set->axes; i++)
        if (tn_build_key_of(set->axis[i].key)->bears_on & bearings) bits |= 1u << i;
    return bits;
}

/* What kind of choice a key is for a search, from what it bears on: */
typedef enum tn_build_level {
    TN_LEVEL_RUN,    /* what runs side by side, and on how many kernels */
    TN_LEVEL_KERNEL, /* what a matmul kernel is; whether layouts are ideal */
    TN_LEVEL_STEP,   /* what the step is: fusion, where arrays live */
    TN_LEVEL_ROW,    /* what rows of memories and words follow from, too: lanes of vector kernels, */
    TN_LEVEL_BANK,   /* banks and how they are skewed */
    TN_LEVEL_LANE,   /* what vector kernels are alone */
    TN_LEVEL_PLACE   /* where memories lie, and nothing of what is done */
} tn_build_level;
tn_build_level tn_build_key_level(const tn_field *key);

/* An axis of the set that is free and of one of these levels, or `axes`. */
uint32_t tn_build_set_free_axis(const tn_build_set *set, tn_build_level first, tn_build_level last);

TN_PUBLIC_END

#endif
