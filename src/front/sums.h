/* Fronts of sums: points whose costs add, of which those are kept that no other covers.
 *
 * The first `rounded` values of a point are objectives: p covers q where p's box is at most q's in each of them; and
 * where p's other values, the guards, are at most q's. A box of width w holds values v with equal floor(g(v + shift) / w),
 * where g is the base-2 logarithm made of straight lines between powers of two; so of two values in one box one is at
 * most 1 + w times the other, shift included. With width 0 boxes are the values themselves. Values are minimised; one
 * of which more is better enters negated.
 *
 * Points with different labels (of costs that do not add yet, search/build_front.h) do not cover each other. Of points
 * that are equal in all objectives the one of the least id stays, where the sums are exact. */
#ifndef TN_FRONT_SUMS_H
#define TN_FRONT_SUMS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_SUM_DIMENSIONS = 8 };

typedef struct tn_sums {
    size_t dimensions, count, capacity;
    double *value[TN_SUM_DIMENSIONS];
    uint64_t *label, *id;   /* id: of the design so far, where it fits */
    uint32_t *left, *right; /* where the sum comes from */
} tn_sums;

typedef struct tn_boxes {
    size_t rounded;
    double width;                    /* 0: exact */
    double shift[TN_SUM_DIMENSIONS]; /* added to a value, or to a negated one's negative; not negative */
    bool negated[TN_SUM_DIMENSIONS];
} tn_boxes;

void tn_sums_begin(tn_sums *sums, size_t dimensions);
void tn_sums_free(tn_sums *sums);
/* Appends a point. */
tn_status tn_sums_add(tn_sums *sums, const double *value, uint64_t label, uint64_t id, uint32_t left,
                      uint32_t right, tn_error *error);

/* Joins two labels. */
typedef tn_status tn_label_join(void *user, uint64_t a, uint64_t b, uint64_t *joined, tn_error *error);

/* Sums of the points of several pairs of fronts, put together: what others cover is dropped as they come. Zero-initialise it
 * but for the first fields; it serves one front after the other. */
typedef struct tn_merging {
    const tn_boxes *boxes;
    tn_label_join *join; /* NULL: no point has a label */
    void *user;
    size_t most;     /* TN_LIMIT where over so many points would be kept */
    double deadline; /* tn_clock_seconds: TN_INTERRUPTED after it, and by interruptions */
    tn_sums *sums;
    size_t room; /* points, until they are pruned */
    /* Open addressing by label and boxes: of what falls together only one stays, where guards allow. */
    size_t slots, slot_room; /* `slots` is a power of two */
    uint32_t *slot;          /* place among the sums, plus 1 */
    int64_t *box;            /* [room][rounded] */
    size_t box_room;
    bool sweeps;                /* three boxes, and nothing else tells points apart */
    struct tn_box_sweep *sweep; /* front/box_sweep.h */
} tn_merging;

/* The sums go to *sums; points that it has are among them. */
tn_status tn_merging_begin(tn_merging *merging, tn_sums *sums, tn_error *error);
/* Adds all sums of a point of `a` and one of `b`: `left` and `right` are their places, ids are added. */
tn_status tn_merging_add(tn_merging *merging, const tn_sums *a, const tn_sums *b, tn_error *error);
/* Drops what others cover. */
tn_status tn_merging_end(tn_merging *merging, tn_error *error);
void tn_merging_free(tn_merging *merging);

/* Drops the points that others cover; the rest is in a fixed order. deadline: as of a merging; the sums are then as they were. */
tn_status tn_sums_prune(tn_sums *sums, const tn_boxes *boxes, double deadline, tn_error *error);

#endif
