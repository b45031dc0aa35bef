/* Prices builds; parts of a build that came before are taken from memory.
 *
 * A part's key is the build by the keys alone that bear on the part (device/build.h), and the part is priced of its key:
 * of nothing that the key leaves out. Tables are direct-mapped: a part that falls on another's place takes it. So a price
 * depends on the build alone, never on what was priced before.
 */
#include "price/price.h"

#include "base/checked.h"
#include "price/operating_point.h"
#include "price/price_parts.h"
#include "price/workload_data.h"

#include <assert.h>
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
    TN_TRY(tn_price_share(workload->device, workload->word_bits, &plan->map.memory[index],
                          tn_plan_row(plan, index), build, place, kept, error));
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

tn_status tn_price_least_memories(const tn_workload *workload, const tn_plan *plan, const tn_build *build,
                                  const tn_place_options *places, tn_memory_price *price, tn_error *error) {
    const uint64_t descriptors = workload->descriptor_bram18;
    tn_placement_budget within = workload->within;
    tn_place_least least;
    *price = (tn_memory_price){0};
    add_descriptors(workload, price);
    within.bram18 -= tn_least(descriptors, within.bram18);
    tn_laid_programs *programs = workload->laid->programs;
    if (!programs->places) TN_TRY(tn_place_memo_new(programs->layers.arena, &programs->places, error));
    TN_TRY(tn_places_least(workload->device, workload->word_bits, &plan->map, plan->laid->memory, build,
                           places, &within, programs->places, &least, error));
    price->bram18 += least.bram18;
    price->uram += least.uram;
    price->lutram += least.lutram;
    price->block_bits += least.capacity_bits;
    return TN_OK;
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

typedef struct {
    bool filled;
    unsigned stores; /* of a memory part: which stores it is of */
    tn_build key;
} part_key;

typedef struct {
    part_key key; /* first in every kind of part */
    tn_work_price price;
} work_part;

typedef struct {
    part_key key;
    tn_memory_price price;
} memory_part;

/* Parts of one kind. Tables begin small, since most steps are priced once or twice, and grow as parts come. */
typedef struct {
    size_t part_bytes, places_most;
    size_t places, fills;
    char *part; /* [places] */
} part_table;

/* Masks are asked for by every build: those of all bearings that parts have. */
enum { MASKS = 24 };
typedef struct {
    unsigned bearings;
    tn_build_mask mask;
} part_mask;

typedef struct tn_price_memo {
    tn_arena *arena;
    part_table product, vector; /* where work splits */
    part_table work;            /* where it does not */
    part_table memory;
    tn_work_price sum; /* of a product's and a vector's part */
    size_t masks;
    part_mask mask[MASKS];
    tn_build_mask bounded;
} tn_price_memo;

static tn_status memo_make(tn_arena *arena, tn_price_memo **memo, tn_error *error) {
    TN_TRY(TN_NEW(arena, 1, memo, error));
    **memo = (tn_price_memo){.arena = arena,
                             .product = {sizeof(work_part), 128, 0, 0, NULL},
                             .vector = {sizeof(work_part), 16, 0, 0, NULL},
                             .work = {sizeof(work_part), 64, 0, 0, NULL},
                             .memory = {sizeof(memory_part), 1024, 0, 0, NULL},
                             .bounded = tn_build_mask_bounded()};
    return TN_OK;
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

static part_key *part_at(const part_table *table, const tn_build *key, unsigned stores) {
    return (part_key *)(table->part + place_of(key, stores, table->places) * table->part_bytes);
}

/* Where the part of that key is; *found: it is filled. Else the caller fills it, and then its key. */
static tn_status find_part(tn_arena *arena, part_table *table, const tn_build *key, unsigned stores,
                           part_key **part, bool *found, tn_error *error) {
    enum { FIRST = 8, GROWTH = 8 };
    if (table->places > 0) {
        *part = part_at(table, key, stores);
        *found = is_same(*part, key, stores);
        if (*found) return TN_OK;
    }
    if (table->fills == 2 * table->places && table->places < table->places_most) {
        size_t places = table->places ? table->places * GROWTH : FIRST;
        if (places > table->places_most) places = table->places_most;
        char *room;
        TN_TRY(tn_arena_alloc(arena, places, table->part_bytes, &room, error));
        table->part = room;
        table->places = places;
        table->fills = 0;
        *part = part_at(table, key, stores);
    }
    table->fills++;
    (*part)->filled = *found = false;
    return TN_OK;
}

/* The build by what bears on a part alone: what the part is remembered for, and priced of. */
static tn_build part_of(tn_price_memo *memo, const tn_build *build, unsigned bearings) {
    size_t i = 0;
    while (i < memo->masks && memo->mask[i].bearings != bearings) i++;
    if (i == MASKS) i = memo->masks = 0;
    if (i == memo->masks) memo->mask[memo->masks++] = (part_mask){bearings, tn_build_mask_of(bearings)};
    return tn_build_masked(build, &memo->mask[i].mask);
}

/* Of the work of a step; */
static unsigned bears_on_work(const tn_build *build) {
    unsigned bears = TN_BEARS_PRODUCTS | TN_BEARS_VECTORS;
    if (build->off_chip_over_bytes > 0) bears |= TN_BEARS_OFF_CHIP;
    if (tn_build_searches_layouts(build)) bears |= TN_BEARS_LAYOUTS;
    if (build->schedule != TN_SCHEDULE_SEQUENTIAL) bears |= TN_BEARS_SCHEDULE;
    return bears;
}

/* of the memories of some stores. */
static unsigned bears_on_memories(const tn_build *build, unsigned stores) {
    unsigned bears = TN_BEARS_MEMORIES;
    if (build->layouts != TN_LAID_IDEALLY) bears |= TN_BEARS_LAYOUTS;
    if (build->placement == TN_PLACE_SEARCHED)
        return bears | TN_BEARS_KERNELS; /* by the LUTs that these leave */
    if (stores >> TN_STORE_CORES & 1) bears |= TN_BEARS_CORES;
    if (stores >> TN_STORE_ACTIVATIONS & 1) bears |= TN_BEARS_ACTIVATIONS;
    return bears;
}

typedef tn_status price_half(tn_workload *workload, const tn_build *build, tn_work_price *price,
                             tn_error *error);

/* The work of products or of vector kernels. */
static tn_status recall_half(tn_workload *workload, part_table *table, price_half *price, const tn_build *key,
                             const tn_work_price **half, tn_error *error) {
    part_key *part;
    bool found;
    TN_TRY(find_part(workload->memo->arena, table, key, 0, &part, &found, error));
    work_part *kept = (work_part *)part;
    *half = &kept->price;
    if (found) return TN_OK;
    TN_TRY(price(workload, key, &kept->price, error));
    *part = (part_key){true, 0, *key};
    return TN_OK;
}

/* Of the two, what both have is added, and each brings the kernels that the other lacks. */
static tn_status recall_halves(tn_workload *workload, const tn_build *build, const tn_work_price **price,
                               tn_error *error) {
    const tn_build product_key = part_of(workload->memo, build, TN_BEARS_PRODUCTS),
                   vector_key = part_of(workload->memo, build, TN_BEARS_VECTORS);
    tn_price_memo *memo = workload->memo;
    const tn_work_price *products, *vectors;
    TN_TRY(recall_half(workload, &memo->product, tn_price_products, &product_key, &products, error));
    TN_TRY(recall_half(workload, &memo->vector, tn_price_vectors, &vector_key, &vectors, error));
    memo->sum = *products;
    memo->sum.cycles_per_step += vectors->cycles_per_step;
    memo->sum.vectors = vectors->vectors;
    memo->sum.vector_busy_pF += vectors->vector_busy_pF;
    for (int store = 0; store < TN_STORES; store++) memo->sum.words[store] += vectors->words[store];
    *price = &memo->sum;
    return TN_OK;
}

static tn_status recall_work(tn_workload *workload, tn_plan *plan, const tn_build *build,
                             const tn_work_price **price, tn_error *error) {
    if (tn_work_splits(workload, plan, build)) return recall_halves(workload, build, price, error);
    const tn_build key = part_of(workload->memo, build, bears_on_work(build));
    part_key *part;
    bool found;
    TN_TRY(find_part(workload->memo->arena, &workload->memo->work, &key, 0, &part, &found, error));
    work_part *kept = (work_part *)part;
    *price = &kept->price;
    if (found) return TN_OK;
    if (tn_build_searches_layouts(&key) || key.schedule != TN_SCHEDULE_SEQUENTIAL)
        TN_TRY(tn_plan_lay(workload, plan, &key, error));
    TN_TRY(tn_price_work(workload, plan, &key, &kept->price, error));
    *part = (part_key){true, 0, key};
    return TN_OK;
}

static tn_status recall_memories(tn_workload *workload, tn_plan *plan, const tn_build *this_build,
                                 unsigned stores, const tn_work_price *work, tn_memory_price *sum,
                                 tn_error *error) {
    tn_build build = part_of(workload->memo, this_build, bears_on_memories(this_build, stores));
    tn_build key = build;
    part_key *kept;
    uint32_t rows = 0;
    bool found;
    if (build.placement != TN_PLACE_SEARCHED) TN_TRY(tn_plan_rows(workload, plan, &build, &rows, error));
    if (rows > 0) { /* all that parallelism decides of them */
        key.rows = rows;
        key.columns = key.reduction = key.vector = 0;
    }
    TN_TRY(find_part(workload->memo->arena, &workload->memo->memory, &key, stores, &kept, &found, error));
    tn_memory_price *part = &((memory_part *)kept)->price;
    if (!found) {
        TN_TRY(tn_plan_lay(workload, plan, &build, error));
        if (build.placement == TN_PLACE_SEARCHED) {
            const tn_resources kernels = tn_workload_kernels(workload, &build, work);
            TN_TRY(tn_plan_places(workload, plan, &build, kernels.lut, NULL, error));
        }
        TN_TRY(tn_price_memories(workload, plan, &build, stores, part, error));
        *kept = (part_key){true, stores, key};
    }
    sum->bram18 += part->bram18;
    sum->uram += part->uram;
    sum->lutram += part->lutram;
    sum->selection_lut += part->selection_lut;
    sum->read_ff += part->read_ff;
    sum->block_bits += part->block_bits;
    for (int side = 0; side < TN_SIDES; side++) tn_port_add(&sum->port[side], &part->port[side]);
    for (int store = 0; store < TN_STORES; store++)
        for (int style = 0; style <= TN_STYLE_DISTRIBUTED; style++)
            sum->bits[store][style] += part->bits[store][style];
    return TN_OK;
}

/* The least at several places, by the rows that parallelism gives the memories. */
static tn_status recall_least_memories(tn_workload *workload, tn_plan *plan, const tn_build *this_build,
                                       const tn_place_options *places, const tn_memory_price **least,
                                       tn_error *error) {
    enum { LEAST = 1 << TN_STORES }; /* behind the bits of stores */
    tn_build build = part_of(workload->memo, this_build, TN_BEARS_MEMORIES | TN_BEARS_LAYOUTS);
    build.layouts = TN_LAID_BOUND;
    build.placement = TN_PLACE_AS_BUILT;
    build.split = TN_SPLIT_RESHAPE;
    build.read_ports = 1;
    tn_build key = build;
    part_key *kept;
    uint32_t rows = 0;
    bool found;
    TN_TRY(tn_plan_rows(workload, plan, &build, &rows, error));
    if (rows > 0) {
        key.rows = rows;
        key.columns = key.reduction = key.vector = 0;
    }
    TN_TRY(find_part(workload->memo->arena, &workload->memo->memory, &key, LEAST * places->number, &kept,
                     &found, error));
    tn_memory_price *part = &((memory_part *)kept)->price;
    *least = part;
    if (found) return TN_OK;
    TN_TRY(tn_plan_lay(workload, plan, &build, error));
    TN_TRY(tn_price_least_memories(workload, plan, &build, places, part, error));
    *kept = (part_key){true, LEAST * places->number, key};
    return TN_OK;
}

static bool is_bound(const tn_build *build) {
    return build->layouts == TN_LAID_BOUND || build->layouts == TN_LAID_CLOSELY;
}

/* The build with one operation after the other, and the vector units that it has. */
static tn_build in_turn(const tn_build *build) {
    tn_build turn = *build;
    turn.vector_units = tn_build_shares_vectors(build) ? TN_UNITS_SHARED : TN_UNITS_OWN;
    turn.schedule = TN_SCHEDULE_SEQUENTIAL;
    return turn;
}

/* However operations overlap, kernels of a kind take what is done in turn among themselves, and what waits for something
 * begins after it. */
static uint64_t least_overlapped(const tn_workload *workload, const tn_build *build,
                                 const tn_work_price *turn) {
    uint64_t most = turn->chain_cycles, vectors = turn->cycles_per_step,
             units = tn_workload_vector_units(workload, build);
    for (uint32_t i = 0; i < workload->arithmetics; i++) {
        most = tn_greatest(most, turn->product_cycles[i] / tn_workload_matmuls(workload, build, i));
        vectors -= turn->product_cycles[i];
    }
    return units ? tn_greatest(most, vectors / units) : most;
}

static tn_status recall_bound_work(tn_workload *workload, tn_plan *plan, const tn_build *build,
                                   tn_work_price *price, tn_error *error) {
    const tn_build turn = in_turn(build);
    const tn_work_price *work;
    TN_TRY(recall_work(workload, plan, &turn, &work, error));
    *price = *work;
    price->cycles_per_step = least_overlapped(workload, build, work);
    return TN_OK;
}

/* What a search for places tries, whatever the keys of the build that do not lay memories. */
static tn_place_options search_options(const tn_build *build) {
    enum { SPLITS = TN_SPLIT_AUTO + 1 };
    static_assert(SPLITS * (TN_BUILD_READ_PORTS_MOST + 1) <= TN_PLACES_ANY, "numbers are told apart");
    return (tn_place_options){.splits = 1u << build->split,
                              .read_ports = build->read_ports,
                              .searched = true,
                              .number = SPLITS * (uint32_t)build->read_ports + (uint32_t)build->split};
}

/* `places`: of a bound over all builds that differ in where memories lie alone; else NULL. */
static tn_status price_memories(tn_workload *workload, tn_plan *plan, const tn_build *build,
                                const tn_place_options *places, const tn_work_price *work,
                                tn_memory_price *memories, tn_error *error) {
    enum { CORES = 1 << TN_STORE_CORES, ACTIVATIONS = 1 << TN_STORE_ACTIVATIONS };
    const bool searched = build->placement == TN_PLACE_SEARCHED;
    const tn_place_options tried = search_options(build);
    if (!places && searched && is_bound(build)) places = &tried;
    if (places) {
        const tn_memory_price *least;
        TN_TRY(recall_least_memories(workload, plan, build, places, &least, error));
        *memories = *least;
        return TN_OK;
    }
    *memories = (tn_memory_price){0};
    if (searched) return recall_memories(workload, plan, build, CORES | ACTIVATIONS, work, memories, error);
    TN_TRY(recall_memories(workload, plan, build, CORES, work, memories, error));
    return recall_memories(workload, plan, build, ACTIVATIONS, work, memories, error);
}

/* The work under this build's layouts, the memories under `memory_laying`. */
static tn_status price_build(tn_workload *workload, const tn_build *this_build, tn_laying memory_laying,
                             const tn_place_options *places, tn_price *price, tn_error *error) {
    const tn_build effective = tn_build_effective(this_build), *build = &effective;
    tn_build held = effective; /* by memories */
    const tn_work_price *work;
    tn_work_price overlapped;
    tn_memory_price memories;
    tn_plan *plan;
    TN_TRY(tn_workload_built(workload, build, &workload, error));
    if (!workload->memo) TN_TRY(memo_make(workload->arena, &workload->memo, error));
    TN_TRY(tn_workload_plan(workload, build, &plan, error));
    if (is_bound(build) && build->schedule != TN_SCHEDULE_SEQUENTIAL) {
        TN_TRY(recall_bound_work(workload, plan, build, &overlapped, error));
        work = &overlapped;
    } else {
        TN_TRY(recall_work(workload, plan, build, &work, error));
    }
    held.layouts = memory_laying;
    TN_TRY(price_memories(workload, plan, &held, places, work, &memories, error));
    tn_price_sum(workload, plan, build, work, &memories, price, NULL);
    return TN_OK;
}

tn_status tn_price_step(tn_workload *workload, const tn_build *build, tn_price *price, tn_error *error) {
    TN_TRY(tn_build_check(build, error));
    return price_build(workload, build, (tn_laying)build->layouts, NULL, price, error);
}

/* Where the theorem of price/price.h holds: not where blocks are chosen by cost (geometry yosys), nor
 * of operations that overlap in pieces or overlap while they wait for external memory or are refreshed. */
static bool has_bound(const tn_device *device, const tn_build *build, const tn_build_mask *bounded) {
    const bool overlaps = build->schedule != TN_SCHEDULE_SEQUENTIAL,
               plain = build->schedule != TN_SCHEDULE_PIPELINED && build->off_chip_over_bytes == 0;
    return tn_build_is_bounded(build, bounded) && (!overlaps || plain) &&
           device->memory.geometry == TN_GEOMETRY_HLS;
}

bool tn_price_has_bound(const tn_device *device, const tn_build *build) {
    const tn_build_mask bounded = tn_build_mask_bounded();
    return has_bound(device, build, &bounded);
}

/* *exact: there is none. */
static tn_status find_bound(tn_workload *workload, const tn_build *build, bool *exact, tn_error *error) {
    if (!workload->memo) TN_TRY(memo_make(workload->arena, &workload->memo, error));
    *exact = !has_bound(workload->device, build, &workload->memo->bounded) ||
             (build->schedule != TN_SCHEDULE_SEQUENTIAL && workload->retention_us > 0);
    return TN_OK;
}

static tn_status price_bound(tn_workload *workload, const tn_build *build, const tn_place_options *places,
                             tn_laying laying, tn_price *price, bool *exact, tn_error *error) {
    tn_build bound = *build;
    TN_TRY(tn_build_check_together(build, error));
    TN_TRY(find_bound(workload, build, exact, error));
    if (*exact) return price_build(workload, &bound, (tn_laying)build->layouts, NULL, price, error);
    bound.layouts = laying;
    return price_build(workload, &bound, TN_LAID_BOUND, places, price, error);
}

tn_status tn_price_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                         tn_error *error) {
    return price_bound(workload, build, NULL, TN_LAID_BOUND, price, exact, error);
}

tn_status tn_price_close_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                               tn_error *error) {
    return price_bound(workload, build, NULL, TN_LAID_CLOSELY, price, exact, error);
}

