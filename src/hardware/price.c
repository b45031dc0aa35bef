#include "hardware/price.h"

#include "base/checked.h"
#include "hardware/energy.h"
#include "hardware/workload.h"

#include <string.h>

const char *const tn_resource_names[] = {"lut", "ff", "dsp", "bram18", "uram", NULL};

/* ---- what parallelism alone decides: cycles, kernels, words moved ---- */

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static void add_traffic(const tn_work *work, const tn_build *build, uint64_t issues, tn_work_price *price) {
    double count = (double)work->count;
    double elements = count * (double)work->size.rows * (double)work->size.columns;
    if (!work->product) {
        double passes = (double)tn_vector_passes((tn_vector_kind)work->vector);
        price->core_words += elements * (passes * work->reads_core + work->writes_core);
        price->activation_words += elements * (passes * work->reads_activation + work->writes_activation);
        return;
    }
    double terms = (double)least(build->reduction, work->size.reduction) * (double)issues * count;
    double left = terms * (double)least(build->rows, work->size.rows);
    double right = terms * (double)least(build->columns, work->size.columns);
    double result = elements * (double)work->size.batch;
    *(work->left_core ? &price->core_words : &price->activation_words) += left;
    *(work->right_core ? &price->core_words : &price->activation_words) += right;
    *(work->writes_core ? &price->core_words : &price->activation_words) += result;
}

static void add_vector_kernels(const tn_workload *workload, const tn_build *build, const uint64_t *busy,
                               tn_work_price *price) {
    for (int kind = 0; kind < TN_VECTOR_KINDS; kind++) {
        if (!workload->vector_used[kind]) continue;
        const tn_vector kernel = {(tn_vector_kind)kind, build->vector, &workload->vector_operators};
        tn_resources used = tn_vector_resources(workload->device, &kernel);
        double capacitance_pF = tn_energy_capacitance_pF(workload->device, &used);
        tn_resources_add(&price->vectors, &used, 1);
        price->vector_pF += capacitance_pF;
        price->vector_busy_pF += capacitance_pF * (double)busy[kind];
    }
}

/* Fills workload->work_cycles. */
static tn_status price_work(const tn_workload *workload, const tn_build *build, tn_work_price *price,
                            tn_error *error) {
    uint64_t busy[TN_VECTOR_KINDS] = {0}, sum = 0;
    *price = (tn_work_price){0};
    for (uint32_t i = 0; i < workload->works; i++) {
        const tn_work *work = &workload->work[i];
        uint64_t cycles, issues = 0;
        TN_TRY(tn_work_cycles(workload, work, build, &cycles, &issues, error));
        workload->work_cycles[i] = cycles;
        sum += cycles * work->count;
        *(work->product ? &price->product_cycles : &busy[work->vector]) += cycles * work->count;
        add_traffic(work, build, issues, price);
    }
    const tn_matmul kernel = tn_workload_matmul(workload, build);
    price->matmul =
        tn_matmul_resources(workload->device, &kernel, &workload->product_operators, workload->sum_bits);
    add_vector_kernels(workload, build, busy, price);
    price->cycles_per_step = sum;
    if (build->schedule != TN_SCHEDULE_SEQUENTIAL) {
        tn_schedule schedule;
        tn_workload_schedule(workload, build, &schedule);
        tn_schedule_run(&schedule, workload->work_cycles, workload->finish, &price->cycles_per_step);
    }
    return TN_OK;
}

/* ---- memories ---- */

static bool fills_less(const tn_blocks *bram, const tn_blocks *uram, const tn_resources *has) {
    double bram_share = (double)(bram->bram18 + 2 * bram->bram36) * (double)has->uram;
    return has->uram > 0 && (double)uram->uram * (double)has->bram18 < bram_share;
}

/* One memory of `depth` words in the style the build asks for; auto: LUTRAM while it is small, else whichever
 * of block RAM and UltraRAM takes the lesser share of the device. */
static tn_status take_blocks(const tn_device *device, tn_memory_price *price, bool dual, tn_blocks *blocks,
                             tn_error *error) {
    tn_geometry geometry = dual ? TN_GEOMETRY_HLS : (tn_geometry)device->memory.geometry;
    if (price->style == TN_STYLE_AUTO)
        price->style = tn_memory_style_auto(price->width_bits, price->depth, device->memory.lutram_bits_most);
    else
        return tn_memory_blocks(geometry, price->style, price->width_bits, price->depth, dual, blocks, error);
    TN_TRY(tn_memory_blocks(geometry, price->style, price->width_bits, price->depth, dual, blocks, error));
    if (price->style == TN_STYLE_DISTRIBUTED) return TN_OK;
    tn_blocks ultra;
    tn_resources has = tn_device_resources(device);
    TN_TRY(tn_memory_blocks(geometry, TN_STYLE_ULTRA, price->width_bits, price->depth, dual, &ultra, error));
    if (!fills_less(blocks, &ultra, &has)) return TN_OK;
    price->style = TN_STYLE_ULTRA;
    *blocks = ultra;
    return TN_OK;
}

