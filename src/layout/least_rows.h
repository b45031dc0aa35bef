/* The fewest rows of a memory that any layout can put a tensor into.
 *
 * Whatever the words and banks of a layout, the elements of one row lie in a box of as many elements: along the axis that
 * tells banks apart the box is stretched by their number. So no layout takes fewer rows than the fewest such boxes that
 * cover the tensor.
 */
#ifndef TN_LAYOUT_LEAST_ROWS_H
#define TN_LAYOUT_LEAST_ROWS_H

#include "base/memory.h"
#include "program/program.h"

#include <stdint.h>

enum { TN_ROW_LOGS = 21 }; /* rows of 2^0 to 2^20 elements: at most 1024 x 1024 */

/* Of all tensors of a program, by the logarithm of a row's elements. */
typedef struct tn_least_rows {
    const tn_program *program;
    uint64_t (*rows)[TN_ROW_LOGS]; /* [program->tensors] */
    struct tn_least_rows *next;
} tn_least_rows;

/* Those of the program in the list, which is searched first and then grows, in `arena`. */
tn_status tn_least_rows_find(tn_least_rows **list, const tn_program *program, tn_arena *arena,
                             const tn_least_rows **least, tn_error *error);

#endif
