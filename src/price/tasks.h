/* The tasks of a step under a build: its operations as price/schedule.h plays them.
 *
 * Resources: the matmul kernels (one queue, or one for each phase), each vector kernel, the external memory,
 * with schedule sequential one stream and with gradients-together two (weight gradients and updates; the
 * rest), and of every memory its read ports and its write port. An operation waits for those that wrote what
 * it reads (tn_operation.after), and before it writes an array for all that still want what lies there: the
 * array's old value, or the array that had its slot before.
 *
 * With schedule pipelined an operation hands its result on in blocks of rows: to a product that reads it as
 * its left operand with the same rows, all columns being summed, or to a kernel that works row by row on the
 * same shape. (Equal extents stand for equal indices; where rows and columns of the result are equal in
 * number, that is not certain and the reader waits for all of it.) Arrays are kept whole, so that every block
 * has its place: the reader works on one while the writer fills the next.
 */
#ifndef TN_PRICE_TASKS_H
#define TN_PRICE_TASKS_H

#include "device/build.h"
#include "kernel/vector.h"
#include "memory/map.h"
#include "memory/placement.h"
#include "price/schedule.h"

/* Resources by number: units, streams, external memory, then two for each port of the map (read, write). */
enum {
    TN_ARITHMETICS_MOST = 8,                      /* of one step's products */
    TN_MATMULS = TN_ARITHMETICS_MOST * TN_PHASES, /* by arithmetic, then phase; shared: the phase's first */
    TN_UNITS = TN_MATMULS + TN_OPERATION_KINDS,
    TN_RESOURCE_STREAM = TN_UNITS,
    TN_RESOURCE_EXTERNAL = TN_RESOURCE_STREAM + 2,
    TN_RESOURCE_PORTS
};

/* Waits of a map's tasks, whatever the build. */
typedef struct tn_waits {
    uint32_t *first, *count; /* [operations]: in `after` */
    uint32_t *streamable;    /* [operations]: of them, the first ones could be streamed */
    uint32_t *after;
} tn_waits;

tn_status tn_waits_make(const tn_step *step, const tn_map *map, tn_arena *arena, tn_waits *waits,
                        tn_error *error);

/* The phase whose matmul kernel serves an operation of `phase`. */
tn_phase tn_matmul_phase(tn_phase phase);
uint32_t tn_unit_of(const tn_operation *operation, uint32_t arithmetic);
/* The unit that stands for `unit` under the build: matmul kernels of all phases may be one, and so may all
 * vector kernels. */
uint32_t tn_unit_shared(uint32_t unit, const tn_build *build);

/* Most resources that tasks of the map can name. */
uint64_t tn_tasks_resources(const tn_map *map);

/* Fills task[step->operations], but for `work`, and servers[tn_tasks_resources]. `unit`: of each operation;
 * `place`: of each memory of the map, for its grouping. */
void tn_tasks_make(const tn_step *step, const uint32_t *unit, const tn_map *map, const tn_place *place,
                   const tn_waits *waits, const tn_build *build, tn_task *task, uint8_t *servers,
                   uint32_t *resources);

/* "matmul", "forward matmul", "softmax", "weight-gradient stream" ..; NULL for ports. */
const char *tn_resource_unit_name(uint32_t resource, const tn_build *build);

#endif
