/* What builds cost at least, without laying them: prices that no price of theirs (tn_price_step) is below.
 *
 * Theorem: where tn_price_has_bound, every quantity of the bound is at most the price's. Proof, by what a price is summed up
 * from:
 *   Kernels, words read and written, bytes off chip: the same, as no layout bears on them.
 *   A product: its issues take a block of each operand, so they are no fewer than with whole tiles, each lasts a cycle or more,
 *   and a tile's sums wait `stages` cycles for each other. So it takes no less than the lesser of the ideal product (tiles fill
 *   the waits of each other) and one tile's terms (layouts cut it into so many tiles that none waits).
 *   A pass of a vector kernel: as many issues as ideally, each of one phase or more; an update over padded rows has more. A
 *   scatter is a sum of rows ideally, and as laid a copy of all rows at once (positions of one example) or a pass for each row;
 *   it is bounded by the copy, which has the issues of either and waits for no sum.
 *   A part of a gradient: what it takes ideally.
 *   Transfers: an operation takes the greater of its own cycles and those moved beside it, and a sum of what is moved alone, latency
 *   and what its tiles take more than the whole; all but its own cycles follow from sizes and the build, whatever the layouts.
 *   The step: in turn, a sum of operations. Overlapping (gradients-together, parallel, all on chip), no schedule ends before the
 *   cycles of a kind of kernels, dealt out evenly, or the longest chain.
 *   Memories: rows have the same elements, the bound's are no deeper and in no more banks. In geometry hls the blocks of a style
 *   are a whole number of blocks times a whole number of rows, the least of the shapes, and grow with both; LUTRAM is told of
 *   the shape of the least LUTs (tn_memory_least_luts), as are all memories of generated hardware (tn_memory_element_least). A
 *   staging memory's rows are as wide as those of what it holds on chip, which no layout changes (memory/staged.h); pieces of
 *   padded arrays take no fewer of them. Styles are chosen by what no layout changes. Multiplexers grow with banks.
 *   Energy: static power grows with seconds. An operation's longer work adds its kernel's busy energy and takes away the idle
 *   one of as many cycles, which is less.
 *   Watts: those of a step in which nothing is done, kernels, memories and clock tree idle as long as it lasts; none with a deadline.
 *   Where the cycles are known (TN_BY_WORK, one operation after the other), the energy that bounds it over that time.
 *
 * Of a set of builds: a price is a sum (tn_price_sum) that grows with each part of work and memories, so it is no less than that of the
 * least of each part, which no one build of the set need have. Memories are those of the places that fit into what is there
 * (memory/place_table.h), without accesses; blocks of different styles are no one design's: their capacity is (on_chip_bytes).
 * Routing between them and the kernels is that of one lane and the ports that such places have, and what lanes add before one
 * memory: both grow with memories, rows, banks and depths (price/engine_logic.h, memory/memory_share.h). So a bound of a set, and of one build whose places are searched, speaks of those
 * designs that take no more than the workload says is there (a sweep: what the caps leave); one that takes more may cost less
 * than it says, or is rejected by it. */
#ifndef TN_PRICE_BOUND_H
#define TN_PRICE_BOUND_H

#include "base/error.h"
#include "base/public.h"
#include "device/build.h"
#include "device/device.h"
#include "price/build_set.h"
#include "price/price.h"
#include "price/workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* Each is closer than the one before, and more work. */
typedef enum tn_closeness {
    TN_BY_PARALLELISM, /* whatever the layouts (TN_LAID_BOUND) */
    TN_BY_PRODUCTS,    /* each product in the best layouts (TN_LAID_CLOSELY), vector kernels as before; */
    TN_BY_WORDS,       /* these, too: some hundred times slower than the first */
    TN_BY_WORK         /* cycles as laid, where operations do not overlap; memories as the first has them */
} tn_closeness;

/* *exact: it is the price, as there is no such bound, or nothing to search. Called for every design of a sweep, so keys are
 * not checked one by one: the build is one whose keys were decoded. The close one is TN_BY_WORDS. */
tn_status tn_price_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                         tn_error *error);
tn_status tn_price_close_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                               tn_error *error);

/* Of all builds of the set. Closer ones than the first are of sets in which only keys are free that vector kernels alone and places
 * follow from, that by products also of those with free banks, where work splits. Nothing is said of memories where edges of
 * kernels are free, or where kernels alone take more than the workload says is there. *has: there is such a bound.
 * enough_cycles: a step of so many need not be known any closer, so that only the heaviest products are laid until that many
 * have come together; UINT64_MAX: all. What is told then is a bound, too. */
tn_status tn_price_set_bound(tn_workload *workload, const tn_build_set *set, tn_closeness closeness,
                             uint64_t enough_cycles, tn_price *price, bool *has, tn_error *error);

/* The closest of these without memories, */
tn_status tn_price_set_work(tn_workload *workload, const tn_build_set *set, tn_price *price, bool *has,
                            tn_error *error);

/* and what memories add at least at one of the places of a set. */
typedef struct tn_place_entry {
    uint64_t
        number; /* of the values of its free keys of places, in the order of the axes, the last changing fastest */
    uint64_t bram18, uram, capacity_bits;
    uint64_t lut; /* of LUTRAM and routing, but for what lanes add */
} tn_place_entry;

/* What it points to lives as long as the workload. */
typedef struct tn_place_list {
    size_t count;
    const tn_place_entry *entry; /* [count]: by capacity, those of equal ones by number */
    uint64_t lanes_lut;          /* what the lanes of the set's least build add to the LUTs of each */
} tn_place_list;

/* All places of a set that has a bound and in which no keys but those of lanes and places are free. every: also those that cost the
 * same as one of a lower number, as keys that a search for places does not read have other values. */
tn_status tn_price_set_places(tn_workload *workload, const tn_build_set *set, bool every, tn_place_list *list,
                              tn_error *error);

/* Cycles that every build of the set takes at least, without a plan of it: products alone, of each arithmetic one behind the other
 * on all matmul kernels that a build may have for it, of which each begins as many multiply-adds in a cycle as its edges multiply to. */
uint64_t tn_price_set_least_cycles(const tn_workload *workload, const tn_build_set *set);

/* What steps of so many cycles take in time and static energy, whatever else: of *price nothing but these is set. Nothing with a
 * deadline. */
void tn_price_least_time(const tn_workload *workload, uint64_t cycles, tn_price *price);

/* Whether the memories of every build of the set lack room in so much (memory/place_floor.h). *lacks: the resource; TN_RESOURCES: they
 * may fit, or nothing is known, as of arrays off chip or ideal layouts. */
tn_status tn_price_set_lack(tn_workload *workload, const tn_build_set *set, const tn_resources *within,
                            tn_resource *lacks, tn_error *error);

/* Whether such bounds are less work than the price; not where cells are refreshed while operations overlap, either. */
bool tn_price_has_bound(const tn_device *device, const tn_build *build);

TN_PUBLIC_END

#endif
