/* A build: the hardware choices of one design, apart from the device and the model. Key `build:` of a model
 * file, and what a space varies under `build.*`. docs/build-keys.md says what each key means.
 */
#ifndef TN_DEVICE_BUILD_H
#define TN_DEVICE_BUILD_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/block.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* One matmul kernel for all products, or one for each phase. */
typedef enum tn_sharing { TN_SHARED, TN_PER_PHASE } tn_sharing;

/* One unit for all vector kernels, or one for each; auto: one where the schedule is sequential, as no two run
 * at once then. */
typedef enum tn_vector_units { TN_UNITS_AUTO, TN_UNITS_OWN, TN_UNITS_SHARED } tn_vector_units;

/* Where elements lie (memory/laid.h): in the best layouts that a search finds, which is what can be built; or as if
 * every block lay in one word and no axis were padded. No choices of the key: two bounds that no layouts beat, the second
 * closer than the first, and slower to find; and one like the second that looks at each layer alone, whatever the others are. */
typedef enum tn_laying {
    TN_LAID_AS_FOUND,
    TN_LAID_IDEALLY,
    TN_LAID_BOUND,
    TN_LAID_CLOSELY,
    TN_LAID_ALONE
} tn_laying;

/* What the matmul kernels are: lanes of dot products (kernel/kernel.h), or a systolic array
 * (kernel/systolic.h). */
typedef enum tn_array_kind { TN_ARRAY_LANES, TN_ARRAY_SYSTOLIC } tn_array_kind;

/* Where arrays live whose lifetimes do not meet: each in a memory of its own, or in pools (memory/pool.h).
 */
typedef enum tn_buffers { TN_BUFFERS_SEPARATE, TN_BUFFERS_POOLED } tn_buffers;

/* Bias, activation and residual as passes of their own; the two that are added, or all, done as a product's results are
 * written (step/fusion.h, price/workload_data.h). */
typedef enum tn_fusion { TN_FUSION_NONE, TN_FUSION_ADDITIONS, TN_FUSION_WRITE_BACK, TN_FUSIONS } tn_fusion;

/* What may run side by side (price/tasks.h). */
typedef enum tn_schedule_kind {
    TN_SCHEDULE_SEQUENTIAL,         /* one operation after the other */
    TN_SCHEDULE_GRADIENTS_TOGETHER, /* weight gradients and updates beside everything else */
    TN_SCHEDULE_PARALLEL,           /* whatever has its operands, a kernel and its memory ports */
    TN_SCHEDULE_PIPELINED,          /* the same, and chain steps overlap block by block */
} tn_schedule_kind;

/* Who chooses style, split and grouping of each memory: the keys of the build, or a search for the least
 * waste that fits (memory/placement.h). */
typedef enum tn_placing { TN_PLACE_AS_BUILT, TN_PLACE_SEARCHED } tn_placing;

/* How rows of banks are rotated that hold what several layers share: from token to token; along the features, too. */
typedef enum tn_skewing { TN_SKEW_TOKENS, TN_SKEW_FEATURES } tn_skewing;

/* Bounds of the keys: a price within them can't overflow (price/price.c). */
enum { TN_BUILD_PARALLEL_MOST = 1024, TN_BUILD_GROUP_MOST = 1024, TN_BUILD_READ_PORTS_MOST = 4 };
enum { TN_BUILD_LANE_LUT_MOST = 65536 };
enum { TN_SERVERS_MOST = 16, TN_BLOCKS_MOST = 64 }; /* kernels side by side; pieces of an operation */

typedef struct tn_build {
    uint64_t rows, columns, reduction; /* parallelism of a matmul kernel: MACs per cycle = their product */
    uint64_t vector;                   /* lanes of the vector kernels */
    uint64_t lane_dsp;                 /* DSP blocks of one of them; 0: what the hungriest wants */
    uint64_t lane_lut;                 /* LUTs of one of them; 0: what the hungriest wants */
    uint64_t kernels;             /* matmul kernels side by side (of each phase, with sharing per-phase) */
    uint64_t group;               /* small cores that share one memory in depth; 1: none */
    uint64_t read_ports;          /* copies of each memory that are read independently */
    uint64_t blocks;              /* pieces of an operation, schedule pipelined */
    uint64_t off_chip_over_bytes; /* larger arrays live in external memory; 0: none does */
    uint64_t off_chip_tile_bytes; /* of an operand that is staged at a time; 0: all of it */
    uint32_t sharing;             /* tn_sharing */
    uint32_t core_memory;         /* tn_memory_style of parameters, gradients, optimizer state */
    uint32_t activation_memory;   /* tn_memory_style of activations and intermediates */
    uint32_t split;               /* tn_array_split: how an array serves parallel accesses */
    uint32_t buffers;             /* tn_buffers */
    uint32_t schedule;            /* tn_schedule_kind */
    uint32_t placement;           /* tn_placing */
    uint32_t vector_units;        /* tn_vector_units */
    uint32_t layouts;             /* tn_laying */
    uint32_t array;               /* tn_array_kind */
    uint32_t fusion;              /* tn_fusion */
    uint32_t skew;                /* tn_skewing */
} tn_build;

/* What of a design a key bears on. A part of a price is found for the keys that bear on it alone (tn_build_part), so it
 * can't depend on others. Routing between kernels and memories is counted anew for every build. */
