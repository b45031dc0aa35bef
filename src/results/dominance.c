#include "results/dominance.h"

#include "base/interrupt.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- objectives ---- */

static bool strives_for(const tn_space *space, const tn_quantity *quantity) {
    for (size_t i = 0; i < space->objectives; i++)
        if (space->objective[i] == quantity) return true;
    return false;
}

static tn_status common_objectives(const tn_result *source, size_t sources, tn_dominance *made,
                                   tn_error *error) {
    const tn_space *first = source[0].space;
    for (size_t i = 0; i < first->objectives; i++) {
        bool common = true;
        for (size_t s = 1; s < sources; s++) common &= strives_for(source[s].space, first->objective[i]);
        if (common) made->objective[made->objectives++] = first->objective[i];
    }
    if (made->objectives) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   "the sweeps have no objective in common; name quantities to compare them by with --by");
}

static tn_status named_objectives(const char *const *name, size_t count, tn_dominance *made,
                                  tn_error *error) {
    if (count > TN_OBJECTIVES_MOST)
        return tn_fail(error, TN_LIMIT, "%zu quantities to compare by; at most %d are handled", count,
                       TN_OBJECTIVES_MOST);
    for (size_t i = 0; i < count; i++) {
        TN_TRY(tn_quantity_find(name[i], (tn_position){.file = "--by"}, &made->objective[i], error));
        for (size_t j = 0; j < i; j++)
            if (made->objective[j] == made->objective[i])
                return tn_fail(error, TN_INPUT, "--by %s is given twice", name[i]);
    }
    made->objectives = count;
    return TN_OK;
}

/* ---- dominance ---- */

static bool dominates(const tn_rival *a, const tn_rival *b, size_t objectives) {
    bool better = false;
    for (size_t i = 0; i < objectives; i++) {
        if (a->value[i] > b->value[i]) return false;
        better |= a->value[i] < b->value[i];
    }
    return better;
}

static tn_status fill(const tn_result *source, tn_dominance *made, tn_error *error) {
    tn_rival *next = made->rival;
    for (size_t s = 0; s < made->sources; s++)
        for (size_t i = 0; i < source[s].front_count; i++, next++) {
            *next = (tn_rival){.source = s, .row = &source[s].front[i]};
            for (size_t j = 0; j < made->objectives; j++) {
                const tn_quantity *objective = made->objective[j];
                double value = next->row->value[objective - tn_quantities];
                if (isnan(value))
                    return tn_fail_at(error, TN_INPUT, (tn_position){.file = source[s].folder},
                                      "knows no %s of its design %" PRIu64
                                      "; compare by what all of them know (--by)",
                                      objective->name, next->row->id);
                next->value[j] = objective->maximise ? -value : value;
            }
        }
    return TN_OK;
}

static int by_first(const void *a, const void *b) {
    const tn_rival *x = *(const tn_rival *const *)a, *y = *(const tn_rival *const *)b;
    if (x->value[0] != y->value[0]) return x->value[0] < y->value[0] ? -1 : 1;
    return (x > y) - (x < y);
}

/* Marks whom the rivals, by ascending first objective, dominate. A dominator of a rival comes before it, or has the
 * same first value. */
static tn_status judge(tn_dominance *made, tn_rival **sorted, bool *covered, tn_error *error) {
    for (size_t i = 0; i < made->count; i++) {
        tn_rival *rival = sorted[i];
        if (i % 256 == 0 && tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "stopped");
        memset(covered, 0, made->sources * sizeof *covered);
        for (size_t j = 0; j < made->count && sorted[j]->value[0] <= rival->value[0]; j++) {
            const tn_rival *dominator = sorted[j];
            if ((covered[dominator->source] && rival->better) ||
                !dominates(dominator, rival, made->objectives))
                continue;
            covered[dominator->source] = true;
            /* Whoever dominates a dominator dominates as well, and came first. */
            if (!rival->better) rival->better = dominator->better ? dominator->better : dominator;
        }
        for (size_t s = 0; s < made->sources; s++)
            made->covered[s * made->sources + rival->source] += covered[s];
        made->best[rival->source] += !rival->better;
    }
    return TN_OK;
}

/* Of equal first values a dominator may come later: then the chain to the best is followed once all are judged. */
static void follow(tn_dominance *made) {
    for (size_t i = 0; i < made->count; i++)
        while (made->rival[i].better && made->rival[i].better->better)
            made->rival[i].better = made->rival[i].better->better;
}

tn_status tn_dominance_of(const tn_result *source, size_t sources, const char *const *objective,
                          size_t objectives, tn_arena *arena, tn_dominance *dominance, tn_error *error) {
    tn_dominance made = {.sources = sources};
    tn_rival **sorted;
    bool *covered;
    TN_TRY(objectives ? named_objectives(objective, objectives, &made, error)
                      : common_objectives(source, sources, &made, error));
    for (size_t s = 0; s < sources; s++) made.count += source[s].front_count;
    TN_TRY(TN_NEW(arena, made.count, &made.rival, error));
    TN_TRY(TN_NEW(arena, made.count, &sorted, error));
    TN_TRY(TN_NEW(arena, sources, &covered, error));
    TN_TRY(TN_NEW(arena, sources, &made.designs, error));
    TN_TRY(TN_NEW(arena, sources, &made.best, error));
    TN_TRY(TN_NEW(arena, sources * sources, &made.covered, error));
    for (size_t s = 0; s < sources; s++) made.designs[s] = source[s].front_count;
    TN_TRY(fill(source, &made, error));
    for (size_t i = 0; i < made.count; i++) sorted[i] = &made.rival[i];
    qsort(sorted, made.count, sizeof *sorted, by_first);
    TN_TRY(judge(&made, sorted, covered, error));
    follow(&made);
    *dominance = made;
    return TN_OK;
}
