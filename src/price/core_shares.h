/* What cores of a class (price/core_classes.h) take at least under a build, which groups them into memories.
 *
 * Of m cores of a class floor(m / g) memories hold `group` g and one holds the rest. Let c(k) be what a memory of k takes (share), S(m) = floor(m / g) c(g) + c(m mod g) with
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
#ifndef TN_PRICE_CORE_SHARES_H
#define TN_PRICE_CORE_SHARES_H

#include "price/core_classes.h"

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