tn_status tn_price_work_bound(tn_workload *workload, const tn_build *build, tn_price *price, bool *exact,
                              tn_error *error) {
    const bool in_turn =
        build->schedule == TN_SCHEDULE_SEQUENTIAL; /* else the work waits for memories' ports */
    return price_bound(workload, build, NULL, in_turn ? TN_LAID_AS_FOUND : TN_LAID_CLOSELY, price, exact,
                       error);
}

tn_status tn_price_places_bound(tn_workload *workload, const tn_build *build, const tn_place_options *places,
                                bool closely, tn_price *price, bool *exact, tn_error *error) {
    return price_bound(workload, build, places, closely ? TN_LAID_CLOSELY : TN_LAID_BOUND, price, exact,
                       error);
}

tn_status tn_price_bound_memories(tn_workload *workload, const tn_build *build, tn_price *price, bool *has,
                                  tn_error *error) {
    tn_build bound = tn_build_effective(build);
    tn_memory_price memories;
    tn_plan *plan;
    bool exact;
    *price = (tn_price){0};
    TN_TRY(find_bound(workload, build, &exact, error));
    *has = !exact;
    if (exact) return TN_OK;
    bound.layouts = TN_LAID_BOUND;
    TN_TRY(tn_workload_built(workload, &bound, &workload, error));
    if (!workload->memo) TN_TRY(memo_make(workload->arena, &workload->memo, error));
    TN_TRY(tn_workload_plan(workload, &bound, &plan, error));
    TN_TRY(price_memories(workload, plan, &bound, NULL, NULL, &memories, error)); /* no bound asks for work */
    price->used.bram18 = memories.bram18;
    price->used.uram = memories.uram;
    price->on_chip_bytes = memories.block_bits / 8;
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

static uint32_t misfits_of(const tn_resources *used, const tn_resources *has) {
    return (uint32_t)(used->lut > has->lut) << TN_LUT | (uint32_t)(used->ff > has->ff) << TN_FF |
           (uint32_t)(used->dsp > has->dsp) << TN_DSP | (uint32_t)(used->bram18 > has->bram18) << TN_BRAM18 |
           (uint32_t)(used->uram > has->uram) << TN_URAM;
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
    price->misfits = misfits_of(&price->used, &has);
}
