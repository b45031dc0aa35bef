#include "device/build.h"

#include <inttypes.h>
#include <string.h>

static const char *const sharing_names[] = {"shared", "per-phase", NULL};
static const char *const array_names[] = {"lanes", "systolic", NULL};
static const char *const buffers_names[] = {"separate", "pooled", NULL};
static const char *const schedule_names[] = {"sequential", "gradients-together", "parallel", "pipelined",
                                             NULL};
static const char *const vector_units_names[] = {"auto", "own", "shared", NULL};
static const char *const layouts_names[] = {"searched", "ideal", NULL};
static const char *const fusion_names[] = {"none", "additions", "write-back", NULL};
static const char *const skew_names[] = {"tokens", "features", NULL};
static const char *const placement_names[] = {"as-built", "searched", NULL};

/* Of the edges of a matmul kernel, and of what it is. */
#define MATMUL       (TN_BEARS_PRODUCTS | TN_BEARS_LAYOUTS | TN_BEARS_MEMORIES | TN_BEARS_VALUES)
#define ONLY(choice) (1 + (choice))
#define BIT(choice)  (1u << (choice))
#define ABOUT(...)                                                                                           \
    .about = &(const tn_build_key) {                                                                         \
        __VA_ARGS__                                                                                          \
    }
static const tn_field build_fields[] = {
    TN_KEY(COUNT, tn_build, rows, "output rows that the matmul kernel computes at once", TN_DEFAULT("4"),
           TN_WITHIN(1, TN_BUILD_PARALLEL_MOST),
           ABOUT(.bears_on = MATMUL, .relief = TN_RELIEF_HALVES, .generated_as = TN_GENERATED_POWERS)),
    TN_KEY(COUNT, tn_build, columns, "output columns that it computes at once", TN_DEFAULT("4"),
           TN_WITHIN(1, TN_BUILD_PARALLEL_MOST),
           ABOUT(.bears_on = MATMUL, .relief = TN_RELIEF_HALVES, .generated_as = TN_GENERATED_POWERS)),
    TN_KEY(COUNT, tn_build, reduction, "terms of a sum that it multiplies at once and adds in a tree",
           TN_DEFAULT("4"), TN_WITHIN(1, TN_BUILD_PARALLEL_MOST),
           ABOUT(.bears_on = MATMUL, .relief = TN_RELIEF_HALVES, .generated_as = TN_GENERATED_POWERS)),
    TN_KEY(CHOICE, tn_build, array,
           "what the matmul kernel is: lanes of dot products, or a systolic array of rows x columns cells, "
           "whose three "
           "passes of training leave operands where they are; it takes reduction: 1",
           TN_DEFAULT("lanes"), TN_ONE_OF(array_names),
           ABOUT(.bears_on = MATMUL, .bounded_as = ONLY(TN_ARRAY_LANES), .relief = TN_RELIEF_CHOICES,
                 .generated_as = TN_GENERATED_ANY)),
    TN_KEY(COUNT, tn_build, vector,
           "elements that each vector kernel (softmax, layer norm, update, ..) takes a cycle",
           TN_DEFAULT("4"), TN_WITHIN(1, TN_BUILD_PARALLEL_MOST),
           ABOUT(.bears_on = TN_BEARS_VECTORS | TN_BEARS_LAYOUTS | TN_BEARS_MEMORIES | TN_BEARS_VALUES,
                 .relief = TN_RELIEF_HALVES, .generated_as = TN_GENERATED_POWERS,
                 .settled = "[4, 8, 16, 32, 64]")),
    TN_KEY(
        COUNT, tn_build, lane_dsp,
        "DSP blocks that a lane of the vector kernels has on the mean: a kernel that wants more (softmax, "
        "GELU, "
        "gradients of norms, ..) takes half as many lanes, or a quarter, ..; 0: every kernel takes all lanes",
        TN_DEFAULT("0"), TN_WITHIN(0, TN_BUILD_PARALLEL_MOST),
        ABOUT(.bears_on = TN_BEARS_VECTORS | TN_BEARS_VALUES, .relief = TN_RELIEF_QUARTERS, .first = 32,
              .last = 2, .generated_as = TN_GENERATED_ANY, .settled = "[0, 5, 12]")),
    TN_KEY(
        COUNT, tn_build, lane_lut,
        "LUTs that the operators of a lane of the vector kernels have on the mean, as lane_dsp for DSP "
        "blocks: where additions are made of LUTs these are what is short; 0: every kernel takes all lanes",
        TN_DEFAULT("0"), TN_WITHIN(0, TN_BUILD_LANE_LUT_MOST),
        ABOUT(.bears_on = TN_BEARS_VECTORS | TN_BEARS_VALUES, .relief = TN_RELIEF_QUARTERS, .first = 4096,
              .last = 256, .generated_as = TN_GENERATED_ANY, .settled = "[0, 700, 1400]")),
    TN_KEY(CHOICE, tn_build, vector_units,
           "a unit for each vector kernel, or one that serves all of them in turn; auto: shared where the "
           "schedule is sequential",
           TN_DEFAULT("auto"), TN_ONE_OF(vector_units_names),
           ABOUT(.bears_on = TN_BEARS_VECTORS | TN_BEARS_SCHEDULE | TN_BEARS_KERNELS,
                 .relief = TN_RELIEF_CHOICES, .generated_as = BIT(TN_UNITS_AUTO) | BIT(TN_UNITS_SHARED))),
    TN_KEY(
        CHOICE, tn_build, fusion,
        "bias, activation and residual behind a product: passes of their own; bias and residual added as its "
        "results are written; or all of them done then",
        TN_DEFAULT("none"), TN_ONE_OF(fusion_names),
        ABOUT(.bears_on = TN_BEARS_STEP, .splits_as = ONLY(TN_FUSION_NONE), .relief = TN_RELIEF_CHOICES,
              .generated_as = TN_GENERATED_ANY, .settled = "[none, additions, write-back]")),
    TN_KEY(COUNT, tn_build, kernels,
           "matmul kernels side by side; more than one pays with schedule parallel or pipelined",
           TN_DEFAULT("1"), TN_WITHIN(1, TN_SERVERS_MOST),
           ABOUT(.bears_on = TN_BEARS_SCHEDULE | TN_BEARS_KERNELS, .relief = TN_RELIEF_HALVES,
                 .generated_as = TN_GENERATED_ONE, .settled = "[1, 2]")),
    TN_KEY(CHOICE, tn_build, sharing, "one matmul kernel for all products, or one for each phase of the step",
           TN_DEFAULT("shared"), TN_ONE_OF(sharing_names),
           ABOUT(.bears_on = TN_BEARS_SCHEDULE | TN_BEARS_KERNELS, .relief = TN_RELIEF_CHOICES,
                 .generated_as = BIT(TN_SHARED), .settled = "[shared, per-phase]")),
    TN_KEY(CHOICE, tn_build, core_memory,
           "memory of parameters, gradients, optimizer state and the cache of decoding; auto: per memory, "
           "whichever takes the least "
           "share of the device",
           TN_DEFAULT("auto"), TN_ONE_OF(tn_memory_asked_names),
           ABOUT(.bears_on = TN_BEARS_CORES, .relief = TN_RELIEF_CHOICES, .generated_as = TN_GENERATED_ANY,
                 .settled = "[auto, block, ultra, distributed, shallow]")),
    TN_KEY(CHOICE, tn_build, activation_memory, "memory of activations and intermediates", TN_DEFAULT("auto"),
           TN_ONE_OF(tn_memory_asked_names),
           ABOUT(.bears_on = TN_BEARS_ACTIVATIONS, .relief = TN_RELIEF_CHOICES,
                 .generated_as = TN_GENERATED_ANY, .settled = "[auto, block, ultra, distributed, shallow]")),
    TN_KEY(CHOICE, tn_build, split,
           "how a memory gives several elements a cycle: a bank for each, one wide word, rows of banks "
           "(words along "
           "one axis, rotated); auto: one wide word, and banks for what they make faster",
           TN_DEFAULT("reshape"), TN_ONE_OF(tn_array_split_names),
           ABOUT(.bears_on = TN_BEARS_LAYOUTS | TN_BEARS_CORES | TN_BEARS_ACTIVATIONS | TN_BEARS_VALUES,
                 .relief = TN_RELIEF_CHOICES, .generated_as = TN_GENERATED_ANY,
                 .settled = "[reshape, partition, banks, auto]")),
    TN_KEY(CHOICE, tn_build, skew,
           "how activations that several layers share are rotated in rows of banks (split: banks): from "
           "token to "
           "token; "
           "or along the features, too, so that an index whose values lie a power of two apart has them in "
           "different banks",
           TN_DEFAULT("tokens"), TN_ONE_OF(skew_names),
           ABOUT(.bears_on = TN_BEARS_LAYOUTS | TN_BEARS_VALUES, .relief = TN_RELIEF_CHOICES,
                 .generated_as = TN_GENERATED_ANY, .settled = "[tokens, features]")),
    TN_KEY(COUNT, tn_build, group,
           "cores of one size, of different layers, that share a memory in depth; 1: each has its own",
           TN_DEFAULT("8"), TN_WITHIN(1, TN_BUILD_GROUP_MOST),
           ABOUT(.bears_on = TN_BEARS_SCHEDULE | TN_BEARS_CORES, .relief = TN_RELIEF_DOUBLES, .last = 64,
                 .generated_as = TN_GENERATED_ANY,
                 .settled = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 32, 48, 64]")),
    TN_KEY(
        CHOICE, tn_build, layouts,
        "which elements lie together: searched, as can be built, so that issues take the cycles and axes the "
        "padding that they need; ideal: as if every block lay in one word, a lower bound",
        TN_DEFAULT("searched"), TN_ONE_OF(layouts_names),
        ABOUT(.bears_on = TN_BEARS_PRODUCTS | TN_BEARS_VECTORS | TN_BEARS_LAYOUTS | TN_BEARS_MEMORIES |
                          TN_BEARS_VALUES,
              .splits_as = ONLY(TN_LAID_IDEALLY), .bounded_as = ONLY(TN_LAID_AS_FOUND),
              .generated_as = BIT(TN_LAID_AS_FOUND))),
    TN_KEY(CHOICE, tn_build, buffers,
           "whether arrays that never live at once use the same memory, and lie in common memories",
           TN_DEFAULT("pooled"), TN_ONE_OF(buffers_names),
           ABOUT(.bears_on = TN_BEARS_OFF_CHIP | TN_BEARS_LAYOUTS | TN_BEARS_SCHEDULE | TN_BEARS_MEMORIES |
                             TN_BEARS_VALUES,
                 .splits_as = ONLY(TN_BUFFERS_SEPARATE), .relief = TN_RELIEF_CHOICES,
                 .generated_as = TN_GENERATED_ANY, .settled = "[pooled, separate]")),
    TN_KEY(COUNT, tn_build, read_ports,
           "copies of every memory, so that as many kernels read it at once; writes go to all copies",
           TN_DEFAULT("1"), TN_WITHIN(1, TN_BUILD_READ_PORTS_MOST),
           ABOUT(.bears_on = TN_BEARS_SCHEDULE | TN_BEARS_MEMORIES, .relief = TN_RELIEF_HALVES,
                 .generated_as = TN_GENERATED_ONE, .settled = "[1, 2]")),
    TN_KEY(COUNT, tn_build, off_chip_over_bytes,
           "arrays of more bytes live in the device's first external memory; 0: none does", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e15),
           ABOUT(.bears_on = TN_BEARS_OFF_CHIP | TN_BEARS_MEMORIES | TN_BEARS_VALUES,
                 .relief = TN_RELIEF_QUARTERS, .first = 1 << 20, .last = 256,
                 .generated_as = TN_GENERATED_ANY)),
    TN_KEY(COUNT, tn_build, off_chip_tile_bytes,
           "of an operand that lives there, how many bytes are on chip at a time, twice; the shape of the "
           "tiles is "
           "searched for the least traffic; 0: whole operands",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e15),
           ABOUT(.bears_on = TN_BEARS_OFF_CHIP | TN_BEARS_MEMORIES, .relief = TN_RELIEF_QUARTERS,
                 .first = 1 << 16, .last = 1 << 10, .generated_as = TN_GENERATED_ANY)),
    TN_KEY(CHOICE, tn_build, placement,
           "style, split and grouping of memories by the keys above, or searched for the least waste that "
           "fits the device",
           TN_DEFAULT("as-built"), TN_ONE_OF(placement_names),
           ABOUT(.bears_on = TN_BEARS_SCHEDULE | TN_BEARS_MEMORIES, .splits_as = ONLY(TN_PLACE_AS_BUILT),
                 .relief = TN_RELIEF_CHOICES, .generated_as = TN_GENERATED_ANY,
                 .settled = "[as-built, searched]")),
    TN_KEY(COUNT, tn_build, blocks,
           "schedule pipelined: row blocks in which one operation hands its result to the next",
           TN_DEFAULT("4"), TN_WITHIN(1, TN_BLOCKS_MOST),
           ABOUT(.bears_on = TN_BEARS_SCHEDULE, .generated_as = TN_GENERATED_ANY)),
    TN_KEY(CHOICE, tn_build, schedule,
           "what runs side by side: nothing; weight gradients and updates beside the rest; whatever is "
           "ready; the same with operations overlapping block by block",
           TN_DEFAULT("sequential"), TN_ONE_OF(schedule_names),
           ABOUT(.bears_on = TN_BEARS_SCHEDULE, .splits_as = ONLY(TN_SCHEDULE_SEQUENTIAL),
                 .generated_as = BIT(TN_SCHEDULE_SEQUENTIAL),
                 .settled = "[sequential, gradients-together, parallel]")),
};
const tn_schema tn_build_schema = TN_SCHEMA("build", tn_build, build_fields);

