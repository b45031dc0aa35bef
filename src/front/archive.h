/* The Pareto archive: the points that no other dominates.
 *
 * A point has `objectives` values, all to be minimised (a maximised quantity enters negated), and the id of
 * its design. a dominates b if a is at most b everywhere and less somewhere. Of points that are equal
 * everywhere the lowest id stays. So the archive depends on the set of points offered alone, not on their
 * order, and archives of parts merge into the archive of the whole.
 *
 * Points lie in blocks, structures of arrays; a full block is cut into a few, under a node that knows the least and
 * the greatest value of its points in each objective: an ND-tree (A. Jaszkiewicz, T. Lust, ND-tree-based update,
 * IEEE Transactions on Evolutionary Computation 22(5), 2018). What a node's bounds decide of a point is decided of
 * all points below it. The block that last rejected a point is asked first.
 */
#ifndef TN_FRONT_ARCHIVE_H
#define TN_FRONT_ARCHIVE_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_OBJECTIVES_MOST = 8 };

typedef struct tn_point {
    double value[TN_OBJECTIVES_MOST];
    uint64_t id;
} tn_point;

typedef struct tn_archive {
    size_t objectives, count; /* count: points */
    struct tn_archive_node *node;
    struct tn_archive_block *block;
    size_t nodes, node_capacity, blocks, block_capacity;
    uint32_t root, free_node, free_block, last_hit; /* UINT32_MAX: none */
} tn_archive;

void tn_archive_begin(tn_archive *archive, size_t objectives);
void tn_archive_free(tn_archive *archive);

/* Takes the point in if none dominates or duplicates it, and drops those that it dominates. */
tn_status tn_archive_offer(tn_archive *archive, const tn_point *point, tn_error *error);
/* As an offer of each of them. Many points of up to three objectives are sorted and swept over, O(n log n). */
tn_status tn_archive_offer_all(tn_archive *archive, const tn_point *point, size_t count, tn_error *error);
/* True if some point is at most `value` in every objective. */
bool tn_archive_covers(tn_archive *archive, const double *value);
/* True if an offer of the point would change nothing; then so would one of any point of that id that is nowhere less. */
bool tn_archive_refuses(tn_archive *archive, const tn_point *point);
/* The least value of objective k with which, whatever `value` says of it and with its other values, some point is at most a design
 * everywhere; INFINITY: with none. */
double tn_archive_threshold(const tn_archive *archive, const double *value, size_t k);
/* Offers every point of `source`, and drops those from it that did not enter. */
tn_status tn_archive_absorb(tn_archive *archive, tn_archive *source, tn_error *error);
/* Empty again, memory kept. */
void tn_archive_clear(tn_archive *archive);
/* Copies the points into `points` (of `count`), by ascending id. */
void tn_archive_points(const tn_archive *archive, tn_point *points);

TN_PUBLIC_END

#endif
