#include "base/memory.h"

#include "base/c_locale.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long requests, fail_at;

void tn_memory_fail_at(long n) {
    atomic_store(&requests, 0);
    atomic_store(&fail_at, n);
}

long tn_memory_requests(void) {
    return atomic_load(&requests);
}

static bool refused(void) {
    long number = atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed) + 1;
    return number == atomic_load_explicit(&fail_at, memory_order_relaxed);
}

static tn_status no_memory(tn_error *error, size_t count, size_t size) {
    return tn_fail(error, TN_MEMORY, "no memory for %zu items of %zu bytes", count, size);
}

tn_status tn_alloc(size_t count, size_t size, void *out, tn_error *error) {
    bool fits = size == 0 || count <= PTRDIFF_MAX / size;
    void *memory = refused() || !fits ? NULL : calloc(count ? count : 1, size ? size : 1);
    if (!memory) return no_memory(error, count, size);
    memcpy(out, &memory, sizeof memory);
    return TN_OK;
}

tn_status tn_grow(void *items, size_t *capacity, size_t need, size_t size, tn_error *error) {
    if (need <= *capacity) return TN_OK;
    size_t wanted = *capacity ? *capacity : 8;
    while (wanted < need && wanted <= SIZE_MAX / 2) wanted *= 2;
    if (wanted < need || wanted > PTRDIFF_MAX / size) return no_memory(error, need, size);
    void *old;
    memcpy(&old, items, sizeof old);
    void *grown = refused() ? NULL : realloc(old, wanted * size);
    if (!grown) return no_memory(error, wanted, size);
    memset((char *)grown + *capacity * size, 0, (wanted - *capacity) * size);
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return TN_OK;
}

void tn_free(void *pointer) {
    free(pointer);
}

tn_status tn_copy_text(const char *text, char **out, tn_error *error) {
    size_t length = strlen(text) + 1;
    TN_TRY(tn_alloc(length, 1, out, error));
    memcpy(*out, text, length);
    return TN_OK;
}

typedef struct tn_arena_chunk {
    struct tn_arena_chunk *next;
    size_t used, capacity;
    _Alignas(max_align_t) unsigned char data[];
} tn_arena_chunk;

enum { FIRST_CHUNK_BYTES = 16 * 1024 };

/* Not zeroed: allocations are, one by one, as the chunk may be used again. */
static tn_status new_chunk(tn_arena *arena, size_t capacity, tn_arena_chunk **chunk, tn_error *error) {
    void *fresh = NULL;
    if (arena->parent)
        TN_TRY(tn_arena_alloc(arena->parent, 1, sizeof **chunk + capacity, &fresh, error));
    else if (!refused())
        fresh = malloc(sizeof **chunk + capacity);
    if (!fresh) return no_memory(error, 1, sizeof **chunk + capacity);
    *chunk = fresh;
    **chunk = (tn_arena_chunk){.capacity = capacity};
    return TN_OK;
}

tn_status tn_arena_alloc(tn_arena *arena, size_t count, size_t size, void *out, tn_error *error) {
    const size_t alignment = _Alignof(max_align_t);
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
        return tn_fail(error, TN_MEMORY, "no memory for %zu items of %zu bytes", count, size);
    bytes = (bytes + alignment - 1) / alignment * alignment;

    tn_arena_chunk *chunk = arena->current;
    while (chunk && chunk->capacity - chunk->used < bytes && chunk->next) {
        chunk = chunk->next;
        chunk->used = 0;
    }
    if (!chunk || chunk->capacity - chunk->used < bytes) {
        size_t capacity = chunk ? 2 * chunk->capacity : FIRST_CHUNK_BYTES;
        if (capacity < bytes) capacity = bytes;
        tn_arena_chunk *fresh;
        TN_TRY(new_chunk(arena, capacity, &fresh, error));
        if (chunk)
            chunk->next = fresh;
        else
            arena->first = fresh;
        chunk = fresh;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += bytes;
    arena->current = chunk;
    memset(memory, 0, bytes);
    memcpy(out, &memory, sizeof memory);
    return TN_OK;
}

tn_status tn_arena_copy_text(tn_arena *arena, const char *text, size_t length, const char **out,
                             tn_error *error) {
    char *copy = NULL;
    TN_TRY(tn_arena_alloc(arena, length + 1, 1, &copy, error));
    if (length) memcpy(copy, text, length); /* of nothing, text may be NULL */
    *out = copy;
    return TN_OK;
}

tn_status tn_arena_format(tn_arena *arena, const char **out, tn_error *error, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    tn_c_locale locale = tn_c_locale_enter();
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = NULL;
    tn_status status = length < 0 ? tn_fail(error, TN_INPUT, "text can't be formatted")
                                  : tn_arena_alloc(arena, (size_t)length + 1, 1, &text, error);
    if (status == TN_OK) {
        vsnprintf(text, (size_t)length + 1, format, again);
        *out = text;
    }
    va_end(again);
    tn_c_locale_leave(locale);
    return status;
}

size_t tn_arena_bytes(const tn_arena *arena) {
    size_t bytes = 0;
    for (const tn_arena_chunk *chunk = arena->current ? arena->first : NULL; chunk; chunk = chunk->next) {
        bytes += chunk->used;
        if (chunk == arena->current) break; /* what lies behind was used before a reset */
    }
    return bytes;
}

void tn_arena_reset(tn_arena *arena) {
    arena->current = arena->first;
    if (arena->first) arena->first->used = 0;
}

void tn_arena_free(tn_arena *arena) {
    for (tn_arena_chunk *chunk = arena->first, *next; chunk && !arena->parent; chunk = next) {
        next = chunk->next;
        tn_free(chunk);
    }
    *arena = (tn_arena){.parent = arena->parent};
}
