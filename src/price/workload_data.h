/* What a workload (price/workload.h) holds, for who prices, explains or builds it: operations merged by kind
 * and size, and what was found for builds before. */
#ifndef TN_PRICE_WORKLOAD_DATA_H
#define TN_PRICE_WORKLOAD_DATA_H

#include "kernel/kernel.h"
#include "kernel/vector.h"
#include "memory/map.h"
#include "memory/memory_share.h"
#include "model/operation.h"
#include "price/schedule.h"
#include "price/tasks.h"
#include "price/workload.h"

#include <math.h>

/* The write-back of a matmul kernel with what is fused into products (build.fusion, step/fusion.h): behind the sums, a
 * lane of operators for each result that leaves in a cycle, R x C of them (of a systolic array a row of C). A tile goes
 * through its product's fused operations one behind the other while the next ones are summed, so a product takes longer
 * by their depths alone, once.
 *
 * What a tile adds, a block of a bias or of a residual, is read in the tile's last issue (kernel/issue.h) through a
 * port of its own, and waits in shift registers until its sum is finished. What an activation begins with is written
 * beside the result where the backward phase reads it, over a bus of its own: so the two lie in different memories, as
 * do all arrays that a product reads. A lane has of each operator what the hungriest product needs.
 */

/* What the products of a step ask of it. */
typedef struct tn_write_back_need {
    uint64_t operators[TN_OPERATORS]; /* of a lane */
    uint32_t added;                   /* arrays that one product adds, at most */
    uint32_t kept;                    /* arrays that one writes beside its result */
} tn_write_back_need;

void tn_write_back_note(tn_write_back_need *need, const tn_operation *product);

/* Cycles from a finished sum to the result, 0 where nothing is fused. */
uint64_t tn_write_back_cycles(const tn_operation *product, const tn_operator_set *operators);

uint64_t tn_write_back_lanes(const tn_build *build);

/* Of one kernel: operators, and shift registers of 32 places a LUT for arrays of word_bits that are added to sums
 * which take `fill_cycles`. */
tn_resources tn_write_back_resources(const tn_write_back_need *need, uint64_t lanes, uint64_t word_bits,
                                     uint64_t fill_cycles, const tn_operator_set *operators);

/* Words that the product reads of the array it adds as its i-th fused operation, each time that a tile wants them; 0: it
 * adds none. */
uint64_t tn_write_back_words(const tn_operation *product, uint32_t i, const tn_build *build);

/* Operations of one kind and size. */
typedef struct tn_work {
    bool product;
    uint8_t vector;     /* tn_operation_kind, where it is no product */
    uint8_t arithmetic; /* products: which of the workload's */
    uint8_t phase;      /* products: tn_phase, which decides how an array does them */
    uint8_t reads[TN_STORES], writes[TN_STORES]; /* operands by store */
    uint8_t side_store[2];                       /* products: tn_store of left and right */
    tn_product_size size;                        /* vector kernels: rows x columns, batch and reduction 1 */
    double cycle_ratio;            /* issues by those of the whole operation, once it has started */
    double share;                  /* of the steps that do it (model/step.h, times): all that it takes */
    uint64_t count;                /* operations */
    const tn_operation *operation; /* one of them */
} tn_work;

/* Multiply-adds that a kernel does of one operation, a product, in the mean of steps. */
static inline double tn_work_macs(const tn_work *work) {
    const tn_product_size *size = &work->size;
    return work->share * work->cycle_ratio * (double)size->batch * (double)size->rows *
           (double)size->reduction * (double)size->columns;
}

/* A port's routing that was found before. */
enum { TN_ROUTES_KEPT = 256 };
typedef struct tn_kept_route {
    tn_route route; /* word_bits 0: none yet */
    tn_resources used;
} tn_kept_route;

/* Lanes of all vector kernels under the keys that decide them, and the cycles of a pass, that were found before. */
enum { TN_LANES_KEPT = 64, TN_PASSES_KEPT = 2048, TN_PASS_KEYS = 9 };
typedef struct tn_kept_lanes {
    uint64_t key[3], lanes[TN_OPERATION_KINDS]; /* of vector, lane_dsp, lane_lut; 0: none yet */
} tn_kept_lanes;
typedef struct tn_kept_pass {
    uint64_t key[TN_PASS_KEYS], cycles; /* the first 0: none yet */
} tn_kept_pass;

