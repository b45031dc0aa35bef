#include "price/price.h"

#include "base/checked.h"
#include "price/operating_point.h"
#include "price/price_parts.h"
#include "price/recall.h"
#include "price/routing.h"
#include "price/workload_data.h"

#include <math.h>
#include <string.h>

/* Each side of a kernel that the memory serves. */
static void add_ports(const tn_mapped *memory, const tn_memory_share *share, tn_port_source *port) {
    for (int side = 0; side < TN_SIDES; side++)
        if (memory->sides >> side & 1) tn_port_add(&port[side], &share->port);
}

/* The rows of every memory of the plan: as laid, or as parallelism alone decides them. */
static void find_rows(tn_plan *plan, const tn_build *build) {
    const uint64_t edges[] = {build->rows, build->columns, build->reduction, build->vector, build->array};
    if (plan->laid ? memcmp(&plan->laid_rows, &plan->laid->key, sizeof plan->laid_rows) == 0
                   : memcmp(plan->ideal_rows, edges, sizeof edges) == 0)
        return;
    memset(plan->ideal_rows, 0, sizeof plan->ideal_rows);
    plan->laid_rows = (tn_laid_key){0};
    if (plan->laid)
        plan->laid_rows = plan->laid->key;
    else
        memcpy(plan->ideal_rows, edges, sizeof edges);
    for (uint32_t i = 0; i < plan->map.memories; i++) {
        const tn_row *laid = tn_plan_row(plan, i);
        const tn_row ideal = {.elements = laid ? 0 : tn_mapped_accesses(&plan->map.memory[i], build)};
        tn_share_memo_set_row(plan->shares, i, laid ? laid : &ideal);
    }
}

/* The share of a memory of the plan, as it was found before where it had the same row and place: few of these differ
 * between builds. */
static tn_status recall_share(const tn_workload *workload, const tn_plan *plan, uint32_t index,
                              const tn_build *build, const tn_place *place, uint32_t slot,
                              const tn_memory_share **share, tn_error *error) {
    tn_memory_share *kept;
    bool found;
    TN_TRY(tn_share_memo_find(plan->shares, index, slot, &kept, &found, error));
    *share = kept;
    if (found) return TN_OK;
    const tn_mapped *memory = &plan->map.memory[index];
    const tn_row *row = tn_plan_row(plan, index);
    tn_known_shares *known = workload->laid ? workload->laid->programs->shares : NULL;
    if (known && row)
        TN_TRY(tn_known_share(known, workload->device, workload->word_bits, memory, row, build, place, kept,
                              error));
    else
        TN_TRY(tn_price_share(workload->device, workload->word_bits, memory, row, build, place, kept, error));
    tn_share_memo_keep(plan->shares, index, slot);
    return TN_OK;
}

/* Memories as built are at three places: those of cores, in groups or not, and those of activations. */
typedef struct {
    tn_place place;
    uint32_t slot;
} found_place;

static const found_place *find_place(const tn_plan *plan, uint32_t index, const tn_build *build,
                                     found_place known[TN_STORES][2], unsigned *have) {
    const tn_mapped *memory = &plan->map.memory[index];
    found_place *found = &known[memory->store][memory->grouped];
    unsigned bit = 1u << (2 * memory->store + memory->grouped);
    bool as_built = build->placement == TN_PLACE_AS_BUILT;
    if (as_built && *have & bit) return found;
    found->place = as_built ? tn_place_as_built(memory, build) : plan->place[index];
    found->slot = tn_share_memo_place(plan->shares, &found->place, build->read_ports);
    *have |= bit;
    return found;
}

static void add_descriptors(const tn_workload *workload, tn_memory_price *price) {
    price->bram18 += workload->descriptor_bram18;
    price->block_bits += workload->descriptor_bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS;
}

tn_status tn_price_memories(const tn_workload *workload, tn_plan *plan, const tn_build *build,
                            unsigned stores, tn_memory_price *price, tn_error *error) {
    found_place known[TN_STORES][2];
    unsigned have = 0;
    *price = (tn_memory_price){0};
    find_rows(plan, build);
    if (stores >> TN_STORE_CORES & 1) add_descriptors(workload, price);
    for (uint32_t i = 0; i < plan->map.memories; i++) {
        const tn_mapped *memory = &plan->map.memory[i];
        const tn_memory_share *share;
        if (!(stores >> memory->store & 1)) continue;
        const found_place *found = find_place(plan, i, build, known, &have);
        TN_TRY(recall_share(workload, plan, i, build, &found->place, found->slot, &share, error));
        price->bram18 += share->bram18;
        price->uram += share->uram;
        price->lutram += share->lutram;
        price->selection_lut += share->selection_lut;
        price->read_ff += share->read_ff;
        price->block_bits +=
            share->bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS + share->uram * TN_MEMORY_CAPACITY_URAM_BITS;
        price->bits[memory->store][share->style] += share->stored_bits;
        add_ports(memory, share, price->port);
    }
    return TN_OK;
}

const char *const tn_resource_names[] = {"lut", "ff", "dsp", "bram18", "uram", NULL};

