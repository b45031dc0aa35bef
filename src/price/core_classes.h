/* Classes of the cores of all steps of a model: which cores a build may group into memories together, and what a memory of so
 * many of them takes at least.
 *
 * A step puts cores of equal size, role, word and uses into one class, at most one of a layer: the n-th of a layer's cores
 * that are alike is in the n-th class of such cores (memory/map.h). All of that a layer decides alone, so a core has the
 * same class in every design in which its layer has the same choices. Of m cores of a class floor(m / g) memories hold `group`
 * g and one holds the rest. Let c(k) be what a memory of k takes (share), S(m) = floor(m / g) c(g) + c(m mod g) with
 * c(0) = 0, N the most layers that may have a core of the class, and L the least c(k) / k over k <= min(g, N).
 *
 * Theorem 1: m cores of the class take no less than S(m) in any design. Proof: the rows of a class are no narrower than the widest
 * use that is asked of what its members are updated with, so no narrower than the least of those over all members (ways), and no
 * wider than the widest use of all classes that updates link in some step, as rows become wide by uses and by updates alone
 * (memory/laid.h). In rows of one width a core takes no fewer of them than the fewest
 * that its words can cover it with, and the least of those over all members (rows). c(k) is the least over these rows, and no
 * blocks get fewer with depth. Where layouts are ideal a row is as wide as the uses of the class, and not padded.
 *
 * Theorem 2: where n cores of a class live at once it takes no less than D(n) = the least S(m) over n <= m <= N; and no less than
 * L n. Proof: gradients share copies only where they do not live at once, so there are m >= n copies; and c(k) >= L k.
 *
 * Theorem 3: let the cores of a class be dealt to participants, n_i to the i-th, N at most in all. Then the class takes no less than
 * the sum over i of A(n_i), where A(n) = L n if 2 n <= N, and else the least of D(n + x) - L x over 0 <= x <= N - n. Proof: at most
 * one n_i is over N / 2. If none is, the sum is L times all. If n_1 is, let x be all others: A(n_1) <= D(n_1 + x) - L x.
 * Where there is one participant A may be D. */
#ifndef TN_PRICE_CORE_CLASSES_H
#define TN_PRICE_CORE_CLASSES_H

#include "price/array_rows.h"
#include "price/parts.h"

enum { TN_CORE_WAYS = 2 };

/* A list of uses, none of which covers another. */
typedef struct tn_core_uses {
    uint32_t count;
    tn_use use[TN_USES_MOST];
} tn_core_uses;

typedef struct tn_core_class {
    uint64_t elements, word_bits;
    tn_array_role role;
    uint32_t ordinal; /* among its layer's cores that are alike */
    tn_core_uses uses;
    bool
        is_blurred; /* it had more uses than have room: several classes may be taken for one, and theorem 1 is not known */
    uint64_t stored; /* the fewest elements that are kept of any */
    uint32_t ways; /* uses of all that some core is updated with, which has rows of one size; more ways: 0, */
    bool has_more_ways; /* and its own */
    tn_core_uses way[TN_CORE_WAYS];
    uint32_t
        linked; /* a class that some update goes through, too: the first of them, in turn, stands for all; */
    bool is_open; /* what stands for all: and through what is no core of a known class */
    bool is_padded;
    uint64_t rows[TN_ROW_LOGS]; /* the fewest of any, where each of them is known to be padded */
    uint32_t layers;            /* N */
    uint32_t *most;             /* [units + 1]: of each unit, over its options */
} tn_core_class;

/* Made of every step that parts are made of. */
typedef struct tn_core_classes {
    uint32_t count;
    size_t room, slots;
    tn_core_class *list;
    uint32_t *slot; /* open addressing: place in the list, plus 1 */
} tn_core_classes;

/* Adds those of the parting's step; what is kept lives in `arena`. */
tn_status tn_core_classes_add(tn_core_classes *classes, const tn_parting *parting, tn_arena *arena,
                              tn_error *error);

/* class_of[arrays] of the parting's step, which was added; UINT32_MAX: no core. */
tn_status tn_core_classes_find(const tn_core_classes *classes, const tn_parting *parting, uint32_t *class_of,
                               tn_error *error);

/* What cores of a class take under a build. */
typedef struct tn_core_share {
    double capacity_bits, bram18, uram; /* L: of one, whatever memory it lies in */
    uint32_t most_log;                  /* rows have no more than 2^this elements */
    uint32_t layers;                    /* N, */
    double *alone, *among; /* [layers + 1]: D and A of capacity_bits; L n where theorem 1 is not known */
} tn_core_share;

/* Of cores that the build's keys place (placement as-built, geometry hls). Lives in `arena`. */
tn_status tn_core_share_find(const tn_workload *workload, const tn_build *build,
                             const tn_core_classes *classes, uint32_t core_class, tn_arena *arena,
                             tn_core_share *share, tn_error *error);

/* The least that one of 1 to `group` arrays like `mapped` takes in a memory of rows of 2^least_log to 2^most_log elements;
 * rows[log]: the fewest that it has. memory_bits[group + 1]: capacity of a memory of so many; NULL: not asked for. */
tn_status tn_least_share(const tn_workload *workload, const tn_build *build, const tn_mapped *mapped,
                         const uint64_t *rows, uint32_t least_log, uint32_t most_log, uint64_t group,
                         double *memory_bits, tn_core_share *share, tn_error *error);

/* Whether the build's keys place cores, and they take no less with more rows. */
bool tn_build_places_cores(const tn_workload *workload, const tn_build *build);
/* Whether layouts are found, so that rows may be wider than uses ask. */
bool tn_build_lays_rows(const tn_build *build);
/* Banks that the build asks for of a memory whose rows have 2^row_log elements. */
uint64_t tn_row_banks(const tn_build *build, uint32_t row_log);

#endif
