/* What designs learn: combinations of the choices that accuracy depends on, and accuracies drawn for each of them from their
 * model (results/settled.h). Designs of one combination have the same accuracy in every draw.
 */
#ifndef TN_RESULTS_LEARNED_H
#define TN_RESULTS_LEARNED_H

#include "base/error.h"
#include "base/memory.h"
#include "results/settled.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_learned {
    size_t combinations; /* 0: none are looked at, as there are too many */
    uint64_t *offset;    /* [combinations], rising: what their values add to an id */
    double *drawn;       /* [combinations][TN_SETTLED_DRAWS] */
    size_t *place;       /* [combinations]: in the order of their mean accuracy, the highest first */
    const tn_space *space;
    size_t axes, axis[TN_AXES_MOST]; /* the choices */
} tn_learned;

/* All combinations of the space. In the arena. */
tn_status tn_learned_find(const tn_space *space, tn_arena *arena, tn_learned *learned, tn_error *error);

/* The combination that the design has. */
size_t tn_learned_combination(const tn_learned *learned, uint64_t id);

/* Some of the draws. */
enum { TN_DRAW_WORDS = (TN_SETTLED_DRAWS + 63) / 64 };
typedef struct tn_draw_set {
    uint64_t word[TN_DRAW_WORDS];
} tn_draw_set;

extern const tn_draw_set tn_draw_set_all;

/* Draws in which a combination is more accurate than another, or, with `ties`, not less. */
tn_draw_set tn_learned_ahead(const tn_learned *learned, size_t combination, size_t other, bool ties);

static inline size_t tn_draw_set_count(const tn_draw_set *set) {
    size_t count = 0;
    for (int i = 0; i < TN_DRAW_WORDS; i++) count += (size_t)__builtin_popcountll(set->word[i]);
    return count;
}

static inline bool tn_draw_set_is_empty(const tn_draw_set *set) {
    uint64_t any = 0;
    for (int i = 0; i < TN_DRAW_WORDS; i++) any |= set->word[i];
    return any == 0;
}

static inline bool tn_draw_set_meets(const tn_draw_set *a, const tn_draw_set *b) {
    uint64_t any = 0;
    for (int i = 0; i < TN_DRAW_WORDS; i++) any |= a->word[i] & b->word[i];
    return any != 0;
}

static inline void tn_draw_set_add(tn_draw_set *set, const tn_draw_set *more) {
    for (int i = 0; i < TN_DRAW_WORDS; i++) set->word[i] |= more->word[i];
}

static inline void tn_draw_set_remove(tn_draw_set *set, const tn_draw_set *less) {
    for (int i = 0; i < TN_DRAW_WORDS; i++) set->word[i] &= ~less->word[i];
}

static inline tn_draw_set tn_draw_set_both(const tn_draw_set *a, const tn_draw_set *b) {
    tn_draw_set both;
    for (int i = 0; i < TN_DRAW_WORDS; i++) both.word[i] = a->word[i] & b->word[i];
    return both;
}

#endif
