/* Which designs of a front to recommend besides its knee (explore/knee.h): the best at each value of a choice.
 *
 * All are members of the front. "Best" is least in the first objective; ties are broken by the second, the
 * third and so on, then by the lowest id.
 */
#ifndef TN_EXPLORE_RECOMMENDATION_H
#define TN_EXPLORE_RECOMMENDATION_H

#include "explore/archive.h"
#include "explore/space.h"

/* The choice whose values are told apart unless the user names another: the first that sets ranks, or
 * TN_AXES_MOST where none does. */
size_t tn_default_by(const tn_space *space);
/* The choice called `key`; TN_INPUT that suggests the nearest one. */
tn_status tn_axis_find(const tn_space *space, const char *key, size_t *choice, tn_error *error);

/* Position of the best of the points that have value `digit` in `choice`; `count` where none has. */
size_t tn_best_at(const tn_space *space, size_t choice, size_t digit, const tn_point *point, size_t count);

#endif