typedef enum tn_bearing {
    TN_BEARS_STEP = 1 << 0, /* the operations themselves */
    TN_BEARS_PRODUCTS =
        1 << 1, /* cycles, operators and words of one matmul kernel that does all products in turn */
    TN_BEARS_VECTORS = 1 << 2,  /* the same of the vector kernels */
    TN_BEARS_OFF_CHIP = 1 << 3, /* where arrays live off chip: which, and how they pass */
    TN_BEARS_LAYOUTS = 1 << 4,  /* where layouts are not ideal: the words that elements lie in */
    TN_BEARS_SCHEDULE = 1 << 5, /* where operations overlap: when they begin and end */
    TN_BEARS_KERNELS = 1 << 6,  /* how many kernels there are */
    TN_BEARS_MEMORIES = 1 << 7, /* blocks of all memories */
    TN_BEARS_CORES = 1 << 8, /* where places are as built: those of parameters, gradients, optimizer state */
    TN_BEARS_ACTIVATIONS = 1 << 9, /* and those of activations and intermediates */
    TN_BEARS_VALUES = 1 << 10,     /* the order of sums, so the rounding of what is computed */
} tn_bearing;

/* Which other values of a key may make a design fit (results/remedy.h): none, as what runs side by side takes no less, blocks
 * change nothing by themselves and ideal layouts can't be built; each choice; halves of a count; its doubles up to `last`;
 * quarters from `first` down to `last`. */
typedef enum tn_relief {
    TN_RELIEF_NONE,
    TN_RELIEF_CHOICES,
    TN_RELIEF_HALVES,
    TN_RELIEF_DOUBLES,
    TN_RELIEF_QUARTERS
} tn_relief;

/* What is known of a key beside its type and range: `about` of its row in tn_build_schema. */
typedef struct tn_build_key {
    unsigned bears_on;   /* bits of tn_bearing */
    uint32_t splits_as;  /* 1 + the only choice with which prices split (price/parts.h); 0: with any */
    uint32_t bounded_as; /* 1 + the only one with which prices have bounds (price/bound.h); 0: with any */
    tn_relief relief;
    uint64_t first, last; /* of it */
    const char *
        settled; /* values that a search tries by itself (space/settle.h), as a list of YAML; NULL: none, as the key
                             changes what is asked or has nothing to try */
    /* What hardware is generated with (docs/rtl.md): a bit for each such choice; of a count one of those below. 0: nothing, which
     * a key must not stay. */
    uint32_t generated_as;
} tn_build_key;

enum {
    TN_GENERATED_ANY = INT32_MAX,
    TN_GENERATED_ONE = 1,
    TN_GENERATED_POWERS = 2,         /* powers of two up to TN_GENERATED_ELEMENTS_MOST */
    TN_GENERATED_ELEMENTS_MOST = 256 /* of a block that a kernel takes at once */
};
static inline const tn_build_key *tn_build_key_of(const tn_field *key) {
    return (const tn_build_key *)key->about;
}

extern const tn_schema tn_build_schema; /* every key with its default; a tn_build_key about each */
tn_status tn_build_decode(const tn_yaml *node, tn_arena *arena, tn_build *build,
                          tn_error *error); /* NULL: defaults */

/* A key by its row of tn_build_schema: a count, or the place of a choice among its names. */
uint64_t tn_build_value(const tn_build *build, const tn_field *key);
void tn_build_set_value(tn_build *build, const tn_field *key, uint64_t value);

/* Bit by bit: the keys that count, and the values of the others. */
typedef struct tn_build_mask {
    tn_build keep, rest;
} tn_build_mask;
/* That of what bears on some of `bearings` (bits of tn_bearing): every other key has its least value, or its first choice. */
tn_build_mask tn_build_mask_of(unsigned bearings);
/* The build by these keys alone. */
tn_build tn_build_masked(const tn_build *build, const tn_build_mask *mask);
/* The same build, where keys that have no effect beside the others have their least value: blocks of schedules that are not
 * pipelined, tiles where nothing is off chip, skews of what lies in no rows of banks; vector_units is `own` or `shared`. */
tn_build tn_build_effective(const tn_build *build);

/* Whether the other is the build, or the build with more matmul kernels, which a sequential schedule leaves idle: then no design of the
 * other has less of anything, and none fits where that of the build does not. */
bool tn_build_only_adds_kernels(const tn_build *build, const tn_build *other);

/* Keys that prices with bounds have one choice of (bounded_as): a build has bounds where its bits under `keep` are `rest`. */
tn_build_mask tn_build_mask_bounded(void);
bool tn_build_is_bounded(const tn_build *build, const tn_build_mask *bounded);

/* Whether layouts are searched. */
bool tn_build_searches_layouts(const tn_build *build);

/* Whether one unit serves all vector kernels. */
bool tn_build_shares_vectors(const tn_build *build);

/* Refuses what the schema would: for builds that were not decoded. */
tn_status tn_build_check(const tn_build *build, tn_error *error);
/* The part of it that looks at several keys at once, for builds whose keys were decoded one by one. */
tn_status tn_build_check_together(const tn_build *build, tn_error *error);

TN_PUBLIC_END

#endif