struct tn_workload {
    const tn_step *step;
    const tn_device *device;
    tn_arena *arena;
    uint64_t word_bits; /* of an element */
    tn_operator_set vector_operators;
    double retention_us; /* of cells; 0: they keep what they hold */
    bool device_cells; /* those of all memory blocks of the device; else of activations, as the model says */
    uint32_t obstacle; /* of the step (price/obstacle.h) */
    uint32_t arithmetics; /* of the step's products, in the order of their first use */
    tn_arithmetic arithmetic[TN_ARITHMETICS_MOST];
    tn_lane lane[TN_ARITHMETICS_MOST];
    uint32_t phases[TN_ARITHMETICS_MOST]; /* that have products in it */
    uint32_t works;
    tn_work *work;
    uint32_t *work_of, *unit_of; /* [operations] */
    bool vector_used[TN_OPERATION_KINDS];
    uint32_t vectors, vector_reads; /* kinds used; the most arrays that one of them reads */
    uint64_t descriptor_bram18;     /* of the memory of the step's descriptors */
    tn_resources program;           /* of generated hardware, whose descriptors are logic */
    tn_resources within;            /* bounds of sets are of designs that take no more (price/bound.h) */
    tn_build_mask bounded;          /* keys that prices with bounds have one choice of, */
    tn_build_mask of_products;      /* and that bear on products whatever their layouts */
    tn_write_back_need write_back;  /* that products of fused operations ask for, */
    uint32_t writing_back;          /* and bit i: some are of the i-th arithmetic */
    struct tn_workload *built[TN_FUSIONS]; /* of the step with so much fused; NULL: not asked for yet */
    struct tn_plan *plans;                 /* price/plan.h: a list */
    struct tn_laid_step *laid;             /* memory/laid.h: layouts under all plans; NULL: none yet */
    struct tn_laid_programs
        *laid_programs;                /* what is known of its programs from other steps; NULL: nothing */
    const struct tn_workload *laid_as; /* the one whose layouts it took over */
    struct tn_laid_class *laid_class;  /* price/laid_cycles.h: [works]; NULL: none yet */
    /* Scratch of the last price_work: by work, or by operation where the plan has off-chip arrays. */
    uint64_t *cycles, *piece_cycles, *issues;
    struct tn_counted_products
        *counted;               /* price/work.c: of the kernel that was asked for last; NULL: none yet */
    tn_task_time *time;         /* [operations] */
    tn_kept_route *route;       /* [TN_ROUTES_KEPT] */
    tn_kept_lanes *lanes;       /* [TN_LANES_KEPT] */
    tn_kept_pass *pass;         /* [TN_PASSES_KEPT] */
    struct tn_price_memo *memo; /* price/recall.h: parts of builds that were priced; NULL: none yet */
};

/* The workload of the step as the build does it: this one, or with build.fusion that of the fused step. Whatever takes a
 * workload and a build beside it wants that one. */
tn_status tn_workload_built(tn_workload *workload, const tn_build *build, tn_workload **built,
                            tn_error *error);

/* The memory of so many descriptors, one for each operation of a step, in block RAM; none of generated hardware, where they are
 * logic. */
tn_status tn_descriptor_blocks(const tn_device *device, uint64_t operations, tn_blocks *blocks,
                               tn_error *error);

/* A count of at most 2^53, unless the ratio is 1. */
static inline uint64_t tn_scaled_up(uint64_t count, double ratio) {
    return ratio == 1 ? count : (uint64_t)ceil((double)count * ratio);
}

/* ---- the kernels that do its operations under a build, and what they take of the device ---- */

/* How many matmul kernels of an arithmetic the build has, and one of them. */
uint64_t tn_workload_matmuls(const tn_workload *workload, const tn_build *build, uint32_t arithmetic);
tn_matmul tn_workload_matmul(const tn_workload *workload, const tn_build *build, uint32_t arithmetic);
/* A vector kernel on its lanes. */
tn_vector tn_workload_vector(const tn_workload *workload, const tn_build *build, tn_operation_kind kind);
/* Cycles of one of its passes, as it was counted before where it was (kernel/vector.h). */
tn_status tn_workload_pass_cycles(const tn_workload *workload, const tn_vector *kernel, int pass,
                                  const tn_vector_blocks *blocks, uint64_t *cycles, tn_error *error);
/* How many vector kernels: one of each kind, or one for all. */
uint64_t tn_workload_vector_units(const tn_workload *workload, const tn_build *build);
/* The write-back of a matmul kernel of that arithmetic, where its products have fused operations; of all of them. */
tn_resources tn_workload_write_back(const tn_workload *workload, const tn_build *build, uint32_t arithmetic);
tn_resources tn_workload_write_backs(const tn_workload *workload, const tn_build *build);

#endif
