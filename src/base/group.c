#include "base/group.h"

tn_status tn_group_by(const uint32_t *owner, const uint32_t *thing, uint32_t count, uint32_t owners,
                      tn_arena *arena, tn_groups *groups, tn_error *error) {
    uint32_t *first;
    /* A count stands two places behind its owner, so that sums are starts one place behind; filling moves each of these
     * to its group's end, which is where the next group starts. */
    TN_TRY(TN_NEW(arena, (size_t)owners + 2, &first, error));
    for (uint32_t i = 0; i < count; i++)
        if (owner[i] != TN_OWNED_BY_NONE) first[owner[i] + 2]++;
    for (uint32_t o = 0; o <= owners; o++) first[o + 1] += first[o];
    TN_TRY(TN_NEW(arena, first[owners + 1], &groups->member, error));
    for (uint32_t i = 0; i < count; i++)
        if (owner[i] != TN_OWNED_BY_NONE) groups->member[first[owner[i] + 1]++] = thing ? thing[i] : i;
    groups->first = first;
    return TN_OK;
}
