#include "price/recall.h"

#include "base/checked.h"
#include "price/routing.h"
#include "price/workload_data.h"

#include <stddef.h>
#include <string.h>

typedef struct {
    bool filled;
    unsigned of; /* which of the parts that one key has: of stores, or of a set with these axes free */
    tn_build key;
} part_key;

typedef struct {
    part_key key; /* first in every kind of part */
    tn_work_price price;
    bool whole; /* else of products some are told of as the first bound does */
} work_part;

typedef struct {
    part_key key;
    tn_memory_price price;
} memory_part;

typedef struct {
    part_key key;
    tn_place_least least;
} least_part;

typedef struct {
    part_key key;
    bool every; /* that places are listed */
    tn_place_list list;
} places_part;

typedef struct {
    part_key key;
    uint64_t lut;
} lanes_part;

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
    part_table memory, least, places, lanes;
    tn_work_price sum; /* of a product's and a vector's part */
    size_t masks;
    part_mask mask[MASKS];
} tn_price_memo;

tn_status tn_recall_begin(tn_workload *workload, tn_error *error) {
    if (workload->memo) return TN_OK;
    TN_TRY(TN_NEW(workload->arena, 1, &workload->memo, error));
    *workload->memo = (tn_price_memo){.arena = workload->arena,
                                      .product = {sizeof(work_part), 1024, 0, 0, NULL},
                                      .vector = {sizeof(work_part), 1024, 0, 0, NULL},
                                      .work = {sizeof(work_part), 64, 0, 0, NULL},
                                      .memory = {sizeof(memory_part), 1024, 0, 0, NULL},
                                      .least = {sizeof(least_part), 1024, 0, 0, NULL},
                                      .places = {sizeof(places_part), 64, 0, 0, NULL},
                                      .lanes = {sizeof(lanes_part), 1024, 0, 0, NULL}};
    return TN_OK;
}

/* Multilinear hashing: the words of the key by odd factors of their own, so that none waits for another. */
static size_t place_of(const tn_build *key, unsigned of, size_t places) {
    enum { WORDS = sizeof *key / sizeof(uint64_t) };
    static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t word[WORDS], hash = of * UINT64_C(0xd6e8feb86659fd93), factor = golden;
    memcpy(word, key, sizeof word);
    for (size_t i = 0; i < WORDS; i++) {
        hash += word[i] * (factor | 1);
        factor += factor << 7 ^ golden;
    }
    return (size_t)(hash >> 32) % places;
}

static bool is_same(const part_key *a, const tn_build *key, unsigned of) {
    return a->filled && a->of == of && memcmp(&a->key, key, sizeof *key) == 0;
}

static part_key *part_at(const part_table *table, const tn_build *key, unsigned of) {
    return (part_key *)(table->part + place_of(key, of, table->places) * table->part_bytes);
}

