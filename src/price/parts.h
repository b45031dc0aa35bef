/* What groups of layers add to the price of a step, for builds where that is how a price comes about: schedule
 * sequential (cycles add up over operations), buffers separate and placement as built (each array has a memory of its
 * own, whose price follows from its size and its uses, or lives off chip by its size), ideal layouts (an operation's
 * cycles follow from its own sizes and arrays). docs/decomposition.md has the argument.
 *
 * The layers of a step are dealt to units (what is chosen together) or to none. An array that operations of one unit
 * and of none touch belongs to that unit. One that several units touch is common to them, and so are the memories
 * through which operations reach arrays off chip: their demands by each unit are handed out, and the price of the memory
 * follows from all of them together. Cycles and memories are priced by the functions that price a step (tn_price_work,
 * tn_price_share), and tn_parting_price compares the sum with tn_price_step: an unequal sum is an error of this program,
 * not of its input.
 *
 * Cores that share memories in groups (build.group over 1) do not split: which ones meet depends on all layers. Their
 * parts are lower bounds then: the least that a core of that size takes in any group.
 */
#ifndef TN_PRICE_PARTS_H
#define TN_PRICE_PARTS_H

#include "memory/map.h"
#include "price/tasks.h"
#include "price/workload.h"

typedef struct tn_price_part {
    double cycles, operations;
    double bram18, uram;  /* fractions where cores are grouped */
    double capacity_bits; /* of the blocks: of bram18 and uram, but where those are bounds of their own */
    double off_chip_bytes, off_chip_bytes_per_step;
    /* Of bounds alone (price/part_bounds.h), energy as a whole and what it is made of; watts: of no unit. */
    double joules, static_joules, dynamic_joules, watts;
} tn_price_part;

/* What is asked of a memory: to hold so many elements, and the uses of them, none of which covers another, in a fixed
 * order. Zeroed behind the last, so that equal demands compare as bytes. */
enum { TN_USES_MOST = 12 };
typedef struct tn_demand {
    uint64_t elements;
    uint32_t count;
    tn_use use[TN_USES_MOST];
} tn_demand;

/* Adds all of another demand: the greater size, and its uses. */
bool tn_demand_join(tn_demand *demand, const tn_build *build, const tn_demand *other);

/* A memory that several units bear on: an array that they share, or staging for one operand position. */
typedef struct tn_common_memory {
    bool staging;
    uint32_t position; /* staging: of the operand */
    uint32_t
        layer; /* arrays: that made it; with part, number and role it is the same in every step of the model */
    tn_array_part part;
    uint32_t number;
    tn_array_role role;
    uint64_t elements, word_bits; /* word_bits of staging: 0, the step's */
    uint32_t users;               /* units */
    const uint32_t *unit;         /* [users], rising */
} tn_common_memory;

typedef struct tn_parting tn_parting;

/* *why: NULL, or why a build's prices do not split, and the keys with which they do (`splits_as` of device/build.h); in the
 * arena. */
tn_status tn_parting_refuses(const tn_build *build, tn_arena *arena, const char **why, tn_error *error);

/* unit_of[layer]: below `units`, or `units` for none. Workload, unit_of and arena must outlive the parting. */
tn_status tn_parting_make(tn_workload *workload, const uint32_t *unit_of, uint32_t units, tn_arena *arena,
                          tn_parting **parting, tn_error *error);

/* part[units + 1]; the last is that of no unit. Common memories are in none, the step's descriptors are not either.
 * TN_LIMIT where the sum is not the step's price (a kind of step that this does not know). */
tn_status tn_parting_price(tn_parting *parting, const tn_build *build, tn_price_part *part, tn_error *error);

/* Arrays that units share, whatever the build. */
uint32_t tn_parting_shared(const tn_parting *parting, const tn_common_memory **shared);
/* Adds what a unit's operations ask of a shared array (`units`: those of none). False: no room. */
bool tn_parting_demand(const tn_parting *parting, uint32_t shared, uint32_t unit, tn_demand *demand);

/* Staging for operand positions, where arrays of over so many bytes live off chip: demand[TN_STAGINGS][units + 1]. */
enum { TN_STAGINGS = TN_OPERATION_READS + 1 };
tn_status tn_parting_staging(tn_parting *parting, const tn_build *build, tn_demand *demand, bool *fits,
                             tn_error *error);

/* Whether the build keeps a shared array on chip. */
bool tn_is_on_chip(const tn_build *build, const tn_common_memory *array);

/* Adds to *part a common memory with that demand; nothing for one of no elements. */
tn_status tn_common_price(const tn_device *device, uint64_t word_bits, const tn_build *build,
                          const tn_common_memory *memory, const tn_demand *demand, tn_price_part *part,
                          tn_error *error);

/* Blocks of the memory of a step's descriptors, price/workload_data.h. */
tn_status tn_descriptor_price(const tn_device *device, uint64_t operations, tn_price_part *part,
                              tn_error *error);

/* What all steps of a model must have in common for the rest of a price, which no choice of a layer changes under a build, to
 * be the same: the kinds of their operations and their arithmetics. Compares as bytes. */
typedef struct tn_step_kind {
    uint32_t arithmetics, vectors, vector_reads;
    uint32_t phases[TN_ARITHMETICS_MOST];
    tn_arithmetic arithmetic[TN_ARITHMETICS_MOST];
    bool vector_used[TN_OPERATION_KINDS];
} tn_step_kind;
void tn_step_kind_of(const tn_workload *workload, tn_step_kind *kind);

/* All kernels under a build whose prices split. */
tn_status tn_parting_kernels(tn_workload *workload, const tn_build *build, tn_resources *kernels,
                             tn_error *error);

#endif
