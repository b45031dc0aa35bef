/* What a training step costs on a device with a build: cycles, resources, energy, and whether it fits.
 *
 * Two levels: tn_price_step is called for every design of a sweep (millions; microseconds on a prepared
 * workload, less where parts of the build came before); tn_price_explain (design/explain.h) gives the same
 * numbers with their origin for one design.
 */
#ifndef TN_PRICE_PRICE_H
#define TN_PRICE_PRICE_H

#include "base/error.h"
#include "base/public.h"
#include "device/build.h"
#include "device/device.h"
#include "price/workload.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

struct tn_place_options;
typedef struct tn_place_options tn_place_options; /* memory/placement.h */

typedef struct tn_price {
    uint64_t cycles_per_step;
    double seconds_per_step, joules_per_step, watts;
    double static_joules_per_step; /* the part of joules_per_step that the device draws at rest */
    tn_resources used;
    uint64_t on_chip_bytes;           /* capacity of the BRAM and URAM blocks taken */
    uint64_t off_chip_bytes;          /* of arrays that live in external memory */
    uint64_t off_chip_bytes_per_step; /* moved to and from it */
    uint32_t misfits;                 /* bit i: resource i (tn_resource) is short */
} tn_price;

typedef enum tn_resource { TN_LUT, TN_FF, TN_DSP, TN_BRAM18, TN_URAM, TN_RESOURCES } tn_resource;
static inline uint64_t tn_resource_amount(const tn_resources *resources, tn_resource which) {
    const uint64_t amount[TN_RESOURCES] = {resources->lut, resources->ff, resources->dsp, resources->bram18,
                                           resources->uram};
    return amount[which];
}
extern const char *const tn_resource_names[]; /* "lut", "ff", "dsp", "bram18", "uram" */

/* An illegal build (zero parallelism, ...) is TN_INPUT, as are off-chip arrays that the device has no
 * external memory for; a count past 64 bits is TN_OVERFLOW. */
tn_status tn_price_step(tn_workload *workload, const tn_build *build, tn_price *price, tn_error *error);

/* What the build costs at least whatever the layouts, without a search for them (memory/laid.h): no quantity of
 * tn_price_step is less, watts apart. *exact: it is that price, as there is no such bound, or nothing to search. Called
 * for every design of a sweep, so keys are not checked one by one: the build is one whose keys were decoded.
 *
 * Theorem: where tn_price_has_bound, every quantity of the bound is at most the price's, watts apart. Proof, by what a price is
 * summed up from:
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
 *   the shape of the least LUTs (tn_memory_least_luts), as are all memories of generated hardware (tn_memory_element_least). A staging memory's rows are as wide as those of what it holds on chip, which
 *   no layout changes (memory/staged.h); pieces of padded arrays take no fewer of them. Styles are chosen by what no layout changes. Multiplexers grow with
 *   banks.
 *   Energy: static power grows with seconds. An operation's longer work adds its kernel's busy energy and takes away the idle
 *   one of as many cycles, which is less. */
tn_status tn_price_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                         tn_error *error);
/* The same, closer to the price in cycles, and some hundred times slower. */
tn_status tn_price_close_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                               tn_error *error);

/* The closest: cycles as laid, where operations do not overlap; memories as the first bound has them. Of builds that differ in
 * places alone all but the first cost next to nothing. */
tn_status tn_price_work_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                              tn_error *error);

/* What all builds cost at least that differ from this one in style, split, group, read ports and placement of memories alone,
 * those with the options `places`: the same work, and the least memories that any of the places takes (memory/placement.h),
 * without routing between memories and kernels and without accesses. Blocks of different styles are no one design's: their
 * capacity is (on_chip_bytes). Of a build whose own places are searched the other bounds have such memories, too.
 *
 * Where the workload says how many blocks designs may take (a sweep: what the caps leave), these bounds are of designs that
 * take no more; one that takes more may cost less than they say, or is rejected by them. */
tn_status tn_price_places_bound(tn_workload *workload, const tn_build *build, const tn_place_options *places,
                                bool closely, tn_price *price, bool *exact, tn_error *error);

/* Of the bound of one build the memories alone, which take a small part of its time: block RAM, UltraRAM and their capacity in
 * *price, the rest 0; *has: there is such a bound. */
tn_status tn_price_bound_memories(tn_workload *workload, const tn_build *build, tn_price *price, bool *has,
                                  tn_error *error);

/* Whether such bounds are less work than the price; not where cells are refreshed while operations overlap, either. */
bool tn_price_has_bound(const tn_device *device, const tn_build *build);

TN_PUBLIC_END

#endif
