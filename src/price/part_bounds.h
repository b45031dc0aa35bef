/* What groups of layers add at least to the price of a step, whatever the build's keys and whatever the other layers are:
 * parts whose sum no price as built (tn_price_step) is below. For builds whose price does not split (price/parts.h).
 *
 * Theorem: for every build, the sums of `cycles`, `capacity_bits`, `bram18`, `uram`, of energy, power and bytes off chip over all
 * parts are at most those of the price. Proof, by what a part is made of:
 *   Cycles, one operation after the other: an operation takes no less than tn_price_bound says of it, which looks at the
 *   operation and its kernel alone (TN_LAID_BOUND); what is laid in no layouts takes what it takes ideally. Where all is on
 *   chip it takes no less than with its operands in the best words that they may lie in whatever the other layers are, either
 *   (TN_LAID_ALONE, memory/laid.h): that is the close bound of price/bound.h in the best of all neighbourhoods. The products of a
 *   layer together: price/program_words.h.
 *   Cycles, overlapping: a task keeps a kernel of its kind from start to end, so the step lasts no less than the work of one
 *   kind over the number of its kernels: each operation adds its share, those of other kinds nothing. Which kind is the
 *   same for all steps (view). In pieces (schedule pipelined) a task takes an issue a cycle or more in each: together no
 *   fewer than the whole product has blocks.
 *   Cores: price/core_shares.h.
 *   Pools of what no choice changes: price/fixed_pools.h.
 *   Everything else pooled: arrays that live at one moment lie in places of their own, so their pools hold all of them, in
 *   memories of rows no narrower than each array's uses ask. A memory of so many rows has at least as many bits of blocks as
 *   where its blocks are filled best, over all depths: block counts of every shape repeat with 16,384 rows. By its rows
 *   without padding also in the style that they get, which takes the lesser share of the device, beyond 16,384 rows the same;
 *   with padding in any style. A memory of LUTs holds no array of more bits than such memories may have.
 *   The moment is a phase of one layer (view): what other units hold throughout it, and the most that its own unit holds at any
 *   of its operations. Separate buffers: each array in a memory as a core without a group.
 *   Searched placement, geometry yosys: bits, as in pools.
 *   Staging memories and routing: nothing. Bytes off chip follow from the arrays.
 *   Joules: static power while the step lasts, kernels idle all the time, and matmul kernels busy for the products' work; each on
 *   its own, too. Watts: what rests and idles all the time. */
#ifndef TN_PRICE_PART_BOUNDS_H
#define TN_PRICE_PART_BOUNDS_H

#include "price/part_survey.h"
#include "price/parts.h"

/* A phase of a layer: its operations of the forward phase, or those of its gradients. */
typedef struct tn_moment {
    uint32_t layer;
    bool is_back;
} tn_moment;

enum { TN_LIVE_ACTIVATIONS, TN_LIVE_GRADIENTS, TN_LIVE_CORE_GRADIENTS, TN_LIVES };

/* What parts of all steps of a model under one build must look at alike. */
typedef struct tn_part_view {
    const tn_part_survey *survey;
    const tn_core_share *core;  /* [survey->cores.count]: of the build */
    tn_moment moment[TN_LIVES]; /* when so many of these live as possible, for pooled buffers */
    uint32_t
        kind; /* whose kernels bound an overlapping step: an arithmetic, or their number: vector kernels */
} tn_part_view;

/* Cores of a part, by their classes in the survey, rising. */
typedef struct tn_part_cores {
    uint32_t count, *core_class;
} tn_part_cores;

/* The view under which the bound of the parting's step is greatest. The workload is the build's (tn_workload_built), and the
 * survey knows the parting (tn_part_survey_know), also below. What is found lives in `arena`. */
tn_status tn_part_view_choose(tn_parting *parting, const tn_build *build, const tn_part_survey *survey,
                              tn_arena *arena, tn_part_view *view, tn_error *error);

/* part[units + 1]; the last is of what no unit decides, shared arrays included. The memory of descriptors is in none.
 * cores[units + 1]: those that each part's capacity_bits hold the share of one of, `capacity_bits` of price/core_shares.h; none where
 * the build's keys do not place them. Their classes together take more than that. */
tn_status tn_parting_bound(tn_parting *parting, const tn_build *build, const tn_part_view *view,
                           tn_arena *arena, tn_price_part *part, tn_part_cores *cores, tn_error *error);

/* All kernels of the build; no price has fewer of any resource. */
tn_status tn_bound_kernels(tn_workload *workload, const tn_build *build, tn_resources *kernels,
                           tn_error *error);

#endif
