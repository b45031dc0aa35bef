/* The rows of memories where some arrays live off chip. An array lies as it would if all were on chip, wherever it is: in
 * external memory, in a staging memory, or in a memory that it shares with fewer others. So an operation's issues are the same,
 * and a memory's rows are as wide, in as many banks, as the widest that any of its arrays has; each row of an array takes one.
 */
#ifndef TN_MEMORY_STAGED_H
#define TN_MEMORY_STAGED_H

#include "memory/laid.h"

/* *laid: that of `on_chip`, of all arrays in `all_map`, with the memories of `map` in its rows (memory[map->memories]). */
tn_status tn_staged_lay(const tn_step *step, const tn_map *map, const tn_map *all_map, const tn_laid *on_chip,
                        tn_laid *laid, tn_error *error);

#endif
