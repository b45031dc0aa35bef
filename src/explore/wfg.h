/* The exact hypervolume of a front in the unit cube: the algorithm of L. While, L. Bradstreet, L. Barone, A fast way of
 * calculating exact hypervolumes, IEEE Transactions on Evolutionary Computation 16(1), 2012 (WFG), with points taken
 * from the worst in the last objective on, so that each exclusive part has one objective less. Time grows with the
 * number of points to the power of the number of axes less one, in the worst case. */
#ifndef TN_EXPLORE_WFG_H
#define TN_EXPLORE_WFG_H

#include "base/error.h"

#include <stddef.h>

enum { TN_WFG_AXES_MOST = 8 };

/* *volume = what is dominated of the cube below 1 by the points, point[count][axes], values to minimise; values of 1 and
 * more dominate nothing. Axes 1 to TN_WFG_AXES_MOST. */
tn_status tn_wfg_volume(const double *point, size_t count, size_t axes, double *volume, tn_error *error);

#endif
