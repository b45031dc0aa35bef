/* A price from its parts: cycles, seconds, resources, what is short, energy. */
#ifndef TN_PRICE_PRICE_PARTS_H
#define TN_PRICE_PRICE_PARTS_H

#include "price/energy.h"
#include "price/plan.h"
#include "price/price.h"
#include "price/work.h"

/* The part of a price that is memories. Shares of single memories are remembered in the plan, sums in price/recall.h.
 * Inside the room. */

/* What memories take. */
typedef struct tn_memory_price {
    uint64_t bram18, uram, lutram;
    uint64_t selection_lut; /* multiplexers between rows of blocks; of a bound 0 */
    uint64_t read_ff;       /* behind generated LUTRAM */
    uint64_t block_bits;    /* capacity of the blocks; of a bound no sum of theirs */
    tn_port_source port[TN_SIDES];
    double bits[TN_STORES][TN_STYLE_DISTRIBUTED + 1]; /* stored, by store and style */
} tn_memory_price;

/* Of the stores whose bits are set in `stores`, the descriptors' memory with the cores'. Needs tn_plan_lay before and, where
 * placement is searched, tn_plan_places. */
tn_status tn_price_memories(const tn_workload *workload, tn_plan *plan, const tn_build *build,
                            unsigned stores, tn_memory_price *price, tn_error *error);

/* `activity`, from which the energy follows, may be NULL. */
void tn_price_sum(const tn_workload *workload, const tn_plan *plan, const tn_build *build,
                  const tn_work_price *work, const tn_memory_price *memories, tn_price *price,
                  tn_activity *activity);

/* A bit of each resource of which more is used than there is. */
static inline uint32_t tn_resources_misfits(const tn_resources *used, const tn_resources *has) {
    return (uint32_t)(used->lut > has->lut) << TN_LUT | (uint32_t)(used->ff > has->ff) << TN_FF |
           (uint32_t)(used->dsp > has->dsp) << TN_DSP | (uint32_t)(used->bram18 > has->bram18) << TN_BRAM18 |
           (uint32_t)(used->uram > has->uram) << TN_URAM;
}

#endif
