/* A way to lay out the memories of a workload's step, made when first asked for: the map, what is moved to and from external
 * memory, and what follows for tasks. For who prices, explains or builds a step. */
#ifndef TN_PRICE_PLAN_H
#define TN_PRICE_PLAN_H

#include "memory/laid.h"
#include "memory/memory_share.h"
#include "price/moves.h"
#include "price/operation_groups.h"
#include "price/workload_data.h"

/* A memory map and what follows from it for tasks. */
typedef struct tn_plan {
    tn_map_options options;
    tn_map map;
    tn_waits waits;
    tn_task *task; /* [operations] */
    uint8_t *servers;
    tn_schedule_scratch scratch;
    bool off_chip;            /* some array is */
    uint64_t *transfer_bytes; /* [operations], where off_chip */
    tn_moves *moves;          /* likewise */
    uint64_t off_chip_bytes, off_chip_bytes_per_step, off_chip_rows_per_step;
    struct tn_plan *on_chip; /* where off_chip: that of the step with all arrays on chip, as which they lie */
    tn_laid staged_laid;     /* likewise: its layouts, in the memories of this map */
    tn_place *place;         /* [map.memories]: as the build at hand has them */
    tn_share_memo *shares;   /* of memories with these rows: */
    uint64_t ideal_rows[5];  /* of rows, columns, reduction, vector, array; all 0: as laid */
    tn_laid_key laid_rows;   /* all 0: ideal */
    tn_laid_map *layouts;    /* that were found; NULL: not asked for yet */
    tn_operation_groups groups;  /* likewise; where off_chip those of on_chip */
    tn_place_table *place_table; /* of bounds; NULL: not asked for yet, and */
    tn_place_options in_table;   /* the places that are in it */
    const tn_laid *laid; /* layouts of the build at hand; NULL: ideal. Where off_chip those of on_chip */
    struct tn_plan *next;
} tn_plan;

/* The plan for a build's buffers and off-chip arrays. */
tn_status tn_workload_plan(tn_workload *workload, const tn_build *build, tn_plan **plan, tn_error *error);

/* What is remembered of memories, of whatever steps have layouts in common with the workload's. */
tn_status tn_workload_shares(tn_workload *workload, tn_known_shares **shares, tn_error *error);

/* Finds plan->laid for the build, or what was found before; NULL where build.layouts is ideal. */
tn_status tn_plan_lay(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_error *error);
/* The same for the cycles of single products, where nothing lies off chip (tn_laid_begin). */
tn_status tn_plan_begin_lay(tn_workload *workload, tn_plan *plan, const tn_build *build, tn_error *error);

/* The number of the rows that memories have under the first bound (tn_laid_rows); 0 where the build is of no such bound. */
tn_status tn_plan_rows(tn_workload *workload, tn_plan *plan, const tn_build *build, uint32_t *number,
                       tn_error *error);

/* The memory's row under the layouts at hand; NULL: none are. */
static inline const tn_row *tn_plan_row(const tn_plan *plan, uint32_t memory) {
    return plan->laid ? &plan->laid->memory[memory] : NULL;
}

/* What controller and data movers of external memory take of the device: nothing where all arrays are on chip. */
tn_resources tn_plan_controller(const tn_plan *plan, const tn_device *device);

/* Makes its tasks and their scratch where that has not been done. */
tn_status tn_plan_tasks(tn_workload *workload, tn_plan *plan, tn_error *error);

/* Fills plan->place as the keys say, or by search among the LUTs that kernels of `kernel_lut` leave. *exact: a search ran and
 * proved its result; may be NULL. */
tn_status tn_plan_places(tn_workload *workload, tn_plan *plan, const tn_build *build, uint64_t kernel_lut,
                         bool *exact, tn_error *error);

#endif