static void add_blocks(tn_blocks *sum, const tn_blocks *blocks, uint64_t times) {
    sum->bram18 += blocks->bram18 * times;
    sum->bram36 += blocks->bram36 * times;
    sum->uram += blocks->uram * times;
    sum->lutram += blocks->lutram * times;
}

tn_status tn_memory_price_of(const tn_workload *workload, const tn_layout_memory *memory,
                             const tn_build *build, tn_memory_price *price, tn_error *error) {
    bool dual = memory->both_streams && tn_build_runs_streams(build);
    uint64_t accesses = tn_layout_accesses(memory, build), words = 0, depth = 0;
    bool partition = build->split == TN_SPLIT_PARTITION;
    for (uint32_t i = 0; i < memory->extents; i++) {
        const tn_extent *extent = &memory->extent[i];
        words += extent->arrays * extent->elements;
        depth += extent->arrays * tn_ceil_div(extent->elements, accesses);
    }
    uint64_t group = memory->grouped ? least(build->group, memory->copies) : 1;
    *price = (tn_memory_price){
        .style = (tn_memory_style)(memory->activation ? build->activation_memory : build->core_memory),
        .accesses = accesses,
        .banks = partition ? accesses : 1,
        .width_bits = partition ? workload->word_bits : workload->word_bits * accesses,
        .depth = depth * group,
        .memories = tn_ceil_div(memory->copies, group),
        .stored_bits = (double)words * (double)workload->word_bits * (double)memory->copies};
    uint64_t full = memory->copies / group, rest = memory->copies % group;
    tn_blocks blocks;
    if (rest > 0) {
        tn_memory_price last = *price;
        last.depth = depth * rest;
        TN_TRY(take_blocks(workload->device, &last, dual, &blocks, error));
        add_blocks(&price->blocks, &blocks, last.banks);
    }
    TN_TRY(take_blocks(workload->device, price, dual, &blocks, error));
    add_blocks(&price->blocks, &blocks, price->banks * full);
    return TN_OK;
}

static tn_status price_store(const tn_workload *workload, const tn_build *build, bool activation,
                             tn_store_price *price, tn_error *error) {
    const tn_layout *layout = &workload->layout[build->buffers];
    *price = (tn_store_price){0};
    for (uint32_t i = 0; i < layout->memories; i++) {
        if (layout->memory[i].activation != activation) continue;
        tn_memory_price part;
        TN_TRY(tn_memory_price_of(workload, &layout->memory[i], build, &part, error));
        price->bram18 += part.blocks.bram18 + 2 * part.blocks.bram36;
        price->uram += part.blocks.uram;
        price->lutram += part.blocks.lutram;
        price->bits[part.style] += part.stored_bits;
    }
    return TN_OK;
}

/* ---- remembered parts: the same parallelism or the same memories come back in many builds ---- */

static const uint64_t FILLED = (uint64_t)1 << 63;

static uint64_t parallel_key(const tn_build *build) {
    return ((build->rows * 2048 + build->columns) * 2048 + build->reduction) * 2048 + build->vector;
}

static size_t place_of(uint64_t key, size_t places) {
    key *= UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */
    return (size_t)(key >> 40) % places;
}

static tn_status remember_work(const tn_workload *workload, const tn_build *build,
                               const tn_work_price **price, tn_error *error) {
    bool streams = tn_build_runs_streams(build);
    uint64_t key = FILLED | parallel_key(build) << 4;
    if (streams) key |= 1 | (uint64_t)build->sharing << 1 | (uint64_t)build->buffers << 2;
    size_t place = place_of(key, TN_WORK_MEMO);
    tn_price_memo *memo = workload->memo;
    if (memo->work_key[place] != key) {
        memo->work_key[place] = 0;
        TN_TRY(price_work(workload, build, &memo->work[place], error));
        memo->work_key[place] = key;
    }
    *price = &memo->work[place];
    return TN_OK;
}

static tn_status remember_store(const tn_workload *workload, const tn_build *build, bool activation,
                                const tn_store_price **price, tn_error *error) {
    uint64_t style = activation ? build->activation_memory : build->core_memory;
    uint64_t key = parallel_key(build) << 2 | style;
    key = key << 1 | build->split;
    key = key << 1 | build->buffers;
    key = key << 1 | tn_build_runs_streams(build);
    key = key << 1 | activation;
    key = FILLED | key << 11 | (activation ? 0 : build->group);
    size_t place = place_of(key, TN_STORE_MEMO);
    tn_price_memo *memo = workload->memo;
    if (memo->store_key[place] != key) {
        memo->store_key[place] = 0;
        TN_TRY(price_store(workload, build, activation, &memo->store[place], error));
        memo->store_key[place] = key;
    }
    *price = &memo->store[place];
    return TN_OK;
}

