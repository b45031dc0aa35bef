/* What a space left out: a design with other values of keys that its space does not vary, each of them priced.
 *
 *   keys of the build          every other choice (but ideal layouts, which can't be built); of a count its half and its
 *                              double; of group 1 to 16, 24, 32, 48 and 64
 *   update, activations, flow  what the model's file may say of them otherwise
 *   format, optimizer, precision of everything, of the operands of products alone
 *
 * and pairs of update.when, build.group, build.split and build.placement, which meet in the same memories. Of keys that the
 * space varies those values are tried that it does not list, where they change no computed value or are of these four.
 *
 * What a change computes is a fact of its key: the same values; the same sums in another order, so rounded otherwise; or
 * other values, whose accuracy nobody has measured. Only designs within the budget and the space's constraints count
 * (results/remedy.h); a change that is at least as good as another in every objective and in all that is told, and
 * computes no less alike, takes its place. */
#ifndef TN_RESULTS_OUTSIDE_H
#define TN_RESULTS_OUTSIDE_H

#include "base/memory.h"
#include "design/design.h"
#include "space/space.h"

#include <stdbool.h>

typedef enum tn_effect { TN_EFFECT_NOTHING, TN_EFFECT_ROUNDING, TN_EFFECT_VALUES, TN_EFFECTS } tn_effect;
extern const char
    *const tn_effect_names[]; /* of what a change computes otherwise: "nothing", "rounding", "values" */

/* What is told of a design, whatever the objectives. */
enum { TN_OUTSIDE_VALUES = 5 };
extern const char *const tn_outside_titles[TN_OUTSIDE_VALUES]; /* latency, memory, DSP, energy, LUT */

typedef struct tn_outside_change {
    const char *change;  /* "update.when=write-back build.group=14", as --set takes them */
    const char *was;     /* "end, 6" */
    const char *changes; /* of tn_effect_names */
    bool dominates;      /* better in an objective, worse in none, and the same values but for rounding */
    double value[TN_OUTSIDE_VALUES];
} tn_outside_change;

typedef struct tn_outside {
    size_t tried, count;
    double given[TN_OUTSIDE_VALUES];
    tn_outside_change *
        change; /* those that dominate first, of them those that take hardly more of anything; then by what they
                                  change, then by what they save */
} tn_outside;

enum { TN_OUTSIDE_MOST = 24 };

/* What of it is tried. */
typedef enum tn_outside_what {
    TN_OUTSIDE_SPACE, /* what the space left out */
    TN_OUTSIDE_FREE /* whether it is beaten by itself: all values of keys that change no computed value, or the order of sums
                         alone, in the space or not, and pairs of the four; any gain counts, and only those that dominate */
} tn_outside_what;

/* Of a design of the space (a variant of it, tn_space_of). Changes are those that make an objective at least 5 % better, or 1 %
 * where they dominate; at most TN_OUTSIDE_MOST. Lives in `arena`. */
tn_status tn_outside_find(const tn_space *space, const tn_design *design, tn_outside_what what,
                          tn_arena *arena, tn_outside *outside, tn_error *error);

#endif