tn_status tn_build_decode(const tn_yaml *node, tn_arena *arena, tn_build *build, tn_error *error) {
    const tn_yaml empty = {.kind = TN_YAML_MAPPING};
    return tn_schema_decode(&tn_build_schema, node ? node : &empty, arena, build, error);
}

uint64_t tn_build_value(const tn_build *build, const tn_field *key) {
    const char *member = (const char *)build + key->offset;
    if (key->type == TN_FIELD_CHOICE) {
        uint32_t place;
        memcpy(&place, member, sizeof place);
        return place;
    }
    uint64_t count;
    memcpy(&count, member, sizeof count);
    return count;
}

void tn_build_set_value(tn_build *build, const tn_field *key, uint64_t value) {
    char *member = (char *)build + key->offset;
    if (key->type == TN_FIELD_CHOICE)
        memcpy(member, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
    else
        memcpy(member, &value, sizeof value);
}

tn_build tn_build_effective(const tn_build *build) {
    tn_build this_build = *build;
    this_build.vector_units = tn_build_shares_vectors(build) ? TN_UNITS_SHARED : TN_UNITS_OWN;
    if (this_build.schedule != TN_SCHEDULE_PIPELINED) this_build.blocks = 1;
    if (this_build.split != TN_SPLIT_BANKS) this_build.skew = TN_SKEW_TOKENS;
    if (this_build.off_chip_over_bytes == 0) this_build.off_chip_tile_bytes = 0;
    return this_build;
}

bool tn_build_only_adds_kernels(const tn_build *build, const tn_build *other) {
    const tn_build own = tn_build_effective(build);
    tn_build same = tn_build_effective(other);
    if (own.schedule == TN_SCHEDULE_SEQUENTIAL && same.kernels >= own.kernels) same.kernels = own.kernels;
    if (own.schedule == TN_SCHEDULE_SEQUENTIAL && own.sharing == TN_SHARED) same.sharing = own.sharing;
    return memcmp(&own, &same, sizeof own) == 0;
}

static void keep(tn_build_mask *mask, const tn_field *key) {
    tn_build_set_value(&mask->keep, key, UINT64_MAX);
}

tn_build_mask tn_build_mask_of(unsigned bearings) {
    tn_build_mask mask = {0};
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *key = &build_fields[i];
        if (tn_build_key_of(key)->bears_on & bearings)
            keep(&mask, key);
        else if (key->type == TN_FIELD_COUNT)
            tn_build_set_value(&mask.rest, key, (uint64_t)key->minimum);
    }
    return mask;
}