/* ---- the whole ---- */

uint64_t tn_workload_matmuls(const tn_workload *workload, const tn_build *build) {
    return build->sharing == TN_PER_PHASE ? workload->matmuls : workload->matmuls > 0;
}

static void add_resources(const tn_workload *workload, const tn_build *build, const tn_work_price *work,
                          const tn_store_price *cores, const tn_store_price *activations,
                          tn_resources *used) {
    *used = work->vectors;
    tn_resources_add(used, &work->matmul, tn_workload_matmuls(workload, build));
    used->lut += cores->lutram + activations->lutram;
    used->bram18 += cores->bram18 + activations->bram18;
    used->uram += cores->uram + activations->uram;
}

/* Words moved are charged by style, in the proportion of what the styles store. */
static void spread_accesses(const tn_store_price *store, double bits, double *by_style) {
    double stored = 0;
    for (int style = 0; style <= TN_STYLE_DISTRIBUTED; style++) stored += store->bits[style];
    if (stored <= 0) return;
    for (int style = 0; style <= TN_STYLE_DISTRIBUTED; style++)
        by_style[style] += bits * store->bits[style] / stored;
}

void tn_price_activity(const tn_workload *workload, const tn_build *build, const tn_work_price *work,
                       const tn_store_price *cores, const tn_store_price *activations, const tn_price *price,
                       tn_activity *activity) {
    const tn_device *device = workload->device;
    double cycles = (double)price->cycles_per_step, word_bits = (double)workload->word_bits;
    double matmul_pF = tn_energy_capacitance_pF(device, &work->matmul);
    double matmuls_pF = matmul_pF * (double)tn_workload_matmuls(workload, build);
    const tn_resources blocks = {
        .lut = cores->lutram + activations->lutram, .bram18 = price->used.bram18, .uram = price->used.uram};
    *activity = (tn_activity){.seconds = price->seconds_per_step, .cycles = cycles};
    activity->busy_pF = matmul_pF * (double)work->product_cycles + work->vector_busy_pF;
    activity->idle_pF = (matmuls_pF + work->vector_pF) * cycles - activity->busy_pF;
    activity->block_pF = tn_energy_capacitance_pF(device, &blocks);
    spread_accesses(cores, work->core_words * word_bits, activity->access_bits);
    spread_accesses(activations, work->activation_words * word_bits, activity->access_bits);
}

static uint32_t misfits_of(const tn_resources *used, const tn_resources *has) {
    return (uint32_t)(used->lut > has->lut) << TN_LUT | (uint32_t)(used->ff > has->ff) << TN_FF |
           (uint32_t)(used->dsp > has->dsp) << TN_DSP | (uint32_t)(used->bram18 > has->bram18) << TN_BRAM18 |
           (uint32_t)(used->uram > has->uram) << TN_URAM;
}

static void price_whole(const tn_workload *workload, const tn_build *build, const tn_work_price *work,
                        const tn_store_price *cores, const tn_store_price *activations, tn_price *price) {
    double joules[TN_ENERGY_PARTS];
    tn_activity activity;
    tn_resources has = tn_device_resources(workload->device);
    *price = (tn_price){.cycles_per_step = work->cycles_per_step};
    price->seconds_per_step = (double)price->cycles_per_step / (tn_device_clock_MHz(workload->device) * 1e6);
    add_resources(workload, build, work, cores, activations, &price->used);
    tn_price_activity(workload, build, work, cores, activations, price, &activity);
    tn_energy_of(workload->device, &activity, joules);
    for (int part = 0; part < TN_ENERGY_PARTS; part++) price->joules_per_step += joules[part];
    if (price->seconds_per_step > 0) price->watts = price->joules_per_step / price->seconds_per_step;
    price->on_chip_bytes = (price->used.bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS +
                            price->used.uram * TN_MEMORY_CAPACITY_URAM_BITS) /
                           8;
    price->misfits = misfits_of(&price->used, &has);
}

tn_status tn_price_step(const tn_workload *workload, const tn_build *build, tn_price *price,
                        tn_error *error) {
    const tn_work_price *work;
    const tn_store_price *cores, *activations;
    TN_TRY(tn_build_check(build, error));
    TN_TRY(remember_work(workload, build, &work, error));
    TN_TRY(remember_store(workload, build, false, &cores, error));
    /* A second store may take the place of the first in the memo, so that one is copied. */
    const tn_store_price kept = *cores;
    TN_TRY(remember_store(workload, build, true, &activations, error));
    price_whole(workload, build, work, &kept, activations, price);
    return TN_OK;
}
