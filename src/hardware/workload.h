/* A step boiled down for pricing on one device, inside the hardware room: equal operations and equal memories
 * merged with a count, and the step's dependencies as tasks of a schedule. Prices of parts of a build are
 * remembered (hardware/price.c), so a workload serves one thread at a time. */
#ifndef TN_HARDWARE_WORKLOAD_H
#define TN_HARDWARE_WORKLOAD_H

#include "hardware/energy.h"
#include "hardware/kernel.h"
#include "hardware/layout.h"
#include "hardware/price.h"
#include "hardware/schedule.h"
#include "hardware/vector.h"

/* Operations of one kind and size. */
typedef struct tn_work {
    bool product;
    uint8_t vector; /* tn_vector_kind, where it is no product */
    uint8_t reads_core, reads_activation, writes_core, writes_activation; /* operands by kind of memory */
    bool left_core, right_core; /* products: where the operands live */
    tn_product_size size;       /* vector kernels: rows x columns, batch and reduction 1 */
    uint64_t count;             /* operations */
} tn_work;

/* What the parallelism of a build alone decides. */
typedef struct tn_work_price {
    uint64_t cycles_per_step;
    uint64_t product_cycles;          /* busy cycles of the matmul kernels together */
    double vector_pF, vector_busy_pF; /* capacitance of the vector kernels; weighted by their busy cycles */
    double core_words, activation_words; /* read and written in a step, by memory */
    tn_resources matmul, vectors;        /* of one matmul kernel; of all vector kernels */
} tn_work_price;

/* What the memories of one store (cores and the like, or activations) take. */
typedef struct tn_store_price {
    uint64_t bram18, uram, lutram;
    double bits[TN_STYLE_DISTRIBUTED + 1]; /* stored, by style */
} tn_store_price;

enum { TN_WORK_MEMO = 512, TN_STORE_MEMO = 2048 };

typedef struct tn_price_memo {
    uint64_t work_key[TN_WORK_MEMO], store_key[TN_STORE_MEMO]; /* 0: empty */
    tn_work_price work[TN_WORK_MEMO];
    tn_store_price store[TN_STORE_MEMO];
} tn_price_memo;

struct tn_workload {
    const tn_step *step;
    const tn_device *device;
    tn_precision precision;
    uint64_t word_bits, sum_bits; /* of an element; of a sum inside the matmul kernel */
    tn_operator_set product_operators, vector_operators;
    uint32_t works, tasks;
    tn_work *work;
    uint32_t *work_of; /* [tasks]: operations that take time */
    tn_task *task[2];  /* [tasks] by tn_buffers, in the order of the step */
    bool vector_used[TN_VECTOR_KINDS];
    uint32_t matmuls;               /* kernels with sharing per phase: phases that have products */
    tn_layout layout[2];            /* by tn_buffers */
    uint64_t *work_cycles, *finish; /* scratch: [works], [tasks] */
    tn_price_memo *memo;
};

/* How many matmul kernels the build has. */
uint64_t tn_workload_matmuls(const tn_workload *workload, const tn_build *build);
tn_matmul tn_workload_matmul(const tn_workload *workload, const tn_build *build);

/* The schedule of the step under the build. */
void tn_workload_schedule(const tn_workload *workload, const tn_build *build, tn_schedule *schedule);

/* Cycles of one operation of a class, and the issues of a product (0 for others). */
tn_status tn_work_cycles(const tn_workload *workload, const tn_work *work, const tn_build *build,
                         uint64_t *cycles, uint64_t *issues, tn_error *error);

/* A layout's memory under a build: `copies` memories, or groups of them. */
typedef struct tn_memory_price {
    tn_memory_style style;
    uint64_t accesses, banks, width_bits, depth; /* of one memory (of the full groups) */
    uint64_t memories;                           /* copies or groups */
    tn_blocks blocks;                            /* of all of them */
    double stored_bits;
} tn_memory_price;
tn_status tn_memory_price_of(const tn_workload *workload, const tn_layout_memory *memory,
                             const tn_build *build, tn_memory_price *price, tn_error *error);

/* What the kernels and memories do in a step. Needs cycles, seconds and resources of *price. */
void tn_price_activity(const tn_workload *workload, const tn_build *build, const tn_work_price *work,
                       const tn_store_price *cores, const tn_store_price *activations, const tn_price *price,
                       tn_activity *activity);

#endif
