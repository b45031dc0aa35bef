/* An arena: many allocations, freed together. Chunks double in size; an allocation never moves.
 * Zero-initialise (tn_arena a = {0}), use, tn_arena_free. Not for use from two threads at once. */
#ifndef TN_BASE_ARENA_H
#define TN_BASE_ARENA_H

#include "base/error.h"
#include "base/public.h"

#include <stddef.h>

TN_PUBLIC_BEGIN

typedef struct tn_arena {
    struct tn_arena_chunk *first, *current;
} tn_arena;

/* *out = `count` zeroed items of `size` bytes, aligned for any type. */
tn_status tn_arena_alloc(tn_arena *arena, size_t count, size_t size, void *out, tn_error *error);
tn_status tn_arena_copy_text(tn_arena *arena, const char *text, size_t length, const char **out,
                             tn_error *error);
tn_status tn_arena_format(tn_arena *arena, const char **out, tn_error *error, const char *format, ...)
    TN_PRINTF(4, 5);

/* Everything allocated is gone, the chunks stay for reuse. */
void tn_arena_reset(tn_arena *arena);
void tn_arena_free(tn_arena *arena);

TN_PUBLIC_END

#endif
