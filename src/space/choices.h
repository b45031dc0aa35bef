/* What a space lets one choose, and the numbers of its designs.
 *
 * A design is one value of every choice. Its id is the number that its digits (places of its values) make in mixed radix,
 * the first choice of the file being the most significant: so the id of a design is the same on every run, whatever the
 * threads or shards. Of 2^63 designs or more (vast) there are no such numbers: an id is a place in the list of the designs
 * that were found.
 */
#ifndef TN_SPACE_CHOICES_H
#define TN_SPACE_CHOICES_H

#include "base/big.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "space/axis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_AXES_MOST = 512 };

/* Designs of a vast space: their ids are their places in this list, those of the folder's front.csv in its order. */
typedef struct tn_listed_designs {
    uint64_t count, capacity;
    uint32_t *digit; /* [count][choices] */
    tn_arena *arena;
} tn_listed_designs;

typedef struct tn_choices {
    size_t count;
    tn_axis axis[TN_AXES_MOST];
    uint64_t stride[TN_AXES_MOST]; /* of its digit in the id; 0: past 64 bits */
    tn_big size;                   /* how many designs there are */
    bool is_vast;                  /* more than 63 bits; then: */
    uint64_t designs;              /* `size`, or UINT64_MAX */
    tn_listed_designs *listed;     /* not NULL */
} tn_choices;

/* Strides and size, from the axes. TN_LIMIT at `position` where the size is beyond tn_big. */
tn_status tn_choices_count(tn_choices *choices, tn_position position, tn_error *error);

/* The id of the design that has value digit[i] of choice i; of a vast space it is listed for that. */
tn_status tn_choices_id_of(const tn_choices *choices, const uint32_t *digit, uint64_t *id, tn_error *error);

/* Place of the value that design `id` has in choice `choice`. */
size_t tn_choices_digit(const tn_choices *choices, uint64_t id, size_t choice);

/* Some of the choices together, axis[axes] their places, are the digits of one number, the last one changing fastest.
 * Sets digit[axis[i]] to those of `number`; */
void tn_digits_of(const tn_choices *choices, const size_t *axis, size_t axes, uint64_t number,
                  uint32_t *digit);
/* the number of such digits; */
uint64_t tn_digits_number(const tn_choices *choices, const size_t *axis, size_t axes, const uint32_t *digit);
/* what they add to a design's id, unless the space is vast. */
uint64_t tn_digits_id(const tn_choices *choices, const size_t *axis, size_t axes, const uint32_t *digit);

/* The choices of design `id`: "build.rows=4 build.columns=4 ...", in the arena. */
tn_status tn_choices_text(const tn_choices *choices, uint64_t id, tn_arena *arena, const char **text,
                          tn_error *error);

TN_PUBLIC_END

#endif