tn_build_mask tn_build_mask_bounded(void) {
    tn_build_mask mask = {0};
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *key = &build_fields[i];
        if (tn_build_key_of(key)->bounded_as == 0) continue;
        keep(&mask, key);
        tn_build_set_value(&mask.rest, key, tn_build_key_of(key)->bounded_as - 1);
    }
    return mask;
}

enum { WORDS = sizeof(tn_build) / sizeof(uint64_t) };
typedef struct {
    uint64_t counts[WORDS];
} words;

static words words_of(const tn_build *build) {
    words all;
    memcpy(&all, build, sizeof all);
    return all;
}

tn_build tn_build_masked(const tn_build *build, const tn_build_mask *mask) {
    tn_build part;
    words all = words_of(build);
    const words kept = words_of(&mask->keep), rest = words_of(&mask->rest);
    for (int i = 0; i < WORDS; i++) all.counts[i] = (all.counts[i] & kept.counts[i]) | rest.counts[i];
    memcpy(&part, &all, sizeof part);
    return part;
}

bool tn_build_is_bounded(const tn_build *build, const tn_build_mask *bounded) {
    const words all = words_of(build), kept = words_of(&bounded->keep), rest = words_of(&bounded->rest);
    uint64_t other = 0;
    for (int i = 0; i < WORDS; i++) other |= (all.counts[i] & kept.counts[i]) ^ rest.counts[i];
    return other == 0;
}