tn_status tn_price_step(tn_workload *workload, const tn_build *this_build, tn_price *price, tn_error *error) {
    enum { CORES = 1 << TN_STORE_CORES, ACTIVATIONS = 1 << TN_STORE_ACTIVATIONS };
    const tn_build effective = tn_build_effective(this_build), *build = &effective;
    const tn_work_price *work;
    tn_memory_price memories = {0};
    tn_plan *plan;
    TN_TRY(tn_build_check(this_build, error));
    TN_TRY(tn_workload_built(workload, build, &workload, error));
    TN_TRY(tn_recall_begin(workload, error));
    TN_TRY(tn_workload_plan(workload, build, &plan, error));
    TN_TRY(tn_recall_work(workload, plan, build, &work, error));
    if (build->placement == TN_PLACE_SEARCHED) {
        TN_TRY(tn_recall_memories(workload, plan, build, CORES | ACTIVATIONS, work, &memories, error));
    } else {
        TN_TRY(tn_recall_memories(workload, plan, build, CORES, work, &memories, error));
        TN_TRY(tn_recall_memories(workload, plan, build, ACTIVATIONS, work, &memories, error));
    }
    tn_price_sum(workload, plan, build, work, &memories, price, NULL);
    return TN_OK;
}

/* Words moved are charged by style, in the proportion of what the styles store. */
static void spread_accesses(const double *stored_bits, double bits, double *by_style) {
    double stored = 0;
    for (int style = 0; style <= TN_STYLE_DISTRIBUTED; style++) stored += stored_bits[style];
    if (stored <= 0) return;
    for (int style = 0; style <= TN_STYLE_DISTRIBUTED; style++)
        by_style[style] += bits * stored_bits[style] / stored;
}

static void sum_activity(const tn_workload *workload, const tn_plan *plan, const tn_work_price *work,
                         const tn_memory_price *memories, const tn_resources *kernels,
                         const tn_resources *routing, const tn_operating_point *point, const tn_price *price,
                         tn_activity *activity) {
    const tn_device *device = workload->device;
    double cycles = (double)price->cycles_per_step;
    const tn_resources blocks = {.lut = memories->lutram, .bram18 = memories->bram18, .uram = memories->uram};
    *activity = (tn_activity){.seconds = price->seconds_per_step, .cycles = cycles};
    activity->busy_pF = work->vector_busy_pF;
    for (uint32_t i = 0; i < workload->arithmetics; i++)
        activity->busy_pF +=
            tn_energy_capacitance_pF(device, &work->matmul[i]) * (double)work->product_cycles[i];
    activity->idle_pF = tn_energy_capacitance_pF(device, kernels) * cycles - activity->busy_pF;
    activity->busy_pF += tn_energy_capacitance_pF(device, routing) * cycles; /* always in use by something */
    activity->block_pF = tn_energy_capacitance_pF(device, &blocks);
    activity->clock_pF = device->energy.clock_pF.value * (double)price->used.ff;
    for (int store = 0; store < TN_STORES; store++)
        spread_accesses(memories->bits[store], work->words[store] * (double)workload->word_bits,
                        activity->access_bits);
    activity->refresh_pJ = work->refresh_pJ;
    activity->lowered = point->lowered;
    activity->lowered_squared = point->lowered_squared;
    if (!plan->off_chip) return;
    const tn_external_memory *external = device->external.item;
    activity->off_chip_pJ = 8.0 * (double)plan->off_chip_bytes_per_step * external->pJ_per_bit +
                            (double)plan->off_chip_rows_per_step * external->pJ_per_row;
    activity->off_chip_rest_W = external->rest_W;
}

void tn_price_sum(const tn_workload *workload, const tn_plan *plan, const tn_build *build,
                  const tn_work_price *work, const tn_memory_price *memories, tn_price *price,
                  tn_activity *activity) {
    double joules[TN_ENERGY_PARTS];
    tn_activity own;
    tn_resources has = tn_device_resources(workload->device);
    if (!activity) activity = &own;
    const tn_resources kernels = tn_workload_kernels(workload, build, work);
    *price = (tn_price){.cycles_per_step = work->cycles_per_step, .used = kernels};
    const tn_operating_point point = tn_operating_point_of(workload->step, workload->device, work);
    price->seconds_per_step = point.seconds;
    tn_resources routing = tn_workload_routing(workload, build, memories->port);
    const tn_resources controller = tn_plan_controller(plan, workload->device);
    routing.lut += memories->selection_lut;
    routing.ff += memories->read_ff;
    tn_resources_add(&price->used, &routing, 1);
    tn_resources_add(&price->used, &controller, 1);
    price->on_chip_bytes = (price->used.bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS +
                            price->used.uram * TN_MEMORY_CAPACITY_URAM_BITS + memories->block_bits) /
                           8;
    price->used.lut += memories->lutram;
    price->used.bram18 += memories->bram18;
    price->used.uram += memories->uram;
    price->off_chip_bytes = plan->off_chip_bytes;
    price->off_chip_bytes_per_step = plan->off_chip_bytes_per_step;
    sum_activity(workload, plan, work, memories, &kernels, &routing, &point, price, activity);
    tn_energy_of(workload->device, activity, joules);
    price->static_joules_per_step = joules[TN_ENERGY_STATIC];
    for (int part = 0; part < TN_ENERGY_PARTS; part++) price->joules_per_step += joules[part];
    if (price->seconds_per_step > 0) price->watts = price->joules_per_step / price->seconds_per_step;
    price->misfits = tn_resources_misfits(&price->used, &has);
}
