/* Finds a name in a list that does not change: open addressing over FNV-1a
 * (G. Fowler, L. C. Noll, P. Vo, draft-eastlake-fnv). The names must outlive the index. */
#ifndef TN_BASE_NAME_INDEX_H
#define TN_BASE_NAME_INDEX_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define TN_NAME_NONE UINT32_MAX

typedef struct tn_name_index {
    uint32_t slots; /* a power of two, at least twice the names */
    struct tn_name_slot {
        const char *name; /* NULL: free */
        uint32_t place;
    } * slot;
} tn_name_index;

/* Empty, with room for `most` names. */
tn_status tn_name_index_new(tn_name_index *index, size_t most, tn_arena *arena, tn_error *error);

/* Place of the name, or TN_NAME_NONE. */
uint32_t tn_name_index_find(const tn_name_index *index, const char *name);

/* Adds the name at the place, unless it is there: then the place it has. TN_NAME_NONE if it was added. */
uint32_t tn_name_index_add(tn_name_index *index, const char *name, uint32_t place);

#endif