/* A cell takes a term a cycle. */
tn_status tn_build_check_together(const tn_build *build, tn_error *error) {
    if (build->array == TN_ARRAY_LANES || build->reduction == 1) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   "build.array is systolic with build.reduction %" PRIu64
                   "; a cell takes one term a cycle, so set reduction to 1 and give rows and columns",
                   build->reduction);
}

bool tn_build_searches_layouts(const tn_build *build) {
    return build->layouts == TN_LAID_AS_FOUND || build->layouts >= TN_LAID_CLOSELY;
}

bool tn_build_shares_vectors(const tn_build *build) {
    if (build->vector_units != TN_UNITS_AUTO) return build->vector_units == TN_UNITS_SHARED;
    return build->schedule == TN_SCHEDULE_SEQUENTIAL;
}

static bool has_choice(const char *const *names, uint32_t choice) {
    for (uint32_t i = 0; i <= choice; i++)
        if (!names[i]) return false;
    return true;
}

tn_status tn_build_check(const tn_build *build, tn_error *error) {
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *field = &build_fields[i];
        const char *member = (const char *)build + field->offset;
        if (field->type == TN_FIELD_COUNT) {
            uint64_t value;
            memcpy(&value, member, sizeof value);
            if (value < (uint64_t)field->minimum || value > (uint64_t)field->maximum)
                return tn_fail(error, TN_INPUT, "build.%s is %" PRIu64 "; it must be %g to %g", field->key,
                               value, field->minimum, field->maximum);
        } else {
            uint32_t choice;
            memcpy(&choice, member, sizeof choice);
            if (!has_choice(field->choices, choice))
                return tn_fail(error, TN_INPUT, "build.%s is no choice of that key", field->key);
        }
    }
    return tn_build_check_together(build, error);
}
