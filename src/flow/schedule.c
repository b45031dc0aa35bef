#include "flow/schedule.h"

#include "flow/problem.h"

typedef struct timing {
    uint64_t start, end;
} timing;

typedef struct scheduler {
    const tn_tree *tree;
    const uint64_t *duration;
    uint32_t units, merges;
    uint64_t *tail; /* [merges] longest path from the start of each merge to the end of the tree */
    timing *placed; /* [merges] */
    bool *done;     /* [merges] */
    uint64_t best;
} scheduler;

static void find_tails(scheduler *s) {
    uint32_t n = s->tree->tensors;
    for (uint32_t i = s->merges; i-- > 0;) {
        s->tail[i] = tn_saturating_add(s->tail[i], s->duration[i]);
        const uint32_t pair[2] = {s->tree->merge[i].a, s->tree->merge[i].b};
        for (int side = 0; side < 2; side++)
            if (pair[side] >= n) s->tail[pair[side] - n] = s->tail[i];
    }
}

/* When both operands are there; false where one is not placed yet. */
static bool operands_ready(const scheduler *s, uint32_t merge, uint64_t *time) {
    uint32_t n = s->tree->tensors;
    const uint32_t pair[2] = {s->tree->merge[merge].a, s->tree->merge[merge].b};
    *time = 0;
    for (int side = 0; side < 2; side++) {
        if (pair[side] < n) continue;
        if (!s->done[pair[side] - n]) return false;
        uint64_t end = s->placed[pair[side] - n].end;
        if (end > *time) *time = end;
    }
    return true;
}

/* Merges that run at the time. */
static uint32_t busy(const scheduler *s, uint64_t time) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->merges; i++)
        count += s->done[i] && s->placed[i].start <= time && time < s->placed[i].end;
    return count;
}

/* A unit is free from `time` on for the merge's whole duration. */
static bool has_room(const scheduler *s, uint64_t time, uint64_t duration) {
    if (busy(s, time) >= s->units) return false;
    for (uint32_t i = 0; i < s->merges; i++)
        if (s->done[i] && s->placed[i].start > time && s->placed[i].start - time < duration &&
            busy(s, s->placed[i].start) >= s->units)
            return false;
    return true;
}

/* The earliest start from `ready` on: then, or when some merge ends. */
static uint64_t earliest(const scheduler *s, uint32_t merge, uint64_t ready) {
    uint64_t best = UINT64_MAX;
    if (has_room(s, ready, s->duration[merge])) return ready;
    for (uint32_t i = 0; i < s->merges; i++)
        if (s->done[i] && s->placed[i].end > ready && s->placed[i].end < best &&
            has_room(s, s->placed[i].end, s->duration[merge]))
            best = s->placed[i].end;
    return best;
}

static void place(scheduler *s, uint32_t merge, uint64_t start) {
    s->placed[merge] = (timing){start, tn_saturating_add(start, s->duration[merge])};
    s->done[merge] = true;
}

/* The longest remaining path first. */
static uint64_t list_schedule(scheduler *s) {
    uint64_t length = 0;
    for (uint32_t step = 0; step < s->merges; step++) {
        uint32_t chosen = 0;
        uint64_t when = 0, longest = 0, ready;
        bool any = false;
        for (uint32_t i = 0; i < s->merges; i++) {
            if (s->done[i] || !operands_ready(s, i, &ready) || (any && s->tail[i] <= longest)) continue;
            any = true;
            chosen = i;
            longest = s->tail[i];
            when = ready;
        }
        place(s, chosen, earliest(s, chosen, when));
        if (s->placed[chosen].end > length) length = s->placed[chosen].end;
    }
    for (uint32_t i = 0; i < s->merges; i++) s->done[i] = false;
    return length;
}

/* Every order of placing the rest, each merge as early as it can: among those schedules is a best one. */
static void place_rest(scheduler *s, uint32_t left, uint64_t length) {
    if (left == 0) {
        if (length < s->best) s->best = length;
        return;
    }
    for (uint32_t i = 0; i < s->merges; i++) {
        uint64_t ready;
        if (s->done[i] || !operands_ready(s, i, &ready)) continue;
        uint64_t start = earliest(s, i, ready);
        if (tn_saturating_add(start, s->tail[i]) >= s->best) continue;
        place(s, i, start);
        place_rest(s, left - 1, s->placed[i].end > length ? s->placed[i].end : length);
        s->done[i] = false;
    }
}

tn_status tn_schedule_length(const tn_tree *tree, const uint64_t *duration, uint32_t units, tn_arena *scratch,
                             uint64_t *length, bool *exact, tn_error *error) {
    scheduler s = {.tree = tree, .duration = duration, .units = units, .merges = tree->tensors - 1};
    TN_TRY(tn_arena_alloc(scratch, s.merges, sizeof *s.tail, &s.tail, error));
    TN_TRY(tn_arena_alloc(scratch, s.merges, sizeof *s.placed, &s.placed, error));
    TN_TRY(tn_arena_alloc(scratch, s.merges, sizeof *s.done, &s.done, error));
    find_tails(&s);
    s.best = list_schedule(&s);
    uint64_t longest = 0;
    for (uint32_t i = 0; i < s.merges; i++)
        if (s.tail[i] > longest) longest = s.tail[i];
    *exact = s.best == longest || s.merges <= TN_SCHEDULE_EXACT_MERGES;
    if (s.best > longest && s.merges <= TN_SCHEDULE_EXACT_MERGES) place_rest(&s, s.merges, 0);
    *length = s.best;
    return TN_OK;
}
