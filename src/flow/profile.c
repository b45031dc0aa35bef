#include "flow/profile.h"

#include "base/checked.h"

#include <stddef.h>

static uint64_t drop(const tn_segment *segment) {
    return segment->hill - segment->valley;
}

/* Appends a segment and joins it with its forerunners until hills fall and valleys rise again. */
static void append(tn_profile *out, tn_segment segment, uint32_t *next) {
    while (out->count) {
        tn_segment *before = &out->segment[out->count - 1];
        if (before->hill > segment.hill && before->valley < segment.valley) break;
        if (next) next[before->last] = segment.first;
        segment.first = before->first;
        if (before->hill > segment.hill) segment.hill = before->hill;
        out->count--;
    }
    out->segment[out->count++] = segment;
}

bool tn_profile_merge(const tn_profile *a, const tn_profile *b, uint64_t elements, uint32_t merge,
                      uint32_t *next, tn_profile *out) {
    uint64_t live_a = 0, live_b = 0;
    uint32_t i = 0, j = 0;
    out->count = 0;
    while (i < a->count || j < b->count) {
        bool take_a = j == b->count || (i < a->count && drop(&a->segment[i]) >= drop(&b->segment[j]));
        tn_segment segment = take_a ? a->segment[i++] : b->segment[j++];
        uint64_t extra = take_a ? live_b : live_a;
        if (take_a)
            live_a = segment.valley;
        else
            live_b = segment.valley;
        if (!tn_add(segment.hill, extra, &segment.hill)) return false;
        segment.valley += extra;
        append(out, segment, next);
    }
    tn_segment last = {.valley = elements, .first = merge, .last = merge};
    if (!tn_add(live_a + live_b, elements, &last.hill)) return false;
    append(out, last, next);
    return true;
}

/* a must have passed its segment j while b is in a segment whose hill is as high; the latest such is best,
 * for valleys rise. Then a's valley must not be above b's after each of b's segments. */
bool tn_profile_dominates(const tn_profile *a, const tn_profile *b) {
    if (tn_profile_peak(a) > tn_profile_peak(b)) return false;
    uint32_t passed = 0;
    for (uint32_t k = 0; k < b->count; k++) {
        uint64_t next_hill = k + 1 < b->count ? b->segment[k + 1].hill : 0;
        while (passed < a->count && a->segment[passed].hill > next_hill) passed++;
        if (passed && a->segment[passed - 1].valley > b->segment[k].valley) return false;
    }
    return true;
}
