/* How far a front can be from the truth, from lower bounds that cover every design (docs/decomposition.md). */
#ifndef TN_SEARCH_CERTIFICATE_H
#define TN_SEARCH_CERTIFICATE_H

#include "front/archive.h"
#include "front/sums.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The factor by which a member is worse than a bound in an objective; values as they are minimised. */
double tn_worse_by(const tn_space *space, size_t objective, double member, double bound);

/* What holds of factors by which members are at most worse than bounds that are up to `slack` above what they bound: they, with what
 * their division was rounded by. *exact: all are 1. */
void tn_certify_factors(size_t objectives, double slack, double *factor, bool *exact);

/* `bounds`: every feasible design is at least one of them over `slack` in every objective (values as they are minimised).
 * own[bound]: the member that is its own design, or UINT32_MAX. Each bound is covered by its own design or, where that
 * is worse than it, by the member that is least worse of all. factor[objectives]: for every design some member is within
 * all of them at once; *exact: they are 1. */
void tn_certify(const tn_space *space, const tn_sums *bounds, double slack, const tn_point *member,
                size_t members, const uint32_t *own, double *factor, bool *exact);

/* Whether each bound is the price of its own design, so that what they are covered by is known of designs. */
bool tn_bounds_are_prices(const tn_sums *bounds, const tn_point *member, const uint32_t *own,
                          size_t objectives);

#endif
