/* The one place that asks the system for memory, so that tests can make every request fail in turn. */
#ifndef TN_BASE_MEMORY_H
#define TN_BASE_MEMORY_H

#include "base/error.h"
#include "base/public.h"

#include <stddef.h>

/* An arena: many allocations, freed together. Chunks double in size; an allocation never moves.
 * Zero-initialise (tn_arena a = {0}), use, tn_arena_free. Not for use from two threads at once.
 *
 * An arena within another (tn_arena a = {.parent = other}) takes its chunks from that one, lives as long as what else is
 * in it, and need not be freed: room of its own that can be reset. */

TN_PUBLIC_BEGIN

typedef struct tn_arena {
    struct tn_arena_chunk *first, *current;
    struct tn_arena *parent; /* NULL: chunks are the system's */
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
/* Bytes that are allocated in it. */
size_t tn_arena_bytes(const tn_arena *arena);

/* *out = `count` zeroed items of `size` bytes (count 0 gives a valid pointer). TN_MEMORY where there is none
 * or the product overflows. Freed with tn_free. */
tn_status tn_alloc(size_t count, size_t size, void *out, tn_error *error);

/* Grows *items (a pointer to an array of `size`-byte items) so that it holds at least `need`; new items are
 * zeroed. *capacity is in items. On failure *items and *capacity are unchanged. */
tn_status tn_grow(void *items, size_t *capacity, size_t need, size_t size, tn_error *error);

void tn_free(void *pointer);

/* The three above for an array of what *pointer points to: sizes follow from the type, and a pointer of another kind does
 * not compile. TN_NEW(arena, count, &array, error) leaves `count` zeroed items in `array`. */
#define TN_NEW(arena, count, pointer, error)                                                                 \
    tn_arena_alloc((arena), (count), sizeof **(pointer), (pointer), (error))
#define TN_ALLOC(count, pointer, error) tn_alloc((count), sizeof **(pointer), (pointer), (error))
#define TN_GROW(pointer, capacity, need, error)                                                              \
    tn_grow((pointer), (capacity), (need), sizeof **(pointer), (error))

/* Copies a string. */
tn_status tn_copy_text(const char *text, char **out, tn_error *error);

TN_PUBLIC_END

/* For tests: the n-th request from now on (1 = the next), and only that one, fails. 0 switches this off.
 * tn_memory_requests counts the requests since the last call. Not for use while other threads allocate. */
void tn_memory_fail_at(long n);
long tn_memory_requests(void);

#endif
