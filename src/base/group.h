/* Things by their owner: a counting sort.
 *
 *     tn_groups of;
 *     TN_TRY(tn_group_by(owner, NULL, count, owners, arena, &of, error));
 *     for (uint32_t i = of.first[o]; i < of.first[o + 1]; i++) use(of.member[i]);
 */
#ifndef TN_BASE_GROUP_H
#define TN_BASE_GROUP_H

#include "base/error.h"
#include "base/memory.h"

#include <stdint.h>

#define TN_OWNED_BY_NONE UINT32_MAX

/* Those of owner o: member[first[o]] .. member[first[o + 1] - 1]. */
typedef struct tn_groups {
    uint32_t *first, *member;
} tn_groups;

/* Thing i is owner[i]'s, below `owners`, or TN_OWNED_BY_NONE. A member is thing[i]; `thing` NULL: i itself. Those of one owner stay
 * in their order. Lives in `arena`. */
tn_status tn_group_by(const uint32_t *owner, const uint32_t *thing, uint32_t count, uint32_t owners,
                      tn_arena *arena, tn_groups *groups, tn_error *error);

#endif