/* Where the part of that key is; *found: it is filled. Else the caller fills it, and then its key. */
static tn_status find_part(tn_arena *arena, part_table *table, const tn_build *key, unsigned of,
                           part_key **part, bool *found, tn_error *error) {
    enum { FIRST = 8, GROWTH = 8 };
    if (table->places > 0) {
        *part = part_at(table, key, of);
        *found = is_same(*part, key, of);
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
        *part = part_at(table, key, of);
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

/* ---- work ---- */

/* Of the work of a step; */
static unsigned bears_on_work(const tn_build *build) {
    unsigned bears = TN_BEARS_PRODUCTS | TN_BEARS_VECTORS;
    if (build->off_chip_over_bytes > 0) bears |= TN_BEARS_OFF_CHIP;
    if (tn_build_searches_layouts(build)) bears |= TN_BEARS_LAYOUTS;
    if (build->schedule != TN_SCHEDULE_SEQUENTIAL) bears |= TN_BEARS_SCHEDULE;
    return bears;
}

/* and of its products, or its vector kernels, alone. */
static unsigned bears_on_half(const tn_build *build, bool products) {
    const unsigned bears = products ? TN_BEARS_PRODUCTS : TN_BEARS_VECTORS;
    return tn_build_searches_layouts(build) ? bears | TN_BEARS_LAYOUTS : bears;
}

static tn_status price_half(tn_workload *workload, tn_plan *plan, const tn_build *key, bool products,
                            uint64_t enough, work_part *half, tn_error *error) {
    if (tn_build_searches_layouts(key))
        TN_TRY((products ? tn_plan_begin_lay : tn_plan_lay)(workload, plan, key, error));
    if (products) return tn_price_products(workload, plan, key, enough, &half->price, &half->whole, error);
    half->whole = true;
    return tn_price_vectors(workload, plan, key, &half->price, error);
}

/* The least half of a set; that of its build where nothing is free that bears on it. */
static tn_status recall_half(tn_workload *workload, tn_plan *plan, const tn_build_set *set, bool products,
                             uint64_t enough, const work_part **half, tn_error *error) {
    tn_price_memo *memo = workload->memo;
    const unsigned bears = bears_on_half(&set->build, products);
    const uint32_t free = set->free & tn_build_set_axes(set, bears);
    const tn_build key = part_of(memo, &set->build, bears);
    part_key *part;
    bool found;
    TN_TRY(
        find_part(memo->arena, products ? &memo->product : &memo->vector, &key, free, &part, &found, error));
    *half = (work_part *)part;
    if (found && ((*half)->whole || (*half)->price.cycles_per_step >= enough)) return TN_OK;
    work_part least = {.whole = true};
    if (free == 0) {
        TN_TRY(price_half(workload, plan, &key, products, enough, &least, error));
    } else {
        const uint32_t axis = (uint32_t)__builtin_ctz(free);
        for (size_t v = 0; v < set->axis[axis].count; v++) {
            tn_build_set fixed = tn_build_set_fixed(set, axis, v);
            const work_part *one;
            fixed.build = tn_build_set_effective(&fixed);
            TN_TRY(recall_half(workload, plan, &fixed, products, enough, &one, error));
            if (v == 0)
                least.price = one->price;
            else
                tn_work_lower(&least.price, &one->price);
            least.whole &= one->whole;
        }
    }
    /* What was asked for meanwhile may have taken the place, or another table that of this one. */
    TN_TRY(
        find_part(memo->arena, products ? &memo->product : &memo->vector, &key, free, &part, &found, error));
    least.key = (part_key){true, free, key};
    *(work_part *)part = least;
    *half = (work_part *)part;
    return TN_OK;
}

tn_status tn_recall_least_work(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                               tn_laying of_vectors, uint64_t enough, tn_work_price *work, tn_error *error) {
    tn_build_set vectors_set = *set;
    const work_part *products, *vectors;
    if (enough != UINT64_MAX) {
        vectors_set.build.layouts = TN_LAID_BOUND;
        TN_TRY(recall_half(workload, plan, &vectors_set, false, UINT64_MAX, &vectors, error));
        enough -= tn_least(enough, vectors->price.cycles_per_step);
    }
    TN_TRY(recall_half(workload, plan, set, true, enough, &products, error));
    if (products->whole) {
        vectors_set.build.layouts = of_vectors;
        TN_TRY(recall_half(workload, plan, &vectors_set, false, UINT64_MAX, &vectors, error));
    }
    *work = products->price;
    tn_work_add_vectors(work, &vectors->price);
    return TN_OK;
}

tn_status tn_recall_whole_work(tn_workload *workload, tn_plan *plan, const tn_build *build,
                               const tn_work_price **work, tn_error *error) {
    tn_price_memo *memo = workload->memo;
    const tn_build key = part_of(memo, build, bears_on_work(build));
    part_key *part;
    bool found;
    TN_TRY(find_part(memo->arena, &memo->work, &key, 0, &part, &found, error));
    work_part *kept = (work_part *)part;
    *work = &kept->price;
    if (found) return TN_OK;
    if (tn_build_searches_layouts(&key) || key.schedule != TN_SCHEDULE_SEQUENTIAL)
        TN_TRY(tn_plan_lay(workload, plan, &key, error));
    TN_TRY(tn_price_work(workload, plan, &key, &kept->price, error));
    *part = (part_key){true, 0, key};
    return TN_OK;
}

tn_status tn_recall_work(tn_workload *workload, tn_plan *plan, const tn_build *build,
                         const tn_work_price **work, tn_error *error) {
    if (!tn_work_splits(workload, plan, build))
        return tn_recall_whole_work(workload, plan, build, work, error);
    const tn_build_set one = {.build = *build};
    *work = &workload->memo->sum;
    return tn_recall_least_work(workload, plan, &one, (tn_laying)build->layouts, UINT64_MAX,
                                &workload->memo->sum, error);
}

/* ---- memories ---- */

/* Of the memories of some stores. */
static unsigned bears_on_memories(const tn_build *build, unsigned stores) {
    unsigned bears = TN_BEARS_MEMORIES;
    if (build->layouts != TN_LAID_IDEALLY) bears |= TN_BEARS_LAYOUTS;
    if (build->placement == TN_PLACE_SEARCHED)
        return bears | TN_BEARS_KERNELS | TN_BEARS_PRODUCTS |
               TN_BEARS_VECTORS; /* by the LUTs that kernels leave */
    if (stores >> TN_STORE_CORES & 1) bears |= TN_BEARS_CORES;
    if (stores >> TN_STORE_ACTIVATIONS & 1) bears |= TN_BEARS_ACTIVATIONS;
    return bears;
}

/* All that parallelism decides of memories is the number of their rows, where there is one; else 0. */
static tn_status name_rows(tn_workload *workload, tn_plan *plan, const tn_build *build, uint32_t *rows,
                           tn_build *key, tn_error *error) {
    TN_TRY(tn_plan_rows(workload, plan, build, rows, error));
    if (*rows == 0) return TN_OK;
    key->rows = *rows;
    key->columns = key->reduction = key->vector = 0;
    return TN_OK;
}

static void add_memories(const tn_memory_price *part, tn_memory_price *sum) {
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
}

tn_status tn_recall_memories(tn_workload *workload, tn_plan *plan, const tn_build *this_build,
                             unsigned stores, const tn_work_price *work, tn_memory_price *sum,
                             tn_error *error) {
    tn_price_memo *memo = workload->memo;
    tn_build build = part_of(memo, this_build, bears_on_memories(this_build, stores));
    tn_build key = build;
    uint32_t rows;
    part_key *kept;
    bool found;
    if (build.placement != TN_PLACE_SEARCHED) TN_TRY(name_rows(workload, plan, &build, &rows, &key, error));
    TN_TRY(find_part(memo->arena, &memo->memory, &key, stores, &kept, &found, error));
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
    add_memories(part, sum);
    return TN_OK;
}

/* ---- the least memories ---- */

/* Of a key that is a choice. */
static unsigned bits_of(const tn_build_set *set, size_t offset, uint32_t choice) {
    const uint64_t own = choice;
    size_t count;
    const uint64_t *value = tn_build_set_values(set, offset, &own, &count);
    unsigned bits = 0;
    for (size_t i = 0; i < count; i++) bits |= 1u << value[i];
    return bits;
}

/* The groups point to the set's. */
static tn_place_options options_of(const tn_build_set *set) {
    const tn_build *build = &set->build;
    const unsigned placements = bits_of(set, offsetof(tn_build, placement), build->placement);
    tn_place_options options = {
        .styles = {[TN_STORE_CORES] = bits_of(set, offsetof(tn_build, core_memory), build->core_memory),
                   [TN_STORE_ACTIVATIONS] =
                       bits_of(set, offsetof(tn_build, activation_memory), build->activation_memory)},
        .splits = bits_of(set, offsetof(tn_build, split), build->split),
        .as_built = placements >> TN_PLACE_AS_BUILT & 1,
        .searched = placements >> TN_PLACE_SEARCHED & 1};
    options.group = tn_build_set_values(set, offsetof(tn_build, group), &build->group, &options.groups);
    size_t ports;
    const uint64_t *port =
        tn_build_set_values(set, offsetof(tn_build, read_ports), &build->read_ports, &ports);
    options.read_ports = port[0];
    for (size_t i = 1; i < ports; i++) options.read_ports = tn_least(options.read_ports, port[i]);
    return options;
}

static bool has_all(const tn_place_options *all, const tn_place_options *asked) {
    bool has = (asked->splits & ~all->splits) == 0;
    for (int store = 0; store < TN_STORES; store++)
        has = has && (asked->styles[store] & ~all->styles[store]) == 0;
    for (size_t i = 0; has && i < asked->groups; i++) {
        size_t k = 0;
        while (k < all->groups && all->group[k] != asked->group[i]) k++;
        has = k < all->groups;
    }
    return has;
}

/* A table of the places of all builds whose keys of places differ, whatever the set at hand leaves free of them. */
static tn_status find_table(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                            const tn_place_options *options, tn_error *error) {
    if (plan->place_table && has_all(&plan->in_table, options)) return TN_OK;
    tn_build_set every = *set;
    for (uint32_t i = 0; i < set->axes; i++)
        if (tn_build_key_level(set->axis[i].key) >= TN_LEVEL_BANK) every.free |= 1u << i;
    tn_place_options all = options_of(&every);
    uint64_t *group;
    if (!has_all(&all, options)) all = *options;
    TN_TRY(TN_NEW(workload->arena, all.groups, &group, error));
    memcpy(group, all.group, all.groups * sizeof *group);
    all.group = group;
    all.routing = NULL; /* of each set */
    all.routing_user = NULL;
    tn_laid_programs *programs = workload->laid->programs;
    tn_known_shares *shares;
    TN_TRY(tn_workload_shares(workload, &shares, error));
    if (!programs->lines) TN_TRY(tn_known_lines_new(programs->layers.arena, &programs->lines, error));
    plan->in_table = all;
    const uint32_t *kinds = plan->layouts ? tn_laid_map_row_kinds(plan->layouts) : NULL; /* off chip */
    return tn_place_table_make(workload->device, workload->word_bits, &plan->map, kinds, &all, shares,
                               programs->lines, workload->arena, &plan->place_table, error);
}

/* What is left of the device beside the memory of the descriptors. */
static tn_placement_budget budget_of(const tn_workload *workload) {
    const tn_resources *all = &workload->within;
    return (tn_placement_budget){all->bram18 - tn_least(workload->descriptor_bram18, all->bram18), all->uram,
                                 all->lut};
}

/* The memory of the descriptors is in block RAM whatever the places. build: whose rows have that number. */
static tn_status price_least(tn_workload *workload, tn_plan *plan, const tn_build *build, uint32_t rows,
                             const tn_place_options *options, tn_place_least *least, tn_error *error) {
    const tn_placement_budget within = budget_of(workload);
    const uint64_t descriptors = workload->descriptor_bram18,
                   bits = descriptors * TN_MEMORY_CAPACITY_BRAM18_BITS;
    tn_place_step *step;
    const bool known = tn_place_table_knows(plan->place_table, rows, options, &within);
    if (!known) TN_TRY(tn_plan_lay(workload, plan, build, error));
    TN_TRY(tn_place_table_least(plan->place_table, known ? NULL : plan->laid->memory, rows, options, &within,
                                least, error));
    if (descriptors == 0) return TN_OK;
    least->bram18 += descriptors;
    least->capacity_bits += bits;
    TN_TRY(TN_NEW(workload->arena, least->steps, &step, error));
    for (uint32_t i = 0; i < least->steps; i++)
        step[i] = (tn_place_step){least->step[i].lut, least->step[i].capacity_bits + bits};
    least->step = step;
    return TN_OK;
}

tn_status tn_recall_lanes_lut(tn_workload *workload, const tn_build *build, uint64_t *lut, tn_error *error) {
    tn_price_memo *memo = workload->memo;
    const tn_build key =
        part_of(memo, build, TN_BEARS_PRODUCTS | TN_BEARS_VECTORS | TN_BEARS_KERNELS | TN_BEARS_SCHEDULE);
    part_key *part;
    bool found;
    TN_TRY(find_part(memo->arena, &memo->lanes, &key, 0, &part, &found, error));
    if (!found) {
        ((lanes_part *)part)->lut = tn_workload_lanes_lut(workload, &key);
        *part = (part_key){true, 0, key};
    }
    *lut = ((lanes_part *)part)->lut;
    return TN_OK;
}

/* What a table of places counts of routing: what memories add to kernels of one lane. What lanes add to that follows from
 * parallelism alone (price/bound.c). */
typedef struct {
    const tn_workload *workload;
    tn_build build;
    uint64_t none_lut; /* of kernels without memories */
} routed_build;

static routed_build routed_as(const tn_workload *workload, const tn_build *build) {
    const tn_port_source none[TN_SIDES] = {{0}};
    routed_build routed = {workload, tn_build_of_one_lane(build), 0};
    routed.none_lut = tn_workload_routing(workload, &routed.build, none).lut;
    return routed;
}

/* Of all that routing to kernels of one lane follows from, the memories apart. */
static uint64_t number_of_kernels(const tn_build *build) {
    enum { CHOICES = 16 };
    return ((build->kernels * CHOICES + build->vector_units) * CHOICES + build->sharing) * CHOICES +
           build->schedule;
}

static uint64_t routing_lut(const void *user, const tn_port_source port[TN_SIDES]) {
    const routed_build *routed = user;
    return tn_workload_routing(routed->workload, &routed->build, port).lut - routed->none_lut;
}

/* What the least memories of a set follow from: the build by what bears on them, and the key that these are remembered under. */
typedef struct {
    tn_build build, key;
    uint32_t rows; /* the number of the build's */
    uint32_t free; /* axes that bear on them */
} least_memories;

static tn_status name_least(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                            const tn_build *routed, least_memories *its, tn_error *error) {
    const unsigned bears = TN_BEARS_MEMORIES | TN_BEARS_LAYOUTS | TN_BEARS_CORES | TN_BEARS_ACTIVATIONS;
    its->free = set->free & tn_build_set_axes(set, bears);
    its->build = part_of(workload->memo, &set->build, bears);
    its->build.layouts = TN_LAID_BOUND;
    its->build.skew = TN_SKEW_TOKENS; /* of no bound */
    its->key = its->build;
    TN_TRY(name_rows(workload, plan, &its->build, &its->rows, &its->key, error));
    its->key.vector_units = routed->vector_units;
    its->key.kernels = routed->kernels;
    its->key.sharing = routed->sharing;
    its->key.schedule = routed->schedule;
    return TN_OK;
}

tn_status tn_recall_least_memories(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                                   const tn_build *routed, const tn_place_least **least, tn_error *error) {
    tn_price_memo *memo = workload->memo;
    least_memories its;
    part_key *part;
    bool found;
    TN_TRY(name_least(workload, plan, set, routed, &its, error));
    TN_TRY(find_part(memo->arena, &memo->least, &its.key, its.free, &part, &found, error));
    *least = &((least_part *)part)->least;
    if (found) return TN_OK;
    const routed_build user = routed_as(workload, routed);
    tn_place_options options = options_of(set);
    options.routing = routing_lut;
    options.routing_user = &user;
    options.kernels = number_of_kernels(routed);
    TN_TRY(find_table(workload, plan, set, &options, error));
    TN_TRY(price_least(workload, plan, &its.build, its.rows, &options, &((least_part *)part)->least, error));
    *part = (part_key){true, its.free, its.key};
    return TN_OK;
}

tn_status tn_recall_places(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                           const tn_build *routed, bool every, tn_place_list *list, tn_error *error) {
    tn_price_memo *memo = workload->memo;
    least_memories its;
    part_key *part;
    bool found;
    TN_TRY(name_least(workload, plan, set, routed, &its, error));
    TN_TRY(find_part(memo->arena, &memo->places, &its.key, its.free, &part, &found, error));
    places_part *kept = (places_part *)part;
    if (!found || kept->every != every) {
        TN_TRY(tn_place_list_make(workload, plan, set, routed, every, &kept->list, error));
        kept->every = every;
        *part = (part_key){true, its.free, its.key};
    }
    *list = kept->list;
    return TN_OK;
}
