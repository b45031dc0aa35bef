/* Points of three whole numbers each, boxes of three costs (front/sums.h): which of them no other covers, and whether a point is
 * covered for sure.
 *
 * All are sorted by the three numbers packed into one, digit by digit, and swept over with the least third number seen at or
 * below each second one (a binary indexed tree of minima, P. Fenwick 1994). What covers a new point for sure is looked up in
 * a coarse grid: the least third number of the points that lie in cells below its own in both others. Internal to the room. */
#ifndef TN_FRONT_BOX_SWEEP_H
#define TN_FRONT_BOX_SWEEP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_SWEEP_AXES = 3, TN_SWEEP_CELLS = 128 };

typedef struct tn_box_sweep {
    /* Memory of sweeps, kept for the next. */
    uint64_t *key, *spare_key;
    uint32_t *place, *spare_place;
    size_t room;
    int32_t *tree;
    size_t tree_room;
    /* The grid. */
    bool has_grid;
    int64_t first[TN_SWEEP_AXES]; /* least of each number */
    uint32_t shift[2];            /* cells of 2^this */
    int64_t least[TN_SWEEP_CELLS][TN_SWEEP_CELLS];
} tn_box_sweep;

/* Zero-initialise, or one on the heap; free with tn_box_sweep_free. */
void tn_box_sweep_free(tn_box_sweep *sweep);

/* place[0 .. *kept) = those of `count` points, box[count][3], that no other covers, by rising boxes; of equal ones the first.
 * *fits = false where the numbers are too far apart for that. `place` is the sweep's own. */
tn_status tn_box_sweep_front(tn_box_sweep *sweep, const int64_t *box, size_t count, const uint32_t **place,
                             size_t *kept, bool *fits, tn_error *error);

/* Makes the grid of those points; none of few. */
void tn_box_sweep_grid(tn_box_sweep *sweep, const int64_t *box, size_t count);
/* Whether some point of the grid is at most that one, for sure. */
static inline bool tn_box_sweep_covers(const tn_box_sweep *sweep, const int64_t *box) {
    if (!sweep->has_grid || box[0] < sweep->first[0] || box[1] < sweep->first[1]) return false;
    uint64_t x = ((uint64_t)box[0] - (uint64_t)sweep->first[0]) >> sweep->shift[0],
             y = ((uint64_t)box[1] - (uint64_t)sweep->first[1]) >> sweep->shift[1];
    if (x == 0 || y == 0) return false;
    if (x > TN_SWEEP_CELLS) x = TN_SWEEP_CELLS;
    if (y > TN_SWEEP_CELLS) y = TN_SWEEP_CELLS;
    return sweep->least[x - 1][y - 1] <= box[2];
}

#endif
