/* The part of a price that is work: what products and vector kernels of a step take, in cycles, kernels and words moved.
 * Not remembered; price/price.c does that. */
#ifndef TN_PRICE_WORK_H
#define TN_PRICE_WORK_H

#include "price/energy.h"
#include "price/plan.h"

/* What parallelism and schedule decide. */
/* Of a step with a deadline: the inputs that leave at an exit, and the cycles of one of them. */
typedef struct tn_exit_work {
    double share, cycles;
} tn_exit_work;
enum { TN_EXIT_WORKS_MOST = 16 };

typedef struct tn_work_price {
    uint64_t cycles_per_step;
    uint64_t chain_cycles; /* of the closer bound: the longest chain of operations that wait for each other */
    uint64_t product_cycles[TN_ARITHMETICS_MOST]; /* busy cycles of the matmul kernels together */
    uint64_t vector_cycles;                       /* busy cycles of the vector kernels together */
    double vector_busy_pF; /* capacitance of vector kernels and write-backs, weighted by their busy cycles */
    double words[TN_STORES]; /* read and written in a step, by memory */
    uint64_t moving_cycles;  /* of operations, while their kernels wait for transfers */
    double refresh_pJ;       /* of activations' cells */
    tn_cells_price cells;
    tn_resources matmul[TN_ARITHMETICS_MOST]; /* of one matmul kernel */
    tn_resources vectors;                     /* of all vector kernels */
    uint32_t exits; /* 0: no deadline, or more exits than are told apart: all inputs are the mean one */
    tn_exit_work exit[TN_EXIT_WORKS_MOST];
} tn_work_price;

/* Whether the work of products and that of vector kernels add up to that of the step: nothing runs side by side,
 * waits for external memory, has a deadline or is refreshed. The two halves: what products take follows from the matmul kernels'
 * edges, what vector kernels take from their lanes, and both, where layouts are not ideal, from these; then they need tn_plan_lay
 * before. Both use the workload's cycles as scratch. */
bool tn_work_splits(const tn_workload *workload, const tn_plan *plan, const tn_build *build);
/* Of products the heaviest are laid first, and none any more from `enough` cycles on: the rest take what they take at least whatever
 * their layouts. *whole: all were laid. */
tn_status tn_price_products(tn_workload *workload, tn_plan *plan, const tn_build *build, uint64_t enough,
                            tn_work_price *price, bool *whole, tn_error *error);
tn_status tn_price_vectors(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_work_price *price,
                           tn_error *error);
/* Adds the half of vector kernels to that of products: what both have is added, and each brings the kernels that the other
 * lacks. */
void tn_work_add_vectors(tn_work_price *products, const tn_work_price *vectors);
/* Of two works whatever is less. */
void tn_work_lower(tn_work_price *least, const tn_work_price *other);

/* Fills the workload's cycles and issues and, but for schedule sequential, the plan's places, tasks and the workload's
 * time. With layouts that are not ideal it needs tn_plan_lay before. */
tn_status tn_price_work(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_work_price *price,
                        tn_error *error);
/* Runs the schedule whatever its kind; needs tn_price_work, tn_plan_places and tn_plan_tasks. */
void tn_price_run(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_schedule *schedule,
                  uint64_t *cycles);

/* Cycles of one operation of a class whose operands lie ideally, its start included, and the issues of a product (0 for
 * others). `size` is that of the class or of a block of it. */
tn_status tn_work_cycles(const tn_workload *workload, const struct tn_work *work, const tn_product_size *size,
                         const tn_build *build, uint64_t *cycles, uint64_t *issues, tn_error *error);

/* What vector kernels of these kinds [TN_OPERATION_KINDS] take: one for each, or one unit that all share; of none nothing. */
tn_resources tn_workload_vector_kernels(const tn_workload *workload, const tn_build *build,
                                        const bool *kinds);

/* All kernels together. */
tn_resources tn_workload_kernels(const tn_workload *workload, const tn_build *build,
                                 const tn_work_price *work);

#endif
