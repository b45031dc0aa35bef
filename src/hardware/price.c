/* Prices builds; parts of a build that came before are taken from memory.
 *
 * A part's key is the build with all choices zeroed that the part does not depend on. Tables are
 * direct-mapped: a part that falls on another's place takes it. So a price depends on the build alone, never
 * on what was priced before.
 */
#include "hardware/price.h"

#include "hardware/workload.h"

#include <string.h>

const char *const tn_resource_names[] = {"lut", "ff", "dsp", "bram18", "uram", NULL};

enum { PRODUCT_PLACES = 128, VECTOR_PLACES = 16, WORK_PLACES = 64, MEMORY_PLACES = 1024 };

typedef struct {
    bool filled;
    unsigned stores; /* of a memory part: which stores it is of */
    tn_build key;
} part_key;

typedef struct {
    part_key key;
    tn_work_price price;
} work_part;

typedef struct {
    part_key key;
    tn_memory_price price;
} memory_part;

struct tn_price_memo {
    work_part product[PRODUCT_PLACES], vector[VECTOR_PLACES]; /* where work splits */
    work_part work[WORK_PLACES];                              /* where it does not */
    memory_part memory[MEMORY_PLACES];
    tn_work_price sum; /* of a product's and a vector's part */
};

tn_status tn_price_memo_make(tn_arena *arena, tn_price_memo **memo, tn_error *error) {
    return tn_arena_alloc(arena, 1, sizeof **memo, memo, error);
}

/* Multilinear hashing: the words of the key by odd factors of their own, so that none waits for another. */
static size_t place_of(const tn_build *key, unsigned stores, size_t places) {
    enum { WORDS = sizeof *key / sizeof(uint64_t) };
    static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t word[WORDS], hash = stores * UINT64_C(0xd6e8feb86659fd93), factor = golden;
    memcpy(word, key, sizeof word);
    for (size_t i = 0; i < WORDS; i++) {
        hash += word[i] * (factor | 1);
        factor += factor << 7 ^ golden;
    }
    return (size_t)(hash >> 32) % places;
}

static bool is_same(const part_key *a, const tn_build *key, unsigned stores) {
    return a->filled && a->stores == stores && memcmp(&a->key, key, sizeof *key) == 0;
}

static tn_build parallelism_of(const tn_build *build) {
    return (tn_build){.rows = build->rows,
                      .columns = build->columns,
                      .reduction = build->reduction,
                      .vector = build->vector,
                      .array = build->array,
                      .off_chip_over_bytes = build->off_chip_over_bytes,
                      .off_chip_tile_bytes = build->off_chip_over_bytes ? build->off_chip_tile_bytes : 0};
}

static tn_build work_key(const tn_build *build) {
    tn_build key = parallelism_of(build);
    if (build->off_chip_over_bytes > 0) key.buffers = build->buffers;
    key.vector_units = (uint32_t)tn_build_shares_vectors(build);
    key.layouts = build->layouts;
    if (build->layouts == TN_LAID_AS_FOUND) { /* which memories arrays share decides their rows */
        key.buffers = build->buffers;
        key.split = build->split;
    }
    if (build->schedule == TN_SCHEDULE_SEQUENTIAL) return key;
    key.schedule = build->schedule;
    key.sharing = build->sharing;
    key.kernels = build->kernels;
    key.read_ports = build->read_ports;
    key.buffers = build->buffers;
    key.group = build->group;
    key.placement = build->placement;
    if (build->schedule == TN_SCHEDULE_PIPELINED) key.blocks = build->blocks;
    return key;
}

static tn_build memory_key(const tn_build *build, unsigned stores) {
    tn_build key = parallelism_of(build);
    key.buffers = build->buffers;
    key.read_ports = build->read_ports;
    key.placement = build->placement;
    key.layouts = build->layouts;
    if (build->placement != TN_PLACE_SEARCHED || build->layouts != TN_LAID_IDEALLY) key.split = build->split;
    if (build->placement == TN_PLACE_SEARCHED) {
        /* The LUTs that kernels leave. */
        key.vector_units = (uint32_t)tn_build_shares_vectors(build);
        key.sharing = build->sharing;
        key.kernels = build->kernels;
        return key;
    }
    if (stores == 1 << TN_STORE_CORES) {
        key.core_memory = build->core_memory;
        key.group = build->group;
    } else {
        key.activation_memory = build->activation_memory;
    }
    return key;
}

typedef tn_status price_half(tn_workload *workload, const tn_build *build, tn_work_price *price,
                             tn_error *error);

/* The work of products or of vector kernels. */
static tn_status recall_half(tn_workload *workload, work_part *table, size_t places, price_half *price,
                             const tn_build *key, const tn_build *build, const tn_work_price **found,
                             tn_error *error) {
    work_part *part = &table[place_of(key, 0, places)];
    *found = &part->price;
    if (is_same(&part->key, key, 0)) return TN_OK;
    part->key.filled = false;
    TN_TRY(price(workload, build, &part->price, error));
    part->key = (part_key){true, 0, *key};
    return TN_OK;
}

