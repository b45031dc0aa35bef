/* Finds a name in a list that does not change: open addressing over FNV-1a
 * (G. Fowler, L. C. Noll, P. Vo, draft-eastlake-fnv). The names must outlive the index. */
#ifndef TN_BASE_NAME_INDEX_H
#define TN_BASE_NAME_INDEX_H

#include "base/error.h"
#include "base/memory.h"

#include <stddef.h>
#include <stdint.h>

/* The nearest known name, for "did you mean". */

/* The name of `names` with the least edit distance to `given`, or NULL where none is near (over a third of
 * its length, at least 2). */
const char *tn_suggest(const char *given, const char *const *names, size_t count);

/* "a, b, c" into `text`, which is returned; ", .. (40 in all)" behind what fits into `capacity` >= 64 bytes. */
const char *tn_name_list(const char *const *names, size_t count, char *text, size_t capacity);

/* What to say of an unknown name, into `text` of capacity >= 128 bytes, which is returned: "did you mean X?" or, where none is near,
 * "it is one of a, b, c". */
const char *tn_suggestion(const char *given, const char *const *names, size_t count, char *text,
                          size_t capacity);

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