/* Of the two, what both have is added, and each brings the kernels that the other lacks. */
static tn_status recall_halves(tn_workload *workload, const tn_build *build, const tn_work_price **price,
                               tn_error *error) {
    const tn_build product_key = {.rows = build->rows,
                                  .columns = build->columns,
                                  .reduction = build->reduction,
                                  .array = build->array,
                                  .layouts = build->layouts};
    const tn_build vector_key = {.vector = build->vector,
                                 .vector_units = (uint32_t)tn_build_shares_vectors(build)};
    tn_price_memo *memo = workload->memo;
    const tn_work_price *products, *vectors;
    TN_TRY(recall_half(workload, memo->product, PRODUCT_PLACES, tn_price_products, &product_key, build,
                       &products, error));
    TN_TRY(recall_half(workload, memo->vector, VECTOR_PLACES, tn_price_vectors, &vector_key, build, &vectors,
                       error));
    memo->sum = *products;
    memo->sum.cycles_per_step += vectors->cycles_per_step;
    memo->sum.vectors = vectors->vectors;
    memo->sum.vector_busy_pF = vectors->vector_busy_pF;
    for (int store = 0; store < TN_STORES; store++) memo->sum.words[store] += vectors->words[store];
    *price = &memo->sum;
    return TN_OK;
}

static tn_status recall_work(tn_workload *workload, tn_plan *plan, const tn_build *build,
                             const tn_work_price **price, tn_error *error) {
    if (tn_work_splits(workload, plan, build)) return recall_halves(workload, build, price, error);
    tn_build key = work_key(build);
    work_part *part = &workload->memo->work[place_of(&key, 0, WORK_PLACES)];
    *price = &part->price;
    if (is_same(&part->key, &key, 0)) return TN_OK;
    part->key.filled = false;
    if (build->layouts == TN_LAID_AS_FOUND || build->schedule != TN_SCHEDULE_SEQUENTIAL)
        TN_TRY(tn_plan_lay(workload, plan, build, error));
    TN_TRY(tn_price_work(workload, plan, build, &part->price, error));
    part->key = (part_key){true, 0, key};
    return TN_OK;
}

static tn_status recall_memories(tn_workload *workload, tn_plan *plan, const tn_build *build, unsigned stores,
                                 const tn_work_price *work, tn_memory_price *sum, tn_error *error) {
    tn_build key = memory_key(build, stores);
    memory_part *kept = &workload->memo->memory[place_of(&key, stores, MEMORY_PLACES)];
    const tn_memory_price *part = &kept->price;
    if (!is_same(&kept->key, &key, stores)) {
        kept->key.filled = false;
        TN_TRY(tn_plan_lay(workload, plan, build, error));
        if (build->placement == TN_PLACE_SEARCHED)
            TN_TRY(tn_price_places(workload, plan, build, work, NULL, error));
        TN_TRY(tn_price_memories(workload, plan, build, stores, &kept->price, error));
        kept->key = (part_key){true, stores, key};
    }
    sum->bram18 += part->bram18;
    sum->uram += part->uram;
    sum->lutram += part->lutram;
    for (int side = 0; side < TN_SIDES; side++) tn_port_add(&sum->port[side], &part->port[side]);
    for (int store = 0; store < TN_STORES; store++)
        for (int style = 0; style <= TN_STYLE_DISTRIBUTED; style++)
            sum->bits[store][style] += part->bits[store][style];
    return TN_OK;
}

static tn_status price_build(tn_workload *workload, const tn_build *build, tn_price *price, tn_error *error) {
    enum { CORES = 1 << TN_STORE_CORES, ACTIVATIONS = 1 << TN_STORE_ACTIVATIONS };
    const tn_work_price *work;
    tn_memory_price memories = {0};
    tn_plan *plan;
    TN_TRY(tn_workload_plan(workload, build, &plan, error));
    TN_TRY(recall_work(workload, plan, build, &work, error));
    if (build->placement == TN_PLACE_SEARCHED) {
        TN_TRY(recall_memories(workload, plan, build, CORES | ACTIVATIONS, work, &memories, error));
    } else {
        TN_TRY(recall_memories(workload, plan, build, CORES, work, &memories, error));
        TN_TRY(recall_memories(workload, plan, build, ACTIVATIONS, work, &memories, error));
    }
    tn_price_sum(workload, plan, build, work, &memories, price, NULL);
    return TN_OK;
}

tn_status tn_price_step(tn_workload *workload, const tn_build *build, tn_price *price, tn_error *error) {
    TN_TRY(tn_build_check(build, error));
    return price_build(workload, build, price, error);
}

/* Longer operations never end a sequential step earlier, and deeper memories of one style take no fewer blocks of
 * geometry hls. Neither is sure where operations race for ports, places are searched, or blocks are chosen by cost. */
static bool has_bound(const tn_workload *workload, const tn_build *build) {
    return tn_build_searches_layouts(build) && build->schedule == TN_SCHEDULE_SEQUENTIAL &&
           build->placement == TN_PLACE_AS_BUILT && workload->device->memory.geometry == TN_GEOMETRY_HLS;
}

tn_status tn_price_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                         tn_error *error) {
    tn_build bound = *build;
    TN_TRY(tn_build_check_together(build, error));
    *exact = !has_bound(workload, build);
    if (!*exact) bound.layouts = TN_LAID_BOUND;
    return price_build(workload, &bound, price, error);
}
